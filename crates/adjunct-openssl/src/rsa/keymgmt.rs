//! RSA: keys (provider-keymgmt(7), EVP_PKEY-RSA(7)).

use super::key::{Exported, Foreign, Material, PAIR, PARTS, integer};
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::fallback::{self, Check, ExportCallback};
use crate::provider::{Provider, provider};
use crate::{entry, fallback::Key as ForeignKey};
use adjunct::awslc::rsa::{Key, Part};
use adjunct::catalogue::Function;
use adjunct::route::{Direction, Tally};
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;
use zeroize::Zeroizing;

/// What this module offers.
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
    entry!(id::KEYMGMT_GEN_CLEANUP, gen_cleanup),
    entry!(id::KEYMGMT_FREE, free),
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

/// What OpenSSL holds as a key: empty until an import.
pub(super) struct KeyObject {
    provider: *const Provider,
    pub(super) material: Option<Arc<Material>>,
}

impl KeyObject {
    fn provider(&self) -> &Provider {
        // SAFETY: OpenSSL keeps a provider as long as its objects live.
        unsafe { &*self.provider }
    }
}

/// The key behind a pointer OpenSSL shares among threads.
///
/// # Safety
/// The pointer is null or came from [`new`], [`generate`] or [`dup`], and has not been freed.
pub(super) unsafe fn object<'a>(pointer: *const c_void) -> Option<&'a KeyObject> {
    // SAFETY: see above; only `import` writes, before OpenSSL shares a key.
    unsafe { pointer.cast::<KeyObject>().as_ref() }
}

unsafe extern "C" fn new(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: the context is ours.
    guard(std::ptr::null_mut(), || unsafe {
        adjunct::counters::attribute();
        abi::into_raw(Box::new(KeyObject { provider: provider(provctx), material: None }))
    })
}

unsafe extern "C" fn free(key: *mut c_void) {
    // SAFETY: OpenSSL frees a key once.
    guard((), || unsafe { abi::free::<KeyObject>(key) });
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
        let (Some(a), Some(b)) = (&one.material, &other.material) else { return 0 };
        let equal = match (&**a, &**b) {
            (Material::Own(a, _), Material::Own(b, _)) => {
                // As in OpenSSL: the private halves only count where the public ones were not asked for.
                let part = match selection {
                    s if s & id::KEYMGMT_SELECT_PUBLIC_KEY != 0 => Some(Part::N),
                    s if s & id::KEYMGMT_SELECT_PRIVATE_KEY != 0 => Some(Part::D),
                    _ => None,
                };
                a.same(b, Part::E) && part.is_none_or(|part| a.same(b, part))
            }
            (Material::Foreign(a), Material::Foreign(b)) => a.key.same_public(&b.key),
            // A key is always made to be the one or the other.
            _ => false,
        };
        c_int::from(equal)
    })
}

unsafe extern "C" fn validate(key: *const c_void, selection: c_int, _kind: c_int) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours.
        let Some(object) = (unsafe { object(key) }) else { return 0 };
        let what = match selection & PAIR {
            0 => return 1,
            id::KEYMGMT_SELECT_PUBLIC_KEY => Check::Public,
            id::KEYMGMT_SELECT_PRIVATE_KEY => Check::Private,
            _ => Check::Pairwise,
        };
        // Rare, slow (primality tests) and full of rules: the default provider's judgement is the one to give.
        let foreign = object.material.as_ref().and_then(|m| m.foreign(object.provider()));
        c_int::from(foreign.is_some_and(|key| key.check(what)))
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
        match unsafe { Material::import(object.provider(), selection, params) } {
            Some(material) => {
                object.material = Some(Arc::new(material));
                1
            }
            None => {
                object.provider().core.raise(prov::INVALID_KEY);
                0
            }
        }
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
        let Some(material) = &object.material else { return 0 };
        if selection & (PAIR | id::KEYMGMT_SELECT_OTHER_PARAMETERS) == 0 {
            return 0;
        }
        let private = selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0 && material.is_private();
        match &**material {
            // SAFETY: the callback and its argument are OpenSSL's.
            Material::Foreign(foreign) => unsafe {
                let selection = if private { PAIR } else { id::KEYMGMT_SELECT_PUBLIC_KEY };
                c_int::from(foreign.key.export(selection, callback, argument))
            },
            Material::Own(key, _) => {
                let none = [Param::END];
                let exported = (selection & PAIR != 0).then(|| Exported::new(key, private));
                let params = exported.as_ref().map_or(&none[..], |e| &e.params);
                // SAFETY: as above.
                unsafe { callback(params.as_ptr(), argument) }
            }
        }
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
                match material.key().filter(|_| public).map(Key::to_public) {
                    Some(Ok(key)) => Some(Arc::new(Material::own(key))),
                    Some(Err(_)) => return std::ptr::null_mut(),
                    // Keys do not change once they are imported, so a copy can be the same.
                    None => Some(material.clone()),
                }
            }
            _ => None,
        };
        abi::into_raw(Box::new(KeyObject { provider: object.provider, material }))
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

unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the key is ours.
        let Some(object) = (unsafe { object(key) }) else { return 0 };
        let own = match object.material.as_deref() {
            // SAFETY: the array is OpenSSL's.
            Some(Material::Foreign(foreign)) => return c_int::from(unsafe { foreign.key.get_params(params) }),
            Some(Material::Own(key, _)) => Some(key),
            None => None,
        };
        // SAFETY: as above.
        for p in unsafe { param::iter_mut(params) } {
            let done = match (p.name().to_bytes(), own) {
                (b"default-digest", _) => p.set_str(c"SHA256"),
                (b"bits", Some(key)) => p.set_usize(key.bits()),
                (b"security-bits", Some(key)) => p.set_usize(security_bits(key.bits())),
                (b"max-size", Some(key)) => p.set_usize(key.size()),
                (b"bits" | b"security-bits" | b"max-size", None) => false,
                (_, Some(key)) => match PARTS.iter().find(|(_, name)| *name == p.name()) {
                    Some((part, _)) => key.number(*part).is_none_or(|number| p.set_bignum(&number)),
                    None => true,
                },
                (_, None) => true,
            };
            if !done {
                return 0;
            }
        }
        1
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
    bits: usize,
    primes: usize,
    e: Zeroizing<Vec<u8>>,
}

unsafe extern "C" fn gen_init(provctx: *mut c_void, selection: c_int, params: *const Param) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        if selection & PAIR == 0 {
            return std::ptr::null_mut();
        }
        adjunct::counters::attribute();
        // SAFETY: the context is ours.
        let provider: *const Provider = unsafe { provider(provctx) };
        let mut generation = Generation { provider, bits: 2048, primes: 2, e: Zeroizing::new(vec![1, 0, 1]) };
        // SAFETY: the array is OpenSSL's.
        if !unsafe { generation.set(params) } {
            return std::ptr::null_mut();
        }
        abi::into_raw(Box::new(generation))
    })
}

impl Generation {
    /// # Safety
    /// `params` is a parameter array.
    unsafe fn set(&mut self, params: *const Param) -> bool {
        // SAFETY: see above.
        for p in unsafe { param::iter(params) } {
            let done = match p.name().to_bytes() {
                b"bits" => p.get_usize().map(|bits| self.bits = bits),
                b"primes" => p.get_usize().map(|primes| self.primes = primes),
                b"e" => p.get_bignum().map(|e| self.e = Zeroizing::new(e)),
                _ => continue,
            };
            if done.is_none() {
                return false;
            }
        }
        if self.bits < 512 {
            // SAFETY: OpenSSL keeps a provider as long as its objects live.
            unsafe { &*self.provider }.core.raise(prov::KEY_SIZE_TOO_SMALL);
            return false;
        }
        true
    }

    fn run(&self, report: Option<&mut dyn FnMut(i32, i32) -> bool>) -> Option<Material> {
        // SAFETY: OpenSSL keeps a provider as long as its objects live.
        let provider = unsafe { &*self.provider };
        if self.primes == 2 && Key::generates(self.bits, &self.e) {
            let key = Key::generate(self.bits, &self.e, report).ok()?;
            Tally::new(Function::RsaKeygenCrt, self.bits).count(Direction::Encrypt, 0);
            return Some(Material::own(key));
        }
        let mut bits = i32::try_from(self.bits).ok()?;
        let mut primes = i32::try_from(self.primes).ok()?;
        let mut e = self.e.clone();
        if cfg!(target_endian = "little") {
            e.reverse();
        }
        let exponent = Param { data: e.as_mut_ptr().cast(), ..Param::describe(c"e", param::UNSIGNED, e.len()) };
        let params = [integer(c"bits", &mut bits), integer(c"primes", &mut primes), exponent, Param::END];
        // SAFETY: the array ends and lives through the call.
        let key = unsafe { ForeignKey::generate(provider.fallback()?, c"RSA", None, false, params.as_ptr()) }?;
        Tally::delegated(Function::RsaKeygenCrt, self.bits).count(Direction::Encrypt, 0);
        adopt(provider, key)
    }
}

/// A key the default provider generated, taken over where AWS-LC serves its kind.
fn adopt(provider: &Provider, key: fallback::Key) -> Option<Material> {
    struct Adoption<'a> {
        provider: &'a Provider,
        material: Option<Material>,
    }
    unsafe extern "C" fn import(params: *const Param, argument: *mut c_void) -> c_int {
        guard(0, || {
            // SAFETY: the argument is the one passed below; the array is OpenSSL's.
            unsafe {
                let adoption = &mut *argument.cast::<Adoption<'_>>();
                adoption.material = Material::import(adoption.provider, PAIR, params);
            }
            1
        })
    }
    let mut adoption = Adoption { provider, material: None };
    // SAFETY: callback and argument belong together.
    unsafe { key.export(PAIR, import, (&raw mut adoption).cast()) };
    Some(match adoption.material {
        Some(Material::Own(own, cell)) => Material::Own(own, cell),
        _ => Material::Foreign(Foreign::new(key, true)),
    })
}

unsafe extern "C" fn gen_set_params(generation: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the context is ours, the array OpenSSL's.
    guard(0, || unsafe { c_int::from(abi::context::<Generation>(generation).is_some_and(|g| g.set(params))) })
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
        let mut report = callback.map(|callback| {
            move |mut potential: i32, mut iteration: i32| {
                // AWS-LC tells of every candidate it drops, most of them after a trial division; OpenSSL does not.
                if potential == 2 {
                    return true;
                }
                let params = [integer(c"potential", &mut potential), integer(c"iteration", &mut iteration), Param::END];
                // SAFETY: the callback and its argument are OpenSSL's.
                unsafe { callback(params.as_ptr(), argument) != 0 }
            }
        });
        match generation.run(report.as_mut().map(|r| r as &mut dyn FnMut(i32, i32) -> bool)) {
            Some(material) => {
                let object = KeyObject { provider: generation.provider, material: Some(Arc::new(material)) };
                abi::into_raw(Box::new(object))
            }
            None => std::ptr::null_mut(),
        }
    })
}

unsafe extern "C" fn gen_cleanup(generation: *mut c_void) {
    // SAFETY: OpenSSL frees a context once.
    guard((), || unsafe { abi::free::<Generation>(generation) });
}

/// The name under which the other operations take keys of this type.
unsafe extern "C" fn operation_name(_operation: c_int) -> *const c_char {
    c"RSA".as_ptr()
}
