//! What it means that a program calls a function of OpenSSL: whether a provider, an engine or neither can serve the call.

use adjunct::config::engine_methods::{EC_CALLS, RSA_CALLS};

/// A kind of call, by what can serve it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    /// An operation through OpenSSL's high-level interface, which fetches it from a provider.
    Evp,
    /// A TLS connection of libssl, which uses EVP.
    Tls,
    /// An operation on an RSA key that goes to the key's engine and past the providers.
    Rsa,
    /// An operation on an EC key that goes to the key's engine and past the providers.
    Ec,
    /// An operation on a DH key that goes to the key's engine and past the providers; adjunct's engine serves it only on request.
    Dh,
    /// An operation OpenSSL computes itself, whatever is configured.
    Bypass,
    /// Makes a library context of its own, which reads no configuration by itself.
    OwnContext,
    /// Chooses itself which part of a configuration is read.
    OwnSection,
}

/// A function of OpenSSL that a program calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    /// The kind of the call.
    pub kind: CallKind,
    /// Its name.
    pub name: String,
}

/// Beginnings of names of operations through EVP. Not every name with `EVP_` computes: base64, lookups and `free` do not.
const EVP: [&str; 33] = [
    "EVP_Digest",
    "EVP_Encrypt",
    "EVP_Decrypt",
    "EVP_Cipher",
    "EVP_Sign",
    "EVP_Verify",
    "EVP_Seal",
    "EVP_Open",
    "EVP_MAC_",
    "EVP_Q_",
    "EVP_KDF_derive",
    "EVP_BytesToKey",
    "EVP_PBE_",
    "EVP_PKEY_sign",
    "EVP_PKEY_verify",
    "EVP_PKEY_encrypt",
    "EVP_PKEY_decrypt",
    "EVP_PKEY_derive",
    "EVP_PKEY_keygen",
    "EVP_PKEY_generate",
    "EVP_PKEY_Q_keygen",
    "EVP_PKEY_encapsulate",
    "EVP_PKEY_decapsulate",
    "PKCS5_PBKDF2_HMAC",
    "HMAC",
    "CMAC_",
    "X509_sign",
    "X509_verify",
    "X509_digest",
    "X509_REQ_sign",
    "X509_REQ_verify",
    "X509_CRL_sign",
    "X509_CRL_verify",
];

/// Formats that sign, encrypt or check, through EVP.
const FORMATS: [&str; 6] = ["CMS_", "PKCS7_sign", "PKCS7_verify", "PKCS7_encrypt", "PKCS12_", "OCSP_basic_"];

/// Low-level functions that compute in libcrypto itself.
const BYPASS: [&str; 23] = [
    "DSA_sign",
    "DSA_do_sign",
    "DSA_verify",
    "DSA_do_verify",
    "DSA_generate_key",
    "RSA_generate_key",
    "RSA_generate_key_ex",
    "BN_mod_exp",
    "BN_mod_exp_mont",
    "BN_mod_exp_mont_consttime",
    "EC_POINT_mul",
    "MD5_Update",
    "MD4_Update",
    "SHA1_Update",
    "SHA224_Update",
    "SHA256_Update",
    "SHA384_Update",
    "SHA512_Update",
    "RIPEMD160_Update",
    "MD5",
    "MD4",
    "RC4",
    "RIPEMD160",
];

/// Low-level ciphers, by the beginnings of their names.
const CIPHERS: [&str; 9] = ["AES_", "DES_", "BF_", "CAST_", "Camellia_", "RC2_", "IDEA_", "SEED_", "RC5_32_"];

/// The call that the name of a function stands for; `None` where it computes nothing or is no function of OpenSSL's.
pub fn call(name: &[u8]) -> Option<Call> {
    let name = std::str::from_utf8(name).ok()?;
    let begins = |list: &[&str]| list.iter().any(|beginning| name.starts_with(beginning));
    let kind = match name {
        _ if RSA_CALLS.contains(&name) => CallKind::Rsa,
        _ if EC_CALLS.contains(&name) => CallKind::Ec,
        "DH_compute_key" | "DH_compute_key_padded" | "DH_generate_key" => CallKind::Dh,
        _ if BYPASS.contains(&name) || low_level_cipher(name) => CallKind::Bypass,
        "SSL_CTX_new" | "SSL_CTX_new_ex" | "SSL_new" => CallKind::Tls,
        "OSSL_LIB_CTX_new" | "OSSL_LIB_CTX_new_from_dispatch" | "OSSL_LIB_CTX_new_child" => CallKind::OwnContext,
        "OPENSSL_INIT_set_config_appname" => CallKind::OwnSection,
        // In OpenSSL 3 these are a digest through EVP.
        "SHA1" | "SHA224" | "SHA256" | "SHA384" | "SHA512" => CallKind::Evp,
        _ if begins(&EVP) || begins(&FORMATS) => CallKind::Evp,
        _ => return None,
    };
    Some(Call { kind, name: name.to_owned() })
}

/// Whether a function encrypts or decrypts; keys are set by others (`AES_set_encrypt_key`).
fn low_level_cipher(name: &str) -> bool {
    let rest = CIPHERS.iter().find_map(|cipher| name.strip_prefix(cipher));
    rest.is_some_and(|rest| !rest.starts_with("set_") && !rest.starts_with("options") && rest.contains("crypt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_apart() {
        let kind = |name: &str| call(name.as_bytes()).map(|c| c.kind);
        assert_eq!(kind("EVP_DigestInit_ex"), Some(CallKind::Evp));
        assert_eq!(kind("EVP_Cipher"), Some(CallKind::Evp));
        assert_eq!(kind("EVP_CIPHER_CTX_free"), None);
        assert_eq!(kind("EVP_EncodeBlock"), None);
        assert_eq!(kind("HMAC_Init_ex"), Some(CallKind::Evp));
        assert_eq!(kind("RSA_sign"), Some(CallKind::Rsa));
        assert_eq!(kind("RSA_size"), None);
        assert_eq!(kind("ECDSA_do_sign"), Some(CallKind::Ec));
        assert_eq!(kind("DH_compute_key"), Some(CallKind::Dh));
        assert_eq!(kind("AES_encrypt"), Some(CallKind::Bypass));
        assert_eq!(kind("AES_cbc_encrypt"), Some(CallKind::Bypass));
        assert_eq!(kind("AES_set_encrypt_key"), None);
        assert_eq!(kind("DES_set_key"), None);
        assert_eq!(kind("SSL_CTX_new"), Some(CallKind::Tls));
        assert_eq!(kind("SSL_free"), None);
        assert_eq!(call(b"\xff"), None);
    }
}
