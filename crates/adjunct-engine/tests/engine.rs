//! The engine in foreign programs: low-level RSA and EC calls, ciphers, digests and random bytes agree with OpenSSL's own,
//! are counted, and `openssl engine` shows it all. The programs are C, so that nothing of Rust or of the CPU library is in them but what the engine brings.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The module as cargo built it for these tests.
fn module() -> PathBuf {
    let module = std::env::current_exe().expect("a path").with_file_name("libadjunct_engine.so");
    assert!(module.is_file(), "{} is missing", module.display());
    module
}

/// A program of `tests/engine`, built once in a run.
fn build(name: &str, cell: &'static OnceLock<PathBuf>) -> &'static Path {
    cell.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine").join(format!("{name}.c"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let unfinished = folder.join(format!("engine-{name}-{}", std::process::id()));
        let program = folder.join(format!("engine-{name}"));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let built = Command::new(&compiler)
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .args([&unfinished, &source])
            .arg("-lcrypto")
            .output()
            .unwrap_or_else(|e| panic!("{compiler}: {e}; a C compiler is needed"));
        assert!(built.status.success(), "libssl-dev is needed:\n{}", String::from_utf8_lossy(&built.stderr));
        std::fs::rename(&unfinished, &program).expect("the program is moved to its place");
        program
    })
}

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    build("program", &PROGRAM)
}

fn bulk() -> &'static Path {
    static BULK: OnceLock<PathBuf> = OnceLock::new();
    build("bulk", &BULK)
}

fn lacking() -> &'static Path {
    static LACKING: OnceLock<PathBuf> = OnceLock::new();
    build("lacking", &LACKING)
}

#[track_caller]
fn text(output: &Output) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{text}", output.status);
    text
}

#[track_caller]
fn works(work: &str, mask: &str) {
    runs(program(), work, mask);
}

#[track_caller]
fn runs(program: &Path, work: &str, mask: &str) {
    let output = Command::new(program)
        .arg(module())
        .arg(work)
        .env("ADJUNCT_CPU", mask)
        .env("ADJUNCT_STATS", "off")
        .env("OPENSSL_CONF", "/dev/null")
        .output();
    let output = output.expect("it runs");
    text(&output);
    assert!(output.stdout.ends_with(b"good\n"));
}

/// No AES, SHA and wide instructions: the software below.
const PLAIN: &str = "-aes,-sha,-avx512,-ifma";

#[test]
fn ciphers_agree_with_openssl() {
    runs(bulk(), "ciphers", "");
    runs(bulk(), "ciphers", PLAIN);
}

#[test]
fn gcm_and_its_controls_agree_with_openssl() {
    runs(bulk(), "gcm", "");
    runs(bulk(), "gcm", PLAIN);
}

#[test]
fn digests_agree_with_openssl() {
    runs(bulk(), "digests", "");
    runs(bulk(), "digests", PLAIN);
}

#[test]
fn random_bytes_differ_across_forks() {
    runs(bulk(), "rand", "");
}

#[test]
fn libcrypto_works_with_everything_at_the_engine() {
    runs(bulk(), "all", "");
}

#[test]
fn rsa_agrees_with_openssl() {
    works("rsa", "");
}

#[test]
fn rsa_agrees_with_openssl_on_a_plain_cpu() {
    works("rsa", "-ifma,-avx512,-adx");
}

#[test]
fn curves_agree_with_openssl() {
    works("ec", "");
}

#[test]
fn a_key_may_change_after_its_first_use() {
    works("change", "");
}

#[test]
fn threads_share_keys() {
    works("threads", "");
}

#[test]
fn children_of_busy_threads_sign() {
    works("fork", "");
}

#[test]
fn keys_that_lack_parts_give_errors() {
    runs(lacking(), "keys", "");
}

/// An allocation that fails makes an operation fail, or OpenSSL's own function do it; no process ends.
#[test]
fn without_memory_there_is_an_error() {
    runs(lacking(), "memory", "");
}

/// AWS-LC's allocator would be asked for by name where the module lacks its own, and be another library's where it shows it.
#[test]
fn the_modules_allocator_is_its_own_and_nobody_elses() {
    let output = Command::new("readelf").args(["-W", "--dyn-syms"]).arg(module()).output().expect("readelf");
    let symbols = String::from_utf8_lossy(&output.stdout);
    assert!(symbols.contains("bind_engine") && !symbols.contains("OPENSSL_memory_"), "{symbols}");
}

/// A configuration in the papers' words; `keys` are the engine's section.
fn config_of(folder: &Path, keys: &str) -> PathBuf {
    let path = folder.join("openssl.cnf");
    let text = format!(
        "openssl_conf = openssl_def\nconfig_diagnostics = 1\n[openssl_def]\nengines = engine_section\n\
         [engine_section]\nadjunct = adjunct_section\n[adjunct_section]\n{keys}\n"
    );
    std::fs::write(&path, text).expect("it is written");
    path
}

fn config(folder: &Path) -> PathBuf {
    config_of(
        folder,
        &format!("engine_id = adjunct\ndynamic_path = {}\ndefault_algorithms = ALL\ninit = 1", module().display()),
    )
}

fn openssl(config: &Path, args: &[&str]) -> Command {
    let mut openssl = Command::new("openssl");
    openssl.args(args).env("OPENSSL_CONF", config).env("ADJUNCT_STATS", "off");
    openssl
}

#[test]
fn openssl_shows_it_and_its_algorithms() {
    let folder = tempfile::tempdir().expect("a folder");
    let shown = text(&openssl(&config(folder.path()), &["engine", "-c", "-t"]).output().unwrap());
    let ours = shown.split_once("(adjunct) adjunct").expect("the engine is listed").1;
    assert!(ours.contains("[RSA") && ours.contains("[ available ]"), "{shown}");
    for algorithm in ["RAND", "id-aes128-GCM", "AES-256-XTS", "ChaCha20", "SHA256", "SHA512"] {
        assert!(ours.contains(&format!(", {algorithm}")), "{algorithm}: {shown}");
    }
    // What libcrypto's generator would take, and what sshd cannot use of an engine.
    for algorithm in ["ECB", "AES-128-CTR", "AES-128-CBC"] {
        assert!(!ours.contains(algorithm), "{algorithm}: {shown}");
    }
}

#[test]
fn bad_keys_cost_a_line_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = |more: &str| {
        format!("engine_id = adjunct\ndynamic_path = {}\n{more}\ndefault_algorithms = RSA,EC", module().display())
    };
    for (more, line) in [
        ("default_algorithm = ALL", "the engine has no command 'default_algorithm'"),
        ("ciphers = some", "ciphers: unknown word 'some'"),
        ("accelerator = perhaps", "accelerator: unknown word 'perhaps'"),
    ] {
        let output = openssl(&config_of(folder.path(), &keys(more)), &["engine"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains(line) && said.lines().count() == 1, "{more}: {said}");
    }
    let all = text(&openssl(&config_of(folder.path(), &keys("ciphers = all")), &["engine", "-c"]).output().unwrap());
    assert!(all.contains("AES-128-CTR"), "{all}");
}

/// What libcrypto itself does where the module is not there: `soft_load` helps an engine that is found by its name in
/// OpenSSL's folder of engines, and none with a `dynamic_path`, whose failure ends the reading of the whole configuration.
#[test]
fn a_missing_module_is_passed_over_with_soft_load_and_no_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |keys: &str| {
        let config = config_of(folder.path(), keys);
        openssl(&config, &["dgst", "-sha256", "/dev/null"]).env("OPENSSL_ENGINES", folder.path()).output().unwrap()
    };
    text(&run("engine_id = adjunct\nsoft_load = 1\ndefault_algorithms = RSA,EC"));
    assert!(!run("engine_id = adjunct\ndefault_algorithms = RSA,EC").status.success());
    let path =
        "soft_load = 1\nengine_id = adjunct\ndynamic_path = /nonexistent/adjunct.so\ndefault_algorithms = RSA,EC";
    assert!(!run(path).status.success());
    std::fs::copy(module(), folder.path().join("adjunct.so")).expect("a copy in the folder of engines");
    text(&run("engine_id = adjunct\nsoft_load = 1\ndefault_algorithms = RSA,EC"));
}

#[test]
fn ssh_keygens_low_level_calls_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    let key = format!("{:x}", std::process::id() | 1 << 28);
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("message"), "a message").unwrap();
    for kind in ["rsa", "ecdsa"] {
        let mut make = Command::new("ssh-keygen");
        text(&make.args(["-q", "-t", kind, "-N", "", "-f"]).arg(at(kind)).output().expect("ssh-keygen runs"));
        let mut sign = Command::new("ssh-keygen");
        sign.args(["-Y", "sign", "-n", "test", "-f"]).arg(at(kind)).arg(at("message"));
        text(&sign.env("OPENSSL_CONF", &config).env("ADJUNCT_STATS_KEY", &key).output().expect("ssh-keygen runs"));
        std::fs::remove_file(at("message.sig")).unwrap();
    }
    // Counters are found by the key of the environment, which this process has only one of.
    let told = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tells_what_was_counted", "--ignored", "--nocapture"])
        .env("ADJUNCT_STATS_KEY", &key)
        .output();
    let told = text(&told.expect("this program runs"));
    if told.contains("NO COUNTERS") {
        println!("SKIPPED: this system gives no shared memory");
        return;
    }
    // OpenSSH's 9.8 and older sign by low-level calls; newer ones by EVP, which never reaches an engine.
    let version = String::from_utf8_lossy(&Command::new("ssh").arg("-V").output().unwrap().stderr).into_owned();
    let digits: String = version.trim_start_matches("OpenSSH_").chars().take_while(|c| c.is_ascii_digit()).collect();
    let old = version.starts_with("OpenSSH_9.") && !version.starts_with("OpenSSH_9.9")
        || digits.parse::<u32>().is_ok_and(|n| n < 9);
    assert_eq!(told.contains("RsaCrt 1"), old, "{version}{told}");
    assert_eq!(told.contains("EcdsaSign 1"), old, "{version}{told}");
}

#[test]
#[ignore = "not a test: run by another one under its counters, which it removes"]
fn tells_what_was_counted() {
    use adjunct::catalogue::Function;
    // SAFETY: no arguments.
    let uid = unsafe { libc::geteuid() };
    let Ok(Some(counters)) = adjunct::counters::read(uid) else {
        println!("NO COUNTERS");
        return;
    };
    adjunct::counters::delete(uid).expect("the counters are removed");
    println!();
    for &function in Function::ALL {
        let counts = counters.function(function);
        println!("{function:?} {}", counts.hardware_calls() + counts.software_calls());
    }
}
