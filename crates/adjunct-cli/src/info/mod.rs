//! `adjunct info`: what this machine serves in hardware, by which instructions, and where software
//! comes from.

pub mod measured;
mod pays;
mod table;

pub use measured::Measured;
pub use pays::Pays;

use adjunct::cpu;
use adjunct_tool::{Failure, output};
use adjunct_ztools::info::{Facts, InfoReport, Library, What};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct info                       every function: hardware, by which instructions; software, from which library
  adjunct info --json | jq '.functions[] | select(.hardware) | .function'
  ADJUNCT_CPU=-vaes adjunct info     what would be left without VAES
  adjunct bench openssl --quick; adjunct info     whether it pays here, by what was measured here

The last lines say whether adjunct pays on this CPU: by the last run of 'adjunct bench openssl' with all rows, which is kept in
$XDG_STATE_HOME/adjunct (or ~/.local/state/adjunct), or a report named by --from; without one by what was measured on CPUs of its class.

'in batches' is hardware where several operations come at the same time, and software alone: operations of asynchronous jobs, and \
those of several threads where that was measured to be faster, or where ADJUNCT_ACCELERATOR=always, or accelerator = always in openssl.cnf \
(which is not read here), asks for it.";

/// Show what this machine serves in hardware, and whether that pays
///
/// Of every function: by which instructions, which library its software comes from, and below them what gains and what does not.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, version, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    what: What,
    /// Machine-readable report of everything
    #[arg(short, long, conflicts_with = "what")]
    json: bool,
    /// Say whether it pays by this report of 'adjunct bench openssl --json' of this machine
    #[arg(long, value_name = "FILE", conflicts_with = "what")]
    from: Option<PathBuf>,
    /// Show version information
    #[arg(short, long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// Runs `adjunct info`.
///
/// # Errors
/// [`Failure`] where standard output cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    /// The facts and what follows from them.
    #[derive(Serialize)]
    struct All<'a> {
        #[serde(flatten)]
        facts: &'a Facts,
        pays: &'a Pays,
    }
    let facts = Facts::of_this_machine();
    let pays = Pays::new(cpu::features(), measured::find(args.from.as_deref(), &facts.cpu)?);
    if args.json {
        output::print_json(&All { facts: &facts, pays: &pays })?;
    } else {
        let style = output::Style::of_stdout();
        let text = |facts: &Facts, _: &InfoReport| table::render(facts, style) + "\n" + &pays.text(style);
        output::print(&args.what.text(&facts, Library::OpenSsl, text))?;
    }
    Ok(ExitCode::SUCCESS)
}
