//! Batches of public-key operations, as far as interfaces have to do with them: their setting, and callers that can pause.

pub use adjunct_lanes::pause::{Held, Pause, install};
pub use adjunct_lanes::{available, configure, configure_for_all, for_curves};
