//! What every report says first: the machine, the libraries, when and how.

use crate::libcrypto::Functions;
use crate::measure::Plan;
use adjunct::cpu;
use serde::Serialize;
use std::fmt::Write;

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
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
