//! AES and DES by CPACF. Its instructions take the key as it is, and keep none between calls.

use super::Here;
use adjunct_kernels::InOut;
use adjunct_kernels::cpacf::{Cipher, Instruction, Refused};

/// A key as it was given; wiped when dropped. Each method says whether there was a function for it, and all was done; else
/// nothing was. Where there is no CPACF it holds nothing.
#[derive(Clone, Default)]
pub(crate) struct Given {
    #[cfg(target_arch = "s390x")]
    key: Option<CpacfKey>,
}

#[cfg(target_arch = "s390x")]
#[derive(Clone)]
struct CpacfKey {
    cipher: Cipher,
    bytes: [u8; 32],
}

#[cfg(target_arch = "s390x")]
impl Drop for CpacfKey {
    fn drop(&mut self) {
        adjunct_kernels::wipe(&mut self.bytes);
    }
}

impl Given {
    /// Sets a key, which is as long as the cipher's.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "s390x"), expect(unused_variables))]
    pub(crate) fn set(&mut self, cipher: Option<Cipher>, key: &[u8]) {
        #[cfg(target_arch = "s390x")]
        {
            self.key = cipher.map(|cipher| CpacfKey { cipher, bytes: [0; 32] });
            if let Some(to) = &mut self.key {
                to.bytes[..key.len()].copy_from_slice(key);
            }
        }
    }

    #[inline(always)]
    fn held(&self) -> Option<(Here, Cipher, &[u8])> {
        #[cfg(target_arch = "s390x")]
        if let (Some(here), Some(key)) = (super::here(), &self.key) {
            return Some((here, key.cipher, &key.bytes[..key.cipher.key_length()]));
        }
        None
    }

    /// Whether `instruction` has the cipher.
    #[inline]
    pub(crate) fn has(&self, instruction: Instruction) -> bool {
        self.held().is_some_and(|(here, cipher, _)| here.functions().has(instruction, cipher.code()))
    }

    #[inline]
    fn run(&self, work: impl FnOnce(Here, Cipher, &[u8]) -> Result<(), Refused>) -> bool {
        self.held().is_some_and(|(here, cipher, key)| done(work(here, cipher, key)))
    }

    /// ECB over whole blocks.
    #[inline]
    pub(crate) fn ecb(&self, encrypt: bool, io: &mut InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.ecb(cipher, key, encrypt, io.reborrow()))
    }

    /// CBC over whole blocks.
    #[inline]
    pub(crate) fn cbc(&self, encrypt: bool, iv: &mut [u8], io: &mut InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.cbc(cipher, key, encrypt, iv, io.reborrow()))
    }

    /// CFB over whole segments.
    #[inline]
    pub(crate) fn cfb(&self, encrypt: bool, segment: usize, iv: &mut [u8], io: &mut InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.cfb(cipher, key, encrypt, segment, iv, io.reborrow()))
    }

    /// OFB over whole blocks.
    #[inline]
    pub(crate) fn ofb(&self, iv: &mut [u8], io: &mut InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.ofb(cipher, key, iv, io.reborrow()))
    }

    /// CTR over whole blocks.
    #[inline]
    pub(crate) fn ctr(&self, counter: &mut [u8], io: &mut InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.ctr(cipher, key, counter, io.reborrow()))
    }

    /// CTR over whole blocks, with a counter given for each.
    #[inline]
    pub(crate) fn counters(&self, counters: &[u8], io: &mut InOut<'_>) -> bool {
        self.run(|assist, cipher, key| assist.counters(cipher, key, counters, io.reborrow()))
    }

    /// A CBC-MAC over whole blocks.
    #[inline]
    pub(crate) fn absorb(&self, mac: &mut [u8], blocks: &[u8]) -> bool {
        self.run(|assist, cipher, key| assist.cmac(cipher, key, mac, blocks))
    }

    /// The end of a CMAC.
    #[inline]
    pub(crate) fn cmac_last(&self, mac: &mut [u8], last: &[u8]) -> bool {
        self.run(|assist, cipher, key| assist.cmac_last(cipher, key, mac, last))
    }

    /// XTS over whole blocks, this being the data's key, of 16 or 32 bytes.
    #[inline]
    pub(crate) fn xts(&self, encrypt: bool, tweak: &mut [u8; 16], io: &mut InOut<'_>) -> bool {
        self.run(|assist, _, key| assist.xts(key, encrypt, tweak, io.reborrow()))
    }

    /// Computes the tweak that a data unit begins with; `self` is the tweak's key, of the tweak's length.
    #[inline]
    pub(crate) fn tweak(&self, tweak: &mut [u8; 16]) -> bool {
        self.run(|assist, _, key| assist.xts_parameter(key, tweak).map(|made| *tweak = made))
    }
}

/// Whether an instruction worked. Callers pass only what it takes; what the processor lacks is refused before.
fn done(result: Result<(), Refused>) -> bool {
    match result {
        Ok(()) => true,
        Err(Refused::Absent) => false,
        Err(Refused::Condition(code)) => panic!("a cipher by CPACF ended with condition code {code}"),
    }
}
