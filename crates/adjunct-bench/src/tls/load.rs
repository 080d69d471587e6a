//! The load: many TLS clients at once.

use super::{Client, Transaction};
use crate::Error;
use crate::crew::{self, Slice};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LEAD_IN: u8 = 0;
const COUNTED: u8 = 1;
const OVER: u8 = 2;
/// How much longer than it is to be a slice may last in which nothing was done yet: the machine has no time for it.
const PATIENCE: u32 = 20;
/// How long a client waits after a transaction that failed: a server that is gone is not asked in a busy loop.
const PAUSE: Duration = Duration::from_millis(5);

/// The results of a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Loaded {
    /// Transactions, and the times from connecting to the end. `cpu` is that of this process, the load; `others` what was asked of the
    /// servers.
    pub slice: Slice,
    /// Transactions that count and whose session was resumed.
    pub resumed: u64,
    /// Transactions that failed, with those of the lead-in.
    pub errors: u64,
    /// The error of the first transaction that failed.
    pub error: String,
}

/// The results of one client.
#[derive(Default)]
struct Done {
    times: Vec<u64>,
    all: u64,
    resumed: u64,
    errors: u64,
    error: String,
}

/// Has `clients` clients do transactions, for `lead_in` and then for `length`, which counts, or until the first is done. `servers` gives the CPU time
/// of the servers so far.
///
/// # Errors
/// [`Error::Operation`] where a client cannot be made.
pub fn run(
    transaction: &Transaction,
    clients: usize,
    lead_in: Duration,
    length: Duration,
    servers: impl Fn() -> Duration,
) -> Result<Loaded, Error> {
    let made: Vec<Box<dyn Client>> = (0..clients).map(|_| transaction.client(false)).collect::<Result<_, _>>()?;
    let (phase, ready, counted) = (AtomicU8::new(LEAD_IN), AtomicUsize::new(0), AtomicUsize::new(0));
    let (phase, ready, counted) = (&phase, &ready, &counted);
    let own = || crew::cpu_time(std::process::id().cast_signed());
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            made.into_iter().map(|client| scope.spawn(move || one(client, phase, ready, counted))).collect();
        std::thread::sleep(lead_in);
        // A server that makes processes for its clients may take longer to serve each once.
        let begin = Instant::now();
        while ready.load(Relaxed) < clients && begin.elapsed() < lead_in * 4 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Looking at all processes takes time, during which they go on: each reading has a time of its own.
        let read = || (Instant::now(), own(), servers());
        let (begin, cpu, others) = read();
        let from = Instant::now();
        phase.store(COUNTED, Relaxed);
        std::thread::sleep(length);
        while counted.load(Relaxed) == 0 && from.elapsed() < length * PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (end, cpu_end, others_end) = read();
        phase.store(OVER, Relaxed);
        let wall = from.elapsed();
        let part = wall.as_secs_f64() / (end - begin).as_secs_f64().max(1e-9);
        let cpu = cpu_end.saturating_sub(cpu).mul_f64(part);
        let others = others_end.saturating_sub(others).mul_f64(part);
        let mut loaded = Loaded::default();
        let mut times = Vec::new();
        for thread in threads {
            let Ok(done) = thread.join() else { return Err(Error::Operation("a client panicked".to_owned())) };
            times.extend(done.times);
            loaded.slice.all += done.all;
            loaded.resumed += done.resumed;
            loaded.errors += done.errors;
            if loaded.error.is_empty() {
                loaded.error = done.error;
            }
        }
        loaded.slice = Slice { wall, cpu, others, ..Slice::of_times(&times, loaded.slice.all) };
        Ok(loaded)
    })
}

fn one(mut client: Box<dyn Client>, phase: &AtomicU8, ready: &AtomicUsize, counted: &AtomicUsize) -> Done {
    let mut done = Done::default();
    let mut first = true;
    while phase.load(Relaxed) != OVER {
        let begin = Instant::now();
        let resumed = client.once();
        let time = begin.elapsed();
        if std::mem::take(&mut first) {
            ready.fetch_add(1, Relaxed);
        }
        match resumed {
            Ok(resumed) => {
                done.all += 1;
                if phase.load(Relaxed) == COUNTED {
                    counted.fetch_add(1, Relaxed);
                    done.times.push(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
                    done.resumed += u64::from(resumed);
                }
            }
            Err(words) => {
                done.errors += 1;
                if done.error.is_empty() {
                    done.error = words;
                }
                std::thread::sleep(PAUSE);
            }
        }
    }
    done
}
