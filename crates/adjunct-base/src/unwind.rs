//! Tells the unwinder how to unwind functions of this module. libgcc's unwinder is linked into the modules (`link/unwind`). It calls
//! `_dl_find_object`, which the C library has only from glibc 2.35 on, while modules also have to load with older ones. A panic in a module never
//! leaves it, so only this module's functions have to be found.

use std::ffi::{c_int, c_void};

/// glibc's `struct dl_find_object` where it has no `dlfo_eh_dbase` and no `dlfo_eh_count`: x86-64, AArch64, s390x.
#[repr(C)]
struct Found {
    flags: u64,
    map_start: *const c_void,
    map_end: *const c_void,
    link_map: *const c_void,
    eh_frame: *const c_void,
    reserved: [u64; 7],
}

/// An ELF file's header and those of its segments, as <elf.h> has them.
type Header = libc::Elf64_Ehdr;
type Segment = libc::Elf64_Phdr;

unsafe extern "C" {
    /// The begin of this module in memory: the linker's word for the ELF header, which the first segment has.
    #[link_name = "__ehdr_start"]
    static HEADER: Header;
}

// No module shows it to its program.
std::arch::global_asm!(".hidden __wrap__dl_find_object", ".hidden __ehdr_start");

/// Looks `pc` up in this module: 0 and `found` filled in, or -1 if it is not this module's. Takes no lock.
///
/// # Safety
/// `found` can be written to.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap__dl_find_object(pc: *const c_void, found: *mut Found) -> c_int {
    let base = (&raw const HEADER).cast::<u8>();
    // SAFETY: the module's own header and, behind it in the same segment, those of its segments, all of which stay as they are.
    let segments: &[Segment] = unsafe {
        std::slice::from_raw_parts(
            base.add((*base.cast::<Header>()).e_phoff as usize).cast(),
            usize::from(HEADER.e_phnum),
        )
    };
    let end = segments.iter().filter(|s| s.p_type == libc::PT_LOAD).map(|s| s.p_vaddr + s.p_memsz).max().unwrap_or(0);
    let frames = segments.iter().find(|s| s.p_type == libc::PT_GNU_EH_FRAME);
    let Some(frames) = frames.filter(|_| (pc as usize).wrapping_sub(base as usize) < end as usize) else { return -1 };
    let at = |offset: u64| base.wrapping_add(offset as usize).cast::<c_void>();
    let answer = Found {
        flags: 0,
        map_start: at(0),
        map_end: at(end),
        link_map: std::ptr::null(),
        eh_frame: at(frames.p_vaddr),
        reserved: [0; 7],
    };
    // SAFETY: the caller gives a `found` that can be written to.
    unsafe { found.write(answer) };
    0
}
