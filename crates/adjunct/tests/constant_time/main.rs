//! Our own kernels neither branch nor index memory by a secret, and use no instruction whose time depends on operands.
//!
//! Shown twice: by single-stepping the same call with different secrets and comparing every instruction's address and
//! every address of memory (`trace.rs`), and, where valgrind knows the instructions, by marking the secrets undefined
//! (`memcheck.rs`). The statistical kind, which sees what the hardware does besides, is `cargo bench --bench timing`.
//!
//!     cargo test --release -p adjunct --test constant_time [-- WORD]      cases whose name has WORD
//!
//! With `ADJUNCT_DEEP` set (`./check deep constant-time`) or a WORD all cases are tried, with four secrets. Otherwise those with two
//! secrets that take no minute.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod cases;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod group;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memcheck;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod power;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trace;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("constant time: nothing checked, the kernels are x86-64's");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let features = adjunct::cpu::features();
    let mut chosen = cases::all();
    chosen.extend(group::cases());
    chosen.extend(power::cases());
    chosen.retain(|case| words.iter().all(|word| case.name.contains(word)));
    let deep = !words.is_empty() || std::env::var_os("ADJUNCT_DEEP").is_some();
    let all = chosen.len();
    chosen.retain(|case| deep || !case.is_long());
    if chosen.len() < all && !memcheck::running() {
        println!("{} long cases are left to ./check deep constant-time", all - chosen.len());
    }
    chosen.retain(|case| {
        let runs = case.needs.iter().all(|&f| features.has(f));
        if !runs {
            let (name, lacks) = (&case.name, case.needs.iter().map(|f| f.text()).collect::<Vec<_>>().join(" or "));
            // Under valgrind nothing new can be said of it.
            if !memcheck::running() {
                println!("{name:40} NOT CHECKED: this CPU lacks {lacks}");
            }
        }
        runs
    });
    let good =
        if memcheck::running() { check::undefined(&chosen) } else { check::traces(&chosen, deep) & check::valgrind() };
    if !good {
        std::process::exit(1);
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod check {
    use super::cases::Case;
    use super::memcheck;
    use super::trace::{Finding, LONGEST, Tracer};
    use std::process::Command;

    /// Secrets tried: all zeros, all ones, and two random ones.
    const SEEDS: [u64; 4] = [0, 1, 2, 3];

    /// Compares the traces of every case under different secrets: all of them, or the first and a random one.
    pub fn traces(cases: &[Case], deep: bool) -> bool {
        let seeds = if deep { &SEEDS[..] } else { &[SEEDS[0], SEEDS[2]] };
        let mut tracer = Tracer::new();
        let mut good = true;
        good &= finds_what_is_wrong(&mut tracer);
        for case in cases {
            let (mut steps, mut jumps) = (0, 0);
            let mut finding = None;
            for &seed in seeds {
                let report = tracer.run(seed > 0, &|| (case.prepare)(seed).run);
                (steps, jumps) = (steps.max(report.steps), jumps.max(report.jumps));
                if report.finding != Finding::Same {
                    finding = Some((seed, report));
                    break;
                }
            }
            let cut = if steps == LONGEST { " (recording ends there)" } else { "" };
            match finding {
                None => println!(
                    "{:40} {steps:>9} instructions, {jumps:>3} jumps by lengths, the same for {} secrets{cut}",
                    case.name,
                    seeds.len()
                ),
                Some((seed, report)) => {
                    good = false;
                    let place = report.place as usize - base();
                    println!(
                        "{:40} FAILED: {:?} at {place:#x} of this program, step {}, secret {seed}",
                        case.name, report.finding, report.steps
                    );
                }
            }
        }
        good
    }

    /// Address where this program is loaded: what stands in its symbol table is relative to it.
    fn base() -> usize {
        // SAFETY: the vector is the process's own; the headers are counted from the file's beginning.
        unsafe { libc::getauxval(libc::AT_PHDR) as usize - 64 }
    }

    /// Checks that the check can fail: a branch, an index and a division by a secret are all found.
    fn finds_what_is_wrong(tracer: &mut Tracer) -> bool {
        let table: &'static [u64] = &[3; 256];
        type Wrong = (&'static str, Finding, fn(u64, &[u64]) -> u64);
        let wrong: [Wrong; 3] = [
            ("a branch", Finding::Branch, |seed, _| {
                let mut spins = 0;
                while std::hint::black_box(spins) < seed {
                    spins += 1;
                }
                spins
            }),
            ("an index", Finding::Memory, |seed, table| table[(seed & 255) as usize]),
            ("a division", Finding::Division, |seed, _| 1000 / (std::hint::black_box(seed) | 1)),
        ];
        let mut good = true;
        for (name, expected, function) in wrong {
            let mut found = Finding::Same;
            for seed in SEEDS {
                let report = tracer.run(seed > 0, &|| {
                    Box::new(move || {
                        std::hint::black_box(function(std::hint::black_box(seed), std::hint::black_box(table)));
                    })
                });
                found = report.finding;
                if found != Finding::Same {
                    break;
                }
            }
            if found != expected {
                println!("FAILED: {name} by a secret was found to be {found:?}");
                good = false;
            }
        }
        good
    }

    /// Under valgrind: runs every case it can with its secrets undefined.
    pub fn undefined(cases: &[Case]) -> bool {
        let mut good = true;
        for case in cases.iter().filter(|c| c.memcheck) {
            let mut call = (case.prepare)(2);
            let before = memcheck::errors();
            call.secrets.iter().for_each(|&s| memcheck::hide(s));
            (call.run)();
            call.secrets.iter().for_each(|&s| memcheck::show(s));
            let errors = memcheck::errors() - before;
            let verdict = if errors == 0 { "no branch or address depends on its secrets" } else { "FAILED" };
            println!("{:40} memcheck: {verdict}", case.name);
            good &= errors == 0;
        }
        let before = memcheck::errors();
        let secret = Box::new(5u64);
        memcheck::hide((std::ptr::from_ref(&*secret).cast(), 8));
        if std::hint::black_box(*secret) > 3 {
            std::hint::black_box(());
        }
        if memcheck::errors() == before {
            println!("FAILED: memcheck did not see a branch by a secret");
            good = false;
        }
        good
    }

    /// Runs this program again under valgrind, where there is one.
    pub fn valgrind() -> bool {
        let program = std::env::current_exe().expect("a path");
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--error-limit=no", "--log-file=/dev/null"])
            .arg(concat!("--suppressions=", env!("CARGO_MANIFEST_DIR"), "/tests/constant_time/public.supp"))
            .arg(program)
            .args(std::env::args().skip(1));
        match command.status() {
            Ok(status) => status.success(),
            Err(error) => {
                println!("memcheck: NOT CHECKED, valgrind: {error}");
                true
            }
        }
    }
}
