//! Contexts that are used again: a new key, a new IV, both or neither, the other direction, at every place in a message and after it.
//! What the default provider's give out, return and answer, ours must (`ADJUNCT_DEEP=1`: many more sequences).

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;

use common::pair::*;
use common::record::{Comparison, Recorder, deep};
use common::subject::Subject;
use common::*;
use std::ffi::{CStr, c_int};

/// What a context is given when it is initialised again.
const AGAIN: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// The ciphers that do not authenticate.
fn unauthenticated() -> impl Iterator<Item = &'static str> {
    SIMPLE.iter().chain(XTS).copied()
}

/// The key stream's block of a cipher, or its block, in bytes.
fn block(name: &str) -> usize {
    match name {
        "ChaCha20" | "ChaCha20-Poly1305" => 64,
        "DES-EDE3-CBC" => 8,
        _ => 16,
    }
}

/// A message in two pieces that end at every place of its first blocks, then again with or without a key and an IV.
#[test]
fn again_at_every_place_of_a_block() {
    let mut comparison = Comparison::new();
    // Of AES the modes, and in the deep layer the key sizes too: they differ in the key schedule alone.
    for name in unauthenticated().filter(|name| deep() || !name.contains("192") && !name.contains("256")) {
        let block = block(name);
        for first in 0..=block + 1 {
            for second in [0, 1, block - 1, block, (2 * block - first) % block, 2 * block] {
                for (i, (key, iv)) in AGAIN.into_iter().enumerate() {
                    comparison.run(format!("{name}: {first}, {second}, then key {key} iv {iv}"), |r, query| {
                        let mut s = Subject::new(r, name, query);
                        let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                        let other: Vec<u8> = k.iter().map(|b| b ^ 0x5A).collect();
                        s.init(true, Some(&k), Some(&[0xFF; 16]), 1);
                        for length in [first, second] {
                            s.update(&vec![7; length]);
                            s.answers();
                        }
                        // First -1, which keeps the direction, then a direction by number.
                        for enc in [-1, (i % 2) as c_int] {
                            s.init(false, key.then_some(&other), iv.then_some(&[3; 16]), enc);
                            s.answers();
                            for length in [1, block, 2 * block] {
                                s.update(&vec![9; length]);
                                s.answers();
                            }
                        }
                    });
                }
            }
        }
    }
    comparison.finish();
}

/// A tag that was set to be compared with is not given out after a turn to encryption.
#[test]
fn a_tag_set_for_decryption_is_not_given_out() {
    let mut comparison = Comparison::new();
    for name in CCM.iter().chain(GCM).chain(&["ChaCha20-Poly1305"]) {
        for (key, iv) in AGAIN {
            comparison.run(format!("{name}: then key {key} iv {iv}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                let k = vec![1; s.key_length()];
                s.init(true, Some(&k), Some(&[2; 16]), 0);
                s.ctrl(SET_TAG, if name.ends_with("CCM") { 12 } else { 16 }, Some(&[3; 16]));
                s.init(false, key.then_some(&k), iv.then_some(&[2; 16]), 1);
                s.ctrl(GET_TAG, if name.ends_with("CCM") { 12 } else { 16 }, Some(&[]));
            });
        }
    }
    comparison.finish();
}

/// Messages in random pieces, many of which end with a block, and everything that begins another.
#[test]
fn random_sequences_of_contexts_used_again() {
    let mut comparison = Comparison::new();
    let all = unauthenticated().chain(CCM.iter().copied()).chain(GCM.iter().copied()).chain(["ChaCha20-Poly1305"]);
    for (i, name) in all.enumerate() {
        for round in 0..if deep() { 1000 } else { 50 } {
            let seed = (i * 100_000 + round) as u64;
            comparison.run(format!("{name} seed {seed}"), |r, query| random_sequence(r, name, query, seed));
        }
    }
    comparison.finish();
}

fn random_sequence(r: &mut Recorder, name: &str, query: &CStr, seed: u64) {
    let mut rng = Rng::new(seed);
    let mut s = Subject::new(r, name, query);
    let (ccm, gcm, poly) = (name.ends_with("CCM"), name.ends_with("GCM"), name.ends_with("Poly1305"));
    let (key_length, block) = (s.key_length(), block(name));
    let (key, iv) = (rng.bytes(key_length), rng.bytes(16));
    let mut enc = rng.below(2) as c_int;
    if ccm {
        s.init(true, None, None, enc);
        s.ctrl(SET_IVLEN, 7 + rng.below(7) as c_int, None);
        s.ctrl(SET_TAG, 4 + 2 * rng.below(7) as c_int, None);
    }
    s.init(!ccm, Some(&key), Some(&iv), enc);
    // Bytes since the last initialisation; whether a message that authenticates is begun, and has had text.
    let (mut at, mut begun, mut text) = (0, false, false);
    for _ in 0..4 + rng.below(14) {
        s.answers();
        match rng.below(16) {
            0..7 => {
                let rest = block - at % block;
                let length = [rest, rest + block, rng.below(3 * block), rng.below(8)][rng.below(4)].max(ccm.into());
                at += length;
                (begun, text) = (true, true);
                let data = rng.bytes(length);
                if rng.below(4) > 0 {
                    // After a message that failed OpenSSL's own CCM has lost its lengths.
                    if s.update(&data) != 1 && ccm {
                        break;
                    }
                } else if !name.ends_with("CBC") && s.cipher(Some(&data)) < 0 && ccm {
                    break;
                }
            }
            7..12 => {
                let (key, iv) = (rng.bytes(key_length), rng.bytes(16));
                let (mut with_key, with_iv) = AGAIN[rng.below(4)];
                // OpenSSL's own GCM goes on with a message under another key, from a counter block of zeros and with its tag bare.
                // Ours begins the message anew.
                with_key &= with_iv || !gcm || !begun;
                // OpenSSL's own CCM takes the end of a message under another key for that of the one before.
                let direction = rng.below(3) as c_int - 1;
                if direction >= 0 {
                    enc = direction;
                }
                if with_key || with_iv {
                    (at, text) = (0, false);
                }
                begun &= !with_iv && !poly;
                s.init(false, with_key.then_some(&key), with_iv.then_some(&iv), direction);
            }
            // The end: of what authenticates, when encrypting.
            12 if !ccm && (enc == 1 || !(gcm || poly)) => {
                begun = true;
                s.finish();
            }
            13 if gcm || poly && !text => {
                begun = true;
                s.aad(&[7; 20]);
            }
            14 if (gcm || poly || ccm) && enc == 1 => drop(s.ctrl(GET_TAG, 16, Some(&[]))),
            14 if ccm => drop(s.ctrl(SET_TAG, 16, Some(&rng.bytes(16)))),
            14 if name.ends_with("CBC") || name.ends_with("ECB") => {
                let (ctx, pad) = (s.ctx, rng.below(2) as c_int);
                s.r.call(format!("padding {pad}"), || unsafe { EVP_CIPHER_CTX_set_padding(ctx, pad) });
            }
            _ => s.copy(),
        }
    }
    s.answers();
    s.look();
}
