//! A made-up report for the tests of the outputs.

use super::report::{FORMAT, Figure, Group, Header, Measure, Row, Section, Served, SshReport};
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
pub fn report() -> SshReport {
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
        default_ciphers: Vec::new(),
        starts: BTreeMap::new(),
        estimated_s: 100.0,
        took_s: 110.0,
        busy: None,
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
    SshReport { format: FORMAT, header, sections: vec![section] }
}

/// A report that has an answer: OpenSSH's own choice, a faster cipher, and an old one that would be faster still.
pub fn suites() -> SshReport {
    let mut report = report();
    let figure = |[software, stock, adjunct]: [f64; 3]| {
        let of = |middle: f64| [0.99, 1.0, 1.01].map(|part| part * middle);
        Figure::new([&of(software), &of(stock), &of(adjunct)], 3)
    };
    let suite = |name: &str, times: [f64; 3], cpu: [f64; 3]| Row {
        name: name.into(),
        figures: BTreeMap::from([("s_gb".to_owned(), figure(times)), ("cpu_s_gb".to_owned(), figure(cpu))]),
        missing: None,
        ..Row::missing(name, "")
    };
    let section = &mut report.sections[0];
    section.measures = vec![
        measure("s_gb", "time", "s for a GB", 3, false),
        measure("cpu_s_gb", "CPU time", "CPU s for a GB", 3, false),
    ];
    section.charts = vec!["s_gb".into(), "cpu_s_gb".into()];
    section.groups[0].rows = vec![
        suite("chacha20-poly1305@openssh.com", [1.3, 1.2, 1.1], [2.2, 2.0, 1.9]),
        suite("aes128-cbc", [4.0, 0.7, 0.5], [8.0, 1.1, 0.9]),
        suite("aes128-gcm@openssh.com", [5.0, 0.9, 0.8], [9.0, 1.4, 1.2]),
    ];
    report
}
