//! Operations that wait in their own thread, which does something else meanwhile: those of OpenSSL's asynchronous jobs ([`super::pause`]).
//!
//! An event loop's thread does them itself, a batch of a kind at a time, when one of its jobs finds that a full batch waits or that the loop has
//! nothing else to do. Other threads take no part, so that no thread ever waits for a loop that does not come back.

use super::board::{Result, Room};
use super::kind::Kind;
use super::memory::Quiet;
use super::own::Own;
use super::work::Work;
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{LANES, Queue};
use adjunct_base::counters::{self, Event};
use adjunct_base::memory::{Shared, boxed};
use adjunct_base::thread::ThreadKey;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Instant;

/// The job waits to be done.
const WAITS: u8 = 0;
/// The job is in a batch.
const TAKEN: u8 = 1;
/// The ticket was dropped: the job is not run any more.
const DROPPED: u8 = 2;
/// Done, with a [`Result`] from here on.
const DONE: u8 = 3;

/// A job, for its ticket and for its thread.
struct Waiting {
    state: AtomicU8,
    work: &'static Work,
    room: UnsafeCell<Room>,
}

// SAFETY: the job is sent; the room is touched by who has changed the state to TAKEN, and by the ticket's owner when it is done.
unsafe impl Send for Waiting {}
// SAFETY: the state is atomic; the room is touched by who has changed the state to TAKEN, and by the ticket's owner when the job is done.
unsafe impl Sync for Waiting {}

impl Waiting {
    fn place(&self) -> *mut u8 {
        self.room.get().cast()
    }

    fn becomes(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // SAFETY: the last owner, and a job of this kind.
        unsafe { self.work.wipe(self.place()) };
    }
}

/// The number of consecutive batches with one job after which the next operations of their kind run without pausing, and how many do. A loop with one
/// operation at a time would pay for the pause and gain nothing.
const LONELY: u8 = 4;
const AT_ONCE: u8 = 128;

/// Waiting jobs of one thread, by queue.
struct Mine([List; Queue::ALL.len()]);

/// Waiting jobs of one thread in one queue.
struct List {
    /// Oldest first.
    waiting: Vec<Shared<Waiting>>,
    /// Batches of one job, one after the other.
    lonely: u8,
    /// Operations to come that are done at once.
    at_once: u8,
}

static MINE: ThreadKey = ThreadKey::new(ended);

unsafe extern "C" fn ended(mine: *mut c_void) {
    // SAFETY: what `Mine::of_thread` put there, which nobody uses any more.
    drop(unsafe { Box::from_raw(mine.cast::<Mine>()) });
}

thread_local! {
    /// Whether this thread is in a batch: what a handler asks for in it is done alone.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

impl Mine {
    /// Calls `body` with this thread's lists; `None` where there is no memory for them, or inside `body`.
    fn with<T>(make: bool, body: impl FnOnce(&mut Mine) -> T) -> Option<T> {
        let mut mine = MINE.get().cast::<Mine>();
        if mine.is_null() && make {
            let fresh = Box::into_raw(
                boxed(Mine([const { List { waiting: Vec::new(), lonely: 0, at_once: 0 } }; Queue::ALL.len()])).ok()?,
            );
            // SAFETY: a box, taken back where the thread does not keep it.
            unsafe {
                if !MINE.set(fresh.cast()) {
                    drop(Box::from_raw(fresh));
                    return None;
                }
            }
            mine = fresh;
        }
        if mine.is_null() || INSIDE.replace(true) {
            return None;
        }
        // SAFETY: this thread's, and nobody else's while the mark is set: for good, where a handler leaves from here by a jump.
        let value = body(unsafe { &mut *mine });
        INSIDE.set(false);
        Some(value)
    }

    fn waiting(&self, queue: Queue) -> usize {
        self.0[queue as usize].waiting.iter().filter(|waiting| waiting.state.load(Relaxed) == WAITS).count()
    }

    /// Does the oldest jobs of this queue, as many as a batch has at most.
    fn lead(&mut self, queue: Queue) {
        let list = &mut self.0[queue as usize];
        let mut taken: [Option<Shared<Waiting>>; LANES] = [const { None }; LANES];
        let (mut count, width) = (0, list.waiting.first().map_or(LANES, |waiting| waiting.work.width()));
        list.waiting.retain(|waiting| {
            if count < width && waiting.becomes(WAITS, TAKEN) {
                taken[count] = Some(waiting.clone());
                count += 1;
                return false;
            }
            waiting.state.load(Relaxed) == WAITS
        });
        let mut places = [std::ptr::null_mut(); LANES];
        places.iter_mut().zip(taken.iter().flatten()).for_each(|(place, waiting)| *place = waiting.place());
        list.lonely = if count == 1 { list.lonely + 1 } else { 0 };
        if list.lonely == LONELY {
            (list.lonely, list.at_once) = (0, AT_ONCE);
        }
        let Some(work) = taken[0].as_ref().map(|waiting| waiting.work) else { return };
        let lanes = work.pays(count, true);
        // A handler that left by a jump would leave secrets on the stack.
        let quiet = Quiet::new();
        // Not CPU time, which takes a system call: of times the shortest is kept.
        let begin = Instant::now();
        // SAFETY: this thread has taken these jobs, of this kind.
        let done = unsafe { work.run(&places[..count], lanes, &|| true) };
        work.function().took(count, lanes, begin.elapsed());
        drop(quiet);
        if lanes && done.is_some() {
            counters::note(work.queue, Event::Batch(count));
        }
        for (at, waiting) in taken.iter().flatten().enumerate() {
            waiting.state.store(DONE + Result::of(done, at) as u8, Release);
        }
    }
}

/// Jobs of this thread that wait to be done.
pub(super) fn waiting() -> usize {
    Mine::with(false, |mine| Queue::ALL.iter().map(|&(queue, _)| mine.waiting(queue)).sum()).unwrap_or(0)
}

/// Whether an operation of this queue should be queued: not where the last batches of this thread had one job each. Call it once for each operation.
pub(super) fn worth_waiting(queue: Queue) -> bool {
    let worth = |mine: &mut Mine| {
        let list = &mut mine.0[queue as usize];
        let worth = list.at_once == 0;
        list.at_once = list.at_once.saturating_sub(1);
        worth
    };
    Mine::with(false, worth).unwrap_or(true)
}

/// Jobs of this thread that wait in `queue`.
pub(super) fn waiting_in(queue: Queue) -> usize {
    Mine::with(false, |mine| mine.waiting(queue)).unwrap_or(0)
}

/// A job that was put down; see [`super::enqueue`].
pub struct Ticket<K: Kind> {
    waiting: Shared<Waiting>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> std::fmt::Debug for Ticket<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

impl<K: Kind> Ticket<K> {
    pub(super) fn new(job: K::Job) -> Option<Ticket<K>> {
        let job = Own::new(job);
        let waiting = Shared::new(Waiting {
            state: AtomicU8::new(WAITS),
            work: Work::of::<K>(),
            room: UnsafeCell::new(Room::new()),
        });
        let waiting = waiting.ok()?;
        // SAFETY: room for any job, aligned for it, and nobody else's yet.
        unsafe { waiting.place().cast::<K::Job>().write(*job) };
        let kept = Mine::with(true, |mine| {
            let list = &mut mine.0[K::QUEUE as usize];
            list.waiting.try_reserve(1).is_ok_and(|()| {
                list.waiting.push(waiting.clone());
                true
            })
        });
        (kept == Some(true)).then_some(Ticket { waiting, kind: PhantomData })
    }

    /// Whether [`Ticket::finish`] has nothing left to do.
    pub fn is_done(&self) -> bool {
        self.waiting.state.load(Acquire) >= DONE
    }

    /// The job, done: if it is not yet, this thread does it and those of its kind that wait with it. `None` where it is another
    /// thread's, or went wrong: the caller is to do it.
    pub fn finish(self) -> Option<(Own<K::Job>, Outcome)> {
        let waits = || self.waiting.state.load(Acquire) == WAITS;
        while waits() && Mine::with(false, |mine| mine.lead(K::QUEUE)).is_some() && waits() && waiting_in(K::QUEUE) > 0
        {
        }
        // In another thread's list, or in a batch that never ended, for its thread left it by a jump, it is not done.
        let result = match self.waiting.state.load(Acquire) {
            state @ DONE.. => Result::from_number(state - DONE),
            _ => Result::Not,
        };
        let outcome = super::note_done::<K>(result)?;
        // SAFETY: done, and the ticket's: a job of this kind.
        Some((Own::new(unsafe { self.waiting.place().cast::<K::Job>().read() }), outcome))
    }
}

impl<K: Kind> Drop for Ticket<K> {
    fn drop(&mut self) {
        self.waiting.becomes(WAITS, DROPPED);
    }
}
