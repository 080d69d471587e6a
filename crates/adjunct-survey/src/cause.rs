//! Why a program is not served, as a word that does not change between versions.

use serde::Serialize;

/// Why a program or a process is not served, or why that cannot be told; the order is that of a report, worst first, and first among these what a
/// user can change at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// adjunct is enabled, and not in force.
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
    /// The process runs in a container.
    Container,
    /// The program runs with the rights of its file (setuid, setgid, capabilities) and ignores what would lead it to a configuration.
    Setuid,
    /// A plugin that would use OpenSSL is not switched on.
    PluginOff,
    /// adjunct is not enabled.
    NotEnabled,
    /// Its OpenSSL is older than 3.0, or another library of that name.
    OldOpenssl,
    /// The program's machine code is of another kind than the module's.
    OtherMachine,
    /// The program calls low-level functions only, which neither provider nor engine serves here.
    LowLevel,
    /// A library that it brings along has OpenSSL inside (a pip wheel).
    Wheel,
    /// OpenSSL is linked into it statically.
    Static,
    /// GnuTLS encrypts for the program.
    #[serde(rename = "gnutls")]
    GnuTls,
    /// NSS encrypts for the program.
    Nss,
    /// Java's own code encrypts for the program.
    Java,
    /// Go's own code encrypts for the program.
    Go,
    /// rustls encrypts for the program.
    Rustls,
    /// BoringSSL or AWS-LC is linked into it.
    #[serde(rename = "boringssl")]
    BoringSsl,
    /// A library other than OpenSSL (libgcrypt, Mbed TLS, wolfSSL, libsodium) encrypts for it.
    OtherLibrary,
    /// The program brings a provider of its own, before which adjunct may have stepped back.
    OwnProvider,
    /// The program itself chooses which section of openssl.cnf it reads.
    OwnSection,
    /// The process has not used OpenSSL yet.
    NotUsedYet,
    /// The file is a script of a shell, or another that starts programs.
    Script,
    /// The process may not be looked at.
    Permission,
    /// No library that encrypts is to be seen.
    NoCrypto,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 32] = [
        Cause::NotInForce,
        Cause::ModuleReplaced,
        Cause::LibraryReplaced,
        Cause::StartedBefore,
        Cause::EnvironmentConfig,
        Cause::OtherConfig,
        Cause::NodeSection,
        Cause::AppArmor,
        Cause::SeLinux,
        Cause::Chroot,
        Cause::Container,
        Cause::Setuid,
        Cause::PluginOff,
        Cause::NotEnabled,
        Cause::OldOpenssl,
        Cause::OtherMachine,
        Cause::LowLevel,
        Cause::Wheel,
        Cause::Static,
        Cause::GnuTls,
        Cause::Nss,
        Cause::Java,
        Cause::Go,
        Cause::Rustls,
        Cause::BoringSsl,
        Cause::OtherLibrary,
        Cause::OwnSection,
        Cause::NotUsedYet,
        Cause::Script,
        Cause::Permission,
        Cause::NoCrypto,
        Cause::OwnProvider,
    ];

    /// The number under which docs/advice.md has it. It stays with its cause: a new cause gets the next one, and that of a cause that is no
    /// longer told is not given again.
    pub fn id(self) -> &'static str {
        match self {
            Cause::NotInForce => "ADJ-D001",
            Cause::ModuleReplaced => "ADJ-D002",
            Cause::LibraryReplaced => "ADJ-D003",
            Cause::StartedBefore => "ADJ-D004",
            Cause::EnvironmentConfig => "ADJ-D005",
            Cause::OtherConfig => "ADJ-D006",
            Cause::NodeSection => "ADJ-D007",
            Cause::AppArmor => "ADJ-D008",
            Cause::SeLinux => "ADJ-D009",
            Cause::Chroot => "ADJ-D010",
            Cause::Container => "ADJ-D011",
            Cause::Setuid => "ADJ-D012",
            Cause::PluginOff => "ADJ-D013",
            Cause::NotEnabled => "ADJ-D014",
            Cause::OldOpenssl => "ADJ-D015",
            Cause::OtherMachine => "ADJ-D016",
            Cause::LowLevel => "ADJ-D017",
            Cause::Wheel => "ADJ-D018",
            Cause::Static => "ADJ-D019",
            Cause::GnuTls => "ADJ-D020",
            Cause::Nss => "ADJ-D021",
            Cause::Java => "ADJ-D022",
            Cause::Go => "ADJ-D023",
            Cause::Rustls => "ADJ-D024",
            Cause::BoringSsl => "ADJ-D025",
            Cause::OtherLibrary => "ADJ-D026",
            Cause::OwnSection => "ADJ-D027",
            Cause::NotUsedYet => "ADJ-D028",
            Cause::Script => "ADJ-D029",
            Cause::Permission => "ADJ-D030",
            Cause::NoCrypto => "ADJ-D031",
            Cause::OwnProvider => "ADJ-D032",
        }
    }

    /// The word of the cause.
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
