//! `adjunct bench cards`: private-key operations of many processes, with and without cards.

mod hostile;
mod report;
mod worker;

use super::accelerator::units;
use super::daemon::{self, Daemon};
use super::report::Header;
use super::{no_rows, seconds, wanted};
use adjunct_bench::accelerator::kernels;
use adjunct_bench::accelerator::library::Key;
use adjunct_bench::accelerator::subject::{Curve, Function};
use adjunct_bench::crew::Slice;
use adjunct_bench::libcrypto::Side;
use adjunct_bench::measure::{self, interleave};
use adjunct_bench::{Error, publickey};
use adjunct_tool::interrupt::signalled;
use adjunct_tool::progress::{Progress, Rows};
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output};
use report::{Measured, OfSide, Paper, Report, SIDES};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use worker::{Start, Worker};

const LONG: &str = "\
Measure private-key operations of many processes, which cards do in batches where the machine is crowded

So many processes call one function over and over, each by itself, through unmodified EVP calls of OpenSSL and with one key, as the \
workers of a server that forks do. The sides take turns in slices of wall time, in changing order; the table shows medians of the slices:

  stock     OpenSSL's default provider
  alone     the provider with ADJUNCT_CARDS=off: each process does its own work
  card      the provider beside a daemon (adjunctd) that the command starts for itself: an operation goes to a card where that is \
likely to be faster
  ratio     card over stock, operations a second of wall time; then over alone (alone), and by CPU time (CPU)
  cap       card's share of what the kernel would do on all CPUs, eight lanes full
  p50, p99  microseconds that half, and 99 of 100, of card's operations took at most, waiting included; then stock's
  card      the share of the operations that a card did ('0%': each process was better off alone)
  lanes     jobs in a card's batch, on average ('-': there was none)
  CPU us    CPU time of an operation, of the processes and of the cards; then alone's and stock's
  +-        half the way from the slowest slice of card's to the fastest

What is one operation: an RSA (PKCS#1 v1.5) or ECDSA signature of 32 bytes by EVP_DigestSign, with the init before it and SHA-256 in it, \
as a TLS server makes one. Results are compared before anything is timed, or verified by stock where they are random. ECDSA stays in \
its process: a card's signature would have to be verified, which costs more than to sign; its rows show that cards cost nothing there.

Of a slice a part that is not counted comes first, in which the load settles: cards are asked when the last 64 ms were crowded.

With --hostile N each row is one user's processes (1, then 8) that have cards asked for each operation, beside another user's connections: \
none, 16, N that the cards let it have, and N with the limit of cards.conf. 'ratio' is the p99 over that beside 16 connections.

For scale, the last table has the columns of 1 and 8 jobs with one and with two cards, beside those of a Crypto Express7S of a z15 as \
accelerator (CEX7A) and as coprocessor (CEX7C), RSA-2048 with the Chinese remainder theorem, in IBM's figures.

The daemon is found beside this program, else in /usr/sbin. Where the command is root's, it has the niceness that the service has (-5). It \
and its folder, its shared memory and the run's counters are removed \
at the end: the machine's cards and the user's statistics are left alone.";

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

/// Private-key operations of many processes, with cards and without
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Processes that call at once
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        default_values_t = [1, 2, 4, 8, 16, 64])]
    processes: Vec<u16>,
    /// Cards of the daemon
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2), default_value_t = 1)]
    cards: u8,
    /// Time of a row, all sides together, in seconds; longer where the processes would not get round
    #[arg(long, default_value_t = 1.5, value_parser = seconds::parse)]
    seconds: f64,
    /// A rough answer soon: 1, 8 and 16 processes, 0.6 seconds a row
    #[arg(long, conflicts_with_all = ["processes", "seconds"])]
    quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    module: crate::module::Args,
    /// The libcrypto to use [default: the system's]
    #[arg(long, value_name = "PATH")]
    libcrypto: Option<PathBuf>,
    /// How long one user's operations take (RSA-2048 unless --filter says others) while another has N connections that ask for RSA-4096
    /// all the time, in place of the tables; as root
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=30_000), conflicts_with_all = ["processes", "cards"])]
    hostile: Option<u16>,
    /// Be the user that asks, of the cards in FOLDER
    #[arg(long, hide = true, value_name = "FOLDER", requires = "hostile")]
    flood: Option<PathBuf>,
    /// Do the row's work for another process of this command
    #[arg(long, hide = true, value_name = "ROW")]
    worker: Option<String>,
}

/// The task of a process of this command that another one has started.
#[derive(Debug)]
pub struct Served<'a> {
    title: &'a str,
    libcrypto: Option<&'a Path>,
    module: Option<&'a Path>,
}

impl Args {
    /// The task of this process, if another process of this command has started it for that.
    pub fn worker(&self) -> Option<Served<'_>> {
        let title = self.worker.as_deref()?;
        Some(Served { title, libcrypto: self.libcrypto.as_deref(), module: self.module.choice().path })
    }

    fn processes(&self) -> &[u16] {
        if self.quick { &[1, 8, 16] } else { &self.processes }
    }

    /// The length and number of each side's slices.
    fn plan(&self) -> measure::Plan {
        let repeats = if self.quick { 3 } else { 5 };
        let seconds = if self.quick { 0.6 } else { self.seconds };
        measure::Plan { slice: Duration::from_secs_f64(seconds / SIDES.len() as f64 / repeats as f64), repeats }
    }
}

/// Does the work for another process of this command.
///
/// # Errors
/// [`Failure`] where the reader of the answers is gone.
pub fn serve(served: Served<'_>) -> Result<ExitCode, Failure> {
    worker::serve(served.title, served.libcrypto, served.module)
}

struct Bench {
    stock: Side,
    libcrypto: Option<PathBuf>,
    module: PathBuf,
    plan: measure::Plan,
    interrupted: Arc<AtomicBool>,
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
        let Some(mut kernel) = kernels::kernel(function, Key::new(der).as_ref()) else { return Ok(None) };
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
        let (mut slices, mut done) = ([const { Vec::new() }; N], [0; 2]);
        for repeat in 0..self.plan.repeats {
            for step in 0..N {
                if self.interrupted.load(Ordering::Relaxed) {
                    return Err(Error::Operation("interrupted".to_owned()));
                }
                // Another first each time, and back again.
                let forward = (step + repeat / 2) % N;
                let which = if repeat % 2 == 0 { forward } else { N - 1 - forward };
                let before = daemon.figures();
                slices[which].push(workers[which].slice(lead_in, length, &others)?);
                let after = daemon.figures();
                done[0] += after.operations.saturating_sub(before.operations);
                done[1] += after.batches.saturating_sub(before.batches);
            }
        }
        Ok((slices, done))
    }

    /// The rate of the card side alone with `processes` processes.
    fn rate(&self, worker: &mut Worker, processes: u16, daemon: &Daemon) -> Result<f64, Error> {
        let ([slices], _) = self.load([worker], processes, daemon)?;
        Ok(OfSide::new(&slices).rate)
    }

    fn interrupted(&self) -> Result<(), Failure> {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(Failure::new("interrupted")),
            false => Ok(()),
        }
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
    let json = Sink::of(args.json.as_deref())?;
    let interrupted = signalled();
    let plan = args.plan();
    let table = !json.as_ref().is_some_and(Sink::is_stdout);
    let show = |text: &str| if table { output::print(text) } else { Ok(()) };
    if let Some(hostile) = args.hostile {
        let bench = Bench {
            stock: Side::stock(library).map_err(Failure::because)?,
            libcrypto: args.libcrypto.clone(),
            module,
            plan,
            interrupted,
        };
        let mut report = hostile::Report::new(Header::new(library, plan), hostile);
        let mut ended = Ended::of(hostile::run(&bench, &program, &functions, &mut report, &show));
        let written = ended.write_json(json.as_ref(), &report);
        ended.told(written)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wait = Progress::waiting("measuring the units of this CPU, starting cards");
    let units = units(measure::Plan { slice: plan.slice / 4, repeats: plan.repeats }).map_err(Failure::because)?;
    let daemon = Daemon::start(&program, args.cards.into(), None)?;
    drop(wait);
    let stock = Side::stock(library).map_err(Failure::because)?;
    let bench = Bench { stock, libcrypto: args.libcrypto.clone(), module, plan, interrupted };
    let mut header = Header::new(library, plan);
    header.clock = "wall";
    let mut report = Report::new(header, units, args.cards.into());

    show(&report.heading())?;
    show(&report.head())?;
    let mut ended = Ended::of(rows(args, &bench, (functions, &program, daemon), &mut report, &show));
    let written = ended.write_json(json.as_ref(), &report).and(show(&report.summary()));
    ended.told(written)?;
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Measures all rows, until the user ends the run.
fn rows(
    args: &Args,
    bench: &Bench,
    (functions, program, daemon): (Vec<Function>, &Path, Daemon),
    report: &mut Report,
    show: &dyn Fn(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut bar = Rows::new(functions.len() * args.processes().len());
    let mut keys = Vec::new();
    for function in functions {
        bar.begin(&function.title());
        let prepared = bench.key(function).and_then(|der| {
            let (kernel, sides) = (bench.kernel(function, &der)?, bench.sides(function, &der, &daemon)?);
            Ok((der, kernel, sides))
        });
        let (der, kernel, mut sides) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                bench.interrupted()?;
                bar.aside(|| show(&report.fail(function, &error.to_string())))?;
                continue;
            }
        };
        for &processes in args.processes() {
            bench.interrupted()?;
            bar.begin(&format!("{}, {processes} processes", function.title()));
            let line = match bench.load(sides.each_mut(), processes, &daemon) {
                Ok((slices, [operations, batches])) => {
                    report.add(function, processes, &Measured { slices, operations, batches }, kernel)
                }
                Err(_) if bench.interrupted.load(Ordering::Relaxed) => continue,
                Err(error) => report.fail(function, &error.to_string()),
            };
            bar.aside(|| show(&line))?;
            bar.end();
        }
        keys.push((function, der));
    }
    bench.interrupted()?;
    drop(daemon);
    bar.begin("as many cards as in the papers");
    papers(bench, program, args.cards.into(), &keys, report)?;
    bench.interrupted()
}

/// The papers' rows: those of RSA with 1 job and 8, which the table has for one number of cards, and a daemon of its own for the other.
fn papers(
    bench: &Bench,
    program: &Path,
    cards: usize,
    keys: &[(Function, Vec<u8>)],
    report: &mut Report,
) -> Result<(), Failure> {
    let both = |report: &Report, function| report.rate(function, 1).zip(report.rate(function, 8));
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
