//! PCC's and KDSA's public-key functions over AWS-LC's big numbers and curves.

use super::hash;
use adjunct_kernels::cpacf::Instruction;
use aws_lc_sys as lc;
use std::ptr::null_mut;

/// A number; never freed too early, and not at all where a test fails.
struct Number(*mut lc::BIGNUM);

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: made by the library, for us alone.
        unsafe { lc::BN_free(self.0) }
    }
}

type Operation = unsafe extern "C" fn(
    *mut lc::BIGNUM,
    *const lc::BIGNUM,
    *const lc::BIGNUM,
    *const lc::BIGNUM,
    *mut lc::BN_CTX,
) -> i32;

/// Room for intermediate results.
struct BnContext(*mut lc::BN_CTX);

impl Drop for BnContext {
    fn drop(&mut self) {
        // SAFETY: made by the library, for this thread alone, which ends.
        unsafe { lc::BN_CTX_free(self.0) }
    }
}

thread_local! {
    // SAFETY: a plain constructor.
    static CONTEXT: BnContext = BnContext(unsafe { lc::BN_CTX_new() });
}

fn context() -> *mut lc::BN_CTX {
    CONTEXT.with(|context| context.0)
}

impl Number {
    fn new() -> Number {
        // SAFETY: a plain constructor.
        Number(unsafe { lc::BN_new() })
    }

    fn of(bytes: &[u8]) -> Number {
        // SAFETY: pointer and length describe the slice.
        Number(unsafe { lc::BN_bin2bn(bytes.as_ptr(), bytes.len(), null_mut()) })
    }

    fn little(bytes: &[u8]) -> Number {
        Number::of(&bytes.iter().rev().copied().collect::<Vec<_>>())
    }

    fn small(value: u64) -> Number {
        Number::of(&value.to_be_bytes())
    }

    fn hex(text: &str) -> Number {
        Number::of(
            &text
                .as_bytes()
                .chunks(2)
                .map(|c| u8::from_str_radix(std::str::from_utf8(c).expect("ASCII"), 16).expect("hex"))
                .collect::<Vec<_>>(),
        )
    }

    fn put(&self, out: &mut [u8]) {
        // SAFETY: pointer and length describe the slice.
        assert_eq!(unsafe { lc::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), self.0) }, 1);
    }

    fn put_little(&self, out: &mut [u8]) {
        self.put(out);
        out.reverse();
    }

    fn modular(&self, operation: Operation, other: &Number, modulus: &Number) -> Number {
        let result = Number::new();
        // SAFETY: live numbers.
        assert_eq!(unsafe { operation(result.0, self.0, other.0, modulus.0, context()) }, 1);
        result
    }

    fn mul(&self, other: &Number, modulus: &Number) -> Number {
        self.modular(lc::BN_mod_mul, other, modulus)
    }

    fn add(&self, other: &Number, modulus: &Number) -> Number {
        self.modular(lc::BN_mod_add, other, modulus)
    }

    fn sub(&self, other: &Number, modulus: &Number) -> Number {
        self.modular(lc::BN_mod_sub, other, modulus)
    }

    fn power(&self, exponent: &Number, modulus: &Number) -> Number {
        self.modular(lc::BN_mod_exp, exponent, modulus)
    }

    /// Modulo a prime.
    fn inverse(&self, prime: &Number) -> Number {
        let exponent = Number::new();
        // SAFETY: live numbers.
        assert_eq!(unsafe { lc::BN_sub(exponent.0, prime.0, Number::small(2).0) }, 1);
        self.power(&exponent, prime)
    }

    fn bit(&self, index: usize) -> bool {
        // SAFETY: a live number.
        unsafe { lc::BN_is_bit_set(self.0, index as i32) == 1 }
    }

    fn is_zero(&self) -> bool {
        // SAFETY: a live number.
        unsafe { lc::BN_is_zero(self.0) == 1 }
    }

    fn below(&self, other: &Number) -> bool {
        // SAFETY: live numbers.
        unsafe { lc::BN_cmp(self.0, other.0) < 0 }
    }

    fn equals(&self, other: &Number) -> bool {
        // SAFETY: live numbers.
        unsafe { lc::BN_cmp(self.0, other.0) == 0 }
    }
}

/// Runs a function on its block; the condition code.
pub fn run(instruction: Instruction, code: u8, modifier: bool, page: &mut [u8], message: &[u8]) -> u8 {
    match (instruction, code) {
        (Instruction::Pcc, 64..=66) => multiply(code - 64, page),
        (Instruction::Pcc, 72 | 73) => edwards(code == 73, page),
        (Instruction::Pcc, _) => montgomery(code == 81, page),
        (_, 1..=3) => verify(code - 1, page),
        (_, 9..=11) => sign(code - 9, modifier, page),
        (_, 32 | 36) => eddsa_verify(code == 36, page, message),
        _ => eddsa_sign(code == 44, page, message),
    }
}

fn nist(curve: u8) -> (*const lc::EC_GROUP, usize) {
    // SAFETY: immutable statics.
    unsafe {
        match curve {
            0 => (lc::EC_group_p256(), 32),
            1 => (lc::EC_group_p384(), 48),
            _ => (lc::EC_group_p521(), 80),
        }
    }
}

fn order(curve: u8) -> Number {
    let order = Number::new();
    // SAFETY: a group and a number.
    assert_eq!(unsafe { lc::EC_GROUP_get_order(nist(curve).0, order.0, null_mut()) }, 1);
    order
}

fn field(page: &[u8], width: usize, index: usize) -> Number {
    Number::of(&page[width * index..][..width])
}

fn put(page: &mut [u8], width: usize, index: usize, number: &Number) {
    number.put(&mut page[width * index..][..width]);
}

/// base * G + scalar * (x, y), either of which may be missing: its coordinates, `None` for infinity or what is no point.
fn combine(curve: u8, base: Option<&Number>, point: Option<(&Number, &Number, &Number)>) -> Option<(Number, Number)> {
    let group = nist(curve).0;
    // SAFETY: live objects of one group, freed at the end.
    unsafe {
        let points = [lc::EC_POINT_new(group), lc::EC_POINT_new(group)];
        let [result, given] = points;
        let (x, y) = (Number::new(), Number::new());
        let right = point
            .as_ref()
            .is_none_or(|(_, x, y)| lc::EC_POINT_set_affine_coordinates_GFp(group, given, x.0, y.0, context()) == 1);
        let null = (std::ptr::null(), std::ptr::null());
        let (given, scalar) = point.map_or(null, |(scalar, _, _)| (given.cast_const(), scalar.0.cast_const()));
        let base = base.map_or(std::ptr::null(), |base| base.0.cast_const());
        let done = right
            && lc::EC_POINT_mul(group, result, base, given, scalar, context()) == 1
            && lc::EC_POINT_get_affine_coordinates_GFp(group, result, x.0, y.0, context()) == 1;
        lc::ERR_clear_error();
        points.into_iter().for_each(|point| lc::EC_POINT_free(point));
        done.then_some((x, y))
    }
}

fn multiply(curve: u8, page: &mut [u8]) -> u8 {
    let width = nist(curve).1;
    let [x, y, scalar] = [2, 3, 4].map(|i| field(page, width, i));
    let Some((x, y)) = combine(curve, None, Some((&scalar, &x, &y))) else {
        return 2;
    };
    put(page, width, 0, &x);
    put(page, width, 1, &y);
    0
}

fn sign(curve: u8, given: bool, page: &mut [u8]) -> u8 {
    assert!(given, "nonces are the caller's");
    let (width, n) = (nist(curve).1, order(curve));
    let [digest, private, nonce] = [2, 3, 4].map(|i| field(page, width, i));
    if [&private, &nonce].iter().any(|number| number.is_zero() || !number.below(&n)) {
        return 2;
    }
    let zero = Number::small(0);
    let (x, _) = combine(curve, Some(&nonce), None).expect("a point");
    let r = x.add(&zero, &n);
    let s = r.mul(&private, &n).add(&digest, &n).mul(&nonce.inverse(&n), &n);
    put(page, width, 0, &r);
    put(page, width, 1, &s);
    0
}

fn verify(curve: u8, page: &mut [u8]) -> u8 {
    let (width, n) = (nist(curve).1, order(curve));
    let [r, s, digest, x, y] = [0, 1, 2, 3, 4].map(|i| field(page, width, i));
    if [&r, &s].iter().any(|number| number.is_zero() || !number.below(&n)) {
        return 2;
    }
    let inverse = s.inverse(&n);
    let (u1, u2) = (digest.mul(&inverse, &n), r.mul(&inverse, &n));
    let found = combine(curve, Some(&u1), Some((&u2, &x, &y)));
    let good = found.is_some_and(|(x, _)| x.add(&Number::small(0), &n).equals(&r));
    if good { 0 } else { 2 }
}

fn prime(large: bool) -> Number {
    match large {
        false => Number::hex("7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffed"),
        true => Number::hex(
            "fffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        ),
    }
}

/// RFC 7748, 5.
fn montgomery(large: bool, page: &mut [u8]) -> u8 {
    let (width, length) = if large { (64, 56) } else { (32, 32) };
    let p = prime(large);
    let (u, k) = (field(page, width, 1), field(page, width, 2));
    // The instruction takes the scalar as it is.
    let fixed = match large {
        false => !k.bit(0) && !k.bit(1) && !k.bit(2) && k.bit(254) && !k.bit(255) && !u.bit(255),
        true => !k.bit(0) && !k.bit(1) && k.bit(447),
    };
    assert!(fixed, "the bits of RFC 7748");
    let a24 = Number::small(if large { 39081 } else { 121665 });
    let (zero, one) = (Number::small(0), Number::small(1));
    let x1 = u.add(&zero, &p);
    let (mut x2, mut z2, mut x3, mut z3) = (one.add(&zero, &p), zero.add(&zero, &p), x1.add(&zero, &p), one);
    for t in (0..length * 8).rev() {
        if k.bit(t) {
            std::mem::swap(&mut x2, &mut x3);
            std::mem::swap(&mut z2, &mut z3);
        }
        let (a, b) = (x2.add(&z2, &p), x2.sub(&z2, &p));
        let (aa, bb) = (a.mul(&a, &p), b.mul(&b, &p));
        let e = aa.sub(&bb, &p);
        let (da, cb) = (x3.sub(&z3, &p).mul(&a, &p), x3.add(&z3, &p).mul(&b, &p));
        let (sum, difference) = (da.add(&cb, &p), da.sub(&cb, &p));
        x3 = sum.mul(&sum, &p);
        z3 = difference.mul(&difference, &p).mul(&x1, &p);
        x2 = aa.mul(&bb, &p);
        z2 = aa.add(&a24.mul(&e, &p), &p).mul(&e, &p);
        if k.bit(t) {
            std::mem::swap(&mut x2, &mut x3);
            std::mem::swap(&mut z2, &mut z3);
        }
    }
    put(page, width, 0, &x2.mul(&z2.inverse(&p), &p));
    0
}

/// A twisted Edwards curve a x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032).
struct Curve {
    p: Number,
    a: Number,
    d: Number,
}

impl Curve {
    fn new(large: bool) -> Curve {
        let (p, zero) = (prime(large), Number::small(0));
        let minus = |number: &Number| zero.sub(number, &p);
        let (a, d) = match large {
            false => {
                (minus(&Number::small(1)), minus(&Number::small(121665).mul(&Number::small(121666).inverse(&p), &p)))
            }
            true => (Number::small(1), minus(&Number::small(39081))),
        };
        Curve { a, d, p }
    }

    fn has(&self, x: &Number, y: &Number) -> bool {
        let p = &self.p;
        let (xx, yy) = (x.mul(x, p), y.mul(y, p));
        let right = Number::small(1).add(&self.d.mul(&xx, p).mul(&yy, p), p);
        self.a.mul(&xx, p).add(&yy, p).equals(&right)
    }

    fn sum(&self, left: (&Number, &Number), right: (&Number, &Number)) -> (Number, Number) {
        self.affine(&self.add(&self.point(left), &self.point(right)))
    }

    fn multiply(&self, scalar: &Number, point: (&Number, &Number)) -> (Number, Number) {
        let (base, one) = (self.point(point), Number::small(1));
        let mut result = self.point((&Number::small(0), &one));
        for i in (0..456).rev() {
            result = self.add(&result, &result);
            if scalar.bit(i) {
                result = self.add(&result, &base);
            }
        }
        self.affine(&result)
    }

    /// A point as (X, Y, Z) with x = X / Z and y = Y / Z: sums without inverses.
    fn point(&self, (x, y): (&Number, &Number)) -> [Number; 3] {
        let zero = Number::small(0);
        [x.add(&zero, &self.p), y.add(&zero, &self.p), Number::small(1)]
    }

    fn affine(&self, [x, y, z]: &[Number; 3]) -> (Number, Number) {
        let inverse = z.inverse(&self.p);
        (x.mul(&inverse, &self.p), y.mul(&inverse, &self.p))
    }

    /// The sum of any two points, also of one and itself.
    fn add(&self, [x1, y1, z1]: &[Number; 3], [x2, y2, z2]: &[Number; 3]) -> [Number; 3] {
        let p = &self.p;
        let (xx, yy, zz) = (x1.mul(x2, p), y1.mul(y2, p), z1.mul(z2, p));
        let (square, both) = (zz.mul(&zz, p), self.d.mul(&xx, p).mul(&yy, p));
        let (less, more) = (square.sub(&both, p), square.add(&both, p));
        let crossed = x1.mul(y2, p).add(&x2.mul(y1, p), p);
        let straight = yy.sub(&self.a.mul(&xx, p), p);
        [zz.mul(&less, p).mul(&crossed, p), zz.mul(&more, p).mul(&straight, p), less.mul(&more, p)]
    }
}

fn edwards(large: bool, page: &mut [u8]) -> u8 {
    let width = if large { 64 } else { 32 };
    let curve = Curve::new(large);
    let [x, y, scalar] = [2, 3, 4].map(|i| field(page, width, i));
    if !curve.has(&x, &y) {
        return 2;
    }
    let (x, y) = curve.multiply(&scalar, (&x, &y));
    put(page, width, 0, &x);
    put(page, width, 1, &y);
    0
}

fn reversed(page: &mut [u8], width: usize, index: usize, number: &[u8]) {
    let end = width * (index + 1);
    page[width * index..end - number.len()].fill(0);
    page[end - number.len()..end].iter_mut().zip(number.iter().rev()).for_each(|(to, from)| *to = *from);
}

fn straight(page: &[u8], width: usize, index: usize, length: usize) -> Vec<u8> {
    page[width * (index + 1) - length..width * (index + 1)].iter().rev().copied().collect()
}

fn eddsa_sign(large: bool, page: &mut [u8], message: &[u8]) -> u8 {
    if large {
        let private = page[128 + 7..192].to_vec();
        let signature = ed448::sign(&private, message);
        reversed(page, 64, 0, &signature[..57]);
        reversed(page, 64, 1, &signature[57..]);
        return 0;
    }
    let (mut public, mut private, mut signature) = ([0; 32], [0; 64], [0; 64]);
    // SAFETY: arrays of the lengths the functions take.
    unsafe {
        lc::ED25519_keypair_from_seed(public.as_mut_ptr(), private.as_mut_ptr(), page[64..].as_ptr());
        assert_eq!(lc::ED25519_sign(signature.as_mut_ptr(), message.as_ptr(), message.len(), private.as_ptr()), 1);
    }
    reversed(page, 32, 0, &signature[..32]);
    reversed(page, 32, 1, &signature[32..]);
    0
}

fn eddsa_verify(large: bool, page: &mut [u8], message: &[u8]) -> u8 {
    let (width, length) = if large { (64, 57) } else { (32, 32) };
    let [r, s, public] = [0, 1, 2].map(|i| straight(page, width, i, length));
    let signature = [r, s].concat();
    let good = match large {
        // SAFETY: arrays of the lengths the function takes.
        false => unsafe {
            lc::ED25519_verify(message.as_ptr(), message.len(), signature.as_ptr(), public.as_ptr()) == 1
        },
        true => ed448::verify(&public, message, &signature),
    };
    if good { 0 } else { 2 }
}

/// RFC 8032, 5.2.
mod ed448 {
    use super::*;

    const DOMAIN: &[u8] = b"SigEd448\0\0";

    fn order() -> Number {
        Number::hex(
            "3fffffffffffffffffffffffffffffffffffffffffffffffffffffff7cca23e9c44edb49aed63690216cc2728dc58f552378c292ab5844f3",
        )
    }

    fn base() -> (Number, Number) {
        (
            Number::hex(
                "4f1970c66bed0ded221d15a622bf36da9e146570470f1767ea6de324a3d3a46412ae1af72ab66511433b80e18b00938e2626a82bc70cc05e",
            ),
            Number::hex(
                "693f46716eb6bc248876203756c9c7624bea73736ca3984087789c1e05a0c2d73ad3ff1ce67c39c4fdbd132c4ed7c8ad9808795bf230fa14",
            ),
        )
    }

    fn encode((x, y): &(Number, Number)) -> [u8; 57] {
        let mut out = [0; 57];
        y.put_little(&mut out);
        out[56] |= u8::from(x.bit(0)) << 7;
        out
    }

    fn hash(parts: &[&[u8]]) -> Number {
        let mut out = [0; 114];
        hash::shake256(&[&[DOMAIN], parts].concat(), &mut out);
        Number::little(&out)
    }

    pub fn sign(private: &[u8], message: &[u8]) -> Vec<u8> {
        let (curve, n, base) = (Curve::new(true), order(), base());
        let mut expanded = [0; 114];
        hash::shake256(&[private], &mut expanded);
        let (scalar, prefix) = expanded.split_at_mut(57);
        scalar[0] &= 252;
        scalar[55] |= 128;
        scalar[56] = 0;
        let scalar = Number::little(scalar);
        let public = encode(&curve.multiply(&scalar, (&base.0, &base.1)));
        let r = hash(&[prefix, message]).add(&Number::small(0), &n);
        let point = encode(&curve.multiply(&r, (&base.0, &base.1)));
        let k = hash(&[&point, &public, message]);
        let s = k.mul(&scalar, &n).add(&r, &n);
        let mut signature = [point, [0; 57]].concat();
        s.put_little(&mut signature[57..]);
        signature
    }

    fn decode(curve: &Curve, public: &[u8]) -> Option<(Number, Number)> {
        let p = &curve.p;
        let mut bytes = public.to_vec();
        let sign = bytes[56] >> 7;
        bytes[56] &= 127;
        let (y, one) = (Number::little(&bytes), Number::small(1));
        let yy = y.mul(&y, p);
        let square = yy.sub(&one, p).mul(&curve.d.mul(&yy, p).sub(&one, p).inverse(p), p);
        // p is 3 modulo 4; (p + 1) / 4 is 2^446 - 2^222.
        let exponent = Number::hex(&format!("3{}c{}", "f".repeat(55), "0".repeat(55)));
        let mut x = square.power(&exponent, p);
        if x.bit(0) != (sign == 1) {
            x = Number::small(0).sub(&x, p);
        }
        curve.has(&x, &y).then_some((x, y))
    }

    pub fn verify(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let (curve, n, base) = (Curve::new(true), order(), base());
        let s = Number::little(&signature[57..]);
        let (Some(a), Some(r)) = (decode(&curve, public), decode(&curve, &signature[..57])) else {
            return false;
        };
        let k = hash(&[&signature[..57], public, message]).add(&Number::small(0), &n);
        let left = curve.multiply(&s, (&base.0, &base.1));
        let right = curve.multiply(&k, (&a.0, &a.1));
        let right = curve.sum((&r.0, &r.1), (&right.0, &right.1));
        s.below(&n) && left.0.equals(&right.0) && left.1.equals(&right.1)
    }
}
