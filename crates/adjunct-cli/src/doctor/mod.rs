//! `adjunct doctor`: is a program served, and if not, why and what to do, in one sentence; for a program, a process, a service, the processes that
//! listen at a port, or the whole machine. It changes nothing: it reads files and /proc, and asks `openssl` and `ssh` for their configuration.
//!
//! The libraries of a program, the configuration that it reads and what it gets by that come from `openssl::users`, as in `adjunct openssl status`,
//! which judges a program by `program` too.
//!
//! * `hidden`: why a process may not be looked at. `restart`: does restarts that are asked for. `advice`: the pages about each cause.
//! * `target`: what a word on the command line means, with `sockets` for `HOST:PORT`.
//! * `program`: programs that are not running, with `script` and `plugins`. `running`: processes.
//! * `ssh`: what ssh takes first. `verdict`: the sentence. `machine`: all programs and processes. `text`: the reports for people.

mod advice;
mod hidden;
mod machine;
mod restart;
mod running;
mod sockets;
mod ssh;
mod target;
mod text;

#[cfg(test)]
mod tests;

use crate::cards::serving::{self, Serving};
use crate::openssl::standing::standing;
use crate::watch::sample;
use adjunct_card_state::folder::Folder;
use adjunct_survey::process::{self, Processes};
use adjunct_survey::served::{self, Judged, Outdated, Programs, Standing, State, Verdict, outdated};
use adjunct_tool::interrupt::catch_interrupts;
use adjunct_tool::output::{self, Style};
use adjunct_tool::progress::Progress;
use adjunct_tool::{Failure, ask, escape::shown};
use running::{Proof, Ran};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use target::{Subject, TargetKind};

const EXAMPLES: &str = "\
Examples:
  adjunct doctor                       the whole machine, worst first
  adjunct doctor curl                  a program: is it served when it is started?
  sudo adjunct doctor nginx            the same, and its processes
  sudo adjunct doctor ssh.service      the processes of a service
  sudo adjunct doctor localhost:443    whoever listens there
  sudo adjunct doctor 4711             one process
  sudo adjunct doctor --restarts       what is to be started again: it runs old code, or none of adjunct's; asks, and restarts it
  adjunct doctor ADJ-D004              the page about a number that stands behind a sentence
  adjunct doctor git --json | jq -r .cause

A name is a program that a shell finds, or else a service. A process is served once the module is
in its memory, where its first use of OpenSSL puts it. The operations counted are those of all
programs of that user since their last reset (adjunct stats). Nothing is started or changed, but what
--restarts restarts: services of systemd's, one by one, each where somebody at a terminal says yes, or all
with --yes (those that end sessions excepted). Without either it lists them.

The number behind a sentence, as ADJ-D004, stays that of its cause; docs/advice.md has a page for each.

In JSON, state is served, served-through-plugin, not-served or unknown, and cause one of:
not-in-force, module-replaced, library-replaced, started-before, environment-config, other-config,
node-section, apparmor, selinux, chroot, container, setuid, plugin-off, not-enabled, old-openssl,
other-machine, low-level, wheel, static, gnutls, nss, java, go, rustls, boringssl, other-library,
own-provider, own-section, not-used-yet, script, permission, no-crypto. An EP11 coprocessor's cause is one of:
card-down, socket-permission, vault-locked, no-wrapping-key, no-answer.

Exit status: 0 served, 1 not served, or it failed (one line says why), 2 it cannot be said, or the
command line is wrong. Of the whole machine: 0; 1 where what is enabled is not in force, where
old code runs, or where an EP11 coprocessor does not serve. With --restarts: 0; 1 where a restart failed.";

/// Say whether a program is served, and if not why and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A program, a process's number, a service, or HOST:PORT; or the number of an advice; without it the whole machine
    #[arg(value_name = "PROGRAM|PID|SERVICE|HOST:PORT")]
    subject: Option<String>,
    /// Show what is to be started again, and nothing else: what runs code that an upgrade of adjunct or OpenSSL has replaced, or was
    /// started before adjunct was enabled. At a terminal, ask for each service whether to restart it, and do it
    #[arg(long, conflicts_with = "subject")]
    restarts: bool,
    /// With --restarts: restart all of these services without a question, but those whose restart ends sessions
    #[arg(short, long, requires = "restarts", conflicts_with = "json")]
    yes: bool,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
    /// Ask about programs that OPENSSL_CONF leads to this configuration
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the kernel tells of processes
    #[arg(long, value_name = "FOLDER", default_value = "/proc", hide = true)]
    proc: PathBuf,
}

/// The report about one subject.
#[derive(Debug, Serialize)]
struct DoctorReport {
    subject: String,
    kind: TargetKind,
    state: State,
    cause: Option<adjunct_survey::Cause>,
    /// The number of its advice.
    advice: Option<&'static str>,
    sentence: String,
    program: Option<Judged>,
    processes: Vec<Ran>,
    hidden_processes: usize,
}

/// The report about the machine.
#[derive(Debug, Serialize)]
struct Machine {
    enabled: bool,
    in_force: bool,
    problems: Vec<String>,
    entries: Vec<machine::Entry>,
    restarts: Vec<Outdated>,
    hidden_processes: usize,
    /// The domains of EP11 coprocessors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    coprocessors: Vec<Serving>,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    catch_interrupts();
    if let Some(number) = args.subject.as_deref().filter(|word| advice::is_number(word)) {
        let none = || {
            Failure::new(format!(
                "{}: there is no such advice; they are ADJ-D001 and on, ADJ-P001 and on",
                shown(number)
            ))
        };
        output::print(&advice::page(number).ok_or_else(none)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.subject.as_deref().is_some_and(|word| word.trim().is_empty()) {
        return Err(Failure::Words("the name is empty: give a program, a process, a service or HOST:PORT".to_owned()));
    }
    if args.restarts {
        return restarts(args);
    }
    let wait = Progress::waiting("OpenSSL's configuration is looked at");
    let standing = standing(args.config.as_deref())?;
    wait.now("looking at processes and programs");
    let processes = process::all(&args.proc, &standing.reach.modules)?;
    match &args.subject {
        Some(word) => one(word, args, &standing, processes, wait),
        None => all(args, &standing, processes, wait),
    }
}

fn restarts(args: &Args) -> Result<ExitCode, Failure> {
    // Without OpenSSL's configuration what runs old code is known all the same; but a file that was named is to be one.
    if let Some(config) = &args.config {
        standing(Some(config))?;
    }
    let wait = Progress::waiting("looking at processes");
    let (outdated, hidden) = to_restart(args.config.as_deref(), &args.proc)?;
    drop(wait);
    if args.json {
        output::print_json(&outdated)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&(served::text::outdated(&outdated) + &text::hidden(hidden)))?;
    // A script reads an empty list; a person would wonder.
    if outdated.is_empty() && ask::somebody() {
        output::print("nothing that can be seen is to be started again\n")?;
    }
    if args.yes || ask::somebody() {
        return restart::offer(&outdated, args.yes);
    }
    if outdated.iter().any(|one| one.unit.is_some()) {
        // Apart from the list, which scripts read.
        adjunct_tool::failure::eprint(
            "adjunct: nothing was restarted: there is no terminal to ask at; --yes restarts the services listed",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The services and processes to restart, and how many processes may not be looked at. Does not run `openssl`, because a package's script may call it
/// while that is replaced; so it does not know which processes were started before adjunct was enabled.
///
/// # Errors
/// Only where the user interrupts.
pub(crate) fn to_restart(config: Option<&Path>, proc: &Path) -> Result<(Vec<Outdated>, usize), Failure> {
    let standing = standing(config).ok();
    let modules = standing.as_ref().map_or(&[][..], |standing| &standing.reach.modules);
    let processes = process::all(proc, modules)?;
    let (mut found, hidden) = (outdated(&processes), processes.hidden);
    if let Some(standing) = &standing {
        found.extend(machine::started_before(processes, standing)?);
    }
    Ok((found, hidden))
}

fn all(args: &Args, standing: &Standing, processes: Processes, wait: Progress) -> Result<ExitCode, Failure> {
    let restarts = outdated(&processes);
    let hidden_processes = processes.hidden;
    let mut entries = machine::look(processes, standing, &mut Programs::new(standing))?;
    // Once: the program, or else a process of it.
    let served = |entry: &&mut machine::Entry| entry.verdict.state == State::Served;
    let note =
        |entry: &mut machine::Entry| entry.program.as_deref().and_then(ssh::note).map(|note| entry.notes.push(note));
    let _ = entries.iter_mut().filter(served).find_map(note);
    drop(wait);
    let coprocessors = match sample::cards() {
        sample::Cards::Running(machine) => serving::all(&Folder::found(), &machine),
        sample::Cards::NotRunning | sample::Cards::Unreadable(_) => Vec::new(),
    };
    let idle = coprocessors.iter().any(|coprocessor| coprocessor.cause.is_some());
    let bad = (standing.enabled && !standing.working) || !restarts.is_empty() || idle;
    if args.json {
        let (enabled, in_force, problems) = (standing.enabled, standing.working, standing.problems.clone());
        output::print_json(&Machine {
            enabled,
            in_force,
            problems,
            entries,
            restarts,
            hidden_processes,
            coprocessors,
        })?;
    } else {
        let after =
            if restarts.is_empty() { String::new() } else { format!("\n{}", served::text::outdated(&restarts)) };
        let cards = text::coprocessors(&coprocessors, Style::of_stdout());
        let text =
            text::machine(&entries, standing, Style::of_stdout()) + &cards + &after + &text::hidden(hidden_processes);
        output::print(&text)?;
    }
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn one(
    word: &str,
    args: &Args,
    standing: &Standing,
    processes: Processes,
    wait: Progress,
) -> Result<ExitCode, Failure> {
    let subject = target::resolve(word, &args.proc, &processes)?;
    let hidden = processes.hidden;
    let mut programs = Programs::new(standing);
    let mut program = match &subject {
        Subject::Program(path) => Some(programs.judge(path)),
        _ => None,
    };
    if let Some(judged) = program.as_mut().filter(|judged| judged.verdict.state == State::Served) {
        judged.notes.extend(ssh::note(&judged.path));
    }
    let wanted: Vec<_> = match &subject {
        Subject::Process(pid) => processes.list.into_iter().filter(|p| p.pid == *pid).collect(),
        Subject::Service(_, pids) | Subject::Listener(_, pids) => {
            processes.list.into_iter().filter(|p| pids.contains(&p.pid)).collect()
        }
        Subject::Program(_) => {
            let exe = program.as_ref().map(|judged| judged.path.clone());
            processes.list.into_iter().filter(|p| p.exe == exe && !p.elsewhere).collect()
        }
        Subject::Remote(_) => Vec::new(),
    };
    let mut proof = Proof::default();
    let ran: Vec<Ran> = wanted.into_iter().map(|p| running::judge(p, &mut programs, standing, &mut proof)).collect();
    drop(wait);
    // What runs decides: that is who the question is about.
    let worst = ran.iter().map(|ran| &ran.verdict).min_by_key(|v| (v.state, v.cause));
    let remote;
    let (state, verdict): (State, &Verdict) = match (worst, &program, &subject) {
        (Some(worst), ..) => (State::of_all(ran.iter().map(|ran| ran.verdict.state)), worst),
        (None, Some(judged), _) => (judged.verdict.state, &judged.verdict),
        (None, None, Subject::Remote(place)) => {
            remote = elsewhere(&place.host);
            (State::Unknown, &remote)
        }
        (None, None, _) => {
            return Err(Failure::new(format!(
                "{}: its processes ended meanwhile, or may not be looked at",
                shown(word)
            )));
        }
    };
    if args.json {
        let sentence = format!("{word}: {}", verdict.sentence());
        let (kind, cause) = (subject.kind(), verdict.cause);
        let (subject, hidden_processes) = (word.to_owned(), hidden);
        output::print_json(&DoctorReport {
            subject,
            kind,
            state,
            cause,
            advice: cause.map(adjunct_survey::Cause::id),
            sentence,
            program,
            processes: ran,
            hidden_processes,
        })?;
    } else {
        let style = Style::of_stdout();
        let mut text = program.as_ref().map(|judged| served::text::program(judged, style)).unwrap_or_default();
        text += &text::processes(&ran, style);
        if let Subject::Remote(_) = subject {
            text += &format!("{}: {}\n", shown(word), shown(&verdict.sentence()));
        }
        let more = matches!(subject, Subject::Program(_) | Subject::Service(..));
        output::print(&(text + if more { text::hidden(hidden) } else { String::new() }.as_str()))?;
    }
    Ok(ExitCode::from(state.code()))
}

/// The verdict on another machine: unknown, because a handshake shows what was agreed and not what computed it.
fn elsewhere(host: &str) -> Verdict {
    let why = format!("{host} is another machine, and no handshake shows what computes there");
    Verdict::unknown(adjunct_survey::Cause::Permission, why).advising("run 'adjunct doctor' there")
}
