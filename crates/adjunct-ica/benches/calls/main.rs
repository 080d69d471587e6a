//! What a call of libica costs: `cargo bench -p adjunct-ica --bench calls [-- WORD... --json FILE]`.
//!
//! Each function is called as a C program calls it, in `libica.so.4`, with counters of its own, and takes its key with every call.
//! Beside it, in turn, in slices of the thread's CPU time:
//! * *kernel*: the core's code, given the same key anew each time: what the interface may add to it is its own cost;
//! * *keyed*: the same with its key set before, which the interface has no place for;
//! * *OpenSSL*: EVP as a program would otherwise call it: a new context with the key for each message.
//!
//! Of each the median; all four must give the same bytes. *Adds* is what the interface takes beyond the kernel, of 16 bytes as of many. *Least* is
//! the fastest slice of the interface: on a shared machine the time of a call while the core's other thread is idle. Words choose the rows they occur
//! in.
#![allow(clippy::undocumented_unsafe_blocks, reason = "calls of C functions on this program's own buffers")]

mod cases;
mod interface;
mod openssl;

#[path = "../../tests/common/mod.rs"]
mod common;

use std::time::Duration;

const SIZES: [usize; 2] = [16, 16384];
const SLICE: Duration = Duration::from_millis(2);
const REPEATS: usize = 21;

/// Does the operation so often, from the input to the output.
pub type Run = Box<dyn FnMut(u64, &[u8], &mut [u8])>;

/// A row: the same work of all sides.
pub struct Row {
    input: Vec<u8>,
    sides: [Option<Run>; 4],
}

/// Bytes that begin at a page, as all sides' input and output do. Where an output lies a few bytes behind its input modulo 4096, loads wait for
/// stores that they do not depend on, for a time that is chance.
struct Pages {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Pages {
    fn new(length: usize) -> Pages {
        const PAGE: usize = 4096;
        let bytes = vec![0; length + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        Pages { bytes, start, length }
    }

    fn all(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..self.length]
    }
}

/// Nanoseconds a call of each side: the interface, the kernel, the kernel with its key set, OpenSSL. The median, and the least.
fn measure(row: &mut Row, room: usize) -> [Option<(f64, f64)>; 4] {
    let mut proof: Option<Vec<u8>> = None;
    let mut counts = [0u64; 4];
    let (mut input, mut output) = (Pages::new(row.input.len()), Pages::new(room));
    input.all().copy_from_slice(&row.input);
    let (input, output) = (input.all(), output.all());
    for (side, count) in row.sides.iter_mut().zip(&mut counts) {
        let Some(run) = side else { continue };
        output.fill(0);
        run(1, input, output);
        assert_eq!(output, proof.get_or_insert_with(|| output.to_vec()), "the sides differ");
        let mut tried = 1;
        *count = loop {
            let time = timed(run, tried, input, output);
            if time * 4 >= SLICE {
                break (tried as f64 * SLICE.as_secs_f64() / time.as_secs_f64()).max(1.0) as u64;
            }
            tried *= 4;
        };
    }
    let mut times = [const { Vec::new() }; 4];
    for repeat in 0..REPEATS {
        for step in 0..4 {
            // Another first each time, so that what changes slowly hits all alike.
            let which = (step + repeat) % 4;
            if let Some(run) = &mut row.sides[which] {
                let time = timed(run, counts[which], input, output);
                times[which].push(time.as_secs_f64() * 1e9 / counts[which] as f64);
            }
        }
    }
    times.map(|mut all| {
        all.sort_by(f64::total_cmp);
        Some((*all.get(all.len() / 2)?, *all.first()?))
    })
}

fn timed(run: &mut Run, count: u64, input: &[u8], output: &mut [u8]) -> Duration {
    let before = cpu_time();
    run(count, input, output);
    cpu_time() - before
}

fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() {
    let (mut words, mut json) = (Vec::new(), None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(arguments.next().expect("--json takes a file")),
            "--bench" | "--test" => {}
            _ => words.push(argument),
        }
    }
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("ADJUNCT_STATS_KEY", format!("{:x}", 0xbe10_0000 | std::process::id()));
        std::env::set_var("ADJUNCT_STATS", "on");
    };
    let library = common::libraries().join("libica.so.4");
    let (ica, openssl) = (interface::load(&library), openssl::load());
    let mut rows = Vec::new();
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    println!(
        "{}, {cpus} CPUs; {}; ns of CPU time a call, medians of {REPEATS} interleaved slices",
        adjunct::cpu::model_name(),
        openssl.version()
    );
    println!(
        "{:<26} {:>6} {:>9} {:>9} {:>8} {:>9} {:>7} {:>7} {:>9} {:>7} {:>9} {:>8}",
        "function", "bytes", "libica", "least", "GB/s", "kernel", "adds", "ratio", "keyed", "ratio", "OpenSSL", "times"
    );
    for case in cases::all(ica, openssl) {
        if !words.is_empty() && !words.iter().any(|word| case.title.contains(word.as_str())) {
            continue;
        }
        for size in SIZES {
            let mut row = (case.row)(size);
            let times = measure(&mut row, size + 64);
            let [Some((libica, least)), kernel, keyed, openssl] = times else { continue };
            let [kernel, keyed, openssl] = [kernel, keyed, openssl].map(|time| Some(time?.0));
            let text = |value: Option<f64>, digits: usize| value.map_or("-".to_owned(), |v| format!("{v:.digits$}"));
            println!(
                "{:<26} {size:>6} {libica:>9.1} {least:>9.1} {:>8.2} {:>9} {:>7} {:>7} {:>9} {:>7} {:>9} {:>8}",
                case.title,
                size as f64 / libica,
                text(kernel, 1),
                text(kernel.map(|k| libica - k), 1),
                text(kernel.map(|k| libica / k), 3),
                text(keyed, 1),
                text(keyed.map(|k| libica / k), 3),
                text(openssl, 1),
                text(openssl.map(|o| o / libica), 2),
            );
            let number = |value: Option<f64>| value.map_or("null".to_owned(), |v| format!("{v:.2}"));
            rows.push(format!(
                "{{\"function\":\"{}\",\"bytes\":{size},\"libica\":{libica:.2},\"least\":{least:.2},\"kernel\":{},\"keyed\":{},\"openssl\":{}}}",
                case.title,
                number(kernel),
                number(keyed),
                number(openssl)
            ));
        }
    }
    _ = adjunct::counters::delete(unsafe { libc::geteuid() });
    if let Some(file) = json {
        let cpu = adjunct::cpu::model_name().replace(['"', '\\'], " ");
        let text = format!("{{\"cpu\":\"{cpu}\",\"cpus\":{cpus},\"rows\":[\n{}\n]}}\n", rows.join(",\n"));
        std::fs::write(&file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
}
