//! Encryption at once: m_EncryptSingle and m_DecryptSingle, and what m_ReencryptSingle and operations of several calls begin with.

use crate::context::{Bytes, Context, Results, filled};
use crate::error::{Result, ensure};
use crate::key::Key;
use crate::mechanisms::{Family, Wanted, flags};
use adjunct_ep11_wire::codes::{control as c, flag, key as k, mechanism as m, rv};
use adjunct_mechanisms::operation::Cipher;

/// Begins an encryption (`encrypt`) or a decryption with a key that may be used so.
///
/// # Errors
/// `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_FUNCTION_CANCELED`; those of mechanisms.
pub(crate) fn begin(
    context: &Context<'_>,
    mechanism: &Wanted<'_>,
    key: &Key,
    encrypt: bool,
) -> Result<Box<dyn Cipher>> {
    let class = key.material.class;
    context.allow(match (class, encrypt) {
        (k::SECRET, true) => &[c::ENCRYPT_SYMM],
        (k::SECRET, false) => &[c::DECRYPT_SYMM],
        (k::PUBLIC, true) => &[],
        _ => &[c::DECRYPT_ASYMM],
    })?;
    context.allow(mechanism.entry.points)?;
    if mechanism.entry.kind == m::RSA_PKCS {
        context.allow(&[c::NFIPS2021])?;
    }
    key.permits(if encrypt { flag::ENCRYPT } else { flag::DECRYPT })?;
    let asymmetric = matches!(mechanism.entry.family, Family::RsaCipher | Family::RsaBoth);
    let fits = match class {
        k::SECRET => !asymmetric,
        k::PUBLIC => asymmetric && encrypt,
        _ => asymmetric && !encrypt,
    };
    ensure(fits, rv::KEY_TYPE_INCONSISTENT)?;
    Ok(mechanism.core()?.cipher(key.material.held.clone(), encrypt)?)
}

/// All of a message.
///
/// # Errors
/// Those of mechanisms.
pub(crate) fn once(cipher: &mut dyn Cipher, input: &[u8]) -> Result<Bytes> {
    filled(cipher.once_length(input.len()), |out| cipher.once(input, out))
}

/// m_EncryptSingle and m_DecryptSingle.
pub(crate) fn single(context: &Context<'_>, encrypt: bool) -> Result<Results> {
    let mechanism = Wanted::read(context.argument(1), if encrypt { flags::ENCRYPT } else { flags::DECRYPT })?;
    let key = context.key(context.argument(0))?;
    let mut cipher = begin(context, &mechanism, &key, encrypt)?;
    Ok(vec![once(&mut *cipher, context.argument(2))?])
}
