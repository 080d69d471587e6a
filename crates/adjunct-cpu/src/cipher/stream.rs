//! CTR, CFB and OFB (NIST SP 800-38A) made of single blocks, for ciphers and segments that no function takes whole. `encrypt` is
//! ECB encryption of whole blocks of `B` bytes.

use super::aes::AesKey;
use adjunct_kernels::{InOut, wipe};

impl AesKey {
    /// CFB over any length with segments of `segment` bytes, 1 to a block; `iv` becomes the shift register.
    ///
    /// # Panics
    /// For any other segment.
    #[inline]
    pub fn cfb_segments(&self, encrypt: bool, segment: usize, iv: &mut [u8; 16], io: InOut<'_>) {
        match segment {
            1 => self.cfb8(encrypt, iv, io),
            16 => self.cfb(encrypt, iv, &mut 0, io),
            _ => {
                let (mut whole, tail) = io.split_whole(segment);
                if self.given().cfb(encrypt, segment, iv, &mut whole) {
                    return cfb(encrypt, segment, iv, tail, |io| self.ecb(true, io));
                }
                for part in [whole, tail] {
                    cfb(encrypt, segment, iv, part, |io| self.ecb(true, io));
                }
            }
        }
    }
}

/// CTR over any length, with a big-endian counter over the whole block, which becomes the next.
pub(crate) fn ctr<const B: usize>(counter: &mut [u8; B], mut io: InOut<'_>, encrypt: impl Fn(InOut<'_>)) {
    while !io.is_empty() {
        let mut stream = *counter;
        encrypt(InOut::in_place(&mut stream));
        increment(counter);
        let (mut now, later) = io.split_head(B);
        now.xor(&stream);
        wipe(&mut stream);
        io = later;
    }
}

/// Adds 1 to a big-endian number, which wraps. Without a branch: GCM's first counter may come of the hash key.
pub(super) fn increment<const B: usize>(counter: &mut [u8; B]) {
    let mut carry = true;
    for byte in counter.iter_mut().rev() {
        (*byte, carry) = byte.overflowing_add(u8::from(carry));
    }
}

/// CTR with a list of counters, as long as the message, up to whole blocks.
///
/// # Panics
/// If the list is shorter.
pub(crate) fn ctr_list<const B: usize>(list: &[u8], mut io: InOut<'_>, encrypt: impl Fn(InOut<'_>)) {
    let mut stream = [0; 64];
    for counters in list.chunks(stream.len()) {
        let (mut now, later) = io.split_head(counters.len());
        let blocks = now.len().next_multiple_of(B);
        encrypt(InOut::apart(&counters[..blocks], &mut stream[..blocks]));
        now.xor(&stream);
        io = later;
    }
    wipe(&mut stream);
}

/// CFB over any length with segments of `segment` bytes, 1 to a block; `iv` becomes the shift register.
///
/// # Panics
/// For any other segment.
pub(crate) fn cfb<const B: usize>(
    encrypting: bool,
    segment: usize,
    iv: &mut [u8; B],
    mut io: InOut<'_>,
    encrypt: impl Fn(InOut<'_>),
) {
    assert!((1..=B).contains(&segment));
    while !io.is_empty() {
        let mut stream = *iv;
        encrypt(InOut::in_place(&mut stream));
        let (mut now, later) = io.split_head(segment);
        iv.copy_within(segment.., 0);
        let register = &mut iv[B - segment..];
        for i in 0..now.len() {
            let input = now.get(i);
            let output = input ^ stream[i];
            now.set(i, output);
            register[i] = if encrypting { output } else { input };
        }
        wipe(&mut stream);
        io = later;
    }
}

/// CFB with segments of one bit over `bits` bits of AES, the highest of a byte first.
///
/// # Panics
/// If the buffers hold fewer.
pub(super) fn cfb1(encrypting: bool, iv: &mut [u8; 16], bits: usize, mut io: InOut<'_>, encrypt: impl Fn(InOut<'_>)) {
    for at in 0..bits {
        let mut stream = *iv;
        encrypt(InOut::in_place(&mut stream));
        let (byte, place) = (at / 8, 7 - at % 8);
        let input = io.get(byte) >> place & 1;
        let output = input ^ stream[0] >> 7;
        // SAFETY: within the output, of whose byte the other bits stay.
        let there = unsafe { *io.output().add(byte) };
        io.set(byte, there & !(1 << place) | output << place);
        let cipher = if encrypting { output } else { input };
        *iv = (u128::from_be_bytes(*iv) << 1 | u128::from(cipher)).to_be_bytes();
        wipe(&mut stream);
    }
}

/// OFB over any length; `iv` becomes the last block of the stream.
pub(crate) fn ofb<const B: usize>(iv: &mut [u8; B], mut io: InOut<'_>, encrypt: impl Fn(InOut<'_>)) {
    while !io.is_empty() {
        encrypt(InOut::in_place(iv));
        let (mut now, later) = io.split_head(B);
        now.xor(iv);
        io = later;
    }
}
