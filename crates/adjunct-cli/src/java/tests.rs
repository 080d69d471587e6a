//! The cases that the JDK's documents and its behaviour give, and the files of a published report.

use super::cfg::{self, Config, expanded};
use super::dialect::Dialect;
use super::finding::{Finding, Findings, Severity};
use super::lint::{self, Judge};
use super::security::{self, JavaFileKind};
use proptest::prelude::*;
use std::path::Path;

const BASE: &str = "name = a\nlibrary = /x/y.so\n";

fn dialect(name: &str) -> Dialect {
    name.parse().unwrap()
}

fn parsed(text: &str, name: &str) -> Config {
    cfg::parse(text.as_bytes(), dialect(name))
}

/// The first refusal of a text: its line, and Java's words.
fn refused(text: &str, name: &str) -> Option<(u32, String)> {
    parsed(text, name).refusals.first().map(|r| (r.line, r.java.clone()))
}

fn told(text: &str, name: &str) -> Vec<Finding> {
    let mut findings = Findings::of(Path::new("f.cfg"));
    lint::lint(&parsed(text, name), Judge { dialect: dialect(name), here: false }, &mut findings);
    findings.sorted()
}

fn security(text: &str, replaces: bool, name: &str) -> Vec<Finding> {
    let dialect = dialect(name);
    let own: Vec<String> = dialect.providers().iter().map(|p| (*p).to_owned()).collect();
    let mut findings = Findings::of(Path::new("f.security"));
    security::lint(text.as_bytes(), replaces, &own, Judge { dialect, here: false }, &mut findings);
    findings.sorted()
}

fn has(findings: &[Finding], severity: Severity, line: u32, words: &str) -> bool {
    findings.iter().any(|f| f.severity == severity && f.line == line && f.text.contains(words))
}

#[test]
fn every_keyword_is_taken() {
    let text = "name = \"a b\"\nlibrary = \"/x y\" z.so\ndescription = some \"quoted (text)\" words\nslotListIndex = 0x1\n\
        enabledMechanisms = {\n  CKM_RSA_PKCS 0x1041\n  KeyStore # c\n}\ndisabledMechanisms = { SecureRandom }\n\
        attributes = compatibility\nattributes (generate, CKO_PRIVATE_KEY, CKK_EC) =\n{ CKA_SIGN = true CKA_ID = 0hff\n 0x170 = 5 CKA_DERIVE = null }\n\
        attributes(*,*,*)={ CKA_PRIVATE=false }\nhandleStartupErrors = ignoreMissingLibrary\ninsertionCheckInterval = 100\n\
        cleaner.shortInterval = 1000\ncleaner.longInterval = 60000\ndestroyTokenAfterLogout = true\nshowInfo = false\n\
        allowLegacy = true\nkeyStoreCompatibilityMode = false\nexplicitCancel = false\nomitInitialize = false\n\
        allowSingleThreadedModules = false\nfunctionList = C_GetFunctionList\nuseEcX963Encoding = true\nnssOptimizeSpace = true\n\
        nssArgs = \"x\"\n";
    for name in ["openjdk-17", "openjdk-21", "openjdk-25", "semeru", "openj9-z"] {
        let config = parsed(text, name);
        assert_eq!(config.refusals, [], "{name}");
        assert_eq!(config.value("name").unwrap().trim_matches('"'), "a b");
        let enabled: Vec<u32> = config.enabled.unwrap().value.iter().filter_map(|e| e.value.number).collect();
        assert_eq!(enabled, [0x1, 0x1041, 0x7fff_ff21]);
        assert_eq!(config.attributes.len(), 3);
    }
    assert_eq!(parsed(text, "openjdk-17").value("library"), Some("/x y z.so"));
    assert_eq!(
        refused("cipherTextStealingVariant = CS1", "openjdk-17").unwrap().1,
        "Unknown keyword 'cipherTextStealingVariant', line 1"
    );
    assert_eq!(refused(&format!("{BASE}cipherTextStealingVariant = CS1"), "openjdk-25"), None);
}

/// Refusals are in Java's words, as JDK 17.0.15 was seen to give them; tests/java.rs compares with any JDK that is installed.
#[test]
fn what_is_refused_is_refused_in_javas_words() {
    let cases = [
        ("description = b (c)", 3, "Unexpected value Token['('], line 3"),
        ("tokenlabel = x", 3, "Unknown keyword 'tokenlabel', line 3"),
        ("disabledmechanisms = { CKM_MD5 }", 3, "Unknown keyword 'disabledmechanisms', line 3"),
        ("name = b", 3, "name must only be specified once, line 3"),
        ("enabledMechanisms = { CKM_RSA_PKCS, CKM_ECDSA }", 3, "Expected mechanism, read Token[','], line 3"),
        ("enabledMechanisms = {CKM_RSA_PKCS}", 3, "Expected '{', read Token[{CKM_RSA_PKCS}], line 3"),
        ("enabledMechanisms = {\nCKM_FOO\n}", 4, "Unknown mechanism: CKM_FOO, line 4"),
        ("enabledMechanisms = { 0x80000001 }", 3, "Expected number, read Token[0x80000001], line 3"),
        ("enabledMechanisms = {\nCKM_RSA_PKCS", 5, "Expected mechanism, read Token[EOF], line 5"),
        ("showInfo = yes", 3, "Expected boolean value, read: Token[yes], line 3"),
        ("showInfo\n= true", 3, "Expected '=', read Token[EOL], line 4"),
        ("slot = 1\nslotListIndex = 1", 4, "Only one of slot and slotListIndex must be specified, line 4"),
        ("slot = 1\nslot = 1", 4, "Duplicate slot definition, line 4"),
        ("insertionCheckInterval = 99", 3, "insertionCheckInterval must be at least 100 ms, line 3"),
        ("cleaner.longInterval = 999", 3, "cleaner.longInterval must be at least 1000 ms, line 3"),
        ("handleStartupErrors = ignore", 3, "Invalid value for handleStartupErrors: Token[ignore], line 3"),
        ("attributes (sign, *, *) = { }", 3, "Unknown operation sign, line 3"),
        ("attributes (*, CKO_KEY, *) = { }", 3, "Unknown object class CKO_KEY, line 3"),
        ("attributes (*, *, RSA) = { }", 3, "Unknown key algorithm RSA, line 3"),
        ("attributes (*, *, *) = {\nCKA_X = true\n}", 4, "Unknown attribute name CKA_X, line 4"),
        ("attributes (*, *, *) = { CKA_SIGN = yes }", 3, "Unknown attribute value yes, line 3"),
        ("attributes (*, *, *) = { CKA_SIGN = \"true\" }", 3, "Unexpected value: Token[true], line 3"),
        ("attributes = all", 3, "Expected 'compatibility', read all, line 3"),
        ("nssArgs = x", 3, "Expected quoted string Token[x], line 3"),
        ("nssModule = fips", 2, "library must not be specified in NSS mode"),
        ("(", 3, "Unexpected token: Token['('], line 3"),
        ("foo = { a\nb }\n", 3, "Unknown keyword 'foo', line 3"),
    ];
    for (line, at, java) in cases {
        assert_eq!(refused(&format!("{BASE}{line}\n"), "openjdk-17"), Some((at, java.to_owned())), "{line}");
    }
    for (text, at, java) in [
        ("library = /x\n", 1, "name must be specified"),
        ("name = a\n", 1, "library must be specified"),
        ("name = a\nlibrary = x.so\n", 2, "Absolute path required for library value: x.so"),
        ("name = a\nlibrary = ${nope}/x\n", 2, "unable to expand property nope"),
        ("name = a\nlibrary =\n", 2, "Unexpected empty line Token[EOL], line 3"),
    ] {
        assert_eq!(refused(text, "openjdk-17"), Some((at, java.to_owned())), "{text}");
    }
}

#[test]
fn all_mistakes_are_found_at_once() {
    let text = "name = a\nfoo = {\n bar\n}\nlibrary = /x\nenabledMechanisms = { CKM_A, CKM_B\n CKM_RSA_PKC\n}\nshowinfo = true\ndescription = (\n";
    let config = parsed(text, "openjdk-17");
    let lines: Vec<u32> = config.refusals.iter().map(|r| r.line).collect();
    assert_eq!(lines, [2, 6, 6, 6, 7, 9, 10], "{:?}", config.refusals);
    assert_eq!(config.refusals[4].fix, "write CKM_RSA_PKCS");
    assert_eq!(config.refusals[5].fix, "write showInfo");
}

#[test]
fn operations_that_are_left_behind_are_told_of() {
    let (one, other) =
        (format!("{BASE}slot = 1\nexplicitCancel = false\n"), format!("{BASE}slot = 65537\nexplicitCancel = false\n"));
    let warned = |text: &str| told(text, "openjdk-25").iter().any(|f| f.text.contains("CKR_OPERATION_ACTIVE"));
    assert_eq!((warned(&one), warned(&other)), (true, false));
}

#[test]
fn tokens_whose_place_may_change_are_told_of() {
    let own = "name = a\nlibrary = /usr/lib/x86_64-linux-gnu/pkcs11/adjunct-pkcs11.so\n";
    let warned =
        |text: String, line| has(&told(&text, "openjdk-25"), Severity::Warning, line, "depends on what they hold");
    assert!(warned(own.to_owned(), 2) && warned(format!("{own}slotListIndex = 0\n"), 3));
    assert!(!warned(format!("{own}slot = 1\n"), 3) && !warned(format!("{BASE}slotListIndex = 0\n"), 3));
    let line = |module: &str, index| super::choose::slot(Path::new(module), index);
    assert_eq!(line("/a/adjunct-pkcs11.so", None), "slot = 1");
    assert_eq!(line("/a/adjunct-pkcs11.so", Some(2)), "slotListIndex = 2");
    assert_eq!(line("/a/softhsm2.so", None), "slotListIndex = 0");
}

#[test]
fn later_jdks_remember_values_in_place_of_keywords() {
    let twice = "name = a\nname = b\nlibrary = /x\n";
    assert!(refused(twice, "openjdk-17").is_some() && refused(twice, "openjdk-25").is_none());
    assert!(has(&told(twice, "openjdk-25"), Severity::Warning, 2, "replaces the one in line 1"));
    let value = "name = library\nlibrary = /x\n";
    assert_eq!(refused(value, "openjdk-17"), None);
    assert_eq!(refused(value, "openjdk-21"), Some((2, "library must only be specified once, line 2".to_owned())));
    let ends = format!("{BASE}myinsertionCheckInterval = 200\n");
    assert!(refused(&ends, "openjdk-17").is_none() && refused(&ends, "openjdk-25").is_some());
}

#[test]
fn entries_in_one_line_are_taken_and_told() {
    let text = "name = a showInfo = true library = /x y\n";
    assert_eq!(parsed(text, "openjdk-17").value("library"), Some("/x y"));
    assert!(has(&told(text, "openjdk-17"), Severity::Warning, 1, "follows another one"));
}

#[test]
fn what_is_slow_or_breaks_tls_is_told_at_its_line() {
    let list = |names: &str| format!("{BASE}enabledMechanisms = {{\n{names}\n}}\n");
    let told = |text: &str| told(text, "openjdk-17");
    let found = told(&list(
        "CKM_RSA_PKCS\nCKM_SHA256\nCKM_SHA256_HMAC\nCKM_AES_GCM\nSecureRandom\nCKM_SHA256_RSA_PKCS\nCKM_RSA_9796\nCKM_ECDH1_DERIVE",
    ));
    assert!(has(&found, Severity::Warning, 3, "TLS 1.3 fails"));
    for (line, words) in [(5, "digest"), (6, "HMACs with a new key"), (7, "cipher"), (8, "random")] {
        assert!(has(&found, Severity::Warning, line, words), "{line} {words}: {found:?}");
    }
    assert!(has(&found, Severity::Note, 9, "three or more native calls"));
    assert!(has(&found, Severity::Note, 10, "makes no service of CKM_RSA_9796"));
    assert!(
        has(&found, Severity::Note, 11, "x25519") && has(&found, Severity::Note, 11, "without CKM_EC_KEY_PAIR_GEN")
    );
    let good = told(&list("CKM_RSA_PKCS CKM_RSA_PKCS_PSS CKM_ECDSA"));
    assert!(good.iter().all(|f| f.text.starts_with("there is no /x/y.so")), "{good:?}");
    assert!(has(&told(BASE), Severity::Warning, 2, "all are enabled"));
    assert!(has(
        &told(&format!("{BASE}disabledMechanisms = {{ CKM_RSA_PKCS_PSS }}\n")),
        Severity::Warning,
        3,
        "TLS 1.3 fails"
    ));
    assert!(has(
        &told(&format!("{BASE}handleStartupErrors = ignoreAll\n")),
        Severity::Warning,
        3,
        "absent without a word"
    ));
    let secret = format!("{BASE}attributes (*, CKO_SECRET_KEY, *) = {{ CKA_SENSITIVE = true }}\n");
    assert!(has(&told(&secret), Severity::Warning, 3, "cannot be read by TLS"));
}

/// The report's own two files, and its list of providers.
const RSA_ONLY: &str = "name = crypto_hw\ndescription = config for IBM Crypto Express HW (icatok)\n\
    library = /usr/lib64/opencryptoki/PKCS11_API.so\ntokenlabel = icatok\ndisabledmechanisms = {\n    CKM_DES_KEY_GEN\n    CKM_SHA_1_HMAC_GENERAL\n    \
    CKM_AES_MAC\n    CKM_EC_KEY_PAIR_GEN\n    CKM_AES_GCM\n}\n";
const EVERYTHING: &str = "name = crypto_hw\ndescription = config for IBM Crypto Express HW (icatok)\nlibrary = /usr/lib64/openssl/openssl.so\n\
    tokenlabel = icatok\nattributes (*, CKO_PRIVATE_KEY, *) = {\n    CKA_SENSITIVE = true\n    CKA_SIGN=true\n    CKA_DECRYPT=true\n    \
    CKA_DERIVE=true\n}\nattributes (*, CKO_PUBLIC_KEY, *) = {\n    CKA_VERIFY=true\n    CKA_ENCRYPT=true\n    CKA_DERIVE=true\n}\n";
const PROVIDERS: &str = "security.provider.1=com.ibm.crypto.pkcs11impl.provider.IBMPKCS11Impl /etc/cex.cfg\n\
    security.provider.2=com.ibm.jsse2.IBMJSSEProvider2\nsecurity.provider.3=com.ibm.crypto.plus.provider.IBMJCEPlus\n\
    security.provider.4=com.ibm.crypto.provider.IBMJCE\nsecurity.provider.5=com.ibm.security.jgss.IBMJGSSProvider\n\
    security.provider.6=com.ibm.security.cert.IBMCertPath\nsecurity.provider.7=com.ibm.security.sasl.IBMSASL\n\
    security.provider.8=com.ibm.xml.crypto.IBMXMLCryptoProvider\nsecurity.provider.9=com.ibm.xml.enc.IBMXMLEncProvider\n\
    security.provider.10=com.ibm.security.jgss.mech.spnego.IBMSPNEGO\nsecurity.provider.11=sun.security.provider.Sun\n";

#[test]
fn the_reports_files_fail_where_and_as_they_do() {
    for (name, lines) in [
        ("openjdk-17", &[2, 4, 5][..]),
        ("openjdk-21", &[2, 4, 5]),
        ("openjdk-25", &[2, 4, 5]),
        ("semeru", &[2, 5]),
        ("openj9-z", &[2, 5]),
        ("ibm8", &[]),
    ] {
        let errors = |text: &str| -> Vec<u32> {
            told(text, name).iter().filter(|f| f.severity == Severity::Error).map(|f| f.line).collect()
        };
        assert_eq!(errors(RSA_ONLY), lines, "{name}");
        let without_list: Vec<u32> = lines.iter().copied().filter(|line| *line != 5).collect();
        assert_eq!(errors(EVERYTHING), without_list, "{name}");
        assert!(has(&told(EVERYTHING, name), Severity::Warning, 3, "all are enabled"), "{name}");
    }
    assert_eq!(refused(RSA_ONLY, "openjdk-17").unwrap().1, "Unexpected value Token['('], line 2");
    let ibm = security(PROVIDERS, false, "ibm8");
    assert!(ibm.iter().all(|f| f.severity == Severity::Warning && f.text.contains("/etc/cex.cfg")), "{ibm:?}");
    assert!(has(
        &security(PROVIDERS, false, "openjdk-17"),
        Severity::Error,
        1,
        "has no provider 'com.ibm.crypto.pkcs11impl"
    ));
}

#[test]
fn providers_that_are_never_reached_or_lost_are_told() {
    let told = |text: &str| security(text, false, "openjdk-17");
    let alone = told("security.provider.1=SunPKCS11 /no.cfg\n");
    assert!(has(&alone, Severity::Error, 1, "takes the place of SUN"), "{alone:?}");
    let gap = security("security.provider.1=SUN\nsecurity.provider.3=SunJCE\n", true, "openjdk-17");
    assert!(has(&gap, Severity::Error, 2, "never read: the list of providers ends at 1"), "{gap:?}");
    assert!(has(&told("security.provider.14=SunPKCS11 /no.cfg\n"), Severity::Error, 1, "ends at 12"));
    assert!(has(&told("security.provider.01=SUN\n"), Severity::Error, 1, "without leading zeros"));
    assert!(has(&told("security.provider.2=\n"), Severity::Error, 1, "ends before it"));
    assert!(has(&told("security.provider.13=SunPKCS11\t/no.cfg\n"), Severity::Error, 1, "a tab stands"));
    assert!(has(
        &told("security.provider.13=sun.security.pkcs11.SunPKCS11 /x\n"),
        Severity::Error,
        1,
        "has no provider"
    ));
    let last = told("security.provider.13=SunPKCS11 /no.cfg\n");
    assert!(
        has(&last, Severity::Warning, 1, "stands before it") && has(&last, Severity::Warning, 1, "there is no /no.cfg")
    );
    assert!(has(
        &told("security.provider.13=SunPKCS11 no.cfg\n"),
        Severity::Warning,
        1,
        "in the folder that Java is started in"
    ));
    assert!(has(&told("jdk.tls.namedGroups=secp256r1\n"), Severity::Warning, 1, "no effect"));
    let twice = told("security.provider.13=SUN\nsecurity.provider.13=SunJCE\n");
    assert!(has(&twice, Severity::Error, 2, "the one in line 1 has no effect"));
}

#[test]
fn options_that_java_ignores_are_told() {
    let judge = Judge { dialect: Dialect::openjdk(17), here: true };
    let told = |text: &str| {
        let mut findings = Findings::of(Path::new("jvm.options"));
        security::lint_options(text.as_bytes(), judge, &mut findings);
        findings.sorted()
    };
    assert!(has(
        &told("-Xmx2g\n-Djava.security.property=/x\n"),
        Severity::Error,
        2,
        "no property java.security.property"
    ));
    assert!(has(&told("Djava.security.properties=/x\n"), Severity::Error, 1, "without a dash"));
    assert!(has(
        &told("JAVA_OPTS=\"-Djava.security.properties==/no/such\"\n"),
        Severity::Error,
        1,
        "there is no /no/such"
    ));
    assert!(told("-Djava.security.debug=jca\n# -Djava.security.property=x\n").is_empty());
    assert_eq!(JavaFileKind::of(b"-Djava.security.property=/x\n"), JavaFileKind::Options);
    assert_eq!(JavaFileKind::of(b"security.provider.1=SUN\n"), JavaFileKind::Security { replaces: false });
    assert_eq!(JavaFileKind::of(b"securerandom.source=file:/dev/random\n"), JavaFileKind::Security { replaces: true });
    assert_eq!(JavaFileKind::of(BASE.as_bytes()), JavaFileKind::Pkcs11);
}

#[test]
fn properties_are_expanded_as_java_does() {
    assert_eq!(expanded("/a${/}b").as_deref(), Ok("/a/b"));
    assert_eq!(expanded("x${{y}}z${").as_deref(), Ok("x${{y}}z${"));
    assert_eq!(expanded("x${{y").as_deref(), Ok("x${{y"));
    assert_eq!(expanded("x${y"), Ok("x${y".to_owned()));
    assert_eq!(expanded("${user.dir}/x${no}"), Err("no".to_owned()));
}

/// The parts that random files are made of.
const PARTS: [&str; 44] = [
    "name",
    "library",
    "description",
    "slot",
    "slotListIndex",
    "enabledMechanisms",
    "disabledMechanisms",
    "attributes",
    "showInfo",
    "insertionCheckInterval",
    "nssArgs",
    "tokenlabel",
    "=",
    "=",
    "{",
    "}",
    "(",
    ")",
    ",",
    "CKM_RSA_PKCS",
    "CKM_FOO",
    "0x80000000",
    "0x1041",
    "-1",
    "*",
    "CKO_PRIVATE_KEY",
    "CKK_EC",
    "CKA_SIGN",
    "true",
    "\"a b\"",
    "\"open",
    "\\",
    "/x",
    "${user.home}",
    "${",
    "#c",
    "\n",
    "\n",
    "\r\n",
    "\r",
    " ",
    "security.provider.1=",
    "-Djava.security.properties=",
    "\u{e4}",
];

proptest! {
    #[test]
    fn nothing_that_a_file_holds_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        super::fuzz(&bytes);
    }

    #[test]
    fn nothing_like_a_configuration_makes_it_panic(parts in proptest::collection::vec((0..PARTS.len(), any::<bool>()), 0..60)) {
        let text: String = parts.iter().map(|(i, blank)| format!("{}{}", PARTS[*i], if *blank { " " } else { "" })).collect();
        super::fuzz(text.as_bytes());
    }
}
