//! Cards as tools see them, and what is asked of their daemon. Nothing here runs a card.
//!
//! * [`machine`]: the cards as tools show them.
//! * [`state`]: the file that shows them.
//! * [`control`]: what tools ask of the daemon.
//! * [`folder`]: where all this is.
//! * [`config`]: which cards there are.
//! * [`arguments`]: the daemon's command line.

pub mod arguments;
pub mod config;
pub mod control;
pub mod coprocessor;
mod figures;
pub mod folder;
pub mod machine;
pub mod state;
