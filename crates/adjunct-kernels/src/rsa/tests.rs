use super::*;
use aws_lc_sys as sys;
use std::ptr::{null, null_mut};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Faults are armed for every thread: one test at a time.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn has_ifma() -> bool {
    crate::lanes::tests::here()
}

/// A key of AWS-LC's, the reference.
pub(super) struct Reference(*mut sys::RSA);
// SAFETY: read only once made.
unsafe impl Send for Reference {}
// SAFETY: a key is only read once it is made, and AWS-LC locks what it caches in one.
unsafe impl Sync for Reference {}

impl Reference {
    pub(super) fn generate(bits: i32, e: u64) -> Reference {
        // SAFETY: objects made and freed here.
        unsafe {
            let (key, number) = (sys::RSA_new(), sys::BN_new());
            assert_eq!(sys::BN_set_u64(number, e), 1);
            assert_eq!(sys::RSA_generate_key_ex(key, bits, number, null_mut()), 1);
            sys::BN_free(number);
            Reference(key)
        }
    }

    pub(super) fn numbers(&self) -> [Vec<u8>; 7] {
        // SAFETY: a live key's numbers.
        unsafe {
            let (mut n, mut e, mut p, mut q) = (null(), null(), null(), null());
            let (mut dp, mut dq, mut qinv) = (null(), null(), null());
            sys::RSA_get0_key(self.0, &mut n, &mut e, null_mut());
            sys::RSA_get0_factors(self.0, &mut p, &mut q);
            sys::RSA_get0_crt_params(self.0, &mut dp, &mut dq, &mut qinv);
            [n, e, p, q, dp, dq, qinv].map(|number| {
                let mut out = vec![0; sys::BN_num_bytes(number) as usize];
                sys::BN_bn2bin(number, out.as_mut_ptr());
                out
            })
        }
    }

    pub(super) fn private<const P: usize, const M: usize>(&self) -> PrivateKey<P, M> {
        let [n, e, p, q, dp, dq, qinv] = self.numbers();
        PrivateKey::new(&n, &e, &p, &q, &dp, &dq, &qinv).expect("a key of this size")
    }

    /// The private operation, or the public one.
    pub(super) fn run(&self, private: bool, input: &[u8]) -> Vec<u8> {
        let (mut out, mut length) = (vec![0; input.len()], 0);
        let run = if private { sys::RSA_decrypt } else { sys::RSA_verify_raw };
        // SAFETY: the pointers and lengths describe the slices.
        let done = unsafe {
            run(self.0, &mut length, out.as_mut_ptr(), out.len(), input.as_ptr(), input.len(), sys::RSA_NO_PADDING)
        };
        assert_eq!((done, length), (1, out.len()));
        out
    }
}

pub(super) static KEYS: LazyLock<[Vec<Reference>; 3]> = LazyLock::new(|| {
    let keys = |bits, count| (0..count).map(|i| Reference::generate(bits, [65537, 3, 4294967291][i % 3])).collect();
    [keys(2048, 8), keys(3072, 3), keys(4096, 3)]
});

/// Bytes that follow from the seed: not random, but different for each seed.
pub(super) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// An input below any modulus of the size.
pub(super) fn input(seed: u64, length: usize) -> Vec<u8> {
    let mut input = bytes(seed, length);
    input[0] &= 0x7F;
    input
}

fn run_private<const P: usize, const M: usize>(keys: &[&PrivateKey<P, M>], inputs: &[Vec<u8>]) -> (u8, Vec<Vec<u8>>) {
    let run = |checked: bool| {
        let mut outputs: Vec<_> = inputs.iter().map(|i| vec![0xAA; i.len()]).collect();
        let jobs = keys.iter().zip(inputs).zip(&mut outputs);
        let mut jobs: Vec<_> = jobs.map(|((key, input), output)| PrivateJob { key, input, output }).collect();
        let mut scratch = Box::new_uninit();
        // SAFETY: the caller has asked for the instructions.
        let right = unsafe {
            match checked {
                true => private(&mut jobs, &mut scratch),
                false => private_unchecked(&mut jobs, &mut scratch),
            }
        };
        // SAFETY: wiped memory of integers.
        let left = unsafe { std::slice::from_raw_parts(scratch.as_ptr().cast::<u8>(), size_of_val(&*scratch)) };
        assert!(left.iter().all(|&b| b == 0), "secrets left behind");
        (right, outputs)
    };
    let (right, outputs) = run(true);
    // What is not checked is the same where it is right.
    let (done, unchecked) = run(false);
    assert_eq!(done & right, right);
    for (lane, (checked, unchecked)) in outputs.iter().zip(&unchecked).enumerate() {
        assert!(right >> lane & 1 == 0 || checked == unchecked, "lane {lane}");
    }
    (right, outputs)
}

fn run_public<const M: usize>(keys: &[&PublicKey<M>], inputs: &[Vec<u8>]) -> (u8, Vec<Vec<u8>>) {
    let mut outputs: Vec<_> = inputs.iter().map(|i| vec![0xAA; i.len()]).collect();
    let jobs = keys.iter().zip(inputs).zip(&mut outputs);
    let mut jobs: Vec<_> = jobs.map(|((key, input), output)| PublicJob { key, input, output }).collect();
    // SAFETY: the caller has asked for the instructions.
    let right = unsafe { public(&mut jobs, &mut Box::new_uninit()) };
    (right, outputs)
}

fn like_the_reference<const P: usize, const M: usize>(references: &[Reference], rounds: u64) {
    let keys: Vec<PrivateKey<P, M>> = references.iter().map(Reference::private).collect();
    for round in 0..rounds {
        for count in [8, 1, 3] {
            let of = |i: usize| (round as usize + i) % keys.len();
            let some: Vec<_> = (0..count).map(|i| &keys[of(i)]).collect();
            let inputs: Vec<_> = (0..count).map(|i| input(round * 8 + i as u64, PrivateKey::<P, M>::BYTES)).collect();
            let (right, outputs) = run_private(&some, &inputs);
            assert_eq!(right, ((1u32 << count) - 1) as u8);
            for (i, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
                assert_eq!(*output, references[of(i)].run(true, input), "private, lane {i} of {count}");
            }
            let public: Vec<_> = some.iter().map(|key| &key.public).collect();
            let (right, back) = run_public(&public, &outputs);
            assert_eq!((right, &back), (((1u32 << count) - 1) as u8, &inputs));
            let (_, powers) = run_public(&public, &inputs);
            for (i, (input, power)) in inputs.iter().zip(&powers).enumerate() {
                assert_eq!(*power, references[of(i)].run(false, input), "public, lane {i} of {count}");
            }
        }
    }
}

#[test]
fn lanes_compute_what_aws_lc_computes() {
    if has_ifma() {
        let _alone = alone();
        like_the_reference::<20, 40>(&KEYS[0], 8);
        like_the_reference::<30, 60>(&KEYS[1], 3);
        like_the_reference::<40, 80>(&KEYS[2], 2);
    }
}

/// `a` + `b` big-endian, as long as `a`.
fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let (mut out, mut over) = (a.to_vec(), 0);
    for (i, o) in out.iter_mut().rev().enumerate() {
        let sum = u16::from(*o) + u16::from(b.len().checked_sub(i + 1).map_or(0, |i| b[i])) + over;
        (*o, over) = (sum as u8, sum >> 8);
    }
    out
}

fn edges<const P: usize, const M: usize>(reference: &Reference) {
    let key = reference.private::<P, M>();
    let [n, _, p, q, ..] = reference.numbers();
    let size = PrivateKey::<P, M>::BYTES;
    let number = |bytes: &[u8]| [vec![0; size - bytes.len()], bytes.to_vec()].concat();
    let mut last = n.clone();
    last[size - 1] -= 1;
    // 0, 1 and n - 1 are their own powers; a multiple of a prime stays one.
    let inputs =
        [number(&[]), number(&[1]), last, number(&p), number(&q), add(&number(&p), &p), number(&[2]), n.clone()];
    let (right, outputs) = run_private(&[&key; 8], &inputs);
    assert_eq!(right, 0x7F, "n itself is no input");
    assert_eq!(inputs[..3], outputs[..3]);
    for i in 3..7 {
        assert_eq!(outputs[i], reference.run(true, &inputs[i]), "input {i}");
    }
    assert_eq!(outputs[7], vec![0; size]);
    let (right, outputs) = run_public(&[&key.public; 8], &inputs);
    assert_eq!((right, &outputs[..3]), (0x7F, &inputs[..3]));
    assert_eq!(outputs[7], vec![0; size]);
}

#[test]
fn edge_values() {
    if has_ifma() {
        let _alone = alone();
        edges::<20, 40>(&KEYS[0][0]);
        edges::<30, 60>(&KEYS[1][0]);
        edges::<40, 80>(&KEYS[2][1]);
    }
}

#[test]
fn buffers_of_other_lengths_are_refused() {
    if has_ifma() {
        let _alone = alone();
        let key = KEYS[0][0].private::<20, 40>();
        let (right, outputs) = run_private(&[&key; 3], &[input(1, 256), input(2, 255), input(3, 257)]);
        assert_eq!(right, 1);
        assert_eq!(outputs[1..], [vec![0; 255], vec![0; 257]]);
    }
}

#[test]
fn a_fault_in_a_lane_stays_there() {
    if has_ifma() {
        let _alone = alone();
        let keys: Vec<PrivateKey2048> = KEYS[0].iter().map(Reference::private).collect();
        let keys: Vec<_> = keys.iter().collect();
        let inputs: Vec<_> = (0..8).map(|i| input(i, 256)).collect();
        let (_, good) = run_private(&keys, &inputs);
        // In the first steps, the table, the windows and near the end.
        for (round, after) in [0, 1, 5, 20, 100, 700, 1200, 1280].into_iter().enumerate() {
            let struck: u8 = [1 << round, 0xFF, 0x81][round % 3];
            fault::arm(struck, after);
            let (right, outputs) = run_private(&keys, &inputs);
            assert_eq!(right, !struck, "after {after} reductions");
            for (i, output) in outputs.iter().enumerate() {
                assert_eq!(*output, if struck >> i & 1 == 1 { vec![0; 256] } else { good[i].clone() });
            }
        }
    }
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let numbers = KEYS[0][0].numbers();
    let make = |change: &dyn Fn(&mut [Vec<u8>; 7])| {
        let mut changed = numbers.clone();
        change(&mut changed);
        let [n, e, p, q, dp, dq, qinv] = changed;
        PrivateKey2048::new(&n, &e, &p, &q, &dp, &dq, &qinv).is_some()
    };
    assert!(make(&|_| {}));
    assert!(make(&|k| k[1] = [&[0; 9][..], &k[1]].concat()), "zeros in front");
    for i in [0, 2, 3] {
        assert!(!make(&|k| *k[i].last_mut().unwrap() ^= 1), "number {i} even");
        assert!(!make(&|k| k[i][10] ^= 1), "another product");
        assert!(!make(&|k| k[i] = k[i][1..].to_vec()), "number {i} short");
        assert!(!make(&|k| k[i].push(1)), "number {i} long");
    }
    for e in [&[][..], &[1], &[4], &[1; 9]] {
        assert!(!make(&|k| k[1] = e.to_vec()), "exponent {e:?}");
    }
    for (i, m) in [(4, 2), (5, 3), (6, 2)] {
        assert!(!make(&|k| k[i] = k[m].clone()), "number {i} not reduced");
    }
    let [n, e, p, q, dp, dq, qinv] = &numbers;
    assert!(PrivateKey3072::new(n, e, p, q, dp, dq, qinv).is_none());
    // Numbers that do not belong together make a key whose results do not pass.
    if has_ifma() {
        let _alone = alone();
        let wrong = PrivateKey2048::new(n, e, p, q, dq, dp, qinv);
        if let Some(wrong) = wrong {
            let right = KEYS[0][0].private();
            assert_eq!(run_private(&[&right, &wrong, &right], &[input(1, 256), input(2, 256), input(3, 256)]).0, 5);
        }
    }
}

/// The inputs of AWS-LC's public operation are right for its outputs, and nothing else is; with the exponents that there are.
fn results_are_checked<const D: usize, const V: usize>(references: &[Reference]) {
    for reference in references.iter().take(3) {
        let [n, e, ..] = reference.numbers();
        // SAFETY: the CPU has AVX-512 IFMA: the callers ask `has_ifma` first.
        let key = unsafe { CheckKey::<D, V>::new(&n, &e) }.unwrap();
        // SAFETY: the CPU has AVX-512 IFMA: the callers ask `has_ifma` first.
        let is_right = |input: &[u8], output: &[u8]| unsafe { key.is_right(input, output) };
        let zero = vec![0; n.len()];
        let (mut one, mut most) = (zero.clone(), n.clone());
        one[n.len() - 1] = 1;
        most[n.len() - 1] -= 1;
        let others = (0..50).map(|seed| input(seed, n.len()));
        for output in [zero.clone(), one, most].into_iter().chain(others) {
            let input = reference.run(false, &output);
            assert!(is_right(&input, &output), "{} bytes", n.len());
            for at in [1, n.len() / 2, n.len() - 1] {
                let mut wrong = [output.clone(), input.clone()];
                wrong.iter_mut().for_each(|number| number[at] ^= 4);
                assert!(!is_right(&input, &wrong[0]) && !is_right(&wrong[1], &output));
            }
        }
        // Zero, but not below the modulus; other lengths.
        assert!(is_right(&zero, &zero) && !is_right(&zero, &n) && !is_right(&n, &zero));
        assert!(!is_right(&zero, &zero[1..]) && !is_right(&zero[1..], &zero));
        let mut even = n.clone();
        even[n.len() - 1] ^= 1;
        for (n, e) in [(&even[..], &e[..]), (&n[1..], &e[..]), (&n[..], &[1][..]), (&n[..], &[4]), (&n[..], &[1; 9])] {
            // SAFETY: the CPU has AVX-512 IFMA: the callers ask `has_ifma` first.
            assert!(unsafe { CheckKey::<D, V>::new(n, e) }.is_none());
        }
    }
}

#[test]
fn single_results_are_checked() {
    if has_ifma() {
        results_are_checked::<40, 5>(&KEYS[0]);
        results_are_checked::<60, 8>(&KEYS[1]);
        results_are_checked::<80, 10>(&KEYS[2]);
    }
}

/// A single operation gives what AWS-LC gives; a wrong result does not leave.
fn singly<const P: usize, const M: usize, const V: usize, const W: usize>(references: &[Reference], rounds: u64) {
    let keys: Vec<(PrivateKey<P, M>, CheckKey<M, W>)> = references
        .iter()
        .map(|reference| {
            let [n, e, ..] = reference.numbers();
            // SAFETY: the caller has asked for the instructions.
            (reference.private(), unsafe { CheckKey::new(&n, &e) }.unwrap())
        })
        .collect();
    let run = |at: usize, check: usize, input: &[u8], length: usize| {
        let mut output = vec![0xAA; length];
        // SAFETY: the CPU has AVX-512 IFMA: the callers ask `has_ifma` first.
        let good = unsafe { private_single::<P, M, V, W>(&keys[at].0, &keys[check].1, input, &mut output) };
        (good, output)
    };
    let length = PrivateKey::<P, M>::BYTES;
    for (at, reference) in references.iter().enumerate() {
        for round in 0..rounds {
            let input = input(round, length);
            assert_eq!(run(at, at, &input, length), (true, reference.run(true, &input)), "key {at}, round {round}");
        }
        let [n, _, p, q, ..] = reference.numbers();
        // The ends, the primes, and what is a little more or less than a power of two.
        let number = |bytes: &[u8]| [&vec![0; length - bytes.len()], bytes].concat();
        let (mut last, zeros) = (n.clone(), vec![0; length]);
        last[length - 1] -= 1;
        for own in [zeros.clone(), number(&[1]), last] {
            assert_eq!(run(at, at, &own, length), (true, own.clone()), "key {at}");
        }
        for input in [number(&p), number(&q), number(&[1, 0]), number(&vec![0xFF; length / 2])] {
            assert_eq!(run(at, at, &input, length), (true, reference.run(true, &input)), "key {at}");
        }
        // Not below the modulus, of other lengths, and with another key's check.
        for (input, length) in [(&n[..], length), (&zeros[1..], length), (&zeros[..], length - 1)] {
            assert_eq!(run(at, at, input, length), (false, vec![0; length]), "key {at}");
        }
        let other = (at + 1) % references.len();
        assert_eq!(run(at, other, &input(1, length), length), (false, vec![0; length]), "key {at}");
    }
    // A fault anywhere: in each of the products in turn, as many as there are.
    let asked = input(9, length);
    let (_, expected) = run(0, 0, &asked, length);
    let (mut struck, mut caught) = (0, 0);
    for after in (0..).step_by(83) {
        fault::arm(1 << (after % 7), after);
        let (good, output) = run(0, 0, &asked, length);
        if fault::disarm() {
            break;
        }
        struck += 1;
        caught += usize::from(!good);
        assert!(output == if good { expected.clone() } else { vec![0; length] }, "after {after}");
    }
    // A power of the table that no window names does no harm.
    assert!(struck > 10 && caught * 10 > struck * 9, "{caught} of {struck}");
    let (mut output, (key, check)) = (vec![0; length], &keys[0]);
    // SAFETY: the CPU has AVX-512 IFMA: the callers ask `has_ifma` first.
    let stack = crate::wipe::depth(|| unsafe {
        single::power::<P, M, V>(key, &asked, &mut output);
        check.is_right(&asked, &output);
    });
    // As the code is that people run: without optimization it takes more.
    assert!(cfg!(debug_assertions) || stack <= 8 * single::STACK * V, "{stack} bytes of the stack");
}

#[test]
fn one_alone_is_what_aws_lc_computes() {
    if has_ifma() {
        let _alone = alone();
        singly::<20, 40, 3, 5>(&KEYS[0], 40);
        singly::<30, 60, 4, 8>(&KEYS[1], 20);
        singly::<40, 80, 5, 10>(&KEYS[2], 10);
    }
}
