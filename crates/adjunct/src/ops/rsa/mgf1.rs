//! MGF1, the mask of PSS and OAEP.

use super::Method;
use adjunct_cpu::digest::Digest;
use zeroize::Zeroizing;

/// MGF1 (RFC 8017, B.2.1) of `seed`, added to `out`.
pub(super) fn mgf1_xor(method: &'static Method, seed: &[u8], out: &mut [u8]) {
    let mut mask = Zeroizing::new([0; 64]);
    let mut digest = Digest::new(method);
    for (counter, chunk) in out.chunks_mut(method.size).enumerate() {
        digest.update(seed);
        digest.update(&(counter as u32).to_be_bytes());
        digest.finish(&mut mask[..]);
        digest.reset();
        chunk.iter_mut().zip(mask.iter()).for_each(|(o, m)| *o ^= m);
    }
}
