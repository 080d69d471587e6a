//! The reader of SunPKCS11 configurations: entries, and values of one line.

mod lists;

use super::{Config, Entry, Refusal, TOKEN_LABEL, VARIANT, ValueKind, expanded, keywords};
use crate::java::dialect::{Dialect, Family};
use crate::java::names;
use crate::java::tokenizer::{Token, Tokenizer};
use std::collections::HashSet;

/// Reads a file's bytes as a Java of this dialect does.
pub(super) fn read(bytes: &[u8], dialect: Dialect) -> Config {
    let mut parser = Parser {
        tokens: Tokenizer::new(bytes),
        dialect,
        seen: HashSet::new(),
        last: Token::End,
        open: false,
        config: Config::default(),
        secmod: false,
    };
    parser.file();
    parser.config
}

struct Parser<'a> {
    tokens: Tokenizer<'a>,
    dialect: Dialect,
    seen: HashSet<Option<String>>,
    last: Token,
    /// Whether a `{` was read, and its `}` not.
    open: bool,
    config: Config,
    secmod: bool,
}

/// What was read, or the mistake that ended reading it, which the caller notes or passes on.
type Read<T> = Result<T, Refusal>;

const NUMBER_FIX: &str = "write a number up to 2147483647, or 0x7fffffff";

impl Parser<'_> {
    fn next(&mut self) -> Token {
        self.last = self.tokens.next();
        self.last.clone()
    }

    /// Makes a refusal for a mistake whose token is in Java's message.
    fn at_token(&self, java: &str, text: impl Into<String>, fix: impl Into<String>) -> Refusal {
        let java = format!("{java} {}, line {}", self.last.shown(), self.tokens.java_line());
        Refusal { line: self.tokens.line(), java, text: text.into(), fix: fix.into() }
    }

    /// Makes a refusal for a mistake whose line is in Java's message.
    fn at_line(&self, java: &str, text: impl Into<String>, fix: impl Into<String>) -> Refusal {
        let java = format!("{java}, line {}", self.tokens.java_line());
        Refusal { line: self.tokens.line(), java, text: text.into(), fix: fix.into() }
    }

    fn refuse(&mut self, refusal: Refusal) {
        self.config.refusals.push(refusal);
    }

    fn slip(&mut self, line: u32, text: impl Into<String>, fix: impl Into<String>) {
        self.config.slips.push((line, text.into(), fix.into()));
    }

    fn file(&mut self) {
        let mut line_before = 0;
        loop {
            match self.next() {
                Token::End => break,
                Token::LineEnd => {}
                Token::Word(word) => {
                    let line = self.tokens.line();
                    if line == line_before {
                        self.slip(
                            line,
                            format!("the entry '{word}' follows another one in its line"),
                            "one entry a line: after description and library it would have become part of the value",
                        );
                    }
                    line_before = line;
                    if let Err(refusal) = self.entry(&word, line) {
                        self.refuse(refusal);
                        self.skip();
                    }
                    // An entry may end lines below its beginning, and another start there.
                    if self.last != Token::LineEnd {
                        line_before = self.tokens.line();
                    }
                }
                _ => {
                    let fix = "begin the line with a keyword, or with # for a comment";
                    let text = format!("{} cannot begin an entry", shown(&self.last));
                    let refusal = self.at_token("Unexpected token:", text, fix);
                    self.refuse(refusal);
                    self.skip();
                }
            }
        }
        self.whole();
    }

    /// Checks that concern the file as a whole.
    fn whole(&mut self) {
        if self.dialect.family == Family::Ibm {
            return;
        }
        let has = |keyword: &str| self.config.values.get(keyword).map(|e| e.line);
        let (library, slot) = (has("library"), has("slot").or(has("slotListIndex")));
        let (name, args) = (has("name"), has("nssArgs"));
        let trust = has("nssUseSecmodTrust").filter(|_| self.config.value("nssUseSecmodTrust") == Some("true"));
        let mut refuse = |line: u32, java: &str, text: &str, fix: &str| {
            let (java, text, fix) = (java.to_owned(), text.to_owned(), fix.to_owned());
            self.config.refusals.push(Refusal { line, java, text, fix });
        };
        if name.is_none() {
            refuse(
                1,
                "name must be specified",
                "there is no name",
                "add a line 'name = WORD'; the provider is SunPKCS11-WORD",
            );
        }
        if !self.secmod {
            if library.is_none() {
                let fix = "add a line 'library = /PATH/OF/MODULE.so'";
                refuse(1, "library must be specified", "there is no library", fix);
            }
            return;
        }
        self.config.nss = true;
        let mut refuse = |line: u32, java: &str, text: &str, fix: &str| {
            let (java, text, fix) = (java.to_owned(), text.to_owned(), fix.to_owned());
            self.config.refusals.push(Refusal { line, java, text, fix });
        };
        let nss = "does not go with NSS's own keywords (nss...)";
        let lines = [
            (library, "library must not be specified in NSS mode", "library"),
            (slot, "slot and slotListIndex must not be specified in NSS mode", "a slot"),
            (args, "nssArgs must not be specified in NSS mode", "nssArgs"),
            (
                trust,
                "nssUseSecmodTrust is an internal option and must not be specified in NSS mode",
                "nssUseSecmodTrust",
            ),
        ];
        for (line, java, what) in lines {
            if let Some(line) = line {
                refuse(line, java, &format!("{what} {nss}"), "remove one of them");
            }
        }
    }

    /// Skips what follows a mistake: to the end of the line, or of the braces.
    fn skip(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        let mut token = self.last.clone();
        loop {
            match &token {
                Token::End => return,
                Token::LineEnd if !open => return,
                Token::Word(word) if word.contains('}') && !word.contains("${") => open = false,
                Token::Word(word) if word.starts_with('{') => open = true,
                _ => {}
            }
            token = self.next();
        }
    }

    fn entry(&mut self, word: &str, line: u32) -> Read<()> {
        let (keyword, kind) = self.keyword(word)?;
        self.value(&keyword, kind, line)?;
        let remembered = if self.dialect.notices_twice() { Some(keyword) } else { self.last.text().map(str::to_owned) };
        self.seen.insert(remembered);
        Ok(())
    }

    /// The keyword that a word is; or that it was meant to be, with the mistake noted.
    fn keyword(&mut self, word: &str) -> Read<(String, ValueKind)> {
        let dialect = self.dialect;
        let known = keywords().find(|(name, _)| *name == word);
        if let Some((name, kind)) = known.filter(|(name, _)| *name != VARIANT || dialect.java > 21) {
            return Ok((name.to_owned(), kind));
        }
        if dialect.family != Family::OpenJdk && word.eq_ignore_ascii_case(TOKEN_LABEL) {
            return Ok((TOKEN_LABEL.to_owned(), ValueKind::Text));
        }
        if dialect.family == Family::Ibm {
            let found = keywords().find(|(name, _)| name.eq_ignore_ascii_case(word));
            if found.is_none() {
                let fix = "IBM's list of keywords: name description library slot slotListIndex tokenlabel enabledMechanisms \
                           disabledMechanisms attributes";
                self.slip(
                    self.tokens.line(),
                    format!("whether IBM Java 8 knows the keyword '{word}' is not known"),
                    fix,
                );
            }
            return Ok(found.map_or((word.to_owned(), ValueKind::Description), |(name, kind)| (name.to_owned(), kind)));
        }
        if dialect.java < 21 && word.ends_with("insertionCheckInterval") {
            self.slip(
                self.tokens.line(),
                format!("'{word}' is taken for insertionCheckInterval by JDKs before 21, and refused by later ones"),
                "write insertionCheckInterval",
            );
            return Ok((word.to_owned(), ValueKind::Number(100)));
        }
        let java = format!("Unknown keyword '{word}'");
        let text = format!("{dialect} knows no keyword '{word}'");
        let (fix, meant) = if word.eq_ignore_ascii_case(TOKEN_LABEL) {
            (
                "only Semeru and IBM Java have it: choose the token by 'slot = ID' or 'slotListIndex = N'".to_owned(),
                Some(ValueKind::Text),
            )
        } else if word == VARIANT {
            ("remove the line: JDK 25 has it".to_owned(), Some(ValueKind::Variant))
        } else {
            match names::meant(word, keywords().map(|(name, _)| name)) {
                Some(name) => {
                    let kind = keywords().find(|(n, _)| *n == name);
                    let refusal = self.at_line(&java, text, format!("write {name}"));
                    self.refuse(refusal);
                    return kind.map(|(name, kind)| (name.to_owned(), kind)).ok_or_else(|| self.at_line(&java, "", ""));
                }
                None => ("remove the line".to_owned(), None),
            }
        };
        let refusal = self.at_line(&java, text, fix);
        match meant {
            Some(kind) => {
                self.refuse(refusal);
                Ok((word.to_owned(), kind))
            }
            None => Err(refusal),
        }
    }

    fn value(&mut self, keyword: &str, kind: ValueKind, line: u32) -> Read<()> {
        if kind != ValueKind::Slot && kind != ValueKind::Attributes {
            self.once(keyword)?;
        }
        let value = match kind {
            ValueKind::Attributes => return self.attributes(line),
            ValueKind::Mechanisms => {
                let list = self.mechanisms()?;
                let target =
                    if keyword == "enabledMechanisms" { &mut self.config.enabled } else { &mut self.config.disabled };
                if let Some(old) = target.replace(Entry { line, value: list }) {
                    let text = format!("this {keyword} replaces the one in line {}, silently", old.line);
                    self.slip(line, text, "have one list");
                }
                return Ok(());
            }
            ValueKind::Slot => self.slot(keyword)?,
            ValueKind::Path => self.path()?,
            ValueKind::Description => {
                self.equals()?;
                if self.dialect.family == Family::Ibm { self.tokens.rest_of_line() } else { self.line_value(true)? }
            }
            ValueKind::Text => {
                let value = self.text()?;
                if keyword.starts_with("nss") {
                    self.secmod = true;
                }
                if keyword == "nssSecmodDirectory" { self.expand(&value)? } else { value }
            }
            ValueKind::Number(least) => self.number(keyword, least)?,
            ValueKind::Switch => {
                self.equals()?;
                let value = self.word()?;
                if value != "true" && value != "false" {
                    let text = format!("{keyword} is true or false, not '{value}'");
                    return Err(self.at_token("Expected boolean value, read:", text, "write true or false"));
                }
                self.secmod |= match keyword {
                    "nssUseSecmod" => value == "true",
                    "nssNetscapeDbWorkaround" => true,
                    _ => false,
                };
                value
            }
            ValueKind::Startup => {
                self.equals()?;
                let value = self.word()?;
                if !["halt", "ignoreAll", "ignoreMissingLibrary"].contains(&value.as_str()) {
                    let fix = "write halt, ignoreMissingLibrary or ignoreAll";
                    let text = format!("{keyword} cannot be '{value}'");
                    return Err(self.at_token("Invalid value for handleStartupErrors:", text, fix));
                }
                value
            }
            ValueKind::Variant => {
                let value = self.text()?;
                if !["CS1", "CS2", "CS3"].contains(&value.as_str()) {
                    let java = format!("{keyword} must be one of [CS1, CS2, CS3], read:");
                    let text = format!("{keyword} cannot be '{value}'");
                    return Err(self.at_token(&java, text, "write CS1, CS2 or CS3"));
                }
                value
            }
            ValueKind::NssMode => {
                let value = self.text()?;
                if !["readWrite", "readOnly", "noDb"].contains(&value.as_str()) {
                    let java = "nssDbMode must be one of readWrite, readOnly, and noDb:";
                    let fix = "write readWrite, readOnly or noDb";
                    return Err(self.at_token(java, format!("nssDbMode cannot be '{value}'"), fix));
                }
                self.secmod = true;
                value
            }
            ValueKind::NssArgs => {
                self.equals()?;
                match self.next() {
                    Token::Quoted(value) => self.expand(&value)?,
                    _ => {
                        let fix = "put double quotes around the value";
                        return Err(self.at_token(
                            "Expected quoted string",
                            "nssArgs is a string in double quotes",
                            fix,
                        ));
                    }
                }
            }
        };
        self.secmod |= keyword == "nssLibraryDirectory";
        if let Some(old) = self.config.values.insert(keyword.to_owned(), Entry { line, value }) {
            let text = format!("this {keyword} replaces the one in line {}, silently", old.line);
            self.slip(line, text, "remove one of them");
        }
        Ok(())
    }

    fn once(&mut self, keyword: &str) -> Read<()> {
        if self.dialect.family == Family::Ibm || !self.seen.contains(&Some(keyword.to_owned())) {
            return Ok(());
        }
        let java = format!("{keyword} must only be specified once");
        let text = if self.dialect.notices_twice() {
            format!("{keyword} stands twice in the file")
        } else {
            // JDK 21 and later remember values in place of keywords.
            format!(
                "{keyword} is the last word of an entry above: {} takes that for the same keyword twice",
                self.dialect
            )
        };
        Err(self.at_line(&java, text, "remove one of them"))
    }

    fn equals(&mut self) -> Read<()> {
        match self.next() {
            Token::Other(b'=') => Ok(()),
            token => {
                let text = format!("'=' is missing before {}", shown(&token));
                Err(self.at_token("Expected '=', read", text, "write 'KEYWORD = VALUE' in one line"))
            }
        }
    }

    fn open(&mut self) -> Read<()> {
        loop {
            match self.next() {
                Token::LineEnd => {}
                token if token.is_word("{") => {
                    self.open = true;
                    return Ok(());
                }
                token => {
                    let glued = matches!(&token, Token::Word(word) if word.starts_with('{'));
                    let (text, fix) = if glued {
                        (
                            format!("'{{' must stand by itself; {} is one word", shown(&token)),
                            "put blanks around { and }",
                        )
                    } else {
                        (format!("'{{' is missing before {}", shown(&token)), "put the list between { and }")
                    };
                    return Err(self.at_token("Expected '{', read", text, fix));
                }
            }
        }
    }

    fn word(&mut self) -> Read<String> {
        match self.next() {
            Token::Word(word) => Ok(word),
            token => {
                let text = format!("a plain word is expected, not {}", shown(&token));
                Err(self.at_token(
                    "Unexpected value:",
                    text,
                    "write one word of letters, digits and : . _ / \\ $ { } * + ~ -, without quotes",
                ))
            }
        }
    }

    fn text(&mut self) -> Read<String> {
        self.equals()?;
        match self.next() {
            Token::Word(text) | Token::Quoted(text) => Ok(text),
            token => {
                let text = format!("a word is expected, not {}", shown(&token));
                Err(self.at_token("Unexpected value:", text, "put double quotes around the value"))
            }
        }
    }

    /// Words and strings to the end of the line.
    fn line_value(&mut self, description: bool) -> Read<String> {
        let mut parts: Vec<String> = Vec::new();
        loop {
            match self.next() {
                Token::End | Token::LineEnd => break,
                Token::Word(part) | Token::Quoted(part) => parts.push(part),
                token => {
                    let what = if description { "a description" } else { "a path" };
                    let text = format!("{} cannot stand in {what} outside of double quotes", shown(&token));
                    return Err(self.at_token("Unexpected value", text, "put double quotes around the value"));
                }
            }
        }
        if parts.is_empty() {
            return Err(self.at_token(
                "Unexpected empty line",
                "the value is missing",
                "write it after '=', in the same line",
            ));
        }
        Ok(parts.join(" "))
    }

    fn expand(&self, text: &str) -> Read<String> {
        expanded(text).map_err(|name| Refusal {
            line: self.tokens.line(),
            java: format!("unable to expand property {name}"),
            text: format!("no JVM has the property '{name}' by itself"),
            fix: format!("write the value out, or start Java with -D{name}=VALUE"),
        })
    }

    fn path(&mut self) -> Read<String> {
        self.equals()?;
        let raw = if self.dialect.family == Family::Ibm { self.tokens.rest_of_line() } else { self.line_value(false)? };
        let mut path = self.expand(&raw)?;
        if let Some(at) = path.find("/$ISA/") {
            path.replace_range(at..at + 5, "");
        }
        if !path.starts_with('/') {
            let java = format!("Absolute path required for library value: {path}");
            let (text, fix) = (format!("'{path}' is no absolute path"), "write the whole path, from / on".to_owned());
            // The line's end may have been read: the value stands in the line before.
            let line = self.tokens.line();
            return Err(Refusal { line, java, text, fix });
        }
        Ok(path)
    }

    fn number(&mut self, keyword: &str, least: i32) -> Read<String> {
        self.equals()?;
        let word = self.word()?;
        let number = self.decoded(&word)?;
        if number < least {
            let named = if self.dialect.java < 21 { keyword } else { &word };
            let java = format!("{named} must be at least {least} ms");
            return Err(self.at_line(
                &java,
                format!("{keyword} is at least {least} milliseconds"),
                format!("write {least} or more"),
            ));
        }
        Ok(number.to_string())
    }

    fn decoded(&self, word: &str) -> Read<i32> {
        decode(word).ok_or_else(|| {
            let text = match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
                Some(hex) if !hex.is_empty() && hex.bytes().all(|c| c.is_ascii_hexdigit()) => {
                    format!("{word} is more than 0x7fffffff, which SunPKCS11 reads no further: mechanisms of vendors cannot be named")
                }
                _ => format!("'{word}' is no number from 0 to 2147483647"),
            };
            self.at_token("Expected number, read", text, NUMBER_FIX)
        })
    }

    fn slot(&mut self, keyword: &str) -> Read<String> {
        let at_least_0 = |keyword: &str| self.config.value(keyword).is_some_and(|v| !v.starts_with('-'));
        let other = if keyword == "slot" { "slotListIndex" } else { "slot" };
        if self.dialect.family != Family::Ibm {
            if at_least_0(keyword) {
                let java = format!("Duplicate {keyword} definition");
                return Err(self.at_line(&java, format!("{keyword} stands twice in the file"), "remove one of them"));
            }
            if at_least_0(other) {
                let java = "Only one of slot and slotListIndex must be specified";
                return Err(self.at_line(java, "slot and slotListIndex exclude each other", "remove one of them"));
            }
        }
        self.equals()?;
        let word = self.word()?;
        self.decoded(&word).map(|number| number.to_string())
    }
}

/// Parses a number as `Integer.parseInt` does, and hexadecimal after `0x`.
fn decode(word: &str) -> Option<i32> {
    match word.strip_prefix("0x").or(word.strip_prefix("0X")) {
        Some(hex) => i32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

/// A token in a sentence.
fn shown(token: &Token) -> String {
    match token {
        Token::End => "the end of the file".to_owned(),
        Token::LineEnd => "the end of the line".to_owned(),
        Token::Word(text) => format!("'{text}'"),
        Token::Quoted(text) => format!("\"{text}\""),
        Token::Other(c) => format!("'{}'", char::from(*c)),
    }
}
