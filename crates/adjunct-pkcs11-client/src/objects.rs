//! Objects: found, read, made, changed and destroyed.

use super::{Mechanism, Rv, Session, Template, done, length};
use cryptoki_sys::*;
use std::ptr::null_mut;
use zeroize::Zeroizing;

/// The attributes that make a key of any type, besides its type.
pub const PARTS: [CK_ATTRIBUTE_TYPE; 13] = [
    CKA_MODULUS,
    CKA_PUBLIC_EXPONENT,
    CKA_PRIVATE_EXPONENT,
    CKA_PRIME_1,
    CKA_PRIME_2,
    CKA_EXPONENT_1,
    CKA_EXPONENT_2,
    CKA_COEFFICIENT,
    CKA_EC_PARAMS,
    CKA_EC_POINT,
    CKA_PARAMETER_SET,
    CKA_VALUE,
    CKA_SEED,
];

/// No module's object has a longer value, and no key is longer wrapped.
const LONGEST: CK_ULONG = 1 << 24;

/// The most objects that one call finds.
const AT_ONCE: usize = 64;

impl Session<'_> {
    /// Finds the objects that have all of these attributes, in the module's order.
    ///
    /// # Errors
    /// What the module returns.
    pub fn find(&self, template: &Template) -> Result<Vec<CK_OBJECT_HANDLE>, Rv> {
        let mut list = template.list();
        call!(self.module, C_FindObjectsInit, self.handle, list.as_mut_ptr(), list.len() as CK_ULONG)?;
        let mut found = Vec::new();
        let result = loop {
            let (mut some, mut count) = ([0; AT_ONCE], 0);
            let rv =
                call!(self.module, C_FindObjects, self.handle, some.as_mut_ptr(), AT_ONCE as CK_ULONG, &raw mut count);
            match (rv, usize::try_from(count)) {
                (Ok(()), Ok(0)) => break Ok(()),
                (Ok(()), Ok(count)) => found.extend_from_slice(&some[..count.min(AT_ONCE)]),
                (rv, _) => break rv,
            }
        };
        call!(self.module, C_FindObjectsFinal, self.handle).and(result).map(|()| found)
    }

    /// Finds the first objects that have all of these attributes, at most `most`, by one call of the search.
    ///
    /// # Errors
    /// What the module returns.
    pub fn find_first(&self, template: &Template, most: usize) -> Result<Vec<CK_OBJECT_HANDLE>, Rv> {
        let mut list = template.list();
        call!(self.module, C_FindObjectsInit, self.handle, list.as_mut_ptr(), list.len() as CK_ULONG)?;
        let (mut found, mut count) = (vec![0; most], 0);
        let result =
            call!(self.module, C_FindObjects, self.handle, found.as_mut_ptr(), most as CK_ULONG, &raw mut count);
        call!(self.module, C_FindObjectsFinal, self.handle)?;
        found.truncate(usize::try_from(count).unwrap_or(most));
        result.map(|()| found)
    }

    /// An object's attribute.
    ///
    /// # Errors
    /// What the module returns: `CKR_ATTRIBUTE_TYPE_INVALID` where it has none, `CKR_ATTRIBUTE_SENSITIVE`.
    pub fn attribute(&self, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Result<Zeroizing<Vec<u8>>, Rv> {
        let mut attribute = CK_ATTRIBUTE { type_: kind, pValue: null_mut(), ulValueLen: 0 };
        call!(self.module, C_GetAttributeValue, self.handle, object, &raw mut attribute, 1)?;
        let mut value = Zeroizing::new(Vec::new());
        let length = attribute.ulValueLen;
        let length =
            usize::try_from(length).ok().filter(|_| length <= LONGEST).ok_or(Rv(CKR_ATTRIBUTE_TYPE_INVALID))?;
        value.try_reserve_exact(length).map_err(|_| Rv(CKR_HOST_MEMORY))?;
        value.resize(length, 0);
        attribute.pValue = value.as_mut_ptr().cast();
        call!(self.module, C_GetAttributeValue, self.handle, object, &raw mut attribute, 1)?;
        value.truncate(usize::try_from(attribute.ulValueLen).unwrap_or(0));
        Ok(value)
    }

    /// Makes an object of attributes.
    ///
    /// # Errors
    /// What the module returns.
    pub fn create(&self, template: &Template) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut list, mut handle) = (template.list(), 0);
        let count = list.len() as CK_ULONG;
        call!(self.module, C_CreateObject, self.handle, list.as_mut_ptr(), count, &raw mut handle).map(|()| handle)
    }

    /// Copies an object, with these attributes changed.
    ///
    /// # Errors
    /// What the module returns.
    pub fn copy(&self, object: CK_OBJECT_HANDLE, template: &Template) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut list, mut handle) = (template.list(), 0);
        let count = list.len() as CK_ULONG;
        call!(self.module, C_CopyObject, self.handle, object, list.as_mut_ptr(), count, &raw mut handle)
            .map(|()| handle)
    }

    /// Changes attributes of an object.
    ///
    /// # Errors
    /// What the module returns.
    pub fn change(&self, object: CK_OBJECT_HANDLE, template: &Template) -> Result<(), Rv> {
        let mut list = template.list();
        let count = list.len() as CK_ULONG;
        call!(self.module, C_SetAttributeValue, self.handle, object, list.as_mut_ptr(), count)
    }

    /// Destroys an object.
    ///
    /// # Errors
    /// What the module returns.
    pub fn destroy(&self, object: CK_OBJECT_HANDLE) -> Result<(), Rv> {
        call!(self.module, C_DestroyObject, self.handle, object)
    }

    /// Makes a secret key.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate<'m>(
        &self,
        mechanism: impl Into<Mechanism<'m>>,
        template: &Template,
    ) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut list, mut key) = (template.list(), 0);
        let (count, list) = (list.len() as CK_ULONG, list.as_mut_ptr());
        let call = |mechanism| call!(self.module, C_GenerateKey, self.handle, mechanism, list, count, &raw mut key);
        mechanism.into().with(call).map(|()| key)
    }

    /// Makes a key pair: the public key, and the private one.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate_pair<'m>(
        &self,
        mechanism: impl Into<Mechanism<'m>>,
        public: &Template,
        private: &Template,
    ) -> Result<(CK_OBJECT_HANDLE, CK_OBJECT_HANDLE), Rv> {
        let (mut public, mut private, mut keys) = (public.list(), private.list(), (0, 0));
        let (publics, privates) = (public.len() as CK_ULONG, private.len() as CK_ULONG);
        let (public, private, first, second) =
            (public.as_mut_ptr(), private.as_mut_ptr(), &raw mut keys.0, &raw mut keys.1);
        let (module, own) = (self.module, self.handle);
        let call =
            |with| call!(module, C_GenerateKeyPair, own, with, public, publics, private, privates, first, second);
        mechanism.into().with(call).map(|()| keys)
    }

    /// A key, wrapped under another.
    ///
    /// # Errors
    /// What the module returns.
    pub fn wrap<'m>(
        &self,
        mechanism: impl Into<Mechanism<'m>>,
        under: CK_OBJECT_HANDLE,
        key: CK_OBJECT_HANDLE,
    ) -> Result<Zeroizing<Vec<u8>>, Rv> {
        mechanism.into().with(|mechanism| {
            let mut count = 0;
            call!(self.module, C_WrapKey, self.handle, mechanism, under, key, null_mut(), &raw mut count)?;
            if count > LONGEST {
                return Err(Rv(CKR_HOST_MEMORY));
            }
            let mut wrapped = Zeroizing::new(vec![0; count as usize]);
            let place = wrapped.as_mut_ptr();
            call!(self.module, C_WrapKey, self.handle, mechanism, under, key, place, &raw mut count)?;
            wrapped.truncate(usize::try_from(count).unwrap_or(0));
            Ok(wrapped)
        })
    }

    /// A new object of a wrapped key.
    ///
    /// # Errors
    /// What the module returns.
    pub fn unwrap<'m>(
        &self,
        mechanism: impl Into<Mechanism<'m>>,
        under: CK_OBJECT_HANDLE,
        wrapped: &[u8],
        template: &Template,
    ) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut list, mut object) = (template.list(), 0);
        let (bytes, size) = (wrapped.as_ptr().cast_mut(), length(wrapped));
        let (count, list) = (list.len() as CK_ULONG, list.as_mut_ptr());
        let (module, own, place) = (self.module, self.handle, &raw mut object);
        let call = |with| call!(module, C_UnwrapKey, own, with, under, bytes, size, list, count, place);
        mechanism.into().with(call).map(|()| object)
    }
}
