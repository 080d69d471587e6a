/* Calls of Curve25519 and Curve448. They return -1 for any error. Curve448 is there where a libcrypto is. */

/* The result of an operation with a context of these halves of a key, which is deleted again. */
#define WITH_KEY(curve, type, private, public, operation)                                                              \
	do {                                                                                                           \
		type *ctx = NULL;                                                                                      \
		int error = ica(curve##_ctx_new)(&ctx);                                                                \
                                                                                                                       \
		if (error)                                                                                             \
			return error;                                                                                  \
		error = ica(curve##_key_set)(ctx, private, public);                                                    \
		if (!error)                                                                                            \
			error = operation;                                                                             \
		CHECK(ica(curve##_ctx_del)(&ctx) == 0 && !ctx);                                                        \
		return error;                                                                                          \
	} while (0)

/* The four have the same shape: a context, a private and a public key of one length. */
#define SHAPE(curve, type, size)                                                                                       \
	static int curve##_gets(const struct call *c, unsigned char **b)                                               \
	{                                                                                                              \
		(void)c;                                                                                               \
		WITH_KEY(curve, type, b[0], NULL, ica(curve##_key_get)(ctx, b[1], b[2]));                              \
	}                                                                                                              \
                                                                                                                       \
	static void curve##_makes(unsigned char *private, unsigned char *public)                                       \
	{                                                                                                              \
		type *ctx = NULL;                                                                                      \
                                                                                                                       \
		CHECK(ica(curve##_ctx_new)(&ctx) == 0 && ica(curve##_key_gen)(ctx) == 0);                              \
		CHECK(ica(curve##_key_get)(ctx, private, public) == 0 && ica(curve##_ctx_del)(&ctx) == 0);             \
	}                                                                                                              \
                                                                                                                       \
	static int curve##_refuses(void)                                                                               \
	{                                                                                                              \
		type *ctx = NULL, *other = NULL;                                                                       \
		unsigned char private[size], public[size];                                                             \
                                                                                                                       \
		WANT(ica(curve##_ctx_new)(NULL) == -1 && ica(curve##_ctx_del)(NULL) == -1);                            \
		WANT(ica(curve##_ctx_new)(&ctx) == 0 && ica(curve##_ctx_new)(&other) == 0);                            \
		WANT(ica(curve##_key_get)(ctx, private, public) == -1 && ica(curve##_key_gen)(NULL) == -1);            \
		WANT(ica(curve##_key_set)(ctx, NULL, NULL) == -1 && ica(curve##_key_set)(NULL, private, public) == -1);  \
		WANT(ica(curve##_key_gen)(ctx) == 0 && ica(curve##_key_gen)(other) == 0);                              \
		WANT(ica(curve##_key_get)(ctx, private, public) == 0 && ica(curve##_key_get)(NULL, private, NULL) == -1); \
		WANT(ica(curve##_key_get)(other, NULL, private) == 0 && memcmp(private, public, size));                \
		WANT(ica(curve##_ctx_del)(&ctx) == 0 && ica(curve##_ctx_del)(&other) == 0);                            \
		return 0;                                                                                              \
	}

SHAPE(x25519, ICA_X25519_CTX, 32)
SHAPE(x448, ICA_X448_CTX, 56)
SHAPE(ed25519, ICA_ED25519_CTX, 32)
SHAPE(ed448, ICA_ED448_CTX, 57)

#define DERIVES(curve, type)                                                                                           \
	static int curve##_derives(const struct call *c, unsigned char **b)                                            \
	{                                                                                                              \
		(void)c;                                                                                               \
		WITH_KEY(curve, type, b[0], NULL, ica(curve##_derive)(ctx, b[2], b[1]));                               \
	}

DERIVES(x25519, ICA_X25519_CTX)
DERIVES(x448, ICA_X448_CTX)

#define SIGNS(curve, type)                                                                                             \
	static int curve##_signs(const struct call *c, unsigned char **b)                                              \
	{                                                                                                              \
		WITH_KEY(curve, type, b[0], NULL, ica(curve##_sign)(ctx, b[2], b[1], c->length));                      \
	}                                                                                                              \
                                                                                                                       \
	static int curve##_verifies(const struct call *c, unsigned char **b)                                           \
	{                                                                                                              \
		WITH_KEY(curve, type, NULL, b[0], ica(curve##_verify)(ctx, b[2], b[1], c->length));                    \
	}

SIGNS(ed25519, ICA_ED25519_CTX)
SIGNS(ed448, ICA_ED448_CTX)

static struct call *edwards_call(const char *name, int (*run)(const struct call *, unsigned char **))
{
	struct call *c = add(name, run);

	c->error = c->null = -1;
	return c;
}

#define ADD_EDWARDS(curve, size)                                                                                       \
	do {                                                                                                           \
		struct call *c;                                                                                        \
                                                                                                                       \
		curve##_makes(private, public);                                                                        \
		c = edwards_call(#curve "_key_get", curve##_gets);                                                     \
		holds(c, IN, size, private);                                                                           \
		some(c, OUT, size);                                                                                    \
		optional(c);                                                                                           \
		some(c, OUT, size);                                                                                    \
		optional(c);                                                                                           \
		add_script(#curve, curve##_refuses);                                                                   \
	} while (0)

#define ADD_DERIVE(curve, size)                                                                                        \
	do {                                                                                                           \
		struct call *c;                                                                                        \
                                                                                                                       \
		ADD_EDWARDS(curve, size);                                                                              \
		c = edwards_call(#curve "_derive", curve##_derives);                                                   \
		holds(c, IN, size, private);                                                                           \
		curve##_makes(private, public);                                                                        \
		holds(c, IN, size, public);                                                                            \
		some(c, OUT, size);                                                                                    \
	} while (0)

#define ADD_SIGN(curve, size, sealed)                                                                                  \
	do {                                                                                                           \
		struct call *c;                                                                                        \
		unsigned int length;                                                                                   \
                                                                                                                       \
		ADD_EDWARDS(curve, size);                                                                              \
		for (length = 0; length < 300; length = 2 * length + 1) {                                              \
			unsigned char made[sealed], *message;                                                          \
                                                                                                                       \
			c = edwards_call(#curve "_sign", curve##_signs);                                               \
			c->length = length;                                                                            \
			holds(c, IN, size, private);                                                                   \
			message = some(c, IN, length);                                                                 \
			some(c, OUT, sealed);                                                                          \
			CHECK(c->run(c, (unsigned char *[]){private, message, made}) == 0);                            \
			c = edwards_call(#curve "_verify", curve##_verifies);                                          \
			c->length = length;                                                                            \
			holds(c, IN, size, public);                                                                    \
			holds(c, IN, length, message);                                                                 \
			holds(c, IN, sealed, made);                                                                    \
		}                                                                                                      \
	} while (0)

/* Whether there is a libcrypto. */
static int curve448(void)
{
	ICA_X448_CTX *ctx = NULL;
	int there = ica(x448_ctx_new)(&ctx) == 0 && ica(x448_key_gen)(ctx) == 0;

	if (ctx)
		ica(x448_ctx_del)(&ctx);
	return there;
}

static void add_edwards(void)
{
	unsigned char private[57], public[57];

	ADD_DERIVE(x25519, 32);
	ADD_SIGN(ed25519, 32, 64);
	if (!curve448()) {
		fprintf(stderr, "SKIPPED: Curve448, for want of a libcrypto\n");
		return;
	}
	ADD_DERIVE(x448, 56);
	ADD_SIGN(ed448, 57, 114);
}
