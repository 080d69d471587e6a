//! libica's interface on CPACF: with fallbacks off, a call that returns 0 ran on CPACF, and one for which CPACF has no function returns ENODEV.

#![cfg(target_arch = "s390x")]

use adjunct::catalogue::Function;
use adjunct::catalogue::Path;
use adjunct::ops::choice as route;
use adjunct_ica::abi::{hash, library};

const NO_DEVICE: u32 = 19;
/// `SHA_MSG_PART_ONLY`, `_FIRST`, `_MIDDLE`, `_FINAL`.
const PARTS: [u32; 4] = [0, 1, 2, 3];

fn hardware(function: Function) -> bool {
    route::path(function, 0) == Path::Hardware
}

// One test: the modes are the process's.
#[test]
fn with_fallbacks_off_only_cpacf_serves() {
    library::ica_set_stats_mode(0);
    library::ica_set_fallback_mode(0);
    let [only, first, middle, last] = PARTS;
    let message: Vec<u8> = (0..30_000u32).map(|i| ((i * i) >> 5) as u8).collect();
    // A context of two words of length and 64 bytes, aligned as in C.
    let mut context = [0u64; 10];
    let (mut whole, mut parts) = ([0u8; 64], [0u8; 64]);
    let mut sha512 = |part, data: &[u8], out: &mut [u8; 64]| {
        // SAFETY: buffers of the lengths given, and a context.
        unsafe {
            let context = context.as_mut_ptr().cast();
            hash::ica_sha512(part, data.len() as u64, data.as_ptr(), context, out.as_mut_ptr())
        }
    };
    let expected = if hardware(Function::Sha512) { 0 } else { NO_DEVICE };
    assert_eq!(sha512(only, &message, &mut whole), expected);
    assert_eq!(sha512(first, &message[..1280], &mut parts), expected);
    assert_eq!(sha512(middle, &message[1280..20_480], &mut parts), expected);
    assert_eq!(sha512(last, &message[20_480..], &mut parts), expected);
    assert_eq!(whole, parts);
    if expected == 0 {
        assert_eq!(sha512(only, b"abc", &mut whole), 0);
        // FIPS 180-4's example.
        assert_eq!(whole[..8], [0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba]);
    } else {
        eprintln!("SKIPPED: KIMD and KLMD have no SHA-512 here");
    }
    let (mut context, mut out) = ([0u64; 5], [0u8; 32]);
    // SAFETY: the text has the 3 bytes, `context` the 40 bytes of SHA-256's context and `out` the 32 of a digest.
    let done = unsafe { hash::ica_sha256(only, 3, b"abc".as_ptr(), context.as_mut_ptr().cast(), out.as_mut_ptr()) };
    assert_eq!(done, if hardware(Function::Sha256) { 0 } else { NO_DEVICE });
    let mut random = [0u8; 100];
    // SAFETY: `random` has room for the 100 bytes asked for.
    let done = unsafe { library::ica_random_number_generate(100, random.as_mut_ptr()) };
    assert_eq!(done, if hardware(Function::Prng) { 0 } else { NO_DEVICE });
    assert_eq!(random != [0; 100], done == 0);
    assert_eq!(library::ica_get_msa_level() as u32, adjunct::cpu::msa_level());
}
