//! RSA for sizes and public exponents that AWS-LC's own does not take: the bare exponentiation, and key generation.

use super::rsa::{CpuRsaKey, Crt, Part};
use crate::awslc::bn::{Bn, Ctx, Modulus, trim};
use adjunct_base::catalogue::Outcome;
use adjunct_base::error::Error;
use adjunct_base::memory::zeros;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// The longest exponent, in bytes, that is taken for a public one.
const SHORT: usize = 8;
/// Moduli of fewer bytes have private exponents as short as that.
const LEAST: usize = 64;

/// `base^exponent mod modulus`, big-endian numbers; `base` and `out` are of one length. The exponent is taken for secret, unless
/// all but its last 64 bits are zeros under a modulus of 512 bits or more, which only a public one's are. A result cannot be
/// checked here: the exponent's counterpart is not known.
///
/// # Errors
/// [`Error::InvalidKey`] for a modulus that is even or below 3 and for an exponent of 0; [`Error::Unsupported`] for a base that is
/// not below the modulus.
pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8], out: &mut [u8]) -> Result<(), Error> {
    let modulus = trim(modulus);
    let m = Bn::new(modulus)?;
    if !m.is_odd() || m.bits() < 2 {
        return Err(Error::InvalidKey("modulus"));
    }
    let (front, last) = exponent.split_at(exponent.len().saturating_sub(SHORT));
    let any = |bytes: &[u8]| bytes.iter().fold(0, |all, b| all | b) != 0;
    let public = modulus.len() >= LEAST && !any(front);
    if !any(last) && !any(front) {
        return Err(Error::InvalidKey("exponent"));
    }
    let base = Bn::new(base)?;
    if !base.less_than(&m) {
        return Err(Error::Unsupported("RSA input above the modulus"));
    }
    let ctx = Ctx::new()?;
    let m = Modulus::public(m, &ctx)?;
    match public {
        true => m.public_power(&base, &Bn::new(last)?, &ctx)?.write(out),
        false => m.power(&base, &Bn::new(exponent)?, &ctx)?.write(out),
    }
}

/// A key of two primes, p above q. The numbers are as long as the modulus, or half of that.
#[allow(missing_docs)]
pub struct Generated {
    pub n: Vec<u8>,
    pub d: Zeroizing<Vec<u8>>,
    pub p: Zeroizing<Vec<u8>>,
    pub q: Zeroizing<Vec<u8>>,
    pub dp: Zeroizing<Vec<u8>>,
    pub dq: Zeroizing<Vec<u8>>,
    pub qinv: Zeroizing<Vec<u8>>,
}

opaque_debug!(Generated);

impl Generated {
    /// The Chinese-remainder part.
    pub fn crt(&self) -> Crt<'_> {
        Crt { p: &self.p, q: &self.q, dp: &self.dp, dq: &self.dq, qinv: &self.qinv }
    }
}

/// The smallest modulus made, in bits.
pub const LEAST_BITS: usize = 32;
/// The longest public exponent of a key that is made, in bits (FIPS 186-5, A.1.1).
const LONGEST_EXPONENT: usize = 256;
/// Pairs of primes that are tried before the exponent is taken for one that no key fits.
const TRIES: usize = 400;
/// Candidates for a prime, for each of its bits: of odd numbers one in a third of the bits is a prime, and the worst exponent (the product
/// of all small primes) fits one prime in ten.
const CANDIDATES: usize = 400;

/// Whether [`generate`] makes keys of such a size and public exponent (big-endian).
pub fn generates(bits: usize, e: &[u8]) -> bool {
    let e = trim(e);
    let Some((first, last)) = e.first().zip(e.last()) else { return false };
    let length = e.len() * 8 - first.leading_zeros() as usize;
    // What is longer Key::new takes with short moduli alone.
    let longest = if bits > 3072 { 64 } else { LONGEST_EXPONENT };
    (LEAST_BITS..=super::rsa::MAX_SIZE * 8).contains(&bits)
        && last & 1 == 1
        && (2..=longest).contains(&length)
        && length < bits
}

/// Generates a key of exactly `bits` bits with the public exponent `e`, big-endian: by AWS-LC's RSA where it makes such keys, by the
/// same steps where it does not (FIPS 186-5, A.1.3, for sizes it knows: each candidate drawn anew, with both high bits set; primes that
/// e is coprime to, not close to each other; a d that is not short; and a trial of the key).
///
/// # Errors
/// [`Error::Unsupported`] where [`generates`] says so; [`Error::Failed`] where no prime was found; [`Error::Memory`].
pub fn generate(bits: usize, e: &[u8]) -> Result<(Generated, Outcome), Error> {
    if !generates(bits, e) {
        return Err(Error::Unsupported("RSA public exponent or size"));
    }
    if CpuRsaKey::generates(bits, e) {
        let (key, outcome) = CpuRsaKey::generate(bits, e, None)?;
        return Ok((taken_apart(&key)?, outcome));
    }
    let (ctx, e) = (Ctx::new()?, Bn::new(trim(e))?);
    for _ in 0..TRIES {
        let (a, b) = (prime(bits.div_ceil(2), &e, &ctx)?, prime(bits / 2, &e, &ctx)?);
        let (p, q) = if b.less_than(&a) { (a, b) } else { (b, a) };
        if let Some(key) = assemble(bits, &e, &p, &q, &ctx)? {
            try_once(&key, &e, &ctx)?;
            return Ok((key, Outcome::Library));
        }
    }
    Err(Error::Failed("RSA key generation"))
}

/// Generates a key as [`generate`] does, but with primes found in lanes (`primes.rs`) and without a trial; also says what the lanes are.
/// `None` where there are no lanes for such keys. `e` is one that [`CpuRsaKey::generates`] takes.
pub(super) fn in_lanes(
    bits: usize,
    e: &[u8],
    tell: &mut dyn FnMut(i32, i32) -> bool,
) -> Result<Option<(Generated, Outcome)>, Error> {
    #[cfg(target_arch = "x86_64")]
    {
        let number = trim(e).iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let dedicated = crate::rsa_lanes().is_some_and(crate::RsaLanes::are_dedicated);
        let outcome = if dedicated { Outcome::Instructions } else { Outcome::Library };
        let (ctx, e) = (Ctx::new()?, Bn::new(trim(e))?);
        for _ in 0..TRIES {
            let Some(pair) = crate::primes::pair(bits, number, CANDIDATES * bits, tell)? else { return Ok(None) };
            let [a, b] = [Bn::new(&pair[0])?, Bn::new(&pair[1])?];
            let (p, q) = if b.less_than(&a) { (a, b) } else { (b, a) };
            if let Some(key) = assemble(bits, &e, &p, &q, &ctx)? {
                return Ok(Some((key, outcome)));
            }
        }
        Err(Error::Failed("RSA key generation"))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (bits, e, tell);
        Ok(None)
    }
}

/// A random prime with one less than it coprime to `e`. What takes least is asked first.
fn prime(bits: usize, e: &Bn, ctx: &Ctx) -> Result<Bn, Error> {
    for _ in 0..CANDIDATES * bits {
        let number = Bn::odd(bits)?;
        if !number.is_obviously_composite() && ctx.coprime(&number.minus_one()?, e)? && ctx.is_prime(&number)? {
            return Ok(number);
        }
    }
    Err(Error::Failed("RSA key generation"))
}

/// The pair of exponents is tried once, as AWS-LC tries the keys it makes.
fn try_once(key: &Generated, e: &Bn, ctx: &Ctx) -> Result<(), Error> {
    let (modulus, two) = (Modulus::public(Bn::new(&key.n)?, ctx)?, Bn::new(&[2])?);
    match modulus.public_power(&modulus.power(&two, &Bn::new(&key.d)?, ctx)?, e, ctx)?.equals(&two) {
        true => Ok(()),
        false => Err(Error::Failed("RSA key generation")),
    }
}

/// Makes the key of these primes; `None` where they are too close or d is too short.
fn assemble(bits: usize, e: &Bn, p: &Bn, q: &Bn, ctx: &Ctx) -> Result<Option<Generated>, Error> {
    if !q.less_than(p) || (bits >= 512 && ctx.difference(p, q, p)?.bits() <= bits / 2 - 100) {
        return Ok(None);
    }
    let (p1, q1) = (p.minus_one()?, q.minus_one()?);
    let order = ctx.multiple(&p1, &q1)?;
    let one = Bn::new(&[1])?;
    let Some(d) = inverse_of_short(e, &order, &one, ctx)? else { return Ok(None) };
    if bits >= 512 && d.bits() <= bits.div_ceil(2) {
        return Ok(None);
    }
    let (dp, dq) = (ctx.remainder(&d, &p1)?, ctx.remainder(&d, &q1)?);
    // 1/q by Fermat: the inverse in constant time takes longer.
    let secret = Modulus::secret(Bn::new(&p.bytes(p.bits().div_ceil(8))?)?, ctx)?;
    let qinv = secret.power(q, &ctx.difference(&p1, &one, p)?, ctx)?;
    let (length, half) = (bits.div_ceil(8), bits.div_ceil(8).div_ceil(2));
    let n = ctx.product(p, q)?;
    let inverses = [(&d, e, &order), (&qinv, q, p)];
    for (a, b, m) in inverses {
        if !ctx.remainder(&ctx.product(a, b)?, m)?.equals(&one) {
            return Err(Error::Failed("RSA key generation"));
        }
    }
    let mut n = n.bytes(length)?;
    if Bn::new(&n)?.bits() != bits {
        return Err(Error::Failed("RSA key generation"));
    }
    Ok(Some(Generated {
        n: std::mem::take(&mut *n),
        d: d.bytes(length)?,
        p: p.bytes(half)?,
        q: q.bytes(half)?,
        dp: dp.bytes(half)?,
        dq: dq.bytes(half)?,
        qinv: qinv.bytes(half)?,
    }))
}

/// 1/`e` modulo a number; `None` if there is no inverse: with k = -1/m modulo `e`, which is short, k m + 1 is a multiple of `e`.
fn inverse_of_short(e: &Bn, m: &Bn, one: &Bn, ctx: &Ctx) -> Result<Option<Bn>, Error> {
    let rest = ctx.remainder(m, e)?;
    // Not 0, which has no inverse.
    let Some(inverse) = ctx.inverse(&rest, e)? else { return Ok(None) };
    let k = ctx.difference(e, &inverse, e)?;
    let multiple = ctx.sum(&ctx.product(&k, m)?, one)?;
    ctx.quotient(&multiple, e).map(Some)
}

fn taken_apart(key: &CpuRsaKey) -> Result<Generated, Error> {
    let number = |part, length: usize| {
        let number = key.number(part)?.ok_or(Error::Failed("RSA key generation"))?;
        let mut whole = zeros(length)?;
        whole[length - number.len()..].copy_from_slice(&number);
        Ok::<_, Error>(whole)
    };
    let (length, half) = (key.size(), key.size() / 2);
    Ok(Generated {
        n: std::mem::take(&mut *number(Part::N, length)?),
        d: number(Part::D, length)?,
        p: number(Part::P, half)?,
        q: number(Part::Q, half)?,
        dp: number(Part::Dp, half)?,
        dq: number(Part::Dq, half)?,
        qinv: number(Part::Qinv, half)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::rsa_crt::CrtKey;
    use super::*;

    #[test]
    fn keys_of_any_size_do_what_they_should() {
        for (bits, e) in [
            (32, 3_u64),
            (57, 3),
            (57, 0x00FE_DCBA_9876_5431),
            (64, 65537),
            (65, 3),
            (511, u64::MAX - 58),
            (512, 65537),
            (513, 17),
            (1023, 3),
            (1031, 65537),
            (1024, 0x1_0000_000F),
        ] {
            let (key, _) = generate(bits, &e.to_be_bytes()).unwrap();
            let size = bits.div_ceil(8);
            let mut input = vec![0; size];
            crate::random(&mut input[1..]);
            let (mut crt, mut plain, mut back) = (vec![0; size], vec![0; size], vec![0; size]);
            CrtKey::new(&key.crt()).unwrap().private(&input, &mut crt).unwrap();
            power(&input, &key.d, &key.n, &mut plain).unwrap();
            assert_eq!(crt, plain, "{bits}");
            power(&crt, &e.to_be_bytes(), &key.n, &mut back).unwrap();
            assert_eq!(back, input, "{bits}");
        }
    }

    #[test]
    fn exponents_may_be_long_and_have_zeros_in_front() {
        for e in [&[0, 0, 0, 0, 1, 0, 1][..], &[0xff; 32], &[1, 0, 0, 0, 1]] {
            for bits in [512, 530, 640] {
                let (key, _) = generate(bits, e).unwrap();
                let size = bits.div_ceil(8);
                let (mut input, mut out, mut back) = (vec![0; size], vec![0; size], vec![0; size]);
                crate::random(&mut input[1..]);
                power(&input, &key.d, &key.n, &mut out).unwrap();
                power(&out, e, &key.n, &mut back).unwrap();
                assert_eq!(back, input, "{bits} {e:x?}");
            }
        }
    }

    #[test]
    fn exponents_and_sizes_that_cannot_be_are_refused() {
        for (bits, e) in [(2048, 0_u64), (2048, 1), (2048, 4), (57, 1 << 57 | 1), (31, 3), (0, 3), (16385, 3)] {
            assert!(matches!(generate(bits, &e.to_be_bytes()), Err(Error::Unsupported(_))), "{bits} {e}");
        }
        let long = |bytes: usize| vec![0xff; bytes];
        for (bits, e) in [(2048, long(33)), (3073, long(9)), (200, long(25)), (2048, vec![]), (2048, vec![0; 3])] {
            assert!(matches!(generate(bits, &e), Err(Error::Unsupported(_))), "{bits} {e:x?}");
        }
    }
}
