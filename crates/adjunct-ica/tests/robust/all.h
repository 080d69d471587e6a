/* All the calls. */
#include "calls.h"
#include "symmetric.h"
#include "messages.h"
#include "edwards.h"
#include "public.h"

/* For programs that are linked with the library, and say so to the linker. */
#define LINKED (ica_cleanup(), RTLD_DEFAULT)

/* Finds the functions, makes the calls, and does each once, for its result. */
static inline void add_all(void *library)
{
	unsigned int i;

	/* Something that waits for ever is to be seen. */
	alarm(900);
	find(library);
	add_symmetric();
	add_messages();
	add_public();
	for (i = 0; i < call_count; i++)
		ordinary(&calls[i], 1);
}

static inline void run_script(unsigned int i)
{
	int line = scripts[i].run();

	if (line) {
		fprintf(stderr, "%s: wrong in line %d\n", scripts[i].name, line);
		_exit(1);
	}
}
