//! Elliptic curves: ECDSA (FIPS 186-5), ECDH (SP 800-56A, 5.7.1.2) and key pairs, on the NIST curves and on Brainpool's.

mod key;

pub use adjunct_cpu::curve::{Curve, Form, Group, MAX_FIELD, MAX_POINT};
pub use adjunct_cpu::der::MAX_SIGNATURE;
pub use key::EcKey;

use super::Tally;
use crate::catalogue::Function;
use adjunct_cpu::ec as cpu;

/// Builds what is built only once, so that no later call does: one of another thread could then stand still in a fork's child. The
/// curves that [`Curve`] has need none of it.
pub fn prime() {
    cpu::prime();
}

/// An operation with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A key pair is made.
    Generate,
    /// ECDH.
    Agree,
    /// ECDSA.
    Sign,
    /// ECDSA with a nonce that is given.
    SignWithNonce,
    /// ECDSA's verification.
    Verify,
}

impl Operation {
    /// The function of the operation.
    pub const fn function(self) -> Function {
        match self {
            Operation::Generate => Function::EcKeygen,
            Operation::Agree => Function::Ecdh,
            Operation::Sign | Operation::SignWithNonce => Function::EcdsaSign,
            Operation::Verify => Function::EcdsaVerify,
        }
    }

    /// Whether hardware serves the operation on that curve on this machine: instructions, or batches of plain threads' operations. For interfaces
    /// that may refuse what only software has.
    pub fn in_hardware(self, group: Group) -> bool {
        self.tally(group).in_hardware()
    }

    /// The tally of the operation on a curve.
    fn tally(self, group: Group) -> Tally {
        let (function, bits) = (self.function(), group.bits());
        // Of a size that has lanes or instructions, but another curve.
        if group.curve().is_none() {
            return Tally::of_parameter(function, bits);
        }
        let tally = Tally::new(function, bits);
        // Lanes draw their nonces themselves.
        if self == Operation::SignWithNonce { tally.out_of_batches() } else { tally }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Path, Reason};

    #[test]
    fn curves_of_one_size_have_one_row_and_brainpools_no_lanes() {
        for operation in [Operation::Generate, Operation::Agree, Operation::Sign, Operation::Verify] {
            let (theirs, nists) = (operation.tally(Group::BrainpoolP256r1), operation.tally(Group::P256));
            assert_eq!(theirs.path(), Path::Software(Reason::Parameter));
            assert_eq!(theirs.row(), nists.row());
            assert_eq!(nists, Tally::new(operation.function(), 256));
            assert!(!operation.in_hardware(Group::BrainpoolP256r1));
        }
        assert_ne!(Operation::SignWithNonce.tally(Group::P256).path(), Path::Software(Reason::Alone));
    }
}
