//! What being served is worth to ssh: by its own order it takes a cipher first that no CPU has instructions for.

use crate::ssh::lab::locate;
use crate::ssh::tune::left;
use crate::ssh::tune::order::has_instructions;
use adjunct_tool::process::run;
use std::path::Path;
use std::process::Command;

/// The configuration of the whole system; a user's own is another matter.
const CONFIG: &str = "/etc/ssh/ssh_config";

/// The note for a program that is served; `None` where it is not the system's ssh, or takes a cipher first that this CPU has instructions for.
pub(super) fn note(program: &Path) -> Option<String> {
    // Only the ssh that is found by name is run.
    let ssh = locate("ssh", None, "openssh-client").ok()?;
    if std::fs::canonicalize(&ssh).ok()? != program {
        return None;
    }
    let asked = run(Command::new(&ssh).args(["-F", CONFIG, "-G", "localhost"])).ok().filter(|asked| asked.success)?;
    said(&asked.text())
}

/// The note by what `ssh -G` says.
fn said(settings: &str) -> Option<String> {
    let ciphers = settings.lines().find_map(|line| line.strip_prefix("ciphers "))?;
    let first = ciphers.split(',').next().filter(|first| !first.is_empty() && !has_instructions(first))?;
    Some(format!("it takes {first} first, which this CPU has no instructions for: {}", left::advice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_cipher_without_instructions_is_said() {
        let note = said("user root\nciphers chacha20-poly1305@openssh.com,aes128-gcm@openssh.com\n").unwrap();
        assert!(note.starts_with("it takes chacha20-poly1305@openssh.com first"), "{note}");
        assert!(note.contains("adjunct ssh tune --quick --apply") && note.contains("setup --policy compat"), "{note}");
        let hardware = has_instructions("aes128-gcm@openssh.com");
        assert_eq!(said("ciphers aes128-gcm@openssh.com,chacha20-poly1305@openssh.com\n").is_none(), hardware);
        assert_eq!(said("user root\n"), None);
    }
}
