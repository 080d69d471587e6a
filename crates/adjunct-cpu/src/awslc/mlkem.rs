//! ML-KEM (FIPS 203), on plain bytes.
//!
//! The library holds whole matrices of polynomials on the stack, more than fibers have ([`stack`]): where there is no memory for a larger
//! one, its functions fail.

use super::private;
use crate::random;
use adjunct_base::stack;
use std::ffi::c_int;
use zeroize::Zeroizing;

/// The length of the seed that a key pair is made of (d and z), in bytes.
pub const SEED: usize = 64;
/// The length of a shared secret, in bytes.
pub const SECRET: usize = 32;
/// Length in bytes of the random string that an encapsulation draws (m).
pub const RANDOM: usize = 32;

/// A parameter set (FIPS 203, 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Set {
    MlKem512,
    MlKem768,
    MlKem1024,
}

type Generate = unsafe extern "C" fn(*mut u8, *mut usize, *mut u8, *mut usize, *const u8) -> c_int;
type Encapsulate = unsafe extern "C" fn(*mut u8, *mut usize, *mut u8, *mut usize, *const u8) -> c_int;
type EncapsulateOf = unsafe extern "C" fn(*mut u8, *mut usize, *mut u8, *mut usize, *const u8, *const u8) -> c_int;
type Decapsulate = unsafe extern "C" fn(*mut u8, *mut usize, *const u8, *const u8) -> c_int;
type Check = unsafe extern "C" fn(*const u8, usize) -> c_int;

struct Functions {
    generate: Generate,
    encapsulate: Encapsulate,
    encapsulate_of: EncapsulateOf,
    decapsulate: Decapsulate,
    check_public: Check,
    check_private: Check,
}

impl Set {
    /// All.
    pub const ALL: [Set; 3] = [Set::MlKem512, Set::MlKem768, Set::MlKem1024];

    /// Number in the set's name, by which keys count.
    pub const fn number(self) -> usize {
        match self {
            Set::MlKem512 => 512,
            Set::MlKem768 => 768,
            Set::MlKem1024 => 1024,
        }
    }

    /// The length of a public key, in bytes.
    pub const fn public(self) -> usize {
        match self {
            Set::MlKem512 => 800,
            Set::MlKem768 => 1184,
            Set::MlKem1024 => 1568,
        }
    }

    /// The length of a private key, in bytes.
    pub const fn private(self) -> usize {
        match self {
            Set::MlKem512 => 1632,
            Set::MlKem768 => 2400,
            Set::MlKem1024 => 3168,
        }
    }

    /// The length of a ciphertext, in bytes.
    pub const fn ciphertext(self) -> usize {
        match self {
            Set::MlKem512 => 768,
            Set::MlKem768 => 1088,
            Set::MlKem1024 => 1568,
        }
    }

    fn functions(self) -> Functions {
        match self {
            Set::MlKem512 => Functions {
                generate: private::ml_kem_512_keypair_deterministic,
                encapsulate: private::ml_kem_512_encapsulate,
                encapsulate_of: private::ml_kem_512_encapsulate_deterministic,
                decapsulate: private::ml_kem_512_decapsulate,
                check_public: private::ml_kem_512_check_pk,
                check_private: private::ml_kem_512_check_sk,
            },
            Set::MlKem768 => Functions {
                generate: private::ml_kem_768_keypair_deterministic,
                encapsulate: private::ml_kem_768_encapsulate,
                encapsulate_of: private::ml_kem_768_encapsulate_deterministic,
                decapsulate: private::ml_kem_768_decapsulate,
                check_public: private::ml_kem_768_check_pk,
                check_private: private::ml_kem_768_check_sk,
            },
            Set::MlKem1024 => Functions {
                generate: private::ml_kem_1024_keypair_deterministic,
                encapsulate: private::ml_kem_1024_encapsulate,
                encapsulate_of: private::ml_kem_1024_encapsulate_deterministic,
                decapsulate: private::ml_kem_1024_decapsulate,
                check_public: private::ml_kem_1024_check_pk,
                check_private: private::ml_kem_1024_check_sk,
            },
        }
    }
}

/// A new seed.
pub fn seed() -> Zeroizing<[u8; SEED]> {
    let mut seed = Zeroizing::new([0; SEED]);
    random(&mut seed[..]);
    seed
}

/// The key pair of a seed (ML-KEM.KeyGen_internal), into buffers of the set's lengths; false where the library fails.
///
/// # Panics
/// Where a buffer has another length.
#[must_use]
pub fn keypair(set: Set, seed: &[u8; SEED], public: &mut [u8], private: &mut [u8]) -> bool {
    assert!(public.len() == set.public() && private.len() == set.private());
    let (mut public_length, mut private_length) = (public.len(), private.len());
    let (public, private, seed) = (public.as_mut_ptr(), private.as_mut_ptr(), seed.as_ptr());
    let (public_length, private_length) = (&raw mut public_length, &raw mut private_length);
    let generate = set.functions().generate;
    // SAFETY: the buffers have the lengths that are given with them.
    stack::with_room(|| unsafe { generate(public, public_length, private, private_length, seed) }) == Some(0)
}

/// Whether a public key passes FIPS 203's check (7.2): its length, and that its numbers are reduced.
pub fn is_public(set: Set, public: &[u8]) -> bool {
    let check = set.functions().check_public;
    // SAFETY: pointer and length describe the slice.
    public.len() == set.public() && stack::with_room(|| unsafe { check(public.as_ptr(), public.len()) }) == Some(0)
}

/// The public key within a private key; `None` where the private key does not pass FIPS 203's check (7.3): its length, and that the
/// hash in it is that of the public key in it.
pub fn public(set: Set, private: &[u8]) -> Option<&[u8]> {
    let (length, check) = (private.len() == set.private(), set.functions().check_private);
    // SAFETY: pointer and length describe the slice.
    let good = length && stack::with_room(|| unsafe { check(private.as_ptr(), private.len()) }) == Some(0);
    // FIPS 203, algorithm 16: the decryption key, the public key, its hash (32 bytes) and z (32 bytes).
    good.then(|| &private[private.len() - 64 - set.public()..private.len() - 64])
}

/// A shared secret, and the ciphertext of it in `out`; of `random` where it is given, else of bytes that are drawn. `None` where the
/// library fails.
///
/// # Panics
/// Where the key or `out` has another length than the set's.
#[must_use]
pub fn encapsulate(
    set: Set,
    public: &[u8],
    random: Option<&[u8; RANDOM]>,
    out: &mut [u8],
) -> Option<Zeroizing<[u8; SECRET]>> {
    assert!(public.len() == set.public() && out.len() == set.ciphertext());
    let mut secret = Zeroizing::new([0; SECRET]);
    let (mut length, mut secret_length) = (out.len(), SECRET);
    let (length, secret_length) = (&raw mut length, &raw mut secret_length);
    let (out, room, public, functions) = (out.as_mut_ptr(), secret.as_mut_ptr(), public.as_ptr(), set.functions());
    let random = random.map(|random| random.as_ptr());
    // SAFETY: the buffers have the lengths that are given with them, and the random bytes that of the function.
    let done = stack::with_room(|| unsafe {
        match random {
            None => (functions.encapsulate)(out, length, room, secret_length, public),
            Some(random) => (functions.encapsulate_of)(out, length, room, secret_length, public, random),
        }
    });
    (done == Some(0)).then_some(secret)
}

/// The shared secret of a ciphertext, or, where it was not made for the key, a secret that the sender does not know; `None` where the library fails.
///
/// # Panics
/// Where the key or the ciphertext has another length than the set's.
#[must_use]
pub fn decapsulate(set: Set, private: &[u8], ciphertext: &[u8]) -> Option<Zeroizing<[u8; SECRET]>> {
    assert!(private.len() == set.private() && ciphertext.len() == set.ciphertext());
    let mut secret = Zeroizing::new([0; SECRET]);
    let mut length = SECRET;
    let (room, ciphertext) = (secret.as_mut_ptr(), ciphertext.as_ptr());
    let (private, length, decapsulate) = (private.as_ptr(), &raw mut length, set.functions().decapsulate);
    // SAFETY: the buffers have the lengths the function takes.
    let done = stack::with_room(|| unsafe { decapsulate(room, length, ciphertext, private) });
    (done == Some(0)).then_some(secret)
}
