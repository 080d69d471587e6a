//! Files of environment variables (`EnvironmentFile=` of systemd.exec(5), which a shell can read, too), as far as one
//! variable must be found in them.

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its name, without a shell's `export`.
    pub name: String,
    /// Its value, without quotes.
    pub value: String,
    /// The line, from 1.
    pub line: usize,
}

/// Every setting of a file, in order.
pub(super) fn settings(text: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(text);
    let mut rest = Characters { text: text.chars().peekable(), line: 1 };
    let mut found = Vec::new();
    while let Some(&c) = rest.text.peek() {
        match c {
            '#' | ';' => rest.skip_line(),
            c if c.is_whitespace() => drop(rest.next()),
            _ => found.extend(rest.setting()),
        }
    }
    found
}

/// The last value of a variable, the one in force.
pub(super) fn value(text: &[u8], name: &str) -> Option<Setting> {
    settings(text).into_iter().rfind(|s| s.name == name)
}

struct Characters<'a> {
    text: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl Characters<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.text.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    /// A comment goes on after a backslash at the end of its line.
    fn skip_line(&mut self) {
        let mut before = ' ';
        while let Some(c) = self.next() {
            if c == '\n' && before != '\\' {
                return;
            }
            before = c;
        }
    }

    fn setting(&mut self) -> Option<Setting> {
        let line = self.line;
        let mut name = String::new();
        loop {
            match self.next()? {
                '=' => break,
                '\n' | '\r' => return None,
                c => name.push(c),
            }
        }
        let name = name.trim();
        let name = name.strip_prefix("export ").unwrap_or(name).trim().to_owned();
        Some(Setting { name, value: self.value(), line })
    }

    fn value(&mut self) -> String {
        let mut value = String::new();
        // Blanks at the end count only where they are quoted.
        let mut quoted = 0;
        while let Some(c) = self.next() {
            match c {
                '\n' | '\r' => break,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c) => {
                        value.push(c);
                        quoted = value.len();
                    }
                },
                '\'' | '"' => {
                    self.quoted(c, &mut value);
                    quoted = value.len();
                }
                c if value.is_empty() && c.is_whitespace() => {}
                c => value.push(c),
            }
        }
        let kept = value.trim_end().len().max(quoted);
        value.truncate(kept);
        value
    }

    fn quoted(&mut self, quote: char, value: &mut String) {
        while let Some(c) = self.next() {
            match c {
                c if c == quote => return,
                '\\' if quote == '"' => match self.next() {
                    Some('\n') | None => {}
                    Some(c) => value.push(c),
                },
                c => value.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String, usize)> {
        settings(text.as_bytes()).into_iter().map(|s| (s.name, s.value, s.line)).collect()
    }

    #[test]
    fn files_are_read_as_systemd_reads_them() {
        let one = |n: &str, v: &str, l| (n.to_owned(), v.to_owned(), l);
        assert_eq!(read("# A=1\n; B=2\nA=1\n B = \"x y\" \n"), [one("A", "1", 3), one("B", "x y", 4)]);
        assert_eq!(read("export A='x'\nexport A\nB=c\\\nd\n"), [one("A", "x", 1), one("B", "cd", 3)]);
        assert_eq!(read("# a \\\nA=1\nB=\n"), [one("B", "", 3)]);
        assert_eq!(read("A=a 'b ' \nC= d"), [one("A", "a b ", 1), one("C", "d", 2)]);
        assert_eq!(read("A=\"open\nB=1\n"), [one("A", "open\nB=1\n", 1)]);
        assert_eq!(read("A=1\\"), [one("A", "1", 1)]);
        assert_eq!(read(""), []);
        assert_eq!(value(b"A=1\nA=2\n", "A").unwrap().line, 2);
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "[A=\\\\'\"#; \n\r\u{e9}]{0,60}") {
            let lines = text.lines().count();
            assert!(settings(text.as_bytes()).iter().all(|s| (1..=lines + 1).contains(&s.line)), "{text:?}");
        }
    }
}
