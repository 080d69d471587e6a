/* Null pointers and lengths that no buffer has: an error of each function, and no fault. */
#include "common.h"

#define BAD(call) IS(call, CKR_ARGUMENTS_BAD)

int main(void)
{
    IS(m_init(), XCP_OK);
    target_t t = target_of(XCP_TGT_INIT, 0, 5, 0);
    unsigned char b[512] = {0};
    size_t n = sizeof(b), absurd = ~(size_t)0;
    CK_ULONG u = sizeof(b), many = ~0UL;
    CK_MECHANISM m = {CKM_AES_CBC, b, 16}, without = {CKM_AES_CBC, NULL, 16}, endless = {CKM_AES_CBC, b, ~0UL};
    CK_ATTRIBUTE a = {CKA_EC_PARAMS, NULL, 16};

    BAD(m_GenerateRandom(NULL, 16, t));
    BAD(m_SeedRandom(NULL, 16, t));
    BAD(m_SeedRandom(b, ~0UL, t));
    BAD(m_DigestInit(b, &n, NULL, t));
    BAD(m_DigestInit(b, NULL, &m, t));
    BAD(m_DigestInit(b, &n, &without, t));
    BAD(m_DigestInit(b, &n, &endless, t));
    BAD(m_DigestInit(b, &absurd, &m, t));
    BAD(m_DigestUpdate(NULL, 200, b, 16, t));
    BAD(m_DigestUpdate(b, 200, NULL, 16, t));
    BAD(m_DigestKey(b, 200, NULL, 16, t));
    BAD(m_DigestFinal(NULL, 200, b, &u, t));
    BAD(m_DigestFinal(b, 200, b, NULL, t));
    BAD(m_Digest(b, 200, NULL, 16, b, &u, t));
    BAD(m_DigestSingle(NULL, b, 16, b, &u, t));
    BAD(m_DigestSingle(&m, NULL, 16, b, &u, t));
    BAD(m_DigestSingle(&m, b, 16, b, &many, t));
    BAD(m_EncryptInit(b, &n, &m, NULL, 200, t));
    BAD(m_EncryptInit(b, &n, &m, b, ~(size_t)0, t));
    BAD(m_DecryptInit(b, NULL, &m, b, 200, t));
    BAD(m_EncryptUpdate(NULL, 200, b, 16, b, &u, t));
    BAD(m_EncryptUpdate(b, 200, b, 16, b, NULL, t));
    BAD(m_DecryptUpdate(b, 200, NULL, 16, b, &u, t));
    BAD(m_EncryptFinal(b, 200, b, NULL, t));
    BAD(m_DecryptFinal(NULL, 200, b, &u, t));
    BAD(m_Encrypt(b, 200, NULL, 16, b, &u, t));
    BAD(m_Decrypt(NULL, 200, b, 16, b, &u, t));
    BAD(m_EncryptSingle(b, 200, NULL, b, 16, b, &u, t));
    BAD(m_DecryptSingle(b, 200, &m, b, 16, b, NULL, t));
    BAD(m_ReencryptSingle(NULL, 200, b, 200, &m, &m, b, 16, b, &u, t));
    BAD(m_ReencryptSingle(b, 200, b, 200, &m, NULL, b, 16, b, &u, t));
    BAD(m_SignInit(b, &n, NULL, b, 200, t));
    BAD(m_VerifyInit(b, &n, &m, NULL, 200, t));
    BAD(m_SignUpdate(NULL, 200, b, 16, t));
    BAD(m_VerifyUpdate(b, 200, NULL, 16, t));
    BAD(m_SignFinal(b, 200, b, NULL, t));
    BAD(m_VerifyFinal(b, 200, NULL, 16, t));
    BAD(m_Sign(b, 200, b, 16, b, NULL, t));
    BAD(m_Verify(b, 200, b, 16, NULL, 16, t));
    BAD(m_SignSingle(NULL, 200, &m, b, 16, b, &u, t));
    BAD(m_VerifySingle(b, 200, &m, b, 16, NULL, 16, t));
    BAD(m_GenerateKey(&m, &a, 1, NULL, 0, b, &n, b, &n, t));
    BAD(m_GenerateKey(&m, NULL, 0, NULL, 80, b, &n, b, &n, t));
    BAD(m_GenerateKey(&m, NULL, ~0UL, NULL, 0, b, &n, b, &n, t));
    BAD(m_GenerateKeyPair(&m, NULL, 1, NULL, 0, NULL, 0, b, &n, b, &n, t));
    BAD(m_GenerateKeyPair(&m, NULL, 0, NULL, 0, NULL, 0, b, &n, b, NULL, t));
    BAD(m_WrapKey(b, 200, b, 200, NULL, 0, NULL, b, &u, t));
    BAD(m_WrapKey(b, 200, NULL, 200, NULL, 0, &m, b, &u, t));
    BAD(m_UnwrapKey(NULL, 200, b, 200, NULL, 0, NULL, 0, &m, NULL, 0, b, &n, b, &u, t));
    BAD(m_UnwrapKey(b, 200, b, 200, b, ~(size_t)0, NULL, 0, &m, NULL, 0, b, &n, b, &u, t));
    BAD(m_UnwrapKey(b, 200, b, 200, NULL, 0, NULL, 0, &m, NULL, 0, b, NULL, b, &u, t));
    BAD(m_DeriveKey(NULL, NULL, 0, b, 200, NULL, 0, NULL, 0, b, &n, b, &n, t));
    BAD(m_DeriveKey(&m, NULL, 0, b, 200, NULL, 16, NULL, 0, b, &n, b, &n, t));
    BAD(m_GetAttributeValue(NULL, 200, NULL, 0, t));
    BAD(m_GetAttributeValue(b, 200, NULL, 1, t));
    BAD(m_SetAttributeValue(NULL, 200, NULL, 0, t));
    BAD(m_SetAttributeValue(b, 200, &a, 1, t));
    BAD(m_GetMechanismList(0, NULL, NULL, t));
    BAD(m_GetMechanismInfo(0, CKM_AES_CBC, NULL, t));
    BAD(m_get_xcp_info(b, NULL, CK_IBM_XCPQ_MODULE, 0, t));
    BAD(m_Login(NULL, 8, NULL, 0, b, &n, t));
    BAD(m_Login(b, 8, NULL, 0, b, NULL, t));
    BAD(m_LoginExtended(b, 8, NULL, 0, NULL, 80, b, &n, t));
    BAD(m_Logout(NULL, 80, t));
    BAD(m_LogoutExtended(b, 8, NULL, 5, NULL, 0, t));
    BAD(m_admin(b, NULL, NULL, NULL, b, 16, NULL, 0, t));
    BAD(m_admin(b, &n, NULL, NULL, NULL, 16, NULL, 0, t));
    BAD(m_admin(NULL, &n, NULL, NULL, b, 16, NULL, 0, t));
    BAD(m_wire(b, NULL, NULL, b, 16, 0, t));
    BAD(m_wire(b, &n, NULL, NULL, 16, 0, t));
    /* A function without a buffer has nowhere to put its request. */
    BAD(m_Logout(b, 80, t | XCP_TGTFL_WCAP));
    BAD(m_GenerateRandom(b, 16, t | XCP_TGTFL_WCAP | XCP_TGTFL_WCAP_SQ));
    IS(m_add_module(NULL, NULL), XCP_EARG);
    IS(m_rm_module(NULL, XCP_TGT_INIT), XCP_ETARGET);
    IS(xcpa_cmdblock(b, sizeof(b), XCP_ADM_GEN_WK, NULL, NULL, NULL, 0), XCP_EARG);
    IS(xcpa_queryblock(b, sizeof(b), XCP_ADMQ_WK, t, NULL, 16), XCP_EARG);
    IS(xcpa_commit_wk(t, NULL, NULL, NULL), XCP_EARG);
    IS(xcpa_set_cps(t, NULL, NULL, XCP_ADMFL_DOMAIN, NULL, NULL, CKR_OK), XCP_EARG);
    IS(xcpa_import_wk(t, NULL, 1, NULL, NULL, NULL), XCP_EARG);
    IS(xcp_rcptinfo(b, sizeof(b), NULL, NULL), XCP_EARG);
    IS(xcp_rcptinfo_read(NULL, NULL, 16), XCP_EARG);
    IS(xcp_signerinfo(b, sizeof(b), NULL, 32, NULL, 16, NULL, NULL), XCP_EARG);
    IS(xcpa_asn_tag(NULL, NULL, 16), 0);
    IS(xcpa_ec_pub2y(NULL, NULL, 16), 0);
    IS(xcp_args2mask(NULL, b, 8), XCP_EARG);
    IS(xcpa_cps2compliance(NULL), 0);
    puts("good");
    return 0;
}
