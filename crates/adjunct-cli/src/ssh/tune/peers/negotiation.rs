//! What a client and a server agree on by their lists: RFC 4253, 7.1.

use super::super::algorithms::{AlgorithmKind, authenticates};
use super::super::order::Lists;

/// The algorithms that two sides agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// The cipher.
    pub cipher: String,
    /// The MAC; none beside a cipher that authenticates by itself.
    pub mac: Option<String>,
    /// The key exchange.
    pub kex: String,
    /// The algorithm of the host key.
    pub host_key: String,
}

/// A kind of algorithm that two lists have nothing in common of; for a MAC with the cipher that it would have gone with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nothing {
    /// The list that has nothing in common.
    pub kind: AlgorithmKind,
}

/// The client's first of each list that the server has, too. Only a cipher that does not authenticate by itself has a MAC: so a MAC in
/// common is wanted exactly where the client's first cipher in common is such a one, whatever stands behind it. `host_keys` says
/// which algorithms the server has a key for.
///
/// # Errors
/// The first list in which they have nothing in common.
pub fn negotiate(client: &Lists, server: &Lists, host_keys: impl Fn(&str) -> bool) -> Result<Agreed, Nothing> {
    let first = |kind: AlgorithmKind, wanted: &dyn Fn(&str) -> bool| {
        let in_common = |name: &&String| wanted(name) && server.get(kind).contains(name);
        client.get(kind).iter().find(in_common).cloned().ok_or(Nothing { kind })
    };
    let kex = first(AlgorithmKind::Kex, &|name| !marker(name))?;
    let host_key = first(AlgorithmKind::HostKeys, &|name| !certificate(name) && host_keys(name))?;
    let cipher = first(AlgorithmKind::Ciphers, &|_| true)?;
    let mac = if authenticates(&cipher) { None } else { Some(first(AlgorithmKind::Macs, &|_| true)?) };
    Ok(Agreed { cipher, mac, kex, host_key })
}

/// Whether a name in a list of key exchanges is none: it tells the other side what this one can do.
fn marker(name: &str) -> bool {
    name.starts_with("ext-info-") || name.starts_with("kex-strict-") || name.starts_with("kexguess")
}

/// Whether a host-key algorithm is of a certificate: offered wherever OpenSSH runs, and used only where one was set up.
fn certificate(name: &str) -> bool {
    name.contains("-cert-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(all: [&str; 4]) -> Lists {
        let mut lists = Lists::default();
        for (kind, names) in AlgorithmKind::ALL.into_iter().zip(all) {
            *lists.get_mut(kind) = names.split(' ').filter(|n| !n.is_empty()).map(str::to_owned).collect();
        }
        lists
    }

    #[test]
    fn the_client_s_order_decides_and_a_mac_is_wanted_only_beside_a_cipher_without_one() {
        let server = lists(["aes128-gcm@openssh.com aes128-ctr", "m-etm@openssh.com", "k ext-info-s", "h"]);
        let client = |ciphers, macs| lists([ciphers, macs, "ext-info-c x k", "h-cert-v01@openssh.com h"]);
        let agreed = |client: &Lists| negotiate(client, &server, |_| true);
        let both = client("aes128-gcm@openssh.com aes128-ctr", "m");
        assert_eq!(agreed(&both).unwrap().mac, None, "no MAC in common, and none is needed");
        let other = client("aes128-ctr aes128-gcm@openssh.com", "m");
        assert_eq!(agreed(&other), Err(Nothing { kind: AlgorithmKind::Macs }), "its first cipher in common needs one");
        let etm = agreed(&client("aes128-ctr", "m m-etm@openssh.com")).unwrap();
        assert_eq!(
            (etm.cipher.as_str(), etm.mac.as_deref(), etm.kex.as_str()),
            ("aes128-ctr", Some("m-etm@openssh.com"), "k")
        );
        assert_eq!(negotiate(&both, &server, |_| false), Err(Nothing { kind: AlgorithmKind::HostKeys }));
        assert_eq!(agreed(&lists(["c", "m", "ext-info-c", "h"])), Err(Nothing { kind: AlgorithmKind::Kex }));
    }
}
