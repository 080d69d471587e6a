//! The parameters of elliptic-curve keys, both ways.

use super::{KEYPAIR, Native, curve_of, form_name, form_of, name_of};
use crate::abi::build::Builder;
use crate::abi::id;
use crate::abi::param::{self, INTEGER, OCTETS, Param, UNSIGNED, UTF8};
use adjunct::Error;
use adjunct::ops::ec::{EcKey, Form, MAX_FIELD, MAX_POINT};
use std::ffi::c_int;
use zeroize::Zeroizing;

pub(super) static GENERATION: [Param; 14] = [
    Param::describe(c"group", UTF8, 0),
    Param::describe(c"use-cofactor-flag", INTEGER, 4),
    Param::describe(c"encoding", UTF8, 0),
    Param::describe(c"point-format", UTF8, 0),
    Param::describe(c"field-type", UTF8, 0),
    Param::describe(c"p", UNSIGNED, 0),
    Param::describe(c"a", UNSIGNED, 0),
    Param::describe(c"b", UNSIGNED, 0),
    Param::describe(c"generator", OCTETS, 0),
    Param::describe(c"order", UNSIGNED, 0),
    Param::describe(c"cofactor", UNSIGNED, 0),
    Param::describe(c"seed", OCTETS, 0),
    Param::describe(c"dhkem-ikm", OCTETS, 0),
    Param::END,
];

/// Lists of parameters for import, export and reading of keys, around those of the group, which are the same in all.
macro_rules! with_group {
    ([$($before:expr),*], [$($after:expr),*]) => {
        [
            $($before,)*
            Param::describe(c"decoded-from-explicit", INTEGER, 4),
            Param::describe(c"group", UTF8, 0),
            Param::describe(c"encoding", UTF8, 0),
            Param::describe(c"point-format", UTF8, 0),
            Param::describe(c"field-type", UTF8, 0),
            Param::describe(c"p", UNSIGNED, 0),
            Param::describe(c"a", UNSIGNED, 0),
            Param::describe(c"b", UNSIGNED, 0),
            Param::describe(c"generator", OCTETS, 0),
            Param::describe(c"order", UNSIGNED, 0),
            Param::describe(c"cofactor", UNSIGNED, 0),
            Param::describe(c"seed", OCTETS, 0),
            Param::describe(c"m", INTEGER, 4),
            Param::describe(c"basis-type", UTF8, 0),
            Param::describe(c"tp", INTEGER, 4),
            Param::describe(c"k1", INTEGER, 4),
            Param::describe(c"k2", INTEGER, 4),
            Param::describe(c"k3", INTEGER, 4),
            $($after,)*
            Param::describe(c"use-cofactor-flag", INTEGER, 4),
            Param::describe(c"include-public", INTEGER, 4),
            Param::END,
        ]
    };
}

pub(super) static TRANSFER: [Param; 24] = with_group!(
    [],
    [
        Param::describe(c"pub", OCTETS, 0),
        Param::describe(c"priv", UNSIGNED, 0),
        Param::describe(c"group-check", UTF8, 0)
    ]
);

pub(super) static GETTABLE: [Param; 30] = with_group!(
    [
        Param::describe(c"bits", INTEGER, 4),
        Param::describe(c"security-bits", INTEGER, 4),
        Param::describe(c"max-size", INTEGER, 4),
        Param::describe(c"default-digest", UTF8, 0),
        Param::describe(c"encoded-pub-key", OCTETS, 0)
    ],
    [
        Param::describe(c"pub", OCTETS, 0),
        Param::describe(c"qx", UNSIGNED, 0),
        Param::describe(c"qy", UNSIGNED, 0),
        Param::describe(c"priv", UNSIGNED, 0)
    ]
);

pub(super) static SETTABLE: [Param; 8] = [
    Param::describe(c"use-cofactor-flag", INTEGER, 4),
    Param::describe(c"encoded-pub-key", OCTETS, 0),
    Param::describe(c"encoding", UTF8, 0),
    Param::describe(c"point-format", UTF8, 0),
    Param::describe(c"seed", OCTETS, 0),
    Param::describe(c"include-public", INTEGER, 4),
    Param::describe(c"group-check", UTF8, 0),
    Param::END,
];

/// Why a parameter array is not read here: the default provider decides, unless the core's error is the end ([`Provider::is_final`]).
///
/// [`Provider::is_final`]: crate::provider::Provider::is_final
#[derive(Debug)]
pub(super) struct NotNative(pub(super) Option<Error>);

/// For a key that is of another kind.
pub(super) const NOT_NATIVE: NotNative = NotNative(None);

impl From<Error> for NotNative {
    fn from(error: Error) -> NotNative {
        NotNative(Some(error))
    }
}

/// A setting every kind of array may carry: taken into `native`, or not one for us. Unknown names are ignored, as OpenSSL
/// does.
pub(super) fn setting(native: &mut Native, p: &Param, other: bool) -> Result<(), NotNative> {
    match p.name().to_bytes() {
        b"encoding" if p.get_str().is_some_and(|s| s.eq_ignore_ascii_case("named_curve")) => {}
        b"point-format" => {
            let form = p.get_str().and_then(form_of).ok_or(NOT_NATIVE)?;
            native.group_form = form;
            if other {
                native.key_form = form;
            }
        }
        b"decoded-from-explicit" if p.get_i64() == Some(0) => {}
        b"use-cofactor-flag" | b"group-check" | b"include-public" if !other => {}
        b"use-cofactor-flag" if p.get_i64() == Some(0) => {}
        b"group-check" if p.get_str().is_some_and(|s| s.eq_ignore_ascii_case("default")) => {}
        b"include-public" => native.include_public = p.get_i64().ok_or(NOT_NATIVE)? != 0,
        b"encoding" | b"decoded-from-explicit" | b"use-cofactor-flag" | b"group-check" => return Err(NOT_NATIVE),
        // A seed other than the standard's, which is OpenSSL's to keep.
        b"seed" => return Err(NOT_NATIVE),
        _ => {}
    }
    Ok(())
}

/// Reads an import.
///
/// # Safety
/// `params` is null or OpenSSL's parameter array, which ends and lives through the call.
pub(super) unsafe fn import(selection: c_int, params: *const Param) -> Result<Native, NotNative> {
    // SAFETY: the array is OpenSSL's.
    let (group, public, private) =
        unsafe { (param::find(params, c"group"), param::find(params, c"pub"), param::find(params, c"priv")) };
    let curve = group.and_then(Param::get_str).and_then(curve_of).ok_or(NOT_NATIVE)?;
    let mut native = Native::new(curve, None);
    let other = selection & id::KEYMGMT_SELECT_OTHER_PARAMETERS != 0;
    // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
    for p in unsafe { param::iter(params) } {
        setting(&mut native, p, other)?;
    }
    let public = match public {
        Some(p) if selection & KEYPAIR != 0 => Some(p.get_octets().ok_or(NOT_NATIVE)?),
        _ => None,
    };
    let mut scalar = Zeroizing::new([0; MAX_FIELD]);
    let scalar = &mut scalar[..curve.field_len()];
    let longer;
    let private = match private {
        Some(p) if selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0 => {
            if p.get_number(scalar).is_some() {
                Some(&*scalar)
            } else {
                // What is longer than the field may be no scalar, which the core knows.
                longer = Zeroizing::new(p.get_bignum().ok_or(NOT_NATIVE)?);
                Some(&longer[..])
            }
        }
        _ => None,
    };
    if public.is_some() || private.is_some() {
        native.key = Some(EcKey::new(curve, public, private)?);
    }
    Ok(native)
}

/// Writes what an export of `selection` holds, in OpenSSL's order.
pub(super) fn describe(native: &Native, selection: c_int, builder: &mut Builder) {
    if selection & id::KEYMGMT_SELECT_DOMAIN_PARAMETERS != 0 {
        builder.utf8(c"point-format", form_name(native.group_form));
        builder.utf8(c"encoding", c"named_curve");
        builder.int(c"decoded-from-explicit", 0);
        builder.utf8(c"group", name_of(native.curve));
    }
    if selection & KEYPAIR != 0 {
        if let Some(public) = native.public_part(native.key_form, &mut [0; MAX_POINT]) {
            builder.octets(c"pub", public);
        }
        if selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0
            && let Some(private) = native.key.as_ref().and_then(EcKey::private)
        {
            builder.number(c"priv", private);
        }
    }
    if selection & id::KEYMGMT_SELECT_OTHER_PARAMETERS != 0 {
        builder.utf8(c"point-format", form_name(native.key_form));
        builder.utf8(c"group-check", c"default");
        if !native.include_public {
            builder.int(c"include-public", 0);
        }
        builder.int(c"use-cofactor-flag", 0);
    }
}

/// Answers a request; `None` where only the default provider can.
pub(super) fn answer(native: &Native, p: &mut Param) -> Option<bool> {
    let curve = native.curve;
    let mut point = [0; MAX_POINT];
    Some(match p.name().to_bytes() {
        b"bits" => p.set_usize(curve.bits()),
        b"security-bits" => p.set_usize(curve.security_bits()),
        b"max-size" => p.set_usize(curve.max_signature()),
        b"default-digest" => p.set_str(c"SHA256"),
        b"group" => p.set_str(name_of(curve)),
        b"encoding" => p.set_str(c"named_curve"),
        b"point-format" => p.set_str(form_name(native.key_form)),
        // The category is one of post-quantum strength (OpenSSL 3.6): none.
        b"decoded-from-explicit" | b"use-cofactor-flag" | b"security-category" => p.set_usize(0),
        b"include-public" if native.include_public => true,
        b"include-public" => p.set_usize(0),
        b"encoded-pub-key" => match native.public_part(Form::Uncompressed, &mut point) {
            Some(public) => p.set_octets(public),
            None => false,
        },
        // Without a public key these stay unanswered, which is not an error.
        b"pub" => native.public_part(native.key_form, &mut point).is_none_or(|public| p.set_octets(public)),
        name @ (b"qx" | b"qy") => match native.public_part(Form::Uncompressed, &mut point) {
            Some(public) => {
                let (x, y) = public[1..].split_at(curve.field_len());
                p.set_bignum(if name == b"qx" { x } else { y })
            }
            None => true,
        },
        b"priv" => match native.key.as_ref().and_then(EcKey::private) {
            Some(private) => p.set_number(private),
            None => true,
        },
        _ if GETTABLE.iter().take(GETTABLE.len() - 1).any(|known| known.name() == p.name()) => return None,
        _ => true,
    })
}
