//! Memory that runs out ends no program: a context is null, or a call fails, as with OpenSSL's own. The program is C
//! (`memory_contexts/program.c`): it stands in for the allocator of everything in its process.

mod foreign;

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// Compiled once for all tests here.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| foreign::compile("memory_contexts"));

/// Every kind of context: of ciphers, digests, MACs (served, and handed to the default provider) and the generator.
const NAMES: [&str; 24] = [
    "c AES-128-CBC",
    "c AES-256-CTR",
    "c AES-128-CFB",
    "c AES-128-CFB8",
    "c AES-128-CFB1",
    "c AES-128-OFB",
    "c AES-128-ECB",
    "c DES-EDE3-CBC",
    "c ChaCha20",
    "c AES-256-XTS",
    "c AES-128-GCM",
    "c AES-256-CCM",
    "c ChaCha20-Poly1305",
    "d SHA2-256",
    "d SHA1",
    "d SHA2-512",
    "d SHA3-256",
    "d SHAKE-128",
    "m HMAC:SHA2-256",
    "m HMAC:SHA3-512",
    "m HMAC:RIPEMD160",
    "m CMAC:AES-128-CBC",
    "m CMAC:CAMELLIA-128-CBC",
    "r CTR-DRBG",
];

#[test]
fn no_context_ends_the_process_for_want_of_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), "algorithms = ALL ECB RAND\n");
    let mut command = Command::new(&*PROGRAM);
    command.arg(&config).arg(foreign::module()).args(NAMES).env("OPENSSL_CONF", "/dev/null");
    let output = command.output().expect("the program runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    assert_eq!(err, "");
}

/// Contexts are about as large as OpenSSL's own, because servers hold them by the hundred thousand: one of ours takes at most a quarter more, except
/// AES-GCM's, which has the powers of the hash key for groups of 32 blocks in it. Elsewhere Poly1305 is AWS-LC's, whose state takes 512 bytes.
#[test]
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
fn contexts_are_about_as_large_as_openssls_own() {
    const NAMES: [(&str, f64); 11] = [
        ("c AES-128-GCM", 1.35),
        ("c AES-256-GCM", 1.35),
        ("c ChaCha20-Poly1305", 1.25),
        ("c AES-128-CCM", 1.25),
        ("c AES-128-CBC", 1.25),
        ("c AES-256-CTR", 1.25),
        ("d MD5", 1.25),
        ("d SHA1", 1.25),
        ("d SHA2-256", 1.25),
        ("d SHA2-512", 1.25),
        ("d SHA3-256", 1.25),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), "algorithms = ALL\n");
    let mut command = Command::new(&*PROGRAM);
    command.arg("sizes").arg(&config).arg(foreign::module()).args(NAMES.map(|(name, _)| name));
    let output = command.env("OPENSSL_CONF", "/dev/null").output().expect("the program runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {out}", output.status);
    assert_eq!(out.lines().count(), NAMES.len(), "{out}");
    for (line, (name, most)) in out.lines().zip(NAMES) {
        let numbers = line.strip_prefix(name).and_then(|line| line.strip_prefix(": ")?.split_once(' '));
        let (ours, stock) = numbers.unwrap_or_else(|| panic!("{line}"));
        let (ours, stock): (f64, f64) = (ours.parse().expect("a number"), stock.parse().expect("a number"));
        assert!(ours > 0.0 && stock > 0.0 && ours <= most * stock, "{out}");
    }
}

/// AWS-LC's allocator would be asked for by name where the module lacks its own, and be another library's where it shows it.
#[test]
#[cfg(target_os = "linux")]
fn the_modules_allocator_is_its_own_and_nobody_elses() {
    let output = Command::new("readelf").args(["-W", "--dyn-syms"]).arg(foreign::module()).output().expect("readelf");
    let symbols = String::from_utf8_lossy(&output.stdout);
    assert!(symbols.contains("OSSL_provider_init") && !symbols.contains("OPENSSL_memory_"), "{symbols}");
}
