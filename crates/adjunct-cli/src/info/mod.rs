//! `adjunct info`, `icainfo` and `icainfo-cex`: what this machine serves in hardware, by which instructions, and where software
//! comes from.

mod facts;
mod ica;
pub(crate) mod measured;
mod pays;
mod table;

pub use facts::{Curve, Facts, FunctionFacts};
pub use ica::Library;
use ica::Report;
pub use measured::Measured;
pub use pays::Pays;

use adjunct::cpu;
use adjunct_tool::{Failure, output};
use clap::CommandFactory;
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

const OF_Z: &str = "\
Static hardware is the processor's own instructions; dynamic hardware are batches of several threads' operations, which stand for \
a card and are formed with ADJUNCT_ACCELERATOR=always. LIBICA_FALLBACK_MODE is heeded.

Exit status: 0 done, 1 it failed or the command line is wrong, as on IBM Z.

See also: adjunct info.";

const OF_CARDS: &str = "\
libica-cex uses no instructions of the processor but those of batches of several threads' operations, which stand for a card: they \
are its dynamic hardware, formed with ADJUNCT_ACCELERATOR=always, and there is no static one. LIBICA_FALLBACK_MODE is heeded.

Exit status: 0 done, 1 it failed or the command line is wrong, as on IBM Z.

See also: adjunct info.";

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

/// The part shown instead of the table of functions.
#[derive(Debug, clap::Args)]
#[group(id = "what", multiple = false)]
struct What {
    /// List supported EC curves
    #[arg(short = 'c', long)]
    list_curves: bool,
    /// List supported RSA key lengths
    #[arg(short = 'r', long)]
    list_rsa: bool,
    /// Show fips exception list
    #[arg(short = 'f', long)]
    list_fips_exceptions: bool,
}

impl What {
    fn text(&self, facts: &Facts, library: Library, functions: impl Fn(&Facts, &Report) -> String) -> String {
        let report = Report::new(facts, library);
        if self.list_curves {
            report.curves()
        } else if self.list_rsa {
            report.rsa()
        } else if self.list_fips_exceptions {
            ica::EXCEPTIONS.to_owned()
        } else {
            functions(facts, &report)
        }
    }
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
        let text = |facts: &Facts, _: &Report| table::render(facts, style) + "\n" + &pays.text(style);
        output::print(&args.what.text(&facts, Library::OpenSsl, text))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Display a list of all cryptographic functions that adjunct supports on this system, in hardware and in software
#[derive(Debug, clap::Parser)]
#[command(name = "icainfo", version, disable_version_flag = true, after_help = OF_Z)]
pub struct IcaInfo {
    #[command(flatten)]
    what: What,
    /// Machine-readable report of everything
    #[arg(short, long, conflicts_with = "what")]
    json: bool,
    /// Show version information
    #[arg(short, long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

impl IcaInfo {
    /// The command line of `icainfo-cex`: that of `icainfo`, about another library.
    pub fn command_of_cex() -> clap::Command {
        let about = "Display a list of all cryptographic functions that libica-cex supports on this system, on cards and in software";
        IcaInfo::command().name("icainfo-cex").about(about).after_help(OF_CARDS)
    }

    /// Runs `icainfo` about this library, before any other code asks for the processor's functions.
    ///
    /// # Errors
    /// [`Failure`] where standard output cannot be written.
    pub fn run(&self, library: Library) -> Result<ExitCode, Failure> {
        if library == Library::IcaCex {
            cpu::mask_all_but_batches();
        }
        let facts = Facts::of_this_machine();
        if self.json {
            output::print_json(&Report::new(&facts, library))?;
        } else {
            output::print(&self.what.text(&facts, library, |_, report| report.functions()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
