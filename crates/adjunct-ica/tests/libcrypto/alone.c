/* alone LIBRARY with|without|busy: a program that links neither libica nor libcrypto loads libica, its symbols to itself, and uses
 * Curve448, which is there with a libcrypto only; with "busy" in a process that opens no more files. */
#include "../interface/common.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

static void *library;

/* A function of the interface, with the type that the header gives it. */
#define ICA(name) ((__typeof__(&name))dlsym(library, #name))

static void x448(int there)
{
	unsigned char mine[56], yours[56], a[56], b[56];
	ICA_X448_CTX *me = NULL, *you = NULL;

	if (!there) {
		CHECK(ICA(ica_x448_ctx_new)(&me) == -1 && !me);
		return;
	}
	CHECK(ICA(ica_x448_ctx_new)(&me) == 0 && ICA(ica_x448_key_gen)(me) == 0 && ICA(ica_x448_key_get)(me, NULL, mine) == 0);
	CHECK(ICA(ica_x448_ctx_new)(&you) == 0 && ICA(ica_x448_key_gen)(you) == 0 && ICA(ica_x448_key_get)(you, NULL, yours) == 0);
	CHECK(ICA(ica_x448_derive)(me, a, yours) == 0 && ICA(ica_x448_derive)(you, b, mine) == 0 && !memcmp(a, b, 56));
	CHECK(ICA(ica_x448_ctx_del)(&me) == 0 && ICA(ica_x448_ctx_del)(&you) == 0);
}

static void ed448(int there)
{
	unsigned char sig[114];
	ICA_ED448_CTX *ed = NULL;

	if (!there) {
		CHECK(ICA(ica_ed448_ctx_new)(&ed) == -1 && !ed);
		return;
	}
	CHECK(ICA(ica_ed448_ctx_new)(&ed) == 0 && ICA(ica_ed448_key_gen)(ed) == 0);
	CHECK(ICA(ica_ed448_sign)(ed, sig, sig, 0) == 0 && ICA(ica_ed448_verify)(ed, sig, sig, 0) == 0);
	CHECK(ICA(ica_ed448_ctx_del)(&ed) == 0);
}

/* What software of nobody's serves has no flags in the list. */
static void list(int there)
{
	libica_func_list_element all[100];
	unsigned int i, length = 100, found = 0;

	CHECK(ICA(ica_get_functionlist)(all, &length) == 0);
	for (i = 0; i < length; i++)
		if (all[i].mech_mode_id == X448_DERIVE || all[i].mech_mode_id == ED448_SIGN) {
			found++;
			CHECK(all[i].flags == (there ? ICA_FLAG_SW : 0));
		}
	CHECK(found == 2);
}

int main(int argc, char **argv)
{
	int there;
	struct rlimit none = {0, 0};
	ICA_X25519_CTX *ctx = NULL;

	CHECK(argc == 3);
	alarm(60);
	there = strcmp(argv[2], "without");
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(library);
	if (!strcmp(argv[2], "busy"))
		CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK(ICA(ica_x25519_ctx_new)(&ctx) == 0 && ICA(ica_x25519_key_gen)(ctx) == 0 && ICA(ica_x25519_ctx_del)(&ctx) == 0);
	list(there);
	x448(there);
	/* OpenSSL 3 loads the program's configuration when Ed448 first hashes; OpenSSL 4 and X448 do not. */
	if (strcmp(argv[2], "with"))
		ed448(there);
	puts("good");
	return 0;
}
