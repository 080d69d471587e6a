//! The systems the tests run on: this machine's programs, and those of newer Debian suites in their own roots.

use crate::{deep, skipped};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

/// A system that programs come from.
#[derive(Debug, Clone)]
pub struct System {
    /// `here`, or the Debian suite.
    pub name: &'static str,
    bin: Option<PathBuf>,
}

impl System {
    /// The system of this machine.
    pub fn here() -> System {
        System { name: "here", bin: None }
    }

    /// The programs of a newer Debian suite, unpacked on first use; `None`, with the reason printed, where they cannot be
    /// had (no root, no apt, no network) or the suite has moved on from what the tests know.
    pub fn suite(name: &'static str) -> Option<System> {
        static MAKING: Mutex<()> = Mutex::new(());
        let _one = MAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let dir = target().parent()?.join("roots").join(name);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("make-root");
        let out = Command::new(script).arg(name).arg(&dir).stdin(Stdio::null()).output().ok()?;
        if !out.status.success() {
            skipped(&format!("no programs of {name}: {}", String::from_utf8_lossy(&out.stderr).trim()));
            return None;
        }
        let system = System { name, bin: Some(dir.join("bin")) };
        let (ssh, openssl) = system.versions();
        if ssh > KNOWN.0 || openssl > KNOWN.1 {
            skipped(&format!(
                "{name} has OpenSSH {ssh:?} and OpenSSL {openssl:?}, the tests know those up to {KNOWN:?}"
            ));
            return None;
        }
        Some(system)
    }

    /// An OpenSSL without engines: 4.0 of Debian's experimental, with no other program; `None` as for [`System::suite`].
    pub fn without_engines() -> Option<System> {
        System::suite("sid")?;
        let roots = target().parent()?.join("roots");
        let (sid, dir) = (roots.join("sid"), roots.join("openssl4"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("make-openssl4");
        let out = Command::new(script).arg(sid).arg(&dir).stdin(Stdio::null()).output().ok()?;
        if !out.status.success() {
            skipped(&format!("no OpenSSL without engines: {}", String::from_utf8_lossy(&out.stderr).trim()));
            return None;
        }
        Some(System { name: "openssl4", bin: Some(dir) })
    }

    /// The systems that tests run with: this machine's and every newer suite that can be had; without [`deep`] the newest of those alone.
    pub fn all() -> Vec<System> {
        let newer = NEWER.into_iter().filter(|&name| deep() || name == NEWEST).filter_map(System::suite);
        std::iter::once(System::here()).chain(newer).collect()
    }

    /// A command for the system's `sshd`, with the folder for privilege separation that a Debian without a running sshd lacks and, if wanted, an
    /// account for [`TESTER`], both in a mount namespace of its own. The words after it are the caller's.
    pub fn server(&self, account: bool) -> Command {
        let sshd = self.program("sshd");
        if self.bin.is_some() || !is_root() || (!account && Path::new("/run/sshd").is_dir()) {
            return Command::new(sshd);
        }
        let mut script = "mount -t tmpfs -o mode=755 adjunct /run && mkdir -m 755 /run/sshd && ".to_owned();
        if account {
            script += &format!(
                "{{ cat /etc/passwd; echo '{TESTER}:x:{TESTER_ID}:{TESTER_ID}::/:/bin/sh'; }} >/run/passwd && \
                 chmod 644 /run/passwd && mount --bind /run/passwd /etc/passwd && "
            );
        }
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &(script + "exec \"$0\" \"$@\"")]).arg(sshd);
        command
    }

    /// A program below `/tmp`, which every system sees, run with this one's libraries.
    pub fn run(&self, program: &Path) -> Command {
        let Some(root) = self.bin.as_ref().and_then(|bin| bin.parent()).map(|dir| dir.join("root")) else {
            return Command::new(program);
        };
        let script = "mount --rbind /dev \"$0/dev\" && mount --rbind /proc \"$0/proc\" && mount --bind /tmp \"$0/tmp\" && \
                      exec chroot \"$0\" \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script]).arg(root).arg(program);
        command
    }

    /// Versions of the system's OpenSSH and of the OpenSSL that it uses: `((9, 2), (3, 0))`.
    pub fn versions(&self) -> (Version, Version) {
        let out = Command::new(self.program("ssh")).arg("-V").stdin(Stdio::null()).output().expect("ssh -V");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let after = |name: &str| -> Option<Version> {
            let rest = said.split_once(name)?.1;
            let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        };
        let found = after("OpenSSH_").zip(after("OpenSSL "));
        found.unwrap_or_else(|| panic!("{}: not the words of an OpenSSH with OpenSSL: {said}", self.name))
    }

    /// Path of a program of the system.
    pub fn program(&self, name: &str) -> PathBuf {
        if let Some(bin) = &self.bin {
            return bin.join(name);
        }
        let folders = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
        folders.iter().map(|dir| Path::new(dir).join(name)).find(|p| p.is_file()).unwrap_or_else(|| PathBuf::from(name))
    }
}

/// A user that is not root and exists nowhere but in the tests; `make-root` knows it too.
pub const TESTER: &str = "adjunct-tester";

/// Number of [`TESTER`].
pub const TESTER_ID: u32 = 61234;

/// The option without which an sshd from 9.8 on, stock or not, counts a login that ends before its listener has learned of its success as one without
/// authentication, and after fifteen of these refuses the address.
pub fn without_penalties(server: &System) -> Option<String> {
    (server.versions().0 >= (9, 8)).then(|| "PerSourcePenalties no".to_owned())
}

/// Major and minor number.
pub type Version = (u32, u32);

/// Debian's suites after the one the tests are written on: OpenSSH 10.0 with OpenSSL 3.5, and the newest of both.
pub const NEWER: [&str; 2] = ["trixie", NEWEST];

/// Debian's suite with the newest OpenSSH and OpenSSL.
pub const NEWEST: &str = "sid";

/// The newest OpenSSH and OpenSSL that the tests know: which algorithms there are, and which of them reach adjunct. A suite that changes every day
/// must not decide whether a change of ours is right.
const KNOWN: (Version, Version) = ((10, 6), (3, 6));

/// The folder the build puts programs in (`target/release`).
pub fn target() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").to_owned()
}

/// Whether there can be mount namespaces: a container may forbid them to its root.
pub fn namespaces() -> bool {
    static ABLE: OnceLock<bool> = OnceLock::new();
    *ABLE.get_or_init(|| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    })
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    // SAFETY: geteuid only returns a number.
    unsafe { libc::geteuid() == 0 }
}
