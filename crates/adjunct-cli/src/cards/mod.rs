//! Cards: `adjunct cards`. The tools that administrators of IBM Z know them by are in the crate `adjunct-ztools`.
//!
//! They read the state that adjunctd and its card processes keep in shared memory; adjunctd makes changes at their request.

mod audit;
pub(crate) mod coprocessor;
mod enabled;
mod service;
pub(crate) mod serving;
mod status;
mod sysfs;

use adjunct_tool::Failure;
use adjunct_ztools::cards::lszcrypt;
use adjunct_ztools::cards::tool::{Tool, UNAVAILABLE, ended};
use std::path::PathBuf;
use std::process::ExitCode;

const TOOL: Tool = Tool("adjunct");
const EXAMPLES: &str = "\
Cards are processes of adjunctd that do private-key operations for all programs of the machine in batches. The tools of IBM Z work on them: \
lszcrypt shows them, chzcrypt takes them on and off, zcryptstats measures them, zcryptctl gives containers some of them.

Examples:
  sudo adjunct cards enable          starts them, now and at each start of the machine
  adjunct cards status               whether there are any, and what they did
  adjunct cards list                 each card and domain, with its counts
  adjunct cards sysfs /run/ap        what IBM's own tools and other programs read, as files
  sudo adjunct cards enable --ep11   with a coprocessor for secure keys
  sudo adjunct cards audit show      what was done on it
  sudo chzcrypt -d 00                takes card 00 offline; nothing fails

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.";

/// Cards that all programs of the machine share
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(List),
    Status(status::Args),
    Sysfs(sysfs::Args),
    Enable(service::Enable),
    Disable(service::Disable),
    Unlock(coprocessor::Unlock),
    Audit(audit::Args),
}

/// Show the cards and their domains
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The table is that of lszcrypt -V, whose manual explains its columns.

Examples:
  adjunct cards list                          each card and domain
  adjunct cards list --json | jq .devices     the same for programs")]
struct List {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::List(List { json }) => {
            ended(TOOL.machine(UNAVAILABLE).and_then(|machine| lszcrypt::list(TOOL, &machine, *json)))
        }
        Command::Status(args) => status::run(args),
        Command::Sysfs(args) => sysfs::run(args),
        Command::Enable(args) => service::enable(args),
        Command::Disable(args) => service::disable(args),
        Command::Unlock(args) => coprocessor::unlock(args),
        Command::Audit(args) => audit::run(args),
    }
}

/// A failure with the file it is about.
fn failed(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let path: PathBuf = path.into();
    Failure::new(format!("{}: {}", adjunct_tool::escape::shown(&path), adjunct_tool::failure::cause(error)))
}
