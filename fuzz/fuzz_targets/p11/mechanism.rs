//! Mechanisms with parameters: mostly what they want, with arbitrary contents, sometimes bytes of any length.
//!
//! A structure with pointers is only made whole: what a length says is there has to be there.

use super::Memory;
use cryptoki_sys::*;
use libfuzzer_sys::arbitrary::Unstructured;
use std::ptr::null_mut;

pub type Bytes<'a> = Unstructured<'a>;

pub fn byte(u: &mut Bytes<'_>) -> u8 {
    u.arbitrary().unwrap_or(0)
}

pub fn one<T: Copy>(u: &mut Bytes<'_>, of: &[T]) -> T {
    of[usize::from(byte(u)) % of.len()]
}

/// A number: mostly small, sometimes any.
pub fn size(u: &mut Bytes<'_>) -> CK_ULONG {
    match byte(u) % 8 {
        0 => CK_ULONG::MAX - CK_ULONG::from(byte(u)),
        1 => 1 << (byte(u) % 64),
        2 => u.arbitrary().unwrap_or(0),
        _ => CK_ULONG::from(byte(u)),
    }
}

/// Bytes of some length, or of that one.
pub fn data(u: &mut Bytes<'_>, usual: usize) -> Vec<u8> {
    let length = match byte(u) % 8 {
        0 => usize::from(byte(u)),
        1 => 0,
        _ => usual,
    };
    let fill = byte(u);
    (0..length).map(|at| if u.is_empty() { fill.wrapping_add(at as u8) } else { byte(u) }).collect()
}

/// Bytes in memory, and how many.
fn at(memory: &mut Memory, bytes: Vec<u8>) -> (*mut u8, CK_ULONG) {
    let length = bytes.len() as CK_ULONG;
    (memory.bytes(bytes), length)
}

const HASHES: [CK_MECHANISM_TYPE; 8] =
    [CKM_SHA_1, CKM_SHA224, CKM_SHA256, CKM_SHA384, CKM_SHA512, CKM_SHA3_256, CKM_SHA512_256, CKM_AES_ECB];
const MGFS: [CK_RSA_PKCS_MGF_TYPE; 4] = [CKG_MGF1_SHA1, CKG_MGF1_SHA256, CKG_MGF1_SHA512, 99];
const HMACS: [CK_MECHANISM_TYPE; 5] = [CKM_SHA256_HMAC, CKM_SHA_1_HMAC, CKM_AES_CMAC, CKM_DES3_CMAC, CKM_MD5];

fn randoms(memory: &mut Memory, u: &mut Bytes<'_>) -> CK_SSL3_RANDOM_DATA {
    let (client, server) = (at(memory, data(u, 32)), at(memory, data(u, 32)));
    CK_SSL3_RANDOM_DATA {
        pClientRandom: client.0,
        ulClientRandomLen: client.1,
        pServerRandom: server.0,
        ulServerRandomLen: server.1,
    }
}

fn version(memory: &mut Memory, u: &mut Bytes<'_>) -> *mut CK_VERSION {
    if byte(u).is_multiple_of(8) { null_mut() } else { memory.value(CK_VERSION { major: byte(u), minor: byte(u) }) }
}

fn string(memory: &mut Memory, u: &mut Bytes<'_>) -> CK_KEY_DERIVATION_STRING_DATA {
    let (pointer, length) = at(memory, data(u, 32));
    CK_KEY_DERIVATION_STRING_DATA { pData: pointer, ulLen: length }
}

/// Room for TLS's key block, with IVs of this many bits.
fn key_block(memory: &mut Memory, iv: CK_ULONG) -> *mut CK_SSL3_KEY_MAT_OUT {
    let room = usize::try_from(iv / 8 + 1).unwrap_or(1).min(600);
    let (client, server) = (memory.bytes(vec![0; room]), memory.bytes(vec![0; room]));
    memory.value(CK_SSL3_KEY_MAT_OUT {
        hClientMacSecret: 0,
        hServerMacSecret: 0,
        hClientKey: 0,
        hServerKey: 0,
        pIVClient: client,
        pIVServer: server,
    })
}

fn sp800108(memory: &mut Memory, u: &mut Bytes<'_>, feedback: bool, kind: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    let mut parts = Vec::new();
    for _ in 0..byte(u) % 5 {
        let type_ = one(u, &[1, 2, 3, 4, 5, 99]);
        let (pointer, length) = match type_ {
            1 | 2 => {
                let format = CK_SP800_108_COUNTER_FORMAT { bLittleEndian: byte(u) & 1, ulWidthInBits: size(u) };
                (memory.value(format).cast::<std::ffi::c_void>(), size_of::<CK_SP800_108_COUNTER_FORMAT>())
            }
            3 => {
                let format = CK_SP800_108_DKM_LENGTH_FORMAT {
                    dkmLengthMethod: one(u, &[1, 2, 3]),
                    bLittleEndian: byte(u) & 1,
                    ulWidthInBits: size(u),
                };
                (memory.value(format).cast(), size_of::<CK_SP800_108_DKM_LENGTH_FORMAT>())
            }
            _ => {
                let (pointer, length) = at(memory, data(u, 8));
                (pointer.cast(), length as usize)
            }
        };
        parts.push(CK_PRF_DATA_PARAM { type_, pValue: pointer, ulValueLen: length as CK_ULONG });
    }
    let mut more = Vec::new();
    for _ in 0..byte(u) % 3 {
        let template = vec![super::number(memory, CKA_VALUE_LEN, CK_ULONG::from(byte(u)))];
        let (place, template) = (memory.value(0), memory.list(template));
        more.push(CK_DERIVED_KEY { pTemplate: template, ulAttributeCount: 1, phKey: place });
    }
    let (count, more_count) = (parts.len() as CK_ULONG, more.len() as CK_ULONG);
    let (parts, more) = (memory.list(parts), memory.list(more));
    let prf = one(u, &HMACS);
    if feedback {
        let (iv, iv_len) = at(memory, data(u, 32));
        return memory.with(
            kind,
            CK_SP800_108_FEEDBACK_KDF_PARAMS {
                prfType: prf,
                ulNumberOfDataParams: count,
                pDataParams: parts,
                ulIVLen: iv_len,
                pIV: iv,
                ulAdditionalDerivedKeys: more_count,
                pAdditionalDerivedKeys: more,
            },
        );
    }
    memory.with(
        kind,
        CK_SP800_108_KDF_PARAMS {
            prfType: prf,
            ulNumberOfDataParams: count,
            pDataParams: parts,
            ulAdditionalDerivedKeys: more_count,
            pAdditionalDerivedKeys: more,
        },
    )
}

fn tls(memory: &mut Memory, u: &mut Bytes<'_>, kind: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    let hash = one(u, &HASHES);
    match kind {
        CKM_TLS_MASTER_KEY_DERIVE | CKM_TLS_MASTER_KEY_DERIVE_DH => {
            let given =
                CK_SSL3_MASTER_KEY_DERIVE_PARAMS { RandomInfo: randoms(memory, u), pVersion: version(memory, u) };
            memory.with(kind, given)
        }
        CKM_TLS12_MASTER_KEY_DERIVE | CKM_TLS12_MASTER_KEY_DERIVE_DH => {
            let (random, version) = (randoms(memory, u), version(memory, u));
            memory.with(
                kind,
                CK_TLS12_MASTER_KEY_DERIVE_PARAMS { RandomInfo: random, pVersion: version, prfHashMechanism: hash },
            )
        }
        CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE | CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH => {
            let (session, version) = (at(memory, data(u, 32)), version(memory, u));
            memory.with(
                kind,
                CK_TLS12_EXTENDED_MASTER_KEY_DERIVE_PARAMS {
                    prfHashMechanism: hash,
                    pSessionHash: session.0,
                    ulSessionHashLen: session.1,
                    pVersion: version,
                },
            )
        }
        CKM_TLS_KEY_AND_MAC_DERIVE => {
            let (mac, key, iv) = (size(u), size(u), size(u));
            let (random, out) = (randoms(memory, u), key_block(memory, iv));
            memory.with(
                kind,
                CK_SSL3_KEY_MAT_PARAMS {
                    ulMacSizeInBits: mac,
                    ulKeySizeInBits: key,
                    ulIVSizeInBits: iv,
                    bIsExport: byte(u) / 250,
                    RandomInfo: random,
                    pReturnedKeyMaterial: out,
                },
            )
        }
        CKM_TLS12_KEY_AND_MAC_DERIVE | CKM_TLS12_KEY_SAFE_DERIVE => {
            let (mac, key, iv) = (size(u), size(u), size(u));
            let (random, out) = (randoms(memory, u), key_block(memory, iv));
            memory.with(
                kind,
                CK_TLS12_KEY_MAT_PARAMS {
                    ulMacSizeInBits: mac,
                    ulKeySizeInBits: key,
                    ulIVSizeInBits: iv,
                    bIsExport: byte(u) / 250,
                    RandomInfo: random,
                    pReturnedKeyMaterial: out,
                    prfHashMechanism: hash,
                },
            )
        }
        CKM_TLS12_KDF | CKM_TLS_KDF => {
            let (label, random, context) = (at(memory, data(u, 8)), randoms(memory, u), at(memory, data(u, 8)));
            memory.with(
                kind,
                CK_TLS_KDF_PARAMS {
                    prfMechanism: hash,
                    pLabel: label.0,
                    ulLabelLength: label.1,
                    RandomInfo: random,
                    pContextData: context.0,
                    ulContextDataLength: context.1,
                },
            )
        }
        _ => {
            let (seed, label, room) = (at(memory, data(u, 32)), at(memory, data(u, 8)), at(memory, vec![0; 64]));
            let length = memory.value(room.1);
            memory.with(
                kind,
                CK_TLS_PRF_PARAMS {
                    pSeed: seed.0,
                    ulSeedLen: seed.1,
                    pLabel: label.0,
                    ulLabelLen: label.1,
                    pOutput: room.0,
                    pulOutputLen: length,
                },
            )
        }
    }
}

/// Ways to make nonces in messages and in what wraps.
const GENERATORS: [CK_GENERATOR_FUNCTION; 5] =
    [CKG_NO_GENERATE, CKG_GENERATE, CKG_GENERATE_COUNTER, CKG_GENERATE_RANDOM, 9];

fn aead(memory: &mut Memory, u: &mut Bytes<'_>, kind: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    let (iv, aad) = (at(memory, data(u, 12)), at(memory, data(u, 20)));
    let (fixed, generator) = (size(u), one(u, &GENERATORS));
    match (kind, byte(u) % 4) {
        (CKM_CHACHA20_POLY1305, _) => memory.with(
            kind,
            CK_SALSA20_CHACHA20_POLY1305_PARAMS { pNonce: iv.0, ulNonceLen: iv.1, pAAD: aad.0, ulAADLen: aad.1 },
        ),
        (CKM_AES_CCM, 0) => memory.with(
            kind,
            CK_CCM_WRAP_PARAMS {
                ulDataLen: size(u),
                pNonce: iv.0,
                ulNonceLen: iv.1,
                ulNonceFixedBits: fixed,
                nonceGenerator: generator,
                pAAD: aad.0,
                ulAADLen: aad.1,
                ulMACLen: size(u),
            },
        ),
        (CKM_AES_CCM, _) => memory.with(
            kind,
            CK_CCM_PARAMS {
                ulDataLen: size(u),
                pNonce: iv.0,
                ulNonceLen: iv.1,
                pAAD: aad.0,
                ulAADLen: aad.1,
                ulMACLen: one(u, &[16, 8, 4, 3, 20]),
            },
        ),
        (_, 0) => memory.with(
            kind,
            CK_GCM_WRAP_PARAMS {
                pIv: iv.0,
                ulIvLen: iv.1,
                ulIvFixedBits: fixed,
                ivGenerator: generator,
                pAAD: aad.0,
                ulAADLen: aad.1,
                ulTagBits: size(u),
            },
        ),
        _ => memory.with(
            kind,
            CK_GCM_PARAMS {
                pIv: iv.0,
                ulIvLen: iv.1,
                ulIvBits: 8 * iv.1,
                pAAD: aad.0,
                ulAADLen: aad.1,
                ulTagBits: one(u, &[128, 96, 32, 7, 0]),
            },
        ),
    }
}

/// A mechanism of this kind. `keys` are handles that parameters may name.
pub fn of(memory: &mut Memory, u: &mut Bytes<'_>, kind: CK_MECHANISM_TYPE, keys: &[CK_OBJECT_HANDLE]) -> CK_MECHANISM {
    let key = if keys.is_empty() { 0 } else { one(u, keys) };
    match kind {
        CKM_RSA_PKCS_PSS | CKM_SHA256_RSA_PKCS_PSS | CKM_SHA1_RSA_PKCS_PSS | CKM_SHA512_RSA_PKCS_PSS => {
            let (hash, mgf, salt) = (one(u, &HASHES), one(u, &MGFS), size(u));
            memory.with(kind, CK_RSA_PKCS_PSS_PARAMS { hashAlg: hash, mgf, sLen: salt })
        }
        CKM_RSA_PKCS_OAEP => {
            let label = at(memory, data(u, 0));
            memory.with(
                kind,
                CK_RSA_PKCS_OAEP_PARAMS {
                    hashAlg: one(u, &HASHES),
                    mgf: one(u, &MGFS),
                    source: one(u, &[1, 0, 2]),
                    pSourceData: label.0.cast(),
                    ulSourceDataLen: label.1,
                },
            )
        }
        CKM_AES_CTR => {
            let mut block = [0; 16];
            block.iter_mut().for_each(|place| *place = byte(u));
            memory.with(kind, CK_AES_CTR_PARAMS { ulCounterBits: one(u, &[128, 32, 1, 0, 129]), cb: block })
        }
        CKM_AES_GCM | CKM_AES_CCM | CKM_CHACHA20_POLY1305 => aead(memory, u, kind),
        CKM_AES_GMAC if byte(u).is_multiple_of(2) => aead(memory, u, kind),
        CKM_CHACHA20 => {
            let (counter, nonce) = (memory.bytes(vec![1; 8]), memory.bytes(vec![2; 24]));
            memory.with(
                kind,
                CK_CHACHA20_PARAMS {
                    pBlockCounter: counter,
                    blockCounterBits: one(u, &[32, 64, 33, 0]),
                    pNonce: nonce,
                    ulNonceBits: one(u, &[96, 64, 192, 8]),
                },
            )
        }
        CKM_EDDSA if byte(u).is_multiple_of(2) => {
            let context = at(memory, data(u, 8));
            memory.with(
                kind,
                CK_EDDSA_PARAMS { phFlag: byte(u) & 1, ulContextDataLen: context.1, pContextData: context.0 },
            )
        }
        CKM_PKCS5_PBKD2 => {
            let (salt, password) = (at(memory, data(u, 16)), at(memory, data(u, 8)));
            memory.with(
                kind,
                CK_PKCS5_PBKD2_PARAMS2 {
                    saltSource: one(u, &[1, 1, 0]),
                    pSaltSourceData: salt.0.cast(),
                    ulSaltSourceDataLen: salt.1,
                    iterations: CK_ULONG::from(byte(u)),
                    prf: CK_ULONG::from(byte(u) % 12) as _,
                    pPrfData: null_mut(),
                    ulPrfDataLen: 0,
                    pPassword: password.0,
                    ulPasswordLen: password.1,
                },
            )
        }
        CKM_TLS_MAC | CKM_TLS12_MAC => {
            let hash = one(u, &HASHES);
            memory.with(
                kind,
                CK_TLS_MAC_PARAMS {
                    prfHashMechanism: hash,
                    ulMacLength: size(u),
                    ulServerOrClient: one(u, &[1, 2, 3]),
                },
            )
        }
        CKM_HASH_ML_DSA => {
            let context = at(memory, data(u, 8));
            memory.with(
                kind,
                CK_HASH_SIGN_ADDITIONAL_CONTEXT {
                    hedgeVariant: one(u, &[0, 1, 2, 3]),
                    pContext: context.0,
                    ulContextLen: context.1,
                    hash: one(u, &HASHES),
                },
            )
        }
        CKM_ML_DSA | CKM_HASH_ML_DSA_SHA256 | CKM_HASH_ML_DSA_SHAKE128 if byte(u).is_multiple_of(2) => {
            let context = at(memory, data(u, 8));
            memory.with(
                kind,
                CK_SIGN_ADDITIONAL_CONTEXT {
                    hedgeVariant: one(u, &[0, 1, 2, 3]),
                    pContext: context.0,
                    ulContextLen: context.1,
                },
            )
        }
        CKM_ECDH1_DERIVE | CKM_ECDH1_COFACTOR_DERIVE => {
            let (shared, public) = (at(memory, data(u, 0)), at(memory, data(u, 65)));
            memory.with(
                kind,
                CK_ECDH1_DERIVE_PARAMS {
                    kdf: one(u, &[CKD_NULL, CKD_SHA1_KDF, CKD_SHA256_KDF, 99]),
                    ulSharedDataLen: shared.1,
                    pSharedData: shared.0,
                    ulPublicDataLen: public.1,
                    pPublicData: public.0,
                },
            )
        }
        CKM_HKDF_DERIVE | CKM_HKDF_DATA => {
            let (salt, info) = (at(memory, data(u, 16)), at(memory, data(u, 16)));
            memory.with(
                kind,
                CK_HKDF_PARAMS {
                    bExtract: byte(u) & 1,
                    bExpand: byte(u) & 1,
                    prfHashMechanism: one(u, &HASHES),
                    ulSaltType: one(u, &[CKF_HKDF_SALT_NULL, CKF_HKDF_SALT_DATA, CKF_HKDF_SALT_KEY, 0]),
                    pSalt: salt.0,
                    ulSaltLen: salt.1,
                    hSaltKey: key,
                    pInfo: info.0,
                    ulInfoLen: info.1,
                },
            )
        }
        CKM_SP800_108_COUNTER_KDF | CKM_SP800_108_DOUBLE_PIPELINE_KDF => sp800108(memory, u, false, kind),
        CKM_SP800_108_FEEDBACK_KDF => sp800108(memory, u, true, kind),
        CKM_CONCATENATE_BASE_AND_KEY => memory.with(kind, key),
        CKM_CONCATENATE_BASE_AND_DATA
        | CKM_CONCATENATE_DATA_AND_BASE
        | CKM_XOR_BASE_AND_DATA
        | CKM_AES_ECB_ENCRYPT_DATA
        | CKM_DES3_ECB_ENCRYPT_DATA => {
            let given = string(memory, u);
            memory.with(kind, given)
        }
        CKM_AES_CBC_ENCRYPT_DATA => {
            let given = string(memory, u);
            memory.with(kind, CK_AES_CBC_ENCRYPT_DATA_PARAMS { iv: [5; 16], pData: given.pData, length: given.ulLen })
        }
        CKM_DES3_CBC_ENCRYPT_DATA => {
            let given = string(memory, u);
            memory.with(kind, CK_DES_CBC_ENCRYPT_DATA_PARAMS { iv: [5; 8], pData: given.pData, length: given.ulLen })
        }
        CKM_TLS_MASTER_KEY_DERIVE
        | CKM_TLS_MASTER_KEY_DERIVE_DH
        | CKM_TLS12_MASTER_KEY_DERIVE
        | CKM_TLS12_MASTER_KEY_DERIVE_DH
        | CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE
        | CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH
        | CKM_TLS_KEY_AND_MAC_DERIVE
        | CKM_TLS12_KEY_AND_MAC_DERIVE
        | CKM_TLS12_KEY_SAFE_DERIVE
        | CKM_TLS12_KDF
        | CKM_TLS_KDF
        | CKM_TLS_PRF => tls(memory, u, kind),
        // Structures without pointers, numbers, IVs, and nothing. Such of pointers are above, in all their lengths: none has 8 or less.
        _ => {
            let bytes = match byte(u) % 4 {
                0 => Vec::new(),
                1 => size(u).to_ne_bytes().to_vec(),
                2 => data(u, 8),
                _ => data(u, 16),
            };
            let safe = bytes.len() <= 16 || !has_pointers(kind);
            let (pointer, length) = at(memory, if safe { bytes } else { Vec::new() });
            CK_MECHANISM { mechanism: kind, pParameter: pointer.cast(), ulParameterLen: length }
        }
    }
}

/// Whether a parameter of more than 16 bytes may be read as a structure with pointers.
fn has_pointers(kind: CK_MECHANISM_TYPE) -> bool {
    matches!(kind, CKM_AES_GMAC | CKM_EDDSA | CKM_ML_DSA) || (0x1f..=0x2c).contains(&kind)
}
