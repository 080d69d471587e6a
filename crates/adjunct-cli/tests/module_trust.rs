//! As root, every command that names or loads a module takes only one that root alone can change.

mod copy;
mod module;
mod script;

use copy::copy;
use module::module;
use script::script;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
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

/// The commands that load the module themselves.
const RUNS: [&[&str]; 6] = [
    &["ssh", "try"],
    &["ssh", "bench", "--quick"],
    &["ssh", "tune", "--quick"],
    &["bench", "openssl", "--filter", "sha2-256", "--sizes", "64", "--seconds", "0.001"],
    &["bench", "bulk", "--filter", "128-ctr", "--sizes", "64", "--seconds", "0.001"],
    &["bench", "accelerator", "--filter", "X25519 keygen", "--threads", "1", "--seconds", "0.001"],
];

/// What the command says on standard error, once.
fn run(program: &Path, words: &[&str], module: &Path, trusted: bool) -> String {
    let mut command = Command::new(program);
    command.args(words);
    match words[1] {
        "tune" => command.arg(format!("--module={}", module.display())),
        _ => command.arg("--module").arg(module),
    };
    if trusted {
        command.arg("--trust-module");
    }
    // No temporary files: none of them comes as far as to measure.
    command.env_remove("OPENSSL_CONF").env("TMPDIR", "/nonexistent").stdin(Stdio::null());
    String::from_utf8(command.output().unwrap().stderr).unwrap()
}

#[test]
fn as_root_no_command_loads_a_module_that_others_can_change() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root is asked for that");
    }
    // No module: whoever takes it says so.
    let anywhere = tempfile::tempdir().unwrap();
    let elsewhere = anywhere.path().join("adjunct.so");
    fs::write(&elsewhere, "no module").unwrap();
    fs::set_permissions(&elsewhere, Permissions::from_mode(0o644)).unwrap();
    let refused = |line: &str| line.contains("others than root may write") && line.contains("--trust-module");
    let adjunct = Path::new(env!("CARGO_BIN_EXE_adjunct"));
    for words in RUNS {
        // Without OpenSSH the commands of ssh have that to say instead.
        let here = words[0] == "bench" || Path::new("/usr/sbin/sshd").exists();
        let line = run(adjunct, words, &elsewhere, false);
        assert!(!here || refused(&line) && line.lines().count() == 1, "{words:?}: {line}");
        // With it each goes on, to what the file is.
        let line = run(adjunct, words, &elsewhere, true);
        let further = line.contains("is not a provider of OpenSSL 3") && line.lines().count() == 1;
        assert!(!here || further && !line.contains("--trust-module"), "{words:?}: {line}");
    }
}

/// Root's benchmarks load no libcrypto, and none of another system, that others can change: its code would run as root.
#[test]
fn as_root_no_benchmark_loads_a_library_that_others_can_change() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root is asked for that");
    }
    let anywhere = tempfile::tempdir().unwrap();
    let (library, root) = (anywhere.path().join("libcrypto.so.3"), anywhere.path().join("root"));
    fs::write(&library, "no library").unwrap();
    fs::create_dir_all(root.join("usr/lib")).unwrap();
    for name in ["libcrypto.so.3", "ld-linux.so.2"] {
        copy(env!("CARGO_BIN_EXE_adjunct"), &root.join("usr/lib").join(name));
    }
    // Beside the program: root takes it as the module for a run.
    let Some(module) = module() else { return eprintln!("SKIPPED: no module") };
    let said = |words: &[&str], path: &Path, trusted: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
        command.args(words).arg(path).arg("--module").arg(&module).args(trusted.then_some("--trust-module"));
        let output = command.env_remove("OPENSSL_CONF").stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let cases: [(&[&str], &Path, &str); 5] = [
        (&["bench", "openssl", "--libcrypto"], &library, "no usable libcrypto"),
        (&["bench", "bulk", "--libcrypto"], &library, "no usable libcrypto"),
        (&["bench", "accelerator", "--libcrypto"], &library, "no usable libcrypto"),
        (&["bench", "openssl", "--against"], &library, "no usable libcrypto"),
        (&["bench", "bulk", "--newest"], &root, "does not run under its libraries"),
    ];
    for (words, path, further) in cases {
        let line = said(words, path, false);
        let refused = line.contains("others than root may write") && line.contains("--trust-module");
        assert!(refused && line.lines().count() == 1, "{words:?}: {line}");
        let line = said(words, path, true);
        assert!(line.contains(further), "{words:?}: {line}");
    }
}

/// What lies beside the program, as a build leaves it, needs no more trust than the program; not so a file that another user has
/// put there, nor where the configuration stays.
#[test]
fn as_root_a_module_beside_the_program_is_trusted_for_a_run() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root is asked for that");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // Where everybody may add files, as in /tmp.
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    // And what it starts, which is looked at as modules are.
    let built = Path::new(env!("CARGO_BIN_EXE_adjunct"));
    for name in ["adjunct", "adjunct-bench"] {
        copy(built.with_file_name(name), &path(name));
    }
    let module = path("libadjunct_openssl.so");
    fs::write(&module, "no module").unwrap();
    fs::set_permissions(&module, Permissions::from_mode(0o644)).unwrap();
    let said = || run(&path("adjunct"), RUNS[3], &module, false);
    assert!(said().contains("is not a provider of OpenSSL 3"), "{}", said());
    let config = path("openssl.cnf");
    fs::write(&config, "a = b\n").unwrap();
    let enable = ["openssl", "enable", "--dry-run", "--config", config.to_str().unwrap()];
    let line = run(&path("adjunct"), &enable, &module, false);
    assert!(line.contains("others than root may write") && line.contains("--trust-module"), "{line}");
    fs::set_permissions(&module, Permissions::from_mode(0o664)).unwrap();
    assert!(said().contains("--trust-module"), "{}", said());
    fs::set_permissions(&module, Permissions::from_mode(0o644)).unwrap();
    chown(&module, Some(65534), None).unwrap();
    assert!(said().contains("--trust-module"), "{}", said());
    fs::remove_file(&module).unwrap();
    symlink("/dev/null", &module).unwrap();
    assert!(said().contains("is no regular file"), "{}", said());
}

/// Java loads the module that a configuration names, for root as for any user.
#[test]
fn as_root_java_verify_loads_no_module_that_others_can_change() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root is asked for that");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir_all(path("jdk/bin")).unwrap();
    fs::create_dir_all(path("jdk/conf/security")).unwrap();
    fs::write(path("jdk/release"), "JAVA_VERSION=\"17.0.15\"\nIMPLEMENTOR=\"nobody\"\n").unwrap();
    fs::write(path("jdk/conf/security/java.security"), "security.provider.1=SUN\n").unwrap();
    for name in ["java", "keytool"] {
        script(&path("jdk/bin").join(name), "#!/bin/sh\necho it came to keytool >&2\nexit 1\n");
    }
    let built = Path::new(env!("CARGO_BIN_EXE_adjunct")).with_file_name("libadjunct_pkcs11.so");
    if !built.exists() {
        return eprintln!("SKIPPED: no module of PKCS #11");
    }
    copy(&built, &path("adjunct-pkcs11.so"));
    fs::set_permissions(path("adjunct-pkcs11.so"), Permissions::from_mode(0o644)).unwrap();
    fs::write(path("a.cfg"), format!("name = a\nlibrary = {}\n", path("adjunct-pkcs11.so").display())).unwrap();
    let properties = format!("security.provider.1=SUN\nsecurity.provider.2=SunPKCS11 {}\n", path("a.cfg").display());
    fs::write(path("a.security"), properties).unwrap();
    for config in ["a.cfg", "a.security"] {
        let said = |more: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
            command.args(["java", "verify", "--jdk"]).arg(path("jdk")).arg("--config").arg(path(config)).args(more);
            let output = command.stdin(Stdio::null()).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        let line = said(&[]);
        let refused = line.contains("others than root may write") && line.contains("--trust-module");
        assert!(refused && line.contains("a.cfg") && line.lines().count() == 1, "{line}");
        let line = said(&["--trust-module"]);
        assert!(line.contains("it came to keytool"), "{line}");
    }
}
