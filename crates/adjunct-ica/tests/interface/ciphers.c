/* Block ciphers and authenticating modes agree with OpenSSL's, in one call and in parts. */
#include "common.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#define MOST 1200

static EVP_CIPHER *fetch(const char *format, unsigned int bits)
{
	char name[40];
	EVP_CIPHER *cipher;

	snprintf(name, sizeof name, format, bits);
	cipher = EVP_CIPHER_fetch(NULL, name, NULL);
	CHECK(cipher);
	return cipher;
}

/* OpenSSL's result; `cts` is the variant of ciphertext stealing, if any. */
static void reference(EVP_CIPHER *cipher, const unsigned char *key, const unsigned char *iv, int encrypt, const char *cts,
		      const unsigned char *in, unsigned char *out, int length)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	OSSL_PARAM params[2] = {OSSL_PARAM_END, OSSL_PARAM_END};
	int done = 0, last = 0;

	if (cts)
		params[0] = OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, (char *)cts, 0);
	CHECK(EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, params));
	CHECK(EVP_CIPHER_CTX_set_padding(ctx, 0));
	CHECK(EVP_CipherUpdate(ctx, out, &done, in, length));
	CHECK(EVP_CipherFinal_ex(ctx, out + done, &last));
	CHECK(done + last == length);
	EVP_CIPHER_CTX_free(ctx);
}

/* One cipher: what differs between the three. `size` is the key's. */
struct cipher {
	unsigned int size, block;
	const char *ecb, *cbc, *cfb, *cfb8, *ofb;
};

static unsigned int which, key_size;
static unsigned char own[64];
/* Keys are const, but of a GCM stream. */
static const unsigned char *const key = own;

#define CALL(mode, ...)                                                                                                \
	(which == 0 ? ica_des_##mode(__VA_ARGS__) : ica_3des_##mode(__VA_ARGS__))
#define BOTH(mode, before, after)                                                                                      \
	(which == 2 ? ica_aes_##mode(UNPACK before, key, key_size, UNPACK after)                                       \
		    : CALL(mode, UNPACK before, key, UNPACK after))
#define UNPACK(...) __VA_ARGS__

static void modes(const struct cipher *c)
{
	EVP_CIPHER *ecb = fetch(c->ecb, c->size * 8), *cbc = fetch(c->cbc, c->size * 8), *cfb = fetch(c->cfb, c->size * 8);
	EVP_CIPHER *cfb8 = fetch(c->cfb8, c->size * 8), *ofb = fetch(c->ofb, c->size * 8);
	static const char *variants[] = {"CS1", "CS2", "CS3"};
	unsigned char in[MOST], out[MOST], good[MOST], iv[16], next[16], list[MOST + 16], big[64];
	/* OpenSSL's default provider has DES only as triple DES with the same key three times. */
	unsigned int copies = which == 0 ? 3 : 1, b = c->block, i, round;

	key_size = c->size;
	for (round = 0; round < rounds(200); round++) {
		unsigned int length = number(MOST - 16), whole = length / b * b, encrypt = round & 1, width, part;

		fill(in, sizeof in);
		fill(own, c->size);
		fill(iv, b);
		for (i = 0; i < copies; i++)
			memcpy(big + i * c->size, key, c->size);

		reference(ecb, big, NULL, encrypt, NULL, in, good, whole);
		CHECK(BOTH(ecb, (in, out, whole), (encrypt)) == 0 && !memcmp(out, good, whole));
		/* In place. */
		memcpy(out, in, whole);
		CHECK(BOTH(ecb, (out, out, whole), (encrypt)) == 0 && !memcmp(out, good, whole));

		/* The rest in two calls, which continue each other. */
		part = whole ? number(whole / b + 1) * b : 0;
		reference(cbc, big, iv, encrypt, NULL, in, good, whole);
		memcpy(next, iv, b);
		CHECK(BOTH(cbc, (in, out, part), (next, encrypt)) == 0);
		CHECK(BOTH(cbc, (in + part, out + part, whole - part), (next, encrypt)) == 0 && !memcmp(out, good, whole));

		reference(cfb, big, iv, encrypt, NULL, in, good, length);
		memcpy(next, iv, b);
		CHECK(BOTH(cfb, (in, out, part), (next, b, encrypt)) == 0);
		CHECK(BOTH(cfb, (in + part, out + part, length - part), (next, b, encrypt)) == 0);
		CHECK(!memcmp(out, good, length));
		reference(cfb8, big, iv, encrypt, NULL, in, good, length);
		memcpy(next, iv, b);
		CHECK(BOTH(cfb, (in, out, part), (next, 1, encrypt)) == 0);
		CHECK(BOTH(cfb, (in + part, out + part, length - part), (next, 1, encrypt)) == 0);
		CHECK(!memcmp(out, good, length));
		/* With feedback between the two it is its own inverse only. */
		for (i = 1; i <= b; i++) {
			memcpy(next, iv, b);
			CHECK(BOTH(cfb, (in, out, length), (next, i, 1)) == 0);
			memcpy(next, iv, b);
			CHECK(BOTH(cfb, (out, out, length), (next, i, 0)) == 0 && !memcmp(out, in, length));
		}

		reference(ofb, big, iv, encrypt, NULL, in, good, length);
		memcpy(next, iv, b);
		CHECK(BOTH(ofb, (in, out, part), (next, encrypt)) == 0);
		CHECK(BOTH(ofb, (in + part, out + part, length - part), (next, encrypt)) == 0);
		CHECK(!memcmp(out, good, length));

		/* Counters written out one by one. */
		width = 8 * (1 + number(b));
		if (round % 3 == 0)
			memset(iv + b - width / 8, 0xff, width / 8);
		memcpy(next, iv, b);
		for (i = 0; i < length; i += b) {
			unsigned int at = b;

			memcpy(list + i, next, b);
			while (at > b - width / 8 && ++next[--at] == 0)
				;
		}
		reference(ecb, big, NULL, 1, NULL, list, good, (length + b - 1) / b * b);
		for (i = 0; i < length; i++)
			good[i] ^= in[i];
		CHECK(BOTH(ctrlist, (in, out, length), (list, encrypt)) == 0 && !memcmp(out, good, length));
		memcpy(next, iv, b);
		CHECK(BOTH(ctr, (in, out, part), (next, width, encrypt)) == 0);
		CHECK(BOTH(ctr, (in + part, out + part, length - part), (next, width, encrypt)) == 0);
		CHECK(!memcmp(out, good, length));

		if (length >= b) {
			for (i = 1; i <= 3; i++) {
				memcpy(next, iv, b);
				CHECK(BOTH(cbc_cs, (in, out, length), (next, encrypt, i)) == 0);
				if (which == 2) {
					char name[32];
					EVP_CIPHER *cts;

					snprintf(name, sizeof name, "AES-%u-CBC-CTS", c->size * 8);
					cts = EVP_CIPHER_fetch(NULL, name, NULL);
					CHECK(cts);
					reference(cts, key, iv, encrypt, variants[i - 1], in, good, length);
					CHECK(!memcmp(out, good, length));
					EVP_CIPHER_free(cts);
				}
				memcpy(next, iv, b);
				CHECK(BOTH(cbc_cs, (out, out, length), (next, !encrypt, i)) == 0);
				CHECK(!memcmp(out, in, length));
			}
		}
		/* Overlapping in part: as if the input had been elsewhere. */
		if (whole > b) {
			memcpy(next, iv, b);
			CHECK(BOTH(cbc, (in, good, whole - b), (next, encrypt)) == 0);
			memcpy(out, in, whole);
			memcpy(next, iv, b);
			CHECK(BOTH(cbc, (out, out + 3, whole - b), (next, encrypt)) == 0 && !memcmp(out + 3, good, whole - b));
		}
	}
	CHECK(BOTH(ecb, (in, out, b + 1), (1)) == EINVAL && BOTH(ecb, (NULL, out, b), (1)) == EINVAL);
	CHECK(BOTH(ecb, (in, NULL, b), (1)) == EINVAL && BOTH(ecb, (in, out, b), (2)) == EINVAL);
	CHECK(BOTH(cbc, (in, out, b), (NULL, 1)) == EINVAL && BOTH(cbc, (in, out, b - 1), (iv, 1)) == EINVAL);
	CHECK(BOTH(cfb, (in, out, b), (iv, 0, 1)) == EINVAL && BOTH(cfb, (in, out, b), (iv, b + 1, 1)) == EINVAL);
	CHECK(BOTH(ctr, (in, out, b), (iv, 0, 1)) == EINVAL && BOTH(ctr, (in, out, b), (iv, 12, 1)) == EINVAL);
	CHECK(BOTH(ctr, (in, out, b), (iv, 8 * b + 8, 1)) == EINVAL);
	CHECK(BOTH(cbc_cs, (in, out, b - 1), (iv, 1, 1)) == EINVAL && BOTH(cbc_cs, (in, out, b), (iv, 1, 4)) == EINVAL);
	CHECK(BOTH(ecb, (in, out, ~0ul - b + 1), (1)) == EINVAL);
	EVP_CIPHER_free(ecb);
	EVP_CIPHER_free(cbc);
	EVP_CIPHER_free(cfb);
	EVP_CIPHER_free(cfb8);
	EVP_CIPHER_free(ofb);
}

static void cmac(const struct cipher *c)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "CMAC", NULL);
	unsigned char message[MOST], good[16], out[16], chain[16], big[64];
	unsigned int copies = which == 0 ? 3 : 1, b = c->block, i, round;
	char name[40];

	key_size = c->size;
	snprintf(name, sizeof name, c->cbc, c->size * 8);
	for (round = 0; round < rounds(200); round++) {
		OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("cipher", name, 0), OSSL_PARAM_END};
		unsigned int length = number(MOST), part = number(length / b + 1) * b, short_mac = 1 + number(b);
		EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
		size_t done;

		fill(message, length);
		fill(own, c->size);
		for (i = 0; i < copies; i++)
			memcpy(big + i * c->size, key, c->size);
		CHECK(EVP_MAC_init(ctx, big, c->size * copies, params) && EVP_MAC_update(ctx, message, length));
		CHECK(EVP_MAC_final(ctx, good, &done, sizeof good) && done == b);
		EVP_MAC_CTX_free(ctx);

		memset(out, 0xee, sizeof out);
		CHECK(BOTH(cmac, (message, length, out, short_mac), (1)) == 0 && !memcmp(out, good, short_mac));
		CHECK(short_mac == 16 || out[short_mac] == 0xee);
		CHECK(BOTH(cmac, (message, length, good, short_mac), (0)) == 0);
		memset(chain, 0, b);
		if (part && part < length) {
			CHECK(BOTH(cmac_intermediate, (message, part), (chain)) == 0);
			CHECK(BOTH(cmac_last, (message + part, length - part, out, b), (chain, 1)) == 0);
			CHECK(!memcmp(out, good, b));
		}
		CHECK(BOTH(cmac_last, (message, length, out, b), (NULL, 1)) == 0 && !memcmp(out, good, b));
		good[number(short_mac)] ^= 1 << number(8);
		CHECK(BOTH(cmac, (message, length, good, short_mac), (0)) == EFAULT);
	}
	CHECK(BOTH(cmac, (message, 1, out, 0), (1)) == EINVAL && BOTH(cmac, (message, 1, out, b + 1), (1)) == EINVAL);
	CHECK(BOTH(cmac, (NULL, 1, out, b), (1)) == EINVAL && BOTH(cmac, (message, 1, NULL, b), (1)) == EINVAL);
	CHECK(BOTH(cmac_intermediate, (message, b + 1), (chain)) == EINVAL);
	CHECK(BOTH(cmac_intermediate, (message, b), (NULL)) == EINVAL);
	EVP_MAC_free(mac);
}

static void xts(unsigned int size)
{
	EVP_CIPHER *cipher = fetch("AES-%u-XTS", size * 8);
	unsigned char in[MOST], out[MOST], good[MOST], tweak[16], iv[16];
	unsigned int round;

	for (round = 0; round < rounds(300); round++) {
		unsigned int length = 16 + number(MOST - 16), encrypt = round & 1, part = 16 * (1 + number(length / 16));

		fill(in, length);
		fill(own, 2 * size);
		fill(tweak, 16);
		reference(cipher, key, tweak, encrypt, NULL, in, good, length);
		CHECK(ica_aes_xts(in, out, length, key, key + size, size, tweak, encrypt) == 0 && !memcmp(out, good, length));
		memcpy(out, in, length);
		CHECK(ica_aes_xts(out, out, length, key, key + size, size, tweak, encrypt) == 0 && !memcmp(out, good, length));
		CHECK(ica_aes_xts_ex(in, out, length, key, key + size, size, tweak, NULL, encrypt) == 0);
		CHECK(!memcmp(out, good, length));
		if (part + 16 <= length) {
			memset(out, 0, length);
			CHECK(ica_aes_xts_ex(in, out, part, key, key + size, size, tweak, iv, encrypt) == 0);
			CHECK(ica_aes_xts_ex(in + part, out + part, length - part, key, key + size, size, NULL, iv, encrypt) == 0);
			CHECK(!memcmp(out, good, length));
		}
	}
	CHECK(ica_aes_xts(in, out, 15, key, key + size, size, tweak, 1) == EINVAL);
	CHECK(ica_aes_xts(in, out, 16, key, key + size, 24, tweak, 1) == EINVAL);
	CHECK(ica_aes_xts(in, out, 16, key, NULL, size, tweak, 1) == EINVAL);
	CHECK(ica_aes_xts_ex(in, out, 16, key, key + size, size, NULL, NULL, 1) == EINVAL);
	EVP_CIPHER_free(cipher);
}

static void sealed(EVP_CIPHER *cipher, int ccm, const unsigned char *iv, int iv_length, const unsigned char *aad, int aad_length,
		   const unsigned char *in, unsigned char *out, int length, unsigned char *tag, int tag_length)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int done = 0;

	CHECK(EVP_EncryptInit_ex(ctx, cipher, NULL, NULL, NULL));
	CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, iv_length, NULL));
	if (ccm)
		CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, tag_length, NULL));
	CHECK(EVP_EncryptInit_ex(ctx, NULL, NULL, key, iv));
	if (ccm)
		CHECK(EVP_EncryptUpdate(ctx, NULL, &done, NULL, length));
	if (aad_length)
		CHECK(EVP_EncryptUpdate(ctx, NULL, &done, aad, aad_length));
	if (length || ccm)
		CHECK(EVP_EncryptUpdate(ctx, out, &done, in, length));
	CHECK(EVP_EncryptFinal_ex(ctx, out + length, &done));
	CHECK(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, tag_length, tag));
	EVP_CIPHER_CTX_free(ctx);
}

static void ccm(unsigned int size)
{
	EVP_CIPHER *cipher = fetch("AES-%u-CCM", size * 8);
	unsigned char in[MOST], out[MOST + 16], good[MOST + 16], back[MOST], aad[100], nonce[13];
	unsigned int round;

	for (round = 0; round < rounds(200); round++) {
		unsigned int length = number(MOST), aads = number(100) + 1, nonces = 7 + number(7), macs = 4 + 2 * number(7);

		fill(in, length);
		fill(own, size);
		fill(aad, aads);
		fill(nonce, nonces);
		sealed(cipher, 1, nonce, nonces, aad, aads, in, good, length, good + length, macs);
		CHECK(ica_aes_ccm(in, length, out, macs, aad, aads, nonce, nonces, key, size, 1) == 0);
		CHECK(!memcmp(out, good, length + macs));
		CHECK(ica_aes_ccm(back, length, out, macs, aad, aads, nonce, nonces, key, size, 0) == 0);
		CHECK(!memcmp(back, in, length));
		out[number(length + macs)] ^= 1 << number(8);
		CHECK(ica_aes_ccm(back, length, out, macs, aad, aads, nonce, nonces, key, size, 0) == EFAULT);
		CHECK(length < 16 || memcmp(back, in, length));
	}
	CHECK(ica_aes_ccm(in, 0, out, 16, aad, 0, nonce, 12, key, size, 1) == EINVAL);
	CHECK(ica_aes_ccm(in, 1, out, 5, aad, 0, nonce, 12, key, size, 1) == EINVAL);
	CHECK(ica_aes_ccm(in, 1, out, 16, aad, 0, nonce, 6, key, size, 1) == EINVAL);
	CHECK(ica_aes_ccm(in, 70000, out, 16, aad, 0, nonce, 13, key, size, 1) == EINVAL);
	EVP_CIPHER_free(cipher);
}

static void gcm(unsigned int size)
{
	static const unsigned int tags[] = {4, 8, 12, 13, 14, 15, 16};
	EVP_CIPHER *cipher = fetch("AES-%u-GCM", size * 8);
	unsigned char in[MOST], out[MOST], good[MOST], back[MOST], aad[200], iv[40], tag[16], made[16];
	unsigned char icb[16], ucb[16], subkey[16];
	kma_ctx *ctx = ica_aes_gcm_kma_ctx_new();
	unsigned int round, got;

	CHECK(ctx);
	for (round = 0; round < rounds(300); round++) {
		unsigned int length = number(MOST), aads = number(200), ivs = round % 2 ? 12 : 1 + number(40);
		unsigned int part = number(length / 16 + 1) * 16, aad_part = number(aads / 16 + 1) * 16;

		fill(in, length);
		fill(own, size);
		fill(aad, aads);
		fill(iv, ivs);
		sealed(cipher, 0, iv, ivs, aad, aads, in, good, length, tag, 16);
		CHECK(ica_aes_gcm(in, length, out, iv, ivs, aad, aads, made, tags[round % 7], key, size, 1) == 0);
		CHECK(!memcmp(out, good, length) && !memcmp(made, tag, tags[round % 7]));
		CHECK(ica_aes_gcm(back, length, good, iv, ivs, aad, aads, made, tags[round % 7], key, size, 0) == 0);
		CHECK(!memcmp(back, in, length));
		made[number(tags[round % 7])] ^= 1;
		CHECK(ica_aes_gcm(back, length, good, iv, ivs, aad, aads, made, tags[round % 7], key, size, 0) == EFAULT);
		CHECK(length < 16 || memcmp(back, in, length));

		/* As a stream. */
		CHECK(ica_aes_gcm_initialize(iv, ivs, own, size, icb, ucb, subkey, 1) == 0);
		memset(made, 0, 16);
		CHECK(ica_aes_gcm_intermediate(NULL, 0, NULL, ucb, aad, aad_part, made, 16, own, size, subkey, 1) == 0);
		CHECK(ica_aes_gcm_intermediate(in, part, out, ucb, aad + aad_part, aads - aad_part, made, 16, own, size, subkey, 1) == 0);
		CHECK(ica_aes_gcm_intermediate(in + part, length - part, out + part, ucb, NULL, 0, made, 16, own, size, subkey, 1) == 0);
		CHECK(ica_aes_gcm_last(icb, aads, length, made, NULL, 0, own, size, subkey, 1) == 0);
		CHECK(!memcmp(out, good, length) && !memcmp(made, tag, 16));
		CHECK(ica_aes_gcm_initialize(iv, ivs, own, size, icb, ucb, subkey, 0) == 0);
		memset(made, 0, 16);
		CHECK(ica_aes_gcm_intermediate(back, length, good, ucb, aad, aads, made, 16, own, size, subkey, 0) == 0);
		CHECK(ica_aes_gcm_last(icb, aads, length, made, tag, tags[round % 7], own, size, subkey, 0) == 0);
		CHECK(!memcmp(back, in, length));
		/* What the tag should have been is not to be found. */
		memset(made, 0, 16);
		tag[0] ^= 1;
		CHECK(ica_aes_gcm_intermediate(back, length, good, ucb, aad, aads, made, 16, own, size, subkey, 0) == 0);
		memcpy(back, made, 16);
		CHECK(ica_aes_gcm_last(icb, aads, length, made, tag, tags[round % 7], own, size, subkey, 0) == EFAULT);
		CHECK(!memcmp(back, made, 16));
		tag[0] ^= 1;

		/* It is the subkey given that hashes: under another key the same text, and the same hash, come of it. */
		memset(made, 0, 16);
		CHECK(ica_aes_gcm_intermediate(NULL, 0, NULL, ucb, good, length, made, 16, own, size, subkey, 1) == 0);
		fill(out, size);
		memset(back, 0, 16);
		CHECK(ica_aes_gcm_intermediate(NULL, 0, NULL, ucb, good, length, back, 16, out, size, subkey, 1) == 0);
		CHECK(!memcmp(made, back, 16));

		/* By a context. */
		CHECK(ica_aes_gcm_kma_init(1, iv, ivs, key, size, ctx) == 0);
		CHECK(ica_aes_gcm_kma_update(NULL, NULL, 0, aad, aad_part, 0, 0, ctx) == 0);
		CHECK(ica_aes_gcm_kma_update(in, out, part, aad + aad_part, aads - aad_part, 1, 0, ctx) == 0);
		CHECK(ica_aes_gcm_kma_update(in + part, out + part, length - part, NULL, 0, 1, 1, ctx) == 0);
		CHECK(ica_aes_gcm_kma_get_tag(made, 16, ctx) == 0 && !memcmp(made, tag, 16) && !memcmp(out, good, length));
		CHECK(ica_aes_gcm_kma_update(in, out, 16, NULL, 0, 1, 1, ctx) == EINVAL);
		CHECK(ica_aes_gcm_kma_init(0, iv, ivs, key, size, ctx) == 0);
		CHECK(ica_aes_gcm_kma_update(good, back, length, aad, aads, 1, 1, ctx) == 0 && !memcmp(back, in, length));
		CHECK(ica_aes_gcm_kma_verify_tag(tag, tags[round % 7], ctx) == 0);
		tag[0] ^= 1;
		CHECK(ica_aes_gcm_kma_verify_tag(tag, tags[round % 7], ctx) == EFAULT);
		CHECK(ica_aes_gcm_kma_get_tag(made, 16, ctx) == EFAULT);

		/* With a vector of the library's. */
		CHECK(ica_aes_gcm_kma_init_fips(1, 12, key, size, ctx) == 0);
		got = 0;
		CHECK(ica_aes_gcm_kma_get_iv(ctx, NULL, &got) == 0 && got == 12);
		got = 11;
		CHECK(ica_aes_gcm_kma_get_iv(ctx, iv, &got) == ENOMEM && got == 12);
		CHECK(ica_aes_gcm_kma_get_iv(ctx, iv, &got) == 0);
		CHECK(ica_aes_gcm_kma_update(in, out, length, aad, aads, 1, 1, ctx) == 0);
		CHECK(ica_aes_gcm_kma_get_tag(made, 16, ctx) == 0);
		CHECK(ica_aes_gcm(back, length, out, iv, 12, aad, aads, made, 16, key, size, 0) == 0 && !memcmp(back, in, length));
	}
	CHECK(ica_aes_gcm(in, 16, out, iv, 0, NULL, 0, tag, 16, key, size, 1) == EINVAL);
	CHECK(ica_aes_gcm(in, 16, out, iv, 12, NULL, 0, tag, 11, key, size, 1) == EINVAL);
	CHECK(ica_aes_gcm(NULL, 16, out, iv, 12, NULL, 0, tag, 16, key, size, 1) == EINVAL);
	CHECK(ica_aes_gcm(in, 16, out, iv, 12, NULL, 0, tag, 16, key, 17, 1) == EINVAL);
	CHECK(ica_aes_gcm_kma_update(in, out, 16, NULL, 0, 1, 1, NULL) == EINVAL);
	CHECK(ica_aes_gcm_kma_init_fips(1, 260, key, size, ctx) == 0);
	CHECK(ica_aes_gcm_kma_init_fips(1, 261, key, size, ctx) == EINVAL);
	CHECK(ica_aes_gcm_kma_init_fips(1, 11, key, size, ctx) == EINVAL);
	CHECK(ica_aes_gcm_initialize_fips(iv, 11, own, size, icb, ucb, subkey, 1) == EINVAL);
	ica_aes_gcm_kma_ctx_free(ctx);
	ica_aes_gcm_kma_ctx_free(NULL);
	EVP_CIPHER_free(cipher);
}

int main(void)
{
	static const struct cipher ciphers[] = {
		{8, 8, "DES-EDE3-ECB", "DES-EDE3-CBC", "DES-EDE3-CFB", "DES-EDE3-CFB8", "DES-EDE3-OFB"},
		{24, 8, "DES-EDE3-ECB", "DES-EDE3-CBC", "DES-EDE3-CFB", "DES-EDE3-CFB8", "DES-EDE3-OFB"},
		{16, 16, "AES-%u-ECB", "AES-%u-CBC", "AES-%u-CFB", "AES-%u-CFB8", "AES-%u-OFB"},
		{24, 16, "AES-%u-ECB", "AES-%u-CBC", "AES-%u-CFB", "AES-%u-CFB8", "AES-%u-OFB"},
		{32, 16, "AES-%u-ECB", "AES-%u-CBC", "AES-%u-CFB", "AES-%u-CFB8", "AES-%u-OFB"},
	};
	unsigned int i, size;

	for (i = 0; i < 5; i++) {
		which = i < 2 ? i : 2;
		modes(&ciphers[i]);
		cmac(&ciphers[i]);
	}
	for (size = 16; size <= 32; size += 8) {
		if (size != 24)
			xts(size);
		ccm(size);
		gcm(size);
	}
	puts("good");
	return 0;
}
