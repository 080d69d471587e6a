//! AES modes on the dedicated instructions of x86-64, where the CPU library has none or slow ones: VAES on 512-bit
//! vectors for what can run in parallel, AES-NI for what cannot.
//!
//! Every function takes the round keys as the instructions want them (11, 13 or 15 blocks; for decryption those of the
//! equivalent inverse cipher, FIPS 197 5.3.5). There is no branch and no memory access that depends on key or data.
//!
//! The functions are safe to call where their target features are present; elsewhere the call is `unsafe`, and the
//! caller answers for having asked the CPU.

// The one safety rule is the one above; the lint takes a target feature for an unsafe function.
#![allow(clippy::missing_safety_doc)]

pub mod ccm;
pub mod ni;
pub mod vaes;
pub mod xts;

/// Round keys.
pub type Keys<'a> = &'a [[u8; 16]];

/// Calls a function that is generic over the number of round keys.
macro_rules! by_length {
    ($keys:expr, $function:ident $(::<$($parameter:tt),+>)? ($($argument:expr),*)) => {
        match $keys.len() {
            11 => $function::<11 $(, $($parameter),+)?>($($argument),*),
            13 => $function::<13 $(, $($parameter),+)?>($($argument),*),
            15 => $function::<15 $(, $($parameter),+)?>($($argument),*),
            other => unreachable!("{other} round keys"),
        }
    };
}
use by_length;
