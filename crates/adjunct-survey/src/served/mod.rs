//! Whether a program is served, and if not why and what to do, in one sentence.
//!
//! * `programs`: a program that is started now, with `script` and `plugins`. `known`: well-known ones that are installed.
//! * `verdict`: the sentence. `outdated`: what is to be started again. `text`: both for people.

mod known;
mod outdated;
mod plugins;
mod programs;
mod script;
pub mod text;
mod verdict;

pub use known::known;
pub use outdated::{Outdated, Restarts, name, outdated};
pub use programs::{Judged, Programs};
pub use script::compiled;
pub use verdict::{State, Verdict};

use crate::Reach;

/// What is enabled on this machine, and who reads it.
#[derive(Debug)]
pub struct Standing {
    /// Whether adjunct is enabled for all programs.
    pub enabled: bool,
    /// Whether adjunct is in force for all programs.
    pub working: bool,
    /// Reasons why adjunct is not in force, one line each.
    pub problems: Vec<String>,
    /// Whether adjunct steps back in programs that bring a provider of their own.
    pub yields: bool,
    /// Which programs read which configuration.
    pub reach: Reach,
}
