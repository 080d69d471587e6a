//! X25519 (RFC 7748) and Ed25519 (RFC 8032), on plain arrays.

use aws_lc_sys as lc;
use zeroize::Zeroizing;

type Key = [u8; 32];
type Signature = [u8; 64];

/// The X25519 public key of a private key.
pub(crate) fn x25519_public(private: &Key) -> Key {
    let mut public = [0; 32];
    // SAFETY: both arrays have the length the function takes.
    unsafe { lc::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

/// Writes the X25519 shared secret; false where it is all zeros (a peer point of small order).
pub(crate) fn x25519(private: &Key, peer: &Key, secret: &mut Key) -> bool {
    // SAFETY: the arrays have the length the function takes.
    unsafe { lc::X25519(secret.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) == 1 }
}

/// The Ed25519 public key of a private key.
pub(crate) fn ed25519_public(seed: &Key) -> Key {
    let (mut public, mut private) = ([0; 32], Zeroizing::new([0; 64]));
    // SAFETY: the arrays have the lengths the function takes.
    unsafe { lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr()) };
    public
}

/// The library's private key: the seed, then its public key.
fn pair(seed: &Key, public: &Key) -> Zeroizing<[u8; 64]> {
    let mut private = Zeroizing::new([0; 64]);
    private[..32].copy_from_slice(seed);
    private[32..].copy_from_slice(public);
    private
}

/// Signs `message`; `None` where memory runs out.
pub(crate) fn ed25519_sign(seed: &Key, public: &Key, message: &[u8]) -> Option<Signature> {
    let (private, mut signature) = (pair(seed, public), [0; 64]);
    // SAFETY: pointer and length describe the message, the arrays have the lengths the function takes.
    let done = unsafe { lc::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr()) };
    (done == 1).then_some(signature)
}

/// Whether `signature` is one of `message` by `public`.
pub(crate) fn ed25519_verify(public: &Key, message: &[u8], signature: &Signature) -> bool {
    // SAFETY: pointer and length describe the message, the arrays have the lengths the function takes.
    unsafe { lc::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr()) == 1 }
}

/// Signs `message` as Ed25519ph or Ed25519ctx; `None` where the context is too long, or memory runs out.
pub(crate) fn ed25519_sign_form(
    prehash: bool,
    context: &[u8],
    seed: &Key,
    public: &Key,
    message: &[u8],
) -> Option<Signature> {
    let (private, mut signature) = (pair(seed, public), [0; 64]);
    let (context, length) = (context.as_ptr(), context.len());
    let sign = if prehash { lc::ED25519ph_sign } else { lc::ED25519ctx_sign };
    // SAFETY: pointers and lengths describe message and context, the arrays have the lengths the functions take.
    let done =
        unsafe { sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr(), context, length) };
    (done == 1).then_some(signature)
}

/// Whether `signature` is one of `message` as Ed25519ph or Ed25519ctx by `public`.
pub(crate) fn ed25519_verify_form(
    prehash: bool,
    context: &[u8],
    public: &Key,
    message: &[u8],
    signature: &Signature,
) -> bool {
    let (context, length) = (context.as_ptr(), context.len());
    let verify = if prehash { lc::ED25519ph_verify } else { lc::ED25519ctx_verify };
    // SAFETY: pointers and lengths describe message and context, the arrays have the lengths the functions take.
    unsafe { verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr(), context, length) == 1 }
}
