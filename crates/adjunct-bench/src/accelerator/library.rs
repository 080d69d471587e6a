//! AWS-LC by itself, as a program that links it would call it: one operation after the other, no lanes.

use super::subject::{Curve, Function, MESSAGE};
use crate::measure::Work;
use aws_lc_sys as lc;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::Arc;

/// A key of AWS-LC's, shared by the threads that use it.
#[derive(Debug, Clone)]
pub struct AwsLcKey(Arc<Owned>);

#[derive(Debug)]
struct Owned(*mut lc::EVP_PKEY);

// SAFETY: AWS-LC lets several threads use one key as long as none changes it; nothing here changes a key.
unsafe impl Send for Owned {}
// SAFETY: AWS-LC lets several threads use one key as long as none changes it; nothing here changes a key.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once.
        unsafe { lc::EVP_PKEY_free(self.0) }
    }
}

/// The numbers of an RSA key, big-endian.
#[derive(Debug)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for lanes"))]
pub struct RsaNumbers {
    /// n, e.
    pub public: [Vec<u8>; 2],
    /// p, q, d mod p-1, d mod q-1, q^-1 mod p.
    pub private: [Vec<u8>; 5],
}

impl AwsLcKey {
    /// The key of this DER.
    pub fn new(der: &[u8]) -> Option<AwsLcKey> {
        let mut at = der.as_ptr();
        // SAFETY: the length is that of the buffer.
        let key = unsafe { lc::d2i_AutoPrivateKey(null_mut(), &mut at, der.len() as _) };
        (!key.is_null()).then(|| AwsLcKey(Arc::new(Owned(key))))
    }

    /// The numbers of an RSA key.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for lanes"))]
    pub fn rsa_numbers(&self) -> Option<RsaNumbers> {
        let null = std::ptr::null();
        let (mut n, mut e, mut d) = (null, null, null);
        let (mut p, mut q) = (null, null);
        let (mut dp, mut dq, mut qinv) = (null, null, null);
        // SAFETY: the numbers belong to the key, which lives through the copies.
        unsafe {
            let rsa = lc::EVP_PKEY_get0_RSA(self.0.0);
            if rsa.is_null() {
                return None;
            }
            lc::RSA_get0_key(rsa, &mut n, &mut e, &mut d);
            lc::RSA_get0_factors(rsa, &mut p, &mut q);
            lc::RSA_get0_crt_params(rsa, &mut dp, &mut dq, &mut qinv);
            Some(RsaNumbers { public: [n, e].map(|v| bytes(v)), private: [p, q, dp, dq, qinv].map(|v| bytes(v)) })
        }
    }

    /// The private key of an EC key, and its public point as x and y.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for lanes"))]
    pub fn ec_numbers(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        // SAFETY: all belongs to the key, which lives through the copies; the buffer holds P-521's point.
        unsafe {
            let ec = lc::EVP_PKEY_get0_EC_KEY(self.0.0);
            if ec.is_null() {
                return None;
            }
            let (group, point) = (lc::EC_KEY_get0_group(ec), lc::EC_KEY_get0_public_key(ec));
            let mut out = [0; 133];
            let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
            let length = lc::EC_POINT_point2oct(group, point, form, out.as_mut_ptr(), out.len(), null_mut());
            let public = out.get(1..length)?.to_vec();
            let mut private = vec![0; public.len() / 2];
            let number = lc::EC_KEY_get0_private_key(ec);
            (lc::BN_bn2bin_padded(private.as_mut_ptr(), private.len(), number) == 1).then_some((private, public))
        }
    }

    /// The private and the public key of X25519 and Ed25519.
    pub fn raw(&self) -> Option<([u8; 32], [u8; 32])> {
        let (mut private, mut public) = ([0; 32], [0; 32]);
        let (mut one, mut other) = (32, 32);
        // SAFETY: the buffers have the lengths given.
        let done = unsafe {
            lc::EVP_PKEY_get_raw_private_key(self.0.0, private.as_mut_ptr(), &mut one) == 1
                && lc::EVP_PKEY_get_raw_public_key(self.0.0, public.as_mut_ptr(), &mut other) == 1
        };
        (done && one == 32 && other == 32).then_some((private, public))
    }

    /// The work of a row with this key, in this thread; `None` where the key is not of the row's type.
    pub fn work(&self, function: Function) -> Option<Work> {
        let key = self.clone();
        match function {
            Function::Rsa(_) => rsa(key),
            Function::Ecdsa(_) => ecdsa(key),
            Function::Ecdh(_) => ecdh(key),
            Function::X25519 => {
                let (private, public) = key.raw()?;
                let once = move |secret: &mut [u8]| {
                    // SAFETY: 32 bytes each.
                    unsafe { lc::X25519(secret.as_mut_ptr(), private.as_ptr(), public.as_ptr()) == 1 }
                };
                repeat(32, true, once)
            }
            Function::Ed25519 => {
                let (private, public) = key.raw()?;
                let both = [private, public].concat();
                let once = move |signature: &mut [u8]| {
                    let (out, text) = (signature.as_mut_ptr(), MESSAGE.as_ptr());
                    // SAFETY: the buffers have the lengths the function wants, or which are given.
                    unsafe { lc::ED25519_sign(out, text, MESSAGE.len(), both.as_ptr()) == 1 }
                };
                repeat(64, true, once)
            }
            Function::Keygen(_) | Function::X25519Keygen | Function::Ed25519Keygen => generate(function),
        }
    }
}

/// The work of generating keys; `None` where the row does not.
pub fn generate(function: Function) -> Option<Work> {
    let curve = match function {
        Function::Keygen(curve) => curve,
        Function::X25519Keygen | Function::Ed25519Keygen => {
            let make = if function == Function::X25519Keygen { x25519 } else { ed25519 };
            return repeat(32, false, move |_| make());
        }
        _ => return None,
    };
    let id = match curve {
        Curve::P256 => lc::NID_X9_62_prime256v1,
        Curve::P384 => lc::NID_secp384r1,
    };
    repeat(0, false, move |_| {
        // SAFETY: the key is freed at once.
        unsafe {
            let key = lc::EC_KEY_new_by_curve_name(id);
            let done = !key.is_null() && lc::EC_KEY_generate_key(key) == 1;
            lc::EC_KEY_free(key);
            done
        }
    })
}

fn x25519() -> bool {
    let (mut public, mut private) = ([0; 32], [0; 32]);
    // SAFETY: 32 bytes each.
    unsafe { lc::X25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) }
    true
}

fn ed25519() -> bool {
    let (mut public, mut private) = ([0; 32], [0; 64]);
    // SAFETY: the lengths that the function wants.
    unsafe { lc::ED25519_keypair(public.as_mut_ptr(), private.as_mut_ptr()) }
    true
}

/// # Safety
/// A live number.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for lanes"))]
unsafe fn bytes(number: *const lc::BIGNUM) -> Vec<u8> {
    // SAFETY: the buffer is as long as the number says.
    unsafe {
        let mut out = vec![0; lc::BN_num_bytes(number) as usize];
        lc::BN_bn2bin(number, out.as_mut_ptr());
        out
    }
}

fn digest() -> [u8; 32] {
    let mut out = [0; 32];
    // SAFETY: the input has the length given, the output is a digest's.
    unsafe { lc::SHA256(MESSAGE.as_ptr(), MESSAGE.len(), out.as_mut_ptr()) };
    out
}

fn rsa(key: AwsLcKey) -> Option<Work> {
    // SAFETY: a live key.
    let size = usize::try_from(unsafe { lc::EVP_PKEY_size(key.0.0) }).ok()?;
    let once = move |out: &mut [u8]| {
        let (digest, mut length) = (digest(), 0);
        // SAFETY: the output is as long as a signature.
        let done = unsafe {
            let rsa = lc::EVP_PKEY_get0_RSA(key.0.0);
            !rsa.is_null() && lc::RSA_sign(lc::NID_sha256, digest.as_ptr(), 32, out.as_mut_ptr(), &mut length, rsa) == 1
        };
        done && length as usize == out.len()
    };
    repeat(size, true, once)
}

fn ecdsa(key: AwsLcKey) -> Option<Work> {
    let mut first = true;
    let once = move |out: &mut [u8]| {
        let (digest, mut length) = (digest(), 0);
        // SAFETY: the output holds every signature of the curves.
        unsafe {
            let ec = lc::EVP_PKEY_get0_EC_KEY(key.0.0);
            let signed =
                !ec.is_null() && lc::ECDSA_sign(0, digest.as_ptr(), 32, out.as_mut_ptr(), &mut length, ec) == 1;
            let check = std::mem::take(&mut first);
            let right = || lc::ECDSA_verify(0, digest.as_ptr(), 32, out.as_ptr(), length as usize, ec) == 1;
            signed && (!check || right())
        }
    };
    repeat(160, false, once)
}

fn ecdh(key: AwsLcKey) -> Option<Work> {
    // SAFETY: a live key.
    let size = usize::try_from(unsafe { lc::EVP_PKEY_bits(key.0.0) }).ok()?.div_ceil(8);
    let once = move |secret: &mut [u8]| {
        // SAFETY: the secret is as long as stated; the point is the key's own.
        let made = unsafe {
            let ec = lc::EVP_PKEY_get0_EC_KEY(key.0.0);
            if ec.is_null() {
                return false;
            }
            let peer = lc::EC_KEY_get0_public_key(ec);
            lc::ECDH_compute_key(secret.as_mut_ptr().cast(), secret.len(), peer, ec, None)
        };
        made == secret.len() as c_int
    };
    repeat(size, true, once)
}

/// Work that is done over and over into a place of `size` bytes, whose first content is the proof if it is always the same.
fn repeat(size: usize, same: bool, mut once: impl FnMut(&mut [u8]) -> bool + 'static) -> Option<Work> {
    let mut place = vec![0; size];
    let done = once(&mut place);
    let proof = if same { place.clone() } else { Vec::new() };
    done.then(|| Work::new(proof, move |n| (0..n).all(|_| once(&mut place))))
}
