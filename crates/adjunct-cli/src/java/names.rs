//! What SunPKCS11 knows by name: mechanisms, with the services that they give, and the names of attributes.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// A mechanism that SunPKCS11 knows by name.
#[derive(Debug)]
pub(super) struct Mechanism {
    /// `CKM_...`, or one of the two that are no mechanisms of PKCS #11: `KeyStore`, `SecureRandom`.
    pub name: &'static str,
    /// Its number.
    pub number: u32,
    /// The first version of Java that knows it.
    since: u32,
    services: Vec<(&'static str, bool)>,
}

impl Mechanism {
    /// The services (`Signature.SHA256withRSA`) that a JDK of this version makes of the mechanism. Between 17 and 25 the newer ones came one by one:
    /// there all of them are given.
    pub fn services(&self, java: u32) -> impl Iterator<Item = &'static str> + '_ {
        self.services.iter().filter(move |(_, newer)| !newer || java > 17).map(|(name, _)| *name)
    }

    /// Whether a JDK of this version knows its name.
    pub fn known(&self, java: u32) -> bool {
        java >= self.since
    }
}

static MECHANISMS: LazyLock<Vec<Mechanism>> = LazyLock::new(|| {
    let lines = include_str!("mechanisms.txt").lines().filter(|l| !l.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (name, number) = (words.next()?, u32::from_str_radix(words.next()?, 16).ok()?);
            let (mut since, mut services) = (0, Vec::new());
            for word in words {
                match word.strip_prefix('@') {
                    Some(version) => since = version.parse().ok()?,
                    None => services.push((word.trim_start_matches('+'), word.starts_with('+'))),
                }
            }
            Some(Mechanism { name, number, since, services })
        })
        .collect()
});

static BY_NAME: LazyLock<HashMap<&str, &Mechanism>> =
    LazyLock::new(|| MECHANISMS.iter().map(|m| (m.name, m)).collect());

static ATTRIBUTES: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("attributes.txt").lines().filter(|l| !l.starts_with('#')).collect());

/// The mechanism of this name, in a JDK of this version.
pub(super) fn mechanism(name: &str, java: u32) -> Option<&'static Mechanism> {
    BY_NAME.get(name).copied().filter(|m| m.known(java))
}

/// The first mechanism of this number.
pub(super) fn numbered(number: u32) -> Option<&'static Mechanism> {
    MECHANISMS.iter().find(|m| m.number == number)
}

/// Every mechanism.
pub(super) fn mechanisms() -> &'static [Mechanism] {
    &MECHANISMS
}

/// Whether an `attributes` entry may name it: `CKO_...`, `CKK_...` or `CKA_...`.
pub(super) fn attribute(name: &str) -> bool {
    ATTRIBUTES.contains(name)
}

/// The name in `names` that `word` is a slip of: but for capitals, `_`, `-` and one letter the same.
pub(super) fn meant<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain =
        |text: &str| text.bytes().filter(|c| !b"_-.".contains(c)).map(|c| c.to_ascii_lowercase()).collect::<Vec<u8>>();
    let word = plain(word.get(..64).unwrap_or(word));
    let mut near = None;
    for name in names {
        let plain = plain(name);
        if plain == word {
            return Some(name);
        }
        if near.is_none() && word.len() > 4 && one_apart(&word, &plain) {
            near = Some(name);
        }
    }
    near
}

/// Whether two words differ by one letter more, less or other, or by `CKM` in front.
fn one_apart(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.strip_prefix(b"ckm").is_some_and(|rest| rest == short) {
        return true;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 => same < short.len() && short[same + 1..] == long[same + 1..],
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read_whole() {
        // The counts are those of the JDKs' own tables.
        let known = |java| mechanisms().iter().filter(|m| m.known(java)).count();
        assert_eq!((known(17), known(25)), (422, 426));
        let rsa = mechanism("CKM_RSA_PKCS", 17).unwrap();
        assert_eq!(rsa.number, 1);
        assert!(rsa.services(17).any(|s| s == "Signature.SHA256withRSA"));
        assert!(!rsa.services(17).any(|s| s == "Signature.NONEwithRSA"));
        assert!(rsa.services(25).any(|s| s == "Signature.NONEwithRSA"));
        assert!(mechanism("KeyStore", 17).is_some() && mechanism("CKM_FOO", 25).is_none());
        assert!(
            attribute("CKA_PRIVATE") && attribute("CKK_EC") && attribute("CKO_SECRET_KEY") && !attribute("CKA_FOO")
        );
    }

    #[test]
    fn slips_are_recognised() {
        let names = || mechanisms().iter().map(|m| m.name);
        assert_eq!(meant("ckm_rsa_pkcs", names()), Some("CKM_RSA_PKCS"));
        assert_eq!(meant("CKM_SHA1", names()), Some("CKM_SHA_1"));
        assert_eq!(meant("RSA_PKCS", names()), Some("CKM_RSA_PKCS"));
        assert_eq!(meant("CKM_ECDSA_SHA265", names()), None);
        assert_eq!(meant("CKM_RSA_PKC", names()), Some("CKM_RSA_PKCS"));
        assert_eq!(meant("x", names()), None);
    }
}
