/* Calls every function of the interface, one at a time: before each it says which counter must go up by one, and waits. */
#include "../interface/common.h"

#define GO(symbol, row, bits, direction, call)                                                                         \
	do {                                                                                                           \
		long returned;                                                                                         \
                                                                                                                       \
		printf("%s|%s|%u|%s\n", #symbol, row, (unsigned int)(bits), direction);                                \
		fflush(stdout);                                                                                        \
		CHECK(getchar() == '\n');                                                                              \
		returned = (long)(call);                                                                               \
		printf("%ld\n", returned);                                                                             \
		fflush(stdout);                                                                                        \
	} while (0)
/* What counts encryption and decryption apart, what does not, and what counts nothing. */
#define ENC(symbol, row, bits, call) GO(symbol, row, bits, "enc", call)
#define DEC(symbol, row, bits, call) GO(symbol, row, bits, "dec", call)
#define ONE(symbol, row, bits, call) GO(symbol, row, bits, "crypt", call)
#define NONE(symbol, call) GO(symbol, "", 0, "", call)

#define LENGTH 64
static unsigned char in[512], out[512], key[64], iv[16], list[512], mac[16];

static void hashes(void)
{
	sha_context_t sha1;
	sha256_context_t sha256;
	sha512_context_t sha512;
	sha3_224_context_t sha3_224;
	sha3_256_context_t sha3_256;
	sha3_384_context_t sha3_384;
	sha3_512_context_t sha3_512;
	shake_128_context_t shake_128;
	shake_256_context_t shake_256;

	ONE(ica_sha1, "SHA-1", 0, ica_sha1(SHA_MSG_PART_ONLY, LENGTH, in, &sha1, out));
	ONE(ica_sha224, "SHA-224", 0, ica_sha224(SHA_MSG_PART_ONLY, LENGTH, in, &sha256, out));
	ONE(ica_sha256, "SHA-256", 0, ica_sha256(SHA_MSG_PART_ONLY, LENGTH, in, &sha256, out));
	ONE(ica_sha256, "SHA-256", 0, ica_sha256(SHA_MSG_PART_FIRST, LENGTH, in, &sha256, out));
	ONE(ica_sha256, "SHA-256", 0, ica_sha256(SHA_MSG_PART_FINAL, 1, in, &sha256, out));
	ONE(ica_sha384, "SHA-384", 0, ica_sha384(SHA_MSG_PART_ONLY, LENGTH, in, &sha512, out));
	ONE(ica_sha512, "SHA-512", 0, ica_sha512(SHA_MSG_PART_ONLY, LENGTH, in, &sha512, out));
	ONE(ica_sha512_224, "SHA-512/224", 0, ica_sha512_224(SHA_MSG_PART_ONLY, LENGTH, in, &sha512, out));
	ONE(ica_sha512_256, "SHA-512/256", 0, ica_sha512_256(SHA_MSG_PART_ONLY, LENGTH, in, &sha512, out));
	ONE(ica_sha3_224, "SHA3-224", 0, ica_sha3_224(SHA_MSG_PART_ONLY, LENGTH, in, &sha3_224, out));
	ONE(ica_sha3_256, "SHA3-256", 0, ica_sha3_256(SHA_MSG_PART_ONLY, LENGTH, in, &sha3_256, out));
	ONE(ica_sha3_384, "SHA3-384", 0, ica_sha3_384(SHA_MSG_PART_ONLY, LENGTH, in, &sha3_384, out));
	ONE(ica_sha3_512, "SHA3-512", 0, ica_sha3_512(SHA_MSG_PART_ONLY, LENGTH, in, &sha3_512, out));
	ONE(ica_shake_128, "SHAKE-128", 0, ica_shake_128(SHA_MSG_PART_ONLY, LENGTH, in, &shake_128, out, 32));
	ONE(ica_shake_256, "SHAKE-256", 0, ica_shake_256(SHA_MSG_PART_ONLY, LENGTH, in, &shake_256, out, 32));
}

#define BOTH(symbol, row, ...)                                                                                         \
	do {                                                                                                           \
		direction = ICA_ENCRYPT;                                                                               \
		ENC(symbol, row, 0, symbol(__VA_ARGS__));                                                              \
		direction = ICA_DECRYPT;                                                                               \
		DEC(symbol, row, 0, symbol(__VA_ARGS__));                                                              \
	} while (0)

#define DES_MODES(des, row)                                                                                            \
	do {                                                                                                           \
		unsigned int direction;                                                                                \
                                                                                                                       \
		BOTH(ica_##des##_ecb, row " ECB", in, out, LENGTH, key, direction);                                    \
		BOTH(ica_##des##_cbc, row " CBC", in, out, LENGTH, key, iv, direction);                                \
		BOTH(ica_##des##_cbc_cs, row " CBC", in, out, LENGTH - 3, key, iv, direction, ICA_CBCCS_VARIANT3);     \
		BOTH(ica_##des##_cfb, row " CFB", in, out, LENGTH, key, iv, 8, direction);                             \
		BOTH(ica_##des##_ofb, row " OFB", in, out, LENGTH, key, iv, direction);                                \
		BOTH(ica_##des##_ctr, row " CTR", in, out, LENGTH, key, iv, 32, direction);                            \
		BOTH(ica_##des##_ctrlist, row " CTR", in, out, LENGTH, key, list, direction);                          \
		ENC(ica_##des##_cmac, row " CMAC", 0, ica_##des##_cmac(in, LENGTH, mac, 8, key, ICA_ENCRYPT));         \
		DEC(ica_##des##_cmac, row " CMAC", 0, ica_##des##_cmac(in, LENGTH, mac, 8, key, ICA_DECRYPT));         \
		DEC(ica_##des##_cmac_intermediate, row " CMAC", 0, ica_##des##_cmac_intermediate(in, LENGTH, key, iv)); \
		ENC(ica_##des##_cmac_last, row " CMAC", 0,                                                             \
		    ica_##des##_cmac_last(in, LENGTH, mac, 8, key, iv, ICA_ENCRYPT));                                  \
	} while (0)

#define AES_BOTH(symbol, row, ...)                                                                                     \
	do {                                                                                                           \
		direction = ICA_ENCRYPT;                                                                               \
		ENC(symbol, row, length * 8, symbol(__VA_ARGS__));                                                     \
		direction = ICA_DECRYPT;                                                                               \
		DEC(symbol, row, length * 8, symbol(__VA_ARGS__));                                                     \
	} while (0)

static void aes_modes(unsigned int length)
{
	unsigned int direction;

	AES_BOTH(ica_aes_ecb, "AES ECB", in, out, LENGTH, key, length, direction);
	AES_BOTH(ica_aes_cbc, "AES CBC", in, out, LENGTH, key, length, iv, direction);
	AES_BOTH(ica_aes_cbc_cs, "AES CBC", in, out, LENGTH - 3, key, length, iv, direction, ICA_CBCCS_VARIANT3);
	AES_BOTH(ica_aes_cfb, "AES CFB", in, out, LENGTH, key, length, iv, 16, direction);
	AES_BOTH(ica_aes_ofb, "AES OFB", in, out, LENGTH, key, length, iv, direction);
	AES_BOTH(ica_aes_ctr, "AES CTR", in, out, LENGTH, key, length, iv, 32, direction);
	AES_BOTH(ica_aes_ctrlist, "AES CTR", in, out, LENGTH, key, length, list, direction);
	AES_BOTH(ica_aes_cmac, "AES CMAC", in, LENGTH, mac, 16, key, length, direction);
	DEC(ica_aes_cmac_intermediate, "AES CMAC", length * 8, ica_aes_cmac_intermediate(in, LENGTH, key, length, iv));
	ENC(ica_aes_cmac_last, "AES CMAC", length * 8, ica_aes_cmac_last(in, LENGTH, mac, 16, key, length, iv, ICA_ENCRYPT));
	AES_BOTH(ica_aes_ccm, "AES CCM", in, LENGTH, out, 16, in, 20, iv, 12, key, length, direction);
	AES_BOTH(ica_aes_gcm, "AES GCM", in, LENGTH, out, iv, 12, in + LENGTH, 20, mac, 16, key, length, direction);
	if (length == 24)
		return;
	AES_BOTH(ica_aes_xts, "AES XTS", in, out, LENGTH, key, key + 32, length, iv, direction);
	AES_BOTH(ica_aes_xts_ex, "AES XTS", in, out, LENGTH, key, key + 32, length, iv, mac, direction);
}

static void gcm_streams(void)
{
	unsigned char icb[16], ucb[16], subkey[16], tag[16] = {0}, made[16], nonce[16];
	unsigned int length = sizeof nonce;
	kma_ctx *ctx;

	/* The hash of a longer initialization vector and of the lengths at the end; the text itself is AES GCM. */
	NONE(ica_aes_gcm_initialize, ica_aes_gcm_initialize(iv, 12, key, 32, icb, ucb, subkey, ICA_ENCRYPT));
	ONE(ica_aes_gcm_initialize, "GHASH", 0, ica_aes_gcm_initialize(iv, 16, key, 32, icb, ucb, subkey, ICA_ENCRYPT));
	NONE(ica_aes_gcm_initialize_fips, ica_aes_gcm_initialize_fips(nonce, 12, key, 32, icb, ucb, subkey, ICA_ENCRYPT));
	ENC(ica_aes_gcm_intermediate, "AES GCM", 256,
	    ica_aes_gcm_intermediate(in, LENGTH, out, ucb, NULL, 0, tag, 16, key, 32, subkey, ICA_ENCRYPT));
	ONE(ica_aes_gcm_last, "GHASH", 0, ica_aes_gcm_last(icb, 0, LENGTH, tag, made, 16, key, 32, subkey, ICA_ENCRYPT));

	NONE(ica_aes_gcm_kma_ctx_new, !(ctx = ica_aes_gcm_kma_ctx_new()));
	NONE(ica_aes_gcm_kma_init, ica_aes_gcm_kma_init(ICA_ENCRYPT, iv, 12, key, 16, ctx));
	ENC(ica_aes_gcm_kma_update, "AES GCM", 128, ica_aes_gcm_kma_update(in, out, LENGTH, NULL, 0, 1, 1, ctx));
	NONE(ica_aes_gcm_kma_get_tag, ica_aes_gcm_kma_get_tag(tag, 16, ctx));
	NONE(ica_aes_gcm_kma_get_iv, ica_aes_gcm_kma_get_iv(ctx, nonce, &length));
	CHECK(ica_aes_gcm_kma_init(ICA_DECRYPT, iv, 12, key, 16, ctx) == 0);
	DEC(ica_aes_gcm_kma_update, "AES GCM", 128, ica_aes_gcm_kma_update(out, in, LENGTH, NULL, 0, 1, 1, ctx));
	NONE(ica_aes_gcm_kma_verify_tag, ica_aes_gcm_kma_verify_tag(tag, 16, ctx));
	NONE(ica_aes_gcm_kma_init_fips, ica_aes_gcm_kma_init_fips(ICA_ENCRYPT, 12, key, 16, ctx));
	NONE(ica_aes_gcm_kma_ctx_free, (ica_aes_gcm_kma_ctx_free(ctx), 0));
}

static void random_bytes(void)
{
	ica_drbg_t *drbg = NULL;

	ONE(ica_random_number_generate, "P_RNG", 0, ica_random_number_generate(LENGTH, out));
	NONE(ica_drbg_instantiate, ica_drbg_instantiate(&drbg, 256, true, ICA_DRBG_SHA512, NULL, 0));
	ONE(ica_drbg_generate, "DRBG-SHA-512", 0, ica_drbg_generate(drbg, 256, false, NULL, 0, out, LENGTH));
	NONE(ica_drbg_reseed, ica_drbg_reseed(drbg, false, NULL, 0));
	NONE(ica_drbg_health_test, ica_drbg_health_test((void *)ica_drbg_generate, 256, false, ICA_DRBG_SHA512));
	NONE(ica_drbg_uninstantiate, ica_drbg_uninstantiate(&drbg));
}

static void rsa(unsigned int bits)
{
	static unsigned char n[512], e[512], d[512], p[264], q[256], dp[264], dq[256], qinv[264], message[512], result[512];
	unsigned int length = bits / 8;
	ica_rsa_key_mod_expo_t public = {length, n, e}, private = {length, n, d};
	ica_rsa_key_crt_t crt = {length, p, q, dp, dq, qinv};

	memset(e, 0, sizeof e);
	e[length - 3] = e[length - 1] = 1;
	memset(message, 0, sizeof message);
	message[length - 1] = 42;
	ONE(ica_rsa_key_generate_mod_expo, "RSA Keygen ME", bits,
	    ica_rsa_key_generate_mod_expo(DRIVER_NOT_LOADED, bits, &public, &private));
	ONE(ica_rsa_mod_expo, "RSA ME", bits, ica_rsa_mod_expo(DRIVER_NOT_LOADED, message, &private, result));
	ONE(ica_rsa_key_generate_crt, "RSA Keygen CRT", bits,
	    ica_rsa_key_generate_crt(DRIVER_NOT_LOADED, bits, &public, &crt));
	NONE(ica_rsa_crt_key_check, ica_rsa_crt_key_check(&crt) > 1);
	ONE(ica_rsa_mod_expo, "RSA ME", bits, ica_rsa_mod_expo(DRIVER_NOT_LOADED, message, &public, result));
	ONE(ica_rsa_crt, "RSA CRT", bits, ica_rsa_crt(DRIVER_NOT_LOADED, result, &crt, out));
	CHECK(!memcmp(out, message, length));
}

static void curve(unsigned int nid, unsigned int bits)
{
	unsigned char hash[32], signature[132], secret[66], q[132], d[66], k[66] = {0};
	unsigned int length, q_length = sizeof q, d_length = sizeof d;
	/* A size's row is hardware where its NIST curve is. Brainpool's numbers begin at 921. */
	const char *served = nid < 921 ? "crypt" : "software";
	ICA_EC_KEY *ec;

	fill(hash, sizeof hash);
	NONE(ica_ec_key_new, !(ec = ica_ec_key_new(nid, &length)));
	GO(ica_ec_key_generate, "EC Keygen", bits, served,
	   ica_ec_key_generate(DRIVER_NOT_LOADED, ec));
	NONE(ica_ec_key_get_public_key, ica_ec_key_get_public_key(ec, q, &q_length));
	NONE(ica_ec_key_get_private_key, ica_ec_key_get_private_key(ec, d, &d_length));
	NONE(ica_ec_key_init, ica_ec_key_init(q, q + length, d, ec));
	GO(ica_ecdsa_sign, "ECDSA Sign", bits, served,
	    ica_ecdsa_sign(DRIVER_NOT_LOADED, ec, hash, sizeof hash, signature, 2 * length));
	k[length - 1] = 42;
	GO(ica_ecdsa_sign_ex, "ECDSA Sign", bits, served,
	    ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, ec, hash, sizeof hash, signature, 2 * length, k));
	ONE(ica_ecdsa_verify, "ECDSA Verify", bits,
	    ica_ecdsa_verify(DRIVER_NOT_LOADED, ec, hash, sizeof hash, signature, 2 * length));
	/* The work is the same where the answer is no. */
	signature[2 * length - 1] ^= 1;
	ONE(ica_ecdsa_verify, "ECDSA Verify", bits,
	    ica_ecdsa_verify(DRIVER_NOT_LOADED, ec, hash, sizeof hash, signature, 2 * length) != EFAULT);
	ONE(ica_ecdh_derive_secret, "ECDH", bits, ica_ecdh_derive_secret(DRIVER_NOT_LOADED, ec, ec, secret, length));
	NONE(ica_ec_key_free, (ica_ec_key_free(ec), 0));
}

#define AGREEMENT(x, X, row, size)                                                                                     \
	do {                                                                                                           \
		ICA_##X##_CTX *ctx;                                                                                    \
		unsigned char private[size], public[size], secret[size];                                               \
                                                                                                                       \
		NONE(ica_##x##_ctx_new, ica_##x##_ctx_new(&ctx));                                                      \
		ONE(ica_##x##_key_gen, row " Keygen", 0, ica_##x##_key_gen(ctx));                                      \
		CHECK(ica_##x##_key_get(ctx, private, public) == 0);                                                   \
		NONE(ica_##x##_key_get, ica_##x##_key_get(ctx, private, public));                                      \
		NONE(ica_##x##_key_set, ica_##x##_key_set(ctx, private, public));                                      \
		ONE(ica_##x##_derive, row " Derive", 0, ica_##x##_derive(ctx, secret, public));                        \
		NONE(ica_##x##_ctx_del, ica_##x##_ctx_del(&ctx));                                                      \
	} while (0)

#define SIGNATURE(x, X, row, size)                                                                                     \
	do {                                                                                                           \
		ICA_##X##_CTX *ctx;                                                                                    \
		unsigned char private[size], public[size], signature[2 * size];                                        \
                                                                                                                       \
		NONE(ica_##x##_ctx_new, ica_##x##_ctx_new(&ctx));                                                      \
		ONE(ica_##x##_key_gen, row " Keygen", 0, ica_##x##_key_gen(ctx));                                      \
		CHECK(ica_##x##_key_get(ctx, private, public) == 0);                                                   \
		NONE(ica_##x##_key_get, ica_##x##_key_get(ctx, private, public));                                      \
		ONE(ica_##x##_sign, row " Sign", 0, ica_##x##_sign(ctx, signature, in, LENGTH));                       \
		ONE(ica_##x##_verify, row " Verify", 0, ica_##x##_verify(ctx, signature, in, LENGTH));                 \
		signature[size] ^= 1;                                                                                  \
		ONE(ica_##x##_verify, row " Verify", 0, ica_##x##_verify(ctx, signature, in, LENGTH) != -1);           \
		/* Not before: of a key that is set, signing computes the public key, which counts. */                 \
		NONE(ica_##x##_key_set, ica_##x##_key_set(ctx, private, public));                                      \
		NONE(ica_##x##_ctx_del, ica_##x##_ctx_del(&ctx));                                                      \
	} while (0)

static void the_library(void)
{
	libica_version_info version;
	libica_hw_info info;
	ica_adapter_handle_t adapter;
	unsigned int length;
	uint64_t a[8] = {1}, b[8] = {2}, r[16];
	ICA_X25519_CTX *ctx;

	NONE(ica_open_adapter, ica_open_adapter(&adapter));
	NONE(ica_close_adapter, ica_close_adapter(adapter));
	NONE(ica_get_version, ica_get_version(&version));
	NONE(ica_get_build_version, !ica_get_build_version());
	NONE(ica_get_hw_info, ica_get_hw_info(&info));
	NONE(ica_get_msa_level, ica_get_msa_level() < 0);
	NONE(ica_get_functionlist, ica_get_functionlist(NULL, &length));
	NONE(ica_fips_status, ica_fips_status());
	NONE(ica_mp_mul512, ica_mp_mul512(r, a, b));
	NONE(ica_mp_sqr512, ica_mp_sqr512(r, a));
	NONE(ica_allow_external_gcm_iv_in_fips_mode, (ica_allow_external_gcm_iv_in_fips_mode(1), 0));
	NONE(ica_set_fallback_mode, (ica_set_fallback_mode(ICA_FALLBACKS_ENABLED), 0));
	NONE(ica_set_offload_mode, (ica_set_offload_mode(0), 0));
	NONE(ica_set_stats_mode, (ica_set_stats_mode(0), 0));
	NONE(ica_sha256, ica_sha256(SHA_MSG_PART_ONLY, LENGTH, in, &(sha256_context_t){0}, out));
	CHECK(ica_x25519_ctx_new(&ctx) == 0);
	NONE(ica_x25519_key_gen, ica_x25519_key_gen(ctx));
	ica_set_stats_mode(1);
	ONE(ica_x25519_key_gen, "X25519 Keygen", 0, ica_x25519_key_gen(ctx));
	CHECK(ica_x25519_ctx_del(&ctx) == 0);
	ONE(ica_sha256, "SHA-256", 0, ica_sha256(SHA_MSG_PART_ONLY, LENGTH, in, &(sha256_context_t){0}, out));
	NONE(ica_cleanup, (ica_cleanup(), 0));
}

int main(int argc, char **argv)
{
	static const unsigned int curves[][2] = {
		{409, 192}, {713, 224}, {415, 256}, {715, 384}, {716, 521}, {921, 160}, {923, 192}, {925, 224},
		{927, 256}, {929, 320}, {931, 384}, {933, 512},
	};
	unsigned int i;

	(void)argv;
	fill(in, sizeof in);
	fill(key, sizeof key);
	fill(list, sizeof list);
	hashes();
	DES_MODES(des, "DES");
	DES_MODES(3des, "3DES");
	for (i = 16; i <= 32; i += 8)
		aes_modes(i);
	gcm_streams();
	random_bytes();
	/* Large keys take an emulator minutes to make. */
	for (i = 512; i <= (argc > 1 ? 512 : 3072); i = i == 2048 ? 3072 : i * 2)
		rsa(i);
	for (i = 0; i < sizeof curves / sizeof *curves; i++)
		curve(curves[i][0], curves[i][1]);
	AGREEMENT(x25519, X25519, "X25519", 32);
	SIGNATURE(ed25519, ED25519, "Ed25519", 32);
	AGREEMENT(x448, X448, "X448", 56);
	SIGNATURE(ed448, ED448, "Ed448", 57);
	the_library();
	return 0;
}
