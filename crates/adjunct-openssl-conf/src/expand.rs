//! Quotes, escapes and variables of a value.

use super::lexer::{is_alphanumeric, is_quote};

/// OpenSSL's limit of a value after expansion, in bytes.
const LONGEST: usize = 65_536;

/// A value after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Value {
    pub bytes: Vec<u8>,
    /// Whether the value is the same for every program: false where an environment variable went into it.
    pub certain: bool,
}

/// Looks a variable up: section (if one is named), name.
pub(super) type Lookup<'a> = dyn Fn(Option<&[u8]>, &[u8]) -> Option<Value> + 'a;

/// Expands `raw`. With `dollar`, only `${` and `$(` begin a variable.
///
/// # Errors
/// What OpenSSL says of a value it cannot read.
pub(super) fn expand(raw: &[u8], dollar: bool, lookup: &Lookup<'_>) -> Result<Value, &'static str> {
    let mut value = Value { bytes: Vec::with_capacity(raw.len()), certain: true };
    let mut i = 0;
    while i < raw.len() {
        match raw[i] {
            quote if is_quote(quote) => i = quoted(raw, i, &mut value.bytes),
            b'\\' => {
                let Some(&c) = raw.get(i + 1) else { break };
                value.bytes.push(match c {
                    b'r' => b'\r',
                    b'n' => b'\n',
                    b'b' => 8,
                    b't' => b'\t',
                    other => other,
                });
                i += 2;
            }
            b'$' if !dollar || matches!(raw.get(i + 1), Some(b'{' | b'(')) => {
                i = variable(raw, i + 1, dollar, lookup, &mut value)?;
            }
            c => {
                value.bytes.push(c);
                i += 1;
            }
        }
        if value.bytes.len() > LONGEST {
            return Err("variable expansion too long");
        }
    }
    Ok(value)
}

/// Copies the text between the quotes, the first of which is at `start`; gives the place after the second.
fn quoted(raw: &[u8], start: usize, out: &mut Vec<u8>) -> usize {
    let mut i = start + 1;
    while i < raw.len() && raw[i] != raw[start] {
        if raw[i] == b'\\' {
            i += 1;
        }
        if let Some(&c) = raw.get(i) {
            out.push(c);
            i += 1;
        }
    }
    i + 1
}

/// Appends the variable whose name begins at `start`, after the `$`; gives the place after it.
fn variable(
    raw: &[u8],
    start: usize,
    dollar: bool,
    lookup: &Lookup<'_>,
    out: &mut Value,
) -> Result<usize, &'static str> {
    let close = match raw.get(start) {
        Some(b'{') => Some(b'}'),
        Some(b'(') => Some(b')'),
        _ => None,
    };
    let end_of = |from: usize| {
        let rest = raw.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|&&c| is_alphanumeric(c) || (dollar && c == b'$')).count()
    };
    let mut name = start + usize::from(close.is_some());
    let mut end = end_of(name);
    let mut section = None;
    if raw.get(end..).is_some_and(|rest| rest.starts_with(b"::")) {
        section = Some(&raw[name..end]);
        name = end + 2;
        end = end_of(name);
    }
    if close.is_some_and(|c| raw.get(end) != Some(&c)) {
        return Err("no close brace");
    }
    let found = lookup(section, &raw[name.min(end)..end]).ok_or("variable has no value")?;
    out.bytes.extend_from_slice(&found.bytes);
    out.certain &= found.certain;
    Ok(end + usize::from(close.is_some()))
}

/// Writes `value` so that [`expand`], with any pragma, gives it back: what has a meaning is escaped.
pub(super) fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | '#' | '$' | '\'' | '"' | '`' | ' ' | '\t') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(raw: &str) -> Result<String, &'static str> {
        let lookup = |section: Option<&[u8]>, name: &[u8]| match (section, name) {
            (None, b"a") => Some(Value { bytes: b"A".to_vec(), certain: true }),
            (Some(b"ENV"), b"h") => Some(Value { bytes: b"H".to_vec(), certain: false }),
            _ => None,
        };
        let value = expand(raw.as_bytes(), false, &lookup)?;
        let mark = if value.certain { "" } else { "?" };
        Ok(String::from_utf8(value.bytes).unwrap() + mark)
    }

    #[test]
    fn values_expand_as_in_openssl() {
        assert_eq!(plain("x$a/y").unwrap(), "xA/y");
        assert_eq!(plain("x${a}b$(a)").unwrap(), "xAbA");
        assert_eq!(plain("$ENV::h!").unwrap(), "H!?");
        assert_eq!(plain("${ENV::h}").unwrap(), "H?");
        assert_eq!(plain("'$a' \"b\" \\$a\\n").unwrap(), "$a b $a\n");
        assert_eq!(plain("'it\\'s'").unwrap(), "it's");
        assert_eq!(plain("end\\").unwrap(), "end");
        assert_eq!(plain("'open").unwrap(), "open");
        assert_eq!(plain("$none"), Err("variable has no value"));
        assert_eq!(plain("${a"), Err("no close brace"));
        assert_eq!(plain("$"), Err("variable has no value"));
        assert_eq!(plain("${x::"), Err("no close brace"));
    }

    #[test]
    fn what_is_escaped_reads_back() {
        let odd = "/a b/#c$d'e\"f`g\\h";
        for dollar in [false, true] {
            let value = expand(escape(odd).as_bytes(), dollar, &|_, _| None).unwrap();
            assert_eq!(value.bytes, odd.as_bytes());
        }
    }
}
