//! AES in the modes with feedback: CFB and OFB (SP 800-38A).

#[cfg(target_arch = "x86_64")]
use super::aes::wide;
use super::aes::{AesKey, BLOCK, Block};
use super::stream;
use crate::awslc::aes as library;
use adjunct_kernels::InOut;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::aes::ni;
use adjunct_kernels::cpacf::Instruction;

impl AesKey {
    /// CFB with whole-block segments; a begun one continues at byte `used` of `iv`.
    ///
    /// # Panics
    /// If `used` is not below 16.
    #[inline]
    pub fn cfb(&self, encrypt: bool, iv: &mut Block, used: &mut u32, io: InOut<'_>) {
        #[cfg(target_arch = "x86_64")]
        if *used == 0 && self.single() {
            // The common cases, without detours: a block, and whole blocks to decrypt.
            // SAFETY: the instructions are in force.
            unsafe {
                if io.len() == BLOCK {
                    return ni::cfb_block(self.keys(), encrypt, iv, io);
                }
                if !encrypt && self.vector() && io.len().is_multiple_of(BLOCK) {
                    return wide!(self, cfb_decrypt(self.keys(), iv, io));
                }
            }
        }
        self.cfb_any(encrypt, iv, used, io);
    }

    fn cfb_any(&self, encrypt: bool, iv: &mut Block, used: &mut u32, io: InOut<'_>) {
        let segment = |iv: &mut Block, at: usize, io: &mut InOut<'_>| {
            for (i, v) in iv[at..].iter_mut().enumerate().take(io.len()) {
                let input = io.get(i);
                io.set(i, input ^ *v);
                *v = if encrypt { input ^ *v } else { input };
            }
        };
        self.segments(iv, used, io, segment, |iv, mut io| {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the instructions are in force.
            unsafe {
                if self.single() && encrypt {
                    return ni::cfb_encrypt(self.keys(), iv, io);
                }
                if self.vector() && io.len() > BLOCK {
                    return wide!(self, cfb_decrypt(self.keys(), iv, io));
                }
                if self.single() {
                    return ni::cfb_decrypt(self.keys(), iv, io);
                }
            }
            if self.given().cfb(encrypt, BLOCK, iv, &mut io) {
                return;
            }
            // SAFETY: CFB takes an encryption key.
            unsafe { library::cfb(self.raw(), encrypt, iv, io) };
        });
    }

    /// OFB; a begun block of key stream continues at byte `used` of `iv`.
    ///
    /// # Panics
    /// If `used` is not below 16.
    pub fn ofb(&self, iv: &mut Block, used: &mut u32, io: InOut<'_>) {
        let segment = |iv: &mut Block, at: usize, io: &mut InOut<'_>| io.xor(&iv[at..]);
        self.segments(iv, used, io, segment, |iv, mut io| {
            #[cfg(target_arch = "x86_64")]
            if self.single() {
                // SAFETY: the instructions are in force.
                return unsafe { ni::ofb(self.keys(), iv, io) };
            }
            if self.given().ofb(iv, &mut io) {
                return;
            }
            // SAFETY: OFB takes an encryption key.
            unsafe { library::ofb(self.raw(), iv, io) };
        });
    }

    /// A begun segment, whole ones, the beginning of one more.
    #[inline]
    fn segments(
        &self,
        iv: &mut Block,
        used: &mut u32,
        mut io: InOut<'_>,
        segment: impl Fn(&mut Block, usize, &mut InOut<'_>),
        whole: impl FnOnce(&mut Block, InOut<'_>),
    ) {
        let begun = *used as usize;
        assert!(begun < BLOCK);
        if begun > 0 {
            let (mut head, rest) = io.split_head(BLOCK - begun);
            segment(iv, begun, &mut head);
            *used = ((begun + head.len()) % BLOCK) as u32;
            io = rest;
        }
        let (blocks, mut tail) = io.split_whole(BLOCK);
        if !blocks.is_empty() {
            whole(iv, blocks);
        }
        if !tail.is_empty() {
            self.encrypt_block(iv);
            segment(iv, 0, &mut tail);
            *used = tail.len() as u32;
        }
    }

    /// CFB with segments of 8 bits.
    #[inline]
    pub fn cfb8(&self, encrypt: bool, iv: &mut Block, mut io: InOut<'_>) {
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return unsafe { ni::cfb8(self.keys(), encrypt, iv, io) };
        }
        if self.given().cfb(encrypt, 1, iv, &mut io) {
            return;
        }
        // SAFETY: CFB takes an encryption key.
        unsafe { library::cfb8(self.raw(), encrypt, iv, io) };
    }

    /// CFB with segments of one bit, over `bits` bits, the highest of a byte first.
    ///
    /// # Panics
    /// If the buffers hold fewer.
    pub fn cfb1(&self, encrypt: bool, iv: &mut Block, bits: usize, io: InOut<'_>) {
        assert!(bits.div_ceil(8) <= io.len());
        #[cfg(target_arch = "x86_64")]
        if self.single() {
            // SAFETY: AES-NI is in force.
            return unsafe { ni::cfb1(self.keys(), encrypt, iv, bits, io) };
        }
        if self.given().has(Instruction::Km) {
            return stream::cfb1(encrypt, iv, bits, io, |io| self.ecb(true, io));
        }
        // SAFETY: CFB takes an encryption key; the buffers hold that many bits.
        unsafe { library::cfb1(self.raw(), encrypt, iv, bits, io) };
    }
}
