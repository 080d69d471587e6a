use super::super::fault;
use super::super::tests::{KEYS, Reference, alone, input};
use super::*;

fn has_fma() -> bool {
    let has = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    if !has {
        println!("SKIPPED: this CPU lacks AVX2 or FMA");
    }
    has
}

fn key<const P: usize, const M: usize, const D: usize, const E: usize>(of: &Reference) -> PrivateKey<P, M, D, E> {
    let [n, e, p, q, dp, dq, qinv] = of.numbers();
    PrivateKey::new(&n, &e, &p, &q, &dp, &dq, &qinv).expect("a key of this size")
}

fn run<const P: usize, const M: usize, const D: usize, const E: usize>(
    keys: &[&PrivateKey<P, M, D, E>],
    inputs: &[Vec<u8>],
    checked: bool,
) -> (u8, Vec<Vec<u8>>) {
    let mut outputs: Vec<_> = inputs.iter().map(|i| vec![0xAA; i.len()]).collect();
    let jobs = keys.iter().zip(inputs).zip(&mut outputs);
    let mut jobs: Vec<_> = jobs.map(|((key, input), output)| PrivateJob { key, input, output }).collect();
    let mut scratch = Box::new_uninit();
    // SAFETY: the caller has asked for the instructions.
    let right = unsafe { private(&mut jobs, &mut scratch, checked) };
    // SAFETY: wiped memory.
    let left = unsafe { std::slice::from_raw_parts(scratch.as_ptr().cast::<u8>(), size_of_val(&*scratch)) };
    assert!(left.iter().all(|&b| b == 0), "secrets left behind");
    (right, outputs)
}

fn like_the_reference<const P: usize, const M: usize, const D: usize, const E: usize>(
    references: &[Reference],
    rounds: u64,
) {
    let keys: Vec<PrivateKey<P, M, D, E>> = references.iter().map(key).collect();
    for round in 0..rounds {
        for count in 1..=LANES {
            let of = |i: usize| (round as usize + i) % keys.len();
            let some: Vec<_> = (0..count).map(|i| &keys[of(i)]).collect();
            let inputs: Vec<_> =
                (0..count).map(|i| input(round * 8 + i as u64, PrivateKey::<P, M, D, E>::BYTES)).collect();
            for checked in [false, true] {
                let (right, outputs) = run(&some, &inputs, checked);
                for (i, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
                    assert_eq!(references[of(i)].run(true, input), *output, "job {i} of {count}, {checked}");
                }
                let all = if checked { u8::MAX >> (8 - count) } else { right };
                assert_eq!(right, all, "{count} jobs");
            }
        }
    }
}

#[test]
fn private_operations_are_the_references() {
    if has_fma() {
        let _alone = alone();
        like_the_reference::<20, 40, 22, 45>(&KEYS[0], 4);
        like_the_reference::<30, 60, 33, 69>(&KEYS[1], 2);
        like_the_reference::<40, 80, 45, 94>(&KEYS[2], 2);
    }
}

#[test]
fn a_fault_in_a_lane_is_found() {
    if has_fma() {
        let _alone = alone();
        let keys: Vec<PrivateKey<20, 40, 22, 45>> = KEYS[0].iter().take(LANES).map(key).collect();
        let inputs: Vec<_> = (0..LANES as u64).map(|i| input(i, 256)).collect();
        for after in [0, 40, 700, 1290] {
            fault::arm(0b0110, after);
            let (right, outputs) = run(&keys.iter().collect::<Vec<_>>(), &inputs, true);
            assert!(!fault::disarm());
            assert_eq!(right, 0b1001, "after {after}");
            assert!(outputs[1].iter().chain(&outputs[2]).all(|&b| b == 0));
        }
    }
}

#[test]
fn edge_values() {
    if has_fma() {
        let _alone = alone();
        let key = key::<20, 40, 22, 45>(&KEYS[0][0]);
        let [n, ..] = KEYS[0][0].numbers();
        let small = |value| [vec![0; 255], vec![value]].concat();
        let mut last = n.clone();
        last[255] -= 1;
        let inputs = [small(0), small(1), last, n];
        let (right, outputs) = run(&[&key; 4], &inputs, true);
        // These are their own powers; the modulus is not below itself.
        assert_eq!(right, 0b0111);
        assert_eq!(outputs[..3], inputs[..3]);
        assert!(outputs[3].iter().all(|&b| b == 0));
        let (right, _) = run(&[&key; 2], &[vec![1; 255], vec![1; 256]], true);
        assert_eq!(right, 0b10);
    }
}

/// Results are right in any floating-point mode that a program has set: no exception comes, and the mode stays, flags included.
#[test]
fn any_mode_of_floating_point_is_survived_and_left() {
    if has_fma() {
        let _alone = alone();
        let key = key::<20, 40, 22, 45>(&KEYS[0][0]);
        let inputs = [input(1, 256), input(2, 256)];
        let expected = inputs.each_ref().map(|input| KEYS[0][0].run(true, input));
        // Each rounding mode, with exceptions masked or not, denormal values flushed or not; and flags that are set.
        let modes = (0..4).flat_map(|rounding| [0x1F80, 0, 0x9FC0, 0x8040, 0x1FBF].map(|rest| rounding << 13 | rest));
        for mode in modes {
            let mut outputs = [[0xAA; 256]; 2];
            let [first, second] = &mut outputs;
            let mut jobs = [
                PrivateJob { key: &key, input: &inputs[0], output: first },
                PrivateJob { key: &key, input: &inputs[1], output: second },
            ];
            let (mut scratch, mut before, mut after) = (Box::new_uninit(), 0u32, 0u32);
            // SAFETY: the caller has asked for the instructions; no bit of a mode is a reserved one, and what was there comes back.
            let right = unsafe {
                std::arch::asm!("stmxcsr [{}]", "ldmxcsr [{}]", in(reg) &raw mut before, in(reg) &raw const mode);
                let right = private(&mut jobs, &mut scratch, true);
                std::arch::asm!("stmxcsr [{}]", "ldmxcsr [{}]", in(reg) &raw mut after, in(reg) &raw const before);
                right
            };
            assert_eq!((right, after), (0b11, mode), "{mode:#x}");
            assert_eq!(outputs.map(Vec::from), expected, "{mode:#x}");
        }
    }
}

mod at_the_bounds {
    use super::super::modular::{Work, multiply, square};
    use super::super::stream::{down, start};
    use super::super::{LANES, Modulus, Number, Vector, convert, digit_bits};
    use super::has_fma;
    use aws_lc_sys as sys;
    use std::array::from_fn;

    /// A number of AWS-LC's.
    struct Big(*mut sys::BIGNUM);

    impl Drop for Big {
        fn drop(&mut self) {
            // SAFETY: made by `Big::of`.
            unsafe { sys::BN_free(self.0) };
        }
    }

    impl Big {
        /// The number of these digits.
        fn of(digits: &[i64], bits: u32) -> Big {
            // SAFETY: objects made here.
            unsafe {
                let (sum, digit) = (sys::BN_new(), sys::BN_new());
                for &value in digits.iter().rev() {
                    assert_eq!(sys::BN_lshift(sum, sum, bits as i32), 1);
                    assert_eq!(sys::BN_set_u64(digit, value.unsigned_abs()), 1);
                    sys::BN_set_negative(digit, i32::from(value < 0));
                    assert_eq!(sys::BN_add(sum, sum, digit), 1);
                }
                sys::BN_free(digit);
                Big(sum)
            }
        }

        /// Whether self * 2^bits - a * b is a multiple of m.
        fn is_product(&self, bits: u32, a: &Big, b: &Big, m: &Big) -> bool {
            // SAFETY: objects made here.
            unsafe {
                let (context, left, right) = (sys::BN_CTX_new(), sys::BN_new(), sys::BN_new());
                assert_eq!(sys::BN_lshift(left, self.0, bits as i32), 1);
                assert_eq!(sys::BN_mul(right, a.0, b.0, context), 1);
                assert_eq!(sys::BN_sub(left, left, right), 1);
                assert_eq!(sys::BN_nnmod(left, left, m.0, context), 1);
                let zero = sys::BN_is_zero(left) == 1;
                sys::BN_free(left);
                sys::BN_free(right);
                sys::BN_CTX_free(context);
                zero
            }
        }

        /// Whether 100 |self| <= 51 m.
        fn is_small(&self, m: &Big) -> bool {
            // SAFETY: objects made here.
            unsafe {
                let (left, right) = (sys::BN_dup(self.0), sys::BN_dup(m.0));
                assert_eq!((sys::BN_mul_word(left, 100), sys::BN_mul_word(right, 51)), (1, 1));
                let small = sys::BN_ucmp(left, right) <= 0;
                sys::BN_free(left);
                sys::BN_free(right);
                small
            }
        }
    }

    struct Source(u64);

    impl Source {
        fn next(&mut self, below: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 20) % below
        }

        /// Digits of a factor: as large as they may be, all of one sign, of alternating or of random signs; or anything.
        fn factor<const D: usize>(&mut self, top: i64) -> [i64; D] {
            let (kind, most) = (self.next(5), (1i64 << (digit_bits(D) - 1)) + 64);
            let sign = 1 - 2 * self.next(2).cast_signed();
            let mut digits = from_fn(|i| match kind {
                0 => sign * most,
                1 => (1 - 2 * self.next(2).cast_signed()) * most,
                2 => sign * if i & 1 == 0 { most } else { -most },
                3 => [most, -most, 0, 1, -1, 1 << 40][self.next(6) as usize],
                _ => self.next(2 * most.cast_unsigned()).cast_signed() - most,
            });
            digits[D - 1] = [top / 2, -top / 2, 0, 1][self.next(4) as usize];
            digits
        }

        /// A random modulus whose highest digit is `top`.
        fn modulus<const D: usize>(&mut self, top: i64) -> [i64; D] {
            let (kind, most) = (self.next(4), 1i64 << (digit_bits(D) - 1));
            let mut digits: [i64; D] = from_fn(|_| match kind {
                0 => -most,
                1 => most - 1,
                2 => [most - 1, -most][self.next(2) as usize],
                _ => self.next(2 * most.cast_unsigned()).cast_signed() - most,
            });
            digits[0] |= 1;
            digits[D - 1] = top;
            digits
        }
    }

    fn lanes<const D: usize>(digits: &[[i64; D]; LANES]) -> Number<D> {
        // SAFETY: four doubles.
        from_fn(|i| unsafe { std::mem::transmute::<[f64; LANES], _>(from_fn(|lane| digits[lane][i] as f64)) })
    }

    /// Products and squares in W numbers a lane, of a modulus of `bits` bits.
    fn products<const D: usize, const W: usize>(bits: u32, rounds: usize) {
        let (own, mut source) = (digit_bits(D), Source(D as u64));
        let top = 1i64 << (bits - own * (D as u32 - 1) - 1);
        // SAFETY: all zeros is a value, and the caller has asked for the instructions.
        let mut work: Box<Work<D, W>> = unsafe { Box::new_zeroed().assume_init() };
        for _ in 0..rounds {
            let [a, b]: [[[[i64; D]; LANES]; W]; 2] = from_fn(|_| from_fn(|_| from_fn(|_| source.factor(top))));
            let moduli: [[[i64; D]; LANES]; W] = from_fn(|_| from_fn(|_| source.modulus(top)));
            for squares in [false, true] {
                let b = if squares { &a } else { &b };
                let mut out = a.each_ref().map(lanes);
                // SAFETY: the caller has asked for the instructions.
                unsafe {
                    let modulus = moduli.each_ref().map(|moduli| Modulus {
                        start: start(own),
                        down: down(own),
                        large: start(own + 1),
                        inverse: lanes(&moduli.map(|m| {
                            let low = m[0].wrapping_add(m[1] << own).cast_unsigned();
                            let inverse = crate::lanes::montgomery::k0(low) & ((1 << own) - 1);
                            [convert::centred(inverse, own) as i64]
                        }))[0],
                        m: lanes(moduli),
                    });
                    match squares {
                        true => square(&mut out, &modulus, &mut work),
                        false => multiply(&mut out, &b.each_ref().map(lanes), &modulus, &mut work),
                    }
                }
                for w in 0..W {
                    for lane in 0..LANES {
                        // SAFETY: four doubles.
                        let digit = |i: usize| unsafe { std::mem::transmute::<Vector, [f64; LANES]>(out[w][i])[lane] };
                        let digits: [i64; D] = from_fn(|i| {
                            assert_eq!(digit(i).fract(), 0.0);
                            digit(i) as i64
                        });
                        assert!(digits[..D - 1].iter().all(|d| d.abs() <= (1 << (own - 1)) + 64), "{D} {digits:?}");
                        let [a, b, m, out] =
                            [&a[w][lane], &b[w][lane], &moduli[w][lane], &digits].map(|digits| Big::of(digits, own));
                        assert!(out.is_product(own * D as u32, &a, &b, &m), "{D} digits, squares {squares}");
                        assert!(out.is_small(&m), "{D} digits, squares {squares}");
                    }
                }
            }
        }
    }

    #[test]
    fn products_are_exact() {
        if has_fma() {
            let rounds = if std::env::var_os("ADJUNCT_DEEP").is_some() { 4000 } else { 150 };
            products::<22, 2>(1024, rounds);
            products::<33, 2>(1536, rounds);
            products::<45, 2>(2048, rounds);
            products::<45, 1>(2048, rounds);
            products::<69, 1>(3072, rounds);
            products::<94, 1>(4096, rounds);
        }
    }
}
