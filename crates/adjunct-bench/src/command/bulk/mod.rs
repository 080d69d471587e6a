//! `adjunct bench bulk`: every library's bulk encryption in one run, beside what the CPU's AES unit can do at most.

mod report;
mod worker;

use super::{no_rows, wanted};
use crate::Error;
use crate::bulk::subject::{Mode, Subject};
use crate::bulk::{kernel, library};
use crate::harness::header::Header;
use crate::harness::run::{Lines, Outputs, Shown};
use crate::libcrypto::Side;
use crate::measure::{self, Plan, Work};
use crate::units::Unit;
use adjunct_cli::bench::bulk::Args;
use adjunct_tool::Failure;
use adjunct_tool::interrupt::catch_interrupts;
use report::{AesUnit, BulkReport, Rates, Row};
use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;
use worker::{Which, Worker};

struct Bench {
    stock: Side,
    adjunct: Side,
    newest: Option<Rc<RefCell<Worker>>>,
    unit: Option<Unit>,
    plan: Plan,
}

impl Bench {
    fn row(&mut self, subject: Subject, size: usize) -> Result<Row, Error> {
        let (input, tag) = subject.input(self.stock, size)?;
        let missing = |name: &str| Error::Operation(format!("{name} does not have {}", subject.title()));
        let mut sides: Vec<(&str, Work)> = Vec::new();
        sides.push(("stock", subject.evp(self.stock, size)?.ok_or_else(|| missing("stock"))?));
        sides.extend(subject.evp(self.adjunct, size)?.map(|work| ("adjunct", work)));
        if let Some(worker) = &self.newest {
            for (name, side) in [("newest", Which::Stock), ("adjunct under newest", Which::Adjunct)] {
                sides.extend(Worker::work(worker, side, subject, size)?.map(|work| (name, work)));
            }
        }
        sides.extend(library::work(subject, input.clone(), tag.clone()).map(|work| ("AWS-LC", work)));
        sides.extend(kernel::work(subject, input, tag).map(|work| ("kernel", work)));
        for (name, work) in &sides[1..] {
            if work.proof != sides[0].1.proof {
                return Err(Error::Operation(format!("{}: the result of {name} is not stock's", subject.title())));
            }
        }
        let row = self.measure(subject, size, &mut sides, self.plan)?;
        if row.slow() || row.lossy() {
            let longer = Plan { repeats: self.plan.repeats * 3, ..self.plan };
            return self.measure(subject, size, &mut sides, longer);
        }
        Ok(row)
    }

    fn measure(&mut self, subject: Subject, size: usize, sides: &mut [(&str, Work)], plan: Plan) -> Result<Row, Error> {
        let mut turns: Vec<(&str, &mut Work)> = sides.iter_mut().map(|(name, work)| (*name, work)).collect();
        let rounds = subject.rounds();
        // GCM's products are done by units that also do rounds, or beside them.
        let mut with_products = rounds.filter(|_| subject.mode == Mode::Gcm).and_then(Unit::gcm);
        let unit = with_products.as_mut().or(self.unit.as_mut()).filter(|_| rounds.is_some());
        let bytes = unit.as_ref().map_or(0, |unit| unit.width as u64 * unit.times);
        turns.extend(unit.map(|unit| ("unit", &mut unit.work)));
        let rates = measure::interleave(&mut turns, plan)?;
        let rate = |name: &str| turns.iter().position(|(n, _)| *n == name).map(|at| rates[at]);
        let speed = |name: &str| rate(name).map(|r| r * size as f64 / 1e9);
        // A block of 16 bytes takes this many rounds, and a repetition does one of them for so many bytes.
        let limit = rate("unit").zip(rounds).map(|(r, rounds)| r * bytes as f64 / rounds as f64 / 1e9);
        let rates = Rates {
            stock: speed("stock"),
            adjunct: speed("adjunct"),
            newest: speed("newest"),
            adjunct_newest: speed("adjunct under newest"),
            library: speed("AWS-LC"),
            kernel: speed("kernel"),
            limit,
        };
        Ok(Row::new(subject.title(), size, rates))
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.worker {
        return worker::serve(args.libcrypto.as_deref(), args.module.choice());
    }
    let mut subjects = Subject::all();
    subjects.retain(|subject| wanted(&subject.title(), &args.filter));
    if subjects.is_empty() {
        return Err(no_rows(&args.filter));
    }
    catch_interrupts();
    stay_here();
    let library = super::library(args.libcrypto.as_deref(), args.module.choice())?;
    let (adjunct, newest) = if args.noise {
        (Side::stock(library).map_err(Failure::because)?, None)
    } else {
        let module = super::module(library, args.module.choice())?;
        let newest =
            args.newest.as_deref().map(|root| Worker::start(root, &module, args.module.choice())).transpose()?;
        (Side::adjunct(library, &module).map_err(Failure::because)?, newest)
    };
    let outputs = Outputs::open(args.json.as_deref(), &[])?;
    let plan = plan(args);
    let mut header = Header::new(library, plan);
    header.newest = newest.as_ref().map(|worker| worker.version.clone());
    let newest = newest.map(|worker| Rc::new(RefCell::new(worker)));
    let mut bench =
        Bench { stock: Side::stock(library).map_err(Failure::because)?, adjunct, newest, unit: Unit::aes(), plan };
    let mut report = BulkReport::new(header, aes_unit(&mut bench).map_err(Failure::because)?);
    outputs.run(&mut report, |report, shown| rows(&mut bench, &subjects, &args.sizes, report, shown))
}

/// Measures all rows, until the user ends the run.
fn rows(
    bench: &mut Bench,
    subjects: &[Subject],
    sizes: &[u32],
    report: &mut BulkReport,
    shown: Shown,
) -> Result<(), Failure> {
    let mut lines = Lines::new(subjects.len() * sizes.len(), shown);
    for subject in subjects {
        for &size in sizes {
            let row = lines.measure(&subject.title(), || bench.row(*subject, size as usize))?;
            let line = match row {
                Ok(row) => report.add(row),
                Err(error) => report.fail(subject.title(), size as usize, &error.to_string()),
            };
            lines.done(&line)?;
        }
    }
    Ok(())
}

fn plan(args: &Args) -> Plan {
    let seconds = if args.quick { 0.1 } else { args.seconds };
    let repeats = if args.quick { 5 } else { 9 };
    // Seven take turns: three pairs and the unit.
    Plan { slice: Duration::from_secs_f64(seconds / 7.0 / repeats as f64), repeats }
}

fn aes_unit(bench: &mut Bench) -> Result<Option<AesUnit>, Error> {
    let Some(unit) = &mut bench.unit else { return Ok(None) };
    let rates = measure::interleave(&mut [("unit", &mut unit.work)], bench.plan)?;
    let giga_per_second = rates.first().map_or(0.0, |r| Unit::instructions(*r) / 1e9);
    Ok(Some(AesUnit { instruction: unit.name, giga_per_second }))
}

/// Keeps this process, and the worker it starts, on the CPU it is on: sides that take turns must not run on CPUs with different clock rates or
/// different other load. Where the system does not allow it, Linux may move them.
fn stay_here() {
    let mut only = rustix::thread::CpuSet::new();
    only.set(rustix::thread::sched_getcpu());
    let _ = rustix::thread::sched_setaffinity(None, &only);
}
