//! ChaCha20: the IV is the 32-bit counter and the nonce of RFC 8439, as OpenSSL has it.

use super::simple::Table;
use super::state::{Info, Mode, State, mode};
use crate::abi::Dispatch;
use adjunct::ops::cipher::Counted;
use adjunct::ops::cipher::chacha::{self, Begun, COUNTER, KEY};

/// ChaCha20.
#[derive(Debug, Clone)]
pub struct Stream;

impl Mode for Stream {
    type Cipher = chacha::Stream;
    const INFO: Info = Info { custom_iv: true, ..Info::plain(mode::STREAM, KEY, 1, COUNTER) };
    const FIXED: bool = true;

    fn set_iv(cipher: &mut Counted<chacha::Stream>, iv: &[u8]) {
        if let Ok(iv) = iv.try_into() {
            cipher.set_counter(iv);
        }
    }

    fn before_key(cipher: &mut Counted<chacha::Stream>, state: &State) {
        // Without a begun block nothing is asked of OpenSSL.
        if cipher.is_begun() && state.provider.tells_chacha20_counter() {
            cipher.settle(Begun::Over);
        }
    }

    /// The counter with a begun block counted, as OpenSSL versions that return it do; others do not ask for it.
    fn updated_iv(cipher: &Counted<chacha::Stream>, _state: &State) -> [u8; 16] {
        cipher.counter(Begun::Over)
    }
}

pub(super) static CHACHA20: [Dispatch; 15] = Table::<Stream>::STREAM;
