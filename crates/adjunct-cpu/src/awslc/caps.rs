//! AWS-LC's view of the CPU: the words its dispatchers read. AWS-LC does not execute instructions whose bit is cleared here. Further words have bits
//! that AWS-LC does not read (x86-64), and on s390x, where it has no instructions to choose from, all that our own dispatchers read.

/// How many words there are; those that an architecture does not use are zero.
pub const WORDS: usize = 5;

#[cfg(target_arch = "x86_64")]
mod words {
    use super::WORDS;
    use crate::awslc::private::CAPABILITIES;
    use adjunct_base::catalogue::Feature;
    use std::arch::x86_64::__cpuid_count;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The word of CPUID's that AWS-LC does not have: leaf 7, subleaf 1, EAX. All we read of it works on AVX registers, so nothing is
    /// there where AVX2 is not: that bit tells that leaf 7 exists, and that the operating system keeps the registers. A subleaf that
    /// does not exist reads as zero.
    static FIFTH: LazyLock<AtomicU32> = LazyLock::new(|| {
        let (word, bit) = Feature::Avx2.place();
        let wide = library()[word].load(Ordering::Relaxed) & bit == bit;
        AtomicU32::new(if wide { __cpuid_count(7, 1).eax } else { 0 })
    });

    fn library() -> &'static [AtomicU32; WORDS - 1] {
        // SAFETY: CRYPTO_library_init, which is idempotent, fills the words; they are atomic. The library reads them at each dispatch,
        // without caching.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            &CAPABILITIES
        }
    }

    /// The capability words now in force, less what the operating system, OPENSSL_ia32cap (all but the last word) or a mask took away.
    pub fn read() -> [u32; WORDS] {
        let ours = [&*FIFTH];
        let mut words = library().iter().chain(ours).map(|word| word.load(Ordering::Relaxed));
        std::array::from_fn(|_| words.next().unwrap_or(0))
    }

    /// Clears bits of one word.
    pub fn clear(word: usize, bits: u32) {
        let word = if word == WORDS - 1 { &*FIFTH } else { &library()[word] };
        word.fetch_and(!bits, Ordering::Relaxed);
    }
}

#[cfg(target_arch = "aarch64")]
mod words {
    use super::WORDS;
    use crate::awslc::private::CAPABILITIES;
    use std::sync::atomic::Ordering;

    /// The capability word now in force.
    pub fn read() -> [u32; WORDS] {
        // SAFETY: filled by CRYPTO_library_init, which is idempotent.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            [CAPABILITIES.load(Ordering::Relaxed), 0, 0, 0, 0]
        }
    }

    /// Clears bits of the word; there is only word 0.
    pub fn clear(word: usize, bits: u32) {
        debug_assert_eq!(word, 0);
        // SAFETY: CRYPTO_library_init, which is idempotent, fills the word; it is atomic.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            CAPABILITIES.fetch_and(!bits, Ordering::Relaxed);
        }
    }
}

#[cfg(target_arch = "s390x")]
use crate::cpacf::words;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x")))]
mod words {
    /// The library uses no special instructions here.
    pub fn read() -> [u32; super::WORDS] {
        [0; super::WORDS]
    }

    /// Does nothing: the library uses no special instructions here.
    pub fn clear(_word: usize, _bits: u32) {}
}

/// Whether AWS-LC treats this CPU as one of Arm's Neoverse cores.
pub fn neoverse() -> bool {
    // ARMV8_NEOVERSE_N1, _V1, _V2 and _V3 of AWS-LC's arm_arch.h.
    cfg!(target_arch = "aarch64") && read()[0] & (1 << 7 | 1 << 12 | 1 << 14 | 1 << 18) != 0
}

pub use words::{clear, read};
