//! What adjunct buys OpenSSH on this machine, against the figures the project wants to reach. Run it by `benches/ssh`.
//!
//! Real ssh and sshd over loopback, everything interleaved in one run; medians, with the error of each. "Stock" is the same
//! programs with OpenSSL's default provider.

use adjunct_cli::Failure;
use adjunct_cli::ssh::lab::{Environment, Programs, Setup, Sshd};
use adjunct_cli::ssh::measure::side::Modules;
use adjunct_cli::ssh::measure::{Data, Limits, Rig, Side, Spread, Suite, interleave, openssl_conf};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Measure OpenSSH with and without adjunct, against the figures to reach
#[derive(Debug, Parser)]
#[command(after_help = "Examples:\n  benches/ssh\n  benches/ssh --rounds 31 --megabytes 1000\n  benches/ssh --burst 0")]
struct Args {
    /// How often each connection is measured
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u16).range(3..=1000))]
    rounds: u16,
    /// Megabytes of a copy
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    megabytes: u64,
    /// Logins at once; 0 leaves them out
    #[arg(long, default_value_t = 400)]
    burst: usize,
    /// The provider to measure
    #[arg(long)]
    module: PathBuf,
    /// The library that times the public-key functions (built by benches/ssh)
    #[arg(long)]
    shim: PathBuf,
}

const GCM: &str = "aes128-gcm@openssh.com";

fn main() {
    let args = Args::parse();
    // SAFETY: no other thread yet. Counters of our own, which are removed at the end.
    unsafe { std::env::set_var("ADJUNCT_STATS_KEY", format!("{:#x}", 0x0b5e_0000 ^ std::process::id())) };
    let done = run(&args);
    let _ = adjunct::counters::delete(nix::unistd::geteuid().as_raw());
    if let Err(failure) = done {
        eprintln!("ssh-figures: {failure}");
        std::process::exit(1);
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    let programs = Programs::find(None, None)?;
    let (ssh, openssl) = programs.versions()?;
    println!("{ssh}, {openssl}; {} rounds of each, interleaved; medians", args.rounds);
    let mut rig = Rig::new(programs)?;
    let stock = rig.place().write("stock.cnf", &openssl_conf(&Modules::default()))?;
    let modules = Modules { provider: Some(args.module.clone()), engine: Some("RSA,EC".to_owned()) };
    let adjunct = rig.place().write("adjunct.cnf", &openssl_conf(&modules))?;
    let sides = [Side::with_conf("stock", &stock), Side::with_conf("adjunct", &adjunct)];
    copies(args, &mut rig, &sides)?;
    logins(args, &mut rig, &sides)?;
    burst(args, &rig, &adjunct)
}

fn limits(args: &Args) -> Limits {
    Limits { least: args.rounds.into(), most: args.rounds.into(), budget: Duration::ZERO, end: Duration::MAX }
}

/// Prints a ratio of two medians beside the one to reach.
fn verdict(what: &str, ratio: f64, goal: f64, at_least: bool) {
    let reached = if at_least { ratio >= goal } else { ratio <= goal };
    let bound = if at_least { "at least" } else { "at most" };
    println!("  {what}: {ratio:.2} (to reach: {bound} {goal}) {}", if reached { "reached" } else { "NOT reached" });
}

fn copies(args: &Args, rig: &mut Rig, [stock, adjunct]: &[Side; 2]) -> Result<(), Failure> {
    let bytes = args.megabytes * 1_000_000;
    let data = Data::new(rig.place().dir(), "data", bytes)?;
    let suite =
        |cipher: &str| Suite { cipher: cipher.to_owned(), mac: String::new(), kex: String::new(), ..Suite::default() };
    let jobs = [
        ("stock, OpenSSH's default suite", stock, suite("")),
        ("stock, aes128-gcm", stock, suite(GCM)),
        ("adjunct, aes128-gcm", adjunct, suite(GCM)),
    ];
    let measure = |job: usize| rig.transfer(jobs[job].1, &jobs[job].2, &data, &mut |_| {});
    let (costs, done) = interleave(jobs.len(), &limits(args), || Duration::ZERO, |_| true, measure);
    done?;
    println!("\nA copy of {} MB                       MB/s           CPU seconds, both sides", args.megabytes);
    let mut rates = Vec::new();
    for ((name, ..), costs) in jobs.iter().zip(&costs) {
        let rate = costs.spread(|cost| bytes as f64 / 1e6 / (cost.seconds - cost.first));
        let cpu = costs.spread(|cost| cost.client + cost.server);
        println!("  {name:32} {:7.0} ± {:<5.0} {:9.3} ± {:.3}", rate.median, rate.error, cpu.median, cpu.error);
        rates.push((rate.median, cpu.median));
    }
    verdict("throughput, tuned and accelerated by default suite", rates[2].0 / rates[0].0, 1.5, true);
    verdict("CPU, tuned and accelerated by default suite", rates[2].1 / rates[0].1, 0.6, false);
    verdict("CPU, aes128-gcm by itself", rates[2].1 / rates[1].1, 0.8, false);
    Ok(())
}

/// The functions of benches/ssh-public-key.c; the last is how OpenSSH checks that a point has the curve's order, which no
/// engine is asked about.
const FUNCTIONS: [&str; 5] = ["make a key", "agree (ECDH)", "sign", "verify", "OpenSSH's checks of points"];

/// Microseconds of each function, of both sides of one login.
type Times = [f64; FUNCTIONS.len()];

/// Reads what the shim wrote, and begins anew.
fn take(file: &Path) -> Result<Times, Failure> {
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", file.display()));
    let bytes = std::fs::read(file).map_err(failed)?;
    std::fs::write(file, vec![0; 4096]).map_err(failed)?;
    let row = |i: usize| bytes[16 * i + 8..16 * i + 16].try_into().map_or(0, u64::from_ne_bytes);
    Ok(std::array::from_fn(|i| row(i) as f64 / 1e3))
}

fn logins(args: &Args, rig: &mut Rig, sides: &[Side; 2]) -> Result<(), Failure> {
    let times = rig.place().write("times", "")?;
    take_none(&times)?;
    let shim = args.shim.display().to_string();
    let file = times.display().to_string();
    let timed = |side: &Side| side.clone().and("LD_PRELOAD", &shim).and("PUBLIC_KEY_TIMES", &file);
    let key = "ecdsa-sha2-nistp384".to_owned();
    let p384 = Suite {
        cipher: GCM.to_owned(),
        kex: "ecdh-sha2-nistp384".to_owned(),
        host_key: key.clone(),
        user_key: key,
        ..Suite::default()
    };
    let jobs = [timed(&sides[0]), timed(&sides[1]), sides[0].clone(), sides[1].clone()];
    let mut all: [Vec<Times>; 2] = Default::default();
    let measure = |job: usize| {
        let cost = rig.login(&jobs[job], &p384)?;
        if let Some(all) = all.get_mut(job) {
            all.push(take(&times)?);
        }
        Ok(cost)
    };
    let (costs, done) = interleave(jobs.len(), &limits(args), || Duration::ZERO, |_| true, measure);
    done?;
    let of = |side: usize, part: &dyn Fn(&Times) -> f64| Spread::of(&all[side].iter().map(part).collect::<Vec<_>>());
    println!("\nA login, ecdh-sha2-nistp384 and ecdsa-sha2-nistp384: CPU microseconds of both sides");
    println!("  {:32} {:>16} {:>16}", "", "stock", "adjunct");
    let row = |name: &str, part: &dyn Fn(&Times) -> f64| {
        let [stock, adjunct] = [of(0, part), of(1, part)];
        let text = |s: Spread| format!("{:.0} ± {:.0}", s.median, s.error);
        println!("  {name:32} {:>16} {:>16} {:8.2}", text(stock), text(adjunct), adjunct.median / stock.median);
        adjunct.median / stock.median
    };
    for (i, name) in FUNCTIONS.iter().enumerate() {
        row(name, &|times| times[i]);
    }
    let served = row("what an engine is asked for", &|times| times[..4].iter().sum());
    let work = row("all public-key work", &|times| times.iter().sum());
    let whole = [2, 3].map(|job| costs[job].spread(|cost| 1e6 * (cost.client + cost.server)));
    let text = |s: Spread| format!("{:.0} ± {:.0}", s.median, s.error);
    let ratio = whole[1].median / whole[0].median;
    println!("  {:32} {:>16} {:>16} {ratio:8.2}", "the whole login, all processes", text(whole[0]), text(whole[1]));
    verdict("CPU, public-key operations that an engine is asked for", served, 0.4, false);
    verdict("CPU, with OpenSSH's own checks of points", work, 0.4, false);
    Ok(())
}

fn take_none(times: &Path) -> Result<(), Failure> {
    std::fs::write(times, vec![0; 4096]).map_err(|e| Failure::new(format!("{}: {e}", times.display())))
}

/// Many clients at once, each logging in and out.
fn burst(args: &Args, rig: &Rig, conf: &Path) -> Result<(), Failure> {
    if args.burst == 0 {
        return Ok(());
    }
    let place = rig.place();
    let setup = |line: String| Setup::new([line], &Environment::with_conf(conf));
    let sshd = Sshd::start(place, None, &setup(format!("MaxStartups {}\nLoginGraceTime 600", 2 * args.burst)))?;
    let start = Instant::now();
    let mut clients = Vec::new();
    // One configuration for all, written before the first reads it.
    let mut command = place.client(sshd.port(), &setup("ConnectTimeout 600".to_owned()))?;
    command.arg("exit 0").stdout(Stdio::null()).stderr(Stdio::null());
    for _ in 0..args.burst {
        clients.push(command.spawn().map_err(|e| Failure::new(format!("ssh: {e}")))?);
    }
    let mut good = 0;
    for mut client in clients {
        good += usize::from(client.wait().is_ok_and(|status| status.success()));
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("\n{} logins in a burst: {good} succeeded, in {seconds:.1} s", args.burst);
    sshd.stop()?;
    if good < args.burst {
        return Err(Failure::new(format!("{} of {} logins were lost", args.burst - good, args.burst)));
    }
    Ok(())
}
