//! Text from other sources shown on a terminal: control characters are escaped.

use std::ffi::OsStr;

/// Text that another program or user chose (a path, a name, a version, a message), in a form for reports to people: on one line, and without what
/// drives a terminal or turns the text around.
pub fn shown(text: &(impl AsRef<OsStr> + ?Sized)) -> String {
    escaped(&text.as_ref().to_string_lossy(), |text, c| text.extend(c.escape_default()))
}

/// `text` with what is not harmless on a terminal written by `escape`.
pub fn escaped(text: &str, mut escape: impl FnMut(&mut String, char)) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, c| {
        if is_control(c) {
            escape(&mut shown, c)
        } else {
            shown.push(c)
        }
        shown
    })
}

/// Control characters, those that end a line, and those that change the direction of what follows.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_written_out() {
        assert_eq!(shown("a b\u{e9}"), "a b\u{e9}");
        assert_eq!(shown("\x1b]0;x\x07\n\r\t\x7f\u{9b}\u{202e}"), "\\u{1b}]0;x\\u{7}\\n\\r\\t\\u{7f}\\u{9b}\\u{202e}");
    }
}
