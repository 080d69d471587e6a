//! The values of the module's section: `algorithms =` and `engine =`, with the keywords of the papers, and `accelerator =`; and the
//! modes of libica's programs.

use crate::catalogue::Function;
use crate::cpu;
use crate::error::Error;

/// A group of algorithms, as the papers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Group {
    /// RSA keys, signatures, encryption.
    Rsa,
    /// EC and Edwards/Montgomery keys, signatures, key exchange.
    Ec,
    /// Symmetric ciphers.
    Ciphers,
    /// Message digests.
    Digests,
    /// HMAC and CMAC.
    Macs,
    /// Random generation; only on request.
    Rand,
    /// AES in ECB; only on request, because OpenSSL's own random generator would take it.
    Ecb,
}

impl Group {
    /// Every group with its keyword.
    pub const ALL: &[(Group, &str)] = &[
        (Group::Rsa, "RSA"),
        (Group::Ec, "EC"),
        (Group::Ciphers, "CIPHERS"),
        (Group::Digests, "DIGESTS"),
        (Group::Macs, "MACS"),
        (Group::Rand, "RAND"),
        (Group::Ecb, "ECB"),
    ];
}

/// The groups switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups(u8);

impl Default for Groups {
    /// Everything but RAND and ECB.
    fn default() -> Self {
        let mut groups = Groups(0);
        for &(group, _) in Group::ALL {
            if !matches!(group, Group::Rand | Group::Ecb) {
                groups.insert(group);
            }
        }
        groups
    }
}

impl Groups {
    /// Whether `group` is switched on.
    pub const fn has(self, group: Group) -> bool {
        self.0 & (1 << group as u8) != 0
    }

    fn insert(&mut self, group: Group) {
        self.0 |= 1 << group as u8;
    }

    /// Switches `group` off.
    pub fn remove(&mut self, group: Group) {
        self.0 &= !(1 << group as u8);
    }

    /// Parses `ALL` or a list of keywords, separated by commas or blanks, in any case. Wrong words are returned beside the
    /// groups the right ones give; a value with no right word at all gives the default.
    pub fn parse(value: &str) -> (Groups, Vec<Error>) {
        let mut groups = Groups(0);
        let mut errors = Vec::new();
        for word in value.split([',', ' ', '\t', ':', ';']).filter(|w| !w.is_empty()) {
            if word.eq_ignore_ascii_case("ALL") {
                groups.0 |= Groups::default().0;
            } else if let Some(&(group, _)) = Group::ALL.iter().find(|(_, k)| k.eq_ignore_ascii_case(word)) {
                groups.insert(group);
            } else {
                errors.push(Error::UnknownWord {
                    place: "algorithms",
                    word: word.chars().take(64).collect(),
                    known: "ALL RSA EC CIPHERS DIGESTS MACS RAND ECB".to_owned(),
                });
            }
        }
        if groups.0 == 0 {
            groups = Groups::default();
        }
        (groups, errors)
    }
}

/// What an engine can serve: OpenSSL's flags (`ENGINE_METHOD_RSA` and its sisters, engine.h).
#[allow(missing_docs, reason = "named as in engine.h")]
pub mod engine_methods {
    pub const RSA: u32 = 0x1;
    pub const DH: u32 = 0x4;
    pub const RAND: u32 = 0x8;
    pub const CIPHERS: u32 = 0x40;
    pub const DIGESTS: u32 = 0x80;
    pub const EC: u32 = 0x800;

    /// Each with its keyword in `default_algorithms`.
    pub const ALL: &[(u32, &str)] =
        &[(RSA, "RSA"), (EC, "EC"), (DH, "DH"), (CIPHERS, "CIPHERS"), (DIGESTS, "DIGESTS"), (RAND, "RAND")];
}

/// Parses the `engine =` value: what the engine serves by default, in the words of an engine's `default_algorithms`,
/// separated as in [`Groups::parse`]; `ALL` is every word. Gives the flags of [`engine_methods`], and the wrong words.
pub fn engine(value: &str) -> (u32, Vec<Error>) {
    let (mut methods, mut errors) = (0, Vec::new());
    for word in value.split([',', ' ', '\t', ':', ';']).filter(|w| !w.is_empty()) {
        let all = word.eq_ignore_ascii_case("ALL");
        let named = engine_methods::ALL.iter().filter(|(_, k)| all || k.eq_ignore_ascii_case(word));
        let found = named.fold(0, |sum, (method, _)| sum | method);
        methods |= found;
        if found == 0 {
            errors.push(Error::UnknownWord {
                place: "engine",
                word: word.chars().take(64).collect(),
                known: "ALL RSA EC DH CIPHERS DIGESTS RAND".to_owned(),
            });
        }
    }
    (methods, errors)
}

/// Parses the `accelerator =` value, or that of `ADJUNCT_ACCELERATOR`: `on` or `off`, in any case; empty is on.
///
/// # Errors
/// [`Error::UnknownWord`] for any other.
pub fn accelerator(place: &'static str, value: &str) -> Result<bool, Error> {
    match value.trim() {
        on if on.is_empty() || on.eq_ignore_ascii_case("on") => Ok(true),
        off if off.eq_ignore_ascii_case("off") => Ok(false),
        other => Err(Error::UnknownWord { place, word: other.chars().take(64).collect(), known: "on off".to_owned() }),
    }
}

/// How a program of libica's wants to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibicaModes {
    /// Whether software serves what hardware does not.
    pub fallbacks: bool,
    /// Whether it does for elliptic curves.
    pub curve_fallbacks: bool,
    /// Whether operations are counted.
    pub statistics: bool,
}

impl Default for LibicaModes {
    /// Software serves what hardware does not, and all is counted.
    fn default() -> LibicaModes {
        LibicaModes { fallbacks: true, curve_fallbacks: true, statistics: true }
    }
}

impl LibicaModes {
    /// What the environment says, where the program may have one: numbers, as the original's.
    pub fn from_environment() -> LibicaModes {
        let number = |name| cpu::secure_env(name)?.trim().parse::<i64>().ok();
        let on = |name, otherwise| number(name).map_or(otherwise, |number| number != 0);
        let otherwise = LibicaModes::default();
        LibicaModes {
            fallbacks: on("LIBICA_FALLBACK_MODE", otherwise.fallbacks),
            // 1 is hardware only, 2 software only, and all else either. Of 2 nothing is to be seen in a result.
            curve_fallbacks: number("ICAPATH") != Some(1),
            statistics: on("LIBICA_STATS_MODE", otherwise.statistics),
        }
    }

    /// Whether software serves `function`. RSA keys are made in software everywhere, so whether fallbacks are on does not matter
    /// there; Curve448 is libcrypto's, where there is one.
    pub fn in_software(self, function: Function, libcrypto: impl FnOnce() -> bool) -> bool {
        use Function::*;
        match function {
            RsaKeygenMe | RsaKeygenCrt => true,
            X448Keygen | X448Derive | Ed448Keygen | Ed448Sign | Ed448Verify => self.fallbacks && libcrypto(),
            EcKeygen | Ecdh | EcdsaSign | EcdsaVerify => self.fallbacks && self.curve_fallbacks,
            _ => self.fallbacks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_of_the_papers() {
        let (groups, errors) = Groups::parse("RAND,RSA, ciphers");
        assert!(errors.is_empty());
        assert!(groups.has(Group::Rand) && groups.has(Group::Rsa) && groups.has(Group::Ciphers));
        assert!(!groups.has(Group::Digests));
        assert_eq!(Groups::parse("ALL").0, Groups::default());
        assert_eq!(Groups::parse("").0, Groups::default());
        assert!(!Groups::default().has(Group::Rand));
    }

    #[test]
    fn an_engine_serves_what_is_named() {
        use engine_methods::{EC, RSA};
        assert_eq!(engine("RSA,EC").0, RSA | EC);
        assert_eq!(engine(" ec "), (EC, Vec::new()));
        assert_eq!(engine(""), (0, Vec::new()));
        assert_eq!(engine("all").0, engine_methods::ALL.iter().map(|(m, _)| m).sum());
        let (methods, errors) = engine("rsa,DSA");
        assert_eq!((methods, errors.len()), (RSA, 1));
        assert!(errors[0].to_string().contains("'DSA'"), "{}", errors[0]);
    }

    #[test]
    fn the_accelerator_is_on_or_off() {
        for (value, on) in [("on", true), (" OFF", false), ("", true)] {
            assert_eq!(accelerator("accelerator", value), Ok(on));
        }
        let error = accelerator("accelerator", "no").unwrap_err().to_string();
        assert!(error.contains("accelerator: unknown word 'no'") && error.contains("on off"), "{error}");
    }

    #[test]
    fn what_only_software_has_goes_with_its_fallbacks() {
        let all = LibicaModes::default();
        let (none, no_curves) =
            (LibicaModes { fallbacks: false, ..all }, LibicaModes { curve_fallbacks: false, ..all });
        let served = |function| [all, no_curves, none].map(|modes| modes.in_software(function, || true));
        assert_eq!(served(Function::AesEcb), [true, true, false]);
        assert_eq!(served(Function::EcdsaVerify), [true, false, false]);
        assert_eq!(served(Function::RsaKeygenCrt), [true; 3]);
        assert_eq!(served(Function::Ed448Sign), [true, true, false]);
        assert!(!all.in_software(Function::X448Derive, || false));
    }

    #[test]
    fn a_wrong_word_is_named_and_the_rest_works() {
        let (groups, errors) = Groups::parse("RSA,CYPHERS");
        assert_eq!(errors.len(), 1);
        assert!(errors[0].to_string().contains("'CYPHERS'"));
        assert!(groups.has(Group::Rsa) && !groups.has(Group::Ciphers));
    }
}
