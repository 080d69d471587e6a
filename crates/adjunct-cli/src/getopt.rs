//! Command lines as getopt(3) and getopt_long(3) read them, for tools whose scripts rely on it: options in any order among the words,
//! several letters behind one dash, a value in the same word or the next, long names cut short.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What options there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// The letters, a colon behind each that takes a value.
    pub short: &'static str,
    /// The long names, and the letters they stand for: they take a value where those do.
    pub long: &'static [(&'static str, char)],
}

/// A part of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// An option, with its value where it takes one.
    Option(char, Option<OsString>),
    /// An option that is none, or one without its value: what getopt says of it, behind the program's name.
    Wrong(String),
}

/// The options of a command line in order, and the words that are none, which getopt puts behind them.
pub(crate) fn parse(options: Options, args: &[OsString]) -> (Vec<Part>, Vec<OsString>) {
    let (mut parts, mut words) = (Vec::new(), Vec::new());
    let mut rest: VecDeque<&OsStr> = args.iter().skip(1).map(OsString::as_os_str).collect();
    while let Some(word) = rest.pop_front() {
        match word.as_bytes() {
            b"--" => {
                words.extend(rest.drain(..).map(OsStr::to_owned));
            }
            [b'-', b'-', name @ ..] if !options.long.is_empty() => parts.push(options.long(name, &mut rest)),
            [b'-', letters @ ..] if !letters.is_empty() => options.cluster(letters, &mut rest, &mut parts),
            _ => words.push(word.to_owned()),
        }
    }
    (parts, words)
}

impl Options {
    /// The letters behind one dash.
    fn cluster(&self, letters: &[u8], rest: &mut VecDeque<&OsStr>, parts: &mut Vec<Part>) {
        for (place, &letter) in letters.iter().enumerate() {
            let known = self.short.as_bytes().iter().position(|&known| known == letter && letter != b':');
            let letter = char::from(letter);
            let Some(known) = known else {
                let shown = letter.escape_default();
                parts.push(Part::Wrong(format!("invalid option -- '{shown}'")));
                continue;
            };
            if !self.takes_value(known) {
                parts.push(Part::Option(letter, None));
                continue;
            }
            let here = &letters[place + 1..];
            let value = if here.is_empty() {
                rest.pop_front().map(OsStr::to_owned)
            } else {
                Some(OsString::from_vec(here.to_vec()))
            };
            parts.push(match value {
                Some(value) => Part::Option(letter, Some(value)),
                None => Part::Wrong(format!("option requires an argument -- '{letter}'")),
            });
            return;
        }
    }

    fn takes_value(&self, place: usize) -> bool {
        self.short.as_bytes().get(place + 1) == Some(&b':')
    }

    /// A long name, whole or cut short, with the value behind `=` or in the next word.
    fn long(&self, name: &[u8], rest: &mut VecDeque<&OsStr>) -> Part {
        let (name, here) = match name.iter().position(|&byte| byte == b'=') {
            Some(end) => (&name[..end], Some(OsString::from_vec(name[end + 1..].to_vec()))),
            None => (name, None),
        };
        let shown = || crate::escape::shown(OsStr::from_bytes(name));
        let whole = self.long.iter().find(|(long, _)| long.as_bytes() == name);
        let mut cut = self.long.iter().filter(|(long, _)| long.as_bytes().starts_with(name));
        match (whole, cut.next(), cut.next()) {
            (Some((long, letter)), ..) | (None, Some((long, letter)), None) => {
                let takes_value = self.short.find(*letter).is_some_and(|place| self.takes_value(place));
                match (takes_value, here) {
                    (false, None) => Part::Option(*letter, None),
                    (false, Some(_)) => Part::Wrong(format!("option '--{long}' doesn't allow an argument")),
                    (true, Some(value)) => Part::Option(*letter, Some(value)),
                    (true, None) => match rest.pop_front() {
                        Some(value) => Part::Option(*letter, Some(value.to_owned())),
                        None => Part::Wrong(format!("option '--{long}' requires an argument")),
                    },
                }
            }
            (None, Some(_), Some(_)) => Part::Wrong(format!("option '--{}' is ambiguous", shown())),
            (None, None, _) => Part::Wrong(format!("unrecognized option '--{}'", shown())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Options = Options { short: "itc:S:", long: &[] };
    const LONG: Options =
        Options { short: "erp", long: &[("enable", 'e'), ("reset", 'r'), ("print", 'p'), ("prune", 'n')] };

    fn parsed(options: Options, words: &[&str]) -> (Vec<Part>, Vec<OsString>) {
        let args: Vec<OsString> = ["name"].iter().chain(words).map(OsString::from).collect();
        parse(options, &args)
    }

    fn option(letter: char, value: Option<&str>) -> Part {
        Part::Option(letter, value.map(OsString::from))
    }

    fn wrong(words: &str) -> Part {
        Part::Wrong(words.to_owned())
    }

    #[test]
    fn letters_and_values() {
        let (parts, words) = parsed(SHORT, &["-it", "a", "-c1", "-tc", "3", "-S=x", "-", "--", "-i"]);
        let values = [option('c', Some("1")), option('t', None), option('c', Some("3")), option('S', Some("=x"))];
        assert_eq!(parts, [option('i', None), option('t', None)].into_iter().chain(values).collect::<Vec<_>>());
        assert_eq!(words, ["a", "-", "-i"]);
        assert_eq!(parsed(SHORT, &["-c"]).0, [wrong("option requires an argument -- 'c'")]);
        assert_eq!(
            parsed(SHORT, &["-xi:"]).0,
            [wrong("invalid option -- 'x'"), option('i', None), wrong("invalid option -- ':'")]
        );
        // Without long names, the second dash is a letter.
        assert_eq!(parsed(SHORT, &["--i"]).0, [wrong("invalid option -- '-'"), option('i', None)]);
        assert_eq!(parsed(SHORT, &["-\u{1b}"]).0, [wrong("invalid option -- '\\u{1b}'")]);
    }

    #[test]
    fn long_names_may_be_cut_short() {
        assert_eq!(
            parsed(LONG, &["--enable", "--res", "-p", "--pri"]).0,
            ['e', 'r', 'p', 'p'].map(|c| option(c, None))
        );
        assert_eq!(
            parsed(LONG, &["--pr", "--nope"]).0,
            [wrong("option '--pr' is ambiguous"), wrong("unrecognized option '--nope'")]
        );
        assert_eq!(parse(LONG, &[]), (Vec::new(), Vec::new()));
    }

    #[test]
    fn long_names_may_have_values() {
        let options = Options { short: "s:j", long: &[("slot", 's'), ("json", 'j')] };
        let (parts, words) = parsed(options, &["--slot", "3", "--slo=4", "--json", "--slot=", "x"]);
        let slot = |value| option('s', Some(value));
        assert_eq!(parts, [slot("3"), slot("4"), option('j', None), slot("")]);
        assert_eq!(words, ["x"]);
        assert_eq!(parsed(options, &["--json=1"]).0, [wrong("option '--json' doesn't allow an argument")]);
        assert_eq!(parsed(options, &["--slot"]).0, [wrong("option '--slot' requires an argument")]);
    }
}
