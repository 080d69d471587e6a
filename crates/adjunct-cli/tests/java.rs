//! `adjunct java`: beside the JDKs of this machine, and without any.

mod own_pkcs11;

use own_pkcs11::own_pkcs11;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn adjunct(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.arg("java").args(words).env_remove("JAVA_HOME").output().expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The JDKs that are here, 17 or later, with a compiler and SunPKCS11.
fn jdks() -> Vec<PathBuf> {
    let folders = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|e| e.path());
    let mut all: Vec<PathBuf> = folders
        .filter(|home| !home.is_symlink() && home.join("bin/javac").is_file())
        .filter(|home| {
            fs::read_to_string(home.join("release"))
                .is_ok_and(|r| r.contains("jdk.crypto.cryptoki") && !r.contains("\"1.8"))
        })
        .collect();
    all.sort();
    if all.is_empty() {
        eprintln!("no JDK in /usr/lib/jvm: skipped");
    }
    all
}

const LINES: [&str; 74] = [
    "name = a",
    "name = \"a b\"",
    "name = library",
    "name a",
    "library = /x/y.so",
    "library = /x y",
    "library = \"/x (y)\"",
    "library = /x(y)",
    "library = x.so",
    "library = ${user.home}/x",
    "library = ${nope}/x",
    "library =",
    "library = ${/}x${{y}}",
    "description = a b \"c (d)\"",
    "description = a (b)",
    "description =",
    "slot = 1",
    "slot = -1",
    "slot = 0x7fffffff",
    "slot = x",
    "slotListIndex = 0",
    "slotListIndex = 1 # c",
    "enabledMechanisms = { CKM_RSA_PKCS CKM_ECDSA }",
    "enabledMechanisms = {\n CKM_RSA_PKCS # c\n\n 0x1041\n}",
    "enabledMechanisms = { CKM_FOO }",
    "enabledMechanisms = {CKM_RSA_PKCS}",
    "enabledMechanisms = { CKM_RSA_PKCS, CKM_ECDSA }",
    "enabledMechanisms = { CKM_RSA_PKCS",
    "enabledMechanisms = { 0x80000000 }",
    "enabledMechanisms = { -1 }",
    "enabledMechanisms\n= { }",
    "enabledMechanisms =\n\n{ KeyStore }",
    "disabledMechanisms = { SecureRandom }",
    "disabledmechanisms = { CKM_MD5 }",
    "disabledMechanisms = { \"CKM_MD5\" }",
    "tokenlabel = x",
    "attributes = compatibility",
    "attributes = x",
    "attributes (*, *, *) = { CKA_PRIVATE = false }",
    "attributes (*, CKO_PRIVATE_KEY, CKK_EC) = {\n CKA_SIGN=true\n}",
    "attributes (generate, CKO_KEY, *) = { }",
    "attributes (x, *, *) = { }",
    "attributes (*, *, 5) = { 0x170 = 1 CKA_ID = 0h0fF }",
    "attributes (*, *, CKO_DATA) = { }",
    "attributes (*, *, *) = { CKA_ID = 0h }",
    "attributes (*, *, *) = { CKA_X = 1 }",
    "attributes (*, *, *) = { CKA_ID = x }",
    "attributes (*; *, *) = { }",
    "attributes (*, *) = { }",
    "attributes (*, *, *) = { CKA_ID = 0h-1 }",
    "showInfo = false",
    "showInfo = yes",
    "showInfo\n= true",
    "handleStartupErrors = ignoreAll",
    "handleStartupErrors = x",
    "insertionCheckInterval = 100",
    "insertionCheckInterval = 99",
    "xinsertionCheckInterval = 5",
    "cleaner.shortInterval = 999",
    "cleaner.longInterval = 0x1000",
    "allowLegacy = true",
    "functionList = C_GetFunctionList",
    "cipherTextStealingVariant = CS2",
    "cipherTextStealingVariant = CS4",
    "nssArgs = \"x\\101\\n\"",
    "nssArgs = x",
    "nssDbMode = noDb",
    "nssDbMode = x",
    "nssUseSecmod = false",
    "nssUseSecmodTrust = true",
    "# comment",
    "",
    "= x",
    "\"name\" = x",
];

/// Files of a few of those lines, some with one byte changed, by a generator of fixed numbers.
fn files() -> Vec<Vec<u8>> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let mut all: Vec<Vec<u8>> =
        LINES.iter().map(|line| format!("name = n\nlibrary = /x\n{line}\n").into_bytes()).collect();
    all.extend(LINES.iter().map(|line| line.as_bytes().to_vec()));
    for _ in 0..600 {
        let mut text = String::new();
        if random(3) > 0 {
            text.push_str("name = n\r\nlibrary = /x\n");
        }
        for _ in 0..1 + random(5) {
            text.push_str(LINES[random(LINES.len())]);
            text.push_str(["\n", "\n", "\r\n", "\r", " "][random(5)]);
        }
        let mut bytes = text.into_bytes();
        if random(2) == 0 {
            let (at, changed) = (random(bytes.len()), b" =\n\"(#,\\{}x0\xe4\r$"[random(15)]);
            match random(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = changed,
                _ => bytes.insert(at, changed),
            }
        }
        all.push(bytes);
    }
    all
}

/// Text of an error as Try.java writes it.
fn plain(text: &str) -> String {
    text.encode_utf16().fold(String::new(), |mut plain, unit| {
        match u8::try_from(unit) {
            Ok(c @ b' '..=b'~') => plain.push(char::from(c)),
            _ => _ = write!(plain, "\\u{unit:04x}"),
        }
        plain
    })
}

#[test]
fn the_reader_refuses_what_the_jdk_refuses_in_its_words() {
    let jdks = jdks();
    if jdks.is_empty() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (i, bytes) in files().iter().enumerate() {
        let file = dir.path().join(format!("{i}.cfg"));
        fs::write(&file, bytes).unwrap();
        names.push(file.to_str().unwrap().to_owned());
    }
    let list = dir.path().join("list");
    fs::write(&list, names.join("\n") + "\n").unwrap();
    for home in jdks {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Try.java");
        let java =
            Command::new(home.join("bin/java")).arg(program).arg(&list).current_dir(dir.path()).output().unwrap();
        assert!(java.status.success(), "{}", said(&java));
        let java = String::from_utf8(java.stdout).unwrap();
        let mut words = vec!["check", "--json", "--jdk", home.to_str().unwrap()];
        words.extend(names.iter().map(String::as_str));
        let ours: Value = serde_json::from_slice(&adjunct(&words).stdout).unwrap();
        let ours = ours["files"].as_array().unwrap();
        assert_eq!((java.lines().count(), ours.len()), (names.len(), names.len()));
        let mut refused = 0;
        for (java, ours) in java.lines().zip(ours) {
            let mine = ours["findings"]
                .as_array()
                .unwrap()
                .iter()
                .find_map(|f| f["java"].as_str())
                .map_or_else(|| "taken".to_owned(), plain);
            let file = ours["file"].as_str().unwrap();
            assert_eq!(
                mine,
                java,
                "{} {file}: {:?}",
                home.display(),
                String::from_utf8_lossy(&fs::read(file).unwrap())
            );
            refused += usize::from(java != "taken");
        }
        // Most of what is random is refused; both have to be there.
        assert!(refused > 100 && refused + 20 < names.len(), "{refused} of {}", names.len());
    }
}

/// Makes a folder that passes for a JDK of that version, without any program that runs.
fn pretended(dir: &Path, modules: &str) -> PathBuf {
    let home = dir.join("jdk");
    fs::create_dir_all(home.join("bin")).unwrap();
    fs::create_dir_all(home.join("conf/security")).unwrap();
    fs::write(home.join("bin/java"), "#!/bin/false\n").unwrap();
    fs::write(home.join("release"), format!("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"17.0.1\"\nMODULES=\"{modules}\"\n"))
        .unwrap();
    let list = "security.provider.1=SUN\nsecurity.provider.2=SunRsaSign\nsecurity.provider.3=SunPKCS11\n";
    fs::write(home.join("conf/security/java.security"), list).unwrap();
    home
}

#[test]
fn without_a_compiler_the_rules_are_taken_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let home = pretended(dir.path(), "java.base jdk.crypto.cryptoki");
    let (module, out) = (dir.path().join("m (1).so"), dir.path().join("out"));
    let Some(built) = own_pkcs11() else { return };
    fs::copy(built, &module).unwrap();
    let config = |more: &[&str]| {
        let words = ["config", "--jdk", home.to_str().unwrap(), "--module", module.to_str().unwrap(), "--trust-module"];
        adjunct(&[&words[..], &["--output", out.to_str().unwrap()], more].concat())
    };
    let done = config(&[]);
    assert!(done.status.success(), "{}", said(&done));
    assert!(String::from_utf8_lossy(&done.stdout).contains("nothing was measured: this Java has no compiler"));
    let (file, security) = (out.join("adjunct-pkcs11.cfg"), out.join("adjunct.security"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("\n    CKM_RSA_PKCS\n    CKM_RSA_PKCS_PSS\n") && !text.contains("\n    CKM_SHA256\n"),
        "{text}"
    );
    let list = fs::read_to_string(&security).unwrap();
    let lines: Vec<&str> = list.lines().filter(|l| !l.starts_with('#')).collect();
    let first = format!("security.provider.1=SunPKCS11 {}", file.display());
    assert_eq!(
        lines,
        [first.as_str(), "security.provider.2=SUN", "security.provider.3=SunRsaSign", "security.provider.4=SunPKCS11"]
    );
    // What is there stays, and nothing else is left behind.
    let again = config(&[]);
    assert!(!again.status.success() && said(&again).contains("is there already; --force replaces it"));
    assert!(config(&["--force", "--token-keys", "--slot-index", "0"]).status.success());
    assert!(fs::read_to_string(&file).unwrap().contains("KeyStore"));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    // A file in the folder's place is told before anything is measured.
    let words = ["config", "--jdk", home.to_str().unwrap(), "--module", module.to_str().unwrap(), "--trust-module"];
    let taken = adjunct(&[&words[..], &["--output", file.to_str().unwrap()]].concat());
    assert!(!taken.status.success() && taken.stdout.is_empty() && said(&taken).contains("is no folder"), "{taken:?}");
    // One folder is made for them, and none above it.
    let deep = adjunct(&[&words[..], &["--output", dir.path().join("none/x").to_str().unwrap()]].concat());
    assert!(!deep.status.success() && said(&deep).contains("none: no such folder"), "{deep:?}");
    assert!(!dir.path().join("none").exists());
    // Our own reader has nothing against them.
    let check = adjunct(&["check", "--jdk", home.to_str().unwrap(), security.to_str().unwrap()]);
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    assert!(
        String::from_utf8_lossy(&check.stdout)
            .contains("taken by OpenJDK 17 as SunPKCS11-adjunct; 0 errors, 0 warnings")
    );
}

/// A configuration for keys names the one token that keeps some; where none does, and where there is no token of a label, it says so.
#[test]
fn a_configuration_for_keys_names_the_token_that_keeps_them() {
    let Some(module) = own_pkcs11() else { return };
    let dir = tempfile::tempdir().unwrap();
    let (home, out) = (pretended(dir.path(), "java.base jdk.crypto.cryptoki"), dir.path().join("out"));
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
        command.args(words).env("XDG_DATA_HOME", dir.path()).env("XDG_CONFIG_HOME", dir.path().join("config"));
        command.env("ADJUNCT_PIN", "12345678").env("ADJUNCT_SO_PIN", "87654321").env_remove("ADJUNCT_PKCS11_CONF");
        command.env("ADJUNCT_STATS", "off").output().unwrap()
    };
    let config = |more: &[&str]| {
        let words = ["java", "config", "--jdk", home.to_str().unwrap(), "--module", module.to_str().unwrap()];
        let words = [&words[..], &["--trust-module", "--force", "--output", out.to_str().unwrap()], more].concat();
        let done = run(&words);
        let text = fs::read_to_string(out.join("adjunct-pkcs11.cfg")).unwrap_or_default();
        (done.status.code(), said(&done), text.lines().find(|l| l.starts_with("slot")).unwrap_or_default().to_owned())
    };
    let (code, line, _) = config(&["--token-keys"]);
    assert!(code == Some(1) && line.contains("no token keeps keys yet; 'adjunct token init --label NAME'"), "{line}");
    assert!(run(&["token", "init", "--label", "web"]).status.success());
    assert_eq!(config(&["--token-keys"]), (Some(0), String::new(), "slot = 3".to_owned()));
    assert_eq!(config(&["--token", "icatok"]), (Some(0), String::new(), "slot = 1".to_owned()));
    let (code, line, _) = config(&["--token", "nix"]);
    assert!(code == Some(1) && line.ends_with("the module has no such token; it has 'web', 'icatok'\n"), "{line}");
}

#[test]
fn what_is_no_jdk_gets_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let none = adjunct(&["config", "--jdk", dir.path().to_str().unwrap()]);
    assert_eq!((none.status.code(), said(&none).lines().count()), (Some(1), 1));
    assert!(said(&none).contains("is no JDK: there is no bin/java in it"), "{}", said(&none));
    let home = pretended(dir.path(), "java.base");
    let lacks = adjunct(&["config", "--jdk", home.to_str().unwrap()]);
    assert!(said(&lacks).contains("has no SunPKCS11"), "{}", said(&lacks));
    let missing = adjunct(&["check", "/no/such/file"]);
    assert_eq!((missing.status.code(), said(&missing).lines().count()), (Some(1), 1));
    assert_eq!(adjunct(&["check", "--dialect", "openjdk-5", "/dev/null"]).status.code(), Some(2));
}

/// Adjunct's own module, as cargo builds it beside the command, or the one named.
fn module_beside() -> Option<String> {
    let named = std::env::var("ADJUNCT_TEST_PKCS11").ok();
    named.or_else(|| Some(own_pkcs11()?.to_str().unwrap().to_owned()))
}

/// A PKCS #11 module whose first slot takes keys without a PIN, for what takes minutes.
fn module() -> Option<String> {
    let module = std::env::var("ADJUNCT_TEST_PKCS11").ok().filter(|m| Path::new(m).is_file());
    if module.is_none() {
        eprintln!("no module in ADJUNCT_TEST_PKCS11: skipped");
    }
    module
}

#[test]
fn a_handshake_is_told_part_by_part() {
    let Some(module) = module_beside() else { return };
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("rsa.cfg");
    let write = |text: &str| fs::write(&config, format!("name = t\nlibrary = {module}\nslot = 1\n{text}\n")).unwrap();
    // One that is listed costs a run of half a dozen seconds: the newest.
    let Some(home) = jdks().pop() else { return };
    let verify = |more: &[&str]| {
        let words = ["verify", "--jdk", home.to_str().unwrap(), "--config", config.to_str().unwrap()];
        adjunct(&[&words[..], more].concat())
    };
    write("enabledMechanisms = { CKM_RSA_PKCS CKM_RSA_PKCS_PSS }");
    let done = verify(&["--json"]);
    assert!(done.status.success(), "{}{}", said(&done), String::from_utf8_lossy(&done.stdout));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let handshakes = report["handshakes"].as_array().unwrap();
    assert_eq!(handshakes.len(), 4, "{report}");
    for handshake in handshakes {
        let served = |part: &str| {
            let all = handshake["services"].as_array().unwrap().iter();
            all.filter(|s| s["part"] == part).map(|s| s["served"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let rsa = handshake["name"].as_str().unwrap().ends_with("RSA");
        let by = if rsa { "SunPKCS11-t" } else { "SunEC" };
        assert_eq!(served("signature"), [by], "{handshake}");
        assert_eq!(served("verification"), [by], "{handshake}");
        assert!(!served("key-exchange").is_empty() && !served("bulk").is_empty() && !served("digest").is_empty());
        let counted = handshake["counted"].as_array().unwrap();
        let signed = counted.iter().find(|c| c["function"] == "RSA-CRT");
        assert_eq!(signed.map(|c| c["hardware"].as_u64().unwrap() + c["software"].as_u64().unwrap()), rsa.then_some(1));
    }
    // Refused here as Java would refuse it, which would go on without a word.
    write("tokenlabel = x");
    let refused = verify(&[]);
    assert_eq!((refused.status.code(), said(&refused).lines().count()), (Some(1), 1));
    assert!(said(&refused).contains("rsa.cfg:4: ") && said(&refused).contains("tokenlabel"), "{}", said(&refused));
    // A file of security properties that names it: the provider is absent.
    let security = dir.path().join("x.security");
    fs::write(&security, format!("security.provider.13=SunPKCS11 {}\n", config.display())).unwrap();
    let absent = adjunct(&["verify", "--jdk", home.to_str().unwrap(), "--config", security.to_str().unwrap()]);
    assert_eq!((absent.status.code(), said(&absent).lines().count()), (Some(1), 1));
    assert!(said(&absent).contains("has no provider of it"), "{}", said(&absent));
}

#[test]
fn what_verify_cannot_use_gets_one_line() {
    let Some(home) = jdks().pop() else { return };
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("a.cfg");
    let verify =
        |jdk: &Path| adjunct(&["verify", "--jdk", jdk.to_str().unwrap(), "--config", config.to_str().unwrap()]);
    let line = |output: Output, what: &str| {
        assert_eq!((output.status.code(), said(&output).lines().count()), (Some(1), 1), "{}", said(&output));
        assert!(said(&output).contains(what), "{}", said(&output));
    };
    line(verify(dir.path()), "is no JDK: there is no bin/java in it");
    line(verify(&home), "a.cfg: No such file or directory");
    fs::write(&config, "name = a\nlibrary = /no/such/module.so\n").unwrap();
    line(verify(&home), "/no/such/module.so");
    fs::write(&config, "-Djava.security.properties=x\n").unwrap();
    line(verify(&home), "these are options of a JVM");
}

#[test]
fn the_experiment_is_made_with_liberty() {
    // A gigabyte in the cache, and minutes.
    let (Some(module), Ok(cache)) = (module(), std::env::var("ADJUNCT_TEST_LIBERTY")) else {
        eprintln!("SKIPPED: ADJUNCT_TEST_LIBERTY names no cache for adjunct bench java");
        return;
    };
    let Some(home) = jdks().into_iter().next() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.args([
        "bench",
        "java",
        "--json",
        "-",
        "--trust-module",
        "--seconds",
        "4",
        "--rounds",
        "2",
        "--warm-up",
        "4",
    ]);
    command.args(["--rows", "http,stock,rsa,all,peer-rsa", "--threads", "8", "--cache", &cache, "--module", &module]);
    let done = command.arg("--jdk").arg(home).arg("--html").arg(&page).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() >= 8, "{report}");
    for row in rows {
        assert!(row["requests_per_second"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
        let secure = row["name"] != "http";
        let fresh = row["connections"] == "new";
        assert_eq!(row["handshakes_per_second"].as_f64().unwrap() > 0.0, secure && fresh, "{row}");
        let signed = row["icastats"].as_array().unwrap().iter().any(|c| c[0] == "RSA-CRT");
        assert_eq!(signed, fresh && (row["name"] == "rsa" || row["name"] == "all"), "{row}");
    }
    assert!(fs::read_to_string(page).unwrap().contains("</html>"));
}

#[test]
fn what_is_written_is_measured_and_served_by_the_module() {
    let Some(module) = module() else { return };
    for home in jdks() {
        let dir = tempfile::tempdir().unwrap();
        let (home, out) = (home.to_str().unwrap(), dir.path().join("out"));
        let words =
            ["config", "--quick", "--json", "--trust-module", "--for", "all", "--jdk", home, "--module", &module];
        let done = adjunct(&[&words[..], &["--output", out.to_str().unwrap()]].concat());
        assert!(done.status.success(), "{}", said(&done));
        let report: Value = serde_json::from_slice(&done.stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 14, "{report}");
        let measured =
            |row: &str| rows.iter().any(|r| r["row"] == row && r["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0));
        assert!(measured("rsa-sign") && measured("ec-sign"), "{report}");
        assert_eq!(report["choices"].as_array().unwrap().len(), 7);
        let config = out.join("adjunct-pkcs11.cfg");
        let words = ["check", "--jdk", home, "--module", &module, config.to_str().unwrap()];
        let check = adjunct(&words);
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        assert!(
            !String::from_utf8_lossy(&check.stdout).contains("next provider"),
            "{}",
            String::from_utf8_lossy(&check.stdout)
        );
    }
}

/// Configurations on NSS without their name, and what JDKs say of those that they cannot load. `LIB` is the folder of libnss3.so, `DB` that of a
/// database, `FIPS` that of one in FIPS mode, `EMPTY` an empty one.
const ON_NSS: [(&str, Option<&str>); 14] = [
    ("nssDbMode = noDb", None),
    ("nssLibraryDirectory = LIB\nnssDbMode = noDb\nnssModule = crypto", None),
    ("nssLibraryDirectory = LIB\nnssDbMode = readOnly\nnssSecmodDirectory = sql:DB", None),
    ("nssLibraryDirectory = LIB\nnssSecmodDirectory = sql:EMPTY", None),
    // Of the form of Red Hat's nss.fips.cfg.
    (
        "nssLibraryDirectory = LIB\nnssSecmodDirectory = sql:FIPS\nnssDbMode = readOnly\nnssModule = fips\n\
         attributes(*,CKO_SECRET_KEY,CKK_GENERIC_SECRET)={ CKA_SIGN=true }",
        None,
    ),
    ("nssLibraryDirectory = LIB", Some("Secmod not initialized and nssSecmodDirectory not specified")),
    ("nssModule = fips", Some("Secmod not initialized and nssSecmodDirectory not specified")),
    ("nssDbMode = noDb\nnssSecmodDirectory = sql:DB", Some("nssSecmodDirectory must not be specified in noDb mode")),
    ("nssDbMode = noDb\nnssModule = fips", Some("NSS module not available: fips")),
    ("nssDbMode = noDb\nnssModule = secret", Some("Unknown NSS module: secret")),
    ("nssLibraryDirectory = /nonexistent\nnssDbMode = noDb", Some("nssLibDir must be a directory:/nonexistent")),
    ("nssDbMode = readOnly\nnssSecmodDirectory = DB", Some("DB/secmod.db")),
    ("nssDbMode = readOnly\nnssSecmodDirectory = sql:EMPTY", Some("NSS initialization failed")),
    ("nssDbMode = readOnly\nnssSecmodDirectory = sql:DB\nnssModule = fips", Some("NSS module not available: fips")),
];

/// A database of NSS's in a new folder.
fn database(folder: &Path, fips: bool) {
    fs::create_dir(folder).unwrap();
    let name = format!("sql:{}", folder.display());
    let run = |program: &str, words: &[&str]| {
        let out = Command::new(program).args(words).output().expect("libnss3-tools is installed");
        assert!(out.status.success(), "{program}: {}", said(&out));
    };
    run("certutil", &["-N", "-d", &name, "--empty-password"]);
    if fips {
        run("modutil", &["-fips", "true", "-dbdir", &name, "-force"]);
    }
}

#[test]
fn what_is_on_nss_is_judged_as_the_jdks_load_it() {
    let libraries = fs::read_dir("/usr/lib").unwrap().flatten().map(|e| e.path());
    let Some(library) = libraries.into_iter().find(|folder| folder.join("libnss3.so").is_file()) else {
        eprintln!("no libnss3.so: skipped");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    database(&folder.path().join("db"), false);
    database(&folder.path().join("fips"), true);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Load.java");
    // Each takes a JVM of its own: every fourth in the gate, all with ADJUNCT_DEEP.
    let each = if std::env::var_os("ADJUNCT_DEEP").is_some() { 1 } else { 4 };
    for jdk in jdks() {
        for (at, (lines, java)) in ON_NSS.into_iter().enumerate().step_by(each) {
            let filled = |text: &str| {
                let text = text.replace("LIB", &library.display().to_string()).replace("EMPTY", &place("empty"));
                text.replace("FIPS", &place("fips")).replace("DB", &place("db"))
            };
            let _ = fs::remove_dir_all(folder.path().join("empty"));
            fs::create_dir(folder.path().join("empty")).unwrap();
            let file = folder.path().join(format!("{at}.cfg"));
            // `nssDbMode` and `noDb` have letters of the placeholder's.
            let text = filled(&lines.replace("nssDbMode", "nssMODE").replace("noDb", "noMODE"));
            fs::write(
                &file,
                format!("name = nss\n{}\n", text.replace("nssMODE", "nssDbMode").replace("noMODE", "noDb")),
            )
            .unwrap();
            let told = adjunct(&["check", "--json", "--jdk", jdk.to_str().unwrap(), file.to_str().unwrap()]);
            let report: Value = serde_json::from_slice(&told.stdout).unwrap();
            let loaded = Command::new(jdk.join("bin/java")).arg(&program).arg(&file).output().unwrap();
            let loaded = String::from_utf8_lossy(&loaded.stdout).trim().to_owned();
            assert_eq!(told.status.success(), java.is_none(), "{lines}: {report}");
            assert_eq!(loaded.starts_with("loaded"), java.is_none(), "{}: {lines}: {loaded}", jdk.display());
            assert!(loaded.contains(&filled(java.unwrap_or_default())), "{}: {lines}: {loaded}", jdk.display());
            let findings = report["files"][0]["findings"].as_array().unwrap();
            let words = |finding: &Value| {
                let (_, words) = finding["text"].as_str()?.split_once("ProviderException: ")?;
                Some(words.trim_end_matches("')").to_owned())
            };
            if let Some(words) = findings.iter().find_map(words) {
                assert!(loaded.contains(&words), "{lines}: {words}, and {loaded}");
            }
            // No list of mechanisms is advised where NSS takes the place of the JDK's own.
            let advises = |finding: &Value| finding.to_string().contains("enabledMechanisms");
            assert!(!findings.iter().any(advises), "{lines}: {report}");
        }
    }
}
