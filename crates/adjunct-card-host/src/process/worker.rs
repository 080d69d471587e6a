//! The workers of a card: threads of which one waits for requests (it *reads*) and the others work.
//!
//! An idle worker first looks for a batch to do, and else becomes the reader in its turn. So no thread has to be woken for a batch that is due: the
//! reader, who brought the request, sees it, or a worker that has just finished. After each batch a worker takes in the requests that have come
//! meanwhile, for a limited time: however many wait, a request is seen when a batch ends.

#![allow(unsafe_code)]

use super::client::Request;
use super::pending::{Choice, Kind, Pending, Waiting};
use super::reader::Reader;
use crate::link::{Link, Report};
use crate::peer::Peer;
use crate::service::{Patience, Service, Unfit};
use crate::watch;
use adjunct_card_state::config::Limits;
use adjunct_card_state::state::{Queue, Shared};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The number among the events of the daemon's link, and of the room in queues that were full.
pub(super) const DAEMON: u64 = u64::MAX;
pub(super) const ROOM: u64 = DAEMON - 2;
/// The order of an administrator that every service does: the self-test, again.
const SELF_TEST: &str = "self-test";

/// What an administrator has ordered.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) number: u64,
    pub(super) from: Peer,
    pub(super) domain: Option<u8>,
    pub(super) order: Vec<u8>,
}

/// The state that the workers of a card share.
pub(super) struct Card<S: Service> {
    pub(super) service: S,
    pub(super) state: Shared,
    pub(super) daemon: Link,
    pub(super) events: OwnedFd,
    pub(super) pending: Mutex<Pending<Request<S::Work>>>,
    /// The reader, held by the thread that reads.
    pub(super) reader: Mutex<Reader<S>>,
    /// Where users are read no further, that there is room again in their queues.
    pub(super) room: OwnedFd,
    pub(super) is_full: AtomicBool,
    /// What administrators have ordered, and whether there is any.
    pub(super) ordered: Mutex<VecDeque<Ordered>>,
    pub(super) is_ordered: AtomicBool,
}

/// Locks, also after a thread panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}

/// A batch that is done: what has to be told of it.
#[derive(Debug)]
pub struct Batch<'a> {
    state: &'a Shared,
    daemon: &'a Link,
    queues: &'a [usize],
    counter: usize,
    weight: u64,
    is_counted: bool,
}

impl Batch<'_> {
    /// The requests took so long together, and are about to be answered: whoever has an answer finds its request counted.
    pub fn computed(&mut self, busy: Duration) {
        if std::mem::replace(&mut self.is_counted, true) {
            return;
        }
        if let Some(&first) = self.queues.first() {
            self.state.queue(first, Queue::Batches).fetch_add(1, Relaxed);
        }
        let busy = u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX) / self.queues.len().max(1) as u64;
        for &queue in self.queues {
            self.state.queue(queue, Queue::Pendingq).fetch_sub(1, Relaxed);
            self.state.queue(queue, Queue::Load).fetch_sub(self.weight, Relaxed);
            self.state.count(queue, self.counter, 1, busy);
        }
    }

    /// Results were wrong, and the card is not to be used any more: a sentence.
    pub fn is_faulty(&self, why: &str) {
        let _ = self.daemon.report(&Report::Faulty(why.to_owned()));
    }
}

impl<S: Service> Card<S> {
    /// Makes a card without threads.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn new(
        service: S,
        state: Shared,
        daemon: Link,
        workers: usize,
        limits: Limits,
    ) -> Result<Card<S>, Errno> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&events, &daemon, EventData::new_u64(DAEMON), EventFlags::IN)?;
        let room = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        if S::BACKPRESSURE {
            epoll::add(&events, &room, EventData::new_u64(ROOM), EventFlags::IN)?;
        }
        let batch = service.width();
        Ok(Card {
            service,
            state,
            daemon,
            events,
            pending: Mutex::new(Pending::new(S::KINDS, workers, batch, limits)),
            reader: Mutex::new(Reader::new(&limits)),
            room,
            is_full: AtomicBool::new(false),
            ordered: Mutex::new(VecDeque::new()),
            is_ordered: AtomicBool::new(false),
        })
    }

    /// Tells the daemon.
    pub(super) fn report(&self, report: &Report) {
        let _ = self.daemon.report(report);
    }

    /// The loop of a worker, which runs until the card ends.
    pub(super) fn work(&self) {
        let mut gathering = None;
        loop {
            if self.is_ordered.load(Relaxed) {
                self.administer();
            }
            let mut chosen = lock(&self.pending).choose(false);
            if let Choice::Gather(kind, waiting) = chosen {
                let since = *gathering.get_or_insert_with(Instant::now);
                if self.more_come(kind, waiting, since) {
                    continue;
                }
                chosen = lock(&self.pending).choose(true);
            }
            if gathering.take().is_some() {
                let is_whole = matches!(&chosen, Choice::Batch(_, batch) if batch.len() == self.service.width());
                self.service.gathered(is_whole);
            }
            if let Choice::Batch(kind, batch) = chosen {
                if S::BACKPRESSURE && self.is_full.load(SeqCst) {
                    let _ = rustix::io::write(&self.room, &1_u64.to_ne_bytes());
                }
                self.run(kind, batch);
                self.catch_up();
                continue;
            }
            let mut reader = watch::waits(|| lock(&self.reader));
            if reader.leaves && lock(&self.pending).is_idle() {
                // SAFETY: nothing has to be flushed. Other threads may be inside of the library's locks, which exit would wait for.
                unsafe { libc::_exit(0) };
            }
            let limit = self.limit(&reader);
            self.read(&mut reader, limit.as_ref());
        }
    }

    /// Whether to wait for more requests of a kind, after having waited for a moment: programs that were answered together ask again one after the
    /// other, and the first of them is not to be done alone.
    fn more_come(&self, kind: Kind, waiting: usize, since: Instant) -> bool {
        let (moment, anyhow) = match self.service.patience(kind, waiting, since) {
            Patience::No => return false,
            Patience::WhileMoreCome(moment) => (moment, false),
            Patience::For(moment) => (moment, true),
        };
        let moment = timespec(moment);
        match self.reader.try_lock() {
            Ok(mut reader) if !reader.leaves => {
                if poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&moment)).is_ok_and(|ready| ready > 0) {
                    self.read(&mut reader, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
                }
            }
            Ok(_) => {}
            // Another reads, and brings them in.
            Err(_) => _ = poll(&mut [], Some(&moment)),
        }
        anyhow || lock(&self.pending).waiting(kind) > waiting
    }

    /// Has the service do a batch and answer.
    fn run(&self, kind: Kind, batch: Vec<Waiting<Request<S::Work>>>) {
        let begin = Instant::now();
        let users: Vec<u32> = batch.iter().map(|waiting| waiting.uid).collect();
        let queues: Vec<usize> = batch.iter().map(|waiting| usize::from(waiting.queue)).collect();
        let weight = S::weight(kind);
        for &queue in &queues {
            self.state.queue(queue, Queue::Requestq).fetch_sub(1, Relaxed);
            self.state.queue(queue, Queue::Pendingq).fetch_add(1, Relaxed);
            self.state.queue(queue, Queue::Load).fetch_add(weight, Relaxed);
        }
        let (state, daemon, queues) = (&self.state, &self.daemon, &queues[..]);
        let mut told = Batch { state, daemon, queues, counter: S::counter(kind), weight, is_counted: false };
        self.service.serve(kind, batch.into_iter().map(|waiting| waiting.work).collect(), &mut told);
        told.computed(begin.elapsed());
        lock(&self.pending).done(kind, &users, begin.elapsed());
    }

    /// Does the next thing that an administrator has ordered, and says what came of it.
    fn administer(&self) {
        let next = {
            let mut ordered = lock(&self.ordered);
            let next = ordered.pop_front();
            self.is_ordered.store(!ordered.is_empty(), Relaxed);
            next
        };
        let Some(Ordered { number, from, domain, order }) = next else { return };
        let mut is_faulty = None;
        let answer = match serde_json::from_slice::<Value>(&order) {
            Err(error) => Err(format!("not an order: {error}")),
            Ok(order) if order.as_str() == Some(SELF_TEST) => {
                is_faulty = self.service.self_test().err().map(Unfit::why);
                Ok(json!({ "passed": is_faulty.is_none(), "why": is_faulty }))
            }
            Ok(order) => self.service.administer(&from, domain, &order),
        };
        let answer = answer.and_then(|answer| serde_json::to_vec(&answer).map_err(|error| error.to_string()));
        self.report(&Report::Administered { number, answer });
        if let Some(why) = is_faulty {
            self.report(&Report::Faulty(why));
        }
    }
}
