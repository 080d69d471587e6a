//! X25519 and Ed25519: keys.

use super::{EcxKey, Pair, type_name};
use crate::abi::build::Builder;
use crate::abi::param::{self, INTEGER, OCTETS, Param, UTF8};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{self, AlgorithmContext, forward};
use crate::provider::{Provider, provider};
use adjunct::catalogue::{Direction, Function};
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::ecx::{Private, ed25519, x25519, x25519::KEY};
use std::ffi::{c_int, c_void};
use zeroize::Zeroizing;

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[
    Algorithm {
        names: c"X25519:1.3.101.110",
        dispatch: &functions::<false>(),
        description: c"adjunct X25519 keys by AWS-LC",
    },
    Algorithm {
        names: c"ED25519:1.3.101.112",
        dispatch: &functions::<true>(),
        description: c"adjunct Ed25519 keys by AWS-LC",
    },
];

const fn functions<const ED: bool>() -> [Dispatch; 20] {
    [
        entry!(id::KEYMGMT_NEW, new),
        entry!(id::KEYMGMT_FREE, abi::freed::<EcxKey>),
        entry!(id::KEYMGMT_GEN_INIT, gen_init),
        entry!(id::KEYMGMT_GEN_SET_PARAMS, gen_set_params::<ED>),
        entry!(id::KEYMGMT_GEN_SETTABLE_PARAMS, gen_settable_params),
        entry!(id::KEYMGMT_GEN, generate::<ED>),
        entry!(id::KEYMGMT_GEN_CLEANUP, abi::freed::<Generation>),
        entry!(id::KEYMGMT_GET_PARAMS, get_params::<ED>),
        entry!(id::KEYMGMT_GETTABLE_PARAMS, gettable_params::<ED>),
        entry!(id::KEYMGMT_SET_PARAMS, set_params::<ED>),
        entry!(id::KEYMGMT_SETTABLE_PARAMS, settable_params::<ED>),
        entry!(id::KEYMGMT_HAS, has),
        entry!(id::KEYMGMT_VALIDATE, validate::<ED>),
        entry!(id::KEYMGMT_MATCH, same),
        entry!(id::KEYMGMT_IMPORT, import::<ED>),
        entry!(id::KEYMGMT_IMPORT_TYPES, transfer_types),
        entry!(id::KEYMGMT_EXPORT, export),
        entry!(id::KEYMGMT_EXPORT_TYPES, transfer_types),
        entry!(id::KEYMGMT_DUP, dup),
        Dispatch::END,
    ]
}

const PUBLIC: c_int = id::KEYMGMT_SELECT_PUBLIC_KEY;
const PRIVATE: c_int = id::KEYMGMT_SELECT_PRIVATE_KEY;
const KEYPAIR: c_int = PUBLIC | PRIVATE;

/// The key behind a pointer of OpenSSL's. Shared: several threads may hold the same key.
///
/// # Safety
/// `key` is null or came from this key management and has not been freed.
unsafe fn key<'a>(key: *const c_void) -> Option<&'a EcxKey> {
    // SAFETY: the caller passes null or a key of this key management that has not been freed.
    unsafe { key.cast::<EcxKey>().as_ref() }
}

fn make(provider: &'static Provider, pair: Pair) -> *mut c_void {
    Shared::new(pair).map_or(std::ptr::null_mut(), |pair| abi::give(EcxKey { provider, pair }))
}

unsafe extern "C" fn new(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: OpenSSL keeps the provider as long as its keys.
    guard(std::ptr::null_mut(), || make(unsafe { provider(provctx) }, Pair::default()))
}

unsafe extern "C" fn has(keydata: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(ecx) = (unsafe { key(keydata) }) else { return 0 };
        c_int::from(
            (selection & PUBLIC == 0 || ecx.pair.public.is_some())
                && (selection & PRIVATE == 0 || ecx.pair.private.is_some()),
        )
    })
}

unsafe extern "C" fn validate<const ED: bool>(keydata: *const c_void, selection: c_int, check: c_int) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(ecx) = (unsafe { key(keydata) }) else { return 0 };
        if selection & KEYPAIR == 0 {
            return 1;
        }
        // What a public key must be has changed between versions of OpenSSL; where it is not an ordinary one, ask.
        if ED && selection & PUBLIC != 0 && ecx.pair.public.is_some_and(|public| !ed25519::is_ordinary(&public)) {
            let Some(d) = ecx.pair.delegated::<ED>(ecx.provider) else { return 0 };
            let (algorithm, raw) = (d.algorithm(), d.raw());
            return forward!(
                algorithm,
                id::KEYMGMT_VALIDATE,
                fn(*const c_void, c_int, c_int) -> c_int,
                0,
                (raw, selection, check)
            );
        }
        let (public, private) = (&ecx.pair.public, &ecx.pair.private);
        let valid = match selection & KEYPAIR {
            PUBLIC => public.is_some(),
            PRIVATE => private.is_some(),
            _ => {
                matches!((public, private), (Some(public), Some(private)) if super::public_of::<ED>(private).as_ref() == Ok(public))
            }
        };
        c_int::from(valid)
    })
}

unsafe extern "C" fn same(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes two pointers that are null or keys of this key management that have not been freed.
        let (Some(a), Some(b)) = (unsafe { (key(one), key(other)) }) else { return 0 };
        if selection & KEYPAIR == 0 {
            return 1;
        }
        if let (true, Some(a), Some(b)) = (selection & PUBLIC != 0, &a.pair.public, &b.pair.public) {
            return c_int::from(a == b);
        }
        match (selection & PRIVATE != 0, &a.pair.private, &b.pair.private) {
            (true, Some(a), Some(b)) => c_int::from(a.is(b)),
            _ => 0,
        }
    })
}

unsafe extern "C" fn import<const ED: bool>(keydata: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's; it imports into one that nobody else has yet.
        let Some(ecx) = (unsafe { abi::context::<EcxKey>(keydata) }) else { return 0 };
        if selection & KEYPAIR == 0 {
            return 0;
        }
        // SAFETY: the array is OpenSSL's.
        let (public, private) = unsafe { (param::find(params, c"pub"), param::find(params, c"priv")) };
        let private = private.filter(|_| selection & PRIVATE != 0);
        let public = public.map(|p| p.get_octets().and_then(|bytes| <[u8; KEY]>::try_from(bytes).ok()));
        let private = match private.map(|p| p.get_octets().map(Private::of)) {
            Some(Some(Err(error))) if ecx.provider.is_final(&error) => return 0,
            private => private.map(|private| private.and_then(Result::ok)),
        };
        let pair = match (public, private) {
            (None, Some(Some(private))) => match Pair::of_private::<ED>(private) {
                Ok(pair) => pair,
                Err(error) => {
                    ecx.provider.is_final(&error);
                    return 0;
                }
            },
            (Some(Some(public)), None) => Pair { public: Some(public), private: None },
            (Some(Some(public)), Some(Some(private))) => Pair { public: Some(public), private: Some(private) },
            _ => {
                // OpenSSL refuses it with its own errors.
                if let Some(key) = Pair::default().delegated::<ED>(ecx.provider) {
                    super::import_into(&key, selection, params);
                }
                return 0;
            }
        };
        let Ok(pair) = Shared::new(pair) else { return 0 };
        ecx.pair = pair;
        1
    })
}

type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

unsafe extern "C" fn export(
    keydata: *mut c_void,
    selection: c_int,
    callback: Callback,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(ecx) = (unsafe { key(keydata) }) else { return 0 };
        if selection & KEYPAIR == 0 {
            return 0;
        }
        let secret = |private: &Private<KEY>| private.bytes().is_none();
        if selection & PRIVATE != 0 && ecx.pair.private.as_ref().is_some_and(secret) {
            ecx.provider.core.raise(prov::NOT_A_PRIVATE_KEY.with(c"its bytes are not given out"));
            return 0;
        }
        let mut builder = Builder::default();
        ecx.pair.describe(selection & PRIVATE != 0, &mut builder);
        // SAFETY: OpenSSL's callback with its argument; the array lives through the call.
        builder.finish().map_or(0, |params| unsafe { callback(params, argument) })
    })
}

static TRANSFER: [Param; 3] = [Param::describe(c"pub", OCTETS, 0), Param::describe(c"priv", OCTETS, 0), Param::END];

unsafe extern "C" fn transfer_types(selection: c_int) -> *const Param {
    if selection & KEYPAIR == 0 { std::ptr::null() } else { TRANSFER.as_ptr() }
}

unsafe extern "C" fn dup(keydata: *const c_void, selection: c_int) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(ecx) = (unsafe { key(keydata) }) else { return std::ptr::null_mut() };
        let public = ecx.pair.public.filter(|_| selection & PUBLIC != 0);
        let private = ecx.pair.private.clone().filter(|_| selection & PRIVATE != 0);
        make(ecx.provider, Pair { public, private })
    })
}

static X_GETTABLE: [Param; 7] = [
    Param::describe(c"bits", INTEGER, 4),
    Param::describe(c"security-bits", INTEGER, 4),
    Param::describe(c"max-size", INTEGER, 4),
    Param::describe(c"encoded-pub-key", OCTETS, 0),
    Param::describe(c"pub", OCTETS, 0),
    Param::describe(c"priv", OCTETS, 0),
    Param::END,
];

static ED_GETTABLE: [Param; 7] = [
    Param::describe(c"bits", INTEGER, 4),
    Param::describe(c"security-bits", INTEGER, 4),
    Param::describe(c"max-size", INTEGER, 4),
    Param::describe(c"mandatory-digest", UTF8, 0),
    Param::describe(c"pub", OCTETS, 0),
    Param::describe(c"priv", OCTETS, 0),
    Param::END,
];

static X_SETTABLE: [Param; 3] =
    [Param::describe(c"encoded-pub-key", OCTETS, 0), Param::describe(c"properties", UTF8, 0), Param::END];

static ED_SETTABLE: [Param; 1] = [Param::END];

unsafe extern "C" fn gettable_params<const ED: bool>(provctx: *mut c_void) -> *const Param {
    let ours = if ED { ED_GETTABLE.as_ptr() } else { X_GETTABLE.as_ptr() };
    // SAFETY: OpenSSL's provider context, or null.
    guard(ours, || unsafe { crate::ec::key_params(provctx, type_name::<ED>()) }.unwrap_or(ours))
}

unsafe extern "C" fn settable_params<const ED: bool>(_provctx: *mut c_void) -> *const Param {
    if ED { ED_SETTABLE.as_ptr() } else { X_SETTABLE.as_ptr() }
}

unsafe extern "C" fn get_params<const ED: bool>(keydata: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(ecx) = (unsafe { key(keydata) }) else { return 0 };
        let pair = &*ecx.pair;
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"bits" => p.set_usize(if ED { 256 } else { 253 }),
                b"security-bits" => p.set_usize(128),
                b"max-size" => p.set_usize(if ED { ed25519::SIGNATURE } else { KEY }),
                // Of post-quantum strength (OpenSSL 3.6): none.
                b"security-category" => p.set_usize(0),
                b"mandatory-digest" if ED => p.set_str(c""),
                b"encoded-pub-key" if !ED => pair.public.as_ref().is_some_and(|public| p.set_octets(public)),
                b"pub" => pair.public.as_ref().is_none_or(|public| p.set_octets(public)),
                b"priv" => pair.private.as_ref().and_then(Private::bytes).is_none_or(|private| p.set_octets(private)),
                _ => true,
            };
            if !done {
                // What cannot be answered is an error of OpenSSL's.
                return pair
                    .delegated::<ED>(ecx.provider)
                    .map_or(0, |key| with_params(&key, id::KEYMGMT_GET_PARAMS, params));
            }
        }
        1
    })
}

/// Calls a function of the default provider that takes a key and a parameter array.
fn with_params(key: &AlgorithmContext, function: c_int, params: *mut Param) -> c_int {
    let (algorithm, raw) = (key.algorithm(), key.raw());
    forward!(algorithm, function, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
}

unsafe extern "C" fn set_params<const ED: bool>(keydata: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's, which answers for nobody using it meanwhile; its array.
        let (ecx, encoded) = unsafe { (abi::context::<EcxKey>(keydata), param::find(params, c"encoded-pub-key")) };
        let Some(ecx) = ecx else { return 0 };
        let Some(encoded) = encoded.filter(|_| !ED) else { return 1 };
        let Some(public) = encoded.get_octets().and_then(|bytes| <[u8; KEY]>::try_from(bytes).ok()) else {
            // OpenSSL refuses it with its own errors.
            if let Some(key) = ecx.pair.delegated::<ED>(ecx.provider) {
                with_params(&key, id::KEYMGMT_SET_PARAMS, params.cast_mut());
            }
            return 0;
        };
        // Another's public key: ours is no longer its private one.
        let Ok(pair) = Shared::new(Pair { public: Some(public), private: None }) else { return 0 };
        ecx.pair = pair;
        1
    })
}

/// A key to be made.
struct Generation {
    provider: &'static Provider,
    selection: c_int,
    /// Keying material to derive the key from (RFC 9180), instead of drawing it.
    material: Option<Zeroizing<Vec<u8>>>,
}

unsafe extern "C" fn gen_init(provctx: *mut c_void, selection: c_int, params: *const Param) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        let mut generation = Generation { provider, selection, material: None };
        // The type is not known here: a group is looked at by gen_set_params only.
        // SAFETY: the array is OpenSSL's.
        generation.set_material(unsafe { param::find(params, c"dhkem-ikm") });
        abi::give(generation)
    })
}

static GENERATION: [Param; 4] = [
    Param::describe(c"group", UTF8, 0),
    Param::describe(c"properties", UTF8, 0),
    Param::describe(c"dhkem-ikm", OCTETS, 0),
    Param::END,
];

unsafe extern "C" fn gen_settable_params(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GENERATION.as_ptr()
}

unsafe extern "C" fn gen_set_params<const ED: bool>(context: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's and its array.
        let (generation, group, material) = unsafe {
            let (group, material) = (param::find(params, c"group"), param::find(params, c"dhkem-ikm"));
            (abi::context::<Generation>(context), group, material)
        };
        let Some(generation) = generation else { return 0 };
        let known = |p: &Param| !ED && p.get_str().is_some_and(|name| name.eq_ignore_ascii_case("x25519"));
        if !group.is_none_or(known) {
            generation.provider.core.raise(prov::PASSED_INVALID_ARGUMENT);
            return 0;
        }
        generation.set_material(material);
        1
    })
}

unsafe extern "C" fn generate<const ED: bool>(
    context: *mut c_void,
    _callback: Option<Callback>,
    _argument: *mut c_void,
) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: a context of OpenSSL's.
        let Some(generation) = (unsafe { abi::context::<Generation>(context) }) else { return std::ptr::null_mut() };
        let pair = match &generation.material {
            // Parameters alone: there are none.
            _ if generation.selection & KEYPAIR == 0 => return make(generation.provider, Pair::default()),
            Some(material) => {
                let Some(pair) = derived::<ED>(generation, material) else { return std::ptr::null_mut() };
                let function = if ED { Function::Ed25519Keygen } else { Function::X25519Keygen };
                ops::Delegated::new(function, 0).done(Direction::Encrypt, 0);
                pair
            }
            _ => {
                let (private, public) = if ED { ed25519::generate() } else { x25519::generate() };
                Pair { public: Some(public), private: Some(private) }
            }
        };
        make(generation.provider, pair)
    })
}

impl Generation {
    fn set_material(&mut self, param: Option<&Param>) {
        if let Some(material) = param.and_then(Param::get_octets) {
            self.material = (!material.is_empty()).then(|| Zeroizing::new(material.to_vec()));
        }
    }
}

/// The key that the default provider derives from keying material; for Ed25519 it has no derivation, and OpenSSL may refuse the material or pass over
/// it.
fn derived<const ED: bool>(generation: &Generation, material: &[u8]) -> Option<Pair> {
    let mut builder = Builder::default();
    builder.octets(c"dhkem-ikm", material);
    let (library, params) = (generation.provider.fallback()?, builder.finish()?);
    // SAFETY: both arrays end and live through the calls; there is nothing to report to.
    unsafe {
        let mut maker = fallback::Generation::new(library, type_name::<ED>(), generation.selection, params)?;
        let key = maker.run(None, std::ptr::null_mut())?;
        let mut private = Zeroizing::new([0; KEY]);
        let mut request = [Param::describe(c"priv", OCTETS, KEY), Param::END];
        request[0].data = private.as_mut_ptr().cast();
        let done = key.get_params(request.as_mut_ptr());
        (done == 1 && request[0].return_size == KEY)
            .then(|| Pair::of_private::<ED>(Private::new(&private)).ok())
            .flatten()
    }
}
