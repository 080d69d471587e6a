//! Elliptic-curve keys: ECDSA (FIPS 186-5; RFC 5639's curves too), ECDH (SP 800-56A) and key pairs, one operation at a time.
//!
//! Nonces are random and hedged: by CPACF as [`nonce`] says, and else drawn from AWS-LC's generator with a hash of the private scalar
//! and the digest as additional data, by AWS-LC itself or, for signatures whose work the lanes share, as it does. So neither a repeated
//! generator state nor a faulted digest repeats a nonce. Scalars live in memory that is cleared when it is freed.

use crate::awslc::ec as library;
use crate::awslc::random_alone;
use crate::cpacf;
use crate::curve::{Curve, Form, Group, MAX_FIELD, MAX_POINT};
use crate::nonce::{self, Nonces};
use crate::secret::Secret;
#[cfg(target_arch = "x86_64")]
use crate::{random, random_with};
use adjunct_base::catalogue::Outcome;
use adjunct_base::error::Error;
use adjunct_base::memory::{Kept, WriteOnce};
use adjunct_base::slab::{Entry, Number, Slab};
#[cfg(target_arch = "x86_64")]
use adjunct_base::stack;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::nist;

pub use crate::awslc::group::prime;

/// The keys that requests name.
static KEYS: Slab<Inner> = Slab::new();

/// A public key, a private key, or both, on one of the curves. Immutable; usable from all threads; a clone is the same key.
#[derive(Clone)]
pub struct CpuEcKey(Entry<Inner>);

struct Inner {
    /// The library's key, which its operations take. A key whose coordinates are known may do without until one of them needs it.
    raw: WriteOnce<library::AwsLcEcKey>,
    group: Group,
    /// The private scalar, big-endian.
    scalar: Option<Secret<MAX_FIELD>>,
    /// The point's x and y, one after the other, where they are known: to compute them costs an inversion.
    coordinates: WriteOnce<[u8; 2 * MAX_FIELD]>,
}

impl std::fmt::Debug for CpuEcKey {
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

    fn done(self) -> Result<CpuEcKey, Error> {
        KEYS.insert(self).map(CpuEcKey)
    }
}

/// A private key and its point's x and y, computed by all lanes of AVX-512 IFMA together; `None` where there are no lanes, or a check found a fault.
#[cfg(target_arch = "x86_64")]
fn in_lanes(group: Group) -> Option<(Secret<MAX_FIELD>, [u8; 2 * MAX_FIELD])> {
    let order = group.shared_order().filter(|_| crate::lanes())?;
    let (mut private, mut point) = (Secret([0; MAX_FIELD]), [0; 2 * MAX_FIELD]);
    let (number, public) = (&mut private[..group.field_len()], &mut point[..2 * group.field_len()]);
    order.draw(random, number);
    // SAFETY: `crate::lanes` has found AVX-512 IFMA.
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

fn secret(scalar: &[u8]) -> Secret<MAX_FIELD> {
    let mut out = Secret([0; MAX_FIELD]);
    out[..scalar.len()].copy_from_slice(scalar);
    out
}

impl CpuEcKey {
    /// Generates a key pair (FIPS 186-5, A.2.2), and says what has.
    ///
    /// # Errors
    /// [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn generate(group: Group) -> Result<(CpuEcKey, Outcome), Error> {
        let assisted = group.curve().and_then(|curve| cpacf::curve::generate(curve, random_alone, || group.base()));
        if let Some((private, point)) = assisted {
            let key = CpuEcKey::new(group, Some(&[&[4], &point[..]].concat()), Some(&private))?;
            return Ok((key, Outcome::Instructions));
        }
        #[cfg(target_arch = "x86_64")]
        if let Some((private, point)) = in_lanes(group) {
            let length = group.field_len();
            let key = CpuEcKey::of_pair(group, &private[..length], &point[..2 * length])?;
            return Ok((key, Outcome::Instructions));
        }
        Ok((CpuEcKey::generate_by_library(group)?, Outcome::Library))
    }

    /// Generates a key by AWS-LC alone.
    fn generate_by_library(group: Group) -> Result<CpuEcKey, Error> {
        let (mut key, mut scalar) = (Inner::new(group), Secret([0; MAX_FIELD]));
        let (raw, written) = library::AwsLcEcKey::generate(group, &mut scalar)?;
        key.scalar = written.then_some(scalar);
        key.raw.keep(raw);
        key.done()
    }

    /// A key from an encoded point (SEC 1, 2.3.3), a big-endian private scalar of [`Group::field_len`] bytes, or both. That
    /// the two belong together is not checked; [`CpuEcKey::is_pair`] does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order; [`Error::Memory`].
    pub fn new(group: Group, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<CpuEcKey, Error> {
        if private.is_some_and(|private| private.len() != group.field_len()) {
            return Err(Error::InvalidKey("length of the private key"));
        }
        let mut key = Inner::new(group);
        key.raw.keep(library::AwsLcEcKey::import(group, public, private)?);
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
    pub fn of_pair(group: Group, private: &[u8], public: &[u8]) -> Result<CpuEcKey, Error> {
        let key = Inner { scalar: Some(secret(private)), ..Inner::new(group) };
        key.know(public);
        key.done()
    }

    /// The number by which requests name the key.
    pub fn number(&self) -> Number {
        self.0.number()
    }

    /// The key of a number; `None` where it is gone.
    pub fn of_number(number: Number) -> Option<CpuEcKey> {
        KEYS.get(number).map(CpuEcKey)
    }

    /// The public key of this key alone.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where there is none; [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn public_only(&self) -> Result<CpuEcKey, Error> {
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
    fn raw(&self) -> Result<Kept<'_, library::AwsLcEcKey>, Error> {
        self.0.raw.get_or_make(|| {
            let mut room = [0; MAX_POINT];
            library::AwsLcEcKey::import(self.group(), self.public(Form::Uncompressed, &mut room), self.scalar())
        })
    }

    #[cfg(all(test, target_arch = "s390x"))]
    pub(crate) fn raw_for_tests(&self) -> *mut aws_lc_sys::EC_KEY {
        self.raw().unwrap();
        self.0.raw.get().unwrap().raw_for_tests()
    }

    /// The private scalar, big-endian, in [`Group::field_len`] bytes.
    pub fn scalar(&self) -> Option<&[u8]> {
        self.0.scalar.as_ref().map(|scalar| &scalar[..self.group().field_len()])
    }

    /// Whether the key has its public half.
    pub fn has_public(&self) -> bool {
        self.0.coordinates.get().is_some() || self.0.raw.get().is_some_and(library::AwsLcEcKey::has_point)
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
        let coordinates = self.0.raw.get()?.encoded(self.group(), out)?.get(1..)?;
        self.0.know(coordinates);
        Some(coordinates)
    }

    /// Whether the private and the public half belong together; false where one is missing.
    pub fn is_pair(&self) -> bool {
        self.scalar().is_some() && self.has_public() && self.raw().is_ok_and(|raw| raw.is_sound())
    }

    /// Whether both have the same public key; `None` where one has none.
    pub fn same_public(&self, other: &CpuEcKey) -> Option<bool> {
        let (mut ours, mut theirs) = ([0; MAX_POINT], [0; MAX_POINT]);
        let (ours, theirs) = (self.coordinates(&mut ours)?, other.coordinates(&mut theirs)?);
        Some(self.group() == other.group() && ours == theirs)
    }

    /// Whether both have the same private key; `None` where one has none.
    pub fn same_private(&self, other: &CpuEcKey) -> Option<bool> {
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
        self.sign_by_library(digest, None, out)
    }

    /// Signs a digest as [`CpuEcKey::sign`] does, with a nonce that is given, big-endian in [`Group::field_len`] bytes: for known answers. Two
    /// digests signed with one nonce give the private key away.
    ///
    /// # Errors
    /// As for [`CpuEcKey::sign`]; and [`Error::InvalidKey`] for a nonce that is zero or not below the order.
    pub fn sign_with_nonce(&self, digest: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        if self.sign_by_instructions(digest, Some(nonce), out).is_some() {
            return Ok(Outcome::Instructions);
        }
        self.sign_by_library(digest, Some(nonce), out)
    }

    /// Signs with a nonce that is given, or a hedged one, by AWS-LC alone.
    fn sign_by_library(&self, digest: &[u8], nonce: Option<&[u8]>, out: &mut [u8]) -> Result<Outcome, Error> {
        self.raw()?.sign(digest, nonce, self.group().field_len(), out)?;
        Ok(Outcome::Library)
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
        let order = group.shared_order().filter(|_| crate::lanes())?;
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
        // SAFETY: `shared_order` and `crate::lanes` have been asked: there is AVX-512 IFMA.
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

    /// Whether a signature, r and s as [`CpuEcKey::sign`] writes them, is one of a digest. Says what has checked it.
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
        Ok((self.raw()?.verify(digest, signature)?, Outcome::Library))
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
    pub fn shared_secret<'a>(
        &self,
        peer: &CpuEcKey,
        out: &'a mut [u8; MAX_FIELD],
    ) -> Result<(&'a [u8], Outcome), Error> {
        if let Some(length) = self.agree_by_cpacf(peer, out) {
            return Ok((&out[..length], Outcome::Instructions));
        }
        self.raw()?.shared_secret(&*peer.raw()?, out)?;
        Ok((&out[..self.group().field_len()], Outcome::Library))
    }

    fn agree_by_cpacf(&self, peer: &CpuEcKey, out: &mut [u8; MAX_FIELD]) -> Option<usize> {
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
        if !crate::lanes() {
            return println!("SKIPPED: this CPU has no AVX-512 IFMA");
        }
        let shared = |group: &Group| group.shared_order().is_some();
        assert_eq!(Group::ALL.into_iter().filter(shared).count(), 7);
        for group in Group::ALL.into_iter().filter(shared) {
            let (length, order) = (group.field_len(), group.shared_order().unwrap());
            for round in 0..20 {
                let (key, outcome) = CpuEcKey::generate(group).unwrap();
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
                key.sign_by_library(digest, Some(&nonce[..length]), &mut theirs).unwrap();
                assert_eq!(ours, theirs, "{group:?}");
                assert_eq!(key.sign(digest, &mut ours), Ok(Outcome::Instructions));
                assert!(key.verify(digest, &ours).unwrap().0, "{group:?}");
            }
            let (mut out, zeros) = (vec![0; 2 * length], vec![0; length]);
            let key = CpuEcKey::generate(group).unwrap().0;
            assert!(key.sign_in_lanes(&[1; 32], Some(&zeros), &mut out).is_none(), "{group:?}");
        }
    }
}
