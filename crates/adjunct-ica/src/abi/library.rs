//! The library itself: adapters, versions, modes, random bytes.

use super::{bytes_mut, code, number};
use crate::error::Errno;
use crate::machine::{Machine, machine};
use crate::serve;
use adjunct::catalogue::Function;
use adjunct::ops::random::Generator;
use adjunct_ossl::guard;
use std::ffi::{c_char, c_int, c_uint};

/// `DRIVER_NOT_LOADED`: there is no card of the kernel's.
const NO_DRIVER: c_int = -1;

/// Runs when the library is loaded, after all its other constructors.
#[unsafe(no_mangle)]
pub extern "C" fn adjunct_ica_load() {
    guard((), || {
        serve::from_environment();
        adjunct::init();
        adjunct::ops::ec::prime();
        machine();
        crate::libcrypto::load();
    });
}

/// Runs when libica-cex is loaded, after all its other constructors. In libica-cex only what cards do is hardware: the processor's
/// instructions are masked, but for those of the batches that stand for a card.
#[unsafe(no_mangle)]
pub extern "C" fn adjunct_ica_load_cex() {
    guard((), adjunct::cpu::mask_all_but_batches);
    adjunct_ica_load();
}

/// # Safety
/// `handle` is null or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_open_adapter(handle: *mut c_int) -> c_uint {
    code(|| {
        if handle.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: `handle` is not null, so by the caller's word a place for an `int`.
        unsafe { handle.write_unaligned(NO_DRIVER) };
        Ok(())
    })
}

/// Closes nothing, since no handle stands for an adapter; any handle but the one that [`ica_open_adapter`] gives is an error, and its descriptor
/// stays open.
#[unsafe(no_mangle)]
pub extern "C" fn ica_close_adapter(handle: c_int) -> c_uint {
    if handle == NO_DRIVER { 0 } else { libc::EBADF as c_uint }
}

/// # Safety
/// `info` is null or the caller's structure of three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_get_version(info: *mut [c_uint; 3]) -> c_uint {
    code(|| {
        if info.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: `info` is not null, so by the caller's word a structure of three numbers.
        unsafe { info.write_unaligned(adjunct::LIBICA_VERSION) };
        Ok(())
    })
}

/// The name of this build.
#[unsafe(no_mangle)]
pub extern "C" fn ica_get_build_version() -> *const c_char {
    concat!("adjunct ", env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The message-security assist's level, which only IBM Z has; 0 elsewhere.
#[unsafe(no_mangle)]
pub extern "C" fn ica_get_msa_level() -> c_int {
    guard(0, || adjunct::cpu::msa_level() as c_int)
}

/// # Safety
/// `info` is null or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_get_hw_info(info: *mut Machine) -> c_int {
    number(|| {
        if info.is_null() {
            return Err(Errno::INVALID);
        }
        let own = machine().ok_or(Errno::IO)?;
        // SAFETY: `info` is not null, so by the caller's word a place for the structure.
        unsafe { info.write_unaligned(own) };
        Ok(())
    })
}

/// Wipes what is kept of keys.
#[unsafe(no_mangle)]
pub extern "C" fn ica_cleanup() {
    guard((), crate::rsa::forget);
}

/// Software is always there to fall back to, unless the program says no.
#[unsafe(no_mangle)]
pub extern "C" fn ica_set_fallback_mode(mode: c_int) {
    serve::set_fallbacks(mode != 0);
}

/// Sets whether RSA's private operations go to a card whenever there is one, or only where the machine is crowded.
#[unsafe(no_mangle)]
pub extern "C" fn ica_set_offload_mode(mode: c_int) {
    serve::set_offload(mode != 0);
}

/// Whether operations are counted.
#[unsafe(no_mangle)]
pub extern "C" fn ica_set_stats_mode(mode: c_int) {
    serve::set_statistics(mode != 0);
}

/// No FIPS mode: no flag is set.
#[unsafe(no_mangle)]
pub extern "C" fn ica_fips_status() -> c_int {
    0
}

/// Outside of FIPS mode the caller may always choose.
#[unsafe(no_mangle)]
pub extern "C" fn ica_allow_external_gcm_iv_in_fips_mode(_allow: c_int) {}

/// # Safety
/// The buffer is the caller's, of that length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_random_number_generate(length: c_uint, data: *mut u8) -> c_uint {
    code(|| {
        if data.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: the caller's buffer has that length and nobody else uses it during the call.
        let out = unsafe { bytes_mut(data, length) }?;
        let generator = Generator::new();
        serve::begin(Function::Prng, generator.in_hardware())?;
        generator.generate(out);
        Ok(())
    })
}

/// # Safety
/// Arrays of 16, 8 and 8 words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_mp_mul512(product: *mut [u64; 16], a: *const [u64; 8], b: *const [u64; 8]) -> c_int {
    number(|| {
        if product.is_null() || a.is_null() || b.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: no pointer is null, so by the caller's word they are arrays of 16, 8 and 8 words; the product, which may lie where a
        // factor does, is written last.
        unsafe {
            let (a, b) = (a.read_unaligned(), b.read_unaligned());
            product.write_unaligned(multiply(&a, &b));
        }
        Ok(())
    })
}

/// # Safety
/// Arrays of 16 and 8 words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_mp_sqr512(product: *mut [u64; 16], a: *const [u64; 8]) -> c_int {
    // SAFETY: the caller passes arrays of 16 and 8 words, or null.
    unsafe { ica_mp_mul512(product, a, a) }
}

fn multiply(a: &[u64; 8], b: &[u64; 8]) -> [u64; 16] {
    let mut product = [0u64; 16];
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, &b) in b.iter().enumerate() {
            let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + 8] = carry as u64;
    }
    product
}
