//! What a module is and does, administration, and requests as they are.

use super::types::{MechanismInfo, Ulong};
use super::{LIBRARY, Out, captured, give, input, returns, target};
use crate::admin::blocks;
use crate::error::Rv;
use crate::info;
use crate::library::Said;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::Reply;
use std::ffi::c_uint;

/// A header of the transport's before the request, or left before the reply: there is none.
const HEADERS: c_uint = 1;

/// # Safety
/// The caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_get_xcp_info(
    information: *mut u8,
    length: *mut usize,
    query: c_uint,
    subquery: c_uint,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's buffer and target.
    returns(|| unsafe {
        let out = Out::plain(information, length);
        out.check()?;
        if query >= info::HOST {
            return give(&[out], &[&info::host(query)?]);
        }
        let target = self::target(target)?;
        match LIBRARY.run(&target, Function::GetInfo, &[&query.to_be_bytes(), &subquery.to_be_bytes()])? {
            Said::Done(answer) => {
                let room = if information.is_null() { usize::MAX } else { out.room() };
                give(&[out], &[&info::structure(query, subquery, answer.result(0)?, room)?])
            }
            said => captured(&[out], said),
        }
    })
}

/// [`m_get_xcp_info`] by its name before version 2.
///
/// # Safety
/// As for [`m_get_xcp_info`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_get_ep11_info(
    information: *mut u8,
    length: *mut usize,
    query: c_uint,
    subquery: c_uint,
    target: u64,
) -> Ulong {
    // SAFETY: as the caller's word is.
    unsafe { m_get_xcp_info(information, length, query, subquery, target) }
}

/// # Safety
/// The caller's array of as many numbers as the count says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_GetMechanismList(
    _slot: Ulong,
    mechanisms: *mut Ulong,
    count: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's array, count and target.
    returns(|| unsafe {
        let target = self::target(target)?;
        let room = super::value(count)?;
        let Said::Done(answer) = LIBRARY.run(&target, Function::GetMechanismList, &[])? else {
            return Err(Rv::ARGUMENTS);
        };
        let (all, rest) = answer.result(0)?.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Rv::DEVICE);
        }
        count.write_unaligned(all.len());
        if mechanisms.is_null() {
            return Ok(());
        }
        if room < all.len() {
            return Err(Rv(rv::BUFFER_TOO_SMALL));
        }
        for (place, mechanism) in all.iter().enumerate() {
            mechanisms.add(place).write_unaligned(u32::from_be_bytes(*mechanism).into());
        }
        Ok(())
    })
}

/// # Safety
/// The caller's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_GetMechanismInfo(
    _slot: Ulong,
    mechanism: Ulong,
    information: *mut MechanismInfo,
    target: u64,
) -> Ulong {
    returns(|| {
        // SAFETY: the caller's target.
        let target = unsafe { self::target(target)? };
        let mechanism = u32::try_from(mechanism).map_err(|_| Rv(rv::MECHANISM_INVALID))?;
        if information.is_null() {
            return Err(Rv::ARGUMENTS);
        }
        let Said::Done(answer) = LIBRARY.run(&target, Function::GetMechanismInfo, &[&mechanism.to_be_bytes()])? else {
            return Err(Rv::ARGUMENTS);
        };
        let (&[smallest, largest, flags], []) = answer.result(0)?.as_chunks::<4>() else { return Err(Rv::DEVICE) };
        let [smallest, largest, flags] = [smallest, largest, flags].map(|word| u32::from_be_bytes(word).into());
        // SAFETY: it is not null, so by the caller's word a structure.
        unsafe { information.write_unaligned(MechanismInfo { smallest, largest, flags }) };
        Ok(())
    })
}

/// Gives for a null first buffer the length of a query's answer; for that of a command the most that there can be, and the command is not done.
///
/// # Safety
/// The caller's command, signatures and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_admin(
    reply: *mut u8,
    reply_length: *mut usize,
    signatures: *mut u8,
    signatures_length: *mut usize,
    command: *const u8,
    command_length: usize,
    signed: *const u8,
    signed_length: usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's command, signatures, buffers and target.
    returns(|| unsafe {
        let target = self::target(target)?;
        let (command, signed) = (input(command, command_length)?, input(signed, signed_length)?);
        let outs = [Out::plain(reply, reply_length), Out::plain(signatures, signatures_length).optional()];
        outs.iter().try_for_each(|out| out.check())?;
        if reply.is_null() && target.flags == 0 && !blocks::is_query(command).ok_or(Rv::ARGUMENTS)? {
            outs[0].note(blocks::LONGEST_REPLY);
            outs[1].note(blocks::LONGEST_REPLY);
            return Ok(());
        }
        let command = blocks::inward(command, !signed.is_empty());
        match LIBRARY.run(&target, Function::Admin, &[&command, signed])? {
            Said::Done(answer) => {
                let block = blocks::outward(answer.result(0)?);
                // Who asks for no signatures may have a length of anything beside a null buffer.
                let count = if signatures_length.is_null() { 1 } else { 2 };
                give(&outs[..count], &[&block, answer.result(1)?][..count])
            }
            said => captured(&outs, said),
        }
    })
}

/// Passes a request on as it is.
///
/// # Safety
/// The caller's request and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_wire(
    reply: *mut u8,
    reply_length: *mut usize,
    inner: *mut Ulong,
    request: *const u8,
    request_length: usize,
    flags: c_uint,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's request, buffers and target.
    returns(|| unsafe {
        let (target, request, out) =
            (self::target(target)?, input(request, request_length)?, Out::plain(reply, reply_length));
        out.check()?;
        if flags & HEADERS != 0 {
            return Err(Rv(rv::FUNCTION_NOT_SUPPORTED));
        }
        let said = LIBRARY.pass(&target, request)?;
        let parsed = Reply::parse(&said).ok_or(Rv::DEVICE)?;
        if !inner.is_null() {
            inner.write_unaligned(parsed.rv.into());
        }
        give(&[out], &[&said])
    })
}
