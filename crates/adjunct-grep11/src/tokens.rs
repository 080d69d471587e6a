//! Bearer tokens: a file has their SHA-256, so that who reads it cannot call.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use std::sync::Arc;

/// Bytes of a token that is made here.
const BYTES: usize = 32;

/// Tokens that are known, with the names of who has them.
#[derive(Debug, Clone)]
pub struct Tokens(Vec<(Arc<str>, [u8; 32])>);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hash(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    (digits.len() == 64 && digits.iter().all(u8::is_ascii_hexdigit)).then_some(())?;
    let mut out = [0; 32];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

impl Tokens {
    /// Reads the text of a file: a name and a hash in each line.
    ///
    /// # Errors
    /// The number of the line that is none, and why.
    pub fn parse(text: &str) -> Result<Tokens, (usize, &'static str)> {
        let mut all: Vec<(Arc<str>, [u8; 32])> = Vec::new();
        for (place, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split_whitespace();
            let (Some(name), Some(hash), None) = (words.next(), words.next().and_then(hash), words.next()) else {
                return Err((
                    place + 1,
                    "not a name and 64 hexadecimal digits (adjunct-grep11 token NAME makes a line)",
                ));
            };
            if all.iter().any(|(other, _)| **other == *name) {
                return Err((place + 1, "a name that stood before"));
            }
            all.push((name.into(), hash));
        }
        if all.is_empty() { Err((1, "no token: nobody could call")) } else { Ok(Tokens(all)) }
    }

    /// Who has the token of an authorization header. All known hashes are compared, each in constant time.
    pub fn user(&self, header: &str) -> Option<Arc<str>> {
        let (scheme, token) = header.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(())?;
        let given = digest(&SHA256, token.trim().as_bytes());
        let mut found = None;
        for (name, hash) in &self.0 {
            if verify_slices_are_equal(hash, given.as_ref()).is_ok() {
                found = Some(name.clone());
            }
        }
        found
    }
}

/// Makes a token; it and the line for the file.
///
/// # Errors
/// There is no randomness.
pub fn make(name: &str) -> Result<(String, String), String> {
    let mut bytes = zeroize::Zeroizing::new([0; BYTES]);
    aws_lc_rs::rand::fill(&mut bytes[..]).map_err(|_| "there is no randomness".to_owned())?;
    let token = hex(&bytes[..]);
    let line = format!("{name} {}", hex(digest(&SHA256, token.as_bytes()).as_ref()));
    Ok((token, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_known_by_their_hashes() {
        let (token, line) = make("backup").unwrap();
        let (other, second) = make("web").unwrap();
        let tokens = Tokens::parse(&format!("# who may\n\n{line}\n{second}\n")).unwrap();
        assert_eq!(tokens.user(&format!("Bearer {token}")).as_deref(), Some("backup"));
        assert_eq!(tokens.user(&format!("bearer {other}")).as_deref(), Some("web"));
        for wrong in [token.clone(), format!("Basic {token}"), format!("Bearer {}", &token[1..]), String::new()] {
            assert_eq!(tokens.user(&wrong), None);
        }
        assert!(!line.contains(&token));
        for (text, line) in [("", 1), ("a b", 1), (&format!("{second}\n{second}"), 2), ("a", 1)] {
            assert_eq!(Tokens::parse(text).unwrap_err().0, line, "{text}");
        }
    }
}
