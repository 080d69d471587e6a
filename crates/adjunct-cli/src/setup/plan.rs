//! What is to be done: found out, measured and shown before anything is changed.

use super::prior::Prior;
use super::{Args, Whose, step};
use crate::diff::{painted, unified};
use crate::openssl::target;
use crate::ssh::lab::Programs;
use crate::ssh::tune::left::Left;
use adjunct_tool::files;
use adjunct_tool::output::Style;
use adjunct_tool::progress::Progress;
use adjunct_tool::{Failure, failure::cause};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds that looking at what is there takes, that `ssh tune` takes before it measures, and that it takes where it does not measure.
const LOOK: f64 = 6.0;
const READY: f64 = 4.0;
const TRIED: f64 = 3.0;

/// The planned changes.
#[derive(Debug)]
pub(super) struct Plan {
    /// The report of `openssl enable --dry-run`.
    pub enable: Value,
    /// Figures and plans of `ssh tune`; `None` where there is no OpenSSH.
    pub tune: Option<Value>,
    /// Path of the file with the measured figures.
    pub figures: PathBuf,
    /// The gain of the setup, in a sentence.
    pub buys: Option<String>,
    /// Parts of that which the order of algorithms brings and which adjunct adds, a line each.
    pub gain: Vec<String>,
    /// Peers that can log in today and that the policy refuses.
    pub refuses: Vec<String>,
    /// Why ssh's order of ciphers is left as it is; `None` where it changes, or a policy decides.
    pub left: Option<Left>,
    /// Notes, a line each.
    pub notes: Vec<String>,
    /// Whether adjunct was on for the target before.
    was_enabled: bool,
}

/// The state before the changes, to be restored after a failure.
#[derive(Debug)]
pub(super) struct Before {
    files: Prior,
    was_enabled: bool,
    had_files: bool,
}

impl Plan {
    /// Asks and measures; the figures go to `figures`.
    ///
    /// # Errors
    /// What keeps it from being done.
    pub fn make(args: &Args, figures: &Path) -> Result<Plan, Failure> {
        let was_enabled = target::is_enabled(args.whose.target());
        let mut plan = Plan {
            enable: Value::Null,
            tune: None,
            figures: figures.to_owned(),
            buys: None,
            gain: Vec::new(),
            refuses: Vec::new(),
            left: None,
            notes: Vec::new(),
            was_enabled,
        };
        let mut words = plan.enable_words(args);
        words.push("--dry-run");
        let measures = Programs::find(None, None);
        let seconds = if measures.is_err() || args.from.is_some() { TRIED } else { args.time as f64 + READY };
        let (bar, expected) = (Progress::begin(), LOOK + seconds);
        let tick = |what: &'static str| {
            let bar = &bar;
            move |_| bar.set_expected(expected, what)
        };
        plan.enable = step::run(&words, tick("looking at what is there"))?.succeeded()?;
        let lines = plan.enable["notes"].as_array().into_iter().flatten();
        plan.notes.extend(lines.filter_map(|note| note.as_str().map(str::to_owned)));
        match measures {
            Ok(_) => plan.measure(args, tick("measuring ssh and sshd"))?,
            Err(why) => plan.notes.push(format!("OpenSSL alone is set up: {why}")),
        }
        Ok(plan)
    }

    /// The words of `openssl enable`.
    pub fn enable_words<'a>(&self, args: &'a Args) -> Vec<&'a str> {
        let mut words = vec!["openssl", "enable", "--json", "--for", args.whose.name()];
        let choice = args.module.choice();
        if let Some(module) = choice.path.and_then(Path::to_str) {
            words.extend(["--module", module]);
        }
        if choice.trusted {
            words.push("--trust-module");
        }
        words
    }

    fn measure(&mut self, args: &Args, tick: impl FnMut(Duration)) -> Result<(), Failure> {
        let (time, from) = (args.time.to_string(), args.from.as_ref().map(|path| path.to_string_lossy()));
        let figures = format!("--json={}", self.figures.display());
        let module = self.enable["module"].as_str().map(|module| format!("--module={module}"));
        let mut words = vec!["ssh", "tune", &figures];
        match &from {
            Some(from) => words.extend(["--from", from]),
            None => words.extend(["--quick", "--time", &time]),
        }
        words.extend(args.policy.iter().flat_map(|policy| ["--policy", policy.as_str()]));
        if let Some(module) = module.as_ref().filter(|_| from.is_none()) {
            words.push(module);
            // It was judged by `openssl enable`, which is stricter.
            words.push("--trust-module");
            if args.whose == Whose::Sshd {
                words.push("--module-for-sshd");
            }
        }
        let ran = step::run(&words, tick)?;
        adjunct_tool::interrupt::interrupted()?;
        match ran.code() {
            0 => {}
            // What is wrong with its words was wrong with this command's: the policy.
            2 => return Err(Failure::Words(ran.why())),
            _ => return Err(Failure::new(ran.why())),
        }
        let read = |e: std::io::Error| Failure::new(format!("{}: {}", self.figures.display(), cause(&e)));
        let text = files::read(&self.figures, 16 << 20).map_err(read)?;
        let report: Value =
            serde_json::from_slice(&text).map_err(|e| Failure::new(format!("adjunct ssh tune: {e}")))?;
        self.buys = report["buys"].as_str().map(str::to_owned);
        self.gain = gain(&report);
        self.left = Left::deserialize(&report["left"]).ok();
        let said = self.left.as_ref().map(Left::advice).unwrap_or_default();
        for plan in plans(&report) {
            let refused = plan["peers"]["refused"].as_array().into_iter().flatten();
            self.refuses.extend(refused.filter_map(|peer| peer["name"].as_str().map(str::to_owned)));
            if let Some(why) = plan["blocked"].as_str() {
                return Err(Failure::new(format!("{why}; nothing was changed")));
            }
            let lines = plan["notes"].as_array().into_iter().flatten();
            let lines = lines.filter_map(|note| note.as_str().map(str::to_owned));
            // What to do is said at the end.
            self.notes.extend(lines.filter(|note| !said.contains(note)));
        }
        self.tune = Some(report);
        Ok(())
    }

    /// Whether OpenSSL's configuration is changed.
    pub fn enables(&self) -> bool {
        self.enable["changed"].as_bool() == Some(true)
    }

    /// Whether a file of ssh's or sshd's is changed.
    pub fn tunes(&self) -> bool {
        self.changing().next().is_some()
    }

    /// Whether the running sshd has to read its files again: its own, or OpenSSL's. Where sshd alone has a configuration of OpenSSL's, it is
    /// restarted for it.
    pub fn tells_sshd(&self, whose: Whose) -> bool {
        let own = self.changing().any(|plan| plan["program"].as_str() == Some("sshd"));
        own || (self.enables() && whose == Whose::All)
    }

    /// Whether anything is changed.
    pub fn changes(&self) -> bool {
        self.enables() || self.tunes()
    }

    /// The plans that change a file.
    fn changing(&self) -> impl Iterator<Item = &Value> {
        self.tune.iter().flat_map(plans).filter(|plan| plan["changes"].as_bool() == Some(true))
    }

    /// The files that are changed.
    fn files(&self) -> Vec<&str> {
        let of_openssl = self.enable["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let of_openssl = of_openssl.filter(|_| self.enables());
        of_openssl.chain(self.changing().filter_map(|plan| plan["file"].as_str())).collect()
    }

    /// The question before the changes: it names what is changed, and nothing else.
    pub fn question(&self) -> String {
        format!("Change {}?", self.files().join(" and "))
    }

    /// The planned changes, for people.
    pub fn text(&self, style: Style) -> String {
        let mut text = painted(self.enable["diff"].as_str().unwrap_or_default(), style);
        for plan in self.changing() {
            let path = Path::new(plan["file"].as_str().unwrap_or_default());
            let old = files::config(path).unwrap_or_default();
            text += &painted(&unified(path, &old, plan["text"].as_str().unwrap_or_default().as_bytes()), style);
        }
        for note in &self.notes {
            text += &format!("{}: {}\n", style.notice("note"), adjunct_tool::escape::shown(note));
        }
        for line in &self.gain {
            text += &format!("{}\n", style.strong(line));
        }
        let ssh = self.tune.is_some() && !self.tunes();
        if self.changes() {
            text += &format!("to be changed: {}\n", self.files().join(", "));
        }
        if ssh && self.changes() {
            text += "not to be changed: ssh's and sshd's algorithms\n";
        }
        text
    }

    /// Notes the present state of the files.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn before(&self) -> Result<Before, Failure> {
        let mut files = Prior::default();
        let listed = self.enable["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for path in listed.chain(self.enable["config"].as_str()) {
            files.note(Path::new(path))?;
        }
        let mut had_files = false;
        for path in self.tune.iter().flat_map(plans).filter_map(|plan| plan["file"].as_str()) {
            files.note(Path::new(path))?;
            had_files |= Path::new(path).exists();
        }
        Ok(Before { files, was_enabled: self.was_enabled, had_files })
    }
}

/// The planned files of a report of `ssh tune`.
fn plans(report: &Value) -> impl Iterator<Item = &Value> {
    report["plans"].as_array().into_iter().flatten()
}

/// The gain that a report of `ssh tune` states, a line each.
fn gain(report: &Value) -> Vec<String> {
    let gain = &report["gain"];
    let parts = ["order", "adjunct"].map(|part| gain[part].as_str().map(|said| format!("  {said}")));
    let [first, last] = ["copying", "login"].map(|part| gain[part].as_str().map(str::to_owned));
    std::iter::once(first).chain(parts).chain([last]).flatten().collect()
}

impl Before {
    /// Goes back to the state before: by the commands that take a step back with all that belongs to it (folders, backups, the running sshd) where
    /// nothing of it was there before, then file by file.
    ///
    /// # Errors
    /// What could not be put back.
    pub fn put_back(&self, whose: Whose) -> Result<(), Failure> {
        if self.files.changed().is_empty() {
            return Ok(());
        }
        // What these cannot do, the files' own bytes do below.
        if !self.had_files {
            let _ = step::run_to_end(&["ssh", "tune", "--undo"]);
        }
        if !self.was_enabled {
            let _ = step::run_to_end(&["openssl", "disable", "--for", whose.name(), "--yes", "--json"]);
        }
        let done = self.files.put_back();
        // It may have read what is gone now.
        if whose == Whose::All {
            let _ = super::reload();
        }
        done
    }
}
