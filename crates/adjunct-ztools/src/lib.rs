//! The tools that administrators of IBM Z know, in one program that is each of them by the name it is called by: libica's (icainfo,
//! icainfo-cex, icastats), s390-tools' (cpacfstats, lszcrypt, chzcrypt, zcryptctl, zcryptstats) and openCryptoki's (pkcsconf, pkcsstats,
//! p11sak). What `adjunct` shows of the same facts it reads here.
//!
//! One module per tool, each with the definition of its command line and what it does; `stats` is icastats, `info` icainfo. `cards` has those
//! of cards. `pem`, `hex`, `libcrypto`: keys in files.
#![forbid(unsafe_code)]

pub mod cards;
pub mod cpacfstats;
pub mod hex;
pub mod info;
pub mod libcrypto;
mod name;
mod p11sak;
pub mod pem;
pub mod pkcsconf;
mod pkcsstats;
pub mod stats;

pub use name::{Name, Ready};

use adjunct_tool::{Failure, interrupt, output};
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::process::ExitCode;

/// The program's own name.
pub const PROGRAM: &str = "adjunct-ztools";

/// Runs the command line `args` (the first is the name that the program was called by, or else the second is) and reports what went wrong.
pub fn main(mut args: Vec<OsString>) -> ExitCode {
    if args.first().and_then(|called| Name::of(called)).is_none() && !args.is_empty() {
        args.remove(0);
    }
    let Some(name) = args.first().and_then(|called| Name::of(called)) else {
        let names = Name::ALL.map(Name::text).join(", ");
        Failure::Words(format!("the first word is the name of a tool: {names}")).report(PROGRAM);
        return ExitCode::FAILURE;
    };
    run(name, args).unwrap_or_else(|failure| {
        let failure = interrupt::named(failure);
        failure.report(name.text());
        name.status(&failure)
    })
}

fn run(name: Name, args: Vec<OsString>) -> Result<ExitCode, Failure> {
    match (name.ready(args), name.version()) {
        (Err(Failure::Usage(error)), Some(version)) if error.kind() == ErrorKind::DisplayVersion => {
            output::print(&version).map(|()| ExitCode::SUCCESS)
        }
        (ready, _) => ready?(),
    }
}

/// Parses a command line and runs nothing: whether it would be accepted. For fuzzing; it must never panic.
pub fn parse_args(args: Vec<OsString>) -> bool {
    args.first().and_then(|called| Name::of(called)).is_some_and(|name| name.ready(args).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Name::ALL.iter().for_each(|name| name.parser().debug_assert());
    }

    #[test]
    fn the_name_called_by_decides() {
        let words = |w: &[&str]| w.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(parse_args(words(&["/usr/bin/icainfo", "-c"])));
        assert!(parse_args(words(&["icastats", "-k", "-j"])));
        assert!(parse_args(words(&["icainfo", "--json"])));
        assert!(parse_args(words(&["./icainfo-cex", "-r"])));
        assert!(!parse_args(words(&["icainfo-cex", "-k"])));
        assert!(!parse_args(words(&["icainfo", "--json", "-c"])));
        assert!(parse_args(words(&["/sbin/cpacfstats", "-je", "sha"])));
        assert!(!parse_args(words(&["cpacfstats", "prng"])));
        assert!(parse_args(words(&["pkcsconf", "-itc", "1"])));
        assert!(parse_args(words(&["pkcsstats", "--slot=1", "-j"])));
        assert!(parse_args(words(&["lszcrypt", "-Vc", "02"])));
        assert!(!parse_args(Vec::new()));
    }
}
