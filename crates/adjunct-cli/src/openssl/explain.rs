//! Why a module that is configured is not loaded: OpenSSL itself ignores it without a message.

use adjunct_openssl_conf::Model;
use adjunct_survey::FromDisk;
use adjunct_survey::programs;
use adjunct_tool::files;
use adjunct_tool::scratch;
use std::path::{Path, PathBuf};

/// A line that says what keeps the module of `config` from being loaded.
pub(super) fn not_loaded(config: &Path) -> String {
    if let Some(line) = stops(config) {
        return format!("OpenSSL stops in this configuration before it comes to adjunct: {line}");
    }
    match module(config).and_then(|module| refused(&module)) {
        Some(line) => format!("OpenSSL does not load it: {line}"),
        None => "OpenSSL does not load it and gives no reason".to_owned(),
    }
}

/// OpenSSL's message about a configuration, with `config_diagnostics` on.
fn stops(config: &Path) -> Option<String> {
    let text = files::config(config).ok()?;
    let copy = scratch::config(&[&text, &b"\n\n[default]\nconfig_diagnostics = 1\n"[..]].concat()).ok()?;
    let outcome = programs::openssl(&["list", "-providers"], Some(copy.path())).ok()?;
    if outcome.success { None } else { first_error(&outcome.stderr) }
}

/// The module that a configuration names.
fn module(config: &Path) -> Option<PathBuf> {
    let model = Model::read(&files::config(config).ok()?, &FromDisk).ok()?;
    let module = adjunct_openssl_conf::state(&model).adjunct?.module?;
    Some(PathBuf::from(String::from_utf8_lossy(&module).into_owned()))
}

/// OpenSSL's message about a module that is loaded by its name.
fn refused(module: &Path) -> Option<String> {
    let (folder, name) = (module.parent()?, module.file_stem()?);
    let mut args: Vec<&std::ffi::OsStr> = ["list", "-providers", "-provider-path"].map(AsRef::as_ref).to_vec();
    args.extend([folder.as_os_str(), "-provider".as_ref(), name]);
    let outcome = programs::openssl(&args, Some(Path::new("/dev/null"))).ok()?;
    first_error(&outcome.stderr)
}

/// The first line of OpenSSL's error list, in words: `ID:error:CODE:LIBRARY:FUNCTION:REASON:FILE:LINE:DATA`.
fn first_error(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.splitn(9, ':').collect();
        match fields[..] {
            [_, "error", _, _, _, reason, _, _, data] if data.trim().is_empty() => Some(reason.to_owned()),
            [_, "error", _, _, _, reason, _, _, data] => Some(format!("{reason}: {}", data.trim())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_lists_become_one_line() {
        let text = "list: unable to load\n80:error:07000077:configuration file routines:ssl_module_init:ssl section \
                    empty:../crypto/conf/conf_ssl.c:103:section=s\n81:error:1:l:f:other:f.c:1:\n";
        assert_eq!(first_error(text).unwrap(), "ssl section empty: section=s");
        assert_eq!(first_error("81:error:1:l:f:other:f.c:1:").unwrap(), "other");
        assert_eq!(first_error("x\n"), None);
    }

    #[test]
    fn a_broken_module_and_a_broken_file_are_explained() {
        if programs::openssl_version().is_err() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (module, config) = (dir.path().join("m.so"), dir.path().join("c.cnf"));
        std::fs::write(&module, "x").unwrap();
        let list = format!("providers = p\n[p]\nadjunct = a\n[a]\nactivate = 1\nmodule = {}\n", module.display());
        std::fs::write(&config, format!("openssl_conf = i\n[i]\n{list}")).unwrap();
        assert!(not_loaded(&config).contains("m.so"), "{}", not_loaded(&config));
        std::fs::write(&config, format!("openssl_conf = i\n[i]\nssl_conf = s\n{list}[s]\n")).unwrap();
        assert!(not_loaded(&config).contains("stops in this configuration"), "{}", not_loaded(&config));
    }
}
