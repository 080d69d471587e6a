//! `adjunct bench pkcs11`: PKCS #11 modules side by side.

mod report;
mod worker;

use super::{no_rows, seconds, wanted};
use crate::module::{self, Choice, Make, Purpose};
use adjunct_bench::libcrypto::Functions;
use adjunct_bench::measure::median;
use adjunct_bench::pkcs11::Done;
use adjunct_bench::pkcs11::row::Row;
use adjunct_bench::pkcs11::token::{self, Wanted};
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::progress::{Progress, Rows};
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output};
use report::{Figure, Report};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use worker::{Target, Trouble, Worker};

const LONG: &str = "\
Measure PKCS #11 modules beside each other: signatures, encryption, hashes, keys, objects, sessions, by 1, 16 and 64 threads

The modules take turns in slices of wall time, in changing order; the table shows medians of the slices: operations a second of all \
threads together, and microseconds of CPU time for each. Each module is loaded in a process of its own: one that crashes or hangs is a \
row that says so, and not the end. ratio is the first module's rate over that of the fastest other (marked below 1.00).

Without --module, adjunct's own module is measured, beside those of SoftHSM and kryoptic where they are installed, and beside adjunct's \
provider for OpenSSL where there is one.

The provider's columns are the same operations through EVP with contexts that are kept, by as many threads, where EVP has them: what the \
interface of PKCS #11 costs. The column of it is the provider's CPU time over the first module's (1.00: the same).

What is one operation: C_SignInit and C_Sign (RSA with SHA-256, ECDSA of a digest, Ed25519 of 32 bytes) with a key that stays in the \
token; C_EncryptInit and C_Encrypt, C_SignInit and C_Sign (HMAC), C_DigestInit and C_Digest of so many bytes; C_GenerateRandom; a key \
pair, key or object made and destroyed; the three calls of a search; C_OpenSession and C_CloseSession; C_Logout and C_Login; C_Initialize \
and C_Finalize. Threads have a session each and one key together, unless the row's name says otherwise.

A module's token is made in a temporary folder, which is removed: so it is with adjunct's, SoftHSM and kryoptic. Of another module, as \
openCryptoki, whose tokens are the machine's, name a token that may be written to, and its user's PIN: --module \
/usr/lib/opencryptoki/libopencryptoki.so,slot=3,pin=12345678. Key pairs that rows make stay in that token.

The run counts into counters of its own, which are removed: the user's statistics do not show it.";

/// PKCS #11 modules side by side
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// A module to measure (may be given again); ",slot=N" and ",pin=PIN" behind it name a token
    #[arg(long = "module", value_name = "PATH[,slot=N][,pin=PIN]", value_parser = parse)]
    modules: Vec<Wanted>,
    /// Measure this provider of adjunct's too, through EVP [default without --module: the one beside this program or in OpenSSL's modules folder, if any]
    #[arg(long, value_name = "PATH")]
    provider: Option<PathBuf>,
    /// As root: load modules though others than root could change them, or a folder above them
    #[arg(long)]
    trust_module: bool,
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Threads that call at once
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        default_values_t = [1, 16, 64])]
    threads: Vec<u16>,
    /// Objects of a session among which one is looked for; 0: none
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    objects: u32,
    /// Objects of the token among which one is looked for by a process that has just loaded the module; 0: none
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    token_objects: u32,
    /// Time of a row for each module, in seconds
    #[arg(long, default_value_t = 0.5, value_parser = seconds::parse)]
    seconds: f64,
    /// A rough answer soon: 1 and 16 threads, 0.1 seconds a row
    #[arg(long, conflicts_with_all = ["threads", "seconds"])]
    quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure for another process of this command
    #[arg(long, hide = true)]
    worker: bool,
    /// Load the module, look for one of so many objects of its token, and say how long it took
    #[arg(long, hide = true, value_name = "N", requires = "worker")]
    first_find: Option<u32>,
}

impl Args {
    fn threads(&self) -> &[u16] {
        if self.quick { &[1, 16] } else { &self.threads }
    }

    /// Whether this process measures for another.
    pub fn is_worker(&self) -> bool {
        self.worker
    }

    fn rows(&self) -> Vec<Row> {
        Row::all(self.threads(), self.objects as usize, self.token_objects as usize)
    }

    /// The options about rows that are passed on to a worker.
    fn passed_on(&self) -> Vec<String> {
        let threads: Vec<String> = self.threads().iter().map(u16::to_string).collect();
        let objects = [format!("--objects={}", self.objects), format!("--token-objects={}", self.token_objects)];
        [format!("--threads={}", threads.join(","))].into_iter().chain(objects).collect()
    }
}

/// Parses `--module`.
fn parse(text: &str) -> Result<Wanted, String> {
    let mut words = text.split(',');
    let path = PathBuf::from(words.next().unwrap_or_default());
    let mut wanted = Wanted { path, slot: None, pin: None };
    for word in words {
        match word.split_once('=') {
            Some(("slot", number)) => {
                wanted.slot = Some(number.parse().map_err(|_| format!("{number} is no number of a slot"))?);
            }
            Some(("pin", pin)) => wanted.pin = Some(pin.to_owned()),
            _ => return Err(format!("{word} is neither slot=N nor pin=PIN")),
        }
    }
    Ok(wanted)
}

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
        let count = self.sides.len();
        for repeat in 0..self.repeats {
            for step in 0..count {
                // Another first each time, and back again.
                let forward = (step + repeat / 2) % count;
                let which = if repeat % 2 == 0 { forward } else { count - 1 - forward };
                let (side, result) = (&mut self.sides[which], &mut results[which]);
                if let Ok(slices) = result {
                    match side.worker(&self.arguments).and_then(|worker| worker.run(at, self.slice)) {
                        Ok(done) => slices.push(done),
                        Err(trouble) => *result = Err(trouble),
                    }
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
        median(slices.iter().map(|done| done.operations as f64 / time(done).as_secs_f64().max(1e-9)).collect())
    };
    Figure { per_second: per(|done| done.wall), cpu_us: 1e6 / per(|done| done.cpu).max(1e-9) }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let rows = args.rows();
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
    let json = Sink::of(args.json.as_deref())?;
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
    let mut report = Report::new(&modules, provider.as_ref(), slice, repeats);
    let table = !json.as_ref().is_some_and(Sink::is_stdout);
    if table {
        output::print(&report.heading())?;
    }
    let mut ended = Ended::of(measured(&mut bench, chosen, &mut report, table));
    let written =
        ended.write_json(json.as_ref(), &report).and(if table { output::print(&report.summary()) } else { Ok(()) });
    ended.told(written)?;
    Ok(ExitCode::SUCCESS)
}

/// Measures the rows, until the user ends the run.
fn measured(bench: &mut Bench, chosen: Vec<(usize, &Row)>, report: &mut Report, table: bool) -> Result<(), Failure> {
    let mut bar = Rows::new(chosen.len());
    for (at, row) in chosen {
        interrupted()?;
        bar.begin(&row.title());
        let results = bench.row(row, at);
        // The workers were told, too.
        interrupted()?;
        let line = report.add(row.title(), row.threads, &results);
        if table {
            bar.aside(|| output::print(&line))?;
        }
        bar.end();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_named_with_its_token() {
        let named = parse("/a/b.so,slot=3,pin=1234").unwrap();
        assert_eq!((named.path, named.slot, named.pin.as_deref()), (PathBuf::from("/a/b.so"), Some(3), Some("1234")));
        assert_eq!(parse("/a/b.so").unwrap().slot, None);
        for wrong in ["/a,slot=x", "/a,pin", "/a,label=x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
