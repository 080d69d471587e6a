//! The ways to CPACF, run on the model: each function of the core against the library's, which knows nothing of it.

use super::assist;
use super::host::model;
use crate::choice as route;
use crate::cipher::aes::AesKey;
use crate::cipher::ccm::Ccm;
use crate::cipher::des::Des;
use crate::cipher::gcm::Gcm;
use crate::cipher::stream;
use crate::cipher::xts::Xts;
use crate::cmac::{BlockCipher, Cmac};
use crate::curve::{Curve, MAX_FIELD, MAX_POINT};
use crate::digest::{self, Digest};
use crate::ec::CpuEcKey;
use crate::ecx;
use adjunct_base::catalogue::Function;
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{Path, Reason};
use adjunct_kernels::InOut;
use adjunct_kernels::cpacf::{Cipher, Instruction};
use aws_lc_sys as lc;

/// The result of an operation that the instruction has done.
fn hardware<T>((result, outcome): (T, Outcome)) -> T {
    assert_eq!(outcome, Outcome::Instructions);
    result
}

fn bytes(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_add(seed).wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// The library's schedule.
fn schedule(key: &[u8], encrypt: bool) -> lc::AES_KEY {
    let mut out = lc::AES_KEY { rd_key: [0; 60], rounds: 0 };
    let set = if encrypt { lc::AES_set_encrypt_key } else { lc::AES_set_decrypt_key };
    // SAFETY: a key of the length given.
    assert_eq!(unsafe { set(key.as_ptr(), key.len() as u32 * 8, &raw mut out) }, 0);
    out
}

#[test]
fn all_of_the_catalogue_that_names_instructions_is_hardware_on_the_model() {
    for &function in Function::ALL {
        let named = !function.info().s390.is_empty();
        assert_eq!(route::path(function, 0) == Path::Hardware, named, "{function:?}");
    }
    assert_eq!(route::path(Function::Ecdh, 192), Path::Software(Reason::Parameter));
    assert_eq!(route::path(Function::AesXts, 128), Path::Hardware);
}

#[test]
fn aes_in_every_mode_and_any_pieces() {
    let text = bytes(700, 1);
    for length in [16, 24, 32] {
        let key = bytes(length, 2);
        let (forth, back) = (schedule(&key, true), schedule(&key, false));
        let (mut ours, mut inverse) = (AesKey::default(), AesKey::default());
        ours.set_encrypt(&key).expect("a key");
        inverse.set_decrypt(&key).expect("a key");
        let iv: [u8; 16] = bytes(16, 3).try_into().expect("a block");
        for encrypt in [true, false] {
            let (key, raw) = if encrypt { (&ours, &forth) } else { (&inverse, &back) };
            let (mut a, mut b, mut chain, mut other) = (text[..640].to_vec(), text[..640].to_vec(), iv, iv);
            key.cbc(encrypt, &mut chain, InOut::in_place(&mut a));
            let p = b.as_mut_ptr();
            // SAFETY: whole blocks in place.
            unsafe { lc::AES_cbc_encrypt(p, p, 640, raw, other.as_mut_ptr(), encrypt.into()) };
            assert_eq!((a, chain), (b, other), "CBC {length} {encrypt}");
            let (mut a, mut b) = (text[..64].to_vec(), text[..64].to_vec());
            key.ecb(encrypt, InOut::in_place(&mut a));
            for block in b.chunks_mut(16) {
                let p = block.as_mut_ptr();
                // SAFETY: a block in place.
                unsafe { if encrypt { lc::AES_encrypt(p, p, raw) } else { lc::AES_decrypt(p, p, raw) } };
            }
            assert_eq!(a, b, "ECB {length} {encrypt}");
            for pieces in [&[700][..], &[5, 16, 27, 300, 352], &[1, 15, 16, 668]] {
                let check = |name, run: &dyn Fn(&mut [u8; 16], &mut u32, InOut<'_>), expected: Vec<u8>| {
                    let (mut out, mut iv, mut used) = (text.clone(), iv, 0);
                    let mut rest = &mut out[..];
                    for &piece in pieces {
                        let (now, later) = rest.split_at_mut(piece);
                        run(&mut iv, &mut used, InOut::in_place(now));
                        rest = later;
                    }
                    assert_eq!(out, expected, "{name} {length} {encrypt} {pieces:?}");
                };
                let library = |run: &dyn Fn(*const u8, *mut u8, *mut u8, *mut i32)| {
                    let (mut out, mut iv, mut num) = (vec![0; 700], iv, 0);
                    run(text.as_ptr(), out.as_mut_ptr(), iv.as_mut_ptr(), &raw mut num);
                    out
                };
                let enc = i32::from(encrypt);
                let expected = library(&|i, o, v, n| {
                    // SAFETY: buffers of 700 bytes, an IV.
                    unsafe { lc::AES_cfb128_encrypt(i, o, 700, &forth, v, n, enc) }
                });
                check("CFB", &|iv, used, io| ours.cfb(encrypt, iv, used, io), expected);
                // SAFETY: the buffers of 700 bytes, the IV of 16 and the schedule are as long as the function takes.
                let expected = library(&|i, o, v, n| unsafe { lc::AES_cfb8_encrypt(i, o, 700, &forth, v, n, enc) });
                check("CFB-8", &|iv, _, io| ours.cfb8(encrypt, iv, io), expected);
                // SAFETY: the buffers of 700 bytes, the IV of 16 and the schedule are as long as the function takes.
                let expected = library(&|i, o, v, n| unsafe { lc::AES_ofb128_encrypt(i, o, 700, &forth, v, n) });
                check("OFB", &|iv, used, io| ours.ofb(iv, used, io), expected);
            }
            let (mut a, mut b, mut v, mut w, mut num) = (text.clone(), vec![0; 700], iv, iv, 0);
            ours.cfb1(encrypt, &mut v, 700 * 8, InOut::in_place(&mut a));
            let (i, o) = (text.as_ptr(), b.as_mut_ptr());
            // SAFETY: 5600 bits are the 700 bytes of the buffers; the IV and the schedule are as long as the function takes.
            unsafe { lc::AES_cfb1_encrypt(i, o, 5600, &forth, w.as_mut_ptr(), &raw mut num, i32::from(encrypt)) };
            assert_eq!((a, v), (b, w), "CFB-1 {length} {encrypt}");
        }
        for pieces in [&[700][..], &[3, 13, 16, 35, 633]] {
            let (mut a, mut counter, mut stream, mut used) = (text.clone(), [0xff; 16], [0; 16], 0);
            let mut rest = &mut a[..];
            for &piece in pieces {
                let (now, later) = rest.split_at_mut(piece);
                ours.ctr(&mut counter, &mut stream, &mut used, InOut::in_place(now));
                rest = later;
            }
            let (mut b, mut other, mut ks, mut num) = (vec![0; 700], [0xff; 16], [0; 16], 0);
            let (c, k) = (other.as_mut_ptr(), ks.as_mut_ptr());
            // SAFETY: buffers of 700 bytes, blocks.
            unsafe { lc::AES_ctr128_encrypt(text.as_ptr(), b.as_mut_ptr(), 700, &forth, c, k, &raw mut num) };
            assert_eq!((a, counter, used), (b, other, num), "CTR {length} {pieces:?}");
        }
        let (list, mut out) = (bytes(704, 8), text.clone());
        ours.ctr_list(&list, InOut::in_place(&mut out));
        for (at, counter) in list.chunks(16).enumerate() {
            let mut stream = [0; 16];
            // SAFETY: blocks.
            unsafe { lc::AES_encrypt(counter.as_ptr(), stream.as_mut_ptr(), &raw const forth) };
            let there = text[at * 16..].iter().zip(stream).map(|(t, s)| t ^ s);
            assert!(there.zip(&out[at * 16..]).all(|(a, b)| a == *b), "list of counters {length} {at}");
        }
    }
}

#[test]
fn gcm_and_ccm_open_what_the_library_seals() {
    for length in [16, 24, 32] {
        let (key, nonce, aad, text) = (bytes(length, 1), bytes(12, 2), bytes(37, 3), bytes(333, 4));
        let mut sealed = vec![0; text.len() + 16];
        // SAFETY: pointers and lengths describe the slices.
        unsafe {
            let aead = match length {
                16 => lc::EVP_aead_aes_128_gcm(),
                24 => lc::EVP_aead_aes_192_gcm(),
                _ => lc::EVP_aead_aes_256_gcm(),
            };
            let context = lc::EVP_AEAD_CTX_new(aead, key.as_ptr(), key.len(), 16);
            let (mut made, out, size) = (0, sealed.as_mut_ptr(), sealed.len());
            let (n, t, a) = (nonce.as_ptr(), text.as_ptr(), aad.as_ptr());
            let done = lc::EVP_AEAD_CTX_seal(context, out, &raw mut made, size, n, 12, t, text.len(), a, aad.len());
            assert_eq!(done, 1);
            lc::EVP_AEAD_CTX_free(context);
        }
        let mut gcm = Gcm::default();
        gcm.set_key(&key).expect("a key");
        for pieces in [333, 16, 7] {
            gcm.set_iv(&nonce);
            aad.chunks(pieces).for_each(|aad| gcm.aad(aad).expect("AAD"));
            let mut out = sealed[..333].to_vec();
            out.chunks_mut(pieces).for_each(|part| gcm.decrypt(InOut::in_place(part)).expect("text"));
            assert!(gcm.aad(&aad).is_err(), "after the text");
            assert_eq!((out, gcm.tag().to_vec()), (text.clone(), sealed[333..].to_vec()));
        }
        // CCM, with itself: what it is made of has been compared above.
        let (mut ccm, mut out) = (Ccm::default(), text.clone());
        ccm.set_key(&key).expect("a key");
        ccm.start(&nonce, 16, text.len()).expect("lengths");
        ccm.aad(&aad);
        ccm.message(true, InOut::in_place(&mut out)).expect("text");
        assert_ne!(out, text);
    }
}

#[test]
fn xts_of_any_length() {
    for length in [16, 32] {
        let (key, text, iv) = (bytes(2 * length, 1), bytes(100, 2), [7; 16]);
        for unit in [16, 17, 31, 32, 48, 100] {
            let (mut forth, mut back) = (Xts::default(), Xts::default());
            let (data, tweak) = key.split_at(key.len() / 2);
            forth.set_keys(data, tweak, true).expect("a key");
            back.set_keys(data, tweak, false).expect("a key");
            let mut out = text[..unit].to_vec();
            forth.unit(&iv, InOut::in_place(&mut out)).expect("a unit");
            if length == 32 {
                let mut expected = vec![0; unit];
                // SAFETY: keys of 64 bytes, an IV of 16, buffers of the length given.
                unsafe {
                    let context = lc::EVP_CIPHER_CTX_new();
                    let (cipher, mut made, engine) = (lc::EVP_aes_256_xts(), 0, std::ptr::null_mut());
                    assert_eq!(lc::EVP_EncryptInit_ex(context, cipher, engine, key.as_ptr(), iv.as_ptr()), 1);
                    let (to, from) = (expected.as_mut_ptr(), text.as_ptr());
                    assert_eq!(lc::EVP_EncryptUpdate(context, to, &raw mut made, from, unit as i32), 1);
                    lc::EVP_CIPHER_CTX_free(context);
                }
                assert_eq!(out, expected, "{unit}");
            }
            back.unit(&iv, InOut::in_place(&mut out)).expect("a unit");
            assert_eq!(out, text[..unit], "{length} {unit}");
        }
    }
}

#[test]
fn des_and_cmac() {
    // FIPS 81's example, with one key and three times the same.
    let key = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
    let expected = [0x3f, 0xa4, 0x0e, 0x8a, 0x98, 0x4d, 0x48, 0x15];
    for key in [key.to_vec(), key.repeat(3)] {
        let des = Des::new(&key).expect("a key");
        let (mut block, mut iv) = (*b"Now is t", [0; 8]);
        des.ecb(true, InOut::in_place(&mut block));
        assert_eq!(block, expected);
        des.ecb(false, InOut::in_place(&mut block));
        des.cbc(true, &mut iv, InOut::in_place(&mut block));
        assert_eq!((block, iv), (expected, expected));
    }
    // SP 800-38B's examples of AES-128 and of triple DES (of NIST's CMAC examples).
    let (mut aes, mut out) = (Cmac::default(), [0; 16]);
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    aes.set_key(BlockCipher::Aes(16), &key).expect("a key");
    aes.finish(&mut out);
    assert_eq!(u128::from_be_bytes(out), 0xbb1d_6929_e959_3728_7fa3_7d12_9b75_6746);
    let text = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let text: Vec<u8> =
        text.iter().flat_map(|t| t.to_be_bytes()).chain([0x30, 0xc8, 0x1c, 0x46, 0xa3, 0x5c, 0xe4, 0x11]).collect();
    for piece in [40, 16, 7] {
        aes.reset();
        text.chunks(piece).for_each(|part| aes.update(part));
        aes.finish(&mut out);
        assert_eq!(u128::from_be_bytes(out), 0xdfa6_6747_de9a_e630_30ca_3261_1497_c827, "{piece}");
    }
}

#[test]
fn des_in_streams_of_any_length() {
    let (text, key, iv) = (bytes(203, 1), bytes(24, 2), [0xff; 8]);
    for (key, cipher) in [(&key[..8], Cipher::Des), (&key[..], Cipher::TripleDes)] {
        let des = Des::new(key).expect("a key");
        let ecb = |io: InOut<'_>| des.ecb(true, io);
        let executed = |instruction| assist().machine().executed(instruction, cipher.code());
        let before = [Instruction::Kmctr, Instruction::Kmf, Instruction::Kmo].map(executed);
        for length in [0, 1, 7, 8, 9, 24, 203] {
            let (mut a, mut b, mut v, mut w) = (text[..length].to_vec(), text[..length].to_vec(), iv, iv);
            des.ctr(&mut v, InOut::in_place(&mut a));
            stream::ctr(&mut w, InOut::in_place(&mut b), ecb);
            assert_eq!((&a, v), (&b, w), "CTR {length}");
            let list = bytes(208, 3);
            des.ctr_list(&list, InOut::in_place(&mut a));
            stream::ctr_list::<8>(&list, InOut::in_place(&mut b), ecb);
            assert_eq!(a, b, "list of counters {length}");
            des.ofb(&mut v, InOut::in_place(&mut a));
            stream::ofb(&mut w, InOut::in_place(&mut b), ecb);
            assert_eq!((&a, v), (&b, w), "OFB {length}");
            for (encrypt, segment) in [(true, 1), (false, 1), (true, 3), (false, 3), (true, 8), (false, 8)] {
                des.cfb(encrypt, segment, &mut v, InOut::in_place(&mut a));
                stream::cfb(encrypt, segment, &mut w, InOut::in_place(&mut b), ecb);
                assert_eq!((&a, v), (&b, w), "CFB {encrypt} {segment} {length}");
            }
        }
        let after = [Instruction::Kmctr, Instruction::Kmf, Instruction::Kmo].map(executed);
        assert!(before.iter().zip(after).all(|(before, after)| *before < after), "{cipher:?}");
    }
    let mut aes = AesKey::default();
    aes.set_encrypt(&[9; 16]).expect("a key");
    let (mut a, mut b, mut v, mut w) = (text.clone(), text.clone(), [1; 16], [1; 16]);
    for encrypt in [true, false] {
        aes.cfb_segments(encrypt, 5, &mut v, InOut::in_place(&mut a));
        stream::cfb(encrypt, 5, &mut w, InOut::in_place(&mut b), |io| aes.ecb(true, io));
        assert_eq!((&a, v), (&b, w), "{encrypt}");
    }
}

#[test]
fn the_generator_is_prnos() {
    let before = assist().machine().executed(Instruction::Prno, 3);
    let mut state = crate::drbg::State::new(&[b"seed"]);
    let mut out = [[0; 100]; 2];
    state.generate(&[b"more"], &mut out[0]);
    assert!(assist().machine().executed(Instruction::Prno, 3) > before);
    // Its count has 32 bits. Past them it is the same mechanism.
    let mut other = crate::drbg::State::new(&[b"seed"]);
    (state.requests, other.requests) = (u64::from(u32::MAX) - 1, u64::from(u32::MAX));
    state.generate(&[], &mut out[0]);
    state.generate(&[], &mut out[1]);
    other.generate(&[], &mut out[0]);
    assert_eq!((state.requests, other.requests), (1 << 32, 1 << 32));
}

#[test]
fn digests_of_every_method() {
    let message = bytes(3000, 5);
    for &method in digest::METHODS {
        let run = |piece: usize| {
            let (mut digest, mut out) = (Digest::new(method), vec![0; method.size]);
            message.chunks(piece).for_each(|part| digest.update(part));
            digest.finish(&mut out);
            out
        };
        let expected = run(3000);
        assert!([1, 63, 136, 1000].into_iter().all(|piece| run(piece) == expected), "{method:?}");
        let md = match method.name {
            // SAFETY: the function gives a pointer to an immutable static.
            "SHA1" => unsafe { lc::EVP_sha1() },
            // SAFETY: the function gives a pointer to an immutable static.
            "SHA2-224" => unsafe { lc::EVP_sha224() },
            // SAFETY: the function gives a pointer to an immutable static.
            "SHA2-256" => unsafe { lc::EVP_sha256() },
            // SAFETY: the function gives a pointer to an immutable static.
            "SHA3-256" => unsafe { lc::EVP_sha3_256() },
            // SAFETY: the function gives a pointer to an immutable static.
            "SHA3-512" => unsafe { lc::EVP_sha3_512() },
            _ => continue,
        };
        let (mut out, mut length) = (vec![0; method.size], 0);
        let (p, e) = (out.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: pointers and lengths describe the slices.
        unsafe { lc::EVP_Digest(message.as_ptr().cast(), message.len(), p, &raw mut length, md, e) };
        assert_eq!(out, expected, "{method:?}");
    }
}

#[test]
fn curves_sign_verify_and_agree() {
    for curve in [Curve::P256, Curve::P384, Curve::P521] {
        let (group, length) = (curve.group(), curve.field_len());
        let [ours, theirs] = [(); 2].map(|()| hardware(CpuEcKey::generate(group).expect("a key")));
        let (mut a, mut b) = ([0; MAX_FIELD], [0; MAX_FIELD]);
        let a = hardware(ours.shared_secret(&theirs, &mut a).expect("a secret")).to_vec();
        assert_eq!(a, hardware(theirs.shared_secret(&ours, &mut b).expect("a secret")));
        let private = ours.scalar().expect("private").to_vec();
        let public = [&[4][..], ours.coordinates(&mut [0; MAX_POINT]).expect("public")].concat();
        let key = CpuEcKey::new(group, Some(&public), Some(&private)).expect("a key");
        assert!(key.is_pair(), "PCC's point is the library's");
        for digest in [20, 32, 64, 70] {
            let digest = bytes(digest, 9);
            let mut signature = vec![0; 2 * length];
            assert_eq!(ours.sign(&digest, &mut signature), Ok(Outcome::Instructions));
            for key in [&ours, &key] {
                assert_eq!(key.verify(&digest, &signature), Ok((true, Outcome::Instructions)));
            }
            assert_eq!(theirs.verify(&digest, &signature), Ok((false, Outcome::Instructions)));
            assert_eq!(ours.verify(&digest, &vec![0xff; 2 * length]), Ok((false, Outcome::Instructions)));
            // The library's own code, of what the instruction signed, and the other way round.
            let (r, s) = signature.split_at(length);
            // SAFETY: pointers and lengths describe the slices; the signature owns its numbers.
            let good = unsafe {
                let made = lc::ECDSA_SIG_new();
                let number = |n: &[u8]| lc::BN_bin2bn(n.as_ptr(), n.len(), std::ptr::null_mut());
                assert_eq!(lc::ECDSA_SIG_set0(made, number(r), number(s)), 1);
                let good = lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), made, ours.raw_for_tests());
                lc::ECDSA_SIG_free(made);
                good
            };
            assert_eq!(good, 1, "{group:?}");
            let mut theirs = vec![0; 2 * length];
            let (r, s) = theirs.split_at_mut(length);
            // SAFETY: the digest and both halves of the buffer have the lengths given; the signature is made and freed here.
            unsafe {
                let made = lc::ECDSA_do_sign(digest.as_ptr(), digest.len(), ours.raw_for_tests());
                lc::BN_bn2bin_padded(r.as_mut_ptr(), length, lc::ECDSA_SIG_get0_r(made));
                lc::BN_bn2bin_padded(s.as_mut_ptr(), length, lc::ECDSA_SIG_get0_s(made));
                lc::ECDSA_SIG_free(made);
            }
            assert_eq!(key.verify(&digest, &theirs), Ok((true, Outcome::Instructions)));
            theirs[10] ^= 1;
            assert_eq!(key.verify(&digest, &theirs), Ok((false, Outcome::Instructions)));
        }
    }
}

#[test]
fn curve25519_is_the_librarys() {
    let (seed, message) = ([5; 32], b"a message");
    let (mut public, mut private) = ([0; 32], [0; 64]);
    let (mut x, mut secret, mut signature) = ([0; 32], [0; 32], [0; 64]);
    // SAFETY: arrays of the lengths the functions take.
    unsafe {
        lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr());
        lc::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr());
        lc::X25519_public_from_private(x.as_mut_ptr(), seed.as_ptr());
        lc::X25519(secret.as_mut_ptr(), [9; 32].as_ptr(), x.as_ptr());
    }
    assert_eq!(hardware(ecx::ed25519_public(&seed)), public);
    assert_eq!(hardware(ecx::ed25519_sign(&seed, &public, message)), Some(signature));
    assert!(hardware(ecx::ed25519_verify(&public, message, &signature)));
    assert!(!hardware(ecx::ed25519_verify(&public, b"another", &signature)));
    assert_eq!(hardware(ecx::x25519_public(&seed)), x);
    assert_eq!(hardware(ecx::x25519(&[9; 32], &x)).map(|s| *s), Some(secret));
    assert!(hardware(ecx::x25519(&seed, &[0; 32])).is_none());
}

#[test]
fn what_an_instruction_refuses_is_done_in_software() {
    let software = |function, bits, outcome| {
        assert_eq!(route::path(function, bits), Path::Hardware);
        assert_eq!(outcome, Outcome::Library, "{function:?}");
    };
    for nist_curve in [Curve::P256, Curve::P521] {
        let (group, bits) = (nist_curve.group(), nist_curve.bits());
        let ours = hardware(CpuEcKey::generate(group).expect("a key"));
        let (theirs, outcome) = model::refusing(|| CpuEcKey::generate(group)).expect("a key");
        software(Function::EcKeygen, bits, outcome);
        let mut secrets = [[0; MAX_FIELD]; 2];
        let [a, b] = &mut secrets;
        let (a, outcome) = model::refusing(|| ours.shared_secret(&theirs, a)).expect("a secret");
        software(Function::Ecdh, bits, outcome);
        assert_eq!(a, hardware(theirs.shared_secret(&ours, b).expect("a secret")));
        let mut signature = vec![0; 2 * group.field_len()];
        let outcome = model::refusing(|| ours.sign(&[7; 32], &mut signature)).expect("a signature");
        software(Function::EcdsaSign, bits, outcome);
        assert_eq!(ours.verify(&[7; 32], &signature), Ok((true, Outcome::Instructions)));
    }
    let (public, outcome) = model::refusing(|| ecx::ed25519_public(&[5; 32]));
    software(Function::Ed25519Keygen, 0, outcome);
    assert_eq!(public, hardware(ecx::ed25519_public(&[5; 32])));
    for length in [9, 5000] {
        let message = bytes(length, 1);
        let (signature, outcome) = model::refusing(|| ecx::ed25519_sign(&[5; 32], &public, &message));
        software(Function::Ed25519Sign, 0, outcome);
        assert_eq!(signature, hardware(ecx::ed25519_sign(&[5; 32], &public, &message)));
    }
    let (public, outcome) = model::refusing(|| ecx::x25519_public(&[5; 32]));
    software(Function::X25519Keygen, 0, outcome);
    let (secret, outcome) = model::refusing(|| ecx::x25519(&[6; 32], &public));
    software(Function::X25519Derive, 0, outcome);
    assert_eq!(secret, hardware(ecx::x25519(&[6; 32], &public)));
}

#[test]
fn curve448_is_rfc_7748s_and_8032s() {
    use crate::curve448;
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).expect("hex")).collect()
    };
    let key = |text: &str| -> [u8; 56] { hex(text).try_into().expect("a key") };
    let alice = key(
        "9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf574a9419744897391006382a6f127ab1d9ac2d8c0a598726b",
    );
    let public = key(
        "9b08f7cc31b7e3e67d22d5aea121074a273bd2b83de09c63faa73d2c22c5d9bbc836647241d953d40c5b12da88120d53177f80e532c41fa0",
    );
    assert_eq!(curve448::x448_public(&alice), Some(public));
    let bob = key(
        "1c306a7ac2a0e2e0990b294470cba339e6453772b075811d8fad0d1d6927c120bb5ee8972b0d3e21374c9c921b09d1b0366f10b65173992d",
    );
    let theirs = curve448::x448_public(&bob).expect("a key");
    assert_eq!(curve448::x448(&alice, &theirs), curve448::x448(&bob, &public));
    // "Blank".
    let private = hex(
        "6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3528c8a3fcc2f044e39a3fc5b94492f8f032e7549a20098f95b",
    );
    let private: [u8; 57] = private.try_into().expect("a key");
    let public = curve448::ed448_public(&private).expect("a key");
    assert_eq!(
        public.to_vec(),
        hex(
            "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180",
        )
    );
    let signature = curve448::ed448_sign(&private, b"").expect("a signature");
    assert_eq!(signature[..8], [0x53, 0x3a, 0x37, 0xf6, 0xbb, 0xe4, 0x57, 0x25]);
    assert_eq!(curve448::ed448_verify(&public, b"", &signature), Some(true));
    assert_eq!(curve448::ed448_verify(&public, b"x", &signature), Some(false));
}

#[test]
fn the_model_was_what_ran() {
    let mut block = [0; 160];
    let mut key = AesKey::default();
    key.set_encrypt(&[1; 16]).expect("a key");
    let before = assist().machine().parts();
    for _ in 0..20 {
        key.ecb(true, InOut::in_place(&mut block));
    }
    assert!(assist().machine().parts() > before);
}
