//! Structures of PKCS #11 and of libep11 as C has them.

use std::ffi::{c_char, c_uint, c_ulong, c_void};

/// CK_ULONG.
pub type Ulong = c_ulong;

// Lengths are CK_ULONG in some functions and size_t in others; here they are one type.
const _: () = assert!(size_of::<Ulong>() == size_of::<usize>());

/// CK_MECHANISM.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Mechanism {
    pub(crate) kind: Ulong,
    pub(crate) parameter: *const c_void,
    pub(crate) length: usize,
}

/// CK_ATTRIBUTE.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    pub(crate) kind: Ulong,
    pub(crate) value: *mut c_void,
    pub(crate) length: usize,
}

/// CK_MECHANISM_INFO.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MechanismInfo {
    pub(crate) smallest: Ulong,
    pub(crate) largest: Ulong,
    pub(crate) flags: Ulong,
}

/// CK_RSA_PKCS_PSS_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pss {
    pub hash: Ulong,
    pub mgf: Ulong,
    pub salt: Ulong,
}

/// CK_RSA_PKCS_OAEP_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Oaep {
    pub hash: Ulong,
    pub mgf: Ulong,
    pub source: Ulong,
    pub label: *const u8,
    pub label_length: usize,
}

/// CK_ECDH1_DERIVE_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Ecdh {
    pub kdf: Ulong,
    pub shared_length: usize,
    pub shared: *const u8,
    pub public_length: usize,
    pub public: *const u8,
}

/// XCP_KYBER_KEM_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Kem {
    pub version: Ulong,
    pub mode: Ulong,
    pub kdf: Ulong,
    pub prepend: u8,
    pub ciphertext: *const u8,
    pub ciphertext_length: usize,
    pub shared: *const u8,
    pub shared_length: usize,
    pub blob: *const u8,
    pub blob_length: usize,
}

/// CK_IBM_BTC_DERIVE_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Btc {
    pub kind: Ulong,
    pub child: Ulong,
    pub chain_code: *const u8,
    pub chain_code_length: usize,
    pub version: Ulong,
}

/// CK_IBM_ETH_DERIVE_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Eth {
    pub version: Ulong,
    pub signature: Ulong,
    pub kind: Ulong,
    pub child: Ulong,
    pub key_info: *const u8,
    pub key_info_length: usize,
}

/// XCP_EC_AGGREGATE_PARAMS.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Aggregate {
    pub version: Ulong,
    pub mode: Ulong,
    pub size: Ulong,
    pub elements: *const u8,
    pub elements_length: usize,
}

/// XCP_ModuleSocket.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ModuleSocket {
    host: [c_char; 257],
    port: u32,
}

/// XCP_Module of version 2. In version 1 it ends before `api`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Module {
    pub(crate) version: u32,
    pub(crate) flags: u64,
    pub(crate) domains: u32,
    pub(crate) domain_mask: [u8; 32],
    socket: ModuleSocket,
    pub(crate) number: u32,
    handle: *mut c_void,
    performance: [c_uint; 256],
    pub(crate) api: u32,
}

/// The list that a target was the address of before libep11's version 2.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub format: i16,
    pub length: i16,
    pub pairs: [i16; 512],
}

/// struct XCPadmresp.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AdminResponse {
    pub(crate) function: u32,
    pub(crate) domain: u32,
    pub(crate) instance: u32,
    pub(crate) module: [u8; 16],
    pub(crate) module_number: [u8; 8],
    pub(crate) module_instance: [u8; 8],
    pub(crate) counter: [u8; 16],
    pub(crate) rv: Ulong,
    pub(crate) reason: u32,
    pub(crate) payload: *const u8,
    pub(crate) payload_length: usize,
}

/// struct Encrdkey.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct EncryptedKey {
    private: [u8; 66],
    private_length: usize,
    oid: *const u8,
    oid_length: usize,
    pub(crate) point: [u8; 133],
    pub(crate) point_length: usize,
    pub(crate) material: [u8; 40],
    pub(crate) material_length: usize,
    spki: *const u8,
    spki_length: usize,
    pub(crate) ski: [u8; 32],
    pub(crate) kind: std::ffi::c_int,
    mechanism: *const Mechanism,
    wrapping: [u8; 25],
    pub(crate) raw: [u8; 512],
    pub(crate) raw_length: usize,
}

/// struct Recipient_info.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RecipientInfo {
    pub(crate) version: u32,
    pub(crate) data: [u8; 1024],
    pub(crate) length: usize,
}

/// struct KPH.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KeyHolder {
    pub(crate) certificate: *const u8,
    pub(crate) certificate_length: usize,
    id: *const c_char,
    password: *const c_char,
    file: *const c_char,
    smart_card: c_char,
    ski: c_char,
    reader: std::ffi::c_int,
    part: c_char,
    signing: u64,
    padding: *const c_char,
}

/// struct STATESAVE.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StateSave {
    file: *const c_char,
    restriction: c_uint,
    domains: [u8; 32],
}
