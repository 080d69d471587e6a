//! Poly1305 against a reference in schoolbook arithmetic and the vectors of RFC 8439.

#![cfg(target_arch = "x86_64")]
// Every path is called only where its instructions have been asked for.
#![allow(clippy::undocumented_unsafe_blocks)]

use adjunct_kernels::poly1305::{Poly1305, WIDE};

/// RFC 8439, 2.5.1, with numbers of nine 32-bit words.
fn reference(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
    type Number = [u64; 9];
    let number = |bytes: &[u8]| {
        let mut n: Number = [0; 9];
        bytes.iter().enumerate().for_each(|(i, &b)| n[i / 4] |= u64::from(b) << (8 * (i % 4)));
        n
    };
    let carried = |mut n: Number| {
        for i in 0..8 {
            n[i + 1] += n[i] >> 32;
            n[i] &= 0xffff_ffff;
        }
        n
    };
    // 2^130 is 5.
    let folded = |n: Number| {
        let mut low = n;
        low[4] &= 3;
        low[5..].fill(0);
        for i in 0..5 {
            let high = n[i + 4] >> 2 | (n.get(i + 5).copied().unwrap_or(0) & 3) << 30;
            low[i] += 5 * high;
        }
        carried(low)
    };
    let mut r = [0; 16];
    r.copy_from_slice(&key[..16]);
    for (i, byte) in r.iter_mut().enumerate() {
        *byte &= match i % 4 {
            3 => 0x0f,
            0 if i > 0 => 0xfc,
            _ => 0xff,
        };
    }
    let (r, mut h) = (number(&r), number(&[]));
    for block in message.chunks(16) {
        let mut bytes = block.to_vec();
        bytes.push(1);
        for (sum, m) in h.iter_mut().zip(number(&bytes)) {
            *sum += m;
        }
        h = carried(h);
        // Words of 32 bits: a column of five products overflows, so each is split as it is added.
        let mut product: Number = [0; 9];
        for i in 0..5 {
            for j in 0..4 {
                let p = h[i] * r[j];
                product[i + j] += p & 0xffff_ffff;
                product[i + j + 1] += p >> 32;
            }
        }
        h = folded(folded(carried(product)));
    }
    // h < 2^130 + 5: the remainder is h, or h + 5 without what it has from 2^130 on.
    for _ in 0..2 {
        let mut more = h;
        more[0] += 5;
        let more = carried(more);
        if more[4] >= 4 {
            h = more;
            h[4] -= 4;
        }
    }
    for (sum, s) in h.iter_mut().zip(number(&key[16..])) {
        *sum += s;
    }
    let h = carried(h);
    std::array::from_fn(|i| (h[i / 4] >> (8 * (i % 4))) as u8)
}

/// A way to take in a part of the message.
type Update = fn(&mut Poly1305, &[u8]);

/// The ways that this CPU has, and one that switches between them.
fn ways() -> Vec<(&'static str, Update)> {
    let mut ways: Vec<(&str, Update)> = vec![("in words", |poly, data| poly.update(data))];
    let ifma = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX2.
        ways.push(("with AVX2", |poly, data| unsafe { poly.update_avx2(data) }));
    }
    if ifma {
        // SAFETY: the CPU has AVX-512 IFMA.
        ways.push(("with IFMA", |poly, data| unsafe { poly.update_wide(data) }));
    }
    if ifma && is_x86_feature_detected!("avx2") {
        // SAFETY: the CPU has AVX-512 IFMA and AVX2.
        ways.push(("in turn", |poly, data| unsafe {
            if data.len() % 2 == 0 { poly.update_wide(data) } else { poly.update_avx2(data) }
        }));
    }
    for (there, name) in [(is_x86_feature_detected!("avx2"), "AVX2"), (ifma, "AVX-512 IFMA")] {
        if !there {
            println!("SKIPPED: this CPU has no {name}");
        }
    }
    ways
}

fn tag(key: &[u8; 32], parts: &[&[u8]], update: Update) -> [u8; 16] {
    let mut poly = Poly1305::new(key);
    parts.iter().for_each(|part| update(&mut poly, part));
    poly.finish()
}

fn check(key: &[u8; 32], parts: &[&[u8]], expected: [u8; 16], what: &str) {
    for (way, update) in ways() {
        assert_eq!(tag(key, parts, update), expected, "{what}, {way}");
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    fn key(&mut self) -> [u8; 32] {
        std::array::from_fn(|_| self.next() as u8)
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| b.is_ascii_hexdigit()).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).expect("text"), 16).expect("hex")).collect()
}

#[test]
fn vectors_of_rfc_8439() {
    // Appendix A.3, 7 to 11: what carries and the last subtraction can get wrong; and the example of 2.5.2.
    let ff = "ff".repeat(16);
    let zeros = "00".repeat(15);
    let r1_4 = "01000000000000000400000000000000 00000000000000000000000000000000";
    let long = "e33594d7505e43b90000000000000000 3394d7505e4379cd0100000000000000 00000000000000000000000000000000";
    for (key, message, expected) in [
        (format!("02{zeros}00{zeros}"), ff.clone(), format!("03{zeros}")),
        (format!("02{zeros}{ff}"), format!("02{zeros}"), format!("03{zeros}")),
        (format!("01{zeros}00{zeros}"), format!("{ff}f0{}11{zeros}", "ff".repeat(15)), format!("05{zeros}")),
        (format!("01{zeros}00{zeros}"), format!("{ff}fb{}{}", "fe".repeat(15), "01".repeat(16)), format!("00{zeros}")),
        (format!("02{zeros}00{zeros}"), format!("fd{}", "ff".repeat(15)), format!("fa{}", "ff".repeat(15))),
        (r1_4.to_owned(), format!("{long}01{zeros}"), "14000000000000005500000000000000".to_owned()),
        (r1_4.to_owned(), long.to_owned(), format!("13{zeros}")),
        (
            "85d6be7857556d337f4452fe42d506a8 0103808afb0db2fd4abff6af4149f51b".to_owned(),
            "43727970746f6772617068696320466f72756d2052657365617263682047726f7570".to_owned(),
            "a8061dc1305136c6c22b8baf0c0127a9".to_owned(),
        ),
    ] {
        let key: [u8; 32] = hex(&key).try_into().expect("a key");
        let (message, expected) = (hex(&message), hex(&expected));
        assert_eq!(reference(&key, &message)[..], expected[..], "the reference");
        check(&key, &[&message], expected.try_into().expect("a tag"), "a vector");
    }
}

#[test]
fn every_length() {
    let mut random = Random(1);
    let message = random.bytes(4096);
    for length in (0..=1100).chain((1100..=4096).step_by(61)) {
        let key = random.key();
        check(&key, &[&message[..length]], reference(&key, &message[..length]), &format!("{length} bytes"));
    }
}

#[test]
fn extreme_keys_and_blocks() {
    let mut random = Random(2);
    for round in 0..2000 {
        let mut key = random.key();
        match round % 4 {
            0 => key[..16].fill(0xff),
            1 => key = [0xff; 32],
            2 => key[..16].copy_from_slice(&u128::from(random.next() % 8).to_le_bytes()),
            _ => {}
        }
        let blocks = 1 + random.below(80);
        let mut message = Vec::new();
        for _ in 0..blocks {
            match random.below(5) {
                0 => message.extend_from_slice(&[0; 16]),
                1 => message.extend_from_slice(&(u128::MAX - u128::from(random.next() % 8)).to_le_bytes()),
                2 => message.extend_from_slice(&(1u128 << random.below(128)).to_le_bytes()),
                3 => message.extend_from_slice(&random.bytes(16)),
                _ => message.extend_from_slice(&[0xff; 16]),
            }
        }
        check(&key, &[&message], reference(&key, &message), &format!("round {round}"));
    }
}

#[test]
fn any_chunking_is_the_same() {
    let mut random = Random(3);
    for _ in 0..300 {
        let length = random.below(6000);
        let (key, message) = (random.key(), random.bytes(length));
        let expected = reference(&key, &message);
        let mut parts = Vec::new();
        let mut rest = &message[..];
        while !rest.is_empty() {
            let limit = [20, 200, 2 * WIDE, 4 * WIDE][random.below(4)];
            let (now, later) = rest.split_at(random.below(limit).min(rest.len()));
            parts.push(now);
            rest = later;
        }
        check(&key, &parts, expected, "in pieces");
    }
}

#[test]
fn padding_is_zeros_and_a_new_key_begins_anew() {
    let mut random = Random(4);
    let mut poly = Poly1305::new(&random.key());
    poly.update(b"something");
    for length in [0, 1, 15, 16, 17, 600] {
        let (key, message) = (random.key(), random.bytes(length));
        poly.restart(&key);
        poly.update(&message);
        poly.pad();
        poly.update(&message);
        let mut padded = message.clone();
        padded.resize(length.next_multiple_of(16), 0);
        padded.extend_from_slice(&message);
        assert_eq!(poly.finish(), reference(&key, &padded));
    }
}
