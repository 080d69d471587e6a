//! Threads that are to end, are cancelled or forked in every state, and those who were in a batch with them.

mod accelerator_support;
mod counters_support;
mod runner;

use accelerator_support::*;
use adjunct::catalogue::Outcome;
use adjunct_lanes as lanes;
use counters_support::{play, scenario};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
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
    cancelled_while_waiting
    cancelled_while_leading
    ends_in_a_handler_while_waiting
    ends_in_a_handler_while_leading
    jumps_out_of_a_handler
    a_handler_that_asks_itself
    forked_by_another_thread
    forked_in_a_kernel
    forked_in_a_handler
    forked_while_all_run
    a_ticket_in_a_child
    a_leader_that_does_not_come_back
    a_leader_that_ends
}

fn spawn(job: Job) -> JoinHandle<Outcome> {
    thread::spawn(move || run::<A>(job))
}

/// A thread without Rust's frames around it, for what unwinds or ends it; `wait` says whether it ended otherwise.
struct Bare {
    thread: libc::pthread_t,
}

static FINISHED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn bare(job: *mut c_void) -> *mut c_void {
    // SAFETY: from `Bare::new`. Nothing here needs a drop when the thread is cancelled: the job is left where it is.
    let job: &mut Job = unsafe { &mut *job.cast() };
    // SAFETY: 1 is PTHREAD_CANCEL_ASYNCHRONOUS.
    unsafe { libc_extra::pthread_setcanceltype(1, null_mut()) };
    ask::<A>(job);
    job.assert_done();
    FINISHED.fetch_add(1, SeqCst);
    null_mut()
}

mod libc_extra {
    unsafe extern "C" {
        pub fn pthread_setcanceltype(kind: std::ffi::c_int, old: *mut std::ffi::c_int) -> std::ffi::c_int;
    }
}

impl Bare {
    fn new(job: Job) -> Bare {
        let job = Box::into_raw(Box::new(job));
        let mut thread = 0;
        // SAFETY: the job is leaked, so it lives as long as the thread.
        assert_eq!(unsafe { libc::pthread_create(&mut thread, null_mut(), bare, job.cast()) }, 0);
        Bare { thread }
    }

    fn cancel(&self) {
        // SAFETY: not joined yet.
        unsafe { assert_eq!(libc::pthread_cancel(self.thread), 0) };
    }

    fn signal(&self) {
        // SAFETY: not joined yet.
        unsafe { assert_eq!(libc::pthread_kill(self.thread, libc::SIGUSR1), 0) };
    }

    fn join(self) {
        // SAFETY: joined once.
        unsafe { assert_eq!(libc::pthread_join(self.thread, null_mut()), 0) };
    }
}

fn handle(handler: extern "C" fn(c_int)) {
    // SAFETY: all zeros is a valid sigaction; the handlers are as the tests want them.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_NODEFER;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, null_mut()), 0);
    }
}

extern "C" fn end_this_thread(_: c_int) {
    // SAFETY: ends this thread, whatever it holds; that is the test.
    unsafe { _ = libc::syscall(libc::SYS_exit, 0) };
}

static CPUS: AtomicUsize = AtomicUsize::new(0);

fn start_with(cpus: usize) {
    CPUS.store(cpus, SeqCst);
    start(cpus);
}

/// Checks that the lanes still work: a batch forms and its results are right.
fn all_is_well() {
    let before = batches().len();
    let busy = Busy::new(CPUS.load(SeqCst));
    let mut threads: Vec<_> = (0..7).map(|i| spawn(Job::new(i))).collect();
    until(|| lanes::waiting() == 7);
    threads.push(spawn(Job::new(7)));
    for thread in threads {
        assert_eq!(thread.join().unwrap(), Outcome::Lanes);
    }
    busy.end();
    assert_eq!(batches().len(), before + 1);
}

fn wait_for_child(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: a child of this process.
    unsafe { assert_eq!(libc::waitpid(child, &mut status, 0), child) };
    status
}

/// What a forked child does: everything works in it, and says so by its exit code.
fn child_works() -> ! {
    let worked = std::panic::catch_unwind(|| {
        assert_eq!(lanes::waiting(), 0);
        assert_eq!(run::<A>(Job::new(3)), Outcome::Library);
        all_is_well();
    });
    // SAFETY: ends the child without the parent's cleanup.
    unsafe { libc::_exit(if worked.is_ok() { 7 } else { 1 }) }
}

fn assert_child_worked(child: i32) {
    let status = wait_for_child(child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
}

mod parts {
    use super::*;

    pub fn cancelled_while_waiting() {
        start_with(1);
        let busy = Busy::new(1);
        let cancelled: Vec<_> = (0..4).map(|i| Bare::new(Job::new(i))).collect();
        let others: Vec<_> = (4..7).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        cancelled.iter().for_each(Bare::cancel);
        busy.end();
        for thread in others {
            thread.join().unwrap();
        }
        cancelled.into_iter().for_each(Bare::join);
        assert_eq!(FINISHED.load(SeqCst), 0);
        assert_eq!(batches(), [7]);
        all_is_well();
    }

    pub fn cancelled_while_leading() {
        start_with(1);
        let busy = Busy::new(1);
        let door = Door::new();
        let leader = Bare::new(Job::new(1).at(&door));
        until_waiting(1);
        let others: Vec<_> = (2..8).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        busy.end();
        door.until_inside(1);
        leader.cancel();
        door.open();
        for thread in others {
            thread.join().unwrap();
        }
        leader.join();
        assert_eq!(FINISHED.load(SeqCst), 0);
        all_is_well();
    }

    pub fn ends_in_a_handler_while_waiting() {
        handle(end_this_thread);
        start_with(1);
        let busy = Busy::new(1);
        let dying: Vec<_> = (0..4).map(|i| Bare::new(Job::new(i))).collect();
        let others: Vec<_> = (4..7).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        dying.iter().for_each(Bare::signal);
        busy.end();
        for thread in others {
            thread.join().unwrap();
        }
        all_is_well();
        assert_eq!(FINISHED.load(SeqCst), 0);
    }

    pub fn ends_in_a_handler_while_leading() {
        handle(end_this_thread);
        start_with(1);
        let busy = Busy::new(1);
        let _dead = Bare::new(Job::new(1).with(Deed::Signal));
        until_waiting(1);
        let others: Vec<_> = (2..8).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        busy.end();
        for thread in others {
            assert_eq!(thread.join().unwrap(), Outcome::Lanes);
        }
        all_is_well();
        assert_eq!(FINISHED.load(SeqCst), 0);
    }

    unsafe extern "C" {
        #[link_name = "__sigsetjmp"]
        fn sigsetjmp(buffer: *mut c_void, save: c_int) -> c_int;
        fn siglongjmp(buffer: *mut c_void, value: c_int) -> !;
    }

    static BUFFER: [std::sync::atomic::AtomicU64; 64] = [const { std::sync::atomic::AtomicU64::new(0) }; 64];
    static JUMPS: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn jump(_: c_int) {
        JUMPS.fetch_add(1, SeqCst);
        // SAFETY: the frame that set it is still there: it waits for what it called.
        unsafe { siglongjmp(BUFFER.as_ptr().cast_mut().cast(), 1) }
    }

    extern "C" fn jumper(job: *mut c_void) -> *mut c_void {
        // SAFETY: no frame between here and the handler has anything to drop that is missed; the second return does
        // nothing with this one's variables.
        unsafe {
            if sigsetjmp(BUFFER.as_ptr().cast_mut().cast(), 1) == 0 {
                accelerator_support::ask::<A>(&mut *job.cast::<Job>());
                FINISHED.fetch_add(1, SeqCst);
            }
        }
        // This thread goes on to use the engine.
        for i in 0..100 {
            run::<A>(Job::new(i));
        }
        null_mut()
    }

    pub fn jumps_out_of_a_handler() {
        handle(jump);
        start_with(1);
        let busy = Busy::new(1);
        let job = Box::into_raw(Box::new(Job::new(1).with(Deed::Signal)));
        let mut thread = 0;
        // SAFETY: the job is leaked.
        assert_eq!(unsafe { libc::pthread_create(&mut thread, null_mut(), jumper, job.cast()) }, 0);
        until_waiting(1);
        let others: Vec<_> = (2..8).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        busy.end();
        for thread in others {
            assert_eq!(thread.join().unwrap(), Outcome::Lanes);
        }
        // SAFETY: joined once.
        unsafe { libc::pthread_join(thread, null_mut()) };
        assert_eq!((JUMPS.load(SeqCst), FINISHED.load(SeqCst)), (1, 0));
        all_is_well();
    }

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn ask(_: c_int) {
        run::<A>(Job::new(12));
        ASKED.fetch_add(1, SeqCst);
    }

    pub fn a_handler_that_asks_itself() {
        handle(ask);
        start_with(1);
        run::<A>(Job::new(5).with(Deed::Signal));
        assert_eq!(ASKED.load(SeqCst), 1);
        let busy = Busy::new(1);
        let asking = spawn(Job::new(6).with(Deed::Signal));
        until_waiting(1);
        let others: Vec<_> = (2..8).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        busy.end();
        for thread in others.into_iter().chain([asking]) {
            thread.join().unwrap();
        }
        assert_eq!(ASKED.load(SeqCst), 2);
        all_is_well();
    }

    pub fn forked_by_another_thread() {
        start_with(1);
        let busy = Busy::new(1);
        let others: Vec<_> = (0..7).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        // SAFETY: the child only does what is tested.
        let child = unsafe { libc::fork() };
        if child == 0 {
            child_works();
        }
        assert_child_worked(child);
        busy.end();
        for thread in others {
            assert_eq!(thread.join().unwrap(), Outcome::Lanes);
        }
        assert_eq!(batches(), [7]);
    }

    pub fn forked_in_a_kernel() {
        start_with(1);
        let parent = std::process::id();
        let goes_on = move || {
            if std::process::id() != parent {
                child_works();
            }
        };
        // Leading alone, without and with somebody before, and leading a batch.
        run::<A>(Job::new(5).with(Deed::Fork));
        goes_on();
        let busy = Busy::new(1);
        let forking = thread::spawn(move || {
            run::<A>(Job::new(6).with(Deed::Fork));
            goes_on();
        });
        until_waiting(1);
        busy.end();
        forking.join().unwrap();
        let door = Door::new();
        let first = spawn(Job::new(9).at(&door));
        door.until_inside(1);
        let forking = thread::spawn(move || {
            run::<A>(Job::new(6).with(Deed::Fork));
            goes_on();
        });
        until_waiting(1);
        let others: Vec<_> = (10..16).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        door.open();
        first.join().unwrap();
        forking.join().unwrap();
        for thread in others {
            assert_eq!(thread.join().unwrap(), Outcome::Lanes);
        }
        let children = CHILDREN.lock().unwrap().clone();
        assert_eq!(children.len(), 3);
        children.into_iter().for_each(assert_child_worked);
        all_is_well();
    }

    static FORKED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn fork(_: c_int) {
        // SAFETY: the child goes on where the handler interrupted it.
        let child = unsafe { libc::fork() };
        if child > 0 {
            FORKED.store(child as usize, SeqCst);
        }
    }

    pub fn forked_in_a_handler() {
        handle(fork);
        start_with(1);
        let parent = std::process::id();
        let goes_on = move || {
            if std::process::id() != parent {
                child_works();
            }
        };
        run::<A>(Job::new(5).with(Deed::Signal));
        goes_on();
        assert_child_worked(FORKED.swap(0, SeqCst) as i32);
        let busy = Busy::new(1);
        let forking = thread::spawn(move || {
            run::<A>(Job::new(6).with(Deed::Signal));
            goes_on();
        });
        until_waiting(1);
        let others: Vec<_> = (10..16).map(|i| spawn(Job::new(i))).collect();
        until_waiting(7);
        busy.end();
        forking.join().unwrap();
        for thread in others {
            assert_eq!(thread.join().unwrap(), Outcome::Lanes);
        }
        assert_child_worked(FORKED.swap(0, SeqCst) as i32);
        all_is_well();
    }

    pub fn forked_while_all_run() {
        start_with(2);
        let threads: Vec<_> = (0..16u64)
            .map(|t| {
                thread::spawn(move || {
                    for i in 0..3000 {
                        run::<B>(Job::new(t * 10_000 + i));
                    }
                })
            })
            .collect();
        for _ in 0..40 {
            // SAFETY: the child uses the engine alone, without what other threads may hold locked.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let mut right = true;
                for _ in 0..20 {
                    let mut job = Quiet::new(9);
                    right &= accelerator_support::ask::<QuietKind>(&mut job) == Outcome::Library && job.1 == 81;
                }
                // SAFETY: ends the child.
                unsafe { libc::_exit(if right { 7 } else { 1 }) }
            }
            assert_child_worked(child);
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
    }

    /// A kind that takes no lock: usable in a child of a process with threads.
    #[derive(Clone, Copy)]
    struct Quiet(u64, u64);

    impl Quiet {
        fn new(input: u64) -> Quiet {
            Quiet(input, 0)
        }
    }

    struct QuietKind;

    impl lanes::Kind for QuietKind {
        const QUEUE: adjunct::catalogue::Queue = adjunct::catalogue::Queue::P521Derive;
        const BREAK_EVEN: usize = 2;
        type Job = Quiet;

        fn scalar(job: &mut Quiet) -> Outcome {
            job.1 = job.0 * job.0;
            Outcome::Library
        }

        fn lanes(jobs: &mut [Quiet]) -> Option<u8> {
            jobs.iter_mut().for_each(|j| j.1 = j.0 * j.0);
            Some(u8::MAX)
        }
    }

    pub fn a_ticket_in_a_child() {
        start_with(1);
        let tickets: Vec<_> = (0..9).map(|i| lanes::enqueue::<A>(Job::new(i)).unwrap()).collect();
        // SAFETY: no other threads.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                tickets.into_iter().for_each(|t| t.finish().unwrap().0.assert_done());
                all_is_well();
            }));
            // SAFETY: ends the child.
            unsafe { libc::_exit(if worked.is_ok() { 7 } else { 1 }) }
        }
        assert_child_worked(child);
        assert_eq!(lanes::waiting(), 9);
        drop(tickets);
        assert_eq!(lanes::waiting(), 0);
        all_is_well();
    }

    static HALT: AtomicBool = AtomicBool::new(false);
    static ENDS: AtomicBool = AtomicBool::new(false);
    static HALTED: AtomicBool = AtomicBool::new(false);
    static GO_ON: AtomicBool = AtomicBool::new(false);

    /// What happens to the next leader of a batch.
    struct Halted;

    impl Leader for Halted {
        fn leads(jobs: usize) {
            if jobs > 2 && HALT.swap(false, SeqCst) {
                HALTED.store(true, SeqCst);
                if ENDS.load(SeqCst) {
                    end_this_thread(0);
                }
                until(|| GO_ON.load(SeqCst));
            }
        }
    }

    /// Sixteen threads share batches, as measured, when the leader of one is halted: the others go on.
    fn a_leader_is_halted() {
        lanes::start_with(2);
        static DONE: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];
        static STOP: AtomicBool = AtomicBool::new(false);
        let threads: Vec<_> = DONE
            .iter()
            .map(|done| {
                thread::spawn(move || {
                    while !STOP.load(SeqCst) {
                        let mut job = 3;
                        accelerator_support::ask::<Long<Halted>>(&mut job);
                        assert_eq!(job, 9);
                        done.fetch_add(1, SeqCst);
                    }
                })
            })
            .collect();
        until(|| batches().iter().filter(|&&jobs| jobs == 8).count() > 20);
        HALT.store(true, SeqCst);
        until(|| HALTED.load(SeqCst));
        let before: Vec<_> = DONE.iter().map(|done| done.load(SeqCst)).collect();
        let went_on = |(done, before): (&AtomicUsize, &usize)| done.load(SeqCst) > before + 50;
        until(|| DONE.iter().zip(&before).filter(|&pair| went_on(pair)).count() == 15);
        // Batches are done again.
        let batches_before = batches().len();
        until(|| batches().len() > batches_before + 20);
        GO_ON.store(true, SeqCst);
        if !ENDS.load(SeqCst) {
            until(|| DONE.iter().zip(&before).all(went_on));
            STOP.store(true, SeqCst);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(lanes::waiting(), 0);
        }
    }

    pub fn a_leader_that_does_not_come_back() {
        a_leader_is_halted();
    }

    pub fn a_leader_that_ends() {
        ENDS.store(true, SeqCst);
        a_leader_is_halted();
    }
}
