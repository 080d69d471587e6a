//! IVs and nonces that are made here, for many messages under one key.

use crate::rv::{Result, ensure};
use adjunct::ops::random::random;
use cryptoki_sys::*;

/// The fewest random bits of an IV.
const LEAST: usize = 64;
/// The longest IV that is made here, in bytes.
const MOST: usize = 128;

/// Makes the IVs of the messages of one C_MessageEncryptInit.
#[derive(Debug, Default)]
pub struct Generator {
    /// What counting IVs begin with: of CKG_GENERATE_COUNTER_XOR what the caller had there for the first, of CKG_GENERATE random bits.
    base: Option<Vec<u8>>,
    /// How many have been made by counting.
    count: u64,
}

impl Generator {
    /// Fills all but the first `fixed` bits with random ones.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID` where there are too few to be random.
    pub fn random(iv: &mut [u8], fixed: CK_ULONG) -> Result {
        let fixed = Generator::fixed(iv, fixed)?;
        ensure(8 * iv.len() - fixed >= LEAST, CKR_MECHANISM_PARAM_INVALID)?;
        let mut room = [0; MOST];
        let made = &mut room[..iv.len()];
        random(made);
        merge(iv, fixed, made);
        Ok(())
    }

    fn fixed(iv: &[u8], fixed: CK_ULONG) -> Result<usize> {
        ensure(iv.len() <= MOST && fixed <= 8 * iv.len() as CK_ULONG, CKR_MECHANISM_PARAM_INVALID)?;
        Ok(fixed as usize)
    }

    /// Makes the next IV in place, as the caller asks for.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`; `CKR_TOKEN_RESOURCE_EXCEEDED` where every value of the counter has been used.
    pub fn next(&mut self, generator: CK_GENERATOR_FUNCTION, iv: &mut [u8], fixed: CK_ULONG) -> Result {
        match generator {
            CKG_NO_GENERATE => return Ok(()),
            CKG_GENERATE_RANDOM => return Generator::random(iv, fixed),
            CKG_GENERATE | CKG_GENERATE_COUNTER | CKG_GENERATE_COUNTER_XOR => {}
            _ => return ensure(false, CKR_MECHANISM_PARAM_INVALID),
        }
        let fixed = Generator::fixed(iv, fixed)?;
        let free = 8 * iv.len() - fixed;
        ensure(free > 0, CKR_MECHANISM_PARAM_INVALID)?;
        ensure(free >= 64 || self.count < 1 << free, CKR_TOKEN_RESOURCE_EXCEEDED)?;
        if self.base.as_ref().is_none_or(|base| base.len() != iv.len()) {
            ensure(self.base.is_none(), CKR_MECHANISM_PARAM_INVALID)?;
            let mut base = vec![0; iv.len()];
            match generator {
                CKG_GENERATE_COUNTER_XOR => base.copy_from_slice(iv),
                CKG_GENERATE => random(&mut base),
                _ => {}
            }
            self.base = Some(base);
        }
        let mut made = self.base.clone().unwrap_or_default();
        // Into the last bytes; beyond those that there are, the count is zero.
        made.iter_mut().rev().zip(self.count.to_le_bytes()).for_each(|(byte, count)| *byte ^= count);
        merge(iv, fixed, &made);
        self.count = self.count.checked_add(1).ok_or(crate::rv::Rv(CKR_TOKEN_RESOURCE_EXCEEDED))?;
        Ok(())
    }
}

/// Takes the bits of `made` but the first `fixed`.
fn merge(iv: &mut [u8], fixed: usize, made: &[u8]) {
    for (at, (byte, made)) in iv.iter_mut().zip(made).enumerate() {
        // The bits of this byte that stay.
        let kept = fixed.saturating_sub(8 * at).min(8) as u32;
        let mask = !0xffu8.checked_shr(kept).unwrap_or(0);
        *byte = *byte & mask | made & !mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rv::Rv;

    #[test]
    fn counters_stay_behind_what_is_fixed_and_end() {
        let mut generator = Generator::default();
        let mut iv = [0xff, 0xff];
        for count in 0..4 {
            generator.next(CKG_GENERATE_COUNTER, &mut iv, 14).unwrap();
            assert_eq!(iv, [0xff, 0xfc | count]);
        }
        assert_eq!(generator.next(CKG_GENERATE_COUNTER, &mut iv, 14), Err(Rv(CKR_TOKEN_RESOURCE_EXCEEDED)));
        assert_eq!(generator.next(CKG_GENERATE_COUNTER, &mut iv, 17), Err(Rv(CKR_MECHANISM_PARAM_INVALID)));
        assert_eq!(generator.next(CKG_GENERATE_COUNTER, &mut iv, 16), Err(Rv(CKR_MECHANISM_PARAM_INVALID)));
    }

    #[test]
    fn a_counter_is_added_without_carry_to_the_first_iv() {
        let mut generator = Generator::default();
        let mut iv = *b"twelve bytes";
        for count in 0..300_u64 {
            generator.next(CKG_GENERATE_COUNTER_XOR, &mut iv, 32).unwrap();
            let expected: u64 = u64::from_be_bytes(*b"ve bytes") ^ count;
            assert_eq!(iv, *[&b"twel"[..], &expected.to_be_bytes()].concat());
        }
    }

    #[test]
    fn random_ones_differ_and_leave_the_fixed_part() {
        let (mut one, mut other) = ([7; 12], [7; 12]);
        Generator::random(&mut one, 32).unwrap();
        Generator::default().next(CKG_GENERATE, &mut other, 32).unwrap();
        assert!(one[..4] == [7; 4] && other[..4] == [7; 4] && one != other && one != [7; 12]);
        assert_eq!(Generator::random(&mut one, 33), Err(Rv(CKR_MECHANISM_PARAM_INVALID)));
    }
}
