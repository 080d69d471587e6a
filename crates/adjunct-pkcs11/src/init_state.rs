//! Whether the module is initialized: what C_Initialize and C_Finalize change, and sessions look at.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// The state of initialization of a module, for as long as the process runs.
#[derive(Debug)]
pub struct InitState {
    /// Changes with each C_Initialize and C_Finalize; odd while the module is initialized.
    epoch: AtomicU64,
}

impl InitState {
    /// The state of a module that is initialized.
    pub const fn initialized() -> InitState {
        InitState { epoch: AtomicU64::new(1) }
    }

    /// Whether C_Initialize came last, and not C_Finalize.
    #[inline]
    pub fn is_initialized(&self) -> bool {
        self.epoch.load(Acquire) % 2 == 1
    }

    /// Initializes the module; `false` where it is initialized already, or another thread was first.
    pub fn initialize(&self) -> bool {
        self.change(0)
    }

    /// Finalizes the module; `false` where it is not initialized, or another thread was first.
    pub fn finalize(&self) -> bool {
        self.change(1)
    }

    fn change(&self, from: u64) -> bool {
        let epoch = self.epoch.load(Acquire);
        epoch % 2 == from && self.epoch.compare_exchange(epoch, epoch + 1, AcqRel, Acquire).is_ok()
    }

    /// A number that tells this module's sessions from those of other modules: its address.
    pub fn number(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}
