//! The names that the program answers to: those of the tools for IBM Z and of openCryptoki's.

use crate::cards::tool::Request;
use crate::cards::{chzcrypt, lszcrypt, zcryptctl, zcryptstats};
use crate::info::{IcaInfo, Library};
use crate::stats::IcaStats;
use crate::{cpacfstats, p11sak, pkcsconf, pkcsstats};
use adjunct_tool::Failure;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// A name of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `icainfo`.
    IcaInfo,
    /// `icainfo-cex`.
    IcaInfoCex,
    /// `icastats`.
    IcaStats,
    /// `cpacfstats`.
    CpacfStats,
    /// `pkcsconf`.
    PkcsConf,
    /// `pkcsstats`.
    PkcsStats,
    /// `p11sak`.
    P11Sak,
    /// `lszcrypt`.
    LsZcrypt,
    /// `chzcrypt`.
    ChZcrypt,
    /// `zcryptctl`.
    ZcryptCtl,
    /// `zcryptstats`.
    ZcryptStats,
}

/// A command line that was understood, not yet done.
pub type Ready = Box<dyn FnOnce() -> Result<ExitCode, Failure>>;

impl Name {
    /// Every name.
    pub const ALL: [Name; 11] = [
        Name::IcaInfo,
        Name::IcaInfoCex,
        Name::IcaStats,
        Name::CpacfStats,
        Name::PkcsConf,
        Name::PkcsStats,
        Name::P11Sak,
        Name::LsZcrypt,
        Name::ChZcrypt,
        Name::ZcryptCtl,
        Name::ZcryptStats,
    ];

    /// The name that a program was called by, which may have folders before it; `None` where it is none of these.
    pub fn of(called: &OsStr) -> Option<Name> {
        let called = Path::new(called).file_name()?;
        Name::ALL.into_iter().find(|name| called == name.text())
    }

    /// The name itself.
    pub const fn text(self) -> &'static str {
        match self {
            Name::IcaInfo => "icainfo",
            Name::IcaInfoCex => "icainfo-cex",
            Name::IcaStats => "icastats",
            Name::CpacfStats => "cpacfstats",
            Name::PkcsConf => "pkcsconf",
            Name::PkcsStats => "pkcsstats",
            Name::P11Sak => "p11sak",
            Name::LsZcrypt => "lszcrypt",
            Name::ChZcrypt => "chzcrypt",
            Name::ZcryptCtl => "zcryptctl",
            Name::ZcryptStats => "zcryptstats",
        }
    }

    /// The subcommand of `adjunct` that shows more than this tool; none for tools that no subcommand replaces.
    pub const fn subcommand(self) -> Option<&'static str> {
        match self {
            Name::PkcsConf | Name::PkcsStats | Name::P11Sak => None,
            Name::IcaInfo | Name::IcaInfoCex => Some("info"),
            Name::IcaStats | Name::CpacfStats => Some("stats"),
            Name::LsZcrypt | Name::ChZcrypt | Name::ZcryptCtl | Name::ZcryptStats => Some("cards"),
        }
    }

    /// The definition of the tool's command line, for its man page and completions where the tool reads it in its own way.
    pub fn parser(self) -> clap::Command {
        match self {
            Name::IcaInfo => IcaInfo::command(),
            Name::IcaInfoCex => IcaInfo::command_of_cex(),
            Name::IcaStats => IcaStats::command(),
            Name::CpacfStats => cpacfstats::command(),
            Name::PkcsConf => pkcsconf::command(),
            Name::PkcsStats => pkcsstats::command(),
            Name::P11Sak => p11sak::command(),
            Name::LsZcrypt => lszcrypt::command(),
            Name::ChZcrypt => chzcrypt::command(),
            Name::ZcryptCtl => zcryptctl::command(),
            Name::ZcryptStats => zcryptstats::command(),
        }
    }

    /// What the command line `args` asks for.
    ///
    /// # Errors
    /// Where it makes no sense.
    pub fn ready(self, args: Vec<OsString>) -> Result<Ready, Failure> {
        let matches = || self.parser().try_get_matches_from(args.iter());
        let card_tool = |it: Request| -> Ready { Box::new(move || it.run()) };
        Ok(match self {
            Name::IcaInfo | Name::IcaInfoCex => {
                let library = if self == Name::IcaInfo { Library::Ica } else { Library::IcaCex };
                let it = IcaInfo::from_arg_matches(&matches()?)?;
                Box::new(move || it.run(library))
            }
            Name::IcaStats => {
                let it = IcaStats::from_arg_matches(&matches()?)?;
                Box::new(move || it.run())
            }
            Name::CpacfStats => {
                let it = cpacfstats::Request::of(&args)?;
                Box::new(move || it.run())
            }
            Name::PkcsConf => {
                let it = pkcsconf::Request::of(&args, pkcsconf::other_module().is_some());
                Box::new(move || pkcsconf::run(it))
            }
            Name::PkcsStats => {
                let it = pkcsstats::Request::of(&args);
                Box::new(move || it.run())
            }
            Name::P11Sak => {
                let it = p11sak::Request::of(&args);
                Box::new(move || it.run())
            }
            Name::LsZcrypt => card_tool(lszcrypt::request(&args)),
            Name::ChZcrypt => card_tool(chzcrypt::request(&args)),
            Name::ZcryptCtl => card_tool(zcryptctl::request(&args)),
            Name::ZcryptStats => card_tool(zcryptstats::request(&args)),
        })
    }

    /// What `-v` says: as the tools for IBM Z do, the version of libica first, where scripts look for it, then the build. `None` for the command
    /// itself, whose version clap prints, and for tools that print their own.
    pub fn version(self) -> Option<String> {
        let library = match self {
            Name::IcaInfo | Name::IcaStats => "libica",
            Name::IcaInfoCex => "libica-cex",
            _ => return None,
        };
        let [major, minor, fix] = adjunct::LIBICA_VERSION;
        let (name, build) = (self.text(), env!("CARGO_PKG_VERSION"));
        Some(format!("{name}: {library} version {major}.{minor}.{fix}\nbuild: adjunct {build}\n"))
    }

    /// The exit status after `failure`: the tools for IBM Z know one for whatever goes wrong, a wrong command line too.
    pub fn status(self, failure: &Failure) -> ExitCode {
        ExitCode::from(failure.status().min(1))
    }
}
