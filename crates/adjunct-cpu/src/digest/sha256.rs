//! SHA-224 and SHA-256 on the library's own context. Where the CPU has instructions for them the library serves, and so it does where the
//! kernel's are not there; but on CPUs with AVX2 and BMI2 and no SHA-NI, for which its code is that for AVX, the kernel does. Which of them
//! serves does not change while the process lives; and the context is the same for both.

use crate::awslc::sha;
#[cfg(target_arch = "x86_64")]
use crate::awslc::sha::SHA256_CTX;
use std::ffi::c_void;

#[cfg(target_arch = "x86_64")]
use adjunct_kernels::sha256::{BLOCK, compress};

/// Whether the kernel serves.
#[cfg(target_arch = "x86_64")]
#[inline]
fn by_kernel() -> bool {
    use adjunct_base::catalogue::Feature::{Avx2, Bmi2, Sha};
    let features = crate::features();
    !features.has(Sha) && features.has(Avx2) && features.has(Bmi2)
}

/// Takes in data.
///
/// # Safety
/// As for `SHA256_Update`.
#[inline]
pub(super) unsafe fn update(context: *mut c_void, data: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if by_kernel() {
        if length == 0 {
            return;
        }
        // SAFETY: the context is initialised; the data is `length` bytes; the CPU has the kernel's instructions.
        unsafe {
            let context = &mut *context.cast::<SHA256_CTX>();
            let mut data = std::slice::from_raw_parts(data, length);
            let bits = bits(context).wrapping_add((length as u64) << 3);
            (context.Nh, context.Nl) = ((bits >> 32) as u32, bits as u32);
            let used = context.num as usize;
            if used > 0 {
                let (now, later) = data.split_at(length.min(BLOCK - used));
                context.data[used..used + now.len()].copy_from_slice(now);
                context.num += now.len() as u32;
                if used + now.len() < BLOCK {
                    return;
                }
                compress(&mut context.h, std::slice::from_ref(&context.data));
                data = later;
            }
            let (blocks, tail) = data.as_chunks();
            if !blocks.is_empty() {
                compress(&mut context.h, blocks);
            }
            context.data[..tail.len()].copy_from_slice(tail);
            context.num = tail.len() as u32;
        }
        return;
    }
    // SAFETY: the caller gives what the library asks for: an initialised context of SHA-224 or SHA-256, and `length` bytes at `data`.
    unsafe { sha::sha256_update(context, data, length) };
}

/// Writes the result.
///
/// # Safety
/// As for `SHA256_Final`.
#[inline]
pub(super) unsafe fn finish(out: *mut u8, context: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    if by_kernel() {
        // SAFETY: the context is initialised; `out` has room for the result; the CPU has the kernel's instructions.
        unsafe {
            let context = &mut *context.cast::<SHA256_CTX>();
            let (used, bits) = (context.num as usize, bits(context));
            adjunct_kernels::sha256::finish(&mut context.h, &context.data, used, bits);
            let out = std::slice::from_raw_parts_mut(out, context.md_len as usize);
            for (word, h) in out.as_chunks_mut().0.iter_mut().zip(context.h) {
                *word = h.to_be_bytes();
            }
        }
        return;
    }
    // SAFETY: the caller gives what the library asks for: an initialised context, and room for its result at `out`.
    unsafe { sha::sha256_finish(out, context) };
}

/// Takes one block into a chaining value.
#[inline]
pub(crate) fn block(h: &mut [u32; 8], block: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    if by_kernel() {
        // SAFETY: the CPU has the kernel's instructions.
        return unsafe { compress(h, std::slice::from_ref(block)) };
    }
    sha::sha256_block(h, block);
}

/// The length so far, which the library keeps in two words.
#[cfg(target_arch = "x86_64")]
#[inline]
fn bits(context: &SHA256_CTX) -> u64 {
    u64::from(context.Nh) << 32 | u64::from(context.Nl)
}
