//! Changes that several threads make at the same time, written together (group commit): one write and one `fdatasync` for all.
//!
//! A thread adds its request to the store's queue and tries to become the writer (`Place::exclusively_unless`). The writer takes the
//! requests that wait, oldest first, makes one frame of them and puts each one's outcome into its request; a thread whose request has an
//! outcome no longer tries. A request gets its outcome after the frame is on the disk, and a frame is read whole or not at all, so each
//! request has what it would have had alone: all of its changes or none, on the disk when the call returns.
//!
//! A thread that waits sleeps on its request's word. It is woken when its request has an outcome, and when a writer has left and its request is the
//! oldest that waits. It also looks again after [`NAP`], because changes of PINs write to the store without waking any thread.

use super::Login;
use super::format::Uid;
use super::read::uid_of;
use crate::handle::Handle;
use adjunct::lock::Lock;
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::rv::{Result, Rv, fail};
use cryptoki_sys::*;
use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use rustix::time::Timespec;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::Duration;

/// The most changes of a batch: bounds its frame, and how long the first of its threads waits for the others' records.
const MOST: usize = 64;

/// A change of an object.
#[derive(Debug)]
pub enum Change {
    /// A new object.
    New(Object),
    /// An object that takes the place of another.
    Replaced(Object),
    Removed(Arc<Object>),
}

impl Change {
    pub fn object(&self) -> &Object {
        match self {
            Change::New(object) | Change::Replaced(object) => object,
            Change::Removed(object) => object,
        }
    }
}

/// The changes of one call.
#[derive(Debug)]
pub(super) struct Request {
    login: Arc<Login>,
    /// Identifiers of the objects that it changes.
    uids: Vec<Uid>,
    changes: Lock<Vec<Change>>,
    /// The handles of the new and replaced objects.
    outcome: Lock<Result<Vec<Handle>>>,
    /// [`WAITS`], [`SLEEPS`], [`WOKEN`] or [`DONE`].
    state: AtomicU32,
}

/// State of a request whose thread is awake, or about to be.
const WAITS: u32 = 0;
/// State of a request whose thread sleeps on the word, or is about to.
const SLEEPS: u32 = 1;
/// State of a request whose thread was to be woken, and was awake: it tries again before it sleeps.
const WOKEN: u32 = 2;
/// State of a request that is done: `outcome` holds its result.
const DONE: u32 = 3;
/// The longest sleep.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

impl Request {
    fn new(login: Arc<Login>, changes: Vec<Change>) -> Result<Request> {
        let uids = changes.iter().map(|change| uid_of(&change.object().attributes).ok_or(Rv(CKR_FUNCTION_FAILED)));
        Ok(Request {
            login,
            uids: uids.collect::<Result<_>>()?,
            changes: Lock::new(changes),
            outcome: Lock::new(fail(CKR_FUNCTION_FAILED)),
            state: AtomicU32::new(WAITS),
        })
    }

    pub fn is_done(&self) -> bool {
        self.state.load(Acquire) == DONE
    }

    /// Whether the request has its outcome, after a sleep of the calling thread that ends when the thread is woken, or after `NAP`.
    pub fn is_done_after_sleep(&self) -> bool {
        if self.state.compare_exchange(WAITS, SLEEPS, AcqRel, Acquire).is_ok() {
            match futex::wait(&self.state, Flags::PRIVATE, SLEEPS, Some(&NAP)) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                // A filter of system calls does not let it.
                Err(_) => std::thread::sleep(Duration::from_micros(100)),
            }
        }
        self.state.fetch_update(AcqRel, Acquire, |state| (state != DONE).then_some(WAITS)).is_err()
    }

    /// Gives the request its outcome, and wakes its thread.
    pub fn finish(&self, with: Result<Vec<Handle>>) {
        self.outcome.hold(|outcome, _| *outcome = with);
        if self.state.swap(DONE, AcqRel) == SLEEPS {
            let _ = futex::wake(&self.state, Flags::PRIVATE, 1);
        }
    }

    /// Ends the sleep of the request's thread, or keeps the thread from the next one.
    fn wake(&self) {
        let woken = |state| match state {
            SLEEPS => Some(WAITS),
            WAITS => Some(WOKEN),
            _ => None,
        };
        if self.state.fetch_update(AcqRel, Acquire, woken) == Ok(SLEEPS) {
            let _ = futex::wake(&self.state, Flags::PRIVATE, 1);
        }
    }

    /// The outcome of the request, once a writer has taken it.
    ///
    /// # Errors
    /// Those of its changes.
    pub fn wait(&self) -> Result<Vec<Handle>> {
        while !self.is_done() && !self.is_done_after_sleep() {}
        self.outcome.hold(|outcome, _| std::mem::replace(outcome, fail(CKR_FUNCTION_FAILED)))
    }
}

/// The requests that wait for a writer, oldest first.
#[derive(Debug)]
pub(super) struct Queue(Lock<Waiting>);

#[derive(Debug)]
struct Waiting {
    /// The process whose threads these are: a child of fork has a copy, and none of the threads.
    generation: u32,
    requests: VecDeque<Arc<Request>>,
}

impl Queue {
    pub const fn new() -> Queue {
        Queue(Lock::new(Waiting { generation: 0, requests: VecDeque::new() }))
    }

    fn hold<R>(&self, body: impl FnOnce(&mut VecDeque<Arc<Request>>) -> R) -> R {
        self.0.hold(|waiting, taken| {
            if taken.abandoned || waiting.generation != taken.generation {
                // It may have been copied in the middle of a change, and is not safe to drop then.
                std::mem::forget(std::mem::take(&mut waiting.requests));
                waiting.generation = taken.generation;
            }
            body(&mut waiting.requests)
        })
    }

    /// # Errors
    /// `CKR_FUNCTION_FAILED` for objects without an identifier.
    pub fn add(&self, login: Arc<Login>, changes: Vec<Change>) -> Result<Arc<Request>> {
        let request = Arc::new(Request::new(login, changes)?);
        self.hold(|waiting| waiting.push_back(request.clone()));
        Ok(request)
    }

    /// Takes a request back; `false` where a writer has it.
    pub fn withdraw(&self, request: &Arc<Request>) -> bool {
        self.hold(|waiting| {
            let at = waiting.iter().position(|other| Arc::ptr_eq(other, request));
            at.and_then(|at| waiting.remove(at)).is_some()
        })
    }

    /// Wakes the next writer when this one leaves, so that it need not sleep any longer.
    pub fn wake_next(&self) {
        let next = self.hold(|waiting| waiting.front().cloned());
        next.inspect(|request| request.wake());
    }

    /// Takes, for the writer, the oldest requests of one login of which no two change the same object; empty where none wait.
    pub fn next(&self) -> Vec<Taken> {
        self.hold(|waiting| {
            let (mut batch, mut uids) = (Vec::<Taken>::new(), BTreeSet::new());
            while let Some(request) = waiting.front() {
                let fits = batch.first().is_none_or(|first| {
                    Arc::ptr_eq(&first.request.login, &request.login)
                        && uids.len() + request.uids.len() <= MOST
                        && request.uids.iter().all(|uid| !uids.contains(uid))
                });
                if !fits {
                    break;
                }
                uids.extend(request.uids.iter().copied());
                batch.extend(waiting.pop_front().map(Taken::new));
            }
            batch
        })
    }
}

/// A request that the writer has. Dropped without an outcome, it fails, so that no thread waits for ever.
#[derive(Debug)]
pub(super) struct Taken {
    request: Arc<Request>,
    pub changes: Vec<Change>,
}

impl Taken {
    fn new(request: Arc<Request>) -> Taken {
        let changes = request.changes.hold(|changes, _| std::mem::take(changes));
        Taken { request, changes }
    }

    pub fn login(&self) -> &Arc<Login> {
        &self.request.login
    }

    /// The changes of the request, with the identifiers of their objects.
    pub fn named(&self) -> impl Iterator<Item = (&Change, Uid)> {
        self.changes.iter().zip(self.request.uids.iter().copied())
    }

    /// Whether the request only destroys objects.
    pub fn destroys(&self) -> bool {
        self.changes.iter().all(|change| matches!(change, Change::Removed(_)))
    }

    pub fn finish(self, with: Result<Vec<Handle>>) {
        self.request.finish(with);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.request.is_done() {
            self.request.finish(fail(CKR_FUNCTION_FAILED));
        }
    }
}

#[cfg(test)]
mod tests;
