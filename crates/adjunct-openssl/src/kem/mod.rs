//! ML-KEM (FIPS 203), alone and beside a key exchange on a curve: keys, encapsulation, and the groups that TLS 1.3 has of both.
//!
//! OpenSSL has them since 3.5, under these names; what keys tell, take and refuse is as there. Hybrid keys have no form outside a TLS
//! handshake: neither there nor here are there encoders.

pub mod encapsulation;
pub mod groups;
pub mod keymgmt;

use crate::abi::Algorithm;
use crate::abi::build::Builder;
use crate::abi::id;
use crate::abi::param::Param;
use crate::fallback::{self, AlgorithmContext, forward};
use crate::provider::Provider;
use adjunct::memory::{Shared, zeros};
use adjunct::ops::kem::{KemGroup, KemKey};
use std::ffi::{CStr, c_int, c_void};

/// Every kind, by the number that stands for it in types.
const KINDS: [KemGroup; 6] = [
    KemGroup::MlKem512,
    KemGroup::MlKem768,
    KemGroup::MlKem1024,
    KemGroup::X25519MlKem768,
    KemGroup::SecP256r1MlKem768,
    KemGroup::SecP384r1MlKem1024,
];

/// The names of each kind, as OpenSSL's default provider lists them; the first is the one of its group's keys.
const NAMES: [&CStr; 6] = [
    c"ML-KEM-512:MLKEM512:id-alg-ml-kem-512:2.16.840.1.101.3.4.4.1",
    c"ML-KEM-768:MLKEM768:id-alg-ml-kem-768:2.16.840.1.101.3.4.4.2",
    c"ML-KEM-1024:MLKEM1024:id-alg-ml-kem-1024:2.16.840.1.101.3.4.4.3",
    c"X25519MLKEM768",
    c"SecP256r1MLKEM768",
    c"SecP384r1MLKEM1024",
];

/// The first name of each kind.
const TYPES: [&CStr; 6] =
    [c"ML-KEM-512", c"ML-KEM-768", c"ML-KEM-1024", c"X25519MLKEM768", c"SecP256r1MLKEM768", c"SecP384r1MLKEM1024"];

const PUBLIC: c_int = id::KEYMGMT_SELECT_PUBLIC_KEY;
const PRIVATE: c_int = id::KEYMGMT_SELECT_PRIVATE_KEY;
const KEYPAIR: c_int = PUBLIC | PRIVATE;

/// The entries of one operation for all kinds: a table of functions and a description each.
macro_rules! algorithms {
    ($functions:ident, $what:literal) => {
        &[
            algorithms!(0, $functions, "ML-KEM-512", $what),
            algorithms!(1, $functions, "ML-KEM-768", $what),
            algorithms!(2, $functions, "ML-KEM-1024", $what),
            algorithms!(3, $functions, "X25519MLKEM768", $what),
            algorithms!(4, $functions, "SecP256r1MLKEM768", $what),
            algorithms!(5, $functions, "SecP384r1MLKEM1024", $what),
        ]
    };
    ($kind:literal, $functions:ident, $name:literal, $what:literal) => {
        crate::abi::Algorithm {
            names: super::NAMES[$kind],
            dispatch: &$functions::<$kind>(),
            description: match std::ffi::CStr::from_bytes_with_nul(
                concat!("adjunct ", $name, $what, " by AWS-LC\0").as_bytes(),
            ) {
                Ok(text) => text,
                Err(_) => c"",
            },
        }
    };
}
use algorithms;

/// What OpenSSL holds as key data. Operations keep a reference to the key they started with.
#[derive(Debug)]
pub struct ProviderKemKey {
    provider: &'static Provider,
    kind: usize,
    key: Option<Shared<KemKey>>,
}

impl ProviderKemKey {
    fn kind(&self) -> KemGroup {
        KINDS[self.kind]
    }

    fn private_of(&self) -> Option<&KemKey> {
        self.key.as_deref().filter(|key| key.has_private())
    }

    /// Puts the selected parts of the key into `builder`, in OpenSSL's order; false where there is no memory.
    fn describe(&self, selection: c_int, builder: &mut Builder) -> bool {
        let Some(key) = self.key.as_deref() else { return true };
        let kind = self.kind();
        let (Ok(mut public), Ok(mut private)) = (zeros(kind.public()), zeros(kind.private())) else { return false };
        let give_public = selection & PUBLIC != 0 && key.write_public(&mut public).is_ok();
        if give_public && kind.is_hybrid() {
            builder.octets(c"pub", &public);
        }
        if selection & PRIVATE != 0 && key.has_private() {
            if let Some(seed) = key.seed() {
                builder.octets(c"seed", seed);
            }
            if key.write_private(&mut private).is_ok() {
                builder.octets(c"priv", &private);
            }
        }
        if give_public && !kind.is_hybrid() {
            builder.octets(c"pub", &public);
        }
        true
    }

    /// A copy of this key in the default provider, for what only that provider can do; `None` where it has no keys of this kind.
    fn delegated(&self) -> Option<AlgorithmContext> {
        let algorithm = stock(self.provider, self.kind)?;
        let (context, null) = (algorithm.provider_context(), std::ptr::null_mut());
        let raw = forward!(algorithm, id::KEYMGMT_NEW, fn(*mut c_void) -> *mut c_void, null, (context));
        // SAFETY: made by the algorithm just now.
        let key = unsafe { AlgorithmContext::own(algorithm, raw, id::KEYMGMT_FREE) }?;
        if self.key.is_none() {
            return Some(key);
        }
        let mut builder = Builder::default();
        if !self.describe(KEYPAIR, &mut builder) {
            return None;
        }
        let (params, raw) = (builder.finish()?.cast_const(), key.raw());
        let done = forward!(
            algorithm,
            id::KEYMGMT_IMPORT,
            fn(*mut c_void, c_int, *const Param) -> c_int,
            0,
            (raw, KEYPAIR, params)
        );
        (done == 1).then_some(key)
    }
}

/// The default provider's key management of a kind, where this OpenSSL has it.
fn stock(provider: &Provider, kind: usize) -> Option<fallback::Algorithm> {
    provider.fallback()?.algorithm(id::OP_KEYMGMT, TYPES[kind])
}

/// The key behind a pointer of OpenSSL's. Shared: several threads may hold the same key.
///
/// # Safety
/// `key` is null or came from this key management and has not been freed.
unsafe fn key<'a>(key: *const c_void) -> Option<&'a ProviderKemKey> {
    // SAFETY: the caller passes null or a key of this key management that has not been freed.
    unsafe { key.cast::<ProviderKemKey>().as_ref() }
}

/// The operations that this module offers, each with its algorithms.
pub const OPERATIONS: [(c_int, &[Algorithm]); 2] =
    [(id::OP_KEYMGMT, keymgmt::ALGORITHMS), (id::OP_KEM, encapsulation::ALGORITHMS)];
