//! ChaCha20-Poly1305 as a stream (RFC 8439), and TLS 1.2 records (RFC 7905).

use super::aead::{self, Aead, Refusal, Shared, answered, octets};
use super::state::mode;
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Dispatch};
use adjunct::InOut;
use adjunct::ops::aead::chacha::{ChaCha20Poly1305, KEY, NONCE, TAG};
use adjunct::ops::aead::{TLS_AAD, same_tag, shorten_tls, tls_length};
use zeroize::Zeroize;

#[derive(Clone)]
struct ChaChaPolyContext {
    aead: ChaCha20Poly1305,
    shared: Shared,
    nonce: [u8; NONCE],
    tag: [u8; TAG],
    tag_len: u8,
}

impl Drop for ChaChaPolyContext {
    fn drop(&mut self) {
        self.nonce.zeroize();
        self.tag.zeroize();
    }
}

impl ChaChaPolyContext {
    /// Encrypts or decrypts a TLS record: payload and tag. Gives the length of the result.
    ///
    /// # Safety
    /// `input` and `out` are valid for the payload that the header tells, and a tag.
    unsafe fn tls_record(&mut self, aad: [u8; TLS_AAD], out: *mut u8, input: *const u8) -> Option<usize> {
        let payload = tls_length(&aad);
        let mut received = [0; TAG];
        // SAFETY: the caller has `input` and `out` valid for the payload and a tag. The tag is read before the output, which may be the
        // same memory, is written.
        let io = unsafe {
            std::ptr::copy_nonoverlapping(input.add(payload), received.as_mut_ptr(), TAG);
            InOut::from_raw(input, out, payload)
        };
        self.aead.aad(&aad);
        self.aead.message(self.shared.encrypt, io);
        let tag = self.aead.tag();
        if self.shared.encrypt {
            self.tag = tag;
            // SAFETY: the caller has `out` valid for the payload and a tag, so the tag fits behind the payload.
            unsafe { std::ptr::copy_nonoverlapping(tag.as_ptr(), out.add(payload), TAG) };
            return Some(payload + TAG);
        }
        if !same_tag(&tag, &received, TAG) {
            // What does not authenticate must not be seen.
            // SAFETY: the caller has `out` valid for the payload, and the operation that used it is over.
            unsafe { abi::slice_mut(out, payload) }.zeroize();
            return None;
        }
        Some(payload)
    }
}

impl Aead for ChaChaPolyContext {
    const MODE: u32 = mode::STREAM;
    const GETTABLE: &'static [Param] = &[
        Param::describe(c"keylen", param::UNSIGNED, 8),
        Param::describe(c"ivlen", param::UNSIGNED, 8),
        Param::describe(c"taglen", param::UNSIGNED, 8),
        Param::describe(c"tag", param::OCTETS, 0),
        Param::describe(c"tlsaadpad", param::UNSIGNED, 8),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::describe(c"keylen", param::UNSIGNED, 8),
        Param::describe(c"ivlen", param::UNSIGNED, 8),
        Param::describe(c"tag", param::OCTETS, 0),
        Param::describe(c"tlsaad", param::OCTETS, 0),
        Param::describe(c"tlsivfixed", param::OCTETS, 0),
        Param::END,
    ];
    const UPDATE_ERROR: Option<Reason> = None;
    const TELLS_WRITTEN: bool = true;

    fn new(shared: Shared) -> ChaChaPolyContext {
        ChaChaPolyContext { aead: ChaCha20Poly1305::default(), shared, nonce: [0; NONCE], tag: [0; TAG], tag_len: 0 }
    }

    #[inline]
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    #[inline]
    fn set_iv(&mut self, iv: &[u8]) -> Result<(), Reason> {
        self.nonce = iv.try_into().map_err(|_| prov::INVALID_IV_LENGTH)?;
        self.aead.set_nonce(&self.nonce);
        self.shared.tls_aad = None;
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<(), Reason> {
        self.aead.set_key(key).map_err(|_| prov::INVALID_KEY_LENGTH)?;
        self.shared.tls_aad = None;
        Ok(())
    }

    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        if !self.aead.has_key() {
            self.shared.core.raise(prov::NO_KEY_SET);
            return None;
        }
        if let Some(aad) = self.shared.tls_aad {
            if !out.is_null() {
                // What is no such record leaves the header in force: it must not be taken for plain data.
                if input.is_null() || len != tls_length(&aad) + TAG {
                    return None;
                }
                self.shared.tls_aad = None;
                // SAFETY: neither pointer is null, so by the caller's word both are valid for `len` bytes, which is the payload that the
                // header tells and a tag.
                return unsafe { self.tls_record(aad, out, input) };
            }
            self.aead.aad(&aad);
            self.shared.tls_aad = None;
        }
        if input.is_null() {
            let tag = self.aead.tag();
            if self.shared.encrypt {
                self.tag = tag;
                return Some(len);
            }
            // OpenSSL's own compares nothing where no tag was set: any message passes. GCM and CCM refuse, and so does this.
            return (self.tag_len > 0 && same_tag(&tag, &self.tag, self.tag_len.into())).then_some(len);
        }
        if out.is_null() {
            // SAFETY: `input` is not null, so by the caller's word valid for `len` bytes.
            self.aead.aad(unsafe { abi::slice(input, len) });
        } else {
            // SAFETY: neither pointer is null, so by the caller's word both are valid for `len` bytes.
            self.aead.message(self.shared.encrypt, unsafe { InOut::from_raw(input, out, len) });
        }
        Some(len)
    }

    /// The nonce is the fixed one xor the sequence number, with which the header begins.
    fn tls_header(&mut self, mut aad: [u8; TLS_AAD]) -> Option<usize> {
        shorten_tls(&mut aad, if self.shared.encrypt { 0 } else { TAG })?;
        let mut nonce = self.nonce;
        for (n, a) in nonce[4..].iter_mut().zip(aad) {
            *n ^= a;
        }
        self.aead.set_nonce(&nonce);
        self.shared.tls_aad = Some(aad);
        Some(TAG)
    }

    fn iv_len(&self) -> usize {
        NONCE
    }

    fn tag_len(&self) -> usize {
        self.tag_len.into()
    }

    fn set_param(&mut self, name: &[u8], p: &Param) -> Result<(), Refusal> {
        match name {
            b"keylen" | b"ivlen" => {
                let (expected, reason) =
                    if name == b"keylen" { (KEY, prov::INVALID_KEY_LENGTH) } else { (NONCE, prov::INVALID_IV_LENGTH) };
                if p.get_usize().ok_or(prov::FAILED_TO_GET_PARAMETER)? != expected {
                    return Err(reason.into());
                }
            }
            b"tag" | b"tlsivfixed" if p.data_type != param::OCTETS => return Err(prov::FAILED_TO_GET_PARAMETER.into()),
            // A tag without data sets its length only.
            b"tag" => {
                if p.data_size == 0 || p.data_size > TAG {
                    return Err(prov::INVALID_TAG_LENGTH.into());
                }
                if let Some(tag) = p.get_octets() {
                    if self.shared.encrypt {
                        return Err(prov::TAG_NOT_NEEDED.into());
                    }
                    self.tag[..tag.len()].copy_from_slice(tag);
                }
                self.tag_len = p.data_size as u8;
            }
            b"tlsivfixed" => {
                let fixed = octets(p).and_then(|f| f.try_into().ok()).ok_or(prov::INVALID_IV_LENGTH)?;
                self.nonce = fixed;
                self.aead.set_nonce(&fixed);
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn get_param(&mut self, p: &mut Param) -> Result<(), Refusal> {
        if p.name() != c"tag" {
            return Ok(());
        }
        if p.data_type != param::OCTETS {
            return Err(prov::FAILED_TO_SET_PARAMETER.into());
        }
        if !self.shared.encrypt {
            return Err(prov::TAG_NOT_SET.into());
        }
        if p.data_size == 0 || p.data_size > TAG {
            return Err(prov::INVALID_TAG_LENGTH.into());
        }
        answered(p.set_octets(&self.tag[..p.data_size]))
    }
}

pub(super) static CHACHA20_POLY1305: [Dispatch; 15] = aead::table::<ChaChaPolyContext, { KEY * 8 }>();
