//! The layouts copied from AWS-LC, held against what its functions do with them: the fields stand where they are looked for, and nothing is
//! written behind the last one.

use super::private::*;
use aws_lc_sys as lc;
use std::mem::{MaybeUninit, offset_of};

/// A structure with room behind it that the library must leave alone.
#[repr(C)]
struct Guarded<T> {
    inner: MaybeUninit<T>,
    behind: [u8; 64],
}

impl<T> Guarded<T> {
    fn new() -> Box<Guarded<T>> {
        Box::new(Guarded { inner: MaybeUninit::zeroed(), behind: [0xa5; 64] })
    }

    fn raw(&mut self) -> *mut std::ffi::c_void {
        self.inner.as_mut_ptr().cast()
    }

    /// # Safety
    /// Zeros are a value of it, or the library has set it up.
    unsafe fn checked(&self) -> &T {
        assert_eq!(self.behind, [0xa5; 64], "written behind the structure");
        // SAFETY: zeros are a value of T, or the library has set it up; the caller of this function knows.
        unsafe { self.inner.assume_init_ref() }
    }
}

#[test]
fn keccak() {
    let mut context = Guarded::<Keccak>::new();
    let (mut out, text) = ([0; 32], [7u8; 200]);
    // SAFETY: the context has room for the library's, and all lengths are those of the buffers.
    unsafe {
        assert_eq!(SHA3_Init(context.raw(), 256), 1);
        let c = context.checked();
        assert_eq!((c.block_size, c.md_size, c.buf_load, c.pad), (136, 32, 0, 6));
        assert_eq!(SHA3_Update(context.raw(), text.as_ptr(), 5), 1);
        let c = context.checked();
        assert_eq!((c.buf_load, &c.buf[..5], c.state), (5, &text[..5], [0; 25]));
        assert_eq!(SHA3_Update(context.raw(), text.as_ptr(), 200), 1);
        let c = context.checked();
        assert_eq!(c.buf_load, 205 - 136);
        assert_ne!(c.state, [0; 25]);
        let phase = c.phase;
        assert_eq!(SHA3_Final(out.as_mut_ptr(), context.raw()), 1);
        assert_ne!(context.checked().phase, phase);
        // SHAKE128's block is the longest: all of the buffer is used.
        assert_eq!(SHAKE_Init(context.raw(), 168), 1);
        assert_eq!(SHAKE_Absorb(context.raw(), text.as_ptr(), 167), 1);
        let c = context.checked();
        assert_eq!((c.block_size, c.buf_load, c.buf.len()), (168, 167, 168));
        assert_eq!(SHAKE_Squeeze(out.as_mut_ptr(), context.raw(), 32), 1);
        context.checked();
    }
}

#[test]
fn md5() {
    let mut context = Guarded::<Md5>::new();
    let (mut out, text) = ([0; 16], [7u8; 200]);
    // SAFETY: the context has room for the library's, and all lengths are those of the buffers.
    unsafe {
        assert_eq!(MD5_Init(context.raw()), 1);
        // RFC 1321, 3.3.
        assert_eq!(context.checked().state, [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]);
        assert_eq!(MD5_Update(context.raw(), text.as_ptr(), 200), 1);
        let c = context.checked();
        // The length in bits, and what is left of three blocks of 64 bytes.
        assert_eq!((c.bits, c.num, &c.buf[..8]), ([1600, 0], 8, &text[..8]));
        assert_eq!(MD5_Final(out.as_mut_ptr(), context.raw()), 1);
        context.checked();
    }
}

#[test]
fn gcm() {
    let mut context = Guarded::<GcmContext>::new();
    let mut key = lc::AES_KEY { rd_key: [0; 60], rounds: 0 };
    let (iv, aad, text) = ([3u8; 12], [5u8; 20], [9u8; 40]);
    let (mut out, mut tag) = ([0u8; 40], [0u8; 16]);
    // SAFETY: the context has room for the library's, and all lengths are those of the buffers.
    unsafe {
        assert_eq!(lc::AES_set_encrypt_key([1; 16].as_ptr(), 128, &raw mut key), 0);
        let raw = context.raw().cast::<GcmContext>();
        CRYPTO_gcm128_init_key(&raw mut (*raw).key, &raw const key, AES_encrypt, 0);
        let c = context.checked();
        assert!(c.key.gmult.is_some() && c.key.ghash.is_some() && c.key.block.is_some());
        assert_ne!(c.key.htable[0], [0; 2]);
        CRYPTO_gcm128_setiv(raw, &raw const key, iv.as_ptr(), iv.len());
        let c = context.checked();
        // SP 800-38D, 7.1: J0 is the IV and a counter of 1; the tag is masked with its encryption.
        let mut mask = [0; 16];
        let mut first = [3; 16];
        first[12..].copy_from_slice(&[0, 0, 0, 1]);
        AES_encrypt(first.as_ptr(), mask.as_mut_ptr(), &raw const key);
        assert_eq!((c.yi[..12].to_vec(), c.ek0, c.len), (iv.to_vec(), mask, [0; 2]));
        assert_eq!(CRYPTO_gcm128_aad(raw, aad.as_ptr(), aad.len()), 1);
        let c = context.checked();
        assert_eq!((c.len, c.ares, c.mres), ([20, 0], 4, 0));
        assert_eq!(CRYPTO_gcm128_encrypt(raw, &raw const key, text.as_ptr(), out.as_mut_ptr(), text.len()), 1);
        let c = context.checked();
        assert_eq!((c.len, c.ares, c.mres), ([20, 40], 0, 8));
        // The keystream of the last block, of which 8 bytes are used.
        let used: Vec<u8> = c.eki[..8].iter().zip(&text[32..]).map(|(k, t)| k ^ t).collect();
        assert_eq!(used, &out[32..]);
        CRYPTO_gcm128_tag(raw, tag.as_mut_ptr(), tag.len());
        assert_eq!(context.checked().xi, tag);
    }
    // The assembly that does both AES and GHASH finds the table by its distance from `xi`: the order "is fixed", internal.h says.
    assert_eq!(offset_of!(GcmContext, key), offset_of!(GcmContext, xi) + 16);
}

#[test]
fn des() {
    let mut schedule = Guarded::<DesKeySchedule>::new();
    // SAFETY: the schedule has room for the library's; a key has eight bytes.
    unsafe {
        DES_set_key_unchecked([0x13, 0x34, 0x57, 0x79, 0x9b, 0xbc, 0xdf, 0xf1].as_ptr(), schedule.raw());
        assert!(schedule.checked().iter().all(|&word| word != 0), "all of it is used");
    }
}

/// The functions that modules replace exist in AWS-LC: the linker would pass over a name that it does not have.
#[test]
fn modules_replace_functions_that_there_are() {
    let flags = include_str!("../../../adjunct/link/module.args");
    let replaced = [
        symbol!(CRYPTO_sysrand),
        symbol!(CRYPTO_get_fork_ube_generation),
        symbol!(CRYPTO_get_thread_local),
        symbol!(CRYPTO_set_thread_local),
    ];
    for name in replaced {
        assert!(flags.contains(&format!("--wrap={name}")), "{name}");
    }
}
