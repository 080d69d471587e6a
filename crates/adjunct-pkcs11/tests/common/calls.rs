//! What sessions do. Calls with a result are made twice: for its length, and for itself.

use super::{Attributes, Handle, Mechanism, Result, Session, asked, check, input, length};
use crate::p11;
use cryptoki_sys::*;
use std::ptr::null_mut;

/// Operations that begin with a key: `fn name_init(&self, mechanism, key)`.
macro_rules! begins {
    ($($name:ident $call:ident)*) => { $(
        pub fn $name(&self, mechanism: &Mechanism<'_>, key: Handle) -> Result {
            check(p11!($call(self.0, &mut mechanism.raw(), key)))
        }
    )* };
}

/// Calls that take a part of data and give nothing.
macro_rules! takes {
    ($($name:ident $call:ident)*) => { $(
        pub fn $name(&self, part: &[u8]) -> Result {
            check(p11!($call(self.0, input(part), length(part))))
        }
    )* };
}

/// Calls that take data and give a result.
macro_rules! turns {
    ($($name:ident $call:ident)*) => { $(
        pub fn $name(&self, data: &[u8]) -> Result<Vec<u8>> {
            asked(|out, out_length| p11!($call(self.0, input(data), length(data), out, out_length)))
        }
    )* };
}

/// Calls that give a result.
macro_rules! gives {
    ($($name:ident $call:ident)*) => { $(
        pub fn $name(&self) -> Result<Vec<u8>> {
            asked(|out, out_length| p11!($call(self.0, out, out_length)))
        }
    )* };
}

impl Session {
    begins! {
        encrypt_init C_EncryptInit decrypt_init C_DecryptInit sign_init C_SignInit verify_init C_VerifyInit
        sign_recover_init C_SignRecoverInit verify_recover_init C_VerifyRecoverInit
        message_encrypt_init C_MessageEncryptInit message_decrypt_init C_MessageDecryptInit
        message_sign_init C_MessageSignInit message_verify_init C_MessageVerifyInit
    }
    takes! {
        sign_update C_SignUpdate verify_update C_VerifyUpdate digest_update C_DigestUpdate verify_final C_VerifyFinal
        verify_signature C_VerifySignature verify_signature_update C_VerifySignatureUpdate seed_random C_SeedRandom
    }
    turns! {
        encrypt_once C_Encrypt encrypt_update C_EncryptUpdate decrypt_once C_Decrypt decrypt_update C_DecryptUpdate
        sign_once C_Sign digest_once C_Digest sign_recover C_SignRecover verify_recover C_VerifyRecover
        digest_encrypt_update C_DigestEncryptUpdate decrypt_digest_update C_DecryptDigestUpdate
        sign_encrypt_update C_SignEncryptUpdate decrypt_verify_update C_DecryptVerifyUpdate
    }
    gives! {
        encrypt_final C_EncryptFinal decrypt_final C_DecryptFinal sign_final C_SignFinal digest_final C_DigestFinal
        operation_state C_GetOperationState
    }

    pub fn digest_init(&self, mechanism: &Mechanism<'_>) -> Result {
        check(p11!(C_DigestInit(self.0, &mut mechanism.raw())))
    }

    pub fn digest_key(&self, key: Handle) -> Result {
        check(p11!(C_DigestKey(self.0, key)))
    }

    pub fn verify_once(&self, data: &[u8], signature: &[u8]) -> Result {
        check(p11!(C_Verify(self.0, input(data), length(data), input(signature), length(signature))))
    }

    pub fn verify_signature_init(&self, mechanism: &Mechanism<'_>, key: Handle, signature: &[u8]) -> Result {
        let mut raw = mechanism.raw();
        check(p11!(C_VerifySignatureInit(self.0, &raw mut raw, key, input(signature), length(signature))))
    }

    pub fn verify_signature_final(&self) -> Result {
        check(p11!(C_VerifySignatureFinal(self.0)))
    }

    pub fn set_operation_state(&self, state: &[u8], encryption: Handle, authentication: Handle) -> Result {
        check(p11!(C_SetOperationState(self.0, input(state), length(state), encryption, authentication)))
    }

    pub fn cancel(&self, flags: CK_FLAGS) -> Result {
        check(p11!(C_SessionCancel(self.0, flags)))
    }

    /// Encrypts at once.
    pub fn encrypt(&self, mechanism: &Mechanism<'_>, key: Handle, data: &[u8]) -> Result<Vec<u8>> {
        self.encrypt_init(mechanism, key)?;
        self.encrypt_once(data)
    }

    /// Decrypts at once.
    pub fn decrypt(&self, mechanism: &Mechanism<'_>, key: Handle, data: &[u8]) -> Result<Vec<u8>> {
        self.decrypt_init(mechanism, key)?;
        self.decrypt_once(data)
    }

    /// Encrypts in parts.
    pub fn encrypt_parts(&self, mechanism: &Mechanism<'_>, key: Handle, parts: &[&[u8]]) -> Result<Vec<u8>> {
        self.encrypt_init(mechanism, key)?;
        let mut all = Vec::new();
        for part in parts {
            all.extend(self.encrypt_update(part)?);
        }
        all.extend(self.encrypt_final()?);
        Ok(all)
    }

    /// Decrypts in parts.
    pub fn decrypt_parts(&self, mechanism: &Mechanism<'_>, key: Handle, parts: &[&[u8]]) -> Result<Vec<u8>> {
        self.decrypt_init(mechanism, key)?;
        let mut all = Vec::new();
        for part in parts {
            all.extend(self.decrypt_update(part)?);
        }
        all.extend(self.decrypt_final()?);
        Ok(all)
    }

    /// Signs at once.
    pub fn sign(&self, mechanism: &Mechanism<'_>, key: Handle, data: &[u8]) -> Result<Vec<u8>> {
        self.sign_init(mechanism, key)?;
        self.sign_once(data)
    }

    /// Signs in parts.
    pub fn sign_parts(&self, mechanism: &Mechanism<'_>, key: Handle, parts: &[&[u8]]) -> Result<Vec<u8>> {
        self.sign_init(mechanism, key)?;
        parts.iter().try_for_each(|part| self.sign_update(part))?;
        self.sign_final()
    }

    /// Checks a signature at once.
    pub fn verify(&self, mechanism: &Mechanism<'_>, key: Handle, data: &[u8], signature: &[u8]) -> Result {
        self.verify_init(mechanism, key)?;
        self.verify_once(data, signature)
    }

    /// Checks a signature in parts.
    pub fn verify_parts(&self, mechanism: &Mechanism<'_>, key: Handle, parts: &[&[u8]], signature: &[u8]) -> Result {
        self.verify_init(mechanism, key)?;
        parts.iter().try_for_each(|part| self.verify_update(part))?;
        self.verify_final(signature)
    }

    /// Hashes at once.
    pub fn digest(&self, mechanism: &Mechanism<'_>, data: &[u8]) -> Result<Vec<u8>> {
        self.digest_init(mechanism)?;
        self.digest_once(data)
    }

    /// Hashes in parts.
    pub fn digest_parts(&self, mechanism: &Mechanism<'_>, parts: &[&[u8]]) -> Result<Vec<u8>> {
        self.digest_init(mechanism)?;
        parts.iter().try_for_each(|part| self.digest_update(part))?;
        self.digest_final()
    }

    /// Random bytes.
    pub fn random(&self, bytes: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; bytes];
        check(p11!(C_GenerateRandom(self.0, out.as_mut_ptr(), bytes as CK_ULONG)))?;
        Ok(out)
    }

    pub fn create(&self, attributes: &Attributes) -> Result<Handle> {
        let mut handle = 0;
        check(attributes.with(|list, count| p11!(C_CreateObject(self.0, list, count, &raw mut handle))))?;
        Ok(handle)
    }

    pub fn copy(&self, object: Handle, attributes: &Attributes) -> Result<Handle> {
        let mut handle = 0;
        check(attributes.with(|list, count| p11!(C_CopyObject(self.0, object, list, count, &raw mut handle))))?;
        Ok(handle)
    }

    pub fn destroy(&self, object: Handle) -> Result {
        check(p11!(C_DestroyObject(self.0, object)))
    }

    pub fn generate(&self, mechanism: &Mechanism<'_>, attributes: &Attributes) -> Result<Handle> {
        let (mut handle, mut raw) = (0, mechanism.raw());
        let call = |list, count| p11!(C_GenerateKey(self.0, &raw mut raw, list, count, &raw mut handle));
        check(attributes.with(call))?;
        Ok(handle)
    }

    /// A key pair: the public key's handle, then the private key's.
    pub fn generate_pair(
        &self,
        mechanism: &Mechanism<'_>,
        public: &Attributes,
        private: &Attributes,
    ) -> Result<(Handle, Handle)> {
        let (mut one, mut two, mut raw) = (0, 0, mechanism.raw());
        check(public.with(|list, count| {
            private.with(|other, others| {
                p11!(C_GenerateKeyPair(self.0, &raw mut raw, list, count, other, others, &raw mut one, &raw mut two))
            })
        }))?;
        Ok((one, two))
    }

    /// The value of an attribute.
    pub fn attribute(&self, object: Handle, kind: CK_ATTRIBUTE_TYPE) -> Result<Vec<u8>> {
        let mut place = CK_ATTRIBUTE { type_: kind, pValue: null_mut(), ulValueLen: 0 };
        check(p11!(C_GetAttributeValue(self.0, object, &raw mut place, 1)))?;
        let mut value = vec![0; place.ulValueLen as usize];
        place.pValue = value.as_mut_ptr().cast();
        check(p11!(C_GetAttributeValue(self.0, object, &raw mut place, 1)))?;
        value.truncate(place.ulValueLen as usize);
        Ok(value)
    }

    /// The value of an attribute that is a number.
    pub fn number(&self, object: Handle, kind: CK_ATTRIBUTE_TYPE) -> Result<CK_ULONG> {
        Ok(CK_ULONG::from_ne_bytes(self.attribute(object, kind)?.try_into().expect("a number")))
    }

    /// The value of an attribute that is a boolean.
    pub fn flag(&self, object: Handle, kind: CK_ATTRIBUTE_TYPE) -> Result<bool> {
        Ok(self.attribute(object, kind)? == [CK_TRUE])
    }

    pub fn set_attributes(&self, object: Handle, attributes: &Attributes) -> Result {
        check(attributes.with(|list, count| p11!(C_SetAttributeValue(self.0, object, list, count))))
    }

    /// Finds all objects with these attributes.
    pub fn find(&self, attributes: &Attributes) -> Result<Vec<Handle>> {
        check(attributes.with(|list, count| p11!(C_FindObjectsInit(self.0, list, count))))?;
        let mut all = Vec::new();
        loop {
            let (mut some, mut count) = ([0; 7], 0);
            let rv = p11!(C_FindObjects(self.0, some.as_mut_ptr(), some.len() as CK_ULONG, &raw mut count));
            if rv != CKR_OK || count == 0 {
                p11!(C_FindObjectsFinal(self.0));
                return check(rv).map(|()| all);
            }
            all.extend(&some[..count as usize]);
        }
    }

    pub fn wrap(&self, mechanism: &Mechanism<'_>, wrapping: Handle, key: Handle) -> Result<Vec<u8>> {
        let mut raw = mechanism.raw();
        asked(|out, out_length| p11!(C_WrapKey(self.0, &raw mut raw, wrapping, key, out, out_length)))
    }

    pub fn unwrap(
        &self,
        mechanism: &Mechanism<'_>,
        unwrapping: Handle,
        wrapped: &[u8],
        attributes: &Attributes,
    ) -> Result<Handle> {
        let (mut handle, mut raw) = (0, mechanism.raw());
        let (at, size) = (input(wrapped), length(wrapped));
        let call =
            |list, count| p11!(C_UnwrapKey(self.0, &raw mut raw, unwrapping, at, size, list, count, &raw mut handle));
        check(attributes.with(call))?;
        Ok(handle)
    }

    pub fn wrap_authenticated(
        &self,
        mechanism: &Mechanism<'_>,
        wrapping: Handle,
        key: Handle,
        aad: &[u8],
    ) -> Result<Vec<u8>> {
        let mut raw = mechanism.raw();
        let (at, size) = (input(aad), length(aad));
        asked(|out, out_length| {
            p11!(C_WrapKeyAuthenticated(self.0, &raw mut raw, wrapping, key, at, size, out, out_length))
        })
    }

    pub fn unwrap_authenticated(
        &self,
        mechanism: &Mechanism<'_>,
        unwrapping: Handle,
        wrapped: &[u8],
        attributes: &Attributes,
        aad: &[u8],
    ) -> Result<Handle> {
        let (mut handle, mut raw) = (0, mechanism.raw());
        let (at, size) = (input(wrapped), length(wrapped));
        let call = |list, count| {
            let (aad_at, aad_size) = (input(aad), length(aad));
            p11!(C_UnwrapKeyAuthenticated(
                self.0,
                &raw mut raw,
                unwrapping,
                at,
                size,
                list,
                count,
                aad_at,
                aad_size,
                &raw mut handle
            ))
        };
        check(attributes.with(call))?;
        Ok(handle)
    }

    pub fn derive(&self, mechanism: &Mechanism<'_>, base: Handle, attributes: &Attributes) -> Result<Handle> {
        let (mut handle, mut raw) = (0, mechanism.raw());
        let call = |list, count| p11!(C_DeriveKey(self.0, &raw mut raw, base, list, count, &raw mut handle));
        check(attributes.with(call))?;
        Ok(handle)
    }

    /// Encapsulates a key: its handle, and the ciphertext.
    pub fn encapsulate(
        &self,
        mechanism: &Mechanism<'_>,
        public: Handle,
        attributes: &Attributes,
    ) -> Result<(Handle, Vec<u8>)> {
        let (mut handle, mut raw) = (0, mechanism.raw());
        let ciphertext = asked(|out, out_length| {
            attributes.with(|list, count| {
                p11!(C_EncapsulateKey(self.0, &raw mut raw, public, list, count, out, out_length, &raw mut handle))
            })
        })?;
        Ok((handle, ciphertext))
    }

    pub fn decapsulate(
        &self,
        mechanism: &Mechanism<'_>,
        private: Handle,
        attributes: &Attributes,
        ciphertext: &[u8],
    ) -> Result<Handle> {
        let (mut handle, mut raw) = (0, mechanism.raw());
        let (at, size) = (input(ciphertext), length(ciphertext));
        let call =
            |list, count| p11!(C_DecapsulateKey(self.0, &raw mut raw, private, list, count, at, size, &raw mut handle));
        check(attributes.with(call))?;
        Ok(handle)
    }
}
