//! ML-KEM and its hybrids: keys.

use super::{KEYPAIR, KINDS, PRIVATE, PUBLIC, ProviderKemKey, TYPES, algorithms, key};
use crate::abi::build::Builder;
use crate::abi::param::{self, INTEGER, OCTETS, Param, UTF8};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::forward;
use crate::provider::{Provider, provider};
use adjunct::error::Error;
use adjunct::memory::{Shared, zeros};
use adjunct::ops;
use adjunct::ops::kem::{KemGroup, KemKey};
use adjunct::ops::mlkem::SEED;
use std::ffi::{c_int, c_void};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = algorithms!(functions, " keys");

/// The last entry but the end is the check of keys, which OpenSSL has of ML-KEM alone: for hybrids the table ends before it.
const fn functions<const K: usize>() -> [Dispatch; 20] {
    [
        entry!(id::KEYMGMT_NEW, new::<K>),
        entry!(id::KEYMGMT_FREE, abi::freed::<ProviderKemKey>),
        entry!(id::KEYMGMT_GEN_INIT, gen_init::<K>),
        entry!(id::KEYMGMT_GEN_SET_PARAMS, gen_set_params::<K>),
        entry!(id::KEYMGMT_GEN_SETTABLE_PARAMS, gen_settable_params::<K>),
        entry!(id::KEYMGMT_GEN, generate::<K>),
        entry!(id::KEYMGMT_GEN_CLEANUP, abi::freed::<Generation>),
        entry!(id::KEYMGMT_GET_PARAMS, get_params),
        entry!(id::KEYMGMT_GETTABLE_PARAMS, gettable_params::<K>),
        entry!(id::KEYMGMT_SET_PARAMS, set_params),
        entry!(id::KEYMGMT_SETTABLE_PARAMS, settable_params::<K>),
        entry!(id::KEYMGMT_HAS, has),
        entry!(id::KEYMGMT_MATCH, same),
        entry!(id::KEYMGMT_IMPORT, import),
        entry!(id::KEYMGMT_IMPORT_TYPES, transfer_types::<K>),
        entry!(id::KEYMGMT_EXPORT, export),
        entry!(id::KEYMGMT_EXPORT_TYPES, transfer_types::<K>),
        entry!(id::KEYMGMT_DUP, dup),
        if KINDS[K].is_hybrid() { Dispatch::END } else { entry!(id::KEYMGMT_VALIDATE, validate) },
        Dispatch::END,
    ]
}

fn make(provider: &'static Provider, kind: usize, key: Option<KemKey>) -> *mut c_void {
    match key.map(Shared::new).transpose() {
        Ok(key) => abi::give(ProviderKemKey { provider, kind, key }),
        Err(_) => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn new<const K: usize>(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: OpenSSL keeps the provider as long as its keys.
    guard(std::ptr::null_mut(), || make(unsafe { provider(provctx) }, K, None))
}

fn has_selected(kem: &ProviderKemKey, selection: c_int) -> bool {
    match selection & KEYPAIR {
        0 => true,
        PUBLIC => kem.key.is_some(),
        _ => kem.private_of().is_some(),
    }
}

unsafe extern "C" fn has(keydata: *const c_void, selection: c_int) -> c_int {
    // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
    guard(0, || c_int::from(unsafe { key(keydata) }.is_some_and(|kem| has_selected(kem, selection))))
}

unsafe extern "C" fn validate(keydata: *const c_void, selection: c_int, _check: c_int) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(kem) = (unsafe { key(keydata) }).filter(|kem| has_selected(kem, selection)) else { return 0 };
        let pair = |kem: &ProviderKemKey| kem.private_of().is_some_and(|key| key.is_pair().unwrap_or(false));
        if selection & KEYPAIR == KEYPAIR && !pair(kem) {
            kem.provider.core.raise(prov::INVALID_KEY);
            return 0;
        }
        1
    })
}

unsafe extern "C" fn same(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes two pointers that are null or keys of this key management that have not been freed.
        let (Some(a), Some(b)) = (unsafe { (key(one), key(other)) }) else { return 0 };
        if a.kind != b.kind {
            return 0;
        }
        if selection & KEYPAIR == 0 {
            return 1;
        }
        c_int::from(match (&a.key, &b.key) {
            (Some(a), Some(b)) => a.same_public(b),
            (None, None) => true,
            _ => false,
        })
    })
}

/// The reason for what the core refuses of a key.
fn reason(error: &Error) -> Reason {
    match error {
        Error::Memory => prov::MALLOC_FAILURE,
        Error::Length { .. } => prov::INVALID_KEY_LENGTH,
        Error::InvalidKey(_) => prov::INVALID_KEY,
        _ => prov::INTERNAL_ERROR,
    }
}

/// A key of the parameters; without a reason where a parameter has another type, or the error is raised already.
fn imported(
    provider: &Provider,
    kind: KemGroup,
    selection: c_int,
    params: *const Param,
) -> Result<KemKey, Option<Reason>> {
    // SAFETY: the array is OpenSSL's.
    let find = |name, wanted: bool| match unsafe { param::find(params, name) }.filter(|_| wanted) {
        None => Ok(None),
        Some(param) => param.get_octets().map(|bytes| (!bytes.is_empty()).then_some(bytes)).ok_or(None),
    };
    let private_too = selection & PRIVATE != 0;
    let seed = find(c"seed", private_too && !kind.is_hybrid())?;
    let seed = match seed.map(<&[u8; SEED]>::try_from).transpose() {
        Ok(seed) => seed,
        Err(_) => return Err(Some(prov::INVALID_SEED_LENGTH)),
    };
    let (private, public) = (find(c"priv", private_too)?, find(c"pub", true)?);
    let long = |bytes: Option<&[u8]>, length| bytes.is_none_or(|bytes| bytes.len() == length);
    // The length of a private key without a seed is the core's to judge.
    if seed.is_some() && !long(private, kind.private()) || !long(public, kind.public()) {
        return Err(Some(prov::INVALID_KEY_LENGTH));
    }
    let refused = |error: Error| (!provider.is_final(&error)).then(|| reason(&error));
    let key = match (seed, private, public) {
        (Some(seed), ..) => KemKey::of_seed(kind, seed).map_err(refused)?,
        (None, Some(private), _) => KemKey::private(kind, private, public).map_err(refused)?,
        (None, None, Some(public)) => return KemKey::public_only(kind, public).map_err(refused),
        (None, None, None) => return Err(Some(prov::MISSING_KEY)),
    };
    // What is given besides has to be of the same key.
    let mistaken = |text| Err(Some(prov::INVALID_KEY.with(text)));
    if let (Some(_), Some(private)) = (seed, private) {
        let mut own = zeros(kind.private()).map_err(refused)?;
        key.write_private(&mut own).map_err(refused)?;
        if !bool::from(own[..].ct_eq(private)) {
            return mistaken(c"the private key does not match the seed");
        }
    }
    if let (Some(_), Some(public)) = (private, public) {
        let mut own = zeros(kind.public()).map_err(refused)?;
        key.write_public(&mut own).map_err(refused)?;
        if own[..] != *public {
            return mistaken(c"the public key does not match the private one");
        }
    }
    Ok(key)
}

unsafe extern "C" fn import(keydata: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's; it imports into one that nobody else has yet.
        let Some(kem) = (unsafe { abi::context::<ProviderKemKey>(keydata) }) else { return 0 };
        // A key is not changed once it is there.
        if selection & KEYPAIR == 0 || kem.key.is_some() {
            return 0;
        }
        set(kem, imported(kem.provider, kem.kind(), selection, params))
    })
}

/// Stores a key, or raises the reason why there is none.
fn set(kem: &mut ProviderKemKey, key: Result<KemKey, Option<Reason>>) -> c_int {
    match key.and_then(|key| Shared::new(key).map_err(|error| Some(reason(&error)))) {
        Ok(key) => {
            kem.key = Some(key);
            1
        }
        Err(why) => {
            if let Some(why) = why {
                kem.provider.core.raise(why);
            }
            0
        }
    }
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
        let Some(kem) = (unsafe { key(keydata) }) else { return 0 };
        if selection & KEYPAIR == 0 {
            return 0;
        }
        if kem.key.is_none() {
            kem.provider.core.raise(prov::MISSING_KEY);
            return 0;
        }
        let mut builder = Builder::default();
        if !kem.describe(selection, &mut builder) {
            return 0;
        }
        // SAFETY: OpenSSL's callback with its argument; the array lives through the call.
        builder.finish().map_or(0, |params| unsafe { callback(params, argument) })
    })
}

static TRANSFER: [Param; 4] = [
    Param::describe(c"seed", OCTETS, 0),
    Param::describe(c"priv", OCTETS, 0),
    Param::describe(c"pub", OCTETS, 0),
    Param::END,
];

unsafe extern "C" fn transfer_types<const K: usize>(selection: c_int) -> *const Param {
    if selection & KEYPAIR == 0 {
        return std::ptr::null();
    }
    if KINDS[K].is_hybrid() { TRANSFER[1..].as_ptr() } else { TRANSFER.as_ptr() }
}

unsafe extern "C" fn dup(keydata: *const c_void, selection: c_int) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(kem) = (unsafe { key(keydata) }) else { return std::ptr::null_mut() };
        // What is not there is not asked for.
        let there = if kem.private_of().is_some() { KEYPAIR } else { PUBLIC };
        let key = match (&kem.key, selection & KEYPAIR & there) {
            (None, _) | (_, 0) => None,
            (Some(key), PUBLIC) if there == KEYPAIR && !kem.kind().is_hybrid() => match key.without_private() {
                Ok(key) => return make(kem.provider, kem.kind, Some(key)),
                Err(_) => return std::ptr::null_mut(),
            },
            (Some(key), selected) if selected == there => Some(key.clone()),
            _ => {
                kem.provider.core.raise(prov::UNSUPPORTED_SELECTION);
                return std::ptr::null_mut();
            }
        };
        abi::give(ProviderKemKey { key, ..*kem })
    })
}

static GETTABLE: [Param; 9] = [
    Param::describe(c"bits", INTEGER, 4),
    Param::describe(c"security-bits", INTEGER, 4),
    Param::describe(c"max-size", INTEGER, 4),
    Param::describe(c"security-category", INTEGER, 4),
    Param::describe(c"encoded-pub-key", OCTETS, 0),
    Param::describe(c"pub", OCTETS, 0),
    Param::describe(c"priv", OCTETS, 0),
    Param::describe(c"seed", OCTETS, 0),
    Param::END,
];

static HYBRID_GETTABLE: [Param; 8] = [
    Param::describe(c"bits", INTEGER, 4),
    Param::describe(c"security-bits", INTEGER, 4),
    Param::describe(c"max-size", INTEGER, 4),
    Param::describe(c"security-category", INTEGER, 4),
    Param::describe(c"encoded-pub-key", OCTETS, 0),
    Param::describe(c"pub", OCTETS, 0),
    Param::describe(c"priv", OCTETS, 0),
    Param::END,
];

static SETTABLE: [Param; 3] =
    [Param::describe(c"encoded-pub-key", OCTETS, 0), Param::describe(c"properties", UTF8, 0), Param::END];

unsafe extern "C" fn gettable_params<const K: usize>(provctx: *mut c_void) -> *const Param {
    let ours = if KINDS[K].is_hybrid() { HYBRID_GETTABLE.as_ptr() } else { GETTABLE.as_ptr() };
    // SAFETY: OpenSSL's provider context, or null.
    guard(ours, || unsafe { crate::ec::key_params(provctx, TYPES[K]) }.unwrap_or(ours))
}

static ML_KEM_SETTABLE: [Param; 2] = [Param::describe(c"encoded-pub-key", OCTETS, 0), Param::END];

unsafe extern "C" fn settable_params<const K: usize>(_provctx: *mut c_void) -> *const Param {
    if KINDS[K].is_hybrid() { SETTABLE.as_ptr() } else { ML_KEM_SETTABLE.as_ptr() }
}

/// The strength and the category of each parameter set (FIPS 203, table 2): of a hybrid, ML-KEM's, as OpenSSL has it.
fn strength(kind: KemGroup) -> (usize, usize) {
    match kind.set().number() {
        512 => (128, 1),
        768 => (192, 3),
        _ => (256, 5),
    }
}

/// Answers a request with `length` bytes, which `write` writes.
fn octets(p: &mut Param, length: usize, write: impl FnOnce(&mut [u8]) -> Result<(), Error>) -> bool {
    zeros(length).is_ok_and(|mut bytes| write(&mut bytes).is_ok() && p.set_octets(&bytes))
}

/// Answers a request. `None`: the name is none of these.
fn answer(kem: &ProviderKemKey, p: &mut Param) -> Option<bool> {
    let (kind, key) = (kem.kind(), kem.key.as_deref());
    let (bits, category) = strength(kind);
    Some(match p.name().to_bytes() {
        b"bits" => p.set_usize(kind.set().number()),
        b"security-bits" => p.set_usize(bits),
        b"max-size" => p.set_usize(kind.ciphertext()),
        b"security-category" => p.set_usize(category),
        b"encoded-pub-key" | b"pub" => key.is_none_or(|key| octets(p, kind.public(), |bytes| key.write_public(bytes))),
        b"priv" => {
            let key = key.filter(|key| key.has_private());
            key.is_none_or(|key| octets(p, kind.private(), |bytes| key.write_private(bytes)))
        }
        b"seed" => key.and_then(KemKey::seed).is_none_or(|seed| p.set_octets(seed)),
        _ => return None,
    })
}

unsafe extern "C" fn get_params(keydata: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a key of this key management that has not been freed.
        let Some(kem) = (unsafe { key(keydata) }) else { return 0 };
        let mut others = false;
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter_mut(params) } {
            match answer(kem, p) {
                Some(true) => {}
                None => others = true,
                Some(false) => return 0,
            }
        }
        // What newer versions ask for (how CMS addresses such keys) the default provider answers, where it has such keys.
        if !others || super::stock(kem.provider, kem.kind).is_none() {
            return 1;
        }
        let Some(key) = kem.delegated() else { return 0 };
        let (algorithm, raw) = (key.algorithm(), key.raw());
        forward!(algorithm, id::KEYMGMT_GET_PARAMS, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
    })
}

unsafe extern "C" fn set_params(keydata: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's, which answers for nobody using it meanwhile; its array.
        let (kem, encoded) =
            unsafe { (abi::context::<ProviderKemKey>(keydata), param::find(params, c"encoded-pub-key")) };
        let Some(kem) = kem else { return 0 };
        let Some(encoded) = encoded else { return 1 };
        let (bytes, kind) = (encoded.get_octets(), kem.kind());
        let mutated = prov::OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE.with(c"keys cannot be mutated");
        let long = bytes.is_some_and(|bytes| bytes.len() == kind.public());
        let refused = match (kind.is_hybrid(), kem.key.is_some()) {
            (true, true) => Some(mutated),
            (true, false) if bytes.is_none() => return 0,
            _ if !long => Some(prov::INVALID_KEY),
            (false, true) => Some(mutated),
            _ => None,
        };
        let key = match (refused, bytes) {
            (None, Some(bytes)) => KemKey::public_only(kind, bytes).map_err(|error| Some(reason(&error))),
            (why, _) => Err(why),
        };
        set(kem, key)
    })
}

/// A key to be made.
struct Generation {
    provider: &'static Provider,
    selection: c_int,
    /// Seed that the key is made of, once, in place of random bytes.
    seed: Option<Zeroizing<[u8; SEED]>>,
}

unsafe extern "C" fn gen_init<const K: usize>(
    provctx: *mut c_void,
    selection: c_int,
    params: *const Param,
) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // There are no public keys without private ones to be made.
        if selection & (id::KEYMGMT_SELECT_DOMAIN_PARAMETERS | PRIVATE) == 0 {
            return std::ptr::null_mut();
        }
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        let mut generation = Generation { provider, selection, seed: None };
        // SAFETY: the array is OpenSSL's.
        if !unsafe { generation.set::<K>(params) } {
            return std::ptr::null_mut();
        }
        abi::give(generation)
    })
}

impl Generation {
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set<const K: usize>(&mut self, params: *const Param) -> bool {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        let (properties, seed) = unsafe { (param::find(params, c"properties"), param::find(params, c"seed")) };
        if properties.is_some_and(|p| p.data_type != UTF8) {
            return false;
        }
        let Some(seed) = seed.filter(|_| !KINDS[K].is_hybrid()) else { return true };
        let Some(bytes) = seed.get_octets().and_then(|bytes| <&[u8; SEED]>::try_from(bytes).ok()) else {
            self.seed = None;
            self.provider.core.raise(prov::INVALID_SEED_LENGTH);
            return false;
        };
        self.seed.insert(Zeroizing::new([0; SEED])).copy_from_slice(bytes);
        true
    }
}

static GENERATION: [Param; 3] =
    [Param::describe(c"seed", OCTETS, 0), Param::describe(c"properties", UTF8, 0), Param::END];

unsafe extern "C" fn gen_settable_params<const K: usize>(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    if KINDS[K].is_hybrid() { GENERATION[1..].as_ptr() } else { GENERATION.as_ptr() }
}

unsafe extern "C" fn gen_set_params<const K: usize>(context: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's and its array. The name of a group, which libssl sets for every key of its, is passed over.
        unsafe { abi::context::<Generation>(context).map_or(0, |generation| c_int::from(generation.set::<K>(params))) }
    })
}

unsafe extern "C" fn generate<const K: usize>(
    context: *mut c_void,
    _callback: Option<Callback>,
    _argument: *mut c_void,
) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: a context of OpenSSL's.
        let Some(generation) = (unsafe { abi::context::<Generation>(context) }) else { return std::ptr::null_mut() };
        let made = match (generation.selection & KEYPAIR, generation.seed.take()) {
            // Parameters alone, for a peer's public key to come.
            (0, _) => return make(generation.provider, K, None),
            (PUBLIC, _) => return std::ptr::null_mut(),
            (_, Some(seed)) => KemKey::generate_of(KINDS[K], &seed),
            (_, None) => KemKey::generate(KINDS[K]),
        };
        match made {
            Ok(key) => make(generation.provider, K, Some(key)),
            Err(error) => {
                generation.provider.core.raise(reason(&error));
                std::ptr::null_mut()
            }
        }
    })
}
