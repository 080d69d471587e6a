//! The machine's programs, and what serves them: of each that uses OpenSSL, whether it gets the provider, the engine, or neither.
//!
//! Read from the files, as the dynamic loader reads them (nothing is started), and from /proc for what runs.
//!
//! * `find`: the files that may be programs. `elf`: what one file asks for and calls. `functions`: what a call means.
//! * `loader`: which files a program is made of, with `ld_cache`.
//! * `constants`: versions in the text of a file. `libcrypto`: the copies of OpenSSL and the configurations they read, with `includes`.
//! * `inspect`: one file looked at, `program`: what is known of it then. `survey`: all of them.
//! * `judge`: what it gets. `cause`: its reason in a word. `process`: what runs, with `maps`. `table`: the report for people.
//! * `served`: whether a program is served, in one sentence.
//! * `module`: adjunct's own modules and programs, looked at before anybody loads them. `programs`: the `openssl` program, asked.
//!   `providers`: provider modules of others.
#![forbid(unsafe_code)]

mod cause;
mod constants;
pub mod elf;
mod find;
mod functions;
mod includes;
mod inspect;
pub mod judge;
mod ld_cache;
mod libcrypto;
mod loader;
pub mod maps;
pub mod module;
pub mod process;
mod program;
pub mod programs;
pub mod providers;
pub mod served;
mod survey;
mod table;
pub mod trust;

#[cfg(test)]
mod tests;

pub use cause::Cause;
pub use includes::FromDisk;
pub use inspect::{Inspector, Made};
pub use judge::{Calls, Gets, Rights, Verdict};
pub use program::{Program, Running};
pub use survey::{Survey, locate, survey};
pub use table::{Detail, text};

use std::path::PathBuf;
use std::time::SystemTime;

/// The provider and engine that a configuration gives to a program that reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// The provider is in force.
    pub provider: bool,
    /// The groups that the engine serves: flags of [`adjunct::config::engine_methods`].
    pub engine: u32,
    /// Node gets the provider: the section that Node reads names it, too.
    pub node: bool,
}

impl Given {
    /// The result of a provider that is in force or not, and of the engine that its section's `engine` line asks for.
    pub fn provider(in_force: bool, engine: Option<&str>) -> Given {
        let engine = engine.filter(|_| in_force).map_or(0, |words| adjunct::config::engine(words).0);
        Given { provider: in_force, engine, node: false }
    }

    /// The provider and engine that `enable` gives by default.
    fn usual() -> Given {
        Given { node: true, ..Given::provider(true, Some("auto")) }
    }
}

/// A program that is started with a configuration of its own.
#[derive(Debug, Clone)]
pub struct Own {
    /// The program, without symbolic links.
    pub program: PathBuf,
    /// Its configuration.
    pub config: PathBuf,
    /// The provider and engine that this gives.
    pub given: Given,
}

/// Where programs and processes are looked for.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Folder below which files are looked for; `None`: the whole machine.
    pub below: Option<PathBuf>,
    /// The kernel's file system of processes.
    pub proc: PathBuf,
}

/// Which programs read which configuration, and what it gives.
#[derive(Debug, Clone)]
pub struct Reach {
    /// The configuration the question is about, without symbolic links.
    pub config: PathBuf,
    /// The provider and engine that the configuration gives.
    pub given: Given,
    /// Whether programs read it only when `OPENSSL_CONF` says so.
    pub by_environment: bool,
    /// Programs that are started with another one.
    pub own: Vec<Own>,
    /// adjunct's modules.
    pub modules: Vec<PathBuf>,
    /// Time since which the configuration is as it is: what was started before has not read it.
    pub since: Option<SystemTime>,
}

/// Runs the parsers of this part on any bytes, for fuzzing: an ELF file, a loader's cache, /proc's files.
pub fn parse_anything(bytes: &[u8]) {
    if let Ok(elf) = elf::read(&bytes) {
        let _ = constants::search(&bytes, &elf.constants);
    }
    let _ = ld_cache::parse(bytes);
    let _ = maps::mapped(bytes, &[]);
    let _ = process::start_ticks(bytes);
}
