/* Run as: program CONFIG. TLS 1.3 and 1.2 between a client and a server in memory, with a key on P-256; prints what was agreed. */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

static OSSL_LIB_CTX *ctx;

static void need(int good, const char *what)
{
	if (good)
		return;
	printf("%s fails\n", what);
	ERR_print_errors_fp(stdout);
	exit(1);
}

static X509 *certificate(EVP_PKEY *key)
{
	X509 *x = X509_new_ex(ctx, NULL);
	X509_NAME *name = X509_get_subject_name(x);

	need(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"one", -1, -1, 0), "a name");
	X509_set_issuer_name(x, name);
	X509_set_version(x, 2);
	X509_gmtime_adj(X509_getm_notBefore(x), -60);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	need(X509_sign(x, key, EVP_sha256()) > 0, "X509_sign");
	return x;
}

static void talk(int version, EVP_PKEY *key, X509 *x)
{
	SSL_CTX *contexts[2];
	SSL *ends[2];
	BIO *to_server = BIO_new(BIO_s_mem()), *to_client = BIO_new(BIO_s_mem());
	char text[16] = "";
	int i, done[2] = { 0, 0 };

	for (i = 0; i < 2; i++) {
		contexts[i] = SSL_CTX_new_ex(ctx, NULL, i ? TLS_server_method() : TLS_client_method());
		need(contexts[i] != NULL, "SSL_CTX_new_ex");
		SSL_CTX_set_min_proto_version(contexts[i], version);
		SSL_CTX_set_max_proto_version(contexts[i], version);
		if (i)
			need(SSL_CTX_use_certificate(contexts[i], x) == 1 && SSL_CTX_use_PrivateKey(contexts[i], key) == 1, "a key");
		ends[i] = SSL_new(contexts[i]);
		need(ends[i] != NULL, "SSL_new");
		BIO_up_ref(to_server);
		BIO_up_ref(to_client);
		SSL_set_bio(ends[i], i ? to_server : to_client, i ? to_client : to_server);
	}
	SSL_set_connect_state(ends[0]);
	SSL_set_accept_state(ends[1]);
	for (i = 0; i < 20 && !(done[0] && done[1]); i++) {
		int result = SSL_do_handshake(ends[i % 2]);

		done[i % 2] = result == 1;
		need(result == 1 || SSL_get_error(ends[i % 2], result) == SSL_ERROR_WANT_READ, "the handshake");
	}
	need(done[0] && done[1], "the handshake");
	need(SSL_write(ends[0], "some text", 9) == 9 && SSL_read(ends[1], text, sizeof text) == 9, "the data");
	printf("%s, %s, group %ld, %.9s\n", SSL_get_version(ends[0]), SSL_get_cipher(ends[0]),
	       (long)SSL_get_negotiated_group(ends[0]), text);
	for (i = 0; i < 2; i++) {
		SSL_free(ends[i]);
		SSL_CTX_free(contexts[i]);
	}
	BIO_free(to_server);
	BIO_free(to_client);
}

int main(int argc, char **argv)
{
	EVP_PKEY *key;
	X509 *x;

	ctx = OSSL_LIB_CTX_new();
	need(argc == 2 && OSSL_LIB_CTX_load_config(ctx, argv[1]) == 1, "the configuration");
	key = EVP_PKEY_Q_keygen(ctx, NULL, "EC", "P-256");
	need(key != NULL, "EVP_PKEY_Q_keygen");
	x = certificate(key);
	talk(TLS1_3_VERSION, key, x);
	talk(TLS1_2_VERSION, key, x);
	need(ERR_peek_error() == 0, "an error is left: this");
	return 0;
}
