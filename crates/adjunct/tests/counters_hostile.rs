//! A hostile, damaged or missing segment costs the statistics, never the program; and each user's counts are their own.
//! Most of this needs root; without, it says so and passes.
#![cfg(target_os = "linux")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "plain system calls on our own children and segments")]

mod counters_support;
mod runner;

use adjunct::counters::{self, SEGMENT_SIZE};
use counters_support::*;
use runner::natively;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

const NOBODY: u32 = 65534;

#[cfg(not(target_arch = "s390x"))]
const SYS_SHMGET: libc::c_long = libc::SYS_shmget;
#[cfg(not(target_arch = "s390x"))]
const SHM_CALLS: [libc::c_long; 3] = [SYS_SHMGET, libc::SYS_shmctl, libc::SYS_shmat];
// Missing in the libc crate; <asm/unistd.h>, since Linux 5.1.
#[cfg(target_arch = "s390x")]
const SYS_SHMGET: libc::c_long = 395;
#[cfg(target_arch = "s390x")]
const SHM_CALLS: [libc::c_long; 3] = [SYS_SHMGET, 396, 397];

#[test]
#[ignore = "the part that the other tests play in processes of their own"]
fn player() {
    let Some((name, _)) = scenario() else { return };
    match name.as_str() {
        "clean" => clean(),
        // Opens, counts, whatever it finds.
        "counts" => opens_and_counts(),
        "counts-only" => {
            counters::open();
            count(100);
        }
        "counts-and-tells" => {
            opens_and_counts();
            remarks().iter().for_each(|r| println!("{r}"));
        }
        "counts-and-waits" => {
            opens_and_counts();
            println!("done");
            let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        }
        "shapes" => shapes(),
        "garbage" => garbage(),
        "limits" => limits(),
        "switched-off" => switched_off(),
        "under-a-filter" => under_a_filter(),
        "restless" => restless(),
        _ if me() != 0 => println!("not root: nothing tested"),
        "squatted" => squatted(),
        "given-away" => given_away(),
        "sandboxed" => sandboxed(),
        "drops" => drops(),
        "returns" => returns(),
        "seen-soon" => seen_soon(),
        "privacy" => privacy(),
        "many-users" => many_users(),
        other => panic!("no scenario {other}"),
    }
}

fn opens_and_counts() {
    counters::open();
    count(100);
    thread::spawn(|| count(100)).join().unwrap();
}

macro_rules! scenarios {
    ($($test:ident $name:literal;)*) => { $(#[test] fn $test() { if possible($name) { play($name); } })* };
}

/// What qemu's user mode cannot do.
fn possible(name: &str) -> bool {
    match name {
        "limits" | "sandboxed" | "under-a-filter" => natively("no seccomp in qemu's user mode"),
        "squatted" => natively("no SHM_STAT_ANY in qemu's user mode"),
        _ => true,
    }
}

scenarios! {
    a_segment_of_wrong_mode_size_or_content_is_passed_over "shapes";
    garbage_in_a_segment_crashes_nobody "garbage";
    no_shared_memory_stops_nobody "limits";
    counting_can_be_switched_off "switched-off";
    a_taker_ends_whatever_the_words_do "restless";
    who_loads_under_a_filter_counts_only_when_told_to "under-a-filter";
    other_users_segments_keep_nobody_from_counting "squatted";
    a_segment_given_to_a_user_by_another_is_passed_over "given-away";
    a_sandboxed_child_counts_with_geteuid_alone "sandboxed";
    a_process_that_becomes_a_user_counts_as_that_user "drops";
    a_process_that_takes_on_a_user_for_a_while_counts_for_both "returns";
    a_late_change_of_user_is_seen_within_64_contexts "seen-soon";
    users_see_their_own_counters_only "privacy";
    many_users_in_one_process_lose_no_call "many-users";
}

/// Makes a segment, gives its id.
fn make(key: i32, size: usize, mode: i32) -> i32 {
    let id = unsafe { libc::shmget(key, size, libc::IPC_CREAT | libc::IPC_EXCL | mode) };
    assert!(id >= 0, "{}", std::io::Error::last_os_error());
    id
}

fn stat(id: i32) -> libc::shmid_ds {
    unsafe {
        let mut ds = std::mem::zeroed();
        assert_eq!(libc::shmctl(id, libc::IPC_STAT, &mut ds), 0);
        ds
    }
}

fn change(id: i32, change: impl FnOnce(&mut libc::shmid_ds)) {
    let mut ds = stat(id);
    change(&mut ds);
    assert_eq!(unsafe { libc::shmctl(id, libc::IPC_SET, &mut ds) }, 0);
}

fn remove(id: i32) {
    assert_eq!(unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) }, 0);
}

fn words(id: i32) -> &'static [std::sync::atomic::AtomicU64] {
    unsafe {
        let place = libc::shmat(id, std::ptr::null(), 0);
        assert_ne!(place as isize, -1);
        std::slice::from_raw_parts(place.cast(), stat(id).shm_segsz / 8)
    }
}

fn find(uid: u32) -> i32 {
    let id = unsafe { libc::shmget(counters::key(uid), 0, 0) };
    assert!(id >= 0);
    id
}

fn be(uid: u32) {
    assert_eq!(unsafe { libc::setresuid(uid, uid, uid) }, 0);
}

/// Starts a process that opens the counters and counts: it must end well. Gives its warnings.
fn run_counting() -> Vec<String> {
    warnings(&another("counts").stdout(Stdio::null()).output().unwrap())
}

fn warnings(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?} {text}", output.status);
    text.lines().filter(|l| l.starts_with("adjunct: ")).map(str::to_owned).collect()
}

/// What this process's user is told of their counters.
fn remarks() -> Vec<String> {
    counters::remarks(me()).iter().map(ToString::to_string).collect()
}

/// A process that counts prints nothing and loses no count where another segment has its key; the remarks for a reader name that segment.
fn passed_over(id: i32, why: &str) {
    let uid = me();
    let before = counted(uid);
    assert!(run_counting().is_empty());
    assert_eq!(counted(uid), before + 200, "{why}");
    let remarks = remarks();
    assert!(!remarks.is_empty(), "{why}");
    for words in [why, &format!("'ipcrm -m {id}'"), &format!("key {:#010x}", key_of(id)), &format!("user {uid}")] {
        assert!(remarks[0].contains(words), "no {words} in {}", remarks[0]);
    }
}

fn key_of(id: i32) -> i32 {
    stat(id).shm_perm.__key
}

fn shapes() {
    let uid = me();
    let key = counters::key(uid);
    for (size, mode, why) in [
        (SEGMENT_SIZE, 0o666, "mode"),
        (SEGMENT_SIZE, 0o640, "mode"),
        (SEGMENT_SIZE, 0o400, "mode"),
        (SEGMENT_SIZE - 4096, 0o600, "size"),
        (SEGMENT_SIZE + 4096, 0o600, "size"),
        (1, 0o600, "size"),
    ] {
        passed_over(make(key, size, mode), why);
        // Their own, though damaged: the command removes them.
        counters::delete(uid).unwrap();
        assert_eq!(counters::read(uid).unwrap(), None);
        assert!(remarks().is_empty());
    }
    // The first word is the identity: another program's, another version's, another layout's, another user's.
    assert!(run_counting().is_empty());
    assert_eq!(counted(uid), 200);
    let id = find(uid);
    let identity = words(id)[0].load(Relaxed);
    for (turn, wrong) in [1, u64::MAX, identity ^ 1, identity ^ 1 << 32, identity ^ 1 << 63].into_iter().enumerate() {
        words(id)[0].store(wrong, Relaxed);
        assert_eq!(counted(uid), 200 * turn as u64);
        passed_over(id, "damaged");
    }
    // Both are read once the first is whole again.
    words(id)[0].store(identity, Relaxed);
    assert_eq!(counted(uid), 1200);
    assert!(run_counting().is_empty() && remarks().is_empty());
    assert_eq!(counted(uid), 1400);
    counters::reset(uid).unwrap();
    assert_eq!(counted(uid), 0);
}

fn garbage() {
    let uid = me();
    counters::open();
    count(1);
    let words = words(find(uid));
    let mut random = Random::new();
    for round in 0..6 {
        for word in &words[1..] {
            let value = match round {
                0 => u64::MAX,
                1 => 0,
                // Owners with pids that exist, among others.
                2 => random.below(1 << 22),
                _ => random.below(u64::MAX),
            };
            word.store(value, Relaxed);
        }
        count(1000);
        thread::spawn(|| count(1000)).join().unwrap();
        assert!(run_counting().is_empty());
        assert!(counters::read(uid).unwrap().is_some());
        counters::reset(uid).unwrap();
        // From here on the numbers mean something again.
        assert_eq!(counted(uid), 0);
        count(10);
        assert_eq!(calls_only(uid), 10);
    }
}

fn limits() {
    use std::os::unix::process::CommandExt;
    let told = |command: &mut std::process::Command| {
        let output = command.output().unwrap();
        assert!(warnings(&output).is_empty(), "a foreign program's standard error");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // As on a kernel without it, and as where a sandbox is closed already that the administrator says allows it.
    for (errno, words) in [(libc::ENOSYS, "Function not implemented"), (libc::EACCES, "Permission denied")] {
        let mut command = another("counts-and-tells");
        unsafe { command.pre_exec(move || filter(&[(SYS_SHMGET, errno)], Otherwise::Allow)) };
        let told = told(&mut command);
        assert!(told.contains(words) && told.contains("shmget"), "{told}");
    }
    // A system whose shared memory is full.
    let mut command = another("counts-and-tells");
    let full = || match unsafe { libc::unshare(libc::CLONE_NEWIPC) } {
        0 => std::fs::write("/proc/sys/kernel/shmmni", "0"),
        _ => Err(std::io::Error::last_os_error()),
    };
    unsafe { command.pre_exec(full) };
    match command.spawn() {
        Ok(mut child) => {
            child.wait().unwrap();
            assert!(told(&mut command).contains("No space left"));
        }
        Err(error) => println!("no IPC namespace of its own ({error}): full shared memory not tested"),
    }
}

fn switched_off() {
    for (value, counts, told) in [("off", 0, 0), ("OFF", 0, 0), ("on", 200, 0), ("no", 400, 1)] {
        let output = another("counts-and-tells").env("ADJUNCT_STATS", value).output().unwrap();
        assert!(warnings(&output).is_empty(), "{value}");
        let told_here = String::from_utf8_lossy(&output.stdout).matches("unknown word 'no'").count();
        assert_eq!(told_here, told, "{value}: {output:?}");
        if filtered() && value == "no" {
            return;
        }
        assert_eq!(counted(me()), counts, "{value}");
        if counts == 0 {
            assert!(counters::users().unwrap().is_empty());
        }
    }
}

/// Whether this process runs under a filter of system calls, as in a container: then only what is told to counts.
fn filtered() -> bool {
    adjunct::sandbox::filtered()
}

/// Where a filter is in force while the counters are opened, nothing is counted, and no call made that a sandbox may kill for.
fn under_a_filter() {
    use std::os::unix::process::CommandExt;
    let [get, control, attach] = SHM_CALLS;
    let calls = [get, control, attach, libc::SYS_geteuid];
    let run = |value: &str| {
        let mut command = another("counts-only");
        command.env("ADJUNCT_STATS", value);
        let rules: Vec<_> = calls.iter().map(|&call| (call, KILLS)).collect();
        unsafe { command.pre_exec(move || filter(&rules, Otherwise::Allow)) };
        command.output().unwrap()
    };
    assert!(warnings(&run("")).is_empty());
    assert!(counters::users().unwrap().is_empty());
    // Told to count it makes those calls, and this filter kills for them.
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(run("on").status.signal(), Some(libc::SIGSYS));
}

/// The keys that are tried for root's counters, the first of which is public, are found by having every one taken.
fn squatted() {
    let first = counters::key(0);
    for mode in [0o600, 0o666, 0o000] {
        let id = squat(first, mode);
        passed_over(id, "taken by another user");
        assert_eq!(counters::users().unwrap(), [0]);
        assert_eq!(words(id)[0].load(Relaxed), 0, "written to");
        // Not ours to remove.
        counters::delete(0).unwrap();
        assert_eq!(key_of(id), first);
        remove(id);
    }
    // One that is given up later: the next comer takes that key, and both are read, reset and removed.
    let id = squat(first, 0o600);
    passed_over(id, "taken by another user");
    remove(id);
    assert!(run_counting().is_empty());
    assert_eq!((counted(0), remarks().len()), (400, 0));
    counters::reset(0).unwrap();
    assert_eq!(counted(0), 0);
    counters::delete(0).unwrap();
    assert!(counters::users().unwrap().is_empty());
    // All of them, for root and for what it becomes: a segment without a key serves, which nobody can take.
    let taken = squat_all();
    assert!(taken.len() >= 32, "{}", taken.len());
    for turn in 1..=3 {
        assert!(run_counting().is_empty());
        assert_eq!(counted(0), 200 * turn);
    }
    let told = remarks();
    assert!(told[0].contains("taken by another user") && told.last().unwrap().contains("more"), "{told:?}");
    counters::delete(0).unwrap();
    assert_eq!(counters::read(0).unwrap(), None);
    taken.into_iter().for_each(remove);
    // A user whose place is taken by one they may not even look at.
    let id = make(counters::key(NOBODY), SEGMENT_SIZE, 0o600);
    let child = fork(|| {
        be(NOBODY);
        counters::open();
        count(10);
        assert_eq!(counted(NOBODY), 10);
        assert!(remarks()[0].contains(&format!("'ipcrm -m {id}'")));
        counters::delete(NOBODY).unwrap();
    });
    assert_eq!(wait(child), 0);
    remove(id);
}

/// Makes a segment as the user nobody.
fn squat(key: i32, mode: i32) -> i32 {
    let child = fork(|| {
        be(NOBODY);
        make(key, SEGMENT_SIZE, mode);
    });
    assert_eq!(wait(child), 0);
    unsafe { libc::shmget(key, 0, 0) }
}

/// Takes every key that a process of root's has under it, until it finds none.
fn squat_all() -> Vec<i32> {
    let mut taken = Vec::new();
    loop {
        let mut player = start("counts-and-waits");
        let mut lines = BufReader::new(player.stdout.take().unwrap()).lines().map(|l| l.unwrap());
        assert!(lines.any(|l| l == "done"));
        let mine: Vec<i32> = attached(player.id()).into_iter().filter(|&id| key_of(id) != 0).collect();
        drop(player.stdin.take());
        lines.for_each(drop);
        assert!(player.wait().unwrap().success());
        if mine.is_empty() {
            break;
        }
        for id in mine {
            let key = key_of(id);
            remove(id);
            taken.push(squat(key, 0o600));
        }
    }
    counters::delete(0).unwrap();
    taken
}

/// The shared memory segments that a process has mapped: their inodes in /proc/PID/maps are their numbers.
fn attached(pid: u32) -> Vec<i32> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let shared = maps.lines().filter(|l| l.contains("/SYSV"));
    shared.filter_map(|l| l.split_ascii_whitespace().nth(4)?.parse().ok()).collect()
}

/// A taker ends, whatever a process of the user's does to the words meanwhile.
fn restless() {
    let uid = me();
    counters::open();
    count(1);
    let words = words(find(uid));
    // Words: the identity, the reset lock, the number of resets, the owners. Who finds the lock with another at each look gives
    // up after half a minute.
    let all = std::env::var_os("ADJUNCT_DEEP").is_some();
    for places in [2..3, 3..words.len(), 1..2, 0..words.len()].into_iter().take(if all { 4 } else { 2 }) {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let turns = std::sync::atomic::AtomicU64::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                while !stop.load(Relaxed) {
                    let value = turns.fetch_add(1, Relaxed) + 1;
                    for word in &words[places.clone()] {
                        word.store(value << 22, Relaxed);
                    }
                }
            });
            while turns.load(Relaxed) < 2 {
                thread::yield_now();
            }
            // Of this thread's CPU time: on a machine that has none to spare it takes as long as it takes.
            let time = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
            let start = time();
            let rounds = if places.contains(&1) { 3 } else { 30 };
            for _ in 0..rounds {
                let _ = counters::read(uid);
                let _ = counters::take(uid);
            }
            stop.store(true, Relaxed);
            let taken = time() - start;
            assert!(taken < 20, "{places:?}: {taken} s");
        });
    }
}

fn given_away() {
    // Owner nobody, but made by root: whoever made it may change it at any time.
    let id = make(counters::key(NOBODY), SEGMENT_SIZE, 0o600);
    change(id, |ds| ds.shm_perm.uid = NOBODY);
    let child = fork(|| {
        be(NOBODY);
        counters::open();
        count(10);
        assert_eq!(counted(NOBODY), 10);
        assert!(remarks()[0].contains("taken by another user"));
    });
    assert_eq!(wait(child), 0);
    assert!(words(id).iter().take(4096).all(|w| w.load(Relaxed) == 0));
    remove(id);
    // Made by root, given to somebody else: they may change it at any time.
    let id = make(counters::key(0), SEGMENT_SIZE, 0o600);
    change(id, |ds| ds.shm_perm.uid = NOBODY);
    passed_over(id, "taken by another user");
    remove(id);
}

fn sandboxed() {
    counters::open();
    count(10);
    let child = fork(|| {
        be(NOBODY);
        // Memory, and who one is: all else kills.
        let allowed =
            [libc::SYS_geteuid, libc::SYS_brk, libc::SYS_mmap, libc::SYS_munmap, libc::SYS_write, libc::SYS_exit_group];
        let rules: Vec<_> = allowed.iter().map(|s| (*s, 0)).collect();
        filter(&rules, Otherwise::Kill).unwrap();
        for _ in 0..1000 {
            counters::attribute();
            count(1);
        }
        counters::attribute_now();
        count(1000);
    });
    assert_eq!(wait(child), 0);
    assert_eq!((counted(0), counted(NOBODY)), (10, 2000));
}

fn drops() {
    counters::open();
    count(10);
    let child = fork(|| {
        count(1);
        be(NOBODY);
        counters::attribute();
        count(20);
        in_bare_thread(|| count(30));
        // Its own child too.
        let grandchild = fork(|| count(40));
        assert_eq!(wait(grandchild), 0);
    });
    assert_eq!(wait(child), 0);
    count(100);
    assert_eq!((counted(0), counted(NOBODY)), (111, 90));
    assert_eq!(counters::users().unwrap(), [0, NOBODY]);
    // What a process that started as root counts for a user is root's to see and to reset; the user's own programs' is theirs.
    let child = fork(|| {
        be(NOBODY);
        assert_eq!(counters::read(NOBODY).unwrap(), None);
        counters::reset(NOBODY).unwrap();
        let status = another("counts-only").status().unwrap();
        assert!(status.success());
        assert_eq!(counted(NOBODY), 100);
    });
    assert_eq!(wait(child), 0);
    assert_eq!((counted(0), counted(NOBODY)), (111, 190));
    counters::reset(NOBODY).unwrap();
    assert_eq!((counted(0), counted(NOBODY)), (111, 0));
    // Who comes back counts where they were.
    let child = fork(|| {
        be(NOBODY);
        counters::attribute();
        count(5);
    });
    assert_eq!(wait(child), 0);
    assert_eq!((counted(0), counted(NOBODY)), (111, 5));
    counters::delete(NOBODY).unwrap();
    assert_eq!((counters::read(NOBODY).unwrap(), counters::users().unwrap()), (None, vec![0]));
}

fn returns() {
    counters::open();
    for _ in 0..50 {
        assert_eq!(unsafe { libc::seteuid(NOBODY) }, 0);
        counters::attribute();
        count(3);
        thread::spawn(|| count(4)).join().unwrap();
        assert_eq!(unsafe { libc::seteuid(0) }, 0);
        counters::attribute();
        count(5);
        thread::spawn(|| count(6)).join().unwrap();
    }
    assert_eq!((counted(0), counted(NOBODY)), (50 * 11, 50 * 7));
    // Root's too: who counts for a user cannot be followed by that user.
    for id in attached(std::process::id()) {
        let ds = stat(id);
        assert_eq!((ds.shm_perm.uid, ds.shm_perm.cuid, ds.shm_perm.mode & 0o777), (0, 0, 0o600));
    }
}

fn seen_soon() {
    counters::open();
    let contexts = |count: usize| (0..count).for_each(|_| counters::attribute());
    contexts(10_000);
    for turn in 0..200 {
        for uid in [NOBODY, 0] {
            assert_eq!(unsafe { libc::seteuid(uid) }, 0);
            contexts(64 + turn % 3);
            count(1);
        }
    }
    assert_eq!((counted(0), counted(NOBODY)), (200, 200));
    // Those that look each time.
    for uid in [NOBODY, 0] {
        assert_eq!(unsafe { libc::seteuid(uid) }, 0);
        counters::attribute_now();
        count(1);
    }
    assert_eq!((counted(0), counted(NOBODY)), (201, 201));
}

fn privacy() {
    counters::open();
    count(10);
    let child = fork(|| {
        be(NOBODY);
        assert!(counters::users().unwrap().is_empty());
        assert_eq!(counters::read(NOBODY).unwrap(), None);
        for error in [counters::read(0).map(drop), counters::reset(0), counters::delete(0)] {
            assert!(error.unwrap_err().to_string().contains("only root"));
        }
        // Neither what root's programs count for them, nor for anybody else: each record of a session has its size there.
        counters::attribute();
        count(1);
        assert!(counters::users().unwrap().is_empty());
        for id in attached(std::process::id()) {
            assert_eq!(unsafe { libc::shmat(id, std::ptr::null(), libc::SHM_RDONLY) } as isize, -1);
        }
    });
    assert_eq!(wait(child), 0);
    assert_eq!((counted(0), counted(NOBODY)), (10, 1));
}

fn many_users() {
    counters::open();
    let users = 70_000..70_200;
    for uid in users.clone() {
        assert_eq!(unsafe { libc::seteuid(uid) }, 0);
        counters::attribute();
        count(10);
        assert_eq!(unsafe { libc::seteuid(0) }, 0);
    }
    assert_eq!(counters::users().unwrap(), [0].into_iter().chain(users.clone()).collect::<Vec<_>>());
    assert!(users.into_iter().all(|uid| counted(uid) == 10));
}

#[derive(Clone, Copy)]
enum Otherwise {
    Allow,
    Kill,
}

/// Errno that stands for killing: the call ends the process.
const KILLS: i32 = -1;

/// Has the kernel answer system calls with an error (0: allow them) from here on.
fn filter(rules: &[(libc::c_long, i32)], otherwise: Otherwise) -> std::io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
    let mut program = vec![step(LOAD, 0, 0)];
    for &(call, errno) in rules {
        let answer = match errno {
            0 => libc::SECCOMP_RET_ALLOW,
            KILLS => libc::SECCOMP_RET_KILL_PROCESS,
            errno => libc::SECCOMP_RET_ERRNO | errno as u32,
        };
        program.extend([step(EQUAL, call as u32, 1), step(RETURN, answer, 0)]);
    }
    program.push(match otherwise {
        Otherwise::Allow => step(RETURN, libc::SECCOMP_RET_ALLOW, 0),
        Otherwise::Kill => step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0),
    });
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
