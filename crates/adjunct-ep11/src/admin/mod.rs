//! Administration: blocks of commands and queries, and what stands in them.

pub mod blocks;
pub mod calls;
pub mod der;
