//! The curves as data: y^2 = x^3 - 3x + b over p, of prime order n (NIST SP 800-186, 3.2.1); and others that are computed on one of that
//! form, Brainpool's (RFC 5639).

use crate::lanes::MASK;
use crate::lanes::montgomery::minus;

/// A curve in limbs of 52 bits, N of them; all else is derived from what stands here.
pub trait Curve<const N: usize>: sealed::Sealed {
    /// Bits of p and of n.
    const BITS: usize;
    /// p as a sum of powers of two: exponent, and whether it is taken away. The highest first, the last is 1. None where p is any number.
    const TERMS: &'static [(u32, bool)];
    /// Bits of a window in the multiplication of any point; point.rs says which are allowed.
    const WINDOW: usize;
    /// The order n of the group.
    const ORDER: [u64; N];
    /// The isomorphism to the form that is computed on; `None` where the curve has that form.
    const TWIST: Option<Twist<N>> = None;
    /// The b of the equation.
    const B: [u64; N];
    /// The generator's coordinates, on the curve that is computed on.
    const GENERATOR: [[u64; N]; 2];
    /// The comb's table, made by the test `tables_are_multiples_of_the_generator`: see comb.rs.
    #[doc(hidden)]
    const TABLE: &'static [u8];
    /// The table for a multiple whose work the lanes share, made by the same test: see shared.rs.
    #[doc(hidden)]
    const SHARED_TABLE: &'static [u8];

    /// p.
    const P: [u64; N] = sum(Self::TERMS);
    /// p's limbs before the borrows between them: few are not zero. Those of any p are its own.
    const SPARSE: [i64; N] = sparse(Self::TERMS);
    /// Length of a coordinate and of a scalar in bytes.
    const BYTES: usize = Self::BITS.div_ceil(8);
}

/// A curve y^2 = x^3 + ax + b whose points are (u^2 x, u^3 y) of the points (x, y) of one with a = -3 (RFC 5639, 2.2).
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Twist<const N: usize> {
    pub a: [u64; N],
    /// u^2.
    pub x: [u64; N],
    /// u^3.
    pub y: [u64; N],
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::P256 {}
    impl Sealed for super::P384 {}
    impl Sealed for super::P521 {}
    impl Sealed for super::P192 {}
    impl Sealed for super::BrainpoolP256 {}
    impl Sealed for super::BrainpoolP384 {}
    impl Sealed for super::BrainpoolP512 {}
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

/// NIST P-192, secp192r1 (SEC 2, 2.2.2): one operation alone.
#[derive(Debug, Clone, Copy)]
pub struct P192;

static P192_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("p192-shared.bin"));

impl Curve<4> for P192 {
    const BITS: usize = 192;
    const TERMS: &'static [(u32, bool)] = &[];
    const P: [u64; 4] = hex("fffffffffffffffffffffffffffffffeffffffffffffffff");
    const SPARSE: [i64; 4] = whole(&Self::P);
    const WINDOW: usize = 5;
    const ORDER: [u64; 4] = hex("ffffffffffffffffffffffff99def836146bc9b1b4d22831");
    const B: [u64; 4] = hex("64210519e59c80e70fa7e9ab72243049feb8deecc146b9b1");
    const GENERATOR: [[u64; 4]; 2] = [
        hex("188da80eb03090f67cbf20eb43a18800f4ff0afd82ff1012"),
        hex("07192b95ffc8da78631011ed6b24cdd573f977a11e794811"),
    ];
    const TABLE: &'static [u8] = &[];
    const SHARED_TABLE: &'static [u8] = &P192_SHARED.0;
}

/// brainpoolP256r1 (RFC 5639, 3.4): one operation alone.
#[derive(Debug, Clone, Copy)]
pub struct BrainpoolP256;

static BP256_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("bp256-shared.bin"));

impl Curve<5> for BrainpoolP256 {
    const BITS: usize = 256;
    const TERMS: &'static [(u32, bool)] = &[];
    const P: [u64; 5] = hex("a9fb57dba1eea9bc3e660a909d838d726e3bf623d52620282013481d1f6e5377");
    const SPARSE: [i64; 5] = whole(&Self::P);
    const WINDOW: usize = 3;
    const ORDER: [u64; 5] = hex("a9fb57dba1eea9bc3e660a909d838d718c397aa3b561a6f7901e0e82974856a7");
    const TWIST: Option<Twist<5>> = Some(Twist {
        a: hex("7d5a0975fc2c3057eef67530417affe7fb8055c126dc5c6ce94a4b44f330b5d9"),
        x: hex("79838c22d2b8dc9af2e6cf56f8826dc3dfe10fcb17b6aaaf551ee52bef12f826"),
        y: hex("042cc378eb15e51d6259ebb65740955a838bc0bfdcec227432a41879492006a2"),
    });
    const B: [u64; 5] = hex("26dc5c6ce94a4b44f330b5d9bbd77cbf958416295cf7e1ce6bccdc18ff8c07b6");
    const GENERATOR: [[u64; 5]; 2] = [
        hex("a3e8eb3cc1cfe7b7732213b23a656149afa142c47aafbc2b79a191562e1305f4"),
        hex("2d996c823439c56d7f7b22e14644417e69bcb6de39d027001dabe8f35b25c9be"),
    ];
    const TABLE: &'static [u8] = &[];
    const SHARED_TABLE: &'static [u8] = &BP256_SHARED.0;
}

/// brainpoolP384r1 (RFC 5639, 3.6): one operation alone.
#[derive(Debug, Clone, Copy)]
pub struct BrainpoolP384;

static BP384_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("bp384-shared.bin"));

impl Curve<8> for BrainpoolP384 {
    const BITS: usize = 384;
    const TERMS: &'static [(u32, bool)] = &[];
    const P: [u64; 8] =
        hex("8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b412b1da197fb71123acd3a729901d1a71874700133107ec53");
    const SPARSE: [i64; 8] = whole(&Self::P);
    const WINDOW: usize = 3;
    const ORDER: [u64; 8] =
        hex("8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b31f166e6cac0425a7cf3ab6af6b7fc3103b883202e9046565");
    const TWIST: Option<Twist<8>> = Some(Twist {
        a: hex("7bc382c63d8c150c3c72080ace05afa0c2bea28e4fb22787139165efba91f90f8aa5814a503ad4eb04a8c7dd22ce2826"),
        x: hex("1b60d9fec8ff083c153cc51ccef3ba2cea37a66042032cf7f3dfadabf673c0915e3cab6a67356ae93ab689c5f93b40a8"),
        y: hex("0e804f41ca20a8817fe3d20f961fa800cf96e70f1e10ca848b36b2c8ad91316834a453fe202b0c2a2e6a6d965137df2d"),
    });
    const B: [u64; 8] =
        hex("04a8c7dd22ce28268b39b55416f0447c2fb77de107dcd2a62e880ea53eeb62d57cb4390295dbc9943ab78696fa504c11");
    const GENERATOR: [[u64; 8]; 2] = [
        hex("18de98b02db9a306f2afcd7235f72a819b80ab12ebd653172476fecd462aabffc4ff191b946a5f54d8d0aa2f418808cc"),
        hex("670e1919406566d66e48bfabdb8b6ea8a0afddc291da36e9d728e762ddae4425663f9ed1425a67e060d140b792afc32b"),
    ];
    const TABLE: &'static [u8] = &[];
    const SHARED_TABLE: &'static [u8] = &BP384_SHARED.0;
}

/// brainpoolP512r1 (RFC 5639, 3.7): one operation alone.
#[derive(Debug, Clone, Copy)]
pub struct BrainpoolP512;

static BP512_SHARED: &Aligned<[u8]> = &Aligned(*include_bytes!("bp512-shared.bin"));

impl Curve<10> for BrainpoolP512 {
    const BITS: usize = 512;
    const TERMS: &'static [(u32, bool)] = &[];
    const P: [u64; 10] = hex(concat!(
        "aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330871",
        "7d4d9b009bc66842aecda12ae6a380e62881ff2f2d82c68528aa6056583a48f3"
    ));
    const SPARSE: [i64; 10] = whole(&Self::P);
    const WINDOW: usize = 4;
    const ORDER: [u64; 10] = hex(concat!(
        "aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330870",
        "553e5c414ca92619418661197fac10471db1d381085ddaddb58796829ca90069"
    ));
    const TWIST: Option<Twist<10>> = Some(Twist {
        a: hex(concat!(
            "7830a3318b603b89e2327145ac234cc594cbdd8d3df91610a83441caea9863bc",
            "2ded5d5aa8253aa10a2ef1c98b9ac8b57f1117a72bf2c7b9e7c1ac4d77fc94ca"
        )),
        x: hex(concat!(
            "323bb83b14b2efcba87dd60598a6afddc69b89f1820cc174faedaedd5fd1ddcf",
            "9679e37ad8aa0c71213ef2a7c5833a4b5091da99459dc6c1aa5aead7c6468574"
        )),
        y: hex(concat!(
            "478be7d4dd2be98a04a92fd4ea34d816f20b4eac85917e840d38940c8990e741",
            "08b48b1e3b42aec7b6fd5835e72ffb9489fc0e3001d5026619a08f2d66561510"
        )),
    });
    const B: [u64; 10] = hex(concat!(
        "3df91610a83441caea9863bc2ded5d5aa8253aa10a2ef1c98b9ac8b57f1117a7",
        "2bf2c7b9e7c1ac4d77fc94cadc083e67984050b75ebae5dd2809bd638016f723"
    ));
    const GENERATOR: [[u64; 10]; 2] = [
        hex(concat!(
            "640ece5c12788717b9c1ba06cbc2a6feba85842458c56dde9db1758d39c0313d",
            "82ba51735cdb3ea499aa77a7d6943a64f7a3f25fe26f06b51baa2696fa9035da"
        )),
        hex(concat!(
            "5b534bd595f5af0fa2c892376c84ace1bb4e3019b71634c01131159cae03cee9",
            "d9932184beef216bd71df2dadf86a627306ecff96dbb8bace198b61e00f8b332"
        )),
    ];
    const TABLE: &'static [u8] = &[];
    const SHARED_TABLE: &'static [u8] = &BP512_SHARED.0;
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

const fn whole<const N: usize>(p: &[u64; N]) -> [i64; N] {
    let (mut limbs, mut i) = ([0; N], 0);
    while i < N {
        limbs[i] = p[i] as i64;
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
