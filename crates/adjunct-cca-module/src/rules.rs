//! Rule arrays: keywords of eight characters, in any order.

use crate::error::{Result, ensure, fail};
use adjunct_cca_wire::code::Code;

/// A keyword, blank-padded.
pub type Keyword = [u8; 8];

/// The most keywords that a verb takes.
const MOST: usize = 64;

/// A rule array whose keywords are taken one after the other; what is left at the end is unknown.
#[derive(Debug)]
pub struct Rules<'a> {
    words: &'a [Keyword],
    taken: u64,
}

impl<'a> Rules<'a> {
    /// The keywords.
    ///
    /// # Errors
    /// 8/35 where there are fewer than `least` or more than `most`.
    pub fn new(bytes: &'a [u8], least: usize, most: usize) -> Result<Rules<'a>> {
        let words = bytes.as_chunks().0;
        ensure((least..=most.min(MOST)).contains(&words.len()), Code::KEYWORD_COUNT)?;
        Ok(Rules { words, taken: 0 })
    }

    /// Takes a keyword; whether it was there.
    pub fn take(&mut self, word: &Keyword) -> bool {
        let found = self.words.iter().enumerate().find(|(at, found)| self.taken >> at & 1 == 0 && *found == word);
        found.map(|(at, _)| at).is_some_and(|at| {
            self.taken |= 1 << at;
            true
        })
    }

    /// Takes the one of some keywords that is there.
    ///
    /// # Errors
    /// 8/34 where there are two of them.
    pub fn one<T: Copy>(&mut self, choices: &[(&Keyword, T)]) -> Result<Option<T>> {
        let mut found = None;
        for (word, value) in choices {
            while self.take(word) {
                ensure(found.is_none(), Code::KEYWORDS)?;
                found = Some(*value);
            }
        }
        Ok(found)
    }

    /// Takes the one of some keywords that is there, which has to be.
    ///
    /// # Errors
    /// 8/33 where another keyword may stand for it, 8/34 where none is left or there are two.
    pub fn needed<T: Copy>(&mut self, choices: &[(&Keyword, T)]) -> Result<T> {
        match self.one(choices)? {
            Some(value) => Ok(value),
            None if self.taken.count_ones() as usize == self.words.len() => fail(Code::KEYWORDS),
            None => fail(Code::KEYWORD),
        }
    }

    /// All keywords are known.
    ///
    /// # Errors
    /// 8/33.
    pub fn end(self) -> Result {
        ensure(self.taken.count_ones() as usize == self.words.len(), Code::KEYWORD)
    }
}
