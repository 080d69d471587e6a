//! What a card reads: programs that connect, what they ask, and what the daemon orders. One worker at a time does it.
#![forbid(unsafe_code)]

use super::connections::{Admission, Connections, Held};
use super::keys::Tag;
use super::parked::Parked;
use super::pending::Waiting;
use super::worker::{Card, Client, DAEMON, Wanted, Work, lock, refuse};
use crate::link::{self, Order};
use crate::state::Queue;
use crate::watch;
use adjunct_card_protocol::crowd::{self, Side, cpu_time};
use adjunct_card_protocol::wire::{self, Asked, MAX_REQUEST, Status};
use adjunct_kernels::wipe;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Resource, getrlimit};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// The number among the events of the socket where programs connect.
const PROGRAMS: u64 = DAEMON - 1;
/// Events that are taken at a time.
const EVENTS: usize = 64;
/// Connections that are accepted before what they bring is looked at.
const ACCEPTED: usize = 64;
/// The most orders that are taken at a time.
const ORDERS: usize = 64;
/// How long a worker reads between two batches.
const READING: Duration = Duration::from_millis(2);
/// Time in which no connection is accepted after the system had no descriptor, or after most new connections had to be refused at once: a program
/// that connects again and again takes only a limited part of a worker's time.
const DEAF: Duration = Duration::from_millis(10);
const AFTER_REFUSALS: Duration = Duration::from_millis(5);
/// The most refusals of one pass that are told at once, as nothing out of the ordinary.
const FEW_REFUSED: u64 = 4;
/// Interval in which refusals that are yet to be told are looked for.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Descriptors that are not for connections of programs.
const OWN: u64 = 32 + ACCEPTED as u64;
/// Seconds without a request after which keys are wiped.
const IDLE: i64 = 60;

/// A program and the keys that its connection has brought: their tags, by place.
#[derive(Debug)]
pub struct Served {
    client: Arc<Client>,
    keys: [Option<Tag>; wire::PLACES],
}

impl Held for Served {
    fn is_busy(&self) -> bool {
        self.client.is_busy()
    }
}

/// The state of the worker that reads: connections, and the socket for new ones.
#[derive(Debug)]
pub struct Reader {
    clients: Connections<Served>,
    parked: Parked,
    buffer: Zeroizing<Vec<u8>>,
    /// The socket where programs connect, and the queue that they are for, while this card accepts them itself.
    programs: Option<(OwnedFd, u16)>,
    /// Time until which no connection is accepted.
    deaf_until: Option<Instant>,
    /// The daemon has ended, or wants this process to: it ends when nothing is left to do.
    pub leaves: bool,
}

impl Reader {
    /// Makes a reader without connections, with at most so many for each user.
    pub fn new(each: usize) -> Reader {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(descriptors.saturating_sub(OWN).max(1)).unwrap_or(usize::MAX);
        let parked = Parked::new(most);
        Reader {
            clients: Connections::new(each, most - parked.most()),
            parked,
            buffer: Zeroizing::new(Vec::with_capacity(MAX_REQUEST + 1)),
            programs: None,
            deaf_until: None,
            leaves: false,
        }
    }
}

impl Card {
    /// How long the next event is waited for. Keys are wiped after a while without requests; after that nothing wakes this process.
    pub(super) fn limit(&self, reader: &Reader) -> Option<Timespec> {
        match (reader.leaves, reader.deaf_until, lock(&self.keys).is_empty()) {
            (true, ..) => Some(Timespec { tv_sec: 0, tv_nsec: 1_000_000 }),
            (false, Some(_), _) => Some(Timespec { tv_sec: 0, tv_nsec: AFTER_REFUSALS.subsec_nanos().into() }),
            (false, None, _) if !reader.parked.is_empty() => Some(TICK),
            (false, None, false) => Some(Timespec { tv_sec: IDLE, tv_nsec: 0 }),
            (false, None, true) => None,
        }
    }

    /// Takes what has come, for a limited time, without waiting for more; unless another does.
    pub(super) fn catch_up(&self) {
        let Ok(mut reader) = self.reader.try_lock() else { return };
        let begin = Instant::now();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while !reader.leaves && self.read(&mut reader, Some(&now)) == EVENTS && begin.elapsed() < READING {}
    }

    /// Waits for events, and takes what has come; how many there were.
    pub(super) fn read(&self, reader: &mut Reader, limit: Option<&Timespec>) -> usize {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        self.accept_again(reader);
        if !reader.parked.is_empty() {
            reader.parked.release(Instant::now());
        }
        match watch::waits(|| epoll::wait(&self.events, spare_capacity(&mut events), limit)) {
            Ok(0) if limit.is_some_and(|limit| limit.tv_sec == IDLE) => lock(&self.keys).clear(),
            _ => {}
        }
        let count = events.len();
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
            let Some(served) = reader.clients.get_mut(number) else { continue };
            let goes = flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP);
            if goes || !self.receive(&mut reader.buffer, served) {
                self.forget(reader, number);
            }
        }
        count
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
        // One request at a time: who sends the next before the answer is no program of ours.
        let asked = wire::request(buffer).filter(|_| client.begins());
        let Some(Asked { kind, place, key, input }) = asked else {
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
                client.answer(Status::NoKey, 0, &[]);
                return true;
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
        client.answer(Status::Busy, 0, &[]);
        true
    }

    fn take_orders(&self, reader: &mut Reader) {
        for _ in 0..ORDERS {
            match link::next_order(&self.daemon) {
                Ok(Some((Order::Serve { queue, uid }, Some(socket)))) => {
                    if let Err(socket) = self.serve(reader, socket, uid, queue) {
                        refuse(&socket);
                    }
                }
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

    /// Takes a program's connection in, with the request that it has already sent, for which no event comes; gives the connection back where its user
    /// has too many.
    fn serve(&self, reader: &mut Reader, socket: OwnedFd, uid: u32, queue: u16) -> Result<(), OwnedFd> {
        match reader.clients.admits(uid) {
            Admission::Taken => {}
            Admission::InPlaceOf(number) => self.forget(reader, number),
            Admission::Refused => return Err(socket),
        }
        let mut served = Served { client: Arc::new(Client::new(socket, uid, queue)), keys: Default::default() };
        if !self.receive(&mut reader.buffer, &mut served) {
            return Ok(());
        }
        let client = Arc::clone(&served.client);
        let number = reader.clients.insert(uid, served);
        let wanted = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        if epoll::add(&self.events, &client.socket, EventData::new_u64(number), wanted).is_err() {
            self.forget(reader, number);
        }
        Ok(())
    }

    /// Accepts programs that have connected, and takes their requests, which have come with them.
    fn accept(&self, reader: &mut Reader) {
        let Some((socket, queue)) = &reader.programs else { return };
        let (mut accepted, queue, begin, mut deaf) = (Vec::new(), *queue, cpu_time(), None);
        while accepted.len() < ACCEPTED {
            match link::accept(socket) {
                Ok(Some(program)) => accepted.push(program),
                Ok(None) => break,
                Err(_) => {
                    // Out of descriptors or memory: not again at once. Those that are connected are served all the same.
                    deaf = Some(DEAF);
                    break;
                }
            }
        }
        let (count, mut refused, mut told) = (accepted.len() as u64, 0, 0);
        let now = Instant::now();
        for (socket, uid) in accepted {
            let Err(socket) = self.serve(reader, socket, uid, queue) else { continue };
            refused += 1;
            if refused <= FEW_REFUSED {
                refuse(&socket);
            } else {
                told += u64::from(!reader.parked.park(socket, now));
            }
        }
        if 2 * told > count && told > FEW_REFUSED {
            deaf = deaf.or(Some(AFTER_REFUSALS));
        }
        if let (Some(time), Some((socket, _))) = (deaf, &reader.programs) {
            let _ = epoll::delete(&self.events, socket);
            reader.deaf_until = Some(Instant::now() + time);
        }
        // Its end takes about as long as its making.
        if let Some(each) = (2 * cpu_time().saturating_sub(begin)).checked_div(count) {
            self.page.connected(Side::Card, each);
        }
    }

    /// Listens again for programs that connect, after a time in which that was not possible.
    fn accept_again(&self, reader: &mut Reader) {
        if reader.deaf_until.take_if(|until| Instant::now() >= *until).is_some()
            && let Some((socket, _)) = &reader.programs
        {
            let _ = epoll::add(&self.events, socket, EventData::new_u64(PROGRAMS), EventFlags::IN);
        }
    }

    /// The daemon accepts programs again.
    fn listen_no_more(&self, reader: &mut Reader) {
        reader.deaf_until = None;
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
            work.client.answer(Status::Again, 0, &[]);
        }
        for number in reader.clients.which(|served| queue.is_none_or(|queue| served.client.queue == queue)) {
            self.forget(reader, number);
        }
    }

    /// Closes a connection for this process's part, and what waits for it is not done; its socket goes with the request that is worked on.
    fn forget(&self, reader: &mut Reader, number: u64) {
        let Some(Served { client, .. }) = reader.clients.remove(number) else { return };
        if !client.is_busy() {
            return;
        }
        let cancelled = lock(&self.pending).cancel(client.uid, |work| Arc::ptr_eq(&work.client, &client));
        if cancelled.is_some() {
            self.state.queue(client.queue.into(), Queue::Requestq).fetch_sub(1, Relaxed);
        }
    }
}

/// Wipes the bytes that were received; nothing else was written there.
fn wipe_all(buffer: &mut Vec<u8>) {
    wipe(buffer);
    buffer.clear();
}
