//! ML-DSA (FIPS 204), on plain bytes: the internal functions, whose prefix of the message tells the external ones apart.
//!
//! They take up to 120 KB of stack, and run on one of their own.

use super::private;
use crate::random;
use adjunct_base::stack::on_own;
use std::ffi::c_int;
use zeroize::Zeroizing;

/// The length of the seed that a key pair is made of, in bytes.
pub const SEED: usize = 32;
/// The length of the randomness of a signature, in bytes.
pub const RANDOM: usize = 32;

/// A parameter set (FIPS 204, 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Set {
    MlDsa44,
    MlDsa65,
    MlDsa87,
}

type Keypair = unsafe extern "C" fn(*mut u8, *mut u8, *const u8) -> c_int;
type Public = unsafe extern "C" fn(*mut u8, *const u8) -> c_int;
type Sign =
    unsafe extern "C" fn(*const u8, *mut u8, *mut usize, *const u8, usize, *const u8, usize, *const u8) -> c_int;
type Verify = unsafe extern "C" fn(*const u8, *const u8, usize, *const u8, usize, *const u8, usize) -> c_int;

impl Set {
    /// All.
    pub const ALL: [Set; 3] = [Set::MlDsa44, Set::MlDsa65, Set::MlDsa87];

    /// Number in the set's name, by which keys count.
    pub const fn number(self) -> usize {
        match self {
            Set::MlDsa44 => 44,
            Set::MlDsa65 => 65,
            Set::MlDsa87 => 87,
        }
    }

    /// The length of a public key, in bytes.
    pub const fn public(self) -> usize {
        match self {
            Set::MlDsa44 => 1312,
            Set::MlDsa65 => 1952,
            Set::MlDsa87 => 2592,
        }
    }

    /// The length of a private key, in bytes.
    pub const fn private(self) -> usize {
        match self {
            Set::MlDsa44 => 2560,
            Set::MlDsa65 => 4032,
            Set::MlDsa87 => 4896,
        }
    }

    /// The length of a signature, in bytes.
    pub const fn signature(self) -> usize {
        match self {
            Set::MlDsa44 => 2420,
            Set::MlDsa65 => 3309,
            Set::MlDsa87 => 4627,
        }
    }

    fn functions(self) -> (Keypair, Public, Sign, Verify) {
        match self {
            Set::MlDsa44 => (
                private::ml_dsa_44_keypair_internal,
                private::ml_dsa_44_pack_pk_from_sk,
                private::ml_dsa_44_sign_internal,
                private::ml_dsa_44_verify_internal,
            ),
            Set::MlDsa65 => (
                private::ml_dsa_65_keypair_internal,
                private::ml_dsa_65_pack_pk_from_sk,
                private::ml_dsa_65_sign_internal,
                private::ml_dsa_65_verify_internal,
            ),
            Set::MlDsa87 => (
                private::ml_dsa_87_keypair_internal,
                private::ml_dsa_87_pack_pk_from_sk,
                private::ml_dsa_87_sign_internal,
                private::ml_dsa_87_verify_internal,
            ),
        }
    }
}

/// A new seed.
pub fn seed() -> Zeroizing<[u8; SEED]> {
    let mut seed = Zeroizing::new([0; SEED]);
    random(&mut seed[..]);
    seed
}

/// The key pair of a seed (ML-DSA.KeyGen_internal), into buffers of the set's lengths; false where the library fails.
///
/// # Panics
/// Where a buffer has another length.
#[must_use]
pub fn keypair(set: Set, seed: &[u8; SEED], public: &mut [u8], private: &mut [u8]) -> bool {
    assert!(public.len() == set.public() && private.len() == set.private());
    let (keypair, ..) = set.functions();
    // SAFETY: the buffers have the lengths the function takes.
    on_own(|| unsafe { keypair(public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr()) }) == Some(1)
}

/// The public key of a private key; false where the parts of the private key do not belong together.
///
/// # Panics
/// Where a buffer has another length.
#[must_use]
pub fn public(set: Set, private: &[u8], public: &mut [u8]) -> bool {
    assert!(public.len() == set.public() && private.len() == set.private());
    let (_, of, ..) = set.functions();
    // SAFETY: the buffers have the lengths the function takes.
    on_own(|| unsafe { of(public.as_mut_ptr(), private.as_ptr()) }) == Some(1)
}

/// Signs `prefix` and `message`, one after the other, with that randomness (ML-DSA.Sign_internal); false where the library fails.
///
/// # Panics
/// Where the key or `out` has another length than the set's.
#[must_use]
pub fn sign(
    set: Set,
    private: &[u8],
    prefix: &[u8],
    message: &[u8],
    randomness: &[u8; RANDOM],
    out: &mut [u8],
) -> bool {
    assert!(private.len() == set.private() && out.len() == set.signature());
    let (.., sign, _) = set.functions();
    let mut length = out.len();
    // SAFETY: pointers and lengths describe the slices; key and signature have the lengths of the set.
    let done = on_own(|| unsafe {
        sign(
            private.as_ptr(),
            out.as_mut_ptr(),
            &raw mut length,
            message.as_ptr(),
            message.len(),
            prefix.as_ptr(),
            prefix.len(),
            randomness.as_ptr(),
        )
    });
    done == Some(1) && length == out.len()
}

/// Whether `signature` is `public`'s of `prefix` and `message` (ML-DSA.Verify_internal).
///
/// # Panics
/// Where the key has another length than the set's.
pub fn verify(set: Set, public: &[u8], prefix: &[u8], message: &[u8], signature: &[u8]) -> bool {
    assert!(public.len() == set.public());
    let (.., verify) = set.functions();
    if signature.len() != set.signature() {
        return false;
    }
    // SAFETY: pointers and lengths describe the slices; key and signature have the lengths of the set.
    let done = on_own(|| unsafe {
        verify(
            public.as_ptr(),
            signature.as_ptr(),
            signature.len(),
            message.as_ptr(),
            message.len(),
            prefix.as_ptr(),
            prefix.len(),
        )
    });
    done == Some(1)
}
