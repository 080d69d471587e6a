//! Bytes that are overwritten when they are dropped.

use adjunct_kernels::opaque_debug;
use std::ops::{Deref, DerefMut};

/// Bytes that are overwritten when they go, all at once, which costs less than one by one.
#[derive(Clone)]
pub struct Secret<const N: usize>(pub [u8; N]);

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        self.0.fill(0);
        std::hint::black_box(&mut self.0);
    }
}

impl<const N: usize> Deref for Secret<N> {
    type Target = [u8; N];
    fn deref(&self) -> &[u8; N] {
        &self.0
    }
}

impl<const N: usize> DerefMut for Secret<N> {
    fn deref_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }
}

opaque_debug!(Secret<const N>);
