//! Dilithium of the submission's second and third round, as IBM's cards have it (`CKM_IBM_DILITHIUM`); ML-DSA, which came of it, is the core's.
//!
//! Keys are written as IBM does:
//!
//! ```text
//! public:  SEQUENCE { BIT STRING rho | BIT STRING t1 }
//! private: SEQUENCE { 0 | BIT STRING rho | BIT STRING key | BIT STRING tr | BIT STRING s1 | BIT STRING s2 | BIT STRING t0 | [0] { BIT STRING t1 } optional }
//! ```

mod params;
mod ring;
mod scheme;

pub(crate) use params::Set;

use super::{Own, Scheme, Secret, Shared};
use crate::der::{self, BITS, INTEGER, Pkcs8, Reader, SEQUENCE, Spki};
use crate::error::{Result, Rv, ensure};
use adjunct_ep11_wire::codes::{control as c, key as k, rv};
use adjunct_mechanisms::object::attributes::Attributes;
use ring::Poly;
use scheme::{Private, Public};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

const NULL: &[u8] = &[5, 0];
/// [0], constructed.
const ZERO: u8 = 0xa0;

/// A key.
pub(super) struct Key {
    set: &'static Set,
    public: Public,
    private: Option<Private>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.set.fmt(f)
    }
}

/// A new private key.
pub(crate) fn generate(set: &'static Set) -> Shared {
    let (public, private) = scheme::generate(set);
    Arc::new(Key { set, public, private: Some(private) })
}

/// The set that an algorithm's identifier names.
fn set(oid: &[u8], mut parameters: Reader<'_>) -> Option<&'static Set> {
    let set = Set::of_oid(oid)?;
    _ = parameters.take(NULL[0]);
    parameters.ends()?;
    Some(set)
}

/// The private key of PKCS #8; `None` where it is none of these.
pub(super) fn of_pkcs8(der: &[u8]) -> Option<Result<Shared>> {
    let info = Pkcs8::of(der)?;
    let set = set(info.oid, info.parameters)?;
    let key =
        private(set, info.key).map(|(public, private)| Arc::new(Key { set, public, private: Some(private) }) as Shared);
    Some(key.ok_or(Rv(rv::WRAPPED_KEY_INVALID)))
}

/// The public key of a SubjectPublicKeyInfo; `None` where it is none of these.
pub(super) fn of_spki(der: &[u8]) -> Option<Result<Shared>> {
    let info = Spki::of(der)?;
    let set = set(info.oid, info.parameters)?;
    let read = || {
        let mut all = Reader(info.key);
        let mut key = all.within(SEQUENCE)?;
        all.ends()?;
        let (rho, t1) = (key.bits()?.try_into().ok()?, key.bits()?);
        key.ends()?;
        (t1.len() == 32 * set.public_bits() as usize * set.k).then(|| Public { rho, t1: t1.to_vec() })
    };
    let key = read().map(|public| Arc::new(Key { set, public, private: None }) as Shared);
    Some(key.ok_or(Rv(rv::IBM_BLOB_ERROR)))
}

/// The halves of a private key: what can be worked out of the rest has to be that.
fn private(set: &'static Set, der: &[u8]) -> Option<(Public, Private)> {
    let mut all = Reader(der);
    let mut fields = all.within(SEQUENCE)?;
    all.ends()?;
    (fields.take(INTEGER)? == [0]).then_some(())?;
    let rho = fields.bits()?.try_into().ok()?;
    let key = Zeroizing::new(fields.bits()?.try_into().ok()?);
    let tr = fields.bits()?.to_vec();
    let small =
        |bytes, count| vector(bytes, count, set.secret_bits(), |one| (one <= 2 * set.eta).then_some(set.eta - one));
    let (s1, s2) = (small(fields.bits()?, set.l)?, small(fields.bits()?, set.k)?);
    let d = set.dropped();
    let t0 = vector(fields.bits()?, set.k, d, |one| Some((1 << (d - 1)) - one))?;
    let (t1, low) = scheme::halves(set, &rho, &s1, &s2);
    if let Some(given) = fields.take(ZERO) {
        let mut given = Reader(given);
        (given.bits()? == t1).then_some(())?;
        given.ends()?;
    }
    fields.ends()?;
    let public = Public { rho, t1 };
    let same = low.iter().zip(t0.iter()).all(|(own, given)| own.0 == given.0);
    (same && tr == scheme::hash(set, &public)).then(|| (public, Private { key, tr, s1, s2, t0 }))
}

fn vector(
    bytes: &[u8],
    count: usize,
    bits: u32,
    form: impl Fn(i32) -> Option<i32> + Copy,
) -> Option<Zeroizing<Vec<Poly>>> {
    (bytes.len() == 32 * bits as usize * count).then_some(())?;
    let all: Option<Vec<Poly>> = bytes.chunks(32 * bits as usize).map(|one| Poly::unpack(one, bits, form)).collect();
    all.map(Zeroizing::new)
}

/// A BIT STRING of packed polynomials.
fn packed(all: &[Poly], bits: u32, form: impl Fn(i32) -> i32 + Copy) -> Secret {
    let mut out = Secret::new(Vec::with_capacity(32 * bits as usize * all.len()));
    all.iter().for_each(|one| one.pack(bits, &mut out, form));
    der::put(BITS, &[&[0], &out])
}

fn bits(bytes: &[u8]) -> Secret {
    der::put(BITS, &[&[0], bytes])
}

impl Own for Key {
    fn kind(&self) -> u32 {
        k::IBM_DILITHIUM
    }

    fn bits(&self) -> u32 {
        8 * (32 + self.public.t1.len() as u32)
    }

    fn strength(&self) -> u32 {
        self.set.strength
    }

    fn points(&self) -> &'static [u8] {
        &[c::PQC, c::DILITHIUM]
    }

    fn describe(&self, _: &mut Attributes) -> Result {
        Ok(())
    }

    fn is_private(&self) -> bool {
        self.private.is_some()
    }

    fn pkcs8(&self) -> Option<Secret> {
        let (set, private) = (self.set, self.private.as_ref()?);
        let d = set.dropped();
        let small = |all: &[Poly]| packed(all, set.secret_bits(), |one| set.eta - one);
        let fields = [
            der::put(INTEGER, &[&[0]]),
            bits(&self.public.rho),
            bits(&private.key[..]),
            bits(&private.tr),
            small(&private.s1),
            small(&private.s2),
            packed(&private.t0, d, |one| (1 << (d - 1)) - one),
            der::put(ZERO, &[&bits(&self.public.t1)]),
        ];
        let fields: Vec<&[u8]> = fields.iter().map(|field| &field[..]).collect();
        Some(Pkcs8::put(set.oid, NULL, &der::put(SEQUENCE, &fields)))
    }

    fn spki(&self) -> Vec<u8> {
        let key = der::put(SEQUENCE, &[&bits(&self.public.rho), &bits(&self.public.t1)]);
        Spki::put(self.set.oid, NULL, &key)
    }

    fn signature(&self, scheme: Scheme) -> Option<usize> {
        (scheme == Scheme::Dilithium).then(|| self.set.signature())
    }

    fn sign(&self, _: Scheme, data: &[u8]) -> Result<Vec<u8>> {
        let private = self.private.as_ref().ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        let signature = scheme::sign(self.set, &self.public.rho, private, data);
        ensure(signature.len() == self.set.signature(), rv::FUNCTION_FAILED)?;
        Ok(signature)
    }

    fn verify(&self, _: Scheme, data: &[u8], signature: &[u8]) -> bool {
        scheme::verify(self.set, &self.public, data, signature)
    }

    fn tested(&self) -> Option<Scheme> {
        Some(Scheme::Dilithium)
    }
}
