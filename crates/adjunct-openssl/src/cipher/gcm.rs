//! AES-GCM: as a stream, one-shot as OpenSSH uses it, and TLS 1.2 records (SP 800-38D, RFC 5288).

use super::aead::{self, Aead, Refusal, Shared, answered, octets};
use super::state::mode;
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Dispatch};
use adjunct::InOut;
use adjunct::ops::aead::TLS_AAD;
use adjunct::ops::aead::gcm::{MAX_IV, Session, TAG};

#[derive(Clone)]
struct GcmCipherContext {
    session: Session,
    shared: Shared,
}

impl Aead for GcmCipherContext {
    const MODE: u32 = mode::GCM;
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

    const HEADER_ERROR: Reason = prov::INVALID_AAD;

    fn new(shared: Shared) -> GcmCipherContext {
        GcmCipherContext { session: Session::default(), shared }
    }

    #[inline]
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    fn set_iv(&mut self, iv: &[u8]) -> Result<(), Reason> {
        self.session.set_iv(iv).then_some(()).ok_or(prov::INVALID_IV_LENGTH)
    }

    fn set_key(&mut self, key: &[u8]) -> Result<(), Reason> {
        if key.len() != usize::from(self.shared.key_len) || self.session.set_key(key).is_err() {
            return Err(prov::INVALID_KEY_LENGTH);
        }
        Ok(())
    }

    #[inline]
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        let GcmCipherContext { session, shared } = self;
        let encrypt = shared.encrypt;
        if let Some(aad) = shared.tls_aad {
            shared.tls_aad = None;
            let in_place = out.cast_const() == input && !out.is_null();
            // SAFETY: `out` is not null, so by the caller's word valid for `len` bytes; `input` is the same address, so that the slice is
            // the only reference to them.
            let record = in_place.then(|| unsafe { abi::slice_mut(out, len) });
            let done = record.and_then(|record| {
                let done = session.tls_record(encrypt, aad, record)?;
                session.tag_of_record(encrypt, record);
                Some(done)
            });
            session.end();
            return done;
        }
        if !session.has_key() {
            return None;
        }
        if !(session.begin() || session.random_iv(encrypt) && session.begin()) {
            return None;
        }
        if input.is_null() {
            if !session.close(encrypt) {
                return None;
            }
            session.end();
            return Some(0);
        }
        if out.is_null() {
            // SAFETY: `input` is not null, so by the caller's word valid for `len` bytes.
            return session.aad(unsafe { abi::slice(input, len) }).then_some(len);
        }
        // SAFETY: neither pointer is null, so by the caller's word both are valid for `len` bytes.
        session.crypt(encrypt, unsafe { InOut::from_raw(input, out, len) }).then_some(len)
    }

    fn tls_header(&mut self, aad: [u8; TLS_AAD]) -> Option<usize> {
        self.shared.tls_header(aad, TAG)
    }

    fn iv_len(&self) -> usize {
        self.session.iv_length()
    }

    fn tag_len(&self) -> usize {
        self.session.tag_length().unwrap_or(TAG)
    }

    fn set_param(&mut self, name: &[u8], p: &Param) -> Result<(), Refusal> {
        let GcmCipherContext { session, shared } = self;
        let encrypt = shared.encrypt;
        match name {
            b"ivlen" => {
                let length = p.get_usize().ok_or(prov::FAILED_TO_GET_PARAMETER)?;
                session.set_iv_length(length).then_some(()).ok_or(prov::INVALID_IV_LENGTH)?;
            }
            b"tag" => {
                let tag = octets(p).filter(|tag| tag.len() <= TAG).ok_or(prov::FAILED_TO_GET_PARAMETER)?;
                session.set_tag(tag, encrypt).then_some(()).ok_or(prov::INVALID_TAG)?;
            }
            // EVP_CTRL_GCM_SET_IV_FIXED with a length of -1 sets the whole IV; the array then has no length of its own.
            b"tlsivfixed" if p.data_type == param::OCTETS && p.data_size == usize::MAX => {
                // SAFETY: by the rule of that control call the data is as long as the IV.
                let given = unsafe { abi::slice(p.data.cast(), session.iv_length()) };
                // Apart from the context, which it may lie in.
                let mut iv = [0; MAX_IV];
                iv[..given.len()].copy_from_slice(given);
                let whole = given.len() == session.iv_length();
                session
                    .fix_iv(&iv[..given.len()], whole, encrypt)
                    .then_some(())
                    .ok_or(prov::FAILED_TO_GET_PARAMETER)?;
            }
            b"tlsivfixed" => {
                let fixed = octets(p).ok_or(prov::FAILED_TO_GET_PARAMETER)?;
                session.fix_iv(fixed, false, encrypt).then_some(()).ok_or(prov::FAILED_TO_GET_PARAMETER)?;
            }
            b"tlsivinv" => {
                octets(p).is_some_and(|iv| session.receive_iv(iv, encrypt)).then_some(()).ok_or(Refusal::Untold)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn get_param(&mut self, p: &mut Param) -> Result<(), Refusal> {
        let GcmCipherContext { session, shared } = self;
        match p.name().to_bytes() {
            b"iv" | b"updated-iv" => {
                let iv = session.iv().ok_or(Refusal::Untold)?;
                if p.data_size < iv.len() {
                    return Err(prov::INVALID_IV_LENGTH.into());
                }
                answered(p.set_octets(iv))
            }
            b"tag" => {
                let tag = session.tag(p.data_size, shared.encrypt).ok_or(prov::INVALID_TAG)?;
                answered(p.data_type == param::OCTETS && p.set_octets(tag))
            }
            b"tlsivgen" => {
                if p.data.is_null() || p.data_type != param::OCTETS {
                    return Err(Refusal::Untold);
                }
                // A length of 0, or beyond the IV's, asks for all of it.
                let whole = session.iv_length();
                let size = if p.data_size == 0 { whole } else { p.data_size.min(whole) };
                // SAFETY: data has that room.
                let out = unsafe { abi::slice_mut(p.data.cast(), size) };
                session.generate_iv(out).then_some(()).ok_or(Refusal::Untold)
            }
            b"iv-generated" => p.set_u64(session.iv_is_random().into()).then_some(()).ok_or(Refusal::Untold),
            _ => Ok(()),
        }
    }
}

pub(super) static GCM128: [Dispatch; 15] = aead::table::<GcmCipherContext, 128>();
pub(super) static GCM192: [Dispatch; 15] = aead::table::<GcmCipherContext, 192>();
pub(super) static GCM256: [Dispatch; 15] = aead::table::<GcmCipherContext, 256>();
