/* A program linked with libica that closes a sandbox at some point of its life. Run as: program record|LIST idle|busy STEPS, where
 * LIST holds the numbers of the allowed system calls, and an idle one does all but call libica. The steps, one letter each:
 *   K make keys   U become another user   F fork, the child goes on   C close the sandbox   X start again, for the steps left
 *   W work   T work in eight threads started here   P start eight threads that wait   G let them work */
#define _GNU_SOURCE
#include "../../../adjunct/tests/sandbox/filter.h"
#include <ica_api.h>
#include <pthread.h>

#define CHECK(what)                                                                                                    \
	do {                                                                                                           \
		if (!(what)) {                                                                                         \
			printf("line %d: %s failed\n", __LINE__, #what);                                               \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

enum { THREADS = 8, P256 = 415 };
static int idle;
static char **arguments;
static const char *steps;
static ICA_EC_KEY *ec;
static pthread_t threads[THREADS];
static pthread_barrier_t ready, closed;

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

static void *works(void *waits)
{
	if (waits) {
		pthread_barrier_wait(&ready);
		pthread_barrier_wait(&closed);
	}
	work();
	return NULL;
}

static void start(void *waits)
{
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, works, waits) == 0);
}

static void join(void)
{
	int i;

	for (i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void split(void)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0)
		return;
	CHECK(waitpid(child, &status, 0) == child);
	if (WIFSIGNALED(status))
		kill(getpid(), WTERMSIG(status));
	_exit(WEXITSTATUS(status));
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
	const char *step;

	CHECK(!pthread_barrier_init(&ready, NULL, THREADS + 1) && !pthread_barrier_init(&closed, NULL, THREADS + 1));
	for (step = steps; *step; step++)
		switch (*step) {
		case 'K': keys(); break;
		case 'U': CHECK(setresuid(65534, 65534, 65534) == 0); break;
		case 'F': split(); break;
		case 'C': close_sandbox(); break;
		case 'X': again(step + 1); break;
		case 'W': work(); break;
		case 'T': start(NULL); join(); break;
		case 'P': start(&ready); pthread_barrier_wait(&ready); break;
		case 'G': pthread_barrier_wait(&closed); join(); break;
		default: CHECK(0);
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
