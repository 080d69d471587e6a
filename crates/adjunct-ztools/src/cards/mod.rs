//! The tools of s390-tools that show and set cards, and what `adjunct cards` shares with them.
//!
//! What is shown is read from the state that adjunctd and its card processes keep in shared memory; what is changed is asked of adjunctd.

pub(crate) mod chzcrypt;
pub mod device;
pub mod lszcrypt;
mod scan;
mod table;
pub mod tool;
pub mod zcryptctl;
pub(crate) mod zcryptstats;
