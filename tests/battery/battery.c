/*
 * What OpenSSL's interface answers for RSA and EC keys of every origin: a line for each call, with its return value and the
 * errors it left. Two runs under two configurations are compared line by line, so nothing random is printed.
 *
 *     battery FOLDER        with rsa.pem, rsa-pub.pem, ec.pem, ec-pub.pem, other.pem (another RSA key), request.pem, brain.pem
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder, *form;

static void *must(void *made)
{
    if (made == NULL) {
        ERR_print_errors_fp(stdout);
        puts("the battery cannot be set up");
        exit(1);
    }
    return made;
}

/* The line of a call; library and reason of each error, oldest first. */
static void line(const char *what, const char *more, long result)
{
    printf("%s: %s%s%s = %ld", form, what, more[0] ? " " : "", more, result);
    unsigned long error;
    while ((error = ERR_get_error()) != 0)
        printf(" [%d:%d]", ERR_GET_LIB(error), ERR_GET_REASON(error));
    puts("");
}

#define CALL(call) line(#call, "", (long)(call))
#define GOT(call) line(#call, "", (call) != NULL)

/* Every byte adds to a sum that is printed. */
static long sum(const unsigned char *data, size_t length)
{
    unsigned long sum = length;
    for (size_t i = 0; i < length; i++)
        sum = (sum * 31 + data[i]) & 0xffffff;
    return (long)sum;
}

static void sum_of(const char *what, const char *more, int result, unsigned char *data)
{
    line(what, more, result);
    if (result > 0 && data != NULL)
        line(what, "data", sum(data, (size_t)result));
    OPENSSL_free(data);
}

static BIO *file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return must(BIO_new_file(path, "r"));
}

static EVP_PKEY *private_key(const char *name)
{
    BIO *in = file(name);
    EVP_PKEY *key = must(PEM_read_bio_PrivateKey(in, NULL, NULL, NULL));
    BIO_free(in);
    return key;
}

static EVP_PKEY *public_key(const char *name)
{
    BIO *in = file(name);
    EVP_PKEY *key = must(PEM_read_bio_PUBKEY(in, NULL, NULL, NULL));
    BIO_free(in);
    return key;
}

static void check(EVP_PKEY *key)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    GOT(ctx);
    CALL(EVP_PKEY_check(ctx));
    CALL(EVP_PKEY_public_check(ctx));
    CALL(EVP_PKEY_public_check_quick(ctx));
    CALL(EVP_PKEY_param_check(ctx));
    CALL(EVP_PKEY_param_check_quick(ctx));
    CALL(EVP_PKEY_private_check(ctx));
    CALL(EVP_PKEY_pairwise_check(ctx));
    EVP_PKEY_CTX_free(ctx);
}

static void export_all(EVP_PKEY *key)
{
    static const int selections[] = { EVP_PKEY_KEYPAIR, EVP_PKEY_PUBLIC_KEY, EVP_PKEY_KEY_PARAMETERS };
    for (size_t i = 0; i < 3; i++) {
        OSSL_PARAM *params = NULL;
        int done = EVP_PKEY_todata(key, selections[i], &params), count = 0;
        for (OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++)
            count++;
        line("EVP_PKEY_todata", "", done * 100 + count);
        OSSL_PARAM_free(params);
    }
    unsigned char *der = NULL;
    int length = i2d_PUBKEY(key, &der);
    sum_of("i2d_PUBKEY", "", length, der);
    der = NULL;
    length = i2d_PrivateKey(key, &der);
    sum_of("i2d_PrivateKey", "", length, der);
    BIGNUM *n = NULL;
    CALL(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n));
    BN_free(n);
    n = NULL;
    CALL(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &n));
    BN_free(n);
    char name[80];
    CALL(EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, NULL));
    CALL(EVP_PKEY_set_utf8_string_param(key, OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed"));
    CALL(EVP_PKEY_get_bits(key));
    CALL(EVP_PKEY_get_size(key));
    CALL(EVP_PKEY_get_id(key));
    CALL(EVP_PKEY_get_security_bits(key));
    CALL(EVP_PKEY_missing_parameters(key));
    GOT(EVP_PKEY_get0_provider(key));
    GOT(EVP_PKEY_get0_type_name(key));
    int nid = 0;
    line("EVP_PKEY_get_default_digest_nid", "", EVP_PKEY_get_default_digest_nid(key, &nid) * 10000 + nid);
}

static const char *const paddings[] = { "none", "pkcs1", "oaep", "oeap", "x931", "pss", "tls", "nonsense" };
static const int numbers[] = { 1, 3, 4, 5, 6, 7, 8, 99 };

/* Parameters by control, by string and by array; encryption goes on after each, whatever came of it. */
static void settings(EVP_PKEY *key)
{
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
        line("EVP_PKEY_encrypt_init", paddings[i], EVP_PKEY_encrypt_init(ctx));
        OSSL_PARAM by_name[] = { OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_PAD_MODE, (char *)paddings[i], 0),
                                 OSSL_PARAM_construct_end() };
        CALL(EVP_PKEY_CTX_set_params(ctx, by_name));
        CALL(EVP_PKEY_CTX_ctrl_str(ctx, "rsa_padding_mode", paddings[i]));
        CALL(EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, "SHA256", NULL));
        CALL(EVP_PKEY_CTX_set_rsa_oaep_md(ctx, EVP_sha512()));
        CALL(EVP_PKEY_CTX_set_rsa_mgf1_md_name(ctx, "SHA1", NULL));
        CALL(EVP_PKEY_CTX_set0_rsa_oaep_label(ctx, OPENSSL_strdup("label"), 5));
        char name[80] = "";
        CALL(EVP_PKEY_CTX_get_rsa_oaep_md_name(ctx, name, sizeof name));
        GOT(EVP_PKEY_CTX_settable_params(ctx));
        unsigned char in[256] = { 0, 2, 1 }, out[1024];
        size_t length = sizeof out;
        CALL(EVP_PKEY_encrypt(ctx, out, &length, in, 32));
        EVP_PKEY_CTX *copy = EVP_PKEY_CTX_dup(ctx);
        GOT(copy);
        EVP_PKEY_CTX_free(copy);
        EVP_PKEY_CTX_free(ctx);
    }
}

static void encryption(EVP_PKEY *key, EVP_PKEY *with)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned char in[256] = { 0, 2, 1 }, out[1024], back[1024];
        size_t full = numbers[i] == RSA_NO_PADDING ? (size_t)EVP_PKEY_get_size(with) : 32, length = sizeof out;
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(with, NULL);
        CALL(EVP_PKEY_encrypt_init(ctx));
        line("EVP_PKEY_CTX_set_rsa_padding encrypt", "", EVP_PKEY_CTX_set_rsa_padding(ctx, numbers[i]) * 100 + numbers[i]);
        memset(in + 1, 7, sizeof in - 1);
        int made = EVP_PKEY_encrypt(ctx, out, &length, in, full > sizeof in ? sizeof in : full);
        line("EVP_PKEY_encrypt", "", made);
        size_t size = sizeof back;
        line("EVP_PKEY_encrypt", "too long", EVP_PKEY_encrypt(ctx, back, &size, in, sizeof in));
        EVP_PKEY_CTX_free(ctx);
        ctx = EVP_PKEY_CTX_new(key, NULL);
        CALL(EVP_PKEY_decrypt_init(ctx));
        CALL(EVP_PKEY_CTX_set_rsa_padding(ctx, numbers[i]));
        /* What was encrypted for another key may be above this one's modulus, by chance. */
        if (made > 0 && strcmp(form, "RSA, another's") != 0) {
            size_t got = sizeof back;
            int done = EVP_PKEY_decrypt(ctx, back, &got, out, length);
            line("EVP_PKEY_decrypt", "", done);
            if (done > 0 && key != with)
                line("EVP_PKEY_decrypt", "data", sum(back, got));
            got = sizeof back;
            line("EVP_PKEY_decrypt", "short", EVP_PKEY_decrypt(ctx, back, &got, out, length - 1));
            out[length / 2] ^= 1;
            got = sizeof back;
            /* Without implicit rejection the odds of a right padding are small, with it every message has one. */
            if (numbers[i] == RSA_PKCS1_OAEP_PADDING)
                line("EVP_PKEY_decrypt", "changed", EVP_PKEY_decrypt(ctx, back, &got, out, length));
        }
        EVP_PKEY_CTX_free(ctx);
    }
}

static void verdict(const char *what, int result, int random)
{
    if (random)
        ERR_clear_error();
    line("EVP_PKEY_verify", what, result);
}

static void signatures(EVP_PKEY *key, EVP_PKEY *with)
{
    static const char *const digests[] = { "SHA1", "SHA256", "SHA3-256", "MD5", NULL };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (size_t d = 0; d < sizeof digests / sizeof *digests; d++) {
            unsigned char in[64] = { 1, 2, 3 }, out[1024], back[1024];
            size_t length = sizeof out, size = sizeof back;
            size_t full = digests[d] == NULL ? 36 : (size_t)EVP_MD_get_size(EVP_get_digestbyname(digests[d]));
            EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
            line("EVP_PKEY_sign_init", digests[d] ? digests[d] : "no digest", EVP_PKEY_sign_init(ctx) * 100 + numbers[i]);
            CALL(EVP_PKEY_CTX_set_rsa_padding(ctx, numbers[i]));
            if (digests[d] != NULL)
                CALL(EVP_PKEY_CTX_set_signature_md(ctx, EVP_get_digestbyname(digests[d])));
            CALL(EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST));
            int made = EVP_PKEY_sign(ctx, out, &length, in, full);
            line("EVP_PKEY_sign", "", made);
            if (made > 0 && EVP_PKEY_get_id(key) == EVP_PKEY_RSA && numbers[i] == RSA_PKCS1_PADDING)
                line("EVP_PKEY_sign", "data", sum(out, length));
            line("EVP_PKEY_sign", "short", EVP_PKEY_sign(ctx, back, &size, in, full - 1));
            EVP_PKEY_CTX_free(ctx);
            ctx = EVP_PKEY_CTX_new(with, NULL);
            CALL(EVP_PKEY_verify_init(ctx));
            CALL(EVP_PKEY_CTX_set_rsa_padding(ctx, numbers[i]));
            if (digests[d] != NULL)
                CALL(EVP_PKEY_CTX_set_signature_md(ctx, EVP_get_digestbyname(digests[d])));
            if (made > 0) {
                /* By which check a wrong PSS signature is found depends on its salt. */
                int random = numbers[i] == RSA_PKCS1_PSS_PADDING;
                verdict("", EVP_PKEY_verify(ctx, out, length, in, full), random);
                in[0] ^= 1;
                verdict("changed", EVP_PKEY_verify(ctx, out, length, in, full), random);
                in[0] ^= 1;
                verdict("short", EVP_PKEY_verify(ctx, out, length - 1, in, full), random);
            }
            line("EVP_PKEY_verify", "nothing", EVP_PKEY_verify(ctx, out, 0, in, full));
            EVP_PKEY_CTX_free(ctx);
        }
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    unsigned char out[1024] = { 0 };
    size_t length = sizeof out;
    CALL(EVP_DigestSignInit_ex(md, NULL, "SHA256", NULL, NULL, key, NULL));
    int made = EVP_DigestSign(md, out, &length, out, 20);
    line("EVP_DigestSign", "", made);
    EVP_MD_CTX_reset(md);
    unsigned char zeros[20] = { 0 };
    CALL(EVP_DigestVerifyInit_ex(md, NULL, "SHA256", NULL, NULL, with, NULL));
    CALL(EVP_DigestVerify(md, out, made > 0 ? length : 8, zeros, 20));
    CALL(EVP_DigestVerify(md, out, 0, zeros, 20));
    EVP_MD_CTX_free(md);
}

static void derivation(EVP_PKEY *key)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    unsigned char secret[256];
    size_t length = sizeof secret;
    CALL(EVP_PKEY_derive_init(ctx));
    CALL(EVP_PKEY_derive_set_peer(ctx, key));
    CALL(EVP_PKEY_CTX_set_ecdh_cofactor_mode(ctx, 0));
    int made = EVP_PKEY_derive(ctx, secret, &length);
    line("EVP_PKEY_derive", "", made);
    if (made > 0)
        line("EVP_PKEY_derive", "data", sum(secret, length));
    EVP_PKEY_CTX_free(ctx);
}

/* Every way to use a key, and one that verifies or encrypts for it. */
static void all(const char *name, EVP_PKEY *key, EVP_PKEY *with)
{
    form = name;
    EVP_PKEY *copy = EVP_PKEY_dup(key);
    GOT(copy);
    if (copy != NULL) {
        CALL(EVP_PKEY_eq(key, copy));
        check(copy);
    }
    EVP_PKEY_free(copy);
    CALL(EVP_PKEY_eq(key, with));
    check(key);
    export_all(key);
    if (EVP_PKEY_get_id(key) == EVP_PKEY_RSA)
        settings(with);
    encryption(key, with);
    signatures(key, with);
    derivation(key);
    copy = EVP_PKEY_dup(key); /* of a key that was used */
    GOT(copy);
    EVP_PKEY_free(copy);
}

static RSA *rsa_of(EVP_PKEY *key, int parts)
{
    static const char *const names[] = { "n", "e", "d", "rsa-factor1", "rsa-factor2", "rsa-exponent1", "rsa-exponent2",
                                         "rsa-coefficient1" };
    BIGNUM *n[8] = { NULL };
    RSA *rsa = must(RSA_new());
    for (int i = 0; i < 8; i++)
        if (EVP_PKEY_get_bn_param(key, names[i], &n[i]) != 1)
            ERR_clear_error();
    if (parts >= 1)
        RSA_set0_key(rsa, BN_dup(n[0]), BN_dup(n[1]), parts >= 2 ? BN_dup(n[2]) : NULL);
    if (parts >= 3)
        RSA_set0_factors(rsa, BN_dup(n[3]), BN_dup(n[4]));
    if (parts >= 4)
        RSA_set0_crt_params(rsa, BN_dup(n[5]), BN_dup(n[6]), BN_dup(n[7]));
    for (int i = 0; i < 8; i++)
        BN_clear_free(n[i]);
    return rsa;
}

static EVP_PKEY *with_rsa(RSA *rsa)
{
    EVP_PKEY *key = must(EVP_PKEY_new());
    if (EVP_PKEY_assign_RSA(key, rsa) != 1)
        must(NULL);
    return key;
}

/* Duplicates of a key that was used, each freed by itself, and the low-level functions on all of them. */
static void low_rsa(const char *name, RSA *rsa)
{
    form = name;
    unsigned char data[512] = { 0, 1, 2 }, out[1024], back[1024];
    unsigned int length = 0;
    CALL(RSA_get_method(rsa) == RSA_PKCS1_OpenSSL());
    CALL(RSA_sign(NID_sha256, data, 32, out, &length, rsa));
    RSA *public = RSAPublicKey_dup(rsa);
    GOT(public);
    CALL(RSA_verify(NID_sha256, data, 32, out, length, public));
    CALL(RSA_verify(NID_sha256, data, 31, out, length, public));
    CALL(RSA_check_key(rsa));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int size = numbers[i] == RSA_NO_PADDING ? RSA_size(rsa) : 20;
        line("padding", "", numbers[i]);
        int made = RSA_private_encrypt(size, data, out, rsa, numbers[i]);
        line("RSA_private_encrypt", "", made);
        if (made > 0)
            CALL(RSA_public_decrypt(made, out, back, public, numbers[i]));
        made = RSA_public_encrypt(size, data, out, public, numbers[i]);
        line("RSA_public_encrypt", "", made);
        if (made > 0)
            CALL(RSA_private_decrypt(made, out, back, rsa, numbers[i]));
        CALL(RSA_public_encrypt(400, data, out, public, numbers[i]));
        CALL(RSA_private_decrypt(0, data, out, rsa, numbers[i]));
        CALL(RSA_private_encrypt(RSA_size(rsa) - 1, data, out, rsa, numbers[i]));
    }
    RSA_free(public);
}

#include "incomplete.h"

static void low_ec(const char *name, EC_KEY *ec)
{
    form = name;
    unsigned char data[32] = { 1 }, out[256], secret[100];
    unsigned int length = sizeof out;
    CALL(EC_KEY_get_method(ec) == EC_KEY_OpenSSL());
    CALL(ECDSA_sign(0, data, 32, out, &length, ec));
    EC_KEY *copy = EC_KEY_dup(ec);
    GOT(copy);
    CALL(ECDSA_verify(0, data, 32, out, (int)length, copy));
    CALL(ECDSA_verify(0, data, 31, out, (int)length, copy));
    CALL(ECDSA_verify(0, data, 32, out, (int)length - 1, copy));
    CALL(ECDSA_verify(0, data, 32, out, 0, copy));
    CALL(ECDSA_do_verify(data, 32, NULL, copy));
    CALL(EC_KEY_check_key(ec));
    CALL(ECDH_compute_key(secret, sizeof secret, EC_KEY_get0_public_key(ec), ec, NULL));
    CALL(EC_KEY_generate_key(copy));
    CALL(EC_KEY_check_key(copy));
    EC_KEY_free(copy);
}

static void requests(void)
{
    form = "request";
    BIO *in = file("request.pem");
    X509_REQ *request = must(PEM_read_bio_X509_REQ(in, NULL, NULL, NULL));
    BIO_free(in);
    for (int i = 0; i < 2; i++) {
        X509_REQ *copy = X509_REQ_dup(request);
        GOT(copy);
        EVP_PKEY *key = copy == NULL ? NULL : X509_REQ_get_pubkey(copy);
        GOT(key);
        CALL(copy == NULL ? -9 : X509_REQ_verify(copy, key));
        EVP_PKEY *other = key == NULL ? NULL : EVP_PKEY_dup(key);
        GOT(other);
        EVP_PKEY_free(other);
        EVP_PKEY_free(key);
        X509_REQ_free(copy);
        key = X509_REQ_get_pubkey(request); /* the second round: of a request whose key was used */
        CALL(X509_REQ_verify(request, key));
        EVP_PKEY_free(key);
    }
    X509_REQ_free(request);
}

static void generated(void)
{
    form = "generated";
    EVP_PKEY *rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
    EVP_PKEY *ec = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    GOT(rsa);
    GOT(ec);
    check(rsa);
    check(ec);
    EVP_PKEY *copy = EVP_PKEY_dup(rsa);
    GOT(copy);
    EVP_PKEY_free(copy);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
}

/* In a library context of its own, of which only the default provider and this context's generator are used. */
static void contexts(void)
{
    form = "context";
    OSSL_LIB_CTX *library = must(OSSL_LIB_CTX_new());
    BIO *in = file("rsa.pem");
    EVP_PKEY *key = must(PEM_read_bio_PrivateKey_ex(in, NULL, NULL, NULL, library, NULL));
    BIO_free(in);
    EVP_PKEY *copy = EVP_PKEY_dup(key);
    GOT(copy);
    for (int padding = RSA_PKCS1_PADDING; padding <= RSA_PKCS1_OAEP_PADDING; padding += 3) {
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(library, key, NULL);
        unsigned char out[512], back[512], data[20] = { 5 };
        size_t length = sizeof out, got = sizeof back;
        CALL(EVP_PKEY_encrypt_init(ctx));
        CALL(EVP_PKEY_CTX_set_rsa_padding(ctx, padding));
        CALL(EVP_PKEY_encrypt(ctx, out, &length, data, sizeof data));
        CALL(EVP_PKEY_decrypt_init(ctx));
        CALL(EVP_PKEY_CTX_set_rsa_padding(ctx, padding));
        CALL(EVP_PKEY_decrypt(ctx, back, &got, out, length));
        EVP_PKEY_CTX_free(ctx);
    }
    EVP_PKEY_free(copy);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(library);
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    folder = words[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    EVP_PKEY *rsa = private_key("rsa.pem"), *rsa_public = public_key("rsa-pub.pem"), *other = private_key("other.pem");
    EVP_PKEY *ec = private_key("ec.pem"), *ec_public = public_key("ec-pub.pem"), *brain = private_key("brain.pem");
    all("RSA", rsa, rsa_public);
    all("RSA, another's", rsa, other);
    all("RSA, public", rsa_public, rsa_public);
    all("EC", ec, ec_public);
    all("EC, public", ec_public, ec_public);
    all("EC, Brainpool", brain, brain);
    static const char *const names[] = { "", "RSA, legacy, public", "RSA, legacy, d", "RSA, legacy, p and q", "RSA, legacy" };
    for (int parts = 1; parts <= 4; parts++) {
        EVP_PKEY *key = with_rsa(rsa_of(rsa, parts));
        all(names[parts], key, key);
        EVP_PKEY_free(key);
    }
    EVP_PKEY *legacy = must(EVP_PKEY_new());
    EVP_PKEY_set1_EC_KEY(legacy, must((void *)EVP_PKEY_get0_EC_KEY(ec)));
    all("EC, legacy", legacy, legacy);
    EVP_PKEY_free(legacy);
    for (int parts = 2; parts <= 4; parts += 2) {
        RSA *low = rsa_of(rsa, parts);
        low_rsa(names[parts], low);
        RSA *copy = parts == 4 ? RSAPrivateKey_dup(low) : NULL;
        RSA_free(low);
        if (copy != NULL)
            low_rsa("RSA, duplicate", copy);
        RSA_free(copy);
    }
    RSA *got = EVP_PKEY_get1_RSA(rsa);
    low_rsa("RSA of a key", must(got));
    RSA_free(got);
    EC_KEY *low = EVP_PKEY_get1_EC_KEY(ec);
    low_ec("EC of a key", must(low));
    EC_KEY_free(low);
    low = EVP_PKEY_get1_EC_KEY(brain);
    low_ec("EC of a key, Brainpool", must(low));
    EC_KEY_free(low);
    incomplete(rsa, ec);
    requests();
    generated();
    contexts();
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(rsa_public);
    EVP_PKEY_free(other);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(ec_public);
    EVP_PKEY_free(brain);
    puts("whole");
    return 0;
}
