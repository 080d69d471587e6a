//! The OpenSSL configuration of the two programs of a connection, set by their environment.

use crate::ssh::lab::Environment;
use std::path::{Path, PathBuf};

/// One of the things that are compared: how both programs of a connection are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// Name of the side in progress and errors: `stock`, `adjunct`.
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

    /// Makes a side where both programs have this OpenSSL configuration.
    pub fn with_conf(name: &str, conf: &Path) -> Side {
        let environment = Environment::with_conf(conf);
        Side { name: name.to_owned(), client: environment.clone(), server: environment }
    }

    /// Sets one more variable for both programs.
    #[must_use]
    pub fn and(self, name: &str, value: &str) -> Side {
        self.with(&Environment::default().and(name, value))
    }

    /// Changes more in the environment of both programs.
    #[must_use]
    pub fn with(mut self, more: &Environment) -> Side {
        for environment in [&mut self.client, &mut self.server] {
            environment.set.extend_from_slice(&more.set);
            environment.remove.extend_from_slice(&more.remove);
        }
        self
    }
}

/// The value of `OPENSSL_ia32cap` that hides AES-NI, PCLMULQDQ, SHA-NI, VAES, VPCLMULQDQ, GFNI and AVX-512 IFMA
/// from OpenSSL: the same program in software.
pub const SOFTWARE_IA32CAP: &str = "~0x200000200000000:~0x70020200000";

/// The modules of adjunct that an OpenSSL configuration loads.
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
}
