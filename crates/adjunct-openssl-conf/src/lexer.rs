//! From bytes to statements, as OpenSSL's reader sees them.

/// A line after continuation lines have been joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The number of its first physical line, from 1.
    pub number: usize,
    /// The text without line ends.
    pub text: std::borrow::Cow<'a, [u8]>,
}

/// A statement, its parts still with quotes, escapes and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statement<'a> {
    Blank,
    Section(&'a [u8]),
    Assign { section: Option<&'a [u8]>, name: &'a [u8], value: &'a [u8] },
    Include { section: Option<&'a [u8]>, path: &'a [u8] },
    Pragma { keyword: &'a [u8], value: &'a [u8] },
}

pub(super) fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\r' | b'\n')
}

pub(super) fn is_alphanumeric(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

pub(super) fn is_name(c: u8) -> bool {
    is_alphanumeric(c) || b"!.%&*+,/;?@^~|-".contains(&c)
}

pub(super) fn is_quote(c: u8) -> bool {
    matches!(c, b'\'' | b'"' | b'`')
}

/// Splits into lines, joining those that end in a backslash. A backslash before the last one takes its meaning away,
/// even if it is itself escaped: that is how OpenSSL looks at it.
pub(super) fn lines(bytes: &[u8]) -> Vec<Line<'_>> {
    use std::borrow::Cow;
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut open = false;
    for (index, raw) in bytes.split_inclusive(|&b| b == b'\n').enumerate() {
        let mut end = raw.len();
        while end > 0 && matches!(raw[end - 1], b'\r' | b'\n') {
            end -= 1;
        }
        let part = &raw[..end];
        match lines.last_mut() {
            Some(line) if open => line.text.to_mut().extend_from_slice(part),
            _ => lines.push(Line { number: index + 1, text: Cow::Borrowed(part) }),
        }
        let text = &mut lines.last_mut().expect("a line was just pushed").text;
        open = text.ends_with(b"\\") && !text.ends_with(b"\\\\");
        if open {
            match text {
                Cow::Borrowed(part) => *part = &part[..part.len() - 1],
                Cow::Owned(text) => drop(text.pop()),
            }
        }
    }
    lines
}

/// The text before a comment: `#` outside quotes and not escaped.
fn without_comment(text: &[u8]) -> &[u8] {
    let mut i = text.iter().take_while(|&&c| is_space(c)).count();
    while i < text.len() {
        match text[i] {
            b'#' => return &text[..i],
            b'\\' => i += 2,
            quote if is_quote(quote) => i = after_quote(text, i),
            _ => i += 1,
        }
    }
    text
}

fn after_quote(text: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while i < text.len() && text[i] != text[start] {
        i += if text[i] == b'\\' { 2 } else { 1 };
    }
    i + 1
}

fn skip_space(text: &[u8], from: usize) -> usize {
    from + text[from..].iter().take_while(|&&c| is_space(c)).count()
}

fn skip_name(text: &[u8], from: usize, dollar: bool) -> usize {
    let mut i = from;
    while i < text.len() {
        match text[i] {
            b'\\' => i = (i + 2).min(text.len()),
            c if is_name(c) || (dollar && c == b'$') => i += 1,
            _ => break,
        }
    }
    i
}

fn trim_end(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take_while(|&&c| is_space(c)).count();
    &text[..text.len() - blanks]
}

/// The statement of a line. With `dollar` (`.pragma dollarid:on`) a `$` is part of names.
///
/// # Errors
/// What OpenSSL says of a line it cannot read.
pub(super) fn statement(line: &[u8], dollar: bool) -> Result<Statement<'_>, &'static str> {
    let text = without_comment(line);
    let start = skip_space(text, 0);
    if start == text.len() {
        return Ok(Statement::Blank);
    }
    if text[start] == b'[' {
        return section(text, start + 1, dollar);
    }
    let (mut section, mut name_start) = (None, start);
    let mut end = skip_name(text, start, dollar);
    if text[end..].starts_with(b"::") {
        section = Some(&text[start..end]);
        name_start = end + 2;
        end = skip_name(text, name_start, dollar);
    }
    let after = skip_space(text, end);
    let directive = |word: &[u8]| {
        let rest = name_start + word.len();
        text[name_start..].starts_with(word) && (after != rest || text.get(after) == Some(&b'='))
    };
    let argument = || {
        let from = if text.get(after) == Some(&b'=') { skip_space(text, after + 1) } else { after };
        trim_end(&text[from..])
    };
    if directive(b".pragma") {
        return pragma(argument());
    }
    if directive(b".include") {
        return Ok(Statement::Include { section, path: argument() });
    }
    if text.get(after) != Some(&b'=') {
        return Err("missing equal sign");
    }
    let value = trim_end(&text[skip_space(text, after + 1)..]);
    Ok(Statement::Assign { section, name: &text[name_start..end], value })
}

fn section(text: &[u8], from: usize, dollar: bool) -> Result<Statement<'_>, &'static str> {
    let start = skip_space(text, from);
    let mut word = start;
    loop {
        let end = skip_name(text, word, dollar);
        let next = skip_space(text, end);
        match text.get(next) {
            Some(b']') => return Ok(Statement::Section(&text[start..end])),
            Some(_) if next != word => word = next,
            _ => return Err("missing close square bracket"),
        }
    }
}

fn pragma(text: &[u8]) -> Result<Statement<'_>, &'static str> {
    match text.iter().position(|&c| c == b':') {
        Some(colon) if colon > 0 && colon + 1 < text.len() => {
            let value = &text[colon + 1..];
            Ok(Statement::Pragma { keyword: trim_end(&text[..colon]), value: &value[skip_space(value, 0)..] })
        }
        _ => Err("invalid pragma"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign<'a>(name: &'a str, value: &'a str) -> Statement<'a> {
        Statement::Assign { section: None, name: name.as_bytes(), value: value.as_bytes() }
    }

    #[test]
    fn continuation_lines_are_joined_as_openssl_does() {
        let texts =
            |b: &'static [u8]| lines(b).into_iter().map(|l| (l.number, l.text.into_owned())).collect::<Vec<_>>();
        assert_eq!(texts(b"a \\\nb\nc"), [(1, b"a b".to_vec()), (3, b"c".to_vec())]);
        assert_eq!(texts(b"a\\\r\n\\\r\nb\r\n"), [(1, b"ab".to_vec())]);
        assert_eq!(texts(b"a\\\\\nb"), [(1, b"a\\\\".to_vec()), (2, b"b".to_vec())]);
        assert_eq!(texts(b"a\\\\\\\nb"), [(1, b"a\\\\\\".to_vec()), (2, b"b".to_vec())]);
        assert_eq!(texts(b"a\\"), [(1, b"a".to_vec())]);
        assert_eq!(texts(b""), []);
        assert_eq!(
            texts(b"# comment \\\nstill = comment\nx"),
            [(1, b"# comment still = comment".to_vec()), (3, b"x".to_vec())]
        );
    }

    #[test]
    fn statements() {
        let s = |t: &'static str| statement(t.as_bytes(), false);
        assert_eq!(s(" a = b c # d"), Ok(assign("a", "b c")));
        assert_eq!(s("a='b # c' # d"), Ok(assign("a", "'b # c'")));
        assert_eq!(s("a=b \\# c"), Ok(assign("a", "b \\# c")));
        assert_eq!(s("a="), Ok(assign("a", "")));
        assert_eq!(s("x::a = b"), Ok(Statement::Assign { section: Some(b"x"), name: b"a", value: b"b" }));
        assert_eq!(s("[ my sect ] rest"), Ok(Statement::Section(b"my sect")));
        assert_eq!(s("[]"), Ok(Statement::Section(b"")));
        assert_eq!(s("[a"), Err("missing close square bracket"));
        assert_eq!(s("[a:b]"), Err("missing close square bracket"));
        assert_eq!(s("word"), Err("missing equal sign"));
        assert_eq!(s("\u{feff}a = b"), Err("missing equal sign"));
        assert_eq!(s(".include /etc/x"), Ok(Statement::Include { section: None, path: b"/etc/x" }));
        assert_eq!(s(".include=/etc/x"), Ok(Statement::Include { section: None, path: b"/etc/x" }));
        assert_eq!(s(".pragma dollarid: on"), Ok(Statement::Pragma { keyword: b"dollarid", value: b"on" }));
        assert_eq!(s(".pragma dollarid"), Err("invalid pragma"));
        assert_eq!(s("  # only"), Ok(Statement::Blank));
        assert_eq!(s("a$b = c"), Err("missing equal sign"));
        assert_eq!(statement(b"a$b = c", true), Ok(assign("a$b", "c")));
    }

    #[test]
    fn an_end_inside_an_escape_or_a_quote_is_no_error() {
        for text in ["a = b\\", "a = 'b", "a = 'b\\", "[a\\", "\\", "'", "a = \"\\"] {
            let _ = statement(text.as_bytes(), false);
        }
    }
}
