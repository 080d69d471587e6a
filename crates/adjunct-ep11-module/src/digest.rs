//! m_DigestSingle.

use crate::context::{Context, Results};
use crate::error::Result;
use crate::mechanisms::{Wanted, flags};

/// m_DigestSingle.
pub(crate) fn single(context: &Context<'_>) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(0), flags::DIGEST)?;
    let mut digester = mechanism.core()?.digester()?;
    digester.update(context.argument(1));
    let mut out = adjunct::memory::zeros(digester.size())?;
    digester.finish(&mut out);
    Ok(vec![out])
}
