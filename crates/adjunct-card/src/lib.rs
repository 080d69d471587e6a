//! The services of adjunctd: what its cards do for programs. What runs them is `adjunct-card-host`.
#![forbid(unsafe_code)]

pub mod accelerator;

use accelerator::Accelerator;
use adjunct_card_host::service::Entry;

/// The services of this adjunctd.
pub static SERVICES: [Entry; 1] = [Entry::of::<Accelerator>()];
