//! Plugins that programs load by their configuration, and other programs that they start, to encrypt: no list of libraries names these.

use std::path::{Path, PathBuf};

/// A plugin, or a program that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The usual name: `_ssl`, `mod_ssl`, `git-remote-https`.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Whether the part is a program.
    pub program: bool,
    /// Purpose of the part, where a program has several: `https`.
    pub purpose: Option<&'static str>,
    /// The reason why the part is not in use, and the command that enables it; `None` where it is in use.
    pub off: Option<(String, String)>,
}

/// The parts of a program, by its name and place, those that matter most first.
pub fn of(program: &Path) -> Vec<Part> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The prefix that it was installed below: /usr of /usr/bin/python3.
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
    match name.as_str() {
        _ if name.starts_with("python") || name.starts_with("pypy") => python(prefix, &name),
        "apache2" | "httpd" => apache(),
        "postgres" => plugins(prefix, &[("pgcrypto", "lib/pgcrypto.so"), ("pgcrypto", "lib/*/pgcrypto.so")]),
        _ if name.starts_with("php") => plugins(prefix, &[("openssl.so", "lib/php/*/openssl.so")]),
        _ if name.starts_with("ruby") => {
            plugins(prefix, &[("openssl.so", "lib/*/ruby/*/openssl.so"), ("openssl.so", "lib/ruby/*/*/openssl.so")])
        }
        _ if name.starts_with("perl") => plugins(
            prefix,
            &[
                ("Net::SSLeay", "lib/*/perl5/*/auto/Net/SSLeay/SSLeay.so"),
                ("Net::SSLeay", "local/lib/*/perl/*/auto/Net/SSLeay/SSLeay.so"),
            ],
        ),
        "git" => [
            started(prefix, "git-remote-https", "https", &["lib/git-core", "libexec/git-core"]),
            started(prefix, "ssh", "ssh", &["bin"]),
        ]
        .into_iter()
        .flatten()
        .collect(),
        "apt" | "apt-get" => started(prefix, "https", "its method", &["lib/apt/methods"]).into_iter().collect(),
        "rsync" | "scp" | "sftp" => started(prefix, "ssh", "ssh", &["bin"]).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Files below a prefix, each pattern once.
fn plugins(prefix: &Path, patterns: &[(&str, &str)]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (name, pattern) in patterns {
        for path in matching(&prefix.join(pattern)) {
            if !parts.iter().any(|part| part.path == path) {
                parts.push(Part { name: (*name).to_owned(), path, program: false, purpose: None, off: None });
            }
        }
    }
    parts
}

fn matching(pattern: &Path) -> Vec<PathBuf> {
    let found = pattern.to_str().and_then(|pattern| glob::glob(pattern).ok());
    found.into_iter().flatten().flatten().filter_map(|path| std::fs::canonicalize(path).ok()).collect()
}

fn started(prefix: &Path, name: &str, purpose: &'static str, folders: &[&str]) -> Option<Part> {
    let places = folders.iter().map(|folder| prefix.join(folder).join(name));
    let usual = folders.iter().map(|folder| Path::new("/usr").join(folder).join(name));
    let path = places.chain(usual).find(|path| path.is_file())?;
    Some(Part { name: name.to_owned(), path, program: true, purpose: Some(purpose), off: None })
}

/// Python's module of OpenSSL, and the package `cryptography`, which may bring an OpenSSL of its own.
fn python(prefix: &Path, name: &str) -> Vec<Part> {
    let version = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    // python3 without a link to a version: any.
    let version = if version.contains('.') { version.to_owned() } else { format!("{version}*") };
    // Debian's package has its OpenSSL in a module of its own, a wheel in the one in Rust.
    let rust = "cryptography/hazmat/bindings/_[or]*.abi3.so";
    let own = format!("lib/python{version}/lib-dynload/_ssl.*so");
    let mut parts = plugins(prefix, &[("_ssl", &own), ("_ssl", &own.replace("_ssl.*so", "_ssl*.so"))]);
    let site = format!("lib/python{version}/site-packages/{rust}");
    let dist = format!("lib/python{version}/dist-packages/{rust}");
    let local = format!("local/{dist}");
    let debian = format!("lib/python3/dist-packages/{rust}");
    let mut patterns = vec![("cryptography", site.as_str()), ("cryptography", &local), ("cryptography", &dist)];
    if prefix == Path::new("/usr") {
        patterns.push(("cryptography", &debian));
    }
    parts.extend(plugins(prefix, &patterns));
    parts
}

/// Debian's module, Fedora's, and that of a build from source. Debian switches it on by a link.
fn apache() -> Vec<Part> {
    let modules = ["lib/apache2/modules/mod_ssl.so", "lib64/httpd/modules/mod_ssl.so", "lib/httpd/modules/mod_ssl.so"];
    let mut parts = plugins(Path::new("/usr"), &modules.map(|pattern| ("mod_ssl", pattern)));
    let (available, enabled) = ("/etc/apache2/mods-available/ssl.load", "/etc/apache2/mods-enabled/ssl.load");
    if Path::new(available).exists() && !Path::new(enabled).exists() {
        let off = ("its mod_ssl is not switched on".to_owned(), "a2enmod ssl && systemctl restart apache2".to_owned());
        parts.iter_mut().for_each(|part| part.off = Some(off.clone()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn parts_are_found_below_the_prefix() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let write = |name: &str| {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            path
        };
        let ssl = write("lib/python3.12/lib-dynload/_ssl.cpython-312-x86_64-linux-gnu.so");
        let rust = write("lib/python3.12/site-packages/cryptography/hazmat/bindings/_rust.abi3.so");
        write("lib/python3.11/lib-dynload/_ssl.cpython-311-x86_64-linux-gnu.so");
        let parts = of(&dir.join("bin/python3.12"));
        let found: Vec<_> = parts.iter().map(|p| (p.name.as_str(), p.path.clone())).collect();
        assert_eq!(found, [("_ssl", ssl), ("cryptography", rust)]);
        let https = write("libexec/git-core/git-remote-https");
        assert_eq!(of(&dir.join("bin/git"))[0].path, https);
        assert!(of(&dir.join("bin/cat")).is_empty());
    }
}
