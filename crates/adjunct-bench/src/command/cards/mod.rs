//! `adjunct bench cards`: private-key operations of many processes, with and without cards.

mod hostile;
mod report;
mod worker;

use super::accelerator::units;
use super::daemon::{self, Daemon};
use super::{no_rows, wanted};
use crate::accelerator::kernels;
use crate::accelerator::library::AwsLcKey;
use crate::accelerator::subject::{Curve, Function};
use crate::crew::Slice;
use crate::harness::header::Header;
use crate::harness::run::{Lines, Outputs, Shown};
use crate::harness::turns::in_turns;
use crate::libcrypto::Side;
use crate::measure::{self, interleave};
use crate::{Error, publickey};
use adjunct_cli::bench::cards::Args;
use adjunct_tool::Failure;
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::progress::Progress;
use report::{CardsReport, Measured, OfSide, Paper, SIDES};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use worker::{Start, Worker};

/// The functions, in the order of the table.
const FUNCTIONS: [Function; 4] =
    [Function::Rsa(2048), Function::Rsa(3072), Function::Rsa(4096), Function::Ecdsa(Curve::P384)];
/// What comes before the time that counts: this, and for each process as long as the system lets one run before the next. How crowded the
/// machine is shows when all have had their turn.
const LEAD_IN: Duration = Duration::from_millis(30);
const TURN: Duration = Duration::from_millis(4);
/// The slices are long enough for each process to do this often what takes longest.
const ROUNDS: f64 = 4.0;
const LONGEST: f64 = 2.0;

/// Does the work for another process of this command.
///
/// # Errors
/// [`Failure`] where nobody reads the answers.
pub fn serve(args: &Args, title: &str) -> Result<ExitCode, Failure> {
    worker::serve(title, args.libcrypto.as_deref(), args.module.choice().path)
}

/// How long and how often each side of a row works.
fn plan(args: &Args) -> measure::Plan {
    let repeats = if args.quick { 3 } else { 5 };
    let seconds = if args.quick { 0.6 } else { args.seconds };
    measure::Plan { slice: Duration::from_secs_f64(seconds / SIDES.len() as f64 / repeats as f64), repeats }
}

struct Bench {
    stock: Side,
    libcrypto: Option<PathBuf>,
    module: PathBuf,
    plan: measure::Plan,
}

impl Bench {
    fn start(&self, side: usize, folder: &Path) -> Start {
        let environment = match side {
            0 => Vec::new(),
            1 => vec![("ADJUNCT_CARDS", "off".into())],
            _ => vec![("ADJUNCT_CARDS_DIR", folder.into())],
        };
        let module = (side > 0).then(|| self.module.clone());
        Start { libcrypto: self.libcrypto.clone(), module, environment }
    }

    /// The key of a function, as DER.
    fn key(&self, function: Function) -> Result<Vec<u8>, Error> {
        let missing = || Error::Operation(format!("stock does not have {}", function.title()));
        let keys = function.evp().keys(self.stock, self.stock)?.ok_or_else(missing)?;
        publickey::to_der(self.stock, &keys.original)
    }

    /// Operations a second of CPU time in full lanes; `None` where there are none.
    fn kernel(&self, function: Function, der: &[u8]) -> Result<Option<f64>, Error> {
        let Some(mut kernel) = kernels::kernel(function, AwsLcKey::new(der).as_ref()) else { return Ok(None) };
        let plan = measure::Plan { slice: self.plan.slice / 4, ..self.plan };
        let rates = interleave(&mut [("kernel", &mut kernel.work)], plan)?;
        Ok(rates.first().map(|rate| rate * kernels::LANES as f64))
    }

    /// The sides of a function, whose results have been compared.
    fn sides(&self, function: Function, der: &[u8], daemon: &Daemon) -> Result<[Worker; SIDES.len()], Error> {
        let mut workers = Vec::new();
        let mut proofs = Vec::new();
        for side in 0..SIDES.len() {
            let (worker, proof) = Worker::start(&self.start(side, daemon.folder()), function, der)?;
            workers.push(worker);
            proofs.push(proof);
        }
        if let Some(wrong) = proofs.iter().position(|proof| *proof != proofs[0]) {
            let (title, side) = (function.title(), SIDES[wrong]);
            return Err(Error::Operation(format!("{title}: the result of {side} is not that of stock")));
        }
        workers.try_into().map_err(|_| Error::Operation("a side is missing".to_owned()))
    }

    /// Has `processes` processes of each side work in turns.
    fn load<const N: usize>(
        &self,
        workers: [&mut Worker; N],
        processes: u16,
        daemon: &Daemon,
    ) -> Result<([Vec<Slice>; N], [u64; 2]), Error> {
        let others = daemon.processes();
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        let lead_in = LEAD_IN + TURN * processes.into() / cpus;
        let mut length = self.plan.slice;
        let mut workers = workers;
        for worker in &mut workers {
            worker.fork(processes)?;
            // A first slice that does not count: it warms up, and shows how long the processes need.
            let slice = worker.slice(lead_in, self.plan.slice, &others)?;
            let needed = slice.wall.as_secs_f64() / slice.operations.max(1) as f64 * f64::from(processes) * ROUNDS;
            length = length.max(Duration::from_secs_f64(needed.min(LONGEST)));
        }
        let mut done = [0; 2];
        let slices = in_turns(N, self.plan.repeats, |which| {
            interrupted().map_err(|failure| Error::Operation(failure.to_string()))?;
            let before = daemon.figures();
            let slice = workers[which].slice(lead_in, length, &others)?;
            let after = daemon.figures();
            done[0] += after.operations.saturating_sub(before.operations);
            done[1] += after.batches.saturating_sub(before.batches);
            Ok(slice)
        })?;
        let slices = slices.try_into().map_err(|_| Error::Operation("a side is missing".to_owned()))?;
        Ok((slices, done))
    }

    /// The rate of the card side alone with `processes` processes.
    fn rate(&self, worker: &mut Worker, processes: u16, daemon: &Daemon) -> Result<f64, Error> {
        let ([slices], _) = self.load([worker], processes, daemon)?;
        Ok(OfSide::new(&slices).rate)
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let (Some(folder), Some(connections)) = (&args.flood, args.hostile) {
        return hostile::flood(folder, connections);
    }
    let mut functions = FUNCTIONS.to_vec();
    functions.retain(|function| wanted(&function.title(), &args.filter));
    if args.hostile.is_some() {
        // What cards take; of them the first, where nothing is said.
        functions.retain(|function| matches!(function, Function::Rsa(_)));
        functions.truncate(if args.filter.is_empty() { 1 } else { FUNCTIONS.len() });
    }
    if functions.is_empty() {
        return Err(no_rows(&args.filter));
    }
    adjunct::init();
    let library = super::library(args.libcrypto.as_deref(), args.module.choice())?;
    let module = super::module(library, args.module.choice())?;
    // Its words where OpenSSL does not load it.
    let _ = Side::adjunct(library, &module).map_err(Failure::because)?;
    let program = daemon::program(args.module.choice())?;
    catch_interrupts();
    let plan = plan(args);
    if let Some(hostile) = args.hostile {
        let outputs = Outputs::open(args.json.as_deref(), &[])?;
        let stock = Side::stock(library).map_err(Failure::because)?;
        let bench = Bench { stock, libcrypto: args.libcrypto.clone(), module, plan };
        let mut report = hostile::HostileReport::new(Header::new(library, plan), hostile);
        return hostile::run(&bench, &program, &functions, &mut report, &outputs);
    }
    let outputs = Outputs::open(args.json.as_deref(), &[])?;
    let wait = Progress::waiting("measuring the units of this CPU, starting cards");
    let units = units(measure::Plan { slice: plan.slice / 4, repeats: plan.repeats }).map_err(Failure::because)?;
    let daemon = Daemon::start(&program, args.cards.into(), None)?;
    drop(wait);
    let stock = Side::stock(library).map_err(Failure::because)?;
    let bench = Bench { stock, libcrypto: args.libcrypto.clone(), module, plan };
    let mut header = Header::new(library, plan);
    header.clock = "wall";
    let mut report = CardsReport::new(header, units, args.cards.into());
    outputs.run(&mut report, |report, shown| rows(args, &bench, (functions, &program, daemon), report, shown))
}

/// Measures all rows, until the user ends the run.
fn rows(
    args: &Args,
    bench: &Bench,
    (functions, program, daemon): (Vec<Function>, &Path, Daemon),
    report: &mut CardsReport,
    shown: Shown,
) -> Result<(), Failure> {
    let mut lines = Lines::new(functions.len() * args.processes().len(), shown);
    let mut keys = Vec::new();
    for function in functions {
        let prepare = || {
            let der = bench.key(function)?;
            Ok::<_, Error>((bench.kernel(function, &der)?, bench.sides(function, &der, &daemon)?, der))
        };
        let (kernel, mut sides, der) = match lines.measure(&function.title(), prepare)? {
            Ok(prepared) => prepared,
            Err(error) => {
                lines.show(&report.fail(function, &error.to_string()))?;
                continue;
            }
        };
        for &processes in args.processes() {
            let title = format!("{}, {processes} processes", function.title());
            let line = match lines.measure(&title, || bench.load(sides.each_mut(), processes, &daemon))? {
                Ok((slices, [operations, batches])) => {
                    report.add(function, processes, &Measured { slices, operations, batches }, kernel)
                }
                Err(error) => report.fail(function, &error.to_string()),
            };
            lines.done(&line)?;
        }
        keys.push((function, der));
    }
    drop(daemon);
    lines.measure("as many cards as in the papers", || papers(bench, program, args.cards.into(), &keys, report))?
}

/// The papers' rows: those of RSA with 1 job and 8, which the table has for one number of cards, and a daemon of its own for the other.
fn papers(
    bench: &Bench,
    program: &Path,
    cards: usize,
    keys: &[(Function, Vec<u8>)],
    report: &mut CardsReport,
) -> Result<(), Failure> {
    let both = |report: &CardsReport, function| report.rate(function, 1).zip(report.rate(function, 8));
    let measured: Vec<_> = keys
        .iter()
        .filter(|(function, _)| matches!(function, Function::Rsa(_)))
        .filter_map(|(function, der)| Some((*function, der, both(report, *function)?)))
        .collect();
    if measured.is_empty() {
        return Ok(());
    }
    let other = 3 - cards;
    let daemon = Daemon::start(program, other, None)?;
    for (function, der, (one, eight)) in measured {
        let start = bench.start(SIDES.len() - 1, daemon.folder());
        let rates = Worker::start(&start, function, der).and_then(|(mut worker, _)| {
            Ok((bench.rate(&mut worker, 1, &daemon)?, bench.rate(&mut worker, 8, &daemon)?))
        });
        let mut rows = vec![(cards, one, eight)];
        match rates {
            Ok((one, eight)) => rows.push((other, one, eight)),
            Err(error) => _ = report.fail(function, &error.to_string()),
        }
        rows.sort_by_key(|(cards, ..)| *cards);
        for (cards, one, eight) in rows {
            report.add_paper(Paper { function: function.title(), cards, one, eight });
        }
    }
    Ok(())
}
