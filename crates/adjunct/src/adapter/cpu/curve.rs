//! The elliptic curves there are here, as plain data.

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

    /// The same curve among all there are.
    pub const fn group(self) -> Group {
        match self {
            Curve::P256 => Group::P256,
            Curve::P384 => Group::P384,
            Curve::P521 => Group::P521,
        }
    }
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

    /// The same curve where it is one that has instructions or lanes.
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
