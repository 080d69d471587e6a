//! What java.security, a file for `-Djava.security.properties`, and a JVM's options will do: which providers there are, in which order.

use super::cfg::expanded;
use super::dialect::{Dialect, Family};
use super::finding::Findings;
use super::lint::{DEBUG, Judge};
use super::properties::{self, Property};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The start of a provider's key.
pub(super) const PROVIDER: &str = "security.provider.";

/// A file that another one names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The file.
    pub path: PathBuf,
    /// The kind of the file.
    pub kind: JavaFileKind,
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JavaFileKind {
    /// A configuration of SunPKCS11.
    Pkcs11,
    /// Security properties; `replaces`: nothing of the JDK's own is left beside them.
    Security { replaces: bool },
    /// A JVM's options.
    Options,
}

impl JavaFileKind {
    /// The kind of a file with these bytes.
    pub fn of(bytes: &[u8]) -> JavaFileKind {
        let text = super::tokenizer::latin1(bytes);
        let lines = || text.lines().map(str::trim).filter(|l| !l.starts_with(['#', '!']));
        if lines().any(|l| l.contains("Djava.security.") || l.starts_with("-D") || l.starts_with("-X")) {
            return JavaFileKind::Options;
        }
        let (all, _) = properties::parse(bytes);
        let has = |what: &str| all.iter().any(|p| p.key == what);
        if has("securerandom.source") || has("security.overridePropertiesFile") {
            return JavaFileKind::Security { replaces: true };
        }
        let security = |key: &str| {
            ["security.", "jdk.", "ssl.", "keystore.", "networkaddress."].iter().any(|s| key.starts_with(s))
        };
        if all.iter().any(|p| security(&p.key)) {
            JavaFileKind::Security { replaces: false }
        } else {
            JavaFileKind::Pkcs11
        }
    }
}

/// Name of the provider that a class name stands for; any other name stays.
fn same(name: &str) -> &str {
    match name {
        "sun.security.provider.Sun" => "SUN",
        "sun.security.rsa.SunRsaSign" => "SunRsaSign",
        "com.sun.crypto.provider.SunJCE" => "SunJCE",
        name => name,
    }
}

/// Judges security properties: notes all that is to be told about them, and gives the files that they name.
pub(super) fn lint(
    bytes: &[u8],
    replaces: bool,
    own: &[String],
    judge: Judge,
    findings: &mut Findings<'_>,
) -> Vec<Named> {
    let (all, bad) = properties::parse(bytes);
    if let Some(line) = bad {
        let text =
            "a \\u without four hexadecimal digits: Java stops reading here, and the rest of the file has no effect";
        findings.error(line, text, "write \\uXXXX, or \\\\ for a backslash");
    }
    others(&all, judge.dialect, findings);
    let mut given: BTreeMap<u32, &Property> = BTreeMap::new();
    for property in all.iter().filter(|p| p.key.starts_with(PROVIDER)) {
        match position(&property.key) {
            None => findings.error(
                property.line,
                format!("{} is never read: the list is counted from 1, without leading zeros", property.key),
                "write security.provider.N",
            ),
            Some(position) => {
                if let Some(old) = given.insert(position, property) {
                    let text =
                        format!("{} stands here again: the one in line {} has no effect", property.key, old.line);
                    findings.error(property.line, text, "renumber the list from 1 without gaps");
                }
            }
        }
    }
    if given.is_empty() {
        return Vec::new();
    }
    let reached = reached(&given, replaces, own, findings);
    lost(&given, &reached, replaces, own, judge.dialect, findings);
    order(&given, &reached, judge.dialect, findings);
    given.values().filter_map(|property| entry(property, judge, findings)).collect()
}

/// N of `security.provider.N`, as Java's loop writes it.
fn position(key: &str) -> Option<u32> {
    let number = key.strip_prefix(PROVIDER)?;
    number.parse().ok().filter(|n: &u32| *n > 0 && n.to_string() == number)
}

fn own_at(own: &[String], position: u32) -> Option<&str> {
    own.get((position as usize).checked_sub(1)?).map(String::as_str)
}

/// The list as Java reads it: names, to the first that is missing or empty.
fn reached(
    given: &BTreeMap<u32, &Property>,
    replaces: bool,
    own: &[String],
    findings: &mut Findings<'_>,
) -> Vec<String> {
    let mut list = Vec::new();
    for position in 1.. {
        let old = own_at(own, position).filter(|_| !replaces);
        let value = match given.get(&position) {
            Some(property) if property.value.trim().is_empty() => {
                let text = format!("{} is empty: the list of providers ends before it", property.key);
                findings.error(property.line, text, "renumber the list from 1 without gaps");
                break;
            }
            Some(property) => property.value.trim(),
            None => match old {
                Some(old) => old,
                None => break,
            },
        };
        list.push(value.to_owned());
    }
    let end = list.len() as u32;
    for (position, property) in given.range(end + 1..) {
        if *position > end + 1 || !property.value.trim().is_empty() {
            let text = format!(
                "{} is never read: the list of providers ends at {end}, for there is no {}",
                property.key,
                end + 1
            );
            findings.error(property.line, text, "renumber the list from 1 without gaps");
        }
    }
    list
}

fn name_of(value: &str) -> &str {
    value.split(' ').next().unwrap_or(value)
}

/// Providers of the JDK's own list that a file put something else in the place of.
fn lost(
    given: &BTreeMap<u32, &Property>,
    reached: &[String],
    replaces: bool,
    own: &[String],
    dialect: Dialect,
    findings: &mut Findings<'_>,
) {
    if replaces {
        return;
    }
    for (i, old) in own.iter().enumerate() {
        let there = reached.iter().any(|value| same(name_of(value)) == same(name_of(old)));
        let position = i as u32 + 1;
        let by = given.get(&position);
        if there || old.starts_with("SunPKCS11") {
            continue;
        }
        match by {
            // What is said of the provider itself is enough.
            Some(by) if !dialect.ships(name_of(by.value.trim())) && name_of(by.value.trim()) != dialect.provider() => {}
            Some(by) => findings.error(
                by.line,
                format!("{} takes the place of {old}, which is nowhere else in the list: {dialect} is left without its algorithms", by.key),
                "list all of the JDK's providers behind it, renumbered: 'adjunct java config' writes such a file",
            ),
            None => {
                let line = given.values().next_back().map_or(1, |p| p.line);
                findings.error(line, format!("{old} of the JDK's own list is never reached"), "renumber the list from 1 without gaps");
            }
        }
    }
}

/// Whether the provider comes before those that do the same in software.
fn order(given: &BTreeMap<u32, &Property>, reached: &[String], dialect: Dialect, findings: &mut Findings<'_>) {
    let at = |what: &dyn Fn(&str) -> bool| reached.iter().position(|value| what(value));
    let configured = |value: &str| name_of(value) == dialect.provider() && value.trim().contains(' ');
    let Some(position) = at(&configured) else { return };
    let software = at(&|value| {
        matches!(
            same(name_of(value)),
            "SunRsaSign"
                | "SunEC"
                | "SunJCE"
                | "OpenJCEPlus"
                | "com.ibm.crypto.provider.IBMJCE"
                | "com.ibm.crypto.plus.provider.IBMJCEPlus"
        )
    });
    if let Some(first) = software.filter(|first| *first < position)
        && let Some(property) = given.get(&(position as u32 + 1))
    {
        let name = name_of(&reached[first]);
        let text = format!(
            "{name} stands before it, at {}: what both have, software does, but for keys in the token",
            first + 1
        );
        findings.warning(property.line, text, "put it first");
    }
    let mut seen: Vec<&String> = Vec::new();
    for (i, value) in reached.iter().enumerate() {
        if seen.contains(&value)
            && let Some(property) = given.get(&(i as u32 + 1))
        {
            findings.note(
                property.line,
                format!("'{value}' stands twice in the list, and counts once"),
                "remove one of them",
            );
        }
        seen.push(value);
    }
}

/// Judges an entry of the list of providers; gives the file that it names.
fn entry(property: &Property, judge: Judge, findings: &mut Findings<'_>) -> Option<Named> {
    let (line, dialect, value) = (property.line, judge.dialect, property.value.trim());
    let own = dialect.provider();
    let (name, argument) = value.split_once(' ').map_or((value, ""), |(name, rest)| (name, rest.trim()));
    let absent = format!("is absent, without a word ({DEBUG})");
    if name.contains('\t') {
        let text = format!(
            "a tab stands between the provider's name and its file: only a blank separates them, and the provider {absent}"
        );
        findings.error(line, text, "write one blank");
        return None;
    }
    if name != own && !dialect.ships(name) {
        let is_ours = |name: &str| name.to_ascii_lowercase().contains("pkcs11");
        let fix = if name.starts_with("SunPKCS11-") {
            "a configured provider is listed as 'SunPKCS11 /PATH/OF/FILE'".to_owned()
        } else if is_ours(name) {
            format!("write {own}")
        } else if name.starts_with("com.ibm.") || name.starts_with("sun.security.") || name.starts_with("com.sun.") {
            "list the JDK's own providers: 'adjunct java config' writes such a file".to_owned()
        } else {
            let text =
                format!("{name} is none of {dialect}'s own providers: unless its classes are in the path, it {absent}");
            findings.warning(line, text, "remove it, or see to its classes");
            return None;
        };
        findings.error(line, format!("{dialect} has no provider '{name}': it {absent}"), fix);
        return None;
    }
    if name != own {
        return None;
    }
    if argument.is_empty() {
        if dialect.family != Family::OpenJdk || dialect.java < 9 || property.key == "security.provider.1" {
            findings.warning(
                line,
                format!("{own} without a file has no service"),
                format!("write '{own} /PATH/OF/FILE'"),
            );
        }
        return None;
    }
    file(line, argument, judge, findings).map(|path| Named { path, kind: JavaFileKind::Pkcs11 })
}

/// Finds the file that a line names, where it exists.
fn file(line: u32, text: &str, judge: Judge, findings: &mut Findings<'_>) -> Option<PathBuf> {
    let path = match expanded(text) {
        Ok(path) => PathBuf::from(path),
        Err(name) => {
            let fix = format!("write the path out, or start Java with -D{name}=VALUE");
            findings.error(
                line,
                format!("no JVM has the property '{name}' by itself: the first use of any algorithm fails"),
                fix,
            );
            return None;
        }
    };
    if !path.is_absolute() {
        let text = format!("{} is looked for in the folder that Java is started in", path.display());
        findings.warning(line, text, "write the whole path");
    }
    if path.is_file() {
        return Some(path);
    }
    let text = format!("there is no {} here: the provider is absent, without a word ({DEBUG})", path.display());
    judge.missing(line, text, "name the file that is there", findings);
    None
}

/// Notes properties that have no effect where they stand.
fn others(all: &[Property], dialect: Dialect, findings: &mut Findings<'_>) {
    const OF_SYSTEM: [&str; 8] = [
        "java.security.properties",
        "java.security.property",
        "java.security.debug",
        "jdk.tls.namedGroups",
        "jdk.tls.client.protocols",
        "jdk.tls.server.protocols",
        "javax.net.debug",
        "sun.security.pkcs11.allowSingleThreadedModules",
    ];
    for property in all {
        if OF_SYSTEM.contains(&property.key.as_str()) {
            let text =
                format!("{} is a property of the JVM and has no effect in a file of security properties", property.key);
            findings.warning(property.line, text, format!("start Java with -D{}=...", property.key));
        }
        if property.key == "include" && dialect.java < 24 {
            let text = format!("{dialect} includes no files: the line has no effect");
            findings.warning(property.line, text, "write the properties into this file");
        }
        if property.key == "security.overridePropertiesFile" && !property.value.eq_ignore_ascii_case("true") {
            let text = "-Djava.security.properties=FILE has no effect with this, without a word";
            findings.note(property.line, text, "set it to true where such a file is to be read");
        }
    }
}

/// Checks a JVM's options; returns the files that they name.
pub(super) fn lint_options(bytes: &[u8], judge: Judge, findings: &mut Findings<'_>) -> Vec<Named> {
    const NAME: &str = "Djava.security.";
    let text = super::tokenizer::latin1(bytes);
    let mut named = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = u32::try_from(i).map_or(u32::MAX, |i| i.saturating_add(1));
        if line.trim_start().starts_with('#') {
            continue;
        }
        for (at, _) in line.match_indices(NAME) {
            let rest = &line[at + 1..];
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).unwrap_or(rest.len());
            let (name, value) = rest[..end].split_once('=').unwrap_or((&rest[..end], ""));
            if !line[..at].ends_with('-') {
                let text = format!("'D{name}' without a dash is no option: Java takes it for the name of a class");
                findings.error(number, text, format!("write -D{name}"));
            }
            match name {
                "java.security.properties" if value.is_empty() => {
                    findings.error(
                        number,
                        "-Djava.security.properties names no file, and has no effect",
                        "write =FILE behind it",
                    );
                }
                "java.security.properties" => {
                    let (replaces, path) = value.strip_prefix('=').map_or((false, value), |path| (true, path));
                    named.extend(properties_file(number, replaces, path, judge, findings));
                }
                _ if name.starts_with("java.security.prop") => findings.error(
                    number,
                    format!("Java knows no property {name}: the option has no effect, and the file is not read"),
                    "write -Djava.security.properties=FILE, or ==FILE for a file that replaces the JDK's own",
                ),
                _ => {}
            }
        }
    }
    named
}

fn properties_file(line: u32, replaces: bool, path: &str, judge: Judge, findings: &mut Findings<'_>) -> Option<Named> {
    if path.contains(['$', '<', '%']) {
        return None;
    }
    let path = path.strip_prefix("file:").unwrap_or(path);
    let path = Path::new(path.strip_prefix("//").filter(|p| p.starts_with('/')).unwrap_or(path));
    if path.is_file() {
        return Some(Named { path: path.to_owned(), kind: JavaFileKind::Security { replaces } });
    }
    let text = format!(
        "there is no {} here: the option has no effect, without a word (-Djava.security.debug=properties shows it)",
        path.display()
    );
    judge.missing(line, text, "name the file that is there", findings);
    None
}
