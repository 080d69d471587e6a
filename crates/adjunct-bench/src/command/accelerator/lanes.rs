//! Figures out of the histograms of lanes.

/// The mean of a histogram of batches with 1, 2, ... lanes filled; `None` of no batch.
pub fn mean(histogram: &[u64]) -> Option<f64> {
    let batches: u64 = histogram.iter().sum();
    let jobs: u64 = histogram.iter().zip(1..).map(|(count, lanes)| count * lanes).sum();
    (batches > 0).then(|| jobs as f64 / batches as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_batches() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[0; 8]), None);
        assert_eq!(mean(&[1, 0, 0, 0, 0, 0, 0, 3]), Some(6.25));
    }
}
