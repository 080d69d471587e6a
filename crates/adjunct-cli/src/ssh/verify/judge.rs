//! The verdict on each part of a session: who computed it, with the counters as proof.

use super::knowledge::{self, Act, Program, Reach, Way};
use super::loaded::Configured;
use super::log::{Log, Stream};
use adjunct::catalogue::{CounterSplit, Function};
use adjunct::catalogue::{Direction, Reason};
use adjunct::counters::{Cell, Snapshot};
use serde::Serialize;
use std::path::PathBuf;

/// An end of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }

    pub(super) const fn program(self) -> &'static str {
        match self {
            Role::Client => "ssh",
            Role::Server => "sshd",
        }
    }
}

/// The facts about one end of a session.
#[derive(Debug)]
pub(super) struct End {
    pub role: Role,
    pub program: Program,
    /// The version of OpenSSL it uses, where known: `OpenSSL 3.0.22 ...`.
    pub openssl: Option<String>,
    /// The counters of this end during the session.
    pub seen: Seen,
    /// The modules it had loaded, where that can be seen.
    pub modules: Option<Vec<PathBuf>>,
    /// The modules that its OpenSSL configuration names, where that is known.
    pub configured: Configured,
}

/// The visible part of an end's counters.
#[derive(Debug)]
pub(super) enum Seen {
    /// All that was counted, and nothing else.
    Exactly(Snapshot),
    /// The ordinary counters' difference; other programs' traffic is in them, too. Whether those of root are among them,
    /// where the login is counted, and whether those of the session's user are.
    Ordinary { moved: Snapshot, login: bool, bulk: bool },
    /// Nothing was seen; with the reason.
    Not(&'static str),
}

/// The code or hardware that computed a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Served {
    /// adjunct, with dedicated instructions.
    Hardware,
    /// adjunct, without dedicated instructions.
    Software,
    /// adjunct, but only partly in hardware, or only a part of it.
    Partly,
    /// Something other than adjunct.
    NotByAdjunct,
    /// Nothing: there is nothing to compute.
    Nothing,
    /// Unknown: it cannot be seen from here.
    NotVisible,
}

impl Served {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Served::Hardware => "hardware",
            Served::Software => "software",
            Served::Partly => "partly",
            Served::NotByAdjunct => "not by adjunct",
            Served::Nothing => "nothing to do",
            Served::NotVisible => "not visible",
        }
    }
}

/// Why a part is not hardware, for scripts and for the advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cause {
    BuiltIn,
    LeftToOpenssl,
    NeedsEngine,
    NotEnabled,
    NotLoaded,
    NotCounted,
    KeptByOpenssl,
    NoInstruction,
    CpuLacks,
    Masked,
    Alone,
    OtherSoftware,
    Incomplete,
    UnknownProgram,
    UnknownAlgorithm,
    Elsewhere,
    NoKey,
    Authenticated,
    NotVisible,
}

/// Counters that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Proof {
    pub function: &'static str,
    /// The key size in bits; absent where the counters do not split by it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<usize>,
    /// `enc` or `dec`; absent where both are counted together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<&'static str>,
    /// Whether the counter holds the data of both directions of the session.
    pub both_ways: bool,
    pub hw_calls: u64,
    pub hw_bytes: u64,
    pub sw_calls: u64,
    pub sw_bytes: u64,
}

/// The verdict on a part at one end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Verdict {
    pub served: Served,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proof: Vec<Proof>,
    #[serde(skip)]
    pub function: Option<Function>,
}

impl Verdict {
    fn new(served: Served, cause: Cause, why: impl Into<String>) -> Verdict {
        Verdict { served, cause: Some(cause), why: why.into(), proof: Vec::new(), function: None }
    }
}

/// The parts of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum What {
    KeyExchange,
    HostKey,
    UserKey,
    CipherToServer,
    MacToServer,
    CipherToClient,
    MacToClient,
}

impl What {
    pub(super) const ALL: [What; 7] = [
        What::KeyExchange,
        What::HostKey,
        What::UserKey,
        What::CipherToServer,
        What::MacToServer,
        What::CipherToClient,
        What::MacToClient,
    ];

    pub(super) const fn text(self) -> &'static str {
        match self {
            What::KeyExchange => "key exchange",
            What::HostKey => "host key",
            What::UserKey => "user key",
            What::CipherToServer => "cipher client->server",
            What::MacToServer => "MAC client->server",
            What::CipherToClient => "cipher server->client",
            What::MacToClient => "MAC server->client",
        }
    }

    /// Whether the session's data go through this part.
    pub(super) const fn bulk(self) -> bool {
        matches!(self, What::CipherToServer | What::MacToServer | What::CipherToClient | What::MacToClient)
    }

    const fn to_server(self) -> bool {
        matches!(self, What::CipherToServer | What::MacToServer)
    }

    const fn cipher(self) -> bool {
        matches!(self, What::CipherToServer | What::CipherToClient)
    }
}

/// The algorithm that was negotiated for a part; `None` where the log does not say, or there is none.
pub(super) fn algorithm(what: What, log: &Log) -> Option<String> {
    let of = |stream: &Option<Stream>| {
        let stream = stream.clone()?;
        match stream.mac {
            _ if what.cipher() => Some(stream.cipher),
            Some(mac) if !knowledge::authenticates(&stream.cipher) => Some(mac),
            _ => None,
        }
    };
    match what {
        What::KeyExchange => log.key_exchange.clone(),
        What::HostKey => log.host_key.clone(),
        What::UserKey => {
            let key = log.user_key.as_ref().filter(|_| log.method.as_deref() == Some("publickey"))?;
            key.algorithm.clone().or_else(|| Some(by_kind(&key.kind)))
        }
        What::CipherToServer | What::MacToServer => of(&log.to_server),
        What::CipherToClient | What::MacToClient => of(&log.to_client),
    }
}

/// The algorithm of a key where the log only has the key's type: of those with several, the one OpenSSH prefers.
fn by_kind(kind: &str) -> String {
    let base = kind.strip_suffix("-CERT").unwrap_or(kind);
    match base {
        "ED25519" => "ssh-ed25519".to_owned(),
        "RSA" => "rsa-sha2-512".to_owned(),
        "ED25519-SK" => "sk-ssh-ed25519@openssh.com".to_owned(),
        "ECDSA-SK" => "sk-ecdsa-sha2-nistp256@openssh.com".to_owned(),
        other => other.to_owned(),
    }
}

/// The data that the verdicts of one session share.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    pub log: &'a Log,
    /// Bytes that surely went through the cipher in either direction.
    pub bytes: u64,
}

impl Judge<'_> {
    /// The verdict on `what` at `end`.
    pub(super) fn verdict(&self, what: What, end: &End) -> Verdict {
        let Some(name) = algorithm(what, self.log) else { return self.nothing(what) };
        let (act, reach) = self.reach(what, &name, end);
        if let (What::UserKey, Role::Client, Some(key)) = (what, end.role, &self.log.user_key)
            && key.held_elsewhere
        {
            return Verdict::new(Served::NotByAdjunct, Cause::Elsewhere, "signed by the agent or token, not by ssh");
        }
        let (moved, readable, ordinary) = match &end.seen {
            Seen::Not(why) => return Verdict::new(Served::NotVisible, Cause::NotVisible, *why),
            Seen::Exactly(moved) => (moved, true, false),
            Seen::Ordinary { moved, login, bulk } => (moved, if what.bulk() { *bulk } else { *login }, true),
        };
        if reach.functions.is_empty() {
            return uncounted(&reach, act, end);
        }
        if !readable {
            let whose = if what.bulk() { "the session's user" } else { "root" };
            let why = format!("counted for {whose}: run this as root to see it");
            return Verdict::new(Served::NotVisible, Cause::NotVisible, why);
        }
        // What others count meanwhile is no proof for an sshd without the module.
        let without = ordinary && end.modules.as_ref().is_some_and(Vec::is_empty);
        if without {
            return uncounted(&reach, act, end);
        }
        let expected = if what.bulk() { self.expected(what, &reach) } else { 0 };
        self.counted(what, &reach, end, moved, expected)
    }

    fn nothing(&self, what: What) -> Verdict {
        let why = match what {
            What::MacToServer | What::MacToClient => {
                return Verdict::new(Served::Nothing, Cause::Authenticated, "the cipher authenticates by itself");
            }
            What::UserKey => match self.log.method.as_deref() {
                Some("publickey") | None => "ssh's log does not name it".to_owned(),
                Some(method) => return Verdict::new(Served::Nothing, Cause::NoKey, format!("logged in by {method}")),
            },
            _ => "ssh's log does not name it".to_owned(),
        };
        Verdict::new(Served::NotVisible, Cause::NotVisible, why)
    }

    fn reach(&self, what: What, name: &str, end: &End) -> (Option<Act>, Reach) {
        let act = match (what, end.role) {
            (What::HostKey, Role::Server) | (What::UserKey, Role::Client) => Some(Act::Sign),
            (What::HostKey, Role::Client) | (What::UserKey, Role::Server) => Some(Act::Verify),
            _ => None,
        };
        let reach = match (what, act) {
            (What::KeyExchange, _) => knowledge::key_exchange(name),
            (_, Some(act)) => knowledge::signature(name, act, &end.program),
            _ if what.cipher() => knowledge::cipher(name),
            _ => knowledge::mac(name),
        };
        (act, reach)
    }

    /// The bytes that a function which serves `what` must have counted: both directions' where one counter holds both.
    fn expected(&self, what: What, reach: &Reach) -> u64 {
        if reach.directions {
            return self.bytes;
        }
        let both = [What::CipherToServer, What::MacToServer, What::CipherToClient, What::MacToClient];
        let same = both.iter().filter(|w| {
            w.cipher() == what.cipher()
                && algorithm(**w, self.log).is_some_and(|name| {
                    let other = if w.cipher() { knowledge::cipher(&name) } else { knowledge::mac(&name) };
                    other.functions == reach.functions
                })
        });
        self.bytes * same.count() as u64
    }

    fn counted(&self, what: What, reach: &Reach, end: &End, moved: &Snapshot, expected: u64) -> Verdict {
        let direction = reach.directions.then(|| match (end.role, what.to_server()) {
            (Role::Client, true) | (Role::Server, false) => Direction::Encrypt,
            _ => Direction::Decrypt,
        });
        let proof: Vec<(Function, Proof)> = reach
            .functions
            .iter()
            .map(|&f| (f, Proof { both_ways: expected > self.bytes, ..proof(f, reach.bits, direction, moved) }))
            .filter(|(_, p)| p.hw_calls + p.sw_calls + p.hw_bytes + p.sw_bytes > 0)
            .collect();
        let sum = |of: fn(&Proof) -> u64| proof.iter().map(|(_, p)| of(p)).sum::<u64>();
        let (hardware, software) = if what.bulk() {
            (sum(|p| p.hw_bytes), sum(|p| p.sw_bytes))
        } else {
            (sum(|p| p.hw_calls), sum(|p| p.sw_calls))
        };
        let all = hardware + software;
        // Keys in memory are encrypted, too, and key exchanges hashed: a few kilobytes are not the session's data.
        if all == 0 || all.saturating_mul(10) < expected {
            return uncounted(reach, None, end);
        }
        let function = proof.first().map(|(f, _)| *f);
        let reason = function
            .and_then(|f| Reason::ALL.iter().copied().max_by_key(|&r| (moved.fallbacks(f, r).calls, 255 - r as u8)));
        let reason = reason.filter(|&r| function.is_some_and(|f| moved.fallbacks(f, r).calls > 0));
        let mut verdict = if all < expected {
            let why = format!("only {all} of {expected} bytes were counted");
            Verdict::new(Served::Partly, Cause::Incomplete, why)
        } else if software.saturating_mul(100) <= hardware {
            Verdict { served: Served::Hardware, cause: None, why: String::new(), proof: Vec::new(), function: None }
        } else {
            let served = if hardware.saturating_mul(100) <= software { Served::Software } else { Served::Partly };
            let (cause, why) = reason.map_or((Cause::OtherSoftware, ""), |r| (cause_of(r), r.text()));
            Verdict::new(served, cause, why)
        };
        if !reach.note.is_empty() {
            verdict.why = [verdict.why.as_str(), reach.note]
                .iter()
                .filter(|w| !w.is_empty())
                .copied()
                .collect::<Vec<_>>()
                .join("; ");
        }
        verdict.function = function;
        verdict.proof = proof.into_iter().map(|(_, p)| p).collect();
        verdict
    }
}

fn cause_of(reason: Reason) -> Cause {
    match reason {
        Reason::NoInstruction => Cause::NoInstruction,
        Reason::CpuLacks => Cause::CpuLacks,
        Reason::Masked => Cause::Masked,
        Reason::Alone => Cause::Alone,
        _ => Cause::OtherSoftware,
    }
}

fn proof(function: Function, bits: usize, direction: Option<Direction>, moved: &Snapshot) -> Proof {
    let counts = if bits == 0 { moved.function(function) } else { moved.row(function.row(bits)) };
    let cells = |cells: [Cell; 2]| match direction {
        Some(direction) => cells[direction as usize],
        None => Cell { calls: cells[0].calls + cells[1].calls, bytes: cells[0].bytes + cells[1].bytes },
    };
    let (hardware, software) = (cells(counts.hardware), cells(counts.software));
    let split = function.info().kind == CounterSplit::Cipher;
    Proof {
        function: function.info().name,
        bits: (bits != 0).then_some(bits),
        both_ways: false,
        direction: direction.filter(|_| split).map(|d| if d == Direction::Encrypt { "enc" } else { "dec" }),
        hw_calls: hardware.calls,
        hw_bytes: hardware.bytes,
        sw_calls: software.calls,
        sw_bytes: software.bytes,
    }
}

/// The verdict on a part that adjunct did not count, with the reason.
fn uncounted(reach: &Reach, act: Option<Act>, end: &End) -> Verdict {
    let not = |cause, why: String| Verdict::new(Served::NotByAdjunct, cause, why);
    let noted = |text: &str| if reach.note.is_empty() { text.to_owned() } else { reach.note.to_owned() };
    if end.program == Program::Other {
        return not(Cause::UnknownProgram, "an SSH program whose inner works are unknown here".to_owned());
    }
    match reach.way {
        Way::BuiltIn => return not(Cause::BuiltIn, noted("OpenSSH's own code")),
        Way::OpenSsl => return not(Cause::LeftToOpenssl, format!("left to OpenSSL: {}", reach.note)),
        Way::Nothing if act == Some(Act::Sign) => return not(Cause::Elsewhere, noted("signed elsewhere")),
        Way::Nothing => return Verdict::new(Served::Nothing, Cause::Authenticated, noted("nothing to compute")),
        Way::Unknown => return not(Cause::UnknownAlgorithm, "nothing is known of how it is computed".to_owned()),
        Way::Provider | Way::Engine => {}
    }
    let program = end.role.program();
    match (&end.modules, &end.configured) {
        (Some(loaded), Configured::No(conf)) if loaded.is_empty() => not(
            Cause::NotEnabled,
            format!("adjunct is not enabled for {program} ({} does not name it)", conf.display()),
        ),
        (Some(loaded), Configured::Yes(conf)) if loaded.is_empty() => {
            not(Cause::NotLoaded, format!("{} names adjunct, but {program} did not load it", conf.display()))
        }
        (Some(loaded), Configured::Unknown) if loaded.is_empty() => {
            not(Cause::NotEnabled, format!("{program} has not loaded adjunct"))
        }
        (None, Configured::No(_)) => {
            not(Cause::NotEnabled, format!("{program} counted nothing: adjunct is not enabled there"))
        }
        _ if reach.way == Way::Engine => {
            let name = end.program.name();
            not(Cause::NeedsEngine, format!("{name} passes providers by here: only adjunct's engine catches it"))
        }
        _ if kept_by_openssl(reach, end) => not(
            Cause::KeptByOpenssl,
            "OpenSSL 3.5 keeps its own AES-256-CTR, which its random generator uses".to_owned(),
        ),
        (Some(_), _) => {
            let why = format!("{program} has adjunct loaded, but it counted nothing; is the algorithm switched off?");
            not(Cause::NotCounted, why)
        }
        (None, _) => {
            let why = format!("{program} counted nothing: adjunct is not enabled there, or does not offer it");
            not(Cause::NotCounted, why)
        }
    }
}

/// Whether this is the one known gap: the generator of OpenSSL 3.5 leaves its AES-256-CTR where the program then finds it.
fn kept_by_openssl(reach: &Reach, end: &End) -> bool {
    let version = end.openssl.as_deref().is_some_and(|v| v.starts_with("OpenSSL 3.5"));
    version && reach.functions == [Function::AesCtr] && reach.bits == 256
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
