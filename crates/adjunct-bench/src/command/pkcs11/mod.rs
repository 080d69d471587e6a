//! `adjunct bench pkcs11`: PKCS #11 modules side by side.

mod report;
pub(super) mod worker;

use super::{no_rows, wanted};
use crate::harness::figures::median;
use crate::harness::run::{Lines, Outputs, Shown};
use crate::harness::turns::turns;
use crate::libcrypto::Functions;
use crate::pkcs11::Done;
use crate::pkcs11::row::Row;
use crate::pkcs11::token;
use adjunct_cli::bench::pkcs11::{Args, Wanted};
use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::catch_interrupts;
use adjunct_tool::progress::Progress;
use report::{Figure, Pkcs11Report};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use worker::{Target, Trouble, Worker};

/// Peers where distributions install them, if their token can be made apart.
fn installed() -> impl Iterator<Item = PathBuf> {
    let folders = ["/usr/lib", "/usr/lib64", "/usr/lib64/pkcs11"].map(PathBuf::from).into_iter();
    let triplet = PathBuf::from(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    let names = ["softhsm/libsofthsm2.so", "libsofthsm2.so", "libkryoptic_pkcs11.so", "pkcs11/libkryoptic_pkcs11.so"];
    let mut seen = Vec::new();
    folders.chain([triplet]).flat_map(move |folder| names.map(|name| folder.join(name))).filter_map(move |path| {
        let real = path.canonicalize().ok()?;
        let new = !seen.contains(&real);
        seen.push(real);
        new.then_some(path)
    })
}

/// The modules of the run; the first is what the ratio is of.
fn modules(args: &Args) -> Result<Vec<Wanted>, Failure> {
    let choice = |path| Choice { path, trusted: args.trust_module };
    let find = |path| module::find_of(&Make::PKCS11, choice(path), Purpose::Run, module::pkcs11_folders);
    if args.modules.is_empty() {
        let own = find(None)?;
        let peers = installed().filter(|path| module::check_library(path, args.trust_module).is_ok());
        return Ok([own].into_iter().chain(peers).map(|path| Wanted { path, slot: None, pin: None }).collect());
    }
    let all = args.modules.iter().map(|wanted| Ok(Wanted { path: find(Some(&wanted.path))?, ..wanted.clone() }));
    all.collect()
}

/// The provider of the run, if any. One that was not asked for is left out where it cannot be loaded.
fn provider(args: &Args) -> Result<Option<PathBuf>, Failure> {
    let choice = |path| Choice { path, trusted: args.trust_module };
    let installed = || Functions::load(None).ok().and_then(Functions::modules_directory);
    let find = |path| module::find(choice(path), Purpose::Run, installed);
    match &args.provider {
        Some(path) => find(Some(path)).map(Some),
        None if args.modules.is_empty() => Ok(find(None).ok()),
        None => Ok(None),
    }
}

/// A module of the run, or the provider, which comes last.
struct Side {
    target: Target,
    environment: Vec<(&'static str, PathBuf)>,
    worker: Option<Worker>,
    name: String,
}

impl Side {
    fn worker(&mut self, arguments: &[String]) -> Result<&mut Worker, Trouble> {
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(&self.target, &self.environment, arguments)?,
        };
        self.name.clone_from(&worker.name);
        Ok(self.worker.insert(worker))
    }
}

struct Bench {
    sides: Vec<Side>,
    arguments: Vec<String>,
    slice: Duration,
    repeats: usize,
}

impl Bench {
    /// A row, number `at` of all: what each side came to.
    fn row(&mut self, row: &Row, at: usize) -> Vec<Result<Figure, Trouble>> {
        if row.apart() {
            self.sides.iter_mut().for_each(|side| side.worker = None);
        }
        let mut results: Vec<Result<Vec<Done>, Trouble>> = Vec::new();
        for side in &mut self.sides {
            // A first slice that does not count.
            let short = self.slice / 4;
            let ready =
                side.worker(&self.arguments).and_then(|worker| worker.prepare(at).and_then(|()| worker.run(at, short)));
            results.push(ready.map(|_| Vec::new()));
        }
        for (_, which) in turns(self.sides.len(), self.repeats) {
            let (side, result) = (&mut self.sides[which], &mut results[which]);
            if let Ok(slices) = result {
                match side.worker(&self.arguments).and_then(|worker| worker.run(at, self.slice)) {
                    Ok(done) => slices.push(done),
                    Err(trouble) => *result = Err(trouble),
                }
            }
        }
        for (side, result) in self.sides.iter_mut().zip(&results) {
            let broken = matches!(result, Err(Trouble::Crashed(_) | Trouble::Hung(_)));
            if broken || row.apart() {
                side.worker = None;
            }
        }
        results.into_iter().map(|result| result.map(|slices| figure(&slices))).collect()
    }
}

fn figure(slices: &[Done]) -> Figure {
    let per = |time: fn(&Done) -> Duration| {
        median(slices.iter().map(|done| done.operations as f64 / time(done).as_secs_f64().max(1e-9)))
    };
    Figure { per_second: per(|done| done.wall), cpu_us: 1e6 / per(|done| done.cpu).max(1e-9) }
}

fn all_rows(args: &Args) -> Vec<Row> {
    Row::all(args.threads(), args.objects as usize, args.token_objects as usize)
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let rows = all_rows(args);
    if args.worker {
        if let Some(path) = &args.provider {
            return worker::serve(&Target::Provider(path.clone()), &rows);
        }
        let wanted = args.modules.first().ok_or_else(|| Failure::new("no module"))?;
        if let Some(objects) = args.first_find {
            return worker::first_find(wanted, objects as usize);
        }
        return worker::serve(&Target::Module(wanted.clone()), &rows);
    }
    let chosen: Vec<(usize, &Row)> =
        rows.iter().enumerate().filter(|(_, row)| wanted(&row.title(), &args.filter)).collect();
    if chosen.is_empty() {
        return Err(no_rows(&args.filter));
    }
    catch_interrupts();
    let (modules, provider) = (modules(args)?, provider(args)?);
    let outputs = Outputs::open(args.json.as_deref(), &[])?;
    let folder = adjunct_tool::scratch::folder()?;
    let repeats = if args.quick { 3 } else { 5 };
    let slice = Duration::from_secs_f64(if args.quick { 0.1 } else { args.seconds } / repeats as f64);
    let mut bench = Bench { sides: Vec::new(), arguments: args.passed_on(), slice, repeats };
    let wait = Progress::waiting("making tokens and objects");
    for (number, wanted) in modules.into_iter().enumerate() {
        let folder = folder.path().join(number.to_string());
        bench.sides.push(side(Target::Module(wanted), &folder, &bench.arguments)?);
    }
    let named = |side: &Side| (side.name.clone(), side.target.path().to_owned());
    let modules: Vec<_> = bench.sides.iter().map(named).collect();
    if let Some(path) = provider {
        match side(Target::Provider(path), &folder.path().join("provider"), &bench.arguments) {
            Ok(side) => bench.sides.push(side),
            Err(failure) if args.provider.is_some() => return Err(failure),
            Err(_) => {}
        }
    }
    let provider = bench.sides.get(modules.len()).map(named);
    drop(wait);
    let mut report = Pkcs11Report::new(&modules, provider.as_ref(), slice, repeats);
    outputs.run(&mut report, |report, shown| measured(&mut bench, chosen, report, shown))
}

/// Measures the rows, until the user ends the run.
fn measured(
    bench: &mut Bench,
    chosen: Vec<(usize, &Row)>,
    report: &mut Pkcs11Report,
    shown: Shown,
) -> Result<(), Failure> {
    let mut lines = Lines::new(chosen.len(), shown);
    for (at, row) in chosen {
        let results = lines.measure(&row.title(), || bench.row(row, at))?;
        lines.done(&report.add(row.title(), row.threads, &results))?;
    }
    Ok(())
}

/// A side whose module can be loaded and has a token.
fn side(target: Target, folder: &Path, arguments: &[String]) -> Result<Side, Failure> {
    let path = target.path().display().to_string();
    let environment = token::apart(folder).map_err(Failure::because)?;
    let mut side = Side { target, environment, worker: None, name: String::new() };
    match side.worker(arguments) {
        Ok(_) => Ok(side),
        Err(trouble) => Err(Failure::new(format!("{path}: {}", trouble.words()))),
    }
}
