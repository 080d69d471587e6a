//! Cards: adapters in processes of their own, which all programs of the machine share.
//!
//! * [`machine`]: the cards as tools show them.
//! * [`state`]: the file that shows them.
//! * [`control`]: what tools ask of the daemon.
//! * [`folder`]: where all this is.

pub mod control;
pub mod folder;
pub mod machine;
pub mod state;
