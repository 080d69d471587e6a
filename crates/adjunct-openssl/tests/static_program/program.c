/* A program that has libcrypto in itself. Run as: program CONFIG; it prints what each call gives. What a default provider can do
 * must not depend on whether another one can find a shared libcrypto. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

static OSSL_LIB_CTX *ctx;

static void report(const char *what, int result)
{
	printf("%s: %s, errors %s\n", what, result ? "works" : "fails", ERR_peek_error() ? "left" : "none");
	ERR_print_errors_fp(stderr);
}

static int sign_and_verify(EVP_PKEY *key, const char *digest, int padding)
{
	unsigned char signature[1024];
	size_t length = sizeof signature;
	EVP_MD_CTX *md = EVP_MD_CTX_new(), *again = EVP_MD_CTX_new();
	EVP_PKEY_CTX *own, *other;
	int good = EVP_DigestSignInit_ex(md, &own, digest, ctx, NULL, key, NULL) == 1 &&
		   (!padding || EVP_PKEY_CTX_set_rsa_padding(own, padding) == 1) &&
		   EVP_DigestSign(md, signature, &length, (const unsigned char *)"text", 4) == 1 &&
		   EVP_DigestVerifyInit_ex(again, &other, digest, ctx, NULL, key, NULL) == 1 &&
		   (!padding || EVP_PKEY_CTX_set_rsa_padding(other, padding) == 1) &&
		   EVP_DigestVerify(again, signature, length, (const unsigned char *)"text", 4) == 1;

	EVP_MD_CTX_free(md);
	EVP_MD_CTX_free(again);
	return good;
}

static EVP_PKEY *curve(const char *name)
{
	return EVP_PKEY_Q_keygen(ctx, NULL, "EC", name);
}

static int ecdsa(const char *name)
{
	EVP_PKEY *key = curve(name);
	int good = key && sign_and_verify(key, "SHA256", 0);

	EVP_PKEY_free(key);
	return good;
}

static int ecdh(const char *name)
{
	unsigned char secret[128];
	size_t length = sizeof secret;
	EVP_PKEY *key = curve(name);
	EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new_from_pkey(ctx, key, NULL);
	int good = derive && EVP_PKEY_derive_init(derive) == 1 && EVP_PKEY_derive_set_peer(derive, key) == 1 &&
		   EVP_PKEY_derive(derive, secret, &length) == 1;

	EVP_PKEY_CTX_free(derive);
	EVP_PKEY_free(key);
	return good;
}

static int mac(const char *name, const char *parameter, const char *value)
{
	unsigned char out[64];
	size_t length;
	OSSL_PARAM params[2];

	params[0] = OSSL_PARAM_construct_utf8_string(parameter, (char *)value, 0);
	params[1] = OSSL_PARAM_construct_end();
	return EVP_Q_mac(ctx, name, NULL, NULL, params, "0123456789abcdef", 16, (const unsigned char *)"text", 4, out,
			 sizeof out, &length) != NULL;
}

static int three_primes(void)
{
	EVP_PKEY *key = NULL;
	EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, "RSA", NULL);
	int good = gen && EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_CTX_set_rsa_keygen_bits(gen, 2048) == 1 &&
		   EVP_PKEY_CTX_set_rsa_keygen_primes(gen, 3) == 1 && EVP_PKEY_generate(gen, &key) == 1 &&
		   sign_and_verify(key, "SHA256", RSA_PKCS1_PSS_PADDING);

	EVP_PKEY_CTX_free(gen);
	EVP_PKEY_free(key);
	return good;
}

static int digest(const char *name)
{
	unsigned char out[64];
	size_t length;

	return EVP_Q_digest(ctx, name, NULL, "text", 4, out, &length);
}

static int seal(const char *name)
{
	unsigned char out[64];
	int length;
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, NULL);
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int good = cipher && EVP_EncryptInit_ex2(c, cipher, (const unsigned char *)"0123456789abcdef", (const unsigned char *)"0123456789ab", NULL) == 1 &&
		   EVP_EncryptUpdate(c, out, &length, (const unsigned char *)"text", 4) == 1 &&
		   EVP_EncryptFinal_ex(c, out, &length) == 1;

	if (cipher)
		printf("cipher of %s\n", OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)));
	EVP_CIPHER_CTX_free(c);
	EVP_CIPHER_free(cipher);
	return good;
}

int main(int argc, char **argv)
{
	EVP_PKEY *rsa;

	if (argc < 2)
		return 2;
	ctx = OSSL_LIB_CTX_new();
	if (!ctx || !OSSL_LIB_CTX_load_config(ctx, argv[1])) {
		ERR_print_errors_fp(stderr);
		return 1;
	}
	printf("adjunct %s\n", OSSL_PROVIDER_available(ctx, "adjunct") ? "is there" : "is not there");
	EVP_set_default_properties(ctx, "?provider=adjunct");
	ERR_clear_error();
	report("ECDSA over P-256", ecdsa("P-256"));
	report("ECDSA over secp256k1", ecdsa("secp256k1"));
	report("ECDSA over brainpoolP256r1", ecdsa("brainpoolP256r1"));
	report("ECDH over brainpoolP384r1", ecdh("brainpoolP384r1"));
	report("HMAC over SHA2-256", mac("HMAC", OSSL_MAC_PARAM_DIGEST, "SHA256"));
	report("HMAC over RIPEMD-160", mac("HMAC", OSSL_MAC_PARAM_DIGEST, "RIPEMD160"));
	report("CMAC over Camellia", mac("CMAC", OSSL_MAC_PARAM_CIPHER, "CAMELLIA-128-CBC"));
	rsa = EVP_PKEY_Q_keygen(ctx, NULL, "RSA", (size_t)2048);
	report("RSA with SHA2-256", rsa && sign_and_verify(rsa, "SHA256", 0));
	report("RSA with RIPEMD-160", rsa && sign_and_verify(rsa, "RIPEMD160", 0));
	report("RSA with three primes", three_primes());
	EVP_PKEY_free(rsa);
	report("SHA2-256", digest("SHA256"));
	report("AES-128-GCM", seal("AES-128-GCM"));
	return 0;
}
