//! Triple DES of blocks and messages side by side, beside AWS-LC's of one block after the other:
//!
//!     cargo bench -p adjunct-cpu --bench des
//!     ADJUNCT_CPU=-ifma cargo bench -p adjunct-cpu --bench des        as on Skylake: AVX-512 without byte permutations
//!     ADJUNCT_CPU=-avx512 cargo bench -p adjunct-cpu --bench des      as on Zen 3: AVX2
//!
//! MB per second of CPU time; the sides take turns, and the ratio is the median of their turns' ratios.

use adjunct_cpu::cipher::des::{Chained, Des, encrypt_chained, has_streams};
use adjunct_kernels::InOut;
use std::hint::black_box;

const TURNS: usize = 15;
const SECONDS: f64 = 0.004;

/// This thread's CPU time in seconds.
fn cpu_time() -> f64 {
    adjunct_base::clock::cpu_time() as f64 * 1e-9
}

/// MB a second of work on so many bytes.
fn rate(bytes: usize, work: &mut dyn FnMut()) -> f64 {
    let (begin, mut calls) = (cpu_time(), 0);
    loop {
        (0..4).for_each(|_| work());
        calls += 4;
        let time = cpu_time() - begin;
        if time > SECONDS {
            return (calls * bytes) as f64 / time / 1e6;
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints a row: the first is the library's work on so many bytes, the second ours.
fn row(name: &str, library: (usize, &mut dyn FnMut()), ours: (usize, &mut dyn FnMut())) {
    let (mut rates, mut ratios) = ([Vec::new(), Vec::new()], Vec::new());
    for _ in 0..TURNS {
        let (a, b) = (rate(library.0, library.1), rate(ours.0, ours.1));
        rates[0].push(a);
        rates[1].push(b);
        ratios.push(b / a);
    }
    let [a, b] = rates.map(median);
    println!("{name:34} {a:8.1} {b:8.1} {:7.2}", median(ratios));
}

fn main() {
    let schedules = *Des::new(b"0123456789abcdefghijklmn").expect("a key").triple().expect("three keys");
    let des = &Des::from_schedules(&schedules);
    println!("{}\n{:34} {:>8} {:>8} {:>7}", adjunct_cpu::model_name(), "MB/s", "library", "ours", "ratio");
    for size in [8, 16, 24, 64, 128, 192, 256, 1024, 4096, 16384] {
        let (mut one, mut other) = (vec![1; size], vec![1; size]);
        // One stream's encryption is the library's, which takes as long as its decryption.
        let mut library = || des.cbc(true, &mut [0; 8], InOut::in_place(black_box(&mut one)));
        let mut ours = || des.cbc(false, &mut [0; 8], InOut::in_place(black_box(&mut other)));
        row(&format!("CBC decryption, {size} bytes"), (size, &mut library), (size, &mut ours));
    }
    if !has_streams() {
        return println!("CBC encryption of several streams: one after the other on this CPU");
    }
    for (streams, size) in
        [1, 2, 4, 8, 16].into_iter().flat_map(|streams| [(streams, 64), (streams, 1600), (streams, 16384)])
    {
        let mut one = vec![1; size];
        let mut others = vec![vec![1; size]; streams];
        let mut library = || des.cbc(true, &mut [0; 8], InOut::in_place(black_box(&mut one)));
        let mut ivs = vec![[0; 8]; streams];
        let mut ours = || {
            let messages = others.iter_mut().zip(&mut ivs);
            encrypt_chained(messages.map(|(text, iv)| Chained {
                schedules: &schedules,
                iv,
                io: InOut::in_place(black_box(text)),
            }));
        };
        let name = format!("CBC encryption, {streams} x {size} bytes");
        row(&name, (size, &mut library), (streams * size, &mut ours));
    }
}
