//! Cards: what the process of one does with what programs sent. What both say to each other is `adjunct-card-protocol`'s.

pub mod work;
