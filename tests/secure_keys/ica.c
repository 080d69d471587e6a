/* Keys that only the test card can use, by libica: a reference stands for the exponent, for the first prime, or for the scalar of a curve whose field has room. */
#include "common.h"
#include <errno.h>
#include <ica_api.h>

static ica_adapter_handle_t adapter;

static const char *code(const char *what, unsigned rc) {
    static char text[64];
    snprintf(text, sizeof text, "%s: %s", what, rc == ENODEV ? "ENODEV" : rc == EIO ? "EIO" : rc == EINVAL ? "EINVAL" : strerror((int)rc));
    return rc ? text : NULL;
}

/* The operation, and its opposite with the public exponent. */
static const char *rsa(const char *what) {
    struct key *key = find("rsa");
    const unsigned char *e, *n;
    size_t e_length, n_length;
    rsa_public(key, &e, &e_length, &n, &n_length);
    unsigned char d[256] = {0}, public[256] = {0}, input[256] = {0}, output[256] = {0}, back[256] = {0};
    unsigned char p[136] = {0}, rest[136] = {0};
    memcpy(public + 256 - e_length, e, e_length);
    memset(input + 1, 0x5a, 255);
    unsigned rc;
    if (strcmp(what, "crt") == 0) {
        memcpy(p, key->reference, key->reference_length);
        ica_rsa_key_crt_t private = {256, p, rest, rest, rest, rest};
        rc = ica_rsa_crt(adapter, input, &private, output);
    } else {
        /* At the front, where it is not below the modulus, or at the end, as numbers stand. */
        memcpy(strcmp(what, "front") == 0 ? d : d + 256 - key->reference_length, key->reference, key->reference_length);
        ica_rsa_key_mod_expo_t private = {256, (unsigned char *)n, d};
        rc = ica_rsa_mod_expo(adapter, input, &private, output);
    }
    if (rc)
        return code(what, rc);
    ica_rsa_key_mod_expo_t opposite = {256, (unsigned char *)n, public};
    rc = ica_rsa_mod_expo(adapter, output, &opposite, back);
    return rc ? code("public", rc) : memcmp(input, back, 256) == 0 ? NULL : "another result";
}

static const char *ec(void) {
    struct key *key = find("p521");
    unsigned char d[66] = {0}, hash[64] = "a hash", signature[132];
    unsigned length = 0;
    memcpy(d, key->reference, key->reference_length);
    ICA_EC_KEY *private = ica_ec_key_new(716, &length), *public = ica_ec_key_new(716, &length);
    if (!private || !public)
        return "ica_ec_key_new";
    unsigned rc = ica_ec_key_init(key->public + 1, key->public + 67, d, private);
    rc = rc ? rc : (unsigned)ica_ec_key_init(key->public + 1, key->public + 67, NULL, public);
    if (rc)
        return code("ica_ec_key_init", rc);
    rc = (unsigned)ica_ecdsa_sign(adapter, private, hash, sizeof hash, signature, sizeof signature);
    if (rc)
        return code("ica_ecdsa_sign", rc);
    return code("ica_ecdsa_verify", (unsigned)ica_ecdsa_verify(adapter, public, hash, sizeof hash, signature, sizeof signature));
}

static const char *work(const char *command) {
    char name[16], what[32];
    sscanf(command, "%15s %31s", name, what);
    return strcmp(name, "rsa") == 0 ? rsa(what) : ec();
}

int main(void) {
    if (ica_open_adapter(&adapter) != 0)
        return 1;
    return serve();
}
