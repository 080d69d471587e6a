/* Part of battery.c: keys that lack parts. */

/* What a key lacks, OpenSSL looks for in places without looking first whether they are there: each use in a child of its own. */
static void use_check(EVP_PKEY *key) { check(key); }
static void use_dup(EVP_PKEY *key) { GOT(EVP_PKEY_dup(key)); }
static void use_sign(EVP_PKEY *key)
{
    unsigned char out[1024], in[32] = { 1 };
    size_t length = sizeof out;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    CALL(EVP_PKEY_sign_init(ctx));
    CALL(EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()));
    CALL(EVP_PKEY_sign(ctx, out, &length, in, 32));
}
static void use_verify(EVP_PKEY *key)
{
    unsigned char out[256] = { 0 }, in[32] = { 1 };
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    CALL(EVP_PKEY_verify_init(ctx));
    CALL(EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()));
    CALL(EVP_PKEY_verify(ctx, out, sizeof out, in, 32));
}
static void use_digest_verify(EVP_PKEY *key)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    unsigned char signature[256] = { 0 };
    CALL(EVP_DigestVerifyInit_ex(md, NULL, "SHA256", NULL, NULL, key, NULL));
    CALL(EVP_DigestVerify(md, signature, sizeof signature, signature, 20));
}
/* As Ruby's PKey#verify does it. */
static void use_digest_verify_old(EVP_PKEY *key)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    unsigned char signature[256] = { 0 };
    CALL(EVP_DigestVerifyInit(md, NULL, EVP_sha256(), NULL, key));
    CALL(EVP_DigestVerify(md, signature, sizeof signature, signature, 20));
}
static void use_digest_sign(EVP_PKEY *key)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    unsigned char out[1024] = { 0 };
    size_t length = sizeof out;
    CALL(EVP_DigestSignInit_ex(md, NULL, "SHA256", NULL, NULL, key, NULL));
    CALL(EVP_DigestSign(md, out, &length, out, 20));
}
static void use_encrypt(EVP_PKEY *key)
{
    unsigned char out[1024], in[32] = { 1 };
    size_t length = sizeof out;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    CALL(EVP_PKEY_encrypt_init(ctx));
    CALL(EVP_PKEY_encrypt(ctx, out, &length, in, 32));
}
static void use_decrypt(EVP_PKEY *key)
{
    unsigned char out[1024], in[256] = { 0, 1 };
    size_t length = sizeof out;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key, NULL);
    CALL(EVP_PKEY_decrypt_init(ctx));
    CALL(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING));
    CALL(EVP_PKEY_decrypt(ctx, out, &length, in, sizeof in));
}
static void use_derive(EVP_PKEY *key) { derivation(key); }
static void use_encode(EVP_PKEY *key)
{
    unsigned char *der = NULL;
    CALL(i2d_PUBKEY(key, &der));
}
static void use_low(EVP_PKEY *key)
{
    unsigned char data[256] = { 0, 1 }, out[1024];
    unsigned int length = sizeof out;
    RSA *rsa = (RSA *)EVP_PKEY_get0_RSA(key);
    EC_KEY *ec = (EC_KEY *)EVP_PKEY_get0_EC_KEY(key);
    if (rsa != NULL) {
        CALL(RSA_public_encrypt(sizeof data, data, out, rsa, RSA_NO_PADDING));
        CALL(RSA_public_decrypt(sizeof data, data, out, rsa, RSA_NO_PADDING));
        CALL(RSA_private_decrypt(sizeof data, data, out, rsa, RSA_NO_PADDING));
        CALL(RSA_private_encrypt(sizeof data, data, out, rsa, RSA_NO_PADDING));
        CALL(RSA_sign(NID_sha256, data, 32, out, &length, rsa));
        CALL(RSA_verify(NID_sha256, data, 32, out, sizeof data, rsa));
    }
    if (ec != NULL) {
        int made = ECDSA_sign(0, data, 32, out, &length, ec);
        line("ECDSA_sign", "", made);
        CALL(ECDSA_verify(0, data, 32, out, made > 0 ? (int)length : 70, ec));
        CALL(ECDSA_do_verify(data, 32, NULL, ec));
        GOT(ECDSA_do_sign(data, 32, ec));
        CALL(ECDH_compute_key(out, 32, EC_KEY_get0_public_key(ec), ec, NULL));
        CALL(EC_KEY_generate_key(ec));
    }
}

static void lacking(const char *name, EVP_PKEY *key)
{
    static const struct { const char *name; void (*use)(EVP_PKEY *); } uses[] = {
        { "check", use_check }, { "dup", use_dup }, { "sign", use_sign }, { "verify", use_verify },
        { "digest and verify", use_digest_verify }, { "digest and verify, old", use_digest_verify_old },
        { "digest and sign", use_digest_sign }, { "encrypt", use_encrypt }, { "decrypt", use_decrypt },
        { "derive", use_derive }, { "encode", use_encode }, { "low", use_low },
    };
    form = name;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            uses[i].use(key);
            _exit(0);
        }
        waitpid(child, &status, 0);
        printf("%s: %s %s\n", form, uses[i].name, WIFSIGNALED(status) ? "CRASHED" : "ended");
    }
    EVP_PKEY_free(key);
}

static EVP_PKEY *with_ec(EC_KEY *ec)
{
    EVP_PKEY *key = must(EVP_PKEY_new());
    if (EVP_PKEY_assign_EC_KEY(key, must(ec)) != 1)
        must(NULL);
    return key;
}

static void incomplete(EVP_PKEY *rsa, EVP_PKEY *ec)
{
    BIGNUM *n = NULL, *e = NULL, *d = NULL, *p = NULL, *q = NULL;
    EVP_PKEY_get_bn_param(rsa, "n", &n);
    EVP_PKEY_get_bn_param(rsa, "e", &e);
    EVP_PKEY_get_bn_param(rsa, "d", &d);
    EVP_PKEY_get_bn_param(rsa, "rsa-factor1", &p);
    EVP_PKEY_get_bn_param(rsa, "rsa-factor2", &q);
    lacking("RSA, empty", with_rsa(RSA_new()));
    RSA *key = RSA_new();
    RSA_set0_factors(key, BN_dup(p), BN_dup(q));
    lacking("RSA, p and q alone", with_rsa(key));
    key = RSA_new();
    RSA_set0_key(key, BN_dup(n), BN_dup(e), NULL);
    lacking("RSA, n and e", with_rsa(key));
    key = RSA_new();
    RSA_set0_key(key, BN_dup(n), BN_new(), BN_dup(d));
    lacking("RSA, e of 0", with_rsa(key));
    key = RSA_new();
    RSA_set0_key(key, BN_new(), BN_dup(e), BN_dup(d));
    lacking("RSA, n of 0", with_rsa(key));
    key = RSA_new();
    RSA_set0_key(key, BN_dup(n), BN_dup(e), BN_dup(d));
    RSA_set0_factors(key, BN_dup(p), BN_dup(p));
    lacking("RSA, wrong primes", with_rsa(key));
    BN_free(n);
    BN_free(e);
    BN_free(d);
    BN_free(p);
    BN_free(q);
    lacking("EC, empty", with_ec(EC_KEY_new()));
    lacking("EC, a curve", with_ec(EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)));
    EC_KEY *part = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
    EC_KEY_set_private_key(part, EC_KEY_get0_private_key(EVP_PKEY_get0_EC_KEY(ec)));
    lacking("EC, private alone", with_ec(part));
    part = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
    EC_KEY_set_public_key(part, EC_KEY_get0_public_key(EVP_PKEY_get0_EC_KEY(ec)));
    lacking("EC, public alone", with_ec(part));
}
