//! RSA in eight lanes, in four and alone: the private operation of the smallest size, which runs the code of all.

use super::{Case, Prepared, bytes, region};
use adjunct::catalogue::Feature;
use adjunct_kernels::rsa::{CheckKey2048, PrivateJob, PrivateKey2048, avx_ifma, fma, prime, private, private_single};

/// `a` * `b`, big-endian.
fn product(a: &[u8; 128], b: &[u8; 128]) -> [u8; 256] {
    let mut sum = [0; 256];
    for (i, a) in a.iter().enumerate().rev() {
        let mut over = 0;
        for (j, b) in b.iter().enumerate().rev() {
            let limb = u32::from(*a) * u32::from(*b) + u32::from(sum[i + j + 1]) + over;
            (sum[i + j + 1], over) = (limb as u8, limb >> 8);
        }
        sum[i] = over as u8;
    }
    sum
}

/// Numbers of a key that will do, as no result passes the check then, whatever the seed, and each is computed: n, and p, q and the CRT's.
fn numbers(seed: u64) -> ([u8; 256], [[u8; 128]; 5]) {
    let number = |salt: u64, top: u8, bottom: u8| {
        let mut number = *bytes::<128>(if seed < 2 { seed } else { seed + salt });
        number[0] = number[0] & 0x7F | top;
        number[127] |= bottom;
        number
    };
    // Odd, and the two highest bits are set, as in any key: the product has 2048.
    let (p, q) = (number(0, 0xC0, 1), number(1000, 0xC0, 1));
    let n = product(&p, &q);
    (n, [p, q, number(2000, 0, 0), number(3000, 0, 0), number(4000, 0, 0)])
}

/// A key of such numbers, and its modulus.
fn key(seed: u64) -> (Box<PrivateKey2048>, [u8; 256]) {
    let (n, [p, q, dp, dq, qinv]) = numbers(seed);
    (Box::new(PrivateKey2048::new(&n, &[1, 0, 1], &p, &q, &dp, &dq, &qinv).expect("a key")), n)
}

/// Eight candidates for primes or bases, limbs of 52 bits.
type Eight = Vec<[u64; 20]>;

/// Candidates, as random as all that is drawn, with their bases.
fn candidates(seed: u64) -> (Eight, Eight, Vec<(*const u8, usize)>) {
    let limbs = |seed: u64| -> [u64; 20] {
        let bytes = bytes::<160>(seed);
        let limb = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k]));
        std::array::from_fn(|i| limb(i) & ((1 << 52) - 1))
    };
    let candidate = |seed| {
        let mut limbs = limbs(seed);
        (limbs[0], limbs[19]) = (limbs[0] | 1, limbs[19] & ((1 << 36) - 1) | 3 << 34);
        limbs
    };
    let all = |from: u64| (0..8).map(move |i| if seed < 2 { seed } else { seed + from + i });
    let candidates: Vec<_> = all(1000).map(candidate).collect();
    let bases: Vec<_> = all(2000).map(limbs).collect();
    let secrets = vec![region(&candidates[..]), region(&bases[..])];
    (candidates, bases, secrets)
}

/// Over five million instructions and over one, which take a minute: only where they are asked for by name (`-- RSA-2048`).
pub fn cases() -> Vec<Case> {
    if std::env::args().len() < 2 {
        return Vec::new();
    }
    let in_lanes = |seed| {
        let (key, _) = key(seed);
        let (input, mut output, mut scratch) = (bytes::<256>(seed), Box::new([0; 256]), Box::new_uninit());
        let secrets = vec![region(&*key), region(&*input)];
        Prepared {
            secrets,
            run: Box::new(move || {
                let mut jobs = [PrivateJob { key: &key, input: &input[..], output: &mut output[..] }];
                unsafe { private(&mut jobs, &mut scratch) };
            }),
        }
    };
    let in_four = |seed| {
        let (n, [p, q, dp, dq, qinv]) = numbers(seed);
        let key = Box::new(fma::PrivateKey2048::new(&n, &[1, 0, 1], &p, &q, &dp, &dq, &qinv).expect("a key"));
        let (input, mut output, mut scratch) = (bytes::<256>(seed), Box::new([0; 256]), Box::new_uninit());
        let secrets = vec![region(&*key), region(&*input)];
        Prepared {
            secrets,
            run: Box::new(move || {
                let mut jobs = [fma::PrivateJob { key: &key, input: &input[..], output: &mut output[..] }];
                unsafe { fma::private(&mut jobs, &mut scratch, true) };
            }),
        }
    };
    // The code of AVX-IFMA, in the encoding of AVX-512: every CPU with IFMA has the vectors of 256 bits, too.
    let in_four_of_ifma = |seed| {
        let (key, _) = key(seed);
        let (input, mut output, mut scratch) = (bytes::<256>(seed), Box::new([0; 256]), Box::new_uninit());
        let secrets = vec![region(&*key), region(&*input)];
        Prepared {
            secrets,
            run: Box::new(move || {
                let mut jobs = [PrivateJob { key: &key, input: &input[..], output: &mut output[..] }];
                unsafe { avx_ifma::evex::private(&mut jobs, &mut scratch, true) };
            }),
        }
    };
    let primes = |seed| {
        let ((candidates, bases, secrets), mut scratch) = (candidates(seed), Box::new_uninit());
        let run = move || _ = unsafe { prime::test(&candidates, &bases, &mut scratch) };
        Prepared { secrets, run: Box::new(run) }
    };
    let primes_in_four = |seed| {
        let ((candidates, bases, secrets), mut scratch) = (candidates(seed), Box::new_uninit());
        let run = move || _ = unsafe { fma::prime::test::<20, 22>(&candidates, &bases, &mut scratch) };
        Prepared { secrets, run: Box::new(run) }
    };
    let primes_in_four_of_ifma = |seed| {
        let ((candidates, bases, secrets), mut scratch) = (candidates(seed), Box::new_uninit());
        let run = move || _ = unsafe { avx_ifma::evex::test(&candidates, &bases, &mut scratch) };
        Prepared { secrets, run: Box::new(run) }
    };
    let alone = |seed| {
        let ((key, n), (mut input, mut output)) = (key(seed), (bytes::<256>(seed), Box::new([0; 256])));
        // Below the modulus.
        input[0] &= 0x7F;
        let check = Box::new(unsafe { CheckKey2048::new(&n, &[1, 0, 1]) }.expect("a key"));
        let secrets = vec![region(&*key), region(&*input)];
        Prepared {
            secrets,
            run: Box::new(move || {
                _ = unsafe { private_single::<20, 40, 3, 5>(&key, &check, &input[..], &mut output[..]) };
            }),
        }
    };
    let ifma: &[Feature] = &[Feature::Avx512, Feature::Ifma];
    let case = |what: &str, needs, prepare: Box<dyn Fn(u64) -> Prepared>| Case {
        name: format!("RSA-2048 {what}, private"),
        needs,
        memcheck: false,
        prepare,
    };
    let of_primes =
        |what: &str, needs, prepare| Case { name: format!("RSA-2048 primes {what}"), ..case("", needs, prepare) };
    vec![
        case("in lanes", ifma, Box::new(in_lanes)),
        case("in four lanes", &[Feature::Avx2, Feature::Fma], Box::new(in_four)),
        case("in four lanes of IFMA", ifma, Box::new(in_four_of_ifma)),
        case("alone", ifma, Box::new(alone)),
        of_primes("in lanes", ifma, Box::new(primes)),
        of_primes("in four lanes", &[Feature::Avx2, Feature::Fma], Box::new(primes_in_four)),
        of_primes("in four lanes of IFMA", ifma, Box::new(primes_in_four_of_ifma)),
    ]
}
