//! RSA keys and the two raw operations on them.
//!
//! What protects a private key here, and where: every private operation of AWS-LC's is blinded (`blinding.rs`; our kernels need no
//! blinding: nothing they do depends on a secret); AWS-LC, as our kernels do, raises its result to `e` again before it leaves
//! (`rsa_default_private_transform` in fipsmodule/rsa/rsa_impl.c, with and without CRT), so a fault cannot reveal a factor; it
//! compares neither operands nor exponents in variable time; and its allocator wipes what it frees (`OPENSSL_free` in
//! crypto/mem.c), which is where the numbers of a key live.

use super::blinding::Blinding;
use super::rsa_any;
use crate::awslc::bn::{Bn, Ctx};
use crate::awslc::rsa as library;
use crate::choice;
#[cfg(target_arch = "x86_64")]
use crate::forms::Forms;
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::{Path, Reason};
use adjunct_base::error::Error;
use adjunct_base::memory::{Shared, zeros};
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// The largest modulus served, in bytes (16384 bits).
pub const MAX_SIZE: usize = 2048;

/// The numbers of a key as big-endian bytes.
#[derive(Clone, Copy)]
pub struct Numbers<'a> {
    /// The modulus.
    pub n: &'a [u8],
    /// The public exponent.
    pub e: &'a [u8],
    /// The private exponent; `None` for a public key.
    pub d: Option<&'a [u8]>,
    /// The two primes and what goes with them; `None` where only `d` is known.
    pub crt: Option<Crt<'a>>,
}

opaque_debug!(Numbers<'_>);

/// The Chinese-remainder part of a private key of two primes.
#[derive(Clone, Copy)]
pub struct Crt<'a> {
    /// The first prime.
    pub p: &'a [u8],
    /// The second prime.
    pub q: &'a [u8],
    /// `d mod (p - 1)`.
    pub dp: &'a [u8],
    /// `d mod (q - 1)`.
    pub dq: &'a [u8],
    /// `q^-1 mod p`.
    pub qinv: &'a [u8],
}

opaque_debug!(Crt<'_>);

/// A number of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Part {
    N,
    E,
    D,
    P,
    Q,
    Dp,
    Dq,
    Qinv,
}

/// A key, public or private. Immutable; threads share it; a clone is another handle of the same numbers.
#[derive(Clone)]
pub struct CpuRsaKey {
    raw: library::AwsLcRsaKey,
    bits: usize,
    private: bool,
    /// Whether hardware or software raises to the two private exponents; `None` where private operations do not use the primes.
    by_primes: Option<Path>,
    /// Whether the number in the place of the private exponent is none, because only the two primes are known.
    no_d: bool,
    /// Blinding of a private key.
    blinding: Option<Shared<Blinding>>,
    /// Prepared forms of a private key, where there can be any.
    #[cfg(target_arch = "x86_64")]
    forms: Option<Shared<Forms>>,
}

opaque_debug!(CpuRsaKey);

/// How a private operation was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// How the operation ran.
    pub outcome: Outcome,
    /// The CRT values turned out not to belong to the key: it works by its private exponent only.
    pub wrong_crt: bool,
}

impl CpuRsaKey {
    /// Makes a key of its numbers. Cheap: no primality test. Checked is what later operations rely on: sizes, oddness, `n = pq` and reduced CRT
    /// values; what is wrong beyond that shows when each result is checked against `e`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for keys that OpenSSL may take but AWS-LC does not: modulus even, below 512 or above 16384
    /// bits; `e` even, below 3, not below `n`, or (RFC 8017 allows it, OpenSSL only up to 3072-bit moduli) above 64 bits;
    /// CRT values that do not belong to the modulus.
    pub fn new(numbers: &Numbers<'_>) -> Result<CpuRsaKey, Error> {
        let (n, e) = (Bn::new(numbers.n)?, Bn::new(numbers.e)?);
        let bits = n.bits();
        if !(512..=MAX_SIZE * 8).contains(&bits) || !n.is_odd() {
            return Err(Error::Unsupported("RSA modulus"));
        }
        if !e.is_odd() || e.bits() < 2 || !e.less_than(&n) || (bits > 3072 && e.bits() > 64) {
            return Err(Error::Unsupported("RSA public exponent"));
        }
        let d = numbers.d.map(Bn::new).transpose()?;
        if d.as_ref().is_some_and(|d| !d.less_than(&n) || d.bits() == 0) {
            return Err(Error::Unsupported("RSA private exponent"));
        }
        let mut key = CpuRsaKey::of(library::AwsLcRsaKey::new()?, bits);
        if d.is_some() {
            key.for_private()?;
        }
        if let (Some(crt), true) = (numbers.crt, key.private) {
            let (p, q) = (Bn::new(crt.p)?, Bn::new(crt.q)?);
            let (dp, dq, qinv) = (Bn::new(crt.dp)?, Bn::new(crt.dq)?, Bn::new(crt.qinv)?);
            let reduced = dp.less_than(&p) && dq.less_than(&q) && qinv.less_than(&p);
            if p.bits() < 2 || q.bits() < 2 || !reduced || !Ctx::new()?.product(&p, &q)?.equals(&n) {
                return Err(Error::Unsupported("RSA factors"));
            }
            // AWS-LC reduces by Montgomery's method, for which the primes must be of one width in words; for others it
            // takes the way without CRT.
            let one_width = p.bits().div_ceil(64) == q.bits().div_ceil(64);
            key.by_primes = one_width.then(|| choice::rsa_crt(p.bits(), q.bits()));
            key.raw.set_factors([p, q, dp, dq, qinv])?;
        }
        key.raw.set(n, e, d)?;
        Ok(key)
    }

    /// A private key without a private exponent (`d` is not looked at): it works by its two primes only.
    ///
    /// # Errors
    /// As for [`CpuRsaKey::new`]; [`Error::Unsupported`] also where AWS-LC would not use the primes.
    pub fn from_crt(numbers: &Numbers<'_>) -> Result<CpuRsaKey, Error> {
        // AWS-LC wants a number there, and reads it only where it does not use the primes.
        let mut key = CpuRsaKey::new(&Numbers { d: Some(&[1]), ..*numbers })?;
        key.no_d = true;
        if key.by_primes.is_some() { Ok(key) } else { Err(Error::Unsupported("RSA primes")) }
    }

    /// Whether [`CpuRsaKey::generate`] makes keys of this size and exponent: AWS-LC rounds sizes down to a multiple of 128 bits
    /// and takes exponents of at most 32 bits.
    pub fn generates(bits: usize, e: &[u8]) -> bool {
        let e = &e[e.iter().take_while(|&&b| b == 0).count()..];
        let odd = e.last().is_some_and(|&b| b & 1 == 1 && (e.len() > 1 || b > 1));
        (512..=MAX_SIZE * 8).contains(&bits) && bits.is_multiple_of(128) && e.len() <= 4 && odd
    }

    /// Generates a key of two primes, in lanes where there are any for its size, and returns which path made it. `report` is called at each step with
    /// the two numbers of `BN_GENCB`, and ends the search by returning `false`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`CpuRsaKey::generates`] is false; [`Error::Failed`] when told to end, and once in 2^80.
    pub fn generate(
        bits: usize,
        e: &[u8],
        mut report: Option<&mut dyn FnMut(i32, i32) -> bool>,
    ) -> Result<(CpuRsaKey, Outcome), Error> {
        if !CpuRsaKey::generates(bits, e) {
            return Err(Error::Unsupported("RSA key size"));
        }
        let mut tell = |step, number| report.as_mut().is_none_or(|report| report(step, number));
        if let Some((made, outcome)) = rsa_any::in_lanes(bits, e, &mut tell)? {
            let key = CpuRsaKey::new(&Numbers { n: &made.n, e, d: Some(&made.d), crt: Some(made.crt()) })?;
            key.try_once()?;
            return Ok((key, outcome));
        }
        CpuRsaKey::generate_by_library(bits, e, report).map(|key| (key, Outcome::Library))
    }

    /// Tries a new key by its primes, with the result raised to the public exponent again.
    fn try_once(&self) -> Result<(), Error> {
        let (mut input, mut out) = (zeros(self.size())?, zeros(self.size())?);
        // Half as long as the modulus, and below it.
        crate::random(&mut input[self.size() / 2..]);
        match self.private(&input, &mut out)? {
            Ran { wrong_crt: false, .. } if input != out => Ok(()),
            _ => Err(Error::Failed("RSA key generation")),
        }
    }

    fn generate_by_library(
        bits: usize,
        e: &[u8],
        report: Option<&mut dyn FnMut(i32, i32) -> bool>,
    ) -> Result<CpuRsaKey, Error> {
        let e = Bn::new(e)?;
        let mut key = CpuRsaKey::of(library::AwsLcRsaKey::new()?, bits);
        key.for_private()?;
        key.raw.generate(bits, &e, report)?;
        key.by_primes = Some(choice::rsa_crt(key.bits_of(Part::P), key.bits_of(Part::Q)));
        Ok(key)
    }

    /// Whether a big-endian number is prime, by the library's judgement.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub fn is_prime(number: &[u8]) -> bool {
        Ctx::new().and_then(|ctx| ctx.is_prime(&Bn::new(number)?)).unwrap()
    }

    /// Wraps a key that has no numbers yet.
    fn of(raw: library::AwsLcRsaKey, bits: usize) -> CpuRsaKey {
        CpuRsaKey {
            raw,
            bits,
            private: false,
            by_primes: None,
            no_d: false,
            blinding: None,
            #[cfg(target_arch = "x86_64")]
            forms: None,
        }
    }

    /// Makes the key a private one. Has private operations blinded here and not by AWS-LC, which still checks their results with `e`.
    fn for_private(&mut self) -> Result<(), Error> {
        self.private = true;
        self.blinding = Some(Shared::new(Blinding::new())?);
        #[cfg(target_arch = "x86_64")]
        {
            self.forms = Some(Shared::new(Forms::default())?);
        }
        self.raw.without_blinding();
        Ok(())
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The size of the modulus, a signature or a ciphertext in bytes.
    pub fn size(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Whether the key has its private exponent.
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Whether hardware or software runs private operations by the Chinese remainder theorem; `None` where they do not use the primes.
    pub fn by_primes(&self) -> Option<Path> {
        self.by_primes
    }

    /// Whether the key lacks a number, or has another in its place.
    fn lacks(&self, part: Part) -> bool {
        part == Part::D && self.no_d
    }

    /// A number of the key as big-endian bytes without leading zeros; `None` where the key lacks it.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn number(&self, part: Part) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        let Some(bits) = self.raw.bits_of(part).filter(|_| !self.lacks(part)) else { return Ok(None) };
        let mut out = zeros(bits.div_ceil(8))?;
        self.raw.write(part, &mut out);
        Ok(Some(out))
    }

    /// The size of a number in bits; 0 where the key lacks it.
    pub fn bits_of(&self, part: Part) -> usize {
        self.raw.bits_of(part).filter(|_| !self.lacks(part)).unwrap_or(0)
    }

    /// Whether two keys have the same number there; both lacking it counts as different.
    pub fn same(&self, other: &CpuRsaKey, part: Part) -> bool {
        !self.lacks(part) && !other.lacks(part) && self.raw.same(&other.raw, part)
    }

    /// The public half.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] out of AWS-LC's.
    pub fn to_public(&self) -> Result<CpuRsaKey, Error> {
        let (n, e) = (self.number(Part::N)?.unwrap_or_default(), self.number(Part::E)?.unwrap_or_default());
        CpuRsaKey::new(&Numbers { n: &n, e: &e, d: None, crt: None })
    }

    /// `input^e mod n`: verification and encryption. Both buffers have [`CpuRsaKey::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] where they do not, [`Error::Unsupported`] where `input` is not below the modulus.
    pub fn public(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.check_lengths(input, out)?;
        if self.raw.public(input, out) { Ok(()) } else { Err(Error::Unsupported("RSA input above the modulus")) }
    }

    /// `input^d mod n`, checked with `e`, by our kernel for keys of its sizes, else by AWS-LC and blinded: signing and decryption. Both buffers have [`CpuRsaKey::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] where they do not, [`Error::Unsupported`] where `input` is not below the modulus,
    /// [`Error::InvalidKey`] without a private exponent or with one that does not belong to `e`, [`Error::Memory`].
    pub fn private(&self, input: &[u8], out: &mut [u8]) -> Result<Ran, Error> {
        self.check_lengths(input, out)?;
        if !self.private {
            return Err(Error::InvalidKey("no private exponent"));
        }
        let hardware = self.by_primes == Some(Path::Hardware);
        #[cfg(target_arch = "x86_64")]
        if hardware && self.forms().is_some_and(|forms| forms.private(self, input, out)) {
            return Ok(Ran { outcome: Outcome::Instructions, wrong_crt: false });
        }
        if self.run_private(input, out)? {
            let outcome = if hardware { Outcome::Instructions } else { Outcome::Library };
            return Ok(Ran { outcome, wrong_crt: false });
        }
        let ran = self.private_after_all(input, out).inspect_err(|_| out.fill(0))?;
        #[cfg(target_arch = "x86_64")]
        if let Some(forms) = self.forms().filter(|_| ran.wrong_crt) {
            forms.note_wrong_crt();
        }
        Ok(ran)
    }

    /// The key as the kernels take it.
    #[cfg(target_arch = "x86_64")]
    pub fn forms(&self) -> Option<&Forms> {
        self.forms.as_deref()
    }

    /// Whether private operations have found that the CRT values do not belong to the key.
    pub fn has_wrong_crt(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.forms().is_some_and(Forms::has_wrong_crt);
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Whether `out` raised to the public exponent is `input`, both as long as the modulus; `None` where that is not known without AWS-LC.
    #[cfg(target_arch = "x86_64")]
    pub fn is_right(&self, input: &[u8], out: &[u8]) -> Option<bool> {
        self.forms()?.is_right(self, input, out)
    }

    /// Does in software a private operation that [`CpuRsaKey::run_private`] has refused, whatever the sizes of the key's primes.
    fn private_after_all(&self, input: &[u8], out: &mut [u8]) -> Result<Ran, Error> {
        let software = |wrong_crt| Ran { outcome: Outcome::Software(Reason::Parameter), wrong_crt };
        let n = self.number(Part::N)?.unwrap_or_default();
        if input >= &n[..] {
            return Err(Error::Unsupported("RSA input above the modulus"));
        }
        // 0, 1 and n - 1 are their own powers (d is odd). AWS-LC refuses them because no padding makes them.
        let (last, front) = (input[input.len() - 1], &input[..input.len() - 1]);
        let tiny = last <= 1 && front.iter().all(|&b| b == 0);
        if tiny || (front == &n[..front.len()] && last == n[front.len()] - 1) {
            out.copy_from_slice(input);
            return Ok(software(false));
        }
        // A key whose CRT values are wrong still signs in OpenSSL, by way of d; here too, and checked as ever.
        if self.by_primes.is_some() && !self.no_d {
            let (e, d) = (self.number(Part::E)?.unwrap_or_default(), self.number(Part::D)?.unwrap_or_default());
            let plain = CpuRsaKey::new(&Numbers { n: &n, e: &e, d: Some(&d), crt: None })?;
            if plain.run_private(input, out)? {
                return Ok(software(true));
            }
        }
        Err(Error::InvalidKey("private exponent"))
    }

    /// False where AWS-LC refuses it: the input, or a result that `e` does not make the input of again.
    fn run_private(&self, input: &[u8], out: &mut [u8]) -> Result<bool, Error> {
        let Some(blinding) = &self.blinding else { return Err(Error::InvalidKey("no private exponent")) };
        let number = |part| Bn::new(&self.number(part)?.unwrap_or_default());
        blinding.run(|| number(Part::N), || number(Part::E), input, out, |input, out| self.raw.private(input, out))
    }

    fn check_lengths(&self, input: &[u8], out: &[u8]) -> Result<(), Error> {
        let size = self.size();
        match [input.len(), out.len()].into_iter().find(|&l| l != size) {
            Some(got) => Err(Error::Length { what: "RSA block", got, expected: "the modulus's" }),
            None => Ok(()),
        }
    }
}
