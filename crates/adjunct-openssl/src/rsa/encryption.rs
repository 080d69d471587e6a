//! RSA: encryption (provider-asym_cipher(7)).

use super::key::{Material, Named, integer, text};
use super::keymgmt::object;
use super::padding;
use crate::abi::param::{self, Param};
use crate::abi::reason::{self, Reason, prov};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{Kind, Operation, Output};
use crate::provider::{Provider, provider};
use adjunct::awslc::digest::Method;
use adjunct::awslc::rsa::{Key, MAX_SIZE};
use adjunct::awslc::rsa_padding::{
    PREMASTER, oaep_decode, oaep_encode, pkcs1_decode, pkcs1_decode_implicit, pkcs1_encode, premaster_decode,
};
use adjunct::route::Direction;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
    dispatch: &FUNCTIONS,
    description: c"adjunct RSA encryption",
}];

static FUNCTIONS: [Dispatch; 12] = [
    entry!(id::ASYM_CIPHER_NEWCTX, newctx),
    entry!(id::ASYM_CIPHER_FREECTX, freectx),
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
#[derive(Clone)]
struct Context {
    provider: *const Provider,
    key: Option<Arc<Material>>,
    kind: Kind,
    padding: i64,
    /// OAEP's digests and label.
    digest: Option<Named>,
    mgf1: Option<Named>,
    label: Vec<u8>,
    /// The versions that may stand in a TLS premaster secret.
    client_version: u32,
    alternative_version: u32,
    /// Whether a wrong PKCS#1 v1.5 padding gives a message all the same. On by default only where OpenSSL itself does so: CMS
    /// of an older one tries every recipient, and would take the first for the right one.
    implicit_rejection: bool,
}

/// Room for one block, wiped when it goes.
type Block = Zeroizing<[u8; MAX_SIZE]>;

fn block() -> Block {
    Zeroizing::new([0; MAX_SIZE])
}

impl Context {
    fn provider(&self) -> &Provider {
        // SAFETY: OpenSSL keeps a provider as long as its contexts live.
        unsafe { &*self.provider }
    }

    #[cold]
    fn fail(&self, reason: Reason) -> c_int {
        self.provider().core.raise(reason);
        0
    }

    /// # Safety
    /// `key` is null or a key of ours; `params` is a parameter array.
    unsafe fn init(&mut self, key: *const c_void, kind: Kind, params: *const Param) -> c_int {
        // SAFETY: see above.
        if let Some(key) = unsafe { object(key) } {
            self.key = key.material.clone();
        }
        if self.key.is_none() {
            return self.fail(prov::MISSING_KEY);
        }
        self.kind = kind;
        self.padding = padding::PKCS1;
        self.implicit_rejection = self.provider().rejects_implicitly();
        // SAFETY: see above.
        unsafe { self.set(params) }
    }

    /// # Safety
    /// `params` is a parameter array.
    unsafe fn set(&mut self, params: *const Param) -> c_int {
        let mut ask = false;
        // SAFETY: see above.
        for p in unsafe { param::iter(params) } {
            let read = match p.name().to_bytes() {
                b"digest" => p.get_str().map(|name| self.digest = Some(Named::new(name))),
                b"mgf1-digest" => p.get_str().map(|name| self.mgf1 = Some(Named::new(name))),
                b"pad-mode" if p.data_type == param::UTF8 => {
                    p.get_str().map(|word| self.padding = padding::number(word).unwrap_or(0))
                }
                b"pad-mode" => p.get_i64().map(|number| self.padding = number),
                b"oaep-label" => p.get_octets().map(|label| self.label = label.to_vec()),
                b"tls-client-version" => p.get_u64().map(|version| self.client_version = version as u32),
                b"tls-negotiated-version" => p.get_u64().map(|version| self.alternative_version = version as u32),
                b"implicit-rejection" => p.get_u64().map(|on| self.implicit_rejection = on != 0),
                _ => continue,
            };
            ask |= matches!(p.name().to_bytes(), b"digest" | b"mgf1-digest");
            if read.is_none() {
                return self.fail(prov::FAILED_TO_GET_PARAMETER);
            }
        }
        if self.padding == padding::PSS {
            return self.fail(prov::ILLEGAL_OR_UNSUPPORTED_PADDING_MODE);
        }
        if self.padding == padding::OAEP && self.digest.is_none() {
            self.digest = Some(Named::new("SHA1"));
        }
        // A digest we do not know may still be right: the default provider says whether it is.
        let unknown = [&self.digest, &self.mgf1].into_iter().flatten().any(|named| named.method().is_none());
        c_int::from(!(ask && unknown) || self.delegate().is_some())
    }

    /// This operation in the default provider, with all that has been set.
    fn delegate(&self) -> Option<Operation> {
        let key = self.key.as_ref()?.foreign(self.provider())?;
        let mut mode = self.padding as c_int;
        let (mut client, mut alternative) = (self.client_version as i32, self.alternative_version as i32);
        let mut implicit = i32::from(self.implicit_rejection);
        let unsigned = |p: Param| Param { data_type: param::UNSIGNED, ..p };
        let mut params = vec![integer(c"pad-mode", &mut mode)];
        params.extend(self.digest.as_ref().map(|digest| text(c"digest", &digest.name)));
        params.extend(self.mgf1.as_ref().map(|mgf1| text(c"mgf1-digest", &mgf1.name)));
        if !self.label.is_empty() {
            let data = self.label.as_ptr().cast_mut().cast();
            params.push(Param { data, ..Param::describe(c"oaep-label", param::OCTETS, self.label.len()) });
        }
        params.push(unsigned(integer(c"tls-client-version", &mut client)));
        params.push(unsigned(integer(c"tls-negotiated-version", &mut alternative)));
        params.push(unsigned(integer(c"implicit-rejection", &mut implicit)));
        params.push(Param::END);
        // SAFETY: the array ends and lives through the call.
        unsafe { Operation::new(&key, self.kind, params.as_ptr()) }
    }

    /// OAEP's two digests, where we have both.
    fn methods(&self) -> Option<(&'static Method, &'static Method)> {
        let method = self.digest.as_ref()?.method()?;
        Some((method, self.mgf1.as_ref().map_or(Some(method), Named::method)?))
    }

    /// The key, where AWS-LC has it and this operation is one of ours.
    fn own<'a>(&self, material: &'a Material) -> Option<&'a Key> {
        material.key().filter(|_| self.padding != padding::OAEP || self.methods().is_some())
    }

    fn encrypt_own(&self, key: &Key, message: &[u8], out: &mut [u8]) -> Result<(), Reason> {
        let size = key.size();
        let mut block = block();
        let block = &mut block[..size];
        match (self.padding, self.methods()) {
            (padding::PKCS1, _) => {
                pkcs1_encode(message, block).map_err(|_| reason::rsa::DATA_TOO_LARGE_FOR_KEY_SIZE)?
            }
            (padding::OAEP, Some((method, mgf1))) => {
                oaep_encode(method, mgf1, &self.label, message, block)
                    .map_err(|_| reason::rsa::DATA_TOO_LARGE_FOR_KEY_SIZE)?;
            }
            (padding::NONE, _) if message.len() == size => block.copy_from_slice(message),
            (padding::NONE, _) => return Err(prov::INVALID_INPUT_LENGTH),
            _ => return Err(prov::ILLEGAL_OR_UNSUPPORTED_PADDING_MODE),
        }
        key.public_tally().count(Direction::Encrypt, 0);
        key.public_transform(block, out).map_err(|_| reason::rsa::DATA_TOO_LARGE_FOR_KEY_SIZE)
    }

    /// Decrypts into `out`, which has room for the modulus, or for a premaster secret where one is asked for.
    fn decrypt_own(&self, key: &Key, ciphertext: &[u8], out: &mut [u8]) -> Result<usize, Reason> {
        let size = key.size();
        // OpenSSL reads a shorter ciphertext as the number it is, 3.0 even an empty one.
        if ciphertext.is_empty() && self.provider().version >= (3, 2) {
            return Err(prov::INVALID_INPUT_LENGTH);
        }
        let start = size.checked_sub(ciphertext.len()).ok_or(prov::INVALID_INPUT_LENGTH)?;
        if !matches!(self.padding, padding::PKCS1 | padding::NONE | padding::OAEP | padding::TLS) {
            return Err(prov::ILLEGAL_OR_UNSUPPORTED_PADDING_MODE);
        }
        let mut input = [0; MAX_SIZE];
        let input = &mut input[..size];
        input[start..].copy_from_slice(ciphertext);
        let mut block = block();
        let block = &mut block[..size];
        key.private_tally().count(Direction::Encrypt, 0);
        key.private_transform(input, block).map_err(|_| prov::BAD_DECRYPT)?;
        let message: &[u8] = match (self.padding, self.methods()) {
            (padding::TLS, _) => {
                if self.client_version == 0 {
                    return Err(prov::FAILED_TO_GET_PARAMETER);
                }
                let mut secret = Zeroizing::new([0; PREMASTER]);
                premaster_decode(self.client_version, self.alternative_version, block, &mut secret)
                    .map_err(|_| prov::KEY_SIZE_TOO_SMALL)?;
                out[..PREMASTER].copy_from_slice(&secret[..]);
                return Ok(PREMASTER);
            }
            (padding::OAEP, Some((method, mgf1))) => {
                oaep_decode(method, mgf1, &self.label, block).map_err(|_| prov::BAD_DECRYPT)?
            }
            (padding::PKCS1, _) if self.implicit_rejection => {
                let length = pkcs1_decode_implicit(key, input, block).map_err(|_| prov::KEY_SIZE_TOO_SMALL)?;
                &block[..length]
            }
            (padding::PKCS1, _) => {
                let length = pkcs1_decode(block).map_err(|_| prov::BAD_DECRYPT)?;
                &block[..length]
            }
            _ => block,
        };
        out[..message.len()].copy_from_slice(message);
        Ok(message.len())
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn run(&self, output: Output, input: &[u8]) -> c_int {
        let Some(material) = &self.key else { return self.fail(prov::MISSING_KEY) };
        let decrypts = self.kind == Kind::Decrypt;
        let room = if decrypts && self.padding == padding::TLS { PREMASTER } else { material.size() };
        // SAFETY: see above.
        unsafe {
            if output.data.is_null() {
                *output.length = room;
                return 1;
            }
            if output.size < room {
                return self.fail(prov::OUTPUT_BUFFER_TOO_SMALL);
            }
            let Some(key) = self.own(material) else {
                let Some(mut operation) = self.delegate() else { return self.fail(prov::OPERATION_FAIL) };
                material.delegated_tally(decrypts).count(Direction::Encrypt, 0);
                return c_int::from(operation.run(output, input) > 0);
            };
            let out = abi::slice_mut(output.data, room);
            let done = if decrypts {
                self.decrypt_own(key, input, out)
            } else {
                self.encrypt_own(key, input, out).map(|()| room)
            };
            match done {
                Ok(length) => {
                    *output.length = length;
                    1
                }
                Err(reason) => self.fail(reason),
            }
        }
    }
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        adjunct::counters::attribute();
        abi::into_raw(Box::new(Context {
            // SAFETY: the context is ours.
            provider: unsafe { provider(provctx) },
            key: None,
            kind: Kind::Encrypt,
            padding: padding::PKCS1,
            digest: None,
            mgf1: None,
            label: Vec::new(),
            client_version: 0,
            alternative_version: 0,
            implicit_rejection: false,
        }))
    })
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    // SAFETY: OpenSSL frees a context once.
    guard((), || unsafe { abi::free::<Context>(ctx) });
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: the context is ours.
    guard(std::ptr::null_mut(), || match unsafe { abi::context::<Context>(ctx) } {
        Some(ctx) => abi::into_raw(Box::new(ctx.clone())),
        None => std::ptr::null_mut(),
    })
}

unsafe extern "C" fn encrypt_init(ctx: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: context and key are ours, the array OpenSSL's.
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |ctx| ctx.init(key, Kind::Encrypt, params)) })
}

unsafe extern "C" fn decrypt_init(ctx: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: as above.
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |ctx| ctx.init(key, Kind::Decrypt, params)) })
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
            let Some(ctx) = abi::context::<Context>(ctx) else { return 0 };
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
    // SAFETY: as OpenSSL calls it; the context knows what it was set up for.
    unsafe { encrypt(ctx, out, length, size, input, input_length) }
}

/// What contexts tell and take; the last one only where this OpenSSL or its configuration knows implicit rejection.
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
        let Some(ctx) = (unsafe { abi::context::<Context>(ctx) }) else { return 0 };
        // As OpenSSL, by the name it has for the digest, not the one that was given.
        let name = |named: Option<&Named>| {
            named.map_or("", |n| n.hash.map_or(&n.name[..], |hash| hash.name())).as_bytes().to_vec()
        };
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"digest" => p.set_utf8(&name(ctx.digest.as_ref())),
                b"mgf1-digest" => p.set_utf8(&name(ctx.mgf1.as_ref().or(ctx.digest.as_ref()))),
                b"pad-mode" if p.data_type == param::UTF8 => {
                    padding::name(ctx.padding).is_none_or(|name| p.set_str(name))
                }
                b"pad-mode" => p.set_i64(ctx.padding),
                b"oaep-label" => p.set_octets(&ctx.label),
                b"tls-client-version" => p.set_u64(u64::from(ctx.client_version)),
                b"tls-negotiated-version" => p.set_u64(u64::from(ctx.alternative_version)),
                b"implicit-rejection" => p.set_u64(u64::from(ctx.implicit_rejection)),
                _ => true,
            };
            if !done {
                return 0;
            }
        }
        1
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
    guard(0, || unsafe { abi::context::<Context>(ctx).map_or(0, |ctx| ctx.set(params)) })
}
