//! `adjunct ssh tune`: measures this machine's own ssh and sshd and puts their algorithms into the order that costs least,
//! within a policy.
//!
//! [`system`] asks the programs what is in force, [`config`] finds where it was set, [`survey`] measures (the `jobs` in turns), [`policy`] and [`order`] choose, [`peers`]
//! checks the lists against the known clients and servers, [`gain`] computes the gain, [`plan`] composes the files, [`apply`] tries them, puts them
//! in place and removes them, [`report`] shows all of it. `options` is the command line, `figures` decides what is measured and on which sides, `end`
//! shows and keeps the results.

pub mod algorithms;
pub mod apply;
pub mod config;
mod end;
mod figures;
pub mod gain;
mod jobs;
pub mod left;
mod options;
pub mod order;
pub mod peers;
pub mod plan;
pub mod policy;
pub mod report;
pub mod survey;
pub mod system;

pub use options::Args;

use super::lab::Programs;
use super::lab::keys::Type;
use super::measure::Rig;
use super::tryout;
use crate::counted::Counted;
use adjunct_survey::module::Choice;
use adjunct_tool::Failure;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::output;
use adjunct_tool::progress::Progress;
use adjunct_tool::sink::{Ended, Sink};
use algorithms::AlgorithmKind;
use config::Program;
use figures::Sides;
use left::{Left, Why};
use order::Lists;
use plan::{Ground, Plan, Wish};
use policy::Policy;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use survey::Survey;
use system::Service;

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show; nothing was changed then.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.reload && !args.apply && !args.undo {
        return Err(Failure::Words("--reload goes with --apply or --undo".to_owned()));
    }
    let root = std::fs::canonicalize(&args.root)
        .map_err(|e| Failure::new(format!("{}: {}", args.root.display(), cause(&e))))?;
    if args.undo {
        return undo(args, &root);
    }
    // Before anything is measured: minutes of work are not lost to a wrong path.
    let json = Sink::of_flag(args.json.as_ref())?;
    let policy = Policy::named(args.policy.as_deref().unwrap_or("compat"))?;
    let peers = peers::known()?;
    let wish = Wish { policy: &policy, asked: args.policy.is_some(), peers: &peers };
    let former = args.from.as_deref().map(figures::former).transpose()?;
    let programs = Programs::find(args.ssh.as_deref(), args.sshd.as_deref())?;
    let chosen =
        |given: &Option<PathBuf>| tryout::module(Choice { path: given.as_deref(), trusted: args.trust_module });
    let modules = args.module.as_ref().map(chosen).transpose()?;
    let counted = Counted::apart("ssh-tune");
    // Before the file systems of this thread may change: who runs now.
    let reload = (root == Path::new("/")).then(apply::Reload::find).flatten();
    let service = Service::read(&root);
    let mut rig = Rig::new(programs.clone())?;
    let stage = rig.place().path("stage");
    std::fs::create_dir(&stage).map_err(|e| cannot_write(&stage, &e))?;
    let host_key = rig.place().key(Type::Ed25519)?;
    let ground = Ground { programs: &programs, root: &root, stage: &stage, service: &service, host_key: &host_key };
    if args.apply {
        apply::writable(&ground, args.whose.programs())?;
    }
    let before = in_force(&ground)?;
    let today = figures::side_of_today(&service).with(&counted.environment());
    let module = modules
        .as_deref()
        .map(|module| figures::with(&rig, module, &today, args.module_for_sshd, &counted))
        .transpose()?;
    let main = module.clone().unwrap_or_else(|| today.clone());
    let progress = Progress::begin();
    let start = Instant::now();
    let mut survey = match former {
        Some(survey) => survey,
        None => {
            let (survey, done) = figures::measured(
                args,
                &ground,
                &mut rig,
                (&main, modules.as_deref()),
                &counted,
                (&policy, &before),
                &progress,
            )?;
            if done.is_err() {
                drop(progress);
                return end::partly(&policy, &survey, Ended::of(done), json.as_ref());
            }
            survey
        }
    };
    // With all lists first: which suite that would be, and what it would bring.
    let programs_meant = args.whose.programs();
    let plan_of = |program, survey: &Survey, wanted: &dyn Fn(Program, AlgorithmKind) -> bool| {
        plan::plan(&ground, program, &wish, survey, &|kind| wanted(program, kind))
    };
    let plans_of = |survey: &Survey, wanted: &dyn Fn(Program, AlgorithmKind) -> bool| {
        programs_meant.iter().map(|&program| plan_of(program, survey, wanted)).collect::<Result<Vec<Plan>, _>>()
    };
    let unasked = |program, _| wish.asked || program == Program::Ssh || of_adjunct(&ground, program);
    let all = plans_of(&survey, &unasked)?;
    let suite_of = |plans: &[Plan]| suite(plans, &before);
    let (now, proposed) = (gain::Choice::of(&before[0], &before[1]), suite_of(&all));
    let choices: Vec<&gain::Choice> =
        now.iter().chain(proposed.iter().filter(|new| now.as_ref() != Some(*new))).collect();
    if args.from.is_none() {
        let sides = Sides { module: module.as_ref(), today: &today };
        let left = figures::budget(args).saturating_sub(start.elapsed());
        match figures::tried(&mut rig, &sides, &choices, &counted, (left, &progress)) {
            Ok((trial, fewer)) => {
                survey.trial = Some(trial);
                survey.fewer.extend(fewer);
                survey.took = start.elapsed().as_secs_f64();
            }
            Err(failure) => {
                drop(progress);
                return end::partly(&policy, &survey, Ended::of(Err(failure)), json.as_ref());
            }
        }
    }
    drop(progress);
    let told = survey.trial.clone().filter(|trial| choices.iter().all(|choice| has(trial, choice)));
    let trial = told.unwrap_or_else(|| gain::Trial::of_rows(&survey, &choices));
    let brings = match (&now, &proposed) {
        (Some(now), Some(new)) => gain::brings(&trial, trial.last(), now, new),
        _ => gain::Brings::default(),
    };
    let mut plans = if wish.asked {
        all
    } else {
        plans_of(&survey, &|program, kind| unasked(program, kind) && pays(program, kind, &brings))?
    };
    let then = suite_of(&plans);
    let left = now.as_ref().filter(|_| !wish.asked && programs_meant.contains(&Program::Ssh));
    let left = left.and_then(|now| Left::of((now, proposed.as_ref(), then.as_ref()), &trial, &brings));
    if !wish.asked {
        say_why_left(&mut plans, left.as_ref());
    }
    let gain = now.as_ref().zip(then.as_ref()).and_then(|(now, then)| gain::Gain::of(&trial, now, then));
    let applied = args.apply && plans.iter().any(Plan::changes);
    // What cannot be read by OpenSSH must not look done.
    if args.apply
        && let Some(why) = plans.iter().find_map(|p| p.blocked.as_ref())
    {
        return Err(Failure::new(format!("{why}; nothing was changed")));
    }
    let mut ok = Vec::new();
    if applied {
        warn_of_refusals(&policy, &plans);
        let _wait = Progress::waiting("the lists are tried with real logins");
        ok = apply::try_out(&ground, &mut rig, &main, &plans)?;
        apply::apply(&ground, &plans)?;
    }
    let doubts = figures::doubts(&survey, &programs)?;
    let told = end::Told { gain: gain.as_ref(), left: left.as_ref(), tried: &ok, doubts: &doubts };
    end::finish((args, json.as_ref()), &wish, &survey, &plans, &told, reload.as_ref())
}

/// Whether adjunct's file is there already.
fn of_adjunct(ground: &Ground<'_>, program: Program) -> bool {
    plan::current(ground, program).is_ok_and(|text| text.is_some())
}

/// The suite that two sides agree on with these plans.
fn suite(plans: &[Plan], before: &[Lists; 2]) -> Option<gain::Choice> {
    let then = |program, now: &'_ Lists| {
        plans.iter().find(|p| p.program == program).map_or_else(|| now.clone(), |plan| plan.then.clone())
    };
    gain::Choice::of(&then(Program::Ssh, &before[0]), &then(Program::Sshd, &before[1]))
}

fn has(trial: &gain::Trial, choice: &gain::Choice) -> bool {
    trial.step(trial.last(), choice).is_some()
}

/// Whether a list is worth a change that the user did not ask for by a policy: ssh's lists, for the client's order decides, and where the measurement
/// shows a clear gain.
fn pays(program: Program, kind: AlgorithmKind, brings: &gain::Brings) -> bool {
    let better = |verdict| verdict == Some(gain::Verdict::Better);
    match (program, kind) {
        // A file that an earlier run wrote: as its policy has it today.
        (Program::Sshd, _) => true,
        (Program::Ssh, AlgorithmKind::Ciphers | AlgorithmKind::Macs) => better(brings.copies),
        (Program::Ssh, AlgorithmKind::Kex) => better(brings.logins),
        (Program::Ssh, AlgorithmKind::HostKeys) => false,
    }
}

/// Says why lists are left as they are.
fn say_why_left(plans: &mut [Plan], left: Option<&Left>) {
    for plan in plans {
        match (plan.program, plan.text.is_some(), left) {
            (Program::Sshd, false, _) => plan.notes.push(
                "sshd's lists are left as they are: the client's order decides, not sshd's; --policy narrows what sshd accepts".to_owned(),
            ),
            (Program::Ssh, _, Some(left)) if left.why != Why::Best => {
                plan.notes.push(left.text());
                plan.notes.extend(left.advice());
            }
            _ => {}
        }
    }
}

/// Says whom a policy refuses, before its files are written.
fn warn_of_refusals(policy: &Policy, plans: &[Plan]) {
    use std::io::Write;
    for line in plans.iter().filter_map(|plan| peers::refusal(plan.program, policy, &plan.peers)) {
        let _ = writeln!(std::io::stderr(), "adjunct: note: {line}");
    }
}

/// The lists of ssh and sshd as they are now.
fn in_force(ground: &Ground<'_>) -> Result<[Lists; 2], Failure> {
    let of = |program| {
        let text = plan::current(ground, program)?;
        Ok::<_, Failure>(ground.with(program, text.as_deref())?.1.lists)
    };
    Ok([of(Program::Ssh)?, of(Program::Sshd)?])
}

fn undo(args: &Args, root: &Path) -> Result<ExitCode, Failure> {
    let (programs, service) = (apply::no_programs(), Service::default());
    let nothing = Path::new("/nonexistent");
    let ground = Ground { programs: &programs, root, stage: nothing, service: &service, host_key: nothing };
    let gone = apply::undo(&ground, args.whose.programs())?;
    let mut text = String::new();
    for file in &gone {
        text += &format!("{} is gone\n", file.display());
    }
    if gone.is_empty() {
        text += "there is no file of adjunct's\n";
    }
    let reload = (root == Path::new("/")).then(apply::Reload::find).flatten();
    if let Some(reload) = reload.filter(|_| gone.contains(&Program::Sshd.drop_in())) {
        if args.reload {
            reload.run()?;
        } else {
            text += &format!("the running sshd does not know yet: {}\n", reload.command());
        }
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
