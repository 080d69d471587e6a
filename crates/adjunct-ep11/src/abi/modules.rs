//! The library itself, and the modules that a program adds.

use super::types::Module;
use super::{LIBRARY, value};
use crate::error::{Rv, int};
use crate::targets::{Member, NONE};
use adjunct_ossl::guard;
use std::ffi::{c_char, c_int, c_uint};
use std::mem::offset_of;

/// Flags of a module.
mod flag {
    pub const MODULE: u64 = 2;
    pub const PERFORMANCE: u64 = 8;
    pub const VIRTUAL: u64 = 0x10;
    pub const STRICT: u64 = 0x20;
    pub const PROBE: u64 = 0x40;
    /// What there is: no sockets of other machines, no handles of devices, no targets that were not added.
    pub const SUPPORTED: u64 = MODULE | PERFORMANCE | VIRTUAL | STRICT | PROBE;
}

/// The most domains of a card.
const DOMAINS: u32 = 256;

fn returns(body: impl FnOnce() -> Result<(), c_int>) -> c_int {
    guard(int::INTERNAL, || body().err().unwrap_or(int::OK))
}

/// Finds the cards' folder, which a program may hide later.
#[unsafe(no_mangle)]
pub extern "C" fn m_init() -> c_int {
    returns(|| {
        LIBRARY.everybody();
        Ok(())
    })
}

/// Removes all targets.
#[unsafe(no_mangle)]
pub extern "C" fn m_shutdown() -> c_int {
    returns(|| {
        LIBRARY.targets.clear();
        Ok(())
    })
}

/// Was for the library's versions before modules: adds nothing.
#[unsafe(no_mangle)]
pub extern "C" fn m_add_backend(_name: *const c_char, _port: c_uint) -> c_int {
    int::MOD_OBSOLETE
}

/// The structure, of which version 1 has no last field.
///
/// # Safety
/// The pointer is null or leads to a structure of the version that it says.
unsafe fn read(module: *const Module) -> Result<(u32, u64, u32, u32, [u8; 32]), c_int> {
    // SAFETY: the caller's structure has these fields in every version.
    unsafe {
        let version = value(module.cast::<u32>()).map_err(|_| int::ARG)?;
        let flags = (&raw const (*module).flags).read_unaligned();
        let domains = (&raw const (*module).domains).read_unaligned();
        let number = (&raw const (*module).number).read_unaligned();
        Ok((version, flags, domains, number, (&raw const (*module).domain_mask).read_unaligned()))
    }
}

/// The domains of a structure.
fn members(flags: u64, number: u32, mask: &[u8; 32]) -> Result<Vec<Member>, c_int> {
    if flags & flag::MODULE == 0 || flags & !flag::SUPPORTED != 0 {
        return Err(int::MOD_FLAGS);
    }
    let card = u8::try_from(number).map_err(|_| int::MOD_MODULE)?;
    let set = |domain: &u8| mask[usize::from(domain / 8)] & 0x80 >> (domain % 8) != 0;
    let members: Vec<Member> = (0..=u8::MAX).filter(set).map(|domain| Member { card, domain }).collect();
    if members.is_empty() { Err(int::MOD_DOMAIN) } else { Ok(members) }
}

/// # Safety
/// The caller's structure of the version that it says, and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_add_module(module: *mut Module, target: *mut u64) -> c_int {
    returns(|| {
        // SAFETY: the caller's structure and target.
        let (version, flags, domains, number, mask) = unsafe { read(module)? };
        // SAFETY: the caller's target.
        let asked = unsafe { value(target) }.map_err(|_| int::ARG)?;
        match version {
            0 => return Err(int::ARG),
            1 | 2 => {}
            _ => return Err(int::MOD_VERSION),
        }
        let wanted = match members(flags, number, &mask) {
            // A group that names no domain is of all that there are: openCryptoki's APQN_ANY.
            Err(int::MOD_DOMAIN) if flags & flag::VIRTUAL != 0 && mask == [0; 32] => LIBRARY.everybody(),
            wanted => wanted?,
        };
        if wanted.is_empty() {
            return Err(int::MOD_DOMAIN);
        }
        let (mut found, mut count, mut api) = (wanted.clone(), DOMAINS, 0);
        if flags & flag::PROBE != 0 {
            let said = |member: &Member| Some((*member, LIBRARY.module(*member)?));
            let probed: Vec<_> = wanted.iter().filter_map(said).collect();
            let (_, first) = probed.first().ok_or(int::MOD_PROBE)?;
            (count, api) = (first.domains as u32, first.firmware_api as u32);
            found = probed.iter().map(|(member, _)| *member).collect();
            if flags & flag::STRICT != 0 && found.len() < wanted.len() {
                return Err(int::MOD_DOMAIN);
            }
        }
        // Who asks for a domain's target may have left anything there.
        let added = match found[..] {
            [only] if flags & flag::VIRTUAL == 0 => LIBRARY.targets.add(only),
            _ => {
                let asked = if flags & flag::VIRTUAL == 0 { NONE } else { asked };
                LIBRARY.targets.add_to_group(asked, &found).map_err(|_| int::TARGET)?
            }
        };
        let mut left = [0; 32];
        found.iter().for_each(|member| left[usize::from(member.domain / 8)] |= 0x80 >> (member.domain % 8));
        // SAFETY: the caller's structure and target; only version 2 has the last field.
        unsafe {
            (&raw mut (*module).domain_mask).write_unaligned(left);
            if domains == 0 {
                (&raw mut (*module).domains).write_unaligned(count);
            }
            if version == 2 && api != 0 {
                (&raw mut (*module).api).write_unaligned(api);
            }
            target.write_unaligned(added);
        }
        Ok(())
    })
}

/// Removes a module's domains from a target, or with a null module the target.
///
/// # Safety
/// The module is null or the caller's structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_rm_module(module: *const Module, target: u64) -> c_int {
    returns(|| {
        let members = if module.is_null() {
            None
        } else {
            // SAFETY: the caller's structure.
            let (_, flags, _, number, mask) = unsafe { read(module)? };
            Some(members(flags, number, &mask)?)
        };
        LIBRARY.targets.remove(target, members.as_deref()).map_err(|Rv(_)| int::TARGET)
    })
}

const _: () = assert!(offset_of!(Module, api) + 4 <= size_of::<Module>());
