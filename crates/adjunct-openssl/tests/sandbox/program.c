/* A foreign program that closes a sandbox at some point of its life. Run as: program record|LIST CONFIG PROPERTIES STEPS, where
 * LIST holds the numbers of the allowed system calls. The steps are those of steps.h, where work is one of each kind of operation, and:
 *   L load the configuration   D digest
 * tests/sandbox.rs compiles and runs it. */
#define _GNU_SOURCE
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(x)                                                                                                       \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("line %d: %s failed: %s\n", __LINE__, #x, ERR_error_string(ERR_peek_last_error(), NULL));           \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#include "../../../adjunct/tests/sandbox/steps.h"

static const char *config, *properties, *steps;
static OSSL_LIB_CTX *ctx;
static EVP_PKEY *rsa;

static void load(void) {
    ctx = OSSL_LIB_CTX_new();
    CHECK(ctx != NULL && OSSL_LIB_CTX_load_config(ctx, config) == 1);
}

static EVP_PKEY *generate(const char *type, const char *group);

/* What libcrypto itself readies when it is first used is ready: its generator, for one. */
static void begin(void) {
    unsigned char random[16];
    load();
    rsa = generate("RSA", NULL);
    CHECK(RAND_bytes_ex(ctx, random, sizeof random, 0) == 1);
}

static void digest(const char *name) {
    unsigned char out[64];
    EVP_MD *md = EVP_MD_fetch(ctx, name, properties);
    EVP_MD_CTX *d = EVP_MD_CTX_new();
    CHECK(md != NULL && EVP_DigestInit_ex2(d, md, NULL) == 1 && EVP_DigestUpdate(d, "text", 4) == 1);
    CHECK(EVP_DigestFinal_ex(d, out, NULL) == 1);
    EVP_MD_CTX_free(d);
    EVP_MD_free(md);
}

static void cipher(const char *name) {
    static const unsigned char key[32] = "key", iv[16] = "iv", text[64] = "text";
    unsigned char out[96];
    int n;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, properties);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    CHECK(cipher != NULL && EVP_EncryptInit_ex2(c, cipher, key, iv, NULL) == 1);
    CHECK(EVP_EncryptUpdate(c, out, &n, text, sizeof text) == 1 && EVP_EncryptFinal_ex(c, out + n, &n) == 1);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
}

static void mac(void) {
    unsigned char out[64];
    size_t n;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0), OSSL_PARAM_END};
    EVP_MAC *hmac = EVP_MAC_fetch(ctx, "HMAC", properties);
    EVP_MAC_CTX *h = EVP_MAC_CTX_new(hmac);
    CHECK(h != NULL && EVP_MAC_init(h, (const unsigned char *)"key", 3, params) == 1);
    CHECK(EVP_MAC_update(h, (const unsigned char *)"text", 4) == 1 && EVP_MAC_final(h, out, &n, sizeof out) == 1);
    EVP_MAC_CTX_free(h);
    EVP_MAC_free(hmac);
}

static EVP_PKEY *generate(const char *type, const char *group) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, type, properties);
    OSSL_PARAM params[2] = {OSSL_PARAM_END, OSSL_PARAM_END};
    size_t bits = 1024;
    if (group != NULL)
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0);
    if (strcmp(type, "RSA") == 0)
        params[0] = OSSL_PARAM_construct_size_t(OSSL_PKEY_PARAM_RSA_BITS, &bits);
    CHECK(gen != NULL && EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_CTX_set_params(gen, params) == 1);
    CHECK(EVP_PKEY_generate(gen, &key) == 1);
    EVP_PKEY_CTX_free(gen);
    return key;
}

static void sign(EVP_PKEY *key) {
    unsigned char out[512], sum[32] = {1};
    size_t n = sizeof out;
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, key, properties);
    CHECK(c != NULL && EVP_PKEY_sign_init(c) == 1 && EVP_PKEY_sign(c, out, &n, sum, sizeof sum) == 1);
    EVP_PKEY_CTX_free(c);
}

static void public_key(void) {
    unsigned char out[64];
    size_t n = sizeof out;
    EVP_PKEY *ec = generate("EC", "P-256"), *x = generate("X25519", NULL);
    sign(ec);
    sign(rsa);
    EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new_from_pkey(ctx, x, properties);
    CHECK(derive != NULL && EVP_PKEY_derive_init(derive) == 1 && EVP_PKEY_derive_set_peer(derive, x) == 1);
    CHECK(EVP_PKEY_derive(derive, out, &n) == 1);
    EVP_PKEY_CTX_free(derive);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(x);
}

/* Enough for every look at the effective user that a thread takes, and for threads to meet. */
static void digests(void) {
    for (int i = 0; i < 300; i++)
        digest("SHA256");
}

static void work(void) {
    unsigned char random[16];
    digests();
    digest("SHA512");
    cipher("AES-256-GCM");
    cipher("AES-128-CBC");
    cipher("ChaCha20-Poly1305");
    mac();
    for (int i = 0; i < 4; i++)
        public_key();
    CHECK(RAND_bytes_ex(ctx, random, sizeof random, 0) == 1);
}

static void scenario(void) {
    for (const char *at = steps; *at != '\0'; at++)
        switch (*at) {
        case 'L': begin(); break;
        case 'D': digests(); break;
        default: step(*at);
        }
    _exit(0);
}

int main(int argc, char **argv) {
    CHECK(argc == 5);
    setvbuf(stdout, NULL, _IONBF, 0);
    config = argv[2];
    properties = argv[3];
    steps = argv[4];
    return strcmp(argv[1], "record") == 0 ? record(scenario) : confine(argv[1], scenario);
}
