//! Elliptic-curve keys on the NIST prime curves: ECDSA (FIPS 186-5) and ECDH (SP 800-56A).
//!
//! Here is the scalar path; what has lanes, too, comes by way of [`crate::accelerator`]. Nonces are
//! random and hedged: there as crate::nonce says, and here AWS-LC draws them from its generator with a hash of the private scalar and the digest as
//! additional data, so neither a repeated generator state nor a faulted digest repeats a nonce. Scalars live in memory
//! that AWS-LC clears when it frees it.

use crate::error::Error;
use crate::nonce::Secret;
use aws_lc_sys as lc;
use std::ptr::NonNull;
use std::sync::Arc;
use zeroize::Zeroizing;

unsafe extern "C" {
    // The raw x coordinate; the public ECDH_compute_key copies it through a key derivation callback. Checks the peer's point.
    #[link_name = "aws_lc_0_47_0_ECDH_compute_shared_secret"]
    fn ecdh_shared_secret(out: *mut u8, length: *mut usize, peer: *const lc::EC_POINT, key: *const lc::EC_KEY) -> i32;
}

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

/// The longest scalar or coordinate, in bytes.
pub const MAX_FIELD: usize = 66;
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

    fn group(self) -> *const lc::EC_GROUP {
        // SAFETY: the functions return immutable statics.
        unsafe {
            match self {
                Curve::P256 => lc::EC_group_p256(),
                Curve::P384 => lc::EC_group_p384(),
                Curve::P521 => lc::EC_group_p521(),
            }
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

/// An AWS-LC object that is freed on every way out.
struct Owned<T>(NonNull<T>, unsafe extern "C" fn(*mut T));

impl<T> Owned<T> {
    fn new(raw: *mut T, free: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, Error> {
        NonNull::new(raw).map(|raw| Owned(raw, free)).ok_or(Error::Failed("memory"))
    }

    fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the object was made by the library for us alone.
        unsafe { (self.1)(self.0.as_ptr()) }
    }
}

/// A public key, a private key, or both, on one of the curves. Immutable; usable from all threads; a clone is the same key.
#[derive(Clone)]
pub struct Key(Arc<Inner>);

struct Inner {
    raw: Owned<lc::EC_KEY>,
    curve: Curve,
    /// The private scalar as lanes take it, big-endian.
    scalar: Option<Secret<MAX_FIELD>>,
    /// The point as lanes take it, x and y, where the key was made of them: to compute them costs an inversion.
    coordinates: Option<[u8; 2 * MAX_FIELD]>,
}

// SAFETY: after construction the library only reads the key.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("curve", &self.curve())
            .field("private", &self.has_private())
            .finish_non_exhaustive()
    }
}

impl Key {
    fn empty(curve: Curve) -> Result<Inner, Error> {
        // SAFETY: plain constructors; the group is a static, so setting it copies a pointer.
        let raw = Owned::new(unsafe { lc::EC_KEY_new() }, lc::EC_KEY_free)?;
        // SAFETY: as above.
        if unsafe { lc::EC_KEY_set_group(raw.get(), curve.group()) } != 1 {
            return Err(Error::Failed("EC_KEY_set_group"));
        }
        Ok(Inner { raw, curve, scalar: None, coordinates: None })
    }

    /// Generates a key pair (FIPS 186-5 A.2.2).
    pub(crate) fn generate_alone(curve: Curve) -> Result<Key, Error> {
        let mut key = Key::empty(curve)?;
        // SAFETY: a key with a group.
        if unsafe { lc::EC_KEY_generate_key(key.raw.get()) } != 1 {
            return Err(Error::Failed("EC_KEY_generate_key"));
        }
        let mut scalar = Secret([0; MAX_FIELD]);
        // SAFETY: the key was just made with a scalar, which is below the order, and that has this length.
        let done = unsafe {
            let number = lc::EC_KEY_get0_private_key(key.raw.get());
            lc::BN_bn2bin_padded(scalar.0.as_mut_ptr(), curve.field_len(), number)
        };
        key.scalar = (done == 1).then_some(scalar);
        Ok(Key(Arc::new(key)))
    }

    /// A key from an encoded point, a big-endian private scalar of [`Curve::field_len`] bytes, or both. That the two belong
    /// together is not checked; [`Key::is_pair`] does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order.
    pub fn new(curve: Curve, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Key, Error> {
        let (mut key, length) = (Key::empty(curve)?, curve.field_len());
        if let Some(public) = public {
            // SAFETY: the group is a static.
            let point = Owned::new(unsafe { lc::EC_POINT_new(curve.group()) }, lc::EC_POINT_free)?;
            // SAFETY: pointer and length describe the slice. Decoding refuses points off the curve, setting infinity.
            let set = unsafe {
                let (data, length) = (public.as_ptr(), public.len());
                lc::EC_POINT_oct2point(curve.group(), point.get(), data, length, std::ptr::null_mut()) == 1
                    && lc::EC_KEY_set_public_key(key.raw.get(), point.get()) == 1
            };
            if !set {
                return Err(refused("public key"));
            }
            if public.len() == 1 + 2 * length {
                key.coordinates.insert([0; 2 * MAX_FIELD])[..2 * length].copy_from_slice(&public[1..]);
            }
        }
        if let Some(private) = private {
            if private.len() != length {
                return Err(Error::InvalidKey("length of the private key"));
            }
            // SAFETY: pointer and length describe the slice.
            let number = unsafe { lc::BN_bin2bn(private.as_ptr(), private.len(), std::ptr::null_mut()) };
            let number = Owned::new(number, lc::BN_clear_free)?;
            // SAFETY: both live; the scalar is copied.
            if unsafe { lc::EC_KEY_set_private_key(key.raw.get(), number.get()) } != 1 {
                return Err(refused("private key"));
            }
            key.scalar.insert(Secret([0; MAX_FIELD]))[..length].copy_from_slice(private);
        }
        Ok(Key(Arc::new(key)))
    }

    /// The same public key alone.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where there is none.
    pub fn public_only(&self) -> Result<Key, Error> {
        let mut key = Key::empty(self.curve())?;
        key.coordinates = self.0.coordinates;
        // SAFETY: the point is copied.
        match self.point().map(|point| unsafe { lc::EC_KEY_set_public_key(key.raw.get(), point) }) {
            Some(1) => Ok(Key(Arc::new(key))),
            _ => Err(Error::InvalidKey("no public key")),
        }
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.0.curve
    }

    fn point(&self) -> Option<*const lc::EC_POINT> {
        // SAFETY: a read of the key's field.
        let point = unsafe { lc::EC_KEY_get0_public_key(self.0.raw.get()) };
        (!point.is_null()).then_some(point)
    }

    /// The private scalar, big-endian, in [`Curve::field_len`] bytes.
    pub(crate) fn scalar(&self) -> Option<&[u8]> {
        self.0.scalar.as_ref().map(|scalar| &scalar[..self.curve().field_len()])
    }

    /// Writes the public key's x and y, one after the other; leaves `out` where there is none.
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
            lc::EC_POINT_point2oct(self.curve().group(), self.point()?, form, data, size, std::ptr::null_mut())
        };
        (length != 0).then_some(&out[..length])
    }

    /// The private scalar, big-endian, in [`Curve::field_len`] bytes.
    pub fn private(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.scalar().map(|scalar| Zeroizing::new(scalar.to_vec()))
    }

    /// Whether the private and the public half belong together; false where one is missing.
    pub fn is_pair(&self) -> bool {
        // SAFETY: a live key; the check compares private * G with the point in constant time.
        self.has_private() && self.has_public() && unsafe { lc::EC_KEY_check_key(self.0.raw.get()) == 1 }
    }

    /// Whether both have the same public key; `None` where one has none.
    pub fn same_public(&self, other: &Key) -> Option<bool> {
        let (ours, theirs) = (self.point()?, other.point()?);
        // SAFETY: live points; different curves are an error, not equal.
        Some(unsafe { lc::EC_POINT_cmp(self.curve().group(), ours, theirs, std::ptr::null_mut()) == 0 })
    }

    /// Whether both have the same private key; `None` where one has none.
    pub fn same_private(&self, other: &Key) -> Option<bool> {
        let (ours, theirs) = (self.scalar()?, other.scalar()?);
        Some(self.curve() == other.curve() && subtle::ConstantTimeEq::ct_eq(ours, theirs).into())
    }

    /// Signs a digest; the DER signature is written to `out`, and its length is the result.
    pub(crate) fn sign_alone(&self, digest: &[u8], out: &mut [u8; MAX_SIGNATURE]) -> Result<usize, Error> {
        let mut length = 0;
        let (data, size) = (digest.as_ptr(), digest.len());
        // SAFETY: `out` has room for the longest signature of any of the curves.
        match unsafe { lc::ECDSA_sign(0, data, size, out.as_mut_ptr(), &raw mut length, self.0.raw.get()) } {
            1 => Ok(length as usize),
            _ => Err(refused("private key")),
        }
    }

    /// Checks a DER signature of a digest. Only the one DER encoding of a signature is accepted, as by OpenSSL.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> Verdict {
        // SAFETY: pointers and lengths describe the slices; the parser takes strict DER with nothing after it.
        let parsed = unsafe { lc::ECDSA_SIG_from_bytes(signature.as_ptr(), signature.len()) };
        let Ok(parsed) = Owned::new(parsed, lc::ECDSA_SIG_free) else {
            clear();
            return Verdict::Malformed;
        };
        // SAFETY: as above.
        match unsafe { lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), parsed.get(), self.0.raw.get()) } {
            1 => Verdict::Good,
            _ => {
                clear();
                Verdict::Bad
            }
        }
    }

    /// Writes the x coordinate of private * `peer`, in [`Curve::field_len`] bytes.
    pub(crate) fn shared_secret_alone(&self, peer: &Key, out: &mut [u8; MAX_FIELD]) -> Result<(), Error> {
        let peer = peer.point().ok_or(Error::InvalidKey("no public key"))?;
        let mut length = out.len();
        // SAFETY: `out` has room for the longest coordinate.
        match unsafe { ecdh_shared_secret(out.as_mut_ptr(), &raw mut length, peer, self.0.raw.get()) } {
            1 => Ok(()),
            _ => Err(refused("key agreement")),
        }
    }
}

/// The error of a refusal; the library's own queue is emptied, as nobody reads it.
#[cold]
fn refused(what: &'static str) -> Error {
    clear();
    Error::InvalidKey(what)
}

fn clear() {
    // SAFETY: the queue is this thread's.
    unsafe { lc::ERR_clear_error() };
}
