/* An OpenSSL provider that does its work with libica, as those of IBM Z do. It has nothing to offer; what matters is that it calls
 * libica while OpenSSL reads its configuration. */
#include <ica_api.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <string.h>

static const OSSL_ALGORITHM *query(void *context, int operation, int *no_cache)
{
	(void)context, (void)operation;
	*no_cache = 0;
	return NULL;
}

static const OSSL_DISPATCH functions[] = {{OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query}, {0, NULL}};

int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **context)
{
	libica_func_list_element list[200];
	unsigned char data[64] = {0}, digest[32];
	unsigned int length = 200;
	sha256_context_t ctx;
	ICA_X448_CTX *x448;
	ICA_X25519_CTX *x25519;
	ICA_ED448_CTX *ed448;
	unsigned char signature[114];

	(void)in;
	if (ica_get_functionlist(list, &length) || ica_sha256(SHA_MSG_PART_ONLY, 64, data, &ctx, digest))
		return 0;
	if (ica_random_number_generate(sizeof data, data))
		return 0;
	if (ica_x25519_ctx_new(&x25519) || ica_x25519_key_gen(x25519) || ica_x25519_ctx_del(&x25519))
		return 0;
	if (ica_x448_ctx_new(&x448) || ica_x448_key_gen(x448) || ica_x448_ctx_del(&x448))
		return 0;
	if (ica_ed448_ctx_new(&ed448) || ica_ed448_key_gen(ed448) || ica_ed448_sign(ed448, signature, data, sizeof data))
		return 0;
	if (ica_ed448_verify(ed448, signature, data, sizeof data) || ica_ed448_ctx_del(&ed448))
		return 0;
	*context = (void *)handle;
	*out = functions;
	return 1;
}
