//! The drivers of CPACF against a model of its instructions, on any architecture: function codes, parameter blocks, operands,
//! work that ends in parts. On s390x also against the processor itself, as far as it has the functions.
//!
//! The model is ours: that the drivers agree with it does not say that a real machine agrees with either. docs/cpacf.md says
//! which functions have run on what.

mod model;
mod wrong;

use adjunct_kernels::InOut;
use adjunct_kernels::cpacf::{
    Assist, Cipher, DrbgBlock, Edwards, Gcm, Hash, Instruction, Machine, Montgomery, Nist, Refused, level,
};
use aws_lc_sys as lc;
use model::{Model, cipher, hash};

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|c| u8::from_str_radix(std::str::from_utf8(c).expect("ASCII"), 16).expect("hex"))
        .collect()
}

fn bytes(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn model() -> Assist<Model> {
    Assist::new(Model::default())
}

#[test]
fn the_model_is_asked_and_has_everything() {
    let assist = model();
    assert_eq!(level(assist.machine()), 9);
    for instruction in Instruction::ALL {
        assert!(assist.functions().query(instruction).codes().count() > 3, "{instruction:?}");
    }
}

#[test]
fn what_is_not_there_is_refused_and_nothing_is_touched() {
    let mut assist = model();
    for instruction in Instruction::ALL {
        assist.mask(instruction);
    }
    let (key, mut data, mut chain) = ([1; 16], [2; 32], [3; 16]);
    let aes = Cipher::Aes128;
    assert_eq!(assist.ecb(aes, &key, true, InOut::in_place(&mut data)), Err(Refused::Absent));
    assert_eq!(assist.cbc(aes, &key, true, &mut chain, InOut::in_place(&mut data)), Err(Refused::Absent));
    assert_eq!(assist.ctr(aes, &key, &mut chain, InOut::in_place(&mut data)), Err(Refused::Absent));
    assert_eq!(assist.absorb(Hash::Sha1, &mut [0; 20], &[0; 64]), Err(Refused::Absent));
    assert_eq!(assist.entropy(&mut data), Err(Refused::Absent));
    assert_eq!(assist.exchange(Montgomery::X25519, &[1; 32], &mut data), Err(Refused::Absent));
    assert!(Gcm::new(&assist, &key).is_none());
    assert_eq!((data, chain), ([2; 32], [3; 16]));
}

/// Blocks, in place and apart, by a mode done by hand.
fn check(cipher: Cipher, name: &str, expected: impl Fn(&[u8]) -> Vec<u8>, run: impl Fn(InOut<'_>)) {
    for blocks in [0, 1, 2, 5, 33, 100] {
        let input = bytes(blocks * cipher.block(), 1);
        let expected = expected(&input);
        let (mut apart, mut place) = (vec![0; input.len()], input.clone());
        run(InOut::apart(&input, &mut apart));
        run(InOut::in_place(&mut place));
        assert_eq!(apart, expected, "{cipher:?} {name} {blocks} blocks");
        assert_eq!(place, expected, "{cipher:?} {name} {blocks} blocks in place");
    }
}

#[test]
fn block_ciphers_in_every_mode() {
    let assist = model();
    for cipher in Cipher::ALL {
        let (key, size) = (bytes(cipher.key_length(), 9), cipher.block());
        let iv = bytes(size, 77);
        let one = |encrypt: bool, block: &[u8]| {
            let mut block = block.to_vec();
            cipher::run(&key, size, encrypt, &mut block);
            block
        };
        let xor = |a: &[u8], b: &[u8]| -> Vec<u8> { a.iter().zip(b).map(|(a, b)| a ^ b).collect() };
        let ecb = |encrypt, input: &[u8]| -> Vec<u8> { input.chunks(size).flat_map(|b| one(encrypt, b)).collect() };
        let cbc = |input: &[u8]| -> Vec<u8> {
            let mut chain = iv.clone();
            let mut next = |block: &[u8]| {
                chain = one(true, &xor(block, &chain));
                chain.clone()
            };
            input.chunks(size).flat_map(&mut next).collect()
        };
        for encrypt in [true, false] {
            let run = |io: InOut<'_>| assist.ecb(cipher, &key, encrypt, io).expect("ECB");
            check(cipher, "ECB", |input| ecb(encrypt, input), run);
        }
        let chained = |io: InOut<'_>| {
            let (mut chain, length) = (iv.clone(), io.len());
            let (head, tail) = io.split_at(length / size / 2 * size);
            assist.cbc(cipher, &key, true, &mut chain, head).expect("CBC");
            assist.cbc(cipher, &key, true, &mut chain, tail).expect("CBC");
        };
        check(cipher, "CBC", cbc, chained);
        let ofb = |input: &[u8]| -> Vec<u8> {
            let mut chain = iv.clone();
            let mut next = |block: &[u8]| {
                chain = one(true, &chain);
                xor(block, &chain)
            };
            input.chunks(size).flat_map(&mut next).collect()
        };
        check(cipher, "OFB", ofb, |io| assist.ofb(cipher, &key, &mut iv.clone(), io).expect("OFB"));
        let cfb = |segment: usize, input: &[u8]| -> Vec<u8> {
            let mut shift = iv.clone();
            let mut next = |data: &[u8]| {
                let out = xor(data, &one(true, &shift));
                shift = [&shift[segment..], &out].concat();
                out
            };
            input.chunks(segment).flat_map(&mut next).collect()
        };
        for segment in [size, 1] {
            let run = |io: InOut<'_>| assist.cfb(cipher, &key, true, segment, &mut iv.clone(), io).expect("CFB");
            check(cipher, "CFB", |input| cfb(segment, input), run);
        }
        // The counter runs over all of the block.
        let start = [vec![0xff; size - 1], vec![0xfe]].concat();
        let ctr = |input: &[u8]| -> Vec<u8> {
            let counter = |i: usize| (i as u128).wrapping_sub(2).to_be_bytes()[16 - size..].to_vec();
            input.chunks(size).enumerate().flat_map(|(i, block)| xor(block, &one(true, &counter(i)))).collect()
        };
        let run = |io: InOut<'_>| {
            let (mut counter, blocks) = (start.clone(), io.len() / size);
            assist.ctr(cipher, &key, &mut counter, io).expect("CTR");
            assert_eq!(counter, (blocks as u128).wrapping_sub(2).to_be_bytes()[16 - size..]);
        };
        check(cipher, "CTR", ctr, run);
        // What was encrypted comes back.
        let text = bytes(40 * size, 5);
        let mut work = text.clone();
        for encrypt in [true, false] {
            let io = InOut::in_place(&mut work);
            assist.cbc(cipher, &key, encrypt, &mut iv.clone(), io).expect("CBC");
        }
        for encrypt in [true, false] {
            assist.cfb(cipher, &key, encrypt, size, &mut iv.clone(), InOut::in_place(&mut work)).expect("CFB");
        }
        assert_eq!(work, text, "{cipher:?}");
        for instruction in [Instruction::Km, Instruction::Kmc, Instruction::Kmctr, Instruction::Kmf, Instruction::Kmo] {
            assert!(assist.machine().executed(instruction, cipher.code()) > 0, "{instruction:?} {cipher:?}");
        }
    }
    assert!(assist.machine().parts() > 100);
}

#[test]
fn chaining_values_go_on() {
    let assist = model();
    let (key, text, mut chain) = (bytes(16, 1), bytes(64, 2), bytes(16, 3));
    let mut out = vec![0; 64];
    assist.cbc(Cipher::Aes128, &key, true, &mut chain, InOut::apart(&text, &mut out)).expect("CBC");
    assert_eq!(chain, out[48..]);
    assist.cbc(Cipher::Aes128, &key, false, &mut chain, InOut::in_place(&mut out)).expect("CBC");
    let (mut a, mut b) = (bytes(16, 3), bytes(16, 3));
    assist.ofb(Cipher::Aes128, &key, &mut a, InOut::in_place(&mut out)).expect("OFB");
    let last = cipher_of(&key, &cipher_of(&key, &cipher_of(&key, &cipher_of(&key, &b))));
    assert_eq!(a, last);
    assist.cfb(Cipher::Aes128, &key, true, 16, &mut b, InOut::in_place(&mut out)).expect("CFB");
    assert_eq!(b, out[48..]);
}

fn cipher_of(key: &[u8], block: &[u8]) -> Vec<u8> {
    let mut block = block.to_vec();
    cipher::run(key, 16, true, &mut block);
    block
}

#[test]
fn xts_of_ieee_1619() {
    let assist = model();
    // Vector 2, and vector 10's beginning with keys of 256 bits.
    let long = "2718281828459045235360287471352662497757247093699959574966967627";
    let other = "3141592653589793238462643383279502884197169399375105820974944592";
    for (key, tweak_key, number, text, expected) in [
        (
            "11".repeat(16),
            "22".repeat(16),
            0x33_3333_3333_u128,
            "44".repeat(32),
            "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
        ),
        (
            long.to_owned(),
            other.to_owned(),
            0xff,
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f".to_owned(),
            "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b",
        ),
    ] {
        let (key, tweak_key) = (hex(&key), hex(&tweak_key));
        let mut parameter = assist.xts_parameter(&tweak_key, &number.to_le_bytes()).expect("PCC");
        assert_eq!(parameter.to_vec(), cipher_of(&tweak_key, &number.to_le_bytes()));
        let start = parameter;
        let mut data = hex(&text);
        let (head, tail) = data.split_at_mut(16);
        assist.xts(&key, true, &mut parameter, InOut::in_place(head)).expect("XTS");
        assist.xts(&key, true, &mut parameter, InOut::in_place(tail)).expect("XTS");
        assert_eq!(data, hex(expected));
        assist.xts(&key, false, &mut { start }, InOut::in_place(&mut data)).expect("XTS");
        assert_eq!(data, hex(&text));
    }
}

#[test]
fn cmac_of_sp_800_38b() {
    let assist = model();
    let text = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
    let aes = "2b7e151628aed2a6abf7158809cf4f3c";
    let aes256 = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
    let tdes = "8aa83bf8cbda10620bc1bf19fbb6cd58bc313d4a371ca8b5";
    for (cipher, key, length, expected) in [
        (Cipher::Aes128, aes, 0, "bb1d6929e95937287fa37d129b756746"),
        (Cipher::Aes128, aes, 16, "070a16b46b4d4144f79bdd9dd04a287c"),
        (Cipher::Aes128, aes, 40, "dfa66747de9ae63030ca32611497c827"),
        (Cipher::Aes128, aes, 64, "51f0bebf7e3b9d92fc49741779363cfe"),
        (Cipher::Aes256, aes256, 40, "aaf3d8f1de5640c232f5b169b9c911e6"),
        (Cipher::TripleDes, tdes, 20, "743ddbe0ce2dc2ed"),
        (Cipher::TripleDes, tdes, 32, "33e6b1092400eae5"),
    ] {
        let (key, text) = (hex(key), &hex(text)[..length]);
        let head = length.saturating_sub(1) / cipher.block() * cipher.block();
        let mut chain = vec![0; cipher.block()];
        assist.cmac(cipher, &key, &mut chain, &text[..head]).expect("KMAC");
        assist.cmac_last(cipher, &key, &mut chain, &text[head..]).expect("PCC");
        assert_eq!(chain, hex(expected), "{cipher:?} {length}");
    }
}

/// AES-GCM in one go, by AWS-LC.
fn sealed(key: &[u8], iv: &[u8], aad: &[u8], text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut out = vec![0; text.len() + 16];
    // SAFETY: pointers and lengths describe the slices; the context is freed.
    unsafe {
        let aead = match key.len() {
            16 => lc::EVP_aead_aes_128_gcm(),
            24 => lc::EVP_aead_aes_192_gcm(),
            _ => lc::EVP_aead_aes_256_gcm(),
        };
        let context = lc::EVP_AEAD_CTX_new(aead, key.as_ptr(), key.len(), 16);
        let mut length = 0;
        let (p, size) = (out.as_mut_ptr(), out.len());
        let (n, t, a) = (iv.as_ptr(), text.as_ptr(), aad.as_ptr());
        let done = lc::EVP_AEAD_CTX_seal(context, p, &raw mut length, size, n, iv.len(), t, text.len(), a, aad.len());
        assert_eq!((done, length), (1, size));
        lc::EVP_AEAD_CTX_free(context);
    }
    let tag = out.split_off(text.len());
    (out, tag)
}

#[test]
fn gcm_as_a_stream_of_any_pieces() {
    let assist = model();
    let (aad, text) = (bytes(77, 4), bytes(333, 5));
    for key_length in [16, 24, 32] {
        let key = bytes(key_length, 6);
        for (iv_length, a, t) in
            [(12, 77, 333), (12, 0, 0), (12, 16, 0), (12, 0, 16), (1, 5, 5), (16, 32, 64), (60, 33, 100)]
        {
            let (iv, aad, text) = (bytes(iv_length, 8), &aad[..a], &text[..t]);
            let (expected, tag) = sealed(&key, &iv, aad, text);
            for piece in [1, 7, 16, 40, 1000] {
                let mut gcm = Gcm::new(&assist, &key).expect("the functions");
                for encrypt in [true, false] {
                    let (input, output) = if encrypt { (text, &expected[..]) } else { (&expected[..], text) };
                    gcm.start(&assist, &iv).expect("an IV");
                    aad.chunks(piece).for_each(|aad| gcm.aad(&assist, aad).expect("AAD"));
                    let mut out = input.to_vec();
                    for part in out.chunks_mut(piece) {
                        gcm.crypt(&assist, encrypt, InOut::in_place(part)).expect("text");
                    }
                    assert_eq!(out, output, "IV {iv_length}, {a}, {t} in pieces of {piece}");
                    assert_eq!(gcm.tag(&assist).expect("a tag").to_vec(), tag, "IV {iv_length}, {a}, {t} by {piece}");
                }
            }
        }
    }
    assert!(assist.machine().parts() > 100);
}

#[test]
fn gcm_goes_on_from_where_another_was() {
    let assist = model();
    let (key, text) = (bytes(16, 1), bytes(96, 2));
    let (expected, _) = sealed(&key, &bytes(12, 3), b"", &text);
    let mut whole = Gcm::new(&assist, &key).expect("the functions");
    whole.start(&assist, &bytes(12, 3)).expect("an IV");
    let mut first = text[..48].to_vec();
    whole.crypt(&assist, true, InOut::in_place(&mut first)).expect("text");
    let (counter, hash) = whole.progress();
    let mut other = Gcm::new(&assist, &key).expect("the functions");
    other.resume(&counter, &hash);
    let mut second = text[48..].to_vec();
    other.crypt(&assist, true, InOut::in_place(&mut second)).expect("text");
    assert_eq!([first, second].concat(), expected);
    let mut rest = text[48..].to_vec();
    whole.crypt(&assist, true, InOut::in_place(&mut rest)).expect("text");
    assert_eq!(whole.progress(), other.progress());
}

/// The first state of a hash, big-endian; none for SHA-3.
fn first_state(hash: Hash) -> Vec<u8> {
    hex(match hash {
        Hash::Sha1 => "67452301efcdab8998badcfe10325476c3d2e1f0",
        Hash::Sha256 => "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19",
        Hash::Sha512 => {
            "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179"
        }
        _ => return vec![0; 200],
    })
}

fn digests<M: Machine>(assist: &Assist<M>) -> usize {
    let known = [
        (Hash::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Hash::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Hash::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (Hash::Sha3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        (Hash::Sha3_256, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        (
            Hash::Sha3_384,
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
        ),
        (
            Hash::Sha3_512,
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
    ];
    let mut run = 0;
    for (hash, expected) in known {
        let has = |instruction| assist.functions().has(instruction, hash.code());
        if !(has(Instruction::Kimd) && has(Instruction::Klmd)) {
            continue;
        }
        run += 1;
        let mut state = first_state(hash);
        assist.finish(hash, &mut state, b"abc", 24).expect("KLMD");
        assert_eq!(state[..expected.len() / 2], hex(expected), "{hash:?}");
        // However a message is divided between the two instructions, with more blocks than are done at once.
        let message = bytes(200 * hash.block() + 17, 1);
        let bits = message.len() as u128 * 8;
        let mut all = first_state(hash);
        assist.finish(hash, &mut all, &message, bits).expect("KLMD");
        for blocks in [1, 2, 99, 200] {
            let (head, rest) = message.split_at(blocks * hash.block());
            let mut state = first_state(hash);
            assist.absorb(hash, &mut state, head).expect("KIMD");
            assist.finish(hash, &mut state, rest, bits).expect("KLMD");
            assert_eq!(state, all, "{hash:?} {blocks}");
        }
    }
    run
}

#[test]
fn digests_of_the_model() {
    let assist = model();
    assert_eq!(digests(&assist), 7);
    assert!(assist.machine().parts() > 100);
}

#[test]
fn output_of_any_length() {
    let assist = model();
    // FIPS 202: SHAKE of nothing.
    for (hash, expected) in [
        (Hash::Shake128, "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26"),
        (Hash::Shake256, "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f"),
    ] {
        let mut out = vec![0; 1000];
        assist.squeeze_first(hash, &mut [0; 200], &[], &mut out).expect("KLMD");
        assert_eq!(out[..32], hex(expected));
        for blocks in [1, 2, 4] {
            let (mut state, mut again) = ([0; 200], vec![0; 1000]);
            let (first, more) = again.split_at_mut(blocks * hash.block());
            assist.squeeze_first(hash, &mut state, &[], first).expect("KLMD");
            assist.squeeze_more(hash, &mut state, more).expect("KLMD");
            assert_eq!(again, out, "{hash:?} {blocks}");
        }
    }
}

#[test]
fn ghash_is_gcms() {
    let assist = model();
    // Test case 2 of the proposal of GCM: the hash of a block of ciphertext and the lengths.
    let subkey: [u8; 16] = hex("66e94bd4ef8a2c3b884cfa59ca342b2e").try_into().expect("a block");
    let data = hex("0388dace60b6a392f328c2b971b2fe7800000000000000000000000000000080");
    let mut hash = [0; 16];
    assist.ghash(&subkey, &mut hash, &data).expect("KIMD");
    assert_eq!(hash.to_vec(), hex("f38cbb1ad69223dcc3457ae5b6b0f885"));
}

#[test]
fn random_numbers() {
    let assist = model();
    let mut out = [0; 200];
    assist.entropy(&mut out).expect("PRNO");
    let expected: Vec<u8> = (0..200).map(|i| 200 - i as u8).collect();
    assert_eq!(out.to_vec(), expected);
    // CAVP's Hash_DRBG.rsp has seeds and answers; the core, which makes V and C of the seeds, finds them by the model.
    let (value, constant) = ([0x5a; 111], [0xff; 111]);
    let (mut whole, mut parts) = (DrbgBlock::new(&value, &constant, 1), DrbgBlock::new(&value, &constant, 1));
    let (mut a, mut b) = ([0; 300], [0; 300]);
    assist.drbg_generate(&mut whole, &mut a).expect("PRNO");
    assist.drbg_generate(&mut parts, &mut b[..64]).expect("PRNO");
    assert_eq!(a[..64], b[..64]);
    assert_eq!(a[..64], hash::sha512(&[&value]));
    assert_eq!((whole.reseed_counter, whole.stream_bytes), ([0, 0, 0, 2], [0, 0, 0, 0, 0, 0, 1, 44]));
    assert_eq!(whole.value, parts.value);
    assist.drbg_generate(&mut whole, &mut b).expect("PRNO");
    assert_ne!(a, b);
}

#[test]
fn what_an_instruction_refuses_is_told() {
    let assist = model();
    let refused = Err(Refused::Condition(2));
    model::refusing(|| {
        let (mut x, mut y) = ([1; 32], [2; 32]);
        assert_eq!(assist.multiply(Nist::P256, &[1; 32], &mut x, &mut y), refused);
        assert_eq!((x, y), ([1; 32], [2; 32]));
        assert_eq!(assist.exchange(Montgomery::X25519, &[1; 32], &mut x), refused);
        assert_eq!(assist.edwards_public(Edwards::Ed25519, &[1; 32], &mut x), refused);
        assert_eq!(assist.eddsa_sign(Edwards::Ed25519, &[1; 32], b"message", &mut [0; 64]), refused);
        assert_eq!(assist.ecdsa_sign(Nist::P256, &[1; 32], &[1; 32], &[1; 32], &mut x, &mut y), refused);
        assert_eq!((x, y), ([1; 32], [2; 32]));
    });
}

#[test]
fn nist_curves_multiply_sign_and_verify() {
    let assist = model();
    // RFC 6979, A.2.5: P-256, SHA-256, "sample".
    let private = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    let nonce = hex("a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60");
    let digest = hex("af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf");
    let (mut r, mut s) = ([0; 32], [0; 32]);
    assist.ecdsa_sign(Nist::P256, &private, &digest, &nonce, &mut r, &mut s).expect("KDSA");
    assert_eq!(r.to_vec(), hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"));
    assert_eq!(s.to_vec(), hex("f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"));
    let mut x = hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296");
    let mut y = hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5");
    assist.multiply(Nist::P256, &private, &mut x, &mut y).expect("PCC");
    assert_eq!(x, hex("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"));
    assert_eq!(assist.ecdsa_verify(Nist::P256, [&x, &y], &digest, [&r, &s]), Ok(true));
    assert_eq!(assist.ecdsa_verify(Nist::P256, [&x, &y], &digest, [&s, &r]), Ok(false));
    x[0] ^= 1;
    assert_eq!(assist.multiply(Nist::P256, &private, &mut x, &mut y), Err(Refused::Condition(2)));
    assert!(matches!(
        assist.ecdsa_sign(Nist::P256, &[0; 32], &digest, &nonce, &mut r, &mut s),
        Err(Refused::Condition(_))
    ));
    for (curve, base) in [
        (
            Nist::P384,
            "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab73617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
        ),
        (
            Nist::P521,
            "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650",
        ),
    ] {
        let length = curve.length();
        let base = hex(base);
        let (mut x, mut y) = (base[..length].to_vec(), base[length..].to_vec());
        let number = |seed| [vec![0; 2], bytes(length - 2, seed)].concat();
        let (private, nonce, digest) = (number(1), number(2), number(3));
        assist.multiply(curve, &private, &mut x, &mut y).expect("PCC");
        let (mut r, mut s) = (vec![0; length], vec![0; length]);
        assist.ecdsa_sign(curve, &private, &digest, &nonce, &mut r, &mut s).expect("KDSA");
        assert_eq!(assist.ecdsa_verify(curve, [&x, &y], &digest, [&r, &s]), Ok(true), "{curve:?}");
        assert_eq!(assist.ecdsa_verify(curve, [&x, &y], &nonce, [&r, &s]), Ok(false), "{curve:?}");
    }
}

#[test]
fn the_curves_of_rfc_7748() {
    let assist = model();
    for (curve, scalar, u, expected) in [
        (
            Montgomery::X25519,
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            // The highest bit of u is not looked at.
            Montgomery::X25519,
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
        (
            Montgomery::X448,
            "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c600ad3",
            "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef8a086",
            "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd96b6f",
        ),
    ] {
        let mut u = hex(u);
        assist.exchange(curve, &hex(scalar), &mut u).expect("PCC");
        assert_eq!(u, hex(expected), "{curve:?}");
    }
}

#[test]
fn the_curves_of_rfc_8032() {
    let assist = model();
    // RFC 8032, 7.1 test 2 and 7.4 "1 octet".
    for (curve, private, public, message, signature) in [
        (
            Edwards::Ed25519,
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            Edwards::Ed448,
            "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
            "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
            "03",
            "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633fc1bf037ab7cd779805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0ff3348ab21aa4adafd1d234441cf807c03a00",
        ),
    ] {
        let (private, public, message, expected) = (hex(private), hex(public), hex(message), hex(signature));
        let mut signature = vec![0; 2 * curve.length()];
        assist.eddsa_sign(curve, &private, &message, &mut signature).expect("KDSA");
        assert_eq!(signature, expected, "{curve:?}");
        assert_eq!(assist.eddsa_verify(curve, &public, &message, &signature), Ok(true), "{curve:?}");
        assert_eq!(assist.eddsa_verify(curve, &public, b"another", &signature), Ok(false), "{curve:?}");
        let mut scalar = match curve {
            Edwards::Ed25519 => hash::sha512(&[&private])[..32].to_vec(),
            Edwards::Ed448 => {
                let mut out = vec![0; 57];
                hash::shake256(&[&private], &mut out);
                out
            }
        };
        match curve {
            Edwards::Ed25519 => {
                scalar[0] &= 248;
                scalar[31] = scalar[31] & 63 | 64;
            }
            Edwards::Ed448 => {
                scalar[0] &= 252;
                scalar[55] |= 128;
                scalar[56] = 0;
            }
        }
        let mut made = vec![0; curve.length()];
        assist.edwards_public(curve, &scalar, &mut made).expect("PCC");
        assert_eq!(made, public, "{curve:?}");
    }
}

/// What is executed in earnest. A processor that has more than the model's makers could try, runs it here for the first time.
#[cfg(target_arch = "s390x")]
mod processor {
    use super::*;
    use adjunct_kernels::cpacf::Processor;

    #[test]
    fn digests_of_the_processor() {
        let assist = Assist::new(Processor);
        for instruction in Instruction::ALL {
            let codes: Vec<u8> = assist.functions().query(instruction).codes().collect();
            eprintln!("{instruction:?}: {codes:?}");
        }
        match digests(&assist) {
            0 => eprintln!("SKIPPED: KIMD and KLMD have no function here"),
            run => eprintln!("{run} digests run by KIMD and KLMD"),
        }
    }

    #[test]
    fn entropy_of_the_processor() {
        let assist = Assist::new(Processor);
        let (mut a, mut b) = ([0; 1000], [0; 1000]);
        if assist.entropy(&mut a) == Err(Refused::Absent) {
            eprintln!("SKIPPED: PRNO has no true random number generator here");
            return;
        }
        assist.entropy(&mut b).expect("PRNO");
        assert_ne!(a, b);
        assert!(a.windows(32).all(|window| window != [0; 32]));
    }
}
