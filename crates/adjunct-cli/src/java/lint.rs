//! What a SunPKCS11 configuration that the JDK takes will do: what is slow, what breaks TLS, what another provider serves without a message.

use super::cfg::{Config, Entry, Listed};
use super::dialect::{Dialect, Family};
use super::finding::Findings;
use super::{names, nss};
use adjunct_pkcs11::{ACCELERATOR, GIVING_WAY};
use adjunct_survey::module::is_own_pkcs11;
use std::path::Path;

/// How to see why a provider is absent.
pub(super) const DEBUG: &str = "-Djava.security.debug=jca shows why";

/// Numbers of PKCS #11.
mod number {
    pub const RSA_PKCS: u32 = 0x1;
    pub const RSA_PKCS_PSS: u32 = 0xd;
    pub const ECDSA: u32 = 0x1041;
    pub const ECDH1_DERIVE: u32 = 0x1050;
    pub const EC_KEY_PAIR_GEN: u32 = 0x1040;
}

/// How the file is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge {
    /// The Java whose rules hold.
    pub dialect: Dialect,
    /// Whether files that are not there count: the Java meant is this machine's.
    pub here: bool,
}

impl Judge {
    /// Tells of a file that is not there: an error where files count, else a warning.
    pub(super) fn missing(self, line: u32, text: String, fix: &str, findings: &mut Findings<'_>) {
        if self.here { findings.error(line, text, fix) } else { findings.warning(line, text, fix) }
    }
}

/// Judges a configuration: notes all that is to be told about it.
pub(super) fn lint(config: &Config, judge: Judge, findings: &mut Findings<'_>) {
    refusals(config, judge.dialect, findings);
    for (line, text, fix) in &config.slips {
        findings.warning(*line, text, fix);
    }
    if config.nss {
        // What pays in a list of mechanisms was measured with modules that stand beside the JDK's own providers. NSS takes their place where
        // a machine is to compute by certified code alone, and a list would take algorithms away from it.
        switches(config, judge.dialect, findings);
        if config.refusals.is_empty() {
            nss::lint(config, judge, findings);
        }
        return;
    }
    library(config, judge, findings);
    lists(config, judge.dialect, findings);
    tls(config, findings);
    attributes(config, findings);
    token(config, findings);
    switches(config, judge.dialect, findings);
}

fn refusals(config: &Config, dialect: Dialect, findings: &mut Findings<'_>) {
    for (i, refusal) in config.refusals.iter().enumerate() {
        let first =
            if i == 0 { format!(": {dialect} refuses the file, and the provider is absent") } else { String::new() };
        findings.error(refusal.line, format!("{}{first}", refusal.text), &refusal.fix);
        if let Some(finding) = findings.all.last_mut() {
            // Later ones the JDK never comes to: it has stopped at the first.
            finding.java = (i == 0).then(|| refusal.java.clone());
        }
    }
}

fn library(config: &Config, judge: Judge, findings: &mut Findings<'_>) {
    let Some(Entry { line, value }) = config.values.get("library") else { return };
    if Path::new(value).is_file() || value.contains("${") {
        return;
    }
    let startup = config.value("handleStartupErrors").unwrap_or("halt");
    let text = match (judge.dialect.family, startup) {
        (Family::Ibm, _) => format!("there is no {value} here: the provider would be absent"),
        (_, "halt") => format!(
            "there is no {value} here: the first use of any algorithm ends with 'ProviderException: Library {value} does not exist'"
        ),
        _ => format!(
            "there is no {value} here, and handleStartupErrors = {startup}: the provider is absent without a word"
        ),
    };
    let fix = "name the module that is there, or install it";
    judge.missing(*line, text, fix, findings);
}

/// The use of a mechanism that is slow in a module; `None` where it is not slow.
fn slow(number: u32, java: u32) -> Option<&'static str> {
    let mechanism = names::numbered(number)?;
    let starts = |what: &str| mechanism.services(java).any(|s| s.starts_with(what));
    if mechanism.name == "SecureRandom" {
        Some("random numbers take a native call each, many times what the JDK's own take")
    } else if starts("MessageDigest.") {
        Some(
            "a digest takes native calls for what the JDK does in a microsecond, and TLS fails where the module cannot save a digest's state",
        )
    } else if starts("Mac.") {
        Some(
            "TLS makes some 30 HMACs with a new key a handshake, each an object of the token made and destroyed later: \
             in a test of IBM's (\"Clear Key Encryption with IBM WebSphere Liberty on Linux on Z\", 2023) Java ran out of memory",
        )
    } else if starts("KeyGenerator.SunTls") {
        Some("TLS's key derivation in single native calls is slower than the JDK's own")
    } else if starts("Cipher.AES") || starts("Cipher.ChaCha") || starts("Cipher.DES") || starts("Cipher.ARCFOUR") {
        Some(
            "a cipher's key becomes an object of the token, and each record native calls: slower than the JDK's own unless measured otherwise",
        )
    } else {
        None
    }
}

fn lists(config: &Config, dialect: Dialect, findings: &mut Findings<'_>) {
    const MEASURE: &str = "list in enabledMechanisms what wins: 'adjunct java config' measures it";
    match (&config.enabled, &config.disabled) {
        (Some(enabled), disabled) => {
            if let Some(disabled) = disabled {
                let text = "disabledMechanisms has no effect beside enabledMechanisms";
                findings.note(disabled.line, text, "remove the list");
            }
            enabled_list(enabled, dialect, findings);
        }
        (None, Some(disabled)) => {
            for entry in &disabled.value {
                entry_of(entry, dialect, findings);
            }
            let text = "every mechanism that is not in the list is used, also those that a newer module brings";
            findings.note(disabled.line, text, MEASURE);
        }
        // A list was meant, and is not understood.
        (None, None) if config.refusals.iter().any(|r| r.text.contains("echanism") || r.text.contains("list")) => {}
        (None, None) => {
            let line = config.values.get("library").map_or(1, |e| e.line);
            let text = "no list of mechanisms: all are enabled, and digests, HMACs and ciphers cost many times what the JDK's own take \
                        (in a test of IBM's, \"Clear Key Encryption with IBM WebSphere Liberty on Linux on Z\", 2023, throughput fell to 0.018 of \
                        what it was, and Java ran out of memory)";
            findings.warning(line, text, MEASURE);
        }
    }
}

fn enabled_list(list: &Entry<Vec<Entry<Listed>>>, dialect: Dialect, findings: &mut Findings<'_>) {
    if list.value.is_empty() {
        findings.warning(list.line, "the list is empty: the provider is there and has no service", "name mechanisms");
    }
    let has = |number: u32| list.value.iter().any(|e| e.value.number == Some(number));
    for entry in &list.value {
        entry_of(entry, dialect, findings);
        let Some(number) = entry.value.number else { continue };
        if let Some(why) = slow(number, dialect.java) {
            findings.warning(
                entry.line,
                format!("{}: {why}", entry.value.word),
                "leave it out, unless 'adjunct java config' measured that it wins",
            );
        }
        let Some(mechanism) = names::numbered(number) else { continue };
        let general = if mechanism.name.ends_with("_RSA_PKCS") && mechanism.name != "CKM_RSA_PKCS" {
            has(number::RSA_PKCS).then_some("CKM_RSA_PKCS")
        } else if mechanism.name.starts_with("CKM_ECDSA_") {
            has(number::ECDSA).then_some("CKM_ECDSA")
        } else {
            None
        };
        if let Some(general) = general {
            let text = format!(
                "{} makes a signature three or more native calls; with {general} alone Java hashes, and it is two",
                mechanism.name
            );
            findings.note(entry.line, text, format!("leave {} out", mechanism.name));
        }
    }
}

/// Checks an entry of a list.
fn entry_of(entry: &Entry<Listed>, dialect: Dialect, findings: &mut Findings<'_>) {
    let (line, word) = (entry.line, &entry.value.word);
    let Some(number) = entry.value.number else { return };
    let Some(mechanism) = names::numbered(number) else {
        findings.note(
            line,
            format!("{word} is no mechanism that SunPKCS11 makes a service of: it has no effect"),
            "remove it",
        );
        return;
    };
    let pseudo = !mechanism.name.starts_with("CKM_");
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        findings.note(line, format!("{word} is {}", mechanism.name), "write the name");
    }
    if dialect.family != Family::Ibm && !pseudo && mechanism.services(dialect.java).next().is_none() {
        let text = format!("{dialect} makes no service of {}: it has no effect", mechanism.name);
        findings.note(line, text, "remove it");
    }
}

/// Checks for settings that break TLS, or change nothing in it.
fn tls(config: &Config, findings: &mut Findings<'_>) {
    if config.enabled.is_none() && config.disabled.is_none() {
        return;
    }
    let line = config.enabled.as_ref().or(config.disabled.as_ref()).map_or(1, |list| list.line);
    let listed = |number: u32| {
        let list = config.enabled.as_ref().or(config.disabled.as_ref());
        list.and_then(|l| l.value.iter().find(|e| e.value.number == Some(number)).map(|e| e.line)).unwrap_or(line)
    };
    if config.uses(number::RSA_PKCS) && !config.uses(number::RSA_PKCS_PSS) {
        findings.warning(
            listed(number::RSA_PKCS_PSS),
            "CKM_RSA_PKCS_PSS is missing: with an RSA key in the token TLS 1.3 fails (alert 80); a key in a file signs in software there",
            "enable CKM_RSA_PKCS_PSS beside CKM_RSA_PKCS",
        );
    }
    if config.enabled.is_some() && config.uses(number::ECDH1_DERIVE) && !config.uses(number::EC_KEY_PAIR_GEN) {
        findings.note(
            listed(number::ECDH1_DERIVE),
            "CKM_ECDH1_DERIVE without CKM_EC_KEY_PAIR_GEN: each handshake's key is made in software and imported",
            "enable CKM_EC_KEY_PAIR_GEN, too, or neither",
        );
    }
    if config.enabled.is_some() && config.uses(number::ECDH1_DERIVE) {
        findings.note(
            listed(number::ECDH1_DERIVE),
            "TLS's first choice of a group is x25519, which stays in the JDK",
            "pin P-256 by -Djdk.tls.namedGroups=secp256r1 where the module is to do the key exchange",
        );
    }
}

fn attributes(config: &Config, findings: &mut Findings<'_>) {
    for entry in &config.attributes {
        for (i, (name, value)) in entry.value.values.iter().enumerate() {
            if entry.value.values[..i].iter().any(|(n, v)| n == name && v != value) {
                findings.warning(
                    entry.line,
                    format!("{name} stands twice with different values"),
                    "remove one of them",
                );
            }
        }
        let [operation, class, _] = &entry.value.of;
        let of = |name: &str, value: &str| entry.value.values.iter().any(|(n, v)| n == name && v == value);
        if class == "CKO_SECRET_KEY" && operation != "import" && of("CKA_SENSITIVE", "true") {
            let text = "CKA_SENSITIVE = true for secret keys: what a key agreement in the token derives cannot be read by TLS, and fails";
            findings.warning(entry.line, text, "set CKA_SENSITIVE = false and CKA_EXTRACTABLE = true");
        }
    }
}

/// Notes which of the module's tokens is taken, where that depends on what tokens hold.
fn token(config: &Config, findings: &mut Findings<'_>) {
    let Some(Entry { line, value }) = config.values.get("library") else { return };
    let by_index = config.values.get("slotListIndex");
    if is_own_pkcs11(Path::new(value.as_str()))
        && ["slot", "tokenLabel"].iter().all(|it| !config.values.contains_key(*it))
    {
        findings.warning(
            by_index.map_or(*line, |index| index.line),
            "which of adjunct's tokens this is depends on what they hold: tokens with keys come before the accelerator",
            format!("choose the accelerator by 'slot = {ACCELERATOR}', a token with keys by its own number ('adjunct token list')"),
        );
    }
}

fn switches(config: &Config, dialect: Dialect, findings: &mut Findings<'_>) {
    for (keyword, Entry { line, value }) in &config.values {
        match (keyword.as_str(), value.as_str()) {
            ("handleStartupErrors", "ignoreAll") => findings.warning(
                *line,
                "handleStartupErrors = ignoreAll: whatever is wrong with the module, the provider is absent without a word",
                format!("remove the line; {DEBUG}"),
            ),
            ("handleStartupErrors", "ignoreMissingLibrary") => findings.note(
                *line,
                "where the module is missing, the provider is absent without a word",
                format!("remove the line; {DEBUG}"),
            ),
            ("showInfo", "true") => {
                findings.note(*line, "each start of a JVM prints the module's slots and mechanisms to standard output", "")
            }
            ("omitInitialize", "true") => findings.warning(
                *line,
                "omitInitialize = true: SunPKCS11 does not initialise the module, and every call fails unless another library of the \
                 process did",
                "remove the line",
            ),
            ("explicitCancel", "false") if config.value("slot") != Some(&GIVING_WAY.to_string()) => findings.warning(
                *line,
                "explicitCancel = false: Java leaves operations in sessions that it uses again, and the next one there fails with \
                 CKR_OPERATION_ACTIVE, as the standard has it, unless the module lets it take the other's place",
                format!("remove the line; with adjunct's accelerator token also 'slot = {GIVING_WAY}' does"),
            ),
            ("slot", n) | ("slotListIndex", n) if n.starts_with('-') => {
                findings.note(*line, format!("{keyword} = {n} counts as not given: the first slot is taken"), "remove the line")
            }
            ("functionList", _) if dialect.java <= 17 => {
                findings.note(*line, "without the line C_GetFunctionList is taken", "")
            }
            ("tokenLabel", _) if dialect.family == Family::Semeru && !dialect.z => findings.note(
                *line,
                "IBM documents tokenlabel for z/OS and Linux on IBM Z alone",
                "choose by 'slot' or 'slotListIndex', which every Java knows",
            ),
            _ => {}
        }
    }
}
