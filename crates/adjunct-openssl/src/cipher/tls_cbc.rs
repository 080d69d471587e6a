//! TLS records under plain CBC ciphers. libssl sets `tls-version` and `tls-mac-size` and then expects each update to be
//! one record, in place: padded when encrypting; when decrypting without its explicit IV, padding and MAC, which it
//! asks for as `tls-mac`. RFC 5246 6.2.3.2, RFC 6101 5.2.3.2.

use super::state::{Mode, State};
use crate::abi::reason::prov;
use adjunct::InOut;
use adjunct::ops::cipher::Counted;
use adjunct::ops::tls_record;
use std::ffi::c_int;
use zeroize::Zeroize;

const SSL3: u32 = 0x0300;
const TLS1: u32 = 0x0301;
/// TLS 1.1 and 1.2, DTLS 1.0, 1.2 and the one Cisco shipped before the standard: records begin with an IV.
const EXPLICIT_IV: [u32; 5] = [0x0302, 0x0303, 0xFEFF, 0xFEFD, 0x0100];

/// Encrypts or decrypts a record.
///
/// # Safety
/// `input` is valid for `len` bytes and `out` for `out_size`.
pub(super) unsafe fn update<M: Mode>(
    state: &mut State,
    cipher: &mut Counted<M::Cipher>,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    mut len: usize,
) -> c_int {
    let block = M::INFO.block;
    if input.is_null() || input != out.cast_const() || out_size < len || !state.pad {
        return state.fail(prov::CIPHER_OPERATION_FAILED);
    }
    if state.encrypt {
        let pad = block - len % block;
        if out_size - len < pad {
            return state.fail(prov::CIPHER_OPERATION_FAILED);
        }
        // SAFETY: within the output.
        let padding = unsafe { std::slice::from_raw_parts_mut(out.add(len), pad) };
        padding.fill(if state.tls_version == SSL3 { 0 } else { (pad - 1) as u8 });
        padding[pad - 1] = (pad - 1) as u8;
        len += pad;
    }
    if !len.is_multiple_of(block) || state.tls_mac_size > tls_record::MAX_MAC {
        return state.fail(prov::CIPHER_OPERATION_FAILED);
    }
    // SAFETY: len is at most out_size, and the input is the output.
    let record = unsafe { std::slice::from_raw_parts_mut(out, len) };
    if cipher.run(state.encrypt, state.chain(), InOut::in_place(record)).is_err() {
        return state.fail(prov::CIPHER_OPERATION_FAILED);
    }
    state.tls_mac.zeroize();
    state.tls_mac = None;
    let mut payload = len;
    if !state.encrypt {
        let hidden = if EXPLICIT_IV.contains(&state.tls_version) { block } else { 0 };
        let known = hidden > 0 || matches!(state.tls_version, SSL3 | TLS1);
        let Some(body) = record.get(hidden..).filter(|_| known) else {
            return state.fail(prov::CIPHER_OPERATION_FAILED);
        };
        let minimal = (state.tls_version == SSL3).then_some(block);
        let Some((length, mac)) = tls_record::open(body, state.tls_mac_size, minimal) else {
            return state.fail(prov::CIPHER_OPERATION_FAILED);
        };
        payload = length;
        state.tls_mac = mac;
    }
    // SAFETY: OpenSSL's pointer.
    unsafe { *out_len = payload };
    1
}
