//! Keys of finite fields: Diffie-Hellman (PKCS #3; SP 800-56A, 5.7.1.1) and DSA (FIPS 186-4).
//!
//! Domain parameters are checked where they come from a program: primes, the order of the generator. Those of blobs and MACed public keys were.

use super::modular::{Modulus, trimmed};
use super::{Own, Scheme, Secret, Shared};
use crate::der::{self, INTEGER, Pkcs8, Reader, SEQUENCE, Spki};
use crate::error::{Result, Rv, ensure, fail};
use adjunct_ep11_wire::codes::{control as c, key as k, rv};
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::object::attributes::Attributes;
use cryptoki_sys::*;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Bits of primes.
pub(crate) const PRIMES: (u32, u32) = (512, 4096);

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// PKCS #3.
    Agreement,
    /// DSA.
    Signatures,
}

impl Use {
    const fn oid(self) -> &'static [u8] {
        match self {
            Use::Agreement => &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 3, 1],
            Use::Signatures => &[0x2a, 0x86, 0x48, 0xce, 0x38, 4, 1],
        }
    }
}

/// Domain parameters: a prime, the order of the generator where it is known, the generator.
#[derive(Clone)]
pub(crate) struct Domain {
    p: Arc<Modulus>,
    q: Option<Arc<Modulus>>,
    g: Vec<u8>,
}

/// Whether a number is no longer than the longest prime.
fn is_short(number: &[u8]) -> bool {
    trimmed(number).len() <= PRIMES.1.div_ceil(8) as usize
}

impl Domain {
    fn new(p: &[u8], q: Option<&[u8]>, g: &[u8]) -> Option<Domain> {
        // Before any arithmetic: whoever asks need have no key, and a number may be as long as a request.
        (is_short(p) && q.is_none_or(is_short) && is_short(g)).then_some(())?;
        let p = Modulus::new(p)?;
        let q = q.map(|q| Modulus::new(q).ok_or(())).transpose().ok()?;
        let fits = (PRIMES.0..=PRIMES.1).contains(&p.bits()) && p.has_within(g);
        let order = q.as_ref().is_none_or(|q| q.bits() >= 160 && q.bits() < p.bits());
        (fits && order).then(|| Domain { p: Arc::new(p), q: q.map(Arc::new), g: trimmed(g).to_vec() })
    }

    /// Parameters of `CKA_IBM_STRUCT_PARAMS`: numbers of the prime's length behind each other.
    pub(crate) fn of_struct(kind: Use, bytes: &[u8]) -> Option<Domain> {
        let count = if kind == Use::Signatures { 3 } else { 2 };
        (!bytes.is_empty() && bytes.len().is_multiple_of(count)).then_some(())?;
        let parts: Vec<&[u8]> = bytes.chunks(bytes.len() / count).collect();
        match parts[..] {
            [p, g] => Domain::new(p, None, g),
            [p, q, g] => Domain::new(p, Some(q), g),
            _ => None,
        }
    }

    /// Whether the primes are, and the generator has the order.
    fn is_valid(&self) -> bool {
        let order = match &self.q {
            None => true,
            Some(q) => {
                let one = self.p.power(&self.g, &q.bytes);
                let (last, zeros) = one.split_last().unwrap_or((&0, &[]));
                q.is_prime() && *last == 1 && zeros.iter().all(|byte| *byte == 0)
            }
        };
        // The order of the generator is that of all other elements' too.
        let divides = self.q.as_ref().is_none_or(|q| q.reduced(&self.p.less(1)).iter().all(|byte| *byte == 0));
        order && divides && self.p.is_prime()
    }

    /// A new private key.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCONSISTENT` for parameters that are none.
    pub(crate) fn generate(&self, kind: Use) -> Result<Shared> {
        ensure(self.is_valid(), rv::TEMPLATE_INCONSISTENT)?;
        let private = self.q.as_ref().unwrap_or(&self.p).random();
        let public = self.p.power(&self.g, &private).to_vec();
        let domain = self.clone();
        let private = Some(private);
        let key = Key { kind, domain, private, public };
        ensure(key.is_in_range(), rv::FUNCTION_FAILED)?;
        Ok(Arc::new(key))
    }

    /// The parameters as the algorithm's identifier has them.
    fn der(&self) -> Vec<u8> {
        let q = self.q.as_ref().map(|q| integer(&q.bytes)).unwrap_or_default();
        der::put(SEQUENCE, &[&integer(&self.p.bytes), &q, &integer(&self.g)]).to_vec()
    }
}

fn integer(number: &[u8]) -> Secret {
    let number = trimmed(number);
    let zero: &[u8] = if number.first().is_none_or(|byte| *byte >= 0x80) { &[0] } else { &[] };
    der::put(INTEGER, &[zero, number])
}

/// An INTEGER that is not negative, without what stands before it.
fn number<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let number = reader.take(INTEGER)?;
    number.first().is_some_and(|byte| *byte < 0x80).then(|| trimmed(number))
}

/// A key.
struct Key {
    kind: Use,
    domain: Domain,
    private: Option<Secret>,
    public: Vec<u8>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// The parameters of an algorithm's identifier.
fn domain(oid: &[u8], mut parameters: Reader<'_>) -> Option<(Use, Result<Domain>)> {
    let kind = [Use::Agreement, Use::Signatures].into_iter().find(|kind| kind.oid() == oid)?;
    let mut read = || {
        let mut list = parameters.within(SEQUENCE)?;
        parameters.ends()?;
        let p = number(&mut list)?;
        let q = if kind == Use::Signatures { Some(number(&mut list)?) } else { None };
        let g = number(&mut list)?;
        // PKCS #3 may say how long private keys are.
        _ = (kind == Use::Agreement).then(|| number(&mut list));
        list.ends()?;
        Domain::new(p, q, g)
    };
    let domain = read().ok_or(Rv(rv::WRAPPED_KEY_INVALID));
    Some((kind, domain))
}

/// The private key of PKCS #8; `None` where it is none of these. Where it is foreign, its parameters are checked.
pub(super) fn of_pkcs8(der: &[u8], foreign: bool) -> Option<Result<Shared>> {
    let info = Pkcs8::of(der)?;
    let (kind, domain) = domain(info.oid, info.parameters)?;
    let made = domain.and_then(|domain| {
        let invalid = Rv(rv::WRAPPED_KEY_INVALID);
        let mut reader = Reader(info.key);
        let private = number(&mut reader).filter(|_| reader.ends().is_some()).ok_or(invalid)?;
        // A longer exponent is out of range, and takes as long as it is.
        ensure(is_short(private), invalid.0)?;
        ensure(!foreign || domain.is_valid(), invalid.0)?;
        let public = domain.p.power(&domain.g, private).to_vec();
        let key = Key { kind, domain, private: Some(Secret::new(private.to_vec())), public };
        ensure(key.is_in_range(), invalid.0)?;
        Ok(Arc::new(key) as Shared)
    });
    Some(made)
}

/// The public key of a SubjectPublicKeyInfo; `None` where it is none of these.
pub(super) fn of_spki(der: &[u8]) -> Option<Result<Shared>> {
    let info = Spki::of(der)?;
    let (kind, domain) = domain(info.oid, info.parameters)?;
    let made = domain.and_then(|domain| {
        let mut reader = Reader(info.key);
        let public = number(&mut reader).filter(|_| reader.ends().is_some());
        let public = public.filter(|public| domain.p.has_within(public)).ok_or(Rv(rv::IBM_BLOB_ERROR))?;
        Ok(Arc::new(Key { kind, domain, private: None, public: public.to_vec() }) as Shared)
    });
    Some(made.map_err(|_| Rv(rv::IBM_BLOB_ERROR)))
}

/// A digest as DSA takes it: its first bytes, as many as the order has.
fn leftmost<'a>(q: &Modulus, digest: &'a [u8]) -> &'a [u8] {
    &digest[..digest.len().min(q.len())]
}

impl Key {
    /// Whether the private number is one of the order's, and the public one is no trivial one.
    fn is_in_range(&self) -> bool {
        let Some(private) = &self.private else { return true };
        let order = self.domain.q.as_ref().unwrap_or(&self.domain.p);
        let private = trimmed(private);
        let fits = private == [1] || order.has_within(private) || private == trimmed(&order.less(1));
        fits && self.domain.p.has_within(&self.public)
    }

    fn order(&self) -> Result<&Modulus> {
        let q = self.domain.q.as_deref().filter(|q| q.bits().is_multiple_of(8));
        q.ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))
    }
}

impl Own for Key {
    fn kind(&self) -> u32 {
        match self.kind {
            Use::Agreement => k::DH,
            Use::Signatures => k::DSA,
        }
    }

    fn bits(&self) -> u32 {
        self.domain.p.bits()
    }

    fn strength(&self) -> u32 {
        let order = self.domain.q.as_ref().map_or(u32::MAX, |q| q.bits() / 2);
        let field = match self.bits() {
            0..1024 => 0,
            1024..2048 => 80,
            2048..3072 => 112,
            _ => 128,
        };
        field.min(order)
    }

    fn points(&self) -> &'static [u8] {
        match self.kind {
            Use::Agreement => &[c::DH],
            Use::Signatures => &[c::DSA],
        }
    }

    fn describe(&self, attributes: &mut Attributes) -> Result {
        attributes.set(CKA_PRIME, &self.domain.p.bytes)?;
        if let Some(q) = &self.domain.q {
            attributes.set(CKA_SUBPRIME, &q.bytes)?;
        }
        attributes.set(CKA_BASE, &self.domain.g)?;
        if self.private.is_none() {
            attributes.set(CKA_VALUE, trimmed(&self.public))?;
        }
        Ok(())
    }

    fn pkcs8(&self) -> Option<Secret> {
        Some(Pkcs8::put(self.kind.oid(), &self.domain.der(), &integer(self.private.as_ref()?)))
    }

    fn spki(&self) -> Vec<u8> {
        Spki::put(self.kind.oid(), &self.domain.der(), &integer(&self.public))
    }

    fn signature(&self, scheme: Scheme) -> Option<usize> {
        let dsa = self.kind == Use::Signatures && matches!(scheme, Scheme::Dsa(_));
        dsa.then(|| self.order().ok().map(|q| 2 * q.len())).flatten()
    }

    fn sign(&self, _: Scheme, digest: &[u8]) -> Result<Vec<u8>> {
        let private = self.private.as_ref().ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        let q = self.order()?;
        for _ in 0..64 {
            let nonce = q.random();
            let r = q.reduced(&self.domain.p.power(&self.domain.g, &nonce));
            let sum = q.sum(leftmost(q, digest), &q.product(&r, private));
            let s = q.product(&q.inverse(&nonce), &sum);
            if [&r, &s].iter().all(|number| number.iter().any(|byte| *byte != 0)) {
                return Ok([&r[..], &s[..]].concat());
            }
        }
        fail(rv::FUNCTION_FAILED)
    }

    fn verify(&self, _: Scheme, digest: &[u8], signature: &[u8]) -> bool {
        let Ok(q) = self.order() else { return false };
        let Some((r, s)) = signature.split_at_checked(q.len()).filter(|(_, s)| s.len() == q.len()) else {
            return false;
        };
        let within = |number: &[u8]| trimmed(number) == [1] || q.has_within(number) || trimmed(number) == q.less(1);
        if !within(r) || !within(s) {
            return false;
        }
        let inverse = q.inverse(s);
        let (one, two) = (q.product(leftmost(q, digest), &inverse), q.product(r, &inverse));
        let p = &self.domain.p;
        let both = p.product(&p.power(&self.domain.g, &one), &p.power(&self.public, &two));
        bool::from(q.reduced(&both).ct_eq(r))
    }

    fn tested(&self) -> Option<Scheme> {
        (self.kind == Use::Signatures).then_some(Scheme::Dsa(None::<Hash>))
    }

    fn agree(&self, peer: &[u8]) -> Result<Secret> {
        let private = self.private.as_ref().filter(|_| self.kind == Use::Agreement);
        let private = private.ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        // Neither 0, 1 nor the prime less 1, of which the secret is known.
        ensure(self.domain.p.has_within(peer), rv::MECHANISM_PARAM_INVALID)?;
        let mut padded = Zeroizing::new(vec![0; self.domain.p.len()]);
        let first = padded.len() - private.len();
        padded[first..].copy_from_slice(private);
        Ok(self.domain.p.power(peer, &padded))
    }
}
