//! Lists compared with the table of peers: the algorithms that have to stay for a peer, and the peers that can no longer connect.

use super::super::algorithms::AlgorithmKind;
use super::super::config::Program;
use super::super::order::Lists;
use super::super::policy::Policy;
use super::negotiation::negotiate;
use super::{Peer, Role};
use serde::Serialize;

/// An algorithm that a policy would leave out, and that stays at the end of its list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The list that the algorithm is in.
    pub list: &'static str,
    /// The algorithm.
    pub algorithm: String,
    /// Peers that the algorithm is kept for.
    pub for_peers: Vec<String>,
}

/// A client or server that can connect with the lists in force and not with the new ones, or with neither.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// Name and versions.
    pub name: String,
    /// Other programs that contain the peer.
    pub used_by: Option<String>,
    /// Client or server.
    pub role: Role,
    /// The list of which the peer has nothing.
    pub list: &'static str,
    /// The algorithms of that list which the peer has.
    pub has: Vec<String>,
}

impl Refused {
    fn new(peer: &Peer, kind: AlgorithmKind) -> Refused {
        let (name, used_by) = (peer.short(), peer.used_by.clone());
        Refused { name, used_by, role: peer.role, list: kind.keyword(), has: peer.offers.get(kind).to_vec() }
    }

    /// `libssh2 1.10 (curl of Debian 12)`.
    pub fn title(&self) -> String {
        self.used_by.as_ref().map_or_else(|| self.name.clone(), |by| format!("{} ({by})", self.name))
    }
}

/// The effect of lists on the known clients and servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// Peers that can connect.
    pub connect: Vec<String>,
    /// The algorithms that stay although the policy would leave them out, with the peers that need them.
    pub kept: Vec<Kept>,
    /// Peers that can connect today and no longer could.
    pub refused: Vec<Refused>,
    /// Peers that cannot connect today either.
    pub unable: Vec<Refused>,
}

/// The program, peers and host keys for which lists are checked.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The program whose lists they are.
    pub program: Program,
    /// The peers that are known.
    pub peers: &'a [Peer],
    /// The types of the host keys of this machine's sshd; none where they are not known.
    pub host_keys: Option<&'a [String]>,
}

impl Ground<'_> {
    /// The list in which the peer finds nothing; none where it connects.
    fn lacks(&self, peer: &Peer, ours: &Lists) -> Option<AlgorithmKind> {
        let (client, server) = match self.program {
            Program::Sshd => (&peer.offers, ours),
            Program::Ssh => (ours, &peer.offers),
        };
        let has_key = |algorithm: &str| {
            let mine = self.host_keys.filter(|_| self.program == Program::Sshd);
            mine.is_none_or(|keys| keys.iter().any(|key| signs(algorithm, key)))
        };
        negotiate(client, server, has_key).err().map(|nothing| nothing.kind)
    }

    /// Adds to the lists that a policy has made of those in force what has to stay at their ends for peers that can connect today, as far as the
    /// policy lets it stay; gives the algorithms that stay, with the peers that need them.
    pub fn kept(&self, policy: &Policy, in_force: &Lists, mut lists: Lists) -> (Lists, Vec<Kept>) {
        let today: Vec<&Peer> = self.mine().filter(|peer| self.lacks(peer, in_force).is_none()).collect();
        let mut kept: Vec<(AlgorithmKind, String)> = Vec::new();
        // Anew after each addition: what is added may be what another peer takes first.
        while let Some((kind, name)) = today.iter().find_map(|peer| {
            let kind = self.lacks(peer, &lists)?;
            Some((kind, self.spare(policy, kind, peer, in_force, &lists)?))
        }) {
            kept.push((kind, name.clone()));
            let list = lists.get_mut(kind);
            list.push(name);
            let added = kept.iter().filter(|(k, _)| *k == kind).count();
            let at = list.len() - added;
            list[at..].sort_by_key(|name| place(policy, kind, name, in_force));
        }
        let for_whom = |(kind, algorithm): (AlgorithmKind, String)| {
            let mut without = lists.clone();
            without.get_mut(kind).retain(|name| *name != algorithm);
            let lose = |peer: &&&Peer| self.lacks(peer, &lists).is_none() && self.lacks(peer, &without).is_some();
            let for_peers = today.iter().filter(lose).map(|peer| peer.title()).collect();
            Kept { list: kind.keyword(), algorithm, for_peers }
        };
        let kept = kept.into_iter().map(for_whom).collect();
        (lists, kept)
    }

    /// The effect of lists on all known peers, compared with the lists in force.
    pub fn effect(&self, in_force: &Lists, lists: &Lists) -> Effect {
        let mut effect = Effect::default();
        for peer in self.mine() {
            match (self.lacks(peer, in_force), self.lacks(peer, lists)) {
                (_, None) => effect.connect.push(peer.short()),
                (None, Some(kind)) => effect.refused.push(Refused::new(peer, kind)),
                (Some(kind), Some(_)) => effect.unable.push(Refused::new(peer, kind)),
            }
        }
        effect
    }

    fn mine(&self) -> impl Iterator<Item = &Peer> {
        self.peers.iter().filter(|peer| peer.meets(self.program))
    }

    /// The algorithm to add for a peer: among those that it and the list in force have in common, the best that the policy lets stay.
    fn spare(
        &self,
        policy: &Policy,
        kind: AlgorithmKind,
        peer: &Peer,
        in_force: &Lists,
        lists: &Lists,
    ) -> Option<String> {
        let usable = |name: &&String| {
            peer.offers.get(kind).contains(name) && !lists.get(kind).contains(name) && policy.may_stay(kind, name)
        };
        let names = in_force.get(kind).iter().filter(usable);
        names.min_by_key(|name| place(policy, kind, name, in_force)).cloned()
    }
}

/// The place of a name at the end of a list: by its kind, then by its place in force.
fn place(policy: &Policy, kind: AlgorithmKind, name: &str, in_force: &Lists) -> (usize, usize) {
    (policy.spare_rank(kind, name), in_force.get(kind).iter().position(|n| n == name).unwrap_or(usize::MAX))
}

/// Whether a key of this type signs by this algorithm.
pub fn signs(algorithm: &str, key: &str) -> bool {
    algorithm == key || (key == "ssh-rsa" && algorithm.starts_with("rsa-sha2-"))
}

#[cfg(test)]
mod tests {
    use super::super::known;
    use super::*;
    use crate::ssh::tune::order::ordered;
    use crate::ssh::tune::survey::Survey;

    /// What OpenSSH 9.2 has in force.
    fn openssh() -> Lists {
        known().unwrap().into_iter().find(|p| p.versions == "9.0 to 9.8").unwrap().offers
    }

    fn held(program: Program, policy: &str, in_force: &Lists) -> (Lists, Effect) {
        let (peers, policy) = (known().unwrap(), Policy::named(policy).unwrap());
        let keys: Vec<String> = ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"].map(str::to_owned).to_vec();
        let ground = Ground { program, peers: &peers, host_keys: Some(&keys) };
        let (lists, kept) = ground.kept(&policy, in_force, ordered(&policy, in_force, &Survey::default()));
        let effect = Effect { kept, ..ground.effect(in_force, &lists) };
        (lists, effect)
    }

    fn names(refused: &[Refused]) -> Vec<&str> {
        refused.iter().map(|r| r.name.as_str()).collect()
    }

    #[test]
    fn modern_refuses_nobody_that_comes_with_openssh_s_defaults() {
        for program in [Program::Ssh, Program::Sshd] {
            for version in known().unwrap().into_iter().filter(|p| p.name == "OpenSSH" && p.role == Role::Both) {
                let (lists, effect) = held(program, "modern", &version.offers);
                assert!(effect.refused.is_empty(), "{} {program:?}: {:?}", version.short(), effect.refused);
                let mac = lists.get(AlgorithmKind::Macs).iter().position(|m| m == "hmac-sha2-256");
                if program == Program::Sshd {
                    assert!(
                        mac.is_some_and(|at| lists.get(AlgorithmKind::Macs)[..at].iter().all(|m| m.contains("-etm@"))),
                        "{lists:?}"
                    );
                }
            }
        }
        let (_, effect) = held(Program::Sshd, "modern", &openssh());
        let mac = effect.kept.iter().find(|kept| kept.algorithm == "hmac-sha2-256").unwrap();
        assert_eq!(mac.list, "MACs");
        for peer in
            ["libssh2 1.10 (curl of Debian 12, Ubuntu 22.04)", "JSch 0.1.55", "paramiko 2.0 to 2.6", "Dropbear 2018.76"]
        {
            assert!(mac.for_peers.iter().any(|p| p.starts_with(peer)), "{peer}: {:?}", mac.for_peers);
        }
        // Key exchange by SHA-1 or an RSA host key by SHA-1 is all they have: OpenSSH 9 refuses them, not we.
        for peer in ["libssh2 1.8", "Cisco IOS 12.2 to 15"] {
            assert!(names(&effect.unable).contains(&peer), "{:?}", names(&effect.unable));
        }
    }

    #[test]
    fn strict_and_fips_say_whom_they_refuse() {
        let (lists, effect) = held(Program::Sshd, "strict", &openssh());
        assert!(effect.kept.is_empty() && lists.get(AlgorithmKind::Macs).iter().all(|m| m.contains("-etm@")));
        for peer in ["libssh2 1.10", "JSch 0.1.55", "paramiko 2.0 to 2.6", "ssh2 of Node.js 0.8"] {
            assert!(names(&effect.refused).contains(&peer), "{peer}: {:?}", names(&effect.refused));
        }
        assert!(!names(&effect.refused).contains(&"libssh2 1.11"), "its first cipher in common needs no MAC");
        let lacks = effect.refused.iter().find(|r| r.name == "libssh2 1.10").unwrap();
        assert_eq!((lacks.list, lacks.has[0].as_str()), ("MACs", "hmac-sha2-256"));
        let (_, effect) = held(Program::Sshd, "fips", &openssh());
        assert!(!names(&effect.refused).contains(&"libssh2 1.10"), "{:?}", names(&effect.refused));
        let (_, effect) = held(Program::Sshd, "compat", &openssh());
        assert!(effect.refused.is_empty() && effect.kept.is_empty());
    }

    #[test]
    fn what_an_administrator_added_for_old_devices_stays_for_them_and_what_is_broken_goes_by_name() {
        let mut lists = openssh();
        lists.get_mut(AlgorithmKind::Ciphers).push("3des-cbc".to_owned());
        lists
            .get_mut(AlgorithmKind::Kex)
            .extend(["diffie-hellman-group14-sha1", "diffie-hellman-group1-sha1"].map(str::to_owned));
        lists.get_mut(AlgorithmKind::HostKeys).push("ssh-rsa".to_owned());
        let (new, effect) = held(Program::Ssh, "modern", &lists);
        assert!(effect.connect.iter().any(|p| p == "Cisco IOS 12.2 to 15"), "{effect:?}");
        assert!(effect.refused.is_empty(), "{:?}", names(&effect.refused));
        assert_eq!(new.get(AlgorithmKind::Kex).last().unwrap(), "diffie-hellman-group14-sha1");
        assert_eq!(new.get(AlgorithmKind::HostKeys).last().unwrap(), "ssh-rsa");
        assert!(!new.get(AlgorithmKind::Ciphers).contains(&"3des-cbc".to_owned()), "nobody needs it");
        // A device that has nothing but broken ones.
        let peer = Peer {
            name: "Old".to_owned(),
            versions: "1".to_owned(),
            used_by: None,
            role: Role::Server,
            source: "made up".to_owned(),
            offers: {
                let mut offers = lists.clone();
                *offers.get_mut(AlgorithmKind::Kex) = vec!["diffie-hellman-group1-sha1".to_owned()];
                offers
            },
        };
        let policy = Policy::named("modern").unwrap();
        let ground = Ground { program: Program::Ssh, peers: &[peer], host_keys: None };
        let (new, _) = ground.kept(&policy, &lists, ordered(&policy, &lists, &Survey::default()));
        let effect = ground.effect(&lists, &new);
        assert_eq!((names(&effect.refused), effect.refused[0].list), (vec!["Old 1"], "KexAlgorithms"));
    }

    #[test]
    fn an_administrator_s_own_lists_are_held_against_the_table() {
        let mut lists = openssh();
        *lists.get_mut(AlgorithmKind::Macs) = vec!["hmac-sha2-512-etm@openssh.com".to_owned()];
        let (_, effect) = held(Program::Sshd, "modern", &lists);
        assert!(names(&effect.unable).contains(&"libssh2 1.10") && effect.refused.is_empty(), "{effect:?}");
    }
}
