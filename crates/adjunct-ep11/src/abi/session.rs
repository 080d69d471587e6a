//! Sessions.

use super::types::Ulong;
use super::{Out, call, give, input, returns, target};
use adjunct_ep11_wire::function::Function;

/// Bytes of a PIN blob of `m_Login`, and of `m_LoginExtended`.
const PIN_BLOB: usize = 80;
const EXTENDED_PIN_BLOB: usize = 56;

/// Opens a session, unless the caller asks for the PIN blob's length alone.
///
/// # Safety
/// The buffers are the caller's, of the lengths that they say.
unsafe fn login(
    target: u64,
    function: Function,
    arguments: &[&[u8]],
    (blob, length): (*mut u8, *mut usize),
    usual: usize,
) -> Result<(), crate::error::Rv> {
    // SAFETY: the caller's buffers and target.
    unsafe {
        let (target, out) = (self::target(target)?, Out::plain(blob, length));
        out.check()?;
        if blob.is_null() && target.flags == 0 || !blob.is_null() && out.room() < usual {
            // No session is opened whose PIN blob the caller does not get.
            return give(&[out], &[&[0; PIN_BLOB][..usual]]);
        }
        call(&target, function, arguments, &[out])
    }
}

/// # Safety
/// The caller's PIN, nonce and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_Login(
    pin: *const u8,
    pin_length: usize,
    nonce: *const u8,
    nonce_length: usize,
    blob: *mut u8,
    blob_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's PIN, nonce, buffers and target.
    returns(|| unsafe {
        let arguments = [input(pin, pin_length)?, input(nonce, nonce_length)?];
        login(target, Function::Login, &arguments, (blob, blob_length), PIN_BLOB)
    })
}

/// # Safety
/// The caller's PIN, nonce, structure and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_LoginExtended(
    pin: *const u8,
    pin_length: usize,
    nonce: *const u8,
    nonce_length: usize,
    structure: *const u8,
    structure_length: usize,
    blob: *mut u8,
    blob_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's PIN, nonce, structure, buffers and target.
    returns(|| unsafe {
        let arguments = [input(pin, pin_length)?, input(nonce, nonce_length)?, input(structure, structure_length)?];
        login(target, Function::LoginExtended, &arguments, (blob, blob_length), EXTENDED_PIN_BLOB)
    })
}

/// # Safety
/// The caller's PIN blob.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_Logout(blob: *const u8, length: usize, target: u64) -> Ulong {
    // SAFETY: the caller's PIN blob and target.
    returns(|| unsafe { call(&self::target(target)?, Function::Logout, &[input(blob, length)?], &[]) })
}

/// # Safety
/// The caller's PIN, nonce and structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_LogoutExtended(
    pin: *const u8,
    pin_length: usize,
    nonce: *const u8,
    nonce_length: usize,
    structure: *const u8,
    structure_length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's PIN, nonce, structure and target.
    returns(|| unsafe {
        let (pin, nonce) = (input(pin, pin_length)?, input(nonce, nonce_length)?);
        // The session is the one that PIN, nonce and structure make: it has no parameter of its own.
        let arguments = [&[], pin, nonce, input(structure, structure_length)?];
        call(&self::target(target)?, Function::LogoutExtended, &arguments, &[])
    })
}
