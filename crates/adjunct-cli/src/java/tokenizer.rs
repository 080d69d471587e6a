//! The words of a SunPKCS11 configuration, told apart as Java's `StreamTokenizer` does with the settings that SunPKCS11 gives it.
//!
//! Bytes are characters (ISO 8859-1). Everything that Java does with odd input is done here, too: a quoted string that is not
//! closed ends with its line, `\` starts an escape in it, a carriage return counts as a line.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// The end of the file.
    End,
    /// The end of a line.
    LineEnd,
    /// A word.
    Word(String),
    /// A string between double quotes.
    Quoted(String),
    /// Any other character.
    Other(u8),
}

impl Token {
    /// Text of a token as Java's messages show it.
    pub fn shown(&self) -> String {
        match self {
            Token::End => "Token[EOF]".to_owned(),
            Token::LineEnd => "Token[EOL]".to_owned(),
            Token::Word(text) | Token::Quoted(text) => format!("Token[{text}]"),
            Token::Other(c) => format!("Token['{}']", char::from(*c)),
        }
    }

    /// Text of a word or string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Token::Word(text) | Token::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the token is this word.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self, Token::Word(text) if text == word)
    }
}

/// Reads tokens from a file's bytes.
#[derive(Debug)]
pub(super) struct Tokenizer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// A carriage return ended the last line: a line feed right after it is part of the same end.
    after_return: bool,
    /// The line as Java counts it: that of the place behind the last token, which is the next one after a line's end.
    java_line: u32,
    /// The line that the last token starts in, as an editor counts.
    line: u32,
    /// Up to where the lines are counted in `counted_lines`.
    counted: usize,
    counted_lines: u32,
}

/// Whether a byte belongs to words.
fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b":._-/\\${}*+~".contains(&c)
}

impl<'a> Tokenizer<'a> {
    /// Begins at the start of a file.
    pub fn new(bytes: &'a [u8]) -> Tokenizer<'a> {
        Tokenizer { bytes, at: 0, after_return: false, java_line: 1, line: 1, counted: 0, counted_lines: 0 }
    }

    /// The line as Java's messages give it.
    pub fn java_line(&self) -> u32 {
        self.java_line
    }

    /// The line that the last token starts in.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The rest of the line, without blanks around it; for dialects whose values are lines.
    pub fn rest_of_line(&mut self) -> String {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|c| matches!(c, b'\n' | b'\r')).unwrap_or(rest.len());
        self.at += length;
        latin1(&rest[..length]).trim().to_owned()
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    /// The next token.
    pub fn next(&mut self) -> Token {
        if std::mem::take(&mut self.after_return) && self.peek() == Some(b'\n') {
            self.at += 1;
        }
        while self.peek().is_some_and(|c| c <= b' ' && !matches!(c, b'\n' | b'\r')) {
            self.at += 1;
        }
        if self.peek() == Some(b'#') {
            while self.peek().is_some_and(|c| !matches!(c, b'\n' | b'\r')) {
                self.at += 1;
            }
        }
        self.count();
        let start = self.at;
        match self.take() {
            None => Token::End,
            Some(c @ (b'\n' | b'\r')) => {
                self.java_line = self.java_line.saturating_add(1);
                self.after_return = c == b'\r';
                Token::LineEnd
            }
            Some(b'"') => Token::Quoted(self.quoted()),
            Some(c) if is_word(c) => {
                while self.peek().is_some_and(is_word) {
                    self.at += 1;
                }
                Token::Word(latin1(&self.bytes[start..self.at]))
            }
            Some(c) => Token::Other(c),
        }
    }

    /// Brings `line` to the place read next.
    fn count(&mut self) {
        let mut last = self.counted.checked_sub(1).and_then(|i| self.bytes.get(i)).copied();
        for &c in &self.bytes[self.counted..self.at] {
            if c == b'\r' || (c == b'\n' && last != Some(b'\r')) {
                self.counted_lines = self.counted_lines.saturating_add(1);
            }
            last = Some(c);
        }
        self.counted = self.at;
        self.line = self.counted_lines.saturating_add(1);
    }

    /// Reads the remainder of a string whose first quote was read: to the second quote, or to the end of the line, which stays unread.
    fn quoted(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek() {
            match c {
                b'\n' | b'\r' => break,
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' => {
                    self.at += 1;
                    text.push(self.escape());
                }
                c => {
                    self.at += 1;
                    text.push(char::from(c));
                }
            }
        }
        text
    }

    /// The character that an escape stands for, after its backslash was read.
    fn escape(&mut self) -> char {
        match self.take() {
            // Java makes a character of the -1 that its reader gives at the end.
            None => '\u{ffff}',
            Some(first @ b'0'..=b'7') => {
                let most = if first <= b'3' { 3 } else { 2 };
                let mut value = u32::from(first - b'0');
                for _ in 1..most {
                    match self.peek() {
                        Some(c @ b'0'..=b'7') => {
                            value = value * 8 + u32::from(c - b'0');
                            self.at += 1;
                        }
                        _ => break,
                    }
                }
                char::from_u32(value).unwrap_or('\u{ffff}')
            }
            Some(b'a') => '\u{7}',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'v') => '\u{b}',
            Some(c) => char::from(c),
        }
    }
}

/// Bytes as ISO 8859-1.
pub(super) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&c| char::from(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(Token, u32)> {
        let mut tokens = Tokenizer::new(text.as_bytes());
        let mut all = Vec::new();
        loop {
            let token = tokens.next();
            if token == Token::End {
                return all;
            }
            all.push((token, tokens.line()));
        }
    }

    #[test]
    fn words_strings_and_lines_are_told_apart() {
        let word = |text: &str| Token::Word(text.to_owned());
        let found = all("a=b#c\r\n{ x} \"q\\\"\\101\\n\" (\n\"open\n,");
        let expected = [
            (word("a"), 1),
            (Token::Other(b'='), 1),
            (word("b"), 1),
            (Token::LineEnd, 1),
            (word("{"), 2),
            (word("x}"), 2),
            (Token::Quoted("q\"A\n".to_owned()), 2),
            (Token::Other(b'('), 2),
            (Token::LineEnd, 2),
            (Token::Quoted("open".to_owned()), 3),
            (Token::LineEnd, 3),
            (Token::Other(b','), 4),
        ];
        assert_eq!(found, expected);
    }
}
