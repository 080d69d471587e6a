//! Parameters of mechanisms as callers pass them: structures with pointers in them.

use super::args::{slice, value};
use adjunct_mechanisms::mechanism::derive::tls::Prf;
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::mechanism::params::{Params, Shape};
use adjunct_mechanisms::mechanism::registry::{self, Entry};
use adjunct_mechanisms::mechanism::{Mechanism, digest};
use adjunct_mechanisms::rv::{Result, Rv, ensure};
use cryptoki_sys::*;

/// The length of AES's block.
const BLOCK: usize = 16;
/// Lowest address that a pointer may have: nothing is mapped below it, and no password is as long.
const LOWEST_ADDRESS: CK_ULONG = 65536;
const INVALID: Rv = Rv(CKR_MECHANISM_PARAM_INVALID);

/// The mechanism at a pointer.
///
/// # Safety
/// Unless it is null, a mechanism stands there whose parameter has the length it says, and as its type wants it where the length is
/// that of the type's structure; all of it stays as it is for as long as the result is used.
#[inline(always)]
pub unsafe fn mechanism<'a>(pointer: *const CK_MECHANISM) -> Result<Mechanism<'a>> {
    ensure(!pointer.is_null() && pointer.is_aligned(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: not null and aligned, both checked here; the caller guarantees a mechanism there, which nobody changes as long as the result is used.
    let mechanism = unsafe { &*pointer };
    let entry = registry::find_or_unknown(mechanism.mechanism);
    if let (0, Shape::Bytes) = (mechanism.ulParameterLen, entry.shape) {
        // Apart from the rest, which is longer than a MAC of a short message.
        return Ok(Mechanism { kind: mechanism.mechanism, entry, params: Params::None });
    }
    // SAFETY: what the caller guarantees of the mechanism.
    unsafe { mechanism_with(mechanism, entry) }
}

/// A mechanism with a parameter. It is made where it stays: to move what was written a moment ago would have to wait for it.
///
/// # Safety
/// As for [`mechanism`].
#[inline(never)]
unsafe fn mechanism_with<'a>(mechanism: &CK_MECHANISM, entry: &'static Entry) -> Result<Mechanism<'a>> {
    // SAFETY: the caller guarantees that the parameter has the length that the mechanism states, and is the type's structure where that is the
    // structure's length.
    let params = unsafe { params(entry, mechanism)? };
    Ok(Mechanism { kind: mechanism.mechanism, entry, params })
}

/// A structure of parameters.
///
/// # Safety
/// The parameter has the length that the mechanism states, and is a `T` where that is the length of one.
pub unsafe fn read<T: Copy>(mechanism: &CK_MECHANISM) -> Result<T> {
    let fits = mechanism.ulParameterLen as usize == size_of::<T>() && !mechanism.pParameter.is_null();
    ensure(fits, CKR_MECHANISM_PARAM_INVALID)?;
    // SAFETY: not null, and as long as a `T`, both checked here; the caller guarantees that the parameter is the structure of the mechanism's
    // type then. The read needs no alignment.
    Ok(unsafe { mechanism.pParameter.cast::<T>().read_unaligned() })
}

/// The bytes that a structure points to.
///
/// # Safety
/// `pointer` is null or has `length` readable bytes while the result is used.
pub(super) unsafe fn bytes<'a>(pointer: *const u8, length: CK_ULONG) -> Result<&'a [u8]> {
    // SAFETY: the caller of `mechanism` or `derive` guarantees that what a structure points to has the length that the structure states.
    unsafe { slice(pointer, length) }.map_err(|_| INVALID)
}

unsafe fn params<'a>(entry: &Entry, mechanism: &CK_MECHANISM) -> Result<Params<'a>> {
    // SAFETY: the caller of `mechanism` guarantees that the parameter has the length that the mechanism states, that it is the type's structure
    // where that is the structure's length, and that what it points to has the lengths stated in it and stays as it is.
    unsafe {
        let given = mechanism.ulParameterLen as usize;
        let plain = || match given {
            0 => Ok(Params::None),
            _ => bytes(mechanism.pParameter.cast(), mechanism.ulParameterLen).map(Params::Bytes),
        };
        match entry.shape {
            Shape::Bytes | Shape::Derive(_) => plain(),
            Shape::Ignored => Ok(Params::None),
            Shape::Number => Ok(Params::Number(read::<CK_ULONG>(mechanism)? as u64)),
            Shape::Pss => {
                let pss: CK_RSA_PKCS_PSS_PARAMS = read(mechanism)?;
                let salt = usize::try_from(pss.sLen).map_err(|_| INVALID)?;
                Ok(Params::Pss { hash: digest::hash_of(pss.hashAlg)?, mgf1: Hash::of_mgf(pss.mgf)?, salt })
            }
            Shape::Oaep => {
                let oaep: CK_RSA_PKCS_OAEP_PARAMS = read(mechanism)?;
                let none = oaep.ulSourceDataLen == 0;
                ensure(oaep.source == CKZ_DATA_SPECIFIED || oaep.source == 0 && none, CKR_MECHANISM_PARAM_INVALID)?;
                let label = bytes(oaep.pSourceData.cast(), oaep.ulSourceDataLen)?;
                Ok(Params::Oaep { hash: digest::hash_of(oaep.hashAlg)?, mgf1: Hash::of_mgf(oaep.mgf)?, label })
            }
            Shape::Counter => {
                let counter: CK_AES_CTR_PARAMS = read(mechanism)?;
                let bits = u32::try_from(counter.ulCounterBits).map_err(|_| INVALID)?;
                Ok(Params::Counter { bits, block: counter.cb })
            }
            // An IV alone stands for a tag of 128 bits.
            Shape::Gmac if given <= BLOCK => Ok(Params::Bytes(bytes(mechanism.pParameter.cast(), given as CK_ULONG)?)),
            Shape::Gcm | Shape::Gmac => gcm(mechanism),
            Shape::Ccm => ccm(mechanism),
            Shape::ChaCha => {
                let given: CK_CHACHA20_PARAMS = read(mechanism)?;
                let size = |bits: CK_ULONG| if bits.is_multiple_of(8) { Ok(bits / 8) } else { Err(INVALID) };
                let counter = bytes(given.pBlockCounter, size(given.blockCounterBits)?)?;
                Ok(Params::ChaCha { counter, nonce: bytes(given.pNonce, size(given.ulNonceBits)?)? })
            }
            Shape::ChaChaPoly => {
                let given: CK_SALSA20_CHACHA20_POLY1305_PARAMS = read(mechanism)?;
                let (nonce, aad) = (bytes(given.pNonce, given.ulNonceLen)?, bytes(given.pAAD, given.ulAADLen)?);
                Ok(Params::ChaChaPoly { nonce, aad })
            }
            Shape::Pbkdf2 => pbkdf2(mechanism),
            Shape::Version => {
                let version: CK_VERSION = read(mechanism)?;
                Ok(Params::Version([version.major, version.minor]))
            }
            Shape::TlsMac => {
                let given: CK_TLS_MAC_PARAMS = read(mechanism)?;
                let server = match given.ulServerOrClient {
                    1 => true,
                    2 => false,
                    _ => return Err(INVALID),
                };
                Ok(Params::TlsMac { prf: Prf::of(given.prfHashMechanism)?, length: given.ulMacLength as u64, server })
            }
            Shape::Eddsa | Shape::SignContext | Shape::HashSignContext if given == 0 => Ok(Params::None),
            Shape::Eddsa => {
                let eddsa: CK_EDDSA_PARAMS = read(mechanism)?;
                let context = bytes(eddsa.pContextData, eddsa.ulContextDataLen)?;
                Ok(Params::Eddsa { prehash: eddsa.phFlag != CK_FALSE, context })
            }
            Shape::SignContext => {
                let given: CK_SIGN_ADDITIONAL_CONTEXT = read(mechanism)?;
                let context = bytes(given.pContext, given.ulContextLen)?;
                Ok(Params::SignContext { deterministic: deterministic(given.hedgeVariant)?, context, hash: None })
            }
            Shape::HashSignContext => {
                let given: CK_HASH_SIGN_ADDITIONAL_CONTEXT = read(mechanism)?;
                let context = bytes(given.pContext, given.ulContextLen)?;
                let deterministic = deterministic(given.hedgeVariant)?;
                Ok(Params::SignContext { deterministic, context, hash: Some(given.hash as u64) })
            }
        }
    }
}

/// Whether a signature is to be made without randomness.
fn deterministic(variant: CK_HEDGE_TYPE) -> Result<bool> {
    match variant {
        CKH_HEDGE_PREFERRED | CKH_HEDGE_REQUIRED => Ok(false),
        CKH_DETERMINISTIC_REQUIRED => Ok(true),
        _ => Err(INVALID),
    }
}

/// CK_PKCS5_PBKD2_PARAMS2, or the older CK_PKCS5_PBKD2_PARAMS, which points to the password's length. Both are as long as each other:
/// a number that can only be one of a password is taken for the length, as others do too.
///
/// # Safety
/// A parameter of this length is one of PBKDF2's two structures, and password and salt have the lengths stated in it while the result is used.
unsafe fn pbkdf2<'a>(mechanism: &CK_MECHANISM) -> Result<Params<'a>> {
    // SAFETY: the caller of `mechanism` guarantees that a parameter of this length is one of PBKDF2's two structures, and that password and salt
    // have the lengths stated in it. A number that is no less than `LOWEST_ADDRESS` can only be the address of the password's length.
    unsafe {
        let given: CK_PKCS5_PBKD2_PARAMS2 = read(mechanism)?;
        let length = if given.ulPasswordLen < LOWEST_ADDRESS {
            given.ulPasswordLen
        } else {
            let pointer = std::ptr::with_exposed_provenance_mut::<CK_ULONG>(given.ulPasswordLen as usize);
            *value(pointer).map_err(|_| INVALID)?
        };
        let sound = given.saltSource == CKZ_SALT_SPECIFIED && given.ulPrfDataLen == 0 && given.iterations > 0;
        ensure(sound && length < LOWEST_ADDRESS, CKR_MECHANISM_PARAM_INVALID)?;
        let hash = match given.prf {
            CKP_PKCS5_PBKD2_HMAC_SHA1 => Hash::Sha1,
            CKP_PKCS5_PBKD2_HMAC_SHA224 => Hash::Sha224,
            CKP_PKCS5_PBKD2_HMAC_SHA256 => Hash::Sha256,
            CKP_PKCS5_PBKD2_HMAC_SHA384 => Hash::Sha384,
            CKP_PKCS5_PBKD2_HMAC_SHA512 => Hash::Sha512,
            CKP_PKCS5_PBKD2_HMAC_SHA512_224 => Hash::Sha512_224,
            CKP_PKCS5_PBKD2_HMAC_SHA512_256 => Hash::Sha512_256,
            _ => return Err(INVALID),
        };
        let password = bytes(given.pPassword, length)?;
        let salt = bytes(given.pSaltSourceData.cast(), given.ulSaltSourceDataLen)?;
        Ok(Params::Pbkdf2 { hash, password, salt, iterations: given.iterations as u64 })
    }
}

/// CK_GCM_PARAMS before PKCS #11 2.40's errata, without the IV's length in bits.
#[repr(C)]
#[derive(Clone, Copy)]
struct OldGcm {
    iv: *mut u8,
    iv_len: CK_ULONG,
    aad: *mut u8,
    aad_len: CK_ULONG,
    tag_bits: CK_ULONG,
}

unsafe fn gcm<'a>(mechanism: &CK_MECHANISM) -> Result<Params<'a>> {
    // SAFETY: the caller of `mechanism` guarantees that the parameter is the structure of GCM that has the stated length, and that IV and
    // associated data have the lengths stated in it.
    unsafe {
        let size = mechanism.ulParameterLen as usize;
        let given = if size == size_of::<OldGcm>() {
            read::<OldGcm>(mechanism)?
        } else if size == size_of::<CK_GCM_WRAP_PARAMS>() {
            let wrap: CK_GCM_WRAP_PARAMS = read(mechanism)?;
            let (iv, iv_len, aad, aad_len) = (wrap.pIv, wrap.ulIvLen, wrap.pAAD, wrap.ulAADLen);
            OldGcm { iv, iv_len, aad, aad_len, tag_bits: wrap.ulTagBits }
        } else {
            let new: CK_GCM_PARAMS = read(mechanism)?;
            let (iv, iv_len, aad, aad_len) = (new.pIv, new.ulIvLen, new.pAAD, new.ulAADLen);
            OldGcm { iv, iv_len, aad, aad_len, tag_bits: new.ulTagBits }
        };
        let (iv, aad) = (bytes(given.iv, given.iv_len)?, bytes(given.aad, given.aad_len)?);
        Ok(Params::Gcm { iv, aad, tag_bits: given.tag_bits as u64 })
    }
}

/// CK_CCM_PARAMS, or CK_CCM_WRAP_PARAMS, which says besides how a nonce is made.
///
/// # Safety
/// The parameter is the structure of CCM that has the stated length; nonce and associated data have the lengths stated in it while the result is
/// used.
unsafe fn ccm<'a>(mechanism: &CK_MECHANISM) -> Result<Params<'a>> {
    // SAFETY: the caller of `mechanism` guarantees that the parameter is the structure of CCM that has the stated length, and that nonce and
    // associated data have the lengths stated in it.
    unsafe {
        let given = if mechanism.ulParameterLen as usize == size_of::<CK_CCM_WRAP_PARAMS>() {
            let wrap: CK_CCM_WRAP_PARAMS = read(mechanism)?;
            CK_CCM_PARAMS {
                ulDataLen: wrap.ulDataLen,
                pNonce: wrap.pNonce,
                ulNonceLen: wrap.ulNonceLen,
                pAAD: wrap.pAAD,
                ulAADLen: wrap.ulAADLen,
                ulMACLen: wrap.ulMACLen,
            }
        } else {
            read::<CK_CCM_PARAMS>(mechanism)?
        };
        let (nonce, aad) = (bytes(given.pNonce, given.ulNonceLen)?, bytes(given.pAAD, given.ulAADLen)?);
        Ok(Params::Ccm { data: given.ulDataLen as u64, nonce, aad, mac: given.ulMACLen as u64 })
    }
}
