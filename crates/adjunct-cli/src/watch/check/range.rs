//! Ranges of thresholds, as the Monitoring Plugins Development Guidelines write them: an alert is for values outside of one, or inside
//! behind an `@`.

use std::fmt;
use std::str::FromStr;

/// `[@][start:][end]`: `10` is 0 to 10, `10:` from 10 on, `~:10` up to 10, `10:20` from 10 to 20; the ends belong to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Range {
    text: String,
    inside: bool,
    start: f64,
    end: f64,
}

impl Range {
    /// Whether there is to be an alert for `value`.
    pub(super) fn alerts(&self, value: f64) -> bool {
        (self.start <= value && value <= self.end) == self.inside
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let number = |text: &str, none: f64| match text {
            "" => Some(none),
            text => text.parse::<f64>().ok().filter(|number| number.is_finite()),
        };
        let (inside, rest) = text.strip_prefix('@').map_or((false, text), |rest| (true, rest));
        let (start, end) = match rest.split_once(':') {
            Some(("~", end)) => (Some(f64::NEG_INFINITY), end),
            Some((start, end)) => (number(start, 0.0), end),
            None => (Some(0.0), rest),
        };
        let end = number(end, f64::INFINITY);
        match (start, end) {
            (Some(start), Some(end)) if start <= end && !rest.is_empty() => {
                Ok(Range { text: text.to_owned(), inside, start, end })
            }
            _ => Err("a range is needed, as 10 (0 to 10 is well), 10: (10 and more is well), 10:20, or @10:20 (10 to 20 is not)".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the guidelines.
    #[test]
    fn ranges_of_the_guidelines() {
        for (range, alerts, is_well) in [
            ("10", &[-1.0, 10.1][..], &[0.0, 10.0][..]),
            ("10:", &[9.9, -5.0], &[10.0, 1e9]),
            ("~:10", &[10.5], &[-1e9, 10.0]),
            ("10:20", &[9.0, 21.0], &[10.0, 20.0]),
            ("@10:20", &[10.0, 15.0, 20.0], &[9.0, 21.0]),
            (":5", &[-1.0, 6.0], &[0.0, 5.0]),
        ] {
            let parsed: Range = range.parse().unwrap();
            assert_eq!(parsed.to_string(), range);
            assert!(alerts.iter().all(|&value| parsed.alerts(value)), "{range}");
            assert!(!is_well.iter().any(|&value| parsed.alerts(value)), "{range}");
        }
        for wrong in ["", "@", "x", "20:10", "1:2:3", "nan", "inf", "10%"] {
            assert!(wrong.parse::<Range>().is_err(), "{wrong}");
        }
    }
}
