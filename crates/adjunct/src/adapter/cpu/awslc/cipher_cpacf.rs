//! AES and DES by CPACF. Its instructions take the key as it is, and keep none between calls.

use super::cipher::{AesKey, Block};
use crate::adapter::cpu::cpacf::{self, Host};
use adjunct_kernels::cpacf::{Assist, Cipher, Instruction, Refused};
use adjunct_kernels::{InOut, wipe};

/// A key as it was given; wiped when dropped. Each method says whether there was a function for it, and all was done; else
/// nothing was.
#[derive(Clone, Default)]
pub(super) struct Given {
    key: [u8; 32],
    cipher: Option<Cipher>,
}

impl Drop for Given {
    fn drop(&mut self) {
        wipe(&mut self.key);
    }
}

impl Given {
    /// Sets a key, which is as long as the cipher's.
    pub(super) fn set(&mut self, cipher: Option<Cipher>, key: &[u8]) {
        wipe(&mut self.key);
        self.key[..key.len()].copy_from_slice(key);
        self.cipher = cipher;
    }

    fn key(&self) -> &[u8] {
        &self.key[..self.cipher.map_or(0, Cipher::key_length)]
    }

    /// Whether `instruction` has the cipher.
    #[inline]
    pub(super) fn has(&self, instruction: Instruction) -> bool {
        self.cipher.is_some_and(|cipher| cpacf::assist().functions().has(instruction, cipher.code()))
    }

    #[inline]
    fn run(&self, work: impl FnOnce(&Assist<Host>, Cipher, &[u8]) -> Result<(), Refused>) -> bool {
        self.cipher.is_some_and(|cipher| done(work(cpacf::assist(), cipher, self.key())))
    }

    /// ECB over whole blocks.
    pub(super) fn ecb(&self, encrypt: bool, io: &InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.ecb(cipher, key, encrypt, same(io)))
    }

    /// CBC over whole blocks.
    pub(super) fn cbc(&self, encrypt: bool, iv: &mut [u8], io: &InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.cbc(cipher, key, encrypt, iv, same(io)))
    }

    /// CFB over whole segments.
    pub(super) fn cfb(&self, encrypt: bool, segment: usize, iv: &mut [u8], io: &InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.cfb(cipher, key, encrypt, segment, iv, same(io)))
    }

    /// OFB over whole blocks.
    pub(super) fn ofb(&self, iv: &mut [u8], io: &InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.ofb(cipher, key, iv, same(io)))
    }

    /// CTR over whole blocks.
    pub(super) fn ctr(&self, counter: &mut [u8], io: &InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.ctr(cipher, key, counter, same(io)))
    }

    /// CTR over whole blocks, with a counter given for each.
    pub(super) fn counters(&self, counters: &[u8], io: &InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.counters(cipher, key, counters, same(io)))
    }

    /// A CBC-MAC over whole blocks.
    pub(super) fn absorb(&self, mac: &mut [u8], blocks: &[u8]) -> bool {
        self.run(|assist, cipher, key| assist.cmac(cipher, key, mac, blocks))
    }

    /// The end of a CMAC.
    pub(super) fn cmac_last(&self, mac: &mut [u8], last: &[u8]) -> bool {
        self.run(|assist, cipher, key| assist.cmac_last(cipher, key, mac, last))
    }

    /// XTS over whole blocks, this being the data's key.
    pub(super) fn xts(&self, encrypt: bool, tweak: &mut [u8; 16], io: &InOut<'_>) -> bool {
        matches!(self.cipher, Some(Cipher::Aes128 | Cipher::Aes256))
            && self.run(|assist, _, key| assist.xts(key, encrypt, tweak, same(io)))
    }

    /// The tweak that a data unit begins with, this being the tweak's key.
    pub(super) fn tweak(&self, tweak: &mut [u8; 16]) -> bool {
        matches!(self.cipher, Some(Cipher::Aes128 | Cipher::Aes256))
            && self.run(|assist, _, key| assist.xts_parameter(key, tweak).map(|made| *tweak = made))
    }
}

/// The instructions take whatever the callers here give them; what they lack is refused before.
fn done(result: Result<(), Refused>) -> bool {
    match result {
        Ok(()) => true,
        Err(Refused::Absent) => false,
        Err(Refused::Condition(code)) => panic!("a cipher by CPACF ended with condition code {code}"),
    }
}

/// The same buffers, for a driver that takes them whole.
fn same<'a>(io: &'a InOut<'_>) -> InOut<'a> {
    // SAFETY: nobody else uses them for as long as the borrow lasts.
    unsafe { InOut::from_raw(io.input(), io.output(), io.len()) }
}

/// CFB with segments of one bit, a block each.
pub(super) fn cfb1(key: &AesKey, encrypt: bool, iv: &mut Block, bits: usize, mut io: InOut<'_>) {
    for at in 0..bits {
        let mut stream = *iv;
        key.encrypt_block(&mut stream);
        let (byte, place) = (at / 8, 7 - at % 8);
        let input = io.get(byte) >> place & 1;
        let output = input ^ stream[0] >> 7;
        // SAFETY: within the output, of whose byte the other bits stay.
        let there = unsafe { *io.output().add(byte) };
        io.set(byte, there & !(1 << place) | output << place);
        let cipher = if encrypt { output } else { input };
        *iv = (u128::from_be_bytes(*iv) << 1 | u128::from(cipher)).to_be_bytes();
        wipe(&mut stream);
    }
}
