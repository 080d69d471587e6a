/* Memory that runs out: each call with its first allocation refused, then with its second, and so on until none is; once with
 * all that come after refused as well. It says so by an error, writes nothing, and keeps nothing. */
#include "all.h"

#ifndef __GLIBC__
int main(void)
{
	puts("SKIPPED: a C library whose allocator cannot be stood in for");
	return 0;
}
#else

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* The allocation that is refused, from 1; 0: none, and nothing is counted. And whether those after it are as well. */
static unsigned int refused;
static int for_good;
/* Of the call that is tried: how many it asked for, and how many it has. */
static unsigned int asked;
static long had;

static int refuses(void)
{
	if (!refused)
		return 0;
	asked++;
	return asked == refused || (for_good && asked > refused);
}

static void *given(void *memory)
{
	if (memory && refused)
		had++;
	if (!memory)
		errno = ENOMEM;
	return memory;
}

void *malloc(size_t size)
{
	return given(refuses() ? NULL : __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return given(refuses() ? NULL : __libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
	if (!memory)
		return malloc(size);
	return refuses() ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
	return given(refuses() ? NULL : __libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
	if (memory && refused)
		had--;
	__libc_free(memory);
}

/* Runs `call` until nothing is refused it. `error` is what it gives then; 0: anything but a success. */
static void try_out(const char *name, int (*call)(void *), void *own, int error)
{
	unsigned int at, most = 0;

	/* What is set up once is set up, for errors too. */
	for_good = 1;
	for (at = 1; at < 4; at++) {
		refused = at;
		asked = 0;
		call(own);
		ica(cleanup)();
		refused = 0;
	}
	for (for_good = 0; for_good < 2; for_good++)
		/* Keys are made by as many allocations as it takes. */
		for (at = 1;; at += 1 + at / 64) {
			int result;

			asked = 0;
			had = 0;
			refused = at;
			result = call(own);
			ica(cleanup)();
			refused = 0;
			if (asked > most)
				most = asked;
			if (had)
				fprintf(stderr, "%s: %ld left of allocations with number %u refused\n", name, had, at);
			if (asked >= at && error && result && result != error)
				fprintf(stderr, "%s: %d, not %d, with allocation %u refused\n", name, result, error, at);
			if (asked < at && result)
				fprintf(stderr, "%s: %d with nothing refused\n", name, result);
			CHECK(!had && (asked >= at ? !error || !result || result == error : !result));
			if (asked < at)
				break;
		}
	/* A handle has memory at least. */
	CHECK(most || !error);
	if (getenv("VERBOSE"))
		printf("%s: %u\n", name, most);
}

static int new_kma(void *own)
{
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();

	(void)own;
	if (!ctx)
		return ENOMEM;
	ica(aes_gcm_kma_ctx_free)(ctx);
	return 0;
}

static int new_ec_key(void *nid)
{
	unsigned int length;
	ICA_EC_KEY *key = ica(ec_key_new)(*(unsigned int *)nid, &length);

	if (!key)
		return ENOMEM;
	ica(ec_key_free)(key);
	return 0;
}

static int new_drbg(void *own)
{
	ica_drbg_t *made = NULL;
	int result = ica(drbg_instantiate)(&made, 256, false, *api.sha512, own, 4);

	CHECK(!made == !!result);
	if (made)
		CHECK(ica(drbg_uninstantiate)(&made) == 0);
	return result;
}

#define CONTEXT(curve, CURVE)                                                                                          \
	static int new_##curve(void *own)                                                                                    \
	{                                                                                                              \
		ICA_##CURVE##_CTX *ctx = NULL;                                                                         \
		int result = ica(curve##_ctx_new)(&ctx);                                                               \
                                                                                                                       \
		(void)own;                                                                                             \
		CHECK(!ctx == !!result);                                                                               \
		if (ctx)                                                                                               \
			CHECK(ica(curve##_ctx_del)(&ctx) == 0);                                                        \
		return result;                                                                                         \
	}

CONTEXT(x25519, X25519)
CONTEXT(x448, X448)
CONTEXT(ed25519, ED25519)
CONTEXT(ed448, ED448)

/* A call of the tables. An error leaves all buffers as they were, a success what it made the first time. */
static int listed(void *own)
{
	static unsigned char memory[MOST_BUFFERS][LARGEST];
	const struct call *c = own;
	unsigned char *b[MOST_BUFFERS] = {NULL};
	unsigned int i;
	int result;

	for (i = 0; i < c->buffers; i++) {
		b[i] = memory[i];
		memcpy(b[i], c->buffer[i].value, c->buffer[i].size);
	}
	result = c->run(c, b);
	for (i = 0; i < c->buffers; i++) {
		const struct buffer *buffer = &c->buffer[i];

		if (result != c->expected && memcmp(b[i], buffer->value, buffer->size))
			wrong(c, "after the error, changed buffer", i, result);
		if (result == c->expected && !c->random && memcmp(b[i], buffer->result, buffer->size))
			wrong(c, "after a success, other than ever, buffer", i, result);
	}
	return result == c->expected ? 0 : result;
}

int main(void)
{
	unsigned int nid = 415, i;

	add_all(LINKED);
	try_out("kma", new_kma, NULL, ENOMEM);
	try_out("ec_key", new_ec_key, &nid, ENOMEM);
	try_out("drbg", new_drbg, "name", ENOMEM);
	try_out("x25519", new_x25519, NULL, -1);
	try_out("ed25519", new_ed25519, NULL, -1);
	if (curve448()) {
		try_out("x448", new_x448, NULL, -1);
		try_out("ed448", new_ed448, NULL, -1);
	}
	for (i = 0; i < call_count; i++)
		try_out(calls[i].name, listed, &calls[i], 0);
	puts("good");
	return 0;
}
#endif
