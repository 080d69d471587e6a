//! Chapter 8: copies of a file of two bytes, where the login is all there is, by type of key.

use super::bulk::{counted, order};
use super::clock::Clock;
use super::file::Source;
use super::plan::{KEYS, Key};
use super::report::{Figure, Group, Measure, Row, Section, Served};
use super::scp::{Copier, Job, Taken};
use super::setup::Sides;
use crate::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How much and how often.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Copies that are timed together, one after another.
    pub copies: usize,
    /// How many run at once in the second measurement.
    pub at_once: usize,
    /// Measurements of every row on every side.
    pub runs: usize,
}

impl Effort {
    /// Copies that are timed together when several run at once.
    fn many(&self) -> usize {
        self.at_once.max(self.copies) * 2
    }

    /// Seconds of one round of a key on three sides, roughly.
    fn seconds(&self, login: f64) -> f64 {
        3.0 * login * (self.copies as f64 + 0.7 * self.many() as f64)
    }
}

/// Seconds that the measuring of these keys takes, roughly; `login` is what one copy takes.
pub fn estimate(keys: &[Key], effort: &Effort, login: f64) -> f64 {
    keys.len() as f64 * effort.runs as f64 * effort.seconds(login)
}

/// The keys whose names are wanted.
pub fn keys(wanted: impl Fn(&str) -> bool) -> Vec<Key> {
    KEYS.into_iter().filter(|key| wanted(key.name)).collect()
}

/// What was measured of a key, side by side: one after another, and several at once.
type Measured = [(Vec<Taken>, Vec<Taken>); 3];

/// Measures the keys in rounds, as the large copies are.
///
/// # Errors
/// [`Failure`] where a copy fails.
pub fn measure(
    copier: &mut Copier,
    sides: &Sides,
    keys: &[Key],
    effort: &Effort,
    clock: &mut Clock,
) -> Result<Section, Failure> {
    let file = Source::new(copier.folder(), "testdata_short", 2)?;
    let mut all: Vec<(Measured, Served)> = keys.iter().map(|_| Default::default()).collect();
    // Makes the keys, and warms everything.
    for key in keys {
        clock.say(key.name);
        for side in sides.iter().flatten() {
            let named = |e: Failure| Failure::new(format!("{} on {}: {e}", key.name, side.name));
            copier.run(side, &job(key, file.path(), 1, 1)).map_err(named)?;
        }
    }
    for round in 0..effort.runs {
        for (key, (measured, served)) in keys.iter().zip(&mut all) {
            clock.say(key.name);
            for at in order(round) {
                let Some(side) = &sides[at] else { continue };
                for (many, copies, at_once) in [(false, effort.copies, 1), (true, effort.many(), effort.at_once)] {
                    let (taken, moved) = counted(copier, side, &job(key, file.path(), copies, at_once))?;
                    let (one, several) = &mut measured[at];
                    if many { several } else { one }.push(taken);
                    *served = served.plus(moved);
                }
            }
            clock.done(effort.seconds(clock.login));
        }
    }
    let rows = keys.iter().zip(all).map(|(key, (measured, served))| row(key, &measured, served, effort)).collect();
    Ok(section(rows, effort))
}

fn job(key: &Key, file: &Path, copies: usize, at_once: usize) -> Job {
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

fn row(key: &Key, measured: &Measured, served: Served, effort: &Effort) -> Row {
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
        title: "Small files, many logins (chapter 8)".to_owned(),
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
