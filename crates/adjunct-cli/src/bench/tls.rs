//! The options of `adjunct bench tls`.

use super::seconds;
use serde::Serialize;
use std::path::PathBuf;

const LONG: &str = "\
Measure TLS with real servers, as a paper about IBM Z did: without adjunct, with it, and beside cards

Clients do one transaction after the other: connect, a TLS handshake, 2048 bytes from the server, the end. The servers are nginx, \
Apache's prefork, HAProxy (beside adjunct with ssl-mode-async), PostgreSQL and OpenSSL's s_server, each started for this run with a \
configuration of its own. What is not installed is left out, and the report says so. The sides take turns:

  stock     OpenSSL without adjunct
  lanes     the provider: CPU assist and lanes, no cards (ADJUNCT_CARDS=off); called adjunct on a CPU without lanes
  card      the same beside a daemon (adjunctd) with one card, which the command starts for itself
  cards     the same beside two cards

The cases are TLS 1.2 with TLS_RSA_WITH_AES_256_GCM_SHA384 as in the paper (full handshakes, with client certificates, with cached \
sessions) and TLS 1.3 with TLS_AES_256_GCM_SHA384, certificates of RSA-2048, P-256 and P-384, X25519 and X25519MLKEM768. Where this \
OpenSSL has no ML-KEM of its own, stock's side of that case is X25519. PostgreSQL's group is P-256.

  tps       transactions a second; '*' where the load had no CPU time left, so that the server would do more
  ratio     over stock
  CPU us    CPU time of a transaction: the server's processes, the daemon and its cards; then stock's over it
  CPU%      of the time of the servers' processors
  card%     of the time a worker of a card was busy, on average of the cards
  load%     of the time of the load's processors
  hw%, crd% of the private-key operations with the certificate's key, what dedicated instructions or cards did, and what cards did
  p50, p99  how long half and 99 of 100 transactions took at most

Green is more than stock, red less, grey no difference that is told from chance by the rounds (3 of them are the fewest that tell).

Servers, daemon and cards have the first half of the processors, the load the others (--server-cpus). The load verifies a server's \
certificate and signature before it is measured, not while it is: what is measured is the server. The paper's rows stand beside.

Everything is on the loopback, in a temporary folder and with counters of the run's own, and is removed at the end.";

const EXAMPLES: &str = "\
Examples:
  adjunct bench tls                                         everything that is installed, some ten minutes
  adjunct bench tls --server haproxy --filter RSA-2048      one server, one kind of certificate
  adjunct bench tls --server apache --protocol 1.2 --always cards asked for each operation
  adjunct bench tls --quick --json tls.json --html tls.html

Exit status: 0 done, 1 it failed, or transactions did (one line says why), 2 the command line is wrong.";

/// TLS with real servers, without adjunct, with it, and beside cards
#[derive(Debug, clap::Args)]
#[command(long_about = LONG, after_help = EXAMPLES)]
pub struct Args {
    /// Only these servers, by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_enum)]
    pub server: Vec<ServerKind>,
    /// Only cases whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Only this version of TLS
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    pub protocol: Option<String>,
    /// Only these sides, by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_enum)]
    pub side: Vec<Side>,
    /// Clients that come at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub clients: u16,
    /// Seconds of each case, all sides together
    #[arg(long, value_name = "SECONDS", value_parser = seconds::parse, default_value = "6")]
    pub seconds: f64,
    /// In how many rounds; in each the sides take turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// A rough answer soon: 2 seconds a case, one side beside stock and lanes with cards
    #[arg(long, conflicts_with_all = ["seconds", "side"])]
    pub quick: bool,
    /// Have cards asked for each RSA operation, not only where that is likely to be faster
    #[arg(long)]
    pub always: bool,
    /// Processors for servers, daemon and cards; the load has the others [default: half of them]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub server_cpus: Option<u16>,
    /// Write the report as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write it as one self-contained page with charts to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The module.
    #[command(flatten)]
    pub module: adjunct_survey::module::Args,
    /// Be the load of another process of this command
    #[arg(long, hide = true)]
    pub load: bool,
}

impl Args {
    /// The sides that are wanted.
    pub fn sides(&self) -> Vec<Side> {
        let quick = [Side::Stock, Side::Lanes, Side::Card];
        let is_wanted = |side: &Side| match self.quick {
            true => quick.contains(side),
            false => self.side.is_empty() || self.side.contains(side),
        };
        Side::ALL.into_iter().filter(is_wanted).collect()
    }

    /// Seconds of a case.
    pub fn seconds(&self) -> f64 {
        if self.quick { 2.0 } else { self.seconds }
    }
}

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ServerKind {
    /// nginx: an event loop in as many processes as the servers have processors
    Nginx,
    /// Apache's prefork: a process for each connection, which stays for the next
    Apache,
    /// HAProxy: an event loop; beside adjunct with ssl-mode-async
    Haproxy,
    /// PostgreSQL: a new process for each connection
    Postgresql,
    /// OpenSSL's own s_server: one connection after the other
    #[value(name = "s_server")]
    SServer,
}

impl ServerKind {
    /// All kinds, in the order of the table.
    pub const ALL: [ServerKind; 5] =
        [ServerKind::Nginx, ServerKind::Apache, ServerKind::Haproxy, ServerKind::Postgresql, ServerKind::SServer];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            ServerKind::Nginx => "nginx",
            ServerKind::Apache => "apache",
            ServerKind::Haproxy => "haproxy",
            ServerKind::Postgresql => "postgresql",
            ServerKind::SServer => "s_server",
        }
    }

    /// Name of the server in tables.
    pub fn title(self) -> &'static str {
        match self {
            ServerKind::Nginx => "nginx",
            ServerKind::Apache => "Apache prefork",
            ServerKind::Haproxy => "HAProxy",
            ServerKind::Postgresql => "PostgreSQL",
            ServerKind::SServer => "OpenSSL s_server",
        }
    }
}

/// A side of a case: one of the variants that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// OpenSSL without adjunct
    Stock,
    /// CPU assist and lanes (where this CPU has them), without cards
    #[value(alias = "adjunct")]
    Lanes,
    /// CPU assist and lanes (where this CPU has them), beside one card
    Card,
    /// CPU assist and lanes (where this CPU has them), beside two cards
    Cards,
}

impl Side {
    /// All sides, in the order of the table.
    pub const ALL: [Side; 4] = [Side::Stock, Side::Lanes, Side::Card, Side::Cards];

    /// Name of the side: what serves there. On a CPU without lanes it names none.
    pub fn name(self) -> &'static str {
        match self {
            Side::Stock => "stock",
            Side::Lanes if !adjunct::card::work::available() => "adjunct",
            Side::Lanes => "lanes",
            Side::Card => "card",
            Side::Cards => "cards",
        }
    }

    /// Number of cards of the side.
    pub fn cards(self) -> usize {
        match self {
            Side::Stock | Side::Lanes => 0,
            Side::Card => 1,
            Side::Cards => 2,
        }
    }
}
