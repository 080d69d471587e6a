//! What the CPU's units can do at most: the rate of their widest instructions, in chains that do not wait for each other.

use super::measure::Work;
#[cfg(target_arch = "x86_64")]
use adjunct::cpu::{self, Feature};

/// A unit's instruction, to be measured.
#[derive(Debug)]
pub struct Unit {
    /// The instruction, `vaesenc, 512 bits`.
    pub name: &'static str,
    /// Bytes of its operand.
    pub width: usize,
    /// [`BATCH`] instructions a repetition.
    pub work: Work,
}

/// Instructions of one repetition.
pub const BATCH: u64 = 64 * CHAINS as u64;

/// More than latency times throughput on any CPU so far (4 cycles, two a cycle), and few enough for 16 registers.
const CHAINS: usize = 12;

impl Unit {
    /// Instructions a second, from repetitions a second.
    pub fn instructions(rate: f64) -> f64 {
        rate * BATCH as f64
    }

    /// One round of AES encryption, as wide as this CPU has it; `None` where it has none.
    #[cfg(target_arch = "x86_64")]
    pub fn aes() -> Option<Unit> {
        let features = cpu::features();
        let vaes = features.has(Feature::Vaes);
        let (name, width, chains): (_, _, unsafe fn(u64) -> bool) = if vaes && features.has(Feature::Avx512) {
            ("vaesenc, 512 bits", 64, x86::aes512)
        } else if vaes && features.has(Feature::Avx2) {
            ("vaesenc, 256 bits", 32, x86::aes256)
        } else if features.has(Feature::Aes) {
            ("aesenc, 128 bits", 16, x86::aes128)
        } else {
            return None;
        };
        // SAFETY: the features of each are those just asked for.
        Some(Unit { name, width, work: Work::new(Vec::new(), move |n| unsafe { chains(n) }) })
    }

    /// One IFMA multiplication in eight lanes; `None` where this CPU has none.
    #[cfg(target_arch = "x86_64")]
    pub fn ifma() -> Option<Unit> {
        let features = cpu::features();
        if !(features.has(Feature::Ifma) && features.has(Feature::Avx512)) {
            return None;
        }
        // SAFETY: just asked.
        let work = Work::new(Vec::new(), |n| unsafe { x86::ifma(n) });
        Some(Unit { name: "vpmadd52luq, 512 bits", width: 64, work })
    }

    /// Other architectures' units are not measured.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn aes() -> Option<Unit> {
        None
    }

    /// Other architectures have none.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn ifma() -> Option<Unit> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::CHAINS;
    use std::arch::x86_64::*;
    use std::hint::black_box;

    macro_rules! rounds {
        ($(#[doc = $doc:literal])* $name:ident, $features:literal, $start:expr, $step:expr) => {
            $(#[doc = $doc])*
            #[target_feature(enable = $features)]
            pub fn $name(times: u64) -> bool {
                // Values the compiler does not know, so that nothing can be worked out before it runs.
                let start = black_box($start);
                let mut chains = [start; CHAINS];
                for _ in 0..times {
                    for _ in 0..64 {
                        for chain in &mut chains {
                            *chain = $step(*chain, start);
                        }
                    }
                }
                black_box(chains);
                true
            }
        };
    }

    rounds!(aes512, "avx512f,vaes", _mm512_set1_epi8(0x5a), |a, k| _mm512_aesenc_epi128(a, k));
    rounds!(aes256, "avx2,vaes", _mm256_set1_epi8(0x5a), |a, k| _mm256_aesenc_epi128(a, k));
    rounds!(aes128, "aes,sse2", _mm_set1_epi8(0x5a), |a, k| _mm_aesenc_si128(a, k));
    rounds!(ifma, "avx512f,avx512ifma", _mm512_set1_epi64(0x5a5a_5a5a_5a5a), |a, k| _mm512_madd52lo_epu64(a, k, k));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_that_is_there_runs() {
        for mut unit in [Unit::aes(), Unit::ifma()].into_iter().flatten() {
            assert!(unit.work.timed(1000).is_some_and(|t| !t.is_zero()), "{}", unit.name);
        }
    }
}
