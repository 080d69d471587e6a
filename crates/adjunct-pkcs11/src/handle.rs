//! Handles of sessions and objects, as callers see them.

use adjunct::slab::Number;
use cryptoki_sys::*;

/// A handle: any number that a caller gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(CK_ULONG);

/// The offset of the slab's numbers, which is subtracted so that the first handles are small.
const FIRST: u64 = 1 << 32;

impl Handle {
    /// The handle of a number.
    pub fn of(number: Number) -> Handle {
        Handle(number.get() - FIRST + 1)
    }

    /// The number; `None` of a handle that was never given.
    pub fn number(self) -> Option<Number> {
        let number = self.0.checked_add(FIRST - 1).filter(|_| self.0 != 0)?;
        Number::from_integer(number)
    }

    /// The value that callers see.
    pub const fn get(self) -> CK_ULONG {
        self.0
    }
}

impl From<CK_ULONG> for Handle {
    fn from(handle: CK_ULONG) -> Handle {
        Handle(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct::slab::Slab;

    #[test]
    fn handles_are_small_and_never_0() {
        static SLAB: Slab<u8> = Slab::new();
        let (one, two) = (SLAB.insert(1).unwrap(), SLAB.insert(2).unwrap());
        for (entry, handle) in [(&one, 1), (&two, 2)] {
            assert_eq!(Handle::of(entry.number()).get(), handle);
            assert_eq!(Handle::from(handle).number(), Some(entry.number()));
        }
        drop(one);
        assert_eq!(Handle::of(SLAB.insert(3).unwrap().number()).get(), FIRST as CK_ULONG + 1);
        assert_eq!((Handle::from(0).number(), Handle::from(CK_ULONG::MAX).number()), (None, None));
    }
}
