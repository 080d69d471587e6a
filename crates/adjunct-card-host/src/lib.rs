//! What runs cards: adjunctd, and the host of a card's process. What a card does for programs is a service's ([`service`]); a program with a table of
//! services is an adjunctd ([`run`]).
//!
//! * [`service`]: what a service says of itself, and what it is asked.
//! * [`daemon`]: adjunctd. It holds what is configured and counted, no keys, and hands connections of programs to cards.
//! * [`process`]: a card's process, whatever its service.
//! * [`link`]: what both say to each other.
//! * [`peer`]: the user at the other side of a connection.

pub mod daemon;
pub mod link;
pub mod peer;
pub mod process;
pub mod service;
mod watch;

use adjunct_card_state::arguments::Arguments;
use clap::Parser as _;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use service::Entry;
use std::process::ExitCode;

/// Has the system end this process when its parent ends; whether that is the process of this number still.
fn ends_with(parent: i32) -> bool {
    let asked = set_parent_process_death_signal(Some(Signal::TERM));
    asked.is_ok() && getppid().map(Pid::as_raw_nonzero).is_some_and(|pid| pid.get() == parent)
}

/// Runs adjunctd with these services, or by its first argument a card's process of one of them.
pub fn run(services: &'static [Entry]) -> ExitCode {
    let mut arguments = std::env::args_os();
    let done = match arguments.nth(1) {
        Some(first) if first == daemon::CARD => process::start(services, &arguments.collect::<Vec<_>>()),
        _ => {
            let arguments = Arguments::parse();
            let folder = arguments.folder();
            if arguments.prepare {
                daemon::prepare(&folder)
            } else if !arguments.parent.is_none_or(ends_with) {
                // It has ended already.
                Ok(())
            } else {
                daemon::run(daemon::Options { folder, config: arguments.config, files: arguments.files, services })
            }
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The words say it without the number.
            let line = error.to_string();
            eprintln!("adjunctd: {}", line.split(" (os error ").next().unwrap_or(&line));
            ExitCode::FAILURE
        }
    }
}
