//! Clients and servers that are known by name, and what lists of algorithms mean to them.
//!
//! `table.toml` has what each offers by default and where that is from; [`negotiation`] tells what two sides agree on, as RFC 4253 has it; [`effect`]
//! checks lists against the table: which peers can still connect, which no longer can, and which algorithms have to stay for which peers.

pub mod effect;
pub mod negotiation;

use super::algorithms::AlgorithmKind;
use super::config::Program;
use super::order::Lists;
use super::policy::Policy;
use adjunct_tool::Failure;
use effect::{Effect, Refused};
use serde::{Deserialize, Serialize};

/// The end of a connection with this machine that a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The peer logs in to this machine's sshd.
    Client,
    /// This machine's ssh logs in to the peer.
    Server,
    /// Client and server, with the same lists.
    Both,
}

/// A client or a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name: `libssh2`.
    pub name: String,
    /// The versions that offer this.
    pub versions: String,
    /// Other programs that contain the peer.
    pub used_by: Option<String>,
    /// The end of a connection that the peer is.
    pub role: Role,
    /// Source of the lists.
    pub source: String,
    /// The algorithms that the peer offers, in its own order.
    pub offers: Lists,
}

/// A peer as it stands in the table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Row {
    name: String,
    versions: String,
    used_by: Option<String>,
    role: Role,
    source: String,
    ciphers: String,
    macs: String,
    kex: String,
    host_keys: String,
}

#[derive(Debug, Deserialize)]
struct Table {
    peer: Vec<Row>,
}

impl Peer {
    /// Name and versions, with those that have it inside: `libssh2 1.10 (curl of Debian 12)`.
    pub fn title(&self) -> String {
        let short = self.short();
        self.used_by.as_ref().map_or_else(|| short.clone(), |by| format!("{short} ({by})"))
    }

    /// Name and versions.
    pub fn short(&self) -> String {
        format!("{} {}", self.name, self.versions)
    }

    /// Whether a version is one of these: `1.10.0` of `1.10`, `9.2` of `9.0 to 9.8`, `2.21` of `2.18 and later`.
    pub fn covers(&self, version: &str) -> bool {
        let version = numbers(version);
        // As exact as the bound is: 9.8.1 is 9.8.
        let beside = |bound: &str| {
            let bound = numbers(bound);
            version.iter().take(bound.len()).cmp(bound.iter())
        };
        if let Some(from) = self.versions.strip_suffix(" and later") {
            return beside(from).is_ge();
        }
        if let Some(to) = self.versions.strip_prefix("to ") {
            return beside(to).is_le();
        }
        match (self.versions.split_once(" to "), self.versions.split_once(" and ")) {
            (Some((from, to)), _) => beside(from).is_ge() && beside(to).is_le(),
            (_, Some((one, other))) => beside(one).is_eq() || beside(other).is_eq(),
            _ => beside(&self.versions).is_eq(),
        }
    }

    /// Whether the peer is the other end for this program.
    pub fn meets(&self, program: Program) -> bool {
        match self.role {
            Role::Both => true,
            Role::Client => program == Program::Sshd,
            Role::Server => program == Program::Ssh,
        }
    }
}

/// The numbers of a version.
fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}

/// All peers that are known.
///
/// # Errors
/// The table of this build cannot be read, which a test rules out.
pub fn known() -> Result<Vec<Peer>, Failure> {
    let table: Table = toml::from_str(include_str!("table.toml"))
        .map_err(|e| Failure::new(format!("adjunct's table of SSH clients: {}", e.message())))?;
    let names = |list: &str| list.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect();
    let peer = |row: Row| {
        let mut offers = Lists::default();
        for (kind, list) in AlgorithmKind::ALL.into_iter().zip([&row.ciphers, &row.macs, &row.kex, &row.host_keys]) {
            *offers.get_mut(kind) = names(list);
        }
        let Row { name, versions, used_by, role, source, .. } = row;
        Peer { name, versions, used_by, role, source, offers }
    };
    Ok(table.peer.into_iter().map(peer).collect())
}

/// The most names that are shown; `--json` has all.
const SHOWN: usize = 4;

/// Notes about lists, a line each: the peers that are refused, those for whom something stays, and those that cannot connect today either. `own` says
/// where the lists in force were set, if they are not OpenSSH's.
pub fn notes(program: Program, policy: &Policy, effect: &Effect, own: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    let end = if program == Program::Sshd { "cannot log in to this sshd" } else { "cannot be reached by this ssh" };
    for kept in &effect.kept {
        let others = kept.for_peers.len().saturating_sub(SHOWN);
        let more = if others > 0 { format!(" and {others} others") } else { String::new() };
        let whom = kept.for_peers.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let whom = if whom.is_empty() { "others that are known".to_owned() } else { whom };
        notes.push(format!("{}: {} stays, at the end, for {whom}{more}", kept.list, kept.algorithm));
    }
    notes.extend(refusal(program, policy, effect));
    if !effect.unable.is_empty() {
        let by = if own.is_empty() { "OpenSSH's defaults".to_owned() } else { own.join(", ") };
        let names: Vec<&str> = effect.unable.iter().map(|refused| refused.name.as_str()).collect();
        notes.push(format!("by {by}, not by adjunct, these {end}: {}", names.join(", ")));
    }
    notes
}

/// A sentence with the peers that a policy refuses; `None` where it refuses none.
pub fn refusal(program: Program, policy: &Policy, effect: &Effect) -> Option<String> {
    let noun = |list: &str| {
        AlgorithmKind::ALL.into_iter().find(|kind| kind.keyword() == list).map_or("algorithm", AlgorithmKind::noun)
    };
    let named = |refused: &Refused| format!("{}: no {} in common", refused.title(), noun(refused.list));
    let names: Vec<String> = effect.refused.iter().map(named).collect();
    let doing = if program == Program::Sshd { "log in to this sshd" } else { "be logged in to by this ssh" };
    (!names.is_empty())
        .then(|| format!("policy {} REFUSES these, which can {doing} today: {}", policy.name(), names.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn versions_are_found() {
        let of = |name: &str, version: &str| {
            let known = known().unwrap();
            let found: Vec<String> = known
                .iter()
                .filter(|p| p.name == name && p.meets(Program::Sshd) && p.covers(version))
                .map(Peer::short)
                .collect();
            assert!(found.len() < 2, "{version}: {found:?}");
            found.first().cloned().unwrap_or_default()
        };
        for (name, version, row) in [
            ("OpenSSH", "7.4", "7.4 and 7.5"),
            ("OpenSSH", "9.2", "9.0 to 9.8"),
            ("OpenSSH", "9.9", "9.9"),
            ("OpenSSH", "10.6", "10.0 and later"),
            ("libssh2", "1.10.0", "1.10"),
            ("libssh2", "1.1.0", ""),
            ("paramiko", "2.12.0", "2.9 to 3.4"),
            ("paramiko", "4.1", "4"),
            ("Go x/crypto/ssh", "0.0.2021", "to 0.0.2021"),
            ("Go x/crypto/ssh", "0.43", "0.38 and later"),
            ("Dropbear", "2022.83", "2020.79 and later"),
            ("PuTTY", "0.78", "0.75 to 0.80"),
        ] {
            let wanted = if row.is_empty() { String::new() } else { format!("{name} {row}") };
            assert_eq!(of(name, version), wanted);
        }
    }

    #[test]
    fn the_table_is_whole() {
        let all = known().unwrap();
        let mut names = BTreeSet::new();
        for peer in &all {
            assert!(names.insert((peer.short(), peer.role == Role::Server)), "{} stands twice", peer.short());
            assert!(!peer.source.is_empty(), "{}", peer.short());
            for kind in AlgorithmKind::ALL {
                let list = peer.offers.get(kind);
                assert!(!list.is_empty(), "{} has no {}", peer.short(), kind.noun());
                assert_eq!(
                    list.iter().collect::<BTreeSet<_>>().len(),
                    list.len(),
                    "{}: a name stands twice",
                    peer.short()
                );
                assert!(list.iter().all(|n| !n.contains(char::is_whitespace) && !n.contains("-cert-")), "{list:?}");
            }
        }
        for wanted in
            ["OpenSSH", "libssh2", "libssh", "paramiko", "JSch", "PuTTY", "WinSCP", "FileZilla", "Dropbear", "AsyncSSH"]
        {
            assert!(all.iter().any(|p| p.name == wanted), "{wanted}");
        }
        assert!(all.iter().any(|p| p.meets(Program::Ssh)) && all.iter().any(|p| p.meets(Program::Sshd)));
    }
}
