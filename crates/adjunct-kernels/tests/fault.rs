//! A bit that flips in one lane's arithmetic harms no other lane, and no wrong result leaves.
//!
//! Run with `--features fault`.

#![cfg(all(target_arch = "x86_64", feature = "fault"))]

use adjunct_kernels::fault;
use adjunct_kernels::nist::{self, Curve, DeriveJob, P256, P384, P521, PublicJob, SignJob};
use std::sync::Mutex;

/// The fault is the process's: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

fn scalar(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let mut out: Vec<u8> = (0..length).map(|_| next()).collect();
    // Below the orders.
    out[0] &= if length == 66 { 0 } else { 0x7F };
    out
}

/// Runs `work` undisturbed, then with a fault in every `step`th intermediate result until none strikes: each lane has to hold its right result or,
/// where its bit is 0, zeros.
fn strike(step: usize, outputs: usize, work: impl Fn(&mut [Vec<u8>]) -> u8) {
    let run = || {
        let mut out = vec![vec![0xAA; outputs]; 8];
        (work(&mut out), out)
    };
    let (good, right) = run();
    assert_eq!(good, 0xFF);
    let (mut caught, mut struck) = (0, 0);
    for after in (0..).step_by(step) {
        let lane = after as usize % 7 + 1;
        fault::arm(lane, after);
        let (good, out) = run();
        if fault::disarm() {
            break;
        }
        struck += 1;
        caught += usize::from(good != 0xFF);
        for (i, (out, right)) in out.iter().zip(&right).enumerate() {
            if good >> i & 1 == 1 {
                assert_eq!(out, right, "lane {i}, fault in {lane} after {after}");
            } else {
                assert_eq!((i, out.iter().all(|b| *b == 0)), (lane, true), "after {after}");
            }
        }
    }
    // Some strike what no longer matters, as the product of an addition that is not taken.
    assert!(struck > 30 && caught * 10 > struck * 8, "{caught} of {struck}");
}

fn curve<C: Curve<N>, const N: usize>() {
    if !is_x86_feature_detected!("avx512ifma") {
        println!("SKIPPED: this CPU has no AVX-512 IFMA");
        return;
    }
    let keys: Vec<_> = (0..8).map(|i| scalar(i, C::BYTES)).collect();
    let public = |out: &mut [Vec<u8>]| {
        let mut jobs: Vec<_> = keys.iter().zip(out).map(|(private, public)| PublicJob { private, public }).collect();
        // SAFETY: AVX-512 IFMA has been found at the beginning of this function.
        unsafe { nist::public::<C, N>(&mut jobs) }
    };
    strike(7, 2 * C::BYTES, public);
    let mut peers = vec![vec![0; 2 * C::BYTES]; 8];
    public(&mut peers);
    strike(31, C::BYTES, |out| {
        let jobs = keys.iter().zip(&peers[1..]).zip(out);
        let mut jobs: Vec<_> = jobs.map(|((private, peer), secret)| DeriveJob { private, peer, secret }).collect();
        // SAFETY: AVX-512 IFMA has been found at the beginning of this function.
        unsafe { nist::derive::<C, N>(&mut jobs) | 0x80 }
    });
    let digests: Vec<_> = (10..18).map(|i| scalar(i, C::BYTES)).collect();
    let nonces: Vec<_> = (20..28).map(|i| scalar(i, C::BYTES)).collect();
    strike(5, 2 * C::BYTES, |out| {
        let jobs = keys.iter().zip(&digests).zip(nonces.iter().zip(out));
        let mut jobs: Vec<_> =
            jobs.map(|((private, digest), (nonce, signature))| SignJob { private, digest, nonce, signature }).collect();
        // SAFETY: AVX-512 IFMA has been found at the beginning of this function.
        unsafe { nist::sign::<C, N>(&mut jobs) }
    });
}

/// A fault in one lane of a signature whose work the lanes share gives no signature.
fn shared<C: Curve<N>, const N: usize>() {
    if !is_x86_feature_detected!("avx512ifma") {
        println!("SKIPPED: this CPU has no AVX-512 IFMA");
        return;
    }
    let [private, digest, nonce] = [1, 11, 21].map(|seed| scalar(seed, C::BYTES));
    let run = || {
        let mut signature = vec![0xAA; 2 * C::BYTES];
        let (private, digest, nonce) = (&private[..], &digest[..], &nonce[..]);
        let mut job = SignJob { private, digest, nonce, signature: &mut signature };
        // SAFETY: AVX-512 IFMA has been found at the beginning of this function.
        (unsafe { nist::sign_shared::<C, N>(&mut job) }, signature)
    };
    let (good, right) = run();
    assert!(good);
    let (mut caught, mut struck) = (0, 0);
    for after in 0.. {
        fault::arm(after as usize % 8, after);
        let (good, out) = run();
        if fault::disarm() {
            break;
        }
        struck += 1;
        caught += usize::from(!good);
        assert!(if good { out == right } else { out.iter().all(|b| *b == 0) }, "after {after}");
    }
    // Some strike what no longer matters, as a sum's lanes of which another has the same.
    assert!(struck > 100 && caught * 2 > struck, "{caught} of {struck}");
}

#[test]
fn nist_curves() {
    let _one = ONE.lock().unwrap_or_else(|e| e.into_inner());
    curve::<P256, 5>();
    curve::<P384, 8>();
    curve::<P521, 11>();
    shared::<P256, 5>();
    shared::<P384, 8>();
    shared::<P521, 11>();
}
