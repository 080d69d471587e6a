/* A foreign program that uses low-level RSA and EC keys, with the engine or without, and closes a sandbox at some point of its
 * life. Run as: program record|LIST MODULE|- STEPS, where LIST holds the numbers of the allowed system calls. The steps are those
 * of steps.h, and L: load the engine and make the keys. */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include "../engine/common.h"
/* What it has of the engine's tests comes first: CHECK. */
#include "../../../adjunct/tests/sandbox/steps.h"
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

static const char *module, *steps;
static RSA *rsa;
static EC_KEY *ec;

/* What libcrypto itself readies when it is first used is ready. */
static void begin(void) {
    unsigned char random[16];
    BIGNUM *e = BN_new();
    CHECK(RAND_bytes(random, sizeof random) == 1 && BN_set_word(e, 65537) == 1);
    if (strcmp(module, "-") != 0)
        engine = load(module);
    rsa = engine ? RSA_new_method(engine) : RSA_new();
    CHECK(rsa != NULL && RSA_generate_key_ex(rsa, 1024, e, NULL) == 1);
    ec = engine ? EC_KEY_new_method(engine) : EC_KEY_new();
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    CHECK(ec != NULL && group != NULL && EC_KEY_set_group(ec, group) == 1 && EC_KEY_generate_key(ec) == 1);
    EC_GROUP_free(group);
    BN_free(e);
}

static void work(void) {
    unsigned char sum[32] = {1}, out[256];
    unsigned int n;
    for (int i = 0; i < 50; i++) {
        CHECK(RSA_sign(NID_sha256, sum, sizeof sum, out, &n, rsa) == 1);
        CHECK(RSA_verify(NID_sha256, sum, sizeof sum, out, n, rsa) == 1);
        n = sizeof out;
        CHECK(ECDSA_sign(0, sum, sizeof sum, out, &n, ec) == 1);
        CHECK(ECDSA_verify(0, sum, sizeof sum, out, n, ec) == 1);
    }
    /* Enough contexts for every look at the effective user that a thread takes. */
    for (int i = 0; i < 300; i++) {
        EVP_MD_CTX *d = EVP_MD_CTX_new();
        CHECK(EVP_DigestInit_ex(d, EVP_sha256(), engine) == 1 && EVP_DigestUpdate(d, sum, sizeof sum) == 1);
        CHECK(EVP_DigestFinal_ex(d, out, &n) == 1);
        EVP_MD_CTX_free(d);
    }
}

static void scenario(void) {
    for (const char *at = steps; *at != '\0'; at++)
        *at == 'L' ? begin() : step(*at);
    _exit(0);
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    setvbuf(stdout, NULL, _IONBF, 0);
    module = argv[2];
    steps = argv[3];
    return strcmp(argv[1], "record") == 0 ? record(scenario) : confine(argv[1], scenario);
}
