/* Keys and operations of a card that works: what it computes is compared with published values, and with itself by another way. */
#include "common.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static CK_BYTE yes = 1, no = 0;
static target_t target;

struct blob {
    unsigned char bytes[16384];
    size_t length;
};

static CK_ULONG bytes_16 = 16, bytes_32 = 32, secret_key = CKO_SECRET_KEY, type_aes = CKK_AES;

static void aes_key(struct blob *key, CK_ULONG bytes, const unsigned char *pin, size_t pin_length)
{
    CK_MECHANISM mechanism = {CKM_AES_KEY_GEN, NULL, 0};
    CK_ATTRIBUTE template[] = {
        {CKA_VALUE_LEN, &bytes, sizeof(bytes)}, {CKA_ENCRYPT, &yes, 1}, {CKA_DECRYPT, &yes, 1},
        {CKA_WRAP, &yes, 1},                    {CKA_UNWRAP, &yes, 1},  {CKA_EXTRACTABLE, &yes, 1},
    };
    unsigned char check[64];
    size_t check_length = sizeof(check);
    key->length = sizeof(key->bytes);
    OK(m_GenerateKey(&mechanism, template, COUNT(template), pin, pin_length, key->bytes, &key->length, check,
                     &check_length, target));
    CHECK(check_length == 7 && check[6] == (unsigned char)(bytes * 8) && check[5] == bytes * 8 / 256);
}

static CK_RV ecb(const struct blob *key, const CK_BYTE *data, CK_BYTE *out)
{
    CK_MECHANISM mechanism = {0x1081UL, NULL, 0};
    CK_ULONG length = 16;
    return m_EncryptSingle(key->bytes, key->length, &mechanism, (CK_BYTE *)data, 16, out, &length, target);
}

/* A clear key comes in as openCryptoki brings it: encrypted by a key of the card. */
static void import(void)
{
    static struct blob wrapping, key;
    CK_BYTE iv[] = "1234567812345678", clear[16], data[16], out[64];
    CK_MECHANISM mechanism = {CKM_AES_CBC_PAD, iv, 16};
    for (int i = 0; i < 16; i++) {
        clear[i] = (CK_BYTE)i;
        data[i] = (CK_BYTE)(i * 0x11);
    }
    aes_key(&wrapping, 32, NULL, 0);
    CK_ULONG length = sizeof(out);
    OK(m_EncryptSingle(wrapping.bytes, wrapping.length, &mechanism, clear, 16, out, &length, target));
    IS(length, 32);
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &secret_key, sizeof(CK_ULONG)},
        {CKA_KEY_TYPE, &type_aes, sizeof(CK_ULONG)},
        {CKA_VALUE_LEN, &bytes_16, sizeof(CK_ULONG)},
        {CKA_ENCRYPT, &yes, 1},
        {CKA_DECRYPT, &yes, 1},
        {CKA_EXTRACTABLE, &yes, 1},
    };
    unsigned char check[64];
    CK_ULONG check_length = sizeof(check);
    key.length = sizeof(key.bytes);
    OK(m_UnwrapKey(out, length, wrapping.bytes, wrapping.length, NULL, ~(size_t)0, NULL, 0, &mechanism, template,
                   COUNT(template), key.bytes, &key.length, check, &check_length, target));
    /* FIPS 197, C.1 */
    static const CK_BYTE expected[] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                       0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    OK(ecb(&key, data, out));
    CHECK(memcmp(out, expected, 16) == 0);

    /* Wrapped and unwrapped it is the same. */
    static struct blob again;
    CK_BYTE wrapped[64];
    length = sizeof(wrapped);
    OK(m_WrapKey(key.bytes, key.length, wrapping.bytes, wrapping.length, NULL, 0, &mechanism, wrapped, &length, target));
    again.length = sizeof(again.bytes);
    check_length = sizeof(check);
    OK(m_UnwrapKey(wrapped, length, wrapping.bytes, wrapping.length, NULL, 0, NULL, 0, &mechanism, template,
                   COUNT(template), again.bytes, &again.length, check, &check_length, target));
    OK(ecb(&again, data, out));
    CHECK(memcmp(out, expected, 16) == 0);

    /* In the order of cards a blob is taken too; changed, it is not. */
    unsigned char *swapped = again.bytes;
    if (swapped[64] == 0x34) {
        for (int i = 0; i < 4; i++) {
            unsigned char first = swapped[52 + i];
            if (i < 2) {
                swapped[52 + i] = swapped[55 - i];
                swapped[55 - i] = first;
                first = swapped[48 + i];
                swapped[48 + i] = swapped[51 - i];
                swapped[51 - i] = first;
            }
            first = swapped[56 + i];
            swapped[56 + i] = swapped[63 - i];
            swapped[63 - i] = first;
        }
        swapped[64] = 0x12;
        swapped[65] = 0x34;
        OK(ecb(&again, data, out));
        CHECK(memcmp(out, expected, 16) == 0);
    }
    key.bytes[100] ^= 1;
    IS(ecb(&key, data, out), CKR_IBM_BLOB_ERROR);
}

static void parts(void)
{
    static struct blob key, state;
    CK_BYTE iv[16] = {7}, data[100], once[128], parts[128];
    CK_MECHANISM mechanism = {CKM_AES_CBC_PAD, iv, 16};
    memset(data, 0x42, sizeof(data));
    aes_key(&key, 32, NULL, 0);
    CK_ULONG once_length = sizeof(once), length, all = 0;
    OK(m_EncryptSingle(key.bytes, key.length, &mechanism, data, sizeof(data), once, &once_length, target));
    state.length = sizeof(state.bytes);
    OK(m_EncryptInit(state.bytes, &state.length, &mechanism, key.bytes, key.length, target));
    for (int i = 0; i < 4; i++) {
        length = sizeof(parts) - all;
        OK(m_EncryptUpdate(state.bytes, state.length, data + 25 * i, 25, parts + all, &length, target));
        all += length;
    }
    length = sizeof(parts) - all;
    OK(m_EncryptFinal(state.bytes, state.length, parts + all, &length, target));
    CHECK(all + length == once_length && memcmp(once, parts, once_length) == 0);
    state.length = sizeof(state.bytes);
    OK(m_DecryptInit(state.bytes, &state.length, &mechanism, key.bytes, key.length, target));
    length = sizeof(parts);
    OK(m_Decrypt(state.bytes, state.length, once, once_length, parts, &length, target));
    CHECK(length == sizeof(data) && memcmp(parts, data, length) == 0);

    /* FIPS 180-4: SHA-256 of "abc" */
    static const CK_BYTE abc[] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea};
    CK_MECHANISM sha256 = {CKM_SHA256, NULL, 0};
    length = sizeof(once);
    OK(m_DigestSingle(&sha256, (CK_BYTE *)"abc", 3, once, &length, target));
    CHECK(length == 32 && memcmp(once, abc, sizeof(abc)) == 0);
    state.length = sizeof(state.bytes);
    OK(m_DigestInit(state.bytes, &state.length, &sha256, target));
    OK(m_DigestUpdate(state.bytes, state.length, (CK_BYTE *)"a", 1, target));
    OK(m_DigestUpdate(state.bytes, state.length, (CK_BYTE *)"bc", 2, target));
    length = 31;
    IS(m_DigestFinal(state.bytes, state.length, parts, &length, target), CKR_BUFFER_TOO_SMALL);
    OK(m_DigestFinal(state.bytes, state.length, parts, &length, target));
    CHECK(length == 32 && memcmp(once, parts, 32) == 0);

    /* A message that no socket takes in one piece. */
    static CK_BYTE large[3 << 20], back[sizeof(large) + 16];
    mechanism.mechanism = CKM_AES_CBC;
    length = sizeof(back);
    OK(m_EncryptSingle(key.bytes, key.length, &mechanism, large, sizeof(large), back, &length, target));
    IS(length, sizeof(large));
    OK(m_DecryptSingle(key.bytes, key.length, &mechanism, back, length, back, &length, target));
    CHECK(memcmp(back, large, sizeof(large)) == 0);
}

static void pair(struct blob *private, struct blob *public, CK_ATTRIBUTE_TYPE use, CK_ATTRIBUTE_TYPE public_use)
{
    static CK_BYTE p256[] = {6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7};
    CK_MECHANISM mechanism = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
    CK_ATTRIBUTE of_public[] = {{CKA_EC_PARAMS, p256, sizeof(p256)}, {public_use, &yes, 1}};
    CK_ATTRIBUTE of_private[] = {{use, &yes, 1}, {CKA_EXTRACTABLE, &no, 1}};
    private->length = sizeof(private->bytes);
    public->length = sizeof(public->bytes);
    OK(m_GenerateKeyPair(&mechanism, of_public, 2, of_private, 2, NULL, 0, private->bytes, &private->length,
                         public->bytes, &public->length, target));
    IS(public->bytes[0], 0x30);
}

static void sign(void)
{
    static struct blob private, public, state;
    CK_BYTE signature[256], digest[32] = {9};
    CK_MECHANISM ecdsa = {CKM_ECDSA, NULL, 0}, sha = {0x1044UL, NULL, 0};
    pair(&private, &public, CKA_SIGN, CKA_VERIFY);
    CK_ULONG length = 0;
    OK(m_SignSingle(private.bytes, private.length, &ecdsa, digest, 32, NULL, &length, target));
    IS(length, 64);
    OK(m_SignSingle(private.bytes, private.length, &ecdsa, digest, 32, signature, &length, target));
    OK(m_VerifySingle(public.bytes, public.length, &ecdsa, digest, 32, signature, length, target));
    digest[0] ^= 1;
    IS(m_VerifySingle(public.bytes, public.length, &ecdsa, digest, 32, signature, length, target),
       CKR_SIGNATURE_INVALID);
    state.length = sizeof(state.bytes);
    OK(m_SignInit(state.bytes, &state.length, &sha, private.bytes, private.length, target));
    OK(m_SignUpdate(state.bytes, state.length, (CK_BYTE *)"mess", 4, target));
    OK(m_SignUpdate(state.bytes, state.length, (CK_BYTE *)"age", 3, target));
    length = sizeof(signature);
    OK(m_SignFinal(state.bytes, state.length, signature, &length, target));
    state.length = sizeof(state.bytes);
    OK(m_VerifyInit(state.bytes, &state.length, &sha, public.bytes, public.length, target));
    OK(m_Verify(state.bytes, state.length, (CK_BYTE *)"message", 7, signature, length, target));

    /* The public key of the private one, without a MAC, and with one as it is imported. */
    static CK_BYTE spki[512], maced[1024];
    CK_ATTRIBUTE info = {0x129UL, spki, sizeof(spki)};
    OK(m_GetAttributeValue(private.bytes, private.length, &info, 1, target));
    OK(m_VerifySingle(spki, info.ulValueLen, &sha, (CK_BYTE *)"message", 7, signature, length, target));
    CK_MECHANISM transport = {CKM_IBM_TRANSPORTKEY, NULL, 0};
    CK_ATTRIBUTE verify[] = {{CKA_VERIFY, &yes, 1}, {CKA_ENCRYPT, &no, 1}};
    unsigned char check[1024];
    CK_ULONG check_length = sizeof(check);
    size_t maced_length = sizeof(maced);
    OK(m_UnwrapKey(spki, info.ulValueLen, NULL, 0, NULL, ~(size_t)0, NULL, 0, &transport, verify, 2, maced,
                   &maced_length, check, &check_length, target));
    CHECK(maced_length > info.ulValueLen && memcmp(maced, spki, info.ulValueLen) == 0);
    OK(m_VerifySingle(maced, maced_length, &sha, (CK_BYTE *)"message", 7, signature, length, target));
    uint32_t word;
    memcpy(&word, maced + info.ulValueLen + 18 + 34 + 10 + 10 + 2 + 8, 4);
    CHECK((word & XCP_BLOB_VERIFY) != 0 && (word & XCP_BLOB_ENCRYPT) == 0);
    maced[info.ulValueLen + 18 + 34 + 5] ^= 1;
    IS(m_VerifySingle(maced, maced_length, &sha, (CK_BYTE *)"message", 7, signature, length, target),
       CKR_IBM_BLOB_ERROR);
}

static void derive(void)
{
    static struct blob keys[2], publics[2], shared[2];
    CK_BYTE data[16] = {3}, out[2][16];
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &secret_key, sizeof(CK_ULONG)},
        {CKA_KEY_TYPE, &type_aes, sizeof(CK_ULONG)},
        {CKA_VALUE_LEN, &bytes_32, sizeof(CK_ULONG)},
        {CKA_ENCRYPT, &yes, 1},
        {CKA_DECRYPT, &yes, 1},
    };
    for (int i = 0; i < 2; i++)
        pair(&keys[i], &publics[i], 0x10cUL, CKA_VERIFY);
    for (int i = 0; i < 2; i++) {
        size_t at = 0, check_length = 64;
        unsigned char check[64];
        size_t bytes = xcpa_ec_pub2y(&at, publics[1 - i].bytes, publics[1 - i].length);
        IS(bytes, 65);
        struct {
            CK_ULONG kdf, shared_length;
            CK_BYTE *shared;
            CK_ULONG public_length;
            CK_BYTE *public;
        } parameters = {1, 0, NULL, bytes, publics[1 - i].bytes + at};
        CK_MECHANISM mechanism = {0x1050UL, &parameters, sizeof(parameters)};
        shared[i].length = sizeof(shared[i].bytes);
        OK(m_DeriveKey(&mechanism, template, COUNT(template), keys[i].bytes, keys[i].length, NULL, 0, NULL, 0,
                       shared[i].bytes, &shared[i].length, check, &check_length, target));
        OK(ecb(&shared[i], data, out[i]));
    }
    CHECK(memcmp(out[0], out[1], 16) == 0);
}

static void rsa(void)
{
    static struct blob private, public;
    static CK_BYTE exponent[] = {1, 0, 1}, data[] = "data", out[512], back[512];
    CK_ULONG bits = 2048, length = sizeof(out), back_length = sizeof(back);
    CK_MECHANISM generate = {0, NULL, 0};
    CK_ATTRIBUTE of_public[] = {
        {0x121UL, &bits, sizeof(bits)},
        {0x122UL, exponent, sizeof(exponent)},
        {CKA_ENCRYPT, &yes, 1},
        {CKA_VERIFY, &yes, 1},
    };
    CK_ATTRIBUTE of_private[] = {{CKA_DECRYPT, &yes, 1}, {CKA_SIGN, &yes, 1}};
    private.length = sizeof(private.bytes);
    public.length = sizeof(public.bytes);
    OK(m_GenerateKeyPair(&generate, of_public, 4, of_private, 2, NULL, 0, private.bytes, &private.length, public.bytes,
                         &public.length, target));
    CK_ULONG salted[3] = {CKM_SHA256, 2, 32};
    CK_MECHANISM pss = {0x43UL, salted, sizeof(salted)};
    OK(m_SignSingle(private.bytes, private.length, &pss, data, sizeof(data), out, &length, target));
    IS(length, 256);
    OK(m_VerifySingle(public.bytes, public.length, &pss, data, sizeof(data), out, length, target));
    out[9] ^= 1;
    IS(m_VerifySingle(public.bytes, public.length, &pss, data, sizeof(data), out, length, target),
       CKR_SIGNATURE_INVALID);
    struct {
        CK_ULONG hash, mgf, source;
        void *label;
        CK_ULONG label_length;
    } labelled = {CKM_SHA256, 2, 1, "label", 5};
    CK_MECHANISM oaep = {9UL, &labelled, sizeof(labelled)};
    length = sizeof(out);
    OK(m_EncryptSingle(public.bytes, public.length, &oaep, data, sizeof(data), out, &length, target));
    OK(m_DecryptSingle(private.bytes, private.length, &oaep, out, length, back, &back_length, target));
    CHECK(back_length == sizeof(data) && memcmp(back, data, sizeof(data)) == 0);
    labelled.label_length = 4;
    back_length = sizeof(back);
    CHECK(m_DecryptSingle(private.bytes, private.length, &oaep, out, length, back, &back_length, target) != CKR_OK);
}

static void encapsulate(void)
{
    static struct blob private, public, keys[2];
    static unsigned char check[2][2048];
    CK_ULONG set = 2;
    CK_BYTE data[16] = {3}, out[2][16];
    CK_MECHANISM generate = {CKM_IBM_ML_KEM_KEY_PAIR_GEN, NULL, 0};
    CK_ATTRIBUTE of_public[] = {{CKA_IBM_PARAMETER_SET, &set, sizeof(set)}, {0x10cUL, &yes, 1}};
    CK_ATTRIBUTE of_private[] = {{0x10cUL, &yes, 1}};
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &secret_key, sizeof(CK_ULONG)},
        {CKA_KEY_TYPE, &type_aes, sizeof(CK_ULONG)},
        {CKA_VALUE_LEN, &bytes_32, sizeof(CK_ULONG)},
        {CKA_ENCRYPT, &yes, 1},
        {CKA_DECRYPT, &yes, 1},
    };
    private.length = sizeof(private.bytes);
    public.length = sizeof(public.bytes);
    OK(m_GenerateKeyPair(&generate, of_public, 2, of_private, 1, NULL, 0, private.bytes, &private.length, public.bytes,
                         &public.length, target));
    size_t check_length[2] = {sizeof(check[0]), sizeof(check[1])};
    for (int i = 0; i < 2; i++) {
        XCP_KYBER_KEM_PARAMS_t parameters = {
            .version = XCP_KYBER_KEM_VERSION, .mode = i ? CK_IBM_KEM_DECAPSULATE : CK_IBM_KEM_ENCAPSULATE, .kdf = 1};
        CK_MECHANISM mechanism = {CKM_IBM_ML_KEM, &parameters, sizeof(parameters)};
        if (i) {
            IS(check_length[0], 7 + 1088);
            parameters.pCipher = check[0] + 7;
            parameters.ulCipherLen = check_length[0] - 7;
        }
        struct blob *with = i ? &private : &public;
        keys[i].length = sizeof(keys[i].bytes);
        OK(m_DeriveKey(&mechanism, template, COUNT(template), with->bytes, with->length, NULL, 0, NULL, 0,
                       keys[i].bytes, &keys[i].length, check[i], &check_length[i], target));
        OK(ecb(&keys[i], data, out[i]));
    }
    CHECK(memcmp(out[0], out[1], 16) == 0);
}

static void attributes(void)
{
    static struct blob key;
    CK_BYTE data[16] = {0}, out[16];
    CK_BBOOL encrypt = 9, modifiable = 9, never = 9;
    CK_ULONG compliance = 99;
    aes_key(&key, 16, NULL, 0);
    CK_ATTRIBUTE asked[] = {
        {CKA_ENCRYPT, &encrypt, 1},
        {0x170UL, &modifiable, 1},
        {CKA_IBM_PROTKEY_NEVER_EXTRACTABLE, &never, 1},
        {CKA_IBM_STD_COMPLIANCE1, &compliance, sizeof(compliance)},
    };
    OK(m_GetAttributeValue(key.bytes, key.length, asked, COUNT(asked), target));
    CHECK(encrypt == 1 && modifiable == 1 && never <= 1);
    CK_ATTRIBUTE off = {CKA_ENCRYPT, &no, 1};
    OK(m_SetAttributeValue(key.bytes, key.length, &off, 1, target));
    IS(ecb(&key, data, out), 0x68UL);
}

static void sessions(void)
{
    static struct blob key;
    CK_BYTE data[16] = {0}, out[16];
    unsigned char pin[80];
    size_t length = sizeof(pin);
    OK(m_Login((CK_UTF8CHAR *)"12345678", 8, (const unsigned char *)"nonce", 5, pin, &length, target));
    aes_key(&key, 32, pin, length);
    CHECK(memcmp(key.bytes, pin, 32) == 0);
    OK(ecb(&key, data, out));
    OK(m_Logout(pin, length, target));
    IS(ecb(&key, data, out), 0xb0UL);
}

static void queries(void)
{
    CK_IBM_XCP_INFO info;
    CK_ULONG length = sizeof(info), count = 0;
    OK(m_get_xcp_info(&info, &length, CK_IBM_XCPQ_MODULE, 0, target));
    CHECK(length == sizeof(info) && info.controlPoints >= XCP_CPBITS_MAX && info.firmwareApi > 2);
    uint32_t caps = 0, list[128];
    length = sizeof(caps);
    OK(m_get_xcp_info(&caps, &length, CK_IBM_XCPQ_EXT_CAPS, 0, target));
    CHECK(length == 4 && caps > 0 && caps < 64);
    length = sizeof(list);
    OK(m_get_xcp_info(list, &length, CK_IBM_XCPQ_EXT_CAPLIST, 0, target));
    IS(length, caps * 8);
    int sessions = 0;
    for (uint32_t i = 0; i < caps; i++)
        sessions += list[2 * i] == CK_IBM_XCPXQ_MAX_SESSIONS && list[2 * i + 1] > 0;
    IS(sessions, 1);
    unsigned char strengths[16];
    length = sizeof(strengths);
    OK(m_get_xcp_info(strengths, &length, CK_IBM_XCPQ_PQC_STRENGTHS, 0, target));
    CHECK(length > 0);
    OK(m_GetMechanismList(0, NULL, &count, target));
    CHECK(count > 60 && count < 300);
    CK_MECHANISM_TYPE *all = calloc(count, sizeof(*all));
    OK(m_GetMechanismList(0, all, &count, target));
    for (CK_ULONG i = 0; i < count; i++) {
        CK_MECHANISM_INFO of;
        OK(m_GetMechanismInfo(0, all[i], &of, target));
    }
    free(all);
}

/* A wrapping key is changed while keys under the old one are there. */
static void change(void)
{
    static struct blob key;
    CK_BYTE data[16] = {5}, before[16], after[16];
    unsigned char pattern[32], found[32], command[1024], reply[1024];
    uint32_t permissions = 0;
    aes_key(&key, 32, NULL, 0);
    OK(ecb(&key, data, before));
    IS(xcpa_query_wk(found, 32, 1, target), 0);
    IS(xcpa_gen_random_wk(target, pattern, NULL, NULL), XCP_ADMERR_COMMAND_FAILED);
    IS(xcpa_admin_attr(target, XCP_ADMFL_DOMAIN, XCP_ADMINT_PERMS, &permissions), 0);
    IS(xcpa_set_admin_attr(target, XCP_ADMINT_PERMS, permissions | XCP_ADMP_WK_RANDOM, NULL, XCP_ADMFL_DOMAIN, NULL,
                           NULL, CKR_OK),
       0);
    IS(xcpa_gen_random_wk(target, pattern, NULL, NULL), 0);
    IS(xcpa_query_wk(found, 32, 1, target), 32);
    CHECK(memcmp(found, pattern, 32) == 0);
    IS(xcpa_commit_wk(target, pattern, NULL, NULL), 0);
    CK_IBM_DOMAIN_INFO domain;
    CK_ULONG length = sizeof(domain);
    OK(m_get_xcp_info(&domain, &length, CK_IBM_XCPQ_DOMAIN, 0, target));
    CHECK((domain.flags & CK_IBM_DOM_COMMITTED_NWK) != 0 && memcmp(domain.nextwk, pattern, 32) == 0);
    struct XCPadmresp of, said;
    CK_RV rv;
    memset(&of, 0xee, sizeof(of));
    of.domain = (uint32_t)domain.domain;
    long bytes = xcpa_cmdblock(command, sizeof(command), XCP_ADM_REENCRYPT, &of, NULL, key.bytes, key.length);
    CHECK(bytes > 0);
    size_t reply_length = sizeof(reply);
    OK(m_admin(reply, &reply_length, NULL, NULL, command, (size_t)bytes, NULL, 0, target));
    IS(xcpa_internal_rv(reply, reply_length, &said, &rv), 0);
    OK(rv);
    IS(said.pllen, key.length);
    CHECK(memcmp(said.payload + 32, pattern, 16) == 0);
    IS(xcpa_finalize_wk(target, pattern), 0);
    IS(ecb(&key, data, after), CKR_IBM_WKID_MISMATCH);
    memcpy(key.bytes, said.payload, said.pllen);
    OK(ecb(&key, data, after));
    CHECK(memcmp(before, after, 16) == 0);
    unsigned char points[XCP_CP_BYTES];
    IS(xcpa_query_cps(target, points, sizeof(points), NULL, XCP_ADMFL_DOMAIN), XCP_CP_BYTES);
    CPB_DEL(points, XCP_CPB_ENCRYPT_SYMM);
    IS(xcpa_set_cps(target, points, NULL, XCP_ADMFL_DOMAIN, NULL, NULL, CKR_OK), 0);
    IS(ecb(&key, data, after), 0x50UL);
}

int main(void)
{
    IS(m_init(), XCP_OK);
    target = target_of(XCP_TGT_INIT, 0, 3, 0);
    import();
    parts();
    sign();
    derive();
    rsa();
    encapsulate();
    attributes();
    sessions();
    queries();
    change();
    puts("good");
    return 0;
}
