//! What adjunct served while its side was measured, counted apart from all else on the machine.

use super::report::Served;
use crate::Failure;
use adjunct::catalogue::Function;
use adjunct::counters::Apart;

/// The counters of the programs this run starts; removed when this is dropped.
#[derive(Debug)]
pub struct Counted {
    word: String,
    apart: Apart,
}

impl Default for Counted {
    fn default() -> Counted {
        Counted::new()
    }
}

impl Counted {
    /// Counters under a key of their own.
    pub fn new() -> Counted {
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
        let key = (time ^ std::process::id().rotate_left(16)).max(1) & 0x7fff_ffff;
        let word = format!("{key:#x}");
        Counted { apart: Apart::of(&word), word }
    }

    /// The value of `ADJUNCT_STATS_KEY` that leads programs to them.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// All calls so far, of all users.
    ///
    /// # Errors
    /// [`Failure`] where they cannot be read.
    pub fn served(&self) -> Result<Served, Failure> {
        let mut sum = Served::default();
        for uid in self.apart.users()? {
            let Some(snapshot) = self.apart.read(uid)? else { continue };
            for &function in Function::ALL {
                let counts = snapshot.function(function);
                sum.hardware += counts.hardware_calls();
                sum.software += counts.software_calls();
            }
        }
        Ok(sum)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        for uid in self.apart.users().unwrap_or_default() {
            let _ = self.apart.delete(uid);
        }
    }
}
