//! Processes: whether one that runs is served.

use adjunct::catalogue::Function;
use adjunct::counters;
use adjunct_survey::Cause;
use adjunct_survey::judge::same_file;
use adjunct_survey::maps::Other;
use adjunct_survey::process::{Confined, Process, Root};
use adjunct_survey::served::{Judged, Programs, Standing, State, Verdict};
use adjunct_survey::{providers, trust};
use adjunct_tool::escape::shown;
use adjunct_ztools::stats::User;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// A process and the verdict on it.
#[derive(Debug, Clone, Serialize)]
pub struct Ran {
    /// The process.
    #[serde(flatten)]
    pub process: Process,
    /// Whether the process is served.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The operations of its user's programs in hardware since the counters were reset, where that may be read.
    pub user_operations_in_hardware: Option<u64>,
}

/// The counters of users, each read once.
#[derive(Debug, Default)]
pub struct Proof {
    known: HashMap<u32, Option<u64>>,
}

impl Proof {
    /// The operations that a user's programs had done in hardware; `None` where nothing was counted or it may not be read.
    fn of(&mut self, uid: u32) -> Option<u64> {
        *self.known.entry(uid).or_insert_with(|| {
            let snapshot = counters::read(uid).ok().flatten()?;
            let all = Function::ALL.iter().map(|&function| snapshot.function(function).hardware_calls()).sum();
            Some(all).filter(|&all: &u64| all > 0)
        })
    }
}

/// Judges a process.
pub fn judge(process: Process, programs: &mut Programs, standing: &Standing, proof: &mut Proof) -> Ran {
    let judged = process.exe.as_deref().filter(|_| !process.elsewhere).map(|exe| programs.judge(exe));
    let operations = if process.loaded { proof.of(process.uid) } else { None };
    let verdict = verdict(&process, judged.as_ref(), programs, standing, operations);
    Ran { process, verdict, user_operations_in_hardware: operations }
}

fn verdict(
    process: &Process,
    program: Option<&Judged>,
    programs: &mut Programs,
    standing: &Standing,
    operations: Option<u64>,
) -> Verdict {
    let restart = || process.restart_words();
    if process.loaded {
        if let Some(verdict) = own_provider(process).filter(|_| standing.yields) {
            return verdict;
        }
        let wheel = process.wheel.as_deref().is_some_and(|library| programs.has_openssl_inside(library));
        return loaded(process, operations, wheel);
    }
    if process.replaced {
        let why = "an upgrade replaced its libcrypto or libssl, and it goes on with the old one, without adjunct";
        return Verdict::not(Cause::LibraryReplaced, why).advising(restart());
    }
    if process.other.contains(&Other::Pkcs11) {
        return Verdict::through("adjunct's PKCS #11 module, which it has loaded");
    }
    let openssl = program.and_then(|judged| judged.openssl.as_deref());
    // Node and others with OpenSSL inside have no libcrypto among their mappings.
    let inside = openssl.is_some_and(|openssl| openssl.libcrypto.is_none());
    if process.libcrypto.is_none() && !inside {
        return without_openssl(process, program);
    }
    if let Some(conf) = process.openssl_conf.as_ref().filter(|_| !process.secure)
        && process.root.is_none()
        && !same_file(conf, &standing.reach.config)
    {
        let given = programs.given(conf);
        let served = if inside && !process.node_shares { given.node } else { given.provider };
        if !served {
            let enable = conf.is_file().then(|| format!("{}, or ", trust::enabling(conf)));
            let conf = shown(conf);
            let why = format!("OPENSSL_CONF in its environment is {conf}, which does not name adjunct");
            let advice = format!("{}take the variable away; then {}", enable.unwrap_or_default(), restart());
            return Verdict::not(Cause::EnvironmentConfig, why).advising(advice);
        }
    }
    if let Some(root) = process.root {
        return elsewhere(root, process.pid, standing);
    }
    // What keeps the program itself from it keeps this process, too.
    let program = program.map(|judged| &judged.verdict);
    let passed = |cause: Option<Cause>| match cause {
        Some(Cause::NodeSection) => process.node_shares,
        // It has loaded OpenSSL all the same.
        Some(Cause::NoCrypto | Cause::GnuTls) | None => true,
        Some(_) => false,
    };
    if let Some(verdict) = program.filter(|v| v.state == State::NotServed && !passed(v.cause)) {
        return verdict.clone();
    }
    // It loaded OpenSSL by a search of its own, of which its file says nothing.
    if !standing.reach.given.provider && program.is_none_or(|v| v.state < State::ServedThroughPlugin) {
        return match standing.problems.first().filter(|_| standing.enabled) {
            Some(why) => {
                let because = format!("adjunct is enabled, not in force: {}", shown(why));
                Verdict::not_in(standing, Cause::NotInForce, because)
            }
            None => {
                Verdict::not_in(standing, Cause::NotEnabled, "adjunct is not enabled in the openssl.cnf that it reads")
            }
        };
    }
    if let Some(library) = openssl.and_then(|o| o.through.as_deref()).filter(|t| t.starts_with("libsystemd-shared")) {
        let why = format!("OpenSSL came into it with {library}, which most programs never have compute");
        return Verdict::unknown(Cause::NotUsedYet, why);
    }
    if standing.reach.by_environment && process.openssl_conf.is_none() {
        let why = format!(
            "it reads the system's openssl.cnf, and {} only where OPENSSL_CONF says so",
            shown(&standing.reach.config)
        );
        return Verdict::not(Cause::OtherConfig, why).advising(format!("set OPENSSL_CONF for it, and {}", restart()));
    }
    if matches!((process.started, standing.reach.since), (Some(start), Some(since)) if start < since) {
        if is_listening_sshd(process) && (process.openssl_conf.is_some() || standing.reach.given.provider) {
            let why = "the provider in each new session, for which sshd executes itself again; this process, which only listens, was started \
                       before adjunct was enabled, and so were sessions that are open since";
            return Verdict::served(why);
        }
        let why = "it was started before adjunct was enabled";
        return Verdict::not(Cause::StartedBefore, why).advising(restart());
    }
    confined(process, program, standing)
}

/// Whether a process is the sshd that listens. For each connection it executes its program again, which reads openssl.cnf anew; it computes nothing
/// itself. Where the processes of sessions run the same program, sshd has started them.
fn is_listening_sshd(process: &Process) -> bool {
    let program = process.exe.as_deref().and_then(Path::file_name);
    program.is_some_and(|name| name == "sshd") && !process.child_of_its_kind
}

/// Judges a process that sees other files: those below its root decide.
fn elsewhere(root: Root, pid: u32, standing: &Standing) -> Verdict {
    let (cause, what) = match root {
        Root::Container => (Cause::Container, "it runs in a container"),
        Root::Chroot => (Cause::Chroot, "its root is another folder"),
    };
    let module = standing.reach.modules.first();
    let (why, advice) = match module.map(|module| (shown(module), root_has(pid, module))) {
        Some((module, Some(true))) => {
            (format!("where {module} is and another openssl.cnf decides"), "run 'adjunct doctor' there")
        }
        Some((module, Some(false))) => (format!("where {module} is not"), "install adjunct there and enable it there"),
        _ => ("which has files of its own".to_owned(), "run 'adjunct doctor' there"),
    };
    Verdict::not(cause, format!("{what}, {why}")).advising(advice)
}

/// Whether a file exists for a process, in its root; `None` where that cannot be seen.
fn root_has(pid: u32, path: &Path) -> Option<bool> {
    let (flags, none) = (OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let root = rustix::fs::open(format!("/proc/{pid}/root"), flags | OFlags::DIRECTORY, none).ok()?;
    // Links are followed as the process would, and not out of its root.
    match rustix::fs::openat2(&root, path, flags, none, ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS) {
        Ok(_) => Some(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Some(false),
        Err(_) => None,
    }
}

/// Judges a process that reads the configuration and has not loaded the module: something forbids it, or it has computed nothing yet.
fn confined(process: &Process, program: Option<&Verdict>, standing: &Standing) -> Verdict {
    let module = standing.reach.modules.first().map(shown).unwrap_or_else(|| "the module".to_owned());
    match &process.confined {
        Some(Confined::AppArmor(profile)) => {
            let profile = shown(profile);
            let advice = format!("see 'journalctl -k | grep DENIED'; a line '{module} mr,' in the profile allows it");
            let why = format!("it has not loaded the module, and the AppArmor profile {profile} confines it");
            Verdict::not(Cause::AppArmor, why).advising(advice)
        }
        Some(Confined::SeLinux(domain)) => {
            let why = format!("it has not loaded the module, and the SELinux domain {} confines it", shown(domain));
            Verdict::not(Cause::SeLinux, why)
        }
        None if program.is_some_and(|v| v.state == State::Unknown) => program.cloned().unwrap_or_else(unused),
        None => unused(),
    }
}

fn unused() -> Verdict {
    let why = "it has OpenSSL in memory and has computed nothing with it yet; the module comes with its first use";
    Verdict::unknown(Cause::NotUsedYet, why)
}

/// The module is in its memory, and so is a provider that no configuration names: where adjunct steps back, none is activated but its own.
fn own_provider(process: &Process) -> Option<Verdict> {
    let names: Vec<String> = process.providers.iter().filter_map(|path| providers::name(path)).collect();
    (!names.is_empty()).then(|| {
        let why = format!(
            "it has loaded the provider {} itself; if that was before its first use of OpenSSL, adjunct has stepped back and serves nothing in it",
            shown(&names.join(" and "))
        );
        Verdict::unknown(Cause::OwnProvider, why)
    })
}

/// The module is in its memory.
fn loaded(process: &Process, operations: Option<u64>, wheel: bool) -> Verdict {
    let user = User::from_uid(process.uid).name;
    let proof = match operations {
        Some(count) => format!("; {} operations in hardware counted for user {}", grouped(count), shown(&user)),
        None => String::new(),
    };
    if process.module_replaced || process.replaced {
        let what = if process.module_replaced { "the module" } else { "OpenSSL" };
        let cause = if process.module_replaced { Cause::ModuleReplaced } else { Cause::LibraryReplaced };
        let why = format!(
            "the module it has loaded, but an upgrade replaced {what}, and it goes on with the old code{proof}"
        );
        return Verdict { cause: Some(cause), ..Verdict::served(why) }.advising(process.restart_words());
    }
    if wheel {
        let why = format!(
            "the module it has loaded{proof}; not so its package cryptography, which brings an OpenSSL of its own"
        );
        return Verdict::served(why);
    }
    Verdict::served(format!("the module it has loaded{proof}"))
}

/// No libcrypto is in its memory.
fn without_openssl(process: &Process, program: Option<&Judged>) -> Verdict {
    let has = |other: Other| process.other.contains(&other);
    let seen = if has(Other::Java) {
        Some((Cause::Java, "Java's own code (JSSE, JCE) encrypts for it, and takes PKCS #11 alone"))
    } else if has(Other::Wheel) {
        Some((Cause::Wheel, "the package cryptography in it brings an OpenSSL of its own"))
    } else if has(Other::Gnutls) {
        Some((Cause::GnuTls, "GnuTLS encrypts for it"))
    } else if has(Other::Nss) {
        Some((Cause::Nss, "NSS encrypts for it"))
    } else {
        None
    };
    match (seen, program) {
        (Some((Cause::Wheel, why)), _) => {
            let advice = "use the distribution's package, or pip install --no-binary cryptography cryptography";
            Verdict::not(Cause::Wheel, why).advising(advice)
        }
        (Some((cause, why)), _) => Verdict::not(cause, why),
        (None, Some(judged)) if judged.verdict.state == State::NotServed => judged.verdict.clone(),
        (None, _) if has(Other::Library) => Verdict::not(Cause::OtherLibrary, "another library encrypts for it"),
        (None, Some(judged)) if judged.verdict.state == State::Served => judged.verdict.clone(),
        _ => Verdict::not(Cause::NoCrypto, "it has no library that encrypts in its memory"),
    }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1204), "1,204");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
