//! The order of algorithms: by policy, then by their measured cost, then by whether this machine has instructions for them, then in OpenSSH's order.

use super::algorithms::{AlgorithmKind, authenticates, measured_as};
use super::policy::Policy;
use super::survey::Survey;
use crate::ssh::measure::Spread;
use crate::ssh::verify::knowledge;
use adjunct::ops::choice as route;

/// Orders the `names` that the policy allows, the cheapest first within each rank. Where costs are not clearly apart, ciphers that this machine has
/// instructions for go first, and otherwise the order in `names` stays; algorithms that were not measured come after those that were.
pub fn order(
    policy: &Policy,
    kind: AlgorithmKind,
    names: &[String],
    cost: impl Fn(&str) -> Option<Spread>,
) -> Vec<String> {
    let mut ranked: Vec<(usize, &String)> =
        names.iter().filter_map(|name| Some((policy.rank(kind, name)?, name))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut out = Vec::new();
    for same in ranked.chunk_by(|a, b| a.0 == b.0) {
        let (mut left, unknown): (Vec<_>, Vec<_>) =
            same.iter().map(|(_, name)| (*name, cost(name))).partition(|(_, cost)| cost.is_some());
        while let Some(next) = next(kind, &left) {
            out.push(left.remove(next).0.clone());
        }
        out.extend(unknown.into_iter().map(|(name, _)| name.clone()));
    }
    out
}

/// The first, by [`without_instructions`] and then by place, of those that nothing is clearly cheaper than the cheapest of: so
/// that "not clearly apart", which is no order, always gives one.
fn next(kind: AlgorithmKind, left: &[(&String, Option<Spread>)]) -> Option<usize> {
    let costs = || left.iter().filter_map(|(_, cost)| *cost);
    let least = costs().min_by(|a, b| a.median.total_cmp(&b.median))?;
    let near = |&at: &usize| left[at].1.is_some_and(|cost| !least.clearly_below(&cost));
    (0..left.len()).filter(near).min_by_key(|&at| without_instructions(kind, left[at].0))
}

/// What decides where the figures do not, as on a busy machine: 0 for a cipher that is hardware here and needs no MAC beside it,
/// 1 for another that is hardware, 2 for the rest, and nothing for what is no cipher.
fn without_instructions(kind: AlgorithmKind, name: &str) -> u8 {
    if kind != AlgorithmKind::Ciphers {
        return 0;
    }
    match (has_instructions(name), authenticates(name)) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    }
}

/// Whether this machine has instructions for a cipher, by OpenSSH's name.
pub fn has_instructions(cipher: &str) -> bool {
    let reach = knowledge::cipher(cipher);
    let hardware = |&function| matches!(route::path(function, reach.bits), adjunct::catalogue::Path::Hardware);
    !reach.functions.is_empty() && reach.functions.iter().all(hardware)
}

/// The lists of one program, in the policy's and the costs' order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    /// A list for each kind, in the order of [`AlgorithmKind::ALL`].
    pub lists: [Vec<String>; 4],
}

impl Lists {
    /// The list of a kind.
    pub fn get(&self, kind: AlgorithmKind) -> &[String] {
        &self.lists[kind as usize]
    }

    /// The list of a kind, to be changed.
    pub fn get_mut(&mut self, kind: AlgorithmKind) -> &mut Vec<String> {
        &mut self.lists[kind as usize]
    }
}

/// Orders the lists in force by `survey`. MACs come first, because the cost of a cipher without one of its own includes the MAC that will be agreed
/// on.
pub fn ordered(policy: &Policy, in_force: &Lists, survey: &Survey) -> Lists {
    let mut out = Lists::default();
    *out.get_mut(AlgorithmKind::Macs) = order(policy, AlgorithmKind::Macs, in_force.get(AlgorithmKind::Macs), |mac| {
        let plain = in_force.get(AlgorithmKind::Ciphers).iter().filter(|c| !authenticates(c));
        let allowed = plain.filter(|c| policy.rank(AlgorithmKind::Ciphers, c).is_some());
        mean(allowed.filter_map(|cipher| survey.pair(cipher, mac)).map(|pair| pair.cpu_s_per_gb))
    });
    let mac = out.get(AlgorithmKind::Macs).first().cloned().unwrap_or_default();
    *out.get_mut(AlgorithmKind::Ciphers) =
        order(policy, AlgorithmKind::Ciphers, in_force.get(AlgorithmKind::Ciphers), |cipher| {
            survey.pair(cipher, &mac).map(|pair| pair.cpu_s_per_gb)
        });
    *out.get_mut(AlgorithmKind::Kex) = order(policy, AlgorithmKind::Kex, in_force.get(AlgorithmKind::Kex), |kex| {
        survey.kex.iter().find(|row| row.algorithm == measured_as(kex)).map(|row| row.cpu_s)
    });
    *out.get_mut(AlgorithmKind::HostKeys) =
        order(policy, AlgorithmKind::HostKeys, in_force.get(AlgorithmKind::HostKeys), |_| None);
    out
}

/// The mean of several figures, with its error; `None` of none.
fn mean(figures: impl Iterator<Item = Spread>) -> Option<Spread> {
    let figures: Vec<Spread> = figures.collect();
    let n = figures.len() as f64;
    let count = figures.iter().map(|f| f.count).min()?;
    Some(Spread {
        median: figures.iter().map(|f| f.median).sum::<f64>() / n,
        error: figures.iter().map(|f| f.error * f.error).sum::<f64>().sqrt() / n,
        count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssh::tune::survey::{Login, Pair};
    use adjunct::catalogue::Function;
    use proptest::prelude::*;

    fn spread(median: f64, error: f64) -> Spread {
        Spread { median, error, count: 5 }
    }

    fn pair(cipher: &str, mac: &str, cpu: f64) -> Pair {
        let half = spread(cpu / 2.0, 0.005);
        let mac = (!mac.is_empty()).then(|| mac.to_owned());
        Pair {
            cipher: cipher.to_owned(),
            mac,
            mb_s: spread(500.0, 5.0),
            client_s_per_gb: half,
            server_s_per_gb: half,
            cpu_s_per_gb: spread(cpu, 0.01),
        }
    }

    fn login(algorithm: &str, cpu: f64) -> Login {
        let half = spread(cpu / 2.0, 0.0);
        Login {
            algorithm: algorithm.to_owned(),
            seconds: spread(0.1, 0.01),
            client_s: half,
            server_s: half,
            cpu_s: spread(cpu, 0.0),
        }
    }

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn survey() -> Survey {
        Survey {
            pairs: vec![
                pair("chacha", "", 0.9),
                pair("aes128-ctr", "a-etm@", 0.8),
                pair("aes128-ctr", "b-etm@", 0.6),
                pair("aes256-ctr", "a-etm@", 0.9),
                pair("aes256-ctr", "b-etm@", 0.605),
                pair("aes128-gcm", "", 0.3),
                pair("aes128-cbc", "b-etm@", 0.1),
            ],
            kex: vec![
                login("curve25519-sha256", 0.010),
                login("sntrup761x25519-sha512", 0.05),
                login("ecdh-nistp256", 0.008),
            ],
            ..Survey::default()
        }
    }

    fn in_force() -> Lists {
        let mut lists = Lists::default();
        *lists.get_mut(AlgorithmKind::Ciphers) =
            words("chacha-poly1305 chacha aes128-ctr aes256-ctr aes128-gcm aes128-cbc").into_iter().skip(1).collect();
        *lists.get_mut(AlgorithmKind::Macs) = words("a-etm@ b-etm@ c");
        *lists.get_mut(AlgorithmKind::Kex) = words(
            "sntrup761x25519-sha512 sntrup761x25519-sha512@openssh.com curve25519-sha256 \
             curve25519-sha256@libssh.org ecdh-nistp256 diffie-hellman-group14-sha1",
        );
        lists
    }

    #[test]
    fn policy_comes_before_cost_and_cost_before_habit() {
        let modern = ordered(&Policy::named("modern").unwrap(), &in_force(), &survey());
        assert_eq!(modern.get(AlgorithmKind::Macs), words("b-etm@ a-etm@"));
        assert_eq!(modern.get(AlgorithmKind::Ciphers), words("aes128-gcm aes128-ctr aes256-ctr"));
        let kex = words(
            "sntrup761x25519-sha512 sntrup761x25519-sha512@openssh.com ecdh-nistp256 curve25519-sha256 \
             curve25519-sha256@libssh.org",
        );
        assert_eq!(modern.get(AlgorithmKind::Kex), kex, "post-quantum first though it costs five times as much");
        let compat = ordered(&Policy::named("compat").unwrap(), &in_force(), &survey());
        assert_eq!(compat.get(AlgorithmKind::Ciphers).len(), 5);
        assert_eq!(compat.get(AlgorithmKind::Ciphers)[..3], words("aes128-gcm aes128-ctr aes256-ctr"));
        assert_eq!(compat.get(AlgorithmKind::Macs), words("b-etm@ a-etm@ c"));
    }

    #[test]
    fn what_is_not_clearly_cheaper_keeps_its_place() {
        let policy = Policy::named("compat").unwrap();
        let costs = |name: &str| match name {
            "a" => Some(spread(1.0, 0.3)),
            "b" => Some(spread(0.9, 0.3)),
            "c" => Some(spread(0.5, 0.01)),
            _ => None,
        };
        let names = words("x a b c");
        assert_eq!(order(&policy, AlgorithmKind::HostKeys, &names, costs), words("c a b x"));
    }

    #[test]
    fn what_the_machine_has_instructions_for_goes_first_where_figures_do_not_tell() {
        let policy = Policy::named("modern").unwrap();
        let names = words("chacha20-poly1305@openssh.com aes128-ctr aes128-gcm@openssh.com");
        let hardware = |function| matches!(route::path(function, 128), adjunct::catalogue::Path::Hardware);
        let expected = match (hardware(Function::AesGcm), hardware(Function::AesCtr)) {
            (true, true) => "aes128-gcm@openssh.com aes128-ctr chacha20-poly1305@openssh.com",
            (true, false) => "aes128-gcm@openssh.com chacha20-poly1305@openssh.com aes128-ctr",
            (false, true) => "aes128-ctr chacha20-poly1305@openssh.com aes128-gcm@openssh.com",
            (false, false) => "chacha20-poly1305@openssh.com aes128-ctr aes128-gcm@openssh.com",
        };
        let unclear = |_: &str| Some(spread(1.0, 0.6));
        assert_eq!(order(&policy, AlgorithmKind::Ciphers, &names, unclear), words(expected));
        // A clear figure is a better reason than any.
        let clear = |name: &str| Some(spread(if name.starts_with("chacha20") { 0.5 } else { 1.0 }, 0.01));
        assert!(order(&policy, AlgorithmKind::Ciphers, &names, clear)[0].starts_with("chacha20"));
    }

    proptest! {
        #[test]
        fn an_order_loses_and_doubles_nothing(costs in prop::collection::vec((0.0f64..10.0, 0.0f64..3.0), 0..12)) {
            let names: Vec<String> = (0..costs.len()).map(|i| i.to_string()).collect();
            let cost = |name: &str| name.parse::<usize>().ok().map(|i| spread(costs[i].0, costs[i].1));
            let got = order(&Policy::named("compat").unwrap(), AlgorithmKind::HostKeys, &names, cost);
            let mut sorted = got.clone();
            sorted.sort_by_key(|n| n.parse::<usize>().unwrap());
            prop_assert_eq!(sorted, names);
            // Nothing stands before what is clearly cheaper than it.
            if let (Some(first), Some(least)) = (got.first(), got.iter().min_by(|a, b| cost(a).unwrap().median.total_cmp(&cost(b).unwrap().median))) {
                prop_assert!(!cost(least).unwrap().clearly_below(&cost(first).unwrap()));
            }
        }
    }
}
