//! What the core has not done, and OpenSSL's own functions may do over.

use crate::libcrypto::{Functions, Opaque};
use adjunct::error::{Error, Fault};
use adjunct::{memory, ops};
use adjunct_ossl::reason::rsa;
use adjunct_ossl::reason::{Reason, ec};
use std::ffi::c_int;

/// The errors of a kind of keys, by who is at fault: key, caller, else.
pub struct Reasons(Reason, Reason, Reason);

/// Those of RSA.
pub const RSA: Reasons = Reasons(rsa::VALUE_MISSING, rsa::PASSED_INVALID_ARGUMENT, rsa::OPERATION_FAIL);
/// Those of elliptic curves.
pub const EC: Reasons = Reasons(ec::MISSING_PARAMETERS, ec::PASSED_INVALID_ARGUMENT, ec::OPERATION_FAIL);

/// Whether OpenSSL's own function may do an operation with that private number, null where there is none, which the core has not done, perhaps for an error.
/// Otherwise it raises the error, with the core's words.
///
/// # Safety
/// `number` is null or a live number of the libcrypto of `f`.
pub unsafe fn may(f: &Functions, reasons: &Reasons, number: Opaque, why: Option<&Error>) -> bool {
    // SAFETY: the caller passes a live number, or null.
    let leaves = || match unsafe { bytes(f, number) } {
        Ok(bytes) => ops::may_leave(&bytes),
        Err(error) => Err(error),
    };
    let leaving;
    let why = match why {
        Some(error) if !error.may_fall_back() => error,
        _ => match leaves() {
            Ok(()) => return true,
            Err(error) => {
                leaving = error;
                &leaving
            }
        },
    };
    let Reasons(key, caller, other) = *reasons;
    let reason = match why.fault() {
        Fault::Key => key,
        Fault::Caller => caller,
        Fault::Device | Fault::Here => other,
    };
    f.errors.raise_words(reason, why);
    false
}

/// The bytes of a number; none of null.
///
/// # Errors
/// [`Error::Memory`].
///
/// # Safety
/// `number` is null or a live number of the libcrypto of `f`.
pub unsafe fn bytes(f: &Functions, number: Opaque) -> Result<zeroize::Zeroizing<Vec<u8>>, Error> {
    if number.is_null() {
        return memory::zeros(0);
    }
    // SAFETY: a live number; the function writes as many bytes as the number has, for which there is room.
    unsafe {
        let mut bytes = memory::zeros(((f.bn_bits)(number) as usize).div_ceil(8))?;
        (f.bn_to_bytes)(number, bytes.as_mut_ptr(), bytes.len() as c_int);
        Ok(bytes)
    }
}
