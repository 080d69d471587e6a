/* Calls before everything and after everything: from the program's constructors and destructors, handlers of atexit, threads that end
 * late or not at all. With LATE defined it is a library, whose constructor runs before that of libica and whose destructor after if
 * it is linked behind it. */
#include "all.h"

static unsigned int seen;

static void some_calls(unsigned int from)
{
	unsigned int i;

	for (i = from; i < call_count; i += 23) {
		int bad = ordinary(&calls[i], 0);

		if (bad)
			wrong(&calls[i], "at this time", bad, 0);
	}
	for (i = 0; i < script_count; i++)
		run_script(i);
	seen++;
}

#ifdef LATE

__attribute__((constructor(101))) static void first(void)
{
	add_all(RTLD_DEFAULT);
	some_calls(1);
}

__attribute__((destructor(101))) static void last(void)
{
	some_calls(2);
	CHECK(seen == 2);
	if (write(1, "good\n", 5) != 5)
		_exit(1);
}

#else

static void at_exit(void)
{
	some_calls(3);
}

__attribute__((constructor(101))) static void constructed(void)
{
	add_all(LINKED);
	/* Runs after main's own, which run after the threads' destructors of main. */
	CHECK(!atexit(at_exit));
	some_calls(4);
}

__attribute__((destructor(101))) static void destroyed(void)
{
	some_calls(5);
}

static pthread_key_t key;

/* Runs after the library's own thread-local destructors, or before: in four rounds, both. */
static void thread_ends(void *rounds)
{
	some_calls(6);
	if ((size_t)rounds > 1)
		pthread_setspecific(key, (void *)((size_t)rounds - 1));
}

static void *ends(void *own)
{
	pthread_setspecific(key, (void *)(size_t)PTHREAD_DESTRUCTOR_ITERATIONS);
	some_calls(7);
	return own;
}

static void *runs_on(void *own)
{
	(void)own;
	for (;;)
		some_calls(number(23));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	unsigned int i;

	CHECK(!pthread_key_create(&key, thread_ends));
	CHECK(!atexit(at_exit));
	for (i = 0; i < 3; i++) {
		CHECK(!pthread_create(&thread, NULL, ends, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
	/* Those are in the middle of something while the program ends. */
	for (i = 0; i < 4; i++) {
		CHECK(!pthread_create(&thread, NULL, runs_on, NULL));
		CHECK(!pthread_detach(thread));
	}
	usleep(20000);
	puts("good");
	fflush(NULL);
	if (argc > 1 && !strcmp(argv[1], "thread")) {
		/* The first thread ends, another one ends the program. */
		CHECK(!pthread_create(&thread, NULL, (void *(*)(void *))(void *)exit, NULL));
		pthread_exit(NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "quick"))
		quick_exit(0);
	return 0;
}

#endif
