/* Hashes agree with OpenSSL's, in one call and in parts; and the library says what it is. */
#include "common.h"

#include <openssl/evp.h>

#define MOST 3000

static void reference(const char *name, const unsigned char *data, size_t length, unsigned char *out, size_t out_length, int xof)
{
	EVP_MD *md = EVP_MD_fetch(NULL, name, NULL);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned int done;

	CHECK(md && EVP_DigestInit_ex(ctx, md, NULL) && EVP_DigestUpdate(ctx, data, length));
	CHECK(xof ? EVP_DigestFinalXOF(ctx, out, out_length) : EVP_DigestFinal_ex(ctx, out, &done));
	EVP_MD_CTX_free(ctx);
	EVP_MD_free(md);
}

#define HASH(function, context, name, block, size)                                                                     \
	do {                                                                                                           \
		context ctx;                                                                                           \
		unsigned int round;                                                                                    \
                                                                                                                       \
		for (round = 0; round < rounds(100); round++) {                                                        \
			unsigned int length = number(MOST), a = number(length / block + 1) * block;                            \
			unsigned int b = a + number((length - a) / block + 1) * block;                                         \
                                                                                                                       \
			fill(data, length);                                                                            \
			reference(name, data, length, good, size, 0);                                                  \
			memset(&ctx, 0xaa, sizeof ctx);                                                                \
			memset(out, 0xee, sizeof out);                                                                 \
			CHECK(function(SHA_MSG_PART_ONLY, length, data, &ctx, out) == 0);                              \
			CHECK(!memcmp(out, good, size) && out[size] == 0xee);                                          \
			memset(&ctx, 0xaa, sizeof ctx);                                                                \
			CHECK(function(SHA_MSG_PART_FIRST, a, data, &ctx, out) == 0);                                  \
			CHECK(function(SHA_MSG_PART_MIDDLE, b - a, data + a, &ctx, out) == 0);                         \
			CHECK(function(SHA_MSG_PART_FINAL, length - b, data + b, &ctx, out) == 0);                     \
			CHECK(!memcmp(out, good, size) && out[size] == 0xee);                                          \
		}                                                                                                      \
		CHECK(function(4, 1, data, &ctx, out) == EINVAL && function(0, 1, NULL, &ctx, out) == EINVAL);         \
		CHECK(function(0, 1, data, NULL, out) == EINVAL && function(0, 1, data, &ctx, NULL) == EINVAL);        \
		CHECK(function(SHA_MSG_PART_FIRST, block - 1, data, &ctx, out) == EINVAL);                             \
		CHECK(function(SHA_MSG_PART_MIDDLE, block + 1, data, &ctx, out) == EINVAL);                            \
	} while (0)

#define XOF(function, context, name, block)                                                                            \
	do {                                                                                                           \
		context ctx;                                                                                           \
		unsigned int round;                                                                                    \
                                                                                                                       \
		for (round = 0; round < rounds(100); round++) {                                                        \
			unsigned int length = number(MOST), a = number(length / block + 1) * block, size = 1 + number(500);    \
                                                                                                                       \
			fill(data, length);                                                                            \
			reference(name, data, length, good, size, 1);                                                  \
			memset(out, 0xee, sizeof out);                                                                 \
			CHECK(function(SHA_MSG_PART_ONLY, length, data, &ctx, out, size) == 0);                        \
			CHECK(!memcmp(out, good, size) && out[size] == 0xee && ctx.output_length == size);             \
			CHECK(function(SHA_MSG_PART_FIRST, a, data, &ctx, out, size) == 0);                            \
			CHECK(function(SHA_MSG_PART_FINAL, length - a, data + a, &ctx, out, size) == 0);               \
			CHECK(!memcmp(out, good, size) && out[size] == 0xee);                                          \
		}                                                                                                      \
		CHECK(function(0, 1, data, &ctx, out, 0) == EINVAL);                                                   \
	} while (0)

int main(void)
{
	static unsigned char data[MOST], out[600], good[600], many[4096];
	libica_version_info version;
	libica_hw_info info;
	ica_adapter_handle_t adapter = 7;
	uint64_t a[8], b[8], r[16], s[16];
	unsigned int i, zeros = 0;

	HASH(ica_sha1, sha_context_t, "SHA1", 64, 20);
	HASH(ica_sha224, sha256_context_t, "SHA224", 64, 28);
	HASH(ica_sha256, sha256_context_t, "SHA256", 64, 32);
	HASH(ica_sha384, sha512_context_t, "SHA384", 128, 48);
	HASH(ica_sha512, sha512_context_t, "SHA512", 128, 64);
	HASH(ica_sha512_224, sha512_context_t, "SHA512-224", 128, 28);
	HASH(ica_sha512_256, sha512_context_t, "SHA512-256", 128, 32);
	HASH(ica_sha3_224, sha3_224_context_t, "SHA3-224", 144, 28);
	HASH(ica_sha3_256, sha3_256_context_t, "SHA3-256", 136, 32);
	HASH(ica_sha3_384, sha3_384_context_t, "SHA3-384", 104, 48);
	HASH(ica_sha3_512, sha3_512_context_t, "SHA3-512", 72, 64);
	XOF(ica_shake_128, shake_128_context_t, "SHAKE128", 168);
	XOF(ica_shake_256, shake_256_context_t, "SHAKE256", 136);

	CHECK(ica_get_version(&version) == 0 && version.major_version == 4 && version.minor_version == 4);
	CHECK(ica_get_version(NULL) == EINVAL);
	CHECK(!strncmp(ica_get_build_version(), "adjunct ", 8));
	CHECK(ica_get_hw_info(&info) == 0 && info.vendor_id[0] && ica_get_hw_info(NULL) == EINVAL);
	CHECK(ica_fips_status() == 0);
	CHECK(ica_open_adapter(&adapter) == 0 && adapter == DRIVER_NOT_LOADED && ica_open_adapter(NULL) == EINVAL);
	CHECK(ica_close_adapter(adapter) == 0);
	CHECK(ica_random_number_generate(sizeof many, many) == 0 && ica_random_number_generate(1, NULL) == EINVAL);
	for (i = 0; i < sizeof many; i++)
		zeros += many[i] == 0;
	CHECK(zeros < 64);

	/* (2^512 - 1)^2 = 2^1024 - 2^513 + 1. */
	memset(a, 0xff, sizeof a);
	memset(b, 0xff, sizeof b);
	CHECK(ica_mp_mul512(r, a, b) == 0 && ica_mp_sqr512(s, a) == 0 && !memcmp(r, s, sizeof r));
	CHECK(r[0] == 1 && r[7] == 0 && r[8] == ~1ull && r[15] == ~0ull);

	/* What no instruction does is refused where the program wants hardware only. */
	ica_set_fallback_mode(ICA_FALLBACKS_DISABLED);
	fill(data, 24);
#ifndef __s390x__ /* where KM may have it */
	CHECK(ica_3des_ecb(data, out, 8, data, 1) == ENODEV);
#endif
	ica_set_fallback_mode(ICA_FALLBACKS_ENABLED);
	CHECK(ica_3des_ecb(data, out, 8, data, 1) == 0);
	ica_cleanup();
	puts("good");
	return 0;
}
