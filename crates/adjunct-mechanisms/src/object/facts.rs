//! What every operation asks of an object, found out once, so that operations do not search the attributes.

use super::attributes::Attributes;
use cryptoki_sys::*;

/// Facts that follow from an object's attributes.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub class: CK_OBJECT_CLASS,
    pub key_type: Option<CK_KEY_TYPE>,
    /// Flags by [`bit`]: set for attributes that are true, or that list something.
    bits: u32,
}

/// The bit of an attribute that is asked for: uses of keys, and conditions of them. None of another.
#[inline]
const fn bit(kind: CK_ATTRIBUTE_TYPE) -> u32 {
    match kind {
        CKA_TOKEN => 1,
        CKA_PRIVATE => 1 << 1,
        CKA_ALWAYS_AUTHENTICATE => 1 << 2,
        CKA_ALLOWED_MECHANISMS => 1 << 3,
        CKA_ENCRYPT => 1 << 4,
        CKA_DECRYPT => 1 << 5,
        CKA_SIGN => 1 << 6,
        CKA_SIGN_RECOVER => 1 << 7,
        CKA_VERIFY => 1 << 8,
        CKA_VERIFY_RECOVER => 1 << 9,
        CKA_WRAP => 1 << 10,
        CKA_UNWRAP => 1 << 11,
        CKA_DERIVE => 1 << 12,
        CKA_ENCAPSULATE => 1 << 13,
        CKA_DECAPSULATE => 1 << 14,
        _ => 0,
    }
}

impl Facts {
    /// Reads the facts out of an object's attributes.
    pub fn of(attributes: &Attributes) -> Facts {
        let mut facts = Facts::default();
        for (kind, value) in attributes.iter() {
            let Some(bytes) = value.as_bytes() else { continue };
            let number = || bytes.try_into().ok().map(CK_ULONG::from_ne_bytes);
            match kind {
                CKA_CLASS => facts.class = number().unwrap_or(facts.class),
                CKA_KEY_TYPE => facts.key_type = number(),
                CKA_ALLOWED_MECHANISMS if !bytes.is_empty() => facts.bits |= bit(kind),
                CKA_ALLOWED_MECHANISMS => {}
                kind => facts.bits |= if *bytes == [CK_TRUE] { bit(kind) } else { 0 },
            }
        }
        facts
    }

    /// Whether an attribute that has a [`bit`] is true, or lists something.
    #[inline]
    pub fn has(&self, kind: CK_ATTRIBUTE_TYPE) -> bool {
        self.bits & bit(kind) != 0
    }
}

impl Default for Facts {
    fn default() -> Facts {
        Facts { class: CK_UNAVAILABLE_INFORMATION, key_type: None, bits: 0 }
    }
}
