//! AES: round keys, chaining values and data are secret, lengths are not.

use super::{Case, call};
use adjunct::InOut;
use adjunct::catalogue::Feature;
use adjunct_kernels::aes::gcm::{Message, Table};
use adjunct_kernels::aes::{Keys, ccm, gcm_once, key, ni, vaes256, vaes512};
use std::mem::MaybeUninit;

/// Long enough for every branch by length: whole chunks, what GCM does in long runs, and a rest of three blocks.
const DATA: usize = 4096 + 1024 + 48;

const NI: &[Feature] = &[Feature::Aes];
const NI_PRODUCT: &[Feature] = &[Feature::Aes, Feature::Pclmul, Feature::Ssse3];
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
    ("AES-NI CCM at once", NI, |k, iv, io| unsafe {
        let (whole, rest) = io.split_head(16);
        let aad = Some(u128::from_le_bytes(*iv));
        *iv = ccm::once(k, 3 << 120, aad, 1 << 120, true, whole);
        *iv = ccm::once(k, 3 << 120, None, 1 << 120, false, rest.split_head(5).0);
    }),
    ("AES-NI round keys", NI_PRODUCT, |k, _, mut io| unsafe {
        // As long a key as those of its rounds.
        let (mut keys, length) = (MaybeUninit::uninit(), k.len() * 4 - 28);
        let number = key::expand(&k.as_flattened()[..length], &mut keys);
        let keys = keys.assume_init_ref()[..number].as_flattened();
        keys.iter().enumerate().for_each(|(i, byte)| io.set(i, *byte));
    }),
    ("AES-NI GCM at once", NI_PRODUCT, |k, iv, io| unsafe {
        let (aad, io) = (*iv, io.split_head(13).0);
        *iv = gcm_once::message(k, true, &[7; 12], &aad, io);
    }),
    ("AES-NI GCM steps", NI_PRODUCT, |k, iv, io| unsafe {
        let (subkey, aad) = (*iv, *iv);
        let (whole, rest) = io.split_head(16);
        gcm_once::part(k, &subkey, &mut [7; 16], iv, true, &aad[..5], whole);
        gcm_once::part(k, &subkey, &mut [8; 16], iv, false, &[], rest.split_head(3).0);
        gcm_once::last(k, &subkey, &[6; 16], [40, 152], iv);
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
                $module::gcm_table(k, None, &mut table);
                $module::gcm_start(k, &table, &mut message, &[7; 12]);
                $module::gcm_aad(&table, &mut message, &*iv);
                let (odd, even) = io.split_at(19);
                $module::gcm_crypt(k, true, &table, &mut message, odd);
                $module::gcm_crypt(k, true, &table, &mut message, even);
                *iv = $module::gcm_tag(&table, &mut message);
            }),
            (concat!($title, " GCM decrypt"), $needs, |k, iv, io| unsafe {
                let (mut table, mut message) = (Table::default(), Message::default());
                $module::gcm_table(k, None, &mut table);
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
            cases.push(Case { name, needs, memcheck: needs == NI || needs == NI_PRODUCT, prepare: Box::new(prepare) });
        }
    }
    cases
}
