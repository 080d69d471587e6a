/* Fork at any moment: while threads are inside each group of functions, with streams half done, by vfork, and into other pid
 * namespaces. Both sides go on right, nothing waits for a thread that is not there, and what is random differs. */
#include "all.h"

#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>

#define THREADS 8
#define GROUPS 24

static atomic_uint group;
static atomic_int done;

static void *busy(void *own)
{
	unsigned int i;

	seed = (unsigned int)(size_t)own + 7;
	while (!atomic_load(&done)) {
		unsigned int now = atomic_load(&group);

		/* The last groups are the scripts. */
		if (script_count && now % 3 == 2) {
			run_script((now / 3 + number(2)) % script_count);
			continue;
		}
		for (i = 0; i < 40; i++) {
			const struct call *c = &calls[(now * call_count / GROUPS + number(call_count / GROUPS + 1)) % call_count];
			int bad = ordinary(c, 0);

			if (bad)
				wrong(c, "beside forks", bad, 0);
		}
	}
	return NULL;
}

/* Calls of all groups, and every script. A child that waits for ever is ended. */
static void everything(unsigned int step)
{
	unsigned int i;

	alarm(120);
	for (i = number(step); i < call_count; i += 1 + number(step)) {
		int bad = ordinary(&calls[i], 0);

		if (bad)
			wrong(&calls[i], "in a child", bad, 0);
	}
	for (i = 0; i < script_count; i++)
		run_script(i);
}

static void among_threads(void)
{
	pthread_t threads[THREADS];
	unsigned int i, round;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, busy, (void *)(size_t)i));
	for (round = 0; round < 2 * GROUPS; round++) {
		pid_t child;

		atomic_store(&group, round % GROUPS);
		usleep(number(3000));
		fflush(NULL);
		child = fork();
		if (!child) {
			seed = round;
			everything(40);
			if (round & 1)
				exit(0);
			_exit(0);
		}
		ends_well(child);
	}
	atomic_store(&done, 1);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

/* What a stream comes to after the fork, on either side. */
struct streams {
	unsigned char text[200], sealed[200], tag[16], hash[64], mac[16], random[32], generated[64];
};

static void finish(struct streams *s, kma_ctx *ctx, sha512_context_t *sha, unsigned char *chain, unsigned char *key,
		   ica_drbg_t *drbg)
{
	CHECK(ica(aes_gcm_kma_update)(s->text + 96, s->sealed + 96, 104, NULL, 0, 1, 1, ctx) == 0);
	CHECK(ica(aes_gcm_kma_get_tag)(s->tag, 16, ctx) == 0);
	CHECK(ica(sha512)(SHA_MSG_PART_FINAL, 72, s->text + 128, sha, s->hash) == 0);
	CHECK(ica(aes_cmac_last)(s->text + 96, 104, s->mac, 16, key, 32, chain, 1) == 0);
	CHECK(ica(random_number_generate)(32, s->random) == 0);
	CHECK(ica(drbg_generate)(drbg, 256, false, NULL, 0, s->generated, 64) == 0);
}

/* Forks in the middle of streams. `unshared` says that the child is the first process of a pid namespace, as its parent is. */
static void in_streams(void)
{
	struct streams *s = mmap(NULL, 2 * sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), whole;
	unsigned char key[32], iv[12], chain[16] = {0};
	sha512_context_t sha, own;
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();
	ica_drbg_t *drbg = NULL;
	pid_t child;

	CHECK(s != MAP_FAILED && ctx);
	fill(key, sizeof key);
	fill(iv, sizeof iv);
	fill(s[0].text, sizeof s->text);
	s[1] = whole = s[0];
	CHECK(ica(aes_gcm)(whole.text, 200, whole.sealed, iv, 12, NULL, 0, whole.tag, 16, key, 32, 1) == 0);
	CHECK(ica(sha512)(SHA_MSG_PART_ONLY, 200, whole.text, &own, whole.hash) == 0);
	CHECK(ica(aes_cmac)(whole.text, 200, whole.mac, 16, key, 32, 1) == 0);

	CHECK(ica(drbg_instantiate)(&drbg, 256, false, *api.sha512, NULL, 0) == 0);
	CHECK(ica(drbg_generate)(drbg, 256, false, NULL, 0, s->generated, 64) == 0);
	CHECK(ica(aes_gcm_kma_init)(ICA_ENCRYPT, iv, 12, key, 32, ctx) == 0);
	CHECK(ica(aes_gcm_kma_update)(s->text, s->sealed, 96, NULL, 0, 1, 0, ctx) == 0);
	CHECK(ica(sha512)(SHA_MSG_PART_FIRST, 128, s->text, &sha, s->hash) == 0);
	CHECK(ica(aes_cmac_intermediate)(s->text, 96, key, 32, chain) == 0);
	memcpy(s[1].sealed, s[0].sealed, 96);
	fflush(NULL);
	child = fork();
	finish(&s[!child], ctx, &sha, chain, key, drbg);
	if (!child)
		_exit(0);
	ends_well(child);
	for (child = 0; child < 2; child++) {
		CHECK(!memcmp(s[child].sealed, whole.sealed, 200) && !memcmp(s[child].tag, whole.tag, 16));
		CHECK(!memcmp(s[child].hash, whole.hash, 64) && !memcmp(s[child].mac, whole.mac, 16));
	}
	CHECK(memcmp(s[0].random, s[1].random, 32) && memcmp(s[0].generated, s[1].generated, 64));
	CHECK(ica(drbg_uninstantiate)(&drbg) == 0);
	ica(aes_gcm_kma_ctx_free)(ctx);
	munmap(s, 2 * sizeof *s);
}

/* Parent and child are both process 1 of their namespaces: a number of a process says nothing. */
static void in_namespaces(void)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		pid_t first;

		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) && unshare(CLONE_NEWPID)) {
			fprintf(stderr, "SKIPPED: forks into pid namespaces: %s\n", strerror(errno));
			_exit(0);
		}
		first = fork();
		if (!first) {
			/* The next one is the first of yet another. */
			CHECK(getpid() == 1);
			if (!unshare(CLONE_NEWPID))
				in_streams();
			_exit(0);
		}
		ends_well(first);
		_exit(0);
	}
	ends_well(child);
}

static void new_programs(const char *self)
{
	extern char **environ;
	char *arguments[] = {(char *)self, "child", NULL};
	pid_t child = vfork();

	if (!child) {
		execv(self, arguments);
		_exit(127);
	}
	ends_well(child);
	CHECK(!posix_spawn(&child, self, NULL, NULL, arguments, environ));
	ends_well(child);
	/* A child that shares the memory and calls: not what vfork is for, but what careless programs do. */
	child = vfork();
	if (!child) {
		int bad = ordinary(&calls[0], 0);

		_exit(bad);
	}
	ends_well(child);
}

int main(int argc, char **argv)
{
	add_all(LINKED);
	if (argc > 1) {
		everything(100);
		return 0;
	}
	in_streams();
	in_namespaces();
	new_programs("/proc/self/exe");
	among_threads();
	(void)argv;
	puts("good");
	return 0;
}
