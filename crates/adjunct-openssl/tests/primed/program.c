/* Loads the configuration it is given, and computes a digest: before and after that it says how much shared memory it has mapped. */
#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <string.h>
#ifdef CHANGES
#include <sys/prctl.h>
#endif

static int mapped(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found += strstr(line, "SYSV") != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

int main(int count, char **arguments)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    (void)arguments;
#ifdef CHANGES
    if (count > 9)
        return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
    if (count != 1 || !OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) || !OSSL_PROVIDER_available(NULL, "adjunct"))
        return 1;
    printf("loaded %d\n", mapped() > 0);
    EVP_MD *sha256 = EVP_MD_fetch(NULL, "SHA256", "provider=adjunct");
    if (sha256 == NULL || !EVP_Digest("abc", 3, digest, NULL, sha256, NULL))
        return 2;
    EVP_MD_free(sha256);
    printf("used %d\n", mapped() > 0);
    return 0;
}
