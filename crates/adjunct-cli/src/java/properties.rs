//! A Java properties file, read as `java.util.Properties` does, with the lines that things stand in.

use super::tokenizer::latin1;

/// A property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    /// The line it starts in, from 1.
    pub line: u32,
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// Reads a file's bytes.
///
/// # Errors
/// The line of a `\u` that Java stops at; what came before it stands.
pub(super) fn parse(bytes: &[u8]) -> (Vec<Property>, Option<u32>) {
    let mut all = Vec::new();
    let text = latin1(bytes);
    let mut lines = Lines { rest: &text, line: 0 };
    while let Some((line, logical)) = lines.next() {
        match property(line, &logical) {
            Some(property) => all.push(property),
            None => return (all, Some(line)),
        }
    }
    (all, None)
}

struct Lines<'a> {
    rest: &'a str,
    line: u32,
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

impl<'a> Lines<'a> {
    /// A line as an editor shows it.
    fn natural(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        self.line = self.line.saturating_add(1);
        let end = self.rest.find(['\n', '\r']).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.strip_prefix("\r\n").or(rest.strip_prefix(['\n', '\r'])).unwrap_or(rest);
        Some(line)
    }

    /// Reads the next line that is neither blank nor a comment, with those that continue it.
    fn next(&mut self) -> Option<(u32, String)> {
        loop {
            let line = self.natural()?.trim_start_matches(is_blank);
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            let first = self.line;
            let mut logical = line.to_owned();
            while continues(&logical) {
                logical.pop();
                match self.natural() {
                    Some(more) => logical.push_str(more.trim_start_matches(is_blank)),
                    None => break,
                }
            }
            if !logical.is_empty() {
                return Some((first, logical));
            }
        }
    }
}

/// Whether an odd number of backslashes ends it.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|&c| c == b'\\').count() % 2 == 1
}

/// The property of a logical line; nothing where a `\u` is malformed.
fn property(line: u32, logical: &str) -> Option<Property> {
    let (mut escaped, mut end) = (false, logical.len());
    for (i, c) in logical.char_indices() {
        if !escaped && (is_blank(c) || matches!(c, '=' | ':')) {
            end = i;
            break;
        }
        escaped = c == '\\' && !escaped;
    }
    let (key, rest) = logical.split_at(end);
    let rest = rest.trim_start_matches(is_blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(is_blank);
    Some(Property { line, key: unescaped(key)?, value: unescaped(rest)? })
}

fn unescaped(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = if c == '\\' {
            match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let good = digits.len() == 4 && digits.bytes().all(|c| c.is_ascii_hexdigit());
                    units.push(u16::from_str_radix(&digits, 16).ok().filter(|_| good)?);
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(c) => c,
                None => break,
            }
        } else {
            c
        };
        units.extend(c.encode_utf16(&mut [0; 2]).iter());
    }
    Some(String::from_utf16_lossy(&units))
}

/// Writes `value` as a properties file has it.
pub(super) fn escaped(value: &str) -> String {
    let mut text = String::new();
    for unit in value.encode_utf16() {
        match u8::try_from(unit) {
            Ok(b'\\') => text.push_str("\\\\"),
            Ok(c @ b' '..=b'~') => text.push(char::from(c)),
            _ => text.push_str(&format!("\\u{unit:04x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_java_does() {
        let text = b"# c\n ! c\n\na=b\n  c : d \\\n   e\r\nf g=h\ni\\=j = \\u0041\\t\\q\nk\\\n";
        let (all, bad) = parse(text);
        let found: Vec<(u32, &str, &str)> = all.iter().map(|p| (p.line, p.key.as_str(), p.value.as_str())).collect();
        assert_eq!(found, [(4, "a", "b"), (5, "c", "d e"), (7, "f", "g=h"), (8, "i=j", "A\tq"), (9, "k", "")]);
        assert_eq!(bad, None);
        assert_eq!(parse(b"a=1\nb=\\u12x4\nc=2\n").1, Some(2));
        assert_eq!(parse(b"a=\\u00").1, Some(1));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for value in ["/a b/c", "back\\slash", "\u{e4}\u{20ac}\u{1f600}", "=:#!"] {
            let line = format!("k={}", escaped(value));
            assert_eq!(parse(line.as_bytes()).0[0].value, value);
        }
    }
}
