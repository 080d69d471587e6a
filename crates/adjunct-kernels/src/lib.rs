//! Arithmetic that no library has: pure functions over slices and lanes, no allocation, no I/O, no policy.

pub mod inout;

pub use inout::InOut;
