//! RSA: signatures (provider-signature(7), EVP_SIGNATURE-RSA(7)).
//!
//! The context and its parameters; the operations themselves are in `super::sign`.

use super::key::{Material, Named, integer, text};
use super::keymgmt::object;
use super::{identifier, padding};
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{DigestOperation, Kind, Operation};
use crate::provider::{Provider, provider};
use adjunct::awslc::rsa_padding::{Hasher, Salt, pss_max_salt};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Arc;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
    dispatch: &FUNCTIONS,
    description: c"adjunct RSA signatures",
}];

use super::sign::{
    digest_sign, digest_sign_final, digest_update, digest_verify, digest_verify_final, sign, verify, verify_recover,
};

static FUNCTIONS: [Dispatch; 22] = [
    entry!(id::SIGNATURE_NEWCTX, newctx),
    entry!(id::SIGNATURE_FREECTX, freectx),
    entry!(id::SIGNATURE_DUPCTX, dupctx),
    entry!(id::SIGNATURE_SIGN_INIT, sign_init),
    entry!(id::SIGNATURE_SIGN, sign),
    entry!(id::SIGNATURE_VERIFY_INIT, verify_init),
    entry!(id::SIGNATURE_VERIFY, verify),
    entry!(id::SIGNATURE_VERIFY_RECOVER_INIT, verify_recover_init),
    entry!(id::SIGNATURE_VERIFY_RECOVER, verify_recover),
    entry!(id::SIGNATURE_DIGEST_SIGN_INIT, digest_sign_init),
    entry!(id::SIGNATURE_DIGEST_SIGN_UPDATE, digest_update),
    entry!(id::SIGNATURE_DIGEST_SIGN_FINAL, digest_sign_final),
    entry!(id::SIGNATURE_DIGEST_SIGN, digest_sign),
    entry!(id::SIGNATURE_DIGEST_VERIFY_INIT, digest_verify_init),
    entry!(id::SIGNATURE_DIGEST_VERIFY_UPDATE, digest_update),
    entry!(id::SIGNATURE_DIGEST_VERIFY_FINAL, digest_verify_final),
    entry!(id::SIGNATURE_DIGEST_VERIFY, digest_verify),
    entry!(id::SIGNATURE_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::SIGNATURE_GETTABLE_CTX_PARAMS, gettable_ctx_params),
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_ctx_params),
    Dispatch::END,
];

/// `RSA_PSS_SALTLEN_*` of rsa.h; other values are lengths.
mod salt {
    pub const DIGEST: i64 = -1;
    pub const AUTO: i64 = -2;
    pub const MAX: i64 = -3;
    pub const AUTO_DIGEST_MAX: i64 = -4;
}

/// A signature context.
pub(super) struct Context {
    provider: *const Provider,
    pub key: Option<Arc<Material>>,
    pub kind: Kind,
    pub padding: i64,
    pub digest: Option<Named>,
    mgf1: Option<Named>,
    salt: i64,
    /// The running digest of a digest_sign or digest_verify, during which the digest must not be changed.
    pub hasher: Option<Hasher>,
    fixed: bool,
    /// Bytes that went through `hasher`.
    pub hashed: usize,
    /// A digest_sign or digest_verify over a digest we lack: the default provider does all of it.
    pub foreign: Option<DigestOperation>,
}

impl Context {
    pub fn provider(&self) -> &Provider {
        // SAFETY: OpenSSL keeps a provider as long as its contexts live.
        unsafe { &*self.provider }
    }

    /// Raises an error; for the ends of functions that failed.
    #[cold]
    pub fn fail(&self, reason: Reason) -> c_int {
        self.provider().core.raise(reason);
        0
    }

    /// Whether AWS-LC computes this operation: it has the key, the digests and the encoding.
    pub fn is_ours(&self) -> bool {
        let known = |named: &Option<Named>| named.as_ref().is_none_or(|n| n.hash.is_some());
        let pss = self.padding != padding::PSS || (self.method().is_some() && self.mgf1_method().is_some());
        self.padding != padding::X931
            && pss
            && known(&self.digest)
            && self.key.as_ref().is_some_and(|key| key.key().is_some())
    }

    /// The digest, where it is one PSS can be computed with.
    pub fn method(&self) -> Option<&'static adjunct::awslc::digest::Method> {
        self.digest.as_ref()?.method()
    }

    /// MGF1's digest: the digest unless another was set.
    pub fn mgf1_method(&self) -> Option<&'static adjunct::awslc::digest::Method> {
        self.mgf1.as_ref().or(self.digest.as_ref())?.method()
    }

    /// The salt to make or to expect; `None` for a key too small for any.
    pub fn salt(&self) -> Option<Salt> {
        let bits = self.key.as_ref()?.bits();
        let hash = self.method()?.size;
        let verify = self.kind == Kind::Verify;
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

    /// This operation in the default provider, with all that has been set.
    pub fn delegate(&self) -> Option<Operation> {
        let key = self.key.as_ref()?.foreign(self.provider())?;
        let mut mode = self.padding as c_int;
        let mut length = self.salt as c_int;
        let mut params = vec![integer(c"pad-mode", &mut mode)];
        if let Some(digest) = &self.digest {
            params.push(text(c"digest", &digest.name));
        }
        if self.padding == padding::PSS {
            params.push(integer(c"saltlen", &mut length));
            if let Some(mgf1) = &self.mgf1 {
                params.push(text(c"mgf1-digest", &mgf1.name));
            }
        }
        params.push(Param::END);
        // SAFETY: the array ends and lives through the call.
        unsafe { Operation::new(&key, self.kind, params.as_ptr()) }
    }

    /// # Safety
    /// `key` is null or a key of ours; `params` is a parameter array.
    unsafe fn init(&mut self, key: *const c_void, kind: Kind, params: *const Param) -> bool {
        // SAFETY: see above.
        match unsafe { object(key) } {
            Some(key) => self.key = key.material.clone(),
            None if self.key.is_some() => {}
            None => {}
        }
        if self.key.is_none() {
            self.fail(prov::MISSING_KEY);
            return false;
        }
        self.kind = kind;
        self.padding = padding::PKCS1;
        self.salt = default_salt(self.provider());
        self.fixed = false;
        self.hasher = None;
        self.foreign = None;
        self.hashed = 0;
        // SAFETY: see above.
        unsafe { self.set(params) }
    }

    /// # Safety
    /// `params` is a parameter array.
    unsafe fn set(&mut self, params: *const Param) -> bool {
        let (mut mode, mut length) = (self.padding, self.salt);
        let (mut digest, mut mgf1) = (None, None);
        let mut salted = false;
        // SAFETY: see above.
        for p in unsafe { param::iter(params) } {
            let read = match p.name().to_bytes() {
                b"digest" => p.get_str().map(|name| digest = Some(Named::new(name))),
                b"mgf1-digest" => p.get_str().map(|name| mgf1 = Some(Named::new(name))),
                b"pad-mode" if p.data_type == param::UTF8 => {
                    // A word that is not known changes nothing, as in OpenSSL.
                    p.get_str().map(|word| mode = padding::number(word).unwrap_or(mode))
                }
                b"pad-mode" => p.get_i64().map(|number| mode = number),
                b"saltlen" => {
                    salted = true;
                    read_salt(p).map(|number| length = number)
                }
                _ => continue,
            };
            if read.is_none() {
                self.fail(prov::FAILED_TO_GET_PARAMETER);
                return false;
            }
        }
        let pss = mode == padding::PSS;
        let allowed = match mode {
            padding::PKCS1 | padding::NONE | padding::X931 => true,
            padding::PSS => self.kind != Kind::VerifyRecover,
            _ => false,
        };
        let lowest = default_salt(self.provider()).min(salt::MAX);
        if !allowed || ((salted || mgf1.is_some()) && !pss) || (salted && length < lowest) {
            self.fail(prov::ILLEGAL_OR_UNSUPPORTED_PADDING_MODE);
            return false;
        }
        if digest.is_none() && self.digest.is_none() && pss {
            digest = Some(Named::new("SHA1"));
        }
        if let Some(named) = &digest
            && self.fixed
        {
            let same = self.digest.as_ref().is_some_and(|d| match (d.hash, named.hash) {
                (Some(a), Some(b)) => a == b,
                _ => d.name.eq_ignore_ascii_case(&named.name),
            });
            if !same {
                self.fail(prov::INVALID_DIGEST);
                return false;
            }
            digest = None;
        }
        if mode == padding::NONE && (digest.is_some() || self.digest.is_some()) {
            self.fail(prov::ILLEGAL_OR_UNSUPPORTED_PADDING_MODE);
            return false;
        }
        self.padding = mode;
        self.salt = length;
        let unknown = |named: &Option<Named>| named.as_ref().is_some_and(|n| n.hash.is_none());
        let ask = unknown(&digest) || unknown(&mgf1) || mode == padding::X931;
        if digest.is_some() {
            self.digest = digest;
        }
        if mgf1.is_some() {
            self.mgf1 = mgf1;
        }
        // What we do not know may still be right: the default provider says whether it is.
        if ask && self.delegate().is_none() {
            return false;
        }
        true
    }

    /// # Safety
    /// `name` is null or a C string, `key` null or a key of ours, `params` a parameter array.
    unsafe fn digest_init(
        &mut self,
        name: *const c_char,
        key: *const c_void,
        kind: Kind,
        params: *const Param,
    ) -> bool {
        // SAFETY: see above.
        unsafe {
            if !self.init(key, kind, params) {
                return false;
            }
            // SAFETY: see above.
            let name = (!name.is_null()).then(|| CStr::from_ptr(name)).and_then(|n| n.to_str().ok());
            if let Some(name) = name {
                let known = self.digest.as_ref().is_some_and(|d| d.name.eq_ignore_ascii_case(name));
                if !known {
                    if self.padding == padding::NONE {
                        self.fail(prov::ILLEGAL_OR_UNSUPPORTED_PADDING_MODE);
                        return false;
                    }
                    self.digest = Some(Named::new(name));
                }
            }
            let Some(digest) = &self.digest else {
                self.fail(prov::INVALID_DIGEST);
                return false;
            };
            self.fixed = true;
            match digest.hash {
                Some(hash) => self.hasher = Some(Hasher::new(hash)),
                None => {
                    let Ok(name) = CString::new(digest.name.as_str()) else { return false };
                    let Some(material) = self.key.clone() else { return false };
                    let Some(key) = material.foreign(self.provider()) else { return false };
                    self.foreign = DigestOperation::new(&key, kind == Kind::Verify, Some(&name), params);
                    return self.foreign.is_some();
                }
            }
        }
        true
    }

    /// The AlgorithmIdentifier of the signature.
    fn identifier(&self) -> Option<Vec<u8>> {
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
fn default_salt(provider: &Provider) -> i64 {
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

/// The context behind a pointer.
///
/// # Safety
/// The pointer came from [`newctx`] or [`dupctx`] and has not been freed.
pub(super) unsafe fn context<'a>(pointer: *mut c_void) -> Option<&'a mut Context> {
    // SAFETY: see above.
    unsafe { abi::context(pointer) }
}

unsafe extern "C" fn newctx(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        adjunct::counters::attribute();
        // SAFETY: the context is ours.
        let provider = unsafe { provider(provctx) };
        abi::into_raw(Box::new(Context {
            provider,
            key: None,
            kind: Kind::Sign,
            padding: padding::PKCS1,
            digest: None,
            mgf1: None,
            salt: default_salt(provider),
            hasher: None,
            fixed: false,
            hashed: 0,
            foreign: None,
        }))
    })
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    // SAFETY: OpenSSL frees a context once.
    guard((), || unsafe { abi::free::<Context>(ctx) });
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the context is ours.
        let Some(ctx) = (unsafe { context(ctx) }) else { return std::ptr::null_mut() };
        let foreign = match ctx.foreign.as_ref().map(DigestOperation::duplicate) {
            Some(None) => return std::ptr::null_mut(),
            Some(copy) => copy,
            None => None,
        };
        abi::into_raw(Box::new(Context {
            provider: ctx.provider,
            key: ctx.key.clone(),
            kind: ctx.kind,
            padding: ctx.padding,
            digest: ctx.digest.clone(),
            mgf1: ctx.mgf1.clone(),
            salt: ctx.salt,
            hasher: ctx.hasher.clone(),
            fixed: ctx.fixed,
            hashed: ctx.hashed,
            foreign,
        }))
    })
}

macro_rules! inits {
    ($($name:ident $kind:ident;)*) => {$(
        unsafe extern "C" fn $name(ctx: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
            guard(0, || {
                // SAFETY: context and key are ours, the array OpenSSL's.
                unsafe { context(ctx).map_or(0, |ctx| c_int::from(ctx.init(key, Kind::$kind, params))) }
            })
        }
    )*};
}

inits! {
    sign_init Sign;
    verify_init Verify;
    verify_recover_init VerifyRecover;
}

macro_rules! digest_inits {
    ($($name:ident $kind:ident;)*) => {$(
        unsafe extern "C" fn $name(
            ctx: *mut c_void,
            digest: *const c_char,
            key: *mut c_void,
            params: *const Param,
        ) -> c_int {
            guard(0, || {
                // SAFETY: context and key are ours, the name and the array OpenSSL's.
                unsafe { context(ctx).map_or(0, |ctx| c_int::from(ctx.digest_init(digest, key, Kind::$kind, params))) }
            })
        }
    )*};
}

digest_inits! {
    digest_sign_init Sign;
    digest_verify_init Verify;
}

static GETTABLE: [Param; 6] = [
    Param::describe(c"algorithm-id", param::OCTETS, 0),
    Param::describe(c"pad-mode", param::UTF8, 0),
    Param::describe(c"digest", param::UTF8, 0),
    Param::describe(c"mgf1-digest", param::UTF8, 0),
    Param::describe(c"saltlen", param::UTF8, 0),
    Param::END,
];

unsafe extern "C" fn gettable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(ctx) = (unsafe { context(ctx) }) else { return 0 };
        if let Some(foreign) = &ctx.foreign {
            // SAFETY: the array is OpenSSL's.
            return c_int::from(unsafe { foreign.get_params(params) });
        }
        // SAFETY: as above.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"algorithm-id" => match ctx.identifier() {
                    Some(identifier) => p.set_octets(&identifier),
                    None => false,
                },
                b"pad-mode" if p.data_type == param::UTF8 => {
                    padding::name(ctx.padding).is_none_or(|name| p.set_str(name))
                }
                b"pad-mode" => p.set_u64(ctx.padding as u64),
                b"digest" => p.set_utf8(ctx.digest.as_ref().map_or(b"", |d| d.name.as_bytes())),
                b"mgf1-digest" => {
                    p.set_utf8(ctx.mgf1.as_ref().or(ctx.digest.as_ref()).map_or(b"", |d| d.name.as_bytes()))
                }
                b"saltlen" if p.data_type == param::UTF8 => match ctx.salt {
                    salt::DIGEST => p.set_str(c"digest"),
                    salt::MAX => p.set_str(c"max"),
                    salt::AUTO => p.set_str(c"auto"),
                    salt::AUTO_DIGEST_MAX => p.set_str(c"auto-digestmax"),
                    length => p.set_utf8(length.to_string().as_bytes()),
                },
                b"saltlen" => p.set_i64(ctx.salt),
                _ => true,
            };
            if !done {
                return 0;
            }
        }
        1
    })
}

macro_rules! settable {
    ($($name:literal),*) => { [$(Param::describe($name, param::UTF8, 0)),*, Param::END] };
}

static SETTABLE: [Param; 7] =
    settable![c"digest", c"properties", c"pad-mode", c"mgf1-digest", c"mgf1-properties", c"saltlen"];
static SETTABLE_FIXED: [Param; 5] = settable![c"pad-mode", c"mgf1-digest", c"mgf1-properties", c"saltlen"];

unsafe extern "C" fn settable_ctx_params(ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    guard(SETTABLE.as_ptr(), || {
        // SAFETY: the context is ours.
        let fixed = unsafe { context(ctx) }.is_some_and(|ctx| ctx.fixed);
        if fixed { SETTABLE_FIXED.as_ptr() } else { SETTABLE.as_ptr() }
    })
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the array OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            if let Some(foreign) = &mut ctx.foreign {
                return c_int::from(foreign.set_params(params));
            }
            c_int::from(ctx.set(params))
        }
    })
}
