/* Elliptic curves against OpenSSL: keys, signatures and shared secrets both ways, every refusal, overlapping buffers. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "common.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdh.h>
#include <openssl/ecdsa.h>
#include <openssl/obj_mac.h>

#include <pthread.h>

#define MAX 66
#define THREADS 16

static const struct curve {
	unsigned int nid, length;
} curves[] = {
	{ NID_X9_62_prime192v1, 24 }, { NID_secp224r1, 28 },	    { NID_X9_62_prime256v1, 32 }, { NID_secp384r1, 48 },
	{ NID_secp521r1, 66 },	      { NID_brainpoolP160r1, 20 }, { NID_brainpoolP192r1, 24 },  { NID_brainpoolP224r1, 28 },
	{ NID_brainpoolP256r1, 32 },  { NID_brainpoolP320r1, 40 }, { NID_brainpoolP384r1, 48 },  { NID_brainpoolP512r1, 64 },
};
#define CURVES (sizeof(curves) / sizeof(curves[0]))

static const unsigned int hashes[] = { 20, 28, 32, 48, 64 };

static ICA_EC_KEY *fresh(const struct curve *curve)
{
	unsigned int length = 0;
	ICA_EC_KEY *key = ica_ec_key_new(curve->nid, &length);

	CHECK(key && length == curve->length);
	return key;
}

static ICA_EC_KEY *generated(const struct curve *curve)
{
	ICA_EC_KEY *key = fresh(curve);

	CHECK(ica_ec_key_generate(DRIVER_NOT_LOADED, key) == 0);
	return key;
}

/* OpenSSL's key of ours, which must be a pair. */
static EC_KEY *theirs(const struct curve *curve, const ICA_EC_KEY *key)
{
	unsigned char q[2 * MAX], d[MAX];
	unsigned int q_length = 0, d_length = 0, n = curve->length;
	EC_KEY *made = EC_KEY_new_by_curve_name((int)curve->nid);

	CHECK(ica_ec_key_get_public_key(key, q, &q_length) == 0 && q_length == 2 * n);
	CHECK(ica_ec_key_get_private_key(key, d, &d_length) == 0 && d_length == n);
	BIGNUM *x = BN_bin2bn(q, (int)n, NULL), *y = BN_bin2bn(q + n, (int)n, NULL), *private = BN_bin2bn(d, (int)n, NULL);
	CHECK(made && EC_KEY_set_public_key_affine_coordinates(made, x, y) == 1);
	CHECK(EC_KEY_set_private_key(made, private) == 1 && EC_KEY_check_key(made) == 1);
	BN_free(x);
	BN_free(y);
	BN_clear_free(private);
	return made;
}

static void coordinates(const EC_KEY *key, unsigned int n, unsigned char *x, unsigned char *y)
{
	BIGNUM *first = BN_new(), *second = BN_new();

	CHECK(EC_POINT_get_affine_coordinates(EC_KEY_get0_group(key), EC_KEY_get0_public_key(key), first, second, NULL) == 1);
	CHECK(BN_bn2binpad(first, x, (int)n) == (int)n && BN_bn2binpad(second, y, (int)n) == (int)n);
	BN_free(first);
	BN_free(second);
}

/* OpenSSL's key of a private number. */
static EC_KEY *of_private(const struct curve *curve, const BIGNUM *d)
{
	EC_KEY *key = EC_KEY_new_by_curve_name((int)curve->nid);
	EC_POINT *point = EC_POINT_new(EC_KEY_get0_group(key));

	CHECK(EC_POINT_mul(EC_KEY_get0_group(key), point, d, NULL, NULL, NULL) == 1);
	CHECK(EC_KEY_set_private_key(key, d) == 1 && EC_KEY_set_public_key(key, point) == 1);
	EC_POINT_free(point);
	return key;
}

/* Ours of OpenSSL's: both halves at once, or one after the other. */
static ICA_EC_KEY *ours(const struct curve *curve, const EC_KEY *key)
{
	unsigned char x[MAX], y[MAX], d[MAX], q[2 * MAX];
	unsigned int n = curve->length, length;
	ICA_EC_KEY *made = fresh(curve);

	coordinates(key, n, x, y);
	CHECK(BN_bn2binpad(EC_KEY_get0_private_key(key), d, (int)n) == (int)n);
	if (number(2)) {
		CHECK(ica_ec_key_init(x, y, d, made) == 0);
	} else {
		CHECK(ica_ec_key_init(NULL, NULL, d, made) == 0);
		CHECK(ica_ec_key_get_public_key(made, q, &length) == EINVAL && length == 2 * n);
		CHECK(ica_ec_key_init(x, y, NULL, made) == 0);
	}
	CHECK(ica_ec_key_get_public_key(made, q, &length) == 0 && length == 2 * n);
	CHECK(memcmp(q, x, n) == 0 && memcmp(q + n, y, n) == 0);
	return made;
}

static int they_verify(EC_KEY *key, unsigned int n, const unsigned char *hash, unsigned int length,
		       const unsigned char *signature)
{
	ECDSA_SIG *made = ECDSA_SIG_new();
	int good;

	ECDSA_SIG_set0(made, BN_bin2bn(signature, (int)n, NULL), BN_bin2bn(signature + n, (int)n, NULL));
	good = ECDSA_do_verify(hash, (int)length, made, key);
	ECDSA_SIG_free(made);
	return good == 1;
}

static void raw(const ECDSA_SIG *signature, unsigned int n, unsigned char *out)
{
	CHECK(BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, (int)n) == (int)n);
	CHECK(BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + n, (int)n) == (int)n);
}

static void sign_both_ways(const struct curve *curve, const ICA_EC_KEY *mine, EC_KEY *other)
{
	unsigned char hash[64], signature[2 * MAX + 1];
	unsigned int n = curve->length;

	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		fill(hash, sizeof(hash));
		signature[2 * n] = 0x5A;
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, mine, hash, hashes[i], signature, 2 * n + i) == 0);
		CHECK(signature[2 * n] == 0x5A);
		CHECK(they_verify(other, n, hash, hashes[i], signature));
		ECDSA_SIG *made = ECDSA_do_sign(hash, (int)hashes[i], other);
		raw(made, n, signature);
		ECDSA_SIG_free(made);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, mine, hash, hashes[i], signature, 2 * n) == 0);
		/* Every part of the signature and of what the curve takes of the hash counts. */
		signature[number(2 * n)] ^= 1 << number(8);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, mine, hash, hashes[i], signature, 2 * n) == EFAULT);
		raw(made = ECDSA_do_sign(hash, (int)hashes[i], other), n, signature);
		ECDSA_SIG_free(made);
		hash[number(20)] ^= 1 << number(8);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, mine, hash, hashes[i], signature, 2 * n) == EFAULT);
	}
}

/* With a given nonce both must sign the same. */
static void sign_with_nonce(const struct curve *curve, const ICA_EC_KEY *mine, EC_KEY *other, const BIGNUM *k)
{
	const BIGNUM *order = EC_GROUP_get0_order(EC_KEY_get0_group(other));
	EC_KEY *point = of_private(curve, k);
	BIGNUM *inverse = BN_new(), *r;
	BN_CTX *context = BN_CTX_new();
	unsigned char x[MAX], y[MAX], nonce[MAX], hash[64], expected[2 * MAX], signature[2 * MAX];
	unsigned int n = curve->length;

	CHECK(BN_mod_inverse(inverse, k, order, context));
	coordinates(point, n, x, y);
	r = BN_bin2bn(x, (int)n, NULL);
	CHECK(BN_nnmod(r, r, order, context) == 1 && BN_bn2binpad(k, nonce, (int)n) == (int)n);
	for (size_t i = 0; i < sizeof(hashes) / sizeof(hashes[0]); i++) {
		fill(hash, sizeof(hash));
		ECDSA_SIG *made = ECDSA_do_sign_ex(hash, (int)hashes[i], inverse, r, other);
		CHECK(made);
		raw(made, n, expected);
		ECDSA_SIG_free(made);
		CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, mine, hash, hashes[i], signature, 2 * n, nonce) == 0);
		CHECK(memcmp(signature, expected, 2 * n) == 0);
	}
	BN_free(inverse);
	BN_free(r);
	BN_CTX_free(context);
	EC_KEY_free(point);
}

static void derive_both_ways(const struct curve *curve, const ICA_EC_KEY *mine, EC_KEY *mine_there, const ICA_EC_KEY *peer,
			     EC_KEY *peer_there)
{
	unsigned char z[MAX + 1], back[MAX], expected[MAX];
	unsigned int n = curve->length;

	z[n] = 0x5A;
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, mine, peer, z, n + 1) == 0 && z[n] == 0x5A);
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, peer, mine, back, n) == 0 && memcmp(z, back, n) == 0);
	CHECK(ECDH_compute_key(expected, n, EC_KEY_get0_public_key(peer_there), mine_there, NULL) == (int)n);
	CHECK(memcmp(z, expected, n) == 0);
}

static void agreement(const struct curve *curve)
{
	EC_KEY *first = EC_KEY_new_by_curve_name((int)curve->nid), *second;
	const BIGNUM *order = EC_GROUP_get0_order(EC_KEY_get0_group(first));
	BIGNUM *edge = BN_new();

	for (unsigned int i = 0; i < rounds(5) + 1; i++) {
		/* A key of ours, one of theirs with a random private number, and the two at the ends of the range. */
		ICA_EC_KEY *mine = generated(curve), *peer;
		EC_KEY *mine_there = theirs(curve, mine);
		if (i == 0)
			CHECK(BN_one(edge) == 1);
		else if (i == 1)
			CHECK(BN_sub(edge, order, BN_value_one()) == 1);
		else
			CHECK(BN_rand_range(edge, order) == 1 && !BN_is_zero(edge));
		second = of_private(curve, edge);
		peer = ours(curve, second);
		sign_both_ways(curve, mine, mine_there);
		sign_both_ways(curve, peer, second);
		derive_both_ways(curve, mine, mine_there, peer, second);
		sign_with_nonce(curve, mine, mine_there, edge);
		ica_ec_key_free(mine);
		ica_ec_key_free(peer);
		EC_KEY_free(mine_there);
		EC_KEY_free(second);
	}
	BN_free(edge);
	EC_KEY_free(first);
}

/* Coordinates that begin with zeros keep them. */
static void leading_zeros(const struct curve *curve)
{
	unsigned char x[MAX], y[MAX], q[2 * MAX];
	unsigned int n = curve->length, length;
	BIGNUM *d = BN_new();
	EC_KEY *key = NULL;
	ICA_EC_KEY *made = fresh(curve);

	do {
		EC_KEY_free(key);
		CHECK(BN_add_word(d, 1) == 1);
		key = of_private(curve, d);
		coordinates(key, n, x, y);
	} while (x[0] && y[0]);
	CHECK(ica_ec_key_init(x, y, NULL, made) == 0);
	CHECK(ica_ec_key_get_public_key(made, q, &length) == 0 && memcmp(q, x, n) == 0 && memcmp(q + n, y, n) == 0);
	ica_ec_key_free(made);
	EC_KEY_free(key);
	BN_free(d);
}

/* The buffers of one call may be one. */
static void overlaps(const struct curve *curve)
{
	unsigned char buffer[3 * MAX], hash[64], first[2 * MAX];
	unsigned int n = curve->length, length;
	ICA_EC_KEY *key = generated(curve), *copy = fresh(curve);

	fill(hash, 64);
	for (unsigned int at = 0; at <= n; at += n / 4) {
		memcpy(buffer + at, hash, 64);
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, buffer + at, 64, buffer, 2 * n) == 0);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 64, buffer, 2 * n) == 0);
	}
	memset(buffer, 0, sizeof(buffer));
	buffer[n - 1] = 7;
	CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 64, first, 2 * n, buffer) == 0);
	CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 64, buffer, 2 * n, buffer) == 0);
	CHECK(memcmp(first, buffer, 2 * n) == 0);
	/* One key for both sides. */
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, key, buffer, n) == 0);
	/* A key set from what was read of it. */
	CHECK(ica_ec_key_get_public_key(key, buffer, &length) == 0);
	CHECK(ica_ec_key_get_private_key(key, buffer + 2 * n, &length) == 0);
	CHECK(ica_ec_key_init(buffer, buffer + n, buffer + 2 * n, copy) == 0);
	CHECK(ica_ec_key_init(buffer, buffer + n, buffer + 2 * n, copy) == 0);
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, copy, buffer, n) == 0);
	ica_ec_key_free(key);
	ica_ec_key_free(copy);
}

/* Every call with `key`, which lacks what it needs, or with null pointers. Nothing is written. */
static void nothing_works(const struct curve *curve, ICA_EC_KEY *key, int can_sign, int can_verify)
{
	unsigned char hash[MAX] = { 1 }, out[2 * MAX], kept[2 * MAX];
	unsigned int n = curve->length, length = 12345;
	ICA_EC_KEY *whole = generated(curve);

	memset(out, 0x5A, sizeof(out));
	memset(kept, 0x5A, sizeof(kept));
	if (!can_sign) {
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, out, 2 * n) == EINVAL);
		CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, out, 2 * n, hash) == EINVAL);
		CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, whole, out, n) == EINVAL);
		CHECK(ica_ec_key_get_private_key(key, out, &length) == EINVAL);
		CHECK(key == NULL || length == n);
	}
	if (!can_verify) {
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, out, 2 * n) == EINVAL);
		CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, whole, key, out, n) == EINVAL);
		CHECK(ica_ec_key_get_public_key(key, out, &length) == EINVAL);
		CHECK(key == NULL || length == 2 * n);
	}
	CHECK(memcmp(out, kept, sizeof(out)) == 0);
	ica_ec_key_free(whole);
}

static void refused_keys(const struct curve *curve)
{
	unsigned char q[2 * MAX], d[MAX], bad[2 * MAX], zeros[2 * MAX] = { 0 };
	unsigned int n = curve->length, length;
	ICA_EC_KEY *whole = generated(curve), *key = fresh(curve);
	EC_KEY *there = theirs(curve, whole);
	const EC_GROUP *group = EC_KEY_get0_group(there);
	BIGNUM *order = BN_dup(EC_GROUP_get0_order(group)), *prime = BN_new();

	CHECK(ica_ec_key_get_public_key(whole, q, &length) == 0 && ica_ec_key_get_private_key(whole, d, &length) == 0);
	CHECK(EC_GROUP_get_curve(group, prime, NULL, NULL, NULL) == 1);
	nothing_works(curve, NULL, 0, 0);
	nothing_works(curve, key, 0, 0);
	CHECK(ica_ec_key_init(NULL, NULL, NULL, key) == 0);
	nothing_works(curve, key, 0, 0);
	CHECK(ica_ec_key_init(q, q + n, d, NULL) == EINVAL);
	CHECK(ica_ec_key_init(q, NULL, d, key) == EINVAL);
	CHECK(ica_ec_key_init(NULL, q, d, key) == EINVAL);
	CHECK(ica_ec_key_generate(DRIVER_NOT_LOADED, NULL) == EINVAL);
	CHECK(ica_ec_key_get_public_key(whole, NULL, &length) == EINVAL);
	CHECK(ica_ec_key_get_public_key(whole, q, NULL) == EINVAL);
	CHECK(ica_ec_key_get_private_key(whole, NULL, &length) == EINVAL);
	CHECK(ica_ec_key_get_private_key(whole, d, NULL) == EINVAL);
	/* Off the curve, at infinity, not below the prime. */
	memcpy(bad, q, 2 * n);
	bad[2 * n - 1] ^= 1;
	CHECK(ica_ec_key_init(bad, bad + n, d, key) == EINVAL);
	CHECK(ica_ec_key_init(q + n, q, d, key) == EINVAL);
	CHECK(ica_ec_key_init(zeros, zeros + n, d, key) == EINVAL);
	CHECK(BN_bn2binpad(prime, bad, (int)n) == (int)n);
	CHECK(ica_ec_key_init(bad, bad, NULL, key) == EINVAL);
	memset(bad, 0xFF, 2 * n);
	CHECK(ica_ec_key_init(bad, bad + n, NULL, key) == EINVAL);
	/* A private key of 0, the order, and more. */
	CHECK(ica_ec_key_init(NULL, NULL, zeros, key) == EINVAL);
	CHECK(ica_ec_key_init(NULL, NULL, bad, key) == EINVAL);
	CHECK(BN_bn2binpad(order, bad, (int)n) == (int)n);
	CHECK(ica_ec_key_init(NULL, NULL, bad, key) == EINVAL);
	CHECK(ica_ec_key_init(q, q + n, bad, key) == EINVAL);
	CHECK(BN_add_word(order, 1) == 1 && BN_bn2binpad(order, bad, (int)n) == (int)n);
	CHECK(ica_ec_key_init(NULL, NULL, bad, key) == EINVAL);
	/* None of all that left anything; half a key does half of the work. */
	nothing_works(curve, key, 0, 0);
	CHECK(ica_ec_key_init(q, q + n, NULL, key) == 0);
	nothing_works(curve, key, 0, 1);
	ica_ec_key_free(key);
	CHECK(ica_ec_key_init(NULL, NULL, d, key = fresh(curve)) == 0);
	nothing_works(curve, key, 1, 0);
	ica_ec_key_free(key);
	ica_ec_key_free(whole);
	EC_KEY_free(there);
	BN_free(order);
	BN_free(prime);
}

static void refused_calls(const struct curve *curve, const struct curve *other)
{
	unsigned char hash[65] = { 1 }, made[2 * MAX], bad[2 * MAX], kept[2 * MAX], k[MAX] = { 0 };
	unsigned int n = curve->length;
	ICA_EC_KEY *key = generated(curve), *foreign = generated(other);
	EC_KEY *there = theirs(curve, key);
	const BIGNUM *order = EC_GROUP_get0_order(EC_KEY_get0_group(there));

	memset(kept, 0x5A, sizeof(kept));
	memcpy(bad, kept, sizeof(bad));
	for (unsigned int length = 0; length <= 65; length++) {
		int known = length == 20 || length == 28 || length == 32 || length == 48 || length == 64;
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, length, made, 2 * n) == (known ? 0 : EINVAL));
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, length, made, 2 * n) == (known ? 0 : EINVAL));
	}
	CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, ~0u, bad, 2 * n) == EINVAL);
	CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, NULL, 32, bad, 2 * n) == EINVAL);
	CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, NULL, 2 * n) == EINVAL);
	CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n - 1) == EINVAL);
	CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, bad, 0) == EINVAL);
	/* Nonces of 0, the order, and more. */
	CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n, k) == EINVAL);
	CHECK(BN_bn2binpad(order, k, (int)n) == (int)n);
	CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n, k) == EINVAL);
	memset(k, 0xFF, n);
	CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n, k) == EINVAL);
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, key, NULL, n) == EINVAL);
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, key, bad, n - 1) == EINVAL);
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, foreign, bad, MAX) == EINVAL);
	CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, foreign, key, bad, MAX) == EINVAL);
	CHECK(memcmp(bad, kept, sizeof(bad)) == 0);
	CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n, NULL) == 0);
	CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n) == 0);
	CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, NULL, 32, made, 2 * n) == EINVAL);
	CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, NULL, 2 * n) == EINVAL);
	CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n - 1) == EINVAL);
	/* r and s of 0, of the order, and more. */
	for (unsigned int half = 0; half < 2; half++) {
		memcpy(bad, made, 2 * n);
		memset(bad + half * n, 0, n);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n) == EFAULT);
		CHECK(BN_bn2binpad(order, bad + half * n, (int)n) == (int)n);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n) == EFAULT);
		memset(bad + half * n, 0xFF, n);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, bad, 2 * n) == EFAULT);
	}
	ica_ec_key_free(key);
	ica_ec_key_free(foreign);
	EC_KEY_free(there);
}

static void unknown_curves(void)
{
	unsigned int length = 12345;

	for (unsigned int nid = 0; nid < 2000; nid++) {
		int known = 0;
		for (size_t i = 0; i < CURVES; i++)
			known |= curves[i].nid == nid;
		ICA_EC_KEY *key = ica_ec_key_new(nid, &length);
		CHECK(known == (key != NULL));
		ica_ec_key_free(key);
	}
	CHECK(ica_ec_key_new(~0u, &length) == NULL && ica_ec_key_new(NID_secp384r1, NULL) == NULL);
	ica_ec_key_free(NULL);
}

/* With fallbacks off, what only software has is not there; the rest may be served alone. */
static void without_fallbacks(void)
{
	for (size_t i = 0; i < CURVES; i++) {
		unsigned char hash[32] = { 1 }, nonce[MAX] = { 0 }, made[2 * MAX];
		unsigned int n = curves[i].length;
		int lanes = curves[i].nid == NID_X9_62_prime256v1 || curves[i].nid == NID_secp384r1 ||
			    curves[i].nid == NID_secp521r1, rc;
		ICA_EC_KEY *key = generated(&curves[i]);

		nonce[n - 1] = 1;
		ica_set_fallback_mode(0);
		rc = ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n);
		CHECK(rc == ENODEV || (lanes && rc == 0));
		/* One signature or key pair is hardware where shared secrets are in batches alone. */
		int derived = ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, key, made, n);
#ifdef __s390x__
		CHECK(derived == rc);
#else
		CHECK(derived == ENODEV || (derived == 0 && rc == 0));
#endif
		CHECK(ica_ec_key_generate(DRIVER_NOT_LOADED, key) == rc);
		CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n, nonce) == rc);
		ica_set_fallback_mode(1);
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n) == 0);
		ica_ec_key_free(key);
	}
}

static ICA_EC_KEY *shared[CURVES];

/* All threads use the same keys, and each makes keys of its own. */
static void *thread(void *argument)
{
	unsigned char hash[64], signature[2 * MAX], z[MAX], back[MAX];

	memset(hash, (int)(size_t)argument, sizeof(hash));
	for (size_t i = 0; i < rounds(2 * CURVES); i++) {
		size_t which = (i + (size_t)argument) % CURVES;
		unsigned int n = curves[which].length;
		ICA_EC_KEY *own = generated(&curves[which]);

		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, shared[which], hash, 48, signature, 2 * n) == 0);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, shared[which], hash, 48, signature, 2 * n) == 0);
		CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, own, shared[which], z, n) == 0);
		CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, shared[which], own, back, n) == 0);
		CHECK(memcmp(z, back, n) == 0);
		ica_ec_key_free(own);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t running[THREADS];

	for (size_t i = 0; i < CURVES; i++)
		shared[i] = generated(&curves[i]);
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&running[i], NULL, thread, (void *)i) == 0);
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_join(running[i], NULL) == 0);
	for (size_t i = 0; i < CURVES; i++)
		ica_ec_key_free(shared[i]);
}

/* For each curve, two keys, one shared secret, one signature of either kind, one check that passes and one that does not. */
static void count(void)
{
	for (size_t i = 0; i < CURVES; i++) {
		unsigned char hash[32] = { 1 }, nonce[MAX] = { 0 }, made[2 * MAX];
		unsigned int n = curves[i].length;
		ICA_EC_KEY *key = generated(&curves[i]), *peer = generated(&curves[i]);

		nonce[n - 1] = 1;
		CHECK(ica_ecdh_derive_secret(DRIVER_NOT_LOADED, key, peer, made, n) == 0);
		CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n) == 0);
		CHECK(ica_ecdsa_sign_ex(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n, nonce) == 0);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, key, hash, 32, made, 2 * n) == 0);
		CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, peer, hash, 32, made, 2 * n) == EFAULT);
		ica_ec_key_free(key);
		ica_ec_key_free(peer);
	}
}

int main(int arguments, char **argument)
{
	if (arguments > 1 && strcmp(argument[1], "count") == 0) {
		count();
		return 0;
	}
	unknown_curves();
	for (size_t i = 0; i < CURVES; i++) {
		agreement(&curves[i]);
		if (i < rounds(CURVES))
			leading_zeros(&curves[i]);
		overlaps(&curves[i]);
		refused_keys(&curves[i]);
		/* Another curve, of the same size where there is one. */
		refused_calls(&curves[i], &curves[(i + 6) % CURVES]);
	}
	without_fallbacks();
	threads();
	puts("good");
	return 0;
}
