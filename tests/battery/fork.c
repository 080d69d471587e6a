/*
 * Children of a process whose other threads are within OpenSSL.
 *
 *     fork held           a child uses OpenSSL while a thread of its parent's holds libcrypto's lock of engines
 *     fork count N WORK   forks N children beside busy threads, each of which works, and prints how many did not come back;
 *                         WORK is keys (new keys) or all
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <errno.h>
#include <openssl/ec.h>
#include <openssl/engine.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes keys as low-level programs do. */
static int keys(void)
{
    RSA *rsa = RSA_new();
    EC_KEY *ec = EC_KEY_new();
    int good = rsa != NULL && ec != NULL;
    RSA_free(rsa);
    EC_KEY_free(ec);
    return good;
}

/* Signs, hashes, encrypts and draws random bytes besides. */
static int all(void)
{
    unsigned char data[32] = { 1 }, out[512];
    unsigned int length = 0;
    EC_KEY *ec = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
    int good = keys() && ec != NULL && EC_KEY_generate_key(ec) == 1 && ECDSA_sign(0, data, 32, out, &length, ec) == 1
               && ECDSA_verify(0, data, 32, out, (int)length, ec) == 1;
    EC_KEY_free(ec);
    good &= EVP_Digest(data, 32, out, &length, EVP_sha256(), NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    good &= EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, data, data);
    EVP_CIPHER_CTX_free(ctx);
    return good && RAND_bytes(out, 32) == 1;
}

static int inside[2], go_on[2];

static int wait_inside(ENGINE *e)
{
    char byte = 0;
    (void)e;
    return write(inside[1], &byte, 1) == 1 && read(go_on[0], &byte, 1) == 1;
}

/* ENGINE_init calls the engine's function while it holds the lock. */
static void *hold(void *e)
{
    ENGINE_init(e);
    return NULL;
}

static int held(void)
{
    pthread_t thread;
    char byte = 0;
    int status = 0;
    ENGINE *e = ENGINE_new();
    if (all() != 1 || e == NULL || pipe(inside) != 0 || pipe(go_on) != 0 || ENGINE_set_init_function(e, wait_inside) != 1)
        return 2;
    pthread_create(&thread, NULL, hold, e);
    if (read(inside[0], &byte, 1) != 1)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(all() == 1 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (write(go_on[1], &byte, 1) != 1)
        return 2;
    pthread_join(thread, NULL);
    ENGINE_finish(e);
    ENGINE_free(e);
    puts(WIFSIGNALED(status) ? "hung" : WEXITSTATUS(status) == 0 ? "good" : "failed");
    return 0;
}

static volatile int stop;
static int (*work)(void);

/* Most of its time out of OpenSSL's locks, as programs spend it: else most children would hang, with stock too. */
static void *busy(void *nothing)
{
    static unsigned char data[1 << 18];
    unsigned char digest[32];
    unsigned int length;
    while (!stop) {
        work();
        EVP_Digest(data, sizeof data, digest, &length, EVP_sha256(), NULL);
    }
    return nothing;
}

/* So many children at a time: one that hangs is waited for until its alarm. */
enum { TOGETHER = 12, PATIENCE = 10 };

static int reap(int *hung)
{
    int status = 0;
    if (waitpid(-1, &status, 0) < 0)
        return 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        ++*hung;
    else if (status != 0)
        printf("a child ended with %x\n", status);
    return 1;
}

static int count(int times)
{
    pthread_t threads[4];
    int running = 0, hung = 0;
    if (work() != 1)
        return 2;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, busy, NULL);
    for (int i = 0; i < times; i++) {
        if (running == TOGETHER)
            running -= reap(&hung);
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE);
            _exit(work() == 1 ? 0 : 1);
        }
        running += child > 0;
    }
    while (reap(&hung)) {
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", hung);
    return 0;
}

int main(int argc, char **argv)
{
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL);
    work = argc == 4 && strcmp(argv[3], "all") == 0 ? all : keys;
    return argc == 4 ? count(atoi(argv[2])) : held();
}
