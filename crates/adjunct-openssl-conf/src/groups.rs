//! The list of TLS groups that programs offer and take: the groups that are asked for, followed by those that were in force.
//!
//! A name that OpenSSL does not know makes it refuse the whole list. Before 3.3 libssl then ignores a list of the system's defaults; since 3.3 a name
//! may have a question mark before it, and is ignored alone if it is not known; and since 3.4, with `config_diagnostics = 1`, a list that cannot be
//! taken ends every program that speaks TLS. So question marks stand wherever they are understood, and nothing that was in force before is left out.

use super::{Entry, Refused};

/// The groups that OpenSSL or adjunct has, each by the name to write, and by others.
const KNOWN: [&[&str]; 16] = [
    &["X25519MLKEM768"],
    &["SecP256r1MLKEM768"],
    &["SecP384r1MLKEM1024"],
    &["MLKEM512"],
    &["MLKEM768"],
    &["MLKEM1024"],
    &["X25519"],
    &["X448"],
    &["P-256", "secp256r1", "prime256v1"],
    &["P-384", "secp384r1"],
    &["P-521", "secp521r1"],
    &["ffdhe2048"],
    &["ffdhe3072"],
    &["ffdhe4096"],
    &["ffdhe6144"],
    &["ffdhe8192"],
];

/// What libssl offers and takes where nothing is configured: before 3.5, and since.
const DEFAULT: &str = "X25519:P-256:X448:P-521:P-384:ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192";
const DEFAULT_TUPLES: &str =
    "?*X25519MLKEM768 / ?*X25519:?secp256r1 / ?X448:?secp384r1:?secp521r1 / ?ffdhe2048:?ffdhe3072";

/// The syntax of a list of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syntax {
    /// Names, all of which must be known (before 3.3).
    Names,
    /// Names that may be passed over (3.3 and 3.4).
    Optional,
    /// Names in tuples, of which the first that both sides have a member of wins (since 3.5).
    Tuples,
}

/// Groups that are to come first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsGroups {
    names: Vec<&'static str>,
    syntax: Syntax,
}

/// The known name to write for `name`; `None` where it is not known.
fn known(name: &str) -> Option<&'static str> {
    let names = KNOWN.iter().find(|names| names.iter().any(|known| known.eq_ignore_ascii_case(name)))?;
    names.first().copied()
}

/// The name without what may stand before it.
fn bare(name: &str) -> &str {
    name.trim().trim_start_matches(['?', '*'])
}

impl TlsGroups {
    /// Groups separated by commas, colons or blanks, for an OpenSSL of `version`.
    ///
    /// # Errors
    /// The first word that is no group, or that there is none.
    pub fn parse(list: &str, version: (u32, u32)) -> Result<TlsGroups, String> {
        let mut names = Vec::new();
        for word in list.split([',', ' ', '\t', ':', ';']).filter(|word| !word.is_empty()) {
            let name = known(word).ok_or_else(|| {
                let word: String = word.chars().take(64).collect();
                format!("--groups: unknown word '{word}'; known: {}", TlsGroups::all())
            })?;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Err(format!("--groups: no group given; known: {}", TlsGroups::all()));
        }
        let syntax = match version {
            (3, 0..=2) => Syntax::Names,
            (3, 3 | 4) => Syntax::Optional,
            _ => Syntax::Tuples,
        };
        Ok(TlsGroups { names, syntax })
    }

    /// The groups that may be asked for.
    fn all() -> String {
        KNOWN.map(|names| names[0]).join(" ")
    }

    /// The groups, in the words they are written in.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// Whether a name in the list is of one of these groups.
    fn has(&self, name: &str) -> bool {
        let name = bare(name);
        let known = known(name);
        self.names.iter().any(|ours| known == Some(ours) || ours.eq_ignore_ascii_case(name))
    }

    /// The list to write where `before` is configured already.
    fn value(&self, before: Option<&str>) -> String {
        let rest = |list: &str, mark: &str| {
            let names = list.split(':').map(str::trim).filter(|name| !name.is_empty() && !self.has(name));
            let marked = |name: &str| if name.starts_with('?') { name.to_owned() } else { format!("{mark}{name}") };
            names.map(marked).collect::<Vec<_>>()
        };
        match self.syntax {
            Syntax::Names => {
                let own = self.names.iter().map(|&name| name.to_owned());
                own.chain(rest(before.unwrap_or(DEFAULT), "")).collect::<Vec<_>>().join(":")
            }
            Syntax::Optional => {
                let own = self.names.iter().map(|name| format!("?{name}"));
                own.chain(rest(before.unwrap_or(DEFAULT), "?")).collect::<Vec<_>>().join(":")
            }
            Syntax::Tuples => {
                // A client sends a share of its first group along with its hello.
                let own: Vec<String> = self
                    .names
                    .iter()
                    .enumerate()
                    .map(|(i, name)| format!("?{}{name}", if i == 0 { "*" } else { "" }))
                    .collect();
                let tuples = before.unwrap_or(DEFAULT_TUPLES).split('/').map(|tuple| rest(tuple, "?").join(":"));
                let tuples = std::iter::once(own.join(":")).chain(tuples.filter(|tuple| !tuple.is_empty()));
                tuples.collect::<Vec<_>>().join(" / ")
            }
        }
    }

    /// The list to write where `before` stands already.
    ///
    /// # Errors
    /// [`Refused`] where it cannot be told what that says.
    pub(super) fn after(&self, before: Option<&Entry>) -> Result<String, Refused> {
        let Some(entry) = before else { return Ok(self.value(None)) };
        if !entry.certain {
            let text = "the list of TLS groups depends on the environment".to_owned();
            return Err(Refused::Uncertain(entry.place.clone(), text));
        }
        let understood = |&c: &u8| c.is_ascii_alphanumeric() || b"-_:?*/ \t.".contains(&c);
        // A name with a minus before it takes groups away, and DEFAULT and PROFILE stand for lists.
        let text = std::str::from_utf8(&entry.value).ok().filter(|_| entry.value.iter().all(understood));
        let names =
            |text: &str| !text.split([':', '/']).any(|name| bare(name).starts_with('-') || bare(name).contains(' '));
        match text.filter(|text| names(text)) {
            Some(text) => Ok(self.value(Some(text))),
            None => {
                let text = "the list of TLS groups cannot be understood".to_owned();
                Err(Refused::Conflict(entry.place.clone(), text))
            }
        }
    }
}

/// Whether a command of libssl's configuration sets the groups: it has two names, in any case.
pub(super) fn sets_groups(command: &[u8]) -> bool {
    [&b"groups"[..], b"curves"].iter().any(|name| command.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(list: &str, version: (u32, u32), before: Option<&str>) -> String {
        TlsGroups::parse(list, version).unwrap().value(before)
    }

    #[test]
    fn what_was_in_force_comes_after_what_is_asked_for() {
        assert_eq!(
            value("x25519mlkem768", (3, 0), None),
            "X25519MLKEM768:X25519:P-256:X448:P-521:P-384:ffdhe2048:ffdhe3072:ffdhe4096:ffdhe6144:ffdhe8192"
        );
        assert_eq!(value("X25519MLKEM768,P-384", (3, 2), Some("secp384r1:X448")), "X25519MLKEM768:P-384:X448");
        assert_eq!(value("X25519MLKEM768", (3, 3), Some("P-256:?X448")), "?X25519MLKEM768:?P-256:?X448");
        assert!(value("X25519MLKEM768", (3, 4), None).starts_with("?X25519MLKEM768:?X25519:?P-256:"));
        assert_eq!(
            value("SecP384r1MLKEM1024 secp256r1", (3, 5), None),
            "?*SecP384r1MLKEM1024:?P-256 / ?*X25519MLKEM768 / ?*X25519 / ?X448:?secp384r1:?secp521r1 / ?ffdhe2048:?ffdhe3072"
        );
        assert_eq!(value("X25519", (4, 0), Some("*X25519:P-256")), "?*X25519 / ?P-256");
    }

    #[test]
    fn words_that_are_no_groups_are_named() {
        assert!(TlsGroups::parse("X25519MLKEM768:kyber", (3, 0)).unwrap_err().contains("unknown word 'kyber'"));
        assert!(TlsGroups::parse(" ,", (3, 0)).unwrap_err().contains("no group given"));
        assert_eq!(TlsGroups::parse("prime256v1 P-256", (3, 0)).unwrap().names(), ["P-256"]);
    }
}
