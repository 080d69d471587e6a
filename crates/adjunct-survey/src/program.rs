//! What is known of one program.

use super::cause::Cause;
use super::judge::{Calls, Gets, Rights, Verdict};
use serde::Serialize;
use std::path::PathBuf;

/// A program, or a plugin that programs load when they need it, that uses OpenSSL.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Other names of the program.
    pub names: Vec<PathBuf>,
    /// Whether it is a plugin: programs load it when they need it, and get what it gets.
    pub plugin: bool,
    /// Its libcrypto; none where OpenSSL is part of the program.
    pub libcrypto: Option<PathBuf>,
    /// The version of its OpenSSL.
    pub version: Option<String>,
    /// The library that brought libcrypto, where the program does not ask for it itself.
    pub through: Option<String>,
    /// The configuration it reads.
    pub config: Option<PathBuf>,
    /// The rights with which the program runs.
    pub rights: Rights,
    /// The part of adjunct that the program gets now.
    pub gets: Gets,
    /// Why the program gets neither, or why that cannot be told, in a word.
    pub cause: Option<Cause>,
    /// The part of adjunct that the program would get from a configuration with provider and engine.
    pub could_get: Gets,
    /// Whether and why the provider.
    pub provider: Verdict,
    /// Whether and why the engine.
    pub engine: Verdict,
    /// Low-level functions it calls that only the engine can serve.
    pub engine_calls: Vec<Calls>,
    /// Low-level functions it calls that neither can serve.
    pub bypasses: Vec<Calls>,
    /// Notes, one line each.
    pub notes: Vec<String>,
    /// The processes that run it.
    pub processes: Vec<Running>,
}

/// A process that has OpenSSL in its memory.
#[derive(Debug, Clone, Serialize)]
pub struct Running {
    /// Its number.
    pub pid: u32,
    /// The user it runs as.
    pub uid: u32,
    /// Whether adjunct is in its memory.
    pub loaded: bool,
    /// Why the process is to be started again; `None` where that changes nothing.
    pub restart: Option<&'static str>,
}
