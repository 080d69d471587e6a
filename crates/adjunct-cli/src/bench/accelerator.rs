//! The options of `adjunct bench accelerator`.

use super::seconds;
use std::path::PathBuf;

const LONG: &str = "\
Measure private-key operations as a card's are measured: with 1 job at a time, with 8, and with more than the machine has CPUs

So many threads call one function at once, through unmodified EVP calls of OpenSSL and with one key, as the threads of a server \
do. The sides take turns in slices of wall time, in changing order; the table shows medians of the slices:

  stock     OpenSSL's default provider
  AWS-LC    the library by itself, called directly by the same threads, one operation after the other
  alone     the provider with accelerator = off: the same EVP calls, each operation by itself
  adjunct   the provider, which does what several threads ask for at the same time together, in lanes, where it has measured that to be \
faster; with --always in any case, as with accelerator = always in openssl.cnf
  ratio     adjunct over stock, operations a second of wall time; then over AWS-LC (lib), and over alone by wall and by CPU time
  CPUs      that adjunct's threads kept busy, on average; cap: its share of what the kernel would do on all CPUs (see below)
  p50, p99  microseconds that half, and 99 of 100, of adjunct's operations took at most, waiting included; then stock's
  lanes     jobs in a batch, on average ('-': there was none)
  +-        half the way from the slowest slice of adjunct's to the fastest

What is one operation: an RSA (PKCS#1 v1.5), ECDSA or Ed25519 signature of 32 bytes by EVP_DigestSign, with the init before it \
and SHA-256 in it, as a TLS server makes one; EVP_PKEY_derive with the peer set before; EVP_PKEY_generate. Results are compared \
before anything is timed, or verified by stock where they are random.

With --always the last line names the functions that were at least as fast as stock and as AWS-LC in every row: those for which \
accelerator = always pays on this machine, under such a load.

Before that the kernels by themselves, eight lanes full on one core: operations a second of CPU time, beside AWS-LC's; the IFMA \
instructions of one operation (an eighth of a batch's); how many operations the unit's measured rate would allow if it did \
nothing else, and the share of that reached. reach is the share of the kernel's rate that is left to threads that hand their \
operations over, as the heading's figure for that has it: the most that cap can be.

For scale, the last table has a Crypto Express7S accelerator of a z15 (PKD CRT, IBM's figures) beside the columns of 1 and 8 jobs.

The run counts into counters of its own, which are removed: the user's statistics do not show it.";

/// Private-key operations under load, eight lanes at a time
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Threads that call at once
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024),
        default_values_t = [1, 8, 16, 64])]
    pub threads: Vec<u16>,
    /// Time of a row, all sides together, in seconds; longer where the threads would not get round
    #[arg(long, default_value_t = 1.5, value_parser = seconds::parse)]
    pub seconds: f64,
    /// A rough answer soon: 1 and 8 threads, 0.3 seconds a row
    #[arg(long, conflicts_with_all = ["threads", "seconds"])]
    pub quick: bool,
    /// Only the kernels, no threads
    #[arg(long, conflicts_with = "threads")]
    pub kernels: bool,
    /// Have the threads always share batches, which they do by default where that was measured to be faster
    #[arg(long, conflicts_with_all = ["kernels", "noise"])]
    pub always: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The module.
    #[command(flatten)]
    pub module: adjunct_survey::module::Args,
    /// The libcrypto to use [default: the system's]
    #[arg(long, value_name = "PATH")]
    pub libcrypto: Option<PathBuf>,
    /// Stock in adjunct's place: how far from 1.00 this machine's noise drives a ratio
    #[arg(long, conflicts_with = "module")]
    pub noise: bool,
}

impl Args {
    /// Seconds of a row.
    pub fn seconds(&self) -> f64 {
        if self.quick { 0.3 } else { self.seconds }
    }

    /// Numbers of threads; none where the kernels alone are wanted.
    pub fn threads(&self) -> &[u16] {
        match (self.kernels, self.quick) {
            (true, _) => &[],
            (false, true) => &[1, 8],
            (false, false) => &self.threads,
        }
    }
}
