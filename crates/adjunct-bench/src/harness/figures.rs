//! What slices tell: medians, quartiles, percentiles, and whether two values that were measured several times differ or only by chance, by
//! which reports colour their ratios.

use adjunct_tool::output::Style;

pub use adjunct_cli::ssh::measure::spread::median;

/// Rates of slices: their median, and the slowest and the fastest over it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// The median.
    pub median: f64,
    /// The slowest over the median.
    pub slowest: f64,
    /// The fastest over the median.
    pub fastest: f64,
}

impl Rates {
    /// Makes the figures of these rates; a median of 0 becomes the least number above 0, so that a division by it is possible.
    pub fn of(rates: impl IntoIterator<Item = f64>) -> Rates {
        let rates: Vec<f64> = rates.into_iter().collect();
        let (low, high) = rates.iter().fold((f64::MAX, 0.0_f64), |(low, high), &r| (low.min(r), high.max(r)));
        let median = median(rates).max(f64::MIN_POSITIVE);
        Rates { median, slowest: low / median, fastest: high / median }
    }

    /// Half the way from the slowest to the fastest, as a part of the median.
    pub fn half(self) -> f64 {
        (self.fastest - self.slowest) / 2.0
    }
}

/// The value that `percent` of the sorted values are at most; 0 of none.
pub fn percentile(sorted: &[u32], percent: usize) -> u32 {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or(0)
}

/// A value measured several times.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The median.
    pub median: f64,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
    /// The single values.
    pub values: &'a [f64],
}

impl<'a> Sample<'a> {
    /// Makes a sample of `values`; `None` without values.
    pub fn of(values: &'a [f64]) -> Option<Sample<'a>> {
        let [low, median, high] = quartiles(values)?;
        Some(Sample { median, low, high, values })
    }
}

/// The first quartile, the median and the third quartile, between the values where they fall there; `None` of no values.
pub fn quartiles(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some([0.25, 0.5, 0.75].map(|share| {
        let place = share * last as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + (above - below) * place.fract()
    }))
}

/// The verdict on two values that were measured several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The first is better.
    Better,
    /// The first is worse.
    Worse,
    /// No difference that can be told from chance.
    Same,
}

impl Verdict {
    /// The verdict's class in the style sheet of pages.
    pub fn class(self) -> &'static str {
        match self {
            Verdict::Better => "good",
            Verdict::Worse => "bad",
            Verdict::Same => "same",
        }
    }

    /// Text on a terminal in its colour.
    pub fn paint(self, style: Style, text: &str) -> String {
        match self {
            Verdict::Better => style.good(text),
            Verdict::Worse => style.bad(text),
            Verdict::Same => style.faint(text),
        }
    }

    /// Compares `ours` with `theirs`. There is a difference only where the whiskers (the quartiles) do not overlap, where it is about 95 % sure by
    /// the ranks of the runs (Mann and Whitney's test, for which 3 runs of each are the fewest), and where it is more than 2 %: slow changes (the
    /// clock frequency, load of other virtual machines) do not show in the spread of one run.
    pub fn of(ours: Sample<'_>, theirs: Sample<'_>, more_is_better: bool) -> Verdict {
        let apart = ours.low > theirs.high || theirs.low > ours.high;
        let much = (ours.median - theirs.median).abs() > 0.02 * theirs.median.abs();
        if !apart || !much || ranks(ours.values, theirs.values) < 1.96 {
            return Verdict::Same;
        }
        if (ours.median > theirs.median) == more_is_better { Verdict::Better } else { Verdict::Worse }
    }
}

/// How far the ranks of two sets of values are from those of chance, in standard deviations.
fn ranks(a: &[f64], b: &[f64]) -> f64 {
    let wins =
        a.iter().flat_map(|a| b.iter().map(move |b| if a > b { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 }));
    let (n, m) = (a.len() as f64, b.len() as f64);
    (wins.sum::<f64>() - n * m / 2.0).abs() / (n * m * (n + m + 1.0) / 12.0).sqrt().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_a_median_and_what_is_around_it() {
        assert_eq!(Rates::of([10.0, 5.0, 20.0]), Rates { median: 10.0, slowest: 0.5, fastest: 2.0 });
        assert_eq!(Rates::of([10.0, 5.0, 20.0]).half(), 0.75);
    }

    #[test]
    fn the_percentiles_of_nothing_one_and_many() {
        assert_eq!(percentile(&[], 50), 0);
        assert_eq!(percentile(&[3], 99), 3);
        let all: Vec<u32> = (1..=100).collect();
        assert_eq!((percentile(&all, 50), percentile(&all, 99)), (50, 99));
    }

    #[test]
    fn a_difference_is_told_only_where_it_is_sure() {
        let of = |values: &'static [f64]| Sample::of(values).unwrap();
        let verdict = |a, b| Verdict::of(of(a), of(b), true);
        assert_eq!(verdict(&[3.0, 3.1, 3.2], &[1.0, 1.1, 1.2]), Verdict::Better);
        assert_eq!(verdict(&[1.0, 1.1, 1.2], &[3.0, 3.1, 3.2]), Verdict::Worse);
        assert_eq!(Verdict::of(of(&[1.0, 1.1, 1.2]), of(&[3.0, 3.1, 3.2]), false), Verdict::Better);
        // Whiskers that overlap, too few runs, less than 2 %.
        assert_eq!(verdict(&[3.0, 3.1, 1.0], &[2.9, 3.05, 3.3]), Verdict::Same);
        assert_eq!(verdict(&[3.0, 3.1], &[1.0, 1.1]), Verdict::Same);
        assert_eq!(verdict(&[1.01, 1.01, 1.01], &[1.0, 1.0, 1.0]), Verdict::Same);
        // Of five runs one was disturbed.
        assert_eq!(verdict(&[2.0, 2.1, 2.2, 2.1, 1.15], &[1.0, 1.1, 1.2, 1.1, 1.0]), Verdict::Better);
        assert!(Sample::of(&[]).is_none());
    }
}
