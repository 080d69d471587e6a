//! What is counted, as text for Prometheus.

use crate::service::CALLS;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tonic::Code;

/// Names of the codes of gRPC, by number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
/// Upper ends of the classes of latency, in microseconds, and their names in seconds.
const CLASSES: [(u64, &str); 10] = [
    (250, "0.00025"),
    (500, "0.0005"),
    (1000, "0.001"),
    (2500, "0.0025"),
    (5000, "0.005"),
    (10_000, "0.01"),
    (50_000, "0.05"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (10_000_000, "10"),
];

#[derive(Default)]
struct OfCall {
    codes: [AtomicU64; CODES.len()],
    classes: [AtomicU64; CLASSES.len()],
    microseconds: AtomicU64,
    running: AtomicU64,
}

/// What is counted.
pub struct Metrics {
    calls: BTreeMap<&'static str, OfCall>,
    refused: AtomicU64,
    /// Connections now.
    pub connections: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let calls = CALLS.iter().map(|name| (*name, OfCall::default())).collect();
        Metrics { calls, refused: AtomicU64::new(0), connections: AtomicU64::new(0) }
    }
}

/// A call that runs: one that is dropped was given up by its caller.
pub struct Running<'a> {
    of: Option<&'a OfCall>,
    since: Instant,
    ended: bool,
}

impl Running<'_> {
    fn count(&mut self, code: Code) -> Duration {
        let took = self.since.elapsed();
        if let Some(of) = self.of.filter(|_| !self.ended) {
            let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            if let Some(class) = CLASSES.iter().position(|(end, _)| microseconds <= *end) {
                of.classes[class].fetch_add(1, Relaxed);
            }
            of.codes[code as usize % CODES.len()].fetch_add(1, Relaxed);
            of.microseconds.fetch_add(microseconds, Relaxed);
            of.running.fetch_sub(1, Relaxed);
        }
        self.ended = true;
        took
    }

    /// Counts how it ended; how long it took.
    pub fn end(mut self, code: Code) -> Duration {
        self.count(code)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.count(Code::Cancelled);
    }
}

impl Metrics {
    /// Notes that a call begins.
    pub fn begin(&self, name: &'static str) -> Running<'_> {
        let of = self.calls.get(name);
        if let Some(of) = of {
            of.running.fetch_add(1, Relaxed);
        }
        Running { of, since: Instant::now(), ended: false }
    }

    /// Counts a call without a token that is known.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// All counts, as Prometheus reads them. Calls that nobody has made are left out.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            _ = writeln!(out, "# HELP adjunct_grep11_{name} {help}\n# TYPE adjunct_grep11_{name} {kind}");
        };
        let used = || {
            let sum = |of: &OfCall| of.codes.iter().map(|count| count.load(Relaxed)).sum::<u64>();
            self.calls.iter().map(move |(name, of)| (*name, of, sum(of))).filter(|(.., all)| *all > 0)
        };
        head(&mut out, "calls_total", "counter", "Calls that ended, by name and code of gRPC.");
        for (name, of, _) in used() {
            for (code, count) in CODES.iter().zip(&of.codes).map(|(code, count)| (code, count.load(Relaxed))) {
                if count > 0 {
                    _ = writeln!(out, "adjunct_grep11_calls_total{{call=\"{name}\",code=\"{code}\"}} {count}");
                }
            }
        }
        head(&mut out, "call_seconds", "histogram", "How long calls took, their wait for a slot included.");
        for (name, of, all) in used() {
            let mut below = 0;
            for ((_, end), count) in CLASSES.iter().zip(&of.classes) {
                below += count.load(Relaxed);
                _ = writeln!(out, "adjunct_grep11_call_seconds_bucket{{call=\"{name}\",le=\"{end}\"}} {below}");
            }
            let seconds = Duration::from_micros(of.microseconds.load(Relaxed)).as_secs_f64();
            _ = writeln!(out, "adjunct_grep11_call_seconds_bucket{{call=\"{name}\",le=\"+Inf\"}} {all}");
            _ = writeln!(out, "adjunct_grep11_call_seconds_sum{{call=\"{name}\"}} {seconds}");
            _ = writeln!(out, "adjunct_grep11_call_seconds_count{{call=\"{name}\"}} {all}");
        }
        let running: u64 = self.calls.values().map(|of| of.running.load(Relaxed)).sum();
        head(&mut out, "running", "gauge", "Calls that run or wait for a slot.");
        _ = writeln!(out, "adjunct_grep11_running {running}");
        head(&mut out, "connections", "gauge", "Connections.");
        _ = writeln!(out, "adjunct_grep11_connections {}", self.connections.load(Relaxed));
        head(&mut out, "refused_total", "counter", "Calls without a token that the server knows.");
        _ = writeln!(out, "adjunct_grep11_refused_total {}", self.refused.load(Relaxed));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_once_however_they_end() {
        let metrics = Metrics::default();
        metrics.begin("SignSingle").end(Code::Ok);
        metrics.begin("SignSingle").end(Code::InvalidArgument);
        drop(metrics.begin("SignSingle"));
        let running = metrics.begin("Digest");
        let text = metrics.text();
        for line in [
            "adjunct_grep11_calls_total{call=\"SignSingle\",code=\"OK\"} 1",
            "adjunct_grep11_calls_total{call=\"SignSingle\",code=\"INVALID_ARGUMENT\"} 1",
            "adjunct_grep11_calls_total{call=\"SignSingle\",code=\"CANCELLED\"} 1",
            "adjunct_grep11_call_seconds_count{call=\"SignSingle\"} 3",
            "adjunct_grep11_call_seconds_bucket{call=\"SignSingle\",le=\"+Inf\"} 3",
            "adjunct_grep11_running 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("Digest"));
        drop(running);
        assert!(metrics.text().contains("adjunct_grep11_running 0"));
    }
}
