//! ECB, CTR, CBC decryption and CFB decryption over vectors of blocks (SP 800-38A), written over the width.
//!
//! Eight vectors go through the rounds side by side: enough for two AES units of four cycles' latency. A round is one
//! instruction a vector, so a vector costs 10, 12 or 14 of the unit's cycles; what else a mode does for it (CTR: an
//! addition, a byte shuffle, two xors; CBC and CFB: a shift, two xors) runs beside that on other ports.

use super::Keys;
use super::ni::{from_bytes, load, to_bytes};
use super::width::Width;
use crate::InOut;
use std::arch::x86_64::*;

/// Vectors worked on at once: with 11 round keys these and what a mode adds fit the 32 registers of AVX-512.
pub const WIDE: usize = 8;

/// Does something for each index below `$count`, at most 8 (or, said so, 15), written out: where the compiler is left to unroll a loop
/// it does so late, and keeps what the loop indexes in memory.
macro_rules! each {
    ($count:expr, |$i:ident| $body:expr) => {
        each!($count, $i, $body, 0 1 2 3 4 5 6 7)
    };
    (15: $count:expr, |$i:ident| $body:expr) => {
        each!($count, $i, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    };
    ($count:expr, $i:ident, $body:expr, $($n:literal)*) => {$(
        if $n < $count {
            let $i = $n;
            $body;
        }
    )*};
}
pub(super) use each;

/// Round keys, each in all lanes.
#[inline(always)]
pub fn schedule<W: Width, const N: usize>(keys: Keys<'_>) -> [W; N] {
    let keys: &[[u8; 16]; N] = keys.try_into().expect("N round keys");
    let mut loaded = [W::zero(); N];
    // SAFETY: the callers' instructions include AES-NI.
    each!(15: N, |i| loaded[i] = W::broadcast(unsafe { from_bytes(&keys[i]) }));
    loaded
}

/// All rounds between the first key and the last.
#[inline(always)]
pub fn middle<W: Width, const N: usize, const L: usize, const ENCRYPT: bool>(k: &[W; N], b: &mut [W; L]) {
    each!(15: N - 2, |r| each!(L, |i| b[i] = if ENCRYPT { b[i].enc(k[r + 1]) } else { b[i].dec(k[r + 1]) }));
}

/// Encrypts or decrypts vectors and adds `with` to each: the last round adds its key last, so that comes with it.
#[inline(always)]
pub fn rounds<W: Width, const N: usize, const L: usize, const ENCRYPT: bool>(k: &[W; N], b: &mut [W; L], with: [W; L]) {
    each!(L, |i| b[i] = b[i].xor(k[0]));
    middle::<W, N, L, ENCRYPT>(k, b);
    each!(L, |i| {
        let last = k[N - 1].xor(with[i]);
        b[i] = if ENCRYPT { b[i].enc_last(last) } else { b[i].dec_last(last) };
    });
}

/// A mode with the state that it keeps from one vector to the next.
pub trait Mode<W: Width, const N: usize> {
    /// Works on the vectors of eight that begin at `FROM`: all of them, if they are eight.
    fn pass<const FROM: usize, const L: usize>(&mut self, k: &[W; N], input: [W; L]) -> [W; L];
}

/// Runs a mode over whole blocks: eight vectors at a time, then four, then the rest in as many as hold it.
#[inline(always)]
pub fn drive<W: Width, const N: usize, M: Mode<W, N>>(mode: &mut M, k: &[W; N], io: &InOut<'_>) {
    let (mut input, mut output, mut rest) = (io.input(), io.output(), io.len());
    // SAFETY: what lies within `rest` bytes can be read and written.
    unsafe {
        while rest >= WIDE * W::BYTES {
            part::<W, N, M, 0, WIDE>(mode, k, input, output, WIDE * W::BYTES);
            input = input.add(WIDE * W::BYTES);
            output = output.add(WIDE * W::BYTES);
            rest -= WIDE * W::BYTES;
        }
        if rest > 4 * W::BYTES {
            part::<W, N, M, 0, 4>(mode, k, input, output, 4 * W::BYTES);
            few::<W, N, M, 4>(mode, k, input.add(4 * W::BYTES), output.add(4 * W::BYTES), rest - 4 * W::BYTES);
        } else {
            few::<W, N, M, 0>(mode, k, input, output, rest);
        }
    }
}

/// Runs at most four vectors of a mode.
///
/// # Safety
/// `rest` bytes can be read at `input` and written at `output`.
#[inline(always)]
unsafe fn few<W: Width, const N: usize, M: Mode<W, N>, const FROM: usize>(
    mode: &mut M,
    k: &[W; N],
    input: *const u8,
    output: *mut u8,
    rest: usize,
) {
    // SAFETY: the caller gives `rest` bytes to read and to write, and they end in the last of the vectors that `part` is told.
    unsafe {
        match rest.div_ceil(W::BYTES) {
            0 => {}
            1 => part::<W, N, M, FROM, 1>(mode, k, input, output, rest),
            2 => part::<W, N, M, FROM, 2>(mode, k, input, output, rest),
            3 => part::<W, N, M, FROM, 3>(mode, k, input, output, rest),
            _ => part::<W, N, M, FROM, 4>(mode, k, input, output, rest),
        }
    }
}

/// `L` vectors, the last of them perhaps not full.
///
/// # Safety
/// `len` bytes can be read at `input` and written at `output`; they end in the last vector.
#[inline(always)]
unsafe fn part<W: Width, const N: usize, M: Mode<W, N>, const FROM: usize, const L: usize>(
    mode: &mut M,
    k: &[W; N],
    input: *const u8,
    output: *mut u8,
    len: usize,
) {
    let last = len - (L - 1) * W::BYTES;
    let mut v = [W::zero(); L];
    // SAFETY: the caller gives `len` bytes to read and to write, which end in the last vector; of fewer vectors than eight the last one is
    // read and written only as far as `len`.
    unsafe {
        each!(L, |i| {
            let from = input.add(i * W::BYTES);
            v[i] = if i == L - 1 && L != WIDE { W::load_part(from, last) } else { W::load(from) };
        });
        let v = mode.pass::<FROM, L>(k, v);
        each!(L, |i| {
            let to = output.add(i * W::BYTES);
            if i == L - 1 && L != WIDE { v[i].store_part(to, last) } else { v[i].store(to) }
        });
    }
}

struct Ecb<const ENCRYPT: bool>;

impl<W: Width, const N: usize, const ENCRYPT: bool> Mode<W, N> for Ecb<ENCRYPT> {
    #[inline(always)]
    fn pass<const FROM: usize, const L: usize>(&mut self, k: &[W; N], mut v: [W; L]) -> [W; L] {
        each!(L, |i| v[i] = v[i].xor(k[0]));
        middle::<W, N, L, ENCRYPT>(k, &mut v);
        each!(L, |i| v[i] = if ENCRYPT { v[i].enc_last(k[N - 1]) } else { v[i].dec_last(k[N - 1]) });
        v
    }
}

#[inline(always)]
pub fn ecb<W: Width, const N: usize, const ENCRYPT: bool>(keys: Keys<'_>, io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<W, N>(keys);
    drive(&mut Ecb::<ENCRYPT>, &k, &io);
}

/// CBC and CFB decryption: the cipher's result for one ciphertext block is combined with the block beside it.
struct Chained<W, const CFB: bool> {
    /// The vector before, of which the last block counts.
    before: W,
}

impl<W: Width, const N: usize, const CFB: bool> Mode<W, N> for Chained<W, CFB> {
    #[inline(always)]
    fn pass<const FROM: usize, const L: usize>(&mut self, k: &[W; N], cipher: [W; L]) -> [W; L] {
        let mut delayed = cipher;
        each!(L, |i| {
            delayed[i] = cipher[i].delayed(self.before);
            self.before = cipher[i];
        });
        if CFB {
            rounds::<W, N, L, true>(k, &mut delayed, cipher);
            delayed
        } else {
            let mut v = cipher;
            rounds::<W, N, L, false>(k, &mut v, delayed);
            v
        }
    }
}

#[inline(always)]
pub fn chained<W: Width, const N: usize, const CFB: bool>(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    if io.is_empty() {
        return;
    }
    let k = schedule::<W, N>(keys);
    // SAFETY: the input's last block, read before the output, which may be the same memory, is written; the callers'
    // instructions include AES-NI.
    let (first, last) = unsafe { (from_bytes(iv), to_bytes(load(io.input().add(io.len() - 16)))) };
    drive(&mut Chained::<W, CFB> { before: W::broadcast(first) }, &k, &io);
    *iv = last;
}

struct Ctr<W> {
    /// The counters of the next vector, the first byte last.
    next: W,
    /// How far a vector is from the next.
    step: W,
}

impl<W: Width, const N: usize> Mode<W, N> for Ctr<W> {
    #[inline(always)]
    fn pass<const FROM: usize, const L: usize>(&mut self, k: &[W; N], input: [W; L]) -> [W; L] {
        let mut v = input;
        each!(L, |i| {
            v[i] = self.next.reversed();
            self.next = self.next.add64(self.step);
        });
        rounds::<W, N, L, true>(k, &mut v, input);
        v
    }
}

#[inline(always)]
pub fn ctr<W: Width, const N: usize>(keys: Keys<'_>, counter: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<W, N>(keys);
    let mut count = u128::from_be_bytes(*counter);
    let mut rest = io;
    loop {
        // Vectors count in 64 bits: stop where those overflow, which is once in 2^64 blocks.
        let blocks = (rest.len() / 16) as u64;
        let room = u64::MAX - count as u64;
        let here = if blocks > room { room + 1 } else { blocks };
        let (part, behind) = rest.split_at(here as usize * 16);
        // SAFETY: the callers' instructions include SSE2.
        let (block, step) = unsafe {
            let blocks = W::BYTES as i64 / 16;
            (_mm_set_epi64x((count >> 64) as i64, count as i64), _mm_set_epi64x(0, blocks))
        };
        let mut mode =
            Ctr { next: W::broadcast(block).add64(W::of([0, 0, 1, 0, 2, 0, 3, 0])), step: W::broadcast(step) };
        drive(&mut mode, &k, &part);
        count = count.wrapping_add(here.into());
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    *counter = count.to_be_bytes();
}

/// The counters of the caller.
struct List {
    next: *const u8,
    /// Bytes left.
    left: usize,
}

impl<W: Width, const N: usize> Mode<W, N> for List {
    #[inline(always)]
    fn pass<const FROM: usize, const L: usize>(&mut self, k: &[W; N], input: [W; L]) -> [W; L] {
        let mut v = input;
        each!(L, |i| {
            let here = self.left.min(W::BYTES);
            // SAFETY: `left` bytes can be read, and are at least one for each vector of the message.
            v[i] = unsafe { if here == W::BYTES { W::load(self.next) } else { W::load_part(self.next, here) } };
            self.next = self.next.wrapping_add(here);
            self.left -= here;
        });
        rounds::<W, N, L, true>(k, &mut v, input);
        v
    }
}

#[inline(always)]
pub fn ctr_list<W: Width, const N: usize>(keys: Keys<'_>, list: &[u8], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16) && list.len() >= io.len());
    let k = schedule::<W, N>(keys);
    drive(&mut List { next: list.as_ptr(), left: io.len() }, &k, &io);
}
