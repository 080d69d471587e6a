use super::*;
use crate::lanes::limbs_from_be;
use aws_lc_sys as sys;
use std::ptr::null_mut;

/// Candidates of a size with what AWS-LC says of them: random ones, some primes, and products of two primes.
fn candidates<const P: usize>(count: usize) -> Vec<(Vec<u8>, [u64; P], bool)> {
    let bits = modulus_bits(P);
    (0..count)
        .map(|i| {
            // SAFETY: numbers made and freed here.
            unsafe {
                let (number, context, mut prime) = (sys::BN_new(), sys::BN_CTX_new(), 0);
                match i % 8 {
                    0 => assert_eq!(
                        sys::BN_generate_prime_ex(number, bits as i32, 0, null_mut(), null_mut(), null_mut()),
                        1
                    ),
                    1 => {
                        let (a, b) = (sys::BN_new(), sys::BN_new());
                        for factor in [a, b] {
                            let half = bits as i32 / 2;
                            assert_eq!(
                                sys::BN_generate_prime_ex(factor, half, 0, null_mut(), null_mut(), null_mut()),
                                1
                            );
                        }
                        assert_eq!(sys::BN_mul(number, a, b, context), 1);
                        sys::BN_free(a);
                        sys::BN_free(b);
                    }
                    _ => assert_eq!(sys::BN_rand(number, bits as i32, 1, 1), 1),
                }
                assert_eq!(sys::BN_primality_test(&mut prime, number, 10, context, 0, null_mut()), 1);
                let mut bytes = vec![0; bits / 8];
                assert_eq!(sys::BN_bn2bin_padded(bytes.as_mut_ptr(), bytes.len(), number), 1);
                sys::BN_free(number);
                sys::BN_CTX_free(context);
                let limbs = limbs_from_be(&bytes);
                (bytes, limbs, prime == 1)
            }
        })
        // A product of two numbers with both highest bits may lack the second; such are no candidates.
        .map(|(mut bytes, limbs, prime)| {
            if bytes[0] >> 6 != 3 {
                bytes[0] |= 0xC0;
                let limbs: [u64; P] = limbs_from_be(&bytes);
                return (bytes.clone(), limbs, is_prime(&bytes));
            }
            (bytes, limbs, prime)
        })
        .collect()
}

fn is_prime(bytes: &[u8]) -> bool {
    // SAFETY: a number made and freed here.
    unsafe {
        let (number, mut prime) = (sys::BN_bin2bn(bytes.as_ptr(), bytes.len(), null_mut()), 0);
        assert_eq!(sys::BN_primality_test(&mut prime, number, 10, null_mut(), 0, null_mut()), 1);
        sys::BN_free(number);
        prime == 1
    }
}

pub(in crate::rsa) fn base<const P: usize>() -> [u64; P] {
    let mut limbs = [0u64; P];
    // SAFETY: the pointer and length describe the array.
    unsafe { sys::RAND_bytes(limbs.as_mut_ptr().cast(), size_of_val(&limbs)) };
    limbs.map(|limb| limb & MASK)
}

/// Compares a test of `width` candidates at once with AWS-LC's judgement.
pub(in crate::rsa) fn agrees<const P: usize>(width: usize, mut test: impl FnMut(&[[u64; P]], &[[u64; P]]) -> u32) {
    let all = candidates::<P>(width);
    for count in [1, width / 2 + 1, width] {
        for part in all.chunks(count) {
            let numbers: Vec<_> = part.iter().map(|(_, limbs, _)| *limbs).collect();
            let bases: Vec<_> = numbers.iter().map(|_| base()).collect();
            let expected = part.iter().enumerate().fold(0, |set, (i, (_, _, prime))| set | u32::from(*prime) << i);
            assert_eq!(test(&numbers, &bases), expected, "{count} of {P} limbs");
        }
    }
}

#[test]
fn lanes_know_primes_as_the_library_does() {
    fn of<const P: usize>() {
        let mut scratch = Box::new(MaybeUninit::<Scratch<P>>::uninit());
        // SAFETY: the CPU has these lanes.
        agrees::<P>(CANDIDATES, |candidates, bases| unsafe { test(candidates, bases, &mut scratch) });
    }
    let _alone = crate::rsa::tests::alone();
    if crate::lanes::tests::here() {
        of::<20>();
        of::<30>();
        of::<40>();
    }
}

#[test]
fn four_lanes_do_too() {
    fn of<const P: usize, const D: usize>() {
        use crate::rsa::{avx_ifma, fma};
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            let mut scratch = Box::new(MaybeUninit::<fma::prime::Scratch<P, D>>::uninit());
            // SAFETY: the CPU has these lanes.
            let test = |candidates: &[_], bases: &[_]| unsafe { fma::prime::test(candidates, bases, &mut scratch) };
            agrees::<P>(fma::prime::CANDIDATES, test);
        }
        if crate::lanes::tests::here() && is_x86_feature_detected!("avx512vl") {
            let mut scratch = Box::new(MaybeUninit::<avx_ifma::PrimeScratch<P>>::uninit());
            // SAFETY: the CPU has these instructions.
            let test = |candidates: &[_], bases: &[_]| unsafe { avx_ifma::evex::test(candidates, bases, &mut scratch) };
            agrees::<P>(avx_ifma::CANDIDATES, test);
        }
    }
    let _alone = crate::rsa::tests::alone();
    of::<20, 22>();
    of::<30, 33>();
    of::<40, 45>();
}

/// Strong pseudoprimes by 2 among numbers one limb short of a size are not at hand: small ones show the trial's rules instead, one limb
/// being what all of the exponent is.
#[test]
fn a_trial_sees_what_miller_and_rabin_look_for() {
    let numbers = |value: u64| {
        let mut limbs = [0u64; 20];
        (limbs[0], limbs[19]) = (value, 0xC << 32);
        limbs
    };
    // w - 1 ends in 1000: a is 3.
    let m = numbers(0b1001);
    let new = || Trial::new(&m, 1040);
    let (one, minus) = (new().one, plain::subtract(&m, &new().one).0);
    let other = numbers(5);
    for (powers, passes) in [
        // From the power by the odd exponent on.
        ([&one, &one, &one], true),
        ([&minus, &one, &one], true),
        ([&other, &minus, &one], true),
        ([&other, &other, &minus], true),
        ([&other, &one, &one], false),
        ([&other, &other, &one], false),
        ([&other, &other, &other], false),
    ] {
        let mut trial = new();
        // What comes before does not count.
        for bit in (4..=LAST).rev() {
            trial.see(&one, bit);
            trial.see(&minus, bit);
        }
        for (power, bit) in powers.into_iter().zip([3, 2, 1]) {
            trial.see(power, bit);
        }
        assert_eq!(trial.passed() == 1, passes);
    }
    // Above 51.
    let m = numbers(1);
    let mut trial = Trial::new(&m, 1040);
    let one = trial.one;
    (1..=LAST).rev().for_each(|bit| trial.see(&one, bit));
    assert_eq!(trial.passed(), 0);
}

#[test]
fn trial_division_finds_every_small_factor() {
    let primes: Vec<u32> =
        (3..10_000).step_by(2).filter(|n| (3..100).step_by(2).all(|d| n % d != 0 || *n == d)).collect();
    assert_eq!(primes.len(), 1228);
    let rest = |number: &[u8], divisor: u32| {
        number.iter().fold(0u64, |rest, byte| (rest << 8 | u64::from(*byte)) % u64::from(divisor))
    };
    let check = |number: &[u8]| {
        let expected = primes.iter().any(|p| rest(number, *p) == 0);
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has the instructions.
            assert_eq!(unsafe { sieve::narrow(number) }, expected, "{number:x?}");
        }
        if is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the CPU has AVX-512 DQ, BW and VL, which have just been asked for.
            assert_eq!(unsafe { sieve::wide(number) }, expected, "{number:x?}");
        }
        expected
    };
    // Each prime by itself, and as a factor of a number that has no other: a prime times one above 10000.
    for p in &primes {
        let mut number = vec![0; 128];
        number[120..].copy_from_slice(&(u64::from(*p) * 1_000_003).to_be_bytes());
        assert!(check(&number));
        assert!(
            sieve::is_one_modulo(&[&number[..127], &[number[127] | 1]].concat(), *p)
                == (rest(&[&number[..127], &[number[127] | 1]].concat(), *p) == 1)
        );
    }
    let mut number = vec![0; 128];
    number[120..].copy_from_slice(&(1_000_003u64 * 1_000_033).to_be_bytes());
    assert!(!check(&number));
    for (length, round) in [(64, 0), (128, 1), (192, 2), (256, 3)].into_iter().cycle().take(200) {
        let bytes = [base::<40>(), base::<40>()].concat();
        let mut number: Vec<_> = bytes.iter().flat_map(|limb| limb.to_le_bytes()[..6].to_vec()).take(length).collect();
        number[length - 1] |= 1;
        check(&number);
        for divisor in [3, 17, 65537, 0xFFFF_FFFF, 0xFFFF_FFFB, 3 * 5 * 7] {
            assert_eq!(sieve::is_one_modulo(&number, divisor), rest(&number, divisor) == 1, "{round}");
        }
    }
    for divisor in [3u32, 17, 65537, 0xFFFF_FFFF, 0xFFFF_FFFB, 105] {
        let one = (u64::from(divisor) * 0x1234_5679 + 1).to_be_bytes();
        assert!(sieve::is_one_modulo(&one, divisor));
        let not = (u64::from(divisor) * 0x1234_5679 + 2).to_be_bytes();
        assert!(!sieve::is_one_modulo(&not, divisor));
    }
}
