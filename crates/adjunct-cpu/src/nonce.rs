//! ECDSA's nonces for signatures in lanes and by CPACF: RFC 6979, 3.2, with randomness added as in 3.6.
//!
//! HMAC-DRBG over the private key and the digest gives a nonce that no weak generator can repeat or skew; the added
//! randomness keeps a faulted computation from being compared with a good one over the same nonce. The hash is the one of
//! the curve's strength, whatever hashed the message: SHA-256, SHA-384 and SHA-512. Lanes make those of the latter two themselves
//! (`nist/nonce.rs` of the kernels).

use crate::curve::{Curve, MAX_FIELD, minus, shift_right};
use crate::digest::{self, Digest, MAX_SIZE, Method};
use crate::secret::Secret;

/// Length of the randomness that belongs to a nonce, in bytes.
pub const ADDED: usize = 32;

/// The nonces of one private key.
///
/// What of the generator's first step depends on the key alone is kept done.
#[derive(Debug)]
pub struct Nonces {
    curve: Curve,
    /// Big-endian, in the order's length.
    private: Secret<MAX_FIELD>,
    first: Keyed,
}

/// HMAC (FIPS 198-1) under one key: the states after its two pads.
#[derive(Debug)]
struct Keyed {
    inner: Digest,
    outer: Digest,
}

impl Keyed {
    /// The key is not longer than a block.
    fn new(method: &'static Method, key: &[u8]) -> Keyed {
        let padded = |with: u8| {
            let mut block = Secret([with; digest::MAX_BLOCK]);
            block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
            let mut digest = Digest::new(method);
            digest.update(&block[..method.block]);
            digest
        };
        Keyed { inner: padded(0x36), outer: padded(0x5c) }
    }

    fn mac(&self, parts: &[&[u8]], out: &mut [u8; MAX_SIZE]) {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        parts.iter().for_each(|part| inner.update(part));
        inner.finish(out);
        outer.update(&out[..self.inner.method().size]);
        outer.finish(out);
    }
}

/// The hash of a curve's nonces.
fn method(curve: Curve) -> &'static Method {
    match curve {
        Curve::P256 => &digest::SHA256,
        Curve::P384 => &digest::SHA384,
        Curve::P521 => &digest::SHA512,
    }
}

impl Nonces {
    /// Makes the nonces of a private key, big-endian in [`Curve::field_len`] bytes; `None` for another length.
    pub fn new(curve: Curve, private: &[u8]) -> Option<Nonces> {
        Nonces::with(method(curve), curve, private)
    }

    fn with(method: &'static Method, curve: Curve, private: &[u8]) -> Option<Nonces> {
        let length = curve.field_len();
        if private.len() != length {
            return None;
        }
        let mut copy = Secret([0; MAX_FIELD]);
        copy[..length].copy_from_slice(private);
        // Steps b to d: K is zeros, and HMAC begins with V || 0x00 || the private key.
        let mut first = Keyed::new(method, &[]);
        first.inner.update(&[1; MAX_SIZE][..method.size]);
        first.inner.update(&[0]);
        first.inner.update(private);
        Some(Nonces { curve, private: copy, first })
    }

    /// The private key, big-endian.
    pub fn private(&self) -> &[u8] {
        &self.private[..self.curve.field_len()]
    }

    /// The nonce for a digest that [`truncate`] made, of [1, n - 1], in the first [`Curve::field_len`] bytes of `out`.
    /// `added` is of [`ADDED`] random bytes; with none, this is RFC 6979's deterministic nonce.
    pub fn nonce(&self, digest: &[u8; MAX_FIELD], added: &[u8], out: &mut [u8; MAX_FIELD]) {
        let length = self.curve.field_len();
        let method = self.first.inner.method();
        let size = method.size;
        let reduced = reduced(self.curve, digest);
        let (mut k, mut v) = (Secret([0; MAX_SIZE]), Secret([1; MAX_SIZE]));
        self.first.mac(&[&reduced[..length], added], &mut k);
        let mut keyed = Keyed::new(method, &k[..size]);
        let again = |keyed: &Keyed, v: &mut [u8; MAX_SIZE]| {
            let last = Secret(*v);
            keyed.mac(&[&last[..size]], v);
        };
        again(&keyed, &mut v);
        keyed.mac(&[&v[..size], &[1], self.private(), &reduced[..length], added], &mut k);
        keyed = Keyed::new(method, &k[..size]);
        again(&keyed, &mut v);
        loop {
            let mut filled = 0;
            while filled < length {
                again(&keyed, &mut v);
                let part = size.min(length - filled);
                out[filled..filled + part].copy_from_slice(&v[..part]);
                filled += part;
            }
            shift_right(&mut out[..length], 8 * length - self.curve.bits());
            // A refused candidate tells nothing of the one that is taken.
            if self.curve.in_range(&out[..length]) {
                return;
            }
            keyed.mac(&[&v[..size], &[0]], &mut k);
            keyed = Keyed::new(method, &k[..size]);
            again(&keyed, &mut v);
        }
    }
}

/// [`Curve::truncate`].
pub fn truncate(curve: Curve, digest: &[u8]) -> [u8; MAX_FIELD] {
    curve.truncate(digest)
}

/// RFC 6979's bits2octets of the result of [`truncate`]: the digest modulo the order; it is below twice the order.
pub fn reduced(curve: Curve, digest: &[u8; MAX_FIELD]) -> Secret<MAX_FIELD> {
    let (length, mut reduced) = (curve.field_len(), Secret([0; MAX_FIELD]));
    let below = minus(&digest[..length], curve.order(), &mut reduced[..length]);
    select(below, &mut reduced[..length], &digest[..length]);
    reduced
}

/// `out` becomes `other` where `choose` is 0xFF, and stays where it is 0.
fn select(choose: u8, out: &mut [u8], other: &[u8]) {
    let choose = std::hint::black_box(choose);
    out.iter_mut().zip(other).for_each(|(out, other)| *out = *out & !choose | other & choose);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |i: usize| text.as_bytes().get(i).map_or(0, |c| (*c as char).to_digit(16).unwrap() as u8);
        (0..text.len() / 2).map(|i| digit(2 * i) << 4 | digit(2 * i + 1)).collect()
    }

    fn check(curve: Curve, private: &str, vectors: &[(&'static Method, &str, &str)]) {
        for &(method, message, nonce) in vectors {
            let mut hash = Digest::new(method);
            hash.update(message.as_bytes());
            let mut digest = [0; MAX_SIZE];
            hash.finish(&mut digest);
            let mut out = [0; MAX_FIELD];
            let nonces = Nonces::with(method, curve, &hex(private)).unwrap();
            nonces.nonce(&truncate(curve, &digest[..method.size]), &[], &mut out);
            assert_eq!(&out[..curve.field_len()], hex(nonce), "{curve:?} {method:?} {message}");
            #[cfg(target_arch = "x86_64")]
            if method.size == super::method(curve).size {
                in_lanes(curve, &hex(private), &digest, &hex(nonce));
            }
            nonces.nonce(&truncate(curve, &digest[..method.size]), &[7; ADDED], &mut out);
            assert_ne!(&out[..curve.field_len()], hex(nonce));
        }
    }

    /// The lanes' own nonces, all eight the same.
    #[cfg(target_arch = "x86_64")]
    fn in_lanes(curve: Curve, private: &[u8], digest: &[u8; MAX_SIZE], nonce: &[u8]) {
        use adjunct_kernels::nist::{NonceJob, P384, P521, nonces};
        if curve == Curve::P256 {
            return;
        }
        if !is_x86_feature_detected!("avx512ifma") {
            return println!("SKIPPED: this CPU has no AVX-512 IFMA");
        }
        let length = curve.field_len();
        let digest = reduced(curve, &truncate(curve, &digest[..method(curve).size]));
        let mut out = [[0; MAX_FIELD]; 8];
        let mut jobs = out.each_mut().map(|out| NonceJob {
            private,
            digest: &digest[..length],
            added: &[],
            nonce: &mut out[..length],
        });
        // SAFETY: there are the instructions.
        let made = unsafe {
            match curve {
                Curve::P384 => nonces::<P384, _>(&mut jobs),
                _ => nonces::<P521, _>(&mut jobs),
            }
        };
        assert_eq!(made, u8::MAX);
        assert!(out.iter().all(|out| &out[..length] == nonce), "{curve:?} in lanes");
    }

    #[test]
    fn rfc_6979s_vectors_of_p256() {
        let private = "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721";
        let vectors = [
            (&digest::SHA1, "sample", "882905f1227fd620fbf2abf21244f0ba83d0dc3a9103dbbee43a1fb858109db4"),
            (&digest::SHA1, "test", "8c9520267c55d6b980df741e56b4adee114d84fbfa2e62137954164028632a2e"),
            (&digest::SHA224, "sample", "103f90ee9dc52e5e7fb5132b7033c63066d194321491862059967c715985d473"),
            (&digest::SHA224, "test", "669f4426f2688b8be0db3a6bd1989bdaefff84b649eeb84f3dd26080f667faa7"),
            (&digest::SHA256, "sample", "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60"),
            (&digest::SHA256, "test", "d16b6ae827f17175e040871a1c7ec3500192c4c92677336ec2537acaee0008e0"),
            (&digest::SHA384, "sample", "09f634b188cefd98e7ec88b1aa9852d734d0bc272f7d2a47decc6ebeb375aad4"),
            (&digest::SHA384, "test", "16aeffa357260b04b1dd199693960740066c1a8f3e8edd79070aa914d361b3b8"),
            (&digest::SHA512, "sample", "5fa81c63109badb88c1f367b47da606da28cad69aa22c4fe6ad7df73a7173aa5"),
            (&digest::SHA512, "test", "6915d11632aca3c40d5d51c08daf9c555933819548784480e93499000d9f0b7f"),
        ];
        check(Curve::P256, private, &vectors);
    }

    #[test]
    fn rfc_6979s_vectors_of_p384() {
        let private =
            "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5";
        let vectors = [
            (
                &digest::SHA1,
                "sample",
                "4471ef7518bb2c7c20f62eae1c387ad0c5e8e470995db4acf694466e6ab096630f29e5938d25106c3c340045a2db01a7",
            ),
            (
                &digest::SHA1,
                "test",
                "66cc2c8f4d303fc962e5ff6a27bd79f84ec812ddae58cf5243b64a4ad8094d47ec3727f3a3c186c15054492e30698497",
            ),
            (
                &digest::SHA224,
                "sample",
                "a4e4d2f0e729eb786b31fc20ad5d849e304450e0ae8e3e341134a5c1afa03cab8083ee4e3c45b06a5899ea56c51b5879",
            ),
            (
                &digest::SHA224,
                "test",
                "18fa39db95aa5f561f30fa3591dc59c0fa3653a80daffa0b48d1a4c6dfcbff6e3d33be4dc5eb8886a8ecd093f2935726",
            ),
            (
                &digest::SHA256,
                "sample",
                "180ae9f9aec5438a44bc159a1fcb277c7be54fa20e7cf404b490650a8acc414e375572342863c899f9f2edf9747a9b60",
            ),
            (
                &digest::SHA256,
                "test",
                "0cfac37587532347dc3389fdc98286bba8c73807285b184c83e62e26c401c0faa48dd070ba79921a3457abff2d630ad7",
            ),
            (
                &digest::SHA384,
                "sample",
                "94ed910d1a099dad3254e9242ae85abde4ba15168eaf0ca87a555fd56d10fbca2907e3e83ba95368623b8c4686915cf9",
            ),
            (
                &digest::SHA384,
                "test",
                "015ee46a5bf88773ed9123a5ab0807962d193719503c527b031b4c2d225092ada71f4a459bc0da98adb95837db8312ea",
            ),
            (
                &digest::SHA512,
                "sample",
                "92fc3c7183a883e24216d1141f1a8976c5b0dd797dfa597e3d7b32198bd35331a4e966532593a52980d0e3aaa5e10ec3",
            ),
            (
                &digest::SHA512,
                "test",
                "3780c4f67cb15518b6acae34c9f83568d2e12e47deab6c50a4e4ee5319d1e8ce0e2cc8a136036dc4b9c00e6888f66b6c",
            ),
        ];
        check(Curve::P384, private, &vectors);
    }

    #[test]
    fn rfc_6979s_vectors_of_p521() {
        let private = "00fad06daa62ba3b25d2fb40133da757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c70855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538";
        let vectors = [
            (
                &digest::SHA1,
                "sample",
                "0089c071b419e1c2820962321787258469511958e80582e95d8378e0c2ccdb3cb42bede42f50e3fa3c71f5a76724281d31d9c89f0f91fc1be4918db1c03a5838d0f9",
            ),
            (
                &digest::SHA1,
                "test",
                "00bb9f2bf4fe1038ccf4dabd7139a56f6fd8bb1386561bd3c6a4fc818b20df5ddba80795a947107a1ab9d12daa615b1ade4f7a9dc05e8e6311150f47f5c57ce8b222",
            ),
            (
                &digest::SHA224,
                "sample",
                "0121415ec2cd7726330a61f7f3fa5de14be9436019c4db8cb4041f3b54cf31be0493ee3f427fb906393d895a19c9523f3a1d54bb8702bd4aa9c99dab2597b92113f3",
            ),
            (
                &digest::SHA224,
                "test",
                "0040d09fcf3c8a5f62cf4fb223cbbb2b9937f6b0577c27020a99602c25a01136987e452988781484edbbcf1c47e554e7fc901bc3085e5206d9f619cff07e73d6f706",
            ),
            (
                &digest::SHA256,
                "sample",
                "00edf38afcaaecab4383358b34d67c9f2216c8382aaea44a3dad5fdc9c32575761793fef24eb0fc276dfc4f6e3ec476752f043cf01415387470bcbd8678ed2c7e1a0",
            ),
            (
                &digest::SHA256,
                "test",
                "001de74955efaabc4c4f17f8e84d881d1310b5392d7700275f82f145c61e843841af09035bf7a6210f5a431a6a9e81c9323354a9e69135d44ebd2fcaa7731b909258",
            ),
            (
                &digest::SHA384,
                "sample",
                "01546a108bc23a15d6f21872f7ded661fa8431ddbd922d0dcdb77cc878c8553ffad064c95a920a750ac9137e527390d2d92f153e66196966ea554d9adfcb109c4211",
            ),
            (
                &digest::SHA384,
                "test",
                "01f1fc4a349a7da9a9e116bfdd055dc08e78252ff8e23ac276ac88b1770ae0b5dceb1ed14a4916b769a523ce1e90ba22846af11df8b300c38818f713dadd85de0c88",
            ),
            (
                &digest::SHA512,
                "sample",
                "01dae2ea071f8110dc26882d4d5eae0621a3256fc8847fb9022e2b7d28e6f10198b1574fdd03a9053c08a1854a168aa5a57470ec97dd5ce090124ef52a2f7ecbffd3",
            ),
            (
                &digest::SHA512,
                "test",
                "016200813020ec986863bedfc1b121f605c1215645018aea1a7b215a564de9eb1b38a67aa1128b80ce391c4fb71187654aaa3431027bfc7f395766ca988c964dc56d",
            ),
        ];
        check(Curve::P521, private, &vectors);
    }

    #[test]
    fn digests_are_cut_to_the_orders_bits() {
        let long: [u8; 80] = std::array::from_fn(|i| i as u8 ^ 0xA5);
        assert_eq!(truncate(Curve::P256, &long)[..32], long[..32]);
        assert_eq!(truncate(Curve::P384, &long[..20])[..48], [&[0; 28][..], &long[..20]].concat());
        let cut = truncate(Curve::P521, &long);
        assert_eq!((cut[0], cut[1]), (long[0] >> 7, long[0] << 1 | long[1] >> 7));
        assert!(Nonces::new(Curve::P256, &[1; 31]).is_none());
    }
}
