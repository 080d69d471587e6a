//! One copy of a file through a private sshd: compared byte for byte, timed, with the processor time of both sides.

use super::lab::{Environment, Login, Place, Setup, Sshd};
use super::measure::Cost;
use adjunct_tool::Failure;
use adjunct_tool::failure::cannot_write;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::Spent;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The algorithms of a connection, by OpenSSH's names.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The cipher.
    pub cipher: String,
    /// The MAC; without effect beside a cipher that authenticates by itself.
    pub mac: String,
    /// The key exchange.
    pub kex: String,
}

impl Suite {
    /// Whether the cipher authenticates by itself.
    pub fn authenticates(&self) -> bool {
        self.cipher.contains("gcm") || self.cipher.contains("poly1305")
    }

    /// The cipher, with the MAC where it is used.
    pub fn name(&self) -> String {
        if self.authenticates() { self.cipher.clone() } else { format!("{},{}", self.cipher, self.mac) }
    }

    /// The lines that ask for the suite, alike in `ssh_config` and `sshd_config`.
    pub fn options(&self) -> Vec<String> {
        vec![format!("Ciphers {}", self.cipher), format!("MACs {}", self.mac), format!("KexAlgorithms {}", self.kex)]
    }
}

/// Copies `file` by `ssh host cat file` through an sshd of its own at `port` or a free one, both in this environment, and
/// compares every byte with the file. `progress` is told of each piece's length in bytes.
///
/// # Errors
/// [`Failure`] with OpenSSH's own words, or where the data differs.
pub fn copy(
    place: &Place,
    suite: &Suite,
    port: Option<u16>,
    environment: &Environment,
    file: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Cost, Failure> {
    let setup = Setup::new(suite.options(), environment);
    let server = Sshd::start(place, port, &setup)?;
    // Checking the configuration runs sshd, too: those seconds are not the copy's.
    let idle = Spent::by_children();
    let mut login = Login::through(&server, place, &setup, &format!("cat {}", quoted(file)))?;
    let compared = compare(&mut login, file, progress);
    let status = login.end_client(compared.is_err())?;
    let seconds = login.start.elapsed().as_secs_f64();
    let after_client = Spent::by_children();
    interrupted()?;
    // The client's own words say more than the data that did not come.
    if !status.success() && (compared.is_ok() || status.code() == Some(255)) {
        return Err(login.explain(Some(&server)));
    }
    let first = compared?.unwrap_or(seconds);
    server.stop()?;
    let (client, server) = (after_client.since(idle).all(), Spent::by_children().since(after_client).all());
    Ok(Cost { seconds, first, client, server })
}

/// Reads all that the client writes and compares it with the file; gives the seconds until the first byte.
fn compare(login: &mut Login<'_>, file: &Path, progress: &mut dyn FnMut(u64)) -> Result<Option<f64>, Failure> {
    let cannot_read = |e: std::io::Error| Failure::new(format!("{}: {e}", file.display()));
    let mut original = File::open(file).map_err(cannot_read)?;
    let mut expected = Vec::new();
    let (bytes, first) = login.read("the copy stalled: no data for a minute", |_, got| {
        expected.resize(got.len(), 0);
        // A file that is shorter than the data is a difference, too.
        let same = original.read_exact(&mut expected).is_ok() && got == expected;
        if same {
            progress(got.len() as u64);
        }
        same
    })?;
    match original.read(&mut [0]) {
        Ok(0) => Ok(first),
        Ok(_) => Err(Failure::new(format!("the data ends after {bytes} bytes"))),
        Err(e) => Err(cannot_read(e)),
    }
}

/// A path for a shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// A file of `bytes` random bytes.
///
/// # Errors
/// [`Failure`] where the disk is full or the generator cannot be read.
pub fn random_file(path: &Path, bytes: u64) -> Result<PathBuf, Failure> {
    if let Ok(fs) = path.parent().map(rustix::fs::statvfs).unwrap_or(Err(rustix::io::Errno::NOENT)) {
        let free = fs.f_bavail.saturating_mul(fs.f_frsize);
        if free < bytes {
            let dir = path.parent().unwrap_or(path).display().to_string();
            return Err(Failure::new(format!(
                "{dir}: {free} bytes free, {bytes} needed; give a smaller --size or set TMPDIR"
            )));
        }
    }
    let mut source = File::open("/dev/urandom").map_err(|e| Failure::new(format!("/dev/urandom: {e}")))?.take(bytes);
    let mut target = File::create(path).map_err(|e| cannot_write(path, &e))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        interrupted()?;
        let n = source.read(&mut buffer).map_err(|e| Failure::new(format!("/dev/urandom: {e}")))?;
        if n == 0 {
            return Ok(path.to_owned());
        }
        std::io::Write::write_all(&mut target, &buffer[..n]).map_err(|e| cannot_write(path, &e))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_survives_the_shell() {
        assert_eq!(quoted(Path::new("/a b/c'd")), "'/a b/c'\\''d'");
    }
}
