//! `adjunct bench accelerator`: private-key operations under load, as the papers measure an accelerator card.
//!
//! With `--always` it also shows for which functions threads that call at once are faster in one batch.

mod lanes;
pub(super) mod report;

use super::{no_rows, wanted};
use crate::accelerator::kernels;
use crate::accelerator::library::{self, AwsLcKey};
use crate::accelerator::load::{self, Measured};
use crate::accelerator::subject::Function;
use crate::handover::handing_over;
use crate::harness::figures::median;
use crate::harness::header::Header;
use crate::harness::run::{Lines, Outputs, Shown};
use crate::libcrypto::Side;
use crate::measure::{self, Work};
use crate::meter;
use crate::units::Unit;
use crate::{Error, publickey};
use adjunct_cli::bench::accelerator::Args;
use adjunct_cli::counted::Counted;
use adjunct_tool::Failure;
use adjunct_tool::interrupt::{interrupted, signalled};
use adjunct_tool::progress::Progress;
use report::{AcceleratorReport, KernelRow, SIDES, Units};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn load_plan(args: &Args) -> load::Plan {
    let repeats = if args.quick { 3 } else { 5 };
    load::Plan { slice: Duration::from_secs_f64(args.seconds() / SIDES.len() as f64 / repeats as f64), repeats }
}

fn kernel_plan(args: &Args) -> measure::Plan {
    let repeats = if args.quick { 5 } else { 9 };
    // The kernel, AWS-LC and the unit.
    measure::Plan { slice: Duration::from_secs_f64(args.seconds() / 3.0 / repeats as f64), repeats }
}

struct Bench<'a> {
    stock: Side,
    alone: Side,
    adjunct: Side,
    counted: &'a Counted,
    interrupted: Arc<AtomicBool>,
    /// Nanoseconds that handing an operation over costs at least.
    handing_over_ns: f64,
}

/// The keys of a row, on each side; none where it makes keys.
struct Keys {
    stock: Option<publickey::Keys>,
    alone: Option<publickey::Keys>,
    adjunct: Option<publickey::Keys>,
    library: Option<AwsLcKey>,
}

impl Bench<'_> {
    fn keys(&self, function: Function) -> Result<Keys, Error> {
        let row = function.evp();
        if row.operation == publickey::Operation::Generate {
            return Ok(Keys { stock: None, alone: None, adjunct: None, library: None });
        }
        let keys = |side| row.keys(side, self.stock)?.ok_or_else(|| missing(function, side.name));
        let (stock, alone, adjunct) = (keys(self.stock)?, keys(self.alone)?, keys(self.adjunct)?);
        let der = publickey::to_der(self.stock, &stock.original)?;
        let library = AwsLcKey::new(&der).ok_or_else(|| missing(function, "AWS-LC"))?;
        Ok(Keys { stock: Some(stock), alone: Some(alone), adjunct: Some(adjunct), library: Some(library) })
    }

    /// Functions that make the work of a thread of each side, in the order of [`SIDES`].
    fn sides(&self, function: Function, keys: &Keys) -> Vec<load::Side> {
        let through_evp = |side: Side, keys: &Option<publickey::Keys>| {
            let (row, stock, keys) = (function.evp(), self.stock, keys.clone());
            Box::new(move || {
                let work = match keys.clone() {
                    Some(keys) => row.work_with(side, stock, keys),
                    None => row.work(side, stock),
                };
                work?.ok_or_else(|| missing(function, side.name))
            })
        };
        let library = keys.library.clone();
        let library = move || library_work(function, library.as_ref());
        let makers: [load::Maker; SIDES.len()] = [
            through_evp(self.stock, &keys.stock),
            Box::new(library),
            through_evp(self.alone, &keys.alone),
            through_evp(self.adjunct, &keys.adjunct),
        ];
        SIDES.into_iter().zip(makers).map(|(name, maker)| load::Side { name, maker }).collect()
    }

    fn load(
        &self,
        sides: &[load::Side],
        threads: usize,
        plan: load::Plan,
    ) -> Result<([Measured; SIDES.len()], Option<f64>), Error> {
        let measured = load::load(sides, threads, plan, &self.interrupted, &|| self.histogram())?;
        let measured: [Measured; SIDES.len()] =
            measured.try_into().map_err(|_| Error::Operation("a side is missing".to_owned()))?;
        let lanes = measured.last().and_then(|adjunct| lanes::mean(&adjunct.extra));
        Ok((measured, lanes))
    }

    /// Batches with 1, 2, ... lanes filled so far.
    fn histogram(&self) -> Vec<u64> {
        self.counted.sum().map_or(Vec::new(), |counted| counted.all_lanes().batches.to_vec())
    }

    /// The kernel's row; `None` where there are no lanes for it here.
    fn kernel(&self, function: Function, keys: &Keys, plan: measure::Plan) -> Result<Option<KernelRow>, Error> {
        let Some(mut kernel) = kernels::kernel(function, keys.library.as_ref()) else { return Ok(None) };
        let mut unit = Unit::ifma().filter(|_| kernel.instructions.is_some());
        let mut library = library_work(function, keys.library.as_ref())?;
        same(function, "the kernel", &kernel.work, "AWS-LC", &library)?;
        let mut sides = vec![("kernel", &mut kernel.work), ("AWS-LC", &mut library)];
        sides.extend(unit.as_mut().map(|unit| ("unit", &mut unit.work)));
        let rates = measure::interleave(&mut sides, plan)?;
        let instructions = kernel.instructions.map(|instructions| instructions as f64 / kernels::LANES as f64);
        let operations = rates[0] * kernels::LANES as f64;
        let unit = rates.get(2).zip(instructions);
        let limit = unit.map(|(&rate, instructions)| Unit::instructions(rate) / instructions);
        Ok(Some(KernelRow {
            function: function.title(),
            operations,
            library: rates[1],
            ratio: operations / rates[1],
            reach: 1.0 / (1.0 + operations * self.handing_over_ns / 1e9),
            instructions,
            limit,
            share: limit.map(|limit| operations / limit),
        }))
    }
}

fn missing(function: Function, side: &str) -> Error {
    Error::Operation(format!("{side} does not have {}", function.title()))
}

fn library_work(function: Function, key: Option<&AwsLcKey>) -> Result<Work, Error> {
    let work = match key {
        Some(key) => key.work(function),
        None => library::generate(function),
    };
    work.ok_or_else(|| missing(function, "AWS-LC"))
}

/// Compares two sides' results, where they are not random.
fn same(function: Function, one: &str, a: &Work, other: &str, b: &Work) -> Result<(), Error> {
    if a.proof.is_empty() || b.proof.is_empty() || a.proof == b.proof {
        return Ok(());
    }
    Err(Error::Operation(format!("{}: the result of {one} is not that of {other}", function.title())))
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub(super) fn run(args: &Args, counted: &Counted) -> Result<ExitCode, Failure> {
    let mut functions = Function::ALL.to_vec();
    functions.retain(|function| wanted(&function.title(), &args.filter));
    if functions.is_empty() {
        return Err(no_rows(&args.filter));
    }
    if args.always {
        meter::have_threads_share_batches();
    }
    adjunct::init();
    let library = super::library(args.libcrypto.as_deref(), args.module.choice())?;
    let (alone, adjunct) = if args.noise {
        (Side::stock(library).map_err(Failure::because)?, Side::stock(library).map_err(Failure::because)?)
    } else {
        let module = super::module(library, args.module.choice())?;
        (
            Side::alone(library, &module).map_err(Failure::because)?,
            Side::adjunct(library, &module).map_err(Failure::because)?,
        )
    };
    let outputs = Outputs::open(args.json.as_deref(), &[])?;
    let wait = Progress::waiting("measuring the units of this CPU");
    let units = units(kernel_plan(args)).map_err(Failure::because)?;
    drop(wait);
    let (stock, interrupted, handing_over_ns) =
        (Side::stock(library).map_err(Failure::because)?, signalled(), units.handing_over_ns);
    let bench = Bench { stock, alone, adjunct, counted, interrupted, handing_over_ns };
    let load_plan = load_plan(args);
    let mut header = Header::new(library, kernel_plan(args));
    if !args.kernels {
        header = Header::new(library, measure::Plan { slice: load_plan.slice, repeats: load_plan.repeats });
        header.clock = "wall";
    }
    let mut report = AcceleratorReport::new(header, units, args.always);
    outputs.run(&mut report, |report, shown| rows(args, &bench, functions, report, shown))
}

/// Measures all rows, until the user ends the run.
fn rows(
    args: &Args,
    bench: &Bench<'_>,
    functions: Vec<Function>,
    report: &mut AcceleratorReport,
    shown: Shown,
) -> Result<(), Failure> {
    let load_plan = load_plan(args);
    let mut lines = Lines::new(functions.len() * (args.threads().len() + 1), shown);
    let mut prepared = Vec::new();
    for function in functions {
        let keys = || bench.keys(function).and_then(|keys| check(bench, function, &keys).map(|()| keys));
        match lines.measure(&function.title(), keys)? {
            Ok(keys) => prepared.push((function, keys)),
            Err(error) => lines.show(&report.fail(function, &error.to_string()))?,
        }
    }
    if adjunct::cpu::rsa_lanes().is_some() {
        let mut head = report.kernel_head();
        for (function, keys) in &prepared {
            let title = format!("{}, the kernel", function.title());
            let line = match lines.measure(&title, || bench.kernel(*function, keys, kernel_plan(args)))? {
                Ok(Some(row)) => std::mem::take(&mut head) + &report.add_kernel(row),
                Ok(None) => String::new(),
                Err(error) => report.fail(*function, &error.to_string()),
            };
            lines.done(&line)?;
        }
    }
    if !args.threads().is_empty() {
        lines.show(&report.load_head())?;
    }
    for (function, keys) in &prepared {
        let sides = bench.sides(*function, keys);
        for &threads in args.threads() {
            let title = format!("{}, {threads} threads", function.title());
            let line = match lines.measure(&title, || bench.load(&sides, threads.into(), load_plan))? {
                Ok((sides, lanes)) => report.add(*function, threads.into(), &sides, lanes),
                Err(error) => report.fail(*function, &error.to_string()),
            };
            lines.done(&line)?;
        }
        report.papers(*function);
    }
    interrupted()
}

/// Compares the sides' results before any is timed.
fn check(bench: &Bench<'_>, function: Function, keys: &Keys) -> Result<(), Error> {
    let sides = bench.sides(function, keys);
    let works: Vec<Work> = sides.iter().map(|side| (side.maker)()).collect::<Result<_, _>>()?;
    for (side, work) in sides.iter().zip(&works) {
        same(function, side.name, work, SIDES[0], &works[0])?;
    }
    Ok(())
}

/// The rates of the units by themselves, for the heading.
pub(super) fn units(plan: measure::Plan) -> Result<Units, Error> {
    let rate = |unit: &mut Unit| -> Result<f64, Error> {
        let rates = measure::interleave(&mut [("unit", &mut unit.work)], plan)?;
        Ok(Unit::instructions(median(rates)) / 1e9)
    };
    let (mut ifma, mut aes) = (Unit::ifma(), Unit::aes());
    Ok(Units {
        ifma: ifma.as_mut().map(rate).transpose()?,
        aes: aes.as_mut().map(rate).transpose()?,
        aes_instruction: aes.map(|unit| unit.name),
        handing_over_ns: handing_over(plan.slice * plan.repeats as u32),
    })
}
