//! The answer in one sentence: what OpenSSH's own choice costs, what the fastest suite with adjunct does, and what that would cost
//! without crypto instructions.

use super::plan;
use super::report::{Column, Measure, Row, Section, SshReport, Stat, Verdict, number};

/// The cipher that OpenSSH has chosen since 2013, for reports that do not say what it offers.
const CHOICE: &str = "chacha20-poly1305@openssh.com";
/// Seconds for a GB, and processor seconds of both sides.
const TIMES: [&str; 2] = ["s_gb", "cpu_s_gb"];

/// A cipher on a side.
#[derive(Debug, Clone, Copy)]
pub struct Suite<'a> {
    /// The side.
    pub column: Column,
    row: &'a Row,
}

impl<'a> Suite<'a> {
    fn new(row: &'a Row, column: Column) -> Option<Suite<'a>> {
        let suite = Suite { column, row };
        (suite.stat(TIMES[0]).is_some() && suite.stat(TIMES[1]).is_some()).then_some(suite)
    }

    /// The cipher.
    pub fn cipher(&self) -> &'a str {
        &self.row.name
    }

    fn stat(&self, measure: &str) -> Option<&'a Stat> {
        self.row.figures.get(measure)?.side(self.column)
    }

    /// Time and processor time.
    pub fn times(&self) -> [&'a Stat; 2] {
        // Both are there: see `new`.
        TIMES.map(|id| self.stat(id)).map(|stat| stat.unwrap_or(&NOTHING))
    }
}

static NOTHING: Stat = Stat { median: 0.0, low: 0.0, high: 0.0, values: Vec::new() };

/// The answer of a report.
#[derive(Debug, Clone)]
pub struct Opening<'a> {
    section: &'a Section,
    /// OpenSSH's own choice, stock.
    pub default: Suite<'a>,
    /// The cipher that costs least with adjunct.
    pub tuned: Suite<'a>,
    /// The cipher of `tuned` without crypto instructions.
    pub software: Option<Suite<'a>>,
    /// The ciphers with adjunct, the one that costs least first.
    pub order: Vec<Suite<'a>>,
}

impl<'a> Opening<'a> {
    /// Makes the opening of a report; `None` where OpenSSH's own choice, or everything that it offers, was not measured.
    pub fn of(report: &'a SshReport) -> Option<Opening<'a>> {
        let section = report.sections.iter().find(|section| section.id == "table2")?;
        let offered = &report.header.default_ciphers;
        let choice = offered.first().map_or(CHOICE, String::as_str);
        let today = |row: &&Row| !plan::old(&row.name) && (offered.is_empty() || offered.contains(&row.name));
        let default = Suite::new(section.rows().find(|row| row.name == choice)?, Column::Stock)?;
        let mut order: Vec<_> =
            section.rows().filter(today).filter_map(|row| Suite::new(row, Column::Adjunct)).collect();
        order.sort_by(|a, b| a.times()[1].median.total_cmp(&b.times()[1].median));
        let tuned = *order.first()?;
        Some(Opening { section, default, tuned, software: Suite::new(tuned.row, Column::Software), order })
    }

    /// The opening in one sentence.
    pub fn sentence(&self) -> String {
        let [default, tuned] = [self.default, self.tuned].map(|suite| self.costs(suite));
        let mut out = format!(
            "Copying 1 GB by ssh takes {default} as OpenSSH does it by itself ({}, stock OpenSSL), and {tuned} tuned and accelerated \
             ({}, adjunct), {}",
            self.default.cipher(),
            self.tuned.cipher(),
            self.gain()
        );
        if let Some(software) = self.software {
            out += &format!(
                "; in software, without the CPU's crypto instructions, the latter would take {}",
                self.costs(software)
            );
        }
        out + "."
    }

    fn costs(&self, suite: Suite<'_>) -> String {
        let [time, cpu] = suite.times();
        let show = |id: &str, value: f64| number(value, self.measure(id).map_or(2, |m| m.decimals.min(2)));
        let cpu = format!("{} CPU s", show(TIMES[1], cpu.median));
        if self.timed() { format!("{} s and {cpu}", show(TIMES[0], time.median)) } else { cpu }
    }

    /// Whether times say anything: on a busy machine they scatter by more than they are.
    fn timed(&self) -> bool {
        let sure = |suite: &Suite<'_>| {
            let [time, _] = suite.times();
            time.high - time.low <= time.median
        };
        [Some(self.default), Some(self.tuned), self.software].iter().flatten().all(sure)
    }

    fn gain(&self) -> String {
        let [ours, theirs] = [self.tuned, self.default].map(|suite| suite.times()[1]);
        let ratio = ours.median / theirs.median.max(1e-9);
        match self.verdict() {
            Verdict::Same => "which is no difference that was measured surely".to_owned(),
            _ => format!("{:.0} % of the CPU time", ratio * 100.0),
        }
    }

    /// Whether the tuned suite costs surely less processor time than OpenSSH's own choice.
    pub fn verdict(&self) -> Verdict {
        let [ours, theirs] = [self.tuned, self.default].map(|suite| suite.times()[1].sample());
        Verdict::of(ours, theirs, false)
    }

    /// A measure of the section that this is of.
    pub fn measure(&self, id: &str) -> Option<&'a Measure> {
        self.section.measure(id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn the_answer_is_one_sentence() {
        let report = example::suites();
        let opening = Opening::of(&report).unwrap();
        assert_eq!(
            opening.sentence(),
            "Copying 1 GB by ssh takes 1.20 s and 2.00 CPU s as OpenSSH does it by itself (chacha20-poly1305@openssh.com, stock \
             OpenSSL), and 0.80 s and 1.20 CPU s tuned and accelerated (aes128-gcm@openssh.com, adjunct), 60 % of the CPU time; in \
             software, without the CPU's crypto instructions, the latter would take 5.00 s and 9.00 CPU s."
        );
        let order: Vec<_> = opening.order.iter().map(Suite::cipher).collect();
        assert_eq!(order, ["aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com"], "no old cipher");
    }

    #[test]
    fn times_that_scatter_are_not_told() {
        let mut report = example::suites();
        let rows = report.sections.iter_mut().flat_map(|section| &mut section.groups).flat_map(|group| &mut group.rows);
        for stat in rows.filter_map(|row| row.figures.get_mut(TIMES[0])?.adjunct.as_mut()) {
            stat.high = stat.median * 20.0;
        }
        let sentence = Opening::of(&report).unwrap().sentence();
        assert!(sentence.starts_with("Copying 1 GB by ssh takes 2.00 CPU s as OpenSSH does"), "{sentence}");
        assert!(sentence.contains("and 1.20 CPU s tuned") && !sentence.contains("0.80 s"), "{sentence}");
    }

    #[test]
    fn what_was_not_measured_is_not_answered() {
        let mut report = example::suites();
        report.header.default_ciphers = vec!["aes256-ctr".to_owned()];
        assert!(Opening::of(&report).is_none());
        report.sections.clear();
        assert!(Opening::of(&report).is_none());
    }
}
