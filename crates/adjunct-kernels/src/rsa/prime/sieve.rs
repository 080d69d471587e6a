//! Trial division by the odd primes below 10000, of 32 numbers at a time.
//!
//! Each of these is a product of two or three primes below 2^32. The number modulo it is found from the lowest digit on, as in Montgomery's
//! reduction, times a power of two that does not matter: three multiplications of 32 bits for 32 numbers and a digit.

// Arrays go side by side, by their number.
#![allow(clippy::needless_range_loop)]

/// Divisors worked on at once.
const TOGETHER: usize = 32;
/// Primes are taken up to here; beyond, a division more costs more than the tests it saves.
const END: usize = 10_000;
const COUNT: usize = 1228;

/// The odd primes below [`END`].
const PRIMES: [u32; COUNT] = {
    let mut composite = [false; END];
    let (mut primes, mut count, mut n) = ([0; COUNT], 0, 3);
    while n < END {
        if !composite[n] {
            primes[count] = n as u32;
            count += 1;
            let mut multiple = n * n;
            while multiple < END {
                composite[multiple] = true;
                multiple += 2 * n;
            }
        }
        n += 2;
    }
    assert!(count == COUNT);
    primes
};

/// 1/m modulo 2^32 of an odd m.
const fn inverse(m: u32) -> u32 {
    let (mut inverse, mut i) = (m, 0);
    while i < 4 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(m.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
}

/// Products of K primes each.
struct Group<const K: usize> {
    m: [u32; TOGETHER],
    /// -1/m modulo 2^32.
    negative: [u32; TOGETHER],
    /// For each prime p: 1/p modulo 2^32, and the largest quotient by p of 32 bits.
    primes: [[(u32, u32); TOGETHER]; K],
}

impl<const K: usize> Group<K> {
    /// Makes the group of the primes from `from` on; of the last primes, where fewer are left.
    const fn from(first: usize) -> Group<K> {
        let mut group = Group { m: [1; TOGETHER], negative: [0; TOGETHER], primes: [[(0, 0); TOGETHER]; K] };
        let mut i = 0;
        while i < TOGETHER {
            let mut k = 0;
            while k < K {
                let place = first + K * i + k;
                let p = PRIMES[if place < COUNT { place } else { COUNT - 1 - k }];
                // Fails to compile where it is above 2^32.
                group.m[i] *= p;
                group.primes[k][i] = (inverse(p), u32::MAX / p);
                k += 1;
            }
            group.negative[i] = inverse(group.m[i]).wrapping_neg();
            i += 1;
        }
        group
    }

    /// Whether any of the primes divides the number of these digits, the lowest first, which is above 0.
    #[inline(always)]
    fn divides(&self, digits: impl Iterator<Item = u32>) -> bool {
        // At most m after each digit: (m + 2^32 - 1 + (2^32 - 1) m) / 2^32 is below m + 1.
        let mut rest = [0u64; TOGETHER];
        for digit in digits {
            for i in 0..TOGETHER {
                let sum = rest[i] + u64::from(digit);
                let factor = ((sum & LOW) * u64::from(self.negative[i])) & LOW;
                rest[i] = (sum + factor * u64::from(self.m[i])) >> 32;
            }
        }
        // A multiple of p times 1/p is the quotient; what is none becomes more than any quotient.
        let mut any = false;
        for primes in &self.primes {
            for i in 0..TOGETHER {
                any |= (rest[i] as u32).wrapping_mul(primes[i].0) <= primes[i].1;
            }
        }
        any
    }
}

const LOW: u64 = 0xFFFF_FFFF;

/// Primes in products of three.
const THREES: usize = 2;
static OF_THREE: [Group<3>; THREES] = [Group::from(0), Group::from(3 * TOGETHER)];
static OF_TWO: [Group<2>; 17] = {
    let mut groups = [const { Group::from(3 * TOGETHER * THREES) }; 17];
    let mut i = 1;
    while i < 17 {
        groups[i] = Group::from(TOGETHER * (3 * THREES + 2 * i));
        i += 1;
    }
    groups
};
// All primes are there.
const _: () = assert!(TOGETHER * (3 * THREES + 2 * 17) >= COUNT);

#[inline(always)]
fn any_divides(number: &[u8]) -> bool {
    let digits = || number.rchunks_exact(4).map(|digit| u32::from_be_bytes([digit[0], digit[1], digit[2], digit[3]]));
    OF_THREE.iter().any(|group| group.divides(digits())) || OF_TWO.iter().any(|group| group.divides(digits()))
}

/// Whether an odd prime below 10000 divides a big-endian number above 0 whose length is a multiple of four bytes. In time that depends on
/// the first of them.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
pub fn wide(number: &[u8]) -> bool {
    any_divides(number)
}

/// Whether an odd prime below 10000 divides a big-endian number above 0 whose length is a multiple of four bytes, with AVX2. In time that
/// depends on the first of them.
#[target_feature(enable = "avx2")]
pub fn narrow(number: &[u8]) -> bool {
    any_divides(number)
}

/// Whether a big-endian number whose length is a multiple of four bytes is 1 modulo an odd divisor; in time that depends on the length.
pub fn is_one_modulo(number: &[u8], divisor: u32) -> bool {
    let rest = |digits: &mut dyn Iterator<Item = u32>| {
        let negative = inverse(divisor).wrapping_neg();
        let rest = digits.fold(0, |rest: u64, digit| {
            let sum = rest + u64::from(digit);
            let factor = u64::from((sum as u32).wrapping_mul(negative));
            (sum + factor * u64::from(divisor)) >> 32
        });
        // Up to the divisor itself, which stands for 0.
        let is_divisor = std::hint::black_box(u64::from(rest == u64::from(divisor)));
        rest & is_divisor.wrapping_sub(1)
    };
    let mut digits = number.rchunks_exact(4).map(|digit| u32::from_be_bytes([digit[0], digit[1], digit[2], digit[3]]));
    let mut one = (0..number.len() / 4).map(|place| u32::from(place == 0));
    rest(&mut digits) == rest(&mut one)
}
