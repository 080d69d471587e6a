//! X448 (RFC 7748) and Ed448 (RFC 8032), which AWS-LC lacks, for modules that no libcrypto has called (libica, PKCS #11).
//!
//! A libcrypto is looked for once: the one the process has, or else the system's. The provider lives in a library context of our own, and its
//! functions are called through its own tables. EVP would do more: OpenSSL 3 looks for an engine first, for which it loads openssl.cnf, and that
//! engine may call this module.
//!
//! libcrypto's initialization and cleanup are left to the program: switching off its configuration or its handler at exit would do so for the whole
//! process. One effect cannot be avoided with OpenSSL 3: Ed448 hashes by EVP inside the provider, so that its first use loads the program's
//! configuration, as any first use of libcrypto does.
//!
//! No lock is held while a libcrypto is looked for, so that a fork at any moment leaves the child a usable state.

use super::{Algorithm, AlgorithmContext, DefaultKey, Library};
use crate::param::{self, Param};
use crate::{forward, id, object};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use zeroize::Zeroizing;

/// The length of an X448 key and of a shared secret, in bytes.
pub const X448: usize = 56;
/// The length of an Ed448 key, in bytes.
pub const ED448: usize = 57;
/// The length of an Ed448 signature, in bytes.
pub const SIGNATURE: usize = 114;

/// The default provider's algorithms. Never freed: a program may call us while it ends.
struct Curves {
    library: &'static Library,
    x448_keys: Algorithm,
    x448: Algorithm,
    ed448_keys: Algorithm,
    ed448: Algorithm,
    forms: bool,
}

/// A form of Ed448 (RFC 8032, 5.2).
#[derive(Debug, Clone, Copy, Default)]
pub struct Form<'a> {
    /// Ed448ph: of the message's digest, which is made here.
    pub prehash: bool,
    /// The context, at most 255 bytes.
    pub context: &'a [u8],
}

impl Form<'_> {
    /// The parameters that say the form; none for the plain form, which every libcrypto has.
    fn params(&self) -> [Param; 3] {
        let mut params = [Param::END; 3];
        if self.prehash || !self.context.is_empty() {
            // What has a context without a prehash is plain Ed448 (RFC 8032, 5.2: PH is the identity there).
            params[0] = Param::text(c"instance", if self.prehash { c"Ed448ph" } else { c"Ed448" });
            params[1] = Param::octets(c"context-string", self.context.as_ptr().cast_mut(), self.context.len());
        }
        params
    }

    fn is_plain(&self) -> bool {
        !self.prehash && self.context.is_empty()
    }
}

/// The result of the search, once it was made.
static CURVES: AtomicPtr<Option<Curves>> = AtomicPtr::new(null_mut());

/// Looks for a libcrypto, unless that has been done. A module that opens no files later calls this while it is loaded.
pub fn load() {
    curves();
}

/// Whether there is a libcrypto that has X448 and Ed448.
pub fn available() -> bool {
    curves().is_some()
}

/// Whether the libcrypto signs by Ed448 with a context, and by Ed448ph: since OpenSSL 3.2.
pub fn has_forms() -> bool {
    curves().is_some_and(|curves| curves.forms)
}

fn curves() -> Option<&'static Curves> {
    // SAFETY: null, or a box that is never freed.
    if let Some(found) = unsafe { CURVES.load(Acquire).as_ref() } {
        return found.as_ref();
    }
    let made = Box::into_raw(Box::new(Curves::find()));
    let found = match CURVES.compare_exchange(null_mut(), made, AcqRel, Acquire) {
        Ok(_) => made,
        Err(theirs) => {
            // SAFETY: made above, and seen by nobody.
            drop(unsafe { Box::from_raw(made) });
            theirs
        }
    };
    // SAFETY: a box that is never freed.
    unsafe { (*found).as_ref() }
}

/// The X448 public key of a private key.
pub fn x448_public(private: &[u8; X448]) -> Option<[u8; X448]> {
    let curves = curves()?;
    curves.quietly(|| curves.public(curves.x448_keys, private))
}

/// The X448 shared secret; `None` where it is all zeros (a peer point of small order).
pub fn x448(private: &[u8; X448], peer: &[u8; X448]) -> Option<Zeroizing<[u8; X448]>> {
    let curves = curves()?;
    let (keys, exchange) = (curves.x448_keys, curves.x448);
    curves.quietly(|| {
        // Of the pair only the private half is used; with something in the other's place it is not computed.
        let own = curves.key(keys, Some(private), Some(&[0; X448]));
        let own = own.or_else(|| curves.key(keys, Some(private), None))?;
        let peer = curves.key(keys, None, Some(peer))?;
        let mut secret = Zeroizing::new([0; X448]);
        let mut length = X448;
        let provider = exchange.provider_context();
        let raw = forward!(exchange, id::KEYEXCH_NEWCTX, fn(*mut c_void) -> *mut c_void, null_mut(), (provider));
        // SAFETY: made by the algorithm just now.
        let context = unsafe { AlgorithmContext::own(exchange, raw, id::KEYEXCH_FREECTX) }?;
        let (raw, own, peer) = (context.raw(), own.raw(), peer.raw());
        let (data, out_length) = (secret.as_mut_ptr(), &raw mut length);
        let done = forward!(
            exchange,
            id::KEYEXCH_INIT,
            fn(*mut c_void, *mut c_void, *const Param) -> c_int,
            0,
            (raw, own, null())
        ) == 1
            && forward!(exchange, id::KEYEXCH_SET_PEER, fn(*mut c_void, *mut c_void) -> c_int, 0, (raw, peer)) == 1
            && forward!(
                exchange,
                id::KEYEXCH_DERIVE,
                fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
                0,
                (raw, data, out_length, X448)
            ) == 1;
        (done && length == X448).then_some(secret)
    })
}

/// The Ed448 public key of a private key.
pub fn ed448_public(private: &[u8; ED448]) -> Option<[u8; ED448]> {
    let curves = curves()?;
    curves.quietly(|| curves.public(curves.ed448_keys, private))
}

/// Signs `message` by Ed448. `public` must be the public key of `private`: a signature made with another gives the private key
/// away.
pub fn ed448_sign(private: &[u8; ED448], public: &[u8; ED448], message: &[u8]) -> Option<[u8; SIGNATURE]> {
    ed448_sign_form(Form::default(), private, public, message)
}

/// Signs `message` by Ed448 in a form. `public` must be the public key of `private`: a signature made with another gives the private key
/// away. `None` also where [`has_forms`] says that there are no forms.
pub fn ed448_sign_form(
    form: Form<'_>,
    private: &[u8; ED448],
    public: &[u8; ED448],
    message: &[u8],
) -> Option<[u8; SIGNATURE]> {
    let curves = curves()?.with(form)?;
    curves.quietly(|| {
        let key = curves.key(curves.ed448_keys, Some(private), Some(public))?;
        let (mut signature, mut length) = ([0; SIGNATURE], SIGNATURE);
        let (context, ready) = curves.signing(id::SIGNATURE_DIGEST_SIGN_INIT, &key, form)?;
        let (raw, out, out_length) = (context.raw(), signature.as_mut_ptr(), &raw mut length);
        let done = ready
            && forward!(
                curves.ed448,
                id::SIGNATURE_DIGEST_SIGN,
                fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int,
                0,
                (raw, out, out_length, SIGNATURE, message.as_ptr(), message.len())
            ) == 1;
        (done && length == SIGNATURE).then_some(signature)
    })
}

/// Whether `signature` is `public`'s of `message`.
pub fn ed448_verify(public: &[u8; ED448], message: &[u8], signature: &[u8; SIGNATURE]) -> Option<bool> {
    ed448_verify_form(Form::default(), public, message, signature)
}

/// Whether `signature` is `public`'s of `message` in a form; `None` also where [`has_forms`] says that there are no forms.
pub fn ed448_verify_form(
    form: Form<'_>,
    public: &[u8; ED448],
    message: &[u8],
    signature: &[u8; SIGNATURE],
) -> Option<bool> {
    let curves = curves()?.with(form)?;
    curves.quietly(|| {
        let Some(key) = curves.key(curves.ed448_keys, None, Some(public)) else { return Some(false) };
        let (context, ready) = curves.signing(id::SIGNATURE_DIGEST_VERIFY_INIT, &key, form)?;
        let (raw, data) = (context.raw(), signature.as_ptr());
        ready.then(|| {
            forward!(
                curves.ed448,
                id::SIGNATURE_DIGEST_VERIFY,
                fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
                0,
                (raw, data, SIGNATURE, message.as_ptr(), message.len())
            ) == 1
        })
    })
}

impl Curves {
    fn find() -> Option<Curves> {
        let library = super::library(object::libcrypto()?)?;
        let ed448 = library.algorithm(id::OP_SIGNATURE, c"ED448")?;
        Some(Curves {
            library,
            x448_keys: library.algorithm(id::OP_KEYMGMT, c"X448")?,
            x448: library.algorithm(id::OP_KEYEXCH, c"X448")?,
            ed448_keys: library.algorithm(id::OP_KEYMGMT, c"ED448")?,
            forms: Curves::forms(ed448),
            ed448,
        })
    }

    /// Whether Ed448 takes a context. Where it does not, it would pass over one without a word.
    fn forms(ed448: Algorithm) -> bool {
        let (none, provider) = (null_mut(), ed448.provider_context());
        let list = forward!(
            ed448,
            id::SIGNATURE_SETTABLE_CTX_PARAMS,
            fn(*mut c_void, *mut c_void) -> *const Param,
            null(),
            (none, provider)
        );
        // SAFETY: a static array of libcrypto's, or null; its functions pass over a null context.
        unsafe { param::find(list, c"instance").is_some() && param::find(list, c"context-string").is_some() }
    }

    /// The curves, if their libcrypto has the form.
    fn with(&self, form: Form<'_>) -> Option<&Curves> {
        (self.forms || form.is_plain()).then_some(self)
    }

    /// Makes a key of its private half, its public one, or both. Where only the private half is given, the provider computes the other.
    fn key<const N: usize>(
        &self,
        keys: Algorithm,
        private: Option<&[u8; N]>,
        public: Option<&[u8; N]>,
    ) -> Option<DefaultKey> {
        let param = |name, half: &[u8; N]| Param::octets(name, half.as_ptr().cast_mut(), N);
        let mut params = [Param::END; 3];
        let halves = [private.map(|half| param(c"priv", half)), public.map(|half| param(c"pub", half))];
        halves.into_iter().flatten().zip(&mut params).for_each(|(half, param)| *param = half);
        let with_private = if private.is_some() { id::KEYMGMT_SELECT_PRIVATE_KEY } else { 0 };
        let selection = id::KEYMGMT_SELECT_PUBLIC_KEY | with_private;
        // SAFETY: the array ends; it is only read.
        unsafe { DefaultKey::import(self.library, keys, selection, params.as_ptr()) }
    }

    fn public<const N: usize>(&self, keys: Algorithm, private: &[u8; N]) -> Option<[u8; N]> {
        let key = self.key(keys, Some(private), None)?;
        let mut public = [0; N];
        let mut params = [Param::octets(c"pub", public.as_mut_ptr(), N), Param::END];
        // SAFETY: the array ends, and its entry has the buffer's length.
        let done = unsafe { key.get_params(params.as_mut_ptr()) } == 1;
        (done && params[0].return_size == N).then_some(public)
    }

    /// A context of Ed448, and whether its `init` (the number of that function) took the key and the form.
    fn signing(&self, init: c_int, key: &DefaultKey, form: Form<'_>) -> Option<(AlgorithmContext, bool)> {
        let params = form.params();
        let (provider, key, name) = (self.ed448.provider_context(), key.raw(), null());
        let raw = forward!(
            self.ed448,
            id::SIGNATURE_NEWCTX,
            fn(*mut c_void, *const c_char) -> *mut c_void,
            null_mut(),
            (provider, name)
        );
        // SAFETY: made by the algorithm just now.
        let context = unsafe { AlgorithmContext::own(self.ed448, raw, id::SIGNATURE_FREECTX) }?;
        let done = forward!(
            self.ed448,
            init,
            fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int,
            0,
            (context.raw(), name, key, params.as_ptr())
        );
        Some((context, done == 1))
    }

    /// Runs `body` and removes the errors that it put on the thread's queue: that queue belongs to the program.
    fn quietly<T>(&self, body: impl FnOnce() -> T) -> T {
        self.library.errors().quietly(body)
    }
}
