//! Encryption and hashing of whole buffers: what is measured, AWS-LC and the kernels called directly, and another system's OpenSSL.

pub mod kernel;
pub mod library;
pub mod root;
pub mod subject;
