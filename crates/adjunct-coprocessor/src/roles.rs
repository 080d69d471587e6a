//! Who may load and set master keys: groups for each step, and dual control, by which no user does two of them.
//!
//! What has been loaded remembers who loaded it ([`Loaders`], in the state, so that a restart opens no way around dual control).

/// Who asks: a process as the system names it, or root and users by a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The effective user.
    pub uid: u32,
    /// The effective group.
    pub gid: u32,
    /// The supplementary groups.
    pub groups: Vec<u32>,
}

impl Caller {
    /// Whether the caller is in a group.
    #[must_use]
    pub fn is_in(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }
}

/// A step of the change of a master key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The first part is loaded. A key that comes in one piece, or is random, is first and last part in one.
    First,
    /// A part between them.
    Middle,
    /// The last part is loaded.
    Last,
    /// The key that was loaded is set (CCA), or committed and finalized (EP11).
    Set,
}

impl Step {
    /// The step as logs and messages name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Step::First => "FIRST",
            Step::Middle => "MIDDLE",
            Step::Last => "LAST",
            Step::Set => "SET",
        }
    }
}

/// Users that loaded what stands in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaders {
    /// Who loaded the first part.
    pub first: Option<u32>,
    /// Who loaded the part between, the last of them where there were several.
    pub middle: Option<u32>,
    /// Who loaded the last part.
    pub last: Option<u32>,
}

impl Loaders {
    /// Those of a key that one user loaded whole.
    #[must_use]
    pub fn whole(uid: u32) -> Loaders {
        Loaders { first: Some(uid), middle: None, last: Some(uid) }
    }

    /// Notes who does a step. A first part begins anew.
    pub fn note(&mut self, step: Step, uid: u32) {
        match step {
            Step::First => *self = Loaders { first: Some(uid), ..Loaders::default() },
            Step::Middle => self.middle = Some(uid),
            Step::Last => self.last = Some(uid),
            Step::Set => {}
        }
    }

    /// The steps that a user did.
    fn of(self, uid: u32) -> impl Iterator<Item = Step> {
        [(Step::First, self.first), (Step::Middle, self.middle), (Step::Last, self.last)]
            .into_iter()
            .filter(move |(_, by)| *by == Some(uid))
            .map(|(step, _)| step)
    }
}

/// What the settings of a card or domain say about master keys. A step without a group is root's and that of the card's own user alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// The group that loads first parts.
    pub first: Option<u32>,
    /// The group that loads parts between.
    pub middle: Option<u32>,
    /// The group that loads last parts.
    pub last: Option<u32>,
    /// The group that sets, commits and finalizes.
    pub set: Option<u32>,
    /// Whether first part, last part and set are by three users. Keys in one piece and random keys, which one user loads whole, are refused then.
    pub distinct: bool,
    /// A user that counts as root does: who runs the card, where that is not root.
    pub owner: Option<u32>,
}

/// Why a caller may not do a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not in the group, which is named.
    #[error("user {uid} is not in group {group}, which may do step {}", step.name())]
    Group {
        /// Who asked.
        uid: u32,
        /// For what.
        step: Step,
        /// Who may.
        group: u32,
    },
    /// No group is set for the step.
    #[error("user {uid} may not do step {}: no group is set for it", step.name())]
    NoGroup {
        /// Who asked.
        uid: u32,
        /// For what.
        step: Step,
    },
    /// Dual control: the user did another step.
    #[error("user {uid} did step {} and may not do step {} too (dual control)", did.name(), step.name())]
    Same {
        /// Who asked.
        uid: u32,
        /// For what.
        step: Step,
        /// What the user did before.
        did: Step,
    },
    /// Dual control: the key is loaded by one user, whole.
    #[error("one user may not load a whole key (dual control)")]
    Whole,
}

impl Rules {
    fn group(&self, step: Step) -> Option<u32> {
        match step {
            Step::First => self.first,
            Step::Middle => self.middle,
            Step::Last => self.last,
            Step::Set => self.set,
        }
    }

    /// Whether a caller may do a step with what these users have loaded. Root needs no group, and is held by dual control as all are. A first part replaces what
    /// was loaded, so that who loaded it does not count there.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, caller: &Caller, step: Step, loaded: Loaders) -> Result<(), Refused> {
        let uid = caller.uid;
        if uid != 0 && self.owner != Some(uid) {
            match self.group(step) {
                None => return Err(Refused::NoGroup { uid, step }),
                Some(group) if !caller.is_in(group) => return Err(Refused::Group { uid, step, group }),
                Some(_) => {}
            }
        }
        if self.distinct && step != Step::First {
            // Several parts between may be one user's.
            if let Some(did) = loaded.of(uid).find(|&did| did != step || step != Step::Middle) {
                return Err(Refused::Same { uid, step, did });
            }
        }
        Ok(())
    }

    /// Whether a caller may load a key in one step: parts that come together, or a random key.
    ///
    /// # Errors
    /// Why not.
    pub fn check_whole(&self, caller: &Caller) -> Result<(), Refused> {
        if self.distinct {
            return Err(Refused::Whole);
        }
        self.check(caller, Step::First, Loaders::default())?;
        self.check(caller, Step::Last, Loaders::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(uid: u32, groups: &[u32]) -> Caller {
        Caller { uid, gid: uid, groups: groups.to_vec() }
    }

    #[test]
    fn each_step_has_its_group() {
        let rules = Rules { first: Some(10), last: Some(11), set: Some(12), owner: Some(999), ..Rules::default() };
        let none = Loaders::default();
        assert_eq!(rules.check(&user(5, &[10]), Step::First, none), Ok(()));
        assert_eq!(rules.check(&user(10, &[]), Step::First, none), Ok(()), "the effective group counts");
        let refused = Refused::Group { uid: 5, step: Step::Last, group: 11 };
        assert_eq!(rules.check(&user(5, &[10]), Step::Last, none), Err(refused));
        assert_eq!(
            rules.check(&user(5, &[10]), Step::Middle, none),
            Err(Refused::NoGroup { uid: 5, step: Step::Middle })
        );
        for all in [0, 999] {
            assert_eq!(rules.check(&user(all, &[]), Step::Middle, none), Ok(()));
        }
        assert!(refused.to_string().contains("group 11"), "{refused}");
        assert_eq!(rules.check_whole(&user(5, &[10, 11])), Ok(()));
        assert_eq!(rules.check_whole(&user(5, &[10])), Err(refused));
    }

    #[test]
    fn dual_control_wants_three_users() {
        let rules = Rules { first: Some(1), middle: Some(1), last: Some(1), set: Some(1), distinct: true, owner: None };
        let all = |uid| user(uid, &[1]);
        let mut loaded = Loaders::default();
        let mut step = |uid, step| {
            rules.check(&all(uid), step, loaded)?;
            loaded.note(step, uid);
            Ok(())
        };
        assert_eq!(step(5, Step::First), Ok(()));
        assert_eq!(step(5, Step::First), Ok(()), "it begins anew");
        assert_eq!(step(5, Step::Middle), Err(Refused::Same { uid: 5, step: Step::Middle, did: Step::First }));
        assert_eq!(step(6, Step::Middle), Ok(()));
        assert_eq!(step(6, Step::Middle), Ok(()));
        assert_eq!(step(6, Step::Last), Err(Refused::Same { uid: 6, step: Step::Last, did: Step::Middle }));
        assert_eq!(step(7, Step::Last), Ok(()));
        for (uid, did) in [(5, Step::First), (6, Step::Middle), (7, Step::Last)] {
            assert_eq!(step(uid, Step::Set), Err(Refused::Same { uid, step: Step::Set, did }));
        }
        assert_eq!(step(8, Step::Set), Ok(()));
        // Root needs no group, and is one user too.
        assert_eq!(step(0, Step::First), Ok(()));
        assert!(step(0, Step::Last).is_err());
        assert_eq!(rules.check_whole(&all(0)), Err(Refused::Whole));
    }
}
