//! `ica_sha*` and `ica_shake_*`.

use super::{bytes, bytes_mut, code};
use crate::error::Errno;
use crate::hash::{IcaHash, Part, absorb, hash, whole};
use adjunct::ops::digest::{self, Method};
use std::ffi::c_uint;

/// The contexts of the header: a length of one word or two, and the chaining value behind it.
#[repr(C)]
#[derive(Debug)]
pub struct Short<const N: usize> {
    length: u64,
    chain: [u8; N],
}

/// Contexts of the header whose length has two words.
#[repr(C)]
#[derive(Debug)]
pub struct Long<const N: usize> {
    high: u64,
    low: u64,
    chain: [u8; N],
}

/// SHAKE's, which keeps the length of the result.
#[repr(C)]
#[derive(Debug)]
pub struct Shake {
    high: u64,
    low: u64,
    output_length: c_uint,
    chain: [u8; 200],
}

/// A context in the caller's memory, which may be unaligned.
trait InMemory: Sized {
    /// Writes the result of a message in one part to the context: its length, and the hash as the chaining value.
    ///
    /// # Safety
    /// `context` leads to the caller's context, which no other code uses during the call.
    unsafe fn leave(context: *mut Self, length: u64, result: &[u8]);
    fn parts(&mut self) -> (u128, &mut [u8]);
    fn set_length(&mut self, length: u128);
    /// How long the result is where the caller has room for `room` bytes.
    fn result(&mut self, _part: Part, room: usize) -> usize {
        room
    }
}

/// Writes the first bytes of a chaining value.
///
/// # Safety
/// `to` leads to `N` bytes that no other code uses during the call.
#[inline(always)]
unsafe fn chain<const N: usize>(to: *mut [u8; N], result: &[u8]) {
    // SAFETY: the caller's context.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(result.as_ptr(), result.len().min(N)) };
}

impl<const N: usize> InMemory for Short<N> {
    #[inline(always)]
    unsafe fn leave(context: *mut Self, length: u64, result: &[u8]) {
        // SAFETY: the caller's context.
        unsafe {
            (&raw mut (*context).length).write_unaligned(length);
            chain(&raw mut (*context).chain, result);
        }
    }
    fn parts(&mut self) -> (u128, &mut [u8]) {
        (self.length.into(), &mut self.chain)
    }
    fn set_length(&mut self, length: u128) {
        self.length = length as u64;
    }
}

impl<const N: usize> InMemory for Long<N> {
    #[inline(always)]
    unsafe fn leave(context: *mut Self, length: u64, result: &[u8]) {
        // SAFETY: the caller's context.
        unsafe {
            (&raw mut (*context).high).write_unaligned(0);
            (&raw mut (*context).low).write_unaligned(length);
            chain(&raw mut (*context).chain, result);
        }
    }
    fn parts(&mut self) -> (u128, &mut [u8]) {
        (u128::from(self.high) << 64 | u128::from(self.low), &mut self.chain)
    }
    fn set_length(&mut self, length: u128) {
        (self.high, self.low) = ((length >> 64) as u64, length as u64);
    }
}

impl InMemory for Shake {
    #[inline(always)]
    unsafe fn leave(context: *mut Self, length: u64, result: &[u8]) {
        // SAFETY: the caller's context.
        unsafe {
            (&raw mut (*context).high).write_unaligned(0);
            (&raw mut (*context).low).write_unaligned(length);
            (&raw mut (*context).output_length).write_unaligned(result.len() as c_uint);
            chain(&raw mut (*context).chain, result);
        }
    }
    fn parts(&mut self) -> (u128, &mut [u8]) {
        (u128::from(self.high) << 64 | u128::from(self.low), &mut self.chain)
    }
    fn set_length(&mut self, length: u128) {
        (self.high, self.low) = ((length >> 64) as u64, length as u64);
    }
    /// Bytes of the result: as the first part's call asked, as in libica, but no more than this call's caller has room for.
    fn result(&mut self, part: Part, room: usize) -> usize {
        if matches!(part, Part::Only | Part::First) {
            self.output_length = room as c_uint;
        }
        room.min(self.output_length as usize)
    }
}

// Always: with the method's sizes the compiler makes moves of copies.
#[inline(always)]
unsafe fn run<C: InMemory>(
    method: &'static Method,
    part: c_uint,
    input: (*const u8, u64),
    context: *mut C,
    output: (*mut u8, usize),
) -> Result<(), Errno> {
    if input.0.is_null() || context.is_null() || output.0.is_null() {
        return Err(Errno::INVALID);
    }
    let part = Part::new(part)?;
    let mut place = [0; 64];
    // SAFETY: the caller's buffers and context. The data may lie where the result goes: it is read first. The context of a message in
    // one part is not read: what the call before has written there could not be read at once.
    unsafe {
        if part == Part::Only
            && let Some(out) = place.get_mut(..output.1)
        {
            whole(method, bytes(input.0, input.1)?, out)?;
            output.0.copy_from_nonoverlapping(out.as_ptr(), out.len());
            C::leave(context, input.1, out);
            return Ok(());
        }
        let mut own = context.read_unaligned();
        let size = own.result(part, output.1);
        let (length, chain) = own.parts();
        let mut state = IcaHash { length, chain };
        if let Some(out) = place.get_mut(..size) {
            hash(method, part, bytes(input.0, input.1)?, &mut state, out)?;
            output.0.copy_from_nonoverlapping(out.as_ptr(), out.len());
        } else {
            // Of SHAKE. Nothing refers to the data any more when the result is written.
            absorb(method, part, bytes(input.0, input.1)?, &mut state)?.end(&mut state, bytes_mut(output.0, size)?)?;
        }
        let length = state.length;
        own.set_length(length);
        context.write_unaligned(own);
    }
    Ok(())
}

macro_rules! hashes {
    ($($name:ident $method:ident $length:ty, $context:ty;)*) => {$(
        /// # Safety
        /// The caller's buffers and context, of the lengths given and of the hash's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            part: c_uint,
            length: $length,
            data: *const u8,
            context: *mut $context,
            out: *mut u8,
        ) -> c_uint {
            // SAFETY: the caller's buffers and context have the lengths given and those of the hash.
            code(|| unsafe {
                run(&digest::$method, part, (data, length.into()), context, (out, digest::$method.size))
            })
        }
    )*};
}

hashes! {
    ica_sha1 SHA1 c_uint, Short<20>;
    ica_sha224 SHA224 c_uint, Short<32>;
    ica_sha256 SHA256 c_uint, Short<32>;
    ica_sha384 SHA384 u64, Long<64>;
    ica_sha512 SHA512 u64, Long<64>;
    ica_sha512_224 SHA512_224 u64, Long<64>;
    ica_sha512_256 SHA512_256 u64, Long<64>;
    ica_sha3_224 SHA3_224 c_uint, Short<200>;
    ica_sha3_256 SHA3_256 c_uint, Short<200>;
    ica_sha3_384 SHA3_384 u64, Long<200>;
    ica_sha3_512 SHA3_512 u64, Long<200>;
}

macro_rules! shakes {
    ($($name:ident $method:ident;)*) => {$(
        /// # Safety
        /// The caller's buffers and context, of the lengths given.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            part: c_uint,
            length: u64,
            data: *const u8,
            context: *mut Shake,
            out: *mut u8,
            out_length: c_uint,
        ) -> c_uint {
            // SAFETY: the caller's buffers and context have the lengths given.
            code(|| unsafe {
                if out_length == 0 {
                    return Err(Errno::INVALID);
                }
                run(&digest::$method, part, (data, length), context, (out, out_length as usize))
            })
        }
    )*};
}

shakes! {
    ica_shake_128 SHAKE128;
    ica_shake_256 SHAKE256;
}
