/* A foreign program that runs operations of the provider in asynchronous jobs, as servers with an event loop do. Run as:
 * program CONFIG SCENARIO. It exits with 0 when all went well; otherwise it says what did not.
 * tests/asynchronous.rs compiles and runs it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <openssl/async.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("line %d: %s failed (errno %s): %s\n", __LINE__, #x, strerror(errno),                              \
                   ERR_error_string(ERR_peek_last_error(), NULL));                                                     \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static const char *const OURS = "provider=adjunct";
static const char *const STOCK = "provider=default";
static OSSL_LIB_CTX *ctx;

/* OpenSSL takes the stacks of its jobs from its allocator, 32 KB each. Here each has a page below it that faults, so that
 * an operation that needs more kills the program instead of the heap. */
enum { FIBER = 32768, PAGE = 4096, FIBERS = 8192 };

static void *_Atomic fibers[FIBERS];

static int is_fiber(void *p) {
    for (int i = 0; ((size_t)p & (PAGE - 1)) == 0 && i < FIBERS && fibers[i] != NULL; i++)
        if (fibers[i] == p)
            return 1;
    return 0;
}

static void *allocate(size_t size, const char *file, int line) {
    (void)file, (void)line;
    static _Atomic int count;
    if (size != FIBER || count >= FIBERS)
        return malloc(size);
    char *map = mmap(NULL, FIBER + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map, PAGE, PROT_NONE) != 0)
        return NULL;
    /* Never unmapped, so that the address stays one of a stack. */
    fibers[count++] = map + PAGE;
    return map + PAGE;
}

static void release(void *p, const char *file, int line) {
    (void)file, (void)line;
    if (!is_fiber(p))
        free(p);
}

static void *reallocate(void *p, size_t size, const char *file, int line) {
    (void)file, (void)line;
    MUST(!is_fiber(p));
    return realloc(p, size);
}

/* The operations, and a key of each. */
enum kind {
    RSA2048,
    RSA3072,
    RSA4096,
    P256,
    P384,
    P521,
    ED25519,
    LAST_SIGNATURE = ED25519,
    X25519,
    ECDH256,
    ECDH384,
    ECDH521,
    LAST_SMALL = ECDH521,
    DECRYPT,
    GENERATE_EC,
    GENERATE_X25519,
    IMPORT,
    KINDS
};

static EVP_PKEY *keys[KINDS], *peers[KINDS];

static EVP_PKEY *fresh(enum kind kind, const char *properties) {
    static const struct {
        const char *type, *group;
        size_t bits;
    } table[KINDS] = {
        [RSA2048] = {"RSA", NULL, 2048},     [RSA3072] = {"RSA", NULL, 3072},  [RSA4096] = {"RSA", NULL, 4096},
        [P256] = {"EC", "P-256", 0},         [P384] = {"EC", "P-384", 0},      [P521] = {"EC", "P-521", 0},
        [ED25519] = {"ED25519", NULL, 0},    [X25519] = {"X25519", NULL, 0},   [ECDH256] = {"EC", "P-256", 0},
        [ECDH384] = {"EC", "P-384", 0},      [ECDH521] = {"EC", "P-521", 0},   [DECRYPT] = {"RSA", NULL, 2048},
        [GENERATE_EC] = {"EC", "P-384", 0},  [GENERATE_X25519] = {"X25519", NULL, 0},
        [IMPORT] = {"EC", "P-521", 0},
    };
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, table[kind].type, properties);
    OSSL_PARAM params[2] = {OSSL_PARAM_END, OSSL_PARAM_END};
    size_t bits = table[kind].bits;
    if (table[kind].group != NULL)
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)table[kind].group, 0);
    else if (bits != 0)
        params[0] = OSSL_PARAM_construct_size_t(OSSL_PKEY_PARAM_RSA_BITS, &bits);
    MUST(gen != NULL && EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_CTX_set_params(gen, params) == 1);
    MUST(EVP_PKEY_generate(gen, &key) == 1);
    EVP_PKEY_CTX_free(gen);
    return key;
}

static const char *const names[KINDS] = {
    "rsa-2048", "rsa-3072", "rsa-4096", "p-256",  "p-384",    "p-521",     "ed25519",         "x25519",
    "ecdh-256", "ecdh-384", "ecdh-521", "decrypt", "make-ec", "make-x25519", "check",
};

/* Where an operation runs: in a job, or as it comes. */
struct task {
    enum kind kind;
    int number;
    unsigned char message[48];
    unsigned char out[1024];
    size_t length;
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait;
    int done, pauses, callbacks, block, rounds;
};

static size_t agree(EVP_PKEY *own, EVP_PKEY *peer, const char *properties, unsigned char *out) {
    size_t length = 200;
    EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new_from_pkey(ctx, own, properties);
    MUST(derive != NULL && EVP_PKEY_derive_init(derive) == 1 && EVP_PKEY_derive_set_peer(derive, peer) == 1);
    MUST(EVP_PKEY_derive(derive, out, &length) == 1);
    EVP_PKEY_CTX_free(derive);
    return length;
}

static void operate(struct task *t) {
    EVP_PKEY *key = keys[t->kind];
    t->length = sizeof t->out;
    if (t->kind <= LAST_SIGNATURE) {
        EVP_MD_CTX *md = EVP_MD_CTX_new();
        const char *digest = t->kind == ED25519 ? NULL : "SHA256";
        MUST(EVP_DigestSignInit_ex(md, NULL, digest, ctx, OURS, key, NULL) == 1);
        MUST(EVP_DigestSign(md, t->out, &t->length, t->message, sizeof t->message) == 1);
        EVP_MD_CTX_free(md);
    } else if (t->kind <= LAST_SMALL) {
        t->length = agree(key, peers[t->kind], OURS, t->out);
    } else if (t->kind == DECRYPT) {
        unsigned char sealed[256];
        size_t n = sizeof sealed;
        EVP_PKEY_CTX *seal = EVP_PKEY_CTX_new_from_pkey(ctx, key, STOCK);
        MUST(EVP_PKEY_encrypt_init(seal) == 1 && EVP_PKEY_CTX_set_rsa_padding(seal, RSA_PKCS1_OAEP_PADDING) == 1);
        MUST(EVP_PKEY_encrypt(seal, sealed, &n, t->message, sizeof t->message) == 1);
        EVP_PKEY_CTX_free(seal);
        EVP_PKEY_CTX *open = EVP_PKEY_CTX_new_from_pkey(ctx, key, OURS);
        MUST(EVP_PKEY_decrypt_init(open) == 1 && EVP_PKEY_CTX_set_rsa_padding(open, RSA_PKCS1_OAEP_PADDING) == 1);
        MUST(EVP_PKEY_decrypt(open, t->out, &t->length, sealed, n) == 1);
        EVP_PKEY_CTX_free(open);
    } else if (t->kind == IMPORT) {
        /* Checked whole, which computes the public point again. */
        EVP_PKEY_CTX *check = EVP_PKEY_CTX_new_from_pkey(ctx, key, OURS);
        MUST(check != NULL && EVP_PKEY_check(check) == 1);
        EVP_PKEY_CTX_free(check);
    } else {
        EVP_PKEY *made = fresh(t->kind, OURS), *other = keys[t->kind];
        unsigned char a[200], b[200];
        size_t n = agree(made, other, OURS, a);
        MUST(agree(other, made, OURS, b) == n && memcmp(a, b, n) == 0);
        EVP_PKEY_free(made);
    }
}

/* Whether the default provider says the same. */
static void judge(struct task *t) {
    EVP_PKEY *key = keys[t->kind];
    if (t->kind <= LAST_SIGNATURE) {
        EVP_MD_CTX *md = EVP_MD_CTX_new();
        const char *digest = t->kind == ED25519 ? NULL : "SHA256";
        MUST(EVP_DigestVerifyInit_ex(md, NULL, digest, ctx, STOCK, key, NULL) == 1);
        MUST(EVP_DigestVerify(md, t->out, t->length, t->message, sizeof t->message) == 1);
        EVP_MD_CTX_free(md);
    } else if (t->kind <= LAST_SMALL) {
        unsigned char secret[200];
        size_t n = agree(peers[t->kind], key, STOCK, secret);
        MUST(n == t->length && memcmp(secret, t->out, n) == 0);
    } else if (t->kind == DECRYPT) {
        MUST(t->length == sizeof t->message && memcmp(t->out, t->message, t->length) == 0);
    }
}

static int body(void *argument) {
    struct task *t = *(struct task **)argument;
    if (t->block)
        ASYNC_block_pause();
    for (int i = 0; i < t->rounds; i++) {
        t->message[1]++;
        operate(t);
        judge(t);
    }
    if (t->block)
        ASYNC_unblock_pause();
    return 1;
}

/* Keys are made when they are first asked for: large ones take seconds. */
static void prepare(struct task *t, enum kind kind, int number) {
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&making);
    if (keys[kind] == NULL) {
        if (kind > LAST_SIGNATURE && kind <= LAST_SMALL)
            peers[kind] = fresh(kind, STOCK);
        keys[kind] = fresh(kind, STOCK);
    }
    pthread_mutex_unlock(&making);
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->number = number;
    t->rounds = 1;
    t->message[0] = (unsigned char)number;
    t->wait = ASYNC_WAIT_CTX_new();
    MUST(t->wait != NULL);
}

/* Starts a task or goes on with it; whether it is done. */
static int step(struct task *t) {
    int result = 0;
    switch (ASYNC_start_job(&t->job, t->wait, &result, body, &t, sizeof t)) {
    case ASYNC_FINISH:
        MUST(result == 1);
        t->done = 1;
        return 1;
    case ASYNC_PAUSE:
        t->pauses++;
        return 0;
    default:
        MUST(!"a job that runs");
        return 0;
    }
}

static int descriptor(struct task *t) {
    OSSL_ASYNC_FD fd = -1;
    size_t count = 0;
    if (t->wait == NULL)
        return -1;
    MUST(ASYNC_WAIT_CTX_get_all_fds(t->wait, NULL, &count) == 1 && count <= 1);
    if (count == 1)
        MUST(ASYNC_WAIT_CTX_get_all_fds(t->wait, &fd, &count) == 1);
    return fd;
}

static int in_child;

/* An event loop: starts all, then goes on with those whose descriptor says so. */
static void loop(struct task *tasks, int n) {
    struct pollfd polls[64];
    int left = 0;
    for (int i = 0; i < n; i++)
        if (!tasks[i].done && tasks[i].job == NULL)
            left += !step(&tasks[i]);
        else
            left += !tasks[i].done;
    while (left > 0) {
        for (int i = 0; i < n; i++) {
            polls[i].fd = tasks[i].done ? -1 : descriptor(&tasks[i]);
            polls[i].events = POLLIN;
            polls[i].revents = 0;
            MUST(tasks[i].done || polls[i].fd >= 0);
        }
        /* What is not readable within minutes was forgotten. */
        MUST(poll(polls, n, 300000) > 0);
        for (int i = 0; i < n; i++)
            if (polls[i].revents & POLLIN)
                left -= step(&tasks[i]);
    }
    for (int i = 0; i < n; i++) {
        /* Nothing wakes a job that does not wait; but a child leaves the wake-ups it shares with its parent. */
        struct pollfd p = {descriptor(&tasks[i]), POLLIN, 0};
        MUST(in_child || p.fd < 0 || poll(&p, 1, 0) == 0);
    }
}

static void finish(struct task *tasks, int n) {
    for (int i = 0; i < n; i++) {
        ASYNC_WAIT_CTX_free(tasks[i].wait);
        tasks[i].wait = NULL;
    }
}


static int descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 1000; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static int pauses(const struct task *tasks, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += tasks[i].pauses;
    return sum;
}

enum { MANY = 16 };

/* Many of each kind: all right, and few batches for many. */
static void batches(void) {
    for (enum kind kind = 0; kind < KINDS; kind++) {
        struct task tasks[MANY];
        for (int i = 0; i < MANY; i++)
            prepare(&tasks[i], kind, i);
        loop(tasks, MANY);
        printf("%s %d\n", names[kind], pauses(tasks, MANY));
        finish(tasks, MANY);
    }
}

/* All kinds in one loop, several operations one after another in each job. */
static void mixed(void) {
    struct task tasks[60];
    for (int i = 0; i < 60; i++) {
        prepare(&tasks[i], i % KINDS, i);
        tasks[i].rounds = 3;
    }
    loop(tasks, 60);
    printf("mixed %d\n", pauses(tasks, 60));
    finish(tasks, 60);
}

/* Fewer than eight: the loop comes round, and then they run. */
static void few(void) {
    for (int n = 1; n < 8; n++) {
        struct task tasks[8];
        for (int i = 0; i < n; i++)
            prepare(&tasks[i], RSA2048, i);
        loop(tasks, n);
        printf("of-%d %d\n", n, pauses(tasks, n));
        finish(tasks, n);
    }
}

/* A job that must not pause, and one that has nothing to be woken by. */
static void blocked(void) {
    struct task tasks[MANY];
    for (int i = 0; i < MANY; i++) {
        prepare(&tasks[i], i % KINDS, i);
        tasks[i].block = 1;
        MUST(step(&tasks[i]) == 1 && tasks[i].pauses == 0);
    }
    finish(tasks, MANY);
    for (int i = 0; i < KINDS; i++) {
        prepare(&tasks[i], i, i);
        ASYNC_WAIT_CTX_free(tasks[i].wait);
        tasks[i].wait = NULL;
        MUST(step(&tasks[i]) == 1 && tasks[i].pauses == 0);
    }
    /* Outside of any job there is nothing to pause either. */
    for (int i = 0; i < KINDS; i++) {
        struct task t, *p = &t;
        prepare(&t, i, i);
        MUST(body(&p) == 1 && descriptor(&t) < 0);
        finish(&t, 1);
    }
}

/* Without a descriptor to be had, operations run at once. */
static void poor(void) {
    struct task tasks[MANY];
    struct rlimit limit = {(rlim_t)descriptors(), 0};
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 3;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (int i = 0; i < MANY; i++) {
        prepare(&tasks[i], i % KINDS, i);
        MUST(step(&tasks[i]) == 1 && tasks[i].pauses == 0);
    }
    finish(tasks, MANY);
    /* With some, a half is left to the program. */
    limit.rlim_cur = 32;
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    struct task more[30];
    int paused = 0, before = descriptors();
    for (int i = 0; i < 30; i++) {
        prepare(&more[i], RSA2048, i);
        paused += !step(&more[i]);
    }
    printf("paused %d\n", paused);
    MUST(descriptors() - before == paused && descriptors() <= 17);
    loop(more, 30);
    finish(more, 30);
    MUST(descriptors() == before);
}

/* Jobs that are never resumed: their neighbours are right, and neither descriptors nor stacks pile up. */
static void abandoned(void) {
    int fds = descriptors();
    for (int round = 0; round < 100; round++) {
        struct task tasks[MANY];
        for (int i = 0; i < MANY; i++)
            prepare(&tasks[i], i % 2 ? ED25519 : (enum kind)(P256 + i / 2 % 8), round + i);
        for (int i = 0; i < MANY; i++)
            step(&tasks[i]);
        for (int i = 0; i < MANY; i++)
            if ((i + round) % 3 == 0) {
                /* As SSL_free does while a job is paused; OpenSSL leaves the job itself to itself. */
                tasks[i].done = 1;
                ASYNC_WAIT_CTX_free(tasks[i].wait);
                tasks[i].wait = NULL;
            }
        loop(tasks, MANY);
        finish(tasks, MANY);
        MUST(descriptors() == fds);
    }
    /* More were left behind than can be queued: their places are free again. */
    struct task tasks[MANY];
    for (int i = 0; i < MANY; i++)
        prepare(&tasks[i], ED25519, i);
    loop(tasks, MANY);
    printf("afterwards %d\n", pauses(tasks, MANY));
    finish(tasks, MANY);
}

/* A child made while jobs are paused goes on with them, and so does the parent; or the child only closes them. */
static void forked(void) {
    for (int close_only = 0; close_only < 2; close_only++) {
        struct task tasks[MANY];
        for (int i = 0; i < MANY; i++)
            prepare(&tasks[i], i % 3 ? RSA2048 : (enum kind)(P256 + i % 8), i);
        for (int i = 0; i < 7; i++)
            step(&tasks[i]);
        fflush(stdout);
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            in_child = 1;
            if (!close_only) {
                loop(tasks, MANY);
                finish(tasks, MANY);
                for (int i = 0; i < MANY; i++)
                    prepare(&tasks[i], RSA2048, i);
                loop(tasks, MANY);
            }
            finish(tasks, MANY);
            fflush(stdout);
            _exit(0);
        }
        int status;
        MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        loop(tasks, MANY);
        finish(tasks, MANY);
    }
}

static void *one_loop(void *argument) {
    struct task tasks[MANY];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < MANY; i++)
            prepare(&tasks[i], argument == NULL ? RSA2048 : (enum kind)(P256 + (i + round) % 8), i);
        loop(tasks, MANY);
        finish(tasks, MANY);
    }
    return NULL;
}

/* A thread that ends with its jobs paused. */
static void *leaver(void *argument) {
    struct task *tasks = argument;
    for (int i = 0; i < 5; i++) {
        prepare(&tasks[i], RSA2048, i);
        step(&tasks[i]);
    }
    return NULL;
}

static void *plain(void *argument) {
    struct task t, *p = &t;
    for (int i = 0; i < 40; i++) {
        prepare(&t, (enum kind)(P256 + i % *(int *)argument), i);
        MUST(body(&p) == 1);
        finish(&t, 1);
    }
    return NULL;
}

/* Loops in several threads, beside threads without jobs and one that leaves its jobs behind. */
static void threads(void) {
    pthread_t ids[8];
    struct task left[5];
    int kinds = 8;
    MUST(pthread_create(&ids[0], NULL, leaver, left) == 0 && pthread_join(ids[0], NULL) == 0);
    for (int i = 0; i < 8; i++)
        MUST(pthread_create(&ids[i], NULL, i < 4 ? one_loop : plain, i < 4 ? (i < 2 ? NULL : (void *)1) : &kinds) == 0);
    for (int i = 0; i < 8; i++)
        MUST(pthread_join(ids[i], NULL) == 0);
    /* Another thread closes what the dead one left. */
    finish(left, 5);
}

static int called(void *argument) {
    ((struct task *)argument)->callbacks++;
    return 1;
}

/* A loop that wants to be called instead of having descriptors. */
static void callbacks(void) {
    struct task tasks[MANY];
    int left = 0;
    for (int i = 0; i < MANY; i++) {
        prepare(&tasks[i], RSA2048, i);
        MUST(ASYNC_WAIT_CTX_set_callback(tasks[i].wait, called, &tasks[i]) == 1);
        left += !step(&tasks[i]);
    }
    printf("called %d\n", left);
    while (left > 0)
        for (int i = 0; i < MANY; i++)
            if (!tasks[i].done) {
                MUST(tasks[i].callbacks >= tasks[i].pauses && descriptor(&tasks[i]) < 0);
                MUST(ASYNC_WAIT_CTX_get_status(tasks[i].wait) == ASYNC_STATUS_OK);
                left -= step(&tasks[i]);
            }
    finish(tasks, MANY);
}

/* ML-KEM, which no lanes serve and which needs much of a stack: a key made, copied by its data, and a secret sent to it. */
static int encapsulate(void *argument) {
    const char *name = *(const char **)argument;
    unsigned char sent[2048], secret[128], found[128];
    size_t n = sizeof sent, s = sizeof secret, f = sizeof found;
    EVP_PKEY *key = NULL, *copy = NULL;
    OSSL_PARAM *data = NULL;
    EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, name, OURS);
    MUST(gen != NULL && EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_generate(gen, &key) == 1);
    MUST(EVP_PKEY_todata(key, EVP_PKEY_KEYPAIR, &data) == 1 && EVP_PKEY_fromdata_init(gen) == 1);
    MUST(EVP_PKEY_fromdata(gen, &copy, EVP_PKEY_KEYPAIR, data) == 1);
    EVP_PKEY_CTX_free(gen);
    OSSL_PARAM_free(data);
    EVP_PKEY_CTX *kem = EVP_PKEY_CTX_new_from_pkey(ctx, copy, OURS);
    MUST(kem != NULL && EVP_PKEY_encapsulate_init(kem, NULL) == 1);
    MUST(EVP_PKEY_encapsulate(kem, sent, &n, secret, &s) == 1 && EVP_PKEY_decapsulate_init(kem, NULL) == 1);
    MUST(EVP_PKEY_decapsulate(kem, found, &f, sent, n) == 1 && f == s && memcmp(found, secret, s) == 0);
    EVP_PKEY_CTX_free(kem);
    EVP_PKEY_free(copy);
    EVP_PKEY_free(key);
    return 1;
}

static void kems(void) {
    static const char *const all[] = {"ML-KEM-512",     "ML-KEM-768",        "ML-KEM-1024",
                                      "X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *name = all[i];
        struct task t;
        int result = 0, state;
        prepare(&t, ED25519, 0);
        do
            state = ASYNC_start_job(&t.job, t.wait, &result, encapsulate, &name, sizeof name);
        while (state == ASYNC_PAUSE);
        MUST(state == ASYNC_FINISH && result == 1);
        finish(&t, 1);
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {
        {"batches", batches},     {"mixed", mixed},   {"few", few},         {"blocked", blocked},     {"poor", poor},
        {"abandoned", abandoned}, {"forked", forked}, {"threads", threads}, {"callbacks", callbacks},
        {"kems", kems},
    };
    MUST(argc == 3 && CRYPTO_set_mem_functions(allocate, reallocate, release) == 1);
    ctx = OSSL_LIB_CTX_new();
    MUST(ctx != NULL && OSSL_LIB_CTX_load_config(ctx, argv[1]) == 1 && OSSL_PROVIDER_available(ctx, "adjunct") == 1);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(argv[2], scenarios[i].name) == 0) {
            scenarios[i].run();
            fflush(stdout);
            return 0;
        }
    printf("no scenario %s\n", argv[2]);
    return 2;
}
