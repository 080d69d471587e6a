//! AES-GCM: as a stream, one-shot as OpenSSH uses it, and TLS 1.2 records (SP 800-38D, RFC 5288).

use super::aead::{
    self, Aead, DEFAULT_IV, EXPLICIT_IV, FIXED_IV, Refusal, Shared, TLS_AAD, answered, octets, same_tag,
};
use super::state::mode;
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Dispatch};
use adjunct::InOut;
use adjunct::awslc::cipher_gcm::{Gcm, TAG};
use adjunct::catalogue::Function;
use adjunct::route::Tally;
use zeroize::Zeroize;

const MAX_IV: usize = 128;

/// What the IV in the context is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IvState {
    /// None yet.
    Unset,
    /// Set, and the cipher not yet told.
    Buffered,
    /// In use by the cipher.
    Copied,
    /// Its message is over: it must not be used again.
    Finished,
}

#[derive(Clone)]
struct Context {
    gcm: Gcm,
    shared: Shared,
    iv_state: IvState,
    iv_generator: bool,
    iv_random: bool,
    iv_len: usize,
    tag_len: Option<usize>,
    /// The tag computed or to be compared.
    tag: [u8; TAG],
    tls_records: u64,
    iv: [u8; MAX_IV],
}

impl Drop for Context {
    fn drop(&mut self) {
        self.iv.zeroize();
        self.tag.zeroize();
    }
}

impl Context {
    /// Tells the cipher its IV.
    #[inline]
    fn start(&mut self) {
        self.gcm.set_iv(&self.iv[..self.iv_len]);
        self.iv_state = IvState::Copied;
    }

    #[inline]
    fn crypt(&mut self, io: InOut<'_>) -> bool {
        let done = if self.shared.encrypt { self.gcm.encrypt(io) } else { self.gcm.decrypt(io) };
        done.is_ok()
    }

    /// Ends the message: the tag goes to `self.tag`, or what is there (or `expected`) is compared.
    // Copies of it in update and final cost short messages more than the calls do.
    #[inline(never)]
    fn close(&mut self, expected: Option<[u8; TAG]>) -> bool {
        let tag = self.gcm.tag();
        if self.shared.encrypt {
            self.tag = tag;
            self.tag_len = Some(TAG);
            return true;
        }
        let length = if expected.is_some() { TAG } else { self.tag_len.unwrap_or(0) };
        same_tag(&tag, &expected.unwrap_or(self.tag), length)
    }

    /// Makes a random IV (SP 800-38D 8.2.2): at least 96 bits of it.
    fn random_iv(&mut self) -> bool {
        if !self.shared.encrypt || self.iv_len < DEFAULT_IV {
            return false;
        }
        adjunct::awslc::random(&mut self.iv[..self.iv_len]);
        self.iv_state = IvState::Buffered;
        self.iv_random = true;
        true
    }

    /// Uses the IV, gives out its last bytes and counts its invocation field up.
    fn generate_iv(&mut self, out: &mut [u8]) -> bool {
        if !self.iv_generator || !self.gcm.has_key() || self.iv_len < EXPLICIT_IV {
            return false;
        }
        self.start();
        let iv = &mut self.iv[..self.iv_len];
        let length = if out.is_empty() { iv.len() } else { out.len().min(iv.len()) };
        if !out.is_empty() {
            out[..length].copy_from_slice(&iv[iv.len() - length..]);
        }
        let Some(field) = iv.last_chunk_mut::<EXPLICIT_IV>() else { return false };
        *field = u64::from_be_bytes(*field).wrapping_add(1).to_be_bytes();
        true
    }

    /// Uses the IV with the last bytes the peer sent.
    fn received_iv(&mut self, invocation: &[u8]) -> bool {
        if !self.iv_generator || !self.gcm.has_key() || self.shared.encrypt || invocation.len() > self.iv_len {
            return false;
        }
        self.iv[self.iv_len - invocation.len()..self.iv_len].copy_from_slice(invocation);
        self.start();
        true
    }

    /// Sets the part of the IV that stays for a connection.
    fn fixed_iv(&mut self, fixed: &[u8]) -> bool {
        let whole = fixed.len() == self.iv_len;
        if !whole && (fixed.len() < FIXED_IV || fixed.len() + EXPLICIT_IV > self.iv_len) {
            return false;
        }
        self.iv[..fixed.len()].copy_from_slice(fixed);
        if !whole && self.shared.encrypt {
            adjunct::awslc::random(&mut self.iv[fixed.len()..self.iv_len]);
            self.iv_random = true;
        }
        self.iv_generator = true;
        self.iv_state = IvState::Buffered;
        true
    }

    /// One TLS record in place: explicit IV, payload, tag. Gives the length of the result.
    fn tls_record(&mut self, aad: [u8; TLS_AAD], record: &mut [u8]) -> Option<usize> {
        if !self.gcm.has_key() || record.len() < EXPLICIT_IV + TAG {
            return None;
        }
        let length = record.len();
        let (explicit, rest) = record.split_at_mut(EXPLICIT_IV);
        let (payload, tag) = rest.split_at_mut(length - EXPLICIT_IV - TAG);
        if self.shared.encrypt {
            self.tls_records = self.tls_records.checked_add(1)?;
            if !self.generate_iv(explicit) {
                return None;
            }
        } else if !self.received_iv(explicit) {
            return None;
        }
        let bytes = payload.len();
        if self.gcm.aad(&aad).is_err() || !self.crypt(InOut::in_place(payload)) {
            return None;
        }
        self.shared.count(bytes);
        let expected: [u8; TAG] = (&*tag).try_into().ok()?;
        if !self.close(Some(expected)) {
            // What does not authenticate must not be seen.
            payload.zeroize();
            return None;
        }
        self.tag_len = Some(TAG);
        if self.shared.encrypt {
            tag.copy_from_slice(&self.tag);
            return Some(length);
        }
        Some(bytes)
    }

    fn set_tag(&mut self, tag: &[u8]) -> Result<(), Reason> {
        if tag.len() > TAG {
            return Err(prov::FAILED_TO_GET_PARAMETER);
        }
        self.tag[..tag.len()].copy_from_slice(tag);
        if tag.is_empty() || self.shared.encrypt {
            return Err(prov::INVALID_TAG);
        }
        self.tag_len = Some(tag.len());
        Ok(())
    }
}

impl Aead for Context {
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

    fn tally(bits: usize) -> Tally {
        Tally::new(Function::AesGcm, bits)
    }

    fn new(shared: Shared) -> Context {
        Context {
            gcm: Gcm::default(),
            shared,
            iv_state: IvState::Unset,
            iv_generator: false,
            iv_random: false,
            iv_len: DEFAULT_IV,
            tag_len: None,
            tag: [0; TAG],
            tls_records: 0,
            iv: [0; MAX_IV],
        }
    }

    #[inline]
    fn shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    fn set_iv(&mut self, iv: &[u8]) -> Result<(), Reason> {
        if iv.is_empty() || iv.len() > MAX_IV {
            return Err(prov::INVALID_IV_LENGTH);
        }
        self.iv_len = iv.len();
        self.iv[..iv.len()].copy_from_slice(iv);
        self.iv_random = false;
        self.iv_state = IvState::Buffered;
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<(), Reason> {
        if key.len() != self.shared.key_len || self.gcm.set_key(key).is_err() {
            return Err(prov::INVALID_KEY_LENGTH);
        }
        self.tls_records = 0;
        // A message begun under the old key cannot go on under the new one.
        if self.iv_state == IvState::Copied {
            self.iv_state = IvState::Buffered;
        }
        Ok(())
    }

    #[inline]
    unsafe fn process(&mut self, out: *mut u8, input: *const u8, len: usize) -> Option<usize> {
        if let Some(aad) = self.shared.tls_aad {
            self.shared.tls_aad = None;
            let done = if out.cast_const() == input && !out.is_null() {
                // SAFETY: see above; input and output are the same.
                self.tls_record(aad, unsafe { abi::slice_mut(out, len) })
            } else {
                None
            };
            self.iv_state = IvState::Finished;
            return done;
        }
        if !self.gcm.has_key() {
            return None;
        }
        if self.iv_state == IvState::Unset && !self.random_iv() {
            return None;
        }
        match self.iv_state {
            IvState::Copied => {}
            IvState::Buffered => self.start(),
            IvState::Unset | IvState::Finished => return None,
        }
        if input.is_null() {
            if !self.shared.encrypt && self.tag_len.is_none() {
                return None;
            }
            if !self.close(None) {
                return None;
            }
            self.iv_state = IvState::Finished;
            return Some(0);
        }
        if out.is_null() {
            // SAFETY: see above.
            return self.gcm.aad(unsafe { abi::slice(input, len) }).ok().map(|()| len);
        }
        // SAFETY: see above.
        if !self.crypt(unsafe { InOut::from_raw(input, out, len) }) {
            return None;
        }
        self.shared.count(len);
        Some(len)
    }

    fn tls_header(&mut self, aad: [u8; TLS_AAD]) -> Option<usize> {
        self.shared.tls_header(aad, TAG)
    }

    fn iv_len(&self) -> usize {
        self.iv_len
    }

    fn tag_len(&self) -> usize {
        self.tag_len.unwrap_or(TAG)
    }

    fn set_param(&mut self, name: &[u8], p: &Param) -> Result<(), Refusal> {
        match name {
            b"ivlen" => {
                let length = p.get_usize().ok_or(prov::FAILED_TO_GET_PARAMETER)?;
                if length == 0 || length > MAX_IV {
                    return Err(prov::INVALID_IV_LENGTH.into());
                }
                if length != self.iv_len {
                    // An IV already there was made for another length.
                    if self.iv_state != IvState::Unset {
                        self.iv_state = IvState::Finished;
                    }
                    self.iv_len = length;
                }
            }
            b"tag" => self.set_tag(octets(p).ok_or(prov::FAILED_TO_GET_PARAMETER)?)?,
            // EVP_CTRL_GCM_SET_IV_FIXED with a length of -1 sets the whole IV; the array then has no length of its own.
            b"tlsivfixed" if p.data_type == param::OCTETS && p.data_size == usize::MAX => {
                // SAFETY: by the rule of that control call the data is as long as the IV.
                let given = unsafe { abi::slice(p.data.cast(), self.iv_len) };
                // Apart from the context, which it may lie in.
                let mut iv = [0; MAX_IV];
                iv[..given.len()].copy_from_slice(given);
                self.fixed_iv(&iv[..given.len()]).then_some(()).ok_or(prov::FAILED_TO_GET_PARAMETER)?;
            }
            b"tlsivfixed" => {
                let fixed =
                    octets(p).filter(|fixed| fixed.len() != self.iv_len).ok_or(prov::FAILED_TO_GET_PARAMETER)?;
                self.fixed_iv(fixed).then_some(()).ok_or(prov::FAILED_TO_GET_PARAMETER)?;
            }
            b"tlsivinv" => octets(p).is_some_and(|o| self.received_iv(o)).then_some(()).ok_or(Refusal::Untold)?,
            _ => {}
        }
        Ok(())
    }

    fn get_param(&mut self, p: &mut Param) -> Result<(), Refusal> {
        match p.name().to_bytes() {
            b"iv" | b"updated-iv" => {
                if self.iv_state == IvState::Unset {
                    return Err(Refusal::Untold);
                }
                if p.data_size < self.iv_len {
                    return Err(prov::INVALID_IV_LENGTH.into());
                }
                answered(p.set_octets(&self.iv[..self.iv_len]))
            }
            b"tag" => {
                let size = p.data_size;
                if size == 0 || size > TAG || !self.shared.encrypt || self.tag_len.is_none() {
                    return Err(prov::INVALID_TAG.into());
                }
                answered(p.data_type == param::OCTETS && p.set_octets(&self.tag[..size]))
            }
            b"tlsivgen" => {
                if p.data.is_null() || p.data_type != param::OCTETS {
                    return Err(Refusal::Untold);
                }
                // A length of 0, or beyond the IV's, asks for all of it.
                let size = if p.data_size == 0 { self.iv_len } else { p.data_size.min(self.iv_len) };
                // SAFETY: data has that room.
                let out = unsafe { abi::slice_mut(p.data.cast(), size) };
                self.generate_iv(out).then_some(()).ok_or(Refusal::Untold)
            }
            b"iv-generated" => p.set_u64(self.iv_random.into()).then_some(()).ok_or(Refusal::Untold),
            _ => Ok(()),
        }
    }
}

pub(super) static GCM128: [Dispatch; 15] = aead::table::<Context, 128>();
pub(super) static GCM192: [Dispatch; 15] = aead::table::<Context, 192>();
pub(super) static GCM256: [Dispatch; 15] = aead::table::<Context, 256>();
