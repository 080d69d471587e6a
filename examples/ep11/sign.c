/* A P-256 key pair that no program sees: made in an EP11 coprocessor, used for a signature there, checked by its public key.
 *
 *     cc sign.c -lep11 -o sign && ./sign [CARD DOMAIN]
 *
 * Start a coprocessor with `adjunct ep11 dev`, and set ADJUNCT_CARDS_DIR as it says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<p11-kit/pkcs11.h>)
#include <p11-kit/pkcs11.h>
#endif
#include <ep11.h>

static void must(const char *what, CK_RV rv)
{
    if (rv == CKR_OK)
        return;
    fprintf(stderr, "%s: 0x%lx\n", what, rv);
    exit(1);
}

int main(int argc, char **argv)
{
    unsigned card = argc > 2 ? strtoul(argv[1], NULL, 16) : 0, domain = argc > 2 ? strtoul(argv[2], NULL, 16) : 0;
    struct XCP_Module module = {.version = XCP_MOD_VERSION_2, .flags = XCP_MFL_MODULE, .module_nr = card};
    target_t target = XCP_TGT_INIT;

    if (m_init() != 0 || domain > 255) {
        fprintf(stderr, "libep11 cannot be used\n");
        return 1;
    }
    module.domainmask[domain / 8] = 0x80 >> domain % 8;
    if (m_add_module(&module, &target) != 0) {
        fprintf(stderr, "no module %02x.%04x\n", card, domain);
        return 1;
    }

    /* The curve by its OID, in DER; what each half may do. */
    CK_BYTE p256[] = {0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07};
    CK_BBOOL yes = 1, no = 0;
    CK_ATTRIBUTE public_half[] = {{CKA_EC_PARAMS, p256, sizeof(p256)}, {CKA_VERIFY, &yes, sizeof(yes)}};
    CK_ATTRIBUTE private_half[] = {{CKA_SIGN, &yes, sizeof(yes)}, {CKA_EXTRACTABLE, &no, sizeof(no)}};
    CK_MECHANISM generate = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
    static unsigned char key[16384], spki[4096], signature[256];
    size_t key_length = sizeof(key), spki_length = sizeof(spki);
    must("m_GenerateKeyPair", m_GenerateKeyPair(&generate, public_half, 2, private_half, 2, NULL, 0, key, &key_length, spki,
                                                &spki_length, target));
    printf("a private key of P-256, as a blob of %zu bytes that only this domain's wrapping key opens\n", key_length);

    /* The digest is signed as it is: SHA-256 of the message is the caller's. */
    CK_MECHANISM ecdsa = {CKM_ECDSA, NULL, 0};
    unsigned char digest[32];
    CK_MECHANISM sha256 = {CKM_SHA256, NULL, 0};
    CK_ULONG digest_length = sizeof(digest), length = sizeof(signature);
    unsigned char message[] = "a message";
    must("m_DigestSingle",
         m_DigestSingle(&sha256, message, sizeof(message) - 1, digest, &digest_length, target));
    must("m_SignSingle", m_SignSingle(key, key_length, &ecdsa, digest, digest_length, signature, &length, target));
    must("m_VerifySingle",
         m_VerifySingle(spki, spki_length, &ecdsa, digest, digest_length, signature, length, target));
    printf("a signature of %lu bytes, verified with its public key of %zu bytes\n", length, spki_length);

    digest[0] ^= 1;
    CK_RV rv = m_VerifySingle(spki, spki_length, &ecdsa, digest, digest_length, signature, length, target);
    printf("another message: %s\n", rv == CKR_SIGNATURE_INVALID ? "the signature is not its" : "VERIFIED");
    memset(key, 0, sizeof(key));
    m_rm_module(&module, target);
    m_shutdown();
    return rv == CKR_SIGNATURE_INVALID ? 0 : 1;
}
