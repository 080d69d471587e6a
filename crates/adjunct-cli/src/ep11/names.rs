//! The names of control points in IBM's header (`XCP_CPB_`).

/// Numbers and names.
pub(super) const POINTS: [(u8, &str); 69] = [
    (0, "ADD_CPBS"),
    (1, "DELETE_CPBS"),
    (2, "SIGN_ASYMM"),
    (3, "SIGN_SYMM"),
    (4, "SIGVERIFY_SYMM"),
    (5, "ENCRYPT_SYMM"),
    (6, "DECRYPT_ASYMM"),
    (7, "DECRYPT_SYMM"),
    (8, "WRAP_ASYMM"),
    (9, "WRAP_SYMM"),
    (10, "UNWRAP_ASYMM"),
    (11, "UNWRAP_SYMM"),
    (12, "KEYGEN_ASYMM"),
    (13, "KEYGEN_SYMM"),
    (14, "RETAINKEYS"),
    (15, "SKIP_KEYTESTS"),
    (16, "NON_ATTRBOUND"),
    (17, "MODIFY_OBJECTS"),
    (18, "RNG_SEED"),
    (19, "ALG_RAW_RSA"),
    (20, "ALG_NFIPS2009"),
    (21, "ALG_NBSI2009"),
    (22, "KEYSZ_HMAC_ANY"),
    (23, "KEYSZ_BELOW80BIT"),
    (24, "KEYSZ_80BIT"),
    (25, "KEYSZ_112BIT"),
    (26, "KEYSZ_128BIT"),
    (27, "KEYSZ_192BIT"),
    (28, "KEYSZ_256BIT"),
    (29, "KEYSZ_RSA65536"),
    (30, "ALG_RSA"),
    (31, "ALG_DSA"),
    (32, "ALG_EC"),
    (33, "ALG_EC_BPOOLCRV"),
    (34, "ALG_EC_NISTCRV"),
    (35, "ALG_NFIPS2011"),
    (36, "ALG_NBSI2011"),
    (37, "USER_SET_TRUSTED"),
    (38, "ALG_SKIP_CROSSCHK"),
    (39, "WRAP_CRYPT_KEYS"),
    (40, "SIGN_CRYPT_KEYS"),
    (41, "WRAP_SIGN_KEYS"),
    (42, "USER_SET_ATTRBOUND"),
    (43, "ALLOW_PASSPHRASE"),
    (44, "WRAP_STRONGER_KEY"),
    (45, "WRAP_WITH_RAW_SPKI"),
    (46, "ALG_DH"),
    (47, "DERIVE"),
    (48, "ALLOW_NONSESSION"),
    (55, "ALG_EC_25519"),
    (60, "ALG_EC_SECGCRV"),
    (61, "ALG_NBSI2017"),
    (64, "CPACF_PK"),
    (65, "ALG_PQC"),
    (66, "BTC"),
    (67, "ECDSA_OTHER"),
    (68, "ALG_NFIPS2021"),
    (69, "ALG_NFIPS2024"),
    (70, "COMPAT_LEGACY_SHA3"),
    (71, "DSA_PARAMETER_GEN"),
    (72, "DERIVE_NON_AB_KEYS"),
    (73, "ALLOW_LOGIN_PRE_F2021"),
    (74, "ALG_RSA_OAEP"),
    (75, "ALLOW_COMBINED_EXTRACT"),
    (76, "ALG_EC_PAIRING_FRIENDLY"),
    (77, "ALG_DILITHIUM"),
    (78, "ALG_KYBER"),
    (79, "ALG_ML_DSA"),
    (80, "ALG_ML_KEM"),
];

/// The name of a control point; none of one that means nothing.
pub(super) fn name(point: u8) -> Option<&'static str> {
    POINTS.iter().find(|(number, _)| *number == point).map(|(_, name)| *name)
}

/// A control point by its number, or by its name with or without `XCP_CPB_`, in any case.
pub(super) fn point(text: &str) -> Result<u8, String> {
    let upper = text.to_ascii_uppercase();
    let wanted = upper.strip_prefix("XCP_CPB_").unwrap_or(&upper);
    let named = POINTS.iter().find(|(number, name)| *name == wanted || number.to_string() == wanted);
    named.map(|(number, _)| *number).ok_or_else(|| "a number or a name that 'adjunct ep11 cps' shows".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_named_as_in_the_header() {
        assert_eq!(point("20"), Ok(20));
        assert_eq!((point("alg_nfips2009"), point("XCP_CPB_ALG_NFIPS2009")), (Ok(20), Ok(20)));
        for wrong in ["", "49", "128", "-1", "XCP_CPB_"] {
            assert!(point(wrong).is_err(), "{wrong}");
        }
        assert!(POINTS.iter().all(|(number, _)| name(*number).is_some()));
    }
}
