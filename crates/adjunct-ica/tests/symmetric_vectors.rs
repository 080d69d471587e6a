//! Ciphers, MACs and hashes by NIST's and the RFCs' vectors, which stand in tests/vectors. The C functions, called from here.

#![allow(unsafe_code, reason = "calls of the C functions")]
// Every pointer is a slice's of this file, of the length beside it.
#![allow(clippy::undocumented_unsafe_blocks)]

#[path = "common/symmetric.rs"]
mod symmetric;

use adjunct_ica::abi::{block::*, hash::*};
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_ulong};
use std::ptr::null;
use symmetric::*;

/// The words of each line of a file of vectors; `-` is none.
fn lines(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect())
}

fn hex(text: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).expect("a hexadecimal digit") as u8;
    text.trim_matches('-').as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// A mode of the interface, over a message in pieces of whole blocks where it may come in pieces.
fn cipher(name: &str, key: &[u8], iv: &[u8], input: &[u8], encrypt: bool, piece: usize) -> Vec<u8> {
    let mut output = vec![0; input.len()];
    let mut chain = iv.to_vec();
    let direction = c_uint::from(encrypt);
    let (k, n) = (key.as_ptr(), key.len() as c_uint);
    for (from, to) in input.chunks(piece).zip(output.chunks_mut(piece)) {
        let (p, o, l, v) = (from.as_ptr(), to.as_mut_ptr(), from.len() as c_ulong, chain.as_mut_ptr());
        let done = unsafe {
            match name {
                "aes_ecb" => ica_aes_ecb(p, o, l, k, n, direction),
                "aes_cbc" => ica_aes_cbc(p, o, l, k, n, v, direction),
                "aes_cfb" => ica_aes_cfb(p, o, l, k, n, v, 16, direction),
                "aes_cfb8" => ica_aes_cfb(p, o, l, k, n, v, 1, direction),
                "aes_ofb" => ica_aes_ofb(p, o, l, k, n, v, direction),
                "aes_ctr" => ica_aes_ctr(p, o, l, k, n, v, 128, direction),
                "aes_xts" => {
                    let half = key.len() / 2;
                    ica_aes_xts(p, o, l, k, k.add(half), half as c_uint, iv.as_ptr(), direction)
                }
                "des_ecb" => ica_des_ecb(p, o, l, k, direction),
                "3des_ecb" => ica_3des_ecb(p, o, l, k, direction),
                "3des_cbc" => ica_3des_cbc(p, o, l, k, v, direction),
                "3des_cfb" => ica_3des_cfb(p, o, l, k, v, 8, direction),
                "3des_cfb8" => ica_3des_cfb(p, o, l, k, v, 1, direction),
                "3des_ofb" => ica_3des_ofb(p, o, l, k, v, direction),
                other => panic!("{other}"),
            }
        };
        assert_eq!(done, 0);
    }
    output
}

#[test]
fn ciphers() {
    let mut checked = BTreeMap::new();
    for line in lines(include_str!("vectors/ciphers.txt")) {
        let [name, key, iv, plain, sealed] = line[..] else { panic!("{line:?}") };
        let [key, iv, plain, sealed] = [key, iv, plain, sealed].map(hex);
        let what = line.join(" ");
        *checked.entry(name).or_insert(0) += 1;
        match name {
            "aes_cs3" => stealing(&key, &iv, &plain, &sealed, &what),
            "aes_ctr" => list(&key, &iv, &plain, &sealed, &what),
            // Three times the same key is DES too.
            "des_ecb" => {
                let three = key.repeat(3);
                assert_eq!(cipher("3des_ecb", &three, &[], &plain, true, 8), sealed, "{what}");
                assert_eq!(cipher("3des_ecb", &three, &[], &sealed, false, 8), plain, "{what}");
            }
            _ => {}
        }
        if name != "aes_cs3" {
            let whole = plain.len().max(1);
            for piece in if name == "aes_xts" { vec![whole] } else { vec![whole, 16, 32] } {
                assert_eq!(cipher(name, &key, &iv, &plain, true, piece), sealed, "{what}");
                assert_eq!(cipher(name, &key, &iv, &sealed, false, piece), plain, "{what}");
            }
        }
    }
    assert_eq!(checked.len(), 14, "{checked:?}");
}

/// The three variants differ in the order of the last two blocks: of the last whole one and what comes behind it.
fn stealing(key: &[u8], iv: &[u8], plain: &[u8], third: &[u8], what: &str) {
    let tail = (plain.len() - 1) % 16 + 1;
    let (front, last) = third.split_at(plain.len() - tail - 16);
    let kept = [front, &last[16..], &last[..16]].concat();
    let second = if tail == 16 { &kept[..] } else { third };
    for (variant, sealed) in [(1, &kept[..]), (2, second), (3, third)] {
        for (encrypt, from, to) in [(true, plain, sealed), (false, sealed, plain)] {
            let (mut out, mut chain) = (vec![0; from.len()], iv.to_vec());
            let (p, o, l, k) = (from.as_ptr(), out.as_mut_ptr(), from.len() as c_ulong, key.as_ptr());
            let (n, v) = (key.len() as c_uint, chain.as_mut_ptr());
            assert_eq!(unsafe { ica_aes_cbc_cs(p, o, l, k, n, v, encrypt.into(), variant) }, 0);
            assert_eq!(out, to, "variant {variant}: {what}");
        }
    }
}

/// CTR with its counters written out.
fn list(key: &[u8], counter: &[u8], plain: &[u8], sealed: &[u8], what: &str) {
    let first = u128::from_be_bytes(counter.try_into().expect("a block"));
    let list: Vec<u8> = (0..plain.len().div_ceil(16) as u128).flat_map(|i| (first + i).to_be_bytes()).collect();
    for (encrypt, from, to) in [(1, plain, sealed), (0, sealed, plain)] {
        let mut out = vec![0; from.len()];
        let (p, o, l, k) = (from.as_ptr(), out.as_mut_ptr(), from.len() as c_ulong, key.as_ptr());
        assert_eq!(unsafe { ica_aes_ctrlist(p, o, l, k, key.len() as c_uint, list.as_ptr(), encrypt) }, 0);
        assert_eq!(out, to, "{what}");
    }
}

/// XTS in parts gives what it gives at once.
#[test]
fn xts_in_parts() {
    for line in lines(include_str!("vectors/ciphers.txt")).filter(|line| line[0] == "aes_xts") {
        let [key, tweak, plain, sealed] = [line[1], line[2], line[3], line[4]].map(hex);
        if plain.len() < 32 {
            continue;
        }
        let (half, mut iv) = (key.len() / 2, [0; 16]);
        for (encrypt, from, to) in [(1, &plain, &sealed), (0, &sealed, &plain)] {
            let mut out = vec![0; from.len()];
            let (p, o, k, rest) = (from.as_ptr(), out.as_mut_ptr(), key.as_ptr(), from.len() as c_ulong - 16);
            unsafe {
                let (second, n, v) = (k.add(half), half as c_uint, iv.as_mut_ptr());
                assert_eq!(ica_aes_xts_ex(p, o, 16, k, second, n, tweak.as_ptr(), v, encrypt), 0);
                assert_eq!(ica_aes_xts_ex(p.add(16), o.add(16), rest, k, second, n, null(), v, encrypt), 0);
            }
            assert_eq!(&out, to, "{line:?}");
        }
    }
}

#[test]
fn cmac() {
    for line in lines(include_str!("vectors/cmac.txt")) {
        let [key, message, mac] = [line[1], line[2], line[3]].map(hex);
        let aes = line[0] == "aes";
        check_cmac(aes, &key, &message, &mac, true, &line.join(" "));
        let mut wrong = mac.clone();
        wrong[0] ^= 1;
        check_cmac(aes, &key, &message, &wrong, false, &line.join(" "));
    }
}

#[test]
fn authenticated() {
    let mut checked = BTreeMap::new();
    for line in lines(include_str!("vectors/aead.txt")) {
        let bad = line.get(7) == Some(&"bad");
        let [key, iv, aad, plain, sealed, tag] = [line[1], line[2], line[3], line[4], line[5], line[6]].map(hex);
        let message = Message { key: &key, iv: &iv, aad: &aad, plain: &plain, sealed: &sealed, tag: &tag };
        *checked.entry((line[0], bad)).or_insert(0) += 1;
        match line[0] {
            // The interface has no message of nothing at all.
            "ccm" if sealed.is_empty() && aad.is_empty() => {}
            "ccm" => message.ccm(!bad, &line.join(" ")),
            _ => message.gcm(!bad, &line.join(" ")),
        }
    }
    assert_eq!(checked.len(), 4, "{checked:?}");
}

/// A hash of the interface over parts; `split` bytes, whole blocks, come before the last.
fn hash(name: &str, message: &[u8], split: usize, length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    let mut context = [0u64; 30];
    let steps: Vec<(c_uint, &[u8])> = if split == 0 {
        vec![(0, message)]
    } else {
        let (first, last) = message.split_at(split);
        // In two calls or three.
        if split.is_multiple_of(2 * block(name)) {
            vec![(1, &first[..split / 2]), (2, &first[split / 2..]), (3, last)]
        } else {
            vec![(1, first), (3, last)]
        }
    };
    // What is partly hashed writes the front of its chaining value to the output: as long as the hash, or for SHAKE as asked for.
    for (part, data) in steps {
        let (p, l, o) = (data.as_ptr(), data.len(), out.as_mut_ptr());
        let c = context.as_mut_ptr();
        let done = unsafe {
            match name {
                "sha1" => ica_sha1(part, l as c_uint, p, c.cast(), o),
                "sha224" => ica_sha224(part, l as c_uint, p, c.cast(), o),
                "sha256" => ica_sha256(part, l as c_uint, p, c.cast(), o),
                "sha384" => ica_sha384(part, l as u64, p, c.cast(), o),
                "sha512" => ica_sha512(part, l as u64, p, c.cast(), o),
                "sha512_224" => ica_sha512_224(part, l as u64, p, c.cast(), o),
                "sha512_256" => ica_sha512_256(part, l as u64, p, c.cast(), o),
                "sha3_224" => ica_sha3_224(part, l as c_uint, p, c.cast(), o),
                "sha3_256" => ica_sha3_256(part, l as c_uint, p, c.cast(), o),
                "sha3_384" => ica_sha3_384(part, l as u64, p, c.cast(), o),
                "sha3_512" => ica_sha3_512(part, l as u64, p, c.cast(), o),
                "shake_128" => ica_shake_128(part, l as u64, p, c.cast(), o, length as c_uint),
                "shake_256" => ica_shake_256(part, l as u64, p, c.cast(), o, length as c_uint),
                other => panic!("{other}"),
            }
        };
        assert_eq!(done, 0);
    }
    out
}

fn block(name: &str) -> usize {
    match name {
        "sha1" | "sha224" | "sha256" => 64,
        "sha384" | "sha512" | "sha512_224" | "sha512_256" => 128,
        "sha3_224" => 144,
        "sha3_256" | "shake_256" => 136,
        "sha3_384" => 104,
        "sha3_512" => 72,
        _ => 168,
    }
}

#[test]
fn hashes() {
    let mut checked = BTreeMap::new();
    for line in lines(include_str!("vectors/hashes.txt")) {
        let [name, message, result] = line[..] else { panic!("{line:?}") };
        let [message, result] = [message, result].map(hex);
        let block = block(name);
        *checked.entry(name).or_insert(0) += 1;
        let mut splits = vec![0, block, 2 * block, message.len().saturating_sub(1) / block * block];
        splits.retain(|&split| split == 0 || split < message.len());
        for split in splits {
            assert_eq!(hash(name, &message, split, result.len()), result, "{name} {message:02x?}, split at {split}");
        }
    }
    assert_eq!(checked.len(), 13, "{checked:?}");
    assert!(checked.values().all(|&count| count >= 20), "{checked:?}");
}
