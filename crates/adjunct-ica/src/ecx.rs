//! X25519, X448 (RFC 7748), Ed25519 and Ed448 (RFC 8032): keys, shared secrets and signatures.
//!
//! A key has the halves that the program has set. Several threads may use its context at once while none sets or makes a key.

use crate::error::Errno;
use crate::libcrypto;
use crate::serve::permit;
use adjunct::catalogue::Function;
use adjunct::ops;
use adjunct::ops::ecx::{Private, ed448, ed25519, x448, x25519};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use zeroize::Zeroizing;

/// A curve with keys of `N` bytes. What computes gives `None` where it fails.
pub trait Curve<const N: usize> {
    /// The function as which making a public key counts.
    const KEYGEN: Function;

    /// A key pair.
    fn generate() -> Option<(Private<N>, [u8; N])>;

    /// The public key of a private key.
    fn public(private: &Private<N>) -> Option<[u8; N]>;
}

/// A curve for key agreement.
pub trait Agreement<const N: usize>: Curve<N> {
    /// The function as which a shared secret counts.
    const DERIVE: Function;

    /// The shared secret; `None` where it is all zeros.
    fn derive(private: &Private<N>, peer: &[u8; N]) -> Option<Zeroizing<[u8; N]>>;
}

/// A curve for signatures of `S` bytes.
pub trait Signatures<const N: usize, const S: usize>: Curve<N> {
    /// The function as which a signature counts.
    const SIGN: Function;
    /// Function that verifications count as.
    const VERIFY: Function;

    /// Whether hardware signs a message of `_message` bytes.
    fn signs_in_hardware(_message: usize) -> bool {
        ops::in_hardware(Self::SIGN, 0)
    }

    /// Signs; `public` is the public key of `private`.
    fn sign(private: &Private<N>, public: &[u8; N], message: &[u8]) -> Option<[u8; S]>;
    /// Whether `signature` is `public`'s of the message.
    fn verify(public: &[u8; N], message: &[u8], signature: &[u8; S]) -> bool;
}

/// X25519.
#[derive(Debug)]
pub struct X25519;

impl Curve<{ x25519::KEY }> for X25519 {
    const KEYGEN: Function = Function::X25519Keygen;

    fn generate() -> Option<(Private<{ x25519::KEY }>, [u8; x25519::KEY])> {
        Some(x25519::generate())
    }

    fn public(private: &Private<{ x25519::KEY }>) -> Option<[u8; x25519::KEY]> {
        x25519::public(private).ok()
    }
}

impl Agreement<{ x25519::KEY }> for X25519 {
    const DERIVE: Function = Function::X25519Derive;

    fn derive(private: &Private<{ x25519::KEY }>, peer: &[u8; x25519::KEY]) -> Option<Zeroizing<[u8; x25519::KEY]>> {
        x25519::shared_secret(private, peer).ok()
    }
}

/// Ed25519.
#[derive(Debug)]
pub struct Ed25519;

impl Curve<{ ed25519::KEY }> for Ed25519 {
    const KEYGEN: Function = Function::Ed25519Keygen;

    fn generate() -> Option<(Private<{ ed25519::KEY }>, [u8; ed25519::KEY])> {
        Some(ed25519::generate())
    }

    fn public(private: &Private<{ ed25519::KEY }>) -> Option<[u8; ed25519::KEY]> {
        ed25519::public(private).ok()
    }
}

impl Signatures<{ ed25519::KEY }, { ed25519::SIGNATURE }> for Ed25519 {
    const SIGN: Function = Function::Ed25519Sign;
    const VERIFY: Function = Function::Ed25519Verify;

    fn signs_in_hardware(message: usize) -> bool {
        ed25519::signs_in_hardware(message)
    }

    fn sign(
        private: &Private<{ ed25519::KEY }>,
        public: &[u8; ed25519::KEY],
        message: &[u8],
    ) -> Option<[u8; ed25519::SIGNATURE]> {
        ed25519::sign(private, public, message).ok()
    }

    fn verify(public: &[u8; ed25519::KEY], message: &[u8], signature: &[u8; ed25519::SIGNATURE]) -> bool {
        // RFC 8032, 5.1.3: the CPU library decodes some that are no encodings.
        ed25519::verify(public, message, signature) && ed25519::is_ordinary(public)
    }
}

/// X448.
#[derive(Debug)]
pub struct X448;

impl Curve<{ x448::KEY }> for X448 {
    const KEYGEN: Function = Function::X448Keygen;

    fn generate() -> Option<(Private<{ x448::KEY }>, [u8; x448::KEY])> {
        x448::generate(libcrypto::x448_public)
    }

    fn public(private: &Private<{ x448::KEY }>) -> Option<[u8; x448::KEY]> {
        x448::public(private, libcrypto::x448_public).ok()
    }
}

impl Agreement<{ x448::KEY }> for X448 {
    const DERIVE: Function = Function::X448Derive;

    fn derive(private: &Private<{ x448::KEY }>, peer: &[u8; x448::KEY]) -> Option<Zeroizing<[u8; x448::KEY]>> {
        x448::shared_secret(private, peer, libcrypto::x448).ok()
    }
}

/// Ed448.
#[derive(Debug)]
pub struct Ed448;

impl Curve<{ ed448::KEY }> for Ed448 {
    const KEYGEN: Function = Function::Ed448Keygen;

    fn generate() -> Option<(Private<{ ed448::KEY }>, [u8; ed448::KEY])> {
        ed448::generate(libcrypto::ed448_public)
    }

    fn public(private: &Private<{ ed448::KEY }>) -> Option<[u8; ed448::KEY]> {
        ed448::public(private, libcrypto::ed448_public).ok()
    }
}

impl Signatures<{ ed448::KEY }, { ed448::SIGNATURE }> for Ed448 {
    const SIGN: Function = Function::Ed448Sign;
    const VERIFY: Function = Function::Ed448Verify;

    fn sign(
        private: &Private<{ ed448::KEY }>,
        public: &[u8; ed448::KEY],
        message: &[u8],
    ) -> Option<[u8; ed448::SIGNATURE]> {
        ed448::sign(private, public, message, libcrypto::ed448_sign).ok()
    }

    fn verify(public: &[u8; ed448::KEY], message: &[u8], signature: &[u8; ed448::SIGNATURE]) -> bool {
        ed448::verify(public, message, signature, libcrypto::ed448_verify) == Some(true)
    }
}

/// Whether an operation may run.
fn allow(function: Function) -> Result<(), Errno> {
    permit(function, ops::in_hardware(function, 0))
}

/// Bytes that any thread may fill in, all with the same value. A lock here could be held by a thread that a fork leaves behind.
#[derive(Debug)]
struct Once<const N: usize> {
    bytes: [AtomicU8; N],
    there: AtomicBool,
}

impl<const N: usize> Once<N> {
    const fn new() -> Once<N> {
        Once { bytes: [const { AtomicU8::new(0) }; N], there: AtomicBool::new(false) }
    }

    fn get(&self) -> Option<[u8; N]> {
        let there = self.there.load(Ordering::Acquire);
        there.then(|| std::array::from_fn(|i| self.bytes[i].load(Ordering::Relaxed)))
    }

    fn set(&self, value: &[u8; N]) {
        self.bytes.iter().zip(value).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        self.there.store(true, Ordering::Release);
    }
}

/// A key: `ICA_X25519_CTX` and its like.
pub struct IcaEcxKey<C, const N: usize> {
    private: Option<Private<N>>,
    /// The public key the program has set, whatever the private one is: it may be another's, to verify with.
    public: Option<[u8; N]>,
    /// The public key of the private one.
    own: Once<N>,
    curve: PhantomData<C>,
}

impl<C, const N: usize> std::fmt::Debug for IcaEcxKey<C, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("public", &self.public).finish_non_exhaustive()
    }
}

impl<C: Curve<N>, const N: usize> IcaEcxKey<C, N> {
    /// Makes an empty key.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where nothing serves this curve: that is how programs ask.
    pub fn new() -> Result<IcaEcxKey<C, N>, Errno> {
        allow(C::KEYGEN)?;
        Ok(IcaEcxKey { private: None, public: None, own: Once::new(), curve: PhantomData })
    }

    /// Sets the halves of the key that are given.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for none.
    pub fn set(&mut self, private: Option<&[u8; N]>, public: Option<&[u8; N]>) -> Result<(), Errno> {
        if private.is_none() && public.is_none() {
            return Err(Errno::INVALID);
        }
        if let Some(private) = private {
            Private::put(&mut self.private, private);
            self.own = Once::new();
        }
        self.public = public.copied().or(self.public);
        Ok(())
    }

    /// The private half.
    ///
    /// # Errors
    /// [`Errno::INVALID`] where there is none.
    pub fn private(&self) -> Result<&[u8; N], Errno> {
        self.held()?.bytes().ok_or(Errno::INVALID)
    }

    fn held(&self) -> Result<&Private<N>, Errno> {
        self.private.as_ref().ok_or(Errno::INVALID)
    }

    /// The public half: the one that was set, or else that of the private half.
    ///
    /// # Errors
    /// [`Errno::INVALID`] where there is neither; [`Errno::NO_DEVICE`] where nothing computes it.
    pub fn public(&self) -> Result<[u8; N], Errno> {
        self.public.map_or_else(|| self.own(), Ok)
    }

    /// The public key of the private one; computing it counts, at whatever call.
    fn own(&self) -> Result<[u8; N], Errno> {
        let private = self.held()?;
        if let Some(public) = self.own.get() {
            return Ok(public);
        }
        allow(C::KEYGEN)?;
        ops::attribute_now();
        let public = C::public(private).ok_or(Errno::IO)?;
        self.own.set(&public);
        Ok(public)
    }

    /// Generates a new key.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where nothing serves it; the key is as it was.
    pub fn generate(&mut self) -> Result<(), Errno> {
        allow(C::KEYGEN)?;
        ops::attribute_now();
        let (private, public) = C::generate().ok_or(Errno::IO)?;
        (self.private, self.own) = (Some(private), Once::new());
        self.public = None;
        self.own.set(&public);
        Ok(())
    }

    /// The secret shared with a peer.
    ///
    /// # Errors
    /// [`Errno::INVALID`] without a private key; [`Errno::NO_DEVICE`]; [`Errno::IO`] where it is all zeros (RFC 7748, 6).
    pub fn derive(&self, peer: &[u8; N]) -> Result<Zeroizing<[u8; N]>, Errno>
    where
        C: Agreement<N>,
    {
        let private = self.held()?;
        allow(C::DERIVE)?;
        ops::attribute_now();
        C::derive(private, peer).ok_or(Errno::IO)
    }

    /// Signs a message.
    ///
    /// # Errors
    /// [`Errno::INVALID`] without a private key; [`Errno::NO_DEVICE`].
    pub fn sign<const S: usize>(&self, message: &[u8]) -> Result<[u8; S], Errno>
    where
        C: Signatures<N, S>,
    {
        let private = self.held()?;
        permit(C::SIGN, C::signs_in_hardware(message.len()))?;
        // Never with the public key that was set: signatures of one message with two public keys give the private key away.
        let public = self.own()?;
        ops::attribute_now();
        C::sign(private, &public, message).ok_or(Errno::IO)
    }

    /// Verifies a signature.
    ///
    /// # Errors
    /// [`Errno::FAULT`] where it is not one of this key; [`Errno::INVALID`] without a key; [`Errno::NO_DEVICE`].
    pub fn verify<const S: usize>(&self, message: &[u8], signature: &[u8; S]) -> Result<(), Errno>
    where
        C: Signatures<N, S>,
    {
        let public = self.public()?;
        allow(C::VERIFY)?;
        ops::attribute_now();
        if C::verify(&public, message, signature) { Ok(()) } else { Err(Errno::FAULT) }
    }
}
