/* The function list: complete, in order, and true of this machine. `plain` and `cex` as argument say what it must be then. */
#include "common.h"

#define FUNCTIONS 56

static const unsigned int numbers[FUNCTIONS] = {
	SHA1, SHA224, SHA256, SHA384, SHA512, SHA512_224, SHA512_256, SHA3_224, SHA3_256, SHA3_384, SHA3_512, SHAKE128, SHAKE256,
	G_HASH, DES_ECB, DES_CBC, DES_OFB, DES_CFB, DES_CTR, DES_CMAC, DES3_ECB, DES3_CBC, DES3_OFB, DES3_CFB, DES3_CTR, DES3_CMAC,
	AES_ECB, AES_CBC, AES_OFB, AES_CFB, AES_CTR, AES_CMAC, AES_CCM, AES_GCM, AES_GCM_KMA, AES_XTS, P_RNG, EC_DH, EC_DSA_SIGN,
	EC_DSA_VERIFY, EC_KGEN, ED25519_KEYGEN, ED25519_SIGN, ED25519_VERIFY, ED448_KEYGEN, ED448_SIGN, ED448_VERIFY,
	X25519_KEYGEN, X25519_DERIVE, X448_KEYGEN, X448_DERIVE, RSA_ME, RSA_CRT, RSA_KEY_GEN_ME, RSA_KEY_GEN_CRT, SHA512_DRNG,
};

static libica_func_list_element list[FUNCTIONS + 1];

static const libica_func_list_element *element(unsigned int number)
{
	unsigned int i;

	for (i = 0; i < FUNCTIONS; i++)
		if (list[i].mech_mode_id == number)
			return &list[i];
	CHECK(!"in the list");
	return NULL;
}

static void get(void)
{
	unsigned int length = FUNCTIONS + 1, i;

	memset(list, 0xee, sizeof list);
	CHECK(ica_get_functionlist(list, &length) == 0 && length == FUNCTIONS);
	CHECK(list[FUNCTIONS].mech_mode_id == 0xeeeeeeee && list[FUNCTIONS].property == 0xeeeeeeee);
	for (i = 0; i < FUNCTIONS; i++) {
		CHECK(list[i].mech_mode_id == numbers[i] && !(list[i].flags & ~7u));
		CHECK(list[i].flags || !list[i].property);
	}
}

static unsigned int all_flags(void)
{
	unsigned int flags = 0, i;

	for (i = 0; i < FUNCTIONS; i++)
		flags |= list[i].flags;
	return flags;
}

/* What the compiler's own library says of the processor. */
static void as_the_processor(void)
{
#ifdef __x86_64__
	int aes = !!__builtin_cpu_supports("aes"), clmul = !!__builtin_cpu_supports("pclmul");
	int ifma = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma");
	/* Threads share batches only where that is asked for. */
	int batches = ifma && getenv("ADJUNCT_ACCELERATOR");
	const unsigned int in_batches[] = { RSA_CRT, EC_DH, EC_DSA_SIGN, EC_KGEN, ED25519_SIGN, ED25519_KEYGEN, X25519_DERIVE,
					    X25519_KEYGEN };
	unsigned int i;

	for (i = AES_ECB; i <= AES_CBC; i++)
		CHECK(!!(element(i)->flags & ICA_FLAG_SHW) == aes);
	CHECK(!!(element(G_HASH)->flags & ICA_FLAG_SHW) == clmul);
	CHECK(!!(element(AES_GCM)->flags & ICA_FLAG_SHW) == (aes && clmul));
	for (i = 0; i < sizeof in_batches / sizeof *in_batches; i++)
		CHECK(!!(element(in_batches[i])->flags & ICA_FLAG_DHW) == batches);
	CHECK(!!(element(RSA_CRT)->flags & ICA_FLAG_SHW) == ifma);
	CHECK(!!(element(RSA_KEY_GEN_CRT)->flags & ICA_FLAG_SHW) == ifma);
	CHECK(!(element(SHA3_256)->flags & (ICA_FLAG_SHW | ICA_FLAG_DHW)));
	CHECK(!(element(AES_ECB)->flags & ICA_FLAG_DHW) && !(element(EC_DSA_VERIFY)->flags & ICA_FLAG_DHW));
#endif
}

int main(int argc, char **argv)
{
	const char *machine = argc > 1 ? argv[1] : "";
	unsigned int length = 0, i;

	CHECK(ica_get_functionlist(NULL, NULL) == EINVAL && ica_get_functionlist(list, NULL) == EINVAL);
	CHECK(ica_get_functionlist(NULL, &length) == 0 && length == FUNCTIONS);
	length = FUNCTIONS - 1;
	memset(list, 0xee, sizeof list);
	CHECK(ica_get_functionlist(list, &length) == EINVAL && length == FUNCTIONS - 1 && list[0].flags == 0xeeeeeeee);
	length = FUNCTIONS;
	CHECK(ica_get_functionlist(list, &length) == 0 && length == FUNCTIONS);

	get();
	for (i = 0; i < FUNCTIONS; i++)
		if (numbers[i] < ED448_KEYGEN || numbers[i] > ED448_VERIFY)
			CHECK(list[i].flags & ICA_FLAG_SW || numbers[i] == X448_KEYGEN || numbers[i] == X448_DERIVE);
	CHECK(element(AES_CBC)->property == (ICA_PROPERTY_AES_128 | ICA_PROPERTY_AES_192 | ICA_PROPERTY_AES_256));
	CHECK(element(AES_XTS)->property == (ICA_PROPERTY_AES_128 | ICA_PROPERTY_AES_256));
	CHECK(element(EC_DSA_VERIFY)->property == (ICA_PROPERTY_EC_BP | ICA_PROPERTY_EC_NIST));
	CHECK(element(RSA_ME)->property == ICA_PROPERTY_RSA_ALL && element(SHA256)->property == 0);
	CHECK(element(X25519_DERIVE)->property == ICA_PROPERTY_EC_ED);
	if (!strcmp(machine, "plain"))
		CHECK(!(all_flags() & (ICA_FLAG_SHW | ICA_FLAG_DHW)));
	else if (!strcmp(machine, "cex"))
		CHECK(!(all_flags() & ICA_FLAG_SHW));
	else
		as_the_processor();

	/* Without fallbacks software is gone, but for keys of RSA: nothing else makes them. */
	ica_set_fallback_mode(ICA_FALLBACKS_DISABLED);
	get();
	for (i = 0; i < FUNCTIONS; i++) {
		int made = numbers[i] == RSA_KEY_GEN_ME || numbers[i] == RSA_KEY_GEN_CRT;

		CHECK(!!(list[i].flags & ICA_FLAG_SW) == made);
		CHECK(strcmp(machine, "plain") || list[i].flags == (made ? ICA_FLAG_SW : 0));
	}
	if (element(RSA_CRT)->flags)
		CHECK(element(RSA_CRT)->property == ICA_PROPERTY_RSA_FIPS);
	if (element(EC_DH)->flags)
		CHECK(element(EC_DH)->property == ICA_PROPERTY_EC_NIST);
	puts("good");
	return 0;
}
