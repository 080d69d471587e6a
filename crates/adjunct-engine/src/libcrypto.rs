//! The libcrypto that loaded the engine: its functions, found at run time as the provider finds them, so that the module
//! links none and serves whichever one calls it.

pub use adjunct_ossl::Opaque;
use adjunct_ossl::errors::Errors;
use adjunct_ossl::object::Object;
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::sync::OnceLock;

/// `RSA_METHOD`'s four operations.
pub type RsaOperation =
    unsafe extern "C" fn(length: c_int, from: *const u8, to: *mut u8, rsa: Opaque, padding: c_int) -> c_int;
/// `EC_KEY_METHOD`'s `sign`.
pub type Sign = unsafe extern "C" fn(
    kind: c_int,
    digest: *const u8,
    length: c_int,
    signature: *mut u8,
    signature_length: *mut c_uint,
    kinv: Opaque,
    r: Opaque,
    key: Opaque,
) -> c_int;
/// `EC_KEY_METHOD`'s `sign_setup`.
pub type SignSetup = unsafe extern "C" fn(key: Opaque, context: Opaque, kinv: *mut Opaque, r: *mut Opaque) -> c_int;
/// `EC_KEY_METHOD`'s `sign_sig`.
pub type SignSig =
    unsafe extern "C" fn(digest: *const u8, length: c_int, kinv: Opaque, r: Opaque, key: Opaque) -> Opaque;
/// `EC_KEY_METHOD`'s `verify`.
pub type Verify = unsafe extern "C" fn(
    kind: c_int,
    digest: *const u8,
    length: c_int,
    signature: *const u8,
    signature_length: c_int,
    key: Opaque,
) -> c_int;
/// `EC_KEY_METHOD`'s `verify_sig`.
pub type VerifySig = unsafe extern "C" fn(digest: *const u8, length: c_int, signature: Opaque, key: Opaque) -> c_int;
/// `EC_KEY_METHOD`'s `keygen`.
pub type Generate = unsafe extern "C" fn(key: Opaque) -> c_int;
/// `EC_KEY_METHOD`'s `compute_key`.
pub type ComputeKey =
    unsafe extern "C" fn(secret: *mut *mut u8, length: *mut usize, peer: Opaque, key: Opaque) -> c_int;
/// `ENGINE`'s init, finish and destroy functions.
pub type EngineFunction = unsafe extern "C" fn(engine: Opaque) -> c_int;
/// `ENGINE`'s control function.
pub type EngineControl = unsafe extern "C" fn(
    engine: Opaque,
    command: c_int,
    number: c_long,
    pointer: *mut c_void,
    function: *const c_void,
) -> c_int;
/// `CRYPTO_EX_dup`.
pub type ExDup = unsafe extern "C" fn(
    to: Opaque,
    from: Opaque,
    data: *mut Opaque,
    index: c_int,
    long: c_long,
    argument: Opaque,
) -> c_int;
/// `CRYPTO_EX_free`.
pub type ExFree =
    unsafe extern "C" fn(parent: Opaque, data: Opaque, all: Opaque, index: c_int, long: c_long, argument: Opaque);

adjunct_ossl::functions! {
    /// The functions of libcrypto that are used; all exist in every OpenSSL 3.
    pub Functions { errors: Errors }:
    version c"OpenSSL_version_num" () -> c_ulong;
    malloc c"CRYPTO_malloc" (usize, *const c_char, c_int) -> Opaque;
    engine_set_id c"ENGINE_set_id" (Opaque, *const c_char) -> c_int;
    engine_set_name c"ENGINE_set_name" (Opaque, *const c_char) -> c_int;
    engine_set_rsa c"ENGINE_set_RSA" (Opaque, Opaque) -> c_int;
    engine_set_ec c"ENGINE_set_EC" (Opaque, Opaque) -> c_int;
    engine_set_init c"ENGINE_set_init_function" (Opaque, EngineFunction) -> c_int;
    engine_set_control c"ENGINE_set_ctrl_function" (Opaque, EngineControl) -> c_int;
    engine_set_flags c"ENGINE_set_flags" (Opaque, c_int) -> c_int;
    ex_new_index c"CRYPTO_get_ex_new_index"
        (c_int, c_long, Opaque, *const c_void, Option<ExDup>, Option<ExFree>) -> c_int;
    bn_bits c"BN_num_bits" (Opaque) -> c_int;
    bn_to_bytes c"BN_bn2binpad" (Opaque, *mut u8, c_int) -> c_int;
    bn_from_bytes c"BN_bin2bn" (*const u8, c_int, Opaque) -> Opaque;
    bn_clear_free c"BN_clear_free" (Opaque);
    rsa_default c"RSA_PKCS1_OpenSSL" () -> Opaque;
    rsa_meth_dup c"RSA_meth_dup" (Opaque) -> Opaque;
    rsa_meth_set_name c"RSA_meth_set1_name" (Opaque, *const c_char) -> c_int;
    rsa_meth_set_pub_enc c"RSA_meth_set_pub_enc" (Opaque, RsaOperation) -> c_int;
    rsa_meth_set_pub_dec c"RSA_meth_set_pub_dec" (Opaque, RsaOperation) -> c_int;
    rsa_meth_set_priv_enc c"RSA_meth_set_priv_enc" (Opaque, RsaOperation) -> c_int;
    rsa_meth_set_priv_dec c"RSA_meth_set_priv_dec" (Opaque, RsaOperation) -> c_int;
    rsa_meth_pub_enc c"RSA_meth_get_pub_enc" (Opaque) -> Option<RsaOperation>;
    rsa_meth_pub_dec c"RSA_meth_get_pub_dec" (Opaque) -> Option<RsaOperation>;
    rsa_meth_priv_enc c"RSA_meth_get_priv_enc" (Opaque) -> Option<RsaOperation>;
    rsa_meth_priv_dec c"RSA_meth_get_priv_dec" (Opaque) -> Option<RsaOperation>;
    rsa_table c"RSA_get_method" (Opaque) -> Opaque;
    rsa_key c"RSA_get0_key" (Opaque, *mut Opaque, *mut Opaque, *mut Opaque);
    rsa_factors c"RSA_get0_factors" (Opaque, *mut Opaque, *mut Opaque);
    rsa_crt c"RSA_get0_crt_params" (Opaque, *mut Opaque, *mut Opaque, *mut Opaque);
    rsa_extra_primes c"RSA_get_multi_prime_extra_count" (Opaque) -> c_int;
    rsa_ex_data c"RSA_get_ex_data" (Opaque, c_int) -> Opaque;
    rsa_set_ex_data c"RSA_set_ex_data" (Opaque, c_int, Opaque) -> c_int;
    check_type_1 c"RSA_padding_check_PKCS1_type_1" (*mut u8, c_int, *const u8, c_int, c_int) -> c_int;
    check_type_2 c"RSA_padding_check_PKCS1_type_2" (*mut u8, c_int, *const u8, c_int, c_int) -> c_int;
    check_oaep c"RSA_padding_check_PKCS1_OAEP"
        (*mut u8, c_int, *const u8, c_int, c_int, *const u8, c_int) -> c_int;
    ec_default c"EC_KEY_OpenSSL" () -> Opaque;
    ec_meth_new c"EC_KEY_METHOD_new" (Opaque) -> Opaque;
    ec_meth_set_sign c"EC_KEY_METHOD_set_sign" (Opaque, Option<Sign>, Option<SignSetup>, Option<SignSig>);
    ec_meth_set_verify c"EC_KEY_METHOD_set_verify" (Opaque, Option<Verify>, Option<VerifySig>);
    ec_meth_set_keygen c"EC_KEY_METHOD_set_keygen" (Opaque, Option<Generate>);
    ec_meth_set_compute_key c"EC_KEY_METHOD_set_compute_key" (Opaque, Option<ComputeKey>);
    ec_meth_sign c"EC_KEY_METHOD_get_sign" (Opaque, *mut Option<Sign>, *mut Option<SignSetup>, *mut Option<SignSig>);
    ec_meth_verify c"EC_KEY_METHOD_get_verify" (Opaque, *mut Option<Verify>, *mut Option<VerifySig>);
    ec_meth_keygen c"EC_KEY_METHOD_get_keygen" (Opaque, *mut Option<Generate>);
    ec_meth_compute_key c"EC_KEY_METHOD_get_compute_key" (Opaque, *mut Option<ComputeKey>);
    ec_table c"EC_KEY_get_method" (Opaque) -> Opaque;
    ec_group c"EC_KEY_get0_group" (Opaque) -> Opaque;
    ec_private c"EC_KEY_get0_private_key" (Opaque) -> Opaque;
    ec_public c"EC_KEY_get0_public_key" (Opaque) -> Opaque;
    ec_set_private c"EC_KEY_set_private_key" (Opaque, Opaque) -> c_int;
    ec_set_public c"EC_KEY_set_public_key" (Opaque, Opaque) -> c_int;
    group_name c"EC_GROUP_get_curve_name" (Opaque) -> c_int;
    point_new c"EC_POINT_new" (Opaque) -> Opaque;
    point_free c"EC_POINT_free" (Opaque);
    point_to_bytes c"EC_POINT_point2oct" (Opaque, Opaque, c_int, *mut u8, usize, Opaque) -> usize;
    point_from_bytes c"EC_POINT_oct2point" (Opaque, Opaque, *const u8, usize, Opaque) -> c_int;
    signature_new c"ECDSA_SIG_new" () -> Opaque;
    signature_free c"ECDSA_SIG_free" (Opaque);
    signature_set c"ECDSA_SIG_set0" (Opaque, Opaque, Opaque) -> c_int;
    signature_get c"ECDSA_SIG_get0" (Opaque, *mut Opaque, *mut Opaque);
}

static FOUND: OnceLock<(Object, Functions)> = OnceLock::new();

/// Finds the functions of the libcrypto around an address.
///
/// The first one found stays: methods hold its functions. A second libcrypto of the same process gets `None`, for its objects
/// are not the first one's.
pub fn open(inside: *const c_void) -> Option<&'static Functions> {
    let object = Object::around(inside, c"ENGINE_set_id")?;
    if FOUND.get().is_none() {
        let _ = FOUND.set((object, Functions::find(object)?));
    }
    let (first, functions) = FOUND.get()?;
    (first.base() == object.base()).then_some(functions)
}

/// The functions.
///
/// # Panics
/// Before [`open`] has succeeded; every caller is a function that was registered after that.
pub fn functions() -> &'static Functions {
    &FOUND.get().expect("bound to a libcrypto").1
}

/// The libcrypto that the functions are of, once one was found.
pub fn object() -> Option<Object> {
    FOUND.get().map(|found| found.0)
}
