//! DES of eight blocks in a vector, a 64-bit word each: S-boxes are looked up in registers by VPERMB.
//!
//! Both halves are in a form of 64 bits that has the 48 bits of the expansion E, each in a place of its own ([`cell`]): E and P change
//! nothing, XORs of halves and keys stay XORs. A round takes
//!
//! * two VPMULTISHIFTQB, which bring the six bits for each S-box into a byte of the word: the byte is a window of eight bits that begins
//!   at any place of the word, and goes on at its lowest bit. Six S-boxes have their bits in a row. The window of the other two has a gap,
//!   into which the second instruction brings the last bit;
//! * eight VPERMB, one with each S-box's table, for the byte that has its index. The results have 8 bits: a copy of an output bit for each
//!   S-box that it goes to;
//! * one VGF2P8AFFINEQB, which transposes the word as a matrix of 8 by 8 bits: byte `j` of the result has the bits that go to the window
//!   at `8 j`, bit `i` that of the S-box which [`SOURCE`] has at `i`.
//!
//! This is possible because each S-box sends its output to six others by one bit each, and gets its input from six others.
//!
//! On Sapphire Rapids, whose one port of shuffles takes ten of the instructions, a round of one vector takes 22 cycles, of two vectors
//! interleaved 24.

use super::sliced::Buffer;
use super::tables::{input, key_bit, place, source, substitute};
use super::{BLOCK, ROUNDS, Rounds, Schedule};
use crate::InOut;
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// The place in a byte of the bit that comes from an S-box.
const SOURCE: [usize; 8] = [0, 1, 4, 2, 6, 3, 7, 5];

/// Where the window of an S-box begins.
const WINDOW: [usize; 8] = [1, 11, 30, 36, 56, 42, 49, 23];

/// The gap in a window, whose bit 6 belongs there.
const GAP: [Option<usize>; 8] = [Some(3), None, None, None, None, Some(1), None, None];

/// The place of input bit `m` of S-box `k` in its window.
const fn in_window(k: usize, m: usize) -> usize {
    (SOURCE[source(input(k, m)).0] + 64 - WINDOW[k]) % 8
}

/// The place of input bit `m` of S-box `k` in the word.
const fn cell(k: usize, m: usize) -> usize {
    (WINDOW[k] + in_window(k, m)) % 64
}

/// The place of input bit `m` of S-box `k` in the index of its table.
const fn in_index(k: usize, m: usize) -> usize {
    match (in_window(k, m), GAP[k]) {
        (6, Some(gap)) => gap,
        (at, _) => at,
    }
}

/// The byte of a word that has the index, and then the result, of S-box `k`.
const fn byte(k: usize) -> usize {
    7 - SOURCE[k]
}

type Bytes = [u8; 64];

#[repr(align(64))]
struct Constants {
    /// The table of each S-box, by its index.
    tables: [Bytes; 8],
    windows: Bytes,
    /// Windows in which the last bit of a first window is where that has its gap, and the bits to take of the second windows.
    seconds: Bytes,
    gaps: Bytes,
    /// The bytes of the S-box that is looked up without a mask.
    first: Bytes,
    /// The unit matrix.
    unit: Bytes,
    /// Where the bits of a word come from: those of each half, from a block; of a key, from a round's words; of a block, from the halves'
    /// words. There are eight bytes for each bit of a byte, as VPSHUFBITQMB takes them.
    halves: [[Bytes; 8]; 2],
    key: [Bytes; 8],
    block: [Bytes; 8],
}

/// The same eight bytes for all words.
const fn every(bytes: [u8; 8]) -> Bytes {
    let mut all = [0; 64];
    let mut at = 0;
    while at < 64 {
        all[at] = bytes[at % 8];
        at += 1;
    }
    all
}

/// For each bit of a byte the eight bytes that say where the bits of a word come from.
const fn by_bits(from: &[u8; 64]) -> [Bytes; 8] {
    let mut all = [[0; 64]; 8];
    let mut bit = 0;
    while bit < 8 {
        let mut at = 0;
        while at < 64 {
            all[bit][at] = from[at % 8 * 8 + bit];
            at += 1;
        }
        bit += 1;
    }
    all
}

static CONSTANTS: Constants = {
    let mut constants = Constants {
        tables: [[0; 64]; 8],
        windows: [0; 64],
        seconds: [0; 64],
        gaps: [0; 64],
        first: [0; 64],
        unit: every([1, 2, 4, 8, 16, 32, 64, 128]),
        halves: [[[0; 64]; 8]; 2],
        key: [[0; 64]; 8],
        block: [[0; 64]; 8],
    };
    let (mut windows, mut seconds, mut gaps) = ([0; 8], [0; 8], [0; 8]);
    let (mut halves, mut key, mut block) = ([[0u8; 64]; 2], [0u8; 64], [0u8; 64]);
    let mut k = 0;
    while k < 8 {
        windows[byte(k)] = WINDOW[k] as u8;
        if let Some(gap) = GAP[k] {
            seconds[byte(k)] = ((WINDOW[k] + 6 - gap) % 64) as u8;
            gaps[byte(k)] = 1 << gap;
        }
        let mut m = 0;
        while m < 6 {
            let (cell, bit) = (cell(k, m), input(k, m));
            halves[0][cell] = place(0, bit) as u8;
            halves[1][cell] = place(1, bit) as u8;
            key[cell] = key_bit(k, m) as u8;
            // What was the right half is the left one of the block that comes out, and the other way round. Even bits are the left half's.
            block[place(0, bit)] = cell as u8;
            block[place(1, bit)] = cell as u8;
            // The S-box that this bit comes from.
            let (from, output) = source(bit);
            let mut index = 0;
            while index < 64 {
                let mut bits = 0;
                let mut i = 0;
                while i < 6 {
                    bits |= (index >> in_index(from, i) & 1) << (5 - i);
                    i += 1;
                }
                constants.tables[from][index] |= (substitute(from, bits) >> (3 - output) & 1) << (cell / 8);
                index += 1;
            }
            m += 1;
        }
        k += 1;
    }
    (constants.windows, constants.seconds) = (every(windows), every(seconds));
    let mut first = [0; 8];
    first[byte(1)] = 0xff;
    (constants.gaps, constants.first) = (every(gaps), every(first));
    constants.halves = [by_bits(&halves[0]), by_bits(&halves[1])];
    (constants.key, constants.block) = (by_bits(&key), by_bits(&block));
    constants
};

/// The round keys in the form of halves; wiped when dropped.
#[repr(align(64))]
pub(super) struct Keys {
    words: [u64; 3 * ROUNDS],
    count: usize,
}

impl Drop for Keys {
    fn drop(&mut self) {
        crate::wipe(&mut self.words);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(bytes: &Bytes) -> __m512i {
    // SAFETY: 64 bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn of_words(words: &[u64; 8]) -> __m512i {
    // SAFETY: 64 bytes.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn to_words(v: __m512i, words: &mut [u64; 8]) {
    // SAFETY: 64 bytes.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), v) };
}

/// The bits of each word that `from` names; bit `i` of its bytes of `sources[i]`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
fn permute(sources: [__m512i; 8], from: &[Bytes; 8]) -> __m512i {
    let mut all = _mm512_setzero_si512();
    for bit in 0..8 {
        let mask = _mm512_bitshuffle_epi64_mask(sources[bit], load(&from[bit]));
        all = _mm512_mask_add_epi8(all, mask, all, _mm512_set1_epi8((1u8 << bit).cast_signed()));
    }
    all
}

/// Both halves of blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
fn halves(blocks: __m512i) -> [__m512i; 2] {
    [permute([blocks; 8], &CONSTANTS.halves[0]), permute([blocks; 8], &CONSTANTS.halves[1])]
}

/// The blocks of two halves, the one that comes out at the left first.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
fn blocks([left, right]: [__m512i; 2]) -> __m512i {
    permute([left, right, left, right, left, right, left, right], &CONSTANTS.block)
}

#[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
pub(super) fn keys(rounds: &Rounds) -> Keys {
    let mut keys = Keys { words: [0; 3 * ROUNDS], count: rounds.count };
    for (to, from) in keys.words.as_chunks_mut().0.iter_mut().zip(rounds.words.as_chunks().0) {
        to_words(permute([of_words(from); 8], &CONSTANTS.key), to);
    }
    keys
}

/// What [`function`] needs, in registers.
struct Registers {
    tables: [__m512i; 8],
    /// The bytes of each S-box.
    bytes: [u64; 8],
    /// The bytes of the second S-box, which has no mask: there are seven.
    first: __m512i,
    windows: __m512i,
    seconds: __m512i,
    gaps: __m512i,
    unit: __m512i,
}

#[inline]
#[target_feature(enable = "avx512f")]
fn registers() -> Registers {
    let constants = &CONSTANTS;
    let bytes = std::array::from_fn(|k| 0x0101_0101_0101_0101u64 << byte(k));
    Registers {
        tables: std::array::from_fn(|k| load(&constants.tables[k])),
        bytes,
        first: load(&constants.first),
        windows: load(&constants.windows),
        seconds: load(&constants.seconds),
        gaps: load(&constants.gaps),
        unit: load(&constants.unit),
    }
}

/// DES's function of a half and a round key, added to each other.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn function(registers: &Registers, x: __m512i) -> __m512i {
    let Registers { tables, bytes, first, windows, seconds, gaps, unit } = registers;
    let all;
    // The order counts: S-boxes that need the second window come last, and results are taken in while others are looked up. A compiler
    // looks all up first, which takes a quarter longer, and makes AND instructions of masks.
    // SAFETY: these instructions are enabled, and work on registers alone.
    unsafe {
        std::arch::asm!(
            "vpmultishiftqb {w}, {windows}, {x}",
            "vpmultishiftqb {s}, {seconds}, {x}",
            "vpermb {all}, {w}, {t1}",
            "vpermb {f} {{{b2}}}{{z}}, {w}, {t2}",
            "vpermb {g} {{{b3}}}{{z}}, {w}, {t3}",
            // `first` where that is set: the bytes of the S-box that was looked up for all.
            "vpternlogq {s}, {gaps}, {w}, 0xe2",
            "vpternlogq {all}, {first}, {f}, 0xea",
            "vpermb {f} {{{b4}}}{{z}}, {w}, {t4}",
            "vpermb {h} {{{b6}}}{{z}}, {w}, {t6}",
            "vpternlogq {all}, {f}, {g}, 0xfe",
            "vpermb {f} {{{b7}}}{{z}}, {w}, {t7}",
            "vpermb {g} {{{b0}}}{{z}}, {s}, {t0}",
            "vpternlogq {all}, {h}, {f}, 0xfe",
            "vpermb {f} {{{b5}}}{{z}}, {s}, {t5}",
            "vpternlogq {all}, {g}, {f}, 0xfe",
            "vgf2p8affineqb {all}, {unit}, {all}, 0",
            x = in(zmm_reg) x,
            w = out(zmm_reg) _,
            s = out(zmm_reg) _,
            f = out(zmm_reg) _,
            g = out(zmm_reg) _,
            h = out(zmm_reg) _,
            all = out(zmm_reg) all,
            first = in(zmm_reg) *first,
            windows = in(zmm_reg) *windows,
            seconds = in(zmm_reg) *seconds,
            gaps = in(zmm_reg) *gaps,
            unit = in(zmm_reg) *unit,
            t0 = in(zmm_reg) tables[0], t1 = in(zmm_reg) tables[1], t2 = in(zmm_reg) tables[2], t3 = in(zmm_reg) tables[3],
            t4 = in(zmm_reg) tables[4], t5 = in(zmm_reg) tables[5], t6 = in(zmm_reg) tables[6], t7 = in(zmm_reg) tables[7],
            b0 = in(kreg) bytes[0], b2 = in(kreg) bytes[2], b3 = in(kreg) bytes[3], b4 = in(kreg) bytes[4],
            b5 = in(kreg) bytes[5], b6 = in(kreg) bytes[6], b7 = in(kreg) bytes[7],
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    all
}

/// All rounds of G vectors; `key` gives the key of a round for a vector. What comes in as left and right goes out so.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn rounds<const G: usize>(
    mut state: [[__m512i; 2]; G],
    count: usize,
    key: impl Fn(usize, usize) -> __m512i,
) -> [[__m512i; 2]; G] {
    let registers = registers();
    for first in (0..count).step_by(ROUNDS) {
        let mut x: [__m512i; G] = std::array::from_fn(|g| _mm512_xor_si512(state[g][1], key(first, g)));
        for round in first + 1..first + ROUNDS {
            for g in 0..G {
                let [left, right] = state[g];
                let f = function(&registers, x[g]);
                // The key is added to what is there already.
                x[g] = _mm512_ternarylogic_epi64::<0x96>(left, key(round, g), f);
                state[g] = [right, _mm512_xor_si512(left, f)];
            }
        }
        for g in 0..G {
            let [left, right] = state[g];
            // The last round does not exchange the halves.
            state[g] = [_mm512_xor_si512(left, function(&registers, x[g])), right];
        }
    }
    state
}

/// Encrypts or decrypts G vectors of blocks, interleaved.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
fn vectors<const G: usize>(keys: &Keys, buffer: &mut [[u64; 8]; G]) {
    let state = std::array::from_fn(|g| halves(of_words(&buffer[g])));
    let key = |round: usize, _| _mm512_set1_epi64(keys.words[round].cast_signed());
    let state = rounds::<G>(state, keys.count, key);
    for (words, state) in buffer.iter_mut().zip(state) {
        to_words(blocks(state), words);
    }
}

/// Encrypts or decrypts the first `count` blocks, and those that share a vector with them, in the direction of the keys.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
pub(super) fn some(keys: &Keys, buffer: &mut Buffer, count: usize) {
    let all = count.div_ceil(8);
    let (pairs, last) = buffer.as_chunks_mut::<8>().0[..all].as_chunks_mut::<2>();
    for pair in pairs {
        vectors(keys, pair);
    }
    if let [last] = last {
        vectors(keys, std::array::from_mut(last));
    }
}

/// A stream that chains its blocks, for [`super::encrypt_streams`].
#[derive(Debug)]
pub struct Stream<'a> {
    schedules: &'a [Schedule],
    chain: &'a mut [u8; BLOCK],
    input: *const u8,
    /// Null where only the last block is wanted.
    output: *mut u8,
    blocks: usize,
    life: PhantomData<InOut<'a>>,
}

impl<'a> Stream<'a> {
    /// CBC encryption of whole blocks under one key or three; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub fn cbc(schedules: &'a [Schedule], iv: &'a mut [u8; BLOCK], io: InOut<'a>) -> Stream<'a> {
        assert!(io.len().is_multiple_of(BLOCK));
        let (input, output, blocks) = (io.input(), io.output(), io.len() / BLOCK);
        Stream { schedules, chain: iv, input, output, blocks, life: PhantomData }
    }

    /// CBC-MAC: whole blocks are taken into `chain`.
    pub fn mac(schedules: &'a [Schedule], chain: &'a mut [u8; BLOCK], data: &'a [[u8; BLOCK]]) -> Stream<'a> {
        let (input, output, blocks) = (data.as_ptr().cast(), std::ptr::null_mut(), data.len());
        Stream { schedules, chain, input, output, blocks, life: PhantomData }
    }
}

/// Lanes and what is in them.
#[repr(align(64))]
struct Lanes<const G: usize> {
    keys: [[[u64; 8]; G]; 3 * ROUNDS],
    chain: [[u64; 8]; G],
    input: [[*const u8; 8]; G],
    output: [[*mut u8; 8]; G],
    /// 8, or 0 where a lane is empty.
    step: [[usize; 8]; G],
    /// 8, or 0 where a lane is empty or gives nothing out.
    out_step: [[usize; 8]; G],
}

/// Encrypts streams; see [`super::encrypt_streams`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
pub(super) fn encrypt_streams<'a>(streams: impl Iterator<Item = Stream<'a>>) {
    let mut streams = streams.filter(|stream| stream.blocks > 0).peekable();
    let many = streams.size_hint().1.is_none_or(|most| most > 8);
    let Some(first) = streams.peek() else { return };
    let count = first.schedules.len() * ROUNDS;
    if many { in_lanes::<2>(&mut streams, count) } else { in_lanes::<1>(&mut streams, count) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
fn in_lanes<'a, const G: usize>(streams: &mut dyn Iterator<Item = Stream<'a>>, count: usize) {
    static NOTHING: u64 = 0;
    let mut nowhere = 0u64;
    let (nothing, nowhere): (*const u8, *mut u8) = (std::ptr::from_ref(&NOTHING).cast(), (&raw mut nowhere).cast());
    let mut lanes = Lanes::<G> {
        keys: [[[0; 8]; G]; 3 * ROUNDS],
        chain: [[0; 8]; G],
        input: [[nothing; 8]; G],
        output: [[nowhere; 8]; G],
        step: [[0; 8]; G],
        out_step: [[0; 8]; G],
    };
    // The stream in each lane, and how many blocks of it are left.
    let mut taken: [[Option<Stream<'a>>; 8]; G] = [const { [const { None }; 8] }; G];
    loop {
        let mut least = usize::MAX;
        for (g, taken) in taken.iter_mut().enumerate() {
            for (lane, taken) in taken.iter_mut().enumerate() {
                if let Some(done) = taken.take_if(|stream| stream.blocks == 0) {
                    *done.chain = lanes.chain[g][lane].to_ne_bytes();
                    (lanes.input[g][lane], lanes.step[g][lane]) = (nothing, 0);
                    (lanes.output[g][lane], lanes.out_step[g][lane]) = (nowhere, 0);
                }
                if taken.is_none()
                    && let Some(stream) = streams.next()
                {
                    let rounds = Rounds::new(stream.schedules, true);
                    assert!(rounds.count == count, "keys of one kind");
                    let keys = keys(&rounds);
                    for (lanes, key) in lanes.keys.iter_mut().zip(&keys.words) {
                        lanes[g][lane] = *key;
                    }
                    lanes.chain[g][lane] = u64::from_ne_bytes(*stream.chain);
                    (lanes.input[g][lane], lanes.step[g][lane]) = (stream.input, BLOCK);
                    if !stream.output.is_null() {
                        (lanes.output[g][lane], lanes.out_step[g][lane]) = (stream.output, BLOCK);
                    }
                    *taken = Some(stream);
                }
                if let Some(stream) = taken {
                    least = least.min(stream.blocks);
                }
            }
        }
        if least == usize::MAX {
            break;
        }
        // SAFETY: every lane in use has `least` blocks of input, and of output where it gives some out; so says who made the stream.
        unsafe { advance(&mut lanes, count, least) };
        for stream in taken.as_flattened_mut().iter_mut().flatten() {
            stream.blocks -= least;
        }
    }
    crate::wipe(lanes.keys.as_flattened_mut().as_flattened_mut());
    crate::wipe(lanes.chain.as_flattened_mut());
}

/// Encrypts `blocks` blocks of each lane.
///
/// # Safety
/// As many blocks are at each lane's input, and at its output, where the step is not 0; else one is.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,gfni")]
unsafe fn advance<const G: usize>(lanes: &mut Lanes<G>, count: usize, blocks_each: usize) {
    let gather = |lanes: &Lanes<G>| -> [[__m512i; 2]; G] {
        std::array::from_fn(|g| {
            // SAFETY: upheld by the caller.
            let words = std::array::from_fn(|at| unsafe { lanes.input[g][at].cast::<u64>().read_unaligned() });
            halves(of_words(&words))
        })
    };
    // What a block is chained to, as halves: it need not be made a block and halves again.
    let mut chain: [[__m512i; 2]; G] = std::array::from_fn(|g| halves(of_words(&lanes.chain[g])));
    let mut next = gather(lanes);
    for block in 0..blocks_each {
        let state =
            std::array::from_fn(|g| std::array::from_fn(|half| _mm512_xor_si512(next[g][half], chain[g][half])));
        if block + 1 < blocks_each {
            for (input, step) in lanes.input.as_flattened_mut().iter_mut().zip(lanes.step.as_flattened()) {
                *input = input.wrapping_add(*step);
            }
            // What the next blocks need is done beside the rounds, which wait for each other.
            next = gather(lanes);
        }
        chain = rounds::<G>(state, count, |round, g| of_words(&lanes.keys[round][g]));
        for (state, words) in chain.iter().zip(&mut lanes.chain) {
            to_words(blocks(*state), words);
        }
        let outputs = lanes.output.as_flattened_mut().iter_mut().zip(lanes.out_step.as_flattened());
        for ((output, step), word) in outputs.zip(lanes.chain.as_flattened()) {
            // SAFETY: upheld by the caller.
            unsafe { output.cast::<u64>().write_unaligned(*word) };
            *output = output.wrapping_add(*step);
        }
    }
    for (input, step) in lanes.input.as_flattened_mut().iter_mut().zip(lanes.step.as_flattened()) {
        *input = input.wrapping_add(*step);
    }
}
