//! What the two programs of a connection are told about OpenSSL: by their environment.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What is changed in a program's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Variables that are set.
    pub set: Vec<(String, String)>,
    /// Variables that are taken away before that.
    pub remove: Vec<String>,
}

impl Environment {
    /// Only the OpenSSL configuration is changed.
    pub fn with_conf(conf: &Path) -> Environment {
        Environment { set: vec![("OPENSSL_CONF".to_owned(), conf.display().to_string())], remove: Vec::new() }
    }

    /// Sets one more variable.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Environment {
        self.set.push((name.to_owned(), value.to_owned()));
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

/// One of the things that are compared: how both programs of a connection are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// What it is called in progress and errors: `stock`, `adjunct`.
    pub name: String,
    /// The client's environment.
    pub client: Environment,
    /// The server's environment.
    pub server: Environment,
}

impl Side {
    /// The environment and files of the system as they are.
    pub fn as_is(name: &str) -> Side {
        Side { name: name.to_owned(), ..Side::default() }
    }

    /// Both programs with this OpenSSL configuration.
    pub fn with_conf(name: &str, conf: &Path) -> Side {
        let environment = Environment::with_conf(conf);
        Side { name: name.to_owned(), client: environment.clone(), server: environment }
    }

    /// Sets one more variable for both programs.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Side {
        self.client = self.client.and(name, value);
        self.server = self.server.and(name, value);
        self
    }
}

/// The value of `OPENSSL_ia32cap` that hides AES-NI, PCLMULQDQ, SHA-NI, VAES, VPCLMULQDQ, GFNI and AVX-512 IFMA
/// from OpenSSL: the same program in software.
pub const SOFTWARE_IA32CAP: &str = "~0x200000200000000:~0x70020200000";

/// What of adjunct an OpenSSL configuration loads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modules {
    /// The provider.
    pub provider: Option<PathBuf>,
    /// What the provider registers its engine for, where OpenSSL has engines: `RSA,EC`. For OpenSSH up to 9.8.
    pub engine: Option<String>,
}

/// An OpenSSL configuration of the default provider alone, or with adjunct beside it.
pub fn openssl_conf(modules: &Modules) -> String {
    let head = "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\n";
    let default = "[default_sect]\nactivate = 1\n";
    let Some(provider) = &modules.provider else {
        return format!("{head}[provider_sect]\ndefault = default_sect\n{default}");
    };
    let engine = modules.engine.as_ref().map_or_else(String::new, |list| format!("engine = {list}\n"));
    // The random generator keeps to OpenSSL's own AES: what it takes is not the connection's.
    format!(
        "{head}alg_section = evp_sect\nrandom = random_sect\n[provider_sect]\ndefault = default_sect\n\
         adjunct = adjunct_sect\n{default}[adjunct_sect]\nmodule = {}\nactivate = 1\n{engine}[evp_sect]\n\
         default_properties = ?provider=adjunct\n[random_sect]\nproperties = ?provider=default\n",
        provider.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_keeps_the_default_provider() {
        let both = Modules { provider: Some("/m/adjunct.so".into()), engine: Some("RSA,EC".to_owned()) };
        let with = openssl_conf(&both);
        let without = openssl_conf(&Modules::default());
        for text in [&with, &without] {
            assert!(text.contains("[default_sect]\nactivate = 1\n"), "{text}");
        }
        assert!(with.contains("?provider=adjunct") && with.contains("module = /m/adjunct.so\n"));
        assert!(with.contains("engine = RSA,EC\n") && !without.contains("adjunct"));
    }

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
