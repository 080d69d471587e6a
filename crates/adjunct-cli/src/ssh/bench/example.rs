//! A made-up report for the tests of the outputs.

use super::report::{FORMAT, Figure, Group, Header, Measure, Report, Row, Section, Served};
use std::collections::BTreeMap;

fn measure(id: &str, title: &str, unit: &str, decimals: usize, more_is_better: bool) -> Measure {
    Measure { id: id.into(), title: title.into(), unit: unit.into(), decimals, more_is_better }
}

fn row(name: &str, software: f64) -> Row {
    let values = |times: f64| [0.97, 1.0, 1.02].map(|v| v * software * times);
    let figure = |by: f64, decimals| Figure::new([&values(by), &values(by * 2.5), &values(by * 3.0)], decimals);
    Row {
        name: name.into(),
        detail: "umac-64-etm@openssh.com".into(),
        missing: None,
        paper: BTreeMap::from([("mb_s".to_owned(), 315.1)]),
        served: Served { hardware: 12_000, software: 3 },
        figures: BTreeMap::from([("mb_s".to_owned(), figure(1.0, 1)), ("cpu_s".to_owned(), figure(0.01, 3))]),
    }
}

/// A report of one section.
pub fn report() -> Report {
    let header = Header {
        cpu: "A \"quoted\" CPU <1>".into(),
        cpus: 2,
        instructions: vec!["AES".into()],
        system: "Linux".into(),
        openssh: "OpenSSH_9.2p1".into(),
        openssl: "OpenSSL 3.0.22".into(),
        adjunct: "0.1.0".into(),
        engine: "served beside the provider".into(),
        date: "2026-01-31T12:00:00Z".into(),
        command: "adjunct ssh bench --size 1M".into(),
        data: "1 MB".into(),
        method: "3 turns".into(),
        mask: "OPENSSL_ia32cap=0".into(),
        served: Served { hardware: 5, software: 6 },
    };
    let rows = vec![
        row("aes128-cbc", 123.4),
        row("3des-cbc", 21.0),
        Row::missing("cast128-cbc", "OpenSSH_9.2p1 does not have it, \"any more\""),
    ];
    let section = Section {
        id: "table2".into(),
        title: "Algorithm matters".into(),
        about: "A file & its copy.".into(),
        measures: vec![
            measure("mb_s", "throughput", "MB/s", 1, true),
            measure("cpu_s", "CPU time of both sides", "CPU s", 3, false),
        ],
        charts: vec!["mb_s".into(), "cpu_s".into()],
        again: false,
        groups: vec![Group { title: String::new(), rows }],
    };
    Report { format: FORMAT, header, sections: vec![section] }
}
