//! m_GenerateRandom and m_SeedRandom.

use crate::context::{Context, Results};
use crate::error::{Result, Rv, ensure};
use adjunct::ops::random::{Generator, random};
use adjunct_ep11_wire::codes::{control as c, rv};

/// The most bytes of a call.
const MOST: usize = 1 << 20;

/// m_GenerateRandom.
pub(crate) fn generate(context: &Context<'_>) -> Result<Results> {
    let count = context.argument(0).try_into().map_err(|_| Rv(rv::ARGUMENTS_BAD))?;
    let count = u32::from_be_bytes(count) as usize;
    ensure(count <= MOST, rv::ARGUMENTS_BAD)?;
    let mut bytes = adjunct::memory::zeros(count)?;
    random(&mut bytes);
    Ok(vec![bytes])
}

/// m_SeedRandom: what is given is added to the generator's input, beside its own.
pub(crate) fn seed(context: &Context<'_>) -> Result<Results> {
    context.allow(&[c::RNG_SEED])?;
    let seed = context.argument(0);
    ensure(seed.len() <= MOST, rv::ARGUMENTS_BAD)?;
    let mut bytes = [0; 32];
    ensure(Generator::new().generate_with(&mut bytes, seed, false), rv::FUNCTION_FAILED)?;
    Ok(Vec::new())
}
