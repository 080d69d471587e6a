//! The options of `adjunct bench bulk`.

use super::seconds;
use std::path::PathBuf;

const LONG: &str = "\
Measure bulk encryption: OpenSSL, the newest OpenSSL, AWS-LC, adjunct's kernels and adjunct through EVP, in one run

All sides take turns in slices of CPU time, in changing order, on one CPU; the table shows the median of each one's slices in \
10^9 bytes a second. Their results are compared before anything is timed: a wrong one is an error, not a fast row. Like stands \
beside like, in three pairs with a ratio each (marked below 0.95; such a row is measured again, three times as long, and the \
second time counts):

  stock, adjunct    OpenSSL's default provider and adjunct's, through EVP of the system's libcrypto (or --libcrypto)
  newest, adjunct   the same two in another system's OpenSSL (--newest ROOT): in a process under that root's loader
  AWS-LC, kernel    without OpenSSL: AWS-LC, the fastest of its public functions for the mode, and adjunct's own code

  share    the kernel's share of the unit's limit: AES rounds done, of those the CPU can do. The rate of the widest AES \
instruction this CPU has is measured in the same turns, in chains that do not wait for each other; for GCM with the three \
carry-less products that a vector takes at least among them, which is what both units allow together
  EVP      what the first adjunct column is of the kernel's speed (marked below 85 % at 16384 bytes and more)

One operation is a message: init with the IV (the key stays), update; ECB: EVP_Cipher; GCM and Poly1305: init with the IV, 13 \
bytes of associated data, data, final, tag; SHA-512: init, update, final. The sides without OpenSSL do the same by their own \
functions. '-': the side has no such function.";

/// Bulk encryption of every library in one run, beside the CPU's limit
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Message sizes in bytes
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(16..=1 << 24),
        default_values_t = [16, 64, 256, 16384])]
    pub sizes: Vec<u32>,
    /// CPU time of a row, all sides together, in seconds
    #[arg(long, default_value_t = 0.5, value_parser = seconds::parse)]
    pub seconds: f64,
    /// A rough answer soon: 0.1 seconds a row
    #[arg(long, conflicts_with = "seconds")]
    pub quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The root of a system with the newest OpenSSL, as benches/bulk unpacks one
    #[arg(long, value_name = "ROOT")]
    pub newest: Option<PathBuf>,
    /// The module.
    #[command(flatten)]
    pub module: adjunct_survey::module::Args,
    /// The libcrypto of stock and adjunct [default: the system's]
    #[arg(long, value_name = "PATH")]
    pub libcrypto: Option<PathBuf>,
    /// Stock in adjunct's place: how far from 1.00 this machine's noise drives a ratio
    #[arg(long, conflicts_with_all = ["module", "newest"])]
    pub noise: bool,
    /// Measure for another process of this command
    #[arg(long, hide = true)]
    pub worker: bool,
}
