//! `adjunct bench openssl`: the provider beside OpenSSL's default provider.

mod class;
mod markdown;
mod report;

use super::{no_rows, seconds, wanted};
use crate::counted::Counted;
use crate::info::measured;
use adjunct_bench::libcrypto::Side;
use adjunct_bench::measure::{self, Plan, Work};
use adjunct_bench::{Error, publickey, symmetric};
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::progress::Rows;
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output, state};
use class::{Imitated, Wanted};
use report::{Report, Row};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const LONG: &str = "\
Measure the provider beside OpenSSL's default provider, through the same EVP calls

Both sides run in this process, on one thread, with the same libcrypto, keys, input and buffers; what differs is the \
property query of the fetch (provider=adjunct, provider=default). The two take turns in slices of CPU time, and the table \
shows the median of the slices: bytes (GB/s) or operations (op/s) per second of CPU time, and adjunct's as a multiple of \
stock's. A row under 0.95 is measured a second time, three times as long; the second time counts.

What is one operation:
  cipher              init with the IV (the key stays), update
  cipher (continued)  EVP_Cipher alone: one stream, as OpenSSH and TLS 1.2 call it
  GCM, CCM, Poly1305  init with the IV, 13 bytes of associated data, data, final, tag
  digest, MAC         init, update, final (a MAC's key stays)
  RSA, ECDSA          sign or verify a SHA-256 value; encrypt or decrypt 32 bytes
  Ed25519             sign or verify 32 bytes (with an init before each where OpenSSL asks for it: 3.5 and newer)
  ECDH, X25519        derive, the peer set before
  keygen              one key; RSA's is a mean, for prime search takes very uneven time

Before a row is measured the two sides' results are compared (what is random, like a signature, is opened by the other \
side): a wrong result is an error, not a fast row. What one side does not have is skipped and named.

The last column says what ran adjunct's side, by its own counters: hardware (hw), software (sw), or both. The run counts into \
counters of its own, which are removed: the user's statistics do not show it, and nobody else's operations are in the column.

--class measures what another class of CPU runs: instructions that it has not are taken away from both sides alike (ADJUNCT_CPU, \
OPENSSL_ia32cap). The speed of what is left is this CPU's, so that ratios say which code is faster here, and rates say nothing. \
--class list shows the classes and which of them this CPU can imitate.";

/// The provider beside OpenSSL's default provider, through the same EVP calls
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Message sizes in bytes
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(16..=1 << 26),
        default_values_t = [16, 64, 256, 1024, 8192, 16384, 1 << 20])]
    sizes: Vec<u32>,
    /// CPU time of a row, both sides together, in seconds
    #[arg(long, default_value_t = 0.3, value_parser = seconds::parse)]
    seconds: f64,
    /// A rough answer soon: 16, 1024 and 16384 bytes, 0.06 seconds a row
    #[arg(long, conflicts_with_all = ["sizes", "seconds"])]
    quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the rows as Markdown to FILE: the ratios by size, and the public-key rows
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Measure what another class of CPU runs, as far as this one can imitate it ("list": show the classes)
    #[arg(long, value_name = "NAME")]
    class: Option<Wanted>,
    /// This is the command that was started again with the masks of the class
    #[arg(long, hide = true, requires = "class")]
    masked: bool,
    #[command(flatten)]
    module: crate::module::Args,
    /// The libcrypto to use [default: the system's]
    #[arg(long, value_name = "PATH")]
    libcrypto: Option<PathBuf>,
    /// Stock on both sides: how far from 1.00 this machine's noise drives a ratio
    #[arg(long, conflicts_with = "module")]
    noise: bool,
    /// Take the stock side from this libcrypto instead
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
}

/// The algorithm and operation of a row.
#[derive(Debug)]
enum Subject {
    Cipher(symmetric::Cipher),
    Digest(&'static str),
    Mac((&'static str, &'static str, usize)),
    PublicKey(publickey::Row),
}

impl Subject {
    fn all() -> Vec<Subject> {
        let ciphers = symmetric::Cipher::all().into_iter().map(Subject::Cipher);
        let digests = symmetric::DIGESTS.iter().copied().map(Subject::Digest);
        let macs = symmetric::MACS.iter().copied().map(Subject::Mac);
        let keys = publickey::Row::all().into_iter().map(Subject::PublicKey);
        ciphers.chain(digests).chain(macs).chain(keys).collect()
    }

    fn title(&self) -> String {
        match self {
            Subject::Cipher(cipher) => cipher.title(),
            Subject::Digest(name) => (*name).to_owned(),
            Subject::Mac((name, inner, _)) => symmetric::mac_title(name, inner),
            Subject::PublicKey(row) => row.title(),
        }
    }

    fn has_sizes(&self) -> bool {
        !matches!(self, Subject::PublicKey(_))
    }

    fn work(&self, side: Side, stock: Side, size: usize) -> Result<Option<Work>, Error> {
        match self {
            Subject::Cipher(cipher) => cipher.work(side, size),
            Subject::Digest(name) => symmetric::digest(side, name, size),
            Subject::Mac(mac) => symmetric::mac(side, *mac, size),
            Subject::PublicKey(row) => row.work(side, stock),
        }
    }
}

/// The two sides and how long to measure them.
struct Bench<'a> {
    stock: Side,
    adjunct: Side,
    plan: Plan,
    counted: &'a Counted,
}

impl Bench<'_> {
    /// One row; `Ok(Err(name))` names the side that does not have it.
    fn row(&self, subject: &Subject, size: Option<usize>) -> Result<Result<Row, &'static str>, Failure> {
        let before = self.counted.served()?;
        let bytes = size.unwrap_or_default();
        let Some(mut stock) = subject.work(self.stock, self.stock, bytes).map_err(Failure::because)? else {
            return Ok(Err(self.stock.name));
        };
        let Some(mut adjunct) = subject.work(self.adjunct, self.stock, bytes).map_err(Failure::because)? else {
            return Ok(Err(self.adjunct.name));
        };
        if stock.proof != adjunct.proof {
            return Err(Failure::new(format!("{}: adjunct's result is not stock's", subject.title())));
        }
        let uneven = matches!(subject, Subject::PublicKey(row) if row.uneven());
        let rates = if uneven {
            // 0.3 seconds a row make 15 seconds a side here: about a hundred keys.
            let total = self.plan.slice * self.plan.repeats as u32 * 100;
            measure::compare_means(&mut stock, &mut adjunct, total, &|| interrupted().is_err())
                .map_err(Failure::because)?
        } else {
            let rates = measure::compare(&mut stock, &mut adjunct, self.plan).map_err(Failure::because)?;
            if rates.ratio() < report::FLOOR {
                let longer = Plan { repeats: self.plan.repeats * 3, ..self.plan };
                measure::compare(&mut stock, &mut adjunct, longer).map_err(Failure::because)?
            } else {
                rates
            }
        };
        let served = self.counted.served()?.since(before);
        Ok(Ok(Row::new(subject.title(), size, rates, served)))
    }
}

/// What is to be done before there are counters: the classes are shown, or the command is put in its own place with a class's masks. Tells
/// whether that was all.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub(super) fn prepare(args: &Args) -> Result<bool, Failure> {
    match args.class {
        Some(Wanted::List) => class::list().map(|()| true),
        Some(Wanted::Class(class)) if !args.masked => class::start(class).map(|()| true),
        _ => Ok(false),
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub(super) fn run(args: &Args, counted: &Counted) -> Result<ExitCode, Failure> {
    catch_interrupts();
    let imitated = match args.class {
        Some(Wanted::Class(class)) => Some(Imitated::here(class)?),
        _ => None,
    };
    let subjects = subjects(args)?;
    let library = super::library(args.libcrypto.as_deref(), args.module.choice())?;
    let stock_library = match &args.against {
        Some(path) => super::library(Some(path), args.module.choice())?,
        None => library,
    };
    let adjunct = match args.noise {
        true => Side::stock(library).map_err(Failure::because)?,
        false => Side::adjunct(library, &super::module(library, args.module.choice())?).map_err(Failure::because)?,
    };
    let bench =
        Bench { stock: Side::stock(stock_library).map_err(Failure::because)?, adjunct, plan: plan(args), counted };
    let (json, markdown) = (Sink::of(args.json.as_deref())?, Sink::of(args.markdown.as_deref())?);

    let mut report = Report::new(library, stock_library, bench.plan, imitated);
    let table = ![&json, &markdown].into_iter().flatten().any(Sink::is_stdout);
    if table {
        output::print(&report.heading())?;
    }
    let mut ended = Ended::of(rows(&bench, subjects, &mut report, table));
    let written =
        ended.write_json(json.as_ref(), &report).and(if table { output::print(&report.summary()) } else { Ok(()) });
    if ended.whole() {
        if let Some(markdown) = &markdown {
            markdown.write(&markdown::of(&report))?;
        }
        if args.is_of_this_machine() {
            keep(&report);
        }
    }
    ended.told(written)?;
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Args {
    /// Whether the report is valid for this machine: every row was measured, unmasked, with the system's OpenSSL on both sides.
    fn is_of_this_machine(&self) -> bool {
        let masked = std::env::var_os("ADJUNCT_CPU").is_some_and(|mask| !mask.is_empty());
        let apart = self.noise || masked || self.against.is_some() || self.libcrypto.is_some();
        self.filter.is_empty() && !apart && (self.quick || self.sizes.contains(&16384))
    }
}

/// Keeps the report for `adjunct info`, which tells by it whether adjunct pays here. A report that cannot be kept is no error: it has been shown.
fn keep(report: &Report) {
    if let (Ok(Some(_)), Some(place)) = (state::made(), measured::place())
        && let Ok(sink) = Sink::open(&place)
        && sink.write_json(report).is_ok()
    {
        output::note(&format!("'adjunct info' says by this whether it pays here (kept in {})", place.display()));
    }
}

/// Measures all rows, until the user ends the run.
fn rows(
    bench: &Bench<'_>,
    subjects: Vec<(Subject, Option<usize>)>,
    report: &mut Report,
    table: bool,
) -> Result<(), Failure> {
    let mut bar = Rows::new(subjects.len());
    for (subject, size) in subjects {
        interrupted()?;
        bar.begin(&subject.title());
        let row = bench.row(&subject, size);
        // What was measured while somebody ended it is no measurement.
        interrupted()?;
        let line = match row {
            Ok(Ok(row)) => report.add(row),
            Ok(Err(side)) => report.skip(subject.title(), side),
            Err(error) => report.fail(subject.title(), size, &error.to_string()),
        };
        if let (Some(line), true) = (line, table) {
            bar.aside(|| output::print(&line))?;
        }
        bar.end();
    }
    Ok(())
}

fn plan(args: &Args) -> Plan {
    let (seconds, repeats) = if args.quick { (0.06, 5) } else { (args.seconds, 7) };
    Plan { slice: Duration::from_secs_f64(seconds / 2.0 / repeats as f64), repeats }
}

fn subjects(args: &Args) -> Result<Vec<(Subject, Option<usize>)>, Failure> {
    let sizes: &[u32] = if args.quick { &[16, 1024, 16384] } else { &args.sizes };
    let mut subjects = Vec::new();
    for count in 0..Subject::all().len() {
        let one = || Subject::all().swap_remove(count);
        if !wanted(&one().title(), &args.filter) {
            continue;
        }
        if one().has_sizes() {
            subjects.extend(sizes.iter().map(|&size| (one(), Some(size as usize))));
        } else {
            subjects.push((one(), None));
        }
    }
    if subjects.is_empty() {
        return Err(no_rows(&args.filter));
    }
    Ok(subjects)
}
