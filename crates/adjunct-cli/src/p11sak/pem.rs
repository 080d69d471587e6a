//! PEM files of keys: PKCS #8, SubjectPublicKeyInfo, and OpenSSL's older forms for RSA and EC.

use adjunct_pkcs11::encoding::{self, Attribute};
use zeroize::Zeroizing;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The algorithms of the older forms: rsaEncryption with NULL, id-ecPublicKey.
const RSA: [u8; 15] = [0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0];
const EC: [u8; 9] = [6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];

/// A PEM text.
pub(super) fn text(what: &str, der: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(der.len() * 3 / 2 + 80));
    text.extend_from_slice(format!("-----BEGIN {what}-----\n").as_bytes());
    for line in der.chunks(48) {
        for group in line.chunks(3) {
            let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
            let bits = at(0) << 16 | at(1) << 8 | at(2);
            for place in 0..4 {
                let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
                text.push(if place > group.len() { b'=' } else { digit });
            }
        }
        text.push(b'\n');
    }
    text.extend_from_slice(format!("-----END {what}-----\n").as_bytes());
    text
}

/// The bytes of a base64 text.
fn decoded(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let (mut bits, mut count) = (0u32, 0);
    let digits = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    for byte in digits.take_while(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|known| *known == byte)?;
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// A DER element.
fn element(tag: u8, parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut der = Zeroizing::new(vec![tag]);
    match length {
        0..0x80 => der.push(length as u8),
        0x80..0x100 => der.extend_from_slice(&[0x81, length as u8]),
        _ => der.extend_from_slice(&[0x82, (length >> 8) as u8, length as u8]),
    }
    parts.iter().for_each(|part| der.extend_from_slice(part));
    der
}

/// The curve that an EC private key of RFC 5915 names: the contents of its element [0].
fn curve(der: &[u8]) -> Option<&[u8]> {
    let (mut rest, length) = match der {
        [0x30, length, rest @ ..] if *length < 0x80 => (rest, usize::from(*length)),
        [0x30, 0x81, length, rest @ ..] => (rest, usize::from(*length)),
        _ => return None,
    };
    rest = rest.get(..length)?;
    while let [tag, length, after @ ..] = rest {
        let contents = after.get(..usize::from(*length)).filter(|_| *length < 0x80)?;
        if *tag == 0xa0 {
            return Some(contents);
        }
        rest = &after[usize::from(*length)..];
    }
    None
}

/// What makes the key of a PEM file.
///
/// # Errors
/// Why there is none.
pub(super) fn key(file: &[u8], private: bool) -> Result<Vec<Attribute>, &'static str> {
    let text = std::str::from_utf8(file).map_err(|_| "it is no PEM file")?;
    let wanted: &[&str] = if private {
        &["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
    } else {
        &["PUBLIC KEY"]
    };
    let found = wanted.iter().find_map(|what| {
        let (_, rest) = text.split_once(&format!("-----BEGIN {what}-----"))?;
        let (body, _) = rest.split_once(&format!("-----END {what}-----"))?;
        Some((*what, body))
    });
    let (what, body) = found.ok_or("it has no such key")?;
    if what.starts_with("ENCRYPTED") || body.contains("Proc-Type:") {
        return Err("the key has a password: write it without one first (openssl pkey -in FILE -out FILE2)");
    }
    let der = decoded(body).ok_or("it is damaged")?;
    let der = match what {
        "RSA PRIVATE KEY" => element(0x30, &[&[2, 1, 0], &RSA, &element(4, &[&der])]),
        "EC PRIVATE KEY" => {
            let curve = curve(&der).ok_or("it names no curve")?;
            element(0x30, &[&[2, 1, 0], &element(0x30, &[&EC, curve]), &element(4, &[&der])])
        }
        _ => der,
    };
    let attributes = if private { encoding::private_key(&der) } else { encoding::public_key(&der) };
    attributes.ok_or("the key is damaged, or of a kind that is not known here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for length in [0, 1, 2, 3, 47, 48, 49, 200] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let text = text("X", &bytes);
            let text = std::str::from_utf8(&text).unwrap();
            assert!(text.lines().all(|line| line.len() <= 64));
            let body = text.strip_prefix("-----BEGIN X-----\n").unwrap().strip_suffix("-----END X-----\n").unwrap();
            assert_eq!(*decoded(body).unwrap(), bytes);
        }
        assert_eq!(decoded("a$"), None);
    }
}
