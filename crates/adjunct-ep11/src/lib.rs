//! libep11's interface (host library 4.2): what programs call that work with the secure keys of EP11 coprocessors.
//!
//! [`abi`] is the foreign layer: pointers and lengths become slices, C's structures become messages ([`adjunct_ep11_wire`]), errors become return values; no
//! panic leaves it. What GREP11's server does with a request too is in [`adjunct_ep11_client`]: which domains a call may go to, and how it gets to one. The modules
//! here are the rest of the logic, in safe Rust: [`forms`] turns blobs into what a program on this machine reads, [`info`] answers queries, [`admin`] makes and reads blocks of administration.
//!
//! No key is here: whatever is secret is a card's, and passes as a blob. No thread is started. A child of fork has the targets of its parent and makes connections
//! of its own.
#![allow(non_snake_case, reason = "the functions have the names that programs know")]

pub mod abi;
pub mod admin;
pub mod error;
pub mod forms;
pub mod info;

pub use adjunct_ep11_client::{library, targets, template, transport};
