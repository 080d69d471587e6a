//! `ica_des_*`, `ica_3des_*` and `ica_aes_*`, but for the authenticating modes.

use super::{aes_key, array, bytes, code, encrypts, in_out, length, put, put_tag, verified};
use crate::cmac::{self, Mac};
use crate::error::Errno;
use crate::serve::allow;
use adjunct::catalogue::Function;
use adjunct::error::Error;
use adjunct::ops::cipher::once::{self, Aes, Cipher, SingleDes, TripleDes};
use adjunct::ops::cipher::xts::{MAX_UNIT, Xts};
use adjunct::ops::mac::BlockCipher;
use adjunct::{InOut, wipe};
use std::ffi::{c_uint, c_ulong};

/// The functions of a cipher, each by its mode. The shape: the cipher, its block, what its functions take beside the key, the key's name, a slice of
/// it, and its CMAC.
macro_rules! cipher {
    ($shape:tt; $($name:ident $mode:ident;)*) => {$(
        cipher!(@ $mode $name $shape);
    )*};
    (@ ecb $name:ident
     [$type:ty, $block:literal, ($($extra:ident)?), $raw:ident, $key:expr, $mac:expr]
    ) => {
        /// # Safety
        /// The caller's buffers, of the lengths given.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            input: *const u8, output: *mut u8, length: c_ulong, $raw: *const u8, $($extra: c_uint,)? direction: c_uint,
        ) -> c_uint {
            // SAFETY: the caller's buffers have the lengths given.
            code(|| unsafe {
                let length = whole::<$block>(length)?;
                let (key, encrypt) = ($key?, encrypts(direction)?);
                run(<$type>::ECB, <$type>::bits(key), input, output, length, |io| {
                    once::ecb::<$type, $block>(key, encrypt, io)
                })
            })
        }
    };
    // A vector goes in and the next one comes out. The mode by what lengths it takes, its number before or after the direction,
    // and what does it.
    (@ cbc $($rest:tt)*) => { cipher!(@ chained whole CBC [] [] cbc $($rest)*); };
    (@ cbc_cs $($rest:tt)*) => { cipher!(@ chained at_least CBC [] [variant] cbc_stealing $($rest)*); };
    (@ cfb $($rest:tt)*) => { cipher!(@ chained any CFB [feedback] [] cfb $($rest)*); };
    (@ ofb $($rest:tt)*) => { cipher!(@ chained any OFB [] [] ofb $($rest)*); };
    (@ ctr $($rest:tt)*) => { cipher!(@ chained any CTR [width] [] ctr $($rest)*); };
    (@ chained $lengths:ident $function:ident [$($before:ident)?] [$($after:ident)?] $mode:ident $name:ident
     [$type:ty, $block:literal, ($($extra:ident)?), $raw:ident, $key:expr, $mac:expr]
    ) => {
        /// # Safety
        /// The caller's buffers, of the lengths given; the vector is a block.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            input: *const u8, output: *mut u8, length: c_ulong, $raw: *const u8, $($extra: c_uint,)? iv: *mut u8,
            $($before: c_uint,)? direction: c_uint, $($after: c_uint,)?
        ) -> c_uint {
            // SAFETY: the caller's buffers have the lengths given; the vector is a block.
            code(|| unsafe {
                let length = $lengths::<$block>(length)?;
                let (key, encrypt) = ($key?, encrypts(direction)?);
                let mut chain = *array::<$block>(iv)?;
                run(<$type>::$function, <$type>::bits(key), input, output, length, |io| {
                    once::$mode::<$type, $block>(key, &mut chain, encrypt, $($before,)? $($after,)? io)
                })?;
                put(iv, &chain);
                Ok(())
            })
        }
    };
    (@ ctrlist $name:ident
     [$type:ty, $block:literal, ($($extra:ident)?), $raw:ident, $key:expr, $mac:expr]
    ) => {
        /// # Safety
        /// The caller's buffers, of the lengths given; the list is of whole blocks.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            input: *const u8, output: *mut u8, length: c_ulong, $raw: *const u8, $($extra: c_uint,)? list: *const u8,
            direction: c_uint,
        ) -> c_uint {
            // SAFETY: the caller's buffers have the lengths given; the list is of whole blocks.
            code(|| unsafe {
                let (key, encrypt) = ($key?, encrypts(direction)?);
                let list = bytes(list, self::length(length)?.next_multiple_of($block))?;
                let copy = beside(list, output)?;
                let list = copy.as_deref().unwrap_or(list);
                run(<$type>::CTR, <$type>::bits(key), input, output, length, |io| {
                    once::ctr_list::<$type, $block>(key, list, encrypt, io)
                })
            })
        }
    };
    (@ cmac $name:ident
     [$type:ty, $block:literal, ($($extra:ident)?), $raw:ident, $key:expr, $mac:expr]
    ) => {
        /// # Safety
        /// The caller's buffers, of the lengths given.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            message: *const u8, length: c_ulong, mac: *mut u8, mac_length: c_uint, $raw: *const u8,
            $($extra: c_uint,)? direction: c_uint,
        ) -> c_uint {
            // SAFETY: the caller's buffers have the lengths given.
            verified(|| unsafe {
                let key = $key?;
                let (made, bytes) = last($mac(key), key, bytes(message, length)?, None, (mac, mac_length), direction)?;
                put_tag(mac, &made, bytes);
                Ok(())
            }) as c_uint
        }
    };
    (@ cmac_intermediate $name:ident
     [$type:ty, $block:literal, ($($extra:ident)?), $raw:ident, $key:expr, $mac:expr]
    ) => {
        /// # Safety
        /// The caller's buffers, of the lengths given; the vector is a block.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            message: *const u8, length: c_ulong, $raw: *const u8, $($extra: c_uint,)? iv: *mut u8,
        ) -> c_uint {
            // SAFETY: the caller's buffers have the lengths given; the vector is a block.
            code(|| unsafe {
                let key = $key?;
                let mut chain = *array::<$block>(iv)?;
                cmac::intermediate($mac(key), key, bytes(message, length)?, &mut chain)?;
                put(iv, &chain);
                Ok(())
            })
        }
    };
    (@ cmac_last $name:ident
     [$type:ty, $block:literal, ($($extra:ident)?), $raw:ident, $key:expr, $mac:expr]
    ) => {
        /// # Safety
        /// The caller's buffers, of the lengths given; the vector is null or a block.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            message: *const u8, length: c_ulong, mac: *mut u8, mac_length: c_uint, $raw: *const u8,
            $($extra: c_uint,)? iv: *const u8, direction: c_uint,
        ) -> c_uint {
            // SAFETY: the caller's buffers have the lengths given; the vector is null or a block.
            verified(|| unsafe {
                let key = $key?;
                let chain = if iv.is_null() { None } else { Some(*array::<$block>(iv)?) };
                let chain = chain.as_ref().map(|chain| &chain[..]);
                let (made, bytes) = last($mac(key), key, bytes(message, length)?, chain, (mac, mac_length), direction)?;
                put_tag(mac, &made, bytes);
                Ok(())
            }) as c_uint
        }
    };
}

// Before anything is read of buffers that cannot be so long.

fn whole<const B: usize>(length: c_ulong) -> Result<c_ulong, Errno> {
    if self::length(length)?.is_multiple_of(B) { Ok(length) } else { Err(Errno::INVALID) }
}

fn at_least<const B: usize>(length: c_ulong) -> Result<c_ulong, Errno> {
    if self::length(length)? >= B { Ok(length) } else { Err(Errno::INVALID) }
}

const fn any<const B: usize>(length: c_ulong) -> Result<c_ulong, Errno> {
    Ok(length)
}

/// A copy of `list`, where writing from `output` on would change what of it is still to be read.
fn beside(list: &[u8], output: *const u8) -> Result<Option<Vec<u8>>, Errno> {
    let apart = (list.as_ptr() as usize).abs_diff(output as usize);
    if apart == 0 || apart >= list.len() {
        return Ok(None);
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(list.len()).map_err(|_| Errno::NO_MEMORY)?;
    copy.extend_from_slice(list);
    Ok(Some(copy))
}

unsafe fn run(
    function: Function,
    bits: usize,
    input: *const u8,
    output: *mut u8,
    length: c_ulong,
    mode: impl FnOnce(InOut<'_>) -> Result<(), Error>,
) -> Result<(), Errno> {
    allow(function, bits)?;
    // SAFETY: the caller's buffers.
    unsafe { in_out(input, output, length, |io| Ok(mode(io)?)) }
}

/// Verifies a MAC, or makes one of `mac_length` bytes, which the caller writes: it may lie where the message does.
///
/// # Safety
/// `mac` is null or has `mac_length` readable bytes.
unsafe fn last(
    cipher: BlockCipher,
    key: &[u8],
    message: &[u8],
    chain: Option<&[u8]>,
    (mac, mac_length): (*const u8, c_uint),
    direction: c_uint,
) -> Result<([u8; 16], usize), Errno> {
    let mut made = [0; 16];
    let length = mac_length as usize;
    // No more of the caller's is looked at than a MAC can have.
    if mac.is_null() || length > cipher.block() {
        return Err(Errno::INVALID);
    }
    let block = &mut made[..length];
    if encrypts(direction)? {
        cmac::last(cipher, key, message, chain, Mac::Make(block))?;
        return Ok((made, length));
    }
    // SAFETY: the caller's MAC.
    block.copy_from_slice(unsafe { bytes(mac, mac_length)? });
    cmac::last(cipher, key, message, chain, Mac::Verify(block))?;
    Ok((made, 0))
}

const fn des_cipher(_key: &[u8]) -> BlockCipher {
    BlockCipher::Des
}

const fn triple_des_cipher(_key: &[u8]) -> BlockCipher {
    BlockCipher::TripleDes
}

const fn aes_cipher(key: &[u8]) -> BlockCipher {
    BlockCipher::Aes(key.len())
}

cipher! {
    [SingleDes, 8, (), key, bytes(key, 8u32), des_cipher];
    ica_des_ecb ecb;
    ica_des_cbc cbc;
    ica_des_cbc_cs cbc_cs;
    ica_des_cfb cfb;
    ica_des_ofb ofb;
    ica_des_ctr ctr;
    ica_des_ctrlist ctrlist;
    ica_des_cmac cmac;
    ica_des_cmac_intermediate cmac_intermediate;
    ica_des_cmac_last cmac_last;
}

cipher! {
    [TripleDes, 8, (), key, bytes(key, 24u32), triple_des_cipher];
    ica_3des_ecb ecb;
    ica_3des_cbc cbc;
    ica_3des_cbc_cs cbc_cs;
    ica_3des_cfb cfb;
    ica_3des_ofb ofb;
    ica_3des_ctr ctr;
    ica_3des_ctrlist ctrlist;
    ica_3des_cmac cmac;
    ica_3des_cmac_intermediate cmac_intermediate;
    ica_3des_cmac_last cmac_last;
}

cipher! {
    [Aes, 16, (key_length), key, aes_key(key, key_length), aes_cipher];
    ica_aes_ecb ecb;
    ica_aes_cbc cbc;
    ica_aes_cbc_cs cbc_cs;
    ica_aes_cfb cfb;
    ica_aes_ofb ofb;
    ica_aes_ctr ctr;
    ica_aes_ctrlist ctrlist;
    ica_aes_cmac cmac;
    ica_aes_cmac_intermediate cmac_intermediate;
    ica_aes_cmac_last cmac_last;
}

/// Sets both keys.
///
/// # Safety
/// `data` and `tweak` are null or keys of `length` bytes.
#[inline]
unsafe fn xts_keys(
    xts: &mut Xts,
    data: *const u8,
    tweak: *const u8,
    length: c_uint,
    encrypt: bool,
) -> Result<(), Errno> {
    if !matches!(length, 16 | 32) {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's keys.
    unsafe { xts.set_keys(bytes(data, length)?, bytes(tweak, length)?, encrypt)? };
    Ok(())
}

/// # Safety
/// The caller's buffers, of the lengths given; the tweak is a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_xts(
    input: *const u8,
    output: *mut u8,
    length: c_ulong,
    data_key: *const u8,
    tweak_key: *const u8,
    key_length: c_uint,
    tweak: *const u8,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given; the tweak is a block.
    code(|| unsafe {
        let (length, encrypt) = (at_least::<16>(length)?, encrypts(direction)?);
        let first = *array::<16>(tweak)?;
        let mut xts = Xts::default();
        xts_keys(&mut xts, data_key, tweak_key, key_length, encrypt)?;
        run(Function::AesXts, key_length as usize * 8, input, output, length, |io| {
            if io.len() <= MAX_UNIT {
                return xts.unit(&first, io);
            }
            let mut tweak = xts.tweak(&first);
            let done = xts.part(&mut tweak, io);
            wipe(&mut tweak);
            done
        })
    })
}

/// # Safety
/// The caller's buffers, of the lengths given; tweak and vector are null or a block.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_xts_ex(
    input: *const u8,
    output: *mut u8,
    length: c_ulong,
    data_key: *const u8,
    tweak_key: *const u8,
    key_length: c_uint,
    tweak: *const u8,
    iv: *mut u8,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given; tweak and vector are null or a block.
    code(|| unsafe {
        let (length, encrypt) = (at_least::<16>(length)?, encrypts(direction)?);
        let mut xts = Xts::default();
        xts_keys(&mut xts, data_key, tweak_key, key_length, encrypt)?;
        let mut next = if tweak.is_null() { *array::<16>(iv)? } else { xts.tweak(array::<16>(tweak)?) };
        let done = run(Function::AesXts, key_length as usize * 8, input, output, length, |io| xts.part(&mut next, io));
        if done.is_ok() && !iv.is_null() {
            put(iv, &next);
        }
        wipe(&mut next);
        done
    })
}
