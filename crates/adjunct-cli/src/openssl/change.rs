//! `enable` and `disable`.

use super::check::{self, Check, Depth};
use super::file::ConfigFile;
use super::lock::Lock;
use super::report::{self, ChangeReport};
use super::{Consent, DisableArgs, EnableArgs, Target, engine};
use crate::diff;
use adjunct::config::{Group, Groups};
use adjunct_openssl_conf::Refused;
use adjunct_openssl_conf::{Model, Options, State, TlsGroups};
use adjunct_survey::FromDisk;
use adjunct_survey::module::{self, Purpose};
use adjunct_survey::{programs, providers, trust};
use adjunct_tool::escape::shown;
use adjunct_tool::failure::cause;
use adjunct_tool::files;
use adjunct_tool::interrupt::{Hold, interrupted};
use adjunct_tool::output::{self, Style};
use adjunct_tool::progress::Progress;
use adjunct_tool::scratch;
use adjunct_tool::{Failure, ask};
use std::path::{Path, PathBuf};

/// The report of a change to one target, and the resulting state in words.
pub(super) struct Done {
    pub report: ChangeReport,
    pub state: &'static str,
}

/// The contents to be written, for any target.
pub(super) struct Wanted {
    pub module: PathBuf,
    pub options: Options,
    pub notes: Vec<String>,
}

/// The contents that the command line asks to add to the configuration `original`.
pub(super) fn wanted(args: &EnableArgs, original: &[u8]) -> Result<Wanted, Failure> {
    let algorithms = args.algorithms.as_deref().map(keywords).transpose()?;
    let state = state(original);
    let (engine, note) = engine::choose(args, state.as_ref())?;
    let version = programs::openssl_version()?;
    programs::require_providers(&version)?;
    let groups = args.groups.as_deref().map(|list| TlsGroups::parse(list, programs::numbers(&version)));
    let groups = groups.transpose().map_err(Failure::Words)?;
    let module = module::find(args.module.choice(), Purpose::Configuration, programs::modules_dir)?;
    let options = Options::new(&module.to_string_lossy(), algorithms.as_deref())
        .with_engine(engine.as_deref())
        .with_groups(groups)
        .with_node(args.target == Target::All)
        .for_one_program(args.target != Target::All);
    let mut notes: Vec<String> = note.into_iter().collect();
    if state.is_some_and(|s| s.engines.iter().any(|id| id != b"adjunct")) {
        notes.push("the file configures engines; OpenSSL asks them before any provider".to_owned());
    }
    notes.extend(module::unreadable_for_others(&module));
    notes.extend(node_by_hand(original));
    Ok(Wanted { module, options, notes })
}

/// `adjunct openssl enable`, for all programs or those that read the file named.
pub(super) fn enable(args: &EnableArgs) -> Result<Done, Failure> {
    let config = args.common.config()?;
    trust::file(&config)?;
    let _lock = locked(&config, args.consent)?;
    let file = ConfigFile::open(&config)?;
    let refused = |refused: Refused| Failure::new(format!("{}: {refused}; it is left alone", file.path.display()));
    // A file that has the block already gets a new one: the module or the algorithms may be others now.
    let original = adjunct_openssl_conf::strip(&file.bytes).map_err(refused)?.unwrap_or_else(|| file.bytes.clone());
    let wanted = wanted(args, &original)?;
    let edited = adjunct_openssl_conf::enable(&original, &wanted.options, &FromDisk).map_err(refused)?;
    trust::runs_under(&file.path, &original, None)?;
    trust::runs_under(&file.path, &edited, Some(&wanted.module))?;
    let mut report = ChangeReport::new("enable", Target::All, &file.path, args.consent.dry_run);
    report.files = vec![file.path.clone()];
    report.changed = edited != file.bytes;
    report.notes = wanted.notes;
    let yields = self::state(&edited).and_then(|state| state.adjunct).is_some_and(|adjunct| adjunct.yields);
    report.notes.extend(providers::note(yields));
    report.notes.extend(super::elsewhere(&file.path));
    report.module = Some(wanted.module);
    report.diff = diff::unified(&file.path, &file.bytes, &edited);
    let ask = format!("Change {}?", file.path.display());
    if !report.changed || !agreed(&report, args.consent, args.common.json, &ask)? {
        return Ok(Done { report, state: "is enabled already" });
    }
    let change = Change { file: &file, edited: &edited, original: &original };
    report.checks = change.make(&mut report.backup)?;
    Ok(Done { report, state: "is enabled" })
}

/// `adjunct openssl disable`, for the same.
pub(super) fn disable(args: &DisableArgs) -> Result<Done, Failure> {
    let config = args.common.config()?;
    trust::file(&config)?;
    let _lock = locked(&config, args.consent)?;
    let file = ConfigFile::open(&config)?;
    let refused = |refused: Refused| Failure::new(format!("{}: {refused}", file.path.display()));
    let stripped = adjunct_openssl_conf::strip(&file.bytes).map_err(refused)?;
    let mut report = ChangeReport::new("disable", Target::All, &file.path, args.consent.dry_run);
    report.files = vec![file.path.clone()];
    report.changed = stripped.is_some();
    let Some(stripped) = stripped else {
        report.notes.extend(by_hand(&file.bytes));
        let backup = file.backup_path();
        if !args.consent.dry_run && files::config(&backup).is_ok_and(|there| there == file.bytes) {
            // Left where a change was killed before it changed anything.
            let _ = std::fs::remove_file(&backup);
        }
        return Ok(Done { report, state: "is not enabled" });
    };
    report.diff = diff::unified(&file.path, &file.bytes, &stripped);
    let ask = format!("Take adjunct out of {}?", file.path.display());
    if !agreed(&report, args.consent, args.common.json, &ask)? {
        return Ok(Done { report, state: "is enabled" });
    }
    file.replace(&stripped)?;
    let backup = file.backup_path();
    let backed_up = files::config(&backup).ok();
    if adjunct_openssl_conf::is_original(&file.bytes, &stripped) == Some(true)
        || backed_up.as_deref() == Some(&stripped[..])
    {
        report.notes.push("the file is what it was before, byte for byte".to_owned());
        if backed_up.as_deref() == Some(&stripped[..]) {
            let _ = std::fs::remove_file(&backup);
        }
    } else {
        let text = "the file was changed since adjunct was enabled: only adjunct's block was taken out";
        report.notes.push(text.to_owned());
        report.backup = backed_up.is_some().then_some(backup);
    }
    Ok(Done { report, state: "is disabled" })
}

/// The lock of a configuration, where something may be changed.
///
/// # Errors
/// As [`Lock::take`].
pub(super) fn locked(config: &Path, consent: Consent) -> Result<Option<Lock>, Failure> {
    if consent.dry_run { Ok(None) } else { Lock::take(config) }
}

/// The keywords as they are written into the file.
fn keywords(list: &str) -> Result<String, Failure> {
    let (_, errors) = Groups::parse(list);
    if let Some(error) = errors.first() {
        return Err(Failure::Words(error.to_string()));
    }
    let words: Vec<String> =
        list.split([',', ' ', '\t', ':', ';']).filter(|w| !w.is_empty()).map(str::to_ascii_uppercase).collect();
    if words.is_empty() {
        let known: Vec<&str> = Group::ALL.iter().map(|(_, word)| *word).collect();
        return Err(Failure::Words(format!("--algorithms: no keyword given; known: ALL {}", known.join(" "))));
    }
    Ok(words.join(","))
}

fn state(config: &[u8]) -> Option<State> {
    Model::read(config, &FromDisk).ok().map(|model| adjunct_openssl_conf::state(&model))
}

/// A note where Node has a section of its own that adjunct did not write.
fn node_by_hand(config: &[u8]) -> Option<String> {
    let model = Model::read(config, &FromDisk).ok()?;
    let section = model.entry(b"default", b"nodejs_conf").filter(|_| !adjunct_openssl_conf::state(&model).node)?;
    let name = String::from_utf8_lossy(&section.value).into_owned();
    Some(format!("Node reads the section '{name}' (nodejs_conf), which is left as it is: it does not name adjunct"))
}

fn by_hand(config: &[u8]) -> Option<String> {
    state(config)?.adjunct.map(|_| "adjunct is configured by hand in it; take that out by hand".to_owned())
}

/// Shows the change and asks; says whether to go on, which a dry run does not.
///
/// # Errors
/// As [`ask::consented`].
pub(super) fn agreed(report: &ChangeReport, consent: Consent, json: bool, question: &str) -> Result<bool, Failure> {
    if !json {
        output::print(&diff::painted(&report.diff, Style::of_stdout()))?;
    }
    if consent.dry_run {
        return Ok(false);
    }
    ask::consented(question, consent.yes, json).map(|()| true)
}

/// The report of a change, for people.
pub(super) fn text(done: &Done) -> String {
    let Done { report, state } = done;
    let mut text = report::checks(&report.checks, Style::of_stdout());
    for note in &report.notes {
        text += &format!("note: {}\n", shown(note));
    }
    if let Some(backup) = &report.backup {
        text += &format!("backup: {}\n", shown(backup));
    }
    if report.dry_run && report.changed {
        text += "nothing was changed (--dry-run)\n";
    } else {
        text += &format!("adjunct {state} in {}\n", shown(&report.config));
    }
    text
}

/// A change that is checked before, during and after.
struct Change<'a> {
    file: &'a ConfigFile,
    edited: &'a [u8],
    original: &'a [u8],
}

impl Change<'_> {
    /// Makes the change; undoes it where something fails that worked before.
    fn make(&self, backup: &mut Option<PathBuf>) -> Result<Vec<Check>, Failure> {
        let unchanged = |why: String| Failure::new(format!("{why}; {} is unchanged", self.file.path.display()));
        let wait = Progress::waiting("checking");
        let before = check::before(|| elsewhere(&wait, self.original, false, Depth::Full))?;
        let tried = check::judged(&before, elsewhere(&wait, self.edited, true, Depth::Quick)?);
        interrupted().map_err(|e| unchanged(e.to_string()))?;
        if let Some(why) = check::first_failure(&tried) {
            return Err(unchanged(why));
        }
        let kept = self.file.back_up(self.original)?;
        // The backup is what the file was before adjunct; what it is right now may hold an older block.
        let _hold = Hold::begin();
        self.file.replace(self.edited).inspect_err(|_| {
            // Of a file that stays what it is nobody wants one.
            if self.file.bytes == self.original {
                let _ = std::fs::remove_file(&kept);
            }
        })?;
        let after = check::judged(&before, check::all(&wait, &self.file.path, true, Depth::Full));
        let stopped = interrupted().err().map(|e| e.to_string());
        if let Some(why) = stopped.or_else(|| check::first_failure(&after)) {
            self.undo(&kept)?;
            return Err(Failure::new(format!("{why}; {} was put back", self.file.path.display())));
        }
        *backup = Some(kept);
        Ok(after)
    }

    fn undo(&self, backup: &Path) -> Result<(), Failure> {
        if self.file.bytes == self.original {
            return self.file.restore(backup);
        }
        ConfigFile::open(&self.file.path)?.replace(&self.file.bytes)
    }
}

/// The checks under a copy of `bytes` in a private place, before the file itself is touched.
pub(super) fn elsewhere(wait: &Progress, bytes: &[u8], adjunct: bool, depth: Depth) -> Result<Vec<Check>, Failure> {
    let failed = |e: std::io::Error| Failure::new(format!("a temporary file: {}", cause(&e)));
    let copy = scratch::config(bytes).map_err(failed)?;
    Ok(check::all(wait, copy.path(), adjunct, depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_written_in_one_way() {
        assert_eq!(keywords("rsa, Ciphers").unwrap(), "RSA,CIPHERS");
        assert!(keywords("cyphers").unwrap_err().to_string().contains("'cyphers'"));
        assert!(keywords(" ,").is_err());
    }
}
