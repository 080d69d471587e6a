//! What runs operations: the CPU (its instructions, else software), the lanes (batches in this process) and cards (processes of their own).
//!
//! [`choice`](crate::ops::choice) says which of hardware and software serves a function here, [`registry`](adjunct_base::registry) which adapter a key's operations go to; an adapter
//! says what ran each operation.

pub mod card;
pub mod lanes;
