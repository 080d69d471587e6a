/* A program linked with libica that closes a sandbox at some point of its life. Run as: program record|LIST idle|busy STEPS, where
 * LIST holds the numbers of the allowed system calls, and an idle one does all but call libica. The steps are those of steps.h, and:
 *   K make keys   X start again, for the steps left */
#define _GNU_SOURCE
#include <ica_api.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(what)                                                                                                    \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			printf("line %d: %s failed\n", __LINE__, #what);                                               \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

#include "../../../adjunct/tests/sandbox/steps.h"

enum { P256 = 415 };
static int idle;
static char **arguments;
static const char *steps;
static ICA_EC_KEY *ec;

static void keys(void)
{
	unsigned int length;

	ec = ica_ec_key_new(P256, &length);
	CHECK(ec && ica_ec_key_generate(0, ec) == 0);
}

static void work(void)
{
	unsigned char text[64] = {1}, sum[32], key[32] = {2}, iv[16] = {3}, out[64], signature[64];
	sha256_context_t context;
	int i;

	/* A thread's first memory, with what the C library asks for it. */
	free(malloc(100));
	if (idle)
		return;
	for (i = 0; i < 300; i++)
		CHECK(!ica_sha256(SHA_MSG_PART_ONLY, sizeof text, text, &context, sum));
	CHECK(!ica_aes_cbc(text, out, sizeof text, key, sizeof key, iv, ICA_ENCRYPT));
	for (i = 0; i < 50; i++) {
		CHECK(!ica_ecdsa_sign(0, ec, sum, sizeof sum, signature, sizeof signature));
		CHECK(!ica_ecdsa_verify(0, ec, sum, sizeof sum, signature, sizeof signature));
	}
	CHECK(!ica_random_number_generate(sizeof out, out));
}

static void again(const char *rest)
{
	char *words[] = {arguments[0], "-", arguments[2], (char *)rest, NULL};

	/* It did not count so far. */
	unsetenv("ADJUNCT_STATS");
	execv(arguments[0], words);
	CHECK(0);
}

static void scenario(void)
{
	const char *at;

	for (at = steps; *at; at++)
		switch (*at) {
		case 'K': keys(); break;
		case 'X': again(at + 1); break;
		default: step(*at);
		}
	_exit(0);
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	setvbuf(stdout, NULL, _IONBF, 0);
	arguments = argv;
	idle = !strcmp(argv[2], "idle");
	steps = argv[3];
	return strcmp(argv[1], "record") == 0 ? record(scenario) : confine(argv[1], scenario);
}
