//! The reader of SunPKCS11 configurations: values in braces.

use super::{Parser, Read, shown};
use crate::java::cfg::{Attributes, Entry, Listed};
use crate::java::dialect::Family;
use crate::java::names;
use crate::java::tokenizer::Token;

impl Parser<'_> {
    pub(super) fn mechanisms(&mut self) -> Read<Vec<Entry<Listed>>> {
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

    pub(super) fn attributes(&mut self, line: u32) -> Read<()> {
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
