//! Blocks of administration.

use super::types::{AdminResponse, Ulong};
use super::{input, target, value};
use crate::admin::blocks::{self, Failed, For};
use crate::error::int;
use crate::targets::{Member, Named};
use adjunct_ossl::guard;
use std::ffi::{c_long, c_uint};
use std::ptr;

/// Runs a function that returns bytes or an error as a `long`.
pub(crate) fn returns(body: impl FnOnce() -> Result<usize, Failed>) -> c_long {
    guard(int::INTERNAL.into(), || match body() {
        Ok(bytes) => c_long::try_from(bytes).unwrap_or(int::SIZE.into()),
        Err(Failed(error)) => c_long::try_from(error).unwrap_or(c_long::MIN),
    })
}

/// A buffer to read.
///
/// # Errors
/// [`int::ARG`].
///
/// # Safety
/// As for [`input`].
pub(crate) unsafe fn read<'a>(data: *const u8, length: usize) -> Result<&'a [u8], Failed> {
    // SAFETY: the caller's buffer.
    unsafe { input(data, length) }.map_err(|_| int::ARG.into())
}

/// Writes bytes to a buffer that has room, or none for null; how many.
///
/// # Errors
/// [`int::SIZE`] where there is no room.
///
/// # Safety
/// The buffer is null or the caller's, of that length.
pub(crate) unsafe fn write(data: *mut u8, length: usize, bytes: &[u8]) -> Result<usize, Failed> {
    if !data.is_null() {
        if length < bytes.len() {
            return Err(int::SIZE.into());
        }
        // SAFETY: the caller's buffer has room, and is apart from what was made here.
        unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    Ok(bytes.len())
}

/// The domain of a target that is no group.
///
/// # Errors
/// [`int::TARGET`].
///
/// # Safety
/// As for [`target`].
pub(crate) unsafe fn only(target: u64) -> Result<Member, Failed> {
    // SAFETY: the caller's target.
    let target = unsafe { self::target(target) }.map_err(|_| int::TARGET)?;
    super::LIBRARY.targets.only(&target.members).ok_or(int::TARGET.into())
}

impl AdminResponse {
    /// What a command is made for.
    pub(crate) fn of(&self) -> For {
        For { domain: self.domain, instance: self.instance, module: self.module, counter: self.counter }
    }

    /// What a reply says; the payload is in the reply.
    pub(crate) fn new(reply: &blocks::Said<'_>) -> AdminResponse {
        let head = reply.head;
        let (module_number, module_instance) = head.module.split_at(8);
        let half = |bytes: &[u8]| {
            let mut half = [0; 8];
            half.copy_from_slice(bytes);
            half
        };
        let payload = if reply.output.is_empty() { ptr::null() } else { reply.output.as_ptr() };
        AdminResponse {
            function: head.number,
            domain: head.domain,
            instance: head.instance,
            module: head.module,
            module_number: half(module_number),
            module_instance: half(module_instance),
            counter: head.counter,
            rv: reply.rv.into(),
            reason: blocks::reason(reply),
            payload,
            payload_length: reply.output.len(),
        }
    }
}

/// # Safety
/// The caller's buffers and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_queryblock(
    block: *mut u8,
    length: usize,
    function: c_uint,
    target: u64,
    payload: *const u8,
    payload_length: usize,
) -> c_long {
    // SAFETY: the caller's buffers and target.
    returns(|| unsafe {
        // A domain need not have been added: the block goes nowhere.
        let domain = match Named::of(target) {
            Some(Named::Domain(member)) => member.domain,
            _ => only(target)?.domain,
        };
        write(block, length, &blocks::query(function, domain.into(), read(payload, payload_length)?))
    })
}

/// # Safety
/// The caller's structure and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_cmdblock(
    block: *mut u8,
    length: usize,
    function: c_uint,
    of: *const AdminResponse,
    counter: *const [u8; 16],
    payload: *const u8,
    payload_length: usize,
) -> c_long {
    // SAFETY: the caller's structure and buffers.
    returns(|| unsafe {
        let of = value(of).map_err(|_| int::ARG)?.of();
        let counter = value(counter).ok();
        write(block, length, &blocks::command(function, &of, counter, read(payload, payload_length)?)?)
    })
}

/// Reads a reply of `m_admin`.
///
/// # Safety
/// The caller's reply, which lives as long as the payload in the structure is used, and structure and value, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_internal_rv(
    reply: *const u8,
    length: usize,
    response: *mut AdminResponse,
    rv: *mut Ulong,
) -> c_long {
    // SAFETY: the caller's reply, structure and value.
    returns(|| unsafe {
        if reply.is_null() || response.is_null() && rv.is_null() {
            return Err(int::ARG.into());
        }
        let reply = blocks::reply(read(reply, length)?)?;
        if !response.is_null() {
            response.write_unaligned(AdminResponse::new(&reply));
        }
        if !rv.is_null() {
            rv.write_unaligned(reply.rv.into());
        }
        Ok(0)
    })
}

/// [`xcpa_queryblock`] by its name before version 2.
///
/// # Safety
/// As for [`xcpa_queryblock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ep11a_queryblock(
    block: *mut u8,
    length: usize,
    function: c_uint,
    target: u64,
    payload: *const u8,
    payload_length: usize,
) -> c_long {
    // SAFETY: as the caller's word is.
    unsafe { xcpa_queryblock(block, length, function, target, payload, payload_length) }
}

/// [`xcpa_cmdblock`] by its name before version 2.
///
/// # Safety
/// As for [`xcpa_cmdblock`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ep11a_cmdblock(
    block: *mut u8,
    length: usize,
    function: c_uint,
    of: *const AdminResponse,
    counter: *const [u8; 16],
    payload: *const u8,
    payload_length: usize,
) -> c_long {
    // SAFETY: as the caller's word is.
    unsafe { xcpa_cmdblock(block, length, function, of, counter, payload, payload_length) }
}

/// [`xcpa_internal_rv`] by its name before version 2.
///
/// # Safety
/// As for [`xcpa_internal_rv`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ep11a_internal_rv(
    reply: *const u8,
    length: usize,
    response: *mut AdminResponse,
    rv: *mut Ulong,
) -> c_long {
    // SAFETY: as the caller's word is.
    unsafe { xcpa_internal_rv(reply, length, response, rv) }
}

/// # Safety
/// The caller's buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_certreplace(
    block: *mut u8,
    length: usize,
    ski: *const u8,
    ski_length: usize,
    certificate: *const u8,
    certificate_length: usize,
) -> c_long {
    // SAFETY: the caller's buffers.
    returns(|| unsafe {
        let (ski, certificate) = (read(ski, ski_length)?, read(certificate, certificate_length)?);
        if ski.is_empty() || certificate.is_empty() {
            return Err(int::ARG.into());
        }
        write(block, length, &blocks::certificate_replacement(ski, certificate))
    })
}
