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
mod opening;
mod page;
mod plan;
pub mod report;
mod scp;
mod setup;
mod small;
mod start;
mod summary;
mod table;

use super::lab::Programs;
use super::measure::Rig;
use super::tryout::{module, parse_size};
use crate::counted::Counted;
use adjunct_tool::output::Style;
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output};
use bulk::{Bulk, Known, Logins, Subject};
use clock::{Clock, about};
use file::Source;
use plan::Key;
use report::{Column, FORMAT, Header, Report, Section, Served};
use scp::Copier;
use setup::Sides;
use small::Small;
use start::Starts;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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

Today's scp speaks SFTP; sshd answers by its internal-sftp. The sides take turns, in changing order; shown are medians, and as spread half of what lies between the quartiles. What starting and \
logging in takes is measured by copies of one byte in the same rounds, shown by itself, and taken off. The file that is copied is a hole: it takes no disk, whatever its size. Nothing \
of the system is touched, and what adjunct counts is kept apart from the users' counters.";

const EXAMPLES: &str = "\
Examples:
  adjunct ssh bench --quick --html bench.html            a rough answer within two minutes
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
    /// A rough answer within two minutes: today's ciphers and keys, 64 MB or less, 3 to 7 copies
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
        // A rough answer has old ciphers only where they are asked for.
        let old = self.quick && self.filter.is_empty() && part == Part::Figure7;
        if self.part.is_empty() { !old } else { self.part.contains(&part) }
    }

    /// Whether a row of this kind belongs to a rough answer, where one is wanted and nothing else was asked for.
    fn rough(&self, usual: bool) -> bool {
        usual || !self.quick || !self.filter.is_empty() || self.part.contains(&Part::Figure7)
    }

    fn wanted(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.filter.is_empty() || self.filter.iter().any(|f| name.contains(&f.to_lowercase()))
    }

    fn subjects(&self, part: Part, all: Vec<Subject>) -> Vec<Subject> {
        let usual = |subject: &Subject| self.rough(!plan::old(subject.cipher));
        let wanted = |subject: &Subject| self.wants(part) && self.wanted(&subject.name()) && usual(subject);
        all.into_iter().filter(wanted).collect()
    }

    fn bulk(&self) -> bulk::Effort {
        let (bytes, slow) = if self.quick { (64_000_000, 8_000_000) } else { (250_000_000, 30_000_000) };
        bulk::Effort { bytes: self.size.unwrap_or(bytes), slow_bytes: self.size.unwrap_or(slow) }
    }

    fn small(&self) -> small::Effort {
        let copies = if self.quick { 2 } else { 4 };
        small::Effort { copies, at_once: self.at_once as usize, quick: self.quick }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show: no sshd, a file that cannot be written, a login that fails, ...
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let sinks = Sinks::open(args)?;
    let shown = (!sinks.replace_tables()).then(Style::of_stdout);
    let (report, ended) = match &args.from {
        Some(path) => {
            let report = earlier(path)?;
            if let Some(style) = shown {
                let sections = report.sections.iter().map(|s| table::section(s, style));
                let text = std::iter::once(table::head(&report.header, style)).chain(sections).collect::<String>();
                output::print(&(text + &table::end(&report, style)))?;
            }
            (report, Ended::of(Ok(())))
        }
        None => Run::new(args)?.report(shown)?,
    };
    sinks.write(&report, ended)?;
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
        let keys = small::keys(|name| args.wants(Part::Small) && args.wanted(name) && args.rough(plan::usual(name)));
        if figure7.is_empty() && tables.is_empty() && keys.is_empty() {
            return Err(Failure::Words(format!("no row's name contains {}", args.filter.join(" or "))));
        }
        let programs = Programs::find(args.ssh.as_deref(), args.sshd.as_deref())?;
        let (provider, scp) = (module(args.module.choice())?, programs.scp()?);
        let header = setup::header(&programs)?;
        let known = Known {
            version: header.openssh.clone(),
            ciphers: programs.known("cipher")?,
            macs: programs.known("mac")?,
            default_mac: setup::offered(&programs, "macs").into_iter().next(),
        };
        let counted = Counted::apart("ssh-bench");
        let rig = Rig::new(programs)?;
        let sides = setup::sides(rig.place(), &provider, &counted)?;
        let copier = Copier::new(rig, scp, counted);
        Ok(Run { args, figure7, tables, keys, known, header, sides, copier, clock: Clock::start() })
    }

    /// Tries all rows, measures them, and shows each part when it is whole; and how that ended.
    fn report(mut self, shown: Option<Style>) -> Result<(Report, Ended), Failure> {
        let mut tried = self.tried()?;
        self.plan(&mut tried);
        if let Some(style) = shown {
            output::print(&table::head(&self.header, style))?;
        }
        self.header.estimated_s = report::rounded(self.clock.total(), 1);
        say(&format!("this takes {} in all", about(self.header.estimated_s)));
        let mut sections: Vec<Section> = Vec::new();
        let ended = Ended::of(self.sections(&mut tried, shown, &mut sections));
        self.header.starts = tried.starts.map(|starts| starts.figures()).unwrap_or_default();
        self.clock.hide();
        if !ended.whole() && sections.iter().all(|section| !section.has_figures()) {
            return ended.told(Ok(())).and(Err(Failure::new("nothing was measured")));
        }
        self.header.served = self.copier.counted().served()?;
        if self.header.served == Served::default() {
            return Err(Failure::new("adjunct was not used: no counter moved; does the module load?"));
        }
        self.header.took_s = report::rounded(self.clock.spent().as_secs_f64(), 1);
        self.header.busy = self.clock.busy();
        let report = Report { format: FORMAT, header: self.header, sections };
        if let Some(style) = shown {
            output::print(&table::end(&report, style))?;
        }
        Ok((report, ended))
    }

    /// Measures what was tried. What was measured until it fails is among the sections, too.
    fn sections(
        &mut self,
        tried: &mut Tried,
        shown: Option<Style>,
        sections: &mut Vec<Section>,
    ) -> Result<(), Failure> {
        let mut add = |new: Vec<Section>| -> Result<(), Failure> {
            for section in new {
                if let Some(style) = shown {
                    output::print(&table::section(&section, style))?;
                }
                sections.push(section);
            }
            Ok(())
        };
        let Tried { bulk, small, starts } = tried;
        for (bulk, tables) in std::mem::take(bulk).into_iter().zip([false, true]) {
            if let (Some(bulk), Some(starts)) = (bulk, starts.as_mut()) {
                let (rows, done) = bulk.measure(&mut self.copier, &self.sides, (&self.known, starts), &mut self.clock);
                self.clock.hide();
                add(if tables { bulk::table_sections(&rows) } else { vec![bulk::figure7_section(&rows)] })?;
                done?;
            }
        }
        if let Some(small) = small.take() {
            let (section, done) = small.measure(&mut self.copier, &self.sides, &mut self.clock);
            self.clock.hide();
            add(vec![section])?;
            done?;
        }
        Ok(())
    }

    fn tried(&mut self) -> Result<Tried, Failure> {
        let effort = self.args.bulk();
        let large = [&self.figure7, &self.tables].iter().any(|subjects| !subjects.is_empty());
        if large {
            // A try with the longest file, before minutes are spent on shorter ones.
            Source::new(self.copier.folder(), "trial", effort.bytes.max(effort.slow_bytes))?;
        }
        say("every row is tried once; then it is said how long this takes. Ctrl-C ends it");
        let (copier, sides, clock) = (&mut self.copier, &self.sides, &mut self.clock);
        let starts = if large { Some(tried_starts(copier, sides)?) } else { None };
        let logins: Logins = starts.as_ref().map(|starts| starts.each().map(|taken| taken.seconds)).unwrap_or_default();
        let mut bulk = [None, None];
        for (bulk, subjects) in bulk.iter_mut().zip([&self.figure7, &self.tables]) {
            if !subjects.is_empty() {
                *bulk = Some(Bulk::tried(copier, sides, subjects, (&self.known, &effort), &logins, clock)?);
            }
        }
        let small = (!self.keys.is_empty()).then(|| Small::tried(copier, sides, &self.keys, self.args.small(), clock));
        let tried = Tried { bulk, small: small.transpose()?, starts };
        clock.hide();
        Ok(tried)
    }

    /// Plans the rounds of all that was tried: as many as were asked for, or as fit into the time of a rough answer.
    fn plan(&mut self, tried: &mut Tried) {
        let (args, clock) = (self.args, &mut self.clock);
        let mut runs = args.runs.map_or(5, |runs| runs as usize);
        if args.quick {
            let time = (QUICK - clock.spent().as_secs_f64()).max(1.0);
            let [logins, data] = tried.round();
            let least = bulk::LEAST as f64;
            if args.size.is_none() && least * (logins + data) > time && data > 0.0 {
                tried.bulk.iter_mut().flatten().for_each(|bulk| bulk.shorten((time / least - logins) / data));
            }
            let [logins, data] = tried.round();
            if args.runs.is_none() {
                runs = ((time / (logins + data).max(1e-3)) as usize).clamp(bulk::LEAST, 7);
            }
        }
        tried.bulk.iter_mut().flatten().for_each(|bulk| bulk.plan(runs, clock));
        if let Some(small) = &mut tried.small {
            small.plan(runs, clock);
        }
        describe(args, &mut self.header, tried, runs);
    }
}

/// How long a rough answer takes, in seconds.
const QUICK: f64 = 115.0;

/// The measurements: figure 7, the tables, the small copies, and copies of one byte.
struct Tried {
    bulk: [Option<Bulk>; 2],
    small: Option<Small>,
    starts: Option<Starts>,
}

impl Tried {
    /// Seconds of a round of everything: of logins, and of data.
    fn round(&self) -> [f64; 2] {
        let small = self.small.as_ref().map_or(0.0, Small::round);
        self.bulk.iter().flatten().fold([small, 0.0], |[logins, data], bulk| {
            let round = bulk.round();
            [logins + round[0], data + round[1]]
        })
    }
}

/// Says what is copied and how.
fn describe(args: &Args, header: &mut Header, tried: &Tried, runs: usize) {
    let bytes = tried.bulk.iter().flatten().map(Bulk::bytes).max().unwrap_or(0);
    let effort = args.bulk();
    header.data = if bytes == 0 {
        "2 bytes".to_owned()
    } else if effort.bytes == effort.slow_bytes || args.quick {
        format!("{}, a sparse file", bulk::size(bytes))
    } else {
        format!("{} ({} with TDES), a sparse file", bulk::size(bytes), bulk::size(effort.slow_bytes))
    };
    header.data += ", copied by scp to /dev/null on the same machine";
    header.method = format!(
        "medians of {runs} runs of each side, in turns, in changing order; spread: half of what lies between the quartiles; of \
         large copies time and CPU time of the bytes alone, without what starting scp and logging in takes"
    );
}

/// Makes copies of one byte; how many follows from the time of a login.
fn tried_starts(copier: &mut Copier, sides: &Sides) -> Result<Starts, Failure> {
    let mut starts = Starts::new(copier, sides)?;
    (0..4).try_for_each(|round| starts.measure(copier, sides, round))?;
    Ok(starts)
}

/// Prints a line of progress.
fn say(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Outputs of the report beside the terminal.
struct Sinks {
    json: Option<Sink>,
    csv: Option<Sink>,
    html: Option<Sink>,
}

impl Sinks {
    fn open(args: &Args) -> Result<Sinks, Failure> {
        let open = |path: &Option<PathBuf>| Sink::of(path.as_deref());
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

    fn write(&self, report: &Report, mut ended: Ended) -> Result<(), Failure> {
        let json = ended.write_json(self.json.as_ref(), report);
        let csv = ended.write(self.csv.as_ref(), || Ok(csv::text(report)));
        let html = ended.write(self.html.as_ref(), || page::text(report));
        ended.told(json.and(csv).and(html))
    }
}

/// The report that an earlier run wrote.
fn earlier(path: &Path) -> Result<Report, Failure> {
    let name = path.display();
    let text = adjunct_tool::files::config(path)
        .map_err(|e| Failure::new(format!("{name}: {}", adjunct_tool::failure::cause(&e))))?;
    let report: Report = serde_json::from_slice(&text)
        .map_err(|e| Failure::new(format!("{name}: not a report of 'adjunct ssh bench --json': {e}")))?;
    if report.format != FORMAT {
        return Err(Failure::new(format!("{name}: format {}, this program reads {FORMAT}", report.format)));
    }
    Ok(report)
}

/// The name of starting and logging in.
const SET_UP: &str = "set-up";

/// The time of starting and logging in, for people.
fn starts(header: &Header) -> Option<String> {
    let [seconds, cpu] = ["s", "cpu_s"].map(|id| header.starts.get(id));
    let of = |column: Column| {
        let [seconds, cpu] = [seconds?.side(column)?.median, cpu?.side(column)?.median];
        let [seconds, cpu] = [seconds, cpu].map(|value| report::number(value, 2));
        Some(format!("{seconds} s and {cpu} CPU s {}", column.text()))
    };
    let all: Vec<String> = Column::ALL.into_iter().filter_map(of).collect();
    (!all.is_empty()).then(|| format!("{}: starting scp and logging in, taken off the large copies", all.join(", ")))
}

/// The facts about machine and measurement that every output has.
fn facts(header: &Header) -> Vec<(&'static str, String)> {
    let served = format!("{} calls in hardware, {} in software", header.served.hardware, header.served.software);
    let counted = header.served != Served::default();
    let took =
        format!("{:.0} s; {:.0} s were estimated once every row had been tried", header.took_s, header.estimated_s);
    let mut facts = vec![
        ("CPU", format!("{}, {} of them", header.cpu, header.cpus)),
        ("instructions", header.instructions.join(" ")),
        ("system", header.system.clone()),
        ("OpenSSH", header.openssh.clone()),
        ("OpenSSL", header.openssl.clone()),
        ("adjunct", format!("{}; engine: {}", header.adjunct, header.engine)),
        ("adjunct served", if counted { served } else { String::new() }),
        ("software side", header.mask.clone()),
        (SET_UP, starts(header).unwrap_or_default()),
        ("data", header.data.clone()),
        ("method", header.method.clone()),
        ("date", header.date.clone()),
        ("took", if header.took_s > 0.0 { took } else { String::new() }),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts
}
