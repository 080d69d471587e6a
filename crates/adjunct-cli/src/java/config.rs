//! `adjunct java config`: a SunPKCS11 configuration and a file of security properties for a JDK, with the mechanisms that win.

use super::choose::{self, Choice, For, Measured, Plan, digits};
use super::jdk::Jdk;
use super::lint::Judge;
use super::program::{self, Fields, Served, Shown};
use super::token::{self, Wanted};
use super::{cfg, finding, lint};
use adjunct_survey::module::{self, Make, Purpose};
use adjunct_tool::escape::shown;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::output::Style;
use adjunct_tool::progress::Progress;
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output, scratch};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct java config                                for a TLS server with the Java of JAVA_HOME or PATH, into ./adjunct-java
  adjunct java config --for all --output /etc/java-adjunct
  adjunct java config --token-keys --token web       for a server whose key lies in the token of this label
  adjunct java config --jdk /usr/lib/jvm/temurin-25-jdk-amd64 --module /usr/lib/softhsm/libsofthsm2.so
  java -Djava.security.properties=adjunct-java/adjunct.security -jar SERVER.jar

Each call of Java's is measured in the module and in the JDK, by turns, by a small program that the JDK runs from its source; what is \
at least 1.1 times faster in the module is enabled. Without a compiler (a runtime alone, Java before 11) the rules of --no-measure \
are taken, and that is said.

Exit status: 0 done, 1 it failed, 2 the command line is wrong.";

/// Default path of the security properties.
pub(super) const DEFAULT: &str = "adjunct-java/adjunct.security";
/// The names of the files.
pub const CONFIG: &str = "adjunct-pkcs11.cfg";
/// The security properties that name it.
pub const SECURITY: &str = "adjunct.security";

/// Write a SunPKCS11 configuration and security properties for a JDK, with the mechanisms that win when measured
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The JDK; by default that of JAVA_HOME or PATH
    #[arg(long, value_name = "HOME")]
    jdk: Option<PathBuf>,
    /// What it is for
    #[arg(long = "for", value_name = "WHAT", default_value = "tls-server")]
    purpose: For,
    /// The PKCS #11 module; by default the one beside this program or in the folder of PKCS #11 modules
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// As root: take the module though others than root could change it, or a folder above it
    #[arg(long)]
    trust_module: bool,
    /// The token of this label; by default adjunct's accelerator, and of another module the first
    #[arg(long, value_name = "LABEL")]
    token: Option<String>,
    /// The token by its place in the module's list of slots, from 0
    #[arg(long, value_name = "N", conflicts_with = "token")]
    slot_index: Option<u32>,
    /// Keys lie in the token, too: enable what Java needs for them. By default in the one token that keeps keys
    #[arg(long)]
    token_keys: bool,
    /// The folder that takes the two files
    #[arg(short, long, value_name = "DIR", default_value = "adjunct-java")]
    output: PathBuf,
    /// Replace files that are there
    #[arg(short, long)]
    force: bool,
    /// Measure each call for a quarter of a second, not one and a half
    #[arg(long, conflicts_with = "no_measure")]
    quick: bool,
    /// Measure nothing: enable the signatures, which win everywhere, and nothing else
    #[arg(long)]
    no_measure: bool,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct ConfigReport {
    java: String,
    module: PathBuf,
    #[serde(rename = "for")]
    purpose: For,
    /// The reason why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_measured: Option<String>,
    rows: Vec<Measured>,
    choices: Vec<Choice>,
    files: Vec<PathBuf>,
    option: String,
    notes: Vec<String>,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let jdk = Jdk::find(args.jdk.as_deref())?;
    if jdk.lacks_pkcs11() {
        return Err(Failure::new(format!(
            "{}: this Java has no SunPKCS11 (module jdk.crypto.cryptoki)",
            jdk.home.display()
        )));
    }
    let own = jdk.providers()?;
    let module = module::find_of(
        &Make::PKCS11_OF_JAVA,
        module::Choice { path: args.module.as_deref(), trusted: args.trust_module },
        Purpose::Configuration,
        module::pkcs11_folders,
    )?;
    let (config, security) = places(args)?;
    let wanted = Wanted { index: args.slot_index, label: args.token.as_deref(), keys: args.token_keys };
    let slot = token::line(&module, wanted)?;
    let not_measured = if args.no_measure { Some("--no-measure".to_owned()) } else { jdk.cannot_compile() };
    let (mut rows, mut seen) = (Vec::new(), None);
    if not_measured.is_none() {
        let (has, measured, done) = measure(args, &jdk, &module, &slot)?;
        if done.is_err() {
            return partly(args, &measured, Ended::of(done));
        }
        rows = measured;
        seen = Some(has);
    }
    let measured = not_measured.is_none().then_some(rows.as_slice());
    let choices = choose::choose(args.purpose, measured, |m| seen.as_ref().is_none_or(|s| s.has(m)));
    let plan = Plan {
        dialect: jdk.dialect,
        java: jdk.shown(),
        module: &module,
        slot,
        login: seen.as_ref().is_some_and(|s| s.login),
        token_keys: args.token_keys,
        purpose: args.purpose,
        choices: &choices,
        measured: not_measured.is_none(),
    };
    let mut notes = Vec::new();
    let mut files = Vec::new();
    let mut written = Ok(());
    if args.token_keys || choices.iter().any(|c| c.enabled) {
        let text = plan.config()?;
        notes = proved(&jdk, &text, &plan, args)?;
        written = write(args, [(&config, text), (&security, plan.security(&config, &own))]);
        files = if written.is_ok() { vec![config, security.clone()] } else { Vec::new() };
    }
    let option = format!("-Djava.security.properties={}", security.display());
    let report = ConfigReport {
        java: plan.java.clone(),
        module: module.clone(),
        purpose: args.purpose,
        not_measured,
        rows,
        choices: choices.clone(),
        files,
        option,
        notes,
    };
    let failed = written.is_err();
    let shown =
        if args.json { output::print_json(&report) } else { output::print(&text(&report, failed, Style::of_stdout())) };
    // What was measured is shown where the disk is full, too.
    written.and(shown)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows what was measured until the run was ended; no file is written for that.
fn partly(args: &Args, rows: &[Measured], mut ended: Ended) -> Result<ExitCode, Failure> {
    let shown = match (rows.is_empty(), args.json) {
        (true, _) => Ok(()),
        (false, true) => ended.write_json(Some(&Sink::Stdout), &serde_json::json!({ "rows": rows })),
        (false, false) => output::print(&figures(rows, Style::of_stdout())),
    };
    ended.told(shown).map(|()| ExitCode::FAILURE)
}

/// Paths of the two files, checked before anything is measured for them.
fn places(args: &Args) -> Result<(PathBuf, PathBuf), Failure> {
    let folder = std::path::absolute(&args.output)
        .map_err(|e| Failure::new(format!("{}: {}", args.output.display(), cause(&e))))?;
    let places = (folder.join(CONFIG), folder.join(SECURITY));
    choose::quoted(&places.0)?;
    for place in [&places.0, &places.1] {
        if !args.force && place.symlink_metadata().is_ok() {
            return Err(Failure::new(format!("{}: is there already; --force replaces it", place.display())));
        }
    }
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::new(format!("{}: is no folder; two files are written into it", folder.display())));
    }
    // One folder is made for them, not those above it: a slip of the keyboard is no place.
    if let Some(above) = folder.parent().filter(|above| !above.is_dir()) {
        return Err(Failure::new(format!(
            "{}: no such folder; make it first, or give another --output",
            above.display()
        )));
    }
    if folder.is_dir() {
        drop(scratch::beside(&folder, 0o600).map_err(|e| cannot_write(&folder, &e))?);
    }
    Ok(places)
}

/// A configuration with all that the module has.
fn everything(module: &Path, slot: &str, login: bool) -> Result<String, Failure> {
    let mut text = format!("name = all\nlibrary = {}\n{slot}\nshowInfo = true\n", choose::quoted(module)?);
    if login {
        text.push_str(choose::WITHOUT_LOGIN);
    }
    Ok(text)
}

fn temporary(text: &str) -> Result<(scratch::Folder, PathBuf), Failure> {
    let folder = scratch::folder()?;
    let file = folder.path().join("pkcs11.cfg");
    std::fs::write(&file, text).map_err(|e| cannot_write(&file, &e))?;
    Ok((folder, file))
}

/// Whether measuring was completed.
type Done = Result<(), Failure>;

/// Every row in the module and in the JDK. One that is ended early gives the rows that it has.
fn measure(args: &Args, jdk: &Jdk, module: &Path, slot: &str) -> Result<(Shown, Vec<Measured>, Done), Failure> {
    let progress = Progress::begin();
    let (_folder, file) = temporary(&everything(module, slot, false)?)?;
    let (_, seen) = program::probe(jdk, &file, |_, _| progress.set(0.0, "the module's mechanisms"))?;
    let (_folder, file) = temporary(&everything(module, slot, seen.login)?)?;
    let milliseconds = if args.quick { "250" } else { "1500" };
    let names: Vec<&str> = choose::rows().collect();
    let words = ["bench".into(), file.into(), milliseconds.into()].into_iter().chain(names.iter().map(Into::into));
    let mut rows = Vec::new();
    let done = program::run(jdk, &words.collect::<Vec<_>>(), |fields| {
        if let [kind, row] = fields.as_slice()
            && kind == "start"
        {
            let at = names.iter().position(|name| name == row).unwrap_or(0);
            progress.set(at as f64 / names.len() as f64, row);
        }
        rows.extend(measured(fields));
    });
    Ok((seen, rows, done.map(drop)))
}

/// A line of the program's about a row that it is done with.
fn measured(fields: &Fields) -> Option<Measured> {
    let none = |row: &str, by: &str, error: String| Measured {
        row: row.to_owned(),
        jdk_provider: by.to_owned(),
        jdk_us: None,
        module_us: None,
        ratio: None,
        error: Some(error),
    };
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    match fields.as_slice() {
        ["row", row, by, jdk, module, _] => {
            let (jdk, module): (f64, f64) = (jdk.parse().ok()?, module.parse().ok()?);
            let (jdk_us, module_us, ratio) = (Some(jdk / 1e3), Some(module / 1e3), Some(jdk / module));
            Some(Measured { jdk_us, module_us, ratio, error: None, ..none(row, by, String::new()) })
        }
        ["absent", row, by] => Some(none(row, by, "the module has no such service".to_owned())),
        ["failed", row, "jdk", why] => Some(none(row, "", format!("the JDK itself fails: {why}"))),
        ["failed", row, _, why] => Some(none(row, "", format!("the module fails: {why}"))),
        _ => None,
    }
}

/// Tries the configuration before it is written: our own reader takes it without errors, and, where Java can run our program, the module serves each
/// call that the configuration is for. Calls that it does not serve are returned.
fn proved(jdk: &Jdk, text: &str, plan: &Plan<'_>, args: &Args) -> Result<Vec<String>, Failure> {
    let judge = Judge { dialect: jdk.dialect, here: true };
    let mut findings = finding::Findings::of(Path::new(CONFIG));
    lint::lint(&cfg::parse(text.as_bytes(), jdk.dialect), judge, &mut findings);
    if let Some(error) = findings.all.iter().find(|f| f.severity == finding::Severity::Error) {
        return Err(Failure::new(format!("the configuration would be refused: {}", error.text)));
    }
    let mut notes = Vec::new();
    if plan.choices.iter().any(|c| c.enabled && c.mechanisms.contains(&"CKM_ECDH1_DERIVE")) {
        notes.push("TLS takes x25519 first, which stays in the JDK; -Djdk.tls.namedGroups=secp256r1 moves the key exchange to the module".to_owned());
    }
    if jdk.cannot_compile().is_some() {
        return Ok(notes);
    }
    let (_folder, file) = temporary(text)?;
    let progress = Progress::begin();
    let (served, _) = program::probe(jdk, &file, |part, call| progress.set(part, &format!("trying {call}")))?;
    drop(progress);
    let elsewhere =
        |call: &&Served| call.offered && !call.by.starts_with("SunPKCS11-") && !call.row.starts_with("random");
    for call in served.iter().filter(elsewhere) {
        let Served { service, by, error, .. } = call;
        let by = if by.is_empty() { "nobody" } else { by };
        notes.push(format!("{service} is enabled, and served by {by}: the module refuses it ({error})"));
    }
    if args.token_keys && plan.login {
        notes.push("keys in the token need a login: Java asks for the PIN when the key store is opened".to_owned());
    }
    Ok(notes)
}

/// Writes the two files, each whole or not at all.
fn write(args: &Args, files: [(&PathBuf, String); 2]) -> Result<(), Failure> {
    let folder = files[0].0.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    let mut whole = Vec::new();
    for (path, text) in &files {
        whole.push((scratch::whole(folder, text.as_bytes(), 0o644).map_err(|e| cannot_write(path, &e))?, *path));
    }
    for (file, path) in whole {
        let done = if args.force { file.persist(path) } else { file.persist_noclobber(path) };
        done.map_err(|e| cannot_write(path, &e.error))?;
    }
    Ok(())
}

fn text(report: &ConfigReport, failed: bool, style: Style) -> String {
    let mut text = format!(
        "{}\n{}\n",
        style.strong(&format!("Java    {}", shown(&report.java))),
        style.strong(&format!("module  {}", shown(&report.module)))
    );
    if let Some(why) = &report.not_measured {
        let _ = writeln!(text, "{}", style.notice(&format!("nothing was measured: {}", shown(why))));
    } else {
        text += &figures(&report.rows, style);
    }
    text.push('\n');
    for choice in &report.choices {
        let mark = if choice.enabled { style.good("enabled") } else { style.faint("left out") };
        let _ = writeln!(text, "{mark} {} ({}): {}", choice.title, choice.mechanisms.join(" "), shown(&choice.why));
    }
    for note in &report.notes {
        let _ = writeln!(text, "{} {}", style.notice("note"), shown(note));
    }
    if failed {
        return text;
    }
    if report.files.is_empty() {
        text.push_str("\nnothing wins: no files were written, Java's own providers are the fastest here\n");
        return text;
    }
    text.push('\n');
    for file in &report.files {
        let _ = writeln!(text, "written {}", shown(file));
    }
    let _ = writeln!(text, "use it with: java {} ...", shown(&report.option));
    text
}

/// A table of the time of each call.
fn figures(rows: &[Measured], style: Style) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "\n{:<16}{:<12}{:>10}{:>12}{:>8}", "one call", "JDK's own", "JDK us", "module us", "times");
    for row in rows {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), digits);
        let line = format!(
            "{:<16}{:<12}{:>10}{:>12}{:>8}",
            row.row,
            shown(&row.jdk_provider),
            number(row.jdk_us),
            number(row.module_us),
            number(row.ratio)
        );
        let line = match (row.ratio, &row.error) {
            (_, Some(why)) => format!("{line}  {}", style.faint(&shown(why))),
            (Some(ratio), None) if ratio >= choose::WINS => style.good(&line),
            _ => line,
        };
        let _ = writeln!(text, "{line}");
    }
    text
}
