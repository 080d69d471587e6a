//! The return values of calls.

use adjunct::Error;
use adjunct::catalogue::Refusal;
use adjunct::ops::cipher::Failure;
use cryptoki_sys::*;

/// Why a call fails: a `CKR_` value other than `CKR_OK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rv(pub CK_RV);

/// The result of a call.
pub type Result<T = ()> = std::result::Result<T, Rv>;

/// `Err` with that return value.
#[inline]
pub const fn fail<T>(rv: CK_RV) -> Result<T> {
    Err(Rv(rv))
}

/// `Ok` if `holds`, else `Err` with the return value.
#[inline]
pub const fn ensure(holds: bool, rv: CK_RV) -> Result {
    if holds { Ok(()) } else { Err(Rv(rv)) }
}

impl From<Error> for Rv {
    /// Maps errors of the core that no caller's argument explains; where one does, the operation says so itself.
    #[inline]
    fn from(error: Error) -> Rv {
        Rv(match error {
            Error::Device { why: Refusal::Gone | Refusal::Nobody, .. } => CKR_DEVICE_REMOVED,
            Error::Device { .. } => CKR_DEVICE_ERROR,
            Error::CardKey(_) => CKR_KEY_FUNCTION_NOT_PERMITTED,
            Error::CardInput { .. } => CKR_DATA_INVALID,
            Error::Memory => CKR_HOST_MEMORY,
            Error::InvalidKey(_) => CKR_KEY_TYPE_INCONSISTENT,
            Error::Length { .. } => CKR_DATA_LEN_RANGE,
            Error::Unsupported(_) => CKR_DATA_INVALID,
            _ => CKR_FUNCTION_FAILED,
        })
    }
}

impl From<Failure> for Rv {
    fn from(failure: Failure) -> Rv {
        Error::from(failure).into()
    }
}

impl From<std::collections::TryReserveError> for Rv {
    #[inline]
    fn from(_: std::collections::TryReserveError) -> Rv {
        Rv(CKR_HOST_MEMORY)
    }
}

/// The return value for numbers that form no key.
pub fn not_a_key(error: Error) -> Rv {
    match error {
        Error::Memory | Error::Device { .. } => error.into(),
        _ => Rv(CKR_ATTRIBUTE_VALUE_INVALID),
    }
}

/// The return value for a key of a wrong length.
pub fn key_size(error: Error) -> Rv {
    match error {
        Error::Length { .. } => Rv(CKR_KEY_SIZE_RANGE),
        error => error.into(),
    }
}
