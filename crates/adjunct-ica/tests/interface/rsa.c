/* RSA through the interface against OpenSSL's numbers; with the argument "small" no key of more than 1031 bits, for emulators. With
 * "threads": 16 threads at once, which batches are made of; with "count": a known number of operations of each kind. */
#define _GNU_SOURCE
#include "rsa_key.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* Both directions of one number, in both forms; where `place` is not 0 with the output on the input, or overlapping it. */
static void both(struct key *key, const BIGNUM *input, int place)
{
	unsigned char buffer[2 * MAX + 1], in[MAX], expected[MAX];
	unsigned char *from = buffer + 1, *to = place == 1 ? from : place == 2 ? from + 3 : from + key->length;
	BIGNUM *power = BN_new();

	put(input, in, key->length);
	BN_mod_exp(power, input, key->d, key->n, ctx);
	put(power, expected, key->length);
	memcpy(from, in, key->length);
	CHECK(ica_rsa_mod_expo(handle, from, &key->private_key, to) == 0);
	CHECK(memcmp(to, expected, key->length) == 0);
	memcpy(from, in, key->length);
	CHECK(ica_rsa_crt(handle, from, &key->crt, to) == 0);
	CHECK(memcmp(to, expected, key->length) == 0);
	memcpy(from, expected, key->length);
	CHECK(ica_rsa_mod_expo(handle, from, &key->public_key, to) == 0);
	CHECK(memcmp(to, in, key->length) == 0);
	BN_free(power);
}

static void refused(struct key *key)
{
	unsigned char in[MAX + 1], out[MAX + 1];
	BIGNUM *above = BN_dup(key->n);

	memset(out, 0x5A, sizeof(out));
	put(key->n, in, key->length);
	CHECK(ica_rsa_mod_expo(handle, in, &key->public_key, out) == EINVAL);
	CHECK(ica_rsa_crt(handle, in, &key->crt, out) == EINVAL);
	if (key->bits % 8) {
		BN_add_word(above, 1);
		put(above, in, key->length);
		CHECK(ica_rsa_mod_expo(handle, in, &key->public_key, out) == EINVAL);
		CHECK(ica_rsa_crt(handle, in, &key->crt, out) == EINVAL);
	}
	for (size_t i = 0; i < sizeof(out); i++)
		CHECK(out[i] == 0x5A);
	BN_free(above);
}

/* The key with p and q in each other's place. */
static void turned_round(struct key *key)
{
	struct key other = *key;
	unsigned char before[MAX / 2 + PAD], in[MAX] = { 0 }, out[2][MAX];

	CHECK(ica_rsa_crt_key_check(&key->crt) == 0);
	BN_swap(other.p, other.q);
	BN_swap(other.dp, other.dq);
	memset(other.cqi, 0x77, sizeof(other.cqi));
	fill_in(&other);
	memset(other.cqi, 0x77, other.half + PAD);
	memcpy(before, other.cp, sizeof(before));
	in[key->length - 1] = 42;
	CHECK(ica_rsa_crt(handle, in, &key->crt, out[0]) == 0);
	CHECK(ica_rsa_crt(handle, in, &other.crt, out[1]) == 0);
	CHECK(memcmp(out[0], out[1], key->length) == 0);
	CHECK(memcmp(before, other.cp, sizeof(before)) == 0);
	CHECK(ica_rsa_crt_key_check(&other.crt) == 1);
	CHECK(memcmp(other.cp, key->cp, key->half + PAD) == 0 && memcmp(other.cq, key->cq, key->half) == 0);
	CHECK(memcmp(other.cdp, key->cdp, key->half + PAD) == 0 && memcmp(other.cdq, key->cdq, key->half) == 0);
	CHECK(memcmp(other.cqi, key->cqi, key->half + PAD) == 0);
	CHECK(ica_rsa_crt_key_check(&other.crt) == 0);
	BN_swap(key->p, key->q);
	BN_swap(key->dp, key->dq);
}

static void agree(unsigned int bits, const char *e, int numbers)
{
	struct key key;
	BIGNUM *input = BN_new();

	make(&key, bits, e);
	for (int i = 0; i < numbers; i++) {
		BN_rand_range(input, key.n);
		both(&key, input, i % 3);
	}
	BN_zero(input);
	both(&key, input, 0);
	BN_one(input);
	both(&key, input, 0);
	BN_sub(input, key.n, BN_value_one());
	both(&key, input, 1);
	/* What is no unit: a multiple of one prime. */
	BN_mul_word(BN_copy(input, key.q) ? input : NULL, 3);
	both(&key, input, 0);
	refused(&key);
	turned_round(&key);
	BN_free(input);
	drop(&key);
}

/* Primes of very different lengths: p may be up to 8 bytes longer than half. */
static void unlike_primes(void)
{
	struct key key = { .bits = 1024 };
	BIGNUM *input = BN_new(), *p1 = BN_new(), *q1 = BN_new(), *order = BN_new();

	key.n = BN_new(), key.e = BN_new(), key.p = BN_new(), key.q = BN_new(), key.dp = BN_new(), key.dq = BN_new();
	BN_set_word(key.e, 65537);
	/* One prime in 65536 does not fit e. */
	do {
		CHECK(BN_generate_prime_ex(key.p, 576, 0, NULL, NULL, NULL));
		CHECK(BN_generate_prime_ex(key.q, 448, 0, NULL, NULL, NULL));
		BN_sub(p1, key.p, BN_value_one());
		BN_sub(q1, key.q, BN_value_one());
		BN_mul(order, p1, q1, ctx);
	} while (!(key.d = BN_mod_inverse(NULL, key.e, order, ctx)));
	BN_mul(key.n, key.p, key.q, ctx);
	CHECK((key.qi = BN_mod_inverse(NULL, key.q, key.p, ctx)) != NULL);
	parts_of_d(&key);
	fill_in(&key);
	for (int i = 0; i < 5; i++) {
		BN_rand_range(input, key.n);
		both(&key, input, i % 3);
	}
	CHECK(ica_rsa_crt_key_check(&key.crt) == 0);
	BN_free(input), BN_free(p1), BN_free(q1), BN_free(order);
	drop(&key);
}

static void is_number(const unsigned char *data, unsigned int length, const BIGNUM *expected)
{
	BIGNUM *number = BN_bin2bn(data, (int)length, NULL);

	CHECK(BN_cmp(number, expected) == 0);
	BN_free(number);
}

/* Keys the interface makes, looked at with OpenSSL. e of "" asks for a random one. */
static void generated(unsigned int bits, const char *e)
{
	struct key key = { .bits = bits, .length = (bits + 7) / 8 };
	unsigned char in[MAX] = { 0 }, out[2][MAX];
	BIGNUM *number = BN_new(), *p1, *q1;

	key.half = (key.length + 1) / 2;
	key.e = BN_new();
	key.n = key.p = key.q = BN_new();
	key.d = key.dp = key.dq = key.qi = key.n;
	BN_zero(key.n);
	BN_hex2bn(&key.e, *e ? e : "0");
	fill_in(&key);
	BN_free(key.n);
	memset(key.modulus, 0xEE, key.length);
	memset(key.private_exponent, 0xEE, key.length);
	memset(key.cp, 0xEE, sizeof(key.cp)), memset(key.cqi, 0xEE, sizeof(key.cqi));

	CHECK(ica_rsa_key_generate_crt(handle, bits, &key.public_key, &key.crt) == 0);
	BN_bin2bn(key.public_exponent, (int)key.length, key.e);
	CHECK(BN_is_odd(key.e) && !BN_is_one(key.e));
	if (*e) {
		BN_hex2bn(&number, e);
		CHECK(BN_cmp(number, key.e) == 0);
	}
	key.n = BN_bin2bn(key.modulus, (int)key.length, NULL);
	key.p = BN_bin2bn(key.cp, (int)key.half + PAD, NULL);
	key.q = BN_bin2bn(key.cq, (int)key.half, NULL);
	CHECK(BN_num_bits(key.n) == (int)bits && BN_cmp(key.p, key.q) > 0);
	CHECK(BN_check_prime(key.p, ctx, NULL) == 1 && BN_check_prime(key.q, ctx, NULL) == 1);
	BN_mul(number, key.p, key.q, ctx);
	CHECK(BN_cmp(number, key.n) == 0);
	CHECK((key.qi = BN_mod_inverse(NULL, key.q, key.p, ctx)) != NULL);
	is_number(key.cqi, key.half + PAD, key.qi);
	p1 = BN_dup(key.p), q1 = BN_dup(key.q);
	BN_sub_word(p1, 1), BN_sub_word(q1, 1);
	CHECK((key.dp = BN_mod_inverse(NULL, key.e, p1, ctx)) && (key.dq = BN_mod_inverse(NULL, key.e, q1, ctx)));
	is_number(key.cdp, key.half + PAD, key.dp);
	is_number(key.cdq, key.half, key.dq);
	for (int i = 0; i < PAD; i++)
		CHECK(!key.cp[i] && !key.cdp[i] && !key.cqi[i]);
	CHECK(ica_rsa_crt_key_check(&key.crt) == 0);
	in[key.length - 1] = 7;
	CHECK(ica_rsa_crt(handle, in, &key.crt, out[0]) == 0);
	CHECK(ica_rsa_mod_expo(handle, out[0], &key.public_key, out[1]) == 0);
	CHECK(memcmp(in, out[1], key.length) == 0);

	if (!*e)
		memset(key.public_exponent, 0, key.length);
	CHECK(ica_rsa_key_generate_mod_expo(handle, bits, &key.public_key, &key.private_key) == 0);
	CHECK(ica_rsa_mod_expo(handle, in, &key.private_key, out[0]) == 0);
	CHECK(ica_rsa_mod_expo(handle, out[0], &key.public_key, out[1]) == 0);
	CHECK(memcmp(in, out[1], key.length) == 0);
	BN_free(p1), BN_free(q1), BN_free(number);
	key.d = NULL;
	drop(&key);
}

/* What every call here has: an input, and an output that stays as it is. */
static unsigned char in_9[MAX + 8], untouched[MAX + 8];

static void null_pointers(struct key *key)
{
	CHECK(ica_rsa_mod_expo(handle, NULL, &key->public_key, untouched) == EINVAL);
	CHECK(ica_rsa_mod_expo(handle, in_9, NULL, untouched) == EINVAL);
	CHECK(ica_rsa_mod_expo(handle, in_9, &key->public_key, NULL) == EINVAL);
	CHECK(ica_rsa_crt(handle, NULL, &key->crt, untouched) == EINVAL);
	CHECK(ica_rsa_crt(handle, in_9, NULL, untouched) == EINVAL);
	CHECK(ica_rsa_crt(handle, in_9, &key->crt, NULL) == EINVAL);
	CHECK(ica_rsa_crt_key_check(NULL) == EINVAL);
	CHECK(ica_rsa_key_generate_crt(handle, 1024, NULL, &key->crt) == EINVAL);
	CHECK(ica_rsa_key_generate_crt(handle, 1024, &key->public_key, NULL) == EINVAL);
	CHECK(ica_rsa_key_generate_mod_expo(handle, 1024, NULL, &key->private_key) == EINVAL);
	CHECK(ica_rsa_key_generate_mod_expo(handle, 1024, &key->public_key, NULL) == EINVAL);
	for (int i = 0; i < 2; i++) {
		ica_rsa_key_mod_expo_t lacks = key->public_key;

		*(i ? &lacks.modulus : &lacks.exponent) = NULL;
		CHECK(ica_rsa_mod_expo(handle, in_9, &lacks, untouched) == EINVAL);
		CHECK(ica_rsa_key_generate_mod_expo(handle, 1024, &lacks, &key->private_key) == EINVAL);
		CHECK(ica_rsa_key_generate_mod_expo(handle, 1024, &key->public_key, &lacks) == EINVAL);
		CHECK(ica_rsa_key_generate_crt(handle, 1024, &lacks, &key->crt) == EINVAL);
	}
	for (int i = 0; i < 5; i++) {
		ica_rsa_key_crt_t lacks = key->crt;
		unsigned char **const fields[] = { &lacks.p, &lacks.q, &lacks.dp, &lacks.dq, &lacks.qInverse };

		*fields[i] = NULL;
		CHECK(ica_rsa_crt(handle, in_9, &lacks, untouched) == EINVAL);
		CHECK(ica_rsa_crt_key_check(&lacks) == EINVAL);
		CHECK(ica_rsa_key_generate_crt(handle, 1024, &key->public_key, &lacks) == EINVAL);
	}
}

static void wrong_lengths(struct key *key)
{
	static const unsigned int long_ones[] = { 513, 0x10000000, 0xFFFFFFFF };

	for (unsigned int length = 0; length < 8; length++) {
		key->public_key.key_length = key->crt.key_length = length;
		CHECK(ica_rsa_mod_expo(handle, in_9, &key->public_key, untouched) == EINVAL);
		CHECK(ica_rsa_crt(handle, in_9, &key->crt, untouched) == EINVAL);
		CHECK(ica_rsa_crt_key_check(&key->crt) == EINVAL);
	}
	for (int i = 0; i < 3; i++) {
		key->public_key.key_length = key->crt.key_length = long_ones[i];
		CHECK(ica_rsa_mod_expo(handle, in_9, &key->public_key, untouched) == EPERM);
		CHECK(ica_rsa_crt(handle, in_9, &key->crt, untouched) == EPERM);
	}
	fill_in(key);
}

static void wrong_moduli(struct key *key)
{
	unsigned char zero[MAX] = { 0 };

	memset(key->modulus, 0, key->length);
	CHECK(ica_rsa_mod_expo(handle, in_9, &key->public_key, untouched) == EINVAL);
	key->modulus[key->length - 1] = 1;
	CHECK(ica_rsa_mod_expo(handle, zero, &key->public_key, untouched) == EINVAL);
	fill_in(key);
	key->modulus[key->length - 1] ^= 1;
	CHECK(ica_rsa_mod_expo(handle, in_9, &key->public_key, untouched) == EINVAL);
	fill_in(key);
	memset(key->public_exponent, 0, key->length);
	CHECK(ica_rsa_mod_expo(handle, in_9, &key->public_key, untouched) == EINVAL);
	fill_in(key);
}

/* Each number of the CRT form as zeros, ones, 1, even, and with one bit changed anywhere: no result is given out. */
static void wrong_numbers(struct key *key)
{
	unsigned char *const numbers[] = { key->cp, key->cq, key->cdp, key->cdq, key->cqi };

	for (int i = 0; i < 5; i++) {
		const unsigned int length = key->half + (i == 1 || i == 3 ? 0 : PAD);

		for (int kind = 0; kind < 12; kind++) {
			unsigned int code;

			if (kind < 2)
				memset(numbers[i], kind ? 0xFF : 0, length);
			else if (kind == 2)
				memset(numbers[i], 0, length), numbers[i][length - 1] = 1;
			else if (kind == 3)
				numbers[i][length - 1] ^= 1;
			else
				numbers[i][number(length)] ^= (unsigned char)(1 << number(8));
			code = ica_rsa_crt(handle, in_9, &key->crt, untouched);
			CHECK(code == EINVAL || code == EIO);
			code = ica_rsa_crt_key_check(&key->crt);
			CHECK(code == 0 || code == 1 || code == EINVAL);
			fill_in(key);
		}
	}
	memcpy(key->cq, key->cp + PAD, key->half);
	CHECK(ica_rsa_crt(handle, in_9, &key->crt, untouched) == EINVAL);
	CHECK(ica_rsa_crt_key_check(&key->crt) == EINVAL);
	fill_in(key);
}

static void wrong_wishes(struct key *key)
{
	const struct key before = *key;

	CHECK(ica_rsa_key_generate_crt(handle, 4097, &key->public_key, &key->crt) == EPERM);
	CHECK(ica_rsa_key_generate_mod_expo(handle, 0xFFFFFFFF, &key->public_key, &key->private_key) == EPERM);
	CHECK(ica_rsa_key_generate_crt(handle, 1016, &key->public_key, &key->crt) == EINVAL);
	CHECK(ica_rsa_key_generate_crt(handle, 0, &key->public_key, &key->crt) == EINVAL);
	key->crt.key_length--;
	CHECK(ica_rsa_key_generate_crt(handle, 1024, &key->public_key, &key->crt) == EINVAL);
	fill_in(key);
	key->public_exponent[key->length - 1] = 0x10;
	CHECK(ica_rsa_key_generate_crt(handle, 1024, &key->public_key, &key->crt) == EINVAL);
	memset(key->public_exponent, 0, key->length);
	key->public_exponent[key->length - 1] = 1;
	CHECK(ica_rsa_key_generate_crt(handle, 1024, &key->public_key, &key->crt) == EINVAL);
	key->public_exponent[key->length - 9] = 1;
	CHECK(ica_rsa_key_generate_mod_expo(handle, 1024, &key->public_key, &key->private_key) == EINVAL);
	CHECK(memcmp(key->modulus, before.modulus, key->length) == 0 && memcmp(key->cp, before.cp, key->half) == 0);
	fill_in(key);
}

/* Structures and numbers that are no keys. */
static void no_keys(void)
{
	struct key key;

	make(&key, 1024, "10001");
	in_9[key.length - 1] = 9;
	memset(untouched, 0x5A, sizeof(untouched));
	null_pointers(&key);
	wrong_lengths(&key);
	wrong_moduli(&key);
	wrong_numbers(&key);
	wrong_wishes(&key);
	for (size_t i = 0; i < sizeof(untouched); i++)
		CHECK(untouched[i] == 0x5A);
	drop(&key);
}

/* A public exponent as programs of IBM Z store it. */
static void stored_exponent(void)
{
	struct key key;
	unsigned char out[MAX];

	make(&key, 1024, "10001");
	memset(key.public_exponent, 0, key.length);
	memcpy(key.public_exponent + key.length - sizeof(unsigned long), &(unsigned long){ 17 }, sizeof(unsigned long));
	CHECK(ica_rsa_key_generate_mod_expo(handle, 1024, &key.public_key, &key.private_key) == 0);
	CHECK(key.public_exponent[key.length - 1] == 17 && !key.public_exponent[key.length - 8]);
	CHECK(ica_rsa_mod_expo(handle, in_9, &key.private_key, out) == 0);
	CHECK(ica_rsa_mod_expo(handle, out, &key.public_key, out) == 0);
	CHECK(memcmp(in_9, out, key.length) == 0);
	drop(&key);
}

/* With fallbacks off only what batches or instructions do is there, and keys are made. */
static void without_fallbacks(void)
{
	libica_func_list_element list[128];
	unsigned int length = sizeof(list) / sizeof(*list), hardware = 0;
	unsigned char in[MAX] = { 0 }, out[MAX];
	struct key odd, even;

	make(&odd, 1031, "10001");
	make(&even, 2048, "10001");
	ica_set_fallback_mode(ICA_FALLBACKS_DISABLED);
	CHECK(ica_get_functionlist(list, &length) == 0);
	for (unsigned int i = 0; i < length; i++)
		if (list[i].mech_mode_id == RSA_CRT)
			hardware = list[i].flags;
	CHECK(!(hardware & ICA_FLAG_SW));
	CHECK(ica_rsa_mod_expo(handle, in, &even.public_key, out) == ENODEV);
	CHECK(ica_rsa_crt(handle, in, &odd.crt, out) == ENODEV);
	CHECK(ica_rsa_crt(handle, in, &even.crt, out) == (hardware ? 0 : ENODEV));
	CHECK(ica_rsa_key_generate_crt(handle, 1031, &odd.public_key, &odd.crt) == 0);
	ica_set_fallback_mode(ICA_FALLBACKS_ENABLED);
	drop(&odd);
	drop(&even);
}

#define THREADS 16
static struct key keys[3];
static atomic_int running = THREADS;

/* One operation with a key that others use at the same time. */
static void one(const struct key *key, unsigned long value)
{
	unsigned char in[MAX] = { 0 }, out[MAX], back[MAX];
	ica_rsa_key_crt_t crt = key->crt;
	ica_rsa_key_mod_expo_t public_key = key->public_key;

	memcpy(in + key->length - sizeof(value), &value, sizeof(value));
	CHECK(ica_rsa_crt(handle, in, &crt, out) == 0);
	CHECK(ica_rsa_mod_expo(handle, out, &public_key, back) == 0);
	CHECK(memcmp(in, back, key->length) == 0);
}

static void *thread(void *unused)
{
	for (unsigned long i = 0; i < rounds(60); i++)
		one(&keys[i % 3 ? 0 : i % 2 + 1], (unsigned long)pthread_self() + i);
	running--;
	return unused;
}

/* On four CPUs at most: where each thread has one of its own, few find another's work waiting. */
static void crowd(void)
{
	cpu_set_t given, taken;

	CPU_ZERO(&taken);
	if (sched_getaffinity(0, sizeof(given), &given))
		return;
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&taken) < 4; i++)
		if (CPU_ISSET(i, &given))
			CPU_SET(i, &taken);
	CHECK(sched_setaffinity(0, sizeof(taken), &taken) == 0);
}

/* Threads, children that are forked in the middle of their work, and keys that are forgotten meanwhile. */
static void threads(void)
{
	const int many = rounds(60) == 60;
	pthread_t all[THREADS];

	crowd();
	make(&keys[0], many ? 2048 : 1024, "10001");
	make(&keys[1], many ? 3072 : 512, "3");
	make(&keys[2], 1031, "10001");
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&all[i], NULL, thread, NULL) == 0);
	for (int i = 0; i < THREADS && !FORK_BESIDE; i++)
		CHECK(pthread_join(all[i], NULL) == 0);
	for (int i = 0; i < 10 || (running && i < 40); i++) {
		int status;
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			alarm(300);
			/* Not counted with the threads'. */
			ica_set_stats_mode(0);
			for (int j = 0; j < 3; j++)
				one(&keys[j], (unsigned long)i);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		ica_cleanup();
	}
	for (int i = 0; i < THREADS && FORK_BESIDE; i++)
		CHECK(pthread_join(all[i], NULL) == 0);
}

/* One key of each kind, and of the first two some operations. */
static void count(void)
{
	static const unsigned int sizes[] = { 512, 1024, 1031, 2048, 3072, 4096 };
	unsigned char in[MAX] = { 0 }, out[MAX];
	struct key key;

	for (int i = 0; i < (rounds(60) == 60 ? 6 : 3); i++) {
		make(&key, sizes[i], "10001");
		in[key.length - 1] = 9;
		for (int j = 0; j <= i; j++)
			CHECK(ica_rsa_crt(handle, in, &key.crt, out) == 0);
		for (int j = 0; j < 10 * (i + 1); j++)
			CHECK(ica_rsa_mod_expo(handle, in, &key.public_key, out) == 0);
		/* What fails is not counted. */
		memset(in, 0xFF, sizeof(in));
		CHECK(ica_rsa_crt(handle, in, &key.crt, out) == EINVAL);
		CHECK(ica_rsa_mod_expo(handle, in, &key.public_key, out) == EINVAL);
		memset(in, 0, sizeof(in));
		if (sizes[i] <= 1031)
			CHECK(ica_rsa_key_generate_crt(handle, sizes[i], &key.public_key, &key.crt) == 0);
		if (sizes[i] <= 1024)
			CHECK(ica_rsa_key_generate_mod_expo(handle, sizes[i], &key.public_key, &key.private_key) == 0);
		drop(&key);
	}
}

static void all_sizes(int small)
{
	static const unsigned int sizes[] = { 57,  58,	59,  63,  64,	65,   66,   127,  128,	255,  257,
					      511, 512, 513, 700, 1023, 1024, 1025, 1031, 1536, 2047, 2048 };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes) && (!small || sizes[i] <= 1031); i++) {
		const int large = sizes[i] > 513;

		agree(sizes[i], i % 2 ? "3" : "10001", rounds(large ? 6 : 30));
		agree(sizes[i], large && i % 2 ? "FFFFFFFFFFFFFFC5" : NULL, rounds(large ? 3 : 30));
		if (!large)
			agree(sizes[i], i % 2 ? "10001" : "3", rounds(30));
	}
	if (!small) {
		agree(3072, "3", 3);
		agree(4095, "FFFFFFFFFFFFFFC5", 3);
		agree(4096, "10001", 3);
	}
}

static void all_generated(int small)
{
	for (unsigned int bits = 57; bits < 75; bits += small ? 5 : 1) {
		generated(bits, bits % 2 ? "" : "3");
		generated(bits, "10001");
	}
	generated(511, "C0FFEE0000000001");
	generated(512, "3");
	generated(513, "10001");
	generated(1024, "10001");
	if (!small) {
		generated(1023, "");
		generated(1024, "");
		generated(1031, "3");
		generated(2047, "10001");
		generated(2048, "10001");
		generated(2048, "");
	}
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";

	ctx = BN_CTX_new();
	if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "count")) {
		count();
	} else {
		const int small = !strcmp(what, "small");

		all_sizes(small);
		unlike_primes();
		no_keys();
		stored_exponent();
		without_fallbacks();
		all_generated(small);
	}
	puts("good");
	return 0;
}
