//! What OpenSSL knows after it has read a file.

use super::Refused;
use super::expand::{Value, expand};
use super::lexer::{Statement, lines, statement};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a configuration: file and line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The included file; `None` for the file itself.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            None => write!(f, "line {}", self.line),
            Some(file) => write!(f, "line {} of {}", self.line, file.display()),
        }
    }
}

/// A source of the text of included files.
pub trait Includes {
    /// The files that `.include PATH` reads, in order: one, or those of a folder. Empty where nothing exists, which
    /// OpenSSL passes over.
    ///
    /// # Errors
    /// Why it cannot be told what would be read.
    fn read(&self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String>;
}

/// No included file can be read: every `.include` is refused.
#[derive(Debug, Clone, Copy)]
pub struct NoIncludes;

impl Includes for NoIncludes {
    fn read(&self, _: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        Err("included files are not read here".to_owned())
    }
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: Vec<u8>,
    /// The value, expanded.
    pub value: Vec<u8>,
    /// Whether the value is the same for every program (no environment variable went into it).
    pub certain: bool,
    /// The place of the entry.
    pub place: Place,
}

/// A section: entries in OpenSSL's order, where a repeated name moves to the end.
#[derive(Debug, Default)]
struct Section {
    entries: Vec<Option<Entry>>,
    places: HashMap<Vec<u8>, usize>,
}

impl Section {
    fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }
}

/// The sections and values that OpenSSL knows after it has read a file.
#[derive(Debug, Default)]
pub struct Model {
    sections: HashMap<Vec<u8>, Section>,
}

/// How deep files may include each other here; OpenSSL has no limit but its memory.
const DEEPEST: usize = 16;
/// How much text may be read in all: far beyond any configuration, short of a trap.
const LONGEST: usize = 16 << 20;

struct Reader<'a> {
    model: Model,
    includes: &'a dyn Includes,
    section: Vec<u8>,
    dollar: bool,
    absolute: bool,
    folder: Option<PathBuf>,
    in_folder: bool,
    read: usize,
}

impl Model {
    /// Reads a file as OpenSSL does.
    ///
    /// # Errors
    /// [`Refused::Syntax`] where OpenSSL would refuse it, [`Refused::Include`] where what it would read cannot be told.
    pub fn read(config: &[u8], includes: &dyn Includes) -> Result<Model, Refused> {
        let mut reader = Reader {
            model: Model::default(),
            includes,
            section: b"default".to_vec(),
            dollar: false,
            absolute: false,
            folder: None,
            in_folder: false,
            read: 0,
        };
        reader.model.sections.entry(b"default".to_vec()).or_default();
        reader.file(config.strip_prefix(b"\xef\xbb\xbf").unwrap_or(config), None, 0)?;
        Ok(reader.model)
    }

    /// The entries of a section; `None` where the section does not exist.
    pub fn section(&self, name: &[u8]) -> Option<impl Iterator<Item = &Entry>> {
        Some(self.sections.get(name)?.iter())
    }

    /// An entry of a section, without regard to the default section.
    pub fn entry(&self, section: &[u8], name: &[u8]) -> Option<&Entry> {
        let section = self.sections.get(section)?;
        section.entries.get(*section.places.get(name)?)?.as_ref()
    }

    /// All entries, each with the name of its section; of a repeated name the last one.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.sections.iter().flat_map(|(name, section)| section.iter().map(move |entry| (name.as_slice(), entry)))
    }

    fn add(&mut self, section: &[u8], entry: Entry) {
        let section = self.sections.entry(section.to_vec()).or_default();
        let place = section.entries.len();
        if let Some(before) = section.places.insert(entry.name.clone(), place) {
            section.entries[before] = None;
        }
        section.entries.push(Some(entry));
    }

    /// Looks a variable up: in its section, else (for `ENV`) in the environment, else in the default section.
    fn variable(&self, section: Option<&[u8]>, name: &[u8]) -> Option<Value> {
        let known =
            |section: &[u8]| self.entry(section, name).map(|e| Value { bytes: e.value.clone(), certain: e.certain });
        let here = section.and_then(known);
        if here.is_none() && section == Some(b"ENV") {
            // Other programs have another environment, so the value of ours says nothing.
            return Some(Value { bytes: Vec::new(), certain: false });
        }
        here.or_else(|| known(b"default"))
    }
}

impl Reader<'_> {
    fn file(&mut self, text: &[u8], name: Option<&Path>, depth: usize) -> Result<(), Refused> {
        let place = |line| Place { file: name.map(Path::to_owned), line };
        self.read = self.read.saturating_add(text.len());
        if self.read > LONGEST {
            return Err(Refused::Include(place(1), "more than 16 MiB of configuration".to_owned()));
        }
        if let Some(at) = unsafe_byte(text) {
            let line = 1 + text[..at].iter().filter(|&&b| b == b'\n').count();
            return Err(Refused::Syntax(place(line), "a NUL byte, or a carriage return inside a line"));
        }
        for line in lines(text) {
            let place = place(line.number);
            let syntax = |what| Refused::Syntax(place.clone(), what);
            match statement(&line.text, self.dollar).map_err(syntax)? {
                Statement::Blank => {}
                Statement::Section(raw) => {
                    self.section = self.expand(None, raw).map_err(syntax)?.bytes;
                    self.model.sections.entry(self.section.clone()).or_default();
                }
                Statement::Assign { section, name, value } => {
                    let section = section.map_or_else(|| self.section.clone(), <[u8]>::to_vec);
                    let Value { bytes, certain } = self.expand(Some(&section), value).map_err(syntax)?;
                    self.model.add(&section, Entry { name: name.to_vec(), value: bytes, certain, place });
                }
                Statement::Pragma { keyword, value } => self.pragma(keyword, value).map_err(syntax)?,
                Statement::Include { section, path } => {
                    let section = section.map_or_else(|| self.section.clone(), <[u8]>::to_vec);
                    let path = self.expand(Some(&section), path).map_err(syntax)?;
                    self.include(&path, &place, depth)?;
                }
            }
        }
        Ok(())
    }

    fn expand(&self, section: Option<&[u8]>, raw: &[u8]) -> Result<Value, &'static str> {
        expand(raw, self.dollar, &|named, name| self.model.variable(named.or(section), name))
    }

    fn pragma(&mut self, keyword: &[u8], value: &[u8]) -> Result<(), &'static str> {
        let switch = || match value.to_ascii_lowercase().as_slice() {
            b"on" | b"true" => Ok(true),
            b"off" | b"false" => Ok(false),
            _ => Err("invalid pragma"),
        };
        match keyword {
            b"dollarid" => self.dollar = switch()?,
            b"abspath" => self.absolute = switch()?,
            b"includedir" => self.folder = Some(as_path(value)),
            _ => {}
        }
        Ok(())
    }

    fn include(&mut self, path: &Value, place: &Place, depth: usize) -> Result<(), Refused> {
        let refuse = |what: String| Refused::Include(place.clone(), what);
        if !path.certain {
            return Err(refuse("which file is included depends on the environment".to_owned()));
        }
        let mut path = as_path(&path.bytes);
        if path.is_relative() {
            match &self.folder {
                Some(folder) => path = folder.join(path),
                None => {
                    let text = "is included by a relative path: what is read depends on where a program runs";
                    return Err(refuse(format!("'{}' {text}", path.display())));
                }
            }
        }
        if self.absolute && path.is_relative() {
            return Err(Refused::Syntax(place.clone(), "relative path"));
        }
        if depth >= DEEPEST {
            return Err(refuse("files include each other too deeply".to_owned()));
        }
        let files = self.includes.read(&path).map_err(|e| refuse(format!("'{}': {e}", path.display())))?;
        let is_folder = files.first().is_some_and(|(file, _)| *file != path);
        if is_folder && self.in_folder {
            // OpenSSL passes over a folder that is included while it reads another.
            return Ok(());
        }
        let outer = self.in_folder;
        self.in_folder |= is_folder;
        for (file, text) in files {
            self.file(&text, Some(&file), depth + 1)?;
        }
        self.in_folder = outer;
        Ok(())
    }
}

fn as_path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Finds the first byte that OpenSSL reads in a way of its own: NUL ends its strings, and a carriage return that is not part of a line end is dropped
/// or kept depending on where its buffer ends.
fn unsafe_byte(text: &[u8]) -> Option<usize> {
    let lone_return = |at: usize| text[at] == b'\r' && text[at..].iter().find(|&&b| b != b'\r') != Some(&b'\n');
    let mut at = 0;
    while at < text.len() {
        if text[at] == 0 || lone_return(at) {
            return Some(at);
        }
        // A run of carriage returns that ends well is passed over at once.
        at += text[at..].iter().take_while(|&&b| b == b'\r').count().max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Map(&'static [(&'static str, &'static str)]);

    impl Includes for Map {
        fn read(&self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
            let folder = |p: &&(&str, &str)| Path::new(p.0) == path || Path::new(p.0).parent() == Some(path);
            Ok(self.0.iter().filter(folder).map(|(p, t)| (PathBuf::from(p), t.as_bytes().to_vec())).collect())
        }
    }

    fn value(text: &str, section: &str, name: &str) -> Option<String> {
        let files = Map(&[("/i/one.cnf", "[inc]\na = 1\n"), ("/d/x.cnf", "v = 2\n"), ("/d/y.cnf", "[s]\nw = $v\n")]);
        let model = Model::read(text.as_bytes(), &files).unwrap();
        model.entry(section.as_bytes(), name.as_bytes()).map(|e| String::from_utf8(e.value.clone()).unwrap())
    }

    #[test]
    fn sections_open_again_and_the_last_value_wins() {
        let text = "a = 1\n[s]\nb = $a\nb = 2\n[default]\na = 3\n[s]\nc = $b\ns2::d = $a\n";
        assert_eq!(value(text, "default", "a").unwrap(), "3");
        assert_eq!(value(text, "s", "c").unwrap(), "2");
        assert_eq!(value(text, "s2", "d").unwrap(), "3");
        assert_eq!(value(text, "s", "a"), None);
        let model = Model::read(b"[s]\na=1\nb=2\na=3\n", &NoIncludes).unwrap();
        let names: Vec<_> = model.section(b"s").unwrap().map(|e| e.name.clone()).collect();
        assert_eq!(names, [b"b".to_vec(), b"a".to_vec()]);
    }

    #[test]
    fn included_files_are_read_in_place() {
        assert_eq!(value(".include /i/one.cnf\nb = $a\n", "inc", "b").unwrap(), "1");
        assert_eq!(value(".include /d\n", "s", "w").unwrap(), "2");
        assert_eq!(value(".pragma includedir:/i\n.include one.cnf\n", "inc", "a").unwrap(), "1");
        assert_eq!(value(".include /none\nb=1\n", "default", "b").unwrap(), "1");
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        let refused = |t: &str| Model::read(t.as_bytes(), &Map(&[])).unwrap_err();
        assert!(matches!(refused(".include one.cnf\n"), Refused::Include(..)));
        assert!(matches!(refused(".include $ENV::X/y\n"), Refused::Include(..)));
        assert!(matches!(refused("a = $b\n"), Refused::Syntax(..)));
        assert_eq!(refused("a = 1\nb\n").to_string(), "line 2: OpenSSL cannot read this: missing equal sign");
        for odd in ["a = b\0c\n", "a = b\rc\n", "a = b\r"] {
            assert!(matches!(refused(odd), Refused::Syntax(..)), "{odd:?}");
        }
        assert!(Model::read(b"a = b\r\r\n", &NoIncludes).is_ok());
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        struct Loop;
        impl Includes for Loop {
            fn read(&self, path: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
                Ok(vec![(path.to_owned(), b".include /x\n".to_vec())])
            }
        }
        assert!(matches!(Model::read(b".include /x\n", &Loop), Err(Refused::Include(..))));
    }

    #[test]
    fn the_environment_makes_a_value_uncertain() {
        let model = Model::read(b"a = $ENV::HOME\nb = $a\n", &NoIncludes).unwrap();
        assert!(!model.entry(b"default", b"b").unwrap().certain);
    }
}
