//! URIs of PKCS #11 (RFC 7512), as openCryptoki writes them.

use adjunct_pkcs11_client::sys::{CK_ULONG, CK_VERSION};
use std::fmt::{self, Write};

/// A URI, attribute by attribute.
#[derive(Debug, Default)]
pub(crate) struct Uri(String);

impl Uri {
    /// Makes a URI without attributes.
    pub fn new() -> Uri {
        Uri::default()
    }

    /// Adds a text from a field with blanks behind; none that is blank.
    pub fn text(self, name: &str, field: &[u8]) -> Uri {
        let length = field.iter().rposition(|&byte| byte != b' ' && byte != 0).map_or(0, |last| last + 1);
        self.escaped(name, &field[..length], false)
    }

    /// Adds bytes, each as an escape; nothing where there are none.
    pub fn bytes(self, name: &str, bytes: &[u8]) -> Uri {
        self.escaped(name, bytes, true)
    }

    fn escaped(self, name: &str, bytes: &[u8], all: bool) -> Uri {
        if bytes.is_empty() {
            return self;
        }
        let mut value = String::new();
        for &byte in bytes {
            // What RFC 7512 leaves alone in a path, and the ampersand; not the tilde.
            if !all && (byte.is_ascii_alphanumeric() || b"_-.:[]@!$'()*+,=&".contains(&byte)) {
                value.push(char::from(byte));
            } else {
                let _ = write!(value, "%{byte:02x}");
            }
        }
        self.attribute(name, &value)
    }

    /// Adds a number.
    pub fn number(self, name: &str, number: CK_ULONG) -> Uri {
        self.attribute(name, &number.to_string())
    }

    /// Adds a version.
    pub fn version(self, name: &str, version: CK_VERSION) -> Uri {
        self.attribute(name, &format!("{}.{}", version.major, version.minor))
    }

    fn attribute(mut self, name: &str, value: &str) -> Uri {
        let before = if self.0.is_empty() { "" } else { ";" };
        let _ = write!(self.0, "{before}{name}={value}");
        self
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pkcs11:{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_attributes_are_left_out_and_others_escaped() {
        let uri = Uri::new().text("manufacturer", b"IBM  ").text("serial", b"    ").text("model", b"\0\0");
        assert_eq!(
            uri.text("token", b"a b/c;d&~\xc3\xa9  ").to_string(),
            "pkcs11:manufacturer=IBM;token=a%20b%2fc%3bd&%7e%c3%a9"
        );
        assert_eq!(Uri::new().number("slot-id", 1023).to_string(), "pkcs11:slot-id=1023");
        assert_eq!(Uri::new().to_string(), "pkcs11:");
    }
}
