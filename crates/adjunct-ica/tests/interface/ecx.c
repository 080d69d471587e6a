/* X25519, X448, Ed25519 and Ed448 agree with OpenSSL's, and refuse what they must; from 16 threads and after a fork too. */
#include "common.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 114
#define THREADS 16

static void public_of(const char *name, const unsigned char *private, unsigned char *public, size_t length)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key_ex(NULL, name, NULL, private, length);

	CHECK(key && EVP_PKEY_get_raw_public_key(key, public, &length));
	EVP_PKEY_free(key);
}

static void shared(const char *name, const unsigned char *private, const unsigned char *peer, unsigned char *secret, size_t length)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key_ex(NULL, name, NULL, private, length);
	EVP_PKEY *other = EVP_PKEY_new_raw_public_key_ex(NULL, name, NULL, peer, length);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);

	CHECK(ctx && EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, other) == 1);
	CHECK(EVP_PKEY_derive(ctx, secret, &length) == 1);
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(other);
	EVP_PKEY_free(key);
}

static void signature_of(const char *name, const unsigned char *private, size_t length, const unsigned char *message, size_t size,
			 unsigned char *signature)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key_ex(NULL, name, NULL, private, length);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t room = MOST;

	CHECK(key && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1);
	CHECK(EVP_DigestSign(ctx, signature, &room, message, size) == 1);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
}

static int is_all(const unsigned char *data, unsigned char value, size_t length)
{
	while (length--)
		if (data[length] != value)
			return 0;
	return 1;
}

/* What all four have in common: keys go in and out, and what is missing or null is refused without a trace. */
#define KEYS(prefix, type, name, n)                                                                                    \
	static void prefix##_keys(void)                                                                                \
	{                                                                                                              \
		unsigned char private[n], public[n], good[n], other[n];                                                \
		type *ctx = NULL;                                                                                      \
		unsigned int round;                                                                                    \
                                                                                                                       \
		CHECK(ica_##prefix##_ctx_new(NULL) == -1 && ica_##prefix##_ctx_new(&ctx) == 0 && ctx);                 \
		memset(private, 0xee, n);                                                                              \
		memset(public, 0xee, n);                                                                               \
		CHECK(ica_##prefix##_key_get(ctx, private, NULL) == -1 && ica_##prefix##_key_get(ctx, NULL, public) == -1);   \
		CHECK(ica_##prefix##_key_get(ctx, NULL, NULL) == -1 && ica_##prefix##_key_get(NULL, private, public) == -1);  \
		CHECK(ica_##prefix##_key_set(ctx, NULL, NULL) == -1 && ica_##prefix##_key_set(NULL, private, public) == -1);  \
		CHECK(ica_##prefix##_key_gen(NULL) == -1 && is_all(private, 0xee, n) && is_all(public, 0xee, n));      \
                                                                                                                       \
		/* With a public key alone there is no private one, and nothing is written. */                         \
		fill(other, n);                                                                                        \
		CHECK(ica_##prefix##_key_set(ctx, NULL, other) == 0);                                                  \
		CHECK(ica_##prefix##_key_get(ctx, private, public) == -1);                                             \
		CHECK(is_all(private, 0xee, n) && is_all(public, 0xee, n));                                            \
		CHECK(ica_##prefix##_key_get(ctx, NULL, public) == 0 && !memcmp(public, other, n));                    \
		CHECK(ica_##prefix##_ctx_del(&ctx) == 0 && !ctx);                                                      \
                                                                                                                       \
		for (round = 0; round < rounds(20); round++) {                                                         \
			CHECK(ica_##prefix##_ctx_new(&ctx) == 0);                                                      \
			fill(private, n);                                                                              \
			CHECK(ica_##prefix##_key_set(ctx, private, NULL) == 0);                                        \
			CHECK(ica_##prefix##_key_get(ctx, other, public) == 0 && !memcmp(private, other, n));          \
			public_of(name, private, good, n);                                                             \
			CHECK(!memcmp(public, good, n));                                                               \
			/* Set again: the public key is the new private key's. */                                      \
			fill(private, n);                                                                              \
			CHECK(ica_##prefix##_key_set(ctx, private, NULL) == 0);                                        \
			CHECK(ica_##prefix##_key_get(ctx, NULL, public) == 0 && memcmp(public, good, n));              \
			/* A made one replaces all that was set. */                                                    \
			CHECK(ica_##prefix##_key_set(ctx, NULL, good) == 0 && ica_##prefix##_key_gen(ctx) == 0);       \
			CHECK(ica_##prefix##_key_get(ctx, other, public) == 0 && memcmp(private, other, n));           \
			public_of(name, other, good, n);                                                               \
			CHECK(!memcmp(public, good, n));                                                               \
			CHECK(ica_##prefix##_ctx_del(&ctx) == 0);                                                      \
		}                                                                                                      \
		CHECK(ica_##prefix##_ctx_del(&ctx) == -1 && ica_##prefix##_ctx_del(NULL) == -1);                       \
	}

#define AGREEMENT(prefix, type, name, n)                                                                               \
	KEYS(prefix, type, name, n)                                                                                    \
	static void prefix##_derives(void)                                                                             \
	{                                                                                                              \
		unsigned char private[n], peer[n], secret[n], good[n];                                                 \
		type *ctx = NULL;                                                                                      \
		unsigned int round;                                                                                    \
                                                                                                                       \
		CHECK(ica_##prefix##_ctx_new(&ctx) == 0);                                                              \
		fill(private, n);                                                                                      \
		public_of(name, private, peer, n);                                                                     \
		memset(secret, 0xee, n);                                                                               \
		CHECK(ica_##prefix##_derive(ctx, secret, peer) == -1);                                                 \
		CHECK(ica_##prefix##_key_set(ctx, NULL, peer) == 0 && ica_##prefix##_derive(ctx, secret, peer) == -1); \
		CHECK(ica_##prefix##_key_gen(ctx) == 0);                                                               \
		CHECK(ica_##prefix##_derive(NULL, secret, peer) == -1 && ica_##prefix##_derive(ctx, NULL, peer) == -1); \
		CHECK(ica_##prefix##_derive(ctx, secret, NULL) == -1);                                                 \
		/* Small order: 0 and 1. */                                                                            \
		memset(good, 0, n);                                                                                    \
		CHECK(ica_##prefix##_derive(ctx, secret, good) == -1);                                                 \
		good[0] = 1;                                                                                           \
		CHECK(ica_##prefix##_derive(ctx, secret, good) == -1);                                                 \
		CHECK(is_all(secret, 0xee, n) && ERR_peek_error() == 0);                                               \
		for (round = 0; round < rounds(30); round++) {                                                         \
			fill(private, n);                                                                              \
			public_of(name, private, peer, n);                                                             \
			CHECK(ica_##prefix##_key_gen(ctx) == 0 && ica_##prefix##_key_get(ctx, private, NULL) == 0);    \
			shared(name, private, peer, good, n);                                                          \
			CHECK(ica_##prefix##_derive(ctx, secret, peer) == 0 && !memcmp(secret, good, n));              \
			/* Into the peer's own place. */                                                               \
			CHECK(ica_##prefix##_derive(ctx, peer, peer) == 0 && !memcmp(peer, good, n));                  \
		}                                                                                                      \
		CHECK(ica_##prefix##_ctx_del(&ctx) == 0);                                                              \
	}                                                                                                              \
                                                                                                                       \
	static void *prefix##_thread(void *shared_ctx)                                                                 \
	{                                                                                                              \
		static const unsigned char base[n] = {n == 32 ? 9 : 5};                                                \
		unsigned char public[n], again[n], mine[n], theirs[n], other[n];                                       \
		type *own = NULL;                                                                                      \
		unsigned int round;                                                                                    \
                                                                                                                       \
		for (round = 0; round < rounds(10); round++) {                                                         \
			CHECK(ica_##prefix##_key_get(shared_ctx, NULL, public) == 0);                                  \
			CHECK(ica_##prefix##_derive(shared_ctx, again, base) == 0 && !memcmp(public, again, n));       \
			CHECK(ica_##prefix##_ctx_new(&own) == 0 && ica_##prefix##_key_gen(own) == 0);                  \
			CHECK(ica_##prefix##_key_get(own, NULL, other) == 0);                                          \
			CHECK(ica_##prefix##_derive(own, mine, public) == 0);                                          \
			CHECK(ica_##prefix##_derive(shared_ctx, theirs, other) == 0 && !memcmp(mine, theirs, n));      \
			CHECK(ica_##prefix##_ctx_del(&own) == 0);                                                      \
		}                                                                                                      \
		return NULL;                                                                                           \
	}

AGREEMENT(x25519, ICA_X25519_CTX, "X25519", 32)
AGREEMENT(x448, ICA_X448_CTX, "X448", 56)

#define SIGNATURES(prefix, type, name, n, s)                                                                           \
	KEYS(prefix, type, name, n)                                                                                    \
	static void prefix##_signs(void)                                                                               \
	{                                                                                                              \
		unsigned char private[n], public[n], sig[s], good[MOST], message[2000];                                \
		type *ctx = NULL, *reader = NULL;                                                                      \
		unsigned int round, size;                                                                              \
                                                                                                                       \
		CHECK(ica_##prefix##_ctx_new(&ctx) == 0 && ica_##prefix##_ctx_new(&reader) == 0);                      \
		memset(sig, 0xee, s);                                                                                  \
		fill(message, sizeof message);                                                                         \
		fill(public, n);                                                                                       \
		CHECK(ica_##prefix##_sign(ctx, sig, message, 1) == -1 && ica_##prefix##_verify(ctx, sig, message, 1) == -1);  \
		CHECK(ica_##prefix##_key_set(ctx, NULL, public) == 0 && ica_##prefix##_sign(ctx, sig, message, 1) == -1);     \
		CHECK(ica_##prefix##_key_gen(ctx) == 0 && ica_##prefix##_sign(NULL, sig, message, 1) == -1);           \
		CHECK(ica_##prefix##_sign(ctx, NULL, message, 1) == -1 && ica_##prefix##_sign(ctx, sig, NULL, 1) == -1);      \
		CHECK(ica_##prefix##_verify(NULL, sig, message, 1) == -1 && ica_##prefix##_verify(ctx, NULL, message, 1) == -1); \
		CHECK(ica_##prefix##_verify(ctx, sig, NULL, 1) == -1);                                                 \
		CHECK(ica_##prefix##_sign(ctx, sig, message, (size_t)-1) == -1 && is_all(sig, 0xee, s));               \
		for (round = 0; round < rounds(30); round++) {                                                         \
			size = round ? number(sizeof message) : 0;                                                     \
			fill(private, n);                                                                              \
			public_of(name, private, public, n);                                                           \
			/* A public key that does not belong to the private one must not come near a signature. */     \
			CHECK(ica_##prefix##_key_set(ctx, private, round % 2 ? message : public) == 0);                \
			CHECK(ica_##prefix##_sign(ctx, sig, message, size) == 0);                                      \
			signature_of(name, private, n, message, size, good);                                           \
			CHECK(!memcmp(sig, good, s));                                                                  \
			CHECK(ica_##prefix##_key_set(reader, NULL, public) == 0);                                      \
			CHECK(ica_##prefix##_verify(reader, sig, message, size) == 0);                                 \
			sig[number(s)] ^= 1u << number(8);                                                             \
			CHECK(ica_##prefix##_verify(reader, sig, message, size) == -1);                                \
			CHECK(ica_##prefix##_verify(reader, good, message, size + 1) == -1);                           \
		}                                                                                                      \
		/* No message, and a signature over its message. */                                                    \
		CHECK(ica_##prefix##_sign(ctx, sig, NULL, 0) == 0);                                                    \
		signature_of(name, private, n, message, s, good);                                                      \
		CHECK(ica_##prefix##_sign(ctx, message, message, s) == 0 && !memcmp(message, good, s));                \
		CHECK(ERR_peek_error() == 0);                                                                          \
		CHECK(ica_##prefix##_ctx_del(&ctx) == 0 && ica_##prefix##_ctx_del(&reader) == 0);                      \
	}                                                                                                              \
                                                                                                                       \
	static void *prefix##_thread(void *shared_ctx)                                                                 \
	{                                                                                                              \
		unsigned char sig[s], again[s], public[n], message[100] = {7};                                         \
		type *reader = NULL;                                                                                   \
		unsigned int round;                                                                                    \
                                                                                                                       \
		CHECK(ica_##prefix##_ctx_new(&reader) == 0);                                                           \
		for (round = 0; round < rounds(10); round++) {                                                         \
			CHECK(ica_##prefix##_sign(shared_ctx, sig, message, sizeof message) == 0);                     \
			CHECK(ica_##prefix##_key_get(shared_ctx, NULL, public) == 0);                                  \
			CHECK(ica_##prefix##_key_set(reader, NULL, public) == 0);                                      \
			CHECK(ica_##prefix##_verify(reader, sig, message, sizeof message) == 0);                       \
			CHECK(ica_##prefix##_sign(shared_ctx, again, message, sizeof message) == 0);                   \
			CHECK(!memcmp(sig, again, s));                                                                 \
		}                                                                                                      \
		CHECK(ica_##prefix##_ctx_del(&reader) == 0);                                                           \
		return NULL;                                                                                           \
	}

SIGNATURES(ed25519, ICA_ED25519_CTX, "ED25519", 32, 64)
SIGNATURES(ed448, ICA_ED448_CTX, "ED448", 57, 114)

static void together(void *(*thread)(void *), void *ctx)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, thread, ctx));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

/* One context used by all threads, its public key not yet known. */
#define TOGETHER(prefix, type, n)                                                                                      \
	do {                                                                                                           \
		unsigned char private[n];                                                                              \
		type *ctx = NULL;                                                                                      \
                                                                                                                       \
		fill(private, n);                                                                                      \
		CHECK(ica_##prefix##_ctx_new(&ctx) == 0 && ica_##prefix##_key_set(ctx, private, NULL) == 0);           \
		together(prefix##_thread, ctx);                                                                        \
		CHECK(ica_##prefix##_ctx_del(&ctx) == 0);                                                              \
	} while (0)

static void *all_the_time(void *stop)
{
	unsigned char secret[56], peer[56] = {5}, sig[114];
	ICA_X448_CTX *x = NULL;
	ICA_ED448_CTX *ed = NULL;

	CHECK(ica_x448_ctx_new(&x) == 0 && ica_ed448_ctx_new(&ed) == 0);
	CHECK(ica_x448_key_gen(x) == 0 && ica_ed448_key_gen(ed) == 0);
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
		CHECK(ica_x448_derive(x, secret, peer) == 0);
		CHECK(ica_ed448_sign(ed, sig, peer, sizeof peer) == 0);
	}
	CHECK(ica_x448_ctx_del(&x) == 0 && ica_ed448_ctx_del(&ed) == 0);
	return NULL;
}

/* A child makes other keys than its parent, while other threads of the parent are at work. */
#define FORKED(prefix, type, n)                                                                                        \
	do {                                                                                                           \
		unsigned char mine[n], theirs[n];                                                                      \
		type *ctx = NULL;                                                                                      \
		int ends[2], status;                                                                                   \
		pid_t child;                                                                                           \
                                                                                                                       \
		CHECK(ica_##prefix##_ctx_new(&ctx) == 0 && ica_##prefix##_key_gen(ctx) == 0 && !pipe(ends));           \
		child = fork();                                                                                        \
		CHECK(child >= 0);                                                                                     \
		if (child == 0) {                                                                                      \
			alarm(60);                                                                                     \
			CHECK(ica_##prefix##_key_gen(ctx) == 0 && ica_##prefix##_key_get(ctx, mine, NULL) == 0);       \
			CHECK(write(ends[1], mine, n) == n);                                                           \
			prefix##_thread(ctx);                                                                          \
			_exit(0);                                                                                      \
		}                                                                                                      \
		CHECK(ica_##prefix##_key_gen(ctx) == 0 && ica_##prefix##_key_get(ctx, mine, NULL) == 0);               \
		CHECK(read(ends[0], theirs, n) == n && memcmp(mine, theirs, n));                                       \
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);           \
		close(ends[0]);                                                                                        \
		close(ends[1]);                                                                                        \
		CHECK(ica_##prefix##_ctx_del(&ctx) == 0);                                                              \
	} while (0)

/* What software alone serves is not served where the program wants none. */
static void without_fallbacks(void)
{
	unsigned char private[57] = {1}, out[114], message[513] = {0};
	ICA_X448_CTX *x = NULL, *other = NULL;
	ICA_ED448_CTX *ed = NULL;
	ICA_ED25519_CTX *ed25519 = NULL;

	CHECK(ica_x448_ctx_new(&x) == 0 && ica_ed448_ctx_new(&ed) == 0 && ica_ed25519_ctx_new(&ed25519) == 0);
	CHECK(ica_ed25519_key_set(ed25519, private, NULL) == 0);
	CHECK(ica_x448_key_set(x, private, NULL) == 0 && ica_ed448_key_set(ed, private, NULL) == 0);
	ica_set_fallback_mode(ICA_FALLBACKS_DISABLED);
	CHECK(ica_x448_ctx_new(&other) == -1 && !other);
	CHECK(ica_x448_key_gen(x) == -1 && ica_x448_key_get(x, NULL, out) == -1 && ica_x448_derive(x, out, private) == -1);
	CHECK(ica_ed448_key_gen(ed) == -1 && ica_ed448_sign(ed, out, private, 1) == -1);
#ifndef __s390x__
	/* Too long for a batch. */
	CHECK(ica_ed25519_sign(ed25519, out, message, sizeof message) == -1);
#endif
	CHECK(ica_x448_key_get(x, out, NULL) == 0 && !memcmp(out, private, 56));
	ica_set_fallback_mode(ICA_FALLBACKS_ENABLED);
	CHECK(ica_x448_key_get(x, NULL, out) == 0 && ica_ed448_sign(ed, out, private, 1) == 0);
	CHECK(ica_ed25519_sign(ed25519, out, message, sizeof message) == 0);
	CHECK(ica_x448_ctx_del(&x) == 0 && ica_ed448_ctx_del(&ed) == 0 && ica_ed25519_ctx_del(&ed25519) == 0);
}

/* For the counters: each function once, keys made and public keys computed of set ones. */
#define COUNTED(prefix, type, n)                                                                                       \
	do {                                                                                                           \
		type *ctx = NULL;                                                                                      \
                                                                                                                       \
		CHECK(ica_##prefix##_ctx_new(&ctx) == 0 && ica_##prefix##_key_gen(ctx) == 0);                          \
		CHECK(ica_##prefix##_key_get(ctx, bytes, out) == 0 && ica_##prefix##_key_set(ctx, bytes, NULL) == 0);  \
		prefix##_counted(ctx);                                                                                 \
		CHECK(ica_##prefix##_key_get(ctx, NULL, out) == 0 && ica_##prefix##_key_get(ctx, NULL, out) == 0);     \
		CHECK(ica_##prefix##_ctx_del(&ctx) == 0);                                                              \
	} while (0)

static void count(void)
{
	unsigned char bytes[114], out[114], message[513] = {0};

#define x25519_counted(ctx) CHECK(ica_x25519_derive(ctx, bytes, out) == 0)
#define x448_counted(ctx) CHECK(ica_x448_derive(ctx, bytes, out) == 0)
/* Signing computes the public key, once: for what follows it is known. */
#define ed25519_counted(ctx)                                                                                           \
	CHECK(!ica_ed25519_sign(ctx, bytes, message, sizeof message) && !ica_ed25519_sign(ctx, bytes, out, 1) &&       \
	      !ica_ed25519_verify(ctx, bytes, out, 1))
#define ed448_counted(ctx) CHECK(!ica_ed448_sign(ctx, bytes, out, 1) && !ica_ed448_verify(ctx, bytes, out, 1))
	COUNTED(x25519, ICA_X25519_CTX, 32);
	COUNTED(x448, ICA_X448_CTX, 56);
	COUNTED(ed25519, ICA_ED25519_CTX, 32);
	COUNTED(ed448, ICA_ED448_CTX, 57);
}

int main(int argc, char **argv)
{
	unsigned char out[114], private[57] = {3}, peer[56] = {5};
	ICA_X448_CTX *x = NULL;
	ICA_ED448_CTX *ed = NULL;
	pthread_t busy[2];
	unsigned int i;
	int stop = 0;

	if (argc > 1 && !strcmp(argv[1], "count")) {
		count();
		puts("good");
		return 0;
	}
	x25519_keys();
	x25519_derives();
	x448_keys();
	x448_derives();
	ed25519_keys();
	ed25519_signs();
	ed448_keys();
	ed448_signs();
	without_fallbacks();
	TOGETHER(x25519, ICA_X25519_CTX, 32);
	TOGETHER(x448, ICA_X448_CTX, 56);
	TOGETHER(ed25519, ICA_ED25519_CTX, 32);
	TOGETHER(ed448, ICA_ED448_CTX, 57);
	for (i = 0; i < FORK_BESIDE * 2; i++)
		CHECK(!pthread_create(&busy[i], NULL, all_the_time, &stop));
	for (i = 0; i < rounds(20); i++) {
		FORKED(x25519, ICA_X25519_CTX, 32);
		FORKED(x448, ICA_X448_CTX, 56);
		FORKED(ed25519, ICA_ED25519_CTX, 32);
		FORKED(ed448, ICA_ED448_CTX, 57);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < FORK_BESIDE * 2; i++)
		CHECK(!pthread_join(busy[i], NULL));

	/* A program that has put libcrypto away, as all do when they end: no crash, and no wrong answer. */
	CHECK(ica_x448_ctx_new(&x) == 0 && ica_ed448_ctx_new(&ed) == 0);
	CHECK(ica_x448_key_set(x, private, NULL) == 0 && ica_ed448_key_set(ed, private, NULL) == 0);
	OPENSSL_cleanup();
	for (i = 0; i < 2; i++) {
		ica_x448_key_get(x, NULL, out);
		ica_x448_derive(x, out, peer);
		if (ica_ed448_sign(ed, out, private, 1) == 0)
			CHECK(ica_ed448_verify(ed, out, private, 2) == -1);
	}
	CHECK(ica_x448_ctx_del(&x) == 0 && ica_ed448_ctx_del(&ed) == 0);
	puts("good");
	return 0;
}
