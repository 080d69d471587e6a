//! One copy of a file through a private sshd: compared byte for byte, timed, with the processor time of both sides.

use super::place::{Place, cannot_write, last_line};
use super::server::{Settings, Sshd, children_seconds, interrupted, kill_tree};
use crate::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

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

    /// The lines that ask for it, the same in `ssh_config` and `sshd_config`.
    pub fn options(&self) -> Vec<String> {
        vec![format!("Ciphers {}", self.cipher), format!("MACs {}", self.mac), format!("KexAlgorithms {}", self.kex)]
    }
}

/// What a copy took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// From the client's start to its end, in seconds; the server listens already.
    pub seconds: f64,
    /// Processor seconds of the client.
    pub client: f64,
    /// Processor seconds of the server, with its sessions.
    pub server: f64,
}

/// Copies `file` by `ssh host cat file` through an sshd of its own, both with the OpenSSL configuration in `settings`, and
/// compares every byte with the file. `progress` is told of each piece's length in bytes.
///
/// # Errors
/// [`Failure`] with OpenSSH's own words, or where the data differs.
pub fn copy(
    place: &Place,
    suite: &Suite,
    settings: &Settings,
    file: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<Cost, Failure> {
    let mut settings = settings.clone();
    settings.options.extend(suite.options());
    let conf = settings.openssl_conf.clone().unwrap_or_default();
    let server = Sshd::start(place, &settings)?;
    // Checking the configuration runs sshd, too: those seconds are not the copy's.
    let idle = children_seconds();
    let errors = place.path("ssh_log");
    let stderr = File::create(&errors).map_err(|e| cannot_write(&errors, &e))?;
    let mut command = place.client(server.port(), &suite.options(), &conf)?;
    command.envs(settings.environment.iter().map(|(k, v)| (k, v)));
    command.arg(format!("cat {}", quoted(file)));
    let start = Instant::now();
    let spawned = command.stdout(Stdio::piped()).stderr(stderr).spawn();
    let mut client = spawned.map_err(|e| Failure::new(format!("{}: {e}", place.programs.ssh.display())))?;
    let compared = match client.stdout.take() {
        Some(stdout) => compare(stdout, file, progress),
        None => Err(Failure::new("no pipe to the client")),
    };
    if compared.is_err() {
        kill_tree(client.id());
    }
    let status = client.wait().map_err(|e| Failure::new(format!("the client: {e}")))?;
    let seconds = start.elapsed().as_secs_f64();
    let after_client = children_seconds();
    // The client's own words say more than the data that did not come.
    interrupted()?;
    if !status.success() && (compared.is_ok() || status.code() == Some(255)) {
        let said = std::fs::read_to_string(&errors).unwrap_or_default();
        return Err(Failure::new(explain(&said, &server.log())));
    }
    compared?;
    server.stop()?;
    Ok(Cost { seconds, client: after_client - idle, server: children_seconds() - after_client })
}

/// Reads all of `stdout` and compares it with the file.
fn compare(mut stdout: ChildStdout, file: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), Failure> {
    const STALLED: Duration = Duration::from_secs(60);
    let _ = rustix::pipe::fcntl_setpipe_size(&stdout, 1 << 20);
    let cannot_read = |e: std::io::Error| Failure::new(format!("{}: {e}", file.display()));
    let mut original = File::open(file).map_err(cannot_read)?;
    let mut got = vec![0; 1 << 18];
    let mut expected = vec![0; 1 << 18];
    let mut place = 0u64;
    let mut last = Instant::now();
    loop {
        interrupted()?;
        let mut fds = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
        if matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 100_000_000 })), Ok(0) | Err(_)) {
            if last.elapsed() > STALLED {
                return Err(Failure::new("the copy stalled: no data for a minute"));
            }
            continue;
        }
        last = Instant::now();
        let n = stdout.read(&mut got).map_err(|e| Failure::new(format!("the client's data: {e}")))?;
        if n == 0 {
            break;
        }
        // A file that is shorter than the data leaves zeros here or fails: either is a difference.
        let same = original.read_exact(&mut expected[..n]).is_ok() && got[..n] == expected[..n];
        if !same {
            let hint = if place == 0 { "; does the login shell print something by itself?" } else { "" };
            return Err(Failure::new(format!("the data differs within {n} bytes after byte {place}{hint}")));
        }
        place += n as u64;
        progress(n as u64);
    }
    match original.read(&mut expected[..1]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Failure::new(format!("the data ends after {place} bytes"))),
        Err(e) => Err(cannot_read(e)),
    }
}

/// What went wrong, from what both sides wrote.
fn explain(client: &str, server: &str) -> String {
    let telling = ["not allowed because", "Unable to negotiate", "no matching", "fatal:", "error:", "refused:"];
    let cause = server.lines().rfind(|line| telling.iter().any(|t| line.contains(t)));
    let said = last_line(client);
    match cause {
        Some(cause) if cause.contains("locked") => {
            format!("sshd does not let this account log in: {}; use another user or unlock it", cause.trim())
        }
        Some(cause) => format!("ssh: {said} (sshd: {})", cause.trim()),
        None => format!("ssh: {said}"),
    }
}

/// A path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// The median of `values`; 0 of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
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
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
    }

    #[test]
    fn a_path_survives_the_shell() {
        assert_eq!(quoted(Path::new("/a b/c'd")), "'/a b/c'\\''d'");
    }

    #[test]
    fn the_cause_is_found_in_the_logs() {
        let server =
            "Server listening on 127.0.0.1\nUser root not allowed because account is locked\nConnection closed\n";
        assert!(explain("root@127.0.0.1: Permission denied (publickey).\n", server).contains("account is locked"));
        assert_eq!(explain("", ""), "ssh: it gave no reason");
    }
}
