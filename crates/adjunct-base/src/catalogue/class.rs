//! Classes of CPUs: those on which the same code runs, and how one CPU imitates another class by masks.
//!
//! A mask switches instructions off; the remaining ones are as fast as they are on the actual CPU.

use super::Feature::{self, *};
use super::{Arch, HERE};

/// CPUs on which the same code runs.
#[derive(Debug)]
pub struct Class {
    /// The name, as options have it.
    pub name: &'static str,
    /// The instructions that define the class, in words.
    pub text: &'static str,
    /// The CPUs of the class.
    pub cpus: &'static str,
    /// The architecture.
    pub arch: Arch,
    /// All instructions of the class that the catalogue knows.
    pub has: &'static [Feature],
}

/// Every class, of every architecture.
pub static CLASSES: &[Class] = &[
    Class {
        name: "avx512-ifma",
        text: "AVX-512 with IFMA and VAES",
        cpus: "Ice Lake to Granite Rapids, Zen 4, Zen 5",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Avx512, Aes, Pclmul, Vaes, Vpclmul, Sha, Ifma, Rdrand],
    },
    Class {
        name: "avx512",
        text: "AVX-512 without IFMA, VAES and SHA-NI",
        cpus: "Skylake-SP, Cascade Lake, Cooper Lake",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Avx512, Aes, Pclmul, Rdrand],
    },
    Class {
        name: "vaes",
        text: "VAES on 256 bits, without AVX-512",
        cpus: "Zen 3, Alder Lake, Raptor Lake",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Aes, Pclmul, Vaes, Vpclmul, Sha, Rdrand],
    },
    Class {
        name: "avx-ifma",
        text: "VAES on 256 bits and AVX-IFMA, without AVX-512",
        cpus: "Sierra Forest, Grand Ridge",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Aes, Pclmul, Vaes, Vpclmul, Sha, AvxIfma, Rdrand],
    },
    Class {
        name: "sha512",
        text: "AVX-IFMA and the instructions for SHA-512, without AVX-512",
        cpus: "Arrow Lake, Lunar Lake, Clearwater Forest",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Aes, Pclmul, Vaes, Vpclmul, Sha, AvxIfma, Sha512, Rdrand],
    },
    Class {
        name: "avx2-sha",
        text: "AES-NI, AVX2 and SHA-NI",
        cpus: "Zen 1, Zen 2",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Aes, Pclmul, Sha, Rdrand],
    },
    Class {
        name: "avx2",
        text: "AES-NI and AVX2, without SHA-NI",
        cpus: "Haswell (which has no ADX) to Comet Lake",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Avx2, Fma, Bmi2, Adx, Aes, Pclmul, Rdrand],
    },
    Class {
        name: "aes",
        text: "AES-NI and AVX, without AVX2",
        cpus: "Sandy Bridge, Ivy Bridge",
        arch: Arch::X86,
        has: &[Ssse3, Avx, Aes, Pclmul, Rdrand],
    },
    Class {
        name: "arm-sha3",
        text: "Arm's crypto extension with SHA-512 and SHA-3",
        cpus: "Neoverse V1 and newer, Apple silicon",
        arch: Arch::Arm,
        has: &[ArmAes, ArmPmull, ArmSha1, ArmSha256, ArmSha512, ArmSha3, ArmRng],
    },
    Class {
        name: "arm",
        text: "Arm's crypto extension without SHA-512 and SHA-3",
        cpus: "Cortex-A53 to A76, Neoverse N1",
        arch: Arch::Arm,
        has: &[ArmAes, ArmPmull, ArmSha1, ArmSha256, ArmRng],
    },
];

/// Features that no class requires: CPUs of each class may lack them.
const OPTIONAL: &[Feature] = &[Rdrand, ArmRng];

impl Class {
    /// The class of this name.
    pub fn from_name(name: &str) -> Option<&'static Class> {
        CLASSES.iter().find(|class| class.name == name)
    }

    /// The classes of this architecture.
    pub fn here() -> impl Iterator<Item = &'static Class> {
        CLASSES.iter().filter(|class| Some(class.arch) == HERE)
    }

    /// The features of the class that a CPU with these features lacks, so that it cannot imitate the class.
    pub fn lacking(&self, has: impl Fn(Feature) -> bool) -> Vec<Feature> {
        let wanted = self.has.iter().copied().filter(|feature| !OPTIONAL.contains(feature));
        wanted.filter(|&feature| !has(feature)).collect()
    }

    /// The features to mask on a CPU with these features.
    pub fn excess(&self, has: impl Fn(Feature) -> bool) -> Vec<Feature> {
        let here = Feature::ALL.iter().copied().filter(|feature| feature.arch() == self.arch);
        here.filter(|&feature| has(feature) && !self.has.contains(&feature)).collect()
    }

    /// The mask for our own code, as the value of `ADJUNCT_CPU`.
    pub fn mask(excess: &[Feature]) -> String {
        excess.iter().map(|feature| format!("-{}", feature.name())).collect::<Vec<_>>().join(",")
    }

    /// The mask for OpenSSL's code: the name of its variable, and the value; nothing where nothing is taken away.
    pub fn stock_mask(&self, excess: &[Feature]) -> Option<(&'static str, String)> {
        if excess.is_empty() {
            return None;
        }
        match self.arch {
            Arch::X86 => {
                let mut words = [0u32; 5];
                for (word, bits) in excess.iter().map(|feature| feature.place()).chain(companions(excess)) {
                    words[word] |= bits;
                }
                let pair = |low: u32, high: u32| format!("~{:#x}", u64::from(high) << 32 | u64::from(low));
                // The third value begins with EDX of leaf 7; versions before 3.5 do not read it.
                let values = [pair(words[0], words[1]), pair(words[2], words[3]), pair(0, words[4])];
                Some(("OPENSSL_ia32cap", values[..if words[4] == 0 { 2 } else { 3 }].join(":")))
            }
            Arch::Arm => {
                // The variable is the whole word, in which OpenSSL and AWS-LC have these bits in the same places. Bit 0 is NEON.
                let left = self.has.iter().filter(|feature| !OPTIONAL.contains(feature));
                let word = left.fold(1, |word, feature| word | feature.place().1);
                Some(("OPENSSL_armcap", format!("{word:#x}")))
            }
            Arch::S390 => None,
        }
    }
}

/// Bits of OpenSSL's capability words that have to be masked with the `excess` and that no feature here has: the rest of AVX-512, and what came with
/// AVX2.
fn companions(excess: &[Feature]) -> impl Iterator<Item = (usize, u32)> {
    const AVX512: &[(usize, u32)] = &[
        (2, 1 << 16 | 1 << 17 | 1 << 21 | 1 << 28 | 1 << 30 | 1 << 31),
        (3, 1 << 1 | 1 << 6 | 1 << 11 | 1 << 12 | 1 << 14),
    ];
    const AVX2: &[(usize, u32)] = &[(1, 1 << 22)];
    let avx512 = if excess.contains(&Avx512) { AVX512 } else { &[] };
    let avx2 = if excess.contains(&Avx2) { AVX2 } else { &[] };
    avx512.iter().chain(avx2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_imitates_what_has_less() {
        let ifma = Class::from_name("avx512-ifma").unwrap();
        let has = |feature| ifma.has.contains(&feature);
        for (name, mask) in [
            ("avx512-ifma", ""),
            ("avx512", "-vaes,-vpclmul,-sha,-ifma"),
            ("vaes", "-avx512,-ifma"),
            ("avx2-sha", "-avx512,-vaes,-vpclmul,-ifma"),
            ("avx2", "-avx512,-vaes,-vpclmul,-sha,-ifma"),
            ("aes", "-avx2,-fma,-bmi2,-adx,-avx512,-vaes,-vpclmul,-sha,-ifma"),
        ] {
            let class = Class::from_name(name).unwrap();
            assert_eq!(class.lacking(has), [], "{name}");
            assert_eq!(Class::mask(&class.excess(has)), mask, "{name}");
        }
        assert_eq!(Class::from_name("avx-ifma").unwrap().lacking(has), [AvxIfma]);
        assert!(Class::from_name("haswell").is_none());
    }

    #[test]
    fn masks_of_openssl_have_the_bits_of_the_same_instructions() {
        let ifma = Class::from_name("avx512-ifma").unwrap();
        let has = |feature| ifma.has.contains(&feature);
        assert_eq!(ifma.stock_mask(&ifma.excess(has)), None);
        let vaes = Class::from_name("vaes").unwrap();
        let (variable, value) = vaes.stock_mask(&vaes.excess(has)).unwrap();
        // Leaf 7, EBX and ECX: AVX-512's bits.
        assert_eq!((variable, value.as_str()), ("OPENSSL_ia32cap", "~0x0:~0x5842d0230000"));
        let newest = Class::from_name("sha512").unwrap();
        let more = |feature| newest.has.contains(&feature);
        let (_, value) = vaes.stock_mask(&vaes.excess(more)).unwrap();
        assert_eq!(value, "~0x0:~0x0:~0x80000100000000");
        let arm = Class::from_name("arm").unwrap();
        let (variable, value) = arm.stock_mask(&[ArmSha3, ArmSha512]).unwrap();
        assert_eq!((variable, value.as_str()), ("OPENSSL_armcap", "0x3d"));
    }
}
