//! `adjunct openssl`: lets OpenSSL, and with it OpenSSH, use adjunct, by an edit of openssl.cnf that is checked before it
//! stays and can be taken back byte for byte.

pub mod check;
pub mod file;
pub mod programs;

mod change;
mod explain;
mod includes;
mod module;
mod report;
mod status;
pub mod users;

pub(crate) use includes::FromDisk;

use crate::Failure;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct openssl enable --dry-run     show the change of the system's openssl.cnf, make none
  sudo adjunct openssl enable          change it, check it, keep a backup
  adjunct openssl status               whether it is in force, and what is off
  sudo adjunct openssl disable         take it back, byte for byte
  adjunct openssl enable --config my.cnf && OPENSSL_CONF=$PWD/my.cnf ssh HOST      only for this ssh

enable adds one block at the end of the file and touches nothing else. It makes sure that OpenSSL's default provider stays
active, that adjunct is preferred and never required, and that OpenSSL's own random generator does not use it. Then it
checks that the module loads, that ssh and sshd accept the configuration, and that a login over loopback works; if one of
these fails that worked before, the file is put back. Where a file cannot be edited safely it is left alone. What the checks
encrypt and hash counts in the statistics like any other use.

Exit status: 0 done (status: in force), 1 it failed, 2 the command line is wrong, 3 (status only) not enabled.";

/// Let OpenSSL and OpenSSH use adjunct, take that back, or show whether they do
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add adjunct to openssl.cnf, check that everything works, and put the file back if not
    Enable(EnableArgs),
    /// Take adjunct out of openssl.cnf again, byte for byte
    Disable(DisableArgs),
    /// Show whether adjunct is in force, its module, the versions, and what is off
    Status(StatusArgs),
}

/// The options of `enable`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EnableArgs {
    #[command(flatten)]
    common: Common,
    /// The provider module; by default the one beside this program or in OpenSSL's modules folder
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// What adjunct offers: ALL, or any of RSA, EC, CIPHERS, DIGESTS, MACS, RAND, ECB, separated by commas
    #[arg(long, value_name = "LIST")]
    algorithms: Option<String>,
    #[command(flatten)]
    consent: Consent,
}

/// The options of `disable`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DisableArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    consent: Consent,
}

/// The options of `status`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArgs {
    #[command(flatten)]
    common: Common,
    /// Show each program by itself: what it gets and why, what bypasses adjunct, which processes run it
    #[arg(long)]
    programs: bool,
    /// Show this program (or plugin) alone; a name is looked for in PATH
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
}

#[derive(Debug, Clone, clap::Args)]
struct Common {
    /// The configuration file; by default the system's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Machine-readable report
    #[arg(short, long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::Args)]
struct Consent {
    /// Show the change and make none
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask; without a terminal nothing is asked either
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
}

/// What to know where `OPENSSL_CONF` leads programs started from here to another file than `config`.
fn elsewhere(config: &std::path::Path) -> Option<String> {
    let other = std::env::var_os("OPENSSL_CONF").filter(|v| !v.is_empty()).map(PathBuf::from)?;
    if std::fs::canonicalize(&other).is_ok_and(|o| o == config) {
        return None;
    }
    let (other, config) = (other.display(), config.display());
    Some(format!("OPENSSL_CONF is {other} here: programs started from here do not read {config}"))
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Enable(args) => change::enable(args),
        Command::Disable(args) => change::disable(args),
        Command::Status(args) => status::run(args),
    }
}

impl Common {
    /// The file the command line is about.
    fn config(&self) -> Result<PathBuf, Failure> {
        match &self.config {
            Some(path) => Ok(path.clone()),
            None => Ok(programs::openssl_dir()?.join("openssl.cnf")),
        }
    }
}
