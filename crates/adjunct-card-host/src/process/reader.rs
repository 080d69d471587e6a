//! What a card reads: programs that connect, what they ask, and what the daemon orders. One worker at a time does it.
#![forbid(unsafe_code)]

use super::bulk::{self, Accounts};
use super::client::{Asker, Client, Request, refuse};
use super::connections::{Admission, Connections, Held};
use super::parked::Parked;
use super::pending::Waiting;
use super::worker::{Card, DAEMON, Ordered, ROOM, lock};
use crate::link::Order;
use crate::peer::{self, Peer};
use crate::service::{Service, Taken};
use crate::watch;
use adjunct_card_protocol::bulk::covered;
use adjunct_card_protocol::crowd::cpu_time;
use adjunct_card_protocol::frame::Frame;
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::config::Limits;
use adjunct_card_state::state::Queue;
use adjunct_kernels::wipe;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::{Resource, getrlimit};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
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
/// Seconds without a request after which what a service keeps is wiped.
const IDLE: i64 = 60;

/// A program, and what the service knows of its connection.
pub(super) struct Served<S: Service> {
    client: Arc<Client>,
    session: S::Session,
    /// It is read no further until there is room in the queue of its user.
    waits: bool,
}

impl<S: Service> Held for Served<S> {
    fn is_busy(&self) -> bool {
        self.client.is_busy() || self.waits
    }
}

/// The state of the worker that reads: connections, and the socket for new ones.
pub(super) struct Reader<S: Service> {
    clients: Connections<Served<S>>,
    /// Connections that are read no further, by their users, in the order in which they asked.
    full: HashMap<u32, VecDeque<u64>>,
    parked: Parked,
    /// Room for a message of a program, and for one byte more.
    buffer: Zeroizing<Vec<u8>>,
    /// What long requests and replies are charged to.
    accounts: Option<Arc<Accounts>>,
    /// The socket where programs connect, and the queue that they are for, while this card accepts them itself.
    programs: Option<(OwnedFd, u16)>,
    /// Time until which no connection is accepted.
    deaf_until: Option<Instant>,
    /// The daemon has ended, or wants this process to: it ends when nothing is left to do.
    pub(super) leaves: bool,
}

impl<S: Service> Reader<S> {
    /// Makes a reader without connections, with these limits for each user.
    pub(super) fn new(limits: &Limits) -> Reader<S> {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(descriptors.saturating_sub(OWN).max(1)).unwrap_or(usize::MAX);
        let parked = Parked::new(most, S::FACTS.service);
        Reader {
            clients: Connections::new(limits.connections, most - parked.most()),
            full: HashMap::new(),
            parked,
            buffer: Zeroizing::new(vec![0; S::MAX_REQUEST + 1]),
            accounts: Accounts::new(S::MAX_BULK, limits),
            programs: None,
            deaf_until: None,
            leaves: false,
        }
    }
}

impl<S: Service> Card<S> {
    /// How long the next event is waited for. What a service keeps is wiped after a while without requests; after that nothing
    /// wakes this process.
    pub(super) fn limit(&self, reader: &Reader<S>) -> Option<Timespec> {
        match (reader.leaves, reader.deaf_until, !self.service.keeps()) {
            (true, ..) => Some(Timespec { tv_sec: 0, tv_nsec: 1_000_000 }),
            (false, Some(_), _) => Some(Timespec { tv_sec: 0, tv_nsec: AFTER_REFUSALS.subsec_nanos().into() }),
            (false, None, _) if !reader.parked.is_empty() || !reader.full.is_empty() => Some(TICK),
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
    pub(super) fn read(&self, reader: &mut Reader<S>, limit: Option<&Timespec>) -> usize {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        self.accept_again(reader);
        if !reader.parked.is_empty() {
            reader.parked.release(Instant::now());
        }
        if S::BACKPRESSURE && !reader.full.is_empty() {
            self.read_on(reader);
        }
        match watch::waits(|| epoll::wait(&self.events, spare_capacity(&mut events), limit)) {
            Ok(0) if limit.is_some_and(|limit| limit.tv_sec == IDLE) => self.service.forget(),
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
            if S::BACKPRESSURE && number == ROOM {
                // That there is room is seen when it is read next.
                let _ = rustix::io::read(&self.room, &mut [0; 8][..]);
                continue;
            }
            let goes = flags.intersects(EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP);
            if goes {
                self.forget(reader, number);
            } else {
                self.receive_of(reader, number);
            }
        }
        count
    }

    /// Takes the request of a connection, unless its user has too many that wait and is not refused for that.
    fn receive_of(&self, reader: &mut Reader<S>, number: u64) {
        let Some(served) = reader.clients.get_mut(number) else { return };
        let uid = served.client.peer.uid;
        if S::BACKPRESSURE && !served.waits && !lock(&self.pending).has_room(uid, Instant::now()) {
            served.waits = true;
            reader.full.entry(uid).or_default().push_back(number);
            self.is_full.store(true, SeqCst);
        }
        if !served.waits && !self.receive(&mut reader.buffer, served) {
            self.forget(reader, number);
        }
    }

    /// Reads those again whose users have room.
    fn read_on(&self, reader: &mut Reader<S>) {
        for uid in reader.full.keys().copied().collect::<Vec<_>>() {
            while lock(&self.pending).has_room(uid, Instant::now()) {
                let Some(number) = reader.full.get_mut(&uid).and_then(VecDeque::pop_front) else { break };
                // It may have gone.
                let Some(served) = reader.clients.get_mut(number) else { continue };
                served.waits = false;
                self.receive_of(reader, number);
            }
        }
        reader.full.retain(|_, numbers| !numbers.is_empty());
        self.is_full.store(!reader.full.is_empty(), SeqCst);
    }

    /// Takes a client's request; false where the client is to go.
    fn receive(&self, buffer: &mut [u8], served: &mut Served<S>) -> bool {
        let socket = &served.client.socket;
        let received = match S::MAX_BULK {
            0 => rustix::net::recv(socket, &mut *buffer, RecvFlags::DONTWAIT).map(|(length, _)| (length, None)),
            _ => bulk::receive(socket, buffer),
        };
        let (length, file) = match received {
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) | Ok((0, _)) => return false,
            Ok(received) => received,
        };
        let message = &mut buffer[..length];
        let goes_on = length <= S::MAX_REQUEST && self.take(message, file, served);
        wipe(message);
        goes_on
    }

    /// Takes the request in a message, or in the file that came with it; false where the client is to go.
    fn take(&self, message: &[u8], file: Option<OwnedFd>, served: &mut Served<S>) -> bool {
        let client = &served.client;
        // One request at a time: who sends the next before the answer is no program of ours.
        let frame = Frame::parse(message).filter(|frame| self.is_ours(frame, client) && client.begins());
        let Some(mut frame) = frame else { return false };
        client.take_back();
        let head = frame.head;
        let (long, charge);
        (long, charge) = match (file, client.accounts()) {
            (None, _) if S::MAX_BULK > 0 && covered(&frame).is_some() => return false,
            (None, _) => (None, None),
            (Some(_), None) => return false,
            (Some(file), Some(accounts)) => match accounts.uncover(&frame, file, client.peer.uid) {
                Ok((copy, charge)) => (Some(copy), Some(charge)),
                Err(None) => return false,
                Err(Some(status)) => {
                    Asker::new(Arc::clone(client), head, None).answer(status, &[]);
                    return true;
                }
            },
        };
        if let Some(long) = &long {
            let Some(whole) = Frame::parse(long) else { return false };
            frame = whole;
        }
        let taken = self.service.take(&mut served.session, &client.peer, &frame);
        drop(long);
        let asker = || Asker::new(Arc::clone(client), head, charge);
        let (kind, work) = match taken {
            Taken::Work(kind, work) => (kind, work),
            Taken::Answer(status) => {
                asker().answer(status, &[]);
                return true;
            }
            Taken::NoRequest => return false,
        };
        let queue = usize::from(client.queue);
        self.state.queue(queue, Queue::Requests).fetch_add(1, Relaxed);
        // Before a worker can take it out again.
        self.state.queue(queue, Queue::Requestq).fetch_add(1, Relaxed);
        let request = Request { asker: asker(), work };
        let pushed = lock(&self.pending).push(kind, client.peer.uid, client.queue, request, Instant::now());
        let Err(request) = pushed else { return true };
        self.state.queue(queue, Queue::Requestq).fetch_sub(1, Relaxed);
        request.asker.answer(Status::Busy, &[]);
        true
    }

    /// Whether a frame is a request to this service, in the domain that the connection is for.
    fn is_ours(&self, frame: &Frame<'_>, client: &Client) -> bool {
        let domain = || self.state.queue(client.queue.into(), Queue::Domain).load(Relaxed);
        let head = &frame.head;
        head.service == S::FACTS.service
            && head.status == 0
            && (!S::FACTS.mode.is_by_domain() || u64::from(head.domain) == domain())
    }

    fn take_orders(&self, reader: &mut Reader<S>) {
        for _ in 0..ORDERS {
            match self.daemon.next_order() {
                Ok(Some((Order::Serve { queue, peer }, Some(socket)))) => {
                    if let Err(socket) = self.serve(reader, socket, peer, queue) {
                        refuse(&socket, S::FACTS.service);
                    }
                }
                Ok(Some((Order::Listen { queue }, Some(socket)))) => {
                    self.listen_no_more(reader);
                    if epoll::add(&self.events, &socket, EventData::new_u64(PROGRAMS), EventFlags::IN).is_ok() {
                        reader.programs = Some((socket, queue));
                    }
                }
                Ok(Some((Order::Deaf, _))) => self.listen_no_more(reader),
                Ok(Some((Order::Administer { number, from, domain, order }, _))) => {
                    lock(&self.ordered).push_back(Ordered { number, from, domain, order });
                    self.is_ordered.store(true, Relaxed);
                }
                Ok(Some((Order::Serve { .. } | Order::Listen { .. } | Order::File, _))) | Err(Errno::INTR) => {}
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
    fn serve(&self, reader: &mut Reader<S>, socket: OwnedFd, mut peer: Peer, queue: u16) -> Result<(), OwnedFd> {
        match reader.clients.admits(peer.uid) {
            Admission::Taken => {}
            Admission::InPlaceOf(number) => self.forget(reader, number),
            Admission::Refused => return Err(socket),
        }
        if S::GROUPS {
            // Nobody is served whose groups are not known.
            let Ok(groups) = peer::groups(&socket) else { return Ok(()) };
            peer.groups = groups;
        }
        let uid = peer.uid;
        let client = Arc::new(Client::new(socket, peer, queue, reader.accounts.clone()));
        let mut served = Served { client: Arc::clone(&client), session: S::Session::default(), waits: false };
        // A service that reads on when there is room is told of the request by the system.
        if !S::BACKPRESSURE && !self.receive(&mut reader.buffer, &mut served) {
            return Ok(());
        }
        let number = reader.clients.insert(uid, served);
        let wanted = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        if epoll::add(&self.events, &client.socket, EventData::new_u64(number), wanted).is_err() {
            self.forget(reader, number);
        }
        Ok(())
    }

    /// Accepts programs that have connected, and takes their requests, which have come with them.
    fn accept(&self, reader: &mut Reader<S>) {
        let Some((socket, queue)) = &reader.programs else { return };
        let (mut accepted, queue, begin, mut deaf) = (Vec::new(), *queue, cpu_time(), None);
        while accepted.len() < ACCEPTED {
            match peer::accept(socket) {
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
        for (socket, peer) in accepted {
            let Err(socket) = self.serve(reader, socket, peer, queue) else { continue };
            refused += 1;
            if refused <= FEW_REFUSED {
                refuse(&socket, S::FACTS.service);
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
            self.service.connected(each);
        }
    }

    /// Listens again for programs that connect, after a time in which that was not possible.
    fn accept_again(&self, reader: &mut Reader<S>) {
        if reader.deaf_until.take_if(|until| Instant::now() >= *until).is_some()
            && let Some((socket, _)) = &reader.programs
        {
            let _ = epoll::add(&self.events, socket, EventData::new_u64(PROGRAMS), EventFlags::IN);
        }
    }

    /// The daemon accepts programs again.
    fn listen_no_more(&self, reader: &mut Reader<S>) {
        reader.deaf_until = None;
        if let Some((socket, _)) = reader.programs.take() {
            // The daemon has it too: it would stay among the events.
            let _ = epoll::delete(&self.events, &socket);
        }
    }

    /// Refuses what waits, and lets the connections go that have nothing under way: those others see their end when that is answered.
    fn flush(&self, reader: &mut Reader<S>, queue: Option<u16>) {
        if reader.programs.as_ref().is_some_and(|(_, ours)| queue.is_none_or(|queue| queue == *ours)) {
            self.listen_no_more(reader);
        }
        for Waiting { work, queue, .. } in lock(&self.pending).flush(queue) {
            self.state.queue(queue.into(), Queue::Requestq).fetch_sub(1, Relaxed);
            work.asker.answer(Status::Again, &[]);
        }
        for number in reader.clients.which(|served| queue.is_none_or(|queue| served.client.queue == queue)) {
            self.forget(reader, number);
        }
    }

    /// Closes a connection for this process's part, and what waits for it is not done; its socket goes with the request that is worked on.
    fn forget(&self, reader: &mut Reader<S>, number: u64) {
        let Some(Served { client, .. }) = reader.clients.remove(number) else { return };
        client.take_back();
        if !client.is_busy() {
            return;
        }
        let cancelled = lock(&self.pending).cancel(client.peer.uid, |work| work.asker.is(&client));
        if cancelled.is_some() {
            self.state.queue(client.queue.into(), Queue::Requestq).fetch_sub(1, Relaxed);
        }
    }
}
