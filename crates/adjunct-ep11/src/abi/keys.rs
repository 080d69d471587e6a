//! Keys: made, wrapped, unwrapped, derived.

use super::attributes::{template, template_of_wrapped};
use super::mechanism::mechanism;
use super::types::{Attribute, Mechanism, Ulong};
use super::{Out, call, input, returns, target};
use crate::forms::inward;
use adjunct_ep11_wire::codes::mechanism as m;
use adjunct_ep11_wire::function::Function;

/// # Safety
/// The caller's mechanism, template, PIN blob and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_GenerateKey(
    mechanism: *const Mechanism,
    attributes: *const Attribute,
    count: usize,
    pin: *const u8,
    pin_length: usize,
    key: *mut u8,
    key_length: *mut usize,
    check: *mut u8,
    check_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's mechanism, template, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        let template = template(attributes, count, target.flags)?;
        let outs = [Out::blob(key, key_length), Out::plain(check, check_length).optional()];
        call(&target, Function::GenerateKey, &[&mechanism, &template, input(pin, pin_length)?], &outs)
    })
}

/// # Safety
/// The caller's mechanism, templates, PIN blob and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_GenerateKeyPair(
    mechanism: *const Mechanism,
    public_attributes: *const Attribute,
    public_count: usize,
    private_attributes: *const Attribute,
    private_count: usize,
    pin: *const u8,
    pin_length: usize,
    private_key: *mut u8,
    private_key_length: *mut usize,
    public_key: *mut u8,
    public_key_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's mechanism, templates, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        let public = template(public_attributes, public_count, target.flags)?;
        let private = template(private_attributes, private_count, target.flags)?;
        let outs = [Out::blob(private_key, private_key_length), Out::blob(public_key, public_key_length)];
        let arguments: [&[u8]; 4] = [&mechanism, &public, &private, input(pin, pin_length)?];
        call(&target, Function::GenerateKeyPair, &arguments, &outs)
    })
}

/// Gives no length for a null buffer: that is an error.
///
/// # Safety
/// The caller's keys, mechanism and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_WrapKey(
    key: *const u8,
    key_length: usize,
    wrapping_key: *const u8,
    wrapping_key_length: usize,
    mac_key: *const u8,
    mac_key_length: usize,
    mechanism: *const Mechanism,
    wrapped: *mut u8,
    wrapped_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's keys, mechanism, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        let key = inward(input(key, key_length)?);
        let by = inward(input(wrapping_key, wrapping_key_length)?);
        let mac = inward(mac_key_of(mac_key, mac_key_length)?);
        let out = Out::plain(wrapped, wrapped_length).required();
        call(&target, Function::WrapKey, &[&key, &by, &mac, &mechanism], &[out])
    })
}

/// The key of a MAC, which formats without one do not have: null, whatever its length says.
///
/// # Safety
/// As for [`input`].
unsafe fn mac_key_of<'a>(key: *const u8, length: usize) -> Result<&'a [u8], crate::error::Rv> {
    // SAFETY: the caller's key.
    if key.is_null() { Ok(&[]) } else { unsafe { input(key, length) } }
}

/// # Safety
/// The caller's keys, PIN blob, mechanism, template and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_UnwrapKey(
    wrapped: *const u8,
    wrapped_length: usize,
    wrapping_key: *const u8,
    wrapping_key_length: usize,
    mac_key: *const u8,
    mac_key_length: usize,
    pin: *const u8,
    pin_length: usize,
    mechanism: *const Mechanism,
    attributes: *const Attribute,
    count: usize,
    key: *mut u8,
    key_length: *mut usize,
    check: *mut u8,
    check_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's keys, mechanism, template, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        let template = template_of_wrapped(attributes, count, target.flags)?;
        let wrapped = input(wrapped, wrapped_length)?;
        // A public key, which may have a MAC, is wrapped by nothing; all else is encrypted.
        let plain = mechanism.starts_with(&m::IBM_TRANSPORTKEY.to_be_bytes());
        let wrapped = if plain { inward(wrapped) } else { wrapped.into() };
        let by = inward(input(wrapping_key, wrapping_key_length)?);
        let mac = inward(mac_key_of(mac_key, mac_key_length)?);
        let outs = [Out::blob(key, key_length), Out::blob(check, check_length).optional()];
        let arguments: [&[u8]; 6] = [&wrapped, &by, &mac, input(pin, pin_length)?, &mechanism, &template];
        call(&target, Function::UnwrapKey, &arguments, &outs)
    })
}

/// Derivations whose data is the blob of a key, by which the derived one leaves.
const DATA_IS_KEY: [u32; 4] =
    [m::IBM_DH_PKCS_DERIVE_RAW, m::IBM_ECDH1_DERIVE_RAW, m::IBM_EC_X25519_RAW, m::IBM_EC_X448_RAW];

/// # Safety
/// The caller's mechanism, template, base key, data, PIN blob and buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn m_DeriveKey(
    mechanism: *const Mechanism,
    attributes: *const Attribute,
    count: usize,
    base_key: *const u8,
    base_key_length: usize,
    data: *const u8,
    data_length: usize,
    pin: *const u8,
    pin_length: usize,
    key: *mut u8,
    key_length: *mut usize,
    check: *mut u8,
    check_length: *mut usize,
    target: u64,
) -> Ulong {
    // SAFETY: the caller's mechanism, template, keys, buffers and target.
    returns(|| unsafe {
        let (target, mechanism) = (self::target(target)?, self::mechanism(mechanism)?);
        let template = template(attributes, count, target.flags)?;
        let base = inward(input(base_key, base_key_length)?);
        let data = input(data, data_length)?;
        let is_key = DATA_IS_KEY.iter().any(|of| mechanism.starts_with(&of.to_be_bytes()));
        let data = if is_key { inward(data) } else { data.into() };
        let outs = [Out::blob(key, key_length), Out::plain(check, check_length).optional()];
        let arguments: [&[u8]; 5] = [&mechanism, &template, &base, &data, input(pin, pin_length)?];
        call(&target, Function::DeriveKey, &arguments, &outs)
    })
}
