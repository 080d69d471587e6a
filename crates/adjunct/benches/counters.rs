//! What a counted call costs: `cargo bench -p adjunct --bench counters [-- --json FILE]`.
//!
//! Nanoseconds of CPU time per call, as the median of interleaved repeats: with 1, 2 and 8 threads, with 8 processes, and
//! beside them what the usual design costs, one word in shared memory that 8 processes increment with an atomic. A call
//! here is the whole of it: calls, bytes, and for software the reason. The loops do nothing else; they count like a
//! session does, encrypt, digest, decrypt, digest. The row "same counter" counts one function only: there each addition
//! waits until the last one can be loaded again, a latency that real work between two calls hides.
//! Counted into counters of its own.
#![allow(clippy::undocumented_unsafe_blocks, reason = "plain system calls on our own children")]

use adjunct::catalogue::Function;
use adjunct::catalogue::{Direction, Path};
use adjunct::{counters, cpu};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::*};
use tally::Tally;

#[path = "../tests/tally/mod.rs"]
mod tally;

const CALLS: u64 = 1_000_000;
const REPEATS: usize = 15;
const WORKERS: usize = 8;

#[derive(Clone, Copy)]
enum Work {
    Counted([(Tally, Direction); 4]),
    SharedAtomic,
    AttributeAndCount([(Tally, Direction); 4]),
    AttributeNow,
}

#[derive(Clone, Copy)]
enum Where {
    Threads(usize),
    Processes(usize),
}

struct Case {
    name: &'static str,
    work: Work,
    place: Where,
    results: Vec<f64>,
}

/// Words shared with forked children: the start signal, the shared counter (on a line of its own), the workers' times.
struct Shared(&'static [AtomicU64]);

impl Shared {
    fn new() -> Shared {
        unsafe {
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
            let place = libc::mmap(std::ptr::null_mut(), 4096, protection, flags, -1, 0);
            assert_ne!(place, libc::MAP_FAILED);
            Shared(std::slice::from_raw_parts(place.cast(), 512))
        }
    }

    fn word(&self) -> &AtomicU64 {
        &self.0[64]
    }

    /// Waits until all `workers` are here: sleeping, since there may be fewer CPUs.
    fn meet(&self, workers: usize) {
        self.0[0].fetch_add(1, SeqCst);
        while self.0[0].load(SeqCst) < workers as u64 {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }

    fn work(&self, work: Work, worker: usize, workers: usize) {
        self.meet(workers);
        let before = cpu_nanoseconds();
        match work {
            Work::Counted(session) => {
                for _ in 0..CALLS / 4 {
                    for (tally, direction) in black_box(&session) {
                        tally.count(*direction, black_box(16));
                    }
                }
            }
            Work::SharedAtomic => {
                let word = self.word();
                for _ in 0..CALLS {
                    black_box(word).fetch_add(black_box(1), Relaxed);
                }
            }
            Work::AttributeAndCount(session) => {
                for _ in 0..CALLS / 4 {
                    for (tally, direction) in black_box(&session) {
                        counters::attribute();
                        tally.count(*direction, black_box(16));
                    }
                }
            }
            Work::AttributeNow => {
                for _ in 0..CALLS / 10 {
                    counters::attribute_now();
                }
            }
        }
        let calls = if matches!(work, Work::AttributeNow) { CALLS / 10 } else { CALLS };
        self.0[128 + worker].store((cpu_nanoseconds() - before) * 1000 / calls, SeqCst);
    }

    /// Nanoseconds per call: the median worker's.
    fn result(&self, workers: usize) -> f64 {
        let mut times: Vec<f64> = self.0[128..128 + workers].iter().map(|w| w.load(SeqCst) as f64 / 1000.0).collect();
        median(&mut times)
    }
}

fn cpu_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn run(case: &mut Case) {
    let shared = Shared::new();
    let workers = match case.place {
        Where::Threads(threads) => {
            std::thread::scope(|s| {
                for i in 0..threads {
                    let (shared, work) = (&shared, case.work);
                    s.spawn(move || shared.work(work, i, threads));
                }
            });
            threads
        }
        Where::Processes(processes) => {
            let children: Vec<_> = (0..processes)
                .map(|i| match unsafe { libc::fork() } {
                    0 => {
                        shared.work(case.work, i, processes);
                        unsafe { libc::_exit(0) }
                    }
                    pid => pid,
                })
                .collect();
            for child in children {
                let mut status = 0;
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0);
            }
            processes
        }
    };
    case.results.push(shared.result(workers));
}

/// Functions that hardware serves here; where it serves none, others: the cost is the same.
fn hardware() -> [(Tally, Direction); 4] {
    let hard = |f| (Tally::new(f, 128).path() == Path::Hardware).then_some(Tally::new(f, 128));
    let found: Vec<Tally> = Function::ALL.iter().filter_map(|f| hard(*f)).collect();
    let pick = |i: usize| found.get(i % found.len().max(1)).copied().unwrap_or(Tally::new(Function::ALL[i], 0));
    session(pick(0), pick(1), pick(2))
}

fn software() -> [(Tally, Direction); 4] {
    let soft = |f| Tally::delegated(f, 0);
    session(soft(Function::DesCbc), soft(Function::Md5), soft(Function::Sha512))
}

fn session(cipher: Tally, digest: Tally, other: Tally) -> [(Tally, Direction); 4] {
    use Direction::*;
    [(cipher, Encrypt), (digest, Encrypt), (cipher, Decrypt), (other, Encrypt)]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut json = None;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(arguments.next().expect("--json takes a file")),
            "--bench" | "--test" => {}
            other => panic!("unknown option {other}"),
        }
    }
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("ADJUNCT_STATS_KEY", format!("{:x}", 0xbe00_0000 | std::process::id()));
        std::env::set_var("ADJUNCT_STATS", "on");
    }
    counters::open();

    let (hard, soft) = (Work::Counted(hardware()), Work::Counted(software()));
    let same = Work::Counted([hardware()[0]; 4]);
    let case = |name, work, place| Case { name, work, place, results: Vec::new() };
    let mut cases = [
        case("counted call, 1 thread", hard, Where::Threads(1)),
        case("counted call, 2 threads", hard, Where::Threads(2)),
        case("counted call, 8 threads", hard, Where::Threads(WORKERS)),
        case("counted call, 8 processes", hard, Where::Processes(WORKERS)),
        case("counted software call, 1 thread", soft, Where::Threads(1)),
        case("counted software call, 8 processes", soft, Where::Processes(WORKERS)),
        case("same counter, 1 thread", same, Where::Threads(1)),
        case("same counter, 8 processes", same, Where::Processes(WORKERS)),
        case("context and counted call, 1 thread", Work::AttributeAndCount(hardware()), Where::Threads(1)),
        case("attribute_now, 1 thread", Work::AttributeNow, Where::Threads(1)),
        case("one shared atomic, 1 process", Work::SharedAtomic, Where::Processes(1)),
        case("one shared atomic, 8 processes", Work::SharedAtomic, Where::Processes(WORKERS)),
    ];
    for _ in 0..REPEATS {
        cases.iter_mut().for_each(run);
    }
    check(&cases);

    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    println!("{}, {cpus} CPUs; ns of CPU time per call, median of {REPEATS} interleaved repeats", cpu::model_name());
    let mut rows = Vec::new();
    for case in &mut cases {
        let middle = median(&mut case.results);
        let (least, most) = (case.results[0], case.results[REPEATS - 1]);
        println!("  {:<36} {middle:>8.2}   ({least:.2} to {most:.2})", case.name);
        rows.push(format!("{{\"case\":\"{}\",\"ns\":{middle:.3},\"least\":{least:.3},\"most\":{most:.3}}}", case.name));
    }
    if let Some(file) = json {
        let cpu = cpu::model_name().replace(['"', '\\'], " ");
        let text = format!("{{\"cpu\":\"{cpu}\",\"cpus\":{cpus},\"rows\":[\n{}\n]}}\n", rows.join(",\n"));
        std::fs::write(&file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
}

/// Checks that all calls were counted, to the last one.
fn check(cases: &[Case]) {
    let calls = |case: &Case| {
        let (Where::Threads(workers) | Where::Processes(workers)) = case.place;
        match case.work {
            Work::Counted(_) | Work::AttributeAndCount(_) => workers as u64 * CALLS * case.results.len() as u64,
            _ => 0,
        }
    };
    let uid = unsafe { libc::geteuid() };
    let Some(snapshot) = counters::read(uid).unwrap() else {
        panic!("no counters here: what was measured is not counting")
    };
    let counted: u64 =
        Function::ALL.iter().map(|f| snapshot.function(*f)).map(|c| c.hardware_calls() + c.software_calls()).sum();
    assert_eq!(counted, cases.iter().map(calls).sum::<u64>());
    counters::delete(uid).unwrap();
}
