//! `adjunct grep11`: EP11 coprocessors over gRPC, for who tries or tests a program. The server is a program of its own, `adjunct-grep11`.

use crate::ep11::dev::{Coprocessor, beside};
use adjunct_tool::escape::shown;
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::{Failure, output};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command as Process, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to finish what it does.
const ENDS_IN: Duration = Duration::from_secs(35);

/// EP11 coprocessors over gRPC (GREP11): one for development
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The server for a machine is adjunct-grep11, with the unit adjunct-grep11.service: adjunct-grep11(1).

Examples:
  adjunct grep11 dev
  adjunct grep11 dev --port 9876 --keep ~/ep11

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Dev(Dev),
}

/// Run a private coprocessor and a server on loopback, without root and configuration
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Starts what adjunct ep11 dev starts, and adjunct-grep11 before it, on 127.0.0.1 in plaintext: every user of this machine may call it. Ctrl-C ends both, and the keys are \
gone; with --keep they are in that folder, sealed by a key that lies beside them: for tests, nothing else.

Examples:
  adjunct grep11 dev
  adjunct grep11 dev --port 9876 --keep ~/ep11

Exit status: 0 it was ended, 1 it failed (one line says why), 2 the command line is wrong.")]
struct Dev {
    /// Keep wrapping keys, control points and the audit log in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// The port of the server, on loopback; a free one without it
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Where clients connect, in a container for example
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Serve plaintext although other machines reach the address
    #[arg(long)]
    insecure_plaintext: bool,
}

/// The server; it ends with this value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // One that was waited for has no number any more: it may be another's.
        if let (Ok(None), Some(pid)) = (self.0.try_wait(), Pid::from_raw(self.0.id().cast_signed())) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let limit = Instant::now() + ENDS_IN;
        while Instant::now() < limit && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let Command::Dev(args) = &args.command;
    catch_interrupts();
    let program = beside(&["adjunct-grep11"])
        .ok_or_else(|| Failure::new("adjunct-grep11 is not beside this program, nor in PATH"))?;
    let mut coprocessor = Coprocessor::start(args.keep.as_deref())?;
    let mut command = Process::new(&program);
    let loopback = SocketAddr::from(([127, 0, 0, 1], args.port.unwrap_or(0)));
    command.arg("--listen").arg(args.listen.unwrap_or(loopback).to_string()).args(["--domain", "00.0000"]);
    command.args(args.insecure_plaintext.then_some("--insecure-plaintext"));
    // A configuration of the machine is not for this one.
    command.args(["--config", "/dev/null", "--parent"]).arg(std::process::id().to_string());
    command.env("ADJUNCT_CARDS_DIR", coprocessor.folder()).stdout(Stdio::piped());
    let child = command.spawn().map_err(|error| Failure::new(format!("{}: {error}", shown(&program))))?;
    let mut server = Server(child);
    let mut lines = server.0.stdout.take().map(|out| BufReader::new(out).lines()).into_iter().flatten();
    let address = lines.find_map(|line| {
        let line = line.ok()?;
        Some(line.split_once("listening on ")?.1.split(',').next()?.to_owned())
    });
    let address = address.ok_or_else(|| Failure::new("adjunct-grep11 does not start"))?;
    output::print(&format!("{}GREP11: {}, plaintext\n", coprocessor.told(), shown(&address)))?;
    loop {
        if interrupted().is_err() {
            return Ok(ExitCode::SUCCESS);
        }
        coprocessor.runs()?;
        if let Ok(Some(status)) = server.0.try_wait() {
            return Err(Failure::new(format!("adjunct-grep11 has ended: {status}")));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
