/*
 * What is not there: parts of keys, and memory. OpenSSL's own functions read some parts without looking; the engine's give an
 * error, and where OpenSSL gives one, the same.
 *
 *     program MODULE keys|memory
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/objects.h>
#include <openssl/rsa.h>
#include <errno.h>

#include "common.h"

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

/* How many allocations are still granted; none is refused below zero. And whether those after the first that is refused are again. */
static long granted = -1;
static int once;

static int refused(void)
{
    return granted >= 0 && granted-- == 0 ? (granted = once ? -1 : 0, 1) : 0;
}

void *malloc(size_t n) { return refused() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t each) { return refused() ? NULL : __libc_calloc(n, each); }
void *realloc(void *p, size_t n) { return refused() ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t align, size_t n) { return refused() ? NULL : __libc_memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n)
{
    return !refused() && (*out = __libc_memalign(align, n)) != NULL ? 0 : ENOMEM;
}

typedef int operation(int, const unsigned char *, unsigned char *, RSA *, int);

static operation *const operations[] = { RSA_public_encrypt, RSA_public_decrypt, RSA_private_encrypt, RSA_private_decrypt };
static const int paddings[] = { RSA_PKCS1_PADDING, RSA_NO_PADDING, RSA_PKCS1_OAEP_PADDING, 99 };

static void rsa_errors(RSA *rsa, const char *name, int first, int last)
{
    unsigned char data[256] = { 0, 1 }, out[512];
    for (int o = first; o <= last; o++)
        for (size_t p = 0; p < sizeof paddings / sizeof *paddings; p++)
            for (int length = 0; length <= 256; length += 256) {
                ERR_clear_error();
                CHECK(operations[o](length, data, out, rsa, paddings[p]) == -1, "%s, operation %d", name, o);
                CHECK(ERR_peek_error() != 0, "%s, operation %d", name, o);
            }
    ERR_clear_error();
}

static RSA *generated(void)
{
    static RSA *rsa;
    if (rsa == NULL) {
        BIGNUM *e = BN_new();
        rsa = RSA_new();
        BN_set_word(e, 65537);
        CHECK(RSA_generate_key_ex(rsa, 1024, e, NULL) == 1);
        BN_free(e);
    }
    return rsa;
}

static RSA *ours(int parts)
{
    const BIGNUM *n, *e, *d, *p, *q, *dp, *dq, *qi;
    RSA_get0_key(generated(), &n, &e, &d);
    RSA_get0_factors(generated(), &p, &q);
    RSA_get0_crt_params(generated(), &dp, &dq, &qi);
    RSA *rsa = RSA_new_method(engine);
    CHECK(rsa != NULL);
    if (parts & 1)
        RSA_set0_key(rsa, BN_dup(n), BN_dup(e), parts & 2 ? BN_dup(d) : NULL);
    if (parts & 4)
        RSA_set0_factors(rsa, BN_dup(p), BN_dup(q));
    if (parts & 8)
        RSA_set0_crt_params(rsa, BN_dup(dp), BN_dup(dq), BN_dup(qi));
    return rsa;
}

static void keys(void)
{
    unsigned char data[128] = { 0, 1 }, out[512], other[512];
    static const int without_modulus[] = { 0, 4, 8, 12 }, whole[] = { 3, 7, 15 };
    for (size_t i = 0; i < 4; i++) {
        RSA *rsa = ours(without_modulus[i]);
        rsa_errors(rsa, "no modulus", 0, 3);
        RSA_free(rsa);
    }
    RSA *public = ours(1);
    rsa_errors(public, "no private exponent", 2, 3);
    RSA_free(public);
    for (size_t i = 0; i < 3; i++) {
        RSA *rsa = ours(whole[i]);
        CHECK(RSA_private_encrypt(128, data, out, rsa, RSA_NO_PADDING) == 128);
        CHECK(RSA_private_encrypt(128, data, other, generated(), RSA_NO_PADDING) == 128);
        CHECK(memcmp(out, other, 128) == 0);
        RSA *copy = RSAPublicKey_dup(rsa);
        CHECK(RSA_public_decrypt(128, out, other, copy, RSA_NO_PADDING) == 128 && memcmp(other, data, 128) == 0);
        RSA_free(copy);
        RSA_free(rsa);
    }
    EC_KEY *ec = EC_KEY_new_method(engine);
    unsigned char der[] = { 0x30, 6, 2, 1, 1, 2, 1, 1 };
    unsigned int length = sizeof out;
    ECDSA_SIG *signature = ECDSA_SIG_new();
    ECDSA_SIG_set0(signature, BN_new(), BN_new());
    for (int curve = 0; curve < 2; curve++) {
        if (curve == 1) {
            EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
            CHECK(EC_KEY_set_group(ec, group) == 1);
            EC_GROUP_free(group);
        }
        EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
        CHECK(ECDSA_sign(0, data, 32, out, &length, ec) == 0 && ERR_get_error() != 0);
        CHECK(ECDSA_do_sign(data, 32, ec) == NULL);
        CHECK(ECDSA_verify(0, data, 32, der, sizeof der, ec) == -1);
        CHECK(ECDSA_verify(0, data, 32, der, 0, ec) == -1);
        CHECK(ECDSA_do_verify(data, 32, signature, ec) == -1);
        CHECK(ECDSA_do_verify(data, 32, NULL, ec) == -1);
        CHECK(ECDH_compute_key(out, 32, EC_GROUP_get0_generator(group), ec, NULL) <= 0);
        CHECK(ECDH_compute_key(out, 32, NULL, ec, NULL) <= 0);
        if (curve == 0)
            CHECK(EC_KEY_generate_key(ec) == 0);
        EC_GROUP_free(group);
    }
    CHECK(EC_KEY_generate_key(ec) == 1);
    CHECK(ECDSA_do_verify(data, 32, NULL, ec) == -1);
    ECDSA_SIG_free(signature);
    EC_KEY_free(ec);
}

static unsigned char data[128] = { 0, 1 }, signature[512], cipher[512], plain[512];
static unsigned int signed_length;
static int cipher_length;
static RSA *rsa;
static EC_KEY *ec;

static int sign(void) { return RSA_sign(NID_sha256, data, 32, signature, &signed_length, rsa); }
static int verify(void) { return RSA_verify(NID_sha256, data, 32, signature, signed_length, rsa); }
static int encrypt(void) { return (cipher_length = RSA_public_encrypt(16, data, cipher, rsa, RSA_PKCS1_OAEP_PADDING)) == 128; }
static int decrypt(void)
{
    return RSA_private_decrypt(128, cipher, plain, rsa, RSA_PKCS1_OAEP_PADDING) == 16 && memcmp(plain, data, 16) == 0;
}
static int generate(void) { return EC_KEY_generate_key(ec); }
static int ecdsa_sign(void) { return ECDSA_sign(0, data, 32, signature, &signed_length, ec); }
static int ecdsa_verify(void) { return ECDSA_verify(0, data, 32, signature, (int)signed_length, ec); }
static int ecdsa_do_sign(void)
{
    ECDSA_SIG *made = ECDSA_do_sign(data, 32, ec);
    int good = made != NULL;
    ECDSA_SIG_free(made);
    return good;
}
static int agree(void) { return ECDH_compute_key(plain, 32, EC_KEY_get0_public_key(ec), ec, NULL) == 32; }

/* Each operation with ever more memory, until it has enough, and then with one allocation refused, the first, the second and so on:
 * it fails or is right, and a further one is right. */
static void memory(void)
{
    static int (*const uses[])(void) = { sign, verify, encrypt, decrypt, generate, ecdsa_sign, ecdsa_verify, ecdsa_do_sign, agree };
    RSA_set_method(generated(), RSA_PKCS1_OpenSSL());
    ec = EC_KEY_new_method(engine);
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    CHECK(EC_KEY_set_group(ec, group) == 1);
    EC_GROUP_free(group);
    for (size_t u = 0; u < 2 * sizeof uses / sizeof *uses; u++) {
        int (*const use)(void) = uses[u / 2];
        int failed = 0, enough = 0;
        for (long grant = 0; !enough && grant < 2000; grant++) {
            /* What a key makes ready is made again. */
            RSA_free(rsa);
            rsa = ours(15);
            once = u % 2;
            granted = grant;
            int good = use();
            enough = granted > 0;
            granted = -1;
            failed += good != 1;
            ERR_clear_error();
            CHECK(use() == 1, "use %zu after %ld allocations", u / 2, grant);
        }
        CHECK(enough, "use %zu", u / 2);
        printf("use %zu failed %d times%s\n", u / 2, failed, u % 2 ? " with one allocation refused" : "");
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3, "usage: program MODULE keys|memory");
    engine = load(argv[1]);
    strcmp(argv[2], "keys") == 0 ? keys() : memory();
    puts("good");
    return 0;
}
