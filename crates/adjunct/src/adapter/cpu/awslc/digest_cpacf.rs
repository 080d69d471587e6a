//! Digests by CPACF, on the library's own states: SHA-1's and SHA-2's words lie in memory as the instructions want them.

use super::digest::Method;
use super::private::Keccak;
use crate::adapter::cpu::cpacf::{self, Host};
use adjunct_kernels::cpacf::{Assist, Hash, Instruction, Refused};
use std::ffi::c_void;
use zeroize::Zeroize;

/// A Keccak context from which output has been taken.
const SQUEEZING: u8 = 1;

/// What serves `method`, where CPACF has it. The answer does not change while the process lives.
#[inline]
fn served(method: &Method) -> Option<(&'static Assist<Host>, Hash)> {
    let (assist, hash) = (cpacf::assist(), cpacf::hash(method.function)?);
    let has = |instruction| assist.functions().has(instruction, hash.code());
    (has(Instruction::Kimd) && has(Instruction::Klmd)).then_some((assist, hash))
}

/// Takes in `data`; false where CPACF does not have the method, and nothing was done.
///
/// # Safety
/// `context` is an initialised state of the method.
#[inline]
pub(super) unsafe fn update(method: &Method, context: *mut c_void, data: &[u8]) -> bool {
    let Some((assist, hash)) = served(method) else {
        return false;
    };
    // SAFETY: the state is of the method's type.
    let done = unsafe {
        match hash {
            Hash::Sha1 => {
                let c = &mut *context.cast::<aws_lc_sys::SHA_CTX>();
                lengthen(&mut c.Nh, &mut c.Nl, data.len());
                take(assist, hash, bytes(&mut c.h), &mut c.data, &mut c.num, data)
            }
            Hash::Sha256 => {
                let c = &mut *context.cast::<aws_lc_sys::SHA256_CTX>();
                lengthen(&mut c.Nh, &mut c.Nl, data.len());
                take(assist, hash, bytes(&mut c.h), &mut c.data, &mut c.num, data)
            }
            Hash::Sha512 => {
                let c = &mut *context.cast::<aws_lc_sys::SHA512_CTX>();
                let bits = (u128::from(c.Nh) << 64 | u128::from(c.Nl)).wrapping_add((data.len() as u128) << 3);
                (c.Nh, c.Nl) = ((bits >> 64) as u64, bits as u64);
                take(assist, hash, bytes(&mut c.h), &mut c.p, &mut c.num, data)
            }
            _ => {
                let c = &mut *context.cast::<Keccak>();
                let (mut used, block) = (c.buf_load as u32, hash.block());
                let mut state = Lanes::of(&c.state);
                let done = take(assist, hash, &mut state.0, &mut c.buf[..block], &mut used, data);
                state.put(&mut c.state);
                c.buf_load = used as usize;
                done
            }
        }
    };
    expect(done)
}

/// Writes the result: of a digest its whole length, of an extendable-output function as many bytes as `out` has; false where
/// CPACF does not have the method, and nothing was done.
///
/// # Safety
/// `context` is an initialised state of the method; `out` has room for its digest.
#[inline]
pub(super) unsafe fn finish(method: &Method, context: *mut c_void, out: &mut [u8]) -> bool {
    let Some((assist, hash)) = served(method) else {
        return false;
    };
    // SAFETY: the state is of the method's type.
    unsafe {
        let (state, done): (&[u8], _) = match hash {
            Hash::Sha1 => {
                let c = &mut *context.cast::<aws_lc_sys::SHA_CTX>();
                let bits = u128::from(c.Nh) << 32 | u128::from(c.Nl);
                let state = bytes(&mut c.h);
                let done = assist.finish(hash, state, &c.data[..c.num as usize], bits);
                (state, done)
            }
            Hash::Sha256 => {
                let c = &mut *context.cast::<aws_lc_sys::SHA256_CTX>();
                let bits = u128::from(c.Nh) << 32 | u128::from(c.Nl);
                let state = bytes(&mut c.h);
                let done = assist.finish(hash, state, &c.data[..c.num as usize], bits);
                (state, done)
            }
            Hash::Sha512 => {
                let c = &mut *context.cast::<aws_lc_sys::SHA512_CTX>();
                let bits = u128::from(c.Nh) << 64 | u128::from(c.Nl);
                let state = bytes(&mut c.h);
                let done = assist.finish(hash, state, &c.p[..c.num as usize], bits);
                (state, done)
            }
            _ => {
                let c = &mut *context.cast::<Keccak>();
                let mut state = Lanes::of(&c.state);
                let done = if method.xof {
                    squeeze(assist, hash, c, &mut state.0, out)
                } else {
                    let done = assist.finish(hash, &mut state.0, &c.buf[..c.buf_load], 0);
                    out[..method.size].copy_from_slice(&state.0[..method.size]);
                    done
                };
                state.put(&mut c.state);
                return expect(done);
            }
        };
        out[..method.size].copy_from_slice(&state[..method.size]);
        expect(done)
    }
}

/// Output of an extendable-output function; the context's buffer is not used any more, and its count is of the bytes of the
/// state's block that have been given out.
fn squeeze(
    assist: &Assist<Host>,
    hash: Hash,
    context: &mut Keccak,
    state: &mut [u8; 200],
    mut out: &mut [u8],
) -> Result<(), Refused> {
    if out.is_empty() {
        return Ok(());
    }
    if context.phase != SQUEEZING {
        context.phase = SQUEEZING;
        let rest = std::mem::replace(&mut context.buf_load, out.len() % hash.block());
        return assist.squeeze_first(hash, state, &context.buf[..rest], out);
    }
    let given = context.buf_load;
    if given > 0 {
        let now = out.len().min(hash.block() - given);
        let (head, rest) = out.split_at_mut(now);
        head.copy_from_slice(&state[given..][..now]);
        context.buf_load = (given + now) % hash.block();
        out = rest;
    }
    if out.is_empty() {
        return Ok(());
    }
    context.buf_load = out.len() % hash.block();
    assist.squeeze_more(hash, state, out)
}

/// A begun block, whole ones, the beginning of one more.
fn take(
    assist: &Assist<Host>,
    hash: Hash,
    state: &mut [u8],
    buffer: &mut [u8],
    used: &mut u32,
    mut data: &[u8],
) -> Result<(), Refused> {
    let begun = *used as usize;
    if begun > 0 {
        let (now, later) = data.split_at(data.len().min(hash.block() - begun));
        buffer[begun..][..now.len()].copy_from_slice(now);
        *used += now.len() as u32;
        if begun + now.len() < hash.block() {
            return Ok(());
        }
        assist.absorb(hash, state, buffer)?;
        data = later;
    }
    let (whole, rest) = data.split_at(data.len() - data.len() % hash.block());
    if !whole.is_empty() {
        assist.absorb(hash, state, whole)?;
    }
    buffer[..rest.len()].copy_from_slice(rest);
    *used = rest.len() as u32;
    Ok(())
}

/// The instructions are there, and take whatever they are given here.
fn expect(done: Result<(), Refused>) -> bool {
    assert!(done.is_ok(), "a digest by CPACF");
    true
}

/// Adds to a length in bits of two words.
fn lengthen(high: &mut u32, low: &mut u32, bytes: usize) {
    let bits = (u64::from(*high) << 32 | u64::from(*low)).wrapping_add((bytes as u64) << 3);
    (*high, *low) = ((bits >> 32) as u32, bits as u32);
}

/// Words as the bytes they are in memory, which are big-endian here.
fn bytes<T: Copy, const N: usize>(words: &mut [T; N]) -> &mut [u8] {
    // SAFETY: integers have no other bytes than their own.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of::<[T; N]>()) }
}

/// Keccak's lanes in the order of FIPS 202's bytes, which is the little-endian one; wiped when dropped.
struct Lanes([u8; 200]);

impl Lanes {
    fn of(lanes: &[u64; 25]) -> Lanes {
        let mut out = Lanes([0; 200]);
        out.0.as_chunks_mut().0.iter_mut().zip(lanes).for_each(|(bytes, lane)| *bytes = lane.to_le_bytes());
        out
    }

    fn put(&self, lanes: &mut [u64; 25]) {
        lanes.iter_mut().zip(self.0.as_chunks().0).for_each(|(lane, bytes)| *lane = u64::from_le_bytes(*bytes));
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
