//! Why a verb is not done.

use adjunct_cca_wire::code::Code;

/// A return code of 4 and above, with its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault(pub Code);

/// The result of a part of a verb.
pub type Result<T = ()> = std::result::Result<T, Fault>;

/// `Err` with a code.
///
/// # Errors
/// The code.
pub const fn fail<T>(code: Code) -> Result<T> {
    Err(Fault(code))
}

/// `Ok` where `holds`.
///
/// # Errors
/// The code.
pub const fn ensure(holds: bool, code: Code) -> Result {
    if holds { Ok(()) } else { Err(Fault(code)) }
}

impl From<adjunct::Error> for Fault {
    fn from(_: adjunct::Error) -> Fault {
        Fault(Code::INTERNAL)
    }
}
