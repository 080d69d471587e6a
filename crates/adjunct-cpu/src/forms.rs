//! RSA private keys in the form that the kernels of lanes need, and private operations that run alone. A form is made at the first operation: most
//! keys are loaded by programs that never use them.

#![allow(unsafe_code)]

use super::rsa::{CpuRsaKey, Part};
use adjunct_base::error::Error;
use adjunct_base::memory::{Kept, WriteOnce, boxed};
use adjunct_base::stack;
use adjunct_kernels::rsa::{CheckKey, PrivateKey, fma, private_single};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use zeroize::Zeroizing;

/// The forms of a key, in the place of its size.
#[derive(Debug, Default)]
pub struct Forms {
    /// The form of a key of 2048 bits.
    pub of_2048: Form<20, 40, 5, 22, 45>,
    /// The form of a key of 3072 bits.
    pub of_3072: Form<30, 60, 8, 33, 69>,
    /// The form of a key of 4096 bits.
    pub of_4096: Form<40, 80, 10, 45, 94>,
    /// The CRT values turned out not to belong to the key: it works only by `d`.
    wrong_crt: AtomicBool,
}

/// A key of M limbs with primes of P, and what its results are checked with, in W vectors; and the key of E digits with primes of D for the
/// lanes of AVX2 and FMA.
#[derive(Debug)]
pub struct Form<const P: usize, const M: usize, const W: usize, const D: usize, const E: usize> {
    key: WriteOnce<Box<PrivateKey<P, M>>>,
    of_digits: WriteOnce<Box<fma::PrivateKey<P, M, D, E>>>,
    check: WriteOnce<Box<CheckKey<M, W>>>,
}

impl<const P: usize, const M: usize, const W: usize, const D: usize, const E: usize> Default for Form<P, M, W, D, E> {
    fn default() -> Self {
        Form { key: WriteOnce::default(), of_digits: WriteOnce::default(), check: WriteOnce::default() }
    }
}

impl Forms {
    /// `input^d mod n` by its primes, checked; false where the kernels do not take the key, its CRT values do not belong together, or
    /// memory or stack run out. Both buffers are as long as the modulus.
    pub(super) fn private(&self, key: &CpuRsaKey, input: &[u8], out: &mut [u8]) -> bool {
        if self.has_wrong_crt() || !super::lanes() {
            return false;
        }
        let done = stack::with_room(|| match key.bits() {
            2048 => self.of_2048.private::<3>(key, input, out),
            3072 => self.of_3072.private::<4>(key, input, out),
            4096 => self.of_4096.private::<5>(key, input, out),
            _ => false,
        });
        done == Some(true)
    }

    /// Whether the key's public operation makes `input` of `out`; `None` where the kernels do not take the key, and without memory.
    pub(super) fn is_right(&self, key: &CpuRsaKey, input: &[u8], out: &[u8]) -> Option<bool> {
        if !super::lanes() {
            return None;
        }
        let known = stack::with_room(|| match key.bits() {
            2048 => self.of_2048.is_right(key, input, out),
            3072 => self.of_3072.is_right(key, input, out),
            4096 => self.of_4096.is_right(key, input, out),
            _ => None,
        });
        known.flatten()
    }

    pub(super) fn has_wrong_crt(&self) -> bool {
        self.wrong_crt.load(Relaxed)
    }

    pub(super) fn note_wrong_crt(&self) {
        self.wrong_crt.store(true, Relaxed);
    }
}

/// The numbers of a key: n, e, p, q, and those of the CRT.
fn numbers(key: &CpuRsaKey) -> Result<[Zeroizing<Vec<u8>>; 7], Error> {
    let number = |part| Ok::<_, Error>(key.number(part)?.unwrap_or_default());
    let (n, e, p, q) = (number(Part::N)?, number(Part::E)?, number(Part::P)?, number(Part::Q)?);
    Ok([n, e, p, q, number(Part::Dp)?, number(Part::Dq)?, number(Part::Qinv)?])
}

impl<const P: usize, const M: usize, const W: usize, const D: usize, const E: usize> Form<P, M, W, D, E> {
    /// The key's form, made now if it is not there; `None` for a key that has none after all, and without memory.
    pub fn key(&self, key: &CpuRsaKey) -> Option<Kept<'_, Box<PrivateKey<P, M>>>> {
        let made = self.key.get_or_make(|| {
            let [n, e, p, q, dp, dq, qinv] = numbers(key)?;
            let made = PrivateKey::new(&n, &e, &p, &q, &dp, &dq, &qinv);
            boxed(made.ok_or(Error::InvalidKey("sizes"))?)
        });
        made.ok()
    }

    /// The form for the lanes of AVX2 and FMA, in the same way.
    pub fn of_digits(&self, key: &CpuRsaKey) -> Option<Kept<'_, Box<fma::PrivateKey<P, M, D, E>>>> {
        let made = self.of_digits.get_or_make(|| {
            let [n, e, p, q, dp, dq, qinv] = numbers(key)?;
            let made = fma::PrivateKey::new(&n, &e, &p, &q, &dp, &dq, &qinv);
            boxed(made.ok_or(Error::InvalidKey("sizes"))?)
        });
        made.ok()
    }

    /// What results are checked with, in the same way. To be asked only where the CPU has lanes.
    fn check(&self, key: &CpuRsaKey) -> Option<Kept<'_, Box<CheckKey<M, W>>>> {
        let made = self.check.get_or_make(|| {
            let number = |part| Ok::<_, Error>(key.number(part)?.unwrap_or_default());
            // SAFETY: the CPU has lanes.
            let made = unsafe { CheckKey::new(&number(Part::N)?, &number(Part::E)?) };
            boxed(made.ok_or(Error::InvalidKey("sizes"))?)
        });
        made.ok()
    }

    fn is_right(&self, key: &CpuRsaKey, input: &[u8], out: &[u8]) -> Option<bool> {
        let check = self.check(key)?;
        // SAFETY: the CPU has lanes, as whoever asked has found out.
        Some(unsafe { check.is_right(input, out) })
    }

    /// A prime takes V vectors.
    fn private<const V: usize>(&self, key: &CpuRsaKey, input: &[u8], out: &mut [u8]) -> bool {
        let (Some(form), Some(check)) = (self.key(key), self.check(key)) else { return false };
        // SAFETY: the CPU has lanes, as whoever asked has found out.
        unsafe { private_single::<P, M, V, W>(&form, &check, input, out) }
    }
}
