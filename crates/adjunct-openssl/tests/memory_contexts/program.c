/* Memory that runs out: contexts of every algorithm made, set up, copied and used with the first allocation refused, then with the
 * second, and so on until none is; once with all that come after refused as well. What fails says so; nothing ends the process.
 * Called with "sizes" first: how many bytes a context takes, of this module's and of OpenSSL's own. */
#include <openssl/conf.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __GLIBC__
int main(void)
{
	puts("SKIPPED: a C library whose allocator cannot be stood in for");
	return 0;
}
#else

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

/* The allocation that is refused, from 1 (0: none, and nothing is counted), and whether those after it are as well. */
static unsigned int refused, asked;
static int for_good;

/* Whether bytes are counted, and how many were given. */
static int counts;
static size_t bytes_given;

static int refuses(size_t size)
{
	/* As glibc gives memory: by 16 bytes, 8 of them its own. */
	if (counts)
		bytes_given += (size + 8 + 15) & ~(size_t)15;
	if (!refused)
		return 0;
	asked++;
	return asked == refused || (for_good && asked > refused);
}

void *malloc(size_t size) { return refuses(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refuses(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return refuses(size) ? NULL : __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return refuses(size) ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = memalign(alignment, size);
	return *memory ? 0 : 12;
}

static OSSL_LIB_CTX *library;
static void *method;
static const char *named;
static const unsigned char bytes[80] = "a key, an initialisation vector, and what is worked on: all of it";

static int cipher(void)
{
	EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new();
	unsigned char key[64], out[128];
	int n, i, done;

	for (i = 0; i < 64; i++)
		key[i] = (unsigned char)i;
	done = a && b && EVP_EncryptInit_ex(a, method, NULL, key, bytes) == 1 && EVP_CIPHER_CTX_copy(b, a) == 1
	    && EVP_EncryptUpdate(b, out, &n, bytes, 32) == 1 && EVP_EncryptFinal_ex(b, out, &n) == 1;
	EVP_CIPHER_CTX_free(a);
	EVP_CIPHER_CTX_free(b);
	return done;
}

static int digest(void)
{
	EVP_MD_CTX *a = EVP_MD_CTX_new(), *b = EVP_MD_CTX_new();
	unsigned char out[64];
	size_t length = 32;
	OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t("xoflen", &length), OSSL_PARAM_construct_end()};
	int done = a && b && EVP_DigestInit_ex(a, method, NULL) == 1 && EVP_DigestUpdate(a, bytes, 64) == 1 && EVP_MD_CTX_copy_ex(b, a) == 1;

	if (done && strstr(named, "SHAKE"))
		done = EVP_MD_CTX_set_params(b, params) == 1;
	done = done && EVP_DigestFinal_ex(b, out, NULL) == 1;
	EVP_MD_CTX_free(a);
	EVP_MD_CTX_free(b);
	return done;
}

static int mac(void)
{
	EVP_MAC_CTX *a = EVP_MAC_CTX_new(method), *b = NULL;
	unsigned char out[64];
	size_t n;
	const char *under = strchr(named, ':') + 1;
	OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(*named == 'H' ? "digest" : "cipher", (char *)under, 0),
			       OSSL_PARAM_construct_end()};
	int done = a && EVP_MAC_CTX_set_params(a, params) == 1;

	/* A copy of what waits for its key, which only an HMAC has. */
	if (done && *named == 'H') {
		done = (b = EVP_MAC_CTX_dup(a)) != NULL;
		EVP_MAC_CTX_free(b);
	}
	b = NULL;
	done = done && EVP_MAC_init(a, bytes, 16, NULL) == 1 && EVP_MAC_update(a, bytes, 40) == 1
	    && (b = EVP_MAC_CTX_dup(a)) && EVP_MAC_final(b, out, &n, sizeof(out)) == 1;
	EVP_MAC_CTX_free(a);
	EVP_MAC_CTX_free(b);
	return done;
}

static int generator(void)
{
	EVP_RAND_CTX *a = EVP_RAND_CTX_new(method, NULL);
	unsigned char out[64];
	OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("cipher", (char *)"AES-256-CTR", 0), OSSL_PARAM_construct_end()};
	int done = a && EVP_RAND_instantiate(a, 256, 0, NULL, 0, params) == 1 && EVP_RAND_generate(a, out, 64, 256, 0, NULL, 0) == 1
	    && EVP_RAND_generate(a, out, 64, 256, 1, bytes, 20) == 1;

	EVP_RAND_CTX_free(a);
	return done;
}

/* Runs `call` until nothing is refused it. */
static int try_out(const char *name, int (*call)(void))
{
	unsigned int at;

	named = name;
	/* What libcrypto sets up once for a thread, errors for one, is there. */
	if (!call()) {
		fprintf(stderr, "%s: not done\n", name);
		ERR_print_errors_fp(stderr);
		return 0;
	}
	for (for_good = 0; for_good < 2; for_good++)
		for (at = 1;; at++) {
			int done;

			asked = 0;
			refused = at;
			done = call();
			refused = 0;
			ERR_clear_error();
			if (asked < at) {
				if (!done || at < 3) {
					fprintf(stderr, "%s: %d with nothing refused of %u\n", name, done, asked);
					return 0;
				}
				break;
			}
		}
	return 1;
}

/* The bytes of a context that has been set up, of EVP's half and the provider's; 0 where it could not be. */
static size_t size_of(OSSL_LIB_CTX *in, const char *ask, const char *name)
{
	EVP_CIPHER *cipher_method = *name == 'c' ? EVP_CIPHER_fetch(in, name + 2, ask) : NULL;
	EVP_MD *digest_method = *name == 'd' ? EVP_MD_fetch(in, name + 2, ask) : NULL;
	int i, done = 0;

	/* The first may have something made once. */
	for (i = 0; i < 2; i++) {
		bytes_given = 0;
		counts = 1;
		if (cipher_method) {
			EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
			done = context && EVP_EncryptInit_ex(context, cipher_method, NULL, bytes, bytes) == 1;
			counts = 0;
			EVP_CIPHER_CTX_free(context);
		} else if (digest_method) {
			EVP_MD_CTX *context = EVP_MD_CTX_new();
			done = context && EVP_DigestInit_ex(context, digest_method, NULL) == 1;
			counts = 0;
			EVP_MD_CTX_free(context);
		}
		counts = 0;
	}
	EVP_CIPHER_free(cipher_method);
	EVP_MD_free(digest_method);
	return done ? bytes_given : 0;
}

int main(int count, char **argument)
{
	const char *ask = "provider=adjunct";
	int i, done = 1;

	if (count > 4 && !strcmp(argument[1], "sizes")) {
		OSSL_LIB_CTX *stock = OSSL_LIB_CTX_new();

		library = OSSL_LIB_CTX_new();
		if (!OSSL_LIB_CTX_load_config(library, argument[2]))
			return 2;
		for (i = 4; i < count; i++)
			printf("%s: %zu %zu\n", argument[i], size_of(library, ask, argument[i]), size_of(stock, "provider=default", argument[i]));
		return 0;
	}

	library = OSSL_LIB_CTX_new();
	if (count < 4 || !OSSL_LIB_CTX_load_config(library, argument[1]))
		return 2;
	/* The queue has room for each error, so that none of what is refused is its own. */
	ERR_clear_error();
	for (i = 3; i < count; i++) {
		const char *name = argument[i];
		char first[64];

		snprintf(first, sizeof(first), "%.*s", (int)strcspn(name + 2, ":"), name + 2);
		method = NULL;
		if (*name == 'c' && (method = EVP_CIPHER_fetch(library, first, ask)))
			done &= try_out(first, cipher), EVP_CIPHER_free(method);
		if (*name == 'd' && (method = EVP_MD_fetch(library, first, ask)))
			done &= try_out(first, digest), EVP_MD_free(method);
		if (*name == 'm' && (method = EVP_MAC_fetch(library, first, ask)))
			done &= try_out(name + 2, mac), EVP_MAC_free(method);
		if (*name == 'r' && (method = EVP_RAND_fetch(library, first, ask)))
			done &= try_out(first, generator), EVP_RAND_free(method);
		if (!method) {
			fprintf(stderr, "%s is not offered\n", name);
			done = 0;
		}
	}
	return !done;
}
#endif
