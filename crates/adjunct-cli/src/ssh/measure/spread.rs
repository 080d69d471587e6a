//! What repetitions of one measurement tell, and how surely.

use serde::{Deserialize, Serialize};

/// A median with its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle of the values.
    pub median: f64,
    /// How far the true median may well be from it, either way (about 95 % sure): two standard errors of a median, taken
    /// from the median absolute deviation; with fewer than five values half of all they differ, which is the more cautious.
    pub error: f64,
    /// How many values there are.
    pub count: usize,
}

impl Spread {
    /// Of these values; of none, 0 with an infinite error.
    pub fn of(values: &[f64]) -> Spread {
        let count = values.len();
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = median(&sorted);
        let error = match count {
            0 => f64::INFINITY,
            // One value says nothing of its error: as much as two values may well differ here.
            1 => middle.abs() * 0.1,
            2..5 => (sorted[count - 1] - sorted[0]) / 2.0,
            _ => {
                let mut away: Vec<f64> = sorted.iter().map(|v| (v - middle).abs()).collect();
                away.sort_by(f64::total_cmp);
                // 1.4826 makes the deviation a standard deviation, 1.2533 that of a mean that of a median, for normal errors.
                2.0 * 1.2533 * 1.4826 * median(&away) / (count as f64).sqrt()
            }
        };
        Spread { median: middle, error, count }
    }

    /// The error as a part of the median.
    pub fn relative(&self) -> f64 {
        if self.median > 0.0 { self.error / self.median } else { f64::INFINITY }
    }

    /// Multiplied by a number that is known exactly.
    #[must_use]
    pub fn times(self, factor: f64) -> Spread {
        Spread { median: self.median * factor, error: self.error * factor.abs(), count: self.count }
    }

    /// What is left without `base`, measured on its own.
    #[must_use]
    pub fn less(self, base: Spread) -> Spread {
        let error = self.error.hypot(base.error);
        Spread { median: self.median - base.median, error, count: self.count.min(base.count) }
    }

    /// Whether it is less than `other` by more than both errors, and by more than one in fifty: what is slow to change
    /// (the clock frequency, a neighbour) is not in the spread of one run.
    pub fn clearly_below(&self, other: &Spread) -> bool {
        let doubt = self.error.hypot(other.error).max(other.median.abs() * 0.02);
        self.median + doubt < other.median
    }
}

/// The middle of sorted values; 0 of none.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_covers_what_the_values_differ() {
        let few = Spread::of(&[3.0, 1.0, 2.0]);
        assert_eq!((few.median, few.error, few.count), (2.0, 1.0, 3));
        let many = Spread::of(&[10.0, 11.0, 9.0, 10.0, 10.5, 9.5, 10.0, 50.0, 10.2]);
        assert_eq!(many.median, 10.0);
        assert!(many.error > 0.1 && many.error < 1.0, "an outlier does not widen it: {many:?}");
        assert!(Spread::of(&[]).error.is_infinite());
        assert_eq!(Spread::of(&[5.0]).error, 0.5);
    }

    #[test]
    fn only_what_is_clear_is_below() {
        let spread = |median, error| Spread { median, error, count: 9 };
        assert!(spread(1.0, 0.01).clearly_below(&spread(1.2, 0.01)));
        assert!(!spread(1.0, 0.15).clearly_below(&spread(1.2, 0.15)));
        assert!(!spread(1.0, 0.0).clearly_below(&spread(1.01, 0.0)), "one in a hundred is no difference");
        assert!(!spread(1.0, 0.0).clearly_below(&spread(1.0, 0.0)));
    }

    #[test]
    fn a_difference_carries_both_errors() {
        let left = Spread { median: 5.0, error: 3.0, count: 4 }.less(Spread { median: 1.0, error: 4.0, count: 9 });
        assert_eq!(left, Spread { median: 4.0, error: 5.0, count: 4 });
    }
}
