//! Keeps OpenSSL's own random generator away from a provider.

use crate::Opaque;
use crate::core::Core;
use crate::errors::Errors;
use crate::object::Object;
use memchr::memmem;
use std::ffi::{CStr, c_char, c_int};

crate::functions! {
    /// What sets up the generator; all exist since OpenSSL 3.0.
    Generator { errors: Errors }:
    set_type c"RAND_set_DRBG_type" (Opaque, *const c_char, *const c_char, *const c_char, *const c_char) -> c_int;
}

crate::functions! {
    /// What tells where the default configuration file is; all exist since OpenSSL 3.0.
    Config:
    file c"CONF_get1_default_config_file" () -> *mut c_char;
    free c"CRYPTO_free" (*mut c_char, *const c_char, c_int);
}

/// Asks OpenSSL to build its generator of algorithms that match `properties`, so that default properties do not direct its
/// AES-256-CTR to the provider behind `core`. Where a generator exists already, or the configuration has a `random` section of its
/// own, nothing is changed. To be called while the provider is initialised.
pub fn build_generator_of(properties: &CStr, core: &Core) {
    let Some(libcrypto) = core.libcrypto() else { return };
    let Some(generator) = Generator::find(libcrypto) else { return };
    if configured(libcrypto) {
        return;
    }
    let null = std::ptr::null();
    // The call fails where the generator exists already, and then the error is taken back.
    generator.errors.quietly(|| {
        // SAFETY: the context is the one OpenSSL told us. A null name keeps the default.
        unsafe { (generator.set_type)(core.library_context(), null, properties.as_ptr(), null, null) }
    });
}

/// Whether the default configuration file names a `random` section: OpenSSL does not tell what it has read so far, and setting a type clears that
/// section. Included files are not followed.
fn configured(libcrypto: Object) -> bool {
    let Some(config) = Config::find(libcrypto) else { return false };
    // SAFETY: the string is copied, then freed as documented.
    let path = unsafe {
        let raw = (config.file)();
        if raw.is_null() {
            return false;
        }
        let path = CStr::from_ptr(raw).to_owned();
        (config.free)(raw, c"".as_ptr(), 0);
        path
    };
    let Ok(path) = path.to_str() else { return false };
    std::fs::read(path).is_ok_and(|text| names_random(&text))
}

fn names_random(text: &[u8]) -> bool {
    let line_end = |b: &u8| *b == b'\n';
    memmem::find_iter(text, b"random").any(|at| {
        let before = text[..at].rsplit(line_end).next().unwrap_or_default();
        let after = text[at + b"random".len()..].split(line_end).next().unwrap_or_default();
        before.trim_ascii().is_empty() && after.trim_ascii_start().first() == Some(&b'=')
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
        assert!(!names_random(b"random\n= x\n") && names_random(b"randomness = 1\nrandom = x"));
    }
}
