//! Chapter 8: copies of a file of two bytes, where the login is all there is, by type of key.

use super::bulk::counted;
use super::clock::{Clock, Rounds, Task};
use super::file::Source;
use super::plan::{KEYS, SshKeyType};
use super::report::{Figure, Group, Measure, Row, Section, Served};
use super::scp::{Copier, Job, Taken};
use super::setup::Sides;
use crate::harness::turns::order;
use adjunct_tool::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// How much and how often.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Copies that are timed together, one after another.
    pub copies: usize,
    /// How many run at once in the second measurement.
    pub at_once: usize,
    /// Whether a rough answer is wanted.
    pub quick: bool,
}

impl Effort {
    /// Copies that are timed together when several run at once.
    fn many(&self) -> usize {
        self.at_once.max(self.copies) * if self.quick { 1 } else { 2 }
    }
}

/// The keys whose names are wanted.
pub fn keys(wanted: impl Fn(&str) -> bool) -> Vec<SshKeyType> {
    KEYS.into_iter().filter(|key| wanted(key.name)).collect()
}

/// What was measured of a key, side by side: one after another, and several at once.
type Measured = [(Vec<Taken>, Vec<Taken>); 3];

/// Keys that were tried, and are measured next.
pub struct Small {
    effort: Effort,
    file: Source,
    states: Vec<State>,
}

/// A key while it is measured.
struct State {
    key: SshKeyType,
    measured: Measured,
    served: Served,
    /// Seconds of a round.
    round: f64,
    rounds: Rounds,
    task: Option<Task>,
}

impl Small {
    /// Tries each key on every side: makes the keys, warms everything, and says how long a round takes.
    ///
    /// # Errors
    /// [`Failure`] where a copy fails.
    pub fn tried(
        copier: &mut Copier,
        sides: &Sides,
        keys: &[SshKeyType],
        effort: Effort,
        clock: &mut Clock,
    ) -> Result<Small, Failure> {
        let file = Source::new(copier.folder(), "testdata_short", 2)?;
        let mut states = Vec::new();
        // What a copy takes of the time of one alone, where several run at once.
        let mut share: Option<f64> = None;
        for (at, key) in keys.iter().enumerate() {
            clock.trial(at, keys.len(), key.name);
            let mut logins = 0.0;
            for side in sides.iter().flatten() {
                let mut seconds = |copies, at_once| {
                    let began = Instant::now();
                    let done = copier.run(side, &job(key, file.path(), copies, at_once));
                    let named = |e: Failure| Failure::new(format!("{} on {}: {e}", key.name, side.name));
                    done.map(|_| began.elapsed().as_secs_f64()).map_err(named)
                };
                seconds(1, 1)?;
                let one = seconds(2, 1)? / 2.0;
                if share.is_none() {
                    share = Some(seconds(effort.many(), effort.at_once)? / effort.many() as f64 / one.max(1e-6));
                }
                logins += one;
            }
            let round = logins * (effort.copies as f64 + share.unwrap_or(1.0) * effort.many() as f64);
            let (measured, served, rounds) = (Measured::default(), Served::default(), Rounds::new(0, 0.0));
            states.push(State { key: *key, measured, served, round, rounds, task: None });
        }
        Ok(Small { effort, file, states })
    }

    /// Seconds of a round of all keys.
    pub fn round(&self) -> f64 {
        self.states.iter().map(|state| state.round).sum()
    }

    /// Plans `runs` rounds.
    pub fn plan(&mut self, runs: usize, clock: &mut Clock) {
        for state in &mut self.states {
            state.rounds = Rounds::new(runs, state.round);
            state.task = Some(clock.task(state.rounds.seconds()));
        }
    }

    /// Measures the keys in rounds, as the large copies are. Where that fails, what was measured until then comes with the failure.
    pub fn measure(mut self, copier: &mut Copier, sides: &Sides, clock: &mut Clock) -> (Section, Result<(), Failure>) {
        let done = self.rounds(copier, sides, clock);
        let effort = self.effort;
        let lacking = |((one, several), side): (&(Vec<_>, Vec<_>), &Option<_>)| {
            side.is_some() && (one.is_empty() || several.is_empty())
        };
        let row = |state: State| {
            if state.measured.iter().zip(sides).any(lacking) {
                return Row::missing(state.key.name, "not measured: the run ended before");
            }
            row(&state.key, &state.measured, state.served, &effort)
        };
        (section(self.states.into_iter().map(row).collect(), &effort), done)
    }

    fn rounds(&mut self, copier: &mut Copier, sides: &Sides, clock: &mut Clock) -> Result<(), Failure> {
        let mut round = 0;
        while self.states.iter().any(|state| !state.rounds.are_done()) {
            for state in &mut self.states {
                clock.say(state.key.name);
                let began = Instant::now();
                state.round(copier, sides, self.file.path(), &self.effort, round)?;
                state.rounds.done(began.elapsed());
                if let Some(task) = state.task {
                    clock.left(task, state.rounds.seconds());
                }
            }
            round += 1;
        }
        Ok(())
    }
}

impl State {
    fn round(
        &mut self,
        copier: &mut Copier,
        sides: &Sides,
        file: &Path,
        effort: &Effort,
        round: usize,
    ) -> Result<(), Failure> {
        for at in order(sides.len(), round) {
            let Some(side) = &sides[at] else { continue };
            for (many, copies, at_once) in [(false, effort.copies, 1), (true, effort.many(), effort.at_once)] {
                let (taken, moved) = counted(copier, side, &job(&self.key, file, copies, at_once))?;
                let (one, several) = &mut self.measured[at];
                if many { several } else { one }.push(taken);
                self.served = self.served.plus(moved);
            }
        }
        Ok(())
    }
}

fn job(key: &SshKeyType, file: &Path, copies: usize, at_once: usize) -> Job {
    Job {
        both: vec![
            "Ciphers aes128-gcm@openssh.com".to_owned(),
            format!("KexAlgorithms {}", key.kex),
            format!("HostKeyAlgorithms {}", key.algorithm),
            format!("PubkeyAcceptedKeyTypes {}", key.algorithm),
        ],
        key: key.algorithm.to_owned(),
        rsa_bits: key.rsa_bits,
        file: file.to_owned(),
        copies,
        at_once,
        limit: Duration::from_secs(120),
    }
}

fn row(key: &SshKeyType, measured: &Measured, served: Served, effort: &Effort) -> Row {
    let of = |several: bool, value: &dyn Fn(&Taken) -> f64, decimals| {
        let values = measured.each_ref().map(|(one, many)| {
            let all = if several { many } else { one };
            all.iter().map(value).collect::<Vec<_>>()
        });
        Figure::new(values.each_ref().map(Vec::as_slice), decimals)
    };
    let (one, many) = (effort.copies as f64, effort.many() as f64);
    let cpu = |t: &Taken, copies: f64| (t.client + t.server) * 1000.0 / copies;
    let figures = BTreeMap::from([
        ("copies_s".to_owned(), of(false, &|t| one / t.seconds.max(1e-9), 1)),
        ("copies_s_many".to_owned(), of(true, &|t| many / t.seconds.max(1e-9), 1)),
        ("server_ms".to_owned(), of(false, &|t| t.server * 1000.0 / one, 1)),
        ("cpu_ms".to_owned(), of(false, &|t| cpu(t, one), 1)),
    ]);
    let detail = format!("{}, {}", key.algorithm, key.kex);
    Row { name: key.name.to_owned(), detail, missing: None, paper: BTreeMap::new(), served, figures }
}

fn section(rows: Vec<Row>, effort: &Effort) -> Section {
    let measure = |id: &str, title: String, unit: &str, more_is_better| Measure {
        id: id.to_owned(),
        title,
        unit: unit.to_owned(),
        decimals: 1,
        more_is_better,
    };
    let many = format!("copies, {} at once", effort.at_once);
    Section {
        id: "small".to_owned(),
        title: "Logins: small files, many logins (chapter 8)".to_owned(),
        about: "scp of a file of 2 bytes to /dev/null over loopback: a login is all there is. Host and user have keys of the \
                same type; the cipher is aes128-gcm@openssh.com."
            .to_owned(),
        measures: vec![
            measure("copies_s", "copies one after another".to_owned(), "copies/s", true),
            measure("copies_s_many", many, "copies/s at once", true),
            measure("server_ms", "CPU time of sshd for a copy".to_owned(), "sshd ms", false),
            measure("cpu_ms", "CPU time of both sides for a copy".to_owned(), "CPU ms", false),
        ],
        again: false,
        charts: vec!["copies_s".to_owned(), "copies_s_many".to_owned(), "cpu_ms".to_owned()],
        groups: vec![Group { title: String::new(), rows }],
    }
}
