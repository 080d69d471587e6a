//! What `/proc/PID/maps` shows of libraries that encrypt.

use crate::providers;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A library other than OpenSSL that encrypts, or something that runs code with a library of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Other {
    /// GnuTLS.
    Gnutls,
    /// NSS (Firefox, Thunderbird).
    Nss,
    /// A JVM.
    Java,
    /// libgcrypt, Mbed TLS, wolfSSL or libsodium.
    Library,
    /// A pip wheel with OpenSSL inside (cryptography's `_rust.abi3.so`).
    Wheel,
    /// adjunct's PKCS #11 module.
    Pkcs11,
}

/// The libraries that `/proc/PID/maps` shows in a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// The first libcrypto.
    pub libcrypto: Option<PathBuf>,
    /// Whether libcrypto or libssl has been replaced since it was mapped.
    pub replaced: bool,
    /// A module of adjunct's.
    pub module: Option<PathBuf>,
    /// Whether the module has been replaced since it was mapped.
    pub module_replaced: bool,
    /// Providers of others that OpenSSL has loaded.
    pub providers: BTreeSet<PathBuf>,
    /// Other libraries that encrypt.
    pub other: BTreeSet<Other>,
    /// The package of Python's that may have OpenSSL inside.
    pub wheel: Option<PathBuf>,
    /// Whether anything is mapped: a kernel thread and a process that has ended have no memory.
    pub any: bool,
}

/// Reads `/proc/PID/maps`: `address perms offset device inode   path`.
pub fn mapped(maps: &[u8], modules: &[PathBuf]) -> Mapped {
    let mut mapped = Mapped::default();
    let text = String::from_utf8_lossy(maps);
    for line in text.lines() {
        mapped.any = true;
        let Some(start) = line.find('/') else { continue };
        let shown = line[start..].trim_end();
        let (path, deleted) = shown.strip_suffix(" (deleted)").map_or((shown, false), |path| (path, true));
        let path = Path::new(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if is_libcrypto(path) {
            mapped.libcrypto.get_or_insert_with(|| path.to_owned());
            mapped.replaced |= deleted;
        }
        mapped.replaced |= deleted && name.starts_with("libssl.so.");
        if is_ours(path) || modules.iter().any(|module| module == path) {
            mapped.module.get_or_insert_with(|| path.to_owned());
            mapped.module_replaced |= deleted;
        }
        if providers::is_of_others(path) {
            mapped.providers.insert(path.to_owned());
        }
        let other = other(&name);
        mapped.other.extend(other);
        if other == Some(Other::Wheel) {
            mapped.wheel.get_or_insert_with(|| path.to_owned());
        }
    }
    mapped
}

/// The other library that a file name stands for.
pub fn other(name: &str) -> Option<Other> {
    let begins = |list: &[&str]| list.iter().any(|beginning| name.starts_with(beginning));
    Some(match name {
        _ if begins(&["libgnutls.so"]) => Other::Gnutls,
        _ if begins(&["libnss3.so", "libsoftokn3.so", "libfreebl", "libssl3.so"]) => Other::Nss,
        "libjvm.so" | "libjli.so" | "libj9vm29.so" => Other::Java,
        _ if begins(&["libgcrypt.so", "libmbedcrypto.so", "libwolfssl.so", "libsodium.so", "libnettle.so"]) => {
            Other::Library
        }
        "_rust.abi3.so" => Other::Wheel,
        "adjunct-pkcs11.so" | "libadjunct_pkcs11.so" => Other::Pkcs11,
        _ => return None,
    })
}

/// Whether a file is a libcrypto by its name: `libcrypto.so.3`, or `libcrypto-1a2b3c4d.so.3` as in Python's wheels.
pub fn is_libcrypto(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("libcrypto").is_some_and(|rest| {
        rest.starts_with(".so") || (rest.starts_with('-') && (rest.contains(".so.") || rest.ends_with(".so")))
    })
}

/// Whether a file is a module of adjunct's by its name, installed or built.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "adjunct.so" | "libadjunct_openssl.so" | "libadjunct_engine.so" | "adjunct-engine.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read() {
        let maps =
            b"55d0-55d1 r--p 00000000 fe:00 12   /usr/sbin/sshd\n7f00-7f01 r-xp 0 fe:00 3 /usr/lib/libcrypto.so.3\n\
                     7f02-7f03 r--p 0 fe:00 4   /opt/a b/adjunct.so\n7ffc-7ffd rw-p 0 00:00 0 [stack]\n";
        let all = mapped(maps, &[]);
        assert_eq!(all.libcrypto.as_deref(), Some(Path::new("/usr/lib/libcrypto.so.3")));
        assert!(all.module.is_some() && !all.replaced && !all.module_replaced && all.any);
        let gone = mapped(b"7f-80 r-xp 0 fe:00 3 /usr/lib/libcrypto.so.3 (deleted)\n", &[]);
        assert!(gone.replaced && gone.module.is_none());
        assert!(mapped(b"7f-80 r-xp 0 fe:00 3 /usr/lib/libssl.so.3 (deleted)\n", &[]).replaced);
        assert!(mapped(b"7f-80 r-xp 0 fe:00 3 /m/adjunct.so (deleted)\n", &[]).module_replaced);
        assert!(mapped(b"7f-80 r-xp 0 fe:00 3 /x/module\n", &["/x/module".into()]).module.is_some());
        assert_eq!(mapped(b"\xff/\n/", &[]), Mapped { any: true, ..Mapped::default() });
    }

    #[test]
    fn names_of_libraries() {
        for name in ["libcrypto.so.3", "libcrypto.so.1.1", "libcrypto-c11a6f30.so.1.1", "/x/libcrypto.so"] {
            assert!(is_libcrypto(Path::new(name)), "{name}");
        }
        for name in ["libcryptopp.so.8", "libcrypto.a", "libcryptsetup.so.12", "libcrypto-notes"] {
            assert!(!is_libcrypto(Path::new(name)), "{name}");
        }
        assert_eq!(other("libgnutls.so.30.34.3"), Some(Other::Gnutls));
        assert_eq!(other("libfreeblpriv3.so"), Some(Other::Nss));
        assert_eq!(other("libssl.so.3"), None);
    }
}
