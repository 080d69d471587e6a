//! The options of `adjunct bench openssl`.

use super::seconds;
use adjunct::catalogue::Class;
use std::path::PathBuf;

const LONG: &str = "\
Measure the provider beside OpenSSL's default provider, through the same EVP calls

Both sides run in this process, on one thread, with the same libcrypto, keys, input and buffers; what differs is the \
property query of the fetch (provider=adjunct, provider=default). The two take turns in slices of CPU time, and the table \
shows the median of the slices: bytes (GB/s) or operations (op/s) per second of CPU time, and adjunct's as a multiple of \
stock's. A row under 0.95 is measured a second time, three times as long; the second time counts.

What is one operation:
  cipher              init with the IV (the key stays), update
  cipher (continued)  EVP_Cipher alone: one stream, as OpenSSH and TLS 1.2 call it
  GCM, CCM, Poly1305  init with the IV, 13 bytes of associated data, data, final, tag
  digest, MAC         init, update, final (a MAC's key stays)
  RSA, ECDSA          sign or verify a SHA-256 value; encrypt or decrypt 32 bytes
  Ed25519             sign or verify 32 bytes (with an init before each where OpenSSL asks for it: 3.5 and newer)
  ECDH, X25519        derive, the peer set before
  keygen              one key; RSA's is a mean, for prime search takes very uneven time

Before a row is measured the two sides' results are compared (what is random, like a signature, is opened by the other \
side): a wrong result is an error, not a fast row. What one side does not have is skipped and named.

The last column says what ran adjunct's side, by its own counters: hardware (hw), software (sw), or both. The run counts into \
counters of its own, which are removed: the user's statistics do not show it, and nobody else's operations are in the column.

--class measures what another class of CPU runs: instructions that it has not are taken away from both sides alike (ADJUNCT_CPU, \
OPENSSL_ia32cap). The speed of what is left is this CPU's, so that ratios say which code is faster here, and rates say nothing. \
--class list shows the classes and which of them this CPU can imitate.";

/// The provider beside OpenSSL's default provider, through the same EVP calls
#[derive(Debug, clap::Args)]
#[command(long_about = LONG)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Message sizes in bytes
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(16..=1 << 26),
        default_values_t = [16, 64, 256, 1024, 8192, 16384, 1 << 20])]
    pub sizes: Vec<u32>,
    /// CPU time of a row, both sides together, in seconds
    #[arg(long, default_value_t = 0.3, value_parser = seconds::parse)]
    pub seconds: f64,
    /// A rough answer soon: 16, 1024 and 16384 bytes, 0.06 seconds a row
    #[arg(long, conflicts_with_all = ["sizes", "seconds"])]
    pub quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the rows as Markdown to FILE: the ratios by size, and the public-key rows
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Measure what another class of CPU runs, as far as this one can imitate it ("list": show the classes)
    #[arg(long, value_name = "NAME")]
    pub class: Option<Wanted>,
    /// This is the command that was started again with the masks of the class
    #[arg(long, hide = true, requires = "class")]
    pub masked: bool,
    /// The module.
    #[command(flatten)]
    pub module: adjunct_survey::module::Args,
    /// The libcrypto to use [default: the system's]
    #[arg(long, value_name = "PATH")]
    pub libcrypto: Option<PathBuf>,
    /// Stock on both sides: how far from 1.00 this machine's noise drives a ratio
    #[arg(long, conflicts_with = "module")]
    pub noise: bool,
    /// Take the stock side from this libcrypto instead
    #[arg(long, value_name = "PATH")]
    pub against: Option<PathBuf>,
}

impl Args {
    /// Whether what is measured says what adjunct does here: every row, with the system's OpenSSL on both sides.
    pub fn is_of_this_machine(&self) -> bool {
        let masked = std::env::var_os("ADJUNCT_CPU").is_some_and(|mask| !mask.is_empty());
        let apart = self.noise || masked || self.against.is_some() || self.libcrypto.is_some();
        self.filter.is_empty() && !apart && (self.quick || self.sizes.contains(&16384))
    }
}

/// The class whose name is `list`: it shows all of them.
const LIST: &str = "list";

/// A class, as the option names it.
#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// List the classes.
    List,
    /// Measure as on this class.
    Class(&'static Class),
}

impl std::str::FromStr for Wanted {
    type Err = String;

    fn from_str(name: &str) -> Result<Wanted, String> {
        if name == LIST {
            return Ok(Wanted::List);
        }
        Class::from_name(name).map(Wanted::Class).ok_or_else(|| {
            let known: Vec<_> = Class::here().map(|class| class.name).collect();
            format!("known here: {} {LIST}", known.join(" "))
        })
    }
}
