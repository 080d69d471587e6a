//! Cards, as far as interfaces have to do with them.

pub use adjunct_card_protocol::{online, prefer};
