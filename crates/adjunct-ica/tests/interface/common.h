/* What the test programs share. */
#include <ica_api.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whether threads are at work while the process forks. AddressSanitizer's allocator does not lock itself for a fork, as the C
 * library's does: a child would wait for ever for what another thread was allocating at that moment.
 */
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FORK_BESIDE 0
#else
#define FORK_BESIDE 1
#endif

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static unsigned int seed = 1;

/* The same numbers in each run. */
static inline unsigned int number(unsigned int below)
{
	seed = seed * 1664525u + 1013904223u;
	return (unsigned int)(((unsigned long long)(seed >> 8) * below) >> 24);
}

/* How many of so many rounds: a tenth where an emulator runs this (tests/cross). */
static inline unsigned int rounds(unsigned int many)
{
	return getenv("ADJUNCT_TEST_RUNNER") ? (many + 9) / 10 : many;
}

static inline void fill(unsigned char *data, size_t length)
{
	while (length--)
		*data++ = (unsigned char)number(256);
}
