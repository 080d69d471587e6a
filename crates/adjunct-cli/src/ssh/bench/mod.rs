//! `adjunct ssh bench`: the papers' measurements of OpenSSH with crypto hardware, made again on this machine.
//!
//! `plan` is what the papers measured, `bulk` and `small` measure it with `scp`; [`report`] is what a run found, and
//! `table`, `csv`, `page` and JSON show it.

mod bulk;
mod clock;
mod csv;
#[cfg(test)]
mod example;
mod file;
mod page;
mod plan;
pub mod report;
mod scp;
mod setup;
pub(crate) mod sink;
mod small;
mod summary;
mod table;

use super::lab::Programs;
use super::measure::Rig;
use super::tryout::{module, parse_size};
use crate::counted::Counted;
use crate::output::Style;
use crate::{Failure, output};
use bulk::{Known, Subject};
use clock::{Clock, about};
use file::Source;
use plan::Key;
use report::{FORMAT, Header, Report, Section, Served};
use scp::{Copier, Job};
use setup::Sides;
use sink::Sink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const LONG: &str = "\
Measure OpenSSH as two papers about IBM Z did, on this machine: software, stock OpenSSL, adjunct

Copies files by scp to an sshd of its own on loopback, target /dev/null, and shows throughput and processor time of three sides:

  software  stock OpenSSL with the CPU's crypto instructions masked
  stock     OpenSSL as it is
  adjunct   the same with adjunct's provider and engine

  figure7   TDES and AES with MD5, SHA-1 and SHA-2 MACs (\"Using Hardware Cryptographic Support With OpenSSH in Linux on System \
z\", 2010, figure 7)
  tables    every cipher, by algorithm, key size and mode (\"Hardware cryptographic support of IBM z Systems for OpenSSH\", 2016, \
tables 2 to 4, with that paper's own figures)
  small     copies of a file of 2 bytes with RSA, ECDSA and Ed25519 keys, one after another and several at once (the same paper, \
chapter 8)

Today's scp speaks SFTP; sshd answers by its internal-sftp. The sides take turns, in changing order; shown are medians, and as spread half of what lies between the quartiles. The time is \
that of the whole scp command, login included. The file that is copied is a hole: it takes no disk, whatever its size. Nothing \
of the system is touched, and what adjunct counts is kept apart from the users' counters.";

const EXAMPLES: &str = "\
Examples:
  adjunct ssh bench --quick                              a rough answer in a minute or two
  adjunct ssh bench --html bench.html --json bench.json  all of it, as a page and for programs
  adjunct ssh bench --part tables --size 5G              tables 2 to 4 with the file size of the paper
  adjunct ssh bench --part figure7 --filter aes128       only rows whose name contains aes128
  adjunct ssh bench --from bench.json --html bench.html  make the page again, measure nothing

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.";

/// Measure OpenSSH as the papers did: software, stock OpenSSL, adjunct
#[derive(Debug, clap::Args)]
#[command(long_about = LONG, after_help = EXAMPLES)]
pub struct Args {
    /// Only this part (may be given again) [default: all]
    #[arg(long, value_enum)]
    part: Vec<Part>,
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Bytes of a large copy; K, M, G stand for 10^3, 10^6, 10^9 [default: 250M, 30M with TDES]
    #[arg(long, value_parser = parse_size)]
    size: Option<u64>,
    /// Copies of every row on every side; rows of more than a minute get 3 [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: Option<u32>,
    /// How many small copies run at once
    #[arg(long, default_value_t = 8, value_name = "COPIES", value_parser = clap::value_parser!(u32).range(1..=200))]
    at_once: u32,
    /// A rough answer soon: 64 MB (TDES: 8 MB), 3 copies
    #[arg(long)]
    quick: bool,
    /// Write the report as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write it as CSV to FILE
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write it as one self-contained page with charts to FILE
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Measure nothing: show and write again what an earlier run wrote by --json
    #[arg(long, value_name = "FILE", conflicts_with_all = ["part", "filter", "size", "runs", "quick"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    module: crate::module::Args,
    /// The ssh client to use; scp and ssh-keygen are taken from beside it
    #[arg(long)]
    ssh: Option<PathBuf>,
    /// The sshd to use
    #[arg(long)]
    sshd: Option<PathBuf>,
}

/// A part of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// TDES and AES with MD5, SHA-1 and SHA-2 MACs
    Figure7,
    /// Every cipher: tables 2, 3 and 4
    Tables,
    /// Small files by type of key: chapter 8
    Small,
}

impl Args {
    fn wants(&self, part: Part) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn wanted(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.filter.is_empty() || self.filter.iter().any(|f| name.contains(&f.to_lowercase()))
    }

    fn subjects(&self, part: Part, all: Vec<Subject>) -> Vec<Subject> {
        let wanted = |subject: &Subject| self.wants(part) && self.wanted(&subject.name());
        all.into_iter().filter(wanted).collect()
    }

    fn runs(&self) -> usize {
        self.runs.map_or(if self.quick { 3 } else { 5 }, |runs| runs as usize)
    }

    fn bulk(&self) -> bulk::Effort {
        let (bytes, slow) = if self.quick { (64_000_000, 8_000_000) } else { (250_000_000, 30_000_000) };
        bulk::Effort { bytes: self.size.unwrap_or(bytes), slow_bytes: self.size.unwrap_or(slow), runs: self.runs() }
    }

    fn small(&self) -> small::Effort {
        let copies = if self.quick { 1 } else { 4 };
        small::Effort { copies, at_once: self.at_once as usize, runs: self.runs() }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show: no sshd, a file that cannot be written, a login that fails, ...
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let sinks = Sinks::open(args)?;
    let shown = (!sinks.replace_tables()).then(Style::of_stdout);
    let report = match &args.from {
        Some(path) => {
            let report = earlier(path)?;
            if let Some(style) = shown {
                let sections = report.sections.iter().map(|s| table::section(s, style));
                output::print(
                    &std::iter::once(table::head(&report.header, style)).chain(sections).collect::<String>(),
                )?;
            }
            report
        }
        None => Run::new(args)?.report(shown)?,
    };
    sinks.write(&report)?;
    Ok(ExitCode::SUCCESS)
}

/// A run that measures.
struct Run<'a> {
    args: &'a Args,
    figure7: Vec<Subject>,
    tables: Vec<Subject>,
    keys: Vec<Key>,
    known: Known,
    header: Header,
    sides: Sides,
    copier: Copier,
    clock: Clock,
}

impl<'a> Run<'a> {
    /// Finds the programs, makes the private folder, and measures how long all will take.
    fn new(args: &'a Args) -> Result<Run<'a>, Failure> {
        let figure7 = args.subjects(Part::Figure7, bulk::figure7());
        let tables = args.subjects(Part::Tables, bulk::tables());
        let keys = small::keys(|name| args.wants(Part::Small) && args.wanted(name));
        if figure7.is_empty() && tables.is_empty() && keys.is_empty() {
            return Err(Failure::Words(format!("no row's name contains {}", args.filter.join(" or "))));
        }
        let programs = Programs::find(args.ssh.as_deref(), args.sshd.as_deref())?;
        let (provider, scp) = (module(args.module.choice())?, programs.scp()?);
        let mut header = setup::header(&programs)?;
        let known = Known {
            version: header.openssh.clone(),
            ciphers: programs.known("cipher")?,
            macs: programs.known("mac")?,
            default_mac: setup::default_mac(&programs),
        };
        let counted = Counted::apart("ssh-bench");
        let rig = Rig::new(programs)?;
        let sides = setup::sides(rig.place(), &provider, &counted)?;
        let mut copier = Copier::new(rig, scp, counted);
        describe(args, &mut header, &copier, !(figure7.is_empty() && tables.is_empty()))?;
        let (login, speed) = calibrate(&mut copier, &sides)?;
        let bulk =
            [&figure7, &tables].map(|s| bulk::estimate(s, &known, &args.bulk(), speed, login)).iter().sum::<f64>();
        let clock = Clock::new(login, speed, bulk + small::estimate(&keys, &args.small(), login));
        Ok(Run { args, figure7, tables, keys, known, header, sides, copier, clock })
    }

    /// Measures the parts, and shows each when it is whole.
    fn report(mut self, shown: Option<Style>) -> Result<Report, Failure> {
        let mut sections: Vec<Section> = Vec::new();
        if let Some(style) = shown {
            output::print(&table::head(&self.header, style))?;
        }
        say(&format!("this takes {}; Ctrl-C ends it", about(self.clock.total())));
        let mut add = |new: Vec<Section>| -> Result<(), Failure> {
            for section in new {
                if let Some(style) = shown {
                    output::print(&table::section(&section, style))?;
                }
                sections.push(section);
            }
            Ok(())
        };
        let effort = self.args.bulk();
        for (subjects, tables) in [(&self.figure7, false), (&self.tables, true)] {
            if !subjects.is_empty() {
                let rows =
                    bulk::measure(&mut self.copier, &self.sides, subjects, &self.known, &effort, &mut self.clock)?;
                self.clock.hide();
                add(if tables { bulk::table_sections(&rows) } else { vec![bulk::figure7_section(&rows)] })?;
            }
        }
        if !self.keys.is_empty() {
            let section =
                small::measure(&mut self.copier, &self.sides, &self.keys, &self.args.small(), &mut self.clock)?;
            self.clock.hide();
            add(vec![section])?;
        }
        self.header.served = self.copier.counted().served()?;
        if self.header.served == Served::default() {
            return Err(Failure::new("adjunct was not used: no counter moved; does the module load?"));
        }
        Ok(Report { format: FORMAT, header: self.header, sections })
    }
}

/// Says what is copied and how, after a try whether it can be.
fn describe(args: &Args, header: &mut Header, copier: &Copier, large: bool) -> Result<(), Failure> {
    let effort = args.bulk();
    if large {
        // A try with the longest file, before minutes are spent on shorter ones.
        let longest = Source::new(copier.folder(), "trial", effort.bytes.max(effort.slow_bytes))?;
        let disk = if longest.on_disk == 0 { "no disk" } else { "as much disk" };
        let slow = if effort.bytes == effort.slow_bytes {
            String::new()
        } else {
            format!(" ({} with TDES)", bulk::size(effort.slow_bytes))
        };
        header.data = format!("{}{slow}, a sparse file that takes {disk}", bulk::size(effort.bytes));
        header.data += ", copied by scp to /dev/null on the same machine";
    } else {
        header.data = "2 bytes, copied by scp to /dev/null on the same machine".to_owned();
    }
    header.method = format!(
        "medians of {} runs of each side, in turns, in changing order; spread: half of what lies between the quartiles; time \
         and CPU time of the whole scp command, login included",
        args.runs()
    );
    Ok(())
}

/// Seconds of a copy of nothing, and the speed of AES, both on the stock side.
fn calibrate(copier: &mut Copier, sides: &Sides) -> Result<(f64, f64), Failure> {
    const BYTES: u64 = 16_000_000;
    let Some(stock) = &sides[1] else { return Err(Failure::new("no stock side")) };
    let (little, much) = (Source::new(copier.folder(), "little", 1)?, Source::new(copier.folder(), "much", BYTES)?);
    let mut seconds = |file: &Path| {
        let job = Job {
            both: vec!["Ciphers aes128-ctr".to_owned()],
            key: "ssh-ed25519".to_owned(),
            rsa_bits: 0,
            file: file.to_owned(),
            copies: 1,
            at_once: 1,
            limit: Duration::from_secs(120),
        };
        copier.run(stock, &job).map(|taken| taken.seconds)
    };
    seconds(little.path())?;
    let login = seconds(little.path())?;
    let speed = BYTES as f64 / (seconds(much.path())? - login).max(0.01);
    Ok((login, speed))
}

/// A line for who waits.
fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Where the report goes, beside the terminal.
struct Sinks {
    json: Option<Sink>,
    csv: Option<Sink>,
    html: Option<Sink>,
}

impl Sinks {
    fn open(args: &Args) -> Result<Sinks, Failure> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Sink::open).transpose();
        let sinks = Sinks { json: open(&args.json)?, csv: open(&args.csv)?, html: open(&args.html)? };
        let all: Vec<&Sink> = sinks.all().collect();
        for (index, sink) in all.iter().enumerate() {
            if all[..index].iter().any(|other| other.same(sink)) {
                return Err(Failure::Words("--json, --csv and --html need a target each".to_owned()));
            }
        }
        Ok(sinks)
    }

    fn all(&self) -> impl Iterator<Item = &Sink> {
        [&self.json, &self.csv, &self.html].into_iter().flatten()
    }

    fn replace_tables(&self) -> bool {
        self.all().any(Sink::is_stdout)
    }

    fn write(&self, report: &Report) -> Result<(), Failure> {
        if let Some(sink) = &self.json {
            let text = serde_json::to_string_pretty(report).map_err(|e| Failure::new(format!("JSON: {e}")))?;
            sink.write(&(text + "\n"))?;
        }
        if let Some(sink) = &self.csv {
            sink.write(&csv::text(report))?;
        }
        if let Some(sink) = &self.html {
            sink.write(&page::text(report)?)?;
        }
        Ok(())
    }
}

/// The report that an earlier run wrote.
fn earlier(path: &Path) -> Result<Report, Failure> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|e| Failure::new(format!("{name}: {}", crate::failure::cause(&e))))?;
    let report: Report = serde_json::from_str(&text)
        .map_err(|e| Failure::new(format!("{name}: not a report of 'adjunct ssh bench --json': {e}")))?;
    if report.format != FORMAT {
        return Err(Failure::new(format!("{name}: format {}, this program reads {FORMAT}", report.format)));
    }
    Ok(report)
}

/// What every output says of the machine and how it was measured.
fn facts(header: &Header) -> Vec<(&'static str, String)> {
    let served = format!("{} calls in hardware, {} in software", header.served.hardware, header.served.software);
    let counted = header.served != Served::default();
    let mut facts = vec![
        ("CPU", format!("{}, {} of them", header.cpu, header.cpus)),
        ("instructions", header.instructions.join(" ")),
        ("system", header.system.clone()),
        ("OpenSSH", header.openssh.clone()),
        ("OpenSSL", header.openssl.clone()),
        ("adjunct", format!("{}; engine: {}", header.adjunct, header.engine)),
        ("adjunct served", if counted { served } else { String::new() }),
        ("software side", header.mask.clone()),
        ("data", header.data.clone()),
        ("method", header.method.clone()),
        ("date", header.date.clone()),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}
