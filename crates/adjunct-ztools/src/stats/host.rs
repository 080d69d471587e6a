//! The host block of the JSON reports.

use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine that reports, and the time.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// The host name.
    pub nodename: String,
    /// The kernel's name.
    pub sysname: String,
    /// The kernel's release.
    pub release: String,
    /// The architecture.
    pub machine: String,
    /// The time, ISO 8601 in UTC.
    pub date: String,
}

/// The facts of this machine, now.
pub fn facts() -> Host {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    Host {
        nodename: text(uname.nodename()),
        sysname: text(uname.sysname()),
        release: text(uname.release()),
        machine: text(uname.machine()),
        date: iso8601(now),
    }
}

/// Seconds since 1970 as `2026-11-21T08:38:39Z`, by the proleptic Gregorian calendar.
pub(super) fn iso8601(seconds: u64) -> String {
    let (days, rest) = (seconds / 86400, seconds % 86400);
    // Years are counted from 1 March of the year 0, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso8601(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(iso8601(1_795_250_319), "2026-11-21T08:38:39Z");
        assert_eq!(iso8601(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(iso8601(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
