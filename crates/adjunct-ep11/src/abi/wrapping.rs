//! Wrapping keys of domains, by one call each: made, imported, exported, committed, put in use; and files of cards.

use super::administration::{read, returns, write};
use super::der::key_part;
use super::orders::{Callback, OF_DOMAIN, asking, signing};
use super::types::{EncryptedKey, RecipientInfo, Ulong};
use super::{Out, give, value};
use crate::admin::blocks::{self, Failed, error};
use crate::error::int;
use adjunct_ep11_wire::admin::{command, query};
use adjunct_ep11_wire::codes::rv;
use std::ffi::{c_int, c_long, c_uint, c_void};

/// A pattern, which a caller may have asked for.
const PATTERN: usize = 32;

/// # Safety
/// The caller's 32 bytes or null, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_gen_random_wk(
    target: u64,
    pattern: *mut u8,
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's bytes, function and target.
    returns(|| unsafe {
        let sign = signing(callback, options);
        let output = asking(target, OF_DOMAIN, |asked| asked.done(command::GEN_WK, &[], Some(&sign)))?;
        // Some say no more than half of it.
        let found = output.get(..PATTERN).ok_or(int::RESPONSE)?;
        write(pattern, PATTERN, found).map(|_| 0)
    })
}

/// # Safety
/// The caller's 32 bytes, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_commit_wk(
    target: u64,
    pattern: *const [u8; PATTERN],
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's bytes, function and target.
    returns(|| unsafe {
        let (pattern, sign) = (value(pattern).map_err(|_| int::ARG)?, signing(callback, options));
        asking(target, OF_DOMAIN, |asked| asked.done(command::COMMIT_WK, &pattern, Some(&sign))).map(|_| 0)
    })
}

/// # Safety
/// The caller's 32 bytes and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_finalize_wk(target: u64, pattern: *const [u8; PATTERN]) -> c_long {
    // SAFETY: the caller's bytes and target.
    returns(|| unsafe {
        let pattern = value(pattern).map_err(|_| int::ARG)?;
        asking(target, OF_DOMAIN, |asked| asked.done(command::FINALIZE_WK, &pattern, None)).map(|_| 0)
    })
}

/// Imports the next wrapping key by its parts, each in a RecipientInfo and signed by itself.
///
/// # Safety
/// The caller's 32 bytes or null, function and target.
unsafe fn import(
    target: u64,
    parts: &[Vec<u8>],
    pattern: *const [u8; PATTERN],
    callback: Callback,
    options: *const c_void,
) -> Result<usize, Failed> {
    // SAFETY: the caller's bytes, function and target.
    unsafe {
        let (wanted, sign) = (value(pattern).ok(), signing(callback, options));
        let output = asking(target, OF_DOMAIN, |asked| {
            let now = asked.now()?;
            let mut all = Vec::new();
            for part in parts {
                let block = blocks::command(command::IMPORT_WK, &now, None, part)?;
                all.extend(key_part(now.domain, &block, &sign(&block)?));
            }
            let reply = asked.order(command::IMPORT_WK, Some(now), &all, None)?;
            let said = reply.said()?;
            if said.rv == rv::OK { Ok(said.output.to_vec()) } else { Err(Failed(error::COMMAND_FAILED)) }
        })?;
        let same = wanted.is_none_or(|wanted| output.starts_with(&wanted));
        if same { Ok(0) } else { Err(int::RESPONSE.into()) }
    }
}

/// # Safety
/// The caller's structures, of as many as is said, 32 bytes or null, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_import_wk(
    target: u64,
    keys: *const EncryptedKey,
    count: c_uint,
    pattern: *const [u8; PATTERN],
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's structures, bytes, function and target.
    returns(|| unsafe {
        if !(1..=20).contains(&count) {
            return Err(int::ARG.into());
        }
        let one = |place| value(keys.wrapping_add(place as usize)).map_err(|_| int::ARG)?.recipient();
        let parts = (0..count).map(one).collect::<Result<Vec<_>, Failed>>()?;
        import(target, &parts, pattern, callback, options)
    })
}

/// # Safety
/// The caller's structures, of as many as is said, 32 bytes or null, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_import_wk_rcptinfo(
    target: u64,
    infos: *const RecipientInfo,
    count: c_uint,
    pattern: *const [u8; PATTERN],
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's structures, bytes, function and target.
    returns(|| unsafe {
        if !(1..=20).contains(&count) {
            return Err(int::ARG.into());
        }
        let one = |place| {
            let info: RecipientInfo = value(infos.wrapping_add(place as usize)).map_err(|_| int::ARG)?;
            Ok(info.data.get(..info.length).ok_or(int::ARG)?.to_vec())
        };
        let parts = (0..count).map(one).collect::<Result<Vec<_>, Failed>>()?;
        import(target, &parts, pattern, callback, options)
    })
}

/// # Safety
/// The caller's buffers, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_export_wk(
    target: u64,
    kind: c_int,
    parts: *mut u8,
    parts_length: *mut usize,
    request: *const u8,
    request_length: usize,
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's buffers, function and target.
    returns(|| unsafe {
        if parts.is_null() || parts_length.is_null() {
            return Err(int::ARG.into());
        }
        let (request, sign) = (read(request, request_length)?, signing(callback, options));
        let number = if kind == 0 { command::EXPORT_WK } else { command::EXPORT_NEXT_WK };
        let output = asking(target, OF_DOMAIN, |asked| asked.done(number, request, Some(&sign)))?;
        give(&[Out::plain(parts, parts_length)], &[&output]).map_err(|_| int::SIZE)?;
        Ok(0)
    })
}

/// Reads a part of a card's file: how many bytes; 0 where there is none.
///
/// # Safety
/// The caller's buffers and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_query_filepart(
    out: *mut u8,
    length: usize,
    head: *const u8,
    head_length: usize,
    target: u64,
    expected: Ulong,
) -> c_long {
    // SAFETY: the caller's buffers and target.
    returns(|| unsafe {
        let head = read(head, head_length)?;
        asking(target, 0, |asked| {
            let reply = asked.ask(query::INTERNAL_STATE, head)?;
            let said = reply.said()?;
            match said.rv {
                rv::OK if expected == 0 => write(out, length, said.output),
                _ => Ok(0),
            }
        })
    })
}

/// Removes a card's file.
///
/// # Safety
/// The caller's function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_remove_file(
    target: u64,
    file: c_uint,
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's function and target.
    returns(|| unsafe {
        let sign = signing(callback, options);
        asking(target, 0, |asked| asked.done(command::REMOVE_STATE, &file.to_be_bytes(), Some(&sign))).map(|_| 0)
    })
}

/// Functions for a card's state in files, which these cards do not have: XCP_EAPI.
macro_rules! without {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        /// XCP_EAPI: these cards do not have their state in files.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) -> c_long {
            _ = ($($argument,)*);
            int::API.into()
        }
    )*};
}

without! {
    xcpa_export_state(target: u64, state: *mut u8, state_length: *mut usize, parts: *mut u8, parts_length: *mut usize,
        request: *const u8, request_length: usize, callback: Callback, options: *const c_void);
    xcpa_import_state(target: u64, domains: *mut u8, state: *mut u8, state_length: usize, keys: *mut c_void,
        count: c_uint, callback: Callback, options: *const c_void);
    xcpa_construct_keypart_file(domains: *mut u8, holders: *const c_void, keys: *const c_void, count: c_uint,
        out: *mut u8, out_length: *mut usize, headed: c_uint);
    xcpa_query_full_file(out: *mut u8, length: usize, target: u64, file: c_uint, block: c_uint);
    xcpa_write_full_file(target: u64, callback: Callback, options: *const c_void, data: *const u8, length: usize,
        file: c_uint, block: c_uint);
}
