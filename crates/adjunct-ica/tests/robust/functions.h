/* Every function of the interface. */
#define FUNCTIONS(X) \
	X(3des_cbc) X(3des_cbc_cs) X(3des_cfb) X(3des_cmac) X(3des_cmac_intermediate) X(3des_cmac_last) X(3des_ctr) \
	X(3des_ctrlist) X(3des_ecb) X(3des_ofb) X(aes_cbc) X(aes_cbc_cs) X(aes_ccm) X(aes_cfb) X(aes_cmac) \
	X(aes_cmac_intermediate) X(aes_cmac_last) X(aes_ctr) X(aes_ctrlist) X(aes_ecb) X(aes_gcm) X(aes_gcm_initialize) \
	X(aes_gcm_initialize_fips) X(aes_gcm_intermediate) X(aes_gcm_kma_ctx_free) X(aes_gcm_kma_ctx_new) \
	X(aes_gcm_kma_get_iv) X(aes_gcm_kma_get_tag) X(aes_gcm_kma_init) X(aes_gcm_kma_init_fips) X(aes_gcm_kma_update) \
	X(aes_gcm_kma_verify_tag) X(aes_gcm_last) X(aes_ofb) X(aes_xts) X(aes_xts_ex) X(allow_external_gcm_iv_in_fips_mode) \
	X(cleanup) X(close_adapter) X(des_cbc) X(des_cbc_cs) X(des_cfb) X(des_cmac) X(des_cmac_intermediate) \
	X(des_cmac_last) X(des_ctr) X(des_ctrlist) X(des_ecb) X(des_ofb) X(drbg_generate) X(drbg_health_test) \
	X(drbg_instantiate) X(drbg_reseed) X(drbg_uninstantiate) X(ec_key_free) X(ec_key_generate) X(ec_key_get_private_key) \
	X(ec_key_get_public_key) X(ec_key_init) X(ec_key_new) X(ecdh_derive_secret) X(ecdsa_sign) X(ecdsa_sign_ex) \
	X(ecdsa_verify) X(ed25519_ctx_del) X(ed25519_ctx_new) X(ed25519_key_gen) X(ed25519_key_get) X(ed25519_key_set) \
	X(ed25519_sign) X(ed25519_verify) X(ed448_ctx_del) X(ed448_ctx_new) X(ed448_key_gen) X(ed448_key_get) \
	X(ed448_key_set) X(ed448_sign) X(ed448_verify) X(fips_status) X(get_build_version) X(get_functionlist) \
	X(get_hw_info) X(get_msa_level) X(get_version) X(mp_mul512) X(mp_sqr512) X(open_adapter) X(random_number_generate) \
	X(rsa_crt) X(rsa_crt_key_check) X(rsa_key_generate_crt) X(rsa_key_generate_mod_expo) X(rsa_mod_expo) \
	X(set_fallback_mode) X(set_offload_mode) X(set_stats_mode) X(sha1) X(sha224) X(sha256) X(sha384) X(sha3_224) \
	X(sha3_256) X(sha3_384) X(sha3_512) X(sha512) X(sha512_224) X(sha512_256) X(shake_128) X(shake_256) \
	X(x25519_ctx_del) X(x25519_ctx_new) X(x25519_derive) X(x25519_key_gen) X(x25519_key_get) X(x25519_key_set) \
	X(x448_ctx_del) X(x448_ctx_new) X(x448_derive) X(x448_key_gen) X(x448_key_get) X(x448_key_set)
