//! Changes of files as unified diffs.

use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use similar::TextDiff;
use std::fmt::Write;
use std::path::Path;

/// The change as a unified diff, line ends shown as they are (a carriage return as `^M`).
pub(crate) fn unified(path: &Path, old: &[u8], new: &[u8]) -> String {
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let diff = TextDiff::from_lines(old.as_ref(), new.as_ref());
    let name = shown(path);
    let side = |text: &str| if text.is_empty() { "/dev/null" } else { &name };
    let text = diff.unified_diff().context_radius(3).header(side(&old), side(&new)).to_string();
    // What stands in a file must not drive the terminal it is shown on.
    let lines: Vec<String> = text.split('\n').map(shown_line).collect();
    lines.join("\n")
}

/// A line of a file: its tabs stay, a carriage return is shown as editors do.
fn shown_line(line: &str) -> String {
    let parts: Vec<String> =
        line.split('\t').map(|part| part.split('\r').map(shown).collect::<Vec<_>>().join("^M")).collect();
    parts.join("\t")
}

/// The diff in colours.
pub(crate) fn painted(diff: &str, style: Style) -> String {
    diff.lines().fold(String::new(), |mut text, line| {
        let painted = match line.as_bytes().first() {
            Some(b'+') => style.good(line),
            Some(b'-') => style.bad(line),
            Some(b'@') => style.faint(line),
            _ => line.to_owned(),
        };
        let _ = writeln!(text, "{painted}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diff_is_unified_and_harmless() {
        let diff = unified(Path::new("/x.cnf"), b"a\nb\n", b"a\nb\n[s]\nc = \x1b[2J\r\n");
        assert!(diff.starts_with("--- /x.cnf\n+++ /x.cnf\n@@ -1,2 +1,4 @@\n a\n b\n+[s]\n"), "{diff}");
        assert!(!diff.contains('\x1b') && diff.contains("^M"));
    }
}
