//! Callers whose thread can do something else while their request waits.
//!
//! An event loop runs one operation at a time, so that a batch forms only if the operation lets the loop go on. The request
//! is queued without being run. It runs as soon as eight of its kind wait; else when the loop comes back to the caller and
//! has queued nothing new since it was there last; and with any batch that another thread runs meanwhile.

use super::jobs::{self, Ticket};
use super::kind::Kind;
use crate::adapter::Outcome;
use crate::catalogue::LANES;
use crate::memory::boxed;
use std::any::Any;
use std::cell::Cell;
use std::sync::OnceLock;

/// What belongs to a paused request. Dropped in its place should its caller never go on: that takes the request back.
pub type Held = Box<dyn Any + Send>;

/// How a caller lets its thread do something else.
pub trait Pause: Sync {
    /// Whether the calling operation can pause just now. Asked by every operation.
    fn possible(&self) -> bool;

    /// Lets the thread go on elsewhere and returns, in the same thread, when it has come back. It may come back without
    /// having done anything. False, at once, where it cannot go: no descriptor to be woken by, say.
    ///
    /// `held` is owned by whoever can tell that the caller will never go on; it is back in its place afterwards. Where nobody
    /// can tell, what it holds keeps its place in the queue, and the process's memory, until the process ends.
    fn pause(&self, held: &mut Held) -> bool;

    /// Calls `body` where there is stack enough for a batch; false, without having called it, where there is none. `body`
    /// does not pause.
    fn with_room(&self, body: &mut dyn FnMut()) -> bool;
}

static PAUSER: OnceLock<&'static dyn Pause> = OnceLock::new();

/// Says how callers pause. The first one stays: a process has one interface with jobs.
pub fn install(pauser: &'static dyn Pause) {
    let _ = PAUSER.set(pauser);
}

/// How the calling operation can pause, if it can.
#[inline]
pub(super) fn caller() -> Option<&'static dyn Pause> {
    PAUSER.get().copied().filter(|pauser| pauser.possible())
}

thread_local! {
    /// Requests queued by callers in this thread, ever.
    static ARRIVALS: Cell<u64> = const { Cell::new(0) };
}

/// A queued request and its caller's own copy of the job, which lies on the caller's stack.
struct Parked<K: Kind> {
    /// Taken by a caller who goes on.
    ticket: Option<Ticket<K>>,
    job: *mut K::Job,
}

// SAFETY: the job is sent with its request, and touched by nobody else while the caller is paused.
unsafe impl<K: Kind> Send for Parked<K> {}

impl<K: Kind> Drop for Parked<K> {
    fn drop(&mut self) {
        // A caller that unwinds goes on, in its way, and drops its job itself.
        if self.ticket.take().is_some() && !std::thread::panicking() {
            // SAFETY: the caller never goes on, so that its stack is never used again; and it stays where it is, as OpenSSL
            // frees only jobs that have ended. A job wipes its secrets when it is dropped.
            unsafe { self.job.drop_in_place() };
        }
    }
}

/// Does the job of a caller who can pause.
#[cold]
#[inline(never)]
pub(super) fn run<K: Kind>(job: &mut K::Job, pauser: &dyn Pause) -> Outcome {
    if !jobs::worth_waiting(K::QUEUE) {
        return super::alone::<K>(job);
    }
    // The memory first: what is queued may be with a leader already.
    let Ok(mut parked) = boxed(Parked { ticket: None, job: &raw mut *job }) else { return super::alone::<K>(job) };
    let Ok(ticket) = super::enqueue::<K>(job.clone()) else { return super::alone::<K>(job) };
    parked.ticket = Some(ticket);
    ARRIVALS.set(ARRIVALS.get() + 1);
    let mut held: Held = parked;
    // Each round brings at least one request more, of whatever kind; a stream of others must not keep this one for ever.
    for _ in 0..LANES {
        let arrivals = ARRIVALS.get();
        if jobs::waiting_in(K::QUEUE) >= LANES || !pauser.pause(&mut held) {
            break;
        }
        let parked = held.downcast_ref::<Parked<K>>().and_then(|parked| parked.ticket.as_ref());
        if parked.is_none_or(Ticket::is_done) || ARRIVALS.get() == arrivals {
            break;
        }
    }
    let mut ticket = held.downcast_mut::<Parked<K>>().and_then(|parked| parked.ticket.take());
    let mut result = None;
    pauser.with_room(&mut || result = ticket.take().map(Ticket::finish));
    match result {
        Some((done, outcome)) => {
            *job = done;
            outcome
        }
        None => super::alone::<K>(job),
    }
}
