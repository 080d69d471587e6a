//! Figure 7 and tables 2 to 4: large copies by cipher and MAC.

use super::clock::{Clock, Rounds, Task};
use super::file::Source;
use super::plan;
use super::report::{Figure, Group, Measure, Row, Section, Served};
use super::scp::{Copier, Job, Taken};
use super::setup::Sides;
use super::start::{Starts, without};
use crate::harness::turns::order;
use adjunct_cli::ssh::measure::Side;
use adjunct_tool::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much and how often.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Bytes of a copy.
    pub bytes: u64,
    /// Bytes of a copy by a slow cipher.
    pub slow_bytes: u64,
}

/// Time of a row above which it is measured only [`LEAST`] times.
const LONG: Duration = Duration::from_secs(60);
/// The fewest copies that have a median and quartiles.
pub const LEAST: usize = 3;
/// A subject's time is estimated from this part of its file, but from no less than [`SAMPLE`]: the random error of a login is multiplied by the ratio
/// of the file to the part.
const PART: u64 = 4;
/// The shortest time of a copy's bytes, in proportion to its login.
const LOGINS: f64 = 0.5;
/// Bytes that a subject is tried with, if its file has as many; slow ciphers are tried with an eighth.
const SAMPLE: u64 = 64_000_000;

/// A cipher, with a MAC where one is asked for.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The cipher.
    pub cipher: &'static str,
    /// The MAC; `None` leaves it to OpenSSH.
    pub mac: Option<&'static str>,
}

impl Subject {
    /// Name of the subject's row.
    pub fn name(&self) -> String {
        self.mac.map_or_else(|| self.cipher.to_owned(), |mac| format!("{}, {mac}", self.cipher))
    }

    fn lines(&self) -> Vec<String> {
        let mac = self.mac.map(|mac| format!("MACs {mac}"));
        std::iter::once(format!("Ciphers {}", self.cipher)).chain(mac).collect()
    }
}

/// The rows of figure 7.
pub fn figure7() -> Vec<Subject> {
    let all = plan::FIGURE7_CIPHERS.iter().flat_map(|(_, c)| plan::FIGURE7_MACS.map(|m| (*c, m)));
    all.map(|(cipher, mac)| Subject { cipher, mac: Some(mac) }).collect()
}

/// The rows of the tables.
pub fn tables() -> Vec<Subject> {
    plan::TABLE2.iter().map(|&(cipher, ..)| Subject { cipher, mac: None }).collect()
}

/// The algorithms of OpenSSH, by its own lists.
#[derive(Debug, Clone)]
pub struct Known {
    /// The version, for people.
    pub version: String,
    /// The ciphers.
    pub ciphers: Vec<String>,
    /// The MACs.
    pub macs: Vec<String>,
    /// The MAC that is negotiated where none is asked for.
    pub default_mac: Option<String>,
}

impl Known {
    /// Why a subject cannot be measured.
    fn lacks(&self, subject: &Subject) -> Option<String> {
        let missing = |list: &[String], name: &str| !list.is_empty() && !list.iter().any(|n| n == name);
        let version = self.version.split_whitespace().next().unwrap_or("OpenSSH");
        if missing(&self.ciphers, subject.cipher) {
            return Some(format!("not available: {version} does not have it"));
        }
        let mac = subject.mac.filter(|mac| missing(&self.macs, mac))?;
        Some(format!("not available: {version} does not have {mac}"))
    }

    fn detail(&self, subject: &Subject, bytes: u64) -> String {
        let size = size(bytes);
        match (&self.default_mac, subject.mac) {
            (Some(mac), None) if !plan::authenticates(subject.cipher) => format!("MAC {mac}, {size}"),
            _ => size,
        }
    }
}

/// A length for people.
pub fn size(bytes: u64) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")] {
        if bytes >= unit && bytes.is_multiple_of(unit) {
            return format!("{} {name}", bytes / unit);
        }
    }
    format!("{bytes} bytes")
}

/// How much of a file of `bytes` a subject is tried with.
fn sample(bytes: u64, slow: bool) -> u64 {
    let enough = if slow { SAMPLE / 8 } else { SAMPLE };
    (bytes / PART).max(bytes.min(enough)).max(1)
}

fn length(subject: &Subject, effort: &Effort) -> u64 {
    if plan::slow(subject.cipher) { effort.slow_bytes } else { effort.bytes }
}

/// Subjects that were tried, and are measured next.
pub struct Bulk {
    states: Vec<State>,
}

impl Bulk {
    /// Tries each subject on every side with a part of the file: whether it works, and how long a round takes. `logins` is what a
    /// copy of nothing takes on each side, in seconds. Where nothing can be copied, or adjunct fails where stock does not, the failure comes with what
    /// was tried until then.
    pub fn tried(
        copier: &mut Copier,
        sides: &Sides,
        subjects: &[Subject],
        (known, effort): (&Known, &Effort),
        logins: &Logins,
        clock: &mut Clock,
    ) -> (Bulk, Result<(), Failure>) {
        let mut samples = Samples::default();
        let mut states: Vec<State> = subjects.iter().map(|subject| State::new(subject, known, effort)).collect();
        let all = states.len();
        let mut trials = states.iter_mut().enumerate().filter(|(_, state)| state.missing.is_none());
        let done = trials.try_for_each(|(at, state)| {
            clock.trial(at, all, &state.subject.name());
            state.try_out(copier, sides, logins, &mut samples)
        });
        (Bulk { states }, done)
    }

    /// Rows of what was tried, where the run ended before it was measured.
    pub fn tries(mut self, sides: &Sides, known: &Known, starts: &Starts) -> Vec<Row> {
        self.states.iter_mut().for_each(|state| state.judge_unfinished(sides));
        let start = starts.each();
        self.states.into_iter().map(|state| state.row(known, &start)).collect()
    }

    /// Seconds of a round of all subjects: of the logins in it, and of the data.
    pub fn round(&self) -> [f64; 2] {
        self.states.iter().fold([0.0; 2], |[logins, data], state| [logins + state.logins, data + state.data])
    }

    /// Copies this part of the data only, in whole megabytes; but enough that the bytes take half as long as the login, which is taken off.
    pub fn shorten(&mut self, part: f64) {
        for state in &mut self.states {
            let part = part.max(LOGINS * state.logins / state.data.max(1e-9)).min(1.0);
            let bytes = ((state.bytes as f64 * part / 1e6).floor() as u64).max(1) * 1_000_000;
            let bytes = bytes.min(state.bytes);
            state.data *= bytes as f64 / state.bytes.max(1) as f64;
            state.bytes = bytes;
        }
    }

    /// The length of the longest copy.
    pub fn bytes(&self) -> u64 {
        self.states.iter().map(|state| state.bytes).max().unwrap_or(0)
    }

    /// Plans `runs` rounds; long rows get fewer.
    pub fn plan(&mut self, runs: usize, clock: &mut Clock) {
        for state in self.states.iter_mut().filter(|state| state.missing.is_none()) {
            let round = state.logins + state.data;
            let enough = (LONG.as_secs_f64() / round.max(1e-3)).ceil() as usize;
            state.rounds = Rounds::new(runs.min(enough.max(LEAST)), round);
            state.task = Some(clock.task(state.rounds.seconds()));
        }
    }

    /// Measures the subjects in rounds: each once a round on every side, the sides in changing order, so that slow changes (the clock frequency, load
    /// of other virtual machines) affect all alike. Where that fails, what was measured until then comes with the failure.
    pub fn measure(
        mut self,
        copier: &mut Copier,
        sides: &Sides,
        (known, starts): (&Known, &mut Starts),
        clock: &mut Clock,
    ) -> (Vec<Row>, Result<(), Failure>) {
        let done = self.rounds(copier, sides, starts, clock);
        if done.is_err() {
            self.states.iter_mut().for_each(|state| state.judge_unfinished(sides));
        }
        let start = starts.each();
        (self.states.into_iter().map(|state| state.row(known, &start)).collect(), done)
    }

    fn rounds(
        &mut self,
        copier: &mut Copier,
        sides: &Sides,
        starts: &mut Starts,
        clock: &mut Clock,
    ) -> Result<(), Failure> {
        let lengths: BTreeSet<u64> = self.states.iter().map(|state| state.bytes).collect();
        let mut sources = BTreeMap::new();
        for bytes in lengths {
            sources.insert(bytes, Source::new(copier.folder(), &format!("data_{bytes}"), bytes)?);
        }
        let mut round = 0;
        while self.states.iter().any(|state| !state.rounds.are_done()) {
            starts.measure(copier, sides, round)?;
            for state in self.states.iter_mut().filter(|state| !state.rounds.are_done()) {
                clock.say(&state.subject.name());
                let began = Instant::now();
                state.round(copier, sides, sources[&state.bytes].path(), round)?;
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

/// The time of a copy without data on each side, in seconds.
pub type Logins = [f64; 3];

/// Files that the subjects are tried with, by their length.
#[derive(Default)]
struct Samples(BTreeMap<u64, Source>);

impl Samples {
    fn of(&mut self, folder: &std::path::Path, bytes: u64) -> Result<PathBuf, Failure> {
        if let Some(source) = self.0.get(&bytes) {
            return Ok(source.path().to_owned());
        }
        let source = Source::new(folder, &format!("sample_{bytes}"), bytes)?;
        let path = source.path().to_owned();
        self.0.insert(bytes, source);
        Ok(path)
    }
}

/// A subject while it is measured.
struct State {
    subject: Subject,
    bytes: u64,
    missing: Option<String>,
    /// Copies of a part of the file, of this length, which tell how long the file takes.
    sample: u64,
    tried: [Vec<Taken>; 3],
    taken: [Vec<Taken>; 3],
    served: Served,
    /// Seconds of a round that logins take, and that the data do.
    logins: f64,
    data: f64,
    rounds: Rounds,
    task: Option<Task>,
}

impl State {
    /// A subject before it is tried.
    fn new(subject: &Subject, known: &Known, effort: &Effort) -> State {
        let bytes = length(subject, effort);
        State {
            subject: subject.clone(),
            bytes,
            missing: known.lacks(subject),
            sample: sample(bytes, plan::slow(subject.cipher)),
            tried: Default::default(),
            taken: Default::default(),
            served: Served::default(),
            logins: 0.0,
            data: 0.0,
            rounds: Rounds::new(0, 0.0),
            task: None,
        }
    }

    /// Tries the subject on every side with a part of its file.
    fn try_out(
        &mut self,
        copier: &mut Copier,
        sides: &Sides,
        logins: &Logins,
        samples: &mut Samples,
    ) -> Result<(), Failure> {
        let job = self.job(&samples.of(copier.folder(), self.sample)?);
        // Stock first: what it cannot do either is no fault of adjunct's.
        for at in [1, 0, 2] {
            let Some(side) = &sides[at] else { continue };
            let began = Instant::now();
            match counted(copier, side, &job) {
                Ok((taken, served)) => {
                    self.logins += logins[at];
                    // Less than a login, by chance, is balanced by another row's more.
                    let part = self.bytes as f64 / self.sample as f64;
                    self.data += (began.elapsed().as_secs_f64() - logins[at]) * part;
                    self.tried[at].push(taken);
                    self.served = self.served.plus(served);
                }
                Err(e) if side.name == "stock" && e.to_string().contains("no matching") => {
                    self.missing = Some(format!("not available: {e}"));
                    break;
                }
                Err(e) => return Err(Failure::new(format!("{} on {}: {e}", self.subject.name(), side.name))),
            }
        }
        Ok(())
    }

    fn job(&self, file: &std::path::Path) -> Job {
        Job {
            both: self.subject.lines(),
            key: "ssh-ed25519".to_owned(),
            rsa_bits: 0,
            file: file.to_owned(),
            copies: 1,
            at_once: 1,
            limit: Duration::from_secs(120 + self.bytes / 200_000),
        }
    }

    fn round(
        &mut self,
        copier: &mut Copier,
        sides: &Sides,
        file: &std::path::Path,
        round: usize,
    ) -> Result<(), Failure> {
        let job = self.job(file);
        for at in order(sides.len(), round) {
            let Some(side) = &sides[at] else { continue };
            let (taken, served) = counted(copier, side, &job)?;
            self.taken[at].push(taken);
            self.served = self.served.plus(served);
        }
        Ok(())
    }

    /// A subject of which a side has no figure has those of its trial, if every side has them; else it was not measured.
    fn judge_unfinished(&mut self, sides: &Sides) {
        let lacks =
            |taken: &[Vec<Taken>; 3]| taken.iter().zip(sides).any(|(taken, side)| side.is_some() && taken.is_empty());
        if self.missing.is_some() || !lacks(&self.taken) {
            return;
        }
        if lacks(&self.tried) {
            self.missing = Some("not measured: the run ended before".to_owned());
        } else {
            (self.taken, self.bytes) = (std::mem::take(&mut self.tried), self.sample);
        }
    }

    /// The row of a subject: its figures without the time of starting and logging in.
    fn row(self, known: &Known, starts: &[Taken; 3]) -> Row {
        let name = self.subject.name();
        let detail = known.detail(&self.subject, self.bytes);
        if let Some(why) = self.missing {
            return Row::missing(name, why);
        }
        let bytes = self.bytes as f64;
        let data = [0, 1, 2].map(|at: usize| {
            let start = &starts[at];
            let less = |t: &Taken| Taken {
                seconds: without(t.seconds, start.seconds),
                user: without(t.user, start.user),
                client: without(t.client, start.client),
                server: without(t.server, start.server),
            };
            self.taken[at].iter().map(less).collect::<Vec<Taken>>()
        });
        let of = |value: &dyn Fn(&Taken) -> f64, decimals| {
            let values = data.each_ref().map(|all| all.iter().map(value).collect::<Vec<_>>());
            Figure::new(values.each_ref().map(Vec::as_slice), decimals)
        };
        let figures = BTreeMap::from([
            ("mb_s".to_owned(), of(&|t| bytes / 1e6 / t.seconds.max(1e-9), 1)),
            ("s_gb".to_owned(), of(&|t| t.seconds / (bytes / 1e9), 3)),
            ("user_s_gb".to_owned(), of(&|t| t.user / (bytes / 1e9), 3)),
            ("cpu_s_gb".to_owned(), of(&|t| (t.client + t.server) / (bytes / 1e9), 3)),
        ]);
        Row { name, detail, missing: None, paper: BTreeMap::new(), served: self.served, figures }
    }
}

/// Does a job, and counts what adjunct served of it.
///
/// # Errors
/// As for [`Copier::run`].
pub fn counted(copier: &mut Copier, side: &Side, job: &Job) -> Result<(Taken, Served), Failure> {
    if side.name != "adjunct" {
        return Ok((copier.run(side, job)?, Served::default()));
    }
    let before = copier.counted().served()?;
    let taken = copier.run(side, job)?;
    Ok((taken, copier.counted().served()?.since(before)))
}

fn measure_of(id: &str) -> Measure {
    let (title, unit, decimals, more_is_better) = match id {
        "mb_s" => ("throughput", "MB/s", 1, true),
        "s_gb" => ("time", "s for a GB", 3, false),
        "user_s_gb" => ("user CPU time of scp", "user s for a GB", 3, false),
        _ => ("CPU time of both sides", "CPU s for a GB", 3, false),
    };
    Measure { id: id.to_owned(), title: title.to_owned(), unit: unit.to_owned(), decimals, more_is_better }
}

fn section(id: &str, title: &str, about: &str, measures: &[&str], charts: &[&str], mut groups: Vec<Group>) -> Section {
    for row in groups.iter_mut().flat_map(|g| &mut g.rows) {
        row.figures.retain(|id, _| measures.contains(&id.as_str()));
    }
    groups.retain(|group| !group.rows.is_empty());
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        about: about.to_owned(),
        again: id == "table3" || id == "table4",
        measures: measures.iter().map(|id| measure_of(id)).collect(),
        charts: charts.iter().map(|id| (*id).to_owned()).collect(),
        groups,
    }
}

/// Makes Figure 7 of these rows.
pub fn figure7_section(rows: &[Row]) -> Section {
    let groups = plan::FIGURE7_CIPHERS.map(|(title, cipher)| {
        let rows = rows.iter().filter(|row| row.name.starts_with(&format!("{cipher}, "))).cloned().collect();
        Group { title: title.to_owned(), rows }
    });
    section(
        "figure7",
        "TDES and AES with MD5, SHA-1 and SHA-2 MACs",
        "scp of a file to /dev/null over loopback, as figure 7 of \"Using Hardware Cryptographic Support With OpenSSH in \
         Linux on System z\" (2010). Every cipher has a scale of its own.",
        &["mb_s", "user_s_gb", "cpu_s_gb"],
        &["mb_s", "user_s_gb"],
        groups.into(),
    )
}

/// Tables 2, 3 and 4 of these rows.
pub fn table_sections(rows: &[Row]) -> Vec<Section> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        if let Some((_, mb_s, seconds)) = plan::TABLE2.iter().find(|(name, ..)| *name == row.name) {
            row.paper = BTreeMap::from([("mb_s".to_owned(), *mb_s), ("s_gb".to_owned(), seconds / 5.0)]);
        }
    }
    let cases = |cases: &[plan::Case]| {
        let group = |(title, names): &plan::Case| Group {
            title: (*title).to_owned(),
            rows: names.iter().filter_map(|n| rows.iter().find(|r| r.name == *n)).cloned().collect(),
        };
        cases.iter().map(group).collect::<Vec<_>>()
    };
    let all = vec![Group { title: String::new(), rows: rows.clone() }];
    let (measures, short) = (["mb_s", "s_gb", "cpu_s_gb"], ["mb_s", "cpu_s_gb"]);
    let about = "scp of a file to /dev/null over loopback with every cipher of table 2 of \"Hardware cryptographic support of \
                 IBM z Systems for OpenSSH in RHEL 7.2 and SLES 12 SP1\" (2016); the paper's figures are a z13's, with 5 GB.";
    let sections = vec![
        section("table2", "The algorithm matters (table 2)", about, &measures, &["mb_s"], all),
        section(
            "table3",
            "The key size matters (table 3)",
            "The same copies, by key size.",
            &short,
            &["mb_s", "cpu_s_gb"],
            cases(&plan::TABLE3),
        ),
        section(
            "table4",
            "The mode of operation matters (table 4)",
            "The same copies, by mode of operation.",
            &short,
            &["mb_s", "cpu_s_gb"],
            cases(&plan::TABLE4),
        ),
    ];
    sections.into_iter().filter(|s| s.rows().next().is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::report::Column;
    use super::*;

    #[test]
    fn a_gigabyte_of_a_short_copy_has_no_logins_in_it() {
        let taken = |seconds: f64, cpu: f64| Taken { seconds, user: cpu / 2.0, client: cpu, server: cpu };
        let state = State {
            subject: Subject { cipher: "aes128-ctr", mac: None },
            bytes: 10_000_000,
            missing: None,
            sample: 10_000_000,
            tried: Default::default(),
            taken: [vec![taken(0.5, 0.06); 3], vec![taken(0.44, 0.05); 3], Vec::new()],
            served: Served::default(),
            logins: 0.8,
            data: 0.2,
            rounds: Rounds::new(0, 0.0),
            task: None,
        };
        let known = Known { version: String::new(), ciphers: Vec::new(), macs: Vec::new(), default_mac: None };
        let row = state.row(&known, &[taken(0.4, 0.04), taken(0.4, 0.04), Taken::default()]);
        let of = |id: &str, side| row.figures[id].side(side).map(|stat| stat.median);
        // 0.1 s of bytes for a hundredth of a gigabyte, not 0.5.
        assert_eq!((of("s_gb", Column::Software), of("s_gb", Column::Stock)), (Some(10.0), Some(4.0)));
        assert_eq!((of("mb_s", Column::Software), of("cpu_s_gb", Column::Software)), (Some(100.0), Some(4.0)));
        assert_eq!(of("s_gb", Column::Adjunct), None);
    }

    #[test]
    fn a_short_run_still_copies_more_than_it_logs_in() {
        let state = State {
            subject: Subject { cipher: "aes128-ctr", mac: None },
            bytes: 64_000_000,
            missing: None,
            sample: 64_000_000,
            tried: Default::default(),
            taken: Default::default(),
            served: Served::default(),
            logins: 0.9,
            data: 0.9,
            rounds: Rounds::new(0, 0.0),
            task: None,
        };
        let mut bulk = Bulk { states: vec![state] };
        bulk.shorten(0.01);
        assert_eq!(bulk.bytes(), 32_000_000, "the bytes take half as long as the logins");
    }

    #[test]
    fn short_files_are_tried_whole_and_long_ones_in_part() {
        assert_eq!(sample(64_000_000, false), 64_000_000);
        assert_eq!(sample(250_000_000, false), 64_000_000);
        assert_eq!(sample(5_000_000_000, false), 1_250_000_000);
        assert_eq!(sample(30_000_000, true), 8_000_000);
        assert_eq!((sample(0, false), sample(8_000_000, true)), (1, 8_000_000));
    }

    #[test]
    fn sizes_for_people() {
        assert_eq!(size(5_000_000_000), "5 GB");
        assert_eq!(size(1500), "1500 bytes");
        assert_eq!(size(1_500_000), "1500 kB");
    }

    #[test]
    fn every_row_finds_its_places() {
        let rows: Vec<Row> = tables().iter().map(|s| Row::missing(s.name(), "no")).collect();
        let sections = table_sections(&rows);
        assert_eq!(sections.iter().map(|s| s.rows().count()).collect::<Vec<_>>(), [13, 8, 8]);
        assert!(sections[0].rows().all(|row| row.paper.len() == 2));
        let rows: Vec<Row> = figure7().iter().map(|s| Row::missing(s.name(), "no")).collect();
        assert_eq!(figure7_section(&rows).rows().count(), 16);
        assert!(table_sections(&[]).is_empty());
    }
}
