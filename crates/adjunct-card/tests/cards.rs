//! Cards as programs and administrators have them: real daemons, card processes and programs, ended at any time.

mod common;
#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
mod service;

use adjunct::catalogue::Queue;
use adjunct_card_protocol::wire::{self, Kind, Status};
use adjunct_card_state::control::{Device, Item, Reply, Request};
use adjunct_card_state::state;
use common::*;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

const QUEUES: [Queue; 3] = [Queue::Rsa2048, Queue::Rsa3072, Queue::Rsa4096];
const ONE: &str = "[[card]]\nid = 0\nworkers = 2\n";
const TWO: &str =
    "type = \"CEX8\"\n[[card]]\nid = 0\nworkers = 2\ndomains = [5, 47]\n[[card]]\nid = 3\nworkers = 1\ndomains = [5]\n";

fn card(card: u8) -> Device {
    Device { card, domain: None }
}

/// A program: some operations of each kind.
#[test]
#[ignore = "started by other tests"]
fn program_some() {
    adjunct::init();
    for kind in Kind::ALL {
        let key = key(kind);
        (0..20).for_each(|_| operate(&key, kind));
    }
}

/// A program: operations until its standard input ends, with two threads.
#[test]
#[ignore = "started by other tests"]
fn program_on_and_on() {
    adjunct::init();
    let key = key(Kind::Rsa2048);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ends.load(Relaxed) {
                    operate(&key, Kind::Rsa2048);
                }
            });
        }
        let _ = std::io::stdin().read(&mut [0]);
        ends.store(true, Relaxed);
    });
}

#[test]
fn cards_do_operations_and_all_is_counted() {
    if !there_can_be_cards() {
        return;
    }
    let mut daemon = Daemon::start(TWO);
    daemon.run("program_some");
    assert!(daemon.was_asked(20), "{:?}", daemon.counted());
    assert!(daemon.counted().on_card > 0);
    let machine = daemon.machine();
    assert_eq!(
        machine.cards.iter().map(|card| (card.id, card.kind.as_str())).collect::<Vec<_>>(),
        [(0, "CEX8A"), (3, "CEX8A")]
    );
    let requests: u64 = machine.cards.iter().map(|card| card.requests).sum();
    // One that was given up may have been read before.
    let on_card: u64 = QUEUES.map(|queue| daemon.counted_of(queue).on_card).iter().sum();
    assert!((on_card..=60).contains(&requests) && on_card > 0, "{on_card}: {machine:?}");
    let queues = || machine.cards.iter().flat_map(|card| &card.queues);
    let done: u64 = queues().flat_map(|queue| &queue.counters).map(|work| work.operations).sum();
    assert!((on_card..=requests).contains(&done));
    assert!(queues().all(|queue| queue.requestq + queue.pendingq + queue.load == 0));
    // It ends when it is told to, with its cards, and leaves no sockets behind.
    let cards = [0, 3].map(|id| daemon.pid_of(id));
    assert!(daemon.end().status.success());
    assert!(cards.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
    assert!(!daemon.of().socket().exists() && !daemon.of().control().exists());
    assert!(matches!(state::read(&daemon.of().state()), Err(state::Error::NotRunning)));
    // Counts go on in the next.
    daemon.start_again();
    assert_eq!(daemon.machine().cards.iter().map(|card| card.requests).sum::<u64>(), requests);
}

/// A program: operations of one kind, for which cards are asked wherever they may be.
#[test]
#[ignore = "started by other tests"]
fn program_that_prefers_cards() {
    adjunct::init();
    adjunct::ops::cards::prefer(true);
    let key = key(Kind::Rsa2048);
    (0..20).for_each(|_| operate(&key, Kind::Rsa2048));
}

/// A program with libseccomp may close a filter that kills for what asking takes.
#[test]
fn where_a_filter_is_to_be_expected_cards_are_asked_on_demand() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(ONE);
    for (word, expected) in [("always", 0), ("", 0), ("off", 0), ("on", 20)] {
        let mut program = daemon.program("program_that_prefers_cards");
        program.env("ADJUNCT_CARDS", word).env("ADJUNCT_ACCELERATOR", "on").env("LD_PRELOAD", "libseccomp.so.2");
        succeeded(program.spawn().unwrap());
        assert!(daemon.was_asked(expected), "ADJUNCT_CARDS={word}: {:?}", daemon.counted());
    }
}

#[test]
fn whoever_is_ended_when_no_program_has_an_error() {
    if !there_can_be_cards() {
        return;
    }
    let mut daemon = Daemon::start(TWO);
    let mut programs: Vec<_> = (0..6).map(|_| daemon.program("program_on_and_on").spawn().unwrap()).collect();
    let served = |daemon: &Daemon, what: &str| {
        let before = daemon.counted().on_card;
        until(what, || daemon.counted().on_card > before + 50);
    };
    let rounds = if std::env::var_os("ADJUNCT_DEEP").is_some() { 20 } else { 2 };
    for round in 0..rounds {
        served(&daemon, "operations on cards");
        for id in [0, 3] {
            let before = daemon.pid_of(id);
            signal(before, libc::SIGKILL);
            until("a card that starts again", || ![0, before].contains(&daemon.pid_of(id)));
        }
        served(&daemon, "operations after cards were killed");
        for (card_id, online) in [(0, false), (3, false), (0, true), (3, true)] {
            assert_eq!(daemon.ask(&Request::SetOnline(card(card_id), online)), Reply::Done);
        }
        served(&daemon, "operations after cards were offline");
        for config in [false, true] {
            assert_eq!(daemon.ask(&Request::SetConfig(0, config)), Reply::Done);
            assert_eq!(daemon.ask(&Request::SetConfig(3, config)), Reply::Done);
        }
        served(&daemon, "operations after cards were deconfigured");
        // A program that is killed.
        let mut killed = programs.remove(0);
        killed.kill().unwrap();
        killed.wait().unwrap();
        programs.push(daemon.program("program_on_and_on").spawn().unwrap());
        if round % 2 == 0 {
            let cards = [0, 3].map(|id| daemon.pid_of(id));
            daemon.kill();
            let gone = || cards.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists());
            until("cards that end with their daemon", gone);
        } else {
            assert!(daemon.end().status.success());
        }
        daemon.start_again();
    }
    served(&daemon, "operations in the end");
    for mut program in programs {
        drop(program.stdin.take());
        succeeded(program);
    }
    until("nothing under way", || {
        let machine = daemon.machine();
        machine
            .cards
            .iter()
            .flat_map(|card| &card.queues)
            .all(|queue| queue.requestq + queue.pendingq + queue.load == 0)
    });
}

#[test]
fn what_is_no_request_ends_a_connection_and_nothing_else() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(ONE);
    let (socket, pid) = (daemon.of().socket(), daemon.pid_of(0));
    let [key, input, output] = known(Kind::Rsa2048);
    let good = wire::Request::new(Kind::Rsa2048, 0, Some(key), input).unwrap();
    // A version before and after this one, another service, a reply, and what was a request before there were frames.
    let changed = |at: usize, byte: u8| {
        let mut message = good.bytes().to_vec();
        message[at] = byte;
        message
    };
    let others = [changed(4, 0), changed(4, 99), changed(6, 2), changed(8, 77), changed(10, 1)];
    let mut before_frames = vec![0; Kind::Rsa2048.again()];
    before_frames[..6].copy_from_slice(b"ADJQ\x02\0");
    let long = vec![0; 100_000];
    let all = [&b"x"[..], &good.bytes()[1..], &before_frames, &long, &[0; 1176], &[0; 272]];
    for message in all.into_iter().chain(others.iter().map(|message| &message[..])) {
        let connection = connect(&socket).unwrap();
        send(&connection, message);
        assert!(receive(&connection).is_empty(), "{} bytes", message.len());
    }
    // Requests that are none of a key: all zeros, an even prime, primes of another modulus.
    for change in [0..key.len(), 8 + 256 + 127..8 + 256 + 128, 8..20] {
        let mut wrong = key.to_vec();
        wrong[change].fill(0);
        let connection = connect(&socket).unwrap();
        send(&connection, wire::Request::new(Kind::Rsa2048, 0, Some(&wrong), input).unwrap().bytes());
        assert_eq!(wire::reply(Kind::Rsa2048, &receive(&connection)), Some(Err(Status::Invalid)));
        // An input above the modulus, on the same connection.
        send(&connection, wire::Request::new(Kind::Rsa2048, 0, Some(key), &[0xff; 256]).unwrap().bytes());
        assert_eq!(wire::reply(Kind::Rsa2048, &receive(&connection)), Some(Err(Status::Invalid)));
    }
    // Connections that ask nothing, and some that go before their answer comes.
    let idle: Vec<_> = (0..200).map(|_| connect(&socket).unwrap()).collect();
    for _ in 0..50 {
        let connection = connect(&socket).unwrap();
        send(&connection, good.bytes());
    }
    let connection = connect(&socket).unwrap();
    send(&connection, good.bytes());
    assert_eq!(wire::reply(Kind::Rsa2048, &receive(&connection)), Some(Ok(output)));
    drop(idle);
    assert_eq!(daemon.pid_of(0), pid, "the card has ended");
    daemon.run("program_some");
}

/// A key is done by its place only on a connection that has brought it, and only for operations of its kind.
#[test]
fn a_key_is_named_by_its_place_where_it_was_brought() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(ONE);
    let ask = |connection: &OwnedFd, kind, place, key| {
        let [_, input, _] = known(kind);
        send(connection, wire::Request::new(kind, place, key, input).unwrap().bytes());
        let reply = receive(connection);
        wire::reply(kind, &reply).unwrap().map(|output| output == known(kind)[2])
    };
    let (first, other) = (connect(&daemon.of().socket()).unwrap(), connect(&daemon.of().socket()).unwrap());
    for (place, kind) in (0..).zip(Kind::ALL) {
        assert_eq!(ask(&first, kind, place, None), Err(Status::NoKey));
        assert_eq!(ask(&first, kind, place, Some(known(kind)[0])), Ok(true));
    }
    for (place, kind) in (0..).zip(Kind::ALL) {
        assert_eq!(ask(&first, kind, place, None), Ok(true));
        assert_eq!(ask(&first, kind, (place + 1) % 3, None), Err(Status::NoKey));
        assert_eq!(ask(&first, kind, 3, None), Err(Status::NoKey));
        assert_eq!(ask(&other, kind, place, None), Err(Status::NoKey));
    }
    // Another key in its place.
    assert_eq!(ask(&first, Kind::Rsa3072, 0, Some(known(Kind::Rsa3072)[0])), Ok(true));
    assert_eq!(ask(&first, Kind::Rsa2048, 0, None), Err(Status::NoKey));
    assert_eq!(ask(&first, Kind::Rsa3072, 0, None), Ok(true));
}

#[test]
fn tools_get_the_drivers_answers() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(TWO);
    let refused = |request: &Request| match daemon.ask(request) {
        Reply::Refused(number, why) => (number, !why.is_empty()),
        other => panic!("{request:?}: {other:?}"),
    };
    let queue = |domain| Device { card: 0, domain: Some(domain) };
    assert_eq!(refused(&Request::SetOnline(card(9), true)), (libc::ENODEV, true));
    assert_eq!(refused(&Request::SetOnline(queue(6), true)), (libc::ENODEV, true));
    assert_eq!(daemon.ask(&Request::SetOnline(card(0), false)), Reply::Done);
    assert!(daemon.machine().cards[0].queues.iter().all(|queue| !queue.online));
    assert_eq!(refused(&Request::SetOnline(queue(5), true)), (libc::EINVAL, true));
    assert_eq!(daemon.ask(&Request::SetConfig(0, false)), Reply::Done);
    assert_eq!(refused(&Request::SetOnline(card(0), true)), (libc::ENODEV, true));
    assert_eq!(daemon.ask(&Request::SetConfig(0, true)), Reply::Done);
    assert_eq!(daemon.ask(&Request::SetOnline(card(0), true)), Reply::Done);
    assert_eq!(refused(&Request::SetConfigTime(3)), (libc::EINVAL, true));
    assert_eq!(daemon.ask(&Request::SetDefaultDomain(47)), Reply::Done);
    assert_eq!(daemon.machine().bus.default_domain, Some(47));
    assert_eq!(daemon.ask(&Request::ResetCounts(None)), Reply::Done);
    // Nodes: nothing is allowed until somebody says so.
    let Reply::Nodes(made) = daemon.ask(&Request::CreateNode(None)) else { panic!() };
    assert_eq!(made[0].name, "zcrypt_0");
    assert_eq!(refused(&Request::CreateNode(Some("zcrypt_0".into()))), (libc::EEXIST, true));
    assert_eq!(refused(&Request::CreateNode(Some("../x".into()))), (libc::EINVAL, true));
    let [key, input, _] = known(Kind::Rsa2048);
    let asked = || {
        let connection = connect(made[0].path.as_ref()).unwrap();
        send(&connection, wire::Request::new(Kind::Rsa2048, 0, Some(key), input).unwrap().bytes());
        receive(&connection).len()
    };
    assert_eq!(asked(), 0);
    for item in [Item::Adapter(3), Item::Domain(5), Item::Ioctl(6)] {
        assert_eq!(daemon.ask(&Request::ChangeNode("zcrypt_0".into(), item, true)), Reply::Done);
    }
    assert_eq!(asked(), Kind::Rsa2048.reply());
    let machine = daemon.machine();
    assert_eq!((machine.cards[0].requests, machine.cards[1].requests), (0, 1), "a card that the node does not allow");
    assert_eq!(daemon.ask(&Request::ChangeNode("zcrypt_0".into(), Item::Adapter(3), false)), Reply::Done);
    assert_eq!(asked(), 0);
    assert_eq!(daemon.ask(&Request::DestroyNode("zcrypt_0".into())), Reply::Done);
    assert!(connect(made[0].path.as_ref()).is_none());
    assert_eq!(refused(&Request::DestroyNode("zcrypt_0".into())), (libc::ENODEV, true));
}

/// A card of a daemon that was killed still listens while it has not seen that: the next daemon waits for its end.
#[test]
fn a_card_that_is_slow_to_end_keeps_no_daemon_from_starting() {
    if !there_can_be_cards() {
        return;
    }
    let mut daemon = Daemon::start(ONE);
    let card = daemon.pid_of(0);
    signal(card, libc::SIGSTOP);
    daemon.kill();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            signal(card, libc::SIGCONT);
        });
        daemon.start_again();
    });
    daemon.run("program_some");
    assert!(daemon.was_asked(20), "{:?}", daemon.counted());
}

#[test]
fn nothing_wakes_where_nothing_happens() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(ONE);
    daemon.run("program_some");
    let switches = || {
        let pids = [daemon.pid(), daemon.pid_of(0)];
        let tasks = pids.iter().flat_map(|pid| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap());
        let status = tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).unwrap());
        status
            .map(|text| text.lines().filter(|line| line.contains("ctxt_switches")).collect::<String>())
            .collect::<Vec<_>>()
    };
    std::thread::sleep(Duration::from_millis(300));
    let before = switches();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(switches(), before);
}

/// A program whose descriptors are all closed and their numbers used for something else.
#[test]
#[ignore = "started by other tests"]
fn program_that_closes_everything() {
    adjunct::init();
    let key = key(Kind::Rsa2048);
    operate(&key, Kind::Rsa2048);
    // SAFETY: nothing of this program's is open there but what the core keeps.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
    let (mine, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    for number in 3..200 {
        if ![mine.as_raw_fd(), theirs.as_raw_fd()].contains(&number) {
            // SAFETY: numbers that are free.
            unsafe { libc::dup2(theirs.as_raw_fd(), number) };
        }
    }
    operate(&key, Kind::Rsa2048);
    mine.set_nonblocking(true).unwrap();
    let came = mine.recv(&mut [0; 4096]);
    assert!(came.is_err(), "a request went to a stranger");
    // SAFETY: no pointers.
    let is_open = |number| unsafe { libc::fcntl(number, libc::F_GETFD) } >= 0;
    assert!((3..200).all(is_open), "a stranger's descriptor was closed");
}

/// Runs as a program that forks, whose child uses the keys and module that it has inherited.
#[test]
#[ignore = "started by other tests"]
fn program_that_forks() {
    adjunct::init();
    let key = key(Kind::Rsa2048);
    for _ in 0..20 {
        operate(&key, Kind::Rsa2048);
        // SAFETY: the child does operations and ends; this program has one thread that is inside of nothing.
        let child = unsafe { libc::fork() };
        (0..5).for_each(|_| operate(&key, Kind::Rsa2048));
        if child == 0 {
            // SAFETY: nothing is flushed.
            unsafe { libc::_exit(0) };
        }
        let mut status = -1;
        // SAFETY: a child of this process.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }
}

#[test]
fn programs_may_close_descriptors_and_fork() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(ONE);
    daemon.run("program_that_closes_everything");
    assert!(daemon.was_asked(2), "{:?}", daemon.counted());
    daemon.run("program_that_forks");
    assert!(daemon.was_asked(2 + 20 * 11), "{:?}", daemon.counted());
}

#[test]
fn a_silent_card_is_not_waited_for_long() {
    if !there_can_be_cards() {
        return;
    }
    let daemon = Daemon::start(ONE);
    let pid = daemon.pid_of(0);
    signal(pid, libc::SIGSTOP);
    let begin = Instant::now();
    let mut program = daemon.program("program_on_and_on").spawn().unwrap();
    until("operations that no card did", || daemon.counted().refused() >= 2);
    drop(program.stdin.take());
    succeeded(program);
    signal(pid, libc::SIGCONT);
    assert!(begin.elapsed() < Duration::from_secs(15));
}

/// A card whose results are wrong, or that says what is no reply: the program finds out, and does its work.
#[test]
fn wrong_results_are_not_used() {
    if !there_can_be_cards() {
        return;
    }
    let folder = Daemon::none("");
    let mut rounds = 0..;
    folder.run_with("program_some", |connection| {
        let round = rounds.next().unwrap_or(0);
        if let message @ [_, ..] = &receive(&connection)[..] {
            let wire::Asked { kind, input, .. } = wire::request(message).unwrap();
            let mut reply = [0; wire::MAX_REPLY];
            let output = known(kind)[2];
            let mut wrong = output.to_vec();
            wrong[round % output.len()] ^= 1;
            let length = match round % 4 {
                0 => wire::write_reply(&mut reply, kind, Status::Done, &wrong),
                1 => wire::write_reply(&mut reply, kind, Status::Done, input),
                2 => wire::write_reply(&mut reply, kind, Status::Done, &output[1..]),
                _ => 3,
            };
            send(&connection, &reply[..length]);
        }
    });
    let counted = folder.counted();
    // Those that a program does alone are counted where it could have done them with others.
    let alone = if adjunct::card::work::available() { 20 } else { 0 };
    let (refused, late) = (counted.refused(), late(&counted));
    assert!(refused == 20 || late >= 3, "{counted:?}");
    assert_eq!((counted.on_card, counted.alone), (0, alone));
}

/// A card whose replies are of another version, or of the protocol before frames: the program does its work by itself.
#[test]
fn replies_of_another_version_are_none() {
    if !there_can_be_cards() {
        return;
    }
    for (at, bytes) in [(4, &[9, 0][..]), (0, &b"ADJR\x02\0"[..])] {
        let folder = Daemon::none("");
        let mut came = 0;
        folder.run_with("program_some", |connection| {
            if let message @ [_, ..] = &receive(&connection)[..] {
                let kind = wire::request(message).unwrap().kind;
                let mut reply = [0; wire::MAX_REPLY];
                let length = wire::write_reply(&mut reply, kind, Status::Done, known(kind)[2]);
                reply[at..at + bytes.len()].copy_from_slice(bytes);
                send(&connection, &reply[..length]);
                came += 1;
            }
        });
        let counted = folder.counted();
        assert!(came > 0 && counted.on_card == 0, "{came}: {counted:?}");
    }
}

/// A daemon without options, on a CPU without lanes, starts no card and says why in one sentence.
#[test]
fn without_lanes_there_is_no_card_by_itself() {
    if adjunct::card::work::available() {
        println!("SKIPPED: this CPU has lanes");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::none(TWO);
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunctd"));
    std::fs::write(folder.path().join("cards.conf"), TWO).unwrap();
    command.arg("--folder").arg(daemon.folder.path()).arg("--config").arg(folder.path().join("cards.conf"));
    assert!(daemon.try_start_without_cards_by(command));
    until("a sentence why", || state::read(&daemon.of().state()).is_ok_and(|machine| !machine.remark.is_empty()));
    let machine = daemon.machine();
    assert!(machine.cards.iter().all(|card| !card.config && card.remark == machine.remark), "{machine:?}");
    assert!(machine.remark.contains("AVX-512 IFMA"), "{machine:?}");
    // It goes on: what asks is answered, and programs do their operations themselves.
    assert!(matches!(daemon.ask(&Request::SetOnline(card(0), true)), Reply::Refused(..)));
    daemon.run("program_some");
    let counted = daemon.counted();
    assert_eq!((counted.on_card, counted.refused()), (0, 0));
    assert!(daemon.end().status.success());
}

#[test]
fn what_is_wrong_at_the_start_is_said_in_a_line() {
    let run = |daemon: &Daemon| {
        let output = daemon.command().output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), text.lines().count() >= 1), (Some(1), true), "{text}");
        text
    };
    let none = Daemon::none("");
    assert!(run(&none).contains("cards.conf: No such file"));
    let wrong = Daemon::none("");
    std::fs::write(wrong.folder.path().join("cards.conf"), "[[card]]\nid = 700\n").unwrap();
    assert!(run(&wrong).contains("line 2"));
    // What is not the daemon's stays: a file in the place of a socket, and what a link in the place of the lock leads to.
    let foreign = Daemon::none(ONE);
    std::fs::write(foreign.folder.path().join("cards.conf"), ONE).unwrap();
    std::fs::write(foreign.of().socket(), "a file").unwrap();
    run(&foreign);
    assert_eq!(std::fs::read_to_string(foreign.of().socket()).unwrap(), "a file");
    std::fs::remove_file(foreign.of().socket()).unwrap();
    let _ = std::fs::remove_file(foreign.of().lock());
    let led_to = foreign.folder.path().join("led to");
    std::os::unix::fs::symlink(&led_to, foreign.of().lock()).unwrap();
    run(&foreign);
    assert!(!led_to.exists());
    let twice = Daemon::start("");
    assert!(run(&twice).contains("another adjunctd runs there"));
    assert_eq!(twice.machine().remark, "cards.conf has no card.");
}

/// What `adjunctd --folder "$XDG_RUNTIME_DIR/adjunct"` is where the variable is empty, as in a session that no login made.
#[test]
fn a_user_without_a_folder_is_told_how_to_name_one() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let stage = tempfile::tempdir().unwrap();
    std::fs::set_permissions(stage.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = stage.path().join("adjunctd");
    copy::copy(env!("CARGO_BIN_EXE_adjunctd"), &program);
    let is_root = rustix::process::geteuid().is_root();
    let said = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        // Empty it names no folder.
        command.args(arguments).env("ADJUNCT_CARDS_DIR", "");
        if is_root {
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let advice = "Permission denied; name a folder of your own by --folder, and to programs by ADJUNCT_CARDS_DIR\n";
    assert_eq!(said(&["--folder", "/adjunct"]), format!("adjunctd: /adjunct: {advice}"));
    let machines = said(&[]);
    assert!(machines.starts_with("adjunctd: /run/adjunct") && machines.ends_with(advice), "{machines}");
    if is_root {
        let folder = stage.path().to_str().unwrap();
        assert_eq!(said(&["--folder", folder]), format!("adjunctd: {folder}/lock: {advice}"));
    }
}
