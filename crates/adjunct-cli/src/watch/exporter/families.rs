//! Metrics as values, and their text: Prometheus' format 0.0.4 and OpenMetrics 1.0.
//!
//! Sources: the pages "Exposition formats" and "Metric and label naming" of Prometheus' documentation; the OpenMetrics specification.

use std::fmt::Write;

/// The type of a family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyKind {
    /// A number that only grows, until it restarts from zero.
    Counter,
    Gauge,
    /// Labels that say something, with the value 1.
    Info,
}

/// A value: numbers of things are exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Real(f64),
}

/// A metric with its series.
#[derive(Debug, Clone)]
pub(super) struct Family {
    /// The name without what its kind adds (`_total`, `_info`).
    pub(super) name: &'static str,
    /// The help text, a sentence.
    pub(super) help: &'static str,
    pub(super) kind: FamilyKind,
    /// Labels, as [`labels`] writes them, and values.
    pub(super) series: Vec<(String, Value)>,
}

impl Family {
    pub(super) fn new(name: &'static str, help: &'static str, kind: FamilyKind) -> Family {
        Family { name, help, kind, series: Vec::new() }
    }

    /// Adds a series.
    pub(super) fn put(&mut self, labels: String, value: u64) {
        self.series.push((labels, Value::Whole(value)));
    }
}

/// Labels between their braces, without those: `a="1",b="2"`. An empty value is as no label, and is left out.
pub(super) fn labels(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        if !text.is_empty() {
            text.push(',');
        }
        let _ = write!(text, "{name}=\"");
        for c in value.chars() {
            match c {
                '\\' => text += "\\\\",
                '"' => text += "\\\"",
                '\n' => text += "\\n",
                c => text.push(c),
            }
        }
        text.push('"');
    }
    text
}

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Prometheus' own, 0.0.4, which the files of node_exporter are in, too.
    Text,
    OpenMetrics,
}

impl Format {
    /// What a client that accepts this is to get: OpenMetrics where it is named, unless with a quality of 0.
    pub(super) fn accepted(accept: &str) -> Format {
        let refused = |part: &str| {
            let quality = part.split(';').filter_map(|parameter| parameter.trim().strip_prefix("q=")).next();
            quality.and_then(|quality| quality.parse::<f32>().ok()).is_some_and(|quality| quality <= 0.0)
        };
        let named = |part: &&str| part.trim_start().starts_with("application/openmetrics-text");
        let found = accept.split(',').any(|part| named(&part) && !refused(part));
        if found { Format::OpenMetrics } else { Format::Text }
    }

    /// The Content-Type.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The page. Families without a series are left out.
pub(super) fn text(families: &[Family], format: Format) -> String {
    let mut text = String::new();
    for family in families.iter().filter(|family| !family.series.is_empty()) {
        let suffix = match family.kind {
            FamilyKind::Counter => "_total",
            FamilyKind::Gauge => "",
            FamilyKind::Info => "_info",
        };
        // OpenMetrics names the family, the older format each of its series.
        let (described, kind) = match (format, family.kind) {
            (Format::OpenMetrics, FamilyKind::Counter) => ("", "counter"),
            (Format::OpenMetrics, FamilyKind::Info) => ("", "info"),
            (Format::Text, FamilyKind::Counter) => (suffix, "counter"),
            (Format::Text, FamilyKind::Info) => (suffix, "gauge"),
            (_, FamilyKind::Gauge) => (suffix, "gauge"),
        };
        let name = family.name;
        let _ = writeln!(text, "# HELP {name}{described} {}", family.help);
        let _ = writeln!(text, "# TYPE {name}{described} {kind}");
        for (labels, value) in &family.series {
            let _ = write!(text, "{name}{suffix}");
            if !labels.is_empty() {
                let _ = write!(text, "{{{labels}}}");
            }
            let _ = match value {
                Value::Whole(value) => writeln!(text, " {value}"),
                Value::Real(value) => writeln!(text, " {value}"),
            };
        }
    }
    if format == Format::OpenMetrics {
        text += "# EOF\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families() -> Vec<Family> {
        let mut counter = Family::new("a_operations", "Operations.", FamilyKind::Counter);
        counter.put(labels(&[("f", "AES \"GCM\"\\\n"), ("none", "")]), u64::MAX);
        let mut real = Family::new("a_seconds", "Time.", FamilyKind::Gauge);
        real.series.push((String::new(), Value::Real(0.25)));
        let mut info = Family::new("a_build", "The build.", FamilyKind::Info);
        info.put(labels(&[("version", "1")]), 1);
        vec![counter, real, Family::new("a_none", "Nothing.", FamilyKind::Gauge), info]
    }

    #[test]
    fn both_formats() {
        let expected = "\
# HELP a_operations_total Operations.
# TYPE a_operations_total counter
a_operations_total{f=\"AES \\\"GCM\\\"\\\\\\n\"} 18446744073709551615
# HELP a_seconds Time.
# TYPE a_seconds gauge
a_seconds 0.25
# HELP a_build_info The build.
# TYPE a_build_info gauge
a_build_info{version=\"1\"} 1
";
        assert_eq!(text(&families(), Format::Text), expected);
        let open = text(&families(), Format::OpenMetrics);
        assert!(open.starts_with("# HELP a_operations Operations.\n# TYPE a_operations counter\na_operations_total{"));
        assert!(open.ends_with("# TYPE a_build info\na_build_info{version=\"1\"} 1\n# EOF\n"));
    }

    #[test]
    fn who_names_open_metrics_gets_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        for other in ["", "*/*", "text/plain", "application/openmetrics-text;q=0, text/plain"] {
            assert_eq!(Format::accepted(other), Format::Text, "{other}");
        }
    }
}
