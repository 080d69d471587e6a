//! What every report says first: the machine, the libraries, when and how.

use adjunct::cpu;
use adjunct_bench::libcrypto::Functions;
use adjunct_bench::measure::Plan;
use serde::Serialize;
use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine, the libraries, when and how.
#[derive(Debug, Serialize)]
pub struct Header {
    cpu: String,
    features: Vec<&'static str>,
    /// The version of the libcrypto that adjunct is loaded into.
    pub openssl: String,
    /// Version of the libcrypto of the stock side, where it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Version of the newest OpenSSL, where one is measured too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    adjunct: &'static str,
    date: String,
    slice_ms: f64,
    repeats: usize,
    /// The clock of the slices: `CPU` or `wall`.
    pub clock: &'static str,
}

impl Header {
    /// The header of a report that starts now.
    pub fn new(library: &Functions, plan: Plan) -> Header {
        Header {
            cpu: cpu::model_name(),
            features: cpu::features().iter().map(|f| f.text()).collect(),
            openssl: library.version(),
            against: None,
            newest: None,
            adjunct: env!("CARGO_PKG_VERSION"),
            date: now(),
            slice_ms: plan.slice.as_secs_f64() * 1e3,
            repeats: plan.repeats,
            clock: "CPU",
        }
    }

    /// The header as lines for people.
    pub fn text(&self) -> String {
        let mut out = format!("{}, {}\n{}", self.cpu, self.features.join(" "), self.openssl);
        if let Some(stock) = &self.against {
            let _ = write!(out, ", stock is {stock}");
        }
        let _ =
            writeln!(out, "; medians of {} slices of {:.1} ms {} time each", self.repeats, self.slice_ms, self.clock);
        if let Some(newest) = &self.newest {
            let _ = writeln!(out, "newest: {newest}");
        }
        out
    }
}

/// The time now, `2026-01-31T12:00:00Z`.
pub(super) fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil(seconds / 86400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar.
pub(crate) fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    loop {
        let length = 365 + u64::from(leap(year));
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_088), (2024, 12, 31));
        assert_eq!(civil(20_089), (2025, 1, 1));
    }
}
