/* Memory that runs out. Run as: program CONFIG QUERY. Each call with its first allocation refused, then with its second, and so on until
 * none is; once more with all that come after refused as well. It fails or does what it always does, and the process lives. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
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

/* The allocation that is refused, from 1; 0: none, and nothing is counted. And whether those after it are as well. */
static __thread unsigned int refused;
static __thread int for_good;
static __thread unsigned int asked;

static int refuses(void)
{
	if (!refused)
		return 0;
	asked++;
	if (asked != refused && !(for_good && asked > refused))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return refuses() ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
	return refuses() ? NULL : __libc_memalign(alignment, size);
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

static OSSL_LIB_CTX *ctx;
static const char *query;

struct work {
	const char *name;
	EVP_PKEY *key;
};

static int sign(struct work *w)
{
	unsigned char out[512], data[32] = {7};
	size_t length = sizeof out;
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, w->key, query), *copy = NULL;
	int done = c && EVP_PKEY_sign_init(c) == 1 && (copy = EVP_PKEY_CTX_dup(c)) != NULL &&
		   EVP_PKEY_sign(copy, out, &length, data, sizeof data) == 1;

	EVP_PKEY_CTX_free(copy);
	EVP_PKEY_CTX_free(c);
	return done;
}

static int digest_sign(struct work *w)
{
	unsigned char out[512];
	size_t length = sizeof out;
	const char *digest = EVP_PKEY_is_a(w->key, "ED25519") ? NULL : "SHA256";
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	int done = c && EVP_DigestSignInit_ex(c, NULL, digest, ctx, query, w->key, NULL) == 1 &&
		   EVP_DigestSign(c, out, &length, (const unsigned char *)"text", 4) == 1;

	EVP_MD_CTX_free(c);
	return done;
}

static int verify_wrong(struct work *w)
{
	unsigned char signature[256] = {1}, data[32] = {7};
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, w->key, query);
	int done = c && EVP_PKEY_verify_init(c) == 1 && EVP_PKEY_verify(c, signature, sizeof signature, data, sizeof data) != 1;

	EVP_PKEY_CTX_free(c);
	return done;
}

static int decrypt(struct work *w)
{
	unsigned char out[512], data[256] = {0};
	size_t length = sizeof out;
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, w->key, query), *copy = NULL;
	int done = c && EVP_PKEY_decrypt_init(c) == 1 && EVP_PKEY_CTX_set_rsa_padding(c, RSA_PKCS1_OAEP_PADDING) == 1 &&
		   (copy = EVP_PKEY_CTX_dup(c)) != NULL && EVP_PKEY_decrypt(copy, out, &length, data, sizeof data) <= 0;

	EVP_PKEY_CTX_free(copy);
	EVP_PKEY_CTX_free(c);
	return done;
}

static int derive(struct work *w)
{
	unsigned char out[128];
	size_t length = sizeof out;
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, w->key, query), *copy = NULL;
	int done = c && EVP_PKEY_derive_init(c) == 1 && EVP_PKEY_derive_set_peer(c, w->key) == 1 &&
		   (copy = EVP_PKEY_CTX_dup(c)) != NULL && EVP_PKEY_derive(copy, out, &length) == 1;

	EVP_PKEY_CTX_free(copy);
	EVP_PKEY_CTX_free(c);
	return done;
}

static int hide(struct work *w)
{
	unsigned char out[2048], secret[128], found[128];
	size_t length = sizeof out, secret_length = sizeof secret, found_length = sizeof found;
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_pkey(ctx, w->key, query);
	int done = c && EVP_PKEY_encapsulate_init(c, NULL) == 1 &&
		   EVP_PKEY_encapsulate(c, out, &length, secret, &secret_length) == 1 &&
		   EVP_PKEY_decapsulate_init(c, NULL) == 1 &&
		   EVP_PKEY_decapsulate(c, found, &found_length, out, length) == 1 &&
		   found_length == secret_length && memcmp(found, secret, secret_length) == 0;

	EVP_PKEY_CTX_free(c);
	return done;
}

static int copies(struct work *w)
{
	EVP_PKEY *copy = EVP_PKEY_dup(w->key), *again = NULL;
	OSSL_PARAM *params = NULL;
	EVP_PKEY_CTX *c = NULL;
	int done = copy && EVP_PKEY_todata(copy, EVP_PKEY_KEYPAIR, &params) == 1 &&
		   (c = EVP_PKEY_CTX_new_from_name(ctx, EVP_PKEY_get0_type_name(copy), query)) != NULL &&
		   EVP_PKEY_fromdata_init(c) == 1 && EVP_PKEY_fromdata(c, &again, EVP_PKEY_KEYPAIR, params) == 1 &&
		   EVP_PKEY_eq(again, w->key) == 1;

	EVP_PKEY_CTX_free(c);
	OSSL_PARAM_free(params);
	EVP_PKEY_free(again);
	EVP_PKEY_free(copy);
	return done;
}

static int generate(struct work *w)
{
	EVP_PKEY *made = NULL;
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(ctx, w->name, query);
	int done = c && EVP_PKEY_keygen_init(c) == 1 && EVP_PKEY_generate(c, &made) == 1;

	EVP_PKEY_free(made);
	EVP_PKEY_CTX_free(c);
	return done;
}

static void try_out(const char *what, int (*call)(struct work *), struct work *w)
{
	unsigned int at, most = 0;

	/* What is set up once is set up. */
	if (!call(w) || !call(w)) {
		printf("%s of %s fails with memory\n", what, w->name);
		ERR_print_errors_fp(stdout);
		exit(1);
	}
	for (for_good = 0; for_good < 2; for_good++)
		/* Tables of a curve are made by as many allocations as it takes. */
		for (at = 1;; at += 1 + at / 64) {
			int done;

			asked = 0;
			refused = at;
			done = call(w);
			refused = 0;
			ERR_clear_error();
			if (asked > most)
				most = asked;
			if (asked >= at)
				continue;
			if (!done) {
				printf("%s of %s fails with nothing refused\n", what, w->name);
				exit(1);
			}
			break;
		}
	printf("%s of %s: %u allocations\n", what, w->name, most);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct work rsa = {"RSA", NULL}, x = {"X25519", NULL}, ed = {"ED25519", NULL}, ec = {"EC", NULL};
	struct work kems[] = {{"ML-KEM-768", NULL}, {"X25519MLKEM768", NULL}, {"SecP256r1MLKEM768", NULL}};
	size_t i;

	if (argc < 3)
		return 2;
	query = argv[2];
	ctx = OSSL_LIB_CTX_new();
	if (!ctx || !OSSL_LIB_CTX_load_config(ctx, argv[1])) {
		ERR_print_errors_fp(stdout);
		return 1;
	}
	rsa.key = EVP_PKEY_Q_keygen(ctx, query, "RSA", (size_t)2048);
	x.key = EVP_PKEY_Q_keygen(ctx, query, "X25519");
	ed.key = EVP_PKEY_Q_keygen(ctx, query, "ED25519");
	ec.key = EVP_PKEY_Q_keygen(ctx, query, "EC", "P-256");
	if (!rsa.key || !x.key || !ed.key || !ec.key) {
		ERR_print_errors_fp(stdout);
		return 1;
	}
	try_out("signing", sign, &rsa);
	try_out("digest and signing", digest_sign, &rsa);
	try_out("refusing a signature", verify_wrong, &rsa);
	try_out("refusing a message", decrypt, &rsa);
	try_out("copying", copies, &rsa);
	try_out("deriving", derive, &x);
	try_out("copying", copies, &x);
	try_out("making", generate, &x);
	try_out("digest and signing", digest_sign, &ed);
	try_out("copying", copies, &ed);
	try_out("making", generate, &ed);
	try_out("signing", sign, &ec);
	try_out("digest and signing", digest_sign, &ec);
	try_out("refusing a signature", verify_wrong, &ec);
	try_out("deriving", derive, &ec);
	try_out("copying", copies, &ec);
	for (i = 0; i < sizeof kems / sizeof *kems; i++) {
		EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(ctx, kems[i].name, query);

		if (!c || EVP_PKEY_keygen_init(c) != 1 || EVP_PKEY_generate(c, &kems[i].key) != 1) {
			ERR_print_errors_fp(stdout);
			return 1;
		}
		EVP_PKEY_CTX_free(c);
		try_out("making", generate, &kems[i]);
		try_out("hiding", hide, &kems[i]);
		try_out("copying", copies, &kems[i]);
	}
	puts("good");
	return 0;
}
#endif
