//! `adjunctd`: the daemon of the cards, and by its first argument a card's process.
#![forbid(unsafe_code)]

use adjunct_card::arguments::Arguments;

use adjunct_card::card::{self, Setup};
use adjunct_card::config::Limits;
use adjunct_card::daemon::{self, Options};
use adjunct_card::folder::Folder;
use adjunct_card::state::Shared;
use adjunct_card_protocol::crowd::Page;
use clap::Parser;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::ExitCode;

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
            // The words say it without the number.
            let line = error.to_string();
            eprintln!("adjunctd: {}", line.split(" (os error ").next().unwrap_or(&line));
            ExitCode::FAILURE
        }
    }
}

/// Runs a card: its link to the daemon is standard input, the file of the state standard output.
fn run_card(arguments: &[std::ffi::OsString]) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "a card's process is started by the daemon alone");
    let [folder, numbers @ ..] = arguments else { return Err(wrong()) };
    let numbers: Vec<usize> = numbers.iter().filter_map(|number| number.to_str()?.parse().ok()).collect();
    let [workers, waiting, connections, share, without_lanes] = numbers[..] else { return Err(wrong()) };
    let state = io::stdout().as_fd().try_clone_to_owned()?;
    let daemon = io::stdin().as_fd().try_clone_to_owned()?;
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    let (page, _) = Page::find(Path::new(folder))?;
    let limits = Limits { waiting, connections, share: share as u32 };
    let (state, without_lanes) = (Shared::map(&state)?, without_lanes != 0);
    card::run(Setup { state, page, daemon, workers, limits, without_lanes })
}
