/* Hash_DRBG: what it refuses and with which number, and that no two requests get the same bytes: in a row, from threads, after forks. */
#include "common.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST 65536
#define THREADS 16
#define PIECES 200
#define PIECE 32

static unsigned char big[MOST + 1];

static int untouched(void)
{
	size_t i;

	for (i = 0; i < sizeof big; i++)
		if (big[i] != 0xee)
			return 0;
	return 1;
}

static ica_drbg_t *instantiated(int sec, bool pr)
{
	ica_drbg_t *sh = ICA_DRBG_NEW_STATE_HANDLE;

	CHECK(ica_drbg_instantiate(&sh, sec, pr, ICA_DRBG_SHA512, (const unsigned char *)"name", 4) == 0 && sh);
	return sh;
}

static void instantiation(void)
{
	static const int strengths[][2] = {{-1, 112}, {0, 112}, {112, 112}, {113, 128}, {128, 128}, {129, 196}, {197, 256}, {256, 256}};
	ica_drbg_t *sh = NULL, *set = (ica_drbg_t *)big;
	unsigned char one[1];
	size_t i;

	CHECK(ica_drbg_instantiate(NULL, 256, false, ICA_DRBG_SHA512, NULL, 0) == EINVAL);
	CHECK(ica_drbg_instantiate(&set, 256, false, ICA_DRBG_SHA512, NULL, 0) == EINVAL && set == (ica_drbg_t *)big);
	CHECK(ica_drbg_instantiate(&sh, 256, false, NULL, NULL, 0) == EINVAL);
	CHECK(ica_drbg_instantiate(&sh, 256, false, (ica_drbg_mech_t *)big, NULL, 0) == EINVAL);
	CHECK(ica_drbg_instantiate(&sh, 257, false, ICA_DRBG_SHA512, NULL, 0) == ENOTSUP);
	CHECK(ica_drbg_instantiate(&sh, 256, false, ICA_DRBG_SHA512, big, 257) == EINVAL);
	CHECK(ica_drbg_instantiate(&sh, 256, false, ICA_DRBG_SHA512, big, (size_t)-1) == EINVAL && !sh);
	CHECK(ica_drbg_instantiate(&sh, 256, false, ICA_DRBG_SHA512, big, 256) == 0 && sh);
	CHECK(ica_drbg_uninstantiate(&sh) == 0 && !sh && ica_drbg_uninstantiate(&sh) == EINVAL);
	CHECK(ica_drbg_uninstantiate(NULL) == EINVAL);
	for (i = 0; i < sizeof strengths / sizeof *strengths; i++) {
		sh = instantiated(strengths[i][0], false);
		CHECK(ica_drbg_generate(sh, strengths[i][1], false, NULL, 0, one, 1) == 0);
		CHECK(ica_drbg_generate(sh, strengths[i][1] + 1, false, NULL, 0, one, 1) == ENOTSUP);
		CHECK(ica_drbg_uninstantiate(&sh) == 0);
	}
}

static void requests(void)
{
	ica_drbg_t *sh = instantiated(256, false), *pr = instantiated(256, true);
	size_t length;

	memset(big, 0xee, sizeof big);
	CHECK(ica_drbg_generate(NULL, 256, false, NULL, 0, big, 1) == EINVAL && ica_drbg_reseed(NULL, false, NULL, 0) == EINVAL);
	CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, NULL, 1) == EINVAL);
	CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, big, MOST + 1) == EINVAL);
	CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, big, (size_t)-1) == EINVAL);
	CHECK(ica_drbg_generate(sh, 256, false, big, 257, big, 1) == EINVAL && ica_drbg_reseed(sh, false, big, 257) == EINVAL);
	CHECK(ica_drbg_generate(sh, 256, false, big, (size_t)-1, big, 1) == EINVAL);
	/* Prediction resistance has to be asked for at first. */
	CHECK(ica_drbg_generate(sh, 256, true, NULL, 0, big, 1) == ENOTSUP && ica_drbg_reseed(sh, true, NULL, 0) == ENOTSUP);
	CHECK(ica_drbg_generate(sh, 257, false, NULL, 0, big, 1) == ENOTSUP && untouched());

	CHECK(ica_drbg_generate(pr, 256, true, NULL, 0, big, 64) == 0 && ica_drbg_generate(pr, 256, false, NULL, 0, big, 64) == 0);
	CHECK(ica_drbg_reseed(pr, true, big, 256) == 0 && ica_drbg_reseed(pr, false, NULL, 0) == 0);
	CHECK(ica_drbg_generate(pr, 256, true, big, 256, big + 1, 64) == 0);
	for (length = 0; length < 200; length++) {
		memset(big, 0xee, sizeof big);
		CHECK(ica_drbg_generate(length % 2 ? sh : pr, 0, false, big, length % 3 ? 7 : 0, big + 3, length) == 0);
		CHECK(big[2] == 0xee && big[3 + length] == 0xee);
	}
	memset(big, 0xee, sizeof big);
	CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, big, MOST) == 0 && big[MOST] == 0xee);
	CHECK(ica_drbg_uninstantiate(&sh) == 0 && ica_drbg_uninstantiate(&pr) == 0);
}

/* Bits are as often set as not: 8 MB, where six standard deviations are about 0.1 %; less of them in an emulator. */
static void balance(void)
{
	ica_drbg_t *sh = instantiated(256, false);
	const size_t pieces = rounds(128);
	long long set = 0, bits = (long long)pieces * MOST * 8;
	size_t i, round;

	for (round = 0; round < pieces; round++) {
		CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, big, MOST) == 0);
		for (i = 0; i < MOST; i++)
			set += __builtin_popcount(big[i]);
	}
	CHECK(llabs(2 * set - bits) < bits / (pieces < 128 ? 300 : 1000));
	CHECK(ica_drbg_uninstantiate(&sh) == 0);
}

static void health(void)
{
	void *functions[] = {(void *)ica_drbg_instantiate, (void *)ica_drbg_reseed, (void *)ica_drbg_generate};
	int i;

	for (i = 0; i < 3; i++) {
		CHECK(ica_drbg_health_test(functions[i], 256, true, ICA_DRBG_SHA512) == 0);
		CHECK(ica_drbg_health_test(functions[i], 112, false, ICA_DRBG_SHA512) == 0);
		CHECK(ica_drbg_health_test(functions[i], 257, false, ICA_DRBG_SHA512) == ENOTSUP);
		CHECK(ica_drbg_health_test(functions[i], 256, false, NULL) == EINVAL);
	}
	CHECK(ica_drbg_health_test(NULL, 256, false, ICA_DRBG_SHA512) == EINVAL);
	CHECK(ica_drbg_health_test((void *)ica_drbg_uninstantiate, 256, false, ICA_DRBG_SHA512) == EINVAL);
}

struct worker {
	ica_drbg_t *sh;
	unsigned char *out;
};

static void *generating(void *argument)
{
	struct worker *worker = argument;
	int i;

	for (i = 0; i < PIECES; i++) {
		CHECK(ica_drbg_generate(worker->sh, 256, i % 16 == 0, NULL, 0, worker->out + i * PIECE, PIECE) == 0);
		if (i % 50 == 0)
			CHECK(ica_drbg_reseed(worker->sh, false, worker->out, PIECE) == 0);
	}
	return NULL;
}

static int order(const void *a, const void *b)
{
	return memcmp(a, b, PIECE);
}

static void all_differ(unsigned char *pieces, size_t count)
{
	size_t i;

	qsort(pieces, count, PIECE, order);
	for (i = 1; i < count; i++)
		CHECK(memcmp(pieces + (i - 1) * PIECE, pieces + i * PIECE, PIECE));
}

static void threads(void)
{
	static unsigned char out[THREADS * PIECES * PIECE];
	struct worker workers[THREADS];
	pthread_t ids[THREADS];
	ica_drbg_t *sh = instantiated(256, true);
	int i;

	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){sh, out + i * PIECES * PIECE};
		CHECK(!pthread_create(&ids[i], NULL, generating, &workers[i]));
	}
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(ids[i], NULL));
	all_differ(out, THREADS * PIECES);
	CHECK(ica_drbg_uninstantiate(&sh) == 0);
}

static int stop;

static void *busy(void *sh)
{
	unsigned char out[1000];

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, out, sizeof out) == 0);
	return NULL;
}

/* Children of children, made while another thread holds the generator: each gets bytes of its own. */
static void forks(void)
{
	enum { CHILDREN = 40 };
	static unsigned char pieces[2 * CHILDREN * 2 * PIECE];
	ica_drbg_t *sh = instantiated(256, false);
	pthread_t id;
	int ends[2], i, status;
	unsigned char mine[2 * PIECE];
	size_t got = 0;

	CHECK(!pipe(ends) && (!FORK_BESIDE || !pthread_create(&id, NULL, busy, sh)));
	for (i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0) {
			pid_t grandchild = fork();

			alarm(60);
			CHECK(ica_drbg_generate(sh, 256, false, NULL, 0, mine, PIECE) == 0);
			CHECK(ica_random_number_generate(PIECE, mine + PIECE) == 0);
			CHECK(write(ends[1], mine, sizeof mine) == sizeof mine);
			if (grandchild == 0)
				_exit(0);
			CHECK(waitpid(grandchild, &status, 0) == grandchild && WIFEXITED(status) && !WEXITSTATUS(status));
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
		while (got < (size_t)(i + 1) * 4 * PIECE) {
			ssize_t more = read(ends[0], pieces + got, 4 * PIECE);

			CHECK(more > 0);
			got += (size_t)more;
		}
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK(!FORK_BESIDE || !pthread_join(id, NULL));
	all_differ(pieces, sizeof pieces / PIECE);
	close(ends[0]);
	close(ends[1]);
	CHECK(ica_drbg_uninstantiate(&sh) == 0);
}

int main(void)
{
	instantiation();
	requests();
	balance();
	health();
	threads();
	forks();
	puts("good");
	return 0;
}
