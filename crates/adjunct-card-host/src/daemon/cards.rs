//! The cards of a daemon: their settings and processes, and the choice of the card that takes a program's connection.

use super::files;
use super::process::{Deaths, Process};
use crate::link::{Order, Report};
use crate::peer::Peer;
use crate::process::Setup;
use crate::service::{Entry, Facts};
use adjunct_card_protocol::crowd::Page;
use adjunct_card_state::config::{CardConfig, Config, cpus};
use adjunct_card_state::control::{Device, Reply};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Bus, Card, Machine, Mask, Mode, Queue, Work};
use adjunct_card_state::state::{self, Shared};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Milliseconds to wait for a card that does not take its orders.
const LINK: i64 = 20;
/// Time that the daemon waits for a card that should end.
const LEAVES_IN: Duration = Duration::from_secs(5);
/// The mode of the cards that all programs share by one socket.
const COMMON: Mode = Mode::Accelerator;

/// The outcome of handing a program's connection to a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handed {
    /// A card has the connection.
    Over,
    /// No queue takes programs.
    NoQueue,
    /// More come than cards take.
    TooMany,
}

/// What came of a card's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Nothing for others.
    Nothing,
    /// The answer to an administrator's order with this number.
    Answer(u64, Reply),
    /// The card's process has ended: no answer comes any more from the card in this place.
    Ended(usize),
}

/// A card: its configuration and service, its process while it runs, and the place of its first queue in the state.
#[derive(Debug)]
struct Place {
    config: CardConfig,
    facts: &'static Facts,
    bulk: bool,
    process: Option<Process>,
    deaths: Deaths,
    first_queue: usize,
}

/// All cards.
#[derive(Debug)]
pub struct Cards {
    folder: Folder,
    /// The folder of the files that cards keep.
    files: PathBuf,
    config: Config,
    /// The state of the cards as tools see it.
    pub machine: Machine,
    places: Vec<Place>,
    state: Shared,
    file: File,
    /// Keeps the lock by which others know that this daemon lives.
    _lock: File,
    page: &'static Page,
    /// The card that accepts programs by itself, by its place and its process, and the queue that they are for.
    listens: Option<(usize, u32, u16)>,
}

fn queue(domain: u8, facts: &Facts) -> Queue {
    let counters = vec![Work::default(); facts.counters.len()];
    Queue { domain, online: true, requests: 0, requestq: 0, pendingq: 0, load: 0, counters }
}

/// The reply to the tool that an administrator used.
fn answer_of(answer: Result<Vec<u8>, String>) -> Reply {
    let parsed = answer.and_then(|answer| serde_json::from_slice(&answer).map_err(|error| error.to_string()));
    parsed.map_or_else(|why| refused(Errno::INVAL, why), Reply::Administered)
}

fn refused(error: Errno, why: impl Into<String>) -> Reply {
    Reply::Refused(error.raw_os_error(), why.into())
}

impl Cards {
    /// Makes the cards of a configuration, with the counts of an earlier daemon where its state is there. Starts none.
    ///
    /// # Errors
    /// What the system says; that a card's mode has no service.
    pub fn new(
        folder: Folder,
        files: PathBuf,
        config: Config,
        services: &'static [Entry],
        page: &'static Page,
    ) -> io::Result<Cards> {
        let mut places = Vec::new();
        let mut first_queue = 0;
        for card in &config.cards {
            let entry = services.iter().find(|entry| entry.facts.mode == card.mode);
            let entry = entry.ok_or_else(|| io::Error::other(format!("card {}: no service", card.id)))?;
            let (config, deaths) = (card.clone(), Deaths::default());
            places.push(Place { config, facts: &entry.facts, bulk: entry.bulk, process: None, deaths, first_queue });
            first_queue += card.domains.len();
        }
        let card = |Place { config: config_of, facts, .. }: &Place| Card {
            id: config_of.id,
            mode: config_of.mode,
            kind: format!("{}{}", config.kind, config_of.mode.letter()),
            hwtype: facts.hwtype,
            depth: facts.depth,
            functions: facts.functions,
            online: true,
            config: true,
            chkstop: false,
            requests: 0,
            max_message: facts.max_message,
            serial: String::new(),
            counters: facts.counters.iter().map(|&name| name.into()).collect(),
            confined: None,
            remark: String::new(),
            queues: config_of.domains.iter().map(|&domain| queue(domain, facts)).collect(),
        };
        let domains: Mask = config.cards.iter().flat_map(|card| card.domains.iter().copied()).collect();
        let bus = Bus {
            default_domain: domains.numbers().next(),
            usage_domains: domains,
            control_domains: domains,
            apmask: Mask::ALL,
            aqmask: Mask::ALL,
            config_time: 30,
            poll_thread: false,
            poll_timeout: 250_000,
            scans: 1,
            features: ["APSC", "APXA", "QACT", "RC8A"].map(String::from).to_vec(),
        };
        let machine = Machine { bus, cards: places.iter().map(card).collect(), remark: String::new() };
        let before = state::last(&folder.state());
        // With the counts of before, which else would be gone for a moment, and for good if this process were killed then.
        let fill = |state: &Shared| {
            state.publish(&machine);
            for (card, place) in machine.cards.iter().zip(&places) {
                let same = |old: &&Card| (old.id, &old.kind, &old.counters) == (card.id, &card.kind, &card.counters);
                let Some(old) = before.iter().flat_map(|machine| &machine.cards).find(same) else { continue };
                for (at, domain) in place.config.domains.iter().enumerate() {
                    if let Some(old) = old.queues.iter().find(|queue| queue.domain == *domain) {
                        state.restore(place.first_queue + at, old);
                    }
                }
            }
        };
        let (state, file, lock) = Shared::create(&folder.state(), fill)?;
        Ok(Cards { folder, files, config, machine, places, state, file, _lock: lock, page, listens: None })
    }

    /// Starts all cards that are configured.
    pub fn start(&mut self) {
        if self.places.is_empty() {
            self.machine.remark = "cards.conf has no card.".into();
        }
        (0..self.places.len()).for_each(|place| self.start_one(place));
        self.publish();
    }

    fn start_one(&mut self, place: usize) {
        let card = &mut self.places[place];
        let config = &card.config;
        let setup = Setup {
            mode: config.mode,
            folder: self.folder.path().to_owned(),
            card: config.id,
            domains: config.domains.clone(),
            workers: config.workers,
            limits: self.config.limits(),
            without_lanes: self.config.without_lanes,
            coprocessor: config.coprocessor.clone(),
        };
        let started = files::opened(&self.files, config.mode, config.id, card.facts.files)
            .and_then(|files| Process::start(&setup, card.facts.service, &self.file, &files));
        self.machine.cards[place].remark.clear();
        match started {
            Ok(process) => {
                self.state.card(place, state::Card::Pid).store(process.id().into(), Relaxed);
                card.process = Some(process);
            }
            Err(error) => {
                let why = format!("card {:02x} does not start: {error}", config.id);
                eprintln!("adjunctd: {why}");
                self.machine.cards[place].chkstop = true;
                self.machine.cards[place].remark = why;
            }
        }
    }

    /// Publishes the state of the cards, and how many of those serve that all programs share.
    fn publish(&mut self) {
        // Where no card can serve, their reason is the machine's.
        let cards = &self.machine.cards;
        if let Some(first) = cards.first() {
            self.machine.remark = match cards.iter().all(|card| !card.config && !card.remark.is_empty()) {
                true if cards.iter().all(|card| card.remark == first.remark) => first.remark.clone(),
                true => "No card can serve here, each for a reason of its own.".into(),
                false => String::new(),
            };
        }
        self.state.publish(&self.machine);
        let common = self.serving().filter(|&place| self.machine.cards[place].mode == COMMON);
        self.page.set_cards(common.count(), cpus());
    }

    /// Places of the cards that take programs.
    fn serving(&self) -> impl Iterator<Item = usize> {
        let serves = |place: &usize| {
            let (card, process) = (&self.machine.cards[*place], &self.places[*place].process);
            card.is_online()
                && card.queues.iter().any(|queue| queue.online)
                && process.as_ref().is_some_and(|p| p.ready)
        };
        (0..self.places.len()).filter(serves)
    }

    /// Whether no card is still at its tests.
    pub fn are_settled(&self) -> bool {
        self.links().all(|(_, process)| process.ready)
    }

    /// Links that have to be waited for, with the places of their cards.
    pub fn links(&self) -> impl Iterator<Item = (usize, &Process)> {
        self.places.iter().enumerate().filter_map(|(place, card)| Some((place, card.process.as_ref()?)))
    }

    /// A card has said something, or has ended.
    pub fn heard(&mut self, place: usize) -> Heard {
        let Some(process) = self.places.get_mut(place).and_then(|place| place.process.as_mut()) else {
            return Heard::Nothing;
        };
        let id = self.machine.cards[place].id;
        let mut heard = Heard::Ended(place);
        match process.link().next_report() {
            Err(Errno::AGAIN | Errno::INTR) => return Heard::Nothing,
            Ok(Some(Report::Administered { number, answer })) => return Heard::Answer(number, answer_of(answer)),
            Ok(Some(Report::Ready { confined })) => {
                process.ready = true;
                self.machine.cards[place].confined = Some(confined);
                heard = Heard::Nothing;
            }
            Ok(Some(Report::Faulty(why))) => {
                eprintln!("adjunctd: card {id:02x} gave wrong results and is stopped: {why}");
                self.machine.cards[place].chkstop = true;
                self.machine.cards[place].remark = why;
                self.end(place);
            }
            // Alone: what it lacks, another service may not need. It is asked again when it is configured on.
            Ok(Some(Report::Unfit(why))) => {
                self.machine.cards[place].config = false;
                self.machine.cards[place].remark = why;
                self.end(place);
            }
            Ok(None) | Err(_) => {
                let how = self.end(place);
                if self.places[place].deaths.one_more() {
                    eprintln!("adjunctd: card {id:02x} ended ({how}) and is started again");
                    self.start_one(place);
                } else {
                    eprintln!("adjunctd: card {id:02x} ended again and again ({how}) and is stopped");
                    self.machine.cards[place].chkstop = true;
                    self.machine.cards[place].remark = format!("Its process ended again and again ({how}).");
                }
            }
        }
        self.publish();
        heard
    }

    /// Ends a card's process at once, and what it was working on with it; how it ended.
    fn end(&mut self, place: usize) -> String {
        self.machine.cards[place].confined = None;
        let how = self.places[place].process.take().map(Process::end);
        self.nothing_under_way(place);
        how.unwrap_or_default()
    }

    fn nothing_under_way(&self, place: usize) {
        self.state.card(place, state::Card::Pid).store(0, Relaxed);
        let first = self.places[place].first_queue;
        for queue in first..first + self.places[place].config.domains.len() {
            for field in [state::Queue::Requestq, state::Queue::Pendingq, state::Queue::Load] {
                self.state.queue(queue, field).store(0, Relaxed);
            }
        }
    }

    /// Has a card accept programs by itself if there is only one queue that can take them: then there is nothing to choose, and a connection costs
    /// half as much.
    pub fn have_one_listen(&mut self, socket: &OwnedFd) {
        let wanted = match self.queues(COMMON, Mask::ALL, Mask::ALL)[..] {
            [(_, _, place, number)] => {
                self.places[place].process.as_ref().map(|process| (place, process.id(), number as u16))
            }
            _ => None,
        };
        if self.listens == wanted {
            return;
        }
        if let Some((place, id, _)) = self.listens.take()
            && let Some(process) = self.places[place].process.as_ref().filter(|process| process.id() == id)
        {
            process.order(&Order::Deaf, None);
        }
        if let Some((place, _, queue)) = wanted
            && let Some(process) = &self.places[place].process
            && process.order(&Order::Listen { queue }, Some(socket))
        {
            self.listens = wanted;
            self.page.daemon_is_free();
        }
    }

    /// Whether a card accepts programs by itself.
    pub fn one_listens(&self) -> bool {
        self.listens.is_some()
    }

    /// The page of shared memory that programs read and write.
    pub fn page(&self) -> &'static Page {
        self.page
    }

    /// Hands a program's connection to the queue that has the least to do, of those of the shared mode that are allowed. As the driver does: the least
    /// load, and where that is the same, the fewest requests.
    pub fn serve(&self, adapters: Mask, domains: Mask, peer: &Peer, socket: &OwnedFd) -> Handed {
        let mut queues = self.queues(COMMON, adapters, domains);
        queues.sort_unstable();
        self.hand_to_first(&queues, peer, socket)
    }

    /// Hands a program's connection to a domain of a card.
    pub fn serve_domain(&self, card: u8, domain: u8, peer: &Peer, socket: &OwnedFd) -> Handed {
        let Some(mode) = self.place(card).map(|place| self.machine.cards[place].mode) else { return Handed::NoQueue };
        let one = |number: u8| [number].into_iter().collect::<Mask>();
        self.hand_to_first(&self.queues(mode, one(card), one(domain)), peer, socket)
    }

    /// Hands a connection to the first of these queues whose card takes the order.
    fn hand_to_first(&self, queues: &[(u64, u64, usize, usize)], peer: &Peer, socket: &OwnedFd) -> Handed {
        let hand = |&(_, _, place, number): &(u64, u64, usize, usize)| {
            let order = Order::Serve { queue: number as u16, peer: peer.clone() };
            self.places[place].process.as_ref().is_some_and(|process| process.order(&order, Some(socket)))
        };
        let Some(first) = queues.first() else { return Handed::NoQueue };
        if queues.iter().any(hand) {
            return Handed::Over;
        }
        // Orders are waiting on all links: more than can be taken at once.
        if let Some(process) = &self.places[first.2].process {
            process.wait(LINK);
        }
        if hand(first) { Handed::Over } else { Handed::TooMany }
    }

    /// Queues of a mode that take programs, among those that are allowed: load, requests, the card's place, the queue's place.
    fn queues(&self, mode: Mode, adapters: Mask, domains: Mask) -> Vec<(u64, u64, usize, usize)> {
        let (adapters, domains) = (both(adapters, self.machine.bus.apmask), both(domains, self.machine.bus.aqmask));
        let mut queues = Vec::new();
        for place in self.serving().filter(|&place| self.machine.cards[place].mode == mode) {
            let card = &self.machine.cards[place];
            for (at, queue) in card.queues.iter().enumerate() {
                if queue.online && adapters.has(card.id) && domains.has(queue.domain) {
                    let number = self.places[place].first_queue + at;
                    let word = |field| self.state.queue(number, field).load(Relaxed);
                    queues.push((word(state::Queue::Load), word(state::Queue::Requests), place, number));
                }
            }
        }
        queues
    }

    /// The cards whose domains have sockets, and whether messages to them may bring descriptors.
    pub fn by_domain(&self) -> impl Iterator<Item = (&CardConfig, bool)> {
        let by_domain = self.places.iter().filter(|place| place.config.mode.is_by_domain());
        by_domain.map(|place| (&place.config, place.bulk))
    }

    /// Has a card do what an administrator orders: its answer will have this number. The card's place.
    pub fn administer(&self, number: u64, device: Device, from: Peer, order: Vec<u8>) -> Result<usize, Reply> {
        let place = self.place(device.card).ok_or_else(|| refused(Errno::NODEV, "there is no such card"))?;
        let card = &self.machine.cards[place];
        if device.domain.is_some_and(|domain| card.queues.iter().all(|queue| queue.domain != domain)) {
            return Err(refused(Errno::NODEV, "the card has no such domain"));
        }
        let process = self.places[place].process.as_ref().filter(|process| process.ready);
        let process = process.ok_or_else(|| refused(Errno::NODEV, "the card does not run"))?;
        let order = Order::Administer { number, from, domain: device.domain, order };
        let sent = process.order(&order, None);
        sent.then_some(place).ok_or_else(|| refused(Errno::BUSY, "the card does not take the order now"))
    }

    fn place(&self, id: u8) -> Option<usize> {
        self.machine.cards.iter().position(|card| card.id == id)
    }

    /// Sets a card or a queue online or offline.
    pub fn set_online(&mut self, device: Device, online: bool) -> Reply {
        let Some(place) = self.place(device.card) else { return refused(Errno::NODEV, "there is no such card") };
        let card = &mut self.machine.cards[place];
        if online && !card.config {
            return refused(Errno::NODEV, "the card is deconfigured");
        }
        if online && card.chkstop {
            return refused(Errno::NODEV, "the card is stopped for faults: configure it off and on");
        }
        let mut changed = Vec::new();
        match device.domain {
            None => {
                card.online = online;
                for (at, queue) in card.queues.iter_mut().enumerate() {
                    queue.online = online;
                    changed.push(at);
                }
            }
            Some(domain) => {
                let Some(at) = card.queues.iter().position(|queue| queue.domain == domain) else {
                    return refused(Errno::NODEV, "the card has no such domain");
                };
                if online && !card.online {
                    return refused(Errno::INVAL, "the card is offline");
                }
                card.queues[at].online = online;
                changed.push(at);
            }
        }
        // First, so that nobody is sent there any more.
        self.publish();
        if let (false, Some(process)) = (online, &self.places[place].process) {
            for at in changed {
                process.order(&Order::Flush { queue: (self.places[place].first_queue + at) as u16 }, None);
            }
        }
        Reply::Done
    }

    /// Configures a card on or off.
    pub fn set_config(&mut self, id: u8, config: bool) -> Reply {
        let Some(place) = self.place(id) else { return refused(Errno::NODEV, "there is no such card") };
        let card = &mut self.machine.cards[place];
        card.config = config;
        card.remark.clear();
        if config {
            card.chkstop = false;
            self.places[place].deaths = Deaths::default();
            if self.places[place].process.is_none() {
                self.start_one(place);
            }
        }
        self.publish();
        if !config {
            if let Some(process) = self.places[place].process.take() {
                process.leave(Instant::now() + LEAVES_IN);
            }
            self.machine.cards[place].confined = None;
            self.nothing_under_way(place);
            self.publish();
        }
        Reply::Done
    }

    /// Changes what holds for all.
    pub fn change_bus(&mut self, change: impl FnOnce(&mut Bus)) -> Reply {
        change(&mut self.machine.bus);
        self.publish();
        Reply::Done
    }

    /// Sets the counts of requests of a card, or of all, to zero.
    pub fn reset_counts(&self, id: Option<u8>) -> Reply {
        let mut found = id.is_none();
        for (place, card) in self.places.iter().enumerate() {
            if id.is_none_or(|id| self.machine.cards[place].id == id) {
                found = true;
                for queue in card.first_queue..card.first_queue + card.config.domains.len() {
                    self.state.queue(queue, state::Queue::Requests).store(0, Relaxed);
                }
            }
        }
        if found { Reply::Done } else { refused(Errno::NODEV, "there is no such card") }
    }

    /// Ends all cards, when they have finished what they work on.
    pub fn leave(mut self) {
        self.page.set_cards(0, cpus());
        let limit = Instant::now() + LEAVES_IN;
        let processes: Vec<_> = self.places.iter_mut().filter_map(|place| place.process.take()).collect();
        for process in &processes {
            process.order(&Order::Leave, None);
        }
        processes.into_iter().for_each(|process| process.leave(limit));
    }
}

fn both(a: Mask, b: Mask) -> Mask {
    Mask(std::array::from_fn(|at| a.0[at] & b.0[at]))
}
