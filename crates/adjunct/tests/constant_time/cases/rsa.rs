//! RSA in eight lanes and alone: the private operation of the smallest size, which runs the code of all.

use super::{Case, Prepared, bytes, region};
use adjunct::catalogue::Feature;
use adjunct_kernels::rsa::{CheckKey2048, PrivateJob, PrivateKey2048, private, private_single};

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

/// A key of numbers that will do, as no result passes the check then, whatever the seed, and each is computed; and its modulus.
fn key(seed: u64) -> (Box<PrivateKey2048>, [u8; 256]) {
    let number = |salt: u64, top: u8, bottom: u8| {
        let mut number = *bytes::<128>(if seed < 2 { seed } else { seed + salt });
        number[0] = number[0] & 0x7F | top;
        number[127] |= bottom;
        number
    };
    // Odd, and the two highest bits are set, as in any key: the product has 2048.
    let (p, q) = (number(0, 0xC0, 1), number(1000, 0xC0, 1));
    let n = product(&p, &q);
    let (dp, dq, qinv) = (number(2000, 0, 0), number(3000, 0, 0), number(4000, 0, 0));
    (Box::new(PrivateKey2048::new(&n, &[1, 0, 1], &p, &q, &dp, &dq, &qinv).expect("a key")), n)
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
    let case = |what: &str, prepare: Box<dyn Fn(u64) -> Prepared>| Case {
        name: format!("RSA-2048 {what}, private"),
        needs: &[Feature::Avx512, Feature::Ifma],
        memcheck: false,
        prepare,
    };
    vec![case("in lanes", Box::new(in_lanes)), case("alone", Box::new(alone))]
}
