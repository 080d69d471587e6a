//! Places servers that are measured, and the load that measures them, on separate processors and at free ports of the loopback.

use crate::Failure;
use crate::failure::cause;
use std::net::TcpListener;
use std::process::Command;

/// The processors of the servers and of the load, as taskset takes them.
#[derive(Debug, Clone)]
pub struct Halves {
    /// Processors of the servers.
    pub server: String,
    /// Processors of the load.
    pub load: String,
}

impl Halves {
    /// Halves of the processors that this process may run on.
    pub fn of_this_machine() -> Option<Halves> {
        let all = processors();
        Halves::split(&all, all.len() / 2)
    }

    /// The first `servers` processors that this process may run on, and the others for the load; `None` where either would have none.
    pub fn with(servers: usize) -> Option<Halves> {
        Halves::split(&processors(), servers)
    }

    fn split(all: &[usize], servers: usize) -> Option<Halves> {
        let list = |cpus: &[usize]| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let (server, load) = all.split_at_checked(servers)?;
        (!server.is_empty() && !load.is_empty()).then(|| Halves { server: list(server), load: list(load) })
    }

    /// A command on these processors.
    pub fn pinned(cpus: Option<&str>, command: &Command) -> Command {
        let Some(cpus) = cpus else { return copy(Command::new(command.get_program()), command) };
        let mut pinned = Command::new("taskset");
        pinned.arg("-c").arg(cpus).arg(command.get_program());
        copy(pinned, command)
    }
}

/// The processors that this process may run on.
pub fn processors() -> Vec<usize> {
    let Ok(set) = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)) else { return Vec::new() };
    (0..nix::sched::CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).collect()
}

/// The words and the environment of `from` behind those of `to`.
pub fn copy(mut to: Command, from: &Command) -> Command {
    to.args(from.get_args());
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
    to
}

/// A port of the loopback that is free at this moment.
pub fn free_port() -> Result<u16, Failure> {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr());
    port.map(|a| a.port()).map_err(|e| Failure::new(format!("no port on the loopback: {}", cause(&e))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_processors() {
        let split = |servers| Halves::split(&[0, 2, 5], servers).map(|halves| (halves.server, halves.load));
        assert_eq!(split(1), Some(("0".to_owned(), "2,5".to_owned())));
        assert_eq!([split(0), split(3), split(4)], [None, None, None]);
    }

    #[test]
    fn a_command_keeps_its_words_and_environment_when_it_is_pinned() {
        let mut command = Command::new("java");
        command.arg("-x").env("A", "b").env_remove("C");
        let pinned = Halves::pinned(Some("0,2"), &command);
        let words: Vec<_> = pinned.get_args().collect();
        assert_eq!(
            (pinned.get_program().to_str(), words),
            (Some("taskset"), vec!["-c".as_ref(), "0,2".as_ref(), "java".as_ref(), "-x".as_ref()])
        );
        assert_eq!(pinned.get_envs().count(), 2);
    }
}
