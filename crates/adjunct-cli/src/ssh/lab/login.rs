//! A login through a private sshd: the running client, and the connection's own server, if it has one.

use super::place::{Files, for_client};
use super::server::{Sshd, free_port, no_port, port_of};
use super::{Place, Setup};
use adjunct_tool::Failure;
use adjunct_tool::process::{Running, Spent, last_line, readable};
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A client that runs. Dropping it ends it, and a server of its own.
#[derive(Debug)]
pub struct Login<'a> {
    place: &'a Place,
    client: Option<Running>,
    /// The login's own server. It stays here when it has ended: its log says why a login failed.
    server: Option<Sshd>,
    server_ended: bool,
    /// The socket where the client is to connect, until it has.
    listener: Option<TcpListener>,
    files: Files,
    /// When the client was started.
    pub start: Instant,
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        // The client first: a server whose client is gone ends itself with its session.
        drop(self.client.take());
        if let Some(server) = &mut self.server {
            let _ = server.process().wait(Duration::from_secs(2));
        }
    }
}

/// ssh with `remote` as its command; for [`Login::alone`].
pub(in crate::ssh) fn ssh(place: &Place, remote: &str) -> impl FnOnce(&Path) -> Command {
    move |config| {
        let mut command = place.ssh(config);
        command.arg(remote).stdout(Stdio::piped());
        command
    }
}

impl<'a> Login<'a> {
    /// Starts ssh, which logs in to a server that listens.
    pub fn through(server: &Sshd, place: &'a Place, setup: &Setup, remote: &str) -> Result<Login<'a>, Failure> {
        Login::new(place, server.port(), setup, ssh(place, remote))
    }

    /// Starts a program that logs in, made for a configuration. It is given a server of its own when it connects; nothing listens on a port that
    /// other users could connect to.
    pub fn alone(
        place: &'a Place,
        setup: &Setup,
        program: impl FnOnce(&Path) -> Command,
    ) -> Result<Login<'a>, Failure> {
        let listener = free_port()?;
        listener.set_nonblocking(true).map_err(|e| no_port(&e))?;
        let mut setup = setup.clone();
        // sshd is only then started.
        setup.lines.push("ConnectTimeout 30".to_owned());
        let mut login = Login::new(place, port_of(&listener)?, &setup, program)?;
        login.listener = Some(listener);
        Ok(login)
    }

    fn new(
        place: &'a Place,
        port: u16,
        setup: &Setup,
        program: impl FnOnce(&Path) -> Command,
    ) -> Result<Login<'a>, Failure> {
        let files = place.files("ssh", &place.client_config(port, setup)?)?;
        let mut command = program(&files.config);
        for_client(&mut command, setup);
        command.stderr(files.new_log()?);
        let start = Instant::now();
        let name = command.get_program().to_owned();
        let child = command.spawn().map_err(|e| Failure::new(format!("{}: {e}", name.display())))?;
        let client = Some(Running::new(child));
        Ok(Login { place, client, server: None, server_ended: false, listener: None, files, start })
    }

    /// Gives the client this long to end by itself when it is asked to.
    pub fn ask_first(&mut self, limit: Duration) {
        if let Some(client) = &mut self.client {
            client.ask_first(limit);
        }
    }

    /// Starts the server if the client has connected meanwhile; whether it has just now.
    pub fn answered(&mut self, setup: &Setup) -> Result<bool, Failure> {
        let Some(Ok((socket, _))) = self.listener.as_ref().map(TcpListener::accept) else { return Ok(false) };
        self.listener = None;
        self.server = Some(Sshd::answer(self.place, socket, setup)?);
        Ok(true)
    }

    /// Waits for the client's connection and starts the server; none where the client ends before it makes one.
    ///
    /// # Errors
    /// [`Failure`]: it does not connect, an interrupt.
    pub fn answer(&mut self, setup: &Setup) -> Result<(), Failure> {
        while let Some(listener) = &self.listener {
            readable(listener, Duration::from_millis(20))?;
            if self.answered(setup)? || !self.client.as_mut().is_some_and(Running::runs) {
                self.listener = None;
            } else if self.start.elapsed() > Duration::from_secs(60) {
                return Err(Failure::new("the client does not connect; it was killed"));
            }
        }
        Ok(())
    }

    /// Reads all that the client writes. `same` tells, for each piece and its position, whether it is what has to come there. Gives the number of
    /// bytes, and the seconds until the first.
    ///
    /// # Errors
    /// [`Failure`]: the data differs; `stalled` where nothing came for a minute; an interrupt.
    pub fn read(
        &mut self,
        stalled: &str,
        mut same: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<(u64, Option<f64>), Failure> {
        const STALLED: Duration = Duration::from_secs(60);
        let stdout = self.client.as_mut().and_then(|client| client.child().stdout.as_mut());
        let stdout = stdout.ok_or_else(|| Failure::new("no pipe to the client"))?;
        let _ = rustix::pipe::fcntl_setpipe_size(&*stdout, 1 << 20);
        let mut buffer = vec![0; 1 << 18];
        let (mut place, mut first) = (0u64, None);
        loop {
            if !readable(stdout, STALLED)? {
                return Err(Failure::new(stalled));
            }
            let n = stdout.read(&mut buffer).map_err(|e| Failure::new(format!("the client's data: {e}")))?;
            if n == 0 {
                return Ok((place, first));
            }
            first = first.or_else(|| Some(self.start.elapsed().as_secs_f64()));
            if !same(place, &buffer[..n]) {
                let hint = if place == 0 { "; does the login shell print something by itself?" } else { "" };
                return Err(Failure::new(format!("the data differs within {n} bytes after byte {place}{hint}")));
            }
            place += n as u64;
        }
    }

    /// Waits for the client's end. Where its output went wrong (`failed`) it is ended.
    pub fn end_client(&mut self, failed: bool) -> Result<ExitStatus, Failure> {
        let mut client = self.client.take().ok_or_else(|| Failure::new("the client is gone"))?;
        if failed {
            // It would wait for its reader, but may have its reason to tell.
            let _ = client.wait(Duration::from_millis(200));
            client.kill();
        }
        client.wait(Duration::from_secs(30))?.ok_or_else(|| Failure::new("the client does not end; it was killed"))
    }

    /// Waits for the end of a server of its own.
    pub fn end_server(&mut self) -> Result<(), Failure> {
        let Some(server) = &mut self.server else { return Ok(()) };
        match server.process().wait(Duration::from_secs(30))? {
            Some(_) => Ok(()),
            None => Err(Failure::new("sshd does not end though its client is gone; it was killed")),
        }
    }

    /// How the client and a server of its own have ended, and what they spent with their children; each is reported once.
    pub fn ended(&mut self) -> Result<[Option<(ExitStatus, Spent)>; 2], Failure> {
        let client = self.client.as_mut().map_or(Ok(None), account)?;
        if client.is_some() {
            self.client = None;
        }
        let server = self.server.as_mut().filter(|_| !self.server_ended);
        let server = server.map_or(Ok(None), |server| account(server.process()))?;
        self.server_ended |= server.is_some();
        Ok([client, server])
    }

    /// Whether the client, and a server of its own, exist and were not seen to end.
    pub fn runs(&self) -> [bool; 2] {
        [self.client.is_some(), self.server.is_some() && !self.server_ended]
    }

    /// The failure, explained from the output of both sides; `server` is the server where the login has none of its own.
    pub fn explain(&self, server: Option<&Sshd>) -> Failure {
        let server = server.or(self.server.as_ref()).map(Sshd::log).unwrap_or_default();
        Failure::new(explain(&self.files.log(), &server))
    }
}

/// Takes an ended child's account.
fn account(process: &mut Running) -> Result<Option<(ExitStatus, Spent)>, Failure> {
    let before = Spent::by_children();
    let status = process.ended()?;
    Ok(status.map(|status| (status, Spent::by_children().since(before))))
}

fn explain(client: &str, server: &str) -> String {
    let telling = ["not allowed because", "Unable to negotiate", "no matching", "fatal:", "error:", "refused:"];
    // Its last words on a bad configuration only count what came before.
    let telling_lines: Vec<&str> = client.lines().filter(|l| !l.contains("terminating,")).collect();
    let said = telling_lines.join("\n");
    let said = last_line(&said);
    match server.lines().rfind(|line| telling.iter().any(|t| line.contains(t))) {
        Some(cause) if cause.contains("locked") => {
            format!("sshd does not let this account log in: {}; use another user or unlock it", cause.trim())
        }
        Some(cause) => format!("ssh: {said} (sshd: {})", cause.trim()),
        None => format!("ssh: {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_in_the_logs() {
        let server =
            "Server listening on 127.0.0.1\nUser root not allowed because account is locked\nConnection closed\n";
        assert!(explain("root@127.0.0.1: Permission denied (publickey).\n", server).contains("account is locked"));
        assert_eq!(explain("", ""), "ssh: it gave no reason");
    }
}
