//! Ed448 and X448: computed by instructions where the CPU has them, else by a library that the user of this crate names. Without either, there are no
//! such keys.

use adjunct::catalogue::Function;
use adjunct::memory::WriteOnce;
use adjunct::ops;
use adjunct::ops::ecx::ed25519::Form;
use adjunct::ops::ecx::{Private, ed448, x448};
use zeroize::Zeroizing;

/// A key of Ed448.
type Ed448 = [u8; ed448::KEY];
/// A signature by Ed448.
type Signature = [u8; ed448::SIGNATURE];
/// A key of X448, or a secret.
type X448 = [u8; x448::KEY];

/// The functions of a library that has Ed448 and X448. Those that compute give `None` where the library fails.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// Whether the curves are there. It is asked for the first time when a program wants such a key.
    pub available: fn() -> bool,
    /// Whether there are the forms of Ed448 with a context, and of a digest.
    pub has_forms: fn() -> bool,
    /// The public key of a private key.
    pub ed448_public: fn(&Ed448) -> Option<Ed448>,
    /// The signature of a message in a form, by a private key and the public key of it.
    pub ed448_sign: fn(Form<'_>, &Ed448, &Ed448, &[u8]) -> Option<Signature>,
    /// Whether a signature of a message in a form is a public key's.
    pub ed448_verify: fn(Form<'_>, &Ed448, &[u8], &Signature) -> Option<bool>,
    /// The public key of a private key.
    pub x448_public: fn(&X448) -> Option<X448>,
    /// The secret that a private key shares with a peer's public key.
    pub x448: fn(&X448, &X448) -> Option<Zeroizing<X448>>,
}

static LIBRARY: WriteOnce<&'static Library> = WriteOnce::new();

/// Names the library that computes what the CPU has no instructions for. The first that is named stays.
pub fn use_library(library: &'static Library) {
    LIBRARY.keep(library);
}

fn library() -> Option<&'static Library> {
    LIBRARY.get().copied()
}

/// Whether X448 and Ed448 can be computed.
pub fn is_available() -> bool {
    ops::in_hardware(Function::X448Derive, 0) || library().is_some_and(|library| (library.available)())
}

/// Whether Ed448 signs with a context, and digests.
pub(crate) fn has_forms() -> bool {
    library().is_some_and(|library| (library.has_forms)())
}

/// The plain form of Ed448.
const PLAIN: Form<'static> = Form { prehash: false, context: &[] };

/// The public key of a private key of Ed448.
pub(crate) fn ed448_public(private: &Ed448) -> Option<Ed448> {
    (library()?.ed448_public)(private)
}

/// Signs by Ed448; `form` is `None` for the plain form.
///
/// # Errors
/// Those of [`ed448::sign`].
pub(crate) fn ed448_sign(
    form: Option<Form<'_>>,
    private: &Private<{ ed448::KEY }>,
    public: &Ed448,
    data: &[u8],
) -> Result<Signature, adjunct::Error> {
    let sign = |form, private: &_| (library()?.ed448_sign)(form, private, public, data);
    match form {
        None => ed448::sign(private, public, data, |private, _, _| sign(PLAIN, private)),
        Some(form) => ed448::sign_form(private, |private| sign(form, private)),
    }
}

/// Whether a signature by Ed448 is right; `form` is `None` for the plain form.
pub(crate) fn ed448_verify(form: Option<Form<'_>>, public: &Ed448, data: &[u8], signature: &Signature) -> Option<bool> {
    let verify = |form| (library()?.ed448_verify)(form, public, data, signature);
    match form {
        None => ed448::verify(public, data, signature, |_, _, _| verify(PLAIN)),
        Some(form) => ed448::verify_form(|| verify(form)),
    }
}

/// The public key of a private key of X448.
pub(crate) fn x448_public(private: &X448) -> Option<X448> {
    (library()?.x448_public)(private)
}

/// The secret that a private key of X448 shares with a peer's public key.
pub(crate) fn x448(private: &X448, peer: &X448) -> Option<Zeroizing<X448>> {
    (library()?.x448)(private, peer)
}
