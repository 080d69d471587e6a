//! AES: the key schedule and the modes that work on it directly, with no context of the library in between.

use crate::awslc::aes as library;
use crate::cpacf::cipher::Given;
#[cfg(target_arch = "x86_64")]
use adjunct_base::catalogue::Feature;
use adjunct_base::error::Error;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::{ccm, key, ni};
use adjunct_kernels::cpacf::Cipher;
#[cfg(not(target_arch = "x86_64"))]
use adjunct_kernels::cpacf::Instruction;
use adjunct_kernels::{opaque_debug, wipe};
use std::mem::MaybeUninit;

/// The block length of AES in bytes.
pub const BLOCK: usize = 16;

/// A block.
pub type Block = [u8; BLOCK];

/// The code that runs, chosen when the key is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// AWS-LC chooses: other architectures, and no AES instructions.
    Library,
    /// AES-NI, one block a register.
    #[cfg(target_arch = "x86_64")]
    Single,
    /// VAES on 256-bit vectors, beside AES-NI.
    #[cfg(target_arch = "x86_64")]
    Vector256,
    /// VAES on 512-bit vectors, beside AES-NI.
    #[cfg(target_arch = "x86_64")]
    Vector512,
}

fn level() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        let features = crate::features();
        if features.has(Feature::Aes) {
            // Vpclmul because XTS multiplies its tweaks with it; no CPU has one without the other.
            let all = |wanted: &[Feature]| wanted.iter().all(|&f| features.has(f));
            return match all(&[Feature::Vaes, Feature::Vpclmul, Feature::Avx2]) {
                true if features.has(Feature::Avx512) => Level::Vector512,
                true => Level::Vector256,
                false => Level::Single,
            };
        }
    }
    Level::Library
}

/// Calls a kernel of the width that a key's level is; it must be one of the vectors'.
#[cfg(target_arch = "x86_64")]
macro_rules! wide {
    ($key:expr, $function:ident($($argument:expr),*)) => {
        if $key.widest() {
            adjunct_kernels::aes::vaes512::$function($($argument),*)
        } else {
            adjunct_kernels::aes::vaes256::$function($($argument),*)
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use wide;

/// An AES key schedule, for one direction; lies inline in whatever holds it and is wiped when dropped.
///
/// The first 244 bytes are AWS-LC's `AES_KEY`.
#[repr(C, align(16))]
#[derive(Clone)]
pub struct AesKey {
    words: MaybeUninit<[[u8; 16]; 15]>,
    library_rounds: u32,
    /// How many blocks of the words are round keys: none before a key is set.
    round_keys: u8,
    level: Level,
    given: Given,
}

const _: () = assert!(std::mem::size_of::<library::Schedule>() == 244);

opaque_debug!(AesKey);

impl Drop for AesKey {
    #[inline]
    fn drop(&mut self) {
        wipe(self.words.write([[0; 16]; 15]).as_flattened_mut());
    }
}

impl Default for AesKey {
    #[inline]
    fn default() -> AesKey {
        AesKey {
            // Not written twice: that takes as long as a block.
            words: MaybeUninit::uninit(),
            library_rounds: 0,
            round_keys: 0,
            level: Level::Library,
            given: Given::default(),
        }
    }
}

impl AesKey {
    /// Sets the key for encryption (also for the decryption of all modes but ECB, CBC and XTS).
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    #[inline]
    pub fn set_encrypt(&mut self, key: &[u8]) -> Result<(), Error> {
        self.set(key, true)
    }

    /// Sets the key for decryption.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    #[inline]
    pub fn set_decrypt(&mut self, key: &[u8]) -> Result<(), Error> {
        self.set(key, false)
    }

    #[inline]
    fn set(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error> {
        if !matches!(key.len(), 16 | 24 | 32) {
            return Err(Error::Length { what: "AES key", got: key.len(), expected: "16, 24 or 32" });
        }
        self.level = level();
        self.given.set(Cipher::aes(key.len()), key);
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            let number = unsafe {
                if encrypt { key::expand(key, &mut self.words) } else { key::expand_inverse(key, &mut self.words) }
            };
            self.round_keys = number as u8;
            // As the library's own code on AES-NI has it, whose schedule is the plain round keys.
            self.library_rounds = (key.len() / 4 + 5) as u32;
            return Ok(());
        }
        // Before the library chooses a schedule, so that it is the one for the code that will run.
        crate::features();
        // SAFETY: the schedule has the library's layout.
        let done = unsafe { library::set((&raw mut *self).cast(), key, encrypt) };
        if done { Ok(()) } else { Err(Error::Failed("AES key schedule")) }
    }

    pub(crate) fn raw(&self) -> *const library::Schedule {
        (&raw const *self).cast()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn keys(&self) -> &[[u8; 16]] {
        // SAFETY: so many have been written.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.round_keys.into()) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn single(&self) -> bool {
        self.level != Level::Library
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn vector(&self) -> bool {
        matches!(self.level, Level::Vector256 | Level::Vector512)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn widest(&self) -> bool {
        self.level == Level::Vector512
    }

    /// Encrypts one block; the key must be an encryption key.
    #[inline]
    pub fn encrypt_block(&self, block: &mut Block) {
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return unsafe { ni::encrypt_block(self.keys(), block) };
        }
        if self.given.ecb(true, &mut InOut::in_place(block)) {
            return;
        }
        // SAFETY: the key is one for this direction.
        unsafe { library::block(self.raw(), true, block) };
    }

    /// Decrypts one block; the key must be a decryption key.
    #[inline]
    pub fn decrypt_block(&self, block: &mut Block) {
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return unsafe { ni::decrypt_block(self.keys(), block) };
        }
        if self.given.ecb(false, &mut InOut::in_place(block)) {
            return;
        }
        // SAFETY: the key is one for this direction.
        unsafe { library::block(self.raw(), false, block) };
    }

    /// ECB over whole blocks, in the direction of the key.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    #[inline]
    pub fn ecb(&self, encrypt: bool, mut io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        #[cfg(target_arch = "x86_64")]
        // SAFETY: whole blocks; the instructions are in force.
        unsafe {
            if self.single() && io.len() == BLOCK {
                return ni::ecb_block(self.keys(), encrypt, io);
            }
            if self.vector() {
                return wide!(self, ecb(self.keys(), encrypt, io));
            }
        }
        if self.given.ecb(encrypt, &mut io) {
            return;
        }
        self.ecb_narrow(encrypt, io);
    }

    fn ecb_narrow(&self, encrypt: bool, io: InOut<'_>) {
        if io.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: whole blocks; AES-NI is in force.
            return unsafe { library::ecb_by_instructions(self.raw(), encrypt, io) };
        }
        // SAFETY: the key is one for this direction.
        unsafe { library::ecb(self.raw(), encrypt, io) };
    }

    /// CBC over whole blocks, in the direction of the key; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    #[inline]
    pub fn cbc(&self, encrypt: bool, iv: &mut Block, mut io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instructions are in force.
        unsafe {
            if self.single() && encrypt {
                return ni::cbc_encrypt(self.keys(), iv, io);
            }
            if self.single() && io.len() == BLOCK {
                return ni::cbc_decrypt_block(self.keys(), iv, io);
            }
            if self.vector() {
                return wide!(self, cbc_decrypt(self.keys(), iv, io));
            }
        }
        if self.given.cbc(encrypt, iv, &mut io) {
            return;
        }
        self.cbc_narrow(encrypt, iv, io);
    }

    fn cbc_narrow(&self, encrypt: bool, iv: &mut Block, io: InOut<'_>) {
        if io.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: whole blocks; AES-NI is in force, which encryption would have taken already.
            return unsafe { library::cbc_decrypt_by_instructions(self.raw(), iv, io) };
        }
        // SAFETY: the key is one for this direction.
        unsafe { library::cbc(self.raw(), encrypt, iv, io) };
    }

    /// Takes whole blocks into a CBC-MAC; the key must be an encryption key.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    #[inline]
    pub(crate) fn absorb(&self, mac: &mut Block, blocks: &[u8]) {
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return unsafe { ccm::absorb(self.keys(), mac, blocks) };
        }
        if self.given.absorb(mac, blocks) {
            return;
        }
        let (blocks, rest) = blocks.as_chunks::<BLOCK>();
        assert!(rest.is_empty());
        if let [block] = blocks {
            xor(mac, block);
            return self.encrypt_block(mac);
        }
        let mut scratch = [[0; BLOCK]; 64];
        for part in blocks.chunks(scratch.len()) {
            let io = InOut::apart(part.as_flattened(), scratch[..part.len()].as_flattened_mut());
            // SAFETY: the key is one for encryption.
            unsafe { library::cbc(self.raw(), true, mac, io) };
        }
        wipe(scratch.as_flattened_mut());
    }

    /// Takes one block into a CBC-MAC, given as a number whose lowest byte is the first: one that has been put together need not go
    /// through memory.
    #[inline]
    pub(crate) fn absorb_one(&self, mac: &mut Block, block: u128) {
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return unsafe { ccm::absorb_one(self.keys(), mac, block) };
        }
        self.absorb(mac, &block.to_le_bytes());
    }

    /// The CBC-MAC of whole blocks and a last one, given as a number whose lowest byte is the first. `None` where it takes no other way than
    /// [`AesKey::absorb`].
    #[inline]
    pub(crate) fn mac(&self, blocks: &[u8], last: u128) -> Option<Block> {
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return Some(unsafe { ccm::whole(self.keys(), blocks, last) });
        }
        let _ = (blocks, last);
        None
    }

    /// CTR with a big-endian counter of 128 bits. `keystream` holds a begun block of which `used` bytes have been
    /// used (0: none).
    ///
    /// # Panics
    /// If `used` is not below 16.
    #[inline]
    pub fn ctr(&self, counter: &mut Block, keystream: &mut Block, used: &mut u32, io: InOut<'_>) {
        #[cfg(target_arch = "x86_64")]
        if *used == 0 && self.single() {
            // The common cases, without detours: a block, and whole blocks.
            // SAFETY: the instructions are in force.
            unsafe {
                if io.len() == BLOCK {
                    return ni::ctr_block(self.keys(), counter, io);
                }
                if self.vector() && io.len().is_multiple_of(BLOCK) {
                    return wide!(self, ctr(self.keys(), counter, io));
                }
            }
        }
        self.ctr_any(counter, keystream, used, io);
    }

    fn ctr_any(&self, counter: &mut Block, keystream: &mut Block, used: &mut u32, mut io: InOut<'_>) {
        assert!((*used as usize) < BLOCK);
        if self.has_ctr() {
            if *used > 0 {
                let (mut head, rest) = io.split_head(BLOCK - *used as usize);
                head.xor(&keystream[*used as usize..]);
                *used = (*used + head.len() as u32) % BLOCK as u32;
                io = rest;
            }
            let (mut whole, mut tail) = io.split_whole(BLOCK);
            self.given.ctr(counter, &mut whole);
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instructions are in force.
            unsafe {
                match whole.len() {
                    0 => {}
                    BLOCK => ni::ctr_block(self.keys(), counter, whole),
                    _ if self.vector() => wide!(self, ctr(self.keys(), counter, whole)),
                    _ => ni::ctr(self.keys(), counter, whole),
                }
            }
            if !tail.is_empty() {
                *keystream = *counter;
                self.encrypt_block(keystream);
                *counter = u128::from_be_bytes(*counter).wrapping_add(1).to_be_bytes();
                tail.xor(keystream);
                *used = tail.len() as u32;
            }
            return;
        }
        if io.is_empty() {
            return;
        }
        // SAFETY: CTR takes an encryption key.
        unsafe { library::ctr(self.raw(), counter, keystream, used, io) };
    }

    /// Whether CTR runs on instructions, over whole blocks.
    #[inline]
    fn has_ctr(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.single();
        #[cfg(not(target_arch = "x86_64"))]
        self.given.has(Instruction::Kmctr)
    }

    /// The key as CPACF takes it.
    #[inline]
    pub(crate) fn given(&self) -> &Given {
        &self.given
    }

    /// CTR with a list of counters, as long as the message, up to whole blocks.
    ///
    /// # Panics
    /// If the list is shorter.
    pub fn ctr_list(&self, list: &[u8], io: InOut<'_>) {
        let (mut whole, mut tail) = io.split_whole(BLOCK);
        let (counters, last) = list.split_at(whole.len());
        if !tail.is_empty() {
            let mut stream: Block = last[..BLOCK].try_into().expect("a block");
            self.encrypt_block(&mut stream);
            tail.xor(&stream);
            wipe(&mut stream);
        }
        #[cfg(target_arch = "x86_64")]
        if self.vector() {
            // SAFETY: the instructions are in force.
            return unsafe { wide!(self, ctr_list(self.keys(), counters, whole)) };
        }
        if self.given.counters(counters, &mut whole) {
            return;
        }
        let mut stream = [0; 1024];
        for counters in counters.chunks(stream.len()) {
            let (mut now, later) = whole.split_head(counters.len());
            self.ecb(true, InOut::apart(counters, &mut stream[..counters.len()]));
            now.xor(&stream);
            whole = later;
        }
        wipe(&mut stream);
    }
}

/// Adds one block to another.
#[inline]
pub(crate) fn xor(block: &mut Block, with: &Block) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*with)).to_ne_bytes();
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::*;
    use aws_lc_sys as lc;

    /// The schedule has AWS-LC's layout: its functions take it for one of theirs.
    #[test]
    fn the_layout_is_the_library_s() {
        for length in [16, 24, 32] {
            let bytes: Vec<u8> = (0..length).map(|i| i * 41 + 7).collect();
            for (encrypt, set) in [
                (true, lc::AES_set_encrypt_key as unsafe extern "C" fn(_, _, _) -> _),
                (false, lc::AES_set_decrypt_key),
            ] {
                let (mut ours, mut theirs) = (AesKey::default(), lc::AES_KEY { rd_key: [0; 60], rounds: 0 });
                ours.set(&bytes, encrypt).expect("a key");
                // SAFETY: a key of that length.
                assert_eq!(unsafe { set(bytes.as_ptr(), u32::from(length) * 8, &raw mut theirs) }, 0);
                assert_eq!(ours.library_rounds, theirs.rounds);
                let words = theirs.rd_key.map(u32::to_ne_bytes);
                assert_eq!(ours.keys(), &words.as_flattened().as_chunks().0[..ours.keys().len()]);
            }
        }
    }
}
