/* Calls of the hashes, of what is random, and of the library itself. */

struct hash {
	const char *name;
	unsigned int block, size, context;
};
static const struct hash hashes[] = {
	{"sha1", 64, 20, sizeof(sha_context_t)},
	{"sha224", 64, 28, sizeof(sha256_context_t)},
	{"sha256", 64, 32, sizeof(sha256_context_t)},
	{"sha384", 128, 48, sizeof(sha512_context_t)},
	{"sha512", 128, 64, sizeof(sha512_context_t)},
	{"sha512_224", 128, 28, sizeof(sha512_context_t)},
	{"sha512_256", 128, 32, sizeof(sha512_context_t)},
	{"sha3_224", 144, 28, sizeof(sha3_224_context_t)},
	{"sha3_256", 136, 32, sizeof(sha3_256_context_t)},
	{"sha3_384", 104, 48, sizeof(sha3_384_context_t)},
	{"sha3_512", 72, 64, sizeof(sha3_512_context_t)},
	{"shake_128", 168, 0, sizeof(shake_128_context_t)},
	{"shake_256", 136, 0, sizeof(shake_256_context_t)},
};

static int run_hash(const struct call *c, unsigned char **b)
{
	void *context = b[1];

	switch (c->cipher) {
	case 0: return ica(sha1)(c->number, c->length, b[0], context, b[2]);
	case 1: return ica(sha224)(c->number, c->length, b[0], context, b[2]);
	case 2: return ica(sha256)(c->number, c->length, b[0], context, b[2]);
	case 3: return ica(sha384)(c->number, c->length, b[0], context, b[2]);
	case 4: return ica(sha512)(c->number, c->length, b[0], context, b[2]);
	case 5: return ica(sha512_224)(c->number, c->length, b[0], context, b[2]);
	case 6: return ica(sha512_256)(c->number, c->length, b[0], context, b[2]);
	case 7: return ica(sha3_224)(c->number, c->length, b[0], context, b[2]);
	case 8: return ica(sha3_256)(c->number, c->length, b[0], context, b[2]);
	case 9: return ica(sha3_384)(c->number, c->length, b[0], context, b[2]);
	case 10: return ica(sha3_512)(c->number, c->length, b[0], context, b[2]);
	case 11: return ica(shake_128)(c->number, c->length, b[0], context, b[2], c->key);
	default: return ica(shake_256)(c->number, c->length, b[0], context, b[2], c->key);
	}
}

/* A part of a message; of those after the first, the context is what a first part of a block has left. */
static void add_part(unsigned int which, unsigned int length, unsigned int part)
{
	static const unsigned int sizes[] = {1, 16, 64, 65, 167, 168, 200, 600};
	const struct hash *hash = &hashes[which];
	unsigned char block[168], context[256], out[600];
	struct call *c, first = {.cipher = which, .number = SHA_MSG_PART_FIRST, .length = hash->block};
	unsigned int size = hash->size;

	if (length % hash->block && (part == SHA_MSG_PART_FIRST || part == SHA_MSG_PART_MIDDLE))
		return;
	c = add(hash->name, run_hash);
	if (!size)
		c->key = first.key = size = sizes[number(8)];
	c->cipher = which;
	c->number = part;
	c->numbers = LEGIT(0, 1, 2, 3);
	c->length = length;
	if (part == SHA_MSG_PART_FIRST || part == SHA_MSG_PART_MIDDLE) {
		c->unit = hash->block;
		c->whole = c->none = 1;
	}
	fill(block, sizeof block);
	fill(context, sizeof context);
	if (part == SHA_MSG_PART_MIDDLE || part == SHA_MSG_PART_FINAL)
		CHECK(run_hash(&first, (unsigned char *[]){block, context, out}) == 0);
	c->narrow = which < 3 || which == 7 || which == 8;
	some(c, IN, length);
	holds(c, BOTH, hash->context, context);
	some(c, part == SHA_MSG_PART_ONLY || part == SHA_MSG_PART_FINAL ? OUT : BOTH, size);
}

static int run_random(const struct call *c, unsigned char **b)
{
	return ica(random_number_generate)(c->length, b[0]);
}

static int run_drbg(const struct call *c, unsigned char **b)
{
	ica_drbg_t *state = NULL;
	int error = ica(drbg_instantiate)(&state, 256, true, *api.sha512, b[0], c->buffer[0].size);

	if (!error)
		error = ica(drbg_reseed)(state, c->number, b[1], c->buffer[1].size);
	if (!error)
		error = ica(drbg_generate)(state, 256, c->number, b[1], c->buffer[1].size, b[2], c->length);
	if (state && ica(drbg_uninstantiate)(&state))
		return -3;
	return error;
}

static int run_library(const struct call *c, unsigned char **b)
{
	switch (c->cipher) {
	case 0: return ica(get_version)((void *)b[0]);
	case 1: return ica(get_hw_info)((void *)b[0]);
	case 2: return ica(open_adapter)((void *)b[0]);
	case 3: return ica(mp_mul512)((void *)b[0], (void *)b[1], (void *)b[2]);
	case 4: return ica(mp_sqr512)((void *)b[0], (void *)b[1]);
	case 5: return ica(get_functionlist)(NULL, (void *)b[0]);
	default: return ica(get_functionlist)((void *)b[0], (void *)b[1]);
	}
}

static void add_library(void)
{
	static const char *const names[] = {"get_version", "get_hw_info", "open_adapter", "mp_mul512", "mp_sqr512"};
	static const unsigned int sizes[] = {12, 32, 4, 128, 128};
	unsigned int i, functions = 0;
	struct call *c;

	for (i = 0; i < 5; i++) {
		c = add(names[i], run_library);
		c->cipher = i;
		some(c, OUT, sizes[i]);
		if (i >= 3)
			some(c, IN, 64);
		if (i == 3)
			some(c, IN, 64);
	}
	if (!HAVE(get_functionlist))
		return;
	CHECK(ica(get_functionlist)(NULL, &functions) == 0 && functions > 50);
	c = add("get_functionlist, the number", run_library);
	c->cipher = 5;
	some(c, OUT, sizeof functions);
	c = add("get_functionlist", run_library);
	c->cipher = 6;
	some(c, OUT, functions * sizeof(libica_func_list_element));
	optional(c);
	holds(c, BOTH, sizeof functions, &functions);
}

static int generators(void)
{
	unsigned char a[100], b[100];
	ica_drbg_t *one = NULL, *two = NULL;

	WANT(ica(drbg_health_test)((void *)api.ica_drbg_generate, 256, true, *api.sha512) == 0);
	WANT(ica(drbg_instantiate)(&one, 128, false, *api.sha512, NULL, 0) == 0);
	WANT(ica(drbg_instantiate)(&one, 128, false, *api.sha512, NULL, 0) == EINVAL);
	WANT(ica(drbg_instantiate)(&two, 256, true, *api.sha512, (const unsigned char *)"name", 4) == 0);
	WANT(ica(drbg_generate)(one, 128, false, NULL, 0, a, sizeof a) == 0);
	WANT(ica(drbg_generate)(two, 256, true, NULL, 0, b, sizeof b) == 0 && memcmp(a, b, sizeof a));
	WANT(ica(drbg_generate)(one, 128, false, NULL, 0, b, sizeof b) == 0 && memcmp(a, b, sizeof a));
	WANT(ica(drbg_uninstantiate)(&one) == 0 && !one && ica(drbg_uninstantiate)(&two) == 0);
	return 0;
}

static int about(void)
{
	int adapter = 0;

	WANT(ica(open_adapter)(&adapter) == 0 && ica(close_adapter)(adapter) == 0);
	WANT(!strncmp(ica(get_build_version)(), "adjunct ", 8) && ica(get_msa_level)() >= 0);
	ica(fips_status)();
	ica(set_fallback_mode)(ICA_FALLBACKS_ENABLED);
	ica(set_offload_mode)(0);
	ica(set_stats_mode)(1);
	ica(allow_external_gcm_iv_in_fips_mode)(0);
	ica(cleanup)();
	return 0;
}

static void add_messages(void)
{
	static const unsigned int many[] = {0, 1, 55, 56, 63, 64, 65, 119, 128, 200, 1000, 4096};
	unsigned int i, which, part;
	struct call *c;

	for (which = 0; which < sizeof hashes / sizeof *hashes; which++)
		for (part = SHA_MSG_PART_ONLY; part <= SHA_MSG_PART_FINAL; part++) {
			for (i = 0; i < sizeof many / sizeof *many; i++)
				add_part(which, many[i], part);
			for (i = 1; i < 10; i += 3)
				add_part(which, i * hashes[which].block, part);
		}
	for (i = 0; i < sizeof many / sizeof *many; i++) {
		c = add("random_number_generate", run_random);
		c->length = many[i];
		c->random = 1;
		some(c, OUT, many[i]);
		c = add("drbg", run_drbg);
		c->null = SEVERAL;
		c->length = many[i];
		c->random = 1;
		c->number = i & 1;
		some(c, IN, i * 20);
		optional(c);
		some(c, IN, i * 21);
		optional(c);
		some(c, OUT, many[i]);
		c->buffer[2].optional = !many[i];
	}
	add_library();
	add_script("drbg", generators);
	add_script("the library", about);
}
