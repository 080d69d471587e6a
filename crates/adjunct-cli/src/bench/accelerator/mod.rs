//! `adjunct bench accelerator`: private-key operations under load, as the papers measure an accelerator card.
//!
//! With `--always` it also shows for which functions threads that call at once are faster in one batch.

mod lanes;
pub(super) mod report;

use super::report::Header;
use super::{no_rows, seconds, wanted};
use crate::counted::Counted;
use adjunct_bench::accelerator::kernels;
use adjunct_bench::accelerator::library::{self, Key};
use adjunct_bench::accelerator::load::{self, Measured};
use adjunct_bench::accelerator::subject::Function;
use adjunct_bench::handover::handing_over;
use adjunct_bench::libcrypto::Side;
use adjunct_bench::measure::{self, Work, median};
use adjunct_bench::meter;
use adjunct_bench::units::Unit;
use adjunct_bench::{Error, publickey};
use adjunct_tool::interrupt::signalled;
use adjunct_tool::progress::{Progress, Rows};
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output};
use report::{KernelRow, Report, SIDES, Units};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LONG: &str = "\
Measure private-key operations as a card's are measured: with 1 job at a time, with 8, and with more than the machine has CPUs

So many threads call one function at once, through unmodified EVP calls of OpenSSL and with one key, as the threads of a server \
do. The sides take turns in slices of wall time, in changing order; the table shows medians of the slices:

  stock     OpenSSL's default provider
  AWS-LC    the library by itself, called directly by the same threads, one operation after the other
  alone     the provider with accelerator = off: the same EVP calls, each operation by itself
  adjunct   the provider, which does what several threads ask for at the same time together, in lanes, where it has measured that to be \
faster; with --always in any case, as with accelerator = always in openssl.cnf
  ratio     adjunct over stock, operations a second of wall time; then over AWS-LC (lib), and over alone by wall and by CPU time
  CPUs      that adjunct's threads kept busy, on average; cap: its share of what the kernel would do on all CPUs (see below)
  p50, p99  microseconds that half, and 99 of 100, of adjunct's operations took at most, waiting included; then stock's
  lanes     jobs in a batch, on average ('-': there was none)
  +-        half the way from the slowest slice of adjunct's to the fastest

What is one operation: an RSA (PKCS#1 v1.5), ECDSA or Ed25519 signature of 32 bytes by EVP_DigestSign, with the init before it \
and SHA-256 in it, as a TLS server makes one; EVP_PKEY_derive with the peer set before; EVP_PKEY_generate. Results are compared \
before anything is timed, or verified by stock where they are random.

With --always the last line names the functions that were at least as fast as stock and as AWS-LC in every row: those for which \
accelerator = always pays on this machine, under such a load.

Before that the kernels by themselves, eight lanes full on one core: operations a second of CPU time, beside AWS-LC's; the IFMA \
instructions of one operation (an eighth of a batch's); how many operations the unit's measured rate would allow if it did \
nothing else, and the share of that reached. reach is the share of the kernel's rate that is left to threads that hand their \
operations over, as the heading's figure for that has it: the most that cap can be.

For scale, the last table has a Crypto Express7S accelerator of a z15 (PKD CRT, IBM's figures) beside the columns of 1 and 8 jobs.

The run counts into counters of its own, which are removed: the user's statistics do not show it.";

/// Private-key operations under load, eight lanes at a time
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Threads that call at once
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        default_values_t = [1, 8, 16, 64])]
    threads: Vec<u16>,
    /// Time of a row, all sides together, in seconds; longer where the threads would not get round
    #[arg(long, default_value_t = 1.5, value_parser = seconds::parse)]
    seconds: f64,
    /// A rough answer soon: 1 and 8 threads, 0.3 seconds a row
    #[arg(long, conflicts_with_all = ["threads", "seconds"])]
    quick: bool,
    /// Only the kernels, no threads
    #[arg(long, conflicts_with = "threads")]
    kernels: bool,
    /// Have the threads always share batches, which they do by default where that was measured to be faster
    #[arg(long, conflicts_with_all = ["kernels", "noise"])]
    always: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    module: crate::module::Args,
    /// The libcrypto to use [default: the system's]
    #[arg(long, value_name = "PATH")]
    libcrypto: Option<PathBuf>,
    /// Stock in adjunct's place: how far from 1.00 this machine's noise drives a ratio
    #[arg(long, conflicts_with = "module")]
    noise: bool,
}

impl Args {
    fn seconds(&self) -> f64 {
        if self.quick { 0.3 } else { self.seconds }
    }

    fn threads(&self) -> &[u16] {
        match (self.kernels, self.quick) {
            (true, _) => &[],
            (false, true) => &[1, 8],
            (false, false) => &self.threads,
        }
    }

    fn load_plan(&self) -> load::Plan {
        let repeats = if self.quick { 3 } else { 5 };
        load::Plan { slice: Duration::from_secs_f64(self.seconds() / SIDES.len() as f64 / repeats as f64), repeats }
    }

    fn kernel_plan(&self) -> measure::Plan {
        let repeats = if self.quick { 5 } else { 9 };
        // The kernel, AWS-LC and the unit.
        measure::Plan { slice: Duration::from_secs_f64(self.seconds() / 3.0 / repeats as f64), repeats }
    }
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
    library: Option<Key>,
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
        let library = Key::new(&der).ok_or_else(|| missing(function, "AWS-LC"))?;
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

    fn interrupted(&self) -> Result<(), Failure> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(Failure::new("interrupted")),
            false => Ok(()),
        }
    }
}

fn missing(function: Function, side: &str) -> Error {
    Error::Operation(format!("{side} does not have {}", function.title()))
}

fn library_work(function: Function, key: Option<&Key>) -> Result<Work, Error> {
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
    let json = Sink::of(args.json.as_deref())?;
    let wait = Progress::waiting("measuring the units of this CPU");
    let units = units(args.kernel_plan()).map_err(Failure::because)?;
    drop(wait);
    let (stock, interrupted, handing_over_ns) =
        (Side::stock(library).map_err(Failure::because)?, signalled(), units.handing_over_ns);
    let bench = Bench { stock, alone, adjunct, counted, interrupted, handing_over_ns };
    let load_plan = args.load_plan();
    let mut header = Header::new(library, args.kernel_plan());
    if !args.kernels {
        header = Header::new(library, measure::Plan { slice: load_plan.slice, repeats: load_plan.repeats });
        header.clock = "wall";
    }
    let mut report = Report::new(header, units, args.always);

    let table = !json.as_ref().is_some_and(Sink::is_stdout);
    let show = |text: &str| if table { output::print(text) } else { Ok(()) };
    show(&report.heading())?;
    let mut ended = Ended::of(rows(args, &bench, functions, &mut report, &show));
    let written = ended.write_json(json.as_ref(), &report).and(show(&report.summary()));
    ended.told(written)?;
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures all rows, until the user ends the run.
fn rows(
    args: &Args,
    bench: &Bench<'_>,
    functions: Vec<Function>,
    report: &mut Report,
    show: &dyn Fn(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let load_plan = args.load_plan();
    let mut bar = Rows::new(functions.len() * (args.threads().len() + 1));
    let mut prepared = Vec::new();
    for function in functions {
        bar.begin(&function.title());
        match bench.keys(function).and_then(|keys| check(bench, function, &keys).map(|()| keys)) {
            Ok(keys) => prepared.push((function, keys)),
            Err(error) => bar.aside(|| show(&report.fail(function, &error.to_string())))?,
        }
    }
    if adjunct::cpu::rsa_lanes().is_some() {
        let mut head = report.kernel_head();
        for (function, keys) in &prepared {
            bench.interrupted()?;
            bar.begin(&format!("{}, the kernel", function.title()));
            let line = match bench.kernel(*function, keys, args.kernel_plan()) {
                Ok(Some(row)) => std::mem::take(&mut head) + &report.add_kernel(row),
                Ok(None) => String::new(),
                Err(error) => report.fail(*function, &error.to_string()),
            };
            bar.aside(|| show(&line))?;
            bar.end();
        }
    }
    if !args.threads().is_empty() {
        bar.aside(|| show(&report.load_head()))?;
    }
    for (function, keys) in &prepared {
        let sides = bench.sides(*function, keys);
        for &threads in args.threads() {
            bench.interrupted()?;
            bar.begin(&format!("{}, {threads} threads", function.title()));
            let line = match bench.load(&sides, threads.into(), load_plan) {
                Ok((sides, lanes)) => report.add(*function, threads.into(), &sides, lanes),
                Err(_) if bench.interrupted.load(Ordering::Relaxed) => continue,
                Err(error) => report.fail(*function, &error.to_string()),
            };
            bar.aside(|| show(&line))?;
            bar.end();
        }
        report.papers(*function);
    }
    bench.interrupted()
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
