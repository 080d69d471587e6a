//! Strings in a file: the version of the OpenSSL that is linked in, and the path of its configuration.

use super::elf::Source;
use memchr::memmem::Finder;
use std::path::PathBuf;

/// How much is looked at in one go.
const CHUNK: u64 = 1 << 20;
/// No text looked for is longer.
const TEXT: usize = 512;
/// More than this of one file, all ranges together, is not searched: it is data, not a library's constants.
const MOST: u64 = 256 << 20;

/// The libraries inside a file, as its constants show them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inside {
    /// `OpenSSL 3.0.19`, `LibreSSL 3.8.2`.
    pub version: Option<String>,
    /// The folder of its configuration.
    pub folder: Option<PathBuf>,
    /// Whether parts of OpenSSL 3 or newer are there, whatever it says of its version.
    pub providers: bool,
    /// Whether the file is Node.
    pub node: bool,
    /// Whether rustls is linked into the file.
    pub rustls: bool,
    /// Whether BoringSSL or AWS-LC is linked into the file.
    pub boringssl: bool,
    /// Whether Go's TLS is in the file.
    pub go_tls: bool,
    /// Whether the file is a program of adjunct's own.
    pub adjunct: bool,
}

/// A text to look for. It does not stand in this program itself, where it would be found again: each byte is turned around.
struct Needle(Finder<'static>);

impl Needle {
    fn new(turned: &[u8]) -> Needle {
        let text: Vec<u8> = std::hint::black_box(turned).iter().map(|b| !b).collect();
        Needle(Finder::new(&text).into_owned())
    }

    fn is_in(&self, chunk: &[u8]) -> bool {
        self.0.find(chunk).is_some()
    }
}

/// The bytes of a text turned around, while the program is compiled.
const fn turned<const N: usize>(text: &[u8; N]) -> [u8; N] {
    let mut turned = *text;
    let mut at = 0;
    while at < N {
        turned[at] = !turned[at];
        at += 1;
    }
    turned
}

const PROVIDERS: [u8; 26] = turned(b"providers/implementations/");
const NODE: [u8; 12] = turned(b"nodejs_conf\0");
const RUSTLS: [u8; 8] = turned(b"/rustls-");
const BORING: [u8; 9] = turned(b"BoringSSL");
const AWS_LC: [u8; 7] = turned(b"AWS-LC ");
const GO_TLS: [u8; 18] = turned(b"crypto/tls.(*Conn)");
const OURS: [u8; 38] = turned(b"SHA-256 of the file without this block");

/// Looks through the constants of a file.
pub fn search(source: &impl Source, ranges: &[(u64, u64)]) -> Inside {
    look(source, ranges, true)
}

/// Looks for what a copy of OpenSSL says of itself alone: ends as soon as that is found.
pub fn search_openssl(source: &impl Source, ranges: &[(u64, u64)]) -> Inside {
    look(source, ranges, false)
}

fn look(source: &impl Source, ranges: &[(u64, u64)], all: bool) -> Inside {
    let version = Finder::new("SSL ");
    let folder = Finder::new("OPENSSLDIR: \"");
    let providers = Needle::new(&PROVIDERS);
    let [node, rustls, boring, aws_lc, go_tls, ours] =
        [&NODE[..], &RUSTLS, &BORING, &AWS_LC, &GO_TLS, &OURS].map(Needle::new);
    let mut inside = Inside::default();
    each_chunk(source, ranges, |chunk| {
        if inside.version.is_none() {
            inside.version = version.find_iter(chunk).find_map(|at| version_at(chunk, at));
        }
        if inside.folder.is_none() {
            let text = |at: usize| chunk[at..].iter().copied().take(TEXT).take_while(|&b| b != b'"').collect();
            inside.folder = folder.find(chunk).and_then(|at| path(text(at + folder.needle().len())));
        }
        inside.providers |= providers.is_in(chunk);
        if all {
            inside.node |= node.is_in(chunk);
            inside.rustls |= rustls.is_in(chunk);
            inside.boringssl |= boring.is_in(chunk) || aws_lc.is_in(chunk);
            inside.go_tls |= go_tls.is_in(chunk);
            inside.adjunct |= ours.is_in(chunk);
        }
        !all && inside.version.is_some() && inside.folder.is_some()
    });
    inside
}

/// Hands out the ranges in pieces that overlap by what a text may take, until `done`.
fn each_chunk(source: &impl Source, ranges: &[(u64, u64)], mut done: impl FnMut(&[u8]) -> bool) {
    let mut left = MOST;
    for &(start, length) in ranges {
        let length = length.min(left);
        left -= length;
        let Some(end) = start.checked_add(length) else { continue };
        let mut at = start;
        while at < end {
            let wanted = (end - at).min(CHUNK + TEXT as u64);
            let Some(chunk) = source.read(at, wanted) else { break };
            if done(&chunk) {
                return;
            }
            at += CHUNK;
        }
    }
}

/// `OpenSSL 3.0.19 27 Jan 2026`, with `SSL ` at `at`: a version's own text ends with its date; what programs say about
/// OpenSSL does not.
fn version_at(chunk: &[u8], at: usize) -> Option<String> {
    let maker = ["Open", "Libre"].into_iter().find(|maker| chunk[..at].ends_with(maker.as_bytes()))?;
    let text: Vec<u8> = chunk[at + 4..].iter().copied().take(64).take_while(|&b| b != 0).collect();
    let text = std::str::from_utf8(&text).ok()?.trim_end();
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    let plain = number.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+_".contains(&b));
    let dated = rest.len() >= 4 && rest.as_bytes()[rest.len() - 4..].iter().all(u8::is_ascii_digit);
    let numbered = number.starts_with(|c: char| c.is_ascii_digit()) && number.contains('.');
    // LibreSSL's text has no date.
    (plain && numbered && (dated || (maker == "Libre" && rest.is_empty()))).then(|| format!("{maker}SSL {number}"))
}

fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(bytes: &[u8]) -> Inside {
        search(&bytes, &[(0, bytes.len() as u64)])
    }

    #[test]
    fn versions_are_told_from_talk_about_versions() {
        let version = |text: &str| inside(format!("x\0{text}\0y").as_bytes()).version;
        assert_eq!(version("OpenSSL 3.0.19 27 Jan 2026").unwrap(), "OpenSSL 3.0.19");
        assert_eq!(version("OpenSSL 1.1.1w  11 Sep 2023").unwrap(), "OpenSSL 1.1.1w");
        assert_eq!(version("OpenSSL 3.0.13+quic 30 Jan 2024").unwrap(), "OpenSSL 3.0.13+quic");
        assert_eq!(version("LibreSSL 3.8.2").unwrap(), "LibreSSL 3.8.2");
        assert_eq!(version("needs OpenSSL 3.0 or newer"), None);
        assert_eq!(version("OpenSSL version 2023"), None);
        assert_eq!(version("SSL 3.0 2023"), None);
    }

    #[test]
    fn folders_and_parts_are_found_across_chunks() {
        let mut bytes = vec![0; CHUNK as usize - 5];
        bytes.extend(b"OPENSSLDIR: \"/opt/ssl\"\0");
        bytes.resize(2 * CHUNK as usize - 9, 1);
        bytes.extend(b"providers/implementations/x.c\0");
        let found = inside(&bytes);
        assert_eq!(found.folder.unwrap(), PathBuf::from("/opt/ssl"));
        assert!(found.providers);
        assert_eq!(inside(b"OPENSSLDIR: \"relative\"").folder, None);
        assert_eq!(inside(b"OPENSSLDIR: \"").folder, None);
    }

    #[test]
    fn ranges_beyond_the_file_are_passed_over() {
        assert_eq!(search(&&b"abc"[..], &[(1, 99), (u64::MAX, 2)]), Inside::default());
    }
}
