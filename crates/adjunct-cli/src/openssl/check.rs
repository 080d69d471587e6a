//! What is checked before and after an edit: that OpenSSL, ssh and sshd still work, a real login included.

use super::{engine, explain, groups};
use crate::ssh::lab::{Environment, Place, Programs, Setup, Sshd, runtime};
use adjunct_openssl_conf::{Model, State};
use adjunct_survey::FromDisk;
use adjunct_survey::programs;
use adjunct_tool::Failure;
use adjunct_tool::files;
use adjunct_tool::process::{LIMIT, last_line, run, run_within};
use adjunct_tool::progress::Progress;
use adjunct_tool::scratch;
use serde::Serialize;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result", content = "detail")]
pub enum Verdict {
    /// It works; with what was seen.
    Passed(String),
    /// It does not work; with the reason.
    Failed(String),
    /// It could not be told; with the reason.
    Skipped(String),
}

/// A check and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check.
    pub check: &'static str,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All but the login; takes a fraction of a second.
    Quick,
    /// Everything, with a login.
    Full,
}

/// The name of the check of sshd's own configuration.
pub const SSHD: &str = "sshd accepts the configuration";

/// The SHA-256 of nothing.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

type Tried = Result<String, Verdict>;

/// A check to run, with its name.
type Planned<'a> = (&'static str, Box<dyn Fn() -> Tried + 'a>);

fn failed(line: impl Into<String>) -> Verdict {
    Verdict::Failed(line.into())
}

/// Runs the checks under a configuration file. `adjunct` says whether the module has to be loaded. `wait` shows at a terminal which one runs: it is one
/// bar for all checks of a change, since a bar is shown only some time after it has begun.
pub fn all(wait: &Progress, config: &Path, adjunct: bool, depth: Depth) -> Vec<Check> {
    let groups = adjunct.then(|| asks_for_groups(config)).flatten();
    let mut planned: Vec<Planned<'_>> = Vec::new();
    if adjunct {
        planned.push(("the module loads", Box::new(|| loads(config))));
        if asks_for_engine(config) {
            let registered = || engine::registered(config).map_err(Verdict::Skipped);
            planned.push(("the engine is registered", Box::new(registered)));
        }
    }
    if let Some((state, list)) = &groups {
        let agreed = || groups::agreed(config, list).map_err(failed);
        planned.push(("TLS agrees on the groups", Box::new(agreed)));
        let without = || groups::without_module(config, state).map_err(failed);
        planned.push(("TLS works without the module", Box::new(without)));
    }
    planned.push(("openssl computes", Box::new(|| computes(config))));
    if names_node(config) {
        planned.push(("Node computes", Box::new(|| node(config))));
    }
    planned.push(("ssh accepts the configuration", Box::new(|| ssh_parses(config))));
    planned.push((SSHD, Box::new(|| sshd_parses(config))));
    if depth == Depth::Full {
        planned.push(("a login over loopback works", Box::new(|| login(config))));
    }
    let number = planned.len();
    let run = |(at, (check, tried)): (usize, Planned<'_>)| {
        wait.now(&format!("checking, {} of {number}: {check}", at + 1));
        let verdict = tried().map_or_else(|verdict| verdict, Verdict::Passed);
        Check { check, verdict }
    };
    planned.into_iter().enumerate().map(run).collect()
}

/// The checks before an edit, by which those after it are judged.
///
/// # Errors
/// Where the folder for temporary files has no room: a login fails for that, before the edit and after it, and says nothing
/// of the edit.
pub fn before(check: impl FnOnce() -> Result<Vec<Check>, Failure>) -> Result<Vec<Check>, Failure> {
    let nothing = |why: Failure| Failure::new(format!("{why}; nothing was changed"));
    scratch::room().map_err(nothing)?;
    let checks = check()?;
    // It may have filled up meanwhile.
    scratch::room().map_err(nothing)?;
    Ok(checks)
}

/// The checks after an edit, judged by those before: what failed already is not the edit's fault.
pub fn judged(before: &[Check], mut after: Vec<Check>) -> Vec<Check> {
    for check in &mut after {
        let earlier = before.iter().find(|b| b.check == check.check).map(|b| &b.verdict);
        if let (Verdict::Failed(_), Some(Verdict::Failed(why))) = (&check.verdict, earlier) {
            check.verdict = Verdict::Skipped(format!("fails without adjunct too: {why}"));
        }
    }
    after
}

/// The first check that failed, as a line.
pub fn first_failure(checks: &[Check]) -> Option<String> {
    checks.iter().find_map(|c| match &c.verdict {
        Verdict::Failed(why) => Some(format!("{}: no: {why}", c.check)),
        _ => None,
    })
}

fn loads(config: &Path) -> Tried {
    let listed = programs::providers(config).map_err(failed)?;
    let active = |name: &str| listed.iter().find(|p| p.name == name && p.active);
    if active("default").is_none() {
        return Err(failed("OpenSSL's default provider is not active"));
    }
    match active("adjunct") {
        Some(adjunct) => Ok(format!("{} {}", adjunct.title, adjunct.version)),
        None => Err(failed(explain::not_loaded(config))),
    }
}

/// Whether a configuration asks for the engine. Without the engine everything works, so that its absence is told and stops nothing.
fn asks_for_engine(config: &Path) -> bool {
    let model = files::config(config).ok().and_then(|bytes| Model::read(&bytes, &FromDisk).ok());
    let asked = model.and_then(|model| engine::of(&adjunct_openssl_conf::state(&model)));
    asked.is_some_and(|words| engine::named(&words))
}

/// The list of TLS groups that a configuration sets, where it names one of ML-KEM: any other is OpenSSL's own.
fn asks_for_groups(config: &Path) -> Option<(State, String)> {
    let model = Model::read(&files::config(config).ok()?, &FromDisk).ok()?;
    let state = adjunct_openssl_conf::state(&model);
    let list = groups::of(&state)?;
    list.to_ascii_uppercase().contains("MLKEM").then_some((state, list))
}

/// `openssl` computes the known digest of an empty message, and gives random numbers.
fn computes(config: &Path) -> Tried {
    let digest = programs::openssl(&["dgst", "-sha256", "/dev/null"], Some(config)).map_err(failed)?;
    if !digest.success || !digest.text().contains(OF_NOTHING) {
        return Err(failed(format!("openssl dgst: {}", digest.why())));
    }
    let random = programs::openssl(&["rand", "-hex", "16"], Some(config)).map_err(failed)?;
    if !random.success || random.text().trim().len() != 32 {
        return Err(failed(format!("openssl rand: {}", random.why())));
    }
    Ok("SHA-256 and random numbers".to_owned())
}

/// Whether the configuration has the section that Node reads.
fn names_node(config: &Path) -> bool {
    let model = files::config(config).ok().and_then(|bytes| Model::read(&bytes, &FromDisk).ok());
    model.is_some_and(|model| adjunct_openssl_conf::state(&model).node)
}

/// Node, where it is installed, computes a digest, random numbers and a signature.
fn node(config: &Path) -> Tried {
    const CODE: &str = "const c = require('crypto'); const k = c.generateKeyPairSync('ec', { namedCurve: 'P-256' }); \
                        const m = c.randomBytes(64); const s = c.sign('sha256', m, k.privateKey); \
                        console.log(c.createHash('sha256').digest('hex') + c.verify('sha256', m, k.publicKey, s));";
    let mut command = Command::new("node");
    command.args(["-e", CODE]).env("OPENSSL_CONF", config).env_remove("NODE_OPTIONS");
    match run(&mut command) {
        Ok(o) if o.success && o.text().trim() == format!("{OF_NOTHING}true") => {
            Ok("SHA-256, random numbers and a signature".to_owned())
        }
        Ok(o) => Err(failed(format!("node: {}", o.why()))),
        Err(_) => Err(Verdict::Skipped("node is not installed".to_owned())),
    }
}

fn ssh_parses(config: &Path) -> Tried {
    let Ok(found) = Programs::find(None, None).or_else(|_| Programs::find(None, Some(Path::new("/bin/sh")))) else {
        return Err(Verdict::Skipped("ssh is not installed".to_owned()));
    };
    let mut command = Command::new(&found.ssh);
    let outcome = run(command.args(["-G", "localhost"]).env("OPENSSL_CONF", config));
    match outcome.map_err(failed)? {
        o if o.success => Ok("ssh -G".to_owned()),
        o => Err(failed(format!("ssh -G: {}", o.why()))),
    }
}

fn sshd_parses(config: &Path) -> Tried {
    let Ok(found) = Programs::find(None, None) else {
        return Err(Verdict::Skipped("sshd is not installed".to_owned()));
    };
    if !nix::unistd::geteuid().is_root() {
        return Err(Verdict::Skipped("only root can read sshd's keys".to_owned()));
    }
    let test = |words: &[&OsStr]| {
        let mut command = Command::new(words[0]);
        run(command.args(&words[1..]).arg("-t").env("OPENSSL_CONF", config)).map_err(failed)
    };
    let mut outcome = test(&[found.sshd.as_os_str()])?;
    let why = outcome.why();
    if let Some(dir) = runtime::missing(&why) {
        // It is made when sshd is started; here in a mount namespace that ends with the test.
        let words = runtime::in_its_own(dir).map(OsStr::new);
        match test(&[&words[..], &[found.sshd.as_os_str()]].concat()) {
            Ok(o) if o.success || o.stderr.contains("sshd") => outcome = o,
            _ => return Err(Verdict::Skipped(format!("sshd -t: {why}"))),
        }
    }
    if outcome.success { Ok("sshd -t".to_owned()) } else { Err(failed(format!("sshd -t: {}", outcome.why()))) }
}

/// Logs in to a private sshd and sends data there and back: with the algorithms OpenSSH takes by itself, then with AES.
fn login(config: &Path) -> Tried {
    let Ok(found) = Programs::find(None, None) else {
        return Err(Verdict::Skipped("ssh or sshd is not installed".to_owned()));
    };
    let words = |e: Failure| failed(e.to_string());
    let place = Place::new(found).map_err(words)?;
    let setup = |lines: &[String]| Setup::new(lines, &Environment::with_conf(config));
    let server = Sshd::start(&place, None, &setup(&[])).map_err(words)?;
    let data: Vec<u8> = (0..1u32 << 18).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let file = place.path("data");
    std::fs::write(&file, &data).map_err(|e| failed(format!("{}: {e}", file.display())))?;
    let aes = ["Ciphers aes128-gcm@openssh.com,aes128-ctr".to_owned()];
    for lines in [&[][..], &aes] {
        let mut client = place.client(server.port(), &setup(lines)).map_err(words)?;
        let input = std::fs::File::open(&file).map_err(|e| failed(format!("{}: {e}", file.display())))?;
        let outcome = run_within(LIMIT, client.arg("cat").stdin(input)).map_err(failed)?;
        if !outcome.success {
            let log = server.log();
            let why = log.lines().rfind(|l| l.contains("fatal") || l.contains("error")).unwrap_or_default();
            let said = last_line(&outcome.stderr);
            return Err(failed(format!("ssh: {said}{}{}", if why.is_empty() { "" } else { "; sshd: " }, why.trim())));
        }
        if outcome.stdout != data {
            return Err(failed("the data that came back differs"));
        }
    }
    server.stop().map_err(words)?;
    Ok(format!("256 KiB there and back, twice, as {}", place.user))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(verdict: Verdict) -> Check {
        Check { check: "x", verdict }
    }

    #[test]
    fn what_failed_before_is_not_the_edits_fault() {
        let before = [check(Verdict::Failed("no keys".into()))];
        let after = judged(&before, vec![check(Verdict::Failed("no keys".into()))]);
        assert_eq!(after[0].verdict, Verdict::Skipped("fails without adjunct too: no keys".into()));
        assert_eq!(first_failure(&after), None);
        let new = judged(&[check(Verdict::Passed("ok".into()))], vec![check(Verdict::Failed("bad".into()))]);
        assert_eq!(first_failure(&new).unwrap(), "x: no: bad");
    }

    #[test]
    fn json_names_the_result() {
        let value = serde_json::to_value(check(Verdict::Passed("seen".into()))).unwrap();
        assert_eq!(value, serde_json::json!({ "check": "x", "result": "passed", "detail": "seen" }));
    }
}
