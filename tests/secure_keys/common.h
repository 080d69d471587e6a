/* What the programs share: keys that only the test card can use, and a loop that does an operation for each line of standard input. */
#ifndef COMMON_H
#define COMMON_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct key {
    unsigned char reference[4096], public[4096];
    size_t reference_length, public_length;
};

static size_t unhex(const char *text, unsigned char *out) {
    size_t length = 0;
    unsigned byte;
    while (sscanf(text, "%2x", &byte) == 1) {
        out[length++] = (unsigned char)byte;
        text += 2;
    }
    return length;
}

/* The key of that name in the card's list, which TEST_CARD_KEYS names. */
static struct key *find(const char *name) {
    static char line[20000];
    char found[64];
    static char reference[9000], public[9000];
    struct key *key = calloc(1, sizeof *key);
    FILE *file = fopen(getenv("TEST_CARD_KEYS"), "r");
    while (file && fgets(line, sizeof line, file)) {
        public[0] = 0;
        if (sscanf(line, "%63s %8999s %8999s", found, reference, public) >= 2 && strcmp(found, name) == 0) {
            key->reference_length = unhex(reference, key->reference);
            key->public_length = unhex(public, key->public);
            fclose(file);
            return key;
        }
    }
    fprintf(stderr, "no key %s\n", name);
    exit(1);
}

/* The two numbers of an RSA key's public half. */
static void rsa_public(const struct key *key, const unsigned char **e, size_t *e_length, const unsigned char **n, size_t *n_length) {
    *e_length = key->public[0];
    *e = key->public + 4;
    *n = *e + *e_length;
    *n_length = key->public_length - 4 - *e_length;
}

/* Does an operation; null, or why it failed. */
static const char *work(const char *name);

static int serve(void) {
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        const char *error = work(line);
        printf("%s\n", error ? error : "ok");
        fflush(stdout);
    }
    return 0;
}
#endif
