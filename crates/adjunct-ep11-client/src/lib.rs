//! What programs' interfaces to EP11 coprocessors share: libep11's functions and GREP11's server.
//!
//! [`targets`] knows which domains a call may go to, [`library`] sends it to one ([`transport`]) and takes another where that one has gone, [`template`] knows
//! the attributes, [`error`] has the return value.
//!
//! No key is here: whatever is secret is a card's, and passes as a blob. No thread is started. A child of fork has the targets of its parent and makes
//! connections of its own.
#![forbid(unsafe_code)]

pub mod error;
pub mod library;
pub mod targets;
pub mod template;
pub mod transport;
