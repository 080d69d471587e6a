//! Command lines of `pkcsconf`.

use super::*;

fn request(words: &[&str]) -> Result<Request, Vec<String>> {
    let args: Vec<OsString> = ["./pkcsconf"].iter().chain(words).map(OsString::from).collect();
    Request::of(&args, false).map_err(|usage| usage.lines)
}

fn pin(text: &str) -> Option<Line> {
    Some(Zeroizing::new(text.as_bytes().to_vec()))
}

#[test]
fn options_are_read_as_getopt_does() {
    let all = request(&["-itc3", "-S", "87654321", "-n12", "-Ii", "-U="]).unwrap();
    assert_eq!(all.letters, ['i', 't', 'c', 'I']);
    assert_eq!((all.slot, all.so_pin, all.user_pin, all.new_pin), (Some(3), pin("87654321"), pin("="), pin("12")));
    assert!(request(&["-m"]).is_ok() && request(&["-c", "3"]).is_ok());
}

#[test]
fn wrong_command_lines_are_told_and_answered_with_the_usage() {
    let line = |words: &str| Err(vec![words.to_owned()]);
    for silent in [&[][..], &["-h"], &["-hx"], &["-I"], &["-tu"], &["-p"], &["-P"], &["-S", "1"]] {
        assert_eq!(request(silent), Err(Vec::new()), "{silent:?}");
    }
    assert_eq!(request(&["-m", "-c", "1", "n"]), line("pkcsconf: unrecognized option --- 'n'"));
    assert_eq!(request(&["-x"]), line("./pkcsconf: invalid option -- 'x'"));
    assert_eq!(request(&["-tc"]), line("./pkcsconf: option requires an argument -- 'c'"));
    assert_eq!(request(&["-t", "-c1", "-c1"]), line("pkcsconf: Must specify a single slot."));
    assert_eq!(request(&["-t", "-S1", "-S1"]), line("pkcsconf: Must specify a single SO PIN."));
    let invalid = ["./pkcsconf: invalid option -- 'x'".to_owned()];
    assert_eq!(request(&["-xh", "-t"]), Err(invalid.to_vec()));
}

#[test]
fn slots_are_read_as_strtol_does() {
    let number = |text: &str| slot(OsStr::new(text), SLOTS).map_err(|lines| lines.len());
    for (text, slot) in [("0", 0), (" \t+3", 3), ("7x", 7), ("1023", 1023), ("0x10", 0), ("-0", 0)] {
        assert_eq!(number(text), Ok(slot), "{text}");
    }
    for text in ["", "x", "-", "-1", "1024", "+-1"] {
        assert_eq!(number(text), Err(1), "{text}");
    }
    assert_eq!(number("99999999999999999999"), Err(2));
    assert_eq!(slot(OsStr::new("1804289383"), SLOTS_OF_OTHERS), Ok(1_804_289_383));
}

#[test]
fn failures_never_look_like_success() {
    let status = |rv| match stop(rv) {
        Stop::Status(status) => status,
        Stop::Failed(_) => 1,
    };
    assert_eq!([CKR_PIN_INCORRECT, CKR_PIN_LOCKED, CKR_TOKEN_NOT_PRESENT].map(status), [160, 164, 224]);
    assert_eq!(status(CKR_USER_ALREADY_LOGGED_IN), 255);
}
