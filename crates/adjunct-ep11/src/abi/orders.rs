//! Queries and commands that are sent by one call.

use super::administration::{only, read, returns, write};
use super::types::{AdminResponse, Ulong};
use super::{LIBRARY, host, value};
use crate::admin::blocks::{self, Failed, For, error};
use crate::admin::calls::{self, Asked, POINTS, Replied, Sign};
use crate::admin::der;
use crate::error::int;
use crate::library::Target;
use crate::transport::Sockets;
use adjunct_ep11_wire::admin::{command, query};
use adjunct_ep11_wire::codes::rv;
use adjunct_ossl::guard;
use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

/// The domain is meant, not the card.
pub(crate) const OF_DOMAIN: c_uint = 1;
/// Numbers of attributes.
const PERMISSIONS: u32 = 3;
const MODE: u32 = 4;
/// Permissions.
const IMPORT_WK: u32 = 1;
const EXPORT_WK: u32 = 2;
const IMPORT_STATE: u32 = 0x100;
const EXPORT_STATE: u32 = 0x200;
const ONE_SIGNATURE: u32 = 0x10;
/// No longer in imprint mode.
const AUTHENTICATED: u32 = 1;
/// Bytes that SignerInfos of a command have at most: sixteen of the longest keys.
const SIGNATURES: usize = 16 * 4800;

/// What signs a block for the caller.
pub(crate) type Callback = Option<unsafe extern "C" fn(*mut u8, usize, *const u8, usize, *const c_void) -> c_long>;

/// Signs a block by the caller's function.
///
/// # Safety
/// The function is one of that type, and takes the options.
pub(crate) unsafe fn signing(callback: Callback, options: *const c_void) -> impl Fn(&[u8]) -> Result<Vec<u8>, Failed> {
    move |block: &[u8]| {
        let Some(callback) = callback else { return Ok(Vec::new()) };
        let mut buffer = vec![0; SIGNATURES];
        // SAFETY: the caller's function writes no more than there is room for.
        match unsafe { callback(buffer.as_mut_ptr(), buffer.len(), block.as_ptr(), block.len(), options) } {
            0 => Err(Failed(error::NOT_ENOUGH_SIGNATURES)),
            ..0 => Err(Failed(error::SIGNING_FAILED)),
            _ => {
                buffer.truncate(der::signatures_length(&buffer));
                if buffer.is_empty() { Err(Failed(error::NOT_ENOUGH_SIGNATURES)) } else { Ok(buffer) }
            }
        }
    }
}

/// Runs what asks a domain, or its card.
///
/// # Safety
/// As for [`target`].
pub(crate) unsafe fn asking<R>(
    target: u64,
    flags: c_uint,
    body: impl FnOnce(Asked<'_, Sockets>) -> Result<R, Failed>,
) -> Result<R, Failed> {
    // SAFETY: the caller's target.
    let (member, target): (_, Target) = unsafe { (only(target)?, super::target(target).map_err(|_| int::TARGET)?) };
    let target = Target { flags: 0, ..target };
    body(Asked { library: &LIBRARY, target: &target, domain: member.domain.into(), of_domain: flags & OF_DOMAIN != 0 })
}

/// Writes what a reply says, without the payload: that is nobody's any more.
///
/// # Safety
/// The structure is null or the caller's.
unsafe fn report(place: *mut AdminResponse, reply: &Replied) -> Result<(), Failed> {
    if !place.is_null() {
        let said = AdminResponse { payload: std::ptr::null(), payload_length: 0, ..AdminResponse::new(&reply.said()?) };
        // SAFETY: it is not null, so by the caller's word a structure.
        unsafe { place.write_unaligned(said) };
    }
    Ok(())
}

/// The state that a caller gives with a command; `None` for none.
///
/// # Safety
/// The structure is null or the caller's.
unsafe fn given(place: *const AdminResponse) -> Option<For> {
    // SAFETY: the caller's structure. One that was not filled in says of no module.
    unsafe { value(place) }.ok().map(|of| of.of()).filter(|of| of.module != [0; 16])
}

/// Has a command done, and compares what it says with what is expected.
///
/// # Safety
/// The caller's structure, or null.
unsafe fn order(
    asked: &Asked<'_, Sockets>,
    number: u32,
    payload: &[u8],
    place: *mut AdminResponse,
    sign: &Sign<'_>,
    expected: Ulong,
) -> Result<(), Failed> {
    // SAFETY: the caller's structure.
    unsafe {
        let reply = asked.order(number, given(place), payload, Some(sign))?;
        report(place, &reply)?;
        if Ulong::from(reply.said()?.rv) == expected { Ok(()) } else { Err(Failed(error::UNEXPECTED_RV)) }
    }
}

/// The pattern of the wrapping key, or for type 1 and `XCP_ADMQ_NEXT_WK` of the next one; 0 for none.
///
/// # Safety
/// The caller's buffer and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_query_wk(out: *mut u8, length: usize, kind: c_int, target: u64) -> c_long {
    const NEXT: c_int = 0x1_0008;
    // SAFETY: the caller's buffer and target.
    returns(|| unsafe {
        asking(target, OF_DOMAIN, |asked| {
            let number = if matches!(kind, 1 | NEXT) { query::NEXT_WK } else { query::WK };
            let reply = asked.ask(number, &[])?;
            let said = reply.said()?;
            // There is none: reasons 49 and 50.
            match (said.rv, blocks::reason(&said)) {
                (rv::OK, _) => write(out, length, said.output),
                (_, 49 | 50) => Ok(0),
                _ => Err(Failed(error::QUERY_FAILED)),
            }
        })
    })
}

/// # Safety
/// The caller's structure and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_state(place: *mut AdminResponse, target: u64, flags: c_uint) -> c_long {
    // SAFETY: the caller's structure and target.
    returns(|| unsafe { asking(target, flags, |asked| report(place, &asked.state()?)).map(|()| 0) })
}

/// # Safety
/// The caller's place and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_dom_instance(instance: *mut u32, target: u64) -> c_long {
    // SAFETY: the caller's place and target.
    returns(|| unsafe {
        let now = asking(target, OF_DOMAIN, |asked| asked.now())?;
        if !instance.is_null() {
            instance.write_unaligned(now.instance);
        }
        Ok(0)
    })
}

/// # Safety
/// The caller's buffers, structure, value and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_admin_call(
    reply: *mut u8,
    reply_length: *mut usize,
    signatures: *mut u8,
    signatures_length: *mut usize,
    request: *const u8,
    request_length: usize,
    signed: *const u8,
    signed_length: usize,
    target: u64,
    _note: *const c_char,
    place: *mut AdminResponse,
    inner: *mut Ulong,
    expected: Ulong,
) -> c_long {
    // SAFETY: the caller's buffers, structure, value and target.
    returns(|| unsafe {
        if request.is_null() || reply_length.is_null() {
            return Err(int::ARG.into());
        }
        let outer = host::m_admin(
            reply,
            reply_length,
            signatures,
            signatures_length,
            request,
            request_length,
            signed,
            signed_length,
            target,
        );
        let note = |rv: Ulong| {
            if !inner.is_null() {
                inner.write_unaligned(rv);
            }
        };
        note(outer);
        if outer != 0 {
            return if outer == expected { Ok(0) } else { Err(Failed(error::UNEXPECTED_RV)) };
        }
        if reply.is_null() {
            return Ok(0);
        }
        let length = value(reply_length).map_err(|_| int::ARG)?;
        let said = blocks::reply(read(reply, length)?)?;
        note(said.rv.into());
        if !place.is_null() {
            place.write_unaligned(AdminResponse::new(&said));
        }
        if Ulong::from(said.rv) == expected { Ok(length) } else { Err(Failed(error::UNEXPECTED_RV)) }
    })
}

/// An attribute that a caller asks for.
///
/// # Safety
/// The caller's place and target.
unsafe fn attribute(target: u64, flags: c_uint, number: u32, place: *mut u32) -> Result<u32, Failed> {
    // SAFETY: the caller's place and target.
    unsafe {
        let found = asking(target, flags, |asked| asked.attribute(number))?;
        if !place.is_null() {
            place.write_unaligned(found);
        }
        Ok(found)
    }
}

/// # Safety
/// The caller's place and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_admin_attr(target: u64, flags: c_uint, number: c_uint, place: *mut u32) -> c_long {
    // SAFETY: the caller's place and target.
    returns(|| unsafe { attribute(target, flags, number, place).map(|_| 0) })
}

/// # Safety
/// The caller's place and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_admin_attr_mode(target: u64, flags: c_uint, place: *mut u32) -> c_long {
    // SAFETY: the caller's place and target.
    returns(|| unsafe { attribute(target, flags, MODE, place).map(|mode| usize::from(mode & AUTHENTICATED != 0)) })
}

/// # Safety
/// The caller's place and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_admin_attr_perms(target: u64, flags: c_uint, place: *mut u32) -> c_long {
    // SAFETY: the caller's place and target.
    returns(|| unsafe {
        attribute(target, flags, PERMISSIONS, place).map(|permissions| usize::from(permissions & ONE_SIGNATURE != 0))
    })
}

/// Writes attributes to an array, by number from 1 on, and one of them to a place.
///
/// # Safety
/// The caller's array and place, or null.
unsafe fn scatter(packed: &[u8], array: *mut u32, count: usize, wanted: Option<(u32, *mut u32)>) -> Result<(), Failed> {
    for (number, found) in calls::pairs(packed)? {
        let at = (number as usize).wrapping_sub(1);
        // SAFETY: the caller's array has so many numbers; the place is the caller's.
        unsafe {
            if !array.is_null() && at < count {
                array.add(at).write_unaligned(found);
            }
            if let Some((of, place)) = wanted
                && of == number
                && !place.is_null()
            {
                place.write_unaligned(found);
            }
        }
    }
    Ok(())
}

/// # Safety
/// The caller's buffer, array and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_report_attrs_field(
    packed: *const u8,
    length: usize,
    array: *mut u32,
    count: c_uint,
    number: u32,
    place: *mut u32,
) -> c_long {
    // SAFETY: the caller's buffer, array and place.
    returns(|| unsafe {
        if packed.is_null() || length < 8 {
            return Err(int::ARG.into());
        }
        let packed = read(packed, length)?;
        scatter(&packed[..length / 8 * 8], array, count as usize, Some((number, place))).map(|()| 0)
    })
}

/// # Safety
/// The caller's buffer, array, structure and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_query_admin_attrs(
    target: u64,
    out: *mut u8,
    length: usize,
    array: *mut u32,
    count: c_uint,
    place: *mut AdminResponse,
    flags: c_uint,
) -> c_long {
    // SAFETY: the caller's buffer, array, structure and target.
    returns(|| unsafe {
        asking(target, flags, |asked| {
            let reply = asked.attributes()?;
            report(place, &reply)?;
            let packed = reply.said()?.output;
            let highest = calls::pairs(packed)?.map(|(number, _)| number).max().unwrap_or_default();
            if !array.is_null() && count < highest {
                return Err(int::SIZE.into());
            }
            scatter(packed, array, count as usize, None)?;
            write(out, length, packed)
        })
    })
}

/// # Safety
/// The caller's buffer, structure, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_set_admin_attrs(
    target: u64,
    packed: *const u8,
    length: usize,
    place: *mut AdminResponse,
    flags: c_uint,
    callback: Callback,
    options: *const c_void,
    expected: Ulong,
) -> c_long {
    // SAFETY: the caller's buffer, structure, function and target.
    returns(|| unsafe {
        let (packed, sign) = (read(packed, length)?, signing(callback, options));
        asking(target, flags, |asked| {
            let number = if asked.of_domain { command::DOM_SET_ATTR } else { command::SET_ATTR };
            order(&asked, number, packed, place, &sign, expected).map(|()| 0)
        })
    })
}

/// # Safety
/// The caller's structure, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_set_admin_attr(
    target: u64,
    number: u32,
    new: u32,
    place: *mut AdminResponse,
    flags: c_uint,
    callback: Callback,
    options: *const c_void,
    expected: Ulong,
) -> c_long {
    let packed = [number, new].map(u32::to_be_bytes).concat();
    // SAFETY: as the caller's word is; the buffer is ours.
    unsafe { xcpa_set_admin_attrs(target, packed.as_ptr(), packed.len(), place, flags, callback, options, expected) }
}

/// # Safety
/// The caller's buffer, structure and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_query_cps(
    target: u64,
    out: *mut u8,
    length: usize,
    place: *mut AdminResponse,
    flags: c_uint,
) -> c_long {
    // SAFETY: the caller's buffer, structure and target.
    returns(|| unsafe {
        asking(target, flags, |asked| {
            let (reply, points) = asked.points()?;
            report(place, &reply)?;
            write(out, length, &points)
        })
    })
}

/// # Safety
/// The caller's 16 bytes, structure, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_set_cps(
    target: u64,
    points: *const [u8; POINTS],
    place: *mut AdminResponse,
    flags: c_uint,
    callback: Callback,
    options: *const c_void,
    expected: Ulong,
) -> c_long {
    // SAFETY: the caller's bytes, structure, function and target.
    returns(|| unsafe {
        let (points, sign) = (value(points).map_err(|_| int::ARG)?, signing(callback, options));
        asking(target, flags, |asked| {
            if !asked.of_domain {
                return Err(Failed(error::CARD_CPS));
            }
            order(&asked, command::DOM_CTRLPOINT_SET, &points, place, &sign, expected).map(|()| 0)
        })
    })
}

/// # Safety
/// The caller's 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_cps2compliance(points: *const [u8; POINTS]) -> u32 {
    // SAFETY: the caller's bytes.
    guard(0, || unsafe { value(points) }.map_or(0, |points| calls::compliance(&points) as u32))
}

/// # Safety
/// The caller's structure, function and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_set_compliance(
    target: u64,
    modes: u64,
    place: *mut AdminResponse,
    flags: c_uint,
    callback: Callback,
    options: *const c_void,
) -> c_long {
    // SAFETY: the caller's structure, function and target.
    returns(|| unsafe {
        let sign = signing(callback, options);
        asking(target, flags, |asked| {
            let (_, points) = asked.points()?;
            let points = calls::comply(&points, modes)?;
            order(&asked, command::DOM_CTRLPOINT_SET, &points, place, &sign, 0).map(|()| 0)
        })
    })
}

/// The modes that a domain complies with; 0 where it does not say.
///
/// # Safety
/// The caller's target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn get_dom_compl(target: u64) -> u64 {
    guard(0, || {
        // SAFETY: the caller's target.
        let points = unsafe { asking(target, OF_DOMAIN, |asked| asked.points()) };
        points.map_or(0, |(_, points)| calls::compliance(&points))
    })
}

/// Functions that set a permission.
macro_rules! permissions {
    ($($name:ident $flags:expr, $bits:expr;)*) => {$(
        /// # Safety
        /// The caller's function and target.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(target: u64, callback: Callback, options: *const c_void) -> c_long {
            // SAFETY: the caller's function and target.
            returns(|| unsafe {
                let sign = signing(callback, options);
                asking(target, $flags, |asked| asked.enable(PERMISSIONS, $bits, Some(&sign))).map(|()| 0)
            })
        }
    )*};
}

permissions! {
    xcpa_enable_exportwk OF_DOMAIN, EXPORT_WK;
    xcpa_enable_importwk OF_DOMAIN, IMPORT_WK;
    xcpa_enable_export_state 0, EXPORT_STATE;
    xcpa_enable_import_state 0, IMPORT_STATE;
}
