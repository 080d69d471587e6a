//! `adjunct setup`: all steps in one command, and their undoing. It measures, shows what it would change, asks, changes, checks with real logins,
//! tells the running sshd, and proves with a session that the data go through hardware.
//!
//! Each part is a command that can be run by itself (`step`): `openssl enable`, `ssh tune`, `ssh verify`. Setup adds the order and one question, and
//! restores every file after a failure or an interrupt anywhere (`prior`).

mod plan;
mod prior;
mod proof;
mod step;
mod way;

use crate::doctor;
use crate::openssl::{Target, target};
use crate::ssh::tune::apply::Reload;
use adjunct_survey::served::{self, Outdated};
use adjunct_tool::interrupt::{Hold, catch_interrupts, interrupted};
use adjunct_tool::output::{self, Style};
use adjunct_tool::{Failure, ask, scratch};
use plan::Plan;
use proof::{NotInHardware, Reason};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use way::{DISABLE, ENABLE, TUNE, UNTUNE, VERIFY, Way};

/// The exit code where all is set up and the session was not hardware.
const NOT_IN_HARDWARE: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  sudo adjunct setup --dry-run         measure and show what would be changed and what it buys; change nothing
  sudo adjunct setup                   the same, then ask, do it, and prove it with a session
  sudo adjunct setup --yes --json      for a machine that sets itself up
  sudo adjunct setup --yes             where there is no terminal to ask at
  sudo adjunct setup --policy modern   write the algorithms of this policy for ssh and sshd (see adjunct ssh tune --help)
  sudo adjunct setup --for sshd        for sshd alone, not for all programs
  sudo adjunct setup --undo            ask, then take all of it back, byte for byte

What it does, in this order; each can be done by itself:
  1. adjunct ssh tune --quick --module   measures ssh and sshd on loopback: as they are, in the best order, and with adjunct
  2. shows the change of openssl.cnf and the files for ssh and sshd, and asks
  3. adjunct openssl enable              lets OpenSSL use adjunct, checked with real logins
  4. adjunct ssh tune --apply            puts ssh's fastest algorithms first, where that clearly brings something; tried before
  5. systemctl reload ssh                has the running sshd read its files again (or its SIGHUP does); sessions stay
  6. adjunct ssh verify                  sends data through a real session, and looks who encrypted them
It measures for 45 seconds (--time), and takes about a minute in all; on a busy machine up to two, because its logins take longer then.
Where a step fails, or an interrupt comes, all files are put back as they were. Other services that run already go on without adjunct until they are started again; they are named at the end, and not touched.
Where there is no ssh or sshd, OpenSSL alone is set up. Without --policy nothing is taken off any list, so whoever can log in today can then;
with it, those that it refuses are named before the question. Without a terminal it wants --yes.

Exit status: 0 set up, and a session was encrypted in hardware (or there is no OpenSSH here), 1 it failed and nothing is changed (one
line says why), 2 the command line is wrong, 3 set up, but the session was not hardware: it says why, and what to do (with --json
in not_in_hardware: reason is order-unclear or order-left where only ssh's order was left as it was, policy where that has such
a cipher first, not-served where adjunct does not serve what it should).";

/// Set it up for OpenSSL and OpenSSH: measure, show, change; or undo
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whom to switch it on for
    #[arg(long = "for", value_name = "WHOM", default_value = "all")]
    whose: Whose,
    /// Write the algorithms of a policy for ssh and sshd: compat, modern, strict, fips, or a file [default: ssh's in the best order, where
    /// that clearly brings something]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    /// How long to measure: no measurement is begun after that, also on a busy machine, where fewer are made. Looking at what is there and checking
    /// the change with real logins take a quarter of a minute besides, on a busy machine up to a minute
    #[arg(long, value_name = "SECONDS", default_value = "45", value_parser = clap::value_parser!(u64).range(5..=3600))]
    time: u64,
    /// Take the figures of an earlier 'adjunct ssh tune --json=FILE' instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with = "time")]
    from: Option<PathBuf>,
    #[command(flatten)]
    module: adjunct_survey::module::Args,
    /// Take all of it back, byte for byte
    #[arg(long, conflicts_with_all = ["policy", "time", "from", "module", "trust_module"])]
    undo: bool,
    /// Measure and show what would be changed, and change nothing
    #[arg(short = 'n', long, conflicts_with = "undo")]
    dry_run: bool,
    /// Do not ask; needed where there is no terminal, and with --json
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

/// The programs that adjunct is enabled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Whose {
    /// Every program: the system's openssl.cnf
    All,
    /// sshd alone, by a configuration of its own; sshd is restarted, sessions stay
    Sshd,
}

impl Whose {
    fn name(self) -> &'static str {
        match self {
            Whose::All => "all",
            Whose::Sshd => "sshd",
        }
    }

    fn target(self) -> Target {
        match self {
            Whose::All => Target::All,
            Whose::Sshd => Target::Sshd,
        }
    }
}

/// The report of the command.
#[derive(Debug, Default, Serialize)]
struct SetupReport {
    dry_run: bool,
    /// Whether a file was changed, or would be.
    changed: bool,
    /// The gain of the setup: copying with the settings after it, compared with those now; `None` where nothing was measured.
    buys: Option<String>,
    /// The parts of the gain, by the order of algorithms and by adjunct, for copies and for logins: a line each.
    gain: Vec<String>,
    /// Peers that can log in today and that the policy refuses.
    refuses: Vec<String>,
    /// Whether a session was encrypted in hardware afterwards; none where none was tried.
    bulk_in_hardware: Option<bool>,
    /// Why it was not, and what to do.
    not_in_hardware: Option<NotInHardware>,
    /// Programs that run without adjunct, or with old code, until they are started again.
    restart: Vec<Outdated>,
    /// Notes, a line each.
    notes: Vec<String>,
    /// The reports of `openssl enable`, `ssh tune` and `ssh verify`.
    enable: Option<Value>,
    tune: Option<Value>,
    verify: Option<Value>,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show; everything is then as it was.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    catch_interrupts();
    if !args.dry_run && !nix::unistd::geteuid().is_root() {
        return Err(Failure::new(
            "setup changes files of the system: run it as root; 'adjunct openssl enable --for ssh' is for your own ssh alone",
        ));
    }
    if args.undo {
        return undo(args);
    }
    if !args.dry_run {
        // Before anything is measured.
        ask::can_consent(args.yes, args.json)?;
    }
    let folder = scratch::folder()?;
    let plan = Plan::make(args, &folder.path().join("tune.json"))?;
    let mut report = SetupReport {
        dry_run: args.dry_run,
        changed: plan.changes(),
        buys: plan.buys.clone(),
        gain: plan.gain.clone(),
        refuses: plan.refuses.clone(),
        notes: plan.notes.clone(),
        ..SetupReport::default()
    };
    let style = Style::of_stdout();
    if !args.json {
        output::print(&plan.text(style))?;
    }
    if args.dry_run {
        (report.enable, report.tune) = (Some(plan.enable), plan.tune);
        return told(args, &report, style);
    }
    if plan.changes() {
        ask::consented(&plan.question(), args.yes, args.json)?;
    }
    report.tune.clone_from(&plan.tune);
    perform(args, &plan, &mut report)?;
    told(args, &report, style)
}

/// Makes the changes and proves them; puts all files back where one of it fails.
fn perform(args: &Args, plan: &Plan, report: &mut SetupReport) -> Result<(), Failure> {
    let _hold = Hold::begin();
    let before = plan.before()?;
    let done = changes(args, plan, report);
    let Err(why) = done.and_then(|()| interrupted()) else {
        // Where nothing can be found out, nothing is said.
        report.restart = doctor::to_restart(None, Path::new("/proc")).map(|(all, _)| all).unwrap_or_default();
        return Ok(());
    };
    match before.put_back(args.whose) {
        Ok(()) => Err(Failure::new(format!("{why}; everything is as it was"))),
        Err(problem) => Err(Failure::new(format!("{why}; and not all could be put back: {problem}"))),
    }
}

fn changes(args: &Args, plan: &Plan, report: &mut SetupReport) -> Result<(), Failure> {
    let steps = [(plan.enables(), ENABLE), (plan.tunes(), TUNE), (plan.tune.is_some(), VERIFY)];
    let mut way = Way::new(steps.into_iter().filter_map(|(is_done, step)| is_done.then_some(step)));
    interrupted()?;
    if plan.enables() {
        let mut words = plan.enable_words(args);
        words.push("--yes");
        if args.whose == Whose::Sshd {
            words.push("--restart");
        }
        report.enable = Some(way.succeeded(ENABLE, &words)?);
    }
    interrupted()?;
    if plan.tunes() {
        let from = plan.figures.to_string_lossy();
        let mut words = vec!["ssh", "tune", "--from", &from, "--apply", "--json"];
        words.extend(args.policy.iter().flat_map(|policy| ["--policy", policy.as_str()]));
        report.tune = Some(way.succeeded(TUNE, &words)?);
    }
    interrupted()?;
    if plan.tells_sshd(args.whose) {
        reload()?;
    }
    interrupted()?;
    if plan.tune.is_some() {
        let ran = way.run(VERIFY, &["ssh", "verify", "--json"])?;
        let verified = ran.report().filter(|_| matches!(ran.code(), 0 | 3));
        let Some(verified) = verified else { return Err(Failure::new(format!("no session: {}", ran.why()))) };
        report.bulk_in_hardware = verified["bulk_in_hardware"].as_bool();
        report.not_in_hardware = NotInHardware::of(&verified, plan.left.as_ref(), args.policy.as_deref());
        report.verify = Some(verified);
    }
    Ok(())
}

/// Has the running sshd read its files again, where one runs; sessions stay.
fn reload() -> Result<(), Failure> {
    Reload::find().map_or(Ok(()), |reload| reload.run())
}

fn undo(args: &Args) -> Result<ExitCode, Failure> {
    ask::consented("Take all of it back?", args.yes, args.json)?;
    let on = target::is_enabled(args.whose.target());
    let mut way = Way::new(std::iter::once(UNTUNE).chain(on.then_some(DISABLE)));
    let ran = way.run(UNTUNE, &["ssh", "tune", "--undo"])?;
    if ran.code() != 0 {
        return Err(Failure::new(ran.why()));
    }
    let tuned = ran.said();
    let mut enable = None;
    if on {
        let words = ["openssl", "disable", "--for", args.whose.name(), "--yes", "--json"];
        enable = Some(way.succeeded(DISABLE, &words)?);
    }
    drop(way);
    let changed = on || tuned.contains(" is gone");
    if changed && args.whose == Whose::All {
        reload()?;
    }
    let notes = enable.iter().filter_map(|e| e["notes"].as_array()).flatten();
    let notes: Vec<String> = notes.filter_map(|note| note.as_str().map(str::to_owned)).collect();
    if args.json {
        output::print_json(&SetupReport { changed, notes, enable, ..SetupReport::default() })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = tuned.lines().filter(|line| line.ends_with(" is gone")).fold(String::new(), |t, l| t + l + "\n");
    if let Some(config) = enable.as_ref().and_then(|e| e["config"].as_str()) {
        text += &format!("adjunct is disabled in {config}\n");
    }
    notes.iter().for_each(|note| text += &format!("note: {note}\n"));
    text += if changed { "all of it is taken back\n" } else { "adjunct is not set up\n" };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what was done.
fn told(args: &Args, report: &SetupReport, style: Style) -> Result<ExitCode, Failure> {
    let code = match report.bulk_in_hardware {
        Some(false) => ExitCode::from(NOT_IN_HARDWARE),
        _ => ExitCode::SUCCESS,
    };
    if args.json {
        output::print_json(report)?;
        return Ok(code);
    }
    let mut text = String::new();
    for line in served::text::outdated(&report.restart).lines() {
        text += &format!("{}: {line}\n", style.notice("note"));
    }
    text += &match (report.dry_run, report.changed, report.bulk_in_hardware) {
        (true, true, _) => "nothing was changed (--dry-run)\n".to_owned(),
        (true, false, _) => "nothing has to be changed\n".to_owned(),
        (false, changed, hardware) => {
            let done = if changed { "adjunct is set up" } else { "adjunct was set up already" };
            let left = report.not_in_hardware.as_ref().filter(|not| not.reason != Reason::NotServed);
            let done = if left.is_some() { format!("{done}, and OpenSSL is served by it") } else { done.to_owned() };
            let gain: String = report.gain.iter().map(|line| format!("{line}\n")).collect();
            let proof = match hardware {
                Some(true) => style.good("a session over loopback was encrypted in hardware, both ways"),
                Some(false) => report.not_in_hardware.as_ref().map_or_else(String::new, |not| not.text(style)),
                None => {
                    "there is no OpenSSH here to prove it with: adjunct openssl status shows whom it serves".to_owned()
                }
            };
            let proof = proof.trim_end();
            format!("{done}\n{gain}{proof}\nsudo adjunct setup --undo takes it back\n")
        }
    };
    output::print(&text)?;
    Ok(code)
}
