//! adjunctd: it starts the cards, hands each program's connection to one of them, and does what tools ask for. It has no keys, and no request passes
//! through it. It has one thread, which waits for descriptors alone and sleeps while nothing happens.

mod cards;
mod listen;
mod nodes;
mod process;

use crate::card::refuse;
use crate::config::{self, Config};
use crate::control::{MAX_MESSAGE, Reply, Request};
use crate::folder::Folder;
use crate::link;
use crate::machine::Mask;
use crate::watch;
use adjunct_card_protocol::crowd::{self, Page, Side};
use cards::{Cards, Handed};
use nodes::{Nodes, RSA_CRT, Refused};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
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
}

/// A tool that has connected.
struct Tool {
    socket: OwnedFd,
    uid: u32,
    until: Instant,
}

struct Daemon {
    folder: Folder,
    cards: Cards,
    nodes: Nodes,
    programs: OwnedFd,
    control: OwnedFd,
    /// The sockets are systemd's, and stay.
    given: bool,
    tools: Vec<Tool>,
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

/// Runs the daemon until it is told to end.
///
/// # Errors
/// What keeps it from starting, in a sentence.
pub fn run(options: Options) -> io::Result<()> {
    let config = match &options.config {
        Some(path) => Config::read(path, true),
        None => Config::read(config::PATH.as_ref(), false),
    };
    let config = config.map_err(|error| io::Error::new(ErrorKind::InvalidInput, error.to_string()))?;
    let folder = options.folder;
    std::fs::DirBuilder::new().recursive(true).mode(0o755).create(folder.path()).map_err(named(folder.path()))?;
    let given = listen::given();
    let runs = |path: PathBuf| {
        io::Error::new(ErrorKind::AddrInUse, format!("{}: another adjunctd runs there", path.display()))
    };
    // Until the end of this process.
    let lock = listen::alone(&folder.lock()).map_err(named(folder.lock()))?;
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
    let mut cards = Cards::new(folder.clone(), config, page).map_err(named(folder.state()))?;
    cards.start();
    let nodes = Nodes::default();
    watch::start()?;
    watch::this_thread();
    let daemon = Daemon { folder, cards, nodes, programs, control, given: is_given, tools: Vec::new(), signals };
    daemon.serve()
}

/// The source of an event that the daemon waits for.
#[derive(Debug, Clone, Copy)]
enum Source {
    Signals,
    Control,
    Programs,
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
                    Source::Card(place) => self.cards.heard(place),
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
        }
    }

    /// Waits for sources that have something to say; tools come from the last to the first, so that one that goes changes no other's place.
    fn wait(&self) -> io::Result<Vec<Source>> {
        let fixed = [(Source::Signals, self.signals.as_fd()), (Source::Control, self.control.as_fd())];
        let programs = (!self.cards.one_listens()).then(|| (Source::Programs, self.programs.as_fd()));
        let nodes = self.nodes.0.iter().enumerate().map(|(at, node)| (Source::Node(at), node.socket.as_fd()));
        let links = self.cards.links().map(|(place, process)| (Source::Card(place), process.link()));
        let tools = self.tools.iter().enumerate().rev().map(|(at, tool)| (Source::Tool(at), tool.socket.as_fd()));
        let sources: Vec<_> = fixed.into_iter().chain(programs).chain(tools).chain(nodes).chain(links).collect();
        let mut descriptors: Vec<_> =
            sources.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let first = self.tools.iter().map(|tool| tool.until).min();
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
            match link::accept(listener) {
                Ok(Some((socket, uid))) if allowed => {
                    if self.cards.serve(adapters, domains, uid, &socket) == Handed::TooMany {
                        refuse(&socket);
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

    fn accept_tools(&mut self) {
        while let Ok(Some((socket, uid))) = link::accept(&self.control) {
            if self.tools.len() < TOOLS {
                self.tools.push(Tool { socket, uid, until: Instant::now() + PATIENCE });
            }
        }
    }

    fn answer(&mut self, at: usize) {
        if at >= self.tools.len() {
            return;
        }
        let Tool { socket, uid, .. } = self.tools.remove(at);
        let mut message = vec![0; MAX_MESSAGE];
        let Ok((length @ 1.., _)) = rustix::net::recv(&socket, &mut message[..], RecvFlags::DONTWAIT) else { return };
        let refused = |(error, why): Refused| Reply::Refused(error.raw_os_error(), why);
        let reply = match serde_json::from_slice(&message[..length]) {
            _ if uid != 0 && uid != rustix::process::geteuid().as_raw() => {
                refused((Errno::PERM, "only root and the user of adjunctd may change cards".into()))
            }
            Ok(request) => self.does(request).unwrap_or_else(refused),
            Err(error) => refused((Errno::INVAL, format!("not a request: {error}"))),
        };
        if let Ok(bytes) = serde_json::to_vec(&reply) {
            let _ = rustix::net::send(&socket, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }

    fn does(&mut self, request: Request) -> Result<Reply, Refused> {
        let cards = &mut self.cards;
        Ok(match request {
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
        })
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
        self.cards.leave();
        while let Ok(Some(_)) = link::accept(&self.programs) {}
        Ok(())
    }
}
