/* Calls of the block ciphers and the authenticating modes. */

enum { DES, TDES, AES };

#define UN(...) __VA_ARGS__
/* The three functions of a mode: what stands before the key, and behind it. */
#define MODE(mode, BEFORE, AFTER)                                                                                      \
	static int run_##mode(const struct call *c, unsigned char **b)                                                 \
	{                                                                                                              \
		if (c->cipher == DES)                                                                                  \
			return ica(des_##mode)(UN BEFORE, b[2], UN AFTER);                                             \
		if (c->cipher == TDES)                                                                                 \
			return ica(3des_##mode)(UN BEFORE, b[2], UN AFTER);                                            \
		return ica(aes_##mode)(UN BEFORE, b[2], c->key, UN AFTER);                                             \
	}

MODE(ecb, (b[0], b[1], c->length), (c->direction))
MODE(cbc, (b[0], b[1], c->length), (b[3], c->direction))
MODE(cbc_cs, (b[0], b[1], c->length), (b[3], c->direction, c->number))
MODE(cfb, (b[0], b[1], c->length), (b[3], c->number, c->direction))
MODE(ofb, (b[0], b[1], c->length), (b[3], c->direction))
MODE(ctr, (b[0], b[1], c->length), (b[3], c->number, c->direction))
MODE(ctrlist, (b[0], b[1], c->length), (b[3], c->direction))
MODE(cmac, (b[0], c->length, b[1], c->number), (c->direction))
MODE(cmac_intermediate, (b[0], c->length), (b[1]))
MODE(cmac_last, (b[0], c->length, b[1], c->number), (b[3], c->direction))

static int run_xts(const struct call *c, unsigned char **b)
{
	return ica(aes_xts)(b[0], b[1], c->length, b[2], b[3], c->key, b[4], c->direction);
}

static int run_xts_ex(const struct call *c, unsigned char **b)
{
	/* `number` says whether it is a first part. */
	return ica(aes_xts_ex)(b[0], b[1], c->length, b[2], b[3], c->key, c->number ? b[5] : NULL, b[4], c->direction);
}

static int run_ccm(const struct call *c, unsigned char **b)
{
	unsigned char *payload = b[c->direction == ICA_DECRYPT], *cipher = b[c->direction != ICA_DECRYPT];

	return ica(aes_ccm)(payload, c->length, cipher, c->number, b[3], c->more, b[4], c->buffer[4].size, b[2], c->key,
			    c->direction);
}

static int run_gcm(const struct call *c, unsigned char **b)
{
	unsigned char *plain = b[c->direction == ICA_DECRYPT], *cipher = b[c->direction != ICA_DECRYPT];

	return ica(aes_gcm)(plain, c->length, cipher, b[4], c->buffer[4].size, b[3], c->more, b[5], c->number, b[2], c->key,
			    c->direction);
}

static int run_gcm_initialize(const struct call *c, unsigned char **b)
{
	return ica(aes_gcm_initialize)(b[0], c->length, b[2], c->key, b[1], b[3], b[4], c->direction);
}

static int run_gcm_initialize_fips(const struct call *c, unsigned char **b)
{
	return ica(aes_gcm_initialize_fips)(b[0], c->length, b[2], c->key, b[1], b[3], b[4], c->direction);
}

static int run_gcm_intermediate(const struct call *c, unsigned char **b)
{
	unsigned char *plain = b[c->direction == ICA_DECRYPT], *cipher = b[c->direction != ICA_DECRYPT];

	return ica(aes_gcm_intermediate)(plain, c->length, cipher, b[4], b[3], c->more, b[5], c->number, b[2], c->key, b[6],
					 c->direction);
}

static int run_gcm_last(const struct call *c, unsigned char **b)
{
	return ica(aes_gcm_last)(b[0], 5, 7, b[1], b[4], c->number, b[2], c->key, b[3], c->direction);
}

static int run_kma(const struct call *c, unsigned char **b)
{
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();
	int error = ica(aes_gcm_kma_init)(c->direction, b[4], c->buffer[4].size, b[2], c->key, ctx);

	if (!error)
		error = ica(aes_gcm_kma_update)(b[0], b[1], c->length, b[3], c->more, 1, 1, ctx);
	if (!error)
		error = c->direction == ICA_ENCRYPT ? ica(aes_gcm_kma_get_tag)(b[5], c->number, ctx)
						    : ica(aes_gcm_kma_verify_tag)(b[5], c->number, ctx);
	ica(aes_gcm_kma_ctx_free)(ctx);
	return error;
}

static int run_kma_iv(const struct call *c, unsigned char **b)
{
	kma_ctx *ctx = ica(aes_gcm_kma_ctx_new)();
	int error = ica(aes_gcm_kma_init_fips)(c->direction, c->length, b[2], c->key, ctx);

	if (!error)
		error = ica(aes_gcm_kma_get_iv)(ctx, b[0], (unsigned int *)(void *)b[1]);
	ica(aes_gcm_kma_ctx_free)(ctx);
	return error;
}

static const unsigned int lengths[] = {0,  1,  7,  8,  9,  15,  16,  17,  24,  31,  32,  33,   47,   48,
				       63, 64, 65, 80, 96, 127, 128, 129, 240, 255, 256, 1000, 1024, 4096};

static struct call *cipher_call(const char *name, int (*run)(const struct call *, unsigned char **), unsigned int cipher,
				unsigned int key, unsigned int length, unsigned int direction)
{
	struct call *c = add(name, run);

	c->cipher = cipher;
	c->key = key;
	c->length = length;
	c->direction = direction;
	c->directions = LEGIT(0, 1);
	if (cipher == AES)
		c->keys = LEGIT(16, 24, 32);
	some(c, IN, length);
	some(c, OUT, length);
	some(c, IN, key);
	overlapping(c, 0, 1);
	return c;
}

static struct call *sized(struct call *c, unsigned int cipher, unsigned int key)
{
	c->cipher = cipher;
	c->key = key;
	if (cipher == AES)
		c->keys = LEGIT(16, 24, 32);
	return c;
}

static void add_mac(unsigned int cipher, unsigned int key, unsigned int block, unsigned int length)
{
	unsigned int last;
	struct call *c, *verify;

	for (last = 0; last < 2; last++) {
		unsigned char made[16], *b[4];

		c = sized(add(last ? "cmac_last" : "cmac", last ? run_cmac_last : run_cmac), cipher, key);
		c->length = length;
		c->number = 1 + number(block);
		c->numbers = block == 8 ? LEGIT(1, 2, 3, 4, 5, 6, 7, 8)
					: LEGIT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
		c->direction = ICA_ENCRYPT;
		c->directions = LEGIT(0, 1);
		b[0] = some(c, IN, length);
		b[1] = made;
		some(c, OUT, c->number);
		b[2] = some(c, IN, key);
		b[3] = some(c, IN, block);
		optional(c);
		CHECK(c->run(c, b) == 0);
		verify = again(c, "verifying cmac");
		verify->direction = ICA_DECRYPT;
		holds(verify, IN, length, b[0]);
		holds(verify, IN, c->number, made);
		holds(verify, IN, key, b[2]);
		holds(verify, IN, block, b[3]);
		optional(verify);
	}
	if (length && length % block == 0) {
		c = sized(add("cmac_intermediate", run_cmac_intermediate), cipher, key);
		c->length = length;
		c->unit = block;
		c->whole = 1;
		some(c, IN, length);
		some(c, BOTH, block);
		some(c, IN, key);
	}
}

static void add_modes(unsigned int cipher, unsigned int key, unsigned int block, unsigned int length, unsigned int direction)
{
	struct call *c;

	if (length && length % block == 0) {
		c = cipher_call("ecb", run_ecb, cipher, key, length, direction);
		c->unit = block;
		c->whole = c->none = 1;
		c = cipher_call("cbc", run_cbc, cipher, key, length, direction);
		some(c, BOTH, block);
		c->unit = block;
		c->whole = c->none = 1;
	}
	if (length >= block) {
		c = cipher_call("cbc_cs", run_cbc_cs, cipher, key, length, direction);
		some(c, BOTH, block);
		c->number = 1 + number(3);
		c->numbers = LEGIT(1, 2, 3);
		c->unit = block;
	}
	if (!length)
		return;
	c = cipher_call("cfb", run_cfb, cipher, key, length, direction);
	some(c, BOTH, block);
	c->number = 1 + number(block);
	if (block == 8)
		c->numbers = LEGIT(1, 2, 3, 4, 5, 6, 7, 8);
	else
		c->numbers = LEGIT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
	c = cipher_call("ofb", run_ofb, cipher, key, length, direction);
	some(c, BOTH, block);
	c = cipher_call("ctr", run_ctr, cipher, key, length, direction);
	some(c, BOTH, block);
	c->number = 8 * (1 + number(block));
	if (block == 8)
		c->numbers = LEGIT(8, 16, 24, 32, 40, 48, 56, 64);
	else
		c->numbers = LEGIT(8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128);
	c = cipher_call("ctrlist", run_ctrlist, cipher, key, length, direction);
	some(c, IN, (length + block - 1) / block * block);
}

static void add_xts(unsigned int key, unsigned int length, unsigned int direction)
{
	unsigned int first;
	struct call *c = cipher_call("xts", run_xts, AES, key, length, direction);

	c->keys = LEGIT(16, 32);
	some(c, IN, key);
	some(c, IN, 16);
	c->unit = 16;
	for (first = 0; first < 2; first++) {
		c = cipher_call("xts_ex", run_xts_ex, AES, key, length, direction);
		c->keys = LEGIT(16, 32);
		some(c, IN, key);
		some(c, first ? OUT : BOTH, 16);
		c->buffer[4].optional = first;
		some(c, IN, 16);
		optional(c);
		c->number = first;
		c->unit = 16;
	}
}

/* One that encrypts, then one that decrypts what it has made. `tag` is the buffer with the tag, or -1: behind the ciphertext. */
static void both_ways(struct call *c, int tag)
{
	unsigned char *b[MOST_BUFFERS];
	struct call *back;
	unsigned int i;

	for (i = 0; i < c->buffers; i++) {
		b[i] = malloc(c->buffer[i].size + 1);
		CHECK(b[i]);
		memcpy(b[i], c->buffer[i].value, c->buffer[i].size);
	}
	CHECK(c->run(c, b) == 0);
	back = again(c, c->name);
	back->direction = ICA_DECRYPT;
	for (i = 0; i < c->buffers; i++) {
		unsigned int from = i < 2 ? 1 - i : i;
		enum role role = i == 0 || (int)i == tag ? IN : c->buffer[i].role;
		const unsigned char *value = role == BOTH ? c->buffer[from].value : b[from];

		holds(back, role, c->buffer[from].size, i == 1 ? NULL : value);
		back->buffer[i].optional = c->buffer[i].optional;
	}
	for (i = 0; i < c->buffers; i++)
		free(b[i]);
}

static void add_sealing(unsigned int key, unsigned int length)
{
	static const unsigned int tags[] = {4, 8, 12, 13, 14, 15, 16};
	unsigned int aad = number(3) ? number(300) : 0, iv = number(2) ? 12 : 1 + number(60), tag = tags[number(7)];
	struct call *c;

	/* An empty text may be null, and additional data too. */
#define SEALED(name, run)                                                                                              \
	c = cipher_call(name, run, AES, key, length, ICA_ENCRYPT);                                                     \
	c->buffer[0].optional = c->buffer[1].optional = !length;                                                       \
	some(c, IN, aad);                                                                                              \
	c->buffer[3].optional = !aad;                                                                                  \
	c->more = aad
	SEALED("gcm", run_gcm);
	some(c, IN, iv);
	some(c, OUT, tag);
	c->number = tag;
	c->numbers = LEGIT(4, 8, 12, 13, 14, 15, 16);
	both_ways(c, 5);
	SEALED("gcm_kma", run_kma);
	some(c, IN, iv);
	some(c, OUT, tag);
	c->number = tag;
	c->numbers = LEGIT(4, 8, 12, 13, 14, 15, 16);
	c->null = SEVERAL;
	both_ways(c, 5);
	SEALED("gcm_intermediate", run_gcm_intermediate);
	some(c, BOTH, 16);
	some(c, BOTH, 16);
	some(c, IN, 16);
	c->number = 16;
	c->numbers = LEGIT(4, 8, 12, 13, 14, 15, 16);
	both_ways(c, -1);
	if (length || aad) {
		c = add("ccm", run_ccm);
		sized(c, AES, key);
		c->length = length;
		c->direction = ICA_ENCRYPT;
		c->directions = LEGIT(0, 1);
		c->number = 4 + 2 * number(7);
		c->numbers = LEGIT(4, 6, 8, 10, 12, 14, 16);
		c->more = aad;
		overlapping(c, 0, 1);
		some(c, IN, length);
		c->buffer[0].optional = !length;
		some(c, OUT, length + c->number);
		some(c, IN, key);
		some(c, IN, aad);
		c->buffer[3].optional = !aad;
		some(c, IN, 7 + number(7));
		both_ways(c, -1);
		/* The payload may be missing when nothing is decrypted. */
		calls[call_count - 1].buffer[0].optional = 0;
		calls[call_count - 1].buffer[1].optional = !length;
	}
}

/* The tag of a stream, made and then verified. */
static void add_last(unsigned int key)
{
	unsigned char made[16], *b[5];
	struct call *c = sized(add("gcm_last", run_gcm_last), AES, key), *back;

	c->number = 16;
	c->direction = ICA_ENCRYPT;
	b[0] = some(c, IN, 16);
	memcpy(made, some(c, BOTH, 16), 16);
	b[1] = made;
	b[2] = some(c, IN, key);
	b[3] = some(c, IN, 16);
	b[4] = some(c, IN, 16);
	optional(c);
	CHECK(c->run(c, b) == 0);
	back = again(c, "gcm_last, verifying");
	back->direction = ICA_DECRYPT;
	back->numbers = LEGIT(4, 8, 12, 13, 14, 15, 16);
	back->directions = LEGIT(0, 1);
	holds(back, IN, 16, b[0]);
	holds(back, BOTH, 16, c->buffer[1].value);
	holds(back, IN, key, b[2]);
	holds(back, IN, 16, b[3]);
	holds(back, IN, 16, made);
}

static void add_streams(unsigned int key)
{
	unsigned int iv, direction, last;
	struct call *c;

	for (iv = 1; iv < 40; iv += 1 + number(6))
		for (last = 0; last < 2; last++)
			for (direction = 0; direction < 2; direction++) {
				if (last && iv < 12)
					continue;
				c = add(last ? "gcm_initialize_fips" : "gcm_initialize", last ? run_gcm_initialize_fips : run_gcm_initialize);
				sized(c, AES, key);
				c->length = iv;
				c->unit = last ? 12 : 1;
				c->narrow = 1;
				c->direction = direction;
				c->directions = LEGIT(0, 1);
				c->random = last && direction;
				some(c, c->random ? OUT : IN, iv);
				some(c, OUT, 16);
				some(c, IN, key);
				some(c, OUT, 16);
				some(c, OUT, 16);
			}
	add_last(key);
	c = add("gcm_kma_get_iv", run_kma_iv);
	c->null = SEVERAL;
	sized(c, AES, key);
	c->length = 12;
	c->direction = ICA_ENCRYPT;
	c->directions = LEGIT(1);
	c->random = 1;
	some(c, OUT, 12);
	optional(c);
	holds(c, BOTH, sizeof(unsigned int), &(unsigned int){12});
	some(c, IN, key);
}

static void add_symmetric(void)
{
	unsigned int i, key, direction;

	for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		unsigned int length = lengths[i];

		for (direction = 0; direction < 2; direction++) {
			add_modes(DES, 8, 8, length, direction);
			add_modes(TDES, 24, 8, length, direction);
			add_modes(AES, 16 + 8 * number(3), 16, length, direction);
			if (length >= 16)
				add_xts(16 + 16 * number(2), length, direction);
		}
		add_mac(DES, 8, 8, length);
		add_mac(TDES, 24, 8, length);
		add_mac(AES, 16 + 8 * number(3), 16, length);
		add_sealing(16 + 8 * number(3), length);
	}
	for (key = 16; key <= 32; key += 8)
		add_streams(key);
}
