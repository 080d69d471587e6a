//! The operations that interfaces call: each checks its input, has an adapter run it, and counts itself after it ran, by what ran it.
//! What is refused counts nothing.
//!
//! [`attribute`] says for which user operations count, when a context is made, or [`attribute_now`], before an operation that is rare beside what it
//! costs.

pub mod aead;
pub mod batches;
pub mod cards;
pub mod choice;
pub mod cipher;
mod delegated;
pub mod digest;
pub mod drbg;
pub mod ec;
pub mod ecx;
pub mod kdf;
pub mod kem;
pub mod mac;
mod material;
pub mod mldsa;
pub mod mlkem;
pub mod random;
pub mod reference;
pub mod rsa;
mod tally;
pub mod tls_record;

pub use crate::counters::{attribute, attribute_now};
pub use delegated::Delegated;
pub use material::may_leave;
pub(crate) use tally::Tally;
pub use tally::in_hardware;
