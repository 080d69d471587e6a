//! `icainfo` and `icainfo-cex`: what this machine serves in hardware and in software. `adjunct info` says more of the same facts.

mod facts;
mod ica;

pub use facts::{Curve, Facts, FunctionFacts, LanesFacts};
pub use ica::{InfoReport, Library};

use adjunct::cpu;
use adjunct_tool::{Failure, output};
use clap::CommandFactory;
use std::process::ExitCode;

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

/// The part shown instead of the table of functions.
#[derive(Debug, clap::Args)]
#[group(id = "what", multiple = false)]
pub struct What {
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
    /// The part that is wanted of a library, or else what `functions` says of these facts.
    pub fn text(&self, facts: &Facts, library: Library, functions: impl Fn(&Facts, &InfoReport) -> String) -> String {
        let report = InfoReport::new(facts, library);
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
            output::print_json(&InfoReport::new(&facts, library))?;
        } else {
            output::print(&self.what.text(&facts, library, |_, report| report.functions()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
