//! Each cause, on processes of a made-up /proc and on programs that are compiled here.

use super::running::{self, Proof, Ran};
use adjunct_survey::process::{self, Look};
use adjunct_survey::served::{self, Programs, Standing, State};
use adjunct_survey::{Cause, Given, Reach};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A number that no process of the machine has, in its made-up /proc.
const PID: u32 = 4242;

/// A /proc with one process, a program for it, and a configuration.
struct Lab {
    dir: TempDir,
    standing: Standing,
}

impl Lab {
    fn new() -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().canonicalize().unwrap().join(name);
        fs::write(path("openssl.cnf"), "").unwrap();
        fs::write(path("adjunct.so"), "").unwrap();
        let reach = Reach {
            config: path("openssl.cnf"),
            given: Given { node: true, ..Given::provider(true, Some("auto")) },
            by_environment: false,
            own: Vec::new(),
            modules: vec![path("adjunct.so")],
            since: None,
        };
        let standing = Standing { enabled: true, working: true, problems: Vec::new(), yields: false, reach };
        fs::create_dir_all(path("proc")).unwrap();
        fs::write(path("proc/stat"), "btime 1000000000\n").unwrap();
        let lab = Lab { dir, standing };
        lab.file("stat", "4242 (pro) g) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 1 1 0\n");
        lab.file("comm", "prog\n");
        lab.maps("/usr/lib/libcrypto.so.3");
        lab
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.dir.path().join(format!("proc/{PID}")).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn maps(&self, libraries: &str) {
        let line = |library: &str| format!("7f00-7f01 r-xp 0 fe:00 3 {library}\n");
        self.file("maps", &libraries.split(';').map(line).collect::<String>());
    }

    fn link(&self, name: &str, target: &Path) {
        symlink(target, self.dir.path().join(format!("proc/{PID}/{name}"))).unwrap();
    }

    fn ran(&self) -> Ran {
        let Look::Runs(process) = process::one(&self.dir.path().join("proc"), PID, &self.standing.reach.modules) else {
            panic!("no process")
        };
        running::judge(*process, &mut Programs::new(&self.standing), &self.standing, &mut Proof::default())
    }

    fn is(&self, state: State, cause: Cause) -> String {
        let ran = self.ran();
        assert_eq!((ran.verdict.state, ran.verdict.cause), (state, Some(cause)), "{:?}", ran.verdict);
        ran.verdict.sentence()
    }
}

#[test]
fn what_is_loaded_is_served_and_upgrades_are_told() {
    let lab = Lab::new();
    lab.file("cgroup", "0::/system.slice/nginx.service\n");
    lab.maps("/usr/lib/libcrypto.so.3;/usr/lib/ossl-modules/adjunct.so");
    assert_eq!(lab.ran().verdict.state, State::Served);
    assert_eq!(lab.ran().verdict.cause, None);
    lab.maps("/usr/lib/libcrypto.so.3;/usr/lib/ossl-modules/adjunct.so (deleted)");
    let told = lab.is(State::Served, Cause::ModuleReplaced);
    assert!(told.contains("old code") && told.ends_with("; systemctl restart nginx"), "{told}");
    lab.maps("/usr/lib/libcrypto.so.3 (deleted)");
    let told = lab.is(State::NotServed, Cause::LibraryReplaced);
    assert!(told.ends_with("; systemctl restart nginx"), "{told}");
    let all = process::all(&lab.dir.path().join("proc"), &[]).unwrap();
    let outdated = served::outdated(&all);
    assert_eq!((outdated[0].name.as_str(), outdated[0].replaced.as_slice()), ("nginx.service", &["OpenSSL"][..]));
    let line = served::text::outdated(&outdated);
    assert!(
        line.starts_with("nginx.service (process 4242) still runs") && line.ends_with("systemctl restart nginx\n"),
        "{line}"
    );
}

#[test]
fn a_process_with_a_provider_of_its_own_may_not_be_served() {
    let mut lab = Lab::new();
    lab.maps("/usr/lib/libcrypto.so.3;/usr/lib/ossl-modules/adjunct.so;/usr/lib/ossl-modules/tpm2.so");
    // The configuration activates `default`, and adjunct stays.
    assert_eq!((lab.ran().verdict.state, lab.ran().verdict.cause), (State::Served, None));
    lab.standing.yields = true;
    let told = lab.is(State::Unknown, Cause::OwnProvider);
    assert!(told.contains("the provider tpm2 itself") && told.contains("'adjunct stats'"), "{told}");
    lab.maps("/usr/lib/libcrypto.so.3;/usr/lib/ossl-modules/adjunct.so;/usr/lib/ossl-modules/legacy.so");
    assert_eq!((lab.ran().verdict.state, lab.ran().verdict.cause), (State::Served, None));
}

#[test]
fn what_keeps_a_process_from_it_is_named() {
    let mut lab = Lab::new();
    lab.is(State::Unknown, Cause::NotUsedYet);
    let given = std::mem::take(&mut lab.standing.reach.given);
    lab.is(State::NotServed, Cause::NotEnabled);
    lab.standing.problems = vec!["/x.so: no such module".to_owned()];
    assert!(lab.is(State::NotServed, Cause::NotInForce).contains("/x.so: no such module"));
    lab.standing.reach.given = given;
    lab.file("attr/current", "/usr/sbin/named (enforce)\n");
    assert!(lab.is(State::NotServed, Cause::AppArmor).contains("profile /usr/sbin/named confines"));
    lab.file("attr/current", "system_u:system_r:httpd_t:s0\n");
    assert!(lab.is(State::NotServed, Cause::SeLinux).contains("httpd_t"));
    lab.standing.reach.since = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(2_000_000_000));
    lab.file("cgroup", "0::/system.slice/prog.service\n");
    assert!(lab.is(State::NotServed, Cause::StartedBefore).ends_with("; systemctl restart prog"));
    lab.file("environ", "A=b\0OPENSSL_CONF=/dev/null\0");
    assert!(lab.is(State::NotServed, Cause::EnvironmentConfig).contains("/dev/null"));
    // With the rights of its file it ignores the variable.
    let pair = |tag: usize, value: usize| [tag.to_ne_bytes(), value.to_ne_bytes()].concat();
    let auxv = [pair(23, 1), pair(0, 0)].concat();
    fs::write(lab.dir.path().join(format!("proc/{PID}/auxv")), auxv).unwrap();
    lab.is(State::NotServed, Cause::StartedBefore);
    fs::create_dir(lab.dir.path().join("jail")).unwrap();
    lab.link("root", &lab.dir.path().join("jail"));
    lab.is(State::NotServed, Cause::Chroot);
    lab.file("cgroup", "0::/system.slice/docker-0123.scope\n");
    lab.is(State::NotServed, Cause::Container);
}

/// sshd executes itself for each session: what listens serves new ones though it is older than the configuration, what serves a session does not.
#[test]
fn an_older_sshd_serves_new_sessions() {
    let mut lab = Lab::new();
    let sshd = lab.dir.path().join("sshd");
    fs::write(&sshd, "").unwrap();
    lab.link("exe", &sshd);
    lab.file("comm", "sshd\n");
    lab.file("cgroup", "0::/system.slice/ssh.service\n");
    lab.standing.reach.since = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(2_000_000_000));
    let ran = lab.ran();
    assert_eq!((ran.verdict.state, ran.verdict.cause), (State::Served, None), "{:?}", ran.verdict);
    assert!(ran.verdict.sentence().contains("each new session"), "{}", ran.verdict.sentence());
    // Enabled for sshd alone, by a variable that the one that listens does not have.
    let given = std::mem::take(&mut lab.standing.reach.given);
    assert_eq!(lab.ran().verdict.state, State::NotServed);
    lab.standing.reach.given = given;
    let above = lab.dir.path().join("proc/1");
    fs::create_dir_all(&above).unwrap();
    fs::write(above.join("comm"), "sshd\n").unwrap();
    lab.file("cgroup", "0::/user.slice/user-0.slice/session-3.scope\n");
    assert!(lab.is(State::NotServed, Cause::StartedBefore).contains("log in again"));
}

#[test]
fn other_libraries_are_named() {
    let lab = Lab::new();
    for (library, cause) in [
        ("/usr/lib/libgnutls.so.30.34.3", Cause::GnuTls),
        ("/usr/lib/libsoftokn3.so", Cause::Nss),
        ("/usr/lib/jvm/lib/server/libjvm.so", Cause::Java),
        ("/x/site-packages/cryptography/hazmat/bindings/_rust.abi3.so", Cause::Wheel),
        ("/usr/lib/libgcrypt.so.20", Cause::OtherLibrary),
        ("/usr/lib/libz.so.1", Cause::NoCrypto),
    ] {
        lab.maps(library);
        lab.is(State::NotServed, cause);
    }
    lab.maps("/usr/lib/libcrypto.so.3 (deleted)");
    lab.file("cgroup", "0::/user.slice/user-0.slice/session-3.scope\n");
    assert!(lab.is(State::NotServed, Cause::LibraryReplaced).contains("log in again"));
    lab.maps("/usr/lib/jvm/lib/server/libjvm.so;/usr/lib/pkcs11/adjunct-pkcs11.so");
    assert_eq!(lab.ran().verdict.state, State::ServedThroughPlugin);
}

#[test]
fn zombies_and_kernel_threads_are_none() {
    let lab = Lab::new();
    let proc = lab.dir.path().join("proc");
    lab.file("stat", "4242 (x) Z 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 100 1 1 0\n");
    assert!(matches!(process::one(&proc, PID, &[]), Look::Zombie));
    lab.file("stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n");
    assert!(matches!(process::one(&proc, PID, &[]), Look::Kernel));
    assert!(matches!(process::one(&proc, 1, &[]), Look::Gone));
    assert!(process::all(&proc, &[]).unwrap().list.is_empty());
}

/// Compiles a program; `None` where there is no compiler.
fn compiled(lab: &Lab, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (code, program) = (lab.dir.path().join(format!("{name}.c")), lab.dir.path().join(name));
    fs::write(&code, source).unwrap();
    let output = Command::new("cc").args(["-w", "-O0", "-o"]).arg(&program).arg(&code).args(flags).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

#[test]
fn what_is_inside_a_program_is_named() {
    let mut lab = Lab::new();
    let room = "const char room[2000000] = {1};";
    let library = |lab: &Lab, name: &str| {
        let flags = ["-shared", "-fPIC", &format!("-Wl,-soname,{name}")];
        compiled(lab, name, "int f(void) { return 1; }", &flags)
    };
    let Some(gnutls) = library(&lab, "libgnutls.so.30") else { return };
    let uses = "int f(void); int main(void) { return f(); }";
    compiled(&lab, "with-gnutls", uses, &[gnutls.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"]).unwrap();
    let text = |text: &str| format!("{room} const char t[] = \"{text}\"; int main(void) {{ return room[0] + t[0]; }}");
    compiled(&lab, "rustls", &text("/registry/src/rustls-0.23.5/src/conn.rs"), &[]).unwrap();
    compiled(&lab, "boring", &text("BoringSSL 1"), &[]).unwrap();
    compiled(&lab, "static", &text("OpenSSL 3.0.2 15 Mar 2022"), &[]).unwrap();
    let node = r#"OpenSSL 3.0.2 15 Mar 2022\0nodejs_conf\0OPENSSLDIR: \"/nowhere\"\0"#;
    compiled(&lab, "node", &text(node), &[]).unwrap();
    let go = "__attribute__((aligned(16), section(\".go.buildinfo\"))) char b[32] = \"\\xff Go buildinf:\"; int main(void) { return b[0]; }";
    compiled(&lab, "go-program", go, &[]).unwrap();
    compiled(&lab, "none", "int main(void) { return 0; }", &[]).unwrap();
    compiled(&lab, "adjunct-ztools", "int main(void) { return 0; }", &[]).unwrap();
    fs::write(lab.dir.path().join("script"), "#!/bin/sh\nexec true\n").unwrap();
    let cause = |lab: &Lab, name: &str| {
        let judged = Programs::new(&lab.standing).judge(&lab.dir.path().join(name));
        (judged.verdict.state, judged.verdict.cause.unwrap_or(Cause::NoCrypto))
    };
    assert_eq!(cause(&lab, "with-gnutls"), (State::NotServed, Cause::GnuTls));
    assert_eq!(cause(&lab, "rustls"), (State::NotServed, Cause::Rustls));
    assert_eq!(cause(&lab, "boring"), (State::NotServed, Cause::BoringSsl));
    assert_eq!(cause(&lab, "go-program"), (State::NotServed, Cause::Go));
    assert_eq!(cause(&lab, "none"), (State::NotServed, Cause::NoCrypto));
    assert_eq!(cause(&lab, "adjunct-ztools").0, State::Served);
    assert_eq!(cause(&lab, "script"), (State::Unknown, Cause::Script));
    // The folder it was built for has no configuration.
    assert_eq!(cause(&lab, "static"), (State::NotServed, Cause::Static));
    assert_eq!(cause(&lab, "node"), (State::NotServed, Cause::NotEnabled));
    // As if it were built to read this one.
    let dir = lab.dir.path().canonicalize().unwrap();
    let node = format!(r#"OpenSSL 3.0.2 15 Mar 2022\0nodejs_conf\0OPENSSLDIR: \"{}\"\0"#, dir.display());
    compiled(&lab, "node", &text(&node), &[]).unwrap();
    assert_eq!(cause(&lab, "node").0, State::Served);
    lab.standing.reach.given.node = false;
    assert_eq!(cause(&lab, "node"), (State::NotServed, Cause::NodeSection));
}
