//! AES-CCM: lengths first, then one message in one piece (SP 800-38C), and TLS 1.2 records (RFC 6655).

use super::aead::{self, Aead, Refusal, Shared, answered, octets};
use super::state::mode;
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Dispatch};
use adjunct::InOut;
use adjunct::ops::aead::ccm::Ccm;
use adjunct::ops::aead::{EXPLICIT_IV, FIXED_IV, TLS_AAD, same_tag};
use zeroize::Zeroize;

#[derive(Clone)]
struct CcmContext {
    ccm: Ccm,
    shared: Shared,
    iv_set: bool,
    tag_set: bool,
    /// Whether the lengths were given, which a new key or nonce does not change: a message that ended, or failed, must have been
    /// closed before the next begins (its tag asked for), or its lengths be set anew.
    length_set: bool,
    /// Whether the lengths were given under this key.
    begun: bool,
    /// The bytes the message length takes; the nonce has 15 less that.
    width: usize,
    tag_len: usize,
    /// Lengths of tag and nonce as they were when the key was set: as in OpenSSL, what is changed later holds for the next key.
    in_force: (usize, usize),
    /// The tag of the last message, zeros before the first; another key leaves it, as in OpenSSL.
    tag: [u8; 16],
    /// The tag to compare with.
    expected: [u8; 16],
    iv: [u8; 16],
}

impl Drop for CcmContext {
    fn drop(&mut self) {
        self.iv.zeroize();
        self.tag.zeroize();
        self.expected.zeroize();
    }
}

impl CcmContext {
    fn start(&mut self, message: usize) -> bool {
        let (width, tag_len) = self.in_force;
        let nonce = 15 - width;
        // OpenSSL's own writes the nonce over the high bytes of a length that there is no room for, and finds only when the message comes
        // that it is not so long.
        let message = if width < size_of::<usize>() { message & ((1 << (8 * width)) - 1) } else { message };
        self.begun = nonce <= self.iv_len() && self.ccm.start(&self.iv[..nonce], tag_len, message).is_ok();
        self.length_set |= self.begun;
        self.begun
    }

    /// Encrypts or decrypts the message, and gives its tag out or compares it with `expected`. A message that does not authenticate is wiped.
    ///
    /// # Safety
    /// `input` and `out` are valid for `len` bytes.
    unsafe fn message(&mut self, out: *mut u8, input: *const u8, len: usize, expected: Option<[u8; 16]>) -> bool {
        // SAFETY: the caller has `input` and `out` valid for `len` bytes.
        let io = unsafe { InOut::from_raw(input, out, len) };
        // One that is not as long as was said ends what was begun, too.
        if !std::mem::take(&mut self.begun) || self.ccm.message(self.shared.encrypt, io).is_err() {
            return false;
        }
        let tag = self.ccm.tag();
        self.tag = tag;
        if let Some(expected) = expected {
            if self.tag_len == self.in_force.1 && same_tag(&tag, &expected, self.tag_len) {
                return true;
            }
            // SAFETY: the caller has `out` valid for `len` bytes, and the operation that used it is over.
            unsafe { abi::slice_mut(out, len) }.zeroize();
            return false;
        }
        true
    }

    /// Encrypts or decrypts a TLS record in place: explicit IV, payload, tag. Gives the length of the result.
    fn tls_record(&mut self, aad: [u8; TLS_AAD], record: &mut [u8]) -> Option<usize> {
        let length = record.len();
        let bytes = length.checked_sub(EXPLICIT_IV + self.tag_len)?;
        let (explicit, rest) = record.split_at_mut(EXPLICIT_IV);
        let (payload, tag) = rest.split_at_mut(bytes);
        if self.shared.encrypt {
            // The sequence number, with which the header begins.
            explicit.copy_from_slice(&aad[..EXPLICIT_IV]);
        }
        self.iv[FIXED_IV..FIXED_IV + EXPLICIT_IV].copy_from_slice(explicit);
        if !self.start(bytes) {
            return None;
        }
        self.ccm.aad(&aad);
        let mut expected = [0; 16];
        expected[..tag.len()].copy_from_slice(tag);
        let (p, encrypt) = (payload.as_mut_ptr(), self.shared.encrypt);
        // SAFETY: the payload in place.
        if !unsafe { self.message(p, p, bytes, (!encrypt).then_some(expected)) } {
            return None;
        }
        if encrypt {
            tag.copy_from_slice(&self.tag[..tag.len()]);
            return Some(length);
        }
        Some(bytes)
    }
}

impl Aead for CcmContext {
    const MODE: u32 = mode::CCM;
    // OpenSSL lists the last ones of each for all AEADs, some versions of it; CCM gives and takes none.
    const GETTABLE: &'static [Param] = &[
        Param::describe(c"keylen", param::UNSIGNED, 8),
        Param::describe(c"ivlen", param::UNSIGNED, 8),
        Param::describe(c"taglen", param::UNSIGNED, 8),
        Param::describe(c"iv", param::OCTETS, 0),
        Param::describe(c"updated-iv", param::OCTETS, 0),
        Param::describe(c"tag", param::OCTETS, 0),
        Param::describe(c"tlsaadpad", param::UNSIGNED, 8),
        Param::describe(c"tlsivgen", param::OCTETS, 0),
        Param::describe(c"iv-generated", param::UNSIGNED, 4),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::describe(c"ivlen", param::UNSIGNED, 8),
        Param::describe(c"tag", param::OCTETS, 0),
        Param::describe(c"tlsaad", param::OCTETS, 0),
        Param::describe(c"tlsivfixed", param::OCTETS, 0),
        Param::describe(c"tlsivinv", param::OCTETS, 0),
        Param::END,
    ];
    const EMPTY_UPDATES: bool = true;

    fn new(shared: Shared) -> CcmContext {
        CcmContext {
            ccm: Ccm::default(),
            shared,
            iv_set: false,
            tag_set: false,
            length_set: false,
            begun: false,
            width: 8,
            tag_len: 12,
            in_force: (8, 12),
            tag: [0; 16],
            expected: [0; 16],
            iv: [0; 16],
        }
    }

    #[inline]
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    #[inline]
    fn set_iv(&mut self, iv: &[u8]) -> Result<(), Reason> {
        if iv.len() != self.iv_len() {
            return Err(prov::INVALID_IV_LENGTH);
        }
        self.iv[..iv.len()].copy_from_slice(iv);
        self.iv_set = true;
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<(), Reason> {
        if key.len() != usize::from(self.shared.key_len) || self.ccm.set_key(key).is_err() {
            return Err(prov::INVALID_KEY_LENGTH);
        }
        // Lengths that were set stay, as in OpenSSL, but a message begun under another key does not go on.
        self.begun = false;
        self.in_force = (self.width, self.tag_len);
        Ok(())
    }

    /// Takes in a part of the message, or its length, where both pointers are null.
    ///
    /// # Safety
    /// As in the trait.
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        if !self.ccm.has_key() {
            return None;
        }
        if let Some(aad) = self.shared.tls_aad {
            if input.is_null() || input != out.cast_const() {
                return None;
            }
            // SAFETY: `out` equals `input` and is not null, so by the caller's word valid for `len` bytes; the slice is the only reference to them.
            return self.tls_record(aad, unsafe { abi::slice_mut(out, len) });
        }
        if input.is_null() && !out.is_null() {
            // SAFETY: the caller has `out` valid or null, and `finish` writes nothing there.
            return unsafe { self.finish(out) }.then_some(0);
        }
        if !self.iv_set {
            return None;
        }
        if out.is_null() {
            if input.is_null() {
                return self.start(len).then_some(len);
            }
            if !self.length_set && len > 0 {
                return None;
            }
            // SAFETY: `input` is not null, so by the caller's word valid for `len` bytes.
            self.ccm.aad(unsafe { abi::slice(input, len) });
            return Some(len);
        }
        if !self.length_set && !self.start(len) {
            return None;
        }
        if self.shared.encrypt {
            // SAFETY: neither pointer is null, so by the caller's word both are valid for `len` bytes.
            let done = unsafe { self.message(out, input, len, None) };
            self.tag_set |= done;
            return done.then_some(len);
        }
        if !self.tag_set {
            return None;
        }
        let expected = self.expected;
        // SAFETY: neither pointer is null, so by the caller's word both are valid for `len` bytes.
        if !unsafe { self.message(out, input, len, Some(expected)) } {
            return None;
        }
        // Over: another message needs another nonce and tag.
        (self.iv_set, self.tag_set, self.length_set) = (false, false, false);
        Some(len)
    }

    /// The end. A message that was never given is an empty one: its tag is made, or must verify, here.
    ///
    /// # Safety
    /// `_out` is not used.
    unsafe fn finish(&mut self, _out: *mut u8) -> bool {
        if !self.ccm.has_key() || self.shared.tls_aad.is_some() {
            return false;
        }
        if !self.iv_set || self.shared.encrypt && self.tag_set {
            return true;
        }
        // SAFETY: of an empty message nothing is read or written.
        unsafe { self.process(std::ptr::dangling_mut(), std::ptr::dangling(), 0) }.is_some()
    }

    fn tls_header(&mut self, aad: [u8; TLS_AAD]) -> Option<usize> {
        self.shared.tls_header(aad, self.tag_len)
    }

    #[inline]
    fn iv_len(&self) -> usize {
        15 - self.width
    }

    fn tag_len(&self) -> usize {
        self.tag_len
    }

    fn set_param(&mut self, name: &[u8], p: &Param) -> Result<(), Refusal> {
        match name {
            // A tag without data sets its length only.
            b"tag" => {
                if p.data_type != param::OCTETS {
                    return Err(prov::FAILED_TO_GET_PARAMETER.into());
                }
                if p.data_size % 2 == 1 || !(4..=16).contains(&p.data_size) {
                    return Err(prov::INVALID_TAG_LENGTH.into());
                }
                if let Some(tag) = p.get_octets() {
                    if self.shared.encrypt {
                        return Err(prov::TAG_NOT_NEEDED.into());
                    }
                    self.expected[..tag.len()].copy_from_slice(tag);
                    self.tag_set = true;
                }
                self.tag_len = p.data_size;
            }
            b"ivlen" => {
                let length = p.get_usize().ok_or(prov::FAILED_TO_GET_PARAMETER)?;
                if !(7..=13).contains(&length) {
                    return Err(prov::INVALID_IV_LENGTH.into());
                }
                if self.width != 15 - length {
                    self.width = 15 - length;
                    // A nonce already there was made for another length.
                    self.iv_set = false;
                }
            }
            b"tlsivfixed" if p.data_type != param::OCTETS => return Err(prov::FAILED_TO_GET_PARAMETER.into()),
            b"tlsivfixed" => {
                let fixed = octets(p).filter(|o| o.len() == FIXED_IV).ok_or(prov::INVALID_IV_LENGTH)?;
                self.iv[..FIXED_IV].copy_from_slice(fixed);
            }
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn get_param(&mut self, p: &mut Param) -> Result<(), Refusal> {
        match p.name().to_bytes() {
            b"iv" | b"updated-iv" => {
                if p.data_size < self.iv_len() {
                    return Err(prov::INVALID_IV_LENGTH.into());
                }
                // As much as there is room for, as OpenSSL's own has it: programs ask with 16 bytes.
                answered(p.set_octets(&self.iv[..p.data_size.min(16)]))
            }
            b"tag" => {
                if !self.shared.encrypt || !self.tag_set {
                    return Err(prov::TAG_NOT_SET.into());
                }
                if p.data_type != param::OCTETS {
                    return Err(prov::FAILED_TO_SET_PARAMETER.into());
                }
                if p.data_size != self.in_force.1 || !p.set_octets(&self.tag[..p.data_size]) {
                    return Err(Refusal::Untold);
                }
                (self.iv_set, self.tag_set, self.length_set) = (false, false, false);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

pub(super) static CCM128: [Dispatch; 15] = aead::table::<CcmContext, 128>();
pub(super) static CCM192: [Dispatch; 15] = aead::table::<CcmContext, 192>();
pub(super) static CCM256: [Dispatch; 15] = aead::table::<CcmContext, 256>();
