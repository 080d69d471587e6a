//! ChaCha20 and ChaCha20-Poly1305 against the CPU library's one-shot functions: every length, any chunking, in place and
//! not, and again with instructions masked.

#[cfg(target_arch = "x86_64")]
mod runner;

use adjunct::InOut;
use adjunct_cpu::cipher::chacha::{Begun, ChaCha20, ChaCha20Poly1305};
use aws_lc_sys as lc;

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

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next() as u8)
    }

    /// Lengths of pieces that add up to `length`: the whole at once, or many.
    fn pieces(&mut self, length: usize) -> Vec<usize> {
        let limit = [length + 1, 20, 150, 700, 2500][self.below(5)];
        let (mut pieces, mut left) = (Vec::new(), length);
        while left > 0 {
            let piece = if limit > length { length } else { self.below(limit).min(left) };
            pieces.push(piece);
            left -= piece;
        }
        pieces
    }
}

fn reference(key: &[u8; 32], nonce: &[u8; 12], aad: &[u8], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let (mut one_time, mut sealed, mut tag) = ([0; 32], vec![0; plain.len()], [0; 16]);
    let mut authenticated = aad.to_vec();
    // SAFETY: all buffers are of the lengths given.
    unsafe {
        lc::CRYPTO_chacha_20(one_time.as_mut_ptr(), one_time.as_ptr(), 32, key.as_ptr(), nonce.as_ptr(), 0);
        lc::CRYPTO_chacha_20(sealed.as_mut_ptr(), plain.as_ptr(), plain.len(), key.as_ptr(), nonce.as_ptr(), 1);
        authenticated.resize(aad.len().next_multiple_of(16), 0);
        authenticated.extend_from_slice(&sealed);
        authenticated.resize(authenticated.len().next_multiple_of(16), 0);
        authenticated.extend_from_slice(&(aad.len() as u64).to_le_bytes());
        authenticated.extend_from_slice(&(plain.len() as u64).to_le_bytes());
        #[repr(C, align(64))]
        struct State(lc::poly1305_state);
        let mut state = State([0; 512]);
        lc::CRYPTO_poly1305_init(&mut state.0, one_time.as_ptr());
        lc::CRYPTO_poly1305_update(&mut state.0, authenticated.as_ptr(), authenticated.len());
        lc::CRYPTO_poly1305_finish(&mut state.0, tag.as_mut_ptr());
    }
    (sealed, tag)
}

/// Passes `data` through `apply` in pieces, in place or not.
fn run(random: &mut Random, data: &[u8], mut apply: impl FnMut(InOut<'_>)) -> Vec<u8> {
    let mut out = data.to_vec();
    let in_place = random.below(2) == 0;
    if !in_place {
        out.fill(0xee);
    }
    let mut at = 0;
    for piece in random.pieces(data.len()) {
        let to = &mut out[at..at + piece];
        apply(if in_place { InOut::in_place(to) } else { InOut::apart(&data[at..at + piece], to) });
        at += piece;
    }
    out
}

#[test]
fn every_length_in_any_chunking() {
    adjunct::init();
    let mut random = Random(5);
    let mut aead = ChaCha20Poly1305::default();
    let plain = random.bytes(70_000);
    for length in (0..=4096).chain([8191, 8192, 8193, 16_384, 65_537]) {
        let (key, nonce) = (random.array(), random.array());
        let long = random.below(1500);
        let aad = random.bytes([0, 13, 16, long][length % 4]);
        let plain = &plain[..length];
        let (sealed, tag) = reference(&key, &nonce, &aad, plain);
        for (encrypt, from, to) in [(true, plain, &sealed[..]), (false, &sealed[..], plain)] {
            aead.set_key(&key);
            aead.set_nonce(&nonce);
            let mut at = 0;
            for piece in random.pieces(aad.len()) {
                aead.aad(&aad[at..at + piece]);
                at += piece;
            }
            let out = run(&mut random, from, |io| aead.message(encrypt, io));
            assert!(out == to, "{length} bytes, encrypt {encrypt}");
            let mut copy = aead.clone();
            assert_eq!(aead.tag(), tag, "{length} bytes, encrypt {encrypt}");
            assert_eq!(copy.tag(), tag, "a copy; {length} bytes, encrypt {encrypt}");
        }
    }
}

#[test]
fn a_stream_goes_on_where_it_is() {
    adjunct::init();
    let mut random = Random(6);
    let plain = random.bytes(20_000);
    for round in 0..300 {
        let (key, nonce): ([u8; 32], [u8; 12]) = (random.array(), random.array());
        // Also over the end of the 32 bits, which count on into the nonce.
        let first = if round % 3 == 0 { u32::MAX - random.below(40) as u32 } else { random.next() as u32 >> 1 };
        let length = random.below(plain.len());
        let mut counter = [0; 16];
        counter[..4].copy_from_slice(&first.to_le_bytes());
        counter[4..].copy_from_slice(&nonce);
        let mut expected = vec![0; length];
        for (i, (out, block)) in expected.chunks_mut(64).zip(plain[..length].chunks(64)).enumerate() {
            let place = u64::from_le_bytes(counter[..8].try_into().expect("eight")).wrapping_add(i as u64);
            let mut nonce = nonce;
            nonce[..4].copy_from_slice(&place.to_le_bytes()[4..]);
            let (out, data) = (out.as_mut_ptr(), block);
            // SAFETY: the buffers are of the lengths given.
            unsafe { lc::CRYPTO_chacha_20(out, data.as_ptr(), data.len(), key.as_ptr(), nonce.as_ptr(), place as u32) };
        }
        let mut stream = ChaCha20::default();
        stream.set_key(&key);
        stream.set_counter(&counter);
        let out = run(&mut random, &plain[..length], |io| stream.apply(io));
        assert!(out == expected, "round {round}: {length} bytes from {first}");
        let place = u64::from_le_bytes(counter[..8].try_into().expect("eight")).wrapping_add(length as u64 / 64);
        let next = place.wrapping_add(u64::from(!length.is_multiple_of(64)));
        assert_eq!(stream.counter(Begun::Over)[..8], next.to_le_bytes(), "round {round}: the first that is not begun");
        assert_eq!(stream.counter(Begun::Over)[8..], counter[8..]);
        // Where the last piece has ended the block that another began, that block still counts as begun.
        let place = if stream.is_begun() { next.wrapping_sub(1) } else { next };
        assert!(stream.is_begun() || length.is_multiple_of(64), "round {round}");
        assert_eq!(
            stream.counter(Begun::Again)[..8],
            place.to_le_bytes(),
            "round {round}: the block begun, else the next"
        );
        // A new key drops a begun block, which comes again, unless it is passed over first.
        let again = round % 2 == 0;
        if !again {
            stream.settle(Begun::Over);
        }
        let place = if again { place } else { next };
        stream.set_key(&key);
        assert!(!stream.is_begun());
        assert_eq!(stream.counter(Begun::Again)[..8], place.to_le_bytes());
        let (mut again, mut expected) = ([0; 16], [0; 16]);
        stream.apply(InOut::in_place(&mut again));
        let mut other = ChaCha20::default();
        other.set_key(&key);
        counter[..8].copy_from_slice(&place.to_le_bytes());
        other.set_counter(&counter);
        other.apply(InOut::in_place(&mut expected));
        assert_eq!(again, expected);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_same_holds_on_lesser_cpus() {
    if std::env::var_os("ADJUNCT_CPU").is_some() {
        return;
    }
    for mask in ["-ifma", "-avx512", "-avx2"] {
        let output = runner::itself().env("ADJUNCT_CPU", mask).output().expect("this program runs");
        assert!(output.status.success(), "under {mask}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
