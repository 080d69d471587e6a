//! Public-key operations under load: the functions that are measured, AWS-LC and the kernels called directly, and the load itself.

#[cfg(target_arch = "x86_64")]
pub mod kernels;
#[cfg(not(target_arch = "x86_64"))]
#[path = "no_kernels.rs"]
pub mod kernels;
pub mod library;
pub mod load;
pub mod subject;
