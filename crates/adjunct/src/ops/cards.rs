//! Cards, as far as interfaces have to do with them.

pub use crate::adapter::card::{online, prefer};
