/* Calls of every kind on one domain, which the test serves by a card that only pretends: what comes back shows what it was asked. */
#include "common.h"

static CK_BYTE yes = 1, no = 0;
static target_t target;

static void sizes(void)
{
    CHECK(sizeof(struct XCP_Module) == 1360);
    CHECK(offsetof(struct XCP_Module, flags) == 8 && offsetof(struct XCP_Module, domainmask) == 20);
    CHECK(offsetof(struct XCP_Module, module_nr) == 316 && offsetof(struct XCP_Module, mhandle) == 320);
    CHECK(offsetof(struct XCP_Module, api) == 328 + 1024);
    CHECK(sizeof(struct XCPadmresp) == 96 && offsetof(struct XCPadmresp, rv) == 64);
    CHECK(sizeof(CK_IBM_XCP_INFO) == 264 && sizeof(CK_IBM_DOMAIN_INFO) == 88);
    CHECK(sizeof(XCP_KYBER_KEM_PARAMS_t) == 80 && sizeof(CK_IBM_BTC_DERIVE_PARAMS) == 40);
}

static void hosts(void)
{
    uint32_t version = 0;
    CK_ULONG length = sizeof(version);
    /* No target is needed. */
    OK(m_get_xcp_info(&version, &length, CK_IBM_XCPHQ_VERSION, 0, 0));
    IS(version, 0x040200);
    IS(length, 4);
    OK(m_get_xcp_info(NULL, &length, CK_IBM_XCPHQ_HVERSION, 0, 0));
    char text[128];
    IS(m_get_xcp_info(text, &(CK_ULONG){3}, CK_IBM_XCPHQ_HVERSION, 0, 0), CKR_BUFFER_TOO_SMALL);
    OK(m_get_xcp_info(text, &length, CK_IBM_XCPHQ_HVERSION, 0, 0));
    IS(m_get_xcp_info(text, NULL, CK_IBM_XCPHQ_HVERSION, 0, 0), CKR_ARGUMENTS_BAD);
    IS(m_get_xcp_info(text, &length, CK_IBM_XCPHQ_ECDH_DERPRM + 1, 0, 0), CKR_ARGUMENTS_BAD);
}

static void queries(void)
{
    CK_IBM_XCP_INFO info;
    CK_ULONG length = sizeof(info);
    OK(m_get_xcp_info(&info, &length, CK_IBM_XCPQ_MODULE, 0, target));
    IS(length, sizeof(info));
    IS(info.domains, 16);
    IS(info.controlPoints, 80);
    CHECK(info.firmwareVersion.major == 8 && info.firmwareVersion.minor == 40);
    CHECK(memcmp(info.serialNumber, "serial number 16", 16) == 0);
    CK_IBM_DOMAIN_INFO domain;
    length = sizeof(domain);
    OK(m_get_xcp_info(&domain, &length, CK_IBM_XCPQ_DOMAIN, 0, target));
    IS(domain.domain, 5);
    IS(domain.flags, CK_IBM_DOM_CURR_WK);
    CHECK(domain.wk[0] == 7 && domain.nextwk[31] == 0);
    CK_MECHANISM_TYPE mechanisms[8];
    CK_ULONG count = 0;
    OK(m_GetMechanismList(0, NULL, &count, target));
    IS(count, 3);
    count = 2;
    IS(m_GetMechanismList(0, mechanisms, &count, target), CKR_BUFFER_TOO_SMALL);
    IS(count, 3);
    OK(m_GetMechanismList(0, mechanisms, &count, target));
    IS(mechanisms[2], CKM_IBM_ML_KEM);
    CK_MECHANISM_INFO mechanism;
    OK(m_GetMechanismInfo(0, CKM_AES_CBC, &mechanism, target));
    CHECK(mechanism.ulMinKeySize == 16 && mechanism.ulMaxKeySize == 32 && mechanism.flags == 0x300);
}

static void make_key(unsigned char *key, size_t *length)
{
    CK_ULONG bytes = 32;
    CK_MECHANISM mechanism = {CKM_AES_KEY_GEN, NULL, 0};
    CK_ATTRIBUTE template[] = {
        {CKA_VALUE_LEN, &bytes, sizeof(bytes)},
        {CKA_ENCRYPT, &yes, 1},
        {CKA_EXTRACTABLE, &no, 1},
        {CKA_LABEL, "label", 5},
    };
    unsigned char check[64];
    size_t check_length = sizeof(check), wanted = 0;
    OK(m_GenerateKey(&mechanism, template, 4, NULL, 0, NULL, &wanted, check, &check_length, target));
    IS(wanted, 192);
    *length = wanted - 1;
    check_length = sizeof(check);
    IS(m_GenerateKey(&mechanism, template, 4, NULL, 0, key, length, check, &check_length, target), CKR_BUFFER_TOO_SMALL);
    IS(*length, wanted);
    check_length = sizeof(check);
    OK(m_GenerateKey(&mechanism, template, 4, NULL, 0, key, length, check, &check_length, target));
    IS(check_length, 7);
    CHECK(check[6] == 0 && check[5] == 1);
    IS(m_GenerateKey(&mechanism, template, 4, NULL, 0, key, length, check, &check_length, target | XCP_TGTFL_CHK_ATTR),
       CKR_TEMPLATE_INCONSISTENT);
    IS(m_GenerateKey(&mechanism, NULL, 4, NULL, 0, key, length, check, &check_length, target), CKR_ARGUMENTS_BAD);
    IS(m_GenerateKey(NULL, template, 4, NULL, 0, key, length, check, &check_length, target), CKR_ARGUMENTS_BAD);
    IS(m_GenerateKey(&mechanism, template, 4, NULL, 0, key, NULL, check, &check_length, target), CKR_ARGUMENTS_BAD);
    /* Programs read these in the order of their machine. */
    uint16_t version;
    uint32_t attributes;
    memcpy(&version, key + 64, 2);
    memcpy(&attributes, key + 52, 4);
    IS(version, 0x1234);
    IS(attributes, XCP_BLOB_ENCRYPT);
}

static void encrypt(const unsigned char *key, size_t key_length)
{
    CK_BYTE iv[16] = {1}, data[100], out[120], back[120];
    CK_MECHANISM mechanism = {CKM_AES_CBC_PAD, iv, sizeof(iv)};
    memset(data, 0x11, sizeof(data));
    CK_ULONG length = 0;
    OK(m_EncryptSingle(key, key_length, &mechanism, data, sizeof(data), NULL, &length, target));
    IS(length, sizeof(data));
    length = 99;
    memset(out, 0, sizeof(out));
    IS(m_EncryptSingle(key, key_length, &mechanism, data, sizeof(data), out, &length, target), CKR_BUFFER_TOO_SMALL);
    IS(length, sizeof(data));
    CHECK(out[0] == 0);
    OK(m_EncryptSingle(key, key_length, &mechanism, data, sizeof(data), out, &length, target));
    CHECK(out[0] == (0x11 ^ 0x55));
    /* Where the data is may be where the result goes. */
    memcpy(back, out, length);
    OK(m_DecryptSingle(key, key_length, &mechanism, back, length, back, &length, target));
    CHECK(memcmp(back, data, sizeof(data)) == 0);
    IS(m_EncryptSingle(key, key_length, &mechanism, NULL, 16, out, &length, target), CKR_ARGUMENTS_BAD);
    IS(m_EncryptSingle(key, key_length, &mechanism, data, ~0UL, out, &length, target), CKR_ARGUMENTS_BAD);
    IS(m_EncryptSingle(NULL, 10, &mechanism, data, 16, out, &length, target), CKR_ARGUMENTS_BAD);

    unsigned char state[1024], before[1024];
    size_t state_length = sizeof(state);
    OK(m_EncryptInit(state, &state_length, &mechanism, key, key_length, target));
    IS(state_length, 200);
    memcpy(before, state, state_length);
    length = 0;
    OK(m_EncryptUpdate(state, state_length, data, 32, NULL, &length, target));
    IS(length, 32);
    CHECK(memcmp(before, state, state_length) == 0);
    length = 31;
    IS(m_EncryptUpdate(state, state_length, data, 32, out, &length, target), CKR_BUFFER_TOO_SMALL);
    CHECK(memcmp(before, state, state_length) == 0);
    OK(m_EncryptUpdate(state, state_length, data, 32, out, &length, target));
    CHECK(memcmp(before, state, state_length) != 0);
    length = sizeof(out);
    OK(m_EncryptFinal(state, state_length, out, &length, target));
    CHECK(length == 3 && memcmp(out, "end", 3) == 0);
}

static void sign(const unsigned char *key, size_t key_length)
{
    CK_ULONG parameters[3] = {CKM_SHA256, 2, 32};
    CK_MECHANISM mechanism = {CKM_RSA_PKCS_PSS, parameters, sizeof(parameters)};
    CK_BYTE signature[64];
    CK_ULONG length = sizeof(signature);
    OK(m_SignSingle(key, key_length, &mechanism, (CK_BYTE *)"data", 4, signature, &length, target));
    IS(length, 20);
    OK(m_VerifySingle(key, key_length, &mechanism, (CK_BYTE *)"data", 4, signature, length, target));
    IS(m_VerifySingle(key, key_length, &mechanism, (CK_BYTE *)"Data", 4, signature, length, target),
       CKR_SIGNATURE_INVALID);
    mechanism.ulParameterLen--;
    IS(m_SignSingle(key, key_length, &mechanism, (CK_BYTE *)"data", 4, signature, &length, target),
       CKR_MECHANISM_PARAM_INVALID);
}

static void wrap(const unsigned char *key, size_t key_length)
{
    CK_BYTE iv[16] = {0}, wrapped[512];
    CK_MECHANISM mechanism = {CKM_AES_CBC_PAD, iv, sizeof(iv)};
    CK_ULONG length = 0, class = CKO_SECRET_KEY, type = CKK_AES;
    IS(m_WrapKey(key, key_length, key, key_length, NULL, 0, &mechanism, NULL, &length, target), CKR_ARGUMENTS_BAD);
    length = sizeof(wrapped);
    OK(m_WrapKey(key, key_length, key, key_length, NULL, 0, &mechanism, wrapped, &length, target));
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof(class)}, {CKA_KEY_TYPE, &type, sizeof(type)}};
    unsigned char other[512], check[64];
    size_t other_length = sizeof(other);
    CK_ULONG check_length = sizeof(check);
    /* Without a MAC's key its length may be anything. */
    OK(m_UnwrapKey(wrapped, length, key, key_length, NULL, ~(size_t)0, NULL, 0, &mechanism, template, 2, other,
                   &other_length, check, &check_length, target));
    CHECK(other_length == key_length && memcmp(other, key, key_length) == 0);

    /* A public key becomes one with a MAC. */
    CK_BYTE spki[] = {0x30, 2, 5, 0};
    CK_MECHANISM import = {CKM_IBM_TRANSPORTKEY, NULL, 0};
    CK_ATTRIBUTE verify = {CKA_VERIFY, &yes, 1};
    other_length = sizeof(other);
    check_length = sizeof(check);
    OK(m_UnwrapKey(spki, sizeof(spki), NULL, 0, NULL, 0, NULL, 0, &import, &verify, 1, other, &other_length, check,
                   &check_length, target));
    const unsigned char *attributes = other + sizeof(spki) + 18 + 34 + 10 + 10 + 2;
    uint32_t word;
    memcpy(&word, attributes + 8, 4);
    IS(attributes[0], 0x11);
    IS(word, XCP_BLOB_VERIFY);
    /* It goes back in as it came. */
    CK_MECHANISM ecdsa = {CKM_ECDSA, NULL, 0};
    OK(m_VerifySingle(other, other_length, &ecdsa, (CK_BYTE *)"data", 4, (CK_BYTE *)"data", 4, target));
}

static void attributes(unsigned char *key, size_t key_length)
{
    CK_BBOOL encrypt = 9, wrapping = 9;
    CK_ULONG compliance = 0;
    CK_ATTRIBUTE template[] = {
        {CKA_ENCRYPT, &encrypt, 1},
        {CKA_IBM_STD_COMPLIANCE1, &compliance, sizeof(compliance)},
        {CKA_WRAP, &wrapping, 1},
    };
    OK(m_GetAttributeValue(key, key_length, template, 3, target));
    CHECK(encrypt == 1 && wrapping == 0);
    IS(compliance, 1);
    CK_ATTRIBUTE size = {CKA_IBM_STD_COMPLIANCE1, NULL, 0};
    OK(m_GetAttributeValue(key, key_length, &size, 1, target));
    IS(size.ulValueLen, sizeof(CK_ULONG));
    size.pValue = &compliance;
    size.ulValueLen = 4;
    IS(m_GetAttributeValue(key, key_length, &size, 1, target), CKR_BUFFER_TOO_SMALL);
    IS(size.ulValueLen, ~0UL);
    CK_ATTRIBUTE other = {CKA_LABEL, NULL, 0};
    IS(m_GetAttributeValue(key, key_length, &other, 1, target), CKR_ATTRIBUTE_TYPE_INVALID);
    other.type = CKA_IBM_NEVER_MODIFIABLE;
    IS(m_GetAttributeValue(key, key_length, &other, 1, target), CKR_ARGUMENTS_BAD);
    wrapping = 1;
    OK(m_SetAttributeValue(key, key_length, template + 2, 1, target));
    uint32_t word;
    memcpy(&word, key + 52, 4);
    IS(word, XCP_BLOB_ENCRYPT | XCP_BLOB_WRAP);
}

static void administration(unsigned char *key, size_t key_length)
{
    unsigned char command[1024], reply[1024];
    struct XCPadmresp of, said;
    CK_RV rv = 1;
    memset(&of, 0xee, sizeof(of)); /* as programs leave it */
    of.domain = 5;
    long length = xcpa_cmdblock(NULL, 0, XCP_ADM_REENCRYPT, &of, NULL, key, key_length);
    CHECK(length > (long)key_length);
    IS(xcpa_cmdblock(command, (size_t)length - 1, XCP_ADM_REENCRYPT, &of, NULL, key, key_length), XCP_ESIZE);
    IS(xcpa_cmdblock(command, sizeof(command), XCP_ADM_REENCRYPT, &of, NULL, key, key_length), length);
    size_t reply_length = 0;
    OK(m_admin(NULL, &reply_length, NULL, NULL, command, (size_t)length, NULL, 0, target));
    CHECK(reply_length > key_length);
    reply_length = sizeof(reply);
    OK(m_admin(reply, &reply_length, NULL, NULL, command, (size_t)length, NULL, 0, target));
    IS(xcpa_internal_rv(reply, reply_length, &said, &rv), 0);
    IS(rv, CKR_OK);
    CHECK(said.domain == 5 && said.pllen == key_length && memcmp(said.payload, key, key_length) == 0);
    length = xcpa_queryblock(command, sizeof(command), XCP_ADMQ_DOM_CTRLPOINTS, target, NULL, 0);
    reply_length = 0;
    OK(m_admin(NULL, &reply_length, NULL, NULL, command, (size_t)length, NULL, 0, target));
    OK(m_admin(reply, &reply_length, NULL, NULL, command, (size_t)length, NULL, 0, target));
    IS(ep11a_internal_rv(reply, reply_length, (struct ep11_admresp *)&said, &rv), 0);
    IS(said.fn, XCP_ADMQ_DOM_CTRLPOINTS);
    CHECK(said.pllen == XCP_CP_BYTES && xcpa_cpb_is_set(said.payload, XCP_CPB_ALLOW_NONSESSION));
    IS(xcpa_internal_rv(reply, reply_length - 1, &said, &rv), XCP_EINVALID);
    IS(xcpa_internal_rv(NULL, 0, &said, &rv), XCP_EARG);
    /* openCryptoki names card and domain so, though it has added another target. */
    unsigned char other[1024];
    IS(xcpa_queryblock(other, sizeof(other), XCP_ADMQ_DOM_CTRLPOINTS, (target_t)7 << 32 | 5, NULL, 0), length);
    CHECK(memcmp(command, other, (size_t)length) == 0);
    IS(xcpa_queryblock(command, sizeof(command), XCP_ADMQ_DOM_CTRLPOINTS, XCP_TGT_INIT, NULL, 0), XCP_ETARGET);
}

static void rest(void)
{
    CK_BYTE random[40] = {0};
    OK(m_GenerateRandom(random, sizeof(random), target));
    CHECK(random[0] == 42 && random[39] == 42);
    unsigned char pin_blob[80];
    size_t length = sizeof(pin_blob);
    OK(m_Login((CK_UTF8CHAR *)"12345678", 8, (const unsigned char *)"nonce", 5, pin_blob, &length, target));
    IS(length, 80);
    OK(m_Logout(pin_blob, length, target));
    length = 0;
    OK(m_Login((CK_UTF8CHAR *)"12345678", 8, NULL, 0, NULL, &length, target));
    IS(length, 80);
    length = 79;
    IS(m_Login((CK_UTF8CHAR *)"12345678", 8, NULL, 0, pin_blob, &length, target), CKR_BUFFER_TOO_SMALL);

    /* The request that a call would send, and the call by that. */
    CK_BYTE digest[64];
    unsigned char request[256], reply[256];
    CK_MECHANISM sha256 = {CKM_SHA256, NULL, 0};
    CK_ULONG size = 0;
    OK(m_DigestSingle(&sha256, (CK_BYTE *)"data", 4, request, &size, target | XCP_TGTFL_WCAP | XCP_TGTFL_WCAP_SQ));
    CHECK(size > 20 && size < sizeof(request));
    OK(m_DigestSingle(&sha256, (CK_BYTE *)"data", 4, request, &size, target | XCP_TGTFL_WCAP));
    CK_RV inner = 1;
    length = sizeof(reply);
    OK(m_wire(reply, &length, &inner, request, size, 0, target));
    OK(inner);
    size = sizeof(digest);
    OK(m_DigestSingle(&sha256, (CK_BYTE *)"data", 4, digest, &size, target));
    CHECK(length > size && memcmp(reply + length - size, digest, size) == 0);
    IS(m_wire(reply, &length, &inner, request, size, 1, target), CKR_FUNCTION_NOT_SUPPORTED);
    IS(m_add_backend("localhost", 1234), XCP_MOD_EOBSOLETE);
}

static void targets(void)
{
    struct XCP_Module module;
    target_t other = XCP_TGT_INIT;
    memset(&module, 0, sizeof(module));
    IS(m_add_module(&module, &other), XCP_EARG);
    IS(m_add_module(NULL, &other), XCP_EARG);
    module.version = 3;
    IS(m_add_module(&module, &other), XCP_MOD_EVERSION);
    module.version = 1;
    module.flags = XCP_MFL_SOCKET;
    IS(m_add_module(&module, &other), XCP_MOD_EFLAGS);
    module.flags = XCP_MFL_MODULE;
    module.module_nr = 256;
    XCPTGTMASK_SET_DOM(module.domainmask, 5);
    IS(m_add_module(&module, &other), XCP_MOD_EMODULE);
    /* Domain 6 does not answer. */
    module.version = 2;
    module.module_nr = 0;
    module.flags |= XCP_MFL_PROBE;
    XCPTGTMASK_SET_DOM(module.domainmask, 6);
    struct XCP_Module strict = module;
    strict.flags |= XCP_MFL_STRICT;
    IS(m_add_module(&strict, &other), XCP_MOD_EDOMAIN);
    IS(m_add_module(&module, &other), XCP_OK);
    CHECK(!XCPTGTMASK_DOM_IS_SET(module.domainmask, 6) && XCPTGTMASK_DOM_IS_SET(module.domainmask, 5));
    CHECK(module.domains == 16 && module.api == 0x0906);
    /* It was added twice. */
    CK_BYTE random[8];
    IS(other, target);
    IS(m_rm_module(&module, other), XCP_OK);
    OK(m_GenerateRandom(random, 8, target));
    IS(m_rm_module(&module, other), XCP_OK);
    IS(m_rm_module(&module, other), XCP_ETARGET);
    IS(m_GenerateRandom(random, 8, other), CKR_IBM_TARGET_INVALID);
    IS(m_GenerateRandom(random, 8, XCP_TGT_INIT), CKR_IBM_TARGET_INVALID);
    IS(m_GenerateRandom(random, 8, 0), CKR_IBM_TARGET_INVALID);
    /* An address where nothing is, and a list as programs of the old version make it. */
    IS(m_GenerateRandom(random, 8, 0x7000000000000000), CKR_IBM_TARGET_INVALID);
    struct __attribute__((packed)) {
        int16_t format, length, pairs[512];
    } list = {0, 1, {0, 5}};
    OK(m_GenerateRandom(random, 8, (target_t)(uintptr_t)&list));
    list.length = 0;
    OK(m_GenerateRandom(random, 8, (target_t)(uintptr_t)&list));
    list.length = 257;
    IS(m_GenerateRandom(random, 8, (target_t)(uintptr_t)&list), CKR_IBM_TARGET_INVALID);
    struct {
        int16_t format, length, pairs[2];
    } nobody = {0, 1, {0, 6}};
    IS(m_GenerateRandom(random, 8, (target_t)(uintptr_t)&nobody), CKR_IBM_TARGET_INVALID);
}

int main(void)
{
    sizes();
    IS(m_init(), XCP_OK);
    hosts();
    target = target_of(XCP_TGT_INIT, 0, 5, 0);
    unsigned char key[512];
    size_t length;
    queries();
    make_key(key, &length);
    encrypt(key, length);
    sign(key, length);
    wrap(key, length);
    attributes(key, length);
    administration(key, length);
    rest();
    targets();
    IS(m_rm_module(NULL, target), XCP_ETARGET);
    IS(m_shutdown(), XCP_OK);
    puts("good");
    return 0;
}
