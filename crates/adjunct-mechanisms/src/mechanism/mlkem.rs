//! ML-KEM (FIPS 203): keys. `crate::encapsulate` has the operations, which give keys.

use super::generate::{lattice_pair, no_params};
use super::params::Shape;
use super::registry::Entry;
use crate::object::key::ObjectKey;
use crate::object::lattice;
use adjunct::ops::mlkem;
use cryptoki_sys::*;

/// The public keys' sizes, in bytes.
const LEAST: CK_ULONG = 800;
const MOST: CK_ULONG = 1568;

pub const ENTRIES: &[Entry] = &[
    Entry::new(CKM_ML_KEM_KEY_PAIR_GEN, LEAST, MOST, CKF_GENERATE_KEY_PAIR, Shape::Ignored).pair(
        |mechanism, template| {
            no_params(mechanism)?;
            let (key, seed) = mlkem::MlKemKey::generate(lattice::mlkem_set(template)?)?;
            let public = key.public_bytes().to_vec();
            lattice_pair(CKK_ML_KEM, template, &public, &seed[..], ObjectKey::MlKem(key))
        },
    ),
    Entry::new(CKM_ML_KEM, LEAST, MOST, CKF_ENCAPSULATE | CKF_DECAPSULATE, Shape::Bytes),
];
