//! Control points: what a domain allows.

use crate::error::{Result, ensure};
use adjunct_ep11_wire::codes::{compliance, control as c, rv};

/// A domain's control points: bit 0 is the highest of the first byte. A bit that is set allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Points(pub [u8; 16]);

impl Points {
    /// All allow.
    pub const ALL: Points = Points([0xff; 16]);

    /// Whether a control point allows.
    pub fn has(self, point: u8) -> bool {
        self.0.get(usize::from(point / 8)).is_some_and(|byte| byte & 0x80 >> (point % 8) != 0)
    }

    /// With a control point off.
    #[must_use]
    pub fn without(mut self, point: u8) -> Points {
        if let Some(byte) = self.0.get_mut(usize::from(point / 8)) {
            *byte &= !(0x80 >> (point % 8));
        }
        self
    }

    /// Checks that control points allow.
    ///
    /// # Errors
    /// `CKR_FUNCTION_CANCELED`.
    pub fn allow(self, points: &[u8]) -> Result {
        ensure(points.iter().all(|point| self.has(*point)), rv::FUNCTION_CANCELED)
    }

    /// The compliance modes that the control points make: of each mode all that it prohibits is off, and all that it requires is on.
    pub fn compliance(self) -> u64 {
        let has = |(mode, off, on): &(u64, &[u8], &[u8])| {
            let holds = off.iter().all(|point| !self.has(*point)) && on.iter().all(|point| self.has(*point));
            if holds { *mode } else { 0 }
        };
        MODES.iter().map(has).fold(0, |all, mode| all | mode)
    }
}

/// The modes that control points make, with what each prohibits and requires. The first cannot be left.
const MODES: [(u64, &[u8], &[u8]); 7] = [
    (compliance::FIPS2009, &[], &[]),
    (compliance::FIPS2011, &[c::NFIPS2011, c::BITS_80, c::RSA65536], &[]),
    (compliance::BSI2009, &[c::NBSI2009, c::NON_ATTRBOUND], &[]),
    (compliance::BSI2011, &[c::NBSI2011, c::NON_ATTRBOUND, c::BITS_80], &[]),
    (
        compliance::BSICC2017,
        &[
            c::NON_ATTRBOUND,
            c::RNG_SEED,
            c::RSA65536,
            c::USER_SET_TRUSTED,
            c::SKIP_CROSSCHK,
            c::WRAP_CRYPT,
            c::SIGN_CRYPT,
            c::WRAP_SIGN,
            c::USER_SET_ATTRBOUND,
            c::PASSPHRASE,
            c::WRAP_STRONGER,
            c::WRAP_RAW_SPKI,
        ],
        &[
            c::SIGN_ASYMM,
            c::ENCRYPT_SYMM,
            c::DECRYPT_ASYMM,
            c::DECRYPT_SYMM,
            c::WRAP_ASYMM,
            c::WRAP_SYMM,
            c::UNWRAP_ASYMM,
            c::UNWRAP_SYMM,
            c::KEYGEN_ASYMM,
            c::KEYGEN_SYMM,
            c::RETAINKEYS,
            c::MODIFY_OBJECTS,
            c::NBSI2009,
            c::BITS_80,
            c::BITS_112,
            c::BITS_128,
            c::BITS_192,
            c::BITS_256,
            c::RSA,
            c::DSA,
            c::EC,
            c::BPOOL,
            c::NIST,
            c::NFIPS2011,
            c::NBSI2011,
            c::DH,
            c::DERIVE,
        ],
    ),
    (compliance::FIPS2021, &FIPS2021, &[]),
    (compliance::FIPS2024, &FIPS2024, &[]),
];

const FIPS2021: [u8; 17] = [
    c::NFIPS2011,
    c::BITS_80,
    c::RSA65536,
    c::NFIPS2021,
    c::EC_25519,
    c::PQC,
    c::BTC,
    c::ECDSA_OTHER,
    c::NONSESSION,
    c::SECG,
    c::BPOOL,
    c::LEGACY_SHA3,
    c::DSA_PARAM,
    c::WRAP_ASYMM,
    c::UNWRAP_ASYMM,
    c::LOGIN_PRE_F2021,
    c::RSA_OAEP,
];

/// FIPS 2021's, and one of its own.
const FIPS2024: [u8; FIPS2021.len() + 1] = {
    let mut points = [c::NFIPS2024; FIPS2021.len() + 1];
    points.split_at_mut(1).1.copy_from_slice(&FIPS2021);
    points
};
