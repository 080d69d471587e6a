//! Overwrites secrets, as fast as memory can be written.

use zeroize::DefaultIsZeroes;

/// Overwrites `secrets` with zeros, in words as wide as the processor has; the compiler cannot leave it out.
///
/// (Zeroize writes element by element, a store for each byte: as much as the cipher itself where a call is short.)
#[inline(always)]
pub fn wipe<T: DefaultIsZeroes>(secrets: &mut [T]) {
    secrets.fill(T::default());
    // SAFETY: no instructions; for all the compiler knows, they read what the pointer leads to.
    unsafe { core::arch::asm!("/* {0} */", in(reg) secrets.as_mut_ptr(), options(nostack, preserves_flags)) };
}

/// Overwrites ROWS times WORDS words of the stack below the caller, where the functions that it called had their variables.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(crate) fn burn<const WORDS: usize, const ROWS: usize>() {
    let mut stack = std::mem::MaybeUninit::<[[u64; WORDS]; ROWS]>::uninit();
    stack.write([[0; WORDS]; ROWS]);
    std::hint::black_box(&mut stack);
}

/// How many bytes of the stack below the caller `body` writes to, 512 bytes aside: for tests that [`burn`] reaches as far.
#[cfg(all(test, target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn depth(body: impl FnOnce()) -> usize {
    const MARK: u64 = 0x5A5A_A5A5_1234_5678;
    const WORDS: std::ops::Range<usize> = 64..32_768;
    let top: *mut u64;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, rsp", out(reg) top, options(nomem, nostack, preserves_flags)) };
    // SAFETY: below what the caller uses, within a test thread's stack; what is there belongs to nobody until something is called.
    WORDS.for_each(|word| unsafe { top.sub(word).write_volatile(MARK) });
    body();
    // SAFETY: these words, within the test thread's stack and below what the caller uses, have been written before `body`; nothing borrows
    // them now.
    8 * WORDS.rev().find(|&word| unsafe { top.sub(word).read_volatile() } != MARK).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::wipe;

    #[test]
    fn nothing_is_left() {
        let mut secrets = [7u8; 33];
        wipe(&mut secrets);
        assert_eq!(secrets, [0; 33]);
        wipe::<u64>(&mut []);
    }
}
