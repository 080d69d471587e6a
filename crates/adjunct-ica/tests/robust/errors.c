/* What cannot be is refused with the documented error, and nothing is written: null pointers one at a time, numbers and lengths
 * that no function takes, and hardware where there is none. */
#include "all.h"
#include "arena.h"

#include <stdint.h>

static struct arena arenas[MOST_BUFFERS];

/* Runs a call that must fail; `absent` is the buffer that is null, if any. Buffers end where memory does. */
static int fails(const struct call *c, int absent)
{
	unsigned char *b[MOST_BUFFERS];
	unsigned int i;
	int result;

	for (i = 0; i < c->buffers; i++) {
		b[i] = arenas[i].end - c->buffer[i].size;
		arena_put(&arenas[i], b[i], c->buffer[i].value, c->buffer[i].size);
		if (c->buffer[i].role == IN)
			arena_protect(&arenas[i], PROT_READ);
	}
	if (absent >= 0)
		b[absent] = NULL;
	result = c->run(c, b);
	for (i = 0; i < c->buffers; i++) {
		const struct buffer *own = &c->buffer[i];
		unsigned char *at = arenas[i].end - own->size;

		if (!arena_clean(&arenas[i], at, own->size))
			wrong(c, "written beside buffer", i, -1);
		if (result && c->null != SEVERAL && memcmp(at, own->value, own->size))
			wrong(c, "after the error, changed buffer", i, result);
		if (own->role == IN)
			arena_protect(&arenas[i], PROT_READ | PROT_WRITE);
	}
	if (result == EIO)
		wrong(c, "result", result, c->error);
	return result;
}

static void nulls(const struct call *c)
{
	unsigned int i;

	for (i = 0; i < c->buffers; i++) {
		int result = fails(c, i);

		/* Without an optional one it is another message, or the first part of one. */
		if (c->buffer[i].optional || !c->buffer[i].size)
			continue;
		if (c->null == SEVERAL ? result == 0 : result != c->null)
			wrong(c, "with a null buffer, result", result, i);
	}
}

static int is_legit(const struct legit *legit, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < legit->count; i++)
		if (legit->values[i] == number)
			return 1;
	return 0;
}

/* Every number that is not one of those. */
static void wild_number(struct call *c, unsigned int *number, const struct legit *legit)
{
	static const unsigned int large[] = {48, 64, 72, 96, 112, 127, 136, 1u << 8, 0x101, 0x110, 0x118, 0x120, 1u << 16, 0x10010, 1u << 24, 0x01000000,
					     INT_MAX, 1u << 31, (1u << 31) + 1, (1u << 31) + 16, UINT_MAX - 15, UINT_MAX};
	unsigned int i, was = *number;

	if (!legit->count)
		return;
	for (i = 0; i < 40 + sizeof large / sizeof *large; i++) {
		int result;

		*number = i < 40 ? i : large[i - 40];
		if (is_legit(legit, *number))
			continue;
		result = fails(c, -1);
		if (result != c->error && result != EPERM)
			wrong(c, "result", result, c->error);
	}
	*number = was;
}

static void wild_length(struct call *c)
{
	static const unsigned long large[] = {(1ul << 32) + 1, (1ul << 32) + 15, (1ul << 33) + 17, (1ul << 40) + 7,
					      (1ul << 62) + 9, 1ul << 63, (1ul << 63) + 16, ULONG_MAX - 15, ULONG_MAX};
	unsigned long i, was = c->length;

	if (!c->unit)
		return;
	for (i = 0; i < 40 + sizeof large / sizeof *large; i++) {
		unsigned long length = i < 40 ? i * i : large[i - 40];
		int result;

		if (c->whole ? length % c->unit == 0 && (length || c->none) && length < 1ul << 63
			     : length >= c->unit && length < 1ul << 63)
			continue;
		/* Lengths of 32 bits are what they are when they arrive. */
		if (c->narrow && length > UINT_MAX)
			continue;
		c->length = length;
		result = fails(c, -1);
		if (result != c->error)
			wrong(c, "result", result, c->error);
	}
	c->length = was;
}

/* With fallbacks off: as ever, or no device and nothing written. */
static void without_fallbacks(const struct call *c)
{
	int result;

	ica(set_fallback_mode)(ICA_FALLBACKS_DISABLED);
	result = fails(c, -1);
	ica(set_fallback_mode)(ICA_FALLBACKS_ENABLED);
	if (result != c->expected && result != (c->error == -1 ? -1 : ENODEV))
		wrong(c, "with fallbacks off, result", result, ENODEV);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < MOST_BUFFERS; i++)
		arenas[i] = arena_new();
	add_all(LINKED);
	for (i = 0; i < call_count; i += step()) {
		struct call *c = &calls[i];

		nulls(c);
		wild_number(c, &c->key, &c->keys);
		wild_number(c, &c->direction, &c->directions);
		wild_number(c, &c->number, &c->numbers);
		wild_length(c);
		without_fallbacks(c);
	}
	puts("good");
	return 0;
}
