//! `--seconds` of benchmarks.

/// Parses `--seconds`.
pub(crate) fn parse(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.001..=3600.0).contains(&value) => Ok(value),
        _ => Err("a number from 0.001 to 3600".to_owned()),
    }
}
