//! X25519 and Ed25519 in lanes: private keys are secret; peers, public keys and messages are not.

use super::{Case, Prepared, bytes, region};
use adjunct::catalogue::Feature;
use adjunct_kernels::curve25519::{self as curve, PublicJob, SignJob, X25519Job};

const NEEDS: &[Feature] = &[Feature::Avx512, Feature::Ifma];

/// A call with eight private keys.
fn call(seed: u64, run: impl Fn(&[[u8; 32]; 8]) + 'static) -> Prepared {
    let all = bytes::<256>(seed);
    let keys: Box<[[u8; 32]; 8]> = Box::new(std::array::from_fn(|i| all.as_chunks().0[i]));
    let secrets = vec![region(&*keys)];
    Prepared { secrets, run: Box::new(move || run(&keys)) }
}

fn publics(keys: &[[u8; 32]; 8], kernel: unsafe fn(&mut [PublicJob]) -> u8) {
    let mut out = [[0; 32]; 8];
    let mut next = keys.iter();
    let mut jobs = out.each_mut().map(|public| PublicJob { private: next.next().unwrap(), public });
    assert_eq!(unsafe { kernel(&mut jobs) }, 255);
}

fn x25519(keys: &[[u8; 32]; 8]) {
    let (mut out, mut next) = ([[0; 32]; 8], keys.iter());
    let mut jobs = out.each_mut().map(|secret| X25519Job { private: next.next().unwrap(), peer: &[9; 32], secret });
    assert_eq!(unsafe { curve::x25519(&mut jobs) }, 255);
}

fn sign(keys: &[[u8; 32]; 8]) {
    let (mut out, mut next) = ([[0; 64]; 8], keys.iter());
    let mut jobs = out.each_mut().map(|signature| {
        let seed = next.next().unwrap();
        SignJob { seed, public: &[5; 32], message: &[3; 100], signature }
    });
    assert_eq!(unsafe { curve::ed25519_sign(&mut jobs) }, 255);
}

fn shared(keys: &[[u8; 32]; 8], kernel: unsafe fn(&[u8; 32]) -> Option<[u8; 32]>) {
    assert!(unsafe { kernel(&keys[0]) }.is_some());
}

type Kernel = fn(&[[u8; 32]; 8]);

pub fn cases() -> Vec<Case> {
    let kernels: [(&str, Kernel); 6] = [
        ("X25519, eight lanes", x25519),
        ("X25519 public key, eight lanes", |keys| publics(keys, curve::x25519_public)),
        ("X25519 public key, shared", |keys| shared(keys, curve::x25519_public_shared)),
        ("Ed25519 public key, eight lanes", |keys| publics(keys, curve::ed25519_public)),
        ("Ed25519 public key, shared", |keys| shared(keys, curve::ed25519_public_shared)),
        ("Ed25519 sign, eight lanes", sign),
    ];
    let case = |(name, kernel): (&str, Kernel)| Case {
        name: format!("curve25519: {name}"),
        needs: NEEDS,
        memcheck: false,
        prepare: Box::new(move |seed| call(seed, kernel)),
    };
    kernels.map(case).into()
}
