//! What everybody of adjunct stands on. It knows no operation and no adapter.
//!
//! * [`catalogue`]: every countable function (a row of `icainfo` and `icastats`), the instructions that make it hardware, and the
//!   words for what ran it.
//! * [`counters`]: calls and bytes per user and function, shared by all processes.
//! * [`registry`]: which adapters of this process take operations.
//! * [`config`]: the `algorithms =` keywords and other settings.
//! * [`memory`]: boxes and buffers that may not be had.
//! * [`slab`]: values that have numbers.
//! * [`thread`]: what ends with a thread.
//! * [`stack`]: a stack of the process's own, for what needs more than its caller has.
//! * [`fork`]: which process along a line of forks this is.
//! * [`lock`], [`file_lock`]: a lock that a fork opens, and one that processes share.
//! * [`clock`]: the time, and a thread's CPU time.
//! * [`sandbox`]: whether a filter of system calls is in force.
//! * [`environment`], [`diag`]: variables that may be trusted, and one line to the administrator.
//! * `unwind`: where a panic finds how to unwind a function.

pub mod catalogue;
pub mod clock;
pub mod config;
pub mod counters;
pub mod diag;
pub mod environment;
pub mod error;
pub mod file_lock;
pub mod fork;
pub mod lock;
pub mod memory;
pub mod registry;
pub mod sandbox;
pub mod slab;
pub mod stack;
pub mod thread;
mod unwind;

pub use error::Error;
