//! Chooses the mechanisms that are faster in the module, and composes the files that enable them.

use super::dialect::{Dialect, Family};
use super::properties::escaped;
use super::security::PROVIDER;
use adjunct_pkcs11::ACCELERATOR;
use adjunct_survey::module::is_own_pkcs11;
use adjunct_tool::Failure;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The purpose of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum For {
    /// A server that answers TLS: its signatures
    TlsServer,
    /// A program that calls TLS servers: it verifies theirs
    TlsClient,
    /// Documents, tokens, archives: signatures alone
    Signing,
    /// Every call alike
    All,
}

impl For {
    /// Name of the purpose on the command line.
    pub fn text(self) -> &'static str {
        match self {
            For::TlsServer => "tls-server",
            For::TlsClient => "tls-client",
            For::Signing => "signing",
            For::All => "all",
        }
    }
}

/// Mechanisms that go together, and the calls that they are judged by.
#[derive(Debug)]
struct Group {
    title: &'static str,
    mechanisms: &'static [&'static str],
    /// The rows of our Java program, with whom each is decisive for.
    rows: &'static [(&'static str, &'static [For])],
    /// The decision where nothing can be measured.
    rule: Result<&'static str, &'static str>,
}

const EVERY: &[For] = &[For::TlsServer, For::TlsClient, For::All];
const SIGNS: &[For] = &[For::TlsServer, For::Signing, For::All];
const VERIFIES: &[For] = &[For::TlsClient, For::All];

const GROUPS: [Group; 7] = [
    Group {
        title: "RSA signatures",
        mechanisms: &["CKM_RSA_PKCS", "CKM_RSA_PKCS_PSS"],
        rows: &[
            ("rsa-sign", SIGNS),
            ("rsa-pss-sign", SIGNS),
            ("rsa-verify", VERIFIES),
            ("rsa-pss-verify", VERIFIES),
            ("rsa-decrypt", &[]),
        ],
        rule: Ok("a signature in the module takes a fraction of the JDK's own"),
    },
    Group {
        title: "EC signatures",
        mechanisms: &["CKM_ECDSA"],
        rows: &[("ec-sign", SIGNS), ("ec-verify", VERIFIES)],
        rule: Ok("a signature in the module takes a fraction of the JDK's own"),
    },
    Group {
        title: "EC key agreement",
        mechanisms: &["CKM_EC_KEY_PAIR_GEN", "CKM_ECDH1_DERIVE"],
        rows: &[("ecdh", EVERY)],
        rule: Err(
            "TLS takes x25519 first, which stays in the JDK, and many modules refuse what Java asks of the derived key",
        ),
    },
    Group {
        title: "digests",
        mechanisms: &["CKM_SHA256", "CKM_SHA384", "CKM_SHA512"],
        rows: &[("sha256-64", EVERY), ("sha256-16k", &[For::All])],
        rule: Err(
            "native calls cost more than a digest in the JDK, and TLS fails where a module cannot save a digest's state",
        ),
    },
    Group {
        title: "HMAC",
        mechanisms: &["CKM_SHA256_HMAC", "CKM_SHA384_HMAC", "CKM_SHA512_HMAC"],
        rows: &[("hmac", EVERY)],
        rule: Err(
            "each HMAC with a new key makes and destroys an object of the token: some 30 times the JDK's own cost",
        ),
    },
    Group {
        title: "AES-GCM",
        mechanisms: &["CKM_AES_GCM"],
        rows: &[("gcm-64", EVERY), ("gcm-16k", EVERY)],
        rule: Err("native calls and copies for each record cost more than the JDK's own AES instructions"),
    },
    Group {
        title: "random numbers",
        mechanisms: &["SecureRandom"],
        rows: &[("random", EVERY)],
        rule: Err("a native call for each"),
    },
];

/// Every row, in the order they are measured in.
pub(super) fn rows() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|g| g.rows).map(|(row, _)| *row)
}

/// The measurements of a row.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Measured {
    /// The row.
    pub row: String,
    /// The provider of the JDK that the module was measured against.
    pub jdk_provider: String,
    /// Microseconds of one call there.
    pub jdk_us: Option<f64>,
    /// Microseconds of one call in the module.
    pub module_us: Option<f64>,
    /// How many times faster the module is.
    pub ratio: Option<f64>,
    /// Why there is no figure; `None` where there is one.
    pub error: Option<String>,
}

/// The decision on a group of mechanisms.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Choice {
    /// Title of the group.
    pub title: &'static str,
    /// Its mechanisms.
    pub mechanisms: Vec<&'static str>,
    /// Whether the group's mechanisms are enabled.
    pub enabled: bool,
    /// Why.
    pub why: String,
}

/// The factor by which a call has to be faster in the module, at least.
pub(super) const WINS: f64 = 1.1;

/// Decides each group by what was measured, or by the rules where nothing was. `has`: the module's mechanisms, where they are known.
pub(super) fn choose(purpose: For, measured: Option<&[Measured]>, has: impl Fn(&str) -> bool) -> Vec<Choice> {
    let rows: Option<BTreeMap<&str, &Measured>> = measured.map(|all| all.iter().map(|m| (m.row.as_str(), m)).collect());
    GROUPS
        .iter()
        .map(|group| {
            let known: Vec<&'static str> =
                group.mechanisms.iter().copied().filter(|m| !m.starts_with("CKM_") || has(m)).collect();
            let decisive: Vec<&str> =
                group.rows.iter().filter(|(_, whom)| whom.contains(&purpose)).map(|(row, _)| *row).collect();
            let verdict = match &rows {
                _ if decisive.is_empty() => Err(format!("not needed for {}", purpose.text())),
                _ if known.is_empty() => Err("the module has none of these mechanisms".to_owned()),
                None => group.rule.map(str::to_owned).map_err(str::to_owned),
                Some(rows) => by_measure(&decisive, rows),
            };
            let (enabled, why) = match verdict {
                Ok(why) => (true, why),
                Err(why) => (false, why),
            };
            let mechanisms = if enabled { known } else { group.mechanisms.to_vec() };
            Choice { title: group.title, mechanisms, enabled, why }
        })
        .collect()
}

/// Decides a group by its decisive calls, whose times are added up. A mechanism serves short data and long: where either is slower in the module, it
/// stays out.
fn by_measure(decisive: &[&str], rows: &BTreeMap<&str, &Measured>) -> Result<String, String> {
    let (mut jdk, mut module, mut worst) = (0.0, 0.0, None);
    for row in decisive {
        match rows.get(row) {
            Some(Measured { error: Some(why), .. }) => return Err(format!("{row}: {why}")),
            Some(Measured { jdk_us: Some(j), module_us: Some(m), .. }) => {
                jdk += j;
                module += m;
                if j < m && worst.is_none_or(|(_, a, b)| m / j > b / a) {
                    worst = Some((row, *j, *m));
                }
            }
            _ => return Err(format!("{row} was not measured")),
        }
    }
    let ratio = jdk / module;
    let calls = decisive.join(" + ");
    if let Some((row, jdk, module)) = worst.filter(|_| ratio >= 1.0) {
        Err(format!(
            "{row}: {}; {calls} together {ratio:.1} times faster, but no call may be slower",
            compared(jdk, module)
        ))
    } else if ratio >= WINS {
        Ok(format!("{calls}: {}", compared(jdk, module)))
    } else if ratio >= 1.0 {
        Err(format!("{calls}: {}; worth it from {WINS} times on", compared(jdk, module)))
    } else {
        Err(format!("{calls}: {}", compared(jdk, module)))
    }
}

/// What a call takes in the module and in the JDK, and how these compare, for people. What is one to one when rounded is neither faster nor slower.
fn compared(jdk: f64, module: f64) -> String {
    let ratio = jdk / module;
    let (times, word) = if ratio >= 1.0 { (ratio, "faster") } else { (1.0 / ratio, "slower") };
    let said = match format!("{times:.1}").as_str() {
        "1.0" => "about as fast as the JDK's own (1.0 times)".to_owned(),
        times => format!("{times} times {word}"),
    };
    format!("{} us in the module, {} us in the JDK, {said}", digits(module), digits(jdk))
}

/// Three digits.
pub(super) fn digits(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// The line of a SunPKCS11 configuration that chooses a token: by its index among the slots if one was given; else adjunct's accelerator by its
/// number, since the order of slots depends on what tokens hold; of another module the first.
pub fn slot(module: &Path, index: Option<u32>) -> String {
    match index {
        None if is_own_pkcs11(module) => format!("slot = {ACCELERATOR}"),
        index => format!("slotListIndex = {}", index.unwrap_or(0)),
    }
}

/// A path as it stands in a SunPKCS11 configuration.
///
/// # Errors
/// [`Failure`]: Java would read another path.
pub fn quoted(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|t| t.bytes().all(|c| (b' '..=b'~').contains(&c)) && !t.contains("${"));
    let text = text.ok_or_else(|| {
        Failure::new(format!(
            "{}: a path with such characters cannot be written into a SunPKCS11 configuration",
            path.display()
        ))
    })?;
    let plain = text.bytes().all(|c| c.is_ascii_alphanumeric() || b":._/+~-*".contains(&c));
    Ok(if plain { text.to_owned() } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) })
}

/// The `attributes` entries for a token that wants a login: keys that Java brings work without one.
pub const WITHOUT_LOGIN: &str = "\
# The token wants a login; with these, keys that Java brings need none, and what a key agreement derives can be read by TLS.
attributes (*, *, *) = { CKA_PRIVATE = false }
attributes (*, CKO_PRIVATE_KEY, CKK_EC) = { CKA_SIGN = true CKA_DERIVE = true }
attributes (*, CKO_SECRET_KEY, *) = { CKA_SENSITIVE = false CKA_EXTRACTABLE = true }
";

/// The data that the files are composed of.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// The Java that reads the files.
    pub dialect: Dialect,
    /// The Java that the plan is for, in words.
    pub java: String,
    /// The module.
    pub module: &'a Path,
    /// The line that chooses the token ([`slot`]).
    pub slot: String,
    /// Whether the token wants a login.
    pub login: bool,
    /// Keys in the token are used, too.
    pub token_keys: bool,
    /// The purpose of the files.
    pub purpose: For,
    /// The decisions on all groups.
    pub choices: &'a [Choice],
    /// Whether that was measured.
    pub measured: bool,
}

impl Plan<'_> {
    /// The SunPKCS11 configuration.
    ///
    /// # Errors
    /// As [`quoted`].
    pub fn config(&self) -> Result<String, Failure> {
        let how = if self.measured { "what was measured on this machine" } else { "rules, nothing measured" };
        let mut text = format!(
            "# By 'adjunct java config --for {}', for {}.\n# The mechanisms are chosen by {how}.\n",
            self.purpose.text(),
            self.java
        );
        let library =
            if self.dialect.family == Family::Ibm { self.module.display().to_string() } else { quoted(self.module)? };
        let _ = write!(text, "name = adjunct\nlibrary = {library}\n{}\nenabledMechanisms = {{\n", self.slot);
        let mut enabled: Vec<&str> = Vec::new();
        for choice in self.choices.iter().filter(|c| c.enabled) {
            let _ = writeln!(text, "    # {}: {}", choice.title, choice.why);
            for mechanism in &choice.mechanisms {
                let _ = writeln!(text, "    {mechanism}");
                enabled.push(mechanism);
            }
        }
        if self.token_keys {
            let wanted = [
                "CKM_RSA_PKCS_KEY_PAIR_GEN",
                "CKM_RSA_PKCS",
                "CKM_RSA_PKCS_PSS",
                "CKM_EC_KEY_PAIR_GEN",
                "CKM_ECDSA",
                "KeyStore",
            ];
            text.push_str("    # keys in the token\n");
            for mechanism in wanted.iter().filter(|m| !enabled.contains(m)) {
                let _ = writeln!(text, "    {mechanism}");
            }
        }
        text.push_str("}\n");
        for choice in self.choices.iter().filter(|c| !c.enabled) {
            let _ = writeln!(text, "# not {} ({}): {}", choice.title, choice.mechanisms.join(" "), choice.why);
        }
        if self.login {
            text.push_str(WITHOUT_LOGIN);
        }
        Ok(text)
    }

    /// The security properties: the provider before all of the JDK's own, renumbered.
    pub fn security(&self, config: &Path, own: &[String]) -> String {
        format!(
            "# By 'adjunct java config', for {}: its own providers behind SunPKCS11, without gaps.\n\
             # It is read with: java -Djava.security.properties=THIS-FILE ...\n{}",
            self.java,
            providers(self.dialect, config, own)
        )
    }
}

/// The list of providers with that of the configuration first, numbered without gaps.
pub fn providers(dialect: Dialect, config: &Path, own: &[String]) -> String {
    let first = format!("{} {}", dialect.provider(), config.display());
    let list = std::iter::once(&first).chain(own.iter().filter(|value| **value != first));
    list.zip(1..).map(|(value, n)| format!("{PROVIDER}{n}={}\n", escaped(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(row: &str, jdk: f64, module: f64) -> Measured {
        let (jdk_us, module_us) = (Some(jdk), Some(module));
        Measured {
            row: row.to_owned(),
            jdk_provider: "X".to_owned(),
            jdk_us,
            module_us,
            ratio: Some(jdk / module),
            error: None,
        }
    }

    fn enabled(choices: &[Choice]) -> Vec<&str> {
        choices.iter().filter(|c| c.enabled).flat_map(|c| c.mechanisms.clone()).collect()
    }

    #[test]
    fn what_wins_is_enabled_and_nothing_else() {
        let rows = [
            row("rsa-sign", 1000.0, 300.0),
            row("rsa-pss-sign", 1000.0, 300.0),
            row("rsa-verify", 10.0, 300.0),
            row("rsa-pss-verify", 10.0, 300.0),
            row("ec-sign", 109.0, 100.0),
            row("ec-verify", 111.0, 100.0),
            row("hmac", 3.7, 104.0),
            Measured { error: Some("CKR_X".to_owned()), ..row("sha256-64", 1.0, 0.1) },
        ];
        let choices = choose(For::TlsServer, Some(&rows), |_| true);
        assert_eq!(enabled(&choices), ["CKM_RSA_PKCS", "CKM_RSA_PKCS_PSS"]);
        assert!(choices[3].why.contains("CKR_X") && choices[1].why.contains("worth it from 1.1"), "{choices:?}");
        assert_eq!(enabled(&choose(For::TlsClient, Some(&rows), |_| true)), ["CKM_ECDSA"]);
        assert_eq!(enabled(&choose(For::TlsServer, Some(&rows), |m| m != "CKM_RSA_PKCS_PSS")), ["CKM_RSA_PKCS"]);
        let mixed = [row("gcm-64", 10.0, 12.0), row("gcm-16k", 100.0, 20.0)];
        let why = &choose(For::TlsServer, Some(&mixed), |_| true)[5].why;
        assert_eq!(
            why,
            "gcm-64: 12.0 us in the module, 10.0 us in the JDK, 1.2 times slower; gcm-64 + gcm-16k together 3.4 times faster, but \
             no call may be slower"
        );
        let near = |jdk, module| choose(For::TlsServer, Some(&[row("ecdh", jdk, module)]), |_| true)[2].why.clone();
        for (jdk, module) in [(100.0, 102.0), (102.0, 100.0)] {
            let why = near(jdk, module);
            assert!(why.contains("about as fast as the JDK's own (1.0 times)"), "{why}");
        }
        assert!(near(100.0, 120.0).ends_with("1.2 times slower") && near(120.0, 100.0).ends_with("1.2 times faster"));
        let rules = choose(For::All, None, |_| true);
        assert_eq!(enabled(&rules), ["CKM_RSA_PKCS", "CKM_RSA_PKCS_PSS", "CKM_ECDSA"]);
        assert!(rules.iter().all(|c| !c.why.is_empty()));
    }

    #[test]
    fn paths_that_java_would_read_otherwise_are_refused() {
        assert_eq!(quoted(Path::new("/a/b-1.so")).unwrap(), "/a/b-1.so");
        assert_eq!(quoted(Path::new("/a b/(c)\"\\.so")).unwrap(), "\"/a b/(c)\\\"\\\\.so\"");
        for wrong in ["/\u{e4}.so", "/a\n.so", "/${user.home}/x"] {
            assert!(quoted(Path::new(wrong)).is_err(), "{wrong}");
        }
    }
}
