//! Triple DES in CBC mode.

use super::simple::Table;
use super::state::{Info, Mode, mode};
use crate::abi::Dispatch;
use adjunct::ops::cipher::des::{self, BLOCK, KEY};

/// 3DES-CBC with three keys.
#[derive(Debug, Clone)]
pub struct Cbc;

impl Mode for Cbc {
    type Cipher = des::Cbc;
    const INFO: Info = Info { random_key: true, ..Info::plain(mode::CBC, KEY, BLOCK, BLOCK) };
}

pub(super) static CBC: [Dispatch; 15] = Table::<Cbc>::BLOCK;
