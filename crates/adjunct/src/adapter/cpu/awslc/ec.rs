//! Elliptic-curve keys: ECDSA (FIPS 186-5; RFC 5639's curves too), ECDH (SP 800-56A) and key pairs, one operation at a time.
//!
//! Nonces are random and hedged: by CPACF as [`nonce`] says, and else drawn from AWS-LC's generator with a hash of the private scalar
//! and the digest as additional data, by AWS-LC itself or, for signatures whose work the lanes share, as it does. So neither a repeated
//! generator state nor a faulted digest repeats a nonce. Scalars live in memory that is cleared when it is freed.

use super::group::{Owned, clear, failed, refused};
use super::private;
use super::random_alone;
#[cfg(target_arch = "x86_64")]
use super::{random, random_with};
use crate::adapter::Outcome;
#[cfg(target_arch = "x86_64")]
use crate::adapter::cpu;
use crate::adapter::cpu::cpacf;
use crate::adapter::cpu::curve::{Curve, Form, Group, MAX_FIELD, MAX_POINT};
use crate::adapter::cpu::nonce::{self, Nonces};
use crate::adapter::cpu::secret::Secret;
use crate::error::Error;
use crate::memory::{Kept, WriteOnce};
use crate::slab::{Entry, Number, Slab};
#[cfg(target_arch = "x86_64")]
use crate::stack;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::nist;
use aws_lc_sys as lc;
use std::ptr::null_mut;

pub use super::group::prime;

/// The keys that requests name.
static KEYS: Slab<Inner> = Slab::new();

/// A public key, a private key, or both, on one of the curves. Immutable; usable from all threads; a clone is the same key.
#[derive(Clone)]
pub struct Key(Entry<Inner>);

struct Inner {
    /// The library's key, which its operations take. A key whose coordinates are known may do without until one of them needs it.
    raw: WriteOnce<Owned<lc::EC_KEY>>,
    group: Group,
    /// The private scalar, big-endian.
    scalar: Option<Secret<MAX_FIELD>>,
    /// The point's x and y, one after the other, where they are known: to compute them costs an inversion.
    coordinates: WriteOnce<[u8; 2 * MAX_FIELD]>,
}

// SAFETY: the library only reads a key that is made.
unsafe impl Send for Inner {}
// SAFETY: a key is only read by the library once it is made, and `WriteOnce` lets one thread write each part.
unsafe impl Sync for Inner {}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("group", &self.group())
            .field("private", &self.scalar().is_some())
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn new(group: Group) -> Inner {
        Inner { raw: WriteOnce::default(), group, scalar: None, coordinates: WriteOnce::default() }
    }

    fn know(&self, coordinates: &[u8]) {
        let mut known = [0; 2 * MAX_FIELD];
        known[..coordinates.len()].copy_from_slice(coordinates);
        self.coordinates.keep(known);
    }

    fn done(self) -> Result<Key, Error> {
        KEYS.insert(self).map(Key)
    }
}

fn empty(group: Group) -> Result<Owned<lc::EC_KEY>, Error> {
    // SAFETY: a plain constructor.
    let raw = Owned::new(unsafe { lc::EC_KEY_new() }, lc::EC_KEY_free)?;
    // SAFETY: both live. Of the library's own groups the key takes the pointer, of the others a copy.
    if unsafe { lc::EC_KEY_set_group(raw.get(), group.raw()?) } != 1 {
        return Err(failed("EC_KEY_set_group"));
    }
    Ok(raw)
}

/// The library's key of an encoded point and a scalar, which it checks.
fn import(group: Group, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Owned<lc::EC_KEY>, Error> {
    let (key, curve) = (empty(group)?, group.raw()?);
    if let Some(public) = public {
        // SAFETY: the group is never freed.
        let point = Owned::new(unsafe { lc::EC_POINT_new(curve) }, lc::EC_POINT_free)?;
        // SAFETY: pointer and length describe the slice. Decoding refuses points off the curve, setting infinity.
        let set = unsafe {
            lc::EC_POINT_oct2point(curve, point.get(), public.as_ptr(), public.len(), null_mut()) == 1
                && lc::EC_KEY_set_public_key(key.get(), point.get()) == 1
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
        if unsafe { lc::EC_KEY_set_private_key(key.get(), number.get()) } != 1 {
            return Err(refused("private key"));
        }
    }
    Ok(key)
}

/// A private key and its point's x and y, computed by all lanes of AVX-512 IFMA together; `None` where there are no lanes, or a check found a fault.
#[cfg(target_arch = "x86_64")]
fn in_lanes(group: Group) -> Option<(Secret<MAX_FIELD>, [u8; 2 * MAX_FIELD])> {
    let order = group.shared_order().filter(|_| cpu::lanes())?;
    let (mut private, mut point) = (Secret([0; MAX_FIELD]), [0; 2 * MAX_FIELD]);
    let (number, public) = (&mut private[..group.field_len()], &mut point[..2 * group.field_len()]);
    order.draw(random, number);
    // SAFETY: `cpu::lanes` has found AVX-512 IFMA.
    let made = stack::with_room(|| unsafe {
        match group {
            Group::P192 => nist::public_shared::<nist::P192, _>(number, public),
            Group::P256 => nist::public_shared::<nist::P256, _>(number, public),
            Group::P384 => nist::public_shared::<nist::P384, _>(number, public),
            Group::P521 => nist::public_shared::<nist::P521, _>(number, public),
            Group::BrainpoolP256r1 => nist::public_shared::<nist::BrainpoolP256, _>(number, public),
            Group::BrainpoolP384r1 => nist::public_shared::<nist::BrainpoolP384, _>(number, public),
            Group::BrainpoolP512r1 => nist::public_shared::<nist::BrainpoolP512, _>(number, public),
            _ => false,
        }
    });
    (made == Some(true)).then_some((private, point))
}

fn point(raw: &Owned<lc::EC_KEY>) -> Option<*const lc::EC_POINT> {
    // SAFETY: a read of the key's field.
    let point = unsafe { lc::EC_KEY_get0_public_key(raw.get()) };
    (!point.is_null()).then_some(point)
}

fn secret(scalar: &[u8]) -> Secret<MAX_FIELD> {
    let mut out = Secret([0; MAX_FIELD]);
    out[..scalar.len()].copy_from_slice(scalar);
    out
}

impl Key {
    /// Generates a key pair (FIPS 186-5, A.2.2), and says what has.
    ///
    /// # Errors
    /// [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn generate(group: Group) -> Result<(Key, Outcome), Error> {
        let assisted = group.curve().and_then(|curve| cpacf::curve::generate(curve, random_alone, || group.base()));
        if let Some((private, point)) = assisted {
            let key = Key::new(group, Some(&[&[4], &point[..]].concat()), Some(&private))?;
            return Ok((key, Outcome::Instructions));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some((private, point)) = in_lanes(group) {
            let length = group.field_len();
            let key = Key::of_pair(group, &private[..length], &point[..2 * length])?;
            return Ok((key, Outcome::Instructions));
        }
        Ok((Key::generate_by_library(group)?, Outcome::Library))
    }

    /// Generates a key by AWS-LC alone.
    fn generate_by_library(group: Group) -> Result<Key, Error> {
        let (mut key, raw) = (Inner::new(group), empty(group)?);
        // SAFETY: a key with a group.
        if unsafe { lc::EC_KEY_generate_key(raw.get()) } != 1 {
            return Err(failed("EC_KEY_generate_key"));
        }
        let mut scalar = Secret([0; MAX_FIELD]);
        // SAFETY: the key was just made with a scalar, which is below the order, and that has this length.
        let done = unsafe {
            let number = lc::EC_KEY_get0_private_key(raw.get());
            lc::BN_bn2bin_padded(scalar.0.as_mut_ptr(), group.field_len(), number)
        };
        key.scalar = (done == 1).then_some(scalar);
        key.raw.keep(raw);
        key.done()
    }

    /// A key from an encoded point (SEC 1, 2.3.3), a big-endian private scalar of [`Group::field_len`] bytes, or both. That
    /// the two belong together is not checked; [`Key::is_pair`] does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order; [`Error::Memory`].
    pub fn new(group: Group, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Key, Error> {
        if private.is_some_and(|private| private.len() != group.field_len()) {
            return Err(Error::InvalidKey("length of the private key"));
        }
        let mut key = Inner::new(group);
        key.raw.keep(import(group, public, private)?);
        if let Some(public) = public.filter(|public| public.len() == 1 + 2 * group.field_len()) {
            key.know(&public[1..]);
        }
        key.scalar = private.map(secret);
        key.done()
    }

    /// Makes a key from a private scalar and its point's x and y, each big-endian in [`Group::field_len`] bytes. They must have been computed here,
    /// not come from outside, as the library checks them only when it first uses the key.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(crate) fn of_pair(group: Group, private: &[u8], public: &[u8]) -> Result<Key, Error> {
        let key = Inner { scalar: Some(secret(private)), ..Inner::new(group) };
        key.know(public);
        key.done()
    }

    /// The number by which requests name the key.
    pub fn number(&self) -> Number {
        self.0.number()
    }

    /// The key of a number; `None` where it is gone.
    pub fn of_number(number: Number) -> Option<Key> {
        KEYS.get(number).map(Key)
    }

    /// The public key of this key alone.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where there is none; [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn public_only(&self) -> Result<Key, Error> {
        let key = Inner::new(self.group());
        key.know(self.coordinates(&mut [0; MAX_POINT]).ok_or(Error::InvalidKey("no public key"))?);
        key.done()
    }

    /// The curve.
    pub fn group(&self) -> Group {
        self.0.group
    }

    /// The curve, if it has instructions or lanes.
    pub fn curve(&self) -> Option<Curve> {
        self.0.group.curve()
    }

    /// The library's key, made now if it was not.
    fn raw(&self) -> Result<Kept<'_, Owned<lc::EC_KEY>>, Error> {
        self.0.raw.get_or_make(|| {
            let mut room = [0; MAX_POINT];
            import(self.group(), self.public(Form::Uncompressed, &mut room), self.scalar())
        })
    }

    #[cfg(all(test, target_arch = "s390x"))]
    pub(crate) fn raw_for_tests(&self) -> *mut lc::EC_KEY {
        self.raw().unwrap();
        self.0.raw.get().unwrap().get()
    }

    /// The private scalar, big-endian, in [`Group::field_len`] bytes.
    pub fn scalar(&self) -> Option<&[u8]> {
        self.0.scalar.as_ref().map(|scalar| &scalar[..self.group().field_len()])
    }

    /// Whether the key has its public half.
    pub fn has_public(&self) -> bool {
        self.0.coordinates.get().is_some() || self.0.raw.get().and_then(point).is_some()
    }

    /// Encodes the public key; the result is the part of `out` that was written, `None` without a public key.
    pub fn public<'a>(&self, form: Form, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        let (length, mut room) = (self.group().field_len(), [0; MAX_POINT]);
        let coordinates = self.coordinates(&mut room)?;
        let odd = coordinates[2 * length - 1] & 1;
        let (first, end) = match form {
            Form::Compressed => (2 | odd, length),
            Form::Uncompressed => (4, 2 * length),
            Form::Hybrid => (6 | odd, 2 * length),
        };
        out[0] = first;
        out[1..=end].copy_from_slice(&coordinates[..end]);
        Some(&out[..=end])
    }

    /// The public key's x and y, one after the other, in twice [`Group::field_len`] bytes: the part of `out` that was written;
    /// `None` without a public key.
    pub fn coordinates<'a>(&self, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        let length = 2 * self.group().field_len();
        if let Some(known) = self.0.coordinates.get() {
            out[..length].copy_from_slice(&known[..length]);
            return Some(&out[..length]);
        }
        let (group, point) = (self.group().raw().ok()?, point(self.0.raw.get()?)?);
        let form = lc::point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
        // SAFETY: pointer and length describe the array.
        let written = unsafe { lc::EC_POINT_point2oct(group, point, form, out.as_mut_ptr(), out.len(), null_mut()) };
        let coordinates = out[..written].get(1..)?;
        self.0.know(coordinates);
        Some(coordinates)
    }

    /// Whether the private and the public half belong together; false where one is missing.
    pub fn is_pair(&self) -> bool {
        let good = |raw: &Owned<lc::EC_KEY>| {
            // SAFETY: a live key; the check compares private * G with the point in constant time.
            unsafe { lc::EC_KEY_check_key(raw.get()) == 1 }
        };
        self.scalar().is_some() && self.has_public() && self.raw().is_ok_and(|raw| good(&raw))
    }

    /// Whether both have the same public key; `None` where one has none.
    pub fn same_public(&self, other: &Key) -> Option<bool> {
        let (mut ours, mut theirs) = ([0; MAX_POINT], [0; MAX_POINT]);
        let (ours, theirs) = (self.coordinates(&mut ours)?, other.coordinates(&mut theirs)?);
        Some(self.group() == other.group() && ours == theirs)
    }

    /// Whether both have the same private key; `None` where one has none.
    pub fn same_private(&self, other: &Key) -> Option<bool> {
        let (ours, theirs) = (self.scalar()?, other.scalar()?);
        Some(self.group() == other.group() && subtle::ConstantTimeEq::ct_eq(ours, theirs).into())
    }

    /// Signs a digest: r and s, one after the other, each big-endian in [`Group::field_len`] bytes; what is longer in `out`
    /// stays. Says what has.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key; [`Error::Length`] for an `out` that is too short.
    pub fn sign(&self, digest: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        if self.sign_by_instructions(digest, None, out).is_some() {
            return Ok(Outcome::Instructions);
        }
        let raw = self.raw()?;
        // SAFETY: pointer and length describe the slice.
        let signature = unsafe { lc::ECDSA_do_sign(digest.as_ptr(), digest.len(), raw.get()) };
        self.halves(signature, out)
    }

    /// Signs a digest as [`Key::sign`] does, with a nonce that is given, big-endian in [`Group::field_len`] bytes: for known answers. Two
    /// digests signed with one nonce give the private key away.
    ///
    /// # Errors
    /// As for [`Key::sign`]; and [`Error::InvalidKey`] for a nonce that is zero or not below the order.
    pub fn sign_with_nonce(&self, digest: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        if self.sign_by_instructions(digest, Some(nonce), out).is_some() {
            return Ok(Outcome::Instructions);
        }
        self.sign_by_library(digest, nonce, out)
    }

    /// Signs a digest with a given nonce by AWS-LC alone.
    fn sign_by_library(&self, digest: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        let (data, length, raw) = (digest.as_ptr(), digest.len(), self.raw()?);
        // SAFETY: pointers and lengths describe the slices.
        let signature = unsafe {
            private::ECDSA_sign_with_nonce_and_leak_private_key_for_testing(
                data,
                length,
                raw.get(),
                nonce.as_ptr(),
                nonce.len(),
            )
        };
        self.halves(signature, out)
    }

    /// Signs with a nonce that is given, or a hedged one, by CPACF or the lanes of AVX-512 IFMA; `None` where there are neither, or a check found a
    /// fault.
    fn sign_by_instructions(&self, digest: &[u8], nonce: Option<&[u8]>, out: &mut [u8]) -> Option<()> {
        #[cfg(target_arch = "x86_64")]
        if self.sign_in_lanes(digest, nonce, out).is_some() {
            return Some(());
        }
        self.sign_by_cpacf(digest, nonce, out)
    }

    /// Signs a digest in the lanes, which share the work of one signature; `None` where that is not possible or a check found a fault.
    #[cfg(target_arch = "x86_64")]
    fn sign_in_lanes(&self, digest: &[u8], nonce: Option<&[u8]>, out: &mut [u8]) -> Option<()> {
        let group = self.group();
        let order = group.shared_order().filter(|_| cpu::lanes())?;
        let (private, length, digest) = (self.scalar()?, group.field_len(), group.truncate(digest));
        let (digest, signature) = (&digest[..length], out.get_mut(..2 * length)?);
        let mut made = Secret([0; MAX_FIELD]);
        let number = &mut made[..length];
        match nonce {
            Some(nonce) if nonce.len() == length => number.copy_from_slice(nonce),
            Some(_) => return None,
            None => {
                let mut mixed = Secret([0; 2 * MAX_FIELD]);
                mixed[..length].copy_from_slice(private);
                mixed[length..2 * length].copy_from_slice(digest);
                // Without fresh bytes there are always some.
                order.draw(|out| _ = random_with(out, &mixed[..2 * length], false), number);
            }
        }
        let mut job = nist::SignJob { private, digest, nonce: number, signature };
        // SAFETY: `shared_order` and `cpu::lanes` have been asked: there is AVX-512 IFMA.
        let made = stack::with_room(|| unsafe {
            match group {
                Group::P192 => nist::sign_shared::<nist::P192, _>(&mut job),
                Group::P256 => nist::sign_shared::<nist::P256, _>(&mut job),
                Group::P384 => nist::sign_shared::<nist::P384, _>(&mut job),
                Group::P521 => nist::sign_shared::<nist::P521, _>(&mut job),
                Group::BrainpoolP256r1 => nist::sign_shared::<nist::BrainpoolP256, _>(&mut job),
                Group::BrainpoolP384r1 => nist::sign_shared::<nist::BrainpoolP384, _>(&mut job),
                Group::BrainpoolP512r1 => nist::sign_shared::<nist::BrainpoolP512, _>(&mut job),
                _ => false,
            }
        });
        (made == Some(true)).then_some(())
    }

    /// Signs a digest by CPACF; `None` where that is not possible or a check found a fault.
    fn sign_by_cpacf(&self, digest: &[u8], nonce: Option<&[u8]>, out: &mut [u8]) -> Option<()> {
        let (curve, private) = (self.curve()?, self.scalar()?);
        let make = |digest: &[u8; MAX_FIELD]| {
            let mut made = Secret([0; MAX_FIELD]);
            if let Some(nonce) = nonce {
                made.get_mut(..nonce.len()).filter(|_| nonce.len() == curve.field_len())?.copy_from_slice(nonce);
            } else {
                let mut added = Secret([0; nonce::ADDED]);
                random_alone(&mut *added);
                Nonces::new(curve, private)?.nonce(digest, &*added, &mut made);
            }
            Some(made)
        };
        cpacf::curve::sign(curve, private, digest, make, out)
    }

    fn halves(&self, signature: *mut lc::ECDSA_SIG, out: &mut [u8]) -> Result<Outcome, Error> {
        let length = self.group().field_len();
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
    /// [`Error::Length`] for a signature of another length; [`Error::InvalidKey`] without a public key; [`Error::Failed`] where
    /// memory runs out.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<(bool, Outcome), Error> {
        let length = self.group().field_len();
        if !self.has_public() {
            return Err(Error::InvalidKey("no public key"));
        }
        if signature.len() != 2 * length {
            return Err(Error::Length { what: "signature", got: signature.len(), expected: "twice the private key's" });
        }
        if let Some(good) = self.verify_by_cpacf(digest, signature) {
            return Ok((good, Outcome::Instructions));
        }
        let ((r, s), raw) = (signature.split_at(length), self.raw()?);
        // SAFETY: pointers and lengths describe the slices; of the numbers, the signature owns what it was given.
        let good = unsafe {
            let made = Owned::new(lc::ECDSA_SIG_new(), lc::ECDSA_SIG_free)?;
            let r = Owned::new(lc::BN_bin2bn(r.as_ptr(), length, null_mut()), lc::BN_free)?;
            let s = Owned::new(lc::BN_bin2bn(s.as_ptr(), length, null_mut()), lc::BN_free)?;
            if lc::ECDSA_SIG_set0(made.get(), r.get(), s.get()) != 1 {
                return Err(failed("ECDSA_SIG_set0"));
            }
            std::mem::forget((r, s));
            lc::ECDSA_do_verify(digest.as_ptr(), digest.len(), made.get(), raw.get()) == 1
        };
        if !good {
            clear();
        }
        Ok((good, Outcome::Library))
    }

    fn verify_by_cpacf(&self, digest: &[u8], signature: &[u8]) -> Option<bool> {
        // Before the coordinates, which may take an inversion.
        cpacf::here()?;
        cpacf::curve::verify(self.curve()?, self.coordinates(&mut [0; MAX_POINT])?, digest, signature)
    }

    /// Writes the x coordinate of private * `peer`: [`Group::field_len`] bytes, the part of `out` that is the result. Says
    /// what has.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for keys without the half needed, and of different curves.
    pub fn shared_secret<'a>(&self, peer: &Key, out: &'a mut [u8; MAX_FIELD]) -> Result<(&'a [u8], Outcome), Error> {
        if let Some(length) = self.agree_by_cpacf(peer, out) {
            return Ok((&out[..length], Outcome::Instructions));
        }
        let (raw, peer) = (self.raw()?, peer.raw()?);
        let peer = point(&peer).ok_or(Error::InvalidKey("no public key"))?;
        let mut length = out.len();
        // SAFETY: `out` has room for the longest coordinate.
        match unsafe { private::ECDH_compute_shared_secret(out.as_mut_ptr(), &raw mut length, peer, raw.get()) } {
            1 => Ok((&out[..self.group().field_len()], Outcome::Library)),
            _ => Err(refused("key agreement")),
        }
    }

    fn agree_by_cpacf(&self, peer: &Key, out: &mut [u8; MAX_FIELD]) -> Option<usize> {
        cpacf::here()?;
        let curve = self.curve().filter(|_| peer.group() == self.group())?;
        cpacf::curve::shared_secret(curve, self.scalar()?, peer.coordinates(&mut [0; MAX_POINT])?, out)
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn lanes_sign_as_the_library_does_on_every_curve_they_know() {
        if !cpu::lanes() {
            return println!("SKIPPED: this CPU has no AVX-512 IFMA");
        }
        let shared = |group: &Group| group.shared_order().is_some();
        assert_eq!(Group::ALL.into_iter().filter(shared).count(), 7);
        for group in Group::ALL.into_iter().filter(shared) {
            let (length, order) = (group.field_len(), group.shared_order().unwrap());
            for round in 0..20 {
                let (key, outcome) = Key::generate(group).unwrap();
                assert_eq!(outcome, Outcome::Instructions);
                // The library computes the point anew.
                assert!(key.is_pair(), "{group:?}");
                let (mut nonce, mut digest) = ([0; MAX_FIELD], [0; MAX_FIELD + 9]);
                order.draw(random, &mut nonce[..length]);
                random(&mut digest);
                // Shorter than the order, as long, and longer.
                let digest = &digest[..[20, length, MAX_FIELD + 9][round % 3]];
                let (mut ours, mut theirs) = (vec![0; 2 * length], vec![1; 2 * length]);
                key.sign_in_lanes(digest, Some(&nonce[..length]), &mut ours).unwrap();
                key.sign_by_library(digest, &nonce[..length], &mut theirs).unwrap();
                assert_eq!(ours, theirs, "{group:?}");
                assert_eq!(key.sign(digest, &mut ours), Ok(Outcome::Instructions));
                assert!(key.verify(digest, &ours).unwrap().0, "{group:?}");
            }
            let (mut out, zeros) = (vec![0; 2 * length], vec![0; length]);
            let key = Key::generate(group).unwrap().0;
            assert!(key.sign_in_lanes(&[1; 32], Some(&zeros), &mut out).is_none(), "{group:?}");
        }
    }
}
