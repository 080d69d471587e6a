/* Every function with each buffer at the very end, and at the very beginning, of memory that may be touched, and at odd addresses:
 * what is only read is on pages that cannot be written. The results are those of the ordinary call. */
#include "all.h"
#include "arena.h"

enum place { LAST, FIRST, ODD, PLACES };

static unsigned char *place(const struct arena *arena, enum place where, size_t size, unsigned int i)
{
	if (where == LAST)
		return arena->end - size;
	return where == FIRST ? arena->start : arena->start + 64 + 2 * i + 1;
}

int main(void)
{
	struct arena arenas[MOST_BUFFERS];
	unsigned int i, j, where;

	for (i = 0; i < MOST_BUFFERS; i++)
		arenas[i] = arena_new();
	add_all(LINKED);
	for (i = 0; i < call_count; i += step()) {
		const struct call *c = &calls[i];

		for (where = 0; where < PLACES; where++) {
			unsigned char *b[MOST_BUFFERS];
			int result;

			for (j = 0; j < c->buffers; j++) {
				b[j] = place(&arenas[j], where, c->buffer[j].size, j);
				arena_put(&arenas[j], b[j], c->buffer[j].value, c->buffer[j].size);
				if (c->buffer[j].role == IN)
					arena_protect(&arenas[j], PROT_READ);
			}
			result = c->run(c, b);
			if (result != c->expected)
				wrong(c, "result", result, c->expected);
			for (j = 0; j < c->buffers; j++) {
				const struct buffer *own = &c->buffer[j];

				if (!c->random && memcmp(b[j], own->result, own->size))
					wrong(c, "contents of buffer", j, -1);
				if (!arena_clean(&arenas[j], b[j], own->size))
					wrong(c, "written beside buffer", j, -1);
				if (own->role == IN)
					arena_protect(&arenas[j], PROT_READ | PROT_WRITE);
			}
		}
	}
	for (i = 0; i < script_count; i++)
		run_script(i);
	puts("good");
	return 0;
}
