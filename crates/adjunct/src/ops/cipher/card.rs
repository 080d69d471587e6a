//! Modes with a key that a card holds.

use super::{Block, Failure, Remote, direction};
use crate::error::Error;
use crate::memory::zeros;
use crate::ops::Tally;
use crate::ops::material::{Elsewhere, Material};
use adjunct_card_protocol::secure::{Call, Mode};
use adjunct_kernels::InOut;

/// The error of a mode that cards do not do.
pub(super) const OTHER_MODE: Error = Error::CardKey("its card does not do this mode");

/// The parts of a [`super::Chain`] that modes of cards have: the IV, a block of CTR's key stream, and how many of its bytes are used up.
type Place<'a> = (&'a mut Block, &'a mut Block, &'a mut u32);

/// The most bytes that a card is given at a time: whole blocks.
const PIECE: usize = 64 * 1024;

/// Works on all bytes of a call, which counts once.
///
/// # Errors
/// Those of a card's key.
///
/// # Panics
/// Without a key.
#[cold]
#[inline(never)]
pub(super) fn run(
    keyed: &Option<Material<Tally, Remote>>,
    mode: Option<Mode>,
    encrypt: bool,
    chain: Place<'_>,
    io: InOut<'_>,
) -> Result<(), Failure> {
    let remote = keyed.as_ref().expect("a key").elsewhere().ok_or(OTHER_MODE)?;
    let bytes = io.len();
    pieces(&remote.key, mode, encrypt, chain, io)?;
    remote.tally.count(direction(encrypt), bytes);
    Ok(())
}

/// A card's work in a mode, in pieces of whole blocks, the last filled up with zeros, which CTR alone has. What fails has changed nothing of the chain.
///
/// # Errors
/// Those of a card's key.
#[cold]
#[inline(never)]
pub(super) fn pieces(
    key: &Elsewhere,
    mode: Option<Mode>,
    encrypt: bool,
    chain: Place<'_>,
    mut io: InOut<'_>,
) -> Result<(), Failure> {
    let mode = mode.ok_or(OTHER_MODE)?;
    let (chain_iv, chain_stream, chain_used) = chain;
    let (mut iv, mut stream, mut used) = (*chain_iv, *chain_stream, *chain_used as usize);
    let mut at = 0;
    // The rest of a block of CTR's key stream.
    while mode == Mode::Ctr && used > 0 && at < io.len() {
        io.set(at, io.get(at) ^ stream[used]);
        (at, used) = (at + 1, (used + 1) % 16);
    }
    while at < io.len() {
        let length = (io.len() - at).min(PIECE);
        let whole = length.next_multiple_of(16);
        let mut input = zeros(whole)?;
        (0..length).for_each(|i| input[i] = io.get(at + i));
        let parameters = [&[mode as u8, u8::from(encrypt)], &iv[..]].concat();
        let output = key.ask(Call::Aes, &parameters, &input, 16 + whole)?;
        let (next, output) = output.split_at(16);
        iv.copy_from_slice(next);
        (0..length).for_each(|i| io.set(at + i, output[i]));
        if length < whole {
            // Of zeros the key stream itself comes out.
            used = length % 16;
            stream[used..].copy_from_slice(&output[length..]);
        }
        at += length;
    }
    match mode {
        Mode::Ecb => {}
        Mode::Cbc => *chain_iv = iv,
        Mode::Ctr => (*chain_iv, *chain_stream, *chain_used) = (iv, stream, used as u32),
    }
    Ok(())
}
