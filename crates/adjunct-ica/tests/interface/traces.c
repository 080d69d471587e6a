/* After a call, the stack that it has used holds no part of the private key, nonce, shared secret or generator's state it worked with,
 * nor of the tag that it has refused another for. */
#include "common.h"

#include <malloc.h>
#include <openssl/evp.h>

#define MAX 66
/* What a call may have used, and the length of the parts looked for. */
#define AREA 40000
#define PART 8

static const unsigned int curves[] = { 409, 713, 415, 715, 716, 921, 923, 925, 927, 929, 931, 933 };

__attribute__((noinline)) static void clear(void)
{
	volatile unsigned char area[AREA + 4000];

	memset((void *)area, 0x11, sizeof(area));
	__asm__ volatile("" : : "r"(area) : "memory");
}

/* Big-endian, and as the words of a little-endian processor. */
static int same(const volatile unsigned char *there, const unsigned char *part)
{
	int forward = 1, backward = 1;

	for (int i = 0; i < PART && (forward || backward); i++) {
		forward &= there[i] == part[i];
		backward &= there[i] == part[PART - 1 - i];
	}
	return forward || backward;
}

__attribute__((noinline)) static int left(const unsigned char *secret, unsigned int length)
{
	volatile unsigned char area[AREA];

	/* What lies there is what earlier calls have left. */
	__asm__ volatile("" : : "r"(area) : "memory");
	/* The first bytes of P-521's are nearly always the same. */
	for (unsigned int at = 2; at + PART <= length; at++)
		for (unsigned int i = 0; i + PART <= AREA; i++)
			if (same(area + i, secret + at))
				return 1;
	return 0;
}

__attribute__((noinline)) static void put(const unsigned char *secret, unsigned int length)
{
	volatile unsigned char area[1000];

	memcpy((void *)(area + 500), secret, length);
	__asm__ volatile("" : : "r"(area) : "memory");
}

/* Makes `key`, of which nothing stays behind. */
#define MAKE(prefix, n)                                                                                                \
	do {                                                                                                           \
		/* The first call of a function has the loader save registers on the stack, whatever is in them. */    \
		CHECK(ica_##prefix##_ctx_new(&key) == 0 && ica_##prefix##_ctx_del(&key) == 0);                         \
		CHECK(ica_##prefix##_ctx_new(&key) == 0);                                                              \
		clear();                                                                                               \
		CHECK(ica_##prefix##_key_gen(key) == 0 && ica_##prefix##_key_get(key, private, public) == 0);          \
		CHECK(!left(private, n));                                                                              \
	} while (0)

/* The private key as a whole, and what comes of it. */
#define AGREEMENT(prefix, type, n)                                                                                     \
	do {                                                                                                           \
		static unsigned char private[n], public[n], z[n];                                                      \
		type *key = NULL;                                                                                      \
                                                                                                                       \
		MAKE(prefix, n);                                                                                       \
		clear();                                                                                               \
		CHECK(ica_##prefix##_key_set(key, private, NULL) == 0 && ica_##prefix##_key_get(key, NULL, public) == 0); \
		CHECK(!left(private, n));                                                                              \
		clear();                                                                                               \
		CHECK(ica_##prefix##_derive(key, z, public) == 0);                                                     \
		CHECK(!left(private, n) && !left(z, n));                                                               \
		clear();                                                                                               \
		CHECK(ica_##prefix##_ctx_del(&key) == 0 && !left(private, n));                                         \
	} while (0)

/* The private key's hash has the number that signs. */
#define SIGNATURES(prefix, type, n, s, digest)                                                                         \
	do {                                                                                                           \
		static unsigned char private[n], public[n], signature[s], expanded[s];                                 \
		EVP_MD_CTX *ctx = EVP_MD_CTX_new();                                                                    \
		type *key = NULL;                                                                                      \
                                                                                                                       \
		MAKE(prefix, n);                                                                                       \
		CHECK(EVP_DigestInit(ctx, digest()) && EVP_DigestUpdate(ctx, private, n));                             \
		CHECK((s) == 64 ? EVP_DigestFinal(ctx, expanded, NULL) : EVP_DigestFinalXOF(ctx, expanded, s));        \
		EVP_MD_CTX_free(ctx);                                                                                  \
		clear();                                                                                               \
		CHECK(ica_##prefix##_key_set(key, private, NULL) == 0 && ica_##prefix##_key_get(key, NULL, public) == 0); \
		CHECK(!left(private, n) && !left(expanded, s));                                                        \
		clear();                                                                                               \
		CHECK(ica_##prefix##_sign(key, signature, public, n) == 0);                                            \
		CHECK(!left(private, n) && !left(expanded, s));                                                        \
		clear();                                                                                               \
		CHECK(ica_##prefix##_ctx_del(&key) == 0 && !left(private, n));                                         \
	} while (0)

/* Both forms; what is short goes by other arithmetic than what is long. */
static void rsa(unsigned int bits)
{
	static unsigned char n[256], again[256], e[256], d[256], crt[5][128 + 8], in[256], out[256];
	unsigned int length = bits / 8, half = length / 2;
	ica_rsa_key_mod_expo_t public = { .key_length = length, .modulus = n, .exponent = e };
	ica_rsa_key_mod_expo_t private = { .key_length = length, .modulus = again, .exponent = d };
	ica_rsa_key_crt_t key = { .key_length = length, .p = crt[0], .q = crt[1], .dp = crt[2], .dq = crt[3], .qInverse = crt[4] };

	memset(e, 0, sizeof(e));
	e[length - 1] = 17;
	/* The first calls have the loader save registers. */
	for (int first = 1; first >= 0; first--) {
		clear();
		CHECK(ica_rsa_key_generate_mod_expo(DRIVER_NOT_LOADED, bits, &public, &private) == 0);
		CHECK(first || !left(d, length));
		clear();
		CHECK(ica_rsa_mod_expo(DRIVER_NOT_LOADED, in, &private, out) == 0);
		CHECK(first || !left(d, length));
		clear();
		CHECK(ica_rsa_key_generate_crt(DRIVER_NOT_LOADED, bits, &public, &key) == 0);
		for (int i = 0; i < 5; i++)
			CHECK(first || !left(crt[i] + (i % 2 ? 0 : 8), half));
		clear();
		CHECK(ica_rsa_crt(DRIVER_NOT_LOADED, in, &key, out) == 0 && ica_rsa_crt(DRIVER_NOT_LOADED, in, &key, out) == 0);
		for (int i = 0; i < 5; i++)
			CHECK(first || !left(crt[i] + (i % 2 ? 0 : 8), half));
		clear();
		CHECK(ica_rsa_crt_key_check(&key) == 0);
		for (int i = 0; i < 5; i++)
			CHECK(first || !left(crt[i] + (i % 2 ? 0 : 8), half));
	}
}

/* What is random in a generator's memory is its state: neither numbers nor what clear() has left in between. */
static int state_left(const ica_drbg_t *generator)
{
	static unsigned char state[1000];
	size_t size = malloc_usable_size((void *)generator);

	CHECK(size >= 2 * 111 && size <= sizeof(state));
	memcpy(state, generator, size);
	for (size_t at = 0; at + 2 + PART <= size; at++)
		if (!memchr(state + at + 2, 0, PART) && !memchr(state + at + 2, 0x11, PART) && left(state + at, 2 + PART))
			return 1;
	return 0;
}

static void generator(void)
{
	static unsigned char out[200];
	ica_drbg_t *one = NULL;

	/* The first calls have the loader save registers. */
	for (int first = 1; first >= 0; first--) {
		clear();
		CHECK(ica_drbg_instantiate(&one, 256, true, ICA_DRBG_SHA512, NULL, 0) == 0);
		CHECK(!state_left(one) || first);
		clear();
		CHECK(ica_drbg_generate(one, 256, false, NULL, 0, out, sizeof(out)) == 0);
		CHECK(!state_left(one) || first);
		clear();
		CHECK(ica_drbg_generate(one, 256, true, NULL, 0, out, sizeof(out)) == 0);
		CHECK(!state_left(one) || first);
		clear();
		CHECK(ica_drbg_reseed(one, true, NULL, 0) == 0);
		CHECK(!state_left(one) || first);
		CHECK(ica_drbg_uninstantiate(&one) == 0);
	}
}

/* The tag or MAC that a forged message should have had. */
static void forged(unsigned int size, unsigned long length)
{
	static unsigned char key[32], in[5000], text[5000 + 16], out[5000], made[16], wrong[16], iv[12], icb[16], ucb[16], subkey[16], hash[16];
	kma_ctx *ctx = ica_aes_gcm_kma_ctx_new();

	CHECK(ctx);
	CHECK(ica_random_number_generate(sizeof(key), key) == 0 && ica_random_number_generate(sizeof(in), in) == 0);
#define REFUSED(call)                                                                                                  \
	do {                                                                                                           \
		clear();                                                                                               \
		CHECK((call) == EFAULT);                                                                               \
		CHECK(first || !left(made, 16));                                                                       \
	} while (0)

	/* The first calls have the loader save registers. */
	for (int first = 1; first >= 0; first--) {
		CHECK(ica_random_number_generate(sizeof(iv), iv) == 0);
		CHECK(ica_aes_gcm(in, length, text, iv, 12, in, 20, made, 16, key, size, 1) == 0);
		REFUSED(ica_aes_gcm(out, length, text, iv, 12, in, 20, wrong, 16, key, size, 0));
		CHECK(ica_aes_gcm_initialize(iv, 12, key, size, icb, ucb, subkey, 0) == 0);
		memset(hash, 0, 16);
		CHECK(ica_aes_gcm_intermediate(out, length, text, ucb, in, 20, hash, 16, key, size, subkey, 0) == 0);
		REFUSED(ica_aes_gcm_last(icb, 20, length, hash, wrong, 16, key, size, subkey, 0));
		CHECK(ica_aes_gcm_kma_init(0, iv, 12, key, size, ctx) == 0);
		CHECK(ica_aes_gcm_kma_update(text, out, length, in, 20, 1, 1, ctx) == 0);
		REFUSED(ica_aes_gcm_kma_verify_tag(wrong, 16, ctx));
		CHECK(ica_aes_ccm(in, length, text, 16, in, 20, iv, 12, key, size, 1) == 0);
		memcpy(made, text + length, 16);
		memset(text + length, 0, 16);
		REFUSED(ica_aes_ccm(out, length, text, 16, in, 20, iv, 12, key, size, 0));
		CHECK(ica_aes_cmac(in, length, made, 16, key, size, 1) == 0);
		REFUSED(ica_aes_cmac(in, length, wrong, 16, key, size, 0));
		REFUSED(ica_aes_cmac_last(in, length, wrong, 16, key, size, NULL, 0));
		memset(made, 0, 16);
		CHECK(ica_3des_cmac(in, length, made + 2, 8, in, 1) == 0);
		memcpy(made + 10, "not left", 6);
		REFUSED(ica_3des_cmac(in, length, wrong, 8, in, 0));
	}
	ica_aes_gcm_kma_ctx_free(ctx);
}

int main(void)
{
	static unsigned char d[MAX], k[MAX], z[MAX], q[2 * MAX], signature[2 * MAX];
	static const unsigned char hash[32] = { 9 };

	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
		unsigned int n, length;
		ICA_EC_KEY *key = ica_ec_key_new(curves[i], &n), *peer = ica_ec_key_new(curves[i], &n);

		CHECK(ica_ec_key_generate(DRIVER_NOT_LOADED, peer) == 0);
		clear();
		CHECK(ica_ec_key_generate(DRIVER_NOT_LOADED, key) == 0);
		CHECK(ica_ec_key_get_private_key(key, d, &length) == 0);
		CHECK(!left(d, n));
		/* The search finds what is there. */
		put(d, n);
		CHECK(left(d, n));
		clear();
		CHECK(ica_ec_key_get_public_key(key, q, &length) == 0);
		CHECK(ica_ec_key_init(q, q + n, d, key) == 0);
		CHECK(!left(d, n));
		clear();
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, signature, 2 * n) == 0);
		CHECK(!left(d, n));
		for (unsigned int j = 2; j < n; j++)
			k[j] = (unsigned char)(0x30 + j);
		clear();
		CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, signature, 2 * n, k) == 0);
		CHECK(!left(d, n) && !left(k, n));
		clear();
		CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, peer, z, n) == 0);
		CHECK(!left(d, n) && !left(z, n));
		ica_ec_key_free(key);
		ica_ec_key_free(peer);
	}
	for (unsigned int size = 16; size <= 32; size += 8) {
		forged(size, 20);
		forged(size, 300);
		forged(size, 4003);
	}
	generator();
	rsa(504);
	rsa(1024);
	rsa(2048);
	AGREEMENT(x25519, ICA_X25519_CTX, 32);
	AGREEMENT(x448, ICA_X448_CTX, 56);
	SIGNATURES(ed25519, ICA_ED25519_CTX, 32, 64, EVP_sha512);
	SIGNATURES(ed448, ICA_ED448_CTX, 57, 114, EVP_shake256);
	puts("good");
	return 0;
}
