//! ChaCha20: the IV is the 32-bit counter and the nonce of RFC 8439, as OpenSSL has it.

use super::simple::Table;
use super::state::{Info, Mode, State, mode};
use crate::abi::Dispatch;
use adjunct::InOut;
use adjunct::adapter::cpu::awslc::cipher_chacha::{COUNTER, ChaCha20, KEY};
use adjunct::catalogue::Function;

/// ChaCha20.
#[derive(Debug, Clone, Default)]
pub struct Stream(ChaCha20);

impl Mode for Stream {
    const INFO: Info = Info { custom_iv: true, ..Info::plain(mode::STREAM, KEY, 1, COUNTER) };
    const FUNCTION: Function = Function::ChaCha20;
    const BITS: usize = 0;
    const FIXED: bool = true;

    fn set_key(&mut self, key: &[u8], _encrypt: bool) -> bool {
        let Ok(key) = key.try_into() else { return false };
        self.0.set_key(key);
        true
    }

    fn set_iv(&mut self, iv: &[u8]) {
        if let Ok(iv) = iv.try_into() {
            self.0.set_counter(iv);
        }
    }

    fn updated_iv(&self, _state: &State) -> [u8; 16] {
        self.0.counter()
    }

    fn run(&mut self, _state: &mut State, io: InOut<'_>) {
        self.0.apply(io);
    }
}

pub(super) static CHACHA20: [Dispatch; 15] = Table::<Stream>::STREAM;
