//! SunPKCS11 on NSS (`nss...` keywords): whether the JDK can load it. It decides that by the files when the provider is made, after it has
//! taken the configuration; what is said here was tried with OpenJDK 17 and 25.

use super::cfg::{Config, Entry, expanded};
use super::finding::Findings;
use super::lint::Judge;
use adjunct_tool::files;
use std::path::{Path, PathBuf};

/// The modules of NSS by Java's names, but for `external-N`.
const MODULES: [&str; 4] = ["keystore", "crypto", "fips", "trustanchors"];

/// Checks for what prevents NSS from being loaded.
pub(super) fn lint(config: &Config, judge: Judge, findings: &mut Findings<'_>) {
    let line = |keyword: &str| config.values.get(keyword).map_or(1, |entry| entry.line);
    let module = config.value("nssModule");
    let databases = config.value("nssDbMode") != Some("noDb");
    let folder = config.values.get("nssSecmodDirectory");
    match (databases, folder) {
        (true, None) => refused(
            findings,
            line("nssDbMode"),
            "without 'nssDbMode = noDb' NSS wants a database, and no nssSecmodDirectory names one",
            "Secmod not initialized and nssSecmodDirectory not specified",
            "add 'nssSecmodDirectory = sql:/FOLDER', or 'nssDbMode = noDb'",
        ),
        (false, Some(folder)) => refused(
            findings,
            folder.line,
            "nssDbMode = noDb goes with no nssSecmodDirectory",
            "nssSecmodDirectory must not be specified in noDb mode",
            "remove one of them",
        ),
        (true, Some(folder)) => database(config, folder, judge, findings),
        (false, None) => {}
    }
    if let Some(entry) = config.values.get("nssLibraryDirectory") {
        library(entry, judge, findings);
    }
    match module {
        Some(name @ ("fips" | "trustanchors")) if !databases => not_available(findings, line("nssModule"), name),
        Some(name) if !MODULES.contains(&name) && !is_external(name) => refused(
            findings,
            line("nssModule"),
            &format!("NSS has no module '{name}'"),
            &format!("Unknown NSS module: {name}"),
            "write keystore, crypto, fips, trustanchors or external-N (N from 1)",
        ),
        _ => {}
    }
}

fn is_external(name: &str) -> bool {
    name.strip_prefix("external-").is_some_and(|number| number.parse::<u32>().is_ok_and(|number| number > 0))
}

/// Notes an error that holds on any machine, with the words of Java's exception.
fn refused(findings: &mut Findings<'_>, line: u32, text: &str, java: &str, fix: &str) {
    findings.error(line, format!("{text}: the provider cannot be loaded ('ProviderException: {java}')"), fix);
}

fn not_available(findings: &mut Findings<'_>, line: u32, name: &str) {
    let text = format!("without a database NSS has no module '{name}'");
    let fix = "name a database by nssSecmodDirectory, and remove 'nssDbMode = noDb'";
    refused(findings, line, &text, &format!("NSS module not available: {name}"), fix);
}

fn library(entry: &Entry<String>, judge: Judge, findings: &mut Findings<'_>) {
    let folder = Path::new(&entry.value);
    let missing = if !folder.is_dir() {
        format!("there is no folder {} here", entry.value)
    } else if !folder.join("libnss3.so").is_file() {
        format!("there is no libnss3.so in {}", entry.value)
    } else {
        return;
    };
    let fix = "name the folder of libnss3.so, or remove the line: then the system's is taken";
    judge.missing(entry.line, format!("{missing}: the provider cannot be loaded"), fix, findings);
}

/// The files of a database.
fn database(config: &Config, entry: &Entry<String>, judge: Judge, findings: &mut Findings<'_>) {
    let Ok(path) = expanded(&entry.value) else { return };
    let (path, sql) = path.strip_prefix("sql:").map_or((path.as_str(), false), |path| (path, true));
    let folder = PathBuf::from(path);
    let mut cannot = |text: String, fix: &str| {
        judge.missing(entry.line, format!("{text}: the provider cannot be loaded"), fix, findings);
    };
    if !folder.is_dir() {
        return cannot(
            format!("there is no folder {path} here"),
            "name the folder of NSS's database, or make one: certutil -N -d sql:FOLDER",
        );
    }
    if !sql && !folder.join("secmod.db").is_file() {
        let fix = "write 'sql:' before the folder: databases of today have cert9.db and pkcs11.txt";
        return cannot(format!("there is no secmod.db in {path}, which Java looks for without 'sql:'"), fix);
    }
    if sql && config.value("nssDbMode") == Some("readOnly") && !folder.join("cert9.db").is_file() {
        return cannot(format!("there is no database in {path}"), &format!("make one: certutil -N -d sql:{path}"));
    }
    let fips = |file: &Path| files::config(file).is_ok_and(|text| text.windows(4).any(|word| word == b"FIPS"));
    if sql && config.value("nssModule") == Some("fips") && !fips(&folder.join("pkcs11.txt")) && !machine_has_fips() {
        let line = config.values.get("nssModule").map_or(entry.line, |module| module.line);
        let text =
            format!("NSS is not in FIPS mode in {path}, and has no module 'fips': the provider cannot be loaded");
        judge.missing(
            line,
            text,
            "a machine in FIPS mode has it; for one database: modutil -fips true -dbdir sql:FOLDER",
            findings,
        );
    }
}

/// Whether the kernel says that the machine is in FIPS mode, which NSS follows.
fn machine_has_fips() -> bool {
    files::of_process(Path::new("/proc/sys/crypto/fips_enabled")).is_ok_and(|text| text.trim_ascii() == b"1")
}
