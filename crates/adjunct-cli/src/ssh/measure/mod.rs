//! What a connection costs: one real login or one real copy through this machine's ssh and sshd, with the time it took and
//! the processor seconds of each side, exactly.
//!
//! A [`Rig`] holds the keys; [`Rig::login`] and [`Rig::transfer`] make one connection of a [`Suite`] on a [`Side`] and give its [`Cost`]. The server
//! is `sshd -i` on an accepted loopback socket: a child process that ends with its connection, so the CPU time that Linux accounts to it is the cost
//! of one connection, to the microsecond; nothing listens on a port that other users could connect to. Linux accounts children to the whole process:
//! measure from one thread, while no other waits for children. [`interleave`] repeats many jobs in turns, and [`Spread`] is the median of the
//! repetitions with its error.

pub mod data;
pub mod rig;
pub mod rounds;
pub mod side;
pub mod spread;

pub use super::lab::Environment;
pub use data::Data;
pub use rig::{Cost, Rig, Suite};
pub use rounds::{Costs, Limits, interleave};
pub use side::{Side, openssl_conf};
pub use spread::Spread;
