//! The values of the module's section: `algorithms =` and `engine =`, with the keywords of the papers, and `accelerator =`; and the
//! modes of libica's programs.

use crate::catalogue::Function;
use crate::environment::secure_env;
use crate::error::Error;

/// A name in the module's section of openssl.cnf that the provider reads. OpenSSL itself reads `identity`, `module` and `activate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Which groups of algorithms the provider offers ([`Groups::parse`]).
    Algorithms,
    /// What the engine that the module registers serves ([`engine`]).
    Engine,
    /// Which private-key operations are done in batches ([`accelerator`]).
    Accelerator,
    /// Whether PKCS#1 v1.5 decryption rejects implicitly where OpenSSL's own does not.
    ImplicitRejection,
    /// Whether the provider offers nothing in programs that load a provider of their own.
    Yield,
}

impl Setting {
    /// Every setting.
    pub const ALL: [Setting; 5] =
        [Setting::Algorithms, Setting::Engine, Setting::Accelerator, Setting::ImplicitRejection, Setting::Yield];

    /// Its name in the section.
    pub const fn name(self) -> &'static str {
        match self {
            Setting::Algorithms => "algorithms",
            Setting::Engine => "engine",
            Setting::Accelerator => "accelerator",
            Setting::ImplicitRejection => "implicit-rejection",
            Setting::Yield => "yield",
        }
    }
}

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
    /// ML-KEM, and its TLS groups.
    Kem,
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
        (Group::Kem, "KEM"),
        (Group::Rand, "RAND"),
        (Group::Ecb, "ECB"),
    ];
}

/// The groups switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Groups(u8);

impl Default for Groups {
    /// All groups but RAND and ECB.
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
                    known: "ALL RSA EC CIPHERS DIGESTS MACS KEM RAND ECB".to_owned(),
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
    pub const EC: u32 = 0x800;

    /// No flag of OpenSSL's: RSA and EC, each where the program itself calls functions of [`RSA_CALLS`] or [`EC_CALLS`].
    pub const AUTO: u32 = 0x8000_0000;

    /// Each method with its keyword in `default_algorithms`, or with adjunct's own one.
    pub const ALL: &[(u32, &str)] = &[(AUTO, "auto"), (RSA, "RSA"), (EC, "EC"), (DH, "DH"), (RAND, "RAND")];

    /// Low-level operations on RSA keys that an engine can serve.
    pub const RSA_CALLS: &[&str] = &[
        "RSA_sign",
        "RSA_verify",
        "RSA_sign_ASN1_OCTET_STRING",
        "RSA_verify_ASN1_OCTET_STRING",
        "RSA_private_encrypt",
        "RSA_private_decrypt",
        "RSA_public_encrypt",
        "RSA_public_decrypt",
    ];
    /// Low-level operations on EC keys that an engine can serve.
    pub const EC_CALLS: &[&str] = &[
        "ECDSA_sign",
        "ECDSA_sign_ex",
        "ECDSA_do_sign",
        "ECDSA_do_sign_ex",
        "ECDSA_verify",
        "ECDSA_do_verify",
        "ECDH_compute_key",
        "EC_KEY_generate_key",
    ];
}

/// Words of `default_algorithms` that a line `engine =` does not take.
const NOT_REGISTERED: [&str; 2] = ["CIPHERS", "DIGESTS"];

/// The reason why `engine =` does not take these words.
const LOCK: &str = "libcrypto takes a lock at each use of an engine's cipher or digest, and a child forked beside other \
                    threads may wait for it for ever; the provider serves them";

/// Parses the `engine =` value: what the engine serves, in the words of an engine's `default_algorithms`, separated as in
/// [`Groups::parse`]; `ALL` is what can be registered, `auto` what the program itself calls. Gives the flags of
/// [`engine_methods`], and the wrong words.
pub fn engine(value: &str) -> (u32, Vec<Error>) {
    use engine_methods::{ALL, AUTO};
    let (mut methods, mut errors) = (0, Vec::new());
    for word in value.split([',', ' ', '\t', ':', ';']).filter(|w| !w.is_empty()) {
        let all = word.eq_ignore_ascii_case("ALL");
        let named = ALL.iter().filter(|(method, k)| (all && *method != AUTO) || k.eq_ignore_ascii_case(word));
        let found = named.fold(0, |sum, (method, _)| sum | method);
        methods |= found;
        if found != 0 {
            continue;
        }
        let refused = NOT_REGISTERED.iter().find(|refused| refused.eq_ignore_ascii_case(word));
        errors.push(match refused {
            Some(word) => Error::RefusedWord { place: "engine", word, why: LOCK },
            None => Error::UnknownWord {
                place: "engine",
                word: word.chars().take(64).collect(),
                known: "auto ALL RSA EC DH RAND".to_owned(),
            },
        });
    }
    (methods, errors)
}

/// The `accelerator =` value: the operations that are done in batches. Where two places set it, the greater value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Accelerator {
    /// Operations of asynchronous jobs, and those of several threads where that was measured to be faster. The default.
    On = 0,
    /// Operations of asynchronous jobs, and all that several threads ask for at the same time, measured or not.
    Always = 1,
    /// No batches: each operation is done alone.
    Off = 2,
}

/// Parses the `accelerator =` value, or that of `ADJUNCT_ACCELERATOR`: `on`, `always` or `off`, in any case; empty is on.
///
/// # Errors
/// [`Error::UnknownWord`] for any other.
pub fn accelerator(place: &'static str, value: &str) -> Result<Accelerator, Error> {
    const WORDS: [(&str, Accelerator); 4] =
        [("on", Accelerator::On), ("", Accelerator::On), ("always", Accelerator::Always), ("off", Accelerator::Off)];
    let value = value.trim();
    let known = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    known.map(|&(_, what)| what).ok_or_else(|| Error::UnknownWord {
        place,
        word: value.chars().take(64).collect(),
        known: "on always off".to_owned(),
    })
}

/// How a program of libica's wants to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibicaModes {
    /// Whether software serves what hardware does not.
    pub fallbacks: bool,
    /// Whether software serves elliptic curves.
    pub curve_fallbacks: bool,
    /// Whether operations are counted.
    pub statistics: bool,
    /// Whether cards are asked whenever there is one, crowded or not.
    pub cards: bool,
}

impl Default for LibicaModes {
    /// Software serves what hardware does not, and all is counted.
    fn default() -> LibicaModes {
        LibicaModes { fallbacks: true, curve_fallbacks: true, statistics: true, cards: false }
    }
}

impl LibicaModes {
    /// The modes that the environment asks for, where the program may have one: numbers, as in the original.
    pub fn from_environment() -> LibicaModes {
        let number = |name| secure_env(name)?.trim().parse::<i64>().ok();
        let on = |name, otherwise| number(name).map_or(otherwise, |number| number != 0);
        let otherwise = LibicaModes::default();
        LibicaModes {
            fallbacks: on("LIBICA_FALLBACK_MODE", otherwise.fallbacks),
            // 1 is hardware only, 2 software only, and all else either. Of 2 nothing is to be seen in a result.
            curve_fallbacks: number("ICAPATH") != Some(1),
            statistics: on("LIBICA_STATS_MODE", otherwise.statistics),
            cards: on("LIBICA_OFFLOAD_MODE", otherwise.cards),
        }
    }

    /// Whether software serves `function`. RSA keys are made in software everywhere, so fallbacks do not matter there; Curve448 is libcrypto's, if
    /// there is one.
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
        use engine_methods::{AUTO, DH, EC, RAND, RSA};
        assert_eq!(engine("RSA,EC").0, RSA | EC);
        assert_eq!(engine(" ec "), (EC, Vec::new()));
        assert_eq!(engine(""), (0, Vec::new()));
        assert_eq!(engine("all").0, RSA | EC | DH | RAND);
        assert_eq!(engine("Auto,rand").0, AUTO | RAND);
        for (word, refused) in [("ciphers", "'CIPHERS' is refused"), ("DIGESTS", "'DIGESTS' is refused")] {
            let (methods, errors) = engine(&format!("RSA,{word}"));
            assert_eq!(methods, RSA);
            assert!(errors[0].to_string().contains(refused), "{}", errors[0]);
        }
        let (methods, errors) = engine("rsa,DSA");
        assert_eq!((methods, errors.len()), (RSA, 1));
        assert!(errors[0].to_string().contains("'DSA'"), "{}", errors[0]);
    }

    #[test]
    fn the_accelerator_is_for_jobs_for_all_or_off() {
        use Accelerator::{Always, Off, On};
        for (value, what) in [("on", On), (" OFF", Off), ("", On), ("Always ", Always)] {
            assert_eq!(accelerator("accelerator", value), Ok(what));
        }
        assert!(On < Always && Always < Off);
        let error = accelerator("accelerator", "no").unwrap_err().to_string();
        assert!(error.contains("accelerator: unknown word 'no'") && error.contains("on always off"), "{error}");
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
