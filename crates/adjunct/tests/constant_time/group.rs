//! AWS-LC's code for any curve, on those that we give it: not our arithmetic, but our choice.
//!
//! Only for memcheck: it allocates, which single-stepping does not take. `public.supp` names the places where AWS-LC itself
//! declares a value public: whether a number is below the order or zero, a point at infinity or on the curve, and signatures.

use super::cases::{Case, Prepared, bytes, region};
use super::memcheck;
use adjunct_cpu::curve::{Group, MAX_FIELD};
use adjunct_cpu::ec::CpuEcKey;
use std::rc::Rc;

pub fn cases() -> Vec<Case> {
    if !memcheck::running() {
        return Vec::new();
    }
    // One of a = -3, one of another a: they are doubled differently.
    [(Group::P192, "P-192"), (Group::BrainpoolP192r1, "brainpoolP192r1")]
        .into_iter()
        .map(|(group, name)| {
            // Made now: a signature's secrets go into the generator.
            let peer = Rc::new(CpuEcKey::generate(group).expect("a key").0);
            let prepare = Box::new(move |seed| prepare(group, &peer, seed));
            Case { name: format!("{name} alone"), needs: &[], memcheck: true, prepare }
        })
        .collect()
}

/// A number from 1 to the group's order - 1.
fn scalar(seed: u64) -> Box<[u8; 24]> {
    let mut scalar = bytes::<24>(seed);
    scalar[0] &= 0x7F;
    scalar[23] |= 1;
    scalar
}

fn prepare(group: Group, peer: &Rc<CpuEcKey>, seed: u64) -> Prepared {
    let (private, nonce, peer) = (scalar(seed), scalar(seed + 1), Rc::clone(peer));
    let secrets = vec![region(&*private), region(&*nonce)];
    let run = move || {
        let key = CpuEcKey::new(group, None, Some(&*private)).expect("a key");
        key.sign(&[7; 32], &mut [0; 48]).expect("a signature");
        key.sign_with_nonce(&[7; 32], &*nonce, &mut [0; 48]).expect("a signature");
        key.shared_secret(&peer, &mut [0; MAX_FIELD]).expect("a secret");
    };
    Prepared { secrets, run: Box::new(run) }
}
