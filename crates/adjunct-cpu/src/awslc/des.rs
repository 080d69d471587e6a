//! DES with one key or with three: the library's schedules, and the modes that it has.

use super::private::{self, DesKeySchedule};
use adjunct_kernels::InOut;

/// A key schedule. All zeros is one too, though no key's.
pub(crate) type Schedule = DesKeySchedule;

/// The schedule of a key of any parity.
pub(crate) fn set(schedule: &mut Schedule, key: &[u8; 8]) {
    // SAFETY: a key is eight bytes; the schedule has DES_key_schedule's layout.
    unsafe { private::DES_set_key_unchecked(key.as_ptr(), schedule.as_mut_ptr().cast()) };
}

fn raw(schedules: &[Schedule; 3]) -> [*const std::ffi::c_void; 3] {
    schedules.each_ref().map(|schedule| schedule.as_ptr().cast())
}

/// ECB over whole blocks, by the first schedule or by all three.
pub(crate) fn ecb(schedules: &[Schedule; 3], triple: bool, encrypt: bool, io: InOut<'_>) {
    let ([a, b, c], enc) = (raw(schedules), encrypt.into());
    for at in (0..io.len() / 8 * 8).step_by(8) {
        // SAFETY: a block lies at `at` in both buffers.
        unsafe {
            let (input, output) = (io.input().add(at), io.output().add(at));
            if triple {
                private::DES_ecb3_encrypt(input, output, a, b, c, enc);
            } else {
                private::DES_ecb_encrypt(input, output, a, enc);
            }
        }
    }
}

/// CBC over whole blocks, by the first schedule or by all three; `iv` becomes the last ciphertext block.
///
/// # Panics
/// If the length is not a multiple of the block.
pub(crate) fn cbc(schedules: &[Schedule; 3], triple: bool, encrypt: bool, iv: &mut [u8; 8], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(8));
    let ([a, b, c], iv, enc) = (raw(schedules), iv.as_mut_ptr(), encrypt.into());
    // SAFETY: whole blocks; the IV is one.
    unsafe {
        if triple {
            private::DES_ede3_cbc_encrypt(io.input(), io.output(), io.len(), a, b, c, iv, enc);
        } else {
            private::DES_ncbc_encrypt(io.input(), io.output(), io.len(), a, iv, enc);
        }
    }
}
