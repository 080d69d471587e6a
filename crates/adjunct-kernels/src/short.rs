//! Bytes that do not fill a block, by whole registers: what has been written byte by byte cannot be read at once, and a short message
//! waits for that longer than for anything else.

/// Reads at most 16 bytes as a little-endian number.
///
/// # Panics
/// If there are more.
#[inline(always)]
pub fn number(bytes: &[u8]) -> u128 {
    let n = bytes.len();
    match n {
        0 => 0,
        1..4 => {
            let (first, middle, last) = (bytes[0], bytes[n / 2], bytes[n - 1]);
            u128::from(first) | u128::from(middle) << (8 * (n / 2)) | u128::from(last) << (8 * (n - 1))
        }
        4..8 => {
            let (first, last) = ends::<4>(bytes);
            u128::from(u32::from_le_bytes(first)) | u128::from(u32::from_le_bytes(last)) << (8 * (n - 4))
        }
        8..=16 => {
            let (first, last) = ends::<8>(bytes);
            u128::from(u64::from_le_bytes(first)) | u128::from(u64::from_le_bytes(last)) << (8 * (n - 8))
        }
        _ => panic!("more than a block"),
    }
}

/// The first and the last `N` bytes, which may overlap.
#[inline(always)]
fn ends<const N: usize>(bytes: &[u8]) -> ([u8; N], [u8; N]) {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => unreachable!("as many as the length says"),
    }
}

/// The most bytes of a message that [`padded`] takes.
pub const MOST: usize = 55;

/// A message as SHA-1 and SHA-256 pad it (FIPS 180-4, 5.1.1), where that is one block.
///
/// # Panics
/// If the message is longer than [`MOST`].
#[inline]
pub fn padded(message: &[u8], block: &mut [u8; 64]) {
    assert!(message.len() <= MOST);
    let (whole, tail) = message.as_chunks::<16>();
    for (i, place) in block.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let mut value = match whole.get(i) {
            Some(part) => u128::from_le_bytes(*part),
            None if i == whole.len() => number(tail) | 0x80 << (8 * tail.len()),
            None => 0,
        };
        if i == 3 {
            value |= u128::from((message.len() as u64 * 8).swap_bytes()) << 64;
        }
        write(place, value);
    }
}

/// Writes 16 bytes by one instruction; the compiler would make two writes of half a block.
#[inline(always)]
fn write(place: &mut [u8; 16], value: u128) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: 16 bytes; every x86-64 has SSE2.
    unsafe {
        use std::arch::x86_64::{_mm_set_epi64x, _mm_storeu_si128};
        _mm_storeu_si128(place.as_mut_ptr().cast(), _mm_set_epi64x((value >> 64) as i64, value as i64));
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        *place = value.to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_its_bytes() {
        let bytes: [u8; 16] = std::array::from_fn(|i| 0xff - 0x11 * i as u8);
        for n in 0..=16 {
            let mut whole = [0; 16];
            whole[..n].copy_from_slice(&bytes[..n]);
            assert_eq!(number(&bytes[..n]), u128::from_le_bytes(whole), "{n}");
        }
    }

    #[test]
    fn padding_is_a_bit_zeros_and_the_length() {
        let message: [u8; MOST] = std::array::from_fn(|i| i as u8 + 1);
        for n in 0..=MOST {
            let (mut right, mut block) = ([0; 64], [7; 64]);
            right[..n].copy_from_slice(&message[..n]);
            right[n] = 0x80;
            right[56..].copy_from_slice(&(8 * n as u64).to_be_bytes());
            padded(&message[..n], &mut block);
            assert_eq!(block, right, "{n}");
        }
    }
}
