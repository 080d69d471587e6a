//! RSA private keys of which only the Chinese-remainder part is known (RFC 8017, 3.2, second form, without n and e): what the
//! cards of IBM Z take. Any two odd primes.
//!
//! A result of the Chinese remainder theorem that is right modulo one prime and wrong modulo the other gives the key away
//! (Boneh, DeMillo, Lipton, EUROCRYPT 1997), so none leaves unchecked, though no public exponent is given. It is recovered:
//! e is the inverse of dp modulo p - 1, and of dq modulo q - 1. Where both give the same number, every result is raised to it
//! modulo n and compared with the input, as for any RSA key. Where they do not, because e is longer than the primes, each half
//! is checked with its own inverse.
//!
//! Both find every fault of the computation, and a fault in n, p or q. A key that came with a wrong dp or dq is refused when
//! only one of the two belongs to a short e. What cannot be found: numbers that are another valid key, such as both dp and dq
//! replaced; whether p and q are primes is not tested.

use super::rsa::{CpuRsaKey, Crt, Numbers};
use crate::awslc::bn::{Bn, Ctx, Modulus, trim};
use crate::choice;
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::Path;
use adjunct_base::error::Error;
use adjunct_base::memory::{boxed, zeros};
use zeroize::Zeroizing;

/// Public exponents that are tried before an inverse is computed, the most usual first.
const USUAL: [u32; 5] = [65537, 3, 17, 5, 257];
/// The longest public exponent, in bits, that counts as short.
const SHORT: usize = 64;

/// A private key without its public exponent. Immutable; threads share it.
#[derive(Debug)]
pub struct CrtKey {
    /// The modulus.
    n: Zeroizing<Vec<u8>>,
    bits: usize,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// AWS-LC's RSA, blinded.
    Key(CpuRsaKey),
    /// The arithmetic of RSA by its parts, for what AWS-LC's RSA does not take.
    Parts(Box<Parts>),
}

/// The numbers by which a result is checked.
#[derive(Debug)]
enum Check {
    Public { n: Modulus, e: Bn },
    Halves { ep: Bn, eq: Bn },
}

#[derive(Debug)]
struct Parts {
    p: Modulus,
    q: Modulus,
    dp: Bn,
    dq: Bn,
    qinv: Bn,
    check: Check,
}

/// A public exponent as it can be recovered.
enum Exponent {
    One(Bn),
    Halves(Bn, Bn),
}

impl CrtKey {
    /// Makes a key of the numbers of RFC 8017, big-endian; `p` above `q`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless both primes are odd and at least 3, `p` above `q`, the other numbers below their primes and
    /// above 0, dp and dq prime to p - 1 and q - 1 and of one public exponent, and `qinv * q` 1 modulo `p`.
    pub fn new(crt: &Crt<'_>) -> Result<CrtKey, Error> {
        let ctx = Ctx::new()?;
        let (p, q) = (Bn::new(trim(crt.p))?, Bn::new(trim(crt.q))?);
        if !p.is_odd() || !q.is_odd() || q.bits() < 2 || !q.less_than(&p) {
            return Err(Error::InvalidKey("primes"));
        }
        // As wide as their primes: their own length is secret.
        let (dp, dq, qinv) = (within(crt.dp, &p)?, within(crt.dq, &q)?, within(crt.qinv, &p)?);
        if !ctx.remainder(&ctx.product(&qinv, &q)?, &p)?.is_one() {
            return Err(Error::InvalidKey("q's inverse"));
        }
        let exponent = exponent(&ctx, (&p, &dp), (&q, &dq))?;
        let product = ctx.product(&p, &q)?;
        let bits = product.bits();
        let n = product.bytes(bits.div_ceil(8))?;
        let way = match key(&n, bits, &exponent, crt)? {
            Some(key) => Way::Key(key),
            None => {
                let check = match exponent {
                    Exponent::One(e) => Check::Public { n: Modulus::public(Bn::new(&n)?, &ctx)?, e },
                    Exponent::Halves(ep, eq) => Check::Halves { ep, eq },
                };
                let (p, q) = (Modulus::secret(p, &ctx)?, Modulus::secret(q, &ctx)?);
                Way::Parts(boxed(Parts { p, q, dp, dq, qinv, check })?)
            }
        };
        Ok(CrtKey { n, bits, way })
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Whether a number, big-endian and of any length, is below the modulus.
    pub fn takes(&self, number: &[u8]) -> bool {
        let number = trim(number);
        number.len() < self.n.len() || (number.len() == self.n.len() && *number < self.n[..])
    }

    /// Whether private operations run in hardware or software.
    pub fn path(&self) -> Path {
        match &self.way {
            // One that does not use its primes would not be there.
            Way::Key(key) => key.by_primes().unwrap_or_else(|| choice::rsa_crt(0, 0)),
            // Of no size with instructions: its two halves are raised one by one.
            Way::Parts(_) => choice::rsa_crt(0, 0),
        }
    }

    /// The key as AWS-LC's RSA has it, where that takes it: without `d`, of the modulus [`CrtKey::bits`] tells the size of.
    pub fn key(&self) -> Option<&CpuRsaKey> {
        match &self.way {
            Way::Key(key) => Some(key),
            Way::Parts(_) => None,
        }
    }

    /// `input^d mod n`, checked. Both buffers have one length, that of the modulus or more.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where `input` is not below the modulus, [`Error::Length`] where the buffers are too short or
    /// differ, [`Error::Verify`] where the result is wrong, [`Error::Memory`]; nothing of it is in `out` then.
    pub fn private(&self, input: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        let Some(zeros) = out.len().checked_sub(self.n.len()).filter(|_| input.len() == out.len()) else {
            return Err(Error::Length { what: "RSA block", got: out.len(), expected: "the modulus's" });
        };
        if !self.takes(input) {
            return Err(Error::Unsupported("RSA input above the modulus"));
        }
        let (front, out) = out.split_at_mut(zeros);
        front.fill(0);
        let input = &input[zeros..];
        match &self.way {
            Way::Key(key) => key.private(input, out).map(|ran| ran.outcome).map_err(|error| match error {
                Error::Memory => error,
                _ => Error::Verify,
            }),
            Way::Parts(parts) => parts.private(input, out).map(|()| Outcome::Library).inspect_err(|_| out.fill(0)),
        }
    }
}

/// A number above 0 and below `m`, as wide as `m`.
fn within(number: &[u8], m: &Bn) -> Result<Bn, Error> {
    let length = m.bits().div_ceil(8);
    let (front, number) = number.split_at(number.len().saturating_sub(length));
    let mut wide = zeros(length)?;
    wide[length - number.len()..].copy_from_slice(number);
    let number = Bn::new(&wide)?;
    let fits = front.iter().fold(0, |all, b| all | b) == 0 && number.less_than(m) && number.bits() > 0;
    if fits { Ok(number) } else { Err(Error::InvalidKey("CRT values")) }
}

/// The public exponent, of the two primes and their private exponents.
fn exponent(ctx: &Ctx, (p, dp): (&Bn, &Bn), (q, dq): (&Bn, &Bn)) -> Result<Exponent, Error> {
    let (p1, q1) = (p.minus_one()?, q.minus_one()?);
    for e in USUAL {
        let e = Bn::new(&e.to_be_bytes())?;
        let fits = |d, m1| Ok::<bool, Error>(ctx.remainder(&ctx.product(&e, d)?, m1)?.is_one());
        if fits(dp, &p1)? && fits(dq, &q1)? {
            return Ok(Exponent::One(e));
        }
    }
    let inverse = |d: &Bn, m1: &Bn| match d.less_than(m1) {
        true => ctx.inverse(d, m1)?.ok_or(Error::InvalidKey("private exponent")),
        false => Err(Error::InvalidKey("private exponent")),
    };
    let (ep, eq) = (inverse(dp, &p1)?, inverse(dq, &q1)?);
    if ep.equals(&eq) {
        return Ok(Exponent::One(ep));
    }
    // An exponent that is short against both primes is the same modulo both: one of the two is not of this key.
    let primes_are_long = q.bits() > 2 * SHORT;
    if primes_are_long && (ep.bits() <= SHORT || eq.bits() <= SHORT) {
        return Err(Error::InvalidKey("private exponent"));
    }
    Ok(Exponent::Halves(ep, eq))
}

/// The key for AWS-LC's RSA, where that takes it.
fn key(n: &[u8], bits: usize, exponent: &Exponent, crt: &Crt<'_>) -> Result<Option<CpuRsaKey>, Error> {
    let Exponent::One(e) = exponent else { return Ok(None) };
    if bits < 512 || e.bits() > SHORT {
        return Ok(None);
    }
    let e = e.bytes(e.bits().div_ceil(8))?;
    match CpuRsaKey::from_crt(&Numbers { n, e: &e, d: None, crt: Some(*crt) }) {
        Ok(key) => Ok(Some(key)),
        Err(Error::Unsupported(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Parts {
    fn private(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let (Parts { p, q, dp, dq, qinv, check }, ctx) = (self, Ctx::new()?);
        let m = Bn::new(input)?;
        let (mp, mq) = (ctx.remainder(&m, &p.m)?, ctx.remainder(&m, &q.m)?);
        let (rp, rq) = (p.power(&mp, dp, &ctx)?, q.power(&mq, dq, &ctx)?);
        // Garner's recombination: q below p, so rq is as well.
        let apart = ctx.difference(&rp, &rq, &p.m)?;
        let h = ctx.remainder(&ctx.product(&apart, qinv)?, &p.m)?;
        let result = ctx.sum(&ctx.product(&h, &q.m)?, &rq)?;
        let right = match check {
            Check::Public { n, e } => result.less_than(&n.m) && n.public_power(&result, e, &ctx)?.equals(&m),
            Check::Halves { ep, eq } => {
                p.power(&ctx.remainder(&result, &p.m)?, ep, &ctx)?.equals(&mp)
                    && q.power(&ctx.remainder(&result, &q.m)?, eq, &ctx)?.equals(&mq)
            }
        };
        if right { result.write(out) } else { Err(Error::Verify) }
    }
}

/// `None` for a key with p above q. Where p is below q: 1/p mod q, as long as `p` is given, which is the key's qinv when the two
/// change places.
///
/// # Errors
/// [`Error::InvalidKey`] where one of the two is even, and where both are one number or have a factor in common.
pub fn turned(p: &[u8], q: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let length = p.len();
    let (p, q) = (Bn::new(trim(p))?, Bn::new(trim(q))?);
    if !p.is_odd() || !q.is_odd() || p.equals(&q) {
        return Err(Error::InvalidKey("primes"));
    }
    if q.less_than(&p) {
        return Ok(None);
    }
    let inverse = Ctx::new()?.inverse(&p, &q)?.ok_or(Error::InvalidKey("primes"))?;
    inverse.bytes(length).map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::rsa_any::generate;
    use super::*;

    fn parts(bits: usize, e: u64) -> Parts {
        match CrtKey::new(&generate(bits, &e.to_be_bytes()).unwrap().0.crt()).unwrap().way {
            Way::Parts(parts) => *parts,
            Way::Key(_) => panic!("AWS-LC's RSA takes {bits} bits"),
        }
    }

    #[test]
    fn a_wrong_half_does_not_leave() {
        // Each of the two checks: an exponent that is one number, and one that is longer than the primes.
        for (bits, e) in [(511, 65537), (57, 0x005A_3C21_55AA_F00D)] {
            let mut parts = parts(bits, e);
            let mut input = vec![0; bits.div_ceil(8)];
            *input.last_mut().unwrap() = 5;
            let mut out = vec![0; input.len()];
            parts.private(&input, &mut out).unwrap();
            assert_ne!(out, input);
            let wrong = Bn::new(&[3]).unwrap();
            let right = std::mem::replace(&mut parts.dp, wrong);
            assert_eq!(parts.private(&input, &mut out), Err(Error::Verify));
            parts.dp = right;
            let wrong = Bn::new(&[2]).unwrap();
            parts.qinv = wrong;
            assert_eq!(parts.private(&input, &mut out), Err(Error::Verify));
        }
    }

    #[test]
    fn a_fault_in_a_key_does_not_leave() {
        for bits in [1024, 2048] {
            let made = generate(bits, &[1, 0, 1]).unwrap().0;
            let good = CrtKey::new(&made.crt()).unwrap();
            let dp = [&made.dp[..9], &[made.dp[9] ^ 4], &made.dp[10..]].concat();
            let crt = Crt { dp: &dp, ..made.crt() };
            // As if it had changed after it was checked.
            let key = CpuRsaKey::from_crt(&Numbers { n: &made.n, e: &[1, 0, 1], d: None, crt: Some(crt) }).unwrap();
            let wrong = CrtKey { n: good.n.clone(), bits, way: Way::Key(key) };
            let (input, mut out) = ([&[0; 8], &made.n[8..]].concat(), vec![0xAA; bits / 8]);
            assert_eq!(wrong.private(&input, &mut out), Err(Error::Verify));
            assert!(out.iter().all(|&b| b == 0));
            assert!(good.private(&input, &mut out).is_ok());
        }
    }

    #[test]
    fn numbers_that_do_not_belong_together_are_refused() {
        // An exponent that is tried, one that has to be computed, and the longest that counts as short.
        for e in [65537, 41, u64::MAX - 58] {
            let key = generate(1024, &e.to_be_bytes()).unwrap().0;
            let zeros = vec![0; 64];
            let one = [&zeros[1..], &[1]].concat();
            let changed = |number: &[u8]| [&number[..40], &[number[40] ^ 2], &number[41..]].concat();
            let (dp, dq, qinv) = (changed(&key.dp), changed(&key.dq), changed(&key.qinv));
            let even = [&key.p[..63], &[key.p[63] ^ 1]].concat();
            let good = key.crt();
            for crt in [
                Crt { p: good.q, q: good.p, ..good },
                Crt { q: good.p, ..good },
                Crt { p: &zeros, ..good },
                Crt { q: &zeros, ..good },
                Crt { q: &one, ..good },
                Crt { p: &even, ..good },
                Crt { q: &[], ..good },
                Crt { dp: &zeros, ..good },
                Crt { dq: &zeros, ..good },
                Crt { dp: &dp, ..good },
                Crt { dq: &dq, ..good },
                Crt { dp: good.dq, dq: good.dq, ..good },
                Crt { dp: good.p, ..good },
                Crt { qinv: &zeros, ..good },
                Crt { qinv: &one, ..good },
                Crt { qinv: &qinv, ..good },
            ] {
                assert!(matches!(CrtKey::new(&crt), Err(Error::InvalidKey(_))), "{e}");
            }
            assert!(CrtKey::new(&good).is_ok());
        }
    }
}
