//! The core of adjunct: which functions exist, what serves each of them on this machine, and who has used what.
//!
//! * [`catalogue`]: every countable function (a row of `icainfo` and `icastats`), the instructions that make it hardware, and the
//!   words for what ran it.
//! * [`ops`]: the operations that interfaces call.
//! * `adapter`: what runs them: the CPU, and the lanes (batches of several threads' public-key operations). Not public.
//! * [`counters`]: calls and bytes per user and function, shared by all processes.
//! * [`memory`]: boxes and buffers whose allocation may fail.
//! * [`thread`]: values that end with a thread.
//! * [`fork`]: which process along a line of forks this is.
//! * [`lock`]: a lock that is open in a child of fork.
//! * `clock`: the time, and a thread's CPU time. Not public.
//! * [`config`]: the `algorithms =` keywords.
//! * [`sandbox`]: whether a filter of system calls is in force.
//! * `unwind`: where a panic finds how to unwind a function. Not public.
//! * [`slab`]: values that have numbers.

// The wall: interfaces see operations and nothing below. Benchmarks and the core's own tests, which compare and probe, ask for more.
#[cfg(feature = "internals")]
pub mod adapter;
#[cfg(not(feature = "internals"))]
#[allow(dead_code)]
mod adapter;
pub mod catalogue;

/// Cards, for adjunctd: the page that says how crowded the machine is, what programs and cards say to each other, and the work of a card.
pub mod card {
    pub use crate::adapter::card::{SOCKET, SYSTEM, crowd, wire, work};
}

mod clock;
pub mod config;
pub mod counters;
pub mod diag;
pub mod environment;
pub mod error;
pub mod file_lock;
mod floats;
pub mod fork;
pub mod lock;
pub mod memory;
pub mod ops;
pub mod sandbox;
pub mod slab;
pub mod stack;
pub mod thread;
mod unwind;

pub use adjunct_kernels::{InOut, opaque_debug, wipe};
pub use error::Error;

/// The CPU, for reports and for tests: its name, the instructions it has, and the mask of `ADJUNCT_CPU`.
pub mod cpu {
    pub use crate::adapter::cpu::{
        Features, RsaLanes, batches_only, features, mask_all_but_batches, model_name, msa_level, parse_mask, rsa_lanes,
    };
}

/// The version of libica whose interface and tools are served.
pub const LIBICA_VERSION: [u32; 3] = [4, 4, 0];

/// Prepares the process: CPU library, CPU mask, random generator, counters. Cheap, idempotent, never fails: what cannot
/// be had (counters, an unreadable mask) costs one warning and the work goes on.
///
/// Called when a module is loaded, before any sandbox closes; after it, only memory is touched.
pub fn init() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        sandbox::prime();
        cpu::features();
        adapter::cpu::awslc::prime();
        counters::open();
        adapter::lanes::prime();
        adapter::card::prime();
    });
}
