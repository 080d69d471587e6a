//! The parameter sets: round 2 of 4 and 8 rows as IBM's cards have them, and the three of round 3.

/// A parameter set.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Set {
    /// IBM's number of its strength ([`crate::queries`]).
    pub(crate) number: u32,
    /// The contents of the object identifier.
    pub(crate) oid: &'static [u8],
    /// Whether it is of round 2.
    pub(super) second: bool,
    /// Rows and columns of the matrix.
    pub(super) k: usize,
    pub(super) l: usize,
    /// The bound of secret coefficients.
    pub(super) eta: i32,
    /// Coefficients of a challenge that are not 0.
    pub(super) tau: usize,
    pub(super) beta: i32,
    pub(super) gamma1: i32,
    pub(super) gamma2: i32,
    pub(super) omega: usize,
    /// The classical strength in bits.
    pub(super) strength: u32,
}

const Q: i32 = super::ring::Q;

const fn second(
    number: u32,
    oid: &'static [u8],
    (k, l): (usize, usize),
    (eta, beta, omega): (i32, i32, usize),
    strength: u32,
) -> Set {
    let gamma1 = (Q - 1) / 16;
    Set { number, oid, second: true, k, l, eta, tau: 60, beta, gamma1, gamma2: gamma1 / 2, omega, strength }
}

/// All of them: R2 6-5 and 8-7; R3 4-4, 6-5 and 8-7.
pub(crate) static SETS: [Set; 5] = [
    second(2, &[0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 1, 6, 5], (6, 5), (3, 175, 120), 128),
    second(3, &[0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 1, 8, 7], (8, 7), (2, 120, 140), 192),
    Set {
        number: 4,
        oid: &[0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 7, 4, 4],
        second: false,
        k: 4,
        l: 4,
        eta: 2,
        tau: 39,
        beta: 78,
        gamma1: 1 << 17,
        gamma2: (Q - 1) / 88,
        omega: 80,
        strength: 128,
    },
    Set {
        number: 5,
        oid: &[0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 7, 6, 5],
        second: false,
        k: 6,
        l: 5,
        eta: 4,
        tau: 49,
        beta: 196,
        gamma1: 1 << 19,
        gamma2: (Q - 1) / 32,
        omega: 55,
        strength: 192,
    },
    Set {
        number: 6,
        oid: &[0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 7, 8, 7],
        second: false,
        k: 8,
        l: 7,
        eta: 2,
        tau: 60,
        beta: 120,
        gamma1: 1 << 19,
        gamma2: (Q - 1) / 32,
        omega: 75,
        strength: 256,
    },
];

impl Set {
    pub(crate) fn of_oid(oid: &[u8]) -> Option<&'static Set> {
        SETS.iter().find(|set| set.oid == oid)
    }

    /// Bits that are dropped of the public key.
    pub(super) fn dropped(&self) -> u32 {
        if self.second { 14 } else { 13 }
    }

    /// Bits of a coefficient of the public key.
    pub(super) fn public_bits(&self) -> u32 {
        23 - self.dropped()
    }

    /// Bits of a secret coefficient.
    pub(super) fn secret_bits(&self) -> u32 {
        if self.eta == 4 { 4 } else { 3 }
    }

    /// Bits of a coefficient of a response.
    pub(super) fn response_bits(&self) -> u32 {
        if self.gamma1 == 1 << 17 { 18 } else { 20 }
    }

    /// Bits of a coefficient of a commitment.
    pub(super) fn commitment_bits(&self) -> u32 {
        if self.gamma2 == (Q - 1) / 88 { 6 } else { 4 }
    }

    /// Bytes of a public key's hash.
    pub(super) fn hash(&self) -> usize {
        if self.second { 48 } else { 32 }
    }

    /// Bytes of a message's hash, and of the seed of a nonce.
    pub(super) fn seed(&self) -> usize {
        if self.second { 48 } else { 64 }
    }

    /// Bytes of a signature.
    pub(super) fn signature(&self) -> usize {
        let challenge = if self.second { super::ring::N / 8 + 8 } else { 32 };
        challenge + self.l * 32 * self.response_bits() as usize + self.omega + self.k
    }

    /// The largest coefficient of a response's mask: of round 3 it may be gamma1.
    pub(super) fn mask(&self) -> i32 {
        if self.second { self.gamma1 - 1 } else { self.gamma1 }
    }
}
