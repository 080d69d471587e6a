//! What coprocessors of secure keys share, whatever their mode (EP11, CCA).
//!
//! * [`state`], [`registers`], [`mod@unit`], [`control`]: domains with their master keys, and what administrators rule: control points, attributes,
//!   administrators.
//! * [`keeper`]: the state as the card's threads read and change it: a change is on disk before it is answered, and in the audit log.
//! * [`vault`], [`seal`]: the state, encrypted in one file that is whole after each crash; what opens it: a TPM, a credential of systemd's, a passphrase, or
//!   nothing, where there is no file.
//! * [`audit`]: who did what, in a file whose lines are a chain.
//! * [`roles`]: who may load and set master keys.
//! * [`cache`]: keys that were made ready, by their blobs.
//!
//! Nothing here opens a file by its name: a card's process is given descriptors before it gives up the system calls for that. [`CALLS`] is what a filter of
//! system calls has to let pass afterwards.
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

/// The system calls that are made here, beside those of memory, threads, clocks and randomness: to open a vault and an audit log whose descriptors are there, to change
/// them, and to speak to a TPM.
pub const CALLS: &[libc::c_long] = &[
    libc::SYS_flock,
    libc::SYS_pread64,
    libc::SYS_read,
    libc::SYS_lseek,
    libc::SYS_pwrite64,
    libc::SYS_write,
    libc::SYS_fallocate,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    // A TPM in software, and a wait for a TPM that has no time.
    libc::SYS_sendto,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
];
