//! `adjunct bench cards --hostile N`: how long one user's operations take while another asks cards for as much as it can.

use super::Bench;
use super::worker::{Start, Worker};
use crate::Error;
use crate::accelerator::subject::Function;
use crate::command::daemon::Daemon;
use crate::crew::{Slice, ends_with_us, percentile};
use crate::harness::header::Header;
use crate::harness::row::{self, Column, Table, fixed};
use crate::harness::run::{self, Outputs};
use crate::harness::turns::in_turns;
use adjunct_card::accelerator::known_request;
use adjunct_card_protocol::wire::{self, Kind, Status};
use adjunct_survey::module;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::{Failure, output};
use nix::unistd::{Gid, Uid, setresgid, setresuid};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use serde::Serialize;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

/// The user that asks for too much: the user "nobody".
const USER: u32 = 65_534;
/// Connections of a user that is merely busy: a server with as many processes, say.
const BUSY: u16 = 16;
/// Processes of the user whose operations are measured.
const PROCESSES: [u16; 2] = [1, 8];
/// Time before the measured time, in which the load settles.
const LEAD_IN: Duration = Duration::from_millis(200);

/// The load of the other user during the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Beside {
    Nobody,
    /// [`BUSY`] connections.
    Busy,
    /// All connections that were asked for, which the cards let it have.
    Hostile,
    /// All connections that were asked for, at a daemon with the limit that holds where the configuration sets none.
    Limited,
}

const ALL: [Beside; 4] = [Beside::Nobody, Beside::Busy, Beside::Hostile, Beside::Limited];

impl Beside {
    fn connections(self, hostile: u16) -> u16 {
        match self {
            Beside::Nobody => 0,
            Beside::Busy => BUSY,
            Beside::Hostile | Beside::Limited => hostile,
        }
    }

    fn text(self, hostile: u16) -> String {
        match self {
            Beside::Nobody => "nobody".to_owned(),
            Beside::Busy => format!("{BUSY} connections"),
            Beside::Hostile => format!("{hostile} connections"),
            Beside::Limited => format!("{hostile}, of which 512 may be"),
        }
    }
}

/// A row of the report.
#[derive(Debug, Serialize)]
struct Row {
    function: String,
    processes: u16,
    beside: Beside,
    connections: u16,
    /// Operations a second, and how long they took.
    rate: f64,
    p50_us: f64,
    p99_us: f64,
    /// The 99 of 100 over that beside a user that is busy.
    ratio: f64,
    /// The connections that were asked for.
    #[serde(skip)]
    hostile: u16,
}

/// The report.
#[derive(Debug, Serialize)]
pub struct HostileReport {
    #[serde(flatten)]
    header: Header,
    hostile: u16,
    lanes: bool,
    rows: Table<Row>,
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        vec![
            Column::left(45, "", |row: &Row| {
                format!("{}, {} beside {}", row.function, row.processes, row.beside.text(row.hostile))
            }),
            Column::right(9, "ops/s", |row: &Row| fixed(row.rate, 0)),
            Column::right(9, "p50 us", |row: &Row| fixed(row.p50_us, 0)),
            Column::right(9, "p99 us", |row: &Row| fixed(row.p99_us, 0)),
            Column::right(8, "ratio", |row: &Row| fixed(row.ratio, 2)),
        ]
    }
}

impl run::Report for HostileReport {
    fn heading(&self) -> String {
        format!(
            "Operations of one user while another's connections ask for RSA-4096, each for the next as soon as it is answered; {} lanes\n{}\n",
            if self.lanes { "with" } else { "without" },
            self.rows.head()
        )
    }

    fn summary(&self) -> String {
        String::new()
    }
}

impl HostileReport {
    /// Makes a report without rows.
    pub fn new(header: Header, hostile: u16) -> HostileReport {
        HostileReport { header, hostile, lanes: adjunct::card::work::available(), rows: Table::default() }
    }

    fn add(&mut self, function: Function, processes: u16, slices: &[Vec<Slice>]) -> String {
        let p99 = |slices: &[Slice]| percentile(slices, 99);
        let busy = p99(&slices[Beside::Busy as usize]).max(f64::MIN_POSITIVE);
        let mut text = String::new();
        for (beside, slices) in ALL.into_iter().zip(slices) {
            let (rate, p99_us) = (super::report::OfSide::new(slices).rate, p99(slices));
            text += &self.rows.add(Row {
                function: function.title(),
                processes,
                beside,
                connections: beside.connections(self.hostile),
                rate,
                p50_us: percentile(slices, 50),
                p99_us,
                ratio: p99_us / busy,
                hostile: self.hostile,
            });
            text.push('\n');
        }
        text
    }
}

/// Measures, shows each row as it comes, and writes the report.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(
    bench: &Bench,
    program: &Path,
    functions: &[Function],
    report: &mut HostileReport,
    outputs: &Outputs<HostileReport>,
) -> Result<ExitCode, Failure> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Failure::new("only root can be two users: run it as root"));
    }
    let hostile = report.hostile;
    let without = if report.lanes { "" } else { "without-lanes = true\n" };
    let limited = Daemon::start_with(program, 1, None, without)?;
    let lifted = Daemon::start_with(program, 1, None, &format!("connections = {}\n{without}", hostile.max(512)))?;
    let daemon = |beside| if beside == Beside::Limited { &limited } else { &lifted };
    outputs.run(report, |report, shown| {
        for &function in functions {
            let workers = bench.key(function).and_then(|der| {
                let start = |beside| {
                    let environment =
                        vec![("ADJUNCT_CARDS_DIR", daemon(beside).folder().into()), ("ADJUNCT_CARDS", "always".into())];
                    let start =
                        Start { libcrypto: bench.libcrypto.clone(), module: Some(bench.module.clone()), environment };
                    Worker::start(&start, function, &der).map(|(worker, _)| worker)
                };
                ALL.into_iter().map(start).collect::<Result<Vec<_>, Error>>()
            });
            let failed = |error: Error| Failure::new(format!("{}: {error}", function.title()));
            let mut workers = workers.map_err(failed)?;
            for processes in PROCESSES {
                for worker in &mut workers {
                    worker.fork(processes).map_err(failed)?;
                }
                let slices = in_turns(ALL.len(), bench.plan.repeats, |at| {
                    interrupted()?;
                    let _flood = Flood::start(daemon(ALL[at]).folder(), ALL[at].connections(hostile))?;
                    workers[at].slice(LEAD_IN, bench.plan.slice, &[]).map_err(failed)
                })?;
                shown.print(&report.add(function, processes, &slices))?;
            }
        }
        Ok(())
    })
}

/// A process of another user that asks for as much as it can. Dropped, it ends.
struct Flood(Option<Child>);

impl Flood {
    fn start(folder: &Path, connections: u16) -> Result<Flood, Failure> {
        if connections == 0 {
            return Ok(Flood(None));
        }
        let failed = |error: std::io::Error| Failure::new(format!("another user: {error}"));
        let mut command = Command::new(module::program().map_err(failed)?);
        command.args(["bench", "cards", "--hostile", &connections.to_string(), "--flood"]).arg(folder);
        let mut child = ends_with_us(&mut command).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let output = child.stdout.take();
        let flood = Flood(Some(child));
        let mut line = String::new();
        match output.map(|output| BufReader::new(output).read_line(&mut line)) {
            Some(Ok(1..)) => Ok(flood),
            _ => Err(Failure::new("another user: its process has ended")),
        }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Asks, as another user, with `connections` connections for as much as it can, until it is killed. A connection that is refused or ends is made
/// again.
///
/// # Errors
/// [`Failure`] where it cannot be that user.
pub fn flood(folder: &Path, connections: u16) -> Result<ExitCode, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("another user: {error}"));
    let (user, group) = (Uid::from_raw(USER), Gid::from_raw(USER));
    setresgid(group, group, group).and_then(|()| setresuid(user, user, user)).map_err(|error| failed(&error))?;
    let address = SocketAddrUnix::new(folder.join(adjunct_card_protocol::SOCKET)).map_err(|error| failed(&error))?;
    let events = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| failed(&error))?;
    let connect = |place: u64| -> Option<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
        rustix::net::connect(&socket, &address).ok()?;
        epoll::add(&events, &socket, EventData::new_u64(place), EventFlags::IN).ok()?;
        ask(&socket, true).then_some(socket)
    };
    let mut sockets: Vec<Option<OwnedFd>> = (0..u64::from(connections)).map(connect).collect();
    output::print("asks\n")?;
    loop {
        let mut came: Vec<epoll::Event> = Vec::with_capacity(64);
        let limit = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let _ = epoll::wait(&events, spare_capacity(&mut came), Some(&limit));
        for event in came {
            let place = event.data.u64() as usize;
            let Some(socket) = sockets.get_mut(place) else { continue };
            if !socket.as_ref().is_some_and(goes_on) {
                *socket = None;
            }
        }
        for (place, socket) in (0..).zip(&mut sockets) {
            if socket.is_none() {
                *socket = connect(place);
            }
        }
    }
}

/// Takes an answer and asks again; whether that could be.
fn goes_on(socket: &OwnedFd) -> bool {
    let mut message = [0; wire::MAX_REPLY];
    match rustix::net::recv(socket, &mut message[..], RecvFlags::DONTWAIT) {
        Ok((length @ 1.., _)) => match wire::reply(Kind::Rsa4096, &message[..length]) {
            Some(Err(Status::Connections)) | None => false,
            Some(Err(Status::NoKey)) => ask(socket, true),
            Some(_) => ask(socket, false),
        },
        Err(Errno::AGAIN | Errno::INTR) => true,
        _ => false,
    }
}

fn ask(socket: &OwnedFd, with_key: bool) -> bool {
    let Some(request) = known_request(Kind::Rsa4096, with_key) else { return false };
    rustix::net::send(socket, request.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok()
}
