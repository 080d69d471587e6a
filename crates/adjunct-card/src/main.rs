//! `adjunctd`: the daemon of the cards, and by its first argument a card's process.
#![forbid(unsafe_code)]

use adjunct::card::crowd::Page;
use adjunct_card::card::pending::Limits;
use adjunct_card::card::{self, Setup};
use adjunct_card::daemon::{self, Options};
use adjunct_card::folder::{Folder, SYSTEM, VARIABLE};
use adjunct_card::state::Shared;
use clap::Parser;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the cards that programs of this machine share: adapters in processes of their own, which do private-key operations of many programs
/// in batches
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
By systemd: `adjunct cards enable` starts it. By hand, without root:

    adjunctd --folder $XDG_RUNTIME_DIR/adjunct &
    ADJUNCT_CARDS_DIR=$XDG_RUNTIME_DIR/adjunct lszcrypt -V

Programs ask it that are started afterwards, by the same user or with ADJUNCT_CARDS_DIR set. It ends at SIGTERM and SIGINT, when the cards
have finished what they work on."
)]
struct Arguments {
    /// Where its sockets and its state are
    #[arg(long, value_name = "DIR", env = VARIABLE, default_value = SYSTEM)]
    folder: PathBuf,
    /// Which cards there are [default: /etc/adjunct/cards.conf; without it one accelerator]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only make the shared memory by which programs see how crowded the machine is: what a service does as root before it starts the
    /// daemon as another user
    #[arg(long)]
    prepare: bool,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let run = match arguments.nth(1) {
        Some(first) if first == daemon::CARD => {
            let rest: Vec<_> = arguments.collect();
            adjunct::init();
            run_card(&rest)
        }
        _ => {
            let arguments = Arguments::parse();
            let folder = Folder::at(arguments.folder);
            if arguments.prepare {
                daemon::prepare(&folder)
            } else {
                daemon::run(Options { folder, config: arguments.config })
            }
        }
    };
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("adjunctd: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A card: its link to the daemon is standard input, the file of the state standard output.
fn run_card(arguments: &[std::ffi::OsString]) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "a card's process is started by the daemon alone");
    let [folder, numbers @ ..] = arguments else { return Err(wrong()) };
    let numbers: Vec<usize> = numbers.iter().filter_map(|number| number.to_str()?.parse().ok()).collect();
    let [workers, waiting, share] = numbers[..] else { return Err(wrong()) };
    let state = io::stdout().as_fd().try_clone_to_owned()?;
    let daemon = io::stdin().as_fd().try_clone_to_owned()?;
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let (page, _) = Page::find(Path::new(folder))?;
    let limits = Limits { waiting, share: share as u32 };
    card::run(Setup { state: Shared::map(&state)?, page, daemon, workers, limits })
}
