//! What commands share: failures in a line, output, questions, files, the processes that they start, progress, and interrupts.
//!
//! Commands print reports by [`output::print`], and return errors as a [`Failure`].
#![forbid(unsafe_code)]

pub mod ask;
pub mod escape;
pub mod failure;
pub mod files;
pub mod getopt;
pub mod interrupt;
pub mod output;
pub mod page;
pub mod process;
pub mod progress;
pub mod scratch;
pub mod sink;
pub mod state;

pub use failure::Failure;
