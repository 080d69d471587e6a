// Writes digests in progress as bytes with one provider and goes on from them with the other (EVP_MD_CTX_serialize, OpenSSL 4).
// Lengths and results must be the same; what is no state must be refused. Ends with 0, or says what differs and ends with 1.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef void *P;
static P (*md_fetch)(P, const char *, const char *);
static P (*ctx_new)(void);
static int (*init)(P, P, P), (*update)(P, const void *, size_t), (*final)(P, unsigned char *, unsigned *);
static int (*serialize)(P, unsigned char *, size_t *), (*deserialize)(P, const unsigned char *, size_t);

static P begun(const char *name, const char *query, const unsigned char *data, size_t length) {
    P md = md_fetch(NULL, name, query), ctx = ctx_new();
    if (!md || init(ctx, md, NULL) != 1 || update(ctx, data, length) != 1) {
        printf("%s with %s: not to be had\n", name, query);
        return NULL;
    }
    return ctx;
}

int main(void) {
    P lib = dlopen("libcrypto.so.4", RTLD_NOW | RTLD_GLOBAL);
    if (!lib) return printf("%s\n", dlerror()), 1;
    *(P *)&md_fetch = dlsym(lib, "EVP_MD_fetch");
    *(P *)&ctx_new = dlsym(lib, "EVP_MD_CTX_new");
    *(P *)&init = dlsym(lib, "EVP_DigestInit_ex2");
    *(P *)&update = dlsym(lib, "EVP_DigestUpdate");
    *(P *)&final = dlsym(lib, "EVP_DigestFinal_ex");
    *(P *)&serialize = dlsym(lib, "EVP_MD_CTX_serialize");
    *(P *)&deserialize = dlsym(lib, "EVP_MD_CTX_deserialize");
    if (!serialize || !deserialize) return printf("this OpenSSL has no EVP_MD_CTX_serialize\n"), 1;

    const char *names[] = {"MD5", "SHA1", "SHA2-224", "SHA2-256", "SHA2-384", "SHA2-512", "SHA2-512/224", "SHA2-512/256"};
    const char *queries[] = {"provider=default", "provider=adjunct"};
    int compared = 0;
    const size_t places[] = {0, 1, 63, 64, 65, 127, 128, 200, 299};
    unsigned char data[300], states[2][1024], results[2][64], wrong[1024];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            size_t at = places[p], lengths[2], asked[2];
            unsigned sizes[2];
            int written[2];
            for (int from = 0; from < 2; from++) {
                P ctx = begun(names[n], queries[from], data, at);
                lengths[from] = sizeof states[from];
                if (!ctx) return 1;
                written[from] = serialize(ctx, NULL, &asked[from]) == 1 && serialize(ctx, states[from], &lengths[from]) == 1 &&
                                asked[from] == lengths[from];
            }
            if (written[0] != written[1]) return printf("%s at %zu: %s does not write it\n", names[n], at, queries[written[0]]), 1;
            if (!written[0]) continue;
            compared++;
            // What stands in a block behind its end is not the same: OpenSSL's SHA-512 leaves there what was there before.
            if (lengths[0] != lengths[1]) return printf("%s at %zu: other lengths\n", names[n], at), 1;
            for (int to = 0; to < 2; to++) {
                P ctx = begun(names[n], queries[to], data, 17);
                memcpy(wrong, states[0], lengths[0]);
                wrong[0] ^= 1;
                if (!ctx || deserialize(ctx, wrong, lengths[0]) == 1 || deserialize(ctx, states[0], lengths[0] - 1) == 1)
                    return printf("%s at %zu: %s takes what is no state\n", names[n], at, queries[to]), 1;
                if (deserialize(ctx, states[!to], lengths[!to]) != 1 || update(ctx, data + at, sizeof data - at) != 1 ||
                    final(ctx, results[to], &sizes[to]) != 1)
                    return printf("%s at %zu: %s does not go on\n", names[n], at, queries[to]), 1;
            }
            if (sizes[0] != sizes[1] || memcmp(results[0], results[1], sizes[0]))
                return printf("%s at %zu: other results\n", names[n], at), 1;
        }
    }
    // Not every algorithm of OpenSSL's own can be written: MD5 cannot in 4.0.
    return compared < 50 ? printf("%d states were compared\n", compared), 1 : 0;
}
