//! A stage for the tools of cards: a folder as adjunctd has it, with the state of made-up cards, and a thread that answers as adjunctd does.

#![allow(dead_code, reason = "each test program uses a part")]

use adjunct_card_state::control::{Item, MAX_MESSAGE, Node, Reply, Request};
use adjunct_card_state::machine::{ACCELERATOR_COUNTERS, Bus, Card, Machine, Mask, Mode, Queue, Work};
use adjunct_card_state::state::{self, Shared};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// The program that is a command by its name, beside this test: those of other crates are built with the workspace.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    let program = built.join(if name == "adjunct" { "adjunct" } else { "adjunct-ztools" });
    assert!(program.is_file(), "{} is not built", program.display());
    program
}

/// A domain with its counts.
pub fn queue(domain: u8, requests: u64) -> Queue {
    Queue {
        domain,
        online: true,
        requests,
        requestq: 0,
        pendingq: 0,
        load: 0,
        counters: vec![Work::default(); ACCELERATOR_COUNTERS.len()],
    }
}

/// The names of a mode's counters, as zcryptstats has them.
fn counters(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Accelerator => &ACCELERATOR_COUNTERS,
        Mode::Cca => &["All", "RSA Key-gen"],
        Mode::Ep11 => &["Asym. Slow", "Asym. Fast", "Symm. Partial", "Symm. Complete", "Asym. Key-gen"],
    }
}

/// A card with its domains.
pub fn card(id: u8, mode: Mode, queues: Vec<Queue>) -> Card {
    let functions = match mode {
        Mode::Accelerator => 0xEA80_0000,
        Mode::Cca => 0x9380_0000,
        Mode::Ep11 => 0x0680_0000,
    };
    Card {
        id,
        mode,
        kind: format!("CEX8{}", mode.letter()),
        hwtype: 14,
        depth: 8,
        functions,
        online: true,
        config: true,
        chkstop: false,
        requests: queues.iter().map(|queue| queue.requests).sum(),
        max_message: 12 << 10,
        serial: if mode == Mode::Accelerator { String::new() } else { format!("93AA{id:02X}QR00000000") },
        counters: counters(mode).iter().map(|&name| name.into()).collect(),
        confined: None,
        remark: String::new(),
        queues,
    }
}

/// A bus whose domains 5 and 47 may be used.
pub fn bus() -> Bus {
    Bus {
        default_domain: Some(5),
        usage_domains: [5, 47].into_iter().collect(),
        control_domains: [5, 6, 200].into_iter().collect(),
        apmask: Mask::ALL,
        aqmask: Mask::ALL,
        config_time: 30,
        poll_thread: false,
        poll_timeout: 250_000,
        scans: 1,
        features: ["APSC", "APXA", "QACT", "RC8A"].map(str::to_owned).into(),
    }
}

/// Some of everything: four cards, of which one is deconfigured and one stopped, and a domain that is offline.
pub fn mixed() -> Machine {
    let mut cards = vec![
        card(0, Mode::Accelerator, vec![queue(5, 12), queue(47, 8)]),
        card(1, Mode::Cca, vec![queue(5, 4)]),
        card(2, Mode::Ep11, vec![queue(5, 0)]),
        card(0x1f, Mode::Ep11, vec![queue(5, 6), queue(200, 123_456_789)]),
    ];
    cards[0].queues[1].online = false;
    (cards[0].queues[0].requestq, cards[0].queues[0].pendingq) = (1, 2);
    cards[2].config = false;
    cards[3].chkstop = true;
    Machine { bus: bus(), cards, remark: String::new() }
}

/// Machines of many kinds, by name.
pub fn machines() -> Vec<(&'static str, Machine)> {
    let one = |change: fn(&mut Machine)| {
        let cards = vec![card(0, Mode::Accelerator, vec![queue(5, 7)])];
        let mut machine = Machine { bus: bus(), cards, remark: String::new() };
        change(&mut machine);
        machine
    };
    let many = || {
        let queues =
            |id: u8| (0..4).map(|domain| queue(domain * 85, u64::from(id) * 1000 + u64::from(domain))).collect();
        let mode = |id: u8| [Mode::Accelerator, Mode::Cca, Mode::Ep11][usize::from(id) % 3];
        (0..64u8).map(|id| card(id * 4, mode(id), queues(id))).collect()
    };
    vec![
        ("mixed", mixed()),
        ("none", one(|machine| machine.cards.clear())),
        ("one", one(|_| {})),
        ("offline", one(|machine| machine.cards[0].online = false)),
        ("named", one(|machine| "ADJ8A".clone_into(&mut machine.cards[0].kind))),
        ("old", one(|machine| (machine.cards[0].hwtype, machine.cards[0].functions) = (8, 0x0800_0000))),
        ("older", one(|machine| (machine.cards[0].hwtype, machine.cards[0].functions) = (9, 0x1040_0000))),
        ("unknown", one(|machine| (machine.cards[0].hwtype, machine.cards[0].functions) = (3, 0))),
        ("restricted", one(|machine| machine.cards[0].functions = 0x1340_0000)),
        ("small", one(|machine| machine.cards[0].functions = 0x0800_0000)),
        ("unlimited", one(|machine| machine.cards[0].max_message = 0)),
        ("deep", one(|machine| (machine.cards[0].depth, machine.cards[0].queues[0].requestq) = (100, 1_234_567_890))),
        ("no-domain", one(|machine| machine.bus.default_domain = None)),
        ("other-domain", one(|machine| machine.bus.default_domain = Some(9))),
        ("no-features", one(|machine| machine.bus.features.clear())),
        ("polled", one(|machine| (machine.bus.poll_thread, machine.bus.poll_timeout) = (true, 1_500_000))),
        (
            "secure",
            one(|machine| {
                machine.bus.features.push("APSB".into());
                machine.cards[0].functions |= 0x8000;
            }),
        ),
        (
            "all-domains",
            one(|machine| (machine.bus.usage_domains, machine.bus.control_domains) = (Mask::ALL, Mask::default())),
        ),
        ("many", one(|machine| machine.bus.scans = 99)).with(many()),
    ]
}

trait With {
    fn with(self, cards: Vec<Card>) -> Self;
}

impl With for (&'static str, Machine) {
    fn with(mut self, cards: Vec<Card>) -> Self {
        self.1.cards = cards;
        self
    }
}

/// State of the thread that answers.
struct Known {
    machine: Machine,
    nodes: Vec<Node>,
    asked: Vec<Request>,
    /// Answer that is given in place of a real one.
    raw: Option<Vec<u8>>,
}

/// The stage. What is on it ends with it.
pub struct Stage {
    dir: tempfile::TempDir,
    shared: Arc<Shared>,
    known: Arc<Mutex<Known>>,
    _file: File,
    lock: Option<OwnedLock>,
}

type OwnedLock = Box<dyn std::any::Any>;

impl Stage {
    /// Makes a stage with these cards, and a thread that answers in place of the daemon.
    pub fn new(machine: Machine) -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let (shared, file, lock) = Shared::create(&dir.path().join("cards"), |_| ()).unwrap();
        let shared = Arc::new(shared);
        shared.publish(&machine);
        for (place, queue) in machine.cards.iter().flat_map(|card| &card.queues).enumerate() {
            let words = [
                (state::Queue::Requests, queue.requests),
                (state::Queue::Requestq, queue.requestq),
                (state::Queue::Pendingq, queue.pendingq),
                (state::Queue::Load, queue.load),
            ];
            words.into_iter().for_each(|(word, value)| shared.queue(place, word).store(value, Relaxed));
        }
        let known = Arc::new(Mutex::new(Known { machine, nodes: Vec::new(), asked: Vec::new(), raw: None }));
        let stage = Stage { dir, shared, known, _file: file, lock: Some(Box::new(lock)) };
        stage.listen();
        stage
    }

    fn listen(&self) {
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let path = self.dir.path().join("control.sock");
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&socket, 64).unwrap();
        let (known, shared) = (Arc::clone(&self.known), Arc::clone(&self.shared));
        std::thread::spawn(move || while answer(&socket, &known, &shared).is_some() {});
    }

    /// Path of the stage's folder.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The words of the state.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Changes the cards.
    pub fn becomes(&self, machine: Machine) {
        self.shared.publish(&machine);
        self.known.lock().unwrap().machine = machine;
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Request> {
        std::mem::take(&mut self.known.lock().unwrap().asked)
    }

    /// Answers whatever comes with these bytes from now on.
    pub fn says(&self, raw: &[u8]) {
        self.known.lock().unwrap().raw = Some(raw.to_vec());
    }

    /// What the state is now.
    pub fn machine(&self) -> Machine {
        state::read(&self.path().join("cards")).unwrap()
    }

    /// The daemon ends, and leaves its files.
    pub fn ends(&mut self) {
        self.lock = None;
        let _ = std::fs::remove_file(self.path().join("control.sock"));
    }

    /// The command by a name.
    pub fn command(&self, name: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program(name));
        // Counters of its own, which are not there: what this machine's programs had done by cards is not to be seen.
        command
            .arg0(name)
            .args(args)
            .env("ADJUNCT_CARDS_DIR", self.path())
            .env("ADJUNCT_STATS_KEY", self.path())
            .env("TZ", "UTC");
        command
    }

    /// What the command by a name says: standard output, standard error, exit status.
    pub fn said(&self, name: &str, args: &[&str]) -> (String, String, i32) {
        said(&self.command(name, args).output().unwrap())
    }

    /// Output of a command that succeeds.
    pub fn prints(&self, name: &str, args: &[&str]) -> String {
        let (text, errors, status) = self.said(name, args);
        assert_eq!((errors.as_str(), status), ("", 0), "{name} {args:?}: {text}");
        text
    }
}

/// Standard output, standard error and the exit status.
pub fn said(output: &Output) -> (String, String, i32) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap_or(-1))
}

fn answer(socket: &OwnedFd, known: &Mutex<Known>, shared: &Shared) -> Option<()> {
    let client = rustix::net::accept(socket).ok()?;
    let mut buffer = vec![0; MAX_MESSAGE];
    let (length, _) = rustix::net::recv(&client, &mut buffer[..], RecvFlags::empty()).ok()?;
    let mut known = known.lock().unwrap();
    let bytes = match (&known.raw, serde_json::from_slice(&buffer[..length])) {
        (Some(raw), _) => raw.clone(),
        (None, Ok(request)) => serde_json::to_vec(&known.done(request)).unwrap(),
        (None, Err(error)) => panic!("{error}"),
    };
    shared.publish(&known.machine);
    let _ = rustix::net::send(&client, &bytes, SendFlags::NOSIGNAL);
    Some(())
}

const NO_DEVICE: (i32, &str) = (19, "there is no such card");
const INVALID: (i32, &str) = (22, "this cannot be");

impl Known {
    fn done(&mut self, request: Request) -> Reply {
        self.asked.push(request.clone());
        match self.change(request) {
            Ok(reply) => reply,
            Err((errno, why)) => Reply::Refused(errno, why.to_owned()),
        }
    }

    fn card(&mut self, id: u8) -> Result<&mut Card, (i32, &'static str)> {
        self.machine.cards.iter_mut().find(|card| card.id == id).ok_or(NO_DEVICE)
    }

    fn node(&mut self, name: &str) -> Result<&mut Node, (i32, &'static str)> {
        self.nodes.iter_mut().find(|node| node.name == name).ok_or(NO_DEVICE)
    }

    fn change(&mut self, request: Request) -> Result<Reply, (i32, &'static str)> {
        match request {
            Request::SetOnline(device, online) => {
                let card = self.card(device.card)?;
                if online && !card.config {
                    return Err((19, "the card is deconfigured"));
                }
                match device.domain {
                    None => card.online = online,
                    Some(_) if online && !card.online => return Err((22, "its card is offline")),
                    Some(domain) => {
                        let queue = card.queues.iter_mut().find(|queue| queue.domain == domain);
                        queue.ok_or(NO_DEVICE)?.online = online;
                    }
                }
            }
            Request::SetConfig(id, config) => {
                let card = self.card(id)?;
                (card.config, card.chkstop) = (config, false);
            }
            Request::SetDefaultDomain(domain) => self.machine.bus.default_domain = Some(domain),
            Request::SetPollThread(enabled) => self.machine.bus.poll_thread = enabled,
            Request::SetPollTimeout(time @ ..=120_000_000_000) => self.machine.bus.poll_timeout = time,
            Request::SetConfigTime(seconds @ 5..=120) => self.machine.bus.config_time = seconds,
            Request::SetPollTimeout(_) | Request::SetConfigTime(_) => return Err(INVALID),
            Request::ResetCounts(_) => {}
            Request::Administer(..) => return Err(INVALID),
            Request::ListNodes => return Ok(Reply::Nodes(self.nodes.clone())),
            Request::CreateNode(name) => {
                let name = name.unwrap_or_else(|| format!("zcrypt_{}", self.nodes.len()));
                if self.node(&name).is_ok() {
                    return Err((17, "there is one of that name"));
                }
                let (path, none) = (format!("/run/adjunct/nodes/{name}"), Mask::default());
                self.nodes.push(Node { name, path, adapters: none, domains: none, controls: none, ioctls: none });
            }
            Request::DestroyNode(name) => {
                self.node(&name)?;
                self.nodes.retain(|node| node.name != name);
            }
            Request::ChangeNode(name, item, there) => {
                let node = self.node(&name)?;
                match item {
                    Item::Adapter(number) => node.adapters.set(number, there),
                    Item::Domain(number) => node.domains.set(number, there),
                    Item::Control(number) => node.controls.set(number, there),
                    Item::Ioctl(number) => node.ioctls.set(number, there),
                }
            }
        }
        Ok(Reply::Done)
    }
}
