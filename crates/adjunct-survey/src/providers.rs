//! Provider modules of others that are installed, and what adjunct changes for programs that load them.

use super::programs;
use adjunct_tool::escape::shown;
use std::path::Path;

/// Modules that serve no keys of their own: adjunct's, and OpenSSL's old algorithms.
const PASSED_OVER: [&str; 4] = ["adjunct", "libadjunct_openssl", "adjunct-engine", "legacy"];

/// Whether a mapped or installed file is a provider of somebody else's: in a folder of OpenSSL's modules, by any name.
pub fn is_of_others(path: &Path) -> bool {
    let in_modules = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "ossl-modules");
    in_modules && name(path).is_some()
}

/// The name that a program loads it by.
pub fn name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".so")?;
    (!name.is_empty() && !PASSED_OVER.contains(&name)).then(|| name.to_owned())
}

/// Names of the providers in a folder of modules.
fn installed(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| name(&entry.path())).collect();
    names.sort();
    names.dedup();
    names
}

/// What to know of them before adjunct is enabled for all; `yields` says whether adjunct steps back before them. Libcryptos with another
/// folder of modules read another openssl.cnf.
pub fn note(yields: bool) -> Option<String> {
    let names = installed(&programs::modules_dir()?);
    (!names.is_empty()).then(|| words(&names, yields))
}

fn words(names: &[String], yields: bool) -> String {
    let listed = names.iter().map(|name| format!("'{}'", shown(name))).collect::<Vec<_>>().join(", ");
    let what = if names.len() == 1 { "an OpenSSL provider is" } else { "OpenSSL providers are" };
    let change = if yields {
        "a program that loads one itself before it uses OpenSSL ('openssl -provider NAME') gets its keys and algorithms as before, and none of \
         adjunct's"
    } else {
        "the file activates 'default', which programs that load one of them take first unless they ask otherwise; where they take 'default' \
         they get adjunct"
    };
    format!(
        "{what} installed: {listed}; {change} (docs/openssl.md, \"Programs with a provider of their own\"; --for sshd or ssh: those alone)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_others_are_known_by_their_folder() {
        let of_others = |path: &str| is_of_others(Path::new(path));
        assert!(of_others("/usr/lib/x86_64-linux-gnu/ossl-modules/tpm2.so"));
        assert!(of_others("/opt/ossl-modules/oqsprovider.so"));
        for path in
            ["/usr/lib/ossl-modules/adjunct.so", "/usr/lib/ossl-modules/legacy.so", "/usr/lib/tpm2.so", "tpm2.so"]
        {
            assert!(!of_others(path), "{path}");
        }
    }

    #[test]
    fn they_are_listed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["tpm2.so", "pkcs11.so", "legacy.so", "adjunct.so", "README"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names = installed(folder.path());
        assert_eq!(names, ["pkcs11", "tpm2"]);
        assert!(
            words(&names, true)
                .starts_with("OpenSSL providers are installed: 'pkcs11', 'tpm2'; a program that loads one itself")
        );
        assert!(
            words(&names[..1], false)
                .contains("an OpenSSL provider is installed: 'pkcs11'; the file activates 'default'")
        );
        assert!(installed(Path::new("/nonexistent")).is_empty());
    }
}
