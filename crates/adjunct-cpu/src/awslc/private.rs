//! Parts of AWS-LC that its headers do not declare, or not those that aws-lc-sys binds for every target: functions, under AWS-LC's own names, and the
//! layouts of the structures they work on.
//!
//! The one place that names AWS-LC's version, but for the linker's flags (`link/module.args`). Another version is taken by changing it here
//! and in Cargo.toml: a function that is gone fails to link, and where a structure or the flags differ the tests of
//! [`super::private_tests`] fail.

use aws_lc_sys as lc;
use std::ffi::{c_int, c_uint, c_void};

/// The symbol that aws-lc-sys gives to AWS-LC's `$name`.
macro_rules! symbol {
    ($name:ident) => {
        concat!("aws_lc_0_47_0_", stringify!($name))
    };
}

pub(super) use symbol;

/// Declares functions of AWS-LC.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case, reason = "the names are AWS-LC's")]
        unsafe extern "C" {
            $($(#[$attribute])* #[link_name = symbol!($name)] pub(super) fn $name($($argument: $type),*) $(-> $result)?;)*
        }
    };
}

/// `DES_key_schedule` of des.h: 16 round keys of two words.
pub(crate) type DesKeySchedule = [u32; 32];

// crypto/fipsmodule/des/internal.h and des.h. DES_set_key_unchecked takes a key of any parity.
functions! {
    fn DES_set_key_unchecked(key: *const u8, schedule: *mut c_void);
    fn DES_ecb_encrypt(input: *const u8, output: *mut u8, schedule: *const c_void, encrypt: c_int);
    fn DES_ecb3_encrypt(
        input: *const u8,
        output: *mut u8,
        first: *const c_void,
        second: *const c_void,
        third: *const c_void,
        encrypt: c_int,
    );
    fn DES_ncbc_encrypt(
        input: *const u8,
        output: *mut u8,
        length: usize,
        schedule: *const c_void,
        iv: *mut u8,
        encrypt: c_int,
    );
    fn DES_ede3_cbc_encrypt(
        input: *const u8,
        output: *mut u8,
        length: usize,
        first: *const c_void,
        second: *const c_void,
        third: *const c_void,
        iv: *mut u8,
        encrypt: c_int,
    );
}

// crypto/fipsmodule/bn/internal.h: what takes as long for every number of the same width.
functions! {
    fn bn_mul_consttime(r: *mut lc::BIGNUM, a: *const lc::BIGNUM, b: *const lc::BIGNUM, ctx: *mut lc::BN_CTX) -> c_int;
    fn bn_div_consttime(
        quotient: *mut lc::BIGNUM,
        remainder: *mut lc::BIGNUM,
        a: *const lc::BIGNUM,
        m: *const lc::BIGNUM,
        least_bits: c_uint,
        ctx: *mut lc::BN_CTX,
    ) -> c_int;
    fn bn_mod_inverse_consttime(
        r: *mut lc::BIGNUM,
        none: *mut c_int,
        a: *const lc::BIGNUM,
        m: *const lc::BIGNUM,
        ctx: *mut lc::BN_CTX,
    ) -> c_int;
    fn bn_is_relatively_prime(
        coprime: *mut c_int,
        a: *const lc::BIGNUM,
        b: *const lc::BIGNUM,
        ctx: *mut lc::BN_CTX,
    ) -> c_int;
    fn bn_lcm_consttime(r: *mut lc::BIGNUM, a: *const lc::BIGNUM, b: *const lc::BIGNUM, ctx: *mut lc::BN_CTX) -> c_int;
    fn bn_mod_sub_consttime(
        r: *mut lc::BIGNUM,
        a: *const lc::BIGNUM,
        b: *const lc::BIGNUM,
        m: *const lc::BIGNUM,
        ctx: *mut lc::BN_CTX,
    ) -> c_int;
    fn bn_uadd_consttime(r: *mut lc::BIGNUM, a: *const lc::BIGNUM, b: *const lc::BIGNUM) -> c_int;
    fn bn_odd_number_is_obviously_composite(number: *const lc::BIGNUM) -> c_int;
}

// crypto/ecdh_extra and crypto/fipsmodule/ec.
functions! {
    /// The raw x coordinate; the public ECDH_compute_key copies it through a key derivation callback. Checks the peer's point.
    fn ECDH_compute_shared_secret(
        out: *mut u8,
        length: *mut usize,
        peer: *const lc::EC_POINT,
        key: *const lc::EC_KEY,
    ) -> c_int;
    /// ECDSA_do_sign with a nonce that is given. Two digests signed with one nonce give the key away: hence the name.
    fn ECDSA_sign_with_nonce_and_leak_private_key_for_testing(
        digest: *const u8,
        length: usize,
        key: *const lc::EC_KEY,
        nonce: *const u8,
        nonce_length: usize,
    ) -> *mut lc::ECDSA_SIG;
}

/// `KECCAK1600_CTX` of crypto/fipsmodule/sha/internal.h.
#[repr(C)]
pub(crate) struct Keccak {
    pub(crate) state: [u64; 25],
    pub(crate) block_size: usize,
    pub(crate) md_size: usize,
    pub(crate) buf_load: usize,
    pub(crate) buf: [u8; 168],
    pub(crate) pad: u8,
    pub(crate) phase: u8,
}

/// `MD5_CTX` of md5.h.
#[repr(C)]
pub(crate) struct Md5 {
    pub(crate) state: [u32; 4],
    pub(crate) bits: [u32; 2],
    pub(crate) buf: [u8; 64],
    pub(crate) num: u32,
}

// md5.h, whose context aws-lc-sys does not bind for every target, and crypto/fipsmodule/sha/internal.h.
functions! {
    fn MD5_Init(context: *mut c_void) -> c_int;
    fn MD5_Update(context: *mut c_void, data: *const u8, length: usize) -> c_int;
    fn MD5_Final(out: *mut u8, context: *mut c_void) -> c_int;
    fn SHA3_Init(context: *mut c_void, bits: usize) -> c_int;
    fn SHA3_Update(context: *mut c_void, data: *const u8, length: usize) -> c_int;
    fn SHA3_Final(out: *mut u8, context: *mut c_void) -> c_int;
    fn SHAKE_Init(context: *mut c_void, block: usize) -> c_int;
    fn SHAKE_Absorb(context: *mut c_void, data: *const u8, length: usize) -> c_int;
    fn SHAKE_Squeeze(out: *mut u8, context: *mut c_void, length: usize) -> c_int;
}

// crypto/cipher_extra/internal.h: the MAC of a TLS record whose length is secret.
functions! {
    fn EVP_tls_cbc_digest_record(
        md: *const lc::EVP_MD,
        out: *mut u8,
        out_length: *mut usize,
        header: *const u8,
        data: *const u8,
        data_length: usize,
        record_length: usize,
        key: *const u8,
        key_length: c_uint,
    ) -> c_int;
}

// crypto/fipsmodule/ml_dsa/ml_dsa.h and crypto/fipsmodule/ml_kem/ml_kem.h: ML-DSA gives 1 for success, ML-KEM 0. EVP has neither ML-DSA's
// variants (without randomness, of a digest) nor ML-KEM's seeds.
macro_rules! lattices {
    ($(dsa $keypair:ident $public:ident $sign:ident $verify:ident;)* $(kem $generate:ident $encapsulate:ident $encapsulate_of:ident $decapsulate:ident $check_public:ident $check_private:ident;)*) => {
        functions! {
            $(
                fn $keypair(public: *mut u8, private: *mut u8, seed: *const u8) -> c_int;
                /// Checks that the parts of the private key belong together.
                fn $public(public: *mut u8, private: *const u8) -> c_int;
                fn $sign(
                    private: *const u8,
                    signature: *mut u8,
                    signature_length: *mut usize,
                    message: *const u8,
                    length: usize,
                    prefix: *const u8,
                    prefix_length: usize,
                    random: *const u8,
                ) -> c_int;
                fn $verify(
                    public: *const u8,
                    signature: *const u8,
                    signature_length: usize,
                    message: *const u8,
                    length: usize,
                    prefix: *const u8,
                    prefix_length: usize,
                ) -> c_int;
            )*
            $(
                fn $generate(
                    public: *mut u8,
                    public_length: *mut usize,
                    private: *mut u8,
                    private_length: *mut usize,
                    seed: *const u8,
                ) -> c_int;
                fn $encapsulate(
                    ciphertext: *mut u8,
                    ciphertext_length: *mut usize,
                    secret: *mut u8,
                    secret_length: *mut usize,
                    public: *const u8,
                ) -> c_int;
                fn $encapsulate_of(
                    ciphertext: *mut u8,
                    ciphertext_length: *mut usize,
                    secret: *mut u8,
                    secret_length: *mut usize,
                    public: *const u8,
                    random: *const u8,
                ) -> c_int;
                fn $decapsulate(
                    secret: *mut u8,
                    secret_length: *mut usize,
                    ciphertext: *const u8,
                    private: *const u8,
                ) -> c_int;
                fn $check_public(public: *const u8, length: usize) -> c_int;
                fn $check_private(private: *const u8, length: usize) -> c_int;
            )*
        }
    };
}

lattices! {
    dsa ml_dsa_44_keypair_internal ml_dsa_44_pack_pk_from_sk ml_dsa_44_sign_internal ml_dsa_44_verify_internal;
    dsa ml_dsa_65_keypair_internal ml_dsa_65_pack_pk_from_sk ml_dsa_65_sign_internal ml_dsa_65_verify_internal;
    dsa ml_dsa_87_keypair_internal ml_dsa_87_pack_pk_from_sk ml_dsa_87_sign_internal ml_dsa_87_verify_internal;
    kem ml_kem_512_keypair_deterministic ml_kem_512_encapsulate ml_kem_512_encapsulate_deterministic ml_kem_512_decapsulate
        ml_kem_512_check_pk ml_kem_512_check_sk;
    kem ml_kem_768_keypair_deterministic ml_kem_768_encapsulate ml_kem_768_encapsulate_deterministic ml_kem_768_decapsulate
        ml_kem_768_check_pk ml_kem_768_check_sk;
    kem ml_kem_1024_keypair_deterministic ml_kem_1024_encapsulate ml_kem_1024_encapsulate_deterministic ml_kem_1024_decapsulate
        ml_kem_1024_check_pk ml_kem_1024_check_sk;
}

// crypto/rand_extra/internal.h and crypto/ube/internal.h.
functions! {
    /// Bytes of the operating system; 0 where it has none yet, after a start of the machine. Ends the process where it refuses them.
    fn CRYPTO_sysrand_if_available(out: *mut u8, length: usize) -> c_int;
    /// Gives the generation of the virtual machine; 0 where it cannot be known.
    fn CRYPTO_get_ube_generation_number(number: *mut u64) -> c_int;
}

/// A function pointer in a structure that only the library calls through.
pub(super) type Function = Option<unsafe extern "C" fn()>;
/// `block128_f` of crypto/fipsmodule/modes/internal.h.
pub(super) type Block128 = unsafe extern "C" fn(*const u8, *mut u8, *const lc::AES_KEY);
/// `ctr128_f` of crypto/fipsmodule/modes/internal.h.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) type Ctr128 = unsafe extern "C" fn(*const u8, *mut u8, usize, *const lc::AES_KEY, *const u8);

/// `GCM128_KEY` of crypto/fipsmodule/modes/internal.h.
#[repr(C)]
#[derive(Clone)]
pub(super) struct GcmKey {
    pub(super) htable: [[u64; 2]; 16],
    pub(super) gmult: Function,
    pub(super) ghash: Function,
    pub(super) block: Option<Block128>,
    pub(super) use_hw_gcm_crypt: u32,
}

/// `GCM128_CONTEXT` of crypto/fipsmodule/modes/internal.h.
#[repr(C, align(16))]
#[derive(Clone)]
pub(super) struct GcmContext {
    pub(super) yi: [u8; 16],
    pub(super) eki: [u8; 16],
    pub(super) ek0: [u8; 16],
    pub(super) len: [u64; 2],
    pub(super) xi: [u8; 16],
    pub(super) key: GcmKey,
    pub(super) mres: u32,
    pub(super) ares: u32,
}

// crypto/fipsmodule/modes/internal.h and aes.h.
functions! {
    fn CRYPTO_gcm128_init_key(table: *mut GcmKey, key: *const lc::AES_KEY, block: Block128, block_is_hwaes: c_int);
    fn CRYPTO_ghash_init(
        gmult: *mut Function,
        ghash: *mut Function,
        table: *mut [u64; 2],
        avx: *mut c_int,
        subkey: *const u8,
    );
    fn CRYPTO_gcm128_setiv(ctx: *mut GcmContext, key: *const lc::AES_KEY, iv: *const u8, length: usize);
    fn CRYPTO_gcm128_aad(ctx: *mut GcmContext, aad: *const u8, length: usize) -> c_int;
    fn CRYPTO_gcm128_encrypt(
        ctx: *mut GcmContext,
        key: *const lc::AES_KEY,
        input: *const u8,
        output: *mut u8,
        length: usize,
    ) -> c_int;
    fn CRYPTO_gcm128_decrypt(
        ctx: *mut GcmContext,
        key: *const lc::AES_KEY,
        input: *const u8,
        output: *mut u8,
        length: usize,
    ) -> c_int;
    fn CRYPTO_gcm128_tag(ctx: *mut GcmContext, tag: *mut u8, length: usize);
    fn AES_encrypt(input: *const u8, output: *mut u8, key: *const lc::AES_KEY);
}

// crypto/fipsmodule/modes/internal.h and crypto/fipsmodule/aes/internal.h, where there are AES instructions.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
functions! {
    fn CRYPTO_gcm128_encrypt_ctr32(
        ctx: *mut GcmContext,
        key: *const lc::AES_KEY,
        input: *const u8,
        output: *mut u8,
        length: usize,
        ctr: Ctr128,
    ) -> c_int;
    fn CRYPTO_gcm128_decrypt_ctr32(
        ctx: *mut GcmContext,
        key: *const lc::AES_KEY,
        input: *const u8,
        output: *mut u8,
        length: usize,
        ctr: Ctr128,
    ) -> c_int;
    fn aes_hw_encrypt(input: *const u8, output: *mut u8, key: *const lc::AES_KEY);
    fn aes_hw_ctr32_encrypt_blocks(
        input: *const u8,
        output: *mut u8,
        blocks: usize,
        key: *const lc::AES_KEY,
        ivec: *const u8,
    );
    fn aes_hw_xts_encrypt(
        input: *const u8,
        output: *mut u8,
        length: usize,
        data: *const lc::AES_KEY,
        tweak: *const lc::AES_KEY,
        iv: *const u8,
    );
    fn aes_hw_xts_decrypt(
        input: *const u8,
        output: *mut u8,
        length: usize,
        data: *const lc::AES_KEY,
        tweak: *const lc::AES_KEY,
        iv: *const u8,
    );
}

// crypto/fipsmodule/aes/internal.h. The public ECB takes one block a call: a quarter of the speed.
#[cfg(target_arch = "x86_64")]
functions! {
    fn aes_hw_ecb_encrypt(input: *const u8, output: *mut u8, length: usize, key: *const lc::AES_KEY, encrypt: c_int);
    fn aes_hw_cbc_encrypt(
        input: *const u8,
        output: *mut u8,
        length: usize,
        key: *const lc::AES_KEY,
        iv: *mut u8,
        encrypt: c_int,
    );
}

/// The words that AWS-LC's dispatchers read.
#[cfg(target_arch = "x86_64")]
mod capabilities {
    use std::sync::atomic::AtomicU32;
    unsafe extern "C" {
        /// CPUID leaf 1 EDX and ECX, leaf 7 EBX and ECX, as crypto/internal.h documents them.
        #[link_name = symbol!(OPENSSL_ia32cap_P)]
        pub(in super::super) static CAPABILITIES: [AtomicU32; 4];
    }
}

/// The word that AWS-LC's dispatchers read.
#[cfg(target_arch = "aarch64")]
mod capabilities {
    use std::sync::atomic::AtomicU32;
    unsafe extern "C" {
        /// The ARMV8_* bits of arm_arch.h.
        #[link_name = symbol!(OPENSSL_armcap_P)]
        pub(in super::super) static CAPABILITIES: AtomicU32;
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use capabilities::CAPABILITIES;
