//! Whom to connect to: the host asked for, this machine's own sshd, or a private one.

use super::Args;
use super::loaded::{Configured, configured};
use crate::counted::Counted;
use crate::ssh::lab::keys::Type;
use crate::ssh::lab::{Environment, Place, Programs, Setup, Sshd, client_options};
use adjunct_tool::Failure;
use adjunct_tool::files;
use adjunct_tool::process::{last_line, run};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The environment variables that decide what an sshd loads and counts.
const TELLING: [&str; 4] = ["OPENSSL_CONF", "ADJUNCT_CPU", "ADJUNCT_ACCELERATOR", "OPENSSL_ia32cap"];

/// Options of ssh for every session: one connection of its own, no terminal, nothing forwarded, nothing learned.
const ALONE: [&str; 8] = [
    "ControlMaster=no",
    "ControlPath=none",
    "ClearAllForwardings=yes",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
    "UpdateHostKeys=no",
    "Tunnel=no",
    "ForwardAgent=no",
];

/// Options of ssh for every session that OpenSSH has from 8.7 on: in the foreground, with its input, and a session of the usual type.
const ALONE_NEWER: [&str; 3] = ["ForkAfterAuthentication=no", "StdinNull=no", "SessionType=default"];

/// Adds `-o OPTION` for each.
pub(super) fn add_options<S: AsRef<str>>(command: &mut Command, options: &[S]) {
    for option in options {
        command.arg("-o").arg(option.as_ref());
    }
}

/// ssh with the options of every session, then the user's.
pub(super) fn client(ssh: &Path, newer: bool, args: &Args) -> Command {
    let mut command = Command::new(ssh);
    add_options(&mut command, &ALONE);
    if newer {
        add_options(&mut command, &ALONE_NEWER);
    }
    if let Some(file) = &args.config {
        command.arg("-F").arg(file);
    }
    for file in &args.identity {
        command.arg("-i").arg(file);
    }
    if let Some(user) = &args.login {
        command.args(["-l", user]);
    }
    if let Some(port) = args.port {
        command.args(["-p", &port.to_string()]);
    }
    add_options(&mut command, &args.option);
    command
}

/// The settings that `ssh -G` prints for a host.
#[derive(Debug, Default)]
pub(super) struct Effective {
    lines: Vec<(String, String)>,
}

impl Effective {
    /// Asks ssh.
    ///
    /// # Errors
    /// [`Failure`] with ssh's own words: an unknown option, a bad configuration file.
    pub(super) fn ask(command: &Command, host: &str) -> Result<Effective, Failure> {
        let mut asked = Command::new(command.get_program());
        asked.args(command.get_args()).arg("-G").arg(host);
        let outcome = run(&mut asked).map_err(Failure::new)?;
        if !outcome.success {
            // Where a file is wrong, the last line only counts what the one before it names.
            let counts = |line: &&str| line.contains(": terminating, ");
            let said: Vec<&str> = outcome.stderr.lines().filter(|line| !counts(line)).collect();
            let said = said.join("\n");
            return Err(Failure::new(format!("ssh refuses its options or configuration: {}", last_line(&said))));
        }
        let text = outcome.text();
        let lines = text.lines().filter_map(|l| l.split_once(' '));
        Ok(Effective { lines: lines.map(|(k, v)| (k.to_ascii_lowercase(), v.trim().to_owned())).collect() })
    }

    /// The value of an option, by its name in lower case.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    /// The first of these options that has a value.
    fn any(&self, names: &[&str]) -> &str {
        names.iter().find_map(|n| self.get(n)).unwrap_or_default()
    }

    /// Whether the connection goes through a program or another host.
    pub(super) fn proxied(&self) -> bool {
        ["proxycommand", "proxyjump"].iter().any(|n| self.get(n).is_some_and(|v| v != "none"))
    }
}

/// Whether an SSH server listens on this machine at `port`.
pub(super) fn listens(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(2)) else { return false };
    let mut banner = [0; 4];
    stream.set_read_timeout(Some(Duration::from_secs(5))).is_ok()
        && stream.read_exact(&mut banner).is_ok()
        && &banner == b"SSH-"
}

/// The options for this machine's own sshd: no question is asked, and no host key is looked for or kept, because on loopback only this machine
/// answers.
pub(super) fn own(command: &mut Command, folder: &Path) {
    let options = [
        "HostName=127.0.0.1".to_owned(),
        "ProxyCommand=none".to_owned(),
        "BatchMode=yes".to_owned(),
        "StrictHostKeyChecking=no".to_owned(),
        "CheckHostIP=no".to_owned(),
        "GlobalKnownHostsFile=/dev/null".to_owned(),
        format!("UserKnownHostsFile={}", folder.join("known_hosts_of_own").display()),
    ];
    add_options(command, &options);
}

/// A private sshd that runs, and how to reach it.
#[derive(Debug)]
pub(super) struct Private {
    /// The server.
    pub sshd: Sshd,
    /// The modules of adjunct that its OpenSSL configuration names.
    pub configured: Configured,
    /// Options for the client.
    pub options: Vec<String>,
}

impl Private {
    /// Starts a private sshd as this machine's would be started: with the environment of its service, the algorithms of its configuration, and keys
    /// of the kinds that the client prefers.
    ///
    /// # Errors
    /// [`Failure`]: a key cannot be made, sshd does not start, ...
    pub(super) fn start(
        place: &Place,
        prefers: &Effective,
        args: &Args,
        counted: &Counted,
    ) -> Result<Private, Failure> {
        let environment = environment(counted);
        let mut lines = algorithms(&place.programs.sshd);
        let kinds = [first(prefers.any(&["hostkeyalgorithms"])), Type::Ed25519];
        for (at, &kind) in kinds.iter().enumerate() {
            if !kinds[..at].contains(&kind) {
                lines.push(format!("HostKey {}", place.key(kind)?.display()));
            }
        }
        let mut identities = args.identity.clone();
        if identities.is_empty() {
            let user = first(prefers.any(&["pubkeyacceptedalgorithms", "pubkeyacceptedkeytypes"]));
            identities.push(place.key(user)?);
        } else {
            let public: String = identities.iter().map(|file| read(&with_pub(file))).collect::<Result<_, _>>()?;
            lines.push(format!("AuthorizedKeysFile {}", place.write("authorized", &public)?.display()));
        }
        let conf =
            environment.set.iter().find(|(name, _)| name == "OPENSSL_CONF").map(|(_, value)| PathBuf::from(value));
        let sshd = Sshd::start(place, None, &Setup { lines, environment })?;
        let mut options = client_options(place, sshd.port());
        options.push("ProxyCommand=none".to_owned());
        options.extend(identities.iter().map(|file| format!("IdentityFile={}", file.display())));
        Ok(Private { sshd, configured: configured(conf.as_deref()), options })
    }
}

/// The environment of the machine's own sshd, as far as it matters here, and counters of its own.
fn environment(counted: &Counted) -> Environment {
    let mut environment = counted.environment();
    for name in TELLING {
        let of_service = || {
            let files = ["/etc/default/ssh", "/etc/sysconfig/sshd", "/etc/sysconfig/ssh", "/etc/conf.d/sshd"];
            files.iter().find_map(|file| variable(&files::text(Path::new(file)).ok()?, name))
        };
        if let Some(value) = std::env::var(name).ok().or_else(of_service) {
            environment = environment.and(name, value);
        }
    }
    environment
}

/// The last value that an environment file of systemd gives to `name`.
fn variable(text: &str, name: &str) -> Option<String> {
    let mut values = text.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='));
    let value = values.next_back()?.trim();
    let unquoted = ['"', '\''].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q));
    Some(unquoted.unwrap_or(value).to_owned())
}

/// The algorithms of this machine's sshd_config, as lines for another one; none where sshd does not say (not root).
fn algorithms(sshd: &Path) -> Vec<String> {
    const NAMES: [&str; 7] = [
        "ciphers",
        "macs",
        "kexalgorithms",
        "hostkeyalgorithms",
        "pubkeyacceptedalgorithms",
        "rekeylimit",
        "requiredrsasize",
    ];
    // From OpenSSH 9.3 on -G also answers where -T misses host keys or the folder for privilege separation.
    let asked = ["-T", "-G"].map(|option| run(Command::new(sshd).arg(option)));
    let Some(outcome) = asked.into_iter().flatten().find(|o| o.success) else { return Vec::new() };
    let text = outcome.text();
    let pairs =
        text.lines().filter(|l| l.split_once(' ').is_some_and(|(n, v)| NAMES.contains(&n) && !v.trim().is_empty()));
    pairs.map(str::to_owned).collect()
}

/// The type of key for the algorithm that a list prefers.
fn first(list: &str) -> Type {
    let plain = |name: &&str| !name.contains("cert") && !name.starts_with("sk-") && !name.starts_with("webauthn");
    list.split(',').find(plain).and_then(|name| Type::of(name, 3072)).unwrap_or(Type::Ed25519)
}

fn with_pub(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    PathBuf::from(name)
}

fn read(path: &Path) -> Result<String, Failure> {
    files::text(path).map_err(|e| Failure::new(format!("{}: {}", path.display(), adjunct_tool::failure::cause(&e))))
}

/// The version of OpenSSL that `sshd` uses, where it says so.
pub(super) fn openssl_of(programs: &Programs) -> Option<String> {
    let outcome = run(Command::new(&programs.sshd).arg("-V")).ok()?;
    let line = outcome.stderr.lines().find(|l| l.starts_with("OpenSSH_"))?.to_owned();
    line.split_once(", ").map(|(_, openssl)| openssl.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_file() {
        let text = "# OPENSSL_CONF=/no\nSSHD_OPTS=\nOPENSSL_CONF=/etc/a.cnf\nOPENSSL_CONF=\"/etc/b c.cnf\"\nOPENSSL_CONFIG=/x\n";
        assert_eq!(variable(text, "OPENSSL_CONF").as_deref(), Some("/etc/b c.cnf"));
        assert_eq!(variable("ADJUNCT_CPU='-aes'", "ADJUNCT_CPU").as_deref(), Some("-aes"));
        assert_eq!(variable(text, "ADJUNCT_CPU"), None);
    }

    #[test]
    fn the_kind_of_key_a_list_prefers() {
        assert_eq!(first("ssh-ed25519-cert-v01@openssh.com,ssh-ed25519,rsa-sha2-512"), Type::Ed25519);
        assert_eq!(first("sk-ssh-ed25519@openssh.com,rsa-sha2-256,ssh-ed25519"), Type::Rsa(3072));
        assert_eq!(first("ecdsa-sha2-nistp384"), Type::Ecdsa(384));
        assert_eq!(first(""), Type::Ed25519);
    }

    #[test]
    fn what_ssh_would_do() {
        let lines = [("port", "22"), ("proxyjump", "none"), ("hostkeyalgorithms", "a,b")];
        let mut effective = Effective { lines: lines.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec() };
        assert!(!effective.proxied());
        assert_eq!(effective.any(&["x", "hostkeyalgorithms"]), "a,b");
        effective.lines.push(("proxycommand".to_owned(), "nc %h %p".to_owned()));
        assert!(effective.proxied());
    }
}
