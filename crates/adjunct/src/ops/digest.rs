//! Message digests: [`Digest`] takes a message in parts, [`Once`] one that is there as a whole; each counts itself at the message's
//! end, once, over the bytes of the message. [`Part`] is a digest within another operation.

use super::Tally;
use super::tally::Message;
use crate::catalogue::{Direction, Path};
use crate::error::Error;
use adjunct_base::in_place;
use adjunct_cpu::digest::{self as cpu, Digest as State};
pub use adjunct_cpu::digest::{
    MAX_BLOCK, MAX_CHAIN, MAX_SIZE, MD5, METHODS, Method, SHA1, SHA3_224, SHA3_256, SHA3_384, SHA3_512, SHA224, SHA256,
    SHA384, SHA512, SHA512_224, SHA512_256, SHAKE128, SHAKE256, WORDS, names,
};
use std::mem::MaybeUninit;

/// Length of the master secret of SSL 3.0, in bytes.
const MASTER_SECRET: usize = 48;

/// A digest in progress, with room for a state of ROOM words ([`Method::words`]), by default for any. Its state is wiped when it is dropped, and lies
/// first in the value.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Digest<const ROOM: usize = WORDS> {
    state: State<ROOM>,
    message: Message,
    /// Whether a part of an extendable-output function's result has been given out.
    squeezing: bool,
}

#[inline]
fn message(method: &'static Method) -> Message {
    Message::new(Tally::new(method.function, 0))
}

impl Digest {
    /// A digest of nothing yet.
    #[inline]
    pub fn new(method: &'static Method) -> Digest {
        Digest { message: message(method), squeezing: false, state: State::new(method) }
    }

    /// A digest of nothing yet, made in memory of its own.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn boxed(method: &'static Method) -> Result<Box<Digest>, Error> {
        crate::memory::boxed_in_place(|place| Digest::new_in_place(place, method))
    }
}

impl<const ROOM: usize> Digest<ROOM> {
    /// Makes a digest of nothing yet where it is to live: for contexts on the heap, whose copy would cost more.
    ///
    /// # Panics
    /// Where there is less room than the method's state takes.
    #[inline]
    pub fn new_in_place<'a>(place: &'a mut MaybeUninit<Self>, method: &'static Method) -> &'a mut Self {
        in_place!(place => Digest {
            message: |room| room.write(message(method)),
            squeezing: |room| room.write(false),
            state: |room| State::<ROOM>::new_in_place(room, method),
        })
    }

    /// Copies this digest to where the copy is to live; only the part of the state in use is copied.
    #[inline]
    pub fn clone_into_place(&self, place: &mut MaybeUninit<Self>) {
        in_place!(place => Digest {
            message: |room| room.write(self.message),
            squeezing: |room| room.write(self.squeezing),
            state: |room| self.state.clone_into_place(room),
        });
    }

    /// Takes over the state of `other`, which must be of the same method.
    ///
    /// # Panics
    /// Where the methods differ.
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        (self.message, self.squeezing) = (other.message, other.squeezing);
        self.state.copy_from(&other.state);
    }

    /// The algorithm.
    #[inline]
    pub fn method(&self) -> &'static Method {
        self.state.method()
    }

    /// Whether nothing of a message has been taken in yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.message.bytes == 0
    }

    /// Whether instructions of this machine serve the digest.
    #[inline]
    pub fn in_hardware(&self) -> bool {
        self.message.tally.path() == Path::Hardware
    }

    /// Whether a part of an extendable-output function's result has been given out: the message has ended, and there is no more than
    /// [`Digest::squeeze`] and [`Digest::reset`].
    #[inline]
    pub fn is_squeezing(&self) -> bool {
        self.squeezing
    }

    /// Begins anew.
    #[inline]
    pub fn reset(&mut self) {
        (self.message.bytes, self.squeezing) = (0, false);
        self.state.reset();
    }

    /// Begins anew, with nothing left of the message before.
    #[inline]
    pub fn clear(&mut self) {
        (self.message.bytes, self.squeezing) = (0, false);
        self.state.clear();
    }

    /// Takes in `data`; not to be called after [`Digest::finish`] or [`Digest::squeeze`] without a [`Digest::reset`].
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.message.add(data);
        self.state.update(data);
    }

    /// Ends the message and writes the result: all of `out` by an extendable-output function, else the first [`Method::size`]
    /// bytes. An extendable-output function of which no byte is wanted ends as well, but stays as it is.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        let xof = self.method().xof;
        if !(xof && out.is_empty()) {
            self.state.finish(out);
            self.squeezing = xof;
        }
        self.message.count();
    }

    /// Writes the next bytes of an extendable-output function's result; the first call ends the message.
    ///
    /// # Panics
    /// Where the method is not one.
    pub fn squeeze(&mut self, out: &mut [u8]) {
        self.state.squeeze(out);
        if !std::mem::replace(&mut self.squeezing, true) {
            self.message.count();
        }
    }

    /// Takes in the end of the data that SSL 3.0 hashes with SHA-1 in its Finished and CertificateVerify messages, so that only [`Digest::finish`] is
    /// left to do (RFC 6101, 5.6.8 and 5.6.9). False for a secret that is not of 48 bytes.
    ///
    /// What is hashed in between is a part of the digest, and not counted.
    #[must_use]
    pub fn ssl3_finish(&mut self, secret: &[u8]) -> bool {
        if secret.len() != MASTER_SECRET || !std::ptr::eq(self.method(), &SHA1) {
            return false;
        }
        let mut inner = [0; 20];
        self.state.update(secret);
        self.state.update(&[0x36; 40]);
        self.state.finish(&mut inner);
        self.state.reset();
        self.state.update(secret);
        self.state.update(&[0x5c; 40]);
        self.state.update(&inner);
        true
    }

    /// Goes on with a message whose first `length` bytes, whole blocks, came to the chaining value that [`Digest::suspend`] gave. Only
    /// what comes now is counted. SHA-3 does not look at the length.
    ///
    /// # Errors
    /// [`Error::Length`] where the chaining value is not as long as the method's; [`Error::Unsupported`] for MD5.
    pub fn resume(&mut self, chain: &[u8], length: u128) -> Result<(), Error> {
        (self.message.bytes, self.squeezing) = (0, false);
        self.state.resume(chain, length)
    }

    /// Saves the state of a message, for [`Digest::restore`] of the same method, which goes on with it. Counts nothing, for the message goes on here
    /// too. `None` for an extendable-output function whose message has ended.
    pub fn save<'a>(&self, out: &'a mut [u8; MAX_SAVED]) -> Option<&'a [u8]> {
        (!self.squeezing).then(|| saved(self.message, out, |out| self.state.save(out).len()))
    }

    /// Goes on with a message that [`Digest::save`] has saved. At its end it counts as a whole.
    ///
    /// # Errors
    /// [`Error::Length`] where it is not of this method.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        self.squeezing = false;
        restored(&mut self.message, saved, |saved| self.state.restore(saved))
    }

    /// Ends a part of a message, of whole blocks, that another digest goes on with: its chaining value, as FIPS 180-4 and FIPS 202
    /// write it into bytes. An operation of its own over the bytes of the part. `None` for MD5, which counts nothing.
    pub fn suspend<'a>(&mut self, out: &'a mut [u8; MAX_CHAIN]) -> Option<&'a [u8]> {
        let chain = self.state.chain(out)?;
        self.message.count();
        Some(chain)
    }
}

/// The bytes of a message so far, before what the adapter saves of it.
pub(super) const COUNTED: usize = 8;

/// The longest digest or HMAC in progress as it is saved, in bytes.
pub const MAX_SAVED: usize = COUNTED + cpu::MAX_SAVED;

/// Writes what is saved of a message: its bytes, then what `save` writes.
pub(super) fn saved(
    message: Message,
    out: &mut [u8; MAX_SAVED],
    save: impl FnOnce(&mut [u8; cpu::MAX_SAVED]) -> usize,
) -> &[u8] {
    out[..COUNTED].copy_from_slice(&(message.bytes as u64).to_be_bytes());
    let length = out.last_chunk_mut().map_or(0, save);
    &out[..COUNTED + length]
}

/// Sets the bytes of a message to those that were saved, once `restore` has done the rest.
///
/// # Errors
/// [`Error::Length`], and what `restore` says.
pub(super) fn restored(
    message: &mut Message,
    saved: &[u8],
    restore: impl FnOnce(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let short = Error::Length { what: "saved message", got: saved.len(), expected: "what was saved" };
    let (bytes, rest) = saved.split_first_chunk::<COUNTED>().ok_or(short)?;
    restore(rest)?;
    message.bytes = u64::from_be_bytes(*bytes) as usize;
    Ok(())
}

/// A digest of a message that is there as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Once {
    method: &'static Method,
    tally: Tally,
}

impl Once {
    /// Makes a digest of that algorithm.
    #[inline(always)]
    pub fn new(method: &'static Method) -> Once {
        Once { method, tally: Tally::new(method.function, 0) }
    }

    /// Whether instructions of this machine serve the digest.
    #[inline(always)]
    pub fn in_hardware(self) -> bool {
        self.tally.path() == Path::Hardware
    }

    /// Writes the result of `data`: all of `out` by an extendable-output function, else the first [`Method::size`] bytes. A message of
    /// one block of SHA-1 or SHA-256 takes little more than its compression. Inlined, for a method that the compiler knows.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline(always)]
    pub fn run(self, data: &[u8], out: &mut [u8]) {
        State::once(self.method, data, out);
        self.tally.count(Direction::Encrypt, data.len());
    }
}

/// SHA-256 of parts, one behind the other, which counts nothing ([`Part`]).
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let (mut digest, mut out) = (Part::new(&SHA256), [0; 32]);
    parts.iter().for_each(|part| digest.update(part));
    digest.finish(&mut out);
    out
}

/// A digest that counts nothing: a part of another operation, which counts itself (a signature's, a padding's, a key derivation's), or of none that
/// the catalogue has (the name of a cached key). Its state is wiped when it is dropped.
#[derive(Clone, Debug)]
pub struct Part(State);

impl Part {
    /// A digest of nothing yet.
    #[inline]
    pub fn new(method: &'static Method) -> Part {
        Part(State::new(method))
    }

    /// The algorithm.
    #[inline]
    pub fn method(&self) -> &'static Method {
        self.0.method()
    }

    /// Begins anew.
    #[inline]
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// Takes in `data`; not to be called after [`Part::finish`] without a [`Part::reset`].
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// Writes the result: all of `out` by an extendable-output function, else the first [`Method::size`] bytes.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        self.0.finish(out);
    }
}
