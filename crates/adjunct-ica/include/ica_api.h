/*
 * ica_api.h: libica's interface, version 4.4, as served by adjunct on any Linux machine.
 *
 * Written from the interface that libica's Programmer's Reference documents, so that programs for Linux on Z compile, link
 * (-lica) and run unchanged. Sizes are bytes unless a name says bits. Numbers (keys, moduli, coordinates) are big-endian.
 *
 * Unless a function says otherwise it returns
 *
 *     0        success
 *     EINVAL   a null pointer, a length, a key or a direction that cannot be
 *     EPERM    the size, curve or mode is not served
 *     ENODEV   no hardware has it and fallbacks are off
 *     EIO      the operation failed
 *     ENOMEM   out of memory
 *     EFAULT   the MAC, tag or signature does not verify; the output is cleared
 */
#ifndef __ICA_API_H__
#define __ICA_API_H__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ICA_EXPORT __attribute__((__visibility__("default")))
#define ICA_DEPRECATED __attribute__((deprecated))

/* Adapters ---------------------------------------------------------------------------------------------------------------- */

#define ica_adapter_handle_t int
typedef ica_adapter_handle_t ICA_ADAPTER_HANDLE;
#define DRIVER_NOT_LOADED (-1)

/* Opens the adapter for public-key operations. Always succeeds where `adapter_handle` is not null; a handle of
 * DRIVER_NOT_LOADED means that there is no card, and is as good as any other for the functions that take one. */
ICA_EXPORT unsigned int ica_open_adapter(ica_adapter_handle_t *adapter_handle);
ICA_EXPORT unsigned int ica_close_adapter(ica_adapter_handle_t adapter_handle);

/* Directions, modes, parts ------------------------------------------------------------------------------------------------ */

#define ICA_ENCRYPT 1
#define ICA_DECRYPT 0

#define MODE_ECB   1
#define MODE_CBC   2
#define MODE_CFB   3
#define MODE_OFB   4
#define MODE_CTR   5
#define MODE_XTS   6
#define MODE_GCM   7
#define MODE_CBCCS 8
#define MODE_CCM   9

/* NIST SP 800-38A Addendum: the order of the last two blocks. */
#define ICA_CBCCS_VARIANT1 1 /* as they come */
#define ICA_CBCCS_VARIANT2 2 /* switched unless the last is whole */
#define ICA_CBCCS_VARIANT3 3 /* always switched */

#define DES_KEY_LENGTH  (56 / 8)
#define DES3_KEY_LENGTH (168 / 8)
#define AES_KEY_LEN128  (128 / 8)
#define AES_KEY_LEN192  (192 / 8)
#define AES_KEY_LEN256  (256 / 8)

typedef unsigned char ica_des_vector_t[8];
typedef unsigned char ica_des_key_single_t[8];
typedef struct {
	ica_des_key_single_t key1;
	ica_des_key_single_t key2;
	ica_des_key_single_t key3;
} ica_des_key_triple_t;
typedef unsigned char ica_key_t[8];
typedef unsigned char ica_aes_vector_t[16];
typedef unsigned char ica_aes_key_single_t[8];
typedef unsigned char ica_aes_key_len_128_t[16];
typedef unsigned char ica_aes_key_len_192_t[24];
typedef unsigned char ica_aes_key_len_256_t[32];

/* The library -------------------------------------------------------------------------------------------------------------- */

typedef struct {
	unsigned int major_version;
	unsigned int minor_version;
	unsigned int fixpack_version;
} libica_version_info;

/* The version of the interface: 4.4.0. */
ICA_EXPORT unsigned int ica_get_version(libica_version_info *version_info);
/* A name for this build, "adjunct VERSION". Never null, never freed. */
ICA_EXPORT const char *ica_get_build_version(void);

typedef struct {
	unsigned char vendor_id[16];
	unsigned char machine_type[16];
} libica_hw_info;

/* The processor: its vendor and type, each a string in 16 bytes with a zero at the end. */
ICA_EXPORT int ica_get_hw_info(libica_hw_info *hw_info);

/* The level of the message-security assist of an IBM Z processor; 0 elsewhere. */
ICA_EXPORT int ica_get_msa_level(void);

/* Frees what the library holds for this process; it may be used again after. */
ICA_EXPORT void ica_cleanup(void);

/* What serves a function, in libica_func_list_element.flags. */
#define ICA_FLAG_SHW 4 /* the processor's own instructions */
#define ICA_FLAG_DHW 2 /* a card, or the batches that stand for one */
#define ICA_FLAG_SW  1 /* software */

/* Key lengths and curves, in libica_func_list_element.property. */
#define ICA_PROPERTY_AES_128  0x00000001
#define ICA_PROPERTY_AES_192  0x00000002
#define ICA_PROPERTY_AES_256  0x00000004
#define ICA_PROPERTY_RSA_ALL  0x0000000F
#define ICA_PROPERTY_RSA_FIPS 0x0000000C /* 2048 bits and more */
#define ICA_PROPERTY_EC_BP    0x00000001 /* Brainpool */
#define ICA_PROPERTY_EC_NIST  0x00000002
#define ICA_PROPERTY_EC_ED    0x00000004 /* Curve25519 and Curve448 */

/* The functions' numbers, in libica_func_list_element.mech_mode_id. */
#define SHA1            1
#define SHA224          2
#define SHA256          3
#define SHA384          4
#define SHA512          5
#define SHA3_224        6
#define SHA3_256        7
#define SHA3_384        8
#define SHA3_512        9
#define G_HASH          10
#define SHAKE128        11
#define SHAKE256        12
#define DES_ECB         20
#define DES_CBC         21
#define DES_CBC_CS      22
#define DES_OFB         23
#define DES_CFB         24
#define DES_CTR         25
#define DES_CTRLST      26
#define DES_CBC_MAC     27
#define DES_CMAC        28
#define DES3_ECB        41
#define DES3_CBC        42
#define DES3_CBC_CS     43
#define DES3_OFB        44
#define DES3_CFB        45
#define DES3_CTR        46
#define DES3_CTRLST     47
#define DES3_CBC_MAC    48
#define DES3_CMAC       49
#define AES_ECB         60
#define AES_CBC         61
#define AES_CBC_CS      62
#define AES_OFB         63
#define AES_CFB         64
#define AES_CTR         65
#define AES_CTRLST      66
#define AES_CBC_MAC     67
#define AES_CMAC        68
#define AES_CCM         69
#define AES_GCM         70
#define AES_XTS         71
#define AES_GCM_KMA     72
#define P_RNG           80
#define EC_DH           85
#define EC_DSA_SIGN     86
#define EC_DSA_VERIFY   87
#define EC_KGEN         88
#define RSA_ME          90
#define RSA_CRT         91
#define RSA_KEY_GEN_ME  92
#define RSA_KEY_GEN_CRT 93
#define SHA512_DRNG     94
#define SHA512_224      95
#define SHA512_256      96
#define ED25519_KEYGEN  100
#define ED25519_SIGN    101
#define ED25519_VERIFY  102
#define ED448_KEYGEN    103
#define ED448_SIGN      104
#define ED448_VERIFY    105
#define X25519_KEYGEN   106
#define X25519_DERIVE   107
#define X448_KEYGEN     108
#define X448_DERIVE     109

typedef unsigned int libica_mechanism_type;

typedef struct {
	unsigned int min_key_size;
	unsigned int max_key_size;
	unsigned int flags;
} libica_mechanism_info;

typedef struct {
	libica_mechanism_type mech_type;
	libica_mechanism_info mech_info;
} libica_mechanism_list_element;

typedef struct {
	unsigned int mech_mode_id;
	unsigned int type;
	unsigned int id;
	unsigned int flags;
	unsigned int property;
} libica_func_list_element_int;

typedef struct {
	unsigned int mech_mode_id;
	unsigned int flags;
	unsigned int property;
} libica_func_list_element;

/* The functions and what serves each on this machine. With a null `pmech_list` only their number is given in
 * `*pmech_list_len`; otherwise that is how many elements there is room for, and EINVAL if they do not suffice. */
ICA_EXPORT unsigned int ica_get_functionlist(libica_func_list_element *pmech_list, unsigned int *pmech_list_len);

/* How it runs: each also by a variable of the environment, read when the library is loaded, with the number as its value. */

#define ICA_FALLBACKS_ENABLED  1
#define ICA_FALLBACKS_DISABLED 0
#define ICA_FALLBACK_ENV "LIBICA_FALLBACK_MODE"
#define ICA_OFFLOAD_ENV  "LIBICA_OFFLOAD_MODE"
#define ICA_STATS_ENV    "LIBICA_STATS_MODE"

/* Whether software serves what hardware does not (the default), or ENODEV is returned. */
ICA_EXPORT void ica_set_fallback_mode(int fallback_mode);
/* Whether public-key operations prefer cards to the processor's own instructions; not by default. */
ICA_EXPORT void ica_set_offload_mode(int offload_mode);
/* Whether operations are counted; they are by default. */
ICA_EXPORT void ica_set_stats_mode(int stats_mode);

/* Self tests: the flags of ica_fips_status. */
#define ICA_FIPS_MODE         1
#define ICA_FIPS_CRYPTOALG    2
#define ICA_FIPS_INTEGRITY    4
#define ICA_FIPS_CRITICALFUNC 8
#define ICA_FIPS_CONSISTENCY  16
#define ICA_FIPS_LOAD         32
#define ICA_FIPS_KEYENTRY     64
#define ICA_FIPS_RNG          128
#define ICA_FIPS_BYPASS       256

ICA_EXPORT int ica_fips_status(void);
/* Whether the caller may choose AES-GCM's initialization vectors in FIPS mode; outside of it the caller always may. */
ICA_EXPORT void ica_allow_external_gcm_iv_in_fips_mode(int allow);

/* Random bytes -------------------------------------------------------------------------------------------------------------- */

ICA_EXPORT unsigned int ica_random_number_generate(unsigned int output_length, unsigned char *output_data);

/* A deterministic generator by NIST SP 800-90A: Hash_DRBG over SHA-512, with security strengths of 112, 128, 196 and 256 bits and
 * personalization and additional input of up to 256 bytes. Beside the usual codes its functions return ENOTSUP for a strength
 * or prediction resistance that is not served, EPERM when it must be reseeded, and, after which it can only be destroyed: */
#define ICA_DRBG_NEW_STATE_HANDLE    NULL
#define ICA_DRBG_HEALTH_TEST_FAIL    (-1)
#define ICA_DRBG_ENTROPY_SOURCE_FAIL (-2)

typedef struct ica_drbg_mech ica_drbg_mech_t;
typedef struct ica_drbg ica_drbg_t;
ICA_EXPORT extern ica_drbg_mech_t *const ICA_DRBG_SHA512;

/* `*sh` must be null. `sec` is the security strength in bits, `pr` whether prediction resistance may be asked for. */
ICA_EXPORT int ica_drbg_instantiate(ica_drbg_t **sh, int sec, bool pr, ica_drbg_mech_t *mech, const unsigned char *pers,
				    size_t pers_len);
ICA_EXPORT int ica_drbg_reseed(ica_drbg_t *sh, bool pr, const unsigned char *add, size_t add_len);
ICA_EXPORT int ica_drbg_generate(ica_drbg_t *sh, int sec, bool pr, const unsigned char *add, size_t add_len,
				 unsigned char *prnd, size_t prnd_len);
ICA_EXPORT int ica_drbg_uninstantiate(ica_drbg_t **sh);
/* `func` is ica_drbg_instantiate, ica_drbg_reseed or ica_drbg_generate. */
ICA_EXPORT int ica_drbg_health_test(void *func, int sec, bool pr, ica_drbg_mech_t *mech);

/* Hashes ------------------------------------------------------------------------------------------------------------------- */

/* One call with SHA_MSG_PART_ONLY, or one with FIRST, any number with MIDDLE and one with FINAL and the same context. What goes
 * into FIRST and MIDDLE must be whole blocks: 64 bytes up to SHA-256, 128 for the SHA-512 family, 144, 136, 104 and 72 for SHA3-224
 * to SHA3-512, 168 and 136 for SHAKE-128 and SHAKE-256; EINVAL otherwise. */
#define SHA_MSG_PART_ONLY   0
#define SHA_MSG_PART_FIRST  1
#define SHA_MSG_PART_MIDDLE 2
#define SHA_MSG_PART_FINAL  3

#define SHA_HASH_LENGTH        20
#define SHA1_HASH_LENGTH       SHA_HASH_LENGTH
#define SHA224_HASH_LENGTH     28
#define SHA256_HASH_LENGTH     32
#define SHA384_HASH_LENGTH     48
#define SHA512_HASH_LENGTH     64
#define SHA512_224_HASH_LENGTH SHA224_HASH_LENGTH
#define SHA512_256_HASH_LENGTH SHA256_HASH_LENGTH
#define SHA3_224_HASH_LENGTH   SHA224_HASH_LENGTH
#define SHA3_256_HASH_LENGTH   SHA256_HASH_LENGTH
#define SHA3_384_HASH_LENGTH   SHA384_HASH_LENGTH
#define SHA3_512_HASH_LENGTH   SHA512_HASH_LENGTH
#define SHA3_PARMBLOCK_LENGTH  200

typedef struct {
	uint64_t runningLength;
	unsigned char shaHash[SHA_HASH_LENGTH];
} sha_context_t;

typedef struct {
	uint64_t runningLength;
	unsigned char sha256Hash[SHA256_HASH_LENGTH];
} sha256_context_t;

typedef struct {
	uint64_t runningLengthHigh;
	uint64_t runningLengthLow;
	unsigned char sha512Hash[SHA512_HASH_LENGTH];
} sha512_context_t;

typedef struct {
	uint64_t runningLength;
	unsigned char sha3_224Hash[SHA3_PARMBLOCK_LENGTH];
} sha3_224_context_t;

typedef struct {
	uint64_t runningLength;
	unsigned char sha3_256Hash[SHA3_PARMBLOCK_LENGTH];
} sha3_256_context_t;

typedef struct {
	uint64_t runningLengthHigh;
	uint64_t runningLengthLow;
	unsigned char sha3_384Hash[SHA3_PARMBLOCK_LENGTH];
} sha3_384_context_t;

typedef struct {
	uint64_t runningLengthHigh;
	uint64_t runningLengthLow;
	unsigned char sha3_512Hash[SHA3_PARMBLOCK_LENGTH];
} sha3_512_context_t;

typedef struct {
	uint64_t runningLengthHigh;
	uint64_t runningLengthLow;
	unsigned int output_length;
	unsigned char shake_128Hash[SHA3_PARMBLOCK_LENGTH];
} shake_128_context_t;

typedef struct {
	uint64_t runningLengthHigh;
	uint64_t runningLengthLow;
	unsigned int output_length;
	unsigned char shake_256Hash[SHA3_PARMBLOCK_LENGTH];
} shake_256_context_t;

ICA_EXPORT unsigned int ica_sha1(unsigned int message_part, unsigned int input_length, const unsigned char *input_data,
				sha_context_t *sha_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha224(unsigned int message_part, unsigned int input_length, const unsigned char *input_data,
				sha256_context_t *sha256_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha256(unsigned int message_part, unsigned int input_length, const unsigned char *input_data,
				sha256_context_t *sha256_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha384(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				sha512_context_t *sha512_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha512(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				sha512_context_t *sha512_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha512_224(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				sha512_context_t *sha512_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha512_256(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				sha512_context_t *sha512_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha3_224(unsigned int message_part, unsigned int input_length, const unsigned char *input_data,
				sha3_224_context_t *sha3_224_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha3_256(unsigned int message_part, unsigned int input_length, const unsigned char *input_data,
				sha3_256_context_t *sha3_256_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha3_384(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				sha3_384_context_t *sha3_384_context, unsigned char *output_data);
ICA_EXPORT unsigned int ica_sha3_512(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				sha3_512_context_t *sha3_512_context, unsigned char *output_data);
/* A first part says how long the result of the message is to be; the last writes no more than that, and no more than its own
 * `output_length`. */
ICA_EXPORT unsigned int ica_shake_128(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				   shake_128_context_t *shake_128_context, unsigned char *output_data,
				   unsigned int output_length);
ICA_EXPORT unsigned int ica_shake_256(unsigned int message_part, uint64_t input_length, const unsigned char *input_data,
				   shake_256_context_t *shake_256_context, unsigned char *output_data,
				   unsigned int output_length);

/* DES, triple DES and AES --------------------------------------------------------------------------------------------------- */

/* `direction` is ICA_ENCRYPT or ICA_DECRYPT. A DES key is 8 bytes, a triple DES key 24, an AES key `key_length` (16, 24 or 32). In and
 * out may be the same buffer. An `iv` or `ctr` is a block and is left as the next call of the same message needs it.
 *
 * ecb, cbc    whole blocks (NIST SP 800-38A)
 * cbc_cs      a block or more, ciphertext stealing by `variant`
 * cfb         `lcfb` bytes of feedback, 1 to a block
 * ctr         the last `ctr_width` bits of `ctr` count, 8 to a block, in steps of 8, without carry into the others
 * ctrlist     a block of `ctrlist` for each block of data
 * cmac        NIST SP 800-38B; ICA_ENCRYPT makes a MAC of `mac_length` bytes, ICA_DECRYPT verifies it
 * cmac_intermediate, cmac_last   the same in parts, all but the last of whole blocks; `iv` is zeros at first, or null in _last for
 *             a message of one part */
ICA_EXPORT unsigned int ica_des_ecb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int direction);
ICA_EXPORT unsigned int ica_des_cbc(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *iv, unsigned int direction);
ICA_EXPORT unsigned int ica_des_cbc_cs(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				    const unsigned char *key, unsigned char *iv, unsigned int direction,
				    unsigned int variant);
ICA_EXPORT unsigned int ica_des_cfb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *iv, unsigned int lcfb, unsigned int direction);
ICA_EXPORT unsigned int ica_des_ofb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *iv, unsigned int direction);
ICA_EXPORT unsigned int ica_des_ctr(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *ctr, unsigned int ctr_width,
				 unsigned int direction);
ICA_EXPORT unsigned int ica_des_ctrlist(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				     const unsigned char *key, const unsigned char *ctrlist, unsigned int direction);
ICA_EXPORT unsigned int ica_des_cmac(const unsigned char *message, unsigned long message_length, unsigned char *mac,
				  unsigned int mac_length, const unsigned char *key, unsigned int direction);
ICA_EXPORT unsigned int ica_des_cmac_intermediate(const unsigned char *message, unsigned long message_length,
					       const unsigned char *key, unsigned char *iv);
ICA_EXPORT unsigned int ica_des_cmac_last(const unsigned char *message, unsigned long message_length, unsigned char *mac,
				       unsigned int mac_length, const unsigned char *key, unsigned char *iv,
				       unsigned int direction);

ICA_EXPORT unsigned int ica_3des_ecb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int direction);
ICA_EXPORT unsigned int ica_3des_cbc(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *iv, unsigned int direction);
ICA_EXPORT unsigned int ica_3des_cbc_cs(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				    const unsigned char *key, unsigned char *iv, unsigned int direction,
				    unsigned int variant);
ICA_EXPORT unsigned int ica_3des_cfb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *iv, unsigned int lcfb, unsigned int direction);
ICA_EXPORT unsigned int ica_3des_ofb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *iv, unsigned int direction);
ICA_EXPORT unsigned int ica_3des_ctr(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned char *ctr, unsigned int ctr_width,
				 unsigned int direction);
ICA_EXPORT unsigned int ica_3des_ctrlist(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				     const unsigned char *key, const unsigned char *ctrlist, unsigned int direction);
ICA_EXPORT unsigned int ica_3des_cmac(const unsigned char *message, unsigned long message_length, unsigned char *mac,
				  unsigned int mac_length, const unsigned char *key, unsigned int direction);
ICA_EXPORT unsigned int ica_3des_cmac_intermediate(const unsigned char *message, unsigned long message_length,
					       const unsigned char *key, unsigned char *iv);
ICA_EXPORT unsigned int ica_3des_cmac_last(const unsigned char *message, unsigned long message_length, unsigned char *mac,
				       unsigned int mac_length, const unsigned char *key, unsigned char *iv,
				       unsigned int direction);

ICA_EXPORT unsigned int ica_aes_ecb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int key_length, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_cbc(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int key_length, unsigned char *iv, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_cbc_cs(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				    const unsigned char *key, unsigned int key_length, unsigned char *iv, unsigned int direction,
				    unsigned int variant);
ICA_EXPORT unsigned int ica_aes_cfb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int key_length, unsigned char *iv, unsigned int lcfb, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_ofb(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int key_length, unsigned char *iv, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_ctr(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				 const unsigned char *key, unsigned int key_length, unsigned char *ctr, unsigned int ctr_width,
				 unsigned int direction);
ICA_EXPORT unsigned int ica_aes_ctrlist(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				     const unsigned char *key, unsigned int key_length, const unsigned char *ctrlist, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_cmac(const unsigned char *message, unsigned long message_length, unsigned char *mac,
				  unsigned int mac_length, const unsigned char *key, unsigned int key_length, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_cmac_intermediate(const unsigned char *message, unsigned long message_length,
					       const unsigned char *key, unsigned int key_length, unsigned char *iv);
ICA_EXPORT unsigned int ica_aes_cmac_last(const unsigned char *message, unsigned long message_length, unsigned char *mac,
				       unsigned int mac_length, const unsigned char *key, unsigned int key_length, unsigned char *iv,
				       unsigned int direction);

/* XTS (IEEE 1619): a block or more, keys of 16 or 32 bytes each, `key1` for the data and `key2` for the tweak. */
ICA_EXPORT unsigned int ica_aes_xts(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				    const unsigned char *key1, const unsigned char *key2, unsigned int key_length, unsigned char *tweak,
				    unsigned int direction);
/* The same in parts: `tweak` with the first, null after; `iv` takes what the next part needs. All but the last are whole blocks. */
ICA_EXPORT unsigned int ica_aes_xts_ex(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				       const unsigned char *key1, const unsigned char *key2, unsigned int key_length,
				       unsigned char *tweak, unsigned char *iv, unsigned int direction);

/* CCM (NIST SP 800-38C): a MAC of 4, 6, 8, 10, 12, 14 or 16 bytes follows the ciphertext; a nonce of 7 to 13 bytes. ICA_DECRYPT writes
 * the payload. */
ICA_EXPORT unsigned int ica_aes_ccm(unsigned char *payload, unsigned long payload_length, unsigned char *ciphertext_n_mac,
				    unsigned int mac_length, const unsigned char *assoc_data, unsigned long assoc_data_length,
				    const unsigned char *nonce, unsigned int nonce_length, const unsigned char *key,
				    unsigned int key_length, unsigned int direction);

/* GCM (NIST SP 800-38D): a tag of 4, 8, 12, 13, 14, 15 or 16 bytes. ICA_DECRYPT reads `ciphertext` and writes `plaintext`. */
ICA_EXPORT unsigned int ica_aes_gcm(unsigned char *plaintext, unsigned long plaintext_length, unsigned char *ciphertext,
				    const unsigned char *iv, unsigned int iv_length, const unsigned char *aad,
				    unsigned long aad_length, unsigned char *tag, unsigned int tag_length, const unsigned char *key,
				    unsigned int key_length, unsigned int direction);

/* GCM as a stream. _initialize makes `icb`, `ucb` and `subkey`, 16 bytes each; _intermediate takes additional data and text in parts,
 * all but the last of each of whole blocks, and keeps the running hash in `tag` (16 bytes, zeros at first); _last makes the tag
 * of the whole, whose lengths it is told, or verifies `final_tag`: where that does not fit, EFAULT, and `tag` stays as it was. What
 * _intermediate has decrypted by then is the caller's to throw away. Both hash under the `subkey` they are given. */
ICA_EXPORT unsigned int ica_aes_gcm_initialize(const unsigned char *iv, unsigned int iv_length, unsigned char *key,
					       unsigned int key_length, unsigned char *icb, unsigned char *ucb,
					       unsigned char *subkey, unsigned int direction);
/* The same with an initialization vector of `iv_length` random bytes, at least 12, which it writes to `iv` when it encrypts; so `iv`
 * is const in name only, as in the original. */
ICA_EXPORT unsigned int ica_aes_gcm_initialize_fips(const unsigned char *iv, unsigned int iv_length, unsigned char *key,
						    unsigned int key_length, unsigned char *icb, unsigned char *ucb,
						    unsigned char *subkey, unsigned int direction);
ICA_EXPORT unsigned int ica_aes_gcm_intermediate(unsigned char *plaintext, unsigned long plaintext_length,
						 unsigned char *ciphertext, unsigned char *ucb, unsigned char *aad,
						 unsigned long aad_length, unsigned char *tag, unsigned int tag_length,
						 unsigned char *key, unsigned int key_length, unsigned char *subkey,
						 unsigned int direction);
ICA_EXPORT unsigned int ica_aes_gcm_last(unsigned char *icb, unsigned long aad_length, unsigned long ciph_length,
					 unsigned char *tag, unsigned char *final_tag, unsigned int final_tag_length,
					 unsigned char *key, unsigned int key_length, unsigned char *subkey,
					 unsigned int direction);

/* GCM by a context. _update takes additional data and text in parts of whole blocks until `end_of_aad` and `end_of_data` say that a
 * part is the last; EFAULT for text whose buffer is null. _get_tag is for encryption, EFAULT after decryption, whose tag _verify_tag
 * compares: what was decrypted by then is the caller's to throw away. */
typedef struct kma_ctx_t kma_ctx;
ICA_EXPORT kma_ctx *ica_aes_gcm_kma_ctx_new(void);
ICA_EXPORT int ica_aes_gcm_kma_init(unsigned int direction, const unsigned char *iv, unsigned int iv_length,
				    const unsigned char *key, unsigned int key_length, kma_ctx *ctx);
/* For encryption: with a vector of `iv_length` random bytes, 12 to 260, which _get_iv gives out. */
ICA_EXPORT int ica_aes_gcm_kma_init_fips(unsigned int direction, unsigned int iv_length, const unsigned char *key,
					 unsigned int key_length, kma_ctx *ctx);
/* With a null `iv` only its length is given; ENOMEM where `*iv_length` is too small. */
ICA_EXPORT int ica_aes_gcm_kma_get_iv(const kma_ctx *ctx, unsigned char *iv, unsigned int *iv_length);
ICA_EXPORT int ica_aes_gcm_kma_update(const unsigned char *in_data, unsigned char *out_data, unsigned long data_length,
				      const unsigned char *aad, unsigned long aad_length, unsigned int end_of_aad,
				      unsigned int end_of_data, kma_ctx *ctx);
ICA_EXPORT int ica_aes_gcm_kma_get_tag(unsigned char *tag, unsigned int tag_length, const kma_ctx *ctx);
ICA_EXPORT int ica_aes_gcm_kma_verify_tag(const unsigned char *known_tag, unsigned int tag_length, const kma_ctx *ctx);
ICA_EXPORT void ica_aes_gcm_kma_ctx_free(kma_ctx *ctx);

/* The processor's function codes, as in the original header. */
typedef enum {
	DEA_ENCRYPT,
	DEA_DECRYPT,
	TDEA_192_ENCRYPT,
	TDEA_192_DECRYPT,
	AES_128_ENCRYPT,
	AES_128_DECRYPT,
	AES_192_ENCRYPT,
	AES_192_DECRYPT,
	AES_256_ENCRYPT,
	AES_256_DECRYPT,
	AES_128_XTS_ENCRYPT,
	AES_128_XTS_DECRYPT,
	AES_256_XTS_ENCRYPT,
	AES_256_XTS_DECRYPT,
	PRNG,
} kmc_functions_t;

typedef enum {
	AES_128_GCM_ENCRYPT,
	AES_128_GCM_DECRYPT,
	AES_192_GCM_ENCRYPT,
	AES_192_GCM_DECRYPT,
	AES_256_GCM_ENCRYPT,
	AES_256_GCM_DECRYPT,
} kma_functions_t;

typedef enum {
	ECDSA_VERIFY_P256,
	ECDSA_VERIFY_P384,
	ECDSA_VERIFY_P521,
	ECDSA_SIGN_P256,
	ECDSA_SIGN_P384,
	ECDSA_SIGN_P521,
	EDDSA_VERIFY_ED25519,
	EDDSA_VERIFY_ED448,
	EDDSA_SIGN_ED25519,
	EDDSA_SIGN_ED448,
} kdsa_functions_t;

static inline unsigned int des_directed_fc(int direction)
{
	return direction ? DEA_ENCRYPT : DEA_DECRYPT;
}

static inline unsigned int tdes_directed_fc(int direction)
{
	return direction ? TDEA_192_ENCRYPT : TDEA_192_DECRYPT;
}

static inline unsigned int aes_directed_fc(unsigned int key_length, int direction)
{
	unsigned int decrypt = direction == ICA_DECRYPT;

	if (key_length == AES_KEY_LEN128)
		return AES_128_ENCRYPT + decrypt;
	if (key_length == AES_KEY_LEN192)
		return AES_192_ENCRYPT + decrypt;
	if (key_length == AES_KEY_LEN256)
		return AES_256_ENCRYPT + decrypt;
	return 0;
}

/* RSA ------------------------------------------------------------------------------------------------------------------------ */

/* Numbers are big-endian. `key_length` is the modulus' length; of a CRT key q and dq have half of it, rounded up, p, dp and qInverse
 * 8 bytes more, with zeros in front. EPERM for keys of more than 4096 bits. */
typedef struct {
	unsigned int key_length;
	unsigned char *modulus;
	unsigned char *exponent;
} ica_rsa_key_mod_expo_t;

typedef struct {
	unsigned int key_length;
	unsigned char *p;
	unsigned char *q;
	unsigned char *dp;
	unsigned char *dq;
	unsigned char *qInverse;
} ica_rsa_key_crt_t;

/* A key of 57 to 4096 bits; the public exponent, of 64 bits at most, is what `public_key->exponent` holds, or random where that is
 * zero. An `unsigned long` of less than 57 bits stored at its end is taken as well where that is little-endian, and written back
 * big-endian. EFAULT where no key was found. */
ICA_EXPORT unsigned int ica_rsa_key_generate_mod_expo(ica_adapter_handle_t adapter_handle, unsigned int modulus_bit_length,
						      ica_rsa_key_mod_expo_t *public_key,
						      ica_rsa_key_mod_expo_t *private_key);
ICA_EXPORT unsigned int ica_rsa_key_generate_crt(ica_adapter_handle_t adapter_handle, unsigned int modulus_bit_length,
						 ica_rsa_key_mod_expo_t *public_key, ica_rsa_key_crt_t *private_key);
/* The bare operation on a number as long as the modulus and less than it: padding is the caller's. EINVAL for a CRT key whose numbers
 * do not belong together; EIO for a result that was wrong, which is not given out. A CRT key with p < q is only read here. Of the CRT
 * keys used last a prepared form is kept for the next call, until ica_cleanup(). */
ICA_EXPORT unsigned int ica_rsa_mod_expo(ica_adapter_handle_t adapter_handle, const unsigned char *input_data,
					 ica_rsa_key_mod_expo_t *rsa_key, unsigned char *output_data);
ICA_EXPORT unsigned int ica_rsa_crt(ica_adapter_handle_t adapter_handle, const unsigned char *input_data,
				    ica_rsa_key_crt_t *rsa_key, unsigned char *output_data);
/* 0 where p > q; 1 where it was less, and the key has been turned round; EINVAL where they are equal or even. */
ICA_EXPORT unsigned int ica_rsa_crt_key_check(ica_rsa_key_crt_t *rsa_key);

/* Elliptic curves -------------------------------------------------------------------------------------------------------------- */

#ifndef NID_X25519
#define NID_X25519 1034
#endif
#ifndef NID_X448
#define NID_X448 1035
#endif
#ifndef NID_ED25519
#define NID_ED25519 1087
#endif
#ifndef NID_ED448
#define NID_ED448 1088
#endif

/* `nid` is OpenSSL's number of the curve. Coordinates, private keys and the halves of a signature are `*privlen` long.
 *
 *     409 secp192r1        24     713 secp224r1        28     415 secp256r1        32
 *     715 secp384r1        48     716 secp521r1        66
 *     921 brainpoolP160r1  20     923 brainpoolP192r1  24     925 brainpoolP224r1  28     927 brainpoolP256r1  32
 *     929 brainpoolP320r1  40     931 brainpoolP384r1  48     933 brainpoolP512r1  64
 */
typedef struct ec_key_t ICA_EC_KEY;
/* The others return 0; EINVAL also for a key that lacks the half needed and for keys of different curves; ENODEV where fallbacks
 * are off and only software has the function on this curve. A key may be used by several threads at once, once it is made. */
ICA_EXPORT ICA_EC_KEY *ica_ec_key_new(unsigned int nid, unsigned int *privlen);
/* `D` may be null, and `X` and `Y` together: that half of the key stays as it is. EINVAL for a point that is not on the curve and a
 * private key that is 0 or not below the order; whether the halves belong together is not looked at. */
ICA_EXPORT int ica_ec_key_init(const unsigned char *X, const unsigned char *Y, const unsigned char *D, ICA_EC_KEY *key);
ICA_EXPORT int ica_ec_key_generate(ica_adapter_handle_t adapter_handle, ICA_EC_KEY *key);
ICA_EXPORT int ica_ecdh_derive_secret(ica_adapter_handle_t adapter_handle, const ICA_EC_KEY *privkey_A,
				      const ICA_EC_KEY *pubkey_B, unsigned char *z, unsigned int z_length);
/* A hash of 20, 28, 32, 48 or 64 bytes; a signature of twice the private key's length. */
ICA_EXPORT int ica_ecdsa_sign(ica_adapter_handle_t adapter_handle, const ICA_EC_KEY *privkey, const unsigned char *hash,
			      unsigned int hash_length, unsigned char *signature, unsigned int signature_length);
/* The same with the nonce `k`, as long as the private key: for tests with known answers, and for nothing else. With none it is
 * ica_ecdsa_sign. */
ICA_EXPORT int ica_ecdsa_sign_ex(ica_adapter_handle_t adapter_handle, const ICA_EC_KEY *privkey, const unsigned char *hash,
				 unsigned int hash_length, unsigned char *signature, unsigned int signature_length,
				 const unsigned char *k);
/* EFAULT where the signature does not fit. */
ICA_EXPORT int ica_ecdsa_verify(ica_adapter_handle_t adapter_handle, const ICA_EC_KEY *pubkey, const unsigned char *hash,
				unsigned int hash_length, const unsigned char *signature, unsigned int signature_length);
/* `*q_len` becomes twice the private key's length, `*d_len` that length, even with EINVAL because there is no such half. */
ICA_EXPORT int ica_ec_key_get_public_key(const ICA_EC_KEY *key, unsigned char *q, unsigned int *q_len);
ICA_EXPORT int ica_ec_key_get_private_key(const ICA_EC_KEY *key, unsigned char *d, unsigned int *d_len);
ICA_EXPORT void ica_ec_key_free(ICA_EC_KEY *key);

/* RFC 7748 and RFC 8032. These return 0, or -1 for any error and for a signature that does not verify. Keys are little-endian as
 * in the standards; in _key_set and _key_get either may be null. Where only the private key was set, the public one is computed.
 * _ctx_new returns -1 where nothing serves the curve: X448 and Ed448 are served by a libcrypto of version 3 or later. */
typedef struct ica_x25519_ctx ICA_X25519_CTX;
typedef struct ica_x448_ctx ICA_X448_CTX;
typedef struct ica_ed25519_ctx ICA_ED25519_CTX;
typedef struct ica_ed448_ctx ICA_ED448_CTX;

ICA_EXPORT int ica_x25519_ctx_new(ICA_X25519_CTX **ctx);
ICA_EXPORT int ica_x25519_key_set(ICA_X25519_CTX *ctx, const unsigned char priv[32], const unsigned char pub[32]);
ICA_EXPORT int ica_x25519_key_get(ICA_X25519_CTX *ctx, unsigned char priv[32], unsigned char pub[32]);
ICA_EXPORT int ica_x25519_key_gen(ICA_X25519_CTX *ctx);
ICA_EXPORT int ica_x25519_derive(ICA_X25519_CTX *ctx, unsigned char shared_secret[32], const unsigned char peer_pub[32]);
ICA_EXPORT int ica_x25519_ctx_del(ICA_X25519_CTX **ctx);

ICA_EXPORT int ica_x448_ctx_new(ICA_X448_CTX **ctx);
ICA_EXPORT int ica_x448_key_set(ICA_X448_CTX *ctx, const unsigned char priv[56], const unsigned char pub[56]);
ICA_EXPORT int ica_x448_key_get(ICA_X448_CTX *ctx, unsigned char priv[56], unsigned char pub[56]);
ICA_EXPORT int ica_x448_key_gen(ICA_X448_CTX *ctx);
ICA_EXPORT int ica_x448_derive(ICA_X448_CTX *ctx, unsigned char shared_secret[56], const unsigned char peer_pub[56]);
ICA_EXPORT int ica_x448_ctx_del(ICA_X448_CTX **ctx);

ICA_EXPORT int ica_ed25519_ctx_new(ICA_ED25519_CTX **ctx);
ICA_EXPORT int ica_ed25519_key_set(ICA_ED25519_CTX *ctx, const unsigned char priv[32], const unsigned char pub[32]);
ICA_EXPORT int ica_ed25519_key_get(ICA_ED25519_CTX *ctx, unsigned char priv[32], unsigned char pub[32]);
ICA_EXPORT int ica_ed25519_key_gen(ICA_ED25519_CTX *ctx);
ICA_EXPORT int ica_ed25519_sign(ICA_ED25519_CTX *ctx, unsigned char sig[64], const unsigned char *msg, size_t msglen);
ICA_EXPORT int ica_ed25519_verify(ICA_ED25519_CTX *ctx, const unsigned char sig[64], const unsigned char *msg, size_t msglen);
ICA_EXPORT int ica_ed25519_ctx_del(ICA_ED25519_CTX **ctx);

ICA_EXPORT int ica_ed448_ctx_new(ICA_ED448_CTX **ctx);
ICA_EXPORT int ica_ed448_key_set(ICA_ED448_CTX *ctx, const unsigned char priv[57], const unsigned char pub[57]);
ICA_EXPORT int ica_ed448_key_get(ICA_ED448_CTX *ctx, unsigned char priv[57], unsigned char pub[57]);
ICA_EXPORT int ica_ed448_key_gen(ICA_ED448_CTX *ctx);
ICA_EXPORT int ica_ed448_sign(ICA_ED448_CTX *ctx, unsigned char sig[114], const unsigned char *msg, size_t msglen);
ICA_EXPORT int ica_ed448_verify(ICA_ED448_CTX *ctx, const unsigned char sig[114], const unsigned char *msg, size_t msglen);
ICA_EXPORT int ica_ed448_ctx_del(ICA_ED448_CTX **ctx);

/* Numbers -------------------------------------------------------------------------------------------------------------------- */

/* Words of 64 bits, the least significant first. */
ICA_EXPORT int ica_mp_mul512(uint64_t r[16], const uint64_t a[8], const uint64_t b[8]);
ICA_EXPORT int ica_mp_sqr512(uint64_t r[16], const uint64_t a[8]);

#ifdef __cplusplus
}
#endif

#endif /* __ICA_API_H__ */
