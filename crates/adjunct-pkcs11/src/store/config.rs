//! Which store tokens there are: the user's own, and those that a configuration names.
//!
//! The configuration is the first of these that is there: the file that `ADJUNCT_PKCS11_CONF` names, `adjunct/tokens.conf` in the user's configuration
//! directory, `/etc/adjunct/tokens.conf`. It is TOML:
//!
//! ```toml
//! slots = [4, 1]                  # the slots that there are, in the order in which programs see them; without it all: first those with
//!                                 # initialized tokens, then the accelerator's, 1, then the others
//!
//! [[token]]
//! slot = 4                        # 2 or more; 3 is the user's own token unless it is named here
//! path = "/srv/tokens/web.token"  # the file; its directory is made at the first C_InitToken
//! read-only = false               # never written to, nor are wrong PINs counted in it
//! tpm = "/dev/tpmrm0"             # new PINs are sealed by this TPM 2.0, a device or a socket; without it, by none
//! ```

use super::Store;
use super::trouble::Trouble;
use crate::slot::{ACCELERATOR, GIVING_WAY};
use adjunct::environment::secure_env;
use cryptoki_sys::CK_SLOT_ID;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The slot of the user's own token.
const OWN: CK_SLOT_ID = 3;
/// The machine's configuration.
const MACHINES: &str = "/etc/adjunct/tokens.conf";
/// No configuration is longer.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The slots, in their order; `None`: all.
    #[serde(default)]
    slots: Option<Vec<u32>>,
    #[serde(default)]
    token: Vec<Token>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Token {
    slot: u32,
    path: PathBuf,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    tpm: Option<PathBuf>,
}

/// A token that is configured, whether it exists or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// Its slot.
    pub slot: CK_SLOT_ID,
    /// Its file.
    pub path: PathBuf,
    /// Whether the file is never written to.
    pub read_only: bool,
    /// The TPM that seals new PINs.
    pub tpm: Option<PathBuf>,
    /// Whether the configuration names it.
    pub named: bool,
    /// Whether that is the machine's configuration, which is for all users.
    pub machines: bool,
}

impl Configured {
    /// Whether `trouble` only says that the token is none of this user's: the machine's configuration names it, for those who may read it.
    pub fn is_others(&self, trouble: Trouble) -> bool {
        let me = rustix::process::geteuid().as_raw();
        let anothers = || rustix::fs::lstat(&self.path).is_ok_and(|stat| stat.st_uid != 0 && stat.st_uid != me);
        self.machines
            && match trouble {
                Trouble::Unreadable(_) => true,
                Trouble::Unsafe => me != 0 && anothers(),
                _ => false,
            }
    }
}

/// A directory of the user's: by a variable of its own, or beneath the home directory.
fn directory(variable: &str, beneath_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| secure_env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(beneath_home)))
}

/// Path of the user's own token. Root's is the machine's, unless XDG_DATA_HOME says otherwise.
fn own() -> Option<PathBuf> {
    let root = rustix::process::geteuid().is_root() && secure_env("XDG_DATA_HOME").is_none();
    let data = if root { Some(PathBuf::from("/var/lib")) } else { directory("XDG_DATA_HOME", ".local/share") };
    data.map(|data| data.join("adjunct/tokens/default.token"))
}

/// Text and path of the configuration; `None` where there is no file.
fn read() -> Result<Option<(PathBuf, String)>, String> {
    let named = secure_env("ADJUNCT_PKCS11_CONF").map(PathBuf::from);
    let must = named.is_some();
    let places = match named {
        Some(path) => vec![path],
        None => directory("XDG_CONFIG_HOME", ".config")
            .map(|path| path.join("adjunct/tokens.conf"))
            .into_iter()
            .chain([PathBuf::from(MACHINES)])
            .collect(),
    };
    for path in places {
        let absent = |kind| matches!(kind, std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory);
        let text = match std::fs::metadata(&path) {
            Ok(there) if !there.is_file() || there.len() > LONGEST => Err("not a file of at most 1 MiB".to_owned()),
            Ok(_) => std::fs::read_to_string(&path).map_err(|error| error.to_string()),
            Err(error) if absent(error.kind()) && !must => continue,
            Err(error) => Err(error.to_string()),
        };
        return match text {
            Ok(text) => Ok(Some((path, text))),
            Err(error) => Err(format!("{}: {error}; only the user's own token is there", path.display())),
        };
    }
    Ok(None)
}

/// The tokens and slots that a configuration names.
#[derive(Debug, Default)]
struct Said {
    tokens: Vec<Token>,
    slots: Option<Vec<CK_SLOT_ID>>,
}

/// Parses a configuration.
fn parse(text: &str) -> Result<Said, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let words: Vec<&str> = error.message().lines().collect();
        format!("line {}: {}", before.matches('\n').count() + 1, words.join(", "))
    })?;
    let mut slots = BTreeSet::new();
    for token in &file.token {
        if token.slot < 2 || CK_SLOT_ID::from(token.slot) == GIVING_WAY || !slots.insert(token.slot) {
            return Err(format!("slot {} is taken", token.slot));
        }
        if token.tpm.as_ref().is_some_and(|tpm| !tpm.is_absolute()) {
            return Err(format!("slot {}: the TPM's path is not absolute", token.slot));
        }
        if !token.path.is_absolute() || token.path.file_name().is_none() {
            return Err(format!("slot {}: the path is not absolute", token.slot));
        }
    }
    let listed = file.slots.map(|listed| listed.into_iter().map(CK_SLOT_ID::from).collect::<Vec<_>>());
    if let Some(listed) = &listed {
        let mut seen = BTreeSet::new();
        for slot in listed {
            let there = *slot == ACCELERATOR || *slot == OWN || file.token.iter().any(|it| *slot == it.slot.into());
            if !there {
                return Err(format!("slots: there is no [[token]] with slot = {slot}"));
            }
            if !seen.insert(slot) {
                return Err(format!("slots: {slot} is there twice"));
            }
        }
        if listed.is_empty() {
            return Err("slots: the list is empty".to_owned());
        }
    }
    Ok(Said { tokens: file.token, slots: listed })
}

/// The whole configuration.
struct Whole {
    tokens: BTreeMap<CK_SLOT_ID, Configured>,
    /// The slots, in their order; `None` where no configuration says.
    slots: Option<Vec<CK_SLOT_ID>>,
    /// The configuration's file.
    path: Option<PathBuf>,
    /// What is wrong with the configuration's file.
    wrong: Option<String>,
}

fn whole() -> Whole {
    let own =
        own().map(|path| Configured { slot: OWN, path, read_only: false, tpm: None, named: false, machines: false });
    let tokens: BTreeMap<CK_SLOT_ID, Configured> = own.into_iter().map(|own| (own.slot, own)).collect();
    let mut whole = Whole { tokens, slots: None, path: None, wrong: None };
    let (path, text) = match read() {
        Ok(Some(found)) => found,
        Ok(None) => return whole,
        Err(error) => return Whole { wrong: Some(error), ..whole },
    };
    match parse(&text) {
        Ok(said) => {
            let machines = path == Path::new(MACHINES);
            whole.tokens.extend(said.tokens.into_iter().map(|Token { slot, path, read_only, tpm }| {
                (slot.into(), Configured { slot: slot.into(), path, read_only, tpm, named: true, machines })
            }));
            if let Some(slots) = &said.slots {
                whole.tokens.retain(|slot, _| slots.contains(slot));
            }
            whole.slots = said.slots;
        }
        Err(error) => whole.wrong = Some(format!("{}: {error}; only the user's own token is there", path.display())),
    }
    whole.path = Some(path);
    whole
}

/// The tokens, in the order of their slots; the configuration's file; what is wrong with it.
pub fn configured() -> (Vec<Configured>, Option<PathBuf>, Option<String>) {
    let Whole { tokens, path, wrong, .. } = whole();
    (tokens.into_values().collect(), path, wrong)
}

/// The stores by slot, and the slots that there are.
#[derive(Debug)]
pub struct Stores {
    pub stores: BTreeMap<CK_SLOT_ID, Store>,
    /// The slots, in their order, the accelerator's among them; `None` where no configuration says.
    pub slots: Option<Vec<CK_SLOT_ID>>,
    /// A line for each thing that is wrong.
    pub wrong: Vec<String>,
}

/// Reads which stores are configured. Makes none.
pub fn stores() -> Stores {
    let Whole { tokens, mut slots, wrong, .. } = whole();
    let (mut stores, mut wrong) = (BTreeMap::new(), Vec::from_iter(wrong));
    for token in tokens.into_values() {
        let store = Store::new(token.path.clone(), token.read_only, token.tpm.clone());
        let mut others = false;
        wrong.extend(store.check(|trouble| {
            others = token.is_others(trouble);
            others
        }));
        if others {
            // Programs report a slot in their list whose token they cannot ask.
            slots.iter_mut().for_each(|slots| slots.retain(|slot| *slot != token.slot));
        } else {
            stores.insert(token.slot, store);
        }
    }
    Stores { stores, slots, wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the machine's configuration names for some users alarms no other.
    #[test]
    fn a_token_of_others_is_nothing_wrong() {
        let denied = Trouble::Unreadable(rustix::io::Errno::ACCESS);
        let token = |machines| {
            let path = PathBuf::from("/nowhere/a.token");
            Configured { slot: 4, path, read_only: false, tpm: None, named: true, machines }
        };
        assert!(token(true).is_others(denied) && !token(false).is_others(denied));
        assert!(!token(true).is_others(Trouble::Damaged) && !token(true).is_others(Trouble::Unsafe));
    }

    #[test]
    fn a_configuration_names_tokens() {
        let text = "[[token]]\nslot = 4\npath = \"/a/b.token\"\n[[token]]\nslot = 3\npath = \"/c\"\nread-only = true\n";
        let tokens = parse(text).unwrap().tokens;
        assert_eq!((tokens.len(), tokens[0].slot, tokens[1].read_only), (2, 4, true));
        for wrong in [
            "[[token]]\nslot = 1\npath = \"/a\"",
            "[[token]]\nslot = 4\npath = \"a\"",
            "[[token]]\nslot = 4\npath = \"/a\"\nx = 1",
            "[[token]]\nslot = 4",
            "token = 4",
            "[[token]]\nslot = 4\npath = \"/a\"\n[[token]]\nslot = 4\npath = \"/b\"",
            "slots = []",
            "slots = [4]",
            "slots = [3, 1, 3]",
            "slots = [65537]",
            "slots = 3",
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(!error.contains('\n'), "{error}");
        }
        let error = parse("[[token]]\nslot = 4\npath = \"/a\"\nx = 1").unwrap_err();
        assert!(error.starts_with("line 4: unknown field `x`, expected "), "{error}");
        assert!(parse("").unwrap().tokens.is_empty());
        let listed = parse("slots = [4, 1]\n[[token]]\nslot = 4\npath = \"/a\"").unwrap().slots;
        assert_eq!((listed, parse("").unwrap().slots), (Some(vec![4, 1]), None));
    }
}
