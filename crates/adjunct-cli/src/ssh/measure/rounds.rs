//! Repeats many measurements in turns until they tell enough, or the time is up.

use super::rig::Cost;
use super::spread::Spread;
use adjunct_tool::Failure;
use std::time::Duration;

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How often every job is measured, where there is time for it before `end`.
    pub least: usize,
    /// How often every job is measured where that is enough.
    pub most: usize,
    /// No round is begun that would end after this time, where the rounds until then are enough.
    pub budget: Duration,
    /// No job is begun after this time, whatever was measured until then.
    pub end: Duration,
}

/// The costs of a job's repetitions.
#[derive(Debug, Clone, Default)]
pub struct Costs(pub Vec<Cost>);

impl Costs {
    /// Spread of a figure over all repetitions.
    pub fn spread(&self, figure: impl Fn(&Cost) -> f64) -> Spread {
        Spread::of(&self.0.iter().map(figure).collect::<Vec<_>>())
    }
}

/// Measures jobs 0 to `jobs` - 1 in rounds, each job once a round: slow changes (the clock frequency, load of other virtual machines) affect all jobs
/// alike. Every other round runs in reverse order, and each starts with another job. `elapsed` is the time since the first job was begun; `enough` says
/// whether the costs so far tell what they have to tell, and it goes on until the end where they do not. The first failure of a job ends it, and
/// comes with what was measured until then.
pub fn interleave(
    jobs: usize,
    limits: &Limits,
    elapsed: impl Fn() -> Duration,
    mut enough: impl FnMut(&[Costs]) -> bool,
    mut measure: impl FnMut(usize) -> Result<Cost, Failure>,
) -> (Vec<Costs>, Result<(), Failure>) {
    let mut costs = vec![Costs::default(); jobs];
    if jobs == 0 {
        return (costs, Ok(()));
    }
    for round in 0.. {
        // The slowest round so far says how long the next one may take.
        let spent = elapsed();
        let over = round >= limits.most || spent + spent / u32::try_from(round.max(1)).unwrap_or(1) > limits.budget;
        if round >= limits.least && over && enough(&costs) {
            break;
        }
        for step in 0..jobs {
            if elapsed() >= limits.end {
                return (costs, Ok(()));
            }
            let forward = (step + round * jobs / 3) % jobs;
            let job = if round % 2 == 0 { forward } else { jobs - 1 - forward };
            match measure(job) {
                Ok(cost) => costs[job].0.push(cost),
                Err(failure) => return (costs, Err(failure)),
            }
        }
    }
    (costs, Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const COST: Cost = Cost { seconds: 1.0, first: 0.5, client: 0.25, server: 0.5 };
    const LONG: Duration = Duration::from_secs(600);

    /// Runs so many jobs of a second each by a clock of its own; gives how often each was measured, and the order.
    fn run(jobs: usize, limits: &Limits, enough: impl FnMut(&[Costs]) -> bool) -> (Vec<usize>, Vec<usize>) {
        let clock = Cell::new(Duration::ZERO);
        let mut order = Vec::new();
        let measure = |job| {
            order.push(job);
            clock.set(clock.get() + Duration::from_secs(1));
            Ok(COST)
        };
        let (costs, done) = interleave(jobs, limits, || clock.get(), enough, measure);
        assert!(done.is_ok());
        (costs.iter().map(|costs| costs.0.len()).collect(), order)
    }

    #[test]
    fn every_job_once_a_round() {
        let limits = Limits { least: 3, most: 5, budget: Duration::ZERO, end: LONG };
        let (counts, order) = run(4, &limits, |_| true);
        assert_eq!(counts, [3; 4]);
        for round in order.chunks(4) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert_ne!(order[..4], order[4..8]);
    }

    #[test]
    fn time_left_is_used_and_a_failure_ends_it() {
        let limits = Limits { least: 1, most: 7, budget: LONG, end: LONG };
        assert_eq!(run(2, &limits, |_| true).0, [7, 7]);
        let mut left = 3;
        let failed = interleave(
            2,
            &limits,
            || Duration::ZERO,
            |_| true,
            |_| {
                left -= 1;
                if left == 0 { Err(Failure::new("gone")) } else { Ok(COST) }
            },
        );
        assert_eq!(failed.1.unwrap_err().to_string(), "gone");
        assert_eq!(failed.0.iter().map(|costs| costs.0.len()).collect::<Vec<_>>(), [1, 1], "what was measured stays");
        assert!(run(0, &limits, |_| false).0.is_empty());
    }

    /// A machine on which each job takes longer than there is time for.
    #[test]
    fn no_job_is_begun_after_the_end() {
        let limits = |end| Limits { least: 5, most: 15, budget: Duration::from_secs(4), end: Duration::from_secs(end) };
        assert_eq!(
            run(4, &limits(10), |_| true).0.iter().sum::<usize>(),
            10,
            "two rounds and a half, in place of five"
        );
        assert_eq!(run(4, &limits(0), |_| true).0, [0; 4]);
        assert_eq!(run(4, &limits(600), |_| true).0, [5; 4]);
    }

    /// Where the figures do not tell enough, they are measured more often, as long as there is time.
    #[test]
    fn what_is_not_clear_is_measured_until_the_end() {
        let limits = Limits { least: 2, most: 3, budget: Duration::from_secs(8), end: Duration::from_secs(60) };
        assert_eq!(run(2, &limits, |_| true).0, [3; 2]);
        assert_eq!(run(2, &limits, |_| false).0, [30; 2]);
        assert_eq!(run(2, &limits, |costs| costs[0].0.len() >= 9).0, [9; 2]);
    }

    #[test]
    fn figures_of_repetitions() {
        let costs = Costs(vec![COST; 3]);
        assert_eq!(costs.spread(|c| c.client + c.server), Spread { median: 0.75, error: 0.0, count: 3 });
    }
}
