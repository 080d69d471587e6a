//! The counters of `cpacfstats`, and which functions each has.

use adjunct::catalogue::{Arch, Feature, Function, HERE};
use adjunct::cpu;
use adjunct::ops::choice::served;
use std::ffi::OsStr;

/// A counter, in the order of the listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// DES and triple DES.
    Des,
    /// AES.
    Aes,
    /// Digests.
    Sha,
    /// Random numbers.
    Rng,
    /// Elliptic curves.
    Ecc,
    /// Single instructions that programs called; none are counted here.
    PaiUser,
    /// Single instructions that the kernel called; none are counted here.
    PaiKernel,
}

impl Counter {
    /// All counters.
    pub const ALL: [Counter; 7] =
        [Counter::Des, Counter::Aes, Counter::Sha, Counter::Rng, Counter::Ecc, Counter::PaiUser, Counter::PaiKernel];
    /// The names on the command line.
    pub const NAMES: [&str; 8] = ["des", "aes", "sha", "rng", "ecc", "pai_user", "pai_kernel", "all"];

    /// The name.
    pub const fn name(self) -> &'static str {
        Counter::NAMES[self as usize]
    }

    /// The counter of a name, `Some(None)` for all of them.
    pub fn named(name: &OsStr) -> Option<Option<Counter>> {
        let place = Counter::NAMES.iter().position(|known| name == *known)?;
        Some(Counter::ALL.get(place).copied())
    }

    /// Whether the counter counts IBM Z's single instructions, which adjunct has no counterpart for.
    pub const fn is_pai(self) -> bool {
        matches!(self, Counter::PaiUser | Counter::PaiKernel)
    }

    /// The counter of a function's operations. Functions that cards do on Z (RSA), and those for which Z has no instructions, have no counter.
    pub const fn of(function: Function) -> Option<Counter> {
        use Function::*;
        Some(match function {
            DesEcb | DesCbc | DesOfb | DesCfb | DesCtr | DesCmac | TdesEcb | TdesCbc | TdesOfb | TdesCfb | TdesCtr
            | TdesCmac => Counter::Des,
            AesEcb | AesCbc | AesOfb | AesCfb | AesCtr | AesCmac | AesXts | AesGcm | AesCcm => Counter::Aes,
            // GHASH is a function of Z's digest instruction.
            Sha1 | Sha224 | Sha256 | Sha384 | Sha512 | Sha512_224 | Sha512_256 | Sha3_224 | Sha3_256 | Sha3_384
            | Sha3_512 | Shake128 | Shake256 | Ghash | HmacSha1 | HmacSha2_256 | HmacSha2_512 | HmacSha3 => {
                Counter::Sha
            }
            Prng | DrbgSha512 => Counter::Rng,
            Ecdh | EcdsaSign | EcdsaVerify | EcKeygen | Ed25519Keygen | Ed25519Sign | Ed25519Verify | Ed448Keygen
            | Ed448Sign | Ed448Verify | X25519Keygen | X25519Derive | X448Keygen | X448Derive => Counter::Ecc,
            RsaKeygenMe | RsaKeygenCrt | RsaMe | RsaCrt | ChaCha20 | ChaCha20Poly1305 | Md5 | HmacMd5 | MlKemKeygen
            | MlKemEncapsulate | MlKemDecapsulate | MlDsaKeygen | MlDsaSign | MlDsaVerify => return None,
        })
    }

    /// Whether this machine has dedicated instructions for any of its functions, one operation at a time or in batches, whatever
    /// the configuration asks for.
    pub fn supported(self) -> bool {
        Function::ALL.iter().any(|&function| {
            let batches = function.batch_instructions(0);
            let lanes = HERE == Some(Arch::X86) && !batches.is_empty() && has(batches);
            Counter::of(function) == Some(self) && (lanes || served(function, 0).instructions)
        })
    }
}

fn has(features: &[Feature]) -> bool {
    features.iter().all(|&feature| cpu::features().has(feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_counters() {
        assert!(Counter::ALL.iter().all(|&c| Counter::named(OsStr::new(c.name())) == Some(Some(c))));
        assert_eq!(Counter::named(OsStr::new("all")), Some(None));
        assert_eq!(Counter::named(OsStr::new("prng")), None);
    }

    #[test]
    fn each_counter_but_those_of_single_instructions_has_functions() {
        for counter in Counter::ALL {
            assert_eq!(
                Function::ALL.iter().any(|&f| Counter::of(f) == Some(counter)),
                !counter.is_pai(),
                "{counter:?}"
            );
        }
        assert!(!Counter::PaiUser.supported());
    }
}
