/*
 * icasum: prints files' digests, as sha256sum does.
 *
 *     icasum [-a sha1|sha224|sha256|sha384|sha512|sha3-256|sha3-512] [FILE...]
 *
 * A message comes in parts: SHA_MSG_PART_FIRST, any number of SHA_MSG_PART_MIDDLE, SHA_MSG_PART_FINAL, with one context. All parts but
 * the last are of whole blocks. A message of one part is SHA_MSG_PART_ONLY.
 */
#include <ica_api.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Blocks in a part. */
#define BLOCKS 512
#define MOST_BLOCK 144

enum algorithm { A_SHA1, A_SHA224, A_SHA256, A_SHA384, A_SHA512, A_SHA3_256, A_SHA3_512 };

static const struct {
	const char *name;
	size_t block, length;
} algorithms[] = {
	[A_SHA1] = {"sha1", 64, SHA1_HASH_LENGTH},
	[A_SHA224] = {"sha224", 64, SHA224_HASH_LENGTH},
	[A_SHA256] = {"sha256", 64, SHA256_HASH_LENGTH},
	[A_SHA384] = {"sha384", 128, SHA384_HASH_LENGTH},
	[A_SHA512] = {"sha512", 128, SHA512_HASH_LENGTH},
	[A_SHA3_256] = {"sha3-256", 136, SHA3_256_HASH_LENGTH},
	[A_SHA3_512] = {"sha3-512", 72, SHA3_512_HASH_LENGTH},
};

union context {
	sha_context_t sha1;
	sha256_context_t sha256;
	sha512_context_t sha512;
	sha3_256_context_t sha3_256;
	sha3_512_context_t sha3_512;
};

static unsigned int part(enum algorithm algorithm, unsigned int which, const unsigned char *data, unsigned int length,
			 union context *context, unsigned char *out)
{
	switch (algorithm) {
	case A_SHA1:
		return ica_sha1(which, length, data, &context->sha1, out);
	case A_SHA224:
		return ica_sha224(which, length, data, &context->sha256, out);
	case A_SHA256:
		return ica_sha256(which, length, data, &context->sha256, out);
	case A_SHA384:
		return ica_sha384(which, length, data, &context->sha512, out);
	case A_SHA512:
		return ica_sha512(which, length, data, &context->sha512, out);
	case A_SHA3_256:
		return ica_sha3_256(which, length, data, &context->sha3_256, out);
	case A_SHA3_512:
		return ica_sha3_512(which, length, data, &context->sha3_512, out);
	}
	return EINVAL;
}

/* The digest of all of a file. Says what is wrong, if anything is. */
static const char *digest(enum algorithm algorithm, FILE *file, unsigned char *out)
{
	/* One part is read ahead: only then is it known which is the last. */
	static unsigned char parts[2][BLOCKS * MOST_BLOCK];
	size_t size = BLOCKS * algorithms[algorithm].block, length = fread(parts[0], 1, size, file);
	union context context;
	int now = 0, first = 1;

	for (;;) {
		size_t next = length == size ? fread(parts[!now], 1, size, file) : 0;
		unsigned int which = next ? first ? SHA_MSG_PART_FIRST : SHA_MSG_PART_MIDDLE
					  : first ? SHA_MSG_PART_ONLY : SHA_MSG_PART_FINAL;
		unsigned int code;

		if (ferror(file))
			return strerror(errno);
		code = part(algorithm, which, parts[now], (unsigned int)length, &context, out);
		if (code)
			return strerror((int)code);
		if (!next)
			return NULL;
		now = !now;
		first = 0;
		length = next;
	}
}

static int print(enum algorithm algorithm, const char *name)
{
	unsigned char out[SHA512_HASH_LENGTH];
	FILE *file = strcmp(name, "-") ? fopen(name, "rb") : stdin;
	const char *wrong = file ? digest(algorithm, file, out) : strerror(errno);
	size_t i;

	if (file && file != stdin)
		fclose(file);
	if (wrong) {
		fprintf(stderr, "icasum: %s: %s\n", name, wrong);
		return 1;
	}
	for (i = 0; i < algorithms[algorithm].length; i++)
		printf("%02x", out[i]);
	printf("  %s\n", name);
	return 0;
}

int main(int argc, char **argv)
{
	enum algorithm algorithm = A_SHA256;
	int i = 1, failed = 0;

	if (argc > 2 && !strcmp(argv[1], "-a")) {
		size_t known = sizeof algorithms / sizeof *algorithms, at = 0;

		while (at < known && strcmp(argv[2], algorithms[at].name))
			at++;
		if (at == known) {
			fprintf(stderr, "icasum: unknown algorithm %s\n", argv[2]);
			return 2;
		}
		algorithm = (enum algorithm)at;
		i = 3;
	}
	if (i == argc)
		return print(algorithm, "-");
	for (; i < argc; i++)
		failed |= print(algorithm, argv[i]);
	return failed;
}
