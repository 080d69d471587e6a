/* The library opened and closed a thousand times, in every way, by several threads, with calls in between: it works each time, memory
 * and descriptors do not grow, and threads may end long after it was closed. */
#include "all.h"

#include <dirent.h>

static const char *const names[] = {"libica.so.4", "libica-cex.so.4"};

static void some_calls(unsigned int most)
{
	unsigned int i;

	for (i = 0; i < most; i++) {
		const struct call *c = &calls[number(call_count)];
		int bad = ordinary(c, 0);

		if (bad)
			wrong(c, "after opening again", bad, 0);
	}
}

static void open_and_close(unsigned int round)
{
	static const int ways[] = {RTLD_NOW, RTLD_LAZY, RTLD_NOW | RTLD_GLOBAL, RTLD_LAZY | RTLD_LOCAL, RTLD_NOW | RTLD_DEEPBIND};
	void *library = dlopen(names[0], ways[round % 5]), *cex = NULL;

	CHECK(library);
	if (round % 10 == 3)
		CHECK((cex = dlopen(names[1], RTLD_NOW | RTLD_LOCAL)));
	CHECK(dlsym(library, "ica_sha256") == (void *)api.ica_sha256);
	some_calls(3);
	CHECK(!dlclose(library));
	if (cex) {
		/* The other library is one of its own. */
		unsigned char data[64] = {1}, one[32], other[32];
		sha256_context_t context;
		__typeof__(ica_sha256) *sha;

		*(void **)&sha = dlsym(cex, "ica_sha256");
		CHECK(sha && sha != api.ica_sha256);
		CHECK(sha(SHA_MSG_PART_ONLY, sizeof data, data, &context, one) == 0);
		CHECK(ica(sha256)(SHA_MSG_PART_ONLY, sizeof data, data, &context, other) == 0 && !memcmp(one, other, 32));
		CHECK(!dlclose(cex));
	}
}

static long resident(void)
{
	long all, pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file && fscanf(file, "%ld %ld", &all, &pages) == 2);
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static unsigned int descriptors(void)
{
	unsigned int count = 0;
	DIR *folder = opendir("/proc/self/fd");

	CHECK(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void *opener(void *own)
{
	unsigned int i;

	seed = (unsigned int)(size_t)own + 3;
	for (i = 0; i < 60; i++)
		open_and_close(i);
	return NULL;
}

static pthread_barrier_t closed;

static void *late(void *own)
{
	some_calls(20);
	pthread_barrier_wait(&closed);
	/* It is closed by now; this thread ends with all it has of it. */
	pthread_barrier_wait(&closed);
	return own;
}

int main(void)
{
	void *library = dlopen(names[0], RTLD_NOW);
	pthread_t threads[8];
	unsigned int i, files;
	long before;

	CHECK(library);
	add_all(library);
	pthread_barrier_init(&closed, NULL, 9);
	for (i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, late, NULL));
	pthread_barrier_wait(&closed);
	CHECK(!dlclose(library));
	pthread_barrier_wait(&closed);
	for (i = 0; i < 8; i++)
		CHECK(!pthread_join(threads[i], NULL));
	for (i = 0; i < 100; i++)
		open_and_close(i);
	before = resident();
	files = descriptors();
	for (i = 0; i < 900 / step(); i++)
		open_and_close(i);
	CHECK(resident() - before < 2048);
	for (i = 0; i < 8; i++)
		CHECK(!pthread_create(&threads[i], NULL, opener, (void *)(size_t)i));
	for (i = 0; i < 8; i++)
		CHECK(!pthread_join(threads[i], NULL));
	/* Each thread has memory of the C library's own. */
	CHECK(resident() - before < 32768);
	CHECK(descriptors() == files);
	for (i = 0; i < script_count; i++)
		run_script(i);
	puts("good");
	return 0;
}
