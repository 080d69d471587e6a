//! The options of `adjunct bench cards`.

use super::seconds;
use std::path::PathBuf;

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

/// Private-key operations of many processes, with cards and without
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Processes that call at once
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        default_values_t = [1, 2, 4, 8, 16, 64])]
    pub processes: Vec<u16>,
    /// Cards of the daemon
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2), default_value_t = 1)]
    pub cards: u8,
    /// Time of a row, all sides together, in seconds; longer where the processes would not get round
    #[arg(long, default_value_t = 1.5, value_parser = seconds::parse)]
    pub seconds: f64,
    /// A rough answer soon: 1, 8 and 16 processes, 0.6 seconds a row
    #[arg(long, conflicts_with_all = ["processes", "seconds"])]
    pub quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The module.
    #[command(flatten)]
    pub module: adjunct_survey::module::Args,
    /// The libcrypto to use [default: the system's]
    #[arg(long, value_name = "PATH")]
    pub libcrypto: Option<PathBuf>,
    /// How long one user's operations take (RSA-2048 unless --filter says others) while another has N connections that ask for RSA-4096
    /// all the time, in place of the tables; as root
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=30_000), conflicts_with_all = ["processes", "cards"])]
    pub hostile: Option<u16>,
    /// Be the user that asks, of the cards in FOLDER
    #[arg(long, hide = true, value_name = "FOLDER", requires = "hostile")]
    pub flood: Option<PathBuf>,
    /// Do the row's work for another process of this command
    #[arg(long, hide = true, value_name = "ROW")]
    pub worker: Option<String>,
}

impl Args {
    /// Numbers of processes.
    pub fn processes(&self) -> &[u16] {
        if self.quick { &[1, 8, 16] } else { &self.processes }
    }
}
