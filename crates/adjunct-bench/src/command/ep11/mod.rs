//! `adjunct bench ep11`: an EP11 coprocessor by libep11's own calls, beside IBM's card.

mod page;
mod report;
mod worker;

use super::daemon::{self, Daemon};
use super::{no_rows, wanted};
use crate::crew::cpu_time;
use crate::ep11::row::Row;
use crate::harness::run::{Form, Lines, Outputs, Shown};
use crate::harness::turns::turns;
use crate::load::{Done, Why};
use adjunct_cli::bench::ep11::Args;
use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::catch_interrupts;
use adjunct_tool::progress::Progress;
use report::{Ep11Report, Slice};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use worker::Worker;

/// Jobs at a time, as in IBM's tables.
const JOBS: [usize; 2] = [1, 8];

/// Where libep11 is installed.
fn folders() -> [PathBuf; 3] {
    let triplet = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    [triplet, "/usr/lib64".to_owned(), "/usr/lib".to_owned()].map(PathBuf::from)
}

/// A way of measuring a row: jobs at a time, by their place in [`JOBS`], and cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    jobs: usize,
    cards: u8,
}

struct Bench {
    library: PathBuf,
    daemon: Daemon,
    /// `None` where the last one has ended.
    worker: Option<Worker>,
    cards: u8,
    slice: Duration,
    repeats: usize,
}

impl Bench {
    fn worker(&mut self) -> Result<&mut Worker, Why> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(&self.library, self.daemon.folder(), self.cards)?,
        };
        Ok(self.worker.insert(worker))
    }

    /// One slice: what was done, and the CPU time of the cards and the daemon.
    fn slice(&mut self, row: usize, way: Way, length: Duration) -> Result<Slice, Why> {
        let processes = self.daemon.processes();
        let used = || processes.iter().map(|pid| cpu_time(pid.cast_signed())).sum::<Duration>();
        let before = used();
        let done: Done = self.worker()?.run(row, JOBS[way.jobs], way.cards, length)?;
        // Each thread does one that does not count.
        let all = done.operations + JOBS[way.jobs] as u64;
        let cards = used().saturating_sub(before).as_secs_f64() / all as f64;
        Ok(Slice { done, card: Duration::from_secs_f64(cards * done.operations as f64) })
    }

    /// A row, number `at` of all: the slices of each way.
    fn row(&mut self, row: &Row, at: usize, ways: &[Way]) -> Vec<Result<Vec<Slice>, Why>> {
        if let Err(why) = self.worker().and_then(|worker| worker.prepare(at)) {
            self.worker = None;
            return ways.iter().map(|_| Err(why.clone())).collect();
        }
        // Slices of what takes unlike times are one.
        let (repeats, slice) =
            if row.is_uneven() { (1, self.slice * self.repeats as u32) } else { (self.repeats, self.slice) };
        let mut results: Vec<Result<Vec<Slice>, Why>> = ways.iter().map(|_| Ok(Vec::new())).collect();
        for (_, which) in turns(ways.len(), repeats) {
            let Ok(slices) = &mut results[which] else { continue };
            match self.slice(at, ways[which], slice) {
                Ok(one) => slices.push(one),
                Err(why) => {
                    results[which] = Err(why);
                    self.worker = None;
                }
            }
        }
        results
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let (true, Some(library)) = (args.worker, &args.library) {
        return worker::serve(library, args.cards);
    }
    let rows = Row::all();
    let chosen: Vec<(usize, &Row)> =
        rows.iter().enumerate().filter(|(_, row)| wanted(&row.name(), &args.filter)).collect();
    if chosen.is_empty() {
        return Err(no_rows(&args.filter));
    }
    catch_interrupts();
    let choice = Choice { path: args.library.as_deref(), trusted: args.trust_module };
    let library = module::find_of(&Make::EP11, choice, Purpose::Run, folders)?;
    let program = daemon::program(choice)?;
    let page: Form<Ep11Report> = |report| Ok(page::text(report));
    let outputs = Outputs::open(args.json.as_deref(), &[(args.html.as_deref(), page)])?;
    if outputs.collide() {
        return Err(Failure::Words("--json and --html name the same file".to_owned()));
    }
    let (repeats, seconds) = (3, if args.quick { 0.1 } else { args.seconds });
    let slice = Duration::from_secs_f64(seconds / repeats as f64);
    let wait = Progress::waiting("starting coprocessors");
    let daemon = Daemon::coprocessors(&program, args.cards())?;
    let mut bench = Bench { library, daemon, worker: None, cards: args.cards(), slice, repeats };
    if let Err(Why::Missing(why) | Why::Failed(why)) = bench.worker() {
        return Err(Failure::new(format!("{}: {why}", bench.library.display())));
    }
    drop(wait);
    let mut report = Ep11Report::new(&bench.library, bench.cards, slice, repeats);
    outputs.run(&mut report, |report, shown| measured(bench, chosen, report, shown))
}

/// Measures the rows, until the user ends the run. The coprocessors end with it: what they used counts as the run's once they are waited for.
fn measured(
    mut bench: Bench,
    chosen: Vec<(usize, &Row)>,
    report: &mut Ep11Report,
    shown: Shown,
) -> Result<(), Failure> {
    let mut lines = Lines::new(chosen.len(), shown);
    for (at, row) in chosen {
        let jobs = (0..JOBS.len()).filter(|&jobs| row.beside[jobs].is_some());
        let ways: Vec<Way> =
            (1..=bench.cards).flat_map(|cards| jobs.clone().map(move |jobs| Way { jobs, cards })).collect();
        report.watch.look();
        let results = lines.measure(&row.name(), || bench.row(row, at, &ways))?;
        let mut text = String::new();
        for cards in 1..=bench.cards {
            let of = |jobs| ways.iter().position(|way| *way == Way { jobs, cards }).map(|at| &results[at]);
            text += &report.add(row, cards, [of(0), of(1)]);
        }
        lines.done(&text)?;
    }
    Ok(())
}
