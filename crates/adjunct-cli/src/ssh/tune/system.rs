//! What is in force on this machine: the lists of ssh and sshd as the programs themselves read their configuration, and what
//! sshd's service adds to it.

use super::algorithms::AlgorithmKind;
use super::config::{Program, Tree, words};
use super::order::Lists;
use crate::ssh::lab::{Environment, Programs};
use adjunct_tool::Failure;
use adjunct_tool::files;
use adjunct_tool::process::run;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files from which sshd's service takes its environment: Debian's, the RHEL family's, and RHEL 8's crypto policy.
const ENVIRONMENT_FILES: [&str; 3] =
    ["/etc/default/ssh", "/etc/sysconfig/sshd", "/etc/crypto-policies/back-ends/opensshserver.config"];

/// The options and variables that sshd's service adds to its configuration files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// Options on its command line: `Ciphers=...`. They win over every file.
    pub options: Vec<(PathBuf, String)>,
    /// Its environment, as far as it is OpenSSL's or adjunct's.
    pub environment: Vec<(String, String)>,
}

impl Service {
    /// Reads the files below `root`.
    pub fn read(root: &Path) -> Service {
        let mut service = Service::default();
        for file in ENVIRONMENT_FILES.map(Path::new) {
            let real = root.join(file.strip_prefix("/").unwrap_or(file));
            for (name, value) in variables(&files::config(&real).unwrap_or_default()) {
                match name.as_str() {
                    "SSHD_OPTS" | "OPTIONS" | "CRYPTO_POLICY" => {
                        service.options.extend(options(&value).into_iter().map(|o| (file.to_owned(), o)));
                    }
                    n if n.starts_with("OPENSSL_") || n.starts_with("ADJUNCT_") => {
                        service.environment.push((name, value))
                    }
                    _ => {}
                }
            }
        }
        service
    }

    /// The environment that sshd runs in: the service's, not this user's.
    pub fn environment(&self) -> Environment {
        let remove = ["OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "OPENSSL_ia32cap", "ADJUNCT_CPU"];
        let set = self.environment.iter().map(|(name, value)| (name.clone(), value.into())).collect();
        Environment { set, remove: remove.map(str::to_owned).to_vec() }
    }

    /// The option that sets a list, if any, with its file.
    pub fn sets(&self, kind: AlgorithmKind) -> Option<&Path> {
        let keyword = kind.keyword().to_ascii_lowercase();
        let is = |o: &str| {
            o.to_ascii_lowercase().trim_start().strip_prefix(&keyword).is_some_and(|r| r.starts_with(['=', ' ']))
        };
        self.options.iter().find(|(_, option)| is(option)).map(|(file, _)| file.as_path())
    }
}

/// The assignments of a file of environment variables.
pub fn variables(text: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(text);
    let assignment = |line: &str| {
        let (name, value) = line.trim().strip_prefix("export ").unwrap_or(line.trim()).split_once('=')?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let value = value.trim();
        let unquoted = ['"', '\''].iter().find_map(|&q| value.strip_prefix(q)?.strip_suffix(q)).unwrap_or(value);
        plain.then(|| (name.to_owned(), unquoted.to_owned()))
    };
    text.lines().filter(|l| !l.trim_start().starts_with('#')).filter_map(assignment).collect()
}

/// The `-o` options of a command line.
pub fn options(text: &str) -> Vec<String> {
    let mut words = words(text).into_iter();
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("-o") {
            Some("") => out.extend(words.next()),
            Some(option) => out.push(option.to_owned()),
            None => {}
        }
    }
    out
}

/// The settings that a program reads from a configuration.
#[derive(Debug, Clone, Default)]
pub struct Effective {
    /// Its lists.
    pub lists: Lists,
    /// The host keys sshd has.
    pub host_keys: Vec<PathBuf>,
}

/// Asks a program what the configuration in `tree` means to it. `host_key` is a key sshd may have: it does not start without.
///
/// # Errors
/// [`Failure`] with the program's own words, in the names of the files.
pub fn effective(
    program: Program,
    programs: &Programs,
    tree: &Tree,
    service: &Service,
    host_key: &Path,
) -> Result<Effective, Failure> {
    let mut command = match program {
        Program::Ssh => {
            let mut command = Command::new(&programs.ssh);
            command.args(["-G", "-o", "CanonicalizeHostname=no", "-F"]).arg(tree.main()).arg("adjunct.invalid");
            command
        }
        Program::Sshd => {
            let mut command = Command::new(&programs.sshd);
            for (_, option) in &service.options {
                command.arg("-o").arg(option);
            }
            command.arg("-T").arg("-h").arg(host_key).arg("-f").arg(tree.main());
            service.environment().apply(&mut command);
            command
        }
    };
    let outcome = run(&mut command).map_err(Failure::new)?;
    if !outcome.success {
        let said = tree.in_real_names(&outcome.stderr);
        return Err(Failure::new(format!("{} refuses its configuration: {}", program.name(), reason(&said))));
    }
    let mut effective = parse(&outcome.text());
    effective.host_keys.retain(|key| key != host_key);
    Ok(effective)
}

/// The line of an error output that says most: not the last one, which only counts.
fn reason(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|l| !l.is_empty());
    let telling =
        |l: &&str| !l.contains("terminating,") && !l.starts_with("Unable to load host key") && !l.starts_with("debug");
    lines().find(telling).or(lines().next()).unwrap_or("it gave no reason").to_owned()
}

/// Reads what `sshd -T` and `ssh -G` print.
pub fn parse(text: &str) -> Effective {
    let mut effective = Effective::default();
    for line in text.lines() {
        let Some((keyword, value)) = line.split_once(' ') else { continue };
        if keyword == "hostkey" {
            effective.host_keys.push(PathBuf::from(value));
        }
        if let Some(kind) = AlgorithmKind::ALL.into_iter().find(|k| k.keyword().eq_ignore_ascii_case(keyword)) {
            *effective.lists.get_mut(kind) = value.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect();
        }
    }
    effective
}

/// The algorithms that two sides agree on: the client's first that the server has too.
pub fn agreed(kind: AlgorithmKind, client: &Lists, server: &Lists) -> Option<String> {
    client.get(kind).iter().find(|name| server.get(kind).contains(name)).cloned()
}

/// Paths where sshd looks for host keys when its configuration names none.
const HOST_KEYS: [&str; 3] =
    ["/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key"];

/// The algorithms of sshd's host keys, by their public parts: of the keys that its configuration names, else of those that exist where sshd looks.
/// `None` where one cannot be read or there is none: then nothing is known.
pub fn key_types(root: &Path, keys: &[PathBuf]) -> Option<Vec<String>> {
    let public = |key: &Path| {
        let below = root.join(key.strip_prefix("/").unwrap_or(key));
        PathBuf::from(format!("{}.pub", below.display()))
    };
    let kind = |path: &Path| files::text(path).ok()?.split_whitespace().next().map(str::to_owned);
    if !keys.is_empty() {
        return keys.iter().map(|key| kind(&public(key))).collect();
    }
    let usual = HOST_KEYS.iter().map(|key| public(Path::new(key))).filter(|path| path.exists());
    let found: Vec<String> = usual.map(|path| kind(&path)).collect::<Option<_>>()?;
    (!found.is_empty()).then_some(found)
}

/// The length of the machine's RSA host key; what ssh-keygen would make where there is none.
pub fn rsa_bits(programs: &Programs, root: &Path) -> u32 {
    const USUAL: u32 = 3072;
    let key = root.join("etc/ssh/ssh_host_rsa_key.pub");
    let told = run(Command::new(&programs.keygen).arg("-lf").arg(key));
    let text = told.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    let bits = text.split_whitespace().next().and_then(|b| b.parse().ok());
    bits.filter(|bits| (1024..=8192).contains(bits)).unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_service_s_variables_and_options() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("etc/default/ssh", "# x\nSSHD_OPTS=\"-o Ciphers=aes128-ctr -4\"\nOPENSSL_CONF=/x/y.cnf\nLANG=C\n"),
            (
                "etc/crypto-policies/back-ends/opensshserver.config",
                "CRYPTO_POLICY='-oMACs=a,b -oGSSAPIKexAlgorithms=x'\n",
            ),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let service = Service::read(root.path());
        assert_eq!(service.environment, [("OPENSSL_CONF".to_owned(), "/x/y.cnf".to_owned())]);
        assert_eq!(service.sets(AlgorithmKind::Ciphers), Some(Path::new("/etc/default/ssh")));
        assert!(service.sets(AlgorithmKind::Macs).unwrap().ends_with("opensshserver.config"));
        assert_eq!(service.sets(AlgorithmKind::Kex), None);
        assert_eq!(Service::read(Path::new("/nonexistent")), Service::default());
    }

    #[test]
    fn the_types_of_host_keys() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(key_types(root.path(), &[]), None, "no key is known");
        fs::create_dir_all(root.path().join("etc/ssh")).unwrap();
        for (name, text) in [
            ("ssh_host_ed25519_key", "ssh-ed25519 AAAA"),
            ("ssh_host_rsa_key", "ssh-rsa AAAA x"),
            ("own", "own-type B"),
        ] {
            fs::write(root.path().join(format!("etc/ssh/{name}.pub")), text).unwrap();
        }
        assert_eq!(key_types(root.path(), &[]).unwrap(), ["ssh-rsa", "ssh-ed25519"]);
        assert_eq!(key_types(root.path(), &["/etc/ssh/own".into()]).unwrap(), ["own-type"]);
        assert_eq!(key_types(root.path(), &["/etc/ssh/missing".into()]), None);
    }

    #[test]
    fn a_program_s_words() {
        let effective =
            parse("port 22\nciphers a,b\nmacs m\nkexalgorithms k\nhostkeyalgorithms h\nhostkey /etc/ssh/x\n");
        assert_eq!(effective.lists.get(AlgorithmKind::Ciphers), ["a", "b"]);
        assert_eq!(effective.lists.get(AlgorithmKind::HostKeys), ["h"]);
        assert_eq!(effective.host_keys, [PathBuf::from("/etc/ssh/x")]);
        assert_eq!(
            reason("/f line 3: Bad SSH2 cipher spec 'x'.\n/f: terminating, 1 bad"),
            "/f line 3: Bad SSH2 cipher spec 'x'."
        );
    }

    #[test]
    fn the_client_s_first_is_agreed_on() {
        let lists = |names: &str| {
            let mut lists = Lists::default();
            *lists.get_mut(AlgorithmKind::Ciphers) = names.split(' ').map(str::to_owned).collect();
            lists
        };
        assert_eq!(agreed(AlgorithmKind::Ciphers, &lists("a b c"), &lists("c b")).as_deref(), Some("b"));
        assert_eq!(agreed(AlgorithmKind::Ciphers, &lists("a"), &lists("b")), None);
        assert_eq!(agreed(AlgorithmKind::Macs, &lists("a"), &lists("a")), None);
    }
}
