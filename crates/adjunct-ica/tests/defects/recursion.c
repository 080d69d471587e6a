/* libica and OpenSSL, of which one loads the other (`provider.c`), in the order that the argument says. */
#include "../interface/common.h"

#include <openssl/evp.h>
#include <openssl/provider.h>

static void of_libica(void)
{
	ICA_X448_CTX *a, *b;
	ICA_ED448_CTX *c;
	unsigned char public[56], secret[56], signature[114];

	CHECK(ica_ed448_ctx_new(&c) == 0 && ica_ed448_key_gen(c) == 0 && ica_ed448_sign(c, signature, public, 0) == 0);
	CHECK(ica_ed448_verify(c, signature, public, 0) == 0 && ica_ed448_ctx_del(&c) == 0);
	CHECK(ica_x448_ctx_new(&a) == 0 && ica_x448_key_gen(a) == 0 && ica_x448_ctx_new(&b) == 0 && ica_x448_key_gen(b) == 0);
	CHECK(ica_x448_key_get(b, NULL, public) == 0 && ica_x448_derive(a, secret, public) == 0);
	CHECK(ica_x448_ctx_del(&a) == 0 && ica_x448_ctx_del(&b) == 0);
}

static void of_openssl(void)
{
	EVP_MD *md = EVP_MD_fetch(NULL, "SHA256", NULL);
	unsigned char out[32];

	CHECK(md && EVP_Digest("a", 1, out, NULL, md, NULL));
	EVP_MD_free(md);
	CHECK(OSSL_PROVIDER_available(NULL, "recursing"));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "libica"))
		of_libica();
	of_openssl();
	of_libica();
	of_openssl();
	puts("good");
	return 0;
}
