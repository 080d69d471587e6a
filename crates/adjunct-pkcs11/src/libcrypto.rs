//! A libcrypto's Ed448 and X448, for CPUs without instructions for them. One is looked for when a program wants such a key.

use adjunct::ops::ecx::ed25519::Form;
use adjunct_mechanisms::curve448::Library;
use adjunct_ossl::default_provider::curve448 as libcrypto;

/// The functions of the libcrypto of this process, or else of the system.
pub static CURVE448: Library = Library {
    available: libcrypto::available,
    has_forms: libcrypto::has_forms,
    ed448_public: libcrypto::ed448_public,
    ed448_sign: |form, private, public, message| libcrypto::ed448_sign_form(own(form), private, public, message),
    ed448_verify: |form, public, message, signature| {
        libcrypto::ed448_verify_form(own(form), public, message, signature)
    },
    x448_public: libcrypto::x448_public,
    x448: libcrypto::x448,
};

fn own(form: Form<'_>) -> libcrypto::Form<'_> {
    libcrypto::Form { prehash: form.prehash, context: form.context }
}
