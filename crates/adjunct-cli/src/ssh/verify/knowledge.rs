//! Which of OpenSSH's algorithms reaches adjunct, as which counted function, by which way, in which version.
//!
//! Tried with OpenSSH 9.2 (OpenSSL 3.0), 10.0 (3.5) and 10.6 (3.6); the versions between them were read.

use adjunct::catalogue::Function;

/// How an algorithm of OpenSSH's is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// OpenSSL's EVP functions: a provider serves it.
    Provider,
    /// OpenSSL's low-level functions, which pass providers by: an engine serves it.
    Engine,
    /// OpenSSH's own code.
    BuiltIn,
    /// OpenSSL, in a part where adjunct has nothing faster.
    OpenSsl,
    /// Nothing to compute: no separate MAC, no key.
    Nothing,
    /// The algorithm is not in this table.
    Unknown,
}

/// How an algorithm is computed and where it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The way it takes.
    pub way: Way,
    /// The functions it is counted as; any of them proves it.
    pub functions: &'static [Function],
    /// The key size in bits where the counters split by it and the name says it, otherwise 0.
    pub bits: usize,
    /// Whether encryption and decryption are counted apart.
    pub directions: bool,
    /// A short note; may be empty.
    pub note: &'static str,
}

impl Reach {
    const fn counted(way: Way, functions: &'static [Function], bits: usize) -> Reach {
        Reach { way, functions, bits, directions: false, note: "" }
    }

    const fn uncounted(way: Way, note: &'static str) -> Reach {
        Reach { way, functions: &[], bits: 0, directions: false, note }
    }
}

/// The operation of an end on a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Make the signature.
    Sign,
    /// Check the signature.
    Verify,
}

/// An implementation of SSH, by the software version of its banner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// OpenSSH, major and minor.
    OpenSsh(u32, u32),
    /// A program that is not in this list.
    Other,
}

impl Program {
    /// Reads `OpenSSH_9.2p1 Debian-2+deb12u3`.
    pub fn parse(banner: &str) -> Program {
        Program::version(banner).map_or(Program::Other, |(major, minor)| Program::OpenSsh(major, minor))
    }

    fn version(banner: &str) -> Option<(u32, u32)> {
        let rest = banner.strip_prefix("OpenSSH_")?;
        // OpenSSH_for_Windows_9.5 is built on LibreSSL, which has no providers.
        let (major, rest) = rest.split_once('.')?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        Some((major.parse().ok()?, rest[..end].parse().ok()?))
    }

    /// Whether the program is OpenSSH of this version or newer.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        matches!(self, Program::OpenSsh(a, b) if (*a, *b) >= (major, minor))
    }

    /// `OpenSSH 9.2`.
    pub fn name(&self) -> String {
        match self {
            Program::OpenSsh(major, minor) => format!("OpenSSH {major}.{minor}"),
            Program::Other => "this program".to_owned(),
        }
    }
}

/// How a key exchange is computed.
pub fn key_exchange(name: &str) -> Reach {
    const ECDH: &[Function] = &[Function::Ecdh];
    match name {
        n if n.starts_with("gss-") => Reach::uncounted(Way::OpenSsl, "GSSAPI's key exchange"),
        n if n.starts_with("curve25519-sha256") => Reach::uncounted(Way::BuiltIn, "X25519 is OpenSSH's own code"),
        n if n.starts_with("sntrup761x25519") => {
            Reach::uncounted(Way::BuiltIn, "NTRU Prime and X25519 are OpenSSH's own code")
        }
        n if n.starts_with("mlkem768x25519") => {
            Reach::uncounted(Way::BuiltIn, "ML-KEM and X25519 are OpenSSH's own code")
        }
        "ecdh-sha2-nistp256" => Reach::counted(Way::Engine, ECDH, 256),
        "ecdh-sha2-nistp384" => Reach::counted(Way::Engine, ECDH, 384),
        "ecdh-sha2-nistp521" => Reach::counted(Way::Engine, ECDH, 521),
        n if n.starts_with("mlkem768nistp256") => {
            Reach { note: "the ECDH half; ML-KEM is OpenSSH's own code", ..Reach::counted(Way::Engine, ECDH, 256) }
        }
        n if n.starts_with("diffie-hellman-") => {
            Reach::uncounted(Way::OpenSsl, "no library is faster at finite-field DH")
        }
        _ => Reach::uncounted(Way::Unknown, ""),
    }
}

const ML_DSA: &str = "the Ed25519 half; adjunct has no ML-DSA";

/// How a signature is made or checked: host keys and user keys, by the algorithm's name, in `program`.
pub fn signature(name: &str, act: Act, program: &Program) -> Reach {
    use Function::{EcdsaSign, EcdsaVerify, Ed25519Sign, Ed25519Verify, RsaCrt, RsaMe};
    let plain = name.split("-cert").next().unwrap_or(name);
    let token = plain.starts_with("sk-") || plain.starts_with("webauthn-sk-");
    if token && act == Act::Sign {
        return Reach::uncounted(Way::Nothing, "signed by the security key");
    }
    let plain = plain.trim_start_matches("webauthn-").trim_start_matches("sk-").split('@').next().unwrap_or(plain);
    let low_level = if program.at_least(9, 9) { Way::Provider } else { Way::Engine };
    let bits = match plain {
        "ecdsa-sha2-nistp256" => 256,
        "ecdsa-sha2-nistp384" => 384,
        "ecdsa-sha2-nistp521" => 521,
        _ => 0,
    };
    match plain {
        _ if bits != 0 && act == Act::Sign => Reach::counted(low_level, &[EcdsaSign], bits),
        _ if bits != 0 => Reach::counted(low_level, &[EcdsaVerify], bits),
        "rsa-sha2-256" | "rsa-sha2-512" | "ssh-rsa" if act == Act::Sign => {
            Reach::counted(low_level, &[RsaCrt, RsaMe], 0)
        }
        "rsa-sha2-256" | "rsa-sha2-512" | "ssh-rsa" => Reach::counted(low_level, &[RsaMe], 0),
        "ssh-ed25519" if !program.at_least(10, 3) => {
            Reach::uncounted(Way::BuiltIn, "Ed25519 is OpenSSH's own code to 10.2")
        }
        "ssh-ed25519" if act == Act::Sign => Reach::counted(Way::Provider, &[Ed25519Sign], 0),
        "ssh-ed25519" => Reach::counted(Way::Provider, &[Ed25519Verify], 0),
        "ssh-mldsa44-ed25519" if act == Act::Sign => {
            Reach { note: ML_DSA, ..Reach::counted(Way::Provider, &[Ed25519Sign], 0) }
        }
        "ssh-mldsa44-ed25519" => Reach { note: ML_DSA, ..Reach::counted(Way::Provider, &[Ed25519Verify], 0) },
        "ssh-dss" => Reach::uncounted(Way::OpenSsl, "adjunct has no DSA"),
        _ => Reach::uncounted(Way::Unknown, ""),
    }
}

/// How a cipher is computed; the same in every version.
pub fn cipher(name: &str) -> Reach {
    use Function::{AesCbc, AesCtr, AesGcm, ChaCha20, TdesCbc};
    let bits = [128, 192, 256].into_iter().find(|b| name.starts_with(&format!("aes{b}-"))).unwrap_or(0);
    let apart = |functions| Reach { directions: true, ..Reach::counted(Way::Provider, functions, bits) };
    match name {
        "aes128-gcm@openssh.com" | "aes256-gcm@openssh.com" | "aes128-gcm" | "aes256-gcm" => apart(&[AesGcm]),
        _ if bits != 0 && name.ends_with("-ctr") => apart(&[AesCtr]),
        _ if bits != 0 && name.ends_with("-cbc") => apart(&[AesCbc]),
        "rijndael-cbc@lysator.liu.se" => Reach { bits: 256, ..apart(&[AesCbc]) },
        "3des-cbc" => apart(&[TdesCbc]),
        // OpenSSH encrypts with it to decrypt, too: a stream cipher.
        "chacha20-poly1305@openssh.com" | "chacha20-poly1305" => {
            Reach { note: "Poly1305 is OpenSSH's own code", ..Reach::counted(Way::Provider, &[ChaCha20], 0) }
        }
        "none" => Reach::uncounted(Way::Nothing, "nothing is encrypted"),
        _ => Reach::uncounted(Way::Unknown, ""),
    }
}

/// Whether a cipher authenticates by itself, so that the MAC negotiated beside it is not used.
pub fn authenticates(cipher: &str) -> bool {
    cipher.contains("-gcm") || cipher.contains("-poly1305")
}

/// How a MAC is computed: OpenSSH makes its HMAC of OpenSSL's digests.
pub fn mac(name: &str) -> Reach {
    use Function::{Md5, Sha1, Sha256, Sha512};
    let digest = |functions| Reach::counted(Way::Provider, functions, 0);
    let plain = name.split('@').next().unwrap_or(name);
    match plain.strip_suffix("-etm").unwrap_or(plain) {
        "hmac-sha1" | "hmac-sha1-96" => digest(&[Sha1]),
        "hmac-sha2-256" | "hmac-sha2-256-96" => digest(&[Sha256]),
        "hmac-sha2-512" | "hmac-sha2-512-96" => digest(&[Sha512]),
        "hmac-md5" | "hmac-md5-96" => digest(&[Md5]),
        "umac-64" | "umac-128" => Reach::uncounted(Way::BuiltIn, "UMAC is OpenSSH's own code"),
        "none" => Reach::uncounted(Way::Nothing, "nothing is authenticated"),
        _ => Reach::uncounted(Way::Unknown, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Program = Program::OpenSsh(9, 2);
    const NEW: Program = Program::OpenSsh(10, 6);

    #[test]
    fn versions() {
        assert_eq!(Program::parse("OpenSSH_9.2p1 Debian-2+deb12u10"), OLD);
        assert_eq!(Program::parse("OpenSSH_10.6p1 Debian-1"), NEW);
        assert_eq!(Program::parse("OpenSSH_8.9"), Program::OpenSsh(8, 9));
        for other in
            ["dropbear_2022.83", "OpenSSH_for_Windows_9.5", "OpenSSH_", "OpenSSH_9", "OpenSSH_99999999999.1", "", "é"]
        {
            assert_eq!(Program::parse(other), Program::Other, "{other}");
        }
        assert!(NEW.at_least(9, 9) && !OLD.at_least(9, 9) && !Program::Other.at_least(0, 0));
    }

    #[test]
    fn signatures_move_to_providers_with_the_versions() {
        let way = |name, program: &Program| signature(name, Act::Sign, program).way;
        for name in ["rsa-sha2-512", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp256-cert-v01@openssh.com"] {
            assert_eq!(way(name, &OLD), Way::Engine, "{name}");
            assert_eq!(way(name, &Program::OpenSsh(9, 8)), Way::Engine, "{name}");
            assert_eq!(way(name, &Program::OpenSsh(9, 9)), Way::Provider, "{name}");
        }
        assert_eq!(way("ssh-ed25519", &Program::OpenSsh(10, 2)), Way::BuiltIn);
        assert_eq!(way("ssh-ed25519-cert-v01@openssh.com", &NEW), Way::Provider);
        assert_eq!(way("ssh-mldsa44-ed25519", &NEW), Way::Provider);
        assert_eq!(way("ssh-mldsa87", &NEW), Way::Unknown);
    }

    #[test]
    fn a_security_key_signs_by_itself() {
        let name = "sk-ecdsa-sha2-nistp256@openssh.com";
        assert_eq!(signature(name, Act::Sign, &NEW).way, Way::Nothing);
        assert_eq!(signature(name, Act::Verify, &NEW).functions, [Function::EcdsaVerify]);
        assert_eq!(signature("webauthn-sk-ecdsa-sha2-nistp256@openssh.com", Act::Verify, &OLD).bits, 256);
    }

    #[test]
    fn bulk_functions() {
        assert_eq!(
            (cipher("aes256-gcm@openssh.com").functions, cipher("aes256-gcm@openssh.com").bits),
            (&[Function::AesGcm][..], 256)
        );
        assert!(cipher("aes192-ctr").directions && !cipher("chacha20-poly1305@openssh.com").directions);
        assert_eq!(cipher("aes128-").way, Way::Unknown);
        assert_eq!(mac("hmac-sha2-256-etm@openssh.com").functions, [Function::Sha256]);
        assert_eq!(mac("umac-128-etm@openssh.com").way, Way::BuiltIn);
        assert_eq!(mac("hmac-whirlpool").way, Way::Unknown);
        assert_eq!(key_exchange("ecdh-sha2-nistp521").bits, 521);
        assert_eq!(key_exchange("sntrup761x25519-sha512@openssh.com").way, Way::BuiltIn);
    }
}
