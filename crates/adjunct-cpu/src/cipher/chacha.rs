//! ChaCha20 as a stream, and ChaCha20-Poly1305 (RFC 8439).

use super::poly1305::Poly1305;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::chacha;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroize;

/// The block length of ChaCha20 in bytes.
pub const BLOCK: usize = 64;
/// The key length in bytes.
pub const KEY: usize = 32;
/// The length of the counter block in bytes: 32 bits of counter and the nonce, little-endian words.
pub const COUNTER: usize = 16;
/// The length of a Poly1305 tag in bytes.
pub const TAG: usize = 16;
/// The bytes that are encrypted and then authenticated, or the other way, at a time: a first-level cache holds them twice.
const PIECE: usize = 8192;
/// Key stream made ahead at most, in bytes.
const AHEAD: usize = 8 * BLOCK;

/// The treatment of a begun block when another key is set without a counter, which differs between versions of OpenSSL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// The begun block comes again. A block that a piece of its own has ended counts as begun until more is asked for (OpenSSL up to 3.5).
    Again,
    /// The remainder of the begun block is passed over (OpenSSL 3.6 and later).
    Over,
}

/// ChaCha20 with its key and place in the stream; wiped when dropped.
///
/// Several blocks take little longer than one, so short pieces are served from key stream made ahead: more of it where
/// pieces follow each other.
#[derive(Clone)]
pub struct ChaCha20 {
    key: [u8; KEY],
    /// Counter and nonce of the block after those of `stream`.
    counter: [u32; 4],
    stream: [u8; AHEAD],
    /// Bytes of `stream` that are used up, and (`made`) those that were made.
    used: usize,
    made: usize,
    /// Whether no piece has come since counter and nonce were set.
    first: bool,
    /// Whether the last piece has ended a block that one before it had begun.
    ended: bool,
}

opaque_debug!(ChaCha20);

impl Default for ChaCha20 {
    fn default() -> ChaCha20 {
        ChaCha20 { key: [0; KEY], counter: [0; 4], stream: [0; AHEAD], used: 0, made: 0, first: true, ended: false }
    }
}

impl Drop for ChaCha20 {
    fn drop(&mut self) {
        self.key.zeroize();
        self.counter.zeroize();
        // Byte by byte, as for the others, this much takes long.
        self.stream.fill(0);
        std::hint::black_box(&mut self.stream);
    }
}

impl ChaCha20 {
    /// Sets the key; what is left of a begun block is dropped, and the block comes again ([`Begun::Again`]).
    #[inline]
    pub fn set_key(&mut self, key: &[u8; KEY]) {
        self.settle(Begun::Again);
        self.key = *key;
    }

    /// Drops the key stream made ahead; what comes next is the block begun, or the one after it.
    #[inline]
    pub fn settle(&mut self, begun: Begun) {
        self.counter = self.place(begun);
        (self.used, self.made, self.ended) = (0, 0, false);
    }

    /// Whether [`Begun`] makes a difference here.
    #[inline]
    pub fn is_begun(&self) -> bool {
        self.ended || !self.used.is_multiple_of(BLOCK)
    }

    /// Sets counter and nonce.
    pub fn set_counter(&mut self, counter: &[u8; COUNTER]) {
        for (word, bytes) in self.counter.iter_mut().zip(counter.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        (self.used, self.made, self.ended) = (0, 0, false);
        self.first = true;
    }

    /// Counter and nonce of the block that comes next if another key is set. As in OpenSSL, what overflows 32 bits goes into the next
    /// word.
    fn place(&self, begun: Begun) -> [u32; 4] {
        let [low, high, rest @ ..] = self.counter;
        let left = self.made - self.used;
        let ahead = match begun {
            Begun::Again => left.div_ceil(BLOCK) as u64 + u64::from(self.ended),
            Begun::Over => (left / BLOCK) as u64,
        };
        let count = (u64::from(high) << 32 | u64::from(low)).wrapping_sub(ahead);
        [count as u32, (count >> 32) as u32, rest[0], rest[1]]
    }

    /// Counter and nonce of the block that is begun, or of the one after it; else of the next.
    pub fn counter(&self, begun: Begun) -> [u8; COUNTER] {
        let mut bytes = [0; COUNTER];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.place(begun)) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Encrypts or decrypts.
    #[inline]
    pub fn apply(&mut self, io: InOut<'_>) {
        let (begun, length) = (self.used % BLOCK, io.len());
        self.run(io);
        self.first = false;
        self.ended = begun > 0 && begun + length == BLOCK || self.ended && length == 0;
    }

    fn run(&mut self, mut io: InOut<'_>) {
        loop {
            if self.used < self.made {
                let (mut head, rest) = io.split_head(self.made - self.used);
                head.xor(&self.stream[self.used..self.made]);
                self.used += head.len();
                io = rest;
            }
            if io.is_empty() {
                return;
            }
            let blocks = self.at_once(io.len());
            if blocks > 0 {
                let (part, rest) = io.split_at(blocks * BLOCK);
                run(&self.key, self.counter, part);
                self.advance(blocks as u32);
                io = rest;
            } else {
                self.make(io.len());
            }
        }
    }

    /// Number of whole blocks of `length` bytes to do at once, without key stream made ahead.
    fn at_once(&self, length: usize) -> usize {
        let mut blocks = length / BLOCK;
        if wide() && self.first && length == BLOCK {
            // By itself a block is soonest there as key stream.
            return 0;
        }
        if wide() && !self.first && blocks % 16 < 8 {
            // The kernel takes 16, or up to 12 by fours. Of fewer than 8 key stream made ahead serves the next piece, too.
            blocks -= blocks % 8;
        }
        // The library counts in 32 bits.
        let room = (1u64 << 32) - u64::from(self.counter[0]);
        (blocks as u64).min(room).min(1 << 28) as usize
    }

    /// Makes key stream ahead, at least a block, for a piece of `length` bytes.
    fn make(&mut self, length: usize) {
        let blocks = match wide() {
            // The library counts in 32 bits.
            true if self.counter[0] > u32::MAX - 8 => 1,
            true if self.first && length <= BLOCK => 1,
            true if self.first => 4,
            true => 8,
            false => 1,
        };
        (self.used, self.made) = (0, blocks * BLOCK);
        self.fill(blocks);
        self.advance(blocks as u32);
    }

    /// Fills the first 1, 4 or 8 blocks of `stream`; more than 1 by our kernel.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    fn fill(&mut self, blocks: usize) {
        #[cfg(target_arch = "x86_64")]
        if let (4, Some((four, _))) = (blocks, self.stream.split_first_chunk_mut()) {
            // SAFETY: only where AVX-512 is in force are more blocks than one asked for (`wide` in `make`).
            return unsafe { chacha::four(&self.key, self.counter, four) };
        } else if blocks == 8 {
            // SAFETY: only where AVX-512 is in force are more blocks than one asked for (`wide` in `make`).
            return unsafe { chacha::eight(&self.key, self.counter, &mut self.stream) };
        }
        #[cfg(target_arch = "x86_64")]
        if let (true, Some((one, _))) = (wide(), self.stream.split_first_chunk_mut()) {
            // SAFETY: AVX-512, VL included, is in force.
            return unsafe { chacha::one(&self.key, self.counter, one) };
        }
        self.stream[..BLOCK].fill(0);
        run(&self.key, self.counter, InOut::in_place(&mut self.stream[..BLOCK]));
    }

    fn advance(&mut self, blocks: u32) {
        let (count, over) = self.counter[0].overflowing_add(blocks);
        self.counter[0] = count;
        self.counter[1] = self.counter[1].wrapping_add(over.into());
    }
}

/// Whether our kernel serves.
#[inline]
fn wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return crate::features().has(adjunct_base::catalogue::Feature::Avx512);
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Encrypts or decrypts whole blocks, the first with `counter`, whose 32 bits must not overflow within them.
fn run(key: &[u8; KEY], counter: [u32; 4], io: InOut<'_>) {
    #[cfg(target_arch = "x86_64")]
    if wide() {
        // SAFETY: AVX-512 is in force.
        return unsafe { chacha::blocks(key, counter, io) };
    }
    let mut nonce = [0; 12];
    for (to, word) in nonce.as_chunks_mut().0.iter_mut().zip(&counter[1..]) {
        *to = word.to_le_bytes();
    }
    crate::awslc::chacha::blocks(key, counter[0], &nonce, io);
}

/// ChaCha20-Poly1305 as a stream; wiped when dropped.
#[derive(Clone, Default)]
pub struct ChaCha20Poly1305 {
    cipher: ChaCha20,
    poly: Poly1305,
    aad: u64,
    message: u64,
    begun: bool,
    in_message: bool,
}

opaque_debug!(ChaCha20Poly1305);

impl ChaCha20Poly1305 {
    /// Sets the key; a message begun is dropped.
    #[inline]
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
        (self.cipher.counter[0], self.cipher.first) = (0, false);
        self.cipher.make(usize::MAX);
        // The one-time key is the first 32 bytes of block 0; the message's own blocks follow it.
        if let Some(key) = self.cipher.stream.first_chunk() {
            self.poly.restart(key);
        }
        self.cipher.used = BLOCK;
        (self.aad, self.message) = (0, 0);
        (self.begun, self.in_message) = (true, false);
    }

    /// Takes additional data.
    #[inline]
    pub fn aad(&mut self, data: &[u8]) {
        self.begin();
        self.poly.update(data);
        self.aad += data.len() as u64;
    }

    /// Encrypts or decrypts the next piece of the message.
    pub fn message(&mut self, encrypt: bool, mut io: InOut<'_>) {
        self.begin();
        if !self.in_message {
            self.poly.pad();
            self.in_message = true;
        }
        self.message += io.len() as u64;
        // A piece at a time, so that what one half has written the other finds in the cache.
        while !io.is_empty() {
            let (part, rest) = io.split_head(PIECE);
            let (input, output, len) = (part.input(), part.output(), part.len());
            if !encrypt {
                // SAFETY: the input has that length; nothing writes while it is read.
                self.poly.update(unsafe { std::slice::from_raw_parts(input, len) });
            }
            self.cipher.apply(part);
            if encrypt {
                // SAFETY: the output has that length and has just been written; nothing writes it while it is read.
                self.poly.update(unsafe { std::slice::from_raw_parts(output, len) });
            }
            io = rest;
        }
    }

    /// Ends the message and gives its tag.
    #[inline]
    pub fn tag(&mut self) -> [u8; TAG] {
        self.begin();
        self.poly.pad();
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&self.aad.to_le_bytes());
        lengths[8..].copy_from_slice(&self.message.to_le_bytes());
        self.poly.update(&lengths);
        self.begun = false;
        self.poly.finish()
    }
}
