//! AWS-LC's exponentiation by a secret exponent, as `ica_rsa_mod_expo` has it do where the exponent is not as short as a public
//! one: not our arithmetic, but our choice. Only for memcheck, as `group.rs`; `public.supp` names what is public of the exponent.

use super::cases::{Case, Prepared, bytes, region};
use super::memcheck;
use adjunct_cpu::rsa_any;

pub fn cases() -> Vec<Case> {
    if !memcheck::running() {
        return Vec::new();
    }
    // AWS-LC has code of its own for 1024 bits, and none for what is not of whole blocks of words.
    [512, 1024, 1088, 2048]
        .into_iter()
        .map(|bits: usize| {
            let prepare = Box::new(move |seed| prepare(bits / 8, seed));
            Case { name: format!("{bits}-bit power by a secret exponent"), needs: &[], memcheck: true, prepare }
        })
        .collect()
}

fn prepare(length: usize, seed: u64) -> Prepared {
    let number = |seed| bytes::<256>(seed)[..length].to_vec();
    let (mut modulus, mut base, exponent) = (number(100), number(seed), number(seed + 1));
    (modulus[0], modulus[length - 1], base[0]) = (modulus[0] | 0x80, modulus[length - 1] | 1, 0);
    // The base is what was sent to the key's owner. What comes out depends on the exponent, and is hidden with it.
    let secrets = vec![region(&exponent[..])];
    let mut out = vec![0; length];
    let run = move || rsa_any::power(&base, &exponent, &modulus, &mut out).expect("a power");
    Prepared { secrets, run: Box::new(run) }
}
