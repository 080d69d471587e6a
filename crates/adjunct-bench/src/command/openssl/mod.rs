//! `adjunct bench openssl`: the provider beside OpenSSL's default provider.

mod class;
mod markdown;
mod report;

use super::{no_rows, wanted};
use crate::harness::run::{Lines, Outputs, Shown};
use crate::libcrypto::Side;
use crate::measure::{self, Plan, Work};
use crate::{Error, publickey, symmetric};
use adjunct_cli::bench::openssl::{Args, Wanted};
use adjunct_cli::counted::Counted;
use adjunct_cli::info::measured;
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::sink::Sink;
use adjunct_tool::{Failure, output, state};
use class::Imitated;
use report::{OpenSslReport, Row};
use std::process::ExitCode;
use std::time::Duration;

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
    // A table of a run that ended early is no table for a document.
    let markdown = Sink::of(args.markdown.as_deref())?;
    let outputs =
        Outputs::open(args.json.as_deref(), &[])?.without_tables(markdown.as_ref().is_some_and(Sink::is_stdout));
    let mut report = OpenSslReport::new(library, stock_library, bench.plan, imitated);
    let status = outputs.run(&mut report, |report, shown| rows(&bench, subjects, report, shown))?;
    if let Some(markdown) = &markdown {
        markdown.write(&markdown::of(&report))?;
    }
    if args.is_of_this_machine() {
        keep(&report);
    }
    Ok(status)
}

/// Keeps the report for `adjunct info`, which tells by it whether adjunct pays here. A report that cannot be kept is no error: it has been shown.
fn keep(report: &OpenSslReport) {
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
    report: &mut OpenSslReport,
    shown: Shown,
) -> Result<(), Failure> {
    let mut lines = Lines::new(subjects.len(), shown);
    for (subject, size) in subjects {
        let line = match lines.measure(&subject.title(), || bench.row(&subject, size))? {
            Ok(Ok(row)) => report.add(row),
            Ok(Err(side)) => {
                report.skip(subject.title(), side);
                String::new()
            }
            Err(error) => report.fail(subject.title(), size, &error.to_string()),
        };
        lines.done(&line)?;
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
