//! The batch engine: which operations share batches. Each scenario runs in a process of its own.

mod accelerator_support;
mod counters_support;
mod runner;

use accelerator_support::*;
use adjunct::catalogue::Outcome;
use adjunct::catalogue::Queue;
use adjunct_lanes::{self as lanes, Kind};
use counters_support::{play, scenario};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
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
    who_waits_is_called_when_nobody_leads
    too_few_are_done_one_by_one
    kinds_do_not_mix
    a_lane_that_goes_wrong_is_done_again
    a_panic_in_a_kernel_is_nobodys_end
    sixty_four_threads_of_two_kinds
    the_last_of_many_are_served
    a_ticket_leads_its_batch
    a_dropped_ticket_harms_nobody
    a_ticket_is_finished_by_another_thread
    off_means_alone
    keys_go_to_the_cpu_when_lanes_go
    every_operation_is_counted
    triple_des_of_threads_in_lanes
    off_in_the_environment
    rsa_in_four_lanes
    short_operations_are_done_alone
    long_operations_share_batches_where_threads_outnumber_cpus
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
        let busy = Busy::new(2);
        let mut threads = spawn_all::<A>(0..7);
        until_waiting(7);
        // The eighth leads, though all CPUs have something to do.
        threads.push(spawn::<A>(Job::new(7)));
        assert_eq!(lanes(&join(threads)), 8);
        assert_eq!(batches(), [8]);
        busy.end();
    }

    pub fn who_waits_is_called_when_nobody_leads() {
        start(1);
        let busy = Busy::new(1);
        let threads = spawn_all::<A>(0..5);
        until_waiting(5);
        busy.end();
        assert_eq!(lanes(&join(threads)), 5);
        assert_eq!(batches(), [5]);
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

    pub fn kinds_do_not_mix() {
        start(1);
        let (busy, other) = (Busy::of::<A>(1), Busy::of::<B>(1));
        let mut threads = spawn_all::<A>(0..3);
        threads.extend(spawn_all::<B>(10..15));
        until_waiting(8);
        busy.end();
        other.end();
        assert_eq!(lanes(&join(threads)), 8);
        let mut run = BATCHES.lock().unwrap().clone();
        run.sort_by_key(|batch| batch.1);
        assert_eq!(run, [(Queue::P521Derive, 3), (Queue::Ed25519Keygen, 5)]);
    }

    pub fn a_lane_that_goes_wrong_is_done_again() {
        start(1);
        let busy = Busy::new(1);
        let mut threads = spawn_all::<A>(0..6);
        threads.push(spawn::<A>(Job::new(77).with(Deed::Corrupt)));
        until_waiting(7);
        threads.push(spawn::<A>(Job::new(78).with(Deed::Corrupt)));
        assert_eq!(lanes(&join(threads)), 6);
        assert_eq!(batches(), [8]);
        let alone = ALONE.lock().unwrap().clone();
        assert!(alone.contains(&(Queue::P521Derive, 77)) && alone.contains(&(Queue::P521Derive, 78)), "{alone:?}");
        busy.end();
    }

    pub fn a_panic_in_a_kernel_is_nobodys_end() {
        start(1);
        let busy = Busy::new(1);
        for _ in 0..3 {
            let mut threads = spawn_all::<A>(0..7);
            until_waiting(7);
            threads.push(spawn::<A>(Job::new(7).with(Deed::Panic)));
            assert_eq!(lanes(&join(threads)), 0);
        }
        assert_eq!(batches(), [8, 8, 8]);
        busy.end();
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

    pub fn a_ticket_leads_its_batch() {
        start(2);
        let mut tickets: Vec<_> = (0..11).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        assert_eq!(lanes::waiting(), 11);
        let last = tickets.pop().unwrap().finish().unwrap();
        last.0.assert_done();
        assert_eq!(last.1, Outcome::Lanes);
        // The oldest eight went first, then the rest with the last of them.
        assert!(tickets.iter().all(|t| t.is_done()));
        for ticket in tickets {
            ticket.finish().unwrap().0.assert_done();
        }
        assert_eq!(batches(), [8, 3]);
        let (job, outcome) = lanes::enqueue::<A>(Job::new(5)).unwrap().finish().unwrap();
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
        // Dropped by another thread while this one leads.
        let door = Door::new();
        let tickets: Vec<_> = (0..4).map(|i| lanes::enqueue::<A>(Job::new(i).at(&door)).unwrap()).collect();
        let own = lanes::enqueue::<A>(Job::new(9)).unwrap();
        let other = {
            let door = door.clone();
            thread::spawn(move || {
                door.until_inside(1);
                drop(tickets);
                door.open();
            })
        };
        own.finish().unwrap().0.assert_done();
        other.join().unwrap();
        assert_eq!((lanes::waiting(), batches()), (0, vec![5]));
        // A job whose key, here its door, is gone is one that went wrong, and nobody else's.
        let (gone, own) = (Door::new(), lanes::enqueue::<A>(Job::new(3)).unwrap());
        let ticket = lanes::enqueue::<A>(Job::new(4).at(&gone)).unwrap();
        drop(gone);
        own.finish().unwrap().0.assert_done();
        ticket.finish().unwrap().0.assert_done();
    }

    pub fn a_ticket_is_finished_by_another_thread() {
        start(1);
        let tickets: Vec<_> = (0..3).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        thread::spawn(|| {
            // Their own thread's list is not this one's: they are to be done by who asked.
            assert!(tickets.into_iter().all(|ticket| ticket.finish().is_none()));
        })
        .join()
        .unwrap();
        assert_eq!((lanes::waiting(), batches()), (0, vec![]));
    }

    pub fn off_means_alone() {
        start(1);
        lanes::configure("accelerator", "off");
        assert!(lanes::enqueue::<A>(Job::new(1)).is_none());
        // Each alone, at once: they would wait for the door otherwise.
        let busy = Busy::new(4);
        assert_eq!(run::<A>(Job::new(3)), Outcome::Library);
        busy.end();
        assert_eq!(batches(), []);
    }

    /// A key knows which adapter its operations go to, and finds out again when one goes, in the middle of everything.
    pub fn keys_go_to_the_cpu_when_lanes_go() {
        use adjunct::ops::ec::{EcKey, Group, MAX_SIGNATURE};
        adjunct::counters::open();
        start(2);
        // SAFETY: asks who we are.
        let uid = unsafe { libc::geteuid() };
        let counted = || adjunct::counters::read(uid).unwrap().unwrap().lanes(Queue::P256Sign);
        let key = EcKey::generate(Group::P256).unwrap();
        let sign = &|i: u8| {
            let mut room = [0; MAX_SIGNATURE];
            let signature = key.sign(&[i; 32], &mut room).unwrap();
            assert!(key.verify(&[i; 32], signature).unwrap());
        };
        let gone = &AtomicBool::new(false);
        thread::scope(|scope| {
            for i in 0..8 {
                scope.spawn(move || {
                    while !gone.load(SeqCst) {
                        sign(i)
                    }
                });
            }
            until(|| !lanes::for_curves() || counted().in_lanes > 100);
            lanes::configure("accelerator", "off");
            gone.store(true, SeqCst);
        });
        let before = counted();
        thread::scope(|scope| (0..8).for_each(|i| _ = scope.spawn(move || (0..50).for_each(|_| sign(i)))));
        assert_eq!(counted().in_lanes, before.in_lanes);
    }

    /// Messages of several threads, each with its own key and length, are those of the CPU; where there are lanes, some were in batches.
    pub fn triple_des_of_threads_in_lanes() {
        use adjunct::ops::cipher::once::{self, TripleDes};
        use adjunct_cpu::cipher::des::{Des, has_streams};
        use adjunct_kernels::InOut;
        adjunct::counters::open();
        start(2);
        let message = |thread: usize, round: usize| {
            let key: [u8; 24] = std::array::from_fn(|at| (7 * thread + 11 * round + at) as u8);
            let (mut text, mut ivs) = (vec![thread as u8; 8 * (150 + 90 * thread + round)], [[round as u8; 8]; 2]);
            let mut expected = text.clone();
            Des::new(&key).unwrap().cbc(true, &mut ivs[0], InOut::in_place(&mut expected));
            once::cbc::<TripleDes, 8>(&key, &mut ivs[1], true, InOut::in_place(&mut text)).unwrap();
            assert!(text == expected && ivs[0] == ivs[1], "thread {thread}, round {round}");
        };
        thread::scope(|scope| {
            (0..16).for_each(|t| _ = scope.spawn(move || (0..40).for_each(|round| message(t, round))))
        });
        // SAFETY: asks who we are.
        let uid = unsafe { libc::geteuid() };
        let counted = adjunct::counters::read(uid).unwrap().unwrap().lanes(Queue::TdesCbc);
        if has_streams() {
            assert!(counted.in_lanes > 0, "{counted:?}");
        } else {
            println!(
                "SKIPPED: this CPU lacks AVX-512 with VBMI, BITALG and GFNI, or they are masked: all were done alone"
            );
            assert!(counted.is_zero(), "{counted:?}");
        }
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
        assert_eq!(counted.lanes(Queue::P521Derive).alone + counted.lanes(Queue::P521Derive).in_lanes, 8 * 400);
        assert!(counted.lanes(Queue::Rsa2048).is_zero());
        let taken = adjunct::counters::take(uid).unwrap().unwrap();
        assert_eq!(taken.all_lanes(), all);
        assert!(adjunct::counters::read(uid).unwrap().unwrap().all_lanes().is_zero());
    }

    /// Sets MXCSR, and returns what it was.
    #[cfg(target_arch = "x86_64")]
    fn mxcsr(to: u32) -> u32 {
        let mut before = 0u32;
        // SAFETY: stores and loads MXCSR; no bit of what tests set is a reserved one.
        unsafe { std::arch::asm!("stmxcsr [{}]", "ldmxcsr [{}]", in(reg) &raw mut before, in(reg) &raw const to) };
        before
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn mxcsr(_: u32) -> u32 {
        0
    }

    /// Without AVX-512 IFMA, RSA has the lanes of AVX2 and FMA: batches of four, which count as software for a reason of their own. The program's
    /// rounding mode and unmasked exceptions change nothing, and stay.
    pub fn rsa_in_four_lanes() {
        use adjunct::catalogue::{Feature, Function, Reason};
        use adjunct::ops::rsa::RsaKey;
        // SAFETY: no other thread looks at the environment.
        unsafe {
            std::env::set_var("ADJUNCT_CPU", "-ifma");
            std::env::set_var("ADJUNCT_ACCELERATOR", "always");
        }
        adjunct::counters::open();
        adjunct::init();
        if adjunct::cpu::rsa_lanes() != Some(adjunct::cpu::RsaLanes::Fma) {
            println!("SKIPPED: this CPU lacks AVX2 or FMA");
            return;
        }
        assert!(lanes::available() && !lanes::for_curves());
        let (threads, rounds) = (8u32, 4);
        for bits in [2048, 3072, 4096] {
            let key = RsaKey::generate(bits, &[1, 0, 1], None).unwrap();
            thread::scope(|scope| {
                for t in 0..threads {
                    let key = &key;
                    scope.spawn(move || {
                        // Every rounding mode, and every exception unmasked.
                        let mode = [0x1F80, (t % 4) << 13][t as usize % 2];
                        for i in 0..rounds {
                            let mut input = vec![t as u8 ^ 0x55; bits / 8];
                            (input[0], input[1]) = (0, i);
                            let (mut out, mut again) = (vec![0; bits / 8], vec![0; bits / 8]);
                            let before = mxcsr(mode);
                            let done = key.private(&input, &mut out);
                            let after = mxcsr(before);
                            done.unwrap();
                            key.public(&out, &mut again).unwrap();
                            assert_eq!(input, again);
                            assert!(after == mode || cfg!(not(target_arch = "x86_64")), "{after:#x} {mode:#x}");
                        }
                    });
                }
            });
        }
        // SAFETY: asks who we are.
        let uid = unsafe { libc::geteuid() };
        let counted = adjunct::counters::read(uid).unwrap().unwrap();
        let all = counted.all_lanes();
        let asked = 3 * u64::from(threads) * u64::from(rounds);
        assert_eq!((all.in_lanes + all.alone, all.corrupted), (asked, 0), "{all:?}");
        // Threads that do nothing else do meet; four at most are a batch.
        assert!(all.in_lanes > 0 && all.batches[4..] == [0; 4], "{all:?}");
        let rsa = counted.function(Function::RsaCrt);
        assert_eq!((rsa.hardware_calls(), rsa.software_calls()), (0, asked));
        assert_eq!(counted.fallbacks(Function::RsaCrt, Reason::Batch).calls, all.in_lanes);
        // OPENSSL_ia32cap hides what the mask then does not find.
        let masked = adjunct::cpu::features().masked(Feature::Ifma);
        let why = if masked { Reason::Masked } else { Reason::CpuLacks };
        assert_eq!(counted.fallbacks(Function::RsaCrt, why).calls, all.alone);
    }

    /// By default short operations are done alone, at once, however many come.
    pub fn short_operations_are_done_alone() {
        for setting in [None, Some("on"), Some("sometimes")] {
            setting.into_iter().for_each(|value| lanes::configure("accelerator", value));
            lanes::start_with(2);
            let busy = Busy::new(4);
            for _ in 0..20 {
                assert_eq!(lanes(&join(spawn_all::<A>(0..8))), 0);
            }
            busy.end();
        }
        assert_eq!(batches(), []);
        let tickets: Vec<_> = (0..8).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        for ticket in tickets {
            let (job, outcome) = ticket.finish().unwrap();
            job.assert_done();
            assert_eq!(outcome, Outcome::Lanes);
        }
        assert_eq!(batches(), [8]);
        assert!(lanes::on() == lanes::available() && !lanes::of_threads());
        // From here on they share batches, and from there on nothing does, whatever is said after.
        lanes::configure("accelerator", "Always");
        lanes::configure("accelerator", "on");
        assert_eq!(lanes::of_threads(), lanes::available());
        let busy = Busy::new(2);
        let mut threads = spawn_all::<A>(0..7);
        until_waiting(7);
        threads.push(spawn::<A>(Job::new(7)));
        assert_eq!(lanes(&join(threads)), 8);
        busy.end();
        lanes::configure("accelerator", "off");
        lanes::configure("accelerator", "always");
        assert!(!lanes::on() && !lanes::of_threads());
        assert!(lanes::enqueue::<A>(Job::new(1)).is_none());
    }

    static DONE: AtomicBool = AtomicBool::new(false);

    pub fn long_operations_share_batches_where_threads_outnumber_cpus() {
        lanes::start_with(2);
        let ask = |input: u64| {
            let mut job = input;
            let outcome = super::ask::<Long<Undisturbed>>(&mut job);
            assert_eq!(job, input * input);
            outcome
        };
        // One thread, and as many as there are CPUs: alone.
        (0..50).for_each(|i| assert_eq!(ask(i), Outcome::Library));
        let two: Vec<_> = (0..2).map(|_| thread::spawn(move || (0..100).all(|i| ask(i) == Outcome::Library))).collect();
        assert!(two.into_iter().all(|thread| thread.join().unwrap()));
        // Sixteen share batches before long. A thread that has a CPU only when no other wants it does not.
        let sharing: Vec<_> = (0..16)
            .map(|_| {
                thread::spawn(move || {
                    while !DONE.load(SeqCst) {
                        ask(3);
                    }
                })
            })
            .collect();
        until(|| batches().iter().filter(|jobs| **jobs == 8).count() > 20);
        let idle = thread::spawn(move || {
            let policy = libc::sched_param { sched_priority: 0 };
            // SAFETY: of this thread.
            assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const policy) }, 0);
            (0..5).all(|i| ask(i) == Outcome::Library)
        });
        assert!(idle.join().unwrap());
        DONE.store(true, SeqCst);
        sharing.into_iter().for_each(|thread| thread.join().unwrap());
    }

    pub fn off_in_the_environment() {
        // SAFETY: no other thread looks at the environment.
        unsafe { std::env::set_var("ADJUNCT_ACCELERATOR", "Off") };
        adjunct::init();
        start(1);
        assert!(lanes::enqueue::<A>(Job::new(1)).is_none());
        assert_eq!(run::<A>(Job::new(3)), Outcome::Library);
    }
}
