//! libep11's interface (host library 4.2): what programs call that work with the secure keys of EP11 coprocessors.
//!
//! [`abi`] is the foreign layer: pointers and lengths become slices, C's structures become messages ([`adjunct_ep11_wire`]), errors become return values; no
//! panic leaves it. The modules beside it are the logic, in safe Rust: [`targets`] knows which domains a call may go to, [`library`] sends it to one
//! ([`transport`]), [`forms`] turns blobs into what a program on this machine reads, [`info`] answers queries, [`admin`] makes and reads blocks of administration.
//!
//! No key is here: whatever is secret is a card's, and passes as a blob. No thread is started. A child of fork has the targets of its parent and makes connections
//! of its own.
#![allow(non_snake_case, reason = "the functions have the names that programs know")]

pub mod abi;
pub mod admin;
pub mod error;
pub mod forms;
pub mod info;
pub mod library;
pub mod targets;
pub mod template;
pub mod transport;
