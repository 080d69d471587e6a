//! The module's self-test: known answers of what it is built of, computed as each request computes them.

use crate::key::Material;
use adjunct_ep11_wire::codes::key as k;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use cryptoki_sys::*;
use zeroize::Zeroizing;

fn digest(kind: CK_MECHANISM_TYPE, begin: &[u8]) -> Option<()> {
    let mut digester = Mechanism::new(kind, Params::None).digester().ok()?;
    digester.update(b"abc");
    let mut out = vec![0; digester.size()];
    digester.finish(&mut out);
    out.starts_with(begin).then_some(())
}

fn secret(kind: u32, value: &[u8]) -> Option<Material> {
    Material::secret(kind, Zeroizing::new(value.to_vec())).ok()
}

/// SP 800-38A, F.2.1, both ways.
fn cbc() -> Option<()> {
    let key: [u8; 16] = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let iv: [u8; 16] = 0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f_u128.to_be_bytes();
    let plain: [u8; 16] = 0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128.to_be_bytes();
    let encrypted: [u8; 16] = 0x7649_abac_8119_b246_cee9_8e9b_12e9_197d_u128.to_be_bytes();
    for (encrypt, from, to) in [(true, plain, encrypted), (false, encrypted, plain)] {
        let key = secret(k::AES, &key)?;
        let mut cipher = Mechanism::new(CKM_AES_CBC, Params::Bytes(&iv)).cipher(key.held, encrypt).ok()?;
        let mut out = [0; 16];
        cipher.once(&from, &mut out).ok()?;
        (out == to).then_some(())?;
    }
    Some(())
}

/// RFC 4231, 4.2.
fn hmac() -> Option<()> {
    let key = secret(k::GENERIC_SECRET, &[11; 20])?;
    let mut signer = Mechanism::new(CKM_SHA256_HMAC, Params::None).signer(key.held).ok()?;
    let mut out = [0; 32];
    signer.once(b"Hi There", &mut out).ok()?;
    out.starts_with(&0xb034_4c61_d8db_3853_5ca8_afce_af0b_f12b_u128.to_be_bytes()).then_some(())
}

/// A signature on P-256 that is right, and one bit of it that is not.
fn pair() -> Option<()> {
    let private = crate::admin::pair_for_selftest()?;
    let public = Material::of_spki(&private.spki().ok()?).ok()?;
    let mechanism = Mechanism::new(CKM_ECDSA_SHA256, Params::None);
    let mut signer = mechanism.signer(private.held).ok()?;
    let mut signature = [0; 64];
    signer.once(b"abc", &mut signature).ok()?;
    for right in [true, false] {
        let mut verifier = mechanism.verifier(public.held.clone()).ok()?;
        verifier.update(b"abc").ok()?;
        (verifier.finish(&signature).is_ok() == right).then_some(())?;
        signature[40] ^= 1;
    }
    Some(())
}

/// Runs all; an error where one answer is wrong.
pub(super) fn run() -> Result<(), ()> {
    let all = || {
        digest(CKM_SHA_1, &[0xa9, 0x99, 0x3e, 0x36])?;
        digest(CKM_SHA256, &[0xba, 0x78, 0x16, 0xbf])?;
        digest(CKM_SHA512, &[0xdd, 0xaf, 0x35, 0xa1])?;
        digest(CKM_SHA3_256, &[0x3a, 0x98, 0x5d, 0xa7])?;
        cbc()?;
        hmac()?;
        pair()
    };
    all().ok_or(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn known_answers_are_right() {
        assert_eq!(super::run(), Ok(()));
    }
}
