/*
 * Ciphers, digests and random bytes through the engine and through OpenSSL itself: the two must agree in results, return
 * values and what they tell of themselves.
 *
 *     bulk MODULE WORK     WORK: ciphers, gcm, digests, rand, all
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/cms.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static unsigned below(unsigned limit)
{
    unsigned n;
    CHECK(RAND_bytes((unsigned char *)&n, sizeof n) == 1);
    return n % limit;
}

static EVP_CIPHER_CTX *begin(int nid, ENGINE *with, const unsigned char *key, const unsigned char *iv, int encrypt, int pad)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    const char *name = OBJ_nid2sn(nid);
    CHECK(c != NULL && EVP_CipherInit_ex(c, EVP_get_cipherbynid(nid), with, NULL, NULL, encrypt) == 1, "%s", name);
    CHECK(EVP_CIPHER_CTX_set_padding(c, pad) == 1, "%s", name);
    CHECK(EVP_CipherInit_ex(c, NULL, NULL, key, iv, -1) == 1, "%s", name);
    return c;
}

/* Random pieces of a message through two contexts, which must give the same at every step; the second is copied midway. */
static int pieces(int nid, EVP_CIPHER_CTX *ours, EVP_CIPHER_CTX *stock, const unsigned char *in, int length, unsigned char *out)
{
    unsigned char a[4200], b[4200], ib[16];
    int la, lb, done = 0, total = 0, xts = EVP_CIPHER_CTX_get_mode(stock) == EVP_CIPH_XTS_MODE;
    const char *name = OBJ_nid2sn(nid);
    while (done < length) {
        int n = xts ? length : 1 + (int)below(length - done);
        /* In place, where nothing is held back. */
        int in_place = EVP_CIPHER_CTX_get_block_size(stock) == 1;
        memcpy(a, in + done, n);
        CHECK(EVP_CipherUpdate(ours, a, &la, in_place ? a : in + done, n) == 1, "%s", name);
        CHECK(EVP_CipherUpdate(stock, b, &lb, in + done, n) == 1, "%s", name);
        CHECK(la == lb && memcmp(a, b, la) == 0, "%s: %d of %d bytes, %d and %d come out", name, n, length, la, lb);
        memcpy(out + total, a, la);
        total += la;
        done += n;
        if (!xts && nid != NID_chacha20) {
            int n = EVP_CIPHER_CTX_get_iv_length(stock);
            CHECK(EVP_CIPHER_CTX_get_updated_iv(stock, ib, n) == 1);
            /* Decrypting with padding, what is held back differs between OpenSSL's old code and its providers. */
            if (in_place || EVP_CIPHER_CTX_is_encrypting(ours))
                CHECK(memcmp(EVP_CIPHER_CTX_iv(ours), ib, n) == 0, "%s: the IV after %d bytes", name, done);
            /* Why these modes are offered on request only: OpenSSL 3 does not tell the IV of an engine's cipher. */
            CHECK(EVP_CIPHER_CTX_get_updated_iv(ours, ib, n) != 1, "the reason is gone");
        }
        EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
        CHECK(EVP_CIPHER_CTX_copy(copy, ours) == 1, "%s", name);
        CHECK(EVP_CIPHER_CTX_copy(ours, copy) == 1, "%s", name);
        EVP_CIPHER_CTX_free(copy);
    }
    int x = EVP_CipherFinal_ex(ours, a, &la), y = EVP_CipherFinal_ex(stock, b, &lb);
    CHECK(x == y, "%s, %d bytes: final %d and %d", name, length, x, y);
    ERR_clear_error();
    if (x != 1)
        return -1;
    CHECK(la == lb && memcmp(a, b, la) == 0, "%s", name);
    memcpy(out + total, a, la);
    return total + la;
}

/* Another key without an IV, within a block and where a piece has just ended one: what comes next is the same. */
static void another_key(int nid)
{
    unsigned char key[64], iv[16], in[300], a[300], b[300];
    for (int round = 0; round < 40; round++) {
        CHECK(RAND_bytes(key, sizeof key) == 1 && RAND_bytes(iv, sizeof iv) == 1 && RAND_bytes(in, sizeof in) == 1);
        EVP_CIPHER_CTX *ours = begin(nid, engine, key, iv, 1, 1), *stock = begin(nid, NULL, key, iv, 1, 1);
        int first = 1 + below(100), lengths[] = { first, round % 2 ? 64 - first % 64 : 1 + (int)below(100), 200 }, n;
        for (int i = 0; i < 3; i++) {
            if (i == 2) {
                CHECK(RAND_bytes(key, sizeof key) == 1);
                CHECK(EVP_CipherInit_ex(ours, NULL, NULL, key, NULL, -1) == 1, "%s", OBJ_nid2sn(nid));
                CHECK(EVP_CipherInit_ex(stock, NULL, NULL, key, NULL, -1) == 1, "%s", OBJ_nid2sn(nid));
            }
            CHECK(EVP_CipherUpdate(ours, a, &n, in, lengths[i]) == 1 && EVP_CipherUpdate(stock, b, &n, in, lengths[i]) == 1);
            CHECK(memcmp(a, b, lengths[i]) == 0, "%s: piece %d of %d, %d", OBJ_nid2sn(nid), i, lengths[0], lengths[1]);
        }
        EVP_CIPHER_CTX_free(ours);
        EVP_CIPHER_CTX_free(stock);
    }
}

static const int simple[] = {
    NID_aes_128_cbc, NID_aes_192_cbc, NID_aes_256_cbc, NID_aes_128_ctr, NID_aes_192_ctr, NID_aes_256_ctr,
    NID_aes_128_cfb128, NID_aes_192_cfb128, NID_aes_256_cfb128, NID_aes_128_cfb8, NID_aes_192_cfb8, NID_aes_256_cfb8,
    NID_aes_128_cfb1, NID_aes_192_cfb1, NID_aes_256_cfb1, NID_aes_128_ofb128, NID_aes_192_ofb128, NID_aes_256_ofb128,
    NID_aes_128_xts, NID_aes_256_xts, NID_des_ede3_cbc, NID_chacha20,
};

static void ciphers(void)
{
    static const int lengths[] = { 0, 1, 7, 8, 15, 16, 17, 32, 63, 64, 100, 256, 1000, 4096 };
    unsigned char key[64], iv[16], in[4096], out[4200], back[4200];
    CHECK(ENGINE_get_cipher(engine, NID_aes_128_gcm) != NULL && ENGINE_get_cipher(engine, NID_aes_128_ctr) == NULL);
    CHECK(ENGINE_ctrl_cmd_string(engine, "ciphers", "nonsense", 0) == 1);
    CHECK(ENGINE_get_cipher(engine, NID_aes_128_ctr) == NULL);
    CHECK(ENGINE_ctrl_cmd_string(engine, "ciphers", "all", 0) == 1);
    ERR_clear_error();
    for (size_t s = 0; s < sizeof simple / sizeof *simple; s++) {
        int nid = simple[s], xts = nid == NID_aes_128_xts || nid == NID_aes_256_xts;
        const EVP_CIPHER *c = EVP_get_cipherbynid(nid), *e = ENGINE_get_cipher(engine, nid);
        CHECK(e != NULL && EVP_CIPHER_get_nid(e) == nid, "%s", OBJ_nid2sn(nid));
        CHECK(EVP_CIPHER_get_key_length(e) == EVP_CIPHER_get_key_length(c), "%s", OBJ_nid2sn(nid));
        CHECK(EVP_CIPHER_get_iv_length(e) == EVP_CIPHER_get_iv_length(c), "%s", OBJ_nid2sn(nid));
        CHECK(EVP_CIPHER_get_block_size(e) == EVP_CIPHER_get_block_size(c), "%s", OBJ_nid2sn(nid));
        CHECK(EVP_CIPHER_get_mode(e) == EVP_CIPHER_get_mode(c), "%s", OBJ_nid2sn(nid));
        if (EVP_CIPHER_get_block_size(c) == 1 && !xts)
            another_key(nid);
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (int pad = 0; pad < 2; pad++) {
                int length = lengths[l];
                if (xts && length < 16)
                    continue;
                RAND_bytes(key, sizeof key);
                RAND_bytes(iv, sizeof iv);
                RAND_bytes(in, sizeof in);
                EVP_CIPHER_CTX *a = begin(nid, engine, key, iv, 1, pad), *b = begin(nid, NULL, key, iv, 1, pad);
                int n = pieces(nid, a, b, in, length, out);
                /* Another message under the same key. */
                RAND_bytes(iv, sizeof iv);
                CHECK(EVP_CipherInit_ex(a, NULL, NULL, NULL, iv, -1) == 1);
                CHECK(EVP_CipherInit_ex(b, NULL, NULL, NULL, iv, -1) == 1);
                n = pieces(nid, a, b, in, length, out);
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
                if (n < 0)
                    continue;
                a = begin(nid, engine, key, iv, 0, pad), b = begin(nid, NULL, key, iv, 0, pad);
                CHECK(pieces(nid, a, b, out, n, back) == length, "%s", OBJ_nid2sn(nid));
                CHECK(memcmp(in, back, length) == 0, "%s", OBJ_nid2sn(nid));
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
                /* As OpenSSH calls it. */
                a = begin(nid, engine, key, iv, 1, 0), b = begin(nid, NULL, key, iv, 1, 0);
                n = length - length % EVP_CIPHER_get_block_size(c);
                if (n > 0) {
                    CHECK(EVP_Cipher(a, out, in, n) > 0 && EVP_Cipher(b, back, in, n) > 0, "%s", OBJ_nid2sn(nid));
                    CHECK(memcmp(out, back, n) == 0, "%s", OBJ_nid2sn(nid));
                }
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
            }
    }
    EVP_CIPHER_CTX *des = begin(NID_des_ede3_cbc, engine, NULL, NULL, 1, 1);
    CHECK(EVP_CIPHER_CTX_rand_key(des, key) == 1 && memcmp(key, key + 8, 8) != 0);
    EVP_CIPHER_CTX_free(des);
    EVP_CIPHER_CTX *bits = begin(NID_aes_128_cfb1, engine, key, iv, 1, 1), *same = begin(NID_aes_128_cfb1, NULL, key, iv, 1, 1);
    EVP_CIPHER_CTX_set_flags(bits, EVP_CIPH_FLAG_LENGTH_BITS);
    EVP_CIPHER_CTX_set_flags(same, EVP_CIPH_FLAG_LENGTH_BITS);
    int la, lb;
    CHECK(EVP_CipherUpdate(bits, out, &la, in, 24) == 1 && EVP_CipherUpdate(same, back, &lb, in, 24) == 1);
    CHECK(la == lb && memcmp(out, back, 3) == 0);
    EVP_CIPHER_CTX_free(bits);
    EVP_CIPHER_CTX_free(same);
}

static void gcm_messages(int nid)
{
    unsigned char key[32], iv[128], aad[64], in[2000], a[2000], b[2000], ta[16], tb[16];
    int n, m;
    for (int round = 0; round < 60; round++) {
        int length = below(sizeof in), head = below(sizeof aad), ivlen = round < 20 ? 12 : 1 + (int)below(128);
        RAND_bytes(key, sizeof key);
        RAND_bytes(iv, sizeof iv);
        RAND_bytes(aad, sizeof aad);
        RAND_bytes(in, sizeof in);
        EVP_CIPHER_CTX *c[2] = { EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new() };
        unsigned char *out[2] = { a, b }, *tag[2] = { ta, tb };
        for (int i = 0; i < 2; i++) {
            CHECK(EVP_EncryptInit_ex(c[i], EVP_get_cipherbynid(nid), i == 0 ? engine : NULL, NULL, NULL) == 1);
            CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_AEAD_SET_IVLEN, ivlen, NULL) == 1, "%d", ivlen);
            CHECK(EVP_CIPHER_CTX_get_iv_length(c[i]) == ivlen);
            CHECK(EVP_EncryptInit_ex(c[i], NULL, NULL, key, iv) == 1);
            CHECK(EVP_EncryptUpdate(c[i], NULL, &n, aad, head) == 1 && n == head);
            CHECK(EVP_EncryptUpdate(c[i], out[i], &n, in, length / 3) == 1 && n == length / 3);
            EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
            CHECK(EVP_CIPHER_CTX_copy(copy, c[i]) == 1);
            EVP_CIPHER_CTX_free(c[i]);
            c[i] = copy;
            CHECK(EVP_EncryptUpdate(c[i], out[i] + n, &m, in + n, length - n) == 1 && m == length - n);
            CHECK(EVP_EncryptFinal_ex(c[i], out[i] + length, &n) == 1 && n == 0);
            CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_AEAD_GET_TAG, 16, tag[i]) == 1);
        }
        CHECK(memcmp(a, b, length) == 0 && memcmp(ta, tb, 16) == 0, "%d bytes, IV of %d", length, ivlen);
        CHECK(EVP_EncryptUpdate(c[0], a, &n, in, 16) != 1, "an IV used twice");
        for (int bad = 0; bad < 2; bad++) {
            int taglen = bad ? 16 : 4 + (int)below(13);
            CHECK(EVP_DecryptInit_ex(c[0], NULL, NULL, key, iv) == 1);
            CHECK(EVP_CIPHER_CTX_ctrl(c[0], EVP_CTRL_AEAD_SET_TAG, taglen, tb) == 1);
            CHECK(EVP_DecryptUpdate(c[0], NULL, &n, aad, head) == 1);
            CHECK(EVP_DecryptUpdate(c[0], a, &n, b, length) == 1 && n == length);
            CHECK((EVP_DecryptFinal_ex(c[0], a + length, &n) == 1) == !bad, "tag of %d", taglen);
            CHECK(memcmp(a, in, length) == 0);
            tb[0] ^= 1;
        }
        /* Ended by EVP_Cipher: by the right tag, then by a wrong one. */
        for (int bad = 0; bad < 2; bad++) {
            for (int i = 0; i < 2; i++) {
                CHECK(EVP_DecryptInit_ex(c[i], NULL, NULL, key, iv) == 1);
                CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_AEAD_SET_TAG, 16, tb) == 1);
                CHECK(EVP_DecryptUpdate(c[i], NULL, &n, aad, head) == 1);
                CHECK(EVP_DecryptUpdate(c[i], a, &n, b, length) == 1 && n == length);
                CHECK((EVP_Cipher(c[i], a, NULL, 0) >= 0) == !bad, "tag wrong: %d", bad);
            }
            tb[15] ^= 1;
        }
        ERR_clear_error();
        EVP_CIPHER_CTX_free(c[0]);
        EVP_CIPHER_CTX_free(c[1]);
    }
}

/* As OpenSSH's packets and TLS 1.2's records: the IV fixed at first, counted up by the cipher. */
static void gcm_streams(int nid)
{
    unsigned char key[32], iv[12], last[2][12], in[700], out[2][700], tag[2][16], header[13] = { 0 };
    RAND_bytes(key, sizeof key);
    RAND_bytes(iv, sizeof iv);
    EVP_CIPHER_CTX *c[2] = { EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new() };
    for (int i = 0; i < 2; i++) {
        CHECK(EVP_CipherInit(c[i], i == 0 ? ENGINE_get_cipher(engine, nid) : EVP_get_cipherbynid(nid), NULL, NULL, 1) == 1);
        CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_GCM_SET_IV_FIXED, -1, iv) == 1);
        CHECK(EVP_CipherInit(c[i], NULL, key, NULL, -1) == 1);
    }
    for (int round = 0; round < 20; round++) {
        int length = 16 * below(40);
        RAND_bytes(in, sizeof in);
        for (int i = 0; i < 2; i++) {
            CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_GCM_IV_GEN, 1, last[i]) == 1);
            CHECK(EVP_Cipher(c[i], NULL, in, 4) == 4);
            CHECK(EVP_Cipher(c[i], out[i], in + 4, length) == length);
            CHECK(EVP_Cipher(c[i], NULL, NULL, 0) == 0);
            CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_GCM_GET_TAG, 16, tag[i]) == 1);
        }
        CHECK(last[0][0] == last[1][0] && memcmp(out[0], out[1], length) == 0 && memcmp(tag[0], tag[1], 16) == 0);
    }
    CHECK(EVP_CIPHER_CTX_ctrl(c[0], EVP_CTRL_GCM_IV_GEN, 12, last[0]) == 1);
    CHECK(EVP_CIPHER_CTX_ctrl(c[1], EVP_CTRL_GCM_IV_GEN, 12, last[1]) == 1);
    CHECK(memcmp(last[0], last[1], 12) == 0);
    /* A record made by one is opened by the other. */
    for (int maker = 0; maker < 2; maker++) {
        EVP_CIPHER_CTX_reset(c[0]);
        EVP_CIPHER_CTX_reset(c[1]);
        for (int i = 0; i < 2; i++) {
            int encrypt = i == maker;
            CHECK(EVP_CipherInit_ex(c[i], EVP_get_cipherbynid(nid), i == 0 ? engine : NULL, key, NULL, encrypt) == 1);
            CHECK(EVP_CIPHER_CTX_ctrl(c[i], EVP_CTRL_GCM_SET_IV_FIXED, 4, iv) == 1);
        }
        for (int round = 0; round < 20; round++) {
            int length = below(600), whole = 8 + length + 16;
            RAND_bytes(in, sizeof in);
            memcpy(out[0] + 8, in, length);
            header[7] = round;
            header[11] = (8 + length) >> 8;
            header[12] = (8 + length) & 255;
            CHECK(EVP_CIPHER_CTX_ctrl(c[maker], EVP_CTRL_AEAD_TLS1_AAD, 13, header) == 16);
            CHECK(EVP_Cipher(c[maker], out[0], out[0], whole) == whole);
            if (round == 19)
                out[0][9] ^= 1;
            header[11] = whole >> 8;
            header[12] = whole & 255;
            CHECK(EVP_CIPHER_CTX_ctrl(c[!maker], EVP_CTRL_AEAD_TLS1_AAD, 13, header) == 16);
            int opened = EVP_Cipher(c[!maker], out[0], out[0], whole);
            CHECK((opened >= 0) == (round < 19), "%d", opened);
            if (round < 19)
                CHECK(memcmp(out[0] + 8, in, length) == 0);
        }
        ERR_clear_error();
    }
    EVP_CIPHER_CTX_free(c[0]);
    EVP_CIPHER_CTX_free(c[1]);
}

static void gcm(void)
{
    static const int nids[] = { NID_aes_128_gcm, NID_aes_192_gcm, NID_aes_256_gcm };
    for (int i = 0; i < 3; i++) {
        gcm_messages(nids[i]);
        gcm_streams(nids[i]);
    }
}

static void digests(void)
{
    static const int nids[] = { NID_md5, NID_sha1, NID_sha224, NID_sha256, NID_sha384, NID_sha512, NID_sha512_224,
                                NID_sha512_256, NID_sha3_224, NID_sha3_256, NID_sha3_384, NID_sha3_512, NID_shake128,
                                NID_shake256 };
    unsigned char in[1500], a[300], b[300];
    for (size_t d = 0; d < sizeof nids / sizeof *nids; d++) {
        const char *name = OBJ_nid2sn(nids[d]);
        const EVP_MD *e = ENGINE_get_digest(engine, nids[d]), *m = EVP_get_digestbynid(nids[d]);
        CHECK(e != NULL && EVP_MD_get_type(e) == EVP_MD_get_type(m), "%s", name);
        CHECK(EVP_MD_get_size(e) == EVP_MD_get_size(m) && EVP_MD_get_block_size(e) == EVP_MD_get_block_size(m), "%s", name);
        CHECK(EVP_MD_get_pkey_type(e) == EVP_MD_get_pkey_type(m), "%s", name);
        CHECK(EVP_MD_get_flags(e) == EVP_MD_get_flags(m), "%s: %lx %lx", name, EVP_MD_get_flags(e), EVP_MD_get_flags(m));
        EVP_MD_CTX *ours = EVP_MD_CTX_new(), *stock = EVP_MD_CTX_new(), *copy = EVP_MD_CTX_new();
        for (int round = 0; round < 40; round++) {
            int length = round < 2 ? round : (int)below(sizeof in), at = below(length + 1);
            unsigned x = 0, y = 0;
            RAND_bytes(in, sizeof in);
            CHECK(EVP_DigestInit_ex(ours, m, engine) == 1 && EVP_DigestInit_ex(stock, m, NULL) == 1, "%s", name);
            CHECK(EVP_DigestUpdate(ours, in, at) == 1 && EVP_DigestUpdate(stock, in, length) == 1);
            CHECK(EVP_MD_CTX_copy_ex(copy, ours) == 1);
            CHECK(EVP_DigestUpdate(copy, in + at, length - at) == 1);
            int xof = (EVP_MD_get_flags(m) & EVP_MD_FLAG_XOF) != 0, size = xof ? 1 + (int)below(300) : EVP_MD_get_size(m);
            if (xof)
                CHECK(EVP_DigestFinalXOF(copy, a, size) == 1 && EVP_DigestFinalXOF(stock, b, size) == 1, "%s", name);
            else
                CHECK(EVP_DigestFinal_ex(copy, a, &x) == 1 && EVP_DigestFinal_ex(stock, b, &y) == 1 && x == y, "%s", name);
            CHECK(memcmp(a, b, size) == 0, "%s, %d bytes", name, length);
        }
        /* A copy that fails after libcrypto copied the data, as where the key's context cannot be copied, leaves the original whole. */
        EVP_PKEY_CTX *key = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, NULL);
        CHECK(EVP_DigestInit_ex(ours, m, engine) == 1 && EVP_DigestInit_ex(stock, m, NULL) == 1, "%s", name);
        CHECK(EVP_DigestUpdate(ours, in, 700) == 1 && EVP_DigestUpdate(stock, in, 700) == 1);
        CHECK(EVP_PKEY_keygen_init(key) == 1);
        EVP_MD_CTX_set_pkey_ctx(ours, key);
        CHECK(EVP_MD_CTX_copy_ex(copy, ours) == 0, "%s", name);
        EVP_MD_CTX_set_pkey_ctx(ours, NULL);
        /* Another context, which would get the memory of one that was freed. */
        CHECK(EVP_DigestInit_ex(copy, m, engine) == 1 && EVP_DigestUpdate(copy, in, 3) == 1, "%s", name);
        CHECK(EVP_DigestFinal_ex(ours, a, NULL) == 1 && EVP_DigestFinal_ex(stock, b, NULL) == 1, "%s", name);
        CHECK(memcmp(a, b, EVP_MD_get_size(m)) == 0, "%s after a copy that failed", name);
        EVP_MD_CTX_free(ours);
        EVP_MD_CTX_free(stock);
        EVP_MD_CTX_free(copy);
        EVP_PKEY_CTX_free(key);
    }
}

static void rands(void)
{
    unsigned char a[64], b[64] = { 0 }, c[64] = { 0 };
    CHECK(ENGINE_set_default_string(engine, "RAND") == 1);
    CHECK(RAND_status() == 1 && RAND_bytes(a, sizeof a) == 1 && RAND_bytes(b, sizeof b) == 1);
    CHECK(memcmp(a, b, sizeof a) != 0);
    RAND_seed(a, sizeof a);
    RAND_add(a, sizeof a, 0);
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    pid_t child = fork();
    if (child == 0) {
        RAND_priv_bytes(c, sizeof c);
        _exit(write(pipes[1], c, sizeof c) != sizeof c);
    }
    CHECK(read(pipes[0], c, sizeof c) == sizeof c);
    CHECK(RAND_priv_bytes(b, sizeof b) == 1 && memcmp(b, c, sizeof b) != 0, "parent and child give the same");
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void *encrypt_some(void *unused)
{
    unsigned char key[32], iv[16], in[100], out[140], back[140];
    (void)unused;
    for (int i = 0; i < 100; i++) {
        int n, m;
        RAND_bytes(key, sizeof key);
        RAND_bytes(iv, sizeof iv);
        RAND_bytes(in, sizeof in);
        EVP_CIPHER *fetched = EVP_CIPHER_fetch(NULL, i % 2 ? "AES-256-CBC" : "AES-128-CTR", NULL);
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
        CHECK(EVP_EncryptInit_ex2(c, fetched, key, iv, NULL) == 1 && EVP_EncryptUpdate(c, out, &n, in, 100) == 1);
        CHECK(EVP_EncryptFinal_ex(c, out + n, &m) == 1);
        CHECK(EVP_DecryptInit_ex2(c, fetched, key, iv, NULL) == 1 && EVP_DecryptUpdate(c, back, &n, out, n + m) == 1);
        CHECK(EVP_DecryptFinal_ex(c, back + n, &m) == 1 && n + m == 100 && memcmp(in, back, 100) == 0);
        EVP_CIPHER_CTX_free(c);
        EVP_CIPHER_free(fetched);
        unsigned length;
        CHECK(HMAC(EVP_sha256(), key, 32, in, 100, out, &length) != NULL && length == 32);
    }
    return NULL;
}

/* Everything at the engine, as default_algorithms = ALL has it: what libcrypto builds of it works, too. */
static void all(void)
{
    static const unsigned char expected[] = { 0xc5, 0xe4, 0x78, 0xd5, 0x92, 0x88, 0xc8, 0x41 };
    unsigned char out[64];
    CHECK(ENGINE_ctrl_cmd_string(engine, "ciphers", "all", 0) == 1);
    CHECK(ENGINE_set_default_string(engine, "ALL") == 1);
    CHECK(ENGINE_get_cipher_engine(NID_aes_256_ecb) == NULL, "libcrypto's generator would take it");
    CHECK(PKCS5_PBKDF2_HMAC("password", 8, (unsigned char *)"salt", 4, 4096, EVP_sha256(), 32, out) == 1);
    CHECK(memcmp(out, expected, sizeof expected) == 0);
    EVP_PKEY *rsa = EVP_RSA_gen(1024);
    CHECK(rsa != NULL);
    EVP_MD_CTX *signer = EVP_MD_CTX_new();
    unsigned char signature[128];
    size_t length = sizeof signature;
    CHECK(EVP_DigestSignInit(signer, NULL, EVP_sha512(), NULL, rsa) == 1);
    CHECK(EVP_DigestSign(signer, signature, &length, out, 32) == 1);
    CHECK(EVP_DigestVerifyInit(signer, NULL, EVP_sha512(), NULL, rsa) == 1);
    CHECK(EVP_DigestVerify(signer, signature, length, out, 32) == 1);
    EVP_MD_CTX_free(signer);
    EVP_PKEY_free(rsa);
    BIO *message = BIO_new_mem_buf("a message", -1);
    CMS_ContentInfo *cms = CMS_EncryptedData_encrypt(message, EVP_aes_256_cbc(), signature, 32, CMS_BINARY);
    CHECK(cms != NULL);
    BIO *opened = BIO_new(BIO_s_mem());
    CHECK(CMS_EncryptedData_decrypt(cms, signature, 32, NULL, opened, CMS_BINARY) == 1);
    CHECK(BIO_read(opened, out, sizeof out) == 9 && memcmp(out, "a message", 9) == 0);
    CMS_ContentInfo_free(cms);
    BIO_free(message);
    BIO_free(opened);
    pthread_t thread[8];
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&thread[i], NULL, encrypt_some, NULL) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    /* Not while they work: libcrypto asks its engines under a lock, which a child would find taken for ever. */
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            encrypt_some(NULL);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %d: status %x", i, status);
    }
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } works[] = {
        { "ciphers", ciphers }, { "gcm", gcm }, { "digests", digests }, { "rand", rands }, { "all", all },
    };
    CHECK(argc == 3, "usage: bulk MODULE WORK");
    engine = load(argv[1]);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(argv[2], works[i].name) == 0)
            works[i].run();
    puts("good");
    return 0;
}
