//! The answer, as the Monitoring Plugins Development Guidelines want it: one line with the state and the performance data, more lines below.

use serde_json::{Value, json};

/// A state, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Ok,
    Unknown,
    Warning,
    Critical,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Level::Ok => "OK",
            Level::Unknown => "UNKNOWN",
            Level::Warning => "WARNING",
            Level::Critical => "CRITICAL",
        }
    }

    /// The exit status.
    pub(super) const fn status(self) -> u8 {
        match self {
            Level::Ok => 0,
            Level::Warning => 1,
            Level::Critical => 2,
            Level::Unknown => 3,
        }
    }
}

/// The result of one check.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) level: Level,
    pub(super) text: String,
}

/// A piece of performance data: `label=value[UOM];[warn];[crit];[min];[max]`.
#[derive(Debug)]
pub(super) struct Perf {
    pub(super) label: &'static str,
    pub(super) value: String,
}

/// The results of all checks.
#[derive(Debug, Default)]
pub(super) struct CheckReport {
    pub(super) parts: Vec<Part>,
    pub(super) perf: Vec<Perf>,
    pub(super) details: Vec<String>,
}

impl CheckReport {
    /// The worst of all parts.
    pub(super) fn level(&self) -> Level {
        self.parts.iter().map(|part| part.level).max().unwrap_or(Level::Unknown)
    }

    /// The lines. What is wrong comes first; the bar stands only before the performance data.
    pub(super) fn text(&self) -> String {
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.level));
        let parts: Vec<_> = parts.iter().map(|part| part.text.as_str()).collect();
        let perf: Vec<_> = self.perf.iter().map(|perf| format!("{}={}", perf.label, perf.value)).collect();
        let harmless = |text: String| adjunct_tool::escape::shown(&text).replace('|', "/");
        let mut text = format!("ADJUNCT {} - {}", self.level().name(), harmless(parts.join("; ")));
        if !perf.is_empty() {
            text += &format!(" | {}", perf.join(" "));
        }
        self.details.iter().for_each(|line| text += &format!("\n{}", harmless(line.clone())));
        text + "\n"
    }

    /// The answer as JSON, for programs.
    pub(super) fn json(&self) -> Value {
        let part = |part: &Part| json!({ "part": part.name, "state": part.level.name(), "text": part.text });
        let perf = self.perf.iter().map(|perf| {
            let number = perf.value.split(';').next().unwrap_or_default().trim_end_matches('%');
            (perf.label.to_owned(), number.parse::<f64>().map_or(Value::Null, Value::from))
        });
        json!({
            "state": self.level().name(),
            "status": self.level().status(),
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
            "values": perf.collect::<serde_json::Map<_, _>>(),
            "details": self.details,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_stands_first_and_the_bar_before_the_data_alone() {
        let part = |level, text: &str| Part { name: "x", level, text: text.to_owned() };
        let report = CheckReport {
            parts: vec![
                part(Level::Ok, "well | good"),
                part(Level::Critical, "bad"),
                part(Level::Unknown, "who\nknows"),
            ],
            perf: vec![Perf { label: "software", value: "1.5%;10;;0;100".to_owned() }],
            details: vec!["more".to_owned()],
        };
        assert_eq!(report.text(), "ADJUNCT CRITICAL - bad; who\\nknows; well / good | software=1.5%;10;;0;100\nmore\n");
        assert_eq!((report.level().status(), &report.json()["values"]["software"]), (2, &json!(1.5)));
        assert_eq!(CheckReport::default().level().status(), 3);
    }
}
