//! What coprocessors of secure keys share, whatever their mode (EP11, CCA).
//!
//! * [`state`], [`registers`], [`unit`], [`control`]: domains with their master keys, and what administrators rule: control points, attributes,
//!   administrators.
//! * [`keeper`]: the state as the card's threads read and change it: a change is on disk before it is answered, and in the audit log.
//! * [`vault`], [`seal`]: the state, encrypted in one file that is whole after each crash; what opens it: a TPM, a credential of systemd's, a passphrase, or
//!   nothing, where there is no file.
//! * [`audit`]: who did what, in a file whose lines are a chain.
//! * [`roles`]: who may load and set master keys.
//! * [`cache`]: keys that were made ready, by their blobs.
//!
//! Nothing here opens a file by its name: a card's process is given descriptors before it gives up the system calls for that. What a filter of system calls must let
//! pass afterwards: `pwrite64`, `write`, `fdatasync`, `fallocate`, `lseek`, `ftruncate` and `clock_gettime` for changes and records; with a TPM also `read`,
//! `sendto` (a TPM on a socket) and `ppoll` or `poll`; and `pread64` and `flock` where the vault is opened only then, because a passphrase is waited for.
//!
//! Secrets are wiped before their memory is given back, and are in it once ([`registers::MasterKey`]); that the memory is locked and in no dump is the
//! process's to see to.
#![forbid(unsafe_code)]

pub mod audit;
pub mod cache;
pub mod control;
mod crypt;
mod fuzz;
pub mod keeper;
pub mod registers;
pub mod roles;
pub mod seal;
pub mod state;
pub mod unit;
pub mod vault;

pub use fuzz::fuzz;
