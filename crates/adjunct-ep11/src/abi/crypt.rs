//! Random bytes, digests, encryption and decryption.

use super::mechanism::mechanism;
use super::types::{Mechanism, Ulong};
use super::{LIBRARY, Out, call, captured, change, input, returns, target};
use crate::error::Rv;
use crate::forms::inward;
use crate::library::Said;
use adjunct_ep11_wire::function::Function;

/// The most random bytes that one request asks for.
const RANDOM: usize = 1 << 20;

/// # Safety
/// The buffer is the caller's, of that length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_GenerateRandom(bytes: *mut u8, length: usize, target: u64) -> Ulong {
    returns(|| {
        // SAFETY: the caller's target.
        let target = unsafe { self::target(target)? };
        if bytes.is_null() && length > 0 {
            return Err(Rv::ARGUMENTS);
        }
        let (mut done, mut room) = (0, length);
        while done < length {
            let count = (length - done).min(RANDOM);
            match LIBRARY.run(&target, Function::GenerateRandom, &[&(count as u32).to_be_bytes()])? {
                Said::Done(answer) => {
                    let random = answer.result(0)?;
                    if random.len() != count {
                        return Err(Rv::DEVICE);
                    }
                    // SAFETY: the caller's buffer has `length` bytes, of which `done` are written.
                    unsafe { bytes.add(done).copy_from_nonoverlapping(random.as_ptr(), count) };
                }
                // There is no length to write to.
                Said::Length(_) => return Err(Rv::ARGUMENTS),
                // SAFETY: the caller's buffer.
                said => return unsafe { captured(&[Out::plain(bytes, &raw mut room)], said) },
            }
            done += count;
        }
        Ok(())
    })
}

/// # Safety
/// The buffer is the caller's, of that length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_SeedRandom(seed: *const u8, length: usize, target: u64) -> Ulong {
    // SAFETY: the caller's buffer and target.
    returns(|| unsafe { call(&self::target(target)?, Function::SeedRandom, &[input(seed, length)?], &[]) })
}

/// # Safety
/// The caller's mechanism and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_DigestInit(
    state: *mut u8,
    state_length: *mut usize,
    mechanism: *const Mechanism,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's mechanism, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        call(&target, Function::DigestInit, &[&mechanism], &[Out::blob(state, state_length)])
    })
}

/// # Safety
/// The caller's state, which is changed, and buffer, of those lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_DigestUpdate(
    state: *mut u8,
    state_length: usize,
    data: *const u8,
    length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's state, buffer and target.
    returns(|| unsafe {
        let target = self::target(target)?;
        change(&target, Function::DigestUpdate, state, state_length, &[input(data, length)?], &[])
    })
}

/// # Safety
/// The caller's state, which is changed, and key, of those lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_DigestKey(
    state: *mut u8,
    state_length: usize,
    key: *const u8,
    key_length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's state, key and target.
    returns(|| unsafe {
        let target = self::target(target)?;
        change(&target, Function::DigestKey, state, state_length, &[&inward(input(key, key_length)?)], &[])
    })
}

/// # Safety
/// The caller's mechanism and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_DigestSingle(
    mechanism: *const Mechanism,
    data: *const u8,
    length: usize,
    digest: *mut u8,
    digest_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's mechanism, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        let out = Out::plain(digest, digest_length);
        call(&target, Function::DigestSingle, &[&mechanism, input(data, length)?], &[out])
    })
}

/// Functions that begin an operation with a key.
macro_rules! begins {
    ($($name:ident $function:ident;)*) => {$(
        /// # Safety
        /// The caller's mechanism, key and buffers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            state: *mut u8,
            state_length: *mut usize,
            mechanism: *const $crate::abi::types::Mechanism,
            key: *const u8,
            key_length: usize,
            target: u64,
        ) -> $crate::abi::types::Ulong {
            // SAFETY: the caller's mechanism, key, buffers and target.
            $crate::abi::returns(|| unsafe {
                let target = $crate::abi::target(target)?;
                let mechanism = $crate::abi::mechanism::mechanism(mechanism)?;
                let key = $crate::forms::inward($crate::abi::input(key, key_length)?);
                let out = $crate::abi::Out::blob(state, state_length);
                $crate::abi::call(&target, Function::$function, &[&mechanism, &key], &[out])
            })
        }
    )*};
}
pub(super) use begins;

/// Functions that end an operation.
macro_rules! ends {
    ($($name:ident $function:ident;)*) => {$(
        /// # Safety
        /// The caller's state and buffers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            state: *const u8,
            state_length: usize,
            out: *mut u8,
            out_length: *mut usize,
            target: u64,
        ) -> $crate::abi::types::Ulong {
            // SAFETY: the caller's state, buffers and target.
            $crate::abi::returns(|| unsafe {
                let target = $crate::abi::target(target)?;
                let state = $crate::forms::inward($crate::abi::input(state, state_length)?);
                $crate::abi::call(&target, Function::$function, &[&state], &[$crate::abi::Out::plain(out, out_length)])
            })
        }
    )*};
}
pub(super) use ends;

/// Functions that are all of an operation that has begun.
macro_rules! wholes {
    ($($name:ident $function:ident;)*) => {$(
        /// # Safety
        /// The caller's state and buffers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            state: *const u8,
            state_length: usize,
            data: *const u8,
            length: usize,
            out: *mut u8,
            out_length: *mut usize,
            target: u64,
        ) -> $crate::abi::types::Ulong {
            // SAFETY: the caller's state, buffers and target.
            $crate::abi::returns(|| unsafe {
                let target = $crate::abi::target(target)?;
                let state = $crate::forms::inward($crate::abi::input(state, state_length)?);
                let (data, out) = ($crate::abi::input(data, length)?, $crate::abi::Out::plain(out, out_length));
                $crate::abi::call(&target, Function::$function, &[&state, data], &[out])
            })
        }
    )*};
}
pub(super) use wholes;

/// Functions that are an operation by themselves.
macro_rules! singles {
    ($($name:ident $function:ident;)*) => {$(
        /// # Safety
        /// The caller's key, mechanism and buffers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            key: *const u8,
            key_length: usize,
            mechanism: *const $crate::abi::types::Mechanism,
            data: *const u8,
            length: usize,
            out: *mut u8,
            out_length: *mut usize,
            target: u64,
        ) -> $crate::abi::types::Ulong {
            // SAFETY: the caller's key, mechanism, buffers and target.
            $crate::abi::returns(|| unsafe {
                let target = $crate::abi::target(target)?;
                let key = $crate::forms::inward($crate::abi::input(key, key_length)?);
                let mechanism = $crate::abi::mechanism::mechanism(mechanism)?;
                let (data, out) = ($crate::abi::input(data, length)?, $crate::abi::Out::plain(out, out_length));
                $crate::abi::call(&target, Function::$function, &[&key, &mechanism, data], &[out])
            })
        }
    )*};
}
pub(super) use singles;

begins! {
    m_EncryptInit EncryptInit;
    m_DecryptInit DecryptInit;
}

ends! {
    m_DigestFinal DigestFinal;
    m_EncryptFinal EncryptFinal;
    m_DecryptFinal DecryptFinal;
}

wholes! {
    m_Digest Digest;
    m_Encrypt Encrypt;
    m_Decrypt Decrypt;
}

singles! {
    m_EncryptSingle EncryptSingle;
    m_DecryptSingle DecryptSingle;
}

/// Functions that go on with an operation and give data.
macro_rules! updates {
    ($($name:ident $function:ident;)*) => {$(
        /// # Safety
        /// The caller's state, which is changed, and buffers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            state: *mut u8,
            state_length: usize,
            data: *const u8,
            length: usize,
            out: *mut u8,
            out_length: *mut usize,
            target: u64,
        ) -> Ulong {
            // SAFETY: the caller's state, buffers and target.
            returns(|| unsafe {
                let target = self::target(target)?;
                let (data, out) = (input(data, length)?, Out::plain(out, out_length));
                change(&target, Function::$function, state, state_length, &[data], &[out])
            })
        }
    )*};
}

updates! {
    m_EncryptUpdate EncryptUpdate;
    m_DecryptUpdate DecryptUpdate;
}

/// # Safety
/// The caller's keys, mechanisms and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_ReencryptSingle(
    decrypting_key: *const u8,
    decrypting_key_length: usize,
    encrypting_key: *const u8,
    encrypting_key_length: usize,
    decrypting: *const Mechanism,
    encrypting: *const Mechanism,
    data: *const u8,
    length: usize,
    out: *mut u8,
    out_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's keys, mechanisms, buffers and target.
    returns(|| unsafe {
        let target = self::target(target)?;
        let old = inward(input(decrypting_key, decrypting_key_length)?);
        let new = inward(input(encrypting_key, encrypting_key_length)?);
        let (decrypting, encrypting) = (mechanism(decrypting)?, mechanism(encrypting)?);
        let arguments: [&[u8]; 5] = [&old, &new, &decrypting, &encrypting, input(data, length)?];
        call(&target, Function::ReencryptSingle, &arguments, &[Out::plain(out, out_length)])
    })
}
