/* After a call, the stack that it has used holds no part of the private key, nonce or shared secret it worked with. */
#include "common.h"

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

/* The private key as a whole, and what comes of it. */
#define AGREEMENT(prefix, type, n)                                                                                     \
	do {                                                                                                           \
		static unsigned char private[n], public[n], z[n];                                                      \
		type *key = NULL;                                                                                      \
                                                                                                                       \
		/* The first call of a function has the loader save registers on the stack, whatever is in them. */    \
		CHECK(ica_##prefix##_ctx_new(&key) == 0 && ica_##prefix##_ctx_del(&key) == 0);                         \
		CHECK(ica_##prefix##_ctx_new(&key) == 0);                                                              \
		clear();                                                                                               \
		CHECK(ica_##prefix##_key_gen(key) == 0 && ica_##prefix##_key_get(key, private, public) == 0);          \
		CHECK(!left(private, n));                                                                              \
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
		/* The first call of a function has the loader save registers on the stack, whatever is in them. */    \
		CHECK(ica_##prefix##_ctx_new(&key) == 0 && ica_##prefix##_ctx_del(&key) == 0);                         \
		CHECK(ica_##prefix##_ctx_new(&key) == 0);                                                              \
		clear();                                                                                               \
		CHECK(ica_##prefix##_key_gen(key) == 0 && ica_##prefix##_key_get(key, private, public) == 0);          \
		CHECK(!left(private, n));                                                                              \
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
	AGREEMENT(x25519, ICA_X25519_CTX, 32);
	AGREEMENT(x448, ICA_X448_CTX, 56);
	SIGNATURES(ed25519, ICA_ED25519_CTX, 32, 64, EVP_sha512);
	SIGNATURES(ed448, ICA_ED448_CTX, 57, 114, EVP_shake256);
	puts("good");
	return 0;
}
