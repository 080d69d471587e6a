//! X25519, X448 (RFC 7748), Ed25519 and Ed448 (RFC 8032): keys, shared secrets and signatures.
//!
//! A key is what the program has set of it. Its contexts may be used by several threads at once while none sets or makes a key.

use crate::error::Errno;
use crate::libcrypto;
use crate::serve::Operation;
use adjunct::adapter::Outcome;
use adjunct::adapter::cpu::awslc::{self, ecx};
use adjunct::adapter::cpu::curve448;
use adjunct::adapter::lanes::curve;
use adjunct::catalogue::Function;
use adjunct::catalogue::{Path, Reason};
use adjunct::ops::Tally;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use zeroize::Zeroizing;

/// A curve with keys of `N` bytes.
pub trait Curve<const N: usize> {
    /// What a public key counts as.
    const KEYGEN: Function;

    /// Whether an operation is allowed, and where it counts.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where nothing serves it.
    fn operation(function: Function) -> Result<Operation, Errno> {
        Operation::new(function, 0)
    }

    /// A private key of these random bytes.
    fn clamp(_random: &mut [u8; N]) {}

    /// The public key of a private key.
    fn public(private: &[u8; N]) -> Option<([u8; N], Outcome)>;
}

/// A curve for key agreement.
pub trait Agreement<const N: usize>: Curve<N> {
    /// What a shared secret counts as.
    const DERIVE: Function;

    /// The shared secret; `None` where it is all zeros.
    fn derive(private: &[u8; N], peer: &[u8; N]) -> (Option<Zeroizing<[u8; N]>>, Outcome);
}

/// A curve for signatures of `S` bytes.
pub trait Signatures<const N: usize, const S: usize>: Curve<N> {
    /// What a signature counts as.
    const SIGN: Function;
    /// What its verification counts as.
    const VERIFY: Function;

    /// Whether a message of so many bytes may be signed, and where that counts.
    ///
    /// # Errors
    /// As for [`Curve::operation`].
    fn signing(_message: usize) -> Result<Operation, Errno> {
        Self::operation(Self::SIGN)
    }

    /// Signs; `public` is the public key of `private`.
    fn sign(private: &[u8; N], public: &[u8; N], message: &[u8]) -> (Option<[u8; S]>, Outcome);
    /// Whether it is a signature of the message.
    fn verify(public: &[u8; N], message: &[u8], signature: &[u8; S]) -> (bool, Outcome);
}

/// X25519.
#[derive(Debug)]
pub struct X25519;

impl Curve<32> for X25519 {
    const KEYGEN: Function = Function::X25519Keygen;

    fn clamp(random: &mut [u8; 32]) {
        random[0] &= 248;
        random[31] = random[31] & 127 | 64;
    }

    fn public(private: &[u8; 32]) -> Option<([u8; 32], Outcome)> {
        Some(curve::x25519_public(private))
    }
}

impl Agreement<32> for X25519 {
    const DERIVE: Function = Function::X25519Derive;

    fn derive(private: &[u8; 32], peer: &[u8; 32]) -> (Option<Zeroizing<[u8; 32]>>, Outcome) {
        curve::x25519(private, peer)
    }
}

/// Ed25519.
#[derive(Debug)]
pub struct Ed25519;

impl Curve<32> for Ed25519 {
    const KEYGEN: Function = Function::Ed25519Keygen;

    fn public(private: &[u8; 32]) -> Option<([u8; 32], Outcome)> {
        Some(curve::ed25519_public(private))
    }
}

impl Signatures<32, 64> for Ed25519 {
    const SIGN: Function = Function::Ed25519Sign;
    const VERIFY: Function = Function::Ed25519Verify;

    fn signing(message: usize) -> Result<Operation, Errno> {
        Operation::of(curve::ed25519_tally(Tally::new(Self::SIGN, 0), message))
    }

    fn sign(private: &[u8; 32], public: &[u8; 32], message: &[u8]) -> (Option<[u8; 64]>, Outcome) {
        curve::ed25519_sign(private, public, message)
    }

    fn verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> (bool, Outcome) {
        let (good, outcome) = ecx::ed25519_verify(public, message, signature);
        // RFC 8032, 5.1.3: the CPU library decodes some that are no encodings.
        (good && ecx::ed25519_is_ordinary(public), outcome)
    }
}

/// By libcrypto, whatever serves others of this function.
const DELEGATED: Outcome = Outcome::Software(Reason::Delegated);

/// By the instructions, or where they have not done it by libcrypto.
fn first<T>(instructions: Option<T>, libcrypto: impl FnOnce() -> Option<T>) -> (Option<T>, Outcome) {
    match instructions {
        Some(done) => (Some(done), Outcome::Instructions),
        None => (libcrypto(), DELEGATED),
    }
}

/// Instructions, where they have it, or libcrypto.
fn of_448(function: Function) -> Result<Operation, Errno> {
    let tally = Tally::new(function, 0);
    if tally.path() == Path::Hardware { Operation::of(tally) } else { Operation::of(Tally::delegated(function, 0)) }
}

/// X448.
#[derive(Debug)]
pub struct X448;

impl Curve<{ libcrypto::X448 }> for X448 {
    const KEYGEN: Function = Function::X448Keygen;

    fn operation(function: Function) -> Result<Operation, Errno> {
        of_448(function)
    }

    fn clamp(random: &mut [u8; libcrypto::X448]) {
        random[0] &= 252;
        random[55] |= 128;
    }

    fn public(private: &[u8; libcrypto::X448]) -> Option<([u8; libcrypto::X448], Outcome)> {
        let (public, outcome) = first(curve448::x448_public(private), || libcrypto::x448_public(private));
        Some((public?, outcome))
    }
}

impl Agreement<{ libcrypto::X448 }> for X448 {
    const DERIVE: Function = Function::X448Derive;

    fn derive(
        private: &[u8; libcrypto::X448],
        peer: &[u8; libcrypto::X448],
    ) -> (Option<Zeroizing<[u8; libcrypto::X448]>>, Outcome) {
        let (secret, outcome) = first(curve448::x448(private, peer), || libcrypto::x448(private, peer));
        (secret.filter(|secret| secret.iter().fold(0, |all, b| all | b) != 0), outcome)
    }
}

/// Ed448.
#[derive(Debug)]
pub struct Ed448;

impl Curve<{ libcrypto::ED448 }> for Ed448 {
    const KEYGEN: Function = Function::Ed448Keygen;

    fn operation(function: Function) -> Result<Operation, Errno> {
        of_448(function)
    }

    fn public(private: &[u8; libcrypto::ED448]) -> Option<([u8; libcrypto::ED448], Outcome)> {
        let (public, outcome) = first(curve448::ed448_public(private), || libcrypto::ed448_public(private));
        Some((public?, outcome))
    }
}

impl Signatures<{ libcrypto::ED448 }, { libcrypto::SIGNATURE }> for Ed448 {
    const SIGN: Function = Function::Ed448Sign;
    const VERIFY: Function = Function::Ed448Verify;

    fn sign(
        private: &[u8; libcrypto::ED448],
        public: &[u8; libcrypto::ED448],
        message: &[u8],
    ) -> (Option<[u8; libcrypto::SIGNATURE]>, Outcome) {
        let signature = curve448::ed448_sign(private, message);
        first(signature, || libcrypto::ed448_sign(private, public, message))
    }

    fn verify(
        public: &[u8; libcrypto::ED448],
        message: &[u8],
        signature: &[u8; libcrypto::SIGNATURE],
    ) -> (bool, Outcome) {
        let verified = curve448::ed448_verify(public, message, signature);
        let (good, outcome) = first(verified, || libcrypto::ed448_verify(public, message, signature));
        (good == Some(true), outcome)
    }
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
pub struct Key<C, const N: usize> {
    private: Option<Zeroizing<[u8; N]>>,
    /// The public key the program has set, whatever the private one is: it may be another's, to verify with.
    public: Option<[u8; N]>,
    /// The public key of the private one.
    own: Once<N>,
    curve: PhantomData<C>,
}

impl<C, const N: usize> std::fmt::Debug for Key<C, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("public", &self.public).finish_non_exhaustive()
    }
}

impl<C: Curve<N>, const N: usize> Key<C, N> {
    /// An empty one.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where nothing serves this curve: that is how programs ask.
    pub fn new() -> Result<Key<C, N>, Errno> {
        C::operation(C::KEYGEN)?;
        Ok(Key { private: None, public: None, own: Once::new(), curve: PhantomData })
    }

    /// Sets the halves that are given.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for none.
    pub fn set(&mut self, private: Option<&[u8; N]>, public: Option<&[u8; N]>) -> Result<(), Errno> {
        if private.is_none() && public.is_none() {
            return Err(Errno::INVALID);
        }
        if let Some(private) = private {
            self.set_private(private);
        }
        self.public = public.copied().or(self.public);
        Ok(())
    }

    /// Copied in place: what is moved leaves its bytes behind.
    fn set_private(&mut self, private: &[u8; N]) {
        self.private.get_or_insert_with(|| Zeroizing::new([0; N])).copy_from_slice(private);
        self.own = Once::new();
    }

    /// The private half.
    ///
    /// # Errors
    /// [`Errno::INVALID`] where there is none.
    pub fn private(&self) -> Result<&[u8; N], Errno> {
        self.private.as_deref().ok_or(Errno::INVALID)
    }

    /// The public half: that which was set, or else that of the private one.
    ///
    /// # Errors
    /// [`Errno::INVALID`] where there is neither; [`Errno::NO_DEVICE`] where nothing computes it.
    pub fn public(&self) -> Result<[u8; N], Errno> {
        self.public.map_or_else(|| self.own(), Ok)
    }

    /// The public key of the private one; computing it counts, at whatever call.
    fn own(&self) -> Result<[u8; N], Errno> {
        let private = self.private()?;
        if let Some(public) = self.own.get() {
            return Ok(public);
        }
        let operation = C::operation(C::KEYGEN)?;
        let (public, outcome) = C::public(private).ok_or(Errno::IO)?;
        operation.ran(outcome);
        self.own.set(&public);
        Ok(public)
    }

    /// Makes a new one.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where nothing serves it; the key is as it was.
    pub fn generate(&mut self) -> Result<(), Errno> {
        let operation = C::operation(C::KEYGEN)?;
        let mut private = Zeroizing::new([0; N]);
        awslc::random(&mut private[..]);
        C::clamp(&mut private);
        let (public, outcome) = C::public(&private).ok_or(Errno::IO)?;
        operation.ran(outcome);
        self.set_private(&private);
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
        let private = self.private()?;
        let operation = C::operation(C::DERIVE)?;
        let (secret, outcome) = C::derive(private, peer);
        operation.ran(outcome);
        secret.ok_or(Errno::IO)
    }

    /// Signs a message.
    ///
    /// # Errors
    /// [`Errno::INVALID`] without a private key; [`Errno::NO_DEVICE`].
    pub fn sign<const S: usize>(&self, message: &[u8]) -> Result<[u8; S], Errno>
    where
        C: Signatures<N, S>,
    {
        let private = self.private()?;
        let operation = C::signing(message.len())?;
        // Never with the public key that was set: signatures of one message with two public keys give the private key away.
        let public = self.own()?;
        let (signature, outcome) = C::sign(private, &public, message);
        operation.ran(outcome);
        signature.ok_or(Errno::IO)
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
        let operation = C::operation(C::VERIFY)?;
        let (right, outcome) = C::verify(&public, message, signature);
        operation.ran(outcome);
        if right { Ok(()) } else { Err(Errno::FAULT) }
    }
}
