//! References to keys that only cards can use: where a family takes the private number or the bytes of a key, it takes a reference in their place.

pub use adjunct_card_protocol::frame::Service;
pub use adjunct_card_protocol::reference::{BLOB, Class, Damaged, HEAD, LONGEST, MAGIC, Reference, SHORTEST, VERSION};
