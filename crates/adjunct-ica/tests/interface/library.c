/* library [WHAT]: adapters, versions, modes and their variables, random bytes, products of 512 bits. */
#define _GNU_SOURCE
#include "common.h"

#include <fcntl.h>
#include <openssl/bn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many of the first descriptors are open. */
static int descriptors(void)
{
	int fd, open = 0;

	for (fd = 0; fd < 256; fd++)
		open += fcntl(fd, F_GETFD) != -1;
	return open;
}

/* There is no card's driver, whatever device the environment names; and what is another's is not closed. */
static void adapters(void)
{
	ica_adapter_handle_t adapter = 7;
	int other = open("/dev/null", O_RDWR), before;

	CHECK(!setenv("LIBICA_CRYPT_DEVICE", "/dev/zero", 1));
	before = descriptors();
	CHECK(ica_open_adapter(&adapter) == 0 && adapter == DRIVER_NOT_LOADED && descriptors() == before);
	CHECK(ica_open_adapter(NULL) == EINVAL);
	CHECK(ica_close_adapter(adapter) == 0 && ica_close_adapter(adapter) == 0);
	CHECK(ica_close_adapter(other) == EBADF && fcntl(other, F_GETFD) != -1);
	CHECK(ica_close_adapter(12345) == EBADF && ica_close_adapter(-2) == EBADF);
	CHECK(!close(other) && !unsetenv("LIBICA_CRYPT_DEVICE"));
}

static void versions(void)
{
	libica_version_info version = {0, 0, 0};
	libica_hw_info info;
	const char *build = ica_get_build_version();

	CHECK(ica_get_version(&version) == 0 && ica_get_version(NULL) == EINVAL);
	CHECK(version.major_version == 4 && version.minor_version == 4 && version.fixpack_version == 0);
	CHECK(build && !strncmp(build, "adjunct ", 8) && build[8] && ica_get_build_version() == build);
	memset(&info, 0xee, sizeof info);
	CHECK(ica_get_hw_info(&info) == 0 && ica_get_hw_info(NULL) == EINVAL);
	CHECK(memchr(info.vendor_id, 0, sizeof info.vendor_id) && memchr(info.machine_type, 0, sizeof info.machine_type));
#ifdef __s390x__
	CHECK(ica_get_msa_level() >= 0);
#else
	CHECK(ica_get_msa_level() == 0);
#endif
	CHECK(ica_fips_status() == 0);
	ica_allow_external_gcm_iv_in_fips_mode(1);
	ica_allow_external_gcm_iv_in_fips_mode(0);
	CHECK(ica_fips_status() == 0);
	ica_cleanup();
	ica_cleanup();
	CHECK(ica_get_version(&version) == 0);
}

/* What triple DES says: no instruction of any processor but IBM Z's does it. */
static unsigned int in_software(void)
{
	unsigned char key[24] = {1, 2, 3}, data[8] = {4};

	return ica_3des_ecb(data, data, 8, key, ICA_ENCRYPT);
}

/* What a Brainpool curve says, which no batch does. */
static unsigned int curve(void)
{
	unsigned int length;
	ICA_EC_KEY *key = ica_ec_key_new(927, &length);
	unsigned int code = (unsigned int)ica_ec_key_generate(DRIVER_NOT_LOADED, key);

	ica_ec_key_free(key);
	return code;
}

static unsigned int aes(void)
{
	unsigned char key[32] = {1}, data[16] = {2};

	return ica_aes_ecb(data, data, 16, key, 32, ICA_ENCRYPT);
}

static void modes(void)
{
	int mode;

	for (mode = -2; mode < 4; mode++) {
		ica_set_fallback_mode(mode);
		CHECK(in_software() == (mode ? 0 : ENODEV));
		/* Offload and statistics change nothing that a caller sees. */
		ica_set_offload_mode(mode);
		ica_set_stats_mode(mode);
		CHECK(in_software() == (mode ? 0 : ENODEV));
	}
}

/* Without instructions everything is software, and refused where the program wants none: with nothing written. */
static void nothing_in_hardware(void)
{
	unsigned char data[64], key[32] = {1}, iv[16] = {0}, out[64], hash[64];
	sha256_context_t sha256;
	ica_drbg_t *drbg = NULL;
	unsigned int i;

	ica_set_fallback_mode(ICA_FALLBACKS_DISABLED);
	memset(out, 0xee, sizeof out);
	memset(hash, 0xee, sizeof hash);
	fill(data, sizeof data);
	CHECK(ica_aes_ecb(data, out, 64, key, 16, 1) == ENODEV && ica_aes_cbc(data, out, 64, key, 32, iv, 0) == ENODEV);
	CHECK(ica_aes_ctr(data, out, 64, key, 16, iv, 32, 1) == ENODEV && ica_aes_ofb(data, out, 64, key, 16, iv, 1) == ENODEV);
	CHECK(ica_aes_cfb(data, out, 64, key, 16, iv, 16, 1) == ENODEV);
	CHECK(ica_aes_xts(data, out, 64, key, key + 16, 16, iv, 1) == ENODEV);
	CHECK(ica_aes_gcm(data, 64, out, iv, 12, NULL, 0, hash, 16, key, 16, 1) == ENODEV);
	CHECK(ica_aes_cmac(data, 64, hash, 16, key, 16, 1) == ENODEV && ica_des_ecb(data, out, 64, key, 1) == ENODEV);
	CHECK(ica_sha256(SHA_MSG_PART_ONLY, 64, data, &sha256, hash) == ENODEV);
	CHECK(ica_drbg_instantiate(&drbg, 256, false, ICA_DRBG_SHA512, NULL, 0) == 0);
	CHECK(ica_drbg_generate(drbg, 256, false, NULL, 0, out, 64) == ENODEV && ica_drbg_uninstantiate(&drbg) == 0);
	for (i = 0; i < 64; i++)
		CHECK(out[i] == 0xee && hash[i] == 0xee);
	for (i = 0; i < 16; i++)
		CHECK(iv[i] == 0);
	ica_set_fallback_mode(ICA_FALLBACKS_ENABLED);
	CHECK(aes() == 0);
}

static void random_bytes(void)
{
	unsigned char *bytes = malloc(1 << 20), mine[32], theirs[32];
	long long set = 0, bits = 8ll << 20;
	int ends[2], status;
	pid_t child;
	size_t i;

	CHECK(ica_random_number_generate(1, NULL) == EINVAL && ica_random_number_generate(0, NULL) == EINVAL);
	bytes[3] = 0xee;
	CHECK(ica_random_number_generate(0, bytes + 3) == 0 && bytes[3] == 0xee);
	CHECK(ica_random_number_generate(1 << 20, bytes) == 0);
	for (i = 0; i < 1 << 20; i++)
		set += __builtin_popcount(bytes[i]);
	/* Six standard deviations are 0.2 %. */
	CHECK(llabs(2 * set - bits) < bits / 250);
	for (i = 1; i < 100; i++) {
		bytes[i] = 0xee;
		CHECK(ica_random_number_generate(i, bytes) == 0 && bytes[i] == 0xee);
	}
	free(bytes);
	CHECK(!pipe(ends));
	child = fork();
	CHECK(child >= 0 && ica_random_number_generate(32, mine) == 0);
	if (child == 0) {
		CHECK(write(ends[1], mine, 32) == 32);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status && read(ends[0], theirs, 32) == 32 && memcmp(mine, theirs, 32));
}

/* The most bytes that a call can ask for, into 4 GB of addresses over 16 MB of memory. */
static void most_random_bytes(void)
{
	const size_t piece = 16 << 20, all = 1ull << 32;
	int fd = memfd_create("random", 0);
	unsigned char *place = mmap(NULL, all + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t at;

	if (sizeof(void *) < 8 || place == MAP_FAILED)
		return;
	CHECK(fd >= 0 && !ftruncate(fd, piece));
	for (at = 0; at < all; at += piece)
		CHECK(mmap(place + at, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == place + at);
	/* The byte behind the last one is the last of the last page; the page after it cannot be written at all. */
	CHECK(ica_random_number_generate(0xffffffffu, place) == 0);
	CHECK(!munmap(place, all + 4096) && !close(fd));
}

/* Words, the least significant first, whatever the order of their bytes. */
static void to_bn(BIGNUM *bn, const uint64_t *words, int count)
{
	unsigned char bytes[8 * 16];

	for (int i = 0; i < 8 * count; i++)
		bytes[i] = (unsigned char)(words[i / 8] >> i % 8 * 8);
	CHECK(BN_lebin2bn(bytes, 8 * count, bn));
}

static int is_bn(const BIGNUM *bn, const uint64_t *words)
{
	BIGNUM *ours = BN_new();
	int same;

	to_bn(ours, words, 16);
	same = !BN_cmp(ours, bn);
	BN_free(ours);
	return same;
}

static void products(void)
{
	unsigned char place[8 + 24 * 8];
	uint64_t a[8], b[8], r[16], good[16];
	BIGNUM *x = BN_new(), *y = BN_new(), *z = BN_new();
	BN_CTX *ctx = BN_CTX_new();
	int round, i;

	for (round = 0; round < 2000; round++) {
		fill((unsigned char *)a, sizeof a);
		fill((unsigned char *)b, sizeof b);
		/* Words of all ones and of none make the carries that random ones do not. */
		for (i = 0; i < 8; i++) {
			if (number(4) == 0)
				a[i] = number(2) ? ~0ull : 0;
			if (number(4) == 0)
				b[i] = number(2) ? ~0ull : 0;
		}
		to_bn(x, a, 8);
		to_bn(y, b, 8);
		CHECK(BN_mul(z, x, y, ctx) && ica_mp_mul512(r, a, b) == 0 && is_bn(z, r));
		CHECK(BN_sqr(z, x, ctx) && ica_mp_sqr512(r, a) == 0 && is_bn(z, r));
		/* Over its own factors, and unaligned. */
		CHECK(ica_mp_mul512(good, a, b) == 0);
		memcpy(r, a, sizeof a);
		memcpy(r + 8, b, sizeof b);
		CHECK(ica_mp_mul512(r, r, r + 8) == 0 && !memcmp(r, good, sizeof r));
		memcpy(r + 4, a, sizeof a);
		CHECK(ica_mp_mul512(r, r + 4, b) == 0 && !memcmp(r, good, sizeof r));
		memcpy(place + 1, a, sizeof a);
		memcpy(place + 1 + sizeof a, b, sizeof b);
		CHECK(ica_mp_mul512((uint64_t *)(void *)(place + 3), (uint64_t *)(void *)(place + 1),
				    (uint64_t *)(void *)(place + 1 + sizeof a)) == 0 &&
		      !memcmp(place + 3, good, sizeof good));
		CHECK(ica_mp_sqr512(good, b) == 0);
		memcpy(r, b, sizeof b);
		CHECK(ica_mp_sqr512(r, r) == 0 && !memcmp(r, good, sizeof r));
	}
	CHECK(ica_mp_mul512(NULL, a, b) == EINVAL && ica_mp_mul512(r, NULL, b) == EINVAL && ica_mp_mul512(r, a, NULL) == EINVAL);
	CHECK(ica_mp_sqr512(NULL, a) == EINVAL && ica_mp_sqr512(r, NULL) == EINVAL);
	BN_free(x);
	BN_free(y);
	BN_free(z);
	BN_CTX_free(ctx);
}

/* For the counters: AES three times, of which the second while statistics are off. */
static void counted(void)
{
	CHECK(aes() == 0);
	ica_set_stats_mode(0);
	CHECK(aes() == 0 && ica_random_number_generate(8, (unsigned char[8]){0}) == 0);
	ica_set_stats_mode(1);
	CHECK(aes() == 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "software")) {
		printf("%u\n", in_software());
	} else if (!strcmp(what, "curve")) {
		printf("%u\n", curve());
	} else if (!strcmp(what, "aes")) {
		CHECK(aes() == 0);
	} else if (!strcmp(what, "counted")) {
		counted();
	} else if (!strcmp(what, "plain")) {
		nothing_in_hardware();
	} else if (!strcmp(what, "most")) {
		most_random_bytes();
	} else {
		adapters();
		versions();
		modes();
		random_bytes();
		products();
	}
	if (strcmp(what, "software") && strcmp(what, "curve"))
		puts("good");
	return 0;
}
