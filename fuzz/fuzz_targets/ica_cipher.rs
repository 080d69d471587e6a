//! libica's modes of DES, triple DES and AES: what is encrypted decrypts, parts give what the whole gives, and what cannot be is
//! refused with nothing written.
#![no_main]

mod ica;

use adjunct_ica::abi::block::*;
use ica::{Choices, INVALID, OK, Pair};
use libfuzzer_sys::fuzz_target;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Ecb,
    Cbc,
    Stealing,
    Cfb,
    Ofb,
    Ctr,
    List,
    Xts,
    XtsEx,
}

use Mode::{Cbc, Cfb, Ctr, Ecb, List, Ofb, Stealing, Xts, XtsEx};

#[derive(Clone)]
struct Call {
    mode: Mode,
    /// 0: DES, 1: triple DES, 2: AES.
    cipher: usize,
    key: Vec<u8>,
    key_length: u32,
    /// The vector, counter or list of counters; of XTS the tweak.
    vector: Vec<u8>,
    /// The variant, feedback or width.
    number: u32,
    direction: u32,
}

/// The three functions of a mode.
macro_rules! three {
    ($call:ident, $des:ident $tdes:ident $aes:ident, ($($before:expr),*), ($($after:expr),*)) => {
        match $call.cipher {
            0 => $des($($before,)* $call.key.as_ptr(), $($after),*),
            1 => $tdes($($before,)* $call.key.as_ptr(), $($after),*),
            _ => $aes($($before,)* $call.key.as_ptr(), $call.key_length, $($after),*),
        }
    };
}

impl Call {
    fn block(&self) -> usize {
        if self.cipher == 2 { 16 } else { 8 }
    }

    fn run(&mut self, input: *const u8, output: *mut u8, length: usize) -> u32 {
        let (n, v, d) = (length as u64, self.vector.as_mut_ptr(), self.direction);
        let call = self;
        // SAFETY: the buffers have the lengths given.
        unsafe {
            match call.mode {
                Ecb => three!(call, ica_des_ecb ica_3des_ecb ica_aes_ecb, (input, output, n), (d)),
                Cbc => three!(call, ica_des_cbc ica_3des_cbc ica_aes_cbc, (input, output, n), (v, d)),
                Stealing => {
                    three!(call, ica_des_cbc_cs ica_3des_cbc_cs ica_aes_cbc_cs, (input, output, n), (v, d, call.number))
                }
                Cfb => three!(call, ica_des_cfb ica_3des_cfb ica_aes_cfb, (input, output, n), (v, call.number, d)),
                Ofb => three!(call, ica_des_ofb ica_3des_ofb ica_aes_ofb, (input, output, n), (v, d)),
                Ctr => three!(call, ica_des_ctr ica_3des_ctr ica_aes_ctr, (input, output, n), (v, call.number, d)),
                List => three!(call, ica_des_ctrlist ica_3des_ctrlist ica_aes_ctrlist, (input, output, n), (v, d)),
                Xts => {
                    let (first, second) = call.keys();
                    ica_aes_xts(input, output, n, first, second, call.key_length, v, d)
                }
                XtsEx => {
                    let (first, second) = call.keys();
                    let tweak = if call.number == 0 { std::ptr::null() } else { v.cast_const() };
                    ica_aes_xts_ex(input, output, n, first, second, call.key_length, tweak, v, d)
                }
            }
        }
    }

    /// XTS has two keys, one behind the other.
    fn keys(&self) -> (*const u8, *const u8) {
        (self.key.as_ptr(), self.key[self.key.len() / 2..].as_ptr())
    }

    fn legit(&self, length: usize) -> bool {
        let block = self.block();
        self.direction < 2
            && (self.cipher < 2
                || matches!(self.key_length, 16 | 32)
                || self.key_length == 24 && !matches!(self.mode, Xts | XtsEx))
            && match self.mode {
                Ecb | Cbc => length.is_multiple_of(block),
                Stealing => length >= block && matches!(self.number, 1..=3),
                Cfb => self.number >= 1 && self.number as usize <= block,
                Ctr => self.number >= 8 && self.number as usize <= 8 * block && self.number.is_multiple_of(8),
                Ofb | List => true,
                Xts | XtsEx => length >= 16,
            }
    }
}

fn call(choices: &mut Choices<'_>, length: usize) -> Call {
    let mode = [Ecb, Cbc, Stealing, Cfb, Ofb, Ctr, List, Xts, XtsEx][choices.below(9)];
    let xts = matches!(mode, Xts | XtsEx);
    let cipher = if xts { 2 } else { choices.below(3) };
    let block = if cipher == 2 { 16 } else { 8 };
    let key_length = choices.one_of(if xts { &[16, 32] } else { &[16, 24, 32] });
    let key_bytes = match cipher {
        0 => 8,
        1 => 24,
        // A length that cannot be is not looked at.
        _ if key_length > 32 => 64,
        _ => key_length as usize * if xts { 2 } else { 1 },
    };
    let number = match mode {
        Stealing => choices.one_of(&[1, 2, 3]),
        Cfb => choices.one_of(&[1, 2, 7, 8, block]),
        Ctr => choices.one_of(&[8, 16, 32, 64, 8 * block]),
        _ => choices.below(2) as u32,
    };
    let vector = if mode == List { length.next_multiple_of(block as usize) } else { block as usize };
    let mut vector = choices.bytes(vector);
    if mode == Ctr && choices.seldom(2) {
        // It overflows.
        vector.fill(0xFF);
    }
    Call { mode, cipher, key: choices.bytes(key_bytes), key_length, vector, number, direction: choices.one_of(&[0, 1]) }
}

/// Lengths that no buffer has, where there is a buffer at all.
fn too_long(choices: &mut Choices<'_>) {
    let mut own = call(choices, 0);
    let (mut input, mut output) = (choices.buffer(0), choices.buffer(0));
    let length = isize::MAX as usize + 1 + choices.wild() as usize * [1, 0x8000_0000][choices.below(2)];
    let vector = own.vector.clone();
    assert_eq!(own.run(input.pointer(), output.pointer(), length), INVALID, "{:?}", own.mode);
    assert!(own.vector == vector, "{:?} wrote before it refused", own.mode);
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    for _ in 0..4 {
        if choices.seldom(32) {
            too_long(&mut choices);
        }
        let length = choices.length(700);
        let text = choices.bytes(length);
        let first = call(&mut choices, length);
        let mut own = first.clone();
        let mut pair = Pair::new(&mut choices, &text, length);
        let before = pair.all();
        let (input, output) = (pair.input(), pair.output());
        let code = own.run(input, output, length);
        if pair.any_null() || !first.legit(length) {
            assert_eq!(code, INVALID, "{:?}", first.mode);
            assert!(before == pair.all() && own.vector == first.vector, "{:?} wrote before it refused", first.mode);
            continue;
        }
        assert_eq!(code, OK, "{:?}", first.mode);
        let made = pair.get().to_vec();

        // Back again.
        let mut back = first.clone();
        back.direction = 1 - first.direction;
        let mut plain = vec![0; length];
        assert_eq!(back.run(made.as_ptr(), plain.as_mut_ptr(), length), OK);
        assert!(plain == text, "{:?} does not come back", first.mode);

        // In parts.
        if matches!(first.mode, Ecb | Cbc | Ofb | Ctr | Cfb | XtsEx) {
            let unit = if first.mode == Cfb { first.number as usize } else { first.block() };
            let part = choices.below(length / unit + 1) * unit;
            if first.mode == XtsEx && (part < 16 || length - part < 16) {
                continue;
            }
            let mut own = first.clone();
            let mut parts = vec![0; length];
            assert_eq!(own.run(text.as_ptr(), parts.as_mut_ptr(), part), OK);
            own.number = if first.mode == XtsEx { 0 } else { first.number };
            assert_eq!(own.run(text[part..].as_ptr(), parts[part..].as_mut_ptr(), length - part), OK);
            assert!(parts == made, "{:?} in parts differs", first.mode);
        }
    }
});
