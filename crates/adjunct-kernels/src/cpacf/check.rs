//! Known-answer tests, run before a function is used. Most of the drivers have never run on a real machine: where a machine does not do what a driver
//! expects, the function is taken away, and software serves.

use super::block::DrbgBlock;
use super::random::DRBG;
use super::signature::hex;
use super::{Assist, Cipher, Edwards, Gcm, Hash, Instruction, Machine, Montgomery, Nist};
use crate::InOut;

/// The answer of a function under test; `None` where it could not be computed, which counts as wrong.
type Answer = Option<bool>;

impl<M: Machine> Assist<M> {
    /// Runs every function that the drivers use once or twice with a known answer, and takes away those whose answer is wrong.
    /// Gives what was taken away, by instruction and code.
    pub fn check(&mut self) -> Vec<(Instruction, u8)> {
        use Instruction::*;
        let mut wrong = Vec::new();
        for cipher in Cipher::ALL {
            let code = cipher.code();
            self.hold(&mut wrong, Km, code, |a| a.check_ecb(cipher));
            // The others are held against ECB.
            for instruction in [Kmc, Kmctr, Kmf, Kmo, Kmac] {
                self.hold(&mut wrong, instruction, code, |a| a.check_mode(instruction, cipher));
            }
            self.hold(&mut wrong, Pcc, code, |a| a.check_cmac_last(cipher));
        }
        for length in [16, 32] {
            let code = if length == 16 { 50 } else { 52 };
            self.hold(&mut wrong, Km, code, |a| a.check_xts(length));
            self.hold(&mut wrong, Pcc, code, |a| a.check_xts_parameter(length));
        }
        self.hold(&mut wrong, Kimd, 65, |a| a.check_ghash());
        for (length, code) in [(16, 18), (24, 19), (32, 20)] {
            self.hold(&mut wrong, Kma, code, |a| a.check_gcm(length));
        }
        for hash in Hash::ALL {
            self.hold(&mut wrong, Klmd, hash.code(), |a| a.check_last(hash));
            self.hold(&mut wrong, Kimd, hash.code(), |a| a.check_absorb(hash));
        }
        for curve in Nist::ALL {
            self.hold(&mut wrong, Pcc, curve.multiply_code(), |a| a.check_multiply(curve));
            self.hold(&mut wrong, Kdsa, curve.verify_code(), |a| a.check_verify(curve));
            self.hold(&mut wrong, Kdsa, curve.sign_code(), |a| a.check_sign(curve));
        }
        for curve in [Montgomery::X25519, Montgomery::X448] {
            self.hold(&mut wrong, Pcc, curve.code(), |a| a.check_exchange(curve));
        }
        for curve in [Edwards::Ed25519, Edwards::Ed448] {
            self.hold(&mut wrong, Pcc, curve.multiply_code(), |a| a.check_edwards_public(curve));
            self.hold(&mut wrong, Kdsa, curve.sign_code(), |a| a.check_eddsa_sign(curve));
            self.hold(&mut wrong, Kdsa, curve.verify_code(), |a| a.check_eddsa_verify(curve));
        }
        self.hold(&mut wrong, Prno, 114, |a| a.check_entropy());
        self.hold(&mut wrong, Prno, DRBG, |a| a.check_drbg());
        wrong
    }

    fn hold(
        &mut self,
        wrong: &mut Vec<(Instruction, u8)>,
        instruction: Instruction,
        code: u8,
        check: impl FnOnce(&Assist<M>) -> Answer,
    ) {
        if self.functions.has(instruction, code) && check(self) != Some(true) {
            self.functions.remove(instruction, code);
            wrong.push((instruction, code));
        }
    }

    fn check_ecb(&self, cipher: Cipher) -> Answer {
        // FIPS 81, SP 800-67 and SP 800-38A, F.1.
        let (key, text, expected): (&[u8], &[u8], &[u8]) = match cipher {
            Cipher::Des => {
                (&hex::<8>("0123456789abcdef"), &hex::<8>("4e6f772069732074"), &hex::<8>("3fa40e8a984d4815"))
            }
            Cipher::TripleDes => (
                &hex::<24>("0123456789abcdef23456789abcdef01456789abcdef0123"),
                &hex::<8>("5468652071756663"),
                &hex::<8>("a826fd8ce53b855f"),
            ),
            Cipher::Aes128 => (&KEY[..16], &TEXT, &hex::<16>("3ad77bb40d7a3660a89ecaf32466ef97")),
            Cipher::Aes192 => (
                &hex::<24>("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
                &TEXT,
                &hex::<16>("bd334f1d6e45f25ff712a214571fa5cc"),
            ),
            Cipher::Aes256 => (
                &hex::<32>("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
                &TEXT,
                &hex::<16>("f3eed1bdb5d2a03c064b5a7e3db181f8"),
            ),
        };
        let mut block = text.to_vec();
        self.ecb(cipher, key, true, InOut::in_place(&mut block)).ok()?;
        let forth = block == expected;
        self.ecb(cipher, key, false, InOut::in_place(&mut block)).ok()?;
        Some(forth && block == text)
    }

    fn one(&self, cipher: Cipher, block: &[u8]) -> Option<Vec<u8>> {
        let mut block = block.to_vec();
        self.ecb(cipher, &KEY[..cipher.key_length()], true, InOut::in_place(&mut block)).ok()?;
        Some(block)
    }

    /// Two blocks, by the instruction and by ECB; and back again.
    fn check_mode(&self, instruction: Instruction, cipher: Cipher) -> Answer {
        let (size, key) = (cipher.block(), &KEY[..cipher.key_length()]);
        let (text, iv) = ([TEXT, KEY[16..].try_into().ok()?].concat(), TEXT[..size].to_vec());
        let (text, mut work) = (&text[..2 * size], text[..2 * size].to_vec());
        let (a, b) = text.split_at(size);
        let mut chain = iv.clone();
        let (expected, left) = match instruction {
            Instruction::Kmc => {
                self.cbc(cipher, key, true, &mut chain, InOut::in_place(&mut work)).ok()?;
                let first = self.one(cipher, &xor(a, &iv))?;
                let second = self.one(cipher, &xor(b, &first))?;
                ([first, second.clone()].concat(), second)
            }
            Instruction::Kmctr => {
                self.ctr(cipher, key, &mut chain, InOut::in_place(&mut work)).ok()?;
                let next = |counter: &[u8]| {
                    let mut next = counter.to_vec();
                    next[size - 1] = next[size - 1].wrapping_add(1);
                    next
                };
                let (first, second) = (self.one(cipher, &iv)?, self.one(cipher, &next(&iv))?);
                ([xor(a, &first), xor(b, &second)].concat(), next(&next(&iv)))
            }
            Instruction::Kmf => {
                self.cfb(cipher, key, true, size, &mut chain, InOut::in_place(&mut work)).ok()?;
                let first = xor(a, &self.one(cipher, &iv)?);
                let second = xor(b, &self.one(cipher, &first)?);
                let mut byte = [a[0]];
                self.cfb(cipher, key, true, 1, &mut iv.clone(), InOut::in_place(&mut byte)).ok()?;
                ([byte.to_vec(), first[1..].to_vec(), second.clone()].concat(), second)
            }
            Instruction::Kmo => {
                self.ofb(cipher, key, &mut chain, InOut::in_place(&mut work)).ok()?;
                let first = self.one(cipher, &iv)?;
                let second = self.one(cipher, &first)?;
                ([xor(a, &first), xor(b, &second)].concat(), second)
            }
            _ => {
                self.cmac(cipher, key, &mut chain, text).ok()?;
                let first = self.one(cipher, &xor(a, &iv))?;
                (text.to_vec(), self.one(cipher, &xor(b, &first))?)
            }
        };
        let forth = work == expected && chain == left;
        let mut chain = iv;
        match instruction {
            Instruction::Kmc => self.cbc(cipher, key, false, &mut chain, InOut::in_place(&mut work)).ok()?,
            Instruction::Kmf => self.cfb(cipher, key, false, size, &mut chain, InOut::in_place(&mut work)).ok()?,
            _ => return Some(forth),
        }
        Some(forth && work == text)
    }

    fn check_cmac_last(&self, cipher: Cipher) -> Answer {
        let (size, key) = (cipher.block(), &KEY[..cipher.key_length()]);
        let mut right = true;
        // SP 800-38B, 6.1: a whole block, a short one and none.
        for (length, doublings) in [(size, 1), (size - 3, 2), (0, 2)] {
            let mut subkey = self.one(cipher, &vec![0; size])?;
            for _ in 0..doublings {
                let carry = subkey[0] >> 7;
                for i in 0..size {
                    subkey[i] = subkey[i] << 1 | subkey.get(i + 1).map_or(0, |next| next >> 7);
                }
                subkey[size - 1] ^= carry * if size == 16 { 0x87 } else { 0x1b };
            }
            let mut last = TEXT[..length].to_vec();
            if length < size {
                last.push(0x80);
                last.resize(size, 0);
            }
            let mut chain = KEY[..size].to_vec();
            let expected = self.one(cipher, &xor(&xor(&chain, &last), &subkey))?;
            self.cmac_last(cipher, key, &mut chain, &TEXT[..length]).ok()?;
            right &= chain == expected;
        }
        Some(right)
    }

    fn check_xts(&self, length: usize) -> Answer {
        // IEEE 1619, vectors 2 and 10, whose parameters are the tweaks encrypted.
        let (key, tweak_key): (&[u8], &[u8]) = match length {
            16 => (&[0x11; 16], &[0x22; 16]),
            _ => (
                &hex::<32>("2718281828459045235360287471352662497757247093699959574966967627"),
                &hex::<32>("3141592653589793238462643383279502884197169399375105820974944592"),
            ),
        };
        let (tweak, text, expected): ([u8; 16], [u8; 32], [u8; 32]) = match length {
            16 => (
                0x33_3333_3333_u128.to_le_bytes(),
                [0x44; 32],
                hex("c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"),
            ),
            _ => (
                0xff_u128.to_le_bytes(),
                hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
                hex("1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b"),
            ),
        };
        let mut parameter = tweak;
        self.ecb(Cipher::aes(length)?, tweak_key, true, InOut::in_place(&mut parameter)).ok()?;
        let (mut work, start) = (text, parameter);
        let (head, tail) = work.split_at_mut(16);
        self.xts(key, true, &mut parameter, InOut::in_place(head)).ok()?;
        self.xts(key, true, &mut parameter, InOut::in_place(tail)).ok()?;
        let forth = work == expected;
        self.xts(key, false, &mut { start }, InOut::in_place(&mut work)).ok()?;
        Some(forth && work == text)
    }

    fn check_xts_parameter(&self, length: usize) -> Answer {
        let expected = self.one(Cipher::aes(length)?, &TEXT)?;
        Some(self.xts_parameter(&KEY[..length], &TEXT).ok()?[..] == expected)
    }

    fn check_ghash(&self) -> Answer {
        // Test case 2 of the proposal of GCM.
        let data = hex::<32>("0388dace60b6a392f328c2b971b2fe7800000000000000000000000000000080");
        let mut hash = [0; 16];
        self.ghash(&hex("66e94bd4ef8a2c3b884cfa59ca342b2e"), &mut hash, &data).ok()?;
        Some(hash == hex("f38cbb1ad69223dcc3457ae5b6b0f885"))
    }

    fn check_gcm(&self, length: usize) -> Answer {
        // Test cases 2, 8 and 14, and the same tag in two ways where there is additional data.
        let (text, tag): ([u8; 16], [u8; 16]) = match length {
            16 => (hex("0388dace60b6a392f328c2b971b2fe78"), hex("ab6e47d42cec13bdf53a67b21257bddf")),
            24 => (hex("98e7247c07f0fe411c267e4384b0f600"), hex("2ff58d80033927ab8ef4d4587514f0fb")),
            _ => (hex("cea7403d4d606b6e074ec5d3baf39d18"), hex("d0d1c8a799996bf0265b98b5d48ab919")),
        };
        let mut gcm = Gcm::new(self, &[0; 32][..length])?;
        let mut right = true;
        for encrypt in [true, false] {
            let (mut work, expected) = if encrypt { ([0; 16], text) } else { (text, [0; 16]) };
            gcm.start(self, &[0; 12]).ok()?;
            gcm.crypt(self, encrypt, InOut::in_place(&mut work)).ok()?;
            right &= work == expected && gcm.tag(self).ok()? == tag;
        }
        // GHASH by itself gives the tag of a message with additional data, short at both ends.
        gcm.start(self, &[0; 12]).ok()?;
        gcm.aad(self, &TEXT).ok()?;
        gcm.aad(self, &TEXT[..5]).ok()?;
        let mut work = [0; 21];
        gcm.crypt(self, true, InOut::in_place(&mut work)).ok()?;
        let (mut subkey, mut hash, mut mask) = ([0; 16], [0; 16], [0; 16]);
        let (cipher, key) = (Cipher::aes(length)?, &[0; 32][..length]);
        self.ecb(cipher, key, true, InOut::in_place(&mut subkey)).ok()?;
        mask[15] = 1;
        self.ecb(cipher, key, true, InOut::in_place(&mut mask)).ok()?;
        let mut data = [TEXT.to_vec(), TEXT[..5].to_vec(), vec![0; 11], work.to_vec(), vec![0; 11]].concat();
        data.extend([0, 0, 0, 0, 0, 0, 0, 21 * 8, 0, 0, 0, 0, 0, 0, 0, 21 * 8]);
        self.ghash(&subkey, &mut hash, &data).ok()?;
        Some(right && work[..16] == text && xor(&hash, &mask) == gcm.tag(self).ok()?)
    }

    fn check_last(&self, hash: Hash) -> Answer {
        let first = |expected: &[u8]| {
            let mut state = first_state(hash);
            self.finish(hash, &mut state, b"abc", 24).ok()?;
            Some(state[..expected.len()] == *expected)
        };
        // FIPS 180-4's and FIPS 202's examples, the beginnings of the longer ones.
        match hash {
            Hash::Sha1 => first(&hex::<20>("a9993e364706816aba3e25717850c26c9cd0d89d")),
            Hash::Sha256 => first(&hex::<32>("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
            Hash::Sha512 => first(&hex::<32>("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a")),
            Hash::Sha3_224 => first(&hex::<28>("e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf")),
            Hash::Sha3_256 => first(&hex::<32>("3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532")),
            Hash::Sha3_384 => first(&hex::<32>("ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b2")),
            Hash::Sha3_512 => first(&hex::<32>("b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e")),
            Hash::Shake128 | Hash::Shake256 => {
                let expected = match hash {
                    Hash::Shake128 => hex::<32>("7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26"),
                    _ => hex::<32>("46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f"),
                };
                // All at once, and a block first.
                let (mut all, mut parts, block) = ([0; 400], [0; 400], hash.block());
                self.squeeze_first(hash, &mut [0; 200], &[], &mut all).ok()?;
                let mut state = [0; 200];
                self.squeeze_first(hash, &mut state, &[], &mut parts[..block]).ok()?;
                self.squeeze_more(hash, &mut state, &mut parts[block..]).ok()?;
                Some(all[..32] == expected && all == parts)
            }
        }
    }

    fn check_absorb(&self, hash: Hash) -> Answer {
        let message = vec![0x5a; 3 * hash.block() + 7];
        let (head, rest) = message.split_at(2 * hash.block());
        let (mut whole, mut parts) = (first_state(hash), first_state(hash));
        self.absorb(hash, &mut parts, head).ok()?;
        if matches!(hash, Hash::Shake128 | Hash::Shake256) {
            let (mut a, mut b) = ([0; 32], [0; 32]);
            self.squeeze_first(hash, &mut whole, &message, &mut a).ok()?;
            self.squeeze_first(hash, &mut parts, rest, &mut b).ok()?;
            return Some(a == b);
        }
        let bits = message.len() as u128 * 8;
        self.finish(hash, &mut whole, &message, bits).ok()?;
        self.finish(hash, &mut parts, rest, bits).ok()?;
        Some(whole == parts)
    }

    fn check_multiply(&self, curve: Nist) -> Answer {
        // 2G is G + G; n - 1 times G is G with y turned round: x is the same.
        let (x, y) = base(curve);
        let times = |scalar: u8, x: &[u8], y: &[u8]| {
            let (mut x, mut y, mut number) = (x.to_vec(), y.to_vec(), vec![0; curve.length()]);
            number[curve.length() - 1] = scalar;
            self.multiply(curve, &number, &mut x, &mut y).ok()?;
            Some((x, y))
        };
        let one = times(1, x, y)?;
        let (two, three) = (times(2, x, y)?, times(3, x, y)?);
        let (six, other) = (times(3, &two.0, &two.1)?, times(2, &three.0, &three.1)?);
        let known = match curve {
            Nist::P256 => two.0 == hex::<32>("7cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978"),
            _ => true,
        };
        Some(known && one == (x.to_vec(), y.to_vec()) && two != one && six == other)
    }

    fn check_verify(&self, curve: Nist) -> Answer {
        // Private key and nonce are 1: r is the base point's x, and s the digest plus r.
        let (x, y) = base(curve);
        let mut digest = vec![0; curve.length()];
        digest[curve.length() - 1] = 2;
        let mut s = x.to_vec();
        let sum = s[curve.length() - 1].checked_add(2)?;
        s[curve.length() - 1] = sum;
        let good = self.ecdsa_verify(curve, [x, y], &digest, [x, &s]).ok()?;
        digest[0] ^= 1;
        Some(good && !self.ecdsa_verify(curve, [x, y], &digest, [x, &s]).ok()?)
    }

    fn check_sign(&self, curve: Nist) -> Answer {
        let (length, (x, _)) = (curve.length(), base(curve));
        let (mut one, mut digest) = (vec![0; length], vec![0; length]);
        (one[length - 1], digest[length - 1]) = (1, 2);
        let (mut r, mut s) = (vec![0; length], vec![0; length]);
        self.ecdsa_sign(curve, &one, &digest, &one, &mut r, &mut s).ok()?;
        let mut expected = x.to_vec();
        expected[length - 1] = expected[length - 1].checked_add(2)?;
        Some(r == x && s == expected)
    }

    fn check_exchange(&self, curve: Montgomery) -> Answer {
        // RFC 7748, 5.2.
        let (private, mut u, expected): (&[u8], Vec<u8>, &[u8]) = match curve {
            Montgomery::X25519 => (
                &hex::<32>("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
                hex::<32>("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c").to_vec(),
                &hex::<32>("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"),
            ),
            Montgomery::X448 => (
                &hex::<56>(
                    "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c600ad3",
                ),
                hex::<56>(
                    "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef8a086",
                )
                .to_vec(),
                &hex::<56>(
                    "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd96b6f",
                ),
            ),
        };
        self.exchange(curve, private, &mut u).ok()?;
        Some(u == expected)
    }

    fn check_edwards_public(&self, curve: Edwards) -> Answer {
        let mut scalar = vec![0; curve.length()];
        scalar[0] = 1;
        let mut public = scalar.clone();
        self.edwards_public(curve, &scalar, &mut public).ok()?;
        // The base point itself: y, and the sign of x.
        let (x, y) = curve.base();
        let mut expected = vec![0; curve.length()];
        expected.iter_mut().zip(y.iter().rev()).for_each(|(to, from)| *to = *from);
        expected[curve.length() - 1] |= x[x.len() - 1] << 7;
        Some(public == expected)
    }

    fn check_eddsa_sign(&self, curve: Edwards) -> Answer {
        let (private, _, message, expected) = eddsa(curve);
        let mut signature = vec![0; 2 * curve.length()];
        self.eddsa_sign(curve, private, message, &mut signature).ok()?;
        Some(signature == expected)
    }

    fn check_eddsa_verify(&self, curve: Edwards) -> Answer {
        let (_, public, message, signature) = eddsa(curve);
        let good = self.eddsa_verify(curve, public, message, signature).ok()?;
        Some(good && !self.eddsa_verify(curve, public, b"another", signature).ok()?)
    }

    fn check_entropy(&self) -> Answer {
        let (mut a, mut b) = ([0; 32], [0; 33]);
        self.entropy(&mut a).ok()?;
        self.entropy(&mut b).ok()?;
        Some(a != [0; 32] && a != b[..32])
    }

    /// Hash_DRBG's request (SP 800-90A, 10.1.1.4) of one hash and a bit, and of several, by KLMD's SHA-512, which has passed.
    fn check_drbg(&self) -> Answer {
        let hash = |parts: &[&[u8]]| {
            let (mut state, message) = (first_state(Hash::Sha512), parts.concat());
            self.finish(Hash::Sha512, &mut state, &message, message.len() as u128 * 8).ok()?;
            Some(state)
        };
        let mut value: [u8; 111] = std::array::from_fn(|i| 0xff - i as u8);
        let constant: [u8; 111] = std::array::from_fn(|i| 0x90 ^ i as u8);
        let (mut block, mut right) = (DrbgBlock::new(&value, &constant, 0x0102_0304), true);
        for (request, length) in [(0x0102_0304u32, 70), (0x0102_0305, 300)] {
            let mut out = vec![0; length];
            self.drbg_generate(&mut block, &mut out).ok()?;
            let mut data = value;
            for piece in out.chunks(64) {
                right &= hash(&[&data])?[..piece.len()] == *piece;
                add(&mut data, &[1]);
            }
            let next = hash(&[&[3], &value])?;
            [&next[..], &constant, &request.to_be_bytes()].into_iter().for_each(|number| add(&mut value, number));
            right &= block.value[1..] == value && block.reseed_counter == (request + 1).to_be_bytes();
        }
        Some(right)
    }
}

/// SP 800-38A's key of 128 bits and more behind it.
static KEY: [u8; 32] = hex("2b7e151628aed2a6abf7158809cf4f3cae2d8a571e03ac9c9eb76fac45af8e51");
/// SP 800-38A's first block.
static TEXT: [u8; 16] = hex("6bc1bee22e409f96e93d7e117393172a");

/// Adds a big-endian number to a longer one, without the carry out.
fn add(to: &mut [u8], number: &[u8]) {
    let mut carry = 0;
    for (i, byte) in to.iter_mut().rev().enumerate() {
        let other = number.len().checked_sub(i + 1).map_or(0, |at| number[at]);
        let sum = u16::from(*byte) + u16::from(other) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// FIPS 180-4's first states; SHA-3's is zeros.
fn first_state(hash: Hash) -> Vec<u8> {
    match hash {
        Hash::Sha1 => hex::<20>("67452301efcdab8998badcfe10325476c3d2e1f0").to_vec(),
        Hash::Sha256 => hex::<32>("6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19").to_vec(),
        Hash::Sha512 => hex::<64>(
            "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179",
        )
        .to_vec(),
        _ => vec![0; 200],
    }
}

/// The base points of SP 800-186.
fn base(curve: Nist) -> (&'static [u8], &'static [u8]) {
    static P256: [u8; 64] = hex(
        "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    );
    static P384: [u8; 96] = hex(
        "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab73617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
    );
    static P521: [u8; 132] = hex(
        "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650",
    );
    match curve {
        Nist::P256 => P256.split_at(32),
        Nist::P384 => P384.split_at(48),
        Nist::P521 => P521.split_at(66),
    }
}

/// RFC 8032, 7.1 test 2 and 7.4 "1 octet": private key, public key, message and signature.
fn eddsa(curve: Edwards) -> (&'static [u8], &'static [u8], &'static [u8], &'static [u8]) {
    static PRIVATE: [u8; 32] = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    static PUBLIC: [u8; 32] = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    static SIGNATURE: [u8; 64] = hex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    );
    static PRIVATE_448: [u8; 57] = hex(
        "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
    );
    static PUBLIC_448: [u8; 57] = hex(
        "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
    );
    static SIGNATURE_448: [u8; 114] = hex(
        "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633fc1bf037ab7cd779805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0ff3348ab21aa4adafd1d234441cf807c03a00",
    );
    match curve {
        Edwards::Ed25519 => (&PRIVATE, &PUBLIC, &[0x72], &SIGNATURE),
        Edwards::Ed448 => (&PRIVATE_448, &PUBLIC_448, &[3], &SIGNATURE_448),
    }
}
