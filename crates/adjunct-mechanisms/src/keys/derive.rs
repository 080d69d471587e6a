//! The attributes that a derived key gets from its template and from its base keys.

use super::say_all;
use crate::mechanism::derive::{Derivation, Inherit, tls};
use crate::object::attributes::{Attributes, Value};
use crate::object::complete::{Defaults, Origin};
use crate::object::{Held, Object};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::counters::Strength;
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// A derivation that runs: the keys it takes.
#[derive(Debug)]
pub struct Deriving {
    defaults: Defaults,
    base: Held,
    others: Vec<Held>,
}

/// The parts of TLS's key block: the client's, then the server's.
#[derive(Debug)]
pub struct KeyBlock {
    /// `None` where the cipher suite has no MAC.
    pub macs: Option<[Object; 2]>,
    /// `None` where the cipher suite does not encrypt.
    pub keys: Option<[Object; 2]>,
    /// The IVs, without bytes where the cipher suite has none.
    pub ivs: [Zeroizing<Vec<u8>>; 2],
}

impl Deriving {
    /// A derivation from a base key and those that [`Derivation::others`] names, in its order. Whether they may be used so was checked before
    /// ([`Object::permits`]).
    pub fn new(defaults: Defaults, base: Held, others: Vec<Held>) -> Deriving {
        Deriving { defaults, base, others }
    }

    /// How strong the base key is.
    pub fn strength(&self) -> Strength {
        self.base.strength()
    }

    /// The base key's value.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT` where it is no secret key.
    pub fn base_value(&self) -> Result<&[u8]> {
        self.base.value()
    }

    /// The object of a derived value.
    fn object(&self, mut template: Attributes, inherit: Inherit, value: &[u8]) -> Result<Object> {
        ensure(!template.has(CKA_VALUE), CKR_TEMPLATE_INCONSISTENT)?;
        if let Some(Value::Template(rules)) = self.base.attributes.get(CKA_DERIVE_TEMPLATE) {
            say_all(&mut template, rules)?;
        }
        let parents = || std::iter::once(&self.base).chain(&self.others);
        if template.number(CKA_CLASS) == Some(CKO_DATA) {
            template.remove(CKA_VALUE_LEN);
        } else {
            template.default_to(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes())?;
            let sensitive = parents().any(|key| key.attributes.is(CKA_SENSITIVE));
            let extractable = parents().all(|key| key.attributes.is(CKA_EXTRACTABLE));
            if inherit != Inherit::No {
                template.default_to(CKA_SENSITIVE, &[if sensitive { CK_TRUE } else { CK_FALSE }])?;
                template.default_to(CKA_EXTRACTABLE, &[if extractable { CK_TRUE } else { CK_FALSE }])?;
            }
            if inherit == Inherit::Strict {
                let kept = (!sensitive || template.is(CKA_SENSITIVE)) && (extractable || !template.is(CKA_EXTRACTABLE));
                ensure(kept, CKR_TEMPLATE_INCONSISTENT)?;
            }
        }
        let mut value = Zeroizing::new(value.to_vec());
        if matches!(template.number(CKA_KEY_TYPE), Some(CKK_DES | CKK_DES2 | CKK_DES3)) {
            odd_parity(&mut value);
        }
        template.set(CKA_VALUE, &value)?;
        let origin = Origin::Derived {
            always_sensitive: parents().all(|key| key.attributes.is(CKA_ALWAYS_SENSITIVE)),
            never_extractable: parents().all(|key| key.attributes.is(CKA_NEVER_EXTRACTABLE)),
        };
        self.defaults.object(template, origin)
    }

    /// Derives a key, or a data object where `data`.
    ///
    /// # Errors
    /// Those of the derivation and of templates.
    pub fn one(&self, derivation: &Derivation<'_>, mut template: Attributes, data: bool) -> Result<Object> {
        let wanted = class_and_length(&mut template, data)?;
        let value = derivation.secret(&self.base, &self.others, wanted)?;
        self.object(template, derivation.inherits(), &value)
    }

    /// A key, and others besides. The place of the template that is wrong comes with the error.
    ///
    /// # Errors
    /// Those of the derivation and of templates.
    pub fn several(
        &self,
        derivation: &Derivation<'_>,
        template: Attributes,
    ) -> std::result::Result<Vec<Object>, (Option<usize>, Rv)> {
        let Derivation::Sp800108(kdf, more) = derivation else { return Err((None, Rv(CKR_FUNCTION_FAILED))) };
        let mut templates = vec![template];
        templates.extend(more.iter().cloned());
        let (mut lengths, mut objects) = (Vec::new(), Vec::new());
        for (at, template) in templates.iter_mut().enumerate() {
            let length = class_and_length(template, false).and_then(|length| length.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE)));
            lengths.push(length.map_err(|error| (at.checked_sub(1), error))?);
        }
        let values = kdf.derive(&self.base, &self.others, &lengths).map_err(|error| (None, error))?;
        for (at, (template, value)) in templates.into_iter().zip(values).enumerate() {
            let object = self.object(template, derivation.inherits(), &value);
            objects.push(object.map_err(|error| (at.checked_sub(1), error))?);
        }
        Ok(objects)
    }

    /// TLS's MAC keys, keys and IVs. The template is that of the keys, and says of the MAC keys what all keys have.
    ///
    /// # Errors
    /// Those of templates; `CKR_HOST_MEMORY`.
    pub fn key_block(&self, keys: &tls::Keys<'_>, mut template: Attributes) -> Result<KeyBlock> {
        let class = template.number(CKA_CLASS);
        ensure(class.is_none_or(|class| class == CKO_SECRET_KEY), CKR_TEMPLATE_INCONSISTENT)?;
        template.set_number(CKA_CLASS, CKO_SECRET_KEY)?;
        // The type of the keys, where there are any, is the template's to say.
        ensure(keys.key == 0 || template.has(CKA_KEY_TYPE), CKR_TEMPLATE_INCOMPLETE)?;
        let given = template.number(CKA_VALUE_LEN);
        ensure(given.is_none_or(|given| given == keys.key as CK_ULONG), CKR_TEMPLATE_INCONSISTENT)?;
        template.remove(CKA_VALUE_LEN);
        let mut mac_template = Attributes::default();
        for kind in [CKA_CLASS, CKA_TOKEN, CKA_PRIVATE, CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_MODIFIABLE, CKA_LABEL] {
            if let Some(value) = template.get(kind) {
                mac_template.insert(kind, value.clone());
            }
        }
        let block = keys.derive(self.base.clear_value()?)?;
        let pair =
            |length: usize, [client, server]: [&[u8]; 2], template: &Attributes| -> Result<Option<[Object; 2]>> {
                if length == 0 {
                    return Ok(None);
                }
                let object = |value| self.object(template.clone(), Inherit::No, value);
                Ok(Some([object(client)?, object(server)?]))
            };
        let macs = pair(keys.mac, block.macs(), &mac_template)?;
        let keys = pair(keys.key, block.keys(), &template)?;
        Ok(KeyBlock { macs, keys, ivs: block.ivs().map(|iv| Zeroizing::new(iv.to_vec())) })
    }
}

/// Sets the class of the derived object, a secret key or data; gives the length that the template asks for, or that its type of key has.
fn class_and_length(template: &mut Attributes, data: bool) -> Result<Option<usize>> {
    let class = if data { CKO_DATA } else { CKO_SECRET_KEY };
    let given = template.number(CKA_CLASS);
    ensure(given.is_none_or(|given| given == class), CKR_TEMPLATE_INCONSISTENT)?;
    template.set_number(CKA_CLASS, class)?;
    let own = match template.number(CKA_KEY_TYPE) {
        Some(CKK_DES) => Some(8),
        Some(CKK_DES2) => Some(16),
        Some(CKK_DES3) => Some(24),
        Some(CKK_CHACHA20 | CKK_POLY1305) => Some(32),
        _ => None,
    };
    let length = template.number(CKA_VALUE_LEN);
    if length == Some(0) || own.is_some() && length.is_some() && own != length {
        return fail(CKR_TEMPLATE_INCONSISTENT);
    }
    length.or(own).map(usize::try_from).transpose().map_err(|_| Rv(CKR_KEY_SIZE_RANGE))
}

/// Sets the lowest bit of each byte so that the byte has an odd number of ones, as keys of DES have.
fn odd_parity(key: &mut [u8]) {
    key.iter_mut().for_each(|byte| *byte = *byte & 0xfe | u8::from((*byte >> 1).count_ones().is_multiple_of(2)));
}
