/* The interface by pointers, so that the same calls run in programs that are linked with the library and in those that open it. */
#define _GNU_SOURCE
#include <ica_api.h>

#include "functions.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                        \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

struct api {
#define X(name) __typeof__(ica_##name) *ica_##name;
	FUNCTIONS(X)
#undef X
	ica_drbg_mech_t *const *sha512;
};

static struct api api;

#define ica(name) (*api.ica_##name)
#define HAVE(name) (api.ica_##name != NULL)

/* Looks all functions up in what `dlopen` gave. The types say more than dlsym knows. */
static inline void find(void *library)
{
#define X(name) *(void **)(&api.ica_##name) = dlsym(library, "ica_" #name); CHECK(HAVE(name));
	FUNCTIONS(X)
#undef X
	api.sha512 = dlsym(library, "ICA_DRBG_SHA512");
	CHECK(api.sha512);
}

/* The same numbers in each run, of each thread. */
static __thread unsigned int seed = 1;

static inline unsigned int number(unsigned int below)
{
	seed = seed * 1664525u + 1013904223u;
	return (unsigned int)(((unsigned long long)(seed >> 8) * below) >> 24);
}

static inline void fill(unsigned char *data, size_t length)
{
	while (length--)
		*data++ = (unsigned char)number(256);
}

/* Waits for a child that must end by itself, with 0. */
static inline void ends_well(pid_t child)
{
	int status;
	pid_t got;

	CHECK(child > 0);
	while ((got = waitpid(child, &status, 0)) < 0)
		CHECK(errno == EINTR);
	if (status)
		fprintf(stderr, "the child ended with status %#x\n", status);
	CHECK(got == child && status == 0);
}
