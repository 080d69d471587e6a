//! The lengths that a mode can take, and those beyond: what the default provider returns there, byte for byte, ours must.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;

use common::pair::*;
use common::record::{Comparison, Recorder, deep};
use common::subject::Subject;
use common::*;
use std::ffi::{CStr, c_int};

/// A context of AES-CCM with a nonce and a tag of these lengths, and a key.
fn ccm<'a>(r: &'a mut Recorder, query: &CStr, enc: c_int, nonce: c_int, tag: c_int) -> Subject<'a> {
    let mut s = Subject::new(r, "AES-128-CCM", query);
    s.init(true, None, None, enc);
    s.ctrl(SET_IVLEN, nonce, None);
    s.ctrl(SET_TAG, tag, (enc == 0).then_some(&[5; 16]));
    s.init(false, Some(&[1; 16]), Some(&[2; 16]), -1);
    s
}

/// A nonce of n bytes leaves 15 - n for the message's length. Beyond that OpenSSL's own takes a length that it is told, keeps the low
/// bytes of it, and then refuses the message, unless that is as long as those say.
#[test]
fn messages_beyond_what_a_ccm_nonce_leaves_room_for() {
    const TWO: usize = 1 << 16;
    const THREE: usize = 1 << 24;
    let mut comparison = Comparison::new();
    for enc in [0, 1] {
        for (nonce, length) in [
            (13, TWO - 1),
            (13, TWO),
            (13, TWO + 5),
            (13, 2 * TWO),
            (13, 3 * TWO - 1),
            (12, TWO + 5),
            (12, THREE - 1),
            (12, THREE),
            (12, THREE + 5),
            (11, THREE + 5),
            (7, THREE + 5),
        ] {
            let data = vec![0xC5; length];
            for tag in [4, 16] {
                comparison.run(format!("enc {enc}, nonce {nonce}, {length} at once, tag {tag}"), |r, query| {
                    let mut s = ccm(r, query, enc, nonce, tag);
                    s.update(&data);
                    if enc == 1 {
                        s.ctrl(GET_TAG, tag, Some(&[]));
                    }
                    s.look();
                    // Another message, of which the context must know nothing of the one before.
                    s.init(true, None, None, 1);
                    s.ctrl(SET_IVLEN, nonce, None);
                    s.init(false, Some(&[1; 16]), Some(&[3; 16]), -1);
                    s.update(&[4; 20]);
                    s.ctrl(GET_TAG, 12, Some(&[]));
                });
                for given in [length, length % TWO, length % THREE] {
                    let text = format!("enc {enc}, nonce {nonce}, {length} told, {given} given, tag {tag}");
                    comparison.run(text, |r, query| {
                        let mut s = ccm(r, query, enc, nonce, tag);
                        s.message_length(length as c_int);
                        s.aad(&[8; 30]);
                        if given > 0 {
                            s.update(&data[..given]);
                        }
                        if enc == 1 {
                            s.ctrl(GET_TAG, tag, Some(&[]));
                        }
                        s.look();
                    });
                }
            }
        }
    }
    comparison.finish();
}

/// Additional data of CCM and GCM around the lengths where the length is written another way, in one piece.
#[test]
fn additional_data_of_every_magnitude() {
    let mut comparison = Comparison::new();
    for length in [0, 13, 14, 15, 0xFEFF, 0xFF00, 0xFF01, 0xFFFF, 0x1_0000, 0x12_3456] {
        let data = vec![3; length];
        comparison.run(format!("CCM, {length}"), |r, query| {
            let mut s = ccm(r, query, 1, 12, 16);
            s.message_length(20);
            s.aad(&data);
            s.update(&[7; 20]);
            s.ctrl(GET_TAG, 16, Some(&[]));
        });
        for name in ["AES-128-GCM", "ChaCha20-Poly1305"] {
            comparison.run(format!("{name}, {length}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                s.init(true, Some(&[1; 32]), Some(&[2; 12]), 1);
                s.aad(&data);
                s.update(&[7; 20]);
                s.finish();
                s.ctrl(GET_TAG, 16, Some(&[]));
            });
        }
    }
    comparison.finish();
}

/// 2^36 - 32 bytes are a message of GCM's, and no byte more (SP 800-38D 5.2.1.1).
#[test]
fn messages_beyond_what_gcm_counts() {
    if !deep() {
        return;
    }
    const PIECE: usize = 1 << 26;
    const ROOM: u64 = (1 << 36) - 32;
    let mut comparison = Comparison::new();
    comparison.run("AES-128-GCM", |r, query| {
        let mut s = Subject::new(r, "AES-128-GCM", query);
        s.init(true, Some(&[1; 16]), Some(&[2; 12]), 1);
        s.aad(&[3; 20]);
        let mut buffer = vec![9u8; PIECE];
        let (ctx, p) = (s.ctx, buffer.as_mut_ptr());
        for _ in 0..ROOM / PIECE as u64 {
            unsafe { assert_eq!(EVP_CipherUpdate(ctx, p, &mut 0, p, PIECE as c_int), 1) };
        }
        let left = (ROOM % PIECE as u64) as c_int;
        // A long piece that is refused OpenSSL's own has encrypted in part, and then takes no more; a short one it has not.
        for length in [left - 3, 4, 3, 1, 64] {
            s.r.call(format!("update {length}"), || unsafe { EVP_CipherUpdate(ctx, p, &mut 0, p, length) });
        }
        s.finish();
        s.ctrl(GET_TAG, 16, Some(&[]));
        s.r.bytes("the last piece", &buffer);
        s.init(false, None, Some(&[6; 12]), -1);
        s.update(&[1; 40]);
        s.finish();
        s.ctrl(GET_TAG, 16, Some(&[]));
    });
    comparison.finish();
}
