//! What a copy takes besides its bytes: the programs' start and the login, measured by copies of one byte in the same rounds.

use super::file::Source;
use super::report::Figure;
use super::scp::{Copier, Job, Taken};
use super::setup::Sides;
use crate::harness::figures::median;
use crate::harness::turns::order;
use adjunct_tool::Failure;
use std::collections::BTreeMap;
use std::time::Duration;

/// Copies of one byte.
pub struct Starts {
    file: Source,
    taken: [Vec<Taken>; 3],
}

impl Starts {
    /// Makes the file, and copies it once on every side: the first copy makes keys and fills caches, and does not count.
    ///
    /// # Errors
    /// [`Failure`] where nothing can be copied.
    pub fn new(copier: &mut Copier, sides: &Sides) -> Result<Starts, Failure> {
        let file = Source::new(copier.folder(), "little", 1)?;
        let mut starts = Starts { file, taken: Default::default() };
        starts.measure(copier, sides, 0)?;
        starts.taken.iter_mut().for_each(Vec::clear);
        Ok(starts)
    }

    /// Measures a copy on every side.
    ///
    /// # Errors
    /// [`Failure`] where one fails.
    pub fn measure(&mut self, copier: &mut Copier, sides: &Sides, round: usize) -> Result<(), Failure> {
        let job = Job {
            both: vec!["Ciphers aes128-ctr".to_owned()],
            key: "ssh-ed25519".to_owned(),
            rsa_bits: 0,
            file: self.file.path().to_owned(),
            copies: 1,
            at_once: 1,
            limit: Duration::from_secs(120),
        };
        for at in order(sides.len(), round) {
            let Some(side) = &sides[at] else { continue };
            self.taken[at].push(copier.run(side, &job)?);
        }
        Ok(())
    }

    /// Medians of a copy's time on each side; empty on a side that is missing.
    pub fn each(&self) -> [Taken; 3] {
        self.taken.each_ref().map(|all| {
            let of = |value: fn(&Taken) -> f64| median(all.iter().map(value));
            Taken {
                seconds: of(|t| t.seconds),
                user: of(|t| t.user),
                client: of(|t| t.client),
                server: of(|t| t.server),
            }
        })
    }

    /// The figures for the report.
    pub fn figures(&self) -> BTreeMap<String, Figure> {
        let of = |value: &dyn Fn(&Taken) -> f64| {
            let values = self.taken.each_ref().map(|all| all.iter().map(value).collect::<Vec<_>>());
            Figure::new(values.each_ref().map(Vec::as_slice), 3)
        };
        BTreeMap::from([("s".to_owned(), of(&|t| t.seconds)), ("cpu_s".to_owned(), of(&|t| t.client + t.server))])
    }
}

/// A figure without the part that starting took, at least a hundredth of the figure: where both are alike, the copy was too short to tell.
pub fn without(all: f64, start: f64) -> f64 {
    (all - start).max(all * 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_taken_off_and_leaves_something() {
        assert_eq!(without(1.3, 0.3), 1.0);
        assert_eq!(without(0.3, 0.4), 0.003);
    }
}
