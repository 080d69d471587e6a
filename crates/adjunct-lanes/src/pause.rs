//! Requests of callers whose thread can do something else meanwhile.
//!
//! An event loop runs one operation at a time, so that a batch forms only if the operation lets the loop go on. The request
//! is queued without being run. It runs as soon as a full batch of its kind waits in this thread; else when the loop comes back to the
//! caller and has queued nothing new since it was there last.

use super::jobs::{self, Ticket};
use super::kind::Kind;
use super::own::Own;
use adjunct_base::catalogue::Outcome;
use adjunct_base::memory::boxed;
use adjunct_base::stack;
use std::any::Any;
use std::cell::Cell;
use std::sync::OnceLock;

/// What belongs to a paused request. It is dropped where it lies if its caller never goes on, which withdraws the request.
pub type Held = Box<dyn Any + Send>;

/// How a caller lets its thread do something else.
pub trait Pause: Sync {
    /// Whether the calling operation can pause just now. Asked by every operation.
    fn possible(&self) -> bool;

    /// Lets the thread go on elsewhere and returns, in the same thread, when it has come back. The thread may come back without having done anything.
    /// False, at once, where it cannot pause, for instance because there is no descriptor to wake it by.
    ///
    /// While paused, `held` belongs to the interface that can tell that the caller will never go on; afterwards it is back in its place. Where no
    /// interface can tell, the request keeps its place in the queue and its memory until the process ends.
    fn pause(&self, held: &mut Held) -> bool;
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

/// Has the job of a caller who can pause done; `None` where the caller is to do it.
#[cold]
#[inline(never)]
pub(super) fn run<K: Kind>(job: impl FnOnce() -> K::Job, pauser: &dyn Pause) -> Option<(Own<K::Job>, Outcome)> {
    if !jobs::worth_waiting(K::QUEUE) {
        return None;
    }
    // The memory first, and the ticket in it: dropped with what a caller that never goes on leaves behind, it takes the job back.
    let mut parked = boxed(None::<Ticket<K>>).ok()?;
    *parked = Some(super::enqueue::<K>(job())?);
    ARRIVALS.set(ARRIVALS.get() + 1);
    let mut held: Held = parked;
    // Each round brings at least one request more, of whatever kind; a stream of others must not keep this one for ever.
    let width = K::width();
    for _ in 0..width {
        let arrivals = ARRIVALS.get();
        if jobs::waiting_in(K::QUEUE) >= width || !pauser.pause(&mut held) {
            break;
        }
        let parked = held.downcast_ref::<Option<Ticket<K>>>().and_then(Option::as_ref);
        if parked.is_none_or(Ticket::is_done) || ARRIVALS.get() == arrivals {
            break;
        }
    }
    let mut ticket = held.downcast_mut::<Option<Ticket<K>>>().and_then(Option::take);
    stack::with_room(|| ticket.take().and_then(Ticket::finish)).flatten()
}
