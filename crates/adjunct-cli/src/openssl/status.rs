//! `adjunct openssl status`: what is configured, whether it is in force, and which programs it serves.

use super::standing::Configuration;
use super::target::TargetState;
use super::{StatusArgs, Target};
use adjunct_survey::served::{self, Judged, Outdated, Programs};
use adjunct_survey::{self as survey, Detail, Ground, Survey, programs};
use adjunct_tool::Failure;
use adjunct_tool::escape::shown;
use adjunct_tool::failure::cause;
use adjunct_tool::output::{self, Style};
use adjunct_tool::progress::Progress;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit status where adjunct is not enabled.
const NOT_ENABLED: u8 = 3;

/// The report of `status`.
#[derive(Debug, Clone, Serialize)]
struct StatusReport {
    #[serde(flatten)]
    configuration: Configuration,
    /// The programs that use OpenSSL, and what they get.
    programs: Survey,
    /// The verdicts on the program that was asked about, or on well-known ones that do not use OpenSSL themselves.
    doctor: Vec<Judged>,
    /// Processes that run code which an upgrade of adjunct or OpenSSL has replaced.
    restarts: Vec<Outdated>,
}

/// Runs the subcommand.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let wait = Progress::waiting("OpenSSL's configuration is looked at");
    let openssl = programs::openssl_version()?;
    let configuration = Configuration::look(&args.common.config()?, openssl, args.common.config.is_some())?;
    let only =
        args.program.as_deref().map(|name| survey::locate(name).map(|path| served::compiled(&path))).transpose()?;
    let no_folder = |below: &PathBuf, why| Failure::new(format!("{}: {why}", below.display()));
    let below = args.below.as_ref().map(|below| match std::fs::canonicalize(below) {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(no_folder(below, "is no folder".to_owned())),
        Err(e) => Err(no_folder(below, cause(&e))),
    });
    let ground = Ground { below: below.transpose()?, proc: args.proc.clone() };
    let standing = super::standing::of(&configuration, args.common.config.is_some());
    wait.now("looking for programs and processes");
    let programs = survey::survey(&standing.reach, &ground, only.as_deref(), wait)?;
    let wait = Progress::waiting("looking at well-known programs and at processes");
    let mut report = StatusReport { configuration, programs, doctor: Vec::new(), restarts: Vec::new() };
    let mut programs = Programs::new(&standing);
    match &only {
        Some(path) => report.doctor.push(programs.judge(path)),
        None if ground.below.is_none() => {
            let all = served::known(&mut programs, |_| true)?;
            report.doctor = all.into_iter().map(|(_, judged)| judged).filter(is_other).collect();
            report.doctor.dedup_by(|a, b| a.path == b.path);
            report.restarts = served::outdated(&survey::process::all(&ground.proc, &standing.reach.modules)?);
        }
        None => {}
    }
    drop(wait);
    if args.common.json {
        output::print_json(&report)?;
    } else {
        let style = Style::of_stdout();
        let detail = match only {
            Some(_) => Detail::One,
            None if args.programs => Detail::Programs,
            None => Detail::Groups,
        };
        let programs = survey::text(&report.programs, detail, report.configuration.enabled_for_any(), style);
        output::print(&(text(&report.configuration, style) + &programs + &asked(&report, only.is_some(), style)))?;
    }
    let found = &report.configuration;
    let in_force = (!found.enabled || found.working) && found.targets.iter().all(|t| !t.enabled || t.working);
    Ok(match (found.enabled_for_any(), in_force) {
        (false, _) => ExitCode::from(NOT_ENABLED),
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::FAILURE,
    })
}

/// A program that encrypts, and not by OpenSSL of its own: the others are in the list of programs.
fn is_other(judged: &Judged) -> bool {
    judged.openssl.is_none() && judged.verdict.cause != Some(survey::Cause::NoCrypto)
}

/// What `adjunct doctor` says of the program that was asked about, or of well-known ones that do not use OpenSSL themselves, and what is
/// to be restarted.
fn asked(report: &StatusReport, one: bool, style: Style) -> String {
    let told: String = report.doctor.iter().map(|judged| served::text::program(judged, style)).collect();
    if one {
        return format!("\n{told}");
    }
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let name = if name.is_empty() { String::new() } else { format!("{name}:") };
        let _ = writeln!(text, "{name:<16}{value}");
    };
    for (at, told) in told.lines().enumerate() {
        line(if at == 0 { "other programs" } else { "" }, told);
    }
    for outdated in &report.restarts {
        line("restart", served::text::outdated(std::slice::from_ref(outdated)).trim_end());
    }
    text
}

/// The lines of a program with a configuration of its own.
fn target_text(target: &TargetState, for_all: bool, style: Style) -> String {
    let state = match (target.enabled, target.working) {
        (false, _) if for_all => style.good("enabled for all programs, it among them"),
        (false, _) => "not enabled".to_owned(),
        (true, true) => style.good("enabled and in force"),
        (true, false) => style.bad("enabled, not in force"),
    };
    let whom = if target.target == Target::Sshd { "for sshd" } else { "for your ssh" };
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{:<16}{value}", format!("{name}:"));
    };
    if !target.enabled {
        line(whom, &state);
        return text;
    }
    line(whom, &format!("{state}, {}", shown(&target.config)));
    let files: Vec<String> = target.files.iter().map(shown).collect();
    line("  named by", &files.join(", "));
    line("  engine", &shown(target.engine.as_deref().unwrap_or("none")));
    target.problems.iter().for_each(|problem| line("  problem", &shown(problem)));
    target.notes.iter().for_each(|note| line("  note", &shown(note)));
    text
}

fn text(found: &Configuration, style: Style) -> String {
    let mut text = String::new();
    let state = match (found.enabled, found.working) {
        (false, _) if found.enabled_for_any() => style.notice("not enabled for all programs"),
        (false, _) => style.notice("not enabled"),
        (true, true) => style.good("enabled and in force"),
        (true, false) => style.bad("enabled, not in force"),
    };
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{:<16}{value}", format!("{name}:"));
    };
    line("adjunct", &state);
    line("configuration", &shown(&found.config));
    if found.enabled {
        let loads =
            found.version.as_ref().map_or("does not load".to_owned(), |v| format!("loads, version {}", shown(v)));
        line("module", &format!("{} ({loads})", shown(found.module.as_deref().unwrap_or("none"))));
        line("algorithms", &found.algorithms.join(", "));
        if !found.algorithms_off.is_empty() {
            line("off", &found.algorithms_off.join(", "));
        }
        line("engine", &shown(found.engine.as_deref().unwrap_or("none")));
        line("preferred by", &shown(found.default_properties.as_deref().unwrap_or("nothing")));
        if let Some(groups) = &found.tls_groups {
            line("TLS groups", &shown(groups));
        }
        line("random numbers", &shown(found.random_properties.as_deref().unwrap_or("not kept apart")));
    }
    if !found.instructions_off.is_empty() {
        line("not in the CPU", &found.instructions_off.join(", "));
    }
    line("OpenSSL", &shown(&found.openssl));
    line("OpenSSH", &shown(found.openssh.as_deref().unwrap_or("not installed")));
    for problem in &found.problems {
        line("problem", &shown(problem));
    }
    for note in &found.notes {
        line("note", &shown(note));
    }
    found.targets.iter().for_each(|target| text += &target_text(target, found.working, style));
    text
}
