//! A private OpenSSH on loopback: keys, an sshd, and logins through it.
//!
//! A [`Place`] is a folder with the keys and for all files, of the [`Programs`] it is made for. An [`Sshd`] is a server that runs,
//! for all who connect or for one connection; a `Login` is a client that does, through the one or the other. What differs from
//! the usual is a [`Setup`] for each side. Dropping them ends the processes and removes the files.

mod config;
pub mod keys;
mod login;
mod place;
mod programs;
pub(crate) mod runtime;
mod server;
mod setup;

pub use adjunct_tool::process::Environment;
pub(in crate::ssh) use config::client_options;
pub use login::Login;
pub(in crate::ssh) use login::ssh;
pub use place::{HOST, Place};
pub use programs::Programs;
pub use programs::locate;
pub use server::Sshd;
pub use setup::Setup;
