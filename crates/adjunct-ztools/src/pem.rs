//! PEM (RFC 7468): what stands between BEGIN and END, with the headers of RFC 1421 where there are some.

pub mod encrypted;

use base64ct::{Base64, Encoding};
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// A part of a file.
#[derive(Debug)]
pub struct Part {
    /// The label after BEGIN.
    pub label: String,
    /// The headers, without the colon.
    pub headers: Vec<(String, String)>,
    /// The bytes, none where they are broken.
    pub bytes: Zeroizing<Vec<u8>>,
}

impl Part {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The parts of a file; `None` where one is broken. What is around them means nothing.
pub fn parts(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("-----BEGIN ") {
        let (label, behind) = behind.split_once("-----")?;
        let (body, behind) = behind.split_once(&format!("-----END {label}-----"))?;
        let (headers, body) = headers(body);
        let mut packed = Zeroizing::new(String::with_capacity(body.len()));
        packed.extend(body.chars().filter(|c| !c.is_whitespace()));
        let bytes = Zeroizing::new(Base64::decode_vec(&packed).ok().unwrap_or_default());
        parts.push(Part { label: label.to_owned(), headers, bytes });
        rest = behind;
    }
    Some(parts)
}

/// The headers before an empty line, if the first line is one, and what is behind them.
fn headers(body: &str) -> (Vec<(String, String)>, &str) {
    let body = body.trim_start();
    let first = body.lines().next().unwrap_or_default();
    if !first.contains(':') {
        return (Vec::new(), body);
    }
    let mut headers = Vec::new();
    let mut rest = body;
    while let Some((line, behind)) = rest.split_once('\n') {
        rest = behind;
        let line = line.trim_end();
        match line.split_once(':') {
            _ if line.is_empty() => break,
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => {}
        }
    }
    (headers, rest)
}

/// A part as a file has it.
pub fn of(label: &str, bytes: &[u8]) -> Zeroizing<String> {
    with_headers(label, &[], bytes)
}

/// A part as a file has it, with headers.
pub fn with_headers(label: &str, headers: &[(&str, &str)], bytes: &[u8]) -> Zeroizing<String> {
    let packed = Zeroizing::new(Base64::encode_string(bytes));
    let mut text = Zeroizing::new(String::with_capacity(packed.len() * 2 + 80));
    let _ = writeln!(text, "-----BEGIN {label}-----");
    headers.iter().for_each(|(name, value)| _ = writeln!(text, "{name}: {value}"));
    if !headers.is_empty() {
        text.push('\n');
    }
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
        assert_eq!((read[0].label.as_str(), &**read[0].bytes), ("PRIVATE KEY", &bytes[..]));
        assert!(parts("-----BEGIN X-----\nAAAA\n").is_none() && parts("nothing").unwrap().is_empty());
        assert!(parts("-----BEGIN X-----\nA: b\n-----END X-----").unwrap()[0].bytes.is_empty());
    }

    #[test]
    fn headers_stand_before_an_empty_line() {
        let text = with_headers("X", &[("A", "b: c"), ("D", "[e]")], &[7; 50]);
        assert!(text.starts_with("-----BEGIN X-----\nA: b: c\nD: [e]\n\nBwcH"), "{}", *text);
        let read = parts(&text).unwrap();
        assert_eq!((read[0].header("A"), read[0].header("D"), read[0].header("E")), (Some("b: c"), Some("[e]"), None));
        assert_eq!(*read[0].bytes, [7; 50]);
        let read = parts("-----BEGIN X-----\r\nA: b\r\n\r\nBwcH\r\n-----END X-----").unwrap();
        assert_eq!((read[0].header("A"), &**read[0].bytes), (Some("b"), &[7; 3][..]));
    }

    #[test]
    fn texts_come_back() {
        for length in [0, 1, 2, 3, 47, 48, 49, 200] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let text = of("X", &bytes);
            assert!(text.lines().all(|line| line.len() <= 64));
            assert!(text.starts_with("-----BEGIN X-----\n") && text.ends_with("-----END X-----\n"));
            assert_eq!(*parts(&text).unwrap()[0].bytes, bytes);
        }
        assert!(parts("-----BEGIN X-----\na$\n-----END X-----").unwrap()[0].bytes.is_empty());
    }
}
