//! The state of a digest as the library lays it out: its chaining value, read and set, and CPACF working on it.

use super::{Digest, MAX_CHAIN, MAX_SAVED, Method};
use crate::awslc::sha::{Keccak, Md5, SHA_CTX, SHA256_CTX, SHA512_CTX};
use crate::cpacf::digest::{Served, State};
use adjunct_base::error::Error;
use zeroize::{Zeroize, Zeroizing};

/// Length of MD5's chaining value in bytes, and ([`LENGTH`]) of a message's length as it is saved.
const MD5_CHAIN: usize = 16;
const LENGTH: usize = 16;

/// A Keccak context from which output has been taken.
const SQUEEZING: u8 = 1;

/// Methods whose states are of one type.
#[derive(Clone, Copy)]
pub(crate) enum Family {
    Sha1,
    Sha256,
    Sha512,
    Keccak,
}

impl Family {
    /// The length of a chaining value in bytes.
    const fn chain(self) -> usize {
        match self {
            Family::Sha1 => 20,
            Family::Sha256 => 32,
            Family::Sha512 => 64,
            Family::Keccak => MAX_CHAIN,
        }
    }
}

impl Method {
    /// MD5 has none.
    #[inline]
    pub(crate) fn family(&self) -> Option<Family> {
        Some(match (self.length, self.block) {
            (l, _) if l == size_of::<Keccak>() => Family::Keccak,
            (_, 128) => Family::Sha512,
            (_, 64) if self.size == 20 => Family::Sha1,
            (_, 64) if self.size != 16 => Family::Sha256,
            _ => return None,
        })
    }
}

/// A state of the type it is.
enum TypedState<'a> {
    Sha1(&'a mut SHA_CTX),
    Sha256(&'a mut SHA256_CTX),
    Sha512(&'a mut SHA512_CTX),
    Keccak(&'a mut Keccak),
}

impl TypedState<'_> {
    /// The length so far in bits; SHA-3 keeps none.
    fn bits(&self) -> u128 {
        match self {
            TypedState::Sha1(SHA_CTX { Nh: high, Nl: low, .. })
            | TypedState::Sha256(SHA256_CTX { Nh: high, Nl: low, .. }) => u128::from(*high) << 32 | u128::from(*low),
            TypedState::Sha512(c) => u128::from(c.Nh) << 64 | u128::from(c.Nl),
            TypedState::Keccak(_) => 0,
        }
    }

    fn set_bits(&mut self, bits: u128) {
        match self {
            TypedState::Sha1(SHA_CTX { Nh: high, Nl: low, .. })
            | TypedState::Sha256(SHA256_CTX { Nh: high, Nl: low, .. }) => {
                (*high, *low) = ((bits >> 32) as u32, bits as u32);
            }
            TypedState::Sha512(c) => (c.Nh, c.Nl) = ((bits >> 64) as u64, bits as u64),
            TypedState::Keccak(_) => {}
        }
    }

    /// Has CPACF work on the state.
    fn work<T>(&mut self, work: impl FnOnce(&mut State<'_>) -> T) -> T {
        fn on<T>(chain: &mut [u8], block: &mut [u8], used: &mut u32, work: impl FnOnce(&mut State<'_>) -> T) -> T {
            let mut state = State { chain, block, used: *used as usize };
            let result = work(&mut state);
            *used = state.used as u32;
            result
        }
        match self {
            TypedState::Sha1(c) => on(bytes(&mut c.h), &mut c.data, &mut c.num, work),
            TypedState::Sha256(c) => on(bytes(&mut c.h), &mut c.data, &mut c.num, work),
            TypedState::Sha512(c) => on(bytes(&mut c.h), &mut c.p, &mut c.num, work),
            TypedState::Keccak(c) => {
                let (mut lanes, mut used) = (Lanes::of(&c.state), c.buf_load as u32);
                let result = on(&mut lanes.0, &mut c.buf, &mut used, work);
                lanes.put(&mut c.state);
                c.buf_load = used as usize;
                result
            }
        }
    }
}

/// Words as the bytes that they are in memory: big-endian, as every machine with CPACF is.
fn bytes<T: Copy, const N: usize>(words: &mut [T; N]) -> &mut [u8] {
    // SAFETY: integers have no other bytes than their own.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of::<[T; N]>()) }
}

/// Keccak's lanes in the order of FIPS 202's bytes, which is the little-endian one; wiped when dropped.
struct Lanes([u8; 200]);

impl Lanes {
    fn of(lanes: &[u64; 25]) -> Lanes {
        let mut out = Lanes([0; 200]);
        out.0.as_chunks_mut().0.iter_mut().zip(lanes).for_each(|(bytes, lane)| *bytes = lane.to_le_bytes());
        out
    }

    fn put(&self, lanes: &mut [u64; 25]) {
        lanes.iter_mut().zip(self.0.as_chunks().0).for_each(|(lane, bytes)| *lane = u64::from_le_bytes(*bytes));
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<const ROOM: usize> Digest<ROOM> {
    /// `None` for MD5.
    fn context(&mut self) -> Option<TypedState<'_>> {
        let state = self.state.as_mut_ptr();
        // SAFETY: the state is initialised, and of its family's type.
        unsafe {
            Some(match self.method.family()? {
                Family::Sha1 => TypedState::Sha1(&mut *state.cast()),
                Family::Sha256 => TypedState::Sha256(&mut *state.cast()),
                Family::Sha512 => TypedState::Sha512(&mut *state.cast()),
                Family::Keccak => TypedState::Keccak(&mut *state.cast()),
            })
        }
    }

    /// Takes in data.
    pub(super) fn update_by(&mut self, served: Served, data: &[u8]) {
        if let Some(mut context) = self.context() {
            context.set_bits(context.bits().wrapping_add((data.len() as u128) << 3));
            context.work(|state| served.update(state, data));
        }
    }

    /// Writes the result: of a digest its whole length, of an extendable-output function as many bytes as `out` has.
    pub(super) fn finish_by(&mut self, served: Served, out: &mut [u8]) {
        let (size, xof) = (self.method.size, self.method.xof);
        let Some(mut context) = self.context() else { return };
        if !xof {
            let bits = context.bits();
            context.work(|state| {
                served.finish(state, bits);
                out[..size].copy_from_slice(&state.chain[..size]);
            });
        } else if let TypedState::Keccak(keccak) = &mut context
            && !out.is_empty()
        {
            let squeezing = std::mem::replace(&mut keccak.phase, SQUEEZING) == SQUEEZING;
            context.work(|state| served.squeeze(state, squeezing, out));
        }
    }

    /// The chaining value after whole blocks, as FIPS 180-4 and FIPS 202 write it into bytes; `None` for MD5.
    pub fn chain<'a>(&self, out: &'a mut [u8; MAX_CHAIN]) -> Option<&'a [u8]> {
        let family = self.method.family()?;
        let state = self.state.as_ptr();
        let words = |out: &mut [u8], h: &[u32]| {
            out.as_chunks_mut().0.iter_mut().zip(h).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
        };
        // SAFETY: each state is of its family's type.
        unsafe {
            match family {
                Family::Sha1 => words(out, &(*state.cast::<SHA_CTX>()).h),
                Family::Sha256 => words(out, &(*state.cast::<SHA256_CTX>()).h),
                Family::Sha512 => {
                    let h = (*state.cast::<SHA512_CTX>()).h;
                    out.as_chunks_mut().0.iter_mut().zip(h).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
                }
                Family::Keccak => {
                    let lanes = (*state.cast::<Keccak>()).state;
                    out.as_chunks_mut().0.iter_mut().zip(lanes).for_each(|(bytes, lane)| *bytes = lane.to_le_bytes());
                }
            }
        }
        Some(&out[..family.chain()])
    }

    /// Goes on after `length` bytes, which were whole blocks, from what [`Digest::chain`] gave there. SHA-3 does not look at the
    /// length.
    ///
    /// # Errors
    /// [`Error::Length`] where the chaining value is not as long as the method's; [`Error::Unsupported`] for MD5.
    pub fn resume(&mut self, chain: &[u8], length: u128) -> Result<(), Error> {
        let family = self.method.family().ok_or(Error::Unsupported("a chaining value of MD5"))?;
        if chain.len() != family.chain() {
            return Err(Error::Length { what: "chaining value", got: chain.len(), expected: "the digest's" });
        }
        self.reset();
        let words = |h: &mut [u32]| {
            h.iter_mut().zip(chain.as_chunks().0).for_each(|(word, bytes)| *word = u32::from_be_bytes(*bytes));
        };
        let Some(mut context) = self.context() else { return Ok(()) };
        match &mut context {
            TypedState::Sha1(c) => words(&mut c.h),
            TypedState::Sha256(c) => words(&mut c.h),
            TypedState::Sha512(c) => {
                c.h.iter_mut().zip(chain.as_chunks().0).for_each(|(h, b)| *h = u64::from_be_bytes(*b))
            }
            TypedState::Keccak(c) => {
                c.state.iter_mut().zip(chain.as_chunks().0).for_each(|(l, b)| *l = u64::from_le_bytes(*b));
            }
        }
        context.set_bits(length << 3);
        Ok(())
    }

    /// The bytes of the block that is begun, which are not yet in the chaining value.
    fn begun(&self) -> &[u8] {
        let state = self.state.as_ptr();
        // SAFETY: each state is initialised, and of its family's type.
        let (block, used): (&[u8], usize) = unsafe {
            match self.method.family() {
                Some(Family::Sha1) => (&(*state.cast::<SHA_CTX>()).data, (*state.cast::<SHA_CTX>()).num as usize),
                Some(Family::Sha256) => {
                    (&(*state.cast::<SHA256_CTX>()).data, (*state.cast::<SHA256_CTX>()).num as usize)
                }
                Some(Family::Sha512) => (&(*state.cast::<SHA512_CTX>()).p, (*state.cast::<SHA512_CTX>()).num as usize),
                Some(Family::Keccak) => (&(*state.cast::<Keccak>()).buf, (*state.cast::<Keccak>()).buf_load),
                None => (&(*state.cast::<Md5>()).buf, (*state.cast::<Md5>()).num as usize),
            }
        };
        &block[..used]
    }

    /// Saves the state of a message, for [`Digest::restore`] of the same method: the chaining value, the length, and the bytes of the block that is
    /// begun. Not once output has been taken.
    pub fn save<'a>(&self, out: &'a mut [u8; MAX_SAVED]) -> &'a [u8] {
        let mut chain = Zeroizing::new([0; MAX_CHAIN]);
        let (size, length) = match self.chain(&mut chain) {
            Some(chain) => (chain.len(), self.clone().context().map_or(0, |context| context.bits()) >> 3),
            None => {
                // SAFETY: a method without a family is MD5, of whose type its state is.
                let md5 = unsafe { &*self.state.as_ptr().cast::<Md5>() };
                chain.as_chunks_mut().0.iter_mut().zip(md5.state).for_each(|(b, word)| *b = word.to_le_bytes());
                (MD5_CHAIN, u128::from(md5.bits[1]) << 29 | u128::from(md5.bits[0] >> 3))
            }
        };
        let begun = self.begun();
        let (head, rest) = out.split_at_mut(size + LENGTH);
        head[..size].copy_from_slice(&chain[..size]);
        head[size..].copy_from_slice(&length.to_be_bytes());
        rest[..begun.len()].copy_from_slice(begun);
        &out[..size + LENGTH + begun.len()]
    }

    /// Goes on with a message that [`Digest::save`] has saved.
    ///
    /// # Errors
    /// [`Error::Length`] where it is not of this method.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        let family = self.method.family();
        let size = family.map_or(MD5_CHAIN, Family::chain);
        let parts = saved.split_at_checked(size).and_then(|(chain, rest)| {
            let (length, begun) = rest.split_first_chunk::<LENGTH>()?;
            (begun.len() < self.method.block).then_some((chain, length, begun))
        });
        let Some((chain, length, begun)) = parts else {
            return Err(Error::Length { what: "saved digest", got: saved.len(), expected: "what the method saves" });
        };
        // SHA-3 keeps no length.
        let whole = u128::from_be_bytes(*length).saturating_sub(begun.len() as u128);
        if family.is_some() {
            self.resume(chain, whole)?;
        } else {
            self.reset();
            // SAFETY: a method without a family is MD5, of whose type its state is; `reset` has filled it.
            let md5 = unsafe { &mut *self.state.as_mut_ptr().cast::<Md5>() };
            md5.state.iter_mut().zip(chain.as_chunks().0).for_each(|(word, b)| *word = u32::from_le_bytes(*b));
            md5.bits = [(whole << 3) as u32, (whole >> 29) as u32];
        }
        self.update(begun);
        Ok(())
    }
}
