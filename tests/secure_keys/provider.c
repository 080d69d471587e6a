/* Keys that only the test card can use, by EVP: the provider has them, and the default provider alone checks what comes of them. */
#include "libcrypto.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#define OURS "provider=adjunct"
#define STOCK "provider=default"
static const unsigned char message[] = "a message that is signed";

/* The key, or its public half alone. */
static EVP_PKEY *import(const char *name, int private, const char *properties) {
    struct key *key = find(name);
    OSSL_PARAM_BLD *params = OSSL_PARAM_BLD_new();
    const char *type = name;
    if (strcmp(name, "rsa") == 0) {
        const unsigned char *e, *n;
        size_t e_length, n_length;
        rsa_public(key, &e, &e_length, &n, &n_length);
        type = "RSA";
        OSSL_PARAM_BLD_push_BN(params, "n", number(n, n_length));
        OSSL_PARAM_BLD_push_BN(params, "e", number(e, e_length));
        if (private)
            OSSL_PARAM_BLD_push_BN(params, "d", number(key->reference, key->reference_length));
    } else if (name[0] == 'p') {
        type = "EC";
        OSSL_PARAM_BLD_push_utf8_string(params, "group", strcmp(name, "p256") == 0 ? "prime256v1" : strcmp(name, "p384") == 0 ? "secp384r1" : "secp521r1", 0);
        OSSL_PARAM_BLD_push_octet_string(params, "pub", key->public, key->public_length);
        if (private)
            OSSL_PARAM_BLD_push_BN(params, "priv", number(key->reference, key->reference_length));
    } else {
        type = strcmp(name, "mlkem768") == 0 ? "ML-KEM-768" : name;
        OSSL_PARAM_BLD_push_octet_string(params, "pub", key->public, key->public_length);
        if (private)
            OSSL_PARAM_BLD_push_octet_string(params, "priv", key->reference, key->reference_length);
    }
    EVP_PKEY *made = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, properties);
    if (!ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &made, private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, OSSL_PARAM_BLD_to_param(params)) != 1)
        return NULL;
    return made;
}

static const char *sign(EVP_PKEY *key, EVP_PKEY *public, const char *digest) {
    unsigned char signature[8192];
    size_t length = sizeof signature;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (EVP_DigestSignInit_ex(ctx, NULL, digest, NULL, OURS, key, NULL) != 1 ||
        EVP_DigestSign(ctx, signature, &length, message, sizeof message) != 1)
        return failed("sign");
    ctx = EVP_MD_CTX_new();
    if (EVP_DigestVerifyInit_ex(ctx, NULL, digest, NULL, STOCK, public, NULL) != 1 ||
        EVP_DigestVerify(ctx, signature, length, message, sizeof message) != 1)
        return failed("verify");
    return NULL;
}

static const char *decrypt(EVP_PKEY *key, EVP_PKEY *public) {
    unsigned char hidden[512], found[512];
    size_t length = sizeof hidden, found_length = sizeof found;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, public, STOCK);
    if (EVP_PKEY_encrypt_init(ctx) != 1 || EVP_PKEY_encrypt(ctx, hidden, &length, message, sizeof message) != 1)
        return failed("encrypt");
    ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, OURS);
    if (EVP_PKEY_decrypt_init(ctx) != 1 || EVP_PKEY_decrypt(ctx, found, &found_length, hidden, length) != 1)
        return failed("decrypt");
    return found_length == sizeof message && memcmp(found, message, found_length) == 0 ? NULL : "decrypt: another message";
}

static const char *derive(EVP_PKEY *key, EVP_PKEY *public, const char *type, const char *group) {
    unsigned char one[128], two[128];
    size_t length = sizeof one, other_length = sizeof two;
    EVP_PKEY *peer = group ? EVP_PKEY_Q_keygen(NULL, STOCK, type, group) : EVP_PKEY_Q_keygen(NULL, STOCK, type);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, OURS);
    if (!peer || EVP_PKEY_derive_init(ctx) != 1 || EVP_PKEY_derive_set_peer(ctx, peer) != 1 ||
        EVP_PKEY_derive(ctx, one, &length) != 1)
        return failed("derive");
    ctx = EVP_PKEY_CTX_new_from_pkey(NULL, peer, STOCK);
    if (EVP_PKEY_derive_init(ctx) != 1 || EVP_PKEY_derive_set_peer(ctx, public) != 1 ||
        EVP_PKEY_derive(ctx, two, &other_length) != 1)
        return failed("derive by the peer");
    return length == other_length && memcmp(one, two, length) == 0 ? NULL : "derive: another secret";
}

static const char *decapsulate(EVP_PKEY *key, EVP_PKEY *public) {
    unsigned char hidden[2048], one[64], two[64];
    size_t length = sizeof hidden, one_length = sizeof one, two_length = sizeof two;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, public, OURS);
    if (EVP_PKEY_encapsulate_init(ctx, NULL) != 1 || EVP_PKEY_encapsulate(ctx, hidden, &length, one, &one_length) != 1)
        return failed("encapsulate");
    ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, OURS);
    if (EVP_PKEY_decapsulate_init(ctx, NULL) != 1 || EVP_PKEY_decapsulate(ctx, two, &two_length, hidden, length) != 1)
        return failed("decapsulate");
    return one_length == two_length && memcmp(one, two, one_length) == 0 ? NULL : "decapsulate: another secret";
}

/* A MAC: HMAC of a message whose MAC the card tells, or CMAC, of which two agree. */
static const char *mac(const char *name) {
    struct key *key = find(name);
    int hashed = strcmp(name, "hmac") == 0;
    unsigned char out[64];
    size_t length = 0;
    EVP_MAC *kind = EVP_MAC_fetch(NULL, hashed ? "HMAC" : "CMAC", OURS);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(kind);
    OSSL_PARAM params[2] = {OSSL_PARAM_construct_utf8_string(hashed ? "digest" : "cipher", hashed ? "SHA256" : "AES-256-CBC", 0), OSSL_PARAM_construct_end()};
    if (EVP_MAC_init(ctx, key->reference, key->reference_length, params) != 1 || EVP_MAC_update(ctx, (const unsigned char *)"che", 3) != 1 ||
        EVP_MAC_update(ctx, (const unsigned char *)"ck", 2) != 1 || EVP_MAC_final(ctx, out, &length, sizeof out) != 1)
        return failed("MAC");
    if (!hashed)
        return length == 16 ? NULL : "MAC: another length";
    return length == key->public_length && memcmp(out, key->public, length) == 0 ? NULL : "MAC: another one";
}

/* The private numbers are not given out, and the rest of the key is. */
static const char *keeps(EVP_PKEY *key, const char *name) {
    BIGNUM *secret = NULL;
    OSSL_PARAM *all = NULL;
    if (EVP_PKEY_get_bn_param(key, name, &secret) == 1 && secret && !BN_is_zero(secret))
        return "its number is given out";
    if (EVP_PKEY_todata(key, EVP_PKEY_KEYPAIR, &all) == 1)
        return "it is exported";
    ERR_clear_error();
    return EVP_PKEY_todata(key, EVP_PKEY_PUBLIC_KEY, &all) == 1 ? NULL : failed("export of the public half");
}

static const char *work(const char *command) {
    static char names[8][16];
    static EVP_PKEY *keys[8], *publics[8];
    char name[16], what[32];
    sscanf(command, "%15s %31s", name, what);
    if (strcmp(what, "mac") == 0)
        return mac(name);
    int at = 0;
    while (names[at][0] && strcmp(names[at], name) != 0)
        at++;
    if (!names[at][0]) {
        EVP_PKEY *key = import(name, 1, OURS);
        if (!key)
            return failed("import");
        strcpy(names[at], name);
        keys[at] = key;
        publics[at] = import(name, 0, strcmp(name, "mlkem768") == 0 ? OURS : STOCK);
        if (!publics[at])
            return failed("import of the public half");
    }
    EVP_PKEY *key = keys[at], *public = publics[at];
    if (strcmp(what, "sign") == 0)
        return sign(key, public, strcmp(name, "ed25519") == 0 ? NULL : "SHA256");
    if (strcmp(what, "decrypt") == 0)
        return decrypt(key, public);
    if (strcmp(what, "keeps") == 0)
        return keeps(key, strcmp(name, "rsa") == 0 ? "d" : "priv");
    if (strcmp(what, "decapsulate") == 0)
        return decapsulate(key, public);
    if (strcmp(what, "derive") == 0)
        return strcmp(name, "x25519") == 0 ? derive(key, public, "X25519", NULL) : derive(key, public, "EC", strcmp(name, "p256") == 0 ? "P-256" : strcmp(name, "p384") == 0 ? "P-384" : "P-521");
    return "no such command";
}

int main(void) {
    return serve();
}
