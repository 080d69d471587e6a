//! AWS-LC's view of the CPU: the words its dispatchers read. What is cleared here is not executed by it. On s390x, where it has
//! no instructions to choose from, what our own dispatchers read.

#[cfg(target_arch = "x86_64")]
mod words {
    use crate::adapter::cpu::awslc::private::CAPABILITIES;
    use std::sync::atomic::Ordering;

    /// The capability words now in force, less what the operating system, OPENSSL_ia32cap or a mask took away.
    pub fn read() -> [u32; 4] {
        // SAFETY: filled by CRYPTO_library_init, which is idempotent.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            std::array::from_fn(|i| CAPABILITIES[i].load(Ordering::Relaxed))
        }
    }

    /// Clears bits of one word.
    pub fn clear(word: usize, bits: u32) {
        // SAFETY: as above; the library reads the words at each dispatch, without caching.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            CAPABILITIES[word].fetch_and(!bits, Ordering::Relaxed);
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod words {
    use crate::adapter::cpu::awslc::private::CAPABILITIES;
    use std::sync::atomic::Ordering;

    /// The capability word now in force.
    pub fn read() -> [u32; 4] {
        // SAFETY: filled by CRYPTO_library_init, which is idempotent.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            [CAPABILITIES.load(Ordering::Relaxed), 0, 0, 0]
        }
    }

    /// Clears bits of the word; there is only word 0.
    pub fn clear(word: usize, bits: u32) {
        debug_assert_eq!(word, 0);
        // SAFETY: as above.
        unsafe {
            aws_lc_sys::CRYPTO_library_init();
            CAPABILITIES.fetch_and(!bits, Ordering::Relaxed);
        }
    }
}

#[cfg(target_arch = "s390x")]
use crate::adapter::cpu::cpacf::words;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x")))]
mod words {
    /// The library uses no special instructions here.
    pub fn read() -> [u32; 4] {
        [0; 4]
    }

    /// Nothing to clear.
    pub fn clear(_word: usize, _bits: u32) {}
}

/// Whether AWS-LC treats this CPU as one of Arm's Neoverse cores.
pub fn neoverse() -> bool {
    // ARMV8_NEOVERSE_N1, _V1, _V2 and _V3 of AWS-LC's arm_arch.h.
    cfg!(target_arch = "aarch64") && read()[0] & (1 << 7 | 1 << 12 | 1 << 14 | 1 << 18) != 0
}

pub use words::{clear, read};
