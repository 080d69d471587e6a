//! What a key is for: the attributes of templates, their defaults and rules.
//!
//! A template says what it wants; what it leaves out is: modifiable; extractable, unless it may leave as a protected key or is derived of one that is not; every use to encrypt, decrypt,
//! sign and verify that the type of key has, but no wrapping and no derivation. Where control points bar a combination of uses, a use that is not asked
//! for gives way to those that are.

use crate::context::Context;
use crate::error::{Result, Rv, ensure, fail};
use crate::strength::{self, CRYPT, PLAIN_SIGN, SIGN, WRAP};
use adjunct_ep11_wire::attributes::Template;
use adjunct_ep11_wire::codes::{attribute as a, control as c, flag, key as k, rv};

/// Where a key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is made here.
    Generated,
    /// It was elsewhere before.
    Unwrapped,
    /// It is made of another key, whose boolean attributes these are.
    Derived(u32),
}

/// Booleans that the module alone sets.
const READ_ONLY: u32 = flag::LOCAL | flag::NEVER_EXTRACTABLE | flag::PROTKEY_NEVER_EXTRACTABLE | flag::ALWAYS_RETAINED;
/// Booleans of private and secret keys alone.
const SECRETS: u32 = flag::EXTRACTABLE | flag::PROTKEY_EXTRACTABLE | flag::WRAP_WITH_TRUSTED | flag::RETAINED;

/// PKCS #11's attributes that say nothing of a key in a blob: CKA_TOKEN, CKA_PRIVATE, CKA_LABEL, CKA_UNIQUE_ID, CKA_CHECK_VALUE, CKA_SUBJECT, CKA_ID,
/// CKA_SENSITIVE, CKA_START_DATE, CKA_END_DATE, CKA_COPYABLE, CKA_DESTROYABLE, CKA_ALWAYS_AUTHENTICATE, CKA_ENCAPSULATE, CKA_DECAPSULATE.
const MEANINGLESS: [u32; 15] =
    [1, 2, 3, 4, 0x90, 0x101, 0x102, a::SENSITIVE, 0x110, 0x111, 0x171, 0x172, 0x202, 0x633, 0x634];

/// Reads a template.
///
/// # Errors
/// `CKR_ARGUMENTS_BAD` for what is none.
pub fn read(bytes: &[u8]) -> Result<Template<'_>> {
    Template::parse(bytes).ok_or(Rv(rv::ARGUMENTS_BAD))
}

/// Checks the types of a template's attributes, of which a new key may have any, and those that say what it is.
///
/// # Errors
/// `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_ATTRIBUTE_READ_ONLY`, `CKR_TEMPLATE_INCONSISTENT`.
pub fn check(template: &Template<'_>, class: u32, kind: Option<u32>) -> Result {
    for (of, _) in &template.values {
        match *of {
            a::CLASS | a::KEY_TYPE | a::VALUE_LEN | a::EC_PARAMS | a::MODULUS_BITS | a::PUBLIC_EXPONENT => {}
            a::PARAMETER_SET | a::IBM_PARAMETER_SET | a::IBM_PQC_PARAMS | a::IBM_KEYTYPE | a::IBM_STRUCT_PARAMS => {}
            a::IBM_STD_COMPLIANCE1 | a::ALWAYS_SENSITIVE | a::KEY_GEN_MECHANISM | a::PUBLIC_KEY_INFO => {
                return fail(rv::ATTRIBUTE_READ_ONLY);
            }
            a::VALUE | a::MODULUS | a::PRIME | a::SUBPRIME | a::BASE | a::EC_POINT => {
                return fail(rv::TEMPLATE_INCONSISTENT);
            }
            of if MEANINGLESS.contains(&of) => {}
            _ => return fail(rv::ATTRIBUTE_TYPE_INVALID),
        }
    }
    let same = |of, is| template.number(of).is_none_or(|given| given == is);
    ensure(same(a::CLASS, class) && kind.is_none_or(|kind| same(a::KEY_TYPE, kind)), rv::TEMPLATE_INCONSISTENT)
}

/// The boolean attributes of a new key.
///
/// # Errors
/// `CKR_ATTRIBUTE_READ_ONLY`, `CKR_TEMPLATE_INCONSISTENT`; `CKR_FUNCTION_CANCELED` where control points do not allow them.
pub fn flags(context: &Context<'_>, template: &Template<'_>, class: u32, kind: u32, origin: Origin) -> Result<u32> {
    let points = context.domain.points;
    let (mask, given) = (template.mask, template.flags);
    let able = strength::uses(class, kind);
    let all_uses = CRYPT | SIGN | WRAP | flag::DERIVE;
    ensure(mask & READ_ONLY == 0, rv::ATTRIBUTE_READ_ONLY)?;
    // Programs, openCryptoki's token among them, ask for every use of any secret key; a mechanism refuses the type that it does not take.
    ensure(class == k::SECRET || given & all_uses & !able == 0, rv::TEMPLATE_INCONSISTENT)?;
    // Nothing is retained in the module.
    ensure(given & flag::RETAINED == 0, rv::TEMPLATE_INCONSISTENT)?;
    let public = class == k::PUBLIC;
    ensure(!public || given & SECRETS == 0, rv::TEMPLATE_INCONSISTENT)?;
    if given & flag::TRUSTED != 0 {
        ensure(class != k::PRIVATE, rv::TEMPLATE_INCONSISTENT)?;
        points.allow(&[c::USER_SET_TRUSTED])?;
    }
    if public && given & flag::ATTRBOUND != 0 {
        points.allow(&[c::USER_SET_ATTRBOUND])?;
    }
    let mut flags = given;
    for group in [CRYPT, PLAIN_SIGN] {
        let wanted = flags | able & group & !mask;
        let allowed = public || strength::allow_uses(points, wanted & all_uses).is_ok();
        if allowed || given & all_uses == 0 && flags & all_uses == 0 {
            flags = wanted;
        }
    }
    if mask & flag::MODIFIABLE == 0 {
        flags |= if given & flag::NEVER_MODIFIABLE == 0 { flag::MODIFIABLE } else { 0 };
    }
    ensure(flags & flag::MODIFIABLE == 0 || flags & flag::NEVER_MODIFIABLE == 0, rv::TEMPLATE_INCONSISTENT)?;
    if flags & flag::MODIFIABLE == 0 {
        flags |= flag::NEVER_MODIFIABLE;
    }
    if !public {
        let inherits = if let Origin::Derived(base) = origin { base & flag::EXTRACTABLE != 0 } else { true };
        if mask & flag::EXTRACTABLE == 0 && given & flag::PROTKEY_EXTRACTABLE == 0 && inherits {
            flags |= flag::EXTRACTABLE;
        }
        // Never: neither now, nor wherever it comes from.
        let (extractable, protected) = match origin {
            Origin::Generated => (0, 0),
            Origin::Unwrapped => (1, 1),
            Origin::Derived(base) => (!base & flag::NEVER_EXTRACTABLE, !base & flag::PROTKEY_NEVER_EXTRACTABLE),
        };
        if extractable == 0 && flags & flag::EXTRACTABLE == 0 {
            flags |= flag::NEVER_EXTRACTABLE;
        }
        if protected == 0 && flags & flag::PROTKEY_EXTRACTABLE == 0 {
            flags |= flag::PROTKEY_NEVER_EXTRACTABLE;
        }
        strength::allow_uses(points, flags)?;
    }
    if origin == Origin::Generated {
        flags |= flag::LOCAL;
    }
    Ok(flags)
}
