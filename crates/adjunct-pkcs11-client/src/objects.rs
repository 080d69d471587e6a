//! Objects: found, read, made, changed and destroyed.

use super::{Rv, Session, done};
use cryptoki_sys::*;
use std::ptr::null_mut;
use zeroize::Zeroizing;

/// Attributes, for what is looked for, made or changed.
#[derive(Default, Clone)]
pub struct Template(Vec<(CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>)>);

impl std::fmt::Debug for Template {
    /// Without the values, which may be keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(kind, _)| kind)).finish()
    }
}

impl Template {
    /// Without attributes.
    pub fn new() -> Template {
        Template::default()
    }

    /// With this attribute besides.
    #[must_use]
    pub fn with(mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Template {
        self.set(kind, value);
        self
    }

    /// With this number besides.
    #[must_use]
    pub fn with_number(self, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Template {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Sets an attribute, in the place of one of the same type.
    pub fn set(&mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) {
        let value = Zeroizing::new(value.to_vec());
        match self.0.iter_mut().find(|(other, _)| *other == kind) {
            Some(place) => place.1 = value,
            None => self.0.push((kind, value)),
        }
    }

    /// Sets a flag.
    pub fn set_flag(&mut self, kind: CK_ATTRIBUTE_TYPE, value: bool) {
        self.set(kind, &[if value { CK_TRUE } else { CK_FALSE }]);
    }

    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As calls have it: the values are only read.
    fn list(&self) -> Vec<CK_ATTRIBUTE> {
        let attribute = |(kind, value): &(CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>)| CK_ATTRIBUTE {
            type_: *kind,
            pValue: value.as_ptr().cast_mut().cast(),
            ulValueLen: value.len() as CK_ULONG,
        };
        self.0.iter().map(attribute).collect()
    }
}

/// A mechanism without a parameter.
fn plain(mechanism: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 }
}

/// Found at one call.
const AT_ONCE: usize = 64;

impl Session<'_> {
    /// The objects that have all of these attributes, in the module's order.
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

    /// An object's attribute.
    ///
    /// # Errors
    /// What the module returns: `CKR_ATTRIBUTE_TYPE_INVALID` where it has none, `CKR_ATTRIBUTE_SENSITIVE`.
    pub fn attribute(&self, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Result<Zeroizing<Vec<u8>>, Rv> {
        let mut attribute = CK_ATTRIBUTE { type_: kind, pValue: null_mut(), ulValueLen: 0 };
        call!(self.module, C_GetAttributeValue, self.handle, object, &raw mut attribute, 1)?;
        let mut value = Zeroizing::new(Vec::new());
        let length = usize::try_from(attribute.ulValueLen).map_err(|_| Rv(CKR_ATTRIBUTE_TYPE_INVALID))?;
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

    /// Makes a secret key, by a mechanism without a parameter.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate(&self, mechanism: CK_MECHANISM_TYPE, template: &Template) -> Result<CK_OBJECT_HANDLE, Rv> {
        let (mut mechanism, mut list, mut handle) = (plain(mechanism), template.list(), 0);
        let count = list.len() as CK_ULONG;
        let place = &raw mut handle;
        call!(self.module, C_GenerateKey, self.handle, &raw mut mechanism, list.as_mut_ptr(), count, place)
            .map(|()| handle)
    }

    /// Makes a key pair, by a mechanism without a parameter: the public and the private key.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate_pair(
        &self,
        mechanism: CK_MECHANISM_TYPE,
        public: &Template,
        private: &Template,
    ) -> Result<(CK_OBJECT_HANDLE, CK_OBJECT_HANDLE), Rv> {
        let (mut mechanism, mut handles) = (plain(mechanism), (0, 0));
        let (mut public, mut private) = (public.list(), private.list());
        let counts = (public.len() as CK_ULONG, private.len() as CK_ULONG);
        let (of_public, of_private) = (public.as_mut_ptr(), private.as_mut_ptr());
        call!(
            self.module,
            C_GenerateKeyPair,
            self.handle,
            &raw mut mechanism,
            of_public,
            counts.0,
            of_private,
            counts.1,
            &raw mut handles.0,
            &raw mut handles.1,
        )
        .map(|()| handles)
    }
}
