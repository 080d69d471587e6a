/* What the programs share: checks that end them, and the engine. */
#include <openssl/engine.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what, ...)                                                  \
    do {                                                                  \
        if (!(what)) {                                                    \
            printf("%s:%d: %s:", __FILE__, __LINE__, #what);             \
            printf(" " __VA_ARGS__);                                      \
            puts("");                                                     \
            ERR_print_errors_fp(stdout);                                  \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

static ENGINE *engine;

static ENGINE *load(const char *module)
{
    ENGINE_load_dynamic();
    ENGINE *e = ENGINE_by_id("dynamic");
    CHECK(e != NULL);
    CHECK(ENGINE_ctrl_cmd_string(e, "SO_PATH", module, 0) == 1, "%s", module);
    CHECK(ENGINE_ctrl_cmd_string(e, "ID", "adjunct", 0) == 1);
    CHECK(ENGINE_ctrl_cmd_string(e, "LOAD", NULL, 0) == 1, "%s", module);
    CHECK(strcmp(ENGINE_get_id(e), "adjunct") == 0);
    CHECK(ENGINE_init(e) == 1);
    return e;
}
