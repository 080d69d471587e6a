//! Random operations in lanes against AWS-LC's own code: other keys and other data in every lane, batches of one to eight.
//! Ten thousand in every run of the tests, a million in `./check deep random`:
//!
//!     ADJUNCT_RANDOM=1000000 cargo test --release -p adjunct --test lanes_random

#![cfg(target_arch = "x86_64")]
// Every kernel is called only where `lanes()` has asked for its instructions.
#![allow(clippy::undocumented_unsafe_blocks)]

use adjunct::catalogue::Outcome;
use adjunct_cpu::curve::{Curve, Form, MAX_FIELD, MAX_POINT};
use adjunct_cpu::ec::CpuEcKey;
use adjunct_cpu::nonce::{ADDED, Nonces};
use adjunct_cpu::rsa::{self, Part};
use adjunct_cpu::{ecx, random};
use adjunct_kernels::curve25519::{self, X25519Job};
use adjunct_kernels::nist::{self, DeriveJob, NonceJob, Nonced};
use adjunct_kernels::rsa::{PrivateJob, PrivateKey, PublicJob, PublicKey, avx_ifma, fma};

fn lanes() -> bool {
    let there = is_x86_feature_detected!("avx512ifma");
    if !there {
        println!("SKIPPED: this CPU has no AVX-512 IFMA");
    }
    there
}

/// Operations of a function whose share of the whole is `share` thousandths.
fn operations(share: usize) -> usize {
    let all = std::env::var("ADJUNCT_RANDOM").map_or(10_000, |n| n.parse().expect("ADJUNCT_RANDOM is a number"));
    (all * share).div_ceil(1000)
}

fn bytes<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    random(&mut out);
    out
}

/// Runs `batch` with lane counts that go round from 1 to 8, `count` lanes in all.
fn batches(count: usize, mut batch: impl FnMut(usize)) {
    let (mut done, mut size) = (0, 1);
    while done < count {
        batch(size);
        done += size;
        size = size % 8 + 1;
    }
    println!("{done} operations agree");
}

fn full(size: usize) -> u8 {
    u8::MAX >> (8 - size)
}

fn nonces_of<C: Nonced<N>, const N: usize>(curve: Curve) {
    if !lanes() {
        return;
    }
    let length = curve.field_len();
    batches(operations(50), |size| {
        let mut privates = [(); 8].map(|()| bytes::<MAX_FIELD>());
        // Digests below the order as they are; the reduction of others is tested by RFC 6979's vectors.
        let mut digests = [(); 8].map(|()| bytes::<MAX_FIELD>());
        privates.iter_mut().chain(&mut digests).for_each(|number| number[0] = 0);
        let added = [(); 8].map(|()| bytes::<ADDED>());
        let shorter = usize::from(privates[0][1]) % (ADDED + 1);
        let mut nonces = [[0; MAX_FIELD]; 8];
        let mut jobs: Vec<_> = (privates.iter().zip(&digests).zip(&added).zip(&mut nonces).take(size))
            .map(|(((private, digest), added), nonce)| NonceJob {
                private: &private[..length],
                digest: &digest[..length],
                added: &added[..shorter],
                nonce: &mut nonce[..length],
            })
            .collect();
        assert_eq!(unsafe { nist::nonces::<C, N>(&mut jobs) }, full(size));
        for i in 0..size {
            let mut alone = [0; MAX_FIELD];
            let mut digest = [0; MAX_FIELD];
            digest[..length].copy_from_slice(&digests[i][..length]);
            let nonces_of = Nonces::new(curve, &privates[i][..length]).expect("a key of this length");
            nonces_of.nonce(&digest, &added[i][..shorter], &mut alone);
            assert_eq!(nonces[i][..length], alone[..length], "private {:x?}", privates[i]);
        }
    });
}

#[test]
fn nonces() {
    nonces_of::<nist::P384, 8>(Curve::P384);
    nonces_of::<nist::P521, 11>(Curve::P521);
}

#[test]
fn nonces_of_jobs_with_wrong_lengths_are_not_made() {
    if !lanes() {
        return;
    }
    let (long, mut nonces) = ([1; 49], [[7; 48]; 4]);
    let lengths = [(0, 48, 32), (48, 48, 32), (48, 49, 32), (48, 48, 33)];
    let mut jobs: Vec<_> = (nonces.iter_mut().zip(lengths))
        .map(|(nonce, (private, digest, added))| NonceJob {
            private: &long[..private],
            digest: &long[..digest],
            added: &long[..added],
            nonce,
        })
        .collect();
    assert_eq!(unsafe { nist::nonces::<nist::P384, 8>(&mut jobs) }, 0b10);
    assert!([0, 2, 3].iter().all(|&i| nonces[i] == [7; 48]) && nonces[1] != [7; 48]);
}

#[test]
fn x25519() {
    if !lanes() {
        return;
    }
    batches(operations(250), |size| {
        let (privates, peers) = ([(); 8].map(|()| bytes::<32>()), [(); 8].map(|()| bytes::<32>()));
        let mut secrets = [[0; 32]; 8];
        let mut jobs: Vec<_> = (privates.iter().zip(&peers).zip(&mut secrets).take(size))
            .map(|((private, peer), secret)| X25519Job { private, peer, secret })
            .collect();
        assert_eq!(unsafe { curve25519::x25519(&mut jobs) }, full(size));
        for i in 0..size {
            let theirs = ecx::x25519(&privates[i], &peers[i]).0.expect("no point of small order");
            assert_eq!(secrets[i], *theirs, "private {:x?}, peer {:x?}", privates[i], peers[i]);
        }
    });
}

#[test]
fn x25519_public_keys() {
    if !lanes() {
        return;
    }
    batches(operations(100), |size| {
        let (privates, mut publics) = ([(); 8].map(|()| bytes::<32>()), [[0; 32]; 8]);
        let mut jobs: Vec<_> = (privates.iter().zip(&mut publics).take(size))
            .map(|(private, public)| curve25519::PublicJob { private, public })
            .collect();
        assert_eq!(unsafe { curve25519::x25519_public(&mut jobs) }, full(size));
        for i in 0..size {
            let theirs = ecx::x25519_public_of_library(&privates[i]);
            assert_eq!(publics[i], theirs, "private {:x?}", privates[i]);
            let shared = unsafe { curve25519::x25519_public_shared(&privates[i]) };
            assert_eq!(shared, Some(theirs), "private {:x?}", privates[i]);
        }
    });
}

#[test]
fn key_pairs_whose_work_the_lanes_share() {
    if !lanes() {
        return;
    }
    for _ in 0..operations(30) {
        for curve in [Curve::P256, Curve::P384, Curve::P521] {
            let (key, outcome) = CpuEcKey::generate(curve.group()).unwrap();
            assert_eq!(outcome, Outcome::Instructions);
            assert!(key.is_pair(), "private {:x?}", key.scalar());
        }
    }
}

#[test]
fn ed25519_signatures() {
    if !lanes() {
        return;
    }
    batches(operations(200), |size| {
        let (seeds, messages) = ([(); 8].map(|()| bytes::<32>()), bytes::<256>());
        let publics = seeds.map(|seed| ecx::ed25519_public_of_library(&seed));
        assert_eq!(seeds.map(|seed| ecx::ed25519_public(&seed)), publics.map(|public| (public, Outcome::Instructions)));
        let message = |i: usize| &messages[i..][..usize::from(messages[i]) % 200];
        let mut signatures = [[0; 64]; 8];
        let mut jobs: Vec<_> = (signatures.iter_mut().enumerate().take(size))
            .map(|(i, signature)| curve25519::SignJob {
                seed: &seeds[i],
                public: &publics[i],
                message: message(i),
                signature,
            })
            .collect();
        assert_eq!(unsafe { curve25519::ed25519_sign(&mut jobs) }, full(size));
        for i in 0..size {
            let theirs = ecx::ed25519_sign(&seeds[i], &publics[i], message(i)).0;
            assert_eq!(Some(signatures[i]), theirs, "seed {:x?}, message {:x?}", seeds[i], message(i));
        }
    });
}

/// A curve as both sides know it.
struct Pair {
    curve: Curve,
    sign: unsafe fn(&mut [nist::SignJob]) -> u8,
    derive: unsafe fn(&mut [DeriveJob]) -> u8,
}

const P256: Pair =
    Pair { curve: Curve::P256, sign: nist::sign::<nist::P256, _>, derive: nist::derive::<nist::P256, _> };
const P384: Pair =
    Pair { curve: Curve::P384, sign: nist::sign::<nist::P384, _>, derive: nist::derive::<nist::P384, _> };

fn signatures(pair: &Pair, count: usize) {
    let field = pair.curve.field_len();
    let keys: Vec<CpuEcKey> = (0..32).map(|_| CpuEcKey::generate(pair.curve.group()).expect("a key").0).collect();
    let scalars: Vec<_> = keys.iter().map(|k| k.scalar().expect("private").to_vec()).collect();
    batches(count, |size| {
        let (digests, choice) = (bytes::<{ 8 * 48 }>(), bytes::<8>());
        let key = |i: usize| usize::from(choice[i]) % keys.len();
        // A private key of another pair is as good a nonce as any.
        let nonces: Vec<_> = (0..size)
            .map(|_| CpuEcKey::generate(pair.curve.group()).expect("a key").0.scalar().expect("private").to_vec())
            .collect();
        let mut made = vec![0; 8 * 2 * field];
        let mut jobs: Vec<_> = (made.chunks_mut(2 * field).enumerate().take(size))
            .map(|(i, signature)| nist::SignJob {
                private: &scalars[key(i)],
                digest: &digests[48 * i..][..field],
                nonce: &nonces[i],
                signature,
            })
            .collect();
        assert_eq!(unsafe { (pair.sign)(&mut jobs) }, full(size));
        for i in 0..size {
            let verdict = keys[key(i)].verify(&digests[48 * i..][..field], &made[2 * field * i..][..2 * field]);
            assert!(verdict.expect("a public key").0, "private {:x?}, nonce {:x?}", scalars[key(i)], nonces[i]);
        }
    });
}

fn secrets(pair: &Pair, count: usize) {
    let field = pair.curve.field_len();
    let keys: Vec<CpuEcKey> = (0..32).map(|_| CpuEcKey::generate(pair.curve.group()).expect("a key").0).collect();
    let scalars: Vec<_> = keys.iter().map(|k| k.scalar().expect("private").to_vec()).collect();
    let points: Vec<Vec<u8>> =
        keys.iter().map(|k| k.public(Form::Uncompressed, &mut [0; MAX_POINT]).expect("public")[1..].to_vec()).collect();
    batches(count, |size| {
        // One fresh key a batch, so that no run is like another.
        let fresh = CpuEcKey::generate(pair.curve.group()).expect("a key").0;
        let fresh_scalar = fresh.scalar().expect("private");
        let choice = bytes::<16>();
        let (one, two) =
            (|i: usize| usize::from(choice[i]) % keys.len(), |i: usize| usize::from(choice[8 + i]) % keys.len());
        let mut made = vec![0; 8 * field];
        let mut jobs: Vec<_> = (made.chunks_mut(field).enumerate().take(size))
            .map(|(i, secret)| DeriveJob {
                private: if i == 0 { fresh_scalar } else { &scalars[one(i)] },
                peer: &points[two(i)],
                secret,
            })
            .collect();
        assert_eq!(unsafe { (pair.derive)(&mut jobs) }, full(size));
        for i in 0..size {
            let ours = if i == 0 { &fresh } else { &keys[one(i)] };
            let mut out = [0; MAX_FIELD];
            let theirs = ours.shared_secret(&keys[two(i)], &mut out).expect("a secret").0;
            assert_eq!(made[field * i..][..field], *theirs, "peer {:x?}", points[two(i)]);
        }
    });
}

#[test]
fn p256_signatures() {
    if lanes() {
        signatures(&P256, operations(150));
    }
}

#[test]
fn p384_signatures() {
    if lanes() {
        signatures(&P384, operations(60));
    }
}

#[test]
fn p256_secrets() {
    if lanes() {
        secrets(&P256, operations(120));
    }
}

#[test]
fn p384_secrets() {
    if lanes() {
        secrets(&P384, operations(50));
    }
}

fn rsa<const P: usize, const M: usize>(bits: usize, keys: usize, count: usize) {
    let keys: Vec<_> = (0..keys).map(|_| rsa::CpuRsaKey::generate(bits, &[1, 0, 1], None).expect("a key").0).collect();
    let prepared: Vec<_> = keys
        .iter()
        .map(|key| {
            let [n, e, p, q, dp, dq, qinv] = [Part::N, Part::E, Part::P, Part::Q, Part::Dp, Part::Dq, Part::Qinv]
                .map(|part| key.number(part).expect("memory").expect("a number"));
            let private = PrivateKey::<P, M>::new(&n, &e, &p, &q, &dp, &dq, &qinv).expect("a private key");
            (private, PublicKey::<M>::new(&n, &e).expect("a public key"))
        })
        .collect();
    let (mut scratch, mut public_scratch) = (Box::new_uninit(), Box::new_uninit());
    let size = bits / 8;
    batches(count, |lanes| {
        let choice = bytes::<8>();
        let key = |i: usize| usize::from(choice[i]) % keys.len();
        let mut input = vec![0; 8 * size];
        random(&mut input);
        // Below every modulus, whose highest bit is set.
        (0..8).for_each(|i| input[size * i] &= 0x7f);
        let input = |i: usize| &input[size * i..][..size];
        let (mut made, mut raised) = (vec![0; 8 * size], vec![0; 8 * size]);
        let mut jobs: Vec<_> = (made.chunks_mut(size).enumerate().take(lanes))
            .map(|(i, output)| PrivateJob { key: &prepared[key(i)].0, input: input(i), output })
            .collect();
        assert_eq!(unsafe { adjunct_kernels::rsa::private(&mut jobs, &mut scratch) }, full(lanes));
        let mut jobs: Vec<_> = (raised.chunks_mut(size).enumerate().take(lanes))
            .map(|(i, output)| PublicJob { key: &prepared[key(i)].1, input: input(i), output })
            .collect();
        assert_eq!(unsafe { adjunct_kernels::rsa::public(&mut jobs, &mut public_scratch) }, full(lanes));
        for i in 0..lanes {
            let mut theirs = vec![0; size];
            keys[key(i)].private(input(i), &mut theirs).expect("signed");
            assert!(made[size * i..][..size] == theirs, "RSA-{bits} private, key {}, input {:x?}", key(i), input(i));
            keys[key(i)].public(input(i), &mut theirs).expect("raised");
            assert!(raised[size * i..][..size] == theirs, "RSA-{bits} public, key {}, input {:x?}", key(i), input(i));
        }
    });
}

#[test]
fn rsa_2048() {
    if lanes() {
        rsa::<20, 40>(2048, 12, operations(50));
    }
}

#[test]
fn rsa_3072() {
    if lanes() {
        rsa::<30, 60>(3072, 6, operations(14));
    }
}

#[test]
fn rsa_4096() {
    if lanes() {
        rsa::<40, 80>(4096, 3, operations(6));
    }
}

/// Random RSA operations in four lanes: by AVX2 and FMA, and by the code of AVX-IFMA in the encoding that this CPU has.
fn rsa_in_four<const P: usize, const M: usize, const D: usize, const E: usize>(bits: usize, keys: usize, count: usize) {
    let (has_fma, vex) = (is_x86_feature_detected!("fma"), is_x86_feature_detected!("avxifma"));
    let evex = is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vl");
    if !is_x86_feature_detected!("avx2") || !has_fma {
        return println!("SKIPPED: this CPU lacks AVX2 or FMA");
    }
    if !vex && !evex {
        println!("SKIPPED for AVX-IFMA: this CPU has IFMA in neither encoding");
    }
    let keys: Vec<_> = (0..keys).map(|_| rsa::CpuRsaKey::generate(bits, &[1, 0, 1], None).expect("a key").0).collect();
    let prepared: Vec<_> = keys
        .iter()
        .map(|key| {
            let [n, e, p, q, dp, dq, qinv] = [Part::N, Part::E, Part::P, Part::Q, Part::Dp, Part::Dq, Part::Qinv]
                .map(|part| key.number(part).expect("memory").expect("a number"));
            let of_digits = fma::PrivateKey::<P, M, D, E>::new(&n, &e, &p, &q, &dp, &dq, &qinv).expect("a key");
            (of_digits, PrivateKey::<P, M>::new(&n, &e, &p, &q, &dp, &dq, &qinv).expect("a key"))
        })
        .collect();
    let (mut scratch, mut ifma_scratch) = (Box::new_uninit(), Box::new_uninit());
    let size = bits / 8;
    batches(count, |lanes| {
        let lanes = lanes.div_ceil(2);
        let choice = bytes::<4>();
        let key = |i: usize| usize::from(choice[i]) % keys.len();
        let mut input = vec![0; 4 * size];
        random(&mut input);
        (0..4).for_each(|i| input[size * i] &= 0x7f);
        let input = |i: usize| &input[size * i..][..size];
        let (mut made, mut by_ifma) = (vec![0; 4 * size], vec![0; 4 * size]);
        let mut jobs: Vec<_> = (made.chunks_mut(size).enumerate().take(lanes))
            .map(|(i, output)| fma::PrivateJob { key: &prepared[key(i)].0, input: input(i), output })
            .collect();
        assert_eq!(unsafe { fma::private(&mut jobs, &mut scratch, true) }, full(lanes));
        let mut jobs: Vec<_> = (by_ifma.chunks_mut(size).enumerate().take(lanes))
            .map(|(i, output)| PrivateJob { key: &prepared[key(i)].1, input: input(i), output })
            .collect();
        let right = match (vex, evex) {
            (true, _) => Some(unsafe { avx_ifma::vex::private(&mut jobs, &mut ifma_scratch, true) }),
            (_, true) => Some(unsafe { avx_ifma::evex::private(&mut jobs, &mut ifma_scratch, true) }),
            _ => None,
        };
        assert!(right.is_none_or(|right| right == full(lanes)));
        for i in 0..lanes {
            let mut theirs = vec![0; size];
            keys[key(i)].private(input(i), &mut theirs).expect("signed");
            let ours = |made: &[u8]| made[size * i..][..size] == theirs[..];
            assert!(ours(&made), "RSA-{bits} by FMA, key {}, input {:x?}", key(i), input(i));
            assert!(right.is_none() || ours(&by_ifma), "RSA-{bits} by IFMA, key {}, input {:x?}", key(i), input(i));
        }
    });
}

#[test]
fn rsa_2048_in_four() {
    rsa_in_four::<20, 40, 22, 45>(2048, 8, operations(30));
}

#[test]
fn rsa_3072_in_four() {
    rsa_in_four::<30, 60, 33, 69>(3072, 4, operations(10));
}

#[test]
fn rsa_4096_in_four() {
    rsa_in_four::<40, 80, 45, 94>(4096, 3, operations(6));
}
