//! Keys in blobs: what is public of them, and what any change of them does.

mod common;

use adjunct_ep11_module::Settings;
use adjunct_ep11_wire::codes::{attribute as a, flag, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use common::*;

const IV: [u8; 16] = [7; 16];

/// The places of a blob in which a change is one of the wrapping key's identifier.
const WKID: std::ops::Range<usize> = 32..48;

#[test]
fn a_blob_has_the_head_that_programs_read() {
    let card = card();
    for length in [16, 24, 32] {
        let blob = card.aes(length, &[(a::EXTRACTABLE, false), (a::WRAP, false), (a::UNWRAP, false)]);
        assert_eq!(blob.len(), 256);
        // As IBM prints the blob of a CEX7S: 0x8d26, here with the word that a key never was a protected key.
        let flags = u32::from_be_bytes(blob[52..56].try_into().unwrap());
        assert_eq!(flags, 0x8d26 | flag::PROTKEY_NEVER_EXTRACTABLE);
        assert_eq!((&blob[..32], &blob[48..52], &blob[64..66]), (&[0; 32][..], &[0; 4][..], &[0x12, 0x34][..]));
        assert_eq!(blob[32..48], wrapping_key(1).pattern()[..16]);
        assert_eq!(blob[56..64], 1_u64.to_be_bytes());
    }
    let one = card.aes(16, &[]);
    assert_ne!(one[66..], card.aes(16, &[])[66..]);
}

#[test]
fn each_changed_bit_of_a_blob_is_told() {
    let card = card();
    let blob = card.aes(32, &[]);
    let cbc = with_iv(m::AES_CBC, &IV);
    let right = card.encrypt(&blob, &cbc, &[0; 16]).unwrap();
    for bit in 0..8 * blob.len() {
        let mut changed = blob.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let expected = if WKID.contains(&(bit / 8)) { rv::IBM_WKID_MISMATCH } else { rv::IBM_BLOB_ERROR };
        assert_eq!(card.encrypt(&changed, &cbc, &[0; 16]), Err(expected), "bit {bit}");
    }
    for length in 0..blob.len() {
        let refused = card.encrypt(&blob[..length], &cbc, &[0; 16]);
        assert_eq!(refused, Err(rv::IBM_BLOB_ERROR), "{length}");
    }
    let longer = [&blob[..], &[0; 16]].concat();
    assert_eq!(card.encrypt(&longer, &cbc, &[0; 16]), Err(rv::IBM_BLOB_ERROR));
    assert_eq!(card.encrypt(&blob, &cbc, &[0; 16]), Ok(right));
}

#[test]
fn each_changed_bit_of_a_public_key_with_a_mac_is_told() {
    let card = card();
    let [private, public] = card.ec(P256, &[]);
    let (ecdsa, digest) = (plain(m::ECDSA), [5; 32]);
    let signature = card.sign(&private, &ecdsa, &digest).unwrap();
    assert_eq!(card.verify(&public, &ecdsa, &digest, &signature), Ok(()));
    // The SubjectPublicKeyInfo of P-256 has 91 bytes; the identifier begins two bytes behind it.
    assert_eq!((public.len(), &public[91..93]), (91 + 120, &[4, 16][..]));
    for bit in 0..8 * public.len() {
        let mut changed = public.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let expected = if (93..109).contains(&(bit / 8)) { rv::IBM_WKID_MISMATCH } else { rv::IBM_BLOB_ERROR };
        assert_eq!(card.verify(&changed, &ecdsa, &digest, &signature), Err(expected), "bit {bit}");
    }
    for length in (0..91).chain(92..public.len()) {
        let refused = card.verify(&public[..length], &ecdsa, &digest, &signature);
        assert_eq!(refused, Err(rv::IBM_BLOB_ERROR), "{length}");
    }
    // Without what stands behind it it is a public key that nobody vouches for.
    assert_eq!(card.verify(&public[..91], &ecdsa, &digest, &signature), Ok(()));
    assert_eq!(card.verify(&public[..91], &ecdsa, &[6; 32], &signature), Err(rv::SIGNATURE_INVALID));
}

#[test]
fn a_key_of_another_domain_does_not_open() {
    let card = card();
    let blob = card.aes(32, &[]);
    let ecb = plain(m::AES_ECB);
    let call = |domain| card.call_in(domain, F::EncryptSingle, &[&blob, &ecb, &[0; 16]]).map(drop);
    assert_eq!((call(0), call(1)), (Ok(()), Err(rv::IBM_WKID_MISMATCH)));
    assert_eq!((call(2), call(3)), (Err(rv::IBM_WK_NOT_INITIALIZED), Err(rv::IBM_TARGET_INVALID)));
    let generate = |domain| card.call_in(domain, F::GenerateKey, &[&plain(m::DES3_KEY_GEN), b"", b""]).map(drop);
    assert_eq!((generate(1), generate(2)), (Ok(()), Err(rv::IBM_WK_NOT_INITIALIZED)));
}

#[test]
fn a_wrapping_key_that_goes_takes_its_keys_with_it() {
    let card = card();
    let blob = card.aes(32, &[]);
    let ecb = plain(m::AES_ECB);
    let call = || card.encrypt(&blob, &ecb, &[0; 16]).map(drop);
    assert_eq!(call(), Ok(()));
    // The key was in the cache: that is no way around.
    card.change(0, |domain| domain.current = Some(wrapping_key(9)));
    assert_eq!(call(), Err(rv::IBM_WKID_MISMATCH));
    card.change(0, |domain| domain.next = Some(wrapping_key(1)));
    assert_eq!(call(), Err(rv::IBM_WKID_MISMATCH), "not committed");
    card.change(0, |domain| domain.committed = true);
    assert_eq!(call(), Ok(()));
    // A change keeps the key that the blob is under.
    let changed = card.set(&blob, &[(a::DECRYPT, false)]).unwrap();
    assert_eq!(changed[32..48], blob[32..48]);
    card.change(0, |domain| (domain.current, domain.next) = (None, None));
    assert_eq!(call(), Err(rv::IBM_WK_NOT_INITIALIZED));
}

#[test]
fn a_small_cache_and_none_give_the_same_answers() {
    for cached_keys in [0, 1, 2, 5] {
        let card = card_with(Settings { cached_keys, ..Settings::default() });
        let blobs: Vec<Vec<u8>> = (0..6).map(|_| card.aes(16, &[])).collect();
        let ecb = plain(m::AES_ECB);
        let once: Vec<_> = blobs.iter().map(|blob| card.encrypt(blob, &ecb, &[0; 16]).unwrap()).collect();
        for round in 0..3 {
            for (blob, before) in blobs.iter().zip(&once).skip(round) {
                assert_eq!(card.encrypt(blob, &ecb, &[0; 16]).as_ref(), Ok(before));
            }
        }
    }
}

#[test]
fn what_is_known_is_answered() {
    assert_eq!(card().module.self_test(), Ok(()));
}
