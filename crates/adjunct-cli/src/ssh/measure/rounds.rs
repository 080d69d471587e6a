//! Repeats many measurements in turns until the time is up.

use super::rig::Cost;
use super::spread::Spread;
use adjunct_tool::Failure;
use std::time::{Duration, Instant};

/// How often and how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Every job is measured at least this often, however long that takes.
    pub least: usize,
    /// Every job is measured at most this often.
    pub most: usize,
    /// No round is begun that would end after this time.
    pub budget: Duration,
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
/// alike. Every other round runs in reverse order, and each starts with another job. `progress` is told which part of the work is done and which job
/// comes. The first failure of a job ends it, and comes with what was measured until then.
pub fn interleave(
    jobs: usize,
    limits: &Limits,
    mut measure: impl FnMut(usize) -> Result<Cost, Failure>,
    mut progress: impl FnMut(f64, usize),
) -> (Vec<Costs>, Result<(), Failure>) {
    let mut costs = vec![Costs::default(); jobs];
    let start = Instant::now();
    for round in 0..limits.most {
        // The slowest round so far says how long the next one may take.
        let spent = start.elapsed();
        if round >= limits.least && spent + spent / round.max(1) as u32 > limits.budget {
            break;
        }
        for step in 0..jobs {
            let forward = (step + round * jobs / 3) % jobs;
            let job = if round % 2 == 0 { forward } else { jobs - 1 - forward };
            progress(part(round * jobs + step, jobs, limits, start.elapsed()), job);
            match measure(job) {
                Ok(cost) => costs[job].0.push(cost),
                Err(failure) => return (costs, Err(failure)),
            }
        }
    }
    (costs, Ok(()))
}

/// How much is done after `done` jobs: by time or by number, whichever ends it.
fn part(done: usize, jobs: usize, limits: &Limits, spent: Duration) -> f64 {
    let by_number = |rounds: usize| done as f64 / (jobs * rounds).max(1) as f64;
    let by_time = spent.as_secs_f64() / limits.budget.as_secs_f64().max(1e-9);
    by_time.min(by_number(limits.least)).max(by_number(limits.most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost { seconds: 1.0, first: 0.5, client: 0.25, server: 0.5 };

    #[test]
    fn every_job_once_a_round() {
        let limits = Limits { least: 3, most: 5, budget: Duration::ZERO };
        let mut order = Vec::new();
        let mut parts = Vec::new();
        let costs = interleave(
            4,
            &limits,
            |job| {
                order.push(job);
                Ok(COST)
            },
            |part, _| parts.push(part),
        );
        assert!(costs.1.is_ok() && costs.0.iter().all(|c| c.0.len() == 3));
        for round in order.chunks(4) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert_ne!(order[..4], order[4..8]);
        assert!(parts.iter().all(|p| (0.0..=1.0).contains(p)), "{parts:?}");
    }

    #[test]
    fn time_left_is_used_and_a_failure_ends_it() {
        let limits = Limits { least: 1, most: 7, budget: Duration::from_secs(600) };
        assert_eq!(interleave(2, &limits, |_| Ok(COST), |_, _| {}).0[1].0.len(), 7);
        let mut left = 3;
        let failed = interleave(
            2,
            &limits,
            |_| {
                left -= 1;
                if left == 0 { Err(Failure::new("gone")) } else { Ok(COST) }
            },
            |_, _| {},
        );
        assert_eq!(failed.1.unwrap_err().to_string(), "gone");
        assert_eq!(failed.0.iter().map(|costs| costs.0.len()).collect::<Vec<_>>(), [1, 1], "what was measured stays");
        assert!(interleave(0, &limits, |_| Ok(COST), |_, _| {}).0.is_empty());
    }

    #[test]
    fn figures_of_repetitions() {
        let costs = Costs(vec![COST; 3]);
        assert_eq!(costs.spread(|c| c.client + c.server), Spread { median: 0.75, error: 0.0, count: 3 });
    }
}
