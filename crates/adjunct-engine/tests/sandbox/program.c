/* A foreign program that uses low-level RSA and EC keys, with the engine or without, and closes a sandbox at some point of its
 * life. Run as: program record|LIST MODULE|- STEPS, where LIST holds the numbers of the allowed system calls. The steps, one
 * letter each:
 *   L load the engine and make the keys   U become another user   F fork, the child goes on   C close the sandbox
 *   W work   T work in eight threads started here   P start eight threads that wait   G let them work */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include "../../../adjunct/tests/sandbox/filter.h"
#include "../engine/common.h"
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <pthread.h>

enum { THREADS = 8 };
static const char *module, *steps;
static RSA *rsa;
static EC_KEY *ec;
static pthread_t threads[THREADS];
static pthread_barrier_t ready, closed;

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

static void *works(void *waits) {
    if (waits != NULL) {
        pthread_barrier_wait(&ready);
        pthread_barrier_wait(&closed);
    }
    work();
    return NULL;
}

static void start(void *waits) {
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, works, waits) == 0);
}

static void join(void) {
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void split(void) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        return;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

static void scenario(void) {
    CHECK(pthread_barrier_init(&ready, NULL, THREADS + 1) == 0 && pthread_barrier_init(&closed, NULL, THREADS + 1) == 0);
    for (const char *step = steps; *step != '\0'; step++)
        switch (*step) {
        case 'L': begin(); break;
        case 'U': CHECK(setresuid(65534, 65534, 65534) == 0); break;
        case 'F': split(); break;
        case 'C': close_sandbox(); break;
        case 'W': work(); break;
        case 'T': start(NULL); join(); break;
        case 'P': start(&ready); pthread_barrier_wait(&ready); break;
        case 'G': pthread_barrier_wait(&closed); join(); break;
        default: CHECK(0);
        }
    _exit(0);
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    setvbuf(stdout, NULL, _IONBF, 0);
    module = argv[2];
    steps = argv[3];
    return strcmp(argv[1], "record") == 0 ? record(scenario) : confine(argv[1], scenario);
}
