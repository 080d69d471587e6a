//! What the order of algorithms brings and what adjunct adds to it, each by itself: the suite of today and the new one, stock and with adjunct,
//! measured in turns. And the changes that bring too little.

use super::algorithms::{AlgorithmKind, authenticates, measured_as};
use super::order::Lists;
use super::survey::Survey;
use super::system::agreed;
use crate::ssh::measure::Spread;
use serde::{Deserialize, Serialize};

/// The algorithms of a connection, as two sides agree on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The cipher.
    pub cipher: String,
    /// The MAC; none beside a cipher that authenticates by itself.
    pub mac: Option<String>,
    /// The key exchange.
    pub kex: String,
}

impl Choice {
    /// What a client and a server agree on; `None` where they have nothing in common.
    pub fn of(client: &Lists, server: &Lists) -> Option<Choice> {
        let cipher = agreed(AlgorithmKind::Ciphers, client, server)?;
        let mac = if authenticates(&cipher) { None } else { Some(agreed(AlgorithmKind::Macs, client, server)?) };
        let kex = measured_as(&agreed(AlgorithmKind::Kex, client, server)?).to_owned();
        Some(Choice { cipher: measured_as(&cipher).to_owned(), mac, kex })
    }

    /// Cipher and MAC.
    pub fn suite(&self) -> String {
        self.mac.as_ref().map_or_else(|| self.cipher.clone(), |mac| format!("{} {mac}", self.cipher))
    }

    /// Whether copies are alike.
    pub(super) fn copies_as(&self, other: &Choice) -> bool {
        (&self.cipher, &self.mac) == (&other.cipher, &other.mac)
    }
}

/// The code that computes the algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum With {
    /// OpenSSL without adjunct.
    Stock,
    /// adjunct.
    Adjunct,
}

/// Figures of a suite with or without adjunct.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The code that computed the algorithms.
    pub with: With,
    /// The suite.
    pub choice: Choice,
    /// Copying: 10^6 bytes a second, once logged in.
    pub mb_s: Spread,
    /// Copying: processor seconds of both sides for 10^9 bytes, without the login.
    pub cpu_s_per_gb: Spread,
    /// A login: seconds from the client's start to its end.
    pub login_s: Spread,
    /// A login: processor seconds of both sides.
    pub login_cpu_s: Spread,
}

/// Figures of all steps, measured in turns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Whether ssh, as it is configured, is served by adjunct already.
    pub on_already: bool,
    /// The measurements.
    pub steps: Vec<Step>,
}

impl Trial {
    /// The code that computes the suites once all is done, as far as that was measured.
    pub fn last(&self) -> With {
        if self.steps.iter().any(|step| step.with == With::Adjunct) { With::Adjunct } else { With::Stock }
    }

    /// How far the figures of copies may be from the true ones, as a part of them: of the least sure.
    pub fn doubt(&self) -> f64 {
        self.steps.iter().map(|step| step.cpu_s_per_gb.relative()).fold(0.0, f64::max)
    }

    /// Figures of a suite, computed by `with`; `None` where they were not measured.
    pub fn step(&self, with: With, choice: &Choice) -> Option<&Step> {
        self.steps.iter().find(|step| step.with == with && step.choice == *choice)
    }

    /// Makes a trial of a survey's rows where no second side was measured: it has copies and logins of that one side.
    pub fn of_rows(survey: &Survey, choices: &[&Choice]) -> Trial {
        let with = if survey.accelerated { With::Adjunct } else { With::Stock };
        let step = |choice: &&Choice| {
            let pair = survey.pair(&choice.cipher, choice.mac.as_deref().unwrap_or_default())?;
            let login = survey.kex.iter().find(|row| row.algorithm == choice.kex)?;
            Some(Step {
                with,
                choice: (*choice).clone(),
                mb_s: pair.mb_s,
                cpu_s_per_gb: pair.cpu_s_per_gb,
                login_s: login.seconds,
                login_cpu_s: login.cpu_s,
            })
        };
        Trial { on_already: survey.accelerated, steps: choices.iter().filter_map(step).collect() }
    }
}

/// The verdict on a figure compared with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It costs clearly less than the other.
    Better,
    /// It costs clearly more than the other.
    Worse,
    /// There is no clear difference between the two.
    Same,
}

impl Verdict {
    fn of(new: &Spread, old: &Spread) -> Verdict {
        match (new.clearly_below(old), old.clearly_below(new)) {
            (true, _) => Verdict::Better,
            (_, true) => Verdict::Worse,
            _ => Verdict::Same,
        }
    }
}

/// What a change brings to copies and to logins; none where it changes nothing of them, or was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Brings {
    /// The gain for copies.
    pub copies: Option<Verdict>,
    /// The gain for logins.
    pub logins: Option<Verdict>,
}

/// The gain of the new order over today's, computed by the same code.
pub fn brings(trial: &Trial, with: With, today: &Choice, new: &Choice) -> Brings {
    let (Some(old), Some(step)) = (trial.step(with, today), trial.step(with, new)) else { return Brings::default() };
    let copies = (!new.copies_as(today)).then(|| Verdict::of(&step.cpu_s_per_gb, &old.cpu_s_per_gb));
    let logins = (new.kex != today.kex).then(|| Verdict::of(&step.login_cpu_s, &old.login_cpu_s));
    Brings { copies, logins }
}

/// Figures that are less sure than this may hide a difference that matters.
pub const NOISY: f64 = 0.08;

/// Whether it is told what the new order brings to copies: a clear difference, or none in figures that are sure.
pub fn settled(trial: &Trial, today: &Choice, new: &Choice) -> bool {
    brings(trial, trial.last(), today, new).copies != Some(Verdict::Same) || trial.doubt() <= NOISY
}

/// The gain: in words for people and, with the figures, for programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gain {
    /// The cost of copying 1 GB afterwards and now.
    pub copying: String,
    /// The part of the gain that the order of algorithms brings.
    pub order: String,
    /// The part of the gain that adjunct adds; `None` where it takes no part.
    pub adjunct: Option<String>,
    /// The cost of a login afterwards and now.
    pub login: String,
    /// The gain by the order.
    pub by_order: Brings,
    /// The gain by adjunct, with the same algorithms.
    pub by_adjunct: Option<Brings>,
    /// The figures.
    pub steps: Vec<Step>,
}

/// Figures that are no surer than this say nothing.
const USELESS: f64 = 0.5;

impl Gain {
    /// Works out the gain of the algorithms that are agreed on afterwards (`then`) over those of `today`; `None` where no side measured both.
    pub fn of(trial: &Trial, today: &Choice, then: &Choice) -> Option<Gain> {
        let has = |with| trial.step(with, today).is_some() && trial.step(with, then).is_some();
        let (stock, accelerated) = (has(With::Stock), has(With::Adjunct));
        let (now, last) = match (stock, accelerated) {
            (true, true) if trial.on_already => (With::Adjunct, With::Adjunct),
            (true, true) => (With::Stock, With::Adjunct),
            (true, false) => (With::Stock, With::Stock),
            (false, true) => (With::Adjunct, With::Adjunct),
            (false, false) => return None,
        };
        // The order by itself: stock, where that was measured and tells something.
        let tells = |with| {
            [today, then]
                .iter()
                .all(|choice| trial.step(with, choice).is_some_and(|s| s.cpu_s_per_gb.relative() <= USELESS))
        };
        let plain = if stock && (tells(With::Stock) || !tells(With::Adjunct)) { With::Stock } else { With::Adjunct };
        let [now, last, before, after] =
            [trial.step(now, today)?, trial.step(last, then)?, trial.step(plain, today)?, trial.step(plain, then)?];
        let added = if stock && accelerated { trial.step(With::Adjunct, then) } else { None };
        let by_adjunct = added.map(|step| Brings {
            copies: Some(Verdict::of(&step.cpu_s_per_gb, &after.cpu_s_per_gb)),
            logins: Some(Verdict::of(&step.login_cpu_s, &after.login_cpu_s)),
        });
        Some(Gain {
            copying: compared("copying 1 GB", &copy(now), &copy(last)),
            order: order(today, then, before, after),
            adjunct: added.map(|step| {
                let copies = compared("adjunct adds to that, with the same algorithms", &copy(after), &copy(step));
                let logins = compared("to a login", &login(after), &login(step));
                format!("{copies}; {logins}")
            }),
            login: compared("a login", &login(now), &login(last)),
            by_order: brings(trial, plain, today, then),
            by_adjunct,
            steps: trial.steps.clone(),
        })
    }

    /// A line each.
    pub fn lines(&self) -> Vec<String> {
        let parts = [Some(&self.order), self.adjunct.as_ref()].into_iter().flatten().map(|part| format!("  {part}"));
        std::iter::once(self.copying.clone()).chain(parts).chain([self.login.clone()]).collect()
    }
}

/// Seconds and processor seconds, with their names.
struct Figures {
    seconds: Spread,
    cpu: Spread,
    units: [&'static str; 2],
}

fn copy(step: &Step) -> Figures {
    let rate = step.mb_s;
    let median = 1000.0 / rate.median.max(1e-9);
    // A relative error stays one where the figure is turned over.
    let error = if rate.median > 0.0 { median * rate.relative() } else { f64::INFINITY };
    Figures { seconds: Spread { median, error, count: rate.count }, cpu: step.cpu_s_per_gb, units: ["s", "CPU s"] }
}

fn login(step: &Step) -> Figures {
    Figures { seconds: step.login_s.times(1e3), cpu: step.login_cpu_s.times(1e3), units: ["ms", "CPU ms"] }
}

/// What something costs now, and then where that is clearly another: in processor time, which decides, and in time.
fn compared(what: &str, old: &Figures, new: &Figures) -> String {
    let digits = usize::from(old.units[0] == "s");
    let [unit, cpu_unit] = old.units;
    let cpu = |figures: &Figures| format!("{:.digits$}", figures.cpu.median);
    let seconds = |figures: &Figures| format!("{:.digits$}", figures.seconds.median);
    if old.cpu.relative().max(new.cpu.relative()) > USELESS {
        return format!("{what}: cannot be told, the figures scatter too much; measure on a quieter machine");
    }
    let timed = old.seconds.relative().max(new.seconds.relative()) <= USELESS;
    let both = |figures: &Figures| match timed {
        true => format!("{} {unit} and {} {cpu_unit}", seconds(figures), cpu(figures)),
        false => format!("{} {cpu_unit}", cpu(figures)),
    };
    match Verdict::of(&new.cpu, &old.cpu) {
        Verdict::Same if both(new) == both(old) => format!("{what}: no clear difference ({} now)", both(old)),
        Verdict::Same => format!("{what}: no clear difference ({} beside {})", both(new), both(old)),
        verdict => {
            let worse = if verdict == Verdict::Worse { ", which is more" } else { "" };
            format!("{what}: {} instead of {}{worse}", both(new), both(old))
        }
    }
}

/// The sentence on the gain by the order of algorithms alone.
fn order(today: &Choice, then: &Choice, before: &Step, after: &Step) -> String {
    if today == then {
        return format!("the order of algorithms stays: {} is taken first, as now", today.suite());
    }
    let mut parts = Vec::new();
    if !then.copies_as(today) {
        let said = compared("the order of ciphers brings", &copy(before), &copy(after));
        parts.push(format!("{said} ({} before {})", then.suite(), today.suite()));
    }
    if then.kex != today.kex {
        let said = compared("the order of key exchanges, to a login", &login(before), &login(after));
        parts.push(format!("{said} ({} before {})", then.kex, today.kex));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(cipher: &str, kex: &str) -> Choice {
        Choice { cipher: cipher.to_owned(), mac: None, kex: kex.to_owned() }
    }

    fn step(with: With, choice: &Choice, mb_s: f64, cpu: f64, login: f64) -> Step {
        let spread = |median: f64| Spread { median, error: median * 0.01, count: 5 };
        let (mb_s, cpu_s_per_gb) = (spread(mb_s), spread(cpu));
        Step {
            with,
            choice: choice.clone(),
            mb_s,
            cpu_s_per_gb,
            login_s: spread(login),
            login_cpu_s: spread(login * 1.5),
        }
    }

    fn trial() -> (Trial, Choice, Choice) {
        let (today, new) = (choice("chacha", "x25519"), choice("gcm", "x25519"));
        let steps = vec![
            step(With::Stock, &today, 800.0, 2.0, 0.04),
            step(With::Stock, &new, 1100.0, 1.3, 0.04),
            step(With::Adjunct, &today, 850.0, 1.9, 0.03),
            step(With::Adjunct, &new, 1250.0, 1.2, 0.03),
        ];
        (Trial { on_already: false, steps }, today, new)
    }

    #[test]
    fn the_order_and_adjunct_are_told_apart() {
        let (trial, today, new) = trial();
        let gain = Gain::of(&trial, &today, &new).unwrap();
        assert_eq!(
            gain.lines(),
            [
                "copying 1 GB: 0.8 s and 1.2 CPU s instead of 1.2 s and 2.0 CPU s",
                "  the order of ciphers brings: 0.9 s and 1.3 CPU s instead of 1.2 s and 2.0 CPU s (gcm before chacha)",
                "  adjunct adds to that, with the same algorithms: 0.8 s and 1.2 CPU s instead of 0.9 s and 1.3 CPU s; to a login: 30 ms \
                 and 45 CPU ms instead of 40 ms and 60 CPU ms",
                "a login: 30 ms and 45 CPU ms instead of 40 ms and 60 CPU ms",
            ]
        );
        assert_eq!(gain.by_order, Brings { copies: Some(Verdict::Better), logins: None });
        assert_eq!(gain.by_adjunct.unwrap().copies, Some(Verdict::Better));
        // Where the order is left, what adjunct brings alone.
        let alone = Gain::of(&trial, &today, &today).unwrap().lines().join("\n");
        assert!(
            alone.contains("instead of 1.2 s and 2.0 CPU s") && alone.contains("the order of algorithms stays: chacha"),
            "{alone}"
        );
    }

    #[test]
    fn where_adjunct_serves_already_today_is_with_it() {
        let (mut trial, today, new) = trial();
        trial.on_already = true;
        let lines = Gain::of(&trial, &today, &new).unwrap().lines();
        assert_eq!(lines[0], "copying 1 GB: 0.8 s and 1.2 CPU s instead of 1.2 s and 1.9 CPU s");
        assert!(lines[1].contains("instead of 1.2 s and 2.0 CPU s") && lines[2].contains("adjunct adds"), "{lines:?}");
    }

    #[test]
    fn without_adjunct_nothing_is_said_of_it() {
        let (mut trial, today, new) = trial();
        trial.steps.truncate(2);
        let gain = Gain::of(&trial, &today, &new).unwrap();
        assert_eq!((gain.adjunct.clone(), gain.by_adjunct), (None, None));
        assert_eq!(gain.lines()[0], "copying 1 GB: 0.9 s and 1.3 CPU s instead of 1.2 s and 2.0 CPU s");
        trial.steps.truncate(1);
        assert_eq!(Gain::of(&trial, &today, &new), None, "what was not measured is not claimed");
    }

    #[test]
    fn no_clear_difference_is_said_and_no_gain() {
        let (mut trial, today, new) = trial();
        for step in &mut trial.steps {
            step.cpu_s_per_gb.error = 0.8;
        }
        let gain = Gain::of(&trial, &today, &new).unwrap();
        assert_eq!(gain.by_order.copies, Some(Verdict::Same));
        assert!(gain.copying.starts_with("copying 1 GB: cannot be told"), "{}", gain.copying);
        for step in &mut trial.steps {
            step.cpu_s_per_gb.error = 0.58;
            step.mb_s.error = 1e9;
        }
        let gain = Gain::of(&trial, &today, &new).unwrap();
        assert_eq!(
            gain.copying, "copying 1 GB: no clear difference (1.2 CPU s beside 2.0 CPU s)",
            "no seconds that are not sure"
        );
        // Both figures: one alone would not fit to what all of it brings.
        assert_eq!(
            gain.order,
            "the order of ciphers brings: no clear difference (1.3 CPU s beside 2.0 CPU s) (gcm before chacha)"
        );
    }

    #[test]
    fn a_key_exchange_is_told_by_logins() {
        let (today, new) = (choice("gcm", "slow"), choice("gcm", "fast"));
        let steps = vec![step(With::Stock, &today, 800.0, 2.0, 0.09), step(With::Stock, &new, 800.0, 2.0, 0.04)];
        let trial = Trial { on_already: false, steps };
        let gain = Gain::of(&trial, &today, &new).unwrap();
        assert_eq!(gain.by_order, Brings { copies: None, logins: Some(Verdict::Better) });
        assert!(
            gain.order.ends_with("40 ms and 60 CPU ms instead of 90 ms and 135 CPU ms (fast before slow)"),
            "{}",
            gain.order
        );
    }
}
