/* Calls of RSA and the elliptic curves. Keys are made anew for each run of a program. */

/* RSA: `length` is the modulus' in bytes, `more` its bits where that is to be a key's. */

static int run_rsa_mod_expo(const struct call *c, unsigned char **b)
{
	ica_rsa_key_mod_expo_t key = {c->key, b[2], b[3]};

	return ica(rsa_mod_expo)(DRIVER_NOT_LOADED, b[0], &key, b[1]);
}

static int run_rsa_crt(const struct call *c, unsigned char **b)
{
	ica_rsa_key_crt_t key = {c->key, b[2], b[3], b[4], b[5], b[6]};

	return ica(rsa_crt)(DRIVER_NOT_LOADED, b[0], &key, b[1]);
}

static int run_rsa_crt_key_check(const struct call *c, unsigned char **b)
{
	ica_rsa_key_crt_t key = {c->key, b[0], b[1], b[2], b[3], b[4]};

	return ica(rsa_crt_key_check)(&key);
}

static int run_rsa_key_generate_mod_expo(const struct call *c, unsigned char **b)
{
	ica_rsa_key_mod_expo_t public = {c->key, b[0], b[1]}, private = {c->key, b[2], b[3]};

	return ica(rsa_key_generate_mod_expo)(DRIVER_NOT_LOADED, c->more, &public, &private);
}

static int run_rsa_key_generate_crt(const struct call *c, unsigned char **b)
{
	ica_rsa_key_mod_expo_t public = {c->key, b[0], b[1]};
	ica_rsa_key_crt_t private = {c->key, b[2], b[3], b[4], b[5], b[6]};

	return ica(rsa_key_generate_crt)(DRIVER_NOT_LOADED, c->more, &public, &private);
}

#define MOST_RSA 512

/* A key with what both forms need. */
struct rsa {
	unsigned int length, half;
	unsigned char modulus[MOST_RSA], exponent[MOST_RSA], p[MOST_RSA], q[MOST_RSA], dp[MOST_RSA], dq[MOST_RSA], qinv[MOST_RSA];
};

static struct rsa rsa_keys[3];

static struct rsa *rsa_key(unsigned int which)
{
	static const unsigned int bits[] = {520, 1024, 2048};
	struct rsa *key = &rsa_keys[which];

	if (!key->length) {
		key->length = bits[which] / 8;
		key->half = (key->length + 1) / 2;
		key->exponent[key->length - 1] = 1;
		key->exponent[key->length - 3] = 1;
		CHECK(run_rsa_key_generate_crt(&(struct call){.key = key->length, .more = bits[which]},
					       (unsigned char *[]){key->modulus, key->exponent, key->p, key->q, key->dp, key->dq,
								   key->qinv}) == 0);
	}
	return key;
}

static void crt_parts(struct call *c, const struct rsa *key, enum role role)
{
	holds(c, role, key->half + 8, key->p);
	holds(c, role, key->half, key->q);
	holds(c, role, key->half + 8, key->dp);
	holds(c, role, key->half, key->dq);
	holds(c, role, key->half + 8, key->qinv);
}

static void add_rsa(unsigned int which)
{
	const struct rsa *key = rsa_key(which);
	unsigned int length = key->length, form;
	struct call *c;

	for (form = 0; form < 2; form++) {
		c = add(form ? "rsa_crt" : "rsa_mod_expo", form ? run_rsa_crt : run_rsa_mod_expo);
		c->key = length;
		some(c, IN, length)[0] = 0;
		some(c, OUT, length);
		overlapping(c, 0, 1);
		if (form) {
			crt_parts(c, key, IN);
		} else {
			holds(c, IN, length, key->modulus);
			holds(c, IN, length, key->exponent);
		}
	}
	c = add("rsa_crt_key_check", run_rsa_crt_key_check);
	c->key = length;
	crt_parts(c, key, BOTH);
	if (which)
		return;
	for (form = 0; form < 2; form++) {
		c = add("rsa_key_generate", form ? run_rsa_key_generate_crt : run_rsa_key_generate_mod_expo);
		c->key = length;
		c->more = 8 * length;
		c->random = 1;
		some(c, OUT, length);
		holds(c, BOTH, length, key->exponent);
		if (form)
			crt_parts(c, key, OUT);
		else {
			some(c, OUT, length);
			some(c, OUT, length);
		}
	}
}

static int rsa_both_forms(void)
{
	unsigned char input[MOST_RSA], made[MOST_RSA], back[MOST_RSA];
	unsigned int i;

	/* Keys that all threads share. */
	for (i = 0; i < 3; i++) {
		struct rsa *key = &rsa_keys[i];
		ica_rsa_key_crt_t private = {key->length, key->p, key->q, key->dp, key->dq, key->qinv};
		ica_rsa_key_mod_expo_t public = {key->length, key->modulus, key->exponent};

		fill(input, key->length);
		input[0] = 0;
		WANT(ica(rsa_crt)(0, input, &private, made) == 0);
		WANT(ica(rsa_mod_expo)(0, made, &public, back) == 0);
		WANT(!memcmp(input, back, key->length));
		/* No number below the modulus, and moduli that cannot be. */
		memset(input, 0xff, key->length);
		WANT(ica(rsa_mod_expo)(0, input, &public, back) != 0);
		memcpy(made, key->modulus, key->length);
		made[key->length - 1] &= 0xfe;
		input[0] = 0;
		public.modulus = made;
		ica(rsa_mod_expo)(0, input, &public, back);
		memset(made, 0, key->length);
		WANT(ica(rsa_mod_expo)(0, input, &public, back) != 0);
		public.key_length = UINT_MAX;
		WANT(ica(rsa_mod_expo)(0, input, &public, back) == EPERM);
		public.key_length = 0;
		WANT(ica(rsa_mod_expo)(0, input, &public, back) == EINVAL);
		WANT(ica(rsa_mod_expo)(0, input, NULL, back) == EINVAL && ica(rsa_crt)(0, input, NULL, back) == EINVAL);
	}
	return 0;
}

/* The NIST and Brainpool curves: `number` is the curve, `key` how long its numbers are. */

static ICA_EC_KEY *ec_key(const struct call *c, const unsigned char *x, const unsigned char *y, const unsigned char *d, int *error)
{
	unsigned int length = 0;
	ICA_EC_KEY *key = ica(ec_key_new)(c->number, &length);

	CHECK(!key || length == c->key);
	*error = key ? ica(ec_key_init)(x, y, d, key) : ENOMEM;
	return key;
}

static int run_ecdh(const struct call *c, unsigned char **b)
{
	int error, other;
	ICA_EC_KEY *own = ec_key(c, NULL, NULL, b[0], &error), *peer = ec_key(c, b[1], b[2], NULL, &other);

	if (!error && !other)
		error = ica(ecdh_derive_secret)(DRIVER_NOT_LOADED, own, peer, b[3], c->key);
	ica(ec_key_free)(own);
	ica(ec_key_free)(peer);
	return other ? other : error;
}

static int run_ecdsa_sign(const struct call *c, unsigned char **b)
{
	int error;
	ICA_EC_KEY *key = ec_key(c, NULL, NULL, b[0], &error);

	/* With a nonce it is the same each time. */
	if (!error)
		error = ica(ecdsa_sign_ex)(DRIVER_NOT_LOADED, key, b[1], c->length, b[2], 2 * c->key, b[3]);
	ica(ec_key_free)(key);
	return error;
}

static int run_ecdsa_verify(const struct call *c, unsigned char **b)
{
	int error;
	ICA_EC_KEY *key = ec_key(c, b[0], b[1], NULL, &error);

	if (!error)
		error = ica(ecdsa_verify)(DRIVER_NOT_LOADED, key, b[2], c->length, b[3], 2 * c->key);
	ica(ec_key_free)(key);
	return error;
}

static int run_ec_get(const struct call *c, unsigned char **b)
{
	int error;
	ICA_EC_KEY *key = ec_key(c, b[0], b[1], b[2], &error);

	if (!error)
		error = ica(ec_key_get_public_key)(key, b[3], (void *)b[4]);
	if (!error)
		error = ica(ec_key_get_private_key)(key, b[5], (void *)b[6]);
	ica(ec_key_free)(key);
	return error;
}

static const unsigned int curves[][2] = {{409, 24}, {713, 28}, {415, 32}, {715, 48}, {716, 66},	{921, 20},
					 {923, 24}, {925, 28}, {927, 32}, {929, 40}, {931, 48}, {933, 64}};
#define CURVES (sizeof curves / sizeof *curves)

/* A key of each curve that all threads share. */
static ICA_EC_KEY *shared_keys[CURVES];

static void add_curve(unsigned int which)
{
	unsigned int nid = curves[which][0], length = curves[which][1], got = 0, size = 2 * length;
	unsigned char q[132], d[66], sealed[132], nonce[66] = {0};
	ICA_EC_KEY *key = shared_keys[which] = ica(ec_key_new)(nid, &got);
	struct call *c;

	CHECK(key && got == length && ica(ec_key_generate)(DRIVER_NOT_LOADED, key) == 0);
	got = size;
	CHECK(ica(ec_key_get_public_key)(key, q, &got) == 0 && got == size);
	got = length;
	CHECK(ica(ec_key_get_private_key)(key, d, &got) == 0 && got == length);
	nonce[length - 1] = 77;
	nonce[length - 9] = 1;

	c = add("ecdh_derive_secret", run_ecdh);
	c->number = nid;
	c->key = length;
	holds(c, IN, length, d);
	holds(c, IN, length, q);
	holds(c, IN, length, q + length);
	some(c, OUT, length);

	c = add("ecdsa_sign_ex", run_ecdsa_sign);
	c->number = nid;
	c->key = length;
	c->length = 32;
	holds(c, IN, length, d);
	some(c, IN, 32);
	some(c, OUT, size);
	holds(c, IN, length, nonce);
	optional(c);
	CHECK(run_ecdsa_sign(c, (unsigned char *[]){d, c->buffer[1].value, sealed, nonce}) == 0);

	c = add("ecdsa_verify", run_ecdsa_verify);
	c->number = nid;
	c->key = length;
	c->length = 32;
	holds(c, IN, length, q);
	holds(c, IN, length, q + length);
	holds(c, IN, 32, calls[call_count - 2].buffer[1].value);
	holds(c, IN, size, sealed);

	c = add("ec_key_get", run_ec_get);
	c->null = SEVERAL;
	c->number = nid;
	c->key = length;
	holds(c, IN, length, q);
	optional(c);
	holds(c, IN, length, q + length);
	optional(c);
	holds(c, IN, length, d);
	optional(c);
	some(c, OUT, size);
	holds(c, BOTH, sizeof size, &size);
	some(c, OUT, length);
	holds(c, BOTH, sizeof length, &length);
}

static int ec_keys(void)
{
	unsigned int which = number(CURVES), length = curves[which][1], got;
	unsigned char hash[64], sealed[132], x[66], y[66], z[66], other[66];
	ICA_EC_KEY *key = shared_keys[which], *own = ica(ec_key_new)(curves[which][0], &got);

	WANT(own && got == length && ica(ec_key_generate)(DRIVER_NOT_LOADED, own) == 0);
	fill(hash, sizeof hash);
	WANT(ica(ecdsa_sign)(DRIVER_NOT_LOADED, key, hash, 64, sealed, 2 * length) == 0);
	WANT(ica(ecdsa_verify)(DRIVER_NOT_LOADED, key, hash, 64, sealed, 2 * length) == 0);
	sealed[number(2 * length)] ^= 1 << number(8);
	WANT(ica(ecdsa_verify)(DRIVER_NOT_LOADED, key, hash, 64, sealed, 2 * length) != 0);
	WANT(ica(ecdh_derive_secret)(DRIVER_NOT_LOADED, key, own, z, length) == 0);
	WANT(ica(ecdh_derive_secret)(DRIVER_NOT_LOADED, own, key, other, length) == 0 && !memcmp(z, other, length));

	/* Lengths that cannot be, and a hash of another one. */
	WANT(ica(ecdsa_sign)(DRIVER_NOT_LOADED, key, hash, 31, sealed, 2 * length) == EINVAL);
	WANT(ica(ecdsa_sign)(DRIVER_NOT_LOADED, key, hash, 32, sealed, 2 * length - 1) == EINVAL);
	WANT(ica(ecdsa_verify)(DRIVER_NOT_LOADED, key, hash, UINT_MAX, sealed, 2 * length) == EINVAL);
	WANT(ica(ecdsa_verify)(DRIVER_NOT_LOADED, key, hash, 32, sealed, 0) == EINVAL);
	WANT(ica(ecdh_derive_secret)(DRIVER_NOT_LOADED, key, own, z, length - 1) == EINVAL);
	WANT(ica(ecdh_derive_secret)(DRIVER_NOT_LOADED, NULL, own, z, length) == EINVAL);
	WANT(ica(ecdh_derive_secret)(DRIVER_NOT_LOADED, key, NULL, z, length) == EINVAL);
	got = 2 * length;
	WANT(ica(ec_key_get_public_key)(NULL, sealed, &got) == EINVAL && ica(ec_key_init)(x, y, NULL, NULL) == EINVAL);
	WANT(ica(ec_key_generate)(DRIVER_NOT_LOADED, NULL) == EINVAL);

	/* Points beside the curve, and keys out of range. */
	fill(x, sizeof x);
	fill(y, sizeof y);
	WANT(ica(ec_key_init)(x, y, NULL, own) != 0);
	memset(x, 0, sizeof x);
	memset(y, 0, sizeof y);
	WANT(ica(ec_key_init)(x, y, NULL, own) != 0);
	memset(x, 0xff, sizeof x);
	WANT(ica(ec_key_init)(x, x, NULL, own) != 0 && ica(ec_key_init)(NULL, NULL, x, own) != 0);
	WANT(ica(ec_key_init)(NULL, NULL, y, own) != 0);
	ica(ec_key_free)(own);
	ica(ec_key_free)(NULL);
	got = 0;
	for (which = 0; which < 400; which++)
		WANT(!ica(ec_key_new)(which, &got));
	WANT(!ica(ec_key_new)(UINT_MAX, &got) && !ica(ec_key_new)(415, NULL));
	return 0;
}

static void add_public(void)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		add_rsa(i);
	add_script("RSA", rsa_both_forms);
	for (i = 0; i < CURVES; i++)
		add_curve(i);
	add_script("elliptic curves", ec_keys);
	add_edwards();
}
