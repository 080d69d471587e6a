/* A foreign program that closes a sandbox at some point of its life. Run as: program record|LIST CONFIG PROPERTIES STEPS, where
 * LIST holds the numbers of the allowed system calls. The steps, one letter each:
 *   L load the configuration   U become another user   F fork, the child goes on   C close the sandbox
 *   D digest   W one of each kind of operation   T the same in eight threads started here
 *   P start eight threads that wait   G let them work. tests/sandbox.rs compiles and runs it. */
#define _GNU_SOURCE
#include "../../../adjunct/tests/sandbox/filter.h"
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <pthread.h>

#define MUST(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("line %d: %s failed: %s\n", __LINE__, #x, ERR_error_string(ERR_peek_last_error(), NULL));           \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { THREADS = 8 };
static const char *config, *properties, *steps;
static OSSL_LIB_CTX *ctx;
static EVP_PKEY *rsa;
static pthread_t threads[THREADS];
static pthread_barrier_t ready, closed;

static void load(void) {
    ctx = OSSL_LIB_CTX_new();
    MUST(ctx != NULL && OSSL_LIB_CTX_load_config(ctx, config) == 1);
}

static EVP_PKEY *generate(const char *type, const char *group);

/* What libcrypto itself readies when it is first used is ready: its generator, for one. */
static void begin(void) {
    unsigned char random[16];
    load();
    rsa = generate("RSA", NULL);
    MUST(RAND_bytes_ex(ctx, random, sizeof random, 0) == 1);
}

static void digest(const char *name) {
    unsigned char out[64];
    EVP_MD *md = EVP_MD_fetch(ctx, name, properties);
    EVP_MD_CTX *d = EVP_MD_CTX_new();
    MUST(md != NULL && EVP_DigestInit_ex2(d, md, NULL) == 1 && EVP_DigestUpdate(d, "text", 4) == 1);
    MUST(EVP_DigestFinal_ex(d, out, NULL) == 1);
    EVP_MD_CTX_free(d);
    EVP_MD_free(md);
}

static void cipher(const char *name) {
    static const unsigned char key[32] = "key", iv[16] = "iv", text[64] = "text";
    unsigned char out[96];
    int n;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, name, properties);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    MUST(cipher != NULL && EVP_EncryptInit_ex2(c, cipher, key, iv, NULL) == 1);
    MUST(EVP_EncryptUpdate(c, out, &n, text, sizeof text) == 1 && EVP_EncryptFinal_ex(c, out + n, &n) == 1);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
}

static void mac(void) {
    unsigned char out[64];
    size_t n;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0), OSSL_PARAM_END};
    EVP_MAC *hmac = EVP_MAC_fetch(ctx, "HMAC", properties);
    EVP_MAC_CTX *h = EVP_MAC_CTX_new(hmac);
    MUST(h != NULL && EVP_MAC_init(h, (const unsigned char *)"key", 3, params) == 1);
    MUST(EVP_MAC_update(h, (const unsigned char *)"text", 4) == 1 && EVP_MAC_final(h, out, &n, sizeof out) == 1);
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
    MUST(gen != NULL && EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_CTX_set_params(gen, params) == 1);
    MUST(EVP_PKEY_generate(gen, &key) == 1);
    EVP_PKEY_CTX_free(gen);
    return key;
}

static void sign(EVP_PKEY *key) {
    unsigned char out[512], sum[32] = {1};
    size_t n = sizeof out;
    EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, key, properties);
    MUST(c != NULL && EVP_PKEY_sign_init(c) == 1 && EVP_PKEY_sign(c, out, &n, sum, sizeof sum) == 1);
    EVP_PKEY_CTX_free(c);
}

static void public_key(void) {
    unsigned char out[64];
    size_t n = sizeof out;
    EVP_PKEY *ec = generate("EC", "P-256"), *x = generate("X25519", NULL);
    sign(ec);
    sign(rsa);
    EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new_from_pkey(ctx, x, properties);
    MUST(derive != NULL && EVP_PKEY_derive_init(derive) == 1 && EVP_PKEY_derive_set_peer(derive, x) == 1);
    MUST(EVP_PKEY_derive(derive, out, &n) == 1);
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
    MUST(RAND_bytes_ex(ctx, random, sizeof random, 0) == 1);
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
        MUST(pthread_create(&threads[i], NULL, works, waits) == 0);
}

static void join(void) {
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

static void split(void) {
    int status;
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0)
        return;
    MUST(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

static void scenario(void) {
    MUST(pthread_barrier_init(&ready, NULL, THREADS + 1) == 0 && pthread_barrier_init(&closed, NULL, THREADS + 1) == 0);
    for (const char *step = steps; *step != '\0'; step++)
        switch (*step) {
        case 'L': begin(); break;
        case 'U': MUST(setresuid(65534, 65534, 65534) == 0); break;
        case 'F': split(); break;
        case 'C': close_sandbox(); break;
        case 'D': digests(); break;
        case 'W': work(); break;
        case 'T': start(NULL); join(); break;
        case 'P': start(&ready); pthread_barrier_wait(&ready); break;
        case 'G': pthread_barrier_wait(&closed); join(); break;
        default: MUST(0);
        }
    _exit(0);
}

int main(int argc, char **argv) {
    MUST(argc == 5);
    setvbuf(stdout, NULL, _IONBF, 0);
    config = argv[2];
    properties = argv[3];
    steps = argv[4];
    return strcmp(argv[1], "record") == 0 ? record(scenario) : confine(argv[1], scenario);
}
