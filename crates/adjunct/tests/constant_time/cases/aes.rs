//! AES: round keys, chaining values and data are secret, lengths are not.

use super::{Case, call};
use adjunct::InOut;
use adjunct::cpu::Feature;
use adjunct_kernels::aes::{Keys, ccm, ni, vaes, xts};

/// Long enough for every branch by length: whole chunks, and a rest of three blocks.
const DATA: usize = 1024 + 48;

const NI: &[Feature] = &[Feature::Aes];
const WIDE: &[Feature] = &[Feature::Vaes, Feature::Avx512];
const WIDE_XTS: &[Feature] = &[Feature::Vaes, Feature::Vpclmul, Feature::Avx512];

type Kernel = unsafe fn(Keys<'_>, &mut [u8; 16], InOut<'_>);

const KERNELS: &[(&str, &[Feature], Kernel)] = &[
    ("AES-NI CBC encrypt", NI, ni::cbc_encrypt),
    ("AES-NI CFB encrypt", NI, ni::cfb_encrypt),
    ("AES-NI CFB decrypt", NI, ni::cfb_decrypt),
    ("AES-NI OFB", NI, ni::ofb),
    ("AES-NI CTR", NI, ni::ctr),
    ("AES-NI CFB8 encrypt", NI, |k, iv, io| unsafe { ni::cfb8(k, true, iv, io) }),
    ("AES-NI CFB8 decrypt", NI, |k, iv, io| unsafe { ni::cfb8(k, false, iv, io) }),
    ("AES-NI CFB1 encrypt", NI, |k, iv, io| unsafe { ni::cfb1(k, true, iv, 300, io.split_at(38).0) }),
    ("AES-NI CCM", NI, |k, iv, io| unsafe {
        let mut mac = *iv;
        ni::encrypt_block(k, &mut mac);
        ccm::seal(k, iv, &mut mac, io);
    }),
    ("VAES ECB encrypt", WIDE, |k, _, io| unsafe { vaes::ecb(k, true, io) }),
    ("VAES ECB decrypt", WIDE, |k, _, io| unsafe { vaes::ecb(k, false, io) }),
    ("VAES CBC decrypt", WIDE, vaes::cbc_decrypt),
    ("VAES CFB decrypt", WIDE, vaes::cfb_decrypt),
    ("VAES CTR", WIDE, |k, iv, io| unsafe {
        // The counter is public.
        iv.fill(0xfe);
        vaes::ctr(k, iv, io);
    }),
    ("VAES XTS encrypt", WIDE_XTS, |k, iv, io| unsafe { xts::blocks(k, true, iv, io) }),
    ("VAES XTS decrypt", WIDE_XTS, |k, iv, io| unsafe { xts::blocks(k, false, iv, io) }),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(name, needs, kernel) in KERNELS {
        for (bits, rounds) in [(128, 11), (256, 15)] {
            let prepare = move |seed| {
                call(seed, move |keys: &[u8; 240], iv: &mut [u8; 16], data: &mut [u8; DATA]| {
                    let (keys, _) = keys.as_chunks::<16>();
                    unsafe { kernel(&keys[..rounds], iv, InOut::in_place(data)) }
                })
            };
            let name = format!("{name}, {bits} bits");
            cases.push(Case { name, needs, memcheck: needs == NI, prepare: Box::new(prepare) });
        }
    }
    cases
}
