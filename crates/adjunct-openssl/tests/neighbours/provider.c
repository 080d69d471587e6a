// A program's own provider, foreign.so: it offers one digest, under a name that OpenSSL's default provider has, too, and one that nobody
// else has.

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

static void *new_context(void *provider) {
    (void)provider;
    return calloc(1, 1);
}

static void free_context(void *context) { free(context); }

static int init(void *context, const OSSL_PARAM params[]) {
    (void)context, (void)params;
    return 1;
}

static int update(void *context, const unsigned char *in, size_t length) {
    (void)context, (void)in, (void)length;
    return 1;
}

static int final(void *context, unsigned char *out, size_t *length, size_t size) {
    (void)context;
    if (size < 32) return 0;
    memset(out, 'F', 32);
    *length = 32;
    return 1;
}

// OSSL_PARAM's own functions would need libcrypto.
static int get_params(OSSL_PARAM params[]) {
    for (OSSL_PARAM *p = params; p->key != NULL; p++) {
        size_t value = strcmp(p->key, OSSL_DIGEST_PARAM_BLOCK_SIZE) == 0 ? 64 : 32;
        if (p->data_type == OSSL_PARAM_UNSIGNED_INTEGER && p->data_size == sizeof value) {
            memcpy(p->data, &value, sizeof value);
            p->return_size = sizeof value;
        }
    }
    return 1;
}

#define FUNCTION(id, function) {id, (void (*)(void))function}
static const OSSL_DISPATCH digest[] = {
    FUNCTION(OSSL_FUNC_DIGEST_NEWCTX, new_context), FUNCTION(OSSL_FUNC_DIGEST_FREECTX, free_context),
    FUNCTION(OSSL_FUNC_DIGEST_INIT, init),          FUNCTION(OSSL_FUNC_DIGEST_UPDATE, update),      FUNCTION(OSSL_FUNC_DIGEST_FINAL, final),
    FUNCTION(OSSL_FUNC_DIGEST_GET_PARAMS, get_params), {0, NULL}};
static const OSSL_ALGORITHM digests[] = {{"SHA2-256:SHA-256:SHA256:2.16.840.1.101.3.4.2.1", "provider=foreign", digest, ""},
                                         {"FOREIGN", "provider=foreign", digest, ""},
                                         {NULL, NULL, NULL, NULL}};

static const OSSL_ALGORITHM *query(void *provider, int operation, int *no_cache) {
    (void)provider;
    *no_cache = 0;
    return operation == OSSL_OP_DIGEST ? digests : NULL;
}

static const OSSL_DISPATCH functions[] = {FUNCTION(OSSL_FUNC_PROVIDER_QUERY_OPERATION, query), {0, NULL}};

int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **context) {
    (void)in;
    *out = functions;
    *context = (void *)handle;
    return 1;
}
