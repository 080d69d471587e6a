//! RSA keys: the library's own, and the raw operations on them.

use super::bn::{Bn, clear_errors, no_memory};
use crate::rsa::Part;
use adjunct_base::error::Error;
use aws_lc_sys as sys;
use std::ffi::{c_int, c_void};

/// A key of the library's. Its numbers are set once; a clone is another handle of them.
pub(crate) struct AwsLcRsaKey(*mut sys::RSA);

impl Clone for AwsLcRsaKey {
    fn clone(&self) -> AwsLcRsaKey {
        // SAFETY: a live key, which lives until the last handle is dropped.
        unsafe { sys::RSA_up_ref(self.0) };
        AwsLcRsaKey(self.0)
    }
}

// SAFETY: AWS-LC locks what it caches in a key; everything else is read only.
unsafe impl Send for AwsLcRsaKey {}
// SAFETY: AWS-LC locks what it caches in a key; everything else is only read, so threads may share a key.
unsafe impl Sync for AwsLcRsaKey {}

impl Drop for AwsLcRsaKey {
    fn drop(&mut self) {
        // SAFETY: made by AWS-LC, freed once.
        unsafe { sys::RSA_free(self.0) }
    }
}

/// What hears of each step of a search for a key, with the two numbers of `BN_GENCB`, and ends it with `false`.
pub(crate) type Report<'a> = &'a mut dyn FnMut(i32, i32) -> bool;

struct Progress<'a>(Report<'a>);

unsafe extern "C" fn progress(potential: c_int, iteration: c_int, callback: *mut sys::BN_GENCB) -> c_int {
    // SAFETY: the argument is the one `generate` set, alive through the call.
    let progress = unsafe { &mut *sys::BN_GENCB_get_arg(callback).cast::<Progress<'_>>() };
    let run = std::panic::AssertUnwindSafe(|| (progress.0)(potential, iteration));
    c_int::from(std::panic::catch_unwind(run).unwrap_or(false))
}

impl AwsLcRsaKey {
    /// One without numbers.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(crate) fn new() -> Result<AwsLcRsaKey, Error> {
        // SAFETY: allocates or returns null.
        let raw = unsafe { sys::RSA_new() };
        if raw.is_null() { Err(no_memory()) } else { Ok(AwsLcRsaKey(raw)) }
    }

    /// Has private operations not blinded by AWS-LC, which checks them against `e` all the same. Before the key is shared.
    pub(crate) fn without_blinding(&mut self) {
        // SAFETY: a live key, which nobody else has yet.
        unsafe { sys::RSA_set_flags(self.0, sys::RSA_FLAG_NO_BLINDING) };
    }

    /// Sets the primes and what goes with them. Before the key is shared.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub(crate) fn set_factors(&mut self, [p, q, dp, dq, qinv]: [Bn; 5]) -> Result<(), Error> {
        // SAFETY: a live key, which nobody else has yet; the numbers are given away.
        let set = unsafe {
            sys::RSA_set0_factors(self.0, p.give(), q.give()) == 1
                && sys::RSA_set0_crt_params(self.0, dp.give(), dq.give(), qinv.give()) == 1
        };
        if set { Ok(()) } else { Err(Error::Failed("RSA_set0_factors")) }
    }

    /// Sets modulus and exponents; the public one may be longer than 33 bits. Before the key is shared.
    ///
    /// # Errors
    /// [`Error::Failed`].
    pub(crate) fn set(&mut self, n: Bn, e: Bn, d: Option<Bn>) -> Result<(), Error> {
        let large = e.bits() > 33;
        let d = d.map_or(std::ptr::null_mut(), Bn::give);
        // SAFETY: a live key, which nobody else has yet; the numbers are given away.
        unsafe {
            if sys::RSA_set0_key(self.0, n.give(), e.give(), d) != 1 {
                return Err(Error::Failed("RSA_set0_key"));
            }
            if large {
                sys::RSA_set_flags(self.0, sys::RSA_FLAG_LARGE_PUBLIC_EXPONENT);
            }
        }
        Ok(())
    }

    /// Sets the numbers of a new key of two primes. Before the key is shared.
    ///
    /// # Errors
    /// [`Error::Failed`], where it was told to end, too.
    pub(crate) fn generate(&mut self, bits: usize, e: &Bn, report: Option<Report<'_>>) -> Result<(), Error> {
        let mut report = report.map(Progress);
        // SAFETY: the callback's argument outlives the call; the callback object is freed after it.
        let done = unsafe {
            let callback = match &mut report {
                None => std::ptr::null_mut(),
                Some(report) => {
                    let callback = sys::BN_GENCB_new();
                    if callback.is_null() {
                        return Err(Error::Failed("BN_GENCB_new"));
                    }
                    sys::BN_GENCB_set(callback, Some(progress), std::ptr::from_mut(report).cast::<c_void>());
                    callback
                }
            };
            let done = sys::RSA_generate_key_ex(self.0, bits as c_int, e.raw(), callback);
            sys::BN_GENCB_free(callback);
            done
        };
        if done != 1 {
            clear_errors();
            return Err(Error::Failed("RSA key generation"));
        }
        Ok(())
    }

    fn part(&self, part: Part) -> *const sys::BIGNUM {
        // SAFETY: a live key; the numbers live as long.
        unsafe {
            match part {
                Part::N => sys::RSA_get0_n(self.0),
                Part::E => sys::RSA_get0_e(self.0),
                Part::D => sys::RSA_get0_d(self.0),
                Part::P => sys::RSA_get0_p(self.0),
                Part::Q => sys::RSA_get0_q(self.0),
                Part::Dp => sys::RSA_get0_dmp1(self.0),
                Part::Dq => sys::RSA_get0_dmq1(self.0),
                Part::Qinv => sys::RSA_get0_iqmp(self.0),
            }
        }
    }

    /// The size of a number in bits; `None` where the key lacks it.
    pub(crate) fn bits_of(&self, part: Part) -> Option<usize> {
        let number = self.part(part);
        // SAFETY: a live number.
        (!number.is_null()).then(|| unsafe { sys::BN_num_bits(number) as usize })
    }

    /// Writes a number that is there and not longer than `out`, big-endian.
    pub(crate) fn write(&self, part: Part, out: &mut [u8]) {
        // SAFETY: a live number; the pointer and length describe the slice.
        unsafe { sys::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), self.part(part)) };
    }

    /// Whether two keys have the same number there; both lacking it counts as different.
    pub(crate) fn same(&self, other: &AwsLcRsaKey, part: Part) -> bool {
        let (a, b) = (self.part(part), other.part(part));
        // SAFETY: live numbers.
        !a.is_null() && !b.is_null() && unsafe { sys::BN_cmp(a, b) == 0 }
    }

    /// `input^e mod n`, both as long as the modulus; false where `input` is not below it.
    pub(crate) fn public(&self, input: &[u8], out: &mut [u8]) -> bool {
        let mut length = 0;
        // SAFETY: the pointers and lengths describe the slices.
        let done = unsafe {
            let (to, from) = (out.as_mut_ptr(), input.as_ptr());
            sys::RSA_verify_raw(self.0, &mut length, to, out.len(), from, input.len(), sys::RSA_NO_PADDING)
        };
        if done != 1 {
            clear_errors();
        }
        done == 1
    }

    /// `input^d mod n`, both as long as the modulus; false where AWS-LC refuses it: the input, or a result that `e` does not make the input of
    /// again.
    pub(crate) fn private(&self, input: &[u8], out: &mut [u8]) -> bool {
        let mut length = 0;
        // SAFETY: the pointers and lengths describe the slices.
        let done = unsafe {
            let (to, from) = (out.as_mut_ptr(), input.as_ptr());
            sys::RSA_decrypt(self.0, &mut length, to, out.len(), from, input.len(), sys::RSA_NO_PADDING)
        };
        if done != 1 {
            clear_errors();
        }
        done == 1
    }
}
