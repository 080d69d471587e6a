//! sshd alone: `/etc/adjunct/sshd.cnf`, and `OPENSSL_CONF` in the environment of its service.

use super::environment;
use super::service::{self, Environment, Service, VARIABLE};
use super::steps::Steps;
use super::{Target, TargetState};
use crate::diff;
use crate::openssl::change::{self, Done, Wanted};
use crate::openssl::check::{self, Check, Depth, Verdict};
use crate::openssl::file::{ConfigFile, failed};
use crate::openssl::report::ChangeReport;
use crate::openssl::{DisableArgs, EnableArgs};
use crate::ssh::lab::Programs;
use adjunct_survey::FromDisk;
use adjunct_survey::{programs, trust};
use adjunct_tool::Failure;
use adjunct_tool::files;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Progress;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of what adjunct sets up.
const FOLDER: &str = "/etc/adjunct";
/// sshd's own configuration of OpenSSL.
const CONFIG: &str = "/etc/adjunct/sshd.cnf";
/// Stands in the block of a file that was not there before.
const NEW_FILE: &str = "# The file itself was made by adjunct.";

/// A file as it is and as it will be.
struct Planned {
    path: PathBuf,
    old: Option<ConfigFile>,
    new: Vec<u8>,
}

impl Planned {
    /// Plans a change of a file: `edit` gets the file without adjunct's block, and whether the file exists.
    fn new(path: &Path, edit: impl FnOnce(&[u8], bool) -> Result<Vec<u8>, Failure>) -> Result<Planned, Failure> {
        let old = match fs::symlink_metadata(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            _ => Some(ConfigFile::open(path)?),
        };
        let bytes = old.as_ref().map_or(&b""[..], |f| &f.bytes);
        let made = contains_line(bytes, NEW_FILE);
        let stripped =
            adjunct_openssl_conf::strip(bytes).map_err(|r| Failure::new(format!("{}: {r}", path.display())))?;
        let new = edit(stripped.as_deref().unwrap_or(bytes), old.is_some() && !made)?;
        Ok(Planned { path: path.to_owned(), old, new })
    }

    fn changed(&self) -> bool {
        self.old.as_ref().is_none_or(|old| old.bytes != self.new)
    }

    fn diff(&self) -> String {
        diff::unified(&self.path, self.old.as_ref().map_or(b"", |f| &f.bytes), &self.new)
    }

    fn make(&self, steps: &mut Steps) -> Result<(), Failure> {
        match &self.old {
            _ if !self.changed() => Ok(()),
            Some(old) => steps.replace(old, &self.new),
            None => {
                steps.folder(self.path.parent().unwrap_or(Path::new("/")))?;
                steps.create(&self.path, &self.new, 0o644)
            }
        }
    }
}

fn contains_line(text: &[u8], wanted: &str) -> bool {
    text.split(|&b| b == b'\n').any(|line| line == wanted.as_bytes())
}

/// `adjunct openssl enable --for sshd`.
pub(super) fn enable(args: &EnableArgs) -> Result<Done, Failure> {
    sshd()?;
    let _lock = change::locked(&programs::openssl_dir()?.join("openssl.cnf"), args.consent)?;
    let system = super::system_config()?;
    let mut report = ChangeReport::new("enable", Target::Sshd, Path::new(CONFIG), args.consent.dry_run);
    if super::state_of(&system.path).is_some_and(|s| s.adjunct.is_some()) {
        report.notes.push(format!("it is enabled for all programs, sshd among them, in {}", system.path.display()));
        restarted(args, &mut report, service::find)?;
        return Ok(Done { report, state: "has nothing to add for sshd" });
    }
    let service = service::find()?;
    if let Some((path, setting)) = &service.taken {
        let (path, line, value) = (path.display(), setting.line, &setting.value);
        return Err(Failure::new(format!(
            "{path}: line {line}: {VARIABLE} is '{value}' already; enable adjunct in that file: {}",
            trust::enabling(Path::new(value))
        )));
    }
    let base = super::base("sshd", &system.path, &[])?;
    let wanted = change::wanted(args, &base)?;
    let plan = plan(&base, &wanted, &service)?;
    trust::runs_under(&system.path, &system.bytes, None)?;
    trust::runs_under(&system.path, &plan[0].new, Some(&wanted.module))?;
    report.module = Some(wanted.module);
    report.notes = wanted.notes;
    report.files = plan.iter().map(|p| p.path.clone()).collect();
    report.changed = plan.iter().any(Planned::changed);
    report.diff = plan.iter().map(Planned::diff).collect();
    let ask = format!("Make {CONFIG} and name it in {}?", service.environment.path().display());
    if !report.changed {
        restarted(args, &mut report, || Ok(service))?;
        return Ok(Done { report, state: "is enabled already for sshd" });
    }
    if !change::agreed(&report, args.consent, args.common.json, &ask)? {
        return Ok(Done { report, state: "is enabled already for sshd" });
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Failure::new(format!("{}: only root may change it; run it as root", report.files[1].display())));
    }
    report.checks = make(&plan, &system, &service, args.restart)?;
    let done = format!("sshd was restarted: {}", service.restart());
    let to_do = format!("sshd reads it when it starts; restart it (sessions stay): {}", service.restart());
    report.notes.push(if args.restart { done } else { to_do });
    Ok(Done { report, state: "is enabled for sshd" })
}

/// Restarts sshd where that is asked for and nothing had to be changed.
fn restarted(
    args: &EnableArgs,
    report: &mut ChangeReport,
    service: impl FnOnce() -> Result<Service, Failure>,
) -> Result<(), Failure> {
    if !args.restart || args.consent.dry_run {
        return Ok(());
    }
    let service = service()?;
    adjunct_tool::ask::consented("It is enabled already. Restart sshd?", args.consent.yes, args.common.json)?;
    service.start_again().map_err(Failure::new)?;
    report.notes.push(format!("sshd was restarted: {}", service.restart()));
    Ok(())
}

/// sshd's own file.
fn sshd() -> Result<PathBuf, Failure> {
    let found = Programs::find(None, None).or_else(|_| Programs::find(Some(Path::new("/bin/sh")), None));
    found.map(|p| fs::canonicalize(&p.sshd).unwrap_or(p.sshd))
}

/// The configuration, then what names it.
fn plan(base: &[u8], wanted: &Wanted, service: &Service) -> Result<Vec<Planned>, Failure> {
    let config = Planned::new(Path::new(CONFIG), |now, there| {
        if there && now != base && !now.starts_with(b"# OpenSSL's configuration for sshd: ") {
            return Err(Failure::new(format!("{CONFIG}: is there already and not adjunct's; move it away")));
        }
        adjunct_openssl_conf::enable(base, &wanted.options, &FromDisk)
            .map_err(|refused| Failure::new(format!("the system's configuration with adjunct's: {refused}")))
    })?;
    let path = service.environment.path();
    let refused = |what: &str| Failure::new(format!("{}: {what}; it is left alone", path.display()));
    let names = Planned::new(path, |now, there| {
        if now.contains(&b'\r') {
            return Err(refused("it has line ends of another system, which a shell takes for part of a value"));
        }
        let mut lines: Vec<String> = (!there).then(|| NEW_FILE.to_owned()).into_iter().collect();
        match service.environment {
            // The second line is for the init script; systemd passes over it.
            Environment::File(_) => lines.extend([format!("{VARIABLE}={CONFIG}"), format!("export {VARIABLE}")]),
            Environment::DropIn(_) => lines.extend(["[Service]".into(), format!("Environment={VARIABLE}={CONFIG}")]),
        }
        let edited = adjunct_openssl_conf::append(now, &lines);
        let read = environment::value(&edited, VARIABLE).map(|s| s.value);
        if matches!(service.environment, Environment::File(_)) && read.as_deref() != Some(CONFIG) {
            return Err(refused("a quotation in it does not end, and takes in what is added"));
        }
        Ok(edited)
    })?;
    Ok(vec![config, names])
}

/// Makes the change; takes it back where something fails that worked before.
fn make(plan: &[Planned], system: &ConfigFile, service: &Service, restart: bool) -> Result<Vec<Check>, Failure> {
    let wait = Progress::waiting("checking");
    let before = check::before(|| Ok(check::all(&wait, &system.path, false, Depth::Full)))?;
    let broken = before.iter().find_map(|c| match &c.verdict {
        Verdict::Failed(why) if c.check == check::SSHD => Some(why),
        _ => None,
    });
    interrupted()?;
    if let Some(why) = broken {
        return Err(Failure::new(format!("{why}; sshd could not be restarted so, and nothing was changed")));
    }
    let nothing = |why: String| Failure::new(format!("{why}; nothing was changed"));
    let tried = check::judged(&before, change::elsewhere(&wait, &plan[0].new, true, Depth::Quick)?);
    interrupted().map_err(|e| nothing(e.to_string()))?;
    if let Some(why) = check::first_failure(&tried) {
        return Err(nothing(why));
    }
    let mut steps = Steps::default();
    let made = plan.iter().try_for_each(|planned| planned.make(&mut steps));
    let checked = made.and_then(|()| {
        let after = check::judged(&before, check::all(&wait, Path::new(CONFIG), true, Depth::Full));
        interrupted()?;
        check::first_failure(&after).map_or(Ok(after), |why| Err(Failure::new(why)))
    });
    let put_back = |why: Failure| Failure::new(format!("{why}; everything was put back"));
    let after = match checked {
        Ok(after) => after,
        Err(why) => return Err(put_back(steps.back(why))),
    };
    if restart && let Err(why) = service.start_again() {
        let why = put_back(steps.back(Failure::new(why)));
        let again = service.start_again().err().map(|e| format!(", and so it fails, too: {e}"));
        return Err(Failure::new(format!("{why}, and sshd restarted{}", again.unwrap_or_default())));
    }
    steps.keep();
    Ok(after)
}

/// Whether anything of the target is there.
pub(super) fn is_there() -> bool {
    !named_in().is_empty() || config_is_ours()
}

fn config_is_ours() -> bool {
    files::config(Path::new(CONFIG)).is_ok_and(|bytes| adjunct_openssl_conf::contains_block(&bytes))
}

/// The files in which adjunct's block names the configuration: one, or more where the service has changed since.
fn named_in() -> Vec<PathBuf> {
    let named = |path: &PathBuf| files::config(path).is_ok_and(|bytes| adjunct_openssl_conf::contains_block(&bytes));
    service::places().into_iter().filter(named).collect()
}

/// `adjunct openssl disable --for sshd`.
pub(super) fn disable(args: &DisableArgs) -> Result<Done, Failure> {
    let _lock = change::locked(&system_path(), args.consent)?;
    let mut report = ChangeReport::new("disable", Target::Sshd, Path::new(CONFIG), args.consent.dry_run);
    // What names the configuration goes first: whatever happens then, nothing leads to a file that is not there.
    let paths: Vec<PathBuf> = named_in().into_iter().chain(config_is_ours().then(|| CONFIG.into())).collect();
    let mut files = Vec::new();
    for path in paths {
        let file = ConfigFile::open(&path)?;
        let refused = |r| Failure::new(format!("{}: {r}", path.display()));
        let stripped = adjunct_openssl_conf::strip(&file.bytes).map_err(refused)?.unwrap_or_default();
        let ours = if path == Path::new(CONFIG) {
            adjunct_openssl_conf::is_original(&file.bytes, &stripped) == Some(true)
        } else {
            stripped.is_empty() && contains_line(&file.bytes, NEW_FILE)
        };
        report.diff += &diff::unified(&path, &file.bytes, if ours { b"" } else { &stripped });
        report.files.push(path.clone());
        files.push((file, stripped, ours));
    }
    report.changed = !files.is_empty();
    let ask = "Take adjunct out of sshd's environment?";
    if files.is_empty() || !change::agreed(&report, args.consent, args.common.json, ask)? {
        let state = if files.is_empty() { "is not enabled for sshd" } else { "is enabled for sshd" };
        return Ok(Done { report, state });
    }
    for (file, stripped, ours) in &files {
        if *ours {
            fs::remove_file(&file.path).map_err(|e| failed(&file.path, &e))?;
            remove_folder(&file.path);
        } else {
            file.replace(stripped)?;
            let original = adjunct_openssl_conf::is_original(&file.bytes, stripped) == Some(true);
            let what =
                if original { "is what it was before, byte for byte" } else { "keeps what others changed in it" };
            report.notes.push(format!("{} {what}", file.path.display()));
        }
    }
    let restart = service::find().map(|s| s.restart()).ok();
    report.notes.extend(restart.map(|command| format!("a running sshd keeps it until it is restarted: {command}")));
    Ok(Done { report, state: "is disabled for sshd" })
}

/// Removes the folder of a file of adjunct's if it was made for it: adjunct's own, or that of a unit's drop-ins; never one with something in it.
fn remove_folder(file: &Path) {
    if let Some(folder) = file.parent().filter(|f| *f == Path::new(FOLDER) || f.extension().is_some_and(|e| e == "d")) {
        let _ = fs::remove_dir(folder);
    }
}

/// The state of sshd as a target, for `status`.
pub(super) fn state() -> TargetState {
    let named = named_in();
    let mut state = TargetState {
        target: Target::Sshd,
        enabled: is_there(),
        working: false,
        config: CONFIG.into(),
        files: named.clone(),
        programs: sshd().into_iter().collect(),
        engine: None,
        problems: Vec::new(),
        notes: Vec::new(),
    };
    if !state.enabled {
        return state;
    }
    let service = service::find();
    match (named.first(), &service) {
        (None, _) => state.problems.push(format!("no environment of sshd names {CONFIG}; enable it again")),
        (Some(path), Ok(service)) => {
            if !named.iter().any(|p| p == service.environment.path()) {
                state.problems.push(format!("{}: sshd's service does not read it; enable it again", path.display()));
            }
            if let Some((path, setting)) = &service.taken {
                let (path, value) = (path.display(), &setting.value);
                state.problems.push(format!("{path}: line {}: {VARIABLE} is '{value}'", setting.line));
            }
        }
        (_, Err(failure)) => state.problems.push(failure.to_string()),
    }
    super::look(&mut state);
    let base = super::base("sshd", &system_path(), &[]);
    state.notes.extend(base.ok().and_then(|base| super::outdated(Path::new(CONFIG), &base)));
    if let Ok(service) = &service {
        state.notes.extend(running(&service.restart()));
    }
    state
}

fn system_path() -> PathBuf {
    super::system_config().map_or_else(|_| PathBuf::from("/etc/ssl/openssl.cnf"), |file| file.path)
}

/// A note about the running sshd, which uses the configuration and module that it loaded at its start.
fn running(restart: &str) -> Option<String> {
    let listener = programs::services("sshd").into_iter().next()?;
    let Ok(maps) = files::of_process(Path::new(&format!("/proc/{listener}/maps"))) else {
        return Some("only root can see whether the sshd that runs has it".to_owned());
    };
    let module = super::state_of(Path::new(CONFIG))?.adjunct?.module?;
    let module = fs::canonicalize(String::from_utf8_lossy(&module).into_owned()).ok()?;
    Some(if String::from_utf8_lossy(&maps).contains(module.to_str()?) {
        format!("the sshd that runs (process {listener}) has it")
    } else {
        format!("the sshd that runs (process {listener}) started without it; restart it: {restart}")
    })
}
