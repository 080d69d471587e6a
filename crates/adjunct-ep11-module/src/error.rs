//! Return values.

use adjunct_ep11_wire::codes::rv;

/// Why a request is refused: a value of [`rv`] other than `OK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rv(pub u32);

/// The result of a part of a request.
pub type Result<T = ()> = std::result::Result<T, Rv>;

/// `Err` with a return value.
pub const fn fail<T>(rv: u32) -> Result<T> {
    Err(Rv(rv))
}

/// `Ok` where `holds`.
///
/// # Errors
/// The return value.
pub const fn ensure(holds: bool, rv: u32) -> Result {
    if holds { Ok(()) } else { Err(Rv(rv)) }
}

impl From<adjunct_mechanisms::rv::Rv> for Rv {
    fn from(error: adjunct_mechanisms::rv::Rv) -> Rv {
        Rv(u32::try_from(error.0).unwrap_or(rv::FUNCTION_FAILED))
    }
}

impl From<adjunct::Error> for Rv {
    fn from(error: adjunct::Error) -> Rv {
        adjunct_mechanisms::rv::Rv::from(error).into()
    }
}
