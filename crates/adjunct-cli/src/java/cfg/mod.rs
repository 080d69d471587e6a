//! A SunPKCS11 configuration, read as the JDK's own reader does: the same files are refused, with the same words.
//!
//! The JDK stops at the first mistake. Here reading goes on after it, so that all of them are found at once; the verdict is by the
//! first.

mod parser;

use super::dialect::Dialect;
use std::collections::BTreeMap;

/// A value and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<T> {
    /// The line, from 1.
    pub line: u32,
    /// The value.
    pub value: T,
}

/// A mechanism in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// The mechanism as the configuration writes it.
    pub word: String,
    /// The number it stands for, where it is known.
    pub number: Option<u32>,
}

/// An `attributes` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Operation, class and key type.
    pub of: [String; 3],
    /// Names and values.
    pub values: Vec<(String, String)>,
}

/// A mistake that the JDK refuses the file for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Its line.
    pub line: u32,
    /// The JDK's own words for this line.
    pub java: String,
    /// What is wrong.
    pub text: String,
    /// What to do.
    pub fix: String,
}

/// The contents of a file, and why it would be refused.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// Why the JDK refuses the file, in its order; empty where it accepts the file.
    pub refusals: Vec<Refusal>,
    /// Mistakes that the JDK does not refuse: line, what is wrong, what to do.
    pub slips: Vec<(u32, String, String)>,
    /// Entries of one value, by keyword.
    pub values: BTreeMap<String, Entry<String>>,
    /// The mechanisms of `enabledMechanisms`.
    pub enabled: Option<Entry<Vec<Entry<Listed>>>>,
    /// The mechanisms of `disabledMechanisms`.
    pub disabled: Option<Entry<Vec<Entry<Listed>>>>,
    /// The `attributes` entries.
    pub attributes: Vec<Entry<Attributes>>,
    /// Whether the module is NSS's, by its own keywords.
    pub nss: bool,
}

impl Config {
    /// The value of a keyword.
    pub fn value(&self, keyword: &str) -> Option<&str> {
        self.values.get(keyword).map(|e| e.value.as_str())
    }

    /// Whether a number is among those that SunPKCS11 may use.
    pub fn uses(&self, number: u32) -> bool {
        let has =
            |list: &Entry<Vec<Entry<Listed>>>| list.value.iter().any(|listed| listed.value.number == Some(number));
        match (&self.enabled, &self.disabled) {
            (Some(enabled), _) => has(enabled),
            (None, Some(disabled)) => !has(disabled),
            (None, None) => true,
        }
    }
}

/// The kind of value that follows a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Text,
    Path,
    Description,
    Slot,
    Mechanisms,
    Attributes,
    Startup,
    /// A number of at least this many milliseconds.
    Number(i32),
    Switch,
    Variant,
    NssMode,
    NssArgs,
}

/// Every keyword of OpenJDK.
const KEYWORDS: [(&str, ValueKind); 30] = [
    ("name", ValueKind::Text),
    ("library", ValueKind::Path),
    ("description", ValueKind::Description),
    ("slot", ValueKind::Slot),
    ("slotListIndex", ValueKind::Slot),
    ("enabledMechanisms", ValueKind::Mechanisms),
    ("disabledMechanisms", ValueKind::Mechanisms),
    ("attributes", ValueKind::Attributes),
    ("handleStartupErrors", ValueKind::Startup),
    ("insertionCheckInterval", ValueKind::Number(100)),
    ("cleaner.shortInterval", ValueKind::Number(1000)),
    ("cleaner.longInterval", ValueKind::Number(1000)),
    ("destroyTokenAfterLogout", ValueKind::Switch),
    ("showInfo", ValueKind::Switch),
    ("allowLegacy", ValueKind::Switch),
    ("keyStoreCompatibilityMode", ValueKind::Switch),
    ("explicitCancel", ValueKind::Switch),
    ("omitInitialize", ValueKind::Switch),
    ("allowSingleThreadedModules", ValueKind::Switch),
    ("functionList", ValueKind::Text),
    (VARIANT, ValueKind::Variant),
    ("nssUseSecmod", ValueKind::Switch),
    ("nssLibraryDirectory", ValueKind::Path),
    ("nssSecmodDirectory", ValueKind::Text),
    ("nssModule", ValueKind::Text),
    ("nssDbMode", ValueKind::NssMode),
    ("nssNetscapeDbWorkaround", ValueKind::Switch),
    ("nssArgs", ValueKind::NssArgs),
    ("nssUseSecmodTrust", ValueKind::Switch),
    ("useEcX963Encoding", ValueKind::Switch),
];
const LATE: &str = "nssOptimizeSpace";
const VARIANT: &str = "cipherTextStealingVariant";
/// Semeru's and IBM's own keyword.
pub(super) const TOKEN_LABEL: &str = "tokenLabel";

fn keywords() -> impl Iterator<Item = (&'static str, ValueKind)> {
    KEYWORDS.into_iter().chain([(LATE, ValueKind::Switch)])
}

/// The value of `${NAME}` in a path, as far as a JVM's property is known without the JVM. `None`: no JVM has the property unless `-D` sets it.
fn property(name: &str) -> Option<String> {
    match name {
        "/" | "file.separator" => Some("/".to_owned()),
        "user.home" => Some(std::env::var("HOME").unwrap_or_else(|_| "/user.home".to_owned())),
        "java.home" | "user.dir" | "java.io.tmpdir" | "sun.boot.library.path" | "java.library.path" => {
            Some(format!("/{name}"))
        }
        "user.name"
        | "os.arch"
        | "os.name"
        | "os.version"
        | "java.version"
        | "java.vendor"
        | "path.separator"
        | "line.separator"
        | "sun.arch.data.model"
        | "java.vm.name"
        | "java.vm.version"
        | "java.class.path"
        | "java.class.version"
        | "file.encoding"
        | "java.specification.version"
        | "user.language" => Some(name.to_owned()),
        _ => None,
    }
}

/// `text` with its `${NAME}` replaced.
///
/// # Errors
/// The property that no JVM has by itself.
pub(super) fn expanded(text: &str) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some(start) = rest.find("${") {
        done.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        if inside.starts_with('{') {
            // Java leaves `${{...}}` as it is.
            let Some(end) = inside.find("}}") else {
                done.push_str(&rest[start..]);
                return Ok(done);
            };
            done.push_str(&rest[start..start + 2 + end + 2]);
            rest = &inside[end + 2..];
            continue;
        }
        let Some(end) = inside.find('}') else {
            done.push_str(&rest[start..]);
            return Ok(done);
        };
        done.push_str(&property(&inside[..end]).ok_or_else(|| inside[..end].to_owned())?);
        rest = &inside[end + 1..];
    }
    done.push_str(rest);
    Ok(done)
}

/// Reads a file's bytes as a Java of this dialect does.
pub(super) fn parse(bytes: &[u8], dialect: Dialect) -> Config {
    parser::read(bytes, dialect)
}
