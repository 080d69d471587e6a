//! The AES kernels of every width this CPU has, against AWS-LC or the mode's definition: all short lengths, some long
//! ones, any split, in place and apart, and counters that wrap.

#![cfg(target_arch = "x86_64")]
// One rule makes the calls sound: a kernel is called only where its instructions are, with buffers as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

use adjunct::InOut;
use adjunct::catalogue::Feature;
use adjunct::cpu;
use adjunct_kernels::aes::gcm::{Message, Table};
use adjunct_kernels::aes::{Keys, gcm_once, vaes256, vaes512};
use aws_lc_sys as lc;
use std::mem::MaybeUninit;

type Block = [u8; 16];

/// The kernels of one width.
struct Kernels {
    name: &'static str,
    ecb: unsafe fn(Keys<'_>, bool, InOut<'_>),
    cbc_decrypt: unsafe fn(Keys<'_>, &mut Block, InOut<'_>),
    cfb_decrypt: unsafe fn(Keys<'_>, &mut Block, InOut<'_>),
    ctr: unsafe fn(Keys<'_>, &mut Block, InOut<'_>),
    ctr_list: unsafe fn(Keys<'_>, &[u8], InOut<'_>),
    xts: unsafe fn(Keys<'_>, Option<Keys<'_>>, bool, &mut Block, InOut<'_>),
    gcm_table: unsafe fn(Keys<'_>, Option<&Block>, &mut Table),
    gcm_extend: unsafe fn(&mut Table, usize),
    gcm_start: unsafe fn(Keys<'_>, &Table, &mut Message, &[u8]),
    gcm_aad: unsafe fn(&Table, &mut Message, &[u8]),
    gcm_crypt: unsafe fn(Keys<'_>, bool, &Table, &mut Message, InOut<'_>),
    gcm_tag: unsafe fn(&Table, &mut Message) -> Block,
}

macro_rules! kernels {
    ($module:ident) => {
        Kernels {
            name: stringify!($module),
            ecb: $module::ecb,
            cbc_decrypt: $module::cbc_decrypt,
            cfb_decrypt: $module::cfb_decrypt,
            ctr: $module::ctr,
            ctr_list: $module::ctr_list,
            xts: $module::xts,
            gcm_table: $module::gcm_table,
            gcm_extend: $module::gcm_extend,
            gcm_start: $module::gcm_start,
            gcm_aad: $module::gcm_aad,
            gcm_crypt: $module::gcm_crypt,
            gcm_tag: $module::gcm_tag,
        }
    };
}

fn has(wanted: &[Feature]) -> bool {
    wanted.iter().all(|&f| cpu::features().has(f))
}

/// Every width this CPU has.
fn widths() -> Vec<Kernels> {
    let mut widths = Vec::new();
    if has(&[Feature::Vaes, Feature::Vpclmul, Feature::Avx2]) {
        widths.push(kernels!(vaes256));
        if has(&[Feature::Avx512]) {
            widths.push(kernels!(vaes512));
        }
    }
    if widths.is_empty() {
        println!("SKIPPED: this CPU has no VAES, or it is masked");
    }
    widths
}

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    fn block(&mut self) -> Block {
        std::array::from_fn(|_| self.next() as u8)
    }
}

/// A key in AWS-LC's form, from which the kernels' is read.
struct ExpandedKey {
    bytes: Vec<u8>,
    raw: Box<lc::AES_KEY>,
}

impl ExpandedKey {
    fn new(bytes: &[u8], encrypt: bool) -> ExpandedKey {
        // SAFETY: plain words.
        let mut raw: Box<lc::AES_KEY> = Box::new(unsafe { std::mem::zeroed() });
        let set = if encrypt { lc::AES_set_encrypt_key } else { lc::AES_set_decrypt_key };
        assert_eq!(unsafe { set(bytes.as_ptr(), bytes.len() as u32 * 8, &mut *raw) }, 0);
        ExpandedKey { bytes: bytes.to_vec(), raw }
    }

    /// The plain round keys of the schedule: the form that it has with AES-NI in force.
    fn keys(&self) -> Keys<'_> {
        unsafe { std::slice::from_raw_parts((&raw const *self.raw).cast(), self.bytes.len() / 4 + 7) }
    }

    fn block(&self, encrypt: bool, block: Block) -> Block {
        let mut out = [0; 16];
        let run = if encrypt { lc::AES_encrypt } else { lc::AES_decrypt };
        unsafe { run(block.as_ptr(), out.as_mut_ptr(), &*self.raw) };
        out
    }
}

fn xor(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

fn blocks(data: &[u8]) -> impl Iterator<Item = Block> + '_ {
    data.as_chunks::<16>().0.iter().copied()
}

/// Every number of blocks up to two groups of the widest vectors and a bit, then long ones.
fn block_counts(random: &mut Random) -> Vec<usize> {
    (0..=80).chain([96, 97, 127, 128, 160, 255, 1024]).chain((0..8).map(|_| random.below(5000))).collect()
}

/// Runs a kernel over data cut in pieces of whole `unit`s, in place or apart.
fn pieces(random: &mut Random, data: &[u8], unit: usize, mut run: impl FnMut(InOut<'_>)) -> Vec<u8> {
    let in_place = random.below(2) == 0;
    let most = [1, 5, 40, usize::MAX][random.below(4)];
    let (mut out, mut at) = (data.to_vec(), 0);
    while at < data.len() {
        let left = (data.len() - at) / unit;
        let len = (1 + random.below(left)).min(most) * unit;
        let here = &mut out[at..at + len];
        run(if in_place { InOut::in_place(here) } else { InOut::apart(&data[at..at + len], here) });
        at += len;
    }
    out
}

/// Compares a mode with its definition, for every width, key size and number of blocks.
fn compare(
    encrypt_key: bool,
    run: impl Fn(&Kernels, &ExpandedKey, &mut Block, InOut<'_>),
    define: impl Fn(&ExpandedKey, Block, &[u8]) -> (Vec<u8>, Block),
    first: impl Fn(&mut Random) -> Block,
) {
    let mut random = Random(1);
    for kernels in widths() {
        for bits in [128, 192, 256] {
            let key = ExpandedKey::new(&random.bytes(bits / 8), encrypt_key);
            for count in block_counts(&mut random) {
                let (data, iv) = (random.bytes(16 * count), first(&mut random));
                let (right, right_after) = define(&key, iv, &data);
                let mut after = iv;
                let out = pieces(&mut random, &data, 16, |io| run(&kernels, &key, &mut after, io));
                assert!(out == right, "{} {bits} {count} blocks", kernels.name);
                assert_eq!(after, right_after, "{} {bits} {count} blocks: what is left", kernels.name);
            }
        }
    }
}

#[test]
fn ecb() {
    for encrypt in [true, false] {
        compare(
            encrypt,
            |kernels, key, _, io| unsafe { (kernels.ecb)(key.keys(), encrypt, io) },
            |key, iv, data| (blocks(data).flat_map(|b| key.block(encrypt, b)).collect(), iv),
            |_| [0; 16],
        );
    }
}

#[test]
fn cbc_decryption() {
    compare(
        false,
        |kernels, key, iv, io| unsafe { (kernels.cbc_decrypt)(key.keys(), iv, io) },
        |key, mut iv, data| {
            let mut one = |b| xor(key.block(false, b), std::mem::replace(&mut iv, b));
            (blocks(data).flat_map(&mut one).collect(), iv)
        },
        Random::block,
    );
}

#[test]
fn cfb_decryption() {
    compare(
        true,
        |kernels, key, iv, io| unsafe { (kernels.cfb_decrypt)(key.keys(), iv, io) },
        |key, mut iv, data| {
            let mut one = |b| xor(key.block(true, std::mem::replace(&mut iv, b)), b);
            (blocks(data).flat_map(&mut one).collect(), iv)
        },
        Random::block,
    );
}

#[test]
fn ctr_and_counters_that_wrap() {
    compare(
        true,
        |kernels, key, counter, io| unsafe { (kernels.ctr)(key.keys(), counter, io) },
        |key, counter, data| {
            let mut count = u128::from_be_bytes(counter);
            let mut one = |b| {
                let stream = key.block(true, count.to_be_bytes());
                count = count.wrapping_add(1);
                xor(stream, b)
            };
            (blocks(data).flat_map(&mut one).collect(), count.to_be_bytes())
        },
        |random| {
            let random_high = u128::from_be_bytes(random.block());
            let before = random.below(100) as u128;
            let count = match random.below(4) {
                0 => random_high,
                1 => (random_high << 32) | (0xffff_ffff - before),
                2 => (random_high << 64) | (u128::from(u64::MAX) - before),
                _ => u128::MAX - before,
            };
            count.to_be_bytes()
        },
    );
}

#[test]
fn ctr_with_a_list() {
    // Any counters will do, so long as they differ.
    fn counter(at: u128) -> Block {
        at.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_be_bytes()
    }
    compare(
        true,
        |kernels, key, at, io| unsafe {
            let first = u128::from_be_bytes(*at);
            let count = (io.len() / 16) as u128;
            let list: Vec<u8> = (0..count).flat_map(|i| counter(first.wrapping_add(i))).collect();
            (kernels.ctr_list)(key.keys(), &list, io);
            *at = first.wrapping_add(count).to_be_bytes();
        },
        |key, at, data| {
            let mut next = u128::from_be_bytes(at);
            let mut one = |b| {
                let stream = key.block(true, counter(next));
                next = next.wrapping_add(1);
                xor(stream, b)
            };
            (blocks(data).flat_map(&mut one).collect(), next.to_be_bytes())
        },
        |random| random.block(),
    );
}

#[test]
fn xts() {
    for encrypt in [true, false] {
        compare(
            encrypt,
            |kernels, key, tweak, io| unsafe { (kernels.xts)(key.keys(), None, encrypt, tweak, io) },
            |key, tweak, data| {
                let mut t = u128::from_le_bytes(tweak);
                let mut one = |b| {
                    let out = xor(key.block(encrypt, xor(b, t.to_le_bytes())), t.to_le_bytes());
                    t = t << 1 ^ if t >> 127 == 1 { 0x87 } else { 0 };
                    out
                };
                (blocks(data).flat_map(&mut one).collect(), t.to_le_bytes())
            },
            Random::block,
        );
    }
}

/// AWS-LC's AES-GCM: ciphertext and tag.
fn sealed(key: &ExpandedKey, iv: &[u8], aad: &[u8], data: &[u8]) -> (Vec<u8>, Block) {
    let mut out = vec![0; data.len() + 16];
    unsafe {
        let aead = match key.bytes.len() {
            16 => lc::EVP_aead_aes_128_gcm(),
            24 => lc::EVP_aead_aes_192_gcm(),
            _ => lc::EVP_aead_aes_256_gcm(),
        };
        let ctx = lc::EVP_AEAD_CTX_new(aead, key.bytes.as_ptr(), key.bytes.len(), 16);
        assert!(!ctx.is_null());
        let (mut len, most) = (0, out.len());
        let (iv, aad, data) = ((iv.as_ptr(), iv.len()), (aad.as_ptr(), aad.len()), (data.as_ptr(), data.len()));
        let out = out.as_mut_ptr();
        let done = lc::EVP_AEAD_CTX_seal(ctx, out, &mut len, most, iv.0, iv.1, data.0, data.1, aad.0, aad.1);
        lc::EVP_AEAD_CTX_free(ctx);
        assert!(done == 1 && len == most);
    }
    let tag = *out.last_chunk().unwrap();
    out.truncate(data.len());
    (out, tag)
}

/// A message through a kernel, in pieces, both ways.
fn message(random: &mut Random, kernels: &Kernels, key: &ExpandedKey, iv: &[u8], aad: &[u8], data: &[u8]) {
    let (right, right_tag) = sealed(key, iv, aad, data);
    let what = format!("{} {}-bit key, {} + {} bytes", kernels.name, key.bytes.len() * 8, aad.len(), data.len());
    for (encrypt, from, to) in [(true, data, &*right), (false, &*right, data)] {
        let (mut table, mut message) = (Table::default(), Message::default());
        let out = unsafe {
            (kernels.gcm_table)(key.keys(), None, &mut table);
            // All powers at once, or each as soon as it is wanted.
            let first = if random.below(2) == 0 { usize::MAX } else { iv.len() / 16 };
            (kernels.gcm_extend)(&mut table, first);
            (kernels.gcm_start)(key.keys(), &table, &mut message, iv);
            pieces(random, aad, 1, |io| {
                (kernels.gcm_extend)(&mut table, io.len() / 16);
                (kernels.gcm_aad)(&table, &mut message, std::slice::from_raw_parts(io.input(), io.len()))
            });
            let out = pieces(random, from, 1, |io| {
                (kernels.gcm_extend)(&mut table, io.len() / 16);
                (kernels.gcm_crypt)(key.keys(), encrypt, &table, &mut message, io)
            });
            (kernels.gcm_extend)(&mut table, if message.begun() { 2 } else { 0 });
            out
        };
        assert!(out == to, "{what}: text, encrypting {encrypt}");
        assert_eq!(unsafe { (kernels.gcm_tag)(&table, &mut message) }, right_tag, "{what}: encrypting {encrypt}");
    }
}

#[test]
fn gcm_of_all_lengths_in_any_pieces() {
    let mut random = Random(2);
    for kernels in widths() {
        for bits in [128, 192, 256] {
            let key = ExpandedKey::new(&random.bytes(bits / 8), true);
            let long = (0..40).map(|_| random.below(20_000)).collect::<Vec<_>>();
            for length in (0..=1200).chain(long) {
                let iv_len = if random.below(4) > 0 { 12 } else { 1 + random.below(140) };
                let aad_len = if random.below(8) > 0 { random.below(40) } else { random.below(1500) };
                let (iv, aad, data) = (random.bytes(iv_len), random.bytes(aad_len), random.bytes(length));
                message(&mut random, &kernels, &key, &iv, &aad, &data);
            }
        }
    }
}

#[test]
fn round_keys_are_the_library_s() {
    if !cpu::features().has(Feature::Aes) {
        return println!("SKIPPED: this CPU has no AES-NI, or it is masked");
    }
    let mut random = Random(5);
    for round in 0..300 {
        let bytes = random.bytes([16, 24, 32][round % 3]);
        let mut keys = MaybeUninit::new([[0; 16]; adjunct_kernels::aes::key::MOST]);
        let number = unsafe { adjunct_kernels::aes::key::expand(&bytes, &mut keys) };
        assert_eq!(unsafe { &keys.assume_init_ref()[..number] }, ExpandedKey::new(&bytes, true).keys());
        let inverse = unsafe { adjunct_kernels::aes::key::expand_inverse(&bytes, &mut keys) };
        assert_eq!(inverse, number);
        assert_eq!(unsafe { &keys.assume_init_ref()[..number] }, ExpandedKey::new(&bytes, false).keys());
    }
}

/// The product in GCM's field (SP 800-38D, algorithm 1), bit by bit; the first bit of a block is its highest.
fn product(x: u128, mut v: u128) -> u128 {
    let mut z = 0;
    for i in (0..128).rev() {
        if x >> i & 1 == 1 {
            z ^= v;
        }
        v = v >> 1 ^ if v & 1 == 1 { 0xe1 << 120 } else { 0 };
    }
    z
}

#[test]
fn gcm_counters_that_wrap() {
    let mut random = Random(3);
    let one = 1u128 << 127;
    for kernels in widths() {
        for _ in 0..12 {
            let key = ExpandedKey::new(&random.bytes(16), true);
            // An IV of one block whose first counter block is `wanted`: GHASH undone, by 1/H = H^(2^128 - 2).
            let h = u128::from_be_bytes(key.block(true, [0; 16]));
            let (mut inverse, mut square) = (one, h);
            for _ in 1..128 {
                square = product(square, square);
                inverse = product(inverse, square);
            }
            assert_eq!(product(h, inverse), one);
            let wanted = u128::from_be_bytes(random.block()) | 0xffff_ffff;
            let wanted = wanted - random.below(300) as u128;
            let iv = product(product(wanted, inverse) ^ 128, inverse);
            let length = 700 + random.below(9000);
            let data = random.bytes(length);
            message(&mut random, &kernels, &key, &iv.to_be_bytes(), b"", &data);
        }
    }
}

/// Whether this CPU has what GCM at once needs.
fn gcm_at_once() -> bool {
    let all = has(&[Feature::Aes, Feature::Pclmul, Feature::Ssse3]);
    if !all {
        println!("SKIPPED: this CPU has no AES-NI or PCLMULQDQ, or they are masked");
    }
    all
}

#[test]
fn gcm_at_once_of_a_block_at_most() {
    if !gcm_at_once() {
        return;
    }
    let mut random = Random(6);
    for bits in [128, 192, 256] {
        for (aad, length) in (0..=16).flat_map(|aad| (0..=16).map(move |length| (aad, length))) {
            let key = ExpandedKey::new(&random.bytes(bits / 8), true);
            let (iv, aad, data) = (random.bytes(12), random.bytes(aad), random.bytes(length));
            let (right, right_tag) = sealed(&key, &iv, &aad, &data);
            for (encrypt, from, to) in [(true, &data, &right), (false, &right, &data)] {
                // A byte more, which is not written.
                let mut out = vec![0x77; length + 1];
                let io = InOut::apart(from, &mut out[..length]);
                let iv = iv[..].try_into().unwrap();
                let tag = unsafe { gcm_once::message(key.keys(), encrypt, iv, &aad, io) };
                let what = format!("{bits}-bit key, {} + {length} bytes, encrypting {encrypt}", aad.len());
                assert_eq!((&out[..length], out[length]), (&to[..], 0x77), "{what}");
                assert_eq!(tag, right_tag, "{what}");
            }
        }
    }
}

/// The steps of a stream, in one part each.
#[test]
fn gcm_steps_of_a_block_at_most() {
    if !gcm_at_once() {
        return;
    }
    let mut random = Random(7);
    for bits in [128, 192, 256] {
        for (aad, length) in (0..=16).flat_map(|aad| (0..=16).map(move |length| (aad, length))) {
            let key = ExpandedKey::new(&random.bytes(bits / 8), true);
            let (iv, aad, data) = (random.bytes(12), random.bytes(aad), random.bytes(length));
            let (right, right_tag) = sealed(&key, &iv, &aad, &data);
            let [first, second, third] = [1, 2, 3].map(|n| [&iv[..], &[0, 0, 0, n]].concat().try_into().unwrap());
            let subkey = key.block(true, [0; 16]);
            for (encrypt, from, to) in [(true, &data, &right), (false, &right, &data)] {
                let mut out = vec![0x77; length + 1];
                let io = InOut::apart(from, &mut out[..length]);
                let (mut counter, mut hash): (Block, Block) = (second, [0; 16]);
                unsafe { gcm_once::part(key.keys(), &subkey, &mut counter, &mut hash, encrypt, &aad, io) };
                let what = format!("{bits}-bit key, {} + {length} bytes, encrypting {encrypt}", aad.len());
                assert_eq!(counter, if length == 0 { second } else { third }, "{what}");
                assert_eq!((&out[..length], out[length]), (&to[..], 0x77), "{what}");
                let lengths = [aad.len() as u64 * 8, length as u64 * 8];
                unsafe { gcm_once::last(key.keys(), &subkey, &first, lengths, &mut hash) };
                assert_eq!(hash, right_tag, "{what}");
            }
        }
    }
}
