/*
 * Low-level RSA and EC calls with the engine's methods and with OpenSSL's own, as programs made before providers use them
 * (OpenSSH up to 9.8): the two must agree in results, return values and errors.
 *
 *     program MODULE [WORK]     WORK: rsa, ec, change, threads, fork; all of them without
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdh.h>
#include <openssl/ecdsa.h>
#include <openssl/objects.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

/* The same key under OpenSSL's own methods. */
static RSA *rsa_stock(const RSA *from)
{
    const BIGNUM *n, *e, *d, *p, *q, *dp, *dq, *qi;
    RSA *rsa = RSA_new();
    CHECK(rsa != NULL && RSA_get_method(rsa) == RSA_PKCS1_OpenSSL());
    RSA_get0_key(from, &n, &e, &d);
    RSA_get0_factors(from, &p, &q);
    RSA_get0_crt_params(from, &dp, &dq, &qi);
    CHECK(RSA_set0_key(rsa, BN_dup(n), BN_dup(e), BN_dup(d)) == 1);
    CHECK(RSA_set0_factors(rsa, BN_dup(p), BN_dup(q)) == 1);
    CHECK(RSA_set0_crt_params(rsa, BN_dup(dp), BN_dup(dq), BN_dup(qi)) == 1);
    return rsa;
}

static RSA *rsa_ours(int bits)
{
    RSA *rsa = RSA_new_method(engine);
    BIGNUM *e = BN_new();
    CHECK(rsa != NULL && RSA_get_method(rsa) != RSA_PKCS1_OpenSSL());
    BN_set_word(e, 65537);
    CHECK(RSA_generate_key_ex(rsa, bits, e, NULL) == 1);
    BN_free(e);
    return rsa;
}

typedef int operation(int, const unsigned char *, unsigned char *, RSA *, int);

/* Both sides do the same; deterministic results are compared byte for byte. */
static void both(const char *name, operation *run, RSA *ours, RSA *stock, int length, const unsigned char *in,
                 int padding, int compare)
{
    unsigned char a[1024], b[1024];
    ERR_clear_error();
    int x = run(length, in, a, ours, padding);
    unsigned long xe = ERR_GET_REASON(ERR_peek_last_error());
    ERR_clear_error();
    int y = run(length, in, b, stock, padding);
    unsigned long ye = ERR_GET_REASON(ERR_peek_last_error());
    CHECK(x == y, "%s, padding %d, length %d, %d bits: ours %d, stock %d", name, padding, length, RSA_bits(ours), x, y);
    if (x < 0)
        CHECK(xe == ye, "%s, padding %d: errors %lu and %lu", name, padding, xe, ye);
    else if (compare)
        CHECK(memcmp(a, b, x) == 0, "%s, padding %d, %d bits", name, padding, RSA_bits(ours));
}

static void rsa_pair(RSA *ours, RSA *stock)
{
    static const int paddings[] = { RSA_PKCS1_PADDING, RSA_NO_PADDING, RSA_PKCS1_OAEP_PADDING, RSA_X931_PADDING, 99 };
    int size = RSA_size(ours);
    unsigned char data[1024], cipher[1024], plain[1024], signature[1024];
    RAND_bytes(data, sizeof data);
    data[0] = 0;
    int lengths[] = { 0, 1, 20, 32, size - 42, size - 11, size - 10, size - 1, size, size + 1 };
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t p = 0; p < sizeof paddings / sizeof *paddings; p++) {
            both("private encrypt", RSA_private_encrypt, ours, stock, lengths[l], data, paddings[p], 1);
            both("public encrypt", RSA_public_encrypt, ours, stock, lengths[l], data, paddings[p],
                 paddings[p] == RSA_NO_PADDING);
            both("public decrypt", RSA_public_decrypt, ours, stock, lengths[l], data, paddings[p], 1);
            if (paddings[p] != RSA_PKCS1_PADDING)
                both("private decrypt", RSA_private_decrypt, ours, stock, lengths[l], data, paddings[p], 1);
        }
    memset(data, 0xff, size); /* above the modulus */
    both("private encrypt", RSA_private_encrypt, ours, stock, size, data, RSA_NO_PADDING, 1);
    both("public decrypt", RSA_public_decrypt, ours, stock, size, data, RSA_NO_PADDING, 1);
    RAND_bytes(data, 32);
    for (size_t p = 0; p < 3; p += 2) {
        RSA *ends[2][2] = { { ours, stock }, { stock, ours } };
        for (int i = 0; i < 2; i++) {
            int n = RSA_public_encrypt(16, data, cipher, ends[i][0], paddings[p]);
            CHECK(n == size);
            CHECK(RSA_private_decrypt(n, cipher, plain, ends[i][1], paddings[p]) == 16);
            CHECK(memcmp(plain, data, 16) == 0);
        }
    }
    unsigned int length;
    static const struct { int nid, length; } hashes[] = { { NID_sha1, 20 }, { NID_sha256, 32 }, { NID_sha512, 64 } };
    for (size_t h = 0; h < 3; h++) {
        if (size < hashes[h].length + 30)
            continue;
        CHECK(RSA_sign(hashes[h].nid, data, hashes[h].length, signature, &length, ours) == 1);
        CHECK(RSA_verify(hashes[h].nid, data, hashes[h].length, signature, length, stock) == 1);
        CHECK(RSA_verify(hashes[h].nid, data, hashes[h].length, signature, length, ours) == 1);
        signature[size / 2] ^= 1;
        CHECK(RSA_verify(hashes[h].nid, data, hashes[h].length, signature, length, ours) == 0);
        ERR_clear_error();
    }
}

static void rsa(void)
{
    static const int sizes[] = { 512, 1024, 2047, 2048, 3072 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        RSA *ours = rsa_ours(sizes[i]), *stock = rsa_stock(ours);
        rsa_pair(ours, stock);
        RSA_free(ours);
        RSA_free(stock);
    }
}

/* A program may give an object other numbers after it was used. */
static void change(void)
{
    unsigned char data[32], signature[512];
    unsigned int length;
    memset(data, 7, sizeof data);
    RSA *ours = rsa_ours(1024);
    for (int i = 0; i < 3; i++) {
        RSA *other = rsa_ours(1024);
        const BIGNUM *n, *e, *d, *p, *q, *dp, *dq, *qi;
        RSA_get0_key(other, &n, &e, &d);
        RSA_get0_factors(other, &p, &q);
        RSA_get0_crt_params(other, &dp, &dq, &qi);
        RSA_set0_key(ours, BN_dup(n), BN_dup(e), BN_dup(d));
        RSA_set0_factors(ours, BN_dup(p), BN_dup(q));
        RSA_set0_crt_params(ours, BN_dup(dp), BN_dup(dq), BN_dup(qi));
        RSA *stock = rsa_stock(other);
        CHECK(RSA_sign(NID_sha256, data, 32, signature, &length, ours) == 1);
        CHECK(RSA_verify(NID_sha256, data, 32, signature, length, stock) == 1, "round %d", i);
        RSA_free(stock);
        RSA_free(other);
    }
    RSA_free(ours);
}

static EC_KEY *ec_new(int nid, ENGINE *with)
{
    EC_KEY *key = EC_KEY_new_method(with);
    EC_GROUP *group = EC_GROUP_new_by_curve_name(nid);
    CHECK(key != NULL && group != NULL, "%s", OBJ_nid2sn(nid));
    CHECK(EC_KEY_set_group(key, group) == 1);
    EC_GROUP_free(group);
    return key;
}

static void ec_curve(int nid)
{
    const char *name = OBJ_nid2sn(nid);
    unsigned char digest[64], sa[80], sb[80], der[160];
    unsigned int length;
    EC_KEY *ours = ec_new(nid, engine), *stock = ec_new(nid, NULL), *peer = ec_new(nid, NULL);
    CHECK(EC_KEY_generate_key(ours) == 1, "%s", name);
    CHECK(EC_KEY_check_key(ours) == 1, "%s", name);
    CHECK(EC_KEY_generate_key(peer) == 1);
    CHECK(EC_KEY_set_private_key(stock, EC_KEY_get0_private_key(ours)) == 1);
    CHECK(EC_KEY_set_public_key(stock, EC_KEY_get0_public_key(ours)) == 1);
    RAND_bytes(digest, sizeof digest);
    for (int n = 0; n <= 64; n += 16) {
        ECDSA_SIG *sig = ECDSA_do_sign(digest, n, ours);
        CHECK(sig != NULL, "%s, %d bytes", name, n);
        CHECK(ECDSA_do_verify(digest, n, sig, stock) == 1, "%s, %d bytes", name, n);
        CHECK(ECDSA_do_verify(digest, n, sig, ours) == 1, "%s, %d bytes", name, n);
        if (n > 0) {
            digest[0] ^= 0x80;
            CHECK(ECDSA_do_verify(digest, n, sig, ours) == 0, "%s", name);
            digest[0] ^= 0x80;
        }
        ECDSA_SIG_set0(sig, BN_new(), BN_new()); /* zeros are in no signature */
        CHECK(ECDSA_do_verify(digest, n, sig, ours) == ECDSA_do_verify(digest, n, sig, stock));
        ECDSA_SIG_free(sig);
        sig = ECDSA_do_sign(digest, n, stock);
        CHECK(ECDSA_do_verify(digest, n, sig, ours) == 1, "%s, %d bytes", name, n);
        ECDSA_SIG_free(sig);
        CHECK(ECDSA_sign(0, digest, n, der, &length, ours) == 1, "%s", name);
        CHECK((int)length <= ECDSA_size(ours));
        CHECK(ECDSA_verify(0, digest, n, der, length, stock) == 1, "%s", name);
        CHECK(ECDSA_verify(0, digest, n, der, length, ours) == 1, "%s", name);
        CHECK(ECDSA_verify(0, digest, n, der, length - 1, ours) == ECDSA_verify(0, digest, n, der, length - 1, stock));
        BIGNUM *kinv = NULL, *r = NULL;
        CHECK(ECDSA_sign_setup(ours, NULL, &kinv, &r) == 1, "%s", name);
        sig = ECDSA_do_sign_ex(digest, n, kinv, r, ours);
        CHECK(sig != NULL && ECDSA_do_verify(digest, n, sig, stock) == 1, "%s", name);
        ECDSA_SIG_free(sig);
        BN_clear_free(kinv);
        BN_clear_free(r);
    }
    size_t field = (EC_GROUP_get_degree(EC_KEY_get0_group(ours)) + 7) / 8;
    const EC_POINT *point = EC_KEY_get0_public_key(peer);
    for (size_t n = 1; n <= field; n += field - 1) {
        CHECK(ECDH_compute_key(sa, n, point, ours, NULL) == (int)n, "%s", name);
        CHECK(ECDH_compute_key(sb, n, point, stock, NULL) == (int)n, "%s", name);
        CHECK(memcmp(sa, sb, n) == 0, "%s", name);
    }
    EC_POINT *infinity = EC_POINT_new(EC_KEY_get0_group(ours));
    EC_POINT_set_to_infinity(EC_KEY_get0_group(ours), infinity);
    CHECK(ECDH_compute_key(sa, field, infinity, ours, NULL) == ECDH_compute_key(sb, field, infinity, stock, NULL));
    EC_POINT_free(infinity);
    EC_KEY *empty = ec_new(nid, engine);
    CHECK(ECDSA_do_sign(digest, 32, empty) == NULL);
    ERR_clear_error();
    EC_KEY_free(empty);
    EC_KEY_free(ours);
    EC_KEY_free(stock);
    EC_KEY_free(peer);
}

static void ec(void)
{
    static const int curves[] = { NID_X9_62_prime256v1, NID_secp384r1, NID_secp521r1, NID_secp256k1,
                                  NID_brainpoolP256r1, NID_secp224r1 };
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        ec_curve(curves[i]);
}

static RSA *shared_rsa;
static EC_KEY *shared_ec;

static void *sign_some(void *times)
{
    unsigned char data[32] = { 1 }, signature[512];
    unsigned int length;
    for (int i = 0; i < *(int *)times; i++) {
        CHECK(RSA_sign(NID_sha256, data, 32, signature, &length, shared_rsa) == 1);
        CHECK(RSA_verify(NID_sha256, data, 32, signature, length, shared_rsa) == 1);
        ECDSA_SIG *sig = ECDSA_do_sign(data, 32, shared_ec);
        CHECK(sig != NULL && ECDSA_do_verify(data, 32, sig, shared_ec) == 1);
        ECDSA_SIG_free(sig);
    }
    return NULL;
}

static void share(void)
{
    shared_rsa = rsa_ours(1024);
    shared_ec = ec_new(NID_X9_62_prime256v1, engine);
    CHECK(EC_KEY_generate_key(shared_ec) == 1);
}

static void threads(void)
{
    pthread_t thread[16];
    int times = 50;
    share();
    for (int i = 0; i < 16; i++)
        CHECK(pthread_create(&thread[i], NULL, sign_some, &times) == 0);
    for (int i = 0; i < 16; i++)
        pthread_join(thread[i], NULL);
}

/* Children of a process whose other threads sign at that moment. */
static void forks(void)
{
    pthread_t thread[4];
    int long_time = 400, once = 1;
    share();
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, sign_some, &long_time) == 0);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            sign_some(&once);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %d: status %x", i, status);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } works[] = {
        { "rsa", rsa }, { "ec", ec }, { "change", change }, { "threads", threads }, { "fork", forks },
    };
    CHECK(argc >= 2, "usage: program MODULE [WORK]");
    engine = load(argv[1]);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (argc < 3 || strcmp(argv[2], works[i].name) == 0)
            works[i].run();
    puts("good");
    return 0;
}
