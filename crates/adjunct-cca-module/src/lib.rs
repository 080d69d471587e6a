//! What a CCA coprocessor does with a request: on Z the firmware of the card.
//!
//! There are no sockets, processes and files here.
//!
//! * [`token`]: key tokens. [`vector`], [`wrap`], [`aeskw`]: what binds a key to its use, and how keys are wrapped. [`pattern`]: verification patterns. [`des`]: DES
//!   with keys of one to three parts.
#![forbid(unsafe_code)]

pub mod aeskw;
pub mod des;
pub mod error;
pub mod pattern;
pub mod token;
pub mod vector;
pub mod wrap;
