/* RSA keys of OpenSSL's numbers in the forms of the interface. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common.h"

#include <openssl/bn.h>

#define MAX 512
#define PAD 8

static const ica_adapter_handle_t handle = -1;

/* A key as OpenSSL's numbers, and in both of the interface's forms. */
struct key {
	unsigned int bits, length, half;
	BIGNUM *n, *e, *d, *p, *q, *dp, *dq, *qi;
	unsigned char modulus[MAX], public_exponent[MAX], private_exponent[MAX];
	unsigned char cp[MAX / 2 + PAD], cq[MAX / 2], cdp[MAX / 2 + PAD], cdq[MAX / 2], cqi[MAX / 2 + PAD];
	ica_rsa_key_mod_expo_t public_key, private_key;
	ica_rsa_key_crt_t crt;
};

static BN_CTX *ctx;

static void put(const BIGNUM *number, unsigned char *to, unsigned int length)
{
	CHECK(BN_bn2binpad(number, to, (int)length) == (int)length);
}

static void fill_in(struct key *key)
{
	key->length = (key->bits + 7) / 8;
	key->half = (key->length + 1) / 2;
	put(key->n, key->modulus, key->length);
	put(key->e, key->public_exponent, key->length);
	put(key->d, key->private_exponent, key->length);
	put(key->p, key->cp, key->half + PAD);
	put(key->q, key->cq, key->half);
	put(key->dp, key->cdp, key->half + PAD);
	put(key->dq, key->cdq, key->half);
	put(key->qi, key->cqi, key->half + PAD);
	key->public_key = (ica_rsa_key_mod_expo_t){ key->length, key->modulus, key->public_exponent };
	key->private_key = (ica_rsa_key_mod_expo_t){ key->length, key->modulus, key->private_exponent };
	key->crt = (ica_rsa_key_crt_t){ key->length, key->cp, key->cq, key->cdp, key->cdq, key->cqi };
}

static void parts_of_d(struct key *key)
{
	BIGNUM *p1 = BN_dup(key->p), *q1 = BN_dup(key->q);

	BN_sub_word(p1, 1);
	BN_sub_word(q1, 1);
	CHECK(BN_mod(key->dp, key->d, p1, ctx) && BN_mod(key->dq, key->d, q1, ctx));
	BN_free(p1);
	BN_free(q1);
}

/* A key of OpenSSL's primes; e is null for one as long as the modulus. */
static void make(struct key *key, unsigned int bits, const char *e)
{
	BIGNUM *p1 = BN_new(), *q1 = BN_new(), *order = BN_new();

	key->bits = bits;
	key->n = BN_new(), key->e = BN_new(), key->p = BN_new(), key->q = BN_new();
	key->dp = BN_new(), key->dq = BN_new();
	do {
		CHECK(BN_generate_prime_ex(key->p, (int)(bits + 1) / 2, 0, NULL, NULL, NULL));
		CHECK(BN_generate_prime_ex(key->q, (int)bits / 2, 0, NULL, NULL, NULL));
		if (BN_cmp(key->p, key->q) < 0)
			BN_swap(key->p, key->q);
		BN_mul(key->n, key->p, key->q, ctx);
		BN_sub(p1, key->p, BN_value_one());
		BN_sub(q1, key->q, BN_value_one());
		BN_mul(order, p1, q1, ctx);
		if (e)
			BN_hex2bn(&key->e, e);
		else
			BN_rand(key->e, (int)bits - 2, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
	} while (!BN_cmp(key->p, key->q) || !(key->d = BN_mod_inverse(NULL, key->e, order, ctx)));
	CHECK(BN_num_bits(key->n) == (int)bits);
	CHECK((key->qi = BN_mod_inverse(NULL, key->q, key->p, ctx)) != NULL);
	parts_of_d(key);
	fill_in(key);
	BN_free(p1);
	BN_free(q1);
	BN_free(order);
}

static void drop(struct key *key)
{
	BN_free(key->n), BN_free(key->e), BN_free(key->d), BN_free(key->p);
	BN_free(key->q), BN_free(key->dp), BN_free(key->dq), BN_free(key->qi);
}
