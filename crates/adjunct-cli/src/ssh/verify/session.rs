//! One real session: ssh is run with its log on, data goes to the other side and comes back, compared.

use super::echo::Echo;
use super::here::{There, there};
use super::log::Log;
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::{Running, readable};
use adjunct_tool::progress::Progress;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

/// The command on the other side: it says which machine it is on, whose session it is and which process serves it, then sends back what it gets. It
/// runs in a shell of its own, because the login shell may be any, and needs no program but cat.
pub(super) const REMOTE: &str = "exec sh -c 'b=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null); \
     i=$(readlink /proc/self/ns/ipc 2>/dev/null); p=$(readlink /proc/self/ns/pid 2>/dev/null); \
     echo \"adjunct-verify $b $i $p $(id -u) $PPID\"; exec cat'";

/// Time without data after which a session, which never prompts, counts as stalled.
const STALLED: Duration = Duration::from_secs(60);

/// A session that has ended.
#[derive(Debug)]
pub(super) struct Session {
    /// The client's log.
    pub log: Log,
    /// Bytes that the other side got and sent back unchanged.
    pub echoed: u64,
    /// The other side's identification; `None` where it did not run the command.
    pub there: Option<There>,
    /// The modules of adjunct that ssh had loaded; `None` where that cannot be seen.
    pub client_modules: Option<Vec<PathBuf>>,
    /// The OpenSSL configuration in the client's environment: ssh may be a script that sets one.
    pub client_conf: Option<PathBuf>,
    /// The modules of adjunct in sshd's process; `None` where that cannot be seen.
    pub server_modules: Option<Vec<PathBuf>>,
}

/// The program that sends the data back.
#[derive(Debug)]
pub(super) enum Other {
    /// A command that the account's shell runs on the host: [`REMOTE`].
    Command,
    /// A listener of this process, to which sshd forwards: the host is this machine.
    Echo(Echo),
}

/// How to run the session.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    /// The program that the data is sent to.
    pub other: Other,
    /// ssh with all options but those for the log, without host and command.
    pub command: Command,
    /// The host as the user wrote it.
    pub host: &'a str,
    /// A folder for the log.
    pub folder: &'a Path,
    /// Bytes to send.
    pub bytes: u64,
    /// Whether a person can answer ssh's questions.
    pub interactive: bool,
}

/// Runs the session. Whether it worked stands in its log.
///
/// # Errors
/// [`Failure`]: ssh does not run, data came back changed, the session stalled, an interrupt.
pub(super) fn run(plan: Plan<'_>) -> Result<Session, Failure> {
    let Plan { other, mut command, host, folder, bytes, interactive } = plan;
    let log = folder.join("ssh_log");
    let _ = fs::remove_file(&log);
    let program = PathBuf::from(command.get_program());
    command.args(["-vvv", "-T", "-E"]).arg(&log);
    match &other {
        Other::Command => command.arg(host).arg(REMOTE),
        Other::Echo(echo) => command.arg("-W").arg(echo.address()).arg(host),
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let spawned = command.spawn().map_err(|e| Failure::new(format!("cannot run {}: {}", program.display(), cause(&e))));
    let mut ssh = Running::new(spawned?);
    let data = random(bytes)?;
    let pid = ssh.id();
    let child = ssh.child();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(Failure::new("no pipes to ssh"));
    };
    let sent = data.clone();
    // It ends with the pipe: when ssh has ended, or all is written.
    std::thread::spawn(move || stdin.write_all(&sent));
    let said = std::thread::spawn(move || listen(stderr, interactive));
    let mut reader = Reader { stdout, data: &data, interactive, progress: Progress::begin(), pid };
    let answer = reader.read();
    if answer.is_err() {
        ssh.kill();
    }
    let _ = ssh.child().wait();
    interrupted()?;
    let said = said.join().unwrap_or_default();
    let text = fs::read(&log).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let mut parsed = Log::parse(&text);
    // Before it opens its log, ssh complains on standard error (a wrong option), and a proxy knows better why it ended.
    let by_proxy = |line: &String| line.ends_with("by UNKNOWN port 65535");
    if !parsed.authenticated() && parsed.last.as_ref().is_none_or(by_proxy) {
        parsed.last = Log::parse(&said).last.or(parsed.last);
    }
    let answer = answer?;
    if let (Other::Echo(_), None, true) = (&other, &answer.there, parsed.authenticated()) {
        let said = parsed.last.as_deref().unwrap_or("no reason given");
        return Err(Failure::new(format!(
            "it forwards no connection (AllowTcpForwarding, PermitOpen: {said}), and a command would run the shell's startup files; \
             adjunct ssh verify {host} runs one all the same"
        )));
    }
    Ok(Session {
        log: parsed,
        echoed: answer.echoed,
        there: answer.there,
        client_modules: answer.client_modules,
        client_conf: answer.client_conf,
        server_modules: answer.server_modules,
    })
}

/// Collects what ssh writes to standard error. Where a person sits there, what is meant for them (a banner, "touch your key")
/// goes on to the terminal.
fn listen(stderr: impl Read, interactive: bool) -> String {
    let mut all = String::new();
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while stderr.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        let text = String::from_utf8_lossy(&line).into_owned();
        if interactive && !text.starts_with("debug") {
            let clean: String = text.chars().filter(|c| !c.is_control()).collect();
            let _ = writeln!(std::io::stderr(), "{clean}");
        }
        // A server may say a great deal.
        if all.len() < 1 << 20 {
            all += &text;
        }
        line.clear();
    }
    all
}

#[derive(Debug, Default)]
struct Answer {
    echoed: u64,
    there: Option<There>,
    client_modules: Option<Vec<PathBuf>>,
    client_conf: Option<PathBuf>,
    server_modules: Option<Vec<PathBuf>>,
}

struct Reader<'a> {
    stdout: ChildStdout,
    data: &'a [u8],
    interactive: bool,
    progress: Progress,
    pid: u32,
}

impl Reader<'_> {
    /// Reads the other side's line about itself, then the data.
    fn read(&mut self) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        let mut head = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let n = self.some(&mut buffer, answer.there.is_none())?;
            if n == 0 {
                return Ok(answer);
            }
            let mut got = &buffer[..n];
            if answer.there.is_none() {
                head.extend_from_slice(got);
                // What the login shell's own files print comes before; data does not come before the mark.
                let Some((there, rest)) = there(&head) else {
                    if head.len() > 1 << 20 {
                        return Ok(answer);
                    }
                    continue;
                };
                // Now both ends are up, and the modules they ever load are loaded.
                answer.client_modules = super::loaded::modules(self.pid);
                answer.client_conf = super::loaded::conf_of(self.pid);
                answer.server_modules = there.pid.and_then(super::loaded::modules);
                answer.there = Some(there);
                head.drain(..rest);
                got = &head;
            }
            let at = usize::try_from(answer.echoed).unwrap_or(usize::MAX);
            if self.data.get(at..at + got.len()) != Some(got) {
                return Err(Failure::new(format!(
                    "the data came back changed within {} bytes after byte {at}",
                    got.len()
                )));
            }
            answer.echoed += got.len() as u64;
            self.progress.set(answer.echoed as f64 / self.data.len() as f64, "data");
        }
    }

    /// Reads what comes; 0 at the end.
    fn some(&mut self, buffer: &mut [u8], login: bool) -> Result<usize, Failure> {
        let limit = if self.interactive && login { Duration::MAX } else { STALLED };
        if !readable(&self.stdout, limit)? {
            return Err(Failure::new("the session stalled: nothing came for a minute"));
        }
        self.stdout.read(buffer).map_err(|e| Failure::new(format!("the session's data: {}", cause(&e))))
    }
}

/// Makes data that neither compression nor a comparison with itself makes easy.
fn random(bytes: u64) -> Result<Vec<u8>, Failure> {
    let mut data = Vec::new();
    let source = fs::File::open("/dev/urandom");
    let read = source.and_then(|f| f.take(bytes).read_to_end(&mut data));
    read.map(|_| data).map_err(|e| Failure::new(format!("/dev/urandom: {}", cause(&e))))
}
