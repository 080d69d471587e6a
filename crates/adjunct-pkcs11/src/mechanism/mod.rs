//! Mechanisms: which there are, and the operations that they give.

pub mod digest;
pub mod generate;
pub mod hash;
pub mod params;
pub mod sign;
pub mod table;

use cryptoki_sys::CK_MECHANISM_TYPE;
use params::Params;

/// A mechanism with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism<'a> {
    pub kind: CK_MECHANISM_TYPE,
    pub params: Params<'a>,
}
