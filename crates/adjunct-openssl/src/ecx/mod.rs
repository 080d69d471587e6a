//! X25519 and Ed25519.

pub mod exchange;
pub mod keymgmt;
pub mod signature;

use crate::abi::build::Builder;
use crate::abi::id;
use crate::abi::param::Param;
use crate::fallback::{AlgorithmContext, forward};
use crate::provider::Provider;
use adjunct::Error;
use adjunct::memory::Shared;
use adjunct::ops::ecx::{Private, ed25519, x25519, x25519::KEY};
use std::ffi::{CStr, c_int, c_void};

/// What OpenSSL holds as key data. Operations keep a reference to the halves they started with.
#[derive(Debug)]
pub struct EcxKey {
    provider: &'static Provider,
    pair: Shared<Pair>,
}

/// The halves of a key, as far as they are known. Immutable.
#[derive(Default)]
pub struct Pair {
    public: Option<[u8; KEY]>,
    private: Option<Private<KEY>>,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").field("public", &self.public).finish_non_exhaustive()
    }
}

/// The name of the key type; `ED` tells Ed25519 from X25519 all over this module.
const fn type_name<const ED: bool>() -> &'static CStr {
    if ED { c"ED25519" } else { c"X25519" }
}

fn public_of<const ED: bool>(private: &Private<KEY>) -> Result<[u8; KEY], Error> {
    if ED { ed25519::other_half(private) } else { x25519::other_half(private) }
}

impl Pair {
    fn of_private<const ED: bool>(private: Private<KEY>) -> Result<Pair, Error> {
        Ok(Pair { public: Some(public_of::<ED>(&private)?), private: Some(private) })
    }

    fn describe(&self, private: bool, builder: &mut Builder) {
        if let Some(public) = &self.public {
            builder.octets(c"pub", public);
        }
        if let (Some(secret), true) = (self.private.as_ref().and_then(Private::bytes), private) {
            builder.octets(c"priv", &secret[..]);
        }
    }

    /// A copy of this key in the default provider, for what only that provider can do; an empty key gives an empty copy.
    fn delegated<const ED: bool>(&self, provider: &Provider) -> Option<AlgorithmContext> {
        let algorithm = provider.fallback()?.algorithm(id::OP_KEYMGMT, type_name::<ED>())?;
        let (context, null) = (algorithm.provider_context(), std::ptr::null_mut());
        let raw = forward!(algorithm, id::KEYMGMT_NEW, fn(*mut c_void) -> *mut c_void, null, (context));
        // SAFETY: made by the algorithm just now.
        let key = unsafe { AlgorithmContext::own(algorithm, raw, id::KEYMGMT_FREE) }?;
        if self.public.is_none() && self.private.is_none() {
            return Some(key);
        }
        let mut builder = Builder::default();
        self.describe(true, &mut builder);
        let mut selection = id::KEYMGMT_SELECT_PUBLIC_KEY;
        // A private key that is not given out is none there.
        if self.private.as_ref().and_then(Private::bytes).is_some() {
            selection |= id::KEYMGMT_SELECT_PRIVATE_KEY;
        }
        (import_into(&key, selection, builder.finish()?) == 1).then_some(key)
    }
}

/// The default provider's result of an import into one of its keys.
fn import_into(key: &AlgorithmContext, selection: c_int, params: *const Param) -> c_int {
    let (algorithm, raw) = (key.algorithm(), key.raw());
    forward!(algorithm, id::KEYMGMT_IMPORT, fn(*mut c_void, c_int, *const Param) -> c_int, 0, (raw, selection, params))
}
