/* A group of two domains: ten calls for each line that comes, and how many of them were done. */
#include "common.h"

int main(void)
{
    IS(m_init(), XCP_OK);
    target_t group = target_of(XCP_TGT_INIT, 0, 5, XCP_MFL_VIRTUAL);
    IS(target_of(group, 1, 7, XCP_MFL_VIRTUAL), group);
    /* One that names no domain has all that there are. */
    struct XCP_Module any = {.version = XCP_MOD_VERSION_2, .flags = XCP_MFL_MODULE | XCP_MFL_VIRTUAL};
    target_t all = XCP_TGT_INIT;
    IS(m_add_module(&any, &all), XCP_OK);
    CHECK(all != XCP_TGT_INIT && all != group);
    IS(any.domainmask[0], 0x80 >> 5 | 0x80 >> 7);
    IS(m_rm_module(NULL, all), XCP_OK);
    unsigned char block[256];
    IS(xcpa_queryblock(block, sizeof(block), XCP_ADMQ_DOM_ATTRS, group, NULL, 0), XCP_ETARGET);
    while (getchar() != EOF) {
        int done = 0;
        for (int i = 0; i < 10; i++) {
            CK_BYTE random[8] = {0};
            CK_RV rv = m_GenerateRandom(random, sizeof(random), group);
            CHECK(rv == CKR_OK || rv == CKR_IBM_TARGET_INVALID);
            done += rv == CKR_OK && random[7] == 42;
        }
        printf("%d\n", done);
        fflush(stdout);
    }
    return 0;
}
