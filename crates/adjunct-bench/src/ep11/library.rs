//! libep11's calls: those of its functions that rows measure.

use crate::Error;
use crate::load::Why;
use adjunct_pkcs11_client::sys::{CK_ATTRIBUTE, CK_MECHANISM, CK_RV, CK_ULONG};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

/// The longest blob, and the longest result but for that of encryption.
const LONGEST: usize = 16384;
const MODULE: u64 = 2;
const VIRTUAL: u64 = 0x10;
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_FUNCTION_NOT_SUPPORTED`, `CKR_CURVE_NOT_SUPPORTED`,
/// `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_IBM_PQC_PARAMS_NOT_SUPPORTED`.
const MISSING: [CK_RV; 6] = [0x70, 0x71, 0x54, 0x140, 0x12, 0x8001_0031];

/// A target: a domain, or a group of them.
pub type Target = u64;

/// `struct XCP_Module`, version 2.
#[repr(C)]
struct Module {
    version: u32,
    flags: u64,
    domains: u32,
    domain_mask: [u8; 32],
    host: [c_char; 257],
    port: u32,
    number: u32,
    handle: *mut c_void,
    performance: [u32; 256],
    api: u32,
}

type Crypt = unsafe extern "C" fn(
    *const u8,
    usize,
    *const CK_MECHANISM,
    *const u8,
    CK_ULONG,
    *mut u8,
    *mut CK_ULONG,
    Target,
) -> CK_RV;
type Verify = unsafe extern "C" fn(
    *const u8,
    usize,
    *const CK_MECHANISM,
    *const u8,
    CK_ULONG,
    *const u8,
    CK_ULONG,
    Target,
) -> CK_RV;
type Generate = unsafe extern "C" fn(
    *const CK_MECHANISM,
    *const CK_ATTRIBUTE,
    CK_ULONG,
    *const u8,
    usize,
    *mut u8,
    *mut usize,
    *mut u8,
    *mut usize,
    Target,
) -> CK_RV;
type GeneratePair = unsafe extern "C" fn(
    *const CK_MECHANISM,
    *const CK_ATTRIBUTE,
    CK_ULONG,
    *const CK_ATTRIBUTE,
    CK_ULONG,
    *const u8,
    usize,
    *mut u8,
    *mut usize,
    *mut u8,
    *mut usize,
    Target,
) -> CK_RV;
type Wrap = unsafe extern "C" fn(
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const CK_MECHANISM,
    *mut u8,
    *mut CK_ULONG,
    Target,
) -> CK_RV;
type Unwrap = unsafe extern "C" fn(
    *const u8,
    CK_ULONG,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const CK_MECHANISM,
    *const CK_ATTRIBUTE,
    CK_ULONG,
    *mut u8,
    *mut usize,
    *mut u8,
    *mut CK_ULONG,
    Target,
) -> CK_RV;

/// The functions. The library stays loaded.
#[derive(Debug, Clone, Copy)]
pub struct Functions {
    add_module: unsafe extern "C" fn(*mut Module, *mut Target) -> c_int,
    encrypt: Crypt,
    decrypt: Crypt,
    sign: Crypt,
    verify: Verify,
    generate: Generate,
    generate_pair: GeneratePair,
    wrap: Wrap,
    unwrap: Unwrap,
}

/// A function in two directions that have one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `m_EncryptSingle`.
    Encrypt,
    /// `m_DecryptSingle`.
    Decrypt,
    /// `m_SignSingle`.
    Sign,
}

/// A mechanism and its parameter.
#[derive(Debug, Clone)]
pub struct Mechanism {
    /// The mechanism.
    pub number: CK_ULONG,
    /// The parameter; empty for none.
    pub parameter: Vec<u8>,
}

/// The attributes of a template.
#[derive(Debug, Clone, Default)]
pub struct Template(Vec<(CK_ULONG, Vec<u8>)>);

impl Template {
    /// With a number besides.
    #[must_use]
    pub fn number(self, attribute: CK_ULONG, value: CK_ULONG) -> Template {
        self.bytes(attribute, &value.to_ne_bytes())
    }

    /// With attributes that are true.
    #[must_use]
    pub fn yes(self, attributes: &[CK_ULONG]) -> Template {
        attributes.iter().fold(self, |template, attribute| template.bytes(*attribute, &[1]))
    }

    /// With bytes besides.
    #[must_use]
    pub fn bytes(mut self, attribute: CK_ULONG, value: &[u8]) -> Template {
        self.0.push((attribute, value.to_vec()));
        self
    }

    /// As the interface takes it; valid as long as this value.
    fn raw(&self) -> Vec<CK_ATTRIBUTE> {
        let one = |(kind, value): &(CK_ULONG, Vec<u8>)| CK_ATTRIBUTE {
            type_: *kind,
            pValue: value.as_ptr().cast_mut().cast(),
            ulValueLen: value.len() as CK_ULONG,
        };
        self.0.iter().map(one).collect()
    }
}

impl Mechanism {
    /// As the interface takes it; valid as long as this value.
    fn raw(&self) -> CK_MECHANISM {
        let parameter = if self.parameter.is_empty() { null_mut() } else { self.parameter.as_ptr().cast_mut().cast() };
        CK_MECHANISM { mechanism: self.number, pParameter: parameter, ulParameterLen: self.parameter.len() as CK_ULONG }
    }
}

fn checked(call: &str, rv: CK_RV) -> Result<(), Why> {
    let text = || format!("{call}: {rv:#x}");
    match rv {
        0 => Ok(()),
        rv if MISSING.contains(&rv) => Err(Why::Missing(text())),
        _ => Err(Why::Failed(text())),
    }
}

impl Functions {
    /// Loads the library, and prepares it. It reads its environment now.
    ///
    /// # Errors
    /// [`Error`] where it does not load, or lacks a function.
    pub fn load(path: &Path) -> Result<Functions, Error> {
        let wrong = |error: libloading::Error| Error::Module(path.to_owned(), error.to_string());
        // SAFETY: the library's initializers do no more than those of any library; its functions have the types of libep11's header.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new(path).map_err(wrong)?));
            macro_rules! function {
                ($name:literal) => {
                    *library.get($name).map_err(wrong)?
                };
            }
            let init: unsafe extern "C" fn() -> c_int = function!(b"m_init\0");
            if init() != 0 {
                return Err(Error::Operation("m_init failed".to_owned()));
            }
            Ok(Functions {
                add_module: function!(b"m_add_module\0"),
                encrypt: function!(b"m_EncryptSingle\0"),
                decrypt: function!(b"m_DecryptSingle\0"),
                sign: function!(b"m_SignSingle\0"),
                verify: function!(b"m_VerifySingle\0"),
                generate: function!(b"m_GenerateKey\0"),
                generate_pair: function!(b"m_GenerateKeyPair\0"),
                wrap: function!(b"m_WrapKey\0"),
                unwrap: function!(b"m_UnwrapKey\0"),
            })
        }
    }

    /// A target of domain 0000 of these cards: one takes over from another.
    ///
    /// # Errors
    /// [`Error::Operation`].
    pub fn target(&self, cards: &[u8]) -> Result<Target, Error> {
        let (mut target, several) = (Target::MAX, cards.len() > 1);
        for card in cards {
            let mut domain_mask = [0; 32];
            domain_mask[0] = 0x80;
            let mut module = Module {
                version: 2,
                flags: MODULE | if several { VIRTUAL } else { 0 },
                domains: 0,
                domain_mask,
                host: [0; 257],
                port: 0,
                number: u32::from(*card),
                handle: null_mut(),
                performance: [0; 256],
                api: 0,
            };
            // SAFETY: a structure of its version, and a target, both of which live long enough.
            let added = unsafe { (self.add_module)(&raw mut module, &raw mut target) };
            if added != 0 {
                return Err(Error::Operation(format!("m_add_module of card {card:02x}: {added}")));
            }
        }
        Ok(target)
    }

    /// Encrypts, decrypts or signs; the length of what is then in `output`.
    ///
    /// # Errors
    /// [`Why`].
    pub fn crypt(
        &self,
        direction: Direction,
        key: &[u8],
        mechanism: &Mechanism,
        input: &[u8],
        output: &mut [u8],
        target: Target,
    ) -> Result<usize, Why> {
        let (call, name) = match direction {
            Direction::Encrypt => (self.encrypt, "m_EncryptSingle"),
            Direction::Decrypt => (self.decrypt, "m_DecryptSingle"),
            Direction::Sign => (self.sign, "m_SignSingle"),
        };
        let (mechanism, mut length) = (mechanism.raw(), output.len() as CK_ULONG);
        // SAFETY: every pointer leads to as many bytes as the length beside it says.
        let rv = unsafe {
            call(
                key.as_ptr(),
                key.len(),
                &raw const mechanism,
                input.as_ptr(),
                input.len() as CK_ULONG,
                output.as_mut_ptr(),
                &raw mut length,
                target,
            )
        };
        checked(name, rv).map(|()| length as usize)
    }

    /// Verifies a signature.
    ///
    /// # Errors
    /// [`Why`].
    pub fn verify(
        &self,
        key: &[u8],
        mechanism: &Mechanism,
        data: &[u8],
        signature: &[u8],
        target: Target,
    ) -> Result<(), Why> {
        let mechanism = mechanism.raw();
        let (length, signed) = (data.len() as CK_ULONG, signature.len() as CK_ULONG);
        // SAFETY: every pointer leads to as many bytes as the length beside it says.
        let rv = unsafe {
            (self.verify)(
                key.as_ptr(),
                key.len(),
                &raw const mechanism,
                data.as_ptr(),
                length,
                signature.as_ptr(),
                signed,
                target,
            )
        };
        checked("m_VerifySingle", rv)
    }

    /// Makes a secret key; its blob.
    ///
    /// # Errors
    /// [`Why`].
    pub fn generate(&self, mechanism: &Mechanism, template: &Template, target: Target) -> Result<Vec<u8>, Why> {
        let (mechanism, attributes) = (mechanism.raw(), template.raw());
        let (mut key, mut check) = (vec![0; LONGEST], [0; 64]);
        let (mut length, mut check_length) = (key.len(), check.len());
        // SAFETY: every pointer leads to as many elements as the length beside it says; a null PIN has length 0.
        let rv = unsafe {
            (self.generate)(
                &raw const mechanism,
                attributes.as_ptr(),
                attributes.len() as CK_ULONG,
                null(),
                0,
                key.as_mut_ptr(),
                &raw mut length,
                check.as_mut_ptr(),
                &raw mut check_length,
                target,
            )
        };
        checked("m_GenerateKey", rv)?;
        key.truncate(length);
        Ok(key)
    }

    /// Makes a pair: the private key's blob, and the public key.
    ///
    /// # Errors
    /// [`Why`].
    pub fn generate_pair(
        &self,
        mechanism: &Mechanism,
        public: &Template,
        private: &Template,
        target: Target,
    ) -> Result<(Vec<u8>, Vec<u8>), Why> {
        let (mechanism, public, private) = (mechanism.raw(), public.raw(), private.raw());
        let (mut key, mut spki) = (vec![0; LONGEST], vec![0; LONGEST]);
        let (mut length, mut spki_length) = (key.len(), spki.len());
        // SAFETY: every pointer leads to as many elements as the length beside it says; a null PIN has length 0.
        let rv = unsafe {
            (self.generate_pair)(
                &raw const mechanism,
                public.as_ptr(),
                public.len() as CK_ULONG,
                private.as_ptr(),
                private.len() as CK_ULONG,
                null(),
                0,
                key.as_mut_ptr(),
                &raw mut length,
                spki.as_mut_ptr(),
                &raw mut spki_length,
                target,
            )
        };
        checked("m_GenerateKeyPair", rv)?;
        key.truncate(length);
        spki.truncate(spki_length);
        Ok((key, spki))
    }

    /// Wraps a key by another; the length of what is then in `output`.
    ///
    /// # Errors
    /// [`Why`].
    pub fn wrap(
        &self,
        key: &[u8],
        by: &[u8],
        mechanism: &Mechanism,
        output: &mut [u8],
        target: Target,
    ) -> Result<usize, Why> {
        let (mechanism, mut length) = (mechanism.raw(), output.len() as CK_ULONG);
        // SAFETY: every pointer leads to as many bytes as the length beside it says; a null key of a MAC has length 0.
        let rv = unsafe {
            (self.wrap)(
                key.as_ptr(),
                key.len(),
                by.as_ptr(),
                by.len(),
                null(),
                0,
                &raw const mechanism,
                output.as_mut_ptr(),
                &raw mut length,
                target,
            )
        };
        checked("m_WrapKey", rv).map(|()| length as usize)
    }

    /// Unwraps a key; the length of its blob in `output`.
    ///
    /// # Errors
    /// [`Why`].
    pub fn unwrap(
        &self,
        wrapped: &[u8],
        by: &[u8],
        (mechanism, template): (&Mechanism, &Template),
        output: &mut [u8],
        target: Target,
    ) -> Result<usize, Why> {
        let (mechanism, attributes) = (mechanism.raw(), template.raw());
        let mut check = [0; 4096];
        let (mut length, mut check_length) = (output.len(), check.len() as CK_ULONG);
        // SAFETY: every pointer leads to as many elements as the length beside it says; null ones have length 0.
        let rv = unsafe {
            (self.unwrap)(
                wrapped.as_ptr(),
                wrapped.len() as CK_ULONG,
                by.as_ptr(),
                by.len(),
                null(),
                0,
                null(),
                0,
                &raw const mechanism,
                attributes.as_ptr(),
                attributes.len() as CK_ULONG,
                output.as_mut_ptr(),
                &raw mut length,
                check.as_mut_ptr(),
                &raw mut check_length,
                target,
            )
        };
        checked("m_UnwrapKey", rv).map(|()| length)
    }
}
