//! RSA: encryption (provider-asym_cipher(7)).

use super::key::{Material, Named, integer, text};
use super::keymgmt::object;
use super::{NotDone, padding};
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov, rsa};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{Operation, OperationKind, Output};
use crate::provider::{Provider, provider};
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::rsa::{
    Encryption, MAX_SIZE, Method, PREMASTER, RsaKey, oaep_decode, pkcs1_decode, pkcs1_decode_implicit, premaster_decode,
};
use std::ffi::{c_int, c_void};
use zeroize::Zeroizing;

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
    dispatch: &FUNCTIONS,
    description: c"adjunct RSA encryption",
}];

static FUNCTIONS: [Dispatch; 12] = [
    entry!(id::ASYM_CIPHER_NEWCTX, newctx),
    entry!(id::ASYM_CIPHER_FREECTX, abi::freed::<RsaEncryptionContext>),
    entry!(id::ASYM_CIPHER_DUPCTX, dupctx),
    entry!(id::ASYM_CIPHER_ENCRYPT_INIT, encrypt_init),
    entry!(id::ASYM_CIPHER_ENCRYPT, encrypt),
    entry!(id::ASYM_CIPHER_DECRYPT_INIT, decrypt_init),
    entry!(id::ASYM_CIPHER_DECRYPT, decrypt),
    entry!(id::ASYM_CIPHER_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::ASYM_CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params),
    entry!(id::ASYM_CIPHER_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::ASYM_CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params),
    Dispatch::END,
];

/// An encryption or decryption context.
struct RsaEncryptionContext {
    provider: *const Provider,
    key: Option<Shared<Material>>,
    kind: OperationKind,
    padding: i64,
    /// OAEP's digests and label.
    digest: Option<Named>,
    mgf1: Option<Named>,
    label: Zeroizing<Vec<u8>>,
    /// The versions that may stand in a TLS premaster secret.
    client_version: u32,
    alternative_version: u32,
    /// Whether a wrong PKCS#1 v1.5 padding gives a random message instead of an error. On by default only where OpenSSL itself does so: CMS of an
    /// older one tries every recipient, and would take the first for the right one.
    implicit_rejection: bool,
    /// The default provider's context, which then does everything.
    delegated: Option<Operation>,
}

/// What OpenSSL raises where a padding is wrong.
const BAD_PKCS1: &[Reason] = &[rsa::PKCS_DECODING_ERROR, rsa::PADDING_CHECK_FAILED];
const BAD_OAEP: &[Reason] = &[rsa::OAEP_DECODING_ERROR];

/// Room for one block, wiped when it goes.
type Block = Zeroizing<[u8; MAX_SIZE]>;

fn block() -> Block {
    Zeroizing::new([0; MAX_SIZE])
}

impl RsaEncryptionContext {
    fn provider(&self) -> &Provider {
        // SAFETY: OpenSSL keeps a provider as long as its contexts live.
        unsafe { &*self.provider }
    }

    /// # Safety
    /// `key` is null or a key of ours; `params` is a parameter array.
    unsafe fn init(&mut self, key: *const c_void, kind: OperationKind, params: *const Param) -> c_int {
        // SAFETY: the caller passes null or a key of this module's key management that has not been freed.
        if let Some(key) = unsafe { object(key) } {
            self.key = key.material.clone();
        }
        let Some(key) = &self.key else {
            self.provider().core.raise(prov::NO_KEY_SET);
            return 0;
        };
        let ours = key.key().is_some();
        self.kind = kind;
        self.padding = padding::PKCS1;
        self.implicit_rejection = self.provider().rejects_implicitly();
        self.delegated = None;
        if !ours {
            self.delegated = self.delegate();
            if self.delegated.is_none() {
                return 0;
            }
        }
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        unsafe { self.set(params) }
    }

    /// Sets parameters; what is not plainly right moves the context to the default provider. The result is OpenSSL's.
    ///
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn set(&mut self, params: *const Param) -> c_int {
        if self.delegated.is_none() {
            // SAFETY: the caller passes a parameter array, which ends and lives through the call.
            if unsafe { self.take(params) } {
                return 1;
            }
            self.delegated = self.delegate();
        }
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        unsafe {
            self.provider().adopt_digests(None, params);
            self.delegated.as_mut().map_or(0, |operation| operation.set_params(params))
        }
    }

    /// Takes all of `params` over, or none.
    ///
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn take(&mut self, params: *const Param) -> bool {
        let (mut digest, mut mgf1, mut padding) = (self.digest, self.mgf1, self.padding);
        let (mut client, mut alternative) = (self.client_version, self.alternative_version);
        let (mut label, mut implicit) = (None, self.implicit_rejection);
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            let known = match p.name().to_bytes() {
                b"digest" => {
                    digest = p.get_str().and_then(|name| Named::new(self.provider(), name));
                    digest.is_some_and(|named| named.method().is_some())
                }
                b"mgf1-digest" => {
                    mgf1 = p.get_str().and_then(|name| Named::new(self.provider(), name));
                    mgf1.is_some_and(|named| named.method().is_some())
                }
                b"pad-mode" if p.data_type == param::UTF8 => {
                    p.get_str().and_then(padding::number).map(|number| padding = number).is_some()
                }
                b"pad-mode" => p.get_i64().map(|number| padding = number).is_some(),
                b"oaep-label" => p.get_octets().map(|octets| label = Some(octets)).is_some(),
                b"tls-client-version" => p.get_u64().map(|version| client = version as u32).is_some(),
                b"tls-negotiated-version" => p.get_u64().map(|version| alternative = version as u32).is_some(),
                b"implicit-rejection" => p.get_u64().map(|on| implicit = on != 0).is_some(),
                _ => true,
            };
            if !known {
                return false;
            }
        }
        if !matches!(padding, padding::PKCS1 | padding::NONE | padding::OAEP | padding::TLS) {
            return false;
        }
        if padding == padding::OAEP && digest.is_none() {
            digest = Named::new(self.provider(), "SHA1");
            if digest.is_none() {
                return false;
            }
        }
        if let Some(label) = label {
            let Ok(mut copy) = adjunct::memory::zeros(label.len()) else { return false };
            copy.copy_from_slice(label);
            self.label = copy;
        }
        (self.digest, self.mgf1, self.padding) = (digest, mgf1, padding);
        (self.client_version, self.alternative_version) = (client, alternative);
        self.implicit_rejection = implicit;
        true
    }

    /// Makes the operation in the default provider, with all that has been set.
    fn delegate(&self) -> Option<Operation> {
        let key = self.key.as_ref()?.foreign(self.provider())?;
        let mut mode = self.padding as c_int;
        let (mut client, mut alternative) = (self.client_version as i32, self.alternative_version as i32);
        let mut implicit = i32::from(self.implicit_rejection);
        let unsigned = |p: Param| Param { data_type: param::UNSIGNED, ..p };
        let mut params = [const { Param::END }; 8];
        let mut used = 0;
        let mut push = |param| {
            params[used] = param;
            used += 1;
        };
        push(integer(c"pad-mode", &mut mode));
        if let Some(digest) = &self.digest {
            push(text(c"digest", digest.name()));
        }
        if let Some(mgf1) = &self.mgf1 {
            push(text(c"mgf1-digest", mgf1.name()));
        }
        if !self.label.is_empty() {
            let data = self.label.as_ptr().cast_mut().cast();
            push(Param { data, ..Param::describe(c"oaep-label", param::OCTETS, self.label.len()) });
        }
        push(unsigned(integer(c"tls-client-version", &mut client)));
        push(unsigned(integer(c"tls-negotiated-version", &mut alternative)));
        push(unsigned(integer(c"implicit-rejection", &mut implicit)));
        // SAFETY: the array ends and lives through the call.
        unsafe { Operation::new(key, c"RSA", self.kind, None, params.as_ptr()) }
    }

    /// OAEP's two digests, where we have both.
    fn methods(&self) -> Option<(&'static Method, &'static Method)> {
        let method = self.digest.as_ref()?.method()?;
        Some((method, self.mgf1.as_ref().map_or(Some(method), Named::method)?))
    }

    fn encrypt_own(&self, key: &RsaKey, message: &[u8], out: &mut [u8]) -> Result<(), NotDone> {
        let scheme = match (self.padding, self.methods()) {
            (padding::PKCS1, _) => Encryption::Pkcs1,
            (padding::OAEP, Some((hash, mgf1))) => Encryption::Oaep { hash, mgf1, label: &self.label },
            (padding::NONE, _) => Encryption::Raw,
            _ => return Err(NotDone::Refused),
        };
        // No public operation fails for what may not be told.
        key.encrypt(scheme, message, out).map_err(|_| NotDone::Refused)
    }

    /// Decrypts into `out`, which has room for the modulus, or for a premaster secret where one is asked for.
    fn decrypt_own(&self, key: &RsaKey, ciphertext: &[u8], out: &mut [u8]) -> Result<usize, NotDone> {
        let size = key.size();
        // OpenSSL reads a shorter ciphertext as the number it is, 3.0 even an empty one.
        if (ciphertext.is_empty() && self.provider().version >= (3, 2)) || !key.is_private() {
            return Err(NotDone::Refused);
        }
        let start = size.checked_sub(ciphertext.len()).ok_or(NotDone::Refused)?;
        if self.padding == padding::TLS && (self.client_version == 0 || size < PREMASTER + 11) {
            return Err(NotDone::Refused);
        }
        let mut input = [0; MAX_SIZE];
        let input = &mut input[..size];
        input[start..].copy_from_slice(ciphertext);
        let mut block = block();
        let block = &mut block[..size];
        key.private(input, block)?;
        let message: &[u8] = match (self.padding, self.methods()) {
            (padding::TLS, _) => {
                let mut secret = Zeroizing::new([0; PREMASTER]);
                premaster_decode(self.client_version, self.alternative_version, block, &mut secret)
                    .map_err(|_| NotDone::Refused)?;
                out[..PREMASTER].copy_from_slice(&secret[..]);
                return Ok(PREMASTER);
            }
            (padding::OAEP, Some((method, mgf1))) => {
                let message = oaep_decode(method, mgf1, &self.label, block);
                self.raise_unless(message.is_ok(), BAD_OAEP);
                message.map_err(|_| NotDone::Malformed)?
            }
            (padding::PKCS1, _) if self.implicit_rejection => {
                let length = pkcs1_decode_implicit(key, input, block)
                    .map_err(|error| if error.may_fall_back() { NotDone::Refused } else { error.into() })?;
                &block[..length]
            }
            (padding::PKCS1, _) => {
                let length = pkcs1_decode(block);
                self.raise_unless(length.is_ok(), BAD_PKCS1);
                &block[..length.map_err(|_| NotDone::Malformed)?]
            }
            _ => block,
        };
        out[..message.len()].copy_from_slice(message);
        Ok(message.len())
    }

    /// Raises the errors of a wrong padding, and removes them again where the padding was right.
    fn raise_unless(&self, right: bool, reasons: &[Reason]) {
        if let Some(library) = self.provider().fallback() {
            let core = &self.provider().core;
            library.errors().raise_unless(right, || reasons.iter().for_each(|&reason| core.raise(reason)));
        }
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn run(&mut self, output: Output, input: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else {
            self.provider().core.raise(prov::NO_KEY_SET);
            return 0;
        };
        let decrypts = self.kind == OperationKind::Decrypt;
        if let Some(operation) = &mut self.delegated {
            // SAFETY: the caller answers for `output` being as it describes itself.
            return material.delegated(decrypts, output, unsafe { operation.run(output, input) });
        }
        let room = if decrypts && self.padding == padding::TLS { PREMASTER } else { material.size() };
        // SAFETY: the caller answers for `output`: `length` is a place for a number, and `data`, where it is not null, has room for `size` bytes.
        unsafe {
            if output.data.is_null() {
                *output.length = room;
                return 1;
            }
            let done = match material.key() {
                Some(key) if output.size >= room => {
                    let out = abi::slice_mut(output.data, room);
                    if decrypts {
                        self.decrypt_own(key, input, out)
                    } else {
                        self.encrypt_own(key, input, out).map(|()| room)
                    }
                }
                _ => Err(NotDone::Refused),
            };
            match done {
                Ok(length) => {
                    *output.length = length;
                    1
                }
                Err(NotDone::Malformed) => 0,
                Err(NotDone::Final(error)) => {
                    self.provider().is_final(&error);
                    0
                }
                Err(NotDone::Broken) => {
                    self.provider().core.raise(prov::INVALID_KEY);
                    0
                }
                Err(NotDone::Refused) => self
                    .delegate()
                    .map_or(0, |mut operation| material.delegated(decrypts, output, operation.run(output, input))),
            }
        }
    }
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        abi::give(RsaEncryptionContext {
            // SAFETY: the context is ours.
            provider: unsafe { provider(provctx) },
            key: None,
            kind: OperationKind::Encrypt,
            padding: padding::PKCS1,
            digest: None,
            mgf1: None,
            label: Zeroizing::default(),
            client_version: 0,
            alternative_version: 0,
            implicit_rejection: false,
            delegated: None,
        })
    })
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the context is ours.
        let Some(ctx) = (unsafe { abi::context::<RsaEncryptionContext>(ctx) }) else { return std::ptr::null_mut() };
        let delegated = match ctx.delegated.as_ref().map(Operation::duplicate) {
            Some(None) => return std::ptr::null_mut(),
            Some(copy) => copy,
            None => None,
        };
        let Ok(mut label) = adjunct::memory::zeros(ctx.label.len()) else { return std::ptr::null_mut() };
        label.copy_from_slice(&ctx.label);
        abi::give(RsaEncryptionContext { key: ctx.key.clone(), label, delegated, ..*ctx })
    })
}

unsafe extern "C" fn encrypt_init(ctx: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: context and key are ours, the array OpenSSL's.
    guard(0, || unsafe {
        abi::context::<RsaEncryptionContext>(ctx).map_or(0, |ctx| ctx.init(key, OperationKind::Encrypt, params))
    })
}

unsafe extern "C" fn decrypt_init(ctx: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: OpenSSL passes a context of this module, a key of this module's key management or null, and a parameter array that ends.
    guard(0, || unsafe {
        abi::context::<RsaEncryptionContext>(ctx).map_or(0, |ctx| ctx.init(key, OperationKind::Decrypt, params))
    })
}

unsafe extern "C" fn encrypt(
    ctx: *mut c_void,
    out: *mut u8,
    length: *mut usize,
    size: usize,
    input: *const u8,
    input_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = abi::context::<RsaEncryptionContext>(ctx) else { return 0 };
            ctx.run(Output { data: out, length, size }, abi::slice(input, input_length))
        }
    })
}

unsafe extern "C" fn decrypt(
    ctx: *mut c_void,
    out: *mut u8,
    length: *mut usize,
    size: usize,
    input: *const u8,
    input_length: usize,
) -> c_int {
    // SAFETY: the arguments are OpenSSL's, as `encrypt` takes them; the context knows what it was set up for.
    unsafe { encrypt(ctx, out, length, size, input, input_length) }
}

/// The parameters of contexts; the last one only where this OpenSSL or its configuration knows implicit rejection.
static GETTABLE: [Param; 7] = [
    Param::describe(c"digest", param::UTF8, 0),
    Param::describe(c"pad-mode", param::UTF8, 0),
    Param::describe(c"mgf1-digest", param::UTF8, 0),
    Param::describe(c"oaep-label", param::OCTETS_PTR, 0),
    Param::describe(c"tls-client-version", param::UNSIGNED, 4),
    Param::describe(c"tls-negotiated-version", param::UNSIGNED, 4),
    Param::END,
];
static GETTABLE_IMPLICIT: [Param; 8] = with_rejection(&GETTABLE);
static SETTABLE: [Param; 9] = [
    Param::describe(c"digest", param::UTF8, 0),
    Param::describe(c"digest-props", param::UTF8, 0),
    Param::describe(c"pad-mode", param::UTF8, 0),
    Param::describe(c"mgf1-digest", param::UTF8, 0),
    Param::describe(c"mgf1-digest-props", param::UTF8, 0),
    Param::describe(c"oaep-label", param::OCTETS, 0),
    Param::describe(c"tls-client-version", param::UNSIGNED, 4),
    Param::describe(c"tls-negotiated-version", param::UNSIGNED, 4),
    Param::END,
];
static SETTABLE_IMPLICIT: [Param; 10] = with_rejection(&SETTABLE);

const fn with_rejection<const N: usize, const M: usize>(list: &[Param; N]) -> [Param; M] {
    assert!(M == N + 1);
    let mut longer = [Param::END; M];
    let mut i = 0;
    while i < N - 1 {
        longer[i] = Param { key: list[i].key, ..Param::describe(c"", list[i].data_type, list[i].data_size) };
        i += 1;
    }
    longer[N - 1] = Param::describe(c"implicit-rejection", param::UNSIGNED, 4);
    longer
}

unsafe extern "C" fn gettable_ctx_params(_ctx: *mut c_void, provctx: *mut c_void) -> *const Param {
    guard(GETTABLE.as_ptr(), || {
        // SAFETY: the provider's own context.
        let implicit = unsafe { provider(provctx) }.rejects_implicitly();
        if implicit { GETTABLE_IMPLICIT.as_ptr() } else { GETTABLE.as_ptr() }
    })
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(ctx) = (unsafe { abi::context::<RsaEncryptionContext>(ctx) }) else { return 0 };
        if let Some(operation) = &ctx.delegated {
            // SAFETY: the array is OpenSSL's.
            return unsafe { operation.get_params(params) };
        }
        // As OpenSSL, by the name it has for the digest, not the one that was given.
        let name = |named: Option<&Named>| named.map_or("", |named| named.hash.name()).as_bytes();
        // SAFETY: `params` is OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        let answered = unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
            b"digest" => p.set_utf8(name(ctx.digest.as_ref())),
            b"mgf1-digest" => p.set_utf8(name(ctx.mgf1.as_ref().or(ctx.digest.as_ref()))),
            b"pad-mode" if p.data_type == param::UTF8 => match padding::name(ctx.padding) {
                Some(name) => p.set_str(name),
                // As OpenSSL: it has no name for the padding of TLS.
                None => {
                    ctx.provider().core.raise(prov::INTERNAL_ERROR);
                    true
                }
            },
            b"pad-mode" => p.set_i64(ctx.padding),
            b"oaep-label" => p.set_octets(&ctx.label),
            b"tls-client-version" => p.set_u64(u64::from(ctx.client_version)),
            b"tls-negotiated-version" => p.set_u64(u64::from(ctx.alternative_version)),
            b"implicit-rejection" => p.set_u64(u64::from(ctx.implicit_rejection)),
            _ => true,
        });
        if answered {
            return 1;
        }
        // What cannot be answered is an error of OpenSSL's.
        // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call; the walk over it has ended.
        ctx.delegate().map_or(0, |operation| unsafe { operation.get_params(params) })
    })
}

unsafe extern "C" fn settable_ctx_params(_ctx: *mut c_void, provctx: *mut c_void) -> *const Param {
    guard(SETTABLE.as_ptr(), || {
        // SAFETY: the provider's own context.
        let implicit = unsafe { provider(provctx) }.rejects_implicitly();
        if implicit { SETTABLE_IMPLICIT.as_ptr() } else { SETTABLE.as_ptr() }
    })
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the context is ours, the array OpenSSL's.
    guard(0, || unsafe { abi::context::<RsaEncryptionContext>(ctx).map_or(0, |ctx| ctx.set(params)) })
}
