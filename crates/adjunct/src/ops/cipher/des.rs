//! Triple DES in CBC mode (SP 800-67), for [`super::Counted`].

use super::modes::{Read, Work};
use super::{Chain, Mode, Shared};
use crate::catalogue::Function;
use crate::error::Error;
use adjunct_cpu::cipher::des::{self, Des};
pub use adjunct_cpu::cipher::des::{BLOCK, KEY};
use adjunct_cpu::random;
use adjunct_kernels::InOut;
use adjunct_lanes::tdes;

/// CBC with three keys. The IV is the first 8 bytes of [`Chain::iv`].
#[derive(Debug, Clone, Default)]
pub struct Cbc(Des);

impl Work for Cbc {
    fn set_key(&mut self, key: &[u8], _encrypt: bool) -> Result<(), Error> {
        if key.len() != KEY {
            return Err(Error::Length { what: "triple DES key", got: key.len(), expected: "24" });
        }
        self.0.set_key(key)
    }

    fn run(&mut self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) {
        self.read(encrypt, chain, io);
    }
}

impl Read for Cbc {
    fn read(&self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) {
        let des = &self.0;
        if let Some(iv) = chain.iv.first_chunk_mut() {
            if encrypt {
                tdes::cbc_encrypt(des, iv, io);
            } else {
                des.cbc(false, iv, io);
            }
        }
    }
}

impl Shared for Cbc {}

impl Mode for Cbc {
    const FUNCTION: Function = Function::TdesCbc;
    const BLOCK: usize = BLOCK;
    const SIZES: bool = false;
    const PARITY: bool = true;
}

/// Makes a random key, whose bytes have odd parity (FIPS 46-3).
pub fn random_key(key: &mut [u8]) {
    random(key);
    des::set_odd_parity(key);
}
