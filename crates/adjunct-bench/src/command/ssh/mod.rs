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

use super::wanted;
use crate::harness::run::{self, Form, Outputs, Report as _, Shown};
use adjunct_cli::counted::Counted;
use adjunct_cli::ssh::bench::{Args, Part};
use adjunct_cli::ssh::lab::Programs;
use adjunct_cli::ssh::measure::Rig;
use adjunct_cli::ssh::tryout::module;
use adjunct_tool::Failure;
use adjunct_tool::output::Style;
use bulk::{Bulk, Known, Logins, Subject};
use clock::{Clock, about};
use file::Source;
use plan::SshKeyType;
use report::{Column, FORMAT, Header, Section, Served, SshReport};
use scp::Copier;
use setup::Sides;
use small::Small;
use start::Starts;
use std::path::Path;
use std::process::ExitCode;

/// The rows of a part that are wanted.
fn subjects(args: &Args, part: Part, all: Vec<Subject>) -> Vec<Subject> {
    let usual = |subject: &Subject| args.rough(!plan::old(subject.cipher));
    let is_wanted = |subject: &Subject| args.wants(part) && wanted(&subject.name(), &args.filter) && usual(subject);
    all.into_iter().filter(is_wanted).collect()
}

fn large(args: &Args) -> bulk::Effort {
    let (bytes, slow) = if args.quick { (64_000_000, 8_000_000) } else { (250_000_000, 30_000_000) };
    bulk::Effort { bytes: args.size.unwrap_or(bytes), slow_bytes: args.size.unwrap_or(slow) }
}

fn small(args: &Args) -> small::Effort {
    let copies = if args.quick { 2 } else { 4 };
    small::Effort { copies, at_once: args.at_once as usize, quick: args.quick }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show: no sshd, a file that cannot be written, a login that fails, ...
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let others: [(_, Form<SshReport>); 2] =
        [(args.csv.as_deref(), |report| Ok(csv::text(report))), (args.html.as_deref(), page::text)];
    let outputs = Outputs::open(args.json.as_deref(), &others)?;
    if outputs.collide() {
        return Err(Failure::Words("--json, --csv and --html need a target each".to_owned()));
    }
    let shown = outputs.shown();
    let (report, done) = match &args.from {
        Some(path) => {
            let report = earlier(path)?;
            let sections = report.sections.iter().map(|section| table::section(section, Style::of_stdout()));
            shown.print(&std::iter::once(report.heading()).chain(sections).collect::<String>())?;
            (report, Ok(()))
        }
        None => Run::new(args)?.report(shown)?,
    };
    outputs.end(&report, done)
}

impl run::Report for SshReport {
    fn heading(&self) -> String {
        table::head(&self.header, Style::of_stdout())
    }

    fn summary(&self) -> String {
        table::end(self, Style::of_stdout())
    }
}

/// A run that measures.
struct Run<'a> {
    args: &'a Args,
    figure7: Vec<Subject>,
    tables: Vec<Subject>,
    keys: Vec<SshKeyType>,
    known: Known,
    header: Header,
    sides: Sides,
    copier: Copier,
    clock: Clock,
}

impl<'a> Run<'a> {
    /// Finds the programs, makes the private folder, and measures how long all will take.
    fn new(args: &'a Args) -> Result<Run<'a>, Failure> {
        let figure7 = subjects(args, Part::Figure7, bulk::figure7());
        let tables = subjects(args, Part::Tables, bulk::tables());
        let keys =
            small::keys(|name| args.wants(Part::Small) && wanted(name, &args.filter) && args.rough(plan::usual(name)));
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

    /// Tries all rows, measures them, and shows each part when it is whole; and how that ended. Where it ends while it tries, the copies of the trial
    /// are what was measured.
    fn report(mut self, shown: Shown) -> Result<(SshReport, Result<(), Failure>), Failure> {
        let (mut tried, done) = self.tried()?;
        let mut sections: Vec<Section> = Vec::new();
        let done = if done.is_ok() {
            self.plan(&mut tried);
            shown.print(&table::head(&self.header, Style::of_stdout()))?;
            self.header.estimated_s = report::rounded(self.clock.total(), 1);
            say(&format!("this takes {} in all", about(self.header.estimated_s)));
            self.sections(&mut tried, shown, &mut sections)
        } else {
            self.tries(&mut tried, shown, &mut sections)?;
            done
        };
        self.header.starts = tried.starts.map(|starts| starts.figures()).unwrap_or_default();
        self.clock.hide();
        if sections.iter().all(|section| !section.has_figures()) {
            // Nothing is to be written of a run that ended before the first figure.
            done.as_ref().map_err(|failure| Failure::new(failure.to_string()))?;
        }
        self.header.served = self.copier.counted().served()?;
        if self.header.served == Served::default() {
            return Err(Failure::new("adjunct was not used: no counter moved; does the module load?"));
        }
        self.header.took_s = report::rounded(self.clock.spent().as_secs_f64(), 1);
        self.header.busy = self.clock.busy();
        let report = SshReport { format: FORMAT, header: self.header, sections };
        Ok((report, done))
    }

    /// Measures what was tried. What was measured until it fails is among the sections, too.
    fn sections(&mut self, tried: &mut Tried, shown: Shown, sections: &mut Vec<Section>) -> Result<(), Failure> {
        let mut add = |new: Vec<Section>| -> Result<(), Failure> {
            for section in new {
                shown.print(&table::section(&section, Style::of_stdout()))?;
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

    /// Shows what was tried of a run that ended before it was measured.
    fn tries(&mut self, tried: &mut Tried, shown: Shown, sections: &mut Vec<Section>) -> Result<(), Failure> {
        for (bulk, tables) in std::mem::take(&mut tried.bulk).into_iter().zip([false, true]) {
            if let (Some(bulk), Some(starts)) = (bulk, &tried.starts) {
                let rows = bulk.tries(&self.sides, &self.known, starts);
                sections.extend(if tables { bulk::table_sections(&rows) } else { vec![bulk::figure7_section(&rows)] });
            }
        }
        sections.retain(Section::has_figures);
        if sections.is_empty() {
            return Ok(());
        }
        self.header.data = "a part of each file, copied by scp to /dev/null on the same machine".to_owned();
        self.header.method =
            format!("one copy on each side, by which every row is tried before it is measured; {LESS}");
        shown.print(&table::head(&self.header, Style::of_stdout()))?;
        sections.iter().try_for_each(|section| shown.print(&table::section(section, Style::of_stdout())))
    }

    /// Tries every row once. Where that fails, what was tried until then comes with the failure.
    fn tried(&mut self) -> Result<(Tried, Result<(), Failure>), Failure> {
        let effort = large(self.args);
        let large = [&self.figure7, &self.tables].iter().any(|subjects| !subjects.is_empty());
        if large {
            // A try with the longest file, before minutes are spent on shorter ones.
            Source::new(self.copier.folder(), "trial", effort.bytes.max(effort.slow_bytes))?;
        }
        say("every row is tried once; then it is said how long this takes. Ctrl-C ends it");
        let (copier, sides, clock) = (&mut self.copier, &self.sides, &mut self.clock);
        let starts = if large { Some(tried_starts(copier, sides)?) } else { None };
        let logins: Logins = starts.as_ref().map(|starts| starts.each().map(|taken| taken.seconds)).unwrap_or_default();
        let mut tried = Tried { bulk: [None, None], small: None, starts };
        for (bulk, subjects) in tried.bulk.iter_mut().zip([&self.figure7, &self.tables]) {
            if !subjects.is_empty() {
                let (new, done) = Bulk::tried(copier, sides, subjects, (&self.known, &effort), &logins, clock);
                *bulk = Some(new);
                if done.is_err() {
                    clock.hide();
                    return Ok((tried, done));
                }
            }
        }
        let small = (!self.keys.is_empty()).then(|| Small::tried(copier, sides, &self.keys, small(self.args), clock));
        clock.hide();
        let done = match small.transpose() {
            Ok(small) => {
                tried.small = small;
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        Ok((tried, done))
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
    let effort = large(args);
    header.data = if bytes == 0 {
        "2 bytes".to_owned()
    } else if effort.bytes == effort.slow_bytes || args.quick {
        format!("{}, a sparse file", bulk::size(bytes))
    } else {
        format!("{} ({} with TDES), a sparse file", bulk::size(bytes), bulk::size(effort.slow_bytes))
    };
    header.data += ", copied by scp to /dev/null on the same machine";
    header.method = format!(
        "medians of {runs} runs of each side, in turns, in changing order; spread: half of what lies between the quartiles; {LESS}"
    );
}

/// What the figures of large copies are without.
const LESS: &str =
    "of large copies time and CPU time of the bytes alone, without what starting scp and logging in takes";

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

/// The report that an earlier run wrote.
fn earlier(path: &Path) -> Result<SshReport, Failure> {
    let name = path.display();
    let text = adjunct_tool::files::config(path)
        .map_err(|e| Failure::new(format!("{name}: {}", adjunct_tool::failure::cause(&e))))?;
    let report: SshReport = serde_json::from_slice(&text)
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
    let estimated = match header.estimated_s {
        0.0 => String::new(),
        seconds => format!("; {seconds:.0} s were estimated once every row had been tried"),
    };
    let took = format!("{:.0} s{estimated}", header.took_s);
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
