//! Elliptic-curve keys on the NIST prime curves: ECDSA (FIPS 186-5) and ECDH (SP 800-56A).
//!
//! Here is the scalar path, for what also has lanes by way of [`crate::adapter::lanes`]; [`super::group`] has it for the other
//! curves. Nonces are random and hedged: there as crate::adapter::cpu::nonce says, and here by AWS-LC, so neither a repeated generator
//! state nor a faulted digest repeats a nonce.

use super::group::{self, Group, Owned, clear, refused};
use crate::adapter::Outcome;
use crate::error::Error;
use crate::memory::{Shared, zeros};
use aws_lc_sys as lc;
use zeroize::Zeroizing;

/// A curve served here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Curve {
    /// NIST P-256, secp256r1, prime256v1.
    P256,
    /// NIST P-384, secp384r1.
    P384,
    /// NIST P-521, secp521r1.
    P521,
}

pub use super::group::MAX_FIELD;

/// The longest encoded point, in bytes.
pub const MAX_POINT: usize = 1 + 2 * MAX_FIELD;
/// The longest DER signature, in bytes.
pub const MAX_SIGNATURE: usize = 139;

impl Curve {
    /// The size of the order, in bits.
    pub const fn bits(self) -> usize {
        match self {
            Curve::P256 => 256,
            Curve::P384 => 384,
            Curve::P521 => 521,
        }
    }

    /// The length of a coordinate and of a private scalar, in bytes.
    pub const fn field_len(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The symmetric strength, in bits (SP 800-57).
    pub const fn security_bits(self) -> usize {
        match self {
            Curve::P256 => 128,
            Curve::P384 => 192,
            Curve::P521 => 256,
        }
    }

    /// The longest DER signature, in bytes.
    pub const fn max_signature(self) -> usize {
        match self {
            Curve::P256 => 72,
            Curve::P384 => 104,
            Curve::P521 => MAX_SIGNATURE,
        }
    }

    /// The same curve, for operations that have no lanes.
    pub const fn group(self) -> Group {
        match self {
            Curve::P256 => Group::P256,
            Curve::P384 => Group::P384,
            Curve::P521 => Group::P521,
        }
    }
}

/// How a point is encoded (SEC 1, 2.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// x and the sign of y.
    Compressed = 2,
    /// x and y.
    Uncompressed = 4,
    /// x and y, and the sign of y besides.
    Hybrid = 6,
}

/// What became of a signature check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The signature fits.
    Good,
    /// It does not.
    Bad,
    /// It is not the DER encoding of a signature at all.
    Malformed,
}

/// A public key, a private key, or both, on one of the curves. Immutable; usable from all threads; a clone is the same key.
#[derive(Clone)]
pub struct Key(Shared<Inner>);

struct Inner {
    key: group::Key,
    curve: Curve,
    /// The point as lanes take it, x and y, where the key was made of them: to compute them costs an inversion.
    coordinates: Option<[u8; 2 * MAX_FIELD]>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("curve", &self.curve())
            .field("private", &self.has_private())
            .finish_non_exhaustive()
    }
}

impl Key {
    /// Generates a key pair (FIPS 186-5 A.2.2).
    pub(crate) fn generate_alone(curve: Curve) -> Result<(Key, Outcome), Error> {
        let (key, outcome) = group::Key::generate(curve.group())?;
        Ok((Key(Shared::new(Inner { key, curve, coordinates: None })?), outcome))
    }

    /// A key from an encoded point, a big-endian private scalar of [`Curve::field_len`] bytes, or both. That the two belong
    /// together is not checked; [`Key::is_pair`] does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order; [`Error::Memory`].
    pub fn new(curve: Curve, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Key, Error> {
        let key = group::Key::new(curve.group(), public, private)?;
        let length = 2 * curve.field_len();
        let coordinates = public.filter(|public| public.len() == 1 + length).map(|public| {
            let mut known = [0; 2 * MAX_FIELD];
            known[..length].copy_from_slice(&public[1..]);
            known
        });
        Ok(Key(Shared::new(Inner { key, curve, coordinates })?))
    }

    /// The same public key alone.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where there is none.
    pub fn public_only(&self) -> Result<Key, Error> {
        let (key, curve, coordinates) = (self.0.key.public_only()?, self.curve(), self.0.coordinates);
        Ok(Key(Shared::new(Inner { key, curve, coordinates })?))
    }

    /// The same key, for operations that have no lanes.
    pub fn alone(&self) -> &group::Key {
        &self.0.key
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.0.curve
    }

    fn point(&self) -> Option<*const lc::EC_POINT> {
        self.0.key.point()
    }

    /// The private scalar, big-endian, in [`Curve::field_len`] bytes.
    pub fn scalar(&self) -> Option<&[u8]> {
        self.0.key.scalar()
    }

    /// Writes the public key's x and y, one after the other; leaves `out` where there is none.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for lanes"))]
    pub(crate) fn coordinates(&self, out: &mut [u8]) {
        if let Some(known) = &self.0.coordinates {
            out.copy_from_slice(&known[..out.len()]);
        } else if let Some(point) = self.public(Form::Uncompressed, &mut [0; MAX_POINT]) {
            out.copy_from_slice(&point[1..]);
        }
    }

    /// Whether the key has its public half.
    pub fn has_public(&self) -> bool {
        self.point().is_some()
    }

    /// Whether the key has its private half.
    pub fn has_private(&self) -> bool {
        self.scalar().is_some()
    }

    /// Encodes the public key; the result is the part of `out` that was written, `None` without a public key.
    pub fn public<'a>(&self, form: Form, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        let form = match form {
            Form::Compressed => lc::point_conversion_form_t::POINT_CONVERSION_COMPRESSED,
            Form::Uncompressed => lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED,
            Form::Hybrid => lc::point_conversion_form_t::POINT_CONVERSION_HYBRID,
        };
        let (data, size) = (out.as_mut_ptr(), out.len());
        // SAFETY: pointer and length describe the array.
        let length = unsafe {
            let group = self.curve().group().raw().ok()?;
            lc::EC_POINT_point2oct(group, self.point()?, form, data, size, std::ptr::null_mut())
        };
        (length != 0).then_some(&out[..length])
    }

    /// The private scalar, big-endian, in [`Curve::field_len`] bytes.
    pub fn private(&self) -> Option<Zeroizing<Vec<u8>>> {
        let scalar = self.scalar()?;
        let mut copy = zeros(scalar.len()).ok()?;
        copy.copy_from_slice(scalar);
        Some(copy)
    }

    /// Whether the private and the public half belong together; false where one is missing.
    pub fn is_pair(&self) -> bool {
        // SAFETY: a live key; the check compares private * G with the point in constant time.
        self.has_private() && self.has_public() && unsafe { lc::EC_KEY_check_key(self.0.key.raw()) == 1 }
    }

    /// Whether both have the same public key; `None` where one has none.
    pub fn same_public(&self, other: &Key) -> Option<bool> {
        let (ours, theirs) = (self.point()?, other.point()?);
        let group = self.curve().group().raw().ok()?;
        // SAFETY: live points; different curves are an error, not equal.
        Some(unsafe { lc::EC_POINT_cmp(group, ours, theirs, std::ptr::null_mut()) == 0 })
    }

    /// Whether both have the same private key; `None` where one has none.
    pub fn same_private(&self, other: &Key) -> Option<bool> {
        let (ours, theirs) = (self.scalar()?, other.scalar()?);
        Some(self.curve() == other.curve() && subtle::ConstantTimeEq::ct_eq(ours, theirs).into())
    }

    /// Signs a digest; the DER signature is written to `out`, and its length and what has made it are the result.
    pub(crate) fn sign_alone(&self, digest: &[u8], out: &mut [u8; MAX_SIGNATURE]) -> Result<(usize, Outcome), Error> {
        #[cfg(target_arch = "s390x")]
        {
            let (mut pair, field) = ([0; 2 * MAX_FIELD], self.curve().field_len());
            if super::group_cpacf::sign(&self.0.key, digest, None, &mut pair).is_some() {
                let (made, length) = crate::adapter::lanes::der(&pair[..2 * field]);
                out[..length].copy_from_slice(&made[..length]);
                return Ok((length, Outcome::Instructions));
            }
        }
        let mut length = 0;
        let (data, size) = (digest.as_ptr(), digest.len());
        // SAFETY: `out` has room for the longest signature of any of the curves.
        match unsafe { lc::ECDSA_sign(0, data, size, out.as_mut_ptr(), &raw mut length, self.0.key.raw()) } {
            1 => Ok((length as usize, Outcome::Library)),
            _ => Err(refused("private key")),
        }
    }

    /// Checks a DER signature of a digest, and says what has. Only the one DER encoding of a signature is accepted, as by
    /// OpenSSL.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> (Verdict, Outcome) {
        // SAFETY: pointers and lengths describe the slices; the parser takes strict DER with nothing after it.
        let parsed = unsafe { lc::ECDSA_SIG_from_bytes(signature.as_ptr(), signature.len()) };
        let Ok(parsed) = Owned::new(parsed, lc::ECDSA_SIG_free) else {
            clear();
            return (Verdict::Malformed, Outcome::Library);
        };
        #[cfg(target_arch = "s390x")]
        if let Some(good) = self.verify_by_cpacf(digest, parsed.get()) {
            return (if good { Verdict::Good } else { Verdict::Bad }, Outcome::Instructions);
        }
        // SAFETY: as above.
        let good = unsafe { lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), parsed.get(), self.0.key.raw()) } == 1;
        if !good {
            clear();
        }
        (if good { Verdict::Good } else { Verdict::Bad }, Outcome::Library)
    }

    #[cfg(target_arch = "s390x")]
    fn verify_by_cpacf(&self, digest: &[u8], signature: *const lc::ECDSA_SIG) -> Option<bool> {
        let (mut pair, length) = ([0; 2 * MAX_FIELD], self.curve().field_len());
        let (r, s) = pair[..2 * length].split_at_mut(length);
        // SAFETY: a live signature; pointers and lengths describe the halves. A number that is longer is none.
        let fits = unsafe {
            lc::BN_bn2bin_padded(r.as_mut_ptr(), length, lc::ECDSA_SIG_get0_r(signature)) == 1
                && lc::BN_bn2bin_padded(s.as_mut_ptr(), length, lc::ECDSA_SIG_get0_s(signature)) == 1
        };
        if !fits {
            clear();
            return Some(false);
        }
        super::group_cpacf::verify(&self.0.key, digest, &pair[..2 * length])
    }

    /// Writes the x coordinate of private * `peer`, in [`Curve::field_len`] bytes, and says what has computed it.
    pub(crate) fn shared_secret_alone(&self, peer: &Key, out: &mut [u8; MAX_FIELD]) -> Result<Outcome, Error> {
        self.0.key.shared_secret(&peer.0.key, out).map(|(_, outcome)| outcome)
    }
}
