//! The files that `zcryptctl config` reads.

use super::{List, TOOL, change, create};
use crate::cards::tool::Stop;
use adjunct_tool::files;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Reads a file and does what its lines say, to the first that is wrong or fails.
pub(super) fn read(path: &OsStr) -> Result<(), Stop> {
    let text = if path == "/dev/stdin" {
        let mut bytes = Vec::new();
        std::io::stdin().take(files::CONFIG).read_to_end(&mut bytes).map(|_| bytes)
    } else {
        files::config(Path::new(path))
    };
    let text = text.map_err(|error| {
        let (shown, cause) = (adjunct_tool::escape::shown(path), adjunct_tool::failure::cause(&error));
        TOOL.stop(&format!("Could not open file '{shown}'\n{}: {cause}", TOOL.0))
    })?;
    let mut node = None;
    for (place, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        Line { whole: line, rest: line, number: place + 1 }.done(&mut node)?;
    }
    Ok(())
}

/// A line, and what is left of it.
struct Line<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
    number: usize,
}

impl<'a> Line<'a> {
    fn done(mut self, node: &mut Option<String>) -> Result<(), Stop> {
        self.skip(is_space);
        if self.ended() {
            return Ok(());
        }
        if self.keyword(b"node") {
            self.equals()?;
            let Some(name) = self.word() else { return Err(self.wrong("Missing node name at")) };
            let name = String::from_utf8_lossy(super::name(OsStr::from_bytes(name)).as_bytes()).into_owned();
            create(Some(OsStr::new(&name)))?;
            *node = Some(name);
            return Ok(());
        }
        let lists = [
            ("aps", List::Adapters, "aps"),
            ("doms", List::Domains, "doms"),
            ("ctrls", List::Controls, "ctrls"),
            // The original names the wrong list here.
            ("ioctls", List::Ioctls, "aps"),
        ];
        let Some((keyword, list, called)) = lists.into_iter().find(|(keyword, ..)| self.keyword(keyword.as_bytes()))
        else {
            return Err(self.wrong("Unknown keyword"));
        };
        let Some(node) = node else {
            let words = format!("Missing node=... before processing any {keyword}=... statements");
            return Err(TOOL.stop(&format!("{words} in {}", self.place())));
        };
        self.equals()?;
        loop {
            self.skip(is_space);
            if self.ended() {
                return Ok(());
            }
            let Some(word) = self.word() else {
                return Err(self.wrong(&format!("Missing argument(s) for {called}=... at")));
            };
            change(list, true, node, OsStr::from_bytes(word))?;
            self.skip(|byte| is_blank(byte) || byte == b',');
        }
    }

    fn skip(&mut self, over: impl Fn(u8) -> bool) {
        let end = self.rest.iter().take_while(|&&byte| over(byte)).count();
        self.rest = &self.rest[end..];
    }

    /// Whether nothing but a comment follows.
    fn ended(&self) -> bool {
        matches!(self.rest.first(), None | Some(0 | b'#'))
    }

    fn keyword(&mut self, keyword: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(keyword);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn equals(&mut self) -> Result<(), Stop> {
        let before = self.rest;
        self.skip(is_blank);
        let Some(rest) = self.rest.strip_prefix(b"=") else {
            self.rest = before;
            return Err(self.wrong("Missing '=' at"));
        };
        self.rest = rest;
        self.skip(is_blank);
        Ok(())
    }

    /// The text before the next blank or comma.
    fn word(&mut self) -> Option<&'a [u8]> {
        let before = self.rest;
        self.skip(is_blank);
        let end = self.rest.iter().take_while(|&&byte| byte != b',' && byte != 0 && !is_space(byte)).count();
        if end == 0 {
            self.rest = before;
            return None;
        }
        let word = &self.rest[..end];
        self.rest = &self.rest[end..];
        self.skip(is_blank);
        Some(word)
    }

    /// Ends with what is wrong here.
    fn wrong(&self, what: &str) -> Stop {
        let here = shown(&self.rest[..self.rest.len().min(8)]);
        TOOL.stop(&format!("{what} '{here:<8}...' in {}", self.place()))
    }

    fn place(&self) -> String {
        format!("line {} '{}'", self.number, shown(self.whole))
    }
}

/// Text of the file, with its own end of a line.
fn shown(text: &[u8]) -> String {
    text.split(|&byte| byte == b'\n')
        .map(|part| adjunct_tool::escape::shown(OsStr::from_bytes(part)))
        .collect::<Vec<_>>()
        .join("\n")
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn is_space(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'\n' | b'\r' | 0x0b | 0x0c)
}
