//! Text from other sources shown on a terminal: control characters are escaped. In a command that is advised each such text is one word of a
//! shell's.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Text that another program or user chose (a path, a name, a version, a message), in a form for reports to people: on one line, and without what
/// drives a terminal or turns the text around.
pub fn shown(text: &(impl AsRef<OsStr> + ?Sized)) -> String {
    escaped(&text.as_ref().to_string_lossy(), |text, c| text.extend(c.escape_default()))
}

/// Text that another program or user chose (a path, the name of a unit), as one word of a command that is advised: pasted into a shell, it is that text
/// and nothing of it is run. What needs no quotes has none; control characters and bytes that are no text are written in `$'...'`, which bash, ksh and
/// zsh read, so that the word is harmless on a terminal, too.
pub fn word(text: &(impl AsRef<OsStr> + ?Sized)) -> String {
    let bytes = text.as_ref().as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"%+,-./:=@_".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let mut quoted = bytes.iter().fold("$'".to_owned(), |mut quoted, &byte| {
                match byte {
                    b'\'' | b'\\' => quoted.extend(['\\', char::from(byte)]),
                    b' '..=b'~' => quoted.push(char::from(byte)),
                    // Three digits always: a digit that follows is no part of it. To a string nothing fails to be written.
                    _ => drop(write!(quoted, "\\{byte:03o}")),
                }
                quoted
            });
            quoted.push('\'');
            quoted
        }
    }
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
    fn a_word_of_advice_is_one_word_to_a_shell() {
        assert_eq!(word("/etc/ssl/openssl.cnf"), "/etc/ssl/openssl.cnf");
        assert_eq!(word(""), "''");
        let odd: [&[u8]; 6] =
            [b"/h/a;id >PWNED;.cnf", b"it's $(id) `id`", b"a\nb\x1b[2J'\\1", b"\xff1", "\u{202e}x".as_bytes(), b"~u"];
        for text in odd {
            let word = word(OsStr::from_bytes(text));
            assert!(!word.chars().any(is_control), "{word:?}");
            let Ok(shell) = std::process::Command::new("bash").args(["-c", &format!("printf %s {word}")]).output()
            else {
                continue;
            };
            assert_eq!(shell.stdout, text, "{word}");
        }
    }

    #[test]
    fn what_drives_a_terminal_is_written_out() {
        assert_eq!(shown("a b\u{e9}"), "a b\u{e9}");
        assert_eq!(shown("\x1b]0;x\x07\n\r\t\x7f\u{9b}\u{202e}"), "\\u{1b}]0;x\\u{7}\\n\\r\\t\\u{7f}\\u{9b}\\u{202e}");
    }
}
