//! The core of adjunct: the operations that interfaces call, and what they may know of what runs them.
//!
//! * [`ops`]: the operations.
//! * [`cpu`]: the CPU's name and instructions.
//! * [`card`]: the work of a card, for its process.
//! * [`catalogue`], [`counters`], [`config`] and the rest of what everybody stands on: `adjunct-base`'s.

#![forbid(unsafe_code)]

pub mod card;
pub mod ops;

pub use adjunct_base::{
    Error, catalogue, config, diag, environment, error, file_lock, fork, lock, memory, sandbox, slab, stack, thread,
};
pub use adjunct_kernels::{InOut, opaque_debug, wipe};

/// The counters, as far as interfaces and tools have to do with them: whose calls are counted, and reading. Operations count themselves.
pub mod counters {
    pub use adjunct_base::counters::{
        Apart, Cell, Counts, Lanes, SEGMENT_SIZE, Slot, SlotPlace, Snapshot, Strength, Use, attached, attribute,
        attribute_now, count_use, delete, delete_uses, key, obstacles, open, open_uses, read, reads_all, remarks,
        reset, reset_uses, slots, switch, take, users, users_of_uses, uses,
    };
}

/// The CPU, for reports and for tests: its name, the instructions it has, and the mask of `ADJUNCT_CPU`.
pub mod cpu {
    pub use adjunct_cpu::{
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
        adjunct_cpu::prime();
        counters::open();
        adjunct_lanes::prime();
        adjunct_card_protocol::prime();
    });
}
