//! A hostile, damaged or missing segment costs the statistics, never the program; and each user's counts are their own.
//! Most of this needs root; without, it says so and passes.
#![cfg(target_os = "linux")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "plain system calls on our own children and segments")]

mod counters_support;
mod runner;

use adjunct::counters::{self, SEGMENT_SIZE};
use counters_support::*;
use runner::natively;
use std::process::{Output, Stdio};
use std::thread;

const NOBODY: u32 = 65534;

#[cfg(not(target_arch = "s390x"))]
const SYS_SHMGET: libc::c_long = libc::SYS_shmget;
// Missing in the libc crate; <asm/unistd.h>, since Linux 5.1.
#[cfg(target_arch = "s390x")]
const SYS_SHMGET: libc::c_long = 395;

#[test]
#[ignore = "the part that the other tests play in processes of their own"]
fn player() {
    let Some((name, _)) = scenario() else { return };
    match name.as_str() {
        "clean" => clean(),
        // Opens, counts, whatever it finds.
        "counts" => {
            counters::open();
            count(100);
            thread::spawn(|| count(100)).join().unwrap();
        }
        "shapes" => shapes(),
        "garbage" => garbage(),
        "limits" => limits(),
        "switched-off" => switched_off(),
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

macro_rules! scenarios {
    ($($test:ident $name:literal;)*) => { $(#[test] fn $test() { if possible($name) { play($name); } })* };
}

/// What qemu's user mode cannot do.
fn possible(name: &str) -> bool {
    match name {
        "limits" | "sandboxed" => natively("no seccomp in qemu's user mode"),
        "squatted" => natively("no SHM_STAT_ANY in qemu's user mode"),
        _ => true,
    }
}

scenarios! {
    a_segment_of_wrong_mode_size_or_content_is_refused "shapes";
    garbage_in_a_segment_crashes_nobody "garbage";
    no_shared_memory_stops_nobody "limits";
    counting_can_be_switched_off "switched-off";
    a_segment_of_another_user_is_refused "squatted";
    a_segment_given_to_a_user_by_another_is_refused "given-away";
    a_sandboxed_child_counts_with_getpid_and_geteuid_alone "sandboxed";
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

/// A process that opens and counts: it must end well. Gives its warnings.
fn run_counting() -> Vec<String> {
    warnings(&another("counts").stdout(Stdio::null()).output().unwrap())
}

fn warnings(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?} {text}", output.status);
    text.lines().filter(|l| l.starts_with("adjunct: ")).map(str::to_owned).collect()
}

/// A process that opens and counts works on, says once what is wrong and how to end it, and the readers refuse too.
fn refused(id: i32, why: &str) {
    let uid = me();
    let warnings = run_counting();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let help = format!("'ipcrm -m {id}'");
    let key = format!("key {:#010x}", counters::key(uid));
    for words in [why, &help, &key, &format!("user {uid}")] {
        assert!(warnings[0].contains(words), "no {words} in {}", warnings[0]);
    }
    let error = counters::read(uid).unwrap_err().to_string();
    assert!(error.contains(why) && error.contains(&help), "{error}");
    assert!(counters::reset(uid).is_err());
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
        refused(make(key, size, mode), why);
        // Their own, though damaged: the command removes them.
        counters::delete(uid).unwrap();
        assert_eq!(counters::read(uid).unwrap(), None);
    }
    // The first word is the identity: another program's, another version's, another layout's.
    assert!(run_counting().is_empty());
    assert_eq!(counted(uid), 200);
    let id = find(uid);
    let identity = words(id)[0].load(std::sync::atomic::Ordering::Relaxed);
    for wrong in [1, u64::MAX, identity ^ 1, identity ^ 1 << 32, identity ^ 1 << 63] {
        words(id)[0].store(wrong, std::sync::atomic::Ordering::Relaxed);
        refused(id, "damaged");
    }
    words(id)[0].store(identity, std::sync::atomic::Ordering::Relaxed);
    assert!(run_counting().is_empty());
    assert_eq!(counted(uid), 400);
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
            word.store(value, std::sync::atomic::Ordering::Relaxed);
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
    // As on a kernel without it, and as where a sandbox is closed already.
    for (errno, words) in [(libc::ENOSYS, "Function not implemented"), (libc::EACCES, "Permission denied")] {
        let mut command = another("counts");
        unsafe { command.pre_exec(move || filter(&[(SYS_SHMGET, errno)], Otherwise::Allow)) };
        let warnings = warnings(&command.output().unwrap());
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains(words) && warnings[0].contains("shmget"), "{warnings:?}");
    }
    // A system whose shared memory is full.
    let mut command = another("counts");
    let full = || match unsafe { libc::unshare(libc::CLONE_NEWIPC) } {
        0 => std::fs::write("/proc/sys/kernel/shmmni", "0"),
        _ => Err(std::io::Error::last_os_error()),
    };
    unsafe { command.pre_exec(full) };
    match command.output() {
        Ok(output) => {
            let warnings = warnings(&output);
            assert!(warnings.len() == 1 && warnings[0].contains("No space left"), "{warnings:?}");
        }
        Err(error) => println!("no IPC namespace of its own ({error}): full shared memory not tested"),
    }
}

fn switched_off() {
    for (value, counts, warned) in [("off", 0, 0), ("OFF", 0, 0), ("", 200, 0), ("on", 400, 0), ("no", 600, 1)] {
        let output = another("counts").env("ADJUNCT_STATS", value).output().unwrap();
        assert_eq!(warnings(&output).len(), warned, "{value}");
        assert_eq!(counted(me()), counts, "{value}");
        if counts == 0 {
            assert!(counters::users().unwrap().is_empty());
        }
    }
}

fn squatted() {
    let key = counters::key(0);
    for mode in [0o600, 0o666, 0o000] {
        let child = fork(|| {
            be(NOBODY);
            make(key, SEGMENT_SIZE, mode);
        });
        assert_eq!(wait(child), 0);
        let id = unsafe { libc::shmget(key, 0, 0) };
        refused(id, "taken by another user");
        assert!(counters::users().unwrap().is_empty());
        // Not ours to remove without being told.
        assert!(counters::delete(0).unwrap_err().to_string().contains(&format!("'ipcrm -m {id}'")));
        assert_eq!(words(id)[0].load(std::sync::atomic::Ordering::Relaxed), 0, "written to");
        remove(id);
    }
    // A user whose place is taken by one they may not even look at.
    let id = make(counters::key(NOBODY), SEGMENT_SIZE, 0o600);
    let child = fork(|| {
        be(NOBODY);
        counters::open();
        count(10);
        assert!(counters::read(NOBODY).unwrap_err().to_string().contains(&format!("'ipcrm -m {id}'")));
    });
    assert_eq!(wait(child), 0);
    remove(id);
}

fn given_away() {
    // Owner nobody, but made by root: whoever made it may change it at any time.
    let id = make(counters::key(NOBODY), SEGMENT_SIZE, 0o600);
    change(id, |ds| ds.shm_perm.uid = NOBODY);
    let child = fork(|| {
        be(NOBODY);
        counters::open();
        count(10);
        assert!(counters::read(NOBODY).is_err());
    });
    assert_eq!(wait(child), 0);
    assert!(words(id).iter().take(4096).all(|w| w.load(std::sync::atomic::Ordering::Relaxed) == 0));
    remove(id);
    // Made by root, given to somebody else: they may change it at any time.
    let id = make(counters::key(0), SEGMENT_SIZE, 0o600);
    change(id, |ds| ds.shm_perm.uid = NOBODY);
    refused(id, "taken by another user");
    remove(id);
}

fn sandboxed() {
    counters::open();
    count(10);
    let child = fork(|| {
        be(NOBODY);
        // As sshd's before login: what is not listed kills.
        let allowed = [
            libc::SYS_getpid,
            libc::SYS_geteuid,
            libc::SYS_brk,
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_madvise,
            libc::SYS_futex,
            libc::SYS_write,
            libc::SYS_exit_group,
        ];
        let rules: Vec<_> = allowed.iter().map(|s| (*s, 0)).chain([(SYS_SHMGET, libc::EACCES)]).collect();
        filter(&rules, Otherwise::Kill).unwrap();
        for _ in 0..1000 {
            counters::attribute();
            count(1);
        }
        counters::attribute_now();
        count(1000);
    });
    assert_eq!(wait(child), 0);
    assert_eq!(counted(0), 2010);
    assert_eq!(counters::users().unwrap(), [0]);
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
        // Its own child, and a process it starts, too.
        let grandchild = fork(|| count(40));
        assert_eq!(wait(grandchild), 0);
    });
    assert_eq!(wait(child), 0);
    count(100);
    assert_eq!((counted(0), counted(NOBODY)), (111, 90));
    assert_eq!(counters::users().unwrap(), [0, NOBODY]);
    let ds = stat(find(NOBODY));
    assert_eq!((ds.shm_perm.uid, ds.shm_perm.cuid, ds.shm_perm.mode & 0o777), (NOBODY, NOBODY, 0o600));
    // The user finds what the daemon made for them good.
    let child = fork(|| {
        be(NOBODY);
        assert_eq!(counted(NOBODY), 90);
        counters::reset(NOBODY).unwrap();
    });
    assert_eq!(wait(child), 0);
    assert_eq!((counted(0), counted(NOBODY)), (111, 0));
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
    let ds = stat(find(NOBODY));
    assert_eq!((ds.shm_perm.uid, ds.shm_perm.cuid), (NOBODY, NOBODY));
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
        counters::attribute();
        count(1);
        assert_eq!(counters::users().unwrap(), [NOBODY]);
        counters::delete(NOBODY).unwrap();
    });
    assert_eq!(wait(child), 0);
    assert_eq!(counted(0), 10);
}

fn many_users() {
    counters::open();
    let users = 70_000..70_050;
    for uid in users.clone() {
        assert_eq!(unsafe { libc::seteuid(uid) }, 0);
        counters::attribute();
        count(10);
        assert_eq!(unsafe { libc::seteuid(0) }, 0);
    }
    let all = counters::users().unwrap();
    assert!(all.len() > 20);
    assert_eq!(counted(70_000), 10);
    assert_eq!(all.into_iter().map(counted).sum::<u64>(), 500);
}

#[derive(Clone, Copy)]
enum Otherwise {
    Allow,
    Kill,
}

/// Has the kernel answer system calls with an error (0: allow them) from here on.
fn filter(rules: &[(libc::c_long, i32)], otherwise: Otherwise) -> std::io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
    let mut program = vec![step(LOAD, 0, 0)];
    for &(call, errno) in rules {
        let answer = if errno == 0 { libc::SECCOMP_RET_ALLOW } else { libc::SECCOMP_RET_ERRNO | errno as u32 };
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
