//! Parameters of mechanisms as callers pass them: structures with pointers in them.

use super::args::slice;
use crate::mechanism::Mechanism;
use crate::mechanism::hash::Hash;
use crate::mechanism::params::Params;
use crate::rv::{Result, Rv, ensure};
use cryptoki_sys::*;

const INVALID: Rv = Rv(CKR_MECHANISM_PARAM_INVALID);

/// The mechanism at a pointer.
///
/// # Safety
/// Unless it is null, a mechanism stands there whose parameter has the length it says, and as its type wants it where the length is
/// that of the type's structure; all of it stays as it is for as long as the result is used.
pub unsafe fn mechanism<'a>(pointer: *const CK_MECHANISM) -> Result<Mechanism<'a>> {
    ensure(!pointer.is_null() && pointer.is_aligned(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: as the caller says.
    let mechanism = unsafe { &*pointer };
    // SAFETY: as the caller says.
    let params = unsafe { params(mechanism)? };
    Ok(Mechanism { kind: mechanism.mechanism, params })
}

/// A structure of parameters.
unsafe fn read<T: Copy>(mechanism: &CK_MECHANISM) -> Result<T> {
    let fits = mechanism.ulParameterLen as usize == size_of::<T>() && !mechanism.pParameter.is_null();
    ensure(fits, CKR_MECHANISM_PARAM_INVALID)?;
    // SAFETY: as the caller of `mechanism` says; alignment is not asked for.
    Ok(unsafe { mechanism.pParameter.cast::<T>().read_unaligned() })
}

unsafe fn bytes<'a>(pointer: *const u8, length: CK_ULONG) -> Result<&'a [u8]> {
    // SAFETY: as the caller of `mechanism` says.
    unsafe { slice(pointer, length) }.map_err(|_| INVALID)
}

unsafe fn params<'a>(mechanism: &CK_MECHANISM) -> Result<Params<'a>> {
    // SAFETY: as the caller of `mechanism` says, for all that is read here.
    unsafe {
        let plain = || bytes(mechanism.pParameter.cast(), mechanism.ulParameterLen);
        Ok(match mechanism.mechanism {
            CKM_RSA_PKCS_PSS
            | CKM_SHA1_RSA_PKCS_PSS
            | CKM_SHA224_RSA_PKCS_PSS
            | CKM_SHA256_RSA_PKCS_PSS
            | CKM_SHA384_RSA_PKCS_PSS
            | CKM_SHA512_RSA_PKCS_PSS
            | CKM_SHA3_224_RSA_PKCS_PSS
            | CKM_SHA3_256_RSA_PKCS_PSS
            | CKM_SHA3_384_RSA_PKCS_PSS
            | CKM_SHA3_512_RSA_PKCS_PSS => {
                let pss: CK_RSA_PKCS_PSS_PARAMS = read(mechanism)?;
                let salt = usize::try_from(pss.sLen).map_err(|_| INVALID)?;
                Params::Pss { hash: Hash::of(pss.hashAlg)?, mgf1: Hash::of_mgf(pss.mgf)?, salt }
            }
            CKM_RSA_PKCS_OAEP => {
                let oaep: CK_RSA_PKCS_OAEP_PARAMS = read(mechanism)?;
                let none = oaep.ulSourceDataLen == 0;
                ensure(oaep.source == CKZ_DATA_SPECIFIED || oaep.source == 0 && none, CKR_MECHANISM_PARAM_INVALID)?;
                let label = bytes(oaep.pSourceData.cast(), oaep.ulSourceDataLen)?;
                Params::Oaep { hash: Hash::of(oaep.hashAlg)?, mgf1: Hash::of_mgf(oaep.mgf)?, label }
            }
            CKM_AES_CTR => {
                let counter: CK_AES_CTR_PARAMS = read(mechanism)?;
                let bits = u32::try_from(counter.ulCounterBits).map_err(|_| INVALID)?;
                Params::Counter { bits, block: counter.cb }
            }
            CKM_AES_GCM => gcm(mechanism)?,
            CKM_AES_CCM => {
                let ccm: CK_CCM_PARAMS = read(mechanism)?;
                let (nonce, aad) = (bytes(ccm.pNonce, ccm.ulNonceLen)?, bytes(ccm.pAAD, ccm.ulAADLen)?);
                Params::Ccm { data: ccm.ulDataLen as u64, nonce, aad, mac: ccm.ulMACLen as u64 }
            }
            CKM_CHACHA20_POLY1305 => {
                let given: CK_SALSA20_CHACHA20_POLY1305_PARAMS = read(mechanism)?;
                let (nonce, aad) = (bytes(given.pNonce, given.ulNonceLen)?, bytes(given.pAAD, given.ulAADLen)?);
                Params::ChaChaPoly { nonce, aad }
            }
            CKM_ECDH1_DERIVE | CKM_ECDH1_COFACTOR_DERIVE => {
                let ecdh: CK_ECDH1_DERIVE_PARAMS = read(mechanism)?;
                let shared = bytes(ecdh.pSharedData, ecdh.ulSharedDataLen)?;
                let public = bytes(ecdh.pPublicData, ecdh.ulPublicDataLen)?;
                Params::Ecdh { kdf: ecdh.kdf as u64, shared, public }
            }
            CKM_EDDSA if mechanism.ulParameterLen != 0 => {
                let eddsa: CK_EDDSA_PARAMS = read(mechanism)?;
                let context = bytes(eddsa.pContextData, eddsa.ulContextDataLen)?;
                Params::Eddsa { prehash: eddsa.phFlag != CK_FALSE, context }
            }
            kind if general(kind) => Params::Number(read::<CK_ULONG>(mechanism)? as u64),
            _ if mechanism.ulParameterLen == 0 => Params::None,
            _ => Params::Bytes(plain()?),
        })
    }
}

/// MACs whose length callers choose.
const fn general(kind: CK_MECHANISM_TYPE) -> bool {
    matches!(
        kind,
        CKM_MD5_HMAC_GENERAL
            | CKM_SHA_1_HMAC_GENERAL
            | CKM_SHA224_HMAC_GENERAL
            | CKM_SHA256_HMAC_GENERAL
            | CKM_SHA384_HMAC_GENERAL
            | CKM_SHA512_HMAC_GENERAL
            | CKM_SHA512_224_HMAC_GENERAL
            | CKM_SHA512_256_HMAC_GENERAL
            | CKM_SHA3_224_HMAC_GENERAL
            | CKM_SHA3_256_HMAC_GENERAL
            | CKM_SHA3_384_HMAC_GENERAL
            | CKM_SHA3_512_HMAC_GENERAL
            | CKM_AES_CMAC_GENERAL
            | CKM_AES_MAC_GENERAL
            | CKM_DES3_CMAC_GENERAL
            | CKM_DES3_MAC_GENERAL
    )
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
    // SAFETY: as the caller of `mechanism` says.
    unsafe {
        let old = mechanism.ulParameterLen as usize == size_of::<OldGcm>();
        let given = if old {
            read::<OldGcm>(mechanism)?
        } else {
            let new: CK_GCM_PARAMS = read(mechanism)?;
            let (iv, iv_len, aad, aad_len) = (new.pIv, new.ulIvLen, new.pAAD, new.ulAADLen);
            OldGcm { iv, iv_len, aad, aad_len, tag_bits: new.ulTagBits }
        };
        let (iv, aad) = (bytes(given.iv, given.iv_len)?, bytes(given.aad, given.aad_len)?);
        Ok(Params::Gcm { iv, aad, tag_bits: given.tag_bits as u64 })
    }
}
