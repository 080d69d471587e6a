//! What watches adjunct: `adjunct exporter` for Prometheus, `adjunct check` for monitors, `adjunct top` for people.
//!
//! All of them read what is counted anyway ([`sample`]), by the readers of `adjunct stats` and `adjunct cards`; nothing is counted for them.

pub mod exporter;
pub(crate) mod sample;
