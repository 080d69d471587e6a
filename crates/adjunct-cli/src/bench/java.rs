//! The options of `adjunct bench java`.

use super::seconds;
use std::path::PathBuf;

const LONG: &str = "\
Measure Java on Open Liberty with and without PKCS #11, as a paper about IBM Z did

A \"hello world\" application on Open Liberty (\"clear key\" experiment of IBM's paper: 50 threads, 100 users, 3 ms think time), by \
rows:

  http      no encryption
  stock     HTTPS by the JDK's own providers
  rsa       HTTPS with RSA signatures in the module
  chosen    HTTPS with what 'adjunct java config' finds worth it, measured now
  all       HTTPS with every mechanism of the module
  peer-rsa, peer-all   the same two on another module (--peer)

each with a full handshake for each request (new) and with kept connections (kept). All servers run at once, on one half of the \
processors, and take turns; JMeter runs on the other half. Shown are requests and handshakes for a second, response times in \
milliseconds, the server's processor seconds for 1000 requests, what lives in its heap and its memory in MiB, errors, and what icastats \
and cpacfstats counted.

Open Liberty and JMeter come from Maven Central (420 MB) by 'mvn', are compared with the checksums that adjunct knows, and stay in \
the cache.";

const EXAMPLES: &str = "\
Examples:
  adjunct bench java                                      all rows, a minute each
  adjunct bench java --seconds 20 --rows stock,rsa,all --connections new
  adjunct bench java --rsa-bits 4096 --html java.html --json java.json
  adjunct bench java --fetch                              fetch what it needs, measure nothing

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.";

/// Measure Java on Open Liberty with and without PKCS #11, as the papers did
#[derive(Debug, clap::Args)]
#[command(long_about = LONG, after_help = EXAMPLES)]
pub struct Args {
    /// The JDK; by default that of JAVA_HOME or PATH
    #[arg(long, value_name = "HOME")]
    pub jdk: Option<PathBuf>,
    /// The PKCS #11 module; by default the one beside this program or in the folder of PKCS #11 modules
    #[arg(long, value_name = "PATH")]
    pub module: Option<PathBuf>,
    /// As root: take the module though others than root could change it, or a folder above it
    #[arg(long)]
    pub trust_module: bool,
    /// Another PKCS #11 module for the rows peer-rsa and peer-all
    #[arg(long, value_name = "PATH", default_value = "/usr/lib/softhsm/libsofthsm2.so")]
    pub peer: PathBuf,
    /// Only these rows, by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_enum)]
    pub rows: Vec<JavaRow>,
    /// How users connect
    #[arg(long, value_name = "WAY", default_value = "both")]
    pub connections: Way,
    /// Seconds of each row
    #[arg(long, value_name = "SECONDS", value_parser = seconds::parse, default_value = "60")]
    pub seconds: f64,
    /// In how many rounds; in each the rows take turns
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Seconds of load for each row before any is measured, until Java has compiled what it needs
    #[arg(long, value_name = "SECONDS", value_parser = seconds::parse, default_value = "30")]
    pub warm_up: f64,
    /// JMeter's threads
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10000))]
    pub threads: u32,
    /// Users, who come by turns
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000000))]
    pub users: u32,
    /// Milliseconds between two requests of a thread
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=60000))]
    pub think: u32,
    /// The version of TLS
    #[arg(long, value_name = "VERSION", default_value = "1.2")]
    pub tls: Tls,
    /// Bits of the server's RSA key
    #[arg(long, value_name = "BITS", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(2048..=8192))]
    pub rsa_bits: u32,
    /// MiB of a server's heap
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = clap::value_parser!(u32).range(64..=65536))]
    pub heap: u32,
    /// Where Open Liberty and JMeter are kept [default: adjunct/bench-java in the user's folder for caches]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Fetch what is needed into the cache, and measure nothing
    #[arg(long)]
    pub fetch: bool,
    /// Write the report as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write it as one self-contained page with charts to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A row. The help lists the names: `about` says what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)]
pub enum JavaRow {
    Http,
    Stock,
    Rsa,
    Chosen,
    All,
    PeerRsa,
    PeerAll,
}

impl JavaRow {
    /// All kinds, in the order of the table.
    pub const EVERY: [JavaRow; 7] = [
        JavaRow::Http,
        JavaRow::Stock,
        JavaRow::Rsa,
        JavaRow::Chosen,
        JavaRow::All,
        JavaRow::PeerRsa,
        JavaRow::PeerAll,
    ];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            JavaRow::Http => "http",
            JavaRow::Stock => "stock",
            JavaRow::Rsa => "rsa",
            JavaRow::Chosen => "chosen",
            JavaRow::All => "all",
            JavaRow::PeerRsa => "peer-rsa",
            JavaRow::PeerAll => "peer-all",
        }
    }

    /// What it is.
    pub fn about(self) -> &'static str {
        match self {
            JavaRow::Http => "no encryption",
            JavaRow::Stock => "the JDK's own providers",
            JavaRow::Rsa => "RSA signatures in the module",
            JavaRow::Chosen => "what 'adjunct java config' chose",
            JavaRow::All => "every mechanism of the module",
            JavaRow::PeerRsa => "RSA signatures in the other module",
            JavaRow::PeerAll => "every mechanism of the other module",
        }
    }

    /// Whether it is of the other module.
    pub fn peer(self) -> bool {
        matches!(self, JavaRow::PeerRsa | JavaRow::PeerAll)
    }
}

/// How users connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// A full handshake for each request
    New,
    /// Connections are kept
    Kept,
    /// Both, one after the other
    Both,
}

/// The version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)]
pub enum Tls {
    #[value(name = "1.2")]
    V12,
    #[value(name = "1.3")]
    V13,
}

impl Tls {
    /// What JSSE calls it, and a cipher suite of it.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Tls::V12 => ("TLSv1.2", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
            Tls::V13 => ("TLSv1.3", "TLS_AES_256_GCM_SHA384"),
        }
    }
}
