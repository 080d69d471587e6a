//! Keeps OpenSSL's own random generator on the default provider's cipher.

use super::Opaque;
use crate::abi::core::Core;
use adjunct::foreign::Object;
use std::ffi::{CStr, c_char, c_int};

type SetType = unsafe extern "C" fn(Opaque, *const c_char, *const c_char, *const c_char, *const c_char) -> c_int;
type Mark = unsafe extern "C" fn() -> c_int;
type ConfigFile = unsafe extern "C" fn() -> *mut c_char;
type Free = unsafe extern "C" fn(*mut c_char, *const c_char, c_int);

/// Asks OpenSSL to build its generator without this provider, so that `?provider=adjunct` in the default properties
/// neither redirects its AES-256-CTR to us nor counts it. Where a generator exists already, or the configuration has a
/// `random` section of its own, nothing is changed. To be called while the provider is initialised.
pub fn keep_generator_away(core: &Core) {
    let Some(handle) = Object::around(core.address(), c"OSSL_LIB_CTX_new") else { return };
    let find = || {
        Some((
            handle.symbol(c"RAND_set_DRBG_type")?,
            handle.symbol(c"ERR_set_mark")?,
            handle.symbol(c"ERR_pop_to_mark")?,
        ))
    };
    let Some((set, mark, pop)) = find() else { return };
    if configured(handle) {
        return;
    }
    // SAFETY: the symbols have the types of rand.h and err.h; the context is the one OpenSSL told us. A null name keeps
    // the default. The call fails where the generator exists already, and then the error is taken back.
    unsafe {
        let set = std::mem::transmute::<*mut std::ffi::c_void, SetType>(set);
        let mark = std::mem::transmute::<*mut std::ffi::c_void, Mark>(mark);
        let pop = std::mem::transmute::<*mut std::ffi::c_void, Mark>(pop);
        let null = std::ptr::null();
        mark();
        set(core.library_context(), null, c"provider!=adjunct".as_ptr(), null, null);
        pop();
    }
}

/// Whether the default configuration file names a `random` section: OpenSSL does not tell what it has read so far, and
/// setting a type clears all that stood there. Included files are not followed.
fn configured(handle: Object) -> bool {
    let (Some(file), Some(free)) = (handle.symbol(c"CONF_get1_default_config_file"), handle.symbol(c"CRYPTO_free"))
    else {
        return false;
    };
    // SAFETY: the symbols have the types of conf.h and crypto.h; the string is copied, then freed as documented.
    let path = unsafe {
        let file = std::mem::transmute::<*mut std::ffi::c_void, ConfigFile>(file);
        let free = std::mem::transmute::<*mut std::ffi::c_void, Free>(free);
        let raw = file();
        if raw.is_null() {
            return false;
        }
        let path = CStr::from_ptr(raw).to_owned();
        free(raw, c"".as_ptr(), 0);
        path
    };
    let Ok(path) = path.to_str() else { return false };
    std::fs::read(path).is_ok_and(|text| names_random(&text))
}

fn names_random(text: &[u8]) -> bool {
    text.split(|&b| b == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        line.strip_prefix(b"random").is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b'='))
    })
}

#[cfg(test)]
mod tests {
    use super::names_random;

    #[test]
    fn a_random_section_is_seen() {
        assert!(names_random(b"[openssl_init]\n random = random_sect\n"));
        assert!(names_random(b"random=r"));
        assert!(!names_random(b"# random = x\nrandomness = 1\nRANDFILE = x\n"));
        assert!(!names_random(b""));
    }
}
