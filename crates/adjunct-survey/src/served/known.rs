//! Well-known programs that are installed.

use super::{Judged, Programs};
use crate::locate;
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use std::path::Path;

/// Programs about which people ask, where they are installed.
const KNOWN: [&str; 50] = [
    "ssh",
    "sshd",
    "scp",
    "sftp",
    "ssh-agent",
    "rsync",
    "curl",
    "wget",
    "git",
    "apt",
    "openssl",
    "python3",
    "perl",
    "ruby",
    "php",
    "node",
    "java",
    "go",
    "nginx",
    "apache2",
    "httpd",
    "haproxy",
    "postgres",
    "psql",
    "mysqld",
    "mariadbd",
    "mysql",
    "redis-server",
    "mongod",
    "openvpn",
    "stunnel4",
    "postfix",
    "dovecot",
    "exim4",
    "named",
    "unbound",
    "squid",
    "docker",
    "podman",
    "kubectl",
    "caddy",
    "traefik",
    "firefox",
    "chromium",
    "thunderbird",
    "gnutls-cli",
    "certutil",
    "lftp",
    "cryptsetup",
    "tor",
];

/// The well-known programs that are installed and `wanted`, and what is to be said of each.
///
/// # Errors
/// Only where the user interrupts.
pub fn known(programs: &mut Programs, wanted: impl Fn(&Path) -> bool) -> Result<Vec<(&'static str, Judged)>, Failure> {
    let mut found = Vec::new();
    for name in KNOWN {
        interrupted()?;
        let Some(path) = locate(Path::new(name)).ok() else { continue };
        if std::fs::canonicalize(&path).is_ok_and(|path| wanted(&path)) {
            found.push((name, programs.judge(&path)));
        }
    }
    Ok(found)
}
