//! Changes of a program's environment.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Changes of a program's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Variables that are set.
    pub set: Vec<(String, OsString)>,
    /// Variables that are taken away before others are set.
    pub remove: Vec<String>,
}

impl Environment {
    /// Changes the OpenSSL configuration alone.
    pub fn with_conf(conf: &Path) -> Environment {
        Environment::default().conf(conf)
    }

    /// Adds this OpenSSL configuration.
    #[must_use]
    pub fn conf(self, conf: &Path) -> Environment {
        self.and("OPENSSL_CONF", conf)
    }

    /// Sets one more variable.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl Into<OsString>) -> Environment {
        self.set.push((name.to_owned(), value.into()));
        self
    }

    /// Changes a command's environment.
    pub fn apply(&self, command: &mut Command) {
        for name in &self.remove {
            command.env_remove(name);
        }
        command.envs(self.set.iter().map(|(name, value)| (name, value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_changed() {
        let environment = Environment { remove: vec!["PATH".to_owned()], ..Environment::with_conf(Path::new("/c")) };
        let mut command = Command::new("env");
        environment.and("A", "b").apply(&mut command);
        let changes: Vec<_> = command.get_envs().map(|(n, v)| (n.to_str(), v.and_then(|v| v.to_str()))).collect();
        for change in [(Some("A"), Some("b")), (Some("OPENSSL_CONF"), Some("/c")), (Some("PATH"), None)] {
            assert!(changes.contains(&change), "{changes:?}");
        }
    }
}
