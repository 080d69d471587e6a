/*
 * In place of openCryptoki's usr/lib/common/pkey_utils.c, which is written in instructions of s390x: no key is protected by a CPU,
 * and the EP11 token sends every operation to the coprocessor. The build of the token finds this file first, as it lies in the folder
 * of the build.
 */

#include <pkcs11types.h>

#include "defs.h"
#include "host_defs.h"
#include "h_extern.h"
#include "pkey_utils.h"

int get_msa_level(void)
{
    return 0;
}

CK_BBOOL pkey_is_ec_public_key(TEMPLATE *tmpl)
{
    (void)tmpl;
    return FALSE;
}

CK_BBOOL pkey_op_supported_by_cpacf(int msa_level, CK_MECHANISM_TYPE type, TEMPLATE *tmpl)
{
    (void)msa_level, (void)type, (void)tmpl;
    return FALSE;
}

CK_BBOOL pkey_op_ec_curve_supported_by_cpacf(TEMPLATE *tmpl)
{
    (void)tmpl;
    return FALSE;
}

CK_RV pkey_update_and_save(STDLL_TokData_t *tokdata, OBJECT *key_obj, CK_ATTRIBUTE **attr)
{
    (void)tokdata, (void)key_obj, (void)attr;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_aes_ecb(OBJECT *key, CK_BYTE *in, CK_ULONG in_len, CK_BYTE *out, CK_ULONG_PTR out_len, CK_BYTE encrypt)
{
    (void)key, (void)in, (void)in_len, (void)out, (void)out_len, (void)encrypt;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_aes_cbc(OBJECT *key, CK_BYTE *iv, CK_BYTE *in, CK_ULONG in_len, CK_BYTE *out, CK_ULONG_PTR out_len,
                   CK_BYTE encrypt)
{
    (void)key, (void)iv, (void)in, (void)in_len, (void)out, (void)out_len, (void)encrypt;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_aes_cmac(OBJECT *key, CK_BYTE *message, CK_ULONG length, CK_BYTE *cmac, CK_BYTE *iv)
{
    (void)key, (void)message, (void)length, (void)cmac, (void)iv;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_aes_xts(OBJECT *key, CK_BYTE *tweak, CK_BYTE *in, CK_ULONG in_len, CK_BYTE *out, CK_ULONG_PTR out_len,
                   CK_BYTE encrypt, CK_BBOOL initial, CK_BBOOL final, CK_BYTE *iv)
{
    (void)key, (void)tweak, (void)in, (void)in_len, (void)out, (void)out_len, (void)encrypt, (void)initial, (void)final, (void)iv;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_ec_sign(OBJECT *key, CK_BYTE *hash, CK_ULONG hash_len, CK_BYTE *sig, CK_ULONG *sig_len,
                   void (*rng_cb)(unsigned char *, size_t))
{
    (void)key, (void)hash, (void)hash_len, (void)sig, (void)sig_len, (void)rng_cb;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_ibm_ed_sign(OBJECT *key, CK_BYTE *message, CK_ULONG length, CK_BYTE *sig, CK_ULONG *sig_len)
{
    (void)key, (void)message, (void)length, (void)sig, (void)sig_len;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_ec_verify(OBJECT *key, CK_BYTE *hash, CK_ULONG hash_len, CK_BYTE *sig, CK_ULONG sig_len)
{
    (void)key, (void)hash, (void)hash_len, (void)sig, (void)sig_len;
    return CKR_FUNCTION_NOT_SUPPORTED;
}

CK_RV pkey_ibm_ed_verify(OBJECT *key, CK_BYTE *message, CK_ULONG length, CK_BYTE *sig, CK_ULONG sig_len)
{
    (void)key, (void)message, (void)length, (void)sig, (void)sig_len;
    return CKR_FUNCTION_NOT_SUPPORTED;
}
