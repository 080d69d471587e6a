//! m_ReencryptSingle: data that one key decrypts and another encrypts, and that nobody sees between.

use crate::cipher::{begin, once};
use crate::context::{Context, Results};
use crate::error::Result;
use crate::mechanisms::{Wanted, flags};

/// m_ReencryptSingle.
pub(crate) fn single(context: &Context<'_>) -> Result<Results> {
    let from = Wanted::read(context.argument(2), flags::DECRYPT)?;
    let to = Wanted::read(context.argument(3), flags::ENCRYPT)?;
    let decrypting = context.key(context.argument(0))?;
    let encrypting = context.key(context.argument(1))?;
    let mut decrypt = begin(context, &from, &decrypting, false)?;
    let mut encrypt = begin(context, &to, &encrypting, true)?;
    let plain = once(&mut *decrypt, context.argument(4))?;
    Ok(vec![once(&mut *encrypt, &plain)?])
}
