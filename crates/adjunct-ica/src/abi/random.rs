//! `ica_drbg_*`.

use super::traceless::traceless_within;
use super::{bytes, bytes_mut};
use crate::drbg::{self, Drbg, Refused};
use crate::error::Errno;
use crate::serve::begin;
use adjunct::catalogue::Function;
use adjunct::ops;
use adjunct_ossl::guard;
use std::ffi::{c_int, c_void};
use zeroize::Zeroizing;

/// `ica_drbg_mech_t`: there is one mechanism, of which only the address counts.
#[derive(Debug)]
#[repr(C)]
pub struct Mechanism(u8);

static SHA512: Mechanism = Mechanism(0);

/// A pointer that C may read from any thread.
#[derive(Debug)]
#[repr(transparent)]
pub struct Constant(*const Mechanism);

// SAFETY: it is never written, nor what it points to.
unsafe impl Sync for Constant {}

/// Hash_DRBG over SHA-512.
#[unsafe(no_mangle)]
pub static ICA_DRBG_SHA512: Constant = Constant(&raw const SHA512);

/// `ICA_DRBG_HEALTH_TEST_FAIL`.
const HEALTH_TEST_FAILED: c_int = -1;

/// How deep the hash and what is made with it go, in bytes.
const STACK: usize = 8 * 1024;

/// What a function here returns. No copy of a generator's state stays on the stack.
fn code(body: impl FnOnce() -> Result<(), Code>) -> c_int {
    traceless_within::<STACK, _>(|| guard(libc::EIO, || body().map_or_else(|code| code.0, |()| 0)))
}

struct Code(c_int);

impl From<Refused> for Code {
    fn from(refused: Refused) -> Code {
        Code(match refused {
            Refused::Invalid => libc::EINVAL,
            Refused::Unsupported => libc::ENOTSUP,
            Refused::HealthTest => HEALTH_TEST_FAILED,
        })
    }
}

impl From<Errno> for Code {
    fn from(errno: Errno) -> Code {
        Code(errno.0)
    }
}

fn ours(mechanism: *const Mechanism) -> Result<(), Errno> {
    if std::ptr::eq(mechanism, &raw const SHA512) { Ok(()) } else { Err(Errno::INVALID) }
}

/// # Safety
/// `handle` is the caller's; the string has the length given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_drbg_instantiate(
    handle: *mut *mut Drbg,
    strength: c_int,
    prediction_resistance: bool,
    mechanism: *const Mechanism,
    name: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: the caller passes null or a place for a handle, and a string of that length or null.
    code(|| unsafe {
        ours(mechanism)?;
        if handle.is_null() || !(*handle).is_null() {
            return Err(Errno::INVALID.into());
        }
        let name = if name.is_null() { &[] } else { bytes(name, length)? };
        let drbg = Drbg::new(strength, prediction_resistance, name)?;
        *handle = super::handle(drbg)?;
        Ok(())
    })
}

/// The caller's generator.
///
/// # Safety
/// `handle` is null or a live generator, which outlives the result.
unsafe fn generator<'a>(handle: *const Drbg) -> Result<&'a Drbg, Errno> {
    // SAFETY: null or a live handle.
    unsafe { handle.as_ref() }.ok_or(Errno::INVALID)
}

/// Additional input, which may be null.
///
/// # Safety
/// `data` is null or has `length` bytes while the result is used.
unsafe fn input<'a>(data: *const u8, length: usize) -> Result<&'a [u8], Errno> {
    // SAFETY: the caller's input.
    if data.is_null() { Ok(&[]) } else { unsafe { bytes(data, length) } }
}

/// # Safety
/// A live handle, and input of the length given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_drbg_reseed(
    handle: *mut Drbg,
    prediction_resistance: bool,
    additional: *const u8,
    length: usize,
) -> c_int {
    // SAFETY: the caller passes null or a live handle, and input of that length or null.
    code(|| unsafe { Ok(generator(handle)?.reseed(prediction_resistance, input(additional, length)?)?) })
}

/// # Safety
/// A live handle, and buffers of the lengths given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_drbg_generate(
    handle: *mut Drbg,
    strength: c_int,
    prediction_resistance: bool,
    additional: *const u8,
    additional_length: usize,
    out: *mut u8,
    length: usize,
) -> c_int {
    // SAFETY: the caller passes null or a live handle, and buffers of the lengths given.
    code(|| unsafe {
        let drbg = generator(handle)?;
        // A copy, for it may lie where the numbers go.
        let given = input(additional, additional_length)?;
        let mut own = Zeroizing::new([0; drbg::MOST_INPUT]);
        let additional = own.get_mut(..given.len()).ok_or(Errno::INVALID)?;
        additional.copy_from_slice(given);
        if length > drbg::MOST_OUTPUT {
            return Err(Errno::INVALID.into());
        }
        let out = bytes_mut(out, length)?;
        begin(Function::DrbgSha512, ops::drbg::in_hardware())?;
        Ok(drbg.generate(strength, prediction_resistance, additional, out)?)
    })
}

/// # Safety
/// The caller's handle, which no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_drbg_uninstantiate(handle: *mut *mut Drbg) -> c_int {
    // SAFETY: the caller passes null or a place that holds null or a live handle, which no other thread uses.
    code(|| unsafe {
        if handle.is_null() || (*handle).is_null() {
            return Err(Errno::INVALID.into());
        }
        drop(Box::from_raw(*handle));
        *handle = std::ptr::null_mut();
        Ok(())
    })
}

/// # Safety
/// Nothing is read of `function`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_drbg_health_test(
    function: *const c_void,
    strength: c_int,
    _prediction_resistance: bool,
    mechanism: *const Mechanism,
) -> c_int {
    code(|| {
        ours(mechanism)?;
        let known = [
            ica_drbg_instantiate as *const c_void,
            ica_drbg_reseed as *const c_void,
            ica_drbg_generate as *const c_void,
        ];
        if !known.contains(&function) {
            return Err(Errno::INVALID.into());
        }
        drbg::strength(strength)?;
        Ok(drbg::healthy()?)
    })
}
