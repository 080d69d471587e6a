/* RSA through libica's interface and through OpenSSL, the same keys: operations of all threads in a second of processor time, which
 * does not depend on what else the machine does as much as time does.
 *
 *     cargo build --release -p adjunct-ica && crates/adjunct-ica/link target/release/libadjunct_ica.a target/ica
 *     cc -O2 -pthread -Icrates/adjunct-ica/include -o target/ica-rsa benches/ica-rsa.c -Ltarget/ica -lica -lcrypto
 *     ADJUNCT_STATS=off LD_LIBRARY_PATH=target/ica OPENSSL_CONF=/dev/null target/ica-rsa [SECONDS [THREADS...]]
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <ica_api.h>
#include <openssl/rsa.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX 512

static struct {
	RSA *rsa, *without_primes;
	ica_rsa_key_crt_t crt;
	ica_rsa_key_mod_expo_t public_key, private_key;
	unsigned int length;
} key;
static unsigned char numbers[8][MAX + 8];
static atomic_int stop;
static atomic_long done;

static unsigned char *put(int place, const BIGNUM *number, unsigned int length)
{
	if (BN_bn2binpad(number, numbers[place], (int)length) < 0)
		abort();
	return numbers[place];
}

static void make(unsigned int bits)
{
	const BIGNUM *n, *e, *d, *p, *q, *dp, *dq, *qi;
	BIGNUM *exponent = BN_new();
	unsigned int half = bits / 16, length = bits / 8;

	RSA_free(key.rsa);
	RSA_free(key.without_primes);
	key.rsa = RSA_new();
	key.length = length;
	if (!BN_set_word(exponent, 65537) || !RSA_generate_key_ex(key.rsa, (int)bits, exponent, NULL))
		abort();
	BN_free(exponent);
	RSA_get0_key(key.rsa, &n, &e, &d);
	key.without_primes = RSA_new();
	if (!RSA_set0_key(key.without_primes, BN_dup(n), BN_dup(e), BN_dup(d)))
		abort();
	RSA_get0_factors(key.rsa, &p, &q);
	RSA_get0_crt_params(key.rsa, &dp, &dq, &qi);
	key.crt = (ica_rsa_key_crt_t){ length, put(0, p, half + 8), put(1, q, half), put(2, dp, half + 8), put(3, dq, half),
				       put(4, qi, half + 8) };
	key.public_key = (ica_rsa_key_mod_expo_t){ length, put(5, n, length), put(6, e, length) };
	key.private_key = (ica_rsa_key_mod_expo_t){ length, put(5, n, length), put(7, d, length) };
}

static int ica_crt(const unsigned char *in, unsigned char *out)
{
	return ica_rsa_crt(-1, in, &key.crt, out) == 0;
}

/* With nothing kept of the key. */
static int ica_crt_anew(const unsigned char *in, unsigned char *out)
{
	ica_cleanup();
	return ica_crt(in, out);
}

static int openssl_crt(const unsigned char *in, unsigned char *out)
{
	return RSA_private_encrypt((int)key.length, in, out, key.rsa, RSA_NO_PADDING) == (int)key.length;
}

static int ica_public(const unsigned char *in, unsigned char *out)
{
	return ica_rsa_mod_expo(-1, in, &key.public_key, out) == 0;
}

static int openssl_public(const unsigned char *in, unsigned char *out)
{
	return RSA_public_decrypt((int)key.length, in, out, key.rsa, RSA_NO_PADDING) == (int)key.length;
}

static int ica_private(const unsigned char *in, unsigned char *out)
{
	return ica_rsa_mod_expo(-1, in, &key.private_key, out) == 0;
}

static int openssl_private(const unsigned char *in, unsigned char *out)
{
	return RSA_private_encrypt((int)key.length, in, out, key.without_primes, RSA_NO_PADDING) == (int)key.length;
}

static void *work(void *function)
{
	int (*const run)(const unsigned char *, unsigned char *) = (int (*)(const unsigned char *, unsigned char *))function;
	unsigned char in[MAX], out[MAX];
	long count = 0;

	memset(in, 0x55, sizeof(in));
	in[0] = 0;
	for (; !stop; count++) {
		if (!run(in, out))
			abort();
		memcpy(in + 1, out + 1, key.length - 1);
	}
	done += count;
	return NULL;
}

static double measure(int (*run)(const unsigned char *, unsigned char *), int threads, double seconds)
{
	pthread_t all[256];
	struct timespec start, end;

	stop = 0;
	done = 0;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, work, (void *)run))
			abort();
	nanosleep(&(struct timespec){ (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
	stop = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	return (double)done / ((double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
}

int main(int argc, char **argv)
{
	static const unsigned int sizes[] = { 1024, 2048, 3072, 4096 };
	const double seconds = argc > 1 ? atof(argv[1]) : 1;
	const char *const usual[] = { "1", "16" };
	const char *const *counts = argc > 2 ? (const char *const *)argv + 2 : usual;

	printf("%-5s %8s %12s %12s %12s %12s %12s %12s %12s\n", "bits", "threads", "ica CRT", "new key", "OpenSSL CRT",
	       "ica public", "OpenSSL pub.", "ica private", "OpenSSL pr.");
	for (int i = 0; i < 4; i++) {
		make(sizes[i]);
		for (int j = 0; j < (argc > 2 ? argc - 2 : 2); j++) {
			const int threads = atoi(counts[j]);

			if (threads < 1 || threads > 256)
				return 2;
			printf("%-5u %8d", sizes[i], threads);
			printf(" %12.0f", measure(ica_crt, threads, seconds));
			printf(" %12.0f", measure(ica_crt_anew, threads, seconds));
			printf(" %12.0f", measure(openssl_crt, threads, seconds));
			printf(" %12.0f", measure(ica_public, threads, seconds));
			printf(" %12.0f", measure(openssl_public, threads, seconds));
			printf(" %12.0f", measure(ica_private, threads, seconds));
			printf(" %12.0f\n", measure(openssl_private, threads, seconds));
			fflush(stdout);
		}
	}
	return 0;
}
