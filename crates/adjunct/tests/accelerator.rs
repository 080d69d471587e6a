//! Who works with whom in the batch engine. Each scenario is a process of its own.

mod accelerator_support;
mod counters_support;
mod runner;

use accelerator_support::*;
use adjunct::adapter::Outcome;
use adjunct::adapter::lanes::{self, Kind};
use adjunct::catalogue::Queue;
use counters_support::{play, scenario};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};

macro_rules! scenarios {
    ($($name:ident)*) => {
        $(#[test] fn $name() { if memory_can_be_wiped() { play(stringify!($name)); } })*

        #[test]
        #[ignore = "a part played in another process"]
        fn player() {
            let Some((name, _)) = scenario() else { return };
            match name.as_str() {
                "clean" => counters_support::clean(),
                $(stringify!($name) => parts::$name(),)*
                other => panic!("{other}"),
            }
        }
    };
}

scenarios! {
    one_thread_works_alone
    those_who_come_meanwhile_share_a_batch
    more_than_eight_make_two_batches
    too_few_are_done_one_by_one
    kinds_do_not_mix_and_the_oldest_goes_first
    a_lane_that_goes_wrong_is_done_again
    a_panic_in_a_kernel_is_nobodys_end
    sixty_four_threads_of_two_kinds
    the_last_of_many_are_served
    a_ticket_is_taken_along
    a_ticket_leads_its_batch
    a_dropped_ticket_harms_nobody
    full_means_alone
    off_means_alone
    every_operation_is_counted
    off_in_the_environment
    plain_threads_share_batches_only_where_asked
}

fn spawn<K: Kind<Job = Job>>(job: Job) -> JoinHandle<Outcome> {
    thread::spawn(move || run::<K>(job))
}

fn spawn_all<K: Kind<Job = Job>>(inputs: std::ops::Range<u64>) -> Vec<JoinHandle<Outcome>> {
    inputs.map(|i| spawn::<K>(Job::new(i))).collect()
}

fn join(threads: Vec<JoinHandle<Outcome>>) -> Vec<Outcome> {
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}

const ROUNDS: u64 = 10_000;
static SERVED: AtomicUsize = AtomicUsize::new(0);

fn lanes(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|o| **o == Outcome::Lanes).count()
}

mod parts {
    use super::*;

    pub fn one_thread_works_alone() {
        start(2);
        for i in 0..1000 {
            assert_eq!(run::<A>(Job::new(i)), Outcome::Library);
        }
        assert_eq!(batches(), []);
    }

    pub fn those_who_come_meanwhile_share_a_batch() {
        start(2);
        let busy = Busy::new(1);
        // At the other place until all is done: two leaders who begin at the same moment share the eight between them.
        let door = Door::new();
        let other = spawn::<A>(Job::new(77).at(&door));
        door.until_inside(1);
        let threads = spawn_all::<A>(0..8);
        until_waiting(8);
        busy.end();
        assert_eq!(lanes(&join(threads)), 8);
        assert_eq!(batches(), [8]);
        door.open();
        assert_eq!(other.join().unwrap(), Outcome::Library);
    }

    pub fn more_than_eight_make_two_batches() {
        start(1);
        let busy = Busy::new(1);
        let threads = spawn_all::<A>(0..13);
        until_waiting(13);
        busy.end();
        assert_eq!(lanes(&join(threads)), 13);
        assert_eq!(batches(), [8, 5]);
    }

    pub fn too_few_are_done_one_by_one() {
        start(1);
        let busy = Busy::new(1);
        let threads = spawn_all::<A>(0..2);
        until_waiting(2);
        busy.end();
        assert_eq!(lanes(&join(threads)), 0);
        assert_eq!(batches(), []);
    }

    pub fn kinds_do_not_mix_and_the_oldest_goes_first() {
        start(1);
        let busy = Busy::new(1);
        let mut threads = Vec::new();
        let mut count = 0;
        let mut add = |thread: JoinHandle<Outcome>| {
            threads.push(thread);
            count += 1;
            until_waiting(count);
        };
        // A B A B B A A, then nine of B: the first batch is of A, all of them; then B.
        for (i, kind) in "ABABBAABBBBBBBBB".chars().enumerate() {
            add(if kind == 'A' { spawn::<A>(Job::new(i as u64)) } else { spawn::<B>(Job::new(i as u64)) });
        }
        busy.end();
        assert_eq!(lanes(&join(threads)), 16);
        let run = BATCHES.lock().unwrap().clone();
        assert_eq!(run, [(Queue::TestA, 4), (Queue::TestB, 8), (Queue::TestB, 4)]);
    }

    pub fn a_lane_that_goes_wrong_is_done_again() {
        start(1);
        let busy = Busy::new(1);
        let mut threads = spawn_all::<A>(0..6);
        threads.push(spawn::<A>(Job::new(77).with(Deed::Corrupt)));
        threads.push(spawn::<A>(Job::new(78).with(Deed::Corrupt)));
        until_waiting(8);
        busy.end();
        assert_eq!(lanes(&join(threads)), 6);
        assert_eq!(batches(), [8]);
        let alone = ALONE.lock().unwrap().clone();
        assert!(alone.contains(&(Queue::TestA, 77)) && alone.contains(&(Queue::TestA, 78)), "{alone:?}");
    }

    pub fn a_panic_in_a_kernel_is_nobodys_end() {
        start(1);
        let busy = Busy::new(1);
        let mut threads = Vec::new();
        for i in 0..24 {
            threads.push(spawn::<A>(Job::new(i).with(if i % 8 == 3 { Deed::Panic } else { Deed::Nothing })));
            until_waiting(i as usize + 1);
        }
        busy.end();
        assert_eq!(lanes(&join(threads)), 0);
        assert_eq!(batches(), [8, 8, 8]);
    }

    pub fn sixty_four_threads_of_two_kinds() {
        start(2);
        let total = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..64u64)
            .map(|t| {
                let total = Arc::clone(&total);
                thread::spawn(move || {
                    let mut in_lanes = 0;
                    for i in 0..500 {
                        let job = Job::new(t * 1000 + i);
                        let outcome = if (t + i) % 3 == 0 { run::<A>(job) } else { run::<B>(job) };
                        in_lanes += usize::from(outcome == Outcome::Lanes);
                        total.fetch_add(1, SeqCst);
                    }
                    in_lanes
                })
            })
            .collect();
        let in_lanes: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(total.load(SeqCst), 64 * 500);
        assert_eq!(in_lanes, batches().iter().sum::<usize>());
        assert_eq!(in_lanes + ALONE.lock().unwrap().len(), 64 * 500);
    }

    /// Threads that meet, ask a few times and meet again: at the end of each round too few are left to fill a batch, so that one
    /// whose result was ready just as it went to sleep would be waited for and never come.
    pub fn the_last_of_many_are_served() {
        start(2);
        let start = Arc::new(Barrier::new(9));
        let threads: Vec<_> = (0..9u64)
            .map(|t| {
                let start = Arc::clone(&start);
                thread::spawn(move || {
                    for round in 0..ROUNDS {
                        start.wait();
                        for i in 0..4 {
                            run::<B>(Job::new(t * 1000 + round + i).with(Deed::Take));
                            SERVED.fetch_add(1, SeqCst);
                        }
                    }
                })
            })
            .collect();
        let rounds = thread::spawn(move || threads.into_iter().for_each(|t| t.join().unwrap()));
        // However long all of it takes here.
        while !rounds.is_finished() {
            let before = SERVED.load(SeqCst);
            until(|| rounds.is_finished() || SERVED.load(SeqCst) != before);
        }
    }

    pub fn a_ticket_is_taken_along() {
        start(1);
        let busy = Busy::new(1);
        let mut tickets: Vec<_> = (0..3).map(|i| lanes::enqueue::<A>(Job::new(50 + i)).unwrap()).collect();
        assert!(tickets.iter().all(|t| !t.is_done()));
        let threads = spawn_all::<A>(0..5);
        until_waiting(8);
        busy.end();
        assert_eq!(lanes(&join(threads)), 5);
        for ticket in tickets.drain(..) {
            assert!(ticket.is_done());
            let (job, outcome) = ticket.finish();
            job.assert_done();
            assert_eq!(outcome, Outcome::Lanes);
        }
        assert_eq!(batches(), [8]);
    }

    pub fn a_ticket_leads_its_batch() {
        start(2);
        let mut tickets: Vec<_> = (0..11).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        assert_eq!(lanes::waiting(), 11);
        let last = tickets.pop().unwrap().finish();
        last.0.assert_done();
        assert_eq!(last.1, Outcome::Lanes);
        // The oldest eight went first, then the rest with the last of them.
        assert!(tickets.iter().all(|t| t.is_done()));
        for ticket in tickets {
            ticket.finish().0.assert_done();
        }
        assert_eq!(batches(), [8, 3]);
        let (job, outcome) = lanes::enqueue::<A>(Job::new(5)).unwrap().finish();
        job.assert_done();
        assert_eq!(outcome, Outcome::Library);
    }

    pub fn a_dropped_ticket_harms_nobody() {
        start(1);
        for _ in 0..1000 {
            let tickets: Vec<_> = (0..4).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
            drop(tickets);
            assert_eq!(lanes::waiting(), 0);
        }
        // Dropped while a leader has it.
        let door = Door::new();
        let tickets: Vec<_> = (0..4).map(|i| lanes::enqueue::<A>(Job::new(i).at(&door)).unwrap()).collect();
        let leader = {
            let job = lanes::enqueue::<A>(Job::new(9)).unwrap();
            thread::spawn(move || job.finish().0.assert_done())
        };
        door.until_inside(1);
        drop(tickets);
        door.open();
        leader.join().unwrap();
        // Nobody's slots are lost by it.
        let all: Vec<_> = (0..256).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        assert_eq!(all.len(), 256);
        assert_eq!(Arc::strong_count(&door), 1);
    }

    pub fn full_means_alone() {
        start(1);
        let tickets: Vec<_> = (0..256).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        assert!(lanes::enqueue::<A>(Job::new(1)).is_err());
        let busy = Busy::new(0);
        assert_eq!(run::<A>(Job::new(3)), Outcome::Library);
        busy.end();
        for ticket in tickets {
            ticket.finish().0.assert_done();
        }
        assert_eq!(batches(), [8; 32]);
        // What a thread leaves that has ended is cleared when slots are scarce. It can be joined a moment before the kernel says
        // that it is gone.
        thread::spawn(|| (0..256).for_each(|i| std::mem::forget(lanes::enqueue::<A>(Job::new(i)).unwrap())))
            .join()
            .unwrap();
        until(|| {
            let ticket = lanes::enqueue::<A>(Job::new(7));
            ticket.is_ok_and(|ticket| {
                ticket.finish().0.assert_done();
                true
            })
        });
    }

    pub fn off_means_alone() {
        start(1);
        lanes::switch_off();
        assert!(lanes::enqueue::<A>(Job::new(1)).is_err());
        let busy = Busy::new(4);
        assert_eq!(run::<A>(Job::new(3)), Outcome::Library);
        busy.end();
        assert_eq!(batches(), []);
    }

    pub fn every_operation_is_counted() {
        adjunct::counters::open();
        start(2);
        let threads: Vec<_> = (0..16u64)
            .map(|t| {
                thread::spawn(move || {
                    let outcomes = (0..400).map(|i| {
                        let deed = if i % 16 == 0 { Deed::Corrupt } else { Deed::Nothing };
                        let job = Job::new(t * 1000 + i).with(deed);
                        if t % 2 == 0 { run::<A>(job) } else { run::<B>(job) }
                    });
                    lanes(&outcomes.collect::<Vec<_>>())
                })
            })
            .collect();
        let in_lanes: usize = threads.into_iter().map(|t| t.join().unwrap()).sum();
        // SAFETY: asks who we are.
        let uid = unsafe { libc::geteuid() };
        let counted = adjunct::counters::read(uid).unwrap().unwrap();
        let all = counted.all_lanes();
        assert_eq!(all.in_lanes as usize, in_lanes);
        assert_eq!(all.in_lanes + all.alone, 16 * 400);
        let jobs: u64 = all.batches.iter().zip(1..).map(|(count, filled)| count * filled).sum();
        assert_eq!(jobs, all.in_lanes + all.corrupted, "{all:?}");
        let mut histogram = [0; 8];
        batches().into_iter().for_each(|filled| histogram[filled - 1] += 1);
        assert_eq!(all.batches, histogram);
        assert_eq!(counted.lanes(Queue::TestA).alone + counted.lanes(Queue::TestA).in_lanes, 8 * 400);
        assert!(counted.lanes(Queue::Rsa2048).is_zero());
        let taken = adjunct::counters::take(uid).unwrap().unwrap();
        assert_eq!(taken.all_lanes(), all);
        assert!(adjunct::counters::read(uid).unwrap().unwrap().all_lanes().is_zero());
    }

    /// By default those who come at the same time each work alone, at once; a job that can wait is still done in lanes.
    pub fn plain_threads_share_batches_only_where_asked() {
        for setting in [None, Some("on"), Some("sometimes")] {
            setting.into_iter().for_each(|value| lanes::configure("accelerator", value));
            lanes::start_with(2);
            let busy = Busy::new(4);
            // They would wait for the door otherwise.
            assert_eq!(lanes(&join(spawn_all::<A>(0..8))), 0);
            busy.end();
        }
        assert_eq!(batches(), []);
        let tickets: Vec<_> = (0..8).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        for ticket in tickets {
            let (job, outcome) = ticket.finish();
            job.assert_done();
            assert_eq!(outcome, Outcome::Lanes);
        }
        assert_eq!(batches(), [8]);
        assert!(lanes::on() == lanes::available() && !lanes::of_threads());
        // From here on they do, and from there on nothing does, whatever is said after.
        lanes::configure("accelerator", "Always");
        lanes::configure("accelerator", "on");
        assert_eq!(lanes::of_threads(), lanes::available());
        // The batch was company enough for both to lead.
        let busy = Busy::new(1);
        let threads = spawn_all::<A>(0..8);
        until_waiting(8);
        busy.end();
        assert_eq!(join(threads).len(), 8);
        assert_eq!(batches().iter().sum::<usize>() + ALONE.lock().unwrap().len(), 3 * (8 + 5) + 8 + 2 + 8);
        assert!(batches().len() > 1);
        lanes::configure("accelerator", "off");
        lanes::configure("accelerator", "always");
        assert!(!lanes::on() && !lanes::of_threads());
        assert!(lanes::enqueue::<A>(Job::new(1)).is_err());
    }

    pub fn off_in_the_environment() {
        // SAFETY: no other thread looks at the environment.
        unsafe { std::env::set_var("ADJUNCT_ACCELERATOR", "Off") };
        adjunct::init();
        start(1);
        assert!(lanes::enqueue::<A>(Job::new(1)).is_err());
        assert_eq!(run::<A>(Job::new(3)), Outcome::Library);
    }
}
