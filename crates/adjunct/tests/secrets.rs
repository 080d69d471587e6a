//! What holds a secret prints no bytes: a program's log, or a panic's line, gives nothing away.

use adjunct::ops::drbg;
use adjunct_cpu::cipher::aes::AesKey;
use adjunct_cpu::cipher::ccm::Ccm;
use adjunct_cpu::cipher::chacha::ChaCha20Poly1305;
use adjunct_cpu::cipher::des::Des;
use adjunct_cpu::cipher::gcm::Gcm;
use adjunct_cpu::cipher::gcm_part::{self, State};
use adjunct_cpu::cipher::xts::Xts;
use adjunct_cpu::cmac::{BlockCipher, Cmac, CmacMessage};
use adjunct_cpu::curve::Curve;
use adjunct_cpu::digest::SHA256;
use adjunct_cpu::mac::Hmac;
use adjunct_cpu::nonce::Nonces;
use adjunct_cpu::rsa::{Crt, Numbers};
use adjunct_cpu::rsa_any;
use adjunct_kernels::cpacf::{ChainBlock, DigestBlock, KeyBlock, XtsBlock};
use std::fmt::Debug;

const KEY: [u8; 32] = [0xa7; 32];

fn closed(value: impl Debug) {
    let text = format!("{value:?} {value:#?}");
    // A list, which bytes would be.
    assert!(!text.contains('['), "{text}");
}

#[test]
fn ciphers() {
    let (mut aes, mut gcm, mut ccm) = (AesKey::default(), Gcm::default(), Ccm::default());
    aes.set_encrypt(&KEY).unwrap();
    gcm.set_key(&KEY).unwrap();
    ccm.set_key(&KEY).unwrap();
    closed((aes, gcm, ccm));
    let (mut xts, mut des, mut chacha) = (Xts::default(), Des::default(), ChaCha20Poly1305::default());
    xts.set_keys(&KEY, &[0x7a; 32], true).unwrap();
    des.set_key(&[0xa7; 24]).unwrap();
    chacha.set_key(&KEY);
    closed((xts, des, chacha));
    closed(gcm_part::start(&KEY, &[1; 12]).unwrap());
    closed(State { counter: [0; 16], hash: [0; 16], subkey: [0xa7; 16] });
    closed((KeyBlock { key: KEY }, ChainBlock::new(&[0; 16], &KEY), XtsBlock { key: KEY, parameter: [0xa7; 16] }));
    closed(DigestBlock { state: [0xa7; 20] });
}

#[test]
fn macs_and_random() {
    closed((Hmac::new(&SHA256, &KEY).unwrap(), Cmac::new(BlockCipher::Aes(32), &KEY).unwrap(), CmacMessage::default()));
    closed((drbg::State::new(&[&KEY]), Nonces::new(Curve::P256, &KEY).unwrap()));
}

#[test]
fn private_keys() {
    let crt = Crt { p: &KEY, q: &KEY, dp: &KEY, dq: &KEY, qinv: &KEY };
    closed((crt, Numbers { n: &KEY, e: &[3], d: Some(&KEY), crt: Some(crt) }));
    closed(rsa_any::generate(512, &[1, 0, 1]).unwrap().0);
    #[cfg(target_arch = "x86_64")]
    {
        use adjunct_kernels::nist::{DeriveJob, PublicJob, SignJob};
        closed(SignJob { private: &KEY, digest: &KEY, nonce: &KEY, signature: &mut [0; 64] });
        closed((
            DeriveJob { private: &KEY, peer: &[0; 64], secret: &mut [0xa7; 32] },
            PublicJob { private: &KEY, public: &mut [0; 64] },
        ));
    }
}
