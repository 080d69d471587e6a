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

/// Checks two ranges of a share in percent: each limit must be a possible share, and the two must not be exchanged, so that everything that warns is
/// critical and more is.
///
/// # Errors
/// The one line to show.
pub(super) fn agree(warning: Option<&Range>, critical: Option<&Range>) -> Result<(), String> {
    let ranges = [("--warning", warning), ("--critical", critical)];
    for (option, range) in ranges.into_iter().filter_map(|(option, range)| Some((option, range?))) {
        let beyond = |end: f64| end.is_finite() && !(0.0..=100.0).contains(&end);
        if beyond(range.start) || beyond(range.end) {
            return Err(format!("{option} {range}: the share of software is between 0 and 100 percent"));
        }
    }
    let (Some(warning), Some(critical)) = (warning, critical) else { return Ok(()) };
    // A range changes its answer only at its ends: those, and a share on either side of each, show all that it says.
    let ends = [0.0, 100.0, warning.start, warning.end, critical.start, critical.end];
    let mut ends: Vec<f64> = ends.into_iter().filter(|end| (0.0..=100.0).contains(end)).collect();
    ends.sort_by(f64::total_cmp);
    let between = ends.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    let shares: Vec<f64> = ends.iter().copied().chain(between).collect();
    let warns = |share: &f64| warning.alerts(*share);
    let alarms = |share: &f64| critical.alerts(*share);
    let never_told = shares.iter().any(warns) && shares.iter().filter(|share| warns(share)).all(alarms);
    if never_told && shares.iter().any(|share| alarms(share) && !warns(share)) {
        return Err(format!(
            "--warning {warning} --critical {critical}: there would be no warning, as all that warns is critical; exchange them?"
        ));
    }
    Ok(())
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

    #[test]
    fn ranges_that_contradict_each_other_are_refused() {
        let agree =
            |warning: &str, critical: &str| agree(Some(&warning.parse().unwrap()), Some(&critical.parse().unwrap()));
        // More software is worse, less is, what lies outside is, what lies inside is.
        for (warning, critical) in [
            ("20", "80"),
            ("20", "20"),
            ("50:", "20:"),
            ("20:80", "10:90"),
            ("@20:80", "@40:60"),
            ("20", "50:"),
            ("100", "100"),
            ("~:20", "0:80"),
        ] {
            assert_eq!(agree(warning, critical), Ok(()), "{warning} {critical}");
        }
        for (warning, critical) in
            [("80", "20"), ("20:", "50:"), ("10:90", "20:80"), ("@40:60", "@20:80"), ("80", "0:20")]
        {
            let line = agree(warning, critical).unwrap_err();
            assert!(line.contains("there would be no warning"), "{line}");
        }
        for (warning, critical) in [("20", "150"), ("101:", "50"), ("-5:", "50")] {
            assert!(agree(warning, critical).unwrap_err().contains("between 0 and 100"), "{warning} {critical}");
        }
    }

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
