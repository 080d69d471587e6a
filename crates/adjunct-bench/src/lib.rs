//! What `adjunct bench` measures: adjunct beside OpenSSL through EVP, and AWS-LC and our kernels called directly; and the program that
//! measures it, `adjunct-bench`, which the command starts.
//!
//! * [`libcrypto`]: the libcrypto that is called, loaded at run time; [`symmetric`] and [`publickey`]: the operations that are measured with it.
//! * [`harness`]: what every measurement is run on; [`measure`]: timing of work; [`meter`]: the run's environment; [`units`]: the rates of the CPU's
//!   units.
//! * [`bulk`]: encryption of whole buffers, by the library and the kernels; [`accelerator`]: public-key operations of several threads; [`crew`]:
//!   those of several processes; [`handover`]: the least cost of handing an operation over to another thread.
//! * [`load`]: threads that do something again and again; [`pkcs11`]: modules of PKCS #11, and [`ep11`]: libep11, by their own calls.
//! * [`tls`]: clients that do TLS transactions with real servers.
//!
//! * [`command`]: the program's subcommands, with their reports. They call no library and no kernel themselves, and have no unsafe code.

#![allow(unsafe_code)]

pub mod accelerator;
pub mod bulk;
mod clock;
pub mod command;
pub mod crew;
pub mod ep11;
pub mod handover;
pub mod harness;
pub mod libcrypto;
pub mod load;
pub mod measure;
pub mod meter;
pub mod pkcs11;
pub mod publickey;
pub mod symmetric;
pub mod tls;
pub mod units;

use std::path::PathBuf;

/// Why nothing, or one row, could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no libcrypto, or it lacks a function that is called; with the loader's words.
    #[error("no usable libcrypto (OpenSSL 3.0 or newer): {0}")]
    Library(String),
    /// OpenSSL does not load the provider; with its words.
    #[error("OpenSSL does not load {path}: {cause}", path = .0.display(), cause = .1)]
    Module(PathBuf, String),
    /// The root of another system cannot be used.
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    Root(PathBuf, String),
    /// A call that is measured failed.
    #[error("{0}")]
    Operation(String),
    /// The system refused.
    #[error("{0}")]
    Io(std::io::Error),
}

/// An error of the system in words, without its number.
fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
