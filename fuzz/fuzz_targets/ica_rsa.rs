//! libica's RSA: keys of any size come with both forms agreeing, and anything else that is given as a key breaks nothing.
#![no_main]

mod ica;

use adjunct_ica::abi::rsa::*;
use ica::{Buffer, Choices, INVALID, OK, PERMISSION};
use libfuzzer_sys::fuzz_target;

/// The numbers of a key in the Chinese-remainder form: p, q, dp, dq, qInverse.
struct Crt {
    length: u32,
    numbers: [Buffer; 5],
}

impl Crt {
    fn new(choices: &mut Choices<'_>, length: u32) -> Crt {
        let half = (length as usize).div_ceil(2);
        let numbers = [half + 8, half, half + 8, half, half + 8].map(|room| choices.buffer(room));
        Crt { length, numbers }
    }

    fn key(&mut self) -> CrtKey {
        let [p, q, dp, dq, qinv] = self.numbers.each_mut().map(Buffer::pointer);
        CrtKey { key_length: self.length, p, q, dp, dq, qinv }
    }

    fn any_null(&self) -> bool {
        self.numbers.iter().any(|number| number.null)
    }
}

fn generated(choices: &mut Choices<'_>) {
    // Small ones are quick, and have all the odd lengths.
    let bits = if choices.seldom(64) { choices.wild() } else { 40 + choices.below(300) as u32 };
    // Large ones take seconds.
    let bits = if (601..=4096).contains(&bits) { bits % 600 } else { bits };
    let length = bits.div_ceil(8).min(600);
    let (mut modulus, mut exponent) = (choices.buffer(length as usize), choices.buffer(length as usize));
    if !choices.seldom(4) {
        let mut small = vec![0; length as usize];
        if let Some(last) = small.last_mut() {
            *last = [0, 3, 5, 17, 255][choices.below(5)];
        }
        exponent.set(&small);
    }
    let mut crt = Crt::new(choices, length);
    let mut public = ModExpoKey { key_length: length, modulus: modulus.pointer(), exponent: exponent.pointer() };
    let mut key = crt.key();
    // SAFETY: the numbers have the lengths given.
    let code = unsafe { ica_rsa_key_generate_crt(-1, bits, &raw mut public, &raw mut key) };
    assert!(matches!(code, OK | INVALID | PERMISSION), "{code}");
    let any_null = modulus.null || exponent.null || crt.any_null();
    assert!(code != OK || !any_null);
    if code != OK {
        return;
    }
    let mut input = choices.bytes(length as usize);
    let extra = (8 * length - bits) as usize;
    input[0] &= 0x7F >> extra;
    let (mut made, mut back) = (vec![0; length as usize], vec![0; length as usize]);
    // SAFETY: as above.
    unsafe {
        assert_eq!(ica_rsa_crt(-1, input.as_ptr(), &raw const key, made.as_mut_ptr()), OK);
        assert_eq!(ica_rsa_mod_expo(-1, made.as_ptr(), &raw const public, back.as_mut_ptr()), OK);
        assert!(back == input, "RSA of {bits} bits does not come back");
        assert_eq!(ica_rsa_crt_key_check(&raw mut key), OK);
        // Turned round, the key is turned back.
        let (half, long) = (crt.numbers[1].len(), crt.numbers[0].len());
        let numbers = crt.numbers.each_ref().map(|number| number.get().to_vec());
        let widen = |number: &[u8]| [vec![0; long - half], number.to_vec()].concat();
        crt.numbers[0].set(&widen(&numbers[1]));
        crt.numbers[1].set(&numbers[0][long - half..]);
        crt.numbers[2].set(&widen(&numbers[3]));
        crt.numbers[3].set(&numbers[2][long - half..]);
        let code = ica_rsa_crt_key_check(&raw mut key);
        assert!(code == 1, "turned: {code}");
        assert!(crt.numbers.each_ref().map(|number| number.get().to_vec()) == numbers);
    }
}

fn wild(choices: &mut Choices<'_>) {
    let length = choices.length(200);
    let claimed = if choices.seldom(16) { choices.wild() } else { length as u32 };
    let room = if claimed > 4096 { 16 } else { claimed as usize };
    let (mut modulus, mut exponent) = (choices.buffer(room), choices.buffer(room));
    if choices.seldom(2) {
        // Less work.
        let mut small = vec![0; room];
        let from = room.saturating_sub(2);
        small[from..].copy_from_slice(&exponent.get()[from..]);
        exponent.set(&small);
    }
    let (mut input, mut output) = (choices.buffer(room), choices.buffer(room));
    let key = ModExpoKey { key_length: claimed, modulus: modulus.pointer(), exponent: exponent.pointer() };
    let before = output.get().to_vec();
    // SAFETY: the numbers have the lengths given; a length that cannot be is refused.
    unsafe {
        let code = ica_rsa_mod_expo(-1, input.pointer(), &raw const key, output.pointer());
        assert!(code == OK || before == output.get(), "written before it refused");
        let mut crt = Crt::new(choices, room as u32);
        let mut other = crt.key();
        other.key_length = claimed;
        let code = ica_rsa_crt(-1, input.pointer(), &raw const other, output.pointer());
        assert!(code != OK || !output.null);
        ica_rsa_crt_key_check(&raw mut other);
        let _ = (modulus.get(), exponent.get(), input.get(), output.get());
        crt.numbers.iter().for_each(|number| _ = number.get());
    }
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    if choices.seldom(2) { generated(&mut choices) } else { wild(&mut choices) }
});
