//! libica's RSA: keys of any size do the same in both forms and back, what is no key is refused with nothing written, and small
//! numbers come out as plain arithmetic has them.
#![no_main]

mod ica;
#[path = "ica/rsa_keys.rs"]
mod rsa_keys;

use adjunct_ica::abi::library::ica_cleanup;
use adjunct_ica::abi::rsa::*;
use ica::{Buffer, Choices, INVALID, IO, OK, PERMISSION, Pair};
use libfuzzer_sys::fuzz_target;
use rsa_keys::KEYS;
use std::sync::OnceLock;

/// The bytes in front of p, dp and qInverse.
const PADDING: usize = 8;

/// A key that is one.
struct Known {
    bits: u32,
    /// Modulus, private exponent and public exponent, as long as the modulus.
    n: Vec<u8>,
    d: Vec<u8>,
    e: Vec<u8>,
    /// p, q, dp, dq, qInverse, half as long.
    halves: [Vec<u8>; 5],
    /// Long primes and a short public exponent: a wrong number among the five is always found.
    checked: bool,
}

fn number(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn known() -> &'static [Known] {
    static KNOWN: OnceLock<Vec<Known>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let one = |key: &rsa_keys::Key| {
            let n = number(key.n);
            Known {
                bits: key.bits,
                d: number(key.d),
                e: widened(&key.e.to_be_bytes(), n.len()),
                n,
                halves: [key.p, key.q, key.dp, key.dq, key.qinv].map(number),
                checked: key.bits >= 300,
            }
        };
        KEYS.iter().map(one).collect()
    })
}

/// A number with zeros in front.
fn widened(number: &[u8], length: usize) -> Vec<u8> {
    [vec![0; length - number.len()], number.to_vec()].concat()
}

/// The long ones take a hundred times as long as the others.
fn some_key(choices: &mut Choices<'_>) -> &'static Known {
    let (short, long): (Vec<&Known>, Vec<&Known>) = known().iter().partition(|key| key.bits < 600);
    let keys = if choices.seldom(64) { long } else { short };
    keys[choices.below(keys.len())]
}

/// The numbers of a key in the Chinese-remainder form where a function finds them.
struct Crt {
    length: u32,
    numbers: [Buffer; 5],
}

impl Crt {
    fn lengths(length: usize) -> [usize; 5] {
        let half = length.div_ceil(2);
        [half + PADDING, half, half + PADDING, half, half + PADDING]
    }

    fn of(choices: &mut Choices<'_>, length: usize, numbers: [&[u8]; 5]) -> Crt {
        let lengths = Crt::lengths(length);
        let mut at = 0..;
        let numbers = numbers.map(|number| choices.holding(&widened(number, lengths[at.next().unwrap()])));
        Crt { length: length as u32, numbers }
    }

    fn key(&mut self) -> CrtKey {
        let [p, q, dp, dq, qinv] = self.numbers.each_mut().map(Buffer::pointer);
        CrtKey { key_length: self.length, p, q, dp, dq, qinv }
    }

    fn any_null(&self) -> bool {
        self.numbers.iter().any(|number| number.null)
    }

    fn contents(&self) -> [Vec<u8>; 5] {
        self.numbers.each_ref().map(|number| number.get().to_vec())
    }

    fn private(&mut self, input: *const u8, output: *mut u8) -> u32 {
        let key = self.key();
        // SAFETY: the numbers have the lengths given.
        unsafe { ica_rsa_crt(-1, input, &raw const key, output) }
    }
}

fn power(n: &mut Buffer, exponent: &mut Buffer, input: *const u8, output: *mut u8) -> u32 {
    let key = ModExpoKey { key_length: n.len() as u32, modulus: n.pointer(), exponent: exponent.pointer() };
    // SAFETY: the numbers have the lengths given.
    unsafe { ica_rsa_mod_expo(-1, input, &raw const key, output) }
}

fn turned<'a>([p, q, dp, dq, _]: [&'a [u8]; 5], qinv: &'a [u8]) -> [&'a [u8]; 5] {
    [q, p, dq, dp, qinv]
}

/// Both forms, the second perhaps turned round, and longer than the modulus perhaps.
fn round_trip(choices: &mut Choices<'_>) {
    let key = some_key(choices);
    let length = key.n.len() + if choices.seldom(4) { choices.below(20) } else { 0 };
    let mut input = widened(&choices.bytes(key.n.len()), length);
    let front = length - key.n.len();
    if !choices.seldom(16) && input[front..] >= key.n[..] {
        input[front] = 0;
    }
    let below = input[front..] < key.n[..];
    let exponents = [&key.d, &key.e].map(|number| widened(number, length));
    let (mut n, [mut d, mut e]) = (choices.holding(&widened(&key.n, length)), exponents.map(|e| choices.holding(&e)));
    let wild = choices.bytes(key.halves[4].len());
    let halves = key.halves.each_ref().map(Vec::as_slice);
    let numbers = if choices.seldom(2) { turned(halves, &wild) } else { halves };
    let mut crt = Crt::of(choices, length, numbers);

    let mut pair = Pair::new(choices, &input, length);
    let before = pair.all();
    let (from, to) = (pair.input(), pair.output());
    let by_exponent = choices.seldom(2);
    let (code, null) = match by_exponent {
        true => (power(&mut n, &mut d, from, to), n.null || d.null),
        false => (crt.private(from, to), crt.any_null()),
    };
    if null || pair.any_null() || !below {
        assert_eq!(code, INVALID);
        assert!(before == pair.all(), "written before it refused");
        return;
    }
    assert_eq!(code, OK, "{} bits", key.bits);
    let made = pair.get().to_vec();
    n.null = false;
    (d.null, e.null) = (false, false);
    crt.numbers.iter_mut().for_each(|number| number.null = false);
    let (mut other, mut back) = (vec![0; length], vec![0; length]);
    let code = match by_exponent {
        false => power(&mut n, &mut d, input.as_ptr(), other.as_mut_ptr()),
        true => crt.private(input.as_ptr(), other.as_mut_ptr()),
    };
    assert!(code == OK && made == other, "the two forms of {} bits differ", key.bits);
    assert_eq!(power(&mut n, &mut e, made.as_ptr(), back.as_mut_ptr()), OK);
    assert!(back == input, "RSA of {} bits does not come back", key.bits);
}

/// A number as it may be given instead.
fn altered(choices: &mut Choices<'_>, number: &[u8], others: &[Vec<u8>; 5]) -> Vec<u8> {
    let mut made = number.to_vec();
    let last = made.len() - 1;
    match choices.below(8) {
        0 => made[choices.below(last + 1)] ^= 1 << choices.below(8),
        1 => made.fill(0),
        2 => {
            made.fill(0);
            made[last] = choices.below(8) as u8;
        }
        3 => made[last] &= !1,
        4 => made.fill(0xFF),
        5 => made = others[choices.below(5)].clone(),
        6 => made = choices.bytes(last + 1),
        _ => made[last] = made[last].wrapping_add(2),
    }
    made
}

/// Keys with numbers that do not belong to them: refused with nothing written, or they are keys and do the same twice.
fn no_key(choices: &mut Choices<'_>) {
    let key = some_key(choices);
    let length = key.n.len();
    let mut numbers = key.halves.clone();
    let which = choices.below(5);
    numbers[which] = altered(choices, &key.halves[which], &key.halves);
    let only = !choices.seldom(4);
    if !only {
        let which = choices.below(5);
        numbers[which] = altered(choices, &key.halves[which], &key.halves);
    }
    let wrong = numbers != key.halves;
    let mut crt = Crt::of(choices, length, numbers.each_ref().map(Vec::as_slice));
    if choices.seldom(8) {
        // In front of p, dp or qInverse.
        let at = [0, 2, 4][choices.below(3)];
        let mut number = crt.numbers[at].get().to_vec();
        number[choices.below(PADDING)] = choices.byte();
        crt.numbers[at].set(&number);
    }
    let input = choices.bytes(length);
    let mut output = choices.buffer(length);
    let before = (output.get().to_vec(), crt.contents());
    let code = crt.private(input.as_ptr(), output.pointer());
    assert!(matches!(code, OK | INVALID | PERMISSION | IO), "{code}");
    assert!(before.1 == crt.contents(), "the key is written");
    if code != OK {
        assert!(before.0 == output.get(), "written before it refused");
    } else {
        assert!(!output.null && !crt.any_null());
        let mut again = vec![0; length];
        assert_eq!(crt.private(input.as_ptr(), again.as_mut_ptr()), OK);
        assert!(again == output.get());
    }
    // A prime that became the smaller one leaves another key, whose qInverse is not looked at.
    if wrong && only && key.checked && which >= 2 {
        assert_eq!(code, INVALID, "number {which} of {} bits is wrong", key.bits);
    }
    let mut own = crt.key();
    // SAFETY: the numbers have the lengths given.
    let code = unsafe { ica_rsa_crt_key_check(&raw mut own) };
    assert!(matches!(code, 0 | 1 | INVALID), "{code}");
    assert!(code == 1 || before.1 == crt.contents(), "written, but not turned");
}

/// A key is left as it is, one that is turned round is turned back.
fn check(choices: &mut Choices<'_>) {
    let key = some_key(choices);
    let halves = key.halves.each_ref().map(Vec::as_slice);
    let wild = choices.bytes(halves[4].len());
    let turn = choices.seldom(2);
    let length = key.n.len() + if choices.seldom(4) { choices.below(20) } else { 0 };
    let mut crt = Crt::of(choices, length, if turn { turned(halves, &wild) } else { halves });
    let before = crt.contents();
    let mut own = crt.key();
    // SAFETY: the numbers have the lengths given.
    let code = unsafe { ica_rsa_crt_key_check(&raw mut own) };
    if crt.any_null() {
        assert_eq!(code, INVALID);
        assert!(before == crt.contents());
        return;
    }
    assert_eq!(code, u32::from(turn));
    let lengths = Crt::lengths(length);
    let right: [Vec<u8>; 5] = std::array::from_fn(|i| widened(halves[i], lengths[i]));
    assert!(crt.contents() == right);
}

fn plain_power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64;
    let (mut square, mut result) = (base % modulus, 1 % modulus);
    while exponent != 0 {
        if exponent & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        exponent >>= 1;
    }
    result
}

/// Numbers of a word, with any number of zeros in front.
fn small(choices: &mut Choices<'_>) {
    let mut word = || match choices.below(4) {
        0 => choices.below(300) as u64,
        1 => u64::from(choices.wild()),
        2 => u64::MAX - choices.below(300) as u64,
        _ => u64::from(choices.wild()) << 32 | u64::from(choices.wild()),
    };
    let [base, exponent, mut modulus] = [word(), word(), word()];
    if !choices.seldom(8) {
        modulus |= 1;
    }
    let base = if modulus == 0 || choices.seldom(8) { base } else { base % modulus };
    let length = 8 + if choices.seldom(4) { choices.below(100) } else { choices.below(16) };
    let mut place = |number: u64| choices.holding(&widened(&number.to_be_bytes(), length));
    let (mut n, mut e) = (place(modulus), place(exponent));
    let mut pair = Pair::new(choices, &widened(&base.to_be_bytes(), length), length);
    let before = pair.all();
    let code = power(&mut n, &mut e, pair.input(), pair.output());
    let can_be = modulus >= 3 && modulus % 2 == 1 && exponent != 0 && base < modulus;
    if !can_be || n.null || e.null || pair.any_null() {
        assert_eq!(code, INVALID, "{base}^{exponent} mod {modulus}");
        assert!(before == pair.all(), "written before it refused");
    } else {
        assert_eq!(code, OK, "{base}^{exponent} mod {modulus}");
        assert!(pair.get() == widened(&plain_power(base, exponent, modulus).to_be_bytes(), length));
    }
}

/// Numbers of any kind and length. Of those that no key has, nothing is there to be looked at.
fn wild(choices: &mut Choices<'_>) {
    let claimed = match choices.below(8) {
        0 => choices.wild(),
        // An inverse of long numbers takes as long as a thousand calls with short ones.
        1 if choices.seldom(16) => choices.below(513) as u32,
        _ => choices.below(64) as u32,
    };
    let possible = (8..=512).contains(&claimed);
    let room = if possible { claimed as usize } else { 0 };
    let (mut modulus, mut exponent) = (choices.buffer(room), choices.buffer(room));
    if room > 64 || choices.seldom(2) {
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
        let null = modulus.null || exponent.null || input.null || output.null;
        let even = modulus.get().last().is_some_and(|byte| byte % 2 == 0);
        assert!(code == OK || matches!(code, INVALID | PERMISSION) && before == output.get(), "{code}");
        assert!(code != OK || possible && !null && !even && input.get() < modulus.get());
        // As if they were of no bytes, where that is all that is there.
        let lengths = if possible { Crt::lengths(room) } else { [0; 5] };
        let mut crt = Crt { length: claimed, numbers: lengths.map(|length| choices.buffer(length)) };
        let mut other = crt.key();
        let before = (output.get().to_vec(), crt.contents());
        let code = ica_rsa_crt(-1, input.pointer(), &raw const other, output.pointer());
        assert!(code == OK && possible || matches!(code, INVALID | PERMISSION | IO), "{code}");
        assert!(code == OK || before.0 == output.get(), "written before it refused");
        let code = ica_rsa_crt_key_check(&raw mut other);
        assert!(code == 1 || before.1 == crt.contents());
        // And no key is made of what is too long or too short.
        let mut public = key;
        let mut private = crt.key();
        let bits = claimed.wrapping_mul(8);
        if !possible {
            let code = ica_rsa_key_generate_crt(-1, bits, &raw mut public, &raw mut private);
            assert!(matches!(code, INVALID | PERMISSION), "{code}");
            let mut private = public;
            let code = ica_rsa_key_generate_mod_expo(-1, bits, &raw mut public, &raw mut private);
            assert!(matches!(code, INVALID | PERMISSION), "{code}");
        }
        let _ = (modulus.get(), exponent.get(), input.get(), output.get());
    }
}

/// A key in one form, which works, or an error.
fn generated(choices: &mut Choices<'_>) {
    // Small ones are quick, and have all the odd lengths.
    let bits = if choices.seldom(32) { choices.wild() } else { 40 + choices.below(120) as u32 };
    // Large ones take seconds.
    let bits = if (601..=4096).contains(&bits) { bits % 600 } else { bits };
    let length = if bits > 4096 { 0 } else { bits.div_ceil(8) as usize };
    let (mut modulus, mut exponent) = (choices.buffer(length), choices.buffer(length));
    if !choices.seldom(4) {
        let mut small = vec![0; length];
        if let Some(last) = small.last_mut() {
            *last = [0, 3, 5, 17, 255][choices.below(5)];
        }
        exponent.set(&small);
    }
    let mut public =
        ModExpoKey { key_length: bits.div_ceil(8), modulus: modulus.pointer(), exponent: exponent.pointer() };
    if choices.seldom(16) {
        public.key_length = choices.wild();
    }
    let wrong = public.key_length != bits.div_ceil(8);
    let lengths = if length == 0 { [0; 5] } else { Crt::lengths(length) };
    let mut crt = Crt { length: bits.div_ceil(8), numbers: lengths.map(|length| choices.buffer(length)) };
    let (mut again, mut private) = (choices.buffer(length), choices.buffer(length));
    let crt_form = choices.seldom(2);
    // SAFETY: the numbers have the lengths given, or one of the lengths is refused.
    let (code, null) = unsafe {
        if crt_form {
            let mut key = crt.key();
            (ica_rsa_key_generate_crt(-1, bits, &raw mut public, &raw mut key), crt.any_null())
        } else {
            let (modulus, exponent) = (again.pointer(), private.pointer());
            let mut key = ModExpoKey { key_length: bits.div_ceil(8), modulus, exponent };
            let null = again.null || private.null;
            (ica_rsa_key_generate_mod_expo(-1, bits, &raw mut public, &raw mut key), null)
        }
    };
    assert!(matches!(code, OK | INVALID | PERMISSION), "{code}");
    let _ = (modulus.get(), exponent.get(), crt.contents(), again.get(), private.get());
    assert!(code != OK || !null && !wrong && !modulus.null && !exponent.null && bits > 56);
    if code != OK {
        return;
    }
    assert_eq!(8 * length as u32 - u32::from(modulus.get()[0].leading_zeros() as u8), bits, "too short or long");
    let mut input = choices.bytes(length);
    input[0] &= modulus.get()[0] >> 1;
    if length > 1 && input[0] >= modulus.get()[0] {
        input[1] = 0;
    }
    if input[..] >= *modulus.get() {
        return;
    }
    let (mut made, mut back) = (vec![0; length], vec![0; length]);
    let code = match crt_form {
        true => crt.private(input.as_ptr(), made.as_mut_ptr()),
        false => power(&mut again, &mut private, input.as_ptr(), made.as_mut_ptr()),
    };
    assert_eq!(code, OK);
    assert_eq!(power(&mut modulus, &mut exponent, made.as_ptr(), back.as_mut_ptr()), OK);
    assert!(back == input, "RSA of {bits} bits does not come back");
    if crt_form {
        let mut key = crt.key();
        // SAFETY: each number that `Crt::key` points to has the length that libica's rules give it for `key_length`.
        assert_eq!(unsafe { ica_rsa_crt_key_check(&raw mut key) }, OK);
    }
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    for _ in 0..4 {
        match choices.below(64) {
            0 => generated(&mut choices),
            1 => ica_cleanup(),
            2..16 => round_trip(&mut choices),
            16..32 => no_key(&mut choices),
            32..40 => check(&mut choices),
            40..52 => small(&mut choices),
            _ => wild(&mut choices),
        }
        if choices.is_empty() {
            break;
        }
    }
});
