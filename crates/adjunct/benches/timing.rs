//! Whether a kernel's time depends on its secrets, by statistics: what `--test constant_time` cannot see, such as
//! multipliers or dividers that finish early, would show here.
//!
//! Dudect's method (Reparaz, Balasch, Verbauwhede, "Dude, is my code constant time?", DATE 2017): the same call with
//! fixed and with random secrets, in random order, compared by Welch's t-test after the slowest calls are cut off. |t|
//! above 4.5 is a suspicion, above 10 in two runs a finding. A noisy machine widens the spread; it does not make a t.
//!
//!     cargo bench -p adjunct --bench timing [-- WORD...]      cases whose name has every WORD

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[path = "../tests/constant_time/cases/mod.rs"]
#[allow(dead_code, reason = "some is for memcheck alone")]
mod cases;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("nothing to time, the kernels are x86-64's");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let features = adjunct::cpu::features();
    println!("{} ({} calls at most a case)", adjunct::cpu::model_name(), welch::CALLS);
    let mut found = false;
    for case in cases::all() {
        if !words.iter().all(|word| case.name.contains(word)) || !case.needs.iter().all(|&f| features.has(f)) {
            continue;
        }
        let (calls, t) = welch::compare(&case);
        let mut verdict = if t < 4.5 { "no difference" } else { "suspicious" };
        if t > 10.0 && welch::compare(&case).1 > 10.0 {
            verdict = "DEPENDS ON THE SECRET";
            found = true;
        }
        println!("{:40} {calls:>6} calls, |t| {t:>5.1}: {verdict}", case.name);
    }
    if found {
        std::process::exit(1);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod welch {
    use super::cases::Case;
    use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};
    use std::time::{Duration, Instant};

    /// Measured calls of a case, and how long it may take at most.
    pub const CALLS: usize = 20_000;
    const LIMIT: Duration = Duration::from_secs(4);

    /// The number of calls, and |t| between fixed and random secrets: the largest over several cuts.
    pub fn compare(case: &Case) -> (usize, f64) {
        let mut times: [Vec<f64>; 2] = Default::default();
        let begin = Instant::now();
        let mut seed = 0x1234_5678_9abc_def1u64;
        while times[0].len() + times[1].len() < CALLS && begin.elapsed() < LIMIT {
            // xorshift64: the class of the next call must not follow a pattern.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let random = seed >> 63 == 1;
            let mut call = (case.prepare)(if random { seed | 2 } else { 2 });
            times[usize::from(random)].push(cycles(&mut call.run));
        }
        let calls = times[0].len() + times[1].len();
        let mut all: Vec<f64> = times.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        let cuts = [0.5, 0.7, 0.8, 0.9, 0.95];
        let t = cuts.map(|cut| {
            let limit = all[(all.len() as f64 * cut) as usize];
            t_value(&times.each_ref().map(|t| t.iter().copied().filter(|&x| x <= limit).collect::<Vec<_>>()))
        });
        (calls, t.into_iter().fold(0.0, f64::max))
    }

    fn cycles(run: &mut dyn FnMut()) -> f64 {
        // CPUID waits for all before it; LFENCE keeps the clock from being read early.
        std::hint::black_box(__cpuid(0));
        // SAFETY: LFENCE and RDTSC are present on every x86-64.
        let begin = unsafe {
            _mm_lfence();
            _rdtsc()
        };
        run();
        // SAFETY: LFENCE and RDTSC are present on every x86-64.
        let end = unsafe {
            _mm_lfence();
            _rdtsc()
        };
        (end - begin) as f64
    }

    fn t_value(classes: &[Vec<f64>; 2]) -> f64 {
        let [(m0, s0), (m1, s1)] = classes.each_ref().map(|times| {
            let n = times.len().max(2) as f64;
            let mean = times.iter().sum::<f64>() / n;
            (mean, times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
        });
        let spread = (s0 + s1).sqrt();
        if spread == 0.0 { 0.0 } else { (m0 - m1).abs() / spread }
    }
}
