//! One look at everything that is counted.

use adjunct::counters::{self, Snapshot, Use};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Machine;
use adjunct_card_state::state;
use adjunct_tool::Failure;
use adjunct_ztools::stats::User;
use std::collections::BTreeMap;

/// The counters of one user's programs.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) user: User,
    /// Processes that have a module loaded as this user.
    pub(crate) attached: u64,
    pub(crate) snapshot: Snapshot,
    /// Uses of mechanisms of PKCS #11.
    pub(crate) uses: Vec<Use>,
}

/// The cards.
#[derive(Debug, Clone)]
pub(crate) enum Cards {
    /// adjunctd does not run, which is no fault: cards are optional.
    NotRunning,
    Running(Machine),
    /// Why their state could not be read.
    Unreadable(String),
}

/// The counters and cards of the machine at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// Users by ascending uid.
    pub(crate) users: Vec<Counted>,
    pub(crate) cards: Cards,
    /// What could not be read of the counters, a line each: those of a user that are damaged, say.
    pub(crate) wrong: Vec<String>,
}

impl Sample {
    /// Errors of the reading, a line each.
    pub(crate) fn unread(&self) -> Vec<String> {
        let cards = match &self.cards {
            Cards::Unreadable(line) => Some(line.clone()),
            Cards::NotRunning | Cards::Running(_) => None,
        };
        self.wrong.iter().cloned().chain(cards).collect()
    }
}

/// Takes samples. Keeps the names of users: finding one may take a question to another machine.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    names: BTreeMap<u32, User>,
}

impl Sampler {
    /// Reads the present counts: of all users, if the user may read them, else of the effective user.
    ///
    /// # Errors
    /// [`Failure`] where the system gives no list of what there is to be read.
    pub(crate) fn take(&mut self) -> Result<Sample, Failure> {
        let mut users = counters::users().map_err(Failure::because)?;
        users.extend(counters::users_of_uses().map_err(Failure::because)?);
        users.sort_unstable();
        users.dedup();
        let mut sample = Sample { users: Vec::new(), cards: cards(), wrong: Vec::new() };
        for uid in users {
            let mut or_say = |error: adjunct::Error| sample.wrong.push(error.to_string());
            // Who has gone since the list was made has none.
            let snapshot = counters::read(uid).unwrap_or_else(|error| {
                or_say(error);
                None
            });
            let uses = counters::uses(uid).unwrap_or_else(|error| {
                or_say(error);
                None
            });
            if snapshot.is_none() && uses.is_none() {
                continue;
            }
            sample.users.push(Counted {
                user: self.user(uid),
                attached: counters::attached(uid).unwrap_or(0),
                snapshot: snapshot.unwrap_or_else(|| Snapshot::new(uid)),
                uses: uses.unwrap_or_default(),
            });
        }
        Ok(sample)
    }

    fn user(&mut self, uid: u32) -> User {
        self.names.entry(uid).or_insert_with(|| User::from_uid(uid)).clone()
    }
}

/// The cards, now.
pub(crate) fn cards() -> Cards {
    match state::read(&Folder::found().state()) {
        Ok(machine) => Cards::Running(machine),
        Err(state::Error::NotRunning) => Cards::NotRunning,
        Err(error) => Cards::Unreadable(adjunct_ztools::cards::tool::unreadable(&error)),
    }
}
