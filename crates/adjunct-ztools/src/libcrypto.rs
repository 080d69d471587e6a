//! A libcrypto's Ed448 and X448: by them private keys that leave a token are checked where the CPU has no instructions for these curves.

use adjunct_mechanisms::curve448::{Library, use_library};
use adjunct_ossl::default_provider::curve448 as libcrypto;

/// Keys are made of attributes, and neither sign nor agree on anything here.
static KEYS: Library = Library {
    available: libcrypto::available,
    has_forms: || false,
    ed448_public: libcrypto::ed448_public,
    ed448_sign: |_, _, _, _| None,
    ed448_verify: |_, _, _, _| None,
    x448_public: libcrypto::x448_public,
    x448: |_, _| None,
};

/// Offers them to what reads and writes keys. A libcrypto is looked for when there is such a key.
pub fn offer() {
    use_library(&KEYS);
}
