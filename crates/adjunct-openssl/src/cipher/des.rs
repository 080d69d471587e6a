//! Triple DES in CBC mode.

use super::simple::Table;
use super::state::{Info, Mode, State, mode};
use crate::abi::Dispatch;
use adjunct::InOut;
use adjunct::adapter::cpu::awslc::cipher_des::{BLOCK, KEY, TripleDes};
use adjunct::catalogue::Function;

/// 3DES-CBC with three keys.
#[derive(Debug, Clone, Default)]
pub struct Cbc(TripleDes);

impl Mode for Cbc {
    const INFO: Info = Info { random_key: true, ..Info::plain(mode::CBC, KEY, BLOCK, BLOCK) };
    const FUNCTION: Function = Function::TdesCbc;
    const BITS: usize = 0;

    fn set_key(&mut self, key: &[u8], _encrypt: bool) -> bool {
        let Ok(key) = key.try_into() else { return false };
        self.0.set_key(key);
        true
    }

    fn run(&mut self, state: &mut State, io: InOut<'_>) {
        if let Some(iv) = state.iv.first_chunk_mut() {
            self.0.cbc(state.encrypt, iv, io);
        }
    }
}

pub(super) static CBC: [Dispatch; 15] = Table::<Cbc>::BLOCK;
