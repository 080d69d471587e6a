//! RSA: the context of a signature: its key, padding, digests and salt, the parameters that change them, and the operation of OpenSSL's default
//! provider that takes its place once something was set that adjunct does not serve.

use super::key::{Material, Named, integer, text};
use super::keymgmt::object;
use super::{identifier, padding};
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::fallback::{Operation, OperationKind};
use crate::provider::Provider;
use adjunct::memory::Shared;
use adjunct::ops::rsa::{MessageDigest, Method, Salt, Signature, pss_max_salt};
use std::ffi::{CStr, c_int, c_void};

/// `RSA_PSS_SALTLEN_*` of rsa.h; other values are lengths.
pub(super) mod salt {
    pub const DIGEST: i64 = -1;
    pub const AUTO: i64 = -2;
    pub const MAX: i64 = -3;
    pub const AUTO_DIGEST_MAX: i64 = -4;
}

/// A signature context.
pub(super) struct RsaSignatureContext {
    pub provider: *const Provider,
    pub key: Option<Shared<Material>>,
    pub kind: OperationKind,
    pub padding: i64,
    pub digest: Option<Named>,
    pub mgf1: Option<Named>,
    pub salt: i64,
    /// The running digest of a digest_sign or digest_verify, during which the digest must not be changed.
    pub hasher: Option<MessageDigest>,
    pub fixed: bool,
    /// The default provider's context, once something was set that is not for us; all but `hasher` is its then.
    pub delegated: Option<Operation>,
}

/// Why parameters are not taken here: the default provider decides, with its own errors.
struct NotOurs;

/// The settings made by parameters.
struct Plan {
    padding: i64,
    salt: i64,
    digest: Option<Named>,
    mgf1: Option<Named>,
}

impl RsaSignatureContext {
    pub fn provider(&self) -> &Provider {
        // SAFETY: OpenSSL keeps a provider as long as its contexts live.
        unsafe { &*self.provider }
    }

    /// The digest, if PSS can be computed with it.
    pub fn method(&self) -> Option<&'static Method> {
        self.digest.as_ref()?.method()
    }

    /// MGF1's digest: the digest unless another was set.
    pub fn mgf1_method(&self) -> Option<&'static Method> {
        self.mgf1.as_ref().or(self.digest.as_ref())?.method()
    }

    /// The salt to make or to expect; `None` for a key too small for any.
    pub fn salt(&self) -> Option<Salt> {
        let bits = self.key.as_ref()?.bits();
        let hash = self.method()?.size;
        let verify = self.kind.verifies();
        let most = pss_max_salt(bits, hash);
        Some(match self.salt {
            salt::DIGEST => Salt::Bytes(hash),
            salt::AUTO => Salt::Auto,
            salt::MAX if verify => Salt::Bytes(most?),
            salt::MAX => Salt::Auto,
            salt::AUTO_DIGEST_MAX if verify => Salt::Auto,
            salt::AUTO_DIGEST_MAX => Salt::Bytes(most?.min(hash)),
            length => Salt::Bytes(length as usize),
        })
    }

    /// The scheme of the signature, if adjunct computes it.
    pub fn scheme(&self) -> Option<Signature> {
        Some(match self.padding {
            padding::PKCS1 => Signature::Pkcs1(self.digest.as_ref().map(|named| named.hash)),
            padding::NONE => Signature::Raw,
            padding::PSS => Signature::Pss { hash: self.method()?, mgf1: self.mgf1_method()?, salt: self.salt()? },
            _ => return None,
        })
    }

    /// Makes the operation in the default provider, with all that has been set; where data has been hashed here, an operation on its digest.
    pub fn delegate(&self) -> Option<Operation> {
        let kind = match self.kind {
            // From 3.4 on, a context that digests takes what is signed by it for the message.
            OperationKind::DigestSign if self.hasher.is_some() => OperationKind::Sign,
            OperationKind::DigestVerify if self.hasher.is_some() => OperationKind::Verify,
            kind => kind,
        };
        self.delegate_as(kind)
    }

    pub fn delegate_as(&self, kind: OperationKind) -> Option<Operation> {
        let mut mode = self.padding as c_int;
        let mut length = self.salt as c_int;
        let mut params = [const { Param::END }; 5];
        let mut used = 0;
        let mut push = |param| {
            params[used] = param;
            used += 1;
        };
        push(integer(c"pad-mode", &mut mode));
        if let Some(digest) = self.digest.as_ref().filter(|_| !kind.is_digest()) {
            push(text(c"digest", digest.name()));
        }
        if self.padding == padding::PSS {
            push(integer(c"saltlen", &mut length));
            if let Some(mgf1) = &self.mgf1 {
                push(text(c"mgf1-digest", mgf1.name()));
            }
        }
        let digest = self.digest.as_ref().map(Named::name);
        // SAFETY: the array ends and lives through the call.
        let begun = unsafe { self.delegate_with(kind, digest, params.as_ptr()) };
        begun.filter(|(_, done)| *done == 1).map(|(operation, _)| operation)
    }

    /// An operation in the default provider with `params` alone, and what its set-up gave.
    ///
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn delegate_with(
        &self,
        kind: OperationKind,
        digest: Option<&CStr>,
        params: *const Param,
    ) -> Option<(Operation, c_int)> {
        let provider = self.provider();
        let key = self.key.as_ref()?.foreign(provider)?;
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        unsafe {
            provider.adopt_digests(digest, params);
            Operation::begin(key, c"RSA", kind, digest, params)
        }
    }

    /// # Safety
    /// `key` is null or a key of ours; `params` is a parameter array; `digest` is for kinds that have one.
    pub unsafe fn init(
        &mut self,
        digest: Option<&CStr>,
        key: *const c_void,
        kind: OperationKind,
        params: *const Param,
    ) -> bool {
        // SAFETY: the caller passes null or a key of this module's key management that has not been freed.
        if let Some(key) = unsafe { object(key) } {
            self.key = key.material.clone();
        }
        let Some(key) = &self.key else {
            self.provider().core.raise(prov::NO_KEY_SET);
            return false;
        };
        let ours = key.key().is_some();
        self.kind = kind;
        self.padding = padding::PKCS1;
        self.salt = default_salt(self.provider());
        (self.fixed, self.hasher, self.delegated) = (false, None, None);
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        let taken = ours && unsafe { self.plan(params) }.is_ok_and(|plan| self.start(plan, digest));
        if taken {
            return true;
        }
        let known = self.digest;
        let digest = digest.or(known.as_ref().map(Named::name));
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        let begun = unsafe { self.delegate_with(kind, digest, params) };
        let good = begun.as_ref().is_some_and(|(_, done)| *done == 1);
        self.delegated = begun.map(|(operation, _)| operation);
        good
    }

    /// Begins with what parameters have set, and a digest to pass data through where the operation has one.
    fn start(&mut self, plan: Plan, digest: Option<&CStr>) -> bool {
        let named = match digest.map(|name| name.to_str().ok().and_then(|name| Named::new(self.provider(), name))) {
            Some(None) => return false,
            Some(Some(named)) => Some(named),
            None => plan.digest.or(self.digest),
        };
        if self.kind.is_digest() {
            let Some(named) = named else { return false };
            if plan.padding == padding::NONE || (plan.padding == padding::PSS && named.method().is_none()) {
                return false;
            }
            self.hasher = Some(MessageDigest::new(named.hash));
            self.fixed = true;
        }
        self.take(Plan { digest: named, ..plan });
        true
    }

    fn take(&mut self, plan: Plan) {
        (self.padding, self.salt, self.digest, self.mgf1) = (plan.padding, plan.salt, plan.digest, plan.mgf1);
    }

    /// What `params` make of the context, where they are plainly right.
    ///
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn plan(&self, params: *const Param) -> Result<Plan, NotOurs> {
        let mut plan = Plan { padding: self.padding, salt: self.salt, digest: self.digest, mgf1: self.mgf1 };
        let (mut salted, mut masked, mut hashed) = (false, false, false);
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            match p.name().to_bytes() {
                b"digest" => {
                    plan.digest = Some(p.get_str().and_then(|name| Named::new(self.provider(), name)).ok_or(NotOurs)?);
                    hashed = true;
                }
                b"mgf1-digest" => {
                    plan.mgf1 = Some(p.get_str().and_then(|name| Named::new(self.provider(), name)).ok_or(NotOurs)?);
                    masked = true;
                }
                b"pad-mode" if p.data_type == param::UTF8 => {
                    plan.padding = p.get_str().and_then(padding::number).ok_or(NotOurs)?;
                }
                b"pad-mode" => plan.padding = p.get_i64().ok_or(NotOurs)?,
                b"saltlen" => {
                    plan.salt = read_salt(p).ok_or(NotOurs)?;
                    salted = true;
                }
                _ => {}
            }
        }
        let pss = plan.padding == padding::PSS;
        if pss && plan.digest.is_none() {
            plan.digest = Some(Named::new(self.provider(), "SHA1").ok_or(NotOurs)?);
        }
        let allowed = match plan.padding {
            padding::PKCS1 => true,
            padding::NONE => plan.digest.is_none(),
            padding::PSS => {
                let single = |named: &Option<Named>| named.as_ref().is_none_or(|named| named.method().is_some());
                self.kind != OperationKind::VerifyRecover && single(&plan.digest) && single(&plan.mgf1)
            }
            _ => false,
        };
        let lowest = default_salt(self.provider()).min(salt::MAX);
        let changed = || match (&self.digest, &plan.digest) {
            (Some(a), Some(b)) => a.hash != b.hash,
            _ => true,
        };
        if !allowed
            || ((salted || masked) && !pss)
            || (salted && plan.salt < lowest)
            || (self.fixed && hashed && changed())
        {
            return Err(NotOurs);
        }
        if self.fixed {
            plan.digest = self.digest;
        }
        Ok(plan)
    }

    /// Sets parameters; the result is OpenSSL's.
    ///
    /// # Safety
    /// `params` is a parameter array.
    pub unsafe fn set(&mut self, params: *const Param) -> c_int {
        if self.delegated.is_none() {
            // SAFETY: the caller passes a parameter array, which ends and lives through the call.
            match unsafe { self.plan(params) } {
                Ok(plan) => {
                    self.take(plan);
                    return 1;
                }
                Err(NotOurs) if self.hasher.as_ref().is_none_or(MessageDigest::is_empty) => {
                    self.hasher = None;
                    self.delegated = self.delegate();
                }
                Err(NotOurs) => {
                    // Data has passed here: first, what OpenSSL says to this in the middle of a message.
                    let judge = self.delegate_as(self.kind);
                    // SAFETY: the caller passes a parameter array, which ends and lives through the call.
                    let result = judge.map_or(0, |mut operation| unsafe { operation.set_params(params) });
                    if result != 1 {
                        return result;
                    }
                    self.delegated = self.delegate();
                }
            }
        }
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        unsafe {
            self.provider().adopt_digests(None, params);
            self.delegated.as_mut().map_or(0, |operation| operation.set_params(params))
        }
    }

    /// The AlgorithmIdentifier of the signature.
    pub fn identifier(&self) -> Option<Vec<u8>> {
        match self.padding {
            padding::PKCS1 => identifier::pkcs1_signature(self.method()?),
            padding::PSS => {
                let length = match self.salt()? {
                    Salt::Bytes(length) => length,
                    Salt::Auto => pss_max_salt(self.key.as_ref()?.bits(), self.method()?.size)?,
                };
                identifier::pss_signature(self.method()?, self.mgf1_method()?, length)
            }
            _ => None,
        }
    }
}

/// PSS's salt length where none was set: as many bytes as fit, since OpenSSL 3.1 at most as many as the digest has.
pub(super) fn default_salt(provider: &Provider) -> i64 {
    if provider.version < (3, 1) { salt::AUTO } else { salt::AUTO_DIGEST_MAX }
}

fn read_salt(p: &Param) -> Option<i64> {
    if p.data_type != param::UTF8 {
        return p.get_i64();
    }
    let word = p.get_str()?;
    Some(match word {
        "digest" => salt::DIGEST,
        "max" => salt::MAX,
        "auto" => salt::AUTO,
        "auto-digestmax" => salt::AUTO_DIGEST_MAX,
        // As C's atoi reads it: what is no number counts as 0.
        _ => {
            let digits = word.trim_start();
            let end = digits.char_indices().find(|&(i, c)| !(c.is_ascii_digit() || (i == 0 && "+-".contains(c))));
            digits[..end.map_or(digits.len(), |(i, _)| i)].parse::<i32>().map_or(0, i64::from)
        }
    })
}
