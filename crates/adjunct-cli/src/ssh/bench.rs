//! The options of `adjunct ssh bench`.

use super::tryout::parse_size;
use std::path::PathBuf;

const LONG: &str = "\
Measure OpenSSH as two papers about IBM Z did, on this machine: software, stock OpenSSL, adjunct

Copies files by scp to an sshd of its own on loopback, target /dev/null, and shows throughput and processor time of three sides:

  software  stock OpenSSL with the CPU's crypto instructions masked
  stock     OpenSSL as it is
  adjunct   the same with adjunct's provider and engine

  figure7   TDES and AES with MD5, SHA-1 and SHA-2 MACs (\"Using Hardware Cryptographic Support With OpenSSH in Linux on System \
z\", 2010, figure 7)
  tables    every cipher, by algorithm, key size and mode (\"Hardware cryptographic support of IBM z Systems for OpenSSH\", 2016, \
tables 2 to 4, with that paper's own figures)
  small     copies of a file of 2 bytes with RSA, ECDSA and Ed25519 keys, one after another and several at once (the same paper, \
chapter 8)

Today's scp speaks SFTP; sshd answers by its internal-sftp. The sides take turns, in changing order; shown are medians, and as spread half of what lies between the quartiles. What starting and \
logging in takes is measured by copies of one byte in the same rounds, shown by itself, and taken off. The file that is copied is a hole: it takes no disk, whatever its size. Nothing \
of the system is touched, and what adjunct counts is kept apart from the users' counters.";

const EXAMPLES: &str = "\
Examples:
  adjunct ssh bench --quick --html bench.html            a rough answer within two minutes
  adjunct ssh bench --html bench.html --json bench.json  all of it, as a page and for programs
  adjunct ssh bench --part tables --size 5G              tables 2 to 4 with the file size of the paper
  adjunct ssh bench --part figure7 --filter aes128       only rows whose name contains aes128
  adjunct ssh bench --from bench.json --html bench.html  make the page again, measure nothing

Ctrl-C ends it: what was measured until then is shown, and written to FILE.partial in place of FILE.

Exit status: 0 done, 1 it failed or was interrupted (one line says why), 2 the command line is wrong.";

/// Measure OpenSSH as the papers did: software, stock OpenSSL, adjunct
#[derive(Debug, clap::Args)]
#[command(long_about = LONG, after_help = EXAMPLES)]
pub struct Args {
    /// Only this part (may be given again) [default: all]
    #[arg(long, value_enum)]
    pub part: Vec<Part>,
    /// Only rows whose name contains TEXT, in any case (may be given again)
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Bytes of a large copy; K, M, G stand for 10^3, 10^6, 10^9 [default: 250M, 30M with TDES]
    #[arg(long, value_parser = parse_size)]
    pub size: Option<u64>,
    /// Copies of every row on every side; rows of more than a minute get 3 [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    /// How many small copies run at once
    #[arg(long, default_value_t = 8, value_name = "COPIES", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub at_once: u32,
    /// A rough answer within two minutes: today's ciphers and keys, 64 MB or less, 3 to 7 copies
    #[arg(long)]
    pub quick: bool,
    /// Write the report as JSON to FILE ("-": to standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write it as CSV to FILE
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write it as one self-contained page with charts to FILE
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Measure nothing: show and write again what an earlier run wrote by --json
    #[arg(long, value_name = "FILE", conflicts_with_all = ["part", "filter", "size", "runs", "quick"])]
    pub from: Option<PathBuf>,
    /// The module.
    #[command(flatten)]
    pub module: adjunct_survey::module::Args,
    /// The ssh client to use; scp and ssh-keygen are taken from beside it
    #[arg(long)]
    pub ssh: Option<PathBuf>,
    /// The sshd to use
    #[arg(long)]
    pub sshd: Option<PathBuf>,
}

impl Args {
    /// Whether this part is wanted.
    pub fn wants(&self, part: Part) -> bool {
        // A rough answer has old ciphers only where they are asked for.
        let old = self.quick && self.filter.is_empty() && part == Part::Figure7;
        if self.part.is_empty() { !old } else { self.part.contains(&part) }
    }

    /// Whether a row of this kind belongs to a rough answer, where one is wanted and nothing else was asked for.
    pub fn rough(&self, usual: bool) -> bool {
        usual || !self.quick || !self.filter.is_empty() || self.part.contains(&Part::Figure7)
    }
}

/// A part of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// TDES and AES with MD5, SHA-1 and SHA-2 MACs
    Figure7,
    /// Every cipher: tables 2, 3 and 4
    Tables,
    /// Small files by type of key: chapter 8
    Small,
}
