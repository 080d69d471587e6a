//! adjunctd: it starts the cards, hands each program's connection to one of them, and does what tools ask for. It has no keys, and no request passes
//! through it. It has one thread, which waits for descriptors alone and sleeps while nothing happens.

mod cards;
mod files;
mod listen;
mod nodes;
mod process;

use crate::peer::{self, Peer};
use crate::process::refuse;
use crate::service::Entry;
use crate::watch;
use adjunct_card_protocol::crowd::{self, Page, Side};
use adjunct_card_protocol::frame::Service;
use adjunct_card_state::config::{self, Config};
use adjunct_card_state::control::{Device, MAX_MESSAGE, Reply, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Mask, Mode};
use cards::{Cards, Handed, Heard};
use files::DomainSocket;
use nodes::{Nodes, RSA_CRT, Refused};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use process::CARD;

/// How long a tool that has connected may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most programs that are accepted before other events are looked at.
const ACCEPTED: u64 = 64;
/// The most tools that may be connected at a time.
const TOOLS: usize = 64;

/// The options of the daemon's command line.
#[derive(Debug)]
pub struct Options {
    /// Its folder.
    pub folder: Folder,
    /// Its configuration; `None` for the one at [`config::PATH`], which need not be there.
    pub config: Option<PathBuf>,
    /// Where the files are that cards keep.
    pub files: Option<PathBuf>,
    /// Its services.
    pub services: &'static [Entry],
}

/// A tool that has connected.
struct Tool {
    socket: OwnedFd,
    peer: Peer,
    until: Instant,
}

/// A tool that waits for the answer of the card in a place.
struct Asking {
    number: u64,
    place: usize,
    tool: Tool,
}

/// What came of a tool's request.
enum Done {
    /// The reply.
    Now(Reply),
    /// A card replies: the number of the order, and the card's place.
    Later(u64, usize),
}

struct Daemon {
    folder: Folder,
    cards: Cards,
    nodes: Nodes,
    programs: OwnedFd,
    control: OwnedFd,
    /// The sockets are systemd's, and stay.
    given: bool,
    /// Sockets of domains.
    domains: Vec<DomainSocket>,
    tools: Vec<Tool>,
    asking: Vec<Asking>,
    /// Orders to cards so far.
    orders: u64,
    signals: UnixStream,
}

fn named(path: impl AsRef<std::path::Path>) -> impl FnOnce(io::Error) -> io::Error {
    let path = path.as_ref().display().to_string();
    move |error| io::Error::new(error.kind(), format!("{path}: {error}"))
}

/// Makes the page by which programs see how crowded the machine is. A service runs this as root before the daemon, which is not root: the
/// page of root is the one that all programs take.
///
/// # Errors
/// What the system says.
pub fn prepare(folder: &Folder) -> io::Result<()> {
    let (page, owner) = Page::make(folder.path()).map_err(named("shared memory"))?;
    if owner != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!(
            "shared memory: another user (uid {owner}) has made it already: remove it (ipcs -m, ipcrm) and start again"
        )));
    }
    page.set_cards(0, config::cpus());
    Ok(())
}

/// What keeps this user from having the daemon's folder, and what to do about it.
fn not_ours(path: impl AsRef<std::path::Path>) -> impl FnOnce(io::Error) -> io::Error {
    move |error| {
        let denied = error.kind() == ErrorKind::PermissionDenied;
        let line = named(path)(error).to_string();
        // The words say it without the number.
        let what = line.split(" (os error ").next().unwrap_or(&line);
        let advice = "; name a folder of your own by --folder, and to programs by ADJUNCT_CARDS_DIR";
        io::Error::other(format!("{what}{}", if denied { advice } else { "" }))
    }
}

/// Runs the daemon until it is told to end.
///
/// # Errors
/// What keeps it from starting, in a sentence.
pub fn run(options: Options) -> io::Result<()> {
    let served: Vec<Mode> = options.services.iter().map(|entry| entry.facts.mode).collect();
    let (path, must_be) = options.config.as_deref().map_or((config::PATH.as_ref(), false), |path| (path, true));
    let config = Config::read(path, must_be, &served);
    let wrong = |why: String| io::Error::new(ErrorKind::InvalidInput, why);
    let mut config = config.map_err(|error| wrong(error.to_string()))?;
    files::number_groups(&mut config).map_err(|why| wrong(format!("{}: {why}", path.display())))?;
    let folder = options.folder;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder.path());
    made.map_err(not_ours(folder.path()))?;
    let mut given = listen::given();
    let runs = |path: PathBuf| {
        io::Error::new(ErrorKind::AddrInUse, format!("{}: another adjunctd runs there", path.display()))
    };
    // Until the end of this process.
    let lock = listen::alone(&folder.lock()).map_err(not_ours(folder.lock()))?;
    let _lock = lock.ok_or_else(|| runs(folder.path().to_owned()))?;
    let in_use = |path: PathBuf| {
        move |error: Errno| match error {
            Errno::ADDRINUSE => runs(path),
            _ => named(path)(error.into()),
        }
    };
    let is_given = given.cards.is_some();
    let programs = match given.cards {
        Some(socket) => socket,
        None => listen::listen(&folder.socket(), 0o666).map_err(in_use(folder.socket()))?,
    };
    let control = match given.control {
        Some(socket) => socket,
        None => listen::listen(&folder.control(), 0o600).map_err(in_use(folder.control()))?,
    };
    // Of root where the service has made it before; else this user's.
    let page = match Page::find(folder.path()) {
        Ok((page, _)) => page,
        Err(_) => {
            prepare(&folder)?;
            Page::find(folder.path()).map_err(named("shared memory"))?.0
        }
    };
    let (signals, ends) = UnixStream::pair()?;
    signals.set_nonblocking(true)?;
    for signal in [SIGTERM, SIGINT] {
        signal_hook::low_level::pipe::register(signal, ends.try_clone()?)?;
    }
    let files = files::folder(options.files, &folder);
    let mut cards = Cards::new(folder.clone(), files, config, options.services, page).map_err(named(folder.state()))?;
    let mut domains = Vec::new();
    for (card, bulk) in cards.by_domain() {
        domains.extend(files::domain_sockets(&folder, card, &mut given.domains, bulk)?);
    }
    cards.start();
    let nodes = Nodes::default();
    watch::start()?;
    watch::this_thread();
    let (tools, asking) = (Vec::new(), Vec::new());
    let given = is_given;
    Daemon { folder, cards, nodes, programs, control, given, domains, tools, asking, orders: 0, signals }.serve()
}

/// The source of an event that the daemon waits for.
#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Control,
    Programs,
    Domain(usize),
    Node(usize),
    Card(usize),
    Tool(usize),
}

impl Daemon {
    fn serve(mut self) -> io::Result<()> {
        let mut said = false;
        let mut before = crowd::cpu_time();
        loop {
            self.cards.have_one_listen(&self.programs);
            // When each card has found its known answers or has not: whoever started the service then sees which.
            if !said && self.cards.are_settled() {
                let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
                said = true;
            }
            let mut accepted = 0;
            for source in self.wait()? {
                match source {
                    Source::Signals => return self.end(),
                    Source::Control => self.accept_tools(),
                    Source::Programs => accepted += self.accept_programs(None),
                    Source::Node(at) => _ = self.accept_programs(Some(at)),
                    Source::Domain(at) => self.accept_of_domain(at),
                    Source::Card(place) => self.hear(place),
                    Source::Tool(at) => self.answer(at),
                }
            }
            let after = crowd::cpu_time();
            if let Some(each) = after.saturating_sub(before).checked_div(accepted) {
                self.cards.page().connected(Side::Daemon, each);
            }
            before = after;
            let now = Instant::now();
            self.tools.retain(|tool| now < tool.until);
            self.asking.retain(|asking| now < asking.tool.until);
        }
    }

    /// Waits for sources that have something to say; tools come from the last to the first, so that one that goes changes no other's place.
    fn wait(&self) -> io::Result<Vec<Source>> {
        let fixed = [(Source::Signals, self.signals.as_fd()), (Source::Control, self.control.as_fd())];
        let programs = (!self.cards.one_listens()).then(|| (Source::Programs, self.programs.as_fd()));
        let nodes = self.nodes.0.iter().enumerate().map(|(at, node)| (Source::Node(at), node.socket.as_fd()));
        let domains = self.domains.iter().enumerate().map(|(at, domain)| (Source::Domain(at), domain.socket.as_fd()));
        let links = self.cards.links().map(|(place, process)| (Source::Card(place), process.link().as_fd()));
        let tools = self.tools.iter().enumerate().rev().map(|(at, tool)| (Source::Tool(at), tool.socket.as_fd()));
        let sources: Vec<_> =
            fixed.into_iter().chain(programs).chain(tools).chain(nodes).chain(domains).chain(links).collect();
        let mut descriptors: Vec<_> =
            sources.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let first = self.tools.iter().chain(self.asking.iter().map(|asking| &asking.tool)).map(|tool| tool.until).min();
        let limit = first.map(|until| until.saturating_duration_since(Instant::now()));
        let limit = limit.map(|left| Timespec { tv_sec: left.as_secs().cast_signed() + 1, tv_nsec: 0 });
        match watch::waits(|| poll(&mut descriptors, limit.as_ref())) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let ready = sources.iter().zip(&descriptors).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(ready.map(|((source, _), _)| *source).collect())
    }

    /// Hands waiting programs to cards, some at a time; how many. Where no card takes a program, its connection is closed, and the program does its
    /// own work.
    fn accept_programs(&self, node: Option<usize>) -> u64 {
        let (listener, adapters, domains, allowed) = match node.map(|at| self.nodes.0.get(at)) {
            None => (&self.programs, Mask::ALL, Mask::ALL, true),
            Some(Some(listening)) => {
                let node = &listening.node;
                (&listening.socket, node.adapters, node.domains, node.ioctls.has(RSA_CRT))
            }
            Some(None) => return 0,
        };
        let mut accepted = 0;
        while accepted < ACCEPTED {
            match peer::accept(listener) {
                Ok(Some((socket, peer))) if allowed => {
                    if self.cards.serve(adapters, domains, &peer, &socket) == Handed::TooMany {
                        refuse(&socket, Service::Accelerator);
                        return accepted + 1;
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return accepted,
                Err(_) => {
                    // Out of descriptors or memory: not again at once.
                    std::thread::sleep(Duration::from_millis(10));
                    return accepted;
                }
            }
            accepted += 1;
        }
        accepted
    }

    /// Hands programs to a domain of a card, some at a time. Where it does not serve, a connection is closed.
    fn accept_of_domain(&self, at: usize) {
        let Some(domain) = self.domains.get(at) else { return };
        for _ in 0..ACCEPTED {
            match peer::accept(&domain.socket) {
                Ok(Some((socket, peer))) => {
                    if self.cards.serve_domain(domain.card, domain.domain, &peer, &socket) == Handed::TooMany {
                        return;
                    }
                }
                Ok(None) => return,
                Err(_) => {
                    // Out of descriptors or memory: not again at once.
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    fn accept_tools(&mut self) {
        while let Ok(Some((socket, peer))) = peer::accept(&self.control) {
            if self.tools.len() + self.asking.len() < TOOLS {
                self.tools.push(Tool { socket, peer, until: Instant::now() + PATIENCE });
            }
        }
    }

    /// Takes what a card says; an administrator's tool gets its answer.
    fn hear(&mut self, place: usize) {
        match self.cards.heard(place) {
            Heard::Nothing => {}
            Heard::Answer(number, reply) => {
                if let Some(at) = self.asking.iter().position(|asking| asking.number == number) {
                    tell(&self.asking.remove(at).tool.socket, &reply);
                }
            }
            Heard::Ended(place) => {
                let (ended, go_on) = self.asking.drain(..).partition(|asking| asking.place == place);
                self.asking = go_on;
                let ended: Vec<Asking> = ended;
                let reply = Reply::Refused(Errno::NODEV.raw_os_error(), "the card has ended".into());
                ended.iter().for_each(|asking| tell(&asking.tool.socket, &reply));
            }
        }
    }

    fn answer(&mut self, at: usize) {
        if at >= self.tools.len() {
            return;
        }
        let tool = self.tools.remove(at);
        let mut message = vec![0; MAX_MESSAGE];
        let Ok((length @ 1.., _)) = rustix::net::recv(&tool.socket, &mut message[..], RecvFlags::DONTWAIT) else {
            return;
        };
        let refused = |(error, why): Refused| Done::Now(Reply::Refused(error.raw_os_error(), why));
        let done = match serde_json::from_slice(&message[..length]) {
            _ if !files::may_change(&tool.peer) => {
                refused((Errno::PERM, "only root and the user of adjunctd may change cards".into()))
            }
            Ok(request) => self.does(request, &tool).unwrap_or_else(refused),
            Err(error) => refused((Errno::INVAL, format!("not a request: {error}"))),
        };
        match done {
            Done::Now(reply) => tell(&tool.socket, &reply),
            Done::Later(number, place) => self.asking.push(Asking { number, place, tool }),
        }
    }

    /// Has a card do what its administrator orders.
    fn administer(&mut self, device: Device, order: &Value, tool: &Tool) -> Result<Done, Refused> {
        let groups = peer::groups(&tool.socket).map_err(|error| (error, "the groups of the user".to_owned()))?;
        let from = Peer { groups, ..tool.peer.clone() };
        let order = serde_json::to_vec(order).map_err(|error| (Errno::INVAL, error.to_string()))?;
        self.orders += 1;
        let sent = self.cards.administer(self.orders, device, from, order);
        Ok(sent.map_or_else(Done::Now, |place| Done::Later(self.orders, place)))
    }

    fn does(&mut self, request: Request, tool: &Tool) -> Result<Done, Refused> {
        let cards = &mut self.cards;
        Ok(Done::Now(match request {
            Request::Administer(device, order) => return self.administer(device, &order, tool),
            Request::SetOnline(device, online) => cards.set_online(device, online),
            Request::SetConfig(card, config) => cards.set_config(card, config),
            Request::SetDefaultDomain(domain) => cards.change_bus(|bus| bus.default_domain = Some(domain)),
            Request::SetPollThread(on) => cards.change_bus(|bus| bus.poll_thread = on),
            Request::SetPollTimeout(time @ 1..=120_000_000_000) => cards.change_bus(|bus| bus.poll_timeout = time),
            Request::SetConfigTime(time @ 5..=120) => cards.change_bus(|bus| bus.config_time = time),
            Request::SetPollTimeout(_) | Request::SetConfigTime(_) => {
                return Err((
                    Errno::INVAL,
                    "a poll timeout is 1 to 120000000000 ns, a configuration time 5 to 120 s".into(),
                ));
            }
            Request::ResetCounts(card) => cards.reset_counts(card),
            Request::ListNodes => Reply::Nodes(self.nodes.list()),
            Request::CreateNode(name) => Reply::Nodes(vec![self.nodes.create(&self.folder, name)?]),
            Request::DestroyNode(name) => self.nodes.destroy(&name).map(|()| Reply::Done)?,
            Request::ChangeNode(name, item, allowed) => {
                self.nodes.change(&name, item, allowed).map(|()| Reply::Done)?
            }
        }))
    }

    /// Ends the daemon: cards finish what they work on. Systemd's sockets stay. A program that waits there to be accepted would have systemd start the
    /// next daemon, though the service was to stop: its connection is closed, and it does its own work.
    fn end(mut self) -> io::Result<()> {
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        for name in self.nodes.list().into_iter().map(|node| node.name) {
            let _ = self.nodes.destroy(&name);
        }
        if !self.given {
            for path in [self.folder.socket(), self.folder.control()] {
                let _ = std::fs::remove_file(path);
            }
        }
        self.domains.iter().filter_map(|domain| domain.path.as_ref()).for_each(|path| _ = std::fs::remove_file(path));
        self.cards.leave();
        while let Ok(Some(_)) = peer::accept(&self.programs) {}
        Ok(())
    }
}

/// Replies to a tool.
fn tell(socket: &OwnedFd, reply: &Reply) {
    if let Ok(bytes) = serde_json::to_vec(reply) {
        let _ = rustix::net::send(socket, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}
