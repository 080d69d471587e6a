//! As root, `adjunct openssl enable` names only a module that nobody but root can change.

mod copy;
mod module;

use copy::copy;
use module::module;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn dry_run(config: &Path, module: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.args(["openssl", "enable", "--dry-run", "--config"]).arg(config).arg("--module").arg(module).args(more);
    command.env_remove("OPENSSL_CONF").env("ADJUNCT_STATS", "off").output().unwrap()
}

/// A folder that only root can change, all the way up; the build's own, as a rule.
fn roots_folder() -> Option<TempDir> {
    let build = Path::new(env!("CARGO_BIN_EXE_adjunct")).parent()?;
    let open = |dir: &Path| {
        let about = fs::metadata(dir).unwrap();
        std::os::unix::fs::MetadataExt::uid(&about) != 0 || about.permissions().mode() & 0o022 != 0
    };
    let place = [build, Path::new("/var/lib"), Path::new("/root")].into_iter();
    let place = place.map(|p| p.canonicalize().unwrap_or_default()).find(|p| p.is_dir() && !p.ancestors().any(open))?;
    tempfile::Builder::new().prefix("module-trust-").tempdir_in(place).ok()
}

#[test]
fn as_root_a_module_is_roots_alone() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root is asked for that");
    }
    let (Some(module), Some(dir)) = (module(), roots_folder()) else {
        return eprintln!("SKIPPED: no module, or no folder that is root's alone");
    };
    let path = |name: &str| dir.path().join(name);
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let config = path("openssl.cnf");
    fs::write(&config, "a = b\n").unwrap();
    fs::create_dir(path("folder")).unwrap();
    let own = path("folder/adjunct.so");
    copy(&module, &own);
    let said = |module: &Path, more: &[&str]| {
        let output = dry_run(&config, module, more);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let refused = |module: &Path, words: &str| {
        let (code, line) = said(module, &[]);
        assert!(code == Some(1) && line.contains(words) && line.contains("--trust-module"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert_eq!(said(module, &["--trust-module"]).0, Some(0));
    };
    let mode = |name: &str, mode| fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
    for file in [0o755, 0o644] {
        mode("folder/adjunct.so", file);
        assert_eq!(said(&own, &[]), (Some(0), String::new()));
    }
    // Everybody's folder for temporary files is above it.
    let anywhere = tempfile::tempdir().unwrap();
    let elsewhere = anywhere.path().join("adjunct.so");
    copy(&module, &elsewhere);
    refused(&elsewhere, "others than root may write");
    // A link of root's to it is no better, nor is a link there to one that is good.
    symlink(&elsewhere, path("link.so")).unwrap();
    refused(&path("link.so"), "others than root may write");
    symlink(&own, anywhere.path().join("link.so")).unwrap();
    refused(&anywhere.path().join("link.so"), "others than root may write");
    symlink("folder/../folder/adjunct.so", path("good.so")).unwrap();
    assert_eq!(said(&path("good.so"), &[]), (Some(0), String::new()));
    mode("folder/adjunct.so", 0o664);
    refused(&own, "adjunct.so");
    mode("folder/adjunct.so", 0o644);
    mode("folder", 0o775);
    refused(&own, "folder");
    mode("folder", 0o755);
    chown(path("folder"), Some(65534), None).unwrap();
    refused(&own, "is another user's");
    chown(path("folder"), Some(0), None).unwrap();
    chown(&own, Some(65534), None).unwrap();
    refused(&own, "is another user's");
}
