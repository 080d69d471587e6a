//! Command lines as getopt(3) and getopt_long(3) read them, for tools whose scripts rely on it: options in any order among the words,
//! several letters behind one dash, a value in the same word or the next, long names cut short.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The options of a program.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The letters, a colon behind each that takes a value.
    pub short: &'static str,
    /// The long names, and the letters they stand for: they take a value where those do. Where there is only the long name, the letter is
    /// one that `short` lacks, and a name that ends in `=` takes a value.
    pub long: &'static [(&'static str, char)],
}

/// What is wrong with an option.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The message of getopt, after the program's name.
    pub words: String,
    /// The message of s390-tools, after the program's name.
    pub of_s390: String,
}

impl Wrong {
    /// The error of an option that does not exist, or that takes no value; `named` is what s390-tools call it.
    fn invalid(words: String, named: &str) -> Wrong {
        Wrong { words, of_s390: format!("Invalid option '{named}'") }
    }

    /// The error of an option without its value, in the `word` of the command line.
    fn without_value(words: String, word: &[u8]) -> Wrong {
        let word = crate::escape::shown(OsStr::from_bytes(word));
        Wrong { words, of_s390: format!("Option '{word}' requires an argument") }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// A part of a command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Part {
    /// An option, with its value where it takes one.
    Option(char, Option<OsString>),
    /// An option that is none, or one without its value.
    Wrong(Wrong),
}

/// The options of a command line in order, and the words that are none, which getopt puts behind them.
pub fn parse(options: Options, args: &[OsString]) -> (Vec<Part>, Vec<OsString>) {
    let (mut parts, mut words) = (Vec::new(), Vec::new());
    let mut rest: VecDeque<&OsStr> = args.iter().skip(1).map(OsString::as_os_str).collect();
    while let Some(word) = rest.pop_front() {
        match word.as_bytes() {
            b"--" => {
                words.extend(rest.drain(..).map(OsStr::to_owned));
            }
            [b'-', b'-', ..] if !options.long.is_empty() => parts.push(options.long(word.as_bytes(), &mut rest)),
            [b'-', _, ..] => options.cluster(word.as_bytes(), &mut rest, &mut parts),
            _ => words.push(word.to_owned()),
        }
    }
    (parts, words)
}

impl Options {
    /// A word of letters behind one dash.
    fn cluster(&self, word: &[u8], rest: &mut VecDeque<&OsStr>, parts: &mut Vec<Part>) {
        let letters = &word[1..];
        for (place, &letter) in letters.iter().enumerate() {
            let known = self.short.as_bytes().iter().position(|&known| known == letter && letter != b':');
            let letter = char::from(letter);
            let Some(known) = known else {
                let shown = letter.escape_default();
                parts.push(Part::Wrong(Wrong::invalid(format!("invalid option -- '{shown}'"), &format!("-{shown}"))));
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
                None => Part::Wrong(Wrong::without_value(format!("option requires an argument -- '{letter}'"), word)),
            });
            return;
        }
    }

    fn takes_value(&self, place: usize) -> bool {
        self.short.as_bytes().get(place + 1) == Some(&b':')
    }

    /// A word with a long name, whole or cut short, and the value behind `=` or in the next word.
    fn long(&self, word: &[u8], rest: &mut VecDeque<&OsStr>) -> Part {
        let name = &word[2..];
        let (name, here) = match name.iter().position(|&byte| byte == b'=') {
            Some(end) => (&name[..end], Some(OsString::from_vec(name[end + 1..].to_vec()))),
            None => (name, None),
        };
        let shown = || crate::escape::shown(OsStr::from_bytes(name));
        let invalid =
            |words: String| Part::Wrong(Wrong::invalid(words, &crate::escape::shown(OsStr::from_bytes(word))));
        let whole = self.long.iter().find(|(long, _)| bare(long).as_bytes() == name);
        let mut cut = self.long.iter().filter(|(long, _)| bare(long).as_bytes().starts_with(name));
        match (whole, cut.next(), cut.next()) {
            (Some((long, letter)), ..) | (None, Some((long, letter)), None) => {
                let place = self.short.find(*letter);
                let takes_value = long.ends_with('=') || place.is_some_and(|place| self.takes_value(place));
                let long = bare(long);
                match (takes_value, here) {
                    (false, None) => Part::Option(*letter, None),
                    (false, Some(_)) => {
                        let words = format!("option '--{long}' doesn't allow an argument");
                        if place.is_some() {
                            Part::Wrong(Wrong::invalid(words, &format!("-{letter}")))
                        } else {
                            invalid(words)
                        }
                    }
                    (true, Some(value)) => Part::Option(*letter, Some(value)),
                    (true, None) => match rest.pop_front() {
                        Some(value) => Part::Option(*letter, Some(value.to_owned())),
                        None => {
                            Part::Wrong(Wrong::without_value(format!("option '--{long}' requires an argument"), word))
                        }
                    },
                }
            }
            (None, Some(_), Some(_)) => invalid(format!("option '--{}' is ambiguous", shown())),
            (None, None, _) => invalid(format!("unrecognized option '--{}'", shown())),
        }
    }
}

/// A long name without the sign that it takes a value.
fn bare(long: &str) -> &str {
    long.trim_end_matches('=')
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

    /// The parsed parts, with getopt's own words for errors.
    fn said(options: Options, words: &[&str]) -> Vec<Result<Part, String>> {
        let each = |part| match part {
            Part::Wrong(wrong) => Err(wrong.to_string()),
            part => Ok(part),
        };
        parsed(options, words).0.into_iter().map(each).collect()
    }

    fn wrong(words: &str) -> Result<Part, String> {
        Err(words.to_owned())
    }

    fn of_s390(words: &[&str]) -> String {
        let options =
            Options { short: "Vbc:", long: &[("bus", 'b'), ("capability", 'c'), ("only", 'A'), ("index=", 'B')] };
        match parsed(options, words).0.pop() {
            Some(Part::Wrong(wrong)) => wrong.of_s390,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn the_words_of_s390_tools() {
        assert_eq!(of_s390(&["-Vx"]), "Invalid option '-x'");
        assert_eq!(of_s390(&["--nope=1"]), "Invalid option '--nope=1'");
        assert_eq!(of_s390(&["--bus=1"]), "Invalid option '-b'");
        assert_eq!(of_s390(&["--only=1"]), "Invalid option '--only=1'");
        assert_eq!(of_s390(&["-Vc"]), "Option '-Vc' requires an argument");
        assert_eq!(of_s390(&["--ind"]), "Option '--ind' requires an argument");
        assert_eq!(of_s390(&["--index", "7"]), r#"Some(Option('B', Some("7")))"#);
        assert_eq!(of_s390(&["-A"]), "Invalid option '-A'");
    }

    #[test]
    fn letters_and_values() {
        let (parts, words) = parsed(SHORT, &["-it", "a", "-c1", "-tc", "3", "-S=x", "-", "--", "-i"]);
        let values = [option('c', Some("1")), option('t', None), option('c', Some("3")), option('S', Some("=x"))];
        assert_eq!(parts, [option('i', None), option('t', None)].into_iter().chain(values).collect::<Vec<_>>());
        assert_eq!(words, ["a", "-", "-i"]);
        assert_eq!(said(SHORT, &["-c"]), [wrong("option requires an argument -- 'c'")]);
        assert_eq!(
            said(SHORT, &["-xi:"]),
            [wrong("invalid option -- 'x'"), Ok(option('i', None)), wrong("invalid option -- ':'")]
        );
        // Without long names, the second dash is a letter.
        assert_eq!(said(SHORT, &["--i"]), [wrong("invalid option -- '-'"), Ok(option('i', None))]);
        assert_eq!(said(SHORT, &["-\u{1b}"]), [wrong("invalid option -- '\\u{1b}'")]);
    }

    #[test]
    fn long_names_may_be_cut_short() {
        assert_eq!(
            parsed(LONG, &["--enable", "--res", "-p", "--pri"]).0,
            ['e', 'r', 'p', 'p'].map(|c| option(c, None))
        );
        assert_eq!(
            said(LONG, &["--pr", "--nope"]),
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
        assert_eq!(said(options, &["--json=1"]), [wrong("option '--json' doesn't allow an argument")]);
        assert_eq!(said(options, &["--slot"]), [wrong("option '--slot' requires an argument")]);
    }
}
