//! Objects that are selected, one after the other, each after a question where that is wanted.

use super::kinds::{KeyKind, Selected, Size, X509};
use super::{Result, Stop, World, failed, id, number, print, say, set_letters};
use crate::pkcsconf::prompt;
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Rv, Template};

/// A key or a certificate that was found.
pub(super) struct Found {
    pub object: CK_OBJECT_HANDLE,
    pub class: CK_OBJECT_CLASS,
    pub kind: &'static KeyKind,
    pub size: CK_ULONG,
    /// Label as it is in the token, and as it is shown.
    pub label: String,
    pub shown: String,
    /// The type in words, such as `private RSA 2048`.
    pub what: String,
}

impl Found {
    /// Name of the object in messages, such as `AES 256 key object "mine"`.
    pub(super) fn name(&self) -> String {
        format!("{} {} object \"{}\"", self.what, noun(self.class == CKO_CERTIFICATE), self.shown)
    }
}

/// The word for objects: certificates or keys.
pub(super) const fn noun(certificate: bool) -> &'static str {
    if certificate { "certificate" } else { "key" }
}

/// The criteria by which objects are searched for.
pub(super) struct Filter<'a> {
    pub selected: Selected,
    pub label: Option<&'a str>,
    pub id: Option<&'a str>,
    pub attrs: Option<&'a str>,
}

/// The numbers of objects that were worked on, skipped and failed.
#[derive(Default)]
pub(super) struct Counts {
    pub done: usize,
    pub skipped: usize,
    pub failed: usize,
    /// The answer for all further objects, which are then not asked about: done (true) or left alone.
    all: Option<bool>,
}

impl Counts {
    /// Says how many, and whether that is a success.
    pub(super) fn report(&self, kind: &str, done: &str, skipped: &str, failed: &str) -> Result {
        print(&format!("{} {kind} object(s) {done}.\n", self.done))?;
        if self.skipped > 0 {
            print(&format!("{} {skipped} object(s) skipped.\n", self.skipped))?;
        }
        if self.failed > 0 {
            print(&format!("{} {skipped} object(s) failed to {failed}.\n", self.failed))?;
            return Err(Stop::Rv(CKR_FUNCTION_FAILED));
        }
        Ok(())
    }

    /// Whether to go on with an object, and the count of those left alone.
    pub(super) fn agreed(&mut self, force: bool, question: &str) -> Result<bool> {
        let go_on = match self.all {
            Some(all) => all,
            None if force => true,
            None => match ask(&format!("{question} [y/n/a/c]? "), "ynac")? {
                Some('y') => true,
                Some('n') => false,
                answer => {
                    let all = answer == Some('a');
                    self.all = Some(all);
                    all
                }
            },
        };
        self.skipped += usize::from(!go_on);
        Ok(go_on)
    }
}

/// Asks until one of these letters is answered; none where standard input ends.
pub(super) fn ask(question: &str, letters: &str) -> Result<Option<char>> {
    print(question)?;
    loop {
        let Some(line) = prompt::line()? else { return Ok(None) };
        match line.as_slice() {
            &[byte] if letters.contains(char::from(byte)) => return Ok(Some(char::from(byte))),
            _ => say("Improper reply, try again"),
        }
    }
}

impl World<'_> {
    /// An object's attribute, empty where it has none.
    pub(super) fn bytes(&self, object: CK_OBJECT_HANDLE, kind: CK_ATTRIBUTE_TYPE) -> Vec<u8> {
        self.session.attribute(object, kind).map(|value| value.to_vec()).unwrap_or_default()
    }

    /// The objects that the command line selects, in the token's order.
    pub(super) fn selected(&self) -> Result<Vec<Found>> {
        let wanted = &self.wanted;
        self.matching(&Filter {
            selected: wanted.selected,
            label: wanted.label.as_deref(),
            id: wanted.id.as_deref(),
            attrs: wanted.attrs.as_deref(),
        })
    }

    /// The objects that a filter lets through, in the token's order.
    pub(super) fn matching(&self, filter: &Filter<'_>) -> Result<Vec<Found>> {
        let mut template = Template::new();
        template.set_flag(CKA_TOKEN, true);
        let certificates = filter.selected == Selected::Certificates;
        match filter.selected {
            Selected::All => {}
            Selected::Class(class) => template.set(CKA_CLASS, &class.to_ne_bytes()),
            Selected::Of(kind) => template.set(CKA_KEY_TYPE, &kind.key_type.to_ne_bytes()),
            Selected::Certificates => {
                template.set(CKA_CLASS, &CKO_CERTIFICATE.to_ne_bytes());
                template.set(CKA_CERTIFICATE_TYPE, &CKC_X_509.to_ne_bytes());
            }
        }
        let pattern = filter.label.filter(|label| label.contains(['*', '?', '\\']));
        if let (Some(label), None) = (filter.label, pattern) {
            template.set(CKA_LABEL, label.as_bytes());
        }
        if let Some(text) = filter.id {
            template.set(CKA_ID, &id(text)?);
        }
        if let Some(letters) = filter.attrs {
            set_letters(&mut template, letters, None, self.wanted.so)?;
        }
        let objects = self.session.find(&template).map_err(failed("Failed to find objects: C_FindObjects"))?;
        let mut found = Vec::new();
        for object in objects {
            let class = number(&self.bytes(object, CKA_CLASS)).unwrap_or(CK_UNAVAILABLE_INFORMATION);
            let expected = match class {
                CKO_CERTIFICATE => certificates,
                CKO_SECRET_KEY | CKO_PUBLIC_KEY | CKO_PRIVATE_KEY => !certificates,
                _ => false,
            };
            if !expected {
                continue;
            }
            let label = self.bytes(object, CKA_LABEL);
            let label = String::from_utf8_lossy(&label).trim_end_matches('\0').to_owned();
            if pattern.is_some_and(|pattern| !matches(pattern, &label)) {
                continue;
            }
            match self.known(object, class, label) {
                Ok(one) => found.push(one),
                // One key of an unknown type does not hide the others.
                Err(Stop::Rv(_)) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(found)
    }

    fn known(&self, object: CK_OBJECT_HANDLE, class: CK_OBJECT_CLASS, label: String) -> Result<Found> {
        let shown = adjunct_tool::escape::shown(&label);
        if class == CKO_CERTIFICATE {
            return Ok(Found { object, class, kind: &X509, size: 0, label, shown, what: X509.name.to_owned() });
        }
        let key_type = number(&self.bytes(object, CKA_KEY_TYPE)).unwrap_or(CK_UNAVAILABLE_INFORMATION);
        let Some(kind) = KeyKind::of(key_type) else {
            say(&format!("Object \"{shown}\" has an unsupported type: {key_type}"));
            return Err(Stop::Rv(CKR_KEY_TYPE_INCONSISTENT));
        };
        let size = match kind.size {
            Size::None => 0,
            Size::ValueLength(bits) => number(&self.bytes(object, CKA_VALUE_LEN)).unwrap_or(0).saturating_mul(bits),
            Size::Modulus => 8 * self.bytes(object, CKA_MODULUS).len() as CK_ULONG,
        };
        let half = match class {
            CKO_PUBLIC_KEY => "public ",
            CKO_PRIVATE_KEY => "private ",
            _ => "",
        };
        let bits = if size == 0 { String::new() } else { format!(" {size}") };
        let what = format!("{half}{}{bits}", kind.name);
        Ok(Found { object, class, kind, size, label, shown, what })
    }

    /// Says why something of an object failed, and counts it.
    pub(super) fn lost(counts: &mut Counts, what: &str, Rv(rv): Rv) {
        say(&format!("{what}: {}", super::named(rv)));
        counts.failed += 1;
    }
}

/// Whether a label is as a pattern says: `*` is any text, `?` any character, what follows a backslash itself.
fn matches(pattern: &str, label: &str) -> bool {
    let (pattern, label): (Vec<char>, Vec<char>) = (pattern.chars().collect(), label.chars().collect());
    // The last asterisk, and how much of the label it stands for so far.
    let (mut p, mut l, mut back) = (0, 0, None);
    loop {
        let (literal, width) = match pattern.get(p) {
            Some('*') => {
                back = Some((p + 1, l));
                p += 1;
                continue;
            }
            Some('?') => (None, 1),
            Some('\\') if p + 1 < pattern.len() => (pattern.get(p + 1), 2),
            Some(c) => (Some(c), 1),
            None if l == label.len() => return true,
            None => (None, 0),
        };
        let fits = width > 0 && label.get(l).is_some_and(|c| literal.is_none_or(|literal| literal == c));
        if fits {
            (p, l) = (p + width, l + 1);
            continue;
        }
        match back {
            Some((after, from)) if from < label.len() => {
                (p, l, back) = (after, from + 1, Some((after, from + 1)));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn labels_are_matched_as_fnmatch_does() {
        for (pattern, label) in
            [("a*", "abc"), ("*", ""), ("?b*d", "abcd"), ("a\\*", "a*"), ("*b*b", "abcb"), ("**x", "x")]
        {
            assert!(matches(pattern, label), "{pattern} {label}");
        }
        for (pattern, label) in [("a*", "b"), ("?", ""), ("a\\*", "ab"), ("*b", "abc"), ("", "x"), ("a?", "a")] {
            assert!(!matches(pattern, label), "{pattern} {label}");
        }
    }
}
