//! Secrets as undefined memory: under valgrind's memcheck a branch or an address that depends on them is an error, on any
//! path of the data and not only on those that were tried (A. Langley, "ctgrind", 2010).

use std::arch::asm;

/// Client requests of valgrind.h and memcheck.h.
const RUNNING: u64 = 0x1001;
const ERRORS: u64 = 0x1201;
const MAKE_UNDEFINED: u64 = (('M' as u64) << 24) + (('C' as u64) << 16) + 1;
const MAKE_DEFINED: u64 = MAKE_UNDEFINED + 1;

/// A client request: four rotations that cancel out, then an exchange of RBX with itself. Does nothing outside valgrind.
fn request(code: u64, first: u64, second: u64) -> u64 {
    let arguments = [code, first, second, 0, 0, 0];
    let mut result = 0u64;
    // SAFETY: outside valgrind only RDI changes, and changes back.
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") &raw const arguments, inout("rdx") result, inout("rdi") 0u64 => _,
        );
    }
    result
}

/// Whether this program runs under valgrind.
pub fn running() -> bool {
    request(RUNNING, 0, 0) != 0
}

/// Errors seen so far.
pub fn errors() -> u64 {
    request(ERRORS, 0, 0)
}

/// Makes memory count as undefined.
pub fn hide(region: (*const u8, usize)) {
    request(MAKE_UNDEFINED, region.0 as u64, region.1 as u64);
}

/// Makes memory count as defined.
pub fn show(region: (*const u8, usize)) {
    request(MAKE_DEFINED, region.0 as u64, region.1 as u64);
}
