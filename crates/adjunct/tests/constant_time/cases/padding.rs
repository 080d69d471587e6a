//! Encodings and paddings: what was decrypted is secret, and so is whether it is well-formed, until the caller is told.

use super::{Case, Prepared, bytes, call, region};
use adjunct::ops::rsa::{PREMASTER, oaep_decode, pkcs1_decode, premaster_choose};
use adjunct::ops::tls_record;
use adjunct_cpu::digest::SHA256;
use std::hint::black_box;

/// A record of 400 bytes whose padding is right or wrong, and of many lengths, by the seed.
fn record(seed: u64) -> Prepared {
    let mut record = bytes::<400>(seed);
    let pad = [0, 255, 17, 200][(seed & 3) as usize];
    record[399 - pad..].fill(pad as u8);
    if seed == 2 {
        record[399 - pad / 2] ^= 1;
    }
    let random = bytes::<64>(seed + 1);
    let secrets = vec![region(&*record)];
    let run = move || {
        black_box(tls_record::open_with(&record[..], 20, None, &random));
    };
    Prepared { secrets, run: Box::new(run) }
}

/// Blocks that are no OAEP encoding, each for another reason: the operation must not show which.
fn refused_oaep(seed: u64) -> Prepared {
    call(seed, move |_: &[u8; 1], _: &mut [u8; 1], block: &mut [u8; 256]| {
        block[0] = (seed == 1).into();
        let _ = black_box(oaep_decode(&SHA256, &SHA256, b"", block));
    })
}

/// Blocks that are no PKCS#1 v1.5 encoding, each for another reason.
fn refused_pkcs1(seed: u64) -> Prepared {
    call(seed, move |_: &[u8; 1], _: &mut [u8; 1], block: &mut [u8; 256]| {
        block[..2].copy_from_slice(&[(seed == 1).into(), 2 + (seed == 2) as u8]);
        block[5] = 0;
        let _ = black_box(pkcs1_decode(block));
    })
}

pub fn cases() -> Vec<Case> {
    let premaster = |seed| {
        call(seed, |block: &[u8; 256], out: &mut [u8; PREMASTER], random: &mut [u8; PREMASTER]| {
            premaster_choose(0x0303, 0, block, random, out);
        })
    };
    let case = |name: &str, memcheck, prepare| Case { name: name.into(), needs: &[], memcheck, prepare };
    vec![
        case("TLS record under CBC, opened", true, Box::new(record)),
        // The last step of these, telling that it was refused, is no secret: memcheck cannot know.
        case("RSA PKCS#1 v1.5, refused", false, Box::new(refused_pkcs1)),
        case("RSA OAEP, refused", false, Box::new(refused_oaep)),
        case("RSA TLS premaster", true, Box::new(premaster)),
    ]
}
