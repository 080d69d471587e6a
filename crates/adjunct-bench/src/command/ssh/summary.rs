//! The summary of a section: adjunct beside stock and beside software, over all its rows.

use super::report::{Figure, Measure, Section, number};

/// adjunct beside another side.
#[derive(Debug, Clone)]
pub struct Line {
    /// Name of the side that adjunct is compared with, for people.
    pub other: &'static str,
    /// The section's main measure and its CPU time, with the geometric mean of the rows' ratios.
    pub ratios: Vec<(Measure, f64)>,
    /// Number of rows that the mean is of.
    pub rows: usize,
}

impl Line {
    /// The line as a sentence: "adjunct to stock OpenSSL: throughput × 1.19, CPU time of both sides × 0.80 (means of 16 rows)".
    pub fn sentence(&self) -> String {
        let ratios = self.ratios.iter().map(|(measure, ratio)| format!("{} × {}", measure.title, number(*ratio, 2)));
        let rows = if self.rows == 1 { String::new() } else { format!(" (geometric means of {} rows)", self.rows) };
        format!("adjunct to {}: {}{rows}", self.other, ratios.collect::<Vec<_>>().join(", "))
    }
}

/// The lines of a section; none where nothing was compared, or where an earlier section has the same rows.
pub fn lines(section: &Section) -> Vec<Line> {
    type Ratio = fn(&Figure) -> Option<f64>;
    let sides: [(&str, Ratio); 2] =
        [("stock OpenSSL", |figure| figure.adjunct_to_stock), ("software", |figure| figure.adjunct_to_software)];
    let cpu = section.measures.iter().rfind(|m| m.id.starts_with("cpu"));
    let measures: Vec<&Measure> = section.measures.first().into_iter().chain(cpu).collect();
    let line = |(other, ratio): (&'static str, Ratio)| {
        let found = measures.iter().filter_map(|m| Some(((*m).clone(), section.mean_ratio(&m.id, ratio)?)));
        let found: Vec<(Measure, (f64, usize))> = found.collect();
        let rows = found.first()?.1.1;
        Some(Line { other, ratios: found.into_iter().map(|(m, (ratio, _))| (m, ratio)).collect(), rows })
    };
    if section.again { Vec::new() } else { sides.into_iter().filter_map(line).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_in_two_lines() {
        let mut section = super::super::example::report().sections.remove(0);
        let lines: Vec<String> = super::lines(&section).iter().map(Line::sentence).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            lines[0],
            "adjunct to stock OpenSSL: throughput × 1.20, CPU time of both sides × 1.20 (geometric means of 2 rows)"
        );
        section.again = true;
        assert!(super::lines(&section).is_empty());
    }
}
