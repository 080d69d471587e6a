//! What the CPU's units can do at most: the rate of their widest instructions, in chains that do not wait for each other.

use super::measure::Work;
use adjunct::catalogue::Feature;
#[cfg(target_arch = "x86_64")]
use adjunct::cpu;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::{UNIT_CHAINS as CHAINS, vaes256, vaes512};
#[cfg(target_arch = "x86_64")]
use std::hint::black_box;

/// A unit's instruction, to be measured.
#[derive(Debug)]
pub struct Unit {
    /// The instruction, `vaesenc, 512 bits`.
    pub name: &'static str,
    /// Bytes of its operand.
    pub width: usize,
    /// How many times a repetition does it.
    pub times: u64,
    /// A fixed number of instructions a repetition, see [`Unit::instructions`].
    pub work: Work,
}

#[cfg(not(target_arch = "x86_64"))]
const CHAINS: usize = 12;

/// Rounds of all chains in one repetition: enough that starting them costs nothing.
const PASSES: u64 = 64;

impl Unit {
    /// Instructions a second, from repetitions a second.
    pub fn instructions(rate: f64) -> f64 {
        rate * (PASSES * CHAINS as u64) as f64
    }

    /// One round of AES encryption, as wide as this CPU has it; `None` where it has none.
    #[cfg(target_arch = "x86_64")]
    pub fn aes() -> Option<Unit> {
        let features = cpu::features();
        let vaes = features.has(Feature::Vaes) && features.has(Feature::Vpclmul);
        let (name, width, chains): (_, _, unsafe fn(u64) -> [u8; 16]) = if vaes && features.has(Feature::Avx512) {
            ("vaesenc, 512 bits", 64, vaes512::unit)
        } else if vaes && features.has(Feature::Avx2) {
            ("vaesenc, 256 bits", 32, vaes256::unit)
        } else if features.has(Feature::Aes) {
            ("aesenc, 128 bits", 16, x86::aes128)
        } else {
            return None;
        };
        let run = move |n| {
            // SAFETY: the features of each are those just asked for.
            black_box(unsafe { chains(n * PASSES) });
            true
        };
        Some(Unit { name, width, times: PASSES * CHAINS as u64, work: Work::new(Vec::new(), run) })
    }

    /// A round of AES encryption among the products that GCM takes for so many rounds, as wide as this CPU has both; `None` where it has
    /// them for single blocks only.
    #[cfg(target_arch = "x86_64")]
    pub fn gcm(rounds: usize) -> Option<Unit> {
        let features = cpu::features();
        if !(features.has(Feature::Vaes) && features.has(Feature::Vpclmul)) {
            return None;
        }
        let (name, width, chains): (_, _, unsafe fn(usize, u64) -> [u8; 16]) = if features.has(Feature::Avx512) {
            ("vaesenc and vpclmulqdq, 512 bits", 64, vaes512::unit_gcm)
        } else if features.has(Feature::Avx2) {
            ("vaesenc and vpclmulqdq, 256 bits", 32, vaes256::unit_gcm)
        } else {
            return None;
        };
        let run = move |n| {
            // SAFETY: the features of each are those just asked for.
            black_box(unsafe { chains(rounds, n * PASSES) });
            true
        };
        Some(Unit { name, width, times: PASSES * rounds as u64, work: Work::new(Vec::new(), run) })
    }

    /// One IFMA multiplication in eight lanes; `None` where this CPU has none.
    #[cfg(target_arch = "x86_64")]
    pub fn ifma() -> Option<Unit> {
        let features = cpu::features();
        if !(features.has(Feature::Ifma) && features.has(Feature::Avx512)) {
            return None;
        }
        let run = |n| {
            // SAFETY: just asked.
            black_box(unsafe { x86::ifma(n * PASSES) });
            true
        };
        let times = PASSES * CHAINS as u64;
        Some(Unit { name: "vpmadd52luq, 512 bits", width: 64, times, work: Work::new(Vec::new(), run) })
    }

    /// Other architectures' units are not measured.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn aes() -> Option<Unit> {
        None
    }

    /// Nor these.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn gcm(_rounds: usize) -> Option<Unit> {
        None
    }

    /// Other architectures have none.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn ifma() -> Option<Unit> {
        None
    }
}

/// Chains as those of [`vaes512::unit`], of other instructions. They start with values the compiler does not know, so that
/// nothing can be worked out before it runs.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::CHAINS;
    use std::arch::x86_64::*;
    use std::hint::black_box;

    #[target_feature(enable = "aes,sse2")]
    pub fn aes128(passes: u64) -> [u8; 16] {
        let key = black_box(_mm_set1_epi8(0x5a));
        let mut chains = [key; CHAINS];
        for _ in 0..passes {
            for chain in &mut chains {
                *chain = _mm_aesenc_si128(*chain, key);
            }
        }
        black_box(chains);
        [0; 16]
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn ifma(passes: u64) -> [__m512i; CHAINS] {
        let factor = black_box(_mm512_set1_epi64(0x5a5a_5a5a_5a5a));
        let mut chains = [factor; CHAINS];
        for _ in 0..passes {
            for chain in &mut chains {
                *chain = _mm512_madd52lo_epu64(*chain, factor, factor);
            }
        }
        chains
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_that_is_there_runs() {
        for mut unit in [Unit::aes(), Unit::gcm(10), Unit::gcm(12), Unit::gcm(14), Unit::ifma()].into_iter().flatten() {
            assert!(unit.work.timed(1000).is_some_and(|t| !t.is_zero()), "{}", unit.name);
        }
    }
}
