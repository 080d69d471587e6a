//! The SHA-512 family on the library's own context. Where a kernel's instructions are there the kernel serves, else the library, whose
//! code is built without AVX2 and BMI2 and takes the vector unit on Intel's CPUs alone. Which of them serves does not change while the
//! process lives; and the context is the same for all.

use crate::awslc::sha;
#[cfg(target_arch = "x86_64")]
use crate::awslc::sha::SHA512_CTX;
use std::ffi::c_void;

#[cfg(target_arch = "x86_64")]
use adjunct_kernels::sha512::{BLOCK, Kernel};

/// The kernel whose instructions the CPU has, and that are not masked.
#[cfg(target_arch = "x86_64")]
#[inline]
fn kernel() -> Option<Kernel> {
    use adjunct_base::catalogue::Feature::{Avx2, Avx512, Bmi2, Sha512};
    let features = crate::features();
    if features.has(Sha512) {
        // They are not in force without AVX2.
        return Some(Kernel::Instructions);
    }
    if !(features.has(Avx2) && features.has(Bmi2)) {
        return None;
    }
    Some(if features.has(Avx512) { Kernel::Wide } else { Kernel::Avx2 })
}

/// Takes in data.
///
/// # Safety
/// As for `SHA512_Update`.
#[inline]
pub(super) unsafe fn update(context: *mut c_void, data: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = kernel() {
        if length == 0 {
            return;
        }
        // SAFETY: the context is initialised; the data is `length` bytes; the CPU has the kernel's instructions.
        unsafe {
            let context = &mut *context.cast::<SHA512_CTX>();
            let mut data = std::slice::from_raw_parts(data, length);
            set_bits(context, bits(context).wrapping_add((length as u128) << 3));
            let used = context.num as usize;
            if used > 0 {
                let (now, later) = data.split_at(length.min(BLOCK - used));
                context.p[used..used + now.len()].copy_from_slice(now);
                context.num += now.len() as u32;
                if used + now.len() < BLOCK {
                    return;
                }
                kernel.compress(&mut context.h, std::slice::from_ref(&context.p));
                data = later;
            }
            let (blocks, tail) = data.as_chunks();
            if !blocks.is_empty() {
                kernel.compress(&mut context.h, blocks);
            }
            context.p[..tail.len()].copy_from_slice(tail);
            context.num = tail.len() as u32;
        }
        return;
    }
    // SAFETY: the caller gives what the library asks for: an initialised context of the SHA-512 family, and `length` bytes at `data`.
    unsafe { sha::sha512_update(context, data, length) };
}

/// Writes the result.
///
/// # Safety
/// As for `SHA512_Final`.
#[inline]
pub(super) unsafe fn finish(out: *mut u8, context: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    if let Some(kernel) = kernel() {
        // SAFETY: the context is initialised; `out` has room for the result; the CPU has the kernel's instructions.
        unsafe {
            let context = &mut *context.cast::<SHA512_CTX>();
            let (used, bits) = (context.num as usize, bits(context));
            kernel.finish(&mut context.h, &context.p, used, bits);
            let out = std::slice::from_raw_parts_mut(out, context.md_len as usize);
            let (words, half) = out.as_chunks_mut();
            for (word, h) in words.iter_mut().zip(context.h) {
                *word = h.to_be_bytes();
            }
            // SHA-512/224 ends in the middle of a word.
            if let Some(h) = context.h.get(words.len()) {
                half.copy_from_slice(&h.to_be_bytes()[..half.len()]);
            }
        }
        return;
    }
    // SAFETY: the caller gives what the library asks for: an initialised context, and room for its result at `out`.
    unsafe { sha::sha512_finish(out, context) };
}

/// The length so far, which the library keeps in two words.
#[cfg(target_arch = "x86_64")]
#[inline]
fn bits(context: &SHA512_CTX) -> u128 {
    u128::from(context.Nh) << 64 | u128::from(context.Nl)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn set_bits(context: &mut SHA512_CTX, bits: u128) {
    (context.Nh, context.Nl) = ((bits >> 64) as u64, bits as u64);
}
