//! What the CPU's units can do at most: the rate of their widest instructions, where none waits for another.

use super::measure::Work;
#[cfg(target_arch = "x86_64")]
use adjunct::{catalogue::Feature, cpu};

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

/// Instructions of a pass, and passes of a repetition: enough that starting them costs nothing.
const INSTRUCTIONS: usize = 12;
const PASSES: u64 = 64;

impl Unit {
    /// Instructions a second, from repetitions a second.
    pub fn instructions(rate: f64) -> f64 {
        rate * (PASSES * INSTRUCTIONS as u64) as f64
    }

    /// One round of AES encryption, as wide as this CPU has it; `None` where it has none.
    #[cfg(target_arch = "x86_64")]
    pub fn aes() -> Option<Unit> {
        let features = cpu::features();
        let vaes = features.has(Feature::Vaes) && features.has(Feature::Vpclmul);
        let (name, width, pass): (_, _, unsafe fn(u64)) = if vaes && features.has(Feature::Avx512) {
            ("vaesenc, 512 bits", 64, x86::aes512)
        } else if vaes && features.has(Feature::Avx2) {
            ("vaesenc, 256 bits", 32, x86::aes256)
        } else if features.has(Feature::Aes) && features.has(Feature::Avx) {
            ("aesenc, 128 bits", 16, x86::aes128)
        } else {
            return None;
        };
        let run = move |n| {
            // SAFETY: the features of each are those just asked for.
            unsafe { pass(n * PASSES) };
            true
        };
        Some(Unit { name, width, times: PASSES * INSTRUCTIONS as u64, work: Work::new(Vec::new(), run) })
    }

    /// A round of AES encryption among the products that GCM takes for `rounds` rounds, as wide as this CPU has both; `None` where it has them for
    /// single blocks only.
    #[cfg(target_arch = "x86_64")]
    pub fn gcm(rounds: usize) -> Option<Unit> {
        let features = cpu::features();
        if !(features.has(Feature::Vaes) && features.has(Feature::Vpclmul)) {
            return None;
        }
        let (name, width, pass): (_, _, unsafe fn(usize, u64)) = if features.has(Feature::Avx512) {
            ("vaesenc and vpclmulqdq, 512 bits", 64, x86::gcm512)
        } else if features.has(Feature::Avx2) {
            ("vaesenc and vpclmulqdq, 256 bits", 32, x86::gcm256)
        } else {
            return None;
        };
        let run = move |n| {
            // SAFETY: the features of each are those just asked for.
            unsafe { pass(rounds, n * PASSES) };
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
            unsafe { x86::ifma512(n * PASSES) };
            true
        };
        let times = PASSES * INSTRUCTIONS as u64;
        Some(Unit { name: "vpmadd52luq, 512 bits", width: 64, times, work: Work::new(Vec::new(), run) })
    }

    /// `None`: the AES units of other architectures are not measured.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn aes() -> Option<Unit> {
        None
    }

    /// `None`: this unit is measured on x86-64 alone.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn gcm(_rounds: usize) -> Option<Unit> {
        None
    }

    /// `None`: other architectures have no IFMA unit.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn ifma() -> Option<Unit> {
        None
    }
}

/// Instructions whose results nothing reads, so that none waits for another and the units alone set the pace: in assembly, for a
/// compiler would leave them out, or keep some of them in memory.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::INSTRUCTIONS;
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// `$passes` times [`INSTRUCTIONS`] of one instruction with the same two operands.
    macro_rules! instructions {
        ($name:ident, $features:literal, $register:ident, $key:expr, $instruction:literal) => {
            #[target_feature(enable = $features)]
            pub fn $name(passes: u64) {
                let key = $key;
                for _ in 0..passes {
                    // SAFETY: changes the one register that it says.
                    unsafe {
                        asm!(
                            ".rept {n}",
                            $instruction,
                            ".endr",
                            n = const INSTRUCTIONS,
                            key = in($register) key,
                            out = out($register) _,
                            options(nomem, nostack, preserves_flags),
                        );
                    }
                }
            }
        };
    }

    instructions!(aes128, "aes,avx", xmm_reg, _mm_set1_epi8(0x5a), "vaesenc {out}, {key}, {key}");
    instructions!(aes256, "vaes,avx2", ymm_reg, _mm256_set1_epi8(0x5a), "vaesenc {out}, {key}, {key}");
    instructions!(aes512, "vaes,avx512f", zmm_reg, _mm512_set1_epi8(0x5a), "vaesenc {out}, {key}, {key}");

    /// IFMA adds to its result: twelve chains are enough for two units of a latency up to six cycles.
    #[target_feature(enable = "avx512ifma,avx512f")]
    pub fn ifma512(passes: u64) {
        let factor = _mm512_set1_epi8(0x5a);
        let [mut a, mut b, mut c, mut d, mut e, mut f] = [factor; 6];
        let [mut g, mut h, mut i, mut j, mut k, mut l] = [factor; 6];
        for _ in 0..passes {
            // SAFETY: changes the registers that it says.
            unsafe {
                asm!(
                    "vpmadd52luq {a}, {by}, {by}",
                    "vpmadd52luq {b}, {by}, {by}",
                    "vpmadd52luq {c}, {by}, {by}",
                    "vpmadd52luq {d}, {by}, {by}",
                    "vpmadd52luq {e}, {by}, {by}",
                    "vpmadd52luq {f}, {by}, {by}",
                    "vpmadd52luq {g}, {by}, {by}",
                    "vpmadd52luq {h}, {by}, {by}",
                    "vpmadd52luq {i}, {by}, {by}",
                    "vpmadd52luq {j}, {by}, {by}",
                    "vpmadd52luq {k}, {by}, {by}",
                    "vpmadd52luq {l}, {by}, {by}",
                    by = in(zmm_reg) factor,
                    a = inout(zmm_reg) a,
                    b = inout(zmm_reg) b,
                    c = inout(zmm_reg) c,
                    d = inout(zmm_reg) d,
                    e = inout(zmm_reg) e,
                    f = inout(zmm_reg) f,
                    g = inout(zmm_reg) g,
                    h = inout(zmm_reg) h,
                    i = inout(zmm_reg) i,
                    j = inout(zmm_reg) j,
                    k = inout(zmm_reg) k,
                    l = inout(zmm_reg) l,
                    options(nomem, nostack, preserves_flags),
                );
            }
        }
    }

    /// `passes` times what a vector of GCM takes of the AES and the carry-less units, and nothing else of it: `rounds` rounds (10, 12 or
    /// 14) and three products, as Karatsuba's method takes.
    macro_rules! gcm {
        ($name:ident, $features:literal, $register:ident, $key:expr) => {
            #[target_feature(enable = $features)]
            pub fn $name(rounds: usize, passes: u64) {
                let key = $key;
                macro_rules! passes {
                                                        ($more:literal) => {
                                                            for _ in 0..passes {
                                                                // SAFETY: changes the two registers that it says.
                                                                unsafe {
                                                                    asm!(
                                                                        ".rept 3",
                                                                        "vaesenc {out}, {key}, {key}",
                                                                        "vaesenc {out}, {key}, {key}",
                                                                        "vpclmulqdq {product}, {key}, {key}, 1",
                                                                        ".endr",
                                                                        ".rept {more}",
                                                                        "vaesenc {out}, {key}, {key}",
                                                                        ".endr",
                                                                        more = const $more,
                                                                        key = in($register) key,
                                                                        out = out($register) _,
                                                                        product = out($register) _,
                                                                        options(nomem, nostack, preserves_flags),
                                                                    );
                                                                }
                                                            }
                                                        };
                                                    }
                match rounds {
                    10 => passes!(4),
                    12 => passes!(6),
                    _ => passes!(8),
                }
            }
        };
    }

    gcm!(gcm256, "vaes,vpclmulqdq,avx2", ymm_reg, _mm256_set1_epi8(0x5a));
    gcm!(gcm512, "vaes,vpclmulqdq,avx512f", zmm_reg, _mm512_set1_epi8(0x5a));
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
