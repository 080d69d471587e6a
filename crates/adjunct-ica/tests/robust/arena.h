/* Memory with pages around it that nobody may touch. */

struct arena {
	unsigned char *start, *end; /* what may be touched */
};

#define ARENA 16384
#define CANARY 0xa5

static inline struct arena arena_new(void)
{
	size_t page = sysconf(_SC_PAGESIZE), room = (ARENA + page - 1) / page * page;
	unsigned char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(all != MAP_FAILED && !mprotect(all + page, room, PROT_READ | PROT_WRITE));
	return (struct arena){all + page, all + page + room};
}

#define BESIDE 512 /* bytes of canary on each side, as far as there is room */

static inline unsigned char *arena_from(const struct arena *arena, unsigned char *at)
{
	return at - arena->start > BESIDE ? at - BESIDE : arena->start;
}

static inline unsigned char *arena_to(const struct arena *arena, unsigned char *end)
{
	return arena->end - end > BESIDE ? end + BESIDE : arena->end;
}

/* `value` at its place, and the canary beside it. */
static inline void arena_put(const struct arena *arena, unsigned char *at, const void *value, size_t size)
{
	unsigned char *from = arena_from(arena, at), *to = arena_to(arena, at + size);

	CHECK(at >= arena->start && at + size <= arena->end);
	memset(from, CANARY, to - from);
	memcpy(at, value, size);
}

/* Whether the canary is still there. */
static inline int arena_clean(const struct arena *arena, unsigned char *at, size_t size)
{
	unsigned char *p, *to = arena_to(arena, at + size);

	for (p = arena_from(arena, at); p < to; p++)
		if (*p != CANARY && (p < at || p >= at + size))
			return 0;
	return 1;
}

static inline void arena_protect(const struct arena *arena, int protection)
{
	CHECK(!mprotect(arena->start, arena->end - arena->start, protection));
}
