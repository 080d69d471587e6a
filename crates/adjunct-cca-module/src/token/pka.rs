//! PKA tokens: RSA and ECC keys.
//!
//! A header (1F internal, 1E external; version 00; length (2); 0 (4)), then sections, each with id (1), version 00, length (2).

use super::{half, part};
use crate::aeskw;
use crate::error::{Result, ensure, fail};
use crate::pattern::Mkvp;
use adjunct::ops::digest::sha256;
use adjunct::ops::random::random;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

const HEADER: usize = 8;
/// RSA, public: e and n.
const RSA_PUBLIC: u8 = 0x04;
/// RSA, private, with an object protection key: d.
const RSA_ME: u8 = 0x30;
/// RSA, private, with an object protection key: p, q, dp, dq, u.
const RSA_CRT: u8 = 0x31;
/// ECC, private.
const ECC_PRIVATE: u8 = 0x20;
/// ECC, public.
const ECC_PUBLIC: u8 = 0x21;
/// The longest token.
pub const LONGEST: usize = 8000;

/// A private part.
#[derive(Clone)]
pub enum Private {
    /// Clear: of an external token.
    Clear(Zeroizing<Vec<u8>>),
    /// Under an object protection key, which is under the master key of such a pattern.
    Wrapped {
        /// The pattern.
        mkvp: Mkvp,
        /// The object protection key.
        opk: [u8; 48],
        /// What is bound to the key.
        associated: Vec<u8>,
        /// The key.
        payload: Vec<u8>,
    },
}

adjunct::opaque_debug!(Private);

/// The form of an RSA private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// d.
    Me,
    /// p, q, dp, dq and u, with their lengths.
    Crt([usize; 5]),
}

/// What a token has.
#[derive(Debug, Clone)]
pub enum Key {
    /// An RSA key.
    Rsa {
        /// The private part, its form, and the usage byte.
        private: Option<(Private, Form, u8)>,
        /// The modulus.
        n: Vec<u8>,
        /// The public exponent.
        e: Vec<u8>,
    },
    /// An ECC key.
    Ecc {
        /// The private part, and the usage byte.
        private: Option<(Private, u8)>,
        /// The type of the curve: 0 prime, 1 Brainpool, 2 Edwards, 3 Koblitz.
        curve: u8,
        /// Bits of p.
        bits: u16,
        /// The point, as 04 x y.
        public: Vec<u8>,
    },
}

const WRONG: Code = Code::PKA_TOKEN;

fn sections(token: &[u8]) -> Result<Vec<(u8, &[u8])>> {
    let length = half(token, 2);
    let Some(mut rest) =
        token.get(HEADER..length).filter(|_| length <= LONGEST && token[1] == 0 && token[4..8] == [0; 4])
    else {
        return fail(WRONG);
    };
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = half(rest, 2);
        let Some((section, after)) = rest.split_at_checked(length).filter(|_| length >= 12 && found.len() < 4) else {
            return fail(WRONG);
        };
        ensure(section[1] == 0, WRONG)?;
        found.push((section[0], section));
        rest = after;
    }
    Ok(found)
}

fn section(id: u8, body: &[&[u8]]) -> Vec<u8> {
    let length = 4 + body.iter().map(|part| part.len()).sum::<usize>();
    let mut out = vec![id, 0];
    out.extend_from_slice(&(length as u16).to_be_bytes());
    body.iter().for_each(|part| out.extend_from_slice(part));
    out
}

fn ecc_associated(curve: u8, bits: u16, usage: u8) -> [u8; 16] {
    let mut out = [0; 16];
    // Version, length of a name, of IBM's data (16), of its extension, of the user's; then the curve.
    out[3] = 16;
    out[7] = curve;
    out[8..10].copy_from_slice(&bits.to_be_bytes());
    (out[10], out[11]) = (usage, 8);
    out
}

impl Key {
    /// The private part.
    #[must_use]
    pub fn private(&self) -> Option<&Private> {
        match self {
            Key::Rsa { private, .. } => private.as_ref().map(|(private, ..)| private),
            Key::Ecc { private, .. } => private.as_ref().map(|(private, _)| private),
        }
    }

    /// The key with another private part of the same form.
    #[must_use]
    pub fn with_private(mut self, new: Private) -> Key {
        match &mut self {
            Key::Rsa { private: Some((private, ..)), .. } | Key::Ecc { private: Some((private, _)), .. } => {
                *private = new
            }
            _ => {}
        }
        self
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> Key {
        let mut public = self.clone();
        match &mut public {
            Key::Rsa { private, .. } => *private = None,
            Key::Ecc { private, .. } => *private = None,
        }
        public
    }

    /// Reads the token that an identifier begins with; what is behind it is not looked at.
    ///
    /// # Errors
    /// 8/770.
    pub fn parse(identifier: &[u8]) -> Result<Key> {
        ensure(identifier.len() > HEADER && matches!(identifier[0], 0x1e | 0x1f), WRONG)?;
        let internal = identifier[0] == 0x1f;
        match sections(identifier)?[..] {
            [(RSA_PUBLIC, public)] => rsa(None, public),
            [(RSA_ME | RSA_CRT, private), (RSA_PUBLIC, public)] if internal => rsa(Some(private), public),
            [(ECC_PUBLIC, public)] => ecc(None, public),
            [(ECC_PRIVATE, private), (ECC_PUBLIC, public)] if internal => ecc(Some(private), public),
            _ => fail(WRONG),
        }
    }

    /// The token as bytes.
    ///
    /// # Errors
    /// 8/770 for what would be too long, and for a clear private key, which is in no token here.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (private, public) = match self {
            Key::Rsa { private, n, e } => {
                let lone = private.is_none();
                let bits = (adjunct::ops::rsa::bits(n) as u16).to_be_bytes();
                let there = if lone { n.len() as u16 } else { 0 };
                let lengths = [[0, 0], (e.len() as u16).to_be_bytes(), bits, there.to_be_bytes()].concat();
                let public = section(RSA_PUBLIC, &[&lengths, e, if lone { n } else { &[] }]);
                let private = match private {
                    None => None,
                    Some((Private::Wrapped { mkvp, opk, associated, payload }, form, _)) => {
                        let mut head = (associated.len() as u16).to_be_bytes().to_vec();
                        head.extend_from_slice(&(payload.len() as u16).to_be_bytes());
                        head.extend([0, 0]);
                        head.extend_from_slice(associated);
                        let id = if *form == Form::Me { RSA_ME } else { RSA_CRT };
                        Some(section(id, &[&head, opk, mkvp, &[0; 8], &[0; 2], n, payload]))
                    }
                    Some(_) => return fail(WRONG),
                };
                (private, public)
            }
            Key::Ecc { private, curve, bits, public } => {
                let mut head = vec![0, 0, 0, 0, *curve, 0];
                head.extend_from_slice(&bits.to_be_bytes());
                head.extend_from_slice(&(public.len() as u16).to_be_bytes());
                let public = section(ECC_PUBLIC, &[&head, public]);
                let private = match private {
                    None => None,
                    Some((Private::Wrapped { mkvp, opk, associated, payload }, usage)) => {
                        let mut head = vec![1, 2, 0, 0, *usage, *curve, 8, 24];
                        head.extend_from_slice(&bits.to_be_bytes());
                        head.extend_from_slice(&(associated.len() as u16).to_be_bytes());
                        head.extend_from_slice(mkvp);
                        head.extend_from_slice(opk);
                        head.extend_from_slice(&(associated.len() as u16).to_be_bytes());
                        head.extend_from_slice(&(payload.len() as u16).to_be_bytes());
                        Some(section(ECC_PRIVATE, &[&head, associated, payload]))
                    }
                    Some(_) => return fail(WRONG),
                };
                (private, public)
            }
        };
        let id = if private.is_some() { 0x1f } else { 0x1e };
        let private = private.unwrap_or_default();
        let length = HEADER + private.len() + public.len();
        ensure(length <= LONGEST, WRONG)?;
        let mut out = vec![id, 0];
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.extend([0; 4]);
        out.extend(private);
        out.extend(public);
        Ok(out)
    }
}

fn rsa(private: Option<&[u8]>, public: &[u8]) -> Result<Key> {
    let (e_length, bits, n_length) = (half(public, 6), half(public, 8), half(public, 10));
    let Some((e, n)) = public[12..].split_at_checked(e_length).filter(|(_, n)| n.len() == n_length) else {
        return fail(WRONG);
    };
    ensure(public[4..6] == [0; 2] && e_length != 0 && private.is_some() == n.is_empty(), WRONG)?;
    let Some(section) = private else {
        ensure(adjunct::ops::rsa::bits(n) == bits, WRONG)?;
        return Ok(Key::Rsa { private: None, n: n.to_vec(), e: e.to_vec() });
    };
    let crt = section[0] == RSA_CRT;
    // Where the associated data ends and the object protection key begins; where the modulus begins.
    let (end, numbers) = if crt { (68, 134) } else { (56, 122) };
    ensure(section.len() > numbers && half(section, 4) == end - 10 && section[8..10] == [0; 2], WRONG)?;
    let associated = section[10..end].to_vec();
    let form = if crt { Form::Crt([52, 54, 56, 58, 60].map(|at| half(section, at))) } else { Form::Me };
    let n_length = half(section, if crt { 62 } else { 52 });
    let Some((n, payload)) = section[numbers..].split_at_checked(n_length) else { return fail(WRONG) };
    ensure(payload.len() == half(section, 6) && adjunct::ops::rsa::bits(n) == bits && n_length != 0, WRONG)?;
    // The section binds the public one behind it by its hash.
    ensure(section[14] == 2 && section[15..47] == sha256(&[public]) && section[11] == if crt { 8 } else { 2 }, WRONG)?;
    ensure(section[end + 56..numbers].iter().all(|byte| *byte == 0), WRONG)?;
    let wrapped = Private::Wrapped {
        mkvp: part(section, end + 48),
        opk: part(section, end),
        associated,
        payload: payload.to_vec(),
    };
    Ok(Key::Rsa { private: Some((wrapped, form, section[50])), n: n.to_vec(), e: e.to_vec() })
}

fn ecc(private: Option<&[u8]>, public: &[u8]) -> Result<Key> {
    ensure(public.len() > 14 && public[4..8] == [0; 4] && public[9] == 0, WRONG)?;
    let (curve, bits, point) = (public[8], half(public, 10) as u16, public[14..].to_vec());
    ensure(point.len() == half(public, 12), WRONG)?;
    let Some(section) = private else { return Ok(Key::Ecc { private: None, curve, bits, public: point }) };
    ensure(section.len() > 76 && section[4..8] == [1, 2, 0, 0] && section[10..12] == [8, 24], WRONG)?;
    let usage = section[8];
    let Some((associated, payload)) = section[76..].split_at_checked(half(section, 72)) else { return fail(WRONG) };
    let same = section[9] == curve && half(section, 12) == usize::from(bits) && half(section, 14) == associated.len();
    ensure(same && payload.len() == half(section, 74) && associated == ecc_associated(curve, bits, usage), WRONG)?;
    let wrapped = Private::Wrapped {
        mkvp: part(section, 16),
        opk: part(section, 24),
        associated: associated.to_vec(),
        payload: payload.to_vec(),
    };
    Ok(Key::Ecc { private: Some((wrapped, usage)), curve, bits, public: point })
}

impl Private {
    fn wrap(under: &[u8], mkvp: Mkvp, associated: Vec<u8>, key: &[u8]) -> Result<Private> {
        let mut opk = Zeroizing::new([0; 32]);
        random(&mut opk[..]);
        let payload = aeskw::wrap(&opk[..], &associated, key, aeskw::length(key.len()))?.to_vec();
        Ok(Private::Wrapped { mkvp, opk: aeskw::wrap_opk(under, &opk)?, associated, payload })
    }

    /// Wraps the scalar of an ECC key under an APKA master key.
    ///
    /// # Errors
    /// As [`aeskw::wrap`].
    pub fn of_ecc(under: &[u8], mkvp: Mkvp, curve: u8, bits: u16, usage: u8, scalar: &[u8]) -> Result<Private> {
        Private::wrap(under, mkvp, ecc_associated(curve, bits, usage).to_vec(), scalar)
    }

    /// Wraps the numbers of an RSA key, with the hash of its public section, under an APKA master key: d, or p, q, dp, dq and u.
    ///
    /// # Errors
    /// As [`aeskw::wrap`].
    pub fn of_rsa(under: &[u8], mkvp: Mkvp, usage: u8, numbers: &[&[u8]], n: &[u8], e: &[u8]) -> Result<Private> {
        let bits = (adjunct::ops::rsa::bits(n) as u16).to_be_bytes();
        let public = section(RSA_PUBLIC, &[&[0, 0], &(e.len() as u16).to_be_bytes(), &bits, &[0, 0], e]);
        let crt = numbers.len() == 5;
        // The section from 10 to 68, or to 56.
        let (mut associated, version, form) = if crt { (vec![0; 58], 5, 8) } else { (vec![0; 46], 4, 2) };
        associated[..5].copy_from_slice(&[version, form, 24, 0, 2]);
        associated[5..37].copy_from_slice(&sha256(&[&public]));
        associated[40] = usage;
        let of_crt = numbers.iter().filter(|_| crt).map(|number| number.len());
        let places = associated[42..].as_chunks_mut().0.iter_mut();
        for (place, length) in places.zip(of_crt.chain([n.len()])) {
            *place = (length as u16).to_be_bytes();
        }
        let key = Zeroizing::new(numbers.concat());
        Private::wrap(under, mkvp, associated, &key)
    }

    /// The key: the scalar of an ECC key, the numbers of an RSA key one behind the other.
    ///
    /// # Errors
    /// 8/47 where it was not wrapped so.
    pub fn unwrap(&self, under: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        match self {
            Private::Clear(key) => Ok(key.clone()),
            Private::Wrapped { opk, associated, payload, .. } => {
                let opk = aeskw::unwrap_opk(under, opk)?;
                aeskw::unwrap(&opk[..], associated, payload)
            }
        }
    }

    /// The same key under another master key: its object protection key is wrapped anew.
    ///
    /// # Errors
    /// 8/47 where the object protection key was not wrapped so.
    pub fn rewrapped(&self, from: &[u8], to: &[u8], mkvp: Mkvp) -> Result<Private> {
        let mut made = self.clone();
        if let Private::Wrapped { mkvp: pattern, opk, .. } = &mut made {
            *opk = aeskw::wrap_opk(to, &*aeskw::unwrap_opk(from, opk)?)?;
            *pattern = mkvp;
        }
        Ok(made)
    }
}
