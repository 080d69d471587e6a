//! Policies: which algorithms may be used, and which come first whatever they cost.

use super::algorithms::{
    AlgorithmKind, authenticates, broken, covers_ciphertext, finite_field, matches, old_hash, post_quantum,
};
use adjunct_tool::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The names of the built-in policies.
pub const BUILT_IN: [&str; 4] = ["compat", "modern", "strict", "fips"];

/// A file longer than this is no policy.
const LONGEST: u64 = 64 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Base {
    #[default]
    Compat,
    Modern,
    Strict,
    Fips,
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    base: Base,
    file: Option<PathBuf>,
    own: Own,
}

/// A policy file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Own {
    base: Base,
    ciphers: Rules,
    macs: Rules,
    kex: Rules,
    host_keys: Rules,
}

/// The rules of a policy file for one list: patterns of OpenSSH (`*` and `?`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rules {
    /// If given, only these.
    allow: Option<Vec<String>>,
    /// Algorithms that the policy leaves out.
    deny: Vec<String>,
    /// Algorithms that stand first, in this order.
    first: Vec<String>,
    /// Algorithms that stand last, in this order.
    last: Vec<String>,
}

impl Policy {
    /// A built-in policy by its name, or else that of a file.
    ///
    /// # Errors
    /// [`Failure`] with the file, the line and what is wrong.
    pub fn named(word: &str) -> Result<Policy, Failure> {
        let base = match word {
            "compat" => Base::Compat,
            "modern" => Base::Modern,
            "strict" => Base::Strict,
            "fips" => Base::Fips,
            _ => return Policy::file(Path::new(word)),
        };
        Ok(Policy { base, ..Policy::default() })
    }

    fn file(path: &Path) -> Result<Policy, Failure> {
        let shown = path.display();
        let failed = |what: &str| Failure::Words(format!("{shown}: {what}"));
        let about = std::fs::metadata(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                failed(&format!("no such file, and no policy by that name; known: {} or a file", BUILT_IN.join(", ")))
            }
            _ => failed(&adjunct_tool::failure::cause(&e)),
        })?;
        if !about.is_file() || about.len() > LONGEST {
            return Err(failed("is no policy file (a short text in TOML)"));
        }
        let text = adjunct_tool::files::read(path, LONGEST).map_err(|e| failed(&adjunct_tool::failure::cause(&e)))?;
        let policy = Policy::parse(&text).map_err(|(line, what)| Failure::Words(format!("{shown}:{line}: {what}")))?;
        Ok(Policy { file: Some(path.to_owned()), ..policy })
    }

    /// A policy file's content.
    ///
    /// # Errors
    /// The line, counted from 1, and what is wrong with it.
    pub fn parse(text: &[u8]) -> Result<Policy, (usize, String)> {
        let line = |at: usize| 1 + text[..at.min(text.len())].iter().filter(|&&b| b == b'\n').count();
        let good = std::str::from_utf8(text).map_err(|e| (line(e.valid_up_to()), "is no UTF-8 text".to_owned()))?;
        let own: Own = toml::from_str(good).map_err(|e| {
            let what = e.message().split_whitespace().collect::<Vec<_>>().join(" ");
            (line(e.span().map_or(0, |span| span.start)), what)
        })?;
        for rules in [&own.ciphers, &own.macs, &own.kex, &own.host_keys] {
            let words = rules.allow.iter().flatten().chain(&rules.deny).chain(&rules.first).chain(&rules.last);
            for word in words {
                let odd = |c: char| !(c.is_ascii_alphanumeric() || "-_.@*?+".contains(c));
                if word.is_empty() || word.contains(odd) {
                    // The parser does not say where a string stood; its first appearance does.
                    let at = good.find(word.as_str()).unwrap_or(0);
                    return Err((line(at), format!("'{}' is no name or pattern of algorithms", word.escape_debug())));
                }
            }
        }
        Ok(Policy { base: own.base, file: None, own })
    }

    /// Name of the policy.
    pub fn name(&self) -> String {
        let base = match self.base {
            Base::Compat => "compat",
            Base::Modern => "modern",
            Base::Strict => "strict",
            Base::Fips => "fips",
        };
        self.file.as_ref().map_or_else(|| base.to_owned(), |file| file.display().to_string())
    }

    /// A note about the policy, in a line.
    pub fn note(&self) -> Option<&'static str> {
        match self.base {
            Base::Compat => None,
            Base::Modern => Some(
                "modern leaves out what today's OpenSSH could do without, except what a client or server that adjunct knows by name still \
                 needs; one that adjunct does not know may be refused: compat refuses nobody",
            ),
            Base::Strict => Some(
                "strict refuses whoever has neither AES-GCM, ChaCha20-Poly1305 nor an encrypt-then-MAC, known or not; modern keeps those \
                 that are known",
            ),
            Base::Fips => Some(
                "fips keeps to algorithms a FIPS 140-3 module can offer: no ChaCha20, UMAC, X25519 or Ed25519; whether the \
                 module itself is validated is another matter",
            ),
        }
    }

    /// How early an algorithm comes, whatever it costs: a smaller number first. `None` where it may not be used.
    pub fn rank(&self, kind: AlgorithmKind, name: &str) -> Option<usize> {
        const MIDDLE: usize = 1000;
        let rules = self.rules(kind);
        let any = |patterns: &[String]| patterns.iter().position(|p| matches(p, name));
        if self.file_refuses(kind, name) {
            return None;
        }
        let class = class(kind, name);
        let built_in = match self.base {
            Base::Modern | Base::Strict => class.modern.then_some(class.rank),
            // What modern refuses stays, at the end: nobody loses a far side.
            Base::Compat => Some(class.rank + if class.modern { 0 } else { 10 }),
            Base::Fips => class.fips.then_some(class.rank),
        };
        let built_in = built_in?;
        match (any(&rules.first), any(&rules.last)) {
            (Some(place), _) => Some(place.min(MIDDLE - 1)),
            (None, Some(place)) => Some(2 * MIDDLE + place),
            (None, None) => Some(MIDDLE + built_in),
        }
    }

    /// Whether a policy file says that an algorithm may not be used.
    fn file_refuses(&self, kind: AlgorithmKind, name: &str) -> bool {
        let rules = self.rules(kind);
        let any = |patterns: &[String]| patterns.iter().any(|p| matches(p, name));
        rules.allow.as_ref().is_some_and(|allow| !any(allow)) || any(&rules.deny)
    }

    /// Whether an algorithm that [`Policy::rank`] leaves out may stay at the end of its list for a peer that has nothing else.
    pub fn may_stay(&self, kind: AlgorithmKind, name: &str) -> bool {
        self.base == Base::Modern && !broken(kind, name) && !self.file_refuses(kind, name)
    }

    /// Rank of an algorithm at the end of its list: SHA-1 comes last.
    pub fn spare_rank(&self, kind: AlgorithmKind, name: &str) -> usize {
        let class = class(kind, name);
        class.rank + if class.modern { 0 } else { 10 } + if old_hash(name) { 10 } else { 0 }
    }

    fn rules(&self, kind: AlgorithmKind) -> &Rules {
        match kind {
            AlgorithmKind::Ciphers => &self.own.ciphers,
            AlgorithmKind::Macs => &self.own.macs,
            AlgorithmKind::Kex => &self.own.kex,
            AlgorithmKind::HostKeys => &self.own.host_keys,
        }
    }
}

/// The class of an algorithm in the built-in policies.
struct Class {
    modern: bool,
    fips: bool,
    /// Within what is allowed: post-quantum key exchange before the rest, short tags and finite fields after it.
    rank: usize,
}

fn class(kind: AlgorithmKind, name: &str) -> Class {
    let old = old_hash(name);
    match kind {
        AlgorithmKind::Ciphers => {
            let stream = authenticates(name) || (name.starts_with("aes") && name.ends_with("-ctr"));
            Class { modern: stream, fips: stream && name.starts_with("aes"), rank: 0 }
        }
        AlgorithmKind::Macs => {
            let short = name.starts_with("umac-64") || name.contains("-96");
            let modern = covers_ciphertext(name) && !old && !name.contains("ripemd");
            Class {
                modern,
                fips: name.starts_with("hmac-sha2-"),
                rank: usize::from(short) + 2 * usize::from(!covers_ciphertext(name)),
            }
        }
        AlgorithmKind::Kex => {
            let nist = name.contains("nistp");
            let group = ["group14-sha256", "group16-", "group18-"].iter().any(|g| name.contains(g));
            let rank = match () {
                () if post_quantum(name) => 0,
                () if name.contains("group14-") => 3,
                () if finite_field(name) => 2,
                () => 1,
            };
            Class {
                modern: !old && !name.contains("group1-"),
                fips: !old && (nist || (finite_field(name) && group)),
                rank,
            }
        }
        AlgorithmKind::HostKeys => {
            let modern = !old && !name.starts_with("ssh-dss");
            Class { modern, fips: modern && !name.contains("ed25519"), rank: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed<'a>(policy: &str, kind: AlgorithmKind, names: &[&'a str]) -> Vec<&'a str> {
        let policy = Policy::named(policy).unwrap();
        names.iter().copied().filter(|n| policy.rank(kind, n).is_some()).collect()
    }

    const CIPHERS: [&str; 6] =
        ["3des-cbc", "aes128-cbc", "aes256-ctr", "aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "arcfour"];
    const MACS: [&str; 6] = [
        "hmac-sha1-etm@openssh.com",
        "hmac-md5",
        "hmac-sha2-256",
        "hmac-sha2-256-etm@openssh.com",
        "umac-64-etm@openssh.com",
        "hmac-md5-96-etm@openssh.com",
    ];
    const KEX: [&str; 7] = [
        "diffie-hellman-group1-sha1",
        "diffie-hellman-group14-sha256",
        "diffie-hellman-group16-sha512",
        "ecdh-sha2-nistp256",
        "curve25519-sha256",
        "sntrup761x25519-sha512",
        "mlkem768x25519-sha256",
    ];

    #[test]
    fn what_the_built_in_policies_allow() {
        assert_eq!(allowed("modern", AlgorithmKind::Ciphers, &CIPHERS), CIPHERS[2..5]);
        assert_eq!(allowed("modern", AlgorithmKind::Macs, &MACS), MACS[3..5]);
        assert_eq!(allowed("modern", AlgorithmKind::Kex, &KEX), KEX[1..]);
        assert_eq!(
            allowed("modern", AlgorithmKind::HostKeys, &["ssh-rsa", "ssh-dss", "rsa-sha2-512"]),
            ["rsa-sha2-512"]
        );
        for (kind, names) in
            [(AlgorithmKind::Ciphers, &CIPHERS[..]), (AlgorithmKind::Macs, &MACS), (AlgorithmKind::Kex, &KEX)]
        {
            assert_eq!(allowed("strict", kind, names), allowed("modern", kind, names));
        }
        assert_eq!(allowed("fips", AlgorithmKind::Ciphers, &CIPHERS), CIPHERS[2..4]);
        assert_eq!(allowed("fips", AlgorithmKind::Macs, &MACS), MACS[2..4]);
        assert_eq!(allowed("fips", AlgorithmKind::Kex, &KEX), KEX[1..4]);
        for (kind, names) in
            [(AlgorithmKind::Ciphers, &CIPHERS[..]), (AlgorithmKind::Macs, &MACS), (AlgorithmKind::Kex, &KEX)]
        {
            assert_eq!(allowed("compat", kind, names), names);
        }
    }

    #[test]
    fn post_quantum_comes_first_and_what_is_weak_last() {
        for policy in ["modern", "compat"] {
            let policy = Policy::named(policy).unwrap();
            let rank = |name| policy.rank(AlgorithmKind::Kex, name).unwrap();
            assert_eq!(rank("mlkem768x25519-sha256"), rank("sntrup761x25519-sha512"));
            assert!(rank("mlkem768x25519-sha256") < rank("curve25519-sha256"));
            assert!(rank("curve25519-sha256") < rank("diffie-hellman-group16-sha512"));
            assert!(rank("diffie-hellman-group16-sha512") < rank("diffie-hellman-group14-sha256"));
        }
        let compat = Policy::named("compat").unwrap();
        assert!(compat.rank(AlgorithmKind::Ciphers, "3des-cbc") > compat.rank(AlgorithmKind::Ciphers, "aes128-ctr"));
        assert!(
            compat.rank(AlgorithmKind::Macs, "hmac-sha2-256")
                > compat.rank(AlgorithmKind::Macs, "umac-64-etm@openssh.com")
        );
    }

    #[test]
    fn modern_alone_lets_stay_what_is_not_broken() {
        let may = |policy: &str, kind, name| Policy::named(policy).unwrap().may_stay(kind, name);
        assert!(may("modern", AlgorithmKind::Macs, "hmac-sha2-256") && may("modern", AlgorithmKind::Macs, "hmac-sha1"));
        assert!(
            may("modern", AlgorithmKind::Ciphers, "aes128-cbc") && may("modern", AlgorithmKind::HostKeys, "ssh-rsa")
        );
        for (kind, name) in [
            (AlgorithmKind::Ciphers, "3des-cbc"),
            (AlgorithmKind::Ciphers, "arcfour"),
            (AlgorithmKind::Macs, "hmac-md5"),
            (AlgorithmKind::Kex, "diffie-hellman-group1-sha1"),
            (AlgorithmKind::HostKeys, "ssh-dss"),
        ] {
            assert!(!may("modern", kind, name), "{name}");
        }
        assert!(["strict", "compat", "fips"].iter().all(|policy| !may(policy, AlgorithmKind::Macs, "hmac-sha2-256")));
        let own = Policy::parse(b"base = 'modern'\n[macs]\ndeny = ['hmac-sha2-256']\n").unwrap();
        assert!(
            !own.may_stay(AlgorithmKind::Macs, "hmac-sha2-256") && own.may_stay(AlgorithmKind::Macs, "hmac-sha2-512")
        );
        let modern = Policy::named("modern").unwrap();
        assert!(
            modern.spare_rank(AlgorithmKind::Macs, "hmac-sha2-512")
                < modern.spare_rank(AlgorithmKind::Macs, "hmac-sha1-etm@openssh.com")
        );
    }

    #[test]
    fn a_file_says_its_own() {
        let text = b"base = 'modern'\n[ciphers]\ndeny = ['aes192-*']\nfirst = ['aes256-gcm@openssh.com', 'aes256-*']\n\
                     last = ['chacha*']\n[macs]\nallow = ['hmac-sha2-*']\n";
        let policy = Policy::parse(text).unwrap();
        let rank = |name| policy.rank(AlgorithmKind::Ciphers, name);
        assert_eq!(rank("aes192-ctr"), None);
        assert_eq!(rank("aes128-cbc"), None, "modern still refuses it");
        assert!(rank("aes256-gcm@openssh.com") < rank("aes256-ctr") && rank("aes256-ctr") < rank("aes128-ctr"));
        assert!(rank("aes128-ctr") < rank("chacha20-poly1305@openssh.com"));
        assert_eq!(policy.rank(AlgorithmKind::Macs, "umac-128-etm@openssh.com"), None);
        assert!(
            Policy::parse(b"").unwrap().rank(AlgorithmKind::Ciphers, "3des-cbc").is_some(),
            "nothing said is compat"
        );
    }

    #[test]
    fn a_bad_file_is_told_by_line() {
        let wrong = |text: &str| Policy::parse(text.as_bytes()).unwrap_err();
        assert_eq!(wrong("base = 'modern'\nbass = 1\n").0, 2);
        assert_eq!(wrong("[ciphers]\nallow = 'aes'\n").0, 2);
        assert_eq!(wrong("\n\n[cipher]\n").0, 3);
        assert_eq!(wrong("base = 'best'\n").0, 1);
        assert!(wrong("[macs\n").0 >= 1);
        let (line, what) = wrong("[kex]\nfirst = [\n  'a',\n  'b c',\n]\n");
        assert_eq!((line, what.contains("'b c'")), (4, true), "{what}");
        assert_eq!(Policy::parse(b"base = 'modern'\n\xff").unwrap_err().0, 2);
        assert!(wrong("base = 'x'").1.lines().count() == 1);
    }

    #[test]
    fn an_unknown_policy_is_no_file() {
        let line = Policy::named("modren").unwrap_err().to_string();
        assert!(line.contains("modren") && line.contains("compat, modern, strict, fips"), "{line}");
    }
}
