//! libica's deterministic generators, random numbers, function list, versions, modes and big numbers, in any order and with anything.
#![no_main]

mod ica;

use adjunct_ica::abi::library::*;
use adjunct_ica::abi::list::*;
use adjunct_ica::abi::random::*;
use adjunct_ica::drbg::Drbg;
use ica::{Choices, INVALID, OK};
use libfuzzer_sys::fuzz_target;
use std::ffi::{CStr, c_void};

const UNSUPPORTED: i32 = 95;
const NO_DEVICE: u32 = 19;

fn mechanism(choices: &mut Choices<'_>) -> *const Mechanism {
    if choices.seldom(32) {
        std::ptr::null()
    } else {
        // SAFETY: the symbol is a pointer, as C sees it.
        unsafe { (&raw const ICA_DRBG_SHA512).cast::<*const Mechanism>().read() }
    }
}

fn generators(choices: &mut Choices<'_>) {
    let mut handles = [std::ptr::null_mut::<Drbg>(); 3];
    let mut last = vec![0; 64];
    while !choices.is_empty() {
        let at = choices.below(3);
        let (length, room) = (choices.below(300), choices.length(700));
        let (mut input, mut out) = (choices.buffer(length), choices.buffer(room));
        let strength = choices.one_of(&[0, 1, 112, 128, 196, 256]) as i32;
        let resistant = choices.seldom(2);
        let mechanism = mechanism(choices);
        let before = out.get().to_vec();
        let handle = &raw mut handles[at];
        // SAFETY: null or live handles, and buffers of the lengths given.
        let code = unsafe {
            match choices.below(8) {
                0 | 1 => ica_drbg_instantiate(handle, strength, resistant, mechanism, input.pointer(), length),
                2 => ica_drbg_uninstantiate(handle),
                3 => ica_drbg_reseed(*handle, resistant, input.pointer(), length),
                4 => {
                    let known =
                        [ica_drbg_generate as *const c_void, ica_drbg_reseed as *const c_void, std::ptr::null()];
                    ica_drbg_health_test(known[choices.below(3)], strength, resistant, mechanism)
                }
                5 => ica_drbg_generate(
                    *handle,
                    strength,
                    resistant,
                    input.pointer(),
                    length,
                    out.pointer(),
                    usize::MAX - room,
                ),
                _ => {
                    let code =
                        ica_drbg_generate(*handle, strength, resistant, input.pointer(), length, out.pointer(), room);
                    assert!(code == 0 || before == out.get(), "written before it refused");
                    if code == 0 && room >= 32 && !out.null {
                        assert!(out.get() != before && out.get() != last, "the same bytes again");
                        last = out.get().to_vec();
                    }
                    code
                }
            }
        };
        assert!(code == 0 || code == INVALID as i32 || code == UNSUPPORTED, "{code}");
        let _ = input.get();
    }
    for handle in &mut handles {
        // SAFETY: null or a live handle.
        let code = unsafe { ica_drbg_uninstantiate(handle) };
        assert!(code == 0 || code == INVALID as i32);
        assert!(handle.is_null());
    }
}

fn others(choices: &mut Choices<'_>) {
    let room = choices.length(3000);
    let mut out = choices.buffer(room);
    // SAFETY: buffers of the lengths given.
    unsafe {
        assert_eq!(ica_random_number_generate(room as u32, out.pointer()), if out.null { INVALID } else { OK });
        let _ = out.get();
        let (mut version, mut info) = (choices.buffer(12), choices.buffer(32));
        assert_eq!(ica_get_version(version.pointer().cast()), if version.null { INVALID } else { OK });
        assert_eq!(ica_get_hw_info(info.pointer().cast()), if info.null { INVALID as i32 } else { 0 });
        let mut all = 0;
        assert_eq!(ica_get_functionlist(std::ptr::null_mut(), &raw mut all), OK);
        let mut count = choices.below(2 * all as usize) as u32;
        let mut list = choices.buffer(12 * count as usize);
        list.null = false;
        let (asked, before) = (count, list.get().to_vec());
        let code = ica_get_functionlist(list.pointer().cast(), &raw mut count);
        assert!(if asked < all { code == INVALID && before == list.get() } else { code == OK && count == all });
        let mut adapter = choices.buffer(4);
        assert_eq!(ica_open_adapter(adapter.pointer().cast()), if adapter.null { INVALID } else { OK });
        ica_close_adapter(choices.wild() as i32);
        assert!(!CStr::from_ptr(ica_get_build_version()).is_empty());
    }
    assert!((0..32).contains(&ica_get_msa_level()));
    assert_eq!(ica_fips_status(), 0);
    ica_allow_external_gcm_iv_in_fips_mode(choices.wild() as i32);
}

/// Software may be forbidden: then a function does its work all the same, or has done nothing.
fn modes(choices: &mut Choices<'_>) {
    ica_set_stats_mode(choices.below(2) as i32);
    ica_set_offload_mode(choices.below(2) as i32);
    ica_set_fallback_mode(0);
    let room = 32 + choices.below(300);
    let mut out = choices.buffer(room);
    let before = out.get().to_vec();
    // SAFETY: buffers of the lengths given, and a handle that is given back.
    unsafe {
        let code = ica_random_number_generate(room as u32, out.pointer());
        assert!(if out.null { code == INVALID } else { matches!(code, OK | NO_DEVICE) }, "{code}");
        assert_eq!(code == OK, before != out.get());
        let before = out.get().to_vec();
        let (mut handle, mechanism) = (std::ptr::null_mut(), (&raw const ICA_DRBG_SHA512).cast::<*const Mechanism>());
        if ica_drbg_instantiate(&raw mut handle, 256, true, mechanism.read(), std::ptr::null(), 0) == 0 {
            let code = ica_drbg_generate(handle, 256, false, std::ptr::null(), 0, out.pointer(), room) as u32;
            assert!(if out.null { code == INVALID } else { matches!(code, OK | NO_DEVICE) }, "{code}");
            assert_eq!(code == OK, before != out.get());
            assert_eq!(ica_drbg_uninstantiate(&raw mut handle), 0);
        }
        let mut count = 0;
        assert_eq!(ica_get_functionlist(std::ptr::null_mut(), &raw mut count), OK);
        let mut list = vec![0; 12 * count as usize];
        assert_eq!(ica_get_functionlist(list.as_mut_ptr().cast(), &raw mut count), OK);
    }
    ica_cleanup();
    ica_set_fallback_mode(1 + choices.below(2) as i32);
}

fn numbers(choices: &mut Choices<'_>) {
    let (mut a, mut b, mut product) = (choices.buffer(64), choices.buffer(64), choices.buffer(128));
    let any_null = a.null || b.null || product.null;
    // SAFETY: buffers of the lengths the functions want.
    let code = unsafe { ica_mp_mul512(product.pointer().cast(), a.pointer().cast(), b.pointer().cast()) };
    assert_eq!(code, if any_null { INVALID as i32 } else { 0 });
    if any_null {
        return;
    }
    // The product is right modulo 2^61 - 1, which a wrong one would be by luck only.
    const PRIME: u128 = (1 << 61) - 1;
    let modulo = |bytes: &[u8]| {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        words.iter().rev().fold(0u128, |sum, &word| ((sum << 64) % PRIME + u128::from(word)) % PRIME)
    };
    assert_eq!(modulo(product.get()), modulo(a.get()) * modulo(b.get()) % PRIME);
    let mut square = choices.buffer(128);
    // SAFETY: each pointer is null, which is refused, or a buffer of the length that the function works on: 128 bytes out, 64 in.
    let code = unsafe { ica_mp_sqr512(square.pointer().cast(), a.pointer().cast()) };
    assert!(if square.null {
        code == INVALID as i32
    } else {
        code == 0 && modulo(square.get()) == modulo(a.get()).pow(2) % PRIME
    });
}

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    match choices.below(4) {
        0 => generators(&mut choices),
        1 => others(&mut choices),
        2 => modes(&mut choices),
        _ => numbers(&mut choices),
    }
});
