//! Measurements of a survey: each done once, then in turns, within a time.

use super::survey::Skipped;
use crate::ssh::measure::{Cost, Costs, Data, Limits, Rig, Side, Suite, interleave};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Progress;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Bytes of the first copy, which tells how fast it goes.
pub(super) const SAMPLE: u64 = 16 << 20;

/// A measurement, with what it is.
pub(super) struct Job {
    pub(super) what: String,
    pub(super) suite: Suite,
    /// Bytes to copy; 0 for a login.
    pub(super) bytes: u64,
    /// Index of the side.
    pub(super) side: usize,
    /// The first time, with the bytes that it copied: all that there is of it where there was no time for more.
    pub(super) first: Option<(u64, Cost)>,
}

impl Job {
    /// What it cost the first time, as all that there is of it.
    fn once(&mut self) -> Costs {
        let Some((bytes, cost)) = self.first else { return Costs::default() };
        self.bytes = bytes;
        Costs(vec![cost])
    }
}

/// How often jobs are measured, and which part of the time they have.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    /// How often each, where there is time: at least, and at most.
    pub(super) times: (usize, usize),
    /// The part of the time after which that is enough.
    pub(super) until: f64,
    /// The part of the time after which none is begun.
    pub(super) end: f64,
}

/// The measuring of one survey.
pub(super) struct Run<'a> {
    rig: &'a mut Rig,
    sides: &'a [&'a Side],
    progress: &'a Progress,
    /// The time of what is measured after this.
    after: Duration,
    data: BTreeMap<u64, Data>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) start: Instant,
    budget: Duration,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        rig: &'a mut Rig,
        sides: &'a [&'a Side],
        (progress, after): (&'a Progress, Duration),
        budget: Duration,
    ) -> Run<'a> {
        let (data, skipped) = (BTreeMap::new(), Vec::new());
        Run { rig, sides, progress, after, data, skipped, start: Instant::now(), budget }
    }

    pub(super) fn nothing(&self, what: &str) -> Failure {
        let why = self.skipped.first().map_or("OpenSSH names none", |s| s.why.as_str());
        Failure::new(format!("no {what} could be measured: {why}"))
    }

    fn left(&self) -> Duration {
        self.budget.saturating_sub(self.start.elapsed())
    }

    fn cost(&mut self, job: &Job) -> Result<Cost, Failure> {
        let side = self.sides[job.side];
        if job.bytes == 0 {
            return self.rig.login(side, &job.suite);
        }
        if !self.data.contains_key(&job.bytes) {
            let folder = self.rig.place().dir().to_owned();
            self.data.insert(job.bytes, Data::new(&folder, &format!("data_{}", job.bytes), job.bytes)?);
        }
        match self.data.get(&job.bytes) {
            Some(data) => self.rig.transfer(side, &job.suite, data, &mut |_| {}),
            None => Err(Failure::new("no data to copy")),
        }
    }

    /// Does each job once, however long that takes, and drops those that do not work: not every name OpenSSH knows can be used (FIPS, OpenSSL's
    /// configuration).
    pub(super) fn sift(&mut self, jobs: &mut Vec<Job>) -> Result<(), Failure> {
        let all = std::mem::take(jobs);
        let (start, count) = (Instant::now(), all.len());
        for (done, mut job) in all.into_iter().enumerate() {
            let each = start.elapsed() / u32::try_from(done.max(1)).unwrap_or(1);
            self.tell(each * u32::try_from(count - done).unwrap_or(1), &job.what);
            let sample = self.cost(&job);
            interrupted()?;
            match sample {
                Ok(cost) => {
                    job.first = Some((job.bytes, cost));
                    jobs.push(job);
                }
                Err(why) => self.skipped.push(Skipped { what: job.what, why: why.to_string() }),
            }
        }
        Ok(())
    }

    /// Shows how much of the time is over, and what comes now, which takes `least` at least.
    fn tell(&self, least: Duration, what: &str) {
        let left = (self.left() + self.after).max(least);
        self.progress.set_left(left.as_secs_f64(), what);
    }

    /// Chooses how many bytes are copied, by the first time: five rounds fill what is left of this part of the time.
    pub(super) fn sizes(&self, jobs: &mut [Job], part: f64) {
        const LONGEST: f64 = 0.5;
        let left = self.budget.mul_f64(part).saturating_sub(self.start.elapsed());
        let each = left.as_secs_f64() / (jobs.len() * 5).max(1) as f64;
        for job in jobs {
            let Some((bytes, cost)) = job.first else { continue };
            // On a busy machine the processor time says better how fast it is; how long it takes is another matter.
            let took = (cost.seconds - cost.first).max(0.001);
            let busy = took.min(cost.client + cost.server).max(0.001);
            let rate = bytes as f64 / busy;
            // A login takes a part of it.
            let seconds = (each * 0.6 * (busy / took)).clamp(0.03, LONGEST);
            // Powers of two: few different lengths, so few blocks of data. Not so few bytes that the login is most of it.
            let least = if rate > 60_000_000.0 { 32e6 } else { 4e6 };
            let bytes = (rate * seconds).clamp(least, 1e9) as u64;
            job.bytes = bytes.next_power_of_two() / if bytes.is_power_of_two() { 1 } else { 2 };
        }
    }

    /// Does each job once and then in turns; copies of a length that fits the time. Where it is ended, the jobs that were done once at least stay.
    pub(super) fn measured(&mut self, jobs: &mut Vec<Job>, turns: Turns) -> (Vec<Costs>, Result<(), Failure>) {
        if let Err(ended) = self.sift(jobs) {
            return (jobs.iter_mut().map(|job| job.once()).collect(), Err(ended));
        }
        if jobs.iter().any(|job| job.bytes > 0) {
            self.sizes(jobs, 1.0);
        }
        self.rounds(jobs, turns, &|_, _| true)
    }

    /// Repeats jobs in turns, for a part of the budget. A job that there was no time for has what it cost the first time.
    pub(super) fn rounds(
        &mut self,
        all: &mut Vec<Job>,
        turns: Turns,
        enough: &dyn Fn(&[Job], &[Costs]) -> bool,
    ) -> (Vec<Costs>, Result<(), Failure>) {
        let jobs = &*all;
        let (least, most) = turns.times;
        let [budget, end] =
            [turns.until, turns.end].map(|part| self.budget.mul_f64(part).saturating_sub(self.start.elapsed()));
        let limits = Limits { least, most, budget, end };
        let start = Instant::now();
        let again = |job: usize| {
            self.tell(Duration::ZERO, &jobs[job].what);
            match self.cost(&jobs[job]) {
                Ok(cost) => Ok(cost),
                // Once more, for what only this moment did.
                Err(_) => {
                    interrupted()?;
                    self.cost(&jobs[job]).map_err(|e| Failure::new(format!("{}: {e}", jobs[job].what)))
                }
            }
        };
        let (mut costs, done) = interleave(jobs.len(), &limits, || start.elapsed(), |costs| enough(jobs, costs), again);
        for (job, costs) in all.iter_mut().zip(&mut costs).filter(|(_, costs)| costs.0.is_empty()) {
            *costs = job.once();
        }
        let mut measured = costs.iter().map(|costs| !costs.0.is_empty()).collect::<Vec<_>>().into_iter();
        all.retain(|_| measured.next().unwrap_or(false));
        costs.retain(|costs| !costs.0.is_empty());
        (costs, done)
    }
}
