//! HMAC and CMAC (EVP_MAC-HMAC(7), EVP_MAC-CMAC(7)).
//!
//! OpenSSL finds a MAC by its name alone, so that any digest or cipher that the caller then sets must work. A MAC over one that the CPU library
//! lacks, or that is wanted with properties, is handed to the default provider as a whole.

mod cmac;
mod dispatch;
mod hmac;

use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{Algorithm, c_string, slice, slice_mut};
use crate::fallback::{self, Output};
use crate::provider::{Provider, provider};
use adjunct::Error;
use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use adjunct::ops::{self, Delegated};
use adjunct_ossl::engines::Engines;
use std::ffi::{CStr, CString, c_void};

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[
    Algorithm { names: c"HMAC", dispatch: &hmac::DISPATCH, description: c"HMAC" },
    Algorithm { names: c"CMAC", dispatch: &cmac::DISPATCH, description: c"CMAC" },
];

/// A MAC as this module serves it, keyed.
trait Keyed: Clone {
    /// The digest or cipher under it.
    type Under: Copy;
    /// Name of the MAC.
    const NAME: &CStr;
    /// The name of the parameter that tells the digest or cipher.
    const UNDER: &CStr;
    /// The digest or cipher that is served under this name.
    fn under(name: &str) -> Option<Self::Under>;
    /// Whether an engine of the program replaces it.
    fn replaced(under: Self::Under, engines: &Engines) -> bool;
    /// Function that it counts as, and bits of its key.
    fn function(under: Self::Under) -> (Function, usize);
    /// Makes a keyed MAC.
    fn key(under: Self::Under, key: &[u8]) -> Result<Self, Error>;
    /// Keys the MAC anew in place, which costs less; false, and nothing has changed, where `under` is not what it is keyed over or the key is not one
    /// for it.
    fn rekey(&mut self, under: Self::Under, key: &[u8]) -> bool;
    /// The digest or cipher that it is keyed over.
    fn keyed(&self) -> Self::Under;
    fn reset(&mut self);
    fn update(&mut self, data: &[u8]);
    /// Ends the message, which counts itself.
    fn finish(&mut self, out: &mut [u8]) -> Result<(), Error>;
    /// Length of the result in bytes.
    fn size(under: Self::Under) -> usize;
    /// Whether OpenSSL copies a context that has no key.
    const COPIES_UNKEYED: bool = true;
    /// OpenSSL's reason when a length is asked for and no digest is set.
    const NO_SIZE: Option<Reason> = None;
    /// OpenSSL's reason for a key of the wrong length.
    const KEY_LENGTH: Option<Reason> = None;
    /// Length of a block in bytes, for MACs whose block differs from the result and is asked for before there is a key.
    const BLOCK: Option<fn(Self::Under) -> usize>;
}

/// The digest or cipher that the next key is for; the present one stays in force until then.
enum Next<M: Keyed> {
    Unchanged,
    Served(M::Under),
    Delegated(Foreign),
}

/// A context of the default provider's that has its digest or cipher and waits for its key. Its names are kept because
/// OpenSSL does not copy a CMAC without a key.
struct Foreign {
    name: CString,
    properties: Option<CString>,
    mac: fallback::Mac,
}

/// What computes. The tag is one of its own: read out of values that a field of the MAC cannot have, it costs every call more.
#[repr(usize)]
enum Engine<M: Keyed> {
    None,
    /// Nothing computes: the first key for this digest or cipher was of the wrong length.
    Unkeyed(M::Under),
    Served(M),
    /// The default provider, and where its messages count.
    Delegated {
        mac: fallback::Mac,
        /// The counter of a delegated MAC; `None` where the catalogue has no row for the algorithm.
        counts: Option<Delegated>,
        /// The bytes of the message so far.
        total: usize,
    },
}

/// The context that OpenSSL's `algctx` points to.
struct MacContext<M: Keyed> {
    provider: &'static Provider,
    next: Next<M>,
    engine: Engine<M>,
}

/// Whether properties ask for what we are: none, or this provider by name.
fn satisfied(properties: &str) -> bool {
    matches!(properties.trim(), "" | "provider=adjunct" | "?provider=adjunct")
}

fn find<'a>(params: *const Param, name: &CStr) -> Option<&'a Param> {
    // SAFETY: the array is OpenSSL's.
    unsafe { param::iter(params) }.find(|p| p.name() == name)
}

fn alias(p: &Param) -> Param {
    Param { key: p.key, data_type: p.data_type, data: p.data, data_size: p.data_size, return_size: p.return_size }
}

/// Lets a context of the default provider's answer one request.
fn ask(mac: &fallback::Mac, p: &mut Param) -> bool {
    let mut array = [alias(p), Param::END];
    // SAFETY: the array ends, and answers where OpenSSL asked.
    let done = unsafe { mac.get_params(array.as_mut_ptr()) };
    p.return_size = array[0].return_size;
    done
}

impl<M: Keyed> MacContext<M> {
    /// # Safety
    /// `provctx` is OpenSSL's, which keeps the provider alive as long as its contexts.
    unsafe fn create(provctx: *mut c_void) -> MacContext<M> {
        adjunct::ops::attribute();
        // SAFETY: the caller passes OpenSSL's provider context, and OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        MacContext { provider, next: Next::Unchanged, engine: Engine::None }
    }

    fn duplicate(&self) -> Option<MacContext<M>> {
        let next = match &self.next {
            Next::Unchanged => Next::Unchanged,
            Next::Served(under) => Next::Served(*under),
            Next::Delegated(f) => Next::Delegated(self.delegate(&f.name, f.properties.as_deref())?),
        };
        let engine = match &self.engine {
            Engine::None | Engine::Unkeyed(_) if !M::COPIES_UNKEYED => return None,
            Engine::None => Engine::None,
            Engine::Unkeyed(under) => Engine::Unkeyed(*under),
            Engine::Served(mac) => Engine::Served(mac.clone()),
            Engine::Delegated { mac, counts, total } => {
                Engine::Delegated { mac: mac.duplicate()?, counts: *counts, total: *total }
            }
        };
        Some(MacContext { provider: self.provider, next, engine })
    }

    /// A context of the default provider's with this digest or cipher.
    fn delegate(&self, name: &CStr, properties: Option<&CStr>) -> Option<Foreign> {
        let name = c_string(name.to_bytes())?;
        let properties = match properties {
            Some(text) => Some(c_string(text.to_bytes())?),
            None => None,
        };
        let text = |key: &'static CStr, value: &CString| Param {
            data: value.as_ptr().cast_mut().cast(),
            ..Param::describe(key, param::UTF8, value.count_bytes())
        };
        let properties_param = properties.as_ref().map_or(Param::END, |p| text(c"properties", p));
        let array = [text(M::UNDER, &name), properties_param, Param::END];
        let mut mac = fallback::Mac::new(self.provider.fallback()?, M::NAME)?;
        // SAFETY: the array ends.
        unsafe { mac.set_params(array.as_ptr()) }.then_some(Foreign { name, properties, mac })
    }

    /// The digest or cipher and the key of `params`, in the order OpenSSL takes them.
    fn set_params(&mut self, params: *const Param) -> bool {
        if params.is_null() {
            return true;
        }
        if let Some(p) = find(params, M::UNDER) {
            let Some(name) = p.get_str() else { return false };
            let properties = match find(params, c"properties").map(Param::get_str) {
                None => None,
                Some(Some(text)) => Some(text),
                Some(None) => return false,
            };
            self.next = match M::under(name)
                .filter(|under| properties.is_none_or(satisfied) && !M::replaced(*under, &self.provider.engines))
            {
                Some(under) => Next::Served(under),
                None => {
                    let properties = properties.map(|text| c_string(text.as_bytes()));
                    if properties.as_ref().is_some_and(Option::is_none) {
                        return false;
                    }
                    let delegated = c_string(name.as_bytes())
                        .and_then(|name| self.delegate(&name, properties.flatten().as_deref()));
                    match delegated {
                        Some(foreign) => Next::Delegated(foreign),
                        None => return false,
                    }
                }
            };
        }
        match find(params, c"key") {
            None => true,
            Some(p) if p.data_type != param::OCTETS => false,
            Some(p) if p.data.is_null() => self.restart(),
            Some(p) => p.get_octets().is_some_and(|key| self.set_key(key)),
        }
    }

    /// Whether the default provider may have a key; else it raises the error.
    fn may_leave(&self, key: &[u8]) -> bool {
        ops::may_leave(key).map_err(|error| self.provider.is_final(&error)).is_ok()
    }

    fn set_key(&mut self, key: &[u8]) -> bool {
        let delegated =
            matches!((&self.next, &self.engine), (Next::Delegated(_), _) | (Next::Unchanged, Engine::Delegated { .. }));
        if delegated && !self.may_leave(key) {
            return false;
        }
        let under = match (std::mem::replace(&mut self.next, Next::Unchanged), &mut self.engine) {
            (Next::Served(under), _) => under,
            (Next::Unchanged, Engine::Served(mac)) => mac.keyed(),
            (Next::Unchanged, Engine::Unkeyed(under)) => *under,
            (Next::Unchanged, Engine::None) => return false,
            (Next::Unchanged, Engine::Delegated { mac, total, .. }) => {
                *total = 0;
                // SAFETY: an empty array.
                return unsafe { mac.init(Some(key), std::ptr::null()) };
            }
            (Next::Delegated(Foreign { mut mac, name, .. }), _) => {
                // SAFETY: an empty array.
                let done = unsafe { mac.init(Some(key), std::ptr::null()) };
                let function = name.to_str().ok().and_then(M::under).map(M::function);
                let counts = function.map(|(function, bits)| Delegated::new(function, bits));
                self.engine = Engine::Delegated { mac, counts, total: 0 };
                return done;
            }
        };
        if let Engine::Served(mac) = &mut self.engine
            && mac.rekey(under, key)
        {
            return true;
        }
        match M::key(under, key) {
            Ok(mac) => {
                self.engine = Engine::Served(mac);
                true
            }
            Err(error) => {
                self.engine = Engine::Unkeyed(under);
                if !self.provider.is_final(&error) {
                    M::KEY_LENGTH.inspect(|&reason| self.provider.core.raise(reason));
                }
                false
            }
        }
    }

    /// Begins a new message with the same key.
    fn restart(&mut self) -> bool {
        match &mut self.engine {
            Engine::None | Engine::Unkeyed(_) => false,
            Engine::Served(mac) => {
                mac.reset();
                true
            }
            Engine::Delegated { mac, total, .. } => {
                *total = 0;
                // SAFETY: an empty array.
                unsafe { mac.init(None, std::ptr::null()) }
            }
        }
    }

    /// # Safety
    /// The pointers are those of `OSSL_FUNC_mac_init`.
    unsafe fn init(&mut self, key: *const u8, length: usize, params: *const Param) -> bool {
        // Most messages come without, and are short.
        if !params.is_null() && !self.set_params(params) {
            return false;
        }
        if key.is_null() {
            return self.restart();
        }
        // SAFETY: `key` is not null, and the caller passes OpenSSL's key with `length` readable bytes.
        self.set_key(unsafe { slice(key, length) })
    }

    #[inline]
    fn update(&mut self, data: &[u8]) -> bool {
        match &mut self.engine {
            Engine::Served(mac) => {
                mac.update(data);
                true
            }
            Engine::Delegated { mac, total, .. } => {
                *total = total.wrapping_add(data.len());
                mac.update(data)
            }
            Engine::None | Engine::Unkeyed(_) => false,
        }
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn finish(&mut self, output: Output) -> bool {
        match &mut self.engine {
            Engine::Served(mac) => {
                let size = M::size(mac.keyed());
                if !output.data.is_null() {
                    if output.size < size {
                        self.provider.core.raise(prov::OUTPUT_BUFFER_TOO_SMALL);
                        return false;
                    }
                    // SAFETY: the caller answers for `output`: `data`, which is not null, has room for `size` bytes.
                    if let Err(error) = mac.finish(unsafe { slice_mut(output.data, size) }) {
                        self.provider.is_final(&error);
                        return false;
                    }
                }
                if !output.length.is_null() {
                    // SAFETY: the caller answers for `output`: `length`, which is not null, is a place for a number.
                    unsafe { *output.length = size };
                }
                true
            }
            Engine::Delegated { mac, counts, total } => {
                let asks_length = output.data.is_null();
                // SAFETY: the caller answers for `output` being as it describes itself.
                let done = unsafe { mac.finish(output) == 1 };
                if let (true, false, Some(counts)) = (done, asks_length, *counts) {
                    counts.done(Direction::Encrypt, *total);
                }
                done
            }
            Engine::None | Engine::Unkeyed(_) => false,
        }
    }

    /// Answers a request for the block size of the digest that the next key is for, or the last one was.
    fn get_block_size(&self, p: &mut Param, block: fn(M::Under) -> usize) -> bool {
        match (&self.next, &self.engine) {
            (Next::Served(under), _) => p.set_usize(block(*under)),
            (Next::Delegated(Foreign { mac, .. }), _) | (Next::Unchanged, Engine::Delegated { mac, .. }) => ask(mac, p),
            (Next::Unchanged, Engine::Served(mac)) => p.set_usize(block(mac.keyed())),
            (Next::Unchanged, Engine::Unkeyed(under)) => p.set_usize(block(*under)),
            (Next::Unchanged, Engine::None) => p.set_usize(0),
        }
    }

    fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: the array is OpenSSL's.
        unsafe { param::iter_mut(params) }.all(|p| match (p.name().to_bytes(), M::BLOCK, &self.engine) {
            (b"block-size", Some(block), _) => self.get_block_size(p, block),
            (b"size" | b"block-size", _, Engine::Delegated { mac, .. }) => ask(mac, p),
            (b"size" | b"block-size", _, Engine::Served(mac)) => p.set_usize(M::size(mac.keyed())),
            (b"size" | b"block-size", _, Engine::Unkeyed(under)) => p.set_usize(M::size(*under)),
            (b"size" | b"block-size", _, Engine::None) => {
                M::NO_SIZE.inspect(|&reason| self.provider.core.raise(reason));
                p.set_usize(0)
            }
            _ => true,
        })
    }
}
