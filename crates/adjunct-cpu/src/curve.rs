//! The elliptic curves, as plain data, and the steps of ECDSA that need no more than a curve's order.

use super::secret::Secret;

/// The longest scalar or coordinate, in bytes.
pub const MAX_FIELD: usize = 66;
/// The longest encoded point, in bytes.
pub const MAX_POINT: usize = 1 + 2 * MAX_FIELD;

/// A NIST curve that has instructions (CPACF) or lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Curve {
    /// NIST P-256, secp256r1, prime256v1.
    P256,
    /// NIST P-384, secp384r1.
    P384,
    /// NIST P-521, secp521r1.
    P521,
}

impl Curve {
    /// The size of the order, in bits.
    pub const fn bits(self) -> usize {
        self.group().bits()
    }

    /// The length of a coordinate and of a private scalar, in bytes.
    pub const fn field_len(self) -> usize {
        self.group().field_len()
    }

    /// The symmetric strength, in bits (SP 800-57).
    pub const fn security_bits(self) -> usize {
        match self {
            Curve::P256 => 128,
            Curve::P384 => 192,
            Curve::P521 => 256,
        }
    }

    /// The longest DER signature, in bytes.
    pub const fn max_signature(self) -> usize {
        match self {
            Curve::P256 => 72,
            Curve::P384 => 104,
            Curve::P521 => 139,
        }
    }

    /// [`Group::truncate`].
    pub fn truncate(self, digest: &[u8]) -> [u8; MAX_FIELD] {
        self.group().truncate(digest)
    }

    /// [`Order::in_range`].
    pub fn in_range(self, number: &[u8]) -> bool {
        Order(self.order(), self.bits()).in_range(number)
    }

    /// [`Order::draw`].
    pub fn draw(self, random: impl Fn(&mut [u8]), number: &mut [u8]) {
        Order(self.order(), self.bits()).draw(random, number);
    }

    /// The group's order n (SP 800-186, 3.2.1).
    pub(super) fn order(self) -> &'static [u8] {
        const P256: [u8; 32] = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
        const P384: [u8; 48] =
            hex("ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973");
        const P521: [u8; 66] = hex(concat!(
            "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa",
            "51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        ));
        match self {
            Curve::P256 => &P256,
            Curve::P384 => &P384,
            Curve::P521 => &P521,
        }
    }

    /// The [`Group`] of this curve, one of all the curves there are.
    pub const fn group(self) -> Group {
        match self {
            Curve::P256 => Group::P256,
            Curve::P384 => Group::P384,
            Curve::P521 => Group::P521,
        }
    }
}

const fn hex<const N: usize>(text: &str) -> [u8; N] {
    let (text, mut out, mut i) = (text.as_bytes(), [0; N], 0);
    while i < 2 * N {
        out[i / 2] = out[i / 2] << 4 | (text[i] as char).to_digit(16).unwrap() as u8;
        i += 1;
    }
    out
}

/// The order of a curve, big-endian, and its bits.
#[derive(Debug, Clone, Copy)]
pub struct Order(&'static [u8], usize);

impl Order {
    /// Whether a big-endian number is of [1, n - 1]. Of a number that is, the time tells nothing.
    pub fn in_range(self, number: &[u8]) -> bool {
        let mut less = Secret([0; MAX_FIELD]);
        minus(number, self.0, &mut less[..number.len()]) != 0 && number.iter().fold(0, |all, b| all | b) != 0
    }

    /// Fills `number` with a private key of bytes that `random` gives (FIPS 186-5, A.2.2): candidates no longer than the order, until one
    /// is in range. Of P-521's whole bytes one draw in 128 would do.
    pub fn draw(self, random: impl Fn(&mut [u8]), number: &mut [u8]) {
        loop {
            random(number);
            number[0] &= 0xFF >> (8 * number.len() - self.1);
            if self.in_range(number) {
                return;
            }
        }
    }
}

/// Shifts a big-endian number, by fewer than 8 bits.
pub(super) fn shift_right(bytes: &mut [u8], by: usize) {
    let mut over = 0u16;
    for byte in bytes {
        let wide = over << 8 | u16::from(*byte);
        *byte = (wide >> by) as u8;
        over = wide & 0xFF;
    }
}

/// `a` - `b`; the borrow, 0xFF or 0, is the result.
pub(super) fn minus(a: &[u8], b: &[u8], out: &mut [u8]) -> u8 {
    let mut over = 0i16;
    for ((out, a), b) in out.iter_mut().zip(a).zip(b).rev() {
        over += i16::from(*a) - i16::from(*b);
        *out = over as u8;
        over >>= 8;
    }
    over as u8
}

/// A curve, with its base point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "SP 800-186's names, and RFC 5639's")]
pub enum Group {
    P192,
    P224,
    P256,
    P384,
    P521,
    BrainpoolP160r1,
    BrainpoolP192r1,
    BrainpoolP224r1,
    BrainpoolP256r1,
    BrainpoolP320r1,
    BrainpoolP384r1,
    BrainpoolP512r1,
}

impl From<Curve> for Group {
    fn from(curve: Curve) -> Group {
        curve.group()
    }
}

impl Group {
    /// Every curve.
    pub const ALL: [Group; 12] = [
        Group::P192,
        Group::P224,
        Group::P256,
        Group::P384,
        Group::P521,
        Group::BrainpoolP160r1,
        Group::BrainpoolP192r1,
        Group::BrainpoolP224r1,
        Group::BrainpoolP256r1,
        Group::BrainpoolP320r1,
        Group::BrainpoolP384r1,
        Group::BrainpoolP512r1,
    ];

    /// The size of the order, in bits.
    pub const fn bits(self) -> usize {
        match self {
            Group::BrainpoolP160r1 => 160,
            Group::P192 | Group::BrainpoolP192r1 => 192,
            Group::P224 | Group::BrainpoolP224r1 => 224,
            Group::P256 | Group::BrainpoolP256r1 => 256,
            Group::BrainpoolP320r1 => 320,
            Group::P384 | Group::BrainpoolP384r1 => 384,
            Group::BrainpoolP512r1 => 512,
            Group::P521 => 521,
        }
    }

    /// The length of a coordinate and of a private scalar, in bytes.
    pub const fn field_len(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The leftmost bits of a digest as a number of the order's length (FIPS 186-5, 6.4.1, step 2): the first
    /// [`Group::field_len`] bytes, big-endian.
    pub fn truncate(self, digest: &[u8]) -> [u8; MAX_FIELD] {
        let length = self.field_len();
        let digest = &digest[..digest.len().min(length)];
        let mut out = [0; MAX_FIELD];
        out[length - digest.len()..length].copy_from_slice(digest);
        if digest.len() == length {
            shift_right(&mut out[..length], 8 * length - self.bits());
        }
        out
    }

    /// The order n of curves whose signatures and key pairs the lanes share the work of (SP 800-186, 3.2.1; SEC 2, 2.2.2; RFC 5639, 3).
    pub fn shared_order(self) -> Option<Order> {
        const P192: [u8; 24] = hex("ffffffffffffffffffffffff99def836146bc9b1b4d22831");
        const BRAINPOOL_256: [u8; 32] = hex("a9fb57dba1eea9bc3e660a909d838d718c397aa3b561a6f7901e0e82974856a7");
        const BRAINPOOL_384: [u8; 48] =
            hex("8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b31f166e6cac0425a7cf3ab6af6b7fc3103b883202e9046565");
        const BRAINPOOL_512: [u8; 64] = hex(concat!(
            "aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330870",
            "553e5c414ca92619418661197fac10471db1d381085ddaddb58796829ca90069"
        ));
        let order: &[u8] = match self {
            Group::P192 => &P192,
            Group::BrainpoolP256r1 => &BRAINPOOL_256,
            Group::BrainpoolP384r1 => &BRAINPOOL_384,
            Group::BrainpoolP512r1 => &BRAINPOOL_512,
            _ => self.curve()?.order(),
        };
        Some(Order(order, self.bits()))
    }

    /// Whether the lanes share the work of one signature or key pair here.
    pub fn has_lanes_alone(self) -> bool {
        super::lanes() && self.shared_order().is_some()
    }

    /// The longest DER signature of a curve whose order has its highest bit set at a byte's: two integers with a zero in front.
    pub const fn max_signature(self) -> usize {
        match self {
            Group::P521 => Curve::P521.max_signature(),
            _ => {
                let integers = 2 * (3 + self.field_len());
                integers + if integers < 128 { 2 } else { 3 }
            }
        }
    }

    /// The [`Curve`] of this group, where it is P-256, P-384 or P-521.
    pub const fn curve(self) -> Option<Curve> {
        match self {
            Group::P256 => Some(Curve::P256),
            Group::P384 => Some(Curve::P384),
            Group::P521 => Some(Curve::P521),
            _ => None,
        }
    }
}

/// How a point is encoded (SEC 1, 2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// x and the sign of y.
    Compressed = 2,
    /// x and y.
    Uncompressed = 4,
    /// x and y, and the sign of y besides.
    Hybrid = 6,
}
