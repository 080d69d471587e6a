//! Threads and the functions that they are inside of.
//!
//! A thread says in its entry of the board which function it is in; that takes a store before the operation and one after it. Every so
//! often it counts all entries, by which it is decided whether threads share batches ([`super::function`]).
//!
//! A thread works alone if its scheduling policy or niceness is not that of the thread that loaded the module: others would wait for it while it
//! waits for a CPU. A thread that others have waited for too long works alone for a time, too, whatever the reason (a control group with a small
//! share of the CPUs, say), and ever longer where that happens again ([`is_late`]).

use super::function::{self, Function};
use super::work::Work;
use super::{Engine, memory};
use adjunct_base::thread::ThreadKey;
use adjunct_kernels::floats::in_default_mode;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32};
use std::time::{Duration, Instant};

/// Threads whose presence is known.
const THREADS: usize = 256;
/// Nanoseconds of operations between two surveys of a thread, which takes one or two thousand.
const BETWEEN_SURVEYS: u32 = 400_000;
/// Operations between two surveys at most.
const MOST_BETWEEN: u32 = 64;
/// Operations in batches for one whose CPU time is measured.
const ONE_IN: u16 = 16;
/// Operations that could be in batches between two looks at the thread's scheduling; also the number that a thread does alone after it was late for
/// the first time.
const LOOK: u16 = 1024;

/// The entries of all threads, in the board's memory: zeros are free entries.
#[repr(C)]
pub(super) struct Entries {
    /// Entries from here on were never used.
    top: AtomicU32,
    all: [Presence; THREADS],
}

/// A thread's sign of presence.
#[repr(C, align(64))]
struct Presence {
    taken: AtomicBool,
    /// The function that the thread is in, plus 1; 0: in none.
    inside: AtomicU8,
}

/// A thread's own data about its entry.
struct Me {
    /// The process in which the entry was taken.
    generation: Cell<u32>,
    /// The entry, plus 1; 0 for none.
    entry: Cell<u16>,
    /// Whether the thread is in an operation: a request from a handler or a kernel then works alone.
    inside: Cell<bool>,
    /// Operations before the next survey.
    countdown: Cell<u16>,
    /// Operations in batches before one whose CPU time is measured.
    unmeasured: Cell<u16>,
    /// Operations that could be in batches before the next look at how the thread is scheduled; and what the last look said.
    unseen: Cell<u16>,
    equal: Cell<bool>,
    /// Operations to do alone when the thread is late the next time.
    late: Cell<u16>,
}

thread_local! {
    static ME: Me = const {
        Me {
            generation: Cell::new(0),
            entry: Cell::new(0),
            inside: Cell::new(false),
            countdown: Cell::new(1),
            unmeasured: Cell::new(0),
            unseen: Cell::new(0),
            equal: Cell::new(false),
            late: Cell::new(LOOK),
        }
    };
}

/// Others at the gate have waited for the calling thread for too long: it works alone for some time.
#[cold]
pub(super) fn is_late() {
    ME.with(|me| {
        me.equal.set(false);
        me.unseen.set(me.late.get());
        me.late.set(me.late.get().saturating_mul(2));
    });
}

/// Gives a thread's entry back when it ends: its address.
static PRESENT: ThreadKey = ThreadKey::new(ended);

unsafe extern "C" fn ended(entry: *mut c_void) {
    // SAFETY: an entry of the board, which is never unmapped. In a child it is nobody's, which this says, too.
    let entry = unsafe { &*entry.cast::<Presence>() };
    entry.inside.store(0, Relaxed);
    entry.taken.store(false, Release);
}

/// How an operation is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Alone,
    /// Alone, with [`Operation::measure`].
    Measured,
    Together,
}

/// A thread in an operation.
pub(super) struct Operation<'a> {
    engine: &'a Engine,
    entry: Option<&'a Presence>,
    work: &'static Work,
}

impl Drop for Operation<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            entry.inside.store(0, Relaxed);
        }
        ME.with(|me| me.inside.set(false));
    }
}

impl<'a> Operation<'a> {
    /// Begins an operation, and says how; `None` inside another one.
    #[inline]
    pub(super) fn begin(engine: &'a Engine, work: &'static Work) -> Option<(Operation<'a>, Way)> {
        ME.with(|me| {
            if me.inside.replace(true) {
                return None;
            }
            let entry = me.entry(&engine.board.present);
            let operation = Operation { engine, entry, work };
            if !engine.measures() {
                return Some((operation, Way::Together));
            }
            let Some(entry) = entry else { return Some((operation, Way::Alone)) };
            entry.inside.store(work.queue as u8 + 1, Relaxed);
            let left = me.countdown.get() - 1;
            me.countdown.set(left);
            if left == 0 {
                me.count_down(work.function());
                operation.survey();
            }
            let shares = work.function().shares.load(Relaxed);
            let way = match (shares && me.is_equal(engine), left) {
                (true, _) => Way::Together,
                (false, 0) => Way::Measured,
                (false, _) => Way::Alone,
            };
            Some((operation, way))
        })
    }

    /// Looks at all entries and decides for this function.
    fn survey(&self) {
        let (mut here, mut all) = (0, 0);
        let Entries { top, all: entries } = &self.engine.board.present;
        for entry in entries.iter().take(top.load(Relaxed) as usize) {
            let inside = entry.inside.load(Relaxed);
            all += u32::from(inside != 0);
            here += u32::from(inside == self.work.queue as u8 + 1);
        }
        let (function, width, break_even) = (self.work.function(), self.work.width(), self.work.break_even());
        in_default_mode(|| function.survey(here, all, self.engine.cpus, width, break_even));
    }

    /// Measures an operation done alone.
    pub(super) fn measure<T>(&self, operation: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let done = operation();
        let function = self.work.function();
        function.took(1, false, begin.elapsed());
        ME.with(|me| me.count_down(function));
        done
    }

    /// Measures handing a job over: one of many.
    pub(super) fn handing<T>(&self, operation: impl FnOnce() -> T) -> T {
        let left = ME.with(|me| {
            let left = me.unmeasured.get();
            me.unmeasured.set(left.checked_sub(1).unwrap_or(ONE_IN));
            left
        });
        if !self.engine.measures() || left != 0 {
            return operation();
        }
        let begin = function::time_outside_batches();
        let done = operation();
        let time = function::time_outside_batches().saturating_sub(begin);
        self.work.function().handed(Duration::from_nanos(time));
        done
    }
}

impl Me {
    /// The entry of this thread; `None` where all are taken.
    #[inline]
    fn entry<'a>(&self, entries: &'a Entries) -> Option<&'a Presence> {
        if self.generation.get() != adjunct_base::fork::generation() {
            self.take_entry(entries);
        }
        entries.all.get(usize::from(self.entry.get()).wrapping_sub(1))
    }

    #[cold]
    fn take_entry(&self, entries: &Entries) {
        self.generation.set(adjunct_base::fork::generation());
        self.entry.set(0);
        for (at, entry) in entries.all.iter().enumerate() {
            // Of the first entry no look before: in a child that would be one more fault of its page.
            if (at > 0 && entry.taken.load(Relaxed)) || entry.taken.swap(true, Acquire) {
                continue;
            }
            // SAFETY: an entry lives as long as the process.
            if unsafe { PRESENT.set(std::ptr::from_ref(entry).cast_mut().cast()) } {
                entries.top.fetch_max(at as u32 + 1, Relaxed);
                self.entry.set(at as u16 + 1);
            } else {
                entry.taken.store(false, Release);
            }
            return;
        }
    }

    /// Sets the operations before the next survey.
    fn count_down(&self, function: &Function) {
        let between = BETWEEN_SURVEYS / function.alone.load(Relaxed).max(1);
        self.countdown.set(between.clamp(1, MOST_BETWEEN) as u16);
    }

    /// Whether the thread is scheduled as others are; asked before its first operation in a batch, and from time to time.
    fn is_equal(&self, engine: &Engine) -> bool {
        match self.unseen.get() {
            0 => {
                self.unseen.set(LOOK);
                // In time since the last look.
                if self.equal.get() {
                    self.late.set(LOOK);
                }
                self.equal.set(memory::scheduling() == engine.scheduling);
            }
            left => self.unseen.set(left - 1),
        }
        self.equal.get()
    }
}

const _: () = assert!(THREADS < u16::MAX as usize);
