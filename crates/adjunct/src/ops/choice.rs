//! What of this machine's hardware serves a function, for reports: of the CPU, its batches and cards.

pub use adjunct_cpu::choice::{instructions, path};

use adjunct_base::catalogue::{Arch, Function, HERE, Path};
use adjunct_cpu::choice::{has_lanes_of_its_own, lacking};
use adjunct_lanes as lanes;

/// Takes the settings of the environment into account, in a process that only asks and never sets the core up.
pub fn from_environment() {
    lanes::from_environment();
}

/// The parts of this machine's hardware that serve a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    /// Dedicated instructions, one operation at a time: *static* in the tables of the Z tools.
    pub instructions: bool,
    /// A card; or batches of several threads' operations, which stand for one: *dynamic* there. Batches only where the configuration asks for
    /// them; and where nothing but a card is hardware, what the instructions of batches do alone, too.
    pub batches: bool,
    /// Batches of asynchronous jobs' operations.
    pub jobs: bool,
}

/// The hardware that serves `function` with a key of `bits` (0: of any size) on this machine.
pub fn served(function: Function, bits: usize) -> Served {
    let batches = function.batch_instructions(bits);
    let (path, only) = (path(function, bits), adjunct_cpu::batches_only());
    let on_card =
        function == Function::RsaCrt && matches!(bits, 0 | 2048 | 3072 | 4096) && adjunct_card_protocol::online();
    let there = lacking(batches).is_none() || has_lanes_of_its_own(function, bits);
    let in_lanes = HERE == Some(Arch::X86) && !batches.is_empty() && there;
    Served {
        instructions: path == Path::Hardware && !only,
        batches: in_lanes && (lanes::of_threads() || on_card) || only && path == Path::Hardware,
        jobs: in_lanes && lanes::on(),
    }
}
