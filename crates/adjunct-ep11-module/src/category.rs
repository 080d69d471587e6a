//! The category of a request, by which zcryptstats counts an EP11 coprocessor's work.

use crate::mechanisms::{self, Family};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::message::Request;

/// A category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Operations with private keys.
    AsymmetricSlow,
    /// Operations with public keys.
    AsymmetricFast,
    /// Operations with secret keys, hashes, and all else.
    SymmetricPartial,
    /// Secret keys that are made.
    SymmetricFull,
    /// Pairs of keys that are made.
    AsymmetricKeyGeneration,
}

/// The category of a request; of what is none too, as it is answered.
pub fn category(request: &[u8]) -> Category {
    let Some(request) = Request::parse(request) else { return Category::SymmetricPartial };
    let at = |place: usize| request.arguments().get(place).copied().unwrap_or_default();
    match request.function {
        F::GenerateKeyPair => Category::AsymmetricKeyGeneration,
        F::GenerateKey => Category::SymmetricFull,
        F::SignSingle | F::DecryptSingle => of(at(1), Category::AsymmetricSlow),
        F::SignInit | F::DecryptInit | F::DeriveKey => of(at(0), Category::AsymmetricSlow),
        F::VerifySingle | F::EncryptSingle => of(at(1), Category::AsymmetricFast),
        F::VerifyInit | F::EncryptInit => of(at(0), Category::AsymmetricFast),
        F::WrapKey => of(at(3), Category::AsymmetricFast),
        F::UnwrapKey => of(at(4), Category::AsymmetricSlow),
        F::ReencryptSingle => of(at(2), Category::AsymmetricSlow),
        _ => Category::SymmetricPartial,
    }
}

/// The category where the mechanism is one of key pairs, else the one of secret keys.
fn of(mechanism: &[u8], asymmetric: Category) -> Category {
    let kind = mechanism.first_chunk().map(|kind| u32::from_be_bytes(*kind));
    let family = kind.and_then(|kind| mechanisms::find(kind).ok()).map(|entry| entry.family);
    match family {
        Some(
            Family::Sign | Family::RsaBoth | Family::RsaCipher | Family::Agree(_) | Family::Kem | Family::Hierarchy,
        ) => asymmetric,
        _ => Category::SymmetricPartial,
    }
}
