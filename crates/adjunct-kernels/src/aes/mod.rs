//! AES modes on the dedicated instructions of x86-64, where the CPU library has none or slow ones: VAES on vectors of
//! 512 or 256 bits for what can run in parallel, AES-NI for what cannot.
//!
//! Every function takes the round keys as the instructions want them (11, 13 or 15 blocks; for decryption those of the
//! equivalent inverse cipher, FIPS 197 5.3.5). There is no branch and no memory access that depends on key or data.
//!
//! The functions are safe to call where their target features are present; elsewhere the call is `unsafe`, and the
//! caller answers for having asked the CPU.

// The one safety rule is the one above; the lint takes a target feature for an unsafe function.
#![allow(clippy::missing_safety_doc)]

pub mod ccm;
pub mod gcm;
pub mod gcm_once;
pub mod key;
mod modes;
pub mod ni;
mod powers;
mod width;
mod xts;

/// Round keys.
pub type Keys<'a> = &'a [[u8; 16]];

/// The rounds, hence the AES instructions, a block of 16 bytes takes under these round keys.
pub const fn rounds(keys: Keys<'_>) -> usize {
    keys.len() - 1
}

/// Evaluates an expression in which `$n` is the number of round keys, a constant.
macro_rules! by_length {
    ($keys:expr, $n:ident => $call:expr) => {
        match $keys.len() {
            11 => {
                const $n: usize = 11;
                $call
            }
            13 => {
                const $n: usize = 13;
                $call
            }
            15 => {
                const $n: usize = 15;
                $call
            }
            other => unreachable!("{other} round keys"),
        }
    };
}
use by_length;

/// The kernels of one width.
macro_rules! kernels {
    ($module:ident, $vector:ident, $features:literal, $doc:literal) => {
        #[doc = $doc]
        pub mod $module {
            use super::gcm::{self, Message, Table};
            use super::{Keys, modes, xts};
            use crate::InOut;
            use std::arch::x86_64::$vector as Vector;

            /// ECB over whole blocks.
            ///
            /// # Panics
            /// If the length is not a multiple of 16.
            #[target_feature(enable = $features)]
            pub fn ecb(keys: Keys<'_>, encrypt: bool, io: InOut<'_>) {
                if encrypt {
                    by_length!(keys, N => modes::ecb::<Vector, N, true>(keys, io))
                } else {
                    by_length!(keys, N => modes::ecb::<Vector, N, false>(keys, io))
                }
            }

            /// CBC decryption of whole blocks; `iv` becomes the last ciphertext block.
            ///
            /// # Panics
            /// If the length is not a multiple of 16.
            #[target_feature(enable = $features)]
            pub fn cbc_decrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
                by_length!(keys, N => modes::chained::<Vector, N, false>(keys, iv, io))
            }

            /// CFB-128 decryption of whole blocks; `iv` becomes the last ciphertext block.
            ///
            /// # Panics
            /// If the length is not a multiple of 16.
            #[target_feature(enable = $features)]
            pub fn cfb_decrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
                by_length!(keys, N => modes::chained::<Vector, N, true>(keys, iv, io))
            }

            /// CTR with a big-endian counter of 128 bits over whole blocks.
            ///
            /// # Panics
            /// If the length is not a multiple of 16.
            #[target_feature(enable = $features)]
            pub fn ctr(keys: Keys<'_>, counter: &mut [u8; 16], io: InOut<'_>) {
                by_length!(keys, N => modes::ctr::<Vector, N>(keys, counter, io))
            }

            /// CTR over whole blocks with a list of counters, at least as long.
            ///
            /// # Panics
            /// If the length is not a multiple of 16, or the list is shorter.
            #[target_feature(enable = $features)]
            pub fn ctr_list(keys: Keys<'_>, list: &[u8], io: InOut<'_>) {
                by_length!(keys, N => modes::ctr_list::<Vector, N>(keys, list, io))
            }

            /// XTS over whole blocks; `tweak`, encrypted under `tweak_keys` first where there are any, is multiplied by x
            /// for each. Stealing the last block's bytes is the caller's.
            ///
            /// # Panics
            /// If the length is not a multiple of 16, or the two keys' lengths differ.
            #[target_feature(enable = $features)]
            pub fn xts(
                keys: Keys<'_>,
                tweak_keys: Option<Keys<'_>>,
                encrypt: bool,
                tweak: &mut [u8; 16],
                io: InOut<'_>,
            ) {
                if encrypt {
                    by_length!(keys, N => xts::xts::<Vector, N, true>(keys, tweak_keys, tweak, io))
                } else {
                    by_length!(keys, N => xts::xts::<Vector, N, false>(keys, tweak_keys, tweak, io))
                }
            }

            /// GCM: the hash key, that of the key or the one given, which a table begins with. Before a run of blocks (of an IV
            /// other than 12 bytes, additional data or text) the table must have their powers, before a tag of
            /// [begun](Message::begun) data two: `gcm_extend`.
            #[target_feature(enable = $features)]
            pub fn gcm_table(keys: Keys<'_>, given: Option<&[u8; 16]>, table: &mut Table) {
                gcm::table(keys, given, table)
            }

            /// GCM: the powers of the hash key for runs of `blocks`, in a table that has been begun.
            #[target_feature(enable = $features)]
            pub fn gcm_extend(table: &mut Table, blocks: usize) {
                gcm::extend::<Vector>(table, blocks)
            }

            /// GCM: begins a message under an IV, which is not empty.
            #[target_feature(enable = $features)]
            pub fn gcm_start(keys: Keys<'_>, table: &Table, message: &mut Message, iv: &[u8]) {
                gcm::start::<Vector>(keys, table, message, iv)
            }

            /// GCM: goes on with a message of which the next counter block and the hash so far are these; the lengths count from
            /// here.
            #[target_feature(enable = $features)]
            pub fn gcm_resume(message: &mut Message, counter: &[u8; 16], hash: &[u8; 16]) {
                gcm::resume(message, counter, hash)
            }

            /// GCM: the next counter block and the hash, after whole blocks.
            #[target_feature(enable = $features)]
            pub fn gcm_progress(message: &Message, counter: &mut [u8; 16], hash: &mut [u8; 16]) {
                gcm::progress(message, counter, hash)
            }

            /// GCM: additional data, all of it before the message and less than 2^61 bytes.
            #[target_feature(enable = $features)]
            pub fn gcm_aad(table: &Table, message: &mut Message, data: &[u8]) {
                gcm::aad::<Vector>(table, message, data)
            }

            /// GCM: the message's next bytes, of at most 2^36 - 32 in all.
            #[target_feature(enable = $features)]
            pub fn gcm_crypt(keys: Keys<'_>, encrypt: bool, table: &Table, message: &mut Message, io: InOut<'_>) {
                if encrypt {
                    by_length!(keys, N => gcm::crypt::<Vector, N, true>(keys, table, message, io))
                } else {
                    by_length!(keys, N => gcm::crypt::<Vector, N, false>(keys, table, message, io))
                }
            }

            /// GCM: the tag.
            #[target_feature(enable = $features)]
            pub fn gcm_tag(table: &Table, message: &mut Message) -> [u8; 16] {
                gcm::tag::<Vector>(table, message)
            }
        }
    };
}

kernels!(vaes512, __m512i, "avx512f,avx512bw,vaes,vpclmulqdq", "VAES on vectors of 512 bits.");
kernels!(
    vaes256,
    __m256i,
    "avx2,vaes,vpclmulqdq",
    "VAES on vectors of 256 bits, for CPUs that have it without AVX-512."
);
