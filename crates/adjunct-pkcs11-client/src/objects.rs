//! Objects: looked for, read, made, removed, and wrapped to be taken out.

use super::{Rv, Session, done, filled, length};
use crate::sys::*;
use std::ptr::null_mut;
use zeroize::Zeroizing;

/// An attribute, with its value as the interface has it.
pub type Attribute = (CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>);

/// No module's key has a longer value, wrapped or not.
const LONGEST: CK_ULONG = 1 << 24;

/// A template as calls have it, which points into `attributes`.
fn template(attributes: &[Attribute]) -> Vec<CK_ATTRIBUTE> {
    let raw = |(kind, value): &Attribute| CK_ATTRIBUTE {
        type_: *kind,
        pValue: value.as_ptr().cast_mut().cast(),
        ulValueLen: length(value),
    };
    attributes.iter().map(raw).collect()
}

const fn mechanism(mechanism: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 }
}

impl Session<'_> {
    /// The objects that have these attributes.
    ///
    /// # Errors
    /// What the module returns.
    pub fn find(&self, attributes: &[Attribute]) -> Result<Vec<CK_OBJECT_HANDLE>, Rv> {
        const AT_ONCE: usize = 64;
        let mut raw = template(attributes);
        call!(self.module, C_FindObjectsInit, self.handle, raw.as_mut_ptr(), raw.len() as CK_ULONG)?;
        let mut all = Vec::new();
        let found = loop {
            let found = filled(AT_ONCE as CK_ULONG, |list, count| {
                call!(self.module, C_FindObjects, self.handle, list, AT_ONCE as CK_ULONG, count)
            });
            match found {
                Ok(found) if found.is_empty() => break Ok(all),
                Ok(found) => all.extend(found),
                Err(rv) => break Err(rv),
            }
        };
        call!(self.module, C_FindObjectsFinal, self.handle).and(found)
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// What the module returns.
    pub fn attribute(&self, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Result<Zeroizing<Vec<u8>>, Rv> {
        let mut raw = CK_ATTRIBUTE { type_: kind, pValue: null_mut(), ulValueLen: 0 };
        call!(self.module, C_GetAttributeValue, self.handle, object, &raw mut raw, 1)?;
        if raw.ulValueLen > LONGEST {
            return Err(Rv(CKR_ATTRIBUTE_TYPE_INVALID));
        }
        let mut value = Zeroizing::new(vec![0; raw.ulValueLen as usize]);
        raw.pValue = value.as_mut_ptr().cast();
        call!(self.module, C_GetAttributeValue, self.handle, object, &raw mut raw, 1)?;
        value.truncate(usize::try_from(raw.ulValueLen).unwrap_or(0));
        Ok(value)
    }

    /// Makes an object.
    ///
    /// # Errors
    /// What the module returns.
    pub fn create(&self, attributes: &[Attribute]) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut raw, mut object) = (template(attributes), 0);
        let count = raw.len() as CK_ULONG;
        call!(self.module, C_CreateObject, self.handle, raw.as_mut_ptr(), count, &raw mut object).map(|()| object)
    }

    /// Removes an object.
    ///
    /// # Errors
    /// What the module returns.
    pub fn destroy(&self, object: CK_OBJECT_HANDLE) -> Result<(), Rv> {
        call!(self.module, C_DestroyObject, self.handle, object)
    }

    /// Makes a secret key by a mechanism without parameters.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate(&self, kind: CK_MECHANISM_TYPE, attributes: &[Attribute]) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut raw, mut object, mut kind) = (template(attributes), 0, mechanism(kind));
        let count = raw.len() as CK_ULONG;
        call!(self.module, C_GenerateKey, self.handle, &raw mut kind, raw.as_mut_ptr(), count, &raw mut object)?;
        Ok(object)
    }

    /// A key, wrapped under another by a mechanism without parameters.
    ///
    /// # Errors
    /// What the module returns.
    pub fn wrap(
        &self,
        kind: CK_MECHANISM_TYPE,
        under: CK_OBJECT_HANDLE,
        key: CK_OBJECT_HANDLE,
    ) -> Result<Zeroizing<Vec<u8>>, Rv> {
        let (mut kind, mut count) = (mechanism(kind), 0);
        call!(self.module, C_WrapKey, self.handle, &raw mut kind, under, key, null_mut(), &raw mut count)?;
        if count > LONGEST {
            return Err(Rv(CKR_HOST_MEMORY));
        }
        let mut wrapped = Zeroizing::new(vec![0; count as usize]);
        let place = wrapped.as_mut_ptr();
        call!(self.module, C_WrapKey, self.handle, &raw mut kind, under, key, place, &raw mut count)?;
        wrapped.truncate(usize::try_from(count).unwrap_or(0));
        Ok(wrapped)
    }

    /// A new object of a wrapped key.
    ///
    /// # Errors
    /// What the module returns.
    pub fn unwrap(
        &self,
        kind: CK_MECHANISM_TYPE,
        under: CK_OBJECT_HANDLE,
        wrapped: &[u8],
        attributes: &[Attribute],
    ) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut raw, mut object, mut kind) = (template(attributes), 0, mechanism(kind));
        let (bytes, count) = (wrapped.as_ptr().cast_mut(), raw.len() as CK_ULONG);
        call!(
            self.module,
            C_UnwrapKey,
            self.handle,
            &raw mut kind,
            under,
            bytes,
            length(wrapped),
            raw.as_mut_ptr(),
            count,
            &raw mut object
        )?;
        Ok(object)
    }
}
