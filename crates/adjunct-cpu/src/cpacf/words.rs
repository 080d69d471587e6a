//! CPACF's instructions as a word of capabilities, one bit each: what the dispatchers here read, for the CPU library uses no special
//! instructions on s390x.

use super::host::Host;
use crate::awslc::caps::WORDS;
use adjunct_kernels::cpacf::{Functions, Instruction};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

static PRESENT: LazyLock<AtomicU32> = LazyLock::new(|| {
    let host: Host = Default::default();
    let functions = Functions::of(&host);
    let useful = |instruction: &Instruction| functions.query(*instruction).codes().any(|code| code != 0);
    AtomicU32::new(Instruction::ALL.iter().filter(|i| useful(i)).map(|i| 1 << *i as u32).sum())
});

/// The instructions now in force.
pub fn read() -> [u32; WORDS] {
    [PRESENT.load(Ordering::Relaxed), 0, 0, 0, 0]
}

/// Clears bits of the word; there is only word 0.
pub fn clear(word: usize, bits: u32) {
    debug_assert_eq!(word, 0);
    PRESENT.fetch_and(!bits, Ordering::Relaxed);
}
