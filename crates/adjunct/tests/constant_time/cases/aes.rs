//! AES: round keys, chaining values and data are secret, lengths are not.

use super::{Case, call};
use adjunct::InOut;
use adjunct::cpu::Feature;
use adjunct_kernels::aes::gcm::{Message, Table};
use adjunct_kernels::aes::{Keys, ccm, ni, vaes256, vaes512};

/// Long enough for every branch by length: whole chunks, and a rest of three blocks.
const DATA: usize = 1024 + 48;

const NI: &[Feature] = &[Feature::Aes];
const WIDE_512: &[Feature] = &[Feature::Vaes, Feature::Vpclmul, Feature::Avx512];
const WIDE_256: &[Feature] = &[Feature::Vaes, Feature::Vpclmul, Feature::Avx2];

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
        ccm::seal(k, u128::from_be_bytes(*iv), &mut mac, io);
    }),
];

macro_rules! wide {
    ($name:ident, $module:ident, $needs:ident, $title:literal) => {
        const $name: &[(&str, &[Feature], Kernel)] = &[
            (concat!($title, " ECB encrypt"), $needs, |k, _, io| unsafe { $module::ecb(k, true, io) }),
            (concat!($title, " ECB decrypt"), $needs, |k, _, io| unsafe { $module::ecb(k, false, io) }),
            (concat!($title, " CBC decrypt"), $needs, $module::cbc_decrypt),
            (concat!($title, " CFB decrypt"), $needs, $module::cfb_decrypt),
            (concat!($title, " CTR"), $needs, |k, iv, io| unsafe {
                // The counter is public.
                iv.fill(0xfe);
                $module::ctr(k, iv, io);
            }),
            (concat!($title, " XTS encrypt"), $needs, |k, iv, io| unsafe { $module::xts(k, Some(k), true, iv, io) }),
            (concat!($title, " XTS decrypt"), $needs, |k, iv, io| unsafe { $module::xts(k, None, false, iv, io) }),
            (concat!($title, " GCM encrypt"), $needs, |k, iv, io| unsafe {
                let (mut table, mut message) = (Table::default(), Message::default());
                $module::gcm_table(k, &mut table);
                $module::gcm_start(k, &table, &mut message, &[7; 12]);
                $module::gcm_aad(&table, &mut message, &*iv);
                let (odd, even) = io.split_at(19);
                $module::gcm_crypt(k, true, &table, &mut message, odd);
                $module::gcm_crypt(k, true, &table, &mut message, even);
                *iv = $module::gcm_tag(&table, &mut message);
            }),
            (concat!($title, " GCM decrypt"), $needs, |k, iv, io| unsafe {
                let (mut table, mut message) = (Table::default(), Message::default());
                $module::gcm_table(k, &mut table);
                $module::gcm_start(k, &table, &mut message, &iv[..13]);
                $module::gcm_aad(&table, &mut message, &iv[..13]);
                $module::gcm_crypt(k, false, &table, &mut message, io);
                *iv = $module::gcm_tag(&table, &mut message);
            }),
        ];
    };
}

wide!(VAES_512, vaes512, WIDE_512, "VAES-512");
wide!(VAES_256, vaes256, WIDE_256, "VAES-256");

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(name, needs, kernel) in [KERNELS, VAES_512, VAES_256].into_iter().flatten() {
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
