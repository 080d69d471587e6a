//! ECB and CBC decryption of one message by passes over a buffer.

use super::sliced::{Buffer, avx2, wide};
use super::{BLOCK, Kernel, Rounds, lookup};
use crate::{InOut, wipe};

/// The number of blocks from which on a pass of 512 takes less time than vectors of eight.
const WORTH_A_PASS: usize = 112;

#[repr(align(64))]
struct Aligned(Buffer);

/// ECB, or CBC decryption with an IV.
///
/// # Safety
/// The CPU has the kernel's instructions.
pub(super) unsafe fn run(kernel: Kernel, rounds: &Rounds, mut iv: Option<&mut [u8; BLOCK]>, mut io: InOut<'_>) {
    assert!(io.len().is_multiple_of(BLOCK));
    let width = match kernel {
        Kernel::Avx2 => avx2::WIDTH,
        Kernel::Lookup | Kernel::Wide => wide::WIDTH,
    };
    let mut keys = None;
    let mut buffer = Aligned([0; 512]);
    let buffer = &mut buffer.0;
    let mut used = 0;
    while !io.is_empty() {
        let (now, later) = io.split_head(width * BLOCK);
        let blocks = now.len() / BLOCK;
        used = used.max(blocks);
        // SAFETY: the input is so long, the buffer at least; they are apart. The CPU has the kernel's instructions.
        unsafe {
            std::ptr::copy_nonoverlapping(now.input(), buffer.as_mut_ptr().cast(), now.len());
            match kernel {
                Kernel::Avx2 => avx2::pass(rounds, buffer),
                Kernel::Lookup if blocks < WORTH_A_PASS => {
                    lookup::some(keys.get_or_insert_with(|| lookup::keys(rounds)), buffer, blocks);
                }
                Kernel::Lookup | Kernel::Wide => wide::pass(rounds, buffer),
            }
        }
        match &mut iv {
            // SAFETY: the output is so long.
            None => unsafe {
                std::ptr::copy_nonoverlapping(buffer.as_ptr().cast(), now.output(), now.len());
            },
            Some(iv) => chain(buffer, iv, now),
        }
        io = later;
    }
    wipe(&mut buffer[..used.next_multiple_of(width).min(512)]);
}

/// Adds to each block the ciphertext block before it, and writes it. From the end on: the output may overwrite the input.
fn chain(buffer: &Buffer, iv: &mut [u8; BLOCK], io: InOut<'_>) {
    let words = io.len() / BLOCK;
    let (input, output) = (io.input().cast::<u64>(), io.output().cast::<u64>());
    // SAFETY: words below `words` are within the input and the output.
    unsafe {
        let last = input.add(words - 1).read_unaligned();
        let mut at = words;
        while at > 8 {
            at -= 8;
            let before = input.add(at - 1).cast::<[u64; 8]>().read_unaligned();
            let plain: [u64; 8] = std::array::from_fn(|i| buffer[at + i] ^ before[i]);
            output.add(at).cast::<[u64; 8]>().write_unaligned(plain);
        }
        while at > 1 {
            at -= 1;
            output.add(at).write_unaligned(buffer[at] ^ input.add(at - 1).read_unaligned());
        }
        output.write_unaligned(buffer[0] ^ u64::from_ne_bytes(*iv));
        *iv = last.to_ne_bytes();
    }
}
