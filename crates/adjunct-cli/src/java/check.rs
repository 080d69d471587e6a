//! `adjunct java check`: what a JDK will make of configuration files, line by line; the JDK itself ignores many mistakes without a message.

use super::cfg::{self, Config};
use super::dialect::Dialect;
use super::finding::{Finding, Findings, Severity};
use super::jdk::Jdk;
use super::lint::{self, Judge};
use super::security::{self, JavaFileKind, Named};
use super::{choose, names, program};
use adjunct_survey::elf::Interface;
use adjunct_survey::module;
use adjunct_tool::escape::shown;
use adjunct_tool::failure::cause;
use adjunct_tool::output::Style;
use adjunct_tool::progress::Progress;
use adjunct_tool::{Failure, files, output};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct java check /etc/cex.cfg                          what this machine's Java does with it
  adjunct java check --dialect ibm8 cex.cfg java.security  what IBM Java 8 did with it
  adjunct java check jvm.options                           and all files that its options name
  adjunct java check --module /usr/lib/softhsm/libsofthsm2.so token.cfg     and what goes to the next provider

Read are configurations of SunPKCS11 (name = ...), java.security and files for -Djava.security.properties, and files with a JVM's \
options; those that one names are read, too. Without --jdk or --dialect the Java of JAVA_HOME or PATH is meant, and OpenJDK 25 where \
there is none.

Exit status: 0 no errors (warnings there may be), 1 errors, 2 the command line is wrong.";

/// Tell, line by line, what a JDK will make of SunPKCS11 and java.security files
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The JDK whose rules count; by default that of JAVA_HOME or PATH
    #[arg(long, value_name = "HOME", conflicts_with = "dialect")]
    jdk: Option<PathBuf>,
    /// The Java whose rules count, where it is none of this machine's: openjdk-17, openjdk-21, openjdk-25, semeru, openj9-z, ibm8
    #[arg(long, value_name = "NAME")]
    dialect: Option<Dialect>,
    /// Ask this PKCS #11 module through the JDK: what it lacks, and what goes to the next provider without a word
    #[arg(long, value_name = "PATH", conflicts_with = "dialect")]
    module: Option<PathBuf>,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

/// The findings in a file.
#[derive(Debug, Serialize)]
struct Checked {
    file: PathBuf,
    kind: &'static str,
    /// How Java treats the file as a whole.
    verdict: String,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct CheckReport {
    java: String,
    errors: usize,
    warnings: usize,
    files: Vec<Checked>,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`]: a file that cannot be read, no such JDK.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let jdk = match (&args.jdk, args.dialect) {
        (_, Some(_)) => None,
        (Some(home), None) => Some(Jdk::find(Some(home))?),
        (None, None) if args.module.is_some() || std::env::var_os("JAVA_HOME").is_some() => Some(Jdk::find(None)?),
        (None, None) => Jdk::find(None).ok(),
    };
    let dialect = args.dialect.or(jdk.as_ref().map(|j| j.dialect)).unwrap_or(Dialect::openjdk(25));
    let own = match &jdk {
        Some(jdk) => jdk.providers()?,
        None => dialect.providers().iter().map(|p| (*p).to_owned()).collect(),
    };
    let mut checker = Checker { judge: Judge { dialect, here: jdk.is_some() }, own, done: Vec::new(), asked: None };
    if let (Some(module), Some(jdk)) = (&args.module, &jdk) {
        let failed = |why: &str| Failure::new(format!("{}: {why}", module.display()));
        let full = std::path::absolute(module).map_err(|e| failed(&cause(&e)))?;
        if let Some(why) = module::unfit(&full, Interface::Pkcs11) {
            return Err(failed(&why));
        }
        checker.asked = Some((jdk.clone(), full));
    }
    for file in &args.files {
        checker.file(file, None)?;
    }
    let of = |severity| checker.done.iter().flat_map(|c| &c.findings).filter(|f| f.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let java = jdk.map_or_else(|| dialect.to_string(), |jdk| jdk.shown());
    let report = CheckReport { java, errors, warnings, files: checker.done };
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report, Style::of_stdout()))?;
    }
    Ok(if errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn text(report: &CheckReport, style: Style) -> String {
    let mut text = format!("{}\n", style.faint(&format!("read as by {}", shown(&report.java))));
    for checked in &report.files {
        for finding in &checked.findings {
            text += &finding.line_of_text(style);
        }
        let _ = writeln!(text, "{}: {}", shown(&checked.file), shown(&checked.verdict));
    }
    text
}

struct Checker {
    judge: Judge,
    own: Vec<String>,
    done: Vec<Checked>,
    asked: Option<(Jdk, PathBuf)>,
}

impl Checker {
    fn file(&mut self, file: &Path, kind: Option<JavaFileKind>) -> Result<(), Failure> {
        let real = |file: &Path| std::fs::canonicalize(file).ok();
        if self.done.iter().any(|c| c.file == file || real(&c.file).is_some_and(|done| real(file) == Some(done))) {
            return Ok(());
        }
        let bytes = files::config(file).map_err(|e| Failure::new(format!("{}: {}", file.display(), cause(&e))))?;
        let kind = kind.unwrap_or_else(|| JavaFileKind::of(&bytes));
        let mut findings = Findings::of(file);
        let (name, named, config) = told(&bytes, kind, &self.own, self.judge, &mut findings);
        let loads = config.as_ref().is_none_or(|config| !config.nss || !findings.all.iter().any(Finding::is_error));
        if let (Some(config), Some((jdk, module))) = (&config, &self.asked)
            && config.refusals.is_empty()
            && !config.nss
        {
            ask(jdk, module, &bytes, config, &mut findings)?;
        }
        let verdict = verdict(kind, config.as_ref(), loads, &findings, self.judge);
        self.done.push(Checked { file: file.to_owned(), kind: name, verdict, findings: findings.sorted() });
        for Named { path, kind } in named {
            self.file(&path, Some(kind))?;
        }
        Ok(())
    }
}

/// Judges a file's bytes; gives the files that it names, and its own configuration where it is SunPKCS11's.
fn told(
    bytes: &[u8],
    kind: JavaFileKind,
    own: &[String],
    judge: Judge,
    findings: &mut Findings<'_>,
) -> (&'static str, Vec<Named>, Option<Config>) {
    match kind {
        JavaFileKind::Pkcs11 => {
            let config = cfg::parse(bytes, judge.dialect);
            lint::lint(&config, judge, findings);
            ("SunPKCS11 configuration", Vec::new(), Some(config))
        }
        JavaFileKind::Security { replaces } => {
            ("security properties", security::lint(bytes, replaces, own, judge, findings), None)
        }
        JavaFileKind::Options => ("options of a JVM", security::lint_options(bytes, judge, findings), None),
    }
}

fn verdict(kind: JavaFileKind, config: Option<&Config>, loads: bool, findings: &Findings<'_>, judge: Judge) -> String {
    let of = |severity| findings.all.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let dialect = judge.dialect;
    match (kind, config) {
        (JavaFileKind::Pkcs11, Some(config)) if !config.refusals.is_empty() => {
            format!("refused by {dialect}: the provider is absent, without a word ({})", lint::DEBUG)
        }
        (JavaFileKind::Pkcs11, Some(_)) if !loads => {
            format!(
                "taken by {dialect} and not loaded: what comes to this provider in the list ends with 'ProviderException'"
            )
        }
        (JavaFileKind::Pkcs11, Some(config)) => {
            let name = config.value("name").unwrap_or("?");
            let provider = dialect.provider().rsplit('.').next().unwrap_or_default();
            format!("taken by {dialect} as {provider}-{name}; {errors} errors, {warnings} warnings")
        }
        _ => format!("{errors} errors, {warnings} warnings"),
    }
}

/// Tries the configuration with the module itself, through the JDK.
fn ask(jdk: &Jdk, module: &Path, bytes: &[u8], config: &Config, findings: &mut Findings<'_>) -> Result<(), Failure> {
    let folder = adjunct_tool::scratch::folder()?;
    let file = folder.path().join("checked.cfg");
    let mut text = Vec::new();
    // The module given, and its mechanisms printed; all else as in the file.
    for (i, line) in bytes.split(|c| *c == b'\n').enumerate() {
        let number = u32::try_from(i).map_or(u32::MAX, |i| i.saturating_add(1));
        let replaced = ["library", "showInfo", "handleStartupErrors"]
            .iter()
            .any(|k| config.values.get(*k).is_some_and(|e| e.line == number));
        if !replaced {
            text.extend_from_slice(line);
        }
        text.push(b'\n');
    }
    text.extend_from_slice(format!("library = {}\nshowInfo = true\n", choose::quoted(module)?).as_bytes());
    std::fs::write(&file, text).map_err(|e| adjunct_tool::failure::cannot_write(&file, &e))?;
    let progress = Progress::begin();
    let (served, has) = program::probe(jdk, &file, |part, call| progress.set(part, call))?;
    drop(progress);
    let java = jdk.dialect.java;
    for entry in config.enabled.iter().flat_map(|list| &list.value) {
        let Some(mechanism) = entry.value.number.and_then(names::numbered) else { continue };
        if !mechanism.name.starts_with("CKM_") || has.has(mechanism.name) {
            continue;
        }
        let services: Vec<&str> = mechanism.services(java).collect();
        if services.is_empty() {
            continue;
        }
        let text = format!(
            "the module has no {}: what it is for ({}) goes to the next provider",
            mechanism.name,
            few(&services)
        );
        findings.warning(entry.line, text, "remove it, or use a module that has it");
    }
    let line = config.values.get("library").map_or(1, |e| e.line);
    for call in served.iter().filter(|c| c.offered && !c.by.starts_with("SunPKCS11-")) {
        let (service, error) = (&call.service, &call.error);
        if call.by.is_empty() {
            let fix = if service.starts_with("MessageDigest") {
                "leave digests out of enabledMechanisms: TLS copies a digest in each handshake, and fails"
            } else {
                "leave its mechanism out of enabledMechanisms"
            };
            findings.error(line, format!("{service} fails in the module: {error}"), fix);
            continue;
        }
        let fix = match error.as_str() {
            "CKR_USER_NOT_LOGGED_IN" => {
                "set CKA_PRIVATE = false by 'attributes', or log in, or use a token that wants no login"
            }
            _ => "set the attributes that the module wants by 'attributes', or leave the mechanism out",
        };
        let text = format!(
            "{service} with a key from a file is served by {}, without a word: the module refuses it ({error})",
            call.by
        );
        findings.warning(line, text, fix);
    }
    if has.login && !config.attributes.iter().any(|a| a.value.values.iter().any(|(n, _)| n == "CKA_PRIVATE")) {
        let text = format!(
            "the token '{}' wants a login: until there is one, keys from files go to the next provider",
            has.label
        );
        findings.note(line, text, "set CKA_PRIVATE = false by 'attributes (*, *, *)'");
    }
    Ok(())
}

/// The first few of a list.
fn few(all: &[&str]) -> String {
    match all {
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a}, {b}, {c} and {} more", rest.len()),
        all => all.join(", "),
    }
}

/// Reads bytes as each kind of file.
pub(super) fn fuzz(bytes: &[u8], dialect: Dialect) {
    let own: Vec<String> = dialect.providers().iter().map(|p| (*p).to_owned()).collect();
    let lines = bytes.iter().filter(|c| matches!(c, b'\n' | b'\r')).count() as u32 + 1;
    for kind in [
        JavaFileKind::of(bytes),
        JavaFileKind::Pkcs11,
        JavaFileKind::Security { replaces: false },
        JavaFileKind::Security { replaces: true },
        JavaFileKind::Options,
    ] {
        let mut findings = Findings::of(Path::new("f"));
        told(bytes, kind, &own, Judge { dialect, here: false }, &mut findings);
        for finding in findings.sorted() {
            assert!((1..=lines).contains(&finding.line), "{finding:?}");
            let shown = finding.line_of_text(Style::PLAIN);
            assert!(shown.ends_with('\n') && shown.matches('\n').count() == 1, "{shown:?}");
        }
    }
}
