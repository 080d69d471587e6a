//! `adjunct bench`, and `adjunct ssh bench`: their options. What measures is a program of its own, `adjunct-bench`, which takes this
//! command's place with the same words.

pub mod accelerator;
pub mod bulk;
pub mod cards;
pub mod ep11;
pub mod java;
pub mod openssl;
pub mod pkcs11;
pub(crate) mod seconds;
pub mod tls;

use adjunct_tool::Failure;
use std::ffi::OsString;

/// Measure adjunct beside what this machine would otherwise use
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is measured.
    #[command(subcommand)]
    pub command: Command,
}

/// What is measured.
#[derive(Debug, clap::Subcommand)]
#[allow(missing_docs)]
pub enum Command {
    Openssl(openssl::Args),
    Bulk(bulk::Args),
    Accelerator(accelerator::Args),
    Cards(cards::Args),
    Tls(tls::Args),
    Pkcs11(pkcs11::Args),
    Java(java::Args),
    Ep11(ep11::Args),
}

/// A measurement, with its options.
#[derive(Debug)]
pub enum Measurement {
    /// `adjunct bench`.
    Bench(Command),
    /// `adjunct ssh bench`.
    Ssh(crate::ssh::bench::Args),
}

impl Measurement {
    /// What the command line `args` of `adjunct` asks for.
    ///
    /// # Errors
    /// [`Failure`] where it makes no sense, or asks for something else.
    pub fn asked_for(args: Vec<OsString>) -> Result<Measurement, Failure> {
        // What is said of a command line is said of the command's.
        let words = std::iter::once(OsString::from("adjunct")).chain(args.into_iter().skip(1)).collect();
        let none = || Failure::Words("this program measures for 'adjunct bench' and 'adjunct ssh bench'".to_owned());
        crate::parsed(words)?.measurement().ok_or_else(none)
    }
}
