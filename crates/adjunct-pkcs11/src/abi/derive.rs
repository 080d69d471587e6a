//! C_DeriveKey: the parameters of derivations, and what they write besides the key's handle.

use super::args::{slice, slice_mut, template, value};
use super::params::{bytes, read};
use crate::handle::Handle;
use crate::key_management::Deriving;
use crate::session::Session;
use crate::uses;
use adjunct_mechanisms::mechanism::derive::agree::{self, Agree};
use adjunct_mechanisms::mechanism::derive::bytes::{Encrypt, Mode as Cipher};
use adjunct_mechanisms::mechanism::derive::hkdf::{Hkdf, Salt};
use adjunct_mechanisms::mechanism::derive::sp800108::{self, Mode, Number, Part};
use adjunct_mechanisms::mechanism::derive::tls::{self, Master, MasterSeed, Prf, Randoms};
use adjunct_mechanisms::mechanism::derive::{Derivation, Derive};
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::mechanism::params::Shape;
use adjunct_mechanisms::mechanism::{digest, hmac, registry};
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use std::ptr::null_mut;

const INVALID: Rv = Rv(CKR_MECHANISM_PARAM_INVALID);
/// The most parts and keys of a derivation.
const MOST: CK_ULONG = 1024;

/// Places for results besides the handle. They are pointers, because callers may give one buffer for several of them, or for a result and an input.
/// Each was checked and is not null.
enum Outputs {
    None,
    /// The version within a premaster secret, where the caller wants it.
    Version(*mut CK_VERSION),
    /// Places for the handles of TLS's keys, and room for IVs of this many bytes.
    Keys(*mut CK_SSL3_KEY_MAT_OUT, usize),
    /// The handles of more keys.
    More(Vec<*mut CK_OBJECT_HANDLE>),
    /// A buffer of this many bytes.
    Bytes(*mut u8, usize),
}

/// Derives a key; `place` is for its handle.
///
/// # Safety
/// Unless they are null, `pointer` is a mechanism as its type wants it, all that it points to stays as it is, and is nobody else's where
/// results go to, and `place` is a handle.
pub unsafe fn derive(
    session: &Session,
    own: Handle,
    pointer: *const CK_MECHANISM,
    base: CK_OBJECT_HANDLE,
    template: Attributes,
    place: *mut CK_OBJECT_HANDLE,
) -> Result {
    ensure(!pointer.is_null() && pointer.is_aligned(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: not null and aligned, both checked above; the caller guarantees a mechanism there, which stays as it is during the call.
    let mechanism = unsafe { &*pointer };
    let entry = registry::find_or_unknown(mechanism.mechanism);
    let Shape::Derive(derive) = entry.shape else { return fail(CKR_MECHANISM_INVALID) };
    // SAFETY: the caller guarantees that the mechanism's parameter is what its type wants, with all that it points to.
    let (derivation, outputs) = unsafe { derivation(derive, entry.hash, mechanism)? };
    let deriving = Deriving::new(session, own, mechanism.mechanism, &derivation, base)?;
    match (&derivation, outputs) {
        (Derivation::TlsPrf(seed), Outputs::Bytes(out, length)) => {
            let made = seed.derive(deriving.base_value()?)?;
            // SAFETY: the caller guarantees room for `length` bytes at `out`, which nobody else uses during the call.
            unsafe { slice_mut(out, length as CK_ULONG)? }.copy_from_slice(&made);
        }
        (Derivation::TlsKeys(keys), Outputs::Keys(out, iv)) => {
            let made = deriving.key_block(keys, template)?;
            // SAFETY: the caller guarantees that a CK_SSL3_KEY_MAT_OUT lives at `out`, which nobody else uses during the call.
            let out = unsafe { value(out)? };
            [out.hClientMacSecret, out.hServerMacSecret] = made.macs;
            [out.hClientKey, out.hServerKey] = made.keys;
            for (room, made) in [out.pIVClient, out.pIVServer].into_iter().zip(&made.ivs) {
                // SAFETY: the caller guarantees room for an IV of `iv` bytes there, which nobody else uses during the call.
                unsafe { slice_mut(room, iv as CK_ULONG)? }.copy_from_slice(made);
            }
        }
        (Derivation::Sp800108(..), Outputs::More(places)) => {
            // SAFETY: the caller guarantees that the place of each handle lives, and that nobody else uses it during the call.
            let write = |place, handle| unsafe { value(place).map(|place| *place = handle) };
            ensure(!place.is_null() && place.is_aligned(), CKR_ARGUMENTS_BAD)?;
            let handles = deriving.several(&derivation, template).map_err(|(wrong, error)| {
                if let Some(place) = wrong.and_then(|at| places.get(at)) {
                    let _ = write(*place, CK_INVALID_HANDLE);
                }
                error
            })?;
            for (place, handle) in std::iter::once(place).chain(places).zip(handles) {
                write(place, handle.get())?;
            }
        }
        (_, outputs) => {
            let data = matches!(derive, Derive::Hkdf { data: true });
            ensure(!place.is_null() && place.is_aligned(), CKR_ARGUMENTS_BAD)?;
            let made = deriving.one(&derivation, template, data)?.get();
            // SAFETY: the caller guarantees that a handle may be written to `place`, and that nobody else uses it during the call.
            unsafe { *value(place)? = made };
            if let (Outputs::Version(place), Ok([major, minor, ..])) = (outputs, deriving.base_value())
                && !place.is_null()
            {
                // SAFETY: not null; the caller guarantees that a version may be written there, and that nobody else uses it during the call.
                unsafe { *value(place)? = CK_VERSION { major: *major, minor: *minor } };
            }
        }
    }
    uses::count(session, mechanism.mechanism, deriving.strength());
    Ok(())
}

unsafe fn derivation<'a>(
    derive: Derive,
    hash: Option<Hash>,
    mechanism: &CK_MECHANISM,
) -> Result<(Derivation<'a>, Outputs)> {
    // SAFETY: the caller of `derive` guarantees that the parameter is the structure that the mechanism's type wants where it has that length,
    // and that what it points to has the lengths stated in it and stays as it is.
    unsafe {
        let string = || {
            let given: CK_KEY_DERIVATION_STRING_DATA = read(mechanism)?;
            bytes(given.pData, given.ulLen)
        };
        let derivation = match derive {
            Derive::Agree { cofactor } => {
                let given: CK_ECDH1_DERIVE_PARAMS = read(mechanism)?;
                Derivation::Agree(Agree {
                    cofactor,
                    kdf: agree::Kdf::of(given.kdf)?,
                    shared: bytes(given.pSharedData, given.ulSharedDataLen)?,
                    public: bytes(given.pPublicData, given.ulPublicDataLen)?,
                })
            }
            Derive::Hkdf { .. } => Derivation::Hkdf(hkdf(mechanism)?),
            Derive::Counter | Derive::Feedback | Derive::DoublePipeline => return sp800108(derive, mechanism),
            Derive::Key => Derivation::BaseAndKey(read(mechanism)?),
            Derive::Data(derivation) => derivation(string()?),
            Derive::Extract => Derivation::Extract(read::<CK_EXTRACT_PARAMS>(mechanism)?),
            Derive::AesEcb => Derivation::Encrypt(Encrypt { mode: Cipher::AesEcb, data: string()? }),
            Derive::Des3Ecb => Derivation::Encrypt(Encrypt { mode: Cipher::Des3Ecb, data: string()? }),
            Derive::AesCbc => {
                let given: CK_AES_CBC_ENCRYPT_DATA_PARAMS = read(mechanism)?;
                let data = bytes(given.pData, given.length)?;
                Derivation::Encrypt(Encrypt { mode: Cipher::AesCbc(given.iv), data })
            }
            Derive::Des3Cbc => {
                let given: CK_DES_CBC_ENCRYPT_DATA_PARAMS = read(mechanism)?;
                let data = bytes(given.pData, given.length)?;
                Derivation::Encrypt(Encrypt { mode: Cipher::Des3Cbc(given.iv), data })
            }
            Derive::Hash => {
                ensure(mechanism.ulParameterLen == 0, CKR_MECHANISM_PARAM_INVALID)?;
                Derivation::Hashed(hash.ok_or(INVALID)?)
            }
            _ => return tls(derive, mechanism),
        };
        Ok((derivation, Outputs::None))
    }
}

unsafe fn hkdf<'a>(mechanism: &CK_MECHANISM) -> Result<Hkdf<'a>> {
    // SAFETY: the caller of `derive` guarantees that a parameter of this length is a CK_HKDF_PARAMS, and that salt and info have the lengths
    // stated in it.
    unsafe {
        let given: CK_HKDF_PARAMS = read(mechanism)?;
        let (extract, expand) = (given.bExtract != CK_FALSE, given.bExpand != CK_FALSE);
        ensure(extract || expand, CKR_MECHANISM_PARAM_INVALID)?;
        let salt = match given.ulSaltType {
            // Of no account where nothing is extracted; programs leave it 0 then.
            _ if !extract => Salt::None,
            CKF_HKDF_SALT_NULL => Salt::None,
            CKF_HKDF_SALT_DATA => Salt::Data(bytes(given.pSalt, given.ulSaltLen)?),
            CKF_HKDF_SALT_KEY => Salt::Key(given.hSaltKey),
            _ => return Err(INVALID),
        };
        let info = bytes(given.pInfo, given.ulInfoLen)?;
        Ok(Hkdf { extract, expand, hash: digest::hash_of(given.prfHashMechanism)?, salt, info })
    }
}

unsafe fn sp800108<'a>(derive: Derive, mechanism: &CK_MECHANISM) -> Result<(Derivation<'a>, Outputs)> {
    // SAFETY: the caller of `derive` guarantees that a parameter of this length is the structure of the mechanism's type, and that the IV, the
    // parts and the further keys, with their templates and the places of their handles, are as many and as long as stated in it.
    unsafe {
        let (mode, given) = if matches!(derive, Derive::Feedback) {
            let given: CK_SP800_108_FEEDBACK_KDF_PARAMS = read(mechanism)?;
            let plain = CK_SP800_108_KDF_PARAMS {
                prfType: given.prfType,
                ulNumberOfDataParams: given.ulNumberOfDataParams,
                pDataParams: given.pDataParams,
                ulAdditionalDerivedKeys: given.ulAdditionalDerivedKeys,
                pAdditionalDerivedKeys: given.pAdditionalDerivedKeys,
            };
            (Mode::Feedback(bytes(given.pIV, given.ulIVLen)?), plain)
        } else {
            let counter = matches!(derive, Derive::Counter);
            (if counter { Mode::Counter } else { Mode::DoublePipeline }, read(mechanism)?)
        };
        let few = given.ulNumberOfDataParams <= MOST && given.ulAdditionalDerivedKeys <= MOST;
        ensure(few, CKR_MECHANISM_PARAM_INVALID)?;
        let parts = slice(given.pDataParams, given.ulNumberOfDataParams).map_err(|_| INVALID)?;
        let parts = parts.iter().map(|part| sp800108_part(part, mode == Mode::Counter)).collect::<Result<_>>()?;
        let kdf = sp800108::Kdf { mode, prf: sp800108_prf(given.prfType)?, parts };
        let (mut templates, mut places) = (Vec::new(), Vec::new());
        for key in slice(given.pAdditionalDerivedKeys, given.ulAdditionalDerivedKeys).map_err(|_| INVALID)? {
            templates.push(template(key.pTemplate, key.ulAttributeCount)?);
            value(key.phKey)?;
            places.push(key.phKey);
        }
        Ok((Derivation::Sp800108(kdf, templates), Outputs::More(places)))
    }
}

fn sp800108_prf(kind: CK_MECHANISM_TYPE) -> Result<sp800108::Prf> {
    Ok(match kind {
        CKM_AES_CMAC => sp800108::Prf::AesCmac,
        CKM_DES3_CMAC => sp800108::Prf::Des3Cmac,
        _ => sp800108::Prf::Hmac(hmac::hash_of(kind).ok_or(INVALID)?),
    })
}

unsafe fn sp800108_part<'a>(part: &CK_PRF_DATA_PARAM, counter_mode: bool) -> Result<Part<'a>> {
    /// The structure of a part.
    ///
    /// # Safety
    /// The value of the part is the structure of the part's type, if it is as long as a `T`.
    unsafe fn structure<T: Copy>(part: &CK_PRF_DATA_PARAM) -> Result<T> {
        let fits = part.ulValueLen as usize == size_of::<T>() && !part.pValue.is_null();
        ensure(fits, CKR_MECHANISM_PARAM_INVALID)?;
        // SAFETY: not null, and as long as a `T`, both checked here; the caller of `derive` guarantees that the value of a part is the structure
        // of the part's type then. The read needs no alignment.
        Ok(unsafe { part.pValue.cast::<T>().read_unaligned() })
    }
    let number = |little: CK_BBOOL, bits: CK_ULONG, most: CK_ULONG| -> Result<Number> {
        let fits = bits.is_multiple_of(8) && (8..=most).contains(&bits);
        ensure(fits, CKR_MECHANISM_PARAM_INVALID)?;
        Ok(Number { little: little != CK_FALSE, bytes: bits as usize / 8 })
    };
    // SAFETY: the caller of `derive` guarantees that the value of a part has the length stated in the part, and is what the part's type wants.
    unsafe {
        let counter = || {
            let format: CK_SP800_108_COUNTER_FORMAT = structure(part)?;
            number(format.bLittleEndian, format.ulWidthInBits, 32)
        };
        Ok(match part.type_ {
            CK_SP800_108_ITERATION_VARIABLE if counter_mode => Part::Iteration(Some(counter()?)),
            // What is iterated otherwise has no form of its own, and none may be given.
            CK_SP800_108_ITERATION_VARIABLE if part.pValue.is_null() && part.ulValueLen == 0 => Part::Iteration(None),
            CK_SP800_108_COUNTER => Part::Counter(counter()?),
            CK_SP800_108_DKM_LENGTH => {
                let format: CK_SP800_108_DKM_LENGTH_FORMAT = structure(part)?;
                let segments = match format.dkmLengthMethod {
                    CK_SP800_108_DKM_LENGTH_SUM_OF_KEYS => false,
                    CK_SP800_108_DKM_LENGTH_SUM_OF_SEGMENTS => true,
                    _ => return Err(INVALID),
                };
                Part::Length { segments, number: number(format.bLittleEndian, format.ulWidthInBits, 64)? }
            }
            CK_SP800_108_BYTE_ARRAY => Part::Bytes(bytes(part.pValue.cast(), part.ulValueLen)?),
            CK_SP800_108_KEY_HANDLE => Part::Key(structure(part)?),
            _ => return Err(INVALID),
        })
    }
}

unsafe fn randoms<'a>(given: &CK_SSL3_RANDOM_DATA) -> Result<Randoms<'a>> {
    // SAFETY: the caller of `derive` guarantees that both randoms have the lengths stated beside them, and stay as they are.
    unsafe {
        let client = bytes(given.pClientRandom, given.ulClientRandomLen)?;
        Ok(Randoms { client, server: bytes(given.pServerRandom, given.ulServerRandomLen)? })
    }
}

unsafe fn tls<'a>(derive: Derive, mechanism: &CK_MECHANISM) -> Result<(Derivation<'a>, Outputs)> {
    // SAFETY: the caller of `derive` guarantees that a parameter of the length of the type's structure is that structure, and that what it
    // points to has the lengths stated in it. What is written to is nobody else's.
    unsafe {
        let master = |prf, seed, version: *mut CK_VERSION, rsa: bool| {
            let version = if rsa { version } else { null_mut() };
            Ok((Derivation::TlsMaster(Master { prf, seed, rsa }), Outputs::Version(version)))
        };
        match derive {
            Derive::TlsMaster { rsa } => {
                let given: CK_SSL3_MASTER_KEY_DERIVE_PARAMS = read(mechanism)?;
                let seed = MasterSeed::Randoms(randoms(&given.RandomInfo)?);
                master(Prf::Tls10, seed, given.pVersion, rsa)
            }
            Derive::Tls12Master { rsa } => {
                let given: CK_TLS12_MASTER_KEY_DERIVE_PARAMS = read(mechanism)?;
                let seed = MasterSeed::Randoms(randoms(&given.RandomInfo)?);
                let prf = Prf::of(given.prfHashMechanism)?;
                master(prf, seed, given.pVersion, rsa)
            }
            Derive::Tls12Extended { rsa } => {
                let given: CK_TLS12_EXTENDED_MASTER_KEY_DERIVE_PARAMS = read(mechanism)?;
                let seed = MasterSeed::Session(bytes(given.pSessionHash, given.ulSessionHashLen)?);
                let prf = Prf::of(given.prfHashMechanism)?;
                master(prf, seed, given.pVersion, rsa)
            }
            Derive::TlsKeys => {
                let given: CK_SSL3_KEY_MAT_PARAMS = read(mechanism)?;
                key_material(&given, Prf::Tls10, true)
            }
            Derive::Tls12Keys { ivs } => {
                let given: CK_TLS12_KEY_MAT_PARAMS = read(mechanism)?;
                let plain = CK_SSL3_KEY_MAT_PARAMS {
                    ulMacSizeInBits: given.ulMacSizeInBits,
                    ulKeySizeInBits: given.ulKeySizeInBits,
                    ulIVSizeInBits: given.ulIVSizeInBits,
                    bIsExport: given.bIsExport,
                    RandomInfo: given.RandomInfo,
                    pReturnedKeyMaterial: given.pReturnedKeyMaterial,
                };
                let prf = Prf::of(given.prfHashMechanism)?;
                key_material(&plain, prf, ivs)
            }
            Derive::TlsKdf => {
                let given: CK_TLS_KDF_PARAMS = read(mechanism)?;
                let context = bytes(given.pContextData, given.ulContextDataLength)?;
                let kdf = tls::Kdf {
                    prf: Prf::of(given.prfMechanism)?,
                    label: bytes(given.pLabel, given.ulLabelLength)?,
                    randoms: randoms(&given.RandomInfo)?,
                    context: (!given.pContextData.is_null()).then_some(context),
                };
                Ok((Derivation::TlsKdf(kdf), Outputs::None))
            }
            Derive::TlsPrf => {
                let given: CK_TLS_PRF_PARAMS = read(mechanism)?;
                let length = *value(given.pulOutputLen)?;
                let length = slice_mut(given.pOutput, length).map_err(|_| INVALID)?.len();
                let (label, seed) = (bytes(given.pLabel, given.ulLabelLen)?, bytes(given.pSeed, given.ulSeedLen)?);
                Ok((Derivation::TlsPrf(tls::Seed { label, seed, length }), Outputs::Bytes(given.pOutput, length)))
            }
            _ => fail(CKR_MECHANISM_INVALID),
        }
    }
}

/// TLS's keys. IVs are only given where `ivs`; export ciphers are not there at all.
///
/// # Safety
/// The randoms have the lengths stated beside them, a CK_SSL3_KEY_MAT_OUT lives at `pReturnedKeyMaterial`, and each room for an IV has the length of
/// an IV. No other code uses what is written to.
unsafe fn key_material<'a>(given: &CK_SSL3_KEY_MAT_PARAMS, prf: Prf, ivs: bool) -> Result<(Derivation<'a>, Outputs)> {
    let length = |bits: CK_ULONG| -> Result<usize> {
        // No cipher of TLS has more.
        ensure(bits.is_multiple_of(8) && bits <= 4096, CKR_MECHANISM_PARAM_INVALID)?;
        Ok(bits as usize / 8)
    };
    ensure(given.bIsExport == CK_FALSE, CKR_MECHANISM_PARAM_INVALID)?;
    let iv = if ivs { length(given.ulIVSizeInBits)? } else { 0 };
    let (mac, key) = (length(given.ulMacSizeInBits)?, length(given.ulKeySizeInBits)?);
    // SAFETY: the caller of `derive` guarantees that the randoms have the lengths stated beside them, that a CK_SSL3_KEY_MAT_OUT lives at
    // `pReturnedKeyMaterial`, and that each room for an IV has the length of an IV. What is written to is nobody else's.
    unsafe {
        let keys = tls::Keys { prf, randoms: randoms(&given.RandomInfo)?, mac, key, iv };
        let out = value(given.pReturnedKeyMaterial).map_err(|_| INVALID)?;
        for room in [out.pIVClient, out.pIVServer] {
            slice_mut(room, iv as CK_ULONG).map_err(|_| INVALID)?;
        }
        Ok((Derivation::TlsKeys(keys), Outputs::Keys(given.pReturnedKeyMaterial, iv)))
    }
}
