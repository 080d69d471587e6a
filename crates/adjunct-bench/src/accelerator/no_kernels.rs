//! Architectures without lanes have no kernels to measure.

use super::library::Key;
use super::subject::Function;
use crate::measure::Work;

/// Jobs of a call.
pub const LANES: usize = 8;

/// A kernel with its full batch.
#[derive(Debug)]
pub struct Kernel {
    /// IFMA instructions of a call.
    pub instructions: Option<u64>,
    /// A call of the kernel.
    pub work: Work,
}

/// No kernel: this architecture has none with lanes.
pub fn kernel(_: Function, _: Option<&Key>) -> Option<Kernel> {
    None
}
