//! `list-key`: a line for each key, or all its attributes; and attributes' values, of certificates as well.

use super::kinds::{DETAILS, LETTERS, class_bit};
use super::select::Found;
use super::{Result, World, bad, number, print};
use crate::pkcsconf::show::mechanism_name;
use crate::pkcsconf::uri::Uri;
use adjunct_mechanisms::der::one_line;
use adjunct_pkcs11_client::Rv;
use adjunct_pkcs11_client::sys::*;
use std::cmp::Ordering;
use std::fmt::Write;

/// The width of the types.
const TYPE: usize = 22;
/// Fields to sort by at most.
const FIELDS: usize = 4;

/// The order of keys: fields, each with whether it is sorted in reverse.
pub(super) type Order = Vec<(char, bool)>;

/// The fields of `-S`, each one of those `known`.
pub(super) fn order(text: &str, known: &str) -> Result<Order> {
    let mut order = Order::new();
    for field in text.split(',').filter(|field| !field.is_empty()) {
        if order.len() == FIELDS {
            return Err(bad("Too many sort field designators."));
        }
        let shown = |text: &str| adjunct_tool::escape::shown(text);
        let mut letters = field.chars();
        let letter = letters.next().unwrap_or_default();
        if !known.contains(letter.to_ascii_lowercase()) {
            return Err(bad(&format!("Invalid sort field designator: '{}'.", shown(&letter.to_string()))));
        }
        let rest = letters.as_str();
        let descending = match rest.strip_prefix(':') {
            None if rest.is_empty() => false,
            None => return Err(bad(&format!("Invalid character(s) after sort field designator: '{}'.", shown(rest)))),
            Some(rest) => match rest.chars().next().map(|c| c.to_ascii_lowercase()) {
                Some(c @ ('a' | 'd')) if rest.len() == 1 => c == 'd',
                Some('a' | 'd') => {
                    let words = format!("Invalid character(s) after sort order designator: '{}'.", shown(&rest[1..]));
                    return Err(bad(&words));
                }
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(bad(&format!("Invalid sort order designator: '{}'.", shown(&other))));
                }
            },
        };
        order.push((letter.to_ascii_lowercase(), descending));
    }
    Ok(order)
}

fn compare(order: &Order, a: &Found, b: &Found) -> Ordering {
    let of = |(field, descending): &(char, bool)| {
        let ordering = match field {
            'l' => a.label.as_bytes().cmp(b.label.as_bytes()),
            'k' => a.kind.key_type.cmp(&b.kind.key_type),
            'c' => a.class.cmp(&b.class),
            _ => a.size.cmp(&b.size),
        };
        if *descending { ordering.reverse() } else { ordering }
    };
    order.iter().map(of).find(|ordering| *ordering != Ordering::Equal).unwrap_or(Ordering::Equal)
}

impl World<'_> {
    /// Lists the keys.
    pub(super) fn list(&self) -> Result {
        let order = self.wanted.sort.as_deref().map(|text| order(text, "lkcs")).transpose()?.unwrap_or_default();
        if !self.wanted.long {
            let letters: String = LETTERS.iter().map(|letter| format!("{} ", letter.letter)).collect();
            let rule = "--".repeat(LETTERS.len());
            let (types, labels) = ("-".repeat(TYPE), "-".repeat(20));
            print(&format!("| {letters}| {:>TYPE$} | LABEL\n|-{rule}+-{types}-+{labels}\n", "KEY TYPE"))?;
        }
        let mut found = self.selected()?;
        found.sort_by(|a, b| compare(&order, a, b));
        for key in &found {
            let text = if self.wanted.long { self.details(key)? } else { self.row(key) };
            print(&text)?;
        }
        print(&format!("\n{} key(s) displayed\n", found.len()))
    }

    /// A flag of a key; none where it has none.
    fn flag(&self, key: &Found, kind: CK_ATTRIBUTE_TYPE) -> Option<bool> {
        match self.session.attribute(key.object, kind).as_deref().map(Vec::as_slice) {
            Ok(&[value]) => Some(value != CK_FALSE),
            _ => None,
        }
    }

    /// A flag in the table.
    pub(super) fn flag_cell(&self, found: &Found, kind: CK_ATTRIBUTE_TYPE) -> &'static str {
        match self.flag(found, kind) {
            Some(true) => "1 ",
            Some(false) => "0 ",
            None => "- ",
        }
    }

    fn row(&self, key: &Found) -> String {
        let cell = |letter| if key.kind.has(letter, key.class) { self.flag_cell(key, letter.kind) } else { "- " };
        let cells: String = LETTERS.iter().map(cell).collect();
        format!("| {cells}| {:>TYPE$} | \"{}\"\n", key.what, key.shown)
    }

    /// The object's URI.
    pub(super) fn uri(&self, key: &Found) -> Result<Uri> {
        let slot = self.wanted.slot;
        let (info, of_slot) = (self.module.info(), self.module.slot_info(slot));
        let mut uri = Uri::new();
        if self.wanted.detailed_uri
            && let (Ok(info), Ok(of_slot)) = (info, of_slot)
        {
            uri = uri
                .text("library-description", &info.libraryDescription)
                .text("library-manufacturer", &info.manufacturerID)
                .version("library-version", info.libraryVersion)
                .number("slot-id", slot)
                .text("slot-description", &of_slot.slotDescription)
                .text("slot-manufacturer", &of_slot.manufacturerID);
        }
        if let Ok(token) = self.module.token_info(slot) {
            uri = uri
                .text("manufacturer", &token.manufacturerID)
                .text("model", &token.model)
                .text("serial", &token.serialNumber)
                .text("token", &token.label);
        }
        let kind = match key.class {
            CKO_PUBLIC_KEY => "public",
            CKO_PRIVATE_KEY => "private",
            CKO_CERTIFICATE => "cert",
            _ => "secret-key",
        };
        let id = self.bytes(key.object, CKA_ID);
        Ok(uri.bytes("id", &id).text("object", key.label.as_bytes()).text("type", kind.as_bytes()))
    }

    /// The text above the attributes that are no flags.
    pub(super) fn head(&self, key: &Found) -> Result<String> {
        let mut text = format!("Label: \"{}\"\n    URI: {}\n", key.shown, self.uri(key)?);
        let what = if key.class == CKO_CERTIFICATE { "Certificate" } else { "Key" };
        text += &format!("    {what}: {}\n    Attributes:\n        CKA_TOKEN: CK_TRUE\n", key.what);
        for letter in LETTERS.iter().filter(|letter| key.kind.has(letter, key.class)) {
            if let Some(value) = self.flag(key, letter.kind) {
                let _ = writeln!(text, "        {}: {}", letter.name, if value { "CK_TRUE" } else { "CK_FALSE" });
            }
        }
        Ok(text)
    }

    fn details(&self, key: &Found) -> Result<String> {
        let mut text = self.head(key)?;
        for (name, kind, of) in DETAILS {
            if of & class_bit(key.class) == 0 || !key.kind.has_detail(*kind, key.class) {
                continue;
            }
            let shown = match self.session.attribute(key.object, *kind) {
                Err(Rv(CKR_ATTRIBUTE_SENSITIVE)) => Some("[sensitive]".to_owned()),
                Err(_) => None,
                Ok(value) => value_of(*kind, &value),
            };
            if let Some(shown) = shown {
                let _ = writeln!(text, "        {name}: {shown}");
            }
        }
        Ok(text)
    }
}

/// An attribute's value in the form in which it is listed; `None` where it has another form.
pub(super) fn value_of(kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> Option<String> {
    let name_of = |number, name: Option<&'static str>| format!("{} (0x{number:X})", name.unwrap_or("UNKNOWN"));
    match kind {
        CKA_LABEL | CKA_URL if value.is_empty() => Some("[no value]".to_owned()),
        CKA_LABEL | CKA_URL => Some(format!("\"{}\"", adjunct_tool::escape::shown(&*String::from_utf8_lossy(value)))),
        CKA_CLASS => {
            let class = number(value)?;
            let name = match class {
                CKO_SECRET_KEY => "CKO_SECRET_KEY",
                CKO_PUBLIC_KEY => "CKO_PUBLIC_KEY",
                CKO_CERTIFICATE => "CKO_CERTIFICATE",
                _ => "CKO_PRIVATE_KEY",
            };
            Some(name_of(class, Some(name)))
        }
        CKA_KEY_TYPE => number(value).map(|kind| name_of(kind, adjunct_mechanisms::names::key_type(kind))),
        CKA_CERTIFICATE_TYPE => number(value).map(|kind| match kind {
            CKC_X_509 => name_of(kind, Some("CKC_X_509")),
            kind => format!("0x{kind:X}"),
        }),
        CKA_CERTIFICATE_CATEGORY => number(value).map(|category| match category {
            CK_CERTIFICATE_CATEGORY_UNSPECIFIED => "CK_CERTIFICATE_CATEGORY_UNSPECIFIED".to_owned(),
            CK_CERTIFICATE_CATEGORY_TOKEN_USER => "CK_CERTIFICATE_CATEGORY_TOKEN_USER".to_owned(),
            CK_CERTIFICATE_CATEGORY_AUTHORITY => "CK_CERTIFICATE_CATEGORY_AUTHORITY".to_owned(),
            CK_CERTIFICATE_CATEGORY_OTHER_ENTITY => "CK_CERTIFICATE_CATEGORY_OTHER_ENTITY".to_owned(),
            other => format!("0x{other:X}"),
        }),
        CKA_JAVA_MIDP_SECURITY_DOMAIN => number(value).map(|domain| match domain {
            CK_SECURITY_DOMAIN_UNSPECIFIED => "CK_SECURITY_DOMAIN_UNSPECIFIED".to_owned(),
            CK_SECURITY_DOMAIN_MANUFACTURER => "CK_SECURITY_DOMAIN_MANUFACTURER".to_owned(),
            CK_SECURITY_DOMAIN_OPERATOR => "CK_SECURITY_DOMAIN_OPERATOR".to_owned(),
            CK_SECURITY_DOMAIN_THIRD_PARTY => "CK_SECURITY_DOMAIN_THIRD_PARTY".to_owned(),
            other => format!("0x{other:X}"),
        }),
        CKA_NAME_HASH_ALGORITHM => number(value).map(|number| name_of(number, mechanism_name(number))),
        CKA_KEY_GEN_MECHANISM => number(value).map(|number| match number {
            CK_UNAVAILABLE_INFORMATION => "[information unavailable]".to_owned(),
            number => name_of(number, mechanism_name(number)),
        }),
        CKA_ALLOWED_MECHANISMS if value.is_empty() => Some("[no restriction]".to_owned()),
        CKA_ALLOWED_MECHANISMS => {
            let numbers = value.chunks_exact(size_of::<CK_ULONG>()).filter_map(number);
            let lines: String =
                numbers.map(|one| format!("\n            - {}", name_of(one, mechanism_name(one)))).collect();
            Some(format!("{} mechanisms{lines}", value.len() / size_of::<CK_ULONG>()))
        }
        CKA_START_DATE | CKA_END_DATE => {
            let text = std::str::from_utf8(value).ok().filter(|text| text.len() == 8 && text.is_ascii())?;
            Some(adjunct_tool::escape::shown(&format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..])))
        }
        CKA_MODULUS_BITS | CKA_VALUE_LEN | CKA_PARAMETER_SET => number(value).map(|n| format!("{n} (0x{n:X})")),
        _ if value.is_empty() => Some("[no value]".to_owned()),
        CKA_SUBJECT | CKA_ISSUER => Some(match one_line(value) {
            Some(name) => format!("{name}\n            len={} value:{}", value.len(), dump(value)),
            None => format!("len={} value:{}", value.len(), dump(value)),
        }),
        CKA_EC_PARAMS => Some(format!("{}len={} value:{}", curve(value), value.len(), dump(value))),
        _ => Some(format!("len={} value:{}", value.len(), dump(value))),
    }
}

fn dump(value: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X} ")).collect::<String>();
    value.chunks(16).map(|bytes| format!("\n            {}", line(bytes))).collect()
}

/// A curve's object identifier and its name, as OpenSSL has them; nothing where it is given otherwise.
fn curve(params: &[u8]) -> String {
    let [0x06, _, body @ ..] = params else { return String::new() };
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc = 0u64;
    for byte in body {
        arc = arc.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            arcs.push(arc);
            arc = 0;
        }
    }
    let Some((&first, rest)) = arcs.split_first() else { return String::new() };
    let top = (first / 40).min(2);
    let arcs: Vec<String> = [top, first - 40 * top].iter().chain(rest).map(|arc| arc.to_string()).collect();
    let names = [
        "prime256v1",
        "prime192v1",
        "secp224r1",
        "secp384r1",
        "secp521r1",
        "brainpoolP160r1",
        "brainpoolP192r1",
        "brainpoolP224r1",
        "brainpoolP256r1",
        "brainpoolP320r1",
        "brainpoolP384r1",
        "brainpoolP512r1",
        "ed25519",
        "curve25519",
        "ed448",
        "curve448",
    ];
    let name = names.iter().find(|name| adjunct_mechanisms::der::curve(name).is_some_and(|(known, _)| known == params));
    let name = match name {
        Some(&"ed25519") => " (ED25519)".to_owned(),
        Some(&"curve25519") => " (X25519)".to_owned(),
        Some(&"ed448") => " (ED448)".to_owned(),
        Some(&"curve448") => " (X448)".to_owned(),
        Some(name) => format!(" ({name})"),
        None => String::new(),
    };
    format!("oid={}{name} ", arcs.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_p11sak_lists_them() {
        let of = |kind, value: &[u8]| value_of(kind, value).unwrap();
        assert_eq!(of(CKA_ID, &[1, 2]), "len=2 value:\n            01 02 ");
        assert_eq!(of(CKA_ID, &[]), "[no value]");
        assert_eq!(of(CKA_VALUE_LEN, &32u64.to_ne_bytes()), "32 (0x20)");
        assert_eq!(of(CKA_LABEL, b"a\x1b"), "\"a\\u{1b}\"");
        assert_eq!(of(CKA_KEY_TYPE, &CKK_AES.to_ne_bytes()), "CKK_AES (0x1F)");
        let p256 = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
        assert!(of(CKA_EC_PARAMS, &p256).starts_with("oid=1.2.840.10045.3.1.7 (prime256v1) len=10 value:\n"));
        assert!(of(CKA_EC_PARAMS, &[6, 3, 0x2b, 0x65, 0x71]).starts_with("oid=1.3.101.113 (ED448) len=5 value:\n"));
        assert_eq!(of(CKA_START_DATE, b"20260102"), "2026-01-02");
        assert_eq!(value_of(CKA_START_DATE, b""), None);
    }
}
