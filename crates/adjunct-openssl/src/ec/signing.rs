//! The state of an ECDSA context, and its operations.

use super::dispatch::{Purpose, Signer, stock_begin, stock_copy, stock_get, stock_set, stock_sign, stock_verify};
use super::{ProviderEcKey, State};
use crate::abi::build::Builder;
use crate::abi::param::{self, OCTETS, Param, UNSIGNED, UTF8};
use crate::abi::reason::prov;
use crate::abi::{self, id};
use crate::fallback::{self, forward};
use crate::provider::Provider;
use adjunct::catalogue::{Direction, Function};
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::digest::{Digest, MAX_SIZE, Method};
use adjunct::ops::ec::{EcKey, MAX_SIGNATURE};
use std::ffi::{CStr, c_char, c_int, c_void};

/// A signing or verifying context.
pub(super) struct EcdsaContext {
    provider: &'static Provider,
    purpose: Option<Purpose>,
    key: Option<Shared<State>>,
    method: Option<&'static Method>,
    /// The length a digest to sign must have; 0 for any.
    digest_size: usize,
    digest: Option<Digest>,
    /// The size of the curve where the default provider has it.
    bits: usize,
    /// The default provider's context, which then does everything.
    delegated: Option<fallback::AlgorithmContext>,
}

impl Signer for EcdsaContext {
    const NAME: &'static CStr = c"ECDSA";
    const SIGN: Function = Function::EcdsaSign;
    const VERIFY: Function = Function::EcdsaVerify;
    const GETTABLE: &'static [Param] = &[
        Param::describe(c"algorithm-id", OCTETS, 0),
        Param::describe(c"digest-size", UNSIGNED, 8),
        Param::describe(c"digest", UTF8, 0),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::describe(c"digest", UTF8, 0),
        Param::describe(c"digest-size", UNSIGNED, 8),
        Param::describe(c"properties", UTF8, 0),
        Param::END,
    ];

    fn new(provider: &'static Provider) -> EcdsaContext {
        EcdsaContext {
            provider,
            purpose: None,
            key: None,
            method: None,
            digest_size: 0,
            digest: None,
            bits: 0,
            delegated: None,
        }
    }

    fn duplicate(&self) -> Option<EcdsaContext> {
        let delegated = stock_copy(self.delegated())?;
        let (key, digest) = (self.key.clone(), self.digest.clone());
        Some(EcdsaContext { key, digest, delegated, ..*self })
    }

    unsafe fn init(
        &mut self,
        purpose: Purpose,
        digest: *const c_char,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: the caller passes OpenSSL's pointers: a key of this module's key management or null, and a C string or null.
        let (key, name) =
            unsafe { (key.cast::<ProviderEcKey>().as_ref(), (!digest.is_null()).then(|| CStr::from_ptr(digest))) };
        match key {
            Some(key) => self.key = Some(key.state.clone()),
            None if self.key.is_none() => {
                self.provider.core.raise(prov::NO_KEY_SET);
                return 0;
            }
            None => {}
        }
        self.purpose = Some(purpose);
        (self.delegated, self.digest) = (None, None);
        let served = match self.key.as_deref() {
            Some(State::Native(_)) => true,
            Some(State::Delegated(key)) => purpose.signs() && key.signer(self.provider).is_some(),
            _ => false,
        };
        if !served {
            return c_int::from(self.delegate(name, params));
        }
        let streaming = purpose.is_digest();
        if streaming && name.is_some() {
            let Some(method) = name.and_then(|name| self.method_of(name.to_str().ok()?)) else {
                return c_int::from(self.delegate(name, params));
            };
            (self.method, self.digest_size) = (Some(method), method.size);
        }
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        if unsafe { self.set(params) } != 1 {
            return 0;
        }
        if streaming && self.delegated.is_none() {
            let Some(method) = self.method else { return c_int::from(self.delegate(None, params)) };
            self.digest = Some(Digest::new(method));
        }
        1
    }

    fn delegated(&self) -> Option<&fallback::AlgorithmContext> {
        self.delegated.as_ref()
    }

    fn bits(&self) -> usize {
        self.bits
    }

    /// Whether the default provider came to look at the signature: it does where it takes a digest of that length.
    fn looked(&self, _signature: usize, length: usize) -> bool {
        let Some(context) = &self.delegated else { return false };
        let mut size = 0usize;
        let mut request = [Param::describe(c"digest-size", param::UNSIGNED, size_of::<usize>()), Param::END];
        request[0].data = (&raw mut size).cast();
        stock_get(context, request.as_mut_ptr());
        size == 0 || size == length
    }

    unsafe fn sign(&self, out: *mut u8, length: *mut usize, size: usize, digest: &[u8]) -> c_int {
        let group = match self.key.as_deref() {
            Some(State::Native(native)) => native.curve.group(),
            _ => match self.key() {
                Some(key) => key.group(),
                None => return 0,
            },
        };
        let longest = group.max_signature();
        if out.is_null() {
            // SAFETY: the caller passes a valid place for the length.
            unsafe { *length = longest };
            return 1;
        }
        let fits = size >= longest && (self.digest_size == 0 || self.digest_size == digest.len());
        let mut signature = [0; MAX_SIGNATURE];
        let key = self.key().filter(|_| fits);
        let signed = key.map(|key| key.sign(digest, &mut signature));
        if let Some(Err(error)) = &signed
            && self.provider.is_final(error)
        {
            return 0;
        }
        let Some(Ok(signature)) = signed else {
            let Some(context) = self.judge() else { return 0 };
            let done = stock_sign(&context, id::SIGNATURE_SIGN, (out, length, size), (digest.as_ptr(), digest.len()));
            if done == 1 {
                ops::Delegated::new(Function::EcdsaSign, group.bits()).done(Direction::Encrypt, 0);
            }
            return done;
        };
        // SAFETY: `out` is not null, so by the caller's word it has room for `size` bytes, at least the longest signature; `length` is a valid place.
        unsafe {
            abi::slice_mut(out, signature.len()).copy_from_slice(signature);
            *length = signature.len();
        }
        1
    }

    fn verify(&self, signature: &[u8], digest: &[u8]) -> c_int {
        let fits = self.digest_size == 0 || self.digest_size == digest.len();
        let verified = self.key().filter(|_| fits).map(|key| key.verify(digest, signature));
        if verified == Some(Ok(true)) {
            return 1;
        }
        // Whether that is an error, and which, or only a signature that does not fit, OpenSSL says.
        let Some(context) = self.judge() else { return 0 };
        let (signature, digest) = ((signature.as_ptr(), signature.len()), (digest.as_ptr(), digest.len()));
        let done = stock_verify(&context, id::SIGNATURE_VERIFY, signature, digest);
        if let (Some(Err(_)), Some(key), 0..) = (verified, self.key(), done) {
            ops::Delegated::new(Function::EcdsaVerify, key.group().bits()).done(Direction::Encrypt, 0);
        }
        done
    }

    unsafe fn set(&mut self, params: *const Param) -> c_int {
        // A digest name stays as it is while its data passes through.
        let fixed = self.purpose.is_some_and(Purpose::is_digest) && self.method.is_some();
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            match p.name().to_bytes() {
                b"digest" => match p.get_str().and_then(|name| self.method_of(name)) {
                    Some(method) if !fixed || self.method.is_some_and(|m| std::ptr::eq(m, method)) => {
                        (self.method, self.digest_size) = (Some(method), method.size);
                    }
                    _ => return self.move_away(params),
                },
                b"digest-size" => match p.get_usize() {
                    Some(size) if !fixed || size == self.digest_size => self.digest_size = size,
                    _ => return self.move_away(params),
                },
                // Deterministic nonces (OpenSSL 3.2): AWS-LC has only random ones.
                b"nonce-type" if p.get_u64() != Some(0) => return self.move_away(params),
                _ => {}
            }
        }
        1
    }

    unsafe fn answer(&self, params: *mut Param) -> c_int {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                // As OpenSSL: where there is none, that is an error.
                b"algorithm-id" => match self.method.map_or(&[][..], algorithm_id) {
                    [] => false,
                    id => p.set_octets(id),
                },
                b"digest-size" => p.set_usize(self.digest_size),
                b"nonce-type" => p.set_usize(0),
                b"digest" => p.set_utf8(self.method.map_or("", |m| m.name).as_bytes()),
                _ => true,
            };
            if !done {
                // What cannot be answered is an error of OpenSSL's.
                let Some(context) = self.purpose.and_then(|purpose| self.judge_as(purpose)) else { return 0 };
                return stock_get(&context, params);
            }
        }
        1
    }
}

impl EcdsaContext {
    /// The method of a digest OpenSSL names, where ECDSA takes it here: no extendable-output function, and none that an engine
    /// replaces.
    fn method_of(&self, name: &str) -> Option<&'static Method> {
        let method = Method::from_name(name)?;
        (!method.xof && !self.provider.engines.replace_digest(method.nid)).then_some(method)
    }

    /// Hands the context to the default provider, set up again as it was here.
    fn delegate(&mut self, name: Option<&CStr>, params: *const Param) -> bool {
        let Some(purpose) = self.purpose else { return false };
        let Some((context, bits)) = self.stock(purpose, name, params) else { return false };
        (self.bits, self.delegated) = (bits, Some(context));
        true
    }

    /// The default provider's context for this operation, and the size of the curve.
    fn stock(
        &self,
        purpose: Purpose,
        name: Option<&CStr>,
        params: *const Param,
    ) -> Option<(fallback::AlgorithmContext, usize)> {
        // SAFETY: the array is OpenSSL's, or null.
        unsafe { self.provider.adopt_digests(name, params) };
        let algorithm = self.provider.fallback()?.algorithm(id::OP_SIGNATURE, EcdsaContext::NAME)?;
        let key = self.key.as_ref()?.delegated(self.provider)?;
        let context = stock_begin(algorithm, purpose, name, key.object.raw(), params)?;
        Some((context, key.bits))
    }

    /// The default provider's context with what has been set here: what is refused is refused by it, with its errors. Where data
    /// has passed here, it is one for a digest: from 3.4 on, one that digests takes what is signed by it for the message.
    fn judge(&self) -> Option<fallback::AlgorithmContext> {
        self.judge_as(match self.purpose? {
            Purpose::Sign | Purpose::DigestSign | Purpose::SignMessage => Purpose::Sign,
            Purpose::Verify | Purpose::DigestVerify | Purpose::VerifyMessage => Purpose::Verify,
        })
    }

    fn judge_as(&self, purpose: Purpose) -> Option<fallback::AlgorithmContext> {
        let mut builder = Builder::default();
        let mut buffer = [0; ROOM];
        let name = self.method.map(|method| terminated(method.name, &mut buffer));
        let streams = purpose.is_digest();
        if let Some(name) = name.filter(|_| !streams) {
            builder.utf8(c"digest", name);
        } else if !streams && self.digest_size != 0 {
            builder.number(c"digest-size", &self.digest_size.to_be_bytes());
        }
        self.stock(purpose, name.filter(|_| streams), builder.finish()?).map(|(context, _)| context)
    }

    fn move_away(&mut self, params: *const Param) -> c_int {
        let Some(context) = self.purpose.and_then(|purpose| self.judge_as(purpose)) else { return 0 };
        // SAFETY: the array is OpenSSL's.
        unsafe { self.provider.adopt_digests(None, params) };
        let done = stock_set(&context, params);
        if done != 1 {
            return done;
        }
        if self.digest.as_ref().is_some_and(|digest| !digest.is_empty()) {
            // What has passed cannot be moved.
            return 0;
        }
        let bits = self.key.as_ref().and_then(|key| key.delegated(self.provider)).map_or(0, |key| key.bits);
        (self.bits, self.delegated) = (bits, Some(context));
        1
    }

    fn key(&self) -> Option<&EcKey> {
        match self.key.as_deref() {
            Some(State::Native(native)) => native.key.as_ref(),
            Some(State::Delegated(key)) => key.signer(self.provider),
            _ => None,
        }
    }

    /// The result of verifying an empty signature of the data that has passed, which OpenSSL never accepts.
    pub(super) fn verify_nothing(&self) -> c_int {
        let Some(context) = self.purpose.and_then(|purpose| self.judge_as(purpose)) else { return 0 };
        let (algorithm, raw, none) = (context.algorithm(), context.raw(), [0u8; 1]);
        let signature = none.as_ptr();
        forward!(
            algorithm,
            id::SIGNATURE_DIGEST_VERIFY_FINAL,
            fn(*mut c_void, *const u8, usize) -> c_int,
            0,
            (raw, signature, 0)
        )
    }

    pub(super) fn update(&mut self, data: &[u8]) -> bool {
        self.digest.as_mut().map(|digest| digest.update(data)).is_some()
    }

    /// The digest of the data that has passed; more may pass after it.
    pub(super) fn finish<'a>(&self, out: &'a mut [u8; MAX_SIZE]) -> Option<&'a [u8]> {
        let mut digest = self.digest.as_ref()?.clone();
        digest.finish(out);
        Some(&out[..digest.method().size])
    }
}

/// Room for the name of a digest that adjunct computes.
const ROOM: usize = 32;

/// `name` as a string of C's.
fn terminated<'a>(name: &str, buffer: &'a mut [u8; ROOM]) -> &'a CStr {
    let length = name.len().min(ROOM - 1);
    buffer[..length].copy_from_slice(&name.as_bytes()[..length]);
    CStr::from_bytes_until_nul(buffer).unwrap_or(c"")
}

/// The DER AlgorithmIdentifier of ECDSA with a digest (RFC 5758, and NIST's for SHA-3); empty where none is registered.
fn algorithm_id(method: &'static Method) -> &'static [u8] {
    // SEQUENCE { OID ecdsa-with-SHA1 / -SHA2 (ansi-X9-62 4 ...) } and SEQUENCE { OID sigAlgs 9..12 }.
    match method.function {
        Function::Sha1 => b"\x30\x09\x06\x07\x2a\x86\x48\xce\x3d\x04\x01",
        Function::Sha224 => b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x01",
        Function::Sha256 => b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02",
        Function::Sha384 => b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x03",
        Function::Sha512 => b"\x30\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x04",
        Function::Sha3_224 => b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x09",
        Function::Sha3_256 => b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x0a",
        Function::Sha3_384 => b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x0b",
        Function::Sha3_512 => b"\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x03\x0c",
        _ => &[],
    }
}
