//! The median of repetitions of one measurement, and its error.

use serde::{Deserialize, Serialize};

/// A median with its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle of the values.
    pub median: f64,
    /// How far the true median may well be from it, either way (about 95 % sure): Student's t times the standard error of a
    /// median. The fewer values, the less they say of how far they scatter, and the wider this is.
    pub error: f64,
    /// How many values there are.
    pub count: usize,
}

impl Spread {
    /// Makes the spread of `values`; without values 0, with an infinite error.
    pub fn of(values: &[f64]) -> Spread {
        let count = values.len();
        let middle = median(values.iter().copied());
        let error = match count {
            0 => f64::INFINITY,
            // One value says nothing of its error.
            1 => middle.abs(),
            _ => deviation(values, middle) * standard_errors(count),
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

    /// The difference to `base`, which was measured separately.
    #[must_use]
    pub fn less(self, base: Spread) -> Spread {
        let error = quadrature(self.error, base.error);
        Spread { median: self.median - base.median, error, count: self.count.min(base.count) }
    }

    /// Whether the value is less than `other` by more than both errors, and by more than one in fifty: slow changes (the clock frequency, load of
    /// other virtual machines) do not show in the spread of one run.
    pub fn clearly_below(&self, other: &Spread) -> bool {
        let doubt = quadrature(self.error, other.error).max(other.median.abs() * 0.02);
        self.median + doubt < other.median
    }
}

/// The error of a sum or difference of two values, each with its own. Not by [`f64::hypot`]: glibc gave that a new version in 2.35, and the
/// command would ask for that glibc for its sake alone, where RHEL 9 has 2.34.
fn quadrature(one: f64, other: f64) -> f64 {
    (one * one + other * other).sqrt()
}

/// Gives rows that were measured in the same rounds a common measure of their scatter: each alone has few values, all together have many. A row that
/// scatters far more than the rest keeps its own, wider error.
pub fn pool(rows: &mut [&mut Spread]) {
    const APART: f64 = 2.5;
    let scatter = |row: &Spread| row.error / standard_errors(row.count) / row.median;
    let told = |row: &Spread| row.count > 1 && row.median > 0.0;
    let mut squares: Vec<f64> = Vec::new();
    let mut freedom = 0;
    for row in rows.iter().filter(|row| told(row)) {
        squares.push(scatter(row).powi(2) / middle_of_squares(row.count - 1));
        freedom += row.count - 1;
    }
    // Too few to say more than each says of itself.
    if freedom < 8 {
        return;
    }
    // The middle, not the mean: a few disturbed rows say nothing of the others.
    let common = median(squares).sqrt();
    for row in rows.iter_mut().filter(|row| told(row)) {
        if scatter(row) < common * APART {
            row.error = common * row.median * 2.0 * MEDIAN / (row.count as f64).sqrt();
        }
    }
}

/// The median of the square of a standard deviation of few values, where that of many is 1: the chi-squared distribution's,
/// by Wilson and Hilferty.
fn middle_of_squares(freedom: usize) -> f64 {
    let part = 2.0 / (9.0 * freedom as f64);
    (1.0 - part).powi(3)
}

/// How much wider than that of a mean the standard error of a median is, for normal errors.
const MEDIAN: f64 = 1.2533;

/// Student's t (95 %, two-sided) over the root of the number of values, for a median.
fn standard_errors(count: usize) -> f64 {
    const T: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    let t = T.get(count.saturating_sub(2)).copied().unwrap_or(2.1);
    t * MEDIAN / (count as f64).sqrt()
}

/// The standard deviation of values: from the median absolute deviation where there are enough, so that one
/// disturbed value does not count.
fn deviation(values: &[f64], middle: f64) -> f64 {
    let n = values.len() as f64;
    if values.len() < 7 {
        let mean = values.iter().sum::<f64>() / n;
        return (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    }
    // 1.4826 makes it a standard deviation, for normal errors.
    1.4826 * median(values.iter().map(|v| (v - middle).abs()))
}

/// The middle of `values`; 0 of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median([]), 0.0);
    }

    #[test]
    fn the_error_covers_what_the_values_differ() {
        let few = Spread::of(&[3.0, 1.0, 2.0]);
        assert_eq!((few.median, few.count), (2.0, 3));
        assert!(few.error > 3.0 && few.error < 3.2, "{few:?}");
        let two = Spread::of(&[1.0, 3.0]);
        assert!(two.error > 10.0, "two values say little: {two:?}");
        let many = Spread::of(&[10.0, 11.0, 9.0, 10.0, 10.5, 9.5, 10.0, 50.0, 10.2]);
        assert_eq!(many.median, 10.0);
        assert!(many.error > 0.1 && many.error < 1.0, "an outlier does not widen it: {many:?}");
        assert!(Spread::of(&[]).error.is_infinite());
        assert_eq!(Spread::of(&[5.0]).error, 5.0);
    }

    #[test]
    fn rows_of_the_same_rounds_share_their_scatter() {
        let mut lucky = Spread::of(&[1.0, 1.0, 1.0]);
        let mut rows: Vec<Spread> = (0..9).map(|_| Spread::of(&[9.0, 10.0, 11.0])).collect();
        let mut wild = Spread::of(&[1.0, 10.0, 100.0]);
        let alone = wild;
        {
            let mut all: Vec<&mut Spread> = rows.iter_mut().chain([&mut lucky]).collect();
            pool(&mut all);
        }
        assert!(lucky.error > 0.1 && rows[0].error < 2.0 && rows[0].error > 1.0, "{lucky:?} {rows:?}");
        let mut all: Vec<&mut Spread> = rows.iter_mut().chain([&mut wild]).collect();
        pool(&mut all);
        assert_eq!(wild, alone);
        let mut single = Spread::of(&[1.0, 2.0]);
        let kept = single;
        pool(&mut [&mut single]);
        assert_eq!(single, kept);
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
