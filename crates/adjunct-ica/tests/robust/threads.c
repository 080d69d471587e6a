/* Every function from 16 threads at once: each gets what a lone caller gets. */
#include "all.h"

#define THREADS 16

static pthread_barrier_t barrier;

static void *work(void *own)
{
	unsigned int i, round, me = (unsigned int)(size_t)own;

	seed = me + 1;
	pthread_barrier_wait(&barrier);
	for (round = 0; round < (step() == 1 ? 2 : 1); round++) {
		/* Half of them all do the same, half are anywhere. */
		unsigned int from = me % 2 ? number(call_count) : 0;

		for (i = 0; i < call_count; i += step()) {
			const struct call *c = &calls[(from + i) % call_count];
			int bad = ordinary(c, 0);

			if (bad)
				wrong(c, "from a thread", bad, 0);
		}
		for (i = 0; i < script_count; i++)
			run_script((me + i) % script_count);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned int i;

	add_all(LINKED);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, (void *)(size_t)i));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	puts("good");
	return 0;
}
