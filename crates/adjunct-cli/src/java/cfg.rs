//! A SunPKCS11 configuration, read as the JDK's own reader does: the same files are refused, with the same words.
//!
//! The JDK stops at the first mistake. Here reading goes on after it, so that all of them are found at once; the verdict is by the
//! first.

use super::dialect::{Dialect, Family};
use super::names;
use super::tokenizer::{Token, Tokenizer};
use std::collections::{BTreeMap, HashSet};

/// A value and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<T> {
    /// The line, from 1.
    pub line: u32,
    /// The value.
    pub value: T,
}

/// A mechanism in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    /// As it is written.
    pub word: String,
    /// The number it stands for, where it is known.
    pub number: Option<u32>,
}

/// An `attributes` entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Operation, class and key type.
    pub of: [String; 3],
    /// Names and values.
    pub values: Vec<(String, String)>,
}

/// A mistake that the JDK refuses the file for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Its line.
    pub line: u32,
    /// The JDK's own words, as far as it comes to this line.
    pub java: String,
    /// What is wrong.
    pub text: String,
    /// What to do.
    pub fix: String,
}

/// What a file says, and why it would be refused.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// Why, in the order of the file; empty where the JDK takes it.
    pub refusals: Vec<Refusal>,
    /// What the JDK does not refuse, and surely was not meant: line, what, what to do.
    pub slips: Vec<(u32, String, String)>,
    /// Entries of one value, by keyword.
    pub values: BTreeMap<String, Entry<String>>,
    /// The mechanisms of `enabledMechanisms`.
    pub enabled: Option<Entry<Vec<Entry<Listed>>>>,
    /// The mechanisms of `disabledMechanisms`.
    pub disabled: Option<Entry<Vec<Entry<Listed>>>>,
    /// The `attributes` entries.
    pub attributes: Vec<Entry<Attributes>>,
}

impl Config {
    /// The value of a keyword.
    pub fn value(&self, keyword: &str) -> Option<&str> {
        self.values.get(keyword).map(|e| e.value.as_str())
    }

    /// Whether a number is among those that SunPKCS11 may use.
    pub fn uses(&self, number: u32) -> bool {
        let has =
            |list: &Entry<Vec<Entry<Listed>>>| list.value.iter().any(|listed| listed.value.number == Some(number));
        match (&self.enabled, &self.disabled) {
            (Some(enabled), _) => has(enabled),
            (None, Some(disabled)) => !has(disabled),
            (None, None) => true,
        }
    }
}

/// What follows a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Path,
    Description,
    Slot,
    Mechanisms,
    Attributes,
    Startup,
    /// A number of at least so many milliseconds.
    Number(i32),
    Switch,
    Variant,
    NssMode,
    NssArgs,
}

/// Every keyword of OpenJDK.
const KEYWORDS: [(&str, Kind); 30] = [
    ("name", Kind::Text),
    ("library", Kind::Path),
    ("description", Kind::Description),
    ("slot", Kind::Slot),
    ("slotListIndex", Kind::Slot),
    ("enabledMechanisms", Kind::Mechanisms),
    ("disabledMechanisms", Kind::Mechanisms),
    ("attributes", Kind::Attributes),
    ("handleStartupErrors", Kind::Startup),
    ("insertionCheckInterval", Kind::Number(100)),
    ("cleaner.shortInterval", Kind::Number(1000)),
    ("cleaner.longInterval", Kind::Number(1000)),
    ("destroyTokenAfterLogout", Kind::Switch),
    ("showInfo", Kind::Switch),
    ("allowLegacy", Kind::Switch),
    ("keyStoreCompatibilityMode", Kind::Switch),
    ("explicitCancel", Kind::Switch),
    ("omitInitialize", Kind::Switch),
    ("allowSingleThreadedModules", Kind::Switch),
    ("functionList", Kind::Text),
    (VARIANT, Kind::Variant),
    ("nssUseSecmod", Kind::Switch),
    ("nssLibraryDirectory", Kind::Path),
    ("nssSecmodDirectory", Kind::Text),
    ("nssModule", Kind::Text),
    ("nssDbMode", Kind::NssMode),
    ("nssNetscapeDbWorkaround", Kind::Switch),
    ("nssArgs", Kind::NssArgs),
    ("nssUseSecmodTrust", Kind::Switch),
    ("useEcX963Encoding", Kind::Switch),
];
const LATE: &str = "nssOptimizeSpace";
const VARIANT: &str = "cipherTextStealingVariant";
/// Semeru's and IBM's own keyword.
pub(super) const TOKEN_LABEL: &str = "tokenLabel";

fn keywords() -> impl Iterator<Item = (&'static str, Kind)> {
    KEYWORDS.into_iter().chain([(LATE, Kind::Switch)])
}

/// Of `${NAME}` in a path: what a JVM's property stands for, as far as it can be known without it. Nothing: no JVM has it unless it is
/// given by `-D`.
fn property(name: &str) -> Option<String> {
    match name {
        "/" | "file.separator" => Some("/".to_owned()),
        "user.home" => Some(std::env::var("HOME").unwrap_or_else(|_| "/user.home".to_owned())),
        "java.home" | "user.dir" | "java.io.tmpdir" | "sun.boot.library.path" | "java.library.path" => {
            Some(format!("/{name}"))
        }
        "user.name"
        | "os.arch"
        | "os.name"
        | "os.version"
        | "java.version"
        | "java.vendor"
        | "path.separator"
        | "line.separator"
        | "sun.arch.data.model"
        | "java.vm.name"
        | "java.vm.version"
        | "java.class.path"
        | "java.class.version"
        | "file.encoding"
        | "java.specification.version"
        | "user.language" => Some(name.to_owned()),
        _ => None,
    }
}

/// `text` with its `${NAME}` replaced.
///
/// # Errors
/// The property that no JVM has by itself.
pub(super) fn expanded(text: &str) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some(start) = rest.find("${") {
        done.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        if inside.starts_with('{') {
            // Java leaves `${{...}}` as it is.
            let Some(end) = inside.find("}}") else {
                done.push_str(&rest[start..]);
                return Ok(done);
            };
            done.push_str(&rest[start..start + 2 + end + 2]);
            rest = &inside[end + 2..];
            continue;
        }
        let Some(end) = inside.find('}') else {
            done.push_str(&rest[start..]);
            return Ok(done);
        };
        done.push_str(&property(&inside[..end]).ok_or_else(|| inside[..end].to_owned())?);
        rest = &inside[end + 1..];
    }
    done.push_str(rest);
    Ok(done)
}

/// Reads a file's bytes as a Java of this dialect does.
pub(super) fn parse(bytes: &[u8], dialect: Dialect) -> Config {
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

/// Nothing was read that goes on; the mistake is noted or comes with it.
type Read<T> = Result<T, Refusal>;

const NUMBER_FIX: &str = "write a number up to 2147483647, or 0x7fffffff";

impl Parser<'_> {
    fn next(&mut self) -> Token {
        self.last = self.tokens.next();
        self.last.clone()
    }

    /// A mistake that Java's message shows the token of.
    fn at_token(&self, java: &str, text: impl Into<String>, fix: impl Into<String>) -> Refusal {
        let java = format!("{java} {}, line {}", self.last.shown(), self.tokens.java_line());
        Refusal { line: self.tokens.line(), java, text: text.into(), fix: fix.into() }
    }

    /// A mistake that Java's message shows the line of.
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

    /// What is asked of the file as a whole.
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

    /// After a mistake: to the end of the line, or of the braces.
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

    /// The keyword that a word is, or, the mistake noted, was meant to be.
    fn keyword(&mut self, word: &str) -> Read<(String, Kind)> {
        let dialect = self.dialect;
        let known = keywords().find(|(name, _)| *name == word);
        if let Some((name, kind)) = known.filter(|(name, _)| *name != VARIANT || dialect.java > 21) {
            return Ok((name.to_owned(), kind));
        }
        if dialect.family != Family::OpenJdk && word.eq_ignore_ascii_case(TOKEN_LABEL) {
            return Ok((TOKEN_LABEL.to_owned(), Kind::Text));
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
            return Ok(found.map_or((word.to_owned(), Kind::Description), |(name, kind)| (name.to_owned(), kind)));
        }
        if dialect.java < 21 && word.ends_with("insertionCheckInterval") {
            self.slip(
                self.tokens.line(),
                format!("'{word}' is taken for insertionCheckInterval by JDKs before 21, and refused by later ones"),
                "write insertionCheckInterval",
            );
            return Ok((word.to_owned(), Kind::Number(100)));
        }
        let java = format!("Unknown keyword '{word}'");
        let text = format!("{dialect} knows no keyword '{word}'");
        let (fix, meant) = if word.eq_ignore_ascii_case(TOKEN_LABEL) {
            (
                "only Semeru and IBM Java have it: choose the token by 'slot = ID' or 'slotListIndex = N'".to_owned(),
                Some(Kind::Text),
            )
        } else if word == VARIANT {
            ("remove the line: JDK 25 has it".to_owned(), Some(Kind::Variant))
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

    fn value(&mut self, keyword: &str, kind: Kind, line: u32) -> Read<()> {
        if kind != Kind::Slot && kind != Kind::Attributes {
            self.once(keyword)?;
        }
        let value = match kind {
            Kind::Attributes => return self.attributes(line),
            Kind::Mechanisms => {
                let list = self.mechanisms()?;
                let target =
                    if keyword == "enabledMechanisms" { &mut self.config.enabled } else { &mut self.config.disabled };
                if let Some(old) = target.replace(Entry { line, value: list }) {
                    let text = format!("this {keyword} replaces the one in line {}, silently", old.line);
                    self.slip(line, text, "have one list");
                }
                return Ok(());
            }
            Kind::Slot => self.slot(keyword)?,
            Kind::Path => self.path()?,
            Kind::Description => {
                self.equals()?;
                if self.dialect.family == Family::Ibm { self.tokens.rest_of_line() } else { self.line_value(true)? }
            }
            Kind::Text => {
                let value = self.text()?;
                if keyword.starts_with("nss") {
                    self.secmod = true;
                }
                if keyword == "nssSecmodDirectory" { self.expand(&value)? } else { value }
            }
            Kind::Number(least) => self.number(keyword, least)?,
            Kind::Switch => {
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
            Kind::Startup => {
                self.equals()?;
                let value = self.word()?;
                if !["halt", "ignoreAll", "ignoreMissingLibrary"].contains(&value.as_str()) {
                    let fix = "write halt, ignoreMissingLibrary or ignoreAll";
                    let text = format!("{keyword} cannot be '{value}'");
                    return Err(self.at_token("Invalid value for handleStartupErrors:", text, fix));
                }
                value
            }
            Kind::Variant => {
                let value = self.text()?;
                if !["CS1", "CS2", "CS3"].contains(&value.as_str()) {
                    let java = format!("{keyword} must be one of [CS1, CS2, CS3], read:");
                    let text = format!("{keyword} cannot be '{value}'");
                    return Err(self.at_token(&java, text, "write CS1, CS2 or CS3"));
                }
                value
            }
            Kind::NssMode => {
                let value = self.text()?;
                if !["readWrite", "readOnly", "noDb"].contains(&value.as_str()) {
                    let java = "nssDbMode must be one of readWrite, readOnly, and noDb:";
                    let fix = "write readWrite, readOnly or noDb";
                    return Err(self.at_token(java, format!("nssDbMode cannot be '{value}'"), fix));
                }
                self.secmod = true;
                value
            }
            Kind::NssArgs => {
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

    fn mechanisms(&mut self) -> Read<Vec<Entry<Listed>>> {
        self.equals()?;
        self.open()?;
        let mut list = Vec::new();
        loop {
            let token = self.next();
            let line = self.tokens.line();
            match token {
                Token::LineEnd => {}
                Token::Word(word) if word == "}" => break,
                Token::Word(word) => match self.mechanism(&word) {
                    Ok(number) => list.push(Entry { line, value: Listed { word, number } }),
                    Err(refusal) => {
                        let closes = word.ends_with('}');
                        self.refuse(refusal);
                        if closes {
                            break;
                        }
                    }
                },
                Token::End => {
                    self.open = false;
                    let fix = "close the list with } in a line of its own";
                    return Err(self.at_token("Expected mechanism, read", "the list is not closed", fix));
                }
                token => {
                    let (text, fix) = match token {
                        Token::Other(b',') => {
                            ("mechanisms are not separated by commas".to_owned(), "separate them by blanks or lines")
                        }
                        _ => (
                            format!("{} is no mechanism", shown(&token)),
                            "write names as CKM_RSA_PKCS, without quotes",
                        ),
                    };
                    let refusal = self.at_token("Expected mechanism, read", text, fix);
                    self.refuse(refusal);
                }
            }
        }
        self.open = false;
        Ok(list)
    }

    fn mechanism(&mut self, word: &str) -> Read<Option<u32>> {
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.decoded(word).map(|number| Some(number as u32));
        }
        if let Some(mechanism) = names::mechanism(word, self.dialect.java) {
            return Ok(Some(mechanism.number));
        }
        let known = names::mechanisms().iter().filter(|m| m.known(self.dialect.java)).map(|m| m.name);
        let fix = match names::meant(word.trim_matches(['{', '}']), known) {
            _ if word.len() > 1 && word.contains(['{', '}']) => "put blanks around { and }".to_owned(),
            Some(name) => format!("write {name}"),
            None => "remove it, or name it by its number".to_owned(),
        };
        if self.dialect.family == Family::Ibm {
            let text = format!(
                "whether IBM Java 8 knows the mechanism {word} is not known; if not, its provider is gone without a word"
            );
            self.slip(self.tokens.line(), text, fix);
            return Ok(None);
        }
        let text = format!("{} knows no mechanism '{word}'", self.dialect);
        Err(self.at_line(&format!("Unknown mechanism: {word}"), text, fix))
    }

    fn attributes(&mut self, line: u32) -> Read<()> {
        match self.next() {
            Token::Other(b'=') => {
                let word = self.word()?;
                if word != "compatibility" {
                    let java = format!("Expected 'compatibility', read {word}");
                    let fix = "write 'attributes = compatibility', or 'attributes (OPERATION, CLASS, KEY) = { ... }'";
                    return Err(self.at_line(&java, format!("attributes cannot be '{word}'"), fix));
                }
                let of = ["compatibility".to_owned(), String::new(), String::new()];
                self.config.attributes.push(Entry { line, value: Attributes { of, values: Vec::new() } });
                return Ok(());
            }
            Token::Other(b'(') => {}
            token => {
                let text = format!("'(' or '=' is missing before {}", shown(&token));
                return Err(self.at_token(
                    "Expected '(' or '=', read",
                    text,
                    "write 'attributes (OPERATION, CLASS, KEY) = { ... }'",
                ));
            }
        }
        let operation = self.word()?;
        if !["*", "generate", "import"].contains(&operation.as_str()) {
            let java = format!("Unknown operation {operation}");
            return Err(self.at_line(
                &java,
                format!("there is no operation '{operation}'"),
                "write *, generate or import",
            ));
        }
        self.punctuation(b',', "Expected ',', read")?;
        let class = self.word()?;
        if class != "*" && !(class.starts_with("CKO_") && names::attribute(&class)) {
            let java = format!("Unknown object class {class}");
            return Err(self.at_line(
                &java,
                format!("there is no class '{class}'"),
                "write * or CKO_PRIVATE_KEY, CKO_PUBLIC_KEY, CKO_SECRET_KEY",
            ));
        }
        self.punctuation(b',', "Expected ',', read")?;
        let key = self.word()?;
        if key.starts_with(|c: char| c.is_ascii_digit()) {
            self.decoded(&key)?;
        } else if key != "*" && !(key.starts_with("CKK_") && names::attribute(&key)) {
            let java = format!("Unknown key algorithm {key}");
            return Err(self.at_line(
                &java,
                format!("there is no key type '{key}'"),
                "write * or CKK_RSA, CKK_EC, CKK_AES, ...",
            ));
        }
        self.punctuation(b')', "Expected ')', read")?;
        self.equals()?;
        self.open()?;
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::LineEnd => {}
                Token::Word(word) if word == "}" => break,
                Token::Word(name) => {
                    if name.starts_with(|c: char| c.is_ascii_digit()) {
                        self.decoded(&name)?;
                    } else if !(name.starts_with("CKA_") && names::attribute(&name)) {
                        let java = format!("Unknown attribute name {name}");
                        return Err(self.at_line(
                            &java,
                            format!("there is no attribute '{name}'"),
                            "write names as CKA_PRIVATE",
                        ));
                    }
                    self.equals()?;
                    let value = self.word()?;
                    self.attribute_value(&value)?;
                    values.push((name, value));
                }
                token => {
                    let text = if token == Token::End {
                        "the entry is not closed".to_owned()
                    } else {
                        format!("{} is no attribute", shown(&token))
                    };
                    self.open = token != Token::End;
                    return Err(self.at_token(
                        "Expected mechanism, read",
                        text,
                        "write lines 'CKA_NAME = VALUE' between { and }, without commas",
                    ));
                }
            }
        }
        self.open = false;
        self.config.attributes.push(Entry { line, value: Attributes { of: [operation, class, key], values } });
        Ok(())
    }

    fn punctuation(&mut self, c: u8, java: &str) -> Read<()> {
        match self.next() {
            Token::Other(found) if found == c => Ok(()),
            token => {
                let text = format!("'{}' is missing before {}", char::from(c), shown(&token));
                Err(self.at_token(java, text, "write 'attributes (OPERATION, CLASS, KEY) = { ... }'"))
            }
        }
    }

    fn attribute_value(&self, value: &str) -> Read<()> {
        if ["null", "true", "false"].contains(&value) {
            return Ok(());
        }
        if let Some(hex) = value.strip_prefix("0h") {
            let digits = hex.strip_prefix(['+', '-']).unwrap_or(hex);
            if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
                let text = format!("'{value}' is no hexadecimal value");
                return Err(self.at_token("Expected byte array value, read", text, "write 0h and hexadecimal digits"));
            }
            return Ok(());
        }
        if value.starts_with(|c: char| c.is_ascii_digit()) {
            return self.decoded(value).map(drop);
        }
        let java = format!("Unknown attribute value {value}");
        Err(self.at_line(
            &java,
            format!("an attribute cannot be '{value}'"),
            "write true, false, null, a number or 0hHEX",
        ))
    }
}

/// As `Integer.parseInt` reads it, after `0x` as hexadecimal.
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
