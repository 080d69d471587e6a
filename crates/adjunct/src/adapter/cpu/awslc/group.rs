//! Elliptic-curve keys on every prime curve there is here, one operation at a time: ECDSA (FIPS 186-5, RFC 5639's curves too),
//! ECDH (SP 800-56A) and key pairs. [`super::ec`] has those of the curves that have lanes.
//!
//! AWS-LC has P-224, P-256, P-384 and P-521 in code of their own and five Brainpool curves in its code for any curve; the three
//! of at most 192 bits are given to it by their parameters. All multiply by a scalar, and invert one, in constant time.
//! Nonces are random and hedged: AWS-LC draws them from its generator with a hash of the private scalar and the digest as
//! additional data. Scalars live in memory that is cleared when it is freed.

use super::private;
use crate::adapter::Outcome;
use crate::adapter::cpu::nonce::Secret;
use crate::error::Error;
use aws_lc_sys as lc;
use std::ffi::CStr;
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;

/// The longest scalar or coordinate, in bytes.
pub const MAX_FIELD: usize = 66;

/// A curve, with its base point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "SP 800-186's names, and RFC 5639's")]
pub enum Group {
    P192,
    P224,
    P256,
    P384,
    P521,
    BrainpoolP160r1,
    BrainpoolP192r1,
    BrainpoolP224r1,
    BrainpoolP256r1,
    BrainpoolP320r1,
    BrainpoolP384r1,
    BrainpoolP512r1,
}

impl Group {
    /// The size of the order, in bits.
    pub const fn bits(self) -> usize {
        match self {
            Group::BrainpoolP160r1 => 160,
            Group::P192 | Group::BrainpoolP192r1 => 192,
            Group::P224 | Group::BrainpoolP224r1 => 224,
            Group::P256 | Group::BrainpoolP256r1 => 256,
            Group::BrainpoolP320r1 => 320,
            Group::P384 | Group::BrainpoolP384r1 => 384,
            Group::BrainpoolP512r1 => 512,
            Group::P521 => 521,
        }
    }

    /// The length of a coordinate and of a private scalar, in bytes.
    pub const fn field_len(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The base point's x and y, one after the other.
    #[cfg(target_arch = "s390x")]
    pub(super) fn base(self) -> Option<Vec<u8>> {
        let (group, mut out) = (self.raw().ok()?, vec![0; 1 + 2 * self.field_len()]);
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        // SAFETY: pointer and length describe the vector; the generator belongs to the group.
        let length = unsafe {
            let base = lc::EC_GROUP_get0_generator(group);
            lc::EC_POINT_point2oct(group, base, form, out.as_mut_ptr(), out.len(), null_mut())
        };
        out.remove(0);
        (length == out.len() + 1).then_some(out)
    }

    /// Immutable, and never freed.
    pub(super) fn raw(self) -> Result<*const lc::EC_GROUP, Error> {
        // SAFETY: the functions return immutable statics.
        unsafe {
            Ok(match self {
                Group::P192 => return P192.raw(),
                Group::P224 => lc::EC_group_p224(),
                Group::P256 => lc::EC_group_p256(),
                Group::P384 => lc::EC_group_p384(),
                Group::P521 => lc::EC_group_p521(),
                Group::BrainpoolP160r1 => return BRAINPOOL_160.raw(),
                Group::BrainpoolP192r1 => return BRAINPOOL_192.raw(),
                Group::BrainpoolP224r1 => lc::EC_group_brainpoolP224r1(),
                Group::BrainpoolP256r1 => lc::EC_group_brainpoolP256r1(),
                Group::BrainpoolP320r1 => lc::EC_group_brainpoolP320r1(),
                Group::BrainpoolP384r1 => lc::EC_group_brainpoolP384r1(),
                Group::BrainpoolP512r1 => lc::EC_group_brainpoolP512r1(),
            })
        }
    }
}

/// Builds what is built only once, so that no later call does: one of another thread could then stand still in a fork's child.
pub fn prime() {
    for group in [
        Group::P192,
        Group::P224,
        Group::P256,
        Group::P384,
        Group::P521,
        Group::BrainpoolP160r1,
        Group::BrainpoolP192r1,
        Group::BrainpoolP224r1,
        Group::BrainpoolP256r1,
        Group::BrainpoolP320r1,
        Group::BrainpoolP384r1,
        Group::BrainpoolP512r1,
    ] {
        // Where memory runs out, the first call of the curve tries again.
        let _ = group.raw();
    }
}

/// A curve that the library does not know: its parameters in hexadecimal, and the group once it is made.
struct Custom {
    prime: &'static CStr,
    a: &'static CStr,
    b: &'static CStr,
    x: &'static CStr,
    y: &'static CStr,
    order: &'static CStr,
    made: OnceLock<Shared>,
}

struct Shared(*const lc::EC_GROUP);

// SAFETY: a finished group is only read.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// secp192r1 (SEC 2, 2.2.2).
static P192: Custom = Custom {
    prime: c"fffffffffffffffffffffffffffffffeffffffffffffffff",
    a: c"fffffffffffffffffffffffffffffffefffffffffffffffc",
    b: c"64210519e59c80e70fa7e9ab72243049feb8deecc146b9b1",
    x: c"188da80eb03090f67cbf20eb43a18800f4ff0afd82ff1012",
    y: c"07192b95ffc8da78631011ed6b24cdd573f977a11e794811",
    order: c"ffffffffffffffffffffffff99def836146bc9b1b4d22831",
    made: OnceLock::new(),
};

/// RFC 5639, 3.1.
static BRAINPOOL_160: Custom = Custom {
    prime: c"e95e4a5f737059dc60dfc7ad95b3d8139515620f",
    a: c"340e7be2a280eb74e2be61bada745d97e8f7c300",
    b: c"1e589a8595423412134faa2dbdec95c8d8675e58",
    x: c"bed5af16ea3f6a4f62938c4631eb5af7bdbcdbc3",
    y: c"1667cb477a1a8ec338f94741669c976316da6321",
    order: c"e95e4a5f737059dc60df5991d45029409e60fc09",
    made: OnceLock::new(),
};

/// RFC 5639, 3.2.
static BRAINPOOL_192: Custom = Custom {
    prime: c"c302f41d932a36cda7a3463093d18db78fce476de1a86297",
    a: c"6a91174076b1e0e19c39c031fe8685c1cae040e5c69a28ef",
    b: c"469a28ef7c28cca3dc721d044f4496bcca7ef4146fbf25c9",
    x: c"c0a0647eaab6a48753b033c56cb0f0900a2f5c4853375fd6",
    y: c"14b690866abd5bb88b5f4828c1490002e6773fa2fa299b8f",
    order: c"c302f41d932a36cda7a3462f9e9e916b5be8f1029ac4acc1",
    made: OnceLock::new(),
};

impl Custom {
    fn raw(&'static self) -> Result<*const lc::EC_GROUP, Error> {
        if let Some(made) = self.made.get() {
            return Ok(made.0);
        }
        let built = self.build()?;
        Ok(self.made.get_or_init(|| Shared(std::mem::ManuallyDrop::new(built).get())).0)
    }

    fn build(&self) -> Result<Owned<lc::EC_GROUP>, Error> {
        let [prime, a, b, x, y, order] = [self.prime, self.a, self.b, self.x, self.y, self.order].map(|text| {
            let mut number = null_mut();
            // SAFETY: a string that ends; the number is made, or stays null.
            unsafe { lc::BN_hex2bn(&raw mut number, text.as_ptr()) };
            Owned::new(number, lc::BN_free)
        });
        let (prime, a, b, x, y, order) = (prime?, a?, b?, x?, y?, order?);
        // SAFETY: all numbers and objects live, and belong together.
        unsafe {
            let group = lc::EC_GROUP_new_curve_GFp(prime.get(), a.get(), b.get(), null_mut());
            let group = Owned::new(group, lc::EC_GROUP_free)?;
            let base = Owned::new(lc::EC_POINT_new(group.get()), lc::EC_POINT_free)?;
            let made = lc::EC_POINT_set_affine_coordinates_GFp(group.get(), base.get(), x.get(), y.get(), null_mut())
                == 1
                && lc::EC_GROUP_set_generator(group.get(), base.get(), order.get(), lc::BN_value_one()) == 1;
            if made { Ok(group) } else { Err(failed("EC_GROUP_set_generator")) }
        }
    }
}

/// An AWS-LC object that is freed on every way out.
pub(super) struct Owned<T>(NonNull<T>, unsafe extern "C" fn(*mut T));

impl<T> Owned<T> {
    pub(super) fn new(raw: *mut T, free: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, Error> {
        NonNull::new(raw).map(|raw| Owned(raw, free)).ok_or(Error::Failed("memory"))
    }

    pub(super) fn get(&self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: the object was made by the library for us alone.
        unsafe { (self.1)(self.0.as_ptr()) }
    }
}

/// A public key, a private key, or both, on one of the curves. Immutable; usable from all threads.
pub struct Key {
    raw: Owned<lc::EC_KEY>,
    group: Group,
    /// The private scalar, big-endian.
    scalar: Option<Secret<MAX_FIELD>>,
}

// SAFETY: after construction the library only reads the key.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("group", &self.group)
            .field("private", &self.scalar.is_some())
            .finish_non_exhaustive()
    }
}

impl Key {
    fn empty(group: Group) -> Result<Key, Error> {
        // SAFETY: a plain constructor.
        let raw = Owned::new(unsafe { lc::EC_KEY_new() }, lc::EC_KEY_free)?;
        // SAFETY: both live. Of the library's own groups the key takes the pointer, of the others a copy.
        if unsafe { lc::EC_KEY_set_group(raw.get(), group.raw()?) } != 1 {
            return Err(failed("EC_KEY_set_group"));
        }
        Ok(Key { raw, group, scalar: None })
    }

    /// Generates a key pair (FIPS 186-5, A.2.2), and says what has.
    ///
    /// # Errors
    /// [`Error::Failed`] where memory runs out.
    pub fn generate(group: Group) -> Result<(Key, Outcome), Error> {
        #[cfg(target_arch = "s390x")]
        if let Some((private, point)) = super::group_cpacf::generate(group) {
            let key = Key::new(group, Some(&[&[4], &point[..]].concat()), Some(&private))?;
            return Ok((key, Outcome::Instructions));
        }
        let mut key = Key::empty(group)?;
        // SAFETY: a key with a group.
        if unsafe { lc::EC_KEY_generate_key(key.raw.get()) } != 1 {
            return Err(failed("EC_KEY_generate_key"));
        }
        let mut scalar = Secret([0; MAX_FIELD]);
        // SAFETY: the key was just made with a scalar, which is below the order, and that has this length.
        let done = unsafe {
            let number = lc::EC_KEY_get0_private_key(key.raw.get());
            lc::BN_bn2bin_padded(scalar.0.as_mut_ptr(), group.field_len(), number)
        };
        key.scalar = (done == 1).then_some(scalar);
        Ok((key, Outcome::Library))
    }

    /// A key from an encoded point (SEC 1, 2.3.3), a big-endian private scalar of [`Group::field_len`] bytes, or both. That
    /// the two belong together is not checked.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order.
    pub fn new(group: Group, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Key, Error> {
        let (mut key, curve) = (Key::empty(group)?, group.raw()?);
        if let Some(public) = public {
            // SAFETY: the group is never freed.
            let point = Owned::new(unsafe { lc::EC_POINT_new(curve) }, lc::EC_POINT_free)?;
            // SAFETY: pointer and length describe the slice. Decoding refuses points off the curve, setting infinity.
            let set = unsafe {
                lc::EC_POINT_oct2point(curve, point.get(), public.as_ptr(), public.len(), null_mut()) == 1
                    && lc::EC_KEY_set_public_key(key.raw.get(), point.get()) == 1
            };
            if !set {
                return Err(refused("public key"));
            }
        }
        if let Some(private) = private {
            if private.len() != group.field_len() {
                return Err(Error::InvalidKey("length of the private key"));
            }
            // SAFETY: pointer and length describe the slice.
            let number = unsafe { lc::BN_bin2bn(private.as_ptr(), private.len(), null_mut()) };
            let number = Owned::new(number, lc::BN_clear_free)?;
            // SAFETY: both live; the scalar is copied.
            if unsafe { lc::EC_KEY_set_private_key(key.raw.get(), number.get()) } != 1 {
                return Err(refused("private key"));
            }
            key.scalar.insert(Secret([0; MAX_FIELD]))[..private.len()].copy_from_slice(private);
        }
        Ok(key)
    }

    /// The same public key alone.
    pub(super) fn public_only(&self) -> Result<Key, Error> {
        let (key, point) = (Key::empty(self.group)?, self.point().ok_or(Error::InvalidKey("no public key"))?);
        // SAFETY: both live; the point is copied.
        if unsafe { lc::EC_KEY_set_public_key(key.raw.get(), point) } != 1 {
            return Err(failed("EC_KEY_set_public_key"));
        }
        Ok(key)
    }

    /// The curve.
    pub fn group(&self) -> Group {
        self.group
    }

    pub(super) fn raw(&self) -> *mut lc::EC_KEY {
        self.raw.get()
    }

    #[cfg(all(test, target_arch = "s390x"))]
    pub(crate) fn raw_for_tests(&self) -> *mut lc::EC_KEY {
        self.raw.get()
    }

    pub(super) fn point(&self) -> Option<*const lc::EC_POINT> {
        // SAFETY: a read of the key's field.
        let point = unsafe { lc::EC_KEY_get0_public_key(self.raw.get()) };
        (!point.is_null()).then_some(point)
    }

    /// The private scalar, big-endian, in [`Group::field_len`] bytes.
    pub fn scalar(&self) -> Option<&[u8]> {
        self.scalar.as_ref().map(|scalar| &scalar[..self.group.field_len()])
    }

    /// The public key's x and y, one after the other, in twice [`Group::field_len`] bytes: the part of `out` that was written.
    pub fn coordinates<'a>(&self, out: &'a mut [u8; 1 + 2 * MAX_FIELD]) -> Option<&'a [u8]> {
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        let (point, data, size) = (self.point()?, out.as_mut_ptr(), out.len());
        // SAFETY: pointer and length describe the array.
        let length = unsafe { lc::EC_POINT_point2oct(self.group.raw().ok()?, point, form, data, size, null_mut()) };
        (length != 0).then(|| &out[1..length])
    }

    /// Signs a digest: r and s, one after the other, each big-endian in [`Group::field_len`] bytes; what is longer in `out`
    /// stays. Says what has.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key; [`Error::Length`] for an `out` that is too short.
    pub fn sign(&self, digest: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        #[cfg(target_arch = "s390x")]
        if super::group_cpacf::sign(self, digest, None, out).is_some() {
            return Ok(Outcome::Instructions);
        }
        // SAFETY: pointer and length describe the slice.
        let signature = unsafe { lc::ECDSA_do_sign(digest.as_ptr(), digest.len(), self.raw.get()) };
        self.halves(signature, out)
    }

    /// The same with a nonce that is given, big-endian in [`Group::field_len`] bytes: for known answers. Two digests signed
    /// with one nonce give the private key away.
    ///
    /// # Errors
    /// As for [`Key::sign`]; and [`Error::InvalidKey`] for a nonce that is zero or not below the order.
    pub fn sign_with_nonce(&self, digest: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        #[cfg(target_arch = "s390x")]
        if super::group_cpacf::sign(self, digest, Some(nonce), out).is_some() {
            return Ok(Outcome::Instructions);
        }
        let (data, length) = (digest.as_ptr(), digest.len());
        // SAFETY: pointers and lengths describe the slices.
        let signature = unsafe {
            private::ECDSA_sign_with_nonce_and_leak_private_key_for_testing(
                data,
                length,
                self.raw.get(),
                nonce.as_ptr(),
                nonce.len(),
            )
        };
        self.halves(signature, out)
    }

    fn halves(&self, signature: *mut lc::ECDSA_SIG, out: &mut [u8]) -> Result<Outcome, Error> {
        let length = self.group.field_len();
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
        if written { Ok(Outcome::Library) } else { Err(failed("BN_bn2bin_padded")) }
    }

    /// Whether a signature, r and s as [`Key::sign`] writes them, is one of a digest. Says what has checked it.
    ///
    /// # Errors
    /// [`Error::Length`] for a signature of another length; [`Error::InvalidKey`] without a public key.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<(bool, Outcome), Error> {
        let length = self.group.field_len();
        if self.point().is_none() {
            return Err(Error::InvalidKey("no public key"));
        }
        if signature.len() != 2 * length {
            return Err(Error::Length { what: "signature", got: signature.len(), expected: "twice the private key's" });
        }
        #[cfg(target_arch = "s390x")]
        if let Some(good) = super::group_cpacf::verify(self, digest, signature) {
            return Ok((good, Outcome::Instructions));
        }
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
            lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), made.get(), self.raw.get()) == 1
        };
        if !good {
            clear();
        }
        Ok((good, Outcome::Library))
    }

    /// Writes the x coordinate of private * `peer`: [`Group::field_len`] bytes, the part of `out` that is the result. Says
    /// what has.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for keys without the half needed, and of different curves.
    pub fn shared_secret<'a>(&self, peer: &Key, out: &'a mut [u8; MAX_FIELD]) -> Result<(&'a [u8], Outcome), Error> {
        #[cfg(target_arch = "s390x")]
        if let Some(length) = super::group_cpacf::shared_secret(self, peer, out) {
            return Ok((&out[..length], Outcome::Instructions));
        }
        let peer = peer.point().ok_or(Error::InvalidKey("no public key"))?;
        let mut length = out.len();
        // SAFETY: `out` has room for the longest coordinate.
        match unsafe { private::ECDH_compute_shared_secret(out.as_mut_ptr(), &raw mut length, peer, self.raw.get()) } {
            1 => Ok((&out[..self.group.field_len()], Outcome::Library)),
            _ => Err(refused("key agreement")),
        }
    }
}

/// The error of a refusal; the library's own queue is emptied, as nobody reads it.
#[cold]
pub(super) fn refused(what: &'static str) -> Error {
    clear();
    Error::InvalidKey(what)
}

#[cold]
pub(super) fn failed(what: &'static str) -> Error {
    clear();
    Error::Failed(what)
}

pub(super) fn clear() {
    // SAFETY: the queue is this thread's.
    unsafe { lc::ERR_clear_error() };
}
