//! KMA: AES-GCM (NIST SP 800-38D) as a stream.
//!
//! The instruction takes additional data and text in whole blocks but for the last. Text must come out as it goes in, though: the
//! beginning of a block is made with a block of key stream from KM, and the whole block goes through KMA once it is there.

use super::block::GcmBlock;
use super::{Assist, Cipher, Instruction, Machine, Refused, Registers, modifier};
use crate::{InOut, opaque_debug};
use zeroize::{Zeroize, ZeroizeOnDrop};

const BLOCK: usize = 16;
/// The text ends with this execution.
const LAST_TEXT: u64 = 0x100;
/// The additional data ends with this execution.
const LAST_AAD: u64 = 0x200;
/// The hash subkey is in the block.
const SUBKEY: u64 = 0x400;

/// AES-GCM with its key and the state of one message; wiped when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Gcm {
    #[zeroize(skip)]
    cipher: Cipher,
    block: GcmBlock,
    aad: u64,
    text: u64,
    /// Additional data or text, the input of a block that is not whole yet.
    begun: [u8; BLOCK],
    /// The key stream of a block of text that is not whole yet.
    keystream: [u8; BLOCK],
    used: usize,
    encrypting: bool,
}

opaque_debug!(Gcm);

impl Gcm {
    /// A key of 16, 24 or 32 bytes; `None` where it has another length, or `assist` lacks a function that is needed.
    pub fn new<M: Machine>(assist: &Assist<M>, key: &[u8]) -> Option<Gcm> {
        let cipher = Cipher::aes(key.len())?;
        let has = |instruction, code| assist.functions().has(instruction, code);
        if !has(Instruction::Kma, cipher.code()) || !has(Instruction::Kimd, 65) {
            return None;
        }
        let zero = [0; BLOCK];
        let mut gcm = Gcm {
            cipher,
            block: GcmBlock {
                reserved: [0; 12],
                counter: [0; 4],
                tag: zero,
                subkey: zero,
                aad_bits: [0; 8],
                text_bits: [0; 8],
                first: zero,
                key: cipher.field(key),
            },
            aad: 0,
            text: 0,
            begun: zero,
            keystream: zero,
            used: 0,
            encrypting: true,
        };
        assist.ecb(cipher, key, true, InOut::in_place(&mut gcm.block.subkey)).ok()?;
        Some(gcm)
    }

    /// Hashes under this key instead of the key's own.
    pub const fn set_subkey(&mut self, subkey: &[u8; BLOCK]) {
        self.block.subkey = *subkey;
    }

    /// How much additional data there was, in bytes.
    pub const fn aad_length(&self) -> u64 {
        self.aad
    }

    /// How much text there was, in bytes.
    pub const fn text_length(&self) -> u64 {
        self.text
    }

    /// Begins a message.
    ///
    /// # Errors
    /// [`Refused::Absent`]: an instruction has been taken away.
    pub fn start<M: Machine>(&mut self, assist: &Assist<M>, iv: &[u8]) -> Result<(), Refused> {
        let mut first = [0; BLOCK];
        if iv.len() == 12 {
            first[..12].copy_from_slice(iv);
            first[15] = 1;
        } else {
            let (whole, rest) = iv.split_at(iv.len() - iv.len() % BLOCK);
            let mut last = [[0; BLOCK]; 2];
            last[0][..rest.len()].copy_from_slice(rest);
            last[1][8..].copy_from_slice(&(iv.len() as u64 * 8).to_be_bytes());
            assist.ghash(&self.block.subkey, &mut first, whole)?;
            let ending = if rest.is_empty() { &last[1..] } else { &last[..] };
            assist.ghash(&self.block.subkey, &mut first, ending.as_flattened())?;
        }
        self.begin(&first, &first[12..], &[0; BLOCK]);
        Ok(())
    }

    fn begin(&mut self, first: &[u8; BLOCK], counter: &[u8], hash: &[u8; BLOCK]) {
        self.block.first = *first;
        self.block.counter.copy_from_slice(counter);
        self.block.tag = *hash;
        (self.aad, self.text, self.used) = (0, 0, 0);
    }

    /// Goes on with a message of which the next counter block and the hash so far are known. Only [`Gcm::progress`] can end it.
    pub fn resume(&mut self, counter: &[u8; BLOCK], hash: &[u8; BLOCK]) {
        let low = u32::from_be_bytes([counter[12], counter[13], counter[14], counter[15]]);
        self.begin(counter, &low.wrapping_sub(1).to_be_bytes(), hash);
    }

    /// The next counter block and the hash after whole blocks.
    pub fn progress(&self) -> ([u8; BLOCK], [u8; BLOCK]) {
        (self.next(), self.block.tag)
    }

    fn next(&self) -> [u8; BLOCK] {
        let mut next = self.block.first;
        next[12..].copy_from_slice(&u32::from_be_bytes(self.block.counter).wrapping_add(1).to_be_bytes());
        next
    }

    /// Takes in additional data, all of which comes before the text.
    ///
    /// # Errors
    /// [`Refused::Absent`]: an instruction has been taken away.
    pub fn aad<M: Machine>(&mut self, assist: &Assist<M>, mut data: &[u8]) -> Result<(), Refused> {
        self.aad += data.len() as u64;
        if self.used > 0 {
            let taken = data.len().min(BLOCK - self.used);
            self.begun[self.used..][..taken].copy_from_slice(&data[..taken]);
            self.used += taken;
            data = &data[taken..];
            if self.used < BLOCK {
                return Ok(());
            }
            let block = self.begun;
            self.kma(assist, 0, &block, None)?;
        }
        let (whole, rest) = data.split_at(data.len() - data.len() % BLOCK);
        if !whole.is_empty() {
            self.kma(assist, 0, whole, None)?;
        }
        self.begun[..rest.len()].copy_from_slice(rest);
        self.used = rest.len();
        Ok(())
    }

    /// Encrypts or decrypts the next piece of text.
    ///
    /// # Errors
    /// [`Refused::Absent`]: an instruction has been taken away.
    pub fn crypt<M: Machine>(
        &mut self,
        assist: &Assist<M>,
        encrypting: bool,
        mut io: InOut<'_>,
    ) -> Result<(), Refused> {
        if io.is_empty() {
            return Ok(());
        }
        if self.text == 0 {
            self.end_aad(assist)?;
        }
        self.encrypting = encrypting;
        self.text += io.len() as u64;
        if self.used > 0 {
            let (head, rest) = io.split_head(BLOCK - self.used);
            self.part(head);
            io = rest;
            if self.used < BLOCK {
                return Ok(());
            }
            self.whole_begun(assist, 0)?;
        }
        let (whole, tail) = io.split_whole(BLOCK);
        if !whole.is_empty() {
            self.kma(assist, LAST_AAD, &[], Some(whole))?;
        }
        if !tail.is_empty() {
            self.keystream = self.next();
            let key = &self.block.key[..self.cipher.key_length()];
            assist.ecb(self.cipher, key, true, InOut::in_place(&mut self.keystream))?;
            self.part(tail);
        }
        Ok(())
    }

    /// Text within a block: the input is kept, and the output made with the key stream.
    fn part(&mut self, mut io: InOut<'_>) {
        for i in 0..io.len() {
            let at = self.used + i;
            self.begun[at] = io.get(i);
            io.set(i, self.begun[at] ^ self.keystream[at]);
        }
        self.used += io.len();
    }

    /// Takes in the additional data that is left, and ends it.
    fn end_aad<M: Machine>(&mut self, assist: &Assist<M>) -> Result<(), Refused> {
        let (rest, used) = (self.begun, self.used);
        self.used = 0;
        self.kma(assist, LAST_AAD, &rest[..used], None)
    }

    /// What is kept of a block's input goes through the instruction; the output has been given out.
    fn whole_begun<M: Machine>(&mut self, assist: &Assist<M>, flags: u64) -> Result<(), Refused> {
        let (mut rest, used) = (self.begun, self.used);
        self.used = 0;
        let done = self.kma(assist, LAST_AAD | flags, &[], Some(InOut::in_place(&mut rest[..used])));
        rest.zeroize();
        done
    }

    /// Ends the message and gives its tag.
    ///
    /// # Errors
    /// [`Refused::Absent`]: an instruction has been taken away.
    pub fn tag<M: Machine>(&mut self, assist: &Assist<M>) -> Result<[u8; BLOCK], Refused> {
        if self.text == 0 {
            self.end_aad(assist)?;
        }
        self.block.aad_bits = (self.aad * 8).to_be_bytes();
        self.block.text_bits = (self.text * 8).to_be_bytes();
        self.whole_begun(assist, LAST_TEXT)?;
        Ok(self.block.tag)
    }

    fn kma<M: Machine>(
        &mut self,
        assist: &Assist<M>,
        flags: u64,
        aad: &[u8],
        text: Option<InOut<'_>>,
    ) -> Result<(), Refused> {
        let function = u64::from(self.cipher.code()) | SUBKEY | flags | modifier(!self.encrypting);
        let mut registers = Registers::new(function, &mut self.block);
        if let Some(text) = &text {
            registers = registers.in_out(text);
        }
        (registers.third, registers.third_length) = (aad.as_ptr(), aad.len());
        // SAFETY: all the function wants is in the block; additional data and text are of whole blocks unless the flags say that
        // they end.
        let condition = unsafe { assist.run(Instruction::Kma, &mut registers) }?;
        // 2: there is more to come, as the flags say.
        let done = matches!(condition, 0 | 2) && registers.source_length == 0 && registers.third_length == 0;
        if done { Ok(()) } else { Err(Refused::Condition(condition)) }
    }
}
