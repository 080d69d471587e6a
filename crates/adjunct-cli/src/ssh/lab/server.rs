//! A private sshd that runs.

use super::place::Files;
use super::{Place, Setup, config, runtime};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::tree::{self, kill};
use adjunct_tool::process::{Running, descendants, last_line};
use rustix::process::Signal;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What takes longer hangs: on the busiest of machines sshd starts, and a session ends, within seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// A running server: one that listens, or one of a single connection. Dropping it ends it and its sessions.
#[derive(Debug)]
pub struct Sshd {
    process: Running,
    files: Files,
    /// Port where the server listens; `None`: it has its connection.
    port: Option<u16>,
}

impl Sshd {
    /// Starts sshd on loopback for the user of `place`, at `port` or a free one, and waits until it listens. It has the Ed25519
    /// key unless `setup` names another.
    ///
    /// # Errors
    /// [`Failure`] with sshd's own words: the port is taken, an option is wrong, ...
    pub fn start(place: &Place, port: Option<u16>, setup: &Setup) -> Result<Sshd, Failure> {
        // Between looking for a free port and binding it, another program may take it.
        for _ in 0..5 {
            let at = match port {
                Some(port) => port,
                None => port_of(&free_port()?)?,
            };
            if let Some(server) = start_at(place, at, setup)? {
                return Ok(server);
            }
            if port.is_some() {
                return Err(Failure::new(format!("port {at} is taken; give another by --port")));
            }
        }
        Err(Failure::new("no free port found on loopback"))
    }

    /// Starts `sshd -i` for a connection: a child of this process that ends with the connection, so that the kernel's own account of it is the cost
    /// of one connection. The host keys are the caller's lines.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be started.
    pub(super) fn answer(place: &Place, socket: TcpStream, setup: &Setup) -> Result<Sshd, Failure> {
        let files = place.files("sshd", &config::server(place, setup, ""))?;
        let sshd = &place.programs.sshd;
        let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", sshd.display()));
        socket.set_nonblocking(false).map_err(failed)?;
        let input = OwnedFd::from(socket);
        let mut command = Command::new(sshd);
        command.args(["-i", "-e", "-f"]).arg(&files.config);
        setup.environment.apply(&mut command);
        command.stdout(input.try_clone().map_err(failed)?).stdin(input).stderr(files.new_log()?);
        let process = Running::new(command.spawn().map_err(failed)?);
        Ok(Sshd { process, files, port: None })
    }

    /// The port that the server listens at.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_default()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Text of the server's log.
    pub fn log(&self) -> String {
        self.files.log()
    }

    pub(super) fn process(&mut self) -> &mut Running {
        &mut self.process
    }

    /// Waits until the server's sessions have ended and ends it; its processor time is then this process's children's.
    ///
    /// # Errors
    /// [`Failure`] where a session does not end in time, or before an interrupt; it is killed then.
    pub fn stop(mut self) -> Result<(), Failure> {
        let clean = self.sessions_end(LIMIT);
        self.end();
        interrupted()?;
        if clean { Ok(()) } else { Err(Failure::new("a session of the private sshd did not end and was killed")) }
    }

    fn sessions_end(&self, limit: Duration) -> bool {
        let start = Instant::now();
        while !descendants(self.pid()).is_empty() {
            if start.elapsed() > limit || interrupted().is_err() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        true
    }

    /// Asks the server and its sessions to end; what is left after three seconds is killed.
    fn end(&mut self) {
        // The listener first, so that no session starts; then what is left of the sessions, found before they lose
        // their parent.
        let left = descendants(self.pid());
        kill(self.pid(), Signal::TERM);
        for pid in left {
            kill(pid, Signal::TERM);
        }
        let _ = self.process.wait(Duration::from_secs(3));
        self.process.kill();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if self.port.is_some() && self.process.runs() {
            // A client that is gone ends its session within milliseconds; only what hangs is killed.
            self.sessions_end(Duration::from_millis(500));
            self.end();
        }
    }
}

/// `None` where the port is taken.
fn start_at(place: &Place, port: u16, setup: &Setup) -> Result<Option<Sshd>, Failure> {
    let listen = format!("ListenAddress 127.0.0.1:{port}\n{}", place.unless(setup, "HostKey")?);
    let files = place.files("sshd", &config::server(place, setup, &listen))?;
    let sshd = &place.programs.sshd;
    let words = runtime::words(sshd, &files.config, &setup.environment)?;
    let words: Vec<&std::ffi::OsStr> = words.iter().map(AsRef::as_ref).chain([sshd.as_os_str()]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["-D", "-e", "-f"]).arg(&files.config);
    setup.environment.apply(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(files.new_log()?);
    // What its sessions leave behind comes to this process, and can be found.
    tree::adopt();
    let child = command.spawn().map_err(|e| Failure::new(format!("{}: {e}", sshd.display())))?;
    let mut server = Sshd { process: Running::new(child), files, port: Some(port) };
    let start = Instant::now();
    loop {
        if server.log().contains("Server listening on") {
            return Ok(Some(server));
        }
        if !server.process.runs() || start.elapsed() > LIMIT {
            let said = server.log();
            if said.contains("Address already in use") {
                return Ok(None);
            }
            return Err(Failure::new(format!("sshd does not start: {}", last_line(&said))));
        }
        interrupted()?;
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// A listener at a free port on loopback.
pub(super) fn free_port() -> Result<TcpListener, Failure> {
    TcpListener::bind(("127.0.0.1", 0)).map_err(|e| no_port(&e))
}

/// The port of a listener.
pub(super) fn port_of(listener: &TcpListener) -> Result<u16, Failure> {
    listener.local_addr().map(|address| address.port()).map_err(|e| no_port(&e))
}

/// No free port was found.
pub(super) fn no_port(error: &std::io::Error) -> Failure {
    Failure::new(format!("no port to be had on loopback: {error}"))
}
