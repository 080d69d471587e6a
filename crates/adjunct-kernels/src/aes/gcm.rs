//! GCM in pieces (SP 800-38D), written over the width.
//!
//! A GHASH value is kept with its bytes reversed, as an integer of 128 bits whose bit 127 - i is the coefficient of x^i.
//! In that form a product of the field is `A * B * x^-128` modulo `G = x^128 + x^127 + x^126 + x^121 + 1` where one factor
//! has been multiplied by x before (the table has), and the factor x^-128 is Montgomery's reduction: the low 64 bits go
//! away by adding their multiple of G, twice (Gueron and Kounavis, "Intel carry-less multiplication instruction and its
//! usage for computing the GCM mode"; Gueron, "AES-GCM for efficient authenticated encryption").
//!
//! n blocks take one reduction: block i meets the table's H^(n - i), the products are added in three parts, and the sum
//! is reduced. Eight vectors are a group; of 512 bits they hold 32 blocks. A vector costs 10, 12 or 14 rounds on the AES
//! unit; three products, by Karatsuba's method, two shuffles and 2.5 xors for GHASH; its counters and an xor. A group adds one
//! reduction of two products. Zen 5 does a product of 512 bits in two cycles, beside two rounds of AES in each: four to a vector
//! would set the pace. In long runs the GHASH of a group stands between the rounds of another, and the counters of a vector are
//! one instruction (`Counters`): where AES and products share their units with other instructions, each of those costs them time.

use super::modes::{WIDE, each, schedule};
use super::ni::{self, from_bytes, load, part, store, to_bytes};
use super::powers::{Sum, reversed, times};
pub use super::powers::{Table, extend, table};
use super::width::Width;
use super::{Keys, by_length};
use crate::{InOut, opaque_debug, wipe};
use std::arch::asm;
use std::arch::x86_64::*;

/// The state of one message; wiped when dropped.
#[repr(C, align(16))]
#[derive(Clone, Default)]
pub struct Message {
    /// The next counter block, byte-reversed.
    counter: [u8; 16],
    /// The first counter block encrypted: what hides the tag.
    mask: [u8; 16],
    /// GHASH of all blocks but the held one, byte-reversed.
    hash: [u8; 16],
    /// The begun block of additional data or ciphertext, zeros behind it.
    held: [u8; 16],
    /// The key stream of a begun block of the message.
    stream: [u8; 16],
    /// Bytes of additional data.
    aad: u64,
    /// Bytes of the message.
    text: u64,
}

opaque_debug!(Message);

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        for block in [&mut self.counter, &mut self.mask, &mut self.hash, &mut self.held, &mut self.stream] {
            wipe(block);
        }
    }
}

impl Message {
    /// The bytes of additional data taken so far.
    #[inline]
    pub fn aad(&self) -> u64 {
        self.aad
    }

    /// The bytes of the message taken so far.
    #[inline]
    pub fn text(&self) -> u64 {
        self.text
    }

    /// Whether the additional data or, after it, the message ends within a block as far as it has come.
    #[inline]
    pub fn begun(&self) -> bool {
        let last = if self.text == 0 { self.aad } else { self.text };
        !last.is_multiple_of(16)
    }
}

/// Goes on where the next counter block and the hash are these; the lengths count from here.
#[inline(always)]
pub fn resume(message: &mut Message, counter: &[u8; 16], hash: &[u8; 16]) {
    // SAFETY: the callers' instructions include SSE4.1.
    unsafe {
        store(message.counter.as_mut_ptr(), reversed(from_bytes(counter)));
        store(message.hash.as_mut_ptr(), reversed(from_bytes(hash)));
    }
    (message.aad, message.text) = (0, 0);
}

/// The next counter block and the hash, after whole blocks.
#[inline(always)]
pub fn progress(message: &Message, counter: &mut [u8; 16], hash: &mut [u8; 16]) {
    // SAFETY: the callers' instructions include SSE4.1.
    unsafe {
        store(counter.as_mut_ptr(), reversed(from_bytes(&message.counter)));
        store(hash.as_mut_ptr(), reversed(from_bytes(&message.hash)));
    }
}

/// Adds the vectors of one run of blocks to a sum; knows how many blocks are left.
struct Hasher<'t, W> {
    sum: Sum<W>,
    /// What the next vector's first block is added to: the hash before, then nothing.
    before: W,
    table: &'t Table,
    /// Blocks left, at most a group.
    blocks: usize,
    /// The products of a vector of a group that waits for its second.
    waiting: [W; 3],
}

impl<'t, W: Width> Hasher<'t, W> {
    #[inline(always)]
    fn new(table: &'t Table, hash: __m128i, blocks: usize) -> Self {
        Hasher { sum: Sum::new(), before: W::from_first(hash), table, blocks, waiting: [W::zero(); 3] }
    }

    /// A vector of ciphertext, zeros where it has none.
    #[inline(always)]
    fn take(&mut self, vector: W) {
        // SAFETY: a vector from any power lies in the table.
        let powers = unsafe { W::load(self.table.at_power(self.blocks)) };
        self.sum.add(vector.reversed().xor(self.before), powers);
        self.before = W::zero();
        self.blocks = self.blocks.saturating_sub(W::BYTES / 16);
    }

    /// Vector `index` of a group: all eight in any order, by twos, of which this is the second or not.
    #[inline(always)]
    fn of_group(&mut self, index: usize, second: bool, vector: W) {
        let power = (WIDE - index) * W::BYTES / 16;
        // SAFETY: a vector from any power lies in the table, and the sums of a group's.
        let (powers, crossed) =
            unsafe { (W::load(self.table.at_power(power)), W::load(self.table.crossed_at(index / 2, W::BYTES))) };
        let vector = vector.reversed();
        let vector = if index == 0 { vector.xor(self.before) } else { vector };
        let both = vector.xor(vector.halves_exchanged());
        let middle =
            if index.is_multiple_of(2) { both.multiply::<0x00>(crossed) } else { both.multiply::<0x10>(crossed) };
        let products = [vector.multiply::<0x00>(powers), middle, vector.multiply::<0x11>(powers)];
        let Sum { low, middle, high } = &mut self.sum;
        let sums = [low, middle, high].into_iter().zip(products);
        if !W::XOR3 {
            sums.for_each(|(sum, product)| *sum = sum.xor(product));
        } else if second {
            sums.zip(self.waiting).for_each(|((sum, product), waiting)| *sum = sum.xor3(waiting, product));
        } else {
            self.waiting = products;
        }
    }

    /// Ends a group: takes the low and the high product out of the sum of the middle products (Karatsuba), and reduces.
    #[inline(always)]
    fn group_done(mut self) -> __m128i {
        self.sum.middle = self.sum.middle.xor3(self.sum.low, self.sum.high);
        self.done()
    }

    #[inline(always)]
    fn done(self) -> __m128i {
        self.sum.reduced().folded()
    }
}

/// GHASH goes on over whole blocks.
#[inline(always)]
fn absorb<W: Width>(table: &Table, mut hash: __m128i, mut data: *const u8, mut blocks: usize) -> __m128i {
    while blocks > 0 {
        let here = blocks.min(WIDE * W::BYTES / 16);
        let mut hasher = Hasher::<W>::new(table, hash, here);
        let mut rest = here * 16;
        while rest > 0 {
            let now = rest.min(W::BYTES);
            // SAFETY: `rest` bytes lie at `data`.
            unsafe {
                hasher.take(W::load_part(data, now));
                data = data.add(now);
            }
            rest -= now;
        }
        hash = hasher.done();
        blocks -= here;
    }
    hash
}

/// GHASH goes on over one block.
#[inline(always)]
fn absorb_block<W: Width>(table: &Table, hash: __m128i, block: __m128i) -> __m128i {
    // SAFETY: within the table; the callers' instructions include SSE2.
    unsafe { times::<W>(_mm_xor_si128(hash, reversed(block)), load(table.at_power(1))) }
}

/// Begins a message under an IV of any length but zero.
#[inline(always)]
pub fn start<W: Width>(keys: Keys<'_>, table: &Table, message: &mut Message, iv: &[u8]) {
    // SAFETY: the callers' instructions include SSE4.1 and AES-NI.
    unsafe {
        let counter = if let Ok(iv) = <&[u8; 12]>::try_from(iv) {
            let (high, low) = (u64::from_be_bytes(head(iv)), u32::from_be_bytes([iv[8], iv[9], iv[10], iv[11]]));
            _mm_set_epi64x(high as i64, (u64::from(low) << 32 | 1) as i64)
        } else {
            let hash = absorb::<W>(table, _mm_setzero_si128(), iv.as_ptr(), iv.len() / 16);
            let tail = &iv[iv.len() / 16 * 16..];
            let hash = if tail.is_empty() { hash } else { absorb_block::<W>(table, hash, part(tail)) };
            absorb_block::<W>(table, hash, reversed(_mm_set_epi64x(0, iv.len() as i64 * 8)))
        };
        let mask = by_length!(keys, N => ni::single::<N, true>(keys, reversed(counter)));
        store(message.mask.as_mut_ptr(), mask);
        store(message.counter.as_mut_ptr(), _mm_add_epi32(counter, _mm_set_epi32(0, 0, 0, 1)));
        store(message.hash.as_mut_ptr(), _mm_setzero_si128());
    }
    message.aad = 0;
    message.text = 0;
}

fn head(iv: &[u8; 12]) -> [u8; 8] {
    [iv[0], iv[1], iv[2], iv[3], iv[4], iv[5], iv[6], iv[7]]
}

/// Additional data goes on.
#[inline(always)]
pub fn aad<W: Width>(table: &Table, message: &mut Message, mut data: &[u8]) {
    let begun = (message.aad % 16) as usize;
    message.aad += data.len() as u64;
    // SAFETY: blocks of the message's state; the slice's whole blocks.
    unsafe {
        if begun > 0 {
            let take = data.len().min(16 - begun);
            message.held[begun..begun + take].copy_from_slice(&data[..take]);
            data = &data[take..];
            if begun + take < 16 {
                return;
            }
            let hash = absorb_block::<W>(table, from_bytes(&message.hash), from_bytes(&message.held));
            store(message.hash.as_mut_ptr(), hash);
        }
        if data.len() >= 16 {
            let hash = absorb::<W>(table, from_bytes(&message.hash), data.as_ptr(), data.len() / 16);
            store(message.hash.as_mut_ptr(), hash);
            data = &data[data.len() / 16 * 16..];
        }
        if !data.is_empty() {
            store(message.held.as_mut_ptr(), part(data));
        }
    }
}

/// The message goes on.
#[inline(always)]
pub fn crypt<W: Width, const N: usize, const ENCRYPT: bool>(
    keys: Keys<'_>,
    table: &Table,
    message: &mut Message,
    io: InOut<'_>,
) {
    if io.is_empty() {
        return;
    }
    // SAFETY: the callers' instructions include AES-NI.
    let mut hash = unsafe { from_bytes(&message.hash) };
    let begun = (message.text % 16) as usize;
    if message.text == 0 && !message.aad.is_multiple_of(16) {
        // SAFETY: the public function that this is inlined into has AES-NI among its target features, as `from_bytes` needs.
        hash = absorb_block::<W>(table, hash, unsafe { from_bytes(&message.held) });
    }
    message.text += io.len() as u64;
    let mut io = io;
    if begun > 0 {
        let (head, rest) = io.split_head(16 - begun);
        let end = begun + head.len();
        bytes::<ENCRYPT>(message, begun, head);
        if end == 16 {
            // SAFETY: the public function that this is inlined into has AES-NI among its target features, as `from_bytes` needs.
            hash = absorb_block::<W>(table, hash, unsafe { from_bytes(&message.held) });
        }
        io = rest;
    }
    let (whole, tail) = io.split_whole(16);
    // SAFETY: the buffers have the lengths given; the callers' instructions include AES-NI and SSE4.1.
    unsafe {
        let mut counter = from_bytes(&message.counter);
        if !whole.is_empty() {
            let blocks = whole.len() / 16;
            hash = run::<W, N, ENCRYPT>(keys, table, counter, hash, whole);
            counter = _mm_add_epi32(counter, _mm_set_epi32(0, 0, 0, blocks as i32));
        }
        if !tail.is_empty() {
            store(message.stream.as_mut_ptr(), ni::single::<N, true>(keys, reversed(counter)));
            store(message.held.as_mut_ptr(), _mm_setzero_si128());
            counter = _mm_add_epi32(counter, _mm_set_epi32(0, 0, 0, 1));
            bytes::<ENCRYPT>(message, 0, tail);
        }
        store(message.counter.as_mut_ptr(), counter);
        store(message.hash.as_mut_ptr(), hash);
    }
}

/// Bytes of the block begun, from byte `at` of it.
fn bytes<const ENCRYPT: bool>(message: &mut Message, at: usize, mut io: InOut<'_>) {
    for i in 0..io.len() {
        let input = io.get(i);
        let output = input ^ message.stream[at + i];
        io.set(i, output);
        message.held[at + i] = if ENCRYPT { output } else { input };
    }
}

/// Whole blocks, at least one: groups, then the rest. Gives the hash.
///
/// # Safety
/// The buffers have the length given.
#[inline(always)]
unsafe fn run<W: Width, const N: usize, const ENCRYPT: bool>(
    keys: Keys<'_>,
    table: &Table,
    counter: __m128i,
    mut hash: __m128i,
    io: InOut<'_>,
) -> __m128i {
    let group = WIDE * W::BYTES;
    let mut work = Work::<W, N> { k: schedule(keys), next: from(counter) };
    let (mut input, mut output, mut rest) = (io.input(), io.output(), io.len());
    // SAFETY: the caller gives buffers that can be read and written for `io.len()` bytes; `input` and `output` advance by what `rest`
    // loses.
    unsafe {
        if rest >= group {
            // To begin with `Counters` takes as long as they save in some groups.
            let long = rest >= LONG * group;
            let mut low = Aligned([W::zero(); WIDE]);
            let mut counters = long.then(|| Counters::new(counter, work.k[0], &mut low));
            if ENCRYPT {
                // The hash is behind, for it takes the output: by two groups in a long run, as what has just been written is slow to read.
                let behind = if long { 2 } else { 1 };
                for _ in 0..behind {
                    work.group::<false>(input, output, input, &mut counters, &mut Hasher::new(table, hash, 0));
                    (input, output, rest) = (input.add(group), output.add(group), rest - group);
                }
                while rest >= group {
                    let mut hasher = Hasher::new(table, hash, group / 16);
                    work.group::<true>(input, output, output.sub(behind * group), &mut counters, &mut hasher);
                    hash = hasher.group_done();
                    (input, output, rest) = (input.add(group), output.add(group), rest - group);
                }
                for left in (1..=behind).rev() {
                    let (hashed, mut hasher) = (output.sub(left * group), Hasher::new(table, hash, group / 16));
                    each!(WIDE, |i| hasher.of_group(i, i % 2 == 1, W::load(hashed.add(i * W::BYTES))));
                    hash = hasher.group_done();
                }
            } else {
                while rest >= group {
                    let mut hasher = Hasher::new(table, hash, group / 16);
                    work.group::<true>(input, output, input, &mut counters, &mut hasher);
                    hash = hasher.group_done();
                    (input, output, rest) = (input.add(group), output.add(group), rest - group);
                }
            }
        }
        if rest > 0 {
            let done = (io.len() - rest) / 16;
            work.next = from(_mm_add_epi32(counter, _mm_set_epi32(0, 0, 0, done as i32)));
            let mut hasher = Hasher::new(table, hash, rest / 16);
            if rest > 4 * W::BYTES {
                work.part::<4, ENCRYPT>(input, output, 4 * W::BYTES, &mut hasher);
                (input, output, rest) = (input.add(4 * W::BYTES), output.add(4 * W::BYTES), rest - 4 * W::BYTES);
            }
            match rest.div_ceil(W::BYTES) {
                1 => work.part::<1, ENCRYPT>(input, output, rest, &mut hasher),
                2 => work.part::<2, ENCRYPT>(input, output, rest, &mut hasher),
                3 => work.part::<3, ENCRYPT>(input, output, rest, &mut hasher),
                _ => work.part::<4, ENCRYPT>(input, output, rest, &mut hasher),
            }
            hash = hasher.done();
        }
    }
    hash
}

/// The groups of a long run.
const LONG: usize = 8;

/// The place of each block in a vector.
const PLACES: [i64; 8] = [0, 0, 1, 0, 2, 0, 3, 0];

/// A vector of counters from this one on, byte-reversed.
#[inline(always)]
fn from<W: Width>(counter: __m128i) -> W {
    W::broadcast(counter).add32(W::of(PLACES))
}

/// A number in the first half of every block.
const fn every(number: i64) -> [i64; 8] {
    [number, 0, number, 0, number, 0, number, 0]
}

/// A value in cache lines of its own.
#[repr(C, align(64))]
struct Aligned<T>(T);

/// `place` as a reference of which the compiler does not know that it is the same one: so the compiler does not keep what lies there in
/// registers, of which there are too few.
#[inline(always)]
fn anew<T>(place: &T) -> &T {
    let mut place: *const T = place;
    // SAFETY: no instruction at all; the reference stays as it was.
    unsafe {
        asm!("/* {} */", inout(reg) place, options(readonly, nostack, preserves_flags));
        &*place
    }
}

/// The counters of the groups of a run, xored with the first round key.
///
/// A group has as many blocks as a power of two. So in the bits above those that count within a group its counters are all alike, or
/// from some block on higher by one. From which, and what the lower bits are, is the same in every group.
struct Counters<'l, W> {
    /// For each block of a group: the lower bits of its counter; and above them all ones where the upper bits are higher by one.
    low: &'l Aligned<[W; WIDE]>,
    /// The upper bits of the next group's first counter, byte-reversed.
    upper: W,
    /// Beginning of the blocks of a group where the upper bits of the counter are not higher: those bits and the key.
    base: W,
}

impl<'l, W: Width> Counters<'l, W> {
    const BLOCKS: i64 = (WIDE * W::BYTES / 16) as i64;

    #[inline(always)]
    fn new(first: __m128i, key: W, low: &'l mut Aligned<[W; WIDE]>) -> Self {
        let mask = W::of(every(Self::BLOCKS - 1));
        let (first, place) = (W::broadcast(first), W::broadcast(first).and(mask).add32(W::of(PLACES)));
        let upper = first.xor(first.and(mask));
        each!(WIDE, |i| {
            let place = place.add32(W::of(every((i * W::BYTES / 16) as i64)));
            // The bit above the lower ones, which says "higher", goes on to all above it.
            let extended = place.xor(W::of(every(Self::BLOCKS))).add32(W::of(every(-Self::BLOCKS & 0xffff_ffff)));
            low.0[i] = extended.reversed();
        });
        Counters { low, upper, base: upper.reversed().xor(key) }
    }

    /// The next group's.
    #[inline(always)]
    fn group(&mut self, key: W) -> [W; WIDE] {
        let base = self.base;
        self.upper = self.upper.add32(W::of(every(Self::BLOCKS)));
        self.base = self.upper.reversed().xor(key);
        // What becomes of the upper bits, which are zero in the mask, and all lower ones.
        let change = base.xor3(self.base, W::of(every(Self::BLOCKS - 1)).reversed());
        let low = anew(self.low);
        let mut v = [W::zero(); WIDE];
        each!(WIDE, |i| v[i] = base.xor_and(change, low.0[i]));
        v
    }
}

/// The counter mode of a run.
struct Work<W, const N: usize> {
    k: [W; N],
    /// The next vector's counters, byte-reversed.
    next: W,
}

impl<W: Width, const N: usize> Work<W, N> {
    #[inline(always)]
    fn counters<const L: usize>(&mut self) -> [W; L] {
        let blocks = (W::BYTES / 16) as i64;
        let step = W::of([blocks, 0, blocks, 0, blocks, 0, blocks, 0]);
        let mut v = [W::zero(); L];
        each!(L, |i| {
            v[i] = self.next.reversed().xor(self.k[0]);
            self.next = self.next.add32(step);
        });
        v
    }

    /// Eight vectors, whose counters are the next ones, and between their rounds the hash of the eight at `hashed`.
    ///
    /// # Safety
    /// Eight vectors can be read at `input` and `hashed` and written at `output`.
    #[inline(always)]
    unsafe fn group<const HASH: bool>(
        &mut self,
        input: *const u8,
        output: *mut u8,
        hashed: *const u8,
        counters: &mut Option<Counters<'_, W>>,
        hasher: &mut Hasher<'_, W>,
    ) {
        let mut v = match counters {
            Some(counters) => counters.group(self.k[0]),
            None => self.counters(),
        };
        hasher.table = anew(hasher.table);
        // SAFETY: the caller gives eight vectors that can be read at `input` and at `hashed`, and written at `output`.
        unsafe {
            each!(15: N - 2, |r| {
                each!(WIDE, |i| v[i] = v[i].enc(self.k[r + 1]));
                if HASH && r < WIDE {
                    // The first is last: it waits for the hash before.
                    let i = (r + 1) % WIDE;
                    hasher.of_group(i, r % 2 == 1, W::load(hashed.add(i * W::BYTES)));
                    let Sum { low, middle, high } = &mut hasher.sum;
                    W::pin(&mut v, [low, middle, high]);
                }
            });
            each!(WIDE, |i| {
                let data = W::load(input.add(i * W::BYTES));
                v[i] = v[i].enc_last(self.k[N - 1].xor(data));
            });
            each!(WIDE, |i| v[i].store(output.add(i * W::BYTES)));
        }
    }

    /// `L` vectors, the last of them perhaps not full, and their hash.
    ///
    /// # Safety
    /// `len` bytes can be read at `input` and written at `output`; they end in the last vector.
    #[inline(always)]
    unsafe fn part<const L: usize, const ENCRYPT: bool>(
        &mut self,
        input: *const u8,
        output: *mut u8,
        len: usize,
        hasher: &mut Hasher<'_, W>,
    ) {
        let mut v = self.counters::<L>();
        let last = len - (L - 1) * W::BYTES;
        let mut data = [W::zero(); L];
        // SAFETY: the caller gives `len` bytes to read at `input` and to write at `output`; the last vector is read and written only as far
        // as `len`.
        unsafe {
            each!(L, |i| {
                let from = input.add(i * W::BYTES);
                data[i] = if i == L - 1 { W::load_part(from, last) } else { W::load(from) };
                if !ENCRYPT {
                    hasher.take(data[i]);
                }
            });
            each!(15: N - 2, |r| each!(L, |i| v[i] = v[i].enc(self.k[r + 1])));
            each!(L, |i| {
                v[i] = v[i].enc_last(self.k[N - 1].xor(data[i]));
                let to = output.add(i * W::BYTES);
                if i == L - 1 {
                    v[i].store_part(to, last)
                } else {
                    v[i].store(to)
                }
                if ENCRYPT {
                    hasher.take(if i == L - 1 { v[i].keep(last) } else { v[i] });
                }
            });
        }
    }
}

/// Ends the message, and gives its tag.
#[inline(always)]
pub fn tag<W: Width>(table: &Table, message: &mut Message) -> [u8; 16] {
    let begun = message.begun();
    // SAFETY: within the table; the callers' instructions include SSE4.1 and AES-NI.
    unsafe {
        let mut hash = from_bytes(&message.hash);
        let lengths = _mm_set_epi64x((message.aad * 8) as i64, (message.text * 8) as i64);
        let mut sum = Sum::<W>::new();
        if begun {
            let held = _mm_xor_si128(hash, reversed(from_bytes(&message.held)));
            sum.add(W::from_first(held), W::from_first(load(table.at_power(2))));
            hash = _mm_setzero_si128();
        }
        sum.add(W::from_first(_mm_xor_si128(hash, lengths)), W::from_first(load(table.at_power(1))));
        to_bytes(_mm_xor_si128(reversed(sum.reduced().first()), from_bytes(&message.mask)))
    }
}
