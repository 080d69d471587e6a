/* libep11's interface for C: the functions of the host library, version 4.2, with the numbers and structures that they take.
 *
 * Include <stdint.h>, <stddef.h> and a pkcs11.h of PKCS #11 2.40 or later before, or have a pkcs11.h where the compiler finds it.
 *
 * A key is a blob that only cards with the same wrapping key can open; numbers in its head have the order of this machine. A length goes in as the room that there
 * is and comes out as the bytes of the result. A null buffer asks for the length, but for m_WrapKey's; a buffer without room gives CKR_BUFFER_TOO_SMALL.
 */
#ifndef XCP_H__
#define XCP_H__

#include <stddef.h>
#include <stdint.h>
#ifndef CKR_OK
#include "pkcs11.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MAX_FNAME_CHARS 256
#define XCP_API_VERSION 0x0906   /* of a card's module */
#define XCP_API_ORDINAL 0x0006
#define XCP_HOST_API_VER 0x040200

/* Results of functions that return an int or a long */
#define XCP_OK 0
#define XCP_EINTERNAL -1
#define XCP_EARG -2
#define XCP_ETARGET -3
#define XCP_EMEMORY -4
#define XCP_EMUTEX -5
#define XCP_EINIT -6
#define XCP_EDEVICE -7
#define XCP_EGROUP -8
#define XCP_ESIZE -9
#define XCP_EINVALID -10
#define XCP_ERESPONSE -11
#define XCP_EAPI -12
#define XCP_MOD_EOBSOLETE -101
#define XCP_MOD_EVERSION -102
#define XCP_MOD_EFLAGS -103
#define XCP_MOD_EMODULE -104
#define XCP_MOD_EDOMAIN -105
#define XCP_MOD_EINIT -106
#define XCP_MOD_EPROBE -107

/* Return values of cards and of the library */
#define CKR_IBM_WKID_MISMATCH (CKR_VENDOR_DEFINED + 0x10001UL)
#define CKR_IBM_INTERNAL_ERROR (CKR_VENDOR_DEFINED + 0x10002UL)
#define CKR_IBM_TRANSPORT_ERROR (CKR_VENDOR_DEFINED + 0x10003UL)
#define CKR_IBM_BLOB_ERROR (CKR_VENDOR_DEFINED + 0x10004UL)
#define CKR_IBM_BLOBKEY_CONFLICT (CKR_VENDOR_DEFINED + 0x10005UL)
#define CKR_IBM_MODE_CONFLICT (CKR_VENDOR_DEFINED + 0x10006UL)
#define CKR_IBM_NONCRT_KEY_SIZE (CKR_VENDOR_DEFINED + 0x10008UL)
#define CKR_IBM_WK_NOT_INITIALIZED (CKR_VENDOR_DEFINED + 0x10009UL)
#define CKR_IBM_OA_API_ERROR (CKR_VENDOR_DEFINED + 0x1000aUL)
#define CKR_IBM_REQ_TIMEOUT (CKR_VENDOR_DEFINED + 0x1000bUL)
#define CKR_IBM_READONLY (CKR_VENDOR_DEFINED + 0x1000cUL)
#define CKR_IBM_STATIC_POLICY (CKR_VENDOR_DEFINED + 0x1000dUL)
#define CKR_IBM_TRANSPORT_LIMIT (CKR_VENDOR_DEFINED + 0x10010UL)
#define CKR_IBM_FCV_NOT_SET (CKR_VENDOR_DEFINED + 0x10011UL)
#define CKR_IBM_PERF_CATEGORY_INVALID (CKR_VENDOR_DEFINED + 0x10012UL)
#define CKR_IBM_API_MISMATCH (CKR_VENDOR_DEFINED + 0x10013UL)
#define CKR_IBM_TARGET_INVALID (CKR_VENDOR_DEFINED + 0x10030UL)
#define CKR_IBM_PQC_PARAMS_NOT_SUPPORTED (CKR_VENDOR_DEFINED + 0x10031UL)
#define CKR_IBM_PARAM_NOT_SUPPORTED (CKR_VENDOR_DEFINED + 0x10032UL)
#define CKR_IBM_SESSION_IMMUTABLE (CKR_VENDOR_DEFINED + 0x10033UL)
#define CKR_IBM_ERROR_STATE (CKR_VENDOR_DEFINED + 0x10101UL)

/* Mechanisms */
#define CKM_IBM_SHA3_224 (CKM_VENDOR_DEFINED + 0x10001UL)
#define CKM_IBM_SHA3_256 (CKM_VENDOR_DEFINED + 0x10002UL)
#define CKM_IBM_SHA3_384 (CKM_VENDOR_DEFINED + 0x10003UL)
#define CKM_IBM_SHA3_512 (CKM_VENDOR_DEFINED + 0x10004UL)
#define CKM_IBM_CMAC (CKM_VENDOR_DEFINED + 0x10007UL)
#define CKM_IBM_ECDSA_SHA224 (CKM_VENDOR_DEFINED + 0x10008UL)
#define CKM_IBM_ECDSA_SHA256 (CKM_VENDOR_DEFINED + 0x10009UL)
#define CKM_IBM_ECDSA_SHA384 (CKM_VENDOR_DEFINED + 0x1000aUL)
#define CKM_IBM_ECDSA_SHA512 (CKM_VENDOR_DEFINED + 0x1000bUL)
#define CKM_IBM_EC_MULTIPLY (CKM_VENDOR_DEFINED + 0x1000cUL)
#define CKM_IBM_EAC (CKM_VENDOR_DEFINED + 0x1000dUL)
#define CKM_IBM_SHA512_256 (CKM_VENDOR_DEFINED + 0x10012UL)
#define CKM_IBM_SHA512_224 (CKM_VENDOR_DEFINED + 0x10013UL)
#define CKM_IBM_SHA512_256_HMAC (CKM_VENDOR_DEFINED + 0x10014UL)
#define CKM_IBM_SHA512_224_HMAC (CKM_VENDOR_DEFINED + 0x10015UL)
#define CKM_IBM_EC_X25519 (CKM_VENDOR_DEFINED + 0x1001bUL)
#define CKM_IBM_ED25519_SHA512 (CKM_VENDOR_DEFINED + 0x1001cUL)
#define CKM_IBM_EC_X448 (CKM_VENDOR_DEFINED + 0x1001eUL)
#define CKM_IBM_ED448_SHA3 (CKM_VENDOR_DEFINED + 0x1001fUL)
#define CKM_IBM_SIPHASH (CKM_VENDOR_DEFINED + 0x10021UL)
#define CKM_IBM_DILITHIUM (CKM_VENDOR_DEFINED + 0x10023UL)
#define CKM_IBM_KYBER (CKM_VENDOR_DEFINED + 0x10024UL)
#define CKM_IBM_SHA3_224_HMAC (CKM_VENDOR_DEFINED + 0x10025UL)
#define CKM_IBM_SHA3_256_HMAC (CKM_VENDOR_DEFINED + 0x10026UL)
#define CKM_IBM_SHA3_384_HMAC (CKM_VENDOR_DEFINED + 0x10027UL)
#define CKM_IBM_SHA3_512_HMAC (CKM_VENDOR_DEFINED + 0x10028UL)
#define CKM_IBM_EC_X25519_RAW (CKM_VENDOR_DEFINED + 0x10029UL)
#define CKM_IBM_EC_X448_RAW (CKM_VENDOR_DEFINED + 0x10030UL)
#define CKM_IBM_ECDSA_OTHER (CKM_VENDOR_DEFINED + 0x10031UL)
#define CKM_IBM_EC_AGGREGATE (CKM_VENDOR_DEFINED + 0x10034UL)
#define CKM_IBM_ML_DSA_KEY_PAIR_GEN (CKM_VENDOR_DEFINED + 0x10035UL)
#define CKM_IBM_ML_DSA (CKM_VENDOR_DEFINED + 0x10036UL)
#define CKM_IBM_ML_KEM_KEY_PAIR_GEN (CKM_VENDOR_DEFINED + 0x10037UL)
#define CKM_IBM_ML_KEM (CKM_VENDOR_DEFINED + 0x10038UL)
#define CKM_IBM_CLEARKEY_TRANSPORT (CKM_VENDOR_DEFINED + 0x20001UL)
#define CKM_IBM_ATTRIBUTEBOUND_WRAP (CKM_VENDOR_DEFINED + 0x20004UL)
#define CKM_IBM_TRANSPORTKEY (CKM_VENDOR_DEFINED + 0x20005UL)
#define CKM_IBM_DH_PKCS_DERIVE_RAW (CKM_VENDOR_DEFINED + 0x20006UL)
#define CKM_IBM_ECDH1_DERIVE_RAW (CKM_VENDOR_DEFINED + 0x20007UL)
#define CKM_IBM_WIRETEST (CKM_VENDOR_DEFINED + 0x30004UL)
#define CKM_IBM_RETAINKEY (CKM_VENDOR_DEFINED + 0x40001UL)
#define CKM_IBM_CPACF_WRAP (CKM_VENDOR_DEFINED + 0x60001UL)
#define CKM_IBM_BTC_DERIVE (CKM_VENDOR_DEFINED + 0x70001UL)
#define CKM_IBM_ETH_DERIVE (CKM_VENDOR_DEFINED + 0x70002UL)

/* Attributes */
#define CKA_IBM_RESTRICTABLE (CKA_VENDOR_DEFINED + 0x10001UL)
#define CKA_IBM_NEVER_MODIFIABLE (CKA_VENDOR_DEFINED + 0x10002UL)
#define CKA_IBM_RETAINKEY (CKA_VENDOR_DEFINED + 0x10003UL)
#define CKA_IBM_ATTRBOUND (CKA_VENDOR_DEFINED + 0x10004UL)
#define CKA_IBM_KEYTYPE (CKA_VENDOR_DEFINED + 0x10005UL)
#define CKA_IBM_CV (CKA_VENDOR_DEFINED + 0x10006UL)
#define CKA_IBM_MACKEY (CKA_VENDOR_DEFINED + 0x10007UL)
#define CKA_IBM_USE_AS_DATA (CKA_VENDOR_DEFINED + 0x10008UL)
#define CKA_IBM_STRUCT_PARAMS (CKA_VENDOR_DEFINED + 0x10009UL)
#define CKA_IBM_STD_COMPLIANCE1 (CKA_VENDOR_DEFINED + 0x1000aUL)
#define CKA_IBM_PROTKEY_EXTRACTABLE (CKA_VENDOR_DEFINED + 0x1000cUL)
#define CKA_IBM_PROTKEY_NEVER_EXTRACTABLE (CKA_VENDOR_DEFINED + 0x1000dUL)
#define CKA_IBM_PQC_PARAMS (CKA_VENDOR_DEFINED + 0x1000eUL)
#define CKA_IBM_LOGIN_SESSION (CKA_VENDOR_DEFINED + 0x1000fUL)
#define CKA_IBM_PARAMETER_SET (CKA_VENDOR_DEFINED + 0x10010UL)
#define CKA_IBM_WIRETEST (CKA_VENDOR_DEFINED + 0x20001UL)
#define CKA_IBM_MACED_PUBLIC_KEY_INFO (CKA_VENDOR_DEFINED + 0x20002UL)

/* Types of keys */
#define CKK_IBM_PQC_DILITHIUM (CKK_VENDOR_DEFINED + 0x10023UL)
#define CKK_IBM_PQC_KYBER (CKK_VENDOR_DEFINED + 0x10024UL)
#define CKK_IBM_ML_DSA (CKK_VENDOR_DEFINED + 0x10025UL)
#define CKK_IBM_ML_KEM (CKK_VENDOR_DEFINED + 0x10026UL)

#ifndef CKD_VENDOR_DEFINED
#define CKD_VENDOR_DEFINED 0x80000000UL
#endif
#ifndef CKG_VENDOR_DEFINED
#define CKG_VENDOR_DEFINED 0x80000000UL
#endif
/* Derivations of hybrids, and mask generation */
#define CKD_IBM_HYBRID_NULL (CKD_VENDOR_DEFINED + 0x1UL)
#define CKD_IBM_HYBRID_SHA1_KDF (CKD_VENDOR_DEFINED + 0x2UL)
#define CKD_IBM_HYBRID_SHA224_KDF (CKD_VENDOR_DEFINED + 0x3UL)
#define CKD_IBM_HYBRID_SHA256_KDF (CKD_VENDOR_DEFINED + 0x4UL)
#define CKD_IBM_HYBRID_SHA384_KDF (CKD_VENDOR_DEFINED + 0x5UL)
#define CKD_IBM_HYBRID_SHA512_KDF (CKD_VENDOR_DEFINED + 0x6UL)
#define CKG_IBM_MGF1_SHA3_224 (CKG_VENDOR_DEFINED + 0x1UL)
#define CKG_IBM_MGF1_SHA3_256 (CKG_VENDOR_DEFINED + 0x2UL)
#define CKG_IBM_MGF1_SHA3_384 (CKG_VENDOR_DEFINED + 0x3UL)
#define CKG_IBM_MGF1_SHA3_512 (CKG_VENDOR_DEFINED + 0x4UL)

/* Sizes */
#define XCP_HMAC_BYTES ((size_t)32)
#define XCP_WK_BYTES ((size_t)32)
#define XCP_WKID_BYTES ((size_t)16)
#define XCP_BLOBCLRATTR_BYTES 8
#define XCP_BLOBCLRMODE_BYTES 8
#define XCP_MACKEY_BYTES 32
#define XCP_PINBLOB_BYTES ((size_t)80)
#define XCP_PINBLOB_V1_BYTES ((size_t)56)
#define XCP_MAX_MODULES 256
#define XCP_SERIALNR_CHARS 8
#define XCP_DOMAIN_INSTANCE_BYTES 4
#define XCP_SPKISALT_BYTES 8
#define XCP_DOMAINS 256
#define XCP_DOMAIN_BYTES 4
#define XCP_MAX_ADMINS 8
#define XCP_MAX_KEYPARTS 20
#define XCP_MIN_PINBYTES 8
#define XCP_MAX_PINBYTES 16
#define XCP_CERT_MAX_BYTES ((size_t)12288)
#define XCP_CERTHASH_BYTES 32
#define XCP_ADMCTR_BYTES ((size_t)16)
#define XCP_KEYCSUM_BYTES 32
#define PKCS11_CHECKSUM_BYTES ((size_t)3)
#define XCP_KEYBITS_FIELD_BYTES ((size_t)4)
#define XCP_RETAINID_BYTES ((size_t)64)
#define XCP_MAX_GRPIDX 1024u

/* Queries of m_get_xcp_info */
typedef enum {
    CK_IBM_XCPQ_API = 0, CK_IBM_XCPQ_MODULE = 1, CK_IBM_XCPQ_DOMAINS = 2, CK_IBM_XCPQ_DOMAIN = 3,
    CK_IBM_XCPQ_SELFTEST = 4, CK_IBM_XCPQ_EXT_CAPS = 5, CK_IBM_XCPQ_EXT_CAPLIST = 6, CK_IBM_XCPQ_AUDITLOG = 8,
    CK_IBM_XCPQ_EC_CURVES = 10, CK_IBM_XCPQ_COMPAT = 11, CK_IBM_XCPQ_EC_CURVEGRPS = 12, CK_IBM_XCPQ_CP_BLACKLIST = 13,
    CK_IBM_XCPQ_PQC_STRENGTHS = 14, CK_IBM_XCPQ_LOGIN_IMPORTER = 15, CK_IBM_XCPQ_COMPAT_ADM = 16
} CK_IBM_XCPQUERY_t;

/* Subqueries of CK_IBM_XCPQ_MODULE */
typedef enum {
    CK_IBM_XCPMSQ_DEFAULT = 0, CK_IBM_XCPMSQ_DESCRTEXT = 1, CK_IBM_XCPMSQ_FNLIST = 2, CK_IBM_XCPMSQ_FNS = 3,
    CK_IBM_XCPMSQ_MOD_V1 = 4, CK_IBM_XCPMSQ_ATTRLIST = 5, CK_IBM_XCPMSQ_ATTRS = 6, CK_IBM_XCPMSQ_MOD_V2 = 7,
    CK_IBM_XCPMSQ_ATTRCOUNT = 8
} CK_IBM_XCPMSUBQUERY_t;

/* Queries that the library answers itself, whatever the target is: words of 32 bits, but for a name of 32 bytes (VERSION_HASH: of this build, no hash) and a text (HVERSION). ECDH_DERPRM is 0: the structure and the point alone are both taken */
#define CK_IBM_XCP_HOSTQ_IDX 0xff000000
#define CK_IBM_XCPHQ_COUNT 0xff000000
#define CK_IBM_XCPHQ_VERSION 0xff000001
#define CK_IBM_XCPHQ_VERSION_HASH 0xff000002
#define CK_IBM_XCPHQ_DIAGS 0xff000003
#define CK_IBM_XCPHQ_HVERSION 0xff000004
#define CK_IBM_XCPHQ_TGT_MODE 0xff000005
#define CK_IBM_XCPHQ_ECDH_DERPRM 0xff000006
#define CK_IBM_XCPHQ_TGT_MODES_TGTGRP 1

/* Extended capabilities */
typedef enum {
    CK_IBM_XCPXQ_AUDIT_EV_BYTES = 2, CK_IBM_XCPXQ_AUDIT_ENTRIES = 3, CK_IBM_XCPXQ_DEBUGLVL_MAX = 4,
    CK_IBM_XCPXQ_ERRINJECT_FREQ = 5, CK_IBM_XCPXQ_MULTIDATA_N = 6, CK_IBM_XCPXQ_IMPEXP_CAPS = 7,
    CK_IBM_XCPXQ_CERT_MAXBYTES = 8, CK_IBM_XCPXQ_MOD_COUNTERS = 9, CK_IBM_XCPXQ_MAX_SESSIONS = 12,
    CK_IBM_XCPXQ_AVAIL_SESSIONS = 13, CK_IBM_XCPXQ_BTC_CAP = 14, CK_IBM_XCPXQ_ECDSA_OTHER = 15,
    CK_IBM_XCPXQ_OA_CAP = 16, CK_IBM_XCPXQ_LOGIN_ALG = 18, CK_IBM_XCPXQ_LOGIN_ATTR0 = 19,
    CK_IBM_XCPXQ_LOGIN_ATTR1 = 20, CK_IBM_XCPXQ_LOGIN_ATTR2 = 21, CK_IBM_XCPXQ_LOGIN_ATTR3 = 22,
    CK_IBM_XCPXQ_LOGIN_KEYTYPES = 23
} CK_IBM_XCPEXTCAP_t;

/* Flags of a domain */
#define CK_IBM_DOM_ADMIND 1
#define CK_IBM_DOM_CURR_WK 2
#define CK_IBM_DOM_NEXT_WK 4
#define CK_IBM_DOM_COMMITTED_NWK 8
#define CK_IBM_DOM_IMPRINTED 0x10
#define CK_IBM_DOM_PROTKEY_ALLOW 0x20

/* CK_IBM_XCPQ_API */
typedef struct CK_IBM_XCPAPI_INFO {
    CK_ULONG firmwareApi;
    CK_ULONG firmwareConfig;
} CK_IBM_XCPAPI_INFO;

/* CK_IBM_XCPQ_MODULE */
typedef struct CK_IBM_XCP_INFO {
    CK_ULONG firmwareApi;
    CK_ULONG firmwareId;
    CK_VERSION firmwareVersion;
    CK_VERSION cspVersion;
    CK_BYTE firmwareConfig[32];
    CK_BYTE xcpConfig[32];
    CK_BYTE cspConfig[32];
    CK_CHAR serialNumber[16];
    CK_CHAR utcTime[16];
    CK_ULONG opMode2;
    CK_ULONG opMode1;
    CK_FLAGS flags;
    CK_FLAGS extflags;
    CK_ULONG domains;
    CK_ULONG symmStateBytes;
    CK_ULONG digestStateBytes;
    CK_ULONG pinBlockBytes;
    CK_ULONG symmKeyBytes;
    CK_ULONG spkiBytes;
    CK_ULONG prvkeyBytes;
    CK_ULONG maxPayloadBytes;
    CK_ULONG cpProfileBytes;
    CK_ULONG controlPoints;
} CK_IBM_XCP_INFO;

/* CK_IBM_XCPQ_DOMAIN; CK_IBM_XCPQ_DOMAINS gives several */
typedef struct CK_IBM_DOMAIN_INFO {
    CK_ULONG domain;
    CK_BYTE wk[XCP_KEYCSUM_BYTES];     /* verification pattern of the wrapping key */
    CK_BYTE nextwk[XCP_KEYCSUM_BYTES]; /* and of the next one */
    CK_ULONG flags;
    CK_BYTE mode[8];
} CK_IBM_DOMAIN_INFO;

/* Parameters of mechanisms: CKM_IBM_BTC_DERIVE, CKM_IBM_ETH_DERIVE, CKM_IBM_KYBER and CKM_IBM_ML_KEM, CKM_IBM_EC_AGGREGATE */
typedef struct CK_IBM_BTC_DERIVE_PARAMS {
    CK_ULONG type;
    CK_ULONG childKeyIndex;
    CK_BYTE_PTR pChainCode;
    CK_ULONG ulChainCodeLen;
    CK_ULONG version; /* XCP_BTC_VERSION */
} CK_IBM_BTC_DERIVE_PARAMS;

typedef struct CK_IBM_ETH_DERIVE_PARAMS {
    CK_ULONG version; /* XCP_ETH_VERSION */
    CK_ULONG sigVersion;
    CK_ULONG type;
    CK_ULONG childKeyIndex;
    CK_BYTE_PTR pKeyInfo;
    CK_ULONG ulKeyInfoLen;
} CK_IBM_ETH_DERIVE_PARAMS;

typedef CK_ULONG CK_IBM_KEM_MODE;

typedef struct XCP_KYBER_KEM_PARAMS {
    CK_ULONG version; /* XCP_KYBER_KEM_VERSION */
    CK_IBM_KEM_MODE mode;
    CK_ULONG kdf;
    CK_BBOOL prepend;
    CK_BYTE *pCipher;
    CK_ULONG ulCipherLen;
    CK_BYTE *pSharedData;
    CK_ULONG ulSharedDataLen;
    CK_BYTE *pBlob;
    CK_ULONG ulBlobLen;
} XCP_KYBER_KEM_PARAMS_t;

typedef struct XCP_EC_AGGREGATE_PARAMS {
    CK_ULONG version;
    CK_ULONG mode;
    CK_ULONG perElementSize;
    CK_BYTE_PTR pElements;
    CK_ULONG ulElementsLen;
} XCP_EC_AGGREGATE_PARAMS;

/* Numbers in them */
#define XCP_BTC_VERSION 1
#define XCP_BIP0032_CHAINCODE_BYTES 32
#define CK_IBM_BIP0032_HARDENED 0x80000000
#define CK_IBM_BIP0032_PRV2PRV 1
#define CK_IBM_BIP0032_PRV2PUB 2
#define CK_IBM_BIP0032_PUB2PUB 3
#define CK_IBM_BIP0032_MASTERK 4
#define CK_IBM_SLIP0010_PRV2PRV 5
#define CK_IBM_SLIP0010_PRV2PUB 6
#define CK_IBM_SLIP0010_PUB2PUB 7
#define CK_IBM_SLIP0010_MASTERK 8
#define XCP_ETH_VERSION 1
#define XCP_ETH_SIG_VERSION 4
#define CK_IBM_EIP2333_PRV2PRV 1
#define CK_IBM_EIP2333_PRV2PUB 2
#define CK_IBM_EIP2333_MASTERK 3
#define XCP_KYBER_KEM_VERSION 0
#define CK_IBM_KEM_ENCAPSULATE 1
#define CK_IBM_KEM_DECAPSULATE 2
#define CK_IBM_EC_AGG_BLS12_381_SIGN 1
#define CK_IBM_EC_AGG_BLS12_381_PKEY 2
#define CK_IBM_ECSG_IBM_ECSDSA_S256 3
#define CK_IBM_ECSG_IBM_ECSDSA_COMPR_MULTI 5
#define CK_IBM_ECSG_IBM_BLS 6

/* Boolean attributes: the word at 52 of a blob */
typedef enum {
    XCP_BLOB_EXTRACTABLE = 0x1, XCP_BLOB_NEVER_EXTRACTABLE = 0x2, XCP_BLOB_MODIFIABLE = 0x4,
    XCP_BLOB_NEVER_MODIFIABLE = 0x8, XCP_BLOB_RESTRICTABLE = 0x10, XCP_BLOB_LOCAL = 0x20, XCP_BLOB_ATTRBOUND = 0x40,
    XCP_BLOB_USE_AS_DATA = 0x80, XCP_BLOB_SIGN = 0x100, XCP_BLOB_SIGN_RECOVER = 0x200, XCP_BLOB_DECRYPT = 0x400,
    XCP_BLOB_ENCRYPT = 0x800, XCP_BLOB_DERIVE = 0x1000, XCP_BLOB_UNWRAP = 0x2000, XCP_BLOB_WRAP = 0x4000,
    XCP_BLOB_VERIFY = 0x8000, XCP_BLOB_VERIFY_RECOVER = 0x10000, XCP_BLOB_TRUSTED = 0x20000,
    XCP_BLOB_WRAP_W_TRUSTED = 0x40000, XCP_BLOB_RETAINED = 0x80000, XCP_BLOB_ALWAYS_RETAINED = 0x100000,
    XCP_BLOB_PROTKEY_EXTRACTABLE = 0x200000, XCP_BLOB_PROTKEY_NEVER_EXTRACTABLE = 0x400000
} XCP_Attr_t;

/* Control points: bit 0 is 0x80 of the first byte */
typedef enum {
    XCP_CPB_ADD_CPBS = 0, XCP_CPB_DELETE_CPBS = 1, XCP_CPB_SIGN_ASYMM = 2, XCP_CPB_SIGN_SYMM = 3,
    XCP_CPB_SIGVERIFY_SYMM = 4, XCP_CPB_ENCRYPT_SYMM = 5, XCP_CPB_DECRYPT_ASYMM = 6, XCP_CPB_DECRYPT_SYMM = 7,
    XCP_CPB_WRAP_ASYMM = 8, XCP_CPB_WRAP_SYMM = 9, XCP_CPB_UNWRAP_ASYMM = 10, XCP_CPB_UNWRAP_SYMM = 11,
    XCP_CPB_KEYGEN_ASYMM = 12, XCP_CPB_KEYGEN_SYMM = 13, XCP_CPB_RETAINKEYS = 14, XCP_CPB_SKIP_KEYTESTS = 15,
    XCP_CPB_NON_ATTRBOUND = 16, XCP_CPB_MODIFY_OBJECTS = 17, XCP_CPB_RNG_SEED = 18, XCP_CPB_ALG_RAW_RSA = 19,
    XCP_CPB_ALG_NFIPS2009 = 20, XCP_CPB_ALG_NBSI2009 = 21, XCP_CPB_KEYSZ_HMAC_ANY = 22, XCP_CPB_KEYSZ_BELOW80BIT = 23,
    XCP_CPB_KEYSZ_80BIT = 24, XCP_CPB_KEYSZ_112BIT = 25, XCP_CPB_KEYSZ_128BIT = 26, XCP_CPB_KEYSZ_192BIT = 27,
    XCP_CPB_KEYSZ_256BIT = 28, XCP_CPB_KEYSZ_RSA65536 = 29, XCP_CPB_ALG_RSA = 30, XCP_CPB_ALG_DSA = 31,
    XCP_CPB_ALG_EC = 32, XCP_CPB_ALG_EC_BPOOLCRV = 33, XCP_CPB_ALG_EC_NISTCRV = 34, XCP_CPB_ALG_NFIPS2011 = 35,
    XCP_CPB_ALG_NBSI2011 = 36, XCP_CPB_USER_SET_TRUSTED = 37, XCP_CPB_ALG_SKIP_CROSSCHK = 38,
    XCP_CPB_WRAP_CRYPT_KEYS = 39, XCP_CPB_SIGN_CRYPT_KEYS = 40, XCP_CPB_WRAP_SIGN_KEYS = 41,
    XCP_CPB_USER_SET_ATTRBOUND = 42, XCP_CPB_ALLOW_PASSPHRASE = 43, XCP_CPB_WRAP_STRONGER_KEY = 44,
    XCP_CPB_WRAP_WITH_RAW_SPKI = 45, XCP_CPB_ALG_DH = 46, XCP_CPB_DERIVE = 47, XCP_CPB_ALLOW_NONSESSION = 48,
    XCP_CPB_ALG_EC_25519 = 55, XCP_CPB_ALG_EC_SECGCRV = 60, XCP_CPB_ALG_NBSI2017 = 61, XCP_CPB_CPACF_PK = 64,
    XCP_CPB_ALG_PQC = 65, XCP_CPB_BTC = 66, XCP_CPB_ECDSA_OTHER = 67, XCP_CPB_ALG_NFIPS2021 = 68,
    XCP_CPB_ALG_NFIPS2024 = 69, XCP_CPB_COMPAT_LEGACY_SHA3 = 70, XCP_CPB_DSA_PARAMETER_GEN = 71,
    XCP_CPB_DERIVE_NON_AB_KEYS = 72, XCP_CPB_ALLOW_LOGIN_PRE_F2021 = 73, XCP_CPB_ALG_RSA_OAEP = 74,
    XCP_CPB_ALLOW_COMBINED_EXTRACT = 75, XCP_CPB_ALG_EC_PAIRING_FRIENDLY = 76, XCP_CPB_ALG_DILITHIUM = 77,
    XCP_CPB_ALG_KYBER = 78, XCP_CPB_ALG_ML_DSA = 79, XCP_CPB_ALG_ML_KEM = 80, XCP_CPBITS_MAX = XCP_CPB_ALG_ML_KEM
} XCP_CPbit_t;

/* A set of control points */
#define XCP_CPCOUNT 128
#define XCP_CP_BYTES (XCP_CPCOUNT / 8)

#define XCP_ADM_QUERY 0x10000
/* Commands and queries of administration */
typedef enum {
    XCP_ADM_ADMIN_LOGIN = 1, XCP_ADM_DOM_ADMIN_LOGIN = 2, XCP_ADM_ADMIN_LOGOUT = 3, XCP_ADM_DOM_ADMIN_LOGOUT = 4,
    XCP_ADM_ADMIN_REPLACE = 5, XCP_ADM_DOM_ADMIN_REPLACE = 6, XCP_ADM_SET_ATTR = 7, XCP_ADM_DOM_SET_ATTR = 8,
    XCP_ADM_GEN_DOM_IMPORTER = 9, XCP_ADM_GEN_WK = 10, XCP_ADM_EXPORT_WK = 11, XCP_ADM_IMPORT_WK = 12,
    XCP_ADM_COMMIT_WK = 13, XCP_ADM_FINALIZE_WK = 14, XCP_ADM_ZEROIZE = 15, XCP_ADM_DOM_ZEROIZE = 16,
    XCP_ADM_DOM_CTRLPOINT_SET = 17, XCP_ADM_DOM_CTRLPOINT_ADD = 18, XCP_ADM_DOM_CTRLPOINT_DEL = 19,
    XCP_ADM_SET_CLOCK = 20, XCP_ADM_SET_FCV = 21, XCP_ADM_CTRLPOINT_SET = 22, XCP_ADM_CTRLPOINT_ADD = 23,
    XCP_ADM_CTRLPOINT_DEL = 24, XCP_ADM_REENCRYPT = 25, XCP_ADM_RK_REMOVE = 26, XCP_ADM_CLEAR_WK = 27,
    XCP_ADM_CLEAR_NEXT_WK = 28, XCP_ADM_SYSTEM_ZEROIZE = 29, XCP_ADM_EXPORT_STATE = 30, XCP_ADM_IMPORT_STATE = 31,
    XCP_ADM_COMMIT_STATE = 32, XCP_ADM_REMOVE_STATE = 33, XCP_ADM_GEN_MODULE_IMPORTER = 34, XCP_ADM_SET_TRUSTED = 35,
    XCP_ADM_DOMAINS_ZEROIZE = 36, XCP_ADM_EXPORT_NEXT_WK = 38, XCP_ADM_SESSION_REMOVE = 39,
    XCP_ADMQ_ADMIN = XCP_ADM_QUERY | 1, XCP_ADMQ_DOMADMIN = XCP_ADM_QUERY | 2,
    XCP_ADMQ_DEVICE_CERT = XCP_ADM_QUERY | 3, XCP_ADMQ_DOM_IMPORTER_CERT = XCP_ADM_QUERY | 4,
    XCP_ADMQ_CTRLPOINTS = XCP_ADM_QUERY | 5, XCP_ADMQ_DOM_CTRLPOINTS = XCP_ADM_QUERY | 6,
    XCP_ADMQ_WK = XCP_ADM_QUERY | 7, XCP_ADMQ_NEXT_WK = XCP_ADM_QUERY | 8, XCP_ADMQ_ATTRS = XCP_ADM_QUERY | 9,
    XCP_ADMQ_DOM_ATTRS = XCP_ADM_QUERY | 10, XCP_ADMQ_FCV = XCP_ADM_QUERY | 11,
    XCP_ADMQ_WK_ORIGINS = XCP_ADM_QUERY | 12, XCP_ADMQ_RKLIST = XCP_ADM_QUERY | 13,
    XCP_ADMQ_INTERNAL_STATE = XCP_ADM_QUERY | 14, XCP_ADMQ_IMPORTER_CERT = XCP_ADM_QUERY | 15,
    XCP_ADMQ_AUDIT_STATE = XCP_ADM_QUERY | 16, XCP_ADMQ_LASTCMD_DOM_MASK = XCP_ADM_QUERY | 17,
    XCP_ADMQ_SVCADMIN = XCP_ADM_QUERY | 18, XCP_ADMQ_LOGIN_IMPORTER = XCP_ADM_QUERY | 19
} XCP_Admcmd_t;

/* Attributes of administration */
typedef enum {
    XCP_ADMINT_SIGN_THR = 1, XCP_ADMINT_REVOKE_THR = 2, XCP_ADMINT_PERMS = 3, XCP_ADMINT_MODE = 4, XCP_ADMINT_STD = 5,
    XCP_ADMINT_PERMS_EXT01 = 6, XCP_ADMINT_GEN_KTYPES = 7, XCP_ADMINT_ECC_KTYPES = 8, XCP_ADMINT_DIL_KTYPES = 9,
    XCP_ADMINT_ADM_COMPL = 10, XCP_ADMINT_IDX_MAX = XCP_ADMINT_ADM_COMPL
} XCP_AdmAttr_t;

/* Permissions, of which a bit 16 higher says that it may change, and modes */
#define XCP_ADMP_WK_IMPORT 1
#define XCP_ADMP_WK_EXPORT 2
#define XCP_ADMP_WK_1PART 4
#define XCP_ADMP_WK_RANDOM 8
#define XCP_ADMP_1SIGN 0x10
#define XCP_ADMP_CP_1SIGN 0x20
#define XCP_ADMP_ZERO_1SIGN 0x40
#define XCP_ADMP_NO_DOMAIN_IMPRINT 0x80
#define XCP_ADMP_STATE_IMPORT 0x100
#define XCP_ADMP_STATE_EXPORT 0x200
#define XCP_ADMP_STATE_1PART 0x400
#define XCP_ADMP_DO_NOT_DISTURB 0x2000
#define XCP_ADMM_AUTHENTICATED 1U

/* Compliance */
#define XCP_ADMS_FIPS2009 1
#define XCP_ADMS_BSI2009 2
#define XCP_ADMS_FIPS2011 4
#define XCP_ADMS_BSI2011 8
#define XCP_ADMS_SIGG_IMPORT 0x10
#define XCP_ADMS_SIGG 0x20
#define XCP_ADMS_BSICC2017 0x40
#define XCP_ADMS_FIPS2021 0x80
#define XCP_ADMS_FIPS2024 0x100

/* Keys by which parts of wrapping keys travel */
typedef enum {
    XCP_IMPRKEY_RSA_2048 = 0, XCP_IMPRKEY_RSA_4096 = 1, XCP_IMPRKEY_EC_P256 = 2, XCP_IMPRKEY_EC_P521 = 3,
    XCP_IMPRKEY_EC_BP256r = 4, XCP_IMPRKEY_EC_BP320r = 5, XCP_IMPRKEY_EC_BP512r = 6, XCP_IMPRKEY_RSA_3072 = 7,
    XCP_IMPRKEY_EC_P521_TKE = 8
} XCP_IMPRKEY_t;

/* Files of a card */
typedef enum {
    XCP_FILEID_SAVED_STATE = 1, XCP_FILEID_KEYPARTS = 2, XCP_FILEID_TESTDATA = 3, XCP_FILEID_EXPREQUEST = 4
} XCP_FileId_t;

/* Targets: of a domain or a group, from m_add_module. Flags are added to one. */
typedef uint64_t target_t;

#define XCP_TGT_INIT ~0UL
#define XCP_TGT_FMT "x%016" PRIx64

#define XCP_TGTFL_NO_LOCK 0x01000000
#define XCP_TGTFL_CHK_ATTR 0x02000000  /* unknown attributes: CKR_TEMPLATE_INCONSISTENT */
#define XCP_TGTFL_SET_ACMD 0x04000000
#define XCP_TGTFL_NO_SPLIT 0x08000000
#define XCP_TGTFL_WCAP 0x10000000      /* the first buffer gets the request, which is not sent */
#define XCP_TGTFL_WCAP_SQ 0x20000000   /* and its length only the request's */
#define XCP_TGTFL_SET_SCMD 0x40000000
#define XCP_TGTFL_API_CHKD 0x80000000

#define XCPTGTMASK_SET_DOM(mask, domain) ((mask)[(domain) / 8] |= (unsigned char)(0x80 >> (domain) % 8))
#define XCPTGTMASK_DOM_IS_SET(mask, domain) ((mask)[(domain) / 8] & (unsigned char)(0x80 >> (domain) % 8))
#define XCPTGTMASK_CLR_DOM(mask, domain) ((mask)[(domain) / 8] &= (unsigned char)~(0x80 >> (domain) % 8))

typedef struct XCP_ModuleSocket {
    char host[MAX_FNAME_CHARS + 1];
    uint32_t port;
} *XCP_ModuleSocket_t;

typedef struct XCP_DomainPerf {
    unsigned int lastperf[256];
} *XCP_DomainPerf_t;

#define XCP_MOD_VERSION_1 1
#define XCP_MOD_VERSION_2 2
#define XCP_MOD_VERSION 2

typedef struct XCP_Module {
    uint32_t version;               /* 1, or 2, which has the last field */
    uint64_t flags;                 /* XCP_MFL_ */
    uint32_t domains;               /* 0: is filled in */
    unsigned char domainmask[32];   /* domain 0 is 0x80 of the first byte */
    struct XCP_ModuleSocket socket; /* not used */
    uint32_t module_nr;             /* the card */
    void *mhandle;                  /* not used */
    struct XCP_DomainPerf perf;     /* not used */
    uint32_t api;                   /* is filled in with XCP_MFL_PROBE */
} *XCP_Module_t;

/* SOCKET, MHANDLE and ALW_TGT_ADD are not supported: XCP_MOD_EFLAGS. */
typedef enum {
    XCP_MFL_SOCKET = 1,
    XCP_MFL_MODULE = 2,
    XCP_MFL_MHANDLE = 4,
    XCP_MFL_PERF = 8,
    XCP_MFL_VIRTUAL = 0x10, /* a group, which grows by each call with the same target */
    XCP_MFL_STRICT = 0x20,  /* every domain has to answer the probe */
    XCP_MFL_PROBE = 0x40,   /* only domains that answer are added */
    XCP_MFL_ALW_TGT_ADD = 0x80
} XCP_Module_Flags;

int m_init(void);
int m_shutdown(void);
int m_add_module(XCP_Module_t module, target_t *target);
int m_rm_module(XCP_Module_t module, target_t target); /* null: the whole target */
int m_add_backend(const char *name, unsigned int port); /* does nothing: XCP_MOD_EOBSOLETE */

/* Sessions */
CK_RV m_Login(CK_UTF8CHAR_PTR pin, CK_ULONG pinlen, const unsigned char *nonce, size_t nlen,
    unsigned char *pinblob, size_t *pinbloblen, target_t target);
CK_RV m_LoginExtended(CK_UTF8CHAR_PTR pin, CK_ULONG pinlen, const unsigned char *nonce, size_t nlen,
    const unsigned char *xstruct, size_t xslen, unsigned char *pinblob, size_t *pinbloblen, target_t target);
CK_RV m_Logout(const unsigned char *pinblob, size_t len, target_t target);
CK_RV m_LogoutExtended(CK_UTF8CHAR_PTR pin, CK_ULONG pinlen, const unsigned char *nonce, size_t nlen,
    const unsigned char *xstruct, size_t xslen, target_t target);

/* Random bytes and digests */
CK_RV m_GenerateRandom(CK_BYTE_PTR rnd, CK_ULONG len, target_t target);
CK_RV m_SeedRandom(CK_BYTE_PTR seed, CK_ULONG len, target_t target);
CK_RV m_DigestInit(unsigned char *state, size_t *slen, CK_MECHANISM_PTR mech, target_t target);
CK_RV m_DigestUpdate(unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, target_t target);
CK_RV m_DigestKey(unsigned char *state, size_t slen, const unsigned char *key, size_t klen, target_t target);
CK_RV m_DigestFinal(const unsigned char *state, size_t slen, CK_BYTE_PTR out, CK_ULONG_PTR olen,
    target_t target);
CK_RV m_Digest(const unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);
CK_RV m_DigestSingle(CK_MECHANISM_PTR mech, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out, CK_ULONG_PTR olen,
    target_t target);

/* Encryption */
CK_RV m_EncryptInit(unsigned char *state, size_t *slen, CK_MECHANISM_PTR mech, const unsigned char *key,
    size_t klen, target_t target);
CK_RV m_EncryptUpdate(unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);
CK_RV m_EncryptFinal(const unsigned char *state, size_t slen, CK_BYTE_PTR out, CK_ULONG_PTR olen,
    target_t target);
CK_RV m_Encrypt(const unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);
CK_RV m_EncryptSingle(const unsigned char *key, size_t klen, CK_MECHANISM_PTR mech, CK_BYTE_PTR data,
    CK_ULONG len, CK_BYTE_PTR out, CK_ULONG_PTR olen, target_t target);
CK_RV m_DecryptInit(unsigned char *state, size_t *slen, CK_MECHANISM_PTR mech, const unsigned char *key,
    size_t klen, target_t target);
CK_RV m_DecryptUpdate(unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);
CK_RV m_DecryptFinal(const unsigned char *state, size_t slen, CK_BYTE_PTR out, CK_ULONG_PTR olen,
    target_t target);
CK_RV m_Decrypt(const unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);
CK_RV m_DecryptSingle(const unsigned char *key, size_t klen, CK_MECHANISM_PTR mech, CK_BYTE_PTR data,
    CK_ULONG len, CK_BYTE_PTR out, CK_ULONG_PTR olen, target_t target);
CK_RV m_ReencryptSingle(const unsigned char *dkey, size_t dklen, const unsigned char *ekey, size_t eklen,
    CK_MECHANISM_PTR decrmech, CK_MECHANISM_PTR encrmech, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);

/* Signatures and MACs */
CK_RV m_SignInit(unsigned char *state, size_t *slen, CK_MECHANISM_PTR mech, const unsigned char *key,
    size_t klen, target_t target);
CK_RV m_SignUpdate(unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, target_t target);
CK_RV m_SignFinal(const unsigned char *state, size_t slen, CK_BYTE_PTR out, CK_ULONG_PTR olen,
    target_t target);
CK_RV m_Sign(const unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR out,
    CK_ULONG_PTR olen, target_t target);
CK_RV m_SignSingle(const unsigned char *key, size_t klen, CK_MECHANISM_PTR mech, CK_BYTE_PTR data,
    CK_ULONG len, CK_BYTE_PTR out, CK_ULONG_PTR olen, target_t target);
CK_RV m_VerifyInit(unsigned char *state, size_t *slen, CK_MECHANISM_PTR mech, const unsigned char *key,
    size_t klen, target_t target);
CK_RV m_VerifyUpdate(unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, target_t target);
CK_RV m_VerifyFinal(const unsigned char *state, size_t slen, CK_BYTE_PTR sig, CK_ULONG siglen,
    target_t target);
CK_RV m_Verify(const unsigned char *state, size_t slen, CK_BYTE_PTR data, CK_ULONG len, CK_BYTE_PTR sig,
    CK_ULONG siglen, target_t target);
CK_RV m_VerifySingle(const unsigned char *key, size_t klen, CK_MECHANISM_PTR mech, CK_BYTE_PTR data,
    CK_ULONG len, CK_BYTE_PTR sig, CK_ULONG siglen, target_t target);

/* Keys */
CK_RV m_GenerateKey(CK_MECHANISM_PTR mech, CK_ATTRIBUTE_PTR templ, CK_ULONG count, const unsigned char *pin,
    size_t pinlen, unsigned char *key, size_t *klen, unsigned char *csum, size_t *clen, target_t target);
CK_RV m_GenerateKeyPair(CK_MECHANISM_PTR mech, CK_ATTRIBUTE_PTR pub, CK_ULONG pubcount, CK_ATTRIBUTE_PTR prv,
    CK_ULONG prvcount, const unsigned char *pin, size_t pinlen, unsigned char *key, size_t *klen,
    unsigned char *pubkey, size_t *pklen, target_t target);
/* Gives no length for a null buffer: CKR_ARGUMENTS_BAD. */
CK_RV m_WrapKey(const unsigned char *key, size_t klen, const unsigned char *kek, size_t keklen,
    const unsigned char *mackey, size_t mklen, CK_MECHANISM_PTR mech, CK_BYTE_PTR wrapped, CK_ULONG_PTR wlen,
    target_t target);
/* A null mackey is none, whatever its length. */
CK_RV m_UnwrapKey(CK_BYTE_PTR wrapped, CK_ULONG wlen, const unsigned char *kek, size_t keklen,
    const unsigned char *mackey, size_t mklen, const unsigned char *pin, size_t pinlen, CK_MECHANISM_PTR mech,
    CK_ATTRIBUTE_PTR templ, CK_ULONG count, unsigned char *unwrapped, size_t *uwlen, CK_BYTE_PTR csum,
    CK_ULONG *cslen, target_t target);
CK_RV m_DeriveKey(CK_MECHANISM_PTR mech, CK_ATTRIBUTE_PTR templ, CK_ULONG count, const unsigned char *basekey,
    size_t bklen, const unsigned char *data, size_t dlen, const unsigned char *pin, size_t pinlen,
    unsigned char *newkey, size_t *nklen, unsigned char *csum, size_t *cslen, target_t target);
CK_RV m_GetAttributeValue(const unsigned char *obj, size_t olen, CK_ATTRIBUTE_PTR templ, CK_ULONG count,
    target_t target);
CK_RV m_SetAttributeValue(unsigned char *obj, size_t olen, CK_ATTRIBUTE_PTR templ, CK_ULONG count,
    target_t target);

/* What there is */
CK_RV m_GetMechanismList(CK_SLOT_ID slot, CK_MECHANISM_TYPE_PTR mechs, CK_ULONG_PTR count, target_t target);
CK_RV m_GetMechanismInfo(CK_SLOT_ID slot, CK_MECHANISM_TYPE mech, CK_MECHANISM_INFO_PTR info,
    target_t target);
CK_RV m_get_xcp_info(CK_VOID_PTR info, CK_ULONG_PTR infbytes, unsigned int query, unsigned int subquery,
    target_t target);

/* Administration. For a null rsp1 a query gives its length, and a command is not done: it gives the most that its reply can be. */
CK_RV m_admin(unsigned char *rsp1, size_t *r1len, unsigned char *rsp2, size_t *r2len, const unsigned char *cmd,
    size_t clen, const unsigned char *sigs, size_t slen, target_t target);

/* A request as it is, in DER. Flag 1 (headers of a transport) is not supported: CKR_FUNCTION_NOT_SUPPORTED. irv may be null. */
CK_RV m_wire(unsigned char *rsp, size_t *rsplen, CK_RV *irv, const unsigned char *req, size_t reqlen,
    unsigned int flags, target_t target);

#ifdef __cplusplus
}
#endif

#endif
