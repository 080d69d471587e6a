//! One user cannot slow another: what cards do for the others while one user asks for as much as it can, and what they refuse.
//!
//! The tests check the order of service, limits and refusals, none of which depends on time. `adjunct bench cards --hostile` measures the effect in
//! milliseconds.

mod common;

use adjunct_card_protocol::wire::{self, Kind, Status};
use common::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::RecvFlags;
use std::os::unix::fs::PermissionsExt;

/// A user that asks for too much, and another.
const HOSTILE: u32 = 54_321;
const OTHER: u32 = 54_322;

/// Whether users can be told apart here; says so where they cannot.
fn there_can_be_users() -> bool {
    // SAFETY: no requirements.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("SKIPPED: only root can be several users");
    }
    root && there_can_be_cards()
}

/// Does something with the rights of a user: of this thread alone, which the C library's call does not do.
fn by<T>(uid: u32, what: impl FnOnce() -> T) -> T {
    // SAFETY: no pointers; the saved user id stays root's.
    let become_user = |uid: u32| unsafe { libc::syscall(libc::SYS_setresuid, -1, uid, -1) };
    assert_eq!(become_user(uid), 0);
    let done = what();
    assert_eq!(become_user(0), 0);
    done
}

fn daemon(config: &str) -> Daemon {
    let daemon = Daemon::start(config);
    std::fs::set_permissions(daemon.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    daemon
}

/// A connection of a user.
fn connected(daemon: &Daemon, uid: u32) -> OwnedFd {
    by(uid, || connect(&daemon.of().socket()).expect("the daemon listens"))
}

fn ask(connection: &OwnedFd, kind: Kind) {
    let [key, input, _] = known(kind);
    send(connection, wire::Request::new(kind, 0, Some(key), input).unwrap().bytes());
}

/// What was answered, where it was: that it is right, or why not; `None` where the connection has ended without a word.
fn answer(connection: &OwnedFd, kind: Kind) -> Option<Result<bool, Status>> {
    let mut message = receive(connection);
    if message.is_empty() {
        // Let go with a request unread, which is said before what was sent.
        message = receive(connection);
    }
    Some(wire::reply(kind, &message)?.map(|output| output == known(kind)[2]))
}

/// Stops a process, which is so when all its threads are.
fn stop(pid: u32) {
    signal(pid, libc::SIGSTOP);
    until("a process that is stopped", || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let mut states = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap());
        states.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    });
}

fn is_readable(connection: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(connection, PollFlags::IN)], Some(&now)).unwrap() > 0
}

fn is_over(connection: &OwnedFd) -> bool {
    matches!(rustix::net::recv(connection, &mut [0; 1][..], RecvFlags::DONTWAIT | RecvFlags::PEEK), Ok((0, _)))
}

/// Another user's request is done before hundreds of one user's that came before it.
#[test]
fn another_s_request_is_done_before_hundreds_of_one_user_s() {
    if !there_can_be_users() {
        return;
    }
    const MANY: usize = 500;
    for (kind, workers) in [(Kind::Rsa2048, 1), (Kind::Rsa4096, 2)] {
        let daemon = daemon(&format!("[[card]]\nid = 0\nworkers = {workers}\n"));
        let card = daemon.pid_of(0);
        let many: Vec<_> = (0..MANY).map(|_| connected(&daemon, HOSTILE)).collect();
        let other = connected(&daemon, OTHER);
        // Known to the card, and idle.
        ask(&other, kind);
        assert_eq!(answer(&other, kind), Some(Ok(true)));
        let answered = || many.iter().filter(|connection| is_readable(connection)).count();
        many.iter().for_each(|connection| ask(connection, Kind::Rsa4096));
        let before = answered();
        ask(&other, kind);
        assert_eq!(answer(&other, kind), Some(Ok(true)));
        let meanwhile = answered() - before;
        // The batches that ran when it came and one more of each worker, and what this test itself may have been kept from seeing.
        assert!(before < MANY / 2 && meanwhile < 120, "{meanwhile} of {MANY} after {before}, {workers} workers");
        // In the end all are answered.
        assert!(many.iter().all(|connection| answer(connection, Kind::Rsa4096) == Some(Ok(true))));
        drop(many);
        assert_eq!(daemon.pid_of(0), card, "the card has ended");
    }
}

/// A user with requests under way on as many connections as it may have is refused at once, and another is not.
#[test]
fn a_user_has_only_so_many_connections() {
    if !there_can_be_users() {
        return;
    }
    for config in ["connections = 20\n[[card]]\nid = 0\n", "connections = 20\n[[card]]\nid = 0\ndomains = [1, 2]\n"] {
        let daemon = daemon(config);
        let card = daemon.pid_of(0);
        // All at once, so that nothing is answered before they have all come.
        stop(card);
        let many: Vec<_> = (0..60).map(|_| connected(&daemon, HOSTILE)).collect();
        many.iter().for_each(|connection| ask(connection, Kind::Rsa4096));
        let other = connected(&daemon, OTHER);
        ask(&other, Kind::Rsa2048);
        signal(card, libc::SIGCONT);
        assert_eq!(answer(&other, Kind::Rsa2048), Some(Ok(true)));
        let answers: Vec<_> = many.iter().map(|connection| answer(connection, Kind::Rsa4096)).collect();
        let count = |wanted| answers.iter().filter(|answer| **answer == Some(wanted)).count();
        let (done, refused) = (count(Ok(true)), count(Err(Status::Connections)));
        // Some may have been answered before the last came, and made room.
        assert!(done >= 20 && refused > 0 && done + refused == 60, "{done} done, {refused} refused: {answers:?}");
        // The last may have been told just now, and not ended yet.
        until("the end of who was refused", || {
            let ended = many.iter().filter(|connection| is_over(connection)).count();
            ended >= refused && 60 - ended <= 20
        });
    }
}

/// Idle connections that programs keep are closed in favour of new ones of the same user, and no others are.
#[test]
fn idle_connections_make_room_for_new_ones_of_their_user() {
    if !there_can_be_users() {
        return;
    }
    let daemon = daemon("connections = 10\n[[card]]\nid = 0\n");
    let once = |uid| {
        let connection = connected(&daemon, uid);
        ask(&connection, Kind::Rsa2048);
        assert_eq!(answer(&connection, Kind::Rsa2048), Some(Ok(true)), "a connection of {uid}");
        connection
    };
    let others: Vec<_> = (0..5).map(|_| once(OTHER)).collect();
    // Two hundred backends of a server, say, each of which does one operation and stays.
    let backends: Vec<_> = (0..200).map(|_| once(HOSTILE)).collect();
    assert_eq!(backends.iter().filter(|connection| is_over(connection)).count(), 190);
    assert!(others.iter().all(|connection| !is_over(connection)));
    // Connections that were made and never used, too.
    let silent: Vec<_> = (0..50).map(|_| connected(&daemon, HOSTILE)).collect();
    drop(once(HOSTILE));
    assert!(silent.iter().filter(|connection| is_over(connection)).count() >= 40);
    assert!(others.iter().all(|connection| !is_over(connection)));
}

/// Descriptors are few: one user leaves some for another. Where there are hardly any, others are served once they are free again.
#[test]
fn one_user_leaves_descriptors_for_others() {
    if !there_can_be_users() {
        return;
    }
    for descriptors in [200, 60] {
        let mut daemon = Daemon::none("connections = 1000\n[[card]]\nid = 0\n");
        let mut command = daemon.command();
        limit_descriptors(&mut command, descriptors);
        daemon.start_by(command);
        std::fs::set_permissions(daemon.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let many: Vec<_> = (0..300).map(|_| connected(&daemon, HOSTILE)).collect();
        many.iter().for_each(|connection| ask(connection, Kind::Rsa4096));
        let served = || {
            let other = connected(&daemon, OTHER);
            ask(&other, Kind::Rsa2048);
            answer(&other, Kind::Rsa2048) == Some(Ok(true))
        };
        assert!(descriptors < 200 || served());
        assert!(many.iter().all(|connection| {
            // Refused, done, or let go when it was idle and another came.
            matches!(answer(connection, Kind::Rsa4096), Some(Ok(true) | Err(Status::Connections)) | None)
        }));
        drop(many);
        until("another user that is served", served);
    }
}

fn limit_descriptors(command: &mut std::process::Command, most: u64) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the system call may be made between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
}

/// A card does no request whose sender has gone.
#[test]
fn requests_of_who_has_gone_are_not_done() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = daemon("[[card]]\nid = 0\nworkers = 1\n");
    let done = || {
        let machine = daemon.machine();
        let queues = machine.cards.iter().flat_map(|card| &card.queues);
        queues.flat_map(|queue| &queue.counters).map(|work| work.operations).sum::<u64>()
    };
    let many: Vec<_> = (0..400).map(|_| connect(&daemon.of().socket()).unwrap()).collect();
    many.iter().for_each(|connection| ask(connection, Kind::Rsa4096));
    until("requests that were read", || daemon.machine().cards[0].requests >= 350);
    drop(many);
    let other = connect(&daemon.of().socket()).unwrap();
    ask(&other, Kind::Rsa2048);
    assert_eq!(answer(&other, Kind::Rsa2048), Some(Ok(true)));
    until("nothing under way", || {
        let machine = daemon.machine();
        let mut queues = machine.cards.iter().flat_map(|card| &card.queues);
        queues.all(|queue| queue.requestq + queue.pendingq + queue.load == 0)
    });
    assert!(done() < 350, "{} operations of 401", done());
}

/// A client that asks again before the answer, or takes no answers, is disconnected; others go on.
#[test]
fn who_does_not_keep_to_the_turns_is_let_go() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = daemon("[[card]]\nid = 0\nworkers = 1\n");
    let socket = daemon.of().socket();
    let others: Vec<_> = (0..50).map(|_| connect(&socket).unwrap()).collect();
    others.iter().for_each(|connection| ask(connection, Kind::Rsa4096));
    let hasty = connect(&socket).unwrap();
    let [key, input, _] = known(Kind::Rsa4096);
    let again = wire::Request::new(Kind::Rsa4096, 0, Some(key), input).unwrap();
    until("the end of who asks twice", || {
        // Until one comes before the answer to another: a card may have answered the first by now.
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        (0..3).for_each(|_| _ = rustix::net::send(&hasty, again.bytes(), flags));
        let mut buffer = [0; 1];
        matches!(
            rustix::net::recv(&hasty, &mut buffer[..], RecvFlags::DONTWAIT),
            Ok((0, _)) | Err(rustix::io::Errno::CONNRESET)
        )
    });
    assert!(others.iter().all(|connection| answer(connection, Kind::Rsa4096) == Some(Ok(true))));
    // Without a key, so that the answer comes at once, and none is taken.
    let deaf = connect(&socket).unwrap();
    let [_, input, _] = known(Kind::Rsa2048);
    let request = wire::Request::new(Kind::Rsa2048, 0, None, input).unwrap();
    until("the end of who takes no answers", || {
        rustix::net::send(&deaf, request.bytes(), rustix::net::SendFlags::NOSIGNAL).is_err()
    });
    let other = connect(&socket).unwrap();
    ask(&other, Kind::Rsa2048);
    assert_eq!(answer(&other, Kind::Rsa2048), Some(Ok(true)));
}

/// A program: some operations of one kind.
#[test]
#[ignore = "started by other tests"]
fn program_of_one_kind() {
    adjunct::init();
    let key = key(Kind::Rsa2048);
    (0..50).for_each(|_| operate(&key, Kind::Rsa2048));
}

/// A program that is refused a connection, or whose connection is not accepted, does its work alone, and does not ask again for a while: a program
/// that prefers cards too.
#[test]
fn a_program_that_is_refused_or_not_answered_goes_on_alone() {
    if !there_can_be_cards() {
        return;
    }
    for refuses in [true, false] {
        let folder = Daemon::none("");
        let (mut came, mut kept) = (0, Vec::new());
        folder.run_with("program_of_one_kind", |connection| {
            came += 1;
            if refuses {
                let mut reply = [0; wire::MAX_REPLY];
                let length = wire::write_reply(&mut reply, Kind::Rsa2048, Status::Connections, &[]);
                send(&connection, &reply[..length]);
            } else {
                kept.push(connection);
            }
        });
        let counted = folder.counted();
        assert_eq!((counted.on_card, counted.refused()), (0, came), "refuses: {refuses}");
        // Fifty operations that no card does take some milliseconds; after the first that was refused or not accepted the next are not asked for.
        assert!((1..25).contains(&came), "refuses: {refuses}, {came} connections");
    }
}

/// Has the sockets of a daemon take descriptors in messages, as they do before Linux 6.16.
fn allow_descriptors(daemon: &Daemon) {
    use std::os::fd::{AsRawFd as _, FromRawFd as _};
    let pid = daemon.pid();
    // SAFETY: numbers alone; each descriptor that is given is owned once.
    let get = |number: i64, a: i64, b: i64| unsafe {
        let got = libc::syscall(number, a, b, 0);
        (got >= 0).then(|| OwnedFd::from_raw_fd(got as i32))
    };
    let Some(process) = get(libc::SYS_pidfd_open, i64::from(pid), 0) else { return };
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        let number: i64 = entry.file_name().to_str().unwrap().parse().unwrap();
        if let Some(socket) = get(libc::SYS_pidfd_getfd, process.as_raw_fd().into(), number) {
            let (yes, size) = (1_i32, size_of::<i32>() as u32);
            // SAFETY: the number lives. What is no socket, and a system that does not know the option, refuse it.
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, 83, (&raw const yes).cast(), size) };
        }
    }
}

/// A descriptor in a message, of which the last copy takes half a minute to close, keeps a card from serving no other user: the system refuses it, or
/// the wait is ended.
#[test]
fn descriptors_in_messages_keep_nobody_waiting() {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg, sockopt};
    use std::io::Write as _;
    use std::os::fd::AsFd as _;
    if !there_can_be_users() {
        return;
    }
    for (workers, refuses) in [(1, true), (1, false), (2, false)] {
        let daemon = daemon(&format!("[[card]]\nid = 0\nworkers = {workers}\n"));
        if !refuses {
            allow_descriptors(&daemon);
        }
        let card = daemon.pid_of(0);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut takers, mut refused) = (Vec::new(), 0);
        // The card reads when they are closed here.
        stop(card);
        let asked: Vec<_> = (0..2 * workers + 1)
            .map(|_| {
                let mut lingers = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                takers.push(listener.accept().unwrap().0);
                lingers.set_nonblocking(true).unwrap();
                while lingers.write(&[0; 65536]).is_ok() {}
                sockopt::set_socket_linger(&lingers, Some(std::time::Duration::from_secs(30))).unwrap();
                let connection = connected(&daemon, HOSTILE);
                let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut rights = SendAncillaryBuffer::new(&mut space);
                let list = [lingers.as_fd()];
                rights.push(SendAncillaryMessage::ScmRights(&list));
                let sent = sendmsg(&connection, &[std::io::IoSlice::new(b"junk")], &mut rights, SendFlags::NOSIGNAL);
                refused += usize::from(sent.is_err());
                if sent.is_err() {
                    // Closed at once, and not by waiting for what nobody takes.
                    sockopt::set_socket_linger(&lingers, None).unwrap();
                }
                connection
            })
            .collect();
        let other = connected(&daemon, OTHER);
        ask(&other, Kind::Rsa2048);
        let begin = std::time::Instant::now();
        signal(card, libc::SIGCONT);
        assert_eq!(answer(&other, Kind::Rsa2048), Some(Ok(true)));
        assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{:?}", begin.elapsed());
        println!("the system refused {refused} of {}", asked.len());
        drop(asked);
        assert_eq!(daemon.pid_of(0), card, "the card has ended");
    }
}
