/* Calls of the interface as data: what goes in, how long it is, what comes out. Each file of calls adds its own; each program of
 * this folder does all of them in its own way. */
#include "api.h"

enum role {
	IN,   /* only read */
	OUT,  /* only written */
	BOTH, /* read and written */
};

struct buffer {
	enum role role;
	int optional; /* may be null */
	size_t size;
	unsigned char *value;  /* what it holds before */
	unsigned char *result; /* and after */
};

/* What a number may be. */
struct legit {
	unsigned int count;
	const unsigned int *values;
};
static inline struct legit legit_of(unsigned int count, const unsigned int *values)
{
	/* All stay: they are few. */
	static unsigned int room[20000], used;
	unsigned int *own = room + used;

	used += count;
	CHECK(used <= sizeof room / sizeof *room);
	memcpy(own, values, count * sizeof *own);
	return (struct legit){count, own};
}
#define LEGIT(...)                                                                                                     \
	legit_of(sizeof((const unsigned int[]){__VA_ARGS__}) / sizeof(unsigned int), (const unsigned int[]){__VA_ARGS__})

/* In `null`: what is run is several functions, of which the first may have succeeded. */
#define SEVERAL (-2)

#define MOST_BUFFERS 9
#define LARGEST 6000 /* bytes of a buffer */

struct call {
	const char *name;
	int (*run)(const struct call *, unsigned char **);
	unsigned int cipher, buffers;
	struct buffer buffer[MOST_BUFFERS];
	/* The arguments that are numbers, and what each may be: nothing said, anything. */
	unsigned long length, more;
	unsigned int key, direction, number;
	struct legit keys, directions, numbers;
	size_t unit; /* `length` must be a multiple of this, and at least this */
	int whole;   /* a multiple; otherwise only at least */
	int none;    /* or none at all */
	int input, output; /* buffers of one length that may overlap, or -1 */
	int random;        /* what comes out differs each time */
	int error;         /* for null pointers and numbers that cannot be */
	int null;          /* for null pointers where that differs */
	int narrow;        /* a length of 32 bits */
	int expected;
};

static struct call calls[4000];
static unsigned int call_count;

static inline struct call *add(const char *name, int (*run)(const struct call *, unsigned char **))
{
	struct call *c = &calls[call_count++];

	CHECK(call_count < sizeof calls / sizeof *calls);
	c->name = name;
	c->run = run;
	c->input = c->output = -1;
	c->error = c->null = EINVAL;
	return c;
}

/* From one call that is tried to the next: all are, or some of them where an emulator runs this. */
static inline unsigned int step(void)
{
	return getenv("ADJUNCT_TEST_RUNNER") ? 5 : 1;
}

/* Another with the same numbers, and no buffers yet. */
static inline struct call *again(const struct call *other, const char *name)
{
	struct call *c = add(name, other->run);

	*c = *other;
	c->name = name;
	c->buffers = 0;
	memset(c->buffer, 0, sizeof c->buffer);
	return c;
}

/* The next buffer, with random contents or those given. */
static inline unsigned char *holds(struct call *c, enum role role, size_t size, const void *value)
{
	struct buffer *b = &c->buffer[c->buffers++];

	CHECK(c->buffers <= MOST_BUFFERS && size <= LARGEST);
	b->role = role;
	b->size = size;
	b->value = malloc(size + 1);
	b->result = malloc(size + 1);
	CHECK(b->value && b->result);
	fill(b->value, size);
	if (value)
		memcpy(b->value, value, size);
	return b->value;
}

static inline unsigned char *some(struct call *c, enum role role, size_t size)
{
	return holds(c, role, size, NULL);
}

static inline void optional(struct call *c)
{
	c->buffer[c->buffers - 1].optional = 1;
}

static inline void overlapping(struct call *c, int input, int output)
{
	c->input = input;
	c->output = output;
}

/* Says which call it was, and ends. */
static inline void wrong(const struct call *c, const char *how, long is, long was)
{
	fprintf(stderr, "%s (length %lu, key %u, direction %u, number %u, cipher %u): %s: %ld, not %ld\n", c->name, c->length,
		c->key, c->direction, c->number, c->cipher, how, is, was);
	_exit(1);
}

/* Runs it with buffers of its own. Gives 0 where all is as the first time. */
static inline int ordinary(const struct call *c, int first)
{
	unsigned char *b[MOST_BUFFERS] = {NULL};
	unsigned int i;
	int result, bad = 0;

	for (i = 0; i < c->buffers; i++) {
		b[i] = malloc(c->buffer[i].size + 32);
		CHECK(b[i]);
		memset(b[i], 0xa5, c->buffer[i].size + 32);
		memcpy(b[i] + 16, c->buffer[i].value, c->buffer[i].size);
		b[i] += 16;
	}
	result = c->run(c, b);
	if (!first && result != c->expected)
		bad = 1;
	for (i = 0; i < c->buffers; i++) {
		const struct buffer *own = &c->buffer[i];
		unsigned int j;

		if (first)
			memcpy(own->result, b[i], own->size);
		else if (!c->random && memcmp(b[i], own->result, own->size))
			bad = 2;
		for (j = 0; j < 16; j++)
			if (b[i][-1 - (int)j] != 0xa5 || b[i][own->size + j] != 0xa5)
				bad = 3;
		if (own->role == IN && memcmp(b[i], own->value, own->size))
			bad = 4;
		free(b[i] - 16);
	}
	if (first) {
		((struct call *)c)->expected = result;
		if (result || bad)
			wrong(c, "ordinary call", result, 0);
	}
	return bad;
}

/* Something that checks itself: 0, or the line where it went wrong. */
struct script {
	const char *name;
	int (*run)(void);
};
static struct script scripts[64];
static unsigned int script_count;

static inline void add_script(const char *name, int (*run)(void))
{
	CHECK(script_count < sizeof scripts / sizeof *scripts);
	scripts[script_count++] = (struct script){name, run};
}

#define WANT(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			return __LINE__;                                                                               \
	} while (0)
