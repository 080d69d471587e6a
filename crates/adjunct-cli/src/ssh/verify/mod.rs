//! `adjunct ssh verify`: a real session, and for each part of it who computed it, with the counters as proof.
//!
//! [`log`] reads what ssh says of the session, [`knowledge`] knows which algorithm reaches adjunct by which way, `target`
//! decides whom to connect to, `session` runs it, `judge` compares both with the counters.

pub mod knowledge;
pub mod log;

mod echo;
mod here;
mod judge;
mod loaded;
mod refusal;
mod report;
mod session;
mod target;

use crate::counted::Counted;
use crate::ssh::copy::quoted;
use crate::ssh::lab::{HOST, Place, Programs, locate};
use adjunct::counters::Snapshot;
use adjunct_tool::failure::cannot_write;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::output::{self, Style};
use adjunct_tool::process::{last_line, run as run_program};
use adjunct_tool::{Failure, scratch};
use echo::Echo;
use judge::{End, Judge, Role, Seen, What, algorithm};
use knowledge::Program;
use loaded::{Configured, configured};
use report::{Part, VerifyReport};
use session::{Other, Plan, Session};
use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use target::{Effective, Private};

/// The exit status where the data's way is not hardware throughout.
const NOT_IN_HARDWARE: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  adjunct ssh verify                            this machine: its own sshd, or a private one
  adjunct ssh verify me@example.org             another host: the client's side is proved, the server's is not visible
  adjunct ssh verify --private -o Ciphers=aes128-gcm@openssh.com     would this suite run in hardware here?
  adjunct ssh verify --private -i ~/.ssh/id_ecdsa                    is this key's signature served by adjunct?
  adjunct ssh verify HOST --json | jq .bulk_in_hardware              for a monitoring script

Data go to the other side and come back, compared byte for byte. For key exchange, host key, user key, and cipher and MAC of
each direction the report says what was negotiated and who computed it:
  hardware        adjunct, with dedicated instructions; the counters that moved are the proof
  software        adjunct, without, and why
  partly          adjunct, but not all of it, or not all in hardware
  not by adjunct  and why: OpenSSH's own code, not enabled, only an engine catches it, ...
  not visible     the other machine's counters, or another user's, cannot be read from here
The client runs with counters of its own, so its figures are exact. So does a private sshd; this machine's own sshd counts
in the ordinary counters (as root: all of it; as the session's user: the data), where other programs' traffic is, too.
With this machine's own sshd the data go through a forwarded connection, so that no shell runs; on a named host a command runs.
Without a terminal ssh asks nothing (BatchMode). An unknown host key is not accepted: connect by hand first.

Exit status: 0 the data's way (cipher, and MAC where there is one, both directions) is hardware at every end that can be seen,
1 it failed (one line says why), 2 the command line is wrong, 3 it is not hardware.";

/// Show for a real session which of its parts adjunct serves, in hardware or software, with the counters as proof
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whom to connect to, as ssh takes it, with your ssh_config; by default this machine's own sshd if one listens and lets you
    /// in without a password, otherwise a private one
    #[arg(value_parser = host)]
    host: Option<String>,
    /// A private sshd on loopback, even if this machine's own listens
    #[arg(long, conflicts_with_all = ["host", "port", "login"])]
    private: bool,
    /// The port, for ssh
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The user to log in as, for ssh
    #[arg(short, long, value_name = "USER")]
    login: Option<String>,
    /// A private key, for ssh; may be given several times
    #[arg(short, long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// An option as in ssh_config, for ssh; may be given several times
    #[arg(short, long, value_name = "NAME=VALUE")]
    option: Vec<String>,
    /// The configuration file, for ssh, in place of yours and the system's
    #[arg(short = 'F', long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data to send and get back; K, M, G stand for 10^3, 10^6, 10^9
    #[arg(long, default_value = "2M", value_parser = size)]
    size: u64,
    /// The ssh client to use
    #[arg(long, value_name = "PATH")]
    ssh: Option<PathBuf>,
    /// The sshd to use for a private server
    #[arg(long, value_name = "PATH")]
    sshd: Option<PathBuf>,
    /// Machine-readable report
    #[arg(long)]
    json: bool,
}

fn host(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
        return Err("not a host".to_owned());
    }
    Ok(text.to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = crate::ssh::tryout::parse_size(text)?;
    // It is held in memory, to be compared.
    if bytes > 1_000_000_000 { Err("at most 1G".to_owned()) } else { Ok(bytes) }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    readable(args)?;
    let ssh = locate("ssh", args.ssh.as_deref(), "openssh-client")?;
    let facts = Client::ask(&ssh)?;
    scratch::room()?;
    let folder = scratch::folder()?;
    let counted = |whose: &str| Counted::apart(&format!("verify-{whose}"));
    let run = Run { args, ssh, facts, folder, client: counted("client"), server: counted("server") };
    let report = run.report()?;
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&report::text(&report, Style::of_stdout()))?;
    }
    Ok(if report.bulk_in_hardware { ExitCode::SUCCESS } else { ExitCode::from(NOT_IN_HARDWARE) })
}

/// Refuses files that ssh would wait for without end, as FIFOs. Any other mistake in a file ssh reports itself.
fn readable(args: &Args) -> Result<(), Failure> {
    let config = args.config.iter().filter(|config| *config != Path::new("none"));
    for file in config.chain(&args.identity) {
        match adjunct_tool::files::open(file) {
            Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::IsADirectory) => {
                return Err(Failure::new(format!("{}: {e}", file.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The client's versions of OpenSSH and OpenSSL, by its own output.
#[derive(Debug)]
struct Client {
    program: Program,
    openssl: Option<String>,
}

impl Client {
    fn ask(ssh: &Path) -> Result<Client, Failure> {
        let outcome = run_program(Command::new(ssh).arg("-V")).map_err(Failure::new)?;
        let text = outcome.stderr;
        let line = text.lines().find(|l| l.starts_with("OpenSSH_"));
        let Some(line) = line else {
            return Err(Failure::new(format!("{} is no OpenSSH: {}", ssh.display(), last_line(&text))));
        };
        let openssl = line.split_once(", ").map(|(_, openssl)| openssl.trim().to_owned());
        Ok(Client { program: Program::parse(line), openssl })
    }
}

struct Run<'a> {
    args: &'a Args,
    ssh: PathBuf,
    facts: Client,
    folder: scratch::Folder,
    /// Counters of the client, and of a private server.
    client: Counted,
    server: Counted,
}

impl Run<'_> {
    fn report(&self) -> Result<VerifyReport, Failure> {
        let Some(host) = &self.args.host else {
            let port = self.args.port.unwrap_or(22);
            if self.args.private || !target::listens(port) {
                if self.args.port.is_some() || self.args.login.is_some() {
                    return Err(Failure::new(format!(
                        "no SSH server listens on this machine's loopback at port {port}"
                    )));
                }
                return self.private(Vec::new());
            }
            let mut command = self.ssh_client();
            target::own(&mut command, self.folder.path());
            let why = match self.with("127.0.0.1", "own", Other::Echo(Echo::start()?), command, false) {
                Ok(report) => return Ok(report),
                Err(failure) => failure.to_string(),
            };
            interrupted()?;
            if self.args.port.is_some() || self.args.login.is_some() {
                return Err(Failure::new(why));
            }
            return self.private(vec![format!("this machine's sshd was not used: {why}")]);
        };
        let interactive = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let mut command = self.ssh_client();
        if !interactive {
            target::add_options(&mut command, &["BatchMode=yes"]);
        }
        self.with(host, "host", Other::Command, command, interactive)
    }

    fn ssh_client(&self) -> Command {
        let mut command = target::client(&self.ssh, self.facts.program.at_least(8, 7), self.args);
        self.client.environment().apply(&mut command);
        command
    }

    /// Runs a session with a server that this command did not start.
    fn with(
        &self,
        host: &str,
        target: &'static str,
        other: Other,
        mut command: Command,
        interactive: bool,
    ) -> Result<VerifyReport, Failure> {
        let effective = Effective::ask(&command, host)?;
        if effective.get("connecttimeout").is_none_or(|v| v == "none" || v == "0") {
            target::add_options(&mut command, &["ConnectTimeout=20"]);
        }
        if effective.get("serveraliveinterval").is_none_or(|v| v == "0") {
            target::add_options(&mut command, &["ServerAliveInterval=15"]);
        }
        if effective.proxied() {
            self.uncounted_ssh(&mut command)?;
        }
        let before = ordinary()?;
        let session = self.session(other, command, host, interactive)?;
        let moved = ordinary()?;
        let mut notes = Vec::new();
        let seen = match &session.there {
            Some(there) if there.here => {
                notes.push(
                    "the server's figures are from this machine's ordinary counters: other programs' traffic meanwhile \
                     is in them, too"
                        .to_owned(),
                );
                of_server(&before, &moved, there.uid)
            }
            Some(_) => Seen::Not("on another machine or in a container: not visible from here"),
            None => Seen::Not("not visible: the server did not run the command"),
        };
        let server = End {
            role: Role::Server,
            program: session.log.server.as_deref().map_or(Program::Other, Program::parse),
            openssl: None,
            seen,
            modules: session.server_modules.clone(),
            configured: Configured::Unknown,
        };
        Ok(self.judge(host, target, &session, &server, notes))
    }

    /// A session with a server of our own.
    fn private(&self, notes: Vec<String>) -> Result<VerifyReport, Failure> {
        let programs = Programs::find(Some(&self.ssh), self.args.sshd.as_deref())?;
        let place = Place::new(programs)?;
        let effective = Effective::ask(&self.ssh_client(), HOST)?;
        let private = Private::start(&place, &effective, self.args, &self.server)?;
        let mut command = self.ssh_client();
        command.env_remove("SSH_AUTH_SOCK");
        target::add_options(&mut command, &private.options);
        let Private { sshd, configured, .. } = private;
        let session =
            self.session(Other::Command, command, HOST, false).map_err(|failure| with_cause(failure, &sshd.log()))?;
        sshd.stop()?;
        let server = End {
            role: Role::Server,
            program: session.log.server.as_deref().map_or(Program::Other, Program::parse),
            openssl: target::openssl_of(&place.programs),
            seen: Seen::Exactly(self.server.sum()?),
            modules: session.server_modules.clone(),
            configured,
        };
        Ok(self.judge(HOST, "private", &session, &server, notes))
    }

    fn session(&self, other: Other, command: Command, host: &str, interactive: bool) -> Result<Session, Failure> {
        let plan = Plan { other, command, host, folder: self.folder.path(), bytes: self.args.size, interactive };
        let session = session::run(plan)?;
        if !session.log.authenticated() {
            return Err(Failure::new(refusal::explain(&session.log, host)));
        }
        Ok(session)
    }

    /// Has the ssh of a jump host, which is run through this one's name or the search path, count nothing: its traffic is
    /// not this session's.
    fn uncounted_ssh(&self, command: &mut Command) -> Result<(), Failure> {
        let folder = self.folder.path().join("bin");
        let script = folder.join("ssh");
        let text = format!("#!/bin/sh\nADJUNCT_STATS=off exec {} \"$@\"\n", quoted(&self.ssh));
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(&script, text))
            .and_then(|()| std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)));
        written.map_err(|e| cannot_write(&script, &e))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        command.arg0(script);
        Ok(())
    }

    fn judge(
        &self,
        host: &str,
        target: &'static str,
        session: &Session,
        server: &End,
        mut notes: Vec<String>,
    ) -> VerifyReport {
        let log = &session.log;
        let client = End {
            role: Role::Client,
            program: self.facts.program.clone(),
            openssl: self.facts.openssl.clone(),
            seen: self.client.sum().map_or(Seen::Not("its counters cannot be read"), Seen::Exactly),
            modules: session.client_modules.clone(),
            configured: configured(session.client_conf.as_deref()),
        };
        if session.echoed < self.args.size {
            let sent = self.args.size;
            notes.push(format!(
                "only {} of {sent} bytes came back: the server ran something else than asked (a forced command?), so the \
                 counters prove less",
                session.echoed
            ));
        }
        let judge = Judge { log, bytes: session.echoed };
        let part = |&what: &What| Part {
            part: what,
            algorithm: algorithm(what, log),
            client: judge.verdict(what, &client),
            server: judge.verdict(what, server),
        };
        let parts: Vec<Part> = What::ALL.iter().map(part).collect();
        VerifyReport {
            host: host.to_owned(),
            target,
            client: log.client.clone(),
            server: log.server.clone(),
            client_modules: session.client_modules.clone(),
            server_modules: session.server_modules.clone(),
            bytes: session.echoed,
            bulk_in_hardware: report::bulk_in_hardware(&parts),
            advice: report::advice(&parts),
            parts,
            notes,
        }
    }
}

/// A failed login with what our own server says of it.
fn with_cause(failure: Failure, log: &str) -> Failure {
    let telling = ["not allowed because", "fatal: ", "error: "];
    match log.lines().rfind(|line| interrupted().is_ok() && telling.iter().any(|t| line.contains(t))) {
        Some(cause) => Failure::new(format!("{failure} (sshd: {})", cause.trim())),
        None => failure,
    }
}

/// The ordinary counters that this user may read.
fn ordinary() -> Result<BTreeMap<u32, Snapshot>, Failure> {
    let mut all = BTreeMap::new();
    for uid in adjunct::counters::users().map_err(Failure::because)? {
        if let Some(snapshot) = adjunct::counters::read(uid).map_err(Failure::because)? {
            all.insert(uid, snapshot);
        }
    }
    Ok(all)
}

/// What root, for whom the login is counted, and the session's user counted meanwhile. An sshd that starts as root counts both in
/// root's shared memory: only root sees it.
fn of_server(before: &BTreeMap<u32, Snapshot>, after: &BTreeMap<u32, Snapshot>, uid: u32) -> Seen {
    let me = rustix::process::geteuid().as_raw();
    let mut moved = Snapshot::new(uid);
    for uid in std::collections::BTreeSet::from([0, uid]) {
        let Some(after) = after.get(&uid) else { continue };
        moved = moved.plus(&before.get(&uid).map_or_else(|| after.clone(), |before| after.since(before)));
    }
    Seen::Ordinary { moved, login: me == 0, bulk: me == 0 }
}
