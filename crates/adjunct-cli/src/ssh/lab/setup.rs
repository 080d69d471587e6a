//! Configuration lines and environment of a server or client, beyond the usual ones.

use adjunct_tool::process::Environment;

/// The lines of a program's configuration, and its environment.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Lines of `sshd_config` or `ssh_config`; they win over the usual ones.
    pub lines: Vec<String>,
    /// Changes of the program's environment.
    pub environment: Environment,
}

impl Setup {
    /// Makes a setup of these configuration lines, in this environment.
    pub fn new(lines: impl Into<Vec<String>>, environment: &Environment) -> Setup {
        Setup { lines: lines.into(), environment: environment.clone() }
    }

    /// Whether a line sets this option.
    pub(super) fn sets(&self, option: &str) -> bool {
        let word = |line: &str| line.trim().split([' ', '=']).next().is_some_and(|w| w.eq_ignore_ascii_case(option));
        self.lines.iter().flat_map(|lines| lines.lines()).any(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_found_in_any_line() {
        let setup = Setup { lines: vec!["Ciphers a\nhostkey /k".to_owned()], ..Setup::default() };
        assert!(setup.sets("HostKey") && setup.sets("Ciphers") && !setup.sets("HostKeyAlgorithms"));
    }
}
