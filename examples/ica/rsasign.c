/*
 * rsasign: makes an RSA key, signs a file with it and checks the signature.
 *
 *     rsasign BITS FILE
 *
 * libica has the bare operations; the padding is the program's: here RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 8.2).
 */
#include <ica_api.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The DER of an AlgorithmIdentifier for SHA-256, up to the digest. */
static const unsigned char sha256_prefix[] = {0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01,
					      0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20};

static void ica(const char *what, unsigned int code)
{
	if (code) {
		fprintf(stderr, "rsasign: %s: %s\n", what, strerror((int)code));
		exit(1);
	}
}

static void *room(size_t length)
{
	void *data = calloc(1, length);

	if (!data) {
		fprintf(stderr, "rsasign: out of memory\n");
		exit(1);
	}
	return data;
}

static void hash(const char *name, unsigned char out[SHA256_HASH_LENGTH])
{
	sha256_context_t context;
	FILE *file = fopen(name, "rb");
	unsigned char *data;
	long length;

	if (!file || fseek(file, 0, SEEK_END) || (length = ftell(file)) < 0 || length > 0x7fffffff || fseek(file, 0, SEEK_SET)) {
		fprintf(stderr, "rsasign: %s: %s\n", name, file && !errno ? "too long" : strerror(errno));
		exit(1);
	}
	data = room((size_t)length + 1);
	if (fread(data, 1, (size_t)length, file) != (size_t)length) {
		fprintf(stderr, "rsasign: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	fclose(file);
	ica("SHA-256", ica_sha256(SHA_MSG_PART_ONLY, (unsigned int)length, data, &context, out));
	free(data);
}

/* 00 01 FF ... FF 00, the prefix, the digest: as long as the modulus. */
static void pad(const unsigned char digest[SHA256_HASH_LENGTH], unsigned char *block, size_t length)
{
	size_t end = sizeof sha256_prefix + SHA256_HASH_LENGTH;

	block[0] = 0;
	block[1] = 1;
	memset(block + 2, 0xff, length - end - 3);
	block[length - end - 1] = 0;
	memcpy(block + length - end, sha256_prefix, sizeof sha256_prefix);
	memcpy(block + length - SHA256_HASH_LENGTH, digest, SHA256_HASH_LENGTH);
}

int main(int argc, char **argv)
{
	unsigned int bits = argc == 3 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0, length = (bits + 7) / 8, half;
	unsigned char digest[SHA256_HASH_LENGTH], *block, *signature, *opened, exponent[] = {1, 0, 1};
	ica_adapter_handle_t adapter;
	ica_rsa_key_mod_expo_t public_key;
	ica_rsa_key_crt_t private_key;

	if (bits < 1024 || bits > 4096 || bits % 16) {
		fprintf(stderr, "usage: rsasign BITS FILE\nBITS: 1024 to 4096, divisible by 16\n");
		return 2;
	}
	hash(argv[2], digest);

	/* Numbers are big-endian, with leading zeros. p, dp and the inverse of q have 8 bytes more than q and dq. */
	half = (length + 1) / 2;
	public_key.key_length = private_key.key_length = length;
	public_key.modulus = room(length);
	public_key.exponent = room(length);
	memcpy(public_key.exponent + length - sizeof exponent, exponent, sizeof exponent);
	private_key.p = room(half + 8);
	private_key.q = room(half);
	private_key.dp = room(half + 8);
	private_key.dq = room(half);
	private_key.qInverse = room(half + 8);
	block = room(length);
	signature = room(length);
	opened = room(length);

	ica("adapter", ica_open_adapter(&adapter));
	ica("key generation", ica_rsa_key_generate_crt(adapter, bits, &public_key, &private_key));
	/* 1: p was the smaller one, and has changed places with q. */
	if (ica_rsa_crt_key_check(&private_key) > 1)
		ica("key check", ENOMEM);
	pad(digest, block, length);
	ica("signature", ica_rsa_crt(adapter, block, &private_key, signature));
	ica("verification", ica_rsa_mod_expo(adapter, signature, &public_key, opened));
	if (memcmp(opened, block, length)) {
		fprintf(stderr, "rsasign: the signature is wrong\n");
		return 1;
	}
	signature[length - 1] ^= 1;
	if (!ica_rsa_mod_expo(adapter, signature, &public_key, opened) && !memcmp(opened, block, length)) {
		fprintf(stderr, "rsasign: a changed signature verifies\n");
		return 1;
	}
	ica("adapter", ica_close_adapter(adapter));
	printf("RSA-%u: signed and verified %s; a changed signature is refused\n", bits, argv[2]);

	/* The private parts do not stay in memory. */
	explicit_bzero(private_key.p, half + 8);
	explicit_bzero(private_key.q, half);
	explicit_bzero(private_key.dp, half + 8);
	explicit_bzero(private_key.dq, half);
	explicit_bzero(private_key.qInverse, half + 8);
	free(private_key.p);
	free(private_key.q);
	free(private_key.dp);
	free(private_key.dq);
	free(private_key.qInverse);
	free(public_key.modulus);
	free(public_key.exponent);
	free(block);
	free(signature);
	free(opened);
	return 0;
}
