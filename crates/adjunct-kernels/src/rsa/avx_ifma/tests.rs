use super::super::fault;
use super::super::tests::{KEYS, Reference, alone, input};
use super::*;

type Run<const P: usize, const M: usize> =
    unsafe fn(&mut [PrivateJob<'_, P, M>], &mut MaybeUninit<Scratch<P, M>>, bool) -> u8;

/// The code in the encodings that this CPU has.
fn runs<const P: usize, const M: usize>() -> Vec<Run<P, M>> {
    let mut runs: Vec<Run<P, M>> = Vec::new();
    if is_x86_feature_detected!("avxifma") {
        // SAFETY: AVX-IFMA has just been found, and with it there is AVX2.
        runs.push(|jobs, scratch, checked| unsafe { vex::private(jobs, scratch, checked) });
    } else {
        println!("SKIPPED in the encoding of AVX-IFMA: this CPU lacks it");
    }
    if is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vl") {
        // SAFETY: AVX-512 IFMA and VL have just been found, and with them there is AVX2.
        runs.push(|jobs, scratch, checked| unsafe { evex::private(jobs, scratch, checked) });
    } else {
        println!("SKIPPED in the encoding of AVX-512: this CPU lacks IFMA or VL");
    }
    runs
}

fn run<const P: usize, const M: usize>(
    run: Run<P, M>,
    keys: &[&PrivateKey<P, M>],
    inputs: &[Vec<u8>],
    checked: bool,
) -> (u8, Vec<Vec<u8>>) {
    let mut outputs: Vec<_> = inputs.iter().map(|i| vec![0xAA; i.len()]).collect();
    let jobs = keys.iter().zip(inputs).zip(&mut outputs);
    let mut jobs: Vec<_> = jobs.map(|((key, input), output)| PrivateJob { key, input, output }).collect();
    let mut scratch = Box::new_uninit();
    // SAFETY: of the encodings that the CPU has.
    let right = unsafe { run(&mut jobs, &mut scratch, checked) };
    // SAFETY: wiped memory.
    let left = unsafe { std::slice::from_raw_parts(scratch.as_ptr().cast::<u8>(), size_of_val(&*scratch)) };
    assert!(left.iter().all(|&b| b == 0), "secrets left behind");
    (right, outputs)
}

fn like_the_reference<const P: usize, const M: usize>(references: &[Reference], rounds: u64) {
    let keys: Vec<PrivateKey<P, M>> = references.iter().map(Reference::private).collect();
    for kernel in runs::<P, M>() {
        for round in 0..rounds {
            for count in 1..=LANES {
                let of = |i: usize| (round as usize + i) % keys.len();
                let some: Vec<_> = (0..count).map(|i| &keys[of(i)]).collect();
                let inputs: Vec<_> =
                    (0..count).map(|i| input(round * 8 + i as u64, PrivateKey::<P, M>::BYTES)).collect();
                let (right, outputs) = run(kernel, &some, &inputs, round % 2 == 0);
                assert!(right & u8::MAX >> (8 - count) == u8::MAX >> (8 - count), "{count} jobs");
                for (i, (input, output)) in inputs.iter().zip(&outputs).enumerate() {
                    assert_eq!(references[of(i)].run(true, input), *output, "job {i} of {count}");
                }
            }
        }
    }
}

#[test]
fn private_operations_are_the_references() {
    let _alone = alone();
    like_the_reference::<20, 40>(&KEYS[0], 4);
    like_the_reference::<30, 60>(&KEYS[1], 2);
    like_the_reference::<40, 80>(&KEYS[2], 2);
}

#[test]
fn edge_values_and_faults() {
    let _alone = alone();
    let key = KEYS[0][0].private::<20, 40>();
    let [n, ..] = KEYS[0][0].numbers();
    let small = |value| [vec![0; 255], vec![value]].concat();
    let mut last = n.clone();
    last[255] -= 1;
    let edges = [small(0), small(1), last, n];
    for kernel in runs::<20, 40>() {
        let (right, outputs) = run(kernel, &[&key; 4], &edges, true);
        assert_eq!(right, 0b0111);
        assert_eq!(outputs[..3], edges[..3]);
        assert!(outputs[3].iter().all(|&b| b == 0));
        let inputs: Vec<_> = (0..LANES as u64).map(|i| input(i, 256)).collect();
        for after in [0, 40, 700, 1290] {
            fault::arm(0b0110, after);
            let (right, outputs) = run(kernel, &[&key; 4], &inputs, true);
            assert!(!fault::disarm());
            assert_eq!(right, 0b1001, "after {after}");
            assert!(outputs[1].iter().chain(&outputs[2]).all(|&b| b == 0));
        }
    }
}
