//! Signatures and MACs.

use super::crypt::{begins, ends, singles, wholes};
use super::mechanism::mechanism;
use super::types::{Mechanism, Ulong};
use super::{call, change, input, returns, target};
use crate::forms::inward;
use adjunct_ep11_wire::function::Function;

begins! {
    m_SignInit SignInit;
    m_VerifyInit VerifyInit;
}

ends! {
    m_SignFinal SignFinal;
}

wholes! {
    m_Sign Sign;
}

singles! {
    m_SignSingle SignSingle;
}

/// Functions that go on with an operation and give nothing.
macro_rules! updates {
    ($($name:ident $function:ident;)*) => {$(
        /// # Safety
        /// The caller's state, which is changed, and buffer.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            state: *mut u8,
            state_length: usize,
            data: *const u8,
            length: usize,
            target: u64,
        ) -> Ulong {
            // SAFETY: the caller's state, buffer and target.
            returns(|| unsafe {
                let target = self::target(target)?;
                change(&target, Function::$function, state, state_length, &[input(data, length)?], &[])
            })
        }
    )*};
}

updates! {
    m_SignUpdate SignUpdate;
    m_VerifyUpdate VerifyUpdate;
}

/// # Safety
/// The caller's state and signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_VerifyFinal(
    state: *const u8,
    state_length: usize,
    signature: *const u8,
    signature_length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's state, signature and target.
    returns(|| unsafe {
        let (target, state) = (self::target(target)?, inward(input(state, state_length)?));
        call(&target, Function::VerifyFinal, &[&state, input(signature, signature_length)?], &[])
    })
}

/// # Safety
/// The caller's state, data and signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_Verify(
    state: *const u8,
    state_length: usize,
    data: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's state, data, signature and target.
    returns(|| unsafe {
        let (target, state) = (self::target(target)?, inward(input(state, state_length)?));
        let (data, signature) = (input(data, length)?, input(signature, signature_length)?);
        call(&target, Function::Verify, &[&state, data, signature], &[])
    })
}

/// # Safety
/// The caller's key, mechanism, data and signature.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_VerifySingle(
    key: *const u8,
    key_length: usize,
    mechanism: *const Mechanism,
    data: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's key, mechanism, data, signature and target.
    returns(|| unsafe {
        let (target, key) = (self::target(target)?, inward(input(key, key_length)?));
        let mechanism = self::mechanism(mechanism)?;
        let (data, signature) = (input(data, length)?, input(signature, signature_length)?);
        call(&target, Function::VerifySingle, &[&key, &mechanism, data, signature], &[])
    })
}
