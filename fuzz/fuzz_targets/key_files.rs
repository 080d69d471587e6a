//! Files of keys and certificates, as `p11sak` and `adjunct token` read them: DER, and PEM.
#![no_main]

use adjunct_mechanisms::der::{self, Packed};
use adjunct_ztools::pem::{self, encrypted};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    adjunct_ztools::libcrypto::offer();
    if let Some(read) = der::certificate(data) {
        assert!(read.days.as_flattened().iter().all(u8::is_ascii_digit));
        for name in [read.subject, read.issuer] {
            der::one_line(name);
        }
        der::public_key(read.key);
    }
    if let Some(name) = der::one_line(data) {
        assert!(name.chars().all(|c| (' '..='~').contains(&c)), "{name:?}");
    }
    for packed in [Packed::Pkcs8, Packed::Pkcs1, Packed::Sec1] {
        if let Some(key) = der::private_key(data, packed) {
            der::of_private_key(&key);
        }
    }
    der::names_curve(data);
    if let Some(key) = der::public_key(data) {
        der::of_public_key(&key, false);
    }
    let parts = std::str::from_utf8(data).ok().and_then(pem::parts).unwrap_or_default();
    // PKCS #8 with a password derives a key first, which takes as long as the file says.
    for part in parts.iter().filter(|part| encrypted::is(part) && part.label != encrypted::LABEL) {
        let _ = encrypted::open(part, b"password");
    }
});
