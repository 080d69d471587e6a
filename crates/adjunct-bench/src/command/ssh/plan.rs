//! What the papers measured, row by row.

/// TDES and AES of figure 7, with the groups' titles.
pub const FIGURE7_CIPHERS: [(&str, &str); 4] =
    [("TDES", "3des-cbc"), ("AES-128", "aes128-cbc"), ("AES-192", "aes192-cbc"), ("AES-256", "aes256-cbc")];

/// The MACs of figure 7, with those of the SHA-2 family beside them.
pub const FIGURE7_MACS: [&str; 4] = ["hmac-md5", "hmac-sha1", "hmac-sha2-256", "hmac-sha2-512"];

/// Table 2: the ciphers, in its order, with the MB/s and the seconds for 5 GB that it found.
pub const TABLE2: [(&str, f64, f64); 13] = [
    ("cast128-cbc", 96.5, 51.8),
    ("blowfish-cbc", 103.8, 48.2),
    ("chacha20-poly1305@openssh.com", 117.9, 42.4),
    ("arcfour", 202.4, 24.7),
    ("3des-cbc", 233.1, 21.4),
    ("aes128-ctr", 275.3, 18.2),
    ("aes192-ctr", 279.6, 17.9),
    ("aes256-ctr", 280.1, 17.9),
    ("aes256-cbc", 282.0, 17.7),
    ("aes128-cbc", 315.1, 15.9),
    ("aes192-cbc", 315.2, 15.9),
    ("aes256-gcm@openssh.com", 398.6, 12.5),
    ("aes128-gcm@openssh.com", 417.9, 12.0),
];

/// Rows of [`TABLE2`] under a title.
pub type Case = (&'static str, &'static [&'static str]);

/// Table 3's cases: the key size changes.
pub const TABLE3: [Case; 3] = [
    ("Case 1: CTR with keys of 128, 192 and 256 bits", &["aes128-ctr", "aes192-ctr", "aes256-ctr"]),
    ("Case 2: CBC with keys of 128, 192 and 256 bits", &["aes128-cbc", "aes192-cbc", "aes256-cbc"]),
    ("Case 3: GCM with keys of 128 and 256 bits", &["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"]),
];

/// Table 4's cases: the mode of operation changes.
pub const TABLE4: [Case; 3] = [
    ("Case 1: AES-128 in CTR, CBC and GCM", &["aes128-ctr", "aes128-cbc", "aes128-gcm@openssh.com"]),
    ("Case 2: AES-192 in CTR and CBC", &["aes192-ctr", "aes192-cbc"]),
    ("Case 3: AES-256 in CTR, CBC and GCM", &["aes256-ctr", "aes256-cbc", "aes256-gcm@openssh.com"]),
];

/// A type of key for the small copies.
#[derive(Debug, Clone, Copy)]
pub struct SshKeyType {
    /// Its name.
    pub name: &'static str,
    /// The signature algorithm of host and user.
    pub algorithm: &'static str,
    /// The length of an RSA key.
    pub rsa_bits: u32,
    /// The key exchange beside it: of its own curve, where OpenSSL computes on that.
    pub kex: &'static str,
}

/// The keys of chapter 8: RSA, and those that came after.
pub const KEYS: [SshKeyType; 7] = [
    SshKeyType { name: "RSA-2048", algorithm: "rsa-sha2-512", rsa_bits: 2048, kex: "curve25519-sha256" },
    SshKeyType { name: "RSA-3072", algorithm: "rsa-sha2-512", rsa_bits: 3072, kex: "curve25519-sha256" },
    SshKeyType { name: "RSA-4096", algorithm: "rsa-sha2-512", rsa_bits: 4096, kex: "curve25519-sha256" },
    SshKeyType { name: "ECDSA P-256", algorithm: "ecdsa-sha2-nistp256", rsa_bits: 0, kex: "ecdh-sha2-nistp256" },
    SshKeyType { name: "ECDSA P-384", algorithm: "ecdsa-sha2-nistp384", rsa_bits: 0, kex: "ecdh-sha2-nistp384" },
    SshKeyType { name: "ECDSA P-521", algorithm: "ecdsa-sha2-nistp521", rsa_bits: 0, kex: "ecdh-sha2-nistp521" },
    SshKeyType { name: "Ed25519", algorithm: "ssh-ed25519", rsa_bits: 0, kex: "curve25519-sha256" },
];

/// Whether a cipher is so slow that less data tells as much: TDES, which no CPU here has instructions for.
pub fn slow(cipher: &str) -> bool {
    cipher.starts_with("3des")
}

/// Whether a cipher is an old one: today's OpenSSH offers none of them by itself.
pub fn old(cipher: &str) -> bool {
    ["3des", "cast128", "blowfish", "arcfour"].iter().any(|name| cipher.starts_with(name)) || cipher.contains("-cbc")
}

/// Whether a type of key is one that people make today: what a rough answer has.
pub fn usual(key: &str) -> bool {
    ["RSA-3072", "ECDSA P-256", "Ed25519"].contains(&key)
}

/// Whether a cipher authenticates by itself, so that no MAC is negotiated.
pub fn authenticates(cipher: &str) -> bool {
    cipher.contains("gcm") || cipher.contains("poly1305")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cases_are_rows_of_table_2() {
        for cipher in TABLE3.iter().chain(&TABLE4).flat_map(|(_, ciphers)| *ciphers) {
            assert!(TABLE2.iter().any(|(name, ..)| name == cipher), "{cipher}");
        }
    }

    #[test]
    fn the_papers_figures_agree_with_each_other() {
        // 5 GB there are between 5.0 and 5.05 * 10^9 bytes.
        for (name, mb_s, seconds) in TABLE2 {
            assert!((4980.0..5060.0).contains(&(mb_s * seconds)), "{name}: {}", mb_s * seconds);
        }
    }
}
