/* A program of libica's in the places where the original hurts its programs: each mode is one, told by the first argument. */
#define _GNU_SOURCE
#include "../interface/common.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void sha256(unsigned int times)
{
	unsigned char data[64] = {0}, out[32];
	sha256_context_t ctx;

	while (times--)
		CHECK(ica_sha256(SHA_MSG_PART_ONLY, sizeof data, data, &ctx, out) == 0);
}

static void generate(ica_drbg_t *drbg, unsigned char *out)
{
	CHECK(ica_drbg_generate(drbg, 256, false, NULL, 0, out, 32) == 0);
}

/* Something of everything. */
static void work(void)
{
	static unsigned char n[128], e[128], p[72], q[64], dp[72], dq[64], qinv[72], text[128], cipher[128];
	ica_rsa_key_mod_expo_t public = {128, n, e};
	ica_rsa_key_crt_t private = {128, p, q, dp, dq, qinv};
	unsigned char key[32] = {1}, iv[16] = {2}, tag[16], signature[64];
	ica_drbg_t *drbg = NULL;
	ICA_X25519_CTX *x25519;
	ICA_EC_KEY *ec;
	unsigned int length;

	sha256(1);
	CHECK(ica_3des_cfb(text, cipher, 64, key, iv, 8, ICA_ENCRYPT) == 0);
	CHECK(ica_aes_gcm(text, 64, cipher, iv, 12, NULL, 0, tag, 16, key, 32, ICA_ENCRYPT) == 0);
	CHECK(ica_aes_gcm(text, 64, cipher, iv, 12, NULL, 0, tag, 16, key, 32, ICA_DECRYPT) == 0);
	CHECK(ica_random_number_generate(64, cipher) == 0);
	CHECK(ica_drbg_instantiate(&drbg, 256, true, ICA_DRBG_SHA512, NULL, 0) == 0);
	generate(drbg, cipher);
	CHECK(ica_drbg_reseed(drbg, true, NULL, 0) == 0 && ica_drbg_uninstantiate(&drbg) == 0);
	ec = ica_ec_key_new(415, &length);
	CHECK(ec && ica_ec_key_generate(DRIVER_NOT_LOADED, ec) == 0);
	CHECK(ica_ecdsa_sign(DRIVER_NOT_LOADED, ec, text, 32, signature, 64) == 0);
	CHECK(ica_ecdsa_verify(DRIVER_NOT_LOADED, ec, text, 32, signature, 64) == 0);
	ica_ec_key_free(ec);
	CHECK(ica_x25519_ctx_new(&x25519) == 0 && ica_x25519_key_gen(x25519) == 0 && ica_x25519_ctx_del(&x25519) == 0);
	e[127] = 3;
	CHECK(ica_rsa_key_generate_crt(DRIVER_NOT_LOADED, 1024, &public, &private) == 0);
	CHECK(ica_rsa_crt(DRIVER_NOT_LOADED, text, &private, cipher) == 0 && !memcmp(text, cipher, 128));
}

/* One call for each row that the original counts, or lists, under another. */
static void rows(void)
{
	static unsigned char n[384], e[384], text[384] = {0}, out[384];
	ica_rsa_key_mod_expo_t key = {384, n, e};
	unsigned char des[24], iv[8];
	shake_256_context_t shake;

	fill(n, sizeof n);
	fill(des, sizeof des);
	fill(iv, sizeof iv);
	n[0] |= 0x80;
	n[383] |= 1;
	e[383] = 3;
	CHECK(ica_rsa_mod_expo(DRIVER_NOT_LOADED, text, &key, out) == 0);
	CHECK(ica_shake_256(SHA_MSG_PART_ONLY, 64, text, &shake, out, 32) == 0);
	CHECK(ica_3des_cfb(text, out, 64, des, iv, 8, ICA_ENCRYPT) == 0);
	CHECK(ica_3des_cfb(text, out, 64, des, iv, 1, ICA_DECRYPT) == 0);
	CHECK(ica_des_cfb(text, out, 64, des, iv, 8, ICA_DECRYPT) == 0);
}

static unsigned int descriptors(void)
{
	unsigned int open = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		open += fcntl(fd, F_GETFD) >= 0;
	return open;
}

/* libica holds no descriptor, closes none that is not its own, and needs none. */
static void without_descriptors(void)
{
	unsigned int before = descriptors();
	ica_adapter_handle_t adapter;
	int fd, own = dup(2);

	CHECK(before == 3);
	work();
	CHECK(ica_open_adapter(&adapter) == 0 && ica_close_adapter(adapter) == 0);
	CHECK(ica_close_adapter(own) == EBADF && fcntl(own, F_GETFD) >= 0);
	close(own);
	CHECK(descriptors() == before);
	/* What a daemon does. */
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	for (fd = 0; fd < 3; fd++)
		CHECK(dup2(open("/dev/null", O_RDWR), fd) == fd);
	for (fd = 3; fd < 10; fd++)
		close(fd);
	work();
	CHECK(descriptors() == 3);
}

static int pipes[2];

static void tell(const unsigned char *data)
{
	CHECK(write(pipes[1], data, 32) == 32);
}

/* A process and all that are forked from it have different numbers: of the library's generator, and of their own of one state. */
static void forks(void)
{
	static unsigned char seen[1000][32];
	unsigned int count = 0, i, j, child;
	ica_drbg_t *drbg = NULL;
	int status;

	CHECK(pipe(pipes) == 0 && ica_drbg_instantiate(&drbg, 256, false, ICA_DRBG_SHA512, NULL, 0) == 0);
	for (child = 0; child < 8; child++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			pid_t grandchild = fork();

			for (i = 0; i < 3; i++) {
				generate(drbg, seen[0]);
				tell(seen[0]);
				CHECK(ica_random_number_generate(32, seen[0]) == 0);
				tell(seen[0]);
			}
			if (grandchild)
				CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		generate(drbg, seen[count++]);
		CHECK(ica_random_number_generate(32, seen[count++]) == 0);
	}
	close(pipes[1]);
	while (read(pipes[0], seen[count], 32) == 32)
		count++;
	CHECK(count == 8 * 2 + 8 * 2 * 6);
	for (i = 0; i < count; i++)
		for (j = 0; j < i; j++)
			CHECK(memcmp(seen[i], seen[j], 32));
}

/* With nothing to open, and no descriptor to do it with. */
static void in_an_empty_root(const char *root)
{
	struct rlimit none = {3, 3};

	if (root)
		CHECK(chroot(root) == 0 && chdir("/") == 0);
	CHECK(access("/dev/urandom", F_OK) != 0 || !root);
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0 && open("/", O_RDONLY) < 0);
	work();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : NULL;
	FILE *out = fdopen(dup(1), "w");

	if (!strcmp(mode, "descriptors")) {
		fclose(out);
		without_descriptors();
		return 0;
	}
	if (!strcmp(mode, "work"))
		work();
	else if (!strcmp(mode, "rows"))
		rows();
	else if (!strcmp(mode, "many"))
		sha256((unsigned int)atoi(more));
	else if (!strcmp(mode, "forks"))
		forks();
	else if (!strcmp(mode, "root"))
		in_an_empty_root(more);
	else if (!strcmp(mode, "become")) {
		sha256(1);
		CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
		sha256(2);
	} else if (!strcmp(mode, "wait")) {
		sha256(5);
		puts("counted");
		fflush(stdout);
		CHECK(getchar() != EOF);
		work();
	} else if (strcmp(mode, "nothing"))
		return 2;
	fputs("good\n", out);
	return fclose(out);
}
