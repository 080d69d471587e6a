//! The pages about advice: one section of docs/advice.md for each number that `adjunct doctor` tells.

use crate::cards::serving::Cause as OfCoprocessor;
use adjunct_survey::Cause;

/// The document; it is in the program, so that `adjunct doctor ADJ-D004` shows a page on a machine without it.
const PAGES: &str = include_str!("../../../../docs/advice.md");

/// Whether a word on the command line is such a number.
pub(super) fn is_number(word: &str) -> bool {
    word.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("ADJ-"))
}

/// The page of a number, whatever its case.
pub(super) fn page(number: &str) -> Option<String> {
    let wanted = number.to_ascii_uppercase();
    let id = known().map(|(id, _)| id).find(|id| *id == wanted)?;
    sections().find(|(of, _)| *of == id).map(|(_, text)| text.to_owned() + "\n")
}

/// All numbers, of programs and of coprocessors, with the words of their causes.
fn known() -> impl Iterator<Item = (&'static str, String)> {
    let programs = Cause::ALL.iter().map(|cause| (cause.id(), cause.word()));
    programs.chain(OfCoprocessor::ALL.iter().map(|cause| (cause.id(), cause.word().to_owned())))
}

/// The sections of the document, each with its number.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut starts: Vec<usize> = PAGES.match_indices("\n## ADJ-").map(|(at, _)| at + 1).collect();
    starts.push(PAGES.len());
    (0..starts.len() - 1).filter_map(move |at| {
        let text = PAGES[starts[at]..starts[at + 1]].trim_end();
        let id = text.strip_prefix("## ")?.split(|c: char| c == ':' || c.is_whitespace()).next()?;
        Some((id, text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every number has its page, and every page its number and the word of its cause.
    #[test]
    fn every_number_has_its_page() {
        let ids: Vec<&str> = known().map(|(id, _)| id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "a number is given twice");
        let pages: Vec<&str> = sections().map(|(id, _)| id).collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert_eq!(pages, sorted);
        for (id, word) in known() {
            let (_, text) = sections().find(|(of, _)| *of == id).unwrap();
            let head = text.lines().next().unwrap();
            assert_eq!(head, format!("## {id}: {word}"));
            for part in ["\n\nMeans: ", "\n\nWhat to do: ", "\n\nSeen by: "] {
                assert!(text.contains(part), "{head} lacks '{}'", part.trim());
            }
        }
    }

    /// The help names every cause, as scripts read it.
    #[test]
    fn the_help_has_every_cause() {
        let words: Vec<&str> = super::super::EXAMPLES.split([' ', ',', '.', '\n']).collect();
        for (_, word) in known() {
            assert!(words.contains(&word.as_str()), "{word}");
        }
    }

    #[test]
    fn a_page_is_found_by_its_number() {
        let page = page("adj-d004").unwrap();
        assert!(
            page.starts_with("## ADJ-D004: started-before\n") && page.ends_with('\n') && !page.contains("ADJ-D005:")
        );
        assert!(
            super::page("ADJ-D999").is_none() && is_number("ADJ-D999") && !is_number("adjunctd") && !is_number("é")
        );
    }
}
