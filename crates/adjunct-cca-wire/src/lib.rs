//! What programs and a CCA coprocessor say to each other.
//!
//! * [`verb`]: the verbs, each with the shape of its parameters: the one table that the C interface, requests and replies are read and written by.
//! * [`message`]: requests and replies.
//! * [`code`]: return and reason codes.
#![forbid(unsafe_code)]

pub mod code;
pub mod message;
pub mod verb;
