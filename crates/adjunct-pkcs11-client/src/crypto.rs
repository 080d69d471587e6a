//! What programs compute by a module: keys, objects, signatures, encryption, hashes, random numbers.

use super::{Module, Rv, Session, done, length};
use cryptoki_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;

/// A mechanism, with the parameter that it takes.
#[derive(Debug, Clone, Copy)]
pub enum Mechanism<'a> {
    /// One without a parameter.
    Plain(CK_MECHANISM_TYPE),
    /// AES-GCM with a tag of 16 bytes.
    Gcm {
        /// The initialization vector.
        iv: &'a [u8],
        /// Additional data.
        aad: &'a [u8],
    },
}

impl Mechanism<'_> {
    fn with<R>(self, body: impl FnOnce(*mut CK_MECHANISM) -> R) -> R {
        match self {
            Mechanism::Plain(kind) => {
                let mut mechanism = CK_MECHANISM { mechanism: kind, pParameter: null_mut(), ulParameterLen: 0 };
                body(&raw mut mechanism)
            }
            Mechanism::Gcm { iv, aad } => {
                let mut gcm = CK_GCM_PARAMS {
                    pIv: iv.as_ptr().cast_mut(),
                    ulIvLen: length(iv),
                    ulIvBits: 8 * length(iv),
                    pAAD: if aad.is_empty() { null_mut() } else { aad.as_ptr().cast_mut() },
                    ulAADLen: length(aad),
                    ulTagBits: 128,
                };
                let mut mechanism = CK_MECHANISM {
                    mechanism: CKM_AES_GCM,
                    pParameter: (&raw mut gcm).cast::<c_void>(),
                    ulParameterLen: size_of::<CK_GCM_PARAMS>() as CK_ULONG,
                };
                body(&raw mut mechanism)
            }
        }
    }
}

/// The attributes of a template.
#[derive(Debug, Clone, Default)]
pub struct Template(Vec<(CK_ATTRIBUTE_TYPE, Vec<u8>)>);

impl Template {
    /// One without attributes.
    pub fn new() -> Template {
        Template::default()
    }

    /// With this attribute besides.
    #[must_use]
    pub fn bytes(mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Template {
        self.0.push((kind, value.to_vec()));
        self
    }

    /// With this attribute besides: a number.
    #[must_use]
    pub fn number(self, kind: CK_ATTRIBUTE_TYPE, value: CK_ULONG) -> Template {
        self.bytes(kind, &value.to_ne_bytes())
    }

    /// With this attribute besides: a truth value.
    #[must_use]
    pub fn bool(self, kind: CK_ATTRIBUTE_TYPE, value: bool) -> Template {
        self.bytes(kind, &[value.into()])
    }

    fn with<R>(&self, body: impl FnOnce(*mut CK_ATTRIBUTE, CK_ULONG) -> R) -> R {
        let attribute = |(kind, value): &(CK_ATTRIBUTE_TYPE, Vec<u8>)| CK_ATTRIBUTE {
            type_: *kind,
            pValue: value.as_ptr().cast_mut().cast(),
            ulValueLen: length(value),
        };
        let mut list: Vec<CK_ATTRIBUTE> = self.0.iter().map(attribute).collect();
        body(list.as_mut_ptr(), list.len() as CK_ULONG)
    }
}

impl Module {
    /// Initializes it for several threads, which lock as the system does.
    ///
    /// # Errors
    /// What the module returns.
    pub fn initialize_for_threads(&mut self) -> Result<(), Rv> {
        let mut arguments = CK_C_INITIALIZE_ARGS { flags: CKF_OS_LOCKING_OK, ..CK_C_INITIALIZE_ARGS::default() };
        call!(self, C_Initialize, (&raw mut arguments).cast::<c_void>())?;
        self.initialized = true;
        Ok(())
    }

    /// Ends what [`Module::initialize`] has begun; it may be initialized again.
    ///
    /// # Errors
    /// What the module returns.
    pub fn finalize(&mut self) -> Result<(), Rv> {
        self.initialized = false;
        call!(self, C_Finalize, null_mut::<c_void>())
    }
}

impl Session<'_> {
    /// Makes an object.
    ///
    /// # Errors
    /// What the module returns.
    pub fn create_object(&self, template: &Template) -> Result<CK_OBJECT_HANDLE, Rv> {
        let mut handle = 0;
        template
            .with(|list, count| call!(self.module, C_CreateObject, self.handle, list, count, &raw mut handle))
            .map(|()| handle)
    }

    /// Destroys an object.
    ///
    /// # Errors
    /// What the module returns.
    pub fn destroy_object(&self, object: CK_OBJECT_HANDLE) -> Result<(), Rv> {
        call!(self.module, C_DestroyObject, self.handle, object)
    }

    /// Makes a secret key.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate_key(&self, mechanism: Mechanism<'_>, template: &Template) -> Result<CK_OBJECT_HANDLE, Rv> {
        let mut key = 0;
        let call = |mechanism| {
            template.with(|list, count| {
                call!(self.module, C_GenerateKey, self.handle, mechanism, list, count, &raw mut key)
            })
        };
        mechanism.with(call).map(|()| key)
    }

    /// Makes a key pair: the public key, and the private one.
    ///
    /// # Errors
    /// What the module returns.
    pub fn generate_key_pair(
        &self,
        mechanism: Mechanism<'_>,
        public: &Template,
        private: &Template,
    ) -> Result<(CK_OBJECT_HANDLE, CK_OBJECT_HANDLE), Rv> {
        let mut keys = (0, 0);
        let (module, session) = (self.module, self.handle);
        let call = |mechanism| {
            public.with(|public, publics| {
                private.with(|private, privates| {
                    let (first, second) = (&raw mut keys.0, &raw mut keys.1);
                    call!(
                        module,
                        C_GenerateKeyPair,
                        session,
                        mechanism,
                        public,
                        publics,
                        private,
                        privates,
                        first,
                        second,
                    )
                })
            })
        };
        mechanism.with(call).map(|()| keys)
    }

    /// The objects with these attributes, at most `most`.
    ///
    /// # Errors
    /// What the module returns.
    pub fn find_objects(&self, template: &Template, most: usize) -> Result<Vec<CK_OBJECT_HANDLE>, Rv> {
        template.with(|list, count| call!(self.module, C_FindObjectsInit, self.handle, list, count))?;
        let mut found: Vec<CK_OBJECT_HANDLE> = vec![0; most];
        let mut count = 0;
        let result =
            call!(self.module, C_FindObjects, self.handle, found.as_mut_ptr(), most as CK_ULONG, &raw mut count);
        call!(self.module, C_FindObjectsFinal, self.handle)?;
        found.truncate(usize::try_from(count).unwrap_or(most));
        result.map(|()| found)
    }

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
