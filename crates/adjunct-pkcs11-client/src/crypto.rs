//! What programs compute by a module: signatures, encryption, hashes, random numbers.

use super::{Mechanism, Rv, Session, done, length};
use cryptoki_sys::*;

impl Session<'_> {
    /// Signs data at once into `out`; how long the signature is.
    ///
    /// # Errors
    /// What the module returns.
    pub fn sign(
        &self,
        mechanism: Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Rv> {
        mechanism.with(|mechanism| call!(self.module, C_SignInit, self.handle, mechanism, key))?;
        let mut size = length(out);
        let from = data.as_ptr().cast_mut();
        call!(self.module, C_Sign, self.handle, from, length(data), out.as_mut_ptr(), &raw mut size)?;
        Ok(size as usize)
    }

    /// Checks a signature of data.
    ///
    /// # Errors
    /// What the module returns.
    pub fn verify(
        &self,
        mechanism: Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
        signature: &[u8],
    ) -> Result<(), Rv> {
        mechanism.with(|mechanism| call!(self.module, C_VerifyInit, self.handle, mechanism, key))?;
        let (from, signature_at) = (data.as_ptr().cast_mut(), signature.as_ptr().cast_mut());
        call!(self.module, C_Verify, self.handle, from, length(data), signature_at, length(signature))
    }

    /// Encrypts data at once into `out`; how long the result is.
    ///
    /// # Errors
    /// What the module returns.
    pub fn encrypt(
        &self,
        mechanism: Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Rv> {
        mechanism.with(|mechanism| call!(self.module, C_EncryptInit, self.handle, mechanism, key))?;
        let mut size = length(out);
        let from = data.as_ptr().cast_mut();
        call!(self.module, C_Encrypt, self.handle, from, length(data), out.as_mut_ptr(), &raw mut size)?;
        Ok(size as usize)
    }

    /// Hashes data at once into `out`; how long the result is.
    ///
    /// # Errors
    /// What the module returns.
    pub fn digest(&self, mechanism: Mechanism<'_>, data: &[u8], out: &mut [u8]) -> Result<usize, Rv> {
        mechanism.with(|mechanism| call!(self.module, C_DigestInit, self.handle, mechanism))?;
        let mut size = length(out);
        let from = data.as_ptr().cast_mut();
        call!(self.module, C_Digest, self.handle, from, length(data), out.as_mut_ptr(), &raw mut size)?;
        Ok(size as usize)
    }

    /// Fills `out` with random bytes.
    ///
    /// # Errors
    /// What the module returns.
    pub fn random(&self, out: &mut [u8]) -> Result<(), Rv> {
        call!(self.module, C_GenerateRandom, self.handle, out.as_mut_ptr(), length(out))
    }
}
