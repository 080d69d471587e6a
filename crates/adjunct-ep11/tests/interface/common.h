/* What the tests' programs have in common. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pkcs11.h"

#include "ep11.h"

#include "ep11adm.h"

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

#define IS(expression, wanted)                                                                                     \
    do {                                                                                                           \
        unsigned long found_ = (unsigned long)(expression);                                                        \
        if (found_ != (unsigned long)(wanted)) {                                                                   \
            fprintf(stderr, "%s:%d: %s: %#lx, not %#lx\n", __FILE__, __LINE__, #expression, found_,                \
                    (unsigned long)(wanted));                                                                      \
            exit(1);                                                                                               \
        }                                                                                                          \
    } while (0)

#define OK(expression) IS(expression, CKR_OK)

/* A target of a card and domain, or one more of a group. */
static inline target_t target_of(target_t target, unsigned card, unsigned domain, uint64_t flags)
{
    struct XCP_Module module;
    memset(&module, 0, sizeof(module));
    module.version = XCP_MOD_VERSION;
    module.flags = XCP_MFL_MODULE | flags;
    module.module_nr = card;
    XCPTGTMASK_SET_DOM(module.domainmask, domain);
    IS(m_add_module(&module, &target), XCP_OK);
    CHECK(module.domains == 256);
    return target;
}
