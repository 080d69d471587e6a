//! The options of `adjunct bench ep11`.

use super::seconds;
use std::path::PathBuf;

const LONG: &str = "\
Measure EP11 coprocessors by libep11's own calls, beside what IBM's card does

The command starts a daemon (adjunctd) with EP11 coprocessors for itself, and calls libep11 (m_EncryptSingle, m_SignSingle and so on) with \
domain 0000: from one thread and from eight, at one card and at a group of two. The ways take turns in slices of wall time; the table shows, for \
one job and for eight, medians of the slices:

  /s        operations a second, of all threads together
  CEX7P     what a Crypto Express7S card of an IBM z15 does as EP11 coprocessor, one card, in IBM's figures (beside 'small': the goal)
  times     the one over the other
  us        CPU time of an operation: the calling threads', then the cards' and the daemon's

Rows have the names of IBM's tables: PKD decrypts, PKE encrypts, PKS signs and PKV verifies 32 bytes (RSA PKCS #1 v1.5, ECDSA, EdDSA); WPK wraps \
and UPK unwraps: an AES-256 key by RSA or by AES, or a private key on a curve by AES (CBC with padding); Key Generate makes a pair, with one job alone. \
Ciphers and HMACs are of messages of so many bytes, each in one call.

A row below the card's figure says 'lost', and below the tables stands why, where that was to be expected of this CPU. A mechanism that the \
coprocessor does not have is told as missing.

The daemon, its cards and their keys end with the command: the machine's cards are left alone. Everything that is measured runs on this machine's CPUs, \
which client and cards share.";

/// EP11 coprocessors by libep11's own calls, beside IBM's card
#[derive(Debug, clap::Args)]
#[command(
    long_about = LONG,
    after_help = "\
Examples:
  adjunct bench ep11 --quick
  adjunct bench ep11 --filter small
  adjunct bench ep11 --filter 'pks rsa' --seconds 2 --json rows.json --html rows.html

Exit status: 0 it was measured, 1 something failed (a line says what), 2 the command line is wrong."
)]
pub struct Args {
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Cards: each row is measured with one, and with a group of two
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2), default_value_t = 2)]
    pub cards: u8,
    /// Time of each figure, in seconds
    #[arg(long, default_value_t = 0.5, value_parser = seconds::parse)]
    pub seconds: f64,
    /// A rough answer soon: one card, 0.1 seconds a figure
    #[arg(long, conflicts_with_all = ["cards", "seconds"])]
    pub quick: bool,
    /// Write the rows as JSON to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the report as one page of HTML to FILE ("-": to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// libep11 [default: the one beside this program or where libraries are installed]
    #[arg(long, value_name = "PATH")]
    pub library: Option<PathBuf>,
    /// As root: load libep11 though others than root could change it, or a folder above it
    #[arg(long)]
    pub trust_module: bool,
    /// Call libep11 for another process of this command
    #[arg(long, hide = true, requires = "library")]
    pub worker: bool,
}

impl Args {
    /// How many cards there are.
    pub fn cards(&self) -> u8 {
        if self.quick { 1 } else { self.cards }
    }
}
