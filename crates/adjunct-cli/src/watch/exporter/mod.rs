//! `adjunct exporter`: the counters for Prometheus, by HTTP or as a file for node_exporter.

mod coprocessors;
mod families;
mod metrics;
mod server;
mod textfile;

use super::ledger::Ledger;
use super::sample::Sampler;
use adjunct::counters;
use adjunct_tool::failure::{cause, eprint};
use adjunct_tool::{Failure, output};
use families::{Family, Format};
use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Default port, on loopback alone.
const PORT: u16 = 9978;
/// Seconds that a reading is served for, and seconds between two files.
const EVERY: [u64; 2] = [5, 15];

const EXAMPLES: &str = "\
Reads what `adjunct stats`, `pkcsstats` and `lszcrypt` show, and counts nothing itself. Root, or who has the capability CAP_IPC_OWNER (as the \
service in the package, which is no root's), exports the counters of all users; anybody else exports their own.

Metrics are sums over all users, which tell other users of this machine no more than its network interfaces do. With --by-user each user's \
stand by themselves: everybody who can ask can then see when a user's connections are busy. One user more is one set of series more: \
the first 64 have their own, further ones share user=\"other\".

It listens on loopback. With another address everybody who can send packets there reads the metrics: there is neither TLS nor a password here. \
Put a web server in front that has them, or have Prometheus come through ssh.

Examples:
  adjunct exporter --once                                  what is exported
  adjunct exporter                                         serves http://127.0.0.1:9978/metrics
  adjunct exporter --by-user --listen 9100                 another port, a label for the user
  adjunct exporter --textfile /run/metrics/adjunct.prom    for node_exporter, every 15 seconds

As services: sudo systemctl enable --now adjunct-exporter.service (or adjunct-exporter-textfile.timer)

Scrape it with:

  scrape_configs: [{ job_name: adjunct, static_configs: [{ targets: ['127.0.0.1:9978'] }] }]

A dashboard and alert rules are in /usr/share/adjunct/monitoring; docs/monitoring.md explains them.

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong. SIGTERM ends it at once.";

/// Export the counters to Prometheus, by HTTP or as a file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where to listen: an address with a port, or a port of loopback; other addresses are open to others
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)), value_parser = address)]
    listen: SocketAddr,
    /// Write the metrics to this file (its name has to end in .prom), in place of serving them
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    textfile: Option<PathBuf>,
    /// Export once and end: to the file, or to standard output
    #[arg(long, conflicts_with = "listen")]
    once: bool,
    /// Label metrics by user
    #[arg(long)]
    by_user: bool,
    /// Seconds between two files (15), and for which a reading is served again (5)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: Option<u64>,
}

/// An address with a port, or a port of loopback.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = || text.parse::<u16>().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    text.parse().ok().or_else(port).ok_or_else(|| "an address with a port is needed, as in 127.0.0.1:9978".to_owned())
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if !counters::reads_all() {
        eprint("adjunct: these are your own counters alone: those of all users take root, or CAP_IPC_OWNER");
    }
    let mut source = Source::new(args.by_user);
    if let Some(file) = &args.textfile {
        let every = (!args.once).then(|| Duration::from_secs(args.interval.unwrap_or(EVERY[1])));
        return textfile::write(file, every, &mut source);
    }
    if args.once {
        output::print(&families::text(&source.families()?, Format::Text))?;
        return Ok(ExitCode::SUCCESS);
    }
    let listener = TcpListener::bind(args.listen).map_err(|error| taken(args.listen, &error))?;
    let at = listener.local_addr().unwrap_or(args.listen);
    eprint(&format!("adjunct: the metrics are at http://{at}/metrics"));
    if !at.ip().is_loopback() {
        eprint(&format!("adjunct: everybody who reaches {} can read them: there is no password, and no TLS", at.ip()));
    }
    ready();
    let fresh = Duration::from_secs(args.interval.unwrap_or(EVERY[0]));
    let kept: RefCell<(Source, Option<Reading>)> = RefCell::new((source, None));
    let page = move |format| {
        let mut kept = kept.borrow_mut();
        let (source, reading) = &mut *kept;
        if reading.as_ref().is_none_or(|reading| reading.at.elapsed() >= fresh) {
            *reading = Some(Reading { at: Instant::now(), families: source.families()? });
        }
        Ok(reading.as_ref().map(|reading| families::text(&reading.families, format)).unwrap_or_default())
    };
    server::serve(listener, Rc::new(page))
}

/// The last reading.
#[derive(Debug)]
struct Reading {
    at: Instant,
    families: Vec<Family>,
}

/// The source of the metrics.
#[derive(Debug)]
struct Source {
    sampler: Sampler,
    ledger: Ledger,
    /// Errors of the last reading: each is reported once.
    wrong: Vec<String>,
}

impl Source {
    fn new(by_user: bool) -> Source {
        Source { sampler: Sampler::default(), ledger: Ledger::new(by_user), wrong: Vec::new() }
    }

    fn families(&mut self) -> Result<Vec<Family>, Failure> {
        let sample = self.sampler.take()?;
        let wrong = sample.unread();
        wrong.iter().filter(|line| !self.wrong.contains(line)).for_each(|line| eprint(&format!("adjunct: {line}")));
        self.wrong = wrong;
        let mut families = metrics::of(&sample, &mut self.ledger);
        families.extend(coprocessors::asked(&sample.cards));
        Ok(families)
    }
}

/// Tells systemd, if it started this process, that the metrics are there; otherwise starting the service fails.
fn ready() {
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
}

fn taken(at: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::new(match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            format!(
                "{at} is taken: another program listens there (an exporter that runs already?); choose another with --listen"
            )
        }
        std::io::ErrorKind::AddrNotAvailable => format!("{at}: this machine does not have that address"),
        _ => format!("{at}: {}", cause(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_loopbacks() {
        assert_eq!(address("9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        assert!(address("localhost").unwrap_err().contains("127.0.0.1:9978"));
    }
}
