//! The workers of a card: threads of which one waits for requests (it *reads*) and the others work.
//!
//! An idle worker first looks for a batch to do, and else becomes the reader in its turn. So no thread has to be woken for a batch that is due: the
//! reader, who brought the request, sees it, or a worker that has just finished. After each batch a worker takes in the requests that have come
//! meanwhile, for a limited time: however many wait, a request is seen when a batch ends.

use super::Setup;
use super::keys::{Keys, Secret, Tag};
use super::load::Load;
use super::pending::{Choice, Pending, Waiting};
use super::reader::Reader;
use crate::link::{self, Report};
use crate::state::{Queue, Shared};
use crate::watch;
use adjunct::card::work::{self, Job, Key};
use adjunct_card_protocol::crowd::{self, Page, cpu_time};
use adjunct_card_protocol::wire::{self, Kind, MAX_REPLY, Status};
use adjunct_kernels::wipe;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use zeroize::Zeroizing;

/// The number among the events of the daemon's link.
pub(super) const DAEMON: u64 = u64::MAX;
/// Nanoseconds within which the next request comes, where programs that were answered ask again: a wake of another CPU and their own work.
const GATHERING: i64 = 50_000;
/// Nanoseconds after which it is looked again whether other tasks still keep all CPUs busy; also the longest time that requests wait for others.
const LOOKING: i64 = 300_000;
const GATHERED: u64 = 4_000_000;
/// The time that requests wait for others at first, and after no other has come for so long.
const FIRST_GATHERED: u64 = 1_000_000;
/// Milliseconds in which a program that asked counts as one that may ask again.
const LATELY: u64 = 50;
/// Wrong results out of the lanes after which the card is not to be used any more.
const FAULTS: u32 = 3;
/// The results of one batch in this many are checked in the card until one was wrong; programs check every result.
const CHECKED: u32 = 16;

/// A program's connection.
#[derive(Debug)]
pub struct Client {
    pub(super) socket: OwnedFd,
    pub(super) uid: u32,
    pub(super) queue: u16,
    /// The time, in units of [`LATELY`], in which it last asked.
    pub(super) asked: AtomicU64,
    /// A request of the client waits or is worked on: there may be one at a time.
    busy: AtomicBool,
}

impl Client {
    /// Makes a client that has not asked yet.
    pub fn new(socket: OwnedFd, uid: u32, queue: u16) -> Client {
        Client { socket, uid, queue, asked: AtomicU64::new(u64::MAX), busy: AtomicBool::new(false) }
    }

    /// Whether a request of it waits or is worked on.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Notes that the client asks; false where it does so before its last request was answered.
    pub fn begins(&self) -> bool {
        !self.busy.swap(true, AcqRel)
    }

    /// Answers the client's request. A client that does not take its answers is let go: the reader sees its end.
    pub fn answer(&self, status: Status, jobs: usize, output: &[u8]) {
        // First: it may ask again as soon as it has the answer.
        self.busy.swap(false, AcqRel);
        if !answer(&self.socket, status, jobs, output) {
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        }
    }
}

/// The work of a request: its connection, key and input.
#[derive(Debug)]
pub struct Work {
    pub(super) client: Arc<Client>,
    pub(super) key: Wanted,
    pub(super) input: Zeroizing<Vec<u8>>,
}

/// The key of a request.
#[derive(Debug)]
pub enum Wanted {
    /// The key is among those that are kept.
    There(Key),
    /// The key as the request brought it, and the tag by which it will be found.
    Bytes(Zeroizing<Vec<u8>>, Tag),
}

/// The state that the workers of a card share.
#[derive(Debug)]
pub struct Card {
    pub(super) state: Shared,
    pub(super) page: &'static Page,
    pub(super) daemon: OwnedFd,
    pub(super) events: OwnedFd,
    pub(super) secret: Secret,
    pub(super) keys: Mutex<Keys>,
    pub(super) pending: Mutex<Pending<Work>>,
    /// The reader, held by the thread that reads.
    pub(super) reader: Mutex<Reader>,
    faults: AtomicU32,
    batches: AtomicU32,
    load: Load,
    /// How long requests wait for others while the CPUs have other things to do, in nanoseconds: longer where that filled a batch.
    patience: AtomicU64,
    /// Programs that asked in this period and in the one before it: the period's number, in units of [`LATELY`], above 16 bits for each count.
    lately: AtomicU64,
}

/// Locks, also after a thread panicked while it held the lock.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Card {
    /// Makes a card without threads.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(setup: Setup) -> Result<Card, Errno> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&events, &setup.daemon, EventData::new_u64(DAEMON), EventFlags::IN)?;
        let batch = work::width();
        Ok(Card {
            state: setup.state,
            page: setup.page,
            daemon: setup.daemon,
            events,
            secret: Secret::new(),
            keys: Mutex::new(Keys::new()),
            pending: Mutex::new(Pending::new(setup.workers, batch, setup.limits)),
            reader: Mutex::new(Reader::new(setup.limits.connections)),
            faults: AtomicU32::new(0),
            batches: AtomicU32::new(0),
            load: Load::open(),
            patience: AtomicU64::new(FIRST_GATHERED),
            lately: AtomicU64::new(0),
        })
    }

    /// Tells the daemon.
    pub fn report(&self, report: Report) {
        let _ = link::report(&self.daemon, report);
    }

    /// The loop of a worker, which runs until the card ends.
    pub fn work(&self) {
        let mut gathering = None;
        loop {
            let mut chosen = lock(&self.pending).choose(false);
            if let Choice::Gather(kind, waiting) = chosen {
                let since = *gathering.get_or_insert_with(Instant::now);
                if self.more_come(kind, waiting, since) {
                    continue;
                }
                chosen = lock(&self.pending).choose(true);
            }
            if gathering.take().is_some() {
                self.learn(matches!(&chosen, Choice::Batch(_, batch) if batch.len() == work::width()));
            }
            if let Choice::Batch(kind, batch) = chosen {
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

    /// Whether to wait for more requests of a kind, after having waited for a moment.
    ///
    /// Where by the page more are under way than wait: programs that were answered together ask again one after the other, and the first of
    /// them is not to be done alone. And, since a time, while other tasks keep all CPUs busy: as long as this one sleeps they come to their
    /// next operations, and no CPU is left idle.
    fn more_come(&self, kind: Kind, waiting: usize, since: Instant) -> bool {
        let busy = (self.lately(crowd::now()) > waiting as u64 && self.runnable() > self.page.cpus())
            .then(|| self.patience.load(Relaxed).saturating_sub(since.elapsed().as_nanos() as u64))
            .filter(|&left| left > 0);
        if busy.is_none() && self.page.under_way(kind, crowd::now()) < waiting as f32 + 0.5 {
            return false;
        }
        let moment = busy.map_or(GATHERING, |left| LOOKING.min(left.cast_signed()));
        let moment = Timespec { tv_sec: 0, tv_nsec: moment };
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
        busy.is_some() || lock(&self.pending).waiting(kind) > waiting
    }

    /// Requests have waited for others: until there was a whole batch, or in vain.
    fn learn(&self, filled: bool) {
        let before = self.patience.load(Relaxed);
        let after = if filled { before * 2 } else { before / 2 };
        self.patience.store(after.clamp(GATHERING.cast_unsigned(), GATHERED), Relaxed);
    }

    /// How many programs have asked lately, at least.
    fn lately(&self, now: u64) -> u64 {
        let (word, number) = (self.lately.load(Relaxed), (now / LATELY) & 0xffff_ffff);
        match number.wrapping_sub(word >> 32) {
            0 => (word & 0xffff).max(word >> 16 & 0xffff),
            1 => word & 0xffff,
            _ => 0,
        }
    }

    /// A program asks.
    pub(super) fn asks(&self, client: &Client, now: u64) {
        let number = (now / LATELY) & 0xffff_ffff;
        if client.asked.swap(number, Relaxed) == number {
            return;
        }
        // The reader alone writes it.
        let word = self.lately.load(Relaxed);
        let (before, count) = match number.wrapping_sub(word >> 32) {
            0 => (word >> 16 & 0xffff, word & 0xffff),
            1 => (word & 0xffff, 0),
            _ => {
                self.patience.store(FIRST_GATHERED, Relaxed);
                (0, 0)
            }
        };
        self.lately.store(number << 32 | before << 16 | (count + 1).min(0xffff), Relaxed);
    }

    /// Tasks of the machine that can run, this thread included.
    fn runnable(&self) -> u64 {
        self.load.runnable().unwrap_or(1)
    }

    /// Does a batch and answers.
    fn run(&self, kind: Kind, batch: Vec<Waiting<Work>>) {
        let begin = Instant::now();
        let mut jobs: Vec<Job> = Vec::with_capacity(batch.len());
        let mut asked = Vec::with_capacity(batch.len());
        let users: Vec<u32> = batch.iter().map(|waiting| waiting.uid).collect();
        let queues: Vec<usize> = batch.iter().map(|waiting| usize::from(waiting.queue)).collect();
        for &queue in &queues {
            self.state.queue(queue, Queue::Requestq).fetch_sub(1, Relaxed);
            self.state.queue(queue, Queue::Pendingq).fetch_add(1, Relaxed);
            self.state.queue(queue, Queue::Load).fetch_add(weight(kind), Relaxed);
        }
        let new = batch.iter().any(|waiting| matches!(waiting.work.key, Wanted::Bytes(..)));
        for Waiting { work, .. } in batch {
            match self.key(kind, work.client.uid, work.key) {
                Some(key) => {
                    jobs.push(Job { key, block: work.input, done: false });
                    asked.push(work.client);
                }
                None => work.client.answer(Status::Invalid, 0, &[]),
            }
        }
        // Making the form of a key is no part of handing an operation over.
        let (computing, computing_cpu) = (Instant::now(), cpu_time());
        let done = work::batch(kind, &mut jobs, self.checks(new));
        let (computed, computed_cpu) = (computing.elapsed(), cpu_time().saturating_sub(computing_cpu));
        // Now, when those that wait for an answer do not run.
        // A batch that is not nearly full is what a few programs give that all wait for it: other tasks' time is no gain of theirs.
        let runnable = if 4 * jobs.len() < 3 * work::width() { 1 } else { self.runnable() };
        // Before the answers: whoever has one finds it counted.
        let count = jobs.len() as u64;
        if let Some(&first) = queues.first() {
            self.state.queue(first, Queue::Batches).fetch_add(1, Relaxed);
        }
        for &queue in &queues {
            self.state.queue(queue, Queue::Pendingq).fetch_sub(1, Relaxed);
            self.state.queue(queue, Queue::Load).fetch_sub(weight(kind), Relaxed);
            let busy = u64::try_from(computed.as_nanos()).unwrap_or(u64::MAX) / queues.len().max(1) as u64;
            self.state.count(queue, counter(kind), 1, busy);
        }
        for (job, client) in jobs.iter().zip(&asked) {
            match job.done {
                true => client.answer(Status::Done, jobs.len(), &job.block),
                false => client.answer(Status::Invalid, 0, &[]),
            }
        }
        if done.wrong > 0 && self.faults.fetch_add(1, Relaxed) + 1 >= FAULTS {
            self.report(Report::Faulty);
        }
        if count > 0 {
            // To receive a request takes the worker about as long as to answer it, and the other side both.
            let outside = cpu_time().saturating_sub(computing_cpu).saturating_sub(computed_cpu);
            self.page.found(kind, crowd::now(), count, computed_cpu, 4 * outside / count, runnable);
            self.page.took(kind, computed.as_nanos() as u64, computed_cpu);
        }
        lock(&self.pending).done(kind, &users, begin.elapsed());
    }

    /// Whether the results of a batch are to be checked; where its keys have not been used yet, they are.
    fn checks(&self, new: bool) -> bool {
        self.batches.fetch_add(1, Relaxed).is_multiple_of(CHECKED) || new || self.faults.load(Relaxed) > 0
    }

    fn key(&self, kind: Kind, uid: u32, wanted: Wanted) -> Option<Key> {
        match wanted {
            Wanted::There(key) => Some(key),
            Wanted::Bytes(bytes, tag) => {
                // Another of the same batch may have brought it.
                if let Some(key) = lock(&self.keys).get(&tag) {
                    return Some(key);
                }
                let key = Key::new(kind, &bytes).ok()?;
                lock(&self.keys).put(tag, uid, key.clone());
                Some(key)
            }
        }
    }
}

/// Tells a program that has connected that there are too many. Its request is taken off the socket, but for its first byte unread: the end of
/// a socket where something waits is an error to the other side, which it sees before the answer.
pub fn refuse(socket: &OwnedFd) {
    let _ = rustix::net::recv(socket, &mut [0; 1][..], RecvFlags::DONTWAIT);
    answer(socket, Status::Connections, 0, &[]);
}

/// Sends an answer; false where the other side has gone, or has not taken earlier ones.
fn answer(socket: &OwnedFd, status: Status, jobs: usize, output: &[u8]) -> bool {
    let mut message = [0; MAX_REPLY];
    let length = wire::write_reply(&mut message, status, jobs, output);
    let sent = rustix::net::send(socket, &message[..length], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    // What is decrypted is secret.
    wipe(&mut message[..length]);
    sent.is_ok()
}

/// The accelerator's counter of an operation; operations of 3072 bits count with those of 4096.
fn counter(kind: Kind) -> usize {
    match kind {
        Kind::Rsa2048 => 3,
        Kind::Rsa3072 | Kind::Rsa4096 => 5,
    }
}

/// How much of a card an operation takes: the driver's figures for a Crypto Express8S accelerator (CRT 2k and 4k).
pub fn weight(kind: Kind) -> u64 {
    match kind {
        Kind::Rsa2048 => 54,
        Kind::Rsa3072 | Kind::Rsa4096 => 362,
    }
}
