//! PEM (RFC 7468): what stands between BEGIN and END.

use base64ct::{Base64, Encoding};
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// A part of a file: its label, and its bytes.
pub(crate) type Part = (String, Zeroizing<Vec<u8>>);

/// The parts of a file; `None` where one is broken. What is around them means nothing.
pub(crate) fn parts(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("-----BEGIN ") {
        let (label, behind) = behind.split_once("-----")?;
        let (body, behind) = behind.split_once(&format!("-----END {label}-----"))?;
        let mut packed = Zeroizing::new(String::with_capacity(body.len()));
        packed.extend(body.chars().filter(|c| !c.is_whitespace()));
        // Headers, as of keys encrypted in OpenSSL's old way, are no base64.
        let bytes = Base64::decode_vec(&packed).ok();
        parts.push((label.to_owned(), Zeroizing::new(bytes.unwrap_or_default())));
        rest = behind;
    }
    Some(parts)
}

/// A part as a file has it.
pub(crate) fn of(label: &str, bytes: &[u8]) -> Zeroizing<String> {
    let packed = Zeroizing::new(Base64::encode_string(bytes));
    let mut text = Zeroizing::new(String::with_capacity(packed.len() * 2 + 80));
    let _ = writeln!(text, "-----BEGIN {label}-----");
    for line in packed.as_bytes().chunks(64) {
        let _ = writeln!(text, "{}", String::from_utf8_lossy(line));
    }
    let _ = writeln!(text, "-----END {label}-----");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_and_broken_ones_are_refused() {
        let bytes: Vec<u8> = (0..100).collect();
        let text = format!("before\n{}between\r\n{}", *of("PRIVATE KEY", &bytes), *of("CERTIFICATE", b""));
        let read = parts(&text).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].0.as_str(), &**read[0].1), ("PRIVATE KEY", &bytes[..]));
        assert!(parts("-----BEGIN X-----\nAAAA\n").is_none() && parts("nothing").unwrap().is_empty());
        assert!(parts("-----BEGIN X-----\nA: b\n-----END X-----").unwrap()[0].1.is_empty());
    }

    #[test]
    fn texts_come_back() {
        for length in [0, 1, 2, 3, 47, 48, 49, 200] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let text = of("X", &bytes);
            assert!(text.lines().all(|line| line.len() <= 64));
            assert!(text.starts_with("-----BEGIN X-----\n") && text.ends_with("-----END X-----\n"));
            assert_eq!(*parts(&text).unwrap()[0].1, bytes);
        }
        assert!(parts("-----BEGIN X-----\na$\n-----END X-----").unwrap()[0].1.is_empty());
    }
}
