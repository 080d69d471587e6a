//! ECDSA, ECDH and public keys on the NIST curves in eight lanes, and the nonces made for them.

use super::{Case, Prepared, bytes, region};
use adjunct::catalogue::Feature::{Avx512, Ifma};
use adjunct_cpu::curve::{self, MAX_FIELD};
use adjunct_cpu::nonce::Nonces;
use adjunct_kernels::nist::{
    BrainpoolP256, Curve, DeriveJob, NonceJob, Nonced, P256, P384, P521, PublicJob, SignJob, derive, public,
    public_shared, sign, sign_shared,
};

pub fn cases() -> Vec<Case> {
    let mut cases = curve::<P256, 5>("P-256");
    cases.extend(shared::<P256, 5>("P-256"));
    cases.extend(curve::<P384, 8>("P-384"));
    cases.extend(shared::<P384, 8>("P-384"));
    // The others of P-521 are the same code, and long.
    cases.push(curve::<P521, 11>("P-521").swap_remove(0));
    // Of a prime that is any number.
    cases.extend(shared::<BrainpoolP256, 5>("brainpoolP256r1"));
    cases.push(nonces::<P384, 8>("P-384"));
    cases.push(nonces::<P521, 11>("P-521"));
    cases.push(Case { name: "ECDSA nonce of P-256".to_owned(), needs: &[], memcheck: false, prepare: Box::new(nonce) });
    cases
}

/// Numbers that are all cut from one random string: as bytes, the extremes are scalars out of range.
fn numbers<C: Curve<N>, const N: usize>(secret: &[u8; 1024], from: usize) -> impl Iterator<Item = &[u8]> {
    (0..8).map(move |lane| &secret[from + 97 * lane..][..C::BYTES])
}

fn case(name: &str, what: &str, prepare: Box<dyn Fn(u64) -> Prepared>) -> Case {
    Case { name: format!("{name} {what} in lanes"), needs: &[Avx512, Ifma], memcheck: false, prepare }
}

/// What the lanes share the work of.
fn shared<C: Curve<N> + 'static, const N: usize>(name: &str) -> Vec<Case> {
    let case = |what: &str, prepare| case(name, what, prepare);
    vec![
        case(
            "ECDSA, shared",
            Box::new(|seed| {
                let (secret, mut out) = (bytes::<1024>(seed), Box::new([0; 256]));
                let secrets = vec![region(&*secret)];
                let run = move || {
                    let (private, nonce) = (&secret[..C::BYTES], &secret[100..][..C::BYTES]);
                    let signature = &mut out[..2 * C::BYTES];
                    _ = unsafe { sign_shared::<C, N>(&mut SignJob { private, digest: nonce, nonce, signature }) };
                };
                Prepared { secrets, run: Box::new(run) }
            }),
        ),
        case(
            "public key, shared",
            Box::new(|seed| {
                let (secret, mut out) = (bytes::<1024>(seed), Box::new([0; 256]));
                let secrets = vec![region(&*secret)];
                let run = move || {
                    _ = unsafe { public_shared::<C, N>(&secret[..C::BYTES], &mut out[..2 * C::BYTES]) };
                };
                Prepared { secrets, run: Box::new(run) }
            }),
        ),
    ]
}

fn curve<C: Curve<N> + 'static, const N: usize>(name: &str) -> Vec<Case> {
    let case = |what: &str, prepare| case(name, what, prepare);
    vec![
        case(
            "ECDSA",
            Box::new(|seed| {
                let (secret, mut out) = (bytes::<1024>(seed), Box::new([0; 2048]));
                let secrets = vec![region(&*secret)];
                let run = move || {
                    let numbers = numbers::<C, N>(&secret, 0).zip(numbers::<C, N>(&secret, 30));
                    let mut jobs: Vec<_> = numbers
                        .zip(out.chunks_exact_mut(2 * C::BYTES))
                        .map(|((private, nonce), signature)| SignJob { private, digest: nonce, nonce, signature })
                        .collect();
                    unsafe { sign::<C, N>(&mut jobs) };
                };
                Prepared { secrets, run: Box::new(run) }
            }),
        ),
        case(
            "ECDH",
            Box::new(|seed| {
                let (secret, mut out) = (bytes::<1024>(seed), Box::new([0; 1024]));
                let peer = generator::<C, N>();
                let secrets = vec![region(&*secret)];
                let run = move || {
                    let mut jobs: Vec<_> = numbers::<C, N>(&secret, 0)
                        .zip(out.chunks_exact_mut(C::BYTES))
                        .map(|(private, secret)| DeriveJob { private, peer: &peer, secret })
                        .collect();
                    unsafe { derive::<C, N>(&mut jobs) };
                };
                Prepared { secrets, run: Box::new(run) }
            }),
        ),
        case(
            "public keys",
            Box::new(|seed| {
                let (secret, mut out) = (bytes::<1024>(seed), Box::new([0; 2048]));
                let secrets = vec![region(&*secret)];
                let run = move || {
                    let mut jobs: Vec<_> = numbers::<C, N>(&secret, 0)
                        .zip(out.chunks_exact_mut(2 * C::BYTES))
                        .map(|(private, public)| PublicJob { private, public })
                        .collect();
                    unsafe { public::<C, N>(&mut jobs) };
                };
                Prepared { secrets, run: Box::new(run) }
            }),
        ),
    ]
}

/// A point that is on the curve.
fn generator<C: Curve<N>, const N: usize>() -> Vec<u8> {
    let (mut one, mut out) = (vec![0; C::BYTES], vec![0; 2 * C::BYTES]);
    one[C::BYTES - 1] = 1;
    unsafe { public::<C, N>(&mut [PublicJob { private: &one, public: &mut out }]) };
    out
}

fn nonces<C: Nonced<N> + 'static, const N: usize>(name: &str) -> Case {
    let prepare = |seed| {
        let (secret, mut out) = (bytes::<1024>(seed), Box::new([0; 1024]));
        let secrets = vec![region(&*secret)];
        let run = move || {
            let numbers = numbers::<C, N>(&secret, 0).zip(numbers::<C, N>(&secret, 30));
            let mut jobs: Vec<_> = numbers
                .zip(out.chunks_exact_mut(C::BYTES))
                .map(|((private, digest), nonce)| NonceJob { private, digest, added: &digest[..32], nonce })
                .collect();
            unsafe { adjunct_kernels::nist::nonces::<C, N>(&mut jobs) };
        };
        Prepared { secrets, run: Box::new(run) }
    };
    Case {
        name: format!("ECDSA nonces of {name} in lanes"),
        needs: &[Avx512, Ifma],
        memcheck: false,
        prepare: Box::new(prepare),
    }
}

fn nonce(seed: u64) -> Prepared {
    let (secret, mut out) = (bytes::<32>(seed), Box::new([0; MAX_FIELD]));
    let secrets = vec![region(&*secret)];
    let run = move || {
        let nonces = Nonces::new(curve::Curve::P256, &*secret).expect("a key of this length");
        nonces.nonce(&[7; MAX_FIELD], &[9; 32], &mut out);
    };
    Prepared { secrets, run: Box::new(run) }
}
