/* Messages of more than 4 GB, whose lengths no number of 32 bits holds: one call gives what calls of parts give. The memory is the same
 * two megabytes over and over, so that a few of them suffice. `long` alone looks only at what is refused; `long all` takes minutes. */
#include "all.h"

#include <sys/resource.h>

#define PIECE (2ul << 20)
#define PIECES 2049ul
#define LENGTH (PIECES * PIECE - PIECE + 48)

/* 4 GB and more of address space over the same memory. */
static unsigned char *repeated(void)
{
	int file = memfd_create("adjunct", 0);
	unsigned char *start = mmap(NULL, PIECES * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long i;

	CHECK(start != MAP_FAILED && file >= 0 && !ftruncate(file, PIECE));
	for (i = 0; i < PIECES; i++)
		CHECK(mmap(start + i * PIECE, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED);
	close(file);
	return start;
}

static unsigned char *in, *out, *last, key[64], iv[16];

/* The first 4 GB in parts of a piece, then the rest; what comes out last is kept. Both ways must end alike. */
#define SAME(name, CALL)                                                                                               \
	do {                                                                                                           \
		unsigned char begun[16], whole[48], chain[16];                                        \
		unsigned long length = LENGTH, done;                                                                   \
		unsigned char *from = in, *to = out;                                                                   \
                                                                                                                       \
		memcpy(begun, iv, 16);                                                                                 \
		CHECK(CALL == 0);                                                                                      \
		memcpy(whole, out, 48);                                                                                \
		memcpy(chain, iv, 16);                                                                                 \
		memcpy(iv, begun, 16);                                                                                 \
		for (done = 0; done < LENGTH; done += length) {                                                        \
			length = LENGTH - done < PIECE ? LENGTH - done : PIECE;                                        \
			CHECK(CALL == 0);                                                                              \
		}                                                                                                      \
		CHECK(!memcmp(whole, out, 48) && !memcmp(chain, iv, 16));                                              \
		printf("%s\n", name);                                                                                  \
	} while (0)

static void all_modes(void)
{
	SAME("AES ECB", ica(aes_ecb)(from, to, length, key, 16, 1));
	SAME("AES CBC", ica(aes_cbc)(from, to, length, key, 16, iv, 1));
	SAME("AES CBC, decrypting", ica(aes_cbc)(from, to, length, key, 32, iv, 0));
	SAME("AES CFB", ica(aes_cfb)(from, to, length, key, 16, iv, 16, 0));
	SAME("AES OFB", ica(aes_ofb)(from, to, length, key, 16, iv, 1));
	SAME("AES CTR", ica(aes_ctr)(from, to, length, key, 16, iv, 128, 1));
	SAME("AES CTR of 32 bits", ica(aes_ctr)(from, to, length, key, 16, iv, 32, 1));
	SAME("AES CTR of 16 bits", ica(aes_ctr)(from, to, length, key, 16, iv, 16, 1));
	SAME("AES XTS", ica(aes_xts_ex)(from, to, length, key, key + 16, 16, NULL, iv, 1));
}

static void all_messages(void)
{
	unsigned char tag[16], other[16], icb[16], ucb[16], subkey[16], hash[64], again[64], mac[16] = {0};
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();
	sha512_context_t sha;
	unsigned long done, length = LENGTH;

	CHECK(ica(aes_gcm)(in, LENGTH, out, iv, 12, in, LENGTH, tag, 16, key, 16, 1) == 0);
	memcpy(last, out, 48);
	memset(other, 0, 16);
	CHECK(ica(aes_gcm_initialize)(iv, 12, key, 16, icb, ucb, subkey, 1) == 0);
	CHECK(ica(aes_gcm_intermediate)(in, LENGTH, out, ucb, in, LENGTH, other, 16, key, 16, subkey, 1) == 0);
	CHECK(ica(aes_gcm_last)(icb, LENGTH, LENGTH, other, NULL, 0, key, 16, subkey, 1) == 0);
	CHECK(!memcmp(tag, other, 16) && !memcmp(last, out, 48));
	CHECK(ica(aes_gcm_kma_init)(1, iv, 12, key, 16, ctx) == 0);
	for (done = 0; done < LENGTH; done += length) {
		length = LENGTH - done < PIECE ? LENGTH - done : PIECE;
		CHECK(ica(aes_gcm_kma_update)(NULL, NULL, 0, in, length, done + length == LENGTH, 0, ctx) == 0);
	}
	for (done = 0; done < LENGTH; done += length) {
		length = LENGTH - done < PIECE ? LENGTH - done : PIECE;
		CHECK(ica(aes_gcm_kma_update)(in, out, length, NULL, 0, 1, done + length == LENGTH, ctx) == 0);
	}
	CHECK(ica(aes_gcm_kma_get_tag)(other, 16, ctx) == 0 && !memcmp(tag, other, 16) && !memcmp(last, out, 48));
	ica(aes_gcm_kma_ctx_free)(ctx);
	puts("AES GCM");

	CHECK(ica(sha512)(SHA_MSG_PART_ONLY, LENGTH, in, &sha, hash) == 0);
	for (done = 0; done < LENGTH; done += length) {
		unsigned int part = done == 0 ? SHA_MSG_PART_FIRST : LENGTH - done <= PIECE ? SHA_MSG_PART_FINAL : SHA_MSG_PART_MIDDLE;

		length = LENGTH - done < PIECE ? LENGTH - done : PIECE;
		CHECK(ica(sha512)(part, length, in, &sha, again) == 0);
	}
	CHECK(!memcmp(hash, again, 64));
	puts("SHA-512");

	CHECK(ica(aes_cmac)(in, LENGTH, tag, 16, key, 16, 1) == 0);
	for (done = 0; LENGTH - done > PIECE; done += PIECE)
		CHECK(ica(aes_cmac_intermediate)(in, PIECE, key, 16, mac) == 0);
	CHECK(ica(aes_cmac_last)(in, LENGTH - done, other, 16, key, 16, mac, 1) == 0 && !memcmp(tag, other, 16));
	puts("AES CMAC");

	/* As long as 32 bits allow. */
	CHECK(ica(random_number_generate)(UINT_MAX, out) == 0);
	puts("random numbers");
}

/* Lengths that no message has: nothing is read or written, for there is nothing. */
static void refused(void)
{
	unsigned char *none = mmap(NULL, PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long gcm = (1ul << 36) - 31;
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();
	unsigned char tag[16] = {0};

	CHECK(none != MAP_FAILED);
	CHECK(ica(aes_gcm)(none, gcm, none, iv, 12, NULL, 0, tag, 16, key, 16, 1) == EINVAL);
	CHECK(ica(aes_gcm)(none, ULONG_MAX, none, iv, 12, NULL, 0, tag, 16, key, 16, 1) == EINVAL);
	CHECK(ica(aes_gcm)(NULL, 0, NULL, iv, 12, none, ULONG_MAX, tag, 16, key, 16, 1) == EINVAL);
	CHECK(ica(aes_gcm_intermediate)(none, gcm, none, iv, NULL, 0, tag, 16, key, 16, key, 1) == EINVAL);
	CHECK(ica(aes_gcm_kma_init)(1, iv, 12, key, 16, ctx) == 0);
	CHECK(ica(aes_gcm_kma_update)(none, none, gcm, NULL, 0, 1, 1, ctx) == EINVAL);
	CHECK(ica(aes_gcm_kma_update)(none, none, ULONG_MAX, NULL, 0, 1, 1, ctx) == EINVAL);
	CHECK(ica(aes_gcm_kma_update)(none, none, (1ul << 32) + 1, NULL, 0, 1, 0, ctx) == EINVAL);
	ica(aes_gcm_kma_ctx_free)(ctx);
	CHECK(ica(aes_ccm)(none, 1ul << 32, none, 16, NULL, 0, iv, 11, key, 16, 1) == EINVAL);
	CHECK(ica(aes_ccm)(none, 1ul << 16, none, 16, NULL, 0, iv, 13, key, 16, 0) == EINVAL);
	CHECK(ica(aes_ccm)(none, ULONG_MAX, none, 16, NULL, 0, iv, 7, key, 16, 1) == EINVAL);
	CHECK(ica(aes_ecb)(none, none, 1ul << 63, key, 16, 1) == EINVAL && ica(aes_ofb)(none, none, ULONG_MAX, key, 16, iv, 1) == EINVAL);
	CHECK(ica(aes_ctrlist)(none, none, ULONG_MAX, key, 16, none, 1) == EINVAL);
	CHECK(ica(aes_cmac)(none, ULONG_MAX, tag, 16, key, 16, 1) == EINVAL);
	CHECK(ica(aes_cmac_intermediate)(none, (1ul << 32) + 1, key, 16, tag) == EINVAL);
	CHECK(ica(3des_cbc_cs)(none, none, 1ul << 63, key, iv, 1, 1) == EINVAL);
	CHECK(ica(sha512)(SHA_MSG_PART_ONLY, ULONG_MAX, none, &(sha512_context_t){0}, tag) == EINVAL);
	CHECK(ica(sha512)(SHA_MSG_PART_FIRST, (1ul << 32) + 1, none, &(sha512_context_t){0}, tag) == EINVAL);
	CHECK(ica(shake_128)(SHA_MSG_PART_ONLY, ULONG_MAX, none, &(shake_128_context_t){0}, tag, 16) == EINVAL);
}

/* A context keeps its vector: where there is no memory for that, it stays as it was. */
static void no_memory(void)
{
	unsigned char *none, text[16] = {1}, sealed[16], whole[16], tag[16], expected[16];
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();
	struct rlimit before, little;

	/* An emulator keeps no such limit. */
	if (getenv("ADJUNCT_TEST_RUNNER"))
		return;
	none = mmap(NULL, 1ul << 32, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(none != MAP_FAILED && getrlimit(RLIMIT_AS, &before) == 0);
	little = (struct rlimit){ .rlim_cur = 1 << 20, .rlim_max = before.rlim_max };
	CHECK(ica(aes_gcm_kma_init)(1, iv, 12, key, 16, ctx) == 0);
	CHECK(setrlimit(RLIMIT_AS, &little) == 0);
	CHECK(ica(aes_gcm_kma_init)(0, none, UINT_MAX, key, 32, ctx) == ENOMEM);
	CHECK(setrlimit(RLIMIT_AS, &before) == 0);
	CHECK(ica(aes_gcm_kma_update)(text, sealed, 16, NULL, 0, 1, 1, ctx) == 0);
	CHECK(ica(aes_gcm_kma_get_tag)(tag, 16, ctx) == 0);
	CHECK(ica(aes_gcm)(text, 16, whole, iv, 12, NULL, 0, expected, 16, key, 16, 1) == 0);
	CHECK(!memcmp(sealed, whole, 16) && !memcmp(tag, expected, 16));
	ica(aes_gcm_kma_ctx_free)(ctx);
	CHECK(munmap(none, 1ul << 32) == 0);
}

int main(int argc, char **argv)
{
	find(LINKED);
	fill(key, sizeof key);
	refused();
	no_memory();
	if (argc > 1 && !strcmp(argv[1], "all")) {
		setvbuf(stdout, NULL, _IONBF, 0);
		in = repeated();
		out = repeated();
		last = malloc(48);
		fill(in, PIECE);
		all_modes();
		all_messages();
	}
	puts("good");
	return 0;
}
