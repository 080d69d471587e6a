//! Adds, finds and removes adjunct's block at the end of a file.

use super::Refused;
use sha2::{Digest, Sha256};

const BEGIN: &str = "# BEGIN adjunct";
const END: &str = "# END adjunct";
/// Ends the first line of a block that stands after a last line without a line end.
const OPEN_LINE: &str = ", after a line without an end";
const SHA256: &str = "# SHA-256 of the file without this block: ";

/// `config` with a block of `lines` at its end, in the file's own line ends.
///
/// The block begins with an empty line: if the last line of the file ends in a backslash, that line ends there.
pub fn append(config: &[u8], lines: &[String]) -> Vec<u8> {
    let windows = config.iter().position(|&b| b == b'\n').is_some_and(|at| at > 0 && config[at - 1] == b'\r');
    let end = if windows { "\r\n" } else { "\n" };
    let open = !config.is_empty() && !config.ends_with(b"\n");
    let mut text = String::new();
    if open {
        text += end;
    }
    let mut add = |line: &str| {
        text += line;
        text += end;
    };
    add("");
    add(&format!("{BEGIN} (by 'adjunct openssl enable'; 'adjunct openssl disable' takes it away){}", {
        if open { OPEN_LINE } else { "" }
    }));
    add(&format!("{SHA256}{}", hash(config)));
    lines.iter().for_each(|line| add(line));
    add(END);
    [config, text.as_bytes()].concat()
}

/// Whether a file holds a block, whole or not.
pub fn contains_block(config: &[u8]) -> bool {
    physical_lines(config).any(|(_, line)| line.starts_with(BEGIN.as_bytes()))
}

/// The file without its blocks; `None` where it has none.
///
/// # Errors
/// [`Refused::Damaged`] where a block has no end.
pub fn strip(config: &[u8]) -> Result<Option<Vec<u8>>, Refused> {
    let mut rest = config.to_vec();
    let mut found = false;
    while let Some(block) = find(&rest)? {
        found = true;
        let tail = rest.split_off(block.end);
        rest.truncate(block.start);
        remove_line_end(&mut rest);
        if block.open && tail.is_empty() {
            remove_line_end(&mut rest);
        }
        rest.extend_from_slice(&tail);
    }
    Ok(found.then_some(rest))
}

/// Whether `stripped` is what the file was before `config` got its block, byte for byte; `None` where the block does not
/// tell.
pub fn is_original(config: &[u8], stripped: &[u8]) -> Option<bool> {
    let recorded = physical_lines(config).find_map(|(_, line)| line.strip_prefix(SHA256.as_bytes()))?;
    Some(recorded.trim_ascii() == hash(stripped).as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

struct Block {
    /// The first byte of the BEGIN line.
    start: usize,
    /// The first byte after the END line.
    end: usize,
    /// Whether the line before had no end.
    open: bool,
}

fn find(config: &[u8]) -> Result<Option<Block>, Refused> {
    let mut begun: Option<(usize, usize, bool)> = None;
    for (number, (start, line)) in physical_lines(config).enumerate() {
        match begun {
            None if line.starts_with(BEGIN.as_bytes()) => {
                begun = Some((number + 1, start, line.trim_ascii_end().ends_with(OPEN_LINE.as_bytes())));
            }
            Some((_, from, open)) if line.starts_with(END.as_bytes()) => {
                return Ok(Some(Block { start: from, end: start + line.len(), open }));
            }
            _ => {}
        }
    }
    begun.map_or(Ok(None), |(line, ..)| Err(Refused::Damaged(line)))
}

/// Every physical line with its line end, and where it starts.
fn physical_lines(config: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    config.split_inclusive(|&b| b == b'\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line)
    })
}

/// Removes a line end: the empty line before the block, or the end given to a line that had none.
fn remove_line_end(text: &mut Vec<u8>) {
    let windows = text.ends_with(b"\r\n");
    if text.ends_with(b"\n") {
        text.truncate(text.len() - if windows { 2 } else { 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(config: &str) -> Vec<u8> {
        append(config.as_bytes(), &["[s]".to_owned(), "a = b".to_owned()])
    }

    #[test]
    fn stripped_is_what_it_was() {
        for config in [
            "",
            "\n",
            "\n\n",
            "a = b",
            "a = b\n",
            "a = b\r\n",
            "a\r\nb",
            "a\nb\r\n",
            "a\r\nb\n",
            "x\\",
            "x\\\n",
            "\r\n",
        ] {
            let edited = block(config);
            assert!(contains_block(&edited));
            let stripped = strip(&edited).unwrap().unwrap();
            assert_eq!(String::from_utf8_lossy(&stripped), config);
            assert_eq!(is_original(&edited, &stripped), Some(true));
            assert_eq!(strip(&stripped).unwrap(), None);
        }
    }

    #[test]
    fn line_ends_are_those_of_the_file() {
        assert!(!block("a\n").contains(&b'\r'));
        let edited = block("a\r\nb\r\n");
        assert_eq!(edited.iter().filter(|&&b| b == b'\n').count(), edited.iter().filter(|&&b| b == b'\r').count());
    }

    #[test]
    fn what_the_user_adds_around_it_stays() {
        let mut edited = block("a = b");
        edited.extend_from_slice(b"[mine]\nc = d\n");
        let stripped = strip(&edited).unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&stripped), "a = b\n[mine]\nc = d\n");
        assert_eq!(is_original(&edited, &stripped), Some(false));
    }

    #[test]
    fn a_block_without_end_is_left_alone() {
        assert_eq!(strip(b"a = b\n# BEGIN adjunct\nc = d\n"), Err(Refused::Damaged(2)));
    }

    #[test]
    fn several_blocks_go_together() {
        let twice = [block("a = b\n"), block("")].concat();
        assert_eq!(strip(&twice).unwrap().unwrap(), b"a = b\n");
    }
}
