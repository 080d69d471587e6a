//! m_DigestSingle.

use crate::context::{Bytes, Context, Results};
use crate::error::Result;
use crate::mechanisms::{Wanted, flags};
use adjunct_mechanisms::operation::Digester;

/// m_DigestSingle.
pub(crate) fn single(context: &Context<'_>) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(0), flags::DIGEST)?;
    let mut digester = mechanism.core()?.digester()?;
    digester.update(context.argument(1));
    Ok(vec![finish(&mut *digester)?])
}

/// The digest of what was taken in.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub(crate) fn finish(digester: &mut dyn Digester) -> Result<Bytes> {
    let mut out = adjunct::memory::zeros(digester.size())?;
    digester.finish(&mut out);
    Ok(out)
}
