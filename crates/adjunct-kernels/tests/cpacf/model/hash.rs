//! Compression functions by AWS-LC, Keccak (FIPS 202) and Hash_DRBG (NIST SP 800-90A, 10.1.1) as their standards write them.

use aws_lc_sys as lc;

pub const fn state_length(code: u8) -> usize {
    match code {
        1 => 20,
        2 => 32,
        3 => 64,
        _ => 200,
    }
}

pub const fn block_length(code: u8) -> usize {
    match code {
        1 | 2 => 64,
        3 => 128,
        32 => 144,
        33 | 37 => 136,
        34 => 104,
        35 => 72,
        _ => 168,
    }
}

/// The length of the message's length.
pub const fn length_length(code: u8) -> usize {
    match code {
        1 | 2 => 8,
        3 => 16,
        _ => 0,
    }
}

pub fn compress(code: u8, state: &mut [u8], block: &[u8]) {
    assert!(state.len() == state_length(code) && block.len() == block_length(code));
    let words = |h: &mut [u32], state: &[u8]| {
        h.iter_mut().zip(state.as_chunks().0).for_each(|(h, bytes)| *h = u32::from_be_bytes(*bytes));
    };
    let back = |h: &[u32], state: &mut [u8]| {
        state.as_chunks_mut().0.iter_mut().zip(h).for_each(|(bytes, h)| *bytes = h.to_be_bytes());
    };
    // SAFETY: contexts of integers; a block each.
    unsafe {
        match code {
            1 => {
                let mut context: lc::SHA_CTX = std::mem::zeroed();
                words(&mut context.h, state);
                lc::SHA1_Transform(&raw mut context, block.as_ptr());
                back(&context.h, state);
            }
            2 => {
                let mut context: lc::SHA256_CTX = std::mem::zeroed();
                words(&mut context.h, state);
                lc::SHA256_Transform(&raw mut context, block.as_ptr());
                back(&context.h, state);
            }
            3 => {
                let mut context: lc::SHA512_CTX = std::mem::zeroed();
                context.h.iter_mut().zip(state.as_chunks().0).for_each(|(h, b)| *h = u64::from_be_bytes(*b));
                lc::SHA512_Transform(&raw mut context, block.as_ptr());
                state.as_chunks_mut().0.iter_mut().zip(context.h).for_each(|(b, h)| *b = h.to_be_bytes());
            }
            _ => {
                state.iter_mut().zip(block).for_each(|(s, b)| *s ^= b);
                permute(state);
            }
        }
    }
}

/// Keccak-f[1600].
fn permute(state: &mut [u8]) {
    let mut a = [0u64; 25];
    a.iter_mut().zip(state.as_chunks().0).for_each(|(lane, bytes)| *lane = u64::from_le_bytes(*bytes));
    let mut register = 1u8;
    for _ in 0..24 {
        let column = |a: &[u64; 25], x: usize| (0..5).fold(0, |c, y| c ^ a[x + 5 * y]);
        let c: [u64; 5] = std::array::from_fn(|x| column(&a, x));
        for i in 0..25 {
            a[i] ^= c[(i + 4) % 5] ^ c[(i + 1) % 5].rotate_left(1);
        }
        let (mut x, mut y, mut last) = (1, 0, a[1]);
        for t in 0..24 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            last = std::mem::replace(&mut a[x + 5 * y], last.rotate_left((t + 1) * (t + 2) / 2 % 64));
        }
        for row in a.chunks_mut(5) {
            let old: [u64; 5] = row.try_into().expect("five lanes");
            for x in 0..5 {
                row[x] = old[x] ^ !old[(x + 1) % 5] & old[(x + 2) % 5];
            }
        }
        for j in 0..7 {
            if register & 1 == 1 {
                a[0] ^= 1 << ((1u32 << j) - 1);
            }
            register = (register << 1) ^ ((register >> 7) * 0x71);
        }
    }
    state.as_chunks_mut().0.iter_mut().zip(a).for_each(|(bytes, lane)| *bytes = lane.to_le_bytes());
}

/// The end of a message, padded to whole blocks.
pub fn pad(code: u8, rest: &[u8], bits: &[u8]) -> Vec<u8> {
    let block = block_length(code);
    let mut padded = rest.to_vec();
    if code > 3 {
        padded.push(if code < 36 { 0x06 } else { 0x1f });
        padded.resize(padded.len().next_multiple_of(block), 0);
        *padded.last_mut().expect("a byte") |= 0x80;
        return padded;
    }
    padded.push(0x80);
    let length = (padded.len() + bits.len()).next_multiple_of(block);
    padded.resize(length - bits.len(), 0);
    padded.extend_from_slice(bits);
    padded
}

pub fn sha512(parts: &[&[u8]]) -> [u8; 64] {
    let (message, mut out) = (parts.concat(), [0; 64]);
    // SAFETY: message and digest are of these lengths.
    unsafe { lc::SHA512(message.as_ptr(), message.len(), out.as_mut_ptr()) };
    out
}

pub fn shake256(parts: &[&[u8]], out: &mut [u8]) {
    let mut state = [0; 200];
    pad(37, &parts.concat(), &[]).chunks(136).for_each(|block| compress(37, &mut state, block));
    assert!(out.len() <= 136);
    out.copy_from_slice(&state[..out.len()]);
}

fn add(to: &mut [u8], number: &[u8]) {
    let mut carry = 0;
    for (i, byte) in to.iter_mut().rev().enumerate() {
        let sum = u16::from(*byte) + number.len().checked_sub(i + 1).map_or(0, |at| u16::from(number[at])) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
}

pub fn drbg_generate(block: &mut [u8], out: &mut [u8]) {
    assert_ne!(block[4..8], [0; 4], "a generator without a seed");
    assert!(block[..4] == [0; 4] && block[16] == 0 && block[128] == 0);
    let mut data = block[17..128].to_vec();
    for part in out.chunks_mut(64) {
        part.copy_from_slice(&sha512(&[&data])[..part.len()]);
        add(&mut data, &[1]);
    }
    let mut value = block[17..128].to_vec();
    let hash = sha512(&[&[3], &value]);
    add(&mut value, &hash);
    add(&mut value, &block[129..]);
    add(&mut value, &block[4..8]);
    block[17..128].copy_from_slice(&value);
    add(&mut block[4..8], &[1]);
    add(&mut block[8..16], &(out.len() as u64).to_be_bytes());
}
