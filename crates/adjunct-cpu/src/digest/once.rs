//! A digest of a message that is there as a whole.

use super::{Digest, Family, Method, sha256 as family};
use crate::awslc::sha;
use crate::cpacf;
use adjunct_kernels::{short, wipe};

/// What SHA-1, SHA-224 and SHA-256 begin with (FIPS 180-4, 5.3).
const SHA1: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const SHA224: [u32; 8] =
    [0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4];
const SHA256: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

impl Digest {
    /// The result of `data`: all of `out` by an extendable-output function, else the first [`Method::size`] bytes. A message of one
    /// block of SHA-1 or SHA-256 takes little more than its compression.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline(always)]
    pub fn once(method: &'static Method, data: &[u8], out: &mut [u8]) {
        // CPACF pads by itself.
        if cpacf::here().is_none() && data.len() <= short::MOST {
            match method.family() {
                Some(Family::Sha1) => return sha1(data, &mut out[..method.size]),
                Some(Family::Sha256) => return sha256(method.size, data, &mut out[..method.size]),
                _ => {}
            }
        }
        let mut digest = Digest::new(method);
        digest.update(data);
        digest.finish(out);
    }
}

#[inline]
fn sha1(data: &[u8], out: &mut [u8]) {
    let (mut h, mut block) = (SHA1, [0; 64]);
    short::padded(data, &mut block);
    sha::sha1_block(&mut h, &block);
    write(&h, out);
    wipe(&mut h);
    wipe(&mut block);
}

#[inline]
fn sha256(size: usize, data: &[u8], out: &mut [u8]) {
    let mut h = if size == 28 { SHA224 } else { SHA256 };
    let mut block = [0; 64];
    short::padded(data, &mut block);
    family::block(&mut h, &block);
    write(&h, out);
    wipe(&mut h);
    wipe(&mut block);
}

/// Writes words as bytes, as many as there is room for.
#[inline]
fn write(words: &[u32], out: &mut [u8]) {
    for (bytes, word) in out.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_SIZE, METHODS};
    use super::*;

    #[test]
    fn a_message_in_one_call_gives_what_parts_give() {
        let message: Vec<u8> = (0..200u8).map(|i| i.wrapping_mul(37)).collect();
        for method in METHODS {
            for length in 0..message.len() {
                let (mut once, mut parts) = ([0; MAX_SIZE], [0; MAX_SIZE]);
                Digest::once(method, &message[..length], &mut once[..method.size]);
                let mut digest = Digest::new(method);
                digest.update(&message[..length]);
                digest.finish(&mut parts[..method.size]);
                assert_eq!(once, parts, "{method:?} of {length} bytes");
            }
        }
    }
}
