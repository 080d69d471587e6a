//! Numbers of any size, as AWS-LC's own RSA uses them: wiped when they are freed, and, but where it says "public", without a
//! branch or an index that depends on their value. How long a number is, in words, is no secret.

// AWS-LC's public functions lack a division and an inverse in constant time.
use super::private;
use adjunct_base::error::Error;
use adjunct_base::memory::zeros;
use aws_lc_sys as sys;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use zeroize::Zeroizing;

/// Forgets what AWS-LC noted about a failure; its callers here have errors of their own.
#[cold]
pub(crate) fn clear_errors() {
    // SAFETY: the queue is this thread's.
    unsafe { sys::ERR_clear_error() }
}

/// The error of a call that can only fail where memory is short.
#[cold]
pub(crate) fn no_memory() -> Error {
    clear_errors();
    Error::Memory
}

/// The result of a function of AWS-LC.
fn check(done: c_int, what: &'static str) -> Result<(), Error> {
    if done == 1 {
        return Ok(());
    }
    clear_errors();
    Err(Error::Failed(what))
}

/// Big-endian bytes without the zeros in front: for what has a public length.
pub(crate) fn trim(number: &[u8]) -> &[u8] {
    &number[number.iter().take_while(|&&b| b == 0).count()..]
}

/// A number, wiped and freed on every way out.
#[derive(Debug)]
pub(crate) struct Bn(*mut sys::BIGNUM);

// SAFETY: nothing of a number belongs to a thread, and what is shared is only read.
unsafe impl Send for Bn {}
// SAFETY: nothing of a number belongs to a thread, and one that is shared is only read.
unsafe impl Sync for Bn {}

impl Drop for Bn {
    fn drop(&mut self) {
        // SAFETY: made by AWS-LC, freed once; null is fine.
        unsafe { sys::BN_clear_free(self.0) }
    }
}

impl Bn {
    /// Makes a number of big-endian bytes, as wide as these are, zeros in front included.
    pub(crate) fn new(bytes: &[u8]) -> Result<Bn, Error> {
        // SAFETY: the pointer and length describe the slice.
        let raw = unsafe { sys::BN_bin2bn(bytes.as_ptr(), bytes.len(), null_mut()) };
        if raw.is_null() { Err(no_memory()) } else { Ok(Bn(raw)) }
    }

    /// A random odd number of exactly `bits` bits, the two highest set.
    pub(crate) fn odd(bits: usize) -> Result<Bn, Error> {
        let number = Bn::new(&[])?;
        // SAFETY: a live number.
        let done = unsafe { sys::BN_rand(number.0, bits as c_int, sys::BN_RAND_TOP_TWO, sys::BN_RAND_BOTTOM_ODD) };
        check(done, "random number").map(|()| number)
    }

    /// Whether a small prime divides this odd number, and is not the number itself. Such a number is no secret.
    pub(crate) fn is_obviously_composite(&self) -> bool {
        // SAFETY: a live number.
        unsafe { private::bn_odd_number_is_obviously_composite(self.0) == 1 }
    }

    /// AWS-LC's.
    pub(crate) fn raw(&self) -> *const sys::BIGNUM {
        self.0
    }

    pub(crate) fn bits(&self) -> usize {
        // SAFETY: a live number.
        unsafe { sys::BN_num_bits(self.0) as usize }
    }

    pub(crate) fn is_odd(&self) -> bool {
        // SAFETY: a live number.
        unsafe { sys::BN_is_odd(self.0) == 1 }
    }

    pub(crate) fn is_one(&self) -> bool {
        // SAFETY: a live number.
        unsafe { sys::BN_is_one(self.0) == 1 }
    }

    /// Whether `self < other`; BN_cmp takes the same time for any values of the same sizes.
    pub(crate) fn less_than(&self, other: &Bn) -> bool {
        // SAFETY: live numbers.
        unsafe { sys::BN_cmp(self.0, other.0) < 0 }
    }

    pub(crate) fn equals(&self, other: &Bn) -> bool {
        // SAFETY: live numbers.
        unsafe { sys::BN_equal_consttime(self.0, other.0) == 1 }
    }

    /// One less than an odd number.
    pub(crate) fn minus_one(&self) -> Result<Bn, Error> {
        // SAFETY: a live number; null is caught below.
        let less = Bn(unsafe { sys::BN_dup(self.0) });
        if less.0.is_null() {
            return Err(no_memory());
        }
        // SAFETY: a live number.
        check(unsafe { sys::BN_sub_word(less.0, 1) }, "BN_sub_word").map(|()| less)
    }

    /// Big-endian, with zeros in front up to `out`'s length.
    pub(crate) fn write(&self, out: &mut [u8]) -> Result<(), Error> {
        // SAFETY: the pointer and length describe the slice.
        check(unsafe { sys::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), self.0) }, "BN_bn2bin_padded")
    }

    /// Big-endian, `length` bytes.
    pub(crate) fn bytes(&self, length: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut bytes = zeros(length)?;
        self.write(&mut bytes).map(|()| bytes)
    }

    /// Gives the number away.
    pub(crate) fn give(self) -> *mut sys::BIGNUM {
        std::mem::ManuallyDrop::new(self).0
    }
}

/// Working memory of AWS-LC's arithmetic.
pub(crate) struct Ctx(*mut sys::BN_CTX);

impl Drop for Ctx {
    fn drop(&mut self) {
        // SAFETY: made by AWS-LC, freed once.
        unsafe { sys::BN_CTX_free(self.0) }
    }
}

impl Ctx {
    pub(crate) fn new() -> Result<Ctx, Error> {
        // SAFETY: allocates or returns null.
        let raw = unsafe { sys::BN_CTX_new() };
        if raw.is_null() { Err(no_memory()) } else { Ok(Ctx(raw)) }
    }

    pub(crate) fn product(&self, a: &Bn, b: &Bn) -> Result<Bn, Error> {
        let product = Bn::new(&[])?;
        // SAFETY: live numbers, and a context of this thread's.
        check(unsafe { private::bn_mul_consttime(product.0, a.0, b.0, self.0) }, "multiplication").map(|()| product)
    }

    pub(crate) fn sum(&self, a: &Bn, b: &Bn) -> Result<Bn, Error> {
        let sum = Bn::new(&[])?;
        // SAFETY: live numbers.
        check(unsafe { private::bn_uadd_consttime(sum.0, a.0, b.0) }, "addition").map(|()| sum)
    }

    /// `a mod m`. The length of `m` in bits is public.
    pub(crate) fn remainder(&self, a: &Bn, m: &Bn) -> Result<Bn, Error> {
        let rest = Bn::new(&[])?;
        // SAFETY: live numbers, and a context of this thread's; no quotient is asked for.
        let done = unsafe { private::bn_div_consttime(null_mut(), rest.0, a.0, m.0, m.bits() as c_uint, self.0) };
        check(done, "division").map(|()| rest)
    }

    /// `a / m`, rounded down. The length of `m` in bits is public.
    pub(crate) fn quotient(&self, a: &Bn, m: &Bn) -> Result<Bn, Error> {
        let (quotient, rest) = (Bn::new(&[])?, Bn::new(&[])?);
        // SAFETY: live numbers, and a context of this thread's.
        let done = unsafe { private::bn_div_consttime(quotient.0, rest.0, a.0, m.0, m.bits() as c_uint, self.0) };
        check(done, "division").map(|()| quotient)
    }

    /// `a - b mod m`, both below `m`.
    pub(crate) fn difference(&self, a: &Bn, b: &Bn, m: &Bn) -> Result<Bn, Error> {
        let rest = Bn::new(&[])?;
        // SAFETY: live numbers, and a context of this thread's.
        check(unsafe { private::bn_mod_sub_consttime(rest.0, a.0, b.0, m.0, self.0) }, "subtraction").map(|()| rest)
    }

    /// `1/a mod m`, `a` below `m`; `None` if there is no inverse.
    pub(crate) fn inverse(&self, a: &Bn, m: &Bn) -> Result<Option<Bn>, Error> {
        let (inverse, mut none) = (Bn::new(&[])?, 0);
        // SAFETY: live numbers, and a context of this thread's.
        let done = unsafe { private::bn_mod_inverse_consttime(inverse.0, &mut none, a.0, m.0, self.0) };
        if none == 1 {
            clear_errors();
            return Ok(None);
        }
        check(done, "inversion").map(|()| Some(inverse))
    }

    pub(crate) fn coprime(&self, a: &Bn, b: &Bn) -> Result<bool, Error> {
        let mut coprime = 0;
        // SAFETY: live numbers, and a context of this thread's.
        check(unsafe { private::bn_is_relatively_prime(&mut coprime, a.0, b.0, self.0) }, "greatest common divisor")?;
        Ok(coprime == 1)
    }

    /// Whether a number is prime, by as many rounds as FIPS 186-4 asks for. A prime is secret; a number that is none must have been
    /// drawn by itself, for it is not.
    pub(crate) fn is_prime(&self, number: &Bn) -> Result<bool, Error> {
        let mut prime = 0;
        let rounds = sys::BN_prime_checks_for_generation;
        // SAFETY: a live number, and a context of this thread's; nobody is told of the steps.
        let done = unsafe { sys::BN_primality_test(&mut prime, number.0, rounds, self.0, 0, null_mut()) };
        check(done, "primality test").map(|()| prime == 1)
    }

    /// The least common multiple.
    pub(crate) fn multiple(&self, a: &Bn, b: &Bn) -> Result<Bn, Error> {
        let multiple = Bn::new(&[])?;
        // SAFETY: live numbers, and a context of this thread's.
        check(unsafe { private::bn_lcm_consttime(multiple.0, a.0, b.0, self.0) }, "least common multiple")
            .map(|()| multiple)
    }
}

/// An odd modulus and what Montgomery's multiplication needs of it.
#[derive(Debug)]
pub(crate) struct Modulus {
    /// The number.
    pub(crate) m: Bn,
    montgomery: *mut sys::BN_MONT_CTX,
}

// SAFETY: only read once it is made.
unsafe impl Send for Modulus {}
// SAFETY: a modulus is only read once it is made, so threads may share it.
unsafe impl Sync for Modulus {}

impl Drop for Modulus {
    fn drop(&mut self) {
        // SAFETY: made by AWS-LC, freed once; what it frees is wiped.
        unsafe { sys::BN_MONT_CTX_free(self.montgomery) }
    }
}

impl Modulus {
    /// A modulus that is secret, of public length.
    pub(crate) fn secret(m: Bn, ctx: &Ctx) -> Result<Modulus, Error> {
        // SAFETY: a live number, and a context of this thread's.
        let montgomery = unsafe { sys::BN_MONT_CTX_new_consttime(m.0, ctx.0) };
        Modulus::of(m, montgomery)
    }

    /// A public modulus.
    pub(crate) fn public(m: Bn, ctx: &Ctx) -> Result<Modulus, Error> {
        // SAFETY: a live number, and a context of this thread's.
        let montgomery = unsafe { sys::BN_MONT_CTX_new_for_modulus(m.0, ctx.0) };
        Modulus::of(m, montgomery)
    }

    fn of(m: Bn, montgomery: *mut sys::BN_MONT_CTX) -> Result<Modulus, Error> {
        if montgomery.is_null() {
            clear_errors();
            return Err(Error::InvalidKey("modulus"));
        }
        Ok(Modulus { m, montgomery })
    }

    /// `base^exponent`, all secret; `base` below the modulus.
    pub(crate) fn power(&self, base: &Bn, exponent: &Bn, ctx: &Ctx) -> Result<Bn, Error> {
        let power = Bn::new(&[])?;
        // SAFETY: live numbers, the modulus's constants, and a context of this thread's.
        let done =
            unsafe { sys::BN_mod_exp_mont_consttime(power.0, base.0, exponent.0, self.m.0, ctx.0, self.montgomery) };
        check(done, "exponentiation").map(|()| power)
    }

    /// `base^exponent`, with an exponent that is public; `base` below the modulus.
    pub(crate) fn public_power(&self, base: &Bn, exponent: &Bn, ctx: &Ctx) -> Result<Bn, Error> {
        let power = Bn::new(&[])?;
        // SAFETY: live numbers, the modulus's constants, and a context of this thread's.
        let done = unsafe { sys::BN_mod_exp_mont(power.0, base.0, exponent.0, self.m.0, ctx.0, self.montgomery) };
        check(done, "exponentiation").map(|()| power)
    }

    /// A random number above 0 and below the modulus.
    pub(crate) fn random(&self) -> Result<Bn, Error> {
        let number = Bn::new(&[])?;
        // SAFETY: live numbers.
        let done = unsafe { sys::BN_rand_range_ex(number.0, 1, self.m.0) };
        check(done, "random number").map(|()| number)
    }

    /// `a * b / R` modulo the modulus, both below it and secret; R is the constant of Montgomery's method.
    pub(crate) fn times(&self, a: &Bn, b: &Bn, ctx: &Ctx) -> Result<Bn, Error> {
        let product = Bn::new(&[])?;
        // SAFETY: live numbers, the modulus's constants, and a context of this thread's.
        let done = unsafe { sys::BN_mod_mul_montgomery(product.0, a.0, b.0, self.montgomery, ctx.0) };
        check(done, "multiplication").map(|()| product)
    }

    /// `a * R` modulo the modulus.
    pub(crate) fn encode(&self, a: &Bn, ctx: &Ctx) -> Result<Bn, Error> {
        let encoded = Bn::new(&[])?;
        // SAFETY: live numbers, the modulus's constants, and a context of this thread's.
        let done = unsafe { sys::BN_to_montgomery(encoded.0, a.0, self.montgomery, ctx.0) };
        check(done, "multiplication").map(|()| encoded)
    }
}
