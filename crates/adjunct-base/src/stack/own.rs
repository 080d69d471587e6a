//! Stacks of our own, one for each thread that has needed one: the fibers of OpenSSL's jobs have 32 KB and no guard page, which most
//! operations of the CPU library fit in (8 KB) and eight lanes do not; threads of musl have 128 KiB, of which ML-DSA may find too
//! little left.

#![allow(unsafe_code)]

use crate::thread::ThreadKey;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};

/// Bytes of a stack; pages that were never touched cost nothing.
const SIZE: usize = 512 * 1024;

/// Bytes at the lower end that fault.
const GUARD: usize = 64 * 1024;

/// A stack of our own.
struct Stack {
    base: *mut c_void,
}

/// Base of the stack of each thread that has needed one.
static KEPT: ThreadKey = ThreadKey::new(ended);

unsafe extern "C" fn ended(base: *mut c_void) {
    drop(Stack { base });
}

/// Runs `body` on a stack of adjunct's own and returns when it does, which must be without a pause in between. False if there is no memory for one,
/// and `body` was not run. A panic of `body` ends `body` alone.
pub fn run(body: &mut dyn FnMut()) -> bool {
    let kept = NonNull::new(KEPT.get()).map(|base| Stack { base: base.as_ptr() });
    if kept.is_some() {
        // What runs on it takes another. This is not refused: there is a place for it.
        // SAFETY: null.
        let _ = unsafe { KEPT.set(null_mut()) };
    }
    let Some(stack) = kept.or_else(Stack::new) else { return false };
    stack.run(body);
    // SAFETY: a stack on which nothing runs, and which is not dropped here.
    if KEPT.get().is_null() && unsafe { KEPT.set(stack.base) } {
        std::mem::forget(stack);
    }
    true
}

impl Stack {
    fn new() -> Option<Stack> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a fresh mapping; the guard lies inside of it.
        unsafe {
            let base = libc::mmap(std::ptr::null_mut(), SIZE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return None;
            }
            // A sandbox that forbids this leaves a stack without a guard, which is large enough nonetheless.
            libc::mprotect(base, GUARD, libc::PROT_NONE);
            Some(Stack { base })
        }
    }

    fn run(&self, mut body: &mut dyn FnMut()) {
        unsafe extern "C" fn call(body: *mut c_void) {
            // SAFETY: the pointer is that to `body` of the call to `switch`, alive until it returns. A panic could not cross the switch.
            let _ = catch_unwind(AssertUnwindSafe(|| unsafe { (*body.cast::<&mut dyn FnMut()>())() }));
        }
        // SAFETY: the end of the mapping is aligned to a page, and the module's `run`, which calls this, has the stack to itself.
        unsafe { switch(self.base.cast::<u8>().add(SIZE), call, (&raw mut body).cast()) };
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing runs on it.
        unsafe { libc::munmap(self.base, SIZE) };
    }
}

/// Whether stacks are switched on this target; elsewhere everything runs on the caller's stack, at once.
pub const SWITCHES: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Calls `function(argument)` on the stack that ends at `top`. A frame pointer leads unwinders back to the caller's stack.
///
/// # Safety
/// The stack that ends at `top` has room for `function`, and `argument` is what it takes. No panic leaves `function`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(top: *mut u8, function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// Calls `function(argument)` on the stack that ends at `top`. A frame pointer leads unwinders back to the caller's stack.
///
/// # Safety
/// The stack that ends at `top` has room for `function`, and `argument` is what it takes. No panic leaves `function`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn switch(top: *mut u8, function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn switch(_top: *mut u8, function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    // SAFETY: the caller gives a function that takes this argument; here it runs on the stack of the caller.
    unsafe { function(argument) }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, SIZE, SWITCHES, run};

    #[test]
    fn a_body_runs_on_the_other_stack_and_comes_back() {
        let (mut there, mut caught) = (0, 0);
        let here = std::hint::black_box(0u8);
        for _ in 0..2 {
            assert!(run(&mut || {
                let room = std::hint::black_box([1u8; 300_000]);
                there = room.as_ptr() as usize;
                caught += usize::from(std::panic::catch_unwind(|| panic!("one that is caught")).is_err());
                panic!("one that is not");
            }));
        }
        let base = KEPT.get() as usize;
        assert_eq!(caught, 2);
        if !SWITCHES {
            return;
        }
        assert!((base..base + SIZE).contains(&there));
        assert!(!(base..base + SIZE).contains(&(&raw const here as usize)));
    }
}
