/* Buffers that overlap: input and output by any number of bytes, both ways, give what separate ones give; so does anything that is only
 * read and lies under an output. However they lie, nothing is written outside of what may be written. */
#include "all.h"
#include "arena.h"

static struct arena shared, arenas[MOST_BUFFERS];

/* One with `moved` lying `shift` bytes from where `still` begins, in the same memory; all others apart. */
static void pair(const struct call *c, int moved, int still, long shift)
{
	unsigned char *b[MOST_BUFFERS], *lower, *upper;
	size_t size = c->buffer[moved].size, room = c->buffer[still].size;
	int i, result;

	for (i = 0; i < (int)c->buffers; i++) {
		b[i] = arenas[i].start + 64;
		arena_put(&arenas[i], b[i], c->buffer[i].value, c->buffer[i].size);
	}
	b[still] = shared.start + 5000;
	b[moved] = b[still] + shift;
	lower = shift < 0 ? b[moved] : b[still];
	upper = b[moved] + size > b[still] + room ? b[moved] + size : b[still] + room;
	memset(lower - BESIDE, CANARY, upper - lower + 2 * BESIDE);
	/* The input is put last: what it holds counts. */
	memcpy(b[still], c->buffer[still].value, room);
	memcpy(b[moved], c->buffer[moved].value, size);
	result = c->run(c, b);
	if (result != c->expected)
		wrong(c, "result of overlapping buffers", result, shift);
	if (!c->random && memcmp(b[still], c->buffer[still].result, room))
		wrong(c, "contents of overlapping buffer", moved, shift);
	if (!arena_clean(&shared, lower, upper - lower))
		wrong(c, "written beside overlapping buffer", moved, shift);
	for (i = 0; shift < 0 && i < -shift && i < (long)size; i++)
		if (b[moved][i] != c->buffer[moved].value[i])
			wrong(c, "written before overlapping buffer", moved, shift);
	for (i = 0; i < (int)c->buffers; i++) {
		if (i == moved || i == still)
			continue;
		if (!arena_clean(&arenas[i], b[i], c->buffer[i].size))
			wrong(c, "written beside buffer", i, shift);
		if (!c->random && memcmp(b[i], c->buffer[i].result, c->buffer[i].size))
			wrong(c, "with overlapping buffers, contents of buffer", i, shift);
	}
}

static void pairs(const struct call *c, int moved, int still)
{
	static const long shifts[] = {0, 1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 65, 128, 200};
	long size = c->buffer[moved].size, room = c->buffer[still].size;
	unsigned int i;

	if (!size || !room)
		return;
	for (i = 0; i < sizeof shifts / sizeof *shifts; i++) {
		if (shifts[i] < room)
			pair(c, moved, still, shifts[i]);
		if (shifts[i] < size)
			pair(c, moved, still, -shifts[i]);
	}
	pair(c, moved, still, room - 1);
	pair(c, moved, still, -size + 1);
}

/* All somewhere in the same memory. What comes out is anything. */
static void anywhere(const struct call *c)
{
	unsigned char *b[MOST_BUFFERS], may[ARENA] = {0}, before[ARENA];
	unsigned int i, j, span = 1 + number(700);
	int result;

	for (i = 0; i < c->buffers; i++) {
		b[i] = shared.start + number(span);
		if (i == 0)
			fill(shared.start, ARENA);
		memcpy(b[i], c->buffer[i].value, c->buffer[i].size);
	}
	memcpy(before, shared.start, ARENA);
	for (i = 0; i < c->buffers; i++)
		for (j = 0; c->buffer[i].role != IN && j < c->buffer[i].size; j++)
			may[b[i] - shared.start + j] = 1;
	result = c->run(c, b);
	/* What a key of RSA's comes to then is anything: rsa_crt_key_check may turn it round, which is 1. */
	if (result == EIO && c->key <= 66)
		wrong(c, "result of overlapping buffers", result, 0);
	for (i = 0; i < ARENA; i++)
		if (!may[i] && before[i] != shared.start[i])
			wrong(c, "written where only was to be read", i, -1);
}

int main(void)
{
	unsigned int i, j, k;

	shared = arena_new();
	for (i = 0; i < MOST_BUFFERS; i++)
		arenas[i] = arena_new();
	add_all(LINKED);
	for (i = 0; i < call_count; i += step()) {
		const struct call *c = &calls[i];

		if (c->input >= 0)
			pairs(c, c->input, c->output);
		for (j = 0; j < c->buffers; j++)
			for (k = 0; k < c->buffers; k++)
				if (c->buffer[j].role == IN && c->buffer[k].role == OUT && c->null != SEVERAL && i % 7 == 0)
					pairs(c, j, k);
		for (j = 0; j < 4; j++)
			anywhere(c);
	}
	puts("good");
	return 0;
}
