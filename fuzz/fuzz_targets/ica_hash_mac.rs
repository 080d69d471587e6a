//! libica's hashes and CMAC: parts give what the whole gives, whatever is done to a context's bytes breaks nothing, and what cannot be
//! is refused with nothing written.
#![no_main]

mod ica;

use adjunct_ica::abi::block::*;
use adjunct_ica::abi::hash::*;
use ica::{Buffer, Choices, FAULT, INVALID, OK};
use libfuzzer_sys::fuzz_target;

/// Block, result (0: any) and context of each hash.
const HASHES: [(usize, usize, usize); 13] = [
    (64, 20, 32),
    (64, 28, 40),
    (64, 32, 40),
    (128, 48, 80),
    (128, 64, 80),
    (128, 28, 80),
    (128, 32, 80),
    (144, 28, 208),
    (136, 32, 208),
    (104, 48, 216),
    (72, 64, 216),
    (168, 0, 224),
    (136, 0, 224),
];

fn hash(which: usize, part: u32, data: *const u8, length: usize, context: *mut u8, out: *mut u8, size: u32) -> u32 {
    let (short, long) = (length as u32, length as u64);
    // SAFETY: the buffers have the lengths given.
    unsafe {
        match which {
            0 => ica_sha1(part, short, data, context.cast(), out),
            1 => ica_sha224(part, short, data, context.cast(), out),
            2 => ica_sha256(part, short, data, context.cast(), out),
            3 => ica_sha384(part, long, data, context.cast(), out),
            4 => ica_sha512(part, long, data, context.cast(), out),
            5 => ica_sha512_224(part, long, data, context.cast(), out),
            6 => ica_sha512_256(part, long, data, context.cast(), out),
            7 => ica_sha3_224(part, short, data, context.cast(), out),
            8 => ica_sha3_256(part, short, data, context.cast(), out),
            9 => ica_sha3_384(part, long, data, context.cast(), out),
            10 => ica_sha3_512(part, long, data, context.cast(), out),
            11 => ica_shake_128(part, long, data, context.cast(), out, size),
            _ => ica_shake_256(part, long, data, context.cast(), out, size),
        }
    }
}

fn parts(choices: &mut Choices<'_>) {
    let which = choices.below(HASHES.len());
    let (block, size, context) = HASHES[which];
    let size = if size == 0 { 1 + choices.below(500) } else { size };
    let length = choices.length(900);
    let data = choices.bytes(length);
    let (mut whole, mut own) = (vec![0; size], choices.bytes(context));
    assert_eq!(hash(which, 0, data.as_ptr(), length, own.as_mut_ptr(), whole.as_mut_ptr(), size as u32), OK);

    let mut state = choices.holding(&own);
    state.null = false;
    let shift = choices.below(16);
    let mut out = Buffer::new(&vec![0; size], shift, false);
    let mut done = 0;
    let run = |number: u32, piece: &[u8], state: &mut Buffer, out: &mut Buffer| {
        let mut piece = Buffer::new(piece, shift, false);
        hash(which, number, piece.pointer(), piece.len(), state.pointer(), out.pointer(), size as u32)
    };
    if choices.seldom(8) {
        assert_eq!(run(0, &data, &mut state, &mut out), OK);
        assert!(out.get() == whole);
        return;
    }
    loop {
        let take = choices.below((length - done) / block + 1) * block;
        assert_eq!(run(if done == 0 { 1 } else { 2 }, &data[done..done + take], &mut state, &mut out), OK);
        done += take;
        // Refused, and the context is as it was.
        let before = state.get().to_vec();
        assert_eq!(run(2, &vec![0; block + 1], &mut state, &mut out), INVALID);
        assert_eq!(run(4 + choices.wild() % 1000, &[], &mut state, &mut out), INVALID);
        assert!(before == state.get());
        // A first part of nothing would begin again.
        if done == 0 || choices.is_empty() || choices.seldom(3) {
            break;
        }
    }
    assert_eq!(run(3, &data[done..], &mut state, &mut out), OK);
    assert!(out.get() == whole, "hash {which} in parts differs");
}

/// Lengths that no buffer has, where there is a buffer at all.
fn too_long(choices: &mut Choices<'_>) {
    let which = [3, 4, 5, 6, 9, 10, 11, 12][choices.below(8)];
    let (_, size, context) = HASHES[which];
    let room = if size == 0 { 32 } else { size };
    let (mut state, mut data, mut out) = (choices.buffer(context), choices.buffer(0), choices.buffer(room));
    let before = (state.get().to_vec(), out.get().to_vec());
    let length = isize::MAX as usize + 1 + choices.wild() as usize * [1, 0x8000_0000][choices.below(2)];
    let part = choices.below(4) as u32;
    let code = hash(which, part, data.pointer(), length, state.pointer(), out.pointer(), room as u32);
    assert_eq!(code, INVALID);
    assert!(before == (state.get().to_vec(), out.get().to_vec()), "written before it refused");
}

/// Contexts of any bytes, parts in any order, null pointers.
fn wild(choices: &mut Choices<'_>) {
    let which = choices.below(HASHES.len());
    let (block, size, context) = HASHES[which];
    let mut state = choices.buffer(context);
    for _ in 0..6 {
        let room = if size == 0 { choices.below(300) } else { size };
        let length = choices.length(400);
        let (mut data, mut out) = (choices.buffer(length), choices.buffer(room));
        let part = choices.one_of(&[0, 1, 2, 3]);
        let before = (state.get().to_vec(), out.get().to_vec());
        let code = hash(which, part, data.pointer(), length, state.pointer(), out.pointer(), room as u32);
        let odd = matches!(part, 1 | 2) && !length.is_multiple_of(block);
        if part > 3 || odd || data.null || out.null || state.null || room == 0 {
            assert_eq!(code, INVALID);
            assert!(before == (state.get().to_vec(), out.get().to_vec()), "written before it refused");
        } else {
            assert_eq!(code, OK);
        }
    }
}

fn cmac(choices: &mut Choices<'_>) {
    let cipher = choices.below(3);
    let (block, key) = [(8, 8), (8, 24), (16, [16, 24, 32][choices.below(3)])][cipher];
    let key = choices.bytes(key);
    let length = choices.length(400);
    let message = choices.bytes(length);
    let mac_length = choices.below(block + 2);
    let mut mac = choices.buffer(mac_length);
    let last = |message: &[u8], mac: *mut u8, length: usize, chain: *const u8, direction: u32| {
        let (k, n, l) = (key.as_ptr(), message.len() as u64, length as u32);
        // SAFETY: message, MAC and key have the lengths given; the MAC may be null, which is refused, and the chain is null or
        // one block of the cipher.
        unsafe {
            match cipher {
                0 => ica_des_cmac_last(message.as_ptr(), n, mac, l, k, chain, direction),
                1 => ica_3des_cmac_last(message.as_ptr(), n, mac, l, k, chain, direction),
                _ => ica_aes_cmac_last(message.as_ptr(), n, mac, l, k, key.len() as u32, chain, direction),
            }
        }
    };
    let whole = |message: &[u8], mac: *mut u8, length: usize, direction: u32| {
        let (k, n, l) = (key.as_ptr(), message.len() as u64, length as u32);
        // SAFETY: message, MAC and key have the lengths given; the MAC may be null, which is refused.
        unsafe {
            match cipher {
                0 => ica_des_cmac(message.as_ptr(), n, mac, l, k, direction),
                1 => ica_3des_cmac(message.as_ptr(), n, mac, l, k, direction),
                _ => ica_aes_cmac(message.as_ptr(), n, mac, l, k, key.len() as u32, direction),
            }
        }
    };
    let code = whole(&message, mac.pointer(), mac_length, 1);
    let alone = std::ptr::null();
    if mac.null || mac_length == 0 || mac_length > block {
        assert_eq!((code, last(&message, mac.pointer(), mac_length, alone, 1)), (INVALID, INVALID));
        return;
    }
    assert_eq!(code, OK);
    let made = mac.get().to_vec();
    // In parts, of which the last has at least a byte.
    let mut chain = vec![0; block];
    let mut done = 0;
    while length - done > block && !choices.seldom(3) {
        let take = (1 + choices.below((length - done - 1) / block)) * block;
        let (m, n, k) = (message[done..].as_ptr(), take as u64, key.as_ptr());
        // SAFETY: the message has `take` bytes left (the loop sees to it); the key has the length given, and the chain is one block.
        let code = unsafe {
            match cipher {
                0 => ica_des_cmac_intermediate(m, n, k, chain.as_mut_ptr()),
                1 => ica_3des_cmac_intermediate(m, n, k, chain.as_mut_ptr()),
                _ => ica_aes_cmac_intermediate(m, n, k, key.len() as u32, chain.as_mut_ptr()),
            }
        };
        assert_eq!(code, OK);
        done += take;
    }
    let mut again = vec![0; mac_length];
    assert_eq!(last(&message[done..], again.as_mut_ptr(), mac_length, chain.as_ptr(), 1), OK);
    assert!(again == made, "CMAC in parts differs");
    assert_eq!(last(&message[done..], again.as_mut_ptr(), mac_length, chain.as_ptr(), 0), OK);
    assert_eq!(last(&message, again.as_mut_ptr(), mac_length, alone, 0), OK);
    assert_eq!(whole(&message, again.as_mut_ptr(), mac_length, 0), OK);
    again[choices.below(mac_length)] ^= 1 << choices.below(8);
    assert_eq!(last(&message, again.as_mut_ptr(), mac_length, alone, 0), FAULT);
    assert_eq!(whole(&message, again.as_mut_ptr(), mac_length, 0), FAULT);
    let direction = 2 + choices.wild() % 100;
    assert_eq!(last(&message, again.as_mut_ptr(), mac_length, alone, direction), INVALID);
    assert_eq!(whole(&message, again.as_mut_ptr(), mac_length, direction), INVALID);
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    match choices.below(16) {
        0 => too_long(&mut choices),
        1..6 => parts(&mut choices),
        6..11 => wild(&mut choices),
        _ => cmac(&mut choices),
    }
});
