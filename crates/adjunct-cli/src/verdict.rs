//! Whether two values that were measured several times differ, or only by chance: what reports colour their ratios by.

/// A value measured several times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
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
pub(crate) fn quartiles(values: &[f64]) -> Option<[f64; 3]> {
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
pub(crate) enum Verdict {
    /// The first is better.
    Better,
    /// The first is worse.
    Worse,
    /// No difference that can be told from chance.
    Same,
}

impl Verdict {
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
