//! `generate-key`, `import-key`: make keys in the token.

use super::kinds::{KeyKind, Selected};
use super::{Result, Stop, World, bad, failed, id, named, pem, print, say, set_letters};
use crate::pkcsconf::show::mechanism_name;
use adjunct_mechanisms::der;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Rv, Template};
use adjunct_tool::files;
use zeroize::Zeroizing;

/// No file of a key is longer.
const LONGEST: u64 = 1 << 20;
/// RSA's public exponent, where none is given.
const EXPONENT: u64 = 65537;

/// The labels of a key pair: of `PUBLIC:PRIVATE`, of `PUBLIC:=`, or of one text with two ends. A backslash takes its meaning from a colon.
fn labels(text: &str) -> (String, String) {
    let plain = |text: &str| {
        let mut plain = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            plain.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        plain
    };
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => {
                let (public, private) = (&text[..at], &text[at + 1..]);
                return (plain(public), plain(if private == "=" { public } else { private }));
            }
            _ => {}
        }
    }
    (plain(text) + ":pub", plain(text) + ":prv")
}

/// A number as PKCS #11 has large ones.
fn big(number: u64) -> Vec<u8> {
    number.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect()
}

impl World<'_> {
    fn kind(&self) -> Result<&'static KeyKind> {
        match self.wanted.selected {
            Selected::Of(kind) => Ok(kind),
            _ => Err(Stop::Rv(CKR_ARGUMENTS_BAD)),
        }
    }

    /// The attributes that every new key has: its label, and those of the letters and the identifier.
    pub(super) fn template(
        &self,
        kind: &KeyKind,
        class: CK_OBJECT_CLASS,
        label: &str,
        letters: Option<&str>,
    ) -> Result<Template> {
        let mut template = Template::new();
        template.set(CKA_LABEL, label.as_bytes());
        template.set_flag(CKA_TOKEN, true);
        if class != CKO_PUBLIC_KEY {
            template.set_flag(CKA_SENSITIVE, true);
        }
        set_letters(&mut template, letters.unwrap_or_default(), Some((kind, class)), self.wanted.so)?;
        if let Some(text) = &self.wanted.id {
            template.set(CKA_ID, &id(text)?);
        }
        Ok(template)
    }

    /// Makes a key or a key pair.
    pub(super) fn generate(&self) -> Result {
        let kind = self.kind()?;
        let args = &self.wanted.args;
        let bits = args.first().and_then(|bits| bits.parse::<CK_ULONG>().ok()).unwrap_or(0);
        let bytes = bits.div_ceil(8) * if kind.word == "aes-xts" { 2 } else { 1 };
        let curve = args.first().and_then(|name| der::curve(name));
        // The types of PKCS #11 3 may stand for that of curves, too.
        let kind = match &curve {
            Some((_, key_type)) if kind.word.starts_with("ec") => KeyKind::of(*key_type).unwrap_or(kind),
            _ => kind,
        };
        let name = mechanism_name(kind.generate).unwrap_or("UNKNOWN");
        let what = format!("Token in slot {} does not support mechanism {name}", self.wanted.slot);
        self.module.mechanism_info(self.wanted.slot, kind.generate).map_err(|Rv(rv)| {
            say(&what);
            Stop::Rv(rv)
        })?;
        let label = self.wanted.label.clone().unwrap_or_default();
        let size = match kind.word {
            "rsa" => bits,
            _ if kind.pair => 0,
            "des" | "3des" => 0,
            _ => bytes,
        };
        let size = if size == 0 { String::new() } else { format!(" of size {size}") };
        let what = format!("Key generation of a {} key{size} failed", kind.name);
        if !kind.pair {
            let mut template = self.template(kind, CKO_SECRET_KEY, &label, self.wanted.attrs.as_deref())?;
            if bytes > 0 {
                template.set(CKA_VALUE_LEN, &bytes.to_ne_bytes());
            }
            self.session.generate(kind.generate, &template).map_err(failed(&what))?;
            let label = adjunct_tool::escape::shown(&label);
            return print(&format!("Successfully generated a {} key with label \"{label}\".\n", kind.name));
        }
        let (public_label, private_label) = labels(&label);
        let (public_letters, private_letters) = match self.wanted.attrs.as_deref() {
            Some(letters) => match letters.split_once(':') {
                Some((public, private)) => (Some(public), Some(private)),
                None => (Some(letters), Some(letters)),
            },
            None => (None, None),
        };
        let mut public = self.template(kind, CKO_PUBLIC_KEY, &public_label, public_letters)?;
        let private = self.template(kind, CKO_PRIVATE_KEY, &private_label, private_letters)?;
        match kind.word {
            "rsa" => {
                let exponent = args.get(1).and_then(|text| text.parse().ok()).unwrap_or(EXPONENT);
                public.set(CKA_MODULUS_BITS, &bits.to_ne_bytes());
                public.set(CKA_PUBLIC_EXPONENT, &big(exponent));
            }
            "ml-dsa" | "ml-kem" => {
                let set: CK_ULONG = match bits {
                    44 | 512 => 1,
                    65 | 768 => 2,
                    _ => 3,
                };
                public.set(CKA_PARAMETER_SET, &set.to_ne_bytes());
            }
            _ => {
                let (params, _) = curve.ok_or(Stop::Rv(CKR_CURVE_NOT_SUPPORTED))?;
                public.set(CKA_EC_PARAMS, &params);
            }
        }
        self.session.generate_pair(kind.generate, &public, &private).map_err(failed(&what))?;
        let [public, private] = [public_label, private_label].map(|label| adjunct_tool::escape::shown(&label));
        print(&format!("Successfully generated a {} key pair with labels \"{public}\":\"{private}\".\n", kind.name))
    }

    /// Imports a key.
    pub(super) fn import(&self) -> Result {
        let kind = self.kind()?;
        let file = adjunct_tool::escape::shown(self.wanted.file.as_os_str());
        if self.wanted.opaque {
            return Err(bad(&format!("No support for importing {} key from file '{file}'", kind.name)));
        }
        let bytes = files::read(&self.wanted.file, LONGEST).map(Zeroizing::new).map_err(|failure| {
            say(&format!("Failed to open file '{file}': {}", adjunct_tool::failure::cause(&failure)));
            Stop::Rv(CKR_ARGUMENTS_BAD)
        })?;
        let class = match self.wanted.args.first().map(String::as_str) {
            Some("public") => CKO_PUBLIC_KEY,
            Some(_) => CKO_PRIVATE_KEY,
            None => CKO_SECRET_KEY,
        };
        let label = self.wanted.label.clone().unwrap_or_default();
        let mut template = self.template(kind, class, &label, self.wanted.attrs.as_deref())?;
        template.set(CKA_CLASS, &class.to_ne_bytes());
        template.set(CKA_KEY_TYPE, &kind.key_type.to_ne_bytes());
        if class == CKO_SECRET_KEY {
            secret_length(kind, bytes.len())?;
            template.set(CKA_VALUE, &bytes);
        } else {
            let private = class == CKO_PRIVATE_KEY;
            let half = if private { "private" } else { "public" };
            let unread = |why: &str| {
                say(&format!("Failed to read PEM file '{file}': {why}"));
                Stop::Rv(CKR_FUNCTION_FAILED)
            };
            let mut key = pem::PemKey::find(&bytes, private).map_err(unread)?;
            if key.is_encrypted() {
                key.open(&self.password()?).map_err(unread)?;
            }
            let attributes = key.attributes().map_err(unread)?;
            let same = attributes
                .iter()
                .any(|(attribute, value)| *attribute == CKA_KEY_TYPE && super::number(value) == Some(kind.key_type));
            if !same {
                return Err(bad(&format!("PEM file '{file}' does not contain an {} {half} key.", kind.name)));
            }
            attributes.iter().for_each(|(attribute, value)| template.set(*attribute, value));
        }
        self.session.create(&template).map_err(|Rv(rv)| {
            say(&format!("Key import of a {} key failed: {}", kind.name, named(rv)));
            Stop::Rv(rv)
        })?;
        let label = adjunct_tool::escape::shown(&label);
        print(&format!("Successfully imported a {} key with label \"{label}\".\n", kind.name))
    }
}

/// Refuses a file of a length that no such key has.
fn secret_length(kind: &KeyKind, length: usize) -> Result {
    let (fits, expected) = match kind.word {
        "des" => (length == 8, "8 bytes"),
        "3des" => (length == 24, "24 bytes"),
        "aes" => ([16, 24, 32].contains(&length), "16, 24, or 32 bytes"),
        "aes-xts" => ([32, 64].contains(&length), "32 or 64 bytes"),
        _ => (length > 0, "at least one byte"),
    };
    if fits { Ok(()) } else { Err(bad(&format!("Size of {} key is invalid, expected {expected}", kind.name))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_two_labels() {
        let of = |text: &str| {
            let (public, private) = labels(text);
            format!("{public}|{private}")
        };
        assert_eq!(of("web"), "web:pub|web:prv");
        assert_eq!(of("a:b"), "a|b");
        assert_eq!(of("a:="), "a|a");
        assert_eq!(of("a\\:b"), "a:b:pub|a:b:prv");
        assert_eq!(of(":"), "|");
        assert_eq!(big(EXPONENT), [1, 0, 1]);
    }
}
