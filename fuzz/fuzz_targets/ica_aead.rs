//! libica's GCM, as one call, as a stream and by a context, and CCM: all forms agree, what is sealed opens, what is forged does not
//! and leaves nothing to be seen.
#![no_main]

mod ica;

use adjunct_ica::abi::aead::*;
use ica::{Choices, FAULT, INVALID, OK, Pair};
use libfuzzer_sys::fuzz_target;
use std::ptr::{null, null_mut};

struct Message {
    key: Vec<u8>,
    iv: Vec<u8>,
    aad: Vec<u8>,
    text: Vec<u8>,
}

fn message(choices: &mut Choices<'_>) -> Message {
    let key = [16, 24, 32][choices.below(3)];
    let iv = if choices.seldom(2) { 12 } else { 1 + choices.below(80) };
    let (aad, text) = (choices.length(300), choices.length(700));
    Message { key: choices.bytes(key), iv: choices.bytes(iv), aad: choices.bytes(aad), text: choices.bytes(text) }
}

impl Message {
    fn gcm(&self, plain: *mut u8, cipher: *mut u8, tag: *mut u8, tag_length: u32, direction: u32) -> u32 {
        let (n, a) = (self.text.len() as u64, self.aad.len() as u64);
        let (iv, key) = (self.iv.as_ptr(), self.key.as_ptr());
        let (ivs, keys) = (self.iv.len() as u32, self.key.len() as u32);
        // SAFETY: the buffers have the lengths given.
        unsafe { ica_aes_gcm(plain, n, cipher, iv, ivs, self.aad.as_ptr(), a, tag, tag_length, key, keys, direction) }
    }

    /// Encrypts or decrypts in parts of whole blocks; the caller keeps the state.
    fn stream(&self, choices: &mut Choices<'_>, input: &[u8], encrypt: bool) -> (Vec<u8>, [u8; 16]) {
        let (mut icb, mut ucb, mut subkey, mut tag) = ([0; 16], [0; 16], [0; 16], [0; 16]);
        let (key, keys, direction) = (self.key.as_ptr(), self.key.len() as u32, encrypt.into());
        let (iv, ivs) = (self.iv.as_ptr(), self.iv.len() as u32);
        let mut output = vec![0; input.len()];
        let aad_part = choices.below(self.aad.len() / 16 + 1) * 16;
        let part = choices.below(input.len() / 16 + 1) * 16;
        // SAFETY: the buffers have the lengths given.
        unsafe {
            let [i, u, s] = [icb.as_mut_ptr(), ucb.as_mut_ptr(), subkey.as_mut_ptr()];
            assert_eq!(ica_aes_gcm_initialize(iv, ivs, key, keys, i, u, s, direction), OK);
            let mut step = |aad: &[u8], from: usize, to: usize| {
                let (mut text, length) = (input[from..to].to_vec(), (to - from) as u64);
                let (text, out) = (text.as_mut_ptr(), output[from..to].as_mut_ptr());
                let (plain, cipher) = if encrypt { (text, out) } else { (out, text) };
                let (a, n) = (aad.as_ptr(), aad.len() as u64);
                let done = ica_aes_gcm_intermediate(
                    plain,
                    length,
                    cipher,
                    u,
                    a,
                    n,
                    tag.as_mut_ptr(),
                    16,
                    key,
                    keys,
                    s,
                    direction,
                );
                assert_eq!(done, OK);
            };
            step(&self.aad[..aad_part], 0, 0);
            step(&self.aad[aad_part..], 0, part);
            step(&[], part, input.len());
            let (a, n) = (self.aad.len() as u64, input.len() as u64);
            assert_eq!(ica_aes_gcm_last(i, a, n, tag.as_mut_ptr(), null(), 0, key, keys, s, 1), OK);
        }
        (output, tag)
    }

    /// Encrypts or decrypts by a context, perhaps one that was used before, with calls that it must refuse in between.
    fn context(
        &self,
        choices: &mut Choices<'_>,
        ctx: *mut Context,
        input: &[u8],
        encrypt: bool,
    ) -> (Vec<u8>, [u8; 16]) {
        let (mut output, mut tag) = (vec![0; input.len()], [0; 16]);
        let aad_part = choices.below(self.aad.len() / 16 + 1) * 16;
        let part = choices.below(input.len() / 16 + 1) * 16;
        let (key, keys) = (self.key.as_ptr(), self.key.len() as u32);
        // SAFETY: the buffers have the lengths given, and the context is one.
        unsafe {
            assert_eq!(ica_aes_gcm_kma_init(encrypt.into(), self.iv.as_ptr(), self.iv.len() as u32, key, keys, ctx), 0);
            let mut step = |aad: &[u8], from: usize, to: usize, last: bool| {
                let (i, o) = (input[from..to].as_ptr(), output[from..to].as_mut_ptr());
                let ends = (last || to > from || !aad.len().is_multiple_of(16)).into();
                ica_aes_gcm_kma_update(i, o, (to - from) as u64, aad.as_ptr(), aad.len() as u64, ends, last.into(), ctx)
            };
            assert_eq!(step(&self.aad[..aad_part], 0, 0, false), 0);
            if choices.seldom(4) {
                assert_eq!(
                    step(&[0; 5], 0, 1.min(input.len() / 2), false),
                    if input.len() < 2 { 0 } else { INVALID as i32 }
                );
                if input.len() < 2 {
                    // It was additional data that ended; begin anew.
                    return self.context(choices, ctx, input, encrypt);
                }
            }
            assert_eq!(step(&self.aad[aad_part..], 0, part, part == input.len()), 0);
            if part < input.len() {
                assert_eq!(step(&[], part, input.len(), true), 0);
            }
            if encrypt {
                assert_eq!(ica_aes_gcm_kma_get_tag(tag.as_mut_ptr(), 16, ctx), 0);
            } else {
                assert_eq!(ica_aes_gcm_kma_get_tag(tag.as_mut_ptr(), 16, ctx), FAULT as i32);
            }
        }
        (output, tag)
    }

    fn ccm(&self, payload: *mut u8, cipher: *mut u8, mac: u32, nonce: u32, direction: u32) -> u32 {
        let (n, a) = (self.text.len() as u64, self.aad.len() as u64);
        let (key, keys) = (self.key.as_ptr(), self.key.len() as u32);
        // SAFETY: the buffers have the lengths given.
        unsafe {
            ica_aes_ccm(payload, n, cipher, mac, self.aad.as_ptr(), a, self.iv.as_ptr(), nonce, key, keys, direction)
        }
    }
}

fn gcm(choices: &mut Choices<'_>) {
    let message = message(choices);
    let length = message.text.len();
    let tag_length = choices.one_of(&[4, 8, 12, 13, 14, 15, 16]);
    let legit = matches!(tag_length, 4 | 8 | 12..=16);
    let mut tag = choices.buffer(if tag_length > 16 { 16 } else { tag_length as usize });
    let mut pair = Pair::new(choices, &message.text, length);
    let before = (pair.all(), tag.get().to_vec());
    let (input, output) = (pair.input(), pair.output());
    let code = message.gcm(input, output, tag.pointer(), tag_length, 1);
    if !legit || tag.null || length > 0 && pair.any_null() {
        assert_eq!(code, INVALID);
        assert!(before == (pair.all(), tag.get().to_vec()));
        return;
    }
    assert_eq!(code, OK);
    let (sealed, tag) = (if length == 0 { vec![] } else { pair.get().to_vec() }, tag.get().to_vec());

    let (made, whole_tag) = message.stream(choices, &message.text, true);
    assert!(made == sealed && whole_tag.starts_with(&tag));
    assert!(message.stream(choices, &sealed, false) == (message.text.clone(), whole_tag));
    let ctx = ica_aes_gcm_kma_ctx_new();
    assert!(message.context(choices, ctx, &message.text, true) == (sealed.clone(), whole_tag));
    assert!(message.context(choices, ctx, &sealed, false).0 == message.text);
    // SAFETY: the context is one, and not used again.
    unsafe {
        assert_eq!(ica_aes_gcm_kma_verify_tag(tag.as_ptr(), tag_length, ctx), 0);
        assert_eq!(ica_aes_gcm_kma_verify_tag(vec![!tag[0]; 16].as_ptr(), tag_length, ctx), FAULT as i32);
        ica_aes_gcm_kma_ctx_free(ctx);
    }

    // Opened, and forged.
    let mut given = tag.clone();
    let forged = choices.seldom(2);
    if forged {
        let at = choices.below(given.len());
        given[at] ^= 1 << choices.below(8);
    }
    let mut pair = Pair::new(choices, &sealed, length);
    pair.null = [false; 2];
    let (input, output) = (pair.input(), pair.output());
    assert_eq!(message.gcm(output, input, given.as_mut_ptr(), tag_length, 0), if forged { FAULT } else { OK });
    let opened = if forged { vec![0; length] } else { message.text.clone() };
    assert!(length == 0 || pair.get() == opened);
}

fn ccm(choices: &mut Choices<'_>) {
    let mut message = message(choices);
    let (mac, nonce) = (choices.one_of(&[4, 6, 8, 10, 12, 14, 16]), choices.one_of(&[7, 8, 9, 10, 11, 12, 13]));
    message.iv.resize(80, 7);
    let legit = matches!(mac, 4 | 6 | 8 | 10 | 12 | 14 | 16) && matches!(nonce, 7..=13);
    let (length, macs) = (message.text.len(), if legit { mac as usize } else { 16 });
    let empty = length == 0 && message.aad.is_empty();
    let mut pair = Pair::new(choices, &message.text, length + macs);
    pair.null[1] = false;
    let before = pair.all();
    let (input, output) = (pair.input(), pair.output());
    let code = message.ccm(input, output, mac, nonce, 1);
    if !legit || empty || pair.null[0] && length > 0 {
        assert_eq!(code, INVALID);
        assert!(before == pair.all());
        return;
    }
    assert_eq!(code, OK);
    let mut sealed = pair.get().to_vec();
    let forged = choices.seldom(2);
    if forged {
        let at = choices.below(sealed.len());
        sealed[at] ^= 1 << choices.below(8);
    }
    let mut pair = Pair::new(choices, &sealed, length);
    pair.null = [false; 2];
    let (input, output) = (pair.input(), pair.output());
    assert_eq!(message.ccm(output, input, mac, nonce, 0), if forged { FAULT } else { OK });
    let opened = if forged { vec![0; length] } else { message.text.clone() };
    assert!(length == 0 || pair.get() == opened);
}

/// Calls with anything but real pointers in the wrong order.
fn wild(choices: &mut Choices<'_>) {
    let ctx = if choices.seldom(4) { null_mut() } else { ica_aes_gcm_kma_ctx_new() };
    for _ in 0..8 {
        let (aad, text) = (choices.length(64), choices.length(64));
        let (mut aad, mut text, mut tag) = (choices.buffer(aad), choices.buffer(text), choices.buffer(16));
        let mut key = choices.buffer(32);
        let tag_length = choices.below(20) as u32;
        let (aads, texts) = (aad.len() as u64, text.len() as u64);
        let key_length = choices.one_of(&[16, 24, 32]);
        let mut count = choices.below(40) as u32;
        // SAFETY: null, or buffers of the lengths given: those that cannot be are not looked at.
        let code = unsafe {
            match choices.below(7) {
                0 => ica_aes_gcm_kma_init(
                    choices.one_of(&[0, 1]),
                    aad.pointer(),
                    aads as u32,
                    key.pointer(),
                    key_length,
                    ctx,
                ),
                1 => ica_aes_gcm_kma_init_fips(choices.one_of(&[0, 1]), choices.wild(), key.pointer(), key_length, ctx),
                2 => {
                    let mut iv = vec![0; count as usize];
                    ica_aes_gcm_kma_get_iv(ctx, iv.as_mut_ptr(), &raw mut count)
                }
                3 => ica_aes_gcm_kma_get_tag(tag.pointer(), tag_length, ctx),
                4 => ica_aes_gcm_kma_verify_tag(tag.pointer(), tag_length, ctx),
                _ => {
                    let (ends, last) = (choices.below(2) as u32, choices.below(2) as u32);
                    ica_aes_gcm_kma_update(text.pointer(), text.pointer(), texts, aad.pointer(), aads, ends, last, ctx)
                }
            }
        };
        assert!(matches!(code as u32, OK | INVALID | FAULT | ica::NO_MEMORY), "{code}");
        let _ = (aad.get(), text.get(), tag.get());
    }
    // SAFETY: null or a context.
    unsafe { ica_aes_gcm_kma_ctx_free(ctx) };
}

/// A stream's beginning with a vector made for it, and its calls with wrong lengths, null pointers and one buffer for several.
fn wild_stream(choices: &mut Choices<'_>) {
    let iv_length = if choices.seldom(8) { choices.wild() } else { choices.below(80) as u32 };
    // One that is too long has to be refused for another reason before it is looked at.
    let possible = iv_length < 300;
    let key_length = if possible { choices.one_of(&[16, 24, 32]) } else { 17 };
    let (mut key, mut iv) = (choices.buffer(32), choices.buffer(if possible { iv_length as usize } else { 0 }));
    let mut blocks = [0; 5].map(|_| choices.buffer(16));
    let direction = choices.one_of(&[0, 1]);
    let before = (iv.get().to_vec(), blocks.each_ref().map(|block| block.get().to_vec()));
    let [i, u, s, tag, given] = blocks.each_mut().map(ica::Buffer::pointer);
    let (k, v) = (key.pointer(), iv.pointer());
    let legit = matches!(key_length, 16 | 24 | 32) && direction < 2 && !key.null;
    let null = |which: &[usize], blocks: &[ica::Buffer; 5]| which.iter().any(|&which| blocks[which].null);
    // SAFETY: the buffers have the lengths given, or one of the lengths is refused.
    unsafe {
        let code = ica_aes_gcm_initialize_fips(v, iv_length, k, key_length, i, u, s, direction);
        if !legit || iv.null || iv_length < 12 || null(&[0, 1, 2], &blocks) {
            assert_eq!(code, INVALID);
            let after = (iv.get().to_vec(), blocks.each_ref().map(|block| block.get().to_vec()));
            assert!(before == after, "written before it refused");
        } else {
            assert_eq!(code, OK);
            assert_eq!(before.0 == iv.get(), direction == 0);
            let mut again = [[0; 16]; 3];
            let [x, y, z] = again.each_mut().map(|block| block.as_mut_ptr());
            assert_eq!(ica_aes_gcm_initialize(v, iv_length, k, key_length, x, y, z, direction), OK);
            assert!((0..3).all(|which| again[which] == *blocks[which].get()));
        }
        let (length, aads) = (choices.length(100), choices.length(100));
        let text = choices.bytes(length);
        let (mut pair, mut aad) = (Pair::new(choices, &text, length), choices.buffer(aads));
        let (plain, cipher) =
            if direction == 1 { (pair.input(), pair.output()) } else { (pair.output(), pair.input()) };
        let tag_length = choices.one_of(&[4, 8, 12, 16]);
        // Beyond what a message may have, nothing is looked at.
        let much = choices.seldom(16);
        let (n, a) = (if much { u64::MAX - u64::from(choices.wild()) } else { length as u64 }, aads as u64);
        let before = (pair.all(), blocks.each_ref().map(|block| block.get().to_vec()));
        let code = ica_aes_gcm_intermediate(
            plain,
            n,
            cipher,
            u,
            aad.pointer(),
            a,
            tag,
            tag_length,
            k,
            key_length,
            s,
            direction,
        );
        let texts = length > 0 && pair.any_null() || aads > 0 && aad.null;
        let legit_tag = matches!(tag_length, 4 | 8 | 12..=16);
        if !legit || much || texts || !legit_tag || null(&[1, 2, 3], &blocks) {
            assert_eq!(code, INVALID);
            let after = (pair.all(), blocks.each_ref().map(|block| block.get().to_vec()));
            assert!(before == after, "written before it refused");
        } else {
            assert_eq!(code, OK);
        }
        // The tag to compare may lie where the one to make does.
        let given = if choices.seldom(2) { tag } else { given };
        let tag_length = choices.below(20) as u32;
        let code = ica_aes_gcm_last(i, a, n, tag, given, tag_length, k, key_length, s, direction);
        assert!(matches!(code, OK | INVALID | FAULT), "{code}");
        assert!(code == INVALID || legit && !null(&[0, 2, 3], &blocks));
        assert!(code != FAULT || direction == 0 && matches!(tag_length, 4 | 8 | 12..=16));
    }
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    match choices.below(4) {
        0 => gcm(&mut choices),
        1 => ccm(&mut choices),
        2 => wild(&mut choices),
        _ => wild_stream(&mut choices),
    }
});
