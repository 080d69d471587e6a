//! What `cards.conf` says of a card whose keys belong to domains: what its vault is sealed by, who may load master keys, and limits.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// What the vault of a card is sealed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seal {
    /// There is no vault: master keys are gone when the card ends.
    None,
    /// A passphrase, by `adjunct cards unlock`.
    Passphrase,
    /// A credential of systemd's.
    Credential,
    /// A TPM 2.0.
    Tpm,
}

impl Seal {
    /// All of them.
    pub const ALL: [Seal; 4] = [Seal::None, Seal::Passphrase, Seal::Credential, Seal::Tpm];

    /// The word in `cards.conf`.
    pub fn word(self) -> &'static str {
        match self {
            Seal::None => "none",
            Seal::Passphrase => "passphrase",
            Seal::Credential => "credential",
            Seal::Tpm => "tpm",
        }
    }
}

/// The settings of a coprocessor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coprocessor {
    /// What the vault is sealed by.
    pub seal: Seal,
    /// The TPM, a device or a socket; the machine's without it.
    pub tpm: Option<String>,
    /// The most opened keys that are kept.
    pub keys: usize,
    /// The most sessions of a domain.
    pub sessions: usize,
    /// The groups of the steps by which a master key is loaded and set: FIRST, MIDDLE, LAST, SET; by name or number. Without a group, root and the daemon's user alone do a step.
    pub groups: [Option<String>; 4],
    /// FIRST, LAST and SET are by different users.
    pub dual_control: bool,
}

/// The steps, as the settings of their groups are called.
pub const STEPS: [&str; 4] = ["first-group", "middle-group", "last-group", "set-group"];

/// The settings as they stand in a card's table.
#[derive(Debug, Default)]
pub(crate) struct Table<'a> {
    pub(crate) seal: Option<&'a str>,
    pub(crate) tpm: Option<&'a str>,
    pub(crate) keys: Option<usize>,
    pub(crate) sessions: Option<usize>,
    pub(crate) groups: [Option<&'a str>; 4],
    pub(crate) dual_control: Option<bool>,
}

impl Table<'_> {
    /// The first of the settings that is there.
    fn any(&self) -> Option<&'static str> {
        let groups = STEPS.into_iter().zip(self.groups.map(|group| group.is_some()));
        let others = [
            ("seal", self.seal.is_some()),
            ("tpm", self.tpm.is_some()),
            ("keys", self.keys.is_some()),
            ("sessions", self.sessions.is_some()),
            ("dual-control", self.dual_control.is_some()),
        ];
        others.into_iter().chain(groups).find(|(_, is)| *is).map(|(name, _)| name)
    }

    /// The settings of a card of a mode that has keys of its own or not; `is_name` judges groups.
    pub(crate) fn read(
        &self,
        id: u8,
        by_domain: bool,
        is_name: impl Fn(&str) -> bool,
    ) -> Result<Option<Coprocessor>, String> {
        if !by_domain {
            return match self.any() {
                None => Ok(None),
                Some(name) => {
                    Err(format!("card {id}: {name} is for coprocessors: an accelerator has no keys of its own"))
                }
            };
        }
        let words = || Seal::ALL.map(Seal::word).join(", ");
        let seal = match self.seal {
            None => Seal::None,
            Some(word) => {
                let known = Seal::ALL.into_iter().find(|seal| seal.word() == word);
                known
                    .ok_or_else(|| format!("card {id}: seal = \"{}\": it is one of {}", word.escape_debug(), words()))?
            }
        };
        if self.tpm.is_some() && seal != Seal::Tpm {
            return Err(format!("card {id}: tpm is for seal = \"tpm\", and seal is \"{}\"", seal.word()));
        }
        if self.tpm.is_some_and(|path| !path.starts_with('/')) {
            return Err(format!("card {id}: tpm is the path of a device or socket, from / on"));
        }
        let number = |name: &str, value: Option<usize>, default, most| match value.unwrap_or(default) {
            value if (1..=most).contains(&value) => Ok(value),
            value => Err(format!("card {id}: {name} = {value}: it is 1 to {most}")),
        };
        let is_none = |group: &Option<&str>| group.is_some_and(|group| !is_name(group));
        if let Some((step, _)) = STEPS.iter().zip(&self.groups).find(|(_, group)| is_none(group)) {
            return Err(format!("card {id}: {step} is a name or a number"));
        }
        let dual_control = self.dual_control.unwrap_or(false);
        Ok(Some(Coprocessor {
            seal,
            tpm: self.tpm.map(str::to_owned),
            keys: number("keys", self.keys, 4096, 1 << 20)?,
            sessions: number("sessions", self.sessions, 1024, 1 << 16)?,
            groups: self.groups.map(|group| group.map(str::to_owned)),
            dual_control,
        }))
    }
}
