//! Messages of the authenticating functions, in every form the interface has them.

#![allow(unsafe_code, reason = "calls of the C functions")]
// Every pointer is a slice's of this file, of the length beside it.
#![allow(clippy::undocumented_unsafe_blocks)]

use adjunct_ica::abi::{aead::*, block::*};
use libc::EFAULT;
use std::ffi::{c_uint, c_ulong};
use std::ptr::null;

/// A message under an AEAD.
pub struct Message<'a> {
    pub key: &'a [u8],
    pub iv: &'a [u8],
    pub aad: &'a [u8],
    /// The plaintext; not looked at where the tag is wrong.
    pub plain: &'a [u8],
    pub sealed: &'a [u8],
    pub tag: &'a [u8],
}

const FAULT: c_uint = EFAULT as c_uint;

impl Message<'_> {
    fn key(&self) -> (*const u8, c_uint) {
        (self.key.as_ptr(), self.key.len() as c_uint)
    }

    /// `ica_aes_ccm`: both directions of a good message; a bad one is refused, and leaves nothing.
    pub fn ccm(&self, good: bool, what: &str) {
        let ((k, kn), length, tag) = (self.key(), self.sealed.len() as c_ulong, self.tag.len() as c_uint);
        let (a, an) = (self.aad.as_ptr(), self.aad.len() as c_ulong);
        let (n, nn) = (self.iv.as_ptr(), self.iv.len() as c_uint);
        if good {
            let (mut plain, mut out) = (self.plain.to_vec(), vec![0; self.sealed.len() + self.tag.len()]);
            let (p, o) = (plain.as_mut_ptr(), out.as_mut_ptr());
            assert_eq!(unsafe { ica_aes_ccm(p, length, o, tag, a, an, n, nn, k, kn, 1) }, 0, "{what}");
            assert_eq!(out, [self.sealed, self.tag].concat(), "{what}");
        }
        let (mut sealed, mut out) = ([self.sealed, self.tag].concat(), vec![7; self.sealed.len()]);
        let (c, o) = (sealed.as_mut_ptr(), out.as_mut_ptr());
        let done = unsafe { ica_aes_ccm(o, length, c, tag, a, an, n, nn, k, kn, 0) };
        self.opened(done, good, &out, what);
    }

    fn opened(&self, done: c_uint, good: bool, out: &[u8], what: &str) {
        if good {
            assert_eq!((done, out), (0, self.plain), "{what}");
        } else {
            assert_eq!(done, FAULT, "{what}");
            assert!(out.iter().all(|&byte| byte == 0), "{what}");
        }
    }

    /// GCM in one call, as a stream and by a context.
    pub fn gcm(&self, good: bool, what: &str) {
        let ((k, kn), length, tag) = (self.key(), self.sealed.len() as c_ulong, self.tag.len() as c_uint);
        let (a, an) = (self.aad.as_ptr(), self.aad.len() as c_ulong);
        let (v, vn) = (self.iv.as_ptr(), self.iv.len() as c_uint);
        if good {
            let (mut plain, mut out, mut made) = (self.plain.to_vec(), vec![0; self.sealed.len()], self.tag.to_vec());
            made.fill(0);
            let (p, o, t) = (plain.as_mut_ptr(), out.as_mut_ptr(), made.as_mut_ptr());
            assert_eq!(unsafe { ica_aes_gcm(p, length, o, v, vn, a, an, t, tag, k, kn, 1) }, 0, "{what}");
            assert_eq!((&out[..], &made[..]), (self.sealed, self.tag), "{what}");
        }
        let (mut sealed, mut out, mut given) = (self.sealed.to_vec(), vec![7; self.sealed.len()], self.tag.to_vec());
        let (c, o, t) = (sealed.as_mut_ptr(), out.as_mut_ptr(), given.as_mut_ptr());
        let done = unsafe { ica_aes_gcm(o, length, c, v, vn, a, an, t, tag, k, kn, 0) };
        self.opened(done, good, &out, what);
        for piece in [16, 48, usize::MAX / 16 * 16] {
            self.stream(good, piece, what);
            self.kma(good, piece, what);
        }
    }

    /// Encrypts and decrypts in pieces of whole blocks: first the additional data, then the text.
    fn stream(&self, good: bool, piece: usize, what: &str) {
        let (k, kn) = self.key();
        for encrypt in if good { &[true, false][..] } else { &[false] } {
            let from = if *encrypt { self.plain } else { self.sealed };
            let mut out = vec![7; from.len()];
            let (mut icb, mut ucb, mut subkey, mut hash) = ([0; 16], [0; 16], [0; 16], [0; 16]);
            let (i, u, s, h) = (icb.as_mut_ptr(), ucb.as_mut_ptr(), subkey.as_mut_ptr(), hash.as_mut_ptr());
            let (iv, iv_length, direction) = (self.iv.as_ptr(), self.iv.len() as c_uint, c_uint::from(*encrypt));
            let begun = unsafe { ica_aes_gcm_initialize(iv, iv_length, k, kn, i, u, s, direction) };
            assert_eq!(begun, 0, "{what}");
            let part = |text: *const u8, to: *mut u8, length: usize, aad: &[u8]| unsafe {
                let (plain, sealed) = if *encrypt { (text.cast_mut(), to) } else { (to, text.cast_mut()) };
                let (a, an, length) = (aad.as_ptr(), aad.len() as c_ulong, length as c_ulong);
                let done = ica_aes_gcm_intermediate(plain, length, sealed, u, a, an, h, 16, k, kn, s, direction);
                assert_eq!(done, 0, "{what}");
            };
            let mut spare = [0; 16];
            for aad in self.aad.chunks(piece) {
                part(spare.as_ptr(), spare.as_mut_ptr(), 0, aad);
            }
            for (text, to) in from.chunks(piece).zip(out.chunks_mut(piece)) {
                part(text.as_ptr(), to.as_mut_ptr(), text.len(), &[]);
            }
            let (an, length) = (self.aad.len() as c_ulong, from.len() as c_ulong);
            let (given, given_length) = (self.tag.as_ptr(), self.tag.len() as c_uint);
            let done = unsafe { ica_aes_gcm_last(i, an, length, h, given, given_length, k, kn, s, direction) };
            assert_eq!(done, if good { 0 } else { FAULT }, "{what}");
            if good {
                assert_eq!(&hash[..self.tag.len()], self.tag, "{what}");
                assert_eq!(out, if *encrypt { self.sealed } else { self.plain }, "{what}");
            }
        }
    }

    fn kma(&self, good: bool, piece: usize, what: &str) {
        let (k, kn) = self.key();
        let ctx = ica_aes_gcm_kma_ctx_new();
        for encrypt in if good { &[true, false][..] } else { &[false] } {
            let from = if *encrypt { self.plain } else { self.sealed };
            let mut out = vec![7; from.len()];
            let (iv, iv_length) = (self.iv.as_ptr(), self.iv.len() as c_uint);
            assert_eq!(unsafe { ica_aes_gcm_kma_init((*encrypt).into(), iv, iv_length, k, kn, ctx) }, 0, "{what}");
            let last = self.aad.len().saturating_sub(1) / piece * piece;
            let (front, back) = self.aad.split_at(last);
            for aad in front.chunks(piece) {
                let (a, an) = (aad.as_ptr(), aad.len() as c_ulong);
                let done = unsafe { ica_aes_gcm_kma_update(null(), std::ptr::null_mut(), 0, a, an, 0, 0, ctx) };
                assert_eq!(done, 0, "{what}");
            }
            let count = from.len().div_ceil(piece).max(1);
            for at in 0..count {
                let range = (at * piece).min(from.len())..((at + 1).saturating_mul(piece)).min(from.len());
                let aad = if at == 0 { back } else { &[] };
                let (a, an) = (aad.as_ptr(), aad.len() as c_ulong);
                let (p, length) = (from[range.clone()].as_ptr(), range.len() as c_ulong);
                let o = out[range].as_mut_ptr();
                let ends = c_uint::from(at + 1 == count);
                assert_eq!(unsafe { ica_aes_gcm_kma_update(p, o, length, a, an, 1, ends, ctx) }, 0, "{what}");
            }
            let length = self.tag.len() as c_uint;
            if *encrypt {
                let mut made = vec![0; self.tag.len()];
                assert_eq!(unsafe { ica_aes_gcm_kma_get_tag(made.as_mut_ptr(), length, ctx) }, 0, "{what}");
                assert_eq!((&out[..], &made[..]), (self.sealed, self.tag), "{what}");
            } else {
                let done = unsafe { ica_aes_gcm_kma_verify_tag(self.tag.as_ptr(), length, ctx) };
                assert_eq!(done, if good { 0 } else { EFAULT }, "{what}");
                assert!(!good || out == self.plain, "{what}");
            }
        }
        unsafe { ica_aes_gcm_kma_ctx_free(ctx) };
    }
}

/// Checks CMAC in one call and in parts: makes it where it is good, and verifies it.
pub fn check_cmac(aes: bool, key: &[u8], message: &[u8], mac: &[u8], good: bool, what: &str) {
    let (k, kn, m, length) = (key.as_ptr(), key.len() as c_uint, message.as_ptr(), message.len() as c_ulong);
    let right = if good { 0 } else { FAULT };
    for direction in if good { &[1, 0][..] } else { &[0] } {
        let mut made = if *direction == 1 { vec![0; mac.len()] } else { mac.to_vec() };
        let (o, n) = (made.as_mut_ptr(), made.len() as c_uint);
        let done = unsafe {
            if aes {
                ica_aes_cmac(m, length, o, n, k, kn, *direction)
            } else {
                ica_3des_cmac(m, length, o, n, k, *direction)
            }
        };
        assert_eq!(done, right, "{what}");
        assert_eq!(made, mac, "{what}");
        let block = if aes { 16 } else { 8 };
        let mut chain = [0; 16];
        let front = message.len().saturating_sub(1) / block * block;
        if front > 0 {
            let done = unsafe {
                let (length, c) = (front as c_ulong, chain.as_mut_ptr());
                if aes {
                    ica_aes_cmac_intermediate(m, length, k, kn, c)
                } else {
                    ica_3des_cmac_intermediate(m, length, k, c)
                }
            };
            assert_eq!(done, 0, "{what}");
        }
        let rest = &message[front..];
        let (m, length, c) = (rest.as_ptr(), rest.len() as c_ulong, chain.as_mut_ptr());
        let done = unsafe {
            if aes {
                ica_aes_cmac_last(m, length, o, n, k, kn, c, *direction)
            } else {
                ica_3des_cmac_last(m, length, o, n, k, c, *direction)
            }
        };
        assert_eq!(done, right, "{what}");
        assert_eq!(made, mac, "{what}");
    }
}
