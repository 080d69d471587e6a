//! SHA-3 and SHAKE (FIPS 202) on the library's own context. Where there is AVX-512 our permutation serves, else the library's, which is
//! plain C on x86-64; which of the two does not change while the process lives, so that a context never meets both.

use crate::awslc::sha;
#[cfg(target_arch = "x86_64")]
use crate::awslc::sha::Keccak;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::keccak::{absorb, permute};
use std::ffi::c_void;

/// A context from which output has been taken: the bytes of the block given out so far stand in `buf_load`.
#[cfg(target_arch = "x86_64")]
const SQUEEZING: u8 = 1;

/// Whether the CPU has the kernel's instructions, and they are not masked.
#[cfg(target_arch = "x86_64")]
#[inline]
fn wide() -> bool {
    crate::features().has(adjunct_base::catalogue::Feature::Avx512)
}

/// Takes in data.
///
/// # Safety
/// As for `SHA3_Update`; no output has been taken.
#[inline]
pub(super) unsafe fn update(context: *mut c_void, data: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        if length > 0 {
            // SAFETY: the context is initialised; the data is `length` bytes; the CPU has the kernel's instructions.
            unsafe { take(&mut *context.cast(), std::slice::from_raw_parts(data, length)) };
        }
        return;
    }
    // SAFETY: the caller gives what the function of AWS-LC asks for: an initialised context and `length` bytes at `data`.
    unsafe { sha::sha3_update(context, data, length) };
}

/// Takes in data for an extendable-output function.
///
/// # Safety
/// As for `SHAKE_Absorb`; no output has been taken.
#[inline]
pub(super) unsafe fn update_xof(context: *mut c_void, data: *const u8, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the caller gives an initialised context from which no output has been taken, and `length` bytes at `data`; `update` takes
        // the same.
        return unsafe { update(context, data, length) };
    }
    // SAFETY: the caller gives what the function of AWS-LC asks for: an initialised context and `length` bytes at `data`.
    unsafe { sha::shake_absorb(context, data, length) };
}

/// Writes a digest.
///
/// # Safety
/// As for `SHA3_Final`.
#[inline]
pub(super) unsafe fn finish(out: *mut u8, context: *mut c_void) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: the context is initialised; `out` has room for the digest; the CPU has the kernel's instructions.
        unsafe {
            let context = &mut *context.cast::<Keccak>();
            pad(context);
            give(&context.state, 0, std::slice::from_raw_parts_mut(out, context.md_size));
        }
        return;
    }
    // SAFETY: the caller gives what the function of AWS-LC asks for: an initialised context and room for its digest at `out`.
    unsafe { sha::sha3_finish(out, context) };
}

/// Writes the next bytes of an extendable-output function.
///
/// # Safety
/// As for `SHAKE_Squeeze`.
#[inline]
pub(super) unsafe fn squeeze(out: *mut u8, context: *mut c_void, length: usize) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        if length > 0 {
            // SAFETY: the context is initialised; `out` has `length` bytes; the CPU has the kernel's instructions.
            unsafe { stream(&mut *context.cast(), std::slice::from_raw_parts_mut(out, length)) };
        }
        return;
    }
    // SAFETY: the caller gives what the function of AWS-LC asks for: an initialised context and room for `length` bytes at `out`.
    unsafe { sha::shake_squeeze(out, context, length) };
}

/// A begun block, whole ones, the beginning of one more.
///
/// # Safety
/// The CPU has AVX-512.
#[cfg(target_arch = "x86_64")]
unsafe fn take(context: &mut Keccak, mut data: &[u8]) {
    let (block, begun) = (context.block_size, context.buf_load);
    if begun > 0 {
        let (now, later) = data.split_at(data.len().min(block - begun));
        context.buf[begun..][..now.len()].copy_from_slice(now);
        context.buf_load += now.len();
        if context.buf_load < block {
            return;
        }
        // SAFETY: the CPU has AVX-512, as this function's callers have found by `wide`.
        unsafe { absorb(&mut context.state, &context.buf[..block], block) };
        data = later;
    }
    let (whole, rest) = data.split_at(data.len() - data.len() % block);
    if !whole.is_empty() {
        // SAFETY: the CPU has AVX-512, as this function's callers have found by `wide`.
        unsafe { absorb(&mut context.state, whole, block) };
    }
    context.buf[..rest.len()].copy_from_slice(rest);
    context.buf_load = rest.len();
}

/// The padding, and the last block taken in.
///
/// # Safety
/// The CPU has AVX-512.
#[cfg(target_arch = "x86_64")]
unsafe fn pad(context: &mut Keccak) {
    let (block, begun) = (context.block_size, context.buf_load);
    let last = &mut context.buf[..block];
    last[begun..].fill(0);
    last[begun] = context.pad;
    last[block - 1] |= 0x80;
    // SAFETY: the CPU has AVX-512, as this function's callers have found by `wide`.
    unsafe { absorb(&mut context.state, last, block) };
    context.buf_load = 0;
}

/// Output, of as many blocks as it takes.
///
/// # Safety
/// The CPU has AVX-512.
#[cfg(target_arch = "x86_64")]
unsafe fn stream(context: &mut Keccak, mut out: &mut [u8]) {
    if context.phase != SQUEEZING {
        // SAFETY: the CPU has AVX-512, as this function's callers have found by `wide`.
        unsafe { pad(context) };
        context.phase = SQUEEZING;
    }
    loop {
        let given = context.buf_load;
        let (now, later) = out.split_at_mut(out.len().min(context.block_size - given));
        give(&context.state, given, now);
        context.buf_load = given + now.len();
        if later.is_empty() {
            return;
        }
        // SAFETY: the CPU has AVX-512, as this function's callers have found by `wide`.
        unsafe { permute(&mut context.state) };
        context.buf_load = 0;
        out = later;
    }
}

/// Bytes of the state, which are those of its words in little-endian order.
#[cfg(target_arch = "x86_64")]
fn give(state: &[u64; 25], from: usize, out: &mut [u8]) {
    // SAFETY: integers have no other bytes than their own, in this order on this architecture.
    let bytes = unsafe { &*std::ptr::from_ref(state).cast::<[u8; 200]>() };
    out.copy_from_slice(&bytes[from..][..out.len()]);
}
