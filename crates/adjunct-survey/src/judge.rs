//! Whether a program gets the provider, the engine, or neither, and why.

use super::cause::Cause;
use super::functions::{Call, CallKind};
use super::libcrypto::Libcrypto;
use super::{Given, Reach};
use adjunct::config::engine_methods;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

/// The part of adjunct that a program gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Gets {
    /// Provider and engine.
    #[serde(rename = "provider and engine")]
    Both,
    /// The provider alone.
    #[serde(rename = "provider")]
    Provider,
    /// The engine alone: the program calls no function that providers serve.
    #[serde(rename = "engine")]
    Engine,
    /// Neither provider nor engine.
    #[serde(rename = "neither")]
    Neither,
    /// Unknown: it cannot be told from outside.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Gets {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Gets::Both => "provider and engine",
            Gets::Provider => "provider",
            Gets::Engine => "engine",
            Gets::Neither => "neither",
            Gets::Unknown => "unknown",
        }
    }
}

/// The rights with which a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rights {
    /// The program runs with the rights of the user who starts it.
    #[default]
    Own,
    /// The rights of the file's owner.
    Setuid,
    /// The rights of the file's group.
    Setgid,
    /// Some of root's, by file capabilities.
    Capabilities,
}

impl Rights {
    /// The rights that a file gives to the program in it.
    pub fn of(path: &Path) -> Rights {
        use std::os::unix::fs::MetadataExt;
        let mode = std::fs::metadata(path).map_or(0, |m| m.mode());
        let mut value = [0_u8; 64];
        let mut capable = || rustix::fs::getxattr(path, c"security.capability", &mut value[..]).is_ok();
        match mode {
            _ if mode & 0o4000 != 0 => Rights::Setuid,
            // Without execution by the group, the bit means mandatory locking.
            _ if mode & 0o2010 == 0o2010 => Rights::Setgid,
            _ if capable() => Rights::Capabilities,
            _ => Rights::Own,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Rights::Own => "",
            Rights::Setuid => "setuid",
            Rights::Setgid => "setgid",
            Rights::Capabilities => "it has file capabilities",
        }
    }
}

/// The facts about a program by which it is judged.
#[derive(Debug)]
pub struct User {
    /// The copy of OpenSSL it uses.
    pub libcrypto: Rc<Libcrypto>,
    /// Functions that the program and its libraries call (libssl and libcrypto left out), each with the library that calls it; `None` where the
    /// program does.
    pub calls: BTreeMap<Call, Option<String>>,
    /// Whether it is a plugin, which programs load.
    pub plugin: bool,
    /// The rights with which it runs.
    pub rights: Rights,
    /// Whether its machine code is of the module's kind.
    pub same_machine: bool,
    /// The library that brings GnuTLS, where it or one of its own libraries asks for it.
    pub gnutls: Option<String>,
}

/// Low-level functions that a program or a library of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// The library; none for the program itself.
    pub by: Option<String>,
    /// The functions.
    pub functions: Vec<String>,
}

/// Yes or no, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the program gets it.
    pub gets: bool,
    /// Why the program gets it or not, or what it is used for.
    pub why: String,
}

/// The verdicts on provider and engine, and the two in a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Provider and engine in a word.
    pub gets: Gets,
    /// The provider.
    pub provider: Verdict,
    /// The engine.
    pub engine: Verdict,
    /// Why the program gets neither, or why that cannot be told.
    pub cause: Option<Cause>,
}

/// Why a program does not load adjunct.
enum Barrier {
    No(Cause, String),
    Unknown(Cause, String),
}

/// Judges a program that reads `config`, which gives `given`.
pub fn judge(user: &User, given: Given, config: Option<&Path>, reach: &Reach) -> Judged {
    let no = |why: &str| Verdict { gets: false, why: why.to_owned() };
    match barrier(user, given, config, reach) {
        Some(Barrier::No(cause, why)) => {
            Judged { gets: Gets::Neither, provider: no(&why), engine: no(&why), cause: Some(cause) }
        }
        Some(Barrier::Unknown(cause, why)) => {
            Judged { gets: Gets::Unknown, provider: no(&why), engine: no(&why), cause: Some(cause) }
        }
        None => {
            let (provider, engine) = (provider(user), engine(user, given));
            let gets = match (provider.gets, engine.gets) {
                (true, true) => Gets::Both,
                (true, false) => Gets::Provider,
                (false, true) => Gets::Engine,
                (false, false) => Gets::Neither,
            };
            let cause = (gets == Gets::Neither).then_some(Cause::LowLevel);
            Judged { gets, provider, engine, cause }
        }
    }
}

/// The reason why a program cannot load adjunct at all.
fn barrier(user: &User, given: Given, config: Option<&Path>, reach: &Reach) -> Option<Barrier> {
    let no = |cause, why: String| Some(Barrier::No(cause, why));
    let libcrypto = &user.libcrypto;
    let other = config.is_some_and(|config| !same_file(config, &reach.config));
    let config = config.unwrap_or(Path::new("its own openssl.cnf")).display();
    let Some(version) = &libcrypto.version else {
        let inside = if libcrypto.path.is_some() { "its libcrypto does" } else { "the OpenSSL linked into it does" };
        return Some(Barrier::Unknown(Cause::Static, format!("{inside} not say its version")));
    };
    match libcrypto.major() {
        Some(0..3) | None => return no(Cause::OldOpenssl, format!("{version} has no providers")),
        Some(_) => {}
    }
    if libcrypto.path.is_none() {
        return inside(user, version, given, &config.to_string());
    }
    if !user.same_machine {
        return no(Cause::OtherMachine, "it is machine code of another kind than the module".to_owned());
    }
    if reach.by_environment && user.rights != Rights::Own {
        return no(Cause::Setuid, format!("{}: it ignores OPENSSL_CONF", user.rights.words()));
    }
    if has(user, CallKind::OwnSection) {
        let why = "it chooses itself which section of openssl.cnf it reads".to_owned();
        return Some(Barrier::Unknown(Cause::OwnSection, why));
    }
    let by_itself = user.calls.iter().any(|(call, by)| by.is_none() && call.kind == CallKind::Evp);
    if let (Some(library), false, false) = (&user.gnutls, by_itself, has(user, CallKind::Tls)) {
        let callers: std::collections::BTreeSet<&str> = user.calls.values().flatten().map(String::as_str).collect();
        let only = callers.into_iter().collect::<Vec<_>>().join(", ");
        return no(
            Cause::GnuTls,
            format!("GnuTLS encrypts its connections ({library}); OpenSSL is there for {only} alone"),
        );
    }
    if !given.provider {
        let cause = if other { Cause::OtherConfig } else { Cause::NotEnabled };
        return no(cause, format!("adjunct is not enabled in {config}"));
    }
    None
}

/// What keeps a copy of OpenSSL inside the program from loading adjunct. Node's copy is known: its provider and the configuration that it reads.
fn inside(user: &User, version: &str, given: Given, config: &str) -> Option<Barrier> {
    let libcrypto = &user.libcrypto;
    if libcrypto.node {
        return match (given.node, given.provider) {
            (true, _) => None,
            (false, true) => {
                let why =
                    format!("Node reads the section nodejs_conf of {config} only, and that does not name adjunct");
                Some(Barrier::No(Cause::NodeSection, why))
            }
            (false, false) => Some(Barrier::No(Cause::NotEnabled, format!("adjunct is not enabled in {config}"))),
        };
    }
    if user.plugin {
        let why = format!("{version} is linked into it statically, and cannot load modules or reads {config} alone");
        return Some(Barrier::No(Cause::Wheel, why));
    }
    let why = format!("{version} is linked into it statically and reads {config}, if anything");
    Some(if given.provider { Barrier::Unknown(Cause::Static, why) } else { Barrier::No(Cause::Static, why) })
}

/// Whether two paths lead to one file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((std::fs::canonicalize(a), std::fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn provider(user: &User) -> Verdict {
    let (evp, tls) = (has(user, CallKind::Evp), has(user, CallKind::Tls));
    if user.libcrypto.path.is_none() {
        // What calls the copy inside it does not show among its symbols.
        return Verdict { gets: true, why: "the OpenSSL inside it".to_owned() };
    }
    let why = match (evp, tls) {
        (true, true) => "TLS, and EVP functions",
        (false, true) => "TLS",
        (true, false) => "EVP functions",
        (false, false) => "it calls no function that providers serve",
    };
    Verdict { gets: evp || tls, why: why.to_owned() }
}

fn engine(user: &User, given: Given) -> Verdict {
    let all = engine_calls(user, given);
    let verdict = |gets, why: String| Verdict { gets, why };
    // By itself the engine comes where the program's own file calls for it, and then serves its libraries, too.
    let by_itself = |kind: CallKind| {
        let automatic = given.engine & engine_methods::AUTO != 0 && matches!(kind, CallKind::Rsa | CallKind::Ec);
        automatic && !user.plugin && user.calls.iter().any(|(call, by)| call.kind == kind && by.is_none())
    };
    let served = |&kind: &CallKind| (given.engine & method(kind) != 0 && has(user, kind)) || by_itself(kind);
    match (all.is_empty(), user.libcrypto.has_engines, KEYS.iter().any(served)) {
        (true, ..) => verdict(false, "it calls no low-level RSA or EC function".to_owned()),
        (_, false, _) => verdict(false, format!("its libcrypto has no engines: OpenSSL serves {}", listed(&all))),
        (_, _, false) if given.engine & engine_methods::AUTO != 0 => verdict(
            false,
            format!("only libraries call {}: 'enable --engine RSA,EC' has them served, too", listed(&all)),
        ),
        (_, _, false) => verdict(false, format!("the engine is not enabled for {}", listed(&all))),
        _ => verdict(true, listed(&calls(user, |kind| served(&kind)))),
    }
}

/// Operations on keys, which an engine can serve.
const KEYS: [CallKind; 3] = [CallKind::Rsa, CallKind::Ec, CallKind::Dh];

/// The group that an engine has to serve for a kind of call.
fn method(kind: CallKind) -> u32 {
    match kind {
        CallKind::Rsa => engine_methods::RSA,
        CallKind::Ec => engine_methods::EC,
        CallKind::Dh => engine_methods::DH,
        _ => 0,
    }
}

/// The low-level calls that adjunct's engine serves where it is enabled; DH only where it was asked for.
pub fn engine_calls(user: &User, given: Given) -> Vec<Calls> {
    calls(user, |kind| matches!(kind, CallKind::Rsa | CallKind::Ec) || given.engine & method(kind) != 0)
}

/// The low-level calls that only OpenSSL itself can serve.
pub fn bypasses(user: &User, given: Given) -> Vec<Calls> {
    calls(user, |kind| kind == CallKind::Bypass || (kind == CallKind::Dh && given.engine & engine_methods::DH == 0))
}

fn has(user: &User, kind: CallKind) -> bool {
    user.calls.keys().any(|call| call.kind == kind)
}

/// The functions of some kinds that a program calls, by the file that calls them.
fn calls(user: &User, wanted: impl Fn(CallKind) -> bool) -> Vec<Calls> {
    let mut callers: BTreeMap<Option<&String>, Vec<String>> = BTreeMap::new();
    for (call, by) in user.calls.iter().filter(|(call, _)| wanted(call.kind)) {
        callers.entry(by.as_ref()).or_default().push(call.name.clone());
    }
    callers.into_iter().map(|(by, functions)| Calls { by: by.cloned(), functions }).collect()
}

/// Functions and their callers in a line.
pub fn listed(calls: &[Calls]) -> String {
    let one = |calls: &Calls| {
        let names = some(&calls.functions);
        calls.by.as_ref().map_or(names.clone(), |by| format!("{names} ({by})"))
    };
    calls.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A list of names that does not fill a screen.
pub fn some(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

/// Notes about a program, one line each.
pub fn notes(user: &User, reach: &Reach) -> Vec<String> {
    let mut notes = Vec::new();
    if user.rights != Rights::Own && !reach.by_environment {
        let what = "it reads openssl.cnf, but ignores OPENSSL_CONF and adjunct's variables";
        notes.push(format!("{}: {what}", user.rights.words()));
    }
    if has(user, CallKind::OwnContext) {
        notes.push("the program, or a library that it uses, makes contexts of OpenSSL (OSSL_LIB_CTX) beside the default one; what it computes in those, adjunct does not serve, for they read no configuration".to_owned());
    }
    notes
}
