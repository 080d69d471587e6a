//! Why a program is not served, as one word that stays the same.

use serde::Serialize;

/// Why a program or a process is not served, or why that cannot be said; the order is that of a report, worst first: first what somebody
/// can change at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// What is enabled is not in force.
    NotInForce,
    /// An upgrade replaced the module; the process goes on with the old one.
    ModuleReplaced,
    /// An upgrade replaced its libcrypto or libssl.
    LibraryReplaced,
    /// The process was started before adjunct was enabled.
    StartedBefore,
    /// `OPENSSL_CONF` in its environment names a configuration without adjunct.
    EnvironmentConfig,
    /// Its libcrypto reads another openssl.cnf.
    OtherConfig,
    /// Node reads a section of its own, `nodejs_conf`, which does not name adjunct.
    NodeSection,
    /// An AppArmor profile confines it.
    #[serde(rename = "apparmor")]
    AppArmor,
    /// An SELinux domain confines it.
    #[serde(rename = "selinux")]
    SeLinux,
    /// Its root is another folder.
    Chroot,
    /// It runs in a container.
    Container,
    /// It runs with the rights of its file (setuid, setgid, capabilities) and ignores what would lead it to a configuration.
    Setuid,
    /// A plugin that would use OpenSSL is not switched on.
    PluginOff,
    /// adjunct is not enabled.
    NotEnabled,
    /// Its OpenSSL is older than 3.0, or another library of that name.
    OldOpenssl,
    /// It is machine code of another kind than the module.
    OtherMachine,
    /// It calls low-level functions only, which nobody serves here.
    LowLevel,
    /// A library that it brings along has OpenSSL inside (a pip wheel).
    Wheel,
    /// OpenSSL is linked into it statically.
    Static,
    /// GnuTLS encrypts for it.
    #[serde(rename = "gnutls")]
    GnuTls,
    /// NSS encrypts for it.
    Nss,
    /// Java's own code encrypts for it.
    Java,
    /// Go's own code encrypts for it.
    Go,
    /// rustls encrypts for it.
    Rustls,
    /// BoringSSL or AWS-LC is linked into it.
    #[serde(rename = "boringssl")]
    BoringSsl,
    /// Another library (libgcrypt, Mbed TLS, wolfSSL, libsodium) encrypts for it.
    OtherLibrary,
    /// It chooses itself which section of openssl.cnf it reads.
    OwnSection,
    /// The process has not used OpenSSL yet.
    NotUsedYet,
    /// It is a script of a shell, or another that starts programs.
    Script,
    /// It may not be looked at.
    Permission,
    /// No library that encrypts is to be seen.
    NoCrypto,
}

impl Cause {
    /// The word for it.
    pub fn word(self) -> String {
        serde_json::to_value(self).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay() {
        assert_eq!(Cause::StartedBefore.word(), "started-before");
        assert_eq!(Cause::GnuTls.word(), "gnutls");
        assert_eq!(Cause::AppArmor.word(), "apparmor");
        assert!(Cause::StartedBefore < Cause::GnuTls);
    }
}
