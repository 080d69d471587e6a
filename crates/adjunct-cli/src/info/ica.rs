//! The tables of `icainfo`, column for column, of the functions and curves that libica has; `adjunct info` has all.

use super::Facts;
use adjunct::catalogue::Function;
use adjunct::config::LibicaModes;
use adjunct::{cpu, foreign};
use serde::Serialize;
use std::fmt::Write;

/// The line about FIPS; adjunct's CPU library is not built in its FIPS mode.
const FIPS: &str = "No built-in FIPS support.\n";
/// What `-f` says where there is no list of exceptions.
pub(super) const EXCEPTIONS: &str = "Built-in FIPS support: FIPS 140-3 mode inactive.\n";
/// The level of the message-security assist, in the heading of the static column: there is none but on IBM Z.
fn level() -> String {
    format!("(msa={:02})", cpu::msa_level())
}

/// Whose functions are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limits {
    /// libica's: of its interface, whatever the libraries below could do.
    Libica,
    /// OpenSSL's, to which is handed what is beyond the CPU library.
    OpenSsl,
}

impl Limits {
    const fn rsa(self) -> Lengths {
        match self {
            Limits::Libica => Lengths { least: 512, most: 4096 },
            Limits::OpenSsl => Lengths { least: 512, most: 16384 },
        }
    }
}

/// What `icainfo` reports.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    functions: Vec<Row>,
    curves: Vec<Row>,
    rsa: Lengths,
    fallbacks: bool,
    fips: bool,
}

/// What serves a function or a curve: batches, the processor's instructions, software.
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

impl Report {
    /// The report of this machine.
    pub(super) fn new(facts: &Facts, limits: Limits) -> Report {
        let modes = match limits {
            Limits::Libica => LibicaModes::from_environment(),
            Limits::OpenSsl => LibicaModes::default(),
        };
        Report::with(facts, limits, modes)
    }

    fn with(facts: &Facts, limits: Limits, modes: LibicaModes) -> Report {
        let libcrypto = foreign::libcrypto().is_some();
        let software = |function| modes.in_software(function, || libcrypto);
        let functions = Function::ALL.iter().zip(&facts.functions).filter(|(function, _)| function.info().z);
        let curves = facts.curves.iter().filter(|curve| curve.z || limits == Limits::OpenSsl);
        Report {
            functions: functions
                .map(|(&function, row)| Row {
                    name: row.function,
                    dynamic: row.batches,
                    instructions: row.hardware,
                    software: software(function),
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
            rsa: limits.rsa(),
            fallbacks: modes.fallbacks,
            fips: false,
        }
    }

    /// What stands in the software column where there is none: a dash where it was switched off, as on Z.
    const fn none(&self) -> &'static str {
        if self.fallbacks { "no" } else { "-" }
    }

    /// The table of functions. *Dynamic* is what batches serve, which stand for a card, *static* what the processor's
    /// instructions do.
    pub(super) fn functions(&self) -> String {
        let mut text = String::new();
        text += "              Cryptographic algorithm support      \n";
        text += "------------------------------------------------------\n";
        text += "               |         hardware        |            \n";
        text += " function      |   dynamic  |   static   |  software  \n";
        let _ = writeln!(text, "               |            |  {}  |            ", level());
        text += "---------------+------------+------------+------------\n";
        for row in &self.functions {
            let _ = writeln!(text, "{:>14} | {}     ", row.name, row.cells(self.none()));
        }
        text += "------------------------------------------------------\n";
        text += FIPS;
        let state = if self.fallbacks { "enabled" } else { "disabled" };
        let _ = writeln!(text, "Software fallbacks are {state}.");
        text
    }

    /// The table of curves.
    pub(super) fn curves(&self) -> String {
        let mut text = String::new();
        text += "-------------------------------------------------------\n";
        text += "                 |         hardware        |           \n";
        text += "        EC curve |   dynamic  |   static   |  software \n";
        let _ = writeln!(text, "                 |            |  {}  |         ", level());
        text += "-----------------+------------+------------+-----------\n";
        for row in &self.curves {
            let _ = writeln!(text, "{:>16} | {}", row.name, row.cells(self.none()));
        }
        text += "-------------------------------------------------------\n";
        text += FIPS;
        text
    }

    /// The RSA key lengths and exponents.
    pub(super) fn rsa(&self) -> String {
        let Lengths { least, most } = self.rsa;
        format!("RSA key lengths: {least} ... {most} bits.\nRSA public exponents greater or equal to 3.\n{FIPS}")
    }
}

impl Row {
    /// The three columns, with these words for no software.
    fn cells(&self, none: &str) -> String {
        let yes = |on| if on { "yes" } else { "no" };
        let (dynamic, instructions) = (yes(self.dynamic), yes(self.instructions));
        let software = if self.software { "yes" } else { none };
        format!("   {dynamic:>3}     |    {instructions:>3}     |    {software:>3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the tools print on Z, where hardware has nothing of it: the layout, to the byte, of a machine without hardware.
    fn of_z(table: &str) -> String {
        table.replace("yes", " no").replace("  -", " no")
    }

    fn report(fallbacks: bool) -> Report {
        let modes = LibicaModes { fallbacks, ..LibicaModes::default() };
        let mut report = Report::with(&Facts::of_this_machine(), Limits::Libica, modes);
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
