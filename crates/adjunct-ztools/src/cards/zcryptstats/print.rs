//! What `zcryptstats` prints, in its four formats.

use crate::cards::device::{Device, in_statistics};
use crate::cards::table::{Column, Side, Table};
use crate::cards::tool::Stop;
use adjunct_tool::output;
use std::ffi::OsStr;
use std::fmt::Write;

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Report,
    Json,
    Table,
    Csv,
}

impl Format {
    /// Finds the format of a name in upper or lower case.
    pub(super) fn named(name: &OsStr) -> Option<Format> {
        let formats = [("JSON", Format::Json), ("TABLE", Format::Table), ("CSV", Format::Csv)];
        formats.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, format)| format)
    }
}

/// A card or domain by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    id: String,
    kind: String,
    is_queue: bool,
}

impl Subject {
    /// The name of a device.
    pub(super) fn of(device: &Device<'_>) -> Subject {
        let kind = format!("{} ({})", device.kind(), in_statistics(device.card.mode));
        Subject { id: device.id(), kind, is_queue: device.queue.is_some() }
    }
}

/// The value of a counter.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) operations: u64,
    pub(super) rate: f64,
    pub(super) utilization: f64,
    pub(super) duration: f64,
}

impl Row {
    fn duration(&self) -> String {
        match self.duration {
            seconds if seconds >= 1.0 => format!("{seconds:.3} sec "),
            seconds if seconds >= 0.001 => format!("{:.3} msec", seconds * 1e3),
            seconds => format!("{:.3} usec", seconds * 1e6),
        }
    }

    /// The columns from OPS on.
    fn fields(&self, duration: String) -> [String; 4] {
        [
            self.operations.to_string(),
            format!("{:.2}", self.rate),
            format!("{:.2} %", self.utilization * 100.0),
            duration,
        ]
    }

    fn json(&self) -> String {
        format!(
            "\t\t\t\t\t\t{{\"counter\": \"{}\", \"ops\": {}, \"rate\": {:.2}, \"utilization\": {:.2}, \"duration\": {:.9}}}",
            self.name,
            self.operations,
            self.rate,
            self.utilization * 100.0,
            self.duration
        )
    }
}

/// The columns that every table of numbers has.
const NUMBERS: [Column; 4] = [
    ("OPS", Side::Right, 10),
    ("RATE", Side::Right, 12),
    ("UTILIZATION", Side::Right, 12),
    ("AVG.DURATION", Side::Right, 15),
];

/// A device with its counters and their total.
pub(super) type Measured = (Subject, Vec<Row>, Option<Row>);

/// Prints what was measured.
#[derive(Debug)]
pub(super) struct Printer {
    format: Format,
    totals: Table,
}

impl Printer {
    /// Makes a printer of this format.
    pub(super) fn new(format: Format) -> Printer {
        let columns: Vec<Column> =
            [("TIMESTAMP", Side::Left, 20), ("DEVICE", Side::Left, 7)].into_iter().chain(NUMBERS).collect();
        Printer { format, totals: Table::new(&columns) }
    }

    /// Prints the text above everything.
    pub(super) fn start(&self) -> Result<(), Stop> {
        let host = rustix::system::uname();
        let field = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let (system, release) = (field(host.sysname()), field(host.release()));
        let (node, machine) = (field(host.nodename()), field(host.machine()));
        let date = now("%m/%d/%y");
        let shown = |text: &str| adjunct_tool::escape::shown(text);
        let heading =
            || format!("{} {} ({}) \t{date}\t{}\n\n", shown(&system), shown(&release), shown(&node), shown(&machine));
        Ok(output::print(&match self.format {
            Format::Report => heading(),
            Format::Table => heading() + &self.totals.heading(),
            Format::Csv => "TIMESTAMP,DEVICE,OPS,RATE,UTILIZATION,AVG.DURATION\n".to_owned(),
            Format::Json => {
                let mut text = "{\"zcryptstats\": {\n\t\"host\": {\n".to_owned();
                let fields = [
                    ("nodename", node),
                    ("sysname", system),
                    ("release", release),
                    ("machine", machine),
                    ("date", date),
                ];
                for (name, value) in fields {
                    let _ = writeln!(text, "\t\t\"{name}\": {},", serde_json::Value::from(value));
                }
                text + "\t\t\"statistics\": [\n"
            }
        })?)
    }

    /// Prints the text below everything.
    pub(super) fn end(&self) -> Result<(), Stop> {
        Ok(match self.format {
            Format::Report => output::print("\n"),
            Format::Json => output::print("\n\t\t]\n\t}\n}}\n"),
            Format::Table | Format::Csv => Ok(()),
        }?)
    }

    /// An interval.
    pub(super) fn interval(&self, number: u64, devices: &[Measured]) -> Result<(), Stop> {
        let time = now("%m/%d/%y %H:%M:%S");
        Ok(output::print(&match self.format {
            Format::Report => report(number, &time, devices),
            Format::Json => json(number, &time, devices),
            Format::Table => {
                self.lines(devices, |subject, row| {
                    self.totals.row([time.clone(), subject.id.clone()].into_iter().chain(row.fields(row.duration())))
                }) + &self.totals.line()
            }
            Format::Csv => self.lines(devices, |subject, row| {
                let fields = row.fields(format!("{:.9}", row.duration));
                format!("{time},{},{}\n", subject.id, fields.join(","))
            }),
        })?)
    }

    fn lines(&self, devices: &[Measured], line: impl Fn(&Subject, &Row) -> String) -> String {
        let all =
            devices.iter().flat_map(|(subject, rows, total)| rows.iter().chain(total).map(move |row| (subject, row)));
        all.map(|(subject, row)| line(subject, row)).collect()
    }
}

fn report(number: u64, time: &str, devices: &[Measured]) -> String {
    const DEVICE: [Column; 4] =
        [("DEVICE", Side::Left, 7), ("", Side::Left, 5), ("TYPE", Side::Left, 33), ("TIMESTAMP", Side::Left, 20)];
    let mut text = format!("{}\nTIME: {time}\t\tINTERVAL: {number}\n\n", "*".repeat(68));
    let device = Table::new(&DEVICE);
    let columns: Vec<Column> = std::iter::once(("COUNTER", Side::Left, 18)).chain(NUMBERS).collect();
    for (subject, rows, total) in devices {
        let word = if subject.is_queue { "APQN" } else { "CARD" };
        text += &device.heading();
        text += &device.row([subject.id.clone(), word.to_owned(), subject.kind.clone(), time.to_owned()]);
        let table = Table::new(&columns).indented(if subject.is_queue { 8 } else { 4 });
        let row = |row: &Row| table.row(std::iter::once(row.name.clone()).chain(row.fields(row.duration())));
        text.push('\n');
        text += &table.heading();
        rows.iter().for_each(|one| text += &row(one));
        if let Some(total) = total {
            text += &table.line();
            text += &row(total);
        }
        text.push('\n');
    }
    text
}

fn json(number: u64, time: &str, devices: &[Measured]) -> String {
    let one = |(subject, rows, total): &Measured| {
        let kind = serde_json::Value::from(subject.kind.as_str());
        let each: Vec<_> = rows.iter().chain(total).map(Row::json).collect();
        // A total alone is not followed by the end of its line.
        let counters = each.join(",\n") + if rows.is_empty() { "" } else { "\n" };
        let device = &subject.id;
        format!(
            "\t\t\t\t\t{{\"device\": \"{device}\", \"type\": {kind},\n\t\t\t\t\t \"counters\": [\n{counters}\t\t\t\t\t ]}}"
        )
    };
    let devices: Vec<_> = devices.iter().map(one).collect();
    let comma = if number > 1 { ",\n" } else { "" };
    format!(
        "{comma}\t\t\t{{\n\t\t\t\t\"interval\": {number}, \"timestamp\": \"{time}\", \"devices\": [\n{}\n\t\t\t\t]\n\t\t\t}}",
        devices.join(",\n")
    )
}

/// The local time.
fn now(format: &str) -> String {
    jiff::Zoned::now().strftime(format).to_string()
}
