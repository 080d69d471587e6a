//! Properties of OpenSSH's algorithms that follow from their names.

use serde::{Deserialize, Serialize};

/// The lists that are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmKind {
    /// `Ciphers`.
    Ciphers,
    /// `MACs`.
    Macs,
    /// `KexAlgorithms`.
    Kex,
    /// `HostKeyAlgorithms`.
    HostKeys,
}

impl AlgorithmKind {
    /// All lists.
    pub const ALL: [AlgorithmKind; 4] =
        [AlgorithmKind::Ciphers, AlgorithmKind::Macs, AlgorithmKind::Kex, AlgorithmKind::HostKeys];

    /// The keyword in `ssh_config` and `sshd_config`.
    pub fn keyword(self) -> &'static str {
        match self {
            AlgorithmKind::Ciphers => "Ciphers",
            AlgorithmKind::Macs => "MACs",
            AlgorithmKind::Kex => "KexAlgorithms",
            AlgorithmKind::HostKeys => "HostKeyAlgorithms",
        }
    }

    /// The word for an algorithm of the list.
    pub fn noun(self) -> &'static str {
        match self {
            AlgorithmKind::Ciphers => "cipher",
            AlgorithmKind::Macs => "MAC",
            AlgorithmKind::Kex => "key exchange",
            AlgorithmKind::HostKeys => "host-key algorithm",
        }
    }
}

/// Whether a cipher authenticates by itself, so that no MAC goes with it.
pub fn authenticates(cipher: &str) -> bool {
    cipher.contains("gcm") || cipher.contains("poly1305")
}

/// Whether a MAC covers the encrypted packet: encrypt-then-MAC.
pub fn covers_ciphertext(mac: &str) -> bool {
    mac.contains("-etm@")
}

/// Whether a key exchange has a part that quantum computers are not known to break.
pub fn post_quantum(kex: &str) -> bool {
    ["sntrup", "mlkem", "kyber"].iter().any(|n| kex.contains(n))
}

/// Whether a name stands for an algorithm with SHA-1 or MD5, or a signature of SHA-1.
pub fn old_hash(name: &str) -> bool {
    let plain = name.trim_end_matches("@openssh.com");
    plain.contains("sha1")
        || plain.contains("md5")
        || matches!(plain, "ssh-rsa" | "ssh-rsa-cert-v01" | "ssh-rsa-cert-v00")
}

/// Whether an algorithm is broken in practice, so that it is left out even for peers that have nothing else: blocks of 64 bits, RC4, MD5, groups and
/// keys of 1024 bits, and no encryption.
pub fn broken(kind: AlgorithmKind, name: &str) -> bool {
    match kind {
        AlgorithmKind::Ciphers => {
            !(name.starts_with("aes") || name.starts_with("rijndael") || name.starts_with("chacha20"))
        }
        AlgorithmKind::Macs => name.contains("md5") || name == "none",
        AlgorithmKind::Kex => name.contains("group1-") || name.contains("rsa1024"),
        AlgorithmKind::HostKeys => name.starts_with("ssh-dss"),
    }
}

/// Whether a key exchange works in a finite field of a length that the name fixes or leaves to the far side.
pub fn finite_field(kex: &str) -> bool {
    kex.starts_with("diffie-hellman-")
}

/// The name by which the same algorithm is measured: some have two.
pub fn measured_as(name: &str) -> &str {
    match name {
        "curve25519-sha256@libssh.org" => "curve25519-sha256",
        "sntrup761x25519-sha512@openssh.com" => "sntrup761x25519-sha512",
        "rijndael-cbc@lysator.liu.se" => "aes256-cbc",
        _ => name,
    }
}

/// Whether an OpenSSH pattern (`*` and `?`) matches a name.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where the last star stood, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == b'?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(authenticates("aes128-gcm@openssh.com") && authenticates("chacha20-poly1305@openssh.com"));
        assert!(!authenticates("aes128-ctr"));
        assert!(covers_ciphertext("umac-128-etm@openssh.com") && !covers_ciphertext("umac-128@openssh.com"));
        assert!(post_quantum("mlkem768x25519-sha256") && !post_quantum("curve25519-sha256"));
        for old in ["hmac-sha1", "hmac-md5-96-etm@openssh.com", "diffie-hellman-group14-sha1", "ssh-rsa"] {
            assert!(old_hash(old), "{old}");
        }
        for new in ["rsa-sha2-512", "hmac-sha2-256", "diffie-hellman-group16-sha512", "ssh-ed25519", "hmac-sha2-512"] {
            assert!(!old_hash(new), "{new}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name) in
            [("*", ""), ("*", "a"), ("a*c", "abbc"), ("a?c", "abc"), ("*gcm*", "aes128-gcm@x"), ("**b*", "ab")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("a", ""), ("?", ""), ("a*c", "ab"), ("aes*-ctr", "aes128-cbc"), ("a", "ab")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
