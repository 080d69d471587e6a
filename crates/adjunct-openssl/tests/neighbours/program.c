// A program that brings a provider of its own: `program SCENARIO` prints whose digests it finds, under whatever OPENSSL_CONF says.

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static OSSL_LIB_CTX *context;

static void need(int well, const char *what) {
    if (!well) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static OSSL_PROVIDER *load(const char *name) {
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(context, name);
    need(provider != NULL, name);
    return provider;
}

static const char *whose(const char *name, const char *query) {
    EVP_MD *digest = EVP_MD_fetch(context, name, query);
    if (digest == NULL) return "nobody's";
    const char *provider = OSSL_PROVIDER_get0_name(EVP_MD_get0_provider(digest));
    EVP_MD_free(digest);
    return provider;
}

static void show(const char *name) { printf("%s: %s\n", name, whose(name, NULL)); }

// SHA-512 and what is another operation than digests are not the foreign provider's.
static void show_all(void) {
    show("SHA256");
    show("FOREIGN");
    show("SHA512");
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(context, "AES-128-CTR", NULL);
    printf("AES-128-CTR: %s\n", cipher ? OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)) : "nobody's");
    EVP_CIPHER_free(cipher);
    EVP_KEYMGMT *keys = EVP_KEYMGMT_fetch(context, "EC", NULL);
    printf("EC: %s\n", keys ? OSSL_PROVIDER_get0_name(EVP_KEYMGMT_get0_provider(keys)) : "nobody's");
    EVP_KEYMGMT_free(keys);
    printf("SHA256 of foreign: %s\n", whose("SHA256", "provider=foreign"));
    printf("SHA256 rather of foreign: %s\n", whose("SHA256", "?provider=foreign"));
}

static void walk(EVP_MD *digest, void *count) {
    // A search within a walk through OpenSSL's lists.
    whose(EVP_MD_get0_name(digest), NULL);
    ++*(int *)count;
}

static pthread_barrier_t together;

static void *thread(void *wanted) {
    for (int i = 0; i < 3; i++) {
        pthread_barrier_wait(&together);
        const char *found = whose(i == 0 ? "SHA256" : i == 1 ? "SHA512" : "SHA256", NULL);
        need(strcmp(found, i == 1 ? "default" : "foreign") == 0, found);
    }
    return wanted;
}

int main(int argc, char **argv) {
    need(argc == 2, "program SCENARIO");
    const char *scenario = argv[1];
#define IS(name) else if (strcmp(scenario, name) == 0)
    if (strcmp(scenario, "none") == 0) {
        show_all();
    }
    IS("foreign") {
        load("foreign");
        show_all();
        show_all();
    }
    IS("foreign, unloaded") {
        OSSL_PROVIDER_unload(load("foreign"));
        show_all();
    }
    IS("default, foreign") {
        load("default");
        load("foreign");
        show_all();
    }
    IS("foreign, default") {
        load("foreign");
        load("default");
        show_all();
    }
    IS("foreign, search, default") {
        load("foreign");
        show("SHA256");
        show("SHA512");
        OSSL_PROVIDER *loaded = load("default");
        show_all();
        OSSL_PROVIDER_unload(loaded);
        show("SHA256");
    }
    IS("search, foreign") {
        show("SHA512");
        load("foreign");
        show_all();
    }
    IS("legacy, default") {
        load("legacy");
        load("default");
        show_all();
    }
    IS("foreign, walk") {
        int count = 0;
        load("foreign");
        EVP_MD_do_all_provided(context, walk, &count);
        EVP_MD_do_all_provided(context, walk, &count);
        show_all();
    }
    IS("foreign, own query") {
        load("foreign");
        need(EVP_set_default_properties(context, "?provider=foreign"), "a query");
        show_all();
    }
    IS("own context") {
        context = OSSL_LIB_CTX_new();
        need(OSSL_LIB_CTX_load_config(context, getenv("OPENSSL_CONF")), "the configuration");
        load("foreign");
        show_all();
        OSSL_LIB_CTX_free(context);
        context = NULL;
        show_all();
    }
    IS("many contexts") {
        for (int i = 0; i < 300; i++) {
            context = OSSL_LIB_CTX_new();
            need(OSSL_LIB_CTX_load_config(context, getenv("OPENSSL_CONF")), "the configuration");
            EVP_MD *kept = i % 3 == 0 ? EVP_MD_fetch(context, "SHA512", NULL) : NULL;
            if (i % 2 == 0) load("foreign");
            whose("SHA256", NULL);
            EVP_MD_free(kept);
            OSSL_LIB_CTX_free(context);
        }
    }
    IS("foreign, fork") {
        load("foreign");
        fflush(stdout);
        pid_t child = fork();
        show_all();
        fflush(stdout);
        if (child == 0) _exit(0);
        int status;
        need(waitpid(child, &status, 0) == child && status == 0, "the child");
    }
    IS("exit") {
        // What is found is let go of after OpenSSL itself.
        load("foreign");
        EVP_MD *mine = EVP_MD_fetch(NULL, "SHA256", NULL);
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
        OPENSSL_cleanup();
        (void)mine, (void)cipher;
    }
    IS("threads") {
        enum { THREADS = 8 };
        pthread_t all[THREADS];
        pthread_barrier_init(&together, NULL, THREADS);
        load("foreign");
        for (int i = 0; i < THREADS; i++) need(pthread_create(&all[i], NULL, thread, NULL) == 0, "a thread");
        for (int i = 0; i < THREADS; i++) pthread_join(all[i], NULL);
    }
#ifdef LOOKS
    IS("available") {
        printf("default: %d\n", OSSL_PROVIDER_available(context, "default"));
        load("foreign");
        show("SHA512");
        show("FOREIGN");
    }
#endif
#ifdef ASKS
    IS("beside") {
        need(OSSL_PROVIDER_try_load(context, "foreign", 1) != NULL, "foreign");
        show("SHA512");
        show("FOREIGN");
    }
#endif
    else {
        need(0, "no such scenario");
    }
    return 0;
}
