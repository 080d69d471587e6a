/* A foreign program that loads the provider and lives in every way a program can. Run as: program CONFIG MODULE SCENARIO.
 * It exits with 0 when all went well; otherwise it says what did not. tests/lifecycle.rs compiles and runs it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
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

static const char *config;
static const char *const OURS = "provider=adjunct";

static OSSL_LIB_CTX *load(void) {
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    MUST(ctx != NULL);
    MUST(OSSL_LIB_CTX_load_config(ctx, config) == 1);
    MUST(OSSL_PROVIDER_available(ctx, "adjunct") == 1);
    return ctx;
}

/* A cipher in the middle of a message. */
struct half {
    EVP_CIPHER_CTX *cipher;
    EVP_MD_CTX *digest;
    EVP_PKEY *rsa;
    OSSL_LIB_CTX *ctx;
};

static void seal(EVP_CIPHER_CTX *c, const unsigned char *in, int n, unsigned char *tag) {
    unsigned char out[256];
    int m;
    MUST(EVP_EncryptUpdate(c, out, &m, in, n) == 1);
    MUST(EVP_EncryptFinal_ex(c, out, &m) == 1);
    MUST(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
}

static struct half begin(OSSL_LIB_CTX *ctx) {
    static const unsigned char key[16] = "0123456789abcdef", iv[12] = "nonce", text[100] = "text";
    unsigned char out[256];
    int m;
    struct half h = {EVP_CIPHER_CTX_new(), EVP_MD_CTX_new(), NULL, ctx};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, "AES-128-GCM", OURS);
    EVP_MD *md = EVP_MD_fetch(ctx, "SHA256", OURS);
    EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, "RSA", OURS);
    MUST(cipher != NULL && md != NULL && gen != NULL);
    MUST(EVP_EncryptInit_ex2(h.cipher, cipher, key, iv, NULL) == 1);
    MUST(EVP_EncryptUpdate(h.cipher, out, &m, text, 77) == 1);
    MUST(EVP_DigestInit_ex2(h.digest, md, NULL) == 1);
    MUST(EVP_DigestUpdate(h.digest, text, 77) == 1);
    MUST(EVP_PKEY_keygen_init(gen) == 1 && EVP_PKEY_generate(gen, &h.rsa) == 1);
    EVP_PKEY_CTX_free(gen);
    EVP_CIPHER_free(cipher);
    EVP_MD_free(md);
    return h;
}

/* Finishes what `begin` began: the results must not depend on who finishes it. */
static void finish(struct half h) {
    static const unsigned char text[100] = "the rest";
    unsigned char tag[16], sum[32], sig[512];
    size_t n = sizeof sig;
    seal(h.cipher, text, 100, tag);
    MUST(EVP_DigestUpdate(h.digest, text, 100) == 1);
    MUST(EVP_DigestFinal_ex(h.digest, sum, NULL) == 1);
    printf("finished %02x%02x%02x%02x %02x%02x%02x%02x\n", tag[0], tag[1], tag[2], tag[3], sum[0], sum[1], sum[2], sum[3]);
    EVP_PKEY_CTX *sign = EVP_PKEY_CTX_new_from_pkey(h.ctx, h.rsa, OURS);
    MUST(sign != NULL && EVP_PKEY_sign_init(sign) == 1 && EVP_PKEY_sign(sign, sig, &n, sum, 32) == 1);
    EVP_PKEY_CTX *verify = EVP_PKEY_CTX_new_from_pkey(h.ctx, h.rsa, OURS);
    MUST(EVP_PKEY_verify_init(verify) == 1 && EVP_PKEY_verify(verify, sig, n, sum, 32) == 1);
    EVP_PKEY_CTX_free(sign);
    EVP_PKEY_CTX_free(verify);
    EVP_CIPHER_CTX_free(h.cipher);
    EVP_MD_CTX_free(h.digest);
    EVP_PKEY_free(h.rsa);
}

/* A fresh key of `type`; its public half goes to `out`. */
static EVP_PKEY *fresh(OSSL_LIB_CTX *ctx, const char *type, const char *group, unsigned char *out, size_t *n) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *gen = EVP_PKEY_CTX_new_from_name(ctx, type, OURS);
    OSSL_PARAM params[2] = {OSSL_PARAM_END, OSSL_PARAM_END};
    if (group != NULL)
        params[0] = OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, (char *)group, 0);
    MUST(gen != NULL && EVP_PKEY_keygen_init(gen) == 1);
    MUST(EVP_PKEY_CTX_set_params(gen, params) == 1);
    MUST(EVP_PKEY_generate(gen, &key) == 1);
    MUST(EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, out, *n, n) == 1);
    EVP_PKEY_CTX_free(gen);
    return key;
}

/* One of each kind but RSA, all served by the provider. */
static void work(OSSL_LIB_CTX *ctx) {
    static const unsigned char key[32] = "key", iv[16] = "iv", text[64] = "text";
    unsigned char out[256], mac[64], point[200];
    size_t n = sizeof mac, size = sizeof point;
    int m;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(ctx, "AES-256-CTR", OURS);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    MUST(cipher != NULL && EVP_EncryptInit_ex2(c, cipher, key, iv, NULL) == 1);
    MUST(EVP_EncryptUpdate(c, out, &m, text, sizeof text) == 1 && m == sizeof text);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);

    EVP_MD *md = EVP_MD_fetch(ctx, "SHA512", OURS);
    EVP_MD_CTX *d = EVP_MD_CTX_new();
    MUST(md != NULL && EVP_DigestInit_ex2(d, md, NULL) == 1 && EVP_DigestUpdate(d, text, sizeof text) == 1);
    MUST(EVP_DigestFinal_ex(d, out, NULL) == 1);
    EVP_MD_CTX_free(d);
    EVP_MD_free(md);

    EVP_MAC *hmac = EVP_MAC_fetch(ctx, "HMAC", OURS);
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0), OSSL_PARAM_END};
    MUST(hmac != NULL);
    EVP_MAC_CTX *h = EVP_MAC_CTX_new(hmac);
    MUST(EVP_MAC_init(h, key, sizeof key, params) == 1 && EVP_MAC_update(h, text, sizeof text) == 1);
    MUST(EVP_MAC_final(h, mac, &n, sizeof mac) == 1 && n == 32);
    EVP_MAC_CTX_free(h);
    EVP_MAC_free(hmac);

    EVP_PKEY *ec = fresh(ctx, "EC", "P-256", point, &size);
    EVP_PKEY_CTX *sign = EVP_PKEY_CTX_new_from_pkey(ctx, ec, OURS);
    size = sizeof out;
    MUST(sign != NULL && EVP_PKEY_sign_init(sign) == 1 && EVP_PKEY_sign(sign, out, &size, mac, 32) == 1);
    EVP_PKEY_CTX_free(sign);
    sign = EVP_PKEY_CTX_new_from_pkey(ctx, ec, OURS);
    MUST(EVP_PKEY_verify_init(sign) == 1 && EVP_PKEY_verify(sign, out, size, mac, 32) == 1);
    EVP_PKEY_CTX_free(sign);
    EVP_PKEY_free(ec);

    size = sizeof point;
    EVP_PKEY *x = fresh(ctx, "X25519", NULL, point, &size);
    EVP_PKEY_CTX *derive = EVP_PKEY_CTX_new_from_pkey(ctx, x, OURS);
    size = sizeof out;
    MUST(derive != NULL && EVP_PKEY_derive_init(derive) == 1 && EVP_PKEY_derive_set_peer(derive, x) == 1);
    MUST(EVP_PKEY_derive(derive, out, &size) == 1 && size == 32);
    EVP_PKEY_CTX_free(derive);
    EVP_PKEY_free(x);
}

static int entries(const char *path) {
    int n = 0;
    DIR *dir = opendir(path);
    MUST(dir != NULL);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static int threads(void) { return entries("/proc/self/task") - 2; }

/* Dirty pages only: clean ones belong to files, and count as private or not by who else has them mapped just now. */
static long private_kb(void) {
    char line[256];
    long sum = 0, value;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Private_Dirty: %ld", &value) == 1)
            sum += value;
    fclose(file);
    return sum;
}

/* Of the process: another program's turn in between shall not count. */
static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void joined(pid_t child) {
    int status;
    MUST(child > 0);
    MUST(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        printf("a child ended with status 0x%x\n", status);
        fflush(stdout);
        _exit(1);
    }
}

/* Loaded, used and unloaded a thousand times: nothing may pile up. */
static void reload(void) {
    long before = 0;
    int fds = 0;
    for (int i = 0; i < 1000; i++) {
        OSSL_LIB_CTX *ctx = load();
        if (i % 10 == 0)
            work(ctx);
        OSSL_LIB_CTX_free(ctx);
        if (i == 200) {
            before = private_kb();
            fds = entries("/proc/self/fd");
        }
    }
    MUST(threads() == 1);
    MUST(entries("/proc/self/fd") == fds);
    long grown = private_kb() - before;
    printf("800 loads more: %ld KB\n", grown);
    MUST(grown < 1024);
}

/* No thread is started, no descriptor kept; time and memory of a load are told. */
static void footprint(void) {
    OSSL_LIB_CTX *plain = OSSL_LIB_CTX_new();
    MUST(OSSL_PROVIDER_load(plain, "default") != NULL);
    EVP_MD_free(EVP_MD_fetch(plain, "SHA256", NULL));
    int fds = entries("/proc/self/fd");
    long memory = private_kb();
    double start = cpu_ms();
    OSSL_LIB_CTX *ctx = load();
    double first = cpu_ms() - start;
    int after = entries("/proc/self/fd");
    long loaded = private_kb();
    work(ctx);
    struct half h = begin(ctx);
    finish(h);
    long used = private_kb();
    MUST(after == fds && entries("/proc/self/fd") == fds);
    MUST(threads() == 1);
    printf("load %.2f ms CPU, private memory: loaded %ld KB, used %ld KB\n", first, loaded - memory, used - memory);
    MUST(memory < 0 || used - memory < 4096);
    OSSL_LIB_CTX_free(ctx);
    OSSL_LIB_CTX_free(plain);
}

/* A child does `body`'s work, and so does the parent. */
#define FORKED(body)                                                                                                   \
    do {                                                                                                               \
        fflush(stdout);                                                                                                \
        pid_t child = fork();                                                                                          \
        { body; }                                                                                                      \
        if (child == 0) {                                                                                              \
            fflush(stdout);                                                                                            \
            _exit(0);                                                                                                  \
        }                                                                                                              \
        joined(child);                                                                                                 \
    } while (0)

static void *fork_in_thread(void *ctx) {
    FORKED(work(ctx));
    return NULL;
}

static void forks(void) {
    FORKED(OSSL_LIB_CTX *own = load(); work(own); OSSL_LIB_CTX_free(own));
    OSSL_LIB_CTX *ctx = load();
    FORKED(work(ctx));
    work(ctx);
    struct half h = begin(ctx);
    FORKED(finish(h));
    FORKED(FORKED(work(ctx)));
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, fork_in_thread, ctx) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    FORKED(OSSL_LIB_CTX_free(ctx));
    FORKED(OSSL_LIB_CTX *own = load(); work(own); OSSL_LIB_CTX_free(own));
    /* A child that ends as programs do, with its exit handlers. */
    OSSL_LIB_CTX *last = load();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work(last);
        exit(0);
    }
    joined(child);
    work(last);
}

/* Parent and children must not draw the same random numbers. */
static void random_after_fork(void) {
    enum { CHILDREN = 8 };
    unsigned char points[CHILDREN + 1][32];
    OSSL_LIB_CTX *ctx = load();
    size_t n = 32;
    EVP_PKEY_free(fresh(ctx, "X25519", NULL, points[0], &n));
    for (int i = 0; i < CHILDREN; i++) {
        int ends[2];
        MUST(pipe(ends) == 0);
        pid_t child = fork();
        if (child == 0) {
            n = 32;
            EVP_PKEY_free(fresh(ctx, "X25519", NULL, points[0], &n));
            MUST(write(ends[1], points[0], 32) == 32);
            _exit(0);
        }
        MUST(read(ends[0], points[i], 32) == 32);
        joined(child);
        close(ends[0]);
        close(ends[1]);
    }
    n = 32;
    EVP_PKEY_free(fresh(ctx, "X25519", NULL, points[CHILDREN], &n));
    for (int i = 0; i <= CHILDREN; i++)
        for (int j = 0; j < i; j++)
            MUST(memcmp(points[i], points[j], 32) != 0);
    OSSL_LIB_CTX_free(ctx);
}

static pthread_barrier_t loaded, unloaded;

static void *works(void *ctx) {
    for (int i = 0; i < 50; i++)
        work(ctx);
    return NULL;
}

/* OpenSSL 3.0 itself does not survive this when the thread has drawn from its generator in `ctx`; ours must not draw. */
static void *outlives(void *ctx) {
    work(ctx);
    pthread_barrier_wait(&loaded);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void *started_before(void *place) {
    pthread_barrier_wait(&loaded);
    work(*(OSSL_LIB_CTX **)place);
    return NULL;
}

static void thread_ends(void) {
    pthread_t thread[8];
    OSSL_LIB_CTX *ctx = NULL;
    /* Older than the module. */
    MUST(pthread_barrier_init(&loaded, NULL, 2) == 0 && pthread_barrier_init(&unloaded, NULL, 9) == 0);
    MUST(pthread_create(&thread[0], NULL, started_before, &ctx) == 0);
    ctx = load();
    pthread_barrier_wait(&loaded);
    MUST(pthread_join(thread[0], NULL) == 0);
    /* All at once, and gone before the module. */
    for (int i = 0; i < 8; i++)
        MUST(pthread_create(&thread[i], NULL, works, ctx) == 0);
    for (int i = 0; i < 8; i++)
        MUST(pthread_join(thread[i], NULL) == 0);
    /* Still there when the module goes. */
    pthread_barrier_destroy(&loaded);
    MUST(pthread_barrier_init(&loaded, NULL, 9) == 0);
    for (int i = 0; i < 8; i++)
        MUST(pthread_create(&thread[i], NULL, outlives, ctx) == 0);
    pthread_barrier_wait(&loaded);
    OSSL_LIB_CTX_free(ctx);
    pthread_barrier_wait(&unloaded);
    for (int i = 0; i < 8; i++)
        MUST(pthread_join(thread[i], NULL) == 0);
    ctx = load();
    work(ctx);
    OSSL_LIB_CTX_free(ctx);
}

/* The bare library, opened and closed, before and after real use. */
static void closes(const char *module) {
    for (int i = 0; i < 100; i++) {
        void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
        MUST(handle != NULL && dlsym(handle, "OSSL_provider_init") != NULL);
        MUST(dlclose(handle) == 0);
    }
    OSSL_LIB_CTX *ctx = load();
    work(ctx);
    void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    MUST(handle != NULL);
    OSSL_LIB_CTX_free(ctx);
    MUST(dlclose(handle) == 0);
}

static void *exits(void *ctx) {
    struct half h = begin(ctx);
    (void)h;
    fflush(stdout);
    exit(0);
}

static void *waits(void *ctx) {
    struct half h = begin(ctx);
    (void)h;
    pthread_barrier_wait(&loaded);
    pause();
    return NULL;
}

/* exit() with contexts alive: from main, or from another thread while others wait with theirs. */
static void leave(int from_thread) {
    OSSL_LIB_CTX *ctx = load();
    MUST(pthread_barrier_init(&loaded, NULL, 2) == 0);
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, waits, ctx) == 0);
    pthread_barrier_wait(&loaded);
    if (!from_thread)
        exits(ctx);
    MUST(pthread_create(&thread, NULL, exits, ctx) == 0);
    pause();
}

/* The same, loaded by the default library context, which OpenSSL tears down in its own exit handler. */
static void leave_default(void) {
    MUST(OSSL_LIB_CTX_load_config(NULL, config) == 1);
    work(NULL);
    exits(NULL);
}

static EVP_RAND_CTX *generator(OSSL_LIB_CTX *ctx) {
    EVP_RAND *rand = EVP_RAND_fetch(ctx, "CTR-DRBG", OURS);
    MUST(rand != NULL);
    EVP_RAND_CTX *own = EVP_RAND_CTX_new(rand, NULL);
    MUST(own != NULL && EVP_RAND_instantiate(own, 128, 0, NULL, 0, NULL) == 1);
    EVP_RAND_free(rand);
    return own;
}

/* Nothing is fetched: that takes locks of libcrypto's own. */
static void draw(EVP_RAND_CTX *own) {
    unsigned char out[32];
    MUST(EVP_RAND_generate(own, out, sizeof out, 128, 0, NULL, 0) == 1);
}

static void *draws_on(void *own) {
    for (;;)
        draw(own);
    return NULL;
}

/* Forks while other threads draw random bytes: a lock that one of them holds must not stop the child, which has no such thread. */
static void forks_of_busy(void) {
    pthread_t thread;
    OSSL_LIB_CTX *ctx = load();
    EVP_RAND_CTX *own = generator(ctx);
    for (int i = 0; i < 4; i++)
        MUST(pthread_create(&thread, NULL, draws_on, generator(ctx)) == 0);
    for (int i = 0; i < 200; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(50);
            draw(own);
            _exit(0);
        }
        joined(child);
        draw(own);
    }
}

static EVP_RAND_CTX *late_generator;

static void draw_late(void) {
    draw(late_generator);
    printf("late\n");
    fflush(stdout);
}

/* Another library draws random bytes in its destructor. glibc ends libraries that do not need each other as they were loaded. */
static void calls_after_the_end(const char *library) {
    pthread_t thread;
    MUST(OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1);
    OSSL_LIB_CTX *ctx = load();
    void *late = dlopen(library, RTLD_NOW);
    MUST(late != NULL);
    void (**last)(void) = dlsym(late, "last");
    MUST(last != NULL);
    late_generator = generator(ctx);
    *last = draw_late;
    draw(late_generator);
    MUST(pthread_create(&thread, NULL, draws_on, generator(ctx)) == 0);
    usleep(10000);
}

#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(name)                                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES)

/* The system calls that sshd's sandbox leaves (OpenSSH 9.2 and 10.0 together: what either kills is killed). */
static void sandbox(void) {
    OSSL_LIB_CTX *ctx = load();
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(openat), REFUSE(newfstatat), REFUSE(shmget), REFUSE(madvise),
        ALLOW(read), ALLOW(write), ALLOW(close), ALLOW(getpid), ALLOW(geteuid), ALLOW(getuid), ALLOW(getrandom),
        ALLOW(clock_gettime), ALLOW(gettimeofday), ALLOW(poll), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(brk),
        ALLOW(futex), ALLOW(rt_sigprocmask), ALLOW(exit), ALLOW(exit_group),
#ifdef SYS_open
        REFUSE(open), REFUSE(stat),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    /* What OpenSSL itself opens for its own generator it opens now, as sshd makes it. */
    unsigned char seed[16];
    MUST(RAND_bytes_ex(ctx, seed, sizeof seed, 0) == 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    work(ctx);
    struct half h = begin(ctx);
    finish(h);
    OSSL_LIB_CTX_free(ctx);
    _exit(0);
}

/* Loads with standard error closed, or a socket that nothing may be written to. */
static void no_stderr(int socket_instead) {
    int pair[2];
    char byte;
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    if (socket_instead)
        MUST(dup2(pair[1], 2) == 2);
    else
        close(2);
    OSSL_LIB_CTX *ctx = load();
    work(ctx);
    MUST(recv(pair[0], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    MUST(socket_instead || fcntl(2, F_GETFD) == -1);
    OSSL_LIB_CTX_free(ctx);
}

static void simple(void) {
    OSSL_LIB_CTX *ctx = load();
    work(ctx);
    OSSL_LIB_CTX_free(ctx);
}

int main(int argc, char **argv) {
    MUST(argc == 4);
    config = argv[1];
    const char *scenario = argv[3];
#define SCENARIO(name, call)                                                                                           \
    if (strcmp(scenario, name) == 0) {                                                                                 \
        call;                                                                                                          \
        return 0;                                                                                                      \
    }
    SCENARIO("simple", simple());
    SCENARIO("reload", reload());
    SCENARIO("footprint", footprint());
    SCENARIO("forks", forks());
    SCENARIO("random", random_after_fork());
    SCENARIO("threads", thread_ends());
    SCENARIO("closes", closes(argv[2]));
    SCENARIO("exit", leave(0));
    SCENARIO("exit-thread", leave(1));
    SCENARIO("exit-default", leave_default());
    SCENARIO("fork-busy", forks_of_busy());
    SCENARIO("late", calls_after_the_end(getenv("LATE")));
    SCENARIO("sandbox", sandbox());
    SCENARIO("stderr-closed", no_stderr(0));
    SCENARIO("stderr-socket", no_stderr(1));
    printf("no scenario %s\n", scenario);
    return 2;
}
