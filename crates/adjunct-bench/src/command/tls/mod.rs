//! `adjunct bench tls`: the papers' table of TLS. Real servers do handshakes without adjunct, with its lanes, and beside its cards.

mod certificates;
mod configuration;
mod load;
mod page;
mod plan;
mod report;
mod server;
mod stage;

use super::daemon::{self, Daemon};
use super::{no_rows, wanted};
use crate::harness::header::now;
use crate::harness::row::Table;
use crate::harness::run::{Outputs, Report as _, Shown};
use crate::harness::turns::turns;
use crate::tls::{Group, LENGTH, Transaction};
use adjunct_cli::bench::tls::Args;
use adjunct_cli::ssh::measure::side::{Modules, openssl_conf};
use adjunct_survey::module::{self, Purpose};
use adjunct_survey::programs;
use adjunct_tool::Failure;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::interrupt::{catch_interrupts, interrupted};
use adjunct_tool::output::Style;
use adjunct_tool::process::halves::{Halves, processors};
use adjunct_tool::progress::Progress;
use adjunct_tool::scratch;
use certificates::Certificates;
use load::{Load, Times};
use plan::{Case, ServerKind, Side};
use report::{FORMAT, Measured, PAPERS, Processors, Row, SOURCE, TlsReport};
use server::{Programs, Server, Told};
use stage::Stage;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How long clients come before their time counts. Cards are asked by what a second was like.
const LEAD_IN: Duration = Duration::from_millis(400);
/// Bytes of the file that servers serve.
const DATA: &str = "data";

fn cases(args: &Args) -> Vec<Case> {
    let is_wanted = |case: &Case| {
        args.protocol.as_deref().is_none_or(|version| version == case.version()) && wanted(&case.title(), &args.filter)
    };
    Case::ALL.into_iter().filter(is_wanted).collect()
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub(super) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.load {
        return load::serve();
    }
    catch_interrupts();
    let cases = cases(args);
    if cases.is_empty() {
        return Err(no_rows(&args.filter));
    }
    let openssl = programs::openssl_version()?;
    programs::require_providers(&openssl)?;
    let module = module::find(args.module.choice(), Purpose::Run, programs::modules_dir)?;
    let (halves, servers, load) = halves(args)?;
    let outputs = Outputs::open(args.json.as_deref(), &[(args.html.as_deref(), |report| Ok(page::text(report)))])?;
    if outputs.collide() {
        return Err(Failure::Words("--json and --html go to the same place".to_owned()));
    }
    let mut missing = Vec::new();
    let mut found = Vec::new();
    for kind in ServerKind::ALL.into_iter().filter(|kind| args.server.is_empty() || args.server.contains(kind)) {
        match Programs::find(kind) {
            Ok(programs) => found.push(programs),
            // What was asked for by its name has to be there.
            Err(why) if !args.server.is_empty() => return Err(Failure::new(format!("{}: {why}", kind.name()))),
            Err(why) => missing.push(format!("{}: {why}", kind.name())),
        }
    }
    let mut report = TlsReport {
        format: FORMAT,
        cpu: adjunct::cpu::model_name(),
        openssl: openssl.clone(),
        adjunct: env!("CARGO_PKG_VERSION"),
        date: now(),
        processors: halves.clone().map(|halves| [halves.server, halves.load]),
        clients: args.clients.into(),
        seconds: args.seconds(),
        rounds: args.rounds,
        always: args.always,
        servers: Vec::new(),
        rows: Table::default(),
        papers: PAPERS,
        source: SOURCE,
        missing,
        style: Style::of_stdout(),
    };
    let shown = outputs.shown();
    let bench = Bench { args, cases, found, halves, on: Processors { servers, load }, openssl: &openssl, shown };
    let done = bench.run(&module, &mut report);
    outputs.end(&report, done)?;
    match report.errors() {
        0 => Ok(ExitCode::SUCCESS),
        errors => Err(Failure::new(format!("{errors} transactions failed; the report says which and why"))),
    }
}

/// The processors of both sides, and how many each has.
fn halves(args: &Args) -> Result<(Option<Halves>, usize, usize), Failure> {
    let all = processors().len().max(1);
    let servers = args.server_cpus.map_or(all / 2, usize::from);
    match Halves::with(servers) {
        Some(halves) => Ok((Some(halves), servers, all - servers)),
        None if args.server_cpus.is_some() && all > 1 => {
            Err(Failure::Words(format!("--server-cpus {servers}: of {all} processors one at least is the load's")))
        }
        None => Ok((None, all, all)),
    }
}

struct Bench<'a> {
    args: &'a Args,
    cases: Vec<Case>,
    found: Vec<Programs>,
    halves: Option<Halves>,
    on: Processors,
    openssl: &'a str,
    shown: Shown,
}

/// A side of a case under way.
struct Running {
    side: Side,
    case: Case,
    server: Server,
    transaction: Transaction,
    measured: Measured,
}

impl Bench<'_> {
    fn run(&self, module: &Path, report: &mut TlsReport) -> Result<(), Failure> {
        let progress = Progress::begin();
        let (servers, load) = self.halves.as_ref().map(|h| (h.server.as_str(), h.load.as_str())).unzip();
        let folder = scratch::folder()?;
        let folder = folder.path();
        let failed = |e: std::io::Error| cannot_write(folder, &e);
        // Servers that root starts give up its rights, and read what is here.
        if nix::unistd::geteuid().is_root() {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
        }
        let [ours, stock, adjunct] = ["adjunct.so", "stock.cnf", "adjunct.cnf"].map(|name| folder.join(name));
        std::fs::copy(module, &ours).map_err(|e| Failure::new(format!("{}: {}", module.display(), cause(&e))))?;
        let with = Modules { provider: Some(ours), engine: None };
        for (file, modules) in [(&stock, Modules::default()), (&adjunct, with)] {
            std::fs::write(file, openssl_conf(&modules)).map_err(failed)?;
        }
        // One message of the paper's: any bytes, since nothing is compressed.
        std::fs::write(folder.join(DATA), vec![b'x'; LENGTH]).map_err(failed)?;
        let certificates = Certificates::make(folder)?;
        let stage = Stage {
            folder,
            certificates: &certificates,
            on: servers,
            processors: self.on.servers,
            clients: self.args.clients.into(),
            stock: &stock,
            adjunct: &adjunct,
        };
        let mut sides = self.args.sides();
        let daemons = self.daemons(&mut sides, servers, report)?;
        let mut load = Load::start(load)?;
        self.shown.print(&report.heading())?;
        let all = self.found.len() * self.cases.len();
        for (place, programs) in self.found.iter().enumerate() {
            let server = report::Server { server: programs.kind.name(), version: programs.version.clone() };
            self.shown.print(&report.head(&server))?;
            report.servers.push(server);
            for (number, case) in self.cases.iter().enumerate() {
                interrupted()?;
                let done = (place * self.cases.len() + number) as f64;
                let title = format!("{}, {}", programs.kind.name(), case.title());
                let step = |part: f64| progress.set((done + part) / all as f64, &title);
                step(0.0);
                let case = match case.with(programs.kind) {
                    Ok(case) => case,
                    Err(why) => {
                        report.missing.push(format!("{title}: {why}"));
                        continue;
                    }
                };
                let rows = self.case(&stage, programs, case, &sides, &daemons, &mut load, &step);
                interrupted()?;
                let rows = rows.map_err(|why| Failure::new(format!("{title}: {why}")))?;
                let lines = report.add(rows);
                self.shown.print(&lines)?;
            }
        }
        Ok(())
    }

    /// The daemons that sides need; sides whose cards this machine cannot have are left out.
    fn daemons(
        &self,
        sides: &mut Vec<Side>,
        on: Option<&str>,
        report: &mut TlsReport,
    ) -> Result<Vec<(Side, Daemon)>, Failure> {
        let mut daemons = Vec::new();
        let mut missing = None;
        for &side in sides.iter().filter(|side| side.cards() > 0) {
            let program = daemon::program(self.args.module.choice());
            match program.and_then(|program| Daemon::start(&program, side.cards(), on)) {
                Ok(daemon) => daemons.push((side, daemon)),
                Err(why) if self.args.side.contains(&side) => return Err(why),
                Err(why) => missing = Some(why),
            }
            interrupted()?;
        }
        if let Some(why) = missing {
            report.missing.push(format!("card, cards: {why}"));
            sides.retain(|side| side.cards() == 0 || daemons.iter().any(|(of, _)| of == side));
        }
        Ok(daemons)
    }

    #[allow(clippy::too_many_arguments)]
    fn case(
        &self,
        stage: &Stage<'_>,
        programs: &Programs,
        case: Case,
        sides: &[Side],
        daemons: &[(Side, Daemon)],
        load: &mut Load,
        step: &dyn Fn(f64),
    ) -> Result<Vec<Row>, Failure> {
        let mut running = Vec::new();
        for &side in sides.iter().filter(|side| case.has(**side)) {
            let case = self.of_side(case, side);
            let cards = daemons.iter().find(|(of, _)| *of == side).map(|(_, daemon)| daemon.folder());
            let told = Told { side, cards, always: self.args.always };
            running.push(self.start(stage, programs, case, &told, load)?);
        }
        let count = running.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let rounds = self.args.rounds as usize;
        let length = Duration::from_secs_f64(self.args.seconds() / (rounds * count) as f64);
        for (done, (_, which)) in turns(count, rounds).enumerate() {
            step(done as f64 / (rounds * count) as f64);
            let one = &mut running[which];
            let daemon = daemons.iter().find(|(of, _)| *of == one.side).map(|(_, daemon)| daemon);
            self.slice(one, daemon, load, Times { lead_in: LEAD_IN.min(length * 2), length })?;
        }
        let clients = self.args.clients.into();
        let row = |one: &Running| {
            let names = (programs.kind.name(), case.title());
            Row::new(names, one.case, one.side, clients, self.on, &one.measured)
        };
        Ok(running.iter().map(row).collect())
    }

    /// The case as a side does it.
    fn of_side(&self, case: Case, side: Side) -> Case {
        let has_mlkem = programs::numbers(self.openssl) >= (3, 5);
        match (case.group, side) {
            (Group::X25519MlKem768, Side::Stock) if !has_mlkem => Case { group: Group::X25519, ..case },
            _ => case,
        }
    }

    /// Starts a side's server, and has the load check that it does what the case asks for.
    fn start(
        &self,
        stage: &Stage<'_>,
        programs: &Programs,
        case: Case,
        told: &Told<'_>,
        load: &mut Load,
    ) -> Result<Running, Failure> {
        /// A database listens before it serves.
        const READY: Duration = Duration::from_secs(20);
        let named = |why: String| Failure::new(format!("{}: {why}", told.side.name()));
        let mut server = Server::start(stage, programs, case, told).map_err(|why| named(why.to_string()))?;
        let certificates = stage.certificates;
        let transaction = Transaction {
            port: server.port,
            protocol: case.protocol,
            group: case.group,
            application: plan::application(programs.kind),
            resumed: case.resumed,
            authority: certificates.authority(),
            certificate: case.authenticated.then(|| (certificates.certificate(case.key), certificates.key(case.key))),
        };
        let begin = Instant::now();
        while let Err(why) = load.check(&transaction) {
            interrupted()?;
            let waits = programs.kind == ServerKind::Postgresql && begin.elapsed() < READY;
            if !waits || !server.runs() {
                return Err(named(format!("{why} ({})", server.last_words())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let counted = server.counted.sum()?.function(case.key.function());
        if told.side != Side::Stock && counted.hardware_calls() + counted.software_calls() == 0 {
            return Err(named("the server does not use adjunct: it counted no private-key operation".to_owned()));
        }
        Ok(Running { side: told.side, case, server, transaction, measured: Measured::default() })
    }

    fn slice(&self, one: &mut Running, daemon: Option<&Daemon>, load: &mut Load, times: Times) -> Result<(), Failure> {
        let servers: Vec<u32> = [one.server.pid()].into_iter().chain(daemon.map(Daemon::pid)).collect();
        let busy = || {
            daemon.and_then(Daemon::machine).map_or(0, |machine| {
                let queues = machine.cards.iter().flat_map(|card| &card.queues);
                queues.flat_map(|queue| &queue.counters).map(|work| work.busy).sum::<u64>()
            })
        };
        let (before, busy_before, begin) = (one.server.counted.sum()?, busy(), Instant::now());
        let loaded = load.run(&one.transaction, self.args.clients.into(), times, &servers)?;
        let (after, busy_after) = (one.server.counted.sum()?, busy());
        if !one.server.runs() {
            let (side, why) = (one.side.name(), one.server.last_words());
            return Err(Failure::new(format!("{side}: the server ended under load: {why}")));
        }
        let moved = after.since(&before);
        let counts = moved.function(one.case.key.function());
        let measured = &mut one.measured;
        measured.seconds += begin.elapsed().as_secs_f64();
        measured.operations += counts.hardware_calls() + counts.software_calls();
        measured.hardware += counts.hardware_calls();
        measured.by_card += moved.all_lanes().on_card;
        measured.card_busy += busy_after.saturating_sub(busy_before) as f64 / 1e9;
        measured.loaded.push(loaded);
        Ok(())
    }
}
