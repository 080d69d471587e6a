//! No count is lost, and none is made twice, whatever threads and processes do.
#![cfg(target_os = "linux")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "plain system calls on our own children")]

mod counters_support;
mod runner;

use adjunct::counters;
use counters_support::*;
use runner::natively;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::thread;
use std::time::Duration;

#[test]
#[ignore = "the part that the other tests play in processes of their own"]
fn player() {
    let Some((name, args)) = scenario() else { return };
    let number = |i: usize| args[i].parse::<u64>().unwrap();
    if name == "clean" {
        return clean();
    }
    counters::open();
    match name.as_str() {
        "threads" => threads(),
        "thread-churn" => thread_churn(),
        "more-threads-than-slots" => more_threads_than_slots(),
        "late-destructors" => late_destructors(),
        "forks" => forks(),
        "idle-child" => idle_child(),
        "forks-in-threads" => forks_in_threads(),
        "execs" => execs(),
        "exec" => exec(number(0)),
        "exits" => exits(),
        "exit" => exit(&args[0]),
        "killed-while-stopped" => killed_while_stopped(),
        "killed-anywhere" => killed_anywhere(),
        "killed-everywhere" => killed_everywhere(),
        "crowd" => crowd(),
        "member" => member(number(0)),
        "takes" => takes(),
        "resets-killed" => resets_killed(),
        "deleted" => deleted(),
        other => panic!("no scenario {other}"),
    }
}

macro_rules! scenarios {
    ($($test:ident $name:literal;)*) => { $(#[test] fn $test() { if possible($name) { play($name); } })* };
}

/// What qemu's user mode cannot do.
fn possible(name: &str) -> bool {
    match name {
        "forks-in-threads" => natively("a fork beside other threads may leave qemu's own locks closed"),
        "killed-everywhere" => natively("no ptrace in qemu's user mode"),
        "crowd" => natively("400 processes take minutes in an emulator"),
        _ => true,
    }
}

scenarios! {
    threads_count_exactly "threads";
    threads_that_come_and_go_count_exactly "thread-churn";
    more_threads_than_slots_count_exactly "more-threads-than-slots";
    a_thread_that_ends_may_count_in_its_destructors "late-destructors";
    parent_and_child_both_count "forks";
    a_child_that_does_not_count_frees_nothing "idle-child";
    children_of_threads_count "forks-in-threads";
    a_process_counts_across_exec "execs";
    every_way_to_exit_keeps_the_counts "exits";
    a_killed_process_keeps_all_it_reported "killed-while-stopped";
    a_process_killed_anywhere_loses_at_most_the_call_it_was_in "killed-anywhere";
    a_process_killed_after_any_instruction_of_its_first_call_keeps_the_rest "killed-everywhere";
    two_hundred_processes_at_once "crowd";
    a_reset_takes_each_call_once "takes";
    a_killed_reset_loses_nothing "resets-killed";
    deleted_counters_hurt_nobody "deleted";
}

/// Long enough for all who count at once to be at it at the same time, on however few CPUs.
const LONG: u64 = 2_000_000;

fn threads() {
    let start = std::sync::Barrier::new(8);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                start.wait();
                count(LONG);
            });
        }
    });
    count(5);
    assert_eq!(counted(me()), 8 * LONG + 5);
}

fn thread_churn() {
    for _ in 0..300 {
        thread::scope(|s| (0..8).for_each(|i| _ = s.spawn(move || count(i))));
    }
    assert_eq!(counted(me()), 300 * 28);
}

fn more_threads_than_slots() {
    const THREADS: usize = 1100;
    const EACH: u64 = 50_000;
    let all_here = std::sync::Barrier::new(THREADS);
    thread::scope(|s| {
        for _ in 0..THREADS {
            let run = || {
                count(1);
                all_here.wait();
                count(EACH);
                // No slot gets free before all are done.
                all_here.wait();
            };
            thread::Builder::new().stack_size(64 << 10).spawn_scoped(s, run).unwrap();
        }
    });
    assert_eq!(counted(me()), THREADS as u64 * (EACH + 1));
}

fn late_destructors() {
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            count(3);
        }
    }
    thread_local! {
        static BEFORE: Late = const { Late };
        static AFTER: Late = const { Late };
    }
    for _ in 0..50 {
        thread::spawn(|| {
            // Destructors run in the opposite order: one before the slot is given back, one after.
            BEFORE.with(|_| ());
            count(1);
            AFTER.with(|_| ());
        })
        .join()
        .unwrap();
    }
    assert_eq!(counted(me()), 50 * 7);
}

fn forks() {
    let mut expected = 0;
    let mut children = Vec::new();
    for i in 0..20 {
        count(i);
        children.push(fork(|| {
            count(1000);
            let grandchild = fork(|| {
                count(100);
                in_bare_thread(|| count(10));
            });
            count(1000);
            assert_eq!(wait(grandchild), 0);
        }));
        count(i);
        expected += 2 * i + 2110;
    }
    children.into_iter().for_each(|c| assert_eq!(wait(c), 0));
    assert_eq!(counted(me()), expected);
    // All at the same time, into slots of their own from the first call on.
    let children: Vec<_> = (0..3).map(|_| fork(|| count(LONG))).collect();
    count(LONG);
    children.into_iter().for_each(|c| assert_eq!(wait(c), 0));
    assert_eq!(counted(me()), expected + 4 * LONG);
}

/// A child that ends with all its destructors and has not counted leaves its parent's slot to its parent.
fn idle_child() {
    count(1);
    let child = fork(|| unsafe { libc::exit(0) });
    assert_eq!(wait(child), 0);
    let mut expected = 1 + 2 * LONG;
    thread::scope(|s| {
        let others = [s.spawn(|| count(LONG)), s.spawn(|| count(LONG))];
        while others.iter().any(|o| !o.is_finished()) {
            count(10_000);
            expected += 10_000;
        }
    });
    assert_eq!(counted(me()), expected);
}

fn forks_in_threads() {
    let run = || {
        let mut children = Vec::new();
        for _ in 0..25 {
            count(11);
            children.push(fork(|| {
                count(2000);
                in_bare_thread(|| count(7));
            }));
            count(13);
        }
        children.into_iter().for_each(|c| assert_eq!(wait(c), 0));
    };
    let stop = AtomicBool::new(false);
    let busy = AtomicU64::new(0);
    thread::scope(|s| {
        // Threads that only come, count and go, so that forks happen in the middle of taking and freeing slots.
        for _ in 0..2 {
            s.spawn(|| {
                while !stop.load(Relaxed) {
                    thread::spawn(|| count(1)).join().unwrap();
                    busy.fetch_add(1, Relaxed);
                }
            });
        }
        let workers: Vec<_> = (0..4).map(|_| s.spawn(run)).collect();
        workers.into_iter().for_each(|w| w.join().unwrap());
        stop.store(true, Relaxed);
    });
    assert_eq!(counted(me()), 4 * 25 * (11 + 13 + 2007) + busy.load(Relaxed));
}

fn execs() {
    let status = another("exec 12").status().unwrap();
    assert!(status.success());
    assert_eq!(counted(me()), 13 * 100);
}

fn exec(left: u64) {
    count(100);
    if left > 0 {
        panic!("{}", another(&format!("exec {}", left - 1)).exec());
    }
}

fn exits() {
    let ways = ["return", "exit", "_exit", "exit-with-threads", "exit-handler", "abort"];
    for (i, way) in ways.iter().enumerate() {
        let status = another(&format!("exit {way}")).status().unwrap();
        assert_eq!(status.success(), *way != "abort", "{way}: {status:?}");
        assert_eq!(counted(me()), 1000 * (i as u64 + 1), "{way}");
    }
}

fn exit(way: &str) {
    match way {
        "return" => count(1000),
        "exit" => {
            count(1000);
            std::process::exit(0);
        }
        "_exit" => {
            count(1000);
            unsafe { libc::_exit(0) };
        }
        "exit-with-threads" => {
            let (send, receive) = std::sync::mpsc::channel();
            for _ in 0..10 {
                let send = send.clone();
                thread::spawn(move || {
                    count(100);
                    send.send(()).unwrap();
                    thread::park();
                });
            }
            receive.iter().take(10).for_each(drop);
            std::process::exit(0);
        }
        "exit-handler" => {
            extern "C" fn handler() {
                count(999);
            }
            count(1);
            unsafe { libc::atexit(handler) };
            std::process::exit(0);
        }
        _ => {
            count(1000);
            std::process::abort();
        }
    }
}

fn killed_while_stopped() {
    let mut random = Random::new();
    let mut expected = 0;
    for _ in 0..60 {
        let calls = random.below(5000);
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let child = fork(|| {
            count(calls);
            in_bare_thread(|| count(1000));
            writer.write_all(&(calls + 1000).to_le_bytes()).unwrap();
            loop {
                thread::sleep(Duration::from_secs(1));
            }
        });
        let mut report = [0; 8];
        reader.read_exact(&mut report).unwrap();
        kill(child);
        wait(child);
        expected += u64::from_le_bytes(report);
        assert_eq!(counted(me()), expected);
    }
}

fn killed_anywhere() {
    const CHILDREN: usize = 300;
    let mut random = Random::new();
    static PROGRESS: std::sync::OnceLock<&[AtomicU64]> = std::sync::OnceLock::new();
    static HERE: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let progress = *PROGRESS.get_or_init(|| shared_words(2 * CHILDREN));
    fn words(i: usize) -> (&'static AtomicU64, &'static AtomicU64) {
        let progress = PROGRESS.get().unwrap();
        (&progress[2 * i], &progress[2 * i + 1])
    }
    for i in 0..CHILDREN {
        let child = fork(|| {
            // New threads all the time: so the kill often finds one taking or freeing a slot.
            HERE.store(i, SeqCst);
            loop {
                in_bare_thread(|| {
                    for _ in 0..3 {
                        let (begun, done) = words(HERE.load(SeqCst));
                        begun.fetch_add(1, SeqCst);
                        count(1);
                        done.fetch_add(1, SeqCst);
                    }
                });
            }
        });
        // Every second one is left alone until it has counted, however long that takes here.
        while i % 2 == 1 && words(i).1.load(SeqCst) < 3 {
            thread::sleep(Duration::from_micros(100));
        }
        let most = if runner::emulated() { 40_000 } else { 4000 };
        thread::sleep(Duration::from_micros(random.below(most)));
        kill(child);
        wait(child);
    }
    let sum = |first: usize| progress.iter().skip(first).step_by(2).map(|w| w.load(SeqCst)).sum::<u64>();
    let (begun, done, counted) = (sum(0), sum(1), calls_only(me()));
    println!("{done} done, {begun} begun, {counted} counted");
    assert!(done > CHILDREN as u64);
    assert!(done <= counted && counted <= begun, "{done} <= {counted} <= {begun}");
}

/// Steps a child through its first two calls, and kills it after more and more instructions, until it survives both. Each
/// run takes every eighth place, beginning elsewhere; all of them take half a minute.
fn killed_everywhere() {
    let progress = shared_words(2);
    let (begun, done) = (&progress[0], &progress[1]);
    let tally = tally();
    for (turn, limit) in (1 + Random::new().below(8)..20_000).step_by(8).enumerate() {
        // A comer takes back the slots of the dead, or the search for a free one would grow with every death.
        if turn % 32 == 0 {
            assert!(another("member 0").stdin(std::process::Stdio::null()).output().unwrap().status.success());
        }
        let before = calls_only(me());
        progress.iter().for_each(|w| w.store(0, SeqCst));
        // SAFETY: the child makes plain calls and is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            unsafe {
                if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                    libc::_exit(7);
                }
                libc::raise(libc::SIGSTOP);
            }
            for _ in 0..2 {
                begun.fetch_add(1, SeqCst);
                tally.count(adjunct::catalogue::Direction::Encrypt, BYTES as usize);
                done.fetch_add(1, SeqCst);
            }
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        let mut stopped = || {
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            libc::WIFSTOPPED(status)
        };
        if !stopped() {
            return println!("not allowed to trace: nothing tested");
        }
        let step = || unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0) };
        let survived = !(0..limit).all(|_| step() == 0 && stopped());
        if !survived {
            kill(child);
            wait(child);
        }
        let counted = calls_only(me()) - before;
        let (begun, done) = (begun.load(SeqCst), done.load(SeqCst));
        assert!(done <= counted && counted <= begun, "{limit} instructions: {done} <= {counted} <= {begun}");
        count(1);
        assert_eq!(calls_only(me()), before + counted + 1, "{limit} instructions");
        if survived {
            assert_eq!(counted, 2);
            assert!(limit > 100, "{limit}");
            return println!("{limit} instructions");
        }
    }
    panic!("never through");
}

fn crowd() {
    let mut random = Random::new();
    let mut expected = 0;
    for _ in 0..2 {
        let members: Vec<_> =
            (0..200).map(|_| random.below(3000)).map(|n| (n, start(&format!("member {n}")))).collect();
        for (i, (calls, mut member)) in members.into_iter().enumerate() {
            // Its report: all is counted.
            let mut line = [0; 1];
            while line != *b"!" {
                member.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
            }
            expected += calls;
            if i % 2 == 0 {
                member.kill().unwrap();
            } else {
                drop(member.stdin.take());
            }
            member.wait().unwrap();
        }
        assert_eq!(counted(me()), expected);
    }
}

fn member(calls: u64) {
    count(calls);
    std::io::stdout().write_all(b"!").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

fn takes() {
    const EACH: u64 = 400_000;
    let taken = AtomicU64::new(0);
    let resets = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let uid = me();
    // A call is three additions: a taker may see the first and not yet the others, which come with the next take.
    let all_of = |s: &counters::Snapshot| s.function(adjunct::catalogue::Function::AesCbc).software_calls();
    let children: Vec<_> = (0..2).map(|_| fork(|| count(EACH))).collect();
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                while !stop.load(Relaxed) {
                    taken.fetch_add(all_of(&counters::take(uid).unwrap().unwrap()), Relaxed);
                    resets.fetch_add(1, Relaxed);
                }
            });
        }
        s.spawn(|| {
            // Never more than there can be, never less than nothing.
            while !stop.load(Relaxed) {
                assert!(all_of(&counters::read(uid).unwrap().unwrap()) <= 4 * EACH);
            }
        });
        let work = || {
            // The takers may come late.
            while resets.load(Relaxed) < 2 {
                thread::yield_now();
            }
            count(EACH);
        };
        let workers: Vec<_> = (0..2).map(|_| s.spawn(work)).collect();
        workers.into_iter().for_each(|w| w.join().unwrap());
        children.into_iter().for_each(|c| assert_eq!(wait(c), 0));
        stop.store(true, Relaxed);
    });
    assert!(resets.load(Relaxed) > 1);
    assert_eq!(taken.load(Relaxed) + all_of(&counters::read(uid).unwrap().unwrap()), 4 * EACH);
    counters::reset(uid).unwrap();
    assert_eq!(counted(uid), 0);
    count(9);
    assert_eq!(counted(uid), 9);
}

fn resets_killed() {
    let mut random = Random::new();
    let uid = me();
    // Resets put the sum of what they took here, and then the counters go on from 0: before or after, nothing between.
    let mut expected = 0;
    for _ in 0..100 {
        count(10);
        expected += 10;
        let child = fork(|| {
            loop {
                counters::reset(uid).unwrap();
            }
        });
        thread::sleep(Duration::from_micros(random.below(2000)));
        kill(child);
        wait(child);
        let now = counted(uid);
        assert!(now == expected || now == 0, "{now}, expected {expected} or 0");
        expected = now;
    }
    // Whatever lock the killed ones left, a reset still works.
    counters::reset(uid).unwrap();
    assert_eq!(counted(uid), 0);
}

fn deleted() {
    let uid = me();
    count(10);
    counters::delete(uid).unwrap();
    assert_eq!(counters::read(uid).unwrap(), None);
    counters::delete(uid).unwrap();
    counters::reset(uid).unwrap();
    count(10);
    thread::spawn(|| count(10)).join().unwrap();
    assert_eq!(counters::read(uid).unwrap(), None);
    // The next process makes new ones.
    let mut member = start("member 7");
    drop(member.stdin.take());
    assert!(member.wait().unwrap().success());
    count(10);
    assert_eq!(counted(uid), 7);
}
