/* The steps of a sandboxed program's life that are the same in all programs of tests/sandbox.rs, one letter each:
 *   U become another user   F fork, the child goes on   C close the sandbox   W work   T work in eight threads started here
 *   P start eight threads that wait   G let them work
 * The program has the macro CHECK(condition), which ends it, and the function `work`. */
#include "filter.h"
#include <pthread.h>

enum { THREADS = 8 };
static pthread_t threads[THREADS];
static pthread_barrier_t ready, closed;

static void work(void);

static void *works(void *waits) {
    if (waits != NULL) {
        pthread_barrier_wait(&ready);
        pthread_barrier_wait(&closed);
    }
    work();
    return NULL;
}

static void start(void *waits) {
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, works, waits) == 0);
}

static void join(void) {
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Goes on in a child; this process ends as that does. */
static void split(void) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        return;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        kill(getpid(), WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

static void start_waiting(void) {
    CHECK(pthread_barrier_init(&ready, NULL, THREADS + 1) == 0 && pthread_barrier_init(&closed, NULL, THREADS + 1) == 0);
    start(&ready);
    pthread_barrier_wait(&ready);
}

static void step(char letter) {
    switch (letter) {
    case 'U': CHECK(setresuid(65534, 65534, 65534) == 0); break;
    case 'F': split(); break;
    case 'C': close_sandbox(); break;
    case 'W': work(); break;
    case 'T': start(NULL); join(); break;
    case 'P': start_waiting(); break;
    case 'G': pthread_barrier_wait(&closed); join(); break;
    default: CHECK(0);
    }
}
