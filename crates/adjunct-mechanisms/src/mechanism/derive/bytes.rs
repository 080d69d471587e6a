//! Keys made of keys and data by plain means: bits taken out, XOR, encryption of data, hashes.

use super::{Derivation, Derive, Secret};
use crate::mechanism::hash::Hash;
use crate::mechanism::params::Shape;
use crate::mechanism::registry::{Entry, LONG};
use crate::object::Object;
use crate::rv::{Result, Rv, ensure};
use adjunct::InOut;
use adjunct::ops::cipher::once::{Aes, TripleDes, cbc, ecb};
use adjunct::ops::digest::Digest;
use cryptoki_sys::*;
use zeroize::Zeroizing;

const fn entry(kind: CK_MECHANISM_TYPE, derive: Derive) -> Entry {
    Entry::new(kind, 1, LONG, CKF_DERIVE, Shape::Derive(derive))
}

const fn hashes(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    entry(kind, Derive::Hash).hash(hash)
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry(CKM_CONCATENATE_BASE_AND_KEY, Derive::Key),
    entry(CKM_CONCATENATE_BASE_AND_DATA, Derive::Data(|data| Derivation::BaseAndData(data))),
    entry(CKM_CONCATENATE_DATA_AND_BASE, Derive::Data(|data| Derivation::DataAndBase(data))),
    entry(CKM_XOR_BASE_AND_DATA, Derive::Data(|data| Derivation::Xor(data))),
    entry(CKM_EXTRACT_KEY_FROM_KEY, Derive::Extract),
    hashes(CKM_MD5_KEY_DERIVATION, Hash::Md5),
    hashes(CKM_SHA1_KEY_DERIVATION, Hash::Sha1),
    hashes(CKM_SHA224_KEY_DERIVATION, Hash::Sha224),
    hashes(CKM_SHA256_KEY_DERIVATION, Hash::Sha256),
    hashes(CKM_SHA384_KEY_DERIVATION, Hash::Sha384),
    hashes(CKM_SHA512_KEY_DERIVATION, Hash::Sha512),
    hashes(CKM_SHA512_224_KEY_DERIVATION, Hash::Sha512_224),
    hashes(CKM_SHA512_256_KEY_DERIVATION, Hash::Sha512_256),
    hashes(CKM_SHA3_224_KEY_DERIVATION, Hash::Sha3_224),
    hashes(CKM_SHA3_256_KEY_DERIVATION, Hash::Sha3_256),
    hashes(CKM_SHA3_384_KEY_DERIVATION, Hash::Sha3_384),
    hashes(CKM_SHA3_512_KEY_DERIVATION, Hash::Sha3_512),
];

/// A block cipher's encryption of data under the base key, in whole blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encrypt<'a> {
    /// The cipher.
    pub mode: Mode,
    /// What is encrypted.
    pub data: &'a [u8],
}

/// Cipher and mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// AES-ECB.
    AesEcb,
    /// AES-CBC with an IV.
    AesCbc([u8; 16]),
    /// Triple DES in ECB.
    Des3Ecb,
    /// Triple DES in CBC with an IV.
    Des3Cbc([u8; 8]),
}

impl Encrypt<'_> {
    /// Encrypts the data by the base key.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`; `CKR_MECHANISM_PARAM_INVALID` for data that are not whole blocks, or none.
    pub fn derive(&self, base: &Object) -> Result<Secret> {
        let (block, kind) = match self.mode {
            Mode::AesEcb | Mode::AesCbc(_) => (16, CKK_AES),
            Mode::Des3Ecb | Mode::Des3Cbc(_) => (8, CKK_DES3),
        };
        ensure(base.key_type() == Some(kind), CKR_KEY_TYPE_INCONSISTENT)?;
        ensure(!self.data.is_empty() && self.data.len().is_multiple_of(block), CKR_MECHANISM_PARAM_INVALID)?;
        let (key, mut out) = (base.clear_value()?, adjunct::memory::zeros(self.data.len())?);
        let io = InOut::apart(self.data, &mut out);
        match self.mode {
            Mode::AesEcb => ecb::<Aes, 16>(key, true, io),
            Mode::AesCbc(mut iv) => cbc::<Aes, 16>(key, &mut iv, true, io),
            Mode::Des3Ecb => ecb::<TripleDes, 8>(key, true, io),
            Mode::Des3Cbc(mut iv) => cbc::<TripleDes, 8>(key, &mut iv, true, io),
        }?;
        Ok(out)
    }
}

/// The XOR of a key and data, as long as the shorter of the two.
pub fn xor(base: &[u8], data: &[u8]) -> Result<Secret> {
    let length = base.len().min(data.len());
    ensure(length > 0, CKR_MECHANISM_PARAM_INVALID)?;
    let mut key = adjunct::memory::zeros(length)?;
    key.iter_mut().zip(base.iter().zip(data)).for_each(|(out, (a, b))| *out = a ^ b);
    Ok(key)
}

/// Bytes of a key from bit `bit` on, counted from the highest bit of the first byte; after the last bit comes the first.
pub fn extract(base: &[u8], bit: u64, wanted: Option<usize>) -> Result<Secret> {
    let length = wanted.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    ensure(bit < base.len() as u64 * 8, CKR_MECHANISM_PARAM_INVALID)?;
    ensure(length <= base.len(), CKR_KEY_SIZE_RANGE)?;
    let (start, shift) = ((bit / 8) as usize, (bit % 8) as u32);
    let mut key = adjunct::memory::zeros(length)?;
    for (at, out) in key.iter_mut().enumerate() {
        let [high, low] = [0, 1].map(|next| u16::from(base[(start + at + next) % base.len()]));
        *out = ((high << 8 | low) >> (8 - shift)) as u8;
    }
    Ok(key)
}

/// The hash of a key.
pub fn hashed(hash: Hash, base: &[u8]) -> Result<Secret> {
    let mut key = adjunct::memory::zeros(hash.size())?;
    let mut digest = Zeroizing::new([0; adjunct::ops::digest::MAX_SIZE]);
    let mut state = Digest::new(hash.method());
    state.update(base);
    state.finish(&mut digest[..]);
    key.copy_from_slice(&digest[..hash.size()]);
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_taken_from_where_they_are_wanted() {
        let base = [0x32, 0x9f, 0x84, 0xa9];
        let taken = |bit, length| extract(&base, bit, Some(length)).map(|key| key.to_vec());
        // PKCS #11 3.2, 6.43.7: from bit 21 on.
        assert_eq!(taken(21, 2), Ok(vec![0x95, 0x26]));
        assert_eq!(taken(0, 4), Ok(base.to_vec()));
        assert_eq!(taken(8, 4), Ok(vec![0x9f, 0x84, 0xa9, 0x32]));
        assert_eq!(taken(31, 1), Ok(vec![0x99]));
        assert_eq!(taken(32, 1), Err(Rv(CKR_MECHANISM_PARAM_INVALID)));
        assert_eq!(taken(0, 5), Err(Rv(CKR_KEY_SIZE_RANGE)));
        assert_eq!(extract(&base, 0, None), Err(Rv(CKR_TEMPLATE_INCOMPLETE)));
    }
}
