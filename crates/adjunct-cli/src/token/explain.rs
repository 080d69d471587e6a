//! `adjunct token explain`: what is wrong with the set-up, and what to do about it.

use super::errors;
use super::list::{self, Row};
use adjunct_pkcs11::admin::{self, Configured};
use adjunct_pkcs11_client::{Module, Rv};
use adjunct_survey::module;
use adjunct_tool::failure::cause;
use adjunct_tool::output::Style;
use adjunct_tool::{Failure, files, output};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const NOTES: &str = "\
Nothing is changed, and no PIN is asked for or tried.

Exit status: 0 nothing is wrong (notes there may be), 1 something is, or an ERROR is none, 2 the command line is wrong.";

/// Say what is wrong with the module, its configuration and its tokens, and what to do about it
#[derive(Debug, clap::Args)]
#[command(after_help = NOTES)]
pub(super) struct Args {
    /// Say instead what return values of PKCS #11 mean: CKR_PIN_LOCKED, pin_locked, 0xa4
    #[arg(value_name = "ERROR")]
    errors: Vec<String>,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Note,
    Problem,
}

/// A thing that was looked at, and what was found.
#[derive(Debug, Serialize)]
struct Finding {
    about: String,
    verdict: Verdict,
    says: String,
    /// The advice for the user.
    advice: Option<String>,
}

#[derive(Debug, Serialize)]
struct ExplainReport {
    problems: usize,
    findings: Vec<Finding>,
    tokens: Vec<Row>,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, about: &str, verdict: Verdict, says: impl Into<String>, advice: Option<&str>) {
        let (about, says) = (about.to_owned(), says.into());
        self.0.push(Finding { about, verdict, says, advice: advice.map(ToOwned::to_owned) });
    }

    fn good(&mut self, about: &str, says: impl Into<String>) {
        self.add(about, Verdict::Good, says, None);
    }

    fn note(&mut self, about: &str, says: impl Into<String>, advice: &str) {
        self.add(about, Verdict::Note, says, Some(advice));
    }

    fn problem(&mut self, about: &str, says: impl Into<String>, advice: &str) {
        self.add(about, Verdict::Problem, says, Some(advice));
    }
}

pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if !args.errors.is_empty() {
        errors::explain(&args.errors, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut findings = Findings::default();
    let tokens = admin::tokens();
    // While it loads the module itself says what is wrong with tokens, which is said below.
    let silent = tokens.wrong.is_none()
        && tokens.tokens.iter().all(|token| {
            let seen = admin::examine(token);
            seen.others || seen.trouble.is_none()
        });
    the_module(&mut findings, silent);
    match (&tokens.configuration, &tokens.wrong) {
        (_, Some(wrong)) => {
            findings.problem("configuration", wrong.clone(), "correct the file: until then its tokens are not there")
        }
        (Some(path), None) => findings.good("configuration", path.display().to_string()),
        (None, None) => findings.good("configuration", "none: the user's own token alone"),
    }
    if tokens.tokens.is_empty() {
        findings.problem(
            "tokens",
            "none: HOME is not set",
            "set HOME or XDG_DATA_HOME, or name a token in a configuration",
        );
    }
    tokens.tokens.iter().for_each(|token| one(&mut findings, token));
    users(&mut findings);
    let problems = findings.0.iter().filter(|finding| finding.verdict == Verdict::Problem).count();
    if args.json {
        let tokens = tokens.tokens.iter().map(list::row).collect();
        output::print_json(&ExplainReport { problems, findings: findings.0, tokens })?;
    } else {
        output::print(&text(&findings.0, Style::of_stdout()))?;
    }
    Ok(ExitCode::from(u8::from(problems > 0)))
}

fn text(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    for Finding { about, verdict, says, advice } in findings {
        let word = match verdict {
            Verdict::Good => style.good("ok     "),
            Verdict::Note => style.notice("note   "),
            Verdict::Problem => style.bad("problem"),
        };
        let _ = writeln!(text, "{word}  {about:<20} {says}");
        if let Some(advice) = advice {
            let _ = writeln!(text, "{:<9}{:<20} -> {advice}", "", "");
        }
    }
    text
}

/// The module that programs load, and how they find it.
fn the_module(findings: &mut Findings, initialize: bool) {
    const ABOUT: &str = "module";
    match super::module_path() {
        Err(failure) => {
            findings.problem(ABOUT, failure.to_string(), "install the package, or put the module beside this program")
        }
        Ok(path) => {
            let loaded = Module::load(&path).map_err(|error| error.to_string());
            let asked = loaded.and_then(|mut module| {
                if !initialize {
                    return Ok(String::new());
                }
                module.initialize().map_err(|Rv(rv)| super::name(rv).to_owned())?;
                let version = module.info().map_err(|Rv(rv)| super::name(rv).to_owned())?.cryptokiVersion;
                Ok(format!(" (PKCS #11 {}.{})", version.major, version.minor))
            });
            match asked {
                Ok(version) => findings.good(ABOUT, format!("{}{version}", path.display())),
                Err(words) => findings.problem(
                    ABOUT,
                    format!("{}: {}", path.display(), adjunct_tool::escape::shown(&words)),
                    "install it anew: it does not load",
                ),
            }
        }
    }
    let installed: Vec<PathBuf> =
        module::pkcs11_folders().map(|folder| folder.join("adjunct-pkcs11.so")).filter(|path| path.exists()).collect();
    match installed.first() {
        Some(path) => findings.good("programs find it", path.display().to_string()),
        None => findings.note(
            "programs find it",
            "not where modules of PKCS #11 are installed",
            "give programs the module's whole path, or install the package",
        ),
    }
    let folders = ["/usr/share/p11-kit/modules", "/etc/pkcs11/modules"];
    let named =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten()).find(|entry| {
            files::config(&entry.path()).is_ok_and(|text| String::from_utf8_lossy(&text).contains("adjunct-pkcs11"))
        });
    if let Some(entry) = named {
        findings.good("p11-kit loads it", entry.path().display().to_string());
    }
}

/// A token.
fn one(findings: &mut Findings, token: &Configured) {
    let about = format!("slot {}", token.slot);
    let about = about.as_str();
    let seen = admin::examine(token);
    let path = token.path.display();
    match list::state(&seen) {
        "not initialized" if token.read_only => {
            findings.problem(
                about,
                format!("{path}: no token, and read-only"),
                "initialize it where it can be written to",
            );
        }
        "not initialized" if !seen.writable && token.machines => findings.note(
            about,
            format!("{path}: no token yet; the machine's configuration names it, and this user cannot make it"),
            "nothing, unless this user is to make it",
        ),
        "not initialized" if !seen.writable => findings.problem(
            about,
            format!("{path}: no token, and this user cannot make one there"),
            "make the directory, owned by this user with mode 0700, or set XDG_DATA_HOME",
        ),
        "not initialized" => {
            findings.note(about, format!("{path}: no token yet"), "`adjunct token init --label NAME` makes one")
        }
        "damaged" => findings.problem(
            about,
            format!("{path}: damaged"),
            &format!("`adjunct token repair --slot {}` keeps all that can be read; or restore a backup", token.slot),
        ),
        "of a newer version" => {
            findings.problem(about, seen.trouble.clone().unwrap_or_default(), "update adjunct");
        }
        "not readable" if seen.others => findings.note(
            about,
            format!("{path}: not this user's; the machine's configuration names it for those who may read it"),
            "nothing, unless this user is to use it: then give it the right to read the file, and to enter its folder",
        ),
        "not readable" if seen.unsafe_rights => findings.problem(
            about,
            seen.trouble.clone().unwrap_or_default(),
            &format!("chown it to this user; chmod 600 {path}; chmod 700 {}", admin::directory(token).display()),
        ),
        "not readable" => findings.problem(
            about,
            seen.trouble.clone().unwrap_or_default(),
            "run as the user whose token it is, or give this user the right to read it",
        ),
        "older copy" => findings.problem(
            about,
            format!("{path}: {}", seen.older.as_deref().unwrap_or_default()),
            &format!(
                "restore the newest backup; if this copy is wanted, `adjunct token repair --slot {}` takes it as it is",
                token.slot
            ),
        ),
        "to be repaired" => findings.problem(
            about,
            format!("{path}: {}", seen.foreign.as_deref().unwrap_or_default()),
            &format!("`adjunct token repair --slot {}`", token.slot),
        ),
        state => {
            let label = seen.label.as_deref().unwrap_or_default();
            let objects = seen.objects.unwrap_or_default();
            findings.good(about, format!("{path}: {label:?}, {objects} objects, {} bytes; {state}", seen.bytes));
        }
    }
    if !seen.exists || seen.trouble.is_some() {
        return;
    }
    pins(findings, about, token, &seen);
    if seen.leftovers {
        findings.note(
            about,
            "written by an older version: PINs that were changed and keys that were destroyed by it can still be read of the file",
            &format!(
                "end programs that run the older version, then `adjunct token pin change --slot {}`: it writes the file anew",
                token.slot
            ),
        );
    }
    if !seen.writable && !token.read_only {
        findings.note(
            about,
            "this user cannot write to it: programs find it write-protected",
            "chmod u+w, or say read-only in the configuration",
        );
    }
    if seen.readable_by_others {
        findings.note(about, "other users can read the file, and try PINs on a copy", &format!("chmod 600 {path}"));
    } else if seen.readable_by_group {
        findings.note(
            about,
            "its group can read the file, as a server's workers must, and try PINs on a copy",
            &format!("nothing, where that is meant; else chmod 600 {path}"),
        );
    }
    if let Some(writer) = seen.writer {
        findings.note(
            about,
            match writer {
                Some(process) => format!("process {process} ({}) is writing to it", command_of(process)),
                None => "a process of another user is writing to it".to_owned(),
            },
            "others wait for it; where it hangs, end it",
        );
    }
}

fn pins(findings: &mut Findings, about: &str, token: &Configured, seen: &admin::Examined) {
    let slot = token.slot;
    for (at, who, remedy) in [
        (0, "user PIN", format!("`adjunct token pin unlock --slot {slot}`, as the security officer")),
        (
            1,
            "SO PIN",
            "nothing opens it again: as the user, export or back up what is there, and initialize anew".to_owned(),
        ),
    ] {
        let user = seen.users[at];
        let about = format!("{about} {who}");
        match user.tries_left {
            _ if !user.has_pin => {
                findings.problem(&about, "not set", &format!("`adjunct token pin set --slot {slot}`"))
            }
            Some(0) => findings.problem(&about, "locked after three wrong ones", &remedy),
            Some(left) if left < 3 => {
                findings.note(&about, format!("{left} of 3 tries left"), "the right PIN, once, gives all of them back");
            }
            _ => findings.good(&about, if user.sealed { "set, sealed by the TPM" } else { "set" }),
        }
    }
    let sealed = seen.users.map(|user| user.sealed);
    if sealed.contains(&true) || token.tpm.is_some() {
        let about = format!("{about} TPM");
        match admin::tpm(token) {
            (path, None) => findings.good(&about, path.display().to_string()),
            (path, Some(wrong)) => findings.problem(
                &about,
                format!("{}: {wrong}", path.display()),
                "the token opens with its own TPM alone: be in the group that may use the device (tss), or name it in the configuration (tpm)",
            ),
        }
        if sealed.contains(&false) {
            findings.note(
                &about,
                "one PIN is not sealed by the TPM: a copy of the file opens with it anywhere",
                "change that PIN once",
            );
        }
    }
}

fn command_of(process: u32) -> String {
    let read = files::of_process(&Path::new("/proc").join(process.to_string()).join("comm"));
    read.map_or_else(|error| cause(&error), |name| String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// Names the processes that have the module loaded, of those whose memory this user may look at.
fn users(findings: &mut Findings) {
    let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut users: Vec<String> = Vec::new();
    for process in numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        if process == std::process::id() {
            continue;
        }
        let maps = files::of_process(&Path::new("/proc").join(process.to_string()).join("maps")).unwrap_or_default();
        let names: [&[u8]; 2] = [b"/adjunct-pkcs11.so", b"/libadjunct_pkcs11.so"];
        if names.iter().any(|name| memchr::memmem::find(&maps, name).is_some()) {
            users.push(format!("{} ({process})", command_of(process)));
        }
    }
    let says = if users.is_empty() { "no process that can be seen".to_owned() } else { users.join(", ") };
    findings.good("loaded by", says);
}
