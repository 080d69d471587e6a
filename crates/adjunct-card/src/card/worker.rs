//! The workers of a card: threads of which one waits for requests (it *reads*) and the others work.
//!
//! Whoever has nothing to do first looks whether there is a batch to do, and else reads in its turn. So nobody has to be woken for a batch
//! that is due: what is due is seen by the reader, who brought the request, or by a worker that is done.

use super::Setup;
use super::keys::{Keys, Secret, Tag};
use super::load::Load;
use super::pending::{Choice, Pending, Waiting};
use crate::link::{self, Order, Report};
use crate::state::{Queue, Shared};
use adjunct::card::crowd::{self, Page, Side, cpu_time};
use adjunct::card::wire::{self, Asked, Kind, MAX_REPLY, MAX_REQUEST, Status};
use adjunct::card::work::{self, Job, Key};
use adjunct::catalogue::LANES;
use adjunct_kernels::wipe;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use zeroize::Zeroizing;

/// The numbers among the events of the daemon's link, and of the socket where programs connect.
const DAEMON: u64 = u64::MAX;
const PROGRAMS: u64 = DAEMON - 1;
/// Connections that are accepted before what they bring is looked at.
const ACCEPTED: usize = 64;
/// Seconds without a request after which keys are wiped.
const IDLE: i64 = 60;
/// Nanoseconds within which the next request comes, where programs that were answered ask again: a wake of another CPU and their own work.
const GATHERING: i64 = 50_000;
/// Nanoseconds after which it is looked again whether other tasks still keep all CPUs busy, and for which requests wait for others at most.
const LOOKING: i64 = 300_000;
const GATHERED: u64 = 4_000_000;
/// How long requests wait for others at first, and when none came for so long.
const FIRST_GATHERED: u64 = 1_000_000;
/// Programs that asked within so many milliseconds may ask again.
const LATELY: u64 = 50;
/// Results that came wrong out of the lanes, after which the card is not to be used any more.
const FAULTS: u32 = 3;
/// Of so many batches the results of one are checked here, until one was wrong: programs check each.
const CHECKED: u32 = 16;

/// A program's connection.
#[derive(Debug)]
struct Client {
    socket: OwnedFd,
    uid: u32,
    queue: u16,
    /// The time, in units of [`LATELY`], in which it last asked.
    asked: AtomicU64,
}

/// A program and the keys that its connection has brought: their tags, by place.
#[derive(Debug)]
struct Served {
    client: Arc<Client>,
    keys: [Option<Tag>; wire::PLACES],
}

/// What is to be done for a request.
#[derive(Debug)]
pub struct Work {
    client: Arc<Client>,
    key: Wanted,
    input: Zeroizing<Vec<u8>>,
}

#[derive(Debug)]
enum Wanted {
    There(Key),
    Bytes(Zeroizing<Vec<u8>>, Tag),
}

/// What the workers of a card share.
#[derive(Debug)]
pub struct Card {
    state: Shared,
    page: &'static Page,
    daemon: OwnedFd,
    events: OwnedFd,
    secret: Secret,
    keys: Mutex<Keys>,
    pending: Mutex<Pending<Work>>,
    /// Whoever reads holds it.
    reader: Mutex<Reader>,
    faults: AtomicU32,
    batches: AtomicU32,
    load: Load,
    /// How long requests wait for others while the CPUs have other things to do, in nanoseconds: longer where that filled a batch.
    patience: AtomicU64,
    /// Programs that asked in this time and the one before, in units of [`LATELY`]: its number, above 16 bits for each.
    lately: AtomicU64,
}

/// What the reader alone has.
#[derive(Debug)]
struct Reader {
    clients: HashMap<u64, Served>,
    next: u64,
    buffer: Zeroizing<Vec<u8>>,
    /// The socket where programs connect, and the queue that they are for, while this card accepts them itself.
    programs: Option<(OwnedFd, u16)>,
    /// The daemon has ended, or wants this process to: it ends when nothing is left to do.
    leaves: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Card {
    /// A card that nobody serves yet.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(setup: Setup) -> Result<Card, Errno> {
        let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&events, &setup.daemon, EventData::new_u64(DAEMON), EventFlags::IN)?;
        let reader = Reader {
            clients: HashMap::new(),
            next: 0,
            buffer: Zeroizing::new(Vec::with_capacity(MAX_REQUEST + 1)),
            programs: None,
            leaves: false,
        };
        Ok(Card {
            state: setup.state,
            page: setup.page,
            daemon: setup.daemon,
            events,
            secret: Secret::new(),
            keys: Mutex::new(Keys::new()),
            pending: Mutex::new(Pending::new(setup.workers, setup.limits)),
            reader: Mutex::new(reader),
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

    /// What a worker does, until the card ends.
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
                self.learn(matches!(&chosen, Choice::Batch(_, batch) if batch.len() == LANES));
            }
            if let Choice::Batch(kind, batch) = chosen {
                self.run(kind, batch);
                continue;
            }
            let mut reader = lock(&self.reader);
            if reader.leaves && lock(&self.pending).is_idle() {
                // SAFETY: nothing has to be flushed. Other threads may be inside of the library's locks, which exit would wait for.
                unsafe { libc::_exit(0) };
            }
            let limit = self.limit(&reader);
            self.read(&mut reader, limit.as_ref());
        }
    }

    /// Whether it is to be waited for more requests of a kind, after having done so for a moment.
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
    fn asks(&self, client: &Client, now: u64) {
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

    /// The machine's tasks that can run, this thread included.
    fn runnable(&self) -> u64 {
        self.load.runnable().unwrap_or(1)
    }

    /// How long the next event is waited for. Keys are wiped after a while without requests; after that nothing wakes this process.
    fn limit(&self, reader: &Reader) -> Option<Timespec> {
        match (reader.leaves, lock(&self.keys).is_empty()) {
            (true, _) => Some(Timespec { tv_sec: 0, tv_nsec: 1_000_000 }),
            (false, false) => Some(Timespec { tv_sec: IDLE, tv_nsec: 0 }),
            (false, true) => None,
        }
    }

    /// Waits for events, and takes what has come.
    fn read(&self, reader: &mut Reader, limit: Option<&Timespec>) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
        match epoll::wait(&self.events, spare_capacity(&mut events), limit) {
            Ok(0) if limit.is_some_and(|limit| limit.tv_sec == IDLE) => lock(&self.keys).clear(),
            _ => {}
        }
        for event in events {
            let (number, flags) = (event.data.u64(), event.flags);
            if number == DAEMON {
                self.take_orders(reader);
                continue;
            }
            if number == PROGRAMS {
                self.accept(reader);
                continue;
            }
            let Some(served) = reader.clients.get_mut(&number) else { continue };
            let goes = flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP);
            if goes || !self.receive(&mut reader.buffer, served) {
                forget(reader, number);
            }
        }
    }

    /// Takes a client's request; false where the client is to go.
    fn receive(&self, buffer: &mut Vec<u8>, served: &mut Served) -> bool {
        let client = &served.client;
        buffer.clear();
        let received = rustix::net::recv(&client.socket, spare_capacity(buffer), RecvFlags::DONTWAIT);
        match received {
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) | Ok((0, _)) => return false,
            Ok(_) => {}
        }
        let Some(Asked { kind, place, key, input }) = wire::request(buffer) else {
            wipe_all(buffer);
            return false;
        };
        self.asks(client, crowd::now());
        if let Some(key) = key {
            served.keys[place] = Some(self.secret.tag(client.uid, kind, key));
        }
        // A tag is of one kind.
        let found = served.keys[place].map(|tag| (tag, lock(&self.keys).get(&tag)));
        let key = match (found, key) {
            (Some((_, Some(there))), _) if there.kind() == kind => Wanted::There(there),
            (Some((tag, _)), Some(key)) => Wanted::Bytes(Zeroizing::new(key.to_vec()), tag),
            _ => {
                wipe_all(buffer);
                return answer(client, Status::NoKey, 0, &[]);
            }
        };
        let work = Work { client: Arc::clone(client), key, input: Zeroizing::new(input.to_vec()) };
        wipe_all(buffer);
        let queue = usize::from(client.queue);
        self.state.queue(queue, Queue::Requests).fetch_add(1, Relaxed);
        // Before a worker can take it out again.
        self.state.queue(queue, Queue::Requestq).fetch_add(1, Relaxed);
        let pushed = lock(&self.pending).push(kind, client.uid, client.queue, work, Instant::now());
        if pushed.is_ok() {
            return true;
        }
        self.state.queue(queue, Queue::Requestq).fetch_sub(1, Relaxed);
        answer(client, Status::Busy, 0, &[])
    }

    fn take_orders(&self, reader: &mut Reader) {
        loop {
            match link::next_order(&self.daemon) {
                Ok(Some((Order::Serve { queue, uid }, Some(socket)))) => self.serve(reader, socket, uid, queue),
                Ok(Some((Order::Listen { queue }, Some(socket)))) => {
                    self.listen_no_more(reader);
                    if epoll::add(&self.events, &socket, EventData::new_u64(PROGRAMS), EventFlags::IN).is_ok() {
                        reader.programs = Some((socket, queue));
                    }
                }
                Ok(Some((Order::Deaf, _))) => self.listen_no_more(reader),
                Ok(Some((Order::Serve { .. } | Order::Listen { .. }, None))) | Err(Errno::INTR) => {}
                Ok(Some((Order::Flush { queue }, _))) => self.flush(reader, Some(queue)),
                Err(Errno::AGAIN) => return,
                // The daemon is gone.
                Ok(Some((Order::Leave, _)) | None) | Err(_) => {
                    self.flush(reader, None);
                    let _ = epoll::delete(&self.events, &self.daemon);
                    reader.leaves = true;
                    return;
                }
            }
        }
    }

    /// Takes a program in, and what it has asked already, of which then no event tells.
    fn serve(&self, reader: &mut Reader, socket: OwnedFd, uid: u32, queue: u16) {
        let client = Arc::new(Client { socket, uid, queue, asked: AtomicU64::new(u64::MAX) });
        let (number, mut served) = (reader.next, Served { client, keys: Default::default() });
        let wanted = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        if self.receive(&mut reader.buffer, &mut served)
            && epoll::add(&self.events, &served.client.socket, EventData::new_u64(number), wanted).is_ok()
        {
            reader.clients.insert(number, served);
            reader.next += 1;
        }
    }

    /// Accepts programs that have connected, and takes what they ask: it has come with them.
    fn accept(&self, reader: &mut Reader) {
        let Some((socket, queue)) = &reader.programs else { return };
        let (mut accepted, queue, begin) = (Vec::new(), *queue, cpu_time());
        while accepted.len() < ACCEPTED {
            match link::accept(socket) {
                Ok(Some(program)) => accepted.push(program),
                Ok(None) => break,
                Err(_) => {
                    // Out of descriptors or memory: not again at once.
                    let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
                    break;
                }
            }
        }
        let count = accepted.len() as u64;
        for (socket, uid) in accepted {
            self.serve(reader, socket, uid, queue);
        }
        // Its end takes about as long as its making.
        if let Some(each) = (2 * cpu_time().saturating_sub(begin)).checked_div(count) {
            self.page.connected(Side::Card, each);
        }
    }

    /// The daemon accepts programs again.
    fn listen_no_more(&self, reader: &mut Reader) {
        if let Some((socket, _)) = reader.programs.take() {
            // The daemon has it too: it would stay among the events.
            let _ = epoll::delete(&self.events, &socket);
        }
    }

    /// Refuses what waits, and lets the connections go that have nothing under way: those others see their end when that is answered.
    fn flush(&self, reader: &mut Reader, queue: Option<u16>) {
        if reader.programs.as_ref().is_some_and(|(_, ours)| queue.is_none_or(|queue| queue == *ours)) {
            self.listen_no_more(reader);
        }
        for Waiting { work, queue, .. } in lock(&self.pending).flush(queue) {
            self.state.queue(queue.into(), Queue::Requestq).fetch_sub(1, Relaxed);
            answer(&work.client, Status::Again, 0, &[]);
        }
        let numbers: Vec<_> = reader
            .clients
            .iter()
            .filter(|(_, served)| queue.is_none_or(|queue| served.client.queue == queue))
            .map(|(number, _)| *number)
            .collect();
        numbers.into_iter().for_each(|number| forget(reader, number));
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
            match self.key(kind, work.key) {
                Some(key) => {
                    jobs.push(Job { key, block: work.input, done: false });
                    asked.push(work.client);
                }
                None => _ = answer(&work.client, Status::Invalid, 0, &[]),
            }
        }
        // Making the form of a key is no part of handing an operation over.
        let (computing, computing_cpu) = (Instant::now(), cpu_time());
        let done = work::batch(kind, &mut jobs, self.checks(new));
        let (computed, computed_cpu) = (computing.elapsed(), cpu_time().saturating_sub(computing_cpu));
        // Now, when those that wait for an answer do not run.
        // A batch that is not nearly full is what a few programs give that all wait for it: other tasks' time is no gain of theirs.
        let runnable = if 4 * jobs.len() < 3 * LANES { 1 } else { self.runnable() };
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
            let _ = match job.done {
                true => answer(client, Status::Done, jobs.len(), &job.block),
                false => answer(client, Status::Invalid, 0, &[]),
            };
        }
        if done.wrong > 0 && self.faults.fetch_add(1, Relaxed) + 1 >= FAULTS {
            self.report(Report::Faulty);
        }
        if count > 0 {
            // To receive a request takes the worker about as long as to answer it, and the other side both.
            let outside = cpu_time().saturating_sub(computing_cpu).saturating_sub(computed_cpu);
            self.page.found(kind, crowd::now(), count, computed_cpu, 4 * outside / count, runnable);
        }
        lock(&self.pending).done(&users, begin.elapsed());
    }

    /// Whether the results of a batch are to be checked; where its keys have not been used yet, they are.
    fn checks(&self, new: bool) -> bool {
        self.batches.fetch_add(1, Relaxed).is_multiple_of(CHECKED) || new || self.faults.load(Relaxed) > 0
    }

    fn key(&self, kind: Kind, wanted: Wanted) -> Option<Key> {
        match wanted {
            Wanted::There(key) => Some(key),
            Wanted::Bytes(bytes, tag) => {
                // Another of the same batch may have brought it.
                if let Some(key) = lock(&self.keys).get(&tag) {
                    return Some(key);
                }
                let key = Key::new(kind, &bytes).ok()?;
                lock(&self.keys).put(tag, key.clone());
                Some(key)
            }
        }
    }
}

/// Closes a connection for this process's part; its socket goes with the last request that is under way.
fn forget(reader: &mut Reader, number: u64) {
    reader.clients.remove(&number);
}

/// Wipes what was received, and no more: nothing else was written there.
fn wipe_all(buffer: &mut Vec<u8>) {
    wipe(buffer);
    buffer.clear();
}

/// Answers; false where the client has gone.
fn answer(client: &Client, status: Status, jobs: usize, output: &[u8]) -> bool {
    let mut message = [0; MAX_REPLY];
    let length = wire::write_reply(&mut message, status, jobs, output);
    let sent = rustix::net::send(&client.socket, &message[..length], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    // What is decrypted is secret.
    wipe(&mut message[..length]);
    sent.is_ok()
}

/// Which of the counters of an accelerator an operation belongs to; of 3072 bits to that of the next larger ones.
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
