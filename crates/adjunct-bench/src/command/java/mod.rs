//! `adjunct bench java`: the papers' experiment. Open Liberty answers "Hello, world!" over HTTP and over HTTPS by several
//! configurations of Java's providers, JMeter drives the load, and the module's counters say what the hardware did.

mod fetch;
mod load;
mod page;
mod report;
mod server;
#[cfg(test)]
mod tests;

use super::pkcs11::worker::{Target, Worker};
use crate::harness::run::Outputs;
use crate::harness::turns::turns;
use crate::pkcs11::token;
use adjunct_cli::bench::java::{Args, JavaRow, Way};
use adjunct_cli::bench::pkcs11::Wanted;
use adjunct_cli::java::jdk::Jdk;
use adjunct_cli::java::{choose, config};
use adjunct_survey::module::{self, Make, Purpose};
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::output::Style;
use adjunct_tool::process::halves::Halves;
use adjunct_tool::progress::Progress;
use adjunct_tool::{Failure, files, output, process, scratch};
use load::{Load, Users};
use report::{FORMAT, JavaReport, Row, WAYS};
use server::{Common, Server};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    adjunct_tool::interrupt::catch_interrupts();
    run_with(args, server::START, fetch::all)
}

/// Runs the subcommand with what `fetch` gives for a cache; a server may take `start` until it answers.
fn run_with(
    args: &Args,
    start: Duration,
    fetch: impl FnOnce(&Path, &Jdk, &dyn Fn(&str)) -> Result<fetch::Fetched, Failure>,
) -> Result<ExitCode, Failure> {
    let jdk = Jdk::find(args.jdk.as_deref())?;
    if jdk.lacks_pkcs11() {
        return Err(Failure::new(format!("{}: this Java has no SunPKCS11", jdk.home.display())));
    }
    if let Some(why) = jdk.cannot_compile() {
        return Err(Failure::new(format!("{}: {why}", jdk.home.display())));
    }
    let module = module::find_of(
        &Make::PKCS11_OF_JAVA,
        module::Choice { path: args.module.as_deref(), trusted: args.trust_module },
        Purpose::Run,
        module::pkcs11_folders,
    )?;
    let outputs = Outputs::open(args.json.as_deref(), &[(args.html.as_deref(), |report| Ok(page::text(report)))])?;
    let cache = args.cache.clone().or_else(fetch::default_cache);
    let cache =
        cache.ok_or_else(|| Failure::new("there is no folder for caches (HOME is not set): name one by --cache"))?;
    let cache = std::path::absolute(&cache).map_err(|e| Failure::new(format!("{}: {}", cache.display(), cause(&e))))?;
    let progress = Progress::begin();
    let fetched = fetch(&cache, &jdk, &|what| progress.set(0.0, what))?;
    if args.fetch {
        output::print(&format!("{} in {}\n", fetch::versions(), cache.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let bench = Bench { args, jdk: &jdk, module: &module, progress: &progress, start };
    let halves = Halves::of_this_machine();
    let mut report = bench.report(halves.as_ref());
    let done = bench.run(&fetched, halves.as_ref(), &mut report);
    drop(progress);
    if done.is_err() {
        report.rows.retain(Row::was_measured);
    }
    outputs.end(&report, done)
}

struct Bench<'a> {
    args: &'a Args,
    jdk: &'a Jdk,
    module: &'a Path,
    progress: &'a Progress,
    start: Duration,
}

/// The options and environment of a row's JVM.
struct Given {
    options: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Bench<'_> {
    /// The report, of which nothing is measured yet.
    fn report(&self, halves: Option<&Halves>) -> JavaReport {
        let args = self.args;
        let (protocol, suite) = args.tls.names();
        let busy = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        JavaReport {
            format: FORMAT,
            cpu: adjunct::cpu::model_name(),
            java: self.jdk.shown(),
            versions: fetch::versions(),
            protocol,
            suite,
            rsa_bits: args.rsa_bits,
            threads: args.threads,
            users: args.users,
            think_ms: args.think,
            seconds: args.seconds,
            rounds: args.rounds,
            processors: halves.cloned().map(|h| [h.server, h.load]),
            busy: busy.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0),
            rows: Vec::new(),
            missing: Vec::new(),
            style: Style::of_stdout(),
        }
    }

    /// Measures all rows. What was measured stands in the report where this fails, too.
    fn run(&self, fetched: &fetch::Fetched, halves: Option<&Halves>, report: &mut JavaReport) -> Result<(), Failure> {
        let args = self.args;
        let folder = scratch::folder()?;
        let (protocol, suite) = args.tls.names();
        let common = Common {
            jdk: self.jdk,
            fetched,
            halves,
            folder: folder.path(),
            key: Common::make_key(self.jdk, folder.path(), args.rsa_bits)?,
            protocol,
            suite,
            heap: args.heap,
            start: self.start,
        };
        let mut servers = Vec::new();
        for kind in JavaRow::EVERY.into_iter().filter(|k| args.rows.is_empty() || args.rows.contains(k)) {
            interrupted()?;
            match self.given(kind, folder.path())? {
                Ok(given) => {
                    servers.push((kind, Server::start(&common, kind.name(), &given.options, &given.environment)?))
                }
                Err(why) => report.missing.push(format!("{}: {why}", kind.name())),
            }
        }
        Load::compile(self.jdk, fetched, folder.path())?;
        for (kind, server) in &mut servers {
            self.progress.set(0.0, &format!("Open Liberty starts: {}", kind.name()));
            server.ready(kind.name())?;
        }
        let ways = WAYS.iter().map(|(way, _)| *way).filter(|way| match args.connections {
            Way::Both => true,
            Way::New => *way == "new",
            Way::Kept => *way == "kept",
        });
        for way in ways {
            let users = Users { threads: args.threads, users: args.users, think_ms: args.think };
            let mut load = Load::start(self.jdk, (fetched, halves), folder.path(), (users, way == "new", protocol))?;
            self.rounds(way, &mut servers, &mut load, report)?;
        }
        Ok(())
    }

    /// Measures every row in one way of connecting.
    fn rounds(
        &self,
        way: &'static str,
        servers: &mut [(JavaRow, Server)],
        load: &mut Load,
        report: &mut JavaReport,
    ) -> Result<(), Failure> {
        let args = self.args;
        let first = report.rows.len();
        report.rows.extend(servers.iter().map(|(kind, _)| Row {
            name: kind.name().to_owned(),
            about: kind.about().to_owned(),
            connections: way,
            ..Row::default()
        }));
        let count = servers.len();
        let each = args.seconds / f64::from(args.rounds);
        let url = |kind: JavaRow, server: &Server| match kind {
            JavaRow::Http => format!("http://127.0.0.1:{}/", server.http),
            _ => format!("https://127.0.0.1:{}/", server.https),
        };
        // Before any row is measured, all are warm, and so is JMeter.
        for (place, (kind, server)) in servers.iter().enumerate() {
            self.progress
                .set(0.0, &format!("warming up: {} ({} of {count}), connections {way}", kind.name(), place + 1));
            load.row(&url(*kind, server), (args.warm_up, 0.1), || Ok(()), || Ok(()))?;
        }
        let rounds = args.rounds as usize;
        for (done, (_, place)) in turns(count, rounds).enumerate() {
            let (kind, server) = &mut servers[place];
            let done = done as f64 / (rounds * count) as f64;
            self.progress.set(done, &format!("{}, connections {way}", kind.name()));
            let (mut before, mut after) = (None, None);
            let seen = {
                let look = |server: &Server| Ok::<_, Failure>((server.cpu(), server.counted.sum()?));
                load.row(
                    &url(*kind, server),
                    (args.warm_up.min(2.0), each),
                    || look(server).map(|seen| before = Some(seen)),
                    || look(server).map(|seen| after = Some(seen)),
                )?
            };
            if !server.runs() {
                server.ready(kind.name())?;
            }
            let (Some(before), Some(after)) = (before, after) else { continue };
            let row = &mut report.rows[first + place];
            row.add(&seen, after.0 - before.0, &after.1.since(&before.1));
            row.rss_mib.push(server.rss());
            row.heap_mib.extend(server.heap(self.jdk));
        }
        Ok(())
    }

    /// The options and environment of a row's JVM; `Ok(Err(why))` where the row is left out.
    fn given(&self, kind: JavaRow, folder: &Path) -> Result<Result<Given, String>, Failure> {
        let mut given = Given { options: Vec::new(), environment: Vec::new() };
        let place = folder.join(kind.name());
        std::fs::create_dir_all(&place).map_err(|e| cannot_write(&place, &e))?;
        let security = match kind {
            JavaRow::Http | JavaRow::Stock => return Ok(Ok(given)),
            JavaRow::Chosen => match self.chosen(&place)? {
                Some((file, moved)) => {
                    given.options.extend(moved);
                    file
                }
                None => return Ok(Err("nothing in the module is faster than in the JDK".to_owned())),
            },
            JavaRow::Rsa | JavaRow::All | JavaRow::PeerRsa | JavaRow::PeerAll => {
                let module = if kind.peer() { &self.args.peer } else { self.module };
                if !module.is_file() {
                    return Ok(Err(format!("{}: there is no such module", module.display())));
                }
                if kind.peer() {
                    given.environment = match peer_token(module, &place) {
                        Ok(environment) => environment,
                        Err(why) => return Ok(Err(format!("{}: {why}", module.display()))),
                    };
                }
                let mut text =
                    format!("name = bench\nlibrary = {}\n{}\n", choose::quoted(module)?, choose::slot(module, None));
                if matches!(kind, JavaRow::Rsa | JavaRow::PeerRsa) {
                    text += "enabledMechanisms = { CKM_RSA_PKCS CKM_RSA_PKCS_PSS }\n";
                }
                if kind.peer() {
                    text += choose::WITHOUT_LOGIN;
                }
                let file = place.join("pkcs11.cfg");
                std::fs::write(&file, text).map_err(|e| cannot_write(&file, &e))?;
                let security = place.join("bench.security");
                let list = choose::providers(self.jdk.dialect, &file, &self.jdk.providers()?);
                std::fs::write(&security, list).map_err(|e| cannot_write(&security, &e))?;
                security
            }
        };
        given.options.push(format!("-Djava.security.properties={}", security.display()));
        Ok(Ok(given))
    }

    /// The configuration that `adjunct java config` writes, and the option by which TLS's key exchange comes to the module where it is enabled.
    fn chosen(&self, place: &Path) -> Result<Option<(PathBuf, Option<String>)>, Failure> {
        self.progress.set(0.0, "measuring each call of Java's");
        let choice = module::Choice { path: None, trusted: self.args.trust_module };
        let program = module::find_of(&Make::COMMAND, choice, Purpose::Run, || [PathBuf::from("/usr/bin")])?;
        let mut command = Command::new(program);
        command.args(["java", "config", "--quick", "--trust-module", "--jdk"]).arg(&self.jdk.home);
        command.arg("--module").arg(self.module).arg("--output").arg(place.join("config"));
        let done = process::run_within(Duration::from_secs(300), &mut command).map_err(Failure::new)?;
        if !done.success {
            return Err(Failure::new(done.why()));
        }
        let (config, security) =
            (place.join("config").join(config::CONFIG), place.join("config").join(config::SECURITY));
        let Ok(text) = files::text(&config) else { return Ok(None) };
        let moved = text.contains("\n    CKM_ECDH1_DERIVE\n");
        Ok(Some((security, moved.then(|| "-Djdk.tls.namedGroups=secp256r1".to_owned()))))
    }
}

/// A token for a module that has none ready: SoftHSM's, in a folder of its own. Others are taken as they are.
fn peer_token(module: &Path, place: &Path) -> Result<Vec<(String, String)>, String> {
    if !module.file_name().is_some_and(|n| n.to_string_lossy().contains("softhsm")) {
        return Ok(Vec::new());
    }
    let environment = token::apart(&place.join("token")).map_err(|e| e.to_string())?;
    let wanted = Wanted { path: module.to_owned(), slot: None, pin: None };
    // By a process of its own, as a module may crash or hang.
    let ready = Worker::start(&Target::Module(wanted), &environment, &[]);
    ready.map_err(|trouble| format!("its token cannot be initialized: {}", trouble.words()))?;
    let softhsm = environment.into_iter().filter(|(name, _)| *name == "SOFTHSM2_CONF");
    Ok(softhsm.map(|(name, path)| (name.to_owned(), path.display().to_string())).collect())
}
