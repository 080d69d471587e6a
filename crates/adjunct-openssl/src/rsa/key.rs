//! A key as the RSA operations see it: the core's, or one OpenSSL's default provider holds because the core does not take it.

use crate::abi::id;
use crate::abi::param::{self, Param};
use crate::fallback::{self, Output};
use crate::provider::Provider;
use adjunct::Error;
use adjunct::catalogue::{Direction, Function};
use adjunct::ops::rsa::{Crt, Hash, Method, Numbers, Part, RsaKey};
use adjunct::ops::{self, Delegated};
use adjunct_ossl::default_provider;
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// The selection of both halves of a key.
pub const PAIR: c_int = id::KEYMGMT_SELECT_PRIVATE_KEY | id::KEYMGMT_SELECT_PUBLIC_KEY;

/// A key's numbers with their parameter names, in the order OpenSSL exports them.
pub const PARTS: [(Part, &CStr); 8] = [
    (Part::N, c"n"),
    (Part::E, c"e"),
    (Part::D, c"d"),
    (Part::P, c"rsa-factor1"),
    (Part::Q, c"rsa-factor2"),
    (Part::Dp, c"rsa-exponent1"),
    (Part::Dq, c"rsa-exponent2"),
    (Part::Qinv, c"rsa-coefficient1"),
];

/// OpenSSL's `OSSL_MAX_NAME_SIZE`: it takes no longer name of a digest, with the zero at its end.
const NAME: usize = 50;

/// OpenSSL's number for TLS 1.0's MD5 and SHA-1 side by side.
const NID_MD5_SHA1: c_int = 114;

/// A digest that adjunct computes, by the name that the caller gave.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    // Ends with a zero.
    name: [u8; NAME],
    /// The digest.
    pub hash: Hash,
}

impl Named {
    /// Looks the name up; `None` where the default provider has to resolve it, or an engine replaces the digest.
    pub fn new(provider: &Provider, name: &str) -> Option<Named> {
        let hash = Hash::from_name(name).filter(|_| name.len() < NAME)?;
        if provider.engines.replace_digest(hash.method().map_or(NID_MD5_SHA1, |method| method.nid)) {
            return None;
        }
        let mut copy = [0; NAME];
        copy[..name.len()].copy_from_slice(name.as_bytes());
        Some(Named { name: copy, hash })
    }

    /// The name.
    pub fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.name).unwrap_or(c"")
    }

    /// The digest, if it is a single one that adjunct computes.
    pub fn method(&self) -> Option<&'static Method> {
        self.hash.method()
    }
}

/// A key. Shared by the key object OpenSSL holds and the operations that use it.
#[derive(Debug)]
pub enum Material {
    /// Served by the core; with the same key in the default provider once an operation had to be handed over.
    Own(RsaKey, OnceLock<fallback::Key>),
    /// Held by the default provider: more than two primes, an exponent or size the core does not take, odd factors.
    Foreign(Foreign),
}

/// A key the default provider holds.
#[derive(Debug)]
pub struct Foreign {
    /// The key.
    pub key: fallback::Key,
    bits: usize,
    size: usize,
    private: bool,
}

impl Foreign {
    /// Reads what must be known about a key of the default provider.
    pub fn new(key: fallback::Key, private: bool) -> Foreign {
        let (mut bits, mut size) = (0i32, 0i32);
        let mut request = [integer(c"bits", &mut bits), integer(c"max-size", &mut size), Param::END];
        // SAFETY: the array ends and lives through the call. A key without numbers answers nothing.
        key.library().errors().quietly(|| unsafe { key.get_params(request.as_mut_ptr()) });
        Foreign { key, bits: bits.max(0) as usize, size: size.max(0) as usize, private }
    }
}

/// A request for, or an announcement of, a native `int`.
pub fn integer(name: &'static CStr, value: &mut i32) -> Param {
    Param { data: std::ptr::from_mut(value).cast(), ..Param::describe(name, param::INTEGER, 4) }
}

/// An announcement of a string, which must outlive the parameter.
pub fn text(name: &'static CStr, value: &CStr) -> Param {
    Param { data: value.as_ptr().cast_mut().cast(), ..Param::describe(name, param::UTF8, value.count_bytes()) }
}

impl Material {
    /// A key served by the core.
    pub fn own(key: RsaKey) -> Material {
        Material::Own(key, OnceLock::new())
    }

    /// Makes a key from the parameters of an import or export. What the core does not take is the default provider's to take or to
    /// refuse.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call.
    pub unsafe fn import(provider: &Provider, selection: c_int, params: *const Param) -> Option<Material> {
        let private = selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0;
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        match unsafe { own(private, params) } {
            Ok(Some(key)) => return Some(Material::own(key)),
            Err(error) if provider.is_final(&error) => return None,
            _ => {}
        }
        // SAFETY: the caller passes a parameter array, which ends and lives through the call.
        let key =
            unsafe { default_provider::DefaultKey::from_params(provider.fallback()?, c"RSA", selection, params) }?;
        let key = fallback::shared(key)?;
        let private = key.has(id::KEYMGMT_SELECT_PRIVATE_KEY) == 1;
        Some(Material::Foreign(Foreign::new(key, private)))
    }

    /// The key, where the core serves it.
    pub fn key(&self) -> Option<&RsaKey> {
        match self {
            Material::Own(key, _) => Some(key),
            Material::Foreign(_) => None,
        }
    }

    /// The key in the default provider, taken there at the first call.
    pub fn foreign(&self, provider: &Provider) -> Option<fallback::Key> {
        let (key, cell) = match self {
            Material::Foreign(foreign) => return Some(foreign.key.clone()),
            Material::Own(key, cell) => (key, cell),
        };
        if let Some(known) = cell.get() {
            return Some(known.clone());
        }
        // A private key that is not given out is none there.
        let private = key.number(Part::D).ok()?.is_some();
        let exported = Exported::new(key, private)?;
        let selection = if private { PAIR } else { id::KEYMGMT_SELECT_PUBLIC_KEY };
        let library = provider.fallback()?;
        // SAFETY: the array ends and lives through the call.
        let made =
            unsafe { default_provider::DefaultKey::from_params(library, c"RSA", selection, exported.params.as_ptr()) }?;
        let made = fallback::shared(made)?;
        Some(cell.get_or_init(|| made).clone())
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        match self {
            Material::Own(key, _) => key.bits(),
            Material::Foreign(foreign) => foreign.bits,
        }
    }

    /// The size of the modulus in bytes.
    pub fn size(&self) -> usize {
        match self {
            Material::Own(key, _) => key.size(),
            Material::Foreign(foreign) => foreign.size,
        }
    }

    /// Whether the key has its private half.
    pub fn is_private(&self) -> bool {
        match self {
            Material::Own(key, _) => key.is_private(),
            Material::Foreign(foreign) => foreign.private,
        }
    }

    /// A private or public operation that the default provider does.
    fn delegation(&self, private: bool) -> Delegated {
        let function = match self.key() {
            Some(key) if private => key.private_function(),
            None if private => Function::RsaCrt,
            _ => Function::RsaMe,
        };
        Delegated::new(function, self.bits())
    }

    /// Counts an operation that the default provider was given, by its result: where it was refused, or asked for a length only,
    /// nothing is counted. The result is passed on.
    pub fn delegated(&self, private: bool, output: Output, done: c_int) -> c_int {
        if done == 1 && !output.data.is_null() {
            self.delegation(private).done(Direction::Encrypt, 0);
        }
        done
    }

    /// Counts a verification that the default provider was given, whether the signature fits or not; but none of a signature longer
    /// than the modulus, which it has refused, and no error. The result is passed on.
    pub fn delegated_verification(&self, signature: &[u8], done: c_int) -> c_int {
        if done >= 0 && signature.len() <= self.size() {
            self.delegation(false).done(Direction::Encrypt, 0);
        }
        done
    }
}

/// The key that `params` describe; `None` where they are not those of a key of two primes.
///
/// # Errors
/// Why the core does not take it.
///
/// # Safety
/// `params` is a parameter array that lives through the call.
pub(super) unsafe fn own(private: bool, params: *const Param) -> Result<Option<RsaKey>, Error> {
    let mut numbers: [Option<Zeroizing<Vec<u8>>>; PARTS.len()] = Default::default();
    let mut more = false;
    // SAFETY: the caller passes a parameter array, which ends and lives through the call.
    for p in unsafe { param::iter(params) } {
        match PARTS.iter().position(|(_, name)| *name == p.name()) {
            Some(i) => match p.get_bignum() {
                Some(number) => numbers[i] = Some(Zeroizing::new(number)),
                None => return Ok(None),
            },
            None => more |= p.name().to_bytes().starts_with(b"rsa-"),
        }
    }
    let [n, e, d, crt @ ..] = &numbers;
    let (Some(n), Some(e)) = (n, e) else { return Ok(None) };
    let d = d.as_ref().filter(|_| private);
    let some = d.is_some() && crt.iter().any(Option::is_some);
    let crt = match crt {
        [Some(p), Some(q), Some(dp), Some(dq), Some(qinv)] => Some(Crt { p, q, dp, dq, qinv }),
        _ => None,
    };
    if (private && more) || (some && crt.is_none()) {
        d.map_or(Ok(()), |d| ops::may_leave(d))?;
        return Ok(None);
    }
    RsaKey::new(&Numbers { n, e, d: d.map(|d| &d[..]), crt }).map(Some)
}

/// A key's numbers as the parameter array of an export; wiped when it goes.
pub struct Exported {
    // Holds what `params` points to.
    _numbers: [Option<Zeroizing<Vec<u8>>>; PARTS.len()],
    /// The array, with its end.
    pub params: [Param; PARTS.len() + 1],
}

impl Exported {
    /// Exports the numbers of `key`, the private ones where `private`; `None` where there is no memory for them, or they are not given out.
    pub fn new(key: &RsaKey, private: bool) -> Option<Exported> {
        let count = if private { PARTS.len() } else { 2 };
        let mut numbers = [const { None }; PARTS.len()];
        let mut params = [const { Param::END }; PARTS.len() + 1];
        let mut used = 0;
        for (part, name) in &PARTS[..count] {
            let Some(mut number) = key.number(*part).ok()? else {
                if *part == Part::D {
                    return None;
                }
                continue;
            };
            if cfg!(target_endian = "little") {
                number.reverse();
            }
            // The heap buffer stays where it is when the vector that holds it moves.
            let data = number.as_mut_ptr().cast();
            params[used] = Param { data, ..Param::describe(name, param::UNSIGNED, number.len()) };
            numbers[used] = Some(number);
            used += 1;
        }
        Some(Exported { _numbers: numbers, params })
    }
}
