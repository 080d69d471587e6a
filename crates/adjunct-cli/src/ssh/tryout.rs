//! `adjunct ssh try`: the same data through the same OpenSSH, stock and with adjunct, and the counters that moved.

use super::copy::{Suite, copy, random_file};
use super::lab::{Environment, Place, Programs};
use super::measure::side::{Modules, openssl_conf};
use super::measure::{Cost, spread::median};
use crate::counted::Counted;
use adjunct::catalogue::Feature;
use adjunct::catalogue::Function;
use adjunct::counters::Snapshot;
use adjunct::cpu;
use adjunct_survey::module::{self, Choice, Purpose};
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Progress;
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Copy real data through a private sshd, stock and with adjunct, and show the counters that moved
///
/// Starts an sshd of its own on a high loopback port, with keys and OpenSSL configurations in a private folder, and copies
/// the data by `ssh host cat`, in turns without and with adjunct. Every copy is compared byte for byte. Nothing of the
/// system is touched and nothing is left running.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The cipher, as `ssh -Q cipher` names it
    #[arg(long, default_value = "aes128-gcm@openssh.com")]
    cipher: String,
    /// The MAC, as `ssh -Q mac` names it; used where the cipher does not authenticate by itself
    #[arg(long, default_value = "hmac-sha2-256-etm@openssh.com")]
    mac: String,
    /// The key exchange, as `ssh -Q kex` names it
    #[arg(long, default_value = "curve25519-sha256")]
    kex: String,
    /// Random data of this many bytes; K, M, G stand for 10^3, 10^6, 10^9. By default what a copy of about two seconds
    /// takes, 50M to 400M
    #[arg(long, value_parser = parse_size, conflicts_with = "file")]
    size: Option<u64>,
    /// This file's data instead
    #[arg(long)]
    file: Option<PathBuf>,
    /// Copies on each side; the medians are shown
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    #[command(flatten)]
    module: adjunct_survey::module::Args,
    /// The ssh client to use
    #[arg(long)]
    ssh: Option<PathBuf>,
    /// The sshd to use
    #[arg(long)]
    sshd: Option<PathBuf>,
    /// The loopback port; by default a free one
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Report as JSON, to this file (beside the table) or, without a file, to standard output instead of it
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[allow(clippy::option_option)]
    json: Option<Option<PathBuf>>,
}

/// The least and the most random data that is copied where no size is given, in bytes.
const SMALLEST: u64 = 50_000_000;
const LARGEST: u64 = 400_000_000;

#[derive(Debug, Serialize)]
struct TrialReport {
    cpu: String,
    openssl: String,
    openssh: String,
    suite: String,
    bytes: u64,
    /// Number of copies on each side.
    copies: usize,
    stock: Figures,
    adjunct: Figures,
    counters: BTreeMap<&'static str, Moved>,
}

#[derive(Debug, Serialize)]
struct Figures {
    /// 10^6 bytes a second, the median.
    mb_s: f64,
    /// Processor seconds of client and server, the median.
    cpu_s: f64,
}

/// Calls counted during the copies, all users together.
#[derive(Debug, Serialize)]
struct Moved {
    hw: u64,
    sw: u64,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show: no sshd, an unknown algorithm, a copy that differs, adjunct not used, ... What was copied until
/// then is shown.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let json = Sink::of_flag(args.json.as_ref())?;
    let programs = Programs::find(args.ssh.as_deref(), args.sshd.as_deref())?;
    let module = module(args.module.choice())?;
    let suite = Suite { cipher: args.cipher.clone(), mac: args.mac.clone(), kex: args.kex.clone() };
    check_names(&programs, &suite)?;
    let (openssh, openssl) = programs.versions()?;
    let place = Place::new(programs)?;
    let counted = Counted::apart("ssh-try");
    let modules = Modules { provider: Some(module.clone()), engine: None };
    let sides = [
        counted.environment().conf(&place.write("stock.cnf", &openssl_conf(&Modules::default()))?),
        counted.environment().conf(&place.write("adjunct.cnf", &openssl_conf(&modules))?),
    ];
    let before = counted.sum()?;
    let (file, bytes) = warm_up(args, &place, &suite, &sides)?;
    let (costs, done) = copies(args, &place, &suite, &sides, &file, bytes);
    let mut ended = Ended::of(done);
    if costs[0].is_empty() {
        return ended.told(Ok(())).map(|()| ExitCode::FAILURE);
    }
    let moved = counted.sum()?.since(&before);
    let report = TrialReport {
        cpu: cpu::model_name(),
        openssl,
        openssh,
        suite: suite.name(),
        bytes,
        copies: costs[0].len(),
        stock: figures(&costs[0], bytes),
        adjunct: figures(&costs[1], bytes),
        counters: rows(&moved),
    };
    let written = ended.write_json(json.as_ref(), &report);
    let shown = match &json {
        Some(Sink::Stdout) => Ok(()),
        _ => output::print(&table(&report, &costs, &moved, args.runs as usize)),
    };
    ended.told(written.and(shown))?;
    if report.counters.is_empty() {
        return Err(Failure::new(format!("adjunct was not used: no counter moved; does {} load?", module.display())));
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(moved: &Snapshot) -> BTreeMap<&'static str, Moved> {
    let all = Function::ALL.iter().map(|&f| (f.info().name, moved.function(f)));
    all.filter(|(_, counts)| !counts.is_zero())
        .map(|(name, counts)| (name, Moved { hw: counts.hardware_calls(), sw: counts.software_calls() }))
        .collect()
}

/// Gives the data and its length: the user's file, or random bytes, as many as were asked for or as take about two seconds.
/// One copy on each side, untimed, goes ahead of those that count.
fn warm_up(args: &Args, place: &Place, suite: &Suite, sides: &[Environment; 2]) -> Result<(PathBuf, u64), Failure> {
    let (mut file, mut bytes) = match &args.file {
        Some(file) => user_file(file, place)?,
        None => random_bytes(place, args.size.unwrap_or(SMALLEST))?,
    };
    let mut bar = Copied::new(bytes * 2);
    let mut seconds: f64 = 0.0;
    for side in sides {
        seconds = copy(place, suite, args.port, side, &file, &mut |n| bar.add(n))?.seconds;
    }
    if args.file.is_none() && args.size.is_none() {
        let fit = 2.0 / seconds.max(0.01);
        bytes = SMALLEST * (fit as u64).clamp(1, LARGEST / SMALLEST);
        (file, bytes) = random_bytes(place, bytes)?;
    }
    Ok((file, bytes))
}

/// The copies of both sides in turns, the first of each pair alternating. Copies that are ended early give the pairs that are whole.
fn copies(
    args: &Args,
    place: &Place,
    suite: &Suite,
    sides: &[Environment; 2],
    file: &Path,
    bytes: u64,
) -> ([Vec<Cost>; 2], Result<(), Failure>) {
    let mut bar = Copied::new(bytes * 2 * u64::from(args.runs));
    let mut costs = [Vec::new(), Vec::new()];
    let mut one = |side: usize| -> Result<(), Failure> {
        bar.side = if side == 0 { "stock" } else { "adjunct" };
        let copied = copy(place, suite, args.port, &sides[side], file, &mut |n| bar.add(n));
        // What was copied while somebody ended it is no measurement.
        interrupted()?;
        costs[side].push(copied?);
        Ok(())
    };
    let done = (0..args.runs as usize).try_for_each(|run| (0..2).try_for_each(|turn| one((turn + run) % 2)));
    let pairs = costs[0].len().min(costs[1].len());
    costs.iter_mut().for_each(|costs| costs.truncate(pairs));
    (costs, done)
}

fn figures(costs: &[Cost], bytes: u64) -> Figures {
    let rounded = |x: f64, places: i32| (x * 10f64.powi(places)).round() / 10f64.powi(places);
    let seconds = median(costs.iter().map(|c| c.seconds));
    Figures {
        mb_s: rounded(bytes as f64 / 1e6 / seconds.max(1e-9), 1),
        cpu_s: rounded(median(costs.iter().map(|c| c.client + c.server)), 4),
    }
}

fn table(report: &TrialReport, costs: &[Vec<Cost>; 2], moved: &Snapshot, wanted: usize) -> String {
    let mut out = String::new();
    let features = cpu::features();
    let has: Vec<&str> = Feature::ALL.iter().filter(|&&f| features.has(f)).map(|f| f.text()).collect();
    let _ = writeln!(out, "CPU           {}", report.cpu);
    let _ = writeln!(out, "instructions  {}", has.join(" "));
    let _ = writeln!(out, "OpenSSH       {}", report.openssh);
    let _ = writeln!(out, "OpenSSL       {}", report.openssl);
    let _ = writeln!(out, "suite         {}", report.suite);
    let copies = match report.copies {
        some if some < wanted => format!("{some} interleaved copies of {wanted}: it was ended early"),
        all => format!("{all} interleaved copies"),
    };
    let bytes = report.bytes;
    let _ = writeln!(out, "data          {bytes} bytes, each copy compared byte for byte; medians of {copies}\n");
    let _ = writeln!(out, "{:<10}{:>10}{:>14}{:>12}{:>12}", "", "MB/s", "CPU seconds", "client", "server");
    for (name, figures, costs) in [("stock", &report.stock, &costs[0]), ("adjunct", &report.adjunct, &costs[1])] {
        let client = median(costs.iter().map(|c| c.client));
        let server = median(costs.iter().map(|c| c.server));
        let _ = writeln!(out, "{name:<10}{:>10.1}{:>14.3}{client:>12.3}{server:>12.3}", figures.mb_s, figures.cpu_s);
    }
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    let _ = writeln!(
        out,
        "{:<10}{:>10.2}{:>14.2}\n",
        "ratio",
        ratio(report.adjunct.mb_s, report.stock.mb_s),
        ratio(report.adjunct.cpu_s, report.stock.cpu_s)
    );
    let _ = writeln!(out, "{:<20}{:>14}{:>14}{:>16}", "counters that moved", "# hardware", "# software", "bytes");
    for &function in Function::ALL {
        let counts = moved.function(function);
        if !counts.is_zero() {
            let bytes: u64 = counts.hardware.iter().chain(&counts.software).map(|c| c.bytes).sum();
            let (hw, sw) = (counts.hardware_calls(), counts.software_calls());
            let _ = writeln!(out, "{:<20}{hw:>14}{sw:>14}{bytes:>16}", function.info().name);
        }
    }
    if report.counters.is_empty() {
        out += "none\n";
    }
    out
}

fn random_bytes(place: &Place, bytes: u64) -> Result<(PathBuf, u64), Failure> {
    Ok((random_file(&place.path("data"), bytes)?, bytes))
}

/// The user's file by a name without surprises for the remote shell, and its length.
fn user_file(file: &Path, place: &Place) -> Result<(PathBuf, u64), Failure> {
    let path = place.path("data");
    let cannot = |e: std::io::Error| Failure::new(format!("{}: {e}", file.display()));
    let full = std::fs::canonicalize(file).map_err(cannot)?;
    let about = adjunct_tool::files::open(&full).and_then(|f| f.metadata()).map_err(cannot)?;
    if !about.is_file() || about.len() == 0 {
        return Err(Failure::new(format!("{}: not a regular file with data", file.display())));
    }
    std::os::unix::fs::symlink(&full, &path).map_err(cannot)?;
    Ok((path, about.len()))
}

fn check_names(programs: &Programs, suite: &Suite) -> Result<(), Failure> {
    for (query, name) in [("cipher", &suite.cipher), ("mac", &suite.mac), ("kex", &suite.kex)] {
        let known = programs.known(query)?;
        if !known.is_empty() && !known.contains(name) {
            let ssh = programs.ssh.display();
            return Err(Failure::Words(format!(
                "{ssh} does not know the {query} '{name}'; it has: {}",
                known.join(" ")
            )));
        }
    }
    Ok(())
}

/// The module to load in sessions of this command's own.
pub fn module(choice: Choice<'_>) -> Result<PathBuf, Failure> {
    module::find(choice, Purpose::Run, adjunct_survey::programs::modules_dir)
}

/// Parses `65536`, `200M`, `1G`.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        _ => return Err(format!("unknown unit '{unit}': use K, M or G")),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number of bytes".to_owned())?;
    match number.checked_mul(factor) {
        Some(0) | None => Err("from 1 byte to 2^64-1 bytes".to_owned()),
        Some(bytes) => Ok(bytes),
    }
}

/// Counts the bytes that copies move.
struct Copied {
    progress: Progress,
    side: &'static str,
    done: u64,
    all: u64,
}

impl Copied {
    fn new(bytes: u64) -> Copied {
        Copied { progress: Progress::begin(), side: "warming up", done: 0, all: bytes }
    }

    fn add(&mut self, bytes: u64) {
        self.done += bytes;
        let megabytes = self.done / 1_000_000;
        self.progress.set(self.done as f64 / self.all.max(1) as f64, &format!("{}, {megabytes} MB copied", self.side));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("65536"), Ok(65536));
        assert_eq!(parse_size("200M"), Ok(200_000_000));
        assert_eq!(parse_size("1gb"), Ok(1_000_000_000));
        for bad in ["", "0", "M", "1T", "-1", "18446744073709551616", "18446744073709551615K", "1é"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
