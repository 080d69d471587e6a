//! The measurement: every cipher with every MAC, every key exchange, every type of key; and then, in a measurement of its own, the chosen algorithms
//! compared with those that are agreed on today.

use super::algorithms::{authenticates, measured_as};
use super::gain::{Choice, Step, Trial, With};
use super::jobs::{Job, Run, SAMPLE, Turns};
use crate::ssh::lab::keys::Type;
use crate::ssh::measure::spread::pool;
use crate::ssh::measure::{Costs, Rig, Side, Spread, Suite};
use adjunct_tool::Failure;
use adjunct_tool::progress::Progress;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The results of the measurement, with the machine and programs that they hold for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The processor.
    pub cpu: String,
    /// OpenSSH's version.
    pub openssh: String,
    /// OpenSSL's version.
    pub openssl: String,
    /// How adjunct took part: `as configured`, or the module.
    pub adjunct: String,
    /// When, in seconds since 1970.
    pub measured: u64,
    /// How long it took, in seconds.
    pub took: f64,
    /// Whether only what the policy allows was measured.
    pub quick: bool,
    /// The length of the RSA keys.
    pub rsa_bits: u32,
    /// Ciphers with MACs.
    pub pairs: Vec<Pair>,
    /// Whether all of the survey was measured with adjunct.
    #[serde(default)]
    pub accelerated: bool,
    /// The suite that is agreed on today compared with the chosen one, stock and with adjunct.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
    /// Key exchanges.
    pub kex: Vec<Login>,
    /// Algorithms of host keys.
    pub host_keys: Vec<Login>,
    /// Algorithms of user keys.
    pub user_keys: Vec<Login>,
    /// Algorithms that could not be measured.
    pub skipped: Vec<Skipped>,
    /// Measurements of which there was no time for as many as usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fewer: Vec<Fewer>,
}

/// Measurements that the end of the time cut short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fewer {
    /// What was measured.
    pub what: String,
    /// How often, at least.
    pub times: usize,
    /// How often it is measured where there is time.
    pub usual: usize,
}

impl Fewer {
    /// Of measurements that were made so often each; `None` where that is as often as usual.
    fn of(what: &str, counts: impl Iterator<Item = usize>, usual: usize) -> Option<Fewer> {
        let times = counts.min().filter(|&times| times < usual)?;
        Some(Fewer { what: what.to_owned(), times, usual })
    }
}

/// A cipher with a MAC, or one that needs none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The cipher.
    pub cipher: String,
    /// The MAC; none beside a cipher that authenticates by itself.
    pub mac: Option<String>,
    /// 10^6 bytes a second, once logged in.
    pub mb_s: Spread,
    /// Processor seconds of the client for 10^9 bytes, without the login.
    pub client_s_per_gb: Spread,
    /// Processor seconds of the server for 10^9 bytes, without the login.
    pub server_s_per_gb: Spread,
    /// Processor seconds of client and server together for 10^9 bytes, without the login.
    pub cpu_s_per_gb: Spread,
}

impl Pair {
    /// `aes128-ctr hmac-sha2-256-etm@openssh.com`.
    pub fn name(&self) -> String {
        self.mac.as_ref().map_or_else(|| self.cipher.clone(), |mac| format!("{} {mac}", self.cipher))
    }
}

/// A login with one algorithm that differs from the usual ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Login {
    /// The algorithm.
    pub algorithm: String,
    /// How long a login with it takes.
    pub seconds: Spread,
    /// Processor seconds of the client.
    pub client_s: Spread,
    /// Processor seconds of the server.
    pub server_s: Spread,
    /// Processor seconds of both.
    pub cpu_s: Spread,
}

/// An algorithm that could not be measured, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// The algorithm or the pair.
    pub what: String,
    /// Why it was skipped, in OpenSSH's words.
    pub why: String,
}

impl Survey {
    /// Whether all figures are ones that a measurement gives.
    pub fn plausible(&self) -> bool {
        let good = |s: &Spread| s.median.is_finite() && s.median >= 0.0 && s.error.is_finite() && s.error >= 0.0;
        let mut logins = self.kex.iter().chain(&self.host_keys).chain(&self.user_keys);
        let mut steps = self.trial.iter().flat_map(|trial| &trial.steps);
        self.pairs.iter().all(|p| [p.mb_s, p.client_s_per_gb, p.server_s_per_gb, p.cpu_s_per_gb].iter().all(good))
            && logins.all(|l| [l.seconds, l.client_s, l.server_s, l.cpu_s].iter().all(good))
            && steps.all(|s| [s.mb_s, s.cpu_s_per_gb, s.login_s, s.login_cpu_s].iter().all(good))
    }

    /// What a cipher with a MAC costs; the MAC does not matter beside a cipher that authenticates by itself.
    pub fn pair(&self, cipher: &str, mac: &str) -> Option<&Pair> {
        let cipher = measured_as(cipher);
        self.pairs.iter().find(|p| p.cipher == cipher && p.mac.as_ref().is_none_or(|m| m == mac))
    }
}

/// The algorithms to measure, by name.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Ciphers.
    pub ciphers: Vec<String>,
    /// MACs.
    pub macs: Vec<String>,
    /// Key exchanges.
    pub kex: Vec<String>,
    /// Algorithms of host keys.
    pub host_keys: Vec<String>,
    /// Algorithms of user keys.
    pub user_keys: Vec<String>,
    /// The length of RSA keys.
    pub rsa_bits: u32,
    /// How long all of it may take, survey and trial.
    pub budget: Duration,
}

/// Measures `wanted` on `side`; the caller fills in what describes the machine. A run that was ended while it measured gives what it has until then,
/// and how it ended.
///
/// # Errors
/// [`Failure`] where nothing can be measured.
pub fn survey(
    rig: &mut Rig,
    side: &Side,
    wanted: &Wanted,
    progress: &Progress,
) -> Result<(Survey, Result<(), Failure>), Failure> {
    let sides = [side];
    let own = wanted.budget.mul_f64(SURVEY);
    let mut run = Run::new(rig, &sides, (progress, wanted.budget.saturating_sub(own)), own);
    let base = base(wanted);
    let mut jobs = logins(&base, wanted);
    let (costs, mut done) = run.measured(&mut jobs, Turns { times: LOGINS, until: 0.35, end: 0.45 });
    if jobs.is_empty() {
        return done.and_then(|()| Err(run.nothing("login")));
    }
    let mut rows: Vec<Login> = jobs.iter().zip(&costs).map(|(job, costs)| login_row(job, costs)).collect();
    pool_logins(&mut rows);
    let usual = rows.iter().find(|r| r.algorithm == base.kex).or(rows.first());
    let usual = match usual {
        Some(usual) => usual.clone(),
        None => return done.and_then(|()| Err(run.nothing("login"))),
    };
    let mut pairs = if done.is_ok() { pairs(&base, wanted) } else { Vec::new() };
    let mut pair_costs = Vec::new();
    if done.is_ok() {
        (pair_costs, done) = run.measured(&mut pairs, Turns { times: COPIES, until: 0.97, end: 1.0 });
        if pairs.is_empty() && done.is_ok() {
            return Err(run.nothing("cipher"));
        }
    }
    let mut pair_rows: Vec<Pair> =
        pairs.iter().zip(&pair_costs).map(|(job, costs)| pair_row(job, costs, &usual)).collect();
    pool_pairs(&mut pair_rows);
    let of = |names: &[String], suite: fn(&Suite) -> &String| {
        let found = |name: &String| {
            let job = jobs.iter().position(|j| suite(&j.suite) == measured_as(name))?;
            Some(Login { algorithm: measured_as(name).to_owned(), ..rows[job].clone() })
        };
        let mut found: Vec<Login> = names.iter().filter_map(found).collect();
        found.dedup_by(|a, b| a.algorithm == b.algorithm);
        found
    };
    let logins = Fewer::of("logins", rows.iter().map(|row| row.seconds.count), LOGINS.0);
    let copies = Fewer::of("copies", pair_rows.iter().map(|row| row.mb_s.count), COPIES.0);
    let survey = Survey {
        took: run.start.elapsed().as_secs_f64(),
        rsa_bits: wanted.rsa_bits,
        pairs: pair_rows,
        kex: of(&wanted.kex, |s| &s.kex),
        host_keys: of(&wanted.host_keys, |s| &s.host_key),
        user_keys: of(&wanted.user_keys, |s| &s.user_key),
        skipped: run.skipped,
        fewer: logins.into_iter().chain(copies).collect(),
        ..Survey::default()
    };
    Ok((survey, done))
}

/// The part of the time that the survey takes; the trial has the rest.
const SURVEY: f64 = 0.55;
/// How often the survey measures each login and each copy, where there is time: at least, and at most.
const LOGINS: (usize, usize) = (2, 15);
const COPIES: (usize, usize) = (2, 9);
/// How often the trial does.
const TRIAL: (usize, usize) = (5, 15);

/// Measures these suites on these sides, each copies and logins, in turns: few, so that each is measured often. Copies are measured as often as
/// `settled` needs, until the time is up.
///
/// # Errors
/// [`Failure`] where one does not work, or was interrupted.
pub fn trial(
    rig: &mut Rig,
    sides: &[(With, &Side)],
    choices: &[&Choice],
    settled: &dyn Fn(&[Step]) -> bool,
    (budget, progress): (Duration, &Progress),
) -> Result<(Vec<Step>, Vec<Fewer>), Failure> {
    let of_sides: Vec<&Side> = sides.iter().map(|(_, side)| *side).collect();
    let mut run = Run::new(rig, &of_sides, (progress, Duration::ZERO), budget);
    let suite = |choice: &Choice| Suite {
        cipher: choice.cipher.clone(),
        mac: choice.mac.clone().unwrap_or_default(),
        kex: choice.kex.clone(),
        ..Suite::default()
    };
    let all: Vec<(usize, &Choice)> =
        (0..sides.len()).flat_map(|side| choices.iter().map(move |choice| (side, *choice))).collect();
    let jobs = |bytes: u64| {
        let what = |side: usize, choice: &Choice| format!("{} ({})", choice.suite(), of_sides[side].name);
        let job = |&(side, choice): &(usize, &Choice)| Job {
            what: what(side, choice),
            suite: suite(choice),
            bytes,
            side,
            first: None,
        };
        all.iter().map(job).collect::<Vec<_>>()
    };
    let (mut logins, mut copies) = (jobs(0), jobs(SAMPLE));
    run.sift(&mut logins)?;
    run.sift(&mut copies)?;
    // A suite that was measured a moment ago, and no longer works, is no suite to choose.
    if let Some(skipped) = run.skipped.first() {
        return Err(Failure::new(format!("{}: {}", skipped.what, skipped.why)));
    }
    let (login_costs, done) = run.rounds(&mut logins, Turns { times: TRIAL, until: 0.25, end: 0.35 }, &|_, _| true);
    done?;
    let mut login_rows: Vec<Login> =
        logins.iter().zip(&login_costs).map(|(job, costs)| login_row(job, costs)).collect();
    pool_logins(&mut login_rows);
    let steps = |copies: &[Job], costs: &[Costs]| {
        let rows = copies.iter().zip(costs).zip(&login_rows);
        let mut pairs: Vec<Pair> = rows.map(|((job, costs), login)| pair_row(job, costs, login)).collect();
        pool_pairs(&mut pairs);
        let step = |((&(side, choice), pair), login): ((&(usize, &Choice), &Pair), &Login)| Step {
            with: sides[side].0,
            choice: choice.clone(),
            mb_s: pair.mb_s,
            cpu_s_per_gb: pair.cpu_s_per_gb,
            login_s: login.seconds,
            login_cpu_s: login.cpu_s,
        };
        all.iter().zip(&pairs).zip(&login_rows).map(step).collect::<Vec<Step>>()
    };
    run.sizes(&mut copies, ENOUGH);
    let enough = |copies: &[Job], costs: &[Costs]| settled(&steps(copies, costs));
    let (costs, done) = run.rounds(&mut copies, Turns { times: TRIAL, until: ENOUGH, end: 1.0 }, &enough);
    done?;
    let steps = steps(&copies, &costs);
    let logins = Fewer::of("logins of the comparison", steps.iter().map(|step| step.login_s.count), TRIAL.0);
    let copies = Fewer::of("copies of the comparison", steps.iter().map(|step| step.mb_s.count), TRIAL.0);
    Ok((steps, logins.into_iter().chain(copies).collect()))
}

/// The part of the trial's time after which clear figures are enough.
const ENOUGH: f64 = 0.75;

fn pool_logins(rows: &mut [Login]) {
    let figures: [fn(&mut Login) -> &mut Spread; 4] =
        [|r| &mut r.seconds, |r| &mut r.client_s, |r| &mut r.server_s, |r| &mut r.cpu_s];
    for figure in figures {
        pool(&mut rows.iter_mut().map(figure).collect::<Vec<_>>());
    }
}

fn pool_pairs(rows: &mut [Pair]) {
    let figures: [fn(&mut Pair) -> &mut Spread; 4] =
        [|r| &mut r.mb_s, |r| &mut r.client_s_per_gb, |r| &mut r.server_s_per_gb, |r| &mut r.cpu_s_per_gb];
    for figure in figures {
        pool(&mut rows.iter_mut().map(figure).collect::<Vec<_>>());
    }
}

/// The suite that all jobs differ from in one thing.
fn base(wanted: &Wanted) -> Suite {
    let usual = Suite::default();
    let pick = |names: &[String], usual: &str| {
        let found = names.iter().find(|n| *n == usual).or(names.first());
        measured_as(found.map_or(usual, |n| n)).to_owned()
    };
    Suite {
        cipher: pick(&wanted.ciphers, &usual.cipher),
        mac: pick(&wanted.macs, &usual.mac),
        kex: pick(&wanted.kex, &usual.kex),
        host_key: pick(&wanted.host_keys, &usual.host_key),
        user_key: pick(&wanted.user_keys, &usual.user_key),
        rsa_bits: wanted.rsa_bits,
    }
}

/// The logins: the base suite with every key exchange, every host key and every user key.
fn logins(base: &Suite, wanted: &Wanted) -> Vec<Job> {
    let job = |what: &str, suite: Suite| Job { what: what.to_owned(), suite, bytes: 0, side: 0, first: None };
    let mut jobs: Vec<Job> = vec![job(&base.kex, base.clone())];
    let mut add = |name: &String, suite: Suite| {
        if !jobs.iter().any(|j| j.suite == suite) {
            jobs.push(job(name, suite));
        }
    };
    for name in &wanted.kex {
        add(name, Suite { kex: measured_as(name).to_owned(), ..base.clone() });
    }
    for name in wanted.host_keys.iter().filter(|n| Type::of(n, 0).is_some()) {
        add(name, Suite { host_key: name.clone(), ..base.clone() });
    }
    for name in wanted.user_keys.iter().filter(|n| Type::of(n, 0).is_some()) {
        add(name, Suite { user_key: name.clone(), ..base.clone() });
    }
    jobs
}

/// The copies: every cipher with every MAC that means something beside it.
fn pairs(base: &Suite, wanted: &Wanted) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for cipher in wanted.ciphers.iter().map(|c| measured_as(c)) {
        let macs = if authenticates(cipher) { &[String::new()][..] } else { &wanted.macs[..] };
        for mac in macs {
            let suite = Suite { cipher: cipher.to_owned(), mac: mac.clone(), ..base.clone() };
            if !jobs.iter().any(|j| j.suite == suite) {
                let what = format!("{cipher} {mac}").trim_end().to_owned();
                jobs.push(Job { what, suite, bytes: SAMPLE, side: 0, first: None });
            }
        }
    }
    jobs
}

fn login_row(job: &Job, costs: &Costs) -> Login {
    Login {
        algorithm: job.what.clone(),
        seconds: costs.spread(|c| c.seconds),
        client_s: costs.spread(|c| c.client),
        server_s: costs.spread(|c| c.server),
        cpu_s: costs.spread(|c| c.client + c.server),
    }
}

fn pair_row(job: &Job, costs: &Costs, login: &Login) -> Pair {
    let per_gb = 1e9 / job.bytes as f64;
    let less = |all: Spread, login: Spread| {
        let part = all.less(login).times(per_gb);
        Spread { median: part.median.max(0.0), ..part }
    };
    Pair {
        cipher: job.suite.cipher.clone(),
        mac: (!job.suite.mac.is_empty()).then(|| job.suite.mac.clone()),
        mb_s: costs.spread(|c| job.bytes as f64 / 1e6 / (c.seconds - c.first).max(1e-6)),
        client_s_per_gb: less(costs.spread(|c| c.client), login.client_s),
        server_s_per_gb: less(costs.spread(|c| c.server), login.server_s),
        cpu_s_per_gb: less(costs.spread(|c| c.client + c.server), login.cpu_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh::measure::Cost;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn wanted() -> Wanted {
        Wanted {
            ciphers: words("aes128-gcm@openssh.com aes128-ctr aes256-ctr rijndael-cbc@lysator.liu.se aes256-cbc"),
            macs: words("hmac-sha1 umac-64@openssh.com"),
            kex: words("curve25519-sha256 curve25519-sha256@libssh.org diffie-hellman-group1-sha1"),
            host_keys: words("ssh-ed25519 rsa-sha2-256 ssh-dss"),
            user_keys: words("ssh-ed25519 ecdsa-sha2-nistp256 sk-ssh-ed25519@openssh.com"),
            rsa_bits: 2048,
            budget: Duration::from_secs(1),
        }
    }

    #[test]
    fn every_pair_once() {
        let names: Vec<String> = pairs(&base(&wanted()), &wanted()).into_iter().map(|j| j.what).collect();
        let expected = "aes128-gcm@openssh.com/aes128-ctr hmac-sha1/aes128-ctr umac-64@openssh.com/aes256-ctr hmac-sha1/\
                        aes256-ctr umac-64@openssh.com/aes256-cbc hmac-sha1/aes256-cbc umac-64@openssh.com";
        assert_eq!(names, expected.split('/').collect::<Vec<_>>());
    }

    #[test]
    fn every_login_once() {
        let names: Vec<String> = logins(&base(&wanted()), &wanted()).into_iter().map(|j| j.what).collect();
        assert_eq!(names, words("curve25519-sha256 diffie-hellman-group1-sha1 rsa-sha2-256 ecdsa-sha2-nistp256"));
    }

    #[test]
    fn a_login_is_taken_off_a_copy() {
        let cost = Cost { seconds: 1.1, first: 0.1, client: 0.3, server: 0.5 };
        let login = Cost { seconds: 0.1, first: 0.1, client: 0.1, server: 0.2 };
        let job = Job { what: "x".to_owned(), suite: Suite::default(), bytes: 500_000_000, side: 0, first: None };
        let row = pair_row(&job, &Costs(vec![cost; 3]), &login_row(&job, &Costs(vec![login; 3])));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(row.mb_s.median, 500.0) && near(row.client_s_per_gb.median, 0.4), "{row:?}");
        assert!(near(row.server_s_per_gb.median, 0.6) && near(row.cpu_s_per_gb.median, 1.0), "{row:?}");
    }
}
