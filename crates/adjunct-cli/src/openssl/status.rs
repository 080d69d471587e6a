//! `adjunct openssl status`.

use super::file::ConfigFile;
use super::includes::FromDisk;
use super::target::{self, TargetState};
use super::users::{self, Detail, Given, Ground, Own, Reach, Survey};
use super::{StatusArgs, Target, engine, explain, groups, programs};
use crate::doctor::{self, Judged, Outdated, Programs};
use crate::escape::shown;
use crate::failure::cause;
use crate::openssl_conf::{self, Model, State};
use crate::output::{self, Style};
use crate::ssh::lab;
use crate::{Failure, info};
use adjunct::config::{Group, Groups};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit status where adjunct is not enabled.
const NOT_ENABLED: u8 = 3;

/// What `status` reports.
#[derive(Debug, Clone, Serialize)]
struct Report {
    config: PathBuf,
    /// Whether the configuration names adjunct.
    enabled: bool,
    /// Whether `adjunct openssl enable` wrote it.
    by_enable: bool,
    /// Whether it is in force: the module loads, is preferred, and the default provider stands by.
    working: bool,
    module: Option<String>,
    version: Option<String>,
    loads: bool,
    /// What the engine serves that the module registers, where the configuration has it register one.
    engine: Option<String>,
    algorithms: Vec<&'static str>,
    /// The groups of algorithms that are not offered.
    algorithms_off: Vec<&'static str>,
    /// Instruction sets that this machine lacks or that are masked.
    instructions_off: Vec<&'static str>,
    default_properties: Option<String>,
    random_properties: Option<String>,
    /// The TLS groups of programs that set none themselves, where the configuration has a list.
    tls_groups: Option<String>,
    /// Whether Node, which reads a section of its own, gets it.
    node: bool,
    openssl: String,
    openssh: Option<String>,
    /// What keeps it from being in force, one line each.
    problems: Vec<String>,
    /// What else to know, one line each.
    notes: Vec<String>,
    /// Programs with a configuration of their own.
    #[serde(rename = "for")]
    targets: Vec<TargetState>,
    /// The programs that use OpenSSL, and what they get.
    programs: Survey,
    /// What is to be said of the program that was asked about, or of well-known ones that do not use OpenSSL themselves.
    doctor: Vec<Judged>,
    /// What runs code that an upgrade of adjunct or OpenSSL has replaced.
    restarts: Vec<Outdated>,
}

/// Runs the subcommand.
pub(super) fn run(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let openssl = programs::openssl_version()?;
    let mut report = look(&ConfigFile::open(&args.common.config()?)?, openssl);
    if args.common.config.is_none() {
        report.targets = target::states();
    }
    let only =
        args.program.as_deref().map(|name| users::locate(name).map(|path| doctor::compiled(&path))).transpose()?;
    let no_folder = |below: &PathBuf, why| Failure::new(format!("{}: {why}", below.display()));
    let below = args.below.as_ref().map(|below| match std::fs::canonicalize(below) {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(no_folder(below, "is no folder".to_owned())),
        Err(e) => Err(no_folder(below, cause(&e))),
    });
    let ground = Ground { below: below.transpose()?, proc: args.proc.clone() };
    let reach = reach(&report, args.common.config.is_some());
    report.programs = users::survey(&reach, &ground, only.as_deref())?;
    let standing = Standing::of(&report, reach);
    let mut programs = Programs::new(&standing);
    match &only {
        Some(path) => report.doctor.push(programs.judge(path)),
        None if ground.below.is_none() => {
            let all = doctor::known(&mut programs, |_| true)?;
            report.doctor = all.into_iter().map(|(_, judged)| judged).filter(is_other).collect();
            report.doctor.dedup_by(|a, b| a.path == b.path);
            report.restarts = doctor::outdated(&users::process::all(&ground.proc, &standing.reach.modules)?);
        }
        None => {}
    }
    if args.common.json {
        output::print_json(&report)?;
    } else {
        let style = Style::of_stdout();
        let detail = match only {
            Some(_) => Detail::One,
            None if args.programs => Detail::Programs,
            None => Detail::Groups,
        };
        let programs = users::text(&report.programs, detail, enabled(&report), style);
        output::print(&(text(&report, style) + &programs + &asked(&report, only.is_some(), style)))?;
    }
    let in_force = (!report.enabled || report.working) && report.targets.iter().all(|t| !t.enabled || t.working);
    Ok(match (enabled(&report), in_force) {
        (false, _) => ExitCode::from(NOT_ENABLED),
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::FAILURE,
    })
}

/// What is enabled on this machine, and who reads it.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Whether it is enabled for all programs.
    pub enabled: bool,
    /// Whether it is in force for them.
    pub working: bool,
    /// What keeps it from that, one line each.
    pub problems: Vec<String>,
    /// Who reads which configuration.
    pub reach: Reach,
}

/// What is enabled in the system's configuration, or in the one that is named.
///
/// # Errors
/// [`Failure`] where there is no `openssl` to ask, or no such file.
pub(crate) fn standing(config: Option<&Path>) -> Result<Standing, Failure> {
    let openssl = programs::openssl_version()?;
    let path =
        config.map_or_else(|| programs::openssl_dir().map(|dir| dir.join("openssl.cnf")), |c| Ok(c.to_owned()))?;
    let mut report = look(&ConfigFile::open(&path)?, openssl);
    if config.is_none() {
        report.targets = target::states();
    }
    let reach = reach(&report, config.is_some());
    Ok(Standing::of(&report, reach))
}

impl Standing {
    fn of(report: &Report, reach: Reach) -> Standing {
        let problems = report.problems.clone();
        Standing { enabled: report.enabled, working: report.working, problems, reach }
    }
}

/// A program that encrypts, and not by OpenSSL of its own: the others are in the list of programs.
fn is_other(judged: &Judged) -> bool {
    judged.openssl.is_none() && judged.verdict.cause != Some(users::Cause::NoCrypto)
}

/// What `adjunct doctor` says of the program that was asked about, or of well-known ones that do not use OpenSSL themselves, and what is
/// to be restarted.
fn asked(report: &Report, one: bool, style: Style) -> String {
    let told: String = report.doctor.iter().map(|judged| doctor::program_text(judged, style)).collect();
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
        line("restart", doctor::outdated_text(std::slice::from_ref(outdated)).trim_end());
    }
    text
}

/// Whether it is on for anybody.
fn enabled(report: &Report) -> bool {
    report.enabled || report.targets.iter().any(|t| t.enabled)
}

fn look(file: &ConfigFile, openssl: String) -> Report {
    let mut problems = Vec::new();
    let state = match Model::read(&file.bytes, &FromDisk) {
        Ok(model) => openssl_conf::state(&model),
        Err(refused) => {
            problems.push(refused.to_string());
            State::default()
        }
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let module = state.adjunct.as_ref().and_then(|a| a.module.as_deref()).map(text);
    let listed = programs::providers(&file.path).unwrap_or_else(|line| {
        problems.push(line);
        Vec::new()
    });
    let loaded = listed.iter().find(|p| p.name == "adjunct" && p.active);
    let enabled = state.adjunct.is_some();
    if enabled {
        problems.extend(why_not(&state, module.as_deref()));
        if loaded.is_none() {
            problems.push(explain::not_loaded(&file.path));
        }
    }
    let value = state.adjunct.as_ref().and_then(|a| a.algorithms.as_deref()).map(text);
    let (groups, errors) = value.as_deref().map_or((Groups::default(), Vec::new()), Groups::parse);
    problems.extend(errors.iter().map(ToString::to_string));
    let words = |on: bool| {
        Group::ALL.iter().filter(move |(group, _)| enabled && groups.has(*group) == on).map(|(_, word)| *word).collect()
    };
    let facts = info::Facts::of_this_machine();
    Report {
        config: file.path.clone(),
        enabled,
        by_enable: openssl_conf::contains_block(&file.bytes),
        working: state.works() && loaded.is_some(),
        module,
        version: loaded.map(|p| p.version.clone()),
        loads: loaded.is_some(),
        engine: engine::of(&state),
        algorithms: words(true),
        algorithms_off: words(false),
        instructions_off: facts.masked.iter().chain(&facts.missing).copied().collect(),
        default_properties: state.default_properties.as_deref().map(text),
        random_properties: state.random_properties.as_deref().map(text),
        tls_groups: groups::of(&state),
        node: state.node && loaded.is_some(),
        openssl,
        openssh: lab::Programs::find(None, None).ok().and_then(|p| p.versions().ok()).map(|(ssh, _)| ssh),
        problems,
        notes: engine::missing(&state, &file.path).into_iter().chain(super::elsewhere(&file.path)).collect(),
        targets: Vec::new(),
        programs: Survey::default(),
        doctor: Vec::new(),
        restarts: Vec::new(),
    }
}

/// Who reads the configuration, and what it gives.
fn reach(report: &Report, named: bool) -> Reach {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    let modules: Vec<PathBuf> = report.module.iter().map(PathBuf::from).collect();
    let systems = programs::openssl_dir().ok().and_then(|dir| std::fs::canonicalize(dir.join("openssl.cnf")).ok());
    Reach {
        config: report.config.clone(),
        given: Given { node: report.node, ..Given::provider(report.working, report.engine.as_deref()) },
        by_environment: named && systems.as_ref() != Some(&report.config),
        own: report.targets.iter().filter(|t| t.enabled).flat_map(own).collect(),
        since: modules.iter().chain([&report.config]).filter_map(|path| modified(path)).max(),
        modules,
    }
}

/// The programs of a target, and what their configuration gives.
fn own(target: &TargetState) -> impl Iterator<Item = Own> {
    let given = Given::provider(target.working, target.engine.as_deref());
    target.programs.iter().map(move |program| Own { program: program.clone(), config: target.config.clone(), given })
}

/// What keeps an enabled adjunct from being in force.
fn why_not(state: &State, module: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    match module {
        None => lines.push("the configuration names no module".to_owned()),
        Some(path) if !Path::new(path).is_file() => lines.push(format!("{path}: no such module")),
        Some(_) => {}
    }
    if !state.default_active {
        lines.push("OpenSSL's default provider is not activated".to_owned());
    }
    if !state.works() && state.default_active && module.is_some() {
        lines.push("adjunct is not preferred, or the random generator is not kept away from it".to_owned());
    }
    lines
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

fn text(report: &Report, style: Style) -> String {
    let mut text = String::new();
    let state = match (report.enabled, report.working) {
        (false, _) if enabled(report) => style.notice("not enabled for all programs"),
        (false, _) => style.notice("not enabled"),
        (true, true) => style.good("enabled and in force"),
        (true, false) => style.bad("enabled, not in force"),
    };
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{:<16}{value}", format!("{name}:"));
    };
    line("adjunct", &state);
    line("configuration", &shown(&report.config));
    if report.enabled {
        let loads =
            report.version.as_ref().map_or("does not load".to_owned(), |v| format!("loads, version {}", shown(v)));
        line("module", &format!("{} ({loads})", shown(report.module.as_deref().unwrap_or("none"))));
        line("algorithms", &report.algorithms.join(", "));
        if !report.algorithms_off.is_empty() {
            line("off", &report.algorithms_off.join(", "));
        }
        line("engine", &shown(report.engine.as_deref().unwrap_or("none")));
        line("preferred by", &shown(report.default_properties.as_deref().unwrap_or("nothing")));
        if let Some(groups) = &report.tls_groups {
            line("TLS groups", &shown(groups));
        }
        line("random numbers", &shown(report.random_properties.as_deref().unwrap_or("not kept apart")));
    }
    if !report.instructions_off.is_empty() {
        line("not in the CPU", &report.instructions_off.join(", "));
    }
    line("OpenSSL", &shown(&report.openssl));
    line("OpenSSH", &shown(report.openssh.as_deref().unwrap_or("not installed")));
    for problem in &report.problems {
        line("problem", &shown(problem));
    }
    for note in &report.notes {
        line("note", &shown(note));
    }
    report.targets.iter().for_each(|target| text += &target_text(target, report.working, style));
    text
}
