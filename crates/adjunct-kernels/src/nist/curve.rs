//! The curves as data: y^2 = x^3 - 3x + b over p, of prime order n (NIST SP 800-186, 3.2.1).

use crate::lanes::MASK;
use crate::lanes::montgomery::minus;

/// A curve in limbs of 52 bits, N of them; all else is derived from what stands here.
pub trait Curve<const N: usize>: sealed::Sealed {
    /// Bits of p and of n.
    const BITS: usize;
    /// p as a sum of powers of two: exponent, and whether it is taken away. The highest first, the last is 1.
    const TERMS: &'static [(u32, bool)];
    /// Bits of a window in the multiplication of any point; for what they may be see point.rs.
    const WINDOW: usize;
    /// The order n of the group.
    const ORDER: [u64; N];
    /// The b of the equation.
    const B: [u64; N];
    /// The generator's coordinates.
    const GENERATOR: [[u64; N]; 2];
    /// The comb's table, made by the test `tables_are_multiples_of_the_generator`: see comb.rs.
    #[doc(hidden)]
    const TABLE: &'static [u8];
    /// The table of one multiple whose work the lanes share, made by the same test: see shared.rs.
    #[doc(hidden)]
    const SHARED_TABLE: &'static [u8];

    /// p.
    const P: [u64; N] = sum(Self::TERMS);
    /// p's limbs before the borrows between them: few are not zero.
    const SPARSE: [i64; N] = sparse(Self::TERMS);
    /// Length of a coordinate and of a scalar in bytes.
    const BYTES: usize = Self::BITS.div_ceil(8);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::P256 {}
    impl Sealed for super::P384 {}
    impl Sealed for super::P521 {}
}

/// NIST P-256, secp256r1.
#[derive(Debug, Clone, Copy)]
pub struct P256;

/// NIST P-384, secp384r1.
#[derive(Debug, Clone, Copy)]
pub struct P384;

/// NIST P-521, secp521r1.
#[derive(Debug, Clone, Copy)]
pub struct P521;

/// Bytes with the alignment of a vector.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static P256_TABLE: &Aligned<[u8]> = &Aligned(*include_bytes!("p256.bin"));
static P256_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("p256-shared.bin"));
static P384_TABLE: &Aligned<[u8]> = &Aligned(*include_bytes!("p384.bin"));
static P384_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("p384-shared.bin"));
static P521_TABLE: &Aligned<[u8]> = &Aligned(*include_bytes!("p521.bin"));
static P521_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("p521-shared.bin"));

impl Curve<5> for P256 {
    const BITS: usize = 256;
    const TERMS: &'static [(u32, bool)] = &[(256, false), (224, true), (192, false), (96, false), (0, true)];
    const WINDOW: usize = 5;
    const ORDER: [u64; 5] = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    const B: [u64; 5] = hex("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b");
    const GENERATOR: [[u64; 5]; 2] = [
        hex("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
        hex("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"),
    ];
    const TABLE: &'static [u8] = &P256_TABLE.0;
    const SHARED_TABLE: &'static [u8] = &P256_SHARED.0;
}

impl Curve<8> for P384 {
    const BITS: usize = 384;
    const TERMS: &'static [(u32, bool)] = &[(384, false), (128, true), (96, true), (32, false), (0, true)];
    const WINDOW: usize = 5;
    const ORDER: [u64; 8] =
        hex("ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973");
    const B: [u64; 8] =
        hex("b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef");
    const GENERATOR: [[u64; 8]; 2] = [
        hex("aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7"),
        hex("3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f"),
    ];
    const TABLE: &'static [u8] = &P384_TABLE.0;
    const SHARED_TABLE: &'static [u8] = &P384_SHARED.0;
}

impl Curve<11> for P521 {
    const BITS: usize = 521;
    const TERMS: &'static [(u32, bool)] = &[(521, false), (0, true)];
    const WINDOW: usize = 4;
    const ORDER: [u64; 11] = hex(concat!(
        "1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "a51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
    ));
    const B: [u64; 11] = hex(concat!(
        "051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef10",
        "9e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00"
    ));
    const GENERATOR: [[u64; 11]; 2] = [
        hex(concat!(
            "0c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3d",
            "baa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66"
        )),
        hex(concat!(
            "11839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e66",
            "2c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650"
        )),
    ];
    const TABLE: &'static [u8] = &P521_TABLE.0;
    const SHARED_TABLE: &'static [u8] = &P521_SHARED.0;
}

const fn hex<const N: usize>(text: &str) -> [u64; N] {
    let (text, mut limbs, mut i) = (text.as_bytes(), [0; N], 0);
    while i < text.len() {
        let digit = (text[text.len() - 1 - i] as char).to_digit(16).unwrap() as u64;
        // 52 is a multiple of 4: no digit lies across two limbs.
        limbs[4 * i / 52] |= digit << (4 * i % 52);
        i += 1;
    }
    limbs
}

const fn sparse<const N: usize>(terms: &[(u32, bool)]) -> [i64; N] {
    let (mut limbs, mut i) = ([0; N], 0);
    while i < terms.len() {
        let (exponent, minus) = terms[i];
        let power = 1i64 << (exponent % 52);
        limbs[(exponent / 52) as usize] += if minus { -power } else { power };
        i += 1;
    }
    limbs
}

const fn sum<const N: usize>(terms: &[(u32, bool)]) -> [u64; N] {
    let (limbs, mut out, mut over, mut i) = (sparse::<N>(terms), [0; N], 0i64, 0);
    while i < N {
        over += limbs[i];
        out[i] = over as u64 & MASK;
        over >>= 52;
        i += 1;
    }
    assert!(over == 0);
    out
}

/// Bits of 2^`bits` - `n`.
pub(super) const fn gap_bits<const N: usize>(bits: usize, n: &[u64; N]) -> usize {
    let mut power = [0; N];
    power[bits / 52] = 1 << (bits % 52);
    let (gap, mut i) = (minus(&power, n), N - 1);
    while gap[i] == 0 {
        i -= 1;
    }
    52 * i + 64 - gap[i].leading_zeros() as usize
}
