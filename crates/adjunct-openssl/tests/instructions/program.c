/* Does one operation through the provider, between two signals that a tracer waits for. Run as: program CONFIG OPERATION.
 * Exits with 0, or with 3 where the provider does not have the operation: both are for tests/instructions.rs to judge. */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 1024
#define MUST(x)                                                                                                        \
    do {                                                                                                               \
        if (!(x)) {                                                                                                    \
            printf("line %d: %s: %s\n", __LINE__, #x, ERR_error_string(ERR_peek_last_error(), NULL));                  \
            fflush(stdout);                                                                                            \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OFFERED(x)                                                                                                     \
    if ((x) == NULL)                                                                                                   \
    _exit(3)

static const char *const OURS = "provider=adjunct";
static unsigned char key[64], iv[16], text[SIZE], out[SIZE + 64], tag[16];

static void begin(void) { raise(SIGUSR1); }
static void end(void) { raise(SIGUSR2); }

static void cipher(OSSL_LIB_CTX *ctx, const char *name) {
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(ctx, name, OURS);
    OFFERED(fetched);
    int mode = EVP_CIPHER_get_mode(fetched), n, ccm = mode == EVP_CIPH_CCM_MODE;
    int aead = ccm || mode == EVP_CIPH_GCM_MODE;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    begin();
    MUST(EVP_EncryptInit_ex2(c, fetched, NULL, NULL, NULL) == 1);
    if (ccm)
        MUST(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, NULL) == 1);
    MUST(EVP_EncryptInit_ex2(c, NULL, key, iv, NULL) == 1);
    if (ccm)
        MUST(EVP_EncryptUpdate(c, NULL, &n, NULL, SIZE) == 1);
    MUST(EVP_EncryptUpdate(c, out, &n, text, SIZE) == 1 && n == SIZE);
    MUST(EVP_EncryptFinal_ex(c, out + n, &n) == 1);
    if (aead)
        MUST(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1);
    end();
}

static void decipher(OSSL_LIB_CTX *ctx, const char *name) {
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(ctx, name, OURS);
    OFFERED(fetched);
    int n;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    begin();
    MUST(EVP_DecryptInit_ex2(c, fetched, key, iv, NULL) == 1);
    EVP_CIPHER_CTX_set_padding(c, 0);
    MUST(EVP_DecryptUpdate(c, out, &n, text, SIZE) == 1 && n == SIZE);
    end();
}

static void digest(OSSL_LIB_CTX *ctx, const char *name) {
    EVP_MD *fetched = EVP_MD_fetch(ctx, name, OURS);
    OFFERED(fetched);
    EVP_MD_CTX *d = EVP_MD_CTX_new();
    begin();
    MUST(EVP_DigestInit_ex2(d, fetched, NULL) == 1 && EVP_DigestUpdate(d, text, SIZE) == 1);
    MUST(EVP_DigestFinal_ex(d, out, NULL) == 1);
    end();
}

static void mac(OSSL_LIB_CTX *ctx, const char *name, char *inner) {
    EVP_MAC *fetched = EVP_MAC_fetch(ctx, name, OURS);
    OFFERED(fetched);
    int cmac = strcmp(name, "CMAC") == 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(cmac ? OSSL_MAC_PARAM_CIPHER : OSSL_MAC_PARAM_DIGEST, inner, 0), OSSL_PARAM_END};
    EVP_MAC_CTX *m = EVP_MAC_CTX_new(fetched);
    size_t n;
    begin();
    MUST(EVP_MAC_init(m, key, 16, params) == 1 && EVP_MAC_update(m, text, SIZE) == 1);
    MUST(EVP_MAC_final(m, out, &n, sizeof out) == 1);
    end();
}

static void rsa(OSSL_LIB_CTX *ctx, size_t bits) {
    EVP_PKEY *made = EVP_PKEY_Q_keygen(ctx, "provider=default", "RSA", bits), *ours = NULL;
    OSSL_PARAM *data;
    MUST(made != NULL && EVP_PKEY_todata(made, EVP_PKEY_KEYPAIR, &data) == 1);
    EVP_PKEY_CTX *import = EVP_PKEY_CTX_new_from_name(ctx, "RSA", OURS);
    if (import == NULL || EVP_PKEY_fromdata_init(import) != 1)
        _exit(3);
    MUST(EVP_PKEY_fromdata(import, &ours, EVP_PKEY_KEYPAIR, data) == 1);
    EVP_PKEY_CTX *sign = EVP_PKEY_CTX_new_from_pkey(ctx, ours, OURS);
    OFFERED(sign);
    size_t n = sizeof out;
    MUST(EVP_PKEY_sign_init(sign) == 1 && EVP_PKEY_CTX_set_rsa_padding(sign, RSA_PKCS1_PADDING) == 1);
    /* The first signature also prepares the key; the second is what every further one costs. */
    MUST(EVP_PKEY_sign(sign, out, &n, text, 32) == 1);
    begin();
    MUST(EVP_PKEY_sign(sign, out, &n, text, 32) == 1);
    end();
}

static void random_bytes(OSSL_LIB_CTX *ctx) {
    EVP_RAND *fetched = EVP_RAND_fetch(ctx, "CTR-DRBG", OURS);
    OFFERED(fetched);
    EVP_RAND_CTX *r = EVP_RAND_CTX_new(fetched, NULL);
    MUST(r != NULL && EVP_RAND_instantiate(r, 128, 0, NULL, 0, NULL) == 1);
    begin();
    MUST(EVP_RAND_generate(r, out, 256, 128, 0, NULL, 0) == 1);
    end();
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)(i * 7 + 1);
    OSSL_LIB_CTX *ctx = OSSL_LIB_CTX_new();
    MUST(OSSL_LIB_CTX_load_config(ctx, argv[1]) == 1 && OSSL_PROVIDER_available(ctx, "adjunct") == 1);
    char *kind = strtok(argv[2], " "), *name = strtok(NULL, " "), *inner = strtok(NULL, " ");
    if (strcmp(kind, "cipher") == 0)
        cipher(ctx, name);
    else if (strcmp(kind, "decipher") == 0)
        decipher(ctx, name);
    else if (strcmp(kind, "digest") == 0)
        digest(ctx, name);
    else if (strcmp(kind, "mac") == 0)
        mac(ctx, name, inner);
    else if (strcmp(kind, "rsa") == 0)
        rsa(ctx, strtoul(name, NULL, 10));
    else if (strcmp(kind, "random") == 0)
        random_bytes(ctx);
    else
        return 2;
    return 0;
}
