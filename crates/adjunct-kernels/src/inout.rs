//! Input and output of one call, which foreign callers may pass as the same buffer.

use std::marker::PhantomData;

/// Input and output of equal length: one buffer worked on in place, or two.
///
/// Rust's references cannot say "these may be the same", so this holds pointers. Only pointer reads and writes go
/// through it; where a foreign caller lets the two overlap in part, the output is unspecified and nothing else happens.
#[derive(Debug)]
pub struct InOut<'a> {
    input: *const u8,
    output: *mut u8,
    len: usize,
    life: PhantomData<&'a mut [u8]>,
}

impl<'a> InOut<'a> {
    /// Works on `buffer` in place.
    pub fn in_place(buffer: &'a mut [u8]) -> InOut<'a> {
        let output = buffer.as_mut_ptr();
        InOut { input: output, output, len: buffer.len(), life: PhantomData }
    }

    /// Reads `input` and writes `output`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn apart(input: &'a [u8], output: &'a mut [u8]) -> InOut<'a> {
        assert_eq!(input.len(), output.len());
        InOut { input: input.as_ptr(), output: output.as_mut_ptr(), len: input.len(), life: PhantomData }
    }

    /// Reads `len` bytes at `input` and writes as many at `output`.
    ///
    /// # Safety
    /// For the life of the result `input` is valid for reads and `output` for writes of `len` bytes.
    #[inline]
    pub const unsafe fn from_raw(input: *const u8, output: *mut u8, len: usize) -> InOut<'a> {
        InOut { input, output, len, life: PhantomData }
    }

    /// The length in bytes.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffers are empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address of the input: valid for reads of [`InOut::len`] bytes.
    #[inline]
    pub const fn input(&self) -> *const u8 {
        self.input
    }

    /// Address of the output: valid for writes of [`InOut::len`] bytes.
    #[inline]
    pub const fn output(&self) -> *mut u8 {
        self.output
    }

    /// The first `at` bytes and the rest.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn split_at(self, at: usize) -> (InOut<'a>, InOut<'a>) {
        assert!(at <= self.len);
        // SAFETY: both parts lie within the whole.
        unsafe {
            let rest = InOut::from_raw(self.input.add(at), self.output.add(at), self.len - at);
            (InOut { len: at, ..self }, rest)
        }
    }

    /// Splits into the first `at` bytes, or fewer, and the remainder.
    #[inline]
    pub fn split_head(self, at: usize) -> (InOut<'a>, InOut<'a>) {
        let at = at.min(self.len);
        self.split_at(at)
    }

    /// Splits into the whole blocks of `block` bytes and the remainder.
    #[inline]
    pub fn split_whole(self, block: usize) -> (InOut<'a>, InOut<'a>) {
        let whole = self.len - self.len % block;
        self.split_at(whole)
    }

    /// Borrows the same buffers for a shorter time.
    #[inline]
    pub fn reborrow(&mut self) -> InOut<'_> {
        InOut { life: PhantomData, ..*self }
    }

    /// The input byte at `index`.
    ///
    /// # Panics
    /// If it is past the end.
    #[inline]
    pub fn get(&self, index: usize) -> u8 {
        assert!(index < self.len);
        // SAFETY: within the input.
        unsafe { *self.input.add(index) }
    }

    /// Writes the output byte at `index`.
    ///
    /// # Panics
    /// If it is past the end.
    #[inline]
    pub fn set(&mut self, index: usize, value: u8) {
        assert!(index < self.len);
        // SAFETY: within the output.
        unsafe { *self.output.add(index) = value }
    }

    /// Writes `input ^ keystream`.
    ///
    /// # Panics
    /// If the keystream is shorter.
    #[inline]
    pub fn xor(&mut self, keystream: &[u8]) {
        let keystream = &keystream[..self.len];
        let (blocks, tail) = keystream.as_chunks::<16>();
        let mut at = 0;
        for k in blocks {
            // SAFETY: 16 bytes lie at `at`.
            unsafe {
                let data = self.input.add(at).cast::<u128>().read_unaligned();
                self.output.add(at).cast::<u128>().write_unaligned(data ^ u128::from_ne_bytes(*k));
            }
            at += 16;
        }
        for k in tail {
            // SAFETY: a byte lies at `at`.
            unsafe { *self.output.add(at) = *self.input.add(at) ^ k }
            at += 1;
        }
    }
}
