//! A machine in software: the instructions as the Principles of Operation describe them, over AWS-LC and plain references. It
//! ends its work in parts, as a real one may at any time, after one to five units chosen by a generator.

pub mod cipher;
pub mod hash;
mod public;

use adjunct_kernels::cpacf::{Instruction, Machine, Query, Registers};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A model of a machine with every function.
#[derive(Debug, Default)]
pub struct Model {
    seed: AtomicU64,
    parts: AtomicUsize,
    executed: Mutex<HashMap<(Instruction, u8), usize>>,
}

thread_local! {
    static REFUSING: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` while every instruction of public keys refuses what this thread gives it.
pub fn refusing<R>(work: impl FnOnce() -> R) -> R {
    REFUSING.set(true);
    let result = work();
    REFUSING.set(false);
    result
}

impl Model {
    /// How often a function has been executed.
    pub fn executed(&self, instruction: Instruction, code: u8) -> usize {
        let executed = self.executed.lock().unwrap_or_else(PoisonError::into_inner);
        executed.get(&(instruction, code)).copied().unwrap_or(0)
    }

    /// How often an instruction has ended in part.
    pub fn parts(&self) -> usize {
        self.parts.load(Relaxed)
    }

    /// How many units an execution does.
    fn units(&self) -> usize {
        let seed = self.seed.load(Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.seed.store(seed, Relaxed);
        1 + (seed >> 40) as usize % 5
    }

    /// The condition code, 3 where something is left.
    fn ended(&self, whole: bool) -> u8 {
        if whole {
            return 0;
        }
        self.parts.fetch_add(1, Relaxed);
        3
    }

    /// Works on units of the source, which `work` may turn into units of the destination.
    ///
    /// # Safety
    /// The registers lead to source and destination of the lengths in them, as an instruction requires.
    unsafe fn each(&self, r: &mut Registers, unit: usize, mut work: impl FnMut(&mut [u8])) -> u8 {
        assert_eq!(r.source_length % unit, 0, "a length that is a specification exception");
        for _ in 0..self.units() {
            if r.source_length == 0 {
                break;
            }
            // SAFETY: a unit lies there, as the caller of the instruction says.
            unsafe {
                let mut data = std::slice::from_raw_parts(r.source, unit).to_vec();
                work(&mut data);
                if !r.destination.is_null() {
                    r.destination.copy_from(data.as_ptr(), unit);
                    r.destination = r.destination.add(unit);
                }
                r.source = r.source.add(unit);
            }
            r.source_length -= unit;
        }
        self.ended(r.source_length == 0)
    }
}

/// The codes of every instruction's functions, as a z16 has those that are of use here.
fn codes(instruction: Instruction) -> &'static [u8] {
    use Instruction::*;
    match instruction {
        Km => &[0, 1, 2, 3, 18, 19, 20, 50, 52],
        Kmc | Kmctr | Kmf | Kmo | Kmac => &[0, 1, 2, 3, 18, 19, 20],
        Kma => &[0, 18, 19, 20],
        Kimd => &[0, 1, 2, 3, 32, 33, 34, 35, 36, 37, 65],
        Klmd => &[0, 1, 2, 3, 32, 33, 34, 35, 36, 37],
        Pcc => &[0, 1, 2, 3, 18, 19, 20, 50, 52, 64, 65, 66, 72, 73, 80, 81],
        Prno => &[0, 3, 112, 114],
        Kdsa => &[0, 1, 2, 3, 9, 10, 11, 32, 36, 40, 44],
    }
}

impl Machine for Model {
    fn facility(&self, bit: usize) -> bool {
        [17, 57, 76, 77, 146, 155].contains(&bit)
    }

    unsafe fn execute(&self, instruction: Instruction, r: &mut Registers) -> u8 {
        let code = (r.function & 0x7f) as u8;
        assert!(codes(instruction).contains(&code), "{instruction:?} has no function {code}");
        if code == 0 {
            // SAFETY: the block of a query.
            unsafe { *r.parameters.cast() = Query::of(codes(instruction)) };
            return 0;
        }
        *self.executed.lock().unwrap_or_else(PoisonError::into_inner).entry((instruction, code)).or_default() += 1;
        let modifier = r.function & 0x80 != 0;
        use Instruction::*;
        // SAFETY: parameter block and operands are as the function demands; that they are is what is tested.
        unsafe {
            match instruction {
                Km if code >= 50 => self.xts(code, modifier, r),
                Km | Kmc | Kmctr | Kmf | Kmo | Kmac => self.cipher(instruction, code, modifier, r),
                Kma => self.gcm(code, modifier, r),
                Kimd if code == 65 => self.ghash(r),
                Kimd => self.absorb(code, r),
                Klmd => self.last(code, r),
                Pcc if code < 50 => self.cmac_last(code, r),
                Pcc if code < 64 => self.xts_parameter(code, r),
                Pcc | Kdsa => self.public(instruction, code, modifier, r),
                Prno if code == 114 => self.entropy(r),
                Prno => {
                    assert!(!modifier, "nobody has it seed");
                    self.drbg(r)
                }
            }
        }
    }
}

const fn block_length(code: u8) -> usize {
    if code < 18 { 8 } else { 16 }
}

const fn key_length(code: u8) -> usize {
    match code {
        1 => 8,
        18 => 16,
        3 | 19 => 24,
        20 => 32,
        _ => panic!("a cipher's code"),
    }
}

/// A part of the parameter block.
///
/// # Safety
/// The parameter block in the registers has `at` + `length` bytes, which no other code uses while the result lives.
unsafe fn field<'a>(r: &Registers, at: usize, length: usize) -> &'a mut [u8] {
    // SAFETY: the function's block is at least as long.
    unsafe { std::slice::from_raw_parts_mut(r.parameters.add(at), length) }
}

fn xor(to: &mut [u8], with: &[u8]) {
    to.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

/// Times x in XTS's order of bytes.
fn double(tweak: &mut [u8]) {
    let carry = tweak[15] >> 7;
    for i in (1..16).rev() {
        tweak[i] = tweak[i] << 1 | tweak[i - 1] >> 7;
    }
    tweak[0] = (tweak[0] << 1) ^ (carry * 0x87);
}

/// The product of GHASH (SP 800-38D, 6.3), bit by bit.
fn multiply(hash: &mut [u8], subkey: &[u8]) {
    let number = |bytes: &[u8]| u128::from_be_bytes(bytes.try_into().expect("a block"));
    let (x, mut v, mut z) = (number(hash), number(subkey), 0u128);
    for i in (0..128).rev() {
        if x >> i & 1 == 1 {
            z ^= v;
        }
        v = (v >> 1) ^ ((v & 1) * (0xe1 << 120));
    }
    hash.copy_from_slice(&z.to_be_bytes());
}

impl Model {
    unsafe fn cipher(&self, instruction: Instruction, code: u8, decrypt: bool, r: &mut Registers) -> u8 {
        let size = block_length(code);
        let keyed = matches!(instruction, Instruction::Km | Instruction::Kmctr);
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let key = field(r, if keyed { 0 } else { size }, key_length(code)).to_vec();
            let chain = field(r, 0, size);
            let run = |encrypt: bool, block: &mut [u8]| cipher::run(&key, size, encrypt, block);
            match instruction {
                Instruction::Km => self.each(r, size, |block| run(!decrypt, block)),
                Instruction::Kmc if decrypt => self.each(r, size, |block| {
                    let input = block.to_vec();
                    run(false, block);
                    xor(block, chain);
                    chain.copy_from_slice(&input);
                }),
                Instruction::Kmc => self.each(r, size, |block| {
                    xor(block, chain);
                    run(true, block);
                    chain.copy_from_slice(block);
                }),
                Instruction::Kmac => self.each(r, size, |block| {
                    xor(chain, block);
                    run(true, chain);
                }),
                Instruction::Kmo => self.each(r, size, |block| {
                    run(true, chain);
                    xor(block, chain);
                }),
                Instruction::Kmctr => {
                    let counters = r.third;
                    let mut done = 0;
                    let condition = self.each(r, size, |block| {
                        let mut counter = std::slice::from_raw_parts(counters.add(done), size).to_vec();
                        run(true, &mut counter);
                        xor(block, &counter);
                        done += size;
                    });
                    r.third = counters.add(done);
                    condition
                }
                _ => {
                    let segment = (r.function >> 24 & 0xff) as usize;
                    assert!((1..=size).contains(&segment), "a length that is a specification exception");
                    self.each(r, segment, |data| {
                        let mut stream = chain.to_vec();
                        run(true, &mut stream);
                        let input = data.to_vec();
                        xor(data, &stream);
                        chain.rotate_left(segment);
                        chain[size - segment..].copy_from_slice(if decrypt { &input } else { data });
                    })
                }
            }
        }
    }

    unsafe fn xts(&self, code: u8, decrypt: bool, r: &mut Registers) -> u8 {
        let length = if code == 50 { 16 } else { 32 };
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let (key, parameter) = (field(r, 0, length).to_vec(), field(r, length, 16));
            self.each(r, 16, |block| {
                xor(block, parameter);
                cipher::run(&key, 16, !decrypt, block);
                xor(block, parameter);
                double(parameter);
            })
        }
    }

    unsafe fn xts_parameter(&self, code: u8, r: &mut Registers) -> u8 {
        let length = if code == 50 { 16 } else { 32 };
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let (key, tweak) = (field(r, 0, length), field(r, length, 16));
            let number = u128::from_be_bytes(field(r, length + 16, 16).try_into().expect("a block"));
            let parameter = field(r, length + 48, 16);
            assert!(field(r, length + 32, 16).iter().all(|&b| b == 0));
            parameter.copy_from_slice(tweak);
            cipher::run(key, 16, true, parameter);
            (0..number).for_each(|_| double(parameter));
        }
        0
    }

    unsafe fn cmac_last(&self, code: u8, r: &mut Registers) -> u8 {
        let size = block_length(code);
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let bits = field(r, 0, 8);
            assert!(bits[1..].iter().all(|&b| b == 0) && bits[0] % 8 == 0 && bits[0] as usize <= size * 8);
            let (mut last, chain) = (field(r, 8, size).to_vec(), field(r, 8 + size, size));
            let key = field(r, 8 + 2 * size, key_length(code));
            let mut subkey = vec![0; size];
            cipher::run(key, size, true, &mut subkey);
            let times_x = |block: &mut [u8]| {
                let carry = block[0] >> 7;
                for i in 0..size {
                    block[i] = block[i] << 1 | block.get(i + 1).map_or(0, |next| next >> 7);
                }
                block[size - 1] ^= carry * if size == 16 { 0x87 } else { 0x1b };
            };
            times_x(&mut subkey);
            let length = bits[0] as usize / 8;
            if length < size {
                last[length] = 0x80;
                last[length + 1..].fill(0);
                times_x(&mut subkey);
            }
            xor(chain, &last);
            xor(chain, &subkey);
            cipher::run(key, size, true, chain);
        }
        0
    }

    unsafe fn ghash(&self, r: &mut Registers) -> u8 {
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let (hash, subkey) = (field(r, 0, 16), field(r, 16, 16));
            self.each(r, 16, |block| {
                xor(hash, block);
                multiply(hash, subkey);
            })
        }
    }

    unsafe fn gcm(&self, code: u8, decrypt: bool, r: &mut Registers) -> u8 {
        let (last_text, last_aad, supplied) =
            (r.function & 0x100 != 0, r.function & 0x200 != 0, r.function & 0x400 != 0);
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let (counter, tag, subkey) = (field(r, 12, 4), field(r, 16, 16), field(r, 32, 16));
            let (first, key) = (field(r, 64, 16).to_vec(), field(r, 80, key_length(code)).to_vec());
            assert!(field(r, 0, 12).iter().all(|&b| b == 0));
            assert!(
                last_aad || r.third_length.is_multiple_of(16) && r.source_length == 0,
                "more additional data to come"
            );
            assert!(last_text || r.source_length.is_multiple_of(16), "more text to come");
            if !supplied {
                subkey.fill(0);
                cipher::run(&key, 16, true, subkey);
                r.function |= 0x400;
            }
            let mut units = self.units();
            let mut absorb = |data: &[u8]| {
                xor(tag, data);
                multiply(tag, subkey);
            };
            while r.third_length > 0 && units > 0 {
                let length = r.third_length.min(16);
                absorb(std::slice::from_raw_parts(r.third, length));
                (r.third, r.third_length, units) = (r.third.add(length), r.third_length - length, units - 1);
            }
            while r.third_length == 0 && r.source_length > 0 && units > 0 {
                let length = r.source_length.min(16);
                let next = u32::from_be_bytes((&*counter).try_into().expect("a counter")).wrapping_add(1);
                counter.copy_from_slice(&next.to_be_bytes());
                let mut stream = first.clone();
                stream[12..].copy_from_slice(counter);
                cipher::run(&key, 16, true, &mut stream);
                let mut data = std::slice::from_raw_parts(r.source, length).to_vec();
                if decrypt {
                    absorb(&data);
                }
                xor(&mut data, &stream);
                if !decrypt {
                    absorb(&data);
                }
                r.destination.copy_from(data.as_ptr(), length);
                (r.source, r.destination) = (r.source.add(length), r.destination.add(length));
                (r.source_length, units) = (r.source_length - length, units - 1);
            }
            // The end of a message is a unit of its own.
            if r.third_length > 0 || r.source_length > 0 || last_text && units == 0 {
                return self.ended(false);
            }
            if !(last_text && last_aad) {
                return 2;
            }
            absorb(field(r, 48, 16));
            let mut stream = first;
            cipher::run(&key, 16, true, &mut stream);
            xor(tag, &stream);
        }
        0
    }

    unsafe fn absorb(&self, code: u8, r: &mut Registers) -> u8 {
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let state = field(r, 0, hash::state_length(code));
            self.each(r, hash::block_length(code), |block| hash::compress(code, state, block))
        }
    }

    unsafe fn last(&self, code: u8, r: &mut Registers) -> u8 {
        let block = hash::block_length(code);
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let state = field(r, 0, hash::state_length(code));
            let more = r.function & 0x100 != 0;
            if !more {
                let whole = r.source_length / block * block;
                let rest = r.source_length - whole;
                if whole > 0 {
                    r.source_length = whole;
                    let destination = std::mem::replace(&mut r.destination, std::ptr::null_mut());
                    let condition = self.each(r, block, |block| hash::compress(code, state, block));
                    r.source_length += rest;
                    r.destination = destination;
                    if condition != 0 {
                        return condition;
                    }
                }
                let rest = std::slice::from_raw_parts(r.source, rest);
                let bits = field(r, hash::state_length(code), hash::length_length(code));
                hash::pad(code, rest, bits).chunks(block).for_each(|b| hash::compress(code, state, b));
                (r.source, r.source_length) = (r.source.add(rest.len()), 0);
            }
            if !matches!(code, 36 | 37) {
                return 0;
            }
            // Output: of a message that has just ended its first block is there, of another the next is made first.
            let mut there = !more;
            for _ in 0..self.units() {
                if r.destination_length == 0 {
                    break;
                }
                if !std::mem::replace(&mut there, false) {
                    hash::compress(code, state, &vec![0; block]);
                }
                let length = r.destination_length.min(block);
                r.destination.copy_from(state.as_ptr(), length);
                (r.destination, r.destination_length) = (r.destination.add(length), r.destination_length - length);
            }
            if r.destination_length > 0 {
                r.function |= 0x100;
            }
            self.ended(r.destination_length == 0)
        }
    }

    unsafe fn public(&self, instruction: Instruction, code: u8, modifier: bool, r: &mut Registers) -> u8 {
        if REFUSING.get() {
            return 2;
        }
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            // The first execution leaves its state in the block, the second goes on from there.
            let page = field(r, 0, 4096);
            let state = std::mem::replace(&mut page[4095], 0xa5);
            if state != 0xa5 {
                assert_eq!(state, 0, "a state that has not been cleared");
                return self.ended(false);
            }
            page[4095] = 0;
            let message = match r.source_length {
                0 => &[],
                length => std::slice::from_raw_parts(r.source, length),
            };
            public::run(instruction, code, modifier, page, message)
        }
    }

    unsafe fn entropy(&self, r: &mut Registers) -> u8 {
        assert_eq!(r.destination_length, 0, "nobody wants raw bytes");
        // Bytes that are told from any others: their places.
        while r.source_length > 0 {
            // SAFETY: the second operand is written.
            unsafe { r.source.cast_mut().write(r.source_length as u8) };
            (r.source, r.source_length) = (r.source.wrapping_add(1), r.source_length - 1);
            if r.source_length.is_multiple_of(64) {
                return self.ended(r.source_length == 0);
            }
        }
        0
    }

    unsafe fn drbg(&self, r: &mut Registers) -> u8 {
        // SAFETY: the caller is `execute`, whose own caller gives a parameter block and operands as the function demands.
        unsafe {
            let out = std::slice::from_raw_parts_mut(r.destination, r.destination_length);
            hash::drbg_generate(field(r, 0, 240), out);
            (r.destination, r.destination_length) = (r.destination.add(out.len()), 0);
        }
        0
    }
}
