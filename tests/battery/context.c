/*
 * A program whose default library context has nothing, no generator either: all it uses is in a context of its own, which reads
 * the configuration named. Prints the results of PKCS#1 and OAEP encryption and decryption by the default provider there.
 *
 *     context CONFIGURATION
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words)
{
    static const char with[] = "provider=default";
    unsigned char in[20] = { 5 }, out[256], back[256];
    OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
    if (count != 2 || OSSL_PROVIDER_load(NULL, "null") == NULL || OSSL_LIB_CTX_load_config(library, words[1]) != 1)
        return 2;
    EVP_PKEY *key = EVP_PKEY_Q_keygen(library, with, "RSA", (size_t)1024);
    printf("random %d, key %d\n", RAND_bytes(out, 16), key != NULL);
    for (int padding = RSA_PKCS1_PADDING; padding <= RSA_PKCS1_OAEP_PADDING; padding += 3) {
        size_t length = sizeof out, got = sizeof back;
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(library, key, with);
        printf("%d:", EVP_PKEY_encrypt_init(ctx));
        printf(" %d", EVP_PKEY_CTX_set_rsa_padding(ctx, padding));
        printf(" %d", EVP_PKEY_encrypt(ctx, out, &length, in, sizeof in));
        printf(" %d", EVP_PKEY_decrypt_init(ctx));
        printf(" %d", EVP_PKEY_CTX_set_rsa_padding(ctx, padding));
        int done = EVP_PKEY_decrypt(ctx, back, &got, out, length);
        printf(" %d %d\n", done, done == 1 && got == sizeof in && memcmp(in, back, got) == 0);
        EVP_PKEY_CTX_free(ctx);
    }
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(library);
    return 0;
}
