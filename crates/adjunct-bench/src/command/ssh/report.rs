//! What a run found: figures with their spread, in the sections of the papers. Every output is made from this, so that all
//! of them show the same numbers.

pub(crate) use crate::harness::figures::Verdict;
use crate::harness::figures::{Sample, quartiles};
pub use adjunct_cli::counted::Served;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the JSON's shape.
pub const FORMAT: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SshReport {
    /// [`FORMAT`].
    pub format: u32,
    /// The machine, the versions, when and how.
    pub header: Header,
    /// The results, by section.
    pub sections: Vec<Section>,
}

/// The machine, the versions, when and how.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Header {
    /// The CPU's name.
    pub cpu: String,
    /// How many CPUs this process may use.
    pub cpus: usize,
    /// The crypto instructions it has.
    pub instructions: Vec<String>,
    /// The kernel's name and version.
    pub system: String,
    /// The client's own version text.
    pub openssh: String,
    /// The OpenSSL the client runs with.
    pub openssl: String,
    /// adjunct's version.
    pub adjunct: String,
    /// Whether the engine serves beside the provider; where not, why.
    pub engine: String,
    /// When the run began, UTC.
    pub date: String,
    /// The command that repeats the run.
    pub command: String,
    /// A description of the data that is copied.
    pub data: String,
    /// How the figures were taken.
    pub method: String,
    /// The mask that removes the crypto instructions on the software side; empty where that side is missing.
    pub mask: String,
    /// Calls that adjunct served in hardware and in software while its side was measured.
    pub served: Served,
    /// The ciphers that this OpenSSH offers by itself, the first first.
    #[serde(default)]
    pub default_ciphers: Vec<String>,
    /// Seconds (`s`) and processor seconds (`cpu_s`) that starting scp and logging in take; taken off the figures of large copies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub starts: BTreeMap<String, Figure>,
    /// How many seconds the run was said to take, once every row had been tried.
    #[serde(default)]
    pub estimated_s: f64,
    /// How many seconds it took.
    #[serde(default)]
    pub took_s: f64,
    /// A note where the machine was busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<String>,
}

/// The sides that are compared, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// Stock OpenSSL with the CPU's crypto instructions masked.
    Software,
    /// Stock OpenSSL.
    Stock,
    /// adjunct.
    Adjunct,
}

impl Column {
    /// All sides.
    pub const ALL: [Column; 3] = [Column::Software, Column::Stock, Column::Adjunct];

    /// Name of the side.
    pub fn text(self) -> &'static str {
        match self {
            Column::Software => "software",
            Column::Stock => "stock",
            Column::Adjunct => "adjunct",
        }
    }
}

/// One figure or table of the papers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Section {
    /// A word for it, without blanks: `figure7`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A description of the measurement, in a sentence or two.
    pub about: String,
    /// The measures; the first is the most important one.
    pub measures: Vec<Measure>,
    /// The measures with a chart, by their `id`.
    pub charts: Vec<String>,
    /// Whether its rows stand in an earlier section, too, in another order.
    #[serde(default)]
    pub again: bool,
    /// The cases.
    pub groups: Vec<Group>,
}

impl Section {
    /// Whether anything was measured.
    pub fn has_figures(&self) -> bool {
        self.groups.iter().flat_map(|group| &group.rows).any(|row| !row.figures.is_empty())
    }
}

/// A measure: its name, its unit, and which direction is better.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measure {
    /// A word for the measure: `mb_s`.
    pub id: String,
    /// Its name: "throughput".
    pub title: String,
    /// Its unit: "MB/s".
    pub unit: String,
    /// Digits shown after the point.
    pub decimals: usize,
    /// Whether more is better.
    pub more_is_better: bool,
}

/// Rows that belong together.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Group {
    /// Its title; empty where a section has only one.
    pub title: String,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// One algorithm or pair of algorithms.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The other negotiated algorithms; may be empty.
    pub detail: String,
    /// Why there is no figure; `None` where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The paper's figures, by a measure's `id`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paper: BTreeMap<String, f64>,
    /// Which parts of the connection adjunct served.
    #[serde(default)]
    pub served: Served,
    /// The figures, by a measure's `id`.
    #[serde(default)]
    pub figures: BTreeMap<String, Figure>,
}

impl Row {
    /// A row without figures.
    pub fn missing(name: impl Into<String>, why: impl Into<String>) -> Row {
        Row {
            name: name.into(),
            detail: String::new(),
            missing: Some(why.into()),
            paper: BTreeMap::new(),
            served: Served::default(),
            figures: BTreeMap::new(),
        }
    }
}

/// One measure on all sides.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figure {
    /// Stock with the crypto instructions masked.
    #[serde(default)]
    pub software: Option<Stat>,
    /// Stock.
    #[serde(default)]
    pub stock: Option<Stat>,
    /// adjunct.
    #[serde(default)]
    pub adjunct: Option<Stat>,
    /// adjunct's median divided by software's.
    #[serde(default)]
    pub adjunct_to_software: Option<f64>,
    /// adjunct's median divided by stock's.
    #[serde(default)]
    pub adjunct_to_stock: Option<f64>,
}

impl Figure {
    /// The figure of the values of each side; a side without values is missing.
    pub fn new(values: [&[f64]; 3], decimals: usize) -> Figure {
        let [software, stock, adjunct] = values.map(|v| Stat::new(v, decimals));
        let ratio = |of: &Option<Stat>| {
            let (ours, theirs) = (adjunct.as_ref()?.median, of.as_ref()?.median);
            (theirs > 0.0).then(|| rounded(ours / theirs, 2))
        };
        let (adjunct_to_software, adjunct_to_stock) = (ratio(&software), ratio(&stock));
        Figure { software, stock, adjunct, adjunct_to_software, adjunct_to_stock }
    }

    /// The verdict on adjunct's figure compared with another side's.
    pub(crate) fn verdict(&self, other: Column, more_is_better: bool) -> Option<Verdict> {
        Some(Verdict::of(self.adjunct.as_ref()?.sample(), self.side(other)?.sample(), more_is_better))
    }

    /// The figure of a side.
    pub fn side(&self, column: Column) -> Option<&Stat> {
        match column {
            Column::Software => self.software.as_ref(),
            Column::Stock => self.stock.as_ref(),
            Column::Adjunct => self.adjunct.as_ref(),
        }
    }
}

/// A value measured several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// The median.
    pub median: f64,
    /// The first quartile: a quarter of the values lie below.
    pub low: f64,
    /// The third quartile: a quarter of the values lie above.
    pub high: f64,
    /// The values, in the order in which they were measured.
    pub values: Vec<f64>,
}

impl Stat {
    /// Makes the figure of `values`, rounded to `decimals` digits, single values to one more; `None` without values.
    pub fn new(values: &[f64], decimals: usize) -> Option<Stat> {
        let [low, median, high] = quartiles(values)?.map(|value| rounded(value, decimals));
        Some(Stat { median, low, high, values: values.iter().map(|v| rounded(*v, decimals + 1)).collect() })
    }

    /// The values as a sample, to be compared with another.
    pub(crate) fn sample(&self) -> Sample<'_> {
        Sample { median: self.median, low: self.low, high: self.high, values: &self.values }
    }

    /// Half of the distance between the quartiles, in percent of the median.
    pub fn spread_percent(&self) -> f64 {
        if self.median > 0.0 { (self.high - self.low).max(0.0) / 2.0 / self.median * 100.0 } else { 0.0 }
    }

    /// The spread for people: "±1.2%"; of a single value nothing is known.
    pub fn spread_text(&self) -> String {
        if self.values.len() < 2 {
            return "1 run".to_owned();
        }
        let percent = self.spread_percent();
        if percent < 9.95 { format!("±{percent:.1}%") } else { format!("±{percent:.0}%") }
    }
}

/// `value` as [`number`] shows it.
pub fn rounded(value: f64, decimals: usize) -> f64 {
    number(value, decimals).parse().unwrap_or(value)
}

/// A number as every output shows it: `decimals` digits after the point, fewer where there would be more than four in all.
pub fn number(value: f64, decimals: usize) -> String {
    // The digits before the point of what is shown, not of the value: 9.9996 is shown as 10.00.
    let most = (0..=decimals.min(3)).rev().find(|places| {
        let shown = format!("{value:.places$}");
        shown.trim_start_matches('-').len() <= 4 + usize::from(*places > 0)
    });
    format!("{value:.0$}", most.unwrap_or(0))
}

impl Section {
    /// The measure of this `id`.
    pub fn measure(&self, id: &str) -> Option<&Measure> {
        self.measures.iter().find(|m| m.id == id)
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|g| &g.rows)
    }

    /// The geometric mean of a ratio over all rows that have it, and how many have.
    pub fn mean_ratio(&self, measure: &str, ratio: impl Fn(&Figure) -> Option<f64>) -> Option<(f64, usize)> {
        let all: Vec<f64> = self.rows().filter_map(|r| ratio(r.figures.get(measure)?)).filter(|r| *r > 0.0).collect();
        let mean = (all.iter().map(|r| r.ln()).sum::<f64>() / all.len().max(1) as f64).exp();
        (!all.is_empty()).then(|| (rounded(mean, 2), all.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_between_the_values() {
        let stat = Stat::new(&[4.0, 1.0, 3.0, 2.0, 5.0], 1).unwrap();
        assert_eq!((stat.low, stat.median, stat.high), (2.0, 3.0, 4.0));
        assert_eq!(stat.values, [4.0, 1.0, 3.0, 2.0, 5.0]);
        let stat = Stat::new(&[1.0, 2.0], 2).unwrap();
        assert_eq!((stat.low, stat.median, stat.high), (1.25, 1.5, 1.75));
        assert_eq!(Stat::new(&[7.0], 0).unwrap().spread_text(), "1 run");
        assert_eq!(Stat::new(&[7.0, 7.0], 0).unwrap().spread_text(), "±0.0%");
        assert_eq!(Stat::new(&[], 1), None);
    }

    #[test]
    fn numbers_have_four_digits() {
        let shown = [(0.12345, 3), (9.9996, 3), (99.996, 3), (123.456, 3), (1143.21, 1), (12.34, 1), (0.0, 1)];
        let shown = shown.map(|(value, decimals)| number(value, decimals));
        assert_eq!(shown, ["0.123", "10.00", "100.0", "123.5", "1143", "12.3", "0.0"]);
        assert_eq!(number(1e300, 1).len(), 301);
    }

    #[test]
    fn ratios_are_of_what_is_shown() {
        let figure = Figure::new([&[2.0], &[], &[3.0]], 1);
        assert_eq!((figure.adjunct_to_software, figure.adjunct_to_stock), (Some(1.5), None));
        assert_eq!(Figure::new([&[0.0], &[0.0], &[1.0]], 1).adjunct_to_stock, None);
    }
}
