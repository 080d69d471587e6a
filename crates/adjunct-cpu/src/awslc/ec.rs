//! Keys on curves: the library's own, and what it does with them, all in constant time.

use super::group::{Owned, clear, failed, refused};
use super::private;
use crate::curve::{Group, MAX_FIELD, MAX_POINT};
use adjunct_base::error::Error;
use aws_lc_sys as lc;
use std::ptr::null_mut;

/// A key of the library's: a point, a scalar, or both. Freed when dropped, the scalar's memory cleared.
pub(crate) struct AwsLcEcKey(Owned<lc::EC_KEY>);

// SAFETY: the library only reads a key that is made.
unsafe impl Send for AwsLcEcKey {}
// SAFETY: the library only reads a key that is made.
unsafe impl Sync for AwsLcEcKey {}

impl AwsLcEcKey {
    fn empty(group: Group) -> Result<AwsLcEcKey, Error> {
        // SAFETY: a plain constructor.
        let raw = Owned::new(unsafe { lc::EC_KEY_new() }, lc::EC_KEY_free)?;
        // SAFETY: both live. Of the library's own groups the key takes the pointer, of the others a copy.
        if unsafe { lc::EC_KEY_set_group(raw.get(), group.raw()?) } != 1 {
            return Err(failed("EC_KEY_set_group"));
        }
        Ok(AwsLcEcKey(raw))
    }

    /// The key of an encoded point and a scalar, both of which are checked; not that they belong together.
    ///
    /// # Errors
    /// [`Error::InvalidKey`], [`Error::Failed`] where memory runs out.
    pub(crate) fn import(group: Group, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<AwsLcEcKey, Error> {
        let (key, curve) = (AwsLcEcKey::empty(group)?, group.raw()?);
        if let Some(public) = public {
            // SAFETY: the group is never freed.
            let point = Owned::new(unsafe { lc::EC_POINT_new(curve) }, lc::EC_POINT_free)?;
            // SAFETY: pointer and length describe the slice. Decoding refuses points off the curve, setting infinity.
            let set = unsafe {
                lc::EC_POINT_oct2point(curve, point.get(), public.as_ptr(), public.len(), null_mut()) == 1
                    && lc::EC_KEY_set_public_key(key.0.get(), point.get()) == 1
            };
            if !set {
                return Err(refused("public key"));
            }
        }
        if let Some(private) = private {
            // SAFETY: pointer and length describe the slice.
            let number = unsafe { lc::BN_bin2bn(private.as_ptr(), private.len(), null_mut()) };
            let number = Owned::new(number, lc::BN_clear_free)?;
            // SAFETY: both live; the scalar is copied.
            if unsafe { lc::EC_KEY_set_private_key(key.0.get(), number.get()) } != 1 {
                return Err(refused("private key"));
            }
        }
        Ok(key)
    }

    /// A new key pair, and whether its scalar was written to the first [`Group::field_len`] bytes of `scalar`.
    ///
    /// # Errors
    /// [`Error::Failed`] where memory runs out.
    pub(crate) fn generate(group: Group, scalar: &mut [u8; MAX_FIELD]) -> Result<(AwsLcEcKey, bool), Error> {
        let key = AwsLcEcKey::empty(group)?;
        // SAFETY: a key with a group.
        if unsafe { lc::EC_KEY_generate_key(key.0.get()) } != 1 {
            return Err(failed("EC_KEY_generate_key"));
        }
        // SAFETY: the key was just made with a scalar, which is below the order, and that has this length.
        let done = unsafe {
            let number = lc::EC_KEY_get0_private_key(key.0.get());
            lc::BN_bn2bin_padded(scalar.as_mut_ptr(), group.field_len(), number)
        };
        Ok((key, done == 1))
    }

    fn point(&self) -> Option<*const lc::EC_POINT> {
        // SAFETY: a read of the key's field.
        let point = unsafe { lc::EC_KEY_get0_public_key(self.0.get()) };
        (!point.is_null()).then_some(point)
    }

    /// Whether it has a point.
    pub(crate) fn has_point(&self) -> bool {
        self.point().is_some()
    }

    /// Encodes the point without compression: the part of `out` that was written, `None` without one.
    pub(crate) fn encoded<'a>(&self, group: Group, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        let (group, point) = (group.raw().ok()?, self.point()?);
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        // SAFETY: pointer and length describe the array.
        let written = unsafe { lc::EC_POINT_point2oct(group, point, form, out.as_mut_ptr(), out.len(), null_mut()) };
        Some(&out[..written])
    }

    /// Whether scalar and point belong together.
    pub(crate) fn is_sound(&self) -> bool {
        // SAFETY: a live key; the check compares private * G with the point in constant time.
        unsafe { lc::EC_KEY_check_key(self.0.get()) == 1 }
    }

    /// Signs a digest: r and s, one after the other, in `length` bytes each, at the begin of `out`. The nonce is random and hedged, or given.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key, and for a nonce that is zero or not below the order; [`Error::Length`] for an `out` that
    /// is too short.
    pub(crate) fn sign(&self, digest: &[u8], nonce: Option<&[u8]>, length: usize, out: &mut [u8]) -> Result<(), Error> {
        let (data, size, raw) = (digest.as_ptr(), digest.len(), self.0.get());
        // SAFETY: pointers and lengths describe the slices.
        let signature = unsafe {
            match nonce {
                None => lc::ECDSA_do_sign(data, size, raw),
                Some(nonce) => private::ECDSA_sign_with_nonce_and_leak_private_key_for_testing(
                    data,
                    size,
                    raw,
                    nonce.as_ptr(),
                    nonce.len(),
                ),
            }
        };
        let signature = Owned::new(signature, lc::ECDSA_SIG_free).map_err(|_| refused("private key or nonce"))?;
        let Some(out) = out.get_mut(..2 * length) else {
            return Err(Error::Length { what: "signature", got: out.len(), expected: "twice the private key's" });
        };
        let (r, s) = out.split_at_mut(length);
        // SAFETY: both numbers are below the order, which has the length of each half.
        let written = unsafe {
            lc::BN_bn2bin_padded(r.as_mut_ptr(), length, lc::ECDSA_SIG_get0_r(signature.get())) == 1
                && lc::BN_bn2bin_padded(s.as_mut_ptr(), length, lc::ECDSA_SIG_get0_s(signature.get())) == 1
        };
        if written { Ok(()) } else { Err(failed("BN_bn2bin_padded")) }
    }

    /// Whether a signature, r and s in halves of the slice, is one of a digest. The key has a point.
    ///
    /// # Errors
    /// [`Error::Failed`] where memory runs out.
    pub(crate) fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<bool, Error> {
        let length = signature.len() / 2;
        let (r, s) = signature.split_at(length);
        // SAFETY: pointers and lengths describe the slices; of the numbers, the signature owns what it was given.
        let good = unsafe {
            let made = Owned::new(lc::ECDSA_SIG_new(), lc::ECDSA_SIG_free)?;
            let r = Owned::new(lc::BN_bin2bn(r.as_ptr(), length, null_mut()), lc::BN_free)?;
            let s = Owned::new(lc::BN_bin2bn(s.as_ptr(), length, null_mut()), lc::BN_free)?;
            if lc::ECDSA_SIG_set0(made.get(), r.get(), s.get()) != 1 {
                return Err(failed("ECDSA_SIG_set0"));
            }
            std::mem::forget((r, s));
            lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), made.get(), self.0.get()) == 1
        };
        if !good {
            clear();
        }
        Ok(good)
    }

    /// Writes the x coordinate of private * `peer` to the begin of `out`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for keys without the half needed, and of different curves.
    pub(crate) fn shared_secret(&self, peer: &AwsLcEcKey, out: &mut [u8; MAX_FIELD]) -> Result<(), Error> {
        let peer = peer.point().ok_or(Error::InvalidKey("no public key"))?;
        let mut length = out.len();
        // SAFETY: `out` has room for the longest coordinate.
        match unsafe { private::ECDH_compute_shared_secret(out.as_mut_ptr(), &raw mut length, peer, self.0.get()) } {
            1 => Ok(()),
            _ => Err(refused("key agreement")),
        }
    }

    /// For tests that have the library do more with it.
    #[cfg(all(test, target_arch = "s390x"))]
    pub(crate) fn raw_for_tests(&self) -> *mut lc::EC_KEY {
        self.0.get()
    }
}
