//! libica's functions, found in the shared library that a program is linked with.

use adjunct_ossl::object::Object;
use std::ffi::{CStr, CString, c_int, c_uint, c_ulong, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Loads a library and keeps it.
pub fn object(path: &CStr, probe: &CStr) -> Option<Object> {
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        if handle.is_null() {
            return None;
        }
        Object::around(libc::dlsym(handle, probe.as_ptr()), probe)
    }
}

/// The library at `path`.
pub fn load(path: &Path) -> &'static Ica {
    let name = CString::new(path.as_os_str().as_bytes()).expect("a path");
    let object = object(&name, c"ica_get_version").expect("libica.so.4 is loaded");
    Box::leak(Box::new(Ica::find(object).expect("libica's functions")))
}

adjunct_ossl::functions! {
    #[derive(Debug)]
    pub Ica:
        aes_ecb c"ica_aes_ecb" (*const u8, *mut u8, c_ulong, *const u8, c_uint, c_uint) -> c_uint;
        aes_cbc c"ica_aes_cbc" (*const u8, *mut u8, c_ulong, *const u8, c_uint, *mut u8, c_uint) -> c_uint;
        aes_cbc_cs c"ica_aes_cbc_cs" (*const u8, *mut u8, c_ulong, *const u8, c_uint, *mut u8, c_uint, c_uint) -> c_uint;
        aes_cfb c"ica_aes_cfb" (*const u8, *mut u8, c_ulong, *const u8, c_uint, *mut u8, c_uint, c_uint) -> c_uint;
        aes_ofb c"ica_aes_ofb" (*const u8, *mut u8, c_ulong, *const u8, c_uint, *mut u8, c_uint) -> c_uint;
        aes_ctr c"ica_aes_ctr" (*const u8, *mut u8, c_ulong, *const u8, c_uint, *mut u8, c_uint, c_uint) -> c_uint;
        aes_ctrlist c"ica_aes_ctrlist" (*const u8, *mut u8, c_ulong, *const u8, c_uint, *const u8, c_uint) -> c_uint;
        aes_xts c"ica_aes_xts" (*const u8, *mut u8, c_ulong, *const u8, *const u8, c_uint, *const u8, c_uint) -> c_uint;
        aes_cmac c"ica_aes_cmac" (*const u8, c_ulong, *mut u8, c_uint, *const u8, c_uint, c_uint) -> c_uint;
        aes_ccm c"ica_aes_ccm" (*mut u8, c_ulong, *mut u8, c_uint, *const u8, c_ulong, *const u8, c_uint, *const u8, c_uint,
            c_uint) -> c_uint;
        aes_gcm c"ica_aes_gcm" (*mut u8, c_ulong, *mut u8, *const u8, c_uint, *const u8, c_ulong, *mut u8, c_uint, *const u8,
            c_uint, c_uint) -> c_uint;
        gcm_initialize c"ica_aes_gcm_initialize" (*const u8, c_uint, *const u8, c_uint, *mut u8, *mut u8, *mut u8, c_uint)
            -> c_uint;
        gcm_intermediate c"ica_aes_gcm_intermediate" (*mut u8, c_ulong, *mut u8, *mut u8, *const u8, c_ulong, *mut u8, c_uint,
            *const u8, c_uint, *const u8, c_uint) -> c_uint;
        gcm_last c"ica_aes_gcm_last" (*const u8, c_ulong, c_ulong, *mut u8, *const u8, c_uint, *const u8, c_uint, *const u8,
            c_uint) -> c_uint;
        kma_new c"ica_aes_gcm_kma_ctx_new" () -> *mut c_void;
        kma_init c"ica_aes_gcm_kma_init" (c_uint, *const u8, c_uint, *const u8, c_uint, *mut c_void) -> c_int;
        kma_update c"ica_aes_gcm_kma_update" (*const u8, *mut u8, c_ulong, *const u8, c_ulong, c_uint, c_uint, *mut c_void)
            -> c_int;
        kma_get_tag c"ica_aes_gcm_kma_get_tag" (*mut u8, c_uint, *mut c_void) -> c_int;
        tdes_ecb c"ica_3des_ecb" (*const u8, *mut u8, c_ulong, *const u8, c_uint) -> c_uint;
        tdes_cbc c"ica_3des_cbc" (*const u8, *mut u8, c_ulong, *const u8, *mut u8, c_uint) -> c_uint;
        des_cbc c"ica_des_cbc" (*const u8, *mut u8, c_ulong, *const u8, *mut u8, c_uint) -> c_uint;
        sha1 c"ica_sha1" (c_uint, c_uint, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha224 c"ica_sha224" (c_uint, c_uint, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha256 c"ica_sha256" (c_uint, c_uint, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha384 c"ica_sha384" (c_uint, u64, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha512 c"ica_sha512" (c_uint, u64, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha512_224 c"ica_sha512_224" (c_uint, u64, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha512_256 c"ica_sha512_256" (c_uint, u64, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha3_224 c"ica_sha3_224" (c_uint, c_uint, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha3_256 c"ica_sha3_256" (c_uint, c_uint, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha3_384 c"ica_sha3_384" (c_uint, u64, *const u8, *mut c_void, *mut u8) -> c_uint;
        sha3_512 c"ica_sha3_512" (c_uint, u64, *const u8, *mut c_void, *mut u8) -> c_uint;
        shake_128 c"ica_shake_128" (c_uint, u64, *const u8, *mut c_void, *mut u8, c_uint) -> c_uint;
        shake_256 c"ica_shake_256" (c_uint, u64, *const u8, *mut c_void, *mut u8, c_uint) -> c_uint;
}
