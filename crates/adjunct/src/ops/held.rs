//! A key with where it is held: in this process so far.

/// A key, by what holds it. With a single variant a call has nothing to look up.
#[derive(Debug, Clone)]
pub(super) enum Held<T> {
    /// This process holds the key, as the CPU and the lanes take it, with the state of a message where it has one.
    Clear(T),
}

impl<T: Default> Default for Held<T> {
    #[inline]
    fn default() -> Held<T> {
        Held::Clear(T::default())
    }
}

impl<T> Held<T> {
    #[inline(always)]
    pub(super) fn clear(&self) -> &T {
        let Held::Clear(key) = self;
        key
    }

    #[inline(always)]
    pub(super) fn clear_mut(&mut self) -> &mut T {
        let Held::Clear(key) = self;
        key
    }
}
