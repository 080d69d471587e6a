/*
 * gcmfile: encrypts a file with AES-GCM, and decrypts it again.
 *
 *     gcmfile encrypt KEYFILE IN OUT
 *     gcmfile decrypt KEYFILE IN OUT
 *
 * KEYFILE holds the key: 16, 24 or 32 bytes. What is written is
 *
 *     8 bytes "ICAGCM1\n" | 12 bytes nonce | the ciphertext, as long as the file | 16 bytes tag
 *
 * The first 20 bytes are authenticated with the rest. The output gets its name when all of it is right, and not before: a file with
 * a wrong tag leaves none.
 *
 * Encryption uses the functions with the state in the caller's hands (ica_aes_gcm_initialize, _intermediate, _last), decryption
 * those with a context (ica_aes_gcm_kma_*): either way a part at a time, all parts but the last of whole blocks.
 */
#include <ica_api.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC  "ICAGCM1\n"
#define NONCE  12
#define HEADER (8 + NONCE)
#define TAG    16
/* Of whole blocks. */
#define PART   (1 << 20)
/* The most that one nonce may encrypt (NIST SP 800-38D, 5.2.1.1). */
#define MOST   ((1ULL << 36) - 32)

static char temporary[4096];

static unsigned char key[32];

static void fail(const char *what, const char *why)
{
	explicit_bzero(key, sizeof key);
	if (temporary[0])
		unlink(temporary);
	fprintf(stderr, "gcmfile: %s: %s\n", what, why);
	exit(1);
}

/* libica's functions return 0 or a number of errno.h. */
static void ica(const char *what, unsigned int code)
{
	if (code == ENODEV)
		fail(what, "no hardware has it, and fallbacks are off");
	if (code)
		fail(what, strerror((int)code));
}

static void get(int from, void *data, size_t length, const char *name)
{
	unsigned char *next = data;

	while (length) {
		ssize_t done = read(from, next, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			fail(name, done ? strerror(errno) : "ends too early");
		next += done;
		length -= (size_t)done;
	}
}

static void put(int to, const void *data, size_t length, const char *name)
{
	const unsigned char *next = data;

	while (length) {
		ssize_t done = write(to, next, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			fail(name, strerror(errno));
		next += done;
		length -= (size_t)done;
	}
}

static int open_file(const char *name, unsigned long long *length)
{
	struct stat status;
	int file = open(name, O_RDONLY | O_CLOEXEC);

	if (file < 0 || fstat(file, &status))
		fail(name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		fail(name, "not a regular file");
	*length = (unsigned long long)status.st_size;
	return file;
}

static unsigned int read_key(const char *name)
{
	unsigned long long length;
	int file = open_file(name, &length);

	if (length != 16 && length != 24 && length != 32)
		fail(name, "a key has 16, 24 or 32 bytes");
	get(file, key, length, name);
	close(file);
	return (unsigned int)length;
}

/* The output, under another name for now. */
static int create(const char *name)
{
	int file;

	if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", name) >= sizeof temporary) {
		temporary[0] = 0;
		fail(name, "the name is too long");
	}
	file = mkstemp(temporary);
	if (file < 0) {
		temporary[0] = 0;
		fail(name, strerror(errno));
	}
	return file;
}

static void keep(int file, const char *name)
{
	if (fsync(file) || close(file) || rename(temporary, name))
		fail(name, strerror(errno));
	temporary[0] = 0;
}

static void encrypt(unsigned int key_length, const char *from, const char *to)
{
	static unsigned char plain[PART], cipher[PART];
	unsigned char header[HEADER] = MAGIC, icb[16], ucb[16], subkey[16], tag[TAG] = {0};
	unsigned long long length, left;
	int in = open_file(from, &length), out;

	if (length > MOST)
		fail(from, "too long for one nonce");
	ica("random numbers", ica_random_number_generate(NONCE, header + 8));
	ica("key", ica_aes_gcm_initialize(header + 8, NONCE, key, key_length, icb, ucb, subkey, ICA_ENCRYPT));
	ica("header", ica_aes_gcm_intermediate(plain, 0, cipher, ucb, header, HEADER, tag, TAG, key, key_length, subkey,
					       ICA_ENCRYPT));
	out = create(to);
	put(out, header, HEADER, to);
	for (left = length; left;) {
		size_t part = left < PART ? (size_t)left : PART;

		get(in, plain, part, from);
		ica("encryption", ica_aes_gcm_intermediate(plain, part, cipher, ucb, NULL, 0, tag, TAG, key, key_length,
							   subkey, ICA_ENCRYPT));
		put(out, cipher, part, to);
		left -= part;
	}
	ica("tag", ica_aes_gcm_last(icb, HEADER, length, tag, NULL, 0, key, key_length, subkey, ICA_ENCRYPT));
	put(out, tag, TAG, to);
	keep(out, to);
}

static void decrypt(unsigned int key_length, const char *from, const char *to)
{
	static unsigned char cipher[PART], plain[PART];
	unsigned char header[HEADER], tag[TAG];
	unsigned long long length, left;
	kma_ctx *ctx = ica_aes_gcm_kma_ctx_new();
	int in = open_file(from, &length), out, code;

	if (!ctx)
		fail(from, "out of memory");
	if (length < HEADER + TAG)
		fail(from, "not a file of gcmfile");
	get(in, header, HEADER, from);
	if (memcmp(header, MAGIC, 8))
		fail(from, "not a file of gcmfile");
	ica("key", (unsigned int)ica_aes_gcm_kma_init(ICA_DECRYPT, header + 8, NONCE, key, key_length, ctx));
	left = length - HEADER - TAG;
	/* The header is all of the additional data. Where no text follows, that is the end of it, too. */
	ica("header", (unsigned int)ica_aes_gcm_kma_update(cipher, plain, 0, header, HEADER, 1, left == 0, ctx));
	out = create(to);
	while (left) {
		size_t part = left < PART ? (size_t)left : PART;

		get(in, cipher, part, from);
		left -= part;
		ica("decryption", (unsigned int)ica_aes_gcm_kma_update(cipher, plain, part, NULL, 0, 1, left == 0, ctx));
		put(out, plain, part, to);
	}
	get(in, tag, TAG, from);
	code = ica_aes_gcm_kma_verify_tag(tag, TAG, ctx);
	ica_aes_gcm_kma_ctx_free(ctx);
	if (code == EFAULT)
		fail(from, "the tag is wrong: it has been changed, or this is not its key");
	ica("tag", (unsigned int)code);
	keep(out, to);
}

int main(int argc, char **argv)
{
	unsigned int key_length;

	if (argc != 5 || (strcmp(argv[1], "encrypt") && strcmp(argv[1], "decrypt"))) {
		fprintf(stderr, "usage: gcmfile encrypt|decrypt KEYFILE IN OUT\n");
		return 2;
	}
	key_length = read_key(argv[2]);
	if (!strcmp(argv[1], "encrypt"))
		encrypt(key_length, argv[3], argv[4]);
	else
		decrypt(key_length, argv[3], argv[4]);
	explicit_bzero(key, sizeof key);
	return 0;
}
