//! PKCS#1 v1.5 decryption of a TLS premaster secret.

use crate::error::Error;
use adjunct_cpu as cpu;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// The length of a TLS premaster secret, in bytes.
pub const PREMASTER: usize = 48;

/// PKCS#1 v1.5 decoding of a TLS premaster secret (RFC 5246, 7.4.7.1): where the padding or the version within it is
/// wrong, a random secret comes out. `alternative` is the version some clients send instead (0: none).
///
/// # Errors
/// [`Error::Verify`] for a modulus too small for any premaster secret, which is public.
pub fn premaster_decode(client: u32, alternative: u32, block: &[u8], out: &mut [u8; PREMASTER]) -> Result<(), Error> {
    if block.len() < PREMASTER + 11 {
        return Err(Error::Verify);
    }
    let mut random = Zeroizing::new([0; PREMASTER]);
    cpu::random(&mut random[..]);
    premaster_choose(client, alternative, block, &random, out);
    Ok(())
}

/// The premaster secret in `block`, of at least 59 bytes, or `random`, in constant time.
pub fn premaster_choose(
    client: u32,
    alternative: u32,
    block: &[u8],
    random: &[u8; PREMASTER],
    out: &mut [u8; PREMASTER],
) {
    let start = block.len() - PREMASTER;
    let mut good = block[0].ct_eq(&0) & block[1].ct_eq(&2) & block[start - 1].ct_eq(&0);
    for byte in &block[2..start - 1] {
        good &= !byte.ct_eq(&0);
    }
    let is = |version: u32| block[start].ct_eq(&((version >> 8) as u8)) & block[start + 1].ct_eq(&(version as u8));
    let mut version = is(client);
    if alternative > 0 {
        version |= is(alternative);
    }
    good &= version;
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = u8::conditional_select(&random[i], &block[start + i], good);
    }
}
