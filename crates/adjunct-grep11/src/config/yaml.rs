//! YAML with the line of each value.

use saphyr::{LoadableYamlNode, MarkedYaml, Scalar, YamlData};
use std::net::IpAddr;
use std::path::Path;

/// A value with its place.
pub struct Node<'a> {
    file: &'a Path,
    line: usize,
    path: String,
    value: &'a Scalar<'a>,
}

/// Sections: keys that have keys.
pub struct Section;

const SECTIONS: [&[&str]; 9] = [
    &["logging"],
    &["logging", "levels"],
    &["ep11crypto"],
    &["ep11crypto", "connection"],
    &["ep11crypto", "connection", "tls"],
    &["ep11crypto", "connection", "keepalive"],
    &["adjunct"],
    &["adjunct", "status"],
    &["adjunct", "limits"],
];

impl Section {
    /// Whether a path is a section's.
    pub fn is(path: &[&str]) -> bool {
        SECTIONS.contains(&path)
    }
}

impl Node<'_> {
    /// File and line.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    /// The value as a text.
    fn shown(&self) -> String {
        match self.value {
            Scalar::Null => String::new(),
            Scalar::Boolean(value) => value.to_string(),
            Scalar::Integer(value) => value.to_string(),
            Scalar::FloatingPoint(value) => value.to_string(),
            Scalar::String(text) => text.to_string(),
        }
    }

    /// The line about a value that is not what it is to be.
    pub fn wrong(&self, why: &str) -> String {
        format!("{}: {}: {why}", self.place(), self.path)
    }

    /// The line about a value that is not `what`.
    pub fn no(&self, what: &str) -> String {
        let shown: String = self.shown().chars().filter(|letter| !letter.is_control()).take(64).collect();
        self.wrong(&format!("{shown} is no {what}"))
    }

    /// A text.
    ///
    /// # Errors
    /// One line.
    pub fn text(&self) -> Result<String, String> {
        match self.value {
            // What looks like a number to YAML would have lost zeros.
            Scalar::FloatingPoint(_) => Err(self.wrong("put it in quotes")),
            _ => Ok(self.shown()),
        }
    }

    /// A boolean.
    ///
    /// # Errors
    /// One line.
    pub fn boolean(&self) -> Result<bool, String> {
        match self.value {
            Scalar::Boolean(value) => Ok(*value),
            Scalar::String(text) if text == "true" || text == "false" => Ok(text == "true"),
            _ => Err(self.no("boolean: true or false")),
        }
    }

    /// A number that is not negative.
    ///
    /// # Errors
    /// One line.
    pub fn number(&self) -> Result<u64, String> {
        let number = match self.value {
            Scalar::Integer(value) => u64::try_from(*value).ok(),
            Scalar::String(text) => text.parse().ok(),
            _ => None,
        };
        number.ok_or_else(|| self.no("number"))
    }

    /// A port.
    ///
    /// # Errors
    /// One line.
    pub fn port(&self) -> Result<u16, String> {
        let number = self.number().ok().and_then(|number| u16::try_from(number).ok());
        number.ok_or_else(|| self.no("port"))
    }

    /// An address.
    ///
    /// # Errors
    /// One line.
    pub fn address(&self) -> Result<IpAddr, String> {
        let text = self.shown();
        if text == "localhost" {
            return Ok(IpAddr::from([127, 0, 0, 1]));
        }
        text.parse().map_err(|_| self.no("IP address"))
    }
}

/// Gives each value with its path to `take`, which says whether it knows it; what it does not know becomes a line of `unknown`. Keys without a value are as
/// if they were not there.
///
/// # Errors
/// One line: the file, the line in it, and what is wrong.
pub fn read(
    file: &Path,
    text: &str,
    unknown: &mut Vec<String>,
    mut take: impl FnMut(&[&str], &Node<'_>) -> Result<bool, String>,
) -> Result<(), String> {
    let all = MarkedYaml::load_from_str(text).map_err(|error| {
        let line = error.marker().line().max(1);
        format!("{}:{line}: no YAML: {}", file.display(), error.info().lines().next().unwrap_or_default())
    })?;
    match &all[..] {
        [] => Ok(()),
        [root] => section(file, root, &mut Vec::new(), unknown, &mut take),
        [_, second, ..] => {
            let line = second.span.start.line().max(1);
            Err(format!("{}:{line}: a second document: the file has one", file.display()))
        }
    }
}

/// Whether a key is of a section that says who is let in, and how.
fn decides_who(path: &[&str]) -> bool {
    matches!(path, ["adjunct", _]) || path.starts_with(&["ep11crypto", "connection", "tls"])
}

fn section<'a>(
    file: &Path,
    node: &'a MarkedYaml<'_>,
    path: &mut Vec<&'a str>,
    unknown: &mut Vec<String>,
    take: &mut impl FnMut(&[&str], &Node<'_>) -> Result<bool, String>,
) -> Result<(), String> {
    let line = |node: &MarkedYaml<'_>| node.span.start.line().max(1);
    let keys = match &node.data {
        YamlData::Mapping(keys) => keys,
        YamlData::Value(Scalar::Null) => return Ok(()),
        _ => {
            let name = if path.is_empty() { "the file".to_owned() } else { path.join(".") };
            return Err(format!("{}:{}: {name}: keys are wanted here", file.display(), line(node)));
        }
    };
    for (key, value) in keys {
        let at = line(key);
        let YamlData::Value(Scalar::String(name)) = &key.data else {
            return Err(format!("{}:{at}: a key that is no word", file.display()));
        };
        path.push(name);
        if Section::is(path) {
            section(file, value, path, unknown, take)?;
        } else {
            let known = match &value.data {
                // Nothing is no value of what is adjunct's own; IBM's file has keys with nothing.
                YamlData::Value(Scalar::Null) if path.first() == Some(&"adjunct") => {
                    return Err(format!("{}:{at}: {}: a value is wanted here", file.display(), path.join(".")));
                }
                YamlData::Value(Scalar::Null) => true,
                YamlData::Value(scalar) => take(path, &Node { file, line: at, path: path.join("."), value: scalar })?,
                _ => false,
            };
            if !known && decides_who(path) {
                // What says who is let in is never left out for a wrong word.
                return Err(format!(
                    "{}:{at}: {}: no key with one value of this section",
                    file.display(),
                    path.join(".")
                ));
            }
            if !known {
                unknown.push(format!("{}:{at}: unknown key {}: nothing comes of it", file.display(), path.join(".")));
            }
        }
        path.pop();
    }
    Ok(())
}
