//! Ed25519 (RFC 8032, 5.1).

use super::{Material, Private, count};
use crate::catalogue::Outcome;
use crate::catalogue::{Direction, Function};
use crate::error::Error;
use crate::ops::Tally;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::ecx as cpu;
use adjunct_lanes::curve as lanes;

/// The length of every key, in bytes.
pub const KEY: usize = cpu::KEY;
/// The length of a signature, in bytes.
pub const SIGNATURE: usize = cpu::SIGNATURE;

pub use cpu::Ed25519Form as Form;
pub use cpu::ed25519_is_ordinary as is_ordinary;

/// Generates a key pair.
pub fn generate() -> (Private<KEY>, [u8; KEY]) {
    let bytes = cpu::ed25519_generate();
    (Private::new(&bytes), clear_public(&bytes))
}

fn clear_public(private: &[u8; KEY]) -> [u8; KEY] {
    let (public, outcome) = lanes::ed25519_public(private);
    count(Function::Ed25519Keygen, outcome);
    public
}

/// The public key of a private key, as an operation: it counts as the key pair's generation.
///
/// # Errors
/// Those of a card's key.
pub fn public(private: &Private<KEY>) -> Result<[u8; KEY], Error> {
    private.public_counted(Function::Ed25519Keygen, |private| Ok(clear_public(private)))
}

/// The public key of a private key that is imported or checked. A part of that, which counts nothing.
///
/// # Errors
/// Those of a card's key.
pub fn other_half(private: &Private<KEY>) -> Result<[u8; KEY], Error> {
    private.public(|private| Ok(cpu::ed25519_public(private).0))
}

/// Whether hardware serves a signature of a message of `message` bytes on this machine: instructions, or batches of plain threads' operations. For
/// interfaces that may refuse what only software has.
pub fn signs_in_hardware(message: usize) -> bool {
    tally(message).in_hardware()
}

/// The tally of a signature of a message of so many bytes.
fn tally(message: usize) -> Tally {
    let tally = Tally::new(Function::Ed25519Sign, 0);
    if lanes::takes(message) { tally } else { tally.out_of_batches() }
}

/// Signs `message`. `public` must be the public key of `private`: a signature made with another gives the private key away.
///
/// # Errors
/// [`Error::Failed`] where memory runs out; those of a card's key.
pub fn sign(private: &Private<KEY>, public: &[u8; KEY], message: &[u8]) -> Result<[u8; SIGNATURE], Error> {
    let (signature, outcome) = match &private.0 {
        Material::Clear(private) => lanes::ed25519_sign(private, public, message),
        Material::Elsewhere(elsewhere) => {
            let mut signature = [0; SIGNATURE];
            elsewhere.fill(Call::EdSign, &[0], message, &mut signature)?;
            elsewhere.checked(cpu::ed25519_verify(public, message, &signature).0)?;
            (Some(signature), Outcome::Card)
        }
    };
    let signature = signature.ok_or(Error::Failed("ED25519_sign"))?;
    tally(message.len()).ran(outcome).count(Direction::Encrypt, 0);
    Ok(signature)
}

/// Whether `signature` is `public`'s of `message`.
pub fn verify(public: &[u8; KEY], message: &[u8], signature: &[u8; SIGNATURE]) -> bool {
    let (good, outcome) = cpu::ed25519_verify(public, message, signature);
    count(Function::Ed25519Verify, outcome);
    good
}

/// Signs `message` with a context, or its digest (Ed25519ctx, Ed25519ph): software, because there are no instructions and no batches for it. `public`
/// as for [`sign`].
///
/// # Errors
/// [`Error::Length`] for a context of more than 255 bytes, and for Ed25519ctx of none; [`Error::Failed`] where memory runs out; those of a
/// card's key.
pub fn sign_form(
    form: Form<'_>,
    private: &Private<KEY>,
    public: &[u8; KEY],
    message: &[u8],
) -> Result<[u8; SIGNATURE], Error> {
    if form.context.len() > 255 || form.context.is_empty() && !form.prehash {
        return Err(Error::Length { what: "context", got: form.context.len(), expected: "1 to 255" });
    }
    let (signature, outcome) = match &private.0 {
        Material::Clear(private) => (cpu::ed25519_sign_form(form, private, public, message), Outcome::Library),
        Material::Elsewhere(elsewhere) => {
            let mut signature = [0; SIGNATURE];
            let parameters = [&[1 + u8::from(form.prehash)], form.context].concat();
            elsewhere.fill(Call::EdSign, &parameters, message, &mut signature)?;
            elsewhere.checked(cpu::ed25519_verify_form(form, public, message, &signature))?;
            (Some(signature), Outcome::Card)
        }
    };
    let signature = signature.ok_or(Error::Failed("ED25519_sign"))?;
    Tally::new(Function::Ed25519Sign, 0).out_of_batches().ran(outcome).count(Direction::Encrypt, 0);
    Ok(signature)
}

/// Whether `signature` is `public`'s of `message` in a form.
pub fn verify_form(form: Form<'_>, public: &[u8; KEY], message: &[u8], signature: &[u8; SIGNATURE]) -> bool {
    let good = cpu::ed25519_verify_form(form, public, message, signature);
    count(Function::Ed25519Verify, Outcome::Library);
    good
}
