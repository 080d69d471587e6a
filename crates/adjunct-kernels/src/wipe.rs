//! Secrets overwritten at the speed of memory.

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
