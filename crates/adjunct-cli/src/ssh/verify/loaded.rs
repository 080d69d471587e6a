//! Which modules of adjunct a running process has loaded, and what the OpenSSL configuration would have it load.

use adjunct_openssl_conf::Model;
use adjunct_survey::programs;
use adjunct_tool::files;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The modules of adjunct that process `pid` has mapped; `None` where that cannot be seen (another user's process, or one that
/// has changed its user).
pub(super) fn modules(pid: u32) -> Option<Vec<PathBuf>> {
    let maps = files::of_process(Path::new(&format!("/proc/{pid}/maps"))).ok().filter(|m| !m.is_empty())?;
    Some(of_maps(&String::from_utf8_lossy(&maps)))
}

/// `OPENSSL_CONF` in the environment that process `pid` was started with.
pub(super) fn conf_of(pid: u32) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let environment = files::of_process(Path::new(&format!("/proc/{pid}/environ"))).ok()?;
    let value = environment.split(|&b| b == 0).find_map(|v| v.strip_prefix(b"OPENSSL_CONF="))?;
    (!value.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(value)))
}

fn of_maps(maps: &str) -> Vec<PathBuf> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let ours = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains("adjunct") && name.contains(".so")
    });
    ours.map(Path::to_path_buf).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What the OpenSSL configuration of programs started from here says of adjunct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Configured {
    /// The configuration does not name adjunct.
    No(PathBuf),
    /// The configuration names adjunct.
    Yes(PathBuf),
    /// The configuration cannot be read or found.
    Unknown,
}

/// Looks at `conf`, or at the file that programs started from here read.
pub(super) fn configured(conf: Option<&Path>) -> Configured {
    let from_environment = || std::env::var_os("OPENSSL_CONF").filter(|v| !v.is_empty()).map(PathBuf::from);
    let of_system = || programs::openssl_dir().ok().map(|dir| dir.join("openssl.cnf"));
    let Some(path) = conf.map(Path::to_path_buf).or_else(from_environment).or_else(of_system) else {
        return Configured::Unknown;
    };
    let Ok(bytes) = files::config(&path) else { return Configured::No(path) };
    match Model::read(&bytes, &adjunct_survey::FromDisk) {
        Ok(model) if adjunct_openssl_conf::state(&model).adjunct.is_some() => Configured::Yes(path),
        Ok(_) => Configured::No(path),
        Err(_) => Configured::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_mapped_module_is_found_once() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/ossl-modules/adjunct.so\n\
                    7f01-7f02 r--p 00001000 08:01 12 /usr/lib/ossl-modules/adjunct.so\n\
                    7f02-7f03 r--p 00001000 08:01 12 /usr/lib/libcrypto.so.3\n\
                    7f03-7f04 rw-p 00000000 00:00 0 [heap]\n";
        assert_eq!(of_maps(maps), [PathBuf::from("/usr/lib/ossl-modules/adjunct.so")]);
        assert!(of_maps("").is_empty());
        let own = modules(std::process::id()).unwrap();
        assert!(own.iter().all(|p| p.to_string_lossy().contains("adjunct")));
    }

    #[test]
    fn a_configuration_names_adjunct_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("openssl.cnf");
        fs::write(&path, "x = y\n").unwrap();
        assert_eq!(configured(Some(&path)), Configured::No(path.clone()));
        let text = "openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\nadjunct = a\n[d]\nactivate = 1\n[a]\nmodule = /m.so\n";
        fs::write(&path, text).unwrap();
        assert_eq!(configured(Some(&path)), Configured::Yes(path));
    }
}
