//! DES of blocks side by side, where a kernel does them faster than the library, which does one after the other: all of ECB, CTR, and
//! decryption by CBC and CFB. What is left of a message, less than a kernel is worth, is the library's.
//!
//! The kernels have no memory access that depends on keys or data. The library looks S-boxes up in tables, and makes its key
//! schedules by tables.

use super::{BLOCK, Chained, Des};
use adjunct_kernels::des::{Kernel, Rounds, Stream, encrypt_streams};
use adjunct_kernels::{InOut, wipe};
use std::sync::OnceLock;

/// The kernel whose instructions are there, and not masked.
#[inline]
pub(super) fn kernel() -> Option<Kernel> {
    use adjunct_base::catalogue::Feature::{Avx2, Avx512, Ifma};
    static KERNEL: OnceLock<Option<Kernel>> = OnceLock::new();
    *KERNEL.get_or_init(|| {
        let features = crate::features();
        // These came with IFMA or after it: without a mask of their own they are gone with it.
        let bytes = is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("gfni");
        if features.has(Avx512) && features.has(Ifma) && bytes {
            Some(Kernel::Lookup)
        } else if features.has(Avx512) {
            Some(Kernel::Wide)
        } else if features.has(Avx2) {
            Some(Kernel::Avx2)
        } else {
            None
        }
    })
}

/// The kernel, and how many bytes of so many it takes, at least one block.
#[inline]
fn share(bytes: usize) -> Option<(Kernel, usize)> {
    // A block or two are the most frequent message, and no kernel's.
    if bytes < 3 * BLOCK {
        return None;
    }
    let kernel = kernel()?;
    let taken = kernel.takes(bytes / BLOCK);
    (taken > 0).then_some((kernel, taken * BLOCK))
}

/// Encrypts messages side by side. To be called where [`super::has_streams`].
pub(super) fn encrypt_chained<'a>(messages: impl Iterator<Item = Chained<'a>>) {
    assert!(super::has_streams());
    // SAFETY: the CPU has the kernel's instructions, as was asserted.
    unsafe { encrypt_streams(messages.map(|Chained { schedules, iv, io }| Stream::cbc(schedules, iv, io))) };
}

impl Des {
    fn rounds(&self, encrypt: bool) -> Rounds {
        Rounds::new(if self.triple { &self.schedules } else { &self.schedules[..1] }, encrypt)
    }

    /// ECB over whole blocks, from the first on; gives what is left.
    pub(super) fn ecb_side<'a>(&self, encrypt: bool, io: InOut<'a>) -> InOut<'a> {
        let Some((kernel, taken)) = share(io.len()) else { return io };
        let (now, later) = io.split_at(taken);
        // SAFETY: the CPU has the kernel's instructions.
        unsafe { kernel.ecb(&self.rounds(encrypt), now) };
        later
    }

    /// CBC decryption over whole blocks, from the first on; gives what is left.
    pub(super) fn cbc_side<'a>(&self, iv: &mut [u8; BLOCK], io: InOut<'a>) -> InOut<'a> {
        let Some((kernel, taken)) = share(io.len()) else { return io };
        let (now, later) = io.split_at(taken);
        // SAFETY: the CPU has the kernel's instructions.
        unsafe { kernel.cbc_decrypt(&self.rounds(false), iv, now) };
        later
    }

    /// CTR over whole blocks, from the first on; gives what is left.
    pub(super) fn ctr_side<'a>(&self, counter: &mut [u8; BLOCK], io: InOut<'a>) -> InOut<'a> {
        let mut number = u64::from_be_bytes(*counter);
        let rest = self.stream_side(BLOCK, io, |stream, _| {
            for block in stream {
                *block = number.to_be_bytes();
                number = number.wrapping_add(1);
            }
        });
        *counter = number.to_be_bytes();
        rest
    }

    /// CTR with a list of counters over whole blocks, from the first on; gives what is left.
    pub(super) fn list_side<'a>(&self, list: &[u8], io: InOut<'a>) -> InOut<'a> {
        let mut counters = list.as_chunks::<BLOCK>().0.iter();
        self.stream_side(BLOCK, io, |stream, _| stream.iter_mut().zip(&mut counters).for_each(|(to, from)| *to = *from))
    }

    /// CFB decryption over whole segments, from the first on; gives what is left.
    pub(super) fn cfb_side<'a>(&self, segment: usize, iv: &mut [u8; BLOCK], io: InOut<'a>) -> InOut<'a> {
        self.stream_side(segment, io, |stream, io| {
            for (at, block) in stream.iter_mut().enumerate() {
                *block = *iv;
                iv.copy_within(segment.., 0);
                let register = &mut iv[BLOCK - segment..];
                assert!((at + 1) * segment <= io.len());
                // SAFETY: the segment is within the input, and as long as what it is copied to.
                unsafe { std::ptr::copy_nonoverlapping(io.input().add(at * segment), register.as_mut_ptr(), segment) };
            }
        })
    }

    /// Adds to each segment the first bytes of an encrypted block, which `make` makes of what came before: all of a part of the message
    /// before any of it is overwritten. Gives what is left.
    fn stream_side<'a>(
        &self,
        segment: usize,
        io: InOut<'a>,
        mut make: impl FnMut(&mut [[u8; BLOCK]], &InOut<'_>),
    ) -> InOut<'a> {
        const PART: usize = 512;
        let segments = io.len() / segment;
        let Some((kernel, taken)) = share(segments * BLOCK) else { return io };
        let (mut now, later) = io.split_at(taken / BLOCK * segment);
        let rounds = self.rounds(true);
        let mut stream = [[0; BLOCK]; PART];
        while !now.is_empty() {
            let (mut part, rest) = now.split_head(PART * segment);
            let stream = &mut stream[..part.len() / segment];
            make(stream, &part);
            // SAFETY: the CPU has the kernel's instructions.
            unsafe { kernel.ecb(&rounds, InOut::in_place(stream.as_flattened_mut())) };
            if segment < BLOCK {
                // The first bytes of each block, one after the other. A block is read before its bytes are written over.
                let bytes = stream.as_flattened_mut();
                for at in 0..part.len() / segment {
                    bytes.copy_within(at * BLOCK..at * BLOCK + segment, at * segment);
                }
            }
            part.xor(&stream.as_flattened()[..part.len()]);
            now = rest;
        }
        wipe(stream.as_flattened_mut());
        later
    }
}
