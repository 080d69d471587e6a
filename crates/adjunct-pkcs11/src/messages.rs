//! Many messages with one key: encrypted and decrypted by mechanisms that authenticate, and signed and checked.
//!
//! A message that fails ends alone: those that follow go on, until C_MessageEncryptFinal and its like.

use crate::session::authentication::Pin;
use adjunct::InOut;
use adjunct_mechanisms::mechanism::aead::{self, AeadKind, Keyed};
use adjunct_mechanisms::mechanism::iv::Generator;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::mechanism::{Mechanism, registry};
use adjunct_mechanisms::object::Held;
use adjunct_mechanisms::operation::{Cipher, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// The parameter of a message: a nonce that is read or made, and a tag that is read or written.
#[derive(Debug)]
pub struct Parameter<'a> {
    pub nonce: &'a mut [u8],
    /// The bits of the nonce that stay when one is made.
    pub fixed: CK_ULONG,
    pub generator: CK_GENERATOR_FUNCTION,
    pub tag: &'a mut [u8],
}

/// A message in parts.
struct Begun {
    cipher: Box<dyn Cipher>,
    tag: usize,
    /// Bytes of text that have come; and (`given`) those that have been given out.
    taken: usize,
    given: usize,
}

/// Messages that are encrypted, or decrypted, with one key.
pub struct Ciphering {
    kind: AeadKind,
    keyed: Keyed,
    encrypt: bool,
    generator: Generator,
    begun: Option<Begun>,
    /// Whether the user is to give the PIN once more before the next message.
    pub pin: Pin,
}

impl Ciphering {
    /// # Errors
    /// `CKR_MECHANISM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
    pub fn new(mechanism: CK_MECHANISM_TYPE, key: Held, encrypt: bool) -> Result<Ciphering> {
        let kind = AeadKind::of(registry::find_or_unknown(mechanism))?;
        let (pin, keyed) = (Pin::of(&key), Keyed::new(kind, key)?);
        Ok(Ciphering { kind, keyed, encrypt, generator: Generator::default(), begun: None, pin })
    }

    /// The cipher, by which parameters are read.
    pub fn kind(&self) -> AeadKind {
        self.kind
    }

    /// Checks a parameter, and makes the nonce of a message to encrypt.
    fn nonce(&mut self, parameter: &mut Parameter<'_>) -> Result {
        self.kind.check(parameter.nonce, parameter.tag.len() as u64)?;
        if self.encrypt { self.generator.next(parameter.generator, parameter.nonce, parameter.fixed) } else { Ok(()) }
    }

    /// A whole message, into `out`, which is as long.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` within a message in parts, `CKR_AEAD_DECRYPT_FAILED`, and those of the mechanism.
    pub fn message(&mut self, mut parameter: Parameter<'_>, aad: &[u8], text: &[u8], out: &mut [u8]) -> Result {
        self.pin.was_given()?;
        ensure(self.begun.is_none(), CKR_OPERATION_ACTIVE)?;
        self.nonce(&mut parameter)?;
        self.pin = Pin::of(self.keyed.key());
        let Parameter { nonce, tag, .. } = parameter;
        if self.encrypt {
            let made = self.keyed.run(true, nonce, aad, tag.len(), InOut::apart(text, out))?;
            tag.copy_from_slice(&made[..tag.len()]);
            return Ok(());
        }
        self.keyed.open(nonce, aad, tag, text, out).map_err(failed)
    }

    /// Begins a message in parts.
    ///
    /// # Errors
    /// As [`Ciphering::message`].
    pub fn begin(&mut self, mut parameter: Parameter<'_>, aad: &[u8]) -> Result {
        self.pin.was_given()?;
        ensure(self.begun.is_none(), CKR_OPERATION_ACTIVE)?;
        self.nonce(&mut parameter)?;
        self.pin = Pin::of(self.keyed.key());
        let (nonce, tag) = (&*parameter.nonce, parameter.tag.len());
        let params = match self.kind {
            AeadKind::Gcm => Params::Gcm { iv: nonce, aad, tag_bits: 8 * tag as u64 },
            AeadKind::Ccm => Params::Ccm { data: 0, nonce, aad, mac: tag as u64 },
            AeadKind::ChaChaPoly => Params::ChaChaPoly { nonce, aad },
        };
        let cipher = aead::begin(self.kind, &params, self.keyed.key().clone(), self.encrypt)?;
        self.begun = Some(Begun { cipher, tag, taken: 0, given: 0 });
        Ok(())
    }

    /// How many bytes a part of a message gives, the last where `end`.
    ///
    /// # Errors
    /// `CKR_OPERATION_NOT_INITIALIZED` where none is begun.
    pub fn part_length(&self, part: usize, end: bool) -> Result<usize> {
        let begun = self.begun.as_ref().ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))?;
        Ok(if end { begun.taken + part - begun.given } else { begun.cipher.update_length(part) })
    }

    /// A part of a message, into `out` of [`Ciphering::part_length`] bytes; the last comes with the parameter.
    ///
    /// # Errors
    /// As [`Ciphering::message`]; the message has ended then.
    pub fn part(&mut self, part: &[u8], end: Option<Parameter<'_>>, out: &mut [u8]) -> Result<usize> {
        let mut begun = self.begun.take().ok_or(Rv(CKR_OPERATION_NOT_INITIALIZED))?;
        let Some(Parameter { tag, .. }) = end else {
            let given = begun.cipher.update(part, out)?;
            begun.taken += part.len();
            begun.given += given;
            self.begun = Some(begun);
            return Ok(given);
        };
        ensure(tag.len() == begun.tag, CKR_MECHANISM_PARAM_INVALID)?;
        if !self.encrypt {
            begun.cipher.update(part, &mut [])?;
            begun.cipher.update(tag, &mut [])?;
            return begun.cipher.finish(out).map_err(failed);
        }
        let now = begun.cipher.update_length(part.len());
        let (first, rest) = out.split_at_mut_checked(now).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        begun.cipher.update(part, first)?;
        let mut last = adjunct::memory::zeros(begun.cipher.final_length())?;
        begun.cipher.finish(&mut last)?;
        let (text, made) = last.split_at_checked(rest.len()).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        ensure(made.len() == tag.len(), CKR_FUNCTION_FAILED)?;
        rest.copy_from_slice(text);
        tag.copy_from_slice(made);
        Ok(out.len())
    }

    /// Whether no message is begun.
    pub fn is_between(&self) -> bool {
        self.begun.is_none()
    }
}

/// What is said of a message whose tag is wrong.
fn failed(error: Rv) -> Rv {
    match error {
        Rv(CKR_ENCRYPTED_DATA_INVALID) => Rv(CKR_AEAD_DECRYPT_FAILED),
        error => error,
    }
}

/// Messages that are signed, or checked, with one key: each by an operation of its own, `O`.
pub struct Signing<O: ?Sized> {
    mechanism: Mechanism<'static>,
    key: Held,
    make: fn(Mechanism<'_>, Held) -> Result<Box<O>>,
    /// The message in parts.
    begun: Option<Box<O>>,
    /// Whether the user is to give the PIN once more before the next message.
    pub pin: Pin,
}

impl<O: ?Sized> Signing<O> {
    fn new(mechanism: Mechanism<'_>, key: Held, make: fn(Mechanism<'_>, Held) -> Result<Box<O>>) -> Result<Signing<O>> {
        // What cannot be begun is said now.
        make(mechanism, key.clone())?;
        let params = mechanism.params.detached().ok_or(Rv(CKR_MECHANISM_PARAM_INVALID))?;
        let pin = Pin::of(&key);
        Ok(Signing { mechanism: Mechanism { params, ..mechanism }, key, make, begun: None, pin })
    }

    /// Begins a message in parts.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` within another; `CKR_USER_NOT_LOGGED_IN` where the PIN was not given.
    pub fn begin(&mut self) -> Result {
        self.pin.was_given()?;
        ensure(self.begun.is_none(), CKR_OPERATION_ACTIVE)?;
        self.begun = Some((self.make)(self.mechanism, self.key.clone())?);
        self.spend();
        Ok(())
    }

    /// Notes that a message has begun for which the PIN was given: the next one needs it again.
    pub fn spend(&mut self) {
        self.pin = Pin::of(&self.key);
    }

    /// The message in parts; `None` where none is begun.
    pub fn begun(&mut self) -> Option<Box<O>> {
        self.begun.take()
    }

    /// Goes on with a message that [`Signing::begun`] gave.
    pub fn go_on(&mut self, message: Box<O>) {
        self.begun = Some(message);
    }

    /// An operation for a message at once; the caller calls [`Signing::spend`] before it works.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE` within a message in parts; `CKR_USER_NOT_LOGGED_IN` where the PIN was not given.
    pub fn once(&self) -> Result<Box<O>> {
        self.pin.was_given()?;
        if self.begun.is_some() { fail(CKR_OPERATION_ACTIVE) } else { (self.make)(self.mechanism, self.key.clone()) }
    }

    /// Whether no message is begun.
    pub fn is_between(&self) -> bool {
        self.begun.is_none()
    }
}

impl Signing<dyn Signer> {
    /// # Errors
    /// Those of the mechanism.
    pub fn signs(mechanism: Mechanism<'_>, key: Held) -> Result<Signing<dyn Signer>> {
        Signing::new(mechanism, key, |mechanism, key| mechanism.signer(key))
    }
}

impl Signing<dyn Verifier> {
    /// # Errors
    /// Those of the mechanism.
    pub fn verifies(mechanism: Mechanism<'_>, key: Held) -> Result<Signing<dyn Verifier>> {
        Signing::new(mechanism, key, |mechanism, key| mechanism.verifier(key))
    }
}

/// A copy of a text whose result is about to be written over it.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn copied(input: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let mut copy = Zeroizing::new(Vec::new());
    copy.try_reserve_exact(input.len())?;
    copy.extend_from_slice(input);
    Ok(copy)
}
