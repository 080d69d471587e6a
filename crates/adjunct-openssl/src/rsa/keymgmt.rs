//! RSA: keys (provider-keymgmt(7), EVP_PKEY-RSA(7)).

use super::key::{Exported, Foreign, Material, PAIR, PARTS, integer};
use crate::abi::build::Builder;
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::reason::rsa;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{self, ExportCallback};
use crate::provider::{Provider, provider};
use adjunct::catalogue::{Direction, Function};
use adjunct::memory::Shared;
use adjunct::ops::rsa::{Part, RsaKey};
use adjunct::ops::{self, Delegated};
use adjunct_ossl::default_provider;
use std::ffi::{c_char, c_int, c_void};
use zeroize::Zeroizing;

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
    dispatch: &FUNCTIONS,
    description: c"adjunct RSA",
}];

static FUNCTIONS: [Dispatch; 19] = [
    entry!(id::KEYMGMT_NEW, new),
    entry!(id::KEYMGMT_GEN_INIT, gen_init),
    entry!(id::KEYMGMT_GEN_SET_PARAMS, gen_set_params),
    entry!(id::KEYMGMT_GEN_SETTABLE_PARAMS, gen_settable_params),
    entry!(id::KEYMGMT_GEN, generate),
    entry!(id::KEYMGMT_GEN_CLEANUP, abi::freed::<Generation>),
    entry!(id::KEYMGMT_FREE, abi::freed::<KeyObject>),
    entry!(id::KEYMGMT_GET_PARAMS, get_params),
    entry!(id::KEYMGMT_GETTABLE_PARAMS, gettable_params),
    entry!(id::KEYMGMT_HAS, has),
    entry!(id::KEYMGMT_MATCH, same),
    entry!(id::KEYMGMT_VALIDATE, validate),
    entry!(id::KEYMGMT_IMPORT, import),
    entry!(id::KEYMGMT_IMPORT_TYPES, types),
    entry!(id::KEYMGMT_EXPORT, export),
    entry!(id::KEYMGMT_EXPORT_TYPES, types),
    entry!(id::KEYMGMT_DUP, dup),
    entry!(id::KEYMGMT_QUERY_OPERATION_NAME, operation_name),
    Dispatch::END,
];

/// The object that OpenSSL holds as a key; empty until an import.
pub(super) struct KeyObject {
    provider: *const Provider,
    pub(super) material: Option<Shared<Material>>,
}

impl KeyObject {
    fn provider(&self) -> &Provider {
        // SAFETY: OpenSSL keeps a provider as long as its objects live.
        unsafe { &*self.provider }
    }

    /// The key in the default provider; an empty one there, too.
    fn foreign(&self) -> Option<fallback::Key> {
        match &self.material {
            Some(material) => material.foreign(self.provider()),
            None => fallback::shared(default_provider::DefaultKey::empty(self.provider().fallback()?, c"RSA")?),
        }
    }
}

/// The key behind a pointer OpenSSL shares among threads.
///
/// # Safety
/// The pointer is null or came from [`new`], [`generate`] or [`dup`], and has not been freed.
pub(super) unsafe fn object<'a>(pointer: *const c_void) -> Option<&'a KeyObject> {
    // SAFETY: the caller passes null or a key of this key management that has not been freed; only `import` writes, before OpenSSL shares a key.
    unsafe { pointer.cast::<KeyObject>().as_ref() }
}

unsafe extern "C" fn new(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: the context is ours.
    guard(std::ptr::null_mut(), || unsafe {
        ops::attribute();
        abi::give(KeyObject { provider: provider(provctx), material: None })
    })
}

unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours.
        let Some(key) = (unsafe { object(key) }) else { return 0 };
        let there = match &key.material {
            None => selection & PAIR == 0,
            Some(material) => selection & id::KEYMGMT_SELECT_PRIVATE_KEY == 0 || material.is_private(),
        };
        c_int::from(there)
    })
}

unsafe extern "C" fn same(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: the keys are ours.
        let (Some(one), Some(other)) = (unsafe { (object(one), object(other)) }) else { return 0 };
        if let (Some(Material::Own(a, _)), Some(Material::Own(b, _))) =
            (one.material.as_deref(), other.material.as_deref())
        {
            // As in OpenSSL: the private halves only count where the public ones were not asked for.
            let part = match selection {
                s if s & id::KEYMGMT_SELECT_PUBLIC_KEY != 0 => Some(Part::N),
                s if s & id::KEYMGMT_SELECT_PRIVATE_KEY != 0 => Some(Part::D),
                _ => None,
            };
            return c_int::from(a.same(b, Part::E) && part.is_none_or(|part| a.same(b, part)));
        }
        match (one.foreign(), other.foreign()) {
            (Some(a), Some(b)) => a.same(&b, selection),
            _ => 0,
        }
    })
}

unsafe extern "C" fn validate(key: *const c_void, selection: c_int, kind: c_int) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours.
        let Some(object) = (unsafe { object(key) }) else { return 0 };
        // Rare, slow (primality tests) and full of rules: the default provider's judgement is the one to give.
        object.foreign().map_or(0, |key| key.validate(selection, kind))
    })
}

unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours and not yet shared.
        let Some(object) = (unsafe { abi::context::<KeyObject>(key) }) else { return 0 };
        if selection & (PAIR | id::KEYMGMT_SELECT_OTHER_PARAMETERS) == 0 {
            return 0;
        }
        if selection & PAIR == 0 {
            return 1;
        }
        // SAFETY: the array is OpenSSL's.
        let imported = unsafe { Material::import(object.provider(), selection, params) };
        let Some(material) = imported.and_then(|material| Shared::new(material).ok()) else { return 0 };
        object.material = Some(material);
        1
    })
}

unsafe extern "C" fn export(
    key: *mut c_void,
    selection: c_int,
    callback: Option<ExportCallback>,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours.
        let (Some(object), Some(callback)) = (unsafe { object(key) }, callback) else { return 0 };
        if selection & (PAIR | id::KEYMGMT_SELECT_OTHER_PARAMETERS) == 0 {
            return 0;
        }
        let Some(Material::Own(key, _)) = object.material.as_deref() else {
            // SAFETY: the callback and its argument are OpenSSL's.
            return object.foreign().map_or(0, |key| unsafe { key.export(selection, callback, argument) });
        };
        let private = selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0 && key.is_private();
        let none = [Param::END];
        let exported = match selection & PAIR {
            0 => None,
            _ => match Exported::new(key, private) {
                Some(exported) => Some(exported),
                None => {
                    object.provider().core.raise(prov::NOT_A_PRIVATE_KEY.with(c"its numbers are not given out"));
                    return 0;
                }
            },
        };
        let params = exported.as_ref().map_or(&none[..], |e| &e.params);
        // SAFETY: OpenSSL passes the callback with the argument that belongs to it; the array ends and lives through the call.
        unsafe { callback(params.as_ptr(), argument) }
    })
}

unsafe extern "C" fn types(selection: c_int) -> *const Param {
    if selection & PAIR != 0 { TYPES.as_ptr() } else { std::ptr::null() }
}

unsafe extern "C" fn dup(key: *const c_void, selection: c_int) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the key is ours.
        let Some(object) = (unsafe { object(key) }) else { return std::ptr::null_mut() };
        let material = match &object.material {
            Some(material) if selection & PAIR != 0 => {
                let public = selection & id::KEYMGMT_SELECT_PRIVATE_KEY == 0 && material.is_private();
                match material.key().filter(|_| public).map(RsaKey::to_public) {
                    Some(key) => match key.and_then(|key| Shared::new(Material::own(key))) {
                        Ok(material) => Some(material),
                        Err(_) => return std::ptr::null_mut(),
                    },
                    // Keys do not change once they are imported, so a copy can be the same.
                    None => Some(material.clone()),
                }
            }
            _ => None,
        };
        abi::give(KeyObject { provider: object.provider, material })
    })
}

macro_rules! types {
    ($($name:literal),*) => { [$(Param::describe($name, param::UNSIGNED, 0)),*, Param::END] };
}

static TYPES: [Param; 33] = types![
    c"n",
    c"e",
    c"d",
    c"rsa-factor1",
    c"rsa-factor2",
    c"rsa-factor3",
    c"rsa-factor4",
    c"rsa-factor5",
    c"rsa-factor6",
    c"rsa-factor7",
    c"rsa-factor8",
    c"rsa-factor9",
    c"rsa-factor10",
    c"rsa-exponent1",
    c"rsa-exponent2",
    c"rsa-exponent3",
    c"rsa-exponent4",
    c"rsa-exponent5",
    c"rsa-exponent6",
    c"rsa-exponent7",
    c"rsa-exponent8",
    c"rsa-exponent9",
    c"rsa-exponent10",
    c"rsa-coefficient1",
    c"rsa-coefficient2",
    c"rsa-coefficient3",
    c"rsa-coefficient4",
    c"rsa-coefficient5",
    c"rsa-coefficient6",
    c"rsa-coefficient7",
    c"rsa-coefficient8",
    c"rsa-coefficient9"
];

static GETTABLE: [Param; 13] = [
    Param::describe(c"bits", param::INTEGER, 4),
    Param::describe(c"security-bits", param::INTEGER, 4),
    Param::describe(c"max-size", param::INTEGER, 4),
    Param::describe(c"default-digest", param::UTF8, 0),
    Param::describe(c"n", param::UNSIGNED, 0),
    Param::describe(c"e", param::UNSIGNED, 0),
    Param::describe(c"d", param::UNSIGNED, 0),
    Param::describe(c"rsa-factor1", param::UNSIGNED, 0),
    Param::describe(c"rsa-factor2", param::UNSIGNED, 0),
    Param::describe(c"rsa-exponent1", param::UNSIGNED, 0),
    Param::describe(c"rsa-exponent2", param::UNSIGNED, 0),
    Param::describe(c"rsa-coefficient1", param::UNSIGNED, 0),
    Param::END,
];

unsafe extern "C" fn gettable_params(provctx: *mut c_void) -> *const Param {
    // SAFETY: OpenSSL's provider context, or null.
    let list = || unsafe { crate::ec::key_params(provctx, c"RSA") };
    guard(GETTABLE.as_ptr(), || list().unwrap_or(GETTABLE.as_ptr()))
}

unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours.
        let Some(object) = (unsafe { object(key) }) else { return 0 };
        let Some(Material::Own(key, _)) = object.material.as_deref() else {
            // SAFETY: the array is OpenSSL's.
            return object.foreign().map_or(0, |key| unsafe { key.get_params(params) });
        };
        // SAFETY: `params` is OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        let answered = unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
            b"default-digest" => p.set_str(c"SHA256"),
            b"bits" => p.set_usize(key.bits()),
            b"security-bits" => p.set_usize(security_bits(key.bits())),
            b"max-size" => p.set_usize(key.size()),
            // Of post-quantum strength (OpenSSL 3.6): none.
            b"security-category" => p.set_usize(0),
            _ => match PARTS.iter().find(|(_, name)| *name == p.name()) {
                Some((part, _)) => key.number(*part).ok().flatten().is_none_or(|number| p.set_bignum(&number)),
                None => true,
            },
        });
        if answered {
            return 1;
        }
        // What cannot be answered is an error of OpenSSL's.
        // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call; the walk over it has ended.
        object.foreign().map_or(0, |key| unsafe { key.get_params(params) })
    })
}

/// The strength of a modulus as OpenSSL tells it: SP 800-56B rev. 2's table, and its formula rounded to a multiple of 8
/// for other sizes.
pub(super) fn security_bits(bits: usize) -> usize {
    let most = match bits {
        2048 => return 112,
        3072 => return 128,
        4096 => return 152,
        6144 => return 176,
        0..7681 => 192,
        7681..15361 => 256,
        _ => 1200,
    };
    if bits < 8 {
        return 0;
    }
    // In OpenSSL's fixed point of 18 bits, whose rounding shows at some sizes.
    const ONE: u64 = 1 << 18;
    const LN_2: u64 = (std::f64::consts::LN_2 * ONE as f64) as u64;
    const LOG2_E: u64 = (std::f64::consts::LOG2_E * ONE as f64) as u64;
    let times = |a: u64, b: u64| a * b / ONE;
    let ln = |mut v: u64| {
        let mut log2 = 0;
        while v >= 2 * ONE {
            v /= 2;
            log2 += ONE;
        }
        for bit in (0..18).rev() {
            v = times(v, v);
            if v >= 2 * ONE {
                v /= 2;
                log2 += 1 << bit;
            }
        }
        log2 * ONE / LOG2_E
    };
    let cube_root = |x: u64| {
        let mut root = (x as f64).cbrt() as u64 + 1;
        while root * root * root > x {
            root -= 1;
        }
        // The root of a scaled number, scaled.
        root << 12
    };
    let x = bits as u64 * LN_2;
    let root = cube_root(times(times(x, ln(x)), ln(x)));
    let strength = times((1.923 * ONE as f64) as u64, root).saturating_sub((4.69 * ONE as f64) as u64) / LN_2;
    ((strength as usize + 4) & !7).min(most)
}

/// A key generation being set up.
struct Generation {
    provider: *const Provider,
    selection: c_int,
    bits: usize,
    primes: usize,
    e: Zeroizing<Vec<u8>>,
    /// Once something was set that is not for us, the default provider has it all.
    delegated: Option<fallback::Generation>,
}

unsafe extern "C" fn gen_init(provctx: *mut c_void, selection: c_int, params: *const Param) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        if selection & PAIR == 0 {
            return std::ptr::null_mut();
        }
        ops::attribute();
        // SAFETY: the context is ours.
        let provider: *const Provider = unsafe { provider(provctx) };
        let Ok(mut e) = adjunct::memory::zeros(3) else { return std::ptr::null_mut() };
        e.copy_from_slice(&[1, 0, 1]);
        let mut generation = Generation { provider, selection, bits: 2048, primes: 2, e, delegated: None };
        // SAFETY: the array is OpenSSL's.
        if unsafe { generation.set(params) } != 1 {
            return std::ptr::null_mut();
        }
        abi::give(generation)
    })
}

impl Generation {
    /// Sets parameters; those that adjunct does not serve move the generation to the default provider, with what was set before.
    ///
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn set(&mut self, params: *const Param) -> c_int {
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        if self.delegated.is_none() && unsafe { self.take(params) } {
            return 1;
        }
        if self.delegated.is_none() {
            self.delegated = self.delegate();
        }
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        self.delegated.as_mut().map_or(0, |generation| unsafe { generation.set_params(params) })
    }

    /// Takes all of `params` over, or none.
    ///
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn take(&mut self, params: *const Param) -> bool {
        let (mut bits, mut primes, mut e) = (self.bits, self.primes, None);
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            let done = match p.name().to_bytes() {
                b"bits" => p.get_usize().map(|number| bits = number),
                b"primes" => p.get_usize().map(|number| primes = number),
                b"e" => p.get_bignum().map(|number| e = Some(Zeroizing::new(number))),
                _ => continue,
            };
            if done.is_none() {
                return false;
            }
        }
        // OpenSSL's least, for which it has an error.
        if bits < 512 {
            return false;
        }
        (self.bits, self.primes) = (bits, primes);
        if let Some(e) = e {
            self.e = e;
        }
        true
    }

    /// A generation of the default provider, with the settings made here.
    fn delegate(&self) -> Option<fallback::Generation> {
        // SAFETY: OpenSSL keeps a provider as long as its objects live.
        let provider = unsafe { &*self.provider };
        let mut builder = Builder::default();
        builder.number(c"bits", &self.bits.to_be_bytes());
        builder.number(c"primes", &self.primes.to_be_bytes());
        builder.number(c"e", &self.e);
        // SAFETY: the array ends and lives through the call.
        unsafe { fallback::Generation::new(provider.fallback()?, c"RSA", self.selection, builder.finish()?) }
    }

    fn run(&mut self, callback: Option<ExportCallback>, argument: *mut c_void) -> Option<Material> {
        // SAFETY: OpenSSL keeps a provider as long as its objects live.
        let provider = unsafe { &*self.provider };
        if self.delegated.is_none() && self.primes == 2 && RsaKey::generates(self.bits, &self.e) {
            let mut report = callback.map(|callback| {
                move |mut potential: i32, mut iteration: i32| {
                    // The core tells of every candidate it drops, most of them after a trial division; OpenSSL does not.
                    if potential == 2 {
                        return true;
                    }
                    let params =
                        [integer(c"potential", &mut potential), integer(c"iteration", &mut iteration), Param::END];
                    // SAFETY: the callback and its argument are OpenSSL's.
                    unsafe { callback(params.as_ptr(), argument) != 0 }
                }
            });
            let report = report.as_mut().map(|r| r as &mut dyn FnMut(i32, i32) -> bool);
            let Ok(key) = RsaKey::generate(self.bits, &self.e, report) else {
                // The program stopped it, or memory was short.
                provider.core.raise(rsa::BN_LIB);
                return None;
            };
            return Some(Material::own(key));
        }
        if self.delegated.is_none() {
            self.delegated = self.delegate();
        }
        // SAFETY: the callback and its argument are OpenSSL's.
        let key = unsafe { self.delegated.as_mut()?.run(callback, argument) }?;
        let material = adopt(fallback::shared(key)?);
        Delegated::new(Function::RsaKeygenCrt, material.bits()).done(Direction::Encrypt, 0);
        Some(material)
    }
}

/// A key the default provider generated, taken over where the core serves its kind.
fn adopt(key: fallback::Key) -> Material {
    unsafe extern "C" fn import(params: *const Param, argument: *mut c_void) -> c_int {
        guard(0, || {
            // SAFETY: the argument is the one passed below; the array is OpenSSL's.
            unsafe { *argument.cast::<Option<RsaKey>>() = super::key::own(true, params).ok().flatten() };
            1
        })
    }
    let mut own: Option<RsaKey> = None;
    // SAFETY: callback and argument belong together.
    key.library().errors().quietly(|| unsafe { key.export(PAIR, import, (&raw mut own).cast()) });
    own.map_or_else(|| Material::Foreign(Foreign::new(key, true)), Material::own)
}

unsafe extern "C" fn gen_set_params(generation: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the context is ours, the array OpenSSL's.
    guard(0, || unsafe { abi::context::<Generation>(generation).map_or(0, |g| g.set(params)) })
}

static GEN_SETTABLE: [Param; 4] = [
    Param::describe(c"bits", param::UNSIGNED, 8),
    Param::describe(c"primes", param::UNSIGNED, 8),
    Param::describe(c"e", param::UNSIGNED, 0),
    Param::END,
];

unsafe extern "C" fn gen_settable_params(_generation: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GEN_SETTABLE.as_ptr()
}

unsafe extern "C" fn generate(
    generation: *mut c_void,
    callback: Option<ExportCallback>,
    argument: *mut c_void,
) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the context is ours.
        let Some(generation) = (unsafe { abi::context::<Generation>(generation) }) else { return std::ptr::null_mut() };
        let Some(material) = generation.run(callback, argument) else { return std::ptr::null_mut() };
        match Shared::new(material) {
            Ok(material) => abi::give(KeyObject { provider: generation.provider, material: Some(material) }),
            Err(_) => std::ptr::null_mut(),
        }
    })
}

/// The name under which the other operations take keys of this type.
///
/// # Safety
/// None: the function takes no pointer.
unsafe extern "C" fn operation_name(_operation: c_int) -> *const c_char {
    c"RSA".as_ptr()
}
