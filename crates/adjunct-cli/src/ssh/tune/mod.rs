//! `adjunct ssh tune`: measures this machine's own ssh and sshd and puts their algorithms into the order that costs least,
//! within a policy.
//!
//! [`system`] asks the programs what is in force, [`config`] finds where it was set, [`survey`] measures, [`policy`] and
//! [`order`] choose, [`peers`] holds the lists against the clients and servers that are known, [`gain`] says what it brings, [`plan`]
//! writes what would be written, [`apply`] tries it, puts it in place and takes it away, [`report`] shows all of it.

pub mod algorithms;
pub mod apply;
pub mod config;
pub mod gain;
pub mod order;
pub mod peers;
pub mod plan;
pub mod policy;
pub mod report;
pub mod survey;
pub mod system;

use super::lab::Programs;
use super::lab::keys::Type;
use super::measure::side::Modules;
use super::measure::{Rig, Side, Suite, openssl_conf};
use super::tryout;
use crate::Failure;
use crate::counted::{Counted, Served};
use crate::failure::{cannot_write, cause};
use crate::interrupt::interrupted;
use crate::module::Choice;
use crate::output::{self, Style};
use crate::progress::Progress;
use crate::sink::{Ended, Sink};
use algorithms::Kind;
use config::Program;
use order::Lists;
use plan::{Ground, Plan, Wish};
use policy::Policy;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use survey::{Survey, Wanted};
use system::Service;

const EXAMPLES: &str = "\
Examples:
  adjunct ssh tune --quick                       measure under a minute, show what would be written
  adjunct ssh tune --json=tune.json              measure all there is, in under five minutes, and keep the figures
  sudo adjunct ssh tune --from tune.json --apply use them: try the files, then put them in place
  sudo adjunct ssh tune --undo                   take the files away again
  adjunct ssh tune --quick --module              as if adjunct were enabled
  adjunct ssh tune --from tune.json --policy my.toml

Policies, for --policy:
  compat  all that is in force stays; what today's OpenSSH could do without comes last
  modern  authenticated encryption or encrypt-then-MAC; no CBC, 3DES, SHA-1, MD5; post-quantum key exchange first, 64-bit MACs last.
          What a client or server that adjunct knows by name needs besides stays, at the end
  strict  modern without those
  fips    AES-GCM, AES-CTR, HMAC-SHA-2, NIST curves and groups
or a file:
  base = \"modern\"                            # compat, modern, strict or fips; compat if nothing is said
  [ciphers]                                  # also [macs], [kex], [host-keys]
  deny  = [\"aes192-*\"]                       # patterns with * and ?
  allow = [\"aes*\", \"chacha20-*\"]             # if given, only these
  first = [\"aes256-gcm@openssh.com\"]         # whatever they cost; last likewise
Without --policy it is compat, and only for ssh: a list is written where it was measured to cost clearly less, and nobody is refused.
The client's order decides, so sshd's lists bring nothing by their order. With --policy the files of both are written as the policy
has them. Whom it refuses is said by name before anything is written, and in --json (peers). About 50 versions are known, from OpenSSH
7.4 on: OpenSSH, curl's libssh2 and libssh, paramiko, JSch, PuTTY, WinSCP, FileZilla, Dropbear, AsyncSSH, Go, Cisco and others.

A list never gets anything that is not in force without adjunct's file: what OpenSSH leaves out by default, what the RHEL
family's crypto-policies or an administrator's own settings forbid stays out. The order of host keys is left to ssh, which prefers
the type that known_hosts has.

Exit status: 0 done or shown, 1 it failed and nothing was changed (one line says why), 2 the command line or the policy file
is wrong.";

/// Measure this machine's ssh and sshd, and order their algorithms by what they cost, within a policy
///
/// Measures every cipher and MAC, every key exchange and every type of key through the machine's own programs on loopback,
/// in turns and repeatedly, with the OpenSSL configuration in force for each. Then shows the files for ssh_config.d and
/// sshd_config.d that put the cheapest first, and what that buys. Changes nothing without --apply.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// compat, modern, strict, fips, or a file: write its lists, for ssh and sshd, even where they bring nothing [default: compat, for
    /// ssh, where it clearly brings something]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
    /// Measure only what today's OpenSSH needs, or what --policy allows, in under a minute
    #[arg(long, conflicts_with = "from")]
    quick: bool,
    /// About how long to measure
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3600), conflicts_with = "from")]
    time: Option<u64>,
    /// Whose files
    #[arg(long = "for", value_enum, default_value_t = For::All, value_name = "PROGRAM")]
    whose: For,
    /// Measure with adjunct whether it is enabled or not; the module beside this program or in OpenSSL's folder, or this one
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with = "from")]
    #[allow(clippy::option_option)]
    module: Option<Option<PathBuf>>,
    /// With --module: sshd alone has adjunct
    #[arg(long, requires = "module", hide = true)]
    module_for_sshd: bool,
    /// With --module, as root: take it though others than root could change it, or a folder above it
    #[arg(long, requires = "module")]
    trust_module: bool,
    /// Take the figures of an earlier --json instead of measuring
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Put the files in place, after trying them
    #[arg(long)]
    apply: bool,
    /// Take adjunct's files away
    #[arg(long, conflicts_with_all = ["apply", "from", "quick", "module", "time", "json"])]
    undo: bool,
    /// With --apply or --undo: tell the running sshd, too
    #[arg(long)]
    reload: bool,
    /// Report as JSON, to this file (beside the tables) or, without a file, to standard output instead of them
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[allow(clippy::option_option)]
    json: Option<Option<PathBuf>>,
    /// The ssh client to use
    #[arg(long)]
    ssh: Option<PathBuf>,
    /// The sshd to use
    #[arg(long)]
    sshd: Option<PathBuf>,
    /// The system whose /etc is meant, as of an image; the programs are this system's
    #[arg(long, default_value = "/", value_name = "FOLDER")]
    root: PathBuf,
}

/// Whose files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum For {
    /// The client's: ssh_config.d
    Ssh,
    /// The server's: sshd_config.d
    Sshd,
    /// Both
    All,
}

impl For {
    fn programs(self) -> &'static [Program] {
        match self {
            For::Ssh => &[Program::Ssh],
            For::Sshd => &[Program::Sshd],
            For::All => &[Program::Ssh, Program::Sshd],
        }
    }
}

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
    let former = args.from.as_deref().map(former).transpose()?;
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
    let today = side_of_today(&service).with(&counted.environment());
    let module =
        modules.as_deref().map(|module| with(&rig, module, &today, args.module_for_sshd, &counted)).transpose()?;
    let main = module.clone().unwrap_or_else(|| today.clone());
    let progress = Progress::new();
    let mut survey = match former {
        Some(survey) => survey,
        None => {
            let (survey, done) = measured(
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
                return partly(&policy, &survey, Ended::of(done), json.as_ref());
            }
            survey
        }
    };
    // With all lists first: which suite that would be, and what it would bring.
    let programs_meant = args.whose.programs();
    let plan_of = |program, survey: &Survey, wanted: &dyn Fn(Program, Kind) -> bool| {
        plan::plan(&ground, program, &wish, survey, &|kind| wanted(program, kind))
    };
    let plans_of = |survey: &Survey, wanted: &dyn Fn(Program, Kind) -> bool| {
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
        match tried(&mut rig, &sides, &choices, &counted, (budget(args), &progress)) {
            Ok(trial) => survey.trial = Some(trial),
            Err(failure) => {
                drop(progress);
                return partly(&policy, &survey, Ended::of(Err(failure)), json.as_ref());
            }
        }
    }
    drop(progress);
    let told = survey.trial.clone().filter(|trial| choices.iter().all(|choice| has(trial, choice)));
    let trial = told.unwrap_or_else(|| gain::Trial::of_rows(&survey, &choices));
    let brings = match (&now, &proposed) {
        (Some(now), Some(new)) => gain::brings(&trial, last(&trial), now, new),
        _ => gain::Brings::default(),
    };
    let mut plans = if wish.asked {
        all
    } else {
        plans_of(&survey, &|program, kind| unasked(program, kind) && pays(program, kind, &brings))?
    };
    if !wish.asked {
        say_why_left(&mut plans, &brings, now == proposed);
    }
    let then = suite_of(&plans);
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
    let doubts = doubts(&survey, &programs)?;
    finish((args, json.as_ref()), &wish, &survey, &plans, gain.as_ref(), (&ok, &doubts), reload.as_ref())
}

/// Shows what was measured until the run was ended; nothing is changed by that.
fn partly(policy: &Policy, survey: &Survey, mut ended: Ended, json: Option<&Sink>) -> Result<ExitCode, Failure> {
    let (plans, policy) = (Vec::new(), policy.name());
    let document = report::Document { survey, policy, plans, buys: None, gain: None, applied: false };
    let written = ended.write_json(json, &document);
    let shown = match json {
        Some(Sink::Stdout) => Ok(()),
        _ => output::print(&report::tables(survey, Style::of_stdout())),
    };
    ended.told(written.and(shown)).map(|()| ExitCode::FAILURE)
}

/// How long to measure.
fn budget(args: &Args) -> Duration {
    Duration::from_secs(args.time.unwrap_or(if args.quick { 45 } else { 240 }))
}

/// Whether adjunct's file is there already.
fn of_adjunct(ground: &Ground<'_>, program: Program) -> bool {
    plan::current(ground, program).is_ok_and(|text| text.is_some())
}

/// What two sides agree on with these plans.
fn suite(plans: &[Plan], before: &[Lists; 2]) -> Option<gain::Choice> {
    let then = |program, now: &'_ Lists| {
        plans.iter().find(|p| p.program == program).map_or_else(|| now.clone(), |plan| plan.then.clone())
    };
    gain::Choice::of(&then(Program::Ssh, &before[0]), &then(Program::Sshd, &before[1]))
}

/// By whom the suites are computed once all is done, as far as that was measured.
fn last(trial: &gain::Trial) -> gain::With {
    let accelerated = trial.steps.iter().any(|step| step.with == gain::With::Adjunct);
    if accelerated { gain::With::Adjunct } else { gain::With::Stock }
}

fn has(trial: &gain::Trial, choice: &gain::Choice) -> bool {
    trial.step(last(trial), choice).is_some()
}

/// Whether a list is worth a change that nobody asked for by a policy: ssh's, for it is the client's order that decides, and where it was
/// measured to bring something clearly.
fn pays(program: Program, kind: Kind, brings: &gain::Brings) -> bool {
    let better = |verdict| verdict == Some(gain::Verdict::Better);
    match (program, kind) {
        // A file that an earlier run wrote: as its policy has it today.
        (Program::Sshd, _) => true,
        (Program::Ssh, Kind::Ciphers | Kind::Macs) => better(brings.copies),
        (Program::Ssh, Kind::Kex) => better(brings.logins),
        (Program::Ssh, Kind::HostKeys) => false,
    }
}

/// Says why lists are left as they are.
fn say_why_left(plans: &mut [Plan], brings: &gain::Brings, same: bool) {
    for plan in plans {
        let left = match (plan.program, plan.text.is_some()) {
            (Program::Sshd, false) => Some(
                "sshd's lists are left as they are: the client's order decides, not sshd's; --policy narrows what sshd accepts".to_owned(),
            ),
            (Program::Ssh, _) if !same && brings.copies.is_some_and(|verdict| verdict != gain::Verdict::Better) => {
                Some("ssh's Ciphers and MACs are left as they are: no clear difference; --policy compat writes them all the same".to_owned())
            }
            _ => None,
        };
        plan.notes.extend(left);
    }
}

/// Says whom a policy refuses, before its files are written.
fn warn_of_refusals(policy: &Policy, plans: &[Plan]) {
    use std::io::Write;
    for line in plans.iter().filter_map(|plan| peers::refusal(plan.program, policy, &plan.peers)) {
        let _ = writeln!(std::io::stderr(), "adjunct: note: {line}");
    }
}

/// The sides of a trial.
struct Sides<'a> {
    module: Option<&'a Side>,
    today: &'a Side,
}

/// Figures that are less sure than this may hide a difference that matters.
const NOISY: f64 = 0.08;

/// Measures these suites, stock and with adjunct. Where adjunct serves already as OpenSSL is configured, stock is the default provider alone.
fn tried(
    rig: &mut Rig,
    sides: &Sides<'_>,
    choices: &[&gain::Choice],
    counted: &Counted,
    (budget, progress): (Duration, &Progress),
) -> Result<gain::Trial, Failure> {
    let before = counted.served()?;
    // A login that fails is told of where it matters.
    let _ = rig.login(sides.today, &Suite::default());
    interrupted()?;
    let on_already = counted.served()?.since(before) != Served::default();
    let plain = Side::with_conf("stock", &rig.place().write("stock.cnf", &openssl_conf(&Modules::default()))?);
    let stock = if on_already { &plain } else { sides.today };
    let accelerated = sides.module.or(on_already.then_some(sides.today));
    let mut all = vec![(gain::With::Stock, stock)];
    all.extend(accelerated.map(|side| (gain::With::Adjunct, side)));
    let trial = |rig: &mut Rig, budget| {
        survey::trial(rig, &all, choices, budget, progress).map(|steps| gain::Trial { on_already, steps })
    };
    let first = trial(rig, budget)?;
    // On a busy machine once more, and longer, before "no clear difference" is said.
    let unclear = |trial: &gain::Trial| match choices {
        [now, new] => gain::brings(trial, last(trial), now, new).copies == Some(gain::Verdict::Same),
        _ => false,
    };
    if unclear(&first) && first.steps.iter().any(|step| step.cpu_s_per_gb.relative() > NOISY) {
        return trial(rig, budget * 2);
    }
    Ok(first)
}

/// The lists of ssh and sshd as they are now.
fn in_force(ground: &Ground<'_>) -> Result<[Lists; 2], Failure> {
    let of = |program| {
        let text = plan::current(ground, program)?;
        Ok::<_, Failure>(ground.with(program, text.as_deref())?.1.lists)
    };
    Ok([of(Program::Ssh)?, of(Program::Sshd)?])
}

/// Both programs as they are configured.
fn side_of_today(service: &Service) -> Side {
    Side { server: service.environment(), ..Side::as_is("as configured") }
}

/// Both programs with adjunct, or sshd alone.
fn with(rig: &Rig, module: &Path, today: &Side, sshd_alone: bool, counted: &Counted) -> Result<Side, Failure> {
    let modules = Modules { provider: Some(module.to_owned()), engine: Some("RSA,EC".to_owned()) };
    let side = Side::with_conf("adjunct", &rig.place().write("adjunct.cnf", &openssl_conf(&modules))?);
    let side = side.with(&counted.environment());
    Ok(if sshd_alone { Side { client: today.client.clone(), ..side } } else { side })
}

/// Measures all suites on one side.
fn measured(
    args: &Args,
    ground: &Ground<'_>,
    rig: &mut Rig,
    (side, module): (&Side, Option<&Path>),
    counted: &Counted,
    chosen: (&Policy, &[Lists; 2]),
    progress: &Progress,
) -> Result<(Survey, Result<(), Failure>), Failure> {
    let wanted = wanted(args, ground, chosen.0, chosen.1)?;
    let (survey, done) = survey::survey(rig, side, &wanted, progress)?;
    let (openssh, openssl) = ground.programs.versions()?;
    let accelerated = counted.any();
    let adjunct = match (module, accelerated) {
        (Some(module), true) => format!("in use: {}", module.display()),
        (Some(module), false) => {
            return Err(Failure::new(format!(
                "adjunct was not used: no counter moved; does {} load?",
                module.display()
            )));
        }
        (None, true) => "in use, as configured".to_owned(),
        (None, false) => "not in use: it is not enabled".to_owned(),
    };
    let survey = Survey {
        cpu: adjunct::cpu::model_name(),
        openssh,
        openssl,
        adjunct,
        measured: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        quick: args.quick,
        accelerated,
        ..survey
    };
    Ok((survey, done))
}

/// What to measure: all the client knows, or what the policy allows of what is in force, and what is agreed on now.
fn wanted(args: &Args, ground: &Ground<'_>, policy: &Policy, before: &[Lists; 2]) -> Result<Wanted, Failure> {
    let known = |query: &str| {
        let mut names = ground.programs.known(query)?;
        names.retain(|name| !name.contains("-cert-"));
        Ok::<_, Failure>(names)
    };
    let mut wanted = Wanted {
        ciphers: known("cipher")?,
        macs: known("mac")?,
        kex: known("kex")?,
        host_keys: known("key")?.into_iter().flat_map(signatures).collect(),
        rsa_bits: system::rsa_bits(ground.programs, ground.root),
        budget: budget(args),
        ..Wanted::default()
    };
    if args.quick {
        // Without a policy what today's OpenSSH needs: the rest stays behind it, whatever it costs.
        let policy = if args.policy.is_some() { policy.clone() } else { Policy::named("modern")? };
        let keep = |kind: Kind, names: &mut Vec<String>| {
            let agreed = system::agreed(kind, &before[0], &before[1]);
            let in_force = |name: &String| before.iter().any(|lists| lists.get(kind).contains(name));
            names.retain(|name| agreed.as_ref() == Some(name) || (in_force(name) && policy.rank(kind, name).is_some()));
        };
        keep(Kind::Ciphers, &mut wanted.ciphers);
        keep(Kind::Macs, &mut wanted.macs);
        keep(Kind::Kex, &mut wanted.kex);
        keep(Kind::HostKeys, &mut wanted.host_keys);
    }
    wanted.user_keys.clone_from(&wanted.host_keys);
    Ok(wanted)
}

/// The signature algorithms of a type of key.
fn signatures(key: String) -> Vec<String> {
    if key == "ssh-rsa" { ["rsa-sha2-256", "rsa-sha2-512", "ssh-rsa"].map(str::to_owned).to_vec() } else { vec![key] }
}

/// The measurement of an earlier `--json`.
fn former(path: &Path) -> Result<Survey, Failure> {
    #[derive(Deserialize)]
    struct Former {
        survey: Survey,
    }
    let shown = path.display();
    let text = crate::files::config(path).map_err(|e| Failure::new(format!("{shown}: {}", cause(&e))))?;
    let former: Former = serde_json::from_slice(&text)
        .map_err(|e| Failure::new(format!("{shown}: no report of 'adjunct ssh tune --json': {e}")))?;
    if former.survey.pairs.is_empty() || !former.survey.plausible() {
        return Err(Failure::new(format!("{shown}: there is no measurement in it")));
    }
    Ok(former.survey)
}

/// What speaks against a measurement.
fn doubts(survey: &Survey, programs: &Programs) -> Result<Vec<String>, Failure> {
    /// Figures that scatter more than this decide little.
    const MUCH: f64 = 0.15;
    let mut doubts = Vec::new();
    let (openssh, openssl) = programs.versions()?;
    if (survey.openssh.as_str(), survey.openssl.as_str()) != (openssh.as_str(), openssl.as_str()) {
        doubts.push(format!(
            "the figures are of {}, {}; this is {openssh}, {openssl}",
            plan::one_line(&survey.openssh),
            plan::one_line(&survey.openssl)
        ));
    }
    let scatter: Vec<f64> = survey.pairs.iter().map(|p| p.cpu_s_per_gb.relative()).collect();
    let scatter = super::measure::spread::median(scatter);
    if scatter > MUCH {
        doubts.push(format!(
            "the figures are only sure to {:.0} % (is the machine busy?): what is not clearly apart goes by the CPU's \
                 instructions, then by OpenSSH's order",
            scatter * 100.0
        ));
    }
    Ok(doubts)
}

/// Shows all of it.
fn finish(
    (args, json): (&Args, Option<&Sink>),
    wish: &Wish<'_>,
    survey: &Survey,
    plans: &[Plan],
    gain: Option<&gain::Gain>,
    (tried, doubts): (&[String], &[String]),
    reload: Option<&apply::Reload>,
) -> Result<ExitCode, Failure> {
    let policy = wish.policy;
    let applied = args.apply && plans.iter().any(Plan::changes);
    let server = plans.iter().any(|p| p.program == Program::Sshd && p.changes());
    let told = applied && server && args.reload && reload.is_some();
    if told && let Some(reload) = reload {
        reload.run()?;
    }
    let document = report::Document {
        survey,
        policy: policy.name(),
        plans: plans.iter().map(report::Planned::of).collect(),
        buys: gain.map(|gain| gain.copying.clone()),
        gain,
        applied,
    };
    match json {
        Some(Sink::Stdout) => {
            output::print_json(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(sink) => sink.write_json(&document)?,
        None => {}
    }
    let style = Style::of_stdout();
    let mut text = if args.from.is_some() { String::new() } else { report::tables(survey, style) };
    for note in doubts {
        text += &format!("\nnote: {note}\n");
    }
    if let Some(note) = policy.note().filter(|_| wish.asked) {
        text += &format!("\nnote: {note}\n");
    }
    text += &report::plans(plans, style);
    let buys = gain
        .map_or_else(|| "what it buys is not known: not all of it was measured".to_owned(), |g| g.lines().join("\n"));
    text += &format!("\n{buys}\n");
    for line in tried {
        text += &format!("{}: {line}\n", style.good("ok"));
    }
    text += &last_words(args, plans, reload.filter(|_| !told), told);
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What was done, and what is left to do.
fn last_words(args: &Args, plans: &[Plan], reload: Option<&apply::Reload>, told: bool) -> String {
    if !plans.iter().any(Plan::changes) {
        return "nothing has to be changed\n".to_owned();
    }
    if !args.apply {
        return "nothing was changed; --apply puts the files in place (keep the figures by --json=FILE, and use them by \
                --from FILE)\n"
            .to_owned();
    }
    let mut text = "the files are in place; adjunct ssh tune --undo takes them away\n".to_owned();
    let server = plans.iter().any(|p| p.program == Program::Sshd && p.changes());
    match reload {
        Some(reload) if server => text += &format!("the running sshd does not know yet: {}\n", reload.command()),
        _ if told => text += "the running sshd was told\n",
        _ => {}
    }
    text
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
