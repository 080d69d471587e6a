//! ChaCha20 as a stream, and ChaCha20-Poly1305 (RFC 8439).

#[cfg(target_arch = "x86_64")]
use crate::cpu;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::chacha;
use aws_lc_sys as lc;
use zeroize::Zeroize;

/// The block length of ChaCha20 in bytes.
pub const BLOCK: usize = 64;
/// The key length in bytes.
pub const KEY: usize = 32;
/// The length of the counter block in bytes: 32 bits of counter and the nonce, little-endian words.
pub const COUNTER: usize = 16;
/// The length of a Poly1305 tag in bytes.
pub const TAG: usize = 16;

/// ChaCha20 with its key and place in the stream; wiped when dropped.
#[derive(Clone)]
pub struct ChaCha20 {
    key: [u8; KEY],
    counter: [u32; 4],
    stream: [u8; BLOCK],
    /// Bytes of `stream` used up; 0 where none is begun.
    used: usize,
}

impl std::fmt::Debug for ChaCha20 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChaCha20").finish_non_exhaustive()
    }
}

impl Default for ChaCha20 {
    fn default() -> ChaCha20 {
        ChaCha20 { key: [0; KEY], counter: [0; 4], stream: [0; BLOCK], used: 0 }
    }
}

impl Drop for ChaCha20 {
    fn drop(&mut self) {
        self.key.zeroize();
        self.counter.zeroize();
        self.stream.zeroize();
    }
}

impl ChaCha20 {
    /// Sets the key; what is left of a begun block is dropped.
    pub fn set_key(&mut self, key: &[u8; KEY]) {
        self.key = *key;
        self.used = 0;
    }

    /// Sets counter and nonce.
    pub fn set_counter(&mut self, counter: &[u8; COUNTER]) {
        for (word, bytes) in self.counter.iter_mut().zip(counter.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        self.used = 0;
    }

    /// Counter and nonce of the block that is begun, else of the next.
    pub fn counter(&self) -> [u8; COUNTER] {
        let mut bytes = [0; COUNTER];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.counter) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Encrypts or decrypts.
    pub fn apply(&mut self, mut io: InOut<'_>) {
        if self.used > 0 {
            let (mut head, rest) = io.split_head(BLOCK - self.used);
            head.xor(&self.stream[self.used..]);
            self.used += head.len();
            if self.used == BLOCK {
                self.used = 0;
                self.advance(1);
            }
            io = rest;
        }
        let (mut whole, mut tail) = io.split_whole(BLOCK);
        while !whole.is_empty() {
            // The library counts in 32 bits; what overflows goes into the next word, as in OpenSSL.
            let room = (1u64 << 32) - u64::from(self.counter[0]);
            let blocks = ((whole.len() / BLOCK) as u64).min(room).min(1 << 28);
            let (part, rest) = whole.split_at(blocks as usize * BLOCK);
            run(&self.key, self.counter, part);
            self.advance(blocks as u32);
            whole = rest;
        }
        if !tail.is_empty() {
            self.begin_block();
            tail.xor(&self.stream);
            self.used = tail.len();
        }
    }

    /// Makes the next block of key stream. The counter stays on it until it is used up, as in OpenSSL 3.0.
    fn begin_block(&mut self) {
        self.stream = [0; BLOCK];
        run(&self.key, self.counter, InOut::in_place(&mut self.stream));
    }

    fn advance(&mut self, blocks: u32) {
        let (count, over) = self.counter[0].overflowing_add(blocks);
        self.counter[0] = count;
        self.counter[1] = self.counter[1].wrapping_add(over.into());
    }
}

/// Encrypts or decrypts whole blocks, the first with `counter`, whose 32 bits must not overflow within them.
fn run(key: &[u8; KEY], counter: [u32; 4], io: InOut<'_>) {
    #[cfg(target_arch = "x86_64")]
    if cpu::features().has(cpu::Feature::Avx512) {
        // SAFETY: AVX-512 is in force.
        return unsafe { chacha::blocks(key, counter, io) };
    }
    let mut nonce = [0; 12];
    for (to, word) in nonce.as_chunks_mut().0.iter_mut().zip(&counter[1..]) {
        *to = word.to_le_bytes();
    }
    // SAFETY: the key has 32 bytes and the nonce 12; the buffers have the length given.
    unsafe { lc::CRYPTO_chacha_20(io.output(), io.input(), io.len(), key.as_ptr(), nonce.as_ptr(), counter[0]) };
}

/// Poly1305 under a one-time key.
#[repr(C, align(64))]
#[derive(Clone)]
struct Poly1305(lc::poly1305_state);

impl Poly1305 {
    fn update(&mut self, data: *const u8, len: usize) {
        // SAFETY: begun in ChaCha20Poly1305::begin; the caller passes a buffer of that length.
        unsafe { lc::CRYPTO_poly1305_update(&mut self.0, data, len) };
    }

    fn pad(&mut self, length: u64) {
        let rest = (length % 16) as usize;
        if rest > 0 {
            self.update([0u8; 16].as_ptr(), 16 - rest);
        }
    }
}

/// ChaCha20-Poly1305 as a stream; wiped when dropped.
#[derive(Clone)]
pub struct ChaCha20Poly1305 {
    cipher: ChaCha20,
    poly: Poly1305,
    aad: u64,
    message: u64,
    begun: bool,
    in_message: bool,
}

impl std::fmt::Debug for ChaCha20Poly1305 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChaCha20Poly1305").finish_non_exhaustive()
    }
}

impl Default for ChaCha20Poly1305 {
    fn default() -> ChaCha20Poly1305 {
        ChaCha20Poly1305 {
            cipher: ChaCha20::default(),
            poly: Poly1305([0; 512]),
            aad: 0,
            message: 0,
            begun: false,
            in_message: false,
        }
    }
}

impl Drop for ChaCha20Poly1305 {
    fn drop(&mut self) {
        self.poly.0.zeroize();
    }
}

impl ChaCha20Poly1305 {
    /// Sets the key; a message begun is dropped.
    pub fn set_key(&mut self, key: &[u8; KEY]) {
        self.cipher.set_key(key);
        self.begun = false;
    }

    /// Sets the nonce; a message begun is dropped.
    pub fn set_nonce(&mut self, nonce: &[u8; 12]) {
        let mut counter = [0; COUNTER];
        counter[4..].copy_from_slice(nonce);
        self.cipher.set_counter(&counter);
        self.begun = false;
    }

    fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.cipher.counter[0] = 0;
        self.cipher.begin_block();
        (self.cipher.counter[0], self.cipher.used) = (1, 0);
        // SAFETY: the one-time key is the first 32 bytes of the block.
        unsafe { lc::CRYPTO_poly1305_init(&mut self.poly.0, self.cipher.stream.as_ptr()) };
        (self.aad, self.message) = (0, 0);
        (self.begun, self.in_message) = (true, false);
    }

    /// Takes additional data.
    pub fn aad(&mut self, data: &[u8]) {
        self.begin();
        self.poly.update(data.as_ptr(), data.len());
        self.aad += data.len() as u64;
    }

    /// Encrypts or decrypts the next piece of the message.
    pub fn message(&mut self, encrypt: bool, mut io: InOut<'_>) {
        self.begin();
        if !self.in_message {
            self.poly.pad(self.aad);
            self.in_message = true;
        }
        self.message += io.len() as u64;
        // A piece at a time, so that what one half has written the other finds in the cache.
        while !io.is_empty() {
            let (part, rest) = io.split_head(8192);
            let (input, output, len) = (part.input(), part.output(), part.len());
            if !encrypt {
                self.poly.update(input, len);
            }
            self.cipher.apply(part);
            if encrypt {
                self.poly.update(output, len);
            }
            io = rest;
        }
    }

    /// Ends the message and gives its tag.
    pub fn tag(&mut self) -> [u8; TAG] {
        self.begin();
        if !self.in_message {
            self.poly.pad(self.aad);
        }
        self.poly.pad(self.message);
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&self.aad.to_le_bytes());
        lengths[8..].copy_from_slice(&self.message.to_le_bytes());
        self.poly.update(lengths.as_ptr(), 16);
        let mut tag = [0; TAG];
        // SAFETY: the tag has 16 bytes.
        unsafe { lc::CRYPTO_poly1305_finish(&mut self.poly.0, tag.as_mut_ptr()) };
        self.begun = false;
        tag
    }
}
