//! RSA signatures of ANSI X9.31: the block `6B BB ... BB BA | hash | its number | CC`, and of the two numbers that give it the smaller one. The hash's number is
//! that of ISO/IEC 10118; data that come hashed have it already, as PKCS #11 and OpenSSL's RSA_X931_PADDING want.

use crate::error::{Result as Ours, Rv as Code};
use crate::key::Key;
use adjunct::ops::digest::{Digest, MAX_SIZE};
use adjunct::ops::rsa::MAX_SIZE as MAX_MODULUS;
use adjunct_ep11_wire::codes::rv;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::Held;
use adjunct_mechanisms::object::key::ObjectKey as Core;
use adjunct_mechanisms::operation::{Again, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The number of SHA-1.
const SHA1: u8 = 0x33;

enum Data {
    Hashed(Box<Digest>),
    Plain(Vec<u8>),
}

struct Running {
    key: Held,
    modulus: Vec<u8>,
    data: Data,
}

/// The block that is signed of a hash with its number.
fn block(length: usize, data: &[u8]) -> Result<Vec<u8>> {
    ensure(data.len() + 2 <= length, CKR_DATA_LEN_RANGE)?;
    let mut block = vec![0xbb; length];
    let first = length - data.len() - 1;
    match first {
        // Without room for the byte that ends the filling.
        1 => block[0] = 0x6a,
        _ => (block[0], block[first - 1]) = (0x6b, 0xba),
    }
    block[first..length - 1].copy_from_slice(data);
    block[length - 1] = 0xcc;
    Ok(block)
}

/// The modulus less a number.
fn other(modulus: &[u8], number: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut out: Vec<u8> = modulus
        .iter()
        .zip(number)
        .rev()
        .map(|(of, less)| {
            let left = i16::from(*of) - i16::from(*less) - borrow;
            borrow = i16::from(left < 0);
            left.rem_euclid(256) as u8
        })
        .collect();
    out.reverse();
    out
}

fn begin(key: &Key, hashes: bool) -> Ours<Running> {
    let held = key.material.held.clone();
    let rsa = matches!(&*held.key()?, Core::Rsa(_));
    let modulus = held.attributes.bytes(CKA_MODULUS).filter(|_| rsa).ok_or(Code(rv::KEY_TYPE_INCONSISTENT))?;
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let modulus = modulus[zeros..].to_vec();
    let data = if hashes { Data::Hashed(Digest::boxed(Hash::Sha1.method())?) } else { Data::Plain(Vec::new()) };
    Ok(Running { key: held, modulus, data })
}

/// Begins a signature, of data that are hashed by SHA-1 (`hashes`) or that are a hash with its number.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub(crate) fn signer(key: &Key, hashes: bool) -> Ours<Box<dyn Signer>> {
    Ok(Box::new(begin(key, hashes)?))
}

/// Begins the check of a signature.
///
/// # Errors
/// As [`signer`].
pub(crate) fn verifier(key: &Key, hashes: bool) -> Ours<Box<dyn Verifier>> {
    Ok(Box::new(begin(key, hashes)?))
}

impl Running {
    fn take(&mut self, part: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest) => digest.update(part),
            Data::Plain(data) => {
                ensure(part.len() <= self.modulus.len().saturating_sub(2 + data.len()), CKR_DATA_LEN_RANGE)?;
                data.extend_from_slice(part);
            }
        }
        Ok(())
    }

    /// The block of the data.
    fn wanted(&mut self) -> Result<Vec<u8>> {
        match &mut self.data {
            Data::Hashed(digest) => {
                let (mut room, size) = ([0; MAX_SIZE], digest.method().size);
                digest.finish(&mut room[..size]);
                room[size] = SHA1;
                block(self.modulus.len(), &room[..=size])
            }
            Data::Plain(data) => block(self.modulus.len(), data),
        }
    }
}

impl Again for Running {
    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        match &self.data {
            Data::Hashed(digest) => Again::running(&**digest),
            Data::Plain(data) => Some(Zeroizing::new(data.clone())),
        }
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest) => Again::resume(&mut **digest, running),
            Data::Plain(data) => {
                data.clear();
                self.take(running)
            }
        }
    }
}

impl Signer for Running {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn length(&self) -> usize {
        self.modulus.len()
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let block = self.wanted()?;
        let mut raw = Mechanism::new(CKM_RSA_X_509, Params::None).signer(self.key.clone())?;
        let mut signature = vec![0; self.modulus.len()];
        let length = raw.once(&block, &mut signature)?;
        ensure(length == signature.len(), CKR_FUNCTION_FAILED)?;
        // A signature is public, and so is which of the two it is.
        let other = other(&self.modulus, &signature);
        let least = if other < signature { other } else { signature };
        out[..length].copy_from_slice(&least);
        Ok(length)
    }
}

impl Verifier for Running {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        ensure(signature.len() == self.modulus.len(), CKR_SIGNATURE_LEN_RANGE)?;
        let wanted = self.wanted()?;
        // The larger of the two is none.
        ensure(signature <= &other(&self.modulus, signature)[..], CKR_SIGNATURE_INVALID)?;
        let key = self.key.key()?;
        let Core::Rsa(key) = &*key else { return fail(CKR_KEY_TYPE_INCONSISTENT) };
        let mut room = [0; MAX_MODULUS];
        let opened = key.open(signature, &mut room).map_err(|_| Rv(CKR_SIGNATURE_INVALID))?;
        let opened = if opened.last().is_some_and(|last| last & 0xf == 0xc) {
            opened.to_vec()
        } else {
            other(&self.modulus, opened)
        };
        ensure(bool::from(opened.ct_eq(&wanted)), CKR_SIGNATURE_INVALID)
    }
}
