//! The tables of `icainfo`, column for column.

use super::Facts;
use std::fmt::Write;

/// The line about FIPS; adjunct's CPU library is not built in its FIPS mode.
pub(super) const FIPS: &str = "No built-in FIPS support.\n";

/// The fact line of a CPU's static column, in the place where Z shows the level of its assist.
fn level(facts: &Facts) -> String {
    format!("({})", facts.architecture)
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// The table of functions. *Dynamic* is what cards serve (there are none yet), *static* what the CPU serves.
pub(super) fn functions(facts: &Facts) -> String {
    let mut text = String::new();
    text += "              Cryptographic algorithm support      \n";
    text += "------------------------------------------------------\n";
    text += "               |         hardware        |            \n";
    text += " function      |   dynamic  |   static   |  software  \n";
    let _ = writeln!(text, "               |            |{:^12}|            ", level(facts));
    text += "---------------+------------+------------+------------\n";
    for row in &facts.functions {
        let _ = writeln!(
            text,
            "{:>14} |    {:>3}     |    {:>3}     |    {:>3}     ",
            row.function,
            yes(false),
            yes(row.hardware),
            yes(true)
        );
    }
    text += "------------------------------------------------------\n";
    text += FIPS;
    text += "Software fallbacks are enabled.\n";
    text
}

/// The table of curves.
pub(super) fn curves(facts: &Facts) -> String {
    let mut text = String::new();
    text += "-------------------------------------------------------\n";
    text += "                 |         hardware        |           \n";
    text += "        EC curve |   dynamic  |   static   |  software \n";
    let _ = writeln!(text, "                 |            |{:^12}|         ", level(facts));
    text += "-----------------+------------+------------+-----------\n";
    for row in &facts.curves {
        let _ = writeln!(
            text,
            "{:>16} |    {:>3}     |    {:>3}     |    {:>3}",
            row.curve,
            yes(false),
            yes(row.hardware),
            yes(true)
        );
    }
    text += "-------------------------------------------------------\n";
    text += FIPS;
    text
}

/// The RSA key lengths and exponents: what is beyond the CPU library is handed to OpenSSL, so OpenSSL's limits hold.
pub(super) fn rsa() -> String {
    format!("RSA key lengths: 512 ... 16384 bits.\nRSA public exponents greater or equal to 3.\n{FIPS}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_z_come_first_and_in_order() {
        const Z: &[&str] = &[
            "SHA-1",
            "SHA-224",
            "SHA-256",
            "SHA-384",
            "SHA-512",
            "SHA-512/224",
            "SHA-512/256",
            "SHA3-224",
            "SHA3-256",
            "SHA3-384",
            "SHA3-512",
            "SHAKE-128",
            "SHAKE-256",
            "GHASH",
            "P_RNG",
            "DRBG-SHA-512",
            "ECDH",
            "ECDSA Sign",
            "ECDSA Verify",
            "EC Keygen",
            "Ed25519 Keygen",
            "Ed25519 Sign",
            "Ed25519 Verify",
            "Ed448 Keygen",
            "Ed448 Sign",
            "Ed448 Verify",
            "X25519 Keygen",
            "X25519 Derive",
            "X448 Keygen",
            "X448 Derive",
            "RSA Keygen ME",
            "RSA Keygen CRT",
            "RSA ME",
            "RSA CRT",
            "DES ECB",
            "DES CBC",
            "DES OFB",
            "DES CFB",
            "DES CTR",
            "DES CMAC",
            "3DES ECB",
            "3DES CBC",
            "3DES OFB",
            "3DES CFB",
            "3DES CTR",
            "3DES CMAC",
            "AES ECB",
            "AES CBC",
            "AES OFB",
            "AES CFB",
            "AES CTR",
            "AES CMAC",
            "AES XTS",
            "AES GCM",
        ];
        let text = functions(&Facts::of_this_machine());
        let names: Vec<_> =
            text.lines().skip(6).filter_map(|l| l.split_once(" |")).map(|(name, _)| name.trim()).collect();
        assert_eq!(&names[..Z.len()], Z);
        assert!(names.contains(&"AES CCM") && names.contains(&"ChaCha20-Poly1305"));
    }

    #[test]
    fn every_row_has_the_widths_of_z() {
        let facts = Facts::of_this_machine();
        for line in functions(&facts).lines().skip(3).filter(|l| l.contains('|')) {
            let name = line.split('|').next().unwrap();
            if name.len() == 15 {
                assert_eq!(line.len(), 54, "{line}");
            }
            assert_eq!(line.matches('|').count(), 3);
        }
        let row = functions(&facts).lines().find(|l| l.contains(" MD5 ")).unwrap().to_owned();
        assert_eq!(row, "           MD5 |     no     |     no     |    yes     ");
        assert!(curves(&facts).contains("\n      prime256v1 |     no     |     no     |    yes\n"));
    }

    #[test]
    fn rsa_and_fips_have_their_lines() {
        assert!(rsa().starts_with("RSA key lengths: 512 ... "));
        assert!(rsa().ends_with(FIPS));
    }
}
