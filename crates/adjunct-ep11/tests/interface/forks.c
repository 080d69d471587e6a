/* A child of fork has its parent's targets, whatever the parent's other threads are at, and its own connections. */
#include "common.h"
#include <pthread.h>

static target_t group;

static void call(void)
{
    CK_BYTE random[16] = {0};
    OK(m_GenerateRandom(random, sizeof(random), group));
    CHECK(random[15] == 42);
}

static void *calls(void *stop)
{
    while (!*(volatile int *)stop) {
        call();
        target_t other = target_of(XCP_TGT_INIT, 1, 7, 0);
        IS(m_rm_module(NULL, other), XCP_OK);
    }
    return NULL;
}

int main(void)
{
    volatile int stop = 0;
    pthread_t threads[3];
    IS(m_init(), XCP_OK);
    group = target_of(XCP_TGT_INIT, 0, 5, XCP_MFL_VIRTUAL);
    target_of(group, 1, 7, XCP_MFL_VIRTUAL);
    call();
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, calls, (void *)&stop) == 0);
    for (int i = 0; i < 50; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            CK_BYTE random[16];
            /* A change of the targets that the fork came into leaves none; whatever was not changed is there. */
            CK_RV rv = m_GenerateRandom(random, sizeof(random), group);
            if (rv != CKR_OK)
                group = target_of(target_of(XCP_TGT_INIT, 0, 5, XCP_MFL_VIRTUAL), 1, 7, XCP_MFL_VIRTUAL);
            call();
            pid_t grandchild = fork();
            if (grandchild == 0) {
                call();
                _exit(0);
            }
            CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
            call();
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        call();
    }
    stop = 1;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    puts("good");
    return 0;
}
