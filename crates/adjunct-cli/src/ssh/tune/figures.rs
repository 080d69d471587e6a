//! The figures: what is measured and on which sides, or what an earlier run measured.

use super::algorithms::AlgorithmKind;
use super::options::Args;
use super::order::Lists;
use super::plan::{self, Ground};
use super::policy::Policy;
use super::survey::{self, Fewer, Survey, Wanted};
use super::system::Service;
use super::{gain, system};
use crate::counted::{Counted, Served};
use crate::ssh::lab::Programs;
use crate::ssh::measure::side::Modules;
use crate::ssh::measure::{Rig, Side, Suite, openssl_conf, spread};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Progress;
use serde::Deserialize;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long to measure.
pub(super) fn budget(args: &Args) -> Duration {
    Duration::from_secs(args.time.unwrap_or(if args.quick { 45 } else { 240 }))
}

/// The sides of a trial.
pub(super) struct Sides<'a> {
    pub module: Option<&'a Side>,
    pub today: &'a Side,
}

/// Measures these suites, stock and with adjunct. Where adjunct serves already as OpenSSL is configured, stock is the default provider alone. Where it
/// does not tell whether the change brings something, copies are measured until the budget is spent.
pub(super) fn tried(
    rig: &mut Rig,
    sides: &Sides<'_>,
    choices: &[&gain::Choice],
    counted: &Counted,
    (budget, progress): (Duration, &Progress),
) -> Result<(gain::Trial, Vec<Fewer>), Failure> {
    let start = Instant::now();
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
    let settled = |steps: &[gain::Step]| match choices {
        [now, new] => gain::settled(&gain::Trial { on_already, steps: steps.to_vec() }, now, new),
        _ => true,
    };
    let left = budget.saturating_sub(start.elapsed());
    let (steps, fewer) = survey::trial(rig, &all, choices, &settled, (left, progress))?;
    Ok((gain::Trial { on_already, steps }, fewer))
}

/// Makes the side where both programs are as they are configured.
pub(super) fn side_of_today(service: &Service) -> Side {
    Side { server: service.environment(), ..Side::as_is("as configured") }
}

/// Makes the side where both programs have adjunct, or sshd alone has it.
pub(super) fn with(
    rig: &Rig,
    module: &Path,
    today: &Side,
    sshd_alone: bool,
    counted: &Counted,
) -> Result<Side, Failure> {
    let modules = Modules { provider: Some(module.to_owned()), engine: Some("RSA,EC".to_owned()) };
    let side = Side::with_conf("adjunct", &rig.place().write("adjunct.cnf", &openssl_conf(&modules))?);
    let side = side.with(&counted.environment());
    Ok(if sshd_alone { Side { client: today.client.clone(), ..side } } else { side })
}

/// Measures all suites on one side.
pub(super) fn measured(
    args: &Args,
    ground: &Ground<'_>,
    rig: &mut Rig,
    (side, module): (&Side, Option<&Path>),
    counted: &Counted,
    chosen: (&Policy, &[Lists; 2]),
    progress: &Progress,
) -> Result<(Survey, Result<(), Failure>), Failure> {
    let wanted = wanted(args, ground, chosen.0, chosen.1)?;
    // First: no program is started once the user has ended it.
    let (openssh, openssl) = ground.programs.versions()?;
    let (survey, done) = survey::survey(rig, side, &wanted, progress)?;
    let accelerated = counted.any();
    let adjunct = match (module, accelerated) {
        (Some(module), true) => format!("in use: {}", module.display()),
        (Some(module), false) if done.is_ok() => {
            return Err(Failure::new(format!(
                "adjunct was not used: no counter moved; does {} load?",
                module.display()
            )));
        }
        (Some(module), false) => format!("not seen in use: {}", module.display()),
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

/// The algorithms to measure: all that the client knows, or those in force that the policy allows, and those that are agreed on now.
pub(super) fn wanted(
    args: &Args,
    ground: &Ground<'_>,
    policy: &Policy,
    before: &[Lists; 2],
) -> Result<Wanted, Failure> {
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
        let keep = |kind: AlgorithmKind, names: &mut Vec<String>| {
            let agreed = system::agreed(kind, &before[0], &before[1]);
            let in_force = |name: &String| before.iter().any(|lists| lists.get(kind).contains(name));
            names.retain(|name| agreed.as_ref() == Some(name) || (in_force(name) && policy.rank(kind, name).is_some()));
        };
        keep(AlgorithmKind::Ciphers, &mut wanted.ciphers);
        keep(AlgorithmKind::Macs, &mut wanted.macs);
        keep(AlgorithmKind::Kex, &mut wanted.kex);
        keep(AlgorithmKind::HostKeys, &mut wanted.host_keys);
    }
    wanted.user_keys.clone_from(&wanted.host_keys);
    Ok(wanted)
}

/// The signature algorithms of a type of key.
pub(super) fn signatures(key: String) -> Vec<String> {
    if key == "ssh-rsa" { ["rsa-sha2-256", "rsa-sha2-512", "ssh-rsa"].map(str::to_owned).to_vec() } else { vec![key] }
}

/// The measurement of an earlier `--json`.
pub(super) fn former(path: &Path) -> Result<Survey, Failure> {
    #[derive(Deserialize)]
    struct Former {
        survey: Survey,
    }
    let shown = path.display();
    let text = adjunct_tool::files::config(path).map_err(|e| Failure::new(format!("{shown}: {}", cause(&e))))?;
    let former: Former = serde_json::from_slice(&text)
        .map_err(|e| Failure::new(format!("{shown}: no report of 'adjunct ssh tune --json': {e}")))?;
    if former.survey.pairs.is_empty() || !former.survey.plausible() {
        return Err(Failure::new(format!("{shown}: there is no measurement in it")));
    }
    Ok(former.survey)
}

/// Reasons to doubt a measurement, a line each.
pub(super) fn doubts(survey: &Survey, programs: &Programs) -> Result<Vec<String>, Failure> {
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
    let scatter = spread::median(scatter);
    if scatter > MUCH {
        doubts.push(format!(
            "the figures are only sure to {:.0} % (is the machine busy?): what is not clearly apart goes by the CPU's \
                 instructions, then by OpenSSH's order",
            scatter * 100.0
        ));
    }
    if !survey.fewer.is_empty() {
        let times = |times: usize| if times == 1 { "once".to_owned() } else { format!("{times} times") };
        let each = |fewer: &Fewer| format!("{} {} in place of {}", fewer.what, times(fewer.times), times(fewer.usual));
        let each: Vec<String> = survey.fewer.iter().map(each).collect();
        doubts.push(format!(
            "the time was over before all was measured as often as it should be ({}): a longer --time, or a quieter machine, makes the \
                 figures surer",
            each.join(", ")
        ));
    }
    Ok(doubts)
}
