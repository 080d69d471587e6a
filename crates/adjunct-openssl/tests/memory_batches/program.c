/* A foreign program whose memory runs out while operations of several callers are done in one batch. Run as:
 * program CONFIG jobs|threads. It exits with 0 when all went well; otherwise it says what did not. tests/memory_batches.rs compiles and
 * runs it.
 *
 * Each kind of operation is done again and again by eight callers at a time: with the first allocation of the module (or of the C
 * library for it) refused, then with the second, and so on until none is; and each time once more with all that come after refused as
 * well. What one allocation was refused for may fail, once; the other seven succeed. Contexts are made, and libcrypto's own
 * allocations are never refused: this is about batches. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <openssl/async.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            refused = 0;                                                                                               \
            printf("line %d: %s failed: %s\n", __LINE__, #x, ERR_error_string(ERR_peek_last_error(), NULL));           \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

/* The allocation that is refused, from 1; 0: none, and nothing is counted. And whether those after it are as well. */
static atomic_uint refused, asked;
static atomic_int for_good;
/* Where the code of the module and of the C library is: of their allocations alone one is refused. */
static struct part {
    uintptr_t start, end;
} module, c_library;

static int within(const struct part *part, const void *place) {
    return (uintptr_t)place >= part->start && (uintptr_t)place < part->end;
}

static int refuses(const void *caller) {
    unsigned at = refused, this;
    if (at == 0 || !(within(&module, caller) || within(&c_library, caller)))
        return 0;
    this = ++asked;
    if (this == at || (for_good && this > at)) {
        errno = ENOMEM;
        return 1;
    }
    return 0;
}

void *malloc(size_t size) {
    return refuses(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return refuses(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return refuses(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = refuses(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

static int find(struct dl_phdr_info *info, size_t size, void *unused) {
    struct part *found = strstr(info->dlpi_name, "adjunct_openssl") ? &module : strstr(info->dlpi_name, "/libc.so") ? &c_library : NULL;
    (void)size, (void)unused;
    if (found == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        found->start = info->dlpi_addr + part->p_vaddr;
        found->end = found->start + part->p_memsz;
    }
    return 0;
}

static const char *const OURS = "provider=adjunct";
static const char *const STOCK = "provider=default";
static OSSL_LIB_CTX *ctx;

/* The operations. `deep`: tried only where ADJUNCT_DEEP is set, as another kind takes the same way. */
static const struct kind {
    const char *name, *type, *group;
    size_t bits;
    int signs, deep;
} kinds[] = {
    {"rsa-2048", "RSA", NULL, 2048, 1, 0},   {"rsa-3072", "RSA", NULL, 3072, 1, 1},
    {"rsa-4096", "RSA", NULL, 4096, 1, 1},   {"p-256", "EC", "P-256", 0, 1, 0},
    {"p-384", "EC", "P-384", 0, 1, 1},       {"p-521", "EC", "P-521", 0, 1, 1},
    {"ed25519", "ED25519", NULL, 0, 1, 0},   {"x25519", "X25519", NULL, 0, 0, 0},
    {"ecdh-256", "EC", "P-256", 0, 0, 0},    {"ecdh-384", "EC", "P-384", 0, 0, 1},
    {"ecdh-521", "EC", "P-521", 0, 0, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds, CALLERS = 8 };

static EVP_PKEY *fresh(const struct kind *kind) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, kind->type, STOCK);
    OSSL_PARAM params[2] = {OSSL_PARAM_END, OSSL_PARAM_END};
    size_t bits = kind->bits;
    if (kind->group != NULL)
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)kind->group, 0);
    else if (bits != 0)
        params[0] = OSSL_PARAM_construct_size_t(OSSL_PKEY_PARAM_RSA_BITS, &bits);
    MUST(gen != NULL && EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_CTX_set_params(gen, params) == 1);
    MUST(EVP_PKEY_generate(gen, &key) == 1);
    EVP_PKEY_CTX_free(gen);
    return key;
}

/* One operation, ready to be done. */
struct caller {
    const struct kind *kind;
    EVP_MD_CTX *md;
    EVP_PKEY_CTX *derive;
    unsigned char message[32], out[512];
    size_t length;
    int right;
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait;
};

static EVP_PKEY_CTX *agreement(EVP_PKEY *own, EVP_PKEY *peer, const char *properties) {
    EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new_from_pkey(ctx, own, properties);
    MUST(derive != NULL && EVP_PKEY_derive_init(derive) == 1 && EVP_PKEY_derive_set_peer(derive, peer) == 1);
    return derive;
}

static void ready(struct caller *c, const struct kind *kind, int number, EVP_PKEY *key, EVP_PKEY *peer) {
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->length = sizeof c->out;
    memset(c->message, number + 1, sizeof c->message);
    if (kind->signs) {
        MUST((c->md = EVP_MD_CTX_new()) != NULL);
        MUST(EVP_DigestSignInit_ex(c->md, NULL, kind->type[1] == 'D' ? NULL : "SHA256", ctx, OURS, key, NULL) == 1);
    } else {
        c->derive = agreement(key, peer, OURS);
    }
}

static int operate(struct caller *c) {
    c->right = c->kind->signs ? EVP_DigestSign(c->md, c->out, &c->length, c->message, sizeof c->message) == 1
                              : EVP_PKEY_derive(c->derive, c->out, &c->length) == 1;
    return 1;
}

/* What succeeded is right by the default provider; how many did not succeed. */
static int judge(struct caller *c, EVP_PKEY *key, EVP_PKEY *peer) {
    if (c->right && c->kind->signs) {
        EVP_MD_CTX *md = EVP_MD_CTX_new();
        const char *digest = c->kind->type[1] == 'D' ? NULL : "SHA256";
        MUST(EVP_DigestVerifyInit_ex(md, NULL, digest, ctx, STOCK, key, NULL) == 1);
        MUST(EVP_DigestVerify(md, c->out, c->length, c->message, sizeof c->message) == 1);
        EVP_MD_CTX_free(md);
    } else if (c->right) {
        unsigned char secret[200];
        size_t n = sizeof secret;
        EVP_PKEY_CTX *derive = agreement(peer, key, STOCK);
        MUST(EVP_PKEY_derive(derive, secret, &n) == 1 && n == c->length && memcmp(secret, c->out, n) == 0);
        EVP_PKEY_CTX_free(derive);
    }
    EVP_MD_CTX_free(c->md);
    EVP_PKEY_CTX_free(c->derive);
    ERR_clear_error();
    return !c->right;
}

static int body(void *argument) {
    return operate(*(struct caller **)argument);
}

/* Starts a job or goes on with it; whether it is done. */
static int step(struct caller *c) {
    int result = 0;
    int state = ASYNC_start_job(&c->job, c->wait, &result, body, &c, sizeof c);
    MUST(state == ASYNC_PAUSE || (state == ASYNC_FINISH && result == 1));
    return state == ASYNC_FINISH;
}

/* An event loop's round: eight jobs, whose last runs the batch of all. */
static void in_jobs(struct caller *callers) {
    int left = CALLERS, done[CALLERS] = {0};
    while (left > 0)
        for (int i = 0; i < CALLERS; i++)
            if (!done[i]) {
                done[i] = step(&callers[i]);
                left -= done[i];
            }
}

/* New threads for each round: what a thread is given once, by the C library and for AWS-LC's random generator, is refused as well. */
static pthread_barrier_t begin, end;
static struct caller *shared;

static void *thread(void *argument) {
    pthread_barrier_wait(&begin);
    operate(&shared[(intptr_t)argument]);
    pthread_barrier_wait(&end);
    return NULL;
}

static void in_threads(struct caller *callers) {
    pthread_t ids[CALLERS];
    unsigned at = refused;
    refused = 0;
    shared = callers;
    for (intptr_t i = 0; i < CALLERS; i++)
        MUST(pthread_create(&ids[i], NULL, thread, (void *)i) == 0);
    refused = at;
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    refused = 0;
    for (int i = 0; i < CALLERS; i++)
        MUST(pthread_join(ids[i], NULL) == 0);
}

static void try_out(const struct kind *kind, void (*round)(struct caller *)) {
    EVP_PKEY *original = fresh(kind), *peer = kind->signs ? NULL : fresh(kind);
    unsigned most = 0, failed = 0;
    for (int all = 0; all < 2; all++)
        for (unsigned at = 1;; at++) {
            struct caller callers[CALLERS];
            /* Another key for the module, whose form for lanes is not made yet. */
            EVP_PKEY *key = EVP_PKEY_dup(original);
            int wrong = 0;
            MUST(key != NULL);
            for (int i = 0; i < CALLERS; i++) {
                ready(&callers[i], kind, i, key, peer);
                MUST((callers[i].wait = ASYNC_WAIT_CTX_new()) != NULL);
            }
            asked = 0;
            for_good = all;
            refused = at;
            round(callers);
            refused = 0;
            for (int i = 0; i < CALLERS; i++) {
                wrong += judge(&callers[i], key, peer);
                ASYNC_WAIT_CTX_free(callers[i].wait);
            }
            EVP_PKEY_free(key);
            failed += wrong;
            if (asked > most)
                most = asked;
            if (wrong > (asked < at ? 0 : all ? CALLERS : 1)) {
                printf("%s: %d of %d failed with allocation %u of %u refused%s\n", kind->name, wrong, CALLERS, at, asked,
                       all ? " and all after it" : "");
                fflush(stdout);
                _exit(1);
            }
            if (asked < at)
                break;
        }
    printf("%s %u %u\n", kind->name, most, failed);
    fflush(stdout);
    EVP_PKEY_free(original);
    EVP_PKEY_free(peer);
}

int main(int argc, char **argv) {
    int jobs = argc == 3 && strcmp(argv[2], "jobs") == 0;
    MUST(argc == 3 && (ctx = OSSL_LIB_CTX_new()) != NULL && OSSL_LIB_CTX_load_config(ctx, argv[1]) == 1);
    MUST(OSSL_PROVIDER_available(ctx, "adjunct") == 1);
    dl_iterate_phdr(find, NULL);
    MUST(module.end > module.start && c_library.end > c_library.start);
    MUST(pthread_barrier_init(&begin, NULL, CALLERS + 1) == 0 && pthread_barrier_init(&end, NULL, CALLERS + 1) == 0);
    for (int i = 0; i < KINDS; i++)
        if (!kinds[i].deep || getenv("ADJUNCT_DEEP"))
            try_out(&kinds[i], jobs ? in_jobs : in_threads);
    return 0;
}
