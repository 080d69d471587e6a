//! The tables of `icainfo`, column for column, of the functions and curves that libica has; `adjunct info` has all.

use super::Facts;
use adjunct::catalogue::Function;
use adjunct::config::LibicaModes;
use adjunct::cpu;
use adjunct::ops::choice as route;
use adjunct_ossl::object;
use serde::Serialize;

/// The line about FIPS; adjunct's CPU library is not built in its FIPS mode.
const FIPS: &str = "No built-in FIPS support.\n";
/// The answer to `-f`, as where there is no list of exceptions.
pub(super) const EXCEPTIONS: &str = "Built-in FIPS support: FIPS 140-3 mode inactive.\n";

/// The library whose functions are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// libica's: of its interface, whatever the libraries below could do.
    Ica,
    /// libica-cex's: the same, with the cards alone as hardware.
    IcaCex,
    /// OpenSSL's, to which is handed what is beyond the CPU library.
    OpenSsl,
}

impl Library {
    const fn rsa(self) -> Lengths {
        match self {
            Library::Ica | Library::IcaCex => Lengths { least: 512, most: 4096 },
            Library::OpenSsl => Lengths { least: 512, most: 16384 },
        }
    }
}

/// The report of `icainfo`.
#[derive(Debug, Serialize)]
pub struct InfoReport {
    functions: Vec<Row>,
    curves: Vec<Row>,
    rsa: Lengths,
    fallbacks: bool,
    fips: bool,
    #[serde(skip)]
    words: Words,
}

/// The words of the table for no static hardware and for no software: "no", or a dash where it was switched off.
#[derive(Debug, Clone, Copy)]
struct Words {
    instructions: &'static str,
    software: &'static str,
}

/// A row: batches, the processor's instructions or software serve a function or a curve.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    dynamic: bool,
    #[serde(rename = "static")]
    instructions: bool,
    software: bool,
}

/// Key lengths in bits.
#[derive(Debug, Serialize)]
struct Lengths {
    least: u16,
    most: u16,
}

impl InfoReport {
    /// The report of this machine.
    pub fn new(facts: &Facts, library: Library) -> InfoReport {
        let modes = match library {
            Library::Ica | Library::IcaCex => LibicaModes::from_environment(),
            Library::OpenSsl => LibicaModes::default(),
        };
        InfoReport::with(facts, library, modes)
    }

    fn with(facts: &Facts, library: Library, modes: LibicaModes) -> InfoReport {
        let libcrypto = object::libcrypto().is_some();
        let software = |function| modes.in_software(function, || libcrypto);
        let functions = Function::ALL.iter().filter(|function| function.info().z);
        let curves = facts.curves.iter().filter(|curve| curve.z || library == Library::OpenSsl);
        let unless = |on: bool| if on { "no" } else { "-" };
        InfoReport {
            functions: functions
                .map(|&function| {
                    let served = route::served(function, 0);
                    Row {
                        name: function.info().name,
                        dynamic: served.batches,
                        instructions: served.instructions,
                        software: software(function),
                    }
                })
                .collect(),
            curves: curves
                .map(|curve| Row {
                    name: curve.curve,
                    dynamic: curve.batches,
                    instructions: curve.hardware,
                    software: software(curve.function),
                })
                .collect(),
            rsa: library.rsa(),
            fallbacks: modes.fallbacks,
            fips: false,
            words: Words { instructions: unless(library != Library::IcaCex), software: unless(modes.fallbacks) },
        }
    }

    /// The table of functions. *Dynamic* marks functions that batches serve, in place of a card; *static* those that the processor's instructions do.
    pub fn functions(&self) -> String {
        let frame = Frame {
            title: "              Cryptographic algorithm support      \n",
            rule: "------------------------------------------------------\n",
            head: ["               ", " function      "],
            line: "---------------+------------+------------+------------\n",
            name: 14,
            ends: ["            \n", "  software  \n", "            \n", "     \n"],
        };
        let state = if self.fallbacks { "enabled" } else { "disabled" };
        let cex = if self.words.instructions == "-" { "CPACF support is disabled in libica-cex.\n" } else { "" };
        frame.around(&self.functions, self.words) + &format!("Software fallbacks are {state}.\n{cex}")
    }

    /// The table of curves.
    pub fn curves(&self) -> String {
        let frame = Frame {
            title: "",
            rule: "-------------------------------------------------------\n",
            head: ["                 ", "        EC curve "],
            line: "-----------------+------------+------------+-----------\n",
            name: 16,
            ends: ["           \n", "  software \n", "         \n", "\n"],
        };
        frame.around(&self.curves, self.words)
    }

    /// The RSA key lengths and exponents.
    pub fn rsa(&self) -> String {
        let Lengths { least, most } = self.rsa;
        format!("RSA key lengths: {least} ... {most} bits.\nRSA public exponents greater or equal to 3.\n{FIPS}")
    }
}

/// The frame of a table: title, heading and line width; each table has its own.
struct Frame {
    title: &'static str,
    rule: &'static str,
    /// The first column of the heading: empty, and with its words.
    head: [&'static str; 2],
    line: &'static str,
    /// The width of a row's name.
    name: usize,
    /// The ends of the heading's three lines, and of a row.
    ends: [&'static str; 4],
}

impl Frame {
    /// The table, and the line about FIPS below it.
    fn around(&self, rows: &[Row], words: Words) -> String {
        let Frame { title, rule, head: [empty, name], line, ends: [first, second, third, _], .. } = self;
        // The level of the message-security assist: there is none but on IBM Z.
        let level = cpu::msa_level();
        let head = format!(
            "{title}{rule}{empty}|         hardware        |{first}{name}|   dynamic  |   static   |{second}\
             {empty}|            |  (msa={level:02})  |{third}{line}"
        );
        let rows: String = rows.iter().map(|row| self.row(row, words)).collect();
        format!("{head}{rows}{rule}{FIPS}")
    }

    fn row(&self, row: &Row, words: Words) -> String {
        let cell = |on, otherwise| if on { "yes" } else { otherwise };
        let dynamic = cell(row.dynamic, "no");
        let (instructions, software) = (cell(row.instructions, words.instructions), cell(row.software, words.software));
        let (name, width, end) = (row.name, self.name, self.ends[3]);
        format!("{name:>width$} |    {dynamic:>3}     |    {instructions:>3}     |    {software:>3}{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as the tools print it on a machine without hardware on Z, byte for byte.
    fn of_z(table: &str) -> String {
        table.replace("yes", " no").replace("  -", " no")
    }

    fn report(fallbacks: bool) -> InfoReport {
        let modes = LibicaModes { fallbacks, ..LibicaModes::default() };
        let mut report = InfoReport::with(&Facts::of_this_machine(), Library::Ica, modes);
        for row in report.functions.iter_mut().chain(&mut report.curves) {
            (row.dynamic, row.instructions) = (false, false);
        }
        report
    }

    #[test]
    fn the_table_of_functions_is_that_of_z() {
        let expected = include_str!("icainfo.txt");
        assert_eq!(report(true).functions(), expected);
        let without = report(false).functions();
        assert_eq!(of_z(&without).replace("disabled", "enabled"), of_z(expected));
        let software: Vec<_> = without.lines().filter(|line| line.contains("yes")).collect();
        assert_eq!(
            software,
            [
                " RSA Keygen ME |     no     |     no     |    yes     ",
                "RSA Keygen CRT |     no     |     no     |    yes     "
            ]
        );
        assert!(without.contains("\n         SHA-1 |     no     |     no     |      -     \n"));
        assert!(without.ends_with("No built-in FIPS support.\nSoftware fallbacks are disabled.\n"));
    }

    #[test]
    fn the_table_of_curves_is_that_of_z() {
        assert_eq!(report(true).curves(), include_str!("icainfo-c.txt"));
        assert!(report(false).curves().contains("\n      prime256v1 |     no     |     no     |      -\n"));
    }

    #[test]
    fn hardware_stands_in_its_columns() {
        let mut report = report(true);
        (report.functions[0].instructions, report.functions[1].dynamic) = (true, true);
        let text = report.functions();
        assert!(text.contains("\n         SHA-1 |     no     |    yes     |    yes     \n"));
        assert!(text.contains("\n       SHA-224 |    yes     |     no     |    yes     \n"));
        let json = serde_json::to_value(&report).unwrap();
        let row = serde_json::json!({"name": "SHA-1", "dynamic": false, "static": true, "software": true});
        assert_eq!((&json["functions"][0], json["curves"].as_array().unwrap().len()), (&row, 16));
        assert_eq!((&json["rsa"]["most"], &json["fallbacks"]), (&4096.into(), &true.into()));
    }

    #[test]
    fn rsa_has_its_lines() {
        let expected = "RSA key lengths: 512 ... 4096 bits.\nRSA public exponents greater or equal to 3.\nNo built-in FIPS support.\n";
        assert_eq!(report(true).rsa(), expected);
    }
}
