/* Keys that only the test card can use, by low-level RSA and EC_KEY calls: the engine has them. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "libcrypto.h"
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/engine.h>
#include <openssl/objects.h>
#include <openssl/rsa.h>

static const unsigned char digest[32] = "a digest that is signed ........";

static RSA *rsa(void) {
    struct key *key = find("rsa");
    const unsigned char *e, *n;
    size_t e_length, n_length;
    rsa_public(key, &e, &e_length, &n, &n_length);
    RSA *made = RSA_new();
    RSA_set0_key(made, number(n, n_length), number(e, e_length), number(key->reference, key->reference_length));
    return made;
}

static EC_KEY *ec(const char *name, int curve) {
    struct key *key = find(name);
    EC_KEY *made = EC_KEY_new_by_curve_name(curve);
    EC_POINT *point = EC_POINT_new(EC_KEY_get0_group(made));
    if (EC_POINT_oct2point(EC_KEY_get0_group(made), point, key->public, key->public_length, NULL) != 1 ||
        EC_KEY_set_public_key(made, point) != 1 ||
        EC_KEY_set_private_key(made, number(key->reference, key->reference_length)) != 1)
        return NULL;
    return made;
}

static const char *work(const char *command) {
    static RSA *rsa_key;
    static EC_KEY *keys[3];
    static const char *names[3] = {"p256", "p384", "p521"};
    static const int curves[3] = {NID_X9_62_prime256v1, NID_secp384r1, NID_secp521r1};
    char name[16], what[32];
    unsigned char signature[1024], found[1024];
    unsigned length = sizeof signature;
    sscanf(command, "%15s %31s", name, what);
    if (strcmp(name, "rsa") == 0) {
        rsa_key = rsa_key ? rsa_key : rsa();
        if (strcmp(what, "sign") == 0) {
            if (RSA_sign(NID_sha256, digest, sizeof digest, signature, &length, rsa_key) != 1)
                return failed("RSA_sign");
            return RSA_verify(NID_sha256, digest, sizeof digest, signature, length, rsa_key) == 1 ? NULL : failed("RSA_verify");
        }
        if (strcmp(what, "decrypt") == 0) {
            int hidden = RSA_public_encrypt(sizeof digest, digest, found, rsa_key, RSA_PKCS1_OAEP_PADDING);
            int got = RSA_private_decrypt(hidden, found, signature, rsa_key, RSA_PKCS1_OAEP_PADDING);
            if (got < 0)
                return failed("RSA_private_decrypt");
            return got == sizeof digest && memcmp(signature, digest, sizeof digest) == 0 ? NULL : "another message";
        }
        /* A padding that the core does not have: OpenSSL's own function must not take the reference for a number. */
        unsigned char block[256] = {0};
        return RSA_private_encrypt(255, block, signature, rsa_key, RSA_X931_PADDING) < 0 ? failed("X9.31") : "X9.31 was done";
    }
    for (int at = 0; at < 3; at++) {
        if (strcmp(name, names[at]) != 0)
            continue;
        EC_KEY *key = keys[at] = keys[at] ? keys[at] : ec(name, curves[at]);
        if (!key)
            return failed("EC_KEY");
        if (strcmp(what, "sign") == 0) {
            if (ECDSA_sign(0, digest, sizeof digest, signature, &length, key) != 1)
                return failed("ECDSA_sign");
            return ECDSA_verify(0, digest, sizeof digest, signature, (int)length, key) == 1 ? NULL : failed("ECDSA_verify");
        }
        EC_KEY *peer = EC_KEY_new_by_curve_name(curves[at]);
        if (EC_KEY_generate_key(peer) != 1)
            return failed("EC_KEY_generate_key");
        int one = ECDH_compute_key(signature, sizeof signature, EC_KEY_get0_public_key(peer), key, NULL);
        if (one <= 0)
            return failed("ECDH_compute_key");
        int two = ECDH_compute_key(found, sizeof found, EC_KEY_get0_public_key(key), peer, NULL);
        return one == two && memcmp(signature, found, (size_t)one) == 0 ? NULL : "another secret";
    }
    return "no such command";
}

int main(int count, char **arguments) {
    ENGINE_load_dynamic();
    ENGINE *engine = ENGINE_by_id("dynamic");
    if (count != 2 || !ENGINE_ctrl_cmd_string(engine, "SO_PATH", arguments[1], 0) ||
        !ENGINE_ctrl_cmd_string(engine, "ID", "adjunct", 0) || !ENGINE_ctrl_cmd_string(engine, "LOAD", NULL, 0) ||
        !ENGINE_init(engine) || !ENGINE_set_default(engine, ENGINE_METHOD_RSA | ENGINE_METHOD_EC)) {
        ERR_print_errors_fp(stderr);
        return 1;
    }
    return serve();
}
