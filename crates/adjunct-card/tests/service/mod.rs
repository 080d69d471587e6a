//! adjunctd as systemd starts it: with sockets that it is given, and limits of its own.

use crate::ONE;
use crate::common::*;
use adjunct_card_state::control::{self, Device, Reply, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketAddrUnix, bind, listen};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Sockets such as systemd makes them: accept blocks while there is no connection.
#[test]
fn sockets_that_are_given_keep_nothing_waiting() {
    if !there_can_be_cards() {
        return;
    }
    let mut daemon = Daemon::none(ONE);
    let sockets = [daemon.of().socket(), daemon.of().control()].map(|path| {
        let socket = new_socket();
        bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&socket, 16).unwrap();
        socket
    });
    let given = sockets.each_ref().map(AsRawFd::as_raw_fd);
    let command = daemon.command();
    // Their number has to be that of the process itself.
    let mut shell = Command::new("sh");
    shell.args(["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    shell.env("LISTEN_FDS", "2").env("LISTEN_FDNAMES", "cards:control");
    // SAFETY: dup2 may be called between fork and exec, and the descriptors are open there.
    unsafe {
        shell.pre_exec(move || {
            // Above both first, for either may be where the other has to go.
            let high = given.map(|fd| libc::fcntl(fd, libc::F_DUPFD, 10));
            (3..).zip(high).for_each(|(to, from)| _ = libc::dup2(from, to));
            Ok(())
        });
    }
    daemon.start_by(shell);
    for _ in 0..2 {
        daemon.run("program_some");
        assert_eq!(daemon.ask(&Request::SetOnline(Device { card: 0, domain: None }, true)), Reply::Done);
    }
    assert!(daemon.was_asked(40), "{:?}", daemon.counted());
    // It hears of its card's end.
    let before = daemon.pid_of(0);
    signal(before, libc::SIGKILL);
    until("another card", || ![0, before].contains(&daemon.pid_of(0)));
    // A program that is about to be accepted when the service is stopped does not have systemd start it again.
    let processes = [daemon.pid(), daemon.pid_of(0)];
    processes.into_iter().for_each(|process| signal(process, libc::SIGSTOP));
    let waiting: Vec<_> =
        (0..8).map(|_| connect(&daemon.of().socket()).expect("a place among those that wait")).collect();
    signal(processes[0], libc::SIGTERM);
    processes.into_iter().for_each(|process| signal(process, libc::SIGCONT));
    assert!(daemon.end().status.success());
    let mut polled = [PollFd::new(&sockets[0], PollFlags::IN)];
    assert_eq!(poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0), "programs wait to be accepted");
    drop(waiting);
    assert!(daemon.of().socket().exists() && daemon.of().control().exists(), "what systemd made is systemd's");
}

/// What a process maps counts, and an allocation that the limit refuses would end it.
#[test]
fn memory_is_locked_only_where_the_limit_is_enough_for_all_of_it() {
    if !there_can_be_cards() {
        return;
    }
    const LIMIT: u64 = 8 << 20;
    let mut daemon = Daemon::none(ONE);
    let mut command = daemon.command();
    // SAFETY: these system calls may be made between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: LIMIT, rlim_max: LIMIT };
            const CAP_IPC_LOCK: libc::c_ulong = 14;
            // Who has no capability need not give it up.
            libc::prctl(libc::PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
            match libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let locked = |daemon: &Daemon| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid_of(0))).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap().trim().to_owned();
        line.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    if daemon.try_start_by(command) {
        assert_eq!(locked(&daemon), 0);
        (0..3).for_each(|_| daemon.run("program_some"));
        assert!(daemon.was_asked(60), "{:?}", daemon.counted());
        daemon.kill();
    } else {
        println!("SKIPPED: a limit of locked memory of 8 MB may not be had here");
    }
    let sets = rustix::thread::capabilities(None).unwrap();
    if sets.effective.contains(rustix::thread::CapabilitySet::IPC_LOCK) {
        daemon.start_again();
        assert!(locked(&daemon) > 0);
        daemon.run("program_some");
    }
}

/// Of two daemons that start at once on the sockets of one that was killed, one survives, though both find no daemon there.
#[test]
fn of_two_that_start_one_lives() {
    let folder = Daemon::none("");
    std::fs::write(folder.folder.path().join("cards.conf"), "").unwrap();
    for round in 0..if std::env::var_os("ADJUNCT_DEEP").is_some() { 500 } else { 25 } {
        let start = |_| folder.command().stderr(Stdio::piped()).spawn().unwrap();
        let mut two = Vec::from([0, 1].map(start));
        let mut ended = None;
        let answers = || matches!(control::ask(&folder.of().control(), &Request::ListNodes), Ok(Reply::Nodes(_)));
        for _ in 0..2000 {
            ended = two.iter_mut().position(|daemon| daemon.try_wait().unwrap().is_some());
            if ended.is_some() && answers() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let loser = two.remove(ended.expect("one of two ends")).wait_with_output().unwrap();
        let said = String::from_utf8(loser.stderr).unwrap();
        assert!(loser.status.code() == Some(1) && said.contains("another adjunctd runs there"), "{round}: {said}");
        let mut winner = two.remove(0);
        assert!(winner.try_wait().unwrap().is_none() && answers(), "{round}: none lives");
        winner.kill().unwrap();
        winner.wait().unwrap();
        assert!(folder.of().socket().exists() && !answers());
    }
}
