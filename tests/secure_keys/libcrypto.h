/* What the programs share that call libcrypto. */
#ifndef LIBCRYPTO_H
#define LIBCRYPTO_H
#include "common.h"
#include <openssl/bn.h>
#include <openssl/err.h>

/* What failed, with the last error of libcrypto's queue. */
static const char *failed(const char *what) {
    static char text[1024];
    const char *data = "";
    int flags = 0;
    unsigned long error = ERR_peek_last_error_all(NULL, NULL, NULL, &data, &flags);
    char reason[256] = "";
    ERR_error_string_n(error, reason, sizeof reason);
    snprintf(text, sizeof text, "%s: %s: %s", what, reason, data ? data : "");
    ERR_clear_error();
    return text;
}

static BIGNUM *number(const unsigned char *bytes, size_t length) {
    return BN_bin2bn(bytes, (int)length, NULL);
}

#endif
