/*
 * Preloaded into ssh and sshd by benches/ssh: the processor time they spend in libcrypto's low-level public-key functions,
 * in a file that is mapped before the sandbox closes. Calls within calls count once.
 *
 * PUBLIC_KEY_TIMES names the file: for each function the number of calls and the nanoseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct row {
    _Atomic uint64_t calls, nanoseconds;
};

static struct row *rows;
static __thread int depth;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

#define FUNCTIONS(DO)                                                                                       \
    DO(0, int, EC_KEY_generate_key, (void *key), (key))                                                     \
    DO(1, int, ECDH_compute_key, (void *out, size_t n, void *peer, void *key, void *kdf), (out, n, peer, key, kdf)) \
    DO(2, void *, ECDSA_do_sign, (const void *digest, int n, void *key), (digest, n, key))                  \
    DO(3, int, ECDSA_do_verify, (const void *digest, int n, void *sig, void *key), (digest, n, sig, key))   \
    DO(4, int, EC_POINT_mul, (void *group, void *out, void *n, void *point, void *m, void *ctx), (group, out, n, point, m, ctx))

#define WRAP(index, type, name, parameters, arguments)           \
    static type(*real_##name) parameters;                        \
    type name parameters                                         \
    {                                                            \
        uint64_t begun = depth++ == 0 ? now() : 0;               \
        type result = real_##name arguments;                     \
        if (--depth == 0 && rows != NULL) {                      \
            rows[index].calls++;                                 \
            rows[index].nanoseconds += now() - begun;            \
        }                                                        \
        return result;                                           \
    }

#define FIND(index, type, name, parameters, arguments) real_##name = (type(*) parameters)dlsym(RTLD_NEXT, #name);

FUNCTIONS(WRAP)

__attribute__((constructor)) static void begin(void)
{
    FUNCTIONS(FIND)
    const char *path = getenv("PUBLIC_KEY_TIMES");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map != MAP_FAILED)
        rows = map;
}
