//! Requests and replies that are longer than a socket takes: in sealed files.

use super::served::{BYTES, COPROCESSOR, ECHO, SLOW};
use super::{CARDS, Daemon, OTHER, Program, is_root, until};
use adjunct_card_protocol::bulk;
use adjunct_card_protocol::coprocessor::{self, Failed, LIMIT, Place, exchange, places};
use adjunct_card_protocol::frame::{self, Frame, Head, Service};
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::control::{self, Device, Reply, Request};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DONE: u16 = Status::Done as u16;

impl Program {
    fn head(&self, call: u16) -> Head {
        Head { service: self.service, domain: self.domain, call, status: 0, number: 77 }
    }

    fn frame(&self, call: u16, bytes: &[u8]) -> Vec<u8> {
        let mut message = vec![0; frame::length(&[(BYTES, bytes)]).unwrap()];
        frame::write(&mut message, &self.head(call), &[(BYTES, bytes)]).unwrap();
        message
    }

    fn send_with(&self, message: &[u8], files: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        assert!(files.is_empty() || rights.push(SendAncillaryMessage::ScmRights(files)));
        let sent = rustix::net::sendmsg(&self.socket, &[IoSlice::new(message)], &mut rights, SendFlags::NOSIGNAL);
        assert_eq!(sent, Ok(message.len()));
    }

    fn send_long(&self, call: u16, bytes: &[u8]) {
        let message = self.frame(call, bytes);
        let file = bulk::sealed(&message).unwrap();
        self.send_with(&bulk::cover(&self.head(call), message.len()), &[file.as_fd()]);
    }

    /// The message and the file that come next; `None` where the connection has ended.
    fn next(&self) -> Option<(Vec<u8>, Option<OwnedFd>)> {
        poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], None).unwrap();
        let (mut buffer, mut space) = (vec![0; 200_000], [MaybeUninit::uninit(); bulk::ROOM]);
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = rustix::net::recvmsg(&self.socket, &mut [IoSliceMut::new(&mut buffer)], &mut rights, flags);
        buffer.truncate(received.ok()?.bytes);
        (!buffer.is_empty()).then(|| (buffer, bulk::descriptor(&mut rights).unwrap()))
    }

    fn status(&self) -> Option<u16> {
        self.next().map(|(message, _)| Frame::parse(&message).unwrap().head.status)
    }
}

pub fn long_messages_go_in_files() {
    let daemon = Daemon::start(CARDS);
    let (program, bytes) = (daemon.domain(5), vec![9; 300_000]);
    program.send_long(ECHO, &bytes);
    let (cover, file) = program.next().unwrap();
    let (cover, file) = (Frame::parse(&cover).unwrap(), file.unwrap());
    let seals = fcntl_get_seals(&file).unwrap();
    assert!(seals.contains(SealFlags::WRITE | SealFlags::GROW | SealFlags::SEAL), "{seals:?}");
    let reply = bulk::borrowed(file.try_clone().unwrap(), &cover.head, bulk::covered(&cover).unwrap()).unwrap();
    let reply = Frame::parse(&reply).unwrap();
    assert_eq!((reply.head.status, reply.field(BYTES)), (DONE, Some(&bytes[..])));
    // Its memory is the card's: it is given back with the next request, and when the program goes, whoever has the file.
    let length = || rustix::fs::fstat(&file).unwrap().st_size;
    assert!(length() > 300_000);
    assert_eq!(program.ask(ECHO, b"short").unwrap().1, b"short");
    assert_eq!(length(), 0);
    program.send_long(ECHO, &bytes);
    let file = program.next().unwrap().1.unwrap();
    let length = || rustix::fs::fstat(&file).unwrap().st_size;
    assert!(length() > 300_000);
    drop(program);
    until("a file that is emptied", || length() == 0);
    // What is short may come in a file, too.
    let program = daemon.domain(5);
    program.send_long(ECHO, b"short");
    assert_eq!(program.answer().unwrap().1, b"short");
    program.send_long(ECHO, &vec![0; 1 << 20]);
    assert_eq!(program.status(), Some(Status::Invalid as u16), "longer than the service takes");
    assert_eq!(program.ask(ECHO, b"again").unwrap().1, b"again");
}

pub fn files_that_are_not_as_they_should_be_end_a_connection() {
    let daemon = Daemon::start(CARDS);
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    let of = |bytes: &[u8], seals| {
        let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        assert_eq!(rustix::io::write(&file, bytes), Ok(bytes.len()));
        fcntl_add_seals(&file, seals).unwrap();
        file
    };
    let program = || daemon.domain(5);
    let message = program().frame(ECHO, &vec![3; 200_000]);
    let cover = |length| bulk::cover(&program().head(ECHO), length);
    let whole = cover(message.len());
    let file = of(&message, seals);
    let ends = |what: &str, message: &[u8], files: &[BorrowedFd<'_>]| {
        let program = program();
        program.send_with(message, files);
        assert!(program.next().is_none(), "{what}");
        assert_eq!(daemon.domain(255).ask(ECHO, b"x").unwrap().1, b"x", "{what}");
    };
    for missing in [SealFlags::SHRINK, SealFlags::GROW, SealFlags::WRITE] {
        ends("not sealed", &whole, &[of(&message, seals.difference(missing)).as_fd()]);
    }
    ends("shrunk", &whole, &[of(&message[..message.len() - 1], seals).as_fd()]);
    ends("empty", &whole, &[of(b"", seals).as_fd()]);
    ends("longer than is said", &cover(message.len() - 1), &[file.as_fd()]);
    ends("shorter than is said", &cover(message.len() + 1), &[file.as_fd()]);
    ends("no descriptor", &whole, &[]);
    ends("two descriptors", &whole, &[file.as_fd(), file.as_fd()]);
    ends("many descriptors", &whole, &vec![file.as_fd(); 60]);
    ends("a descriptor beside a frame", &program().frame(ECHO, b"x"), &[file.as_fd()]);
    ends("another request within", &bulk::cover(&program().head(SLOW), message.len()), &[file.as_fd()]);
    let (reader, _writer) = std::io::pipe().unwrap();
    ends("a pipe", &whole, &[reader.as_fd()]);
    let zeros = std::fs::File::open("/dev/zero").unwrap();
    ends("a device", &whole, &[zeros.as_fd()]);
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    ends("a socket", &whole, &[socket.as_fd()]);
    ends("nothing", b"x", &[file.as_fd()]);
    // What came is closed.
    if is_root() {
        let folder = format!("/proc/{}/fd", daemon.card_process(1));
        let has = |what: &str| {
            let links =
                std::fs::read_dir(&folder).unwrap().flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
            links.filter(|link| link.to_string_lossy().contains(what)).count()
        };
        until("descriptors that are closed", || has("memfd:") == 0 && has("/dev/zero") == 0);
    }
    let program = program();
    program.send_with(&whole, &[file.as_fd()]);
    assert_eq!(program.status(), Some(DONE));
}

pub fn a_user_has_a_limit_for_long_messages() {
    let daemon = Daemon::start(&format!("bulk = 1\nbulk-of-user = 2\n{CARDS}"));
    let mut long = vec![0; 900_000];
    // 200 ms.
    long[0] = 200;
    let programs: Vec<Program> = (0..4).map(|_| daemon.domain(5)).collect();
    programs.iter().for_each(|program| program.send_long(SLOW, &long));
    let statuses: Vec<_> = programs.iter().filter_map(Program::status).collect();
    let count = |status: Status| statuses.iter().filter(|&&found| found == status as u16).count();
    assert_eq!(count(Status::Done) + count(Status::Busy), 4, "{statuses:?}");
    assert!(count(Status::Done) >= 1 && count(Status::Busy) >= 1, "{statuses:?}");
    if is_root() {
        let other = std::thread::scope(|scope| {
            let asks = || {
                // SAFETY: no pointers; the rights of this thread alone.
                assert_eq!(unsafe { libc::syscall(libc::SYS_setresuid, -1, OTHER, -1) }, 0);
                let program = daemon.domain(5);
                program.send_long(ECHO, &long);
                program.status()
            };
            scope.spawn(asks).join().unwrap()
        });
        assert_eq!(other, Some(DONE), "another user's are others");
    }
    // Those that have gone have nothing.
    drop(programs);
    let program = daemon.domain(5);
    until("room", || {
        program.send_long(ECHO, &long);
        program.status() == Some(DONE)
    });
}

/// A process that is traced does not end for its parent until its tracer has seen that: as one in a system call that no signal ends.
pub fn a_card_that_cannot_be_killed_holds_up_nobody() {
    if !is_root() {
        return;
    }
    let daemon = Daemon::start(CARDS);
    assert_eq!(daemon.domain(255).ask(ECHO, b"x").unwrap().1, b"x");
    let card = daemon.card_process(1);
    let children = || {
        let path = format!("/proc/{0}/task/{0}/children", daemon.child.id());
        std::fs::read_to_string(path).unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let before = children();
    // SAFETY: no pointers; a process of this test's own.
    if unsafe { libc::ptrace(libc::PTRACE_SEIZE, card, 0_usize, 0_usize) } != 0 {
        return eprintln!("not tested: no right to trace a process");
    }
    // SAFETY: no pointers; a process of this test's own.
    unsafe { libc::kill(card, libc::SIGKILL) };
    let begin = Instant::now();
    until("another process of the card", || children().iter().any(|child| !before.contains(child)));
    until("a card that serves again", || daemon.domain(255).ask(ECHO, b"x").is_some());
    assert!(begin.elapsed() < Duration::from_secs(50), "{:?}", begin.elapsed());
    let mut status = 0;
    // SAFETY: the number lives.
    assert_eq!(unsafe { libc::waitpid(card, &raw mut status, libc::__WALL) }, card);
}

/// The client, in a process of its own: the folder of cards does not change in the life of a process.
pub fn the_client_gets_replies_of_any_length() {
    let daemon = Daemon::start(CARDS);
    // The mode of tests has sockets of its own name.
    for domain in ["0005", "00ff"] {
        let name = |mode: &str| daemon.folder.path().join(format!("{mode}-01.{domain}.sock"));
        std::os::unix::fs::symlink(name("ep11"), name("test")).unwrap();
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg(CLIENT).env("ADJUNCT_CARDS_DIR", daemon.folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Its first line says that it has asked for something that takes long: the card goes offline.
    use std::io::{BufRead, Write};
    let mut line = String::new();
    std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "asks\n");
    until("a request under way", || daemon.card(1).queues[0].pendingq == 1);
    // SAFETY: no pointers; a process of this test's own.
    unsafe { libc::kill(daemon.card_process(1), libc::SIGKILL) };
    until("a card that serves again", || daemon.domain(255).ask(ECHO, b"x").is_some());
    let offline = Request::SetOnline(Device { card: 1, domain: Some(5) }, false);
    assert_eq!(control::ask(&daemon.of().control(), &offline).unwrap(), Reply::Done);
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
}

/// The argument by which this program is that client.
pub const CLIENT: &str = "client";

pub fn client() {
    let (first, second) = (Place { card: 1, domain: 5 }, Place { card: 1, domain: 255 });
    assert_eq!(places(Service::Test), [first, second]);
    assert!(places(Service::Ep11).is_empty() || std::env::var_os("ADJUNCT_CARDS_DIR").is_some());
    let ask = |place, input: &[u8]| exchange(Service::Test, place, COPROCESSOR, input, LIMIT);
    for length in [1, 5_000, 99_000, 102_300, 102_400, 500_000, 1_000_000] {
        let mut input = vec![7; length];
        input[0] = 0;
        assert_eq!(ask(first, &input).unwrap()[..], input[..], "{length}");
    }
    // Threads have connections of their own, and more than are kept; a child of fork makes its own.
    std::thread::scope(|scope| {
        for number in 0..32_u8 {
            scope.spawn(move || {
                let input = [&[0, number][..], &vec![number; 150_000 * usize::from(number % 2)]].concat();
                for place in [first, second, first] {
                    assert_eq!(ask(place, &input).unwrap()[..], input[..]);
                }
            });
        }
    });
    // SAFETY: the child asks, and ends without anything of its parent's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let right = ask(first, &[0, 5, 6]).is_ok_and(|reply| reply[..] == [0, 5, 6]);
        // SAFETY: no requirements.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    let mut status = 0;
    // SAFETY: the number lives.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(ask(first, &[0, 1]).unwrap()[..], [0, 1]);
    // A reply that is longer than the card sends, a request that it does not take, and one that nobody takes.
    assert_eq!(ask(first, &[1, 2]).map(drop), Err(Failed::Failed));
    assert_eq!(ask(first, &vec![0; 2 << 20]).map(drop), Err(Failed::TooLong));
    assert_eq!(ask(first, &vec![0; coprocessor::LONGEST + 1]).map(drop), Err(Failed::TooLong));
    assert_eq!(ask(Place { card: 1, domain: 6 }, &[0]).map(drop), Err(Failed::Nobody));
    // The time is over.
    let begin = Instant::now();
    let short = exchange(Service::Test, first, COPROCESSOR, &[2, 200], Duration::from_millis(50));
    assert_eq!(short.map(drop), Err(Failed::Silent));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    // What the program closes is not asked: another file has its number.
    for fd in 64..256 {
        // SAFETY: descriptors of this process that nothing else uses.
        unsafe { libc::close(fd) };
    }
    let (mine, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    for fd in 64..96 {
        // SAFETY: descriptors that are free.
        unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&mine), fd) };
    }
    assert_eq!(ask(first, &[0, 9]).unwrap()[..], [0, 9]);
    theirs.set_nonblocking(true).unwrap();
    assert!(theirs.recv(&mut [0; 8]).is_err());
    println!("asks");
    // The card is killed meanwhile, and its domain goes offline.
    let begin = Instant::now();
    let failed = ask(first, &[2, 255]).map(drop).unwrap_err();
    assert!(failed.another_may() && begin.elapsed() < Duration::from_secs(60), "{failed:?}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let failed = ask(first, &[0]).map(drop).unwrap_err();
    assert!(failed.another_may(), "{failed:?}");
    assert_eq!(ask(second, &[0, 8]).unwrap()[..], [0, 8]);
    assert_eq!(rustix::io::fcntl_getfd(&mine).map(drop), Ok::<(), Errno>(()));
}
